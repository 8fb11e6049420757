"""Every path is a shortest one, a proven network takes them too, and both forms decide alike."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import maximum_bipartite_matching

from augury import BipartiteGraph
from augury.algorithms.executor import CellExecutor
from augury.classical.arrays import read_only
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import MAX_WEIGHT, Settings, Verdict, ford_fulkerson
from augury.classical.generate import power_law, sparse
from augury.classical.network import FlowNetwork
from augury.engines import lists, match_sparse, phases
from augury.engines.phases import Lists, match_phases
from augury.engines.small import listed
from augury.models import shipped_table
from graphs import bipartite_graphs

Pairs = list[tuple[int, int]]


def chain(length: int) -> BipartiteGraph:
    """A path whose rows are numbered so that the first free column is always the wrong one."""
    rows = np.arange(length)
    ends = np.concatenate([rows, rows[1:]]), np.concatenate([rows, rows[:-1]])
    return BipartiteGraph(length, length, length - 1 - ends[0], ends[1])


def chains(length: int) -> BipartiteGraph:
    """Chains of every length up to this one, side by side."""
    parts = [chain(k) for k in range(1, length + 1)]
    first = np.cumsum([0, *(part.num_left for part in parts)]).tolist()
    ends = [
        np.concatenate([getattr(part, side) + at for part, at in zip(parts, first, strict=False)])
        for side in ("left", "right")
    ]
    return BipartiteGraph(first[-1], first[-1], ends[0], ends[1])


def shuffled(graph: BipartiteGraph, seed: int) -> BipartiteGraph:
    rng = np.random.default_rng(seed)
    left, right = rng.permutation(graph.num_left), rng.permutation(graph.num_right)
    return BipartiteGraph(graph.num_left, graph.num_right, left[graph.left], right[graph.right])


def hard_graphs(seed: int) -> list[BipartiteGraph]:
    rng = np.random.default_rng(seed)
    made = [sparse(rng, 90, c=c) for c in (1.0, 2.5, 4.0)] + [power_law(rng, 120), chain(150)]
    wide = rng.random((70, 300)) < 0.03
    nearly = np.eye(200, k=0, dtype=bool) | np.eye(200, k=-1, dtype=bool)  # few are left to match
    made += [BipartiteGraph.from_dense(edges) for edges in (wide, wide.T, nearly[::-1])]
    return [*made, shuffled(chains(14), seed), chains(14)]


class Recorded(list[int]):
    """The mates of rows, and the paths by which they changed, since the last new start."""

    def __init__(self, size: int) -> None:
        super().__init__([-1] * size)
        self.paths = list[Pairs]()

    def __setitem__(self, row: Any, mate: Any) -> None:
        before = self[row]
        super().__setitem__(row, mate)
        if mate < 0 <= before:
            self.paths.clear()
        elif mate >= 0 > before:
            self.paths.append([(row, mate)])
        elif mate >= 0:
            self.paths[-1].append((row, mate))


def recorded(graph: BipartiteGraph) -> tuple[list[Pairs], int]:
    """Match a graph; return the new pairs of each path, from its free row on, and the phases."""
    ends = graph.left.tolist(), graph.right.tolist()
    mates = Recorded(graph.num_left)
    lists = listed(graph.num_left, graph.num_right, *ends)._replace(mates=mates)
    return mates.paths, match_phases(lists, 0)


def arcs_of(graph: BipartiteGraph, path: Pairs) -> list[int]:
    """Return the arcs of a path from source to sink; see `BipartiteGraph.as_arcs`."""
    number = {pair: graph.num_left + k for k, pair in enumerate(graph.pairs())}
    arcs = [2 * path[0][0]]
    for (u, v), (row, _) in pairwise(path):
        arcs += [2 * number[u, v], 2 * number[row, v] + 1]
    last = graph.num_left + graph.num_edges + path[-1][1]
    return [*arcs, 2 * number[path[-1]], 2 * last]


def check_replay(graph: BipartiteGraph) -> None:
    """Let the network's table take the paths, one a round, given weights that point to them."""
    taken, num_phases = recorded(graph)
    paths = [arcs_of(graph, path) for path in taken]
    assert num_phases == len(set(map(len, paths)))
    assert sorted(map(len, paths)) == list(map(len, paths))

    def weights(batch: Batch, number: int) -> Any:
        chosen = np.full(batch.num_arcs, MAX_WEIGHT, np.uint8)
        chosen[paths[number] if number < len(paths) else []] = 1
        return chosen

    executor = CellExecutor(shipped_table(), engine="lookup").subroutines()
    batch = Batch.of([FlowNetwork.from_bipartite(graph)])
    *rounds, last = ford_fulkerson(batch, executor, (), Settings(weights=weights))
    assert [round_.paths.arcs.tolist() for round_ in rounds] == paths
    assert last.verdict.tolist() == [Verdict.DONE]


@given(graph=bipartite_graphs())
def test_the_network_takes_the_same_paths(graph: BipartiteGraph) -> None:
    check_replay(graph)


@pytest.mark.parametrize("graph", hard_graphs(1), ids=repr)
def test_so_it_does_on_hard_graphs(graph: BipartiteGraph) -> None:
    check_replay(graph)


def test_paths_are_shortest_however_often_bounds_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for share, few in ((10**9, 64), (10**9, 1), (1, 1)):
        monkeypatch.setattr(phases, "SHARE", share)
        monkeypatch.setattr(phases, "FEW", few)
        for graph in (chains(6), shuffled(chains(7), 3), sparse(np.random.default_rng(4), 40)):
            check_replay(graph)


def maximum(graph: BipartiteGraph) -> int:
    found = maximum_bipartite_matching(graph.to_scipy(), perm_type="column")
    return int((found >= 0).sum())


def check_legal(graph: BipartiteGraph, mates: Any) -> None:
    rows = np.flatnonzero(mates >= 0)
    assert len(set(mates[rows].tolist())) == len(rows)
    assert set(zip(rows.tolist(), mates[rows].tolist(), strict=True)) <= set(graph.pairs())


@given(seed=st.integers(0, 9**6))
def test_both_forms_decide_alike_and_find_scipys_maximum(seed: int) -> None:
    for graph in hard_graphs(seed):
        matrix, sizes = graph.to_scipy(), (graph.num_left, graph.num_right, graph.num_edges)
        edges = read_only(matrix.indptr, np.int64), read_only(matrix.indices, np.int32)
        compiled = Lists.of(edges, sizes, np.empty)
        rounds = lists.match_phases(compiled, 0)
        check_legal(graph, compiled.mates)
        assert (compiled.mates >= 0).sum() == maximum(graph)
        plain = listed(graph.num_left, graph.num_right, graph.left.tolist(), graph.right.tolist())
        assert (rounds, compiled.mates.tolist()) == (match_phases(plain, 0), plain.mates)


WIDE = 9000, 60_000


@pytest.mark.parametrize("kind", ["chains", "random", "wide"])
def test_a_graph_of_100_000_edges(kind: str) -> None:
    rng = np.random.default_rng(5)
    graph = {
        "chains": lambda: shuffled(chains(316), 6),
        "random": lambda: sparse(rng, 33_000, c=3.0),
        "wide": lambda: BipartiteGraph(
            9000, 60_000, rng.integers(0, 9000, 99_000), rng.integers(0, 60_000, 99_000)
        ),
    }[kind]()
    mates = match_sparse(graph.to_scipy()).mates
    check_legal(graph, mates)
    assert (mates >= 0).sum() == maximum(graph)


def test_nothing_need_be_filled_before() -> None:
    """Room is used again for the next graph of a batch."""
    graph = hard_graphs(2)[1]
    edges = listed(graph.num_left, graph.num_right, graph.left.tolist(), graph.right.tolist())[:2]
    sizes = graph.num_left, graph.num_right, graph.num_edges
    clean, dirty = (Lists.of(edges, sizes, lambda size, _, x=x: [x] * size) for x in (0, 7**9))
    assert match_phases(clean, 0) == match_phases(dirty, 0)
    assert clean.mates == dirty.mates


def test_last_chances_start_again_where_only_long_paths_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(phases, "transpose", refuse)
    graph = chains(130)
    assert graph.num_left >= 130 * phases.FEW  # greedy pairs leave one row of each chain
    lists = listed(graph.num_left, graph.num_right, graph.left.tolist(), graph.right.tolist())
    match_phases(lists, 0)
    assert sorted(lists.mates) == list(range(graph.num_right))
