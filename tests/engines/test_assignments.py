"""Assignments are checked by their own prices, which owe nothing to how they were found."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching, min_weight_full_bipartite_matching

from augury.engines.assignments import (
    FORBIDDEN,
    assign_dense,
    assign_sparse,
    largest_cost,
    largest_sparse_cost,
)


def check_dense(cost: Any, answer: Any) -> None:
    """Check every full assignment of a stack by its prices, in exact arithmetic."""
    for values, columns, u, v, is_full in zip(cost, *answer, strict=True):
        if not is_full:
            continue
        rows = np.arange(len(columns))
        exact = values.astype(object) - u.astype(object)[:, None] - v.astype(object)[None]
        allowed = values != FORBIDDEN
        assert len(set(columns.tolist())) == len(columns)
        assert allowed[rows, columns].all()
        assert (exact[allowed] >= 0).all()
        assert (exact[rows, columns] == 0).all()
        assert (v <= 0).all()
        assert (np.delete(v, columns) == 0).all()


def total(cost: Any, columns: Any) -> int:
    return sum(cost[np.arange(len(columns)), columns].tolist())


def stack_of(rng: Any, shape: tuple[int, ...], kind: str) -> Any:
    _, num_rows, num_columns = shape
    if kind == "rank one":
        outer = rng.integers(1, 50, (shape[0], num_rows, 1)) * rng.integers(1, 50, (1, num_columns))
        return outer + rng.integers(0, 3, shape)
    if kind == "magnitudes":
        return (10 ** (12 * rng.random(shape))).astype(np.int64)
    low, high = {"ties": (0, 3), "wide": (-(10**6), 10**6), "equal": (7, 8)}[kind]
    return rng.integers(low, high, shape)


KINDS = ["ties", "wide", "equal", "rank one", "magnitudes"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "shape", [(150, 1, 1), (150, 4, 4), (150, 5, 8), (40, 20, 21), (9, 50, 50)]
)
def test_dense_assignments_cost_what_scipys_do(shape: tuple[int, ...], kind: str) -> None:
    cost = stack_of(np.random.default_rng(len(kind)), shape, kind)
    answer = assign_dense(cost)
    assert answer[3].all()
    check_dense(cost, answer)
    for values, columns in zip(cost, answer[0], strict=True):
        assert total(values, columns) == total(values, linear_sum_assignment(values)[1])


@pytest.mark.parametrize("shape", [(400, 3, 3), (400, 4, 6), (60, 12, 12)])
def test_forbidden_pairs_are_not_assigned(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    cost = stack_of(rng, shape, "ties")
    cost[rng.random(shape) < rng.random((shape[0], 1, 1))] = FORBIDDEN
    answer = assign_dense(cost)
    check_dense(cost, answer)
    for values, columns, is_full in zip(cost, answer[0], answer[3], strict=True):
        allowed = values != FORBIDDEN
        pairs = maximum_bipartite_matching(csr_array(allowed), perm_type="column")
        assert is_full == (pairs >= 0).all()
        if is_full:
            weights = np.where(allowed, values, 10**6)
            assert total(values, columns) == total(values, linear_sum_assignment(weights)[1])


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_costs_do_not_overflow(sign: int) -> None:
    rng = np.random.default_rng(5)
    for num_rows, num_columns in [(1, 1), (6, 6), (5, 9), (30, 30)]:
        largest = largest_cost(num_rows, num_columns)
        cost = rng.choice([-largest, 0, sign * largest], (30, num_rows, num_columns))
        cost[rng.random(cost.shape) < 0.2] = FORBIDDEN
        check_dense(cost, assign_dense(cost))


def test_a_stack_may_be_empty_in_every_direction() -> None:
    for shape in [(0, 3, 3), (2, 0, 0), (2, 0, 3)]:
        columns, u, v, is_full = assign_dense(np.zeros(shape, np.int64))
        assert columns.shape == u.shape == shape[:2]
        assert v.shape == (shape[0], shape[2])
        assert is_full.all()


@given(st.integers(1, 5), st.integers(0, 2), st.data())
def test_any_small_matrix_is_assigned_at_least_cost(
    num_rows: int, more: int, data: st.DataObject
) -> None:
    size = num_rows * (num_rows + more)
    values = data.draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size))
    cost = np.array(values).reshape(1, num_rows, -1)
    answer = assign_dense(cost)
    check_dense(cost, answer)
    assert total(cost[0], answer[0][0]) == total(cost[0], linear_sum_assignment(cost[0])[1])


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
    largest = largest_sparse_cost(12, num_right)
    for _ in range(20):
        left, right, sign = edges_of(rng, 12, num_right, 70, (-1, 2))
        edges = left, right, sign * largest
        check_sparse((12, num_right), edges, assign_sparse(12, num_right, *edges))


def test_sparse_graphs_may_be_empty() -> None:
    nothing = np.zeros(0, np.int64)
    for sizes in [(0, 0), (0, 3), (3, 0), (2, 2)]:
        answer = assign_sparse(*sizes, nothing, nothing, nothing)
        assert check_sparse(sizes, (nothing, nothing, nothing), answer) == (0, 0)
