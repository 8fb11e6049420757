"""Graphs and files for the tests of formats."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from augury.classical.cost_network import CostNetwork
from augury.classical.costs import Costs
from augury.classical.formats import ReadOptions, read_graph, write_graph
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError

AS_FOUND = ReadOptions()
FLOW = ReadOptions(flow=True)
ENDS = ReadOptions(flow=True, source="0", sink="1")
MATRIX = "%%MatrixMarket matrix coordinate integer general\n"


def file_with(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_text(tmp_path, text, options=AS_FOUND, name="file.csv") -> Any:
    return read_graph(file_with(tmp_path / name, text), options)


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def sparse_npz(matrix):
    file = io.BytesIO()
    scipy.sparse.save_npz(file, matrix)
    return file.getvalue()


def refusal(path, options=AS_FOUND):
    with pytest.raises(InputError) as caught:
        read_graph(path, options)
    message = str(caught.value)
    assert type(caught.value) is InputError
    assert "\n" not in message and len(message) < 400
    assert path.name in message
    return message


def counts_of(graph):
    if isinstance(graph, FlowNetwork):
        return graph.num_nodes, graph.num_arcs // 2
    if isinstance(graph, CostNetwork):
        return graph.num_nodes, len(graph.tail)
    return graph.num_left, graph.num_right, graph.num_edges


names: st.SearchStrategy[Any] = st.one_of(
    st.lists(st.integers(-(2**40), 2**40), unique=True, max_size=6),
    st.lists(st.text(max_size=5), unique=True, max_size=6),
)


@st.composite
def bipartite_graphs(draw, labels=names):
    left, right = draw(labels), draw(labels)
    pairs = st.tuples(st.integers(0, len(left) - 1), st.integers(0, len(right) - 1))
    edges = draw(st.lists(pairs)) if left and right else []
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return BipartiteGraph(len(left), len(right), ends[:, 0], ends[:, 1], left, right)


@st.composite
def networks(draw, labels=names):
    nodes = draw(labels.filter(lambda x: len(x) >= 2))
    node = st.integers(0, len(nodes) - 1)
    arcs = draw(st.lists(st.tuples(node, node, st.integers(0, 2**58))))
    tail, head, amount = ([arc[i] for arc in arcs] for i in range(3))
    ends = {"source": 0, "sink": len(nodes) - 1}
    return FlowNetwork.from_arcs(len(nodes), tail, head, amount, **ends, labels=nodes)


amounts = st.one_of(st.integers(-(2**40), 2**40), st.sampled_from([0.5, -1.25, 3.0, 0.001]))


@st.composite
def priced_graphs(draw, labels=names):
    graph = draw(bipartite_graphs(labels))
    costs = draw(st.lists(amounts, min_size=graph.num_edges, max_size=graph.num_edges))
    return replace(graph, costs=Costs.of(costs, graph.num_left + graph.num_right + 2))


@st.composite
def priced_networks(draw, labels=names):
    nodes = draw(labels.filter(lambda x: len(x) >= 2))
    node = st.integers(0, len(nodes) - 1)
    capacity = st.integers(0, 2**40)
    arcs = draw(st.lists(st.tuples(node, node, capacity, amounts)))
    columns = [[arc[i] for arc in arcs] for i in range(4)]
    own: dict[str, Any] = {"source": 0, "sink": len(nodes) - 1}
    if draw(st.booleans()):
        supply = draw(st.integers(-9, 9))
        lower = [draw(st.integers(0, arc[2])) for arc in arcs]
        own = {"supply": [supply, *[0] * (len(nodes) - 2), -supply]}
        own["lower"] = np.array(lower) if any(lower) else None
    return CostNetwork(len(nodes), *columns, **own, labels=nodes)  # type: ignore[arg-type]


def there_and_back(graph, path, options=AS_FOUND) -> Any:
    write_graph(graph, path)
    return read_graph(path, options)


fuzz = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
