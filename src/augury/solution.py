"""What was found on a graph becomes a `Solution`: labels, and the certificate that proves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from augury.classical.certificate import Certificate, certify_flow, certify_pairs
from augury.classical.ford_fulkerson import BELLMAN_FORD, BREADTH_FIRST, Subroutines
from augury.classical.graph import Label, WideArray, whole_number
from augury.classical.network import FlowNetwork
from augury.direct import Found
from augury.errors import InputError
from augury.inputs import Graph

CLASSICAL: dict[str, Subroutines] = {"classical": BREADTH_FIRST, "bellman-ford": BELLMAN_FORD}
"""Executors without a network: breadth-first search, and the paper's search by random weights."""


class Outcome(NamedTuple):
    """How the run on one network ended."""

    residual: WideArray
    """What each arc can still carry: always that of a legal flow."""
    neural_rounds: int
    """Searches of the executor that led to at least one augmenting path."""
    classical_rounds: int
    """The same of the classical search that finished the run; 0 unless it had ended early."""
    ending: str
    """How the executor's own part ended: "done", or why it stopped early."""


@dataclass(frozen=True, repr=False)
class Solution:
    """A legal matching or flow with the user's labels, and what is known about it."""

    executor: str
    """Who ran the subroutines: the network's name, or that of a classical executor."""
    neural_rounds: int
    """Searches by this executor that led to at least one augmenting path."""
    classical_rounds: int
    """The same of the classical search that finished the run; 0 unless it had ended early."""
    ending: str
    """How the executor's own part ended: "done", or why it stopped early."""
    certificate: Certificate
    engine: str | None = None
    """Which form of the network ran, by its name in `neural.engines.ENGINES`: "table" and
    "cuda-table" look its decisions up, the others evaluate it. None where no network of ours ran.
    """
    matching: list[tuple[Label, Label]] | None = None
    """Matched (left, right) pairs; None for a flow."""
    flow: list[tuple[Label, Label, int]] | None = None
    """(tail, head, amount) for each arc that carries flow; None for a matching."""
    retell: Callable[[], dict[str, Any]] | None = field(default=None, compare=False)
    """Run again, with every step told; None where the executor shows none."""

    @property
    def size(self) -> int:
        """Edges of the matching, or value of the flow."""
        return self.certificate.size

    @property
    def is_maximum(self) -> bool:
        """Whether the certificate proves that nothing larger exists."""
        return self.certificate.is_maximum

    @property
    def rounds(self) -> int:
        """Searches that led to at least one augmenting path, whoever made them."""
        return self.neural_rounds + self.classical_rounds

    def to_dict(self) -> dict[str, Any]:
        """Return everything as one object that JSON can hold."""
        what = "flow" if self.matching is None else "matching"
        return {
            "size": self.size,
            "is_maximum": self.is_maximum,
            what: [list(entry) for entry in getattr(self, what)],
            "executor": self.executor,
            "engine": self.engine,
            "rounds": self.rounds,
            "neural_rounds": self.neural_rounds,
            "classical_rounds": self.classical_rounds,
            "ending": self.ending,
            "certificate": self.certificate.to_dict(),
        }

    def story(self) -> dict[str, Any]:
        """Run again and return every round and step; see `augury.watch`.

        Raises:
            InputError: the executor shows no steps, or the run is too long to be told.
        """
        if self.retell is None:
            raise InputError(f"the executor {self.executor!r} shows no steps")
        return self.retell()

    def _repr_html_(self) -> str | None:
        """Show the run in a notebook, or nothing but the text where it cannot be told."""
        from augury.page import frame_of

        try:
            return frame_of(self.story())
        except InputError:
            return None

    def __repr__(self) -> str:
        what = "flow" if self.matching is None else "matching"
        short = self.certificate.shortfall
        proven = "maximum" if self.is_maximum else f"{short} short of the maximum"
        rounds = f"{self.rounds} round{'s' * (self.rounds != 1)}"
        if self.classical_rounds and self.executor not in CLASSICAL:
            rounds += f", {self.classical_rounds} of them classical"
        who = f"{self.executor} ({self.engine})" if self.engine else self.executor
        return f"Solution({what} of {self.size}, {proven}, {rounds}, {who})"


def found_of(graph: Graph, outcome: Outcome) -> Found:
    """Read the answer off the last residual."""
    if isinstance(graph, FlowNetwork):
        return Found(graph.flow(outcome.residual), *outcome[1:])
    return Found(matched_pairs(graph, outcome.residual), *outcome[1:])


def solution_of(
    who: tuple[str, str | None], graph: Graph, found: Found, certificate: Certificate | None = None
) -> Solution:
    """Give the answer its labels, and certify it unless that is done already.

    `who` are the names of the executor and of the engine.
    """
    told = who[0], *found[1:]
    if isinstance(graph, FlowNetwork):
        proof = certificate or certify_flow(graph, found.answer)
        return Solution(*told, proof, who[1], flow=list(graph.flow_arcs(found.answer)))
    proof = certificate or certify_pairs(graph, found.answer)
    matching = [(graph.left_label(u), graph.right_label(v)) for u, v in found.answer.tolist()]
    return Solution(*told, proof, who[1], matching)


def matched_pairs(graph: Any, residual: WideArray) -> WideArray:
    """Return (left, right) of the edges whose forward arc is full; see `from_bipartite`."""
    on_edges = residual[2 * graph.num_left : 2 * (graph.num_left + graph.num_edges) : 2]
    matched = np.flatnonzero(on_edges == 0)
    return np.stack([graph.left[matched], graph.right[matched]], axis=1).astype(np.int64)


def as_seed(seed: object) -> int:
    """Return a seed as a Python int of at least 0."""
    whole = whole_number(seed, "the seed")
    if whole < 0:
        raise InputError(f"the seed is {whole}, which is negative")
    return whole
