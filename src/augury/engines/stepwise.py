"""A network decides at every step of the rounds, and the judge looks on.

`plain` evaluates the network, `lookup` reads its table: both in compiled loops, wherever a node's
case has changed, or else at every node in every step (see `CellExecutor`). `fast` is a form of the
paper's networks alone, a search as one compiled loop. Without a name, this runs whatever supplies
the subroutines: classical code, or a user's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.executor import stepwise
from augury.classical.answer import Answer, How
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import Settings
from augury.classical.graph import BipartiteGraph
from augury.classical.phases import run_to_end
from augury.engines.engine import Engine, Mates
from augury.engines.small import turning_weights
from augury.inputs import Graphs


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
        graphs = [BipartiteGraph.from_dense(edges) for edges in adjacency]
        batch = Batch.of([graph.as_arcs() for graph in graphs])
        settings = Settings(many_paths=True, weights=turning_weights)
        residual, rounds, _ = run_to_end(batch, executor.subroutines(), (), settings)
        mates = np.full(adjacency.shape[:2], -1, np.int32)
        parts = np.split(residual, batch.arc_start[1:])
        for own, graph, part in zip(mates, graphs, parts, strict=False):
            own[:] = graph.found(part)
        return Mates(mates, rounds.astype(np.int32))


class Fast(Stepwise):
    """Pieces so small that PyTorch's threads would only wait for each other."""

    def run(self, algorithm: Algorithm, graphs: Graphs, executor: Any, how: How) -> list[Answer]:
        """See `Engine`."""
        from augury.neural.isolation import one_thread

        with one_thread(True):
            return stepwise(algorithm, graphs, executor, how)

    def match(self, adjacency: npt.NDArray[np.uint8], executor: Any, threads: int = 1) -> Mates:
        """See `Engine`: there is no such form."""
        return Engine.match(self, adjacency, executor, threads)


PLAIN = Stepwise("plain", "the network, evaluated step by step", reads_weights=True)
LOOKUP = Stepwise("lookup", "the network's table, read wherever a node's case has changed")
FAST = Fast("fast", "the paper's networks, a search as one compiled loop")
