"""Clients that are silent, slow, greedy or deaf do not block the others."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from augury.apps.explore import connection
from augury.apps.explore.connection import Sparing
from augury.apps.explore.limits import Limits
from augury.apps.explore.server import make_app
from serving import HEAD, PATIENCE, opened, served, use_stand_in


@contextmanager
def server(monkeypatch: pytest.MonkeyPatch, **limits: Any) -> Iterator[str]:
    use_stand_in(monkeypatch)
    with served(make_app(Limits(**limits))) as url:
        yield url


def is_closed(plain: socket.socket) -> bool:
    """Wait until the server closes a connection without a word."""
    try:
        return plain.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"G", HEAD])
def test_a_head_that_does_not_arrive_is_given_up(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    with server(monkeypatch, head_seconds=0.2) as url, opened(url, sent) as plain:
        assert is_closed(plain)


def test_a_head_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with server(monkeypatch, head_seconds=0.5) as url, opened(url, HEAD) as plain:
        end = time.monotonic() + PATIENCE
        with pytest.raises(OSError):  # it is closed, and the system says so somehow
            while time.monotonic() < end:
                plain.sendall(b"x")
                time.sleep(0.05)


def test_the_second_head_of_a_connection_has_a_deadline_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = b"GET /page.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with server(monkeypatch, head_seconds=0.5) as url, opened(url, first) as plain:
        assert plain.recv(15) == b"HTTP/1.1 200 OK"
        plain.sendall(HEAD)
        while plain.recv(65536):
            pass


def test_a_request_may_take_longer_than_its_head(monkeypatch: pytest.MonkeyPatch) -> None:
    with server(monkeypatch, head_seconds=0.1) as url:
        body = {"graph": {"text": "a,b", "name": "nap"}}
        assert httpx.post(f"{url}/api/v1/solve", json=body).status_code == 200


def test_those_who_wait_longest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    with server(monkeypatch, connections=4, head_seconds=PATIENCE) as url, ExitStack() as stack:
        silent = [stack.enter_context(opened(url, HEAD)) for _ in range(20)]
        for plain in silent[:16]:
            assert is_closed(plain)
        assert httpx.get(url).status_code == 200
        assert is_closed(silent[16])
        silent[19].settimeout(0.1)
        with pytest.raises(TimeoutError):  # the last ones may still speak
            silent[19].recv(1)


def test_an_answer_that_nobody_fetches_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a" * 3_900_000
    told = f'{{"graph": {{"text": "{text}"}}}}'.encode()
    request = HEAD + f"Content-Length: {len(told)}\r\n\r\n".encode() + told
    with server(monkeypatch, answer_seconds=0.3) as url, socket.socket() as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        parts = urlsplit(url)
        plain.connect((parts.hostname, parts.port))
        plain.sendall(request)
        time.sleep(1.5)
        received = 0
        try:
            while data := plain.recv(1 << 20):
                received += len(data)
        except ConnectionResetError:
            pass
        assert received < len(text)


def test_the_log_takes_some_messages_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(connection.time, "monotonic", lambda: now)
    sparing = Sparing(3)
    kept: list[str] = []
    for minute in range(3):
        now = 61.0 * minute
        for _ in range(1000):
            record = logging.LogRecord("a", logging.WARNING, "", 0, "it is %s", ("bad",), None)
            if sparing.filter(record):
                kept.append(record.getMessage())
    later = ["it is bad (997 left out)", "it is bad", "it is bad"]
    assert kept == ["it is bad"] * 3 + 2 * later


def test_garbage_fills_no_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with server(monkeypatch, log_messages=5) as url:
        for _ in range(30):
            with opened(url, b"\x00\x01\r\n\r\n") as plain:
                plain.recv(65536)
    assert len(capfd.readouterr().err.splitlines()) <= 5
