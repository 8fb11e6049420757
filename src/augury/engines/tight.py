"""An assignment of least cost becomes the first of all that cost as little.

Prices that prove one assignment determine them all: these are the full assignments over tight pairs
that leave only columns of price 0 free. The first is the one in which row 0 has the least column
that it can have, then row 1, and so on; it does not depend on how the assignment was found, nor on
the prices. If rows and columns were exchanged to have fewer rows, column 0 has the least row that
it can have (having none at all counts as last), and so on.

A way leads from one assigned pair to another if the row of the first is tight with the column of
the second; free columns belong to one more row, which is tight with every column of price 0.
Another assignment is a circle of such ways. Most tables of random costs have none, as one search
shows. Sets of columns are words of 64 bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.engines.assignment_loops import Dense, compiled, inlined, start_of
from augury.engines.lanes import (
    LANES,
    least_of,
    load,
    mask_equal,
    mask_less,
    smaller,
    spread,
    store,
    union_of,
    where,
)
from augury.engines.tight_word import (
    FEW,
    SMALL,
    are_tight_in_word,
    mark_least,
    match_ties_of_word,
    settle_word,
)
from augury.engines.words import ONE, ZERO, highest, lowest

WORD = 64


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
    """((row + 1) * word,): the columns with which a row is tight, at first without its own.

    The last row is that of free columns.
    """
    alive: Any
    """(word,): columns that may be on a circle and are not settled."""
    ways: Any
    """(word * column,): the columns with which the row of each column is tight."""
    free: Any
    """(word,): columns that are not assigned."""
    seen: Any
    """(word,): columns that a search has reached."""
    left: Any
    """(word,): columns from which a search has yet to go on, or that no row has taken yet."""
    waiting: Any
    """(word,): rows (no more than columns) from which a search has yet to go on."""
    stack: Any
    """(column + 1,): columns of a search, in order."""
    parent: Any
    """(column,): the row before each column, or row."""

    @classmethod
    def of(cls, dense: Dense) -> Tight:
        """Allocate for the largest table that these arrays can hold."""
        num_columns = len(dense.row_of)
        num_words = -(-num_columns // WORD)
        alive, free, seen, left, waiting = np.zeros((5, num_words), np.uint64)
        ways = np.zeros(num_words * num_words * WORD, np.uint64)
        stack, parent = np.zeros(num_columns + 1, np.int32), np.zeros(num_columns, np.int32)
        return cls(
            dense.size, dense.row_of, dense.column_of,
            dense.words, alive, ways, free, seen, left, waiting, stack, parent,
        )  # fmt: skip


@inlined
def match_ties(dense: Dense, tight: Tight) -> int:
    """Give rows columns that cost them the least, and return how many have one.

    Larger tables are left alone unless ties are many: bids are better there. Rows take the least
    column that is left, in turn, which is nearly the first assignment. If all get one, `words` has
    the tight pairs.
    """
    size = dense.size[0]
    if size != dense.size[1] or size == 0:
        return 0
    return match_ties_of_word(dense) if size <= WORD else _match_ties(dense, tight)


@inlined
def _match_ties(dense: Dense, tight: Tight) -> int:
    size, num_words, num_free = dense.size[0], words_of(dense.size[1]), 0
    if not mark_least(dense, num_words):
        return 0
    _enliven(tight)
    for word in range(num_words):
        tight.left[word] = tight.alive[word]
    for row in range(size):
        column = _least_left(tight, num_words, row)
        if column >= 0:
            dense.column_of[row], dense.row_of[column] = column, row
        else:
            dense.free[num_free] = row
            num_free += 1
    for k in range(num_free):
        if not _take_over(tight, num_words, np.int64(dense.free[k])):
            for word in range(num_words):  # where nothing is left, nothing ever will be
                tight.alive[word] &= ~tight.seen[word]
    num_matched = 0
    for column in range(size):
        if dense.row_of[column] >= 0:
            dense.is_taken[column >> 3] |= np.uint8(1 << (column & 7))
            num_matched += 1
    return num_matched


@inlined
def are_tight(tight: Tight) -> bool:
    """Do as `mark` does, from the words of `match_ties`: without each row's own column.

    Each word holds what costs its row the least: that the row's column is in it is all to prove.
    """
    num_rows, num_words, are_in = tight.size[0], words_of(tight.size[1]), True
    if num_rows <= WORD:
        return are_tight_in_word(tight)
    _enliven(tight)
    for row in range(num_rows):
        own = np.int64(tight.column_of[row])
        place = row * num_words + (own >> 6)
        are_in &= (tight.words[place] & bit(own)) != ZERO
        tight.words[place] &= ~bit(own)
    return are_in


@inlined
def mark(dense: Dense, tight: Tight, slack: int) -> bool:
    """Fill the sets; return whether no pair costs less than its prices.

    Pairs count as tight if their reduced cost is at most `slack`.
    """
    num_rows, num_columns, width = dense.size[0], dense.size[1], dense.size[2]
    table, price, num_words = dense.table, dense.price, words_of(num_columns)
    least, above = spread(0, table), spread(slack + 1, table)
    _enliven(tight)
    for row in range(num_rows):
        start, own = start_of(dense, row), dense.column_of[row]
        paid = np.int64(table[start + own]) - price[own]
        spent = spread(paid, table)
        for word in range(num_words):
            ways = ZERO
            for column in range(word * WORD, min(word * WORD + WORD, width), LANES):
                reduced = load(table, start + column) - load(price, column) - spent
                least = smaller(least, reduced)
                ways |= np.uint64(mask_less(reduced, above)) << np.uint64(column & 63)
            tight.words[row * num_words + word] = ways & ~bit(own) if word == own >> 6 else ways
    if num_rows < num_columns:
        for column in range(num_columns):
            if dense.row_of[column] < 0:
                tight.free[column >> 6] |= bit(column)
            elif dense.price[column] >= -slack:
                tight.words[num_rows * num_words + (column >> 6)] |= bit(column)
    return least_of(least) >= 0


@inlined
def _enliven(tight: Tight) -> None:
    """Make all columns alive and none free; the row of free columns is tight with none."""
    num_rows, num_columns = tight.size[0], tight.size[1]
    num_words = words_of(num_columns)
    for word in range(num_words):
        tight.free[word] = tight.words[num_rows * num_words + word] = ZERO
        left = num_columns - word * WORD
        tight.alive[word] = ~ZERO if left >= WORD else (ONE << np.uint64(left)) - ONE


@compiled
def settle(tight: Tight, is_exchanged: bool, is_tied: bool) -> None:
    """Make the assignment the first of its cost, where there are several."""
    if is_exchanged:
        _settle_columns(tight)
    elif tight.size[0] == tight.size[1] <= WORD:
        settle_word(tight, is_tied)
    else:
        _settle_rows(tight, words_of(tight.size[1]), is_tied)


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
    """Return the row of a column; free ones have the last."""
    row = np.int64(tight.row_of[column])
    return num_rows if row < 0 else row


@inlined
def has_circle(tight: Tight) -> bool:  # noqa: C901  # loops over words, inlined
    """Keep alive the columns between two circles; return whether there are any.

    A column is dead if no way leads from it to a live one, or none from a live one to it.
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
    if width == LANES:
        ways, alive, before = load(tight.ways, 0), tight.alive[0], ZERO
        while alive != before:
            before = alive
            ways = where(np.uint8(alive), ways & spread(alive, tight.ways), zero)
            alive &= union_of(ways) & ~np.uint64(mask_equal(ways, zero))
        tight.alive[0] = alive
        return alive != ZERO
    while True:
        num_dead, is_alive = ZERO, ZERO
        for word in range(num_words):
            into = zero
            for column in range(0, width, LANES):
                into = into | load(tight.ways, word * size + column)
            tight.seen[word] = tight.alive[word] & union_of(into)
        for here in range(num_words):
            onward = ZERO
            for column in range(here * WORD, min(here * WORD + WORD, width), LANES):
                before = np.uint8(tight.seen[here] >> np.uint64(column & 63))
                further = zero
                for word in range(num_words):
                    place = word * size + column
                    ways = load(tight.ways, place) & spread(tight.seen[word], tight.ways)
                    ways = where(before, ways, zero)
                    store(tight.ways, place, ways)
                    further = further | ways
                onward |= np.uint64(before & ~mask_equal(further, zero)) << np.uint64(column & 63)
            num_dead |= tight.alive[here] ^ onward
            tight.alive[here] = onward
            is_alive |= onward
        if not is_alive or not num_dead:
            return is_alive != ZERO


@inlined
def _take_least(tight: Tight, num_words: int) -> None:  # loops over words
    """Give each row in turn the least column that is left; the few left without take one over.

    With many ties this is nearly the first assignment. If it leaves many rows without a column,
    everything stays as it is.
    """
    num_rows, num_without = tight.size[0], 0
    for word in range(num_words):
        tight.left[word] = tight.alive[word]
    for row in range(num_rows):
        own = np.int64(tight.column_of[row])
        tight.words[row * num_words + (own >> 6)] |= bit(own)
        tight.stack[row] = own
        if tight.alive[own >> 6] & bit(own):
            tight.stack[row] = _least_left(tight, num_words, row)
            num_without += tight.stack[row] < 0
    if num_without * FEW <= num_rows:
        for row in range(num_rows):
            tight.column_of[row] = tight.stack[row]
            if tight.stack[row] >= 0:
                tight.row_of[tight.stack[row]] = row
        for row in range(num_rows):
            if tight.column_of[row] < 0:
                _take_over(tight, num_words, np.int64(row))


@inlined
def _least_left(tight: Tight, num_words: int, row: int) -> Any:
    """Take the least column that is left for a row, −1 if none is."""
    for word in range(num_words):
        ways = tight.words[row * num_words + word] & tight.left[word]
        if ways:
            tight.left[word] ^= ways & (ZERO - ways)
            return word * WORD + np.int64(lowest(ways))
    return -1


@inlined
def _take_over(tight: Tight, num_words: int, free_row: Any) -> bool:  # noqa: C901  # over words
    """Give a row a column along a path to one that is left; return whether there is one.

    The search goes on from the last row that it has reached: rows before it can stay as they are.
    """
    for word in range(num_words):
        tight.seen[word] = tight.waiting[word] = ZERO
    row, column = free_row, -1
    while True:
        for word in range(num_words):
            fresh = tight.words[row * num_words + word] & tight.alive[word] & ~tight.seen[word]
            if fresh & tight.left[word]:
                column = word * WORD + np.int64(lowest(fresh & tight.left[word]))
                tight.left[word] ^= bit(column)
                break
            tight.seen[word] |= fresh
            while fresh:
                other = np.int64(tight.row_of[word * WORD + np.int64(lowest(fresh))])
                tight.parent[other] = row
                tight.waiting[other >> 6] |= bit(other)
                fresh &= fresh - ONE
        if column >= 0:
            break
        row = -1
        for word in range(num_words - 1, -1, -1):
            if tight.waiting[word]:
                row = word * WORD + np.int64(highest(tight.waiting[word]))
                tight.waiting[word] ^= bit(row)
                break
        if row < 0:
            return False
    while True:
        before = np.int64(tight.column_of[row])
        tight.column_of[row], tight.row_of[column] = column, row
        if row == free_row:
            return True
        column, row = before, np.int64(tight.parent[row])


@inlined
def _settle_rows(tight: Tight, num_words: int, is_tied: bool) -> None:
    """Give each row in turn the least column that it can have.

    After `match_ties` nothing needs a fresh start.
    """
    if tight.size[0] == tight.size[1] > SMALL and not is_tied:
        _take_least(tight, num_words)
    for row in range(tight.size[0]):
        own = np.int64(tight.column_of[row])
        if tight.alive[own >> 6] & bit(own):
            _settle_row(tight, num_words, row, own)
            settled = np.int64(tight.column_of[row])
            tight.alive[settled >> 6] &= ~bit(settled)


@inlined
def _settle_row(tight: Tight, num_words: int, row: int, own: int) -> None:
    """Give a row the least column from which a way leads to its own."""
    num_seen = 0
    for word in range((own >> 6) + 1):
        ways = tight.words[row * num_words + word] & tight.alive[word]
        if word == own >> 6:
            ways &= bit(own) - ONE
        while ways:
            column = word * WORD + np.int64(lowest(ways))
            if num_seen == 0:
                for other in range(num_words):
                    tight.seen[other] = ZERO
            first, num_seen = num_seen, _search(tight, num_words, column, own, num_seen)
            if num_seen < 0:
                _rotate(tight, num_words, row, own, first, -num_seen)
                return
            ways &= ~tight.seen[word]
    if num_seen > 0:
        _part(tight, num_words)


@inlined
def _search(tight: Tight, num_words: int, column: Any, target: int, first: int) -> int:
    """Follow all ways from a column, until one leads to the target.

    Return how many columns `stack` then has, negated if the last is the one before the target.
    """
    num_rows, place, wanted, last = tight.size[0], target >> 6, bit(target), first
    for word in range(num_words):
        tight.left[word] = ZERO
    tight.seen[column >> 6] |= bit(column)
    while True:
        tight.stack[last] = column
        last += 1
        start = _row_of(tight, column, num_rows) * num_words
        if tight.words[start + place] & wanted:
            return -last
        for word in range(num_words):
            fresh = tight.words[start + word] & tight.alive[word] & ~tight.seen[word]
            tight.seen[word] |= fresh
            tight.left[word] |= fresh
        column = -1
        for word in range(num_words):
            if tight.left[word]:
                column = word * WORD + np.int64(lowest(tight.left[word]))
                tight.left[word] &= tight.left[word] - ONE
                break
        if column < 0:
            return last


@inlined
def _part(tight: Tight, num_words: int) -> None:
    """Forget the ways into what a search has reached: since it ended, none is part of a circle."""
    num_rows, is_free = tight.size[0], ZERO
    for word in range(num_words):
        is_free |= tight.seen[word] & tight.free[word]
    for row in range(num_rows + 1):
        own = np.int64(tight.column_of[row]) if row < num_rows else 0
        is_inside = tight.seen[own >> 6] & bit(own) if row < num_rows else is_free
        if not is_inside:
            for word in range(num_words):
                tight.words[row * num_words + word] &= ~tight.seen[word]


@inlined
def _rotate(tight: Tight, num_words: int, row: int, own: int, first: int, end: int) -> None:
    """Give a row the first column of a search, its row the next on the way, and so on to `own`."""
    num_rows, column, k = tight.size[0], np.int64(own), end - 1
    while True:
        before = np.int64(tight.stack[k])
        _give(tight, num_words, np.int64(tight.row_of[before]), column)
        column = before
        if k == first:
            break
        k = first
        while True:
            start = _row_of(tight, np.int64(tight.stack[k]), num_rows) * num_words
            if tight.words[start + (column >> 6)] & bit(column):
                break
            k += 1
    _give(tight, num_words, row, column)


@inlined
def _give(tight: Tight, num_words: int, row: int, column: int) -> None:
    """Give a row, or none (−1), a column; what it had before stays tight."""
    num_rows = tight.size[0]
    if tight.row_of[column] < 0:
        tight.free[column >> 6] &= ~bit(column)
        tight.words[num_rows * num_words + (column >> 6)] |= bit(column)
    tight.row_of[column] = row
    if row >= 0:
        before = np.int64(tight.column_of[row])
        tight.words[row * num_words + (before >> 6)] |= bit(before)
        tight.column_of[row] = column
    else:
        tight.free[column >> 6] |= bit(column)


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
    """Give a row a column, its former one to the row before it on the way, and so on."""
    num_rows, end = tight.size[0], _row_of(tight, column, tight.size[0])
    while True:
        before = entry if row == num_rows else np.int64(tight.column_of[row])
        _give(tight, words_of(tight.size[1]), -1 if row == num_rows else row, column)
        if row == end:
            return
        column = before
        row = np.int64(tight.parent[column])
