"""A pytest plugin that replaces functions of SciPy and NetworkX with ours.

    pytest -p in_their_place --report-to FILE --pyargs networkx.algorithms.flow.tests.test_maxflow

The peers' own tests then judge us, all at their own sizes. The report says of each test how it
ended, and how many graphs an engine of ours solved in it: a test with none says nothing about us.
With `--spoil` our answers are made wrong by one unit or one pair, and the tests have to notice.
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
    "flow/tests/test_mincost.py::TestMinCostFlow::test_digraph1": (
        "3 → 5 costs as much as 3 → 4 → 5, and the test demands one of the cheapest flows"
    ),
    "flow/tests/test_networksimplex.py::test_digraph1": "the same network as in test_mincost.py",
}
"""Tests that demand one of several right answers; whether they pass is luck, so they do not run."""

MARKED_SLOW = {
    "flow/tests/test_maxflow_large_graph.py::TestMaxflowLargeGraph::test_gw1",
    "flow/tests/test_gomory_hu.py::TestGomoryHuTree::test_les_miserables_graph_cutset",
    "connectivity/tests/test_kcutsets.py::test_torrents_and_ferraro_graph",
    "connectivity/tests/test_kcutsets.py::test_alternative_flow_functions",
    "connectivity/tests/test_kcomponents.py::test_torrents_and_ferraro_graph",
    "connectivity/tests/test_kcomponents.py::test_random_gnp[50-0.2]",
    "connectivity/tests/test_kcomponents.py::test_shell[constructor1]",
}
"""Tests that NetworkX marks slow: they run only with `--patient`."""

REFUSED = {
    "flow/tests/test_maxflow_large_graph.py::TestMaxflowLargeGraph::test_pyramid": (
        "capacities are fractions, which neural_ford_fulkerson refuses"
    ),
}
"""Tests of what we refuse by design; they have to fail."""

COUNTS = {"runs": 0, "classical_rounds": 0}
"""So far: graphs that an engine of ours has solved, and rounds in which classical code had to."""

TESTS: dict[str, dict[str, Any]] = {}
"""What is known of each test: how it ended, its own counts, and its seconds of one core."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--report-to", help="file for the report, as JSON")
    parser.addoption("--patient", action="store_true", help="run what NetworkX marks slow")
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

    answers = solver.Runner.answers

    @functools.wraps(answers)
    def counted(*args: Any) -> Any:
        found = answers(*args)
        COUNTS["runs"] += len(found)
        COUNTS["classical_rounds"] += sum(answer.classical_rounds for answer in found)
        return found

    runner: Any = solver.Runner
    runner.answers = counted


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
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for module in {item.module for item in items if isinstance(item, pytest.Function)}:
        _only_ours(module)
    for item in items:
        for name, reason in ONE_ANSWER.items():
            if _is(item, name):
                item.add_marker(pytest.mark.skip(reason=reason))
        for name, reason in REFUSED.items():
            if _is(item, name):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def _only_ours(module: Any) -> None:
    """Leave one flow_func, ours, where a module of NetworkX's tests lists them all."""
    listed: Iterable[Any] | None = getattr(module, "flow_funcs", None)
    if listed is not None:
        [ours] = {f for f in listed if f.__name__ == "neural_ford_fulkerson"}
        module.flow_funcs = type(listed)([ours])  # type: ignore[call-arg]


def _is(item: pytest.Item, name: str) -> bool:
    return item.nodeid.partition("[")[0].endswith("/" + name)


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
        TESTS.setdefault(report.nodeid, {"runs": 0, "classical_rounds": 0, "seconds": 0.0})
        TESTS[report.nodeid].setdefault("ending", ending)


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--report-to")
    if path:
        Path(path).write_text(json.dumps(TESTS, indent=1))
