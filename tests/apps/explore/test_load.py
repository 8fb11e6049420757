"""Many clients at once: none is refused, and memory does not grow."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

GROWTH_BYTES = 200 * 2**20
"""What server and worker may need more after all requests than after the first few."""


def family_memory() -> int:
    """Return the resident memory of this process, in which the server runs, and its workers."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if os.getpid() in (parent, int(folder.name)):
                total += int((folder / "statm").read_text().split()[1])
        except OSError:
            continue
    return total * os.sysconf("SC_PAGE_SIZE")


def ask(client: httpx.Client, number: int) -> int:
    """Send one of several requests; each number is a different graph."""
    graph = {"text": f"a{number},x\nb,x\nb,y{number % 7}\nc,y{number % 5}\n"}
    kinds = [
        lambda: client.post("/api/v1/solve", json={"graph": graph, "seed": number}),
        lambda: client.get("/api/v1/generate", params={"family": "uniform", "n": number % 30}),
        lambda: client.post("/api/v1/story", json={"graph": graph, "seed": number}),
        lambda: client.get("/api/v1/models"),
        lambda: client.get("/story.js"),
        lambda: client.post("/api/v1/solve", json={"graph": {"text": "a,b\nc"}}),
    ]
    answer = kinds[number % len(kinds)]()
    expected = 422 if number % len(kinds) == 5 else 200
    return 0 if answer.status_code == expected else answer.status_code


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="measures memory in /proc")
@pytest.mark.parametrize(
    "count", [96, pytest.param(1000, marks=pytest.mark.slow)], ids=["quick", "full"]
)
def test_sixteen_clients_are_all_answered(client: httpx.Client, count: int) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda number: ask(client, number), range(48))) == {0}
        before = family_memory()
        failures = [code for code in pool.map(lambda n: ask(client, n), range(count)) if code]
    assert failures == []
    assert family_memory() - before < GROWTH_BYTES
