"""The installed NetworkX and SciPy run their own test suites on our functions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import chain
from typing import Any

import pytest
from spoiling import report_spoilt

from augury.experiments.exam_suites import (
    BY_DESIGN,
    CONNECTIVITY,
    MARKED_SLOW,
    MODULES,
    ONE_ANSWER,
    Suite,
    report,
)
from augury.processes import Pool

EVERY = tuple(chain(*MODULES.values()))
NOT_SPOILT = (
    *(CONNECTIVITY + name for name in ("test_kcutsets", "test_kcomponents")),
    *(CONNECTIVITY + name for name in ("test_edge_kcomponents", "test_edge_augmentation")),
    "networkx.algorithms.approximation.tests.test_kcomponents",
)
"""They go on until a flow is what it has to be, and with wrong ones may never end."""


def run(
    suite: Suite, how: Callable[[Suite], dict[str, dict[str, Any]]] = report
) -> dict[str, dict[str, Any]]:
    """Run the peers' tests in a process of its own; returns the report on each of them."""
    with closing(Pool(how, 1, renewed=True)) as pool:
        return pool.submit(suite).result()


def failures(report: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: test["why"] for name, test in report.items() if test["ending"] == "failed"}


def test_the_peers_own_tests_pass_with_our_functions() -> None:
    report = run(Suite(EVERY))
    assert failures(report) == {}
    # Lower bounds on the tests in which an engine of ours ran, and on the graphs that it solved.
    reached = [x for x in report.values() if x["ending"] == "passed" and x["runs"]]
    assert len(reached) >= 250
    assert sum(test["runs"] for test in reached) >= 12_000
    assert sum(test["classical_rounds"] for test in report.values()) == 0
    # All that is left out is listed, and nothing else.
    assert with_ending(report, "skipped") == {*ONE_ANSWER, *MARKED_SLOW}
    assert with_ending(report, "xfailed") == {*BY_DESIGN}


LISTED = {*ONE_ANSWER, *MARKED_SLOW, *BY_DESIGN}


def with_ending(report: dict[str, dict[str, Any]], ending: str) -> set[str]:
    """Return the names of the tests with this ending, as they are listed."""
    found = [name for name, test in report.items() if test["ending"] == ending]
    return {next((x for x in LISTED if f"/{x}[" in f"/{name}["), name) for name in found}


@pytest.mark.slow  # its outcome depends only on the peers' versions
def test_a_wrong_answer_fails_the_tests_of_every_module() -> None:
    modules = set(EVERY) - set(NOT_SPOILT)
    report = run(Suite(tuple(sorted(modules))), report_spoilt)
    failed = {name.partition(".py::")[0].replace("/", ".") for name in failures(report)}
    assert failed == modules


@pytest.mark.slow
def test_the_peers_large_networks_and_long_tests_pass() -> None:
    report = run(Suite(EVERY, is_patient=True, seconds=600))
    assert failures(report) == {}
    assert with_ending(report, "skipped") == {*ONE_ANSWER}
    assert sum(test["runs"] for test in report.values()) > 18_000
    assert sum(test["classical_rounds"] for test in report.values()) == 0
