"""Checks of large answers and of many graphs, compiled by numba; importing this module needs it.

Each does what a few lines of NumPy do elsewhere, in half the time or less.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from augury.classical import ways
from augury.compiled import compiled

WORD = 64
ZERO, ONE = np.uint64(0), np.uint64(1)

for _part in ways.PARTS:
    register_jitable(_part)
settle_first: Any = compiled(nogil=True, error_model="numpy", _nrt=False)(ways.settle)


@compiled(nogil=True, error_model="numpy")
def are_matching(left: Any, right: Any, mates: Any, is_taken: Any) -> bool:
    """Tell whether mates, none out of range, are along edges and share no right node.

    No edge occurs twice; `is_taken`, (right,), is False everywhere.
    """
    size, found = 0, 0
    for u in range(len(mates)):
        v = mates[u]
        if v >= 0:
            if is_taken[v]:
                return False
            is_taken[v] = True
            size += 1
    for edge in range(len(left)):
        found += mates[left[edge]] == right[edge]
    return found == size


@compiled(nogil=True, error_model="numpy")
def prove_matchings(edges: Any, sides: Any, mates: Any, room: Any, found: Any) -> None:  # noqa: C901  # one pass
    """Find and check a cover for the matching of each graph; see `proofs.matchings_of`.

    `edges` is (indptr, indices) and `sides` (left, right) of a `BipartiteBatch`, `room` two arrays
    of scratch, (row,) and (column,). `found` gets sizes, is_proven, in_left and in_right.
    """
    indptr, indices = edges
    left, right = sides
    queue, mate = room
    sizes, is_proven, in_left, in_right = found
    for graph in range(len(sizes)):
        low, high, first, last = left[graph], left[graph + 1], right[graph], right[graph + 1]
        for v in range(first, last):
            mate[v] = -1
            in_right[v] = False
        size, num_pairs, is_legal = 0, 0, True
        for u in range(low, high):
            in_left[u] = True
            if mates[u] >= 0:
                size += 1
                v = first + mates[u]
                if v >= last or mate[v] >= 0:
                    is_legal = False
                else:
                    mate[v] = u
            for k in range(indptr[u], indptr[u + 1]):
                num_pairs += indices[k] == mates[u]
        sizes[graph] = size
        is_proven[graph] = is_legal and num_pairs == size
        # If every row has a mate, the rows are a cover.
        if not is_proven[graph] or size == high - low:
            continue
        end = 0
        for u in range(low, high):
            if mates[u] < 0:
                in_left[u] = False
                queue[end] = u
                end += 1
        at = 0
        while at < end:
            u = queue[at]
            at += 1
            for k in range(indptr[u], indptr[u + 1]):
                v = first + indices[k]
                if not in_right[v]:
                    in_right[v] = True
                    if mate[v] >= 0:
                        in_left[mate[v]] = False
                        queue[end] = mate[v]
                        end += 1
        num_cover, num_missed = 0, 0
        for v in range(first, last):
            num_cover += in_right[v]
        for u in range(low, high):
            num_cover += in_left[u]
            if not in_left[u]:
                for k in range(indptr[u], indptr[u + 1]):
                    num_missed += not in_right[first + indices[k]]
        is_proven[graph] = num_cover == size and num_missed == 0


GOOD, MIXED, BAD = 0, 1, 2
"""States of a graph: its edges are sorted; they are not, or repeat; they are invalid."""


@compiled(nogil=True, error_model="numpy")
def survey_edges(start: Any, ends: Any, counts: Any, free: int, state: Any) -> None:
    """Tell the state of each graph; see `inputs.packed`.

    Where `counts`, of left and right nodes, is −1, it becomes the largest number plus one. A graph
    may have `free` nodes, and 16 more for each edge.
    """
    left, right = ends
    num_left, num_right = counts
    for graph in range(len(state)):
        first, last = start[graph], start[graph + 1]
        most_left, most_right, before, after = -1, -1, -1, -1
        is_sorted, is_known = True, True
        for k in range(first, last):
            u, v = left[k], right[k]
            is_known &= u >= 0 and v >= 0
            is_sorted &= u > before or (u == before and v > after)
            most_left, most_right = max(most_left, u), max(most_right, v)
            before, after = u, v
        if num_left[graph] == -1:
            num_left[graph] = most_left + 1
        if num_right[graph] == -1:
            num_right[graph] = most_right + 1
        most = free + 16 * (last - first)
        is_known &= most_left < num_left[graph] <= most and most_right < num_right[graph] <= most
        state[graph] = (GOOD if is_sorted else MIXED) if is_known else BAD


@compiled(nogil=True, error_model="numpy")
def lay_edges(start: Any, ends: Any, sides: Any, state: Any, room: Any, rows: Any) -> int:  # noqa: C901  # one pass
    """Fill `rows`, the indptr and indices of a `BipartiteBatch`; returns the number of edges.

    A bad graph has no nodes. `room` is scratch: places by node, then rows and columns of edges.
    """
    left, right = ends
    low, first = sides
    place, own_rows, own_columns = room
    indptr, indices = rows
    end = 0
    for graph in range(len(state)):
        num_left = low[graph + 1] - low[graph]
        begin, count = start[graph], start[graph + 1] - start[graph]
        if state[graph] == BAD:
            continue
        if state[graph] == MIXED:
            # Sorted by column and then, keeping that order, by row.
            for v in range(first[graph + 1] - first[graph] + 1):
                place[v] = 0
            for k in range(begin, begin + count):
                place[right[k] + 1] += 1
            for v in range(first[graph + 1] - first[graph]):
                place[v + 1] += place[v]
            for k in range(begin, begin + count):
                at = place[right[k]]
                place[right[k]] += 1
                own_rows[at], own_columns[at] = left[k], right[k]
            for u in range(num_left + 1):
                place[u] = 0
            for k in range(count):
                place[own_rows[k] + 1] += 1
            for u in range(num_left):
                place[u + 1] += place[u]
            for k in range(count):
                at = count + place[own_rows[k]]
                place[own_rows[k]] += 1
                own_rows[at], own_columns[at] = own_rows[k], own_columns[k]
        row, before = 0, -1
        for k in range(count):
            if state[graph] == GOOD:
                u, v = left[begin + k], right[begin + k]
            else:
                u, v = own_rows[count + k], own_columns[count + k]
                if u < row and v == before:  # the same edge again
                    continue
            while row <= u:
                indptr[low[graph] + row] = end
                row += 1
            indices[end] = v
            before = v
            end += 1
        while row < num_left:
            indptr[low[graph] + row] = end
            row += 1
    indptr[len(indptr) - 1] = end
    return end


@compiled(nogil=True, error_model="numpy")
def survey_small(start: Any, ends: Any, counts: Any, is_small: Any) -> None:
    """Tell which graphs have at most 64 nodes a side, and edges between these.

    Where `counts`, of left and right nodes, is −1, it becomes the largest number plus one; for a
    graph that is not small, it becomes 0.
    """
    left, right = ends
    num_left, num_right = counts
    for graph in range(len(is_small)):
        most_left, most_right = ZERO, ZERO
        for k in range(start[graph], start[graph + 1]):
            most_left = max(most_left, np.uint64(left[k]))  # negative numbers become large
            most_right = max(most_right, np.uint64(right[k]))
        some = np.int64(start[graph] < start[graph + 1])
        own_left = min(most_left, np.uint64(WORD)) + some
        own_right = min(most_right, np.uint64(WORD)) + some
        if num_left[graph] == -1:
            num_left[graph] = own_left
        if num_right[graph] == -1:
            num_right[graph] = own_right
        is_small[graph] = (
            own_left <= num_left[graph] <= WORD and own_right <= num_right[graph] <= WORD
        )
        if not is_small[graph]:
            num_left[graph] = num_right[graph] = 0


@compiled(nogil=True, error_model="numpy")
def prove_small(start: Any, ends: Any, counts: Any, mates: Any, found: Any) -> None:  # noqa: C901  # one pass
    """Find and check a cover for the matching of each graph that `survey_small` has found small.

    `mates`, (row,), are those of all their rows. `found` gets sizes and is_proven.
    """
    left, right = ends
    num_left, num_right = counts
    sizes, is_proven = found
    columns_of = np.zeros(WORD, np.uint64)
    low = 0
    for graph in range(len(sizes)):
        count = num_left[graph]
        mate = mates[low : low + count]
        low += count
        for u in range(count):
            columns_of[u] = ZERO
        if count:
            for k in range(start[graph], start[graph + 1]):
                columns_of[left[k]] |= ONE << np.uint64(right[k])
        size, taken, beyond, is_legal = 0, ZERO, ZERO, True
        for u in range(count):
            if mate[u] < 0:
                beyond |= ONE << np.uint64(u)
                continue
            column = ONE << np.uint64(mate[u])
            is_legal &= mate[u] < num_right[graph]
            is_legal &= columns_of[u] & column != ZERO and taken & column == ZERO
            taken |= column
            size += 1
        sizes[graph] = size
        is_proven[graph] = is_legal
        if beyond == ZERO or not is_legal:  # if every row has a mate, the rows are a cover
            continue
        # The rows and columns on alternating paths from the free rows.
        hit, before = ZERO, ONE
        while before != hit:
            before = hit
            for u in range(count):
                if beyond >> np.uint64(u) & ONE:
                    hit |= columns_of[u]
            for u in range(count):
                if mate[u] >= 0 and hit >> np.uint64(mate[u]) & ONE:
                    beyond |= ONE << np.uint64(u)
        num_cover, missed = 0, ZERO
        for u in range(count):
            if beyond >> np.uint64(u) & ONE:
                missed |= columns_of[u] & ~hit
            else:
                num_cover += 1
        for v in range(num_right[graph]):
            num_cover += hit >> np.uint64(v) & ONE
        is_proven[graph] = num_cover == size and missed == ZERO


@compiled(nogil=True, error_model="numpy")
def list_pairs(mates: Any, first: Any, left: Any, right: Any) -> None:
    """Fill `left` and `right` with the pairs of each graph; both have room for one more."""
    end = 0
    for graph in range(len(first) - 1):
        low = first[graph]
        for row in range(low, first[graph + 1]):
            left[end] = row - low
            right[end] = mates[row]  # overwritten by the next one if there is no mate
            end += mates[row] >= 0
