"""A small graph with costs becomes a best answer: the network's phases, in plain Python.

As in `classical.least_cost`, maximum flows over tight arcs alternate with steps of the prices. All
steps between two of these flows are made at once: they come to the distances from the source, by
reduced costs. Each path is one that the network takes, given weights (see `small_flows`), and since
the distances are the same after every maximum flow, the prices are its own, whatever its weights.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from augury.classical.answer import Answer
from augury.classical.arrays import WideArray
from augury.classical.first import first_in_order
from augury.classical.graph import Arcs, BipartiteGraph
from augury.classical.least_cost import Priced, first_stage
from augury.engines.small_flows import SMALL, leaving_of, push_phases

LARGEST = 2**53
"""Capacities and supplies up to which those at one node of a small network fit 62 bits together."""


class Network(NamedTuple):
    """Arcs in pairs and the state of a run, as lists."""

    head: list[int]
    leaving: list[list[int]]
    """(node,): the arcs that leave it, in order."""
    residual: list[int]
    reduced: list[int]
    """(arc,): its cost plus its sender's price less its receiver's."""
    price: list[int]
    ends: tuple[int, int]

    @classmethod
    def of(cls, arcs: Arcs, cost: WideArray, price: WideArray) -> Network:
        """Start from the arcs' capacities and from these prices."""
        head = arcs.receiver.tolist()
        reduced = cost + price[arcs.sender] - price[arcs.receiver]
        lists = arcs.capacity.tolist(), reduced.tolist(), price.tolist()
        return cls(head, leaving_of(arcs.num_nodes, head), *lists, (arcs.source, arcs.sink))


def is_small(graph: Priced) -> bool:
    """Whether this takes milliseconds, and no sum of capacities is too large for a start."""
    if graph.num_arcs > SMALL or isinstance(graph, BipartiteGraph):
        return graph.num_arcs <= SMALL
    supply = () if graph.supply is None else map(abs, graph.supply.tolist())
    return max(*graph.capacity.tolist(), *supply, 0, 0) <= LARGEST


def solve_small(graph: Priced) -> Answer:
    """Solve one graph with costs."""
    stage, cost = first_stage(graph), graph.arc_costs()
    network = Network.of(stage.arcs, cost, stage.state.price)
    rounds = _run(network)
    residual, price = np.array(network.residual, np.int64), np.array(network.price, np.int64)
    if isinstance(graph, BipartiteGraph):
        mates = first_in_order(graph, graph.found(residual), price)
        return Answer(mates, rounds, price=price)
    arcs = graph.between_ends(residual)
    if arcs is not None:
        network = Network.of(arcs, cost, price)
        rounds += _run(network)
        residual, price = np.array(network.residual, np.int64), np.array(network.price, np.int64)
    return Answer(graph.found(residual), rounds, price=price)


def _run(network: Network) -> int:
    """Fill the network at the least cost; return the searches that led to a path."""
    head, leaving, residual, reduced, price, ends = network
    rounds = 0
    while True:
        tight = [0 if cost else room for cost, room in zip(reduced, residual, strict=True)]
        rounds += push_phases(leaving, head, tight, ends)
        for arc, cost in enumerate(reduced):
            if not cost:
                residual[arc] = tight[arc]
        distance, is_reached = _distances(network)
        for node, far in enumerate(distance):
            price[node] += far
        for arc, node in enumerate(head):
            reduced[arc] += distance[head[arc ^ 1]] - distance[node]
        if not is_reached:
            return rounds


def _distances(network: Network) -> tuple[list[int], bool]:
    """Return the distances from the source, none above the sink's; and whether that is reached."""
    head, leaving, residual, reduced, _, (source, sink) = network
    known: dict[int, int] = {}
    heap, far = [(0, source)], 0
    while heap and sink not in known:
        near, node = heappop(heap)
        if node in known:
            continue
        known[node] = far = near
        for arc in leaving[node]:
            if residual[arc] and head[arc] not in known:
                heappush(heap, (far + reduced[arc], head[arc]))
    return [known.get(node, far) for node in range(len(leaving))], sink in known
