"""A batch numbers nodes and arcs of unequal networks so that each can be found again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.classical.batch import MANY, Batch, in_order
from augury.classical.network import FlowNetwork
from graphs import BRIDGE, NETWORKS, networks


def check(batch: Batch, alone: list[FlowNetwork]) -> None:
    """Every graph of the batch is its network, shifted."""
    assert batch.num_graphs == len(alone)
    assert batch.num_nodes == sum(network.num_nodes for network in alone)
    assert batch.num_arcs == sum(network.num_arcs for network in alone)
    arcs = np.arange(batch.num_arcs)
    assert np.array_equal(batch.sender[arcs ^ 1], batch.receiver)
    assert np.array_equal(batch.order, np.argsort(batch.sender, kind="stable"))
    for graph, network in enumerate(alone):
        shift = batch.node_start[graph]
        own = slice(batch.arc_start[graph], batch.arc_start[graph + 1])
        assert np.array_equal(batch.sender[own] - shift, network.sender)
        assert np.array_equal(batch.receiver[own] - shift, network.receiver)
        assert np.array_equal(batch.capacity[own], network.capacity)
        assert batch.source[graph] - shift == network.source
        assert batch.sink[graph] - shift == network.sink
        assert (batch.node_graph[batch.sender[own]] == graph).all()
        assert (batch.node_graph[shift : batch.node_start[graph + 1]] == graph).all()


@given(st.data(), st.lists(networks(), max_size=5))
def test_select_keeps_the_numbering_right(data: st.DataObject, alone: list[FlowNetwork]) -> None:
    batch, positions = Batch.of(alone), list(range(len(alone)))
    check(batch, alone)
    for _ in range(2):  # what was selected can be selected from again
        bits = st.lists(st.booleans(), min_size=len(positions), max_size=len(positions))
        keep = np.array(data.draw(bits), np.bool_)
        before = batch
        batch, arcs = batch.select(keep)
        positions = [k for k, kept in zip(positions, keep, strict=True) if kept]
        assert batch.graphs.tolist() == positions
        check(batch, [alone[k] for k in positions])
        assert np.array_equal(before.capacity[arcs], batch.capacity)


@given(st.lists(networks(), min_size=1, max_size=4))
def test_arcs_by_sender_and_their_reverses_by_receiver(alone: list[FlowNetwork]) -> None:
    batch = Batch.of(alone)
    order, start = batch.by_sender
    assert sorted(order.tolist()) == list(range(batch.num_arcs))
    for node in range(batch.num_nodes):
        own = order[start[node] : start[node + 1]]
        assert (batch.sender[own] == node).all()
        assert (batch.receiver[own ^ 1] == node).all()


def test_one_large_network_is_not_copied() -> None:
    assert Batch.of([BRIDGE]).capacity is BRIDGE.capacity


def test_the_named_networks_lie_side_by_side() -> None:
    check(Batch.of(list(NETWORKS.values())), list(NETWORKS.values()))
    check(Batch.of([]), [])


@pytest.mark.parametrize("count", [0, 50, MANY + 1])
def test_keys_are_put_in_order_whatever_their_number(count: int) -> None:
    keys = np.random.default_rng(0).integers(0, 40, count).astype(np.int32)
    order, start = in_order(keys, 41)
    assert order.tolist() == np.argsort(keys, kind="stable").tolist()
    assert start.tolist() == [int((keys < key).sum()) for key in range(42)]
    assert (order.dtype, start.dtype) == (np.int32, np.int64)
