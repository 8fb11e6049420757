"""Answers to many graphs are proven exactly where each is, and certified as each is alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.classical import proofs
from augury.classical.batch import Batch
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.certificate import certify_flow, certify_mates
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.proofs import Several, certify_all, flows_of, matchings_of
from augury.engines.table import match_lists, push_flows
from graphs import BRIDGE, JOBS, NOTHING, STAR, WIDE, bipartite_graphs, networks


def matched(batch: BipartiteBatch) -> Any:
    return match_lists(batch.indptr, batch.columns, batch.left, batch.right).mates


def assert_as_alone(batch: BipartiteBatch, mates: Any) -> None:
    for proven in (matchings_of(batch, mates), proofs._proven(batch, mates)):
        assert_equal(batch, mates, proven)


def assert_equal(batch: BipartiteBatch, mates: Any, proofs: Any) -> None:
    parts = np.split(mates, batch.left[1:-1])
    for number, (graph, own) in enumerate(zip(batch, parts, strict=True)):
        alone = certify_mates(graph, own)
        assert proofs.certificate(number) == alone
        assert proofs.is_proven[number] == alone.is_maximum
        assert (proofs.graph(number), proofs.sizes[number]) == (graph, (own >= 0).sum())
        if alone.is_legal:
            assert proofs.labelled(number) == ("matching", graph.labelled(own))


graph_lists = st.lists(bipartite_graphs(), min_size=1, max_size=6)


@given(graph_lists)
def test_maximum_matchings_have_the_covers_of_each_alone(graphs: list[BipartiteGraph]) -> None:
    batch = BipartiteBatch.of([*graphs, JOBS, NOTHING, STAR])
    mates = matched(batch)
    assert matchings_of(batch, mates).is_proven.all()
    assert_as_alone(batch, mates)


@given(graph_lists, st.integers(0, 99))
def test_one_wrong_matching_is_told_and_spoils_no_other(
    graphs: list[BipartiteGraph], seed: int
) -> None:
    batch = BipartiteBatch.of([JOBS, *graphs])
    rng, mates = np.random.default_rng(seed), matched(batch)
    for wrong in (-1, 0, 1, 99):
        bad = mates.copy()
        bad[rng.integers(len(bad))] = wrong
        assert_as_alone(batch, bad)


@given(graph_lists, st.lists(networks(), max_size=2), st.integers(0, 99))
def test_all_are_certified_at_once_as_each_would_be_alone(
    graphs: list[BipartiteGraph], given: list[FlowNetwork], seed: int
) -> None:
    mates = [matched(BipartiteBatch.of([graph])) for graph in graphs]
    for own in mates[1:]:
        own[np.random.default_rng(seed).random(len(own)) < 0.2] = -1
    found = [*mates, *(np.zeros(network.num_arcs, np.int64) for network in given)]
    order = np.random.default_rng(seed).permutation(len(found))
    mixed = [([*graphs, *given][k], found[k]) for k in order]
    for (graph, own), told in zip(mixed, certify_all(*zip(*mixed, strict=True)), strict=True):
        is_flow = isinstance(graph, FlowNetwork)
        assert told == (certify_flow(graph, own) if is_flow else certify_mates(graph, own))


def test_of_all_each_illegal_matching_is_told_by_its_own_graph() -> None:
    # Right node 2 is a node of the next graph, once they lie side by side.
    mates = [np.array(own) for own in ([0, 1], [0, 0], [2, -1], [0, -2], [0, 1])]
    told = certify_all([JOBS] * len(mates), mates)
    assert told == [certify_mates(JOBS, own) for own in mates]
    assert [one.is_legal for one in told] == [True, False, False, False, True]


def pushed(given: list[FlowNetwork]) -> tuple[Batch, Any]:
    batch = Batch.of(given)
    return batch, push_flows(batch)[0]


def assert_flows_as_alone(given: list[FlowNetwork], batch: Batch, residual: Any) -> None:
    proofs = flows_of(given, batch, residual)
    for number, network in enumerate(given):
        flow = (batch.capacity - residual)[batch.arc_start[number] : batch.arc_start[number + 1]]
        alone = certify_flow(network, flow)
        assert proofs.certificate(number) == alone
        assert proofs.is_proven[number] == alone.is_maximum
        assert proofs.graph(number) is network
        if alone.is_legal:
            assert proofs.sizes[number] == alone.size
            assert proofs.labelled(number) == ("flow", network.labelled(flow))


@given(st.lists(networks(high=WIDE), min_size=1, max_size=6))
def test_maximum_flows_have_the_cuts_of_each_alone(given: list[FlowNetwork]) -> None:
    batch, residual = pushed([*given, BRIDGE])
    assert flows_of([*given, BRIDGE], batch, residual).is_proven.all()
    assert_flows_as_alone([*given, BRIDGE], batch, residual)


@given(st.lists(networks(), min_size=1, max_size=6), st.integers(0, 99))
def test_one_wrong_flow_is_told_and_spoils_no_other(given: list[FlowNetwork], seed: int) -> None:
    networks = [*given, BRIDGE]
    batch, residual = pushed(networks)
    rng = np.random.default_rng(seed)
    for change in (1, -1, 20, -20):
        bad = residual.copy()
        arc = rng.integers(len(bad))
        bad[arc] += change
        assert_flows_as_alone(networks, batch, bad)
        bad[arc ^ 1] -= change  # the pair agrees again
        assert_flows_as_alone(networks, batch, bad)
    for empty in range(len(networks)):  # a legal flow of 0
        own = slice(*batch.arc_start[empty : empty + 2])
        less = residual.copy()
        less[own] = batch.capacity[own]
        assert_flows_as_alone(networks, batch, less)


def test_a_circle_beyond_its_capacity_is_no_flow_though_it_adds_nothing() -> None:
    arcs = [("s", "a", 1), ("a", "b", 1), ("b", "c", 1), ("c", "a", 1), ("d", "t", 1)]
    circle = FlowNetwork.from_labelled_arcs(arcs, "s", "t")
    batch = Batch.of([BRIDGE, circle])
    _, residual = pushed([BRIDGE, circle])
    for tail, head in ("ab", "bc", "ca"):
        ends = (np.array([(circle.labels or ()).index(node)]) for node in (tail, head))
        arc = int(batch.arc_start[1] + circle.arc_index(*ends)[0])
        residual[[arc, arc ^ 1]] += -2, 2
    assert flows_of([BRIDGE, circle], batch, residual).is_proven.tolist() == [True, False]
    assert_flows_as_alone([BRIDGE, circle], batch, residual)


def test_a_wrong_search_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proven depends on the checks alone, whatever the search says it has reached."""
    rng = np.random.default_rng(2)
    graphs = [BipartiteGraph.from_dense(rng.random((4, 3)) < 0.4) for _ in range(300)]
    short = FlowNetwork.from_labelled_arcs([("s", "a", 2**32 + 5), ("a", "t", 5)], "s", "t")
    matchings = BipartiteBatch.of(graphs)
    mates = matched(matchings)
    batch, residual = pushed([short] * 20)
    monkeypatch.setattr(proofs, "reached", lambda start, *_: rng.random(len(start) - 1) < 0.5)
    found = matchings_of(matchings, mates)
    assert 0 < found.is_proven.sum() < 300
    for number in np.flatnonzero(found.is_proven).tolist():
        cover: Any = found.certificate(number).proof
        edges = graphs[number].edges()
        assert all(u in cover.left or v in cover.right for u, v in edges)
        assert len(cover.left) + len(cover.right) == found.sizes[number]
    flows = flows_of([short] * 20, batch, residual)
    cuts = flows.in_cut.reshape(20, 3)
    is_least = (cuts == [True, True, False]).all(axis=1)  # {s} alone is larger by 2**32
    assert flows.is_proven.tolist() == is_least.tolist() and is_least.any()


def test_a_value_beyond_64_bits_is_exact() -> None:
    high = 2**62
    arcs = [("s", k, high) for k in range(5)] + [(k, "t", high) for k in range(5)]
    wide = FlowNetwork.from_labelled_arcs(arcs, "s", "t")
    batch, residual = pushed([BRIDGE, wide])
    proofs = flows_of([BRIDGE, wide], batch, residual)
    assert proofs.sizes.tolist() == [5, 5 * high]
    assert proofs.is_proven.all() and proofs.certificate(1).size == 5 * high


def test_parts_are_read_in_the_order_of_the_graphs() -> None:
    batch, residual = pushed([BRIDGE])
    matchings = BipartiteBatch.of([JOBS, STAR])
    parts = matchings_of(matchings, matched(matchings)), flows_of([BRIDGE], batch, residual)
    several = Several(parts, np.array([[0, 1], [1, 0], [0, 0]]))
    assert several.sizes.tolist() == [1, 5, 2] and several.is_proven.all()
    assert [several.graph(k) for k in range(3)] == [STAR, BRIDGE, JOBS]
    assert [several.certificate(k).size for k in range(3)] == [1, 5, 2]
    assert [several.labelled(k)[0] for k in range(3)] == ["matching", "flow", "matching"]
    assert (several.noun, several._replace(parts=parts[:1]).noun) == ("solution", "matching")


@pytest.mark.parametrize("graphs", [[NOTHING], [NOTHING] * 3])
def test_graphs_without_nodes_are_proven(graphs: list[BipartiteGraph]) -> None:
    proofs = matchings_of(BipartiteBatch.of(graphs), np.zeros(0, np.int32))
    assert proofs.is_proven.all() and proofs.sizes.tolist() == [0] * len(graphs)
