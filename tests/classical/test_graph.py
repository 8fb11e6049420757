"""Graphs store their input in one canonical form, and reject what is not a graph."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from typing import Any, cast

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from augury.classical import graph as module
from augury.classical.graph import BipartiteGraph
from augury.classical.sides import two_colouring
from augury.classical.sparse import without_zeros
from augury.errors import InputError
from graphs import ISOLATED, JOBS, NOTHING, STAR, bipartite_graphs


@given(bipartite_graphs())
def test_edges_are_sorted_different_and_int32(graph: BipartiteGraph) -> None:
    pairs = list(graph.pairs())
    assert pairs == sorted(set(pairs))
    assert graph.left.dtype == graph.right.dtype == np.int32


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abcde"))))
def test_a_few_edges_are_sorted_as_many_are(edges: list[tuple[int, str]]) -> None:
    few = BipartiteGraph.from_edges(edges)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", -1)
        assert few == BipartiteGraph.from_edges(edges)
    assert not (few.left.flags.writeable or few.right.flags.writeable)


def test_the_order_of_the_input_does_not_matter() -> None:
    one = BipartiteGraph(3, 3, np.array([2, 0, 1, 2]), np.array([1, 2, 0, 1]))
    other = BipartiteGraph(3, 3, np.array([0, 1, 2]), np.array([2, 0, 1]))
    assert one == other
    assert one.left.tobytes() == other.left.tobytes()
    assert one != ISOLATED
    assert one != "a graph"


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("left", [[0, 1, 2], [2, 1, 0]])
def test_a_graph_is_read_only_and_the_arrays_it_was_given_are_not(
    left: list[int], dtype: type[np.integer[Any]]
) -> None:
    mine = np.array(left, dtype), np.array([0, 1, 2], dtype)
    graph = BipartiteGraph(3, 3, *mine)
    for array in mine:
        array[:] = 0
    assert len(set(graph.pairs())) == 3
    for array in (graph.left, graph.right):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_slice_of_another_array_is_copied() -> None:
    ends = np.array([[0, 0], [1, 1]], np.int32)
    graph = BipartiteGraph(2, 2, ends[:, 0], ends[:, 1])
    ends[:] = 0
    assert list(graph.pairs()) == [(0, 0), (1, 1)]


WRONG: list[tuple[str, tuple[Any, ...], str]] = [
    ("left below zero", (2, 2, [-1], [0]), "edge 0 names left node -1, but there are 2"),
    ("right too large", (2, 2, [0, 1], [0, 2]), "edge 1 names right node 2, but there are 2"),
    ("unequal", (2, 2, [0, 1], [0]), "2 left ends do not pair with 1 right ends"),
    ("fractions", (2, 2, [0.0], [0]), "the left ends must be whole numbers, not float64"),
    ("text", (2, 2, [0], ["a"]), "the right ends must be whole numbers, not <U1"),
    ("two rows", (2, 2, [[0]], [0]), "must be one row of node numbers, not 2-dimensional"),
    ("negative side", (-1, 2, [], []), "the number of left nodes is -1, not in 0.."),
    ("huge side", (2, 2**31, [], []), "the number of right nodes is 2147483648, not in"),
    ("fractional side", (2.0, 2, [], []), "the number of left nodes is 2.0, not a whole number"),
    ("few labels", (2, 2, [], [], ["a"]), "1 left labels for 2 nodes"),
    ("double label", (2, 2, [], [], None, ["a", "a"]), "'a' appears twice among the right labels"),
    ("no label", (1, 2, [], [], [["a"]]), "the left labels must be hashable"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG]
)
def test_wrong_arrays_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        BipartiteGraph(*arguments)
    assert message in str(caught.value)


def test_counts_may_be_numpy_integers_and_become_ints() -> None:
    left: Any = np.int64(2)
    right: Any = np.uint8(1)
    graph = BipartiteGraph(left, right, np.array([1]), np.array([0]))
    assert type(graph.num_left) is type(graph.num_right) is int


def test_labels_are_numbered_as_they_appear_and_found_again() -> None:
    assert (JOBS.left_labels, JOBS.right_labels) == (("ann", "bob"), ("cook", "sing"))
    assert list(JOBS.edges()) == [("ann", "cook"), ("bob", "cook"), ("bob", "sing")]
    assert repr(JOBS) == "BipartiteGraph(2 + 2 nodes, 3 edges)"


def test_given_labels_fix_order_and_isolated_nodes() -> None:
    both: Any = (["zoe", "ann"], np.array(["zoe", "ann"]))
    for labels in both:
        graph = BipartiteGraph.from_edges([("ann", "cook")], labels)
        assert graph.left_labels == ("zoe", "ann")
        assert list(graph.pairs()) == [(1, 0)]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("bob", "cook")], "edge 0 is ('bob', 'cook'): 'bob' is not a left node"),
        ([("ann", "cook"), ("ann",)], "edge 1 is ('ann',): expected a pair of hashable labels"),
        ([("ann", ["cook"])], "edge 0 is ('ann', ['cook']): expected a pair of hashable labels"),
        ([5], "edge 0 is 5: expected a pair"),
    ],
)
def test_wrong_edges_are_refused_by_position(edges: list[Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        BipartiteGraph.from_edges(edges, ["ann"])
    assert message in str(caught.value)


def test_labels_that_are_the_numbers_themselves_are_dropped() -> None:
    graph = BipartiteGraph.from_edges([(0, 0), (1, 1)])
    assert graph.left_labels is graph.right_labels is None
    assert BipartiteGraph(2, 1, np.array([0]), np.array([0]), [True, 1.5]).left_labels is not None


@given(bipartite_graphs())
def test_dense_scipy_and_networkx_give_the_graph_back(graph: BipartiteGraph) -> None:
    assert BipartiteGraph.from_dense(graph.to_dense()) == graph
    assert BipartiteGraph.from_scipy(graph.to_scipy()) == graph
    labelled = BipartiteGraph(
        graph.num_left,
        graph.num_right,
        graph.left,
        graph.right,
        [f"l{i}" for i in range(graph.num_left)],
        [f"r{i}" for i in range(graph.num_right)],
    )
    assert BipartiteGraph.from_networkx(labelled.to_networkx()) == labelled
    back = BipartiteGraph.from_edges(
        labelled.edges(), labelled.left_labels or [], labelled.right_labels or []
    )
    assert back == labelled


def test_networkx_numbers_unlabelled_right_nodes_after_the_left_ones() -> None:
    assert list(STAR.to_networkx().edges()) == [(0, 1), (0, 2), (0, 3)]


def test_labels_on_both_sides_are_told_apart_in_networkx() -> None:
    graph = BipartiteGraph.from_edges([("a", "b"), ("b", "a")])
    assert ("left", "a") in graph.to_networkx()
    assert BipartiteGraph.from_networkx(graph.to_networkx()).num_edges == 2


def test_scipy_duplicates_are_summed_and_zeros_are_no_edges() -> None:
    data = np.array([1, 1, 2, -2, 0]), (np.array([0, 0, 1, 1, 0]), np.array([0, 0, 1, 1, 1]))
    matrix = scipy.sparse.coo_array(data, shape=(2, 3))
    before = matrix.data.copy()
    graph = BipartiteGraph.from_scipy(matrix)
    assert list(graph.pairs()) == [(0, 0)]
    assert (graph.num_left, graph.num_right) == (2, 3)
    assert np.array_equal(matrix.data, before)


def test_a_matrix_that_needs_no_work_is_neither_changed_nor_shared() -> None:
    matrix = scipy.sparse.csr_array(np.array([[True, False, True], [False, True, False]]))
    graph = BipartiteGraph.from_scipy(matrix)
    assert list(graph.pairs()) == [(0, 0), (0, 2), (1, 1)]
    for part in (matrix.data, matrix.indices, matrix.indptr):
        assert part.flags.writeable
        assert not any(np.shares_memory(part, own) for own in (graph.left, graph.right))
    # Unsorted, double and zero entries need some.
    rows = scipy.sparse.csr_array((np.array([1, 1, 1, 0]), [2, 0, 0, 1], [0, 3, 4]), shape=(2, 3))
    assert list(BipartiteGraph.from_scipy(rows).pairs()) == [(0, 0), (0, 2)]
    rows.indices[0] = 3
    with pytest.raises(InputError, match="the sparse matrix is damaged"):
        BipartiteGraph.from_scipy(rows)


def twice(dtype: Any, *values: Any) -> scipy.sparse.coo_array:
    """Several entries at the same position."""
    places = np.zeros(len(values), int), np.ones(len(values), int)
    return scipy.sparse.coo_array((np.array(values, dtype), places), shape=(2, 2))


SUMS: list[tuple[Any, list[Any], int]] = [
    (np.uint8, [128, 128], 256),
    (np.int8, [-128, -128], -256),
    (np.bool_, [True, True], 2),
    (np.int32, [2**30] * 4, 2**32),
    (np.uint32, [2**31] * 2, 2**32),
    (np.uint64, [2**62, 2**62 - 1], 2**63 - 1),
    (np.int64, [2**62, 2**62 - 1, 1, -1], 2**63 - 1),
    (np.int64, [-(2**62), -(2**62)], -(2**63)),
    (np.float32, [2**24, 1], 2**24 + 1),
    (np.float64, [2.0**53, 1.0, 1.0, 1.0], 2**53 + 3),
]


@pytest.mark.parametrize(("dtype", "values", "total"), SUMS)
@pytest.mark.parametrize("form", ["coo", "csr"])
def test_scipy_duplicates_are_summed_exactly(
    dtype: Any, values: list[Any], total: int, form: str
) -> None:
    matrix: Any = twice(dtype, *values)
    if form == "csr":  # made by hand, since SciPy sums on every conversion
        columns, start = np.ones(len(values), int), [0, len(values), len(values)]
        matrix = scipy.sparse.csr_array((matrix.data, columns, start), shape=(2, 2))
    assert without_zeros(matrix).data.tolist() == [total]
    assert list(BipartiteGraph.from_scipy(matrix).pairs()) == [(0, 1)]


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (np.int64, [2**62, 2**62]),
        (np.int64, [-(2**62), -(2**62), -1]),
        (np.int64, [2**62] * 4),
        (np.uint64, [2**63, 2**63]),
        (np.uint64, [2**64 - 1, 1]),
    ],
)
def test_scipy_duplicates_beyond_64_bits_are_refused(dtype: Any, values: list[int]) -> None:
    with pytest.raises(InputError, match="the entries at row 0, column 1 add up to more than 64"):
        BipartiteGraph.from_scipy(twice(dtype, *values))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok"])
def test_every_scipy_form_is_read(form: str) -> None:
    is_edge = np.random.default_rng(0).random((5, 7)) < 0.4
    matrix: Any = scipy.sparse.coo_array(is_edge)
    graph = BipartiteGraph.from_scipy(matrix.asformat(form))
    assert np.array_equal(graph.to_dense(), is_edge)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, float("nan")]], "the biadjacency matrix has an entry that is not a number"),
        ([1, 2], "two dimensions, not 1"),
        ([["ann", "cook"]], "the biadjacency matrix holds text, not numbers"),
        (np.array([["ann", "cook"]], "S"), "the biadjacency matrix holds bytes, not numbers"),
        (np.array([["ann", 1]], object), "holds objects such as 'ann', not numbers of 64 bits"),
        (np.array([[1, float("nan")]], object), "holds objects such as nan, not numbers of 64"),
        (np.array([[1, None]], object), "holds objects such as None, not numbers of 64 bits"),
        (np.array([[1, 0]], object), "holds objects such as 1, not numbers of 64 bits"),
        (np.zeros((0, 2), object), "the biadjacency matrix holds objects, not numbers"),
        (np.zeros((1, 2), "M8[s]"), "the biadjacency matrix holds datetime64.s., not numbers"),
        (np.zeros((1, 2), [("a", int)]), "not numbers"),
        (
            np.ma.masked_array([[1, 1]], mask=[[False, True]]),
            "masked entries .* biadjacency matrix",
        ),
    ],
)
def test_wrong_dense_matrices_are_refused(matrix: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        BipartiteGraph.from_dense(matrix)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(2), "expected a SciPy sparse matrix, got ndarray"),
        (scipy.sparse.coo_array(np.array([1, 2])), "two dimensions, not 1"),
        (scipy.sparse.coo_array(np.array([[np.nan]])), "not a number"),
    ],
)
def test_wrong_sparse_matrices_are_refused(matrix: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        BipartiteGraph.from_scipy(matrix)


def test_a_masked_array_is_read_if_nothing_is_masked() -> None:
    assert BipartiteGraph.from_dense(np.ma.masked_array([[1, 0]])).num_edges == 1
    ends = np.ma.masked_array([0, 1], mask=[False, True])
    for left, right in ((ends, [0, 1]), ([0, 1], ends)):
        with pytest.raises(InputError, match="masked entries"):
            BipartiteGraph(2, 2, cast("Any", left), cast("Any", right))


def test_networkx_top_nodes_are_the_left_side() -> None:
    graph: nx.Graph[str] = nx.Graph([("a", "x"), ("b", "x")])
    assert BipartiteGraph.from_networkx(graph).left_labels == ("a", "b")
    assert BipartiteGraph.from_networkx(graph, ["x"]).left_labels == ("x",)


def test_the_networkx_attribute_tells_the_sides_of_a_disconnected_graph() -> None:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(["x", "y"], bipartite=1)
    graph.add_nodes_from(["a", "b", "c"], bipartite=0)
    graph.add_edges_from([("x", "a"), ("y", "b")])
    found = BipartiteGraph.from_networkx(graph)
    assert (found.left_labels, found.right_labels) == (("a", "b", "c"), ("x", "y"))
    assert set(found.edges()) == {("a", "x"), ("b", "y")}


def test_directed_and_multiple_networkx_edges_count_once() -> None:
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph([("a", "x"), ("x", "a"), ("a", "x")])
    assert list(BipartiteGraph.from_networkx(graph).edges()) == [("a", "x")]


NX_WRONG: list[tuple[list[Any], Any, str]] = [
    ([(1, 2), (3, 4)], None, "2 separate parts and nothing says which nodes are left"),
    ([(1, 2)], [1, 9], "top_nodes names 9, which is not in the graph"),
    ([(1, 2)], [1, 2], "the edge 1, 2 has both ends on the left side by top_nodes"),
    ([(1, 1)], None, "odd cycle 1 – 1"),
]


@pytest.mark.parametrize(("edges", "top", "message"), NX_WRONG)
def test_wrong_networkx_graphs_are_refused(edges: list[Any], top: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        BipartiteGraph.from_networkx(nx.Graph(edges), top)
    assert message in str(caught.value)


def test_a_wrong_networkx_attribute_is_refused() -> None:
    graph: nx.Graph[int] = nx.Graph([(1, 2)])
    nx.set_node_attributes(graph, dict.fromkeys(graph, 1), "bipartite")
    with pytest.raises(InputError, match="right side by the attribute 'bipartite'"):
        BipartiteGraph.from_networkx(graph)


@pytest.mark.parametrize("length", [3, 5, 9])
def test_an_odd_cycle_is_named_whole(length: int) -> None:
    graph: nx.Graph[int] = nx.Graph([(101, 100), (100, 0)])  # a way there that is no part of it
    nx.add_cycle(graph, range(length))
    with pytest.raises(InputError) as caught:
        BipartiteGraph.from_networkx(graph)
    cycle = [int(node) for node in str(caught.value).partition("odd cycle ")[2].split(" – ")]
    assert cycle[0] == cycle[-1]
    assert sorted(cycle[1:]) == list(range(length))
    assert all(graph.has_edge(u, v) for u, v in pairwise(cycle))


def test_every_part_is_coloured_and_counted() -> None:
    colours, num_parts = two_colouring({1: [2], 2: [1], 3: []})
    assert (colours, num_parts) == ({1: True, 2: False, 3: True}, 2)


def test_the_position_of_an_edge_is_found_and_of_no_other_pair() -> None:
    # As 3 * left + right, (0, 5) and (2, -1) would be the edge (1, 2).
    left, right = np.array([0, 1, 2, -1, 0, 2]), np.array([0, 2, 1, 0, 5, -1])
    assert ISOLATED.edge_index(left, right).tolist() == [0, 1, -1, -1, -1, -1]
    assert NOTHING.edge_index(left, right).tolist() == [-1] * 6


def test_positions_are_found_in_whole_numbers_of_every_type() -> None:
    # As floats, 2³⁰ * (2³⁰ − 1) + 1 and its neighbours are one number.
    wide = BipartiteGraph(2**30, 2**30, np.array([2**30 - 1]), np.array([1]))
    for dtype in (np.int32, np.uint32, np.int64, np.uint64):
        left = np.full(3, 2**30 - 1, dtype)
        assert wide.edge_index(left, np.array([0, 1, 2], dtype)).tolist() == [-1, 0, -1]
    beyond = np.array([2**63 + 1, 2**64 - 1], np.uint64)
    assert wide.edge_index(beyond, beyond).tolist() == [-1, -1]


MILLION = """
import numpy as np, scipy.sparse
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork

def tell_peak():
    # Not ru_maxrss: a child inherits that of the process that started it, and this one has torch.
    status = open("/proc/self/status").read()
    print(int(status.split("VmHWM:")[1].split()[0]) // 1024)

n, rng = 100_000, np.random.default_rng(0)
few, ends = (rng.integers(0, n, (2, size), np.int32) for size in (300_000, 1_000_000))
BipartiteGraph.from_edges((int(u), int(v)) for u, v in few.T)
tell_peak()
entries = np.ones(ends.shape[1], np.int8), tuple(ends)
BipartiteGraph.from_scipy(scipy.sparse.coo_array(entries, shape=(n, n)))
FlowNetwork.from_bipartite(BipartiteGraph(n, n, *ends))
FlowNetwork.from_arcs(n, *ends, np.ones(ends.shape[1], np.int64), source=0, sink=1)
tell_peak()
"""


def test_a_million_edges_fit_in_little_memory() -> None:
    command = [sys.executable, "-c", MILLION]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    few, many = map(int, done.stdout.split())
    # 60 MB for the imports; a list of 300,000 tuples, or a set of them, would alone take 40 MB.
    assert few < 120
    # 16 bytes an edge for what is kept, and as much again for the sort.
    assert many < 260
