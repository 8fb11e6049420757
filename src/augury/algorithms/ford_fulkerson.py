"""Ford-Fulkerson as an `Algorithm`: maximum matchings and maximum flows.

The rounds are `classical.ford_fulkerson`. Here a run on one graph is told: rounds, searches, paths
and what the judge said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from augury.algorithms import story as stories
from augury.algorithms.algorithm import Algorithm
from augury.algorithms.cells import CELLS
from augury.algorithms.story import Actor, Recorder, Step, Telling, Told
from augury.classical import ford_fulkerson as classical
from augury.classical.answer import Answer
from augury.classical.arrays import IntArray, Numbers, WideArray
from augury.classical.batch import Batch
from augury.classical.certificate import certify_found
from augury.classical.ford_fulkerson import Paths, Round, Settings, Subroutines, Tree, Verdict
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.phases import run
from augury.classical.proofs import certify_all
from augury.classical.simulate import simulate
from augury.errors import InputError


def story(graph: Any, actor: Actor, telling: Telling) -> Told:
    """Run an actor to its end, then with `exact` the classical search, and tell every round."""
    network = graph if isinstance(graph, FlowNetwork) else FlowNetwork.from_bipartite(graph)
    is_bfs, failures = _termination(telling.termination)
    owns = {
        "asks_reachability": is_bfs,
        "neural_bottleneck": is_bfs and telling.neural_bottleneck,
        "neural_augmentation": is_bfs and telling.neural_augmentation,
    }
    listener = Listener(Batch.of([network]), telling.max_steps)
    settings = Settings(failures, telling.many_paths, telling.weights)
    rng = np.random.default_rng(telling.seed)
    if actor.kind == "classical":
        actor = actor._replace(infinity=_told_by(actor)[1])

    def told_rounds(batch: Batch, actor: Actor) -> list[dict[str, Any]]:
        subroutines = listener.heard(actor.observed(listener, owns))
        rounds = classical.ford_fulkerson(batch, subroutines, [rng], settings)
        return [
            told_round(round_, actor, listener, network.value(round_.after)) for round_ in rounds
        ]

    rounds = told_rounds(Batch.of([network]), actor)
    ending = rounds[-1]["verdict"]
    if telling.exact and (ending != "done" or rounds[-1]["truth"]["reachable"]):
        left = replace(Batch.of([network]), capacity=np.array(rounds[-1]["after"], np.int64))
        rounds += told_rounds(left, CLASSICAL)
    for number, round_ in enumerate(rounds):
        round_["number"] = number
    is_neural = actor.kind != "classical"
    model = {
        "state": actor.state,
        "termination": telling.termination if is_neural else "bfs",
        "neural_bottleneck": is_neural and owns["neural_bottleneck"],
        "neural_augmentation": is_neural and owns["neural_augmentation"],
        "infinity": actor.infinity,
    }
    applied = [x for x in rounds if any(path["verdict"] == "applied" for path in x["paths"])]
    finished = sum(x["by"] in STEPS for x in applied)
    residual = np.array(rounds[-1]["after"], np.int64)
    answer = Answer(graph.found(residual), len(applied) - finished, finished, ending)
    return Told(model, rounds, answer)


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
    return classical.bellman_ford(round_.batch, round_.residual, round_.weights)


STEPS: dict[str, tuple[Callable[[Round], Iterator[tuple[WideArray, IntArray]]], int | None]] = {
    "classical": (_levels, None),
    "bellman-ford": (_relaxations, 255),
}
"""For each classical executor: what nodes hold after each step, and what it calls infinity."""


def _told_by(actor: Actor) -> tuple[Callable[[Round], Iterator[tuple[WideArray, IntArray]]], Any]:
    """Return the row of an executor; of a user's own only the tree is known."""
    return STEPS.get(actor.name, STEPS["classical"])


CLASSICAL = Actor("classical", "classical", None, lambda listener, owns: classical.BREADTH_FIRST)
"""Finishes what ended early."""


def _termination(text: str) -> tuple[bool, int]:
    """Return whether the executor says when it is done, and how many failures end a run."""
    if text == "bfs":
        return True, Settings().max_failures
    if not (text.isascii() and text.isdigit() and int(text)):
        raise InputError(f"the termination is {text!r}, not 'bfs' or a number such as 5")
    return False, int(text)


class Listener(Recorder):
    """Also hears what is proposed for the arcs of the paths."""

    def clear(self) -> None:
        """See `Recorder`."""
        super().clear()
        self.legal: Paths | None = None
        self.kept = np.zeros(0, np.int64)

    def heard(self, own: Subroutines) -> Subroutines:
        """Return the same subroutines; what they propose to keep is remembered."""

        def augment(
            batch: Batch, residual: WideArray, paths: Paths, bottleneck: WideArray, tree: Tree, /
        ) -> WideArray:
            self.legal = paths
            self.kept = own.augment(batch, residual, paths, bottleneck, tree)
            return self.kept

        return own._replace(augment=augment)


def told_round(round_: Round, actor: Actor, recorder: Listener, value: int) -> dict[str, Any]:
    """Tell a round, given the flow after it; what was heard of it is forgotten."""
    batch = round_.batch
    verdict = Verdict(round_.verdict[0])
    steps = _steps(round_, actor, recorder)
    is_reachable = classical.reachable(batch, round_.residual)[-1, batch.sink[0]]
    reach = [stories.start_of(batch, 1, 0), *recorder.reaches] if recorder.reaches else None
    told = {
        "number": round_.number,
        "by": actor.name,
        "state": actor.state,
        "weights": round_.weights.tolist(),
        "residual": round_.residual.tolist(),
        "steps": [stories.told_step(step, batch, actor.infinity) for step in steps],
        "reach": None if reach is None else [_reach(step) for step in reach],
        "says_done": verdict == Verdict.DONE,
        "truth": {"reachable": bool(is_reachable)},
        "paths": list(_paths(round_, recorder)),
        "after": round_.after.tolist(),
        "value": value,
        "verdict": verdict.words,
    }
    recorder.clear()
    return told


def _steps(round_: Round, actor: Actor, recorder: Listener) -> list[Step]:
    """Return the start of the search and what each step left."""
    batch = round_.batch
    if actor.kind == "classical":
        return list(stories.certain(batch, list(_told_by(actor)[0](round_)), recorder))
    if actor.state == "distance":
        assert actor.infinity is not None
        return [stories.start_of(batch, 0, actor.infinity), *recorder.searches]
    return [stories.start_of(batch, 1, 0), *stories.latched(batch, recorder.searches)]


def _reach(step: Step) -> dict[str, Any]:
    goes_on = stories.rounded(np.array([step.goes_on], np.float64))[0]
    return {"state": step.state.tolist(), "goes_on": goes_on}


def _paths(round_: Round, recorder: Listener) -> Iterator[dict[str, Any]]:
    """Tell each path that the predecessors described, and what became of it."""
    # Paths of one graph share no arc, so the last one names a path.
    applied = {piece[-1] for piece in _pieces(round_.paths, round_.paths.arcs)}
    kept: dict[int, list[int]] = {}
    if recorder.legal is not None:
        pieces = (_pieces(recorder.legal, own) for own in (recorder.legal.arcs, recorder.kept))
        kept = {arcs[-1]: own for arcs, own in zip(*pieces, strict=True)}
    truth, likely = round_.tried.smallest(round_.residual).tolist(), recorder.bottlenecks
    for number, arcs in enumerate(_pieces(round_.tried, round_.tried.arcs)):
        proposed, before = int(round_.proposed[number]), round_.residual[arcs].tolist()
        path = {
            "arcs": arcs,
            "belief": None if likely is None else stories.rounded(likely[number, : len(arcs)]),
            "proposed": proposed,
            "bottleneck": truth[number],
            "before": before,
            "kept": kept.get(arcs[-1]),
        }
        yield path | {"verdict": "applied" if arcs[-1] in applied else _fault(path)}


def _pieces(paths: Paths, values: Numbers) -> list[list[int]]:
    """Split what the arcs of all paths hold."""
    return [values[first:end].tolist() for first, end in pairwise(paths.start.tolist())]


def _fault(path: dict[str, Any]) -> str:
    """Say why a path was not applied."""
    if path["proposed"] != path["bottleneck"]:
        return "wrong bottleneck"
    if path["bottleneck"] == 0:
        return "has a full arc"
    right = [residual - path["bottleneck"] for residual in path["before"]]
    if path["kept"] is not None and path["kept"] != right:
        return "wrong augmentation"
    return "not applied"  # as another path of the round was wrong, which ended the run


FORD_FULKERSON = Algorithm(
    name="ford-fulkerson",
    problem="a maximum matching or flow",
    takes=(BipartiteGraph, FlowNetwork),
    entries="edges",
    ends=("source", "sink"),
    cells=CELLS,
    classical=classical.CLASSICAL,
    run=run,
    judge=simulate,
    certify=lambda graph, answer: certify_found(graph, answer.found),
    certify_all=lambda graphs, answers: certify_all(graphs, [answer.found for answer in answers]),
    story=story,
    theorem=(
        "on every flow network, of any size, whose integer capacities add up to at most "
        "2^{bits} − 1 in each pair of arcs, this network executes Edmonds-Karp and ends with a "
        "maximum flow; learnt are search, termination, predecessors, bottleneck and augmentation, "
        "programmed are the bits of integers, the latch on a node's first predecessor, following "
        "the pointers, and the reverse arc's share of its pair."
    ),
)
