"""Primal-dual methods as two `Algorithm`s: assignments, and flows of least cost.

The rounds and steps are `classical.least_cost`, by the same cells as Ford-Fulkerson's. Here every
decision is judged, and a run on one graph is told: rounds, and the steps of the prices between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.cells import CELLS
from augury.algorithms.ford_fulkerson import CLASSICAL, Listener, told_round
from augury.algorithms.story import Actor, Telling, Told
from augury.classical import least_cost as classical
from augury.classical.answer import DONE, Answer
from augury.classical.batch import Batch
from augury.classical.cost_network import CostNetwork
from augury.classical.ford_fulkerson import Round, Settings, Subroutines, Verdict
from augury.classical.graph import BipartiteGraph
from augury.classical.least_cost import BREADTH_FIRST, Priced, PriceStep, Stage
from augury.classical.prices import certify_cost
from augury.classical.simulate import Run, judge_round


def judge(
    graphs: Sequence[Any],
    subroutines: Subroutines[Any],
    rngs: Sequence[np.random.Generator],
    settings: Settings | None = None,
    maxima: Sequence[int] | None = None,
    /,
) -> list[Run]:
    """Run every graph once, as if alone, and judge every decision.

    A run's value and maximum are what was found and the best possible, as `objective` counts them.
    """
    runs = [Run(maximum=_best(graph)) for graph in graphs]

    def see(event: Round[Any] | PriceStep) -> None:
        if isinstance(event, Round):
            judge_round(event, runs)
        else:
            _judge_step(event, runs)

    own = replace(settings or Settings(), many_paths=True)
    answers = classical.solved(graphs, subroutines, rngs, own, exact=False, see=see)
    for run, graph, answer in zip(runs, graphs, answers, strict=True):
        run.value = objective(graph, answer)
    return runs


def objective(graph: Priced, answer: Answer) -> int:
    """Return an answer's cost, to be minimised, where a unit of flow saves more than all costs.

    So the least is that of a largest answer, and of those a cheapest one.
    """
    assert graph.costs is not None
    amount, found = graph.costs.to_minimise, answer.found
    if isinstance(graph, BipartiteGraph):
        paid = amount[found.take(graph.left) == graph.right].tolist()
        size, cost = len(paid), sum(paid)
        return cost + (min(graph.num_left, graph.num_right) - size) * _large(graph)
    both = zip(found.tolist(), amount.tolist(), strict=True)
    cost = sum(carried * one for carried, one in both)
    if graph.source is None:
        return cost
    ends = graph.tail == graph.source, graph.head == graph.source
    sent, back = (sum(found[end].tolist()) for end in ends)
    return cost + (sum(graph.capacity[ends[0]].tolist()) - sent + back) * _large(graph)


def _large(graph: Priced) -> int:
    """Return more than any answer's costs can differ by."""
    assert graph.costs is not None
    amount = np.abs(graph.costs.amount)
    if isinstance(graph, BipartiteGraph):
        return 1 + 2 * min(graph.num_left, graph.num_right) * int(amount.max(initial=0))
    both = zip(graph.capacity.tolist(), amount.tolist(), strict=True)
    return 1 + 2 * sum(capacity * cost for capacity, cost in both)


def _best(graph: Priced) -> int:
    """Return the best that `objective` can be: for a bipartite graph by SciPy, else classically."""
    if isinstance(graph, CostNetwork):
        [answer] = classical.solved([graph], BREADTH_FIRST, [np.random.default_rng(0)])
        return objective(graph, answer)
    from scipy.optimize import linear_sum_assignment

    assert graph.costs is not None
    # A pair without an edge stays unmatched, which costs as much as `objective` says.
    matrix = np.full((graph.num_left, graph.num_right), _large(graph))
    matrix[graph.left, graph.right] = graph.costs.to_minimise
    return sum(matrix[linear_sum_assignment(matrix)].tolist())


def _judge_step(step: PriceStep, runs: Sequence[Run]) -> None:
    """Count the decisions of a step: what is reached, how large it is, what the arcs keep."""
    has_cut = np.isin(np.arange(step.batch.num_graphs), step.cut.graph)
    for graph, (number, code) in enumerate(zip(step.batch.graphs, step.verdict, strict=True)):
        run, verdict = runs[int(number)], Verdict(code)
        run.ending = verdict
        asked = ["search", *(["bottleneck", "augmentation"] if has_cut[graph] else [])]
        wrong = {
            Verdict.WRONG_SEARCH: "search",
            Verdict.WRONG_BOTTLENECK: "bottleneck",
            Verdict.WRONG_AUGMENTATION: "augmentation",
        }.get(verdict)
        for decision in asked:
            run.asked[decision] += 1
            run.wrong[decision] += decision == wrong
            if decision == wrong:
                break


def story(graph: Any, actor: Actor, telling: Telling) -> Told:
    """Run an actor to its end, then with `exact` the classical search; tell rounds and steps."""
    settings = Settings(many_paths=telling.many_paths, weights=telling.weights)
    rng = np.random.default_rng(telling.seed)
    rounds: list[dict[str, Any]] = []
    stage, answer = classical.first_stage(graph), Answer(np.zeros(0, np.int64), 0)
    listener = Listener(Batch.of([stage.arcs]), telling.max_steps)

    def told(stage: Stage, who: Actor) -> classical.End:
        teller = _Teller(stage, who, listener, rounds)
        subroutines = listener.heard(who.observed(listener, {}))
        [end] = classical.run_stages({0: stage}, subroutines, [rng], settings, teller.see).values()
        return end

    while stage is not None:
        end = own = told(stage, actor)
        if telling.exact and own.ending != DONE:
            end = told(Stage(stage.arcs, own.state), CLASSICAL)
        counts = _applied(rounds)
        ending = own.ending if answer.ending == DONE else answer.ending
        found = graph.found(end.state.residual)
        is_first = answer.price is None
        answer = Answer(found, *counts, ending, end.state.price)
        stage = classical.second_stage(graph, end) if is_first and end.ending == DONE else None
    for number, round_ in enumerate(rounds):
        round_["number"] = number
    model = {"state": actor.state, "infinity": None, "termination": "bfs"}
    is_neural = actor.kind != "classical"
    model |= {"neural_bottleneck": is_neural, "neural_augmentation": is_neural}
    return Told(model, rounds, answer)


class _Teller:
    """Tells the rounds of a stage, and adds each step to the last round before it."""

    def __init__(
        self, stage: Stage, actor: Actor, listener: Listener, rounds: list[dict[str, Any]]
    ) -> None:
        self._stage, self._actor, self._listener, self._rounds = stage, actor, listener, rounds
        self._state, self._value = stage.state, 0

    def see(self, event: Round[Any] | PriceStep) -> None:
        """Tell a round or a step."""
        if isinstance(event, PriceStep):
            self._rounds[-1]["step"] = self._told_step(event)
            self._state = event.after
            self._listener.clear()
            return
        self._value += sum(event.bottleneck.tolist())
        told = told_round(event, self._actor, self._listener, self._value)
        state, arcs = self._state, self._stage.arcs
        # A round sees the tight arcs alone, and the others stay as they are.
        is_tight = state.reduced == state.half
        told |= {
            "residual": np.where(is_tight, event.residual, state.residual).tolist(),
            "after": np.where(is_tight, event.after, state.residual).tolist(),
            "price": state.price.tolist(),
            "reduced": (state.reduced - state.half).tolist(),
            "ends": [arcs.source, arcs.sink],
        }
        self._rounds.append(told)

    def _told_step(self, step: PriceStep) -> dict[str, Any]:
        after, before = step.after, step.before
        least = step.cut.smallest(before.reduced - before.half).tolist()
        return {
            "reached": np.flatnonzero(step.reached).tolist(),
            "arcs": step.cut.arcs.tolist(),
            "proposed": step.proposed.tolist(),
            "least": least,
            "price": after.price.tolist(),
            "reduced": (after.reduced - after.half).tolist(),
            "verdict": Verdict(step.verdict[0]).words,
        }


def _applied(rounds: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Count the rounds that led somewhere: the executor's, and the classical search's."""
    applied = [x for x in rounds if any(path["verdict"] == "applied" for path in x["paths"])]
    completed = sum(x["by"] == CLASSICAL.name for x in applied)
    return len(applied) - completed, completed


FIRST = "and the pass from a best matching to the first of those that are as good"

ASSIGNMENT = Algorithm(
    name="assignment",
    problem="a maximum matching of least cost",
    takes=(BipartiteGraph,),
    entries="costs",
    ends=("source", "sink"),
    cells=CELLS,
    classical=classical.CLASSICAL,
    run=lambda graphs, subroutines, how: classical.run(cast("Any", graphs), subroutines, how),
    judge=judge,
    certify=lambda graph, answer: certify_cost(graph, answer.found, answer.price),
    story=story,
    theorem=(
        "on every bipartite graph, of any size, whose integer costs times the number of nodes stay "
        "below 2^55, this network executes the primal-dual method and ends with a maximum matching "
        "of least cost and with prices that prove it; learnt are search, termination, "
        "predecessors, bottleneck and augmentation, of paths and of prices, programmed are the "
        "rounds, the bits of integers, the latch on a node's first predecessor, following the "
        "pointers, which arcs are tight, the reverse arc's share of its pair, "
        f"{FIRST}."
    ),
    minds_costs=True,
)

MIN_COST_FLOW = replace(
    ASSIGNMENT,
    name="min-cost-flow",
    problem="a flow of least cost",
    entries=None,
    takes=(CostNetwork,),
    theorem=ASSIGNMENT.theorem.replace("bipartite graph", "flow network")
    .replace("a maximum matching", "a maximum flow, or one that meets all supplies,")
    .replace(
        "the reverse arc's share of its pair, " + FIRST, "and the reverse arc's share of its pair"
    ),
)
