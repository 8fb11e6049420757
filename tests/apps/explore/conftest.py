"""One real server for all tests of the page and its API: PyTorch is slow to start."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from augury.apps.explore.limits import Limits
from augury.apps.explore.server import make_app
from serving import served


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a server with one worker and room for many requests to wait."""
    with served(make_app(Limits(runs=1, waiting=40, seconds=60))) as url:
        yield url


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=120) as client:
        yield client
