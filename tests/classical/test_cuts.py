"""Covers and cuts of small graphs, in plain Python, are those that large ones get by arrays."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import maximum_bipartite_matching

from augury.classical import certificate, cuts
from augury.classical.certificate import small_cover, small_cut
from augury.classical.cuts import minimum_cover, minimum_cut
from augury.classical.generate import flow, sparse
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from graphs import BOTH_WAYS, BRIDGE, JOBS, WIDE, bipartite_graphs, networks


def maximum_mates(graph: BipartiteGraph) -> np.ndarray[Any, Any]:
    return maximum_bipartite_matching(graph.to_scipy(), perm_type="column")


def without(mates: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    """Leave out the first pairs."""
    kept = mates.copy()
    kept[np.flatnonzero(mates >= 0)[:count]] = -1
    return kept


def maximum_flow(network: FlowNetwork) -> np.ndarray[Any, Any]:
    ends = network.label(network.source), network.label(network.sink)
    _, carried = nx.maximum_flow(network.to_networkx(), *ends)
    rows = [(u, v, amount) for u, out in carried.items() for v, amount in out.items()]
    amounts = network.amounts_from(rows)
    return amounts - amounts.reshape(-1, 2)[:, ::-1].reshape(-1)


@given(bipartite_graphs(), st.integers(0, 2))
def test_a_small_graph_gets_the_cover_of_a_large_one(graph: BipartiteGraph, short: int) -> None:
    mates = maximum_mates(graph)
    kept, size = without(mates, short), int((mates >= 0).sum())
    small = small_cover(graph, kept.tolist())
    assert (small is None) == (short > 0 and size > 0)
    large = [np.flatnonzero(side).tolist() for side in minimum_cover(graph, mates)]
    if small is not None:
        assert list(small) == large
    sizes = [int(side.sum()) for side in minimum_cover(graph, kept)]
    assert sum(sizes) == size


@given(networks(high=WIDE))
def test_a_small_network_gets_the_cut_of_a_large_one(network: FlowNetwork) -> None:
    net = maximum_flow(network)
    value = sum(net[network.sender == network.source].tolist())
    in_cut, maximum = minimum_cut(network.as_arcs(), network.capacity - net, value)
    assert small_cut(network, net) == (np.flatnonzero(in_cut).tolist(), maximum)
    nothing = np.zeros_like(net)
    assert (small_cut(network, nothing) is None) == (maximum > 0)
    assert minimum_cut(network.as_arcs(), network.capacity.copy(), 0)[1] == maximum


def test_in_plain_python_nothing_illegal_passes() -> None:
    for wrong in ([1, -1], [0, 0], [-1, -1], [0, 2], [0, -2], [1, 1]):
        assert small_cover(JOBS, wrong) is None
    assert small_cover(JOBS, [0, 1]) == ([0, 1], [])
    right = maximum_flow(BRIDGE)
    assert small_cut(BRIDGE, right) is not None
    wrong_flows = [right + 1, right * 2, np.where(np.arange(10) < 2, 0, right), -right]
    uneven = right.copy()
    uneven[1] += 1
    for flow_ in [*wrong_flows, uneven]:
        assert small_cut(BRIDGE, flow_) is None
    assert small_cut(BOTH_WAYS, np.array([4, -4])) == ([0], 4)
    assert small_cut(BOTH_WAYS, np.array([4, 0])) is None


@pytest.mark.parametrize("seed", range(3))
def test_large_graphs_are_proven(seed: int) -> None:
    """The search is deep on sparse graphs, and wide on networks."""
    rng = np.random.default_rng(seed)
    graph = sparse(rng, 3000)
    assert graph.num_arcs > certificate.SMALL
    mates = maximum_mates(graph)
    size = (mates >= 0).sum()
    in_left, in_right = minimum_cover(graph, mates)
    assert (in_left[graph.left] | in_right[graph.right]).all()
    assert in_left.sum() + in_right.sum() == size
    short = minimum_cover(graph, without(mates, 5))
    assert sum(int(side.sum()) for side in short) == size
    network = flow(rng, 300, 3000)
    net = maximum_flow(network)
    value = int(net[network.sender == network.source].sum())
    assert minimum_cut(network.as_arcs(), network.capacity - net, value)[1] == value
    assert minimum_cut(network.as_arcs(), network.capacity.copy(), 0)[1] == value


def test_a_cover_that_proves_nothing_is_never_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = sparse(np.random.default_rng(0), 20)
    mates = maximum_mates(graph)
    for size, words in ((0, "misses an edge"), (1, "not as large")):

        def wrong(graph: Any, *_: Any, size: int = size) -> Any:
            sides = np.zeros(graph.num_left, np.bool_), np.zeros(graph.num_right, np.bool_)
            for side in sides:
                side[:] = bool(size)
            return sides

        monkeypatch.setattr(cuts, "_tight_cover", wrong)
        with pytest.raises(AssertionError, match=words):
            minimum_cover(graph, mates)


def test_a_small_graph_is_proven_without_scipy() -> None:
    code = """
import sys
from augury.classical.certificate import certify, certify_flow
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork

assert certify(BipartiteGraph.from_edges([(0, 0), (1, 0)]), [(1, 0)]).is_maximum
network = FlowNetwork.from_arcs(3, [0, 1], [1, 2], [5, 4], source=0, sink=2)
assert certify_flow(network, [(0, 1, 4), (1, 2, 4)]).is_maximum
assert "scipy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
