"""A connection asks in time and takes its answer, or is closed: the settings of uvicorn.

By itself, uvicorn waits for ever for the head of a request, and for a client to fetch its answer,
so a few hundred silent clients would lock everybody out. Here heads and answers have deadlines, and
if there are too many connections, the one that has kept us waiting longest goes first: a client
that speaks up at once is never locked out. Nor can anybody fill the disk with log messages.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from augury.apps.explore.limits import Limits

BACKLOG = 64
"""Connections that the system queues for us: up to this many are accepted before any is read."""
MINUTE = 60.0


class Connection(H11Protocol):
    """The HTTP of uvicorn, with deadlines."""

    limits = Limits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the head of the first request."""
        super().connection_made(transport)
        self.since = self.loop.time()
        self._deadline: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None
        self._wait_for_head()
        if len(self.connections) > self.limits.connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Check whether the head is complete by now."""
        super().data_received(data)
        self._wait_for_head()

    def on_response_complete(self) -> None:
        """Count as waiting from now on."""
        self.since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadlines."""
        super().connection_lost(exc)
        for timer in (self._deadline, self._sending):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        """Give the client a while to take its answer: no more of it can be buffered."""
        super().pause_writing()
        self._sending = self.loop.call_later(self.limits.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has taken it."""
        super().resume_writing()
        if self._sending is not None:
            self._sending.cancel()

    def is_answered(self) -> bool:
        """Whether a whole request is here and its answer is not yet sent."""
        return self.cycle is not None and not (self.cycle.response_complete or self.cycle.more_body)

    def _wait_for_head(self) -> None:
        """Start the clock if no request has begun; bytes that come slowly do not stop it."""
        is_waiting = self.cycle is None or self.cycle.response_complete
        if is_waiting and self._deadline is None:
            self._deadline = self.loop.call_later(self.limits.head_seconds, self.transport.abort)
        elif not is_waiting and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _make_room(self) -> None:
        """Close the connection that has kept us waiting longest, or this one if none has."""
        all_of_ours = (other for other in self.connections if isinstance(other, Connection))
        waiting = [other for other in all_of_ours if not other.is_answered()]
        longest = min(waiting, key=lambda other: other.since, default=self)
        self.connections.discard(longest)
        longest.transport.abort()


class Sparing(logging.Filter):
    """Lets a few messages a minute pass, and later says how many were left out."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.since, self.count = most, float("-inf"), 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether there is room for one more."""
        if time.monotonic() - self.since > MINUTE:
            left_out = self.count - self.most
            if left_out > 0:
                record.msg, record.args = f"{record.getMessage()} ({left_out:,} left out)", ()
            self.since, self.count = time.monotonic(), 0
        self.count += 1
        return self.count <= self.most


def config_of(app: FastAPI, **settings: Any) -> uvicorn.Config:
    """Return uvicorn's configuration for what `make_app` made, with the same limits."""
    limits: Limits = app.state.workers.limits
    messages = {"handlers": ["stderr"], "level": "WARNING", "propagate": False}
    handler = {"class": "logging.StreamHandler", "filters": ["sparing"], "formatter": "plain"}
    log: dict[str, Any] = {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"sparing": {"()": Sparing, "most": limits.log_messages}},
        "formatters": {"plain": {"format": "%(levelname)s: %(message)s"}},
        "handlers": {"stderr": handler},
        "loggers": {"uvicorn": messages, "asyncio": messages},
    }
    return uvicorn.Config(
        app,
        http=type("LimitedConnection", (Connection,), {"limits": limits}),
        ws="none",
        log_config=log,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        **settings,
    )
