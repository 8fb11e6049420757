import json
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import (
    AS_FOUND,
    ENDS,
    counts_of,
    file_with,
    fuzz,
    priced_graphs,
    priced_networks,
    read_text,
    refusal,
    there_and_back,
)

from augury.classical.cost_network import CostNetwork
from augury.classical.formats import ReadOptions, read_graph
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError

PATTERN = ReadOptions(ignore_costs=True)
PRICED = ReadOptions(costs=True)
REFUSED = ReadOptions(costs=False)
EDGE = '{"edges": [["a", "b"]], "costs": '
PIPES = (
    '{"nodes": ["s", "t"], "arcs": [["s", "t", 3]], "costs": [1.5], "lower": [1], '
    '"supply": [["s", 2], ["t", -2]]}'
)
NODES = '"nodes": [{"id": 0, "bipartite": 0}, {"id": 1, "bipartite": 1}, {"id": 2, "bipartite": 1}]'
WEIGHTED = (
    "{" + NODES + ', "links": [{"source": 0, "target": 1, "weight": 3},'
    '{"source": 0, "target": 2, "weight": 2}]}'
)

BAD = [
    # name, content, options, what the message must say
    ("cut.json", '{"edges": [[1, 2],\n[3', AS_FOUND, "line 2: this is not JSON"),
    ("deep.json", "[" * 100_000, AS_FOUND, "nested too deeply"),
    ("digits.json", '{"edges": [[1, ' + "9" * 9999 + "]]}", AS_FOUND, "thousands of digits"),
    ("bytes.json", b'{"edges": "\xff"}', AS_FOUND, "not text in UTF-8"),
    ("other.json", '{"knots": []}', AS_FOUND, 'lacks "edges" or "arcs"'),
    ("shape.json", '{"edges": 3}', AS_FOUND, '"edges" must be a list'),
    (
        "entry.json",
        '{"edges": [[1, 2], [1]]}',
        AS_FOUND,
        '"edges" entry 1 is [1], not [left, right]',
    ),
    (
        "cost.json",
        '{"edges": [["a", "b", 3]]}',
        AS_FOUND,
        "\"edges\" entry 0 is ['a', 'b', 3], not",
    ),
    ("triples.json", '[["a", "b", 3]]', AS_FOUND, "and may hold a cost: --cost, in Python"),
    ("pairs.json", '[["a", "b"]]', PRICED, "entry 0 is ['a', 'b'], not [left, right, cost]"),
    ("few.json", EDGE + "[]}", AS_FOUND, '"costs" must be a list of 1 numbers'),
    ("text-cost.json", EDGE + '["1"]}', AS_FOUND, "cost 0 is '1', not a number"),
    ("true-cost.json", EDGE + "[true]}", AS_FOUND, "cost 0 is True, not a number"),
    ("nan.json", EDGE + "[NaN]}", AS_FOUND, "cost 0 is nan, not a number"),
    ("good.json", EDGE + "[-Infinity]}", AS_FOUND, "the cost at 0 is -inf"),
    ("sense.json", EDGE + '[1], "sense": 1}', AS_FOUND, '"sense" is 1, not "least" or "greatest"'),
    ("no.json", EDGE + "[1]}", REFUSED, '"costs" would be ignored by this algorithm'),
    ("two.json", '{"edges": [[0, 1], [0, 1]], "costs": [1, 2]}', AS_FOUND, "has two costs, 1, 2"),
    ("both.json", PIPES.replace("}", ', "source": "s"}'), AS_FOUND, 'neither "source" nor "sink"'),
    ("who.json", PIPES.replace('[["s", 2]', '[["x", 2]'), AS_FOUND, "'x' is not among the nodes"),
    (
        "half.json",
        PIPES.replace(" 2]", " 2.5]"),
        AS_FOUND,
        "entry 0 is ['s', 2.5], not [node, whole",
    ),
    ("sum.json", PIPES.replace('["s", 2]', '["s", 3]'), AS_FOUND, "the supplies add up to 1, not"),
    ("again.json", PIPES.replace('["s", 2]', '["t", 2]'), AS_FOUND, "'t' has two supplies"),
    ("low.json", PIPES.replace("[1], ", "1, "), AS_FOUND, '"lower" must be a list of 1 numbers'),
    ("min.json", PIPES, PATTERN, "cannot be left out: write it as a maximum flow"),
    ("four.json", '{"edges": [[1, 2, 3, 4]]}', PATTERN, "not [left, right]"),
    ("weights.json", WEIGHTED, REFUSED, "the attribute 'weight' of the edges would be ignored"),
    ("text.json", '{"edges": ["ab"]}', AS_FOUND, '"edges" entry 0 is'),
    ("null.json", '{"edges": [[1, null]]}', AS_FOUND, "edge 0: None is no label"),
    ("true.json", '{"edges": [[1, 1], [1, true]]}', AS_FOUND, "edge 1: True is no label"),
    (
        "far.json",
        '{"left": 1, "edges": [[1, 0]]}',
        AS_FOUND,
        "edge 0: 1 is not among the left nodes",
    ),
    (
        "twice.json",
        '{"left": ["a", "a"], "edges": []}',
        AS_FOUND,
        "'a' appears twice among the left",
    ),
    ("side.json", '{"left": "abc", "edges": []}', AS_FOUND, "left nodes must be a list"),
    ("below.json", '{"left": -1, "edges": []}', AS_FOUND, "left nodes is -1, which is negative"),
    (
        "claim.json",
        '{"left": 2000000000, "edges": []}',
        AS_FOUND,
        "2000000000 left nodes are claimed",
    ),
    ("shared.json", '{"edges": [["a", "b"], ["b", "c"]]}', AS_FOUND, "'b' is on both sides"),
    ("ends.json", '{"arcs": [[0, 1, 2]], "source": 0}', AS_FOUND, 'lacks "sink"'),
    ("same.json", '{"arcs": [], "source": 0, "sink": 0}', AS_FOUND, "are the same node, 0"),
    (
        "minus.json",
        '{"arcs": [[0, 1, -2]], "source": 0, "sink": 1}',
        AS_FOUND,
        "arc 0: the capacity is -2",
    ),
    (
        "nan.json",
        '{"arcs": [[0, 1, NaN]], "source": 0, "sink": 1}',
        AS_FOUND,
        "arc 0: the capacity is nan",
    ),
    (
        "links.json",
        '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}',
        AS_FOUND,
        "not list",
    ),
    (
        "node.json",
        '{"nodes": [{"no": 1}], "links": [{"from": 1}]}',
        AS_FOUND,
        "not NetworkX node-link",
    ),
    (
        "sides.json",
        '{"nodes": [{"id": 1}, {"id": 2}, {"id": 3}], "links": [{"source": 1, "target": 2}]}',
        AS_FOUND,
        "separate parts",
    ),
]


@pytest.mark.parametrize(("name", "content", "options", "fragment"), BAD, ids=[x[0] for x in BAD])
def test_bad_input_is_refused_in_one_sentence(tmp_path, name, content, options, fragment):
    assert fragment in refusal(file_with(tmp_path / name, content), options)


ODD = [
    # name, content, options, (left, right, edges) or (nodes, arc pairs)
    ("counts.json", '{"left": 2, "right": 3, "edges": []}', AS_FOUND, (2, 3, 0)),
    ("cost.json", '{"edges": [["a", "b", 3], ["c", "b"]]}', PATTERN, (2, 1, 2)),
    ("weights.json", WEIGHTED, PATTERN, (1, 2, 2)),
    ("equal.json", WEIGHTED.replace("3", "2"), AS_FOUND, (1, 2, 2)),
    (
        "ones.json",
        WEIGHTED.replace(', "weight": 3', "").replace("2}]", "1.0}]"),
        AS_FOUND,
        (1, 2, 2),
    ),
    ("bare.json", "[[1, 2], [1, 3]]", AS_FOUND, (1, 2, 2)),
    ("nodes.json", '{"source": "s", "sink": "t", "arcs": []}', AS_FOUND, (2, 0)),
    (
        "listed.json",
        '{"source": 0, "sink": 1, "nodes": 3, "arcs": [[0, 1, 2.0]]}',
        AS_FOUND,
        (3, 1),
    ),
    (
        "link.json",
        '{"nodes": [{"id": "a"}, {"id": "b"}], "edges": [{"source": "a", "target": "b"}]}',
        AS_FOUND,
        (1, 1, 1),
    ),
    (
        "links.json",
        '{"directed": true, "nodes": [{"id": 0}, {"id": 1}],'
        '"links": [{"source": 0, "target": 1, "capacity": 3}]}',
        ENDS,
        (2, 1),
    ),
]


@pytest.mark.parametrize(("name", "content", "options", "counts"), ODD, ids=[x[0] for x in ODD])
def test_odd_but_valid_input_is_read(tmp_path, name, content, options, counts):
    assert counts_of(read_graph(file_with(tmp_path / name, content), options)) == counts


def test_costs_are_read_by_name_or_where_the_options_say_so(tmp_path):
    expected = BipartiteGraph.from_edges([("a", "b"), ("c", "b")], costs=[3, 2.5])
    named = '{"edges": [["a", "b"], ["c", "b"]], "costs": [3, 2.5]}'
    assert read_text(tmp_path, named, name="graph.json") == expected
    triples = '[["a", "b", 3], ["c", "b", 2.5]]'
    assert read_text(tmp_path, triples, PRICED, "graph.json") == expected
    assert read_text(tmp_path, named, PATTERN, "graph.json").costs is None
    absent = named.replace("2.5", "Infinity")
    assert read_text(tmp_path, absent, name="graph.json").num_edges == 1
    greatest = named[:-1] + ', "sense": "greatest"}'
    assert read_text(tmp_path, greatest, name="graph.json").costs.maximise
    least = ReadOptions(maximise=False)
    assert read_text(tmp_path, greatest, least, "graph.json") == expected


def test_supplies_bounds_and_ends_are_read(tmp_path):
    network = read_text(tmp_path, PIPES, name="graph.json")
    own = {"supply": {"s": 2, "t": -2}, "lower": [1], "labels": ("s", "t")}
    assert network == CostNetwork.from_labelled_arcs([("s", "t", 3, 1.5)], **own)
    ends = '{"source": 7, "sink": 2, "arcs": [[7, 2, 3]], "costs": [4]}'
    network = read_text(tmp_path, ends, name="graph.json")
    assert (network.labels, network.source, network.sink) == ((2, 7), 1, 0)
    assert isinstance(read_text(tmp_path, ends, PATTERN, "graph.json"), FlowNetwork)
    both = ReadOptions(flow=True, costs=True, supply={"s": 1, "t": -1})
    network = read_text(tmp_path, '[["s", "t", 3, 4]]', both, "graph.json")
    assert (list(network.arcs()), network.supply.tolist()) == ([("s", "t", 3, 4)], [1, -1])


def test_node_link_data_has_costs_and_demands(tmp_path):
    assert read_text(tmp_path, WEIGHTED, name="graph.json").costs.amount.tolist() == [3, 2]
    network = nx.DiGraph()
    network.add_node("s", demand=-2)
    network.add_node("t", demand=2)
    network.add_edge("s", "t", capacity=3, weight=5)
    network.add_edge("t", "s", capacity=3, weight=1)
    data = json.dumps(nx.node_link_data(network, edges="links"))
    for options in (AS_FOUND, ReadOptions(flow=True)):
        read = read_text(tmp_path, data, options, "graph.json")
        assert read.supply.tolist() == [2, -2]
        assert list(read.arcs()) == [("s", "t", 3, 5), ("t", "s", 3, 1)]


@given(graph=priced_graphs() | priced_networks(), maximise=st.booleans())
@fuzz
def test_json_and_npz_hold_everything(tmp_path, graph, maximise):
    graph = replace(graph, costs=replace(graph.costs, maximise=maximise))
    for ending in (".json", ".npz", ".json.gz"):
        try:
            back = there_and_back(graph, tmp_path / f"graph{ending}")
        except InputError as error:
            assert "holds labels that are all text or all 64-bit integers" in str(error)
            continue
        assert back == replace(graph, costs=back.costs)
        assert worths(back) == worths(graph)
        assert back.costs.maximise == maximise


def worths(graph):
    return [graph.costs.worth(amount) for amount in graph.costs.amount.tolist()]
