"""Compare `solve` with the loops that it runs; print CPU time, least of several, and the ratio.

    python benchmarks/overhead.py [--edges 1000000] [--runs 5] [--out FILE]

A kernel is the compiled loops on arrays that are laid out for them. All else is overhead: finding
the executor, laying out, checking, and proving the answer. The graph is built beforehand, except
in the lines that say so. Small graphs have no line for a kernel: there the call as a whole counts,
beside SciPy's on a matrix that it holds. Then commands, from start to end, and files that are read.
`--out` writes what docs/performance.md is made from: see tables.py; one file for each run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import maximum_bipartite_matching, maximum_flow

from augury import solve
from augury.classical.batch import Batch
from augury.classical.formats import read_graph
from augury.classical.generate import flow, sparse
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.engines.table import match_sparse, push_flows
from augury.experiments.bench import machine
from augury.inputs import as_graph

EXAMPLES = Path(__file__).parents[1] / "examples"
Rng = np.random.Generator
Row = dict[str, Any]


def least(runs: int, *works: Callable[[], Any], repeats: int = 1) -> list[float]:
    """Return the least CPU milliseconds of each call, in turns, not counting the first."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(1 + runs):
        for work, own in zip(works, taken, strict=True):
            start = time.process_time()
            for _ in range(repeats):
                work()
            own.append(1000 * (time.process_time() - start) / repeats)
    return [min(own[1:]) for own in taken]


def small(rng: Rng) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return graphs of ten nodes in several forms, with the options of `solve`."""
    is_edge = rng.random((5, 5)) < 0.5
    ends = rng.integers(0, 5, (10, 2)).tolist()
    arcs = [(u, v, c) for u, v, c in rng.integers(1, 10, (20, 3)).tolist() if u != v]
    return {
        "BipartiteGraph, 5 + 5": (BipartiteGraph.from_dense(is_edge), {}),
        "FlowNetwork of 10": (FlowNetwork.from_labelled_arcs(arcs, 1, 9), {}),
        "array 5 x 5": (is_edge, {}),
        "ten pairs": ([(u, v) for u, v in ends], {}),
        "ten labelled pairs": ([(f"a{u}", f"b{v}") for u, v in ends], {}),
        "twenty arcs": (arcs, {"source": 1, "sink": 9}),
    }


def grid(edges: int) -> BipartiteGraph:
    """Return a square grid, its nodes coloured like a chessboard."""
    side = int((edges / 2) ** 0.5) // 2 * 2
    number = np.arange(side * side).reshape(side, side)
    u = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    v = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    is_left = (u // side + u % side) % 2 == 0
    left, right = np.where(is_left, u, v) // 2, np.where(is_left, v, u) // 2
    return BipartiteGraph(side * side // 2, side * side // 2, left, right)


def transport(rng: Rng, suppliers: int, customers: int, choices: int) -> FlowNetwork:
    """Return suppliers that each reach some customers; demands may exceed supplies."""
    source, sink, nodes = 0, 1 + suppliers + customers, 2 + suppliers + customers
    near = np.repeat(np.arange(suppliers), choices)
    far = rng.integers(0, customers, suppliers * choices)
    tail = [np.zeros(suppliers, int), 1 + near, 1 + suppliers + np.arange(customers)]
    head = [1 + np.arange(suppliers), 1 + suppliers + far, np.full(customers, sink)]
    room = [
        rng.integers(50, 100, suppliers),
        rng.integers(1, 20, suppliers * choices),
        rng.integers(1, 60, customers),
    ]
    columns = (np.concatenate(column) for column in (tail, head, room))
    return FlowNetwork.from_arcs(nodes, *columns, source=source, sink=sink)


def segmentation(rng: Rng, arcs: int) -> FlowNetwork:
    """Return a picture's grid: each pixel is tied to source or sink and to its neighbours."""
    side = int((arcs / 3) ** 0.5)
    number = np.arange(side * side).reshape(side, side)
    u = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    v = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    smooth = rng.integers(1, 20, len(u))
    source, sink = side * side, side * side + 1
    bright = rng.random((side, side)) + (
        np.hypot(*(np.indices((side, side)) - side / 2)) < side / 3
    )
    lit = bright.ravel() > 1
    amount = rng.integers(1, 60, side * side)
    tail = np.concatenate([u, v, np.where(lit, source, number.ravel())])
    head = np.concatenate([v, u, np.where(lit, number.ravel(), sink)])
    room = np.concatenate([smooth, smooth, amount])
    return FlowNetwork.from_arcs(sink + 1, tail, head, room, source=source, sink=sink)


def small_rows(runs: int) -> Iterator[Row]:
    """Yield the milliseconds of `solve` on small graphs, and of SciPy on the same."""
    for name, (graph, ends) in small(np.random.default_rng(0)).items():
        own: Any = as_graph(graph, ends.get("source"), ends.get("sink"))
        matrix = own.to_scipy().astype(np.int32)

        def peer(m: Any = matrix, n: Any = own) -> Any:
            if isinstance(n, FlowNetwork):
                return maximum_flow(m, n.source, n.sink)
            return maximum_bipartite_matching(m)

        whole, scipy = least(runs, lambda g=graph, e=ends: solve(g, **e), peer, repeats=200)
        yield {"input": name, "solve": whole, "SciPy": scipy}


def large_rows(runs: int, edges: int) -> Iterator[Row]:
    """Yield the milliseconds of `solve` on large graphs, and of its kernel."""
    rng = np.random.default_rng(0)
    makers: dict[str, Callable[[], Any]] = {
        "matching, random 3/n": lambda: sparse(rng, edges // 3),
        "matching, grid": lambda: grid(edges),
        "flow, transport": lambda: transport(rng, 500, 500, edges // 8333),
        "flow, random": lambda: flow(rng, edges // 10, edges, high=100),
        "flow, segmentation": lambda: segmentation(rng, edges),
    }
    for name, make in makers.items():
        graph = make()
        works: list[Callable[[], Any]] = [lambda g=graph: solve(g)]
        if isinstance(graph, FlowNetwork):
            batch, size = Batch.of([graph]), graph.num_arcs // 2
            works.append(lambda b=batch: push_flows(b))
        else:
            matrix, size = graph.to_scipy(), graph.num_edges
            works += [lambda m=matrix: match_sparse(m), lambda m=matrix: solve(m)]
        whole, kernel, *built = least(runs, *works)
        row = {"input": name, "arcs": size, "solve": whole, "kernel": kernel}
        yield row | ({"from CSR": built[0]} if built else {})


def file_rows(runs: int, edges: int) -> Iterator[Row]:
    """Yield the seconds of reading long edge lists."""
    ends = np.random.default_rng(0).integers(0, edges // 3, (edges, 2)).tolist()
    texts = {
        "integers": "".join(f"{u},{v}\n" for u, v in ends),
        "text": "".join(f"a{u},b{v}\n" for u, v in ends),
        "text and costs": "a,b,cost\n" + "".join(f"a{u},b{v},{u % 99}\n" for u, v in ends),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder) / "edges.csv"
            path.write_text(text)
            [taken] = least(min(runs, 2), lambda p=path: read_graph(p))
            yield {"file": name, "seconds": taken / 1000}


COMMANDS = {
    "augury --help": ["--help"],
    **{
        f"augury solve examples/{name}": ["solve", str(EXAMPLES / name)]
        for name in ("jobs.csv", "hours.csv", "pipes.max", "trucks.min")
    },
}


def command_rows(runs: int) -> Iterator[Row]:
    """Yield the CPU seconds of whole commands, each in a process of its own.

    Python caches its bytecode, as in an installation, even if told not to here.
    """
    env = {key: own for key, own in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    for name, words in COMMANDS.items():
        taken: list[float] = []
        for _ in range(1 + runs):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            code = "from augury.apps.cli import main; main()"
            command = [sys.executable, "-c", code, *words]
            subprocess.run(command, check=True, capture_output=True, env=env)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        yield {"command": name, "seconds": min(taken[1:])}


def main() -> None:
    """Print all rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the record here, as JSON")
    given = parser.parse_args()
    told: dict[str, Any] = {"machine": machine()}
    told["config"] = {"edges": given.edges, "runs": given.runs, "seed": 0}
    parts = {
        "small": small_rows(given.runs),
        "large": large_rows(given.runs, given.edges),
        "files": file_rows(given.runs, given.edges),
        "commands": command_rows(given.runs),
    }
    for part, rows in parts.items():
        told[part] = []
        for row in rows:
            told[part].append(row)
            numbers = {key: value for key, value in row.items() if isinstance(value, float)}
            name = next(iter(row.values()))
            print(name, *(f"{key} {value:.3f}" for key, value in numbers.items()), flush=True)
    if given.out is not None:
        given.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
