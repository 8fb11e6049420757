import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import (
    AS_FOUND,
    ENDS,
    MATRIX,
    bipartite_graphs,
    counts_of,
    fuzz,
    networks,
    read_text,
    there_and_back,
)

from augury.classical.formats import ReadOptions, read_graph, write_graph
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"PK\x03\x04", b"\x1f\x8b\x08", MATRIX.encode(), b"{", b"["]),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_bytes_cause_anything_but_an_input_error(tmp_path, noise, start):
    path = tmp_path / "noise"
    path.write_bytes(start + noise)
    for options in (AS_FOUND, ENDS):
        try:
            read_graph(path, options)
        except InputError as error:
            assert "noise" in str(error)


@given(st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_damaged_file_causes_anything_but_an_input_error(tmp_path, data):
    ending = data.draw(st.sampled_from([".mtx", ".max", ".csv", ".npz", ".json", ".csv.gz"]))
    path = tmp_path / ("damaged" + ending)
    write_graph(FlowNetwork.from_arcs(4, [0, 1, 2], [1, 2, 3], [5, 4, 3], source=0, sink=3), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + 1] = data.draw(st.binary(max_size=2))
    path.write_bytes(content)
    for options in (AS_FOUND, ReadOptions(flow=True, source="0", sink="3")):
        try:
            read_graph(path, options)
        except InputError as error:
            assert "damaged" in str(error)


def strings_survive(labels):
    return all("\0" not in x for x in labels if isinstance(x, str))


@given(
    ending=st.sampled_from([".json", ".json.gz", ".npz", ".npz.gz"]),
    graph=st.one_of(bipartite_graphs(), networks()),
)
@fuzz
def test_json_and_npz_hold_a_whole_graph(tmp_path, ending, graph):
    labels = [getattr(graph, x, None) or () for x in ("labels", "left_labels", "right_labels")]
    if ".npz" in ending and not all(map(strings_survive, labels)):
        return
    assert there_and_back(graph, tmp_path / ("graph" + ending)) == graph


EDGE = BipartiteGraph.from_edges([("ann", "cook")])


@pytest.mark.parametrize(
    ("graph", "name", "fragment"),
    [
        (EDGE, "graph.max", "a bipartite graph cannot be written as .max"),
        (EDGE, "graph.xyz", "the ending must be one of .csv"),
        (EDGE, "graph", "the ending must be one of"),
        (EDGE, "no/graph.csv", "there is no such file or folder"),
        (BipartiteGraph.from_edges([(1, 2), ("1", 2)]), "graph.csv", "same text"),
        (BipartiteGraph.from_edges([("a\nb", 2)]), "graph.csv", "cannot hold the label"),
        (BipartiteGraph.from_edges([(" a", 2)]), "graph.csv", "cannot hold the label"),
        (BipartiteGraph.from_edges([("", 2)]), "graph.csv", "cannot hold the label"),
        (BipartiteGraph.from_edges([("\ud800", 2)]), "graph.csv", "cannot be written in UTF-8"),
        (BipartiteGraph.from_edges([("a", 2), (1, 2)]), "graph.npz", "all text or all 64-bit"),
        (BipartiteGraph.from_edges([("a\0", 2)]), "graph.npz", "all text or all 64-bit"),
        (BipartiteGraph.from_edges([(("a", 1), 2)]), "graph.json", "is no label"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_and_leaves_no_file(tmp_path, graph, name, fragment):
    with pytest.raises(InputError) as caught:
        write_graph(graph, tmp_path / name)
    assert fragment in str(caught.value) and name in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_examples_of_the_page_on_formats_are_read(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    examples = dict(re.findall(r"^```\w+ ([\w.]+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    found = {name: counts_of(read_text(tmp_path, x, name=name)) for name, x in examples.items()}
    assert found == {
        "people.csv": (2, 2, 3),
        "pipes.csv": (3, 2),
        "plants.csv": (2, 3, 4),
        "graph.mtx": (2, 3, 2),
        "network.max": (3, 2),
        "people.json": (3, 2, 2),
        "pipes.json": (3, 2),
    }
