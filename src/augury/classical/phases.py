"""Graphs become answers in Dinic's phases, which are rounds of Ford-Fulkerson with many searches.

A phase begins like a round. Then its executor searches again, on the level graph: the arcs that
lead from a node of the first tree to one that is one step farther from the source, and have
residual left. When no path is left there either, the phase is over. Graphs with fewer arcs than
`Settings.phases_from` make do with the first search: a round. On a matching these are the phases
of Hopcroft and Karp. Every path is a shortest augmenting path when it is taken, if the first tree
is one of shortest paths; see docs/verification.md.

An executor proposes a phase as a whole, or several rounds of a small graph, and the judge then goes
through it: see `_judged`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.classical.answer import Answer, How, Progress
from augury.classical.arrays import BoolArray, IntArray, WideArray, frozen, starts_run
from augury.classical.batch import Batch, handed_out, starts
from augury.classical.cuts import source_sides
from augury.classical.ford_fulkerson import (
    BREADTH_FIRST,
    CLASSICAL,
    PHASES,
    Paths,
    Round,
    Searches,
    Searching,
    Settings,
    Subroutines,
    Tree,
    Verdict,
    WeightArray,
    draw,
    draw_weights,
    ford_fulkerson,
    paths_of,
    pointers_of,
    roots_of,
)
from augury.classical.network import Graph

FEW_ROUNDS, MANY_ROUNDS, MANY_WEIGHTS = 2**2, 2**6, 2**18
"""Rounds asked for at once, at first and at most, and the most weights drawn for them."""


def run(graphs: Sequence[Graph], subroutines: Subroutines[Any], how: How) -> list[Answer]:
    """Run graphs side by side to maximum matchings, (pair, 2), and net flows, (arc,).

    With `exact`, a run that its executor ended early is finished by the classical search.
    """
    batch = Batch.of([graph.as_arcs() for graph in graphs])
    # The same seed for each: a graph's answer must not depend on what else is in the batch.
    rngs = [np.random.default_rng(how.seed) for _ in graphs]
    residual, rounds, endings = run_to_end(batch, subroutines, rngs, progress=how.progress)
    completed = np.zeros_like(rounds)
    is_early = how.exact and subroutines is not BREADTH_FIRST
    if is_early and source_sides(batch, residual)[batch.sink].any():
        rest = replace(batch, capacity=residual)
        residual, completed, _ = run_to_end(rest, BREADTH_FIRST, rngs)
    if subroutines in CLASSICAL.values():
        rounds, completed = completed, rounds + completed
    parts = np.split(residual, batch.arc_start[1:-1])
    found = (graph.found(part) for graph, part in zip(graphs, parts, strict=True))
    return list(map(Answer, found, rounds.tolist(), completed.tolist(), endings))


def run_to_end(
    batch: Batch,
    subroutines: Subroutines[Any],
    rngs: Sequence[np.random.Generator],
    settings: Settings = PHASES,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[WideArray, WideArray, list[str]]:
    """Return the last residual of each arc, and the rounds and the ending of each graph."""
    residual, arc_start = batch.capacity.copy(), batch.arc_start
    count = len(batch.graphs)
    rounds, endings = np.zeros(count, np.int64), [Verdict.DONE.words] * count
    size = finished = 0
    for round_ in rounds_of(batch, subroutines, rngs, settings):
        own = round_.batch.graphs
        rounds[own] += round_.led
        for graph in np.flatnonzero(round_.verdict != Verdict.GOES_ON).tolist():
            start, end = round_.batch.arc_start[graph : graph + 2]
            first = arc_start[own[graph]]
            residual[first : first + end - start] = round_.after[start:end]
            endings[own[graph]] = Verdict(round_.verdict[graph]).words
            finished += 1
        size += sum(round_.bottleneck.tolist())
        if progress is not None:
            progress(Progress(finished, round_.number + 1, size))
    return residual, rounds, endings


def rounds_of(
    batch: Batch,
    subroutines: Subroutines[Any],
    rngs: Sequence[np.random.Generator],
    settings: Settings = PHASES,
) -> Iterator[Round[Any]]:
    """Run every graph of the batch to its end, in phases or in single rounds."""
    run = ford_fulkerson if settings.phases_from is None else phases
    return run(batch, subroutines, rngs, settings)


def phases(
    batch: Batch,
    subroutines: Subroutines[Any],
    rngs: Sequence[np.random.Generator],
    settings: Settings = PHASES,
) -> Iterator[Round[Any]]:
    """Run every graph of the batch to its end; yield what is proposed at once as a round.

    See `ford_fulkerson`: the executor gets only read-only copies, and each graph its own weights.
    """
    searching: Searching | None = None
    plain = partial(searched, subroutines, many_paths=settings.many_paths)
    residual, own = batch.capacity, batch.handed_out()
    failures, number, asked = np.zeros(batch.num_graphs, np.int64), 0, FEW_ROUNDS
    while batch.num_graphs:
        is_large = np.diff(batch.arc_start) >= (settings.phases_from or 0)
        searching = searching or subroutines.prepared(batch, number)
        is_one = searching is None or settings.weights is not None or is_large.any()
        count = 1 if is_one else min(asked, max(MANY_WEIGHTS // max(batch.num_arcs, 1), 1))
        weights, take_back = _weights(batch, rngs, settings, number, count)
        shown = handed_out(residual), handed_out(weights)
        found = (searching or plain)(own, *shown, settings.phases_from or 0)
        take_back(found.rounds)
        verdict = np.where(found.is_done, Verdict.DONE, Verdict.GOES_ON).astype(np.int8)
        is_applied = _judged(batch, residual, found, is_large, verdict)
        paths, bottleneck = found.paths.select(is_applied), found.proposed[is_applied]
        after = residual.copy()
        np.subtract.at(after, paths.arcs, paths.spread(bottleneck))
        np.add.at(after, paths.arcs ^ 1, paths.spread(bottleneck))
        search = found.number[is_applied]
        is_last = is_large[paths.graph] | (search == found.rounds[paths.graph] - 1)
        failures += 1
        failures[paths.graph] = 1
        failures[paths.graph[is_last]] = 0
        verdict[(verdict == Verdict.GOES_ON) & (failures >= settings.max_failures)] = (
            Verdict.GAVE_UP
        )
        number, asked = number + int(found.rounds.max()), min(4 * asked, MANY_ROUNDS)
        told = number - 1, batch, residual, weights[-1], found.tree
        judged = verdict, found.paths, found.proposed, search
        yield Round(*told, paths, bottleneck, after, *judged)

        running = verdict == Verdict.GOES_ON
        residual = after
        if not running.all():
            batch, arcs = batch.select(running)
            residual, failures = residual[arcs], failures[running]
            own = batch.handed_out()


def _weights(
    batch: Batch,
    rngs: Sequence[np.random.Generator],
    settings: Settings,
    number: int,
    count: int,
) -> tuple[WeightArray, Callable[[WideArray], None]]:
    """Return the weights of some rounds, (round, arc), and a function that takes back unused ones.

    This way weights do not depend on how many rounds an executor is asked for at once.
    """
    if count == 1:
        given = settings.weights
        one = given(batch, number) if given else draw_weights(batch, rngs)
        return one[None], lambda rounds: None
    graphs: list[int] = batch.graphs.tolist()
    own = [rngs[graph] for graph in graphs]
    before: list[Any] = [rng.bit_generator.state for rng in own]
    sizes = np.diff(batch.arc_start).tolist()
    drawn = [[draw(rng, size) for _ in range(count)] for rng, size in zip(own, sizes, strict=True)]

    def take_back(rounds: WideArray) -> None:
        for graph in np.flatnonzero(rounds < count).tolist():
            own[graph].bit_generator.state = before[graph]
            for _ in range(int(rounds[graph])):
                draw(own[graph], sizes[graph])

    return np.concatenate(drawn, axis=1), take_back


def _judged(
    batch: Batch,
    residual: WideArray,
    found: Searches,
    is_large: BoolArray,
    verdict: npt.NDArray[np.int8],
) -> BoolArray:
    """Compare all proposals with the truth; return which paths to apply.

    A graph's run ends at its first search with a wrong bottleneck or augmentation: nothing of that
    search is applied, and what follows, which rests on it, is ignored. A path without a residual on
    some arc is never applied; an arc counts as having none if, after the first search of a phase,
    it is off the level graph, or if the path is no walk from source to sink.
    """
    paths = found.paths
    if not len(paths.graph):
        return np.zeros(0, np.bool_)
    values = _in_turn(residual, paths, found.proposed)
    is_further = is_large[paths.graph] & (found.number > 0)
    if is_further.any():
        is_level = leads_on(batch, pointers_of(batch, found.tree))[paths.arcs]
        values[~is_level & paths.spread(is_further)] = 0
    is_walk = _are_walks(batch, paths)
    if not is_walk.all():
        values[paths.spread(~is_walk)] = 0
    truth = np.minimum.reduceat(values, paths.start[:-1])
    is_wrong = {Verdict.WRONG_BOTTLENECK: found.proposed != truth}
    kept_wrong = found.kept != values - paths.spread(truth)
    kept_wrong &= paths.spread((truth > 0) & ~is_wrong[Verdict.WRONG_BOTTLENECK])
    is_wrong[Verdict.WRONG_AUGMENTATION] = np.logical_or.reduceat(kept_wrong, paths.start[:-1])

    last = np.full(batch.num_graphs, found.number.max() + 1)  # the search that ends a graph's run
    for is_so in is_wrong.values():
        np.minimum.at(last, paths.graph[is_so], found.number[is_so])
    for reason, is_so in reversed(is_wrong.items()):
        verdict[paths.graph[is_so & (found.number == last[paths.graph])]] = reason
    return (truth > 0) & (found.number < last[paths.graph])


def _are_walks(batch: Batch, paths: Paths) -> BoolArray:
    """Return whether each path leads from its graph's source to its sink, arc by arc."""
    ends = batch.receiver[paths.arcs]
    begins = np.empty_like(ends)
    begins[1:] = ends[:-1]
    begins[paths.start[:-1]] = batch.source[paths.graph]
    breaks = np.logical_or.reduceat(batch.sender[paths.arcs] != begins, paths.start[:-1])
    return ~breaks & (ends[paths.start[1:] - 1] == batch.sink[paths.graph])


def _in_turn(residual: WideArray, paths: Paths, amount: WideArray) -> WideArray:
    """Return what each arc of the paths can carry once all paths before it are applied."""
    pair, is_odd = paths.arcs >> 1, (paths.arcs & 1).astype(np.bool_)
    sent = paths.spread(amount)
    sent = np.where(is_odd, -sent, sent)  # along the even arc of the pair
    order = np.argsort(pair, kind="stable")
    so_far = np.cumsum(sent[order]) - sent[order]
    is_first = starts_run(pair[order])
    so_far -= so_far[is_first][np.cumsum(is_first) - 1]
    before = np.empty_like(so_far)
    before[order] = so_far
    return residual[paths.arcs] - np.where(is_odd, -before, before)


def leads_on(batch: Batch, pointers: IntArray) -> BoolArray:
    """Return which arcs are in the level graph of a tree: those that lead one level on.

    Some may lie beyond the sink: from there no path leads back.
    """
    root, depth = roots_of(batch, pointers)
    level = np.where(root >= 0, depth + 1, -1)
    level[batch.source] = 0
    level[batch.sink] = -1
    reached = batch.sink[pointers[batch.sink] >= 0]
    level[reached] = level[batch.sender[pointers[reached]]] + 1
    before = level[batch.sender]
    return (before >= 0) & (level[batch.receiver] == before + 1)


def searched(
    parts: Subroutines[Any],
    batch: Batch,
    residual: WideArray,
    weights: WeightArray,
    phases_from: int = 0,
    *,
    many_paths: bool = True,
) -> Searches:
    """Make a phase of the four parts; a graph's is over after a search that led to nothing.

    It is also over after a wrong proposal: going on would be pointless. Small graphs get one round,
    however many rows `weights` has.
    """
    weights, rounds = weights[0], np.ones(batch.num_graphs, np.int64)
    is_large = np.diff(batch.arc_start) >= phases_from
    first: tuple[Tree[Any], BoolArray] | None = None
    arc, graph, number = np.arange(batch.num_arcs), np.arange(batch.num_graphs), 0
    columns: list[tuple[npt.NDArray[Any], ...]] = []
    while batch.num_graphs:
        tree = parts.search(batch, residual, weights)
        is_done = parts.is_done(batch, residual, weights, tree)
        first = first or (tree, is_done)
        pointers = pointers_of(batch, tree)
        tried = paths_of(batch, residual, pointers, ~is_done, many_paths)
        proposed = np.array(parts.bottleneck(batch, residual, tried.handed_out(), tree))
        truth = tried.smallest(residual)
        is_right = (proposed == truth) & (truth > 0)
        paths, amount = tried.select(is_right), truth[is_right]
        kept, on_right = residual[tried.arcs], tried.spread(is_right)
        kept[on_right] = parts.augment(
            batch, residual, paths.handed_out(), handed_out(amount), tree
        )
        lengths, numbers = tried.lengths, np.full(len(truth), number)
        columns.append((graph[tried.graph], lengths, arc[tried.arcs], numbers, proposed, kept))

        wrong = kept[on_right] != residual[paths.arcs] - paths.spread(amount)
        goes_on = np.zeros(batch.num_graphs, np.bool_)
        goes_on[paths.graph] = True
        goes_on &= is_large[graph]
        goes_on[tried.graph[proposed != truth]] = False
        goes_on[paths.spread(paths.graph)[wrong]] = False
        residual = residual.copy()  # nothing flows back in a phase: that would be a longer path
        residual[paths.arcs] -= paths.spread(amount)
        stays = np.repeat(goes_on, np.diff(batch.arc_start))
        if number == 0:
            is_level = leads_on(batch, pointers)
            residual[~is_level] = 0
            stays &= (is_level.reshape(-1, 2).any(1)).repeat(2)
        if not (stays.all() and goes_on.all()):
            batch, arc, graph = batch.select_arcs(goes_on, stays), arc[stays], graph[goes_on]
            residual, weights = residual[stays], weights[stays]
        residual = frozen(residual)
        number += 1
    assert first is not None
    graphs, lengths, arcs, numbers, proposed, kept = map(np.concatenate, zip(*columns, strict=True))
    paths = Paths(graphs, starts(lengths), arcs.astype(np.int32))
    return Searches(*first, rounds, paths, numbers, proposed, kept)
