"""Graphs with costs that are assigned together have the answers that each has alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from augury.tables import Settings, answers, assignments
from augury.tables.columns import MATCHING
from augury.tables.rows import by_themselves

whole = st.integers(-9, 9) | st.integers(-(2**54), 2**54)
tenths = st.integers(-30, 30).map(lambda value: value / 10)
floats = tenths | st.floats(width=32) | st.floats()


def rows_of(costs: Any) -> Any:
    edge = st.tuples(st.integers(0, 3), st.integers(0, 4), costs)
    return st.lists(st.lists(edge, max_size=9) | st.none(), min_size=1, max_size=6)


def table(rows: Any, kind: Any) -> pa.Table:
    types = pa.int32(), pa.int32(), kind
    columns = [
        pa.array([row and [e[k] for e in row] for row in rows], pa.list_(own))
        for k, own in enumerate(types)
    ]
    return pa.table(columns, names=["left", "right", "cost"])


def check(given: pa.Table, settings: Settings) -> None:
    found = answers(given, settings).to_pylist()
    assert found == by_themselves(given, MATCHING, settings).to_pylist()


@given(rows_of(whole), st.booleans())
def test_whole_costs_are_answered_as_of_each_graph_alone(rows: Any, maximise: bool) -> None:
    check(table(rows, pa.int64()), Settings(maximise=maximise))


@given(rows_of(floats), st.booleans())
@example([[(0, 0, 0.1), (1, 0, 0.3), (1, 1, 0.2)]], False)
@example([[(0, 0, 1 / 3), (1, 1, 1e-9)], [(0, 0, 0.5)]], True)  # rounded, and not
@example([[(0, 0, float("nan"))], [(0, 0, float("inf"))], [(0, 0, 1e300)], [(0, 0, 5e-324)]], False)
def test_other_costs_are_answered_as_of_each_graph_alone(rows: Any, maximise: bool) -> None:
    check(table(rows, pa.float64()), Settings(maximise=maximise))


def test_most_graphs_are_assigned_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither partial assignments nor rounded costs are left for others."""
    monkeypatch.setattr("augury.tables.by_themselves", pytest.fail)
    rng = np.random.default_rng(0)
    for kind, draw in ((pa.int64(), lambda: rng.integers(9)), (pa.float64(), rng.random)):
        edges = [np.argwhere(rng.random((6, 7)) < 0.3) for _ in range(50)]
        rows = [[(int(u), int(v), draw()) for u, v in own] for own in edges]
        found = answers(table(rows, kind), Settings())
        assert found["error"].null_count == len(rows)
        assert min(found["size"].to_pylist()) < 6


def test_a_cost_is_not_taken_for_another_graphs_unit() -> None:
    found = answers(
        table([[(0, 0, 0.25)], [(0, 0, 4e15)], [(0, 0, 1e-7)]], pa.float64()), Settings()
    )
    assert found["cost"].to_pylist() == [0.25, 4e15, 1e-7]


def test_a_bad_row_is_a_row_with_its_error_and_loses_no_other() -> None:
    ends = [[0, 1], [0, 1], [0, 1], [0, 1], [0, -1], [0, 1], [0, 1]]
    lists = pa.array(ends, pa.list_(pa.int32()))
    costs = [[3, 4], [3], [3, 4, 5], None, [3, 4], [3, None], [3, 5]]
    given = pa.table({"left": lists, "right": lists, "cost": pa.array(costs, pa.list_(pa.int64()))})
    found = answers(given, Settings())
    assert found["cost"].to_pylist() == [7, None, None, None, None, None, 8]
    assert [error and error.split(":")[0] for error in found["error"].to_pylist()] == [
        None,
        "the lists differ in length",
        "the lists differ in length",
        "the column 'cost' is empty",
        "edge 1 names left node -1, but there are 1",
        "entry 1 of the list 'cost' is empty",
        None,
    ]


def test_a_matching_that_is_not_maximum_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices of a smaller matching may be right: then only the cover can object."""
    right = assignments.assigned

    def smaller(cost: Any) -> Any:
        mates, price = right(cost)
        return np.full_like(mates, -1), np.zeros_like(price)

    monkeypatch.setattr(assignments, "assigned", smaller)
    check(table([[(0, 0, 3), (1, 1, 4)]], pa.int64()), Settings())
