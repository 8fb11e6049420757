"""A pytest plugin that replaces functions of SciPy and NetworkX with ours.

    pytest -p in_their_place --report-to FILE --pyargs networkx.algorithms.flow.tests.test_maxflow

The peers' own tests then judge us. The report says of each test how it ended, and how often it
made our network search: a test that never did says nothing about us. With `--spoil` our answers are
made wrong by one unit or one pair, and the tests have to notice.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

FLOW_FUNCS = ("boykov_kolmogorov", "dinitz", "edmonds_karp", "shortest_augmenting_path")
"""Of NetworkX; `preflow_push` stays, for its tests are about options that only it has."""

ONE_ANSWER = {
    "optimize/tests/test_linear_assignment.py::test_constant_cost_matrix": (
        "all 40,320 assignments cost the same, and the test demands one"
    ),
    "bipartite/tests/test_matching.py::TestMatching::test_hopcroft_karp_matching_simple": (
        "K(2, 3) has six maximum matchings, and the test demands one"
    ),
}
"""Tests that demand one of several right answers; whether they pass is luck, so they do not run."""

REFUSED = {
    "flow/tests/test_maxflow_large_graph.py::TestMaxflowLargeGraph::test_pyramid": (
        "capacities are fractions, which neural_ford_fulkerson refuses"
    ),
}
"""Tests of what we refuse by design; they have to fail."""

SLOW = {
    "flow/tests/test_maxflow_large_graph.py::TestMaxflowLargeGraph::test_gl1": "762 rounds",
    "flow/tests/test_maxflow_large_graph.py::TestMaxflowLargeGraph::test_wlm3": "621 rounds",
    "flow/tests/test_mincost.py::TestMinCostFlow::test_large": (
        "the same network as in test_networksimplex.py"
    ),
    "tests/test_gomory_hu.py::TestGomoryHuTree::test_default_flow_function_karate_club_graph": (
        "the same as test_karate_club_graph, for the default is ours too"
    ),
    "tests/test_gomory_hu.py::TestGomoryHuTree::test_karate_club_graph": "1,893 searches",
    "tests/test_gomory_hu.py::TestGomoryHuTree::test_davis_southern_women_graph": "1,733 searches",
    "tests/test_cuts.py::test_node_cutset_random_graphs": "1,479 searches",
    "tests/test_connectivity.py::test_complete_graphs": "990 searches",
    "tests/test_connectivity.py::TestAllPairsNodeConnectivity::test_complete": "735 searches",
    "tests/test_connectivity.py::test_articulation_points": "588 searches",
    "tests/test_gomory_hu.py::TestGomoryHuTree::test_florentine_families_graph": "313 searches",
    "tests/test_cuts.py::test_edge_cutset_random_graphs": "270 searches",
    "tests/test_connectivity.py::TestAllPairsNodeConnectivity::"
    "test_all_pairs_connectivity_icosahedral": "259 searches",
    "tests/test_connectivity.py::test_tutte": "252 searches",
    "tests/test_cuts.py::test_articulation_points": "196 searches",
    "flow/tests/test_maxflow_large_graph.py::TestMaxflowLargeGraph::"
    "test_preflow_push_global_relabel": "no search of ours",
}
"""Tests that run only with `--patient`, and with them those that NetworkX itself marks slow."""

SHORTER = {
    "optimize/tests/test_linear_assignment.py::"
    "test_two_methods_give_same_result_on_many_sparse_inputs": (100, 3),
    "csgraph/tests/test_flow.py::test_add_reverse_edges_large_graph": (100_000, 1_000),
    "flow/tests/test_maxflow.py::TestCutoff::test_cutoff": (1_000, 100),
    "flow/tests/test_maxflow.py::test_shortest_augmenting_path_two_phase": (1_000, 100),
}
"""Numbers in tests that are made smaller: the network takes a step for each arc of a path, and a
hundred phases for each of a hundred assignments."""


COUNTS = {"searches": 0, "classical_rounds": 0}
"""So far: searches of our network, and rounds in which the classical search had to help it."""

TESTS: dict[str, dict[str, Any]] = {}
"""What is known of each test: how it ended, its own counts, and its seconds of one core."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--report-to", help="file for the report, as JSON")
    parser.addoption("--patient", action="store_true", help="run slow tests too")
    parser.addoption("--spoil", action="store_true", help="make every answer of ours wrong")


def pytest_configure(config: pytest.Config) -> None:
    # NetworkX's conftest is found too late for its own option on the command line.
    config.option.runslow = bool(config.getoption("--patient"))
    _count()
    is_spoilt = bool(config.getoption("--spoil"))
    _replace_scipy(is_spoilt)
    _replace_networkx(is_spoilt)


def _count() -> None:
    from augury import solver
    from augury.algorithms.executor import CellExecutor

    search, answers = CellExecutor.search, solver.Runner.answers

    @functools.wraps(search)
    def counted_search(*args: Any) -> Any:
        COUNTS["searches"] += 1
        return search(*args)

    @functools.wraps(answers)
    def counted_answers(*args: Any) -> Any:
        found = answers(*args)
        COUNTS["classical_rounds"] += sum(answer.classical_rounds for answer in found)
        return found

    CellExecutor.search = counted_search
    runner: Any = solver.Runner
    runner.answers = counted_answers


def _replace_scipy(is_spoilt: bool) -> None:
    import scipy.optimize
    import scipy.sparse.csgraph

    from augury import scipy_like

    csgraph: Any = scipy.sparse.csgraph
    for home, name, spoil in (
        (csgraph, "maximum_bipartite_matching", _unmatch_one),
        (csgraph, "maximum_flow", _one_unit_less),
        (csgraph, "min_weight_full_bipartite_matching", _one_row_less),
        (scipy.optimize, "linear_sum_assignment", _one_row_less),
    ):
        ours = getattr(scipy_like, name)
        setattr(home, name, _then(spoil, ours) if is_spoilt else ours)


def _replace_networkx(is_spoilt: bool) -> None:
    import networkx.algorithms.flow as flow

    import augury.networkx_backend as backend
    from augury.networkx_like import neural_ford_fulkerson

    ours = _without_options(_less_than_maximum if is_spoilt else neural_ford_fulkerson)
    for name in FLOW_FUNCS:
        setattr(flow, name, ours)
    for name, module in list(sys.modules.items()):
        if name.startswith("networkx.") and hasattr(module, "default_flow_func"):
            module.default_flow_func = ours  # type: ignore[attr-defined]
    if is_spoilt:
        for name, spoil in (
            ("hopcroft_karp_matching", _divorce_one),
            ("minimum_weight_full_matching", _divorce_one),
            ("max_weight_matching", lambda pairs: set(sorted(pairs, key=str)[1:])),
            ("network_simplex", lambda found: (found[0] + 1, found[1])),
        ):
            setattr(backend, name, _then(spoil, getattr(backend, name)))


def _without_options(flow_func: Callable[..., Any]) -> Callable[..., Any]:
    """Take the options of NetworkX's algorithms too, and ignore them."""

    def neural_ford_fulkerson(*args: Any, two_phase: bool = False, **options: Any) -> Any:
        return flow_func(*args, **options)

    return neural_ford_fulkerson


def _then(spoil: Callable[[Any], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def spoilt(*args: Any, **options: Any) -> Any:
        return spoil(function(*args, **options))

    return spoilt


def _unmatch_one(matching: Any) -> Any:
    matching[:1] = -1
    return matching


def _one_row_less(assigned: Any) -> Any:
    return tuple(ends[1:] for ends in assigned)


def _divorce_one(matching: dict[Any, Any]) -> dict[Any, Any]:
    return dict(list(matching.items())[1:])


def _one_unit_less(result: Any) -> Any:
    result.flow_value -= 1
    return result


def _less_than_maximum(*args: Any, **options: Any) -> Any:
    """Return the residual network of a legal flow that is one unit short."""
    from augury.networkx_like import neural_ford_fulkerson

    R = neural_ford_fulkerson(*args, **options)
    options = {**options, "residual": R, "cutoff": R.graph["flow_value"] - 1}
    return neural_ford_fulkerson(*args, **options)


CASES: dict[int, list[Any]] = {}
"""What iterators of parameters gave, by the iterator."""


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let two modules of SciPy use one iterator of cases, which the first would leave empty."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        names, values = mark.args
        if isinstance(values, Iterator):
            cases = CASES.setdefault(id(values), list(values))
            object.__setattr__(mark, "args", (names, cases))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    is_patient = config.getoption("--patient")
    for module in {item.module for item in items if isinstance(item, pytest.Function)}:
        _only_ours(module)
    for item in items:
        for name, reason in (ONE_ANSWER if is_patient else ONE_ANSWER | SLOW).items():
            if _is(item, name):
                item.add_marker(pytest.mark.skip(reason=reason))
        for name, reason in REFUSED.items():
            if _is(item, name):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    for name, (long, short) in SHORTER.items():
        found = {x.function for x in items if isinstance(x, pytest.Function) and _is(x, name)}
        for function in found:  # one for all its parameters
            _replace_constant(function, long, short)


def _only_ours(module: Any) -> None:
    """Leave one flow_func, ours, where a module of NetworkX's tests lists them all."""
    listed: Iterable[Any] | None = getattr(module, "flow_funcs", None)
    if listed is not None:
        [ours] = {f for f in listed if f.__name__ == "neural_ford_fulkerson"}
        module.flow_funcs = type(listed)([ours])  # type: ignore[call-arg]


def _is(item: pytest.Item, name: str) -> bool:
    return item.nodeid.partition("[")[0].endswith("/" + name)


def _replace_constant(function: Any, old: int, new: int) -> None:
    code = function.__code__
    assert old in code.co_consts, f"{function.__name__} no longer has the number {old}"
    constants = tuple(new if value == old else value for value in code.co_consts)
    function.__code__ = code.replace(co_consts=constants)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before, start = dict(COUNTS), time.process_time()
    try:
        return (yield)
    finally:
        about = {name: count - before[name] for name, count in COUNTS.items()}
        TESTS[item.nodeid] = {**about, "seconds": round(time.process_time() - start, 2)}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        ending = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        TESTS.setdefault(report.nodeid, {"searches": 0, "classical_rounds": 0, "seconds": 0.0})
        TESTS[report.nodeid].setdefault("ending", ending)


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--report-to")
    if path:
        Path(path).write_text(json.dumps(TESTS, indent=1))
