"""Random problems with costs, solved by the network, by the compiled loops, and by three peers.

    python benchmarks/cost_campaign.py --count 10000 --out campaign.json

Each of four problems is drawn `count` times: assignments (square or not, complete or sparse, with
ties or without, to minimise or to maximise), perfect matchings that may not exist, maximum flows of
least cost, and flows that meet supplies above lower bounds. Every answer of the network is judged
decision by decision and certified; so is every answer of the engine `table`. Costs are compared
with SciPy's, NetworkX's and OR-Tools'. Any difference is printed and ends with exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from augury import BipartiteGraph, CostNetwork, __version__
from augury.algorithms import ALGORITHMS
from augury.classical.answer import How
from augury.errors import InputError
from augury.experiments import peers
from augury.experiments.peers import Best, Priced
from augury.provenance import commit
from augury.solver import Runner, in_full, runner_of

CHUNK = 250


def assignment(rng: np.random.Generator) -> BipartiteGraph:
    """Draw a bipartite graph with costs."""
    shape = rng.integers(1, 9, 2) if rng.random() < 0.5 else np.full(2, rng.integers(1, 9))
    high = int(rng.choice([0, 1, 3, 50, 10**6, 10**12]))
    matrix = rng.integers(-high * int(rng.integers(2)), high + 1, shape).astype(float)
    if rng.random() < 0.5:
        matrix[rng.random(shape) < rng.choice([0.2, 0.5, 0.8])] = np.inf
    graph = BipartiteGraph.from_costs(matrix)
    assert graph.costs is not None
    return replace(graph, costs=replace(graph.costs, maximise=bool(rng.random() < 0.3)))


def _arcs(rng: np.random.Generator) -> tuple[int, list[Any]]:
    nodes, arcs = int(rng.integers(2, 9)), int(rng.integers(1, 25))
    tail, head = rng.integers(0, nodes, (2, arcs))
    high = int(rng.choice([1, 6, 10**6]))
    low = -high if rng.random() < 0.6 else 0
    return nodes, [tail, head, rng.integers(0, 8, arcs), rng.integers(low, high + 1, arcs)]


def flow(rng: np.random.Generator) -> CostNetwork:
    """Draw a network with a source and a sink; loops, parallel arcs and negative cycles too."""
    nodes, columns = _arcs(rng)
    return CostNetwork.from_arcs(nodes, *columns, source=0, sink=nodes - 1)


def supplies(rng: np.random.Generator) -> CostNetwork:
    """Draw a network with supplies and lower bounds."""
    nodes, columns = _arcs(rng)
    supply = rng.integers(-2, 3, nodes) * (rng.random(nodes) < 0.5)
    supply[0] -= supply.sum()
    lower = np.minimum(columns[2], rng.integers(0, 2, len(columns[0]))) * (rng.random() < 0.5)
    return CostNetwork.from_arcs(nodes, *columns, supply=supply, lower=lower.astype(np.int64))


PROBLEMS: dict[str, Callable[[np.random.Generator], Priced]] = {
    "assignment": assignment,
    "perfect matching": assignment,
    "flow": flow,
    "supplies": supplies,
}
PEERS: dict[str, Callable[[Priced], Best]] = {
    "SciPy": peers.scipy_costs,
    "NetworkX": peers.networkx_costs,
    "OR-Tools": peers.ortools_costs,
}


def campaign(name: str, count: int, seed: int) -> Counter[str]:
    """Draw and solve one problem `count` times; return what was counted."""
    seen: Counter[str] = Counter()
    rng = np.random.default_rng([seed, list(PROBLEMS).index(name)])
    row = "assignment" if name in ("assignment", "perfect matching") else "min-cost-flow"
    engines = [runner_of(engine=engine, algorithm=row) for engine in ("lookup", "table")]
    for first in range(0, count, CHUNK):
        graphs = [PROBLEMS[name](rng) for _ in range(min(CHUNK, count - first))]
        _judge(engines[0], graphs, seed, seen)
        found = [runner.solutions(graphs, How(exact=False)) for runner in engines]
        for graph, *solutions in zip(graphs, *found, strict=True):
            if name == "perfect matching":
                solutions = [in_full(graph, solution) for solution in solutions]
            _compare(graph, solutions, seen, name == "perfect matching")
    return seen


def _judge(runner: Runner, graphs: list[Priced], seed: int, seen: Counter[str]) -> None:
    """Count decisions; a run on supplies that cannot be met still has them all right."""
    rngs = [np.random.default_rng([seed, k]) for k in range(len(graphs))]
    parts = runner.executor.subroutines()
    for run in ALGORITHMS[runner.algorithm.name].judge(graphs, parts, rngs):  # type: ignore[arg-type]
        seen["decisions"] += sum(run.asked.values())
        seen["wrong decisions"] += sum(run.wrong.values())


def _compare(graph: Priced, solutions: list[Any], seen: Counter[str], is_perfect: bool) -> None:
    answers: dict[str, Best] = {}
    for solution, engine in zip(solutions, ("network", "table"), strict=True):
        own = None if solution.is_infeasible else (solution.size, solution.cost)
        seen["certified"] += solution.is_optimal or solution.is_infeasible
        seen["not certified"] += not (solution.is_optimal or solution.is_infeasible)
        answers[engine] = own
    for peer, solve in PEERS.items():
        try:
            told = solve(graph)
        except InputError as error:
            seen[f"{peer}: {error}"] += 1
            continue
        if is_perfect and isinstance(graph, BipartiteGraph) and told is not None:
            told = told if told[0] == min(graph.num_left, graph.num_right) else None
        answers[peer] = told
    seen["infeasible"] += answers["network"] is None
    seen["instances"] += 1
    if len(set(answers.values())) > 1:
        seen["different"] += 1
        print(f"different: {answers} on {graph}", file=sys.stderr)


def main() -> None:
    """Run all campaigns; exit with 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    told: dict[str, Any] = {"version": __version__, "commit": commit()}
    told |= {"count": options.count, "seed": options.seed}
    for name in PROBLEMS:
        start = time.process_time()
        seen = campaign(name, options.count, options.seed)
        told[name] = dict(seen) | {"cpu_seconds": round(time.process_time() - start, 1)}
        print(name, told[name], flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(told, indent=1) + "\n")
    bad = ("different", "not certified", "wrong decisions")
    sys.exit(any(told[name].get(what) for name in PROBLEMS for what in bad))


if __name__ == "__main__":
    main()
