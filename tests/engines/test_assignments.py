"""Assignments are checked by their own prices, which owe nothing to how they were found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from augury.engines.assignments import FORBIDDEN, assign_dense, largest_cost


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
