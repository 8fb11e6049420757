"""Runs are limited for real: over time they stop, beyond the limit they wait or are turned away."""

from __future__ import annotations

import builtins
import gzip
import io
import os
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import httpx
import pytest

from augury.apps.explore import worker
from augury.apps.explore.limits import Limits
from augury.apps.explore.server import make_app
from serving import PATIENCE, served, use_stand_in

LINUX = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at processes in /proc")


def body(name: str) -> dict[str, Any]:
    return {"graph": {"text": "a,b", "name": name}}


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def stand_ins() -> set[int]:
    """Return the processes of this one that still compute."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = entry.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(entry.parent.name))
    return found


@LINUX
def test_a_run_over_time_is_stopped_and_the_next_one_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_stand_in(monkeypatch)
    before = stand_ins()
    limits = Limits(runs=1, seconds=0.3)
    with served(make_app(limits)) as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:
        assert client.post("/api/v1/solve", json=body("")).status_code == 200
        (first,) = stand_ins() - before
        answer = client.post("/api/v1/solve", json=body("spin"))
        assert answer.status_code == 422
        assert answer.json()["error"] == "this took more than 0.3 seconds and was stopped"
        wait_for(lambda: first not in stand_ins())  # it no longer uses the CPU
        assert client.post("/api/v1/solve", json=body("")).status_code == 200
    assert stand_ins() == before  # and none is left behind


def test_a_process_that_dies_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    with (
        served(make_app(Limits(runs=1))) as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as client,
    ):
        answer = client.post("/api/v1/solve", json=body("die"))
        assert answer.status_code == 500
        assert "lack of memory" in answer.json()["error"]
        assert client.post("/api/v1/solve", json=body("")).status_code == 200


def test_more_requests_than_may_wait_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    limits = Limits(runs=1, waiting=1, seconds=2)
    with (
        served(make_app(limits)) as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as client,
        ThreadPoolExecutor(3) as pool,
    ):
        # One runs and one waits, whichever they are, so one of three is turned away.
        jobs = [pool.submit(client.post, "/api/v1/solve", json=body("spin")) for _ in range(3)]
        answer = next(as_completed(jobs)).result()
        assert answer.status_code == 429
        assert answer.headers["retry-after"]
        assert "busy" in answer.json()["error"]
        assert client.get("/").status_code == 200  # the page itself is never turned away
        assert sorted(job.result().status_code for job in jobs) == [422, 422, 429]
        assert client.post("/api/v1/solve", json=body("")).status_code == 200


def test_requests_that_wait_are_answered_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    with (
        served(make_app(Limits(runs=2, waiting=8))) as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as client,
        ThreadPoolExecutor(10) as pool,
    ):
        jobs = [pool.submit(client.post, "/api/v1/solve", json=body("nap")) for _ in range(10)]
        assert [job.result().status_code for job in jobs] == [200] * 10


def test_a_large_answer_and_a_large_request_pass_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    text = "a,b\n" * 200_000
    with (
        served(make_app(Limits(runs=1))) as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as client,
    ):
        answer = client.post("/api/v1/solve", json={"graph": {"text": text}})
        assert answer.json()["echo"]["graph"]["text"] == text


def test_nothing_that_arrives_touches_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a file was opened")

    packed = gzip.compress(b"1,2\n" * 1_000_000)
    for module, name in (
        (builtins, "open"),
        (io, "open"),
        (os, "open"),
        (tempfile, "_mkstemp_inner"),
    ):
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", refuse)
    given = {"data": b64encode(packed).decode(), "name": "/etc/passwd"}
    graph = worker.graph_of(given, Limits())
    assert "1 edge" in repr(graph)


def test_a_task_that_fails_leaves_a_worker_that_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> dict[str, Any]:
        raise RuntimeError("the secret")

    def starve(*_: Any) -> dict[str, Any]:
        raise MemoryError

    monkeypatch.setitem(worker.TASKS, "fail", fail)
    monkeypatch.setitem(worker.TASKS, "starve", starve)
    status, answer = worker.answered(b'{"task": "fail"}', Limits())
    assert status == 500
    assert b"secret" not in answer
    assert "the secret" in capsys.readouterr().err  # where the log is
    assert worker.answered(b'{"task": "starve"}', Limits())[0] == 413
    told = b'{"task": "generate", "family": "path", "seed": 0, "parameters": {"n": 2}}'
    assert worker.answered(told, Limits())[0] == 200
