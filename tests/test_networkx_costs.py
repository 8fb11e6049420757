"""NetworkX's contract for weights: the same answers, of the same cost, and the same errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf, nan, pi
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import networkx_backend

SimpleMinCostFlow = pytest.importorskip("ortools.graph.python.min_cost_flow").SimpleMinCostFlow

full_matching: Any = nx.bipartite.minimum_weight_full_matching
AUGURY: Any = {"backend": "augury"}

#      1/4        1/9       The arc from b to d is the cheap one, and holds 4 of the 5.
#   ┌──────▶ b ──────┐
#   a                ▼
#   └──────▶ c ─────▶ d
#      6/10       2/5
DIAMOND: Any = nx.DiGraph()
DIAMOND.add_node("a", demand=-5)
DIAMOND.add_node("d", demand=5)
DIAMOND.add_edge("a", "b", weight=1, capacity=4)
DIAMOND.add_edge("a", "c", weight=6, capacity=10)
DIAMOND.add_edge("b", "d", weight=1, capacity=9)
DIAMOND.add_edge("c", "d", weight=2, capacity=5)


def outcome(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return the result, or the type and text of the error."""
    try:
        return function(*args, **options)
    except (nx.NetworkXException, ValueError, TypeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "name",
    [
        "cost_of_flow",
        "max_flow_min_cost",
        "max_weight_matching",
        "min_cost_flow",
        "min_cost_flow_cost",
        "minimum_weight_full_matching",
        "network_simplex",
    ],
)
def test_signatures_are_networkxs(name: str) -> None:
    theirs: Any = getattr(nx if hasattr(nx, name) else nx.bipartite, name)
    both = getattr(networkx_backend, name), theirs.orig_func
    plain = [
        [(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()]
        for f in both
    ]
    assert [p for p in plain[0] if p[0] != "engine"] == plain[1]


@st.composite
def priced_networks(draw: st.DrawFn) -> Any:
    """Draw digraphs with loops, parallel edges, no limits, demands and weights of any sign."""
    num_nodes = draw(st.integers(1, 6))
    graph: Any = draw(st.sampled_from([nx.DiGraph, nx.MultiDiGraph]))()
    graph.add_nodes_from(range(num_nodes))
    for node in range(num_nodes - 1):
        graph.nodes[node]["need"] = draw(st.integers(-3, 3))
    total = sum(need or 0 for _, need in graph.nodes(data="need"))
    graph.nodes[num_nodes - 1]["need"] = -total if draw(st.integers(0, 9)) else -total + 1
    node = st.integers(0, num_nodes - 1)
    weights = draw(st.sampled_from([(0, 5), (0, 10**9), (-3, 5)]))
    for _ in range(draw(st.integers(0, 14))):
        data = {"price": draw(st.integers(*weights)), "room": draw(st.integers(0, 6))}
        for name in ("price", "room"):
            if draw(st.integers(0, 4)) == 0:
                del data[name]
        graph.add_edge(draw(node), draw(node), **data)
    return graph


NAMES = {"demand": "need", "capacity": "room", "weight": "price"}


def check_flow(graph: Any, cost: Any, flow: Any, names: dict[str, str] = NAMES) -> None:
    """Check that a flow is legal, meets all demands, and costs what is said."""
    demand, capacity, weight = names["demand"], names["capacity"], names["weight"]
    left = {node: -need for node, need in graph.nodes(data=demand, default=0)}
    spent: Any = 0
    keyed = graph.is_multigraph()
    assert list(flow) == list(graph)
    assert sum(len(inner) for inner in flow.values()) == sum(len(graph[u]) for u in graph)
    for u, v, *key, data in graph.edges(data=True, **({"keys": True} if keyed else {})):
        amount = flow[u][v][key[0]] if keyed else flow[u][v]
        assert 0 <= amount <= data.get(capacity, inf)
        left[u] -= amount
        left[v] += amount
        spent += data.get(weight, 0) * amount
    assert not any(left.values())
    assert spent == cost


@given(priced_networks())
def test_a_flow_is_legal_and_as_cheap_as_networkxs_or_refused_like_it(graph: Any) -> None:
    theirs = outcome(nx.network_simplex, graph, **NAMES)
    ours = outcome(nx.network_simplex, graph, **NAMES, **AUGURY)
    if isinstance(theirs[0], type):
        assert ours == theirs
        return
    assert ours[0] == theirs[0]
    check_flow(graph, *ours)
    assert nx.min_cost_flow(graph, **NAMES, **AUGURY) == ours[1]
    assert nx.min_cost_flow_cost(graph, **NAMES, **AUGURY) == ours[0]
    if not graph.is_multigraph():
        assert nx.cost_of_flow(graph, ours[1], weight="price", **AUGURY) == ours[0]


@given(priced_networks(), st.booleans())
def test_of_the_maximum_flows_the_cheapest_is_found(graph: Any, is_undirected: bool) -> None:
    graph = graph.to_undirected() if is_undirected else graph
    args = (graph, 0, len(graph) - 1, "room", "price")
    theirs = outcome(nx.max_flow_min_cost, *args)
    ours = outcome(nx.max_flow_min_cost, *args, **AUGURY)
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    both = [nx.cost_of_flow(nx.DiGraph(graph), flow, "price") for flow in (ours, theirs)]
    assert both[0] == both[1]
    value = nx.maximum_flow_value(graph, *args[1:3], "room")
    directed: Any = nx.DiGraph(graph)
    for node in directed:
        directed.nodes[node]["need"] = value * ((node == args[2]) - (node == args[1]))
    check_flow(directed, both[0], ours)


def test_random_flows_cost_what_or_tools_says() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        size, count = int(rng.integers(2, 9)), int(rng.integers(1, 25))
        ends = rng.integers(0, size, (count, 2))
        room, price = rng.integers(1, 30, count), rng.integers(-50, 100, count)
        start = np.minimum(rng.integers(0, 30, count), room)
        supply = np.zeros(size, np.int64)  # what some flow or other sends, so that there is one
        np.add.at(supply, ends[:, 0], start)
        np.subtract.at(supply, ends[:, 1], start)
        solver: Any = SimpleMinCostFlow()
        graph: Any = nx.MultiDiGraph()
        graph.add_nodes_from((node, {"demand": -own}) for node, own in enumerate(supply.tolist()))
        for (u, v), c, w in zip(ends.tolist(), room.tolist(), price.tolist(), strict=True):
            graph.add_edge(u, v, capacity=c, weight=w)
            solver.add_arc_with_capacity_and_unit_cost(u, v, c, w)
        solver.set_nodes_supplies(np.arange(size), supply)
        assert solver.solve() == solver.OPTIMAL
        cost, flow = nx.network_simplex(graph, **AUGURY)
        assert cost == solver.optimal_cost()
        check_flow(graph, cost, flow, {name: name for name in NAMES})


@pytest.mark.parametrize("unit", [int, float, np.int64, Fraction, Decimal])
def test_numbers_of_any_type_are_taken_and_given_back(unit: Any) -> None:
    graph = DIAMOND.copy()
    for *_, data in graph.edges(data=True):
        data.update(weight=unit(data["weight"]) / unit(4), capacity=unit(data["capacity"]))
    cost, flow = nx.network_simplex(graph, **AUGURY)
    theirs = nx.network_simplex(graph)
    assert (cost, flow) == theirs
    assert type(cost) is type(theirs[0])
    assert type(flow["a"]["b"]) is unit


@pytest.mark.parametrize("weights", [(pi, 1.0, 3.0), (1e300, 1.0, 1e-300), (2**70 + 1, 1, 2**70)])
def test_no_weight_is_rounded(weights: tuple[Any, Any, Any]) -> None:
    long, middle, short = weights
    graph: Any = nx.DiGraph()
    graph.add_node(0, demand=-1)
    graph.add_node(2, demand=1)
    graph.add_edge(0, 1, weight=long, capacity=1)
    graph.add_edge(1, 2, weight=middle)
    graph.add_edge(0, 2, weight=short, capacity=1)
    for node in range(3, 20):  # so many nodes leave no room for 53 bits
        graph.add_edge(2, node, weight=long)
    assert nx.network_simplex(graph, **AUGURY)[1][0] == {1: 0, 2: 1}
    graph[0][2]["weight"] = Fraction(long) + Fraction(middle) + Fraction(1, 10**400)
    assert nx.network_simplex(graph, **AUGURY)[1][0] == {1: 1, 2: 0}


def test_a_float_is_the_decimal_that_it_reads_as() -> None:
    graph: Any = nx.DiGraph()
    graph.add_edge(0, 1, weight=0.1)
    graph.add_edge(1, 2, weight=0.2)
    graph.add_edge(2, 0, weight=-0.3)  # 0.1 + 0.2 − 0.3 is 0, not 2.8e-17
    assert nx.network_simplex(graph, **AUGURY)[0] == 0
    graph[2][0]["weight"] = -0.30001
    with pytest.raises(nx.NetworkXUnbounded, match="negative cycle with infinite capacity found"):
        nx.network_simplex(graph, **AUGURY)


def changed(*edge: str, **data: Any) -> Any:
    """Return the diamond with other data of an edge, or of a node."""
    graph = DIAMOND.copy()
    (graph.edges[edge] if len(edge) == 2 else graph.nodes[edge[0]]).update(data)
    return graph


@pytest.mark.parametrize(
    "graph",
    [
        nx.Graph([(0, 1)]),
        nx.MultiGraph(),
        nx.DiGraph(),
        changed("a", demand=inf),
        changed("a", demand=-inf),
        changed("a", demand=-4),
        changed("a", demand=nan),
        changed("a", "b", weight=inf),
        changed("a", "b", weight=-inf, capacity=0),
        changed("a", "b", capacity=-1),
        changed("a", "b", capacity=-inf),
        changed("c", "d", capacity=0),
        nx.DiGraph([(0, 0, {"weight": inf})]),
        nx.DiGraph([(0, 0, {"capacity": -1})]),
        nx.DiGraph([(0, 0, {"weight": -1})]),
        nx.MultiDiGraph([(0, 0, {"weight": -1, "capacity": 2}), (0, 0, {"weight": -1})]),
        nx.DiGraph([(0, 1, {"weight": -1}), (1, 0, {})]),
        nx.MultiDiGraph([(0, 1, {"weight": -1}), (0, 1, {"weight": 5}), (1, 0, {})]),
    ],
)
def test_errors_of_flows_are_networkxs(graph: Any) -> None:
    for function in (nx.network_simplex, nx.min_cost_flow, nx.min_cost_flow_cost):
        theirs = outcome(function, graph)
        assert outcome(function, graph, **AUGURY) == theirs


def test_that_there_is_no_flow_is_said_before_that_costs_have_no_end() -> None:
    graph: Any = nx.DiGraph([(0, 1, {"weight": -1}), (1, 0, {})])
    graph.add_node(2, demand=1)
    graph.add_node(3, demand=-1)
    with pytest.raises(nx.NetworkXUnfeasible, match="no flow satisfies all node demands"):
        nx.network_simplex(graph, **AUGURY)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (changed("a", "b", capacity=1.5), "the capacity of .* is 1.5, .* whole numbers"),
        (changed("a", "b", capacity=nan), "the capacity of .* is nan, .* whole numbers"),
        (changed("a", "b", capacity=2**63), f"is {2**63}, more than {2**63 - 1}"),
        (changed("a", "b", weight=nan), "a cost is nan, not a finite number"),
        (
            nx.DiGraph(
                [(0, 1, {"weight": -1, "capacity": 2**62}), (1, 2, {"capacity": 2**62}), (2, 0)]
            ),
            f"an edge without limit could carry {2**63}, more than {2**63 - 1}",
        ),
    ],
)
def test_what_is_not_supported_goes_to_the_next_backend(graph: Any, message: str) -> None:
    with pytest.raises(NotImplementedError) as refused:
        nx.network_simplex(graph, **AUGURY)
    assert refused.value.__cause__ is not None
    with pytest.raises(nx.NetworkXError, match=message):
        raise refused.value.__cause__


def test_capacities_may_add_up_to_more_than_64_bits_if_the_engine_never_adds_them() -> None:
    graph: Any = nx.DiGraph([(0, node, {"weight": -1, "capacity": 2**62}) for node in (1, 2)])
    assert nx.network_simplex(graph, **AUGURY) == (0, {0: {1: 0, 2: 0}, 1: {}, 2: {}})
    with pytest.raises(NotImplementedError) as refused:
        nx.network_simplex(graph, **AUGURY, engine="lookup")
    assert "the capacities at 0 add up to more than 62 bits" in str(refused.value.__cause__)


def weighted(edges: Any, *nodes: Any) -> Any:
    graph: Any = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_weighted_edges_from(edges)
    return graph


@st.composite
def weighted_graphs(draw: st.DrawFn) -> Any:
    """Draw bipartite graphs, with isolated nodes, ties, and weights of any sign."""
    left, right = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    low, high = draw(st.sampled_from([(0, 3), (-5, 5), (1, 10**9)]))
    weight = st.integers(low, high) if draw(st.booleans()) else st.floats(low, high)
    graph: Any = nx.Graph()
    graph.add_nodes_from([("left", i) for i in range(left)], bipartite=0)
    graph.add_nodes_from([("right", j) for j in range(right)], bipartite=1)
    for i in range(left):
        for j in range(right):
            kind = draw(st.integers(0, 5))
            if kind:
                data = {} if kind == 1 else {"weight": draw(weight)}
                graph.add_edge(("left", i), ("right", j), **data)
    return graph


def weight_of(graph: Any, pairs: Any) -> Fraction:
    return sum((Fraction(graph.edges[pair].get("weight", 1)) for pair in pairs), Fraction(0))


@given(weighted_graphs(), st.booleans())
def test_a_matching_weighs_as_much_as_networkxs(graph: Any, maxcardinality: bool) -> None:
    ours = nx.max_weight_matching(graph, maxcardinality, **AUGURY)
    theirs = nx.max_weight_matching(graph, maxcardinality)
    assert type(ours) is set
    assert nx.is_matching(graph, ours)
    assert len(ours) == len(theirs) or not maxcardinality
    gain = weight_of(graph, ours) - weight_of(graph, theirs)
    assert gain == 0 or 0 < gain < 1e-6  # theirs adds in floats


@given(weighted_graphs(), st.booleans())
def test_a_full_matching_weighs_as_little_as_networkxs(graph: Any, is_other_side: bool) -> None:
    top = [node for node, side in graph.nodes(data="bipartite") if side == is_other_side]
    theirs = outcome(full_matching, graph, top)
    ours = outcome(full_matching, graph, iter(top), **AUGURY)
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    assert len(ours) == len(theirs)
    assert all(ours[v] == u for u, v in ours.items())
    sums = [
        weight_of(graph, ((u, found[u]) for u in top if u in found)) for found in (ours, theirs)
    ]
    assert sums[0] == sums[1] or 0 < sums[1] - sums[0] < 1e-6


def test_edges_that_weigh_nothing_are_taken_and_those_that_cost_are_not() -> None:
    graph = weighted([(0, 1, 0), (2, 3, -1), (4, 5, 2), (5, 6, 2.5)], 9)
    ours = {frozenset(pair) for pair in nx.max_weight_matching(graph, **AUGURY)}
    assert ours == {frozenset({0, 1}), frozenset({5, 6})}
    assert nx.max_weight_matching(nx.Graph(), **AUGURY) == set()
    loop = weighted([(0, 0, 5), (0, 1, 1)])
    assert nx.max_weight_matching(loop, **AUGURY) in ({(0, 1)}, {(1, 0)})


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.complete_graph(3), "the graph is not bipartite"),
        (weighted([(0, 1, inf)]), "a cost is inf, not a finite number"),
        (weighted([(0, 1, "2")]), "a cost is '2', not a finite number"),
    ],
)
def test_matchings_that_are_not_supported_go_to_the_next_backend(graph: Any, message: str) -> None:
    with pytest.raises(NotImplementedError) as refused:
        nx.max_weight_matching(graph, **AUGURY)
    assert str(refused.value.__cause__) == message
    priority: Any = nx.config.backend_priority
    theirs = outcome(nx.max_weight_matching, graph)
    with priority(algos=["augury"]):
        assert outcome(nx.max_weight_matching, graph) == theirs


@pytest.mark.parametrize(
    ("graph", "top_nodes"),
    [
        (nx.Graph(), None),
        (nx.empty_graph(3), None),
        (nx.Graph([(0, 1), (2, 3)]), None),
        (nx.complete_graph(3), None),
        (nx.path_graph(3), [[]]),
        (weighted([(0, 1, nan), (1, 2, 1)]), [1]),
        (weighted([(0, 1, -inf), (1, 2, 1)]), [1]),
        (weighted([(0, 1, inf)]), [1]),
        (weighted([(0, 1, "2")]), [1]),
        (weighted([(0, 1, 1), (1, 2, 1)], 3), [1, 3]),
    ],
)
def test_errors_of_full_matchings_are_networkxs(graph: Any, top_nodes: Any) -> None:
    theirs = outcome(full_matching, graph, top_nodes)
    assert isinstance(theirs, tuple)
    assert outcome(full_matching, graph, top_nodes, **AUGURY) == theirs


def test_of_parallel_edges_the_cheapest_counts_and_none_is_rounded() -> None:
    graph: Any = nx.MultiGraph()
    for u, v, weight in ((0, "a", 1), (0, "a", 9), (0, "b", 4), (1, "a", 4), (1, "b", 4)):
        graph.add_edge(u, v, weight=weight)
    assert full_matching(graph, [0, 1], **AUGURY) == {0: "a", 1: "b", "a": 0, "b": 1}
    large = weighted([(0, 2, 2**62 + 1), (0, 3, 2**62), (1, 2, 1), (1, 3, 1)])
    assert full_matching(large, [0, 1], **AUGURY)[0] == 3
    assert full_matching(large, [0, 1], weight=None, **AUGURY)[0] in (2, 3)
