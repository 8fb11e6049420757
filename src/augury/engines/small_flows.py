"""A small flow network becomes a maximum flow: the phases of `flows`, in plain Python.

It takes the same paths as the compiled loop, so which of the two runs is a matter of speed alone:
this one needs neither numba nor its start-up, and finishes a network of ten nodes before a compiled
function would have been called.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from augury.classical.arrays import WideArray
from augury.classical.graph import Arcs
from augury.classical.network import FlowNetwork

SMALL = 2**9
"""Arcs, reverse ones included, up to which a flow is found in phases; 0.15 ms in Python."""

Log = Callable[[list[int], int], object]
"""Called with each path, as its arcs, and what it carries."""


def push_flow(network: FlowNetwork | Arcs, log: Log | None = None) -> tuple[WideArray, int]:
    """Return the residual of a maximum flow, and the rounds: searches that led to a path."""
    head, residual = network.receiver.tolist(), network.capacity.tolist()
    ends = network.source, network.sink
    rounds = push_phases(leaving_of(network.num_nodes, head), head, residual, ends, log)
    return np.array(residual, np.int64), rounds


def leaving_of(num_nodes: int, head: list[int]) -> list[list[int]]:
    """Return the arcs that leave each node, in order."""
    leaving: list[list[int]] = [[] for _ in range(num_nodes)]
    for arc, node in enumerate(head):
        leaving[node].append(arc ^ 1)
    return leaving


def push_phases(
    leaving: list[list[int]],
    head: list[int],
    residual: list[int],
    ends: tuple[int, int],
    log: Log | None = None,
) -> int:
    """Make this the residual of a maximum flow; return the rounds."""
    rounds = 0
    while True:
        level = _levels(leaving, head, residual, ends)
        if level[ends[0]] < 0:
            return rounds
        _take_paths(leaving, head, residual, ends, level, log)
        rounds += 1


def _levels(
    leaving: list[list[int]], head: list[int], residual: list[int], ends: tuple[int, int]
) -> list[int]:
    """Return the distance to the sink of all nodes nearer than the source, −1 for others."""
    source, sink = ends
    level = [-1] * len(leaving)
    level[sink] = 0
    queue = [sink]
    for node in queue:
        farther = level[node] + 1
        for arc in leaving[node]:
            other = head[arc]
            if level[other] < 0 and residual[arc ^ 1]:
                level[other] = farther
                if other == source:
                    return level
                queue.append(other)
    return level


def _take_paths(
    leaving: list[list[int]],
    head: list[int],
    residual: list[int],
    ends: tuple[int, int],
    level: list[int],
    log: Log | None,
) -> None:
    """Fill paths on which each arc leads one level nearer, lowest arcs first, until none is left.

    A path is extended by the lowest arc that may lead on. At the sink it carries what it can, and
    goes on from before its first full arc; in a dead end, from before its last arc, which is then
    given up for this phase.
    """
    node, sink = ends
    waiting = [arcs[::-1] for arcs in leaving]
    path: list[int] = []
    while True:
        arcs, nearer = waiting[node], level[node] - 1
        while arcs:
            arc = arcs[-1]
            if residual[arc] and level[head[arc]] == nearer:
                path.append(arc)
                node = head[arc]
                break
            arcs.pop()
        else:
            if not path:
                return
            node = head[path.pop() ^ 1]
            waiting[node].pop()
            continue
        if node == sink:
            amount = min([residual[arc] for arc in path])
            if log is not None:
                log(path.copy(), amount)
            for arc in path:
                residual[arc] -= amount
                residual[arc ^ 1] += amount
            full = next(k for k, arc in enumerate(path) if not residual[arc])
            node = head[path[full] ^ 1]
            del path[full:]
