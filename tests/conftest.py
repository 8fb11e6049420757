"""Common to all tests: PyTorch uses one thread, which is fastest on graphs this small.

Each test starts from the same random seed, so none depends on the ones before it. Under xdist, the
tests of a file run in one process, as do all that need the server or the browser: shared fixtures
are made once.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported
gc.disable()  # during collection, which imports everything and leaves no garbage

# Tests assert no times: the first call imports and compiles. benchmarks/ measures them.
settings.register_profile("augury", deadline=None, max_examples=25)
settings.load_profile("augury")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            needs_server = {"address", "browser"} & {*getattr(item, "fixturenames", ())}
            group = "server" if needs_server else str(item.path)
            item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_finish() -> None:
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
