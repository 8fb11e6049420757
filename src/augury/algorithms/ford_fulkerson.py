"""Ford-Fulkerson as an `Algorithm`: maximum matchings and maximum flows."""

from __future__ import annotations

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.cells import CELLS
from augury.algorithms.ford_fulkerson_story import story
from augury.classical.certificate import certify_all
from augury.classical.ford_fulkerson import CLASSICAL, run
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.simulate import simulate

FORD_FULKERSON = Algorithm(
    name="ford-fulkerson",
    problem="a maximum matching or flow",
    takes=(BipartiteGraph, FlowNetwork),
    ends=("source", "sink"),
    cells=CELLS,
    classical=CLASSICAL,
    run=run,
    judge=simulate,
    certify=certify_all,
    labelled=lambda graph, found: (graph.noun, graph.labelled(found)),
    story=story,
    theorem=(
        "on every flow network, of any size, whose integer capacities add up to at most "
        "2^{bits} − 1 in each pair of arcs, this network executes Edmonds-Karp and ends with a "
        "maximum flow; learnt are search, termination, predecessors, bottleneck and augmentation, "
        "programmed are the bits of integers, the latch on a node's first predecessor, following "
        "the pointers, and the reverse arc's share of its pair."
    ),
)
