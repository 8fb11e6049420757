"""Many small graphs with costs become best answers: the phases of `small_costs`, compiled by numba.

These take the same paths, and distances do not depend on how they are measured: so flows, prices
and rounds are equal, and which of the two runs is a matter of speed alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from augury.classical.arrays import WideArray, read_only
from augury.classical.batch import Batch
from augury.classical.graph import Arcs
from augury.compiled import compiled as on_disk
from augury.engines.flows import Network, Union, fill, phases

compiled: Any = on_disk(nogil=True, error_model="numpy")
part: Any = on_disk(error_model="numpy", no_cpython_wrapper=True, _nrt=False)

NEVER = np.int64(2**63 - 1)
"""The distance of a node that is not reached."""


class Costs(NamedTuple):
    """What a run knows about costs; arrays may be longer than a network needs."""

    place: Any
    """(arc,): its place in a `Network`; the next two are in that order."""
    room: Any
    """(place,): what it can carry, tight or not."""
    reduced: Any
    """(place,): its cost plus its sender's price less its receiver's."""
    distance: Any
    """(node,): from the source, by reduced costs; none is above the sink's."""

    @classmethod
    def of(cls, num_nodes: int, num_arcs: int) -> Costs:
        """Allocate."""
        sizes = num_arcs, num_arcs, num_arcs, num_nodes
        return cls(*(np.empty(size, np.int64) for size in sizes))


def run_all(
    networks: Sequence[Arcs], reduced_costs: Sequence[WideArray], prices: Sequence[WideArray]
) -> Iterator[tuple[WideArray, WideArray, int]]:
    """Fill networks at the least cost; yield the residual, the prices and the rounds of each."""
    batch, price = Batch.of(networks), np.concatenate(prices)
    residual, rounds = np.empty(batch.num_arcs, np.int64), np.empty(batch.num_graphs, np.int64)
    columns = batch.sender, batch.receiver, batch.capacity
    starts = batch.node_start, batch.arc_start, batch.source, batch.sink
    union = Union(*map(read_only, (*columns, *starts)))
    room = int(np.diff(batch.node_start).max()), int(np.diff(batch.arc_start).max())
    own, costs = Network.of(*room), Costs.of(*room)
    _run_all(union, own, costs, np.concatenate(reduced_costs), (residual, price, rounds))
    residuals = np.split(residual, batch.arc_start[1:-1])
    return zip(residuals, np.split(price, batch.node_start[1:-1]), rounds.tolist(), strict=True)


@compiled
def _run_all(union: Union, own: Network, costs: Costs, reduced: Any, told: Any) -> None:
    residual, price, rounds = told
    for graph in range(len(union.source)):
        first, end = union.node_start[graph], union.node_start[graph + 1]
        low, high = union.arc_start[graph], union.arc_start[graph + 1]
        source, sink = union.source[graph] - first, union.sink[graph] - first
        fill(union, own, graph, end - first)
        _start(own, costs, union.sender[low:high] - first, reduced[low:high], end - first)
        rounds[graph], goes_on = 0, True
        while goes_on:
            _show_tight(own, costs, high - low)
            rounds[graph] += phases(own, end - first, source, sink)
            _keep_tight(own, costs, high - low)
            goes_on = _measure(own, costs, end - first, source, sink)
            _move(own, costs, price[first:end])
        for arc in range(low, high):
            residual[arc] = costs.room[costs.place[arc - low]]


@part
def _start(own: Network, costs: Costs, sender: Any, reduced: Any, num_nodes: int) -> None:
    """Find the place of each arc, what it can carry and its reduced cost."""
    for node in range(num_nodes):
        own.current[node] = own.start[node]
    for arc in range(len(sender)):
        place = np.int64(own.current[sender[arc]])
        own.current[sender[arc]] += 1
        costs.place[arc], costs.room[place] = place, own.residual[place]
        costs.reduced[place] = reduced[arc]


@part
def _show_tight(own: Network, costs: Costs, num_arcs: int) -> None:
    for place in range(num_arcs):
        own.residual[place] = 0 if costs.reduced[place] else costs.room[place]


@part
def _keep_tight(own: Network, costs: Costs, num_arcs: int) -> None:
    for place in range(num_arcs):
        if not costs.reduced[place]:
            costs.room[place] = own.residual[place]


@part
def _measure(own: Network, costs: Costs, num_nodes: int, source: int, sink: int) -> bool:
    """Set the distances; say whether the sink is reached."""
    distance, waiting = costs.distance, own.queue
    for node in range(num_nodes):
        distance[node] = NEVER
    distance[source], waiting[0] = 0, source
    count, far, is_reached = 1, np.int64(0), False
    while count > 0 and not is_reached:
        nearest = 0
        for k in range(1, count):
            if distance[waiting[k]] < distance[waiting[nearest]]:
                nearest = k
        node, count = np.int64(waiting[nearest]), count - 1
        waiting[nearest] = waiting[count]
        far, is_reached = distance[node], node == sink
        for place in range(own.start[node], own.start[node + 1]):
            other, farther = np.int64(own.head[place]), far + costs.reduced[place]
            if costs.room[place] > 0 and farther < distance[other]:
                if distance[other] == NEVER:
                    waiting[count] = other
                    count += 1
                distance[other] = farther
    for node in range(num_nodes):
        distance[node] = min(distance[node], far)
    return is_reached


@part
def _move(own: Network, costs: Costs, price: Any) -> None:
    """Add the distances to the prices."""
    for node in range(len(price)):
        price[node] += costs.distance[node]
        for place in range(own.start[node], own.start[node + 1]):
            costs.reduced[place] += costs.distance[node] - costs.distance[own.head[place]]
