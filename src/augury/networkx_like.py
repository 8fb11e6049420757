"""A NetworkX graph becomes a residual network with a maximum flow, as a `flow_func` of NetworkX.

    nx.maximum_flow(G, s, t, flow_func=augury.neural_ford_fulkerson)

The residual network is NetworkX's own, built by its `build_residual_network`, and keeps NetworkX's
promises: `R[u][v]["flow"] == -R[v][u]["flow"]`, the value in `R.graph["flow_value"]`, and without
a cutoff the nodes that still reach the sink are one side of a minimum cut.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from augury.classical.arrays import MAX_CAPACITY, Label, WideArray
from augury.classical.network import FlowNetwork
from augury.extras import needs
from augury.solver import COMPILED, maximum_residual

with needs("neural_ford_fulkerson"):
    import networkx as nx
    from networkx.algorithms.flow import build_residual_network
    from networkx.algorithms.flow.utils import detect_unboundedness

if TYPE_CHECKING:
    Graph = nx.Graph[Any]
    DiGraph = nx.DiGraph[Any]


class NotSupportedError(nx.NetworkXError, NotImplementedError):
    """A flow that NetworkX can find but our neural network cannot: fractions, or over 63 bits.

    It is also a `NotImplementedError`, so NetworkX tries the next backend if
    `nx.config.backend_priority` names several.

    >>> G = nx.DiGraph([("well", "town", {"capacity": 0.5})])
    >>> try:
    ...     neural_ford_fulkerson(G, "well", "town")
    ... except NotSupportedError as error:
    ...     print(str(error)[:46])
    the capacity between 'well' and 'town' is 0.5,
    """


def neural_ford_fulkerson(  # noqa: PLR0913  # as every flow_func of NetworkX
    G: Graph,
    s: Label,
    t: Label,
    capacity: str = "capacity",
    residual: DiGraph | None = None,
    value_only: bool = False,
    cutoff: float | None = None,
    *,
    engine: str = COMPILED,
) -> DiGraph:
    """Find a maximum flow with the shipped neural network; return NetworkX's residual network.

    Args:
        G: a graph or digraph; the flow on an undirected edge can go either way.
        s: the source.
        t: the sink.
        capacity: the edge attribute that holds the capacity. An edge without it, or with infinity,
            has no limit; capacities of 0 and below carry nothing. Floats must be whole numbers, and
            then the flow is in floats.
        residual: the residual network of an earlier call, to be reused; its flow is replaced.
        value_only: ignored, as by NetworkX's own augmenting-path functions.
        cutoff: stop at the first whole number that reaches it; by default the flow is maximum.
        engine: how the network is computed, as in `augury.solve`; compiled by default.

    Raises:
        nx.NetworkXError: `s` or `t` is not in the graph, they are the same, or it is a multigraph.
        nx.NetworkXUnbounded: a path of unlimited edges leads from `s` to `t`.
        NotSupportedError: a capacity is a fraction, or too large; also a `nx.NetworkXError`.

    >>> G = nx.DiGraph()
    >>> G.add_edge("well", "tower", capacity=3)
    >>> G.add_edge("tower", "town", capacity=2)
    >>> nx.maximum_flow(G, "well", "town", flow_func=neural_ford_fulkerson)
    (2, {'well': {'tower': 2}, 'tower': {'town': 2}, 'town': {}})
    """
    for node in (s, t):
        if node not in G:
            raise nx.NetworkXError(f"node {node} not in graph")
    if s == t:
        raise nx.NetworkXError("source and sink are the same node")
    R = build_residual_network(G, capacity) if residual is None else residual
    detect_unboundedness(R, s, t)
    arcs = _Arcs(R)
    network = arcs.network(s, t, _whole_cutoff(cutoff))
    left = maximum_residual(network, engine)
    arcs.store(network.found(left)[::2])
    R.graph["flow_value"] = arcs.amount(network.value(left))
    R.graph["algorithm"] = "neural_ford_fulkerson"
    cache: dict[str, Any] | None = getattr(R, "__networkx_cache__", None)
    if cache is not None:
        cache.clear()  # what backends cached for R does not have this flow
    return R


def typed(amount: int, unit: Callable[[int], Any]) -> Any:
    """Return an amount of flow in another type, if that holds it exactly."""
    if not amount:
        return 0  # what NetworkX leaves on edges it never touches, whatever the type
    own = unit(amount)
    return own if own == amount else amount


def _whole_cutoff(cutoff: float | None) -> int | None:
    """Return the first whole number that reaches the cutoff, None if no flow can pass it."""
    if cutoff is None or cutoff > MAX_CAPACITY:
        return None
    return ceil(cutoff) if cutoff > 0 else 0  # nothing flows for NaN either


class _Arcs:
    """The edges of a residual network as numbered pairs of arcs, and back."""

    def __init__(self, R: DiGraph) -> None:
        # NetworkX counts in the type of its sum of capacities: int, float, Fraction, …
        self.unit = type(R.graph["inf"])
        self.number: dict[Label, int] = {node: number for number, node in enumerate(R)}
        self.ends: list[tuple[int, int]] = []
        self.capacity: list[int] = []
        self.attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        adjacency = dict(R.adjacency())
        for u, neighbours in adjacency.items():
            for v, forward in neighbours.items():
                if self.number[u] < self.number[v]:  # each pair once, at the first of its nodes
                    backward = adjacency[v][u]
                    self.ends.append((self.number[u], self.number[v]))
                    self.capacity += _capacities(u, v, forward, backward)
                    self.attributes.append((forward, backward))

    def network(self, s: Label, t: Label, cutoff: int | None) -> FlowNetwork:
        """Return the flow network; a cutoff becomes one more arc in front of the source."""
        ends, capacity, num_nodes = self.ends, self.capacity, len(self.number)
        source = self.number[s]
        if cutoff is not None:
            ends, capacity = [*ends, (num_nodes, source)], [*capacity, cutoff, 0]
            source, num_nodes = num_nodes, num_nodes + 1
        pairs = np.array(ends, np.int32).reshape(-1, 2)
        sender, receiver = pairs.reshape(-1), pairs[:, ::-1].reshape(-1)
        amounts = np.array(capacity, np.int64)
        return FlowNetwork(num_nodes, sender, receiver, amounts, source, self.number[t])

    def amount(self, flow: int) -> Any:
        """Return an amount in the type of the capacities, if that holds it exactly."""
        return typed(flow, self.unit)

    def store(self, flow: WideArray) -> None:
        """Write the flow of the pairs to the edges; a cutoff's arc comes last and is dropped."""
        for (forward, backward), amount in zip(self.attributes, flow.tolist(), strict=False):
            forward["flow"], backward["flow"] = self.amount(amount), self.amount(-amount)


def _capacities(u: Label, v: Label, *halves: dict[str, Any]) -> list[int]:
    """Return the capacities of a pair as whole numbers within the network's range."""
    whole = [int(half["capacity"]) for half in halves]
    for number, half in zip(whole, halves, strict=True):
        if number != half["capacity"]:
            raise NotSupportedError(
                f"the capacity between {u!r} and {v!r} is {half['capacity']}, and the network "
                "counts in whole numbers: multiply all capacities until they are"
            )
    if min(whole) < 0 or sum(whole) > MAX_CAPACITY:
        raise NotSupportedError(
            f"the capacities between {u!r} and {v!r} add up to {sum(whole)}, and the network "
            f"counts from 0 to {MAX_CAPACITY}; NetworkX takes an unlimited capacity for three "
            "times the sum of the others"
        )
    return whole
