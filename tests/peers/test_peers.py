"""NetworkX's and SciPy's own tests, from the installed packages, with our functions in place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from in_their_place import ONE_ANSWER, REFUSED, SLOW

HERE = Path(__file__).parent
FLOW = "networkx.algorithms.flow.tests."
CONNECTIVITY = "networkx.algorithms.connectivity.tests."
CSGRAPH = "scipy.sparse.csgraph.tests."


@dataclass(frozen=True)
class Suite:
    """Test modules of a peer that run together."""

    modules: tuple[str, ...]
    least_tests: int
    """How many tests pass and have made our network search; some below what it is today."""
    least_searches: int
    environment: dict[str, str] = field(default_factory=dict)
    quick: str = ""
    """Tests enough to see a wrong answer, as an expression for pytest's -k."""

    def has(self, name: str) -> bool:
        """Tell whether a test of the tables is one of this suite's."""
        file = name.partition(".py::")[0].replace("/", ".")
        return any(module.endswith(file) for module in self.modules)


BACKEND = {"NETWORKX_TEST_BACKEND": "augury", "NETWORKX_FALLBACK_TO_NX": "1"}
SUITES = {
    "networkx flows": Suite(
        (
            *(FLOW + name for name in ("test_maxflow", "test_maxflow_large_graph")),
            FLOW + "test_gomory_hu",
            CONNECTIVITY + "test_connectivity",
            CONNECTIVITY + "test_cuts",
            CONNECTIVITY + "test_disjoint_paths",
        ),
        least_tests=60,
        least_searches=2_500,
        quick="digraph or wikipedia or white_harary or petersen or complete_graph and not graphs",
    ),
    "networkx matchings, scipy": Suite(
        (
            "networkx.algorithms.bipartite.tests.test_matching",
            CSGRAPH + "test_flow",
            CSGRAPH + "test_matching",
        ),
        least_tests=27,
        least_searches=75,
        environment=BACKEND,
    ),
}


def run(suite: Suite, folder: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Run the tests of a suite in a process of its own; returns the report on each of them."""
    site_packages = Path(pytest.__file__).parents[1]
    report = folder / "report.json"
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(site_packages)),
        *("-p", "no:cacheprovider", "-p", "in_their_place", "--report-to", str(report)),
        *("--pyargs", *suite.modules, *options),
    ]
    # Plugins that happen to be installed are no part of the peers' tests, and slow to import.
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    ours = {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment = os.environ | suite.environment | ours
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert report.exists(), done.stdout + done.stderr
    print(done.stdout)  # shown where an assertion fails
    return json.loads(report.read_text())


def failures(report: dict[str, dict[str, Any]]) -> list[str]:
    return [name for name, test in report.items() if test["ending"] == "failed"]


def is_slow(name: str) -> bool:
    return any(name.endswith(slow) for slow in SLOW)


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_the_peers_own_tests_pass_with_our_functions(suite: Suite, tmp_path: Path) -> None:
    report = run(suite, tmp_path)
    assert failures(report) == []
    reached = [x for x in report.values() if x["ending"] == "passed" and x["searches"]]
    assert len(reached) >= suite.least_tests
    assert sum(test["searches"] for test in reached) >= suite.least_searches
    assert sum(test["classical_rounds"] for test in report.values()) == 0
    for names, ending in ((ONE_ANSWER | SLOW, "skipped"), (REFUSED, "xfailed")):
        for name in filter(suite.has, names):
            [test] = [test for full_name, test in report.items() if full_name.endswith(name)]
            assert test["ending"] == ending, name


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_a_wrong_answer_fails_the_tests_of_every_module(suite: Suite, tmp_path: Path) -> None:
    report = run(suite, tmp_path, "--spoil", *(("-k", suite.quick) if suite.quick else ()))
    failed = {name.partition(".py::")[0].replace("/", ".") for name in failures(report)}
    assert failed == set(suite.modules)


@pytest.mark.slow
def test_the_peers_large_networks_and_long_tests_pass(tmp_path: Path) -> None:
    report = run(SUITES["networkx flows"], tmp_path, "--patient")
    assert failures(report) == []
    assert not any(test["ending"] == "skipped" for name, test in report.items() if is_slow(name))
    assert sum(test["searches"] for test in report.values()) > 12_000
    assert sum(test["classical_rounds"] for test in report.values()) == 0
