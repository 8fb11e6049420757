"""A run on one graph becomes a story: every round and every step of it, as one object for JSON.

The run is that of `ford_fulkerson` with the executor's own subroutines; an observer only listens.
So a story holds exactly the decisions that the same run takes when nobody watches. Pages and files
read stories and need no network; the fields are described in docs/formats.md, "Traces of a run".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury import __version__
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    BELLMAN_FORD,
    BREADTH_FIRST,
    Paths,
    Round,
    Settings,
    Subroutines,
    Tree,
    Verdict,
    bellman_ford,
    ford_fulkerson,
    reachable,
)
from augury.classical.graph import BipartiteGraph, IntArray, Label, WideArray
from augury.classical.network import FlowNetwork
from augury.direct import weights_of
from augury.errors import InputError
from augury.solution import CLASSICAL, Outcome, as_seed, found_of, solution_of

FORMAT = "augury-trace"
FORMAT_VERSION = 1

MAX_STEPS = 10_000
"""Steps of one story; 64 + 64 nodes take about a tenth of it."""
MAX_NUMBERS = 10_000_000
"""Nodes and arcs of all steps of one story together: what a few hundred megabytes can hold."""
DIGITS = 4
"""Probabilities are rounded to this many decimals."""

Story = dict[str, Any]


def watch(  # noqa: PLR0913  # one argument for each choice that a person can make
    graph: BipartiteGraph | FlowNetwork,
    *,
    model: str | Path | None = None,
    engine: str | None = None,
    exact: bool = True,
    seed: int = 0,
    device: str = "cpu",
    many_paths: bool = False,
    termination: str = "bfs",
    neural_bottleneck: bool = True,
    neural_augmentation: bool = True,
    max_steps: int = MAX_STEPS,
) -> Story:
    """Run an executor on a graph and tell everything that happened.

    Args:
        graph: what to solve.
        model: a shipped network, the path of a checkpoint, "classical" (breadth-first search) or
            "bellman-ford"; None for the discrete network.
        engine: whose run is told: its name stands in the story, and its rule breaks the ties. The
            steps are always those of the plain form, which decides as all others do.
        exact: finish a run that ended early by classical search.
        seed: of the random weights.
        device: where the network computes.
        many_paths: take all shortest disjoint paths of a search, as `solve` does, not only the
            sink's own, as the paper does. With it the story is that of `solve`: the same rounds
            and the same answer for the same graph, seed, model and engine.
        termination: "bfs", or the number t of invalid paths in a row that end a run; then only the
            search is the network's, as in the paper.
        neural_bottleneck: whether the network finds the bottleneck.
        neural_augmentation: whether the network finds the new capacities.
        max_steps: a run of more steps is refused.

    Raises:
        InputError: there is no such model, the graph is beyond its range, or the story is too long.
    """
    network = graph if isinstance(graph, FlowNetwork) else FlowNetwork.from_bipartite(graph)
    if engine is None and str(model) not in CLASSICAL:
        engine = "plain"
    is_bfs, failures = _termination(termination)
    recorder = _Recorder(network, max_steps)
    owns = is_bfs, is_bfs and neural_bottleneck, is_bfs and neural_augmentation
    actor = _actor(model, device, owns, recorder)
    settings = Settings(failures, many_paths, weights_of(engine, graph))
    rng = np.random.default_rng(as_seed(seed))
    rounds = _rounds(Batch.of([network]), actor, rng, settings, recorder)
    ending = rounds[-1]["verdict"]
    if exact and (ending != "done" or rounds[-1]["truth"]["reachable"]):
        left = replace(Batch.of([network]), capacity=np.array(rounds[-1]["after"], np.int64))
        rounds += _rounds(left, _CLASSICAL["classical"], rng, settings, recorder)
    for number, round_ in enumerate(rounds):
        round_["number"] = number
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "augury": __version__,
        "graph": _graph(graph, network),
        "model": actor.to_dict(termination, owns)
        | {"engine": engine, "many_paths": many_paths, "seed": seed},
        "rounds": rounds,
        "solution": _solution(graph, (actor.name, engine), rounds, ending),
    }


class _Actor(NamedTuple):
    """Who runs the subroutines, and how what they do is told."""

    name: str
    kind: str
    """"discrete", "paper" or "classical"."""
    state: str
    """What a node holds: "reached" or "distance"."""
    subroutines: Subroutines
    infinity: int | None = None
    """The distance of a node that has not been reached."""
    steps: Callable[[Round], Iterator[tuple[WideArray, IntArray]]] | None = None
    """State and arc of each node after each step, where no observer sees them."""

    def to_dict(self, termination: str, owns: tuple[bool, bool, bool]) -> dict[str, Any]:
        is_neural = self.kind != "classical"
        return {
            "name": self.name,
            "kind": self.kind,
            "state": self.state,
            "termination": termination if is_neural else "bfs",
            "neural_bottleneck": is_neural and owns[1],
            "neural_augmentation": is_neural and owns[2],
            "infinity": self.infinity,
        }


def _levels(round_: Round) -> Iterator[tuple[WideArray, IntArray]]:
    """A breadth-first search reaches the nodes of its tree level by level."""
    batch, arc = round_.batch, round_.tree.arc
    reached = np.zeros(batch.num_nodes, np.int64)
    reached[batch.source] = 1
    while True:
        yield reached, np.where(reached > 0, arc, -1)
        children = (arc >= 0) & (reached == 0)
        children[children] = reached[batch.sender[arc[children]]] > 0
        if not children.any():
            return
        reached = reached | children


def _relaxations(round_: Round) -> Iterator[tuple[WideArray, IntArray]]:
    return bellman_ford(round_.batch, round_.residual, round_.weights)


_CLASSICAL = {
    "classical": _Actor("classical", "classical", "reached", BREADTH_FIRST, steps=_levels),
    "bellman-ford": _Actor(
        "bellman-ford", "classical", "distance", BELLMAN_FORD, 255, steps=_relaxations
    ),
}


def _actor(
    model: str | Path | None, device: str, owns: tuple[bool, bool, bool], recorder: _Recorder
) -> _Actor:
    """Find the executor and let the recorder observe it."""
    name = "discrete" if model is None else str(model)
    if name in _CLASSICAL:
        return _CLASSICAL[name]
    from augury.models.checkpoint import find, load
    from augury.models.kinds import executor_of

    checkpoint = load(find(name))
    executor = replace(
        executor_of(checkpoint.network.to(device), device),
        asks_reachability=owns[0],
        neural_bottleneck=owns[1],
        neural_augmentation=owns[2],
        observer=recorder,
    )
    kind = checkpoint.config.network.kind
    is_paper = kind == "paper"
    infinity = 2**checkpoint.network.bits - 1 if is_paper else None
    state = "distance" if is_paper else "reached"
    return _Actor(checkpoint.config.name, kind, state, executor.subroutines(), infinity)


def _termination(text: str) -> tuple[bool, int]:
    """Return whether the executor says when it is done, and how many failures end a run."""
    if text == "bfs":
        return True, Settings().max_failures
    if not (text.isascii() and text.isdigit() and int(text)):
        raise InputError(f"the termination is {text!r}, not 'bfs' or a number such as 5")
    return False, int(text)


class _Recorder:
    """Keeps what an executor shows of a round until the round is told; an `Observer`."""

    def __init__(self, network: FlowNetwork, max_steps: int) -> None:
        self.network, self.max_steps = network, max_steps
        self.num_steps = 0
        self.clear()

    def clear(self) -> None:
        """Forget the last round."""
        self.searches: list[_Step] = []
        self.reaches: list[_Step] = []
        self.bottlenecks: npt.NDArray[np.float64] | None = None
        self.legal: Paths | None = None
        self.kept = np.zeros(0, np.int64)

    def count(self) -> None:
        """Count a step, and refuse one too many."""
        self.num_steps += 1
        if self.num_steps > self.max_steps:
            raise InputError(f"this run has more than {self.max_steps:,} steps, too many to tell")
        size = self.network.num_arcs + self.network.num_nodes
        if self.num_steps * size > MAX_NUMBERS:
            raise InputError(
                f"this run is too long to tell: over {self.num_steps - 1:,} steps on "
                f"{self.network.num_nodes:,} nodes and {self.network.num_arcs:,} arcs"
            )

    def searched(
        self, values: npt.NDArray[Any], arc: WideArray, belief: npt.NDArray[Any], goes_on: float, /
    ) -> None:
        """See `algorithms.subroutines.Observer`."""
        self.count()
        told = values.astype(np.int64), arc.astype(np.int32), belief.astype(np.float64)
        self.searches.append(_Step(*told, goes_on))

    def reached(self, values: npt.NDArray[Any], goes_on: float, /) -> None:
        """See `algorithms.subroutines.Observer`."""
        self.count()
        self.reaches.append(_Step(values.astype(np.int64), None, None, goes_on))

    def compared(self, belief: npt.NDArray[Any], /) -> None:
        """See `algorithms.subroutines.Observer`."""
        self.bottlenecks = belief.astype(np.float64)

    def heard(self, own: Subroutines) -> Subroutines:
        """Return the same subroutines; what they propose to keep is remembered."""

        def augment(
            batch: Batch, residual: WideArray, paths: Paths, bottleneck: WideArray, tree: Tree, /
        ) -> WideArray:
            self.legal = paths
            self.kept = own.augment(batch, residual, paths, bottleneck, tree)
            return self.kept

        return own._replace(augment=augment)


@dataclass(frozen=True)
class _Step:
    """What a step left."""

    state: WideArray
    arc: IntArray | None
    belief: npt.NDArray[np.float64] | None
    """Of each arc; NaN where its receiver has not chosen."""
    goes_on: float | None


def _rounds(
    batch: Batch, actor: _Actor, rng: np.random.Generator, settings: Settings, recorder: _Recorder
) -> list[dict[str, Any]]:
    """Run the actor to its end and tell each round."""
    rounds: list[dict[str, Any]] = []
    subroutines = recorder.heard(actor.subroutines)
    for round_ in ford_fulkerson(batch, subroutines, [rng], settings):
        rounds.append(_round(round_, actor, recorder))
        recorder.clear()
    return rounds


def _round(round_: Round, actor: _Actor, recorder: _Recorder) -> dict[str, Any]:
    batch, network = round_.batch, recorder.network
    verdict = Verdict(round_.verdict[0])
    steps = _steps(round_, actor, recorder)
    reach = [_start(batch, 1, 0), *recorder.reaches] if recorder.reaches else None
    return {
        "number": round_.number,
        "by": actor.name,
        "state": actor.state,
        "weights": round_.weights.tolist(),
        "residual": round_.residual.tolist(),
        "steps": [_step(step, batch, actor.infinity) for step in steps],
        "reach": None if reach is None else [_reach(step) for step in reach],
        "says_done": verdict == Verdict.DONE,
        "truth": {"reachable": bool(reachable(batch, round_.residual)[-1][batch.sink[0]])},
        "paths": list(_paths(round_, recorder)),
        "after": round_.after.tolist(),
        "value": network.value(round_.after),
        "verdict": verdict.words,
    }


def _start(batch: Batch, at_source: int, elsewhere: int) -> _Step:
    """The state before any message."""
    state = np.full(batch.num_nodes, elsewhere, np.int64)
    state[batch.source] = at_source
    return _Step(state, np.full(batch.num_nodes, -1, np.int32), None, None)


def _steps(round_: Round, actor: _Actor, recorder: _Recorder) -> list[_Step]:
    """Return the start of the search and what each step left."""
    batch = round_.batch
    if actor.steps is not None:
        return list(_certain(batch, list(actor.steps(round_)), recorder))
    if actor.state == "distance":
        assert actor.infinity is not None
        return [_start(batch, 0, actor.infinity), *recorder.searches]
    return [_start(batch, 1, 0), *_latched(batch, recorder.searches)]


def _certain(
    batch: Batch, steps: list[tuple[WideArray, IntArray]], recorder: _Recorder
) -> Iterator[_Step]:
    """Classical searches are sure of what they do."""
    for position, (state, arc) in enumerate(steps):
        if position:
            recorder.count()
        has_chosen = arc >= 0
        belief = np.where(has_chosen[batch.receiver], 0.0, np.nan)
        belief[arc[has_chosen]] = 1
        goes_on = None if position == 0 else float(position < len(steps) - 1)
        yield _Step(state, arc, belief, goes_on)


def _latched(batch: Batch, steps: list[_Step]) -> Iterator[_Step]:
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


def _step(step: _Step, batch: Batch, infinity: int | None) -> dict[str, Any]:
    assert step.arc is not None
    arc = step.arc.copy()
    arc[batch.source] = -1  # whatever the network says: a path starts here
    belief = np.full(batch.num_arcs, np.nan) if step.belief is None else step.belief.copy()
    belief[np.isin(batch.receiver, batch.source)] = np.nan
    return {
        "state": [None if value == infinity else value for value in step.state.tolist()],
        "parent": arc.tolist(),
        "belief": _rounded(belief),
        "goes_on": _rounded(np.array([step.goes_on], np.float64))[0],
    }


def _reach(step: _Step) -> dict[str, Any]:
    goes_on = _rounded(np.array([step.goes_on], np.float64))[0]
    return {"state": step.state.tolist(), "goes_on": goes_on}


def _rounded(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Round; None for NaN, and 0 and 1 as integers, which most are and which are short."""
    rounded = np.round(values, DIGITS).tolist()
    return [
        None if value != value else int(value) if value in (0, 1) else value for value in rounded
    ]


def _paths(round_: Round, recorder: _Recorder) -> Iterator[dict[str, Any]]:
    """Tell each path that the predecessors described, and what became of it."""
    # Paths of one graph share no arc, so the last one names a path.
    applied = {piece[-1] for piece in _pieces(round_.paths)}
    kept: dict[int, list[int]] = {}
    if recorder.legal is not None:
        for piece, (first, end) in zip(
            _pieces(recorder.legal), pairwise(recorder.legal.start.tolist()), strict=True
        ):
            kept[piece[-1]] = recorder.kept[first:end].tolist()
    truth = round_.tried.smallest(round_.residual).tolist()
    for number, arcs in enumerate(_pieces(round_.tried)):
        proposed, before = int(round_.proposed[number]), round_.residual[arcs].tolist()
        path = {
            "arcs": arcs,
            "belief": None
            if recorder.bottlenecks is None
            else _rounded(recorder.bottlenecks[number, : len(arcs)]),
            "proposed": proposed,
            "bottleneck": truth[number],
            "before": before,
            "kept": kept.get(arcs[-1]),
        }
        yield path | {"verdict": "applied" if arcs[-1] in applied else _fault(path)}


def _pieces(paths: Paths) -> list[list[int]]:
    return [paths.arcs[first:end].tolist() for first, end in pairwise(paths.start.tolist())]


def _fault(path: dict[str, Any]) -> str:
    """Say why a path was not applied."""
    if path["proposed"] != path["bottleneck"]:
        return "wrong bottleneck"
    if path["bottleneck"] == 0:
        return "has a full arc"
    right = [residual - path["bottleneck"] for residual in path["before"]]
    if path["kept"] is not None and path["kept"] != right:
        return "wrong augmentation"
    return "not applied"  # for another path of the round was wrong, and that ended the run


def _graph(graph: BipartiteGraph | FlowNetwork, network: FlowNetwork) -> dict[str, Any]:
    roles = ["node"] * network.num_nodes
    labels: list[Label] = [network.label(node) for node in range(network.num_nodes)]
    if isinstance(graph, BipartiteGraph):
        roles[1:-1] = ["left"] * graph.num_left + ["right"] * graph.num_right
        left = [graph.left_label(node) for node in range(graph.num_left)]
        labels = ["source", *left, *map(graph.right_label, range(graph.num_right)), "sink"]
    roles[network.source], roles[network.sink] = "source", "sink"
    ends = network.sender.tolist(), network.receiver.tolist(), network.capacity.tolist()
    return {
        "kind": "matching" if isinstance(graph, BipartiteGraph) else "flow",
        "nodes": [
            {"label": _plain(label), "role": role}
            for label, role in zip(labels, roles, strict=True)
        ],
        "arcs": [list(arc) for arc in zip(*ends, strict=True)],
    }


def _plain(value: Any) -> Any:
    """Return what JSON can hold; a label of another kind becomes its text."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _solution(
    graph: BipartiteGraph | FlowNetwork,
    who: tuple[str, str | None],
    rounds: list[dict[str, Any]],
    ending: str,
) -> dict[str, Any]:
    """Return the solution that the last round leaves, certified."""
    residual = np.array(rounds[-1]["after"], np.int64)
    fruitful = [
        told["by"] for told in rounds if any(x["verdict"] == "applied" for x in told["paths"])
    ]
    classical = sum(by in CLASSICAL for by in fruitful)
    outcome = Outcome(residual, len(fruitful) - classical, classical, ending)
    return _plain(solution_of(who, graph, found_of(graph, outcome)).to_dict())
