"""A few small graphs become matchings in plain Python, without numba; and the ties of their rounds.

These are the rounds of `words` and `rounds`, with integers for their words, pair for pair; for
large graphs with few edges the phases of `phases`, over lists instead of arrays.

A network takes any weights from 1 to 15, and `ford_fulkerson` draws them at random. Drawing would
cost more than a compiled search, so the compiled engines use a fixed function of arc and round.
Given the same weights (`Settings.weights`), `ford_fulkerson` makes the network take the same
decisions, which is how the engines are tested. In a round column v prefers row
`offset = (v + turn) mod rows` and those after it (weight 1) to those before it (weight 2); all
other arcs weigh 1. Ties fall to the lowest arc, by the network's own rule. So different columns
prefer different rows, and a search finds many disjoint paths where equal weights would send all
columns to row 0. Where there are no rounds, graphs are matched path by path (see `phases`), and
flows have no such rule (see `flows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import WeightArray
from augury.engines.phases import Lists, match_phases

WORD = 64
"""Bits of a machine word."""
MOST_SIDE = 1024
"""Nodes a side up to which all graphs are matched in rounds."""
SPARSE = 32
"""Larger ones are if at least one pair in this many is an edge; such graphs are kept as words."""


def is_dense(num_left: Any, num_right: Any, num_edges: Any) -> Any:
    """Whether words are quicker than lists; also of arrays."""
    return num_edges * SPARSE >= num_left * num_right


def has_rounds(num_left: int, num_right: int, num_edges: int) -> bool:
    """Whether such a graph is matched in rounds: the same ones on every engine."""
    return max(num_left, num_right) <= MOST_SIDE or is_dense(num_left, num_right, num_edges)


def match_small(
    num_left: int, num_right: int, left: Sequence[int], right: Sequence[int]
) -> tuple[list[int], int]:
    """Match one graph, its edges sorted; return the column of each row or −1, and the rounds."""
    if has_rounds(num_left, num_right, len(right)):
        columns = [0] * num_right
        for u, v in zip(left, right, strict=True):
            columns[v] |= 1 << u
        return _match_rounds(num_left, columns)
    graph = listed(num_left, num_right, left, right)
    return graph.mates, match_phases(graph, 0)


def listed(num_left: int, num_right: int, left: Sequence[int], right: Sequence[int]) -> Lists:
    """Return the lists of a graph whose edges are sorted."""
    indptr = [0] * (num_left + 1)
    for u in left:
        indptr[u + 1] += 1
    for u in range(num_left):
        indptr[u + 1] += indptr[u]
    sizes = num_left, num_right, len(right)
    return Lists.of((indptr, right), sizes, lambda size, _: [0] * size)


def _match_rounds(num_left: int, columns: list[int]) -> tuple[list[int], int]:
    """Match a graph given as the rows of each column; see `words.match_words`."""
    mates, mate_bit = [-1] * num_left, [0] * len(columns)
    rounds, free = _match_adjacent(num_left, columns, mates, mate_bit)
    waiting = [v for v, bit in enumerate(mate_bit) if not bit and columns[v]]
    while free and waiting:
        levels, hits = _search(columns, mate_bit, free, waiting)
        if not hits:
            break
        shift = turn(rounds, num_left)
        roots = 0
        paths = list[list[tuple[int, int]]]()
        for end in hits:
            path, v, bit = [], end, 0
            for reached in reversed(levels):
                bit = _chosen(columns[v] & reached, (v + shift) % num_left)
                u = bit.bit_length() - 1
                path.append((u, v))
                v = mates[u]
            if not roots & bit:  # the first column of this free row's subtree
                roots |= bit
                paths.append(path)
                waiting.remove(end)
        for u, v in (pair for path in paths for pair in path):
            mates[u], mate_bit[v] = v, 1 << u
        free ^= roots
        rounds += 1
    return mates, rounds


def _chosen(rows: int, offset: int) -> int:
    """Return the lowest of these rows from `offset` on, or else the lowest, as a bit."""
    later = rows >> offset << offset or rows
    return later & -later


def _match_adjacent(
    num_left: int, columns: list[int], mates: list[int], mate_bit: list[int]
) -> tuple[int, int]:
    """Run all rounds of paths of three arcs; return their number and the free rows."""
    rounds, free = 0, (1 << num_left) - 1
    pending = range(len(columns))
    while pending:
        taken, kept, shift = 0, list[int](), turn(rounds, num_left)
        for v in pending:
            rows = columns[v] & free
            if rows:
                bit = _chosen(rows, (v + shift) % num_left)
                if taken & bit:
                    kept.append(v)
                else:
                    taken |= bit
                    mates[bit.bit_length() - 1], mate_bit[v] = v, bit
        rounds += taken > 0
        free ^= taken
        pending = kept
    return rounds, free


def _search(
    columns: list[int], mate_bit: list[int], free: int, waiting: list[int]
) -> tuple[list[int], list[int]]:
    """Return the rows first reached at each level, and the free columns adjacent to the last."""
    levels, reached = [free], free
    while True:
        hits = [v for v in waiting if columns[v] & reached]
        after = reached
        if not hits:
            for rows, bit in zip(columns, mate_bit, strict=True):
                if rows & reached:
                    after |= bit
        if after == reached:
            return levels, hits
        levels.append(after & ~reached)
        reached = after


def turn(number: int, num_left: int) -> int:
    """Return by how many rows all preferences are rotated in this round."""
    # About the golden ratio, so that consecutive rounds start far apart.
    return (number * (num_left * 5 // 8 + 1)) % num_left if num_left else 0


def turning_weights(batch: Batch, number: int) -> WeightArray:
    """Return the weights of a round for networks made by `FlowNetwork.from_bipartite`."""
    _, start = batch.by_sender
    num_left = start[batch.source + 1] - start[batch.source]
    rows = np.maximum(num_left, 1)
    shift = np.array([turn(number, count) for count in rows.tolist()], np.int64)
    # Preferences are computed per node, not per arc.
    graph = batch.node_graph
    place = np.arange(batch.num_nodes) - batch.node_start[graph] - 1
    column = place - num_left[graph]
    # Only columns and the sink have an offset, and only rows lie below it.
    offset = np.where(column >= 0, (column % rows[graph] + shift[graph]) % rows[graph], -1)
    place, offset = place.astype(np.int32), offset.astype(np.int32)
    return (place[batch.sender] < offset[batch.receiver]).view(np.uint8) + np.uint8(1)
