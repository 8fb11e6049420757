"""The hard families: their size, their seed, and what is known of their answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse.csgraph import maximum_bipartite_matching, maximum_flow

from augury.classical.graph import BipartiteGraph
from augury.classical.hard import HARD_FLOWS, HARD_MATCHINGS
from augury.classical.network import FlowNetwork, Graph

HARD: dict[str, Callable[[np.random.Generator, int], Graph]] = {**HARD_FLOWS, **HARD_MATCHINGS}


def made(name: str, arcs: int, seed: int = 0) -> Graph:
    return HARD[name](np.random.default_rng(seed), arcs)


def flow(name: str, arcs: int) -> FlowNetwork:
    network = made(name, arcs)
    assert isinstance(network, FlowNetwork)
    return network


def matching(name: str, edges: int) -> BipartiteGraph:
    graph = made(name, edges)
    assert isinstance(graph, BipartiteGraph)
    return graph


def value(network: FlowNetwork) -> int:
    matrix = network.to_scipy().astype(np.int32)
    return int(maximum_flow(matrix, network.source, network.sink).flow_value)


def size(graph: BipartiteGraph) -> int:
    return int((maximum_bipartite_matching(graph.to_scipy(), perm_type="column") >= 0).sum())


def num_arcs(graph: Graph) -> int:
    if isinstance(graph, BipartiteGraph):
        return graph.num_edges
    return int(np.count_nonzero(graph.capacity))


@pytest.mark.parametrize("name", HARD)
def test_a_family_has_about_the_arcs_asked_for(name: str) -> None:
    for arcs in (2**16, 2**18):
        assert num_arcs(made(name, arcs)) == pytest.approx(arcs, rel=0.2)


@pytest.mark.parametrize("name", HARD)
def test_the_seed_decides(name: str) -> None:
    first, second, other = (made(name, 4096, seed) for seed in (3, 3, 4))
    assert first == second
    is_fixed = "nothing is random" in (HARD[name].__doc__ or "")
    assert (first == other) == is_fixed


@pytest.mark.parametrize("name", HARD_FLOWS)
@pytest.mark.parametrize("arcs", [1, 64, 1024])
def test_a_flow_is_neither_nothing_nor_too_large_for_scipy(name: str, arcs: int) -> None:
    network = flow(name, arcs)
    assert network.capacity.max() < 2**30
    assert arcs == 1 or value(network) > 0
    if arcs == 1024:
        large = flow(name, 2**20)
        leaves = large.capacity[large.sender == large.source].sum()
        arrives = large.capacity[large.receiver == large.sink].sum()
        assert min(leaves, arrives) < 2**31


@pytest.mark.parametrize("name", HARD_MATCHINGS)
def test_small_matchings_exist(name: str) -> None:
    assert size(matching(name, 1)) >= 1
    assert size(matching(name, 300)) > 10


def test_values_that_are_known() -> None:
    nodes = flow("dinic-bad", 100).num_nodes
    assert nodes == 50 and value(flow("dinic-bad", 100)) == nodes + 1
    n = 100 // 6
    assert flow("ak", 100).num_nodes == 4 * n + 6
    assert value(flow("ak", 100)) == 2 * n + 3
    side = 10
    assert size(matching("grid", 2 * side**2)) == side**2 // 2
    assert matching("grid", 2 * side**2).num_edges == 2 * side * (side - 1)


@pytest.mark.parametrize(("name", "offsets"), [("chains", 2), ("ladders", 3)])
def test_strips_are_perfect_but_whoever_takes_the_first_errs_in_each(
    name: str, offsets: int
) -> None:
    graph = matching(name, 600)
    count = 24 if name == "chains" else 20
    assert graph.num_left == graph.num_right == size(graph) == count * (count + 1) // 2
    assert np.bincount(graph.left).max() == offsets
    taken = set[int]()
    failed = 0
    for left in range(graph.num_left):
        free = [v for v in graph.right[graph.left == left].tolist() if v not in taken]
        taken.update(free[:1])
        failed += not free
    assert failed == count - (offsets - 1)  # all but the chain of one pair, the ladders of two


def test_hilo_has_one_perfect_matching() -> None:
    """Nodes of degree 1 leave no choice; taking them, one after the other, uses up all nodes."""
    edges = matching("hilo", 32 * 22 * 4).to_dense()
    assert edges.sum(1).max() > 2
    while (edges.sum(0) == 1).any():
        right = int((edges.sum(0) == 1).argmax())
        left = int(edges[:, right].argmax())
        edges[left], edges[:, right] = False, False
        matched = edges.any(0).sum()
        assert edges.any(1).sum() == matched
    assert not edges.any()


@pytest.mark.parametrize(("name", "groups"), [("few-groups", 32), ("many-groups", 256)])
def test_groups_are_joined_to_their_neighbours_alone(name: str, groups: int) -> None:
    graph = matching(name, 5 * 256 * 8)
    length = graph.num_left // groups
    apart = (graph.right // length - graph.left // length) % groups
    assert set(apart.tolist()) == {0, 1, groups - 1}


def test_levels_lead_from_each_to_the_next() -> None:
    for name, width in (("rlg-long", 64), ("rlg-wide", 80), ("mesh", 64)):
        network = flow(name, 192 * 80)
        arcs = np.flatnonzero(network.capacity)
        ends = network.sender[arcs], network.receiver[arcs]
        inner = (ends[0] != network.source) & (ends[1] != network.sink)
        level = [(end[inner] - 1) // width for end in ends]
        assert (level[1] == level[0] + 1).all()


def test_frames_are_joined_by_permutations() -> None:
    network = flow("rmf-long", 5 * 4**4)
    area = 16
    assert network.num_nodes == area * area
    arcs = np.flatnonzero(network.capacity)
    tail, head = network.sender[arcs], network.receiver[arcs]
    onwards = head // area == tail // area + 1
    assert (onwards | (head // area == tail // area)).all()
    assert np.array_equal(np.sort(tail[onwards]), np.arange(15 * area))
    assert np.array_equal(np.sort(head[onwards]), np.arange(area, 16 * area))
