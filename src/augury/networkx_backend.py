"""NetworkX's backend "augury": `nx.maximum_flow(G, s, t, backend="augury")`, matchings and costs.

NetworkX calls `get_info` whenever it is imported, and imports this module whenever the backend is
named, so nothing else is imported before a function runs. The backend is used only where it is
named, in `backend=` or in `nx.config.backend_priority`. Arguments, results and errors are
NetworkX's, with three additions: every function that runs the network takes an `engine`,
`top_nodes` that are not one side of the graph are refused, and what the neural network cannot do,
such as fractions of flow or matchings of graphs that are not bipartite, raises `NotSupportedError`,
a `NotImplementedError`, after which NetworkX tries the next backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx

    from augury.classical.arrays import Label

    Graph = nx.Graph[Any]

NAME = "augury"

COMPILED = "table"
"""As in `augury.solver`, which is not imported yet."""

FLOW = "Integer capacities; the flow is found by a neural network that executes Ford-Fulkerson."
COSTS = (
    "Integer capacities and demands, any weights, none of them rounded; the flow is found by a "
    "neural network that executes a primal-dual method."
)
FUNCTIONS = {
    "cost_of_flow": "NetworkX's own sum.",
    "hopcroft_karp_matching": "The same as maximum_matching. `top_nodes` are checked.",
    "max_flow_min_cost": COSTS,
    "max_weight_matching": "Bipartite graphs only.",
    "maximum_flow": FLOW,
    "maximum_flow_value": FLOW,
    "min_cost_flow": COSTS,
    "min_cost_flow_cost": COSTS,
    "minimum_cut": FLOW,
    "minimum_cut_value": FLOW,
    "minimum_weight_full_matching": "`top_nodes` are checked, and weights not rounded.",
    "network_simplex": COSTS,
}
"""What the backend runs, and what NetworkX adds to the documentation of each."""

TIES = {
    ("test_mincost.py", "test_digraph1"): "one of several cheapest flows",
    ("test_networksimplex.py", "test_digraph1"): "one of several cheapest flows",
    ("test_traveling_salesman.py", "test_asadpour_tsp"): "three of many tours, by such a flow",
}
"""NetworkX's tests that insist on one of several right answers, and what those are."""


def get_info() -> dict[str, Any]:
    """Tell NetworkX what this backend is and can do."""
    return {
        "backend_name": NAME,
        "project": "augury",
        "package": "augury",
        "short_summary": "Matchings and flows by a verified neural network.",
        "functions": {
            name: {"additional_docs": text, "additional_parameters": _parameters(name)}
            for name, text in FUNCTIONS.items()
        },
    }


def _parameters(name: str) -> dict[str, str]:
    """Return what NetworkX adds to the parameters in the documentation."""
    if name == "cost_of_flow":
        return {}
    return {f'engine : str, optional (default: "{COMPILED}")': "How the network is computed."}


def convert_from_nx(graph: Graph, **options: Any) -> Graph:
    """Return the graph unchanged: the functions here read NetworkX graphs."""
    return graph


def convert_to_nx(result: Any, **options: Any) -> Any:
    """Return the result unchanged: no function here makes graphs."""
    return result


def on_start_tests(items: Iterable[Any]) -> None:
    """Mark NetworkX's tests that a right answer may fail; NetworkX calls this."""
    import pytest

    for item in items:
        demanded = TIES.get((item.path.name, item.name))
        if demanded:
            item.add_marker(pytest.mark.xfail(reason=f"demands {demanded}", strict=True))


def hopcroft_karp_matching(
    G: Graph, top_nodes: Iterable[Label] | None = None, *, engine: str = COMPILED
) -> dict[Label, Label]:
    """Find a maximum matching; see `nx.bipartite.maximum_matching`.

    Args:
        G: a bipartite graph; of a digraph, only edges from top nodes to others count.
        top_nodes: all nodes of one side; required if the graph is not connected.
        engine: how the network is computed, as in `augury.solve`; compiled by default.

    Returns:
        The partner of each matched node, on either side.

    Raises:
        nx.AmbiguousSolution: the graph is not connected, and there are no `top_nodes`.
        nx.NetworkXError: the graph is not bipartite, or `top_nodes` are not one side of it.
    """
    import numpy as np

    from augury.classical.graph import BipartiteGraph, pairs_of
    from augury.solver import maximum_matching

    _forget_conversion(G)
    tops, others = _sides(G, top_nodes)
    number = {v: position for position, v in enumerate(others)}
    edges = [(position, number[v]) for position, u in enumerate(tops) for v in G[u]]
    left_ends, right_ends = np.array(edges, np.int64).reshape(-1, 2).T
    graph = BipartiteGraph(len(tops), len(others), left_ends, right_ends)
    matching = {tops[i]: others[j] for i, j in pairs_of(maximum_matching(graph, engine))}
    return matching | {v: u for u, v in matching.items()}


def minimum_weight_full_matching(
    G: Graph,
    top_nodes: Iterable[Label] | None = None,
    weight: str | None = "weight",
    *,
    engine: str = COMPILED,
) -> dict[Label, Label]:
    """Match all of the smaller side at least weight; see NetworkX's function of this name.

    Args:
        G: a bipartite graph; of a digraph, only edges from top nodes to others count.
        top_nodes: all nodes of one side; required if the graph is not connected.
        weight: the edge attribute that holds the weight; 1 where an edge has none.
        engine: how the network is computed, as in `augury.solve`; compiled by default.

    Returns:
        The partner of each matched node, on either side.

    Raises:
        nx.AmbiguousSolution: the graph is not connected, and there are no `top_nodes`.
        nx.NetworkXError: the graph is not bipartite, or `top_nodes` are not one side of it.
        ValueError: there is no full matching, or a weight is NaN or minus infinity.
    """
    from augury.networkx_costs import minimum_weight_full_matching

    _forget_conversion(G)
    return minimum_weight_full_matching(G, _sides(G, top_nodes), weight, engine)


def max_weight_matching(
    G: Graph,
    maxcardinality: bool = False,
    weight: str | None = "weight",
    *,
    engine: str = COMPILED,
) -> set[tuple[Label, Label]]:
    """Find a matching of greatest weight; see NetworkX's function of this name.

    Args:
        G: a bipartite graph; any other raises `NotSupportedError`.
        maxcardinality: look only among the matchings with most edges.
        weight: the edge attribute that holds the weight; 1 where an edge has none.
        engine: how the network is computed, as in `augury.solve`; compiled by default.

    Returns:
        The matched pairs.
    """
    from augury.networkx_costs import max_weight_matching

    _forget_conversion(G)
    return max_weight_matching(G, maxcardinality, weight, engine)


def _sides(G: Graph, top_nodes: Iterable[Label] | None) -> tuple[list[Label], list[Label]]:
    """Return the top nodes and the others, each in the graph's order."""
    import networkx as nx

    top = None if top_nodes is None else set(top_nodes)
    left, right = nx.bipartite.sets(G, top)
    if top is not None:
        _refuse_wrong_sides(G, left)
    return [u for u in G if u in left], [v for v in G if v in right]


def _refuse_wrong_sides(G: Graph, top: set[Label]) -> None:
    import networkx as nx

    for node in top:
        if node not in G:
            raise nx.NetworkXError(f"top_nodes names {node!r}, which is not in the graph")
    for u, v in G.edges():
        if (u in top) == (v in top):
            which = "both" if u in top else "neither"
            raise nx.NetworkXError(
                f"top_nodes must be one side of the graph, but of the edge {u!r}, {v!r} they "
                f"name {which} end" + "s" * (which == "both")
            )


def _flow_function(name: str) -> Callable[..., Any]:
    """Return NetworkX's function of this name, with our `flow_func`."""

    def function(
        flowG: Graph,
        _s: Label,
        _t: Label,
        capacity: str = "capacity",
        flow_func: Any = None,
        *,
        engine: str = COMPILED,
        **options: Any,
    ) -> Any:
        import networkx as nx

        from augury.networkx_like import NotSupportedError, neural_ford_fulkerson

        _forget_conversion(flowG)
        if flow_func is None and not options:
            flow_func = neural_ford_fulkerson
        if flow_func is neural_ford_fulkerson:
            options["engine"] = engine
        elif callable(flow_func):
            raise NotSupportedError(
                f"the backend {NAME!r} finds every flow itself: leave out flow_func or backend"
            )
        # NetworkX itself refuses the rest: options without a flow_func, or one not callable.
        ends = flowG, _s, _t
        interface = getattr(nx, name)
        return interface(*ends, capacity, flow_func=flow_func, backend="networkx", **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Run NetworkX's `{name}` with flows found by the shipped neural network."
    return function


maximum_flow = _flow_function("maximum_flow")
maximum_flow_value = _flow_function("maximum_flow_value")
minimum_cut = _flow_function("minimum_cut")
minimum_cut_value = _flow_function("minimum_cut_value")


def network_simplex(
    G: Graph,
    demand: str = "demand",
    capacity: str = "capacity",
    weight: str = "weight",
    *,
    engine: str = COMPILED,
) -> tuple[Any, dict[Label, Any]]:
    """Find a flow of least cost that meets all demands; see `nx.network_simplex`.

    Args:
        G: a digraph or multidigraph.
        demand: the node attribute that holds what a node receives, less what it sends; else 0.
        capacity: the edge attribute that holds the capacity; an edge without it has no limit.
        weight: the edge attribute that holds the cost of a unit of flow; 0 where an edge has none.
        engine: how the network is computed, as in `augury.solve`; compiled by default.

    Returns:
        The cost, and the flow of each edge, as a dict of dicts.

    Raises:
        nx.NetworkXError: the graph has no nodes, or a demand or weight is infinite.
        nx.NetworkXNotImplemented: the graph is not directed.
        nx.NetworkXUnfeasible: no flow meets all demands.
        nx.NetworkXUnbounded: a cycle of unlimited edges has a negative cost.
        NotSupportedError: a capacity or demand is a fraction or too large, or a weight is not a
            number.
    """
    from augury.networkx_costs import network_simplex

    _forget_conversion(G)
    return network_simplex(G, demand, capacity, weight, engine)


def min_cost_flow(
    G: Graph,
    demand: str = "demand",
    capacity: str = "capacity",
    weight: str = "weight",
    *,
    engine: str = COMPILED,
) -> dict[Label, Any]:
    """Return the flow that `network_simplex` finds."""
    return network_simplex(G, demand, capacity, weight, engine=engine)[1]


def min_cost_flow_cost(
    G: Graph,
    demand: str = "demand",
    capacity: str = "capacity",
    weight: str = "weight",
    *,
    engine: str = COMPILED,
) -> Any:
    """Return the cost of the flow that `network_simplex` finds."""
    return network_simplex(G, demand, capacity, weight, engine=engine)[0]


def max_flow_min_cost(
    G: Graph,
    s: Label,
    t: Label,
    capacity: str = "capacity",
    weight: str = "weight",
    *,
    engine: str = COMPILED,
) -> dict[Label, dict[Label, Any]]:
    """Find the cheapest of all maximum flows; see `nx.max_flow_min_cost`."""
    from augury.networkx_costs import max_flow_min_cost

    _forget_conversion(G)
    return max_flow_min_cost(G, s, t, capacity, weight, engine)


def cost_of_flow(G: Graph, flowDict: dict[Label, Any], weight: str = "weight") -> Any:
    """Return what a flow costs; see `nx.cost_of_flow`."""
    import networkx as nx

    _forget_conversion(G)
    return nx.cost_of_flow(G, flowDict, weight, backend="networkx")


def _forget_conversion(graph: Graph) -> None:
    """Drop NetworkX's cached conversion of this graph, which it would warn about."""
    cache: dict[str, Any] | None = getattr(graph, "__networkx_cache__", None)
    if cache is not None:
        cache.get("backends", {}).pop(NAME, None)
