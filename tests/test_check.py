"""Answers are certified whatever form the graph is given in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import augury
from augury import BipartiteGraph, InputError, certify, certify_flow, solve, write_graph
from augury.classical import certificate
from augury.classical.cost_network import CostNetwork
from graphs import BOTH_WAYS, BRIDGE, JOBS

GRAPHS: dict[str, Any] = {
    "own": JOBS,
    "NetworkX": JOBS.to_networkx(),
    "pairs": list(JOBS.edges()),
    "dict": {"ann": ["cook"], "bob": ["cook", "sing"]},
    "DataFrame": pd.DataFrame(list(JOBS.edges()), columns=["worker", "job"]),
}
MATCHINGS = [
    [("ann", "cook"), ("bob", "sing")],
    [("bob", "cook")],
    [("ann", "sing")],
    [("ann", "cook"), ("bob", "cook")],
    [("ann",)],
    [],
]


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_a_matching_of_whatever_solve_takes_is_certified(graph: Any) -> None:
    for matching in MATCHINGS:
        assert certify(graph, matching) == certificate.certify(JOBS, matching)
    assert certify(graph, solve(graph).matching or []).is_maximum


@pytest.mark.parametrize("form", ["dense", "scipy", "tensor"])
def test_a_matching_of_a_matrix_is_certified(form: str) -> None:
    dense = JOBS.to_dense()
    made = {"dense": dense, "scipy": JOBS.to_scipy(), "tensor": torch.tensor(dense)}[form]
    bare = BipartiteGraph.from_dense(dense)
    for matching in ([(0, 0), (1, 1)], [(1, 0)], [(0, 1)], np.array([[0, 0]], np.uint64)):
        assert certify(made, matching) == certificate.certify(bare, matching)


FLOWS: list[Any] = [
    [("s", "a", 3), ("s", "b", 2), ("a", "b", 1), ("a", "t", 2), ("b", "t", 3)],
    [("s", "a", 5), ("a", "s", 2), ("a", "t", 2), ("a", "b", 1), ("b", "t", 1)],
    [("s", "a", 3), ("a", "s", 2), ("a", "t", 1)],
    [("s", "q", 1)],
    [],
]
NETWORKS: dict[str, Any] = {
    "NetworkX": BRIDGE.to_networkx(),
    "triples": list(BRIDGE.arcs()),
    "DataFrame": pd.DataFrame(list(BRIDGE.arcs()), columns=["from", "to", "capacity"]),
}


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_a_flow_in_whatever_solve_takes_is_certified(network: Any) -> None:
    for flow in FLOWS:
        told = certify_flow(network, flow, source="s", sink="t")
        assert told == certificate.certify_flow(BRIDGE, flow) == certify_flow(BRIDGE, flow)
    assert [certify_flow(BRIDGE, flow).is_legal for flow in FLOWS] == [True, *[False] * 3, True]


def test_files_are_read_too(tmp_path: Path) -> None:
    write_graph(JOBS, tmp_path / "jobs.csv")
    write_graph(BRIDGE, tmp_path / "bridge.json")
    assert certify(tmp_path / "jobs.csv", MATCHINGS[0]).is_maximum
    assert certify_flow(tmp_path / "bridge.json", FLOWS[0]).is_maximum
    with pytest.raises(InputError, match=r"nowhere\.csv"):
        certify("nowhere.csv", [])


def test_net_flows_are_checked_as_arrays() -> None:
    assert certify_flow(BOTH_WAYS, np.array([4, -4])).is_maximum
    dense = BOTH_WAYS.to_dense()
    assert certify_flow(dense, np.array([4, -4]), source=0, sink=1).is_maximum


def test_what_is_no_such_graph_is_refused() -> None:
    with pytest.raises(InputError, match="this is a flow network: certify_flow checks its flows"):
        certify(BRIDGE, [])
    with pytest.raises(InputError, match="this is a bipartite graph: give source and sink, or use"):
        certify_flow(np.eye(2), [])
    with pytest.raises(InputError, match="the source is given, the sink is not"):
        certify_flow(np.eye(2), [], source=0)
    with pytest.raises(TypeError, match="int is no graph"):
        certify(7, [])
    with pytest.raises(InputError, match="may be costs"):
        certify(np.array([[1.5, 2, 3]]), [])


def test_the_public_names_are_these() -> None:
    assert augury.certify is certify
    assert certify.__module__ == certify_flow.__module__ == "augury.check"


def test_costs_are_certified_too() -> None:
    costs = np.array([[4, 1], [2, 1]])
    best, other = [(0, 1), (1, 0)], [(0, 0), (1, 1)]
    assert certify(costs, best, costs=True).is_optimal
    worse = certify(costs, other, costs=True)
    assert (worse.is_maximum, worse.is_optimal, worse.cost) == (True, False, 5)
    assert certify(costs, other, costs=True, maximise=True).is_optimal
    proven = certify(costs, best, costs=True, prices={"u": [2, 2], "v": [0, -1]})
    assert (proven.is_optimal, proven.remark) == (True, "")
    wrong = certify(costs, best, costs=True, prices={"u": [9, 9], "v": [9, 9]})
    assert (wrong.is_optimal, wrong.remark != "") == (True, True)
    with pytest.raises(InputError, match="only where there are costs"):
        certify(costs > 1, [], prices={"u": [1, 1], "v": [1, 1]})


def test_flows_with_costs_are_certified_too() -> None:
    arcs = [("s", "t", 2, 3), ("s", "t", 1, 1)]
    ends = {"source": "s", "sink": "t", "costs": True}
    assert certify_flow(arcs, [("s", "t", 3)], **ends).is_optimal
    network = CostNetwork.from_labelled_arcs(arcs, source="s", sink="t")
    assert certify_flow(network, np.array([2, 1])).cost == 7
    prices = {"nodes": [["s", 0], ["t", 3]]}
    assert certify_flow(arcs, [("s", "t", 3)], **ends, prices=prices).is_optimal
    with pytest.raises(InputError, match="prices go with a flow as"):
        certify_flow(network, np.array([2, 1]), prices=prices)
    with pytest.raises(InputError, match="only where there are costs"):
        certify_flow(BRIDGE, [], prices=prices)
