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
from augury.engines.lanes import LANES, least_of, load, mask_equal, mask_less, smaller, spread
from augury.engines.words import ONE, ZERO, lowest

WORD = 64
PATIENCE = 8
"""Steps of a search after which it pays to look from its end."""
WRONG, ALONE, ONE_OF_MANY = 0, 1, 2


class Tight(NamedTuple):
    """The tight pairs of one table, and scratch memory."""

    words: Any
    """((row + 1) * word,): the columns with which a row is tight, but its own.

    The last row is that of free columns.
    """
    octets: Any
    """The same memory, as bytes."""
    alive: Any
    """(word,): columns that may be on a circle and are not settled."""
    octets_alive: Any
    """The same memory, as bytes."""
    left: Any
    """(word,): columns that will be alive, or are worth a visit."""
    octets_left: Any
    """The same memory, as bytes."""
    ways: Any
    """(word * column,): the columns with which the row of each column is tight."""
    free: Any
    """(word,): columns that are not assigned."""
    near: Any
    """(word,): columns from which a way leads to the one that is looked for."""
    octets_near: Any
    """The same memory, as bytes."""
    seen: Any
    """(word,): columns that a search has come to."""
    octets_seen: Any
    """The same memory, as bytes."""
    stack: Any
    """(column + 1,): columns of the way in search."""
    parent: Any
    """(column,): the row before each column."""

    @classmethod
    def of(cls, num_rows: int, num_columns: int) -> Tight:
        """Allocate."""
        num_words = -(-num_columns // WORD)
        words = np.zeros((num_rows + 1) * num_words, np.uint64)
        alive, left, free, near, seen = np.zeros((5, num_words), np.uint64)
        ways = np.zeros(num_words * num_words * WORD, np.uint64)
        stack, parent = np.zeros(num_columns + 1, np.int32), np.zeros(num_columns, np.int32)
        octets = (array.view(np.uint8) for array in (words, alive, left, near, seen))
        return cls(
            words, next(octets), alive, next(octets), left, next(octets),
            ways, free, near, next(octets), seen, next(octets), stack, parent,
        )  # fmt: skip


@compiled
def first_of_equals(dense: Dense, tight: Tight, slack: int, is_exchanged: bool) -> int:
    """Check an assignment by its prices, and make it the first of its cost.

    Pairs are taken as tight whose reduced cost is not above `slack`; if that is not 0, nothing is
    changed. Return WRONG if the check fails, and whether there are others over tight pairs.
    """
    if not _mark(dense, tight, slack):
        return WRONG
    if not _has_circle(dense, tight):
        return ALONE
    if slack == 0 and is_exchanged:
        _settle_columns(dense, tight)
    elif slack == 0:
        _settle_rows(dense, tight)
    return ONE_OF_MANY


@inlined
def _mark(dense: Dense, tight: Tight, slack: int) -> bool:
    """Fill the sets; return whether no pair costs less than its prices."""
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
            tight.octets[row * num_octets + (column >> 3)] = mask_less(cost, above)
        is_proven = is_proven and np.int64(least_of(least)) >= paid
        tight.octets[row * num_octets + (own >> 3)] &= ~np.uint8(1 << (own & 7))
    if num_rows < num_columns:
        for column in range(num_columns):
            if dense.row_of[column] < 0:
                tight.free[column >> 6] |= bit(column)
            elif dense.price[column] >= -slack:
                tight.words[num_rows * num_words + (column >> 6)] |= bit(column)
    return is_proven


@inlined
def words_of(num_columns: int) -> int:
    """Return how many words hold a set of columns."""
    return (num_columns + WORD - 1) // WORD


@inlined
def bit(column: int) -> Any:
    """Return the bit of a column within its word."""
    return ONE << np.uint64(column & 63)


@inlined
def _row_of(dense: Dense, column: int, num_rows: int) -> Any:
    """Return the row of a column, that of free ones being the last."""
    row = np.int64(dense.row_of[column])
    return num_rows if row < 0 else row


@inlined
def _has_circle(dense: Dense, tight: Tight) -> bool:
    """Keep alive the columns between two circles; return whether there are any.

    A column is dead if no way leads from it to one that is alive, or none from such a one to it.
    """
    num_rows, num_words = dense.size[0], words_of(dense.size[1])
    size = num_words * WORD
    for column in range(dense.size[1]):
        row = _row_of(dense, column, num_rows)
        for word in range(num_words):
            tight.ways[word * size + column] = tight.words[row * num_words + word]
    while _kill_ends(tight, num_words, dense.size[2]):
        num_dead = 0
        for word in range(num_words):
            tight.seen[word] = ZERO
        for column in range(dense.size[1]):
            if tight.alive[column >> 6] & bit(column):
                for word in range(num_words):
                    tight.seen[word] |= tight.ways[word * size + column]
        for word in range(num_words):
            num_dead += tight.alive[word] & ~tight.seen[word] != ZERO
            tight.alive[word] &= tight.seen[word]
        if num_dead == 0:
            return True
    return False


@inlined
def _kill_ends(tight: Tight, num_words: int, width: int) -> bool:
    """Let columns die that have no way to one that is alive; return whether some stay alive."""
    zero, size = spread(0, tight.ways), num_words * WORD
    for word in range(num_words):
        tight.left[word] = ZERO
    while True:
        num_dead, is_alive = np.uint8(0), np.uint8(0)
        for column in range(0, width, LANES):
            onward = zero
            for word in range(num_words):
                there = spread(tight.alive[word], tight.ways)
                onward = onward | (load(tight.ways, word * size + column) & there)
            before = tight.octets_alive[column >> 3]
            after = before & ~mask_equal(onward, zero)
            tight.octets_left[column >> 3] = after
            num_dead |= before ^ after
            is_alive |= after
        for word in range(num_words):
            tight.alive[word] = tight.left[word]
        if is_alive == 0 or num_dead == 0:
            return is_alive != 0


@inlined
def _settle_rows(dense: Dense, tight: Tight) -> None:
    """Give each row in turn the least column that it can have."""
    num_rows, num_words = dense.size[0], words_of(dense.size[1])
    for row in range(num_rows):
        own = np.int64(dense.column_of[row])
        if not tight.alive[own >> 6] & bit(own):
            continue
        for word in range(num_words):
            tight.seen[word], tight.left[word] = ZERO, tight.alive[word]
        column, patience = _next_candidate(tight, row, own, num_words), PATIENCE
        if column >= 0 and not _find_near(dense, tight, own):
            column = -1
        while column >= 0:
            depth, patience = _way(dense, tight, column, patience)
            if depth >= 0:
                _rotate(dense, tight, row, own, depth)
                break
            if patience == 0:
                _close_in(dense, tight)
                patience = -1
            column = _next_candidate(tight, row, own, num_words)
        settled = dense.column_of[row]
        tight.alive[settled >> 6] &= ~bit(settled)


@inlined
def _close_in(dense: Dense, tight: Tight) -> None:
    """Leave only the columns from which one that is near can be reached, all of them unseen."""
    num_rows, num_words = dense.size[0], words_of(dense.size[1])
    size, zero = num_words * WORD, spread(0, tight.ways)
    for word in range(num_words):
        tight.left[word], tight.seen[word] = tight.near[word], ZERO
    while True:
        for column in range(0, dense.size[2], LANES):
            onward = zero
            for word in range(num_words):
                there = spread(tight.left[word], tight.ways)
                onward = onward | (load(tight.ways, word * size + column) & there)
            tight.octets_seen[column >> 3] = ~mask_equal(onward, zero)
        onto = ZERO
        for word in range(num_words):
            onto |= tight.words[num_rows * num_words + word] & tight.left[word]
        grown = ZERO
        for word in range(num_words):
            more = tight.seen[word] & ~tight.free[word]
            more = (more | tight.free[word] if onto else more) & tight.alive[word]
            grown |= more & ~tight.left[word]
            tight.left[word] |= more
            tight.seen[word] = ZERO
        if not grown:
            return


@inlined
def _next_candidate(tight: Tight, row: int, own: int, num_words: int) -> Any:
    """Return the first column before its own that is tight with a row and was not tried; or −1."""
    for word in range((own >> 6) + 1):
        ways = tight.words[row * num_words + word] & tight.left[word] & ~tight.seen[word]
        if word == own >> 6:
            ways &= bit(own) - ONE
        if ways:
            return word * WORD + np.int64(lowest(ways))
    return -1


@inlined
def _find_near(dense: Dense, tight: Tight, target: int) -> bool:
    """Find the columns from which a way leads to this one; return whether there are any."""
    num_rows, num_words = dense.size[0], words_of(dense.size[1])
    start = (target >> 6) * num_words * WORD
    mask, zero = spread(bit(target), tight.ways), spread(0, tight.ways)
    for word in range(num_words):
        tight.near[word] = ZERO
    for column in range(0, dense.size[2], LANES):
        tight.octets_near[column >> 3] = ~mask_equal(load(tight.ways, start + column) & mask, zero)
    is_free_near = tight.words[num_rows * num_words + (target >> 6)] & bit(target) != ZERO
    found = ZERO
    for word in range(num_words):
        near = tight.near[word] & ~tight.free[word]
        tight.near[word] = (near | tight.free[word] if is_free_near else near) & tight.alive[word]
        found |= tight.near[word]
    return found != ZERO


@inlined
def _way(dense: Dense, tight: Tight, column: int, patience: int) -> Any:
    """Search a way from a column to a near one, depth first, over what no search has seen.

    Its columns are in `stack`. Return the place of the last, −1 if none was found, and how many
    steps of patience are left: with 0 there may be one.
    """
    num_rows, num_words = dense.size[0], words_of(dense.size[1])
    depth = 0
    tight.stack[0] = column
    tight.seen[column >> 6] |= bit(column)
    if tight.near[column >> 6] & bit(column):
        return depth, patience
    while depth >= 0 and patience != 0:
        patience -= 1
        row = _row_of(dense, np.int64(tight.stack[depth]), num_rows)
        following, is_near = -1, False
        for word in range(num_words):
            ways = tight.words[row * num_words + word] & tight.left[word] & ~tight.seen[word]
            if ways & tight.near[word]:
                following, is_near = word * WORD + np.int64(lowest(ways & tight.near[word])), True
                break
            if ways and following < 0:
                following = word * WORD + np.int64(lowest(ways))
        if following < 0:
            depth -= 1
            continue
        depth += 1
        tight.stack[depth] = following
        tight.seen[following >> 6] |= bit(following)
        if is_near:
            return depth, patience
    return -1, patience


@inlined
def _rotate(dense: Dense, tight: Tight, row: int, own: int, depth: int) -> None:
    """Give a row the first column of a way, its row the next, and so on; the last gets `own`."""
    for k in range(depth + 1):
        column = tight.stack[k]
        loser = dense.row_of[column]
        _give(dense, tight, row, column)
        row = loser
    _give(dense, tight, row, own)


@inlined
def _give(dense: Dense, tight: Tight, row: int, column: int) -> None:
    """Give a row, or nobody (−1), a column; what it had before stays tight."""
    num_rows, num_words = dense.size[0], words_of(dense.size[1])
    if dense.row_of[column] < 0:
        tight.free[column >> 6] &= ~bit(column)
        tight.words[num_rows * num_words + (column >> 6)] |= bit(column)
    dense.row_of[column] = row
    if row >= 0:
        before = np.int64(dense.column_of[row])
        tight.words[row * num_words + (before >> 6)] |= bit(before)
        tight.words[row * num_words + (column >> 6)] &= ~bit(column)
        dense.column_of[row] = column
    else:
        tight.free[column >> 6] |= bit(column)
        tight.words[num_rows * num_words + (column >> 6)] &= ~bit(column)
        row = num_rows
    for word in range(num_words):
        tight.ways[word * num_words * WORD + column] = tight.words[row * num_words + word]


@inlined
def _settle_columns(dense: Dense, tight: Tight) -> None:
    """Give each column in turn the least row that it can have."""
    num_rows, num_columns = dense.size[0], dense.size[1]
    for column in range(num_columns):
        if not tight.alive[column >> 6] & bit(column):
            continue
        own = _row_of(dense, column, num_rows)
        candidate = _next_row(dense, tight, column, 0, own)
        if candidate < own:
            entry = _explore(dense, tight, column)
            while candidate < own:
                at = dense.column_of[candidate]
                if tight.seen[at >> 6] & bit(at):
                    _rotate_back(dense, tight, candidate, column, entry)
                    break
                candidate = _next_row(dense, tight, column, candidate + 1, own)
        tight.alive[column >> 6] &= ~bit(column)


@inlined
def _next_row(dense: Dense, tight: Tight, column: int, first: int, own: int) -> int:
    """Return the first row from `first` on, and before `own`, that could get a column, or `own`."""
    num_words = words_of(dense.size[1])
    for row in range(first, min(own, dense.size[0])):
        at = dense.column_of[row]
        is_alive = tight.alive[at >> 6] & bit(at)
        if is_alive and tight.words[row * num_words + (column >> 6)] & bit(column):
            return row
    return own


@inlined
def _explore(dense: Dense, tight: Tight, column: int) -> int:
    """Find everything that can be reached from a column, and from where.

    Return the first free column that is reached, −1 if there is none.
    """
    num_rows, num_words = dense.size[0], words_of(dense.size[1])
    for word in range(num_words):
        tight.seen[word] = ZERO
    tight.seen[column >> 6] |= bit(column)
    entry, depth = -1, 0
    tight.stack[0] = column
    while depth >= 0:
        at = tight.stack[depth]
        depth -= 1
        row = _row_of(dense, at, num_rows)
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
    return entry


@inlined
def _rotate_back(dense: Dense, tight: Tight, row: Any, column: Any, entry: int) -> None:
    """Give a row a column, what it had to the row before it on the way, and so on."""
    num_rows, end = dense.size[0], _row_of(dense, column, dense.size[0])
    while True:
        before = entry if row == num_rows else np.int64(dense.column_of[row])
        _give(dense, tight, -1 if row == num_rows else row, column)
        if row == end:
            return
        column = before
        row = np.int64(tight.parent[column])
