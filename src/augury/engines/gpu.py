"""Many matchings or small flows at once on a GPU: the engines `cuda` and `cuda-table`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.executor import refuse_beyond_range
from augury.classical.answer import Answer, How
from augury.classical.arrays import IntArray
from augury.classical.batch import Batch
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.proofs import Flows, Proofs, flows_of
from augury.engines import small
from augury.engines.engine import Engine, Mates
from augury.engines.table import report, require_proof
from augury.errors import InputError
from augury.inputs import Graph, Graphs, as_stack

BYTES = (np.bool_, np.uint8)
"""Types in which a non-zero byte is an edge."""


@dataclass(frozen=True)
class OnGpu(Engine):
    """Matchings of many dense graphs, and flows by the loops of `table`."""

    name: str | None
    what: str
    reads_weights: bool = False
    """Whether a kernel evaluates the network itself; otherwise the loops of `table` run there."""
    takes_batches: bool = False
    device = "cuda"
    algorithms = ("ford-fulkerson",)
    needs_proof = True
    takes_stacks = True

    def run(self, algorithm: Algorithm, graphs: Graphs, executor: Any, how: How) -> list[Answer]:
        """See `Engine`: the matchings of each shape in one call, and all flows in another."""
        require_proof(executor)
        networks = [graph for graph in graphs if isinstance(graph, FlowNetwork)]
        if networks and not self.takes_batches:
            number = next(k for k, graph in enumerate(graphs) if graph is networks[0])
            raise InputError(
                f"the engine {self.name!r} matches bipartite graphs, and graph {number} is a "
                "flow network: 'table' takes both"
            )
        matched = self._matched(
            [graph for graph in graphs if isinstance(graph, BipartiteGraph)], executor.network
        )
        flows = self._flows(networks, executor)
        answers = [next(flows if isinstance(graph, FlowNetwork) else matched) for graph in graphs]
        report(graphs, answers, how)
        return answers

    def match_batch(self, graphs: Sequence[BipartiteGraph], executor: Any) -> Mates:
        """See `Engine`."""
        require_proof(executor)
        found = list(self._matched(graphs, executor.network))
        mates = np.concatenate([np.zeros(0, np.int32), *(answer.found for answer in found)])
        rounds = np.array([answer.neural_rounds for answer in found], np.int32)
        return Mates(mates.astype(np.int32, copy=False), rounds)

    def prove_batch(self, networks: Sequence[FlowNetwork], executor: Any) -> tuple[IntArray, Flows]:
        """See `Engine`; the cuts are found and checked on the GPU."""
        from augury.engines import cuda_flows

        require_proof(executor)
        batch = Batch.of(networks)
        refuse_beyond_range(batch.capacity, executor.network.bits)
        residual, rounds, cuts = cuda_flows.push(batch)
        return rounds, flows_of(networks, batch, residual, cuts)

    def _flows(self, networks: Sequence[FlowNetwork], executor: Any) -> Iterator[Answer]:
        if not networks:
            return
        rounds, flows = self.prove_batch(networks, executor)
        for number, taken in enumerate(rounds.tolist()):
            yield Answer(flows.flow_of(number), taken)

    def _matched(self, graphs: Sequence[BipartiteGraph], network: Any) -> Iterator[Answer]:
        """Match graphs of any shapes: one call for each shape, as a stack."""
        from augury.engines.cuda_match import size_for

        by_shape: dict[tuple[int, int], list[int]] = {}
        for number, graph in enumerate(graphs):
            by_shape.setdefault((graph.num_left, graph.num_right), []).append(number)
        for shape in by_shape:  # too large a graph is refused before any matrix is made
            size_for(*shape, self.reads_weights)
        found: dict[int, Answer] = {}
        for numbers in by_shape.values():
            stack = np.stack([graphs[number].to_dense() for number in numbers]).view(np.uint8)
            mates, rounds = self._match(stack, network)
            found |= zip(numbers, map(Answer, mates, rounds.tolist()), strict=True)
        return (found[number] for number in range(len(graphs)))

    def match(self, adjacency: npt.NDArray[np.uint8], executor: Any, threads: int = 1) -> Mates:
        """See `Engine`."""
        require_proof(executor)
        return self._match(adjacency, executor.network, threads)

    def _match(self, adjacency: npt.NDArray[np.uint8], network: Any, threads: int = 1) -> Mates:
        """Copy the graphs to the GPU, match them there, and copy the mates back."""
        found, _ = self._found(adjacency, network, threads)
        return Mates(found.mates.cpu().numpy().astype(np.int32), found.rounds.cpu().numpy())

    def prove_stack(self, graphs: Any, executor: Any) -> tuple[IntArray, Proofs] | None:
        """See `Engine`; what lies on the GPU leaves it only on demand."""
        from augury.engines import cuda_match

        require_proof(executor)
        if cuda_match.is_on_device(graphs):
            packed = cuda_match.pack(cuda_match.edges_of(cuda_match.as_tensor(graphs)))
            parameters = self._parameters(executor.network, packed.rows.device)
            found, rows = cuda_match.match(packed, parameters=parameters), [packed.rows]
        else:
            stack = as_stack(graphs)
            if stack is None:
                return None
            stack = np.ascontiguousarray(stack if stack.dtype in BYTES else stack != 0)
            found, rows = self._found(stack, executor.network)
            graphs = stack
            found = found._replace(**{name: own.cpu() for name, own in found._asdict().items()})
        proofs = cuda_match.proofs_of(rows, graphs.shape[2], found)
        return found.rounds.cpu().numpy(), proofs

    def _found(self, adjacency: npt.NDArray[Any], network: Any, threads: int = 1) -> Any:
        """Return what is found for bytes on the host, and the bits of their rows, in parts."""
        from augury.engines import cuda_match

        parts, rows = [], []
        parameters: Any = None
        for packed, kept in cuda_match.crossed(adjacency, threads=threads):
            if parameters is None:
                parameters = self._parameters(network, packed.rows.device)
            parts.append(cuda_match.match(packed, parameters=parameters))
            rows.append(kept)
        return cuda_match.joined(parts), rows

    def _parameters(self, network: Any, device: Any) -> Any:
        """Return what a kernel needs to evaluate the network; None where the loops run."""
        if not self.reads_weights:
            return None
        import torch

        from augury.engines.cuda import network_parameters

        return torch.from_numpy(network_parameters(network)).to(device)

    def ties(self, graph: Graph) -> Callable[..., Any]:
        """See `Engine`."""
        return small.turning_weights


TABLE_WORDS = (
    "the proven network as hand-written loops on a GPU: matchings to 1,024 a side, small flows"
)
NETWORK_WORDS = "the network, evaluated on a GPU in every step, at most 64 nodes a side"

CUDA_TABLE = OnGpu("cuda-table", TABLE_WORDS, takes_batches=True)
CUDA = OnGpu("cuda", NETWORK_WORDS, reads_weights=True)
