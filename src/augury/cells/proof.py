"""A network of cells becomes a proof or a wrong case: every case of every cell is enumerated.

Each is computed exactly, with a bound on what any evaluation in floating point can make of it (see
`exact`). A case is *proven* if its margin, the distance from a wrong decision, exceeds the bound,
and no partial sum can overflow; *thin* if it is right, and that does not hold; else *wrong*. The
formulas are those of `network`. What the cases share is computed once: the own bits and kinds of
message, encoded, and the message from each of these to each of those.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from augury.cells.cell import Case, Cell
from augury.cells.exact import ARITHMETICS, LIMIT, Exact, Known, nearest
from augury.cells.network import CellNetwork
from augury.cells.table import Table
from augury.errors import InputError

Weights = dict[str, npt.NDArray[np.float32]]
"""Of one cell, by names such as "head.bias"."""


class Decision(NamedTuple):
    """What a network makes of one case, for one output."""

    case: Case
    margin: tuple[int, int]
    """The distance from a wrong decision, whole · 2^power; positive if it is right."""
    bounds: tuple[float, ...]
    """For each of ARITHMETICS: how far rounding can move the decision at most."""
    largest: tuple[float, ...]
    """For each of ARITHMETICS: no partial sum on the way to it is larger."""

    @property
    def is_right(self) -> bool:
        """Whether exact numbers decide by the rule."""
        return self.margin[0] > 0

    def holds(self, place: int) -> bool:
        """Tell whether every evaluation in one of ARITHMETICS decides by the rule."""
        return exceeds(self.margin, self.bounds[place]) and self.largest[place] < LIMIT


class Part(NamedTuple):
    """All decisions on one output of one cell."""

    cell: Cell
    output: str
    """Its name; "" of a choice."""
    decisions: list[Decision]
    seconds: float

    @property
    def name(self) -> str:
        """As people read it."""
        return f"{self.cell.name} {self.output}".strip()


@dataclass(frozen=True)
class Checked:
    """The verdict on one output of one cell."""

    name: str
    cases: int
    right: int
    """In exact numbers."""
    proven: int
    """Right whatever the rounding in float32."""
    margin: float
    """The smallest distance of a decision from being wrong."""
    bound: float
    """What rounding in float32 can move a decision at most."""
    largest: float
    """What no partial sum passes, in any order of summation."""
    arithmetics: dict[str, dict[str, float | int]]
    """The last four for each arithmetic: proven, bound, largest."""
    seconds: float
    wrong: str
    """The first wrong case in words; empty if there is none."""
    thin: str
    """The first case that is right and not proven; empty if there is none."""

    @property
    def is_proven(self) -> bool:
        """Whether every case is right whatever the rounding."""
        return self.proven == self.cases

    @property
    def verdict(self) -> str:
        """One word."""
        return "proven" if self.is_proven else "wrong" if self.wrong else "thin"

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold, without the name."""
        told = {key: value for key, value in asdict(self).items() if key != "name"}
        return told | {"verdict": self.verdict}


def prove(network: CellNetwork, cells: Sequence[Cell] | None = None) -> tuple[Checked, ...]:
    """Enumerate all cases of all its cells, or of these."""
    return tuple(checked(part) for part in parts_of(network, cells or network.cells))


def parts_of(network: CellNetwork, cells: Sequence[Cell]) -> list[Part]:
    """Return every decision of a network on the cases of some cells."""
    return [part for cell in cells for part in decided(cell, weights_of(network, cell))]


def weights_of(network: CellNetwork, cell: Cell) -> Weights:
    """Return what a network computes a cell with; refuse numbers that are no float32."""
    weights: Weights = {}
    for name, weight in network[cell.name].state_dict().items():
        values = weight.detach().cpu()
        single = values.float()
        if weight.dtype not in (torch.float32, torch.float64) or not torch.equal(
            single.double().nan_to_num(), values.double().nan_to_num()
        ):
            raise InputError(
                f"the weight {cell.name}.{name} has numbers that are not float32: nothing is "
                "proven of them"
            )
        weights[name] = single.numpy()
    return weights


def decided(cell: Cell, weights: Weights) -> list[Part]:
    """Decide every case of a cell, exactly."""
    started = time.perf_counter()
    outputs = cell.outputs or ("",)
    if all(np.isfinite(weight).all() for weight in weights.values()):
        exact = {name: Exact.of(weight) for name, weight in weights.items()}
        by_output = _DECIDED[cell.joins](cell, exact)
    else:  # nothing is known of what they compute
        none = Decision(cell.cases[0], (0, 0), *(((float("inf"),) * len(ARITHMETICS),) * 2))
        by_output = [[none._replace(case=case) for case in cell.cases] for _ in outputs]
    seconds = round(time.perf_counter() - started, 4)
    return [
        Part(cell, output, decisions, seconds)
        for output, decisions in zip(outputs, by_output, strict=True)
    ]


def checked(part: Part) -> Checked:
    """Sum up the decisions on one output."""
    decisions, words = part.decisions, part.cell.words
    wrong = [own for own in decisions if not own.is_right]
    thin = [own for own in decisions if own.is_right and not own.holds(0)]
    of_each = {
        own.name: {
            "proven": sum(decision.holds(place) for decision in decisions),
            "bound": max(decision.bounds[place] for decision in decisions),
            "largest": max(decision.largest[place] for decision in decisions),
        }
        for place, own in enumerate(ARITHMETICS)
    }
    return Checked(
        name=part.name,
        cases=len(decisions),
        right=len(decisions) - len(wrong),
        margin=min(nearest(*decision.margin) for decision in decisions),
        **of_each[ARITHMETICS[0].name],
        arithmetics=of_each,
        seconds=part.seconds,
        wrong=words(wrong[0].case) if wrong else "",
        thin=words(thin[0].case) if thin else "",
    )


def exceeds(margin: tuple[int, int], bound: float) -> bool:
    """Tell whether whole · 2^power is larger than a double that is not negative; exactly."""
    if bound == float("inf"):
        return False
    (whole, power), (above, below) = margin, bound.as_integer_ratio()
    # whole · 2^power > above / below
    left, right = whole * below, above
    return left << power > right if power > 0 else left > right << -power


def table_of(parts: Sequence[Part], bits: int) -> Table:
    """Return the table of all these decisions."""


_VERDICTS: dict[str, bool] = {}
"""By the digest of a network's weights: the same weights need no second proof."""


def is_proven(network: CellNetwork, digest: str = "") -> bool:
    """Tell whether every case is right whatever the rounding; remembered by the weights' digest.

    Where no digest is given, it is taken of the weights as they are now.
    """
    key = digest or _digest(network)
    if key not in _VERDICTS:
        _VERDICTS[key] = all(checked.is_proven for checked in prove(network))
    return _VERDICTS[key]


def _digest(network: CellNetwork) -> str:
    digest = hashlib.sha256()
    for name, weight in network.state_dict().items():
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}".encode())
        digest.update(weight.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _points(cell: Cell, weights: dict[str, Exact]) -> list[list[Decision]]:
    """See `network.Point`."""
    own = _encoded(weights, "own", range(len(cell.owns)))
    cases = [case.own for case in cell.cases]
    return _signs(cell, own.rows(cases).layer(weights["head.weight"], weights["head.bias"]))


def _sets(cell: Cell, weights: dict[str, Exact]) -> list[list[Decision]]:
    """See `network.Gathering`."""
    owns, kinds = len(cell.owns), len(cell.kinds)
    own = _encoded(weights, "own", range(owns))
    kind = _encoded(weights, "kind", range(kinds))
    every = np.arange(owns * kinds)
    sent = own.rows(every // kinds).beside(kind.rows(every % kinds))
    sent = sent.layer(weights["message.weight"])  # row own · kinds + kind
    heard = [sent.rows([case.own * kinds + k for k in case.kinds]).maximum() for case in cell.cases]
    received = _below(heard).leaky()
    of_cases = own.rows([case.own for case in cell.cases])
    joined = of_cases.beside(received).layer(weights["join.weight"]).leaky()
    return _signs(cell, of_cases.beside(joined).layer(weights["head.weight"], weights["head.bias"]))


def _pairs(cell: Cell, weights: dict[str, Exact]) -> list[list[Decision]]:
    """See `network.Choosing`."""
    kind = _encoded(weights, "kind", range(len(cell.kinds)))
    hidden = kind.layer(weights["hidden.weight"]).leaky()
    (whole, power), *bounds = hidden.layer(weights["score.weight"], weights["score.bias"])
    error, largest = (bound[:, :, 0] for bound in bounds)
    decisions: list[Decision] = []
    for case in cell.cases:
        better, worse = case.kinds
        both = list(case.kinds)
        apart = np.nextafter(error[:, better] + error[:, worse], np.inf)
        margin = int(whole[better, 0] - whole[worse, 0]), power
        most = tuple(largest[:, both].max(1).tolist())
        decisions.append(Decision(case, margin, tuple(apart.tolist()), most))
    return [decisions]


_DECIDED: dict[str, Callable[[Cell, dict[str, Exact]], list[list[Decision]]]] = {
    "none": _points,
    "set": _sets,
    "choice": _pairs,
}


def _encoded(weights: dict[str, Exact], name: str, numbers: Sequence[int]) -> Known:
    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return Known.bits(numbers, weight.whole.shape[1]).layer(weight, bias).leaky()


def _below(parts: Sequence[Known]) -> Known:
    """Put rows of one power below each other."""
    whole = np.concatenate([part.exact.whole for part in parts])
    errors, largest = (np.concatenate([part[k] for part in parts], 1) for k in (1, 2))
    return Known(Exact(whole, parts[0].exact.power), errors, largest)


def _signs(cell: Cell, said: Known) -> list[list[Decision]]:
    """Return the decisions on each output: (case, output) numbers, of which the sign decides."""
    (whole, power), error, largest = said

    def decision(number: int, output: int) -> Decision:
        case, value = cell.cases[number], int(whole[number, output])
        margin = (value if case.expected[output] else -value), power
        bounds = (part[:, number, output].tolist() for part in (error, largest))
        return Decision(case, margin, *map(tuple, bounds))

    return [
        [decision(number, output) for number in range(len(cell.cases))]
        for output in range(len(cell.outputs))
    ]
