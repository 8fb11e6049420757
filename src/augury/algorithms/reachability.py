"""Reachability as an `Algorithm`: which nodes one reaches, in how many steps, and from where.

It is one search, with the same cells as Ford-Fulkerson's. A node's predecessor is latched in the
step that reaches it. What an executor proposes is applied only if its pointers lead back to the
source along arcs that can be used; with `exact`, what falls short of the truth is replaced by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from augury.algorithms import story as stories
from augury.algorithms.algorithm import Algorithm
from augury.algorithms.cells import FLOOD, NEAREST
from augury.classical import ford_fulkerson as classical
from augury.classical.answer import Answer, How, Progress
from augury.classical.arrays import Numbers, WideArray
from augury.classical.batch import Batch, handed_out
from augury.classical.ford_fulkerson import Subroutines, WeightArray
from augury.classical.levels import certify_levels
from augury.classical.network import FlowNetwork
from augury.classical.simulate import DECISIONS, Run

WRONG = "wrong search"
"""How a run ends if its executor missed a node or took a detour."""


def searched(batch: Batch, subroutines: Subroutines, weights: WeightArray) -> WideArray:
    """Let the executor search; (node, 2): steps and predecessor, −1 where its pointers fail."""
    own, shown = batch.handed_out(), (handed_out(batch.capacity), handed_out(weights))
    arc = classical.pointers_of(batch, subroutines.search(own, *shown))
    nodes = np.arange(batch.num_nodes)
    arc[batch.source] = -1
    led = np.flatnonzero(arc >= 0)
    led = led[batch.capacity[arc[led]] > 0]
    came = nodes.copy()
    came[led] = batch.sender[arc[led]]
    is_arc = came != nodes
    # Pointer jumping: after k rounds every node points 2^k steps back; a circle never gets there.
    above, steps = came, is_arc.astype(np.int64)
    for _ in range(batch.num_nodes.bit_length()):
        above, steps = above[above], steps + steps[above]
    is_reached = above == batch.source[batch.node_graph]
    came = np.where(is_reached & is_arc, came - batch.node_start[batch.node_graph], -1)
    return np.stack([np.where(is_reached, steps, -1), came], axis=1)


def run(graphs: Sequence[Any], subroutines: Subroutines, how: How) -> list[Answer]:
    """Run graphs side by side; an answer is (node, 2): steps and predecessor, −1 for none."""
    batch = Batch.of(graphs)
    weights = classical.draw_weights(batch, [np.random.default_rng(how.seed) for _ in graphs])
    found = searched(batch, subroutines, weights)
    truth = searched(batch, BREADTH_FIRST, weights)
    answers: list[Answer] = []
    for start, end in zip(batch.node_start[:-1], batch.node_start[1:], strict=True):
        is_right = np.array_equal(found[start:end, 0], truth[start:end, 0])
        is_own = is_right and subroutines is not BREADTH_FIRST
        answer = (found if is_right or not how.exact else truth)[start:end].copy()
        rounds = int(is_own), int(not is_own and (is_right or how.exact))
        answers.append(Answer(answer, *rounds, "done" if is_right else WRONG))
    if how.progress is not None:
        how.progress(Progress(len(answers), 1, int((found[:, 0] >= 0).sum())))
    return answers


def judge(
    networks: Sequence[FlowNetwork],
    subroutines: Subroutines,
    rngs: Sequence[np.random.Generator],
    *_: Any,
) -> list[Run]:
    """Run networks once; count the nodes whose steps are wrong, and those wrongly (un)reached."""
    batch = Batch.of(networks)
    weights = classical.draw_weights(batch, rngs)
    steps, truth = (searched(batch, who, weights)[:, 0] for who in (subroutines, BREADTH_FIRST))
    runs: list[Run] = []
    for start, end in zip(batch.node_start[:-1], batch.node_start[1:], strict=True):
        own, true = steps[start:end], truth[start:end]
        right = int(((own == true) & (true >= 0)).sum())
        asked = {"search": int((true >= 0).sum()), "reach": len(true)}
        wrong = {"search": asked["search"] - right, "reach": int(((own < 0) != (true < 0)).sum())}
        none = dict.fromkeys(DECISIONS, 0)
        counts = {"asked": none | asked, "wrong": none | wrong}
        ending = classical.Verdict.DONE
        runs.append(Run(right, asked["search"], ending=ending, rounds=1, **counts))
    return runs


def labelled(graph: Any, found: Numbers) -> list[tuple[Any, ...]]:
    """Return (node, steps, predecessor) of each node that is reached, the nearest first."""
    nodes = np.flatnonzero(found[:, 0] >= 0)
    nodes = nodes[np.argsort(found[nodes, 0], kind="stable")]
    return [
        (graph.label(node), steps, None if came < 0 else graph.label(came))
        for node, (steps, came) in zip(nodes.tolist(), found[nodes].tolist(), strict=True)
    ]


def story(graph: Any, actor: stories.Actor, telling: stories.Telling) -> stories.Told:
    """Run an actor and tell every step of its search."""
    batch = Batch.of([graph])
    recorder = stories.Recorder(batch, telling.max_steps)
    weights = classical.draw_weights(batch, [np.random.default_rng(telling.seed)])
    subroutines = actor.observed(recorder, {})
    [answer] = run([graph], subroutines, How(telling.exact, telling.seed))
    if actor.kind == "classical":
        arc, truth = subroutines.search(batch, batch.capacity, weights).arc, answer.found[:, 0]
        levels = [(truth >= 0) & (truth <= k) for k in range(int(truth.max()) + 1)]
        told = [(level.astype(np.int64), np.where(level, arc, -1)) for level in levels]
        steps = list(stories.certain(batch, told, recorder))
    else:
        steps = [stories.start_of(batch, 1, 0), *stories.latched(batch, recorder.searches)]
    round_ = {
        "number": 0,
        "by": actor.name,
        "state": "reached",
        "weights": weights.tolist(),
        "residual": batch.capacity.tolist(),
        "steps": [stories.told_step(step, batch, None) for step in steps],
        "reach": None,
        "says_done": True,
        "truth": {"reachable": answer.ending == WRONG},
        "paths": [],
        "after": batch.capacity.tolist(),
        "value": int((answer.found[:, 0] >= 0).sum()),
        "verdict": answer.ending,
    }
    return stories.Told({"state": "reached", "infinity": None}, [round_], answer)


BREADTH_FIRST = classical.BREADTH_FIRST._replace(
    search=partial(classical.breadth_first_search, stops_at_sink=False)
)
"""The truth; only the search is ever asked."""

REACHABILITY = Algorithm(
    name="reachability",
    problem="the nodes that a source reaches",
    takes=(FlowNetwork,),
    ends=("source",),
    cells=(FLOOD, NEAREST),
    classical={"classical": BREADTH_FIRST},
    run=run,
    judge=judge,
    certify=lambda graph, answer: certify_levels(graph, answer.found),
    noun="reached",
    labelled=labelled,
    story=story,
    theorem=(
        "on every directed graph, of any size, this network reaches exactly the nodes that a path "
        "leads to, each in the fewest steps and from a node one step nearer; learnt are search, "
        "termination and predecessors, programmed are the latch on a node's first predecessor and "
        "following the pointers."
    ),
)
