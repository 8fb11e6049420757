"""The installed NetworkX and SciPy run their own test suites on our functions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from in_their_place import MARKED_SLOW, ONE_ANSWER, REFUSED

HERE = Path(__file__).parent
FLOW = "networkx.algorithms.flow.tests."
CONNECTIVITY = "networkx.algorithms.connectivity.tests."
BIPARTITE = "networkx.algorithms.bipartite.tests."
CSGRAPH = "scipy.sparse.csgraph.tests."


MODULES = (
    *(FLOW + name for name in ("test_maxflow", "test_maxflow_large_graph", "test_gomory_hu")),
    *(FLOW + name for name in ("test_mincost", "test_networksimplex")),
    *(CONNECTIVITY + name for name in ("test_connectivity", "test_cuts", "test_disjoint_paths")),
    *(CONNECTIVITY + name for name in ("test_kcutsets", "test_kcomponents")),
    *(CONNECTIVITY + name for name in ("test_edge_kcomponents", "test_edge_augmentation")),
    *(BIPARTITE + name for name in ("test_matching", "test_covering", "test_extendability")),
    *("networkx.algorithms.tests." + name for name in ("test_matching", "test_covering")),
    "networkx.algorithms.tests.test_regular",
    "networkx.algorithms.approximation.tests.test_kcomponents",
    *(CSGRAPH + name for name in ("test_flow", "test_matching")),
    "scipy.optimize.tests.test_linear_assignment",
)
NOT_SPOILT = (
    *(CONNECTIVITY + name for name in ("test_kcutsets", "test_kcomponents")),
    *(CONNECTIVITY + name for name in ("test_edge_kcomponents", "test_edge_augmentation")),
    "networkx.algorithms.approximation.tests.test_kcomponents",
)
"""They go on until a flow is what it has to be, and with wrong ones may never end."""
BACKEND = {"NETWORKX_TEST_BACKEND": "augury", "NETWORKX_FALLBACK_TO_NX": "1"}


def run(folder: Path, *options: str, modules: Iterable[str] = MODULES) -> dict[str, dict[str, Any]]:
    """Run the peers' tests in a process of its own; returns the report on each of them."""
    site_packages = Path(pytest.__file__).parents[1]
    report = folder / "report.json"
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(site_packages)),
        *("-p", "no:cacheprovider", "-p", "in_their_place", "--report-to", str(report)),
        *("--pyargs", *modules, *options),
    ]
    # Plugins that happen to be installed are no part of the peers' tests, and slow to import.
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    ours = {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | BACKEND | ours, capture_output=True, text=True
    )
    assert report.exists(), done.stdout + done.stderr
    print(done.stdout)  # shown where an assertion fails
    return json.loads(report.read_text())


def failures(report: dict[str, dict[str, Any]]) -> list[str]:
    return [name for name, test in report.items() if test["ending"] == "failed"]


def test_the_peers_own_tests_pass_with_our_functions(tmp_path: Path) -> None:
    report = run(tmp_path)
    assert failures(report) == []
    # Lower bounds on the tests in which an engine of ours ran, and on the graphs that it solved.
    reached = [x for x in report.values() if x["ending"] == "passed" and x["runs"]]
    assert len(reached) >= 250
    assert sum(test["runs"] for test in reached) >= 12_000
    assert sum(test["classical_rounds"] for test in report.values()) == 0
    # All that is left out is listed, and nothing else.
    assert with_ending(report, "skipped") == {*ONE_ANSWER, *MARKED_SLOW}
    assert with_ending(report, "xfailed") == {*REFUSED}


LISTED = {*ONE_ANSWER, *MARKED_SLOW, *REFUSED}


def with_ending(report: dict[str, dict[str, Any]], ending: str) -> set[str]:
    """Return the names of the tests with this ending, as they are listed."""
    found = [name for name, test in report.items() if test["ending"] == ending]
    return {next((x for x in LISTED if f"/{x}[" in f"/{name}["), name) for name in found}


@pytest.mark.slow  # its outcome depends only on the peers' versions
def test_a_wrong_answer_fails_the_tests_of_every_module(tmp_path: Path) -> None:
    modules = set(MODULES) - set(NOT_SPOILT)
    report = run(tmp_path, "--spoil", modules=sorted(modules))
    failed = {name.partition(".py::")[0].replace("/", ".") for name in failures(report)}
    assert failed == modules


@pytest.mark.slow
def test_the_peers_large_networks_and_long_tests_pass(tmp_path: Path) -> None:
    report = run(tmp_path, "--patient")
    assert failures(report) == []
    assert with_ending(report, "skipped") == {*ONE_ANSWER}
    assert sum(test["runs"] for test in report.values()) > 18_000
    assert sum(test["classical_rounds"] for test in report.values()) == 0
