"""Graphs beyond 64 nodes a side become matchings, by the rounds of `small` and `words`.

The decisions are the same, pair for pair, with sets of rows that need more than a word. The rounds
are written once for both forms of a graph, words and lists (`round_forms`). Large graphs with few
edges are left to `phases`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from augury.engines.lists import match_phases, transpose
from augury.engines.phases import Lists
from augury.engines.round_forms import (
    Listed,
    Packed,
    State,
    free_all,
    nearest,
    pack,
    searched,
    set_bits,
    taken,
)
from augury.engines.small import MOST_SIDE, is_dense
from augury.engines.words import compiled, offset_of

ALONE = np.zeros(1, np.int64)
"""The number of a graph that is the only one."""


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
def match_packed(adjacency: Any, graph: Packed, state: State, mates: Any, rounds: Any) -> None:
    """Match graphs, (graph, left, right) bytes of 0 and 1.

    `mates`, (graph, left), gets the column of each row or −1, and `rounds`, (graph,), the number of
    rounds that applied a path.
    """
    for number in range(len(adjacency)):
        pack(adjacency[number], graph)
        free_all(graph, adjacency.shape[1])
        rounds[number] = match_rounds(graph, mates[number], state)


@compiled
def match_bits(edges: Any, graph: Packed, state: State, mates: Any, first: int) -> int:
    """Match one graph by words, given as lists, its columns counted from `first`."""
    set_bits(edges, graph, first, len(mates))
    free_all(graph, len(mates))
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
