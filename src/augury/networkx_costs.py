"""A NetworkX graph with weights becomes a matching or a flow of least cost.

Arguments, results and errors are those of NetworkX's functions of the same names, which the backend
runs (`networkx_backend`). Capacities and demands are whole numbers; weights may be of any exact
type: integers, floats, fractions, decimals; none is rounded. What the neural network cannot do
raises `NotSupportedError`, after which NetworkX tries the next backend.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np

from augury.classical.arrays import MAX_CAPACITY, Label, WideArray
from augury.engines import AUTO, ENGINES
from augury.errors import InputError
from augury.finer import Whole, least_cost_flow, least_cost_matching, whole_costs
from augury.networkx_like import NotSupportedError, neural_ford_fulkerson, typed

if TYPE_CHECKING:
    Graph = nx.Graph[Any]

Flow = dict[Label, dict[Label, Any]]


def minimum_weight_full_matching(
    G: Graph, sides: tuple[list[Label], list[Label]], weight: str | None, engine: str
) -> dict[Label, Label]:
    """Match all of the smaller side, at the least sum of weights."""
    rows, columns = sides
    entries: Any = nx.bipartite.biadjacency_matrix(
        G, row_order=rows, column_order=columns, weight=weight, format="coo"
    )
    weights = entries.data
    # Of parallel edges the cheapest counts.
    order = np.lexsort((weights, entries.col, entries.row))
    ends = np.stack([entries.row, entries.col])[:, order].astype(np.int64)
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (ends[:, 1:] != ends[:, :-1]).any(axis=0)
    kept = order[is_new]
    if weights.dtype.kind not in "biu":
        if (np.isnan(weights) | (weights == -inf)).any():
            raise ValueError("matrix contains invalid numeric entries")
        kept = kept[weights[kept] != inf]
    left, right = entries.row[kept], entries.col[kept]
    ends = left, right
    pairs = least_cost_matching(entries.shape, ends, weights[kept], False, engine)
    if len(pairs) < min(entries.shape):
        raise ValueError("cost matrix is infeasible")
    matching = {rows[i]: columns[j] for i, j in pairs.tolist()}
    return matching | {v: u for u, v in matching.items()}


def max_weight_matching(
    G: Graph, maxcardinality: bool, weight: str | None, engine: str
) -> set[tuple[Label, Label]]:
    """Find a matching of greatest weight in a bipartite graph, or of those with most edges.

    Staying unmatched is worth 0: each left node has one extra edge, to a node of its own.
    """
    given: Any = G.edges(data=True)
    edges = [(u, v, data.get(weight, 1)) for u, v, data in given if u != v]
    left, right = _two_sides(G, edges)
    number = {node: k for side in (left, right) for k, node in enumerate(side)}
    is_left = set(left)
    pairs = [(u, v) if u in is_left else (v, u) for u, v, _ in edges]
    worth = _whole_weights([w for _, _, w in edges], len(G))
    ends = np.array([(number[u], number[v]) for u, v in pairs], np.int64).reshape(-1, 2)
    shape = len(left), len(right)
    if maxcardinality:
        return _named(left, right, _heaviest(shape, ends, worth, engine))
    useful = worth > 0
    own = np.stack([np.arange(len(left)), len(right) + np.arange(len(left))], axis=1)
    nothing = np.zeros(len(left), object)
    shape = len(left), len(right) + len(left)
    ends = np.concatenate([ends[useful], own])
    found = _heaviest(shape, ends, np.concatenate([worth[useful], nothing]), engine)
    matching = _named(left, right, found[found[:, 1] < len(right)])
    taken = set(chain.from_iterable(matching))
    for (u, v), amount in zip(pairs, worth.tolist(), strict=True):
        if amount == 0 and u not in taken and v not in taken:  # NetworkX takes these too
            matching.add((u, v))
            taken |= {u, v}
    return matching


def _two_sides(G: Graph, edges: Iterable[tuple[Label, Label, Any]]) -> tuple[list[Label], ...]:
    """Colour the nodes, ignoring loops; each component may be coloured either way."""
    plain: Graph = nx.Graph()
    plain.add_nodes_from(G)
    plain.add_edges_from((u, v) for u, v, _ in edges)
    try:
        colour: dict[Label, int] = nx.bipartite.color(plain)
    except nx.NetworkXError:
        raise NotSupportedError("the graph is not bipartite") from None
    return tuple([node for node in G if colour[node] == side] for side in (1, 0))


def _heaviest(shape: tuple[int, int], ends: WideArray, worth: Whole, engine: str) -> WideArray:
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    left, right = ends[order].T
    return least_cost_matching(shape, (left, right), worth[order], True, engine)


def _named(left: list[Label], right: list[Label], found: WideArray) -> set[tuple[Label, Label]]:
    return {(left[i], right[j]) for i, j in found.tolist()}


def _whole_weights(weights: list[Any], num_nodes: int) -> Whole:
    try:
        return whole_costs(weights, num_nodes + 2)
    except InputError as error:
        raise NotSupportedError(str(error)) from None


def max_flow_min_cost(
    G: Graph, s: Label, t: Label, capacity: str, weight: str, engine: str
) -> Flow:
    """Find the cheapest of the maximum flows; like NetworkX, in two runs."""
    own: Any = {"flow_func": neural_ford_fulkerson, "engine": engine, "backend": "networkx"}
    value = nx.maximum_flow_value(G, s, t, capacity=capacity, **own)
    H: nx.DiGraph[Any] = nx.DiGraph(G)
    H.add_node(s, demand=-value)
    H.add_node(t, demand=value)
    return network_simplex(H, "demand", capacity, weight, engine)[1]


def network_simplex(
    G: Graph, demand: str, capacity: str, weight: str, engine: str
) -> tuple[Any, Flow]:
    """Find a flow of least cost that meets all demands; return its cost, and the flow."""
    if not G.is_directed():
        raise nx.NetworkXNotImplemented("not implemented for undirected type")
    if len(G) == 0:
        raise nx.NetworkXError("graph has no nodes")
    if engine != AUTO:
        ENGINES[engine]  # an unknown engine is no reason to try the next backend
    demands = {node: data.get(demand, 0) for node, data in G.nodes(data=True)}
    options: Any = {"keys": True} if G.is_multigraph() else {}
    arcs = [
        Arc(ends, data.get(capacity, inf), data.get(weight, 0))
        for *ends, data in G.edges(data=True, **options)
    ]
    loops = [arc for arc in arcs if arc.is_loop]
    plain = [arc for arc in arcs if not arc.is_loop and arc.capacity != 0]
    _refuse(demands, plain, loops)
    flow = _cheapest(demands, plain, engine)
    if any(arc.capacity == inf and arc.weight < 0 for arc in loops):
        raise nx.NetworkXUnbounded(UNBOUNDED)
    carried = [*zip(plain, flow, strict=True)]
    carried += [(arc, arc.capacity) for arc in loops if arc.weight < 0]
    cost = sum(arc.weight * amount for arc, amount in carried)
    unused = [arc for arc in arcs if arc.capacity == 0 or (arc.is_loop and not arc.weight < 0)]
    return cost, _by_node(demands, [*carried, *((arc, 0) for arc in unused)])


UNBOUNDED = "negative cycle with infinite capacity found"


class Arc(NamedTuple):
    """An edge of a digraph, or of a multigraph with its key."""

    ends: list[Any]
    capacity: Any
    weight: Any

    @property
    def is_loop(self) -> bool:
        """Whether it leads from a node to itself."""
        return bool(self.ends[0] == self.ends[1])


def _by_node(nodes: Iterable[Label], carried: Iterable[tuple[Arc, Any]]) -> Flow:
    """Return dicts of dicts; with keys, dicts of dicts of dicts."""
    flow: dict[Any, Any] = {node: {} for node in nodes}
    for arc, amount in carried:
        inner = flow
        for step in arc.ends[:-1]:
            inner = inner.setdefault(step, {})
        inner[arc.ends[-1]] = amount
    return flow


def _refuse(demands: dict[Label, Any], plain: list[Arc], loops: list[Arc]) -> None:
    """Raise NetworkX's errors, in its order."""
    for node, amount in demands.items():
        if abs(amount) == inf:
            raise nx.NetworkXError(f"node {node!r} has infinite demand")
    for arc in chain(plain, loops):
        if abs(arc.weight) == inf:
            raise nx.NetworkXError(f"edge {tuple(arc.ends)!r} has infinite weight")
    if sum(demands.values()) != 0:
        raise nx.NetworkXUnfeasible("total node demand is not zero")
    for arc in chain(plain, loops):
        if arc.capacity < 0:
            raise nx.NetworkXUnfeasible(f"edge {tuple(arc.ends)!r} has negative capacity")


def _cheapest(demands: dict[Label, Any], arcs: list[Arc], engine: str) -> list[Any]:
    """Return what each arc carries, in the type of the capacities and demands.

    A cheapest flow is made of paths from supplies to demands, and of cycles that save something,
    each with an arc of finite capacity. So no arc carries more than all supplies and capacities.
    """
    supply = [-_whole(amount, f"the demand of {node!r}") for node, amount in demands.items()]
    limit = [
        None if arc.capacity == inf else _whole(arc.capacity, f"the capacity of {tuple(arc.ends)}")
        for arc in arcs
    ]
    number = {node: k for k, node in enumerate(demands)}
    pairs = [(number[arc.ends[0]], number[arc.ends[1]]) for arc in arcs]
    weights = _whole_weights([arc.weight for arc in arcs], len(demands))
    sent, finite = (
        sum(max(0, amount) for amount in supply),
        [own for own in limit if own is not None],
    )
    saves = any(weights < 0)
    most = sent + sum(finite) if saves else sent
    capacity = [most if own is None else min(own, most) for own in limit]
    unlimited = [k for k, own in enumerate(limit) if own is None]
    if unlimited and most > MAX_CAPACITY:
        told = f"an edge without limit could carry {most}, more than {MAX_CAPACITY}"
        raise NotSupportedError(told)
    is_unbounded = saves and _has_saving_circle((*pairs[k], weights[k]) for k in unlimited)
    if is_unbounded:
        weights = weights * 0  # the question is only whether there is a flow at all
    tail, head = np.array(pairs, np.int64).reshape(-1, 2).T
    room, needs = np.array(capacity, np.int64), np.array(supply, np.int64)
    try:
        flow = least_cost_flow((tail, head), room, weights, needs, engine)
    except InputError as error:
        raise NotSupportedError(str(error)) from None
    left = needs.copy()
    np.subtract.at(left, tail, flow)
    np.add.at(left, head, flow)
    if left.any():
        raise nx.NetworkXUnfeasible("no flow satisfies all node demands")
    if is_unbounded:
        raise nx.NetworkXUnbounded(UNBOUNDED)
    unit = type(sum(arc.capacity for arc in arcs if arc.capacity != inf) + sum(demands.values()))
    return [typed(amount, unit) for amount in flow.tolist()]


def _whole(value: Any, what: str) -> int:
    try:
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        whole = None
    if whole is None or whole != value:
        raise NotSupportedError(
            f"{what} is {value!r}, and the network counts in whole numbers: multiply all "
            "capacities and demands until they are"
        )
    if abs(whole) > MAX_CAPACITY:
        raise NotSupportedError(f"{what} is {value!r}, more than {MAX_CAPACITY}")
    return whole


def _has_saving_circle(arcs: Iterable[tuple[int, int, int]]) -> bool:
    """Tell whether some of these arcs form a cycle whose weights add up to less than 0."""
    cheapest: dict[tuple[int, int], int] = {}
    for tail, head, weight in arcs:
        known = cheapest.get((tail, head))
        cheapest[tail, head] = weight if known is None else min(known, weight)
    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.add_weighted_edges_from((u, v, weight) for (u, v), weight in cheapest.items())
    return nx.negative_edge_cycle(graph)
