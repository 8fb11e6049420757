"""Costs of any numeric type become whole multiples of a unit, so that nothing is rounded later.

Whole numbers stay as they are. Others are multiplied by a power of ten, if each is then whole and
reads back as the number given: 12.5 hours are 125 tenths. If there is no such power, they are
multiplied by a power of two: a binary fraction times a large enough one is whole. Where even that
would need more than 64 bits, they are rounded to the finest power of two that fits: `error` bounds
the rounding, and an answer says how far it may be from the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import compress
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, WideArray, equal, frozen, refuse_text, unmasked
from augury.errors import InputError

MAX_TOTAL = 2**55
"""Nodes times the largest cost: with this, no sum in any of our solvers exceeds 62 bits."""

Amount = int | float
"""A cost as users see it: a whole number where all costs are."""

SAMPLE = 64
"""Costs that are tried first, to rule out a number of decimal digits quickly."""
BLOCK = 2**14
"""Costs that are converted at a time."""


@dataclass(frozen=True, eq=False)
class Costs:
    """What each edge or arc costs."""

    amount: WideArray
    """In whole units."""
    unit: Fraction = Fraction(1)
    """What one of them is worth."""
    error: Fraction = Fraction(0)
    """How far a given cost may be from its amount in units; 0 where all are exact."""
    maximise: bool = False
    """Whether to look for the greatest sum: then these are profits, not costs."""

    @classmethod
    def of(cls, values: Any, num_nodes: int, maximise: bool = False) -> Costs:
        """Take the costs of a graph with `num_nodes` nodes; `Costs` stay as they are.

        Raises:
            InputError: they are not finite numbers, or are too large.
        """
        if isinstance(values, cls):
            return values
        array = unmasked(values, "costs")
        if array.ndim != 1:
            raise InputError(f"costs are one row of numbers, not {array.ndim}-dimensional")
        refuse_text(array, "the row of costs")
        if array.dtype.kind == "c":
            raise InputError("costs are real numbers, not complex ones")
        most = MAX_TOTAL // (num_nodes + 4)
        if array.dtype.kind == "f":
            return _of_floats(array, most, maximise)
        largest = max(abs(int(array.max(initial=0))), abs(int(array.min(initial=0))))
        if largest > most:
            told = f"a cost of {largest} is too large for {num_nodes} nodes"
            raise InputError(f"{told}: sums could pass 63 bits (the largest is {most})")
        return cls(frozen(array.astype(np.int64)), maximise=maximise)

    @property
    def to_minimise(self) -> WideArray:
        """The amounts, negated if the greatest sum is sought."""
        return -self.amount if self.maximise else self.amount

    def select(self, which: Any) -> Costs:
        """Return the costs of some edges or arcs, in this order."""
        return replace(self, amount=frozen(self.amount[which]))

    def worth(self, amount: int) -> Amount:
        """Convert whole units back to the user's numbers, exactly where a float can."""
        return amount if self.unit == 1 else float(amount * self.unit)

    @property
    def dtype(self) -> type[np.int64] | type[np.float64]:
        """The type of the user's numbers, as an array."""
        return np.int64 if self.unit == 1 else np.float64

    @property
    def sense(self) -> str:
        """Which cost is sought, the least or the greatest."""
        return "greatest" if self.maximise else "least"

    def __eq__(self, other: object) -> bool:
        return equal(self, other) if isinstance(other, Costs) else NotImplemented


def of_edges(values: Any, num_nodes: int, maximise: bool = False) -> tuple[BoolArray | None, Costs]:
    """Return which of some edges exist, None for all, and their costs: see `no_edge`."""
    if isinstance(values, Costs):
        return None, values
    missing = no_edge(unmasked(values, "costs"), maximise)
    if missing is None:
        return None, Costs.of(values, num_nodes, maximise)
    exists = ~missing
    is_array = isinstance(values, np.ndarray)
    left = cast("Any", values)[exists] if is_array else list[Any](compress(values, exists))
    return exists, Costs.of(left, num_nodes, maximise)


def no_edge(array: npt.NDArray[Any], maximise: bool) -> BoolArray | None:
    """Tell which entries of a cost matrix are infinitely bad, and so not edges; None if none are.

    Raises:
        InputError: an entry is NaN, or infinitely good.
    """
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return None
    bad = -np.inf if maximise else np.inf
    wrong = np.isnan(array) | (array == -bad)
    if wrong.any():
        at = [int(i) for i in np.argwhere(wrong)[0]]
        entry = array[tuple(at)]
        told = "not a number (NaN)" if np.isnan(entry) else f"{entry}"
        raise InputError(f"the cost at {', '.join(map(str, at))} is {told}")
    return cast("BoolArray", array == bad)


def _of_floats(array: npt.NDArray[Any], most: int, maximise: bool) -> Costs:
    largest = float(np.max([np.abs(block).max() for block in _blocks(array)], initial=0.0))
    if not largest <= most:
        if not np.isfinite(array).all():
            at = int((~np.isfinite(array)).argmax())
            raise InputError(f"cost {at} is {array[at]}, not a finite number")
        raise InputError(f"a cost of {largest} is too large: sums could pass 63 bits")
    for digits in range(16):
        scale = 10.0**digits
        if largest * scale > min(most, 2**53):
            break
        if not _multiples(array[:SAMPLE], scale)[1]:
            continue  # as most are
        amount, is_exact = _multiples(array, scale)
        if is_exact:
            return Costs(frozen(amount), Fraction(1, 10**digits), maximise=maximise)
    # Multiplying by a power of two is exact, unless the product is beyond the normal numbers.
    places = min(int(np.log2(most)) - int(np.frexp(largest)[1]), 1000)
    amount, is_exact = _multiples(array, 2.0**places)
    unit = Fraction(2) ** -places
    return Costs(frozen(amount), unit, Fraction(0) if is_exact else unit / 2, maximise)


def _multiples(array: npt.NDArray[Any], scale: float) -> tuple[WideArray, bool]:
    """Round multiples of costs to whole numbers; tell whether all lead back to the costs."""
    amount, is_exact, done = np.empty(len(array), np.int64), True, 0
    for block in _blocks(array):
        whole = np.rint(block * scale)
        is_exact = is_exact and bool((whole / scale == block).all())
        amount[done : done + len(block)] = whole
        done += len(block)
    return amount, is_exact


def _blocks(array: npt.NDArray[Any]) -> Iterator[npt.NDArray[np.float64]]:
    """Yield float64 numbers, as many at a time as stay in the cache."""
    for start in range(0, len(array), BLOCK):
        yield array[start : start + BLOCK].astype(np.float64, copy=False)
