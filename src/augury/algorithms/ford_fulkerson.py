"""Ford-Fulkerson as an `Algorithm`: maximum matchings and maximum flows.

The rounds and the judge are `classical.ford_fulkerson`; here they become answers. With `exact`, a
run that its executor ended early is finished by the classical search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.answer import Answer, How, Progress, answer_in
from augury.algorithms.cells import CELLS
from augury.algorithms.ford_fulkerson_story import story
from augury.classical.batch import Batch
from augury.classical.certificate import Certificate, certify_all, certify_flow
from augury.classical.ford_fulkerson import (
    BELLMAN_FORD,
    BREADTH_FIRST,
    Settings,
    Subroutines,
    Verdict,
    ford_fulkerson,
)
from augury.classical.graph import BipartiteGraph, WideArray
from augury.classical.network import FlowNetwork
from augury.classical.simulate import simulate
from augury.inputs import Graph


def run(graphs: Sequence[Graph], subroutines: Subroutines, how: How) -> list[Answer]:
    """Run graphs side by side to maximum matchings, (pair, 2), and net flows, (arc,)."""
    networks = [
        graph if isinstance(graph, FlowNetwork) else FlowNetwork.from_bipartite(graph)
        for graph in graphs
    ]
    batch = Batch.of(networks)
    # The same seed for each: a graph's answer must not depend on what else is in the batch.
    rngs = [np.random.default_rng(how.seed) for _ in networks]
    residual, rounds, endings = _rounds(batch, subroutines, rngs, how.progress)
    completed = np.zeros_like(rounds)
    if how.exact and subroutines is not BREADTH_FIRST:
        rest = replace(batch, capacity=residual)
        residual, completed, _ = _rounds(rest, BREADTH_FIRST, rngs, None)
    if subroutines in CLASSICAL.values():
        rounds, completed = completed, rounds + completed
    parts = np.split(residual, batch.arc_start[1:-1])
    told = zip(graphs, parts, rounds.tolist(), completed.tolist(), endings, strict=True)
    return [
        Answer(answer_in(graph, part), own, classical, ending.words)
        for graph, part, own, classical, ending in told
    ]


def _rounds(
    batch: Batch,
    subroutines: Subroutines,
    rngs: Sequence[np.random.Generator],
    progress: Callable[[Progress], None] | None,
) -> tuple[WideArray, WideArray, list[Verdict]]:
    """Return the last residual of each arc, and the rounds and the ending of each graph."""
    residual, arc_start = batch.capacity.copy(), batch.arc_start
    rounds = np.zeros(batch.num_graphs, np.int64)
    endings = [Verdict.DONE] * batch.num_graphs
    size = finished = 0
    for round_ in ford_fulkerson(batch, subroutines, rngs, Settings(many_paths=True)):
        own = round_.batch.graphs
        rounds[own[np.unique(round_.paths.graph)]] += 1
        for graph in np.flatnonzero(round_.verdict != Verdict.GOES_ON).tolist():
            start, end = round_.batch.arc_start[graph : graph + 2]
            first = arc_start[own[graph]]
            residual[first : first + end - start] = round_.after[start:end]
            endings[own[graph]] = Verdict(round_.verdict[graph])
            finished += 1
        size += sum(round_.bottleneck.tolist())
        if progress is not None:
            progress(Progress(finished, round_.number + 1, size))
    return residual, rounds, endings


def certify(graphs: Sequence[Graph], found: Sequence[WideArray]) -> list[Certificate]:
    """Prove each maximum; the small bipartite graphs among them all at once."""
    is_bipartite = [isinstance(graph, BipartiteGraph) for graph in graphs]
    pairs = [own for own, is_own in zip(found, is_bipartite, strict=True) if is_own]
    matchings = iter(
        certify_all([graph for graph in graphs if isinstance(graph, BipartiteGraph)], pairs)
    )
    return [
        certify_flow(graph, own) if isinstance(graph, FlowNetwork) else next(matchings)
        for graph, own in zip(graphs, found, strict=True)
    ]


def labelled(graph: Graph, found: WideArray) -> tuple[str, list[tuple[Any, ...]]]:
    """Return (left, right) of each matched pair, or (tail, head, amount) of each arc with flow."""
    if isinstance(graph, FlowNetwork):
        return "flow", list(graph.flow_arcs(found))
    pairs = [(graph.left_label(u), graph.right_label(v)) for u, v in found.tolist()]
    return "matching", pairs


CLASSICAL = {"classical": BREADTH_FIRST, "bellman-ford": BELLMAN_FORD}
"""Executors without a network: breadth-first search, and the paper's search by random weights."""

FORD_FULKERSON = Algorithm(
    name="ford-fulkerson",
    problem="a maximum matching or flow",
    takes=(BipartiteGraph, FlowNetwork),
    ends=("source", "sink"),
    cells=CELLS,
    classical=CLASSICAL,
    run=run,
    judge=simulate,
    certify=certify,
    labelled=labelled,
    story=story,
    theorem=(
        "on every flow network, of any size, whose integer capacities add up to at most "
        "2^{bits} − 1 in each pair of arcs, this network executes Edmonds-Karp and ends with a "
        "maximum flow; learnt are search, termination, predecessors, bottleneck and augmentation, "
        "programmed are the bits of integers, the latch on a node's first predecessor, following "
        "the pointers, and the reverse arc's share of its pair."
    ),
)
