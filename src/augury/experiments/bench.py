"""Dense arrays become matchings and seconds: our engines and their peers, one run, the same inputs.

Every contestant gets the same (graph, left, right) Boolean array and returns the size of each
graph's matching; converting the array counts as part of its time. Sizes are compared, and where a
contestant names the pairs, they are checked. Seconds are CPU seconds of the process, the least of
several repetitions, on one thread; a slow contestant gets fewer of the graphs. Records are plain
dictionaries; ratios are to SciPy's one block-diagonal call, the fastest peer. `growth` measures how
time and memory grow with one graph.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

import augury
from augury.engines import match_dense
from augury.errors import InputError
from augury.experiments import peers
from augury.experiments.peers import Arcs, Edges, Problem
from augury.experiments.tasks import processor
from augury.processes import use_one_thread
from augury.provenance import commit
from augury.solution import Solutions
from augury.solver import solve_batch

Adjacency = npt.NDArray[np.bool_]
Sizes = npt.NDArray[np.int64]
Record = dict[str, Any]

REFERENCE = "SciPy, block diagonal"
DENSITIES: dict[str, Callable[[int], float]] = {"1/4": lambda n: 0.25, "3/n": lambda n: 3 / n}
"""Edge probabilities, as functions of the nodes a side."""


@dataclass(frozen=True)
class Contestant:
    """One way to find the sizes of maximum matchings."""

    sizes: Callable[[Adjacency], Sizes]
    kind: str
    """network, table or peer: what decides each step."""
    needs: str = ""
    """The optional package that it needs."""

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


def one_by_one(size_of: Callable[[Adjacency], int]) -> Callable[[Adjacency], Sizes]:
    """Return a function that calls a peer for each graph of a batch."""
    return lambda adjacency: np.array([size_of(edges) for edges in adjacency])


def _scipy_matching(edges: Adjacency) -> int:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return int((maximum_bipartite_matching(csr_array(edges)) >= 0).sum())


def _edges(adjacency: Adjacency) -> Edges:
    return Edges(*adjacency.shape, *np.nonzero(adjacency))


def _matched(hand: Callable[[Edges], Problem]) -> Callable[[Adjacency], Sizes]:
    """Return a function that hands a matching solver each graph of a batch, and asks for sizes."""
    return one_by_one(lambda adjacency: hand(_edges(adjacency)).solved())


def _flowing(hand: Callable[[Arcs], Problem]) -> Callable[[Adjacency], Sizes]:
    """The same for a solver of flows, on unit networks."""
    return one_by_one(lambda adjacency: hand(_edges(adjacency).as_arcs()).solved())


def _engine(name: str) -> Callable[[Adjacency], Sizes]:
    return lambda adjacency: (match_dense(adjacency, engine=name).mates >= 0).sum(-1)


def _certified(adjacency: Adjacency) -> Sizes:
    found = solve_batch(adjacency, engine="table")
    assert isinstance(found, Solutions) and found.is_maximum
    return found.sizes


CONTESTANTS: dict[str, Contestant] = {
    "table": Contestant(_engine("table"), "table"),
    "table, certified": Contestant(_certified, "table"),
    "lookup": Contestant(_engine("lookup"), "network"),
    "plain": Contestant(_engine("plain"), "network"),
    REFERENCE: Contestant(lambda adjacency: (scipy_blocks(adjacency) >= 0).sum(-1), "peer"),
    "SciPy, one by one": Contestant(one_by_one(_scipy_matching), "peer"),
    "SciPy maximum_flow": Contestant(_flowing(peers.scipy_flow), "peer"),
    "igraph": Contestant(_matched(peers.igraph_matching), "peer", "igraph"),
    "OR-Tools maximum flow": Contestant(_flowing(peers.ortools_flow), "peer", "ortools"),
    "NetworkX hopcroft_karp": Contestant(_matched(peers.networkx_matching), "peer"),
    "NetworkX maximum_flow": Contestant(_flowing(peers.networkx_flow), "peer"),
}
"""Our engines and their peers, by name."""


def machine() -> dict[str, Any]:
    """Describe the machine and the version that the figures belong to."""
    told = {"cpu": processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    return told | {"version": augury.__version__, "commit": commit()}


def seconds_of(work: Callable[[], Any], *, wall: bool = False, least: float = 0.2) -> float:
    """Return the least seconds of a call, repeated for `least` seconds but at least 3 times."""
    clock = time.perf_counter if wall else time.process_time
    best, spent, count = float("inf"), 0.0, 0
    while count < 3 or spent < least:
        start = clock()
        work()
        taken = clock() - start
        best, spent, count = min(best, taken), spent + taken, count + 1
    return best or spent / count  # where the clock ticks slowly, a short call may seem to take 0


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
        batch: graphs of up to 64 a side; of larger ones, as many as have the same number of cells.
        names: who takes part; the reference always does.
        seconds: about how long one call of a contestant may take before it gets fewer graphs.
    """
    use_one_thread()  # like all contestants: only then can CPU seconds be compared
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
    """Time one contestant on as many of the graphs as time allows, and check its answers."""
    contestant.sizes(adjacency[:1])  # the first call imports and compiles
    count, before, last = 1, 0, 0.0
    while True:
        some = adjacency[:count]
        start = time.process_time()
        found = contestant.sizes(some)
        taken = time.process_time() - start
        if not np.array_equal(found, truth[:count]):
            raise InputError("a contestant found a matching of another size")
        # A fixed cost per call must not keep a contestant from larger batches.
        each = (taken - last) / (count - before) if before else 0.0
        if count == len(adjacency) or taken + 3 * count * each > seconds:
            break
        before, last, count = count, taken, min(4 * count, len(adjacency))
    taken = seconds_of(lambda: contestant.sizes(some), least=seconds / 10)
    told = {"kind": contestant.kind, "threads": 1, "graphs": count}
    return told | {"seconds": taken, "per_second": count / taken}


def measure_threads(
    sides: Sequence[int] = (8, 16, 32, 64), cells: int = 2**25, threads: int = 2
) -> Iterator[Record]:
    """Yield what threads gain for the table engine: wall seconds, and CPU seconds of all threads.

    `cells` is the size of the dense arrays: a batch so large that starting threads costs nothing.
    """
    rng = np.random.default_rng(0)
    for n in sides:
        count = max(2, cells // (n * n))
        for density, probability in DENSITIES.items():
            adjacency = rng.random((count, n, n), np.float32) < probability(n)
            record: Record = {"n": n, "density": density, "batch": count, "threads": threads}
            expected = match_dense(adjacency).mates
            if not np.array_equal(match_dense(adjacency, threads=threads).mates, expected):
                raise InputError("threads changed an answer")
            record |= _shared(
                lambda a=adjacency: match_dense(a),
                lambda a=adjacency: match_dense(a, threads=threads),
            )
            record["per_second"] = count / record["wall_many"]
            yield record


def measure_ceilings(threads: int = 2) -> Iterator[Record]:
    """Yield what threads gain for work that shares only the machine: no engine can gain more.

    "arithmetic" stays in a core's own cache; "reading" only reads memory.
    """
    block, words = bytes(2**16), np.ones(2**23, np.uint64)
    pieces = np.array_split(words, threads)

    def hashed(count: int) -> None:
        for _ in range(count):
            hashlib.sha256(block)  # releases the GIL, as reading does

    with ThreadPoolExecutor(threads) as pool:
        ways: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "arithmetic": (
                lambda: hashed(120 * threads),
                lambda: list(pool.map(hashed, [120] * threads)),
            ),
            "reading": (words.sum, lambda: list(pool.map(np.sum, pieces))),
        }
        for name, (one, many) in ways.items():
            yield {"name": name, "threads": threads} | _shared(one, many)


def _shared(
    one: Callable[[], Any], many: Callable[[], Any], least: float = 1.0, times: int = 3
) -> Record:
    """Time the same work in one thread and in many, in turn; return the least seconds of each."""
    found: Record = dict.fromkeys(("wall_one", "cpu_one", "wall_many", "cpu_many"), float("inf"))
    spent, count = 0.0, 0
    while count < times or spent < least:
        for name, work in (("one", one), ("many", many)):
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
            spent += took["wall"]
            for clock, seconds in took.items():
                found[f"{clock}_{name}"] = min(found[f"{clock}_{name}"], seconds or took["wall"])
        count += 1
    return found | {"speedup": found["wall_one"] / found["wall_many"]}
