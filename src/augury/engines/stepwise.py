"""A network decides at every step of the rounds, and the judge looks on.

`plain` evaluates the network at every node in every step; `lookup` reads its table, again only
where a case has changed; `fast` is a form of the paper's networks alone, a search as one compiled
loop. Without a name, this runs whatever supplies the subroutines: classical code, or somebody's
own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.executor import stepwise
from augury.classical.answer import Answer, How
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import Settings, ford_fulkerson
from augury.classical.graph import BipartiteGraph
from augury.engines.engine import Engine, Mates
from augury.engines.ties import turning_weights
from augury.inputs import Graph


@dataclass(frozen=True)
class Stepwise(Engine):
    """The rounds of the algorithm, each decision asked of the network."""

    name: str | None
    what: str
    reads_weights: bool = False

    run = staticmethod(stepwise)  # type: ignore[reportAssignmentType]  # it needs no self

    def refusal(self, algorithm: Algorithm, name: str, executor: Any) -> str:
        """See `Engine`."""
        if self.name is None or getattr(executor, "form", None) == self.name:
            return super().refusal(algorithm, name, executor)
        return f"the engine {self.name!r} has no form of {name}: leave the choice to 'auto'"

    def match(self, adjacency: npt.NDArray[np.uint8], executor: Any, threads: int = 1) -> Mates:
        """See `Engine`; with the ties of the compiled forms, so that all can be compared."""
        count, num_left, num_right = adjacency.shape
        graphs = [BipartiteGraph.from_dense(edges) for edges in adjacency]
        batch = Batch.of([graph.as_arcs() for graph in graphs])
        mates = np.full((count, num_left), -1, np.int32)
        rounds = np.zeros(count, np.int32)
        settings = Settings(many_paths=True, weights=turning_weights)
        for round_ in ford_fulkerson(batch, executor.subroutines(), (), settings):
            batch = round_.batch
            rounds[batch.graphs[np.unique(round_.paths.graph)]] += 1
            # An arc from left to right on a path is the new mate; later rounds overwrite it.
            arcs = round_.paths.arcs
            graph = batch.node_graph[batch.sender[arcs]]
            row = batch.sender[arcs] - batch.node_start[graph] - 1
            column = batch.receiver[arcs] - batch.node_start[graph] - 1 - num_left
            is_edge = (batch.capacity[arcs] > 0) & (row >= 0) & (column >= 0)
            is_edge &= (row < num_left) & (column < num_right)
            mates[batch.graphs[graph[is_edge]], row[is_edge]] = column[is_edge]
        return Mates(mates, rounds)


class Fast(Stepwise):
    """Pieces so small that PyTorch's threads would only wait for each other."""

    def run(
        self, algorithm: Algorithm, graphs: Sequence[Graph], executor: Any, how: How
    ) -> list[Answer]:
        """See `Engine`."""
        from augury.neural.isolation import one_thread

        with one_thread(True):
            return stepwise(algorithm, graphs, executor, how)

    def match(self, adjacency: npt.NDArray[np.uint8], executor: Any, threads: int = 1) -> Mates:
        """See `Engine`: there is no such form."""
        return Engine.match(self, adjacency, executor, threads)


PLAIN = Stepwise("plain", "the network, evaluated at every node in every step", reads_weights=True)
LOOKUP = Stepwise("lookup", "the network's table, read wherever a node's case has changed")
FAST = Fast("fast", "the paper's networks, a search as one compiled loop")
