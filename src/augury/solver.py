"""A graph becomes a `Solution`: its maximum matching or flow, and the certificate that proves it.

The executor proposes, `ford_fulkerson` applies only what is legal, and `certificate`, which knows
no executor, says whether the result is maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from augury.classical.batch import Batch
from augury.classical.certificate import Certificate, certify_flow, certify_pairs
from augury.classical.ford_fulkerson import (
    BELLMAN_FORD,
    BREADTH_FIRST,
    Settings,
    Subroutines,
    Verdict,
    ford_fulkerson,
)
from augury.classical.graph import BipartiteGraph, InputError, Label, WideArray
from augury.classical.network import FlowNetwork


@cache
def _discrete() -> Subroutines:
    from augury.neural.checkpoint import find, load
    from augury.neural.kinds import executor_of

    return executor_of(load(find("discrete")).network).subroutines()


EXECUTORS: dict[str, Callable[[], Subroutines]] = {
    "discrete": _discrete,
    "classical": lambda: BREADTH_FIRST,
    "bellman-ford": lambda: BELLMAN_FORD,
}
"""Who can run the subroutines: the shipped, verified network; breadth-first search; or the paper's
Bellman-Ford over random weights."""


@dataclass(frozen=True, repr=False)
class Solution:
    """A legal matching or flow with the user's labels, and what is known about it."""

    executor: str
    """Who ran the subroutines."""
    rounds: int
    """Searches that led to at least one augmenting path."""
    ending: str
    """How the run ended: "done", or why it stopped early."""
    certificate: Certificate
    matching: list[tuple[Label, Label]] | None = None
    """Matched (left, right) pairs; None for a flow."""
    flow: list[tuple[Label, Label, int]] | None = None
    """(tail, head, amount) for each arc that carries flow; None for a matching."""

    @property
    def size(self) -> int:
        """Edges of the matching, or value of the flow."""
        return self.certificate.size

    @property
    def is_maximum(self) -> bool:
        """Whether the certificate proves that nothing larger exists."""
        return self.certificate.is_maximum

    def to_dict(self) -> dict[str, Any]:
        """Return everything as one object that JSON can hold."""
        what = "flow" if self.matching is None else "matching"
        return {
            "size": self.size,
            "is_maximum": self.is_maximum,
            what: [list(entry) for entry in getattr(self, what)],
            "rounds": self.rounds,
            "executor": self.executor,
            "ending": self.ending,
            "certificate": self.certificate.to_dict(),
        }

    def __repr__(self) -> str:
        what = "flow" if self.matching is None else "matching"
        proven = "maximum" if self.is_maximum else "not proven maximum"
        return f"Solution({what} of {self.size}, {proven}, {self.rounds} rounds, {self.executor})"


def solve(
    graph: BipartiteGraph | FlowNetwork,
    *,
    executor: str = "discrete",
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Solution:
    """Find a maximum matching of a bipartite graph, or a maximum flow of a network, and certify it.

    Args:
        graph: what to solve.
        executor: a name in `EXECUTORS`.
        seed: of the random weights; another seed may give another answer of the same size.
        progress: called after each round with the number of rounds and the size so far.

    >>> graph = BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("bob", "sing")])
    >>> solve(graph).matching
    [('ann', 'cook'), ('bob', 'sing')]
    """
    if executor not in EXECUTORS:
        raise InputError(f"{executor!r} is none of the executors {', '.join(EXECUTORS)}")
    known: tuple[type, ...] = (BipartiteGraph, FlowNetwork)
    if not isinstance(graph, known):
        raise TypeError(f"expected a BipartiteGraph or a FlowNetwork, got {type(graph).__name__}")
    network = graph if isinstance(graph, FlowNetwork) else FlowNetwork.from_bipartite(graph)
    rng = np.random.default_rng(seed)
    rounds, size, residual, verdict = 0, 0, network.capacity, Verdict.DONE
    settings = Settings(many_paths=True)
    for round_ in ford_fulkerson(Batch.of([network]), EXECUTORS[executor](), [rng], settings):
        residual, verdict = round_.after, Verdict(round_.verdict[0])
        size += sum(round_.bottleneck.tolist())
        rounds += bool(len(round_.bottleneck))
        if progress is not None:
            progress(rounds, size)
    ending = verdict.name.lower().replace("_", " ")
    if isinstance(graph, FlowNetwork):
        flow = network.flow(residual)
        certificate = certify_flow(network, flow)
        carried = list(network.flow_arcs(flow))
        return Solution(executor, rounds, ending, certificate, flow=carried)
    pairs = _matched_pairs(graph, residual)
    matching = [(graph.left_label(u), graph.right_label(v)) for u, v in pairs.tolist()]
    return Solution(executor, rounds, ending, certify_pairs(graph, pairs), matching=matching)


def _matched_pairs(graph: BipartiteGraph, residual: WideArray) -> WideArray:
    """Return (left, right) of the edges whose forward arc is full; see `from_bipartite`."""
    on_edges = residual[2 * graph.num_left : 2 * (graph.num_left + graph.num_edges) : 2]
    matched = np.flatnonzero(on_edges == 0)
    return np.stack([graph.left[matched], graph.right[matched]], axis=1).astype(np.int64)
