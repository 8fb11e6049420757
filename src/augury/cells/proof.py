"""A network of cells becomes a proof or a wrong case: every case of every cell is enumerated.

Each is computed exactly, with a bound on what any evaluation in floating point can make of it (see
`exact`). A case is *proven* if its margin, the distance from a wrong decision, exceeds the bound,
and no partial sum can overflow; *thin* if it is right but that does not hold; else *wrong*. The
formulas are those of `network`. What the cases share is computed once: the own bits and kinds of
message, encoded, and the message for each pair of these.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from augury.cells.cell import Case, Cell, Entries, mask_of
from augury.cells.exact import ARITHMETICS, LIMIT, Exact, Floats, Known, Weight, nearest
from augury.cells.network import CellNetwork
from augury.cells.table import Table
from augury.errors import InputError

Weights = dict[str, npt.NDArray[np.float32]]
"""Of one cell, by names such as "head.bias"."""


class Decision(NamedTuple):
    """What a network makes of one case, for one output."""

    case: Case
    is_right: bool
    """Whether exact numbers decide by the rule."""
    margin: tuple[int, int]
    """How far they are from deciding otherwise, whole · 2^power; negative if they are wrong."""
    bounds: tuple[float, ...]
    """For each of ARITHMETICS: the most that rounding can move the decision."""
    largest: tuple[float, ...]
    """For each of ARITHMETICS: no partial sum on the way to it is larger."""

    def holds(self, place: int) -> bool:
        """Tell whether every evaluation in one of ARITHMETICS decides by the rule."""
        return exceeds(self.margin, self.bounds[place]) and self.largest[place] < LIMIT


class Part(NamedTuple):
    """All decisions on one output of one cell."""

    cell: Cell
    output: str
    """Its name; "" for a choice."""
    decisions: list[Decision]
    seconds: float
    """How long the cell took, all outputs together."""

    @property
    def name(self) -> str:
        """For people to read."""
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
    """The most that rounding in float32 can move a decision."""
    largest: float
    """No partial sum is larger, in any order of summation."""
    arithmetics: dict[str, dict[str, float | int]]
    """The last four for each arithmetic: proven, bound, largest."""
    seconds: float
    wrong: str
    """The first wrong case in words; empty if there is none."""
    thin: str
    """The first case that is right but not proven; empty if there is none."""

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
        # JSON has no infinity: nothing bounds what is computed with weights that are not finite.
        return _finite(told) | {"verdict": self.verdict}


def _finite(told: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _finite(own) if isinstance(own, dict) else None if own == math.inf else own
        for key, own in told.items()
    }


def prove(network: CellNetwork, cells: Sequence[Cell] | None = None) -> tuple[Checked, ...]:
    """Enumerate all cases of all its cells, or of those given."""
    return tuple(checked(part) for part in parts_of(network, cells or network.cells))


def parts_of(network: CellNetwork, cells: Sequence[Cell]) -> list[Part]:
    """Return every decision of a network on the cases of some cells."""
    return [part for cell in cells for part in decided(cell, weights_of(network, cell))]


def weights_of(network: CellNetwork, cell: Cell) -> Weights:
    """Return what a network computes a cell with; refuse numbers that are not float32."""
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
    said = _said(cell, weights)
    by_output = _pairs(cell, said) if cell.joins == "choice" else _signs(cell, said)
    seconds = round(time.perf_counter() - started, 4)
    return [
        Part(cell, output, decisions, seconds)
        for output, decisions in zip(cell.outputs or ("",), by_output, strict=True)
    ]


def exact_table(network: CellNetwork) -> Table:
    """Return what exact numbers decide in every case; see `network.compiled`."""
    entries: dict[str, Entries] = {}
    for cell in network.cells:
        whole = _said(cell, weights_of(network, cell)).exact.whole
        if cell.joins == "choice":
            order = {score: rank for rank, score in enumerate(sorted(set(whole.flat)))}
            entries[cell.name] = np.array([order[score] for score in whole.flat], np.int8)
            continue
        entries[cell.name] = np.full(cell.shape, -1, np.int8)
        for case, said in zip(cell.cases, whole, strict=True):
            entries[cell.name][case.own, mask_of(case.kinds)] = said > 0
    return Table(network.cells, entries, network.bits)


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
    if not math.isfinite(bound):
        return False
    (whole, power), (above, below) = margin, bound.as_integer_ratio()
    # whole · 2^power > above / below
    left, right = whole * below, above
    return left << power > right if power > 0 else left > right << -power


_VERDICTS: dict[str, bool] = {}
"""By the digest of a network's weights: the same weights need no second proof."""


def is_proven(network: CellNetwork, digest: str = "") -> bool:
    """Tell whether every case is right whatever the rounding; remembered by the weights' digest.

    Without a digest, that of the current weights is computed.
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


def _said(cell: Cell, weights: Weights) -> Known:
    """Return what the module of a cell computes: (case, output), or (kind, 1) for a choice.

    If weights are not finite, nothing is known.
    """
    if all(np.isfinite(weight).all() for weight in weights.values()):
        return _SAID[cell.joins](cell, {name: Weight.of(own) for name, own in weights.items()})
    rows = len(cell.kinds) if cell.joins == "choice" else len(cell.cases)
    shape = rows, len(cell.outputs) or 1
    unknown = np.full((len(ARITHMETICS), *shape), np.inf)
    return Known(Exact(np.full(shape, 0, object), 0), unknown, unknown)


def _points(cell: Cell, weights: dict[str, Weight]) -> Known:
    """See `network.Point`."""
    own = _encoded(weights, "own", len(cell.owns))
    return _head(weights, own.rows([case.own for case in cell.cases]))


def _sets(cell: Cell, weights: dict[str, Weight]) -> Known:
    """See `network.Gathering`."""
    owns, kinds = len(cell.owns), len(cell.kinds)
    own, kind = _encoded(weights, "own", owns), _encoded(weights, "kind", kinds)
    every = np.arange(owns * kinds)  # own · kinds + kind
    sent = own.rows(every // kinds).beside(kind.rows(every % kinds))
    heard = [[case.own * kinds + kind for kind in case.kinds] for case in cell.cases]
    received = sent.layer(weights["message.weight"]).maxima(heard).leaky()
    knows = own.rows([case.own for case in cell.cases])
    joined = knows.beside(received).layer(weights["join.weight"]).leaky()
    return _head(weights, knows.beside(joined))


def _scores(cell: Cell, weights: dict[str, Weight]) -> Known:
    """See `network.Choosing`."""
    kind = _encoded(weights, "kind", len(cell.kinds))
    return _head(weights, kind.layer(weights["hidden.weight"]).leaky(), "score")


_SAID: dict[str, Callable[[Cell, dict[str, Weight]], Known]] = {
    "none": _points,
    "set": _sets,
    "choice": _scores,
}


def _encoded(weights: dict[str, Weight], name: str, count: int) -> Known:
    """Encode the bits of all numbers below `count`."""
    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return Known.bits(range(count), weight.sizes.shape[1]).layer(weight, bias).leaky()


def _head(weights: dict[str, Weight], known: Known, name: str = "head") -> Known:
    return known.layer(weights[f"{name}.weight"], weights[f"{name}.bias"])


def _signs(cell: Cell, said: Known) -> Iterator[list[Decision]]:
    """Yield the decisions on each output: the sign of (case, output) decides."""
    (whole, power), error, largest = said
    for place in range(len(cell.outputs)):
        expected = [case.expected[place] for case in cell.cases]
        values = whole[:, place].tolist()
        right = [(value > 0) == bit for value, bit in zip(values, expected, strict=True)]
        margins = [value if bit else -value for value, bit in zip(values, expected, strict=True)]
        yield _decisions(cell, right, (margins, power), error[..., place], largest[..., place])


def _pairs(cell: Cell, said: Known) -> Iterator[list[Decision]]:
    """Yield the decisions of a choice: the larger of two scores decides."""
    (whole, power), error, largest = said
    better, worse = np.array([case.kinds for case in cell.cases]).T
    margins = (whole[better, 0] - whole[worse, 0]).tolist()
    apart = np.nextafter(error[:, better, 0] + error[:, worse, 0], np.inf)
    most = np.maximum(largest[:, better, 0], largest[:, worse, 0])
    yield _decisions(cell, [margin > 0 for margin in margins], (margins, power), apart, most)


def _decisions(
    cell: Cell, right: list[bool], margins: tuple[list[int], int], bounds: Floats, largest: Floats
) -> list[Decision]:
    """Put them together; bounds are (arithmetic, case)."""
    whole, power = margins
    columns = (
        [(own, power) for own in whole],
        *(map(tuple, b.T.tolist()) for b in (bounds, largest)),
    )
    return list(map(Decision, cell.cases, right, *columns))
