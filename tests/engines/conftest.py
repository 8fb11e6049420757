"""Where kernels for a simulated block are kept."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def folder(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of compiled kernels, which outlives this run if pytest keeps a cache."""
    kept = getattr(pytestconfig, "cache", None)
    return kept.mkdir("kernels") if kept else tmp_path_factory.mktemp("kernels")
