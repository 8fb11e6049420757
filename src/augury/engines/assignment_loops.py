"""A table of whole costs becomes an assignment of least cost, with prices that prove it.

Jonker and Volgenant (1987): columns are priced at their least cost, free rows bid for them, and the
rows left over are assigned along shortest augmenting paths. Square tables of up to 16 rows, or with
many ties, begin with rows matched to columns that cost them the least (`tight.match_ties`).

Tables are int32 or int64, their rows a multiple of eight long (`lanes`), and everything is exact:
costs are at most `largest(dtype)`, and a run ends with TOO_WIDE as soon as a price or a distance
leaves the safe range. In units of OUT / 32, where a forbidden pair costs OUT:

- costs are at most 1, prices at least −4 when a search begins and at most 1, and a search goes on
  only while its least distance is at most 8;
- so a distance is at most 8 + 1 + 4 + 2 < 16, which is FAR, or else leads over a forbidden pair or
  to a column out of play, and is more: neither needs a branch;
- such a column is priced at −OUT, so no sum passes twice OUT, and a few units: less than 2^31 or
  2^63.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.compiled import compiled as on_disk
from augury.engines.lanes import (
    LANES,
    larger,
    least_of,
    load,
    mask_equal,
    smaller,
    spread,
    store,
    where_less,
)
from augury.engines.small import WORD
from augury.engines.words import lowest

compiled: Any = on_disk(nogil=True, error_model="numpy", _nrt=False)
inlined: Any = on_disk(
    nogil=True, error_model="numpy", _nrt=False, forceinline=True, no_cpython_wrapper=True
)
"""Nothing is allocated, so references need no counting; that, and calls, would take longer than the
loops over a small table."""

FULL, NOT_FULL, TOO_WIDE = 0, 1, 2
"""How a run ends: every row has a column; not every row can; the integers are too narrow."""

NARROW = 64
"""Up to this many columns a table stays in the L1 cache, whichever way it is read."""
CACHE_LINE = 64
"""Bytes."""
OUT_BITS = {np.dtype(np.int32): 29, np.dtype(np.int64): 61}
"""A forbidden pair costs two to this power."""


def largest(dtype: Any) -> int:
    """Return the largest absolute cost that tables of this type may hold."""
    return 2 ** (OUT_BITS[np.dtype(dtype)] - 5)


def width_of(num_columns: int) -> int:
    """Return the length of a table's rows."""
    return -(-num_columns // LANES) * LANES


def aligned(size: int, dtype: Any) -> Any:
    """Return an uninitialised array aligned to a cache line, so that lanes never straddle two."""
    array = np.empty(size + CACHE_LINE, dtype)
    skip = -array.ctypes.data % CACHE_LINE // array.itemsize
    return array[skip : skip + size]


class Dense(NamedTuple):
    """One table of costs, its assignment, and scratch memory."""

    size: Any
    """(4,): rows, columns, the length of a row of the table, and where the table starts."""
    table: Any
    """Costs of this and perhaps other tables, row by row."""
    price: Any
    """(width,): of each column."""
    distance: Any
    """(width,): the length of the shortest path there."""
    cheapest: Any
    """(width,): the row whose cost is the least."""
    out: Any
    """(1,): what a forbidden pair costs."""
    row_of: Any
    """(width,): its row or −1."""
    column_of: Any
    """(row,): its column or −1."""
    free: Any
    """(row,): rows that are not assigned."""
    is_taken: Any
    """(width / 8,): bits of the assigned columns."""
    passed: Any
    """(row + 1,): the rows that a search passed, in order."""
    reached: Any
    """(row + 1,): the column by which it reached each."""
    offset: Any
    """(row + 1,): what each adds to the paths through it."""
    least: Any
    """(row + 1,): the distance of each one's column."""
    before: Any
    """(row + 1,): the price of each one's column before the search."""
    words: Any
    """((row + 1) * word,): a set of columns for each row, as `tight` has them."""

    @classmethod
    def of(cls, num_rows: int, num_columns: int, table: Any) -> Dense:
        """Allocate for tables of at most this size."""
        width, dtype = width_of(num_columns), table.dtype
        price, distance, cheapest = np.zeros((3, width), dtype)
        out = np.array([1 << OUT_BITS[dtype]], dtype)
        row_of, is_taken = np.zeros(width, np.int32), np.zeros(width // LANES, np.uint8)
        column_of, free = np.zeros((2, num_rows), np.int32)
        offset, least, before = np.zeros((3, num_rows + 1), np.int64)
        passed, reached = np.zeros((2, num_rows + 1), np.int32)
        words = np.zeros((num_rows + 1) * -(-width // WORD), np.uint64)
        return cls(
            np.zeros(4, np.int64), table, price, distance, cheapest, out,
            row_of, column_of, free, is_taken, passed, reached, offset, least, before, words,
        )  # fmt: skip


@inlined
def begin(dense: Dense) -> None:
    """Assign nothing; if there are as many rows as columns, price columns at their least cost.

    A free column must cost nothing, so columns are only priced if none will be free.
    """
    num_rows, num_columns, width = dense.size[0], dense.size[1], dense.size[2]
    for row in range(num_rows):
        dense.column_of[row] = -1
    for column in range(width):
        dense.row_of[column] = -1
        dense.price[column] = 0
    for k in range(width // LANES):
        dense.is_taken[k] = 0
    if num_rows == num_columns:
        _find_cheapest(dense)
        for column in range(num_columns):
            if dense.price[column] >= dense.out[0] >> 1:
                dense.price[column] = 0  # no row may take it
                dense.cheapest[column] = -1
        for column in range(num_columns, width):
            dense.price[column] = 0


@inlined
def assign(dense: Dense, is_new: bool) -> int:
    """Assign all rows, or those that are still free; return how it ended."""
    num_rows = dense.size[0]
    if is_new and num_rows == dense.size[1]:
        _reduce_columns(dense)
    num_free = 0
    for row in range(num_rows):
        if dense.column_of[row] < 0:
            dense.free[num_free] = row
            num_free += 1
    if num_free > 0:
        num_free = _bid(dense, num_free)
    how = FULL
    for k in range(num_free):
        if how == FULL:
            how = _augment(dense, dense.free[k])
    return how


@inlined
def start_of(dense: Dense, row: int) -> int:
    """Return where a row of the table starts."""
    return dense.size[3] + row * dense.size[2]


@inlined
def _take(dense: Dense, row: int, column: int) -> None:
    """Give a row a column."""
    dense.column_of[row] = column
    dense.row_of[column] = row
    dense.is_taken[column >> 3] |= np.uint8(1 << (column & 7))


@inlined
def _reduce_columns(dense: Dense) -> None:  # loops over a table, inlined
    """Assign each row that is a column's cheapest; columns are priced at their least cost.

    A row that is the cheapest of only one column is then given its second best offer: the price of
    its column falls until the row is indifferent.
    """
    size, width = dense.size[0], dense.size[2]
    table, price, out, cheapest = dense.table, dense.price, dense.out[0], dense.cheapest
    for row in range(size):
        dense.free[row] = 0  # how many columns it is the cheapest of
    for column in range(size - 1, -1, -1):
        row = cheapest[column]
        if row < 0:
            continue
        # Ties go to the row of the column's own number, lest the first row win all.
        if table[start_of(dense, column) + column] == price[column]:
            row = column
        dense.free[row] += 1
        if dense.free[row] == 1:
            _take(dense, row, column)
    for row in range(size):
        if dense.free[row] == 1:
            own, start = dense.column_of[row], start_of(dense, row)
            keep = price[own]
            price[own] = -out
            second = spread(out, table)
            for column in range(0, width, LANES):
                second = smaller(second, load(table, start + column) - load(price, column))
            least = least_of(second)
            price[own] = keep - least if least < out >> 1 else keep


@inlined
def _find_cheapest(dense: Dense) -> None:
    """Set the least cost of each column, in `price`, and the first row that has it.

    Column by column this stays in registers, but beyond a few rows it misses the cache.
    """
    size, width, start = dense.size[0], dense.size[2], dense.size[3]
    table, price, cheapest = dense.table, dense.price, dense.cheapest
    last = size if width <= NARROW else 1
    for column in range(0, width, LANES):
        best, who = load(table, start + column), spread(0, table)
        for row in range(1, last):
            cost = load(table, start + row * width + column)
            who = where_less(cost, best, spread(row, table), who)
            best = smaller(cost, best)
        store(price, column, best)
        store(cheapest, column, who)
    for row in range(last, size):
        here, place = spread(row, table), start + row * width
        for column in range(0, width, LANES):
            cost, best = load(table, place + column), load(price, column)
            store(cheapest, column, where_less(cost, best, here, load(cheapest, column)))
            store(price, column, smaller(cost, best))


@inlined
def _bid(dense: Dense, num_free: int) -> int:
    """Let each free row take its best column, at a price that makes the second best as good.

    A row that is driven out bids again at once. The number of bids is bounded: where costs are
    nearly equal, rows would outbid each other by one for ever. Return how many rows are still
    free; `free` lists them.
    """
    out = dense.out[0]
    num_bids = 2 * num_free
    num_kept, k = 0, 0
    while k < num_free:
        row = dense.free[k]
        k += 1
        if num_bids == 0:
            dense.free[num_kept] = row
            num_kept += 1
            continue
        least, second, best = _two_best(dense, row)
        if second >= out >> 1:
            dense.free[num_kept] = row
            num_kept += 1
            continue
        num_bids -= 1
        loser = dense.row_of[best]
        lowered = dense.price[best] - (second - least)
        if least < second and lowered >= -(out >> 3):
            dense.price[best] = lowered
        elif loser >= 0:
            dense.free[num_kept] = row
            num_kept += 1
            continue
        _take(dense, row, best)
        if loser >= 0:
            dense.column_of[loser] = -1
            k -= 1
            dense.free[k] = loser
    return num_kept


@inlined
def _two_best(dense: Dense, row: int) -> Any:
    """Return the least and second least cost of a row at these prices, and the first one's column.

    Of several that cost the least, a free one is preferred.
    """
    table, price, width = dense.table, dense.price, dense.size[2]
    first, second = spread(dense.out[0], table), spread(dense.out[0], table)
    start = start_of(dense, row)
    for column in range(0, width, LANES):
        cost = load(table, start + column) - load(price, column)
        second = smaller(second, larger(first, cost))
        first = smaller(first, cost)
    least = least_of(first)
    best = -1
    here = spread(least, table)
    for column in range(0, width, LANES):
        bits = mask_equal(load(table, start + column) - load(price, column), here)
        if bits:
            free = bits & ~dense.is_taken[column >> 3]
            if best < 0 or free:
                best = column + np.int64(lowest(np.uint64(free if free else bits)))
            if free:
                break
    # The second least is the first of another lane, or the second of any.
    lanes = mask_equal(first, here)
    if lanes & (lanes - 1):
        return least, least, best
    other = smaller(second, where_less(here, first, first, spread(dense.out[0], table)))
    return least, least_of(other), best


@inlined
def _augment(dense: Dense, free_row: int) -> int:
    """Assign a free row along the shortest augmenting path; return how that ended.

    Passed columns are out of play: their price is −OUT and their distance OUT, so the loop over all
    columns never changes them, and has no branches.
    """
    out, price = np.int64(dense.out[0]), dense.price
    last = 0
    dense.passed[0], dense.offset[0] = free_row, 0
    least = _begin(dense, free_row)
    column, is_free = 0, False
    while least <= out >> 2:
        column, is_free = _nearest(dense, least)
        if is_free:
            break
        row = dense.row_of[column]
        last += 1
        dense.passed[last], dense.reached[last] = row, column
        dense.least[last], dense.before[last] = least, price[column]
        offset = least - (np.int64(dense.table[start_of(dense, row) + column]) - price[column])
        dense.offset[last] = offset
        price[column] = -out
        dense.distance[column] = out
        least = _relax(dense, row, offset)
    if not is_free:
        return NOT_FULL if least >= out >> 1 else TOO_WIDE
    _flip(dense, column, least, last)
    how = FULL
    for k in range(1, last + 1):
        after = dense.before[k] + dense.least[k] - least
        price[dense.reached[k]] = after
        if after < -(out >> 3):
            how = TOO_WIDE
    return how


@inlined
def _begin(dense: Dense, row: int) -> Any:
    """Set the distances from a row to all columns; return the least."""
    table, price, distance, start = dense.table, dense.price, dense.distance, start_of(dense, row)
    least = spread(dense.out[0], table)
    for column in range(0, dense.size[2], LANES):
        length = load(table, start + column) - load(price, column)
        store(distance, column, length)
        least = smaller(least, length)
    return np.int64(least_of(least))


@inlined
def _relax(dense: Dense, row: int, offset: int) -> Any:
    """Shorten the paths to all columns by those through a row; return the least length."""
    table, price, distance, start = dense.table, dense.price, dense.distance, start_of(dense, row)
    least, more = spread(dense.out[0], table), spread(offset, table)
    for column in range(0, dense.size[2], LANES):
        length = load(table, start + column) - load(price, column) + more
        length = smaller(length, load(distance, column))
        store(distance, column, length)
        least = smaller(least, length)
    return np.int64(least_of(least))


@inlined
def _nearest(dense: Dense, least: Any) -> Any:
    """Return a column at this distance, a free one if there is one, and whether it is free."""
    here, found = spread(least, dense.table), np.int64(0)
    for column in range(0, dense.size[2], LANES):
        bits = mask_equal(load(dense.distance, column), here)
        if bits:
            free = bits & ~dense.is_taken[column >> 3]
            if free:
                return column + np.int64(lowest(np.uint64(free))), True
            found = column + np.int64(lowest(np.uint64(bits)))
    return found, False


@inlined
def _flip(dense: Dense, column: int, length: int, last: int) -> None:
    """Follow the path back from its free column, giving each row the column after it.

    A column's predecessor is not stored but found again: a row for which the length is right.
    """
    table, price = dense.table, np.int64(dense.price[column])
    k = last
    while True:
        row = dense.passed[k]
        while np.int64(table[start_of(dense, row) + column]) - price + dense.offset[k] != length:
            k -= 1
            row = dense.passed[k]
        _take(dense, row, column)
        if k == 0:
            return
        column, length, price = dense.reached[k], dense.least[k], dense.before[k]
        k -= 1
