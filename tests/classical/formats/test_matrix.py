import numpy as np
import pytest
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

from augury.classical.formats import ReadOptions, read_graph
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork


def with_wrong_index():
    matrix = scipy.sparse.csr_array(np.eye(3, dtype=np.int64))
    matrix.indices[1] = 1_000_000
    return sparse_npz(matrix)


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
        "skew.mtx",
        MATRIX.replace("coordinate", "array").replace("general", "symmetric") + "1 1\n1\n",
        AS_FOUND,
        "must be integer or real, and general",
    ),
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
    ("pickle.npz", npz(a=np.array([[{}]])), AS_FOUND, "not an .npz file: Object arrays"),
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
    ("flow.mtx", MATRIX + "3 3 2\n1 3 4\n3 2 4\n", ENDS, (3, 2)),
    ("dense.npz", npz(a=np.eye(3)), AS_FOUND, (3, 3, 3)),
    ("sparse.npz", sparse_npz(scipy.sparse.csc_array(np.eye(3))), AS_FOUND, (3, 3, 3)),
    ("coo.npz", sparse_npz(scipy.sparse.coo_array(np.eye(3))), ENDS, (3, 0)),
    ("empty.npz", npz(num_left=2, num_right=0, left=[], right=[]), AS_FOUND, (2, 0, 0)),
]


@pytest.mark.parametrize(("name", "content", "options", "counts"), ODD, ids=[x[0] for x in ODD])
def test_odd_but_valid_input_is_read(tmp_path, name, content, options, counts):
    assert counts_of(read_graph(file_with(tmp_path / name, content), options)) == counts


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz"])
@given(graph=st.one_of(bipartite_graphs(), networks()))
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
