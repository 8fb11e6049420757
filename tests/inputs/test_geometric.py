"""Data of PyTorch Geometric, of one or two node types, become graphs or are refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext as nothing
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData

from augury import BipartiteGraph, FlowNetwork, InputError, solve, solve_batch
from augury.inputs import as_graph
from augury.inputs.geometric import from_batch
from graphs import bipartite_graphs

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


def ends_of(graph: BipartiteGraph) -> torch.Tensor:
    return torch.tensor(np.stack([graph.left, graph.right]), dtype=torch.long)


class PairData(Data):
    """Two numberings, as PyTorch Geometric's own example has them."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key == "edge_index":
            return torch.tensor([[self.x_s.size(0)], [self.x_t.size(0)]])
        return super().__inc__(key, value, *args, **kwargs)


def as_pair(graph: BipartiteGraph) -> Data:
    sides = {"x_s": torch.zeros(graph.num_left, 1), "x_t": torch.zeros(graph.num_right, 2)}
    return PairData(edge_index=ends_of(graph), **sides)


def as_two_types(graph: BipartiteGraph) -> HeteroData:
    data = HeteroData()
    data["person"].x = torch.zeros(graph.num_left, 1)
    data["job"].num_nodes = graph.num_right
    data["job"].size = torch.zeros(graph.num_right)  # what is only counted, PyG cannot take apart
    data["person", "can", "job"].edge_index = ends_of(graph)
    data["job", "rev_can", "person"].edge_index = ends_of(graph).flip(0)[:, ::2]
    data["person", "can", "job"].edge_attr = torch.rand(graph.num_edges, 3)
    data["person", "can", "job"].edge_weight = torch.full((graph.num_edges,), graph.num_left + 0.5)
    return data


def as_told_sides(graph: BipartiteGraph) -> Data:
    """One numbering, the right nodes first, every edge in both directions."""
    index = ends_of(graph)
    index[0] += graph.num_right
    side = torch.tensor([1] * graph.num_right + [0] * graph.num_left)
    both = torch.cat([index, index.flip(0)], dim=1)
    return Data(edge_index=both, num_nodes=len(side), bipartite=side)


def as_connected(graph: BipartiteGraph) -> Data:
    """One numbering, and a node on each side that joins everything."""
    left, right = graph.num_left + 1, graph.num_right + 1
    index = ends_of(graph) + 1
    hub = [(0, v) for v in range(right)] + [(u, 0) for u in range(left)]
    index = torch.cat([index, torch.tensor(hub).T], dim=1)
    index[1] += left
    order = torch.randperm(left + right, generator=torch.Generator().manual_seed(left))
    return Data(edge_index=order[index], x=torch.zeros(left + right, 1))


MAKERS: dict[str, Callable[[BipartiteGraph], Any]] = {
    "two numberings": as_pair,
    "two types": as_two_types,
    "told sides": as_told_sides,
    "connected": as_connected,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@given(graphs=st.lists(bipartite_graphs(), min_size=1, max_size=6))
@pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes'")
def test_a_batch_is_read_and_solved_as_each_graph_is(
    make: Callable[[BipartiteGraph], Any], graphs: list[BipartiteGraph]
) -> None:
    data = list(map(make, graphs))
    batch = Batch.from_data_list(data)
    read = from_batch(batch)
    assert read is not None and list(read) == list(map(as_graph, data))
    expected = [solve(one, engine="table") for one in data]
    assert solve_batch(batch, engine="table") == expected
    assert [solution.size for solution in solve_batch(batch, engine="lookup")] == [
        solution.size for solution in expected
    ]


def test_a_batch_that_pyg_cannot_take_apart_is_read() -> None:
    """In PyG 2.8 a node type that has nothing but its number is a KeyError."""
    batch = Batch.from_data_list([hetero(), hetero(left=4)])
    assert [solution.size for solution in solve_batch(batch, engine="table")] == [2, 2]


@pytest.mark.parametrize(
    "case", ["odd cycle", "two parts", "one side", "sides of three", "negative"]
)
def test_bad_data_in_a_batch_are_named_by_their_position(case: str) -> None:
    data, message = REFUSED[case]
    good = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
    if "bipartite" in data:
        good.bipartite = torch.tensor([0, 1])
    batch = Batch.from_data_list([good, data, good])
    assert from_batch(Batch.from_data_list([good] * 3)) is not None
    assert from_batch(batch) is None
    with pytest.raises(InputError, match=f"graph 1: .*{message}"):
        solve_batch(batch, engine="table")


def test_an_edge_that_leaves_its_graph_is_no_edge_of_the_next() -> None:
    good, bad = (as_two_types(GRAPH) for _ in range(2))
    bad["person", "can", "job"].edge_index[1, 0] = 2
    with pytest.raises(InputError, match="graph 0: an edge names node 2, but there are 2 nodes"):
        solve_batch(Batch.from_data_list([bad, good]), engine="table")


@pytest.mark.parametrize("name", ["weight", "cost", "edge_weight", "edge_attr"])
@pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes'")
def test_a_batch_with_what_may_be_costs_is_read_one_by_one(name: str) -> None:
    data: list[Any] = [pair_data(), pair_data()]
    for one in data:
        one[name] = torch.tensor([2.0, 2.0, 2.0, 2.0])
    assert from_batch(Batch.from_data_list(data)) is not None
    data[1][name] = torch.tensor([[2.0], [3.0], [2.0], [2.0]])[:, 0]
    batch = Batch.from_data_list(data)
    assert from_batch(batch) is None
    refused = "ignore" if name in ("weight", "cost") else f"graph 1: .*{name!r} and may be costs"
    with pytest.raises(InputError, match=refused):
        solve_batch(batch, engine="table")
    data[1][name] = torch.ones(3)
    with pytest.raises(InputError, match="graph 1") if name != "edge_attr" else nothing():
        solve_batch(Batch.from_data_list(data), engine="table")
