"""Many small matchings at once on a GPU: the engines `cuda` and `cuda-table`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.algorithms.algorithm import Algorithm
from augury.classical.answer import Answer, How
from augury.classical.graph import BipartiteGraph
from augury.engines import ties
from augury.engines.engine import Engine, Mates, require_proof
from augury.engines.table import report
from augury.errors import InputError
from augury.inputs import Graph, Graphs


@dataclass(frozen=True)
class OnGpu(Engine):
    """Matchings of many graphs of at most 64 nodes a side."""

    name: str | None
    what: str
    reads_weights: bool = False
    """Whether a kernel evaluates the network itself; otherwise the loops of `table` run there."""
    device = "cuda"
    algorithms = ("ford-fulkerson",)
    needs_proof = True
    takes_stacks = True

    def run(self, algorithm: Algorithm, graphs: Graphs, executor: Any, how: How) -> list[Answer]:
        """One call for the graphs of each shape, as a stack."""
        require_proof(executor)
        by_shape: dict[tuple[int, int], list[tuple[int, BipartiteGraph]]] = {}
        for number, graph in enumerate(graphs):
            if not isinstance(graph, BipartiteGraph):
                raise InputError(
                    f"the engine {self.name!r} matches bipartite graphs, and graph {number} is a "
                    "flow network: 'table' takes both"
                )
            by_shape.setdefault((graph.num_left, graph.num_right), []).append((number, graph))
        from augury.engines.cuda import size_for

        for shape in by_shape:
            size_for(*shape)  # refuses what is too large, before any matrix is made
        found: dict[int, Answer] = {}
        for numbered in by_shape.values():
            numbers, some = zip(*numbered, strict=True)
            stack = np.stack([graph.to_dense() for graph in some]).view(np.uint8)
            mates, rounds = self._match(stack, executor.network)
            found |= zip(numbers, map(Answer, mates, rounds.tolist()), strict=True)
        answers = [found[number] for number in range(len(graphs))]
        report(graphs, answers, how)
        return answers

    def match(self, adjacency: npt.NDArray[np.uint8], executor: Any, threads: int = 1) -> Mates:
        """See `Engine`."""
        require_proof(executor)
        return self._match(adjacency, executor.network)

    def _match(self, adjacency: npt.NDArray[np.uint8], network: Any) -> Mates:
        """Copy the graphs to the GPU, match them there, and copy the mates back."""
        from augury.engines import cuda

        graphs = cuda.on_device(adjacency)
        if self.reads_weights:
            mates, rounds = cuda.evaluate_packed(cuda.pack(graphs, 64), network)
        else:
            mates, rounds = cuda.match_packed(cuda.pack(graphs))
        return Mates(mates.get(), rounds.get())

    def ties(self, graph: Graph) -> Callable[..., Any]:
        """See `Engine`."""
        return ties.turning_weights


TABLE_WORDS = "the proven network as a hand-written loop on a GPU, at most 64 nodes a side"
NETWORK_WORDS = "the network, evaluated on a GPU in every step, at most 64 nodes a side"

CUDA_TABLE = OnGpu("cuda-table", TABLE_WORDS)
CUDA = OnGpu("cuda", NETWORK_WORDS, reads_weights=True)
