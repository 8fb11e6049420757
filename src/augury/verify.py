"""A discrete network becomes a proof or a counterexample: every local case is enumerated.

A node's step depends on its bit and on the set of message kinds that reach it, because the maximum
does not count; a link's score on two bits and a weight; a bit of a comparison on an arc's two bits
and on the set of kinds on its path; a bit of a subtraction on three bits. `docs/verification.md`
shows that a network which is right in all these cases executes Edmonds-Karp on every network in
its range.

A case is right only if it stays right under any rounding: its margin must exceed a bound on the
error of float32 arithmetic, and float64 must give the same verdict. The bound is a forward error
analysis: an expression of sums and products with at most n roundings on any path differs from its
exact value by at most γ_n = n u / (1 − n u) times the same expression of absolute values, u = 2⁻²⁴
(Higham, Accuracy and Stability of Numerical Algorithms, chapter 3). Leaky ReLU and maximum do not
enlarge an error, and on non-negative numbers the former is the identity: so the absolute
expression is the network itself with absolute weights. It holds in any order of summation and on
any device that computes in float32.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from augury.classical.ford_fulkerson import MAX_WEIGHT
from augury.classical.generate import flow
from augury.classical.graph import InputError
from augury.classical.simulate import DECISIONS, simulate
from augury.neural.discrete import DiscreteExecutor, DiscreteNetwork
from augury.neural.engines.table import KINDS, SETS, compile_table, stars
from augury.neural.isolation import own_precision
from augury.neural.wiring import Wiring

UNIT = 2.0**-24
"""Half the distance from 1 to the next float32."""


class Cases(NamedTuple):
    """Decisions of one subroutine: what the network says, and what is right."""

    signed: Tensor
    """(case,): positive where the network is right; how far it is from being wrong."""
    size: Tensor
    """(case,): the same decision with absolute weights, for the error bound."""
    names: list[str]


@dataclass(frozen=True)
class Part:
    """The verdict on one subroutine."""

    name: str
    cases: int
    right: int
    margin: float
    """The smallest distance of a decision from being wrong."""
    bound: float
    """What rounding in float32 can move a decision at most."""
    seconds: float
    wrong: str
    """The first wrong case in words; empty if there is none."""

    @property
    def is_proven(self) -> bool:
        """Whether every case is right whatever the rounding."""
        return self.right == self.cases


@dataclass(frozen=True)
class Proof:
    """The verdict on a network."""

    parts: tuple[Part, ...]
    bits: int
    counterexample: str
    """A small network on which a run goes wrong; empty if proven or none was found."""
    table: str
    """What was found of the network's transition table, which the compiled engines run on."""

    @property
    def is_proven(self) -> bool:
        """Whether all parts are."""
        return all(part.is_proven for part in self.parts)

    @property
    def conclusion(self) -> str:
        """What is proven, for which capacities, and what is deterministic, in one sentence."""
        if not self.is_proven:
            failed = ", ".join(part.name for part in self.parts if not part.is_proven)
            return f"Not proven: {failed} went wrong in at least one case."
        return (
            "Proven: on every flow network, of any size, whose integer capacities add up to at "
            f"most 2^{self.bits} − 1 in each pair of arcs, this network executes Edmonds-Karp and "
            "ends with a maximum flow; learnt are search, termination, predecessors, bottleneck "
            "and augmentation, deterministic are the bits of integers, the latch on a node's first "
            "predecessor, following the pointers, and the reverse arc's share of its pair."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as one object that JSON can hold."""
        parts = {
            part.name: {
                "cases": part.cases,
                "right": part.right,
                "margin": part.margin,
                "bound": part.bound,
                "seconds": part.seconds,
                "wrong": part.wrong,
            }
            for part in self.parts
        }
        told = {"proven": self.is_proven, "bits": self.bits, "parts": parts, "table": self.table}
        return told | {"conclusion": self.conclusion, "counterexample": self.counterexample}


def verify(network: DiscreteNetwork, find_counterexample: bool = True) -> Proof:
    """Enumerate all cases in float32 and float64; on failure look for a small graph to show it."""
    copies = Copies.of(network)
    parts = tuple(_checked(name, cases, copies) for name, cases in PARTS.items())
    proof = Proof(parts, network.bits, "", _table_words(network))
    if proof.is_proven or not find_counterexample:
        return proof
    return replace(proof, counterexample=counterexample(network))


def _table_words(network: DiscreteNetwork) -> str:
    """Compile the network and hold its table against the rules that the cases above prove."""
    table = compile_table(copy.deepcopy(network).cpu().float())
    complete = "complete" if table.is_complete else "not complete"
    wrong = ", ".join(table.differences())
    equal = f"different from Edmonds-Karp's in {wrong}" if wrong else "equal to Edmonds-Karp's"
    return f"{table.num_cases} cases, {complete}, {equal}"


class Copies(NamedTuple):
    """A network as all its cases are evaluated: in both precisions, and with absolute weights."""

    single: DiscreteNetwork
    double: DiscreteNetwork
    absolute: DiscreteNetwork

    @classmethod
    def of(cls, network: DiscreteNetwork) -> Copies:
        """Copy a network; it stays as it is, where it is."""
        single, double, absolute = (copy.deepcopy(network).cpu() for _ in cls._fields)
        for weight in absolute.parameters():
            weight.data.abs_()
        return cls(single.float(), double.double(), absolute.double())


def _checked(name: str, cases: Callable[[DiscreteNetwork], Cases], copies: Copies) -> Part:
    started = time.perf_counter()
    with torch.no_grad(), own_precision():
        exact, size = cases(copies.double), cases(copies.absolute).size
        single = cases(copies.single)
    roundings = 8 * copies.single.hidden + 64  # more than on any path of the formulas in `discrete`
    gamma = roundings * UNIT / (1 - roundings * UNIT)
    bound = 2 * gamma * size.abs()  # twice: a decision may compare two computed numbers
    margin = torch.minimum(exact.signed, single.signed.double())
    right = margin > bound
    wrong = "" if bool(right.all()) else exact.names[int((~right).long().argmax())]
    return Part(
        name,
        len(right),
        int(right.sum()),
        float(margin.min()),
        float(bound.max()),
        round(time.perf_counter() - started, 4),
        wrong,
    )


def _stars() -> tuple[Wiring, Tensor, Tensor]:
    """Return the wiring of a star for each case of a node, every node's bit and every link's."""
    batch, bits = stars()
    wiring = Wiring.of(batch)
    is_usable = wiring.on_links(torch.from_numpy(batch.capacity > 0))
    return wiring, torch.from_numpy(bits), is_usable


def _reach_cases(network: DiscreteNetwork, output: int) -> Cases:
    wiring, bits, is_usable = _stars()
    prepared = network.processor.prepare(network.encode_links(is_usable))
    logits = network.reach_logits(bits, prepared, wiring)[output][wiring.source]
    expected, names = [], []
    for own, kinds in product((0, 1), SETS):
        is_new = (1, 1) in kinds and not own
        expected.append(is_new if output else bool(own) or is_new)
        heard = ", ".join(_link_words(*kind) for kind in kinds) or "nothing"
        names.append(f"a node that is {'' if own else 'not '}reached and hears {heard}")
    return Cases(_signed(logits, expected), logits, names)


def _link_words(bit: int, usable: int) -> str:
    return f"{'a reached' if bit else 'an unreached'} node by {'an' if usable else 'a full'} arc"


def _signed(logits: Tensor, expected: list[bool]) -> Tensor:
    return torch.where(torch.tensor(expected, device="cpu"), logits, -logits)


def _score_cases(network: DiscreteNetwork) -> Cases:
    """Valid links in the order of their weights, and all others below the last of these."""
    weights = range(1, MAX_WEIGHT + 1)
    valid = [(1, 1, weight) for weight in weights]
    others = [(s, u, w) for s, u in KINDS if (s, u) != (1, 1) for w in range(MAX_WEIGHT + 1)]
    grid = torch.tensor([*valid, *others], device="cpu")
    scores = network.scores(grid[:, 0], grid[:, 1], grid[:, 2])
    good, bad = scores[: len(valid)], scores[len(valid) :]
    signed = torch.cat([good[:-1] - good[1:], good[-1] - bad])
    names = [f"a valid link of weight {w} against one of weight {w + 1}" for w in weights[:-1]]
    names += [f"{_link_words(s, u)} of weight {w} against a valid one" for s, u, w in others]
    return Cases(signed, scores.max().expand_as(signed), names)


def _bottleneck_cases(network: DiscreteNetwork) -> Cases:
    rows, expected, names = [], [], []
    for own, kinds in product(KINDS, SETS):
        rows.append([own, *kinds, *[None] * (len(KINDS) - len(kinds))])
        smaller = (1, 0) in kinds or own == (1, 0)
        expected.append(bool(own[0]) and not (own[1] and smaller))
        heard = ", ".join(map(str, kinds)) or "nothing else"
        names.append(f"an arc with (candidate, digit) {own} on a path with {heard}")
    filled = [[kind or (0, 0) for kind in row] for row in rows]
    missing = [[kind is None for kind in row] for row in rows]
    is_padding, values = (torch.tensor(part, device="cpu") for part in (missing, filled))
    logits = network.candidate_logits(values[..., 0], values[..., 1], is_padding)[:, 0]
    return Cases(_signed(logits, expected), logits, names)


def _augmentation_cases(network: DiscreteNetwork) -> Cases:
    digits = torch.tensor(list(product((0, 1), repeat=3)), device="cpu")
    logits = network.difference_logits(*digits.T)
    expected, names = [], []
    for capacity, amount, borrow in digits.tolist():
        left = capacity - amount - borrow
        expected += [left % 2 == 1, left < 0]
        case = f"{capacity} − {amount} with borrow {borrow}"
        names += [f"the digit of {case}", f"the next borrow of {case}"]
    return Cases(_signed(logits.reshape(-1), expected), logits.reshape(-1), names)


PARTS: dict[str, Callable[[DiscreteNetwork], Cases]] = {
    "search": lambda network: _reach_cases(network, 0),
    "termination": lambda network: _reach_cases(network, 1),
    "predecessor": _score_cases,
    "bottleneck": _bottleneck_cases,
    "augmentation": _augmentation_cases,
}
"""The subroutines and their cases."""


def counterexample(network: DiscreteNetwork, tries: int = 300) -> str:
    """Look for a small network on which a run goes wrong, smallest first; "" if none shows it."""
    executor = DiscreteExecutor(copy.deepcopy(network).cpu().float()).subroutines()
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
