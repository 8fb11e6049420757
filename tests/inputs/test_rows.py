"""Edges are read from pairs, triples, dicts and DataFrames; ambiguous input is refused."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd
import pytest

from augury import BipartiteGraph, FlowNetwork, InputError, solve
from augury.inputs import as_graph
from graphs import BRIDGE, JOBS

PAIRS = list(JOBS.edges())
TRIPLES = list(BRIDGE.arcs())


class Series:
    """A column as Polars has it."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def to_list(self) -> list[Any]:
        return list(self._values)


class PolarsFrame:
    """As much of a Polars DataFrame as is used: `columns` and `to_series`."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def to_series(self, index: int) -> Series:
        return Series(list(self._columns.values())[index])


PolarsFrame.__name__ = "DataFrame"
PolarsFrame.__module__ = "polars.dataframe.frame"


def real_polars(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


MAKERS: list[Any] = [pd.DataFrame, PolarsFrame, real_polars]


@pytest.mark.parametrize(
    "rows",
    [PAIRS, tuple(PAIRS), list(map(list, PAIRS)), [*PAIRS, PAIRS[0]]],
    ids=["tuples", "tuple", "lists", "twice"],
)
def test_a_list_of_pairs_is_a_graph(rows: Any) -> None:
    assert as_graph(rows) == JOBS
    assert solve(rows).matching == solve(JOBS).matching


def test_a_list_of_triples_is_a_network_with_source_and_sink() -> None:
    for rows in (TRIPLES, list(map(list, TRIPLES))):
        assert as_graph(rows, "s", "t") == BRIDGE
    assert solve([], model="classical").size == 0


WRONG_ROWS: list[tuple[Any, tuple[Any, Any], str]] = [
    (["ab", "cd"], (None, None), "entry 0 of the list is 'ab': a graph is a list of pairs"),
    ([("a", "b"), 7], (None, None), "entry 1 of the list is 7: a graph is a list of pairs"),
    ([("a", "b"), 7], ("a", "b"), r"is 7: a graph is a list of triples \(tail, head, capacity\)"),
    ([("a", "b"), ("a",)], (None, None), "edge 1 is .* expected a pair of hashable labels"),
    ([("a", ["b"])], (None, None), "edge 0 is .* expected a pair of hashable labels"),
    ([("a", "b", 3)], (None, None), "triple .* greatest cardinality would ignore costs"),
    ([("a", "b"), ("a", "c", 3)], (None, None), "entry 1 is the triple .* cardinality"),
    ([("a", "b")], ("a", "b"), r"entry 0 is \('a', 'b'\): a flow is found in triples"),
    ([("a", "b", 3)], ("a", "x"), "'x' is not a node"),
    ([("a", "b", 0.5)], ("a", "b"), "capacity 0 is 0.5, not a whole number"),
    ([("a", ["b"], 3)], ("a", "b"), "arc 0 is .*expected"),
    ([[0, 1], [1, 0]], (None, None), r"numbers can be read in two ways: give `np.array\(rows\)"),
    ([[0.5, 1.5, 2], [1, 0, 3]], (None, None), "can be read in two ways"),
    ([[True, False]], (None, None), "can be read in two ways"),
    ([[0, 1, 5]], (0, 1), r"or \[tuple\(row\) for row in rows\] if its rows are edges or arcs"),
]


@pytest.mark.parametrize(("rows", "ends", "message"), WRONG_ROWS)
def test_wrong_rows_are_refused(rows: Any, ends: tuple[Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_graph(rows, *ends)


def test_a_dict_of_lists_has_the_right_nodes_of_each_left_one() -> None:
    adjacency = {"ann": ["cook"], "bob": ("cook", "sing")}
    assert as_graph(adjacency) == JOBS
    graph = as_graph(adjacency | {"eve": []})
    assert isinstance(graph, BipartiteGraph)
    assert (graph.left_labels, graph.num_edges) == (("ann", "bob", "eve"), 3)


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        ({"ann": "cook"}, "the right nodes of 'ann' must be a list, not str"),
        ({"ann": {"cook"}}, "the right nodes of 'ann' must be a list, not set"),
        ({"ann": {"cook": 3}}, "the right nodes of 'ann' must be a list, not dict"),
        ({"ann": 1}, "the right nodes of 'ann' must be a list, not int"),
        ({"ann": [["cook"]]}, "expected a pair of hashable labels"),
        ({"worker": ["ann", "bob"], "job": ["cook", "cook"]}, "can be left nodes or names of col"),
    ],
)
def test_a_wrong_dict_is_refused(adjacency: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_graph(adjacency)
    with pytest.raises(InputError, match="a dict of lists has no capacities"):
        as_graph(adjacency, "ann", "cook")


@pytest.mark.parametrize("make", MAKERS)
def test_the_columns_of_a_frame_are_found_by_name_or_are_the_first(make: Any) -> None:
    left, right = map(list, zip(*PAIRS, strict=True))
    assert as_graph(make({"worker": left, "job": right})) == JOBS
    assert as_graph(make({"worker": left, "job": right, "year": [2020] * 3})) == JOBS
    assert as_graph(make({"id": [7, 8, 9], "Right": right, "LEFT ": left})) == JOBS
    tail, head, capacity = map(list, zip(*TRIPLES, strict=True))
    for columns in (
        {"from": tail, "to": head, "litres": capacity},
        {"Capacity": capacity, "from": tail, "to": head},
        {"note": tail, "head": head, "tail": tail, "cap": capacity},
    ):
        network = as_graph(make(columns), "s", "t")
        assert isinstance(network, FlowNetwork)
        assert sorted(network.arcs()) == sorted(BRIDGE.arcs())


@pytest.mark.parametrize("make", MAKERS)
def test_two_columns_of_numbers_are_labels_unless_they_can_be_a_matrix(make: Any) -> None:
    graph = as_graph(make({"user": [10, 11, 11], "item": [3, 3, 4]}))
    assert isinstance(graph, BipartiteGraph)
    assert list(graph.edges()) == [(10, 3), (11, 3), (11, 4)]
    assert solve(make({"left": [0, 1], "right": [0, 1]})).size == 2
    for columns in (
        {"cook": [0, 1], "sing": [1, 1]},
        {"cook": [0.5, 1], "sing": [2.5, 1]},
        {"cook": [True, False], "sing": [True, True]},
        {"user": [10, 11], "item": [3, 4], "year": [2020, 2021]},
        {"worker": ["ann", "bob"], "cook": [0, 1], "sing": [1, 1]},
        {"worker": ["ann", "bob"], "cook": [0, 1]},
    ):
        with pytest.raises(InputError, match=r"a matrix or a list of rows: give `frame.to_numpy"):
            as_graph(make(columns))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("columns", "ends", "message"),
    [
        (
            {"worker": ["a"], "job": ["b"], "Cost": [3]},
            (None, None),
            "a column 'Cost', but a match",
        ),
        ({"job": ["b"], "WEIGHT": [3]}, (None, None), "greatest cardinality would ignore costs"),
        ({"u": ["a"], "v": ["b"], "cap": [3], "price": [1]}, ("a", "b"), "a flow of greatest val"),
        (
            {"worker": ["a", None], "job": ["b", "c"]},
            (None, None),
            "row 1 of the column 'worker' i",
        ),
        ({"u": ["a"], "v": ["b"], "cap": [None]}, ("a", "b"), "row 0 of the column 'cap' is empty"),
        ({"u": ["a"], "v": ["b"], "cap": [3]}, (None, None), "'cap' makes this a flow network"),
        ({"worker": ["a"]}, (None, None), r"pairs \(left, right\) has more than 1 columns"),
        ({"u": ["a"], "v": ["b"]}, ("a", "b"), "has more than 2 columns"),
        ({"u": ["a"], "v": ["b"], "cap": [1.5]}, ("a", "b"), "capacity 0 is 1.5, not a whole"),
    ],
)
def test_wrong_frames_are_refused(make: Any, columns: Any, ends: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_graph(make(columns), *ends)


def test_a_pandas_frame_whose_rows_have_names_can_be_a_matrix() -> None:
    matrix = pd.DataFrame([[3, 0], [5, 2]], index=["ann", "bob"], columns=["cook", "sing"])
    grouped = pd.DataFrame(PAIRS, columns=["a", "b"], index=pd.Index([4, 5, 6], name="worker"))
    unnamed = pd.DataFrame(PAIRS)
    for frame in (matrix, grouped, unnamed):
        with pytest.raises(InputError, match="can be a matrix or a list of rows"):
            as_graph(frame)
    kept = pd.DataFrame(PAIRS, columns=["worker", "job"]).iloc[[2, 0]]
    assert solve(kept).size == 2


@pytest.mark.parametrize("missing", [float("nan"), None, pd.NA, pd.NaT])
def test_what_is_missing_is_no_label(missing: Any) -> None:
    for dtype in (object, "category"):
        jobs = pd.Series(["cook", missing], dtype=dtype)
        frame = pd.DataFrame({"worker": ["ann", "bob"], "job": jobs})
        with pytest.raises(InputError, match="row 1 of the column 'job' is empty"):
            as_graph(frame)


def test_a_frame_is_known_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)  # importing it would now fail
    left, right = map(list, zip(*PAIRS, strict=True))
    assert as_graph(PolarsFrame({"worker": left, "job": right})) == JOBS
