"""Flows of least cost are checked by their own prices, and refusals by their cuts."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.engines.min_cost import LARGEST_AMOUNT, largest_cost, min_cost_flow

SimpleMinCostFlow = pytest.importorskip("ortools.graph.python.min_cost_flow").SimpleMinCostFlow


def check(problem: Any, answer: Any) -> int | None:
    """Check a flow or a cut in exact arithmetic; return the flow's cost, None without a flow."""
    num_nodes, *arrays = problem
    sender, receiver = (np.asarray(values, np.int64) for values in arrays[:2])
    capacity, cost, supply = (np.asarray(values).astype(object) for values in arrays[2:])
    flow, price, is_feasible = answer
    if not is_feasible:
        leaves = price[sender] & ~price[receiver]
        assert sum(supply[price]) > sum(capacity[leaves])
        return None
    flow, price = flow.astype(object), price.astype(object)
    balance = np.zeros(num_nodes, object)
    np.add.at(balance, sender, flow)
    np.subtract.at(balance, receiver, flow)
    assert (balance == supply).all()
    assert ((flow >= 0) & (flow <= capacity)).all()
    reduced = cost + price[sender] - price[receiver]
    assert (flow[reduced > 0] == 0).all()
    assert (flow[reduced < 0] == capacity[reduced < 0]).all()
    return sum(flow * cost)


def random_problem(rng: Any, num_nodes: int, num_arcs: int, largest: tuple[int, int]) -> Any:
    """Return a problem that can be solved, most of the time: supplies are those of some flow."""
    max_capacity, max_cost = largest
    sender, receiver = rng.integers(0, num_nodes, (2, num_arcs))
    capacity = rng.integers(0, max_capacity + 1, num_arcs)
    cost = rng.integers(-(max_cost // 4), max_cost + 1, num_arcs)
    sent = (rng.random(num_arcs) * (capacity + 1)).astype(np.int64)
    supply = np.bincount(sender, sent, num_nodes) - np.bincount(receiver, sent, num_nodes)
    supply = supply.astype(np.int64)
    if rng.random() < 0.3:
        giver, taker = rng.integers(0, num_nodes, 2)
        supply[giver] += 2
        supply[taker] -= 2
    return num_nodes, sender, receiver, capacity, cost, supply


def peers_cost(problem: Any) -> int | None:
    """Return the cost that OR-Tools finds."""
    num_nodes, sender, receiver, capacity, cost, supply = problem
    solver: Any = SimpleMinCostFlow()
    solver.add_arcs_with_capacity_and_unit_cost(
        sender.astype(np.int32), receiver.astype(np.int32), capacity, cost
    )
    solver.set_nodes_supplies(np.arange(num_nodes, dtype=np.int32), supply)
    return solver.optimal_cost() if solver.solve() == solver.OPTIMAL else None


@pytest.mark.parametrize("largest", [(1, 1), (3, 4), (20, 1000)])
def test_small_flows_cost_what_those_of_ortools_do(largest: tuple[int, int]) -> None:
    rng = np.random.default_rng(largest[0])
    seen = set()
    for _ in range(500):
        problem = random_problem(rng, int(rng.integers(1, 9)), int(rng.integers(0, 25)), largest)
        cost = check(problem, min_cost_flow(*problem))
        assert cost == peers_cost(problem)
        seen.add(cost is None)
    assert seen == {True, False}


def test_flows_cost_what_those_of_networkx_do() -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        problem = random_problem(rng, 7, 20, (5, 9))
        num_nodes, sender, receiver, capacity, cost, supply = problem
        graph = nx.MultiDiGraph()
        graph.add_nodes_from((node, {"demand": -int(supply[node])}) for node in range(num_nodes))
        for start, end, most, each in np.transpose([sender, receiver, capacity, cost]).tolist():
            graph.add_edge(start, end, capacity=most, weight=each)
        try:
            expected = nx.network_simplex(graph)[0]
        except nx.NetworkXUnfeasible:
            expected = None
        assert check(problem, min_cost_flow(*problem)) == expected


@pytest.mark.parametrize("density", [3, 30])
def test_larger_flows_cost_what_those_of_ortools_do(density: int) -> None:
    rng = np.random.default_rng(density)
    for _ in range(3):
        problem = random_problem(rng, 300, 300 * density, (1000, 10**6))
        assert check(problem, min_cost_flow(*problem)) == peers_cost(problem)


@given(st.integers(1, 5), st.data())
def test_any_small_network_is_solved_or_cut(num_nodes: int, data: st.DataObject) -> None:
    node = st.integers(0, num_nodes - 1)
    arc = st.tuples(node, node, st.integers(0, 3), st.integers(-3, 3))
    arcs = np.array(data.draw(st.lists(arc, max_size=9)), np.int64).reshape(-1, 4)
    supply = np.array(
        data.draw(st.lists(st.integers(-3, 3), min_size=num_nodes, max_size=num_nodes))
    )
    supply[-1] -= supply.sum()
    problem: Any = (num_nodes, *arcs.T, supply)
    check(problem, min_cost_flow(*problem))


def test_the_largest_costs_and_amounts_do_not_overflow() -> None:
    rng = np.random.default_rng(4)
    for num_nodes in (2, 5, 40):
        _, sender, receiver, _, sign, _ = random_problem(rng, num_nodes, 6 * num_nodes, (1, 1))
        supply = np.zeros(num_nodes, np.int64)
        supply[0], supply[-1] = LARGEST_AMOUNT, -LARGEST_AMOUNT
        cost = (2 * sign - 1) * largest_cost(num_nodes)
        for amount in (LARGEST_AMOUNT, LARGEST_AMOUNT // 7):
            capacity = np.full(len(sender), amount)
            problem = num_nodes, sender, receiver, capacity, cost, supply
            check(problem, min_cost_flow(*problem))


def test_a_network_may_be_empty() -> None:
    nothing = np.zeros(0, np.int64)
    flow, price, is_feasible = min_cost_flow(0, nothing, nothing, nothing, nothing, nothing)
    assert (len(flow), len(price), is_feasible) == (0, 0, True)
