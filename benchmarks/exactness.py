"""The discrete network on families of graphs that it never saw: every answer against SciPy's.

    python benchmarks/exactness.py [--graphs 1000] [--model discrete] [--seed 0]

Prints a row for each family: graphs, how many answers equal SciPy's, and how many of all decisions
of the subroutines were wrong. One thread; only the judge is classical.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse.csgraph import maximum_bipartite_matching, maximum_flow

from augury.classical import generate
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.simulate import simulate
from augury.models.checkpoint import executor_of, find, load

Maker = Callable[[np.random.Generator], BipartiteGraph | FlowNetwork]

FAMILIES: dict[str, Maker] = {
    "ladder, 64 + 64": lambda rng: generate.ladder(rng, 64),
    "ladder, one path missing": lambda rng: generate.ladder_state(rng, 64),
    "path, 64 + 64": lambda rng: generate.path(rng, 64),
    "path, one path missing": lambda rng: generate.path_state(rng, 64),
    "3-regular, 64 + 64": lambda rng: generate.regular(rng, 64, 3),
    "power law, 64 + 64": lambda rng: generate.power_law(rng, 64),
    "two communities, 64 + 64": lambda rng: generate.communities(rng, 64, 0.1, 0.01),
    "flow, capacities to 255": lambda rng: generate.flow(rng, 40, 160, 1, 255),
    "flow, capacities to 2^30": lambda rng: generate.flow(rng, 40, 160, 1, 2**30),
}

CHUNK = 100


def scipy_value(graph: BipartiteGraph | FlowNetwork) -> int:
    """Return the maximum as SciPy finds it."""
    if isinstance(graph, BipartiteGraph):
        return int((maximum_bipartite_matching(graph.to_scipy()) >= 0).sum())
    matrix = graph.to_scipy().astype(np.int32)
    return int(maximum_flow(matrix, graph.source, graph.sink).flow_value)


def main() -> None:
    """Run all families and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--model", default="discrete")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    subroutines = executor_of(load(find(options.model)).network).subroutines()
    print(f"{'family':28}{'graphs':>8}{'as SciPy':>10}{'decisions':>12}{'wrong':>7}{'seconds':>9}")
    for number, (name, make) in enumerate(FAMILIES.items()):
        rng = np.random.default_rng([options.seed, number])
        started, right, asked, wrong = time.perf_counter(), 0, 0, 0
        for first in range(0, options.graphs, CHUNK):
            graphs = [make(rng) for _ in range(min(CHUNK, options.graphs - first))]
            networks = [
                graph if isinstance(graph, FlowNetwork) else FlowNetwork.from_bipartite(graph)
                for graph in graphs
            ]
            runs = simulate(networks, subroutines, rng.spawn(len(networks)))
            for graph, run in zip(graphs, runs, strict=True):
                right += run.value == scipy_value(graph)
                asked += sum(run.asked.values())
                wrong += sum(run.wrong.values())
        seconds = time.perf_counter() - started
        figures = f"{options.graphs:8,}{right:10,}{asked:12,}{wrong:7,}{seconds:9.1f}"
        print(f"{name:28}{figures}", flush=True)


if __name__ == "__main__":
    main()
