"""Graphs with costs become answers by hand-written loops: a part of the engine `table`.

Small graphs are solved as the network does, down to its prices: see `small_costs`. The loops for
larger ones (`assignments`, `min_cost`) are other methods for the same problem, Jonker and
Volgenant's and the network simplex. What is proven is the same: a legal answer, the largest, of
least cost, with prices that certify it. Of several best matchings the answer is always the first
(see `classical.first`); of flows it is any. Which loops run, and so the answer, depends on the
graph alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.classical.answer import Answer
from augury.classical.arrays import WideArray
from augury.classical.cost_network import CostNetwork
from augury.classical.first import first_in_order
from augury.classical.graph import BipartiteGraph
from augury.classical.priced import NO_EDGE
from augury.engines.small_costs import is_small, solve_small

MAX_CELLS = 2**24
"""Cells of dense graphs that are assigned at once."""
FEW_CELLS = 2**12
"""Up to this many cells a graph counts as dense, whatever its edges."""


def solved(graphs: Sequence[Any]) -> list[Answer]:
    """Solve bipartite graphs and networks with costs."""
    answers: dict[int, Answer] = {}
    alike: dict[tuple[int, int], list[int]] = {}
    small: list[int] = []
    for at, graph in enumerate(graphs):
        if is_small(graph):
            small.append(at)
        elif isinstance(graph, CostNetwork):
            answers[at] = _sent(graph)
        elif _is_dense(graph):
            alike.setdefault((graph.num_left, graph.num_right), []).append(at)
        else:
            answers[at] = _assigned(graph)
    answers |= zip(small, solve_small([graphs[at] for at in small]), strict=True)
    for places in alike.values():
        for some in _chunks(places, graphs):
            answers |= zip(some, _assigned_dense([graphs[at] for at in some]), strict=True)
    return [answers[at] for at in range(len(graphs))]


def _is_dense(graph: BipartiteGraph) -> bool:
    """Whether a matrix of its costs is worth making."""
    cells = graph.num_left * graph.num_right
    return 0 < cells <= max(FEW_CELLS, 4 * graph.num_edges)


def _chunks(places: Sequence[int], graphs: Sequence[BipartiteGraph]) -> Iterable[Sequence[int]]:
    first = graphs[places[0]]
    many = max(1, MAX_CELLS // (first.num_left * first.num_right))
    return (places[start : start + many] for start in range(0, len(places), many))


def _assigned_dense(graphs: Sequence[BipartiteGraph]) -> list[Answer]:
    """Assign graphs of one shape; those with very large costs by their edges."""
    first = graphs[0]
    cost = np.full((len(graphs), first.num_left, first.num_right), NO_EDGE)
    for own, graph in zip(cost, graphs, strict=True):
        assert graph.costs is not None
        own[graph.left, graph.right] = graph.costs.to_minimise
    found = zip(*assigned(cost), strict=True)
    return [Answer(mates, 0, price=price) for mates, price in found]


def assigned(cost: npt.NDArray[np.int64]) -> tuple[WideArray, WideArray]:
    """(graph, left, right) costs, whole as in `Costs` → mates (graph, left), prices (graph, node).

    Nodes are source, left, right, sink. Of several best answers it is the first, as in
    `assignments`.
    """
    from augury.engines.assignments import assign_dense

    num_graphs, num_left, num_right = cost.shape
    allowed = cost != NO_EDGE if cost.max(initial=0) == NO_EDGE else None
    mates, rows, columns, _ = assign_dense(cost, allowed=allowed, partial=True)
    price = np.zeros((num_graphs, num_left + num_right + 2), np.int64)
    price[:, 1 : 1 + num_left], price[:, 1 + num_left : -1] = -rows, columns
    # A row pays no more than any that has no column, and a column no more than one that is free.
    lowest, (graph, row) = np.iinfo(np.int64).min, np.nonzero(mates >= 0)
    taken = np.zeros((num_graphs, num_right), np.bool_)
    taken[graph, mates[graph, row]] = True
    paid = np.where(mates >= 0, rows, lowest).max(axis=1, initial=lowest)
    most = np.where(taken, columns, lowest).max(axis=1, initial=lowest)
    price[:, 0], price[:, -1] = np.where(paid > lowest, -paid, 0), np.where(most > lowest, most, 0)
    return mates, price


def _assigned(graph: BipartiteGraph) -> Answer:
    """Assign a graph by its edges: as many nodes as possible, and these at the least cost."""
    from augury.engines.sparse_assignments import assign_sparse

    if not graph.num_edges:
        price = np.zeros(graph.num_left + graph.num_right + 2, np.int64)
        return Answer(np.full(graph.num_left, -1), 0, price=price)
    assert graph.costs is not None
    ends = graph.num_left, graph.num_right, graph.left, graph.right
    mates, (left, right, source, sink) = assign_sparse(*ends, graph.costs.to_minimise)
    price = np.concatenate([[source], left, right, [sink]]).astype(np.int64)
    return Answer(first_in_order(graph, mates, price), 0, price=price)


def _sent(network: CostNetwork) -> Answer:
    """Send a network's supplies, or as much as possible from source to sink, at the least cost."""
    from augury.engines.min_cost import min_cost_flow

    nodes, ends, cost = network.num_nodes, (network.tail, network.head), network.costs.to_minimise
    room = network.capacity - network.least
    supply = _value(network) if network.supply is None else network.supply.copy()
    np.add.at(supply, network.head, network.least)
    np.subtract.at(supply, network.tail, network.least)
    flow, price, is_feasible = min_cost_flow(nodes, *ends, room, cost, supply)
    return Answer(network.least + flow, 0, price=price if is_feasible else None)


def _value(network: CostNetwork) -> WideArray:
    """Return the supplies of source and sink in a maximum flow: what an arc back would carry."""
    from augury.engines.min_cost import min_cost_flow

    assert network.source is not None and network.sink is not None
    ends = np.append(network.tail, network.sink), np.append(network.head, network.source)
    out = sum(network.capacity[network.tail == network.source].tolist())
    room, cost = np.append(network.capacity, min(out, 2**61)), np.zeros(len(ends[0]), np.int64)
    cost[-1] = -1
    supply = np.zeros(network.num_nodes, np.int64)
    flow, _, _ = min_cost_flow(network.num_nodes, *ends, room, cost, supply)
    supply[network.source], supply[network.sink] = flow[-1], -flow[-1]
    return supply
