"""Flow networks become maximum flows: a proven network's decisions, with the weights of `ties`.

What the proven cells compute bit by bit, the bottleneck and the subtraction, is one integer
operation each. For the rest see `words`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.engines import ties
from augury.engines.words import ONE, compiled

MULTIPLIER, TWENTY, HALF = ties.MULTIPLIER, np.uint64(20), np.uint64(32)
MAX_WEIGHT = np.uint64(ties.MAX_WEIGHT)


class Arcs(NamedTuple):
    """Flow networks side by side; see `classical.batch`."""

    sender: Any
    receiver: Any
    residual: Any
    order: Any
    """(arc,): the arcs, sorted by sender."""
    start: Any
    """(node + 1,): where the arcs of each node start among these."""
    level_of: Any
    """(node,): its level in the current search, plus a base unique to that search."""
    queue: Any
    entry: Any
    """(node,): the arc into the sink chosen for the subtree of a child of the source, or −1."""


@compiled
def weight_of(number: int, arc: int) -> np.int64:
    """Return the weight of an arc, as `ties.mixed` does."""
    word = ((np.uint64(arc) << TWENTY) + np.uint64(number)) * MULTIPLIER
    word = (word ^ (word >> HALF)) * MULTIPLIER
    return np.int64((word >> HALF) % MAX_WEIGHT) + 1


@compiled
def push_flows(arcs: Arcs, arc_start: Any, source: Any, sink: Any, rounds: Any) -> None:
    """Turn the residual of each network into that of a maximum flow.

    At the start `arcs.entry` holds −1 and `arcs.level_of` 0. The arcs of graph g start at
    `arc_start[g]`, and `rounds[g]` gets the number of rounds that applied a path.
    """
    for graph in range(len(source)):
        number, base = 0, 1
        ends = (source[graph], sink[graph], arc_start[graph])
        while True:
            level = _search_arcs(arcs, ends, base)
            if level < 0:
                break
            _augment_arcs(arcs, ends, base, level, number)
            base += level + 2
            number += 1
        rounds[graph] = number


@compiled
def _search_arcs(arcs: Arcs, ends: Any, base: int) -> int:
    """Set the levels of nodes; return that of the nodes before the sink, −1 if it is unreached.

    A network's levels stay below those of its next search, and networks share no node.
    """
    arcs.queue[0] = ends[0]
    arcs.level_of[ends[0]] = base
    head, tail, level = 0, 1, 0
    while head < tail:
        end = tail
        for k in range(head, end):
            node = arcs.queue[k]
            for j in range(arcs.start[node], arcs.start[node + 1]):
                arc = arcs.order[j]
                other = arcs.receiver[arc]
                if arcs.residual[arc] > 0 and arcs.level_of[other] < base:
                    if other == ends[1]:
                        return level
                    arcs.level_of[other] = base + level + 1
                    arcs.queue[tail] = other
                    tail += 1
        head = end
        level += 1
    return -1


@compiled
def _best_arc(arcs: Arcs, node: int, level: int, first: int, number: int) -> int:
    """Return the node's usable arc of least weight from this level, the lowest among equals."""
    chosen, least = -1, MAX_WEIGHT + ONE
    for j in range(arcs.start[node], arcs.start[node + 1]):
        arc = arcs.order[j] ^ 1
        if arcs.residual[arc] > 0 and arcs.level_of[arcs.sender[arc]] == level:
            weight = np.uint64(weight_of(number, arc - first))
            if weight < least:
                chosen, least = arc, weight
    return chosen


@compiled
def _augment_arcs(arcs: Arcs, ends: Any, base: int, level: int, number: int) -> None:
    """Push what each path can carry; the sink's own choice comes first, then the lowest arcs."""
    _, sink, first = ends
    own = _best_arc(arcs, sink, base + level, first, number)
    num_roots = 0
    for j in range(arcs.start[sink] - 1, arcs.start[sink + 1]):
        entry = own if j < arcs.start[sink] else arcs.order[j] ^ 1
        if arcs.residual[entry] > 0 and arcs.level_of[arcs.sender[entry]] == base + level:
            root = np.int64(arcs.sender[entry])
            for step in range(level - 1, 0, -1):
                root = np.int64(arcs.sender[_best_arc(arcs, root, base + step, first, number)])
            if arcs.entry[root] < 0:
                arcs.entry[root] = entry
                arcs.queue[num_roots] = root
                num_roots += 1
    for k in range(num_roots):
        entry = np.int64(arcs.entry[arcs.queue[k]])
        arcs.entry[arcs.queue[k]] = -1
        amount, arc = arcs.residual[entry], entry
        for step in range(level - 1, -1, -1):
            arc = np.int64(_best_arc(arcs, arcs.sender[arc], base + step, first, number))
            amount = min(amount, arcs.residual[arc])
        arc = entry
        for step in range(level - 1, -2, -1):
            # Find the arc before this one while the residuals are still those of the search.
            before = np.int64(-1)
            if step >= 0:
                before = np.int64(_best_arc(arcs, arcs.sender[arc], base + step, first, number))
            arcs.residual[arc] -= amount
            arcs.residual[arc ^ 1] += amount
            arc = before
