"""Stacks of cost matrices become assignments of least cost, with the prices that prove it.

Every answer is exact: costs are read as what they are, 0.1 as the binary fraction that it is, in
whole units of a power of two. Most matrices fit into int32, nearly all others into int64. Floats
that differ too much in size are rounded to 50 bits first. Then every assignment that could cost as
little uses only pairs whose reduced cost is at most one unit for each row; if there is but one such
assignment, it is the answer, and otherwise it is looked for among these pairs in finer units.

Of several assignments that cost the same the answer is the first: row 0 has the least column that
it can have, then row 1, and so on, having none counting as the last. The prices are no more unique
than they need be.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import WideArray
from augury.engines.assignment_loops import (
    FULL,
    LANES,
    NOT_FULL,
    Dense,
    assign,
    compiled,
    inlined,
    start_of,
    width_of,
)
from augury.engines.tight import ALONE, WRONG, Tight, first_of_equals
from augury.errors import InputError

OPTIMAL, INFEASIBLE, INVALID = 0, 1, 2
"""What is known of a matrix: its assignment is proven; there is none; a cost is no number, or
infinitely good."""
_TOO_WIDE, _TOO_ROUGH, _READ = 3, 4, 5

FLOAT_BITS = 50
"""Of floats, in int64: their sums stay exact as float64."""
ROUND = 1.5 * 2.0**52
"""With this added, a float has no digits behind the point."""
ROUND_BITS = np.float64(ROUND).view(np.int64)

CHUNK_CELLS = 2**17
"""Of matrices that are read at a time: they stay in the cache."""
CELLS_A_THREAD = 2**17
"""From which on another thread pays."""


class Assignments(NamedTuple):
    """What was found for each matrix; where its status is not OPTIMAL, −1 and 0."""

    columns: WideArray
    """(matrix, row): the column of each row, −1 for none."""
    row_price: npt.NDArray[Any]
    """(matrix, row): int64, for floats float64, rounded where that is needed."""
    column_price: npt.NDArray[Any]
    """(matrix, column): with `row_price` no more than any cost, and equal where assigned.

    Those of the longer side are at most 0, and 0 for who is not assigned.
    """
    status: npt.NDArray[np.int8]
    """(matrix,): OPTIMAL, INFEASIBLE or INVALID."""


def assign_dense(
    cost: npt.NDArray[Any],
    *,
    maximise: bool = False,
    allowed: npt.NDArray[np.bool_] | None = None,
    sizes: npt.NDArray[Any] | None = None,
    threads: int = 1,
) -> Assignments:
    """Assign all rows or all columns of each matrix, whichever are fewer, at the least cost.

    Args:
        cost: (matrix, row, column), integers or floats; an infinitely bad one forbids a pair.
        maximise: find the greatest sum; the prices are then those of the negated costs.
        allowed: of the same shape, False for pairs that are forbidden.
        sizes: (matrix, 2), how many rows and columns of each matrix count; the others get −1.
        threads: how many may share the matrices; a small stack takes fewer.

    Raises:
        InputError: an argument has not the shape or type that it should have, or integers are so
            large that the prices would not fit into 64 bits.
    """
    checked: tuple[Any, Any, Any] = _checked(cost, allowed, sizes)
    cost, mask_of, ends_of = checked
    count, num_rows, num_columns = cost.shape
    prices = np.zeros((count, num_rows), np.int64), np.zeros((count, num_columns), np.int64)
    status, shift = np.full(count, _READ, np.int8), np.zeros(count, np.int64)
    found = Assignments(np.full((count, num_rows), -1, np.int64), *prices, status)
    flat = cost.reshape(-1), mask_of.reshape(-1), ends_of, cost.shape[1:], bool(maximise)
    work = _Work(Matrices(*flat), found, shift, np.zeros(count, np.bool_))
    threads = min(threads, count, cost.size // CELLS_A_THREAD)
    if threads <= 1:
        work.run(0, count)
    else:
        ends = np.linspace(0, count, threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda part: work.run(*part), pairwise(ends)))
    if cost.dtype.kind == "f":
        rows, columns = (np.ldexp(price, -shift[:, None]) for price in prices)
        found = Assignments(found.columns, rows, columns, status)
    for number in np.flatnonzero(status > INVALID).tolist():
        num_rows, num_columns = ends_of[number]
        own = cost[number, :num_rows, :num_columns]
        mask = mask_of[number, :num_rows, :num_columns] if len(mask_of) else True
        answer = _refine(own, mask, maximise)
        status[number] = INFEASIBLE if answer is None else OPTIMAL
        for array, values in zip(found, answer or (), strict=False):
            try:
                array[number, : len(values)] = values
            except OverflowError:
                raise InputError("costs are so large that their prices pass 63 bits") from None
    return found


def _checked(cost: Any, allowed: Any, sizes: Any) -> tuple[Any, Any, Any]:
    """Return the arguments as compiled loops take them."""
    cost = np.asarray(cost)
    if cost.ndim != 3:
        raise InputError(f"the costs have {cost.ndim} axes, not (matrix, row, column)")
    if cost.dtype.kind not in "fiub" or cost.dtype.itemsize > 8:
        raise InputError(f"costs are integers or floats of at most 64 bits, not {cost.dtype}")
    if cost.dtype == np.uint64 and cost.max(initial=0) > np.iinfo(np.int64).max:
        raise InputError("a cost is beyond int64")
    if cost.dtype not in (np.int32, np.int64, np.float32, np.float64):
        cost = cost.astype(np.float32 if cost.dtype.kind == "f" else np.int64)
    cost = np.require(cost, None, ["C", "A", "W"])  # numba compiles anew for a read-only array
    if allowed is None:
        allowed = np.empty((0, 0, 0), np.bool_)
    elif np.shape(allowed) != cost.shape:
        raise InputError(f"allowed is {np.shape(allowed)}, but the costs are {cost.shape}")
    if sizes is None:
        sizes = np.empty((len(cost), 2), np.int64)
        sizes[:] = cost.shape[1:]
    elif np.shape(sizes) != (len(cost), 2):
        raise InputError(f"sizes is {np.shape(sizes)}, not (matrix, 2)")
    else:
        sizes = np.require(sizes, np.int64, ["C", "W"])
        if (sizes < 0).any() or (sizes > cost.shape[1:]).any():
            raise InputError("sizes are from 0 to the rows and columns of the costs")
    return cost, np.require(allowed, np.bool_, ["C", "W"]), sizes


class Matrices(NamedTuple):
    """What is to be assigned, as compiled loops take it."""

    cost: Any
    """(matrix * row * column,)."""
    allowed: Any
    """The same, or empty."""
    sizes: Any
    """(matrix, 2)."""
    shape: tuple[int, int]
    """(row, column)."""
    maximise: bool


class _Work(NamedTuple):
    """The matrices of a call and their answers; `run` may be called in several threads."""

    given: Matrices
    found: Assignments
    """Prices are int64 on the way."""
    shift: Any
    """(matrix,): costs and prices are whole numbers of 2^−shift."""
    is_rough: Any
    """(matrix,): whether costs were rounded to that."""

    def run(self, start: int, stop: int) -> None:
        """Assign some of the matrices."""
        status = self.found.status[start:stop]
        self._solve(np.arange(start, stop), np.int32)
        if (is_left := status > INVALID).any():
            status[is_left] = _READ
            self._solve(start + np.flatnonzero(is_left), np.int64)

    def _solve(self, which: WideArray, dtype: Any) -> None:
        """Assign matrices in integers of this type, as many at a time as stay in the cache."""
        given = self.given
        num_rows, num_columns = min(given.shape), max(given.shape)
        room = max(num_rows * width_of(num_columns), 1)
        many = min(max(1, CHUNK_CELLS // room), len(which))
        tables = np.empty(many * room, dtype)
        dense, tight = Dense.of(num_rows, num_columns, tables), Tight.of(num_rows, num_columns)
        for first in range(0, len(which), max(many, 1)):
            some = which[first : first + many]
            if given.cost.dtype.kind == "f":
                bits = given.cost.view(f"i{given.cost.dtype.itemsize}")
                _read_floats(self, bits, some, dense)
            else:
                _read_integers(self, some, dense)
            _solve_all(self, some, dense, tight)


def _refine(cost: Any, allowed: Any, maximise: bool) -> Any:
    """Assign a matrix whose costs do not fit into 64 bits: columns and prices, or None."""
    allowed = np.isfinite(cost) & allowed
    exact = list(map(Fraction, np.where(allowed, cost, 0).ravel().tolist()))
    unit = Fraction(1, math.lcm(*(one.denominator for one in exact)))
    whole = np.array([int(one / unit) for one in exact], object).reshape(cost.shape)
    answer = _refined(-whole if maximise else whole, allowed)
    if answer is None:
        return None
    columns, *prices = answer
    return columns, *([one * unit for one in price.tolist()] for price in prices)


def _refined(whole: Any, allowed: Any) -> tuple[Any, Any, Any] | None:
    """Assign a matrix of whole numbers of any size: columns and prices, or None.

    Made square by rows or columns that cost nothing. Costs are rounded to 50 bits; what is left of
    them at the prices found is a problem of its own, on the few pairs that can still matter.
    """
    num_rows, num_columns = whole.shape
    size = max(whole.shape)
    reduced, left = np.zeros((size, size), object), np.ones((size, size), np.bool_)
    reduced[:num_rows, :num_columns], left[:num_rows, :num_columns] = whole, allowed
    rows, columns = np.zeros(size, object), np.zeros(size, object)
    while True:
        shift = max(0, max(map(abs, reduced[left].tolist())).bit_length() - FLOAT_BITS)
        coarse = np.zeros((1, size, size), np.int64)
        coarse[0][left] = [(one + (1 << shift >> 1)) >> shift for one in reduced[left].tolist()]
        found = assign_dense(coarse, allowed=left[None])
        if found.status[0] != OPTIMAL:
            return None
        u, v = found.row_price[0], found.column_price[0]
        left &= coarse[0] - u[:, None] - v <= size
        rows, columns = rows + (u.astype(object) << shift), columns + (v.astype(object) << shift)
        reduced = reduced - (u.astype(object) << shift)[:, None] - (v.astype(object) << shift)
        if shift == 0:
            break
    if num_rows < size:  # what a further row pays is the price of a column that is free
        rows, columns = rows - rows[-1], columns + rows[-1]
    elif num_columns < size:
        rows, columns = rows + columns[-1], columns - columns[-1]
    own = found.columns[0, :num_rows]
    return np.where(own < num_columns, own, -1), rows[:num_rows], columns[:num_columns]


@inlined
def _place(given: Matrices, number: int, k: int, dense: Dense) -> Any:
    """Set the size of the k-th table; return its steps from row to row and column to column."""
    num_rows, num_columns = given.sizes[number, 0], given.sizes[number, 1]
    dense.size[0], dense.size[1] = min(num_rows, num_columns), max(num_rows, num_columns)
    width = (dense.size[1] + LANES - 1) // LANES * LANES
    dense.size[2] = width
    room = min(given.shape[0], given.shape[1]) * (
        (max(given.shape[0], given.shape[1]) + LANES - 1) // LANES * LANES
    )
    dense.size[3] = k * room
    return (1, width) if num_rows > num_columns else (width, 1)


@inlined
def _pad(dense: Dense) -> None:
    """Forbid the columns that fill up the rows of a table."""
    for row in range(dense.size[0]):
        start = start_of(dense, row)
        for column in range(dense.size[1], dense.size[2]):
            dense.table[start + column] = dense.out[0]


@compiled
def _read_integers(work: _Work, which: Any, dense: Dense) -> None:  # noqa: C901  # compiled
    """Fill the tables of some matrices, unless their costs are too wide for them."""
    given, zero = work.given, work.given.cost.dtype.type(0)
    most, out = np.int64(dense.out[0]) >> 5, dense.out[0]
    for k in range(len(which)):
        number = which[k]
        num_rows, num_columns = given.sizes[number, 0], given.sizes[number, 1]
        down, right = _place(given, number, k, dense)
        low, high = zero, zero
        for row in range(num_rows):
            start = (number * given.shape[0] + row) * given.shape[1]
            costs = given.cost[start : start + num_columns]
            if len(given.allowed) == 0:
                for column in range(num_columns):
                    low, high = min(low, costs[column]), max(high, costs[column])
            else:
                for column in range(num_columns):
                    if given.allowed[start + column]:
                        low, high = min(low, costs[column]), max(high, costs[column])
        if low < -most or high > most:
            work.found.status[number] = _TOO_WIDE
            continue
        for row in range(num_rows):
            start, place = (
                (number * given.shape[0] + row) * given.shape[1],
                dense.size[3] + row * down,
            )
            costs = given.cost[start : start + num_columns]
            if right == 1 and len(given.allowed) == 0 and not given.maximise:
                table = dense.table[place : place + num_columns]
                for column in range(num_columns):
                    table[column] = costs[column]
            else:
                for column in range(num_columns):
                    one = -costs[column] if given.maximise else costs[column]
                    is_open = len(given.allowed) == 0 or given.allowed[start + column]
                    dense.table[place + column * right] = one if is_open else out
        _pad(dense)


@compiled
def _read_floats(work: _Work, bits: Any, which: Any, dense: Dense) -> None:  # noqa: C901  # too
    """Fill the tables of some matrices; those whose costs are not whole in int32 are too wide.

    `bits` are the costs as integers, of which the absolute ones are in the same order.
    """
    given, kind = work.given, bits.dtype.type
    is_narrow = dense.table.itemsize == 4
    digits = 24 if is_narrow else FLOAT_BITS
    mantissa, bias = (23, 126) if bits.itemsize == 4 else (52, 1022)
    sign = kind(1 << (8 * bits.itemsize - 1))
    for k in range(len(which)):
        number = which[k]
        num_rows, num_columns = given.sizes[number, 0], given.sizes[number, 1]
        down, right = _place(given, number, k, dense)
        top = kind(0)
        for row in range(num_rows):
            start = (number * given.shape[0] + row) * given.shape[1]
            line = bits[start : start + num_columns]
            for column in range(num_columns):
                top = max(top, kind(line[column] & ~sign))
            if is_narrow and row == 0:
                # No coarser unit will do if that of the first row does not.
                finest: Any = min(digits + bias - np.int64(top >> mantissa), 1000)
                unit = math.ldexp(1.0, finest)
                if _is_rough(given.cost[start : start + num_columns], unit):
                    work.found.status[number] = _TOO_WIDE
                    break
        if work.found.status[number] != _READ:
            continue
        is_plain = len(given.allowed) == 0 and top >> mantissa < 2 * bias + 3
        if not is_plain:
            top = _largest_bits(given, bits, number)
            if top < 0:
                work.found.status[number] = INVALID
                continue
        shift: Any = min(digits + bias - np.int64(top >> mantissa), 1000)
        scale = math.ldexp(-1.0 if given.maximise else 1.0, shift)
        num_rough = 0
        for row in range(num_rows):
            start, place = (
                (number * given.shape[0] + row) * given.shape[1],
                dense.size[3] + row * down,
            )
            costs = given.cost[start : start + num_columns]
            if is_plain and right == 1:
                table = dense.table[place : place + num_columns]
                for column in range(num_columns):
                    exact = np.float64(costs[column]) * scale
                    num_rough += exact + ROUND - ROUND != exact
                    table[column] = _whole(exact)
            else:
                for column in range(num_columns):
                    at = place + column * right
                    if is_plain or _is_open(given, start + column):
                        exact = np.float64(costs[column]) * scale
                        num_rough += exact + ROUND - ROUND != exact
                        dense.table[at] = _whole(exact)
                    else:
                        dense.table[at] = dense.out[0]
            if is_narrow and num_rough:
                break
        work.shift[number], work.is_rough[number] = shift, num_rough > 0
        if is_narrow and num_rough:
            work.found.status[number] = _TOO_WIDE
            continue
        _pad(dense)


@compiled
def _is_rough(costs: Any, unit: float) -> Any:
    """Whether one of some costs is finite, and not whole when multiplied by this."""
    num_rough = 0
    for column in range(len(costs)):
        exact = np.float64(costs[column]) * unit
        num_rough += abs(exact) < np.inf and exact + ROUND - ROUND != exact
    return num_rough > 0


@inlined
def _whole(number: float) -> Any:
    """Return the nearest whole number of one below 2^51; the usual conversion is not vectorised."""
    return np.float64(number + ROUND).view(np.int64) - ROUND_BITS


@inlined
def _is_open(given: Matrices, at: int) -> bool:
    """Whether a pair is not forbidden; its cost may be no number."""
    worst = -np.inf if given.maximise else np.inf
    return (len(given.allowed) == 0 or given.allowed[at]) and given.cost[at] != worst


@compiled
def _largest_bits(given: Matrices, bits: Any, number: int) -> Any:
    """Return the largest bits of a cost that counts, −1 if one is no number or infinitely good."""
    top, sign = bits.dtype.type(0), bits.dtype.type(1 << (8 * bits.itemsize - 1))
    for row in range(given.sizes[number, 0]):
        start = (number * given.shape[0] + row) * given.shape[1]
        for at in range(start, start + given.sizes[number, 1]):
            if _is_open(given, at):
                if not np.isfinite(given.cost[at]):
                    return bits.dtype.type(-1)
                top = max(top, bits.dtype.type(bits[at] & ~sign))
    return top


@compiled
def _solve_all(work: _Work, which: Any, dense: Dense, tight: Tight) -> None:  # noqa: C901
    """Assign the matrices whose tables were filled."""
    columns, row_price, column_price, status = work.found
    for k in range(len(which)):
        number = which[k]
        if status[number] != _READ:
            continue
        down, _ = _place(work.given, number, k, dense)
        num_rows, num_columns = dense.size[0], dense.size[1]
        how = assign(dense)
        if how != FULL:
            status[number] = INFEASIBLE if how == NOT_FULL else _TOO_WIDE
            continue
        slack = num_rows if work.is_rough[number] else 0
        is_exchanged = down == 1 and num_rows < num_columns
        kind = first_of_equals(dense, tight, slack, is_exchanged)
        if kind == WRONG or (slack > 0 and kind != ALONE):
            status[number] = _TOO_ROUGH
            continue
        status[number] = OPTIMAL
        highest = np.int64(0)
        if num_rows == num_columns > 0:
            highest = np.int64(dense.price[0])
            for column in range(num_columns):
                highest = max(highest, np.int64(dense.price[column]))
        own, others = row_price[number], column_price[number]
        if is_exchanged:
            own, others = others, own
        for column in range(num_columns):
            others[column] = np.int64(dense.price[column]) - highest
        for row in range(num_rows):
            column = dense.column_of[row]
            own[row] = dense.table[start_of(dense, row) + column] - others[column]
            if is_exchanged:
                columns[number, column] = row
            else:
                columns[number, row] = column
