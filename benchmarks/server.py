"""Abuse a server of `augury explore`; measure how the next honest request fares, and memory.

    python benchmarks/server.py --out server.json

It starts a server on a free port of this machine, with at most 1,024 open files, and lets clients
misbehave, one kind after the other: heads and bodies that never arrive whole, abandoned runs,
requests that are wrong in a million places, answers that are never fetched, and garbage. While they
still do (or right after, if they leave at once), an honest client asks for a small graph a few
times. Each time it must be answered within two seconds, the log must hardly grow, and a minute
after the last bad client has left, the memory of server and workers may have grown by 10 % at most.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from augury.apps.explore.limits import Limits
from augury.provenance import provenance

COMMAND = [sys.executable, "-m", "augury.apps.cli", "explore", "--port", "0", "--no-browser"]
OPEN_FILES = 1024
HONEST = {"graph": {"text": "ann,cook\nbob,cook\nbob,sing"}}
HONEST_REQUESTS = 5
MOST_SECONDS = 2.0
"""The longest that an honest client may have to wait."""
MOST_GROWTH = 0.1
"""The most that memory may have grown a minute later, as a share."""
MOST_LOG = 100_000
"""Bytes that one kind of abuse may add to the log."""
PATIENCE = 300.0

JSON = "Content-Type: application/json\r\n"


class Served(NamedTuple):
    """A running server."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    def family(self) -> list[int]:
        """Return the processes of the server: its own and its workers."""
        found = [self.process.pid]
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                parent = int(path.read_text().rpartition(")")[2].split()[1])
                if parent == self.process.pid:
                    found.append(int(path.parent.name))
        return found

    def memory(self) -> int:
        """Return the memory of all of them in bytes."""
        pages = 0
        for pid in self.family():
            with suppress(OSError):
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def connect(self) -> socket.socket:
        """Return a new connection."""
        parts = urlsplit(self.url)
        return socket.create_connection((parts.hostname, parts.port), PATIENCE)

    def head(self, path: str, length: int) -> bytes:
        """Return the head of a request with a body."""
        host = urlsplit(self.url).netloc
        told = f"POST /api/v1/{path} HTTP/1.1\r\nHost: {host}\r\n{JSON}"
        return f"{told}Content-Length: {length}\r\n\r\n".encode()

    def post(self, path: str, body: bytes) -> socket.socket:
        """Return a connection on which a request was sent."""
        plain = self.connect()
        plain.sendall(self.head(path, len(body)) + body)
        return plain


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Start a server with few open files; yield it once all of its workers are ready."""

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))

    log = folder / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            COMMAND, stdout=subprocess.PIPE, stderr=errors, text=True, preexec_fn=confine
        )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None, log.read_text()
        server = Served(process, found.group(), log)
        for _ in range(2):
            _settle(server)
            for _ in range(20):
                asked(server)
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _settle(server: Served) -> None:
    """Wait until all workers have started and memory is stable."""
    before, end = -1, time.monotonic() + PATIENCE
    while time.monotonic() < end:
        now = server.memory()
        if len(server.family()) > Limits().runs and abs(now - before) < 2**20:
            return
        before = now
        time.sleep(3)


def asked(server: Served) -> float:
    """Ask as an honest client does; return the seconds until the answer."""
    begun = time.perf_counter()
    answer = httpx.post(f"{server.url}api/v1/solve", json=HONEST, timeout=PATIENCE)
    if answer.status_code != 200 or answer.json()["size"] != 2:
        raise RuntimeError(f"an honest request is answered by {answer.status_code}: {answer.text}")
    return time.perf_counter() - begun


# ------------------------------------------------------------------ abuses

Stack = ExitStack
"""Connections that stay open until the honest requests are answered."""


def slow_heads(server: Served, stack: Stack) -> None:
    """1,500 clients send half a head, and go on letter by letter."""
    half = server.head("solve", 9)[:60]
    plains = []
    for _ in range(1500):
        with suppress(OSError):
            plains.append(stack.enter_context(server.connect()))
            plains[-1].sendall(half)
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(1):
            for plain in plains:
                with suppress(OSError):
                    plain.sendall(b"x")

    dripping = threading.Thread(target=drip)
    dripping.start()
    stack.callback(dripping.join)
    stack.callback(stop.set)


def stalled_bodies(server: Served, stack: Stack) -> None:
    """200 clients send 4 MiB but for the last byte."""
    size = Limits().body_bytes
    told = server.head("solve", size) + b" " * (size - 1)
    for _ in range(200):
        plain = stack.enter_context(server.connect())
        plain.settimeout(2)
        with suppress(OSError):
            plain.sendall(told)


def _long_run() -> bytes:
    """Return a request that takes many seconds: 64 + 64 nodes, the slowest of the networks."""
    edges = [[i, (i * j + j) % 64] for i in range(64) for j in range(1, 24)]
    graph = {"left": 64, "right": 64, "edges": edges}
    return json.dumps({"graph": graph, "model": "paper-pna", "seed": 1}).encode()


def abandoned_runs(server: Served, stack: Stack) -> None:
    """20 clients ask for long runs at once and leave."""
    plains = [server.post("story", _long_run()) for _ in range(20)]
    time.sleep(1)
    for plain in plains:
        plain.close()


def abandoned_in_turn(server: Served, stack: Stack) -> None:
    """20 clients, each leaves once its long run has begun, and the next one asks."""
    for _ in range(20):
        with server.post("story", _long_run()):
            time.sleep(0.3)


def unread_answers(server: Served, stack: Stack) -> None:
    """16 clients ask for megabytes and fetch a few bytes of them."""
    host = urlsplit(server.url).netloc
    asked_for = f"GET /api/v1/generate?family=complete&n=440 HTTP/1.1\r\nHost: {host}\r\n\r\n"
    plains = [stack.enter_context(server.connect()) for _ in range(16)]
    for plain in plains:
        plain.sendall(asked_for.encode())
    for plain in plains:
        plain.recv(100)


def garbage(server: Served, stack: Stack) -> None:
    """3,000 connections send no HTTP."""
    for _ in range(3000):
        with suppress(OSError), server.connect() as plain:
            plain.sendall(b"\x00\x01\x02 garbage\r\n\r\n")
            plain.recv(4096)


def _poison(start: str, unit: str, end: str) -> Callable[[Served, Stack], None]:
    count = (Limits().body_bytes - len(start) - len(end)) // (len(unit) + 1)
    body = (start + ",".join([unit] * count) + end).encode()

    def send(server: Served, stack: Stack) -> None:
        stack.enter_context(server.post("solve", body))

    return send


def unknown_fields(server: Served, stack: Stack) -> None:
    """A request has 340,000 unknown fields."""
    fields = ",".join(f'"k{number:06}":0' for number in range(340_000))
    stack.enter_context(server.post("solve", f'{{"graph":{{"text":"a,b"}},{fields}}}'.encode()))


ABUSES: dict[str, Callable[[Served, Stack], None]] = {
    "slow heads": slow_heads,
    "stalled bodies": stalled_bodies,
    "abandoned runs": abandoned_runs,
    "abandoned runs, one after the other": abandoned_in_turn,
    "poison: arcs": _poison('{"graph":{"arcs":[', "[]", "]}}"),
    "poison: left": _poison('{"graph":{"edges":[],"left":[', "[]", "]}}"),
    "poison: fields": unknown_fields,
    "unread answers": unread_answers,
    "garbage": garbage,
}


# ------------------------------------------------------------------ measuring


@contextmanager
def highest(server: Served) -> Iterator[list[int]]:
    """Measure the most memory while the block runs."""
    found, stop = [server.memory()], threading.Event()

    def measure() -> None:
        while not stop.wait(0.1):
            found[0] = max(found[0], server.memory())

    thread = threading.Thread(target=measure)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()


def tried(server: Served, name: str, pause: float) -> dict[str, Any]:
    """Abuse a server in one way and return the outcome."""
    _settle(server)
    before, log = server.memory(), server.log.stat().st_size
    seconds: list[float] = []
    fault = ""
    with highest(server) as most:
        with ExitStack() as stack:
            try:
                ABUSES[name](server, stack)
                seconds += [asked(server) for _ in range(HONEST_REQUESTS)]
            except (OSError, RuntimeError, httpx.HTTPError) as error:
                fault = f"{type(error).__name__}: {error}"[:300]
        time.sleep(pause)
    after, grown = server.memory(), server.log.stat().st_size - log
    told = {
        "seconds": [round(value, 3) for value in seconds],
        "memory_before": before,
        "memory_most": most[0],
        "memory_after": after,
        "log_bytes": grown,
        "fault": fault,
    }
    is_quick = not fault and max(seconds) < MOST_SECONDS
    is_small = after <= (1 + MOST_GROWTH) * before and grown <= MOST_LOG
    given = provenance("cpu") | {"pause": pause}
    return given | told | {"kept": is_quick and is_small}


def main() -> None:
    """Run the campaign, print the outcome, and exit with 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--pause", type=float, default=60.0, help="seconds until memory is measured"
    )
    parser.add_argument("--out", type=Path, help="add what came of it to this file")
    parser.add_argument("--only", action="append", choices=ABUSES, help="some kinds; repeatable")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server:
        for name in options.only or ABUSES:
            told[name] = entry = tried(server, name, options.pause)
            _print(name, entry)
    if options.out:
        _write(options.out, told)
    sys.exit(not all(entry["kept"] for entry in told.values()))


def _write(path: Path, told: dict[str, Any]) -> None:
    """Add to the file, a line for each kind; the same kind of an earlier campaign is replaced."""
    kinds = (json.loads(path.read_text()) if path.exists() else {}) | told
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(kinds[name])}" for name in kinds)
    path.write_text(f"{{\n{lines}\n}}\n")


def _print(name: str, told: dict[str, Any]) -> None:
    sizes = [f"{told[f'memory_{when}'] / 1e6:.0f}" for when in ("before", "most", "after")]
    slowest = max(told["seconds"], default=float("nan"))
    print(
        f"{name:36}{'kept' if told['kept'] else 'BROKEN':8}honest {slowest:.2f} s, memory "
        f"{' → '.join(sizes)} MB, log {told['log_bytes']:,} bytes  {told['fault']}",
        flush=True,
    )


if __name__ == "__main__":
    main()
