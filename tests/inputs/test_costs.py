"""Edge costs are refused; attributes that are all equal are not costs."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

import augury
from augury import BipartiteGraph, FlowNetwork, InputError, solve
from augury.inputs.costs import BLOCK, graphs_differ, numbers_differ, values_differ
from graphs import JOBS


def jobs(**attributes: Any) -> nx.Graph[Any]:
    """Return `JOBS`, its edges with these attributes, None for none."""
    graph = JOBS.to_networkx()
    for name, values in attributes.items():
        for (u, v), value in zip(graph.edges(), values, strict=True):
            if value is not None:
                graph[u][v][name] = value
    return graph


@pytest.mark.parametrize("name", ["weight", "cost"])
@pytest.mark.parametrize("values", [(3, 1, 2), (None, None, 3), (1, 1, 1.5), (1, "x", np.ones(2))])
def test_weights_of_networkx_that_differ_are_refused(name: str, values: Any) -> None:
    graph = jobs(**{name: values})
    message = f"edges differ in the attribute '{name}', but a matching of greatest cardinality"
    with pytest.raises(InputError, match=message):
        solve(graph)
    assert solve(BipartiteGraph.from_networkx(graph)).size == 2  # the way that the sentence names


@pytest.mark.parametrize("values", [(3, 3, 3.0), (None, 1, 1), (None, None, None)])
def test_weights_that_are_alike_are_no_costs(values: Any) -> None:
    assert solve(jobs(weight=values, other=(1, 2, 3))).size == 2


def test_costs_beside_capacities_are_refused() -> None:
    graph = nx.DiGraph()
    graph.add_edge("s", "a", capacity=3, weight=1)
    graph.add_edge("a", "t", capacity=2, weight=5)
    with pytest.raises(InputError, match="a flow of greatest value would ignore costs and weights"):
        solve(graph, source="s", sink="t")
    assert solve(FlowNetwork.from_networkx(graph, "s", "t")).size == 2


def test_functions_in_the_shapes_of_others_keep_their_contracts() -> None:
    graph = jobs(weight=(3, 1, 2))
    assert len(nx.bipartite.maximum_matching(graph, ["ann", "bob"], backend="augury")) == 4
    matrix = BipartiteGraph.from_networkx(graph).to_scipy()
    matrix.data = np.array([3, 1, 2], np.int8)
    assert augury.maximum_bipartite_matching(matrix).tolist() == [0, 1]


@pytest.mark.parametrize("name", ["edge_weight", "weight", "cost"])
def test_weights_of_pytorch_geometric_that_differ_are_refused(name: str) -> None:
    index = torch.tensor([[0, 1], [1, 2]])
    for values in (torch.tensor([0.5, 1.5]), torch.tensor([[0], [1]])):
        data = Data(edge_index=index, num_nodes=3, **{name: values})
        with pytest.raises(InputError, match=f"'{name}', but a matching of greatest cardinality"):
            solve(data)
        hetero = HeteroData()
        hetero["a"].num_nodes, hetero["b"].num_nodes = 2, 3
        hetero["a", "to", "b"].edge_index = index
        hetero["a", "to", "b"][name] = values
        with pytest.raises(InputError, match="greatest cardinality"):
            solve(hetero)
    assert solve(Data(edge_index=index, num_nodes=3, **{name: torch.ones(2)})).size == 1


def test_numbers_differ_only_where_they_are_not_zero() -> None:
    alike: list[Any] = [[], [0], [0, 7, 7], [-2, 0, -2], [0.0, -0.0], [np.inf, 0], [True, False]]
    for values in alike:
        assert not numbers_differ(np.array(values)), values
    for values in ([1, 2], [0, 1, -1], [0.5, 1], [2, 3], [-1, -2], [1, np.inf], [1j, 1], [np.nan]):
        assert numbers_differ(np.array(values)), values
    assert not values_differ([])
    assert values_differ([1, 2])


def test_numbers_of_a_stack_are_compared_within_each_graph() -> None:
    assert not graphs_differ(np.array([[[0, -1]], [[3, 0]]]))
    assert graphs_differ(np.array([[[0, -1]], [[3, 2]]]))


def test_numbers_are_compared_across_blocks() -> None:
    values = np.zeros(3 * BLOCK, np.int16)
    values[[5, BLOCK + 5]] = 7
    assert not numbers_differ(values)
    values[-1] = 8
    assert numbers_differ(values)
    assert not numbers_differ(np.r_[np.zeros(BLOCK), np.full(3, -2.0)])
