"""Record, read, certify and solve with the classical part; print seconds and ratios to peers.

    python benchmarks/classical.py [--edges 1000000]

Everything is measured in this run, on one thread. What is only reported of the authors' published
code, and was not measured here, is marked as such.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import augury
from augury.classical.certificate import certify_pairs
from augury.classical.formats import read_graph, write_graph
from augury.classical.generate import uniform
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.trace import record

AUTHORS_RECORDING = 65.0
"""Seconds the authors' code takes to make the paper's training set, as reported; not run here."""

ENDINGS = ("csv", "tsv", "mtx", "max", "npz", "json", "csv.gz")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and what it returned."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def row(what: str, seconds: float, beside: str = "") -> None:
    """Print one line of the table."""
    print(f"{what:44} {seconds:9.2f}  {beside}".rstrip(), flush=True)


def measure_recording() -> None:
    """Trace the paper's training set: 300 graphs of 8 + 8 nodes."""
    rng = np.random.default_rng(0)
    networks = [FlowNetwork.from_bipartite(uniform(rng, 8, p=0.25)) for _ in range(300)]
    seconds, traces = timed(lambda: record(networks, rng))
    rounds = sum(len(trace.rounds) for trace in traces)
    beside = f"authors {AUTHORS_RECORDING:.0f} as reported, {AUTHORS_RECORDING / seconds:.0f} times"
    row(f"record 300 graphs, {rounds:,} rounds", seconds, beside)


def measure_reading(graph: BipartiteGraph, folder: Path) -> None:
    """Write and read the graph in every format; DIMACS holds networks, so there it is one."""
    network = FlowNetwork.from_bipartite(graph)
    for ending in ENDINGS:
        path = folder / f"graph.{ending}"
        what = network if ending == "max" else graph
        writing, _ = timed(lambda path=path, what=what: write_graph(what, path))
        reading, back = timed(lambda path=path: read_graph(str(path)))
        found = back.num_edges if isinstance(back, BipartiteGraph) else back.num_arcs // 2
        size = path.stat().st_size / 1e6
        row(f"read .{ending}, {found:,} pairs", reading, f"write {writing:.2f}, {size:.1f} MB")


def measure_solving(graph: BipartiteGraph) -> None:
    """Solve and certify; SciPy solves the same graph without a certificate."""
    seconds, solution = timed(lambda: augury.solve(graph, model="classical"))
    pairs = np.asarray(solution.matching)
    ones = np.ones(graph.num_edges, np.int8)
    shape = (graph.num_left, graph.num_right)
    matrix = csr_array((ones, (graph.left, graph.right)), shape=shape)
    peer, matched = timed(lambda: maximum_bipartite_matching(matrix, perm_type="column"))
    assert len(pairs) == int((matched >= 0).sum()) and solution.is_maximum
    beside = f"SciPy {peer:.2f} without a certificate, {seconds / peer:.1f} times as long"
    row(f"solve and certify, matching of {len(pairs):,}", seconds, beside)
    certifying, certificate = timed(lambda: certify_pairs(graph, pairs))
    assert certificate.is_maximum
    row("certify alone", certifying, f"{certifying / seconds:.0%} of solving")


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=1_000_000, help="edges of the large graph")
    options = parser.parse_args()
    print(f"{'CPU seconds, one thread':44} {'here':>9}")
    measure_recording()
    side = options.edges // 5
    graph = uniform(np.random.default_rng(0), side, p=5 / side)
    print(f"a graph of {side:,} + {side:,} nodes and {graph.num_edges:,} edges:")
    with tempfile.TemporaryDirectory() as folder:
        measure_reading(graph, Path(folder))
    measure_solving(graph)


if __name__ == "__main__":
    main()
