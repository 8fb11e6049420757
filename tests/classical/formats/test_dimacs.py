import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import (
    AS_FOUND,
    counts_of,
    file_with,
    fuzz,
    networks,
    priced_networks,
    read_text,
    refusal,
    there_and_back,
)

from augury.classical.cost_network import CostNetwork
from augury.classical.formats import ReadOptions, read_graph, write_graph
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError

PATTERN = ReadOptions(ignore_costs=True)
ASSIGNMENT = "p asn 4 2\nn 1\nn 2\na 1 3 12\na 2 3 -7\n"
MINIMUM = "p min 2 1\nn 1 4\nn 2 -4\na 1 2 1 4 9\n"
REFUSED = ReadOptions(costs=False)
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
    ("edge.max", "p edge 2 1\n", AS_FOUND, "line 1: the problem is 'edge', only 'max', 'min' and"),
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
    ("min.max", MINIMUM, PATTERN, "line 1: the costs of a flow of least cost cannot be left out"),
    ("min-too.max", MINIMUM, REFUSED, "line 1: the costs of this problem (p min) would be ignored"),
    ("asn.max", ASSIGNMENT, REFUSED, "line 1: the costs of this problem (p asn) would be ignored"),
    ("max.max", PROBLEM, ReadOptions(costs=True), "line 1: a maximum flow (p max) has no costs"),
    ("word.asn", ASSIGNMENT + "a 1 3 x\n", AS_FOUND, "line 6: the cost is 'x', not a number"),
    ("nan.asn", ASSIGNMENT + "a 1 3 nan\n", AS_FOUND, "line 6: the cost is 'nan', not a number"),
    ("inf.asn", ASSIGNMENT + "a 1 3 inf\n", AS_FOUND, "line 6: the cost is inf: leave the arc out"),
    (
        "two.asn",
        ASSIGNMENT.replace("4 2", "4 3") + "a 1 3 5\n",
        AS_FOUND,
        "edge 1, 3 has two costs",
    ),
    ("none.min", MINIMUM + "a 1 2 0 4\n", AS_FOUND, "expected 'a TAIL HEAD LOWER CAPACITY COST'"),
    ("low.min", MINIMUM + "a 1 2 x 4 1\n", AS_FOUND, "line 5: the lower bound is 'x', not a whole"),
    ("cap.min", MINIMUM + "a 1 2 0 -4 1\n", AS_FOUND, "line 5: the capacity is -4, which is neg"),
    ("half.min", "p min 2 0\nn 1 0.5\n", AS_FOUND, "line 2: the supply is 0.5, not a whole number"),
    ("again.min", MINIMUM + "n 1 4\n", AS_FOUND, "line 5: node 1 has two supplies"),
    ("mixed.min", MINIMUM + "n 1 s\n", AS_FOUND, "line 5: there are supplies, or a source and a"),
    (
        "sum.min",
        MINIMUM.replace("n 2 -4", "n 2 -3"),
        AS_FOUND,
        "the supplies add up to 1, not to 0",
    ),
    ("above.min", MINIMUM.replace(" 1 4 ", " 5 4 "), AS_FOUND, "from 1 to 2 is 5, above its capac"),
    ("ends.min", MINIMUM, ReadOptions(source="1"), "there are supplies, so nothing is asked of a"),
    (
        "sink.min",
        "p min 2 0\nn 1 s\n",
        AS_FOUND,
        "the line 'n ID t' that names the sink is missing",
    ),
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


def test_an_assignment_problem_has_costs(tmp_path):
    graph = read_text(tmp_path, ASSIGNMENT, name="file.asn")
    assert (graph.left_labels, graph.right_labels) == ((1, 2), (3, 4))
    pairs = [(1, 3), (2, 3)]
    assert graph == BipartiteGraph.from_edges(pairs, (1, 2), (3, 4), costs=[12, -7])
    assert there_and_back(graph, tmp_path / "back.asn") == graph
    greatest = read_text(tmp_path, ASSIGNMENT, ReadOptions(maximise=True), "file.asn")
    assert greatest.costs.maximise
    with pytest.raises(InputError, match=r"asks for the least cost, not the greatest: use .json"):
        write_graph(greatest, tmp_path / "greatest.asn")


def test_a_flow_of_least_cost_has_supplies_and_lower_bounds(tmp_path):
    network = read_text(tmp_path, MINIMUM, name="file.min")
    arcs = [(1, 2, 4, 9)]
    own = {"supply": {1: 4, 2: -4}, "lower": [1], "labels": (1, 2)}
    assert network == CostNetwork.from_labelled_arcs(arcs, **own)
    assert there_and_back(network, tmp_path / "back.min") == network


def test_a_maximum_flow_of_least_cost_names_its_ends(tmp_path):
    network = read_text(tmp_path, "p min 2 1\nn 1 s\nn 2 t\na 1 2 0 4 2.5\n", name="file.min")
    assert (network.source, network.sink, list(network.arcs())) == (0, 1, [(1, 2, 4, 2.5)])
    assert there_and_back(network, tmp_path / "back.dimacs.gz") == network
    bare = "p min 2 1\na 1 2 0 4 2.5\n"
    assert read_text(tmp_path, bare, ReadOptions(source="1", sink="2"), "file.min") == network
    assert read_text(tmp_path, bare, name="file.min").supply.tolist() == [0, 0]


@given(graph=priced_networks(st.just([1, 2, 3, 4])))
@fuzz
def test_dimacs_holds_costs_bounds_and_supplies(tmp_path, graph):
    assert there_and_back(graph, tmp_path / "graph.min") == graph
