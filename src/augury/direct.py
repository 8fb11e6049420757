"""Graphs go to an engine that takes arrays, and come back as answers: no round runs in Python.

These are the engines `table`, `cuda` and `cuda-table`; the others evaluate the network within the
rounds of `ford_fulkerson`, see `solver`. There is no judge here, so only a network that verifies
may run, and ties are broken by the rule of `neural.engines.ties` and not at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.batch import Batch
from augury.classical.graph import BipartiteGraph, WideArray
from augury.classical.network import FlowNetwork
from augury.engines import ENGINES, Matched, match_dense, match_lists, push_flows, starts
from augury.errors import InputError
from augury.inputs import Graph

if TYPE_CHECKING:
    from augury.cells.network import CellNetwork

AUTO = "auto"
"""Evaluate the network, in its fast form where it has one."""

DIRECT = tuple(name for name, engine in ENGINES.items() if engine.needs_proof)
"""The engines that run here."""


class Found(NamedTuple):
    """What a run found on one graph."""

    answer: WideArray
    """(pair, 2) node numbers of a matching, or the net flow of each arc."""
    neural_rounds: int
    classical_rounds: int
    ending: str


class Direct(NamedTuple):
    """A network that verifies, and the engine that runs it."""

    name: str
    """Of the network."""
    engine: str
    network: CellNetwork | None
    """None stands for the shipped one, whose table is compiled once."""

    @classmethod
    def of(cls, engine: str, model: Any) -> Direct:
        """Take whatever `solve` takes as a model.

        Raises:
            InputError: the model is no discrete network.
        """
        if model is None:
            return cls("discrete", engine, None)
        if isinstance(model, str | Path):
            from augury.models.checkpoint import find, load_once

            checkpoint = load_once(find(str(model)))
            name, network = checkpoint.config.name, checkpoint.network
        else:
            name, network = type(model).__name__, getattr(model, "network", None)
        if not _is_discrete(network):
            raise InputError(
                f"the engine {engine!r} runs a discrete network that verifies, and {name!r} is none"
            )
        return cls(name, engine, network)

    def match(self, adjacency: npt.NDArray[Any]) -> Matched:
        """Match a stack of dense graphs."""
        return match_dense(adjacency, engine=self.engine, network=self.network)

    def solve(self, graphs: Sequence[Graph]) -> list[Found]:
        """Solve graphs of any sizes; each as if it were alone."""
        kinds = [isinstance(graph, FlowNetwork) for graph in graphs]
        flows = [graph for graph in graphs if isinstance(graph, FlowNetwork)]
        if flows and self.engine != "table":
            raise InputError(
                f"the engine {self.engine!r} matches bipartite graphs, and graph "
                f"{kinds.index(True)} is a flow network: 'table' takes both"
            )
        others = [graph for graph in graphs if isinstance(graph, BipartiteGraph)]
        by = _match_side_by_side if self.engine == "table" else _match_by_shape
        answers = {True: iter(self._flows(flows)), False: iter(by(self, others))}
        return [next(answers[kind]) for kind in kinds]

    def _flows(self, networks: Sequence[FlowNetwork]) -> list[Found]:
        if not networks:
            return []
        batch = Batch.of(networks)
        residual, rounds = push_flows(batch, network=self.network)
        parts = np.split(residual, batch.arc_start[1:-1])
        return [
            Found(network.flow(part), int(number), 0, "done")
            for network, part, number in zip(networks, parts, rounds, strict=True)
        ]


def _is_discrete(network: Any) -> bool:
    from augury.cells.network import CellNetwork

    return isinstance(network, CellNetwork)


def _match_side_by_side(way: Direct, graphs: Sequence[BipartiteGraph]) -> list[Found]:
    """One call of the engine for all graphs, as lists."""
    if not graphs:
        return []
    left = starts([graph.num_left for graph in graphs])
    right = starts([graph.num_right for graph in graphs])
    if len(graphs) == 1:
        rows, columns = graphs[0].left, graphs[0].right
    else:
        rows = np.concatenate([g.left + by for g, by in zip(graphs, left, strict=False)])
        columns = np.concatenate([g.right + by for g, by in zip(graphs, right, strict=False)])
    degree = np.bincount(rows, minlength=int(left[-1]))
    matched = match_lists(starts(degree), columns, left, right, network=way.network)
    return _found(np.split(matched.mates, left[1:-1]), matched.rounds)


def _match_by_shape(way: Direct, graphs: Sequence[BipartiteGraph]) -> list[Found]:
    """One call of the engine for the graphs of each shape, as a stack."""
    from augury.engines.cuda import size_for

    found: dict[int, Found] = {}
    by_shape: dict[tuple[int, int], list[int]] = {}
    for number, graph in enumerate(graphs):
        by_shape.setdefault((graph.num_left, graph.num_right), []).append(number)
    for shape in by_shape:
        size_for(*shape)  # refuses what is too large, before any matrix is made
    for numbers in by_shape.values():
        matched = way.match(np.stack([graphs[number].to_dense() for number in numbers]))
        found |= zip(numbers, _found(matched.mates, matched.rounds), strict=True)
    return [found[number] for number in range(len(graphs))]


def _found(mates: Iterable[npt.NDArray[Any]], rounds: npt.NDArray[Any]) -> list[Found]:
    return [
        Found(pairs_of(own), int(number), 0, "done")
        for own, number in zip(mates, rounds, strict=True)
    ]


def pairs_of(mates: npt.NDArray[Any]) -> WideArray:
    """(left,) mates or −1 → (pair, 2)."""
    row = np.flatnonzero(mates >= 0)
    return np.stack([row, mates[row]], axis=1).astype(np.int64)


def weights_of(engine: str | None, graph: Graph) -> Callable[..., Any] | None:
    """Return the tie-breaks with which the network itself decides as this engine; None: random."""
    from augury.engines import ties

    if engine not in DIRECT:
        return None
    return ties.mixed_weights if isinstance(graph, FlowNetwork) else ties.turning_weights
