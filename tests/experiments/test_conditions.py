"""Conditions become test graphs that no network has seen in training."""

from __future__ import annotations

import numpy as np
import pytest

from augury.classical.generate import uniform
from augury.classical.network import FlowNetwork
from augury.config import DataConfig
from augury.errors import InputError
from augury.experiments.conditions import TEST_STREAM, Condition
from augury.neural.batch import execution_data


def arcs(graphs: list[FlowNetwork]) -> list[list[tuple[int, int]]]:
    return [
        list(zip(graph.sender.tolist(), graph.receiver.tolist(), strict=True)) for graph in graphs
    ]


def test_the_sparse_track_has_three_edges_a_node() -> None:
    condition = Condition(8, "3/n")
    graphs = condition.graphs(40, 0)
    edges = np.mean([graph.num_arcs / 2 - 2 * condition.side for graph in graphs])
    assert all(graph.num_nodes == 2 * 64 + 2 for graph in graphs)
    assert edges == pytest.approx(3 * 64, rel=0.05)
    assert arcs(graphs[:2]) != arcs(Condition(8, "3/64").graphs(2, 0))


def test_equal_probabilities_are_one_condition() -> None:
    assert Condition(p="0.25") == Condition(p="2/8") == Condition()
    assert Condition(p="6/2/n") == Condition(p="3/n")
    with pytest.raises(InputError):
        Condition(p="n")


def test_a_probability_is_at_most_one_in_both_tracks() -> None:
    assert Condition(p="8/n").side == 8 and Condition(2, "9/n").side == 16
    for p in ("9/n", "-1/n", "5/4", "-1/4"):
        with pytest.raises(InputError, match="between 0 and 1"):
            Condition(p=p)


def test_test_graphs_are_none_of_the_training_graphs() -> None:
    for seed in (0, TEST_STREAM):
        executed = execution_data(DataConfig(seed=seed), (1, 2), 20)
        known = arcs(executed[1] + executed[2])
        rng = np.random.default_rng(seed).spawn(4)[0]
        known += arcs([FlowNetwork.from_bipartite(uniform(rng, 8, p=0.25)) for _ in range(20)])
        for scale in (1, 2):
            assert not any(graph in known for graph in arcs(Condition(scale).graphs(20, seed)))
