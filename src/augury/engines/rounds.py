"""Graphs beyond 64 nodes a side become matchings, by the rounds of `small` and `words`.

The decisions are the same, pair for pair, with sets of rows that need more than a word. A graph has
one of two forms, and the rounds are written once for both: as words (`Packed`) where many pairs are
edges, or else as lists (`Listed`). What each form does in its own way is `nearest`, `taken` and
`searched`, chosen by the type of the graph when a loop is compiled. Large graphs with few edges are
left to `phases`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from augury.engines.lists import match_phases, transpose
from augury.engines.phases import Lists
from augury.engines.small import MOST_SIDE, WORD, is_dense
from augury.engines.words import ALL, ONE, ZERO, compiled, lowest, offset_of

ALONE = np.zeros(1, np.int64)
"""The number of a graph that is the only one."""
OCTET = 8
"""Rows of bytes that become one byte of each column."""


class Packed(NamedTuple):
    """A graph as words, and where the current search is."""

    columns: Any
    """(word, right): the rows of each column, 64 to a word."""
    levels: Any
    """(left + 2, word): the rows first reached at each level; at 0 those free in this round."""
    filled: Any
    """(word,): which words of a level have rows."""
    unseen: Any
    """(right,): the columns that the search has not reached."""
    octet: Any
    """(right,): scratch for packing."""

    @classmethod
    def of(cls, num_left: int, num_right: int) -> Packed:
        """Allocate."""
        num_words = -(-num_left // WORD)
        return cls(
            np.empty((num_words, num_right), np.uint64),
            np.empty((num_left + 2, num_words), np.uint64),
            np.empty(num_words, np.int64),
            np.empty(num_right, np.int32),
            np.empty(num_right, np.uint8),
        )


class Listed(NamedTuple):
    """A graph as lists, and where the current search is."""

    indptr: Any
    """(row + 1,): where the columns of each row start; see `phases.Lists`."""
    indices: Any
    mates: Any
    start: Any
    """(column + 2,): where the rows of each column start; see `phases.transpose`."""
    rows: Any
    level: Any
    """(row,): the level at which it is first reached; 0 where it is free in this round."""
    is_seen: Any
    """(column,): whether the search has reached it."""
    queue: Any
    """(row,): the rows reached, level by level."""
    first: Any
    """The number that the first column has in `indices`."""


class State(NamedTuple):
    """What the rounds know of the columns of a graph."""

    likes: Any
    """(column,): its number modulo the number of rows."""
    mate_of: Any
    """(column,): its row or −1."""
    waiting: Any
    """(column,): the free ones, in order."""
    parent: Any
    """(column,): the row that it chose, if it is on a path."""
    root: Any
    """(column,): where the path of a waiting one begins; −1 if there is none."""

    @classmethod
    def of(cls, num_right: int) -> State:
        """Allocate."""
        return cls(*np.empty((5, num_right), np.int32))


def nearest(graph: Any, v: int, level: int, offset: int) -> int:
    """Return the row of a level that a column prefers: from `offset` on, or the lowest; or −1."""
    return NEAREST[type(graph)](graph, v, level, offset)


def taken(graph: Any, rows: Any, count: int) -> None:
    """From the next round on these rows, so many, are not free."""
    TAKEN[type(graph)](graph, rows, count)


def searched(graph: Any, mates: Any, state: State, count: int) -> int:
    """Return the level that the first of `count` waiting columns is reached from; −1 if none is."""
    return SEARCHED[type(graph)](graph, mates, state, count)


@compiled
def match_rounds(graph: Any, mates: Any, state: State) -> int:
    """Match one graph: `mates` gets the column of each row or −1; return the number of rounds."""
    num_left, num_right = len(mates), len(state.mate_of)
    for u in range(num_left):
        mates[u] = -1
    if num_left == 0:
        return 0
    for v in range(num_right):
        state.mate_of[v] = -1
        state.likes[v] = v if v < num_left else state.likes[v - num_left]
    number, shift = _match_adjacent(graph, mates, state)
    count = 0
    for v in range(num_right):
        if state.mate_of[v] < 0:
            state.waiting[count] = v
            count += 1
    while count > max(0, num_right - num_left):
        level = searched(graph, mates, state, count)
        if level < 0:
            break
        _choose_paths(graph, mates, state, (count, level, shift))
        num_taken = _take_paths(mates, state, count)
        taken(graph, state.root, num_taken)
        count -= num_taken
        number, shift = number + 1, (shift + _step(num_left)) % num_left
    return number


@compiled
def _step(num_left: int) -> int:
    """Return by how many rows all preferences are rotated after a round; see `small.turn`."""
    return num_left * 5 // 8 + 1


@compiled
def _match_adjacent(graph: Any, mates: Any, state: State) -> Any:
    """Run all rounds of paths of three arcs: free columns choose free rows, in order.

    Return their number, and by how much preferences are rotated after them.
    """
    number, shift, count = 0, 0, len(state.mate_of)
    for v in range(count):
        state.waiting[v] = v
    while count:
        num_taken, kept = 0, 0
        for place in range(count):
            v = state.waiting[place]
            u = nearest(graph, v, 0, offset_of(state.likes[v], shift, len(mates)))
            if u >= 0 and mates[u] < 0:
                mates[u], state.mate_of[v] = v, u
                state.root[num_taken] = u
                num_taken += 1
            elif u >= 0:  # otherwise never again: free rows only get fewer
                state.waiting[kept] = v
                kept += 1
        taken(graph, state.root, num_taken)
        if num_taken:
            number, shift = number + 1, (shift + _step(len(mates))) % len(mates)
        count = kept
    return number, shift


@compiled
def _choose_paths(graph: Any, mates: Any, state: State, ends: Any) -> None:
    """From each of `count` waiting columns go back to a free row, its root, if it was reached."""
    count, level, shift = ends
    for place in range(count):
        u, v = -1, state.waiting[place]
        for k in range(level, -1, -1):
            u = nearest(graph, v, k, offset_of(state.likes[v], shift, len(mates)))
            if u < 0:  # only at first
                break
            state.parent[v] = u
            v = mates[u]
        state.root[place] = u


@compiled
def _take_paths(mates: Any, state: State, count: int) -> int:
    """Apply the path of the first column of each root; return how many, their roots in `root`."""
    kept, num_taken = 0, 0
    for place in range(count):
        u, v = state.root[place], state.waiting[place]
        if u < 0 or mates[u] >= 0:
            state.waiting[kept] = v
            kept += 1
            continue
        state.root[num_taken] = u
        num_taken += 1
        while v >= 0:
            u = state.parent[v]
            mates[u], state.mate_of[v], v = v, u, mates[u]
    return num_taken


@compiled
def _meets(columns: Any, v: int, rows: Any, words: Any) -> bool:
    """Whether a column has any of these rows, which are in these words."""
    k = 0
    while k < len(words) and not columns[words[k], v] & rows[words[k]]:
        k += 1
    return k < len(words)


def _nearest_packed(graph: Packed, v: int, level: int, offset: int) -> Any:
    columns, rows = graph.columns, graph.levels[level]
    word = offset // WORD
    found = columns[word, v] & rows[word] & (ALL << np.uint64(offset % WORD))
    if found:
        return word * WORD + np.int64(lowest(found))
    for _ in range(len(rows)):  # at last the first word once more
        word = word + 1 if word + 1 < len(rows) else 0
        found = columns[word, v] & rows[word]
        if found:
            return word * WORD + np.int64(lowest(found))
    return -1


def _nearest_listed(graph: Listed, v: int, level: int, offset: int) -> int:
    least = -1
    for k in range(graph.start[v], graph.start[v + 1]):
        u = graph.rows[k]
        if graph.level[u] == level:
            if u >= offset:
                return u
            least = u if least < 0 else least
    return least


def _taken_packed(graph: Packed, rows: Any, count: int) -> None:
    for k in range(count):
        graph.levels[0, rows[k] // WORD] ^= ONE << np.uint64(rows[k] % WORD)


def _taken_listed(graph: Listed, rows: Any, count: int) -> None:
    for k in range(count):
        graph.level[rows[k]] = -1


def _searched_packed(graph: Packed, mates: Any, state: State, count: int) -> int:
    num_unseen, level = 0, 0
    for v in range(len(state.mate_of)):
        if state.mate_of[v] >= 0:
            graph.unseen[num_unseen] = v
            num_unseen += 1
    while True:
        rows, following = graph.levels[level], graph.levels[level + 1]
        words = _filled(rows, graph.filled)
        for place in range(count if level else 0):  # those beside free rows are taken
            if _meets(graph.columns, state.waiting[place], rows, words):
                return level
        following[:] = ZERO
        kept = 0
        for place in range(num_unseen):
            v = graph.unseen[place]
            if _meets(graph.columns, v, rows, words):
                u = state.mate_of[v]
                following[u // WORD] |= ONE << np.uint64(u % WORD)
            else:
                graph.unseen[kept] = v
                kept += 1
        if kept == num_unseen:
            return -1
        num_unseen, level = kept, level + 1


@compiled
def _filled(rows: Any, filled: Any) -> Any:
    """Return which words are not 0."""
    count = 0
    for word in range(len(rows)):
        if rows[word]:
            filled[count] = word
            count += 1
    return filled[:count]


def _searched_listed(graph: Listed, mates: Any, state: State, count: int) -> int:
    end, place, level = 0, 0, 0
    for u in range(len(mates)):
        graph.level[u] = -1
        if mates[u] < 0:
            graph.level[u] = 0
            graph.queue[end] = u
            end += 1
    for v in range(len(graph.is_seen)):
        graph.is_seen[v] = False
    level_end = end
    while place < end:
        if place == level_end:
            level_end, level = end, level + 1
        u = graph.queue[place]
        place += 1
        for k in range(graph.indptr[u], graph.indptr[u + 1]):
            v = graph.indices[k] - graph.first
            if not graph.is_seen[v]:
                graph.is_seen[v] = True
                after = state.mate_of[v]
                if after < 0:
                    return level
                graph.level[after] = level + 1
                graph.queue[end] = after
                end += 1
    return -1


NEAREST = {Packed: _nearest_packed, Listed: _nearest_listed}
TAKEN = {Packed: _taken_packed, Listed: _taken_listed}
SEARCHED = {Packed: _searched_packed, Listed: _searched_listed}
overload(nearest, strict=False)(lambda graph, *_: NEAREST[graph.instance_class])
overload(taken, strict=False)(lambda graph, *_: TAKEN[graph.instance_class])
overload(searched, strict=False)(lambda graph, *_: SEARCHED[graph.instance_class])


@compiled
def _free_all(graph: Packed, num_left: int) -> None:
    rows = graph.levels[0]
    for word in range(len(rows)):
        rows[word] = ALL
    if num_left % WORD:
        rows[num_left // WORD] = ALL >> np.uint64(WORD - num_left % WORD)


@compiled
def match_packed(adjacency: Any, graph: Packed, state: State, mates: Any, rounds: Any) -> None:
    """Match graphs, (graph, left, right) bytes of 0 and 1.

    `mates`, (graph, left), gets the column of each row or −1, and `rounds`, (graph,), the number of
    rounds that applied a path.
    """
    for number in range(len(adjacency)):
        _pack(adjacency[number], graph)
        _free_all(graph, adjacency.shape[1])
        rounds[number] = match_rounds(graph, mates[number], state)


@compiled
def _pack(rows: Any, graph: Packed) -> None:
    """(left, right) bytes → the rows of each column; inner loops run over contiguous memory."""
    num_left, num_right = rows.shape
    octet = graph.octet
    for word in range(len(graph.columns)):
        columns = graph.columns[word]
        for v in range(num_right):
            columns[v] = ZERO
        for first in range(word * WORD, min(word * WORD + WORD, num_left), OCTET):
            for v in range(num_right):
                octet[v] = 0
            for u in range(min(first + OCTET, num_left) - 1, first - 1, -1):
                row = rows[u]
                for v in range(num_right):
                    octet[v] = np.uint8(octet[v] + octet[v] + row[v])
            for v in range(num_right):
                columns[v] |= np.uint64(octet[v]) << np.uint64(first % WORD)


@compiled
def _set_bits(edges: Any, graph: Packed, first: int, num_left: int) -> None:
    """(indptr, indices), columns counted from `first` → the rows of each column."""
    indptr, indices = edges
    for word in range(len(graph.columns)):
        for v in range(graph.columns.shape[1]):
            graph.columns[word, v] = ZERO
    for u in range(num_left):
        for k in range(indptr[u], indptr[u + 1]):
            graph.columns[u // WORD, indices[k] - first] |= ONE << np.uint64(u % WORD)


@compiled
def match_bits(edges: Any, graph: Packed, state: State, mates: Any, first: int) -> int:
    """Match one graph by words, given as lists, its columns counted from `first`."""
    _set_bits(edges, graph, first, len(mates))
    _free_all(graph, len(mates))
    return match_rounds(graph, mates, state)


@compiled
def match_listed(edges: Any, sides: Any, chosen: Any, room: Any, found: Any) -> None:
    """Match the chosen graphs by lists; see `match_large`. `room` is for the largest sizes."""
    indptr, indices = edges
    (start, rows, level, is_seen, queue), state = room
    mates, rounds = found
    for graph in chosen:
        low, end = sides[0][graph], sides[0][graph + 1]
        first, num_right = sides[1][graph], sides[1][graph + 1] - sides[1][graph]
        own = Listed(
            indptr[low : end + 1],
            indices,
            mates[low:end],
            start[: num_right + 2],
            rows,
            level[: end - low],
            is_seen[:num_right],
            queue,
            first,
        )
        transpose(own, first)
        for u in range(end - low):
            own.level[u] = 0
        columns = State(
            state.likes,
            state.mate_of[:num_right],
            state.waiting,
            state.parent,
            state.root,
        )
        rounds[graph] = match_rounds(own, own.mates, columns)


def room_for(num_left: int, num_right: int, num_edges: int) -> tuple[Any, State]:
    """Allocate for `match_listed`; nothing need be filled."""
    lists = (
        np.empty(num_right + 2, np.int64),
        np.empty(num_edges, np.int32),
        np.empty(num_left, np.int32),
        np.empty(num_right, np.bool_),
        np.empty(num_left, np.int32),
    )
    return lists, State.of(num_right)


def match_large(edges: Any, sides: Any, chosen: Any, mates: Any, rounds: Any) -> None:
    """Match the chosen graphs, each in the form that suits it; see `table.match_lists`.

    `edges` is (indptr, indices), both read-only, and `sides` (left, right).
    """
    counts = [np.diff(own)[chosen] for own in (*sides, edges[0][sides[0]])]
    is_listed = (np.maximum(*counts[:2]) <= MOST_SIDE) & ~is_dense(*counts)
    if is_listed.any():
        room = room_for(*(int(own[is_listed].max()) for own in counts))
        match_listed(edges, sides, chosen[is_listed], room, (mates, rounds))
    for graph in chosen[~is_listed].tolist():
        low, end = int(sides[0][graph]), int(sides[0][graph + 1])
        own, first = (edges[0][low : end + 1], edges[1]), int(sides[1][graph])
        rounds[graph] = match_one(own, int(sides[1][graph + 1]) - first, mates[low:end], first)


def match_one(edges: Any, num_right: int, mates: Any, first: int = 0) -> int:
    """Match one graph, its columns counted from `first`; return its rounds, or else its phases."""
    sizes = len(mates), num_right, int(edges[0][-1] - edges[0][0])
    if is_dense(*sizes):
        forms = Packed.of(len(mates), num_right), State.of(num_right)
        return match_bits(edges, *forms, mates, first)
    if max(sizes[:2]) > MOST_SIDE:
        return match_phases(Lists.of(edges, sizes, np.empty)._replace(mates=mates), first)
    rounds = np.empty(1, np.int32)
    sides = np.array([0, len(mates)]), np.array([first, first + num_right])
    match_listed(edges, sides, ALONE, room_for(*sizes), (mates, rounds))
    return int(rounds[0])
