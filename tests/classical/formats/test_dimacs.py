import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import (
    AS_FOUND,
    counts_of,
    file_with,
    fuzz,
    networks,
    read_text,
    refusal,
    there_and_back,
)

from augury.classical.formats import ReadOptions, read_graph
from augury.classical.network import FlowNetwork

PATTERN = ReadOptions(ignore_costs=True)
ASSIGNMENT = "p asn 4 2\nn 1\nn 2\na 1 3 12\na 2 3 -7\n"
PROBLEM = "p max 3 2\nn 1 s\nn 3 t\n"


BAD = [
    # name, content, options, what the message must say
    (
        "nop.max",
        "c hello\na 1 2 3\n",
        AS_FOUND,
        "line 2: the line 'p max NODES ARCS' must come first",
    ),
    ("none.max", "c hello\n", AS_FOUND, "the line 'p max NODES ARCS' is missing"),
    ("twice.max", "p max 2 1\np max 2 1\n", AS_FOUND, "line 2: this is a second p line"),
    ("edge.max", "p edge 2 1\n", AS_FOUND, "line 1: the problem is 'edge', only 'max'"),
    ("sign.max", "p max -2 1\n", AS_FOUND, "line 1: the numbers of nodes and arcs"),
    ("few.max", PROBLEM + "a 1 2 1\n", AS_FOUND, "announces 2 arcs, but 1 follow"),
    ("many.max", PROBLEM + "a 1 2 1\n" * 3, AS_FOUND, "announces 2 arcs, but 3 follow"),
    ("far.max", PROBLEM + "a 1 4 1\n", AS_FOUND, "line 4: 4 is not a node, they are 1 to 3"),
    ("zero.max", PROBLEM + "a 0 1 1\n", AS_FOUND, "line 4: 0 is not a node"),
    (
        "minus.max",
        PROBLEM + "a 1 2 -1\n",
        AS_FOUND,
        "line 4: the capacity is -1, which is negative",
    ),
    ("short.max", PROBLEM + "a 1 2\n", AS_FOUND, "line 4: expected 'a TAIL HEAD CAPACITY'"),
    (
        "odd.max",
        PROBLEM + "b 1 2 3\n",
        AS_FOUND,
        "line 4: a line starts with c, p, n or a, not 'b'",
    ),
    ("kind.max", "p max 2 0\nn 1 q\n", AS_FOUND, "line 2: a node is s or t, not 'q'"),
    ("nosource.max", "p max 2 1\nn 2 t\na 1 2 1\n", AS_FOUND, "'n ID s' that names the source"),
    ("nosink.max", "p max 2 1\nn 1 s\na 1 2 1\n", AS_FOUND, "'n ID t' that names the sink"),
    ("two.max", "p max 3 0\nn 1 s\nn 2 s\n", AS_FOUND, "line 3: this is a second source"),
    ("same.max", "p max 2 0\nn 1 s\nn 1 t\n", AS_FOUND, "source and sink are the same node, 1"),
    ("claim.max", "p max 2000000000 0\nn 1 s\nn 2 t\n", AS_FOUND, "2000000000 nodes are claimed"),
    ("min.max", "p min 2 1\nn 1 4\na 1 2 0 4 9\n", AS_FOUND, "line 1: the costs of a minimum-cost"),
    ("min-too.max", "p min 2 1\nn 1 4\na 1 2 0 4 9\n", PATTERN, "cardinality; write it as p max"),
    ("asn.max", ASSIGNMENT, AS_FOUND, "line 1: the costs of an assignment problem (p asn) would"),
    ("asn.csv", ASSIGNMENT, AS_FOUND, "greatest cardinality"),
    (
        "back.max",
        ASSIGNMENT + "a 3 1 5\n",
        PATTERN,
        "line 6: an arc leads from a node of an n line",
    ),
    ("long.max", ASSIGNMENT + "a 1 3 5 6\n", PATTERN, "line 6: expected 'a LEFT RIGHT COST'"),
    ("lone.max", ASSIGNMENT + "n 3 s\n", PATTERN, "line 6: expected 'n ID'"),
    ("wide.max", "p max 3000000000 0\n", AS_FOUND, "line 1: 3000000000 nodes are more than fit"),
]


@pytest.mark.parametrize(("name", "content", "options", "fragment"), BAD, ids=[x[0] for x in BAD])
def test_bad_input_is_refused_in_one_sentence(tmp_path, name, content, options, fragment):
    assert fragment in refusal(file_with(tmp_path / name, content), options)


ODD = [
    # name, content, options, (left, right, edges) or (nodes, arc pairs)
    ("dimacs.txt", "c hi\n\n" + PROBLEM + "a 1 2 4\na 2 2 9\n", AS_FOUND, (3, 1)),
    ("crlf.max", (PROBLEM + "a 1 2 4\na 1 2 4\n").replace("\n", "\r\n"), AS_FOUND, (3, 1)),
]


@pytest.mark.parametrize(("name", "content", "options", "counts"), ODD, ids=[x[0] for x in ODD])
def test_odd_but_valid_input_is_read(tmp_path, name, content, options, counts):
    assert counts_of(read_graph(file_with(tmp_path / name, content), options)) == counts


def test_an_assignment_problem_is_read_without_its_costs(tmp_path):
    graph = read_text(tmp_path, ASSIGNMENT, PATTERN, "file.asn")
    assert (graph.left_labels, graph.right_labels) == ((1, 2), (3, 4))
    assert list(graph.edges()) == [(1, 3), (2, 3)]


def test_dimacs_nodes_are_numbered_from_one(tmp_path):
    network = read_text(tmp_path, PROBLEM + "a 1 2 4\na 2 3 5\n", name="file.max")
    assert network.labels == (1, 2, 3)
    assert list(network.arcs()) == [(1, 2, 4), (2, 3, 5)]


@given(ending=st.sampled_from([".max", ".dimacs", ".max.gz"]), graph=networks())
@fuzz
def test_dimacs_holds_all_but_the_labels(tmp_path, ending, graph):
    numbered = FlowNetwork(
        graph.num_nodes,
        graph.sender,
        graph.receiver,
        graph.capacity,
        graph.source,
        graph.sink,
        range(1, graph.num_nodes + 1),
    )
    assert there_and_back(graph, tmp_path / ("graph" + ending)) == numbered
