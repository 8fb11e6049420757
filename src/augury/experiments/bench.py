"""Dense arrays become matchings and seconds: our engines and their peers, one run, the same inputs.

Every contestant gets the same (graph, left, right) Boolean array and returns the size of each
graph's matching: whatever it has to build of its own is part of its time. Sizes are compared, and
where a contestant names the pairs, they are checked. Seconds are CPU seconds of the process, the
least of several repetitions; a contestant that is slow is given fewer of the graphs. Records are
plain dictionaries; ratios are to SciPy's one block-diagonal call, the quickest peer.
"""

from __future__ import annotations

import os
import platform
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.classical.graph import InputError
from augury.neural.engines import match_dense, match_sparse

Adjacency = npt.NDArray[np.bool_]
Sizes = npt.NDArray[np.int64]
Record = dict[str, Any]

REFERENCE = "SciPy, block diagonal"
DENSITIES: dict[str, Callable[[int], float]] = {"1/4": lambda n: 0.25, "3/n": lambda n: 3 / n}
"""Probabilities of an edge, by the nodes a side."""


@dataclass(frozen=True)
class Contestant:
    """One way to find the sizes of maximum matchings."""

    sizes: Callable[[Adjacency], Sizes]
    kind: str
    """network, table or peer: who decides, step by step."""
    needs: str = ""
    """The package that it cannot do without, where that is optional."""
    threads: int = 1

    @property
    def is_here(self) -> bool:
        """Whether it can run on this machine."""
        return not self.needs or find_spec(self.needs) is not None


def scipy_blocks(adjacency: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """(graph, left, right) → (graph, left) mates or −1, by one call on a block-diagonal matrix."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    count, num_left, num_right = adjacency.shape
    graph, row, column = np.nonzero(adjacency)
    degree = np.bincount(graph * num_left + row, minlength=count * num_left)
    indptr = np.concatenate([[0], np.cumsum(degree)]).astype(np.int32)
    indices = (graph * num_right + column).astype(np.int32)
    shape = (count * num_left, count * num_right)
    matrix = csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=shape)
    mates = maximum_bipartite_matching(matrix, perm_type="column").reshape(count, num_left)
    return np.where(mates >= 0, mates - np.arange(count)[:, None] * num_right, -1)


def _scipy_one_by_one(adjacency: Adjacency) -> Sizes:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    found = [maximum_bipartite_matching(csr_array(edges)) for edges in adjacency]
    return np.array([(mates >= 0).sum() for mates in found])


def _flow_arcs(edges: Adjacency) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Tails and heads of the unit network: source 0, then rows, then columns, then the sink."""
    num_left, num_right = edges.shape
    row, column = np.nonzero(edges)
    rows, columns = 1 + np.arange(num_left), 1 + num_left + np.arange(num_right)
    tail = np.concatenate([np.zeros(num_left), 1 + row, columns])
    head = np.concatenate([rows, 1 + num_left + column, np.full(num_right, columns[-1] + 1)])
    return tail.astype(np.int32), head.astype(np.int32)


def _scipy_flow(adjacency: Adjacency) -> Sizes:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    sizes = []
    for edges in adjacency:
        tail, head = _flow_arcs(edges)
        sink = int(head[-1])
        ones = np.ones(len(tail), np.int32)
        matrix = csr_array((ones, (tail, head)), shape=(sink + 1, sink + 1))
        sizes.append(maximum_flow(matrix, 0, sink).flow_value)
    return np.array(sizes)


def _networkx_matching(adjacency: Adjacency) -> Sizes:
    import networkx as nx

    sizes = []
    for edges in adjacency:
        graph = nx.Graph()
        rows, first = range(len(edges)), len(edges)
        graph.add_nodes_from(range(sum(edges.shape)))
        row, column = np.nonzero(edges)
        graph.add_edges_from(zip(row.tolist(), (column + first).tolist(), strict=True))
        sizes.append(len(nx.bipartite.hopcroft_karp_matching(graph, rows)) // 2)
    return np.array(sizes)


def _networkx_flow(adjacency: Adjacency) -> Sizes:
    import networkx as nx

    sizes = []
    for edges in adjacency:
        tail, head = _flow_arcs(edges)
        graph = nx.DiGraph()
        graph.add_edges_from(zip(tail.tolist(), head.tolist(), strict=True), capacity=1)
        sizes.append(nx.maximum_flow_value(graph, 0, int(head[-1])))
    return np.array(sizes)


def _igraph(adjacency: Adjacency) -> Sizes:
    import igraph

    sizes = []
    for edges in adjacency:
        num_left, num_right = edges.shape
        row, column = np.nonzero(edges)
        pairs = np.stack([row, column + num_left], axis=1).tolist()
        graph = igraph.Graph(num_left + num_right, pairs)
        sides = [False] * num_left + [True] * num_right
        sizes.append(len(graph.maximum_bipartite_matching(sides)))
    return np.array(sizes)


def _ortools(adjacency: Adjacency) -> Sizes:
    from ortools.graph.python import max_flow

    sizes = []
    for edges in adjacency:
        tail, head = _flow_arcs(edges)
        solver = max_flow.SimpleMaxFlow()
        arcs: Any = tail, head, np.ones(len(tail), np.int64)  # its hints take shapes for types
        solver.add_arcs_with_capacity(*arcs)
        solver.solve(0, int(head[-1]))
        sizes.append(solver.optimal_flow())
    return np.array(sizes)


def _engine(name: str, threads: int = 1) -> Callable[[Adjacency], Sizes]:
    def sizes(adjacency: Adjacency) -> Sizes:
        mates = match_dense(adjacency, engine=name, threads=threads).mates
        return (mates >= 0).sum(-1)

    return sizes


CONTESTANTS: dict[str, Contestant] = {
    "table": Contestant(_engine("table"), "table"),
    "table, 2 threads": Contestant(_engine("table", 2), "table", threads=2),
    "fast": Contestant(_engine("fast"), "network"),
    "plain": Contestant(_engine("plain"), "network"),
    REFERENCE: Contestant(lambda adjacency: (scipy_blocks(adjacency) >= 0).sum(-1), "peer"),
    "SciPy, one by one": Contestant(_scipy_one_by_one, "peer"),
    "SciPy maximum_flow": Contestant(_scipy_flow, "peer"),
    "igraph": Contestant(_igraph, "peer", "igraph"),
    "OR-Tools maximum flow": Contestant(_ortools, "peer", "ortools"),
    "NetworkX hopcroft_karp": Contestant(_networkx_matching, "peer"),
    "NetworkX maximum_flow": Contestant(_networkx_flow, "peer"),
}
"""Our engines and their peers, by name."""


def machine() -> dict[str, Any]:
    """Return what a figure has to be read with."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if "model name" in line]
        name = names[0] if names else name
    except OSError:
        pass
    return {"cpu": name, "cores": os.cpu_count(), "python": platform.python_version()}


def seconds_of(work: Callable[[], Any], *, wall: bool = False, least: float = 0.2) -> float:
    """Return the least seconds of a call, repeated for `least` seconds but at least 3 times."""
    clock = time.perf_counter if wall else time.process_time
    best, spent, count = float("inf"), 0.0, 0
    while count < 3 or spent < least:
        start = clock()
        work()
        taken = clock() - start
        best, spent, count = min(best, taken), spent + taken, count + 1
    return best


def check_matching(
    adjacency: npt.NDArray[Any], mates: npt.NDArray[Any], others: npt.NDArray[Any]
) -> None:
    """Raise an InputError unless every pair is an edge, no column has two, and sizes are equal."""
    graph, row = np.nonzero(mates >= 0)
    column = mates[graph, row]
    pairs = graph * adjacency.shape[2] + column
    if not adjacency[graph, row, column].all() or len(np.unique(pairs)) != len(pairs):
        raise InputError("an engine returned a matching that is none")
    if not np.array_equal((mates >= 0).sum(-1), (others >= 0).sum(-1)):
        raise InputError("an engine returned a matching of another size than SciPy's")


def measure_batches(
    sides: Sequence[int] = (8, 16, 32, 64, 256, 1024),
    batch: int = 256,
    names: Sequence[str] = tuple(CONTESTANTS),
    seconds: float = 2.0,
) -> Iterator[Record]:
    """Yield a record for each size, density and contestant.

    Args:
        sides: nodes a side.
        batch: graphs of at most 64 a side; of larger ones as many as have the same cells.
        names: who takes part; the reference always does.
        seconds: about how long one call of a contestant may take before it gets fewer graphs.
    """
    rng = np.random.default_rng(0)
    for n in sides:
        count = max(2, min(batch, batch * 64 * 64 // (n * n)))
        for density, probability in DENSITIES.items():
            adjacency = rng.random((count, n, n)) < probability(n)
            mates = match_dense(adjacency).mates
            check_matching(adjacency, mates, scipy_blocks(adjacency))
            truth = (mates >= 0).sum(-1)
            peer = CONTESTANTS[REFERENCE]
            reference = _measured(peer, adjacency, truth, seconds)["per_second"]
            for name in names:
                contestant = CONTESTANTS[name]
                if contestant.is_here:
                    measured = _measured(contestant, adjacency, truth, seconds)
                    told = {"n": n, "density": density, "batch": count, "name": name}
                    yield told | measured | {"ratio": measured["per_second"] / reference}


def _measured(contestant: Contestant, adjacency: Adjacency, truth: Sizes, seconds: float) -> Record:
    """Time one contestant on as many of the graphs as it can take, and check its answers."""
    contestant.sizes(adjacency[:1])  # the first call imports and compiles
    count = 1
    while True:
        some = adjacency[:count]
        start = time.process_time()
        found = contestant.sizes(some)
        taken = time.process_time() - start
        if not np.array_equal(found, truth[:count]):
            raise InputError("a contestant found a matching of another size")
        if count == len(adjacency) or 4 * taken > seconds:
            break
        count = min(4 * count, len(adjacency))
    # Threads share their seconds of CPU, so only the clock on the wall shows what they save.
    is_wall = contestant.threads > 1
    taken = seconds_of(lambda: contestant.sizes(some), wall=is_wall, least=seconds / 10)
    return {
        "kind": contestant.kind,
        "threads": contestant.threads,
        "graphs": count,
        "seconds": taken,
        "per_second": count / taken,
    }


def measure_growth(
    edges: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000), degree: int = 10
) -> Iterator[Record]:
    """Yield seconds and bytes of the table engine on one sparse graph, beside SciPy's seconds."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    rng = np.random.default_rng(0)
    for count in edges:
        n = max(count // degree, 1)
        ends = rng.integers(0, n, (2, count))
        matrix = csr_array((np.ones(count, np.int8), (ends[0], ends[1])), shape=(n, n))
        matrix.sum_duplicates()
        found = match_sparse(matrix)
        theirs = maximum_bipartite_matching(matrix, perm_type="column")
        if (found.mates >= 0).sum() != (theirs >= 0).sum():
            raise InputError("an engine returned a matching of another size than SciPy's")
        tracemalloc.start()
        match_sparse(matrix)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        ours = seconds_of(lambda m=matrix: match_sparse(m))
        peer = seconds_of(lambda m=matrix: maximum_bipartite_matching(m, perm_type="column"))
        yield {
            "edges": matrix.nnz,
            "n": n,
            "rounds": int(found.rounds[0]),
            "seconds": ours,
            "scipy_seconds": peer,
            "ratio": peer / ours,
            "bytes": peak,
        }
