"""An application on a port of this machine, and a stand-in for the processes that compute."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from augury.apps.explore import workers
from augury.apps.explore.limits import Limits

PATIENCE = 60.0

STAND_IN = """
import json, struct, sys, time

def answer(status, value):
    body = json.dumps(value).encode()
    sys.stdout.buffer.write(struct.pack("<HI", status, len(body)) + body)
    sys.stdout.buffer.flush()

answer(200, {"ready": True})
while head := sys.stdin.buffer.read(4):
    task = json.loads(sys.stdin.buffer.read(struct.unpack("<I", head)[0]))
    name = task.get("graph", {}).get("name", "")
    while name == "spin":
        pass
    if name == "die":
        sys.exit(1)
    if name == "nap":
        time.sleep(0.2)
    answer(200, {"size": 0, "is_maximum": True, "certificate": {}, "echo": task})
"""


def use_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers be small scripts: `spin`, `die` and `nap` are what a graph's name makes them."""

    def arguments(limits: Limits) -> list[str]:
        return [sys.executable, "-I", "-c", STAND_IN]

    monkeypatch.setattr(workers, "arguments", arguments)


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application from a thread; yield its address."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        end = time.monotonic() + PATIENCE
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < end, "the server did not start in time"
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
