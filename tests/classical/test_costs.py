"""Costs in any numbers, as whole numbers of a unit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import BipartiteGraph, InputError
from augury.classical.costs import BLOCK, MAX_TOTAL, Costs, no_edge


def test_whole_numbers_stay_what_they_are() -> None:
    costs = Costs.of([3, -4, 2**52 + 1, 2.0], 2)
    assert costs.amount.tolist() == [3, -4, 2**52 + 1, 2] and (costs.unit, costs.error) == (1, 0)
    assert costs.worth(7) == 7 and isinstance(costs.worth(7), int)
    assert Costs.of(np.array([True, False]), 2).amount.tolist() == [1, 0]


def test_decimals_are_tenths_and_not_binary_fractions() -> None:
    costs = Costs.of([12.5, 0.1, -3.07], 10)
    assert costs.amount.tolist() == [1250, 10, -307]
    assert (costs.unit, costs.error) == (Fraction(1, 100), 0)
    assert costs.worth(10) == 0.1


def test_binary_fractions_are_exact_where_they_fit() -> None:
    given = np.ldexp(np.array([1.0, 3.0, 5.0]), -30) + 1
    costs = Costs.of(given, 4)
    assert costs.error == 0
    assert [Fraction(x) for x in given] == [int(x) * costs.unit for x in costs.amount]


@given(
    st.lists(st.floats(-1e12, 1e12, allow_nan=False), min_size=1, max_size=6), st.integers(1, 1000)
)
def test_no_cost_is_further_off_than_the_error_says(values: list[float], num_nodes: int) -> None:
    costs = Costs.of(np.array(values), num_nodes)
    # A power of ten reads back as the same float; a power of two is off by `error` at most.
    for value, amount in zip(values, costs.amount.tolist(), strict=True):
        if costs.unit.denominator % 10 == 0 or costs.unit == 1:
            assert float(amount * costs.unit) == value
        else:
            assert abs(amount * costs.unit - Fraction(value)) <= costs.error
    assert int(np.abs(costs.amount).max()) * (num_nodes + 4) <= MAX_TOTAL


@pytest.mark.parametrize("at", [0, BLOCK - 1, BLOCK, 2 * BLOCK + 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_cost_among_many_decides_wherever_it_is(at: int, dtype: type[np.floating]) -> None:
    values = np.full(2 * BLOCK + 2, 2.0, dtype)
    values[at] = 0.5
    assert Costs.of(values, 4).unit == Fraction(1, 10)
    values[at] = 1 + 2**-20
    binary = Costs.of(values, 4)
    assert binary.error == 0
    assert [binary.amount[k] * binary.unit for k in (at, at - 1)] == [Fraction(1 + 2**-20), 2]
    values[at] = 1e-30
    assert Costs.of(values, 4).error > 0
    for wrong in (np.nan, np.inf, -np.inf):
        values[at] = wrong
        with pytest.raises(InputError, match=f"cost {at} is {wrong}"):
            Costs.of(values, 4)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, float("nan")], "cost 1 is nan, not a finite number"),
        ([float("inf")], "cost 0 is inf"),
        ([2**58], "too large for 8 nodes: sums could pass 63 bits"),
        ([MAX_TOTAL // 12 + 1], "too large"),
        ([-(2**62)], "too large"),
        ([1e300], "too large"),
        (["3"], "holds text"),
        ([1j], "not complex"),
        ([[1]], "2-dimensional"),
        (np.ma.masked_equal([1, 2], 2), "masked"),
    ],
)
def test_what_is_no_cost_is_refused(values: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Costs.of(values, 8)


def test_infinitely_bad_is_no_edge_and_infinitely_good_is_refused() -> None:
    matrix = np.array([[1, np.inf], [2, 3]])
    missing = no_edge(matrix, maximise=False)
    assert missing is not None and missing.tolist() == [[False, True], [False, False]]
    assert no_edge(matrix[1], maximise=False) is None
    with pytest.raises(InputError, match="the cost at 0, 1 is inf"):
        no_edge(matrix, maximise=True)
    with pytest.raises(InputError, match=r"the cost at 1, 0 is not a number \(NaN\)"):
        no_edge(np.array([[0.0], [np.nan]]), maximise=False)


def test_a_graph_sorts_its_costs_with_its_edges() -> None:
    ends = np.array([1, 0, 1, 1]), np.array([0, 2, 2, 0])
    graph = BipartiteGraph(2, 3, *ends, costs=[5, 6, 7, 5])  # type: ignore[arg-type]
    assert list(graph.pairs()) == [(0, 2), (1, 0), (1, 2)]
    assert graph.costs is not None and graph.costs.amount.tolist() == [6, 5, 7]
    for one, other in ((5, 8), (8, 5)):
        with pytest.raises(InputError, match=f"the edge 1, 0 has two costs, {one}, {other}"):
            BipartiteGraph(2, 3, *ends, costs=[one, 6, 7, other])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="3 costs do not pair with 4 edges"):
        BipartiteGraph(2, 3, *ends, costs=[5, 6, 7])  # type: ignore[arg-type]


def test_graphs_with_other_costs_are_other_graphs() -> None:
    one, same, other = (BipartiteGraph.from_costs([[1, cost]]) for cost in (2, 2, 3))
    assert one == same and one != other and one != BipartiteGraph.from_dense([[1, 1]])
