"""A stack of cost matrices becomes tables of whole numbers, and what is found for them its answers.

Costs are read as they are, as whole numbers of a power of two; prices are written as such numbers
of it. A matrix whose costs do not fit into integers of a type is left with a status that says so.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from augury.engines.assignment_loops import (
    FULL,
    LANES,
    NOT_FULL,
    Dense,
    assign,
    begin,
    compiled,
    inlined,
    start_of,
)
from augury.engines.tight import Tight, are_tight, has_circle, mark, match_ties, settle

OPTIMAL, INFEASIBLE, INVALID = 0, 1, 2
"""What is known of a matrix: its assignment is proven; there is none; a cost is NaN,
infinitely good, or so large that prices do not fit into 64 bits."""
TOO_WIDE, TOO_ROUGH, READ = 3, 4, 5

FLOAT_BITS = 50
"""Bits that floats get in int64: their sums stay exact as float64."""
ROUND = 1.5 * 2.0**52
"""With this added, a float has no fractional digits."""
ROUND_BITS = np.float64(ROUND).view(np.int64)


class Matrices(NamedTuple):
    """Costs as compiled loops take them."""

    cost: Any
    """(matrix * row * column,)."""
    allowed: Any
    """The same, or empty."""
    maximise: bool


class Tables(NamedTuple):
    """The sizes of matrices and what is known of them, whatever the type of their costs."""

    sizes: Any
    """(matrix, 2)."""
    shape: tuple[int, int]
    """(row, column)."""
    found: Any
    """`assignments.Assignments`, prices as int64: for floats, the bits of float64."""
    shift: Any
    """(matrix,): costs and prices are whole multiples of 2^−shift."""
    is_rough: Any
    """(matrix,): whether costs were rounded to that."""


@inlined
def _place(tables: Tables, number: int, k: int, dense: Dense) -> Any:
    """Set the size of the k-th table; return its steps from row to row and column to column."""
    num_rows, num_columns = tables.sizes[number, 0], tables.sizes[number, 1]
    dense.size[0], dense.size[1] = min(num_rows, num_columns), max(num_rows, num_columns)
    width = (dense.size[1] + LANES - 1) // LANES * LANES
    dense.size[2] = width
    dense.size[3] = k * len(dense.column_of) * len(dense.row_of)
    return (1, width) if num_rows > num_columns else (width, 1)


@inlined
def _lines(tables: Tables, number: int, dense: Dense) -> Any:
    """Return how many lines of costs to read, and how long they are.

    A line is a row, or all rows where they are contiguous in both matrix and table.
    """
    num_rows, num_columns = tables.sizes[number, 0], tables.sizes[number, 1]
    if num_rows <= num_columns == tables.shape[1] == dense.size[2]:
        return 1, num_rows * num_columns
    return num_rows, num_columns


@inlined
def _pad(dense: Dense) -> None:
    """Forbid the columns that fill up the rows of a table."""
    for row in range(dense.size[0]):
        start = start_of(dense, row)
        for column in range(dense.size[1], dense.size[2]):
            dense.table[start + column] = dense.out[0]


@compiled
def read_integers(given: Matrices, tables: Tables, which: Any, dense: Dense) -> None:
    """Fill the tables of some matrices, unless their costs are too wide for them."""
    zero, out = given.cost.dtype.type(0), dense.out[0]
    most, is_open = np.int64(out) >> 5, len(given.allowed) == 0
    for k in range(len(which)):
        number = which[k]
        down, right = _place(tables, number, k, dense)
        num_lines, length = _lines(tables, number, dense)
        low, high = zero, zero
        for line in range(num_lines):
            start = (number * tables.shape[0] + line) * tables.shape[1]
            place = dense.size[3] + line * down
            costs = given.cost[start : start + length]
            if right == 1 and is_open and not given.maximise:
                table = dense.table[place : place + length]
                for column in range(length):
                    low, high = min(low, costs[column]), max(high, costs[column])
                    table[column] = costs[column]
            else:
                for column in range(length):
                    one = out
                    if is_open or given.allowed[start + column]:
                        low, high = min(low, costs[column]), max(high, costs[column])
                        one = -costs[column] if given.maximise else costs[column]
                    dense.table[place + column * right] = one
        if low < -most or high > most:
            tables.found.status[number] = TOO_WIDE
        else:
            _pad(dense)


@compiled
def read_floats(  # noqa: C901  # compiled
    given: Matrices, bits: Any, tables: Tables, which: Any, dense: Dense
) -> None:
    """Fill the tables of some matrices; those whose costs are not whole in int32 are too wide.

    `bits` are the costs' bits as integers; without signs, these order as absolute costs do.
    """
    kind, status = bits.dtype.type, tables.found.status
    is_narrow = dense.table.itemsize == 4
    digits = 24 if is_narrow else FLOAT_BITS
    mantissa, bias = (23, 126) if bits.itemsize == 4 else (52, 1022)
    sign = kind(1 << (8 * bits.itemsize - 1))
    # In int32 costs are multiplied in their own type; both 2^shift and 2^−shift have to fit.
    real, finest = given.cost.dtype.type, 100 if is_narrow and bits.itemsize == 4 else 1000
    for k in range(len(which)):
        number = which[k]
        down, right = _place(tables, number, k, dense)
        num_lines, length = _lines(tables, number, dense)
        start = number * tables.shape[0] * tables.shape[1]
        if is_narrow and num_lines * length > 0:
            # No coarser unit will do if that of the first row does not.
            end, top = start + tables.sizes[number, 1], kind(0)
            for at in range(start, end):
                top = max(top, kind(bits[at] & ~sign))
            shift: Any = min(digits + bias - np.int64(top >> mantissa), finest)
            if _is_rough(given.cost[start:end], math.ldexp(1.0, shift)):
                status[number] = TOO_WIDE
                continue
        top = kind(0)
        for line in range(num_lines):
            line_bits = bits[start + line * tables.shape[1] :]
            for column in range(length):
                top = max(top, kind(line_bits[column] & ~sign))
        is_plain = len(given.allowed) == 0 and top >> mantissa < 2 * bias + 3
        if not is_plain:
            top = _largest_bits(given, bits, tables, number)
            if top < 0:
                status[number] = INVALID
                continue
        shift = min(digits + bias - np.int64(top >> mantissa), finest)
        scale = math.ldexp(-1.0 if given.maximise else 1.0, shift)
        num_rough, is_rough = 0, np.int32(0)
        scaled, unit = real(scale), real(1 / scale)
        for line in range(num_lines):
            first, place = start + line * tables.shape[1], dense.size[3] + line * down
            costs = given.cost[first : first + length]
            if is_plain and right == 1:
                table = dense.table[place : place + length]
                if is_narrow:
                    for column in range(length):
                        cost = costs[column]
                        whole = np.int32(cost * scaled)
                        table[column] = whole
                        is_rough = np.int32(is_rough | (real(whole) * unit != cost))
                    num_rough += is_rough
                else:
                    for column in range(length):
                        exact = np.float64(costs[column]) * scale
                        table[column] = _whole(exact)
                        num_rough += exact + ROUND - ROUND != exact
            else:
                for column in range(length):
                    at = place + column * right
                    if is_plain or _is_open(given, first + column):
                        exact = np.float64(costs[column]) * scale
                        num_rough += exact + ROUND - ROUND != exact
                        dense.table[at] = _whole(exact)
                    else:
                        dense.table[at] = dense.out[0]
        tables.shift[number], tables.is_rough[number] = shift, num_rough > 0
        if is_narrow and num_rough:
            status[number] = TOO_WIDE
        else:
            _pad(dense)


@compiled
def _is_rough(costs: Any, unit: float) -> Any:
    """Whether any of these costs is finite, and not whole when multiplied by `unit`."""
    num_rough = 0
    for column in range(len(costs)):
        exact = np.float64(costs[column]) * unit
        num_rough += abs(exact) < np.inf and exact + ROUND - ROUND != exact
    return num_rough > 0


@inlined
def _whole(number: float) -> Any:
    """Return the whole number nearest to one below 2^51; the usual conversion is not vectorised."""
    return np.float64(number + ROUND).view(np.int64) - ROUND_BITS


@inlined
def _is_open(given: Matrices, at: int) -> bool:
    """Whether a pair is not forbidden; its cost may be NaN."""
    worst = -np.inf if given.maximise else np.inf
    return (len(given.allowed) == 0 or given.allowed[at]) and given.cost[at] != worst


@compiled
def _largest_bits(given: Matrices, bits: Any, tables: Tables, number: int) -> Any:
    """Return the largest bits of a cost that counts, −1 if one is NaN or infinitely good."""
    top, sign = bits.dtype.type(0), bits.dtype.type(1 << (8 * bits.itemsize - 1))
    for row in range(tables.sizes[number, 0]):
        start = (number * tables.shape[0] + row) * tables.shape[1]
        for at in range(start, start + tables.sizes[number, 1]):
            if _is_open(given, at):
                if not np.isfinite(given.cost[at]):
                    return bits.dtype.type(-1)
                top = max(top, bits.dtype.type(bits[at] & ~sign))
    return top


@compiled
def solve_all(tables: Tables, which: Any, dense: Dense, tight: Tight, is_float: bool) -> None:
    """Assign the matrices whose tables were filled."""
    status = tables.found.status
    for k in range(len(which)):
        number = which[k]
        if status[number] != READ:
            continue
        down, _ = _place(tables, number, k, dense)
        num_rows, num_columns = dense.size[0], dense.size[1]
        begin(dense)
        num_matched = match_ties(dense, tight)
        how = FULL if num_matched == num_rows else assign(dense, num_matched == 0)
        if how != FULL:
            status[number] = INFEASIBLE if how == NOT_FULL else TOO_WIDE
            continue
        slack = num_rows if tables.is_rough[number] else 0
        is_exchanged = down == 1 and num_rows < num_columns
        is_tied = num_matched == num_rows > 0 and slack == 0
        is_proven = are_tight(tight) if is_tied else mark(dense, tight, slack)
        is_alone = not has_circle(tight)
        if not is_proven or (slack > 0 and not is_alone):
            status[number] = TOO_ROUGH
            continue
        if not is_alone:
            settle(tight, is_exchanged, is_tied)
        status[number] = OPTIMAL
        _write(tables, number, dense, is_exchanged, is_float)


@inlined
def _write(tables: Tables, number: int, dense: Dense, is_exchanged: bool, is_float: bool) -> None:
    """Write the columns and prices of a matrix."""
    columns, own, others, _ = tables.found
    num_rows, num_columns, highest = dense.size[0], dense.size[1], np.int64(0)
    if num_rows == num_columns > 0:
        highest = np.int64(dense.price[0])
        for column in range(num_columns):
            highest = max(highest, np.int64(dense.price[column]))
    if is_exchanged:
        own, others = others, own
    unit = math.ldexp(1.0, -tables.shift[number]) if is_float else 1.0
    for column in range(num_columns):
        price = np.int64(dense.price[column]) - highest
        others[number, column] = np.float64(price * unit).view(np.int64) if is_float else price
    for row in range(num_rows):
        column = dense.column_of[row]
        price = dense.table[start_of(dense, row) + column] - (dense.price[column] - highest)
        own[number, row] = np.float64(price * unit).view(np.int64) if is_float else price
        if is_exchanged:
            columns[number, column] = row
        else:
            columns[number, row] = column
