"""Which numbers are costs: those named as such, or declared so by the caller.

Any others that may be costs, because they differ, are refused with both readings named.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, WideArray
from augury.classical.batch import sums
from augury.errors import InputError

BLOCK = 2**15
"""Numbers compared at a time: they stay in the cache, so that memory is read only once."""


class Ends(NamedTuple):
    """Source and sink of a flow."""

    source: Any
    sink: Any


class Said(NamedTuple):
    """What a caller says about a graph."""

    ends: Ends | None = None
    """If given, they make it a flow network."""
    costs: bool | None = None
    """Whether unnamed numbers are costs. None refuses those that might be, and accepts named ones;
    False refuses these as well.
    """
    maximise: bool = False
    """Whether to look for the greatest sum of costs; then −∞ means no edge, instead of +∞."""

    @property
    def row(self) -> str:
        """The algorithm that takes such numbers as costs."""
        return "assignment" if self.ends is None else "min-cost-flow"

    def refusal(self, what: str, remedy: str) -> InputError:
        """Return the error for actual or possible costs, with a way to read it without them."""
        if self.costs is False:
            answer = "a matching of greatest cardinality"
            if self.ends is not None:
                answer = "a flow of greatest value"
            return InputError(f"{what}, but {answer} would ignore costs and weights: {remedy}")
        said = f"they are with algorithm={self.row!r}"
        return InputError(f"{what} and may be costs: {said}; {remedy}")


def numbers_differ(values: npt.NDArray[Any]) -> bool:
    """Tell whether the non-zero numbers differ; if not, they only mark edges.

    NaN differs from everything, itself included.
    """
    if values.dtype.kind == "b":
        return False
    flat, mark = values.reshape(-1), 0
    # Viewed as unsigned, negative numbers are large.
    if values.dtype.kind in "iu" and flat.view(f"u{flat.itemsize}").max(initial=0) <= 1:
        return False
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        if mark == 0:
            mark = block.max() or block.min()
        if not ((block == 0) | (block == mark)).all():
            return True
    return False


def graphs_differ(stack: npt.NDArray[Any]) -> bool:
    """Tell whether the numbers of any graph in a (graph, left, right) array differ."""
    if not numbers_differ(stack):  # of all graphs at once
        return False
    flat = stack.reshape(len(stack), -1)
    low, high = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    return bool(((flat != 0) & (flat != np.where(high != 0, high, low))).any())


def each_differ(values: npt.NDArray[Any], start: WideArray) -> BoolArray:
    """Tell which of consecutive ranges hold numbers that differ, zeros included.

    >>> each_differ(np.array([3, 3, 1, 2, np.nan]), np.array([0, 2, 2, 4, 5]))
    array([False, False,  True,  True])
    """
    if (values == 1).all():
        return np.zeros(len(start) - 1, np.bool_)
    lengths = np.diff(start)
    some = lengths > 0
    first = np.repeat(values[start[:-1][some]], lengths[some])
    return sums(values != first, start) > 0
