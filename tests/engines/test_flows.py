"""Compiled flows are legal and maximum, and cut where every maximum flow does."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from augury.algorithms.executor import CellExecutor
from augury.classical.arrays import BoolArray, WideArray
from augury.classical.batch import Batch
from augury.classical.generate import flow
from augury.classical.hard import rmf_wide
from augury.classical.network import FlowNetwork
from augury.engines import flows, table
from augury.engines.small_flows import SMALL, push_flow
from augury.engines.table import push_flows
from augury.errors import InputError
from augury.solver import solve, solve_batch
from graphs import BRIDGE, NETWORKS, STRAIGHT
from proven import proven

MANY = 2 * SMALL
"""Arcs that make a network too large for phases."""


def levels(rng: np.random.Generator, width: int, depth: int, high: int) -> FlowNetwork:
    """Levels of nodes, each joined to some of the next one, and a few arcs back."""
    node = 1 + np.arange(width * depth)
    tail = np.repeat(node[:-width], 3)
    head = (tail - 1) // width * width + width + 1 + rng.integers(0, width, len(tail))
    back = rng.choice(node, (2, width * depth // 4))
    sink = width * depth + 1
    tails = [tail, back[0], np.zeros(width, int), node[-width:]]
    heads = [head, back[1], node[:width], np.full(width, sink)]
    ends = np.concatenate(tails), np.concatenate(heads)
    capacity = rng.integers(0, high, len(ends[0]), endpoint=True)
    return FlowNetwork.from_arcs(sink + 1, *ends, capacity, source=0, sink=sink)


def grid(rng: np.random.Generator, side: int, high: int) -> FlowNetwork:
    """A picture: arcs both ways between neighbours, every pixel joined to one end."""
    pixel = np.arange(side * side).reshape(side, side)
    one = np.concatenate([pixel[1:].ravel(), pixel[:, 1:].ravel()])
    other = np.concatenate([pixel[:-1].ravel(), pixel[:, :-1].ravel()])
    is_left = rng.random(side * side) < 0.5
    left, right = np.flatnonzero(is_left), np.flatnonzero(~is_left)
    ends = np.full(len(left), side * side), np.full(len(right), side * side + 1)
    tail = np.concatenate([one, other, ends[0], right])
    head = np.concatenate([other, one, left, ends[1]])
    capacity = rng.integers(0, high, len(tail), endpoint=True)
    last = side * side
    return FlowNetwork.from_arcs(last + 2, tail, head, capacity, source=last, sink=last + 1)


def large_networks(high: int) -> list[FlowNetwork]:
    rng = np.random.default_rng(high % 1000)
    drawn = [levels(rng, 8, 90, high), levels(rng, 150, 6, high), grid(rng, 30, high)]
    drawn += [flow(rng, nodes, MANY, low=0, high=high) for nodes in (80, 400, 1500)]
    assert all(network.num_arcs > SMALL for network in drawn)
    return drawn


def source_side(network: FlowNetwork, residual: WideArray) -> BoolArray:
    """The nodes that the source reaches."""
    ends = network.sender[residual > 0], network.receiver[residual > 0]
    arcs = csr_array((np.ones(len(ends[0])), ends), shape=(network.num_nodes, network.num_nodes))
    side = np.zeros(network.num_nodes, np.bool_)
    side[breadth_first_order(arcs, network.source, return_predecessors=False)] = True
    return side


def check(network: FlowNetwork, residual: WideArray, value: int) -> None:
    """It is the residual of a legal flow of this value."""
    assert (residual >= 0).all()
    sent = network.found(residual).astype(object)  # sums may be beyond int64
    assert (sent[::2] == -sent[1::2]).all()
    net = np.zeros(network.num_nodes, object)
    np.add.at(net, network.sender[::2], sent[::2])
    np.add.at(net, network.receiver[::2], -sent[::2])
    assert (net[network.source], net[network.sink]) == (value, -value)
    assert not net[[node for node in range(len(net)) if node not in ends_of(network)]].any()


def ends_of(network: FlowNetwork) -> tuple[int, int]:
    return network.source, network.sink


@pytest.mark.parametrize("high", [1, 7, 1000, 2**20])
def test_a_large_flow_has_scipys_value(high: int) -> None:
    networks = large_networks(high)
    batch = Batch.of(networks)
    residual, rounds = push_flows(batch)
    parts = np.split(residual, batch.arc_start[1:-1])
    for network, part, counted in zip(networks, parts, rounds, strict=True):
        ends = network.sender, network.receiver
        shape = network.num_nodes, network.num_nodes
        arcs = csr_array((network.capacity.astype(np.int32), ends), shape)
        value = int(maximum_flow(arcs, network.source, network.sink).flow_value)
        check(network, part, value)
        assert (counted > 0) == (value > 0)


@pytest.mark.parametrize("high", [3, 10**6, 2**40])
def test_waves_and_phases_cut_alike(high: int) -> None:
    """The nodes that the source reaches are the same in every maximum flow."""
    for network in large_networks(high):
        (waves, _), (phases, _) = push_flows(Batch.of([network])), push_flow(network)
        check(network, waves, network.value(phases))
        np.testing.assert_array_equal(source_side(network, waves), source_side(network, phases))


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 50, 2**62 - 1]), st.integers(0, 400))
def test_any_large_network_gets_a_maximum_flow(seed: int, high: int, idle: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(60, 800))
    network = flow(rng, nodes, MANY, low=0, high=high)
    capacity = network.capacity.copy()
    capacity[rng.random(len(capacity)) < 0.3] = 0  # dead ends, and a sink out of reach
    arcs = network.sender, network.receiver, capacity
    network = FlowNetwork(nodes + idle, *arcs, network.source, network.sink)
    residual, _ = push_flows(Batch.of([network]))
    expected, _ = push_flow(network)
    check(network, residual, network.value(expected))
    np.testing.assert_array_equal(source_side(network, residual), source_side(network, expected))


def enormous(width: int) -> FlowNetwork:
    """Many arcs of nearly 2^62 from the source, all of which the sink can take."""
    rng = np.random.default_rng(width)
    source, sink, inner = 2 * width, 2 * width + 1, np.arange(width)
    # A node's own arc, and some to others: they fill when the sink's arcs are narrower.
    other = width + rng.integers(0, width, (3, width))
    tail = np.concatenate([np.full(width, source), inner, *[inner] * 3, width + inner])
    head = np.concatenate([inner, width + inner, *other, np.full(width, sink)])
    capacity = 2**62 - rng.integers(1, 1000, len(tail))
    capacity[-width::3] = rng.integers(0, 9, len(capacity[-width::3]))
    amounts = dict(zip(zip(tail.tolist(), head.tolist(), strict=True), capacity, strict=True))
    (tails, heads), values = zip(*amounts, strict=True), list(amounts.values())
    return FlowNetwork.from_arcs(sink + 1, tails, heads, values, source=source, sink=sink)


@pytest.mark.parametrize("width", [6, 300])
def test_a_value_beyond_64_bits_is_exact(width: int) -> None:
    network = enormous(width)
    assert (network.num_arcs > SMALL) == (width > 6)
    residual, _ = push_flows(Batch.of([network]))
    expected, _ = push_flow(network)
    value = network.value(expected)
    assert value > 2**63
    check(network, residual, value)


def mixed() -> list[FlowNetwork]:
    rng = np.random.default_rng(9)
    small = [flow(rng, k, 3 * k, low=0, high=9) for k in (5, 30, 9)]
    apart = FlowNetwork.from_arcs(5000, [0, 2], [1, 3], [4, 5], source=0, sink=3)
    return [*small, *large_networks(50)[:3], apart, *NETWORKS.values(), enormous(300)]


def test_networks_side_by_side_are_solved_as_if_alone() -> None:
    networks = mixed()
    batch = Batch.of(networks)
    residual, rounds = push_flows(batch)
    for k, network in enumerate(networks):
        alone, counted = push_flows(Batch.of([network]))
        np.testing.assert_array_equal(alone, residual[slice(*batch.arc_start[k : k + 2])])
        assert counted == rounds[k : k + 1]
    assert [len(part) for part in push_flows(Batch.of([]))] == [0, 0]


def test_whichever_loop_runs_the_answer_is_the_same() -> None:
    networks = mixed()
    together = solve_batch(networks, engine="table")
    for network, solution in zip(networks, together, strict=True):
        alone = solve(network, engine="table")
        assert (alone.flow, alone.rounds) == (solution.flow, solution.rounds)
        assert alone.is_maximum


def test_few_arcs_need_no_compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(table, "_push", refuse)
    assert solve(BRIDGE, engine="table").size == 5
    assert [found.size for found in solve_batch([BRIDGE, STRAIGHT], engine="table")] == [5, 8]
    rng = np.random.default_rng(1)
    for networks in ([BRIDGE] * 200, [flow(rng, 60, MANY, low=1, high=9)]):
        with pytest.raises(AssertionError):
            solve_batch(networks, engine="table")


def test_the_loop_is_compiled_once_and_leaves_the_graph_alone() -> None:
    for networks in (mixed(), [BRIDGE], []):
        batch = Batch.of(networks)
        before = batch.capacity.copy()
        push_flows(batch)
        np.testing.assert_array_equal(batch.capacity, before)
    assert len(flows.push_flows.signatures) == 1


def test_a_pair_of_arcs_takes_60_bytes_and_36_more_if_sorted() -> None:
    network = flow(np.random.default_rng(2), 2000, 60_000, low=1, high=99)
    batch = Batch.of([network])
    push_flows(batch)
    tracemalloc.start()
    push_flows(batch)
    _, peak = tracemalloc.get_traced_memory()  # also of what is never touched
    tracemalloc.stop()
    assert peak < 96 * network.num_arcs // 2


def test_a_network_is_sorted_after_many_searches() -> None:
    """Frames of a grid, joined by few arcs each: the searches are many."""
    network = rmf_wide(np.random.default_rng(1), 4000)
    residual, rounds = push_flows(Batch.of([network]))
    assert rounds[0] > flows.EARLY
    expected, _ = push_flow(network)
    check(network, residual, network.value(expected))
    np.testing.assert_array_equal(source_side(network, residual), source_side(network, expected))
    together = Batch.of([network, BRIDGE, network])
    parts = np.split(push_flows(together)[0], together.arc_start[1:-1])
    np.testing.assert_array_equal(parts[0], residual)
    np.testing.assert_array_equal(parts[2], residual)


def test_a_flow_beyond_the_range_is_refused() -> None:
    network = proven()
    network.bits = 3
    arcs = np.arange(MANY // 2 + 2)
    small = FlowNetwork.from_arcs(2, [0], [1], [8], source=0, sink=1)
    large = FlowNetwork.from_arcs(len(arcs), arcs[:-1], arcs[1:], arcs[1:], source=0, sink=1)
    for networks in ([small], [large], [small, large]):
        with pytest.raises(InputError, match="beyond this network's range of 3 bits"):
            solve_batch(networks, model=CellExecutor(network), engine="table")


COUNT = """
import numpy as np
from augury.classical.hard import HARD_FLOWS
from augury.engines import flows

class Counting(list):
    reads = 0

    def __getitem__(self, place):
        Counting.reads += 1
        return super().__getitem__(place)

searches, measure = [], flows._measure
flows._measure = lambda *given: searches.append(1) or measure(*given)
network = HARD_FLOWS["ak"](np.random.default_rng(0), 1024)
nodes, arcs = network.num_nodes, network.num_arcs
ends = ([0, nodes], [0, arcs], [network.source], [network.sink])
columns = network.sender, network.receiver, network.capacity, *map(np.array, ends)
own, ordered = (flows.Network.of(nodes, arcs)._replace(active=Counting([0] * nodes)) for _ in "12")
flows.push_flows(flows.Union(*columns), own, ordered, np.empty(arcs, int), np.empty(1, int))
print(Counting.reads, len(searches) * arcs)
"""


def test_levels_that_are_passed_between_two_searches_are_no_more_than_arcs() -> None:
    """Few nodes that wake far away, again and again, made networks of two long chains cubic."""
    code = [sys.executable, "-c", COUNT]
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}  # the loops as they are written
    told = subprocess.run(code, env=env, capture_output=True, text=True, check=True).stdout
    levels, arcs = map(int, told.split())
    assert arcs / 2 < levels < 2 * arcs
