"""A proven network as hand-written loops: the engine `table`.

The loops (`words`, `rounds`, `flows`) do what the table of a proven network says, without a judge.
Matchings up to 1,024 nodes a side, and larger ones with many edges, are equal to its own round for
round, with the ties of `small`; in others, and in small flows, each path is one that it takes,
given weights: see `phases` and `small_flows`. Large flows are found in another way, and only the
value and the cut are the same: see `flows`. With costs so is the cost, and up to SMALL arcs every
path and the prices: see `least_cost`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.executor import CellExecutor, refuse_beyond_range
from augury.cells.table import Table as Decisions
from augury.classical.answer import Answer, How, Progress
from augury.classical.arrays import IntArray, Numbers, WideArray, exact_sum, read_only
from augury.classical.batch import Batch, starts
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.priced import Stack
from augury.classical.sparse import undamaged
from augury.engines.engine import Engine, Mates
from augury.engines.small import (
    MOST_SIDE,
    WORD,
    has_rounds,
    is_dense,
    match_small,
    turning_weights,
)
from augury.engines.small_flows import SMALL, push_flow
from augury.errors import InputError
from augury.inputs import Graph, Graphs

if TYPE_CHECKING:
    import scipy.sparse

    from augury.cells.network import CellNetwork

CELLS_A_THREAD = 2**20
"""Bytes of dense graphs for which another thread pays off: 0.3 to 4 milliseconds' work."""


PLAIN_EDGES, PLAIN_ARCS = 1000, SMALL
"""Edges and arcs up to which plain Python takes milliseconds: loading numba takes half a second."""
TINY = 64
"""Of both, up to which it is as quick as calling compiled loops."""
SAMPLE = 2**17
"""Cells of a stack that tell about how many edges it has."""
NOTHING = np.zeros(0, np.int64)
WRITTEN = "ford-fulkerson", "assignment", "min-cost-flow"
"""The algorithms that there are loops for."""


def _is_plain(size: int, most: int, loops: str) -> bool:
    """Whether plain Python is quicker than these loops, loaded or not; both decide alike."""
    return size <= (TINY if f"augury.engines.{loops}" in sys.modules else most)


def is_proven(executor: Any) -> bool:
    """Whether its network is proven with margins, or is the table of one that is."""
    network = executor.network
    if isinstance(network, Decisions):
        return bool(network.proven)
    from augury.cells import proof

    return proof.is_proven(network, executor.digest)


def require_proof(executor: Any) -> None:
    """Raise an InputError unless its network is proven."""
    if not is_proven(executor):
        told = "this network is not proven, so it has no compiled form"
        raise InputError(f"{told}; `augury verify` shows why")


class Table(Engine):
    """Matchings and flows of any size on a CPU: the default for a proven network."""

    name = "table"
    what = "hand-written loops: as a proven network decides or, with costs, to the same cost"
    device = "cpu"
    algorithms = WRITTEN
    needs_proof = True
    takes_stacks = True
    takes_batches = True

    def replaces(self, algorithm: Algorithm, executor: Any) -> bool:
        """Whether it does what this executor would: a proven network, looked up and unobserved."""
        is_looked_up = isinstance(executor, CellExecutor) and executor.engine == "lookup"
        # The loops have no steps to show.
        is_free = is_looked_up and executor.observer is None and str(executor.device) == self.device
        return is_free and algorithm.name in WRITTEN and is_proven(executor)

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
        pushed = self._pushed(flows, executor) if flows else iter(())
        matched = self._matched(others, executor) if others else iter(())
        answers = [next(pushed if isinstance(graph, FlowNetwork) else matched) for graph in graphs]
        report(graphs, answers, how)
        return answers

    def _matched(self, graphs: Sequence[BipartiteGraph], executor: Any) -> Iterator[Answer]:
        mates, rounds = self.match_batch(graphs, executor)
        parts = _split(mates, [graph.num_left for graph in graphs])
        return map(Answer, parts, rounds.tolist())

    def _pushed(self, networks: Sequence[FlowNetwork], executor: Any) -> Iterator[Answer]:
        residual, rounds = self.push_batch(networks, executor)
        parts = _split(residual, [network.num_arcs for network in networks])
        found = (own.found(part) for own, part in zip(networks, parts, strict=True))
        return map(Answer, found, rounds.tolist())

    def match(self, adjacency: npt.NDArray[np.uint8], executor: Any, threads: int = 1) -> Mates:
        """Share the graphs among threads."""
        from augury.engines.words import Words, match_words

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

    def match_batch(self, graphs: Sequence[BipartiteGraph], executor: Any) -> Mates:
        """See `Engine`; a few small graphs in plain Python, all others in one call, as lists."""
        require_proof(executor)
        is_batch = isinstance(graphs, BipartiteBatch)
        edges = len(graphs.indices) if is_batch else sum(graph.num_edges for graph in graphs)
        if not _is_plain(edges, PLAIN_EDGES, "words"):
            batch = graphs if is_batch else BipartiteBatch.of(graphs)
            return match_lists(batch.indptr, batch.columns, batch.left, batch.right)
        found = [
            match_small(own.num_left, own.num_right, own.left.tolist(), own.right.tolist())
            for own in graphs
        ]
        mates = np.array([mate for mates, _ in found for mate in mates], np.int32)
        return Mates(mates, np.array([rounds for _, rounds in found], np.int32))

    def push_batch(
        self, networks: Sequence[FlowNetwork], executor: Any, batch: Batch | None = None
    ) -> tuple[WideArray, IntArray]:
        """See `Engine`; a few small networks in plain Python: see `small_flows`."""
        require_proof(executor)
        bits = executor.network.bits
        if _is_plain(sum(own.num_arcs for own in networks), PLAIN_ARCS, "flows"):
            for own in networks:
                refuse_beyond_range(own.capacity, bits)
            found = [push_flow(own) for own in networks]
            residual = np.concatenate([NOTHING, *(residual for residual, _ in found)])
            return residual, np.array([rounds for _, rounds in found], np.int32)
        if batch is None and len(networks) == 1:  # a single one needs no sorting
            [own] = networks
            refuse_beyond_range(own.capacity, bits)
            ends = [0, own.num_nodes], [0, own.num_arcs], [own.source], [own.sink]
            return _push(own.sender, own.receiver, own.capacity, *ends)
        return push_flows(batch or Batch.of(networks), bits)

    def assign(self, stack: Stack, executor: Any) -> tuple[WideArray, WideArray]:
        """See `Engine`; graphs that cannot be assigned in full are assigned by their edges."""
        from augury.engines.least_cost import assigned

        require_proof(executor)
        return assigned(stack.amount)

    def ties(self, graph: Graph) -> Callable[..., Any] | None:
        """See `Engine`; only rounds of matchings go by weights."""
        if not isinstance(graph, BipartiteGraph):
            return None
        sizes = graph.num_left, graph.num_right, graph.num_edges
        return turning_weights if has_rounds(*sizes) else None


def match_sparse(
    matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, *, network: CellNetwork | None = None
) -> Mates:
    """Match one sparse graph, rows left and columns right; every stored entry is an edge."""
    if network is not None:  # else the shipped one, which is proven
        require_proof(CellExecutor(network))
    rows: Any = undamaged(matrix).tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return match_lists(rows.indptr, rows.indices, *(np.array([0, size]) for size in rows.shape))


def match_lists(
    indptr: npt.NDArray[Any], indices: npt.NDArray[Any], left: WideArray, right: WideArray
) -> Mates:
    """Match graphs of any sizes that lie side by side, in one compiled call.

    Args:
        indptr: (row + 1,), where the columns of each row start in `indices`.
        indices: (edge,), the columns, counted from the first graph on; those of a row ascend and
            do not repeat.
        left: (graph + 1,), where the rows of each graph start; `left[-1]` is their number.
        right: the same for the columns.

    `mates`, (row,), counts columns from the graph's own first, and `rounds`, (graph,), the searches
    or phases that found a path. The answers are as if each graph were alone.
    """
    from augury.engines.words import Words, match_edges

    edges = read_only(indptr, np.int64), read_only(indices, np.int32)
    if len(left) == 2 and max(left[1], right[1]) > WORD:
        from augury.engines.rounds import match_one

        mates = np.empty(int(left[1]), np.int32)
        return Mates(mates, np.array([match_one(edges, int(right[1]), mates)], np.int32))
    sides = own(left, np.int64), own(right, np.int64)
    mates, rounds = np.empty(int(left[-1]), np.int32), np.empty(len(left) - 1, np.int32)
    is_small = np.maximum(np.diff(left), np.diff(right)) <= WORD
    if is_small.any():
        match_edges(edges, sides, Words.of(WORD, WORD), mates, rounds)
    if not is_small.all():
        from augury.engines.rounds import match_large

        match_large(edges, sides, np.flatnonzero(~is_small), mates, rounds)
    return Mates(mates, rounds)


def match_packed(
    start: WideArray, ends: tuple[Numbers, Numbers], counts: tuple[WideArray, WideArray]
) -> Mates:
    """Match graphs of at most 64 nodes a side, whose edges may repeat and lie in any order.

    Args:
        start: (graph + 1,), where the edges of each graph start.
        ends: (edge,), the left and the right node of each, read-only and of one type.
        counts: (graph,), the left and the right nodes of each.

    The answers are those of `match_lists`.
    """
    from augury.engines.words import Words, by_shape
    from augury.engines.words import match_packed as match

    low = starts(counts[0])
    mates, rounds = np.empty(int(low[-1]), np.int32), np.empty(len(low) - 1, np.int32)
    order = np.empty(len(rounds), np.int64)
    by_shape(counts, np.zeros((WORD + 1) ** 2 + 1, np.int64), order)
    match((start, *ends), counts, order, Words.of(WORD, WORD), (mates, rounds, low))
    return Mates(mates, rounds)


def push_flows(batch: Batch, bits: int = 63) -> tuple[WideArray, IntArray]:
    """Return the residual of a maximum flow of each flow network, and the rounds taken.

    `bits` is the width of the integers that the proven network is made for.
    """
    refuse_beyond_range(batch.capacity, bits)
    arcs = batch.sender, batch.receiver, batch.capacity
    return _push(*arcs, batch.node_start, batch.arc_start, batch.source, batch.sink)


def _push(*columns: npt.ArrayLike) -> tuple[WideArray, IntArray]:
    """See `push_flows`; columns are those of `flows.Union`."""
    from augury.engines import flows

    kinds = (np.int32, np.int32, *(np.int64,) * 5)
    union = flows.Union(*map(read_only, columns, kinds))
    arcs, graphs = len(union.sender), len(union.source)
    residual, rounds = np.empty(arcs, np.int64), np.empty(graphs, np.int32)
    # Room as if all networks were one: what none of them touches takes no memory.
    nodes = int(union.node_start[-1])
    own, ordered = flows.Network.of(nodes, arcs), flows.Network.of(nodes, arcs)
    flows.push_flows(union, own, ordered, residual, rounds)
    return residual, rounds


def own(array: npt.NDArray[Any], dtype: type[np.integer]) -> npt.NDArray[Any]:
    """Return the array as compiled loops take it: they are compiled anew for any other form."""
    return np.require(array, dtype, ["C", "W"])


def report(graphs: Graphs, answers: Sequence[Answer], how: How) -> None:
    """Tell a run's progress, all of it at once: no round of these runs in Python."""
    if how.progress is None:
        return
    size = sum(_size(graph, own.found) for graph, own in zip(graphs, answers, strict=True))
    rounds = max((answer.neural_rounds for answer in answers), default=0)
    how.progress(Progress(len(answers), rounds, size, "certifying"))


def _size(graph: Graph, found: Numbers) -> int:
    if isinstance(graph, BipartiteGraph):
        return int(np.count_nonzero(found >= 0))
    if isinstance(graph, FlowNetwork):
        return exact_sum(found[graph.sender == graph.source])
    if graph.supply is not None:
        return exact_sum(np.maximum(graph.supply, 0))
    return exact_sum(found[graph.tail == graph.source]) - exact_sum(
        found[graph.head == graph.source]
    )


def _split(values: npt.NDArray[Any], counts: Sequence[int]) -> list[npt.NDArray[Any]]:
    """Return each graph's own values."""
    return [values] if len(counts) == 1 else np.split(values, np.cumsum(counts)[:-1])


def _match_large(adjacency: npt.NDArray[np.uint8]) -> Mates:
    """Match as words where there are many edges, as lists otherwise."""
    count, num_left, num_right = adjacency.shape
    is_large = max(num_left, num_right) > MOST_SIDE
    if is_large and count > 1:  # each goes by its own edges
        parts = [_match_large(own[None]) for own in adjacency]
        return Mates(*map(np.concatenate, zip(*parts, strict=True)))
    # All cells count where the answer depends on it, else some rows are enough.
    rows = adjacency.reshape(count * num_left, num_right).view(np.bool_)
    some = rows if is_large else rows[:: max(1, rows.size // SAMPLE)]
    if not is_dense(len(some), num_right, int(np.count_nonzero(some))):
        return _match_listed(adjacency)
    from augury.engines.round_forms import Packed, State
    from augury.engines.rounds import match_packed

    mates, rounds = np.empty((count, num_left), np.int32), np.empty(count, np.int32)
    match_packed(adjacency, Packed.of(num_left, num_right), State.of(num_right), mates, rounds)
    return Mates(mates, rounds)


def _match_listed(adjacency: npt.NDArray[np.uint8]) -> Mates:
    from augury.engines.lists import count_edges, list_edges

    count, num_left, num_right = adjacency.shape
    if num_right % 8:  # eight bytes are read at a time
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
