"""Rounds and steps of prices: right on every graph, never other than legal and dual feasible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from augury import BipartiteGraph, CostNetwork
from augury.algorithms.executor import CellExecutor
from augury.classical.answer import How
from augury.classical.ford_fulkerson import Paths, Round, Subroutines, Tree
from augury.classical.least_cost import BREADTH_FIRST, PriceStep, run, solved
from augury.classical.prices import certify_cost
from augury.models import shipped_table
from costs import as_graph, cost_matrices, cost_networks, least_flow, least_matching

CELLS = CellExecutor(shipped_table()).subroutines()


@pytest.mark.parametrize("who", [BREADTH_FIRST, CELLS], ids=["classical", "cells"])
@given(matrix=cost_matrices())
@settings(max_examples=60)
def test_matchings_are_largest_and_of_least_cost(who: Subroutines, matrix: np.ndarray) -> None:
    graph = as_graph(matrix)
    [answer] = run([graph], who, How())
    assert answer.ending == "done" and (who is BREADTH_FIRST or not answer.classical_rounds)
    certificate = certify_cost(graph, answer.found, answer.price)
    assert certificate.is_optimal and not certificate.remark
    assert (certificate.size, certificate.cost) == least_matching(matrix)


@pytest.mark.parametrize("who", [BREADTH_FIRST, CELLS], ids=["classical", "cells"])
@given(network=cost_networks())
@settings(max_examples=60)
def test_flows_are_of_least_cost_or_proven_impossible(
    who: Subroutines, network: CostNetwork
) -> None:
    expected = least_flow(network)
    [answer] = run([network], who, How())
    assert answer.ending == "done" and (who is BREADTH_FIRST or not answer.classical_rounds)
    certificate = certify_cost(network, answer.found, answer.price)
    if expected is None:
        assert certificate.is_infeasible
    else:
        assert certificate.is_optimal and not certificate.remark
        assert (certificate.size, certificate.cost) == expected


def test_graphs_side_by_side_are_solved_as_if_alone() -> None:
    rng = np.random.default_rng(0)
    graphs: list[Any] = [
        BipartiteGraph.from_costs(rng.integers(0, 9, rng.integers(1, 6, 2))) for _ in range(5)
    ]
    arcs = [("s", "a", 3, 1), ("a", "t", 2, 0), ("s", "t", 1, 5), ("a", "s", 2, -1)]
    graphs.insert(2, CostNetwork.from_labelled_arcs(arcs, source="s", sink="t"))
    for together, graph in zip(run(graphs, CELLS, How(seed=3)), graphs, strict=True):
        [alone] = run([graph], CELLS, How(seed=3))
        assert together.found.tolist() == alone.found.tolist()
        assert together.price is not None and alone.price is not None
        assert together.price.tolist() == alone.price.tolist()


def test_progress_ends_with_all_graphs_finished() -> None:
    graphs = [BipartiteGraph.from_costs([[2, 1], [1, 3]]), BipartiteGraph.from_costs([[1]])]
    seen: list[Any] = []
    run(graphs, BREADTH_FIRST, How(progress=seen.append))
    assert seen[-1].finished == 2 and seen[-1].size == 3


HARD = {
    "all equal": np.full((60, 60), 7),
    "rank one": np.outer(np.arange(1, 17), np.arange(1, 17)),
    "very different": np.power(10, np.arange(36) % 16).reshape(6, 6),
    "long chain": np.where(np.eye(30) + np.eye(30, k=1) > 0, np.arange(30)[:, None], np.inf),
    "nearly infeasible": np.where(np.tri(25) > 0, np.arange(25)[::-1], np.inf),
    "at the bound": np.array([[2**51 - 1, -(2**51)], [-(2**51), 2**51 - 1]]),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_instances(name: str) -> None:
    matrix = HARD[name]
    graph = as_graph(matrix)
    [answer] = run([graph], CELLS, How())
    assert answer.ending == "done" and not answer.classical_rounds
    certificate = certify_cost(graph, answer.found, answer.price)
    assert certificate.is_optimal
    assert (certificate.size, certificate.cost) == least_matching(matrix)


def off_by_one(own: Subroutines, what: str, when: int) -> Subroutines:
    """Return subroutines of which one answers wrongly after some calls."""
    calls = 0

    def spoilt(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        found = getattr(own, what)(*args)
        if calls < when:
            return found
        if what == "search":
            arc = found.arc.copy()
            arc[np.flatnonzero(arc >= 0)[:1]] = -1
            return Tree(arc, found.memory)
        return ~found if what == "is_done" else found + 1

    return own._replace(**{what: spoilt})


@pytest.mark.parametrize("what", Subroutines._fields[:4])
@pytest.mark.parametrize("when", [1, 4])
def test_whatever_an_executor_says_every_state_is_legal_and_a_run_can_be_finished(
    what: str, when: int
) -> None:
    rng = np.random.default_rng(when)
    for _ in range(10):
        graph = BipartiteGraph.from_costs(rng.integers(-9, 10, (5, 6)))
        seen: list[Round[Any] | PriceStep] = []
        rngs = [np.random.default_rng(0)]
        wrong = off_by_one(CELLS, what, when)
        [own] = solved([graph], wrong, rngs, exact=False, see=seen.append)
        for event in seen:
            if isinstance(event, PriceStep):
                state = event.after
                assert (state.residual >= 0).all()
                assert (state.reduced >= state.half)[state.residual > 0].all()
                assert (state.reduced + state.reduced[np.arange(len(state.reduced)) ^ 1]
                        == 2 * state.half).all()  # fmt: skip
        claimed = certify_cost(graph, own.found, own.price)
        assert claimed.is_legal and (own.ending != "done") >= (not claimed.is_optimal)
        [finished] = run([graph], off_by_one(CELLS, what, when), How())
        assert certify_cost(graph, finished.found, finished.price).is_optimal


def test_an_executor_that_writes_into_what_it_is_given_changes_nothing() -> None:
    def vandal(batch: Any, residual: Any, paths: Paths, *rest: Any) -> Any:
        answer = CELLS.bottleneck(batch, residual, paths, *rest)
        for array in (residual, paths.arcs, paths.start, batch.sender):
            array.flags.writeable = True
            array[:] = 0
        return answer

    graph = BipartiteGraph.from_costs([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    spoilt = CELLS._replace(bottleneck=vandal)
    [own], [finished] = (run([graph], spoilt, How(exact=exact)) for exact in (False, True))
    assert certify_cost(graph, own.found).is_legal
    assert certify_cost(graph, finished.found).cost == 5
