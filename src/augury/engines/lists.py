"""Sparse graphs beyond 64 nodes a side become matchings: `phases`, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from augury.engines import phases
from augury.engines.phases import Lists
from augury.engines.words import ONE, compiled, lowest

for _function in phases.PARTS:
    register_jitable(_function)
match_phases: Any = register_jitable(phases.match_phases)
transpose: Any = compiled(phases.transpose)


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


@compiled
def list_rows(left: Any, indptr: Any) -> None:
    """(edge,) rows in ascending order → where the edges of each row start."""
    row = 0
    for k in range(len(left)):
        while row <= left[k]:
            indptr[row] = k
            row += 1
    while row < len(indptr):
        indptr[row] = len(left)
        row += 1


def room_for(edges: Any, sides: Any, chosen: Any) -> Lists:
    """Return lists with all these edges, and room for the largest of the chosen graphs."""
    left, right = sides
    parts = np.diff(left), np.diff(right), np.diff(edges[0][left])
    rows, columns, count = (int(part[chosen].max()) for part in parts)
    return Lists.of(edges, (rows, columns, count), np.empty)


@compiled
def match_large(lists: Lists, sides: Any, chosen: Any, mates: Any, rounds: Any) -> None:
    """Match those graphs that are `chosen`; see `table.match_lists`.

    `lists` has all the edges, and room for the largest of these graphs; `sides` is (left, right).
    """
    left, right = sides
    for graph in chosen:
        low, high = left[graph], left[graph + 1]
        first, count = right[graph], right[graph + 1] - right[graph]
        part = Lists(
            lists.indptr[low : high + 1],
            lists.indices,
            mates[low:high],
            lists.mate_of[:count],
            lists.start[: count + 2],
            lists.rows,
            lists.key,
            lists.dist,
            lists.is_seen,
            lists.cursor,
            lists.queue,
            lists.head[: high - low + 1],
            lists.after,
            lists.path,
        )
        rounds[graph] = match_phases(part, first)
