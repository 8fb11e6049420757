"""Arcs or edges become problems already handed to other solvers: what remains is to solve them.

The caller decides whether handing over counts: `problem.solve` is the solver alone, and
`problem.size` reads the size of what it returned. Nothing here is an engine of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.cost_network import CostNetwork
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError

Priced = BipartiteGraph | CostNetwork
"""A graph with costs."""
Best = tuple[int, int] | None
"""Size and cost of an answer, or None where there is none."""


class Problem(NamedTuple):
    """A graph in a solver's own form."""

    solve: Callable[[], Any]
    size: Callable[[Any], int]
    """The value of a flow, or the number of pairs."""

    def solved(self) -> int:
        """Solve it, and return the size of the answer."""
        return self.size(self.solve())


class Arcs(NamedTuple):
    """Arcs with capacities, each one way; int32 where SciPy is to take them."""

    num_nodes: int
    tail: npt.NDArray[Any]
    head: npt.NDArray[Any]
    capacity: npt.NDArray[Any]
    source: int
    sink: int

    @classmethod
    def of(cls, network: FlowNetwork) -> Arcs:
        """Leave out the reverse arcs that nothing can flow along yet."""
        arcs = np.flatnonzero(network.capacity)
        columns = network.sender[arcs], network.receiver[arcs], network.capacity[arcs]
        return cls(network.num_nodes, *columns, network.source, network.sink)


class Edges(NamedTuple):
    """Edges of a bipartite graph, sorted by their left end."""

    num_left: int
    num_right: int
    left: npt.NDArray[Any]
    right: npt.NDArray[Any]

    @classmethod
    def of(cls, graph: BipartiteGraph) -> Edges:
        """Return the bare arrays."""
        return cls(graph.num_left, graph.num_right, graph.left, graph.right)

    def as_arcs(self) -> Arcs:
        """Return the unit network: source 0, then left nodes, then right nodes, then the sink."""
        lefts, rights = 1 + np.arange(self.num_left), 1 + self.num_left + np.arange(self.num_right)
        sink = 1 + self.num_left + self.num_right
        tail = np.concatenate([np.zeros(self.num_left), 1 + self.left, rights])
        head = np.concatenate([lefts, rights[self.right], np.full(self.num_right, sink)])
        ends = tail.astype(np.int32), head.astype(np.int32)
        return Arcs(sink + 1, *ends, np.ones(len(tail), np.int32), 0, sink)


def scipy_flow(arcs: Arcs) -> Problem:
    """SciPy's `maximum_flow` (Dinic) on a CSR matrix, to which it adds reverse arcs itself."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    if arcs.capacity.max(initial=0) > np.iinfo(np.int32).max:
        raise InputError("takes capacities up to 2^31 - 1")
    entries = arcs.capacity.astype(np.int32), (arcs.tail, arcs.head)
    matrix = csr_array(entries, shape=(arcs.num_nodes, arcs.num_nodes))
    return Problem(
        lambda: maximum_flow(matrix, arcs.source, arcs.sink), lambda found: int(found.flow_value)
    )


def ortools_flow(arcs: Arcs) -> Problem:
    """OR-Tools' `SimpleMaxFlow` (push-relabel), which sorts the arcs in each `solve`."""
    from ortools.graph.python import max_flow

    solver: Any = max_flow.SimpleMaxFlow()
    solver.add_arcs_with_capacity(arcs.tail, arcs.head, arcs.capacity.astype(np.int64))

    def size(status: Any) -> int:
        if status != solver.OPTIMAL:
            raise InputError(f"status {status}")
        return solver.optimal_flow()

    return Problem(lambda: solver.solve(arcs.source, arcs.sink), size)


def igraph_flow(arcs: Arcs) -> Problem:
    """The `maxflow` of igraph (push-relabel) on a graph with capacities as an attribute."""
    import igraph

    pairs = np.stack([arcs.tail, arcs.head], axis=1).tolist()
    graph = igraph.Graph(arcs.num_nodes, pairs, directed=True)
    graph.es["capacity"] = arcs.capacity.tolist()
    return Problem(
        lambda: graph.maxflow(arcs.source, arcs.sink, "capacity"), lambda found: int(found.value)
    )


def networkx_flow(arcs: Arcs) -> Problem:
    """NetworkX's `maximum_flow_value` (push-relabel) on a digraph."""
    import networkx as nx

    graph: Any = nx.DiGraph()
    columns = arcs.tail.tolist(), arcs.head.tolist(), arcs.capacity.tolist()
    graph.add_nodes_from((arcs.source, arcs.sink))
    graph.add_weighted_edges_from(zip(*columns, strict=True), weight="capacity")
    return Problem(lambda: nx.maximum_flow_value(graph, arcs.source, arcs.sink), int)


def scipy_matching(edges: Edges) -> Problem:
    """SciPy's `maximum_bipartite_matching` (Hopcroft-Karp) on a CSR matrix."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    matrix = csr_of(edges)
    return Problem(
        lambda: maximum_bipartite_matching(matrix, perm_type="column"),
        lambda mates: int((mates >= 0).sum()),
    )


def csr_of(edges: Edges) -> Any:
    """Return the edges as a CSR matrix of bytes."""
    from scipy.sparse import csr_array

    entries = np.ones(len(edges.left), np.int8), (edges.left, edges.right)
    return csr_array(entries, shape=(edges.num_left, edges.num_right))


def igraph_matching(edges: Edges) -> Problem:
    """The `maximum_bipartite_matching` of igraph (push-relabel)."""
    import igraph

    pairs = np.stack([edges.left, edges.right + edges.num_left], axis=1).tolist()
    graph = igraph.Graph(edges.num_left + edges.num_right, pairs)
    sides: Any = [False] * edges.num_left + [True] * edges.num_right
    return Problem(lambda: graph.maximum_bipartite_matching(sides), len)


def networkx_matching(edges: Edges) -> Problem:
    """NetworkX's `hopcroft_karp_matching`, which is recursive: long paths are too deep for it."""
    import networkx as nx

    graph: Any = nx.Graph()
    graph.add_nodes_from(range(edges.num_left + edges.num_right))
    ends = edges.left.tolist(), (edges.right + edges.num_left).tolist()
    graph.add_edges_from(zip(*ends, strict=True))
    lefts = range(edges.num_left)
    return Problem(
        lambda: nx.bipartite.hopcroft_karp_matching(graph, lefts), lambda mates: len(mates) // 2
    )


def scipy_costs(graph: Priced) -> Best:
    """SciPy's `linear_sum_assignment`, dense; a missing edge costs more than all others together.

    So as few missing edges as possible are taken.
    """
    from scipy.optimize import linear_sum_assignment

    if isinstance(graph, CostNetwork):
        raise InputError("no form of it")
    assert graph.costs is not None
    amount = graph.costs.to_minimise
    large = 1 + 2 * min(graph.num_left, graph.num_right) * int(np.abs(amount).max(initial=0))
    matrix = np.full((graph.num_left, graph.num_right), large)
    matrix[graph.left, graph.right] = amount
    rows, columns = linear_sum_assignment(matrix)
    taken = matrix[rows, columns] != large
    cost = int(matrix[rows[taken], columns[taken]].sum())
    return int(taken.sum()), -cost if graph.costs.maximise else cost


def networkx_costs(graph: Priced) -> Best:
    """NetworkX's `network_simplex`, on the flow network of a bipartite graph."""
    import networkx as nx

    network = _as_network(graph)
    made: Any = nx.MultiDiGraph()
    made.add_nodes_from(range(network.num_nodes), demand=0)
    fixed = 0
    for tail, head, room, cost, lower in _rows(network):
        made.add_edge(tail, head, capacity=room, weight=cost)
        made.nodes[tail]["demand"] += lower
        made.nodes[head]["demand"] -= lower
        fixed += lower * cost
    value, supply = _supplies(network, networkx_flow)
    for node, amount in enumerate(supply):
        made.nodes[node]["demand"] -= amount
    try:
        cost = int(nx.network_simplex(made)[0]) + fixed
    except nx.NetworkXUnfeasible:
        return None
    return value, -cost if network.costs.maximise else cost


def ortools_costs(graph: Priced) -> Best:
    """OR-Tools' `SimpleMinCostFlow`; it takes neither loops nor cycles of negative cost."""
    from ortools.graph.python import min_cost_flow

    network = _as_network(graph)
    solver: Any = min_cost_flow.SimpleMinCostFlow()
    value, supply = _supplies(network, ortools_flow)
    fixed = 0
    for tail, head, room, cost, lower in _rows(network):
        fixed += lower * cost
        supply[tail] -= lower
        supply[head] += lower
        if tail == head:
            fixed += min(cost, 0) * room
        elif cost < 0:  # full from the start; what it gives back costs the opposite
            solver.add_arc_with_capacity_and_unit_cost(head, tail, room, -cost)
            fixed += cost * room
            supply[tail] -= room
            supply[head] += room
        else:
            solver.add_arc_with_capacity_and_unit_cost(tail, head, room, cost)
    for node, amount in enumerate(supply):
        solver.set_node_supply(node, amount)
    status = solver.solve()
    if status == solver.INFEASIBLE:
        return None
    if status != solver.OPTIMAL:
        raise InputError(f"status {status}")
    cost = solver.optimal_cost() + fixed
    return value, -cost if network.costs.maximise else cost


def _as_network(graph: Priced) -> CostNetwork:
    return CostNetwork.from_bipartite(graph) if isinstance(graph, BipartiteGraph) else graph


def _rows(network: CostNetwork) -> Iterator[tuple[int, ...]]:
    room = network.capacity - network.least
    columns = network.tail, network.head, room, network.costs.to_minimise, network.least
    return zip(*(column.tolist() for column in columns), strict=True)


def _supplies(network: CostNetwork, flow: Callable[[Arcs], Problem]) -> tuple[int, list[int]]:
    """Return how much is to flow, and what each node supplies; between two ends, the most."""
    if network.supply is not None:
        supply = network.supply.tolist()
        return sum(max(amount, 0) for amount in supply), supply
    assert network.source is not None and network.sink is not None
    # Parallel arcs are summed, for solvers that do not take them.
    ends = network.tail.astype(np.int64) * network.num_nodes + network.head
    keys, place = np.unique(ends, return_inverse=True)
    capacity = np.zeros(len(keys), np.int64)
    np.add.at(capacity, place, network.capacity - network.least)
    tail, head = np.divmod(keys, network.num_nodes)
    is_arc = tail != head
    columns = tail[is_arc].astype(np.int32), head[is_arc].astype(np.int32), capacity[is_arc]
    value = flow(Arcs(network.num_nodes, *columns, network.source, network.sink)).solved()
    supply = [0] * network.num_nodes
    supply[network.source] += value
    supply[network.sink] -= value
    return value, supply
