"""Flow networks become `Trace`s: every step of every round of classical Ford-Fulkerson.

The rounds are those of `ford_fulkerson` with Bellman-Ford over random weights (paper, section 3).
Each round holds what a neural network is trained to repeat: distances and predecessors after each
Bellman-Ford step, reached bits after each breadth-first step, the path and its bottleneck. The last
round, in which no path is left, is included. Steps are stored only as long as something changes:
row 0 is the start, the last row the fixed point. The graphs of a batch advance side by side, yet
each is traced as if alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical import ford_fulkerson as classical
from augury.classical.arrays import BoolArray, IntArray, WideArray
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import Round, Tree, WeightArray
from augury.classical.network import FlowNetwork


@dataclass(frozen=True)
class TracedRound:
    """One round on one graph; nodes and arcs are numbered as in its flow network.

    >>> network = FlowNetwork.from_labelled_arcs([("s", "a", 3), ("a", "t", 2)], "s", "t")
    >>> [trace] = record([network], np.random.default_rng(0))
    >>> trace.rounds[0].path.tolist(), trace.rounds[0].reached.astype(int).tolist()
    ([0, 2], [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    """

    residual: WideArray
    """(arc,): before the round."""
    weights: WeightArray
    """(arc,): drawn for this round."""
    distance: npt.NDArray[np.unsignedinteger]
    """(step, node): Bellman-Ford distances; all ones is infinity."""
    predecessor: IntArray
    """(step, node): the source precedes itself; −1 for nodes not reached."""
    reached: BoolArray
    """(step, node): breadth-first search over the same arcs."""
    path: IntArray
    """The arcs of the augmenting path, from the source on; empty in the last round."""
    bottleneck: int
    """What the path carries; 0 in the last round."""


@dataclass(frozen=True)
class Trace:
    """All rounds on one flow network.

    >>> network = FlowNetwork.from_labelled_arcs([("s", "a", 3), ("a", "t", 2)], "s", "t")
    >>> [trace] = record([network], np.random.default_rng(0))
    >>> [own.bottleneck for own in trace.rounds]
    [2, 0]
    """

    network: FlowNetwork
    rounds: tuple[TracedRound, ...]


def record(networks: Sequence[FlowNetwork], rng: np.random.Generator, bits: int = 8) -> list[Trace]:
    """Trace every network; each draws its weights from a generator spawned from `rng`.

    Args:
        networks: of any sizes; one whose capacity is a residual starts from that state.
        rng: network k uses its k-th child, so a trace does not depend on its neighbours.
        bits: width of a distance; longer ones saturate (see `bellman_ford`).

    >>> from augury.classical.generate import uniform
    >>> rng = np.random.default_rng(0)
    >>> networks = [FlowNetwork.from_bipartite(uniform(rng, side)) for side in (4, 8)]
    >>> [len(trace.rounds) for trace in record(networks, rng)]
    [3, 8]
    """
    rounds: list[list[TracedRound]] = [[] for _ in networks]
    search = partial(_remembering_search, bits=bits)
    dtype = np.min_scalar_type(2**bits - 1)
    rest = classical.smallest_residual, classical.subtract, classical.sink_unreached
    executor = classical.Subroutines(search, *rest)
    for round_ in classical.ford_fulkerson(Batch.of(networks), executor, rng.spawn(len(networks))):
        for graph, traced in zip(round_.batch.graphs, _split(round_, dtype), strict=True):
            rounds[int(graph)].append(traced)
    return [Trace(network, tuple(own)) for network, own in zip(networks, rounds, strict=True)]


class _Steps(NamedTuple):
    """All steps of a search, from row 0 before the first: memory grows with nodes × steps."""

    distance: WideArray
    """(step, node): infinity for unreached nodes."""
    arc: IntArray
    """(step, node): the arc by which each node was reached, −1 for the source and the unreached."""


def _remembering_search(
    batch: Batch, residual: WideArray, weights: WeightArray, /, *, bits: int
) -> Tree[_Steps]:
    distances, arcs = zip(*classical.bellman_ford(batch, residual, weights, bits), strict=True)
    return Tree(arcs[-1], _Steps(np.stack(distances), np.stack(arcs)))


def _split(round_: Round[_Steps], dtype: np.dtype[np.unsignedinteger]) -> list[TracedRound]:
    """Split a round of the batch into one traced round per graph."""
    batch, steps = round_.batch, round_.tree.memory
    reached = classical.reachable(batch, round_.residual)
    predecessor = np.full(steps.arc.shape, -1, np.int32)
    predecessor[steps.arc >= 0] = batch.sender[steps.arc[steps.arc >= 0]]
    predecessor[:, batch.source] = batch.source
    num_steps = _last_change(batch, steps.distance) + 1
    num_levels = _last_change(batch, reached) + 1
    path_of_graph = {graph: path for path, graph in enumerate(round_.paths.graph.tolist())}
    traced: list[TracedRound] = []
    for graph in range(batch.num_graphs):
        nodes = slice(batch.node_start[graph], batch.node_start[graph + 1])
        arcs = slice(batch.arc_start[graph], batch.arc_start[graph + 1])
        own = predecessor[: num_steps[graph], nodes]
        path = path_of_graph.get(graph)
        start, end = (0, 0) if path is None else round_.paths.start[path : path + 2]
        traced.append(
            TracedRound(
                residual=round_.residual[arcs],
                weights=round_.weights[arcs],
                distance=steps.distance[: num_steps[graph], nodes].astype(dtype),
                predecessor=np.where(own >= 0, own - nodes.start, -1).astype(np.int32),
                reached=reached[: num_levels[graph], nodes],
                path=(round_.paths.arcs[start:end] - arcs.start).astype(np.int32),
                bottleneck=0 if path is None else int(round_.bottleneck[path]),
            )
        )
    return traced


def _last_change(batch: Batch, steps: npt.NDArray[np.generic]) -> WideArray:
    """Return for each graph the last row of (step, node) that differs from the one before it."""
    step, node = np.nonzero(steps[1:] != steps[:-1])
    last = np.zeros(batch.num_graphs, np.int64)
    np.maximum.at(last, batch.node_graph[node], step + 1)
    return last
