"""Runs are limited for real: over time they stop, beyond the limit they wait or are turned away."""

from __future__ import annotations

import builtins
import gc
import gzip
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from augury.apps.explore import worker
from augury.apps.explore.limits import Limits
from augury.apps.explore.requests import MODELS
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


def who_answers(client: httpx.Client) -> int:
    """Return the process that answers a request which is answered at once."""
    answer = client.post("/api/v1/solve", json=body(""))
    assert answer.status_code == 200, answer.text
    return answer.json()["certificate"]["pid"]


@LINUX
def test_a_run_over_time_is_stopped_and_the_next_one_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_stand_in(monkeypatch)
    before = stand_ins()
    limits = Limits(runs=1, seconds=0.3, stop_seconds=0.3)
    with served(make_app(limits)) as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:
        first = who_answers(client)
        for name, is_kept in (("spin", True), ("stuck", False)):
            answer = client.post("/api/v1/solve", json=body(name))
            assert answer.status_code == 422
            assert answer.json()["error"] == "this took more than 0.3 seconds and was stopped"
            assert (who_answers(client) == first) == is_kept
        assert first not in stand_ins()  # it no longer uses the CPU
    assert stand_ins() == before  # and none is left behind


def abandon(url: str, name: str) -> None:
    """Ask, and be gone once the server has the request."""
    parts = urlsplit(url)
    told = json.dumps(body(name)).encode()
    with socket.create_connection((parts.hostname, parts.port), PATIENCE) as plain:
        head = f"POST /api/v1/solve HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        kind = f"Content-Type: application/json\r\nContent-Length: {len(told)}\r\n\r\n"
        plain.sendall((head + kind).encode() + told)
        time.sleep(0.05)


@pytest.mark.parametrize("name", ["spin", "stuck"])
def test_runs_that_nobody_waits_for_give_way(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    use_stand_in(monkeypatch)
    limits = Limits(runs=2, waiting=16, seconds=10 * PATIENCE, stop_seconds=0.3)
    with served(make_app(limits)) as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(lambda _: abandon(url, name), range(20)))
        who_answers(client)


def test_a_run_that_is_given_up_costs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    limits = Limits(runs=1, seconds=10 * PATIENCE, stop_seconds=PATIENCE)
    with served(make_app(limits)) as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:
        first = who_answers(client)
        for _ in range(3):
            abandon(url, "spin")
        assert who_answers(client) == first


@LINUX
def test_a_process_that_died_idle_costs_nobody_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    with (
        served(make_app(Limits(runs=1))) as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as client,
    ):
        for _ in range(5):
            first = who_answers(client)
            os.kill(first, signal.SIGKILL)
            assert who_answers(client) != first  # at once, before its end was seen
        last = who_answers(client)
        before = stand_ins()
        os.kill(last, signal.SIGKILL)
        wait_for(lambda: bool(stand_ins() - before))  # nobody had to ask


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
    limits = Limits(runs=1, waiting=1, seconds=1)
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

    packed = gzip.compress(b"1,2\n" * 400_000)
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
    status, answer = worker.answered(b"fail\n{}", Limits())
    assert status == 500
    assert b"secret" not in answer
    assert "the secret" in capsys.readouterr().err  # where the log is
    assert worker.answered(b"fail\n{}", Limits())[0] == 500
    assert not capsys.readouterr().err  # the same again fills no log
    assert worker.answered(b"starve\n{}", Limits())[0] == 413
    told = b'generate\n{"family": "path", "seed": 0, "parameters": {"n": 2}}'
    assert worker.answered(told, Limits())[0] == 200


def test_pytorch_out_of_memory_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    def starve(*_: Any) -> dict[str, Any]:
        import torch

        torch.empty(2**50)
        return {}

    monkeypatch.setitem(worker.TASKS, "starve", starve)
    told = {"error": "this needs more memory than a run may have"}
    status, answer = worker.answered(b"starve\n{}", Limits())
    assert (status, json.loads(answer)) == (413, told)


def test_a_worker_that_failed_for_memory_is_retired() -> None:
    code = """
from augury.apps.explore import worker
def starve(*_): raise MemoryError
worker.warm = lambda limits: None
worker.TASKS |= {"starve": starve, "fine": lambda *_: {}}
worker.main()
"""
    messages = [worker.HEAD.pack(len(text)) + text for text in (b"fine\n", b"starve\n", b"fine\n")]
    command = [sys.executable, "-c", code, json.dumps(asdict(Limits()))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"".join(messages))
        process.stdin.flush()
        statuses, left = [], process.stdout.read()
        assert process.wait(PATIENCE) == 0
    while left:
        status, length = worker.STATUS.unpack(left[: worker.STATUS.size])
        statuses.append(status)
        left = left[worker.STATUS.size + length :]
    assert statuses == [200, 100, 200, 100, 413]


def test_an_interrupt_stops_a_run_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    number = worker.INTERRUPT
    assert number is not None
    before = signal.getsignal(number)

    def spin(*_: Any) -> dict[str, Any]:
        while True:
            signal.raise_signal(number)

    monkeypatch.setitem(worker.TASKS, "spin", spin)
    monkeypatch.setitem(worker.TASKS, "fine", lambda *_: {})
    try:
        run = worker.Interruptible()
        for _ in range(3):
            assert run.answered(b"spin\n{}", Limits())[0] == 422
            signal.raise_signal(number)  # too late, and so without effect
            assert run.answered(b"fine\n{}", Limits())[0] == 200
    finally:
        signal.signal(number, before)


def compiled() -> dict[str, int]:
    """Return how many forms of each of our compiled functions there are."""
    from numba.core.dispatcher import Dispatcher

    gc.unfreeze()  # else what was imported before the tests is not among them
    objects = gc.get_objects()
    gc.freeze()
    return {
        f"{found.__module__}.{found.py_func.__name__}": len(found.signatures)
        for found in objects
        if issubclass(type(found), Dispatcher) and str(found.__module__).startswith("augury")
    }


def test_what_a_request_needs_is_compiled_before_it_comes() -> None:
    worker.warm(Limits())
    before = compiled()
    assert sum(before.values()) > 2
    for model in MODELS:
        for text, is_flow in (("a,b\nc,b\nc,d\ne,d", False), ("s,a,3\na,t,2\ns,t,1", True)):
            graph = {"text": text, "flow": is_flow}
            ends = {"source": "s", "sink": "t"} if is_flow else {}
            request = {"graph": graph | ends, "model": model, "seed": 3}
            for task in (b"solve", b"story"):
                told = worker.answered(task + b"\n" + json.dumps(request).encode(), Limits())
                assert told[0] == 200, told
    assert compiled() == before
