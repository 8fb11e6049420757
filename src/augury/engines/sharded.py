"""One graph larger than memory, in shards on disk or on a cluster: the engine `sharded`.

The rounds are those of `words`, at any size, with the weights of `small`: what a proven network
decides, pair for pair. Arcs lie in shards (`sharded_files`), each of which looks at its own
(`sharded_part`, `sharded_loops`); frontiers travel between them (`sharded_run`), and the proof is
found and checked in the same way (`sharded_check`). `sharded_run.solve_file` is for graphs that do
not fit in memory. One that is in memory is solved alike, by two shards that take turns.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from augury.algorithms.algorithm import Algorithm
from augury.classical.answer import Answer, How
from augury.classical.arrays import IntArray
from augury.classical.graph import BipartiteGraph
from augury.engines import small
from augury.engines.engine import Engine
from augury.engines.table import require_proof
from augury.errors import InputError
from augury.inputs import Graph, Graphs

HERE = 2
"""Shards of a graph that is in memory already."""


class Sharded(Engine):
    """Matchings of graphs that do not fit in memory; those that do are solved alike."""

    name = "sharded"
    what = "the rounds of a proven network, arcs in shards on disk; for one graph beyond memory"
    device = "cpu"
    algorithms = ("ford-fulkerson",)
    needs_proof = True
    takes_files = True

    def run(self, algorithm: Algorithm, graphs: Graphs, executor: Any, how: How) -> list[Answer]:
        """Solve each in a folder of its own, which is then deleted; see `sharded_run`."""
        require_proof(executor)
        return [self._answer(number, graph, how) for number, graph in enumerate(graphs)]

    def _answer(self, number: int, graph: Graph, how: How) -> Answer:
        if not isinstance(graph, BipartiteGraph):
            told = f"and graph {number} is a flow network: 'table' takes both"
            raise InputError(f"the engine {self.name!r} matches bipartite graphs, {told}")
        from augury.engines.sharded_run import solve_graph

        with tempfile.TemporaryDirectory() as name:
            found = solve_graph(graph, Path(name), HERE, how.progress)
            mates: IntArray = np.load(found.mates, allow_pickle=False).astype(np.int32)
            return Answer(mates, found.state.rounds)

    def ties(self, graph: Graph) -> Callable[..., Any]:
        """See `Engine`."""
        return small.turning_weights


SHARDED = Sharded()
