"""Attributes that are called costs are; what may be costs or not is refused."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

import augury
from augury import BipartiteGraph, FlowNetwork, InputError, solve
from augury.classical.cost_network import CostNetwork
from augury.inputs import as_graph
from augury.inputs.costs import BLOCK, graphs_differ, numbers_differ
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
def test_weights_of_networkx_that_differ_are_costs(name: str) -> None:
    graph = jobs(**{name: (3, 1, 2.5)})
    expected = BipartiteGraph.from_edges(JOBS.edges(), costs=[3, 1, 2.5])
    assert as_graph(graph) == expected
    assert (solve(graph).size, solve(graph).cost) == (2, 5.5)
    message = f"edges differ in the attribute '{name}', but a matching of greatest cardinality"
    with pytest.raises(InputError, match=message):
        solve(graph, algorithm="ford-fulkerson")
    assert solve(BipartiteGraph.from_networkx(graph)).size == 2  # the way that the sentence names


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"weight": (None, None, 3)}, "have a weight, but the edge 'ann', 'cook' has none"),
        ({"cost": (1, "x", 2)}, "edge 'bob', 'cook' has 'x', which is not a number"),
        ({"cost": (1, np.ones(2), 2)}, "which is not a number"),
        ({"cost": (1, float("nan"), 2)}, "has nan, which is not a number"),
        ({"cost": (1, 2, 3), "weight": (1, 2, 3)}, "'weight' and 'cost' of the edges may both"),
        ({"cost": (1, 2, -float("inf"))}, "the cost at 2 is -inf"),
    ],
)
def test_wrong_weights_of_networkx_are_refused(attributes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        solve(jobs(**attributes))


def test_an_infinite_weight_is_no_edge() -> None:
    graph = as_graph(jobs(weight=(3, float("inf"), 2)))
    assert isinstance(graph, BipartiteGraph) and graph.num_edges == 2


@pytest.mark.parametrize("values", [(3, 3, 3.0), (None, 1, 1), (None, None, None)])
def test_weights_that_are_alike_are_no_costs(values: Any) -> None:
    assert solve(jobs(weight=values, other=(1, 2, 3))).size == 2


def test_weights_that_are_alike_are_costs_if_the_caller_says_so() -> None:
    assert solve(jobs(weight=(3, 3, 3)), algorithm="assignment").cost == 6
    with pytest.raises(InputError, match="the edges have no attribute 'weight' or 'cost'"):
        solve(jobs(), algorithm="assignment")


def pipes(**demands: int) -> nx.DiGraph[Any]:
    """Return a network whose way through a is cheap, and narrow."""
    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.add_edge("s", "a", capacity=3, weight=1)
    graph.add_edge("a", "t", capacity=2, weight=0)
    graph.add_edge("s", "t", weight=5)
    for node, demand in demands.items():
        graph.nodes[node]["demand"] = demand
    return graph


def test_costs_beside_capacities_are_costs_of_a_flow() -> None:
    graph = pipes()
    graph["s"]["t"]["capacity"] = 1
    solution = solve(graph, source="s", sink="t")
    assert (solution.size, solution.cost) == (3, nx.cost_of_flow(graph, solution_of(solution)))
    assert solution.cost == 7
    with pytest.raises(InputError, match="a flow of greatest value would ignore costs and weights"):
        solve(graph, source="s", sink="t", algorithm="ford-fulkerson")
    assert solve(FlowNetwork.from_networkx(graph, "s", "t")).size == 3


def solution_of(solution: augury.Solution) -> dict[Any, dict[Any, int]]:
    flow: dict[Any, dict[Any, int]] = {"s": {}, "a": {}, "t": {}}
    for tail, head, amount in solution.flow or []:
        flow[tail][head] = amount
    return flow


def test_demands_of_networkx_are_met() -> None:
    graph = pipes(s=-7, t=7)
    solution = solve(graph)
    assert solution.cost == nx.min_cost_flow_cost(graph) == 27
    for node in graph:
        graph.nodes[node].pop("demand", None)
    graph.nodes["s"]["demand"] = 0
    assert solve(graph).cost == 0


@pytest.mark.parametrize(
    ("change", "ends", "message"),
    [
        (lambda g: g.add_edge("a", "s", weight=-1), {}, "'a', 's' would be used without limit"),
        (lambda g: g.add_edge("a", "s", weight=1, capacity=-1), {}, "'a', 's' is -1, which is neg"),
        (lambda g: g.add_node("t", demand=6), {}, "the supplies add up to 1, not to 0"),
        (lambda g: g.add_node("t", demand=6.5), {}, "demand of 't' is 6.5, not a whole number"),
        (lambda g: g.add_node("t", demand="x"), {}, "demand of 't' is 'x', not a whole number"),
        (lambda g: None, {"source": "s", "sink": "t"}, "'demand': then there is no source"),
    ],
)
def test_wrong_demands_are_refused(change: Any, ends: Any, message: str) -> None:
    graph = pipes(s=-7, t=7)
    change(graph)
    with pytest.raises(InputError, match=message):
        solve(graph, **ends)


def test_a_flow_of_least_cost_takes_a_directed_graph_and_known_ends() -> None:
    with pytest.raises(InputError, match="one of a directed graph"):
        solve(pipes().to_undirected(), source="s", sink="t")
    with pytest.raises(InputError, match="the sink 'x' is not in the graph"):
        solve(pipes(), source="s", sink="x")
    with pytest.raises(InputError, match="unbounded"):
        solve(pipes(), source="s", sink="t")


def test_functions_in_the_shapes_of_others_keep_their_contracts() -> None:
    graph = jobs(weight=(3, 1, 2))
    assert len(nx.bipartite.maximum_matching(graph, ["ann", "bob"], backend="augury")) == 4
    matrix = BipartiteGraph.from_networkx(graph).to_scipy()
    matrix.data = np.array([3, 1, 2], np.int8)
    assert augury.maximum_bipartite_matching(matrix).tolist() == [0, 1]


INDEX = torch.tensor([[0, 1, 1], [1, 2, 0]])


def stores(name: str, values: torch.Tensor) -> list[Any]:
    """Return one bipartite graph as `Data` and `HeteroData`, its edges with this attribute."""
    hetero = HeteroData()
    hetero["a"].num_nodes, hetero["b"].num_nodes = 2, 3
    hetero["a", "to", "b"].edge_index = INDEX
    hetero["a", "to", "b"][name] = values
    sides = {"x_s": torch.ones(2, 1), "x_t": torch.ones(3, 1)}
    return [Data(edge_index=INDEX, **sides, **{name: values}), hetero]


@pytest.mark.parametrize("name", ["weight", "cost", "edge_weight", "edge_attr"])
def test_attributes_of_pytorch_geometric_that_differ_may_be_costs(name: str) -> None:
    for values in (torch.tensor([0.5, 1.5, 4]), torch.tensor([[0], [1], [2]])):
        for data in stores(name, values):
            if name in ("weight", "cost"):
                assert solve(data).cost == solve(data, algorithm="assignment").cost is not None
            else:
                with pytest.raises(InputError, match=f"'{name}' and may be costs: they are with"):
                    solve(data)
            assert solve(data, algorithm="assignment").cost == float(values[0] + values[1])
            with pytest.raises(InputError, match=f"'{name}', but a matching of greatest card"):
                solve(data, algorithm="ford-fulkerson")
    for data in stores(name, torch.ones(3)):
        assert (solve(data).size, solve(data).cost) == (2, None)
        assert solve(data, algorithm="assignment").cost == 2


def test_wrong_costs_of_pytorch_geometric_are_refused() -> None:
    for data in stores("cost", torch.ones(2)):
        with pytest.raises(InputError, match="'cost' must be one number for each of the 3 edges"):
            solve(data)
    for data in stores("edge_attr", torch.rand(3, 4)):
        assert solve(data).cost is None
        with pytest.raises(InputError, match="no attribute 'weight' or 'cost' or 'edge_weight'"):
            solve(data, algorithm="assignment")
    data, hetero = stores("cost", torch.tensor([1, 2, 3]))
    data.weight = torch.tensor([3, 2, 1])
    with pytest.raises(InputError, match="'weight' and 'cost' may both be costs"):
        solve(data)
    hetero["b", "back", "a"].edge_index = INDEX.flip(0)
    with pytest.raises(InputError, match=r"relations .* have costs, and others none"):
        solve(hetero)


def test_a_network_of_pytorch_geometric_has_costs_too() -> None:
    arcs = {"capacity": torch.tensor([3, 2, 1]), "cost": torch.tensor([1, 0, 5])}
    index = torch.tensor([[0, 1, 0], [1, 2, 2]])
    data = Data(edge_index=index, num_nodes=3, source=0, sink=2, **arcs)
    assert isinstance(as_graph(data), CostNetwork)
    assert (solve(data).size, solve(data).cost) == (3, 7)
    infinite = stores("cost", torch.tensor([1, float("inf"), 2]))
    assert [as_graph(one).num_arcs for one in infinite] == [2 * (2 + 2 + 3)] * 2


def test_numbers_differ_only_where_they_are_not_zero() -> None:
    alike: list[Any] = [[], [0], [0, 7, 7], [-2, 0, -2], [0.0, -0.0], [np.inf, 0], [True, False]]
    for values in alike:
        assert not numbers_differ(np.array(values)), values
    for values in ([1, 2], [0, 1, -1], [0.5, 1], [2, 3], [-1, -2], [1, np.inf], [1j, 1], [np.nan]):
        assert numbers_differ(np.array(values)), values


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
