"""Tasks run in child processes; how such a process behaves is defined here alone.

A child uses one thread, never sees Ctrl-C, and exits when its parent does, however that ends, even
in the middle of a task. Importing this module does not import PyTorch.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.resource_tracker
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any

from augury.errors import is_out_of_memory

MAX_RETRIES = 3
"""Retries for a task whose process died or ran out of memory."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Makes libraries use one thread; they read these variables when they are loaded."""

OUT_OF_MEMORY = "out of memory"
"""A child's last answer before it exits: its own garbage may have used up the memory."""


class WorkerError(RuntimeError):
    """A task that raised an error in its process."""


class Died(WorkerError):
    """A task whose process died or ran out of memory, on every attempt."""

    code: int | None = None
    """The exit code of the last process; None if unknown."""


class Pool:
    """Child processes that perform tasks; close it when done, as by `contextlib.closing`.

    A child that dies or runs out of memory is replaced, and its task is run again. A thread here
    waits for each running task, so submitting never blocks and no child waits for the next.
    """

    def __init__(
        self,
        perform: Callable[[Any], Any],
        size: int,
        *,
        prepare: Callable[[], object] | None = None,
        devices: tuple[str, ...] = (),
        retries: int = MAX_RETRIES,
        renewed: bool = False,
    ) -> None:
        """Start the processes.

        Args:
            perform: does a task; importable by name.
            size: the number of processes.
            prepare: called in each process before its first task.
            devices: numbers of GPUs, assigned to the processes in turn; none: each sees all.
            retries: for a task whose process died or ran out of memory.
            renewed: whether each task gets a process of its own.

        Raises:
            OSError: a process cannot be started.
        """
        self.slots, self.retries, self.renewed = size, retries, renewed
        self.children = [
            Child((perform, prepare, devices[k % len(devices)] if devices else None))
            for k in range(size)
        ]
        self._free: SimpleQueue[Child] = SimpleQueue()
        self._threads = ThreadPoolExecutor(size)
        self._lock = threading.Lock()
        self._is_closed = False
        try:
            for child in self.children:
                self._start(child)
                self._free.put(child)
        except OSError:
            self.close()
            raise

    def submit(self, task: Any) -> Future[Any]:
        """Queue a task; if it fails, the future raises a `WorkerError`, or `Died`."""
        return self._threads.submit(self._result, task)

    def close(self) -> None:
        """Kill all processes, whatever they are doing; tasks not yet begun are cancelled."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._is_closed = True
            for child in self.children:
                child.kill()
        self._threads.shutdown()
        for child in self.children:
            child.end()

    def _result(self, task: Any) -> Any:
        child, num_deaths = self._free.get(), 0
        try:
            while True:
                if child.process is None:
                    self._start(child)
                try:
                    return child.ask(task)
                except Died as death:
                    num_deaths += 1
                    code = child.end()
                    if num_deaths > self.retries:
                        last = Died(f"a task {death} {num_deaths} times (exit code {code})")
                        last.code = code
                        raise last from None
        finally:
            if self.renewed:
                child.end()
            self._free.put(child)

    def _start(self, child: Child) -> None:
        with self._lock:
            if self._is_closed:
                raise Died("the pool is closed")
            child.start()


class Child:
    """A process of a pool and the pipe to it."""

    def __init__(self, work: tuple[Any, ...]) -> None:
        self.work = work
        self.process: BaseProcess | None = None

    def start(self) -> None:
        """Start the process."""
        context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
        self.pipe, theirs = context.Pipe()
        process = context.Process(target=_child, args=(theirs, *self.work), daemon=True)
        with theirs, _bequeathed():  # closed here, so that the pipe ends with the process
            process.start()
        self.process = process

    def ask(self, task: Any) -> Any:
        """Have a task done; raise a `WorkerError` if it fails, `Died` if its process does."""
        try:
            self.pipe.send(task)
            result, error = self.pipe.recv()
        except (EOFError, OSError):
            raise Died("ended its process") from None
        if error == OUT_OF_MEMORY:
            raise Died("ran out of memory")
        if error is not None:
            raise WorkerError(error)
        return result

    def kill(self) -> None:
        """Kill the process, if there is one."""
        process = self.process  # the thread of this child may set it to None
        if process is not None:
            process.kill()

    def end(self) -> int | None:
        """Kill the process and wait for its end; returns its exit code."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        process.kill()
        process.join()
        self.pipe.close()
        return process.exitcode


_STARTING = threading.Lock()
"""The environment belongs to the whole process: only one thread at a time may change it."""


@contextmanager
def _bequeathed() -> Iterator[None]:
    """Let processes started in this block use one thread from their first import on."""
    multiprocessing.resource_tracker.ensure_running()  # it unblocks Ctrl-C when it starts
    with _STARTING, shielded():
        before = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(ONE_THREAD)
        try:
            yield
        finally:
            for name, value in before.items():
                del os.environ[name]
                if value is not None:
                    os.environ[name] = value


@contextmanager
def shielded() -> Iterator[None]:
    """Keep Ctrl-C from processes started in this block, even before their first line runs.

    A terminal sends it to every process, but only the first one decides what becomes of the work.
    """
    mask = getattr(signal, "pthread_sigmask", None)  # not on every system
    if mask is None:
        yield
        return
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)


def _child(
    pipe: Connection,
    perform: Callable[[Any], Any],
    prepare: Callable[[], object] | None,
    device: str | None,
) -> None:
    """Perform tasks until the parent is gone."""
    messages = received(pipe.recv_bytes)
    if device is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = device
    if prepare is not None:
        prepare()
    for message in messages:
        try:
            task: Any = ForkingPickler.loads(message)  # type: ignore[reportAttributeAccessIssue]
            answer = (perform(task), None)
        except Exception as error:
            if is_out_of_memory(error):
                pipe.send((None, OUT_OF_MEMORY))
                return
            answer = (None, f"{type(error).__name__}: {error}")
        pipe.send(answer)


def received(read: Callable[[], bytes]) -> Iterator[bytes]:
    """Make this process a child: ignore Ctrl-C, and yield what the parent sends until it is gone.

    Then `read`, which returns the next message, raises an error, and the process exits, even in the
    middle of a task.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    messages: SimpleQueue[bytes] = SimpleQueue()

    def listen() -> None:
        try:
            while True:
                messages.put(read())
        except BaseException:
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    return iter(messages.get, None)


def use_one_thread() -> None:
    """Keep this process to one thread, whether or not PyTorch has been imported."""
    os.environ.update(ONE_THREAD)
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)
