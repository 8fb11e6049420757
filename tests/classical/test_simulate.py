"""Every decision of a run is counted, and each mistake is attributed to its subroutine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from augury.classical.arrays import BoolArray, WideArray
from augury.classical.batch import Batch
from augury.classical.certificate import certify_flow
from augury.classical.ford_fulkerson import (
    BELLMAN_FORD,
    BREADTH_FIRST,
    Paths,
    Settings,
    Subroutines,
    Tree,
    Verdict,
    WeightArray,
)
from augury.classical.network import FlowNetwork
from augury.classical.simulate import DECISIONS, Run, maximum_values, simulate
from graphs import BRIDGE, NETWORKS, NO_ARCS, networks


def generators(count: int) -> list[np.random.Generator]:
    return np.random.default_rng(0).spawn(count)


def run(subroutines: Subroutines, settings: Settings | None = None) -> Run:
    """Run the bridge, which needs at least two rounds and then one that finds nothing."""
    return simulate([BRIDGE], subroutines, generators(1), settings)[0]


@given(st.lists(networks(), min_size=1, max_size=4), st.sampled_from([BELLMAN_FORD, BREADTH_FIRST]))
def test_the_classical_executors_are_always_right(
    alone: list[FlowNetwork], executor: Subroutines
) -> None:
    runs = simulate(alone, executor, generators(len(alone)))
    for network, found in zip(alone, runs, strict=True):
        assert found.is_right and found.error == 0
        assert found.ending == Verdict.DONE
        assert found.wrong == dict.fromkeys(DECISIONS, 0)
        nothing = np.zeros(network.num_arcs, np.int64)
        assert found.maximum == certify_flow(network, nothing).maximum
        # Each round but the last searches, finds a path, and augments along it.
        paths = found.rounds - 1
        asked = {"search": paths, "reach": found.rounds, "bottleneck": paths}
        assert found.asked == {**asked, "empty_path": 0, "augmentation": paths}


def test_a_search_that_fails_once_is_counted_once_and_tried_again() -> None:
    calls: list[int] = []

    def search(batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree:
        calls.append(1)
        tree = BELLMAN_FORD.search(batch, residual, weights)
        return Tree(np.full_like(tree.arc, -1)) if len(calls) == 2 else tree

    def is_done(
        batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree, /
    ) -> BoolArray:
        return BELLMAN_FORD.search(batch, residual, weights).arc[batch.sink] < 0

    found = run(BELLMAN_FORD._replace(search=search, is_done=is_done))
    assert found.is_right
    assert found.asked["search"] == found.rounds - 1
    assert found.wrong == {**dict.fromkeys(DECISIONS, 0), "search": 1}
    assert found.asked["bottleneck"] == found.rounds - 2


def test_a_saturated_path_is_a_wrong_search_whose_empty_bottleneck_may_be_seen() -> None:
    def search(batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree:
        return BELLMAN_FORD.search(batch, np.ones_like(residual), weights)

    def never(batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree, /) -> BoolArray:
        return np.zeros(batch.num_graphs, np.bool_)

    found = run(BELLMAN_FORD._replace(search=search, is_done=never), Settings(max_failures=3))
    assert found.ending == Verdict.GAVE_UP
    assert found.asked["empty_path"] >= 3
    assert found.wrong["empty_path"] == found.wrong["bottleneck"] == 0
    # Every empty path is a failed search, but for those where nothing was left to find.
    left = found.asked["search"]
    assert found.asked["bottleneck"] == found.rounds >= left
    assert found.wrong["search"] == found.asked["empty_path"] - (found.rounds - left)
    assert found.wrong["reach"] == found.rounds - left


def test_an_executor_that_never_says_done_is_wrong_about_reach_once_nothing_is_left() -> None:
    found = run(
        BELLMAN_FORD._replace(is_done=lambda batch, *_: np.zeros(batch.num_graphs, np.bool_)),
        Settings(max_failures=3),
    )
    assert found.is_right and found.ending == Verdict.GAVE_UP
    assert found.wrong == {**dict.fromkeys(DECISIONS, 0), "reach": 3}


def test_an_executor_that_is_done_too_early_is_wrong_about_reach() -> None:
    def at_once(
        batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree, /
    ) -> BoolArray:
        return np.ones(batch.num_graphs, np.bool_)

    found = run(BELLMAN_FORD._replace(is_done=at_once))
    assert (found.value, found.maximum, found.error) == (0, 5, 5)
    assert (found.ending, found.rounds) == (Verdict.DONE, 1)
    assert found.asked == {**dict.fromkeys(DECISIONS, 0), "reach": 1}
    assert found.wrong == {**dict.fromkeys(DECISIONS, 0), "reach": 1}


def test_a_wrong_bottleneck_ends_the_run_and_counts() -> None:
    def one_more(batch: Batch, residual: WideArray, paths: Paths, tree: Tree, /) -> WideArray:
        return paths.smallest(residual) + 1

    found = run(BELLMAN_FORD._replace(bottleneck=one_more))
    assert (found.ending, found.rounds, found.value) == (Verdict.WRONG_BOTTLENECK, 1, 0)
    assert found.wrong == {**dict.fromkeys(DECISIONS, 0), "bottleneck": 1}
    assert found.asked["augmentation"] == 0


def test_a_wrong_augmentation_ends_the_run_and_counts_once() -> None:
    def keep_all(
        batch: Batch, residual: WideArray, paths: Paths, bottleneck: WideArray, tree: Tree, /
    ) -> WideArray:
        return residual[paths.arcs]

    found = run(BELLMAN_FORD._replace(augment=keep_all))
    assert (found.ending, found.rounds, found.value) == (Verdict.WRONG_AUGMENTATION, 1, 0)
    assert found.wrong == {**dict.fromkeys(DECISIONS, 0), "augmentation": 1}
    assert found.asked["augmentation"] == found.asked["bottleneck"] == 1


def test_one_graphs_mistake_is_not_another_graphs() -> None:
    def first_is_wrong(batch: Batch, residual: WideArray, paths: Paths, tree: Tree, /) -> WideArray:
        return paths.smallest(residual) + (batch.graphs[paths.graph] == 1)

    alone = list(NETWORKS.values())[:3]
    runs = simulate(alone, BELLMAN_FORD._replace(bottleneck=first_is_wrong), generators(3))
    assert [found.wrong["bottleneck"] for found in runs] == [0, 1, 0]
    assert [found.is_right for found in runs] == [True, False, True]


def test_known_maxima_are_used_to_judge_and_for_nothing_else() -> None:
    alone = list(NETWORKS.values())
    true = simulate(alone, BELLMAN_FORD, generators(len(alone)))
    poisoned = [99 - found.maximum for found in true]
    told = simulate(alone, BELLMAN_FORD, generators(len(alone)), maxima=poisoned)
    assert [found.maximum for found in told] == poisoned
    assert [replace(found, maximum=0) for found in told] == [
        replace(found, maximum=0) for found in true
    ]
    zeros = simulate([NO_ARCS], BELLMAN_FORD, generators(1), maxima=np.zeros(1, np.int64).tolist())
    assert zeros[0].is_right


def test_maxima_of_the_named_networks() -> None:
    values = dict(zip(NETWORKS, maximum_values(list(NETWORKS.values())), strict=True))
    expected = {"bridge": 5, "straight": 8, "both ways": 4, "no arcs": 0}
    assert values == {**expected, "jobs": 2, "star": 1, "isolated": 2, "nothing": 0}
    assert maximum_values([]) == simulate([], BELLMAN_FORD, []) == []
