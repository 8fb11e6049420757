"""Who is reached, in how many steps and from where, is checked without any search."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.classical.levels import certify_levels
from augury.classical.network import FlowNetwork
from graphs import networks

#   s → a → b → t        c is not reached; s → b is a shorter way
WALK = FlowNetwork.from_labelled_arcs(
    [("s", "a", 1), ("a", "b", 1), ("b", "t", 1), ("s", "b", 2), ("c", "s", 1)], "s", "t"
)
RIGHT = {"s": (0, -1), "a": (1, 0), "b": (1, 0), "t": (2, 2), "c": (-1, -1)}


def table(answer: dict[str, tuple[int, int]]) -> np.ndarray:
    return np.array([answer[str(WALK.label(node))] for node in range(WALK.num_nodes)], np.int64)


def test_a_right_answer_is_proven_by_a_closed_set() -> None:
    certificate = certify_levels(WALK, table(RIGHT))
    assert (certificate.is_maximum, certificate.size) == (True, 4)
    assert certificate.to_dict()["closed"] == {"source": "s", "nodes": 4, "farthest": 2}
    assert certificate.proof is not None and "no arc leaves the 4 nodes" in certificate.proof.words


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"s": (1, -1)}, "the source 's' is 0 steps away"),
        ({"a": (2, 0)}, "no arc leads to 'a' from a node that is one step nearer"),
        ({"t": (2, 4)}, "no arc leads to 't'"),
        ({"t": (2, 99)}, "no arc leads to 't'"),
        ({"c": (1, 0)}, "no arc leads to 'c'"),  # the arc leads the other way
        ({"b": (2, 1), "t": (3, 2)}, "'b' is 2 steps away, but there is a shorter path"),
    ],
)
def test_a_wrong_answer_is_refused(change: dict[str, tuple[int, int]], fault: str) -> None:
    certificate = certify_levels(WALK, table(RIGHT | change))
    assert not certificate.is_legal
    assert fault in certificate.fault


def test_an_answer_that_stops_early_says_how_many_are_missing() -> None:
    certificate = certify_levels(WALK, table(RIGHT | {"t": (-1, -1)}))
    assert (certificate.is_legal, certificate.is_maximum, certificate.shortfall) == (True, False, 1)
    assert not certify_levels(WALK, np.zeros((2, 2), np.int64)).is_legal


@given(networks(), st.data())
def test_only_the_truth_is_called_maximum(network: FlowNetwork, data: st.DataObject) -> None:
    arcs = network.to_networkx()
    levels = nx.single_source_shortest_path_length(arcs, network.label(network.source))
    answer = np.full((network.num_nodes, 2), -1, np.int64)
    for node in range(network.num_nodes):
        steps = levels.get(network.label(node), -1)
        came = [
            int(u)
            for u, v, c in zip(network.sender, network.receiver, network.capacity, strict=True)
            if v == node and c > 0 and levels.get(network.label(int(u)), -2) == steps - 1
        ]
        answer[node] = steps, came[0] if steps > 0 else -1
    assert certify_levels(network, answer).is_maximum
    place = data.draw(st.tuples(st.integers(0, network.num_nodes - 1), st.integers(0, 1)))
    answer[place] += data.draw(st.sampled_from([1, 2]))
    # Another predecessor may be right too; other steps never are.
    assert place[1] == 1 or not certify_levels(network, answer).is_maximum
