"""Phases find maximum flows by shortest paths, and no executor can make them go astray."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count, islice, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.classical.arrays import WideArray
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    BELLMAN_FORD,
    BREADTH_FIRST,
    PHASES,
    Paths,
    Round,
    Searches,
    Settings,
    Subroutines,
    Verdict,
    Whole,
    ford_fulkerson,
)
from augury.classical.generate import ladder_state, uniform
from augury.classical.network import FlowNetwork
from augury.classical.phases import _in_turn, phases, run_to_end, searched
from graphs import BRIDGE, NETWORKS, networks

BOTH = {"breadth-first": BREADTH_FIRST, "bellman-ford": BELLMAN_FORD}


ALWAYS = replace(PHASES, phases_from=0)


def run(network: FlowNetwork, executor: Subroutines = BREADTH_FIRST) -> list[Round]:
    rounds = phases(Batch.of([network]), executor, [np.random.default_rng(0)], ALWAYS)
    return list(islice(rounds, 1000))  # a run that never ends is a failure, too


def proposing(change: Any) -> Subroutines:
    """Breadth-first search whose phases are changed before they are proposed."""
    whole = Whole(BREADTH_FIRST[:4], lambda *_: lambda *given: change(
        searched(BREADTH_FIRST, *given)))  # fmt: skip
    return BREADTH_FIRST._replace(whole=whole)


def hops(network: FlowNetwork, residual: WideArray) -> int | None:
    """The length of a shortest augmenting path, by NetworkX."""
    usable = np.flatnonzero(residual > 0)
    ends = zip(network.sender[usable].tolist(), network.receiver[usable].tolist(), strict=True)
    graph = nx.DiGraph(list(ends))
    graph.add_nodes_from([network.source, network.sink])
    if not nx.has_path(graph, network.source, network.sink):
        return None
    return int(nx.shortest_path_length(graph, network.source, network.sink))


@given(networks())
def test_every_path_is_a_shortest_augmenting_path_when_it_is_taken(network: FlowNetwork) -> None:
    residual, before = network.capacity.copy(), 0
    for round_ in run(network):
        assert np.array_equal(residual, round_.residual)
        for (first, end), amount in zip(
            pairwise(round_.paths.start.tolist()), round_.bottleneck.tolist(), strict=True
        ):
            arcs = round_.paths.arcs[first:end]
            assert hops(network, residual) == len(arcs)
            assert amount == residual[arcs].min() > 0
            residual[arcs] -= amount
            residual[arcs ^ 1] += amount
        lengths = np.diff(round_.paths.start)
        assert len(set(lengths.tolist())) <= 1
        assert not len(lengths) or lengths[0] > before, "each phase's paths are longer"
        before = lengths[0] if len(lengths) else before
        assert np.array_equal(residual, round_.after)
    assert hops(network, residual) is None


@pytest.mark.parametrize("executor", BOTH.values(), ids=BOTH)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_the_named_networks_are_solved(network: FlowNetwork, executor: Subroutines) -> None:
    last = run(network, executor)[-1]
    ends = network.label(network.source), network.label(network.sink)
    assert network.value(last.after) == nx.maximum_flow_value(network.to_networkx(), *ends)
    assert Verdict(last.verdict[0]) is Verdict.DONE


def test_one_rich_arc_costs_a_search_for_each_path_but_one_phase() -> None:
    arms = 12
    ends = [(0, 1)], [(1, 2 + k) for k in range(arms)], [(2 + k, 2 + arms) for k in range(arms)]
    tail, head = np.array([*ends[0], *ends[1], *ends[2]]).T
    capacity = [100] + [1] * (2 * arms)
    network = FlowNetwork.from_arcs(arms + 3, tail, head, capacity, source=0, sink=arms + 2)
    first, last = run(network)
    assert len(first.paths.graph) == arms == first.led[0]
    assert Verdict(last.verdict[0]) is Verdict.DONE
    residual, rounds, endings = run_to_end(
        Batch.of([network]), BREADTH_FIRST, [np.random.default_rng(0)], ALWAYS
    )
    assert (network.value(residual), rounds.tolist(), endings) == (arms, [arms], ["done"])


@given(st.lists(networks(), min_size=1, max_size=4), st.integers(0, 99), st.sampled_from([*BOTH]))
def test_a_graph_runs_in_a_batch_as_it_does_alone(
    alone: Sequence[FlowNetwork], seed: int, executor: str
) -> None:
    how = replace(PHASES, phases_from=9)  # in phases and in rounds, side by side

    def ended(some: Sequence[FlowNetwork], at: Sequence[int]) -> list[Any]:
        rngs = np.random.default_rng(seed).spawn(len(alone))
        batch = Batch.of(some)
        found, rounds, endings = run_to_end(batch, BOTH[executor], [rngs[k] for k in at], how)
        parts = np.split(found, batch.arc_start[1:-1])
        return [(p.tolist(), r, e) for p, r, e in zip(parts, rounds, endings, strict=True)]

    together = ended(alone, range(len(alone)))
    assert together == [ended([one], [k])[0] for k, one in enumerate(alone)]


def changed_at(found: Searches, number: int, *, proposed: int = 0, kept: int = 0) -> Searches:
    """Add to what the search of this number proposes."""
    on_paths = found.number == number
    on_arcs = found.paths.spread(on_paths)
    return found._replace(
        proposed=found.proposed + proposed * on_paths, kept=found.kept + kept * on_arcs
    )


RICH = FlowNetwork.from_arcs(5, [0, 1, 1, 2, 3], [1, 2, 3, 4, 4], [9, 2, 3, 4, 5], source=0, sink=4)
"""One phase, two searches: 2 by way of node 2 and 3 by way of node 3, in either order."""


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"proposed": 1}, Verdict.WRONG_BOTTLENECK),
        ({"proposed": -1}, Verdict.WRONG_BOTTLENECK),
        ({"kept": 1}, Verdict.WRONG_AUGMENTATION),
    ],
)
def test_a_wrong_proposal_ends_the_run_with_all_before_it(
    number: int, change: dict[str, int], verdict: Verdict
) -> None:
    right = run(RICH)[0]
    [only] = run(RICH, proposing(lambda found: changed_at(found, number, **change)))
    assert Verdict(only.verdict[0]) is verdict
    assert only.bottleneck.tolist() == right.bottleneck.tolist()[:number]
    assert RICH.value(only.after) == sum(right.bottleneck.tolist()[:number])


def test_a_path_is_applied_once_and_not_over_full_arcs() -> None:
    def twice(found: Searches) -> Searches:
        keep = np.arange(len(found.number)).repeat(2)
        lengths = np.diff(found.paths.start)[keep]
        parts = np.split(found.paths.arcs, found.paths.start[1:-1])
        arcs = np.concatenate([parts[k] for k in keep]) if len(keep) else found.paths.arcs
        kept = np.split(found.kept, found.paths.start[1:-1])
        kept = np.concatenate([kept[k] for k in keep]) if len(keep) else found.kept
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        paths = Paths(found.paths.graph[keep], start, arcs)
        return found._replace(paths=paths, number=np.arange(len(keep)), kept=kept,
                              proposed=found.proposed[keep])  # fmt: skip

    [only] = run(RICH, proposing(twice))
    assert Verdict(only.verdict[0]) is Verdict.WRONG_BOTTLENECK
    assert len(only.paths.graph) == 1


def test_a_path_off_the_level_graph_is_not_applied() -> None:
    """0 → 1 → 3 is short; 0 → 1 → 2 → 3 is legal too, but no shortest path of this phase."""
    network = FlowNetwork.from_arcs(4, [0, 1, 1, 2], [1, 3, 2, 3], [9, 1, 2, 2], source=0, sink=3)
    arc = {pair: k for k, pair in enumerate(zip(network.sender, network.receiver, strict=True))}
    long = np.array([arc[0, 1], arc[1, 2], arc[2, 3]], np.int32)

    def longer(found: Searches) -> Searches:
        if found.is_done[0] or len(found.paths.graph) != 1:
            return found
        paths = Paths(
            np.zeros(2, np.int64), np.append(found.paths.start, len(found.paths.arcs) + 3),
            np.concatenate([found.paths.arcs, long]),
        )  # fmt: skip
        kept = np.concatenate([found.kept, [6, 0, 0]])
        return found._replace(
            paths=paths, number=np.array([0, 1]), proposed=np.array([1, 2]), kept=kept
        )

    first, *_ = run(network, proposing(longer))
    assert first.bottleneck.tolist() == [1]
    assert Verdict(first.verdict[0]) is Verdict.WRONG_BOTTLENECK


BACK = FlowNetwork.from_labelled_arcs(
    [(tail, head, int(amount)) for tail, head, amount in
     ["sa2", "sb1", "ac2", "cb1", "bd2", "ct1", "dt2"]], "s", "t",
)  # fmt: skip
"""s → a → c → t and s → b → d → t fill up; s → a → c → b → d → t is for the next phase."""


def test_a_phase_does_not_go_back_a_level() -> None:
    first, second, last = run(BACK)
    assert np.diff(first.paths.start).tolist() == [3, 3]
    assert np.diff(second.paths.start).tolist() == [5]
    assert Verdict(last.verdict[0]) is Verdict.DONE and BACK.value(last.after) == 3


def test_only_graphs_with_enough_arcs_are_searched_again() -> None:
    batch, weights = Batch.of([RICH]), np.ones((1, RICH.num_arcs), np.uint8)
    for phases_from, numbers in ((RICH.num_arcs, [0, 1]), (RICH.num_arcs + 1, [0])):
        found = searched(BREADTH_FIRST, batch, batch.capacity, weights, phases_from)
        assert found.number.tolist() == numbers


@pytest.mark.parametrize("place", [0, 1, -1])
def test_what_is_no_walk_from_source_to_sink_is_not_applied(place: int) -> None:
    other = RICH.arc_index(np.array([2]), np.array([4]))[0]  # on no path by way of node 3

    def broken(found: Searches) -> Searches:
        if not len(found.number):
            return found
        paths = found.paths
        by_three = next(k for k in range(2) if other not in paths.arcs[3 * k : 3 * k + 3])
        arcs = paths.arcs.copy()
        arcs[3 * by_three + place % 3] = other
        return found._replace(paths=Paths(paths.graph, paths.start, arcs))

    [only] = run(RICH, proposing(broken))
    assert Verdict(only.verdict[0]) is Verdict.WRONG_BOTTLENECK
    assert RICH.value(only.after) in (0, 2)


def nothing(found: Searches) -> Searches:
    none = np.zeros(0, np.int64)
    paths = Paths(none, np.zeros(1, np.int64), none.astype(np.int32))
    return Searches(found.tree, found.is_done & False, found.rounds, paths, none, none, none)


def test_only_failures_in_a_row_count() -> None:
    calls = count()

    def sometimes(found: Searches) -> Searches:
        return found if found.is_done[0] or next(calls) % 3 == 2 else nothing(found)

    how = Settings(max_failures=3, many_paths=True, phases_from=0)
    rounds = list(phases(Batch.of([BACK]), proposing(sometimes), [np.random.default_rng(0)], how))
    assert [len(round_.paths.graph) for round_ in rounds] == [0, 0, 2, 0, 0, 1, 0]
    assert Verdict(rounds[-1].verdict[0]) is Verdict.DONE


def test_an_executor_that_finds_nothing_gives_up() -> None:
    how = Settings(max_failures=3, many_paths=True, phases_from=0)
    rngs = [np.random.default_rng(0)]
    rounds = list(phases(Batch.of([BRIDGE]), proposing(nothing), rngs, how))
    assert [Verdict(round_.verdict[0]) for round_ in rounds] == [
        Verdict.GOES_ON, Verdict.GOES_ON, Verdict.GAVE_UP,
    ]  # fmt: skip


def test_the_executor_is_given_read_only_copies() -> None:
    def phase(batch: Batch, residual: WideArray, weights: Any, phases_from: int) -> Searches:
        for array in (residual, weights, batch.capacity, batch.sender):
            assert not array.flags.writeable
        return searched(BREADTH_FIRST, batch, residual, weights)

    executor = BREADTH_FIRST._replace(whole=Whole(BREADTH_FIRST[:4], lambda *_: phase))
    batch = Batch.of([FlowNetwork.from_bipartite(uniform(np.random.default_rng(0), 8))])
    assert list(phases(batch, executor, [np.random.default_rng(0)], PHASES))


def test_a_long_path_is_found() -> None:
    network = ladder_state(np.random.default_rng(3), 60)
    first, last = run(network)
    assert len(first.paths.arcs) >= 60
    assert network.value(last.after) == 1


@given(networks())
def test_without_further_searches_phases_are_rounds_with_many_paths(network: FlowNetwork) -> None:
    batch, rngs = Batch.of([network]), lambda: [np.random.default_rng(0)]
    rounds = list(ford_fulkerson(batch, BREADTH_FIRST, rngs(), Settings(many_paths=True)))
    found = list(phases(batch, BREADTH_FIRST, rngs(), PHASES))
    assert [one.after.tolist() for one in rounds] == [one.after.tolist() for one in found]
    assert [one.led.tolist() for one in rounds] == [one.led.tolist() for one in found]


def told_of(found: Searches, arcs: Sequence[int], proposed: int, kept: Sequence[int]) -> Searches:
    """Propose a single path and nothing else."""
    paths = Paths(np.zeros(1, np.int64), np.array([0, len(arcs)]), np.array(arcs, np.int32))
    one = np.zeros(1, np.int64)
    numbers = one, one + proposed, np.array(kept)
    return Searches(found.tree, found.is_done & False, found.rounds, paths, *numbers)


@pytest.mark.parametrize(("ends", "amount"), [((2, 4), 4), ((0, 1), 9)])
def test_sums_that_are_right_do_not_make_a_walk(ends: tuple[int, int], amount: int) -> None:
    arc = int(RICH.arc_index(*np.array(ends)[:, None])[0])  # into the sink, or from the source
    [only] = run(RICH, proposing(lambda found: told_of(found, [arc], amount, [0])))
    assert Verdict(only.verdict[0]) is Verdict.WRONG_BOTTLENECK
    assert np.array_equal(only.after, RICH.capacity)


def test_a_path_that_carries_nothing_leads_nowhere() -> None:
    full = FlowNetwork.from_arcs(3, [1, 1], [0, 2], [3, 5], source=0, sink=2)
    arcs = full.arc_index(np.array([0, 1]), np.array([1, 2])).tolist()
    rounds = run(
        full, proposing(lambda found: told_of(found, arcs, 0, full.capacity[arcs].tolist()))
    )
    assert Verdict(rounds[-1].verdict[0]) is Verdict.GAVE_UP
    assert not any(len(round_.paths.graph) for round_ in rounds)


def test_what_flows_back_is_there_again() -> None:
    paths = Paths(np.zeros(3, np.int64), np.arange(4), np.array([0, 1, 0], np.int32))
    assert _in_turn(np.array([3, 0]), paths, np.array([2, 1, 2])).tolist() == [3, 2, 2]
