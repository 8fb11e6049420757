"""Arrays become matchings and flows, by whichever form of the network is quickest.

An engine is a form of the same function: `plain` evaluates the network at every node in every
step, `lookup` reads its table there, `table` is a hand-written, bit-parallel loop of what the table
of a proven network says, and `cuda` and `cuda-table` are `plain` and `table` on a GPU, for many
graphs of at most 64 nodes a side. `fast` is a form of the paper's networks alone. All make the same
decisions, round for round, with the weights of `ties`: the tests compare them. `table`, `cuda` and
`cuda-table` have no judge, so they run only a network that is proven with its margins
(`require_proof`); without a network they stand for the shipped one.

Everything here takes arrays and returns arrays, and knows neither labels nor files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.batch import Batch
from augury.classical.graph import IntArray, WideArray, refuse_text, unmasked
from augury.errors import InputError

if TYPE_CHECKING:
    import scipy.sparse

    from augury.cells.network import CellNetwork

CELLS_A_THREAD = 2**20
"""Bytes of dense graphs from which on another thread pays: 0.3 to 4 milliseconds' work."""


class Matched(NamedTuple):
    """What an engine found."""

    mates: IntArray
    """(graph, left) or (left,): the column of each row, −1 for none."""
    rounds: IntArray
    """(graph,): searches that led to at least one path."""


@dataclass(frozen=True)
class Engine:
    """One form of a network."""

    what: str
    device: str
    match: Callable[[npt.NDArray[np.uint8], CellNetwork | None, int], Matched]
    """(graph, left, right) bytes, the network, the threads → mates."""
    needs_proof: bool = False
    """Whether it has no judge, and so takes arrays and runs only networks that are proven."""


def match_dense(
    adjacency: npt.ArrayLike,
    *,
    engine: str = "table",
    network: CellNetwork | None = None,
    threads: int = 1,
) -> Matched:
    """Match every graph of a batch of dense adjacency arrays.

    Args:
        adjacency: (graph, left, right), or (left, right) for one graph; an edge is what is not 0.
        engine: a name in `ENGINES`.
        network: the discrete network, by default the shipped one.
        threads: how many may share the graphs of `table`; a small batch takes fewer.

    >>> match_dense([[1, 1], [1, 0]]).mates
    array([1, 0], dtype=int32)
    """
    given = unmasked(adjacency, "adjacency")
    refuse_text(given, "the adjacency")
    if given.ndim not in (2, 3):
        raise InputError(
            f"the adjacency has {given.ndim} axes, not (graph, left, right) or (left, right)"
        )
    if threads < 1:
        raise InputError(f"the graphs are shared by at least one thread, not {threads}")
    if engine not in ENGINES:
        raise InputError(f"{engine!r} is none of the engines {', '.join(ENGINES)}")
    stacked = as_bytes(given if given.ndim == 3 else given[None])
    found = ENGINES[engine].match(stacked, network, threads)
    return found if given.ndim == 3 else Matched(found.mates[0], found.rounds)


def match_sparse(
    matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, *, network: CellNetwork | None = None
) -> Matched:
    """Match one sparse graph, rows left and columns right; every stored entry is an edge."""
    return match_union([matrix], network=network)


def match_union(
    matrices: Sequence[scipy.sparse.sparray | scipy.sparse.spmatrix],
    *,
    network: CellNetwork | None = None,
) -> Matched:
    """Match sparse graphs of any sizes; their mates follow each other, each counted in its graph.

    The answers for `matrices[k]` are as if it were alone.
    """
    rows = [matrix.tocsr() for matrix in matrices]  # type: ignore[reportAttributeAccessIssue]
    left = starts([matrix.shape[0] for matrix in rows])
    right = starts([matrix.shape[1] for matrix in rows])
    edges = starts([matrix.nnz for matrix in rows])
    if len(rows) == 1:
        indptr, indices = rows[0].indptr, rows[0].indices
    else:
        within = [matrix.indptr[1:] + edge for matrix, edge in zip(rows, edges, strict=False)]
        indptr = np.concatenate([[0], *within]).astype(np.int64)
        shifted = [matrix.indices + first for matrix, first in zip(rows, right, strict=False)]
        indices = np.concatenate([np.zeros(0, np.int64), *shifted]).astype(np.int32)
    return match_lists(indptr, indices, left, right, network=network)


def match_lists(
    indptr: npt.NDArray[Any],
    indices: npt.NDArray[Any],
    left_start: WideArray,
    right_start: WideArray,
    *,
    network: CellNetwork | None = None,
) -> Matched:
    """Match graphs that lie side by side; row r of them has `indices[indptr[r] : indptr[r + 1]]`.

    Rows and columns of graph g start at `left_start[g]` and `right_start[g]`; `indices` count from
    the first graph on, the mates returned from their batch.
    """
    require_proof(network)
    return _match_lists(indptr, indices, left_start, right_start)


def push_flows(batch: Batch, *, network: CellNetwork | None = None) -> tuple[WideArray, IntArray]:
    """Return the residual of a maximum flow of each network of the batch, and the rounds taken."""
    from augury.algorithms.subroutines import refuse_beyond_range
    from augury.engines import cpu

    refuse_beyond_range(batch.capacity, require_proof(network).bits)
    order, start = batch.by_sender
    nodes = batch.num_nodes
    arcs = cpu.Arcs(
        own(batch.sender, np.int32),
        own(batch.receiver, np.int32),
        batch.capacity.copy(),
        order,
        start,
        np.zeros(nodes, np.int64),
        np.empty(nodes, np.int32),
        np.full(nodes, -1, np.int32),
    )
    rounds = np.empty(batch.num_graphs, np.int32)
    cpu.push_flows(arcs, batch.arc_start, batch.source, batch.sink, rounds)
    return arcs.residual, rounds


def as_bytes(adjacency: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return bytes of 0 and 1, without a copy where that is what they are.

    A Boolean array may hold other bytes: `np.array([2], np.uint8).view(bool)` is True.
    """
    is_bytes = adjacency.dtype in (np.bool_, np.uint8)
    octets = np.ascontiguousarray(adjacency if is_bytes else adjacency != 0).view(np.uint8)
    return octets if octets.max(initial=0) <= 1 else (octets != 0).view(np.uint8)


def own(array: npt.NDArray[Any], dtype: type[np.integer]) -> npt.NDArray[Any]:
    """Return the array as compiled loops take it: they are compiled anew for any other form."""
    return np.require(array, dtype, ["C", "W"])


def starts(sizes: Sequence[int] | npt.NDArray[np.integer[Any]]) -> WideArray:
    """Return where each of several things begins, and the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


def require_proof(network: CellNetwork | None) -> CellNetwork:
    """Return the network, by default the shipped one, if it is proven; the proof is kept.

    Raises:
        InputError: it is not.
    """
    from augury.cells.proof import is_proven

    if network is None:
        return _proven_shipped()
    if not is_proven(network):
        raise InputError(
            "this network is not proven, so it has no compiled form; `augury verify` shows why"
        )
    return network


@cache
def _proven_shipped() -> CellNetwork:
    return require_proof(shipped_network())


@cache
def shipped_network() -> CellNetwork:
    """Load the discrete network that comes with the package."""
    from augury.models.checkpoint import find, load

    return load(find("discrete")).network


def _match_table(
    adjacency: npt.NDArray[np.uint8], network: CellNetwork | None, threads: int
) -> Matched:
    """Share the graphs among threads; small ones as words, others as lists."""
    from augury.engines import cpu

    require_proof(network)
    count, num_left, num_right = adjacency.shape
    mates, rounds = np.empty((count, num_left), np.int32), np.empty(count, np.int32)
    is_small = max(num_left, num_right) <= cpu.WORD

    def match(part: tuple[int, int]) -> None:
        some = slice(*part)
        if is_small:
            words = cpu.Words.of(num_left, num_right)
            cpu.match_words(adjacency[some], words, mates[some], rounds[some])
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
    return Matched(mates, rounds)


def _match_lists(
    indptr: npt.NDArray[Any], indices: npt.NDArray[Any], left: WideArray, right: WideArray
) -> Matched:
    from augury.engines import cpu

    edges = own(indptr, np.int64), own(indices, np.int32)
    lists = cpu.Lists.of(*edges, int(right[-1]))
    rounds = np.empty(len(left) - 1, np.int32)
    cpu.match_lists(lists, own(left, np.int64), own(right, np.int64), rounds)
    first = np.repeat(right[:-1], np.diff(left)).astype(np.int32)
    return Matched(np.where(lists.mates >= 0, lists.mates - first, -1).astype(np.int32), rounds)


def _match_large(adjacency: npt.NDArray[np.uint8]) -> Matched:
    """Match by way of lists."""
    from augury.engines import cpu

    count, num_left, num_right = adjacency.shape
    if num_right % 8:  # lists are made eight bytes at a time
        adjacency = np.pad(adjacency, ((0, 0), (0, 0), (0, -num_right % 8)))
    rows = adjacency.reshape(count * num_left, adjacency.shape[2])
    indptr = np.zeros(len(rows) + 1, np.int64)
    cpu.count_edges(rows, indptr[1:])
    np.cumsum(indptr, out=indptr)
    indices = np.empty(int(indptr[-1]), np.int32)
    cpu.list_edges(rows.view(np.uint64), num_left, num_right, indices)
    sides = np.arange(count + 1) * num_left, np.arange(count + 1) * num_right
    mates, rounds = _match_lists(indptr, indices, *sides)
    return Matched(mates.reshape(count, num_left), rounds)


def _match_evaluated(
    adjacency: npt.NDArray[np.uint8], network: CellNetwork | None, threads: int, engine: str
) -> Matched:
    """Evaluate the network at each step, in the rounds of `ford_fulkerson`."""
    from augury.algorithms.executor import CellExecutor
    from augury.classical.ford_fulkerson import Settings, ford_fulkerson
    from augury.classical.graph import BipartiteGraph
    from augury.classical.network import FlowNetwork
    from augury.engines.ties import turning_weights
    from augury.neural.isolation import one_thread

    count, num_left, num_right = adjacency.shape
    graphs = [BipartiteGraph.from_dense(edges) for edges in adjacency]
    batch = Batch.of([FlowNetwork.from_bipartite(graph) for graph in graphs])
    executor = CellExecutor(network or shipped_network(), engine=engine).subroutines()
    mates = np.full((count, num_left), -1, np.int32)
    rounds = np.zeros(count, np.int32)
    settings = Settings(many_paths=True, weights=turning_weights)
    with one_thread(engine == "fast"):
        for round_ in ford_fulkerson(batch, executor, (), settings):
            batch = round_.batch
            rounds[batch.graphs[np.unique(round_.paths.graph)]] += 1
            # An arc from left to right on a path is the new mate; later rounds overwrite it.
            arcs = round_.paths.arcs
            graph = batch.arc_graph[arcs]
            row = batch.sender[arcs] - batch.node_start[graph] - 1
            column = batch.receiver[arcs] - batch.node_start[graph] - 1 - num_left
            is_edge = (batch.capacity[arcs] > 0) & (row >= 0) & (column >= 0)
            is_edge &= (row < num_left) & (column < num_right)
            mates[batch.graphs[graph[is_edge]], row[is_edge]] = column[is_edge]
    return Matched(mates, rounds)


def _match_nothing(
    adjacency: npt.NDArray[np.uint8], network: CellNetwork | None, threads: int
) -> Matched:
    raise InputError("the engine 'fast' is a form of the paper's networks, not of a discrete one")


def _match_on_gpu(
    adjacency: npt.NDArray[np.uint8], network: CellNetwork | None, threads: int
) -> Matched:
    """Copy the graphs to the GPU, pack and match them there, and copy the mates back."""
    from augury.engines import cuda

    require_proof(network)
    mates, rounds = cuda.match_packed(cuda.pack(cuda.on_device(adjacency)))
    return Matched(mates.get(), rounds.get())


def _evaluate_on_gpu(
    adjacency: npt.NDArray[np.uint8], network: CellNetwork | None, threads: int
) -> Matched:
    """Evaluate the network on the GPU; there is no judge there, so only one that verifies may."""
    from augury.engines import cuda

    require_proof(network)
    packed = cuda.pack(cuda.on_device(adjacency), 64)
    mates, rounds = cuda.evaluate_packed(packed, network or shipped_network())
    return Matched(mates.get(), rounds.get())


ENGINES: dict[str, Engine] = {
    "plain": Engine(
        "the network, evaluated at every node in every step",
        "cpu",
        partial(_match_evaluated, engine="plain"),
    ),
    "lookup": Engine(
        "the network's table, read at every node in every step",
        "cpu",
        partial(_match_evaluated, engine="lookup"),
    ),
    "fast": Engine("the paper's networks, a search as one compiled loop", "cpu", _match_nothing),
    "table": Engine("the proven network as a loop, 64 nodes to a word", "cpu", _match_table, True),
    "cuda": Engine(
        "the network, evaluated on a GPU in every step, at most 64 nodes a side",
        "cuda",
        _evaluate_on_gpu,
        True,
    ),
    "cuda-table": Engine(
        "the proven network as a loop on a GPU, at most 64 nodes a side",
        "cuda",
        _match_on_gpu,
        True,
    ),
}
"""The engines by name."""
