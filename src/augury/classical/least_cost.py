"""A batch of networks with costs becomes rounds and steps of prices: a primal-dual method.

The reduced cost of an arc is its cost plus its sender's price less its receiver's. It is at
least 0 on every arc with residual, at the start and ever after. Each step follows a run of
Ford-Fulkerson over the tight arcs, those whose reduced cost is 0. Where its last search stops at a
cut, the least reduced cost across the cut is a bottleneck, and subtracting it from the arcs of the
cut is an augmentation: so an executor is asked for nothing beyond what Ford-Fulkerson asks. A
graph ends when no residual arc crosses the cut: then its flow is maximum, and of least cost.

Reduced costs are kept like residuals: the executor sees `reduced + half`, which is never negative,
and the two arcs of a pair always add up to `2 * half`.

The judge compares every proposal with the truth, as in `ford_fulkerson`, and applies only what is
right. So, whatever an executor says, the flow is legal, no arc with residual has a negative reduced
cost, and the classical executor can finish any run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical import ford_fulkerson as flows
from augury.classical.answer import DONE, Answer, How, Progress
from augury.classical.arrays import BoolArray, Numbers, WideArray
from augury.classical.batch import Batch, handed_out, starts
from augury.classical.cost_network import CostNetwork
from augury.classical.first import first_in_order
from augury.classical.ford_fulkerson import (
    PHASES,
    Paths,
    Round,
    Settings,
    Subroutines,
    Tree,
    Verdict,
)
from augury.classical.graph import Arcs, BipartiteGraph
from augury.classical.phases import rounds_of

Priced = BipartiteGraph | CostNetwork


class State(NamedTuple):
    """What a run has come to; the arcs' costs follow from the reduced costs and prices."""

    residual: WideArray
    """(arc,)"""
    reduced: WideArray
    """(arc,): the reduced cost plus `half`."""
    price: WideArray
    """(node,)"""
    half: WideArray
    """(arc,): more than any reduced cost of the arc's graph can reach."""

    def select(self, arcs: Any, nodes: Any) -> State:
        """Return the state of some graphs."""
        return State(self.residual[arcs], self.reduced[arcs], self.price[nodes], self.half[arcs])


@dataclass(frozen=True)
class PriceStep:
    """A step of the prices, after the rounds over tight arcs."""

    number: int
    batch: Batch
    before: State
    """Before the rounds."""
    reached: BoolArray
    """(node,): whether the last search reached it, according to the executor."""
    cut: Paths
    """The residual arcs that leave the reached nodes, all of a graph as one path."""
    proposed: WideArray
    """The step that the executor proposed for each graph with such arcs."""
    after: State
    verdict: npt.NDArray[np.int8]
    """A `Verdict` for each graph: DONE where nothing leaves the reached nodes."""


def least_cost(
    batch: Batch,
    state: State,
    subroutines: Subroutines[Any],
    rngs: Sequence[np.random.Generator],
    settings: Settings = PHASES,
) -> Iterator[Round[Any] | PriceStep]:
    """Run every graph of the batch to its end; yield all rounds, and the steps between them.

    Graph g draws weights from `rngs[batch.graphs[g]]`. The executor gets only read-only copies.
    """
    number = 0
    while batch.num_graphs:
        tight = replace(batch, capacity=_tight(state, state.residual))
        rounds = rounds_of(tight, subroutines, rngs, settings)
        change, reached, verdict, tree = yield from _summed_up(tight, rounds)
        residual = state.residual + change
        truth = flows.reachable(batch, _tight(state, residual))[-1]
        is_wrong = reached != truth
        is_wrong[batch.sink] |= reached[batch.sink]  # a search that was not done
        missed = np.flatnonzero(np.bincount(batch.node_graph[is_wrong]))
        verdict[missed[verdict[missed] == Verdict.GOES_ON]] = Verdict.WRONG_SEARCH

        # A cut, and the arcs across it that could carry something if they were tight.
        leaving = np.flatnonzero(reached[batch.sender] & ~reached[batch.receiver])
        graph = batch.node_graph[batch.sender[leaving]]
        leaving = leaving[verdict[graph] == Verdict.GOES_ON]
        across = _grouped(batch, leaving[residual[leaving] > 0])
        is_done = verdict == Verdict.GOES_ON
        is_done[across.graph] = False
        verdict[is_done] = Verdict.DONE

        # Its bottleneck: the step.
        own, spare = batch.handed_out(), state.reduced - state.half
        shown = handed_out(np.maximum(spare, 0))
        proposed = np.array(subroutines.bottleneck(own, shown, across.handed_out(), tree))
        step = across.smallest(spare)
        verdict[across.graph[proposed != step]] = Verdict.WRONG_BOTTLENECK

        # And its augmentation: all arcs across it become cheaper.
        cut = _grouped(batch, leaving[verdict[batch.node_graph[batch.sender[leaving]]] == 0])
        by_graph = np.zeros(batch.num_graphs, np.int64)
        by_graph[across.graph] = step
        amounts, shown = handed_out(by_graph[cut.graph]), handed_out(state.reduced)
        kept = np.array(subroutines.augment(own, shown, cut.handed_out(), amounts, tree))
        right = state.reduced[cut.arcs] - cut.spread(by_graph[cut.graph])
        verdict[cut.spread(cut.graph)[kept != right]] = Verdict.WRONG_AUGMENTATION
        after = _stepped(batch, state._replace(residual=residual), cut, by_graph, reached, verdict)
        yield PriceStep(number, batch, state, reached, across, proposed, after, verdict)

        number += 1
        running = verdict == Verdict.GOES_ON
        state = after
        if not running.all():
            nodes = running[batch.node_graph]
            batch, arcs = batch.select(running)
            state = state.select(arcs, nodes)


def _tight(state: State, residual: WideArray) -> WideArray:
    """Return the residual of the tight arcs, 0 for all others."""
    return np.where(state.reduced == state.half, residual, 0)


def _summed_up(
    batch: Batch, rounds: Iterable[Round[Any]]
) -> Generator[Round[Any], None, tuple[WideArray, BoolArray, npt.NDArray[np.int8], Tree[Any]]]:
    """Yield the rounds of a batch.

    Returns:
        How they change the residual of each arc; the nodes that each graph's last search reached;
        GOES_ON for each graph whose executor said that it was done, or how else it ended; and the
        last tree.
    """
    change = np.zeros_like(batch.capacity)
    reached = np.zeros(batch.num_nodes, np.bool_)
    verdict = np.full(batch.num_graphs, Verdict.GOES_ON, np.int8)
    tree: Tree[Any] = Tree(np.zeros(0, np.int32))
    for round_ in rounds:
        found = round_.tree.arc >= 0
        found[round_.batch.source] = True
        tree = round_.tree
        ended = np.flatnonzero(round_.verdict != Verdict.GOES_ON)
        numbers = np.searchsorted(batch.graphs, round_.batch.graphs[ended])
        for graph, number in zip(ended.tolist(), numbers.tolist(), strict=True):
            arcs, nodes = _places(batch, number)
            last_arcs, last_nodes = _places(round_.batch, graph)
            change[arcs] = round_.after[last_arcs] - batch.capacity[arcs]
            reached[nodes] = found[last_nodes]
            if round_.verdict[graph] != Verdict.DONE:
                verdict[number] = round_.verdict[graph]
        yield round_
    return change, reached, verdict, tree


def _places(batch: Batch, graph: int) -> tuple[slice, slice]:
    """Return where the arcs and the nodes of a graph are."""
    arcs, nodes = batch.arc_start[graph : graph + 2], batch.node_start[graph : graph + 2]
    return slice(*arcs.tolist()), slice(*nodes.tolist())


def _grouped(batch: Batch, arcs: WideArray) -> Paths:
    """Make one path of a graph's arcs, to ask for its bottleneck or its augmentation."""
    graphs, lengths = np.unique(batch.node_graph[batch.sender[arcs]], return_counts=True)
    return Paths(graphs, starts(lengths), arcs.astype(np.int32))


def _stepped(  # a state, and all that a step of it depends on
    batch: Batch,
    state: State,
    cut: Paths,
    step: WideArray,
    reached: BoolArray,
    verdict: npt.NDArray[np.int8],
) -> State:
    """Move the prices of the nodes that were not reached, where the step was right."""
    step = np.where(verdict == Verdict.GOES_ON, step, 0)
    reduced = state.reduced.copy()
    reduced[cut.arcs] -= cut.spread(step[cut.graph])
    reduced[cut.arcs ^ 1] = 2 * state.half[cut.arcs] - reduced[cut.arcs]
    price = state.price + np.where(reached, 0, step[batch.node_graph])
    return state._replace(reduced=reduced, price=price)


See = Callable[[Round[Any] | PriceStep], None]


class Stage(NamedTuple):
    """A network, and a state of it in which no residual arc has a negative reduced cost."""

    arcs: Arcs
    state: State

    @classmethod
    def of(cls, arcs: Arcs, cost: WideArray, price: WideArray) -> Stage:
        """Start from the arcs' capacities and from these prices."""
        reduced = cost + price[arcs.sender] - price[arcs.receiver]
        # No price exceeds 4 (n + 2) times the largest cost: see docs/verification.md.
        most = 9 * (arcs.num_nodes + 2) * int(np.abs(cost).max(initial=0))
        half = np.full(len(cost), 1 << most.bit_length(), np.int64)
        return cls(arcs, State(arcs.capacity, reduced + half, price, half))

    @property
    def is_idle(self) -> bool:
        """Whether nothing can leave the source."""
        return not self.state.residual[self.arcs.sender == self.arcs.source].any()


class End(NamedTuple):
    """How a graph's run ended."""

    state: State
    rounds: int = 0
    """Searches that led somewhere."""
    ending: str = DONE


def first_stage(graph: Priced) -> Stage:
    """Return the whole problem of a bipartite graph, or that of making a network's flow legal."""
    arcs = graph.as_arcs()
    price = np.zeros(arcs.num_nodes, np.int64)
    if isinstance(graph, BipartiteGraph) and graph.costs is not None:
        # A right node's price is its cheapest edge, so that some of its edges are tight at once.
        amount = graph.costs.to_minimise
        most = amount.max(initial=0)
        right = price[1 + graph.num_left : -1]
        right[:] = most
        np.minimum.at(right, graph.right, amount)
        price[-1] = right.min(initial=most)
    return Stage.of(arcs, graph.arc_costs(), price)


def second_stage(graph: Priced, first: End) -> Stage | None:
    """Return what follows the first stage, if anything: as much as possible, source to sink."""
    arcs = graph.between_ends(first.state.residual) if isinstance(graph, CostNetwork) else None
    return None if arcs is None else Stage.of(arcs, graph.arc_costs(), first.state.price)


def run(graphs: Sequence[Priced], subroutines: Subroutines[Any], how: How) -> list[Answer]:
    """Run graphs side by side: (pair, 2) of a matching, or (arc,) of a flow, and prices.

    With `exact`, a run that its executor ended early is finished by the classical search.
    """
    rngs = [np.random.default_rng(how.seed) for _ in graphs]
    see = None if how.progress is None else _Reporter(how.progress, len(graphs))
    return solved(graphs, subroutines, rngs, exact=how.exact, see=see)


def solved(  # see `run`
    graphs: Sequence[Priced],
    subroutines: Subroutines[Any],
    rngs: Sequence[np.random.Generator],
    settings: Settings = PHASES,
    *,
    exact: bool = True,
    see: See | None = None,
) -> list[Answer]:
    """Run every graph as if alone, graph g with `rngs[g]`; see `run`."""
    answers = [Answer(np.zeros(0, np.int64), 0) for _ in graphs]
    stages = dict(enumerate(map(first_stage, graphs)))
    while stages:
        own = run_stages(stages, subroutines, rngs, settings, see)
        # The judge has seen to it that what is done is done.
        early = {at: end for at, end in own.items() if exact and end.ending != DONE}
        rest = {at: Stage(stages[at].arcs, end.state) for at, end in early.items()}
        ends = own | run_stages(rest, BREADTH_FIRST, rngs, settings)
        later: dict[int, Stage | None] = {}
        for at, end in ends.items():
            graph, before, rounds = graphs[at], answers[at], own[at].rounds
            completed = end.rounds if at in rest else 0
            if subroutines in CLASSICAL.values():
                rounds, completed = 0, rounds + completed
            answers[at] = Answer(
                found=_found(graph, end),
                neural_rounds=before.neural_rounds + rounds,
                classical_rounds=before.classical_rounds + completed,
                ending=own[at].ending if before.ending == DONE else before.ending,
                price=end.state.price,
            )
            if before.price is None and end.ending == DONE:
                later[at] = second_stage(graph, end)
        stages = {at: stage for at, stage in later.items() if stage is not None}
    return answers


def _found(graph: Priced, end: End) -> Numbers:
    """Return what a run has found; of equally good matchings, the first: see `first`."""
    found = graph.found(end.state.residual)
    if isinstance(graph, BipartiteGraph) and end.ending == DONE:
        return first_in_order(graph, found, end.state.price)
    return found


def run_stages(
    stages: Mapping[int, Stage],
    subroutines: Subroutines[Any],
    rngs: Sequence[np.random.Generator],
    settings: Settings = PHASES,
    see: See | None = None,
) -> dict[int, End]:
    """Run a stage of each of these graphs, side by side; `see` every round and step."""
    ends = {at: End(stage.state) for at, stage in stages.items()}
    busy = sorted(at for at, stage in stages.items() if not stage.is_idle)
    if not busy:
        return ends
    batch = replace(Batch.of([stages[at].arcs for at in busy]), graphs=np.array(busy, np.int64))
    columns = zip(*(stages[at].state for at in busy), strict=True)
    state = State(*(np.concatenate(column) for column in columns))
    rounds = dict.fromkeys(busy, 0)
    for event in least_cost(batch, state, subroutines, rngs, settings):
        if isinstance(event, Round):
            for graph, led in zip(event.batch.graphs.tolist(), event.led.tolist(), strict=True):
                rounds[graph] += led
        else:
            for graph in np.flatnonzero(event.verdict != Verdict.GOES_ON).tolist():
                number, verdict = int(event.batch.graphs[graph]), Verdict(event.verdict[graph])
                last = event.after.select(*_places(event.batch, graph))
                ends[number] = End(last, rounds[number], verdict.words)
        if see is not None:
            see(event)
    return ends


class _Reporter:
    """Counts what it sees, and reports it."""

    def __init__(self, report: Callable[[Progress], None], num_graphs: int) -> None:
        self._report, self._num_graphs = report, num_graphs
        self._rounds = self._size = 0

    def __call__(self, event: Round[Any] | PriceStep) -> None:
        if isinstance(event, Round):
            self._rounds += 1
            self._size += sum(event.bottleneck.tolist())
            return
        running = int((event.verdict == Verdict.GOES_ON).sum())
        self._report(Progress(self._num_graphs - running, self._rounds, self._size))


BREADTH_FIRST = flows.BREADTH_FIRST
CLASSICAL = {"classical": BREADTH_FIRST}
"""The truth: an executor without a network."""
