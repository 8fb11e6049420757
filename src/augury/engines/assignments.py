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
        InputError: an argument has not the shape or type that it should have.
    """
    cost, allowed, sizes = _checked(cost, allowed, sizes)
    count, num_rows, num_columns = cost.shape
    kind = np.float64 if cost.dtype.kind == "f" else np.int64
    columns, status = np.full((count, num_rows), -1, np.int64), np.full(count, _READ, np.int8)
    row_price, column_price = np.zeros((count, num_rows), kind), np.zeros((count, num_columns), kind)
    found = Assignments(columns, row_price, column_price, status)
    work = _Work(Matrices(cost, allowed, sizes, bool(maximise)), found)
    threads = min(threads, count, cost.size // CELLS_A_THREAD)
    if threads <= 1:
        work.run(0, count)
    else:
        ends = np.linspace(0, count, threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda part: work.run(*part), pairwise(ends)))
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
        sizes = np.broadcast_to(np.array(cost.shape[1:]), (len(cost), 2))
    elif np.shape(sizes) != (len(cost), 2):
        raise InputError(f"sizes is {np.shape(sizes)}, not (matrix, 2)")
    sizes = np.require(sizes, np.int64, ["C", "W"])
    if (sizes < 0).any() or (sizes > cost.shape[1:]).any():
        raise InputError("sizes are from 0 to the rows and columns of the costs")
    return cost, np.require(allowed, np.bool_, ["C", "W"]), sizes


class Matrices(NamedTuple):
    """What is to be assigned, as compiled loops take it."""

    cost: Any
    """(matrix, row, column)."""
    allowed: Any
    """The same, or empty."""
    sizes: Any
    """(matrix, 2)."""
    maximise: bool


class _Work(NamedTuple):
    """The matrices of a call and their answers; `run` may be called in several threads."""

    given: Matrices
    found: Assignments

    def run(self, start: int, stop: int) -> None:
        """Assign some of the matrices."""
        status = self.found.status[start:stop]
        self._solve(np.arange(start, stop), np.int32)
        self._solve(start + np.flatnonzero(status == _TOO_WIDE), np.int64)
        for number in (start + np.flatnonzero(status > INVALID)).tolist():
            self._refine(number)

    def _solve(self, which: WideArray, dtype: Any) -> None:
        """Assign matrices in integers of this type, as many at a time as stay in the cache."""
        cost, shape = self.given.cost, self.given.cost.shape[1:]
        num_rows, num_columns = min(shape), max(shape)
        room = max(num_rows * width_of(num_columns), 1)
        many = min(max(1, CHUNK_CELLS // room), len(which))
        if not many:
            return
        tables = np.empty(many * room, dtype)
        dense, tight = Dense.of(num_rows, num_columns, tables), Tight.of(num_rows, num_columns)
        for first in range(0, len(which), many):
            some = which[first : first + many]
            part = _Part.of(some, shape, room)
            if cost.dtype.kind == "f":
                _read_floats(self.given, cost.view(f"i{cost.dtype.itemsize}"), part, dense)
            else:
                _read_integers(self.given, part, dense)
            _solve_all(self.given.sizes, part, dense, tight)
            self._keep(part)

    def _keep(self, part: _Part) -> None:
        """Take over what was found for some matrices."""
        which, found = part.which, self.found
        found.status[which], found.columns[which] = part.status, part.columns
        for own, price in zip(part[-2:], found[1:3], strict=True):
            price[which] = np.ldexp(own, -part.shift[:, None]) if price.dtype.kind == "f" else own

    def _refine(self, number: int) -> None:
        """Assign a matrix whose costs do not fit into 64 bits."""
        num_rows, num_columns = self.given.sizes[number]
        costs = self.given.cost[number, :num_rows, :num_columns]
        allowed = np.isfinite(costs)
        if len(self.given.allowed):
            allowed &= self.given.allowed[number, :num_rows, :num_columns]
        exact = list(map(Fraction, np.where(allowed, costs, 0).ravel().tolist()))
        unit = Fraction(1, math.lcm(*(one.denominator for one in exact)))
        whole = np.array([int(one / unit) for one in exact], object).reshape(costs.shape)
        answer = _refined(-whole if self.given.maximise else whole, allowed)
        self.found.status[number] = INFEASIBLE if answer is None else OPTIMAL
        if answer is not None:
            columns, *prices = answer
            self.found.columns[number, :num_rows] = columns
            for own, price in zip(prices, self.found[1:3], strict=True):
                price[number, : len(own)] = [one * unit for one in own.tolist()]


class _Part(NamedTuple):
    """Some matrices on their way, one after another."""

    which: Any
    """(matrix,): their numbers."""
    room: int
    """What a table takes."""
    status: Any
    shift: Any
    """(matrix,): costs are whole numbers of 2^−shift."""
    is_rough: Any
    """(matrix,): whether costs were rounded."""
    columns: Any
    row_price: Any
    column_price: Any

    @classmethod
    def of(cls, which: WideArray, shape: tuple[int, int], room: int) -> _Part:
        """Allocate."""
        count = len(which)
        rows, others = (count, shape[0]), (count, shape[1])
        return cls(
            which, room, np.full(count, _READ, np.int8), np.zeros(count, np.int64),
            np.zeros(count, np.bool_), np.full(rows, -1, np.int64),
            np.zeros(rows, np.int64), np.zeros(others, np.int64),
        )  # fmt: skip


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


@compiled
def _place(sizes: Any, part: _Part, dense: Dense, k: int) -> Any:
    """Set the size of a table; return its steps from row to row and from column to column."""
    num_rows, num_columns = sizes[part.which[k], 0], sizes[part.which[k], 1]
    dense.size[0], dense.size[1] = min(num_rows, num_columns), max(num_rows, num_columns)
    width = dense.size[2] = (dense.size[1] + LANES - 1) // LANES * LANES
    first = dense.size[3] = k * part.room
    for row in range(dense.size[0]):  # what fills up its rows is forbidden
        for column in range(dense.size[1], width):
            dense.table[first + row * width + column] = dense.out[0]
    return (1, width) if num_rows > num_columns else (width, 1)


@compiled
def _read_integers(matrices: Matrices, part: _Part, dense: Dense) -> None:
    """Fill the tables of some matrices."""
    cost, sizes, table = matrices.cost, matrices.sizes, dense.table
    most = np.int64(dense.out[0]) >> 5
    for k in range(len(part.which)):
        number = part.which[k]
        down, right = _place(sizes, part, dense, k)
        low, high = cost.dtype.type(0), cost.dtype.type(0)
        for row in range(sizes[number, 0]):
            for column in range(sizes[number, 1]):
                one = cost[number, row, column]
                if len(matrices.allowed) == 0 or matrices.allowed[number, row, column]:
                    low, high = min(low, one), max(high, one)
        if low < -most or high > most:
            part.status[k] = _TOO_WIDE
            continue
        for row in range(sizes[number, 0]):
            start = dense.size[3] + row * down
            for column in range(sizes[number, 1]):
                one = cost[number, row, column]
                table[start + column * right] = -one if matrices.maximise else one
        if len(matrices.allowed):
            for row in range(sizes[number, 0]):
                start = dense.size[3] + row * down
                for column in range(sizes[number, 1]):
                    if not matrices.allowed[number, row, column]:
                        table[start + column * right] = dense.out[0]


@compiled
def _read_floats(matrices: Matrices, bits: Any, part: _Part, dense: Dense) -> None:
    """Fill the tables of some matrices; those whose costs are not whole in int32 are too wide.

    `bits` are the costs as integers, of which the absolute ones are in the same order.
    """
    cost, sizes, table = matrices.cost, matrices.sizes, dense.table
    is_narrow = table.itemsize == 4
    digits = 24 if is_narrow else FLOAT_BITS
    mantissa, bias = (23, 126) if cost.itemsize == 4 else (52, 1022)
    sign = bits.dtype.type(1 << (8 * bits.itemsize - 1))
    for k in range(len(part.which)):
        number = part.which[k]
        down, right = _place(sizes, part, dense, k)
        top = bits.dtype.type(0)
        for row in range(sizes[number, 0]):
            for column in range(sizes[number, 1]):
                top = max(top, bits.dtype.type(bits[number, row, column] & ~sign))
        is_plain = len(matrices.allowed) == 0 and top >> mantissa < 2 * bias + 3
        if not is_plain:
            top = _largest_bits(matrices, bits, number)
            if top < 0:
                part.status[k] = INVALID
                continue
        shift = min(digits + bias - (top >> mantissa), 1000)
        scale = math.ldexp(-1.0 if matrices.maximise else 1.0, shift)
        num_rough = 0
        for row in range(sizes[number, 0]):
            start = dense.size[3] + row * down
            if is_plain:
                for column in range(sizes[number, 1]):
                    exact = np.float64(cost[number, row, column]) * scale
                    whole = np.rint(exact)
                    num_rough += whole != exact
                    table[start + column * right] = table.dtype.type(whole)
            else:
                for column in range(sizes[number, 1]):
                    if _is_open(matrices, number, row, column):
                        exact = np.float64(cost[number, row, column]) * scale
                        whole = np.rint(exact)
                        num_rough += whole != exact
                        table[start + column * right] = table.dtype.type(whole)
                    else:
                        table[start + column * right] = dense.out[0]
            if is_narrow and num_rough:
                break
        part.shift[k], part.is_rough[k] = shift, num_rough > 0
        if is_narrow and num_rough:
            part.status[k] = _TOO_WIDE


@compiled
def _is_open(matrices: Matrices, number: int, row: int, column: int) -> bool:
    """Whether a pair is not forbidden; its cost may be no number."""
    worst = -np.inf if matrices.maximise else np.inf
    is_allowed = len(matrices.allowed) == 0 or matrices.allowed[number, row, column]
    return is_allowed and matrices.cost[number, row, column] != worst


@compiled
def _largest_bits(matrices: Matrices, bits: Any, number: int) -> Any:
    """Return the largest bits of a cost that counts, −1 if one is no number or infinitely good."""
    top, sign = bits.dtype.type(0), bits.dtype.type(1 << (8 * bits.itemsize - 1))
    for row in range(matrices.sizes[number, 0]):
        for column in range(matrices.sizes[number, 1]):
            if _is_open(matrices, number, row, column):
                if not np.isfinite(matrices.cost[number, row, column]):
                    return bits.dtype.type(-1)
                top = max(top, bits.dtype.type(bits[number, row, column] & ~sign))
    return top


@compiled
def _solve_all(sizes: Any, part: _Part, dense: Dense, tight: Tight) -> None:
    """Assign the matrices whose tables were filled."""
    for k in range(len(part.which)):
        if part.status[k] != _READ:
            continue
        down, _ = _place(sizes, part, dense, k)
        num_rows, num_columns = dense.size[0], dense.size[1]
        how = assign(dense)
        if how != FULL:
            part.status[k] = INFEASIBLE if how == NOT_FULL else _TOO_WIDE
            continue
        slack = num_rows if part.is_rough[k] else 0
        is_exchanged = down == 1 and num_rows < num_columns
        kind = first_of_equals(dense, tight, slack, is_exchanged)
        if kind == WRONG or (slack > 0 and kind != ALONE):
            part.status[k] = _TOO_ROUGH
            continue
        part.status[k] = OPTIMAL
        highest = dense.price[0] if num_columns else dense.out[0]
        for column in range(num_columns):
            highest = max(highest, dense.price[column])
        own, others = part.row_price, part.column_price
        if is_exchanged:
            own, others = part.column_price, part.row_price
        for column in range(num_columns):
            others[k, column] = np.int64(dense.price[column]) - highest
        for row in range(num_rows):
            column = dense.column_of[row]
            paid = np.int64(dense.table[dense.size[3] + row * dense.size[2] + column])
            own[k, row] = paid - dense.price[column] + highest
            if is_exchanged:
                part.columns[k, column] = row
            else:
                part.columns[k, row] = column
