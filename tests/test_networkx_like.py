"""Our flow_func honours NetworkX's contract: residual network, types, errors, cutoff."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networkx.algorithms.flow import build_residual_network, edmonds_karp

import augury
from augury import InputError, neural_ford_fulkerson
from augury.networkx_like import NotSupportedError

CAPACITIES = st.one_of(
    st.integers(-1, 9), st.integers(0, 9).map(float), st.just(float("inf")), st.none()
)


@st.composite
def flow_problems(draw: st.DrawFn) -> tuple[Any, str, str]:
    """Draw a graph or digraph with self loops and capacities of every kind that NetworkX takes."""
    names = "stabcde"
    pairs = draw(st.lists(st.tuples(*[st.sampled_from(names)] * 2), max_size=18, unique=True))
    graph: Any = draw(st.sampled_from([nx.Graph, nx.DiGraph]))()
    graph.add_nodes_from(names)
    for u, v in pairs:
        capacity = draw(CAPACITIES)
        graph.add_edge(u, v, **({} if capacity is None else {"room": capacity}))
    return graph, "s", "t"


def outcome(flow_func: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return the residual network, or the type and text of the error."""
    try:
        return flow_func(*args, **options)
    except nx.NetworkXException as error:
        return type(error), str(error)


@given(flow_problems())
def test_the_flow_is_maximum_and_the_residual_network_is_networkxs(
    problem: tuple[Any, str, str],
) -> None:
    graph, s, t = problem
    ours = outcome(neural_ford_fulkerson, graph, s, t, "room")
    theirs = outcome(edmonds_karp, graph, s, t, "room")
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    assert ours.graph["flow_value"] == theirs.graph["flow_value"]
    assert ours.graph["algorithm"] == "neural_ford_fulkerson"
    assert ours.graph["inf"] == theirs.graph["inf"]
    assert set(ours.edges) == set(theirs.edges)
    assert list(ours) == list(theirs)
    for u, v, attributes in ours.edges(data=True):
        assert attributes["capacity"] == theirs[u][v]["capacity"]
        assert attributes["flow"] == -ours[v][u]["flow"]
        assert attributes["flow"] <= attributes["capacity"]
    for node in ours:
        out = sum(attributes["flow"] for attributes in ours[node].values())
        assert out == ours.graph["flow_value"] * ((node == s) - (node == t))
    cut, (near, far) = nx.minimum_cut(graph, s, t, "room", flow_func=neural_ford_fulkerson)
    across = sum(ours[u][v]["capacity"] for u in near for v in ours[u] if v in far)
    assert cut == across == ours.graph["flow_value"]


@given(flow_problems(), st.one_of(st.integers(-1, 12), st.floats(-1, 12), st.just(float("inf"))))
def test_a_cutoff_is_reached_and_not_passed(problem: tuple[Any, str, str], cutoff: float) -> None:
    graph, s, t = problem
    full = outcome(neural_ford_fulkerson, graph, s, t, "room")
    if isinstance(full, tuple):
        return
    part = neural_ford_fulkerson(graph, s, t, "room", cutoff=cutoff)
    value = part.graph["flow_value"]
    enough = max(0, cutoff)
    assert value == full.graph["flow_value"] or value - 1 < enough <= value
    assert value <= full.graph["flow_value"]
    for node in part:
        out = sum(attributes["flow"] for attributes in part[node].values())
        assert out == value * ((node == s) - (node == t))


def test_a_residual_network_is_used_again() -> None:
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 3)])
    nx.set_edge_attributes(graph, {edge: {"capacity": 3} for edge in graph.edges})
    residual = build_residual_network(graph, "capacity")
    first = neural_ford_fulkerson(graph, 0, 3, residual=residual, cutoff=1)
    assert first is residual
    assert residual.graph["flow_value"] == 1
    assert neural_ford_fulkerson(graph, 0, 2, residual=residual) is residual
    assert [residual[u][v]["flow"] for u, v in graph.edges] == [3, 3, 0]
    residual[0][1]["capacity"] = 2  # the residual network counts, not the graph
    residual.__networkx_cache__ = cached = {"backends": {"of": "the last flow"}}  # type: ignore
    assert neural_ford_fulkerson(graph, 0, 3, residual=residual).graph["flow_value"] == 2
    assert cached == {}


@pytest.mark.parametrize("unit", [int, float, np.int64, np.float64, Fraction, Decimal, bool])
def test_values_have_the_type_that_networkx_gives_them(unit: Any) -> None:
    graph = nx.DiGraph()
    for u, v, capacity in (("s", "a", 1), ("a", "t", 1), ("s", "t", 1), ("a", "b", 1)):
        graph.add_edge(u, v, capacity=unit(capacity))
    answers = [
        nx.maximum_flow(graph, "s", "t", flow_func=f) for f in (neural_ford_fulkerson, edmonds_karp)
    ]
    assert answers[0] == answers[1]
    types = [[type(value), *(type(flow[u][v]) for u, v in graph.edges)] for value, flow in answers]
    assert types[0] == types[1]


def test_whole_floats_that_no_float_can_add_stay_exact() -> None:
    graph = nx.DiGraph()
    graph.add_edge("s", "a", capacity=2.0**53)
    graph.add_edge("s", "b", capacity=1.0)
    graph.add_edge("b", "a", capacity=1.0)
    graph.add_edge("a", "t", capacity=2.0**60)
    assert nx.maximum_flow_value(graph, "s", "t", flow_func=neural_ford_fulkerson) == 2**53 + 1


WRONG: list[tuple[Any, Any, Any]] = [
    (nx.path_graph(3), 9, 2),
    (nx.path_graph(3), 0, "x"),
    (nx.path_graph(3), 0, 0),
    (nx.path_graph(3), 0, 2),
    (nx.MultiGraph([(0, 1)]), 0, 1),
    (nx.MultiDiGraph([(0, 1)]), 5, 5),
    (nx.MultiDiGraph([(0, 1)]), 0, 1),
    (nx.Graph(), 0, 1),
]


@pytest.mark.parametrize(("graph", "s", "t"), WRONG)
def test_errors_are_networkxs(graph: Any, s: Any, t: Any) -> None:
    error = outcome(edmonds_karp, graph, s, t)
    assert isinstance(error, tuple)
    assert outcome(neural_ford_fulkerson, graph, s, t) == error


@pytest.mark.parametrize("capacity", [0.5, Fraction(7, 2), 1e-9])
def test_fractions_are_refused(capacity: Any) -> None:
    graph = nx.DiGraph()
    graph.add_edge("s", "t", capacity=capacity)
    with pytest.raises(NotSupportedError, match=r"between 's' and 't' is .* whole numbers"):
        neural_ford_fulkerson(graph, "s", "t")
    assert issubclass(NotSupportedError, nx.NetworkXError)


def test_63_bits_are_counted_and_more_are_refused() -> None:
    graph = nx.DiGraph()
    graph.add_edge("s", "t", capacity=2**63 - 1)
    assert neural_ford_fulkerson(graph, "s", "t").graph["flow_value"] == 2**63 - 1
    graph.add_edge("t", "s", capacity=1)
    with pytest.raises(NotSupportedError, match="counts from 0 to 9223372036854775807"):
        neural_ford_fulkerson(graph, "s", "t")
    unlimited = nx.DiGraph()
    unlimited.add_edge("s", "a", capacity=2**61)
    unlimited.add_edge("a", "t")
    assert neural_ford_fulkerson(unlimited, "s", "t").graph["flow_value"] == 2**61
    unlimited["s"]["a"]["capacity"] = 2**62
    with pytest.raises(NotSupportedError, match="unlimited capacity for three times the sum"):
        neural_ford_fulkerson(unlimited, "s", "t")


def test_a_sum_may_pass_63_bits() -> None:
    graph = nx.DiGraph()
    for middle in "abc":
        graph.add_edge("s", middle, capacity=2**62)
        graph.add_edge(middle, "t", capacity=2**62)
    assert neural_ford_fulkerson(graph, "s", "t").graph["flow_value"] == 3 * 2**62


def test_the_engine_can_be_named_and_is_the_compiled_one_by_default(engines_run: list[str]) -> None:
    graph: Any = nx.DiGraph()
    graph.add_edge("s", "t", capacity=1)
    for options in ({}, {"engine": "lookup"}):
        flow_func: Any = augury.neural_ford_fulkerson
        assert nx.maximum_flow_value(graph, "s", "t", flow_func=flow_func, **options) == 1
    assert engines_run == ["table", "lookup"]
    with pytest.raises(InputError, match="'fastest' is not one of the engines"):
        augury.neural_ford_fulkerson(graph, "s", "t", engine="fastest")


def test_it_is_a_public_name() -> None:
    assert augury.neural_ford_fulkerson is neural_ford_fulkerson
