"""Every supported form of a graph is read as the same graph; anything else is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from hypothesis import given
from torch_geometric.data import Batch, Data

from augury import BipartiteGraph, FlowNetwork, InputError, solve, solve_batch, write_graph
from augury.inputs import as_graph, as_graphs
from forms import GRAPH, SAME_GRAPHS
from graphs import BRIDGE, JOBS, bipartite_graphs

NETWORK = FlowNetwork.from_arcs(4, [0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4], source=0, sink=3)


@pytest.mark.parametrize("graph", SAME_GRAPHS.values(), ids=SAME_GRAPHS)
def test_the_same_bipartite_graph_in_any_form(graph: Any) -> None:
    assert as_graph(graph) == GRAPH
    assert solve(graph) == solve(GRAPH)


SAME_NETWORKS: dict[str, Any] = {
    "array": NETWORK.to_dense(),
    "tensor": torch.tensor(NETWORK.to_dense()),
    "csr_array": NETWORK.to_scipy(),
    "NetworkX": NETWORK.to_networkx(),
    "sparse tensor": torch.tensor(NETWORK.to_dense()).to_sparse(),
    "triples": list(NETWORK.arcs()),
    "DataFrame": pd.DataFrame(list(NETWORK.arcs()), columns=["from", "to", "Capacity"]),
}


@pytest.mark.parametrize("graph", SAME_NETWORKS.values(), ids=SAME_NETWORKS)
def test_the_same_flow_network_in_any_form(graph: Any) -> None:
    read = as_graph(graph, 0, 3)
    assert isinstance(read, FlowNetwork)
    assert list(read.arcs()) == list(NETWORK.arcs())
    assert solve(graph, source=0, sink=3) == solve(NETWORK)


@given(bipartite_graphs())
def test_networkx_graphs_keep_their_names(graph: BipartiteGraph) -> None:
    given = graph.to_networkx()
    solution = solve(given)
    assert solution.size == solve(graph).size
    assert all(given.has_edge(*pair) for pair in solution.matching or [])


def test_a_path_is_read(tmp_path: Path) -> None:
    for graph, name in ((JOBS, "jobs.csv"), (BRIDGE, "bridge.max")):
        path = tmp_path / name
        write_graph(graph, path)
        assert solve(path).size == solve(str(path)).size == solve(graph).size
    arcs = tmp_path / "arcs.csv"
    arcs.write_text("from,to,capacity\nwell,town,3\n")
    assert solve(arcs, source="well", sink="town").flow == [("well", "town", 3)]
    with pytest.raises(InputError, match=r"nowhere\.csv"):
        solve("nowhere.csv")


def test_batches_in_any_form() -> None:
    dense = np.random.default_rng(0).random((7, 5, 4)) < 0.4
    sizes = [solve(matrix).size for matrix in dense]
    alike: list[Any] = [dense, torch.tensor(dense), list(dense), iter(dense), tuple(dense)]
    alike.append([scipy.sparse.csr_array(matrix) for matrix in dense])
    alike.append(Batch.from_data_list([flow_of(matrix) for matrix in dense]))
    for graphs in alike:
        assert [solution.size for solution in solve_batch(graphs)] == sizes
    mixed = solve_batch([JOBS, BRIDGE, NETWORK.to_dense() > 0, nx.davis_southern_women_graph()])
    assert [solution.size for solution in mixed][:2] == [2, 5]
    assert all(solution.is_maximum for solution in mixed)
    assert solve_batch([]) == []
    assert list(solve_batch(np.zeros((0, 3, 3)))) == []


def flow_of(matrix: np.ndarray[Any, Any]) -> Data:
    network = FlowNetwork.from_bipartite(BipartiteGraph.from_dense(matrix))
    index = torch.tensor(np.stack([network.sender, network.receiver])[:, ::2], dtype=torch.long)
    capacity = torch.ones(index.shape[1], dtype=torch.long)
    data = Data(edge_index=index, capacity=capacity, num_nodes=network.num_nodes)
    data.source, data.sink = network.source, network.sink
    return data


REFUSED: dict[str, tuple[Any, str]] = {
    "meta": (torch.zeros(2, 2, device="meta"), "the matrix cannot be read as an array"),
    "three axes": (np.zeros((2, 2, 2)), "two dimensions, not 3"),
    "a cube of one": (torch.zeros(3), "two dimensions, not 1"),
}


@pytest.mark.parametrize(("graph", "message"), REFUSED.values(), ids=REFUSED)
def test_what_holds_no_such_graph_is_refused(graph: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_graph(graph)
    with pytest.raises(InputError, match=f"graph 1: .*{message}"):
        list(as_graphs([JOBS, graph]))


def test_ends_come_in_pairs_and_only_where_they_mean_something() -> None:
    with pytest.raises(InputError, match="the source is given, the sink is not"):
        solve(NETWORK.to_dense(), source=0)
    with pytest.raises(InputError, match="the sink is given, the source is not"):
        solve(NETWORK.to_dense(), sink=0)
    for graph in (GRAPH, NETWORK):
        with pytest.raises(InputError, match="already says what it is"):
            solve(graph, source=0, sink=1)
    with pytest.raises(InputError, match="the source is node 9, but there are 4 nodes"):
        solve(NETWORK.to_dense(), source=9, sink=1)


@pytest.mark.parametrize("thing", [None, 7, object(), {(0, 1)}, iter([(0, 1)])])
def test_what_is_no_graph_at_all_is_a_type_error(thing: Any) -> None:
    with pytest.raises(TypeError, match=f"{type(thing).__name__} is no graph: expected a Bip"):
        solve(thing)


def test_what_are_no_graphs_is_a_type_error() -> None:
    table = pd.DataFrame({"left": ["a"], "right": ["b"]})
    for thing in (None, 7, JOBS, "jobs.csv", table, {"a": ["b"]}, JOBS.to_scipy(), nx.Graph()):
        with pytest.raises(TypeError, match="expected several graphs, got one"):
            solve_batch(thing)
    with pytest.raises(TypeError, match="graph 1: int is no graph"):
        solve_batch([JOBS, 7])
    with pytest.raises(InputError, match="graph 0: entry 0 of the list is 'a': a graph is a list"):
        solve_batch([("a", "b"), ("c", "d")])
    with pytest.raises(InputError, match="the axes graph, left and right, not 2"):
        solve_batch(np.zeros((2, 2)))
