"""Matchings are checked by their own prices, which owe nothing to how they were found."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching, min_weight_full_bipartite_matching

from augury.classical.costs import MAX_TOTAL
from augury.engines import sparse_assignments
from augury.engines.sparse_assignments import Sparse, assign_sparse


def check_sparse(sizes: tuple[int, int], edges: Any, answer: Any) -> tuple[int, int]:
    """Check a matching by the prices of the flow that it is; return its size and cost."""
    left, right, cost = (np.asarray(values, np.int64) for values in edges)
    partner, (u, v, source, sink) = answer
    is_matched = partner >= 0
    is_used = partner[left] == right
    taken = partner[is_matched]
    is_taken = np.zeros(sizes[1], np.bool_)
    is_taken[taken] = True
    assert is_used.sum() == is_matched.sum() == len(set(taken.tolist()))
    reduced = cost + u[left] - v[right]
    assert (reduced[~is_used] >= 0).all()
    assert (reduced[is_used] == 0).all()
    assert (source <= u[is_matched]).all()
    assert (source >= u[~is_matched]).all()
    assert (v[is_taken] <= sink).all()
    assert (v[~is_taken] >= sink).all()
    return int(is_matched.sum()), int(cost[is_used].sum())


def edges_of(rng: Any, num_left: int, num_right: int, count: int, costs: tuple[int, int]) -> Any:
    keys = np.unique(rng.integers(0, num_left * num_right, count))
    left, right = np.divmod(keys, num_right)
    return left, right, rng.integers(*costs, len(keys))


def least_cost(num_left: int, num_right: int, edges: Any) -> tuple[int, int]:
    """Return size and cost of the largest matching of least cost, as NetworkX has it."""
    graph = nx.DiGraph()
    graph.add_nodes_from(["s", "t"])
    graph.add_edges_from((("s", ("l", u)) for u in range(num_left)), capacity=1, weight=0)
    graph.add_edges_from(((("r", v), "t") for v in range(num_right)), capacity=1, weight=0)
    for u, v, cost in zip(*(values.tolist() for values in edges), strict=True):
        graph.add_edge(("l", u), ("r", v), capacity=1, weight=cost)
    flow = nx.max_flow_min_cost(graph, "s", "t")
    return sum(flow["s"].values()), int(nx.cost_of_flow(graph, flow))


@pytest.mark.parametrize("costs", [(0, 1), (0, 3), (-5, 6), (-(10**9), 10**9)])
def test_sparse_matchings_are_largest_and_of_these_cost_least(costs: tuple[int, int]) -> None:
    rng = np.random.default_rng(abs(costs[0]))
    for _ in range(60):
        num_left, num_right = rng.integers(1, 9, 2).tolist()
        edges = edges_of(rng, num_left, num_right, int(rng.integers(0, 25)), costs)
        answer = assign_sparse(num_left, num_right, *edges)
        found = check_sparse((num_left, num_right), edges, answer)
        assert found == least_cost(num_left, num_right, edges)


@pytest.mark.parametrize("largest", [1, 100, 10**6])
def test_large_sparse_matchings_cost_what_scipys_do(largest: int) -> None:
    rng = np.random.default_rng(largest)
    size = 2000
    left, right, _ = edges_of(rng, size, size, 10 * size, (0, 1))
    keys = np.unique(np.concatenate([left * size + right, np.arange(size) * (size + 1)]))
    left, right = np.divmod(keys, size)
    cost = rng.integers(1, largest + 1, len(keys))
    answer = assign_sparse(size, size, left, right, cost)
    matrix = csr_array((cost, (left, right)), shape=(size, size))
    least = matrix[min_weight_full_bipartite_matching(matrix)].sum()
    assert check_sparse((size, size), (left, right, cost), answer) == (size, least)


@pytest.mark.parametrize(
    "sizes", [(1500, 1500), (1000, 1500), (1500, 1000), (502, 500), (500, 501)]
)
def test_matchings_that_leave_nodes_free_are_as_large_as_scipys(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sizes[0])
    for costs in [(3, 4), (0, 1000), (-(10**6), 10**6)]:
        edges = edges_of(rng, *sizes, 3500, costs)
        size, _ = check_sparse(sizes, edges, assign_sparse(*sizes, *edges))
        matrix = csr_array((np.ones(len(edges[0])), edges[:2]), shape=sizes)
        assert size == (maximum_bipartite_matching(matrix) >= 0).sum()


@pytest.mark.parametrize("num_right", [12, 15])
def test_the_largest_sparse_costs_do_not_overflow(num_right: int) -> None:
    rng = np.random.default_rng(9)
    largest = MAX_TOTAL // (12 + num_right + 6)
    for _ in range(20):
        left, right, sign = edges_of(rng, 12, num_right, 70, (-1, 2))
        edges = left, right, sign * largest
        check_sparse((12, num_right), edges, assign_sparse(12, num_right, *edges))


def test_auctions_end_before_prices_outgrow_their_integers(monkeypatch: Any) -> None:
    """Three rows that want two columns outbid each other, a step at a time."""
    ends, cost = np.divmod(np.arange(9), 3), np.array([0, 0, 1000] * 3)
    ended = []
    for lowest in (-1000, -50):
        monkeypatch.setattr(sparse_assignments, "LOWEST", lowest)
        graph = Sparse.of(3, 3, *ends, cost)
        sparse_assignments._auction.py_func(graph, 1)
        ended.append(int(graph.price.min()))
    assert ended[0] < -60 and ended[1] == -50


def test_sparse_graphs_may_be_empty() -> None:
    nothing = np.zeros(0, np.int64)
    for sizes in [(0, 0), (0, 3), (3, 0), (2, 2)]:
        answer = assign_sparse(*sizes, nothing, nothing, nothing)
        assert check_sparse(sizes, (nothing, nothing, nothing), answer) == (0, 0)
