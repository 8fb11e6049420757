"""The guard admits only our own pages, limits what is read, and adds security headers."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from augury.apps.explore.guard import HEADERS, is_own_host
from augury.apps.explore.limits import Limits
from augury.apps.explore.server import make_app
from serving import HEAD, PATIENCE, opened, served, use_stand_in


def test_bodies_beyond_the_limit_are_not_read(client: httpx.Client) -> None:
    large = b" " * (Limits().body_bytes + 1)
    answer = client.post("/api/v1/solve", content=large)
    assert answer.status_code == 413
    assert "at most 4,194,304 bytes" in answer.json()["error"]

    def pieces() -> Any:  # without a content length
        for _ in range(Limits().body_bytes // 65536 + 2):
            yield b" " * 65536

    assert client.post("/api/v1/solve", content=pieces()).status_code == 413


def test_every_response_has_the_security_headers(client: httpx.Client) -> None:
    for path in ("/", "/nope", "/api/v1/models", "/api/v1/solve"):
        answer = client.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS, path
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


OWN = ("127.0.0.1:8000", "localhost", "LOCALHOST:80", "[::1]:80", "192.168.0.7")
FOREIGN = (
    "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "a@127.0.0.1",
    "127.0.0.1/evil", "localhost:x",
)  # fmt: skip


def test_only_hosts_of_our_own_are_answered(client: httpx.Client) -> None:
    assert [host for host in (*OWN, *FOREIGN) if is_own_host(host, "localhost")] == list(OWN)
    for host, status in (("[::1]:80", 200), ("evil.example", 400)):
        answer = client.get("/api/v1/models", headers={"host": host})
        assert answer.status_code == status
    assert "does not go by that name" in answer.json()["error"]


def test_a_host_that_was_asked_for_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    with served(make_app(host="Box.example")) as url, httpx.Client(base_url=url) as client:
        for host, status in (("box.example:80", 200), ("other.example", 400)):
            answer = client.get("/api/v1/models", headers={"host": host})
            assert answer.status_code == status


def test_pages_of_other_origins_are_refused(client: httpx.Client) -> None:
    body = {"graph": {"edges": [["ann", "cook"]]}}
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://[", "//[::1"):
        answer = client.post("/api/v1/solve", json=body, headers={"origin": origin})
        assert answer.status_code == 403, origin
    own = {"origin": str(client.base_url).rstrip("/")}
    assert client.post("/api/v1/solve", json=body, headers=own).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_may_lead_here_and_no_more(client: httpx.Client, site: str) -> None:
    mark = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    paths = ["", "page.css", "story.js", "examples.json", "api/v1/models", "api/v1/openapi.json"]
    for path in (*paths, "api/v1/generate?family=path&n=2", "nothing"):
        assert client.get(f"/{path}", headers=mark).status_code == 403, path
    visit = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=visit).status_code == 200
    assert client.get("/api/v1/generate?family=path&n=2", headers=visit).status_code == 403
    for own in ("same-origin", "none"):
        assert client.get("/api/v1/models", headers={"sec-fetch-site": own}).status_code == 200


def test_a_body_that_does_not_arrive_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    sent = HEAD + b"Content-Length: 9\r\n\r\n{"
    with served(make_app(Limits(body_seconds=0.2))) as url, opened(url, sent) as plain:
        assert plain.recv(65536).startswith(b"HTTP/1.1 408")


def stalled(size: int) -> bytes:
    """Return a request without its last byte."""
    return HEAD + f"Content-Length: {size + 1}\r\n\r\n".encode() + b" " * size


def test_bodies_that_arrive_hold_no_more_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 200_000
    limits = {"arriving_bytes": 5 * size // 2, "body_seconds": 10 * PATIENCE}
    use_stand_in(monkeypatch)
    with served(make_app(Limits(**limits))) as url, ExitStack() as stack:
        plains = []
        for _ in range(6):
            plains.append(stack.enter_context(opened(url, stalled(size))))
            time.sleep(0.05)  # so that the first is the oldest
        for plain in plains[:4]:
            assert plain.recv(12) == b"HTTP/1.1 408"
        body = {"graph": {"text": "a,b" + " " * size}}
        assert httpx.post(f"{url}/api/v1/solve", json=body).status_code == 200
