"""Data of PyTorch Geometric, of one or two node types, become graphs or are refused."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from augury import BipartiteGraph, FlowNetwork, InputError
from augury.inputs import as_graph

EDGES = np.array([[0, 0, 1, 2], [0, 1, 1, 1]])
GRAPH = BipartiteGraph(3, 2, EDGES[0], EDGES[1])
NETWORK = FlowNetwork.from_arcs(4, [0, 0, 1, 2], [1, 2, 3, 3], [3, 2, 2, 4], source=0, sink=3)


def hetero(left: int = 3, right: int = 2) -> HeteroData:
    data = HeteroData()
    data["person"].num_nodes = left
    data["job"].num_nodes = right
    data["person", "can", "job"].edge_index = torch.tensor(EDGES)
    return data


def pair_data() -> Data:
    return Data(x_s=torch.zeros(3, 1), x_t=torch.zeros(2, 1), edge_index=torch.tensor(EDGES))


def flow_data() -> Data:
    arcs = torch.tensor([[0, 0, 1, 2], [1, 2, 3, 3]])
    return Data(edge_index=arcs, capacity=torch.tensor([3, 2, 2, 4]), num_nodes=4, source=0, sink=3)


def test_two_node_types_are_the_two_sides() -> None:
    assert as_graph(hetero()) == as_graph(pair_data()) == GRAPH
    with pytest.raises(InputError, match="takes no source and sink"):
        as_graph(hetero(), 0, 1)


def test_data_with_ends_of_its_own_is_a_flow_network() -> None:
    read = as_graph(flow_data())
    assert isinstance(read, FlowNetwork)
    assert list(read.arcs()) == list(NETWORK.arcs())
    assert (read.source, read.sink) == (0, 3)
    other = as_graph(flow_data(), 1, 3)
    assert isinstance(other, FlowNetwork)
    assert (other.source, other.sink) == (1, 3)


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


def test_relations_within_a_type_are_refused() -> None:
    data = hetero()
    data["job", "like", "job"].edge_index = torch.tensor([[0], [1]])
    with pytest.raises(InputError, match="person → can → job, job → like → job"):
        as_graph(data)


def test_an_edge_index_of_any_type_stays_whole() -> None:
    # As floats, the node numbers of a union of relations would be rounded.
    for dtype in (torch.int32, torch.uint8, torch.uint64):
        data = hetero()
        data["person", "can", "job"].edge_index = torch.tensor(EDGES).to(dtype)
        data["job", "rev_can", "person"].edge_index = torch.tensor([[0, 1], [0, 0]])
        assert as_graph(data) == GRAPH
    line = Data(edge_index=torch.tensor([[0, 1], [1, 2]]).to(torch.uint64), num_nodes=3)
    assert len(list(cast("Any", as_graph(line)).edges())) == 2
    with pytest.raises(InputError, match=f"not {2**64 - 1}"):
        as_graph(Data(edge_index=torch.tensor([[0], [2**64 - 1]], dtype=torch.uint64), num_nodes=2))


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
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_data_that_hold_no_such_graph_are_refused(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_graph(data)
