"""The application on a local port, and a stand-in for its worker processes."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn

from augury.apps.explore import workers
from augury.apps.explore.connection import config_of
from augury.apps.explore.limits import Limits

PATIENCE = 60.0
START_PATIENCE = 300.0
"""Before it serves, a server compiles what the networks need, if nobody has done so yet."""

STAND_IN = """
import json, os, signal, struct, sys, time

signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGUSR1, signal.default_int_handler)

def answer(status, value):
    body = json.dumps(value).encode()
    sys.stdout.buffer.write(struct.pack("<HI", status, len(body)) + body)
    sys.stdout.buffer.flush()

answer(200, {"ready": True})
while head := sys.stdin.buffer.read(4):
    task = json.loads(sys.stdin.buffer.read(struct.unpack("<I", head)[0]).partition(b"\\n")[2])
    answer(100, {})
    name = task.get("graph", {}).get("name", "")
    if name == "stuck":
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        while name in ("spin", "stuck"):
            pass
    except KeyboardInterrupt:
        answer(422, {"error": "this was stopped"})
        continue
    if name == "die":
        sys.exit(1)
    if name == "nap":
        time.sleep(0.2)
    proof = {"pid": os.getpid()}
    answer(200, {"size": 0, "is_maximum": True, "certificate": proof, "echo": task})
"""


def use_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace workers by a small script that does what the graph's name says: spin, die, nap …"""

    def arguments(limits: Limits) -> list[str]:
        return [sys.executable, "-I", "-c", STAND_IN]

    monkeypatch.setattr(workers, "arguments", arguments)


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application from a thread; yield its address."""
    server = uvicorn.Server(config_of(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        end = time.monotonic() + START_PATIENCE
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < end, "the server did not start in time"
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


HEAD = b"POST /api/v1/solve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def opened(url: str, sent: bytes = b"") -> socket.socket:
    """Open a connection of its own, without an HTTP client, and send something."""
    parts = urlsplit(url)
    plain = socket.create_connection((parts.hostname, parts.port), PATIENCE)
    plain.sendall(sent)
    return plain
