"""Hypothesis strategies for graphs with costs, and what they cost at least by other solvers."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from augury import BipartiteGraph, CostNetwork


@st.composite
def cost_matrices(draw: st.DrawFn, most: int = 7) -> np.ndarray:
    """Draw a matrix with few or many ties; infinity is no edge."""
    shape = draw(st.integers(1, most)), draw(st.integers(1, most))
    high = draw(st.sampled_from([0, 2, 50, 10**6]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = rng.integers(-high, high + 1, shape).astype(float)
    if draw(st.booleans()):
        matrix[rng.random(shape) < draw(st.sampled_from([0.2, 0.7]))] = np.inf
    return matrix


@st.composite
def cost_networks(draw: st.DrawFn) -> CostNetwork:
    """Draw a network with loops, parallel arcs, negative circles and lower bounds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    nodes, arcs = draw(st.integers(2, 7)), draw(st.integers(0, 18))
    tail, head = rng.integers(0, nodes, (2, arcs))
    capacity, cost = rng.integers(0, 7, arcs), rng.integers(-6, 7, arcs)
    given: dict[str, Any] = {"source": 0, "sink": nodes - 1}
    if draw(st.booleans()):
        supply = rng.integers(-2, 3, nodes)
        supply[0] -= supply.sum()
        lower = np.minimum(capacity, rng.integers(0, 2, arcs)) * draw(st.integers(0, 1))
        given = {"supply": supply, "lower": lower}
    return CostNetwork.from_arcs(nodes, tail, head, capacity, cost, **given)


def least_matching(matrix: np.ndarray) -> tuple[int, int]:
    """Return the size and cost of a maximum matching of least cost, by SciPy.

    A missing edge costs more than all others together, so as few as possible are taken.
    """
    is_edge = np.isfinite(matrix)
    large = 1 + 2 * min(matrix.shape) * int(np.abs(matrix[is_edge]).max(initial=0))
    filled = np.where(is_edge, matrix, large)
    rows, columns = linear_sum_assignment(filled)
    taken = is_edge[rows, columns]
    return int(taken.sum()), int(matrix[rows[taken], columns[taken]].sum())


def least_flow(network: CostNetwork) -> tuple[int, int] | None:
    """Return the value and cost of the best flow, by NetworkX; None where there is none."""
    graph: Any = nx.MultiDiGraph()
    graph.add_nodes_from(range(network.num_nodes), demand=0)
    columns = (network.tail, network.head, network.capacity, network.costs.amount, network.least)
    fixed = 0
    for tail, head, capacity, cost, lower in zip(*(own.tolist() for own in columns), strict=True):
        graph.add_edge(tail, head, capacity=capacity - lower, weight=cost)
        graph.nodes[tail]["demand"] += lower
        graph.nodes[head]["demand"] -= lower
        fixed += lower * cost
    value = 0
    if network.supply is None:
        assert network.source is not None and network.sink is not None
        simple: Any = nx.DiGraph()
        simple.add_nodes_from(graph)
        for tail, head, data in graph.edges(data=True):
            known = simple.get_edge_data(tail, head, {"capacity": 0})["capacity"]
            simple.add_edge(tail, head, capacity=known + data["capacity"])
        value = int(nx.maximum_flow_value(simple, network.source, network.sink))
        graph.nodes[network.source]["demand"] -= value
        graph.nodes[network.sink]["demand"] += value
    else:
        for node, amount in enumerate(network.supply.tolist()):
            graph.nodes[node]["demand"] -= amount
            value += max(amount, 0)
    try:
        return value, int(nx.network_simplex(graph)[0]) + fixed
    except nx.NetworkXUnfeasible:
        return None


def as_graph(matrix: np.ndarray) -> BipartiteGraph:
    """Return a bipartite graph with the costs of a matrix."""
    return BipartiteGraph.from_costs(matrix)
