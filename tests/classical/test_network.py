"""Networks store arcs in pairs with exact capacities, and reject what is not a network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from augury import solve
from augury.classical import network as module
from augury.classical.arrays import MAX_CAPACITY, as_capacities
from augury.classical.network import FlowNetwork
from augury.errors import InputError
from graphs import BOTH_WAYS, BRIDGE, ISOLATED, JOBS, NETWORKS, NO_ARCS, WIDE, networks


def two_nodes(*arcs: tuple[int, int, Any]) -> FlowNetwork:
    tail, head, capacity = zip(*arcs, strict=True)
    return FlowNetwork.from_arcs(2, tail, head, list(capacity), source=0, sink=1)


@given(networks(high=WIDE))
def test_arc_xor_1_is_the_reverse_and_no_two_pairs_join_the_same_nodes(net: FlowNetwork) -> None:
    arcs = np.arange(net.num_arcs)
    assert np.array_equal(net.sender[arcs ^ 1], net.receiver[arcs])
    pairs = {
        frozenset(pair) for pair in zip(net.sender.tolist(), net.receiver.tolist(), strict=True)
    }
    assert len(pairs) == net.num_arcs // 2
    assert all(len(pair) == 2 for pair in pairs)
    assert (net.sender.dtype, net.capacity.dtype) == (np.int32, np.int64)
    for array in (net.sender, net.receiver, net.capacity):
        assert not array.flags.writeable


@given(networks(high=WIDE))
def test_the_even_arc_of_a_pair_has_capacity_if_any_has(net: FlowNetwork) -> None:
    assert ((net.capacity[::2] > 0) | (net.capacity[1::2] == 0)).all()


@given(st.data(), networks(high=5))
def test_from_arcs_keeps_every_capacity_whatever_the_order(
    data: st.DataObject, net: FlowNetwork
) -> None:
    arcs = data.draw(st.permutations(list(net.arcs())))
    tail, head, capacity = (
        (list(column) for column in zip(*arcs, strict=True)) if arcs else ([],) * 3
    )
    ends: Any = {"source": net.source, "sink": net.sink}
    again = FlowNetwork.from_arcs(net.num_nodes, tail, head, capacity, **ends)
    assert list(again.arcs()) == list(net.arcs())


@given(networks(high=WIDE))
def test_dense_scipy_and_networkx_give_the_network_back(net: FlowNetwork) -> None:
    arcs = sorted(net.arcs())  # type: ignore[type-var]
    ends = net.source, net.sink
    for back in (
        FlowNetwork.from_dense(net.to_dense(), *ends),
        FlowNetwork.from_scipy(net.to_scipy(), *ends),
        FlowNetwork.from_networkx(net.to_networkx(), *ends),
        FlowNetwork.from_labelled_arcs(net.arcs(), *ends, range(net.num_nodes)),
    ):
        assert sorted(back.arcs()) == arcs  # type: ignore[type-var]
        assert (back.source, back.sink, back.num_nodes) == (*ends, net.num_nodes)


def test_labels_survive_networkx() -> None:
    back = FlowNetwork.from_networkx(BRIDGE.to_networkx(), "s", "t")
    assert back == BRIDGE
    assert back != NO_ARCS
    assert back != "a network"
    assert repr(back) == "FlowNetwork(4 nodes, 5 arc pairs, s → t)"


def test_the_network_of_a_graph_has_the_places_that_it_documents() -> None:
    net = FlowNetwork.from_bipartite(ISOLATED)
    assert (net.num_nodes, net.source, net.sink) == (8, 0, 7)
    forward = list(zip(net.sender[::2].tolist(), net.receiver[::2].tolist(), strict=True))
    assert forward == [(0, 1), (0, 2), (0, 3), (1, 4), (2, 6), (4, 7), (5, 7), (6, 7)]
    assert net.capacity.tolist() == [1, 0] * 8


def test_parallel_arcs_add_antiparallel_ones_share_a_pair_and_self_loops_vanish() -> None:
    net = two_nodes((0, 1, 3), (0, 1, 4), (1, 0, 5), (0, 0, 9), (1, 1, 9))
    assert net.num_arcs == 2
    assert list(net.arcs()) == [(0, 1, 7), (1, 0, 5)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([3, -1], "capacity 1 is -1, which is negative"),
        ([1.5], "capacity 0 is 1.5, not a whole number"),
        ([1, float("nan")], "capacity 1 is nan, not a whole number"),
        ([float("inf")], "capacity 0 is inf, not a whole number"),
        ([2**63], "capacity 0 is 9223372036854775808, beyond 64 bits"),
        ([1, 2**70], "capacity 1 is 1180591620717411303424, beyond 64 bits"),
        (np.array([2**63], np.uint64), "capacity 0 is 9223372036854775808, beyond 64 bits"),
        (np.array([2.0**63]), "capacity 0 is 9.223372036854776e+18, beyond 64 bits"),
        ([np.float64(2.0**63)], "capacity 0 is 9.223372036854776e+18, beyond 64 bits"),
        (np.array([0.5], np.float16), "capacity 0 is 0.5, not a whole number"),
        (["3"], "capacity 0 is '3', not a whole number"),
        ([1j], "capacity 0 is 1j, not a whole number"),
        ([None], "capacity 0 is None, not a whole number"),
        ([[1]], "one row of numbers, not 2-dimensional"),
    ],
)
def test_wrong_capacities_are_refused_by_position(values: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        as_capacities(values)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2.0, 3], [2, 3]),
        (np.array([2.0, 7.0], np.float16), [2, 7]),
        ([MAX_CAPACITY, 1.0], [MAX_CAPACITY, 1]),  # as float64, the first would become 2**63
        ([2**53 + 1, 0.0], [2**53 + 1, 0]),
        (np.array([MAX_CAPACITY], np.uint64), [MAX_CAPACITY]),
        (np.array([5], np.int8), [5]),
        ([True, False], [1, 0]),
        ([], []),
    ],
)
def test_whole_numbers_of_every_kind_are_taken_exactly(values: Any, expected: list[int]) -> None:
    taken = as_capacities(values)
    assert taken.tolist() == expected
    assert taken.dtype == np.int64


def test_an_array_of_capacities_is_copied_and_stays_writable() -> None:
    mine = np.array([1, 0], np.int64)
    net = FlowNetwork(2, np.array([0, 1], np.int32), np.array([1, 0], np.int32), mine, 0, 1)
    mine[0] = 7
    assert net.capacity.tolist() == [1, 0]


def test_the_largest_sums_fit_and_larger_ones_are_refused() -> None:
    assert two_nodes((0, 1, WIDE), (1, 0, WIDE - 1)).capacity.tolist() == [WIDE, WIDE - 1]
    assert two_nodes((0, 1, WIDE), (0, 1, WIDE - 1)).capacity.tolist() == [MAX_CAPACITY, 0]
    with pytest.raises(InputError, match="the capacities of a pair must add up to at most"):
        two_nodes((0, 1, WIDE), (1, 0, WIDE))
    for arcs in ([(0, 1, WIDE)] * 2, [(0, 1, WIDE)] * 4, [(0, 1, MAX_CAPACITY)] * 3):
        with pytest.raises(InputError, match="parallel arcs add up to more than"):
            two_nodes(*arcs)


def constructed(**changes: Any) -> FlowNetwork:
    parts: dict[str, Any] = {"num_nodes": 3, "source": 0, "sink": 2, "capacity": [1, 0, 2, 0]}
    parts |= {"sender": [0, 1, 1, 2], "receiver": [1, 0, 2, 1]}
    return FlowNetwork(**(parts | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_nodes": 1}, "a flow network has at least 2 nodes, not 1"),
        ({"num_nodes": 3.0}, "the number of nodes is 3.0, not a whole number"),
        ({"source": 3}, "the source is node 3, but there are 3 nodes"),
        ({"sink": -1}, "the sink is node -1, but there are 3 nodes"),
        ({"sink": "t"}, "the sink is 't', not a whole number"),
        ({"sink": 0}, "source and sink are the same node, 0"),
        ({"sender": [0, 1, 1, 3]}, "edge 3 names sending node 3, but there are 3"),
        ({"sender": [0, 1, 1]}, "arcs must come in pairs"),
        ({"capacity": [1, 0]}, "arcs must come in pairs"),
        ({"receiver": [1, 0, 2, 0]}, "arc ^ 1 must be the reverse of arc"),
        ({"sender": [1, 0, 0, 0], "receiver": [0, 1, 0, 0]}, "must join two different nodes"),
        ({"sender": [0, 1, 1, 0], "receiver": [1, 0, 0, 1]}, "nodes 0 and 1 share more than one"),
        ({"capacity": [1, 0, -2, 0]}, "capacity 2 is -2, which is negative"),
        ({"labels": ["s", "t"]}, "2 labels for 3 nodes"),
        ({"labels": ["s", "t", "t"]}, "'t' appears twice among the labels"),
    ],
)
def test_wrong_arcs_are_refused(changes: dict[str, Any], message: str) -> None:
    assert constructed().num_arcs == 4
    with pytest.raises(InputError) as caught:
        constructed(**changes)
    assert message in str(caught.value)


def test_pairs_may_stand_in_any_order() -> None:
    swapped = constructed(sender=[1, 2, 0, 1], receiver=[2, 1, 1, 0])
    assert swapped.num_arcs == 4
    assert replace(swapped, capacity=np.array([1, 1, 1, 1])).capacity.tolist() == [1] * 4


def test_wrong_matrices_are_refused() -> None:
    with pytest.raises(InputError, match="square, not 2 x 3"):
        FlowNetwork.from_dense(np.ones((2, 3)), 0, 1)
    with pytest.raises(InputError, match="square, not 2 x 3"):
        FlowNetwork.from_scipy(scipy.sparse.csr_array(np.ones((2, 3))), 0, 1)
    with pytest.raises(InputError, match="two dimensions, not 1"):
        FlowNetwork.from_dense([1, 2], 0, 1)
    with pytest.raises(InputError, match="capacity 0 is nan"):
        FlowNetwork.from_dense([[0, float("nan")], [0, 0]], 0, 1)
    with pytest.raises(InputError, match=f"objects such as {2**70}, not numbers of 64 bits"):
        FlowNetwork.from_dense([[0, 2**70], [0, 0]], 0, 1)
    with pytest.raises(InputError, match="the capacity matrix holds text, not numbers"):
        FlowNetwork.from_dense([["", "3"], ["", ""]], 0, 1)
    with pytest.raises(InputError, match="masked entries in the capacity matrix"):
        FlowNetwork.from_dense(
            np.ma.masked_array([[0, 3], [0, 0]], mask=[[False, True], [False, False]]), 0, 1
        )
    with pytest.raises(InputError, match="masked entries in the capacities"):
        FlowNetwork.from_arcs(2, [0], [1], np.ma.masked_array([3], [True]), source=0, sink=1)


def test_scipy_duplicates_are_summed_and_zeros_are_no_arcs() -> None:
    entries = np.array([2, 3, 0]), (np.array([0, 0, 1]), np.array([1, 1, 2]))
    net = FlowNetwork.from_scipy(scipy.sparse.coo_array(entries, shape=(3, 3)), 0, 2)
    assert list(net.arcs()) == [(0, 1, 5)]
    assert net.num_arcs == 2
    four = np.full(4, 2**30, np.int32), (np.zeros(4, int), np.ones(4, int))
    wide = FlowNetwork.from_scipy(scipy.sparse.coo_array(four, shape=(2, 2)), 0, 1)
    assert list(wide.arcs()) == [(0, 1, 2**32)]


ARC = st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0, 1, 7, 2**50, 3.0]))


@given(st.lists(ARC))
def test_a_few_arcs_are_put_in_pairs_as_many_are(arcs: list[tuple[int, int, Any]]) -> None:
    few = FlowNetwork.from_labelled_arcs(arcs, 1, 9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", -1)
        assert few == FlowNetwork.from_labelled_arcs(arcs, 1, 9)
    assert not (few.sender.flags.writeable or few.capacity.flags.writeable)
    assert few.capacity.dtype == np.int64


@pytest.mark.parametrize(
    ("arcs", "words"),
    [
        ([(0, 1, 2**62), (0, 1, 2**62)], "parallel arcs add up"),
        ([(0, 1, 2**62), (1, 0, 2**62)], "the capacities of a pair"),
        ([(0, 1, -1)], "capacity 0 is -1"),
        ([(0, 1, 0.5)], "capacity 0 is 0.5"),
        ([(0, 0, "x")], "capacity 0 is 'x'"),
    ],
)
def test_wrong_capacities_of_a_few_arcs_are_refused(arcs: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        FlowNetwork.from_labelled_arcs(arcs, 0, 1)


def test_labelled_arcs_are_refused_by_position() -> None:
    with pytest.raises(InputError, match=r"arc 1 is \('a', 't'\): expected \(tail, head, cap"):
        FlowNetwork.from_labelled_arcs([("s", "a", 1), ("a", "t")], "s", "t")  # type: ignore
    with pytest.raises(InputError, match=r"arc 0 is .*'x' is not a node"):
        FlowNetwork.from_labelled_arcs([("s", "x", 1)], "s", "t", ["s", "t"])
    with pytest.raises(InputError, match=r"capacity 0 is 0\.5"):
        FlowNetwork.from_labelled_arcs([("s", "t", 0.5)], "s", "t")  # type: ignore[list-item]


def nx_network(*arcs: tuple[str, str, Any], kind: Any = nx.DiGraph) -> Any:
    graph = kind()
    graph.add_nodes_from("st")
    for u, v, capacity in arcs:
        graph.add_edge(u, v, **({} if capacity is None else {"capacity": capacity}))
    return graph


def test_networkx_arcs_without_limit_never_limit_the_flow() -> None:
    for unlimited in (None, float("inf")):
        graph = nx_network(("s", "a", unlimited), ("a", "t", 4), ("s", "t", 3))
        net = FlowNetwork.from_networkx(graph, "s", "t")
        assert {(u, v): c for u, v, c in net.arcs()}["s", "a"] == 1 + 4 + 3


def test_unbounded_networkx_flow_is_refused() -> None:
    graph = nx_network(("s", "a", None), ("a", "t", float("inf")))
    with pytest.raises(InputError, match="the flow from 's' to 't' is unbounded"):
        FlowNetwork.from_networkx(graph, "s", "t")


def test_an_undirected_networkx_edge_carries_flow_either_way() -> None:
    net = FlowNetwork.from_networkx(nx_network(("s", "t", 3), kind=nx.Graph), "t", "s")
    assert sorted(net.arcs()) == [("s", "t", 3), ("t", "s", 3)]  # type: ignore[type-var]


def test_multiple_networkx_arcs_add() -> None:
    graph = nx_network(("s", "t", 3), ("s", "t", 4), kind=nx.MultiDiGraph)
    assert list(FlowNetwork.from_networkx(graph, "s", "t").arcs()) == [("s", "t", 7)]


def test_another_networkx_attribute_can_hold_the_capacity() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edge("s", "t", width=6)
    assert list(FlowNetwork.from_networkx(graph, "s", "t", "width").arcs()) == [("s", "t", 6)]


@pytest.mark.parametrize(
    ("capacity", "ends", "message"),
    [
        (1, "sx", "the sink 'x' is not in the graph"),
        (1, "xt", "the source 'x' is not in the graph"),
        (1, "ss", "source and sink are the same node, 's'"),
        (-2, "st", "the capacity of the edge 's', 't' is -2, which is negative"),
        (0.5, "st", "the capacity of the edge 's', 't' is 0.5, not a whole number"),
        (float("nan"), "st", "'s', 't' is nan"),
        ("3", "st", "'s', 't' is '3'"),
    ],
)
def test_wrong_networkx_networks_are_refused(capacity: Any, ends: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        FlowNetwork.from_networkx(nx_network(("s", "t", capacity), kind=nx.Graph), *ends)
    assert message in str(caught.value)


def test_a_flow_by_labels_becomes_what_each_arc_carries() -> None:
    amounts = BOTH_WAYS.amounts_from([("s", "t", 3), ("t", "s", 1), ("s", "t", 1)])
    assert amounts.tolist() == [4, 1]
    assert BOTH_WAYS.amounts_from([]).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (("s", "x", 1), "'x' is not a node"),
        (("s", "t", 1), "there is no arc from 's' to 't'"),
        (("s", "a", -1), "the flow from 's' to 'a' is -1, which is negative"),
        (("s", "a", 0.5), "the flow from 's' to 'a' is 0.5, not a whole number"),
        (("s", "a"), "entry 0 is ('s', 'a'): expected (tail, head, amount)"),
        (5, "entry 0 is 5: expected (tail, head, amount)"),
    ],
)
def test_wrong_flows_are_refused(entry: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        BRIDGE.amounts_from([entry])
    assert message in str(caught.value)


def test_a_value_beyond_64_bits_is_exact() -> None:
    far = FlowNetwork.from_arcs(4, [0, 0, 0], [1, 2, 3], [WIDE] * 3, source=0, sink=3)
    assert far.value(np.zeros(6, np.int64)) == 3 * WIDE


@pytest.mark.parametrize("net", NETWORKS.values(), ids=NETWORKS)
def test_the_empty_flow_has_value_zero(net: FlowNetwork) -> None:
    assert net.value(net.capacity) == 0
    assert net.labelled(net.found(net.capacity)) == []


def test_a_network_keeps_no_labels_of_the_graph_it_came_from() -> None:
    assert FlowNetwork.from_bipartite(JOBS).labels is None


def test_costs_make_it_another_network_of_the_same_flows() -> None:
    network = BOTH_WAYS.with_costs([2, 5])
    assert list(network.arcs()) == [("s", "t", 4, 2), ("t", "s", 9, 5)]
    assert (solve(network).size, solve(network).cost) == (4, 8)
    assert solve(BRIDGE.with_costs([1, 1, 9, 1, 1])).size == solve(BRIDGE).size
    assert solve(BRIDGE.with_costs([1.5] * 5, maximise=True)).cost == 16.5
    with pytest.raises(InputError, match="every arc needs a tail, a head, a capacity and a cost"):
        BRIDGE.with_costs([1])
