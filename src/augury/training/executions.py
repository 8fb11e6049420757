"""Networks become the shares of validation graphs that they execute to the maximum.

On the CPU, where a search is one compiled loop: a GPU would wait for every step. In this process
one network after the other; or, while a GPU goes on with the next epochs, in processes of their
own. These are ready before the first network is, and end with the one that started them, however
that ends. If one of them dies, this process executes what they left: later, but to the same end.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from augury.classical.ford_fulkerson import Verdict
from augury.classical.network import FlowNetwork
from augury.classical.simulate import maximum_values, simulate
from augury.config import Config
from augury.models.kinds import executor_of, make_network
from augury.neural.batch import execution_data

Shares = dict[str, float]
"""By scale: which share of its graphs was executed to the maximum."""


@dataclass(frozen=True, eq=False)
class Exam:
    """The graphs of each scale that a network is to execute, all subroutines neural."""

    config: Config
    mean_log_degree: float

    @cached_property
    def graphs(self) -> dict[int, list[FlowNetwork]]:
        """The validation graphs by scale."""
        training = self.config.training
        return execution_data(
            self.config.data, training.execution_scales, training.execution_graphs
        )

    @cached_property
    def maxima(self) -> dict[int, list[int]]:
        """The maximum flows of the graphs."""
        return {scale: maximum_values(graphs) for scale, graphs in self.graphs.items()}

    @property
    def nothing(self) -> Shares:
        """What a network gets that executes nothing rightly."""
        return {f"execution_{scale}x": 0.0 for scale in self.graphs}

    def taken(self, state: dict[str, npt.NDArray[Any]]) -> Shares:
        """Execute the graphs with the network of these weights."""
        network = make_network(self.config.network, self.mean_log_degree)
        network.load_state_dict({key: torch.from_numpy(value) for key, value in state.items()})
        subroutines = executor_of(network).quickest().subroutines()
        found = self.nothing
        for scale, graphs in self.graphs.items():
            rngs = np.random.default_rng([self.config.data.seed, scale]).spawn(len(graphs))
            runs = simulate(graphs, subroutines, rngs, maxima=self.maxima[scale])
            # A run that merely gave up in the right place does not count: BFS must know the end.
            right = sum(run.is_right and run.ending == Verdict.DONE for run in runs)
            found[f"execution_{scale}x"] = right / max(len(runs), 1)
        return found


class Execution:
    """One network's executions, under way in another process or still to be done in this one."""

    def __init__(self, state: dict[str, npt.NDArray[Any]], future: Future[Shares] | None) -> None:
        self.state, self.future = state, future

    @property
    def is_back(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.future is None or self.future.done()

    def cancel(self) -> None:
        """Nobody wants the result any more."""
        if self.future is not None:
            self.future.cancel()


class Executions:
    """Takes networks and gives their shares: from processes, or from this one where there are none.

    To be closed, as a context manager: then no process is left.
    """

    def __init__(self, exam: Exam, num_processes: int, say: Callable[[str], None] = print) -> None:
        self.exam, self.say = exam, say
        self.pool: ProcessPoolExecutor | None = None
        if multiprocessing.current_process().daemon:  # such a process may start no others
            num_processes = 0
        if num_processes:
            self._start(num_processes)

    def __enter__(self) -> Executions:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, weights: dict[str, Tensor]) -> Execution:
        """Take a network's weights, which must not change from now on."""
        state = {key: value.numpy() for key, value in weights.items()}
        future = None
        if self.pool is not None:
            try:
                future = self.pool.submit(_taken, state)
            except (BrokenProcessPool, OSError):
                self._give_up()
        return Execution(state, future)

    def result(self, execution: Execution) -> Shares:
        """Wait for a network's shares, or find them here and now."""
        if execution.future is not None:
            try:
                return execution.future.result()
            except (BrokenProcessPool, CancelledError):
                self._give_up()
        return self.exam.taken(execution.state)

    def close(self) -> None:
        """End all processes, whatever they are at."""
        if self.pool is not None:
            self.lifeline[1].close()
            self.pool.shutdown(cancel_futures=True)
            self.lifeline[0].close()
            self.pool = None

    def _start(self, num_processes: int) -> None:
        context = multiprocessing.get_context("spawn")  # a GPU's context does not survive a fork
        self.lifeline = context.Pipe(duplex=False)
        # Without its graphs: a process that starts reads no more than a pipe holds, so that this
        # one need not wait for each of them to have imported everything.
        arguments = replace(self.exam), self.lifeline[0]
        self.pool = ProcessPoolExecutor(num_processes, context, _begin, arguments)
        try:
            with _STARTING, _inheritance():
                for _ in range(num_processes):  # each finds none idle, so that another is started
                    self.pool.submit(_nothing)
        except OSError:  # no room for so many: this one has to do
            self._give_up()

    def _give_up(self) -> None:
        if self.pool is not None:
            self.close()
            self.say(
                "the processes that execute the validation graphs have died; this one goes on alone"
            )


def processes_for(num_networks: int) -> int:
    """Return how many processes pay: two cores are left to the training itself."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cores - 2, PROCESSES_PER_NETWORK * num_networks))


PROCESSES_PER_NETWORK = 4
"""Executions of one network take about as long as so many epochs on a GPU."""


LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""How libraries are told their number of threads; they read it when they are loaded."""


_STARTING = threading.Lock()
"""The environment is the whole process's: whoever changes it does so alone."""


@contextmanager
def _inheritance() -> Generator[None]:
    """Give the processes that start meanwhile one thread each, and let them never see Ctrl-C.

    It reaches every process of a terminal, but concerns the first one alone.
    """
    given = {name: os.environ.get(name) for name in LIBRARIES}
    os.environ.update(dict.fromkeys(LIBRARIES, "1"))
    mask = getattr(signal, "pthread_sigmask", None)  # not on every system
    before = mask(signal.SIG_BLOCK, {signal.SIGINT}) if mask else None
    try:
        yield
    finally:
        if mask:
            mask(signal.SIG_SETMASK, before)
        for name, value in given.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


_EXAMS: list[Exam] = []
"""In a process that executes: what."""


def _begin(exam: Exam, lifeline: Connection) -> None:
    """Get ready for the first network: everything is imported, found and compiled."""
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    torch.set_num_threads(1)
    _EXAMS.append(exam)
    drawn = torch.Generator("cpu").manual_seed(0)
    untrained = make_network(exam.config.network, exam.mean_log_degree, drawn)
    state = {key: value.numpy() for key, value in untrained.state_dict().items()}
    training = exam.config.training
    few = replace(training, execution_scales=training.execution_scales[:1], execution_graphs=2)
    Exam(replace(exam.config, training=few), exam.mean_log_degree).taken(state)
    exam.maxima  # noqa: B018  # found once


def _end_with(lifeline: Connection) -> None:
    """Exit when the other end is closed or its process is gone, even in the middle of a task."""
    lifeline.poll(None)
    os._exit(0)


def _nothing() -> None:
    pass


def _taken(state: dict[str, npt.NDArray[Any]]) -> Shares:
    return _EXAMS[0].taken(state)
