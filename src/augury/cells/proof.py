"""A network of cells becomes a proof or a wrong case: every case of every cell is enumerated.

A case is right only if it stays right under any rounding: its margin must exceed a bound on the
error of float32 arithmetic, and float64 must give the same verdict. The bound is a forward error
analysis: an expression of sums and products with at most n roundings on any path differs from its
exact value by at most γ_n = n u / (1 − n u) times the same expression of absolute values, u = 2⁻²⁴
(Higham, Accuracy and Stability of Numerical Algorithms, chapter 3). Leaky ReLU and maximum do not
enlarge an error, and on non-negative numbers the former is the identity: so the absolute expression
is the network itself with absolute weights. It holds in any order of summation and on any device
that computes in float32.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from augury.cells.cell import Cell
from augury.cells.network import CellNetwork, case_logits, expectations
from augury.neural.isolation import own_precision

UNIT = 2.0**-24
"""Half the distance from 1 to the next float32."""


@dataclass(frozen=True)
class Checked:
    """The verdict on one output of one cell."""

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

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold, without the name."""
        return {key: value for key, value in asdict(self).items() if key != "name"}


def prove(network: CellNetwork, cells: Sequence[Cell] | None = None) -> tuple[Checked, ...]:
    """Enumerate all cases in float32 and float64, of all its cells or of these."""
    single, double, absolute = (copy.deepcopy(network).cpu() for _ in range(3))
    for weight in absolute.parameters():
        weight.data.abs_()
    copies = single.float(), double.double(), absolute.double()
    return tuple(checked for cell in cells or network.cells for checked in _checked(cell, copies))


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


@torch.no_grad()
def _checked(cell: Cell, copies: tuple[CellNetwork, CellNetwork, CellNetwork]) -> list[Checked]:
    started = time.perf_counter()
    with own_precision():
        single, double = (case_logits(network, cell).double() for network in copies[:2])
        bound = _gamma(copies[0].hidden) * _sizes(copies[2], cell)
    expected = expectations(cell, double.device)
    margin = torch.minimum(*(torch.where(expected, said, -said) for said in (single, double)))
    seconds = round(time.perf_counter() - started, 4)
    return [
        _verdict(cell, output, margin[:, place], bound[:, place], seconds)
        for place, output in enumerate(cell.outputs or ("",))
    ]


def _gamma(hidden: int) -> float:
    roundings = 8 * hidden + 64  # more than on any path of the formulas in `network`
    return roundings * UNIT / (1 - roundings * UNIT)


def _sizes(absolute: CellNetwork, cell: Cell) -> Tensor:
    """(case, output): each decision with absolute weights; of a comparison, twice the larger."""
    if cell.joins == "choice":
        return 2 * absolute[cell.name]().max().expand(len(cell.cases), 1)
    return case_logits(absolute, cell)


def _verdict(cell: Cell, output: str, margin: Tensor, bound: Tensor, seconds: float) -> Checked:
    right = margin > bound
    wrong = "" if bool(right.all()) else cell.words(cell.cases[int((~right).long().argmax())])
    counts = len(right), int(right.sum())
    sizes = float(margin.min()), float(bound.max())
    return Checked(f"{cell.name} {output}".strip(), *counts, *sizes, seconds, wrong)
