"""Networks become the shares of validation graphs that they execute to the maximum.

This happens on the CPU, where a search is one compiled loop; a GPU would wait at every step. It is
done in this process, one network after the other, or in child processes while a GPU trains the next
epochs. If children keep dying, this process executes what is left, with the same results.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from augury.algorithms import ALGORITHMS
from augury.classical.ford_fulkerson import Settings, Verdict
from augury.classical.network import FlowNetwork
from augury.classical.simulate import maximum_values
from augury.config import Config
from augury.models.checkpoint import executor_of, make_network
from augury.neural.batch import execution_data
from augury.processes import Died, Pool

Shares = dict[str, float]
"""By scale: the share of its graphs that were executed to the maximum."""

State = dict[str, npt.NDArray[Any]]
"""The weights of a network."""


SEARCH_ALONE = dict.fromkeys(
    ("asks_reachability", "neural_bottleneck", "neural_augmentation"), False
)
"""Settings of an executor in which only the search is neural."""


@dataclass(eq=False)
class Validation:
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
        """The shares of a network that gets every graph wrong."""
        return {f"execution_{end}{scale}x": 0.0 for end in self.ends for scale in self.graphs}

    @property
    def ends(self) -> tuple[str, ...]:
        """How runs end: by reachability (""), and at the first invalid path ("t1_")."""
        return ("", "t1_") if self.config.training.select == "both" else ("",)

    def executed(self, state: State) -> Shares:
        """Execute the graphs with the network of these weights."""
        network = make_network(self.config.network, self.mean_log_degree)
        network.load_state_dict({key: torch.from_numpy(value) for key, value in state.items()})
        executor = executor_of(network).quickest()
        judge, found = ALGORITHMS[self.config.network.algorithm].judge, self.nothing
        for end, (scale, graphs) in product(self.ends, self.graphs.items()):
            rngs = np.random.default_rng([self.config.data.seed, scale]).spawn(len(graphs))
            own, settings = executor, None
            if end:
                own = replace(executor, **SEARCH_ALONE)
                settings = Settings(max_failures=1)
            runs = judge(graphs, own.subroutines(), rngs, settings, self.maxima[scale])
            # A run that merely gave up at the maximum does not count: BFS must know the end.
            right = sum(run.is_right and (bool(end) or run.ending == Verdict.DONE) for run in runs)
            found[f"execution_{end}{scale}x"] = right / max(len(runs), 1)
        return found

    def prepare(self) -> None:
        """Import, compile and find everything before the first network arrives."""
        drawn = torch.Generator("cpu").manual_seed(0)
        untrained = make_network(self.config.network, self.mean_log_degree, drawn)
        state = {key: value.numpy() for key, value in untrained.state_dict().items()}
        training = self.config.training
        few = replace(training, execution_scales=training.execution_scales[:1], execution_graphs=2)
        Validation(replace(self.config, training=few), self.mean_log_degree).executed(state)
        self.maxima  # noqa: B018  # found once


@dataclass(frozen=True, eq=False)
class Execution:
    """One network's executions, under way in a child process or still to be done in this one."""

    state: State
    future: Future[Shares] | None

    @property
    def is_back(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.future is None or self.future.done()

    def cancel(self) -> None:
        """Drop the work if it has not begun; the result is no longer wanted."""
        if self.future is not None:
            self.future.cancel()


class Executions:
    """Takes networks and returns their shares; close it when done."""

    def __init__(
        self, validation: Validation, num_processes: int, say: Callable[[str], None] = print
    ) -> None:
        self.validation, self.say = validation, say
        self.pool: Pool | None = None
        if num_processes and not multiprocessing.current_process().daemon:  # which may have none
            # Without its graphs: a child reads them no sooner than it has imported everything.
            bare = replace(validation)
            try:
                self.pool = Pool(bare.executed, num_processes, prepare=bare.prepare)
            except OSError:  # no room for that many processes
                self._give_up()

    def submit(self, weights: dict[str, Tensor]) -> Execution:
        """Take a network's weights, which must not change from then on."""
        state = {key: value.numpy() for key, value in weights.items()}
        return Execution(state, None if self.pool is None else self.pool.submit(state))

    def result(self, execution: Execution) -> Shares:
        """Wait for a network's shares, or find them in this process."""
        if execution.future is not None:
            try:
                return execution.future.result()
            except (Died, CancelledError, OSError):
                if self.pool is not None:
                    self._give_up()
        return self.validation.executed(execution.state)

    def close(self) -> None:
        """Kill all processes, whatever they are doing."""
        if self.pool is not None:
            self.pool.close()
            self.pool = None

    def _give_up(self) -> None:
        self.close()
        self.say("the processes that execute the validation graphs keep dying; going on without")


def processes_for(num_networks: int) -> int:
    """Return how many processes pay off; two cores are left to the training itself."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cores - 2, PROCESSES_PER_NETWORK * num_networks))


PROCESSES_PER_NETWORK = 4
"""Executing one network takes about as long as this many epochs on a GPU."""
