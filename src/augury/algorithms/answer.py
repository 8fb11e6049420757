"""What is asked for in a run, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from augury.classical.graph import WideArray, whole_number
from augury.classical.network import FlowNetwork
from augury.errors import InputError
from augury.inputs import Graph


class Progress(NamedTuple):
    """How far a run is."""

    finished: int
    """Graphs that are done."""
    rounds: int
    """Rounds so far, of the graphs that are running now."""
    size: int
    """What was found so far, in all graphs: edges, units of flow, nodes."""


class Answer(NamedTuple):
    """What was found on one graph, in numbers."""

    found: WideArray
    """See the algorithm: the pairs of a matching, the net flow of each arc, and so on."""
    neural_rounds: int
    """Searches by the executor that led somewhere."""
    classical_rounds: int = 0
    """The same of the classical search that finished the run; 0 unless it had ended early."""
    ending: str = "done"
    """How the executor's own part ended: "done", or why it stopped early."""


class How(NamedTuple):
    """How a run is made, whoever makes it."""

    exact: bool = True
    """Finish by classical search what the executor ended early."""
    seed: int = 0
    progress: Callable[[Progress], None] | None = None
    """Called after each round."""


def answer_in(graph: Graph, residual: WideArray) -> WideArray:
    """Read a matching, (pair, 2), or a net flow, (arc,), off the last residual."""
    if isinstance(graph, FlowNetwork):
        return graph.flow(residual)
    # An edge is matched if its forward arc is full; see `FlowNetwork.from_bipartite`.
    on_edges = residual[2 * graph.num_left : 2 * (graph.num_left + graph.num_edges) : 2]
    matched = np.flatnonzero(on_edges == 0)
    return np.stack([graph.left[matched], graph.right[matched]], axis=1).astype(np.int64)


def as_seed(seed: object) -> int:
    """Return a seed as a Python int of at least 0."""
    whole = whole_number(seed, "the seed")
    if whole < 0:
        raise InputError(f"the seed is {whole}, which is negative")
    return whole
