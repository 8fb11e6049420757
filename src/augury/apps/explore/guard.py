"""A request becomes a safe request or a refusal, and every response gets its security headers.

The server listens on this machine, where a browser also visits strangers. Three things keep those
out. The host must be this machine's own: a stranger's name that resolves to it, DNS rebinding, is
refused. A page of another origin may request nothing; it may only link to ours. And bodies are
read only up to a limit, each of them and all that are arriving together.
"""

from __future__ import annotations

import asyncio
import json
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from augury.apps.explore.limits import Limits

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Refused(Exception):
    """A request that goes no further: its status and a sentence."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Guard:
    """ASGI middleware around everything."""

    def __init__(self, app: ASGIApp, limits: Limits, host: str) -> None:
        self.app, self.limits, self.host = app, limits, host
        self._arriving: dict[asyncio.Timeout, int] = {}  # deadlines and bytes so far, oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, read the body, pass on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            self._check(scope["path"], Headers(scope=scope))
            body = await self._body(Headers(scope=scope), receive)
        except Refused as refused:
            await problem(refused.status, str(refused))(scope, receive, send_guarded)
            return
        except TimeoutError:
            answer = problem(408, "the request took too long to arrive")
            await answer(scope, receive, send_guarded)
            return
        if body is None:
            return  # the client has gone
        await self.app(scope, _replayed(body, receive), send_guarded)

    def _check(self, path: str, headers: Headers) -> None:
        host = headers.get("host", "")
        if not is_own_host(host, self.host):
            raise Refused(400, "this server does not go by that name; use its address")
        origin = headers.get("origin")
        is_visit = path == "/" and headers.get("sec-fetch-mode") == "navigate"
        is_own = headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        if (origin is not None and not is_from(origin, host)) or not (is_own or is_visit):
            raise Refused(403, "requests from other pages are refused")

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        most = self.limits.body_bytes
        told = headers.get("content-length", "0")
        if not (told.isascii() and told.isdigit()):
            raise Refused(400, "the content length is not a number")
        refusal = Refused(413, f"a request may have at most {most:,} bytes")
        if int(told[:20]) > most:
            raise refusal
        body = bytearray()
        async with asyncio.timeout(self.limits.body_seconds) as deadline:
            try:
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise refusal
                    if not message.get("more_body", False):
                        return bytes(body)
                    self._hold(deadline, len(body))
            finally:
                self._arriving.pop(deadline, None)

    def _hold(self, deadline: asyncio.Timeout, size: int) -> None:
        """Note how much of a body has arrived; if all together are too much, give up the oldest."""
        self._arriving[deadline] = size
        if sum(self._arriving.values()) > self.limits.arriving_bytes:
            oldest = next(iter(self._arriving))
            del self._arriving[oldest]
            oldest.reschedule(asyncio.get_running_loop().time())


def is_from(origin: str, host: str) -> bool:
    """Whether an Origin header names the host that was asked."""
    try:
        return urlsplit(origin).netloc == host
    except ValueError:  # such as http://[
        return False


def is_own_host(header: str, name: str) -> bool:
    """Whether a Host header names this server.

    An address cannot be rebound, so any will do; of names, only localhost and the one given.
    """
    try:
        host = urlsplit(f"//{header}").hostname or ""
        urlsplit(f"//{header}").port  # noqa: B018  # raises where it is none
    except ValueError:
        return False
    if "@" in header or "/" in header:
        return False
    if host in ("localhost", name.lower()):
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def problem(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    """Return the answer to a request that cannot be met."""
    content = json.dumps({"error": text})
    return Response(content, status, headers, media_type="application/json")


def _replayed(body: bytes, receive: Receive) -> Receive:
    is_read = False

    async def replay() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
