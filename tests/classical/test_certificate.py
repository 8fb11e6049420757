"""Certificates prove maximality, quantify a shortfall, and reject illegal answers."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import maximum_bipartite_matching

from augury.classical import certificate as module
from augury.classical.arrays import MAX_CAPACITY
from augury.classical.certificate import (
    Certificate,
    Cover,
    Cut,
    certify,
    certify_amounts,
    certify_flow,
    certify_mates,
    certify_pairs,
)
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from graphs import (
    BOTH_WAYS,
    BRIDGE,
    ISOLATED,
    JOBS,
    NETWORKS,
    NO_ARCS,
    NOTHING,
    WIDE,
    bipartite_graphs,
    networks,
)


@pytest.fixture(params=["in plain Python", "by arrays"], autouse=True, scope="module")
def searched(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small graphs are searched in plain Python, large ones by arrays: here all, in either way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALL", -1 if request.param == "by arrays" else 2**11)
        yield


def scipy_matching(graph: BipartiteGraph) -> list[tuple[int, int]]:
    """Somebody else's maximum matching: a certificate must not need ours."""
    partner = maximum_bipartite_matching(graph.to_scipy(), perm_type="column")
    return [(left, int(right)) for left, right in enumerate(partner) if right >= 0]


def check_cover(graph: BipartiteGraph, certificate: Certificate) -> None:
    assert isinstance(certificate.proof, Cover)
    left, right = set(certificate.proof.left), set(certificate.proof.right)
    assert all(u in left or v in right for u, v in graph.edges())
    assert len(left) + len(right) == certificate.maximum


@given(st.data(), bipartite_graphs())
def test_a_matching_without_k_of_its_pairs_is_k_short(
    data: st.DataObject, graph: BipartiteGraph
) -> None:
    best = scipy_matching(graph)
    k = data.draw(st.integers(0, len(best)))
    kept = data.draw(st.permutations(best))[k:]
    certificate = certify(graph, kept)
    assert certificate.is_legal
    assert (certificate.size, certificate.maximum) == (len(best) - k, len(best))
    assert certificate.shortfall == k
    assert certificate.is_maximum == (k == 0)
    check_cover(graph, certificate)


@given(bipartite_graphs())
def test_labels_are_those_of_the_user(graph: BipartiteGraph) -> None:
    names = [f"l{i}" for i in range(graph.num_left)], [f"r{i}" for i in range(graph.num_right)]
    named = BipartiteGraph(graph.num_left, graph.num_right, graph.left, graph.right, *names)
    certificate = certify(named, [(f"l{u}", f"r{v}") for u, v in scipy_matching(graph)])
    assert certificate.is_maximum
    check_cover(named, certificate)


@pytest.mark.parametrize(
    ("matching", "fault"),
    [
        ([("ann", "sing")], "there is no edge between 'ann' and 'sing'"),
        ([("ann", "cook"), ("bob", "cook")], "the right node 'cook' is matched twice"),
        ([("bob", "cook"), ("bob", "sing")], "the left node 'bob' is matched twice"),
        ([("ann", "cook"), ("bob", "sing")] * 2, "the left node 'ann' is matched twice"),
        ([("zoe", "cook")], "'zoe' is not a left node"),
        ([("ann", "ann")], "'ann' is not a right node"),
        ([("ann",)], "entry 0, ('ann',), is not (left, right)"),
        ([7], "entry 0, 7, is not (left, right)"),
        ([(["ann"], "cook")], "entry 0, (['ann'], 'cook'), is not (left, right)"),
    ],
)
def test_an_illegal_matching_is_refused_with_the_reason(matching: Any, fault: str) -> None:
    certificate = certify(JOBS, matching)
    assert certificate.fault == fault
    assert not certificate.is_legal
    assert not certificate.is_maximum
    assert certificate.shortfall is certificate.maximum is certificate.proof is None
    assert certificate.to_dict()["fault"] == fault
    assert repr(certificate) == f"Certificate(not legal: {fault})"


@pytest.mark.parametrize(
    ("pairs", "fault"),
    [
        ([[2, 0]], "pair 0 names left node 2, but there are 2"),
        ([[0, 0], [1, -1]], "pair 1 names right node -1, but there are 2"),
        ([0, 1], "a matching is rows of a left and a right node number"),
        ([[0.0, 0.0]], "a matching is rows of a left and a right node number"),
    ],
)
def test_illegal_rows_of_numbers_are_refused(pairs: Any, fault: str) -> None:
    assert certify_pairs(JOBS, np.array(pairs)).fault == fault


@pytest.mark.parametrize(
    ("mates", "fault"),
    [
        ([0, 2], "the mate of 'bob' is right node 2, but there are 2"),
        ([-2, 0], "the mate of 'ann' is right node -2, but there are 2"),
        ([1, 0], "there is no edge between 'ann' and 'sing'"),
        ([0, 0], "the right node 'cook' is matched twice"),
        ([0], "a matching is the number of each left node's mate, −1 for none"),
        ([0.0, 1.0], "a matching is the number of each left node's mate, −1 for none"),
        ([[0, 1]], "a matching is the number of each left node's mate, −1 for none"),
    ],
)
def test_illegal_mates_are_refused(mates: Any, fault: str) -> None:
    certificate = certify_mates(JOBS, np.array(mates))
    assert (certificate.fault, certificate.maximum) == (fault, None)


def test_what_is_told_of_a_matching() -> None:
    certificate = certify(JOBS, [("bob", "cook")])
    told = certificate.to_dict()
    assert told.pop("cover")
    assert told == {"legal": True, "maximum": False, "size": 1, "shortfall": 1}
    assert {type(told["size"]), type(told["shortfall"])} == {int}  # JSON knows no other
    assert repr(certify(ISOLATED, [(0, 0), (1, 2)])) == "Certificate(legal and maximum, 2)"


def test_labels_that_nobody_has_asked_for_are_equal_hashed_and_pickled() -> None:
    first, second = (certify(JOBS, [("ann", "cook"), ("bob", "sing")]) for _ in range(2))
    assert first == second
    assert hash(first.proof) == hash(second.proof)
    assert repr(first.proof) == "Cover(left=('ann', 'bob'), right=())"
    for claimed in (certify(JOBS, [("bob", "sing")]), certify_flow(BRIDGE, [])):
        assert pickle.loads(pickle.dumps(claimed)) == claimed


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_a_matching_may_be_of_any_integer_type(dtype: type[Any]) -> None:
    assert certify_pairs(JOBS, np.array([[0, 0], [1, 1]], dtype)).is_maximum
    assert certify_pairs(JOBS, np.array([[1, 0]], dtype)).shortfall == 1
    assert "left node 2, but" in certify_pairs(JOBS, np.array([[2, 0]], dtype)).fault


def networkx_flow(network: FlowNetwork) -> tuple[int, list[tuple[Any, Any, int]]]:
    ends = network.label(network.source), network.label(network.sink)
    value, flow = nx.maximum_flow(network.to_networkx(), *ends)
    return int(value), [(u, v, amount) for u, out in flow.items() for v, amount in out.items()]


def check_cut(network: FlowNetwork, certificate: Certificate) -> None:
    assert isinstance(certificate.proof, Cut)
    side = set(certificate.proof.source_side)
    assert network.label(network.source) in side
    assert network.label(network.sink) not in side
    leaving = sum(c for u, v, c in network.arcs() if u in side and v not in side)
    assert leaving == certificate.proof.capacity == certificate.maximum


@pytest.mark.parametrize("high", [9, WIDE])
@given(data=st.data())
def test_somebody_elses_maximum_flow_is_certified(data: st.DataObject, high: int) -> None:
    network = data.draw(networks(high=high))
    value, flow = networkx_flow(network)
    certificate = certify_flow(network, flow)
    assert certificate.fault == ""
    assert certificate.is_maximum
    assert certificate.size == value
    check_cut(network, certificate)


@given(networks(high=WIDE))
def test_the_empty_flow_is_short_of_everything(network: FlowNetwork) -> None:
    certificate = certify_flow(network, np.zeros(network.num_arcs, np.int64))
    assert certificate.shortfall == networkx_flow(network)[0]
    check_cut(network, certificate)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_the_named_networks_are_certified(network: FlowNetwork) -> None:
    assert certify_flow(network, networkx_flow(network)[1]).is_maximum


def test_empty_graphs_have_empty_maximum_answers() -> None:
    assert certify(NOTHING, []).is_maximum
    assert certify_flow(NO_ARCS, []).is_maximum
    assert certify_flow(NO_ARCS, np.zeros(0, np.int64)).is_maximum
    assert certify(BipartiteGraph(3, 2, np.zeros(0, int), np.zeros(0, int)), []).maximum == 0


@pytest.mark.parametrize(
    ("flow", "fault"),
    [
        ([("s", "a", 4), ("a", "t", 4)], "from 's' to 'a' carries 4, but its capacity is 3"),
        ([("s", "a", 1)], "flow is not preserved at 'a'"),
        ([("a", "t", 1)], "flow is not preserved at 'a'"),
        ([("a", "s", 1)], "the arc from 'a' to 's' carries 1, but its capacity is 0"),
        (
            [("s", "a", 5), ("a", "s", 2), ("a", "t", 2), ("a", "b", 1), ("b", "t", 1)],
            "the arc from 's' to 'a' carries 5, but its capacity is 3",
        ),
        (
            [("s", "a", 3), ("a", "s", 2), ("a", "t", 1)],
            "the arc from 'a' to 's' carries 2, but its capacity is 0",
        ),
        ([("s", "a", -1)], "the flow from 's' to 'a' is -1, which is negative"),
        ([("s", "a", 0.5)], "is 0.5, not a whole number"),
        ([("s", "t", 1)], "there is no arc from 's' to 't'"),
        ([("s", "q", 1)], "'q' is not a node"),
        ([("s", "a")], "expected (tail, head, amount)"),
        ([3], "expected (tail, head, amount)"),
        ([("s", "a", MAX_CAPACITY), ("s", "a", MAX_CAPACITY)], "beyond 64 bits"),
        (np.zeros(4, np.int64), "a flow is a whole number for each of the 10 arcs"),
        (np.zeros((10, 1), np.int64), "a flow is a whole number for each of the 10 arcs"),
        (np.zeros(10), "a flow is a whole number for each of the 10 arcs"),
        (np.array([1] + [0] * 9), "and its reverse disagree on the flow"),
        (np.array([0, -1] + [0] * 8), "and its reverse disagree on the flow"),
    ],
)
def test_an_illegal_flow_is_refused_with_the_reason(flow: Any, fault: str) -> None:
    certificate = certify_flow(BRIDGE, flow)
    assert fault in certificate.fault
    assert certificate.maximum is None


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_a_flow_may_be_of_any_integer_type(dtype: type[Any]) -> None:
    amounts = BRIDGE.amounts_from(networkx_flow(BRIDGE)[1])
    flow = (amounts - amounts.reshape(-1, 2)[:, ::-1].reshape(-1)).astype(dtype)
    certificate = certify_flow(BRIDGE, flow)
    assert certificate.is_maximum
    assert type(certificate.size) is int


def test_unsigned_flows_are_compared_exactly() -> None:
    assert certify_flow(BOTH_WAYS, np.zeros(2, np.uint64)).shortfall == 4
    whole = FlowNetwork.from_arcs(2, [0], [1], [MAX_CAPACITY], source=0, sink=1)
    fault = certify_flow(whole, np.array([2**63, 2**63], np.uint64)).fault
    assert fault.startswith("the arc from 0 to 1 carries 9223372036854775808")


def test_sums_that_wrap_around_64_bits_are_no_conservation() -> None:
    # Four times 2**62 flows into node 5 and nothing out of it: as int64, the sum would be 0.
    tail, head = [0, 0, 0, 0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 5, 5, 5, 6]
    network = FlowNetwork.from_arcs(7, tail, head, [WIDE] * 9, source=0, sink=6)
    flow = [(u, v, WIDE) for u, v in zip(tail[:8], head[:8], strict=True)]
    assert certify_flow(network, flow).fault == "flow is not preserved at 5"
    honest = [(0, 1, WIDE), (1, 5, WIDE), (5, 6, WIDE)]
    assert certify_flow(network, honest).is_maximum


def test_a_value_beyond_64_bits_is_certified() -> None:
    # Into the sink of four nodes, 2**62 each: the value 2**64 passes int64.
    tail, head = [0, 0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 5, 5, 5, 5]
    network = FlowNetwork.from_arcs(6, tail, head, [WIDE] * 8, source=0, sink=5)
    flow = [(u, v, WIDE) for u, v in zip(tail, head, strict=True)]
    certificate = certify_flow(network, flow)
    assert certificate.is_maximum
    assert certificate.size == 2**64
    assert certify_flow(network, []).shortfall == 2**64


def test_the_smallest_int64_is_not_its_own_reverse() -> None:
    flow = np.array([-(2**63), -(2**63)])
    assert "disagree" in certify_flow(BOTH_WAYS, flow).fault


def test_each_of_two_opposite_arcs_has_its_own_capacity() -> None:
    there_and_back = [("s", "t", 4), ("t", "s", 9)]  # 4 and 9 are what they can carry
    certificate = certify_flow(BOTH_WAYS, there_and_back)
    assert (certificate.is_legal, certificate.size, certificate.shortfall) == (True, -5, 9)
    for tail, head, most in there_and_back:
        other = [arc for arc in there_and_back if arc[0] == head]
        claims = [(tail, head, most - 1), (tail, head, 2), *other]  # the net flow is small enough
        assert (
            f"{tail!r} to {head!r} carries {most + 1}, but" in certify_flow(BOTH_WAYS, claims).fault
        )


@given(networks(high=9), st.data())
def test_a_flow_that_passes_lets_every_arc_keep_its_capacity(
    network: FlowNetwork, data: st.DataObject
) -> None:
    _, flow = networkx_flow(network)
    ends = list(zip(network.sender.tolist(), network.receiver.tolist(), strict=True))
    if not ends:
        return
    tail, head = data.draw(st.sampled_from(ends))
    extra = data.draw(st.integers(1, 9))  # there and back: no net flow changes
    claimed = [*flow, (tail, head, extra), (head, tail, extra)]
    carried: dict[Any, int] = {}
    for u, v, amount in claimed:
        carried[u, v] = carried.get((u, v), 0) + amount
    capacity = {(u, v): amount for u, v, amount in network.arcs()}
    fits = all(amount <= capacity.get(arc, 0) for arc, amount in carried.items())
    certificate = certify_flow(network, claimed)
    assert certificate.is_legal == fits
    assert certificate.is_maximum == fits


def test_amounts_are_whole_numbers_of_every_arc_and_not_negative() -> None:
    assert certify_amounts(BRIDGE, np.zeros(10, np.int64)).shortfall == 5
    wrong_ones: list[Any] = [np.zeros(4, np.int64), np.zeros(10), np.array([0, -1] + [0] * 8)]
    for wrong in wrong_ones:
        assert "a whole number of at least 0" in certify_amounts(BRIDGE, wrong).fault


def test_a_small_integer_type_is_summed_beyond_its_own_range() -> None:
    tail, head = [0, 0, 1, 2], [1, 2, 3, 3]
    network = FlowNetwork.from_arcs(4, tail, head, [100] * 4, source=0, sink=3)
    flow = np.where(network.capacity > 0, 100, -100).astype(np.int8)
    assert certify_flow(network, flow).size == 200
    flow[:2] = 0
    assert certify_flow(network, flow).fault == "flow is not preserved at 1"


def test_a_flow_backwards_is_legal_and_short() -> None:
    certificate = certify_flow(BOTH_WAYS, [("t", "s", 9)])
    assert (certificate.size, certificate.maximum, certificate.shortfall) == (-9, 4, 13)


def test_certificates_owe_nothing_to_a_solver() -> None:
    tree = ast.parse(Path(module.__file__).read_text())
    froms = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    ours = {name for name in froms | names if name and name.startswith("augury")}
    rest = "arrays", "costs", "cuts", "faults", "graph", "network"
    assert ours == {f"augury.classical.{name}" for name in rest} | {"augury.errors"}


def test_a_sentence_names_up_to_twenty_nodes() -> None:
    assert module.listed(range(20)).count(",") == 19
    assert module.listed(range(21)) == module.listed([]) == ""
