"""The NetworkX backend loads without PyTorch, runs only when named, and agrees with NetworkX."""

from __future__ import annotations

import bz2
import importlib.resources
import pickle
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networkx.algorithms.flow import edmonds_karp

import augury
from augury import BipartiteGraph, InputError, solver
from augury.networkx_backend import FLOW, FUNCTIONS, TIES, get_info, on_start_tests
from documents import ROOT, run_python
from graphs import bipartite_graphs

maximum_matching: Any = nx.bipartite.maximum_matching
PRIORITY: Any = nx.config.backend_priority
FLOW_FUNCTIONS = [name for name, text in FUNCTIONS.items() if text == FLOW]

#   s ──3──▶ a ──2──▶ t     The edge from b to t has no limit.
#   └─1─▶ b ─────────▲
PIPES: Any = nx.DiGraph()
PIPES.add_edge("s", "a", capacity=3)
PIPES.add_edge("a", "t", capacity=2)
PIPES.add_edge("s", "b", capacity=1)
PIPES.add_edge("b", "t")


def test_networkx_finds_the_backend_and_reads_about_it_without_pytorch() -> None:
    code = (
        "import sys, networkx as nx; nx.maximum_flow.__doc__; nx.utils.backends.backend_info; "
        "import augury.networkx_backend as b; b.get_info(); "
        "print('augury' in nx.config.backends, 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False False\n"


def test_what_it_says_it_can_do_it_can() -> None:
    info = get_info()
    assert info["backend_name"] == "augury"
    for name in info["functions"]:
        assert callable(getattr(augury.networkx_backend, name))  # type: ignore[attr-defined]
        function = getattr(nx if hasattr(nx, name) else nx.bipartite, name)
        assert "augury : " in function.__doc__


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect what our network is asked to solve."""
    asked: list[Any] = []
    answers = solver.Runner.answers

    def heard(runner: Any, graphs: Any, how: Any) -> Any:
        asked.extend(graphs)
        return answers(runner, graphs, how)

    monkeypatch.setattr(solver.Runner, "answers", heard)
    return asked


def test_it_runs_only_when_it_is_named(runs: list[Any]) -> None:
    assert nx.maximum_flow_value(PIPES, "s", "t") == 3
    maximum_matching(nx.path_graph(4))
    assert not runs
    assert nx.maximum_flow_value(PIPES, "s", "t", backend="augury") == 3
    assert len(runs) == 1
    with PRIORITY(algos=["augury"]):
        assert nx.maximum_flow_value(PIPES, "s", "t") == 3
        maximum_matching(nx.path_graph(4))
    assert len(runs) == 3


CALLS: list[tuple[Any, tuple[Any, ...], int]] = [
    # function, arguments, how often it runs our network
    (nx.bipartite.maximum_matching, (nx.path_graph(4),), 1),
    (nx.bipartite.minimum_weight_full_matching, (nx.path_graph(4),), 1),
    (nx.max_weight_matching, (nx.path_graph(4),), 1),
    *((getattr(nx, name), (PIPES, "s", "t"), 1) for name in FLOW_FUNCTIONS),
    (nx.max_flow_min_cost, (PIPES, "s", "t"), 2),
    *((f, (PIPES,), 1) for f in (nx.network_simplex, nx.min_cost_flow, nx.min_cost_flow_cost)),
]


@pytest.mark.parametrize(("function", "args", "times"), CALLS)
def test_the_engine_can_be_named_and_is_the_compiled_one_by_default(
    function: Any, args: tuple[Any, ...], times: int, engines_run: list[str]
) -> None:
    for engine in ("table", "lookup"):
        function(*args, backend="augury", engine=engine)
    function(*args, backend="augury")
    assert engines_run == [name for name in ("table", "lookup", "table") for _ in range(times)]
    with pytest.raises(InputError, match="'fastest' is not one of the engines"):
        function(*args, backend="augury", engine="fastest")


@given(bipartite_graphs(), st.booleans())
def test_a_matching_is_legal_and_as_large_as_networkxs(
    graph: BipartiteGraph, is_other_side: bool
) -> None:
    G = graph.to_networkx()
    side = 1 if is_other_side else 0
    top = [node for node, which in G.nodes(data="bipartite") if which == side]
    ours = maximum_matching(G, top_nodes=iter(top), backend="augury")
    theirs = maximum_matching(G, top_nodes=top)
    assert type(ours) is dict
    assert len(ours) == len(theirs)
    assert all(G.has_edge(u, v) and ours[v] == u for u, v in ours.items())


def test_the_southern_women_are_matched() -> None:
    G = nx.davis_southern_women_graph()
    for top_nodes in (None, G.graph["top"], G.graph["bottom"]):
        matching = maximum_matching(G, top_nodes, backend="augury")
        assert len(matching) == len(maximum_matching(G, top_nodes)) == 28
        cover: Any = nx.bipartite.to_vertex_cover(G, matching, top_nodes)
        assert len(cover) == 14


def test_of_a_digraph_only_edges_from_top_nodes_count() -> None:
    G = nx.DiGraph([("a", 1), (2, "b"), ("b", 1)])
    assert maximum_matching(G, ["a", "b"], backend="augury") in ({"a": 1, 1: "a"}, {"b": 1, 1: "b"})
    assert len(maximum_matching(G, ["a", "b"])) == 2


@pytest.mark.parametrize(
    ("graph", "top_nodes"),
    [
        (nx.Graph(), None),
        (nx.empty_graph(3), None),
        (nx.Graph([(0, 1), (2, 3)]), None),
        (nx.complete_graph(3), None),
        (nx.path_graph(3), [[]]),
    ],
)
def test_errors_of_matchings_are_networkxs(graph: Any, top_nodes: Any) -> None:
    with pytest.raises((nx.NetworkXException, TypeError)) as theirs:
        maximum_matching(graph, top_nodes)
    with pytest.raises((nx.NetworkXException, TypeError)) as ours:
        maximum_matching(graph, top_nodes, backend="augury")
    assert (ours.type, str(ours.value)) == (theirs.type, str(theirs.value))


@pytest.mark.parametrize(
    ("top_nodes", "message"),
    [
        ([0], "of the edge 1, 2 they name neither end"),
        ([0, 1], "of the edge 0, 1 they name both ends"),
        ([], "of the edge 0, 1 they name neither end"),
        ([0, 2, 9], "top_nodes names 9, which is not in the graph"),
    ],
)
def test_top_nodes_that_are_not_one_side_are_refused(top_nodes: list[int], message: str) -> None:
    with pytest.raises(nx.NetworkXError, match=message):
        maximum_matching(nx.path_graph(4), top_nodes, backend="augury")


@pytest.mark.parametrize("name", FLOW_FUNCTIONS)
def test_flows_and_cuts_are_networkxs(name: str, runs: list[Any]) -> None:
    function = getattr(nx, name)
    assert function(PIPES, "s", "t", backend="augury") == function(PIPES, "s", "t")
    assert len(runs) == 1
    options = {"flow_func": augury.neural_ford_fulkerson, "cutoff": 1}
    part = function(PIPES, "s", "t", backend="augury", **options)
    assert (part[0] if isinstance(part, tuple) else part) == 1
    for wrong in ({"flow_func": 3}, {"cutoff": 1}, {"flow_func": "dinitz", "cutoff": 1}):
        with pytest.raises(nx.NetworkXError) as theirs:
            function(PIPES, "s", "t", **wrong)
        with pytest.raises(nx.NetworkXError, match=str(theirs.value)):
            function(PIPES, "s", "t", backend="augury", **wrong)


@pytest.mark.parametrize("name", FLOW_FUNCTIONS)
def test_what_is_not_supported_goes_to_the_next_backend(name: str, runs: list[Any]) -> None:
    function = getattr(nx, name)
    halves: Any = nx.DiGraph()
    halves.add_edge(0, 1, capacity=0.5)
    with pytest.raises(NotImplementedError) as refused:
        function(halves, 0, 1, backend="augury")
    assert "whole numbers" in str(refused.value.__cause__)
    with pytest.raises(NotImplementedError) as refused:
        function(PIPES, "s", "t", flow_func=edmonds_karp, backend="augury")
    assert "leave out flow_func or backend" in str(refused.value.__cause__)
    with PRIORITY(algos=["augury"]):
        assert function(halves, 0, 1) == function.__wrapped__(halves, 0, 1)
        function(PIPES, "s", "t", flow_func=edmonds_karp)
    assert not runs


def test_a_graph_may_change_between_calls_and_no_warning_is_given() -> None:
    G = PIPES.copy()
    assert nx.maximum_flow_value(G, "s", "t", backend="augury") == 3
    G["s"]["a"]["capacity"] = 1  # NetworkX would not notice this, had it kept a conversion
    assert nx.maximum_flow_value(G, "s", "t", backend="augury") == 2
    B = nx.path_graph(4)
    assert len(maximum_matching(B, backend="augury")) == 4
    assert len(maximum_matching(B, [0, 2], backend="augury")) == 4


def test_a_network_that_networkx_ships_is_solved() -> None:
    file = importlib.resources.files("networkx.algorithms.flow.tests") / "netgen-2.gpickle.bz2"
    G = pickle.loads(bz2.decompress(file.read_bytes()))
    rng = np.random.default_rng(0)
    values = []
    for s, t in rng.choice(list(G), (3, 2), replace=False).tolist():
        values.append(nx.maximum_flow_value(G, s, t))
        assert nx.maximum_flow_value(G, s, t, backend="augury") == values[-1]
    assert any(values)


PAGE = ROOT / "docs" / "networkx.md"


def test_the_page_names_every_function_and_its_examples_run() -> None:
    table = PAGE.read_text("utf-8").partition("## Functions")[2].partition("\n## ")[0]
    told = re.findall(r"^\| `(?:bipartite\.)?(\w+)` \|", table, re.MULTILINE)
    assert sorted(told) == sorted(FUNCTIONS)
    run_python(PAGE)


def test_tests_that_demand_one_of_several_answers_are_marked() -> None:
    marks: dict[Any, Any] = {}
    names = [*TIES, ("test_dag.py", "test_digraph1")]
    on_start_tests(
        SimpleNamespace(
            path=Path(file), name=name, add_marker=partial(marks.__setitem__, (file, name))
        )
        for file, name in names
    )
    assert list(marks) == names[:-1]
    assert all(mark.name == "xfail" and mark.kwargs["strict"] for mark in marks.values())


def test_those_tests_get_a_right_answer() -> None:
    """The flow costs the same, and the tour is what its test says that a tour must be."""
    G: Any = nx.DiGraph()
    G.add_node(1, demand=-20)
    G.add_node(4, demand=5)
    G.add_node(5, demand=15)
    arcs = [(1, 2, 15, 4), (1, 3, 8, 4), (2, 3, None, 2), (2, 4, 4, 2), (2, 5, 10, 6)]
    for u, v, capacity, weight in [
        *arcs,
        (3, 4, 15, 1),
        (3, 5, 5, 3),
        (4, 5, None, 2),
        (5, 3, 4, 1),
    ]:
        G.add_edge(u, v, weight=weight, **({} if capacity is None else {"capacity": capacity}))
    cost, flow = nx.network_simplex(G, backend="augury")
    assert cost == nx.network_simplex(G)[0] == nx.cost_of_flow(G, flow) == 150
    edges = [(0, 1, 100), (0, 2, 100), (0, 5, 1), (1, 2, 100), (1, 4, 1), (2, 3, 1)]
    edges += [(3, 4, 100), (3, 5, 100), (4, 5, 100)]
    roads: Any = nx.DiGraph()
    roads.add_weighted_edges_from([*edges, *((v, u, weight) for u, v, weight in edges)])
    method = nx.approximation.asadpour_atsp
    with nx.config(fallback_to_nx=True), PRIORITY(algos=["augury"]):
        tour = nx.approximation.traveling_salesman_problem(roads, method=method, seed=19)
    assert tour[0] == tour[-1] and set(tour) == set(roads)
    assert nx.path_weight(roads, tour, "weight") <= 3.0723 * 304
