"""Assignments and flows of least cost: by the shipped network, judged, told, and by no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from augury import BipartiteGraph, CostNetwork, InputError, solve, solve_batch
from augury.algorithms.cells import CELLS
from augury.algorithms.executor import CellExecutor
from augury.algorithms.least_cost import ASSIGNMENT, MIN_COST_FLOW, judge, objective
from augury.cells.table import Table
from augury.classical.answer import Answer
from augury.classical.least_cost import BREADTH_FIRST
from augury.models import shipped_table
from augury.watch import watch
from costs import least_matching

HOURS = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
NETWORK = CostNetwork.from_labelled_arcs(
    [("s", "a", 3, 1), ("a", "t", 2, 0), ("s", "t", 1, 5), ("a", "s", 2, -1)], source="s", sink="t"
)


@pytest.mark.parametrize("how", [{}, {"engine": "plain"}, {"model": "classical"}])
def test_every_form_finds_the_least_cost(how: dict[str, Any]) -> None:
    solution = solve(HOURS, algorithm="assignment", **how)
    assert solution.is_optimal and (solution.cost, solution.size, solution.gap) == (5, 3, 0)
    assert solution.matching == [(0, 1), (1, 0), (2, 2)]
    assert repr(solution).startswith("Solution(matching of 3, maximum, cost 5, the best, ")
    flow = solve(NETWORK, **how)
    assert flow.is_optimal and (flow.size, flow.cost) == (3, 7)


def test_a_graph_with_costs_needs_no_algorithm_and_no_other_ignores_them() -> None:
    graph = BipartiteGraph.from_costs(HOURS)
    assert solve(graph).cost == 5 and solve(graph, maximise=True).cost == 11
    with pytest.raises(InputError, match="ford-fulkerson would ignore the costs"):
        solve(graph, algorithm="ford-fulkerson")
    with pytest.raises(InputError, match="there are no costs to maximise"):
        solve(HOURS > 0, maximise=True)
    with pytest.raises(InputError, match="paper-mpnn executes ford-fulkerson, not assignment"):
        solve(graph, model="paper-mpnn")
    with pytest.raises(InputError, match="assignment takes a BipartiteGraph, not a CostNetwork"):
        solve(NETWORK, algorithm="assignment")


def test_many_at_once_are_as_if_alone() -> None:
    stack = np.random.default_rng(0).integers(-9, 9, (6, 4, 5))
    together = solve_batch(stack, algorithm="assignment", engine="lookup")
    alone = [solve(one, algorithm="assignment") for one in stack]
    assert [one.matching for one in together] == [one.matching for one in alone]
    assert all(one.is_optimal for one in together)
    compiled = solve_batch(stack, algorithm="assignment")
    assert [one.cost for one in compiled] == [one.cost for one in alone]
    assert {one.engine for one in compiled} == {"table"}


def test_a_perfect_matching_was_asked_for() -> None:
    graph = BipartiteGraph.from_costs([[1, np.inf], [1, np.inf]])
    assert solve(graph).size == 1
    solution = solve(graph, perfect=True)
    assert solution.is_infeasible and not solution.is_optimal and solution.matching == []
    assert "no matching is perfect" in repr(solution)
    assert solve(HOURS, algorithm="assignment", perfect=True).size == 3


def test_no_decision_of_the_shipped_network_is_wrong() -> None:
    rng = np.random.default_rng(1)
    graphs = [BipartiteGraph.from_costs(rng.integers(0, 10**6, (6, 6))) for _ in range(8)]
    rngs = [np.random.default_rng(k) for k in range(8)]
    runs = judge(graphs, CellExecutor(shipped_table()).subroutines(), rngs)
    for graph, run in zip(graphs, runs, strict=True):
        assert graph.costs is not None
        matrix = graph.costs.amount.reshape(6, 6).astype(float)
        assert run.value == run.maximum == least_matching(matrix)[1]
        assert run.is_right and run.ending.words == "done" and not any(run.wrong.values())
        assert all(run.asked[name] for name in ("search", "reach", "bottleneck", "augmentation"))
    [run] = judge([NETWORK], BREADTH_FIRST, rngs)
    assert run.is_right and run.ending.words == "done"


def damaged_tables() -> list[tuple[str, Table]]:
    """Return tables with one wrong decision each."""
    own, damaged = shipped_table(), list[tuple[str, Table]]()
    for cell in CELLS:
        entries = own.entries[cell.name]
        if cell.joins == "choice":
            damaged.append((cell.name, own_with(own, cell.name, -entries)))
            continue
        occurs = np.argwhere(cell.truth >= 0)
        for at in occurs[:: max(1, len(occurs) // 12)]:
            changed = entries.copy()
            changed[tuple(at)] = 1 - changed[tuple(at)]
            damaged.append((f"{cell.name} {at.tolist()}", own_with(own, cell.name, changed)))
    return damaged


def own_with(table: Table, name: str, entries: Any) -> Table:
    return Table(table.cells, {**table.entries, name: entries}, table.bits)


@pytest.mark.parametrize(("what", "table"), damaged_tables(), ids=[x for x, _ in damaged_tables()])
def test_a_damaged_network_is_never_called_optimal_without_proof(what: str, table: Table) -> None:
    rng = np.random.default_rng(2)
    graphs = [BipartiteGraph.from_costs(rng.integers(-5, 30, (4, 5))) for _ in range(6)]
    executor = CellExecutor(table)
    for graph in graphs:
        assert graph.costs is not None
        best = least_matching(graph.costs.amount.reshape(4, 5).astype(float))
        own = solve(graph, model=executor, exact=False)
        assert own.is_optimal == ((own.size, own.cost) == best)
        assert solve(graph, model=executor).cost == best[1]
    runs = judge(graphs, executor.subroutines(), [np.random.default_rng(0)] * 6)
    for run in runs:  # whoever fails has been seen to be wrong
        assert run.is_right or any(run.wrong.values()) or run.ending.words == "gave up"


@pytest.mark.parametrize("model", ["discrete", "classical"])
def test_a_story_tells_phases_steps_and_prices(model: str) -> None:
    graph = BipartiteGraph.from_costs(HOURS)
    story = watch(graph, model=model, many_paths=True)
    assert story["algorithm"] == "assignment" and story["graph"]["sense"] == "least"
    assert story["graph"]["costs"][6:8] == [4, -4] and story["graph"]["unit"] == [1, 1]
    steps = [round_["step"] for round_ in story["rounds"] if "step" in round_]
    assert steps and steps[-1]["verdict"] == "done" and steps[-1]["arcs"] == []
    price = story["rounds"][0]["price"]
    for round_ in story["rounds"]:
        assert round_["price"] == price
        for arc, (sender, receiver, _) in enumerate(story["graph"]["arcs"]):
            reduced = story["graph"]["costs"][arc] + price[sender] - price[receiver]
            assert reduced == round_["reduced"][arc]
            assert reduced >= 0 or round_["residual"][arc] == 0
        if "step" in round_:
            step = round_["step"]
            assert step["proposed"] == step["least"]
            grown = [now - was for now, was in zip(step["price"], price, strict=True)]
            inside = set(step["reached"])
            for node, more in enumerate(grown):
                assert more == (0 if node in inside or not step["least"] else step["least"][0])
            price = step["price"]
    solution = story["solution"]
    alone = solve(graph, model=model)
    assert solution["cost"] == 5 and solution["matching"] == [list(x) for x in alone.matching or []]
    assert solution["rounds"] == alone.rounds


def test_a_networks_story_has_two_stages() -> None:
    story = watch(NETWORK)
    roles = [node["role"] for node in story["graph"]["nodes"]]
    assert roles == ["source", "node", "sink", "excess", "shortage"]
    ends = [round_["ends"] for round_ in story["rounds"]]
    assert ends[0] == [3, 4] and ends[-1] == [0, 2]
    assert story["solution"]["cost"] == 7


def test_the_rows_say_what_they_are() -> None:
    for row, noun in ((ASSIGNMENT, "matching"), (MIN_COST_FLOW, "flow")):
        assert noun in row.problem and "least cost" in row.theorem and row.minds_costs


def test_what_flows_back_into_the_source_has_not_been_sent() -> None:
    """A round trip of one unit costs 5 − 9, whatever else flows."""
    columns = [0, 1, 1], [1, 0, 2], [2, 1, 1]
    network = CostNetwork.from_arcs(3, *columns, [5, -9, 1], source=0, sink=2)
    plain, round_trip = (
        objective(network, Answer(np.array(flow, np.int64), 0)) for flow in ([1, 0, 1], [2, 1, 1])
    )
    assert round_trip == plain - 4
    assert objective(network, Answer(np.zeros(3, np.int64), 0)) > plain
