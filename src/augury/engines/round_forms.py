"""A graph as words or as lists, and what the rounds of `rounds` ask of it.

Words suit a graph in which many pairs are edges. What each form does in its own way is `nearest`,
`taken` and `searched`, chosen by the type of the graph when a loop is compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from augury.engines.small import WORD
from augury.engines.words import ALL, ONE, ZERO, compiled, lowest

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


@compiled
def _meets(columns: Any, v: int, rows: Any, words: Any) -> bool:
    """Whether a column has any of these rows, which are in these words."""
    k = 0
    while k < len(words) and not columns[words[k], v] & rows[words[k]]:
        k += 1
    return k < len(words)


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
def free_all(graph: Packed, num_left: int) -> None:
    """Begin with every row free."""
    rows = graph.levels[0]
    for word in range(len(rows)):
        rows[word] = ALL
    if num_left % WORD:
        rows[num_left // WORD] = ALL >> np.uint64(WORD - num_left % WORD)


@compiled
def pack(rows: Any, graph: Packed) -> None:
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
def set_bits(edges: Any, graph: Packed, first: int, num_left: int) -> None:
    """(indptr, indices), columns counted from `first` → the rows of each column."""
    indptr, indices = edges
    for word in range(len(graph.columns)):
        for v in range(graph.columns.shape[1]):
            graph.columns[word, v] = ZERO
    for u in range(num_left):
        for k in range(indptr[u], indptr[u + 1]):
            graph.columns[u // WORD, indices[k] - first] |= ONE << np.uint64(u % WORD)
