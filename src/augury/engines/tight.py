"""An assignment of least cost becomes the first of all that cost as little.

Prices that prove one assignment know all of them: they are the full assignments over tight pairs
that leave no column free whose price is not 0. The first is the one in which row 0 has the least
column that it can have, then row 1, and so on; it does not depend on how the assignment was found,
nor on the prices. If rows and columns were exchanged to have fewer rows, column 0 has the least row
that it can have, having none at all counting as the last, and so on.

From an assigned pair to another leads a way if the row of the first is tight with the column of the
second; free columns are those of one more row, which is tight with every column of price 0. Another
assignment is a circle of such ways. There is none in most tables of random costs, and one search
shows that. Sets of columns are words of 64 bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.engines.assignment_loops import Dense, compiled, inlined, start_of
from augury.engines.lanes import (
    LANES,
    get_octet,
    least_of,
    load,
    mask_equal,
    mask_less,
    set_octet,
    smaller,
    spread,
    store,
    union_of,
    where,
)
from augury.engines.words import ONE, ZERO, lowest

WORD = 64
SMALL = 32
"""Up to so many rows it does not pay to begin anew."""
FEW = 8
"""Of so many rows one may be without a column."""
PATIENCE = 16
"""Columns that are tried for a way of two steps."""


class Tight(NamedTuple):
    """The tight pairs of one table, its assignment, and scratch memory.

    Nothing here depends on the type of costs, so searches are compiled once.
    """

    size: Any
    """(4,): the table's; rows and columns come first."""
    row_of: Any
    """(column,): the table's."""
    column_of: Any
    """(row,): the table's."""
    words: Any
    """((row + 1) * word,): the columns with which a row is tight, but its own.

    The last row is that of free columns.
    """
    alive: Any
    """(word,): columns that may be on a circle and are not settled."""
    ways: Any
    """(word * column,): the columns with which the row of each column is tight."""
    free: Any
    """(word,): columns that are not assigned."""
    seen: Any
    """(word,): columns that a search has come to."""
    levels: Any
    """((column + 1) * word,): columns from which one is reached in at most so many steps."""
    stack: Any
    """(column + 1,): columns of the way in search."""
    parent: Any
    """(column,): the row before each column."""

    @classmethod
    def of(cls, dense: Dense) -> Tight:
        """Allocate for the largest table that these arrays can hold."""
        num_rows, num_columns = len(dense.column_of), len(dense.row_of)
        num_words = -(-num_columns // WORD)
        words = np.zeros((num_rows + 1) * num_words, np.uint64)
        alive, free, seen = np.zeros((3, num_words), np.uint64)
        levels = np.zeros((num_columns + 2) * num_words, np.uint64)
        ways = np.zeros(num_words * num_words * WORD, np.uint64)
        stack, parent = np.zeros(num_columns + 1, np.int32), np.zeros(num_columns, np.int32)
        return cls(
            dense.size, dense.row_of, dense.column_of,
            words, alive, ways, free, seen, levels, stack, parent,
        )  # fmt: skip


@inlined
def mark(dense: Dense, tight: Tight, slack: int) -> bool:
    """Fill the sets; return whether no pair costs less than its prices.

    Pairs are taken as tight whose reduced cost is not above `slack`.
    """
    num_rows, num_columns, width = dense.size[0], dense.size[1], dense.size[2]
    table, price, num_words = dense.table, dense.price, words_of(num_columns)
    num_octets = num_words * (WORD // LANES)
    is_proven = True
    for word in range(num_words):
        tight.free[word] = tight.words[num_rows * num_words + word] = ZERO
        left = num_columns - word * WORD
        tight.alive[word] = ~ZERO if left >= WORD else (ONE << np.uint64(left)) - ONE
    for row in range(num_rows):
        start, own = start_of(dense, row), dense.column_of[row]
        paid = np.int64(table[start + own]) - price[own]
        least, above = spread(paid, table), spread(paid + slack + 1, table)
        for column in range(0, width, LANES):
            cost = load(table, start + column) - load(price, column)
            least = smaller(least, cost)
            set_octet(tight.words, row * num_octets + (column >> 3), mask_less(cost, above))
        is_proven = is_proven and np.int64(least_of(least)) >= paid
        tight.words[row * num_words + (own >> 6)] &= ~bit(own)
    if num_rows < num_columns:
        for column in range(num_columns):
            if dense.row_of[column] < 0:
                tight.free[column >> 6] |= bit(column)
            elif dense.price[column] >= -slack:
                tight.words[num_rows * num_words + (column >> 6)] |= bit(column)
    return is_proven


@compiled
def settle(tight: Tight, is_exchanged: bool) -> None:
    """Make the assignment the first of its cost, where there are several."""
    if is_exchanged:
        _settle_columns(tight)
    else:
        _settle_rows(tight, words_of(tight.size[1]))


@inlined
def words_of(num_columns: int) -> int:
    """Return how many words hold a set of columns."""
    return (num_columns + WORD - 1) // WORD


@inlined
def bit(column: int) -> Any:
    """Return the bit of a column within its word."""
    return ONE << np.uint64(column & 63)


@inlined
def _row_of(tight: Tight, column: int, num_rows: int) -> Any:
    """Return the row of a column, that of free ones being the last."""
    row = np.int64(tight.row_of[column])
    return num_rows if row < 0 else row


@inlined
def has_circle(tight: Tight) -> bool:  # noqa: C901  # loops over words, inlined
    """Keep alive the columns between two circles; return whether there are any.

    A column is dead if no way leads from it to one that is alive, or none from such a one to it.
    """
    num_rows, num_columns, width = tight.size[0], tight.size[1], tight.size[2]
    num_words = words_of(num_columns)
    size, zero = num_words * WORD, spread(0, tight.ways)
    for column in range(num_columns):
        row = _row_of(tight, column, num_rows)
        for word in range(num_words):
            tight.ways[word * size + column] = tight.words[row * num_words + word]
    for word in range(num_words):
        for column in range(num_columns, width):
            tight.ways[word * size + column] = ZERO
    while True:
        num_dead, is_alive = ZERO, ZERO
        for word in range(num_words):
            into = zero
            for column in range(0, width, LANES):
                into = into | load(tight.ways, word * size + column)
            after = tight.alive[word] & union_of(into)
            num_dead |= tight.alive[word] ^ after
            tight.alive[word] = tight.seen[word] = after
        for column in range(0, width, LANES):
            before, onward = get_octet(tight.alive, column >> 3), zero
            for word in range(num_words):
                place = word * size + column
                ways = load(tight.ways, place) & spread(tight.alive[word], tight.ways)
                ways = where(before, ways, zero)
                store(tight.ways, place, ways)
                onward = onward | ways
            set_octet(tight.seen, column >> 3, before & ~mask_equal(onward, zero))
        for word in range(num_words):
            num_dead |= tight.alive[word] ^ tight.seen[word]
            tight.alive[word] = tight.seen[word]
            is_alive |= tight.seen[word]
        if not is_alive or not num_dead:
            return is_alive != ZERO


@inlined
def _take_least(tight: Tight, num_words: int) -> None:  # noqa: C901  # loops over words
    """Give each row in turn the least column that is left, and few of them another.

    Where ties are many that is nearly the first assignment. If it leaves many rows without a
    column, everything stays as it is.
    """
    num_rows, num_without = tight.size[0], 0
    for word in range(num_words):
        tight.seen[word] = tight.alive[word]  # what is left
    for row in range(num_rows):
        own = np.int64(tight.column_of[row])
        tight.stack[row] = own
        if tight.alive[own >> 6] & bit(own):
            tight.words[row * num_words + (own >> 6)] |= bit(own)
            tight.stack[row] = -1
            for word in range(num_words):
                ways = tight.words[row * num_words + word] & tight.seen[word]
                if ways:
                    tight.seen[word] ^= ways & (ZERO - ways)
                    tight.stack[row] = word * WORD + np.int64(lowest(ways))
                    break
            num_without += tight.stack[row] < 0
    if num_without * FEW <= num_rows:
        for row in range(num_rows):
            tight.column_of[row] = tight.stack[row]
            if tight.stack[row] >= 0:
                tight.row_of[tight.stack[row]] = row
        for row in range(num_rows):
            if tight.column_of[row] < 0:
                _take_over(tight, num_words, np.int64(row))
    for row in range(num_rows):
        own = np.int64(tight.column_of[row])
        tight.words[row * num_words + (own >> 6)] &= ~bit(own)
        for word in range(num_words):
            tight.ways[word * num_words * WORD + own] = tight.words[row * num_words + word]


@inlined
def _take_over(tight: Tight, num_words: int, free_row: int) -> None:
    """Give a row a column along a shortest path to one that is left; there is always one."""
    for word in range(num_words):
        tight.levels[word] = ZERO  # seen
    row, head, tail, column = free_row, 0, 0, -1
    while column < 0:
        for word in range(num_words):
            fresh = tight.words[row * num_words + word] & tight.alive[word] & ~tight.levels[word]
            if fresh & tight.seen[word]:
                column = word * WORD + np.int64(lowest(fresh & tight.seen[word]))
                tight.seen[word] ^= bit(column)
                break
            tight.levels[word] |= fresh
            while fresh:
                tight.stack[tail] = word * WORD + np.int64(lowest(fresh))
                tight.parent[tight.stack[tail]] = row
                fresh &= fresh - ONE
                tail += 1
        if column < 0:
            row = np.int64(tight.row_of[tight.stack[head]])
            head += 1
    while column >= 0:
        before = np.int64(tight.column_of[row])
        tight.column_of[row], tight.row_of[column] = column, row
        column, row = before, np.int64(tight.parent[before]) if before >= 0 else row


@inlined
def _settle_rows(tight: Tight, num_words: int) -> None:
    """Give each row in turn the least column that it can have."""
    if tight.size[0] == tight.size[1] > SMALL:
        _take_least(tight, num_words)
    for row in range(tight.size[0]):
        own = np.int64(tight.column_of[row])
        if tight.alive[own >> 6] & bit(own):
            least = _least_tight(tight, num_words, row, own, tight.alive, 0)
            last = _short_way(tight, num_words, least, own) if least < own else -1
            if least < own and last < 0:
                depth = _approach(tight, num_words, least, own)
                start = depth * num_words
                least = _least_tight(tight, num_words, row, own, tight.levels, start)
                if least < own:
                    last = _way(tight, num_words, least, depth)
            if last >= 0:
                _rotate(tight, num_words, row, own, last)
            settled = np.int64(tight.column_of[row])
            tight.alive[settled >> 6] &= ~bit(settled)


@inlined
def _least_tight(tight: Tight, num_words: int, row: int, own: int, among: Any, start: int) -> Any:
    """Return the least column of a set, and before its own, that is tight with a row, or `own`."""
    for word in range((own >> 6) + 1):
        ways = tight.words[row * num_words + word] & among[start + word] & tight.alive[word]
        if ways:
            return min(word * WORD + np.int64(lowest(ways)), own)
    return own


@inlined
def _short_way(tight: Tight, num_words: int, column: int, target: int) -> int:
    """Look for a way of one or two steps, as there is where ties are many; `stack` gets it.

    Return how many steps it has before the last, −1 if none was found.
    """
    num_rows, place = tight.size[0], target >> 6
    row, patience = _row_of(tight, column, num_rows), PATIENCE
    tight.stack[0] = column
    if tight.words[row * num_words + place] & bit(target):
        return 0
    for word in range(num_words):
        ways = tight.words[row * num_words + word] & tight.alive[word]
        while ways and patience > 0:
            following = word * WORD + np.int64(lowest(ways))
            ways &= ways - ONE
            patience -= 1
            other = _row_of(tight, following, num_rows)
            if tight.words[other * num_words + place] & bit(target):
                tight.stack[1] = following
                return 1
    return -1


@inlined
def _approach(tight: Tight, num_words: int, column: int, target: int) -> int:
    """Find the columns from which one is reached, in ever more steps; return in how many.

    That ends with the level of this column, if it is among them.
    """
    num_rows = tight.size[0]
    size, zero, depth = num_words * WORD, spread(0, tight.ways), 0
    for word in range(num_words):
        tight.levels[word] = ZERO
    tight.levels[target >> 6] = bit(target)
    first, last = target >> 6, (target >> 6) + 1
    while True:
        here, there = depth * num_words, (depth + 1) * num_words
        for block in range(0, tight.size[2], LANES):
            onward = zero
            for word in range(first, last):
                level = spread(tight.levels[here + word], tight.ways)
                onward = onward | (load(tight.ways, word * size + block) & level)
            set_octet(tight.levels, there * LANES + (block >> 3), ~mask_equal(onward, zero))
        first, last, depth = 0, num_words, depth + 1
        # All free columns have the same ways, which change while rows are settled.
        onto = ZERO
        for word in range(num_words):
            onto |= tight.words[num_rows * num_words + word] & tight.levels[here + word]
        grown = ZERO
        for word in range(num_words):
            more = tight.levels[there + word] & ~tight.free[word]
            more = (more | tight.free[word] if onto else more) & tight.alive[word]
            grown |= more & ~tight.levels[here + word]
            tight.levels[there + word] = more | tight.levels[here + word]
        if tight.levels[there + (column >> 6)] & bit(column) or not grown:
            return depth


@inlined
def _way(tight: Tight, num_words: int, column: int, depth: int) -> int:
    """Go from a column to the target of its level; `stack` gets the way but for the target.

    Return how many steps were gone before the last.
    """
    num_rows, last = tight.size[0], 0
    while True:
        tight.stack[last] = column
        while tight.levels[(depth - 1) * num_words + (column >> 6)] & bit(column):
            depth -= 1
        if depth == 1:
            return last
        row, last = _row_of(tight, column, num_rows), last + 1
        for word in range(num_words):
            ways = (
                tight.words[row * num_words + word] & tight.levels[(depth - 1) * num_words + word]
            )
            if ways:
                column = word * WORD + np.int64(lowest(ways))  # type: ignore[assignment]
                break


@inlined
def _rotate(tight: Tight, num_words: int, row: int, own: int, depth: int) -> None:
    """Give a row the first column of a way, its row the next, and so on; the last gets `own`."""
    for k in range(depth + 1):
        column = np.int64(tight.stack[k])
        loser = np.int64(tight.row_of[column])
        _give(tight, num_words, row, column)
        row = loser  # type: ignore[assignment]
    _give(tight, num_words, row, own)


@inlined
def _give(tight: Tight, num_words: int, row: int, column: int) -> None:
    """Give a row, or nobody (−1), a column; what it had before stays tight."""
    num_rows = tight.size[0]
    if tight.row_of[column] < 0:
        tight.free[column >> 6] &= ~bit(column)
        tight.words[num_rows * num_words + (column >> 6)] |= bit(column)
    tight.row_of[column] = row
    if row >= 0:
        before = np.int64(tight.column_of[row])
        tight.words[row * num_words + (before >> 6)] |= bit(before)
        tight.words[row * num_words + (column >> 6)] &= ~bit(column)
        tight.column_of[row] = column
    else:
        tight.free[column >> 6] |= bit(column)
        tight.words[num_rows * num_words + (column >> 6)] &= ~bit(column)
        row = num_rows
    for word in range(num_words):
        tight.ways[word * num_words * WORD + column] = tight.words[row * num_words + word]


@inlined
def _settle_columns(tight: Tight) -> None:
    """Give each column in turn the least row that it can have."""
    num_rows, num_columns = tight.size[0], tight.size[1]
    for column in range(num_columns):
        if not tight.alive[column >> 6] & bit(column):
            continue
        own = _row_of(tight, column, num_rows)
        candidate = _next_row(tight, column, 0, own)
        if candidate < own:
            entry = _explore(tight, column)
            while candidate < own:
                at = tight.column_of[candidate]
                if tight.seen[at >> 6] & bit(at):
                    _rotate_back(tight, candidate, column, entry)
                    break
                candidate = _next_row(tight, column, candidate + 1, own)
        tight.alive[column >> 6] &= ~bit(column)


@inlined
def _next_row(tight: Tight, column: int, first: int, own: int) -> int:
    """Return the first row from `first` on, and before `own`, that could get a column, or `own`."""
    num_words = words_of(tight.size[1])
    for row in range(first, min(own, tight.size[0])):
        at = tight.column_of[row]
        is_alive = tight.alive[at >> 6] & bit(at)
        if is_alive and tight.words[row * num_words + (column >> 6)] & bit(column):
            return row
    return own


@inlined
def _explore(tight: Tight, column: int) -> int:
    """Find everything that can be reached from a column, and from where.

    Return the first free column that is reached, −1 if there is none.
    """
    num_rows, num_words = tight.size[0], words_of(tight.size[1])
    for word in range(num_words):
        tight.seen[word] = ZERO
    tight.seen[column >> 6] |= bit(column)
    entry, depth = -1, 0
    tight.stack[0] = column
    while depth >= 0:
        at = np.int64(tight.stack[depth])
        depth -= 1
        row = _row_of(tight, at, num_rows)
        if row == num_rows:
            if entry >= 0:
                continue
            entry = at
            for word in range(num_words):
                tight.seen[word] |= tight.free[word]
        for word in range(num_words):
            ways = tight.words[row * num_words + word] & tight.alive[word] & ~tight.seen[word]
            while ways:
                following = word * WORD + np.int64(lowest(ways))
                ways &= ways - ONE
                tight.seen[word] |= bit(following)
                tight.parent[following] = row
                depth += 1
                tight.stack[depth] = following
    return entry  # type: ignore[return-value]


@inlined
def _rotate_back(tight: Tight, row: Any, column: Any, entry: int) -> None:
    """Give a row a column, what it had to the row before it on the way, and so on."""
    num_rows, end = tight.size[0], _row_of(tight, column, tight.size[0])
    while True:
        before = entry if row == num_rows else np.int64(tight.column_of[row])
        _give(tight, words_of(tight.size[1]), -1 if row == num_rows else row, column)
        if row == end:
            return
        column = before
        row = np.int64(tight.parent[column])
