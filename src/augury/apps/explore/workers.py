"""Tasks become answers: a few processes work, a few requests wait, more are turned away.

All processes are kept ready; one that ends, for whatever reason, is replaced. A run that exceeds
its time, or that no client waits for any more, is interrupted; if that does not help, its process
is killed. So it gives way within `Limits.stop_seconds`.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from augury.apps.explore.limits import Limits
from augury.apps.explore.worker import (
    FAILED,
    HEAD,
    INTERRUPT,
    STATUS,
    UNUSABLE,
    Answer,
    arguments,
    failure,
)
from augury.processes import ONE_THREAD, shielded

T = TypeVar("T")

BROKEN = (asyncio.IncompleteReadError, ConnectionError)
"""Raised by a pipe whose other end is gone."""

INTERRUPTS = 10
"""Interrupts that a run gets before its process is killed."""

MAX_PAUSE = 60.0
"""The most seconds between attempts to start a process."""


class Busy(Exception):
    """All processes are working, and no more requests may wait."""


class NotBegun(Exception):
    """A process was gone before it had read its task; another can take it."""


class Workers:
    """The processes of one server; made and used in one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._ready: asyncio.Queue[Process] = asyncio.Queue()
        self._all: set[Process] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._starting = asyncio.Lock()
        self._inside = 0
        self._is_warm = False

    async def warm(self) -> None:
        """Start all processes; return when the first is ready. A second call does nothing.

        The others start once the first has compiled what all of them need; if it does not start,
        this raises `RuntimeError`.
        """
        if self._is_warm:
            return
        try:
            first = await self._started()
        except (*BROKEN, TimeoutError):
            raise RuntimeError("the worker processes do not start") from None
        self._is_warm = True
        for process in (first, *[None] * (self.limits.runs - 1)):
            self._in_background(self._kept(process))

    async def run(self, task: str, body: bytes) -> Answer:
        """Return status and JSON of the answer to a task, given as name and JSON, unless `Busy`."""
        message = task.encode() + b"\n" + body
        with self._counted():
            while True:
                try:
                    async with asyncio.timeout(self.limits.start_seconds):
                        process = await self._ready.get()
                except TimeoutError:
                    return failure(FAILED, "no process is ready; the server's log says why")
                with suppress(NotBegun):
                    return await self._asked(process, message)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self._inside >= self.limits.runs + self.limits.waiting:
            raise Busy
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    async def _asked(self, process: Process, message: bytes) -> Answer:
        exchange = self._in_background(_exchange(process, message))
        try:
            await asyncio.wait({exchange}, timeout=self.limits.seconds)
            if exchange.done():
                return exchange.result()
            told = f"this took more than {self.limits.seconds:g} seconds and was stopped"
            return failure(UNUSABLE, told)
        except BROKEN:
            return failure(FAILED, "the process of this run ended, probably for lack of memory")
        finally:  # also when the client gives up in the middle of it
            self._in_background(self._released(process, exchange))

    async def _released(self, process: Process, exchange: asyncio.Task[Answer]) -> None:
        """Offer a process again, after stopping a run that no client waits for."""
        for _ in range(INTERRUPTS):  # the first may come before the run has begun
            if not exchange.done():
                _signal(process, INTERRUPT)
                await asyncio.wait({exchange}, timeout=self.limits.stop_seconds / INTERRUPTS)
        if exchange.done() and not exchange.exception():
            self._ready.put_nowait(process)
            return
        exchange.cancel()
        await asyncio.wait({exchange})
        await _killed(process)

    async def _kept(self, process: Process | None) -> None:
        """Keep one process running as long as the server runs, and offer it when it is free."""
        pause = 1.0
        while True:
            try:
                process = process or await self._started()
            except (*BROKEN, TimeoutError):
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE)
                continue
            pause = 1.0
            self._ready.put_nowait(process)
            await process.wait()
            self._all.discard(process)
            process = None

    async def _started(self) -> Process:
        async with self._starting:
            with shielded():
                process = await asyncio.create_subprocess_exec(
                    *arguments(self.limits), stdin=PIPE, stdout=PIPE, env=os.environ | ONE_THREAD
                )
        self._all.add(process)
        try:
            async with asyncio.timeout(self.limits.start_seconds):
                await _answer(process)
        except BaseException:
            self._all.discard(process)
            await _killed(process)
            raise
        return process

    def _in_background(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Kill all processes."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*map(_killed, list(self._all)))


def _signal(process: Process, number: int | None) -> None:
    """Send a signal, if the system has it, unless the process has just ended.

    `Process.send_signal` would check that by waiting for the process itself, and asyncio would then
    log that it knows no such process.
    """
    if process.returncode is None and number is not None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


async def _killed(process: Process) -> None:
    """Kill a process and wait for its end."""
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    assert process.stdout is not None
    with suppress(*BROKEN):
        await process.stdout.read()  # anything left in the pipe would hide its end
    await process.wait()


async def _exchange(process: Process, message: bytes) -> Answer:
    assert process.stdin is not None
    try:
        process.stdin.write(HEAD.pack(len(message)) + message)
        await process.stdin.drain()
        await _answer(process)  # it has read the message
    except BROKEN:
        raise NotBegun from None
    return await _answer(process)


async def _answer(process: Process) -> Answer:
    assert process.stdout is not None
    status, length = STATUS.unpack(await process.stdout.readexactly(STATUS.size))
    return status, await process.stdout.readexactly(length)
