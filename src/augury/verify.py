"""A discrete network becomes a proof or a counterexample: every case of its cells is enumerated.

`cells.proof` tells whether each case is right whatever the rounding; `docs/verification.md` shows
that a network which is right in all of them executes its algorithm on every graph. If a case is
wrong, a small graph is sought on which a run shows it. Only bounds are computed in floating point,
so no PyTorch setting changes a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import augury
from augury.algorithms import ALGORITHMS, FORD_FULKERSON, Algorithm
from augury.algorithms.executor import CellExecutor
from augury.cells.exact import ARITHMETICS, Weight
from augury.cells.network import CellNetwork
from augury.cells.proof import Checked, Decision, Part, checked, exact_table, parts_of, weights_of
from augury.cells.table import Table
from augury.classical.generate import flow
from augury.classical.simulate import DECISIONS
from augury.errors import InputError

FORMAT, FORMAT_VERSION = "augury-proof", 1


@dataclass(frozen=True)
class Proof:
    """The verdict on a network.

    >>> from augury.models.checkpoint import find, load
    >>> proof = verify(load(find("discrete")).network)
    >>> [f"{part.name}: {part.cases} {part.verdict}" for part in proof.parts][:2]
    ['flood reached: 16 proven', 'flood changed: 16 proven']
    """

    algorithm: Algorithm
    decided: tuple[Part, ...]
    """Every decision, exactly."""
    bits: int
    counterexample: str
    """A small network on which a run goes wrong; empty if proven or none was found."""
    table: str
    """The findings on the network's table, which the engine `lookup` reads."""

    @cached_property
    def parts(self) -> tuple[Checked, ...]:
        """The verdict on each part."""
        return tuple(map(checked, self.decided))

    @property
    def is_proven(self) -> bool:
        """Whether all parts are proven."""
        return all(part.is_proven for part in self.parts)

    @property
    def holds(self) -> dict[str, bool]:
        """Whether the proof holds in each arithmetic."""
        return {
            own.name: all(part.arithmetics[own.name]["proven"] == part.cases for part in self.parts)
            for own in ARITHMETICS
        }

    @property
    def num_cases(self) -> int:
        """Number of cases; each counts once, however many outputs are decided in it."""
        return sum(len(cell.cases) for cell in self.algorithm.cells)

    @property
    def conclusion(self) -> str:
        """What is proven, for which capacities, and what is programmed, in one sentence."""
        if not self.is_proven:
            verdicts = {"wrong": "wrong in at least one case", "thin": THIN}
            told = [
                f"{names} {words}"
                for verdict, words in verdicts.items()
                if (names := ", ".join(own.name for own in self.parts if own.verdict == verdict))
            ]
            return f"Not proven: {'; '.join(told)}."
        decisions = sum(part.cases for part in self.parts)
        counts = f"all {self.num_cases} cases, {decisions} decisions"
        told = f"Proven in {counts}: {self.algorithm.theorem.format(bits=self.bits)}"
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
            "cases": self.num_cases,
            "holds": self.holds,
            "parts": {part.name: part.to_dict() for part in self.parts},
            "table": self.table,
            "conclusion": self.conclusion,
            "counterexample": self.counterexample,
        }


THIN = "right in every case, but by a margin that rounding could use up"


def verify(
    network: CellNetwork, find_counterexample: bool = True, algorithm: Algorithm = FORD_FULKERSON
) -> Proof:
    """Enumerate all cases, exactly; if one is wrong, look for a small graph that shows it.

    A network that lacks a cell of the algorithm is refused.

    >>> from augury.models.checkpoint import find, load
    >>> proof = verify(load(find("discrete")).network)
    >>> proof.is_proven, proof.num_cases
    (True, 116)
    """
    missing = [cell.name for cell in algorithm.cells if cell not in network.cells]
    if missing:
        raise InputError(f"this network has no cell {missing[0]!r}, which {algorithm.name} needs")
    table = exact_table(network)
    decided = tuple(parts_of(network, algorithm.cells))
    proof = Proof(algorithm, decided, network.bits, "", _table_words(table))
    if proof.is_proven or not find_counterexample:
        return proof
    return replace(proof, counterexample=counterexample(table, algorithm))


def _table_words(table: Table) -> str:
    """Compare a table with the rules of its cells."""
    wrong = ", ".join(table.differences())
    equal = f"different from the rules in {wrong}" if wrong else "equal to the rules"
    return f"{table.num_cases} decisions, {equal}"


def counterexample(table: Table, algorithm: Algorithm = FORD_FULKERSON, tries: int = 300) -> str:
    """Look for a small network on which a run goes wrong, smallest first; "" if none shows it."""
    executor = CellExecutor(table).subroutines()
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


def proof_object(network: CellNetwork, proof: Proof, model: str, digest: str) -> dict[str, Any]:
    """Return all that `augury.replay` needs to check a proof: every number is exact.

    A number is [whole, power], which stands for whole · 2^power; `digest` is the checkpoint's, and
    no checkpoint has weights that are not finite.
    """
    weights = {
        f"{cell.name}.{name}": _exact_weight(weight)
        for cell in network.cells
        for name, weight in weights_of(network, cell).items()
    }
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": augury.__version__,
        "model": model,
        "digest": digest,
        "algorithm": proof.algorithm.name,
        "bits": proof.bits,
        "hidden": network.hidden,
        "holds": proof.holds,
        "weights": weights,
        "parts": [
            {
                "cell": part.cell.name,
                "output": part.output,
                "cases": [_told(part, decision) for decision in part.decisions],
            }
            for part in proof.decided
        ],
    }


def _exact_weight(weight: npt.NDArray[np.float32]) -> dict[str, Any]:
    exact = Weight.of(weight).exact
    told: dict[str, Any] = {"power": exact.power, "whole": exact.whole.tolist()}
    # Rationals have no minus zero, but the digest does.
    minus_zeros = np.flatnonzero((weight == 0) & np.signbit(weight)).tolist()
    return told | ({"minus_zeros": minus_zeros} if minus_zeros else {})


def _told(part: Part, decision: Decision) -> dict[str, Any]:
    case = decision.case
    place = part.cell.outputs.index(part.output) if part.output else 0
    names = [own.name for own in ARITHMETICS]
    return {
        "own": case.own,
        "kinds": case.kinds,
        "decision": case.expected[place] == decision.is_right,
        "margin": decision.margin,
        "bound": dict(zip(names, map(_dyadic, decision.bounds), strict=True)),
        "largest": dict(zip(names, map(_dyadic, decision.largest), strict=True)),
    }


def _dyadic(value: float) -> tuple[int, int]:
    above, below = value.as_integer_ratio()
    return above, 1 - below.bit_length()
