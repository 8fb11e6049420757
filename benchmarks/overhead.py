"""Compare `solve` with the loops that it runs; print CPU time, least of several, and the ratio.

    python benchmarks/overhead.py [--edges 1000000] [--runs 5]

A kernel is the compiled loops on arrays that are laid out for them. All else is overhead: finding
the executor, laying out, checking, and proving the answer. The graph is built beforehand, except
in the lines that say so. Small graphs have no line for a kernel: there the call as a whole counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from augury import solve
from augury.classical.batch import Batch
from augury.classical.generate import flow, sparse
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.engines.table import match_sparse, push_flows

Rng = np.random.Generator


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
    """Return a square grid, its nodes coloured as a chessboard."""
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="graphs whose names contain this")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    for name, (graph, ends) in small(rng).items():
        if given.only in name:
            [taken] = least(given.runs, lambda g=graph, e=ends: solve(g, **e), repeats=200)
            print(f"{name:28} solve {1000 * taken:7.1f} µs", flush=True)
    large: dict[str, Callable[[], Any]] = {
        "matching, random 3/n": lambda: sparse(rng, given.edges // 3),
        "matching, grid": lambda: grid(given.edges),
        "flow, transport": lambda: transport(rng, 500, 500, given.edges // 8333),
        "flow, random": lambda: flow(rng, given.edges // 10, given.edges, high=100),
        "flow, segmentation": lambda: segmentation(rng, given.edges),
    }
    for name, make in large.items():
        if given.only not in name:
            continue
        graph = make()
        works: list[Callable[[], Any]] = [lambda g=graph: solve(g)]
        if isinstance(graph, FlowNetwork):
            batch, size = Batch.of([graph]), graph.num_arcs // 2
            works.insert(0, lambda b=batch: push_flows(b))
        else:
            matrix, size = graph.to_scipy(), graph.num_edges
            works = [lambda m=matrix: match_sparse(m), *works, lambda m=matrix: solve(m)]
        kernel, whole, *built = least(given.runs, *works)
        told = f"{name:28} {size:9,} kernel {kernel:8.1f} ms, solve {whole:8.1f} ms"
        told += f", ratio {whole / kernel:5.2f}"
        print(told + "".join(f", from CSR {own:8.1f} ms" for own in built), flush=True)


if __name__ == "__main__":
    main()
