"""A flow network becomes the residual of a maximum flow, a bipartite graph a maximum matching.

What the SciPy- and NetworkX-shaped functions stand on. The shipped discrete network decides every
round; should its run end early, the classical search finishes it, so the flow always is maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import BREADTH_FIRST, Settings, Verdict, ford_fulkerson
from augury.classical.graph import BipartiteGraph, WideArray
from augury.classical.network import FlowNetwork
from augury.solver import EXECUTORS


class Outcome(NamedTuple):
    """The end of a run on one network."""

    residual: WideArray
    neural_rounds: int
    classical_rounds: int
    ending: str


def run(networks: Sequence[FlowNetwork]) -> list[Outcome]:
    """Run each network to a maximum flow."""
    return [_run_one(network) for network in networks]


def maximum_residual(network: FlowNetwork) -> WideArray:
    """Return the residual of each arc after a maximum flow."""
    return run([network])[0].residual


def maximum_matching(graph: BipartiteGraph) -> WideArray:
    """Return the (left, right) pairs of a maximum matching, sorted by their left node."""
    residual = maximum_residual(FlowNetwork.from_bipartite(graph))
    on_edges = residual[2 * graph.num_left : 2 * (graph.num_left + graph.num_edges) : 2]
    matched = np.flatnonzero(on_edges == 0)
    return np.stack([graph.left[matched], graph.right[matched]], axis=1).astype(np.int64)


def _run_one(network: FlowNetwork) -> Outcome:
    residual, ending, rounds = network.capacity, "done", [0, 0]
    for kind, name in enumerate(("discrete", "classical")):
        left = FlowNetwork(
            network.num_nodes,
            network.sender,
            network.receiver,
            residual,
            network.source,
            network.sink,
        )
        subroutines = EXECUTORS[name]() if kind == 0 else BREADTH_FIRST
        rng = np.random.default_rng(0)
        for round_ in ford_fulkerson(
            Batch.of([left]), subroutines, [rng], Settings(many_paths=True)
        ):
            residual = round_.after
            ending = Verdict(round_.verdict[0]).name.lower().replace("_", " ")
            rounds[kind] += bool(len(round_.bottleneck))
        if ending == "done":
            break
    return Outcome(residual, rounds[0], rounds[1], ending)
