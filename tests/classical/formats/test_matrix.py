import gzip
import io
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from samples import (
    AS_FOUND,
    ENDS,
    FLOW,
    MATRIX,
    bipartite_graphs,
    counts_of,
    file_with,
    fuzz,
    networks,
    npz,
    refusal,
    sparse_npz,
    there_and_back,
)

from augury.classical.cost_network import CostNetwork
from augury.classical.formats import ReadOptions, read_graph, write_graph
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError

PATTERN = ReadOptions(ignore_costs=True)
PRICED = ReadOptions(costs=True)


def with_wrong_index():
    matrix = scipy.sparse.csr_array(np.eye(3, dtype=np.int64))
    matrix.indices[1] = 1_000_000
    return sparse_npz(matrix)


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def claiming(shape):
    true, claimed = b"(2, 2), }", f"{shape}, }}".encode()
    return npy(np.eye(2)).replace(true.ljust(len(claimed)), claimed)


def csr_npz(**changes):
    arrays = {"format": b"csr", "shape": [1, 1], "indptr": [0, 1], "indices": [0], "data": [1]}
    arrays |= changes
    return npz(**{key: value for key, value in arrays.items() if value is not None})


DENSE = MATRIX.replace("coordinate", "array")
COSTS = "may be costs"

BAD = [
    # name, content, options, what the message must say
    ("short.mtx", MATRIX + "2 2 3\n1 1 1\n", AS_FOUND, "not a Matrix Market file"),
    ("more.mtx", MATRIX + "2 2 1\n1 1 1\n2 2 1\n", AS_FOUND, "Line 4"),
    ("out.mtx", MATRIX + "2 2 1\n3 1 1\n", AS_FOUND, "Line 3: Row index out of bounds"),
    ("claim.mtx", MATRIX + "9 9 999999999999\n1 1 1\n", AS_FOUND, "entries do not fit into"),
    (
        "wide.mtx",
        MATRIX + "2000000000 9 1\n1 1 1\n",
        AS_FOUND,
        "2000000000 rows or columns are claimed",
    ),
    (
        "dense.mtx",
        MATRIX.replace("coordinate", "array") + "99999 99999\n1\n",
        AS_FOUND,
        "do not fit into",
    ),
    ("minus.mtx", MATRIX + "2 2 1\n1 2 -4\n", ENDS, "is -4, which is negative"),
    (
        "nan.mtx",
        MATRIX.replace("integer", "real") + "2 2 1\n1 2 nan\n",
        AS_FOUND,
        "line 3: '1 2 nan' is not a row",
    ),
    ("ends.mtx", MATRIX + "2 2 1\n1 2 4\n", FLOW, "which node is the source: use --source"),
    ("oblong.mtx", MATRIX + "2 3 1\n1 2 4\n", ENDS, "is square, not 2 x 3"),
    ("node.mtx", MATRIX + "1 1 1\n1 1 4\n", ENDS, "the sink '1' is not a node"),
    ("void.mtx", MATRIX + "0 0 0\n", ENDS, "the source '0' is not a node"),
    ("plain.mtx", "2 2 1\n1 1 1\n", AS_FOUND, "not a Matrix Market file"),
    ("head.mtx", "%%MatrixMarket matrix sideways\n", AS_FOUND, "not a Matrix Market file"),
    (
        "few.mtx",
        MATRIX.replace("coordinate", "array") + "2 2\n1\n0\n0",
        AS_FOUND,
        "4 entries are announced",
    ),
    (
        "none.mtx",
        MATRIX.replace("coordinate", "array") + "0 2\n1\n",
        AS_FOUND,
        "0 entries are announced",
    ),
    (
        "junk.mtx",
        MATRIX.replace("coordinate", "array") + '2 2\n1\n0\n0\n1"',
        AS_FOUND,
        "line 6: '1\"' is not a row of numbers",
    ),
    (
        "complex.mtx",
        DENSE.replace("integer", "complex") + "1 1\n1 0\n",
        AS_FOUND,
        "must be integer or real, and general",
    ),
    (
        "oblong-symmetric.mtx",
        DENSE.replace("general", "symmetric") + "2 3\n1\n1\n1\n",
        AS_FOUND,
        "square",
    ),
    (
        "short-skew.mtx",
        DENSE.replace("general", "skew-symmetric") + "3 3\n1\n1\n",
        AS_FOUND,
        "3 entries are announced, but 2 follow",
    ),
    ("costs.mtx", MATRIX + "2 2 2\n1 1 4\n2 2 7\n", AS_FOUND, COSTS),
    ("costs-dense.mtx", DENSE + "2 1\n4\n7\n", AS_FOUND, COSTS),
    ("costs.npz", npz(a=np.array([[1.5, 0], [0, 2]])), AS_FOUND, COSTS),
    ("costs-csr.npz", sparse_npz(scipy.sparse.csr_array([[3, 1]])), AS_FOUND, COSTS),
    (
        "costs.npy",
        npy(np.array([[1, 2]])),
        AS_FOUND,
        "differ (1 and 2) and may be costs: --cost, in",
    ),
    ("text.npy", npy(np.array([["a", "b"]])), AS_FOUND, "a matrix holds numbers, not <U1"),
    ("objects.npy", npy(np.array([[{}]])), AS_FOUND, "pickled objects, which are never loaded"),
    ("time.npy", npy(np.zeros((1, 1), "M8[s]")), AS_FOUND, "not numbers or text"),
    ("named.npy", npy(np.zeros(1, [("a", "i4")])), AS_FOUND, "an array of numbers is read"),
    ("row.npy", npy(np.zeros(3)), AS_FOUND, "two dimensions, not 1"),
    ("short.npy", npy(np.eye(9))[:-1], AS_FOUND, "claims 648 bytes, but 647 follow"),
    ("claim.npy", claiming("(99999999, 99999999)"), AS_FOUND, "claims"),
    ("flat.npy", claiming("(0, 999999999999)"), AS_FOUND, "rows or columns are claimed"),
    ("magic.npy", b"\x93NUMPY", AS_FOUND, "does not start as a .npy file does"),
    ("words.npy", b"hello", AS_FOUND, "does not start as a .npy file does"),
    ("float-index.npz", csr_npz(indices=np.array([0.0])), AS_FOUND, "must hold whole numbers"),
    ("format.npz", csr_npz(format=b"lil"), AS_FOUND, "of the format 'lil' is not read"),
    ("lack-csr.npz", csr_npz(indptr=None), AS_FOUND, "lacks the array 'indptr'"),
    (
        "nul.mtx",
        MATRIX + "2 2 1\n1 1\0 1\n",
        AS_FOUND,
        "line 3: '1 1\\x00 1' is not a row of numbers",
    ),
    (
        "exponent.mtx",
        MATRIX.replace("coordinate", "array") + "1 1\n1e2",
        AS_FOUND,
        "line 3: '1e2' is not a",
    ),
    ("zip.npz", b"PK\x03\x04" + b"garbage" * 9, AS_FOUND, "not an .npz file"),
    ("cut.npz", npz(a=np.eye(9))[:300], AS_FOUND, "not an .npz file"),
    ("text.npz", b"hello", AS_FOUND, "not an .npz file"),
    ("pickle.npz", npz(a=np.array([[{}]])), AS_FOUND, "pickled objects, which are never loaded"),
    (
        "keys.npz",
        npz(a=np.eye(2), b=np.eye(2)),
        AS_FOUND,
        "neither one matrix nor a graph, but a, b",
    ),
    ("break.npz", npz(**{"a\nb": np.eye(2), "c": np.eye(2)}), AS_FOUND, "but a b, c"),
    ("lack.npz", npz(num_left=2, num_right=2, left=[0]), AS_FOUND, "lacks the array 'right'"),
    ("cube.npz", npz(a=np.zeros((2, 2, 2))), AS_FOUND, "two dimensions, not 3"),
    ("words.npz", npz(a=np.array([["a"]])), AS_FOUND, "holds numbers"),
    ("index.npz", with_wrong_index(), AS_FOUND, "not an .npz file"),
    ("claim.npz", npz(num_left=2**31, num_right=1, left=[0], right=[0]), AS_FOUND, "are claimed"),
    ("half.npz", npz(num_left=1.5, num_right=1, left=[0], right=[0]), AS_FOUND, "one whole number"),
    ("far.npz", npz(num_left=1, num_right=1, left=[1], right=[0]), AS_FOUND, "names left node 1"),
    ("minus.npz", npz(a=np.array([[0, -1], [0, 0]])), ENDS, "is -1, which is negative"),
]


@pytest.mark.parametrize(("name", "content", "options", "fragment"), BAD, ids=[x[0] for x in BAD])
def test_bad_input_is_refused_in_one_sentence(tmp_path, name, content, options, fragment):
    assert fragment in refusal(file_with(tmp_path / name, content), options)


ODD = [
    # name, content, options, (left, right, edges) or (nodes, arc pairs)
    ("isolated.mtx", MATRIX + "5 7 1\n1 1 1\n", AS_FOUND, (5, 7, 1)),
    ("nothing.mtx", MATRIX + "0 4 0\n", AS_FOUND, (0, 4, 0)),
    ("zero.mtx", MATRIX + "2 2 2\n1 1 0\n2 2 1\n", AS_FOUND, (2, 2, 1)),
    ("crlf.mtx", (MATRIX + "2 2 1\n1 1 1\n").replace("\n", "\r\n"), AS_FOUND, (2, 2, 1)),
    ("dense.mtx", MATRIX.replace("coordinate", "array") + "2 2\n1\n0\n0\n1\n", AS_FOUND, (2, 2, 2)),
    (
        "symmetric.mtx",
        MATRIX.replace("general", "symmetric") + "2 2 1\n2 1 1\n",
        AS_FOUND,
        (2, 2, 2),
    ),
    (
        "symmetric-array.mtx",
        DENSE.replace("general", "symmetric") + "3 3\n0\n1\n1\n0\n0\n1\n",
        AS_FOUND,
        (3, 3, 5),
    ),
    (
        "skew-array.mtx",
        DENSE.replace("general", "skew-symmetric") + "3 3\n4\n0\n2\n",
        PATTERN,
        (3, 3, 4),
    ),
    ("costs.mtx", MATRIX + "2 2 2\n1 1 4\n2 2 7\n", PATTERN, (2, 2, 2)),
    ("equal.mtx", MATRIX + "2 2 2\n1 1 4\n2 2 4\n", AS_FOUND, (2, 2, 2)),
    ("twice.mtx", MATRIX + "2 2 3\n1 1 1\n1 1 1\n2 2 1\n", AS_FOUND, (2, 2, 2)),
    ("dense.npy", npy(np.eye(3)), AS_FOUND, (3, 3, 3)),
    ("fortran.npy", npy(np.asfortranarray([[0, 1, 1], [0, 0, 1]])), AS_FOUND, (2, 3, 3)),
    ("truth.npy", npy(np.eye(3, dtype=bool)), AS_FOUND, (3, 3, 3)),
    ("big-endian.npy", npy(np.eye(3, dtype=">i4")), AS_FOUND, (3, 3, 3)),
    ("packed.npy.gz", gzip.compress(npy(np.eye(3))), AS_FOUND, (3, 3, 3)),
    ("capacities.npy", npy(np.array([[0, 5], [2, 0]])), ENDS, (2, 1)),
    ("python2.npy", npy(np.eye(2)).replace(b"(2, 2), ", b"(2L,2L),"), AS_FOUND, (2, 2, 2)),
    ("bsr.npz", sparse_npz(scipy.sparse.bsr_array(np.eye(4))), AS_FOUND, (4, 4, 4)),
    ("dia.npz", sparse_npz(scipy.sparse.dia_array(np.eye(4))), AS_FOUND, (4, 4, 4)),
    ("matrix.npz", sparse_npz(scipy.sparse.csr_matrix(np.eye(4))), AS_FOUND, (4, 4, 4)),
    ("flow.mtx", MATRIX + "3 3 2\n1 3 4\n3 2 4\n", ENDS, (3, 2)),
    ("dense.npz", npz(a=np.eye(3)), AS_FOUND, (3, 3, 3)),
    ("sparse.npz", sparse_npz(scipy.sparse.csc_array(np.eye(3))), AS_FOUND, (3, 3, 3)),
    ("coo.npz", sparse_npz(scipy.sparse.coo_array(np.eye(3))), ENDS, (3, 0)),
    ("empty.npz", npz(num_left=2, num_right=0, left=[], right=[]), AS_FOUND, (2, 0, 0)),
]


@pytest.mark.parametrize(("name", "content", "options", "counts"), ODD, ids=[x[0] for x in ODD])
def test_odd_but_valid_input_is_read(tmp_path, name, content, options, counts):
    assert counts_of(read_graph(file_with(tmp_path / name, content), options)) == counts


@given(ending=st.sampled_from([".mtx", ".mtx.gz"]), graph=st.one_of(bipartite_graphs(), networks()))
@fuzz
def test_matrix_market_holds_all_but_labels_and_ends(tmp_path, ending, graph):
    path = tmp_path / ("graph" + ending)
    if isinstance(graph, BipartiteGraph):
        bare = BipartiteGraph(graph.num_left, graph.num_right, graph.left, graph.right)
        assert there_and_back(graph, path) == bare
        return
    ends = {"source": graph.source, "sink": graph.sink}
    options = ReadOptions(flow=True, source=str(graph.source), sink=str(graph.sink))
    bare = FlowNetwork.from_scipy(graph.to_scipy(), **ends)
    assert there_and_back(graph, path, options) == bare


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
def test_a_dense_matrix_market_file_is_read_as_scipy_reads_it(tmp_path, symmetry):
    values = {
        "general": [[5, 0], [5, 5]],
        "symmetric": [[0, 5, 0], [5, 5, 5], [0, 5, 0]],
        "skew-symmetric": [[0, -5, 0], [5, 0, 5], [0, -5, 0]],
    }[symmetry]
    path = tmp_path / "graph.mtx"
    scipy.io.mmwrite(path, np.array(values), symmetry=symmetry)
    assert f"array integer {symmetry}" in path.read_text()
    graph = read_graph(path, PATTERN)
    assert isinstance(graph, BipartiteGraph)
    assert (graph.to_dense() == (scipy.io.mmread(path) != 0)).all()


def test_reading_in_eight_threads_leaves_the_warnings_of_the_host_alone(tmp_path, monkeypatch):
    files = [
        file_with(tmp_path / "old.npy", npy(np.eye(2)).replace(b"(2, 2), ", b"(2L,2L),")),
        file_with(tmp_path / "dense.npz", npz(a=np.eye(3))),
        file_with(tmp_path / "sparse.npz", sparse_npz(scipy.sparse.csc_array(np.eye(3)))),
        file_with(tmp_path / "graph.mtx", MATRIX + "2 2 1\n1 1 1\n"),
        file_with(tmp_path / "broken.npz", b"PK\x03\x04" + b"garbage" * 9),
    ]
    touched = []
    monkeypatch.setattr(warnings, "catch_warnings", lambda *_, **__: touched.append("caught"))
    before, shown = list(warnings.filters), warnings.showwarning

    def read():
        for path in files * 5:
            if "broken" in path.name:
                refusal(path)
            else:
                read_graph(path)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert touched == []
    assert list(warnings.filters) == before and warnings.showwarning is shown


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_dense_array_is_read_in_its_own_order(tmp_path, order):
    values = np.array([[0, 1, 1], [0, 0, 1]], order=order)
    graph = read_graph(file_with(tmp_path / "graph.npy", npy(values)))
    assert isinstance(graph, BipartiteGraph) and (graph.to_dense() == (values != 0)).all()


def test_entries_are_costs_if_the_options_say_so(tmp_path):
    expected = BipartiteGraph(2, 2, [0, 0, 1], [0, 1, 0], costs=[1, 0, 2.5])  # type: ignore[arg-type]
    real = MATRIX.replace("integer", "real") + "2 2 4\n1 1 1\n1 2 0\n2 1 2\n2 1 0.5\n"
    dense = np.array([[1, 0], [2.5, np.inf]])
    stored = scipy.sparse.csr_array(([1, 0, 2.5], ([0, 0, 1], [0, 1, 0])), shape=(2, 2))
    for name, content in {
        "real.mtx": real,
        "dense.npy": npy(dense),
        "dense.npz": npz(a=dense),
        "sparse.npz": sparse_npz(stored),
    }.items():
        assert read_graph(file_with(tmp_path / name, content), PRICED) == expected, name
    array = file_with(tmp_path / "array.mtx", DENSE + "2 1\n0\n-7\n")
    assert read_graph(array, PRICED) == BipartiteGraph(2, 1, [0, 1], [0, 0], costs=[0, -7])  # type: ignore[arg-type]
    assert there_and_back(expected, tmp_path / "back.mtx", PRICED) == expected


NO_COSTS = [
    (
        "pattern.mtx",
        MATRIX.replace("integer", "pattern") + "1 1 1\n1 1\n",
        "a pattern holds no num",
    ),
    ("complex.npy", npy(np.array([[1j]])), "costs are real numbers, not complex ones"),
    ("nan.npy", npy(np.array([[1, np.nan]])), "the cost at 0, 1 is not a number (NaN)"),
    ("good.npy", npy(np.array([[1, -np.inf]])), "the cost at 0, 1 is -inf"),
    ("large.npy", npy(np.array([[2**60]])), "a cost of 1152921504606846976 is too large"),
]


@pytest.mark.parametrize(("name", "content", "fragment"), NO_COSTS, ids=[x[0] for x in NO_COSTS])
def test_what_is_no_matrix_of_costs_is_refused(tmp_path, name, content, fragment):
    assert fragment in refusal(file_with(tmp_path / name, content), PRICED)


def test_a_matrix_holds_capacities_or_costs(tmp_path):
    path = file_with(tmp_path / "both.npy", npy(np.eye(2)))
    assert "capacities or costs, not both" in refusal(path, replace(ENDS, costs=True))
    network = CostNetwork.from_labelled_arcs([("s", "t", 1, 1)], source="s", sink="t")
    with pytest.raises(InputError, match=r"not both: use .min, .json or .npz"):
        write_graph(network, tmp_path / "graph.mtx")


def test_costs_in_an_archive_are_refused_or_ignored_on_request(tmp_path):
    graph = BipartiteGraph.from_edges([("a", "b")], costs=[3])
    path = tmp_path / "graph.npz"
    write_graph(graph, path)
    assert "the array 'costs' would be ignored" in refusal(path, ReadOptions(costs=False))
    assert there_and_back(graph, path, PATTERN) == replace(graph, costs=None)
    write_graph(CostNetwork.from_labelled_arcs([("s", "t", 1, 1)], source="s", sink="t"), path)
    assert "cannot be left out: write it as a maximum flow" in refusal(path, PATTERN)
