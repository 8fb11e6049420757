"""The test suites that NetworkX and SciPy install become a judge: a pytest plugin.

It replaces their functions with ours, and their own tests then judge us, all at their own sizes.
The report says how each test ended, and how many graphs an engine of ours solved in it: a test with
none says nothing about us. A process is good for one suite, since what is replaced stays replaced.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from augury.experiments.exam import (
    LEFT_OUT,
    LOSSES,
    REFUSED,
    RIGHT,
    SUITE_SECONDS,
    SUITES,
    TOO_SLOW,
    WRONG,
    Loss,
    Result,
    Task,
)
from augury.experiments.exam_solvers import REFERENCE, SOLVERS

FLOW = "networkx.algorithms.flow.tests."
CONNECTIVITY = "networkx.algorithms.connectivity.tests."
BIPARTITE = "networkx.algorithms.bipartite.tests."
CSGRAPH = "scipy.sparse.csgraph.tests."

MODULES = {
    "networkx": (
        *(FLOW + name for name in ("test_maxflow", "test_maxflow_large_graph", "test_gomory_hu")),
        *(FLOW + name for name in ("test_mincost", "test_networksimplex")),
        *(CONNECTIVITY + name for name in ("test_connectivity", "test_cuts")),
        *(CONNECTIVITY + name for name in ("test_disjoint_paths", "test_kcutsets")),
        *(CONNECTIVITY + name for name in ("test_kcomponents", "test_edge_kcomponents")),
        CONNECTIVITY + "test_edge_augmentation",
        *(BIPARTITE + name for name in ("test_matching", "test_covering", "test_extendability")),
        *("networkx.algorithms.tests." + name for name in ("test_matching", "test_covering")),
        "networkx.algorithms.tests.test_regular",
        "networkx.algorithms.approximation.tests.test_kcomponents",
    ),
    "scipy": (
        *(CSGRAPH + name for name in ("test_flow", "test_matching")),
        "scipy.optimize.tests.test_linear_assignment",
    ),
}
"""Modules whose tests reach a function of ours, by package."""
BACKEND = {"NETWORKX_TEST_BACKEND": "augury", "NETWORKX_FALLBACK_TO_NX": "1"}
"""How NetworkX is told to call our backend; it reads this when it is imported."""

FLOW_FUNCS = ("boykov_kolmogorov", "dinitz", "edmonds_karp", "shortest_augmenting_path")
"""Replaced in NetworkX; `preflow_push` stays, as its tests are about options only it has."""

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
"""Tests that NetworkX marks slow: only a patient run includes them."""

BY_DESIGN = {
    "flow/tests/test_maxflow_large_graph.py::TestMaxflowLargeGraph::test_pyramid": (
        "capacities are fractions, which neural_ford_fulkerson refuses"
    ),
}
"""Tests of what we refuse by design; they have to fail."""

COUNTS = {"runs": 0, "classical_rounds": 0}
"""So far: graphs that an engine of ours has solved, and rounds that classical code had to do."""

TESTS: dict[str, dict[str, Any]] = {}
"""What is known of each test: how it ended, its own counts, and its seconds of one core."""


class Suite(NamedTuple):
    """What is run, and on which engine."""

    modules: tuple[str, ...]
    engine: str = REFERENCE
    """The engine behind our functions; "": theirs stay."""
    is_patient: bool = False
    """Whether tests that NetworkX marks slow are run, too."""
    seconds: float = SUITE_SECONDS
    """CPU seconds of one test."""


class TooSlow(Exception):
    """A test has used its CPU time."""


def report(suite: Suite) -> dict[str, dict[str, Any]]:
    """Run tests in this process, which is of no use afterwards; return what is known of each."""
    os.environ.update(BACKEND if suite.engine else {})
    # Plugins that happen to be installed are not part of the peers' tests, and slow to import.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    site_packages = Path(pytest.__file__).parents[1]
    with open(os.devnull, "w") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
        options = ["-q", "-c", os.devnull, "--rootdir", str(site_packages)]
        options += ["-p", "no:cacheprovider", "--pyargs", *suite.modules]
        pytest.main(options, plugins=[Plugin(suite)])
    return TESTS


def perform_suite(task: Task) -> Result:
    """Run one peer's suite on one solver."""
    engine = SOLVERS[task.solver].engine
    start = time.process_time()
    tests = report(Suite(MODULES[SUITES[task.judge]], engine, seconds=task.seconds))
    counts: Counter[str] = Counter()
    losses: list[Loss] = []
    for name, test in tests.items():
        if engine and test["ending"] == "passed" and not test["runs"]:
            continue  # it says nothing about us
        verdict = VERDICT_OF[test["ending"]] if not test["classical_rounds"] else WRONG
        counts[verdict] += 1
        if verdict in LOSSES:
            losses.append(Loss(name, verdict, test.get("why", "")))
    return Result(counts, losses, seconds=time.process_time() - start)


VERDICT_OF = {
    "passed": RIGHT, "failed": WRONG, "xfailed": REFUSED, "skipped": LEFT_OUT, "slow": TOO_SLOW,
}  # fmt: skip


def _count(engine: str) -> None:
    """Count what our engine solves, and use this engine instead of the usual one."""
    from augury import solver

    answers, shipped = solver.Runner.answers, solver._shipped_runner

    @functools.wraps(answers)
    def counted(*args: Any) -> Any:
        found = answers(*args)
        COUNTS["runs"] += len(found)
        COUNTS["classical_rounds"] += sum(answer.classical_rounds for answer in found)
        return found

    def chosen(device: str | None, asked: str, algorithm: str) -> Any:
        return shipped(device, engine if asked == solver.COMPILED else asked, algorithm)

    runner: Any = solver.Runner
    runner.answers = counted
    solver._shipped_runner = chosen  # type: ignore[assignment]


def _replace_scipy() -> None:
    import scipy.optimize
    import scipy.sparse.csgraph

    from augury import scipy_like

    csgraph: Any = scipy.sparse.csgraph
    for home, name in (
        (csgraph, "maximum_bipartite_matching"),
        (csgraph, "maximum_flow"),
        (csgraph, "min_weight_full_bipartite_matching"),
        (scipy.optimize, "linear_sum_assignment"),
    ):
        setattr(home, name, getattr(scipy_like, name))


def _replace_networkx() -> None:
    import networkx.algorithms.flow as flow

    from augury import networkx_like

    def neural_ford_fulkerson(*args: Any, two_phase: bool = False, **options: Any) -> Any:
        return networkx_like.neural_ford_fulkerson(*args, **options)

    for name in FLOW_FUNCS:
        setattr(flow, name, neural_ford_fulkerson)
    for name, module in list(sys.modules.items()):
        if name.startswith("networkx.") and hasattr(module, "default_flow_func"):
            module.default_flow_func = neural_ford_fulkerson  # type: ignore[attr-defined]


CASES: dict[int, list[Any]] = {}
"""The cases from iterators of parameters, by id of the iterator."""


class Plugin:
    """What pytest calls."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite

    def pytest_configure(self, config: pytest.Config) -> None:
        """Put our functions in the place of theirs."""
        # NetworkX's conftest is found too late for its own option on the command line.
        config.option.runslow = self.suite.is_patient
        if self.suite.engine:
            _count(self.suite.engine)
            _replace_scipy()
            _replace_networkx()

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Let two modules of SciPy use one iterator of cases, which the first would leave empty."""
        for mark in metafunc.definition.iter_markers("parametrize"):
            names, values = mark.args
            if isinstance(values, Iterator):
                cases = CASES.setdefault(id(values), list(values))
                object.__setattr__(mark, "args", (names, cases))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark what is left out, if the functions are ours."""
        if not self.suite.engine:
            return
        for module in {item.module for item in items if isinstance(item, pytest.Function)}:
            _only_ours(module)
        for item in items:
            for name, reason in ONE_ANSWER.items():
                if _is(item, name):
                    item.add_marker(pytest.mark.skip(reason=reason))
            for name, reason in BY_DESIGN.items():
                if _is(item, name):
                    item.add_marker(pytest.mark.xfail(reason=reason, strict=True))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Count what is solved in a test, and end it when its time is up."""
        before, start = dict(COUNTS), time.process_time()
        try:
            with _interrupted_after(self.suite.seconds):
                return (yield)
        finally:
            about = {name: count - before[name] for name, count in COUNTS.items()}
            TESTS[item.nodeid] = {**about, "seconds": round(time.process_time() - start, 2)}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep how a test ended."""
        if report.when == "call" or report.outcome != "passed":
            ending, why = report.outcome, report.longreprtext.strip().rpartition("\n")[2]
            if hasattr(report, "wasxfail"):
                ending, why = "xfailed", report.wasxfail
            elif isinstance(report.longrepr, tuple):
                why = report.longrepr[2].removeprefix("Skipped: ")
            elif TooSlow.__name__ in why or "TooSlow" in report.longreprtext:
                ending, why = "slow", f"over {self.suite.seconds:g} s"
            TESTS.setdefault(report.nodeid, {"runs": 0, "classical_rounds": 0, "seconds": 0.0})
            TESTS[report.nodeid] = {"ending": ending, "why": why} | TESTS[report.nodeid]


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` in this block once it has used this much CPU time, where that is possible."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TooSlow(f"over {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _only_ours(module: Any) -> None:
    """Leave one flow_func, ours, where a module of NetworkX's tests lists them all."""
    listed: Iterable[Any] | None = getattr(module, "flow_funcs", None)
    if listed is not None:
        [ours] = {f for f in listed if f.__name__ == "neural_ford_fulkerson"}
        module.flow_funcs = type(listed)([ours])  # type: ignore[call-arg]


def _is(item: pytest.Item, name: str) -> bool:
    return item.nodeid.partition("[")[0].endswith("/" + name)
