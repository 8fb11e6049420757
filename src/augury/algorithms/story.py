"""The parts of a story, whatever the algorithm: who acts, the steps of a search, the graph.

A story is a run on one graph told in full, every round and every step, as one object that JSON can
hold. The run is the algorithm's own; an observer only listens. So a story holds exactly the
decisions that the same run takes unobserved. Pages and files read stories and need no network;
docs/formats.md describes the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.answer import Answer
from augury.classical.arrays import IntArray, WideArray
from augury.classical.batch import Batch
from augury.classical.cost_network import CostNetwork
from augury.classical.ford_fulkerson import Subroutines
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError

MAX_NUMBERS = 10_000_000
"""Nodes and arcs of all steps of one story together: what a few hundred megabytes can hold."""
DIGITS = 4
"""Probabilities are rounded to this many decimals."""


class Telling(NamedTuple):
    """How a run is made and told; see `augury.watch.watch`."""

    engine: str | None
    weights: Callable[[Batch, int], Any] | None
    """The engine's tie-breaks; None: random."""
    exact: bool
    seed: int
    many_paths: bool
    termination: str
    neural_bottleneck: bool
    neural_augmentation: bool
    max_steps: int


class Actor(NamedTuple):
    """What runs the subroutines."""

    name: str
    kind: str
    """"discrete", "paper" or "classical"."""
    infinity: int | None
    """The distance of a node that is not reached; None where nodes hold a reached bit."""
    observed: Callable[[Recorder, dict[str, bool]], Subroutines]
    """The listener, and which decisions are its own, as in an `Executor` → its subroutines."""

    @property
    def state(self) -> str:
        """What a node holds."""
        return "reached" if self.infinity is None else "distance"


class Told(NamedTuple):
    """A run, told."""

    model: dict[str, Any]
    """What stands beside the actor's name: how it ran."""
    rounds: list[dict[str, Any]]
    answer: Answer


class Recorder:
    """Keeps what an executor shows of a round until the round is told; an `Observer`."""

    def __init__(self, batch: Batch, max_steps: int) -> None:
        self.batch, self.max_steps = batch, max_steps
        self.num_steps = 0
        self.clear()

    def clear(self) -> None:
        """Forget the last round."""
        self.searches: list[Step] = []
        self.reaches: list[Step] = []
        self.bottlenecks: npt.NDArray[np.float64] | None = None

    def count(self) -> None:
        """Count a step, and refuse one too many."""
        self.num_steps += 1
        if self.num_steps > self.max_steps:
            raise InputError(f"this run has more than {self.max_steps:,} steps, too many to tell")
        size = self.batch.num_arcs + self.batch.num_nodes
        if self.num_steps * size > MAX_NUMBERS:
            raise InputError(
                f"this run is too long to tell: over {self.num_steps - 1:,} steps on "
                f"{self.batch.num_nodes:,} nodes and {self.batch.num_arcs:,} arcs"
            )

    def searched(
        self, values: npt.NDArray[Any], arc: WideArray, belief: npt.NDArray[Any], goes_on: float, /
    ) -> None:
        """See `algorithms.executor.Observer`."""
        self.count()
        told = values.astype(np.int64), arc.astype(np.int32), belief.astype(np.float64)
        self.searches.append(Step(*told, goes_on))

    def reached(self, values: npt.NDArray[Any], goes_on: float, /) -> None:
        """See `algorithms.executor.Observer`."""
        self.count()
        self.reaches.append(Step(values.astype(np.int64), None, None, goes_on))

    def compared(self, belief: npt.NDArray[Any], /) -> None:
        """See `algorithms.executor.Observer`."""
        self.bottlenecks = belief.astype(np.float64)


@dataclass(frozen=True)
class Step:
    """What a step left."""

    state: WideArray
    arc: IntArray | None
    belief: npt.NDArray[np.float64] | None
    """Of each arc; NaN where its receiver has not chosen."""
    goes_on: float | None


def start_of(batch: Batch, at_source: int, elsewhere: int) -> Step:
    """The state before any message."""
    state = np.full(batch.num_nodes, elsewhere, np.int64)
    state[batch.source] = at_source
    return Step(state, np.full(batch.num_nodes, -1, np.int32), None, None)


def certain(
    batch: Batch, steps: list[tuple[WideArray, IntArray]], recorder: Recorder
) -> Iterator[Step]:
    """Classical searches are sure of what they do."""
    for position, (state, arc) in enumerate(steps):
        if position:
            recorder.count()
        has_chosen = arc >= 0
        belief = np.where(has_chosen[batch.receiver], 0.0, np.nan)
        belief[arc[has_chosen]] = 1
        goes_on = None if position == 0 else float(position < len(steps) - 1)
        yield Step(state, arc, belief, goes_on)


def latched(batch: Batch, steps: list[Step]) -> Iterator[Step]:
    """A node that keeps its first predecessor also keeps what it believed when it chose."""
    was_reached = np.zeros(batch.num_nodes, np.bool_)
    was_reached[batch.source] = True
    kept = np.full(batch.num_arcs, np.nan)
    for step in steps:
        assert step.belief is not None
        is_new = (step.state > 0) & ~was_reached
        kept = np.where(is_new[batch.receiver], step.belief, kept)
        was_reached |= is_new
        yield replace(step, belief=kept)


def told_step(step: Step, batch: Batch, infinity: int | None) -> dict[str, Any]:
    """Return a step as it stands in a story."""
    assert step.arc is not None
    arc = step.arc.copy()
    arc[batch.source] = -1  # whatever the network says: a path starts here
    belief = np.full(batch.num_arcs, np.nan) if step.belief is None else step.belief.copy()
    belief[np.isin(batch.receiver, batch.source)] = np.nan
    return {
        "state": [None if value == infinity else value for value in step.state.tolist()],
        "parent": arc.tolist(),
        "belief": rounded(belief),
        "goes_on": rounded(np.array([step.goes_on], np.float64))[0],
    }


def rounded(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Round; NaN becomes None, and 0 and 1 (most values) become integers, which are short."""
    rounded = np.round(values, DIGITS).tolist()
    return [None if x != x else int(x) if x in (0, 1) else x for x in rounded]


def told_graph(graph: Graph, ends: Sequence[str]) -> dict[str, Any]:
    """Return the graph as it stands in a story: nodes with their roles, these ends, and arcs."""
    arcs = graph.as_arcs()
    roles = ["node"] * arcs.num_nodes
    if isinstance(graph, BipartiteGraph):
        roles[1:-1] = ["left"] * graph.num_left + ["right"] * graph.num_right
        left = [graph.left_label(node) for node in range(graph.num_left)]
        labels = ["source", *left, *map(graph.right_label, range(graph.num_right)), "sink"]
    else:
        labels = [graph.label(node) for node in range(graph.num_nodes)]
    if isinstance(graph, CostNetwork):
        roles[arcs.source], roles[arcs.sink] = "excess", "shortage"
        labels += ["excess", "shortage"]
    for end in ends:
        node = getattr(graph if isinstance(graph, CostNetwork) else arcs, end)
        if node is not None:
            roles[node] = end
    columns = arcs.sender.tolist(), arcs.receiver.tolist(), arcs.capacity.tolist()
    nodes = zip(map(plain, labels), roles, strict=True)
    return {
        "kind": graph.noun,
        "nodes": [{"label": label, "role": role} for label, role in nodes],
        "arcs": [list(arc) for arc in zip(*columns, strict=True)],
    } | _told_costs(graph)


def _told_costs(graph: Graph) -> dict[str, Any]:
    """Return the cost of each arc in whole units, as it is given, and what a unit is worth."""
    if isinstance(graph, FlowNetwork) or graph.costs is None:
        return {}
    costs = graph.costs
    sign = -1 if costs.maximise else 1
    unit = [costs.unit.numerator, costs.unit.denominator]
    told = {"costs": (sign * graph.arc_costs()).tolist(), "unit": unit, "sense": costs.sense}
    if isinstance(graph, CostNetwork) and graph.least.any():
        told["lower"] = graph.arc_bounds().tolist()
    return told


def plain(value: Any) -> Any:
    """Return what JSON can hold; a label of another kind becomes its text."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
