"""NetworkX's backend "augury": `nx.maximum_flow(G, s, t, backend="augury")`, and its matchings.

NetworkX calls `get_info` whenever it is imported, and imports this module whenever the backend is
named, so nothing else is imported before a function runs. The backend is used only where it is
named, in `backend=` or in `nx.config.backend_priority`. Arguments, results and errors are
NetworkX's, with two additions: `top_nodes` that are not one side of the graph are refused, and
capacities beyond the neural network's range are a `NotSupportedError`, a `NotImplementedError`,
after which NetworkX tries the next backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx

    from augury.classical.graph import Label

    Graph = nx.Graph[Any]

NAME = "augury"

FLOW = "Integer capacities; the flow is found by a neural network that executes Ford-Fulkerson."
FUNCTIONS = {
    "hopcroft_karp_matching": "The same as maximum_matching. `top_nodes` are checked.",
    "maximum_flow": FLOW,
    "maximum_flow_value": FLOW,
    "minimum_cut": FLOW,
    "minimum_cut_value": FLOW,
}
"""What the backend runs, and what NetworkX adds to the documentation of each."""


def get_info() -> dict[str, Any]:
    """Tell NetworkX what this backend is and can do."""
    return {
        "backend_name": NAME,
        "project": "augury",
        "package": "augury",
        "short_summary": "Matchings and flows by a verified neural network.",
        "functions": {name: {"additional_docs": text} for name, text in FUNCTIONS.items()},
    }


def convert_from_nx(graph: Graph, **options: Any) -> Graph:
    """Return the graph unchanged: the functions here read NetworkX graphs."""
    return graph


def convert_to_nx(result: Any, **options: Any) -> Any:
    """Return the result unchanged: no function here makes graphs."""
    return result


def hopcroft_karp_matching(
    G: Graph, top_nodes: Iterable[Label] | None = None
) -> dict[Label, Label]:
    """Find a maximum matching; see `nx.bipartite.maximum_matching`.

    Args:
        G: a bipartite graph; of a digraph, only edges from top nodes to others count.
        top_nodes: all nodes of one side; required if the graph is not connected.

    Returns:
        The partner of each matched node, on either side.

    Raises:
        nx.AmbiguousSolution: the graph is not connected, and there are no `top_nodes`.
        nx.NetworkXError: the graph is not bipartite, or `top_nodes` are not one side of it.
    """
    import networkx as nx
    import numpy as np

    from augury.classical.graph import BipartiteGraph
    from augury.solver import maximum_matching

    _forget_conversion(G)
    top = None if top_nodes is None else set(top_nodes)
    left, right = nx.bipartite.sets(G, top)
    if top is not None:
        _refuse_wrong_sides(G, left)
    tops, others = [u for u in G if u in left], [v for v in G if v in right]
    number = {v: position for position, v in enumerate(others)}
    edges = [(position, number[v]) for position, u in enumerate(tops) for v in G[u]]
    left_ends, right_ends = np.array(edges, np.int64).reshape(-1, 2).T
    graph = BipartiteGraph(len(tops), len(others), left_ends, right_ends)
    pairs = maximum_matching(graph).tolist()
    matching = {tops[i]: others[j] for i, j in pairs}
    return matching | {v: u for u, v in matching.items()}


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
        **options: Any,
    ) -> Any:
        import networkx as nx

        from augury.networkx_like import NotSupportedError, neural_ford_fulkerson

        _forget_conversion(flowG)
        if flow_func is None and not options:
            flow_func = neural_ford_fulkerson
        elif callable(flow_func) and flow_func is not neural_ford_fulkerson:
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


def _forget_conversion(graph: Graph) -> None:
    """Drop NetworkX's cached conversion of this graph, of which it would warn."""
    cache: dict[str, Any] | None = getattr(graph, "__networkx_cache__", None)
    if cache is not None:
        cache.get("backends", {}).pop(NAME, None)
