"""`tight` where a word holds all columns and none is free: the same, with sets in registers."""

from __future__ import annotations

from typing import Any

import numpy as np

from augury.engines.assignment_loops import inlined
from augury.engines.words import ONE, ZERO, highest, lowest

SMALL = 16
"""Up to so many rows it does not pay to begin anew."""
FEW = 8
"""Of so many rows one may be without a column."""


@inlined
def settle_word(tight: Any) -> None:
    """Do as `tight._settle_rows` does where a word holds all columns, and none is free."""
    alive = _take_least_of_word(tight)
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
    """Go wherever ways lead from a column; return what was seen, how much, and if the target was.

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
                left = _take_over_word(tight, row, alive, left)
    return alive


@inlined
def _take_over_word(tight: Any, row: int, alive: Any, left: Any) -> Any:
    """Give a row a column by a path to one that is left, through late rows; return what is left."""
    seen, waiting, here = ZERO, ZERO, np.uint64(row)  # rows wait
    while True:
        fresh = tight.words[here] & alive & ~seen
        if fresh & left:
            break
        seen |= fresh
        while fresh:
            other = np.uint64(np.uint32(tight.row_of[lowest(fresh)]))
            fresh &= fresh - ONE
            waiting |= ONE << other
            tight.parent[other] = here
        here = highest(waiting)
        waiting ^= ONE << here
    column = lowest(fresh & left)
    left ^= ONE << column
    while here != row:
        before = np.uint64(tight.column_of[here])
        tight.column_of[here], tight.row_of[column] = column, here
        column, here = before, np.uint64(tight.parent[here])
    tight.column_of[here], tight.row_of[column] = column, here
    return left
