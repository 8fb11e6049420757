import math

import pytest
from samples import file_with

from augury.classical.formats import write_graph
from augury.classical.formats.costs import (
    check_sense,
    cost_of,
    is_cost,
    read_supplies,
    refuse_infinite,
)
from augury.classical.graph import BipartiteGraph
from augury.errors import InputError


def test_costs_are_known_by_the_words_of_a_name():
    for name in ("cost", "Unit Price", "total_cost", "hours", "travel-time", "WEIGHT", "score"):
        assert is_cost(name), name
    for name in ("day", "costume", "job", "weighty", ""):
        assert not is_cost(name), name


def test_a_name_that_leaves_the_sense_open_needs_a_word():
    check_sense("hours", None)
    for maximise in (True, False):
        check_sense("Expected profit", maximise)
    with pytest.raises(InputError, match="'Expected profit' leaves open what is better"):
        check_sense("Expected profit", None)


def test_costs_are_parsed_exactly():
    for text, value in {
        "3": 3,
        "-4": -4,
        "+5": 5,
        "007": 7,
        f"{2**62 + 1}": 2**62 + 1,
        "2.5": 2.5,
        "1e3": 1000,
        "inf": math.inf,
        "-Infinity": -math.inf,
    }.items():
        assert cost_of(text, 1) == value, text
    for text in ("", "x", "nan", "1_0", "1e999", "-1e400", "1,5", "1 2", "0x10"):
        with pytest.raises(InputError, match="not a number"):
            cost_of(text, 1)


def test_only_the_bad_infinity_is_no_edge():
    refuse_infinite(math.inf, 1, None)
    refuse_infinite(-math.inf, 1, True)
    for cost, maximise in ((-math.inf, None), (-math.inf, False), (math.inf, True)):
        with pytest.raises(InputError, match="infinitely good"):
            refuse_infinite(cost, 1, maximise)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,3\nb,-3\n", {"a": 3, "b": -3}),
        ("node,supply\na,3\nb,-3\n", {"a": 3, "b": -3}),
        ("node;Demand\na;-3\nb;3\n", {"a": 3, "b": -3}),
        ("# mine\na\t3.0\n", {"a": 3}),
        ("node,amount\n", {}),
    ],
)
def test_supplies_are_read(tmp_path, content, expected):
    assert read_supplies(file_with(tmp_path / "supply.csv", content)) == expected


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        ("a,3\na,4\n", "line 2: 'a' has two supplies"),
        ("a,3\nb\n", "line 2: expected node, amount, not 1 columns"),
        ("a,x\n", "line 1: the supply is 'x', not a whole number"),
        ("a,1.5\n", "line 1: the supply is 1.5, not a whole number"),
        ("a,--5\n", "line 1: the supply is -5, which is negative"),
    ],
)
def test_wrong_supplies_are_refused_with_their_line(tmp_path, content, fragment):
    with pytest.raises(InputError) as caught:
        read_supplies(file_with(tmp_path / "supply.csv", content))
    assert fragment in str(caught.value) and "supply.csv" in str(caught.value)


def test_rounded_costs_are_not_written(tmp_path):
    graph = BipartiteGraph.from_edges([("a", "b"), ("a", "c")], costs=[2.0**50, 1e-9])
    assert graph.costs is not None and graph.costs.error
    for ending in (".csv", ".json", ".npz", ".mtx", ".asn"):
        with pytest.raises(InputError, match="were rounded, and are not written"):
            write_graph(graph, tmp_path / f"graph{ending}")
