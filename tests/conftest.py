"""What holds for every test: PyTorch works on one thread, quickest on graphs this small.

Its random numbers start anew with each test, so that none depends on which ones ran before it. Side
by side, the tests of a file stay in one process, and so do all that need the same server: what they
share is then made once.
"""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported, by whoever needs it

# Time is measured in benchmarks/, never asserted in a test: the first call imports and compiles.
settings.register_profile("augury", deadline=None, max_examples=60)
settings.load_profile("augury")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            needs_server = "address" in getattr(item, "fixturenames", ())
            group = "server" if needs_server else str(item.path)
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(autouse=True)
def _same_random_numbers() -> None:
    if torch := sys.modules.get("torch"):  # a test that does without it goes on doing so
        torch.manual_seed(0)
