"""Large graphs with few edges become matchings: `phases`, compiled; and how to list edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from augury.engines import phases
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
