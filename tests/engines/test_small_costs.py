"""The small form for costs: the network's paths and prices, and of equals the first."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import BipartiteGraph, CostNetwork, solve, solve_batch
from augury.algorithms.executor import CellExecutor
from augury.classical.answer import Answer
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import MAX_WEIGHT, PHASES, Round, Settings
from augury.classical.least_cost import Priced, solved
from augury.classical.prices import certify_cost
from augury.engines import least_cost, small_costs
from augury.engines.assignments import assign_dense
from augury.engines.small_costs import is_small, solve_small
from augury.engines.small_flows import SMALL, push_phases
from augury.models import shipped_table
from costs import as_graph, cost_matrices, cost_networks, least_flow, least_matching

priced = st.one_of(cost_matrices().map(as_graph), cost_networks())


@pytest.fixture(autouse=True, scope="module")
def plain() -> Iterator[None]:
    """Run the plain form, whatever is loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_costs, "TINY", small_costs.MANY_ARCS)
        yield


def solved_alone(graph: Priced) -> Answer:
    [answer] = solve_small([graph])
    return answer


@given(matrix=cost_matrices(), maximise=st.booleans())
@settings(max_examples=150)
def test_matchings_are_largest_and_best(matrix: np.ndarray, maximise: bool) -> None:
    sign = -1 if maximise else 1
    graph = BipartiteGraph.from_costs(sign * matrix, maximise=maximise)
    answer = solved_alone(graph)
    certificate = certify_cost(graph, answer.found, answer.price)
    assert certificate.is_optimal and not certificate.remark
    size, cost = least_matching(matrix)
    assert (certificate.size, certificate.cost) == (size, sign * cost)


@given(network=cost_networks())
@settings(max_examples=150)
def test_flows_are_of_least_cost_or_proven_impossible(network: CostNetwork) -> None:
    answer = solved_alone(network)
    certificate = certify_cost(network, answer.found, answer.price)
    expected = least_flow(network)
    if expected is None:
        assert certificate.is_infeasible
    else:
        assert certificate.is_optimal and not certificate.remark
        assert (certificate.size, certificate.cost) == expected


def all_matchings(matrix: np.ndarray, row: int = 0, taken: int = 0) -> Iterator[tuple[int, ...]]:
    """Every matching, as the column of each row; one without a column has the last number."""
    rows, columns = matrix.shape
    if row == rows:
        yield ()
        return
    for column in range(columns + 1):
        if column < columns and (taken >> column & 1 or np.isinf(matrix[row, column])):
            continue
        bit = 1 << column if column < columns else 0
        for rest in all_matchings(matrix, row + 1, taken | bit):
            yield (column, *rest)


@given(matrix=cost_matrices(most=4))
@settings(max_examples=150)
def test_of_equals_it_is_the_first_of_all_there_are(matrix: np.ndarray) -> None:
    columns = matrix.shape[1]

    def rank(mates: tuple[int, ...]) -> tuple[Any, ...]:
        paid = [matrix[row, mate] for row, mate in enumerate(mates) if mate < columns]
        return -len(paid), sum(paid), mates

    best = min(all_matchings(matrix), key=rank)
    mates = solved_alone(as_graph(matrix)).found
    assert np.where(mates < 0, columns, mates).tolist() == list(best)


@given(matrix=cost_matrices(most=14))
def test_so_it_is_the_compiled_loop_s(matrix: np.ndarray) -> None:
    found = assign_dense(matrix[None], partial=True).columns[0]
    np.testing.assert_array_equal(solved_alone(as_graph(matrix)).found, found)


def by_the_network(graph: Priced, settings: Settings = PHASES, see: Any = None) -> Any:
    table = CellExecutor(shipped_table(), engine="lookup").subroutines()
    [answer] = solved([graph], table, [np.random.default_rng(0)], settings, see=see)
    return answer


@given(graph=priced)
@settings(max_examples=60)
def test_prices_and_matchings_are_the_network_s(graph: Priced) -> None:
    small, own = solved_alone(graph), by_the_network(graph)
    np.testing.assert_array_equal(small.price, own.price)
    if isinstance(graph, BipartiteGraph):
        np.testing.assert_array_equal(small.found, own.found)


@given(graph=priced)
@settings(max_examples=60)
def test_every_path_is_one_that_the_network_takes(graph: Priced) -> None:
    paths: list[list[int]] = []
    taken: list[list[int]] = []

    def logged(*network: Any) -> int:
        return push_phases(*network, log=lambda path, _: paths.append(path))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_costs, "push_phases", logged)
        answer = solved_alone(graph)

    def weights(batch: Batch, _: int) -> np.ndarray:
        chosen = np.full(batch.num_arcs, MAX_WEIGHT, np.uint8)
        chosen[paths[len(taken)] if len(taken) < len(paths) else []] = 1
        return chosen

    def see(event: Any) -> None:
        if isinstance(event, Round) and event.led.any():
            taken.append(event.paths.arcs.tolist())

    own = by_the_network(graph, Settings(weights=weights), see)  # one path a round
    assert taken == paths
    np.testing.assert_array_equal(own.found, answer.found)


def test_the_rounds_of_both_stages_count() -> None:
    # One for the circle that saves something, and one from source to sink.
    ends: dict[str, Any] = {"source": 0, "sink": 2}
    network = CostNetwork.from_arcs(3, [0, 1, 1], [1, 0, 2], [3, 1, 2], [1, -5, 1], **ends)
    answer = solved_alone(network)
    assert answer.found.tolist() == [3, 1, 2] and answer.neural_rounds == 2


def test_huge_numbers_are_exact() -> None:
    big = 2**48
    graph = BipartiteGraph.from_costs([[big, big - 1, np.inf], [big - 2, np.inf, np.inf]])
    answer = solved_alone(graph)
    certificate = certify_cost(graph, answer.found, answer.price)
    assert certificate.is_optimal and certificate.cost == 2 * big - 3 and not certificate.remark
    wide = CostNetwork.from_arcs(2, [0, 0], [1, 1], [2**61, 2**60], [3, -big], source=0, sink=1)
    answer = solved_alone(wide)
    assert answer.found.tolist() == [2**61, 2**60]
    assert certify_cost(wide, answer.found, answer.price).is_optimal


def test_capacities_whose_sums_may_not_fit_are_left_to_the_compiled_loop() -> None:
    for amount, expected in ((2**53, True), (2**53 + 1, False)):
        rest: dict[str, Any] = {"source": 0, "sink": 1}
        assert is_small(CostNetwork.from_arcs(2, [0], [1], [amount], [1], **rest)) == expected
        rest = {"supply": [-amount, amount]}
        assert is_small(CostNetwork.from_arcs(2, [0], [1], [1], [1], **rest)) == expected
    assert is_small(CostNetwork.from_arcs(2, [], [], [], [], source=0, sink=1))


def test_small_graphs_are_solved_so_alone_and_among_others() -> None:
    rng = np.random.default_rng(2)
    small, large = (rng.integers(0, 3, (n, n)).astype(float) for n in (15, 16))
    assert [as_graph(one).num_arcs <= SMALL for one in (small, large)] == [True, False]
    graphs = [as_graph(one) for one in (small, large, small)]
    with pytest.MonkeyPatch.context() as patch:
        run: list[Priced] = []
        patch.setattr(least_cost, "solve_small", lambda some: run.extend(some) or solve_small(some))
        answers = least_cost.solved(graphs)
    assert run == [graphs[0], graphs[2]]
    np.testing.assert_array_equal(answers[0].price, answers[2].price)
    alone = [solve(one, algorithm="assignment") for one in (small, large, small)]
    assert list(solve_batch(graphs)) == [replace(own, retell=None) for own in alone]
    assert {one.engine for one in alone} == {"table"}


def test_it_needs_neither_numba_nor_pytorch() -> None:
    code = """
import sys
from augury import CostNetwork, solve

hours = [("Ann", "cook", 4), ("Ann", "paint", 2), ("Ben", "cook", 8), ("Dana", "paint", 3)]
assert solve(hours, algorithm="assignment").cost == 7
arcs = [("s", "a", 3, 1), ("a", "t", 2, 0), ("s", "t", 1, 5)]
found = solve(CostNetwork.from_labelled_arcs(arcs, source="s", sink="t"))
assert found.cost == 7 and found.is_optimal and found.engine == "table"
sys.exit(bool({"numba", "torch"} & set(sys.modules)))
"""
    subprocess.run([sys.executable, "-c", code], check=True)
