"""Matrices of costs become assignments of least cost, with the prices that prove it.

Jonker and Volgenant (1987): columns are priced at their least cost, free rows bid for them, and the
rows left over are assigned along shortest augmenting paths.

Everything is int64 and exact: see `largest_cost`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.engines.words import compiled

FORBIDDEN = np.iinfo(np.int64).max
"""The cost of a pair that must not be assigned."""

FAR = np.int64(2**60)
"""At least this: no way there. Whatever is computed from costs alone is less than half of it."""
OUT = np.int64(2**61)
"""The working cost of a forbidden pair, and minus the working price of a column out of play.

Two of them and a sum of costs stay below 2^63, and one of them less a sum of costs is above FAR. So
neither needs a branch: what is FAR is never improved by them.
"""
SIGN = np.int64(63)
"""Shifting right by this leaves −1 of a negative number and 0 of any other."""


def largest_cost(num_rows: int, num_columns: int) -> int:
    """Return the largest absolute cost that `assign_dense` takes.

    Each bid lowers a price by no more than two costs below another price, and there are at most two
    bids for each row; an augmentation sets prices to sums of at most four costs for each row. So no
    sum holds more than 16 costs for each row and column.
    """
    return 2**59 // (16 * (num_rows + num_columns + 2))


class Dense(NamedTuple):
    """Scratch memory for one graph."""

    row_of: Any
    """(column,): its row or −1."""
    free: Any
    """(row,): rows that are not assigned."""
    distance: Any
    """(column,): the length of the shortest path there."""
    parent: Any
    """(column,): the last row on it."""
    reached: Any
    """(column,): the columns passed, in order."""
    price: Any
    """(column,): the price of each of these, plus its distance."""
    cheapest: Any
    """(column,): the row whose cost is the least."""
    num_columns: Any
    """(row,): of how many columns it is the cheapest."""

    @classmethod
    def of(cls, num_rows: int, num_columns: int) -> Dense:
        """Allocate."""
        row_of, distance, parent, reached, price, cheapest = np.empty((6, num_columns), np.int64)
        free, num_cheapest = np.empty((2, num_rows), np.int64)
        return cls(row_of, free, distance, parent, reached, price, cheapest, num_cheapest)


def assign_dense(cost: Any) -> Any:
    """(graph, row, column) → columns (graph, row), prices of rows and columns, is_full (graph,).

    There are at most as many rows as columns. Where `is_full`, every row has its column, and the
    prices u, v prove that the sum of costs is the least: `cost[r, c] >= u[r] + v[c]`, with equality
    where r is assigned to c; `v <= 0`, and `v[c] == 0` for a free column. Where not, no such
    assignment exists and the rest is undefined.
    """
    cost = np.require(cost, np.int64, ["C", "W"])  # numba compiles anew for a read-only array
    num_graphs, num_rows, num_columns = cost.shape
    columns = np.empty((num_graphs, num_rows), np.int64)
    row_price = np.zeros((num_graphs, num_rows), np.int64)
    column_price = np.zeros((num_graphs, num_columns), np.int64)
    is_full = np.ones(num_graphs, np.bool_)
    if cost.max(initial=0) == FORBIDDEN:
        cost = np.where(cost == FORBIDDEN, OUT, cost)
    if num_rows:
        scratch = Dense.of(num_rows, num_columns)
        _assign_all(cost, columns, row_price, column_price, is_full, scratch)
    return columns, row_price, column_price, is_full


@compiled
def _assign_all(
    cost: Any, columns: Any, row_price: Any, column_price: Any, is_full: Any, scratch: Dense
) -> None:
    for graph in range(len(cost)):
        table = cost[graph]
        columns_of, price = columns[graph], column_price[graph]
        is_full[graph] = _assign(table, columns_of, price, scratch)
        if is_full[graph]:
            _price_rows(table, columns_of, row_price[graph], price)


@compiled
def _assign(table: Any, columns: Any, price: Any, scratch: Dense) -> bool:
    """Assign all rows; return whether that can be done."""
    num_rows, num_columns = table.shape
    for row in range(num_rows):
        columns[row] = -1
    for column in range(num_columns):
        scratch.row_of[column] = -1
    # A free column must cost nothing, so columns are only priced if none will be free.
    if num_rows == num_columns:
        _reduce_columns(table, columns, price, scratch)
    num_free = np.int64(0)
    for row in range(num_rows):
        if columns[row] < 0:
            scratch.free[num_free] = row
            num_free += 1
    num_free = _bid(table, columns, price, scratch, num_free)
    is_full = True
    for k in range(num_free):
        is_full = is_full and _augment(table, columns, price, scratch, scratch.free[k])
    return is_full


@compiled
def _reduce_columns(table: Any, columns: Any, price: Any, scratch: Dense) -> None:
    """Price columns at their least cost, and assign each row that is the cheapest of one.

    A row that is the cheapest of only one column is then given its second best offer: the price of
    its column falls until the row is indifferent.
    """
    size = len(price)
    for column in range(size):
        # Of equals the first wins, but to start with each column's own row, lest one row wins all.
        price[column], scratch.cheapest[column] = table[column, column], column
        scratch.num_columns[column] = 0
    for row in range(size):
        for column in range(size):
            cost, before = price[column], scratch.cheapest[column]
            change = table[row, column] - cost
            is_less = change >> SIGN  # see `_relax`
            price[column] = cost + (change & is_less)
            scratch.cheapest[column] = before + ((row - before) & is_less)
    for column in range(size - 1, -1, -1):
        if price[column] >= FAR:
            price[column] = 0  # no row may take it
            continue
        row = scratch.cheapest[column]
        scratch.num_columns[row] += 1
        if scratch.num_columns[row] == 1:
            columns[row] = column
            scratch.row_of[column] = row
    for row in range(size):
        if scratch.num_columns[row] == 1:
            own = columns[row]
            keep, price[own] = price[own], -OUT
            least = FAR
            for column in range(size):
                least = min(least, table[row, column] - price[column])
            price[own] = keep - least if least < FAR else keep


@compiled
def _bid(table: Any, columns: Any, price: Any, scratch: Dense, num_free: int) -> int:
    """Let each free row take its best column, at a price that makes the second best as good.

    Whoever is driven out bids again at once if the price fell, and is left free otherwise. The
    number of bids is bounded: where costs are nearly equal, rows would outbid each other by one
    for ever. Return the number of rows that are free afterwards, in `free`.
    """
    num_bids = 2 * num_free
    num_kept, k = 0, 0
    while k < num_free:
        row = scratch.free[k]
        k += 1
        least, second, best, other = _two_best(table, row, price)
        if num_bids == 0 or second >= FAR:
            scratch.free[num_kept] = row
            num_kept += 1
            continue
        num_bids -= 1
        is_lower = least < second
        if is_lower:
            price[best] -= second - least
        elif scratch.row_of[best] >= 0:
            best = _free_column(table, row, price, scratch.row_of, least, other)
        loser = scratch.row_of[best]
        columns[row] = best
        scratch.row_of[best] = row
        if loser >= 0:
            columns[loser] = -1
            if is_lower:
                k -= 1
                scratch.free[k] = loser
            else:
                scratch.free[num_kept] = loser
                num_kept += 1
    return num_kept


@compiled
def _two_best(table: Any, row: int, price: Any) -> Any:
    """Return the least and second least cost of a row at these prices, and their columns."""
    least, second = FAR, FAR
    best, other = 0, 0
    for column in range(len(price)):
        cost = table[row, column] - price[column]
        if cost < second:
            if cost < least:
                least, second = cost, least
                best, other = column, best
            else:
                second, other = cost, column
    return least, second, best, other


@compiled
def _free_column(table: Any, row: int, price: Any, row_of: Any, least: int, otherwise: int) -> int:
    """Return a free column that costs this row the least, if there is one."""
    for column in range(len(price)):
        if row_of[column] < 0 and table[row, column] - price[column] == least:
            return column
    return otherwise


@compiled
def _augment(table: Any, columns: Any, price: Any, scratch: Dense, free_row: int) -> bool:
    """Assign a free row along the shortest augmenting path; return whether there is one.

    Columns that were passed are out of play: their price is −OUT and their distance FAR, so the
    loop over all columns never changes them, and has no branches.
    """
    size = len(price)
    for column in range(size):
        scratch.distance[column], scratch.parent[column] = FAR, free_row
    num_reached, row, offset = 0, free_row, np.int64(0)
    while True:
        least, least_free = _relax(table, row, offset, price, scratch)
        last = _nearest(scratch.distance, scratch.row_of, least, least == least_free)
        if least == least_free or least >= FAR:
            break
        row = scratch.row_of[last]
        offset = least - (table[row, last] - price[last])
        scratch.reached[num_reached] = last
        scratch.price[num_reached] = price[last] + least
        num_reached += 1
        price[last] = -OUT
        scratch.distance[last] = FAR
    is_found = least < FAR
    for k in range(num_reached):
        price[scratch.reached[k]] = scratch.price[k] - (least if is_found else 0)
    if is_found:
        _flip(columns, scratch.row_of, scratch.parent, last, free_row)
    return is_found


@compiled
def _relax(table: Any, row: int, offset: int, price: Any, scratch: Dense) -> Any:
    """Shorten the ways to all columns by those through a row.

    Return the least of their lengths, and the least of those to free columns.

    Arithmetic in place of branches: a conditional store into the array that is read would become a
    masked one, which is many times slower.
    """
    distance, parent, row_of = scratch.distance, scratch.parent, scratch.row_of
    least, least_free = FAR, FAR
    for column in range(len(price)):
        length, before = distance[column], parent[column]
        change = table[row, column] - price[column] + offset - length
        is_less = change >> SIGN  # all ones or all zeros
        length += change & is_less
        distance[column] = length
        parent[column] = before + ((row - before) & is_less)
        least = min(least, length)
        least_free = min(least_free, length + (~row_of[column] >> SIGN & OUT))
    return least, least_free


@compiled
def _nearest(distance: Any, row_of: Any, least: Any, is_free: bool) -> Any:
    """Return a column at this distance, free or not; each loop does four columns at a time."""
    nearest = np.int64(0)
    if is_free:
        for column in range(len(distance)):
            nearest = column if distance[column] - least + row_of[column] + 1 == 0 else nearest
    else:
        for column in range(len(distance)):
            nearest = column if distance[column] == least else nearest
    return nearest


@compiled
def _flip(columns: Any, row_of: Any, parent: Any, last: int, free_row: int) -> None:
    """Follow the path back from its free column, giving each row the column after it."""
    column = last
    while True:
        row = parent[column]
        row_of[column] = row
        column, columns[row] = columns[row], column
        if row == free_row:
            return


@compiled
def _price_rows(table: Any, columns: Any, row_price: Any, price: Any) -> None:
    """Price the rows, and let no column cost more than 0 (if one did, none is free)."""
    highest = price[0]
    for column in range(len(price)):
        highest = max(highest, price[column])
    highest = max(highest, 0) if len(row_price) < len(price) else highest
    for column in range(len(price)):
        price[column] -= highest
    for row in range(len(row_price)):
        row_price[row] = table[row, columns[row]] - price[columns[row]]
