"""A wiring is the same whether built directly, sliced or selected."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.classical.batch import Batch
from augury.classical.network import FlowNetwork
from augury.neural.wiring import Wiring
from graphs import networks
from tiny import UNEQUAL

FIELDS = ("sender", "receiver", "start", "node_graph", "node_start", "source", "degree")


def check(one: Wiring, other: Wiring) -> None:
    """Both have the same links; tables may differ in how far they are filled up."""
    for name in FIELDS:
        assert torch.equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.offsets, other.offsets)
    for name in ("incoming", "outgoing"):
        table, expected = getattr(one.tables, name), getattr(other.tables, name)
        width = expected.shape[1]
        assert torch.equal(table[:, :width], expected), name
        assert (table[:, width:] == one.num_links).all()
    table = torch.full_like(one.tables.incoming, one.num_links).reshape(-1)
    table[one.tables.slot] = torch.arange(one.num_links)
    assert torch.equal(table.reshape(one.tables.incoming.shape), one.tables.incoming)


@given(st.lists(networks(), min_size=1, max_size=4))
@settings(max_examples=30)
def test_links_are_the_arcs_by_receiver_and_each_nodes_self_loop_last(
    alone: list[FlowNetwork],
) -> None:
    batch = Batch.of(alone)
    wiring = Wiring.of(batch)
    assert wiring.num_links == batch.num_arcs + batch.num_nodes
    assert sorted(wiring.arc[wiring.arc >= 0].tolist()) == list(range(batch.num_arcs))
    for node in range(batch.num_nodes):
        *arcs, loop = range(int(wiring.start[node]), int(wiring.start[node + 1]))
        assert (wiring.arc[loop], wiring.sender[loop], wiring.receiver[loop]) == (-1, node, node)
        for link in arcs:
            assert wiring.sender[link] == batch.sender[wiring.arc[link]]
            assert wiring.receiver[link] == batch.receiver[wiring.arc[link]] == node


@given(st.lists(networks(), min_size=1, max_size=4))
@settings(max_examples=30)
def test_tables_hold_each_nodes_links_in_and_out(alone: list[FlowNetwork]) -> None:
    wiring = Wiring.of(Batch.of(alone))
    for node in range(wiring.num_nodes):
        for table, end in (
            (wiring.tables.incoming, wiring.receiver),
            (wiring.tables.outgoing, wiring.sender),
        ):
            row = [link for link in table[node].tolist() if link < wiring.num_links]
            assert row == torch.nonzero(end == node)[:, 0].tolist()


@pytest.mark.parametrize("count", range(1, len(UNEQUAL) + 1))
def test_the_first_graphs_are_wired_as_if_they_were_alone(count: int) -> None:
    first, alone = Wiring.of(Batch.of(UNEQUAL)).first(count), Wiring.of(Batch.of(UNEQUAL[:count]))
    check(first, alone)
    assert torch.equal(first.arc, alone.arc)
    check(first.first(1), Wiring.of(Batch.of(UNEQUAL[:1])))


@given(st.lists(st.booleans(), min_size=len(UNEQUAL), max_size=len(UNEQUAL)))
def test_selected_graphs_are_wired_as_if_they_were_alone(keep: list[bool]) -> None:
    whole = Wiring.of(Batch.of(UNEQUAL))
    wiring, links, nodes = whole.select(torch.tensor(keep))
    alone = [network for network, kept in zip(UNEQUAL, keep, strict=True) if kept]
    if alone:
        check(wiring, Wiring.of(Batch.of(alone)))
    assert torch.equal(wiring.arc, whole.arc[links])
    kept = torch.tensor(keep)[whole.node_graph]
    assert torch.equal(nodes, torch.nonzero(kept)[:, 0])
    assert torch.equal(links, torch.nonzero(kept[whole.receiver])[:, 0])


def test_values_of_arcs_are_laid_on_links_and_loops_get_the_filling() -> None:
    batch = Batch.of(UNEQUAL)
    wiring = Wiring.of(batch)
    laid = wiring.on_links(torch.arange(batch.num_arcs) + 10, fill=-7)
    assert torch.equal(laid, torch.where(wiring.arc >= 0, wiring.arc + 10, -7))


def test_the_mean_of_each_graph_is_over_its_own_nodes() -> None:
    wiring = Wiring.of(Batch.of(UNEQUAL))
    values = torch.randn(2, wiring.num_nodes, 3, generator=torch.Generator().manual_seed(0))
    means = wiring.mean_of_graphs(values)
    for graph in range(wiring.num_graphs):
        expected = values[:, wiring.node_graph == graph].mean(1)
        torch.testing.assert_close(means[:, graph], expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_tables_that_were_made_move_along_to_a_gpu() -> None:
    wiring = Wiring.of(Batch.of(UNEQUAL)).with_tables()
    moved = wiring.to("cuda")
    assert moved.made is not None and wiring.made is not None
    for name in FIELDS:
        assert torch.equal(getattr(moved, name).cpu(), getattr(wiring, name))
    for there, here in zip(moved.made, wiring.made, strict=True):
        assert there.is_cuda and torch.equal(there.cpu(), here)
