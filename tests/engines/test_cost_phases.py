"""The compiled form of small graphs with costs does as the plain one."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.classical.answer import Answer
from augury.classical.least_cost import Priced
from augury.engines import cost_phases, small_costs
from augury.engines.small_costs import solve_small
from costs import as_graph, cost_matrices, cost_networks

priced = st.one_of(cost_matrices().map(as_graph), cost_networks())


def solved_from(arcs: int, graphs: list[Priced]) -> list[Answer]:
    """Solve graphs, by compiled loops if they have more arcs together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_costs, "TINY", arcs)
        return solve_small(graphs)


def assert_equal(found: list[Answer], expected: list[Answer]) -> None:
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own.found, other.found)
        np.testing.assert_array_equal(own.price, other.price)
        assert own.neural_rounds == other.neural_rounds


@given(graphs=st.lists(priced, max_size=4))
@settings(max_examples=150)
def test_flows_prices_and_rounds_are_those_of_the_plain_form(graphs: list[Priced]) -> None:
    assert_equal(solved_from(0, graphs), solved_from(2**60, graphs))


def test_larger_ones_too() -> None:
    rng = np.random.default_rng(0)
    sizes = [(int(size), int(rng.integers(1, 15))) for size in rng.integers(1, 15, 40)]
    graphs: list[Priced] = []
    for size in sizes:
        cost = rng.integers(-50, 50, size).astype(float)
        cost[rng.random(size) < rng.choice([0, 0.5])] = np.inf
        graphs.append(as_graph(cost))
    assert_equal(solved_from(0, graphs), solved_from(2**60, graphs))


def test_a_list_is_solved_so_and_a_small_graph_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    small, own = as_graph(np.arange(12.0).reshape(3, 4)), cost_phases.run_all
    run: list[int] = []
    monkeypatch.setattr(
        cost_phases, "run_all", lambda *some: run.append(len(some[0])) or own(*some)
    )
    solve_small([small])
    assert small.num_arcs <= small_costs.TINY and not run
    solve_small([small] * 3)
    assert run == [3]


def test_numba_is_loaded_for_long_lists_alone() -> None:
    code = """
import sys
import numpy as np
from augury import BipartiteGraph, solve_batch

graphs = [BipartiteGraph.from_costs(np.arange(n * n).reshape(n, n)) for n in (6, 7, 8)]
few = solve_batch(graphs * 10)
assert few[0].engine == "table" and "numba" not in sys.modules
many = solve_batch(graphs * 200)
assert "augury.engines.cost_phases" in sys.modules
assert [(own.matching, own.prices) for own in many[:30]] == [
    (own.matching, own.prices) for own in few
]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
