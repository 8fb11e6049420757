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
    ([("a", "b"), ("a",)], (None, None), r"entry 1 is \('a',\): a matching is found in pairs"),
    ([("a", ["b"])], (None, None), "edge 0 is .* expected a pair of hashable labels"),
    ([("a", "b", 3)], (None, None), r"no name and may be costs: they are with alg.*; give pairs"),
    ([("a", "b"), ("a", "c", 3)], (None, None), "entry 1 is .* may be costs: .* or source and"),
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
        (
            {"ann": {"cook": 3}, "bob": ["cook"]},
            "the right nodes of 'ann' must be a list, not dict",
        ),
        ({"ann": {"cook": "3"}}, "the cost of 'ann', 'cook' is '3', not a number"),
        ({"ann": {"cook": float("nan")}}, "the cost of 'ann', 'cook' is nan, not a number"),
        ({"ann": {"cook": {"weight": 3}}}, "the cost of 'ann', 'cook' is .*, not a number"),
        ({"ann": 1}, "the right nodes of 'ann' must be a list, not int"),
        ({"ann": [["cook"]]}, "expected a pair of hashable labels"),
        ({"worker": ["ann", "bob"], "job": ["cook", "cook"]}, "can be left nodes or names of col"),
    ],
)
def test_a_wrong_dict_is_refused(adjacency: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_graph(adjacency)
    with pytest.raises(InputError, match="a dict has no capacities: give triples"):
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
        ({"job": ["b"], "WEIGHT": [3]}, (None, None), r"\(left, right, cost\) has more than 2"),
        ({"u": ["a"], "v": ["b"], "cost": [3], "price": [1]}, (None, None), "may both be costs"),
        ({"u": ["a"], "v": ["b"], "cost": [None]}, (None, None), "the column 'cost' is empty"),
        ({"u": ["a"], "v": ["b"], "cost": ["x"]}, (None, None), "cost of 'a', 'b' is 'x', not a n"),
        (
            {"u": ["a"], "v": ["b"], "Score": [3]},
            (None, None),
            "'Score' leaves open what is better",
        ),
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


@pytest.mark.parametrize("make", MAKERS)
def test_numbers_below_a_name_that_says_nothing_are_refused(make: Any) -> None:
    left, right = zip(*PAIRS, strict=True)
    frame = make({"worker": left, "job": right, "zeal": [4, 2, 1]})
    with pytest.raises(InputError, match=r"the column 'zeal' holds numbers and may be costs: .*;"):
        as_graph(frame)
    assert as_graph(make({"worker": left, "job": right, "day": [4, 2, 1]})) == JOBS
    assert as_graph(make({"worker": left, "job": right, "zeal": ["low", "4", ""]})) == JOBS


def test_a_frame_is_known_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)  # importing it would now fail
    left, right = map(list, zip(*PAIRS, strict=True))
    assert as_graph(PolarsFrame({"worker": left, "job": right})) == JOBS


@pytest.mark.parametrize("make", MAKERS)
def test_a_column_that_is_called_a_cost_holds_the_costs(make: Any) -> None:
    left, right = map(list, zip(*PAIRS, strict=True))
    frame = make({"hours": [4, 2.5, 1], "worker": left, "job": right})
    assert as_graph(frame) == BipartiteGraph.from_edges(PAIRS, costs=[4, 2.5, 1])
    assert solve(frame).cost == 5
    with pytest.raises(InputError, match="a column 'hours', but a matching of greatest card"):
        solve(frame, algorithm="ford-fulkerson")
    score = make({"worker": left, "job": right, "score": [4, 2, 1]})
    assert solve(score, maximise=True).cost == 5
    net = make({"u": ["s", "s"], "v": ["t", "t"], "cap": [3, 1], "price": [5, 2]})
    assert solve(net, source="s", sink="t").cost == 17


@pytest.mark.parametrize("make", MAKERS)
def test_a_column_without_a_name_holds_costs_if_the_caller_says_so(make: Any) -> None:
    left, right = map(list, zip(*PAIRS, strict=True))
    frame = make({"worker": left, "job": right, "x": [4, 2, 1]})
    assert as_graph(frame, costs=True) == BipartiteGraph.from_edges(PAIRS, costs=[4, 2, 1])


def test_triples_are_costs_if_the_caller_says_so() -> None:
    rows: list[Any] = [(*pair, cost) for pair, cost in zip(PAIRS, (4, 2**60, 1), strict=True)]
    with pytest.raises(InputError, match="a cost of 1152921504606846976 is too large"):
        as_graph(rows, costs=True)
    rows[1] = (*PAIRS[1], float("inf"))
    graph = as_graph(rows, costs=True)
    assert graph == BipartiteGraph.from_edges([PAIRS[0], PAIRS[2]], costs=[4, 1])
    for wrong, message in (
        (PAIRS, r"entry 0 is .*: a matching is found in triples \(left, right, cost\)"),
        ([("a", "b", None)], "the cost of 'a', 'b' is None, not a number"),
        ([("a", "b", 1), ("a", "b", 2)], "the edge 'a', 'b' has two costs, 1, 2"),
        ([[0, 1, 2], [1, 0, 3]], r"two ways: give `np.array\(rows\)` if"),
        ([("a", "b", -float("inf"))], "the cost at 0 is -inf"),
    ):
        with pytest.raises(InputError, match=message):
            as_graph(wrong, costs=True)
    assert as_graph([*rows[:1], ("a", "b", -float("inf"))], costs=True, maximise=True) is not None


def test_quadruples_are_arcs_with_costs_if_the_caller_says_so() -> None:
    rows = [("s", "a", 3, 1), ("a", "t", 2, 0), ("s", "t", 1, 5)]
    solution = solve(rows, source="s", sink="t", algorithm="min-cost-flow")
    assert (solution.size, solution.cost, solution.is_optimal) == (3, 7, True)
    with pytest.raises(InputError, match="may be costs: they are with algorithm='min-cost-flow'"):
        solve(rows, source="s", sink="t")
    with pytest.raises(InputError, match=r"entry 0 is .* a flow is found in quadruples"):
        solve(TRIPLES, source="s", sink="t", algorithm="min-cost-flow")


def test_a_dict_of_dicts_holds_costs() -> None:
    costs = {"ann": {"cook": 4}, "bob": {"cook": 2, "sing": 1}, "eve": {}}
    graph = as_graph(costs)
    assert isinstance(graph, BipartiteGraph) and graph.left_labels == ("ann", "bob", "eve")
    assert solve(costs).cost == 5
    with pytest.raises(InputError, match="a dict of dicts holds costs, but a matching of greatest"):
        solve(costs, algorithm="ford-fulkerson")
    with pytest.raises(InputError, match=r"costs in the form {left: {right: cost}}"):
        as_graph({"ann": ["cook"]}, costs=True)
