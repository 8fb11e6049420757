"""The compiled loops for costs: as good as the network's phases, and proven by their prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from scipy.sparse import csr_array

from augury import BipartiteGraph, CostNetwork, InputError, solve, solve_batch
from augury.classical.costs import MAX_TOTAL, Costs
from augury.classical.priced import Priced
from augury.classical.prices import certify_cost
from augury.engines import least_cost
from augury.solution import Solutions
from augury.torch import linear_assignment
from costs import as_graph, cost_matrices, cost_networks, least_flow, least_matching

TABLE: dict[str, Any] = {"engine": "table"}


@given(matrix=cost_matrices())
@settings(max_examples=100)
def test_matchings_are_largest_and_of_least_cost(matrix: np.ndarray) -> None:
    graph = as_graph(matrix)
    for answer in (*least_cost.solved([graph]), least_cost._assigned(graph)):
        certificate = certify_cost(graph, answer.found, answer.price)
        assert certificate.is_optimal and not certificate.remark
        assert (certificate.size, certificate.cost) == least_matching(matrix)


@given(network=cost_networks())
@settings(max_examples=100)
def test_flows_are_of_least_cost_or_proven_impossible(network: CostNetwork) -> None:
    [answer] = least_cost.solved([network])
    certificate = certify_cost(network, answer.found, answer.price)
    expected = least_flow(network)
    if expected is None:
        assert certificate.is_infeasible
    else:
        assert certificate.is_optimal and not certificate.remark
        assert (certificate.size, certificate.cost) == expected


def test_a_stack_of_matrices_is_proven_at_once() -> None:
    rng = np.random.default_rng(3)
    for shape in ((20, 4, 6), (20, 6, 4), (20, 5, 5), (0, 3, 3), (4, 0, 3)):
        stack = rng.integers(-9, 10, shape)
        found = solve_batch(stack, algorithm="assignment", **TABLE)
        assert isinstance(found, Solutions) and isinstance(found.proofs, Priced)
        assert found.proofs.is_proven.all() and found.is_maximum and len(found) == shape[0]
        for one, matrix in zip(found, stack, strict=True):
            assert one.is_optimal and one.engine == "table"
            assert (one.size, one.cost) == least_matching(matrix.astype(float))
    assert "proven of least cost" in repr(found)


def test_a_stack_with_missing_edges_and_fractions_is_solved_all_the_same() -> None:
    rng = np.random.default_rng(4)
    stack = rng.integers(0, 100, (30, 4, 5)) / 10
    stack[rng.random(stack.shape) < 0.4] = np.inf
    found = solve_batch(stack, algorithm="assignment", **TABLE)
    for one, matrix in zip(found, stack, strict=True):
        assert one.is_optimal and not one.certificate.remark
        size, cost = least_matching(matrix * 10)
        assert one.size == size and one.cost == pytest.approx(cost / 10)
    most = solve_batch(np.where(np.isinf(stack), -np.inf, stack), algorithm="assignment",
                       maximise=True, **TABLE)  # fmt: skip
    for one, matrix in zip(most, stack, strict=True):
        opposite = solve(np.where(np.isinf(matrix), np.inf, -matrix), algorithm="assignment")
        assert opposite.cost is not None and one.cost == -opposite.cost


@pytest.mark.parametrize("shape", [(5, 5), (4, 6), (6, 4), (34, 34)])
def test_of_equals_every_form_of_a_dense_graph_gets_the_first(shape: tuple[int, int]) -> None:
    """As a stack, an array, a CSR matrix and a tensor; whether or not all can be assigned."""
    rng = np.random.default_rng(6)
    stack = rng.integers(0, 3, (8, *shape)).astype(float)
    stack[rng.random(stack.shape) < rng.random((8, 1, 1)) * 1.2] = np.inf
    tensors = linear_assignment(torch.from_numpy(stack)).numpy()
    found = solve_batch(stack, algorithm="assignment", **TABLE)
    assert isinstance(found, Solutions) and all(one.is_optimal for one in found)
    np.testing.assert_array_equal(found.mates, tensors)
    assert len(set((tensors >= 0).sum(axis=1))) > 1  # some are full, and some are not
    for matrix, mates in zip(stack, tensors, strict=True):
        left, right = np.nonzero(np.isfinite(matrix))
        sparse = csr_array((matrix[left, right] + 1, (left, right)), shape=shape)
        pairs = [(row, column) for row, column in enumerate(mates.tolist()) if column >= 0]
        for form in (matrix, sparse):
            assert solve(form, algorithm="assignment", **TABLE).matching == pairs


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (40, 40), (9, 200), (200, 9)])
def test_the_largest_costs_are_taken_by_all_loops(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(shape))
    most = MAX_TOTAL // (sum(shape) + 6)
    for share in (0.1, 0.5, 1):
        cost = rng.integers(-most, most, shape, endpoint=True)
        cost.flat[:2] = most, -most
        left, right = np.nonzero(rng.random(shape) < share)
        costs = Costs.of(cost[left, right], sum(shape) + 2)
        graph = BipartiteGraph(*shape, left, right, costs=costs)
        answers = *least_cost.solved([graph]), least_cost._assigned(graph)
        for answer in answers:
            certificate = certify_cost(graph, answer.found, answer.price)
            assert certificate.is_optimal and not certificate.remark
        assert answers[0].found.tolist() == answers[1].found.tolist()


def test_a_graph_with_costs_is_solved_by_this_engine_unless_another_is_named() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.integers(0, 1000, (70, 70))
    solution = solve(matrix, algorithm="assignment")
    assert solution.engine == "table" and solution.is_optimal
    assert solve(matrix[:9, :9], algorithm="assignment").engine == "table"
    with pytest.raises(InputError, match="the engine 'cuda' has no form of assignment"):
        solve(matrix, algorithm="assignment", engine="cuda")
