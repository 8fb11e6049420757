"""A discrete network becomes a proof or a counterexample: every case of its cells is enumerated.

`cells.proof` tells whether each case is right whatever the rounding; `docs/verification.md` shows
that a network which is right in all of them executes its algorithm on every graph. Where a case is
wrong, a small graph is looked for on which a run shows it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from augury.algorithms import ALGORITHMS, FORD_FULKERSON, Algorithm
from augury.algorithms.executor import CellExecutor
from augury.cells.network import CellNetwork, compiled
from augury.cells.proof import Checked, prove
from augury.classical.generate import flow
from augury.classical.simulate import DECISIONS
from augury.errors import InputError


@dataclass(frozen=True)
class Proof:
    """The verdict on a network."""

    algorithm: Algorithm
    parts: tuple[Checked, ...]
    bits: int
    counterexample: str
    """A small network on which a run goes wrong; empty if proven or none was found."""
    table: str
    """What was found of the network's table, which the engine `lookup` reads."""

    @property
    def is_proven(self) -> bool:
        """Whether all parts are."""
        return all(part.is_proven for part in self.parts)

    @property
    def conclusion(self) -> str:
        """What is proven, for which capacities, and what is programmed, in one sentence."""
        if not self.is_proven:
            failed = ", ".join(part.name for part in self.parts if not part.is_proven)
            return f"Not proven: {failed} went wrong in at least one case."
        cases = sum(part.cases for part in self.parts)
        told = f"Proven in all {cases} cases: {self.algorithm.theorem.format(bits=self.bits)}"
        others = [
            f"{row.problem} ({row.name})"
            for row in ALGORITHMS.values()
            if row is not self.algorithm and set(row.cells) <= set(self.algorithm.cells)
        ]
        if not others:
            return told
        return f"{told} The same cases prove that it finds {', '.join(others)}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as one object that JSON can hold."""
        return {
            "proven": self.is_proven,
            "algorithm": self.algorithm.name,
            "bits": self.bits,
            "parts": {part.name: part.to_dict() for part in self.parts},
            "table": self.table,
            "conclusion": self.conclusion,
            "counterexample": self.counterexample,
        }


def verify(
    network: CellNetwork, find_counterexample: bool = True, algorithm: Algorithm = FORD_FULKERSON
) -> Proof:
    """Enumerate all cases in float32 and float64; on failure look for a small graph to show it.

    A network that lacks a cell of the algorithm is refused.
    """
    missing = [cell.name for cell in algorithm.cells if cell not in network.cells]
    if missing:
        raise InputError(f"this network has no cell {missing[0]!r}, which {algorithm.name} needs")
    checked = prove(network, algorithm.cells)
    proof = Proof(algorithm, checked, network.bits, "", _table_words(network))
    if proof.is_proven or not find_counterexample:
        return proof
    return replace(proof, counterexample=counterexample(network, algorithm))


def _table_words(network: CellNetwork) -> str:
    """Compile the network and hold its table against the rules of its cells."""
    table = compiled(copy.deepcopy(network).cpu().float())
    wrong = ", ".join(table.differences())
    equal = f"different from the rules in {wrong}" if wrong else "equal to the rules"
    return f"{table.num_cases} decisions, {equal}"


def counterexample(
    network: CellNetwork, algorithm: Algorithm = FORD_FULKERSON, tries: int = 300
) -> str:
    """Look for a small network on which a run goes wrong, smallest first; "" if none shows it."""
    executor = CellExecutor(copy.deepcopy(network).cpu().float()).subroutines()
    rng = np.random.default_rng(0)
    for number in range(tries):
        nodes = 2 + number * 8 // tries
        arcs = int(rng.integers(1, min(nodes * (nodes - 1), 3 * nodes) + 1))
        tried = flow(rng, nodes, arcs, low=1, high=int(rng.choice([1, 15])))
        try:
            [run] = algorithm.judge([tried], executor, [rng])
        except InputError:  # beyond the range of a network with few bits
            continue
        wrong = [name for name in DECISIONS if run.wrong[name]]
        if wrong or not run.is_right:
            listed = ", ".join(f"{u}→{v} {c}" for u, v, c in tried.arcs())
            found = f"{run.value} of {run.maximum}"
            cause = " and ".join(wrong) or "rounds"
            return f"from 0 to {nodes - 1} over {listed}: found {found}, {cause} wrong"
    return ""
