import json

import numpy as np
import pytest
from samples import file_with

from augury.classical.formats import answer_text, read_answer
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError
from augury.files import write_text

PEOPLE = BipartiteGraph.from_edges([("ann", 1), ("bob", 2)])
PIPES = FlowNetwork.from_labelled_arcs(
    [("s", "a", 3), ("a", "s", 2), ("a", "t", 5), ("s", 7, 1), (7, "t", 1)], "s", "t"
)


@pytest.mark.parametrize(
    "text",
    [
        '{"size": 2, "matching": [["ann", 1], ["bob", "2"]]}',
        '[["ann", 1], ["bob", 2]]',
        "Left,RIGHT\nann,1\nbob,2\n",
        "# mine\nann\t1\r\nbob\t2",
    ],
)
def test_a_matching_is_read_as_node_numbers(tmp_path, text):
    path = tmp_path / "answer"
    path.write_text(text)
    pairs = read_answer(path, PEOPLE)
    assert pairs.dtype == np.int64 and pairs.tolist() == [[0, 0], [1, 1]]


def test_a_pair_that_is_no_edge_is_passed_on(tmp_path):
    path = tmp_path / "answer.csv"
    path.write_text("ann,2\n")
    assert read_answer(path, PEOPLE).tolist() == [[0, 1]]


def test_an_empty_matching_is_read(tmp_path):
    path = tmp_path / "answer.json"
    path.write_text('{"matching": []}')
    assert read_answer(path, PEOPLE).shape == (0, 2)


@pytest.mark.parametrize(
    "text",
    [
        '{"flow": [["s", "a", 3], ["a", "s", 1], ["a", "t", 1], ["a", "t", 1], ["s", 7, 1]]}',
        "tail,head,flow\ns,a,3\na,s,1\na,t,1\na,t,1\ns,7,1\n",
    ],
)
def test_a_flow_is_read_as_what_each_arc_carries(tmp_path, text):
    path = tmp_path / "answer"
    path.write_text(text)
    flow = read_answer(path, PIPES)
    assert flow.dtype == np.int64 and flow.shape == (PIPES.num_arcs,)
    carried = {("s", "a", 3), ("a", "s", 1), ("a", "t", 2), ("s", 7, 1)}
    assert set(PIPES.labelled(flow)) == carried


BAD_ANSWERS = [
    ("", PEOPLE, "empty"),
    ("ann,1\ncarl,2\n", PEOPLE, "line 2: 'carl' is not a left node"),
    ("left,right\nann,9\n", PEOPLE, "line 2: '9' is not a right node"),
    ("ann,1,2\n", PEOPLE, "line 1: expected left, right, not 3 parts"),
    ('{"flow": []}', PEOPLE, 'lacks "matching"'),
    ('{"matching": 3}', PEOPLE, '"matching" must be a list'),
    ('{"matching": ["ann"]}', PEOPLE, "matching entry 0: expected [left, right]"),
    ('[["ann", 1], ["ann", true]]', PEOPLE, "matching entry 1: 'True' is not a right node"),
    ('[["ann", [{}]]]', PEOPLE, "matching entry 0"),
    ('[["ann"', PEOPLE, "line 1: this is not JSON"),
    ("s,a\n", PIPES, "line 1: expected tail, head, flow, not 2 parts"),
    ("s,a,1\ns,t,1\n", PIPES, "line 2: there is no arc from 's' to 't'"),
    ("s,a,-1\n", PIPES, "line 1: the flow is -1, which is negative"),
    ("s,a,1.5\n", PIPES, "line 1: the flow is 1.5, not a whole number"),
    ('[["s", "a", 1e30]]', PIPES, "flow entry 0: the flow is 1e+30, beyond 64 bits"),
    ('[["s", "a", "1"]]', PIPES, "flow entry 0: the flow is '1', not a whole number"),
    (f"s,a,{2**62}\n" * 2, PIPES, "adds up to more than"),
]


@pytest.mark.parametrize(("text", "graph", "fragment"), BAD_ANSWERS)
def test_a_bad_answer_is_refused_in_one_sentence(tmp_path, text, graph, fragment):
    path = tmp_path / "answer"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_answer(path, graph)
    message = str(caught.value)
    assert fragment in message and str(path) in message and "\n" not in message


def test_a_label_is_found_by_value_before_text(tmp_path):
    path = tmp_path / "answer.json"
    path.write_text('[[1, 0], ["1", 0]]')
    graph = BipartiteGraph.from_edges([("1", 0), (1, 0), (1.5, 0)])
    assert read_answer(path, graph)[:, 0].tolist() == [1, 0]


def test_a_node_without_label_is_found_by_its_number(tmp_path):
    graph = BipartiteGraph(3, 3, np.array([2]), np.array([0]))
    path = file_with(tmp_path / "answer.json", '[[2, "0"], [1.0, "2"]]')
    assert read_answer(path, graph).tolist() == [[2, 0], [1, 2]]
    for wrong in ("3", "-1", "true", '"01"', "[1]", "1.5"):
        with pytest.raises(InputError, match="is not a left node"):
            read_answer(file_with(path, f"[[{wrong}, 0]]"), graph)


def test_a_network_without_arcs_carries_no_flow(tmp_path):
    network = FlowNetwork.from_arcs(2, [], [], [], source=0, sink=1)
    assert read_answer(file_with(tmp_path / "answer.json", "[]"), network).tolist() == []
    with pytest.raises(InputError, match="flow entry 0: there is no arc from '0' to '1'"):
        read_answer(file_with(tmp_path / "answer.json", "[[0, 1, 1]]"), network)


def test_an_ambiguous_text_is_refused(tmp_path):
    class Two:
        def __str__(self):
            return "2"

    path = tmp_path / "answer.csv"
    path.write_text("2,0\n")
    graph = BipartiteGraph.from_edges([(2, 0), (Two(), 0)])
    with pytest.raises(InputError, match="'2' is not a left node"):
        read_answer(path, graph)


ANSWER = {"size": 2, "maximum": True, "matching": [("ann, b", ("x", 1)), (np.int64(3), "#y")]}


def test_an_answer_as_json_holds_everything():
    text = answer_text(ANSWER, "json")
    assert json.loads(text)["maximum"] is True
    assert json.loads(text)["matching"][1] == [3, "#y"]
    assert '    [3, "#y"]\n  ]' in text


def test_an_answer_as_csv_quotes_what_it_must():
    assert answer_text(ANSWER, "csv") == 'left,right\n"ann, b","(\'x\', 1)"\n3,"#y"\n'


def test_an_answer_as_table_is_aligned():
    text = answer_text({"flow": [("s", "middle", 12), ("middle", "t", 7)]}, "table")
    assert text == "tail    head    flow\ns       middle  12\nmiddle  t       7\n"


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_a_written_answer_reads_back(tmp_path, kind):
    path = tmp_path / "answer"
    labels = [("left", 0), "a,b", "#c", 'q"', 5]
    graph = BipartiteGraph.from_edges([(x, y) for x in labels for y in labels])
    pairs = [[i, 4 - i] for i in range(5)]
    matching = [(graph.left_label(u), graph.right_label(v)) for u, v in pairs]
    write_text(path, answer_text({"matching": matching}, kind))
    assert read_answer(path, graph).tolist() == pairs
