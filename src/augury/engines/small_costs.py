"""Small graphs with costs become best answers: the network's phases, in plain Python.

As in `classical.least_cost`, maximum flows over tight arcs alternate with steps of the prices. All
steps between two of these flows are made at once: they add up to the distances from the source, by
reduced costs. Each path is one that the network takes, given weights (see `small_flows`), and since
the distances are the same after every maximum flow, the prices are its own, whatever its weights.
If the work outweighs loading numba, `cost_phases` does the same, compiled.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import starmap
from typing import NamedTuple

import numpy as np

from augury.classical.answer import Answer
from augury.classical.arrays import WideArray
from augury.classical.cost_network import CostNetwork
from augury.classical.first import first_in_order
from augury.classical.graph import Arcs, BipartiteGraph
from augury.classical.least_cost import Priced, first_stage
from augury.engines.small_flows import SMALL, leaving_of, push_phases

LARGEST = 2**53
"""Up to this, capacities and supplies at a node of a small network sum to at most 62 bits."""
MANY_ARCS, TINY = 2**16, 2**6
"""Arcs up to which plain Python is quicker: before the compiled loops are loaded, and after."""
LOOPS = "augury.engines.cost_phases"


class Start(NamedTuple):
    """A network, and prices with which no arc that can carry anything has a negative cost."""

    arcs: Arcs
    reduced: WideArray
    """(arc,): its cost plus its sender's price less its receiver's."""
    price: WideArray


class End(NamedTuple):
    """A filled network."""

    residual: WideArray
    price: WideArray
    rounds: int
    """Searches that led to a path."""


class Network(NamedTuple):
    """Arcs in pairs and the state of a run, as lists."""

    head: list[int]
    leaving: list[list[int]]
    """(node,): the arcs that leave it, in order."""
    residual: list[int]
    reduced: list[int]
    price: list[int]
    ends: tuple[int, int]

    @classmethod
    def of(cls, start: Start) -> Network:
        """Make the lists."""
        arcs, head = start.arcs, start.arcs.receiver.tolist()
        lists = arcs.capacity.tolist(), start.reduced.tolist(), start.price.tolist()
        return cls(head, leaving_of(arcs.num_nodes, head), *lists, (arcs.source, arcs.sink))


def is_small(graph: Priced) -> bool:
    """Whether this takes milliseconds, and no sum of capacities is too large for a start."""
    if graph.num_arcs > SMALL or isinstance(graph, BipartiteGraph):
        return graph.num_arcs <= SMALL
    supply = () if graph.supply is None else map(abs, graph.supply.tolist())
    return max(*graph.capacity.tolist(), *supply, 0, 0) <= LARGEST


def solve_small(graphs: Sequence[Priced]) -> list[Answer]:
    """Solve graphs with costs, each as if alone."""
    first = map(first_stage, graphs)
    ends = _ends([Start(arcs, own.reduced - own.half, own.price) for arcs, own in first])
    further: dict[int, Start] = {}
    for at, (graph, end) in enumerate(zip(graphs, ends, strict=True)):
        arcs = graph.between_ends(end.residual) if isinstance(graph, CostNetwork) else None
        if arcs is not None:
            price = end.price
            reduced = graph.arc_costs() + price[arcs.sender] - price[arcs.receiver]
            further[at] = Start(arcs, reduced, price)
    for at, end in zip(further, _ends([*further.values()]), strict=True):
        ends[at] = end._replace(rounds=ends[at].rounds + end.rounds)
    return [_answer(graph, end) for graph, end in zip(graphs, ends, strict=True)]


def _answer(graph: Priced, end: End) -> Answer:
    found = graph.found(end.residual)
    if isinstance(graph, BipartiteGraph):
        found = first_in_order(graph, found, end.price)
    return Answer(found, end.rounds, price=end.price)


def _ends(starts: Sequence[Start]) -> list[End]:
    """Fill networks at the least cost: a few in plain Python, many in compiled loops."""
    size = sum(len(start.reduced) for start in starts)
    if size > (TINY if LOOPS in sys.modules else MANY_ARCS):
        from augury.engines.cost_phases import run_all

        return list(starmap(End, run_all(*zip(*starts, strict=True))))
    return [_end(Network.of(start)) for start in starts]


def _end(network: Network) -> End:
    rounds = _run(network)
    return End(np.array(network.residual, np.int64), np.array(network.price, np.int64), rounds)


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
