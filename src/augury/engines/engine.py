"""What an `Engine` is: a form in which a network runs, on graphs of any size or on arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.algorithms.algorithm import Algorithm
from augury.classical.answer import Answer, How
from augury.classical.arrays import IntArray, WideArray
from augury.classical.batch import Batch
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.priced import Stack
from augury.classical.proofs import Flows, Proofs, flows_of
from augury.errors import InputError
from augury.inputs import Graph, Graphs


class Mates(NamedTuple):
    """The matchings of a stack of dense graphs."""

    mates: IntArray
    """(graph, left) or (left,): the column of each row, −1 for none."""
    rounds: IntArray
    """(graph,): searches that led to at least one path."""


class Engine(ABC):
    """One form of a network."""

    name: str | None
    """None where no network of ours runs."""
    what: str
    """What actually runs, in a few words."""
    device: str | None = None
    """Where it runs; None: wherever the network is."""
    algorithms: tuple[str, ...] | None = None
    """What it has a form of; None: any algorithm written over cells."""
    needs_proof: bool = False
    """Whether it runs without the judge, and so takes only proven networks."""
    reads_weights: bool = False
    """Whether it computes with the network's weights; otherwise the table is enough."""
    takes_stacks: bool = False
    """Whether it takes dense graphs of one shape as they are; see `match`."""
    takes_batches: bool = False
    """Whether it takes graphs that lie side by side; see `match_batch` and `push_batch`."""
    takes_files: bool = False
    """Whether it reads a graph beyond memory from its file, in a folder of its own; see
    `sharded_run.solve_file`."""

    def refusal(self, algorithm: Algorithm, name: str, executor: Any) -> str:
        """Say why it cannot run this executor, called `name`; "" if it can."""
        if self.algorithms is not None and algorithm.name not in self.algorithms:
            return f"the engine {self.name!r} has no form of {algorithm.name}: 'lookup' has"
        if self.needs_proof and not hasattr(getattr(executor, "network", None), "cells"):
            kind = "a discrete network that verifies"
            return f"the engine {self.name!r} runs {kind}, and {name!r} is none"
        return ""

    @abstractmethod
    def run(self, algorithm: Algorithm, graphs: Graphs, executor: Any, how: How) -> list[Answer]:
        """Solve graphs of any sizes, each as if it were alone."""

    def match(self, adjacency: npt.NDArray[np.uint8], executor: Any, threads: int = 1) -> Mates:
        """Match a stack of dense graphs, bytes of 0 and 1."""
        raise InputError(f"the engine {self.name!r} has no form of a discrete network")

    def prove_stack(self, graphs: Any, executor: Any) -> tuple[IntArray, Proofs] | None:
        """Match a dense array, wherever it lies, and prove it there: the rounds, and the proofs.

        None: this is no such array, or its proofs are left to the host.
        """
        return None

    def match_batch(self, graphs: Sequence[BipartiteGraph], executor: Any) -> Mates:
        """Match bipartite graphs of any sizes; the mates are those of all rows, (left,).

        A `BipartiteBatch` is read as it is.
        """
        raise InputError(f"the engine {self.name!r} takes no batch of graphs")

    def push_batch(
        self, networks: Sequence[FlowNetwork], executor: Any, batch: Batch | None = None
    ) -> tuple[WideArray, IntArray]:
        """Return the residual of a maximum flow of each network, (arc,), and the rounds taken.

        `batch` holds the same networks side by side, if already made.
        """
        raise InputError(f"the engine {self.name!r} takes no batch of flow networks")

    def prove_batch(self, networks: Sequence[FlowNetwork], executor: Any) -> tuple[IntArray, Flows]:
        """Find a maximum flow of each network, and prove it: the rounds, and the proofs."""
        batch = Batch.of(networks)
        residual, rounds = self.push_batch(networks, executor, batch)
        return rounds, flows_of(networks, batch, residual)

    def assign(self, stack: Stack, executor: Any) -> tuple[WideArray, WideArray]:
        """Assign a stack of cost matrices: mates (graph, left), prices (graph, node)."""
        raise InputError(f"the engine {self.name!r} has no form of assignments")

    def ties(self, graph: Graph) -> Callable[..., Any] | None:
        """Return the tie-breaks with which the network decides as this engine; None: random."""
        return None
