"""The installed NetworkX and SciPy run their own test suites on our functions."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import closing
from itertools import chain
from typing import Any

import pytest
from spoiling import report_spoilt

from augury.experiments import exam_suites
from augury.experiments.exam import Task
from augury.experiments.exam_suites import (
    BY_DESIGN,
    CONNECTIVITY,
    MARKED_SLOW,
    MODULES,
    ONE_ANSWER,
    Suite,
    perform_suite,
    report,
)
from augury.processes import Pool
from examining import replaced_by

EVERY = tuple(chain(*MODULES.values()))
REPEATING = (
    *(CONNECTIVITY + name for name in ("test_kcutsets", "test_kcomponents")),
    *(CONNECTIVITY + name for name in ("test_edge_kcomponents", "test_edge_augmentation")),
    "networkx.algorithms.approximation.tests.test_kcomponents",
)
"""They go on until a flow is what it has to be, and with wrong ones may never end. Most flows are
theirs, of functions that the other modules test too."""
QUICK = tuple(module for module in EVERY if module not in REPEATING)


def run(
    suite: Suite, how: Callable[[Suite], dict[str, dict[str, Any]]] = report
) -> dict[str, dict[str, Any]]:
    """Run the peers' tests in a process of its own; returns the report on each of them."""
    with closing(Pool(how, 1, renewed=True)) as pool:
        return pool.submit(suite).result()


def failures(report: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: test["why"] for name, test in report.items() if test["ending"] == "failed"}


def test_the_peers_own_tests_pass_with_our_functions() -> None:
    report = run(Suite(QUICK))
    assert failures(report) == {}
    # Lower bounds on the tests in which an engine of ours ran, and on the graphs that it solved.
    reached = [x for x in report.values() if x["ending"] == "passed" and x["runs"]]
    assert len(reached) >= 180
    assert sum(test["runs"] for test in reached) >= 4_000
    assert sum(test["classical_rounds"] for test in report.values()) == 0
    # All that is left out is listed, and nothing else.
    left_out = {name for name in MARKED_SLOW if not any(of(name, module) for module in REPEATING)}
    assert with_ending(report, "skipped") == {*ONE_ANSWER, *left_out}
    assert with_ending(report, "xfailed") == {*BY_DESIGN}


def of(name: str, module: str) -> bool:
    """Whether a test, as it is listed, is one of this module."""
    return module.endswith("." + name.partition(".py::")[0].replace("/", "."))


LISTED = {*ONE_ANSWER, *MARKED_SLOW, *BY_DESIGN}


def with_ending(report: dict[str, dict[str, Any]], ending: str) -> set[str]:
    """Return the names of the tests with this ending, as they are listed."""
    found = [name for name, test in report.items() if test["ending"] == ending]
    return {next((x for x in LISTED if f"/{x}[" in f"/{name}["), name) for name in found}


@pytest.mark.slow  # its outcome depends only on the peers' versions
def test_a_wrong_answer_fails_the_tests_of_every_module() -> None:
    report = run(Suite(QUICK), report_spoilt)
    failed = {name.partition(".py::")[0].replace("/", ".") for name in failures(report)}
    assert failed == {*QUICK}


@pytest.mark.slow
def test_the_peers_large_networks_and_long_tests_pass() -> None:
    report = run(Suite(EVERY, is_patient=True, seconds=600))
    assert failures(report) == {}
    assert with_ending(report, "skipped") == {*ONE_ANSWER}
    assert sum(test["runs"] for test in report.values()) > 18_000
    assert sum(test["classical_rounds"] for test in report.values()) == 0


OURS = {"maximum_bipartite_matching", "maximum_flow", "min_weight_full_bipartite_matching"}
OURS |= {"linear_sum_assignment", "dinitz", "edmonds_karp"}


@pytest.mark.parametrize(("engine", "ran"), [("lookup", "lookup"), ("", "table")])
def test_a_suite_is_run_on_the_engine_that_is_asked_for(engine: str, ran: str) -> None:
    with closing(Pool(replaced_by, 1)) as pool:
        found = pool.submit(engine).result()
    assert found.pop("engine") == ran
    assert found.pop("counted") == ("1" if engine else "0")
    assert {name for name, home in found.items() if home == "augury"} == (OURS if engine else set())


def told(ending: str, runs: int = 0, classical_rounds: int = 0) -> dict[str, Any]:
    return {"ending": ending, "runs": runs, "classical_rounds": classical_rounds, "why": "so"}


def test_only_tests_in_which_an_engine_of_ours_solves_something_say_anything_of_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tests = {
        "a": told("passed", 3),
        "b": told("passed"),
        "c": told("failed"),
        "d": told("passed", 1, 2),  # right, but not by the network
        "e": told("skipped"),
        "f": told("xfailed"),
        "g": told("slow"),
    }
    asked: list[Suite] = []
    monkeypatch.setattr(exam_suites, "report", lambda suite: asked.append(suite) or tests)
    ours = perform_suite(Task("SciPy's tests", "lookup", (), 7))
    assert ours.counts == {"right": 1, "wrong": 2, "left out": 1, "refused": 1, "too slow": 1}
    assert [(loss.number, loss.why) for loss in ours.losses] == [(name, "so") for name in "cdefg"]
    assert asked == [Suite(MODULES["scipy"], "lookup", seconds=7)]
    theirs = perform_suite(Task("SciPy's tests", "SciPy", (), 7))
    assert theirs.counts["right"] == 2 and asked[-1].engine == ""


def test_a_test_that_takes_too_long_is_interrupted_and_called_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(exam_suites.TooSlow), exam_suites._interrupted_after(0.02):
        while True:
            pass
    with exam_suites._interrupted_after(60):
        pass
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    monkeypatch.setattr(exam_suites, "TESTS", {})
    plugin = exam_suites.Plugin(Suite((), seconds=9))
    for name, why in (("x", "augury.TooSlow: over 9 s"), ("y", "AssertionError: 2 is not 3")):
        plugin.pytest_runtest_logreport(
            pytest.TestReport(name, ("", 0, ""), {}, "failed", f"one\n{why}", "call")
        )
    found = {name: (test["ending"], test["why"]) for name, test in exam_suites.TESTS.items()}
    assert found == {"x": ("slow", "over 9 s"), "y": ("failed", "AssertionError: 2 is not 3")}
