"""Tasks become answers: a few processes work, a few requests wait, more are turned away.

A run over its time is stopped by killing its process; the next task gets a new one.
"""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from augury.apps.explore.limits import Limits
from augury.apps.explore.worker import FAILED, HEAD, STATUS, UNUSABLE, arguments

Answer = tuple[int, bytes]

BROKEN = (asyncio.IncompleteReadError, ConnectionError)
"""What a pipe says whose other end is gone."""


class Busy(Exception):
    """All processes work, and as many requests wait as may."""


class Workers:
    """The processes of one server; made and used in one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._idle: list[Process] = []
        self._all: set[Process] = set()
        self._slots = asyncio.Semaphore(limits.runs)
        self._inside = 0

    async def warm(self) -> None:
        """Start the first process, so that the first request need not wait for it."""
        async with self._slots:
            with suppress(*BROKEN, TimeoutError):
                self._idle.append(await self._start())

    async def run(self, task: dict[str, Any]) -> Answer:
        """Return the status and JSON of a task's answer.

        Raises:
            Busy: there are too many requests already.
        """
        with self._counted():
            async with self._slots:
                return await self._asked(json.dumps(task).encode())

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self._inside >= self.limits.runs + self.limits.waiting:
            raise Busy
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    async def _asked(self, message: bytes) -> Answer:
        process = None
        try:
            process = self._idle.pop() if self._idle else await self._start()
            answer = await asyncio.wait_for(_exchange(process, message), self.limits.seconds)
            self._idle.append(process)
            process = None
            return answer
        except TimeoutError:
            told = f"this took more than {self.limits.seconds:g} seconds and was stopped"
            return UNUSABLE, json.dumps({"error": told}).encode()
        except BROKEN:
            told = "the process of this run ended, probably for lack of memory"
            return FAILED, json.dumps({"error": told}).encode()
        finally:
            if process is not None:  # also when the server stops in the middle of it
                self._kill(process)

    async def _start(self) -> Process:
        process = await asyncio.create_subprocess_exec(
            *arguments(self.limits),
            stdin=PIPE,
            stdout=PIPE,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is for the server, which then ends its workers
        )
        self._all.add(process)
        try:
            await asyncio.wait_for(_answer(process), self.limits.start_seconds)
        except BaseException:
            self._kill(process)
            raise
        return process

    def _kill(self, process: Process) -> None:
        with suppress(ProcessLookupError):
            process.kill()

    async def close(self) -> None:
        """End all processes."""
        for process in self._all:
            self._kill(process)
        await asyncio.gather(*(process.wait() for process in self._all))


async def _exchange(process: Process, message: bytes) -> Answer:
    assert process.stdin is not None
    process.stdin.write(HEAD.pack(len(message)) + message)
    await process.stdin.drain()
    return await _answer(process)


async def _answer(process: Process) -> Answer:
    assert process.stdout is not None
    status, length = STATUS.unpack(await process.stdout.readexactly(STATUS.size))
    return status, await process.stdout.readexactly(length)
