"""Stacks of cost matrices become assignments of least cost, with the prices that prove it.

Every answer is exact: costs are read as they are, 0.1 as the binary fraction that it is, in whole
units of a power of two. Most matrices fit into int32, nearly all others into int64. Floats that
differ too much in size are rounded to 50 bits first. Then every assignment that could cost as
little uses only pairs whose reduced cost is at most one unit for each row; if there is only one
such assignment, it is the answer; otherwise the search continues among these pairs in finer units.

Of several assignments that cost the same, the answer is the first: row 0 has the least column that
it can have, then row 1, and so on; having none counts as last. The prices need not be unique.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import WideArray, read_only, unmasked
from augury.engines.assignment_loops import Dense, aligned, width_of
from augury.engines.assignment_tables import (
    FLOAT_BITS,
    INFEASIBLE,
    INVALID,
    OPTIMAL,
    READ,
    Matrices,
    Tables,
    read_floats,
    read_integers,
    solve_all,
)
from augury.engines.tight import Tight
from augury.errors import InputError

CHUNK_CELLS = 2**17
"""Cells of the matrices read at a time, which stay in the cache."""
CELLS_A_THREAD = 2**17
"""Cells for which another thread pays off."""


class Assignments(NamedTuple):
    """What was found for each matrix; where there is no assignment, −1 and 0.

    >>> found = assign_dense([[[4, 1, 3], [2, 0, 5]], [[1, 2, 2], [1, 2, 3]]])
    >>> found.columns.tolist(), bool((found.status == OPTIMAL).all())
    ([[1, 0], [0, 1]], True)
    """

    columns: WideArray
    """(matrix, row): the column of each row, −1 for none."""
    row_price: npt.NDArray[Any]
    """(matrix, row): int64, or float64 for floats, rounded where needed."""
    column_price: npt.NDArray[Any]
    """(matrix, column): plus `row_price` no more than any cost, and equal where assigned.

    Those of the longer side are at most 0, and 0 where not assigned.
    """
    status: npt.NDArray[np.int8]
    """(matrix,): OPTIMAL, INFEASIBLE or INVALID."""


def assign_dense(
    cost: npt.ArrayLike,
    *,
    maximise: bool = False,
    allowed: npt.ArrayLike | None = None,
    sizes: npt.ArrayLike | None = None,
    partial: bool = False,
    threads: int = 1,
) -> Assignments:
    """Assign all rows or all columns of each matrix, whichever are fewer, at the least cost.

    Args:
        cost: (matrix, row, column), integers or floats; an infinitely bad one forbids a pair. What
            a matrix holds never raises: with NaN its status is INVALID.
        maximise: find the greatest sum; the prices are then those of the negated costs.
        allowed: of the same shape, False for forbidden pairs.
        sizes: (matrix, 2), how many rows and columns of each matrix count; the others get −1.
        partial: where that is impossible, assign as many as possible, at the least cost; the status
            stays INFEASIBLE.
        threads: the most that share the matrices; a small stack uses fewer.

    Raises:
        InputError: an argument has the wrong shape or type.

    >>> found = assign_dense([[[4, 1, 3], [2, 0, 5]]])
    >>> found.columns, found.row_price, found.column_price, found.status
    (array([[1, 0]]), array([[3, 2]]), array([[ 0, -2,  0]]), array([0], dtype=int8))
    """
    if threads < 1:
        raise InputError(f"the matrices are shared by at least one thread, not {threads}")
    costs = _checked_costs(cost)
    mask_of, ends_of = _checked_pairs(allowed, costs), _checked_sizes(sizes, costs)
    count, num_rows, num_columns = costs.shape
    prices = np.zeros((count, num_rows), np.int64), np.zeros((count, num_columns), np.int64)
    status, shift = np.full(count, READ, np.int8), np.zeros(count, np.int64)
    found = Assignments(np.full((count, num_rows), -1, np.int64), *prices, status)
    given = Matrices(costs.reshape(-1), mask_of.reshape(-1), bool(maximise))
    tables = Tables(ends_of, costs.shape[1:], found, shift, np.zeros(count, np.bool_))
    work = _Work(given, tables)
    threads = min(threads, count, costs.size // CELLS_A_THREAD)
    if threads <= 1:
        work.run(0, count)
    else:
        ends = np.linspace(0, count, threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda part: work.run(*part), pairwise(ends)))
    if costs.dtype.kind == "f":
        rows, columns = (price.view(np.float64) for price in prices)
        found = Assignments(found.columns, rows, columns, status)
    for number in np.flatnonzero(status > INVALID).tolist():
        num_rows, num_columns = ends_of[number]
        own = costs[number, :num_rows, :num_columns]
        mask = mask_of[number, :num_rows, :num_columns] if len(mask_of) else True
        answer = _refine(own, mask, maximise)
        status[number] = INFEASIBLE if answer is None else OPTIMAL
        try:
            for array, values in zip(found, answer or (), strict=False):
                array[number, : len(values)] = values
        except OverflowError:
            _refuse(found, number)
    if partial and len(some := np.flatnonzero(status == INFEASIBLE)):
        masks = mask_of[some] if len(mask_of) else np.True_
        _assign_some(found, some, costs[some], masks, ends_of[some], maximise)
    return found


def _refuse(found: Assignments, numbers: Any) -> None:
    """Mark these matrices as INVALID, with nothing found."""
    for array, value in zip(found, (-1, 0, 0, INVALID), strict=True):
        array[numbers] = value


def _assign_some(
    found: Assignments, numbers: Any, costs: Any, allowed: Any, sizes: Any, maximise: bool
) -> None:
    """Assign as many rows of these matrices as possible, where that is not all of a side.

    Each row gets a column of its own, dearer than all others together, that stands for none.
    """
    count, num_rows, num_columns = costs.shape
    wide = costs.astype(np.float64 if costs.dtype.kind == "f" else np.int64)
    within = np.arange(num_columns) < sizes[:, 1, None, None]
    allowed = allowed & within & (np.arange(num_rows)[:, None] < sizes[:, 0, None, None])
    allowed &= np.isfinite(wide)
    low = np.where(allowed, wide, np.inf).min(axis=(1, 2), initial=np.inf)
    high = np.where(allowed, wide, -np.inf).max(axis=(1, 2), initial=-np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        extent = (num_rows + 1) * (high - low) + np.maximum(abs(low), abs(high))
    extent = np.where(high >= low, extent, 0.0)
    is_large = ~(extent < (2.0**1000 if costs.dtype.kind == "f" else 2.0**60))
    dear = np.ldexp(1.0, np.frexp(np.where(is_large, 0, extent) + 1)[1] + 1)
    none = np.broadcast_to(np.eye(num_rows, dtype=bool), (count, num_rows, num_rows))
    own = np.broadcast_to((-dear if maximise else dear)[:, None, None], none.shape)
    answer = assign_dense(
        np.concatenate([np.where(allowed, wide, 0), own.astype(wide.dtype)], axis=2),
        maximise=maximise,
        allowed=np.concatenate([allowed, none], axis=2),
        sizes=np.stack([sizes[:, 0], np.full(count, num_columns + num_rows)], axis=1),
    )
    columns = np.where(answer.columns < num_columns, answer.columns, -1)
    own = columns, answer.row_price, answer.column_price[:, :num_columns]
    for array, values in zip(found[:3], own, strict=True):
        array[numbers] = values
    _refuse(found, numbers[is_large | (answer.status == INVALID)])


def _array(values: Any, what: str) -> Any:
    try:
        return unmasked(values, what)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise InputError(f"there are rows of unequal length in the {what}") from None


def _checked_costs(given: Any) -> Any:
    """Return costs as compiled loops take them."""
    cost = _array(given, "costs")
    if cost.ndim != 3:
        raise InputError(f"the costs have {cost.ndim} axes, not (matrix, row, column)")
    if cost.dtype.kind not in "fiub" or cost.dtype.itemsize > 8:
        raise InputError(f"costs are integers or floats of at most 64 bits, not {cost.dtype}")
    if cost.dtype == np.uint64 and cost.max(initial=0) > np.iinfo(np.int64).max:
        raise InputError("a cost is beyond int64")
    if cost.dtype not in (np.int32, np.int64, np.float32, np.float64):
        real = np.float64 if cost.dtype.itemsize > 4 else np.float32
        cost = cost.astype(real if cost.dtype.kind == "f" else np.int64)
    return read_only(cost)


def _checked_pairs(given: Any, cost: Any) -> Any:
    """Return which pairs are allowed; nothing if all are."""
    if given is None:
        return read_only(np.empty((0, 0, 0), np.bool_))
    allowed = _array(given, "allowed pairs")
    if allowed.shape != cost.shape:
        raise InputError(f"allowed is {allowed.shape}, but the costs are {cost.shape}")
    if allowed.dtype != np.bool_:
        raise InputError(f"allowed is Boolean, not {allowed.dtype}")
    return read_only(allowed)


def _checked_sizes(given: Any, cost: Any) -> Any:
    """Return how many rows and columns of each matrix count."""
    if given is None:
        return read_only(np.broadcast_to(cost.shape[1:], (len(cost), 2)), np.int64)
    sizes = _array(given, "sizes")
    if sizes.shape != (len(cost), 2):
        raise InputError(f"sizes is {sizes.shape}, not (matrix, 2)")
    if sizes.dtype.kind not in "iu":
        raise InputError(f"sizes are integers, not {sizes.dtype}")
    if (sizes < 0).any() or (sizes > cost.shape[1:]).any():
        raise InputError("sizes are from 0 to the rows and columns of the costs")
    return read_only(sizes, np.int64)


class _Work(NamedTuple):
    """The matrices of a call and their answers; `run` may be called in several threads."""

    given: Matrices
    tables: Tables

    def run(self, start: int, stop: int) -> None:
        """Assign some of the matrices."""
        status = self.tables.found.status[start:stop]
        self._solve(np.arange(start, stop), np.int32)
        if (is_left := status > INVALID).any():
            status[is_left] = READ
            self._solve(start + np.flatnonzero(is_left), np.int64)

    def _solve(self, which: WideArray, dtype: Any) -> None:
        """Assign matrices in integers of this type, as many at a time as stay in the cache."""
        given, tables = self
        num_rows, num_columns = min(tables.shape), max(tables.shape)
        room = max(num_rows * width_of(num_columns), 1)
        many = min(max(1, CHUNK_CELLS // room), len(which))
        dense = Dense.of(num_rows, num_columns, aligned(many * room, dtype))
        tight = Tight.of(dense)
        for first in range(0, len(which), max(many, 1)):
            some = which[first : first + many]
            if given.cost.dtype.kind == "f":
                bits = given.cost.view(f"i{given.cost.dtype.itemsize}")
                read_floats(given, bits, tables, some, dense)
            else:
                read_integers(given, tables, some, dense)
            solve_all(tables, some, dense, tight, given.cost.dtype.kind == "f")


def _refine(cost: Any, allowed: Any, maximise: bool) -> Any:
    """Assign a matrix whose costs do not fit into 64 bits: columns and prices, or None.

    Rows or columns that cost nothing make it square. Costs are rounded to 50 bits; what is left of
    them at the prices found is a problem of its own. There few pairs count: by the rounded costs
    the best assignments hold none that exceeds its prices by more than a unit for each row.
    """
    (num_rows, num_columns), size = cost.shape, max(cost.shape)
    is_open, given = np.ones((size, size), np.bool_), np.zeros((size, size), cost.dtype)
    is_open[:num_rows, :num_columns] = np.isfinite(cost) & allowed
    given[:num_rows, :num_columns] = np.where(is_open[:num_rows, :num_columns], cost, 0)
    coarse, step = _rounded(given, maximise)
    found = assign_dense(coarse[None], allowed=is_open[None])
    if found.status[0] != OPTIMAL:
        return None
    u, v = found.row_price[0].astype(object), found.column_price[0].astype(object)
    pairs = np.nonzero(
        is_open & (coarse - found.row_price[0][:, None] - found.column_price[0] <= size)
    )
    exact = list(map(Fraction, given[pairs].tolist()))
    unit = Fraction(1, math.lcm(step.denominator, *(one.denominator for one in exact)))
    whole = np.array([int((-one if maximise else one) / unit) for one in exact], object)
    u, v, cap = u * int(step / unit), v * int(step / unit), size * int(step / unit)
    own, *changes = _refined(is_open, pairs, whole - u[pairs[0]] - v[pairs[1]], cap)
    rows, columns = u + changes[0], v + changes[1]
    if num_rows < size:  # an added row pays the price of a free column
        rows, columns = rows - rows[-1], columns + rows[-1]
    elif num_columns < size:
        rows, columns = rows + columns[-1], columns - columns[-1]
    own = np.where(own < num_columns, own, -1)[:num_rows]
    prices = rows[:num_rows], columns[:num_columns]
    return own, *([one * unit for one in price.tolist()] for price in prices)


def _refined(is_open: Any, pairs: Any, left: Any, cap: int) -> tuple[WideArray, Any, Any]:
    """Assign a square matrix in finer and finer units; return the columns, and the prices.

    `left` is what some pairs cost, in whole numbers of any size. The others that are open cost more
    than `cap`, which is more than the best assignments pay for a pair.
    """
    size = len(is_open)
    rows, columns = np.zeros((2, size), object)
    while True:
        shift = max(0, max(cap, *map(abs, left.tolist())).bit_length() - FLOAT_BITS)
        coarse = np.full(is_open.shape, cap >> shift)
        coarse[pairs] = [(one + (1 << shift >> 1)) >> shift for one in left.tolist()]
        found = assign_dense(coarse[None], allowed=is_open[None])
        u, v = found.row_price[0], found.column_price[0]
        rows, columns = rows + (u.astype(object) << shift), columns + (v.astype(object) << shift)
        if shift == 0:
            return found.columns[0], rows, columns
        place = np.full(is_open.shape, -1)
        place[pairs] = np.arange(len(left))
        pairs = np.nonzero(is_open & (coarse - u[:, None] - v <= size))
        left = np.append(left, cap)[place[pairs]]
        left, cap = left - ((u[pairs[0]] + v[pairs[1]]).astype(object) << shift), size << shift


def _rounded(given: Any, maximise: bool) -> tuple[WideArray, Fraction]:
    """Return costs to minimise, in 50 bits, and what one of their units is worth."""
    if given.dtype.kind == "f":
        places = FLOAT_BITS - int(np.frexp(np.abs(given).max())[1])
        coarse = np.rint(np.ldexp(given, places)).astype(np.int64)
    else:
        largest = max(int(given.max()), -int(given.min()))
        places = -max(0, largest.bit_length() - FLOAT_BITS)
        half = given >> max(-places - 1, 0) & 1 if places else 0  # added afterwards: no overflow
        coarse = (given >> -places) + half
    return -coarse if maximise else coarse, Fraction(2) ** -places
