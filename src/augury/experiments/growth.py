"""One sparse graph with more and more edges becomes seconds and bytes: our engines and SciPy.

All start from the same CSR matrix. Each measurement has a process of its own, where the code is
first compiled and run on a small graph. So no contestant's peak memory includes another's, and
bytes are what a call adds to the graph and the imports.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csgraph, csr_array

from augury.classical.answer import How
from augury.classical.graph import BipartiteGraph
from augury.engines import match_sparse
from augury.errors import InputError
from augury.experiments.bench import seconds_of
from augury.processes import Pool
from augury.solver import runner_of, solve

Record = dict[str, Any]

DEGREE = 10
"""Edges per left node."""

SMALL = 1_000
"""Edges of the graph that everything is first compiled and run on."""

QUICK = 1.0
"""A call that takes fewer seconds is repeated."""


def _certified(matrix: Any) -> int:
    solution = solve(matrix, engine="table")
    assert solution.is_maximum
    return solution.size


def _looked_up(matrix: Any) -> int:
    [answer] = runner_of(engine="lookup").answers([BipartiteGraph.from_scipy(matrix)], How())
    return _num_matched(answer.found)


def _num_matched(mates: Any) -> int:
    return int((mates >= 0).sum())


REFERENCE = "SciPy"
CONTESTANTS: dict[str, Callable[[Any], int]] = {
    "table": lambda matrix: _num_matched(match_sparse(matrix).mates),
    "solve, table": _certified,
    "lookup": _looked_up,
    REFERENCE: lambda matrix: _num_matched(csgraph.maximum_bipartite_matching(matrix, "column")),
}
"""The hand-written loops, the same with labels and certificate, the network's table looked up, and
SciPy."""


def measure_growth(
    edges: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000),
    names: Sequence[str] = tuple(CONTESTANTS),
) -> Iterator[Record]:
    """Yield a record for each number of edges and each contestant; the reference always runs."""
    for count in edges:
        reference = _in_fresh_process((REFERENCE, count))
        for name in names:
            found = reference if name == REFERENCE else _in_fresh_process((name, count))
            if found["size"] != reference["size"]:
                raise InputError("an engine returned a matching of another size than SciPy's")
            yield found | {"ratio": reference["seconds"] / found["seconds"]}


def _in_fresh_process(task: tuple[str, int]) -> Record:
    with closing(Pool(measure, 1)) as pool:
        return pool.submit(task).result()


def measure(task: tuple[str, int]) -> Record:
    """Time a contestant on a graph of this many edges, in this process, and measure its memory."""
    name, edges = task
    work = CONTESTANTS[name]
    work(_matrix(SMALL))
    matrix = _matrix(edges)
    before = _restart_peak()
    start = time.process_time()
    size = work(matrix)
    taken = time.process_time() - start
    peak = _peak()
    if taken < QUICK:
        taken = seconds_of(lambda: work(matrix))
    told = {"name": name, "edges": matrix.nnz, "n": matrix.shape[0], "size": size}
    return told | {"seconds": taken, "bytes": max(peak - before, 0), "peak_bytes": peak}


def _matrix(edges: int) -> Any:
    n = max(edges // DEGREE, 1)
    row, column = np.random.default_rng(edges).integers(0, n, (2, edges))
    matrix = csr_array((np.ones(edges, np.int8), (row, column)), shape=(n, n))
    matrix.sum_duplicates()
    matrix.data[:] = 1  # not the number of times an edge was drawn
    return matrix


def _restart_peak() -> int:
    """Reset the peak memory, where Linux allows it; return what is in use now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _peak() -> int:
    """Return the peak memory of this process in bytes since it was last reset."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
