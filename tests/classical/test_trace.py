"""Traces hold every step of every round, as a person would write them down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import BELLMAN_FORD, bellman_ford, ford_fulkerson, reachable
from augury.classical.generate import residual_after, uniform
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.trace import Trace, TracedRound, record
from graphs import BRIDGE, NO_ARCS, networks

GOLDEN = Path(__file__).with_name("golden_trace.txt")

# a ── x     Left a and b, right x and y. Whoever matches a to x first must take it back for b.
#   ╲╱
#   ╱╲
# b    y
TAKEN_BACK = replace(
    FlowNetwork.from_bipartite(BipartiteGraph(2, 2, np.array([0, 0, 1]), np.array([0, 1, 0]))),
    labels=tuple("sabxyt"),
)


def traced(network: FlowNetwork, seed: int = 1, bits: int = 8) -> Trace:
    return record([network], np.random.default_rng(seed), bits)[0]


def test_the_golden_trace() -> None:
    # The file was written by `describe` and then checked by hand from its weights:
    # round 0, step 1: a = 0 + 4, b = 0 + 15. Step 2: x = min(4 + 9 by a, 15 + 3 by b) = 13 by a,
    #   y = 4 + 15 = 19 by a. Step 3: t = min(13 + 2 by x, 19 + 11 by y) = 15 by x. So s a x t, and
    #   these three arcs turn round.
    # round 1: only b is left next to s: 11. x = 11 + 11 = 22. From x only the reverse arc x → a is
    #   left: a = 22 + 8 = 30. y = 30 + 3 = 33, t = 33 + 10 = 43; a → s would make s 31, not less
    #   than 0. The path takes back a → x, whose arc in round 2 points forward again.
    # round 2: both arcs of s are used up, so nothing but s is reached and there is no path.
    assert describe(traced(TAKEN_BACK)) == GOLDEN.read_text()


def is_same(one: TracedRound, other: TracedRound) -> bool:
    names = ("residual", "weights", "distance", "predecessor", "reached", "path", "bottleneck")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


@given(networks(max_nodes=10), st.integers(0, 99))
def test_every_round_is_what_the_algorithm_did(network: FlowNetwork, seed: int) -> None:
    trace = traced(network, seed)
    [rng] = np.random.default_rng(seed).spawn(1)
    rounds = list(ford_fulkerson(Batch.of([network]), BELLMAN_FORD, [rng]))
    assert len(trace.rounds) == len(rounds)
    for told, done in zip(trace.rounds, rounds, strict=True):
        assert np.array_equal(told.residual, done.residual)
        assert np.array_equal(told.weights, done.weights)
        assert np.array_equal(told.path, done.paths.arcs)
        assert [told.bottleneck] == (done.bottleneck.tolist() or [0])
        steps = list(bellman_ford(done.batch, done.residual, done.weights))
        assert np.array_equal(told.distance, [distance for distance, _ in steps])
        assert np.array_equal(told.reached, reachable(done.batch, done.residual))


@given(networks(max_nodes=10), st.integers(0, 99))
def test_steps_are_stored_only_as_far_as_they_change(network: FlowNetwork, seed: int) -> None:
    for told in traced(network, seed).rounds:
        assert len(told.distance) == len(told.predecessor)
        for rows in (told.distance, told.reached):
            changes = (rows[1:] != rows[:-1]).any(axis=1)
            assert changes.all()


@given(networks(max_nodes=10), st.integers(0, 99))
def test_the_source_precedes_itself_and_the_unreached_have_minus_one(
    network: FlowNetwork, seed: int
) -> None:
    for told in traced(network, seed).rounds:
        assert (told.predecessor[:, network.source] == network.source).all()
        assert np.array_equal(told.predecessor < 0, told.distance == 255)
        assert not told.reached[0, np.arange(network.num_nodes) != network.source].any()


@given(networks(max_nodes=10), st.integers(0, 99))
def test_only_the_last_round_has_no_path(network: FlowNetwork, seed: int) -> None:
    *earlier, last = traced(network, seed).rounds
    assert (len(last.path), last.bottleneck) == (0, 0)
    assert last.predecessor[-1, network.sink] == -1
    for told in earlier:
        nodes = [*network.sender[told.path].tolist(), network.sink]
        assert nodes[0] == network.source
        assert told.predecessor[-1, nodes[1:]].tolist() == nodes[:-1]
        assert told.bottleneck == told.residual[told.path].min() > 0


@given(st.lists(networks(), min_size=1, max_size=4), st.integers(0, 99))
def test_a_graph_is_traced_in_a_batch_as_it_is_alone(alone: list[FlowNetwork], seed: int) -> None:
    together = record(alone, np.random.default_rng(seed))
    for position, (network, trace) in enumerate(zip(alone, together, strict=True)):
        assert trace.network is network
        # A network draws from the generator of its position, whoever stands before it.
        others = [NO_ARCS] * position
        single = record([*others, network], np.random.default_rng(seed))[position]
        assert len(single.rounds) == len(trace.rounds)
        assert all(map(is_same, single.rounds, trace.rounds))


def test_the_papers_training_set_has_about_2300_rounds() -> None:
    rng = np.random.default_rng(0)
    graphs = [uniform(rng, 8, p=0.25) for _ in range(300)]
    traces = record([FlowNetwork.from_bipartite(graph) for graph in graphs], rng)
    assert 2200 < sum(len(trace.rounds) for trace in traces) < 2400


def test_a_trace_can_start_from_a_partly_matched_graph() -> None:
    graph = BipartiteGraph(2, 2, np.array([0, 0, 1]), np.array([0, 1, 0]))
    state = residual_after(graph, [(0, 0)])
    trace = traced(state)
    assert np.array_equal(trace.rounds[0].residual, state.capacity)
    assert len(trace.rounds) == 2
    assert len(trace.rounds[0].path) == 5  # the only way leads over the reverse arc
    assert trace.rounds[1].residual[4:10:2].tolist() == [1, 0, 0]  # a–x is free again


@pytest.mark.parametrize(("bits", "dtype"), [(8, np.uint8), (10, np.uint16), (16, np.uint16)])
def test_distances_are_as_wide_as_asked_and_infinity_is_all_ones(bits: int, dtype: type) -> None:
    trace = traced(TAKEN_BACK, bits=bits)
    last = trace.rounds[-1]
    assert last.distance.dtype == dtype
    assert last.distance[0, 1:].tolist() == [2**bits - 1] * 5
    assert "  distance 0  s:0←s a:∞ b:∞ x:∞ y:∞ t:∞\n" in describe(trace)


def test_a_network_without_arcs_has_one_round() -> None:
    assert [len(told.path) for told in traced(NO_ARCS).rounds] == [0]
    assert describe(traced(NO_ARCS)).splitlines()[-1] == "  path none, bottleneck 0"


def test_residuals_of_a_flow_network_are_traced_too() -> None:
    trace = traced(BRIDGE)
    assert sum(told.bottleneck for told in trace.rounds) == 5
    assert record([], np.random.default_rng(0)) == []


def describe(trace: Trace) -> str:
    """Write a trace as text that a person can check by hand."""
    network = trace.network
    ends = zip(network.sender.tolist(), network.receiver.tolist(), strict=True)
    names = [f"{network.label(u)}→{network.label(v)}" for u, v in ends]
    lines = [f"{network.num_nodes} nodes, source {network.label(network.source)}, "
             f"sink {network.label(network.sink)}"]  # fmt: skip
    for number, traced in enumerate(trace.rounds):
        lines.append(f"round {number}")
        usable = np.flatnonzero(traced.residual > 0)
        shown = (f"{names[a]} {traced.residual[a]}/{traced.weights[a]}" for a in usable)
        lines.append("  residual/weight  " + "  ".join(shown))
        for step, (distance, before) in enumerate(
            zip(traced.distance, traced.predecessor, strict=True)
        ):
            shown = (
                f"{network.label(node)}:∞" if before[node] < 0
                else f"{network.label(node)}:{far}←{network.label(int(before[node]))}"
                for node, far in enumerate(distance.tolist())
            )  # fmt: skip
            lines.append(f"  distance {step}  " + " ".join(shown))
        for step, bits in enumerate(traced.reached):
            shown = (str(network.label(int(node))) for node in np.flatnonzero(bits))
            lines.append(f"  reached {step}  " + " ".join(shown))
        path = "  ".join(names[int(arc)] for arc in traced.path) or "none"
        lines.append(f"  path {path}, bottleneck {traced.bottleneck}")
    return "\n".join(lines) + "\n"
