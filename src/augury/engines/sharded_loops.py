"""What a shard does with its arcs, compiled by numba; see `sharded_part` for the arrays.

Node numbers are global unless called rows or places: node x, which shard `x % count` holds, has the
place `x // count`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from augury.compiled import compiled as on_disk

compiled: Any = on_disk(nogil=True, error_model="numpy")

UNASKED, ASKED = -1, -2
"""What `asker` says of a right node where it names no left one."""
ONE = np.uint64(1)


@compiled
def count_arcs(pairs: Any, count: int, degree: Any, is_known: Any) -> None:
    """Count the arcs of each row, and mark the right nodes, a bit each."""
    for k in range(len(pairs)):
        degree[pairs[k, 0] // count] += 1
        v = pairs[k, 1]
        is_known[v >> 6] |= ONE << np.uint64(v & 63)


@compiled
def ones(word: np.uint64) -> np.int64:
    """Return how many bits are set."""
    word -= (word >> ONE) & np.uint64(0x5555555555555555)
    two = np.uint64(0x3333333333333333)
    word = (word & two) + ((word >> np.uint64(2)) & two)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def number_known(is_known: Any, before: Any) -> int:
    """Count the bits before each word; return how many there are."""
    total = 0
    for k in range(len(is_known)):
        before[k] = total
        total += ones(is_known[k])
    return total


@compiled
def name_known(is_known: Any, names: Any) -> None:
    """List the nodes whose bits are set."""
    place = 0
    for k in range(len(is_known)):
        word = is_known[k]
        for bit in range(64):
            if word >> np.uint64(bit) & ONE:
                names[place] = 64 * k + bit
                place += 1


@compiled
def place_arcs(pairs: Any, count: int, known: Any, cursor: Any, ends: Any) -> None:
    """Put the right end of each arc, by its place among the known nodes, where its row has room."""
    is_known, before = known
    for k in range(len(pairs)):
        row, v = pairs[k, 0] // count, pairs[k, 1]
        lower = is_known[v >> 6] & ((ONE << np.uint64(v & 63)) - ONE)
        ends[cursor[row]] = before[v >> 6] + ones(lower)
        cursor[row] += 1


@compiled
def tidy_rows(start: Any, ends: Any) -> None:
    """Sort each row and keep each arc once; `start` is updated to match."""
    size, first = 0, 0
    for row in range(len(start) - 1):
        last = start[row + 1]
        ends[first:last].sort()
        start[row] = size
        for k in range(first, last):
            if k == first or ends[k] != ends[k - 1]:
                # Never ahead of k, and the arc before k is still what it was.
                ends[size] = ends[k]
                size += 1
        first = last
    start[len(start) - 1] = size


@compiled
def preference(u: int, v: int, turn: int, num_left: int) -> int:
    """Return how right node v ranks left node u in this round, 0 best; see `small`."""
    offset = turn + (v if v < num_left else v % num_left)  # division is slow
    offset -= num_left if offset >= num_left else 0
    return u - offset if u >= offset else u - offset + num_left


@compiled
def ask(arcs: Any, rows: Any, place: Any, ties: Any, state: Any) -> int:
    """Look at the arcs of some rows, and note for each right node which left node asks for it.

    Return how many right nodes are asked for, each for the first time in this search; `touched`
    lists them.
    """
    start, ends, names = arcs
    number, count = place
    turn, num_left = ties
    asker, touched = state
    size = 0
    for row in rows:
        u = row * count + number
        for k in range(start[row], start[row + 1]):
            end = ends[k]
            before = asker[end]
            if before == UNASKED:
                asker[end] = u
                touched[size] = end
                size += 1
            elif before >= 0:
                v = names[end]
                if preference(u, v, turn, num_left) < preference(before, v, turn, num_left):
                    asker[end] = u
    return size


@compiled
def write_asked(touched: Any, count: int, names: Any, known: Any, start: Any, asked: Any) -> None:
    """Make a message (right node, who asks, its root) of each node asked for; see `deal`."""
    asker, root = known
    for k in range(len(touched)):
        start[names[touched[k]] % count + 1] += 1
    for k in range(count):
        start[k + 1] += start[k]
    for k in range(len(touched)):
        v, u = names[touched[k]], asker[touched[k]]
        asker[touched[k]] = ASKED
        place = start[v % count]
        asked[place, 0], asked[place, 1], asked[place, 2] = v, u, root[u // count]
        start[v % count] += 1
    for k in range(count, 0, -1):
        start[k] = start[k - 1]
    start[0] = 0


@compiled
def hear(asked: Any, count: int, ties: Any, state: Any, fresh: Any, size: int) -> int:
    """Let right nodes not reached yet choose the left node that reaches them; list them."""
    parent, root, level = state
    turn, num_left, step = ties
    for k in range(len(asked)):
        v, u = asked[k, 0], asked[k, 1]
        place = v // count
        if level[place] < 0:
            fresh[size] = place
            size += 1
            level[place] = step
        elif level[place] < step or preference(u, v, turn, num_left) > preference(
            parent[place], v, turn, num_left
        ):
            continue
        parent[place], root[place] = u, asked[k, 2]
    return size


@compiled
def choose(offers: Any, count: int, chosen: Any) -> None:
    """Keep the lowest right node that is offered to each row; `chosen` is −1 at first."""
    for k in range(len(offers)):
        row, v = offers[k, 0] // count, offers[k, 1]
        if chosen[row] < 0 or v < chosen[row]:
            chosen[row] = v


@compiled
def deal(messages: Any, count: int, start: Any, dealt: Any) -> None:
    """Order messages by the shard that holds their first node; `start`, (shard + 1,), is 0."""
    for k in range(len(messages)):
        start[messages[k, 0] % count + 1] += 1
    for k in range(count):
        start[k + 1] += start[k]
    for k in range(len(messages)):
        owner = messages[k, 0] % count
        for column in range(messages.shape[1]):
            dealt[start[owner], column] = messages[k, column]
        start[owner] += 1
    for k in range(count, 0, -1):
        start[k] = start[k - 1]
    start[0] = 0
