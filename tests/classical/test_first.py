"""Of all best matchings the first: whoever found one, and whatever prices prove it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from augury import BipartiteGraph, solve
from augury.classical import first
from augury.classical.first import first_in_order
from augury.classical.prices import certify_cost
from augury.engines import least_cost
from augury.engines.sparse_assignments import assign_sparse
from costs import as_graph, cost_matrices

LISTS, ARRAYS = 2**62, 0


def the_first(matrix: np.ndarray) -> list[int]:
    """Try all matchings: the largest, of these the cheapest, and of these the first."""
    num_right = matrix.shape[1]
    choices = [[*np.flatnonzero(np.isfinite(row)).tolist(), num_right] for row in matrix]
    keys = []
    for own in product(*choices):
        pairs = [(u, v) for u, v in enumerate(own) if v < num_right]
        if len({v for _, v in pairs}) == len(pairs):
            keys.append((-len(pairs), sum(matrix[pair] for pair in pairs), own))
    return [v if v < num_right else -1 for v in min(keys)[2]]


def any_best(graph: BipartiteGraph) -> tuple[Any, Any]:
    """Return a best matching, as it is found, and its prices."""
    assert graph.costs is not None
    ends = graph.num_left, graph.num_right, graph.left, graph.right
    mates, (left, right, source, sink) = assign_sparse(*ends, graph.costs.to_minimise)
    return mates, np.concatenate([[source], left, right, [sink]])


def mates_of(graph: BipartiteGraph, **how: Any) -> list[int]:
    """Solve, and return the right node of each left one, −1 for none."""
    mates: dict[Any, Any] = dict(solve(graph, algorithm="assignment", **how).matching or ())
    return [mates.get(row, -1) for row in range(graph.num_left)]


@pytest.mark.parametrize("many", [LISTS, ARRAYS])
@given(matrix=cost_matrices(most=5))
@settings(max_examples=200)
def test_it_is_the_first_of_all(many: int, matrix: np.ndarray) -> None:
    graph, before = as_graph(matrix), first.MANY_EDGES
    if graph.num_edges:
        first.MANY_EDGES = many
        try:
            found = first_in_order(graph, *any_best(graph))
        finally:
            first.MANY_EDGES = before
        assert found.tolist() == the_first(matrix)


def graphs_with_ties() -> list[BipartiteGraph]:
    """Return graphs in which searches are long and many lead nowhere, of all shapes."""
    rng, graphs = np.random.default_rng(0), []
    for n, m, degree, high in [
        (60, 60, 3, 1), (60, 60, 2, 2), (60, 80, 3, 1), (80, 60, 3, 2), (90, 90, 6, 1),
        (40, 40, 40, 3), (70, 60, 1.5, 1), (60, 70, 2, 3),
    ]:  # fmt: skip
        matrix = rng.integers(0, high, (n, m)).astype(float)
        matrix[rng.random((n, m)) > degree / m] = np.inf
        graphs.append(as_graph(matrix))
    return graphs


@pytest.mark.parametrize("number", range(len(graphs_with_ties())))
def test_larger_graphs_get_it_in_lists_and_arrays_and_on_every_engine(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graphs_with_ties()[number]
    mates, price = any_best(graph)
    answers = []
    for many in (LISTS, ARRAYS):
        monkeypatch.setattr(first, "MANY_EDGES", many)
        answers.append(first_in_order(graph, mates, price).tolist())
        certificate = certify_cost(graph, np.array(answers[-1]), price)
        assert certificate.is_optimal and not certificate.remark
    [by_cells] = least_cost._assigned_dense([graph])  # by rotations over words
    answers.append(by_cells.found.tolist())
    answers += [mates_of(graph, engine=engine) for engine in ("lookup", "table")]
    assert all(answer == answers[0] for answer in answers) and answers[0] != mates.tolist()


def test_plain_and_classical_runs_end_with_it_too() -> None:
    graph = graphs_with_ties()[1]
    found = mates_of(graph, engine="table")
    assert mates_of(graph, engine="plain") == mates_of(graph, model="classical") == found
