"""Flow networks and an executor become `Run`s, every decision judged: evaluation by simulation.

`simulate` is Algorithm 2 of the paper for many graphs at once. The run itself is `ford_fulkerson`;
here its rounds are compared with the truth, which is computed from the residual alone, so that a
failure can be attributed to a subroutine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from augury.classical import ford_fulkerson as classical
from augury.classical.arrays import WideArray
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import Round, Settings, Subroutines, Verdict
from augury.classical.network import FlowNetwork
from augury.classical.phases import run_to_end


@dataclass
class Run:
    """One graph's run: what it reached, how it ended, and how often each subroutine was right.

    >>> run = Run(value=7, maximum=8)
    >>> run.is_right, run.error
    (False, 1)
    """

    value: int = 0
    """The flow that the executor found."""
    maximum: int = 0
    """The maximum flow."""
    ending: Verdict = Verdict.GOES_ON
    rounds: int = 0
    asked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(DECISIONS, 0))
    """How often each decision was requested."""
    wrong: dict[str, int] = field(default_factory=lambda: dict.fromkeys(DECISIONS, 0))
    """How often it was wrong."""

    @property
    def is_right(self) -> bool:
        """Whether the maximum was found."""
        return self.value == self.maximum

    @property
    def error(self) -> int:
        """How far the flow falls short."""
        return self.maximum - self.value


DECISIONS = ("search", "reach", "bottleneck", "empty_path", "augmentation")
"""search: a legal path where one exists. reach: whether the sink is reachable. bottleneck: its
value. empty_path: a bottleneck of 0 recognised, the paper's true negatives. augmentation: a path's
residuals.
"""


def maximum_values(networks: Sequence[FlowNetwork]) -> list[int]:
    """Return the maximum flow value of each network, by the classical executor."""
    batch = Batch.of(networks)
    rngs = [np.random.default_rng(0) for _ in networks]
    residual, _, _ = run_to_end(batch, classical.BREADTH_FIRST, rngs)
    parts = np.split(residual, batch.arc_start[1:])  # the last one is empty
    return [own.value(part) for own, part in zip(networks, parts, strict=False)]


def simulate(
    networks: Sequence[FlowNetwork],
    subroutines: Subroutines[Any],
    rngs: Sequence[np.random.Generator],
    settings: Settings | None = None,
    maxima: Sequence[int] | None = None,
) -> list[Run]:
    """Run every network once, as if alone, and judge every decision.

    Network k draws its weights from `rngs[k]`; `maxima` are the maximum flow values, if known.

    >>> from augury.classical.generate import uniform
    >>> rng = np.random.default_rng(0)
    >>> networks = [FlowNetwork.from_bipartite(uniform(rng, 8)) for _ in range(3)]
    >>> [run.is_right for run in simulate(networks, classical.BELLMAN_FORD, rng.spawn(3))]
    [True, True, True]
    """
    known = maximum_values(networks) if maxima is None else maxima
    runs = [Run(maximum=value) for value in known]
    for round_ in classical.ford_fulkerson(Batch.of(networks), subroutines, rngs, settings):
        judge_round(round_, runs)
        for graph, amount in zip(round_.paths.graph, round_.bottleneck.tolist(), strict=True):
            runs[int(round_.batch.graphs[graph])].value += amount
    return runs


def judge_round(round_: Round[Any], runs: Sequence[Run]) -> None:
    """Count a round and its decisions."""
    counts = _judged(round_)
    for graph, own in enumerate(round_.batch.graphs):
        run = runs[int(own)]
        run.rounds += 1
        run.ending = Verdict(round_.verdict[graph])
        for decision, (asked, wrong) in counts.items():
            run.asked[decision] += int(asked[graph])
            run.wrong[decision] += int(wrong[graph])


def _judged(round_: Round[Any]) -> dict[str, tuple[WideArray, WideArray]]:
    """Count how often each graph's decisions were requested and wrong in this round."""
    batch, tried = round_.batch, round_.tried
    is_done = round_.verdict == Verdict.DONE
    smallest = tried.smallest(round_.residual)

    def count(paths: WideArray) -> WideArray:
        return np.bincount(paths, minlength=batch.num_graphs)

    legal = count(tried.graph[smallest > 0])
    has_path = legal > 0  # which proves it; without one, a search tells
    if not has_path.all():
        has_path = classical.reachable(batch, round_.residual)[-1][batch.sink]
    searched = has_path & ~is_done
    empty = smallest == 0
    right = round_.proposed == smallest
    answered = count(tried.graph[(smallest > 0) & right])
    failed = round_.verdict == Verdict.WRONG_AUGMENTATION
    return {
        "search": (searched.astype(np.int64), (searched & (legal == 0)).astype(np.int64)),
        "reach": (np.ones(batch.num_graphs, np.int64), (is_done == has_path).astype(np.int64)),
        "bottleneck": (count(tried.graph), count(tried.graph[~right])),
        "empty_path": (count(tried.graph[empty]), count(tried.graph[empty & ~right])),
        "augmentation": (answered, failed.astype(np.int64)),
    }
