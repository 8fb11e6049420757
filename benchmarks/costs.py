"""Assign and send at least cost; print CPU milliseconds of peers beside ours.

    python benchmarks/costs.py [--sizes 8,16,32,64,128,300] [--nodes 100000] [--arcs 100000]

Everything is measured in this run, on one thread, as the best of a few. Every answer is certified
by its prices, and costs are compared with the peer's. A ratio above 1 is in our favour.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from augury.engines.assignments import assign_dense
from augury.engines.min_cost import min_cost_flow
from augury.engines.sparse_assignments import assign_sparse

SCIPYS_SIZE = 20_000
"""Above this SciPy's sparse matching would take minutes."""


def timed(work: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """Return the least CPU seconds of some calls, and what the last returned."""
    seconds, result = [], None
    for _ in range(times):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return min(seconds), result


def row(what: str, ours: float, peers: dict[str, float]) -> None:
    """Print one line of the table, in milliseconds."""
    beside = "".join(
        f"  {name} {1000 * value:10.4f} ({value / ours:5.2f})" for name, value in peers.items()
    )
    print(f"{what:46} {1000 * ours:10.4f}{beside}", flush=True)


def dense_stacks(size: int, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Yield stacks of matrices of every family."""
    count = max(2, min(1000, int(4e6 / size**2.5)))
    shape = (count, size, size)
    yield "to 100", rng.integers(0, 100, shape)
    yield "to 1e6", rng.integers(0, 10**6, shape)
    outer = rng.integers(1, 1000, (count, size, 1)) * rng.integers(1, 1000, (count, 1, size))
    yield "rank one, noise", outer + rng.integers(0, 1000, shape)
    yield "ties", rng.integers(0, 4, shape)
    yield "skewed", (10 ** (6 * rng.random(shape))).astype(np.int64)
    yield "equal", np.full(shape, 7)
    yield "a quarter wider", rng.integers(0, 10**6, (count, size, size + size // 4))


def certify_dense(cost: Any, answer: Any, peers: Any) -> None:
    """Check prices, and costs against SciPy's."""
    columns, u, v, is_full = answer
    reduced = cost - u[:, :, None] - v[:, None, :]
    assert is_full.all()
    assert (reduced >= 0).all()
    assert (v <= 0).all()
    assert not np.take_along_axis(reduced, columns[:, :, None], 2).any()
    ours = np.take_along_axis(cost, columns[:, :, None], 2).sum((1, 2))
    theirs = [values[pairs].sum() for values, pairs in zip(cost, peers, strict=True)]
    assert (ours == theirs).all()


def measure_dense(sizes: list[int], rng: np.random.Generator) -> None:
    """Assign stacks of matrices; SciPy gets one at a time, as float64 and as int64."""
    for size in sizes:
        for name, cost in dense_stacks(size, rng):
            floats = cost.astype(np.float64)
            ours, answer = timed(partial(assign_dense, cost))
            float64, _ = timed(lambda floats=floats: [linear_sum_assignment(x) for x in floats])
            int64, pairs = timed(lambda cost=cost: [linear_sum_assignment(x) for x in cost])
            certify_dense(cost, answer, pairs)
            each = len(cost)
            peers = {"SciPy float64": float64 / each, "int64": int64 / each}
            row(f"assign {size} × {cost.shape[2]}, {name}", ours / each, peers)


def certify_sparse(edges: Any, answer: Any) -> tuple[int, int]:
    """Check prices; return size and cost."""
    left, right, cost = edges
    partner, (u, v, source, sink) = answer
    is_used, is_matched = partner[left] == right, partner >= 0
    reduced = cost + u[left] - v[right]
    is_taken = np.zeros(len(v), np.bool_)
    is_taken[partner[is_matched]] = True
    assert (reduced >= 0).all()
    assert not reduced[is_used].any()
    assert (source <= u[is_matched]).all()
    assert (source >= u[~is_matched]).all()
    assert (v[is_taken] <= sink).all()
    assert (v[~is_taken] >= sink).all()
    assert is_used.sum() == is_matched.sum() == is_taken.sum()
    return int(is_matched.sum()), int(cost[is_used].sum())


def sparse_graphs(size: int, rng: np.random.Generator) -> Iterator[tuple[str, int, Any]]:
    """Yield (name, number of right nodes, edges); the first three have a perfect matching."""

    def edges(num_right: int, degree: int, largest: int, is_full: bool) -> Any:
        keys = rng.integers(0, size, degree * size) * num_right
        keys += rng.integers(0, num_right, degree * size)
        if is_full:
            keys = np.concatenate([keys, np.arange(size) * num_right + rng.permutation(size)])
        left, right = np.divmod(np.unique(keys), num_right)
        return left, right, rng.integers(1, largest + 1, len(left))

    yield "to 1e6", size, edges(size, 10, 10**6, True)
    yield "to 100", size, edges(size, 10, 100, True)
    yield "equal", size, edges(size, 10, 1, True)
    yield "not perfect", size, edges(size, 10, 10**6, False)
    yield "degree 3", size, edges(size, 3, 10**6, False)
    yield "a quarter wider", size + size // 4, edges(size + size // 4, 10, 10**6, False)


def measure_sparse(size: int, rng: np.random.Generator) -> None:
    """Match sparse graphs; the peers need a perfect matching, SciPy one of all left nodes."""
    for name, num_right, edges in sparse_graphs(size, rng):
        left, right, cost = edges
        ours, answer = timed(partial(assign_sparse, size, num_right, *edges), 1)
        found, least = certify_sparse(edges, answer)
        peers = {}
        if found == size == num_right:
            solver = SimpleLinearSumAssignment()
            solver.add_arcs_with_cost(left.astype(np.int32), right.astype(np.int32), cost)
            peers["OR-Tools"], _ = timed(solver.solve, 1)
            assert solver.optimal_cost() == least
        if found == size <= SCIPYS_SIZE:
            matrix = csr_array((cost, (left, right)), shape=(size, num_right))
            match = partial(min_weight_full_bipartite_matching, matrix)
            peers["SciPy"], pairs = timed(match, 1)
            assert matrix[pairs].sum() == least
        row(f"match {size:,} + {num_right:,}, {name}", ours, peers)


def flow_problems(num_arcs: int, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Yield (name, problem) of every family."""

    def with_supplies(num_nodes: int, sender: Any, receiver: Any, largest: int) -> Any:
        """Draw capacities and costs, and supplies of a random flow."""
        capacity = rng.integers(1, largest, len(sender))
        sent = rng.integers(0, capacity + 1) * (rng.random(len(sender)) < 0.3)
        supply = np.zeros(num_nodes, np.int64)
        np.add.at(supply, sender, sent)
        np.subtract.at(supply, receiver, sent)
        return num_nodes, sender, receiver, capacity, rng.integers(1, 10_000, len(sender)), supply

    def spread(supplies: Any, num_nodes: int) -> Any:
        """Demand at the last nodes what the first supply."""
        supply = np.zeros(num_nodes, np.int64)
        supply[: len(supplies)] = supplies
        supply[-len(supplies) :] -= supplies.sum() // len(supplies)
        supply[-1] -= supply.sum()
        return supply

    for name, degree in [("random, degree 8", 8), ("random, degree 100", 100)]:
        num_nodes = num_arcs // degree
        sender, receiver = rng.integers(0, num_nodes, (2, num_arcs))
        yield name, with_supplies(num_nodes, sender, receiver, 1000)
    side = int(num_arcs**0.5)
    sender, receiver = np.divmod(np.arange(side * side), side)
    capacity, cost = np.full(side * side, 10**6), rng.integers(1, 10_000, side * side)
    supply = spread(rng.integers(1, 100, side), 2 * side)
    yield "transport", (2 * side, sender, side + receiver, capacity, cost, supply)
    side = num_arcs // 10
    sender = np.repeat(np.arange(side), 10)
    receiver = side + rng.integers(0, side, 10 * side)
    receiver[::10] = side + rng.permutation(side)
    cost, supply = rng.integers(1, 10**6, 10 * side), np.repeat([1, -1], side)
    yield "assignment", (2 * side, sender, receiver, np.ones(10 * side, np.int64), cost, supply)
    side = int((num_arcs / 4) ** 0.5)
    grid = np.arange(side * side).reshape(side, side)
    one = np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()])
    other = np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()])
    sender, receiver = np.concatenate([one, other]), np.concatenate([other, one])
    yield "grid", with_supplies(side * side, sender, receiver, 1000)
    layer = num_arcs // 400
    sender = np.repeat(np.arange(39 * layer), 10)
    receiver = (sender // layer + 1) * layer + rng.integers(0, layer, len(sender))
    yield "40 layers", with_supplies(40 * layer, sender, receiver, 100)
    num_nodes = num_arcs // 10
    sender, receiver = rng.integers(0, num_nodes, (2, num_arcs))
    sender[:num_nodes] = np.arange(num_nodes)
    receiver[:num_nodes] = np.roll(np.arange(num_nodes), -1)
    capacity, cost = rng.integers(1, 1000, num_arcs), rng.integers(1, 10_000, num_arcs)
    capacity[:num_nodes], cost[:num_nodes] = 10**7, 10_000  # a ring that can carry everything
    supply = spread(rng.integers(1, 2000, num_nodes // 20), num_nodes)
    yield "as NETGEN's", (num_nodes, sender, receiver, capacity, cost, supply)


def certify_flow(problem: Any, answer: Any) -> int:
    """Check balances and prices; return the cost."""
    num_nodes, sender, receiver, capacity, cost, supply = problem
    flow, price, is_feasible = answer
    balance = np.zeros(num_nodes, np.int64)
    np.add.at(balance, sender, flow)
    np.subtract.at(balance, receiver, flow)
    reduced = cost + price[sender] - price[receiver]
    assert is_feasible
    assert (balance == supply).all()
    assert ((flow >= 0) & (flow <= capacity)).all()
    assert not flow[reduced > 0].any()
    assert (flow == capacity)[reduced < 0].all()
    return int((flow * cost).sum())


def measure_flows(num_arcs: int, rng: np.random.Generator) -> None:
    """Send flows of least cost; the time to hand the problem to OR-Tools is not counted."""
    for name, problem in flow_problems(num_arcs, rng):
        num_nodes, sender, receiver, capacity, cost, supply = problem
        ours, answer = timed(partial(min_cost_flow, *problem), 1)
        solver: Any = SimpleMinCostFlow()
        solver.add_arcs_with_capacity_and_unit_cost(
            sender.astype(np.int32), receiver.astype(np.int32), capacity, cost
        )
        solver.set_nodes_supplies(np.arange(num_nodes, dtype=np.int32), supply)
        theirs, _ = timed(solver.solve, 1)
        assert solver.optimal_cost() == certify_flow(problem, answer)
        row(f"flow {num_nodes:,}, {len(sender):,} arcs, {name}", ours, {"OR-Tools": theirs})


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="8,16,32,64,128,300", help="of dense matrices")
    parser.add_argument("--nodes", type=int, default=100_000, help="on each side, sparse")
    parser.add_argument("--arcs", type=int, default=100_000)
    options = parser.parse_args()
    one = np.zeros(1, np.int64)
    compiling = (
        ("assign_dense", lambda: assign_dense(one.reshape(1, 1, 1))),
        ("assign_sparse", lambda: assign_sparse(1, 1, one, one, one)),
        ("min_cost_flow", lambda: min_cost_flow(2, one, one + 1, one, one, [0, 0])),
    )
    for name, work in compiling:
        row(f"compile or load {name}", timed(work, 1)[0], {})
    rng = np.random.default_rng(0)
    measure_dense([int(size) for size in options.sizes.split(",") if size], rng)
    measure_sparse(options.nodes, rng)
    for num_arcs in (options.arcs // 10, options.arcs):
        measure_flows(num_arcs, rng)


if __name__ == "__main__":
    main()
