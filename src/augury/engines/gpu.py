"""Many small matchings at once on a GPU: the engines `cuda` and `cuda-table`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.algorithms.algorithm import Algorithm
from augury.classical.answer import Answer, How
from augury.classical.graph import BipartiteGraph
from augury.engines import ties
from augury.engines.engine import Engine, Mates, require_proof
from augury.engines.table import answers_of, report
from augury.errors import InputError
from augury.inputs import Graph, Graphs


class OnGpu(Engine):
    """Matchings of many graphs of at most 64 nodes a side."""

    device = "cuda"
    algorithms = ("ford-fulkerson",)
    needs_proof = True
    takes_stacks = True

    @abstractmethod
    def on_gpu(self, adjacency: Any, network: Any) -> tuple[Any, Any]:
        """(graph, left, right) bytes on the device → mates and rounds there."""

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
            found |= zip(numbers, answers_of(*self._match(stack, executor.network)), strict=True)
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

        mates, rounds = self.on_gpu(cuda.on_device(adjacency), network)
        return Mates(mates.get(), rounds.get())

    def ties(self, graph: Graph) -> Callable[..., Any]:
        """See `Engine`."""
        return ties.turning_weights


class CudaTable(OnGpu):
    """The loops of `table`, on a GPU."""

    name = "cuda-table"
    what = "the proven network as a hand-written loop on a GPU, at most 64 nodes a side"

    def on_gpu(self, adjacency: Any, network: Any) -> tuple[Any, Any]:
        """See `OnGpu`."""
        from augury.engines.cuda import match_packed, pack

        return match_packed(pack(adjacency))


class Cuda(OnGpu):
    """The network itself, evaluated within a kernel."""

    name = "cuda"
    what = "the network, evaluated on a GPU in every step, at most 64 nodes a side"
    reads_weights = True

    def on_gpu(self, adjacency: Any, network: Any) -> tuple[Any, Any]:
        """See `OnGpu`."""
        from augury.engines.cuda import evaluate_packed, pack

        return evaluate_packed(pack(adjacency, 64), network)


CUDA, CUDA_TABLE = Cuda(), CudaTable()
