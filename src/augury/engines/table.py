"""A proven network as hand-written loops: the engine `table`.

The loops (`words`, `lists`, `flows`) do what the table of a proven network says, a step of a search
on 64 nodes at a time; they were checked equal to it round for round, with the ties of `ties`, and
have no judge. For flows the bottleneck and the subtraction are integer operations. Where there are
costs, other loops are used, and what is equal is the cost: see `least_cost`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.executor import CellExecutor, refuse_beyond_range
from augury.classical.answer import Answer, How, Progress
from augury.classical.arrays import IntArray, WideArray
from augury.classical.batch import Batch, starts
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.priced import Stack
from augury.engines import ties
from augury.engines.engine import Engine, Mates, require_proof
from augury.inputs import Graph, Graphs

if TYPE_CHECKING:
    import scipy.sparse

    from augury.cells.network import CellNetwork

CELLS_A_THREAD = 2**20
"""Bytes of dense graphs from which on another thread pays: 0.3 to 4 milliseconds' work."""


class Table(Engine):
    """Matchings and flows of any size on a CPU."""

    name = "table"
    what = "hand-written loops: as a proven network decides or, with costs, to the same cost"
    device = "cpu"
    algorithms = ("ford-fulkerson", "assignment", "min-cost-flow")
    needs_proof = True
    takes_stacks = True
    takes_batches = True

    def run(self, algorithm: Algorithm, graphs: Graphs, executor: Any, how: How) -> list[Answer]:
        """See `Engine`."""
        require_proof(executor)
        if algorithm.minds_costs:
            from augury.engines.least_cost import solved

            answers = solved(graphs)
            report(graphs, answers, how)
            return answers
        flows = [graph for graph in graphs if isinstance(graph, FlowNetwork)]
        others = [graph for graph in graphs if isinstance(graph, BipartiteGraph)]
        pushed, matched = iter(_pushed(flows, executor.network.bits)), iter(_matched(others))
        answers = [next(pushed if isinstance(graph, FlowNetwork) else matched) for graph in graphs]
        report(graphs, answers, how)
        return answers

    def match(self, adjacency: npt.NDArray[np.uint8], executor: Any, threads: int = 1) -> Mates:
        """Share the graphs among threads; small ones as words, others as lists."""
        from augury.engines.words import WORD, Words, match_words

        require_proof(executor)
        count, num_left, num_right = adjacency.shape
        mates, rounds = np.empty((count, num_left), np.int32), np.empty(count, np.int32)
        is_small = max(num_left, num_right) <= WORD

        def match(part: tuple[int, int]) -> None:
            some = slice(*part)
            if is_small:
                words = Words.of(num_left, num_right)
                match_words(adjacency[some], words, mates[some], rounds[some])
            else:
                mates[some], rounds[some] = _match_large(adjacency[some])

        # A thread takes a while to start: with too little to do it would cost more than it saves.
        threads = min(threads, count, adjacency.size // CELLS_A_THREAD)
        if threads <= 1:
            match((0, count))
        else:
            parts = pairwise(np.linspace(0, count, threads + 1).astype(int).tolist())
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(match, parts))
        return Mates(mates, rounds)

    def match_batch(self, graphs: BipartiteBatch, executor: Any) -> Mates:
        """See `Engine`."""
        require_proof(executor)
        return match_lists(graphs.indptr, graphs.columns, graphs.left, graphs.right)

    def push_batch(self, batch: Batch, executor: Any) -> tuple[WideArray, IntArray]:
        """See `Engine`."""
        require_proof(executor)
        return push_flows(batch, executor.network.bits)

    def assign(self, stack: Stack, executor: Any) -> tuple[WideArray, WideArray]:
        """See `Engine`; graphs that cannot be assigned in full are assigned by their edges."""
        from augury.engines.least_cost import assign_stack

        require_proof(executor)
        return assign_stack(stack)

    def ties(self, graph: Graph) -> Callable[..., Any]:
        """See `Engine`."""
        is_flow = isinstance(graph, FlowNetwork)
        return ties.mixed_weights if is_flow else ties.turning_weights


def match_sparse(
    matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, *, network: CellNetwork | None = None
) -> Mates:
    """Match one sparse graph, rows left and columns right; every stored entry is an edge."""
    if network is not None:  # else the shipped one, which is proven
        require_proof(CellExecutor(network))
    rows: Any = matrix.tocsr()  # type: ignore[reportAttributeAccessIssue]
    return match_lists(rows.indptr, rows.indices, *(np.array([0, size]) for size in rows.shape))


def match_lists(
    indptr: npt.NDArray[Any], indices: npt.NDArray[Any], left: WideArray, right: WideArray
) -> Mates:
    """Match graphs that lie side by side; row r of them has `indices[indptr[r] : indptr[r + 1]]`.

    Rows and columns of graph g start at `left[g]` and `right[g]`; `indices` count from the first
    graph on, the mates returned from their own. The answers are as if each graph were alone.
    """
    from augury.engines import lists as loops

    edges = own(indptr, np.int64), own(indices, np.int32)
    lists = loops.Lists.of(*edges, int(right[-1]))
    rounds = np.empty(len(left) - 1, np.int32)
    loops.match_lists(lists, own(left, np.int64), own(right, np.int64), rounds)
    first = np.repeat(right[:-1], np.diff(left)).astype(np.int32)
    mates = np.where(lists.mates >= 0, lists.mates - first, -1).astype(np.int32)
    return Mates(mates, rounds)


def push_flows(batch: Batch, bits: int = 63) -> tuple[WideArray, IntArray]:
    """Return the residual of a maximum flow of each flow network, and the rounds taken.

    `bits` is the width of the integers that the network, which is proven, is made for.
    """
    from augury.engines import flows

    refuse_beyond_range(batch.capacity, bits)
    nodes = batch.num_nodes
    ends = own(batch.sender, np.int32), own(batch.receiver, np.int32)
    state = np.zeros(nodes, np.int64), np.empty(nodes, np.int32), np.full(nodes, -1, np.int32)
    arcs = flows.Arcs(*ends, batch.capacity.copy(), *batch.by_sender, *state)
    rounds = np.empty(batch.num_graphs, np.int32)
    flows.push_flows(arcs, batch.arc_start, batch.source, batch.sink, rounds)
    return arcs.residual, rounds


def own(array: npt.NDArray[Any], dtype: type[np.integer]) -> npt.NDArray[Any]:
    """Return the array as compiled loops take it: they are compiled anew for any other form."""
    return np.require(array, dtype, ["C", "W"])


def answers_of(mates: Iterable[npt.NDArray[Any]], rounds: npt.NDArray[Any]) -> list[Answer]:
    """Return the matching of each graph as (pair, 2)."""
    return list(map(Answer, map(pairs_of, mates), rounds.tolist()))


def pairs_of(mates: npt.NDArray[Any]) -> WideArray:
    """(left,) mates or −1 → (pair, 2)."""
    row = np.flatnonzero(mates >= 0)
    return np.stack([row, mates[row]], axis=1).astype(np.int64)


def report(graphs: Graphs, answers: Sequence[Answer], how: How) -> None:
    """Tell a run's progress, all of it at once: no round of these runs in Python."""
    if how.progress is None:
        return
    size = sum(
        int(answer.found[graph.sender == graph.source].sum())
        if isinstance(graph, FlowNetwork)
        else len(answer.found)
        for graph, answer in zip(graphs, answers, strict=True)
    )
    rounds = max((answer.neural_rounds for answer in answers), default=0)
    how.progress(Progress(len(answers), rounds, size))


def _pushed(networks: Sequence[FlowNetwork], bits: int) -> list[Answer]:
    if not networks:
        return []
    batch = Batch.of(networks)
    residual, rounds = push_flows(batch, bits)
    parts = np.split(residual, batch.arc_start[1:-1])
    found = (own.found(part) for own, part in zip(networks, parts, strict=True))
    return list(map(Answer, found, rounds.tolist()))


def _matched(graphs: Sequence[BipartiteGraph]) -> list[Answer]:
    """One call for all graphs, as lists."""
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
    mates, rounds = match_lists(starts(degree), columns, left, right)
    return answers_of(np.split(mates, left[1:-1]), rounds)


def _match_large(adjacency: npt.NDArray[np.uint8]) -> Mates:
    """Match by way of lists."""
    from augury.engines.lists import count_edges, list_edges

    count, num_left, num_right = adjacency.shape
    if num_right % 8:  # lists are made eight bytes at a time
        adjacency = np.pad(adjacency, ((0, 0), (0, 0), (0, -num_right % 8)))
    rows = adjacency.reshape(count * num_left, adjacency.shape[2])
    indptr = np.zeros(len(rows) + 1, np.int64)
    count_edges(rows, indptr[1:])
    np.cumsum(indptr, out=indptr)
    indices = np.empty(int(indptr[-1]), np.int32)
    list_edges(rows.view(np.uint64), num_left, num_right, indices)
    sides = np.arange(count + 1) * num_left, np.arange(count + 1) * num_right
    mates, rounds = match_lists(indptr, indices, *sides)
    return Mates(mates.reshape(count, num_left), rounds)


TABLE = Table()
