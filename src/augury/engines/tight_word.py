"""`tight` where a word holds all columns and none is free: the same, with sets in registers.

With many ties that takes four fifths of the time. `mark_least` is for any number of words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from augury.engines.assignment_loops import Dense, inlined, start_of
from augury.engines.lanes import LANES, least_of, load, mask_equal, smaller, spread
from augury.engines.small import WORD
from augury.engines.words import ONE, ZERO, count, highest, lowest

SMALL = 16
"""Up to this many rows, starting afresh does not pay off."""
MANY = 2
"""With this many tight pairs a row or more, ties are many."""
FEW = 8
"""One in this many rows may be without a column."""


@inlined
def match_ties_of_word(dense: Dense) -> int:
    """Do as `tight.match_ties` does."""
    size = dense.size[0]
    if not mark_least(dense, 1):
        return 0
    everything, num_free = ~ZERO >> np.uint64(WORD - size), 0
    left = everything
    for row in range(size):
        ways = dense.words[row] & left
        if ways:
            column = lowest(ways)
            left ^= ONE << column
            dense.column_of[row], dense.row_of[column] = column, row
        else:
            dense.free[num_free] = row
            num_free += 1
    state = dense.words, dense.row_of, dense.column_of, dense.passed
    for k in range(num_free):
        left = _take_over_word(state, dense.free[k], everything, left)
    for k in range(dense.size[2] // LANES):
        dense.is_taken[k] = np.uint8((everything ^ left) >> np.uint64(LANES * k))
    return size - np.int64(count(left))


@inlined
def mark_least(dense: Dense, num_words: int) -> bool:
    """Set the columns that cost each row the least; return whether to go on with them."""
    size, width, table, price = dense.size[0], dense.size[2], dense.table, dense.price
    num_tight, out = ZERO, dense.out[0]
    for row in range(size):
        start, least = start_of(dense, row), spread(out, table)
        for column in range(0, width, LANES):
            least = smaller(least, load(table, start + column) - load(price, column))
        paid = least_of(least)
        here = spread(paid, table)
        for word in range(num_words):
            ways = ZERO
            for column in range(word * WORD, min(word * WORD + WORD, width), LANES):
                bits = mask_equal(load(table, start + column) - load(price, column), here)
                ways |= np.uint64(bits) << np.uint64(column & (WORD - 1))
            dense.words[row * num_words + word] = ways
            num_tight += count(ways)
        is_few = size > SMALL and row & 3 == 3 and num_tight < MANY * (row + 1)
        if is_few or paid >= out >> 1:
            return False
    return True


@inlined
def are_tight_in_word(tight: Any) -> bool:
    """Do as `tight.are_tight` does."""
    size, are_in = tight.size[0], ONE
    for row in range(size):
        own = np.uint64(tight.column_of[row])
        are_in &= tight.words[row] >> own
        tight.words[row] &= ~(ONE << own)
    tight.alive[0] = ~ZERO >> np.uint64(WORD - size)
    return are_in == ONE


@inlined
def settle_word(tight: Any, is_tied: bool) -> None:
    """Do as `tight._settle_rows` does where a word holds all columns, and none is free.

    After `match_ties` nothing needs a fresh start.
    """
    alive = tight.alive[0] if is_tied else _take_least_of_word(tight)
    for row in range(tight.size[0]):
        own = np.uint64(tight.column_of[row])
        if alive >> own & ONE:
            ways, seen, last = tight.words[row] & alive & ((ONE << own) - ONE), ZERO, 0
            while ways:
                column, first = lowest(ways), last
                seen, last, is_found = _search_word(tight, column, own, (alive, seen, last))
                if is_found:
                    _rotate_word(tight, row, own, first, last)
                    own, seen = column, ZERO
                    break
                ways &= ~seen
            alive &= ~(ONE << own)
            if seen:  # no way into it is part of a circle
                for other in range(row + 1, tight.size[0]):
                    if not seen >> np.uint64(tight.column_of[other]) & ONE:
                        tight.words[other] &= ~seen


@inlined
def _search_word(tight: Any, column: Any, target: Any, state: Any) -> Any:
    """Follow all ways from a column; return what was seen, how much, and if the target was.

    `stack` has the columns in order.
    """
    alive, seen, last = state
    left, fresh = ZERO, ONE << column
    while True:
        seen |= fresh
        left |= fresh
        if not left:
            return seen, last, False
        column = lowest(left)
        left &= left - ONE
        tight.stack[last] = column
        last += 1
        ways = tight.words[np.uint32(tight.row_of[column])] & alive
        if ways >> target & ONE:
            return seen, last, True
        fresh = ways & ~seen


@inlined
def _rotate_word(tight: Any, row: int, own: Any, first: int, end: int) -> None:
    """Give a row the first column of a search, its row the next on the way, and so on to `own`."""
    column, k = own, end - 1
    while True:
        before = np.uint64(tight.stack[k])
        _hand_over(tight, np.uint32(tight.row_of[before]), column)
        column = before
        if k == first:
            break
        k = first
        while not tight.words[np.uint32(tight.row_of[tight.stack[k]])] >> column & ONE:
            k += 1
    _hand_over(tight, row, column)


@inlined
def _hand_over(tight: Any, row: Any, column: Any) -> None:
    """Give a row a column; what it had before stays tight."""
    tight.words[row] |= ONE << np.uint64(tight.column_of[row])
    tight.column_of[row], tight.row_of[column] = column, row


@inlined
def _take_least_of_word(tight: Any) -> Any:
    """Do as `tight._take_least` does; return the columns that are alive."""
    size, alive = tight.size[0], tight.alive[0]
    if size <= SMALL:
        return alive
    left, num_without = alive, 0
    for row in range(size):
        own = np.uint64(tight.column_of[row])
        tight.stack[row] = own
        if alive >> own & ONE:
            tight.words[row] |= ONE << own
            ways = tight.words[row] & left
            tight.stack[row] = -1
            if ways:
                tight.stack[row] = lowest(ways)
                left &= ~(ways & (ZERO - ways))
            else:
                num_without += 1
    if num_without * FEW <= size:
        for row in range(size):
            tight.column_of[row] = tight.stack[row]
            if tight.stack[row] >= 0:
                tight.row_of[tight.stack[row]] = row
        for row in range(size):
            if tight.column_of[row] < 0:
                state = tight.words, tight.row_of, tight.column_of, tight.parent
                left = _take_over_word(state, row, alive, left)
    return alive


@inlined
def _take_over_word(state: Any, row: int, alive: Any, left: Any) -> Any:
    """Give a row a column along a path to one that is left, through late rows, if there is one.

    Return what is left.
    """
    words, row_of, column_of, parent = state
    seen, waiting, here = ZERO, ZERO, np.uint64(row)  # rows wait
    while True:
        fresh = words[here] & alive & ~seen
        if fresh & left:
            break
        seen |= fresh
        while fresh:
            other = np.uint64(np.uint32(row_of[lowest(fresh)]))
            fresh &= fresh - ONE
            waiting |= ONE << other
            parent[other] = here
        if not waiting:
            return left
        here = highest(waiting)
        waiting ^= ONE << here
    column = lowest(fresh & left)
    left ^= ONE << column
    while here != row:
        before = np.uint64(column_of[here])
        column_of[here], row_of[column] = column, here
        column, here = before, np.uint64(parent[here])
    column_of[here], row_of[column] = column, here
    return left
