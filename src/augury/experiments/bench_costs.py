"""Sparse graphs and networks with costs become answers and seconds: our loops and their peers.

All get the same numbers, on one thread; seconds are CPU seconds of the process. Handing a problem
to OR-Tools is not counted. Each of our answers is certified by its prices, and its cost compared
with the peer's. Ratios above 1 are in our favour. For dense matrices see `bench_assignments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from augury.classical.arrays import WideArray
from augury.classical.cost_network import CostNetwork
from augury.classical.graph import BipartiteGraph
from augury.classical.prices import certify_cost
from augury.engines.least_cost import solved
from augury.errors import InputError
from augury.experiments.bench import Record
from augury.processes import use_one_thread

MAX_SCIPY = 20_000
"""Nodes a side beyond which SciPy's sparse matching would take minutes."""


def sparse_families(size: int, rng: np.random.Generator) -> Iterator[tuple[str, BipartiteGraph]]:
    """Yield sparse graphs; the first three have a perfect matching."""

    def graph(num_right: int, degree: int, largest: int, is_full: bool) -> BipartiteGraph:
        keys = rng.integers(0, size, degree * size) * num_right
        keys += rng.integers(0, num_right, degree * size)
        if is_full:
            keys = np.concatenate([keys, np.arange(size) * num_right + rng.permutation(size)])
        left, right = np.divmod(np.unique(keys), num_right)
        costs: Any = rng.integers(1, largest + 1, len(left))
        return BipartiteGraph(size, num_right, left, right, costs=costs)

    yield "to 10^6", graph(size, 10, 10**6, True)
    yield "to 100", graph(size, 10, 100, True)
    yield "all equal", graph(size, 10, 1, True)
    yield "not perfect", graph(size, 10, 10**6, False)
    yield "degree 3", graph(size, 3, 10**6, False)
    yield "a quarter wider", graph(size + size // 4, 10, 10**6, False)


def measure_sparse(size: int) -> Iterator[Record]:
    """Yield a record for each family; the peers find only matchings of all left nodes."""
    use_one_thread()
    for family, graph in sparse_families(size, np.random.default_rng(size)):
        told = _measured(graph)
        told |= {"what": graph.words, "family": family}
        peers = {"SciPy": _scipy} if size <= MAX_SCIPY else {}
        if graph.num_left == graph.num_right and find_spec("ortools"):
            peers["OR-Tools"] = _ortools_assignment
        for peer, make in peers.items():
            if told["size"] == size:
                yield told | {"peer": peer, "ratio": _raced(make(graph), told)}
        if told["size"] < size or not peers:
            yield told | {"peer": "–", "ratio": None}


def _measured(graph: BipartiteGraph | CostNetwork) -> Record:
    """Solve and certify one graph; the second call counts, for the first may compile loops."""
    [answer] = solved([graph])
    seconds = once(partial(solved, [graph]))
    certificate = certify_cost(graph, answer.found, answer.price)
    if not certificate.is_optimal or certificate.remark:
        raise InputError(f"not proven: {certificate}")
    return {"ms": 1e3 * seconds, "size": certificate.size, "cost": certificate.cost}


def once(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of one call."""
    from time import process_time

    start = process_time()
    work()
    return process_time() - start


def _raced(peer: tuple[Callable[[], Any], Callable[[], int]], told: Record) -> float:
    """Return the ratio of a peer's seconds to ours; its cost must equal ours."""
    work, cost = peer
    seconds = once(work)
    if cost() != told["cost"]:
        raise InputError(f"a peer found a cost of {cost()}, and not {told['cost']}")
    return 1e3 * seconds / told["ms"]


def _scipy(graph: BipartiteGraph) -> tuple[Callable[[], Any], Callable[[], int]]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    assert graph.costs is not None
    shape = graph.num_left, graph.num_right
    matrix: Any = csr_array((graph.costs.amount, (graph.left, graph.right)), shape=shape)
    found: list[Any] = []
    work = lambda: found.append(min_weight_full_bipartite_matching(matrix))  # noqa: E731
    return work, lambda: int(matrix[found[0]].sum())


def _ortools_assignment(graph: BipartiteGraph) -> tuple[Callable[[], Any], Callable[[], int]]:
    from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment

    assert graph.costs is not None
    solver: Any = SimpleLinearSumAssignment()
    solver.add_arcs_with_cost(graph.left, graph.right, graph.costs.amount)
    return solver.solve, solver.optimal_cost


def flow_families(num_arcs: int, rng: np.random.Generator) -> Iterator[tuple[str, CostNetwork]]:
    """Yield networks with supplies that can be met."""

    def drawn(num_nodes: int, tail: Any, head: Any, largest: int) -> CostNetwork:
        """Draw capacities and costs, and supplies of a random flow."""
        capacity = rng.integers(1, largest, len(tail))
        sent = rng.integers(0, capacity + 1) * (rng.random(len(tail)) < 0.3)
        supply = np.zeros(num_nodes, np.int64)
        np.add.at(supply, tail, sent)
        np.subtract.at(supply, head, sent)
        cost = rng.integers(1, 10_000, len(tail))
        return CostNetwork.from_arcs(num_nodes, tail, head, capacity, cost, supply=supply)

    def spread(supplies: Any, num_nodes: int) -> WideArray:
        """Demand at the last nodes what the first supply."""
        supply = np.zeros(num_nodes, np.int64)
        supply[: len(supplies)] = supplies
        supply[-len(supplies) :] -= supplies.sum() // len(supplies)
        supply[-1] -= supply.sum()
        return supply

    for name, degree in [("random, degree 8", 8), ("random, degree 100", 100)]:
        num_nodes = num_arcs // degree
        tail, head = rng.integers(0, num_nodes, (2, num_arcs))
        yield name, drawn(num_nodes, tail, head, 1000)
    side = int(num_arcs**0.5)
    tail, head = np.divmod(np.arange(side * side), side)
    columns = np.full(side * side, 10**6), rng.integers(1, 10_000, side * side)
    supply = spread(rng.integers(1, 100, side), 2 * side)
    yield "transport", CostNetwork.from_arcs(2 * side, tail, side + head, *columns, supply=supply)
    side = int((num_arcs / 4) ** 0.5)
    grid = np.arange(side * side).reshape(side, side)
    one = np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()])
    other = np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()])
    ends = np.concatenate([one, other]), np.concatenate([other, one])
    yield "grid", drawn(side * side, *ends, 1000)
    layer = num_arcs // 400
    tail = np.repeat(np.arange(39 * layer), 10)
    head = (tail // layer + 1) * layer + rng.integers(0, layer, len(tail))
    yield "40 layers", drawn(40 * layer, tail, head, 100)
    num_nodes = num_arcs // 10
    tail, head = rng.integers(0, num_nodes, (2, num_arcs))
    tail[:num_nodes], head[:num_nodes] = np.arange(num_nodes), np.roll(np.arange(num_nodes), -1)
    capacity, cost = rng.integers(1, 1000, num_arcs), rng.integers(1, 10_000, num_arcs)
    capacity[:num_nodes], cost[:num_nodes] = 10**7, 10_000  # a ring that can carry everything
    supply = spread(rng.integers(1, 2000, num_nodes // 20), num_nodes)
    columns = tail, head, capacity, cost
    yield "as NETGEN's", CostNetwork.from_arcs(num_nodes, *columns, supply=supply)


def measure_flows(num_arcs: int) -> Iterator[Record]:
    """Yield a record for each family, compared with OR-Tools if it is installed."""
    use_one_thread()
    for family, network in flow_families(num_arcs, np.random.default_rng(num_arcs)):
        told = _measured(network) | {"what": network.words, "family": family}
        if find_spec("ortools"):
            told |= {"peer": "OR-Tools", "ratio": _raced(_ortools_flow(network), told)}
        else:
            told |= {"peer": "–", "ratio": None}
        yield told


def _ortools_flow(network: CostNetwork) -> tuple[Callable[[], Any], Callable[[], int]]:
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    solver: Any = SimpleMinCostFlow()
    ends = network.tail, network.head
    solver.add_arcs_with_capacity_and_unit_cost(*ends, network.capacity, network.costs.amount)
    solver.set_nodes_supplies(np.arange(network.num_nodes, dtype=np.int32), network.supply)
    return solver.solve, solver.optimal_cost
