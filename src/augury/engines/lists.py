"""Sparse graphs beyond 64 nodes a side become matchings: `phases`, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from augury.engines import phases
from augury.engines.phases import Lists
from augury.engines.words import ONE, compiled, lowest

for _part in phases.PARTS:
    register_jitable(_part)
match_phases: Any = compiled(phases.match_phases)
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


def match_one(edges: Any, num_left: int, num_right: int) -> Any:
    """Match a single graph; return its mates and, in an array, its phases."""
    graph = Lists.of(edges, (num_left, num_right, len(edges[1])), np.empty)
    return graph.mates, np.array([match_phases(graph, 0)], np.int32)


def match_large(edges: Any, sides: Any, chosen: Any, mates: Any, rounds: Any) -> None:
    """Match the chosen graphs; see `table.match_lists`.

    `edges` is (indptr, indices), both read-only, and `sides` (left, right).
    """
    indptr, _ = edges
    parts = tuple(np.diff(part)[chosen] for part in (*sides, indptr[sides[0]]))
    rows, columns, count = (int(part.max()) for part in parts)
    room = Lists.of(edges, (rows, columns, count), np.empty)
    for graph, rows, columns in zip(chosen.tolist(), *parts[:2], strict=True):
        low, first = sides[0][graph], sides[1][graph]
        part = room._replace(
            indptr=indptr[low : low + rows + 1],
            mates=mates[low : low + rows],
            mate_of=room.mate_of[:columns],
            start=room.start[: columns + 2],
            head=room.head[: rows + 1],
        )
        rounds[graph] = match_phases(part, int(first))
