"""A discrete network becomes a proof or a counterexample: every case of its cells is enumerated.

`cells.proof` tells whether each case is right whatever the rounding; `docs/verification.md` shows
that a network which is right in all of them executes Edmonds-Karp on every flow network in its
range. Where a case is wrong, a small network is looked for on which a run shows it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from augury.algorithms.executor import CellExecutor
from augury.cells.network import CellNetwork, compiled
from augury.cells.proof import Part, prove
from augury.classical.generate import flow
from augury.classical.simulate import DECISIONS, simulate
from augury.errors import InputError


@dataclass(frozen=True)
class Proof:
    """The verdict on a network."""

    parts: tuple[Part, ...]
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
        return (
            f"Proven in all {cases} cases: on every flow network, of any size, whose integer "
            f"capacities add up to at most 2^{self.bits} − 1 in each pair of arcs, this network "
            "executes Edmonds-Karp and ends with a maximum flow; learnt are search, termination, "
            "predecessors, bottleneck and augmentation, programmed are the bits of integers, the "
            "latch on a node's first predecessor, following the pointers, and the reverse arc's "
            "share of its pair."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as one object that JSON can hold."""
        parts = {part.name: part.to_dict() for part in self.parts}
        told = {"proven": self.is_proven, "bits": self.bits, "parts": parts, "table": self.table}
        return told | {"conclusion": self.conclusion, "counterexample": self.counterexample}


def verify(network: CellNetwork, find_counterexample: bool = True) -> Proof:
    """Enumerate all cases in float32 and float64; on failure look for a small graph to show it."""
    proof = Proof(prove(network), network.bits, "", _table_words(network))
    if proof.is_proven or not find_counterexample:
        return proof
    return replace(proof, counterexample=counterexample(network))


def _table_words(network: CellNetwork) -> str:
    """Compile the network and hold its table against the rules of its cells."""
    table = compiled(copy.deepcopy(network).cpu().float())
    wrong = ", ".join(table.differences())
    equal = f"different from the rules in {wrong}" if wrong else "equal to the rules"
    return f"{table.num_cases} decisions, {equal}"


def counterexample(network: CellNetwork, tries: int = 300) -> str:
    """Look for a small network on which a run goes wrong, smallest first; "" if none shows it."""
    executor = CellExecutor(copy.deepcopy(network).cpu().float()).subroutines()
    rng = np.random.default_rng(0)
    for number in range(tries):
        nodes = 2 + number * 8 // tries
        arcs = int(rng.integers(1, min(nodes * (nodes - 1), 3 * nodes) + 1))
        tried = flow(rng, nodes, arcs, low=1, high=int(rng.choice([1, 15])))
        try:
            run = simulate([tried], executor, [rng])[0]
        except InputError:  # beyond the range of a network with few bits
            continue
        wrong = [name for name in DECISIONS if run.wrong[name]]
        if wrong or not run.is_right:
            listed = ", ".join(f"{u}→{v} {c}" for u, v, c in tried.arcs())
            found = f"{run.value} of {run.maximum}"
            cause = " and ".join(wrong) or "rounds"
            return f"from 0 to {nodes - 1} over {listed}: found a flow of {found}, {cause} wrong"
    return ""
