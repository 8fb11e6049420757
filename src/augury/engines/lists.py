"""Sparse graphs become matchings: the decisions of `words`, over adjacency lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.engines.words import ONE, compiled, lowest, offset_of, turn


@compiled
def count_edges(adjacency: Any, degree: Any) -> None:
    """(row, right) bytes of 0 and 1 → the sum of each row, in `degree`."""
    for row in range(len(adjacency)):
        total = np.int64(0)
        for v in range(adjacency.shape[1]):
            total += adjacency[row, v]
        degree[row] = total


@compiled
def list_edges(words: Any, num_left: int, num_right: int, indices: Any) -> None:
    """(row, word), each of eight bytes of 0 and 1 → the columns of each row, in order.

    Columns of graph g are numbered from `g * num_right` on: graphs lie side by side.
    """
    place = 0
    for row in range(len(words)):
        first = row // num_left * num_right
        for k in range(words.shape[1]):
            word = words[row, k]
            while word:
                indices[place] = first + 8 * k + np.int64(lowest(word) >> np.uint64(3))
                place += 1
                word &= word - ONE


class Lists(NamedTuple):
    """Graphs side by side as lists, and the state of their nodes."""

    indptr: Any
    """(row + 1,): where the columns of each row start."""
    indices: Any
    """(edge,): the columns."""
    start: Any
    """(column + 1,): where the rows of each column start."""
    rows: Any
    """(edge,): the rows, in order."""
    mates: Any
    """(row,): its column or −1."""
    mate_of: Any
    """(column,): its row or −1."""
    level_of: Any
    """(row,): its level in the current search, plus a base unique to that search."""
    seen: Any
    """(column,): the base of the last search that reached it."""
    best: Any
    """(row,): the lowest column in a free row's subtree; −1 between rounds."""
    free_rows: Any
    free_columns: Any
    queue: Any
    """Rows by level during a search; afterwards free rows whose subtrees hold a path."""
    hits: Any
    """Free columns at the sink's level."""

    @classmethod
    def of(cls, indptr: Any, indices: Any, num_right: int) -> Lists:
        """Allocate for these graphs; `start` and `rows` are filled by `transpose`."""
        num_left = len(indptr) - 1
        return cls(
            indptr,
            indices,
            np.zeros(num_right + 2, np.int64),
            np.empty(len(indices), np.int32),
            np.full(num_left, -1, np.int32),
            np.full(num_right, -1, np.int32),
            np.zeros(num_left, np.int64),
            np.zeros(num_right, np.int64),
            np.full(num_left, -1, np.int32),
            np.empty(num_left, np.int32),
            np.empty(num_right, np.int32),
            np.empty(num_left, np.int32),
            np.empty(num_right, np.int32),
        )


@compiled
def transpose(indptr: Any, indices: Any, start: Any, rows: Any) -> None:
    """List the rows of each column; `start` holds 0 and has one more entry than it needs."""
    for k in range(len(indices)):
        start[indices[k] + 2] += 1
    for v in range(2, len(start)):
        start[v] += start[v - 1]
    # Now start[v + 1] is where column v starts; filling the column moves it to its end.
    for u in range(len(indptr) - 1):
        for k in range(indptr[u], indptr[u + 1]):
            place = start[indices[k] + 1]
            rows[place] = u
            start[indices[k] + 1] = place + 1


@compiled
def match_lists(lists: Lists, left_start: Any, right_start: Any, rounds: Any) -> None:
    """Match graphs of any size that lie side by side; each is run as if alone.

    The columns of a row are in any order. Rows and columns of graph g start at `left_start[g]` and
    `right_start[g]`; `lists.mates` gets the answer, `rounds[g]` the rounds that applied a path.
    """
    transpose(lists.indptr, lists.indices, lists.start, lists.rows)
    for graph in range(len(left_start) - 1):
        low, high = left_start[graph], left_start[graph + 1]
        first, last = right_start[graph], right_start[graph + 1]
        number, num_columns = _match_neighbours(lists, low, high, first, last)
        num_rows = 0
        for u in range(low, high):
            if lists.mates[u] < 0 and lists.indptr[u] < lists.indptr[u + 1]:
                lists.free_rows[num_rows] = u
                num_rows += 1
        base, least = number + 2, 1
        while num_rows and num_columns:
            level, num_hits = _search_lists(lists, num_rows, num_columns, base, least)
            if not num_hits:
                break
            shift = turn(number, high - low)
            _augment_lists(lists, num_hits, base, level, (low, high - low, first, shift))
            num_rows = _still_free(lists.free_rows, num_rows, lists.mates)
            num_columns = _still_free(lists.free_columns, num_columns, lists.mate_of)
            base, least = base + level + 2, level  # above everything that this search has set
            number += 1
        rounds[graph] = number


@compiled
def _match_neighbours(lists: Lists, low: int, high: int, first: int, last: int) -> Any:
    """Run all rounds of paths of three arcs; return their number and that of the free columns left.

    Meanwhile a row's level is 0 if it is free, or 1 + the round in which it was matched; those
    matched in this round were free when it began, and a column that prefers one of them waits.
    """
    num_pending, num_columns, number = 0, 0, 0
    for v in range(first, last):
        if lists.start[v] < lists.start[v + 1]:
            lists.free_columns[num_pending] = v
            num_pending += 1
    while num_pending:
        num_kept, is_new = 0, False
        place = (low, high - low, first, turn(number, high - low))
        for k in range(num_pending):
            v = lists.free_columns[k]
            u = _preferred(lists, v, place, 0, number + 1)
            if u < 0:  # never again: free rows only get fewer
                lists.hits[num_columns] = v
                num_columns += 1
            elif lists.level_of[u] == 0:
                lists.level_of[u] = number + 1
                lists.mates[u] = v
                lists.mate_of[v] = u
                is_new = True
            else:
                lists.free_columns[num_kept] = v
                num_kept += 1
        num_pending = num_kept
        number += is_new
    for k in range(num_columns):
        lists.free_columns[k] = lists.hits[k]
    return number, num_columns


@compiled
def _adjacent_columns(lists: Lists, num_columns: int, level: int) -> int:
    """Collect the free columns with a neighbour at this level in `hits`; return their number."""
    num_hits = 0
    for k in range(num_columns):
        v = lists.free_columns[k]
        for j in range(lists.start[v], lists.start[v + 1]):
            if lists.level_of[lists.rows[j]] == level:
                lists.hits[num_hits] = v
                num_hits += 1
                break
    return num_hits


@compiled
def _search_lists(lists: Lists, num_rows: int, num_columns: int, base: int, least: int) -> Any:
    """Set the levels of rows; return the last and how many free columns are adjacent to it."""
    for k in range(num_rows):
        lists.queue[k] = lists.free_rows[k]
        lists.level_of[lists.free_rows[k]] = base
    head, tail, level, num_hits = 0, num_rows, 0, 0
    while head < tail:
        if level >= least and num_columns < tail - head:
            # Few columns are free: asking them first may save the widest level.
            num_hits = _adjacent_columns(lists, num_columns, base + level)
            if num_hits:
                return level, num_hits
        end = tail
        for k in range(head, end):
            u = lists.queue[k]
            for j in range(lists.indptr[u], lists.indptr[u + 1]):
                v = lists.indices[j]
                if lists.seen[v] != base:
                    lists.seen[v] = base
                    row = lists.mate_of[v]
                    if row >= 0:
                        lists.level_of[row] = base + level + 1
                        lists.queue[tail] = row
                        tail += 1
                    else:
                        lists.hits[num_hits] = v
                        num_hits += 1
        if num_hits:
            return level, num_hits
        head = end
        level += 1
    return level, 0


@compiled
def _preferred(lists: Lists, v: int, place: Any, level: int, or_level: int) -> int:
    """Return the row of these levels that column v prefers, or −1.

    `place` is (first row, number of rows, first column, turn).
    """
    low, num_left, first, shift = place
    offset = low + offset_of((v - first) % num_left, shift, num_left)
    chosen = -1
    for j in range(lists.start[v], lists.start[v + 1]):
        u = lists.rows[j]
        if lists.level_of[u] == level or lists.level_of[u] == or_level:
            if u >= offset:
                return u
            if chosen < 0:
                chosen = u
    return chosen


@compiled
def _augment_lists(lists: Lists, num_hits: int, base: int, level: int, place: Any) -> None:
    """Apply the path to the lowest column of each subtree; subtrees are disjoint."""
    num_roots = 0
    for k in range(num_hits):
        v, u = np.int64(lists.hits[k]), np.int64(-1)
        for step in range(level, -1, -1):
            u = np.int64(_preferred(lists, v, place, base + step, base + step))
            v = np.int64(lists.mates[u])
        if lists.best[u] < 0:
            lists.queue[num_roots] = u
            num_roots += 1
            lists.best[u] = lists.hits[k]
        elif lists.hits[k] < lists.best[u]:
            lists.best[u] = lists.hits[k]
    for k in range(num_roots):
        v = np.int64(lists.best[lists.queue[k]])
        lists.best[lists.queue[k]] = -1
        for step in range(level, -1, -1):
            u = _preferred(lists, v, place, base + step, base + step)
            before = np.int64(lists.mates[u])
            lists.mates[u] = v
            lists.mate_of[v] = u
            v = before


@compiled
def _still_free(nodes: Any, count: int, mates: Any) -> int:
    kept = 0
    for k in range(count):
        if mates[nodes[k]] < 0:
            nodes[kept] = nodes[k]
            kept += 1
    return kept
