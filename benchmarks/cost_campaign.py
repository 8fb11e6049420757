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
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from scipy.optimize import linear_sum_assignment

from augury import BipartiteGraph, CostNetwork, __version__
from augury.algorithms import ALGORITHMS
from augury.classical.answer import How
from augury.provenance import commit
from augury.solver import Runner, in_full, runner_of

Problem = BipartiteGraph | CostNetwork
Best = tuple[int, int] | None
"""Size and cost, or None where there is no answer."""

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
    """Draw a network with a source and a sink; loops, parallel arcs and negative circles too."""
    nodes, columns = _arcs(rng)
    return CostNetwork.from_arcs(nodes, *columns, source=0, sink=nodes - 1)


def supplies(rng: np.random.Generator) -> CostNetwork:
    """Draw a network with supplies and lower bounds."""
    nodes, columns = _arcs(rng)
    supply = rng.integers(-2, 3, nodes) * (rng.random(nodes) < 0.5)
    supply[0] -= supply.sum()
    lower = np.minimum(columns[2], rng.integers(0, 2, len(columns[0]))) * (rng.random() < 0.5)
    return CostNetwork.from_arcs(nodes, *columns, supply=supply, lower=lower.astype(np.int64))


def by_scipy(graph: Problem) -> Best | str:
    """A missing edge costs more than all others together, so as few as possible are taken."""
    if isinstance(graph, CostNetwork):
        return "no form of it"
    assert graph.costs is not None
    amount = graph.costs.to_minimise
    large = 1 + 2 * min(graph.num_left, graph.num_right) * int(np.abs(amount).max(initial=0))
    matrix = np.full((graph.num_left, graph.num_right), large)
    matrix[graph.left, graph.right] = amount
    rows, columns = linear_sum_assignment(matrix)
    taken = matrix[rows, columns] != large
    cost = int(matrix[rows[taken], columns[taken]].sum())
    return int(taken.sum()), -cost if graph.costs.maximise else cost


def by_networkx(graph: Problem) -> Best | str:
    """Network simplex, on the flow network of a bipartite graph."""
    network = CostNetwork.from_bipartite(graph) if isinstance(graph, BipartiteGraph) else graph
    made: Any = nx.MultiDiGraph()
    made.add_nodes_from(range(network.num_nodes), demand=0)
    fixed, value = 0, 0
    for tail, head, room, cost, lower in _rows(network):
        made.add_edge(tail, head, capacity=room, weight=cost)
        made.nodes[tail]["demand"] += lower
        made.nodes[head]["demand"] -= lower
        fixed += lower * cost
    if network.supply is None:
        value = _value(network)
        made.nodes[network.source]["demand"] -= value
        made.nodes[network.sink]["demand"] += value
    else:
        for node, amount in enumerate(network.supply.tolist()):
            made.nodes[node]["demand"] -= amount
            value += max(amount, 0)
    try:
        cost = int(nx.network_simplex(made)[0]) + fixed
    except nx.NetworkXUnfeasible:
        return None
    return value, -cost if network.costs.maximise else cost


def by_ortools(graph: Problem) -> Best | str:
    """`SimpleMinCostFlow`; it takes neither loops nor circles that save something for sure."""
    from ortools.graph.python import min_cost_flow

    network = CostNetwork.from_bipartite(graph) if isinstance(graph, BipartiteGraph) else graph
    solver = min_cost_flow.SimpleMinCostFlow()
    supply = [0] * network.num_nodes if network.supply is None else network.supply.tolist()
    fixed = 0
    for tail, head, room, cost, lower in _rows(network):
        fixed += lower * cost
        supply[tail] -= lower
        supply[head] += lower
        if tail == head:
            fixed += min(cost, 0) * room
        elif cost < 0:  # full from the start; what it gives back costs the opposite
            solver.add_arc_with_capacity_and_unit_cost(head, tail, room, -cost)
            fixed += cost * room
            supply[tail] -= room
            supply[head] += room
        else:
            solver.add_arc_with_capacity_and_unit_cost(tail, head, room, cost)
    value = 0
    if network.supply is None:
        assert network.source is not None and network.sink is not None
        value = _value(network)
        supply[network.source] += value
        supply[network.sink] -= value
    else:
        value = sum(max(amount, 0) for amount in network.supply.tolist())
    for node, amount in enumerate(supply):
        solver.set_node_supply(node, amount)
    status = solver.solve()
    if status == solver.INFEASIBLE:
        return None
    if status != solver.OPTIMAL:
        return f"status {status}"
    cost = solver.optimal_cost() + fixed
    return value, -cost if network.costs.maximise else cost


def _rows(network: CostNetwork) -> Iterator[tuple[int, ...]]:
    room = network.capacity - network.least
    columns = network.tail, network.head, room, network.costs.to_minimise, network.least
    return zip(*(column.tolist() for column in columns), strict=True)


def _value(network: CostNetwork) -> int:
    simple: Any = nx.DiGraph()
    simple.add_nodes_from(range(network.num_nodes))
    for tail, head, room, *_ in _rows(network):
        known = simple.get_edge_data(tail, head, {"capacity": 0})["capacity"]
        simple.add_edge(tail, head, capacity=known + room)
    return int(nx.maximum_flow_value(simple, network.source, network.sink))


PROBLEMS: dict[str, Callable[[np.random.Generator], Problem]] = {
    "assignment": assignment,
    "perfect matching": assignment,
    "flow": flow,
    "supplies": supplies,
}
PEERS: dict[str, Callable[[Problem], Best | str]] = {
    "SciPy": by_scipy,
    "NetworkX": by_networkx,
    "OR-Tools": by_ortools,
}


def campaign(name: str, count: int, seed: int) -> Counter[str]:
    """Draw and solve one problem so many times; return what was counted."""
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


def _judge(runner: Runner, graphs: list[Problem], seed: int, seen: Counter[str]) -> None:
    """Count decisions; a run on supplies that cannot be met still has them all right."""
    rngs = [np.random.default_rng([seed, k]) for k in range(len(graphs))]
    parts = runner.executor.subroutines()
    for run in ALGORITHMS[runner.algorithm.name].judge(graphs, parts, rngs):  # type: ignore[arg-type]
        seen["decisions"] += sum(run.asked.values())
        seen["wrong decisions"] += sum(run.wrong.values())


def _compare(graph: Problem, solutions: list[Any], seen: Counter[str], is_perfect: bool) -> None:
    answers: dict[str, Best | str] = {}
    for solution, engine in zip(solutions, ("network", "table"), strict=True):
        own = None if solution.is_infeasible else (solution.size, solution.cost)
        seen["certified"] += solution.is_optimal or solution.is_infeasible
        seen["not certified"] += not (solution.is_optimal or solution.is_infeasible)
        answers[engine] = own
    for peer, solve in PEERS.items():
        told = solve(graph)
        if isinstance(told, str):
            seen[f"{peer}: {told}"] += 1
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
