"""Whatever holds the same graph becomes the same graph, and what holds none is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from hypothesis import given
from torch_geometric.data import Batch, Data, HeteroData

from augury import BipartiteGraph, FlowNetwork, InputError, solve, solve_batch, write_graph
from augury.inputs import as_graph, as_graphs
from graphs import BRIDGE, JOBS, bipartite_graphs

EDGES = np.array([[0, 0, 1, 2], [0, 1, 1, 1]])
GRAPH = BipartiteGraph(3, 2, EDGES[0], EDGES[1])
NETWORK = FlowNetwork.from_arcs(4, [0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4], source=0, sink=3)


def hetero(left: int = 3, right: int = 2) -> HeteroData:
    data = HeteroData()
    data["person"].num_nodes = left
    data["job"].num_nodes = right
    data["person", "can", "job"].edge_index = torch.tensor(EDGES)
    return data


def pairs_of_types() -> Data:
    return Data(x_s=torch.zeros(3, 1), x_t=torch.zeros(2, 1), edge_index=torch.tensor(EDGES))


def flow_data() -> Data:
    arcs = torch.tensor([[0, 0, 1, 2], [1, 2, 3, 3]])
    return Data(edge_index=arcs, capacity=torch.tensor([3, 2, 2, 4]), num_nodes=4, source=0, sink=3)


SAME_GRAPHS: dict[str, Any] = {
    "own": GRAPH,
    "array": GRAPH.to_dense(),
    "counts": GRAPH.to_dense().astype(np.float32) * 7,
    "0 and 1": GRAPH.to_dense().astype(np.uint8),
    "bfloat16": torch.tensor(GRAPH.to_dense()).bfloat16(),
    "tensor": torch.tensor(GRAPH.to_dense()),
    "sparse tensor": torch.tensor(GRAPH.to_dense()).float().to_sparse(),
    "coalesced tensor": torch.tensor(GRAPH.to_dense()).float().to_sparse_coo().coalesce(),
    "csr_array": GRAPH.to_scipy(),
    "coo_matrix": scipy.sparse.coo_matrix(GRAPH.to_dense()),
    "HeteroData": hetero(),
    "x_s and x_t": pairs_of_types(),
    "pairs": list(zip(*EDGES.tolist(), strict=True)),
    "pairs in a tuple, one twice": (*zip(*EDGES.tolist(), strict=True), (0, 0)),
    "dict": {0: [0, 1], 1: [1], 2: (1,)},
    "DataFrame": pd.DataFrame({"n": "x", "Left": EDGES[0], "note": "", "RIGHT": EDGES[1]}),
}


@pytest.mark.parametrize("graph", SAME_GRAPHS.values(), ids=SAME_GRAPHS)
def test_the_same_bipartite_graph_in_any_form(graph: Any) -> None:
    assert as_graph(graph) == GRAPH
    assert solve(graph) == solve(GRAPH)


SAME_NETWORKS: dict[str, Any] = {
    "array": NETWORK.to_dense(),
    "tensor": torch.tensor(NETWORK.to_dense()),
    "csr_array": NETWORK.to_scipy(),
    "NetworkX": NETWORK.to_networkx(),
    "Data": flow_data(),
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


def test_data_with_ends_of_its_own_is_a_flow_network() -> None:
    assert solve(flow_data()).size == solve(NETWORK).size == 4
    other = as_graph(flow_data(), 1, 3)
    assert isinstance(other, FlowNetwork)
    assert (other.source, other.sink) == (1, 3)


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


def test_one_numbering_is_split_by_the_attribute_bipartite_or_by_colour() -> None:
    # 0 – 1 – 2 – 3, left are 0 and 2; the direction of an edge does not count.
    index = torch.tensor([[0, 2, 2, 1], [1, 1, 3, 0]])
    coloured = as_graph(Data(edge_index=index, num_nodes=4))
    assert isinstance(coloured, BipartiteGraph)
    assert sorted(coloured.edges()) == [(0, 1), (2, 1), (2, 3)]
    told = as_graph(Data(edge_index=index, num_nodes=4, bipartite=torch.tensor([1, 0, 1, 0])))
    assert isinstance(told, BipartiteGraph)
    assert sorted(told.edges()) == [(1, 0), (1, 2), (3, 2)]
    assert told.num_left == told.num_right == 2
    isolated = Data(edge_index=index, num_nodes=6, bipartite=torch.tensor([0, 1, 0, 1, 0, 0]))
    graph = as_graph(isolated)
    assert isinstance(graph, BipartiteGraph)
    assert (graph.num_left, graph.num_right) == (4, 2)


def test_relations_of_both_directions_are_the_same_edges() -> None:
    data = hetero()
    data["job", "rev_can", "person"].edge_index = torch.tensor([[0, 1], [0, 0]])
    assert as_graph(data) == GRAPH
    data["job", "suits", "person"].edge_index = torch.tensor([[0], [2]])
    more = as_graph(data)
    assert isinstance(more, BipartiteGraph)
    assert more.num_edges == GRAPH.num_edges + 1


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
    assert solve_batch(np.zeros((0, 3, 3))) == []


def flow_of(matrix: np.ndarray[Any, Any]) -> Data:
    network = FlowNetwork.from_bipartite(BipartiteGraph.from_dense(matrix))
    index = torch.tensor(np.stack([network.sender, network.receiver])[:, ::2], dtype=torch.long)
    capacity = torch.ones(index.shape[1], dtype=torch.long)
    data = Data(edge_index=index, capacity=capacity, num_nodes=network.num_nodes)
    data.source, data.sink = network.source, network.sink
    return data


REFUSED: dict[str, tuple[Any, str]] = {
    "odd cycle": (
        Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3),
        "not bipartite: it has the odd cycle",
    ),
    "two parts": (Data(edge_index=torch.tensor([[0, 2], [1, 3]]), num_nodes=4), "2 separate parts"),
    "one side": (
        Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2, bipartite=torch.tensor([0, 0])),
        "the edge 0, 1 has both ends on one side",
    ),
    "sides of three": (
        Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2, bipartite=torch.tensor([0, 2])),
        "'bipartite' must be 0 or 1 for each of the 2 nodes",
    ),
    "no capacity": (
        Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2, source=0, sink=1),
        "no attribute 'capacity'",
    ),
    "float edges": (Data(edge_index=torch.tensor([[0.5], [1]]), num_nodes=2), "two rows of node"),
    "unknown node": (hetero(left=2), "an edge names node 2, but there are 2 nodes"),
    "no relation": (HeteroData(), "not none at all"),
    "no edges": (Data(), "edge_index must be two rows of node numbers, and there are none"),
    "a list": (Data(edge_index=cast("Any", [[0], [1]])), "'edge_index' must be a tensor, not list"),
    "beyond int32": (
        Data(edge_index=torch.tensor([[0], [2**40]]), num_nodes=2**40 + 1),
        f"edge_index must be numbers from 0 to {2**31 - 3}, not {2**40}",
    ),
    "negative": (Data(edge_index=torch.tensor([[0], [-1]]), num_nodes=2), "numbers from 0 to"),
    "a claim": (
        Data(edge_index=torch.tensor([[0], [2**30]]), num_nodes=2**30 + 1),
        "1073741825 nodes have only 1 edges",
    ),
    "a float for a source": (
        Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2, source=0.5, sink=1),
        "the source is 0.5, not a whole number",
    ),
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


def test_relations_within_a_type_are_refused() -> None:
    data = hetero()
    data["job", "like", "job"].edge_index = torch.tensor([[0], [1]])
    with pytest.raises(InputError, match="person → can → job, job → like → job"):
        as_graph(data)


def test_ends_come_in_pairs_and_only_where_they_mean_something() -> None:
    with pytest.raises(InputError, match="the source is given, the sink is not"):
        solve(NETWORK.to_dense(), source=0)
    with pytest.raises(InputError, match="the sink is given, the source is not"):
        solve(NETWORK.to_dense(), sink=0)
    for graph in (GRAPH, NETWORK):
        with pytest.raises(InputError, match="already says what it is"):
            solve(graph, source=0, sink=1)
    with pytest.raises(InputError, match="takes no source and sink"):
        solve(hetero(), source=0, sink=1)
    with pytest.raises(InputError, match="the source is node 9, but there are 4 nodes"):
        solve(NETWORK.to_dense(), source=9, sink=1)


def test_an_edge_index_of_any_type_stays_whole() -> None:
    # As floats, the node numbers of a union of relations would be rounded.
    for dtype in (torch.int32, torch.uint8, torch.uint64):
        data = hetero()
        data["person", "can", "job"].edge_index = torch.tensor(EDGES).to(dtype)
        data["job", "rev_can", "person"].edge_index = torch.tensor([[0, 1], [0, 0]])
        assert as_graph(data) == GRAPH
    line = Data(edge_index=torch.tensor([[0, 1], [1, 2]]).to(torch.uint64), num_nodes=3)
    assert solve(line).size == 1
    with pytest.raises(InputError, match=f"not {2**64 - 1}"):
        as_graph(Data(edge_index=torch.tensor([[0], [2**64 - 1]], dtype=torch.uint64), num_nodes=2))


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
