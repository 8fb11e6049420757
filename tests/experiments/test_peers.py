"""Every peer finds what it is handed, whichever way."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pytest

from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.experiments import peers
from augury.experiments.peers import Arcs, Edges, Problem

# 0 → 1 → 3 takes 2, 0 → 2 → 3 takes 4, and 3 more come from 1 by way of 2: 1 → 2 has room for 1.
FLOW = FlowNetwork.from_arcs(
    4, [0, 0, 1, 1, 2, 2], [1, 2, 2, 3, 1, 3], [9, 4, 1, 2, 5, 7], source=0, sink=3
)
MATCHING = BipartiteGraph(3, 4, np.array([0, 0, 1, 2, 2]), np.array([0, 3, 0, 0, 3]))


def is_here(hand: Callable[..., Problem]) -> bool:
    return find_spec(hand.__name__.partition("_")[0]) is not None


@pytest.mark.parametrize(
    "hand", [peers.scipy_flow, peers.ortools_flow, peers.igraph_flow, peers.networkx_flow]
)
def test_flows_are_handed_over(hand: Callable[[Arcs], Problem]) -> None:
    if not is_here(hand):
        pytest.skip("it is not installed")
    problem = hand(Arcs.of(FLOW))
    assert [problem.solved(), problem.solved()] == [7, 7]
    assert hand(Edges.of(MATCHING).as_arcs()).solved() == 2


@pytest.mark.parametrize(
    "hand", [peers.scipy_matching, peers.igraph_matching, peers.networkx_matching]
)
def test_matchings_are_handed_over(hand: Callable[[Edges], Problem]) -> None:
    if not is_here(hand):
        pytest.skip("it is not installed")
    problem = hand(Edges.of(MATCHING))
    assert [problem.solved(), problem.solved()] == [2, 2]
