"""Tasks become results: in order in this process, or side by side in processes of their own.

All forms are used alike: submit tasks while there is room, then wait for results. A form never
writes to the run folder, and gives each task's result exactly once. A process that dies or
runs out of memory is replaced and its task run again; a task that does so to one process after the
other is an error. The third form is in `cluster`.
"""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import multiprocessing.resource_tracker
import os
import signal
import sys
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from augury.errors import is_out_of_memory

MAX_RETRIES = 3
"""How often a task is run again whose process died, or ran out of memory."""

OUT_OF_MEMORY = "out of memory"
"""The last answer of a process: what it holds by now may be why there was no room."""


class WorkerError(RuntimeError):
    """A task that cannot be done: it raised an error, or its process died time and again."""


class Workers(ABC):
    """Where tasks run."""

    slots: int = 1
    """How many tasks run at a time."""

    def __init__(self, perform: Callable[[Any], Any]) -> None:
        self.perform = perform

    @abstractmethod
    def submit(self, task: Any) -> None:
        """Take a task; at most `slots` may be under way."""

    @abstractmethod
    def wait(self, seconds: float | None) -> list[tuple[Any, Any]]:
        """Return tasks that are done, each with its result; none if nothing is in that time.

        Raises:
            WorkerError: a task cannot be done.
        """

    @abstractmethod
    def close(self) -> None:
        """End everything that is under way; what was not returned is lost."""


class InOrder(Workers):
    """One task after the other in this process."""

    def __init__(self, perform: Callable[[Any], Any]) -> None:
        super().__init__(perform)
        self.tasks: list[Any] = []

    def submit(self, task: Any) -> None:  # noqa: D102
        self.tasks.append(task)

    def wait(self, seconds: float | None) -> list[tuple[Any, Any]]:  # noqa: D102
        # Whatever the time: a task in this process cannot be left half done.
        tasks, self.tasks = self.tasks, []
        return [(task, self.perform(task)) for task in tasks]

    def close(self) -> None:  # noqa: D102
        self.tasks = []


class _Worker:
    """A process, the pipe to it, and what it is doing."""

    def __init__(self, perform: Callable[[Any], Any], device: str | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.device = device
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(perform, theirs, device), daemon=True)
        with _out_of_reach():
            self.process.start()
        theirs.close()  # so that the pipe ends when the process does
        self.task: Any = None
        self.num_deaths = 0

    def give(self, task: Any, num_deaths: int = 0) -> None:
        self.task, self.num_deaths = task, num_deaths
        with suppress(OSError):  # it is dead, and waiting for its answer will show it
            self.pipe.send(task)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Processes(Workers):
    """Tasks side by side in processes of this machine, one thread each."""

    def __init__(
        self, perform: Callable[[Any], Any], slots: int, devices: tuple[str, ...] = ()
    ) -> None:
        """Start the processes.

        Args:
            perform: does a task; importable by name.
            slots: how many processes.
            devices: numbers of GPUs, which the processes take in turn; none: each sees all.
        """
        super().__init__(perform)
        self.slots = slots
        self.workers = [
            _Worker(perform, devices[k % len(devices)] if devices else None) for k in range(slots)
        ]

    def submit(self, task: Any) -> None:  # noqa: D102
        next(worker for worker in self.workers if worker.task is None).give(task)

    def wait(self, seconds: float | None) -> list[tuple[Any, Any]]:  # noqa: D102
        busy = {worker.pipe: worker for worker in self.workers if worker.task is not None}
        ready = multiprocessing.connection.wait(list(busy), seconds)
        found: list[tuple[Any, Any]] = []
        for pipe in ready:
            assert isinstance(pipe, Connection)
            worker = busy[pipe]
            try:
                result, error = pipe.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            if error == OUT_OF_MEMORY:
                self._replace(worker, "ran out of memory")
                continue
            if error is not None:
                raise WorkerError(error)
            found.append((worker.task, result))
            worker.task = None
        return found

    def _replace(self, dead: _Worker, what: str = "ended its process") -> None:
        """Start a process in the place of a dead one, and give it the same task."""
        dead.end()
        if dead.num_deaths >= MAX_RETRIES:
            raise WorkerError(
                f"a task {what} {dead.num_deaths + 1} times (exit code {dead.process.exitcode})"
            )
        worker = _Worker(self.perform, dead.device)
        self.workers[self.workers.index(dead)] = worker
        worker.give(dead.task, dead.num_deaths + 1)

    def close(self) -> None:  # noqa: D102
        for worker in self.workers:
            worker.end()


@contextmanager
def _out_of_reach() -> Generator[None]:
    """Let no Ctrl-C reach a process that starts meanwhile, not even before its first line.

    It is sent to every process of a terminal; what becomes of the work is up to the first.
    """
    mask = getattr(signal, "pthread_sigmask", None)  # not on every system
    if mask is None:
        yield
        return
    multiprocessing.resource_tracker.ensure_running()  # which lets it through when it starts
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)


def _serve(perform: Callable[[Any], Any], pipe: Connection, device: str | None) -> None:
    """Do tasks until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if device is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = device
    use_one_thread()
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            answer = (perform(task), None)
        except Exception as error:
            if is_out_of_memory(error):
                pipe.send((None, OUT_OF_MEMORY))
                return
            answer = (None, f"{type(error).__name__}: {error}")
        pipe.send(answer)


def _end_with_parent() -> None:
    """Exit when the process that started this one is gone, even in the middle of a task."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


@contextmanager
def lightning_quiet() -> Generator[None]:
    """Keep Lightning's advice off the terminal: for a command, whose process is its own."""
    logger = logging.getLogger("lightning.pytorch")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logger.setLevel(before)


def use_one_thread() -> None:
    """Keep PyTorch to one thread, whether or not it is imported yet: it may never be needed."""
    # It reads these when it is imported, and where both are set the second one counts.
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)
