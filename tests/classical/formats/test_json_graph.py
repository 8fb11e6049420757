import pytest
from samples import AS_FOUND, ENDS, counts_of, file_with, refusal

from augury.classical.formats import ReadOptions, read_graph

PATTERN = ReadOptions(ignore_costs=True)
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
    ("triples.json", '[["a", "b", 3]]', AS_FOUND, "cardinality"),
    ("four.json", '{"edges": [[1, 2, 3, 4]]}', PATTERN, "not [left, right]"),
    ("weights.json", WEIGHTED, AS_FOUND, "the attribute 'weight' of the edges would be ignored"),
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
