"""Graphs side by side are the graphs that were laid there, whole or in part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.classical.batch import starts
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.graph import BipartiteGraph
from graphs import ISOLATED, JOBS, NOTHING, STAR, bipartite_graphs


def of_edges(graphs: list[BipartiteGraph], seed: int) -> BipartiteBatch:
    """Give every edge twice, in any order."""
    left, right = (starts([getattr(g, side) for g in graphs]) for side in ("num_left", "num_right"))
    edges = [(left[k] + u, v) for k, graph in enumerate(graphs) for u, v in graph.pairs()] * 2
    row, column = np.random.default_rng(seed).permutation(np.array(edges).reshape(-1, 2)).T
    return BipartiteBatch.of_edges(left, right, row.astype(np.int64), column.astype(np.int64))


@given(graphs=st.lists(bipartite_graphs(), max_size=6), seed=st.integers(0, 99))
def test_the_graphs_come_back(graphs: list[BipartiteGraph], seed: int) -> None:
    made = of_edges(graphs, seed)
    for batch in (made, BipartiteBatch.of(graphs)):
        assert list(batch) == batch[:] == graphs
        assert batch.num_arcs.tolist() == [graph.num_arcs for graph in graphs]
        for first in range(len(graphs)):
            end = len(graphs) - first // 3
            part = batch.part(first, end)
            assert list(part) == graphs[first:end]
            assert part.left[0] == part.right[0] == part.indptr[0] == 0


def test_nodes_keep_the_names_of_their_graph() -> None:
    names = np.array([1, 3, 0]), np.array([0, 2, 1])
    sides = np.array([0, 2, 3]), np.array([0, 2, 3])
    batch = BipartiteBatch.of_edges(*sides, np.array([0, 1, 2]), np.array([0, 1, 0]), names)
    for some in (batch, batch.part(0, 2)):
        assert [list(graph.edges()) for graph in some] == [[(1, 0), (3, 2)], [(0, 1)]]
    assert list(batch.part(1, 2)[0].edges()) == [(0, 1)]


def test_a_batch_is_a_sequence() -> None:
    graphs = [JOBS, NOTHING, STAR, ISOLATED]
    for batch in (BipartiteBatch.of(graphs), of_edges(graphs[1:], 3)):
        assert batch[-1] == ISOLATED and batch[1:2] == [batch[1]]
        with pytest.raises(IndexError):
            _ = batch[len(batch)]
    assert BipartiteBatch.of(graphs)[0] is JOBS
