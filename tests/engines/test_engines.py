"""The compiled network decides as the network does, round for round, and every answer is right."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from augury.algorithms import ALGORITHMS
from augury.algorithms.cells import FLOOD
from augury.algorithms.executor import CellExecutor
from augury.cells.network import case_logits, compiled
from augury.classical.batch import Batch, starts
from augury.classical.ford_fulkerson import Settings, ford_fulkerson
from augury.classical.generate import power_law, sparse
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.engines import ENGINES, as_bytes, match_dense, match_sparse, table
from augury.engines.engine import Mates
from augury.engines.small import turn, turning_weights
from augury.engines.table import match_lists, require_proof
from augury.errors import InputError
from augury.models import shipped_table
from augury.solver import solve
from graphs import NETWORKS
from proven import proven, untrained

Adjacency = npt.NDArray[np.bool_]

SHAPES = [(0, 0), (0, 3), (3, 0), (1, 1), (2, 5), (5, 2), (8, 8), (7, 13), (16, 16), (9, 40)]
WORDS = [(64, 64), (63, 64), (64, 33)]
LARGE = [(64, 65), (65, 64), (70, 90), (1, 100), (130, 7)]


def random_graphs(seed: int, shape: tuple[int, int], count: int) -> Adjacency:
    """From empty to full, with isolated nodes among them."""
    rng = np.random.default_rng(seed)
    filled = rng.random((count, *shape)) < np.linspace(0, 1, count)[:, None, None] ** 2
    filled[rng.random((count, shape[0])) < 0.1] = False
    return filled


def largest(adjacency: Adjacency) -> list[int]:
    """The size of a maximum matching of each graph, by SciPy."""
    if 0 in adjacency.shape[1:]:
        return [0] * len(adjacency)
    found = [maximum_bipartite_matching(csr_array(edges)) for edges in adjacency]
    return [int((mates >= 0).sum()) for mates in found]


def check_legal(adjacency: Adjacency, mates: npt.NDArray[np.int32]) -> list[int]:
    """Every pair is an edge and no column is used twice; returns the sizes."""
    for edges, mate in zip(adjacency, mates, strict=True):
        rows = np.flatnonzero(mate >= 0)
        assert edges[rows, mate[rows]].all()
        assert len(set(mate[rows].tolist())) == len(rows)
    return (mates >= 0).sum(-1).tolist()


def match_union(matrices: Sequence[Any]) -> Mates:
    """Match sparse graphs side by side; their mates follow each other, each counted in its own."""
    rows = [csr_array(matrix) for matrix in matrices]
    left, right = (starts([matrix.shape[side] for matrix in rows]) for side in (0, 1))
    degrees = [np.diff(matrix.indptr) for matrix in rows]
    columns = [matrix.indices + first for matrix, first in zip(rows, right, strict=False)]
    joined = np.concatenate([np.zeros(0, np.int64), *columns])
    return match_lists(starts(np.concatenate([[], *degrees])), joined, left, right)


def network_of(edges: Adjacency) -> FlowNetwork:
    return FlowNetwork.from_bipartite(BipartiteGraph.from_dense(edges))


def test_a_network_that_does_not_verify_has_no_compiled_form() -> None:
    wrong = proven()
    with torch.no_grad():
        wrong["flood"].get_parameter("head.bias").add_(1000)
    for call in (
        lambda: match_dense(np.ones((1, 2, 2)), network=wrong),
        lambda: match_sparse(csr_array(np.eye(2)), network=wrong),
        lambda: solve(next(iter(NETWORKS.values())), model=CellExecutor(wrong), engine="table"),
        lambda: require_proof(CellExecutor(untrained())),
        lambda: require_proof(CellExecutor(compiled(proven()))),  # nobody vouches for this table
    ):
        with pytest.raises(InputError, match=r"not proven.*augury verify"):
            call()
    require_proof(CellExecutor(proven()))
    require_proof(CellExecutor(shipped_table()))
    assert CellExecutor(shipped_table()).executes == tuple(ALGORITHMS)  # as the solver assumes


def test_a_network_without_margins_has_no_compiled_form() -> None:
    """All its decisions are right in float32, but rounding could turn one."""
    network = proven()
    bias = network["flood"].get_parameter("head.bias")
    said = case_logits(network, FLOOD)[:, 0]
    with torch.no_grad():
        bias[:, 0] -= said[said > 0].min() - 1e-4
    assert compiled(network).differences() == []
    with pytest.raises(InputError, match="not proven"):
        match_dense(np.ones((1, 2, 2)), network=network)


# The compiled loops against the network itself.


@pytest.mark.parametrize("shape", SHAPES)
def test_a_compiled_matching_is_the_networks_own(shape: tuple[int, int]) -> None:
    adjacency = random_graphs(2, shape, 40)
    ours, theirs = match_dense(adjacency), match_dense(adjacency, engine="plain", network=proven())
    np.testing.assert_array_equal(ours.mates, theirs.mates)
    np.testing.assert_array_equal(ours.rounds, theirs.rounds)
    assert check_legal(adjacency, ours.mates) == largest(adjacency)


@pytest.mark.parametrize("shape", WORDS)
def test_so_are_those_of_graphs_that_fill_a_word(shape: tuple[int, int]) -> None:
    adjacency = random_graphs(3, shape, 6)
    ours, theirs = match_dense(adjacency), match_dense(adjacency, engine="plain")
    np.testing.assert_array_equal(ours.mates, theirs.mates)
    np.testing.assert_array_equal(ours.rounds, theirs.rounds)
    assert check_legal(adjacency, ours.mates) == largest(adjacency)


@pytest.mark.parametrize("shape", LARGE)
def test_beyond_a_word_so_are_those_of_its_table(shape: tuple[int, int]) -> None:
    adjacency = random_graphs(3, shape, 6)
    ours, theirs = match_dense(adjacency), match_dense(adjacency, engine="lookup")
    np.testing.assert_array_equal(ours.mates, theirs.mates)
    np.testing.assert_array_equal(ours.rounds, theirs.rounds)
    assert check_legal(adjacency, ours.mates) == largest(adjacency)


def test_thousands_of_small_graphs_are_matched_as_the_network_does() -> None:
    """Looking up stands in for the network, to which it is compared above: it is quicker."""
    table = CellExecutor(proven(), engine="lookup").subroutines()
    for n, count in ((4, 1500), (8, 1500), (12, 300)):
        adjacency = np.random.default_rng(n).random((count, n, n)) < 2.5 / n
        networks = [network_of(edges) for edges in adjacency]
        mates = np.full((count, n), -1)
        for round_ in ford_fulkerson(
            Batch.of(networks), table, (), Settings(many_paths=True, weights=turning_weights)
        ):
            batch = round_.batch
            full = np.flatnonzero((round_.after == 0) & (batch.capacity > 0))
            graph = batch.node_graph[batch.sender[full]]
            row = batch.sender[full] - batch.node_start[graph] - 1
            column = batch.receiver[full] - batch.node_start[graph] - 1 - n
            inner = (row >= 0) & (row < n) & (column >= 0) & (column < n)
            mates[batch.graphs] = -1
            mates[batch.graphs[graph[inner]], row[inner]] = column[inner]
        np.testing.assert_array_equal(match_dense(adjacency).mates, mates)


def test_words_and_lists_agree() -> None:
    for shape in ((8, 8), (40, 64), (64, 40), (64, 64), (65, 3), (90, 80)):
        adjacency = random_graphs(4, shape, 200)
        words = match_dense(adjacency)
        lists = match_union([csr_array(edges) for edges in adjacency])
        np.testing.assert_array_equal(words.mates.reshape(-1), lists.mates)
        np.testing.assert_array_equal(words.rounds, lists.rounds)


@settings(max_examples=60)
@given(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).flatmap(
        lambda shape: arrays(np.bool_, (3, *shape))
    )
)
def test_any_small_graphs_are_matched_to_the_maximum(adjacency: Adjacency) -> None:
    found = match_dense(adjacency)
    assert check_legal(adjacency, found.mates) == largest(adjacency)
    lists = match_union([csr_array(edges) for edges in adjacency])
    np.testing.assert_array_equal(found.mates.reshape(-1), lists.mates)


@pytest.mark.parametrize("engine", ["table", "lookup", "plain"])
@pytest.mark.parametrize("shape", [(5, 7), (8, 8), (64, 60), (70, 66)])
def test_any_byte_but_0_is_an_edge(engine: str, shape: tuple[int, int]) -> None:
    """A view of bytes as Booleans is a Boolean array whose bytes need not be 0 or 1."""
    adjacency = random_graphs(11, shape, 6)
    octets = np.random.default_rng(12).integers(1, 256, adjacency.shape, np.uint8) * adjacency
    expected = match_dense(adjacency, engine=engine)
    for given_ in (octets, octets.view(np.bool_), octets.view(np.bool_)[:, ::-1][:, ::-1]):
        found = match_dense(given_, engine=engine)
        np.testing.assert_array_equal(found.mates, expected.mates)
        np.testing.assert_array_equal(found.rounds, expected.rounds)


def test_bytes_of_0_and_1_are_not_copied() -> None:
    adjacency = random_graphs(13, (8, 8), 3)
    assert np.shares_memory(as_bytes(adjacency), adjacency)
    assert np.shares_memory(as_bytes(adjacency.view(np.uint8)), adjacency)


def test_unequal_sparse_graphs_are_each_matched_as_if_alone() -> None:
    rng = np.random.default_rng(8)
    graphs = [sparse(rng, 30, c=2.0), power_law(rng, 90), sparse(rng, 7, c=1.0), sparse(rng, 70)]
    matrices = [graph.to_scipy() for graph in graphs] + [csr_array((0, 4)), csr_array((4, 0))]
    together = match_union(matrices)
    alone = [match_sparse(matrix) for matrix in matrices]
    np.testing.assert_array_equal(together.mates, np.concatenate([one.mates for one in alone]))
    np.testing.assert_array_equal(together.rounds, np.concatenate([one.rounds for one in alone]))
    assert len(match_union([]).mates) == 0


@pytest.mark.parametrize("degree", [1.0, 2.5, 6.0])
def test_a_large_sparse_graph_gets_scipys_maximum(degree: float) -> None:
    rng = np.random.default_rng(9)
    matrix = sparse(rng, 3000, c=degree).to_scipy()
    mates = match_sparse(matrix).mates
    theirs = maximum_bipartite_matching(matrix, perm_type="column")
    assert (mates >= 0).sum() == (theirs >= 0).sum()
    rows = np.flatnonzero(mates >= 0)
    assert len(np.unique(mates[rows])) == len(rows)
    entries = set(zip(*(part.tolist() for part in matrix.nonzero()), strict=True))
    assert set(zip(rows.tolist(), mates[rows].tolist(), strict=True)) <= entries


def test_order_and_repetition_of_a_rows_columns_change_nothing() -> None:
    rng = np.random.default_rng(10)
    matrix = sparse(rng, 200, c=4.0).to_scipy()
    indices = np.concatenate(
        [rng.permutation(row) for row in np.split(matrix.indices, matrix.indptr[1:-1])]
    )
    shuffled = csr_array((matrix.data, indices, matrix.indptr), shape=matrix.shape)
    np.testing.assert_array_equal(match_sparse(matrix).mates, match_sparse(shuffled).mates)


# Weights, interface.


def test_weights_are_those_that_the_loops_use() -> None:
    from augury.engines import words

    for number, rows in product(range(9), (1, 2, 7, 64, 1000)):
        assert words.turn(number, rows) == turn(number, rows) < rows


def test_a_column_prefers_the_rows_from_its_offset_on() -> None:
    batch = Batch.of([network_of(np.ones((5, 7), np.bool_)), network_of(np.ones((2, 1), np.bool_))])
    for number in range(4):
        weights = turning_weights(batch, number)
        for arc in range(batch.num_arcs):
            graph = batch.node_graph[batch.sender[arc]]
            rows = (5, 2)[graph]
            u, v = (
                int(end[arc] - batch.node_start[graph]) - 1
                for end in (batch.sender, batch.receiver)
            )
            is_edge = (
                arc % 2 == 0
                and 0 <= u < rows
                and rows <= v < batch.num_nodes
                and (batch.receiver[arc] != batch.sink[graph])
            )
            offset = ((v - rows) + turn(number, rows)) % rows
            assert weights[arc] == (2 if is_edge and u < offset else 1)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the smallest batch start threads, and tell how many a call started."""
    counts = list[int]()

    class Counted(ThreadPoolExecutor):
        def __init__(self, threads: int) -> None:
            counts.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(table, "CELLS_A_THREAD", 1)
    monkeypatch.setattr(table, "ThreadPoolExecutor", Counted)
    return counts


@pytest.mark.parametrize(("cells", "threads"), [(6001, 1), (3000, 2), (2000, 3), (1, 3)])
def test_a_small_batch_starts_fewer_threads(
    started: list[int], monkeypatch: pytest.MonkeyPatch, cells: int, threads: int
) -> None:
    monkeypatch.setattr(table, "CELLS_A_THREAD", cells)
    match_dense(random_graphs(5, (20, 30), 10), threads=3)  # 6,000 cells
    assert started == ([threads] if threads > 1 else [])


def test_the_number_of_threads_changes_nothing(started: list[int]) -> None:
    adjacency = random_graphs(5, (20, 30), 101)
    once = match_dense(adjacency)
    for threads in (2, 3, 200):
        again = match_dense(adjacency, threads=threads)
        np.testing.assert_array_equal(once.mates, again.mates)
        np.testing.assert_array_equal(once.rounds, again.rounds)
    assert started == [2, 3, 101]


def test_one_graph_any_numbers_and_any_layout_are_taken() -> None:
    edges = random_graphs(6, (6, 9), 5)[3]
    expected = match_dense(edges[None]).mates[0]
    for form in (edges, edges * 7, edges.astype(float), np.asfortranarray(edges), edges.tolist()):
        np.testing.assert_array_equal(match_dense(form).mates, expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: match_dense([1, 0]), "1 axes"),
        (lambda: match_dense([[1]], engine="quantum"), "'quantum' is not one of the engines plain"),
        (lambda: match_dense([[1]], threads=0), "at least one thread, not 0"),
        (
            lambda: match_dense(np.ma.array([[1, 1]], mask=[[True, False]])),
            "masked entries in the adj",
        ),
        (lambda: match_dense([["ann", "cook"]]), "adjacency"),
    ],
)
def test_what_an_engine_cannot_take_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()


def test_every_engine_says_what_it_is() -> None:
    assert {"plain", "table"} <= set(ENGINES)
    assert all(
        engine.what and engine.device in (None, "cpu", "cuda") for engine in ENGINES.values()
    )


@pytest.mark.parametrize("shape", [(8, 8), (70, 70)])
def test_more_threads_than_graphs_are_no_fault(shape: tuple[int, int], started: list[int]) -> None:
    graphs = np.random.default_rng(0).random((3, *shape)) < 0.2
    alone = match_dense(graphs)
    for count in (0, 1, 3):
        shared = match_dense(graphs[:count], threads=8)
        np.testing.assert_array_equal(shared.mates, alone.mates[:count])
    assert started == [3]
