"""Common to all tests: PyTorch uses one thread, which is fastest on graphs this small.

Each test starts from the same random seed, so none depends on the ones before it. Under xdist, the
tests of a file run in one process, as do all that need the server or the browser, and all that need
the Ray cluster: shared fixtures are made once.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported
gc.disable()  # during collection, which imports everything and leaves no garbage

# Tests assert no times: the first call imports and compiles. benchmarks/ measures them.
settings.register_profile("augury", deadline=None, max_examples=25)
settings.load_profile("augury")


SHARED = {
    "server": ("tests/apps/explore/",),
    "cluster": ("tests/experiments/test_cluster.py", "tests/test_ray.py"),
}
"""Files whose tests share what is slow to make: the server and the browser, or the Ray cluster."""


def group_of(nodeid: str) -> str:
    """Return the group whose process runs a test: its file, or several files."""
    file = nodeid.partition("::")[0]
    return next((name for name, files in SHARED.items() if file.startswith(files)), file)


# Not xdist's own groups: pytest 9.2 forgets their names, and no test would stay with its file.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class InGroups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return InGroups(config, log)


def pytest_collection_finish() -> None:
    gc.freeze()  # what was imported stays, and need not be looked at again
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("there is no GPU")


@pytest.fixture(autouse=True)
def _same_random_numbers() -> None:
    if torch := sys.modules.get("torch"):  # not imported just for this
        torch.default_generator.manual_seed(0)  # that of the CPU: no test draws on another


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Ray cluster of two cores, whose processes import what is in this folder."""
    from augury.clusters import join_ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        ray = join_ray("local", num_cpus=2)
    yield ray
    ray.shutdown()


@pytest.fixture
def joined(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the shared cluster to code that asks for two cores of this machine; keep it running."""

    def join(address: str, num_cpus: int | None) -> Any:
        assert address == "local" and num_cpus in (None, 2)
        return cluster

    monkeypatch.setattr("augury.experiments.cluster.join_ray", join)
    monkeypatch.setattr(cluster, "shutdown", lambda: None)
    return cluster


@pytest.fixture
def engines_run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the name of each engine that is asked for answers."""
    from augury import solver

    names: list[str] = []
    answers = solver.Runner.answers

    def heard(runner: solver.Runner, graphs: Any, how: Any) -> Any:
        names.append(str(runner.engine.name))
        return answers(runner, graphs, how)

    monkeypatch.setattr(solver.Runner, "answers", heard)
    return names
