"""A batch of flow networks becomes rounds of Ford-Fulkerson, whoever supplies the subroutines.

This is the only place where the algorithm is written: Algorithm 1 of the paper, and with its judge
Algorithm 2. Each round an executor searches, says whether it is done, and for the path that its
predecessors describe proposes the bottleneck and the new capacities. The judge here compares every
proposal with the truth, which no executor gets to see: a path with a saturated arc is never
applied, and a wrong bottleneck or capacity ends that graph's run. So, whatever an executor says,

    0 <= residual    and    residual[arc] + residual[arc ^ 1] == capacity[arc] + capacity[arc ^ 1],

and the residual always is that of a legal flow. An executor gets read-only copies of everything, so
that it can tell the judge something but change nothing of his. Every graph of a batch is run as if
it were alone: its weights come from its own generator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from augury.classical.batch import Batch, handed_out
from augury.classical.graph import BoolArray, IntArray, WideArray
from augury.errors import InputError

MAX_WEIGHT = 15
"""Weights are drawn from 1..15, as in the authors' published code."""

WeightArray = npt.NDArray[np.uint8]


Memory = TypeVar("Memory")
Memory_co = TypeVar("Memory_co", covariant=True)
Memory_contra = TypeVar("Memory_contra", contravariant=True)


class Tree(NamedTuple, Generic[Memory_co]):
    """What a search leaves behind: the arc by which each node was reached, −1 for none."""

    arc: IntArray
    memory: Memory_co = cast("Any", None)
    """What an executor keeps of the search for its other subroutines; None for nothing."""


@dataclass(frozen=True)
class Paths:
    """Walks from source to sink, at most one through each inner node.

    Path k of graph `graph[k]` takes the arcs `arcs[start[k] : start[k + 1]]`, from the source on.
    """

    graph: WideArray
    start: WideArray
    arcs: IntArray

    def select(self, keep: BoolArray) -> Paths:
        """Return only the paths that are kept."""
        lengths = np.diff(self.start)
        start = np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64)
        return Paths(self.graph[keep], start, self.arcs[np.repeat(keep, lengths)])

    def handed_out(self) -> Paths:
        """Return a read-only copy, for an executor."""
        return Paths(handed_out(self.graph), handed_out(self.start), handed_out(self.arcs))

    def smallest(self, residual: WideArray) -> WideArray:
        """Return the bottleneck of each path: the smallest residual on it."""
        if not len(self.graph):
            return np.zeros(0, np.int64)
        return np.minimum.reduceat(residual[self.arcs], self.start[:-1])

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Repeat a value of each path for each of its arcs."""
        return np.repeat(values, np.diff(self.start))


class Search(Protocol[Memory_co]):
    """Find predecessors that lead from each graph's sink back to its source."""

    def __call__(
        self, batch: Batch, residual: WideArray, weights: WeightArray, /
    ) -> Tree[Memory_co]:
        """Return the arc by which each node is reached."""
        ...


class IsDone(Protocol[Memory_contra]):
    """Say for each graph whether no augmenting path is left."""

    def __call__(
        self,
        batch: Batch,
        residual: WideArray,
        weights: WeightArray,
        tree: Tree[Memory_contra],
        /,
    ) -> BoolArray:
        """Return one bit for each graph."""
        ...


class Bottleneck(Protocol[Memory_contra]):
    """Say for each path how much it can carry."""

    def __call__(
        self, batch: Batch, residual: WideArray, paths: Paths, tree: Tree[Memory_contra], /
    ) -> WideArray:
        """Return one amount for each path."""
        ...


class Augment(Protocol[Memory_contra]):
    """Say for each arc of the paths what residual it keeps once the bottleneck has been sent."""

    def __call__(
        self,
        batch: Batch,
        residual: WideArray,
        paths: Paths,
        bottleneck: WideArray,
        tree: Tree[Memory_contra],
        /,
    ) -> WideArray:
        """Return one residual for each of `paths.arcs`."""
        ...


class Subroutines(NamedTuple, Generic[Memory]):
    """The four parts of Ford-Fulkerson that an executor supplies."""

    search: Search[Memory]
    bottleneck: Bottleneck[Memory]
    augment: Augment[Memory]
    is_done: IsDone[Memory]


class Verdict(IntEnum):
    """How a graph's run stands after a round."""

    GOES_ON = 0
    DONE = 1
    """The executor said that no augmenting path is left."""
    GAVE_UP = 2
    """Too many rounds in a row without a legal path."""
    WRONG_BOTTLENECK = 3
    WRONG_AUGMENTATION = 4

    @property
    def words(self) -> str:
        """The verdict as people read it: "gave up"."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Settings:
    """What Algorithm 2 leaves open."""

    max_failures: int = 10
    """Rounds without a legal path, one after another, that end a run: t or t_b in the paper."""
    many_paths: bool = False
    """Apply all shortest disjoint paths of the tree, not only the sink's own; not in the paper."""
    weights: Callable[[Batch, int], WeightArray] | None = None
    """The weights of a round by its batch and number, in place of random ones."""


@dataclass(frozen=True)
class Round(Generic[Memory]):
    """One search and what came of it, for all graphs that were still running."""

    number: int
    batch: Batch
    residual: WideArray
    """The residual of each arc before this round."""
    weights: WeightArray
    tree: Tree[Memory]
    paths: Paths
    """The paths that were applied."""
    bottleneck: WideArray
    """How much each of these paths carried."""
    after: WideArray
    """The residual of each arc after this round."""
    verdict: npt.NDArray[np.int8]
    """A `Verdict` for each graph of the batch."""
    tried: Paths
    """All paths that the predecessors described, illegal ones too."""
    proposed: WideArray
    """The bottleneck that the executor proposed for each of these."""


def ford_fulkerson(
    batch: Batch,
    subroutines: Subroutines[Memory],
    rngs: Sequence[np.random.Generator],
    settings: Settings | None = None,
) -> Iterator[Round[Memory]]:
    """Run every graph of the batch to its end; yield all rounds, the last one without a path too.

    Args:
        batch: starts from its capacities; graph g draws weights from `rngs[batch.graphs[g]]`.
        subroutines: the executor; all that it is given are read-only copies.
        rngs: a generator for each graph.
        settings: when to give up, and how many paths to take.
    """
    settings = settings or Settings()
    residual, own = batch.capacity, batch.handed_out()
    failures = np.zeros(batch.num_graphs, np.int64)
    number = 0
    while batch.num_graphs:
        weights = settings.weights(batch, number) if settings.weights else draw_weights(batch, rngs)
        shown, drawn = handed_out(residual), handed_out(weights)
        tree = subroutines.search(own, shown, drawn)
        is_done = subroutines.is_done(own, shown, drawn, tree)
        pointers = _pointers(batch, tree)
        entries = _entries(batch, residual, pointers, settings.many_paths)
        tried = follow(batch, pointers, entries[~is_done[batch.arc_graph[entries]]])
        if settings.many_paths:
            tried = _shortest(batch, tried)
        verdict = np.where(is_done, Verdict.DONE, Verdict.GOES_ON).astype(np.int8)

        proposed = np.array(subroutines.bottleneck(own, shown, tried.handed_out(), tree))
        truth = tried.smallest(residual)
        verdict[tried.graph[proposed != truth]] = Verdict.WRONG_BOTTLENECK
        legal = (truth > 0) & (verdict[tried.graph] == Verdict.GOES_ON)
        paths, bottleneck = tried.select(legal), truth[legal]

        amounts = handed_out(bottleneck)
        kept = subroutines.augment(own, shown, paths.handed_out(), amounts, tree)
        true_kept = residual[paths.arcs] - paths.spread(bottleneck)
        verdict[paths.spread(paths.graph)[kept != true_kept]] = Verdict.WRONG_AUGMENTATION
        applied = verdict[paths.graph] == Verdict.GOES_ON
        paths, bottleneck = paths.select(applied), bottleneck[applied]

        after = _applied(residual, paths, bottleneck)
        failures += 1
        failures[paths.graph] = 0
        gave_up = (verdict == Verdict.GOES_ON) & (failures >= settings.max_failures)
        verdict[gave_up] = Verdict.GAVE_UP
        yield Round(
            number=number,
            batch=batch,
            residual=residual,
            weights=weights,
            tree=tree,
            paths=paths,
            bottleneck=bottleneck,
            after=after,
            verdict=verdict,
            tried=tried,
            proposed=proposed,
        )

        number += 1
        running = verdict == Verdict.GOES_ON
        residual = after
        if not running.all():
            batch, arcs = batch.select(running)
            residual, failures = residual[arcs], failures[running]
            own = batch.handed_out()


def draw_weights(batch: Batch, rngs: Sequence[np.random.Generator]) -> WeightArray:
    """Draw the weight of every arc, each graph's from its own generator."""
    drawn: list[WeightArray] = [
        rngs[int(graph)].integers(1, MAX_WEIGHT + 1, size, np.uint8)
        for graph, size in zip(batch.graphs, np.diff(batch.arc_start), strict=True)
    ]
    return np.concatenate(drawn)


def _shortest(batch: Batch, paths: Paths) -> Paths:
    """Keep each graph's shortest paths: Edmonds and Karp's bound on the rounds is for these."""
    lengths = np.diff(paths.start)
    least = np.full(batch.num_graphs, np.iinfo(np.int64).max)
    np.minimum.at(least, paths.graph, lengths)
    return paths.select(lengths == least[paths.graph])


def _applied(residual: WideArray, paths: Paths, bottleneck: WideArray) -> WideArray:
    amount = paths.spread(bottleneck)
    after = residual.copy()
    after[paths.arcs] -= amount  # paths of one graph share no arc, so no index stands twice
    after[paths.arcs ^ 1] += amount
    return after


def _pointers(batch: Batch, tree: Tree[object]) -> IntArray:
    """Return the tree's arcs, −1 in place of any that does not lead to the node it is given for."""
    arcs = np.flatnonzero((tree.arc >= 0) & (tree.arc < batch.num_arcs))
    arcs = arcs[batch.receiver[tree.arc[arcs]] == arcs]
    pointers = np.full(batch.num_nodes, -1, np.int32)
    pointers[arcs] = tree.arc[arcs]
    return pointers


def _entries(batch: Batch, residual: WideArray, pointers: IntArray, many_paths: bool) -> IntArray:
    """Return the arcs into the sinks by which this round's paths arrive.

    With `many_paths`: for each child of the source one arc from its subtree to the sink, and the
    source's own. Subtrees are disjoint, so these paths share no node but source and sink. Of a
    subtree's arcs it is the executor's own choice, if that is one, or else the nearest to the
    source, the lowest among equals.
    """
    entries = pointers[batch.sink]
    entries = entries[entries >= 0]
    if not many_paths:
        return entries
    order, start = batch.by_sender
    # A sink's incoming arcs are the reverses of its outgoing ones.
    incoming = [order[start[sink] : start[sink + 1]] ^ 1 for sink in batch.sink]
    root, depth = _roots(batch, pointers)
    others = np.concatenate(incoming)
    # An executor may search on behind the sink's level: a subtree then has longer paths as well.
    others = others[np.argsort(depth[batch.sender[others]], kind="stable")]
    arcs = np.concatenate([entries, others])
    arcs = arcs[residual[arcs] > 0]
    arcs = arcs[root[batch.sender[arcs]] >= 0]
    _, first = np.unique(root[batch.sender[arcs]], return_index=True)
    return arcs[np.sort(first)]


def _roots(batch: Batch, pointers: IntArray) -> tuple[WideArray, WideArray]:
    """Return for each node the child of the source above it, and how far above it that is.

    Where the pointers lead nowhere the child is −1, and the distance means nothing.

    A source is its own root, for an arc straight to the sink; a node behind the sink has none, for
    its path would pass the sink on the way. Pointer jumping: after k rounds every node points 2^k
    steps up, so a cycle never resolves.
    """
    is_root = np.zeros(batch.num_nodes, np.bool_)
    is_root[batch.source] = True
    is_inner = ~is_root
    is_inner[batch.sink] = False
    above = np.arange(batch.num_nodes)
    reached = np.flatnonzero((pointers >= 0) & is_inner)
    above[reached] = batch.sender[pointers[reached]]
    children = reached[is_root[above[reached]]]
    above[children] = children
    is_root[children] = True
    depth = (above != np.arange(batch.num_nodes)).astype(np.int64)
    for _ in range(int(batch.num_nodes).bit_length()):
        higher = above[above]
        if np.array_equal(higher, above):
            break
        depth += depth[above]
        above = higher
    return np.where(is_root[above], above, -1), depth


def follow(batch: Batch, pointers: IntArray, entries: IntArray) -> Paths:
    """Follow the predecessors back from each entry; leave out walks that never meet the source."""
    graph = batch.arc_graph[entries]
    limit = np.diff(batch.node_start)[graph]
    walks, arcs = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    complete = np.zeros(len(entries), np.bool_)
    walk, arc, length = np.arange(len(entries)), entries, 0
    while len(walk):
        walks.append(walk)
        arcs.append(arc)
        length += 1
        node = batch.sender[arc]
        at_source = node == batch.source[graph[walk]]
        complete[walk[at_source]] = True
        arc = pointers[node]
        goes_on = ~at_source & (arc >= 0) & (length < limit[walk])
        walk, arc = walk[goes_on], arc[goes_on]
    walk_of_arc, backwards = np.concatenate(walks[::-1]), np.concatenate(arcs[::-1])
    order = np.argsort(walk_of_arc, kind="stable")
    start = np.searchsorted(walk_of_arc[order], np.arange(len(entries) + 1))
    return Paths(graph, start, backwards[order]).select(complete)


def bellman_ford(
    batch: Batch, residual: WideArray, weights: WeightArray, bits: int = 8
) -> Iterator[tuple[WideArray, IntArray]]:
    """Yield distance and arc of each node at the start, and after each step that changes some.

    The steps are those of synchronous Bellman-Ford over the arcs with residual. Distances have
    `bits` bits: infinity is all ones, and a longer distance saturates one below it, so that a
    reached node never looks unreached. Only a strictly smaller distance replaces another; of equal
    ones within a step the lower arc wins.
    """
    if not 1 <= bits <= 31:  # times the number of arcs, a distance must still fit in int64
        raise InputError(f"a distance has 1 to 31 bits, not {bits}")
    infinity = 2**bits - 1
    order, _ = batch.by_sender
    arcs = order ^ 1  # sorted by receiver
    arcs = arcs[residual[arcs] > 0]
    sender, receiver = batch.sender[arcs], batch.receiver[arcs]
    segment = np.flatnonzero(np.diff(receiver, prepend=-1))
    target = receiver[segment]
    weight = weights[arcs].astype(np.int64)

    distance = np.full(batch.num_nodes, infinity, np.int64)
    distance[batch.source] = 0
    arc = np.full(batch.num_nodes, -1, np.int32)
    yield distance, arc
    while len(target):
        far = distance[sender]
        through = np.where(far < infinity, np.minimum(far + weight, infinity - 1), infinity)
        # The smallest key of a segment holds its smallest distance and, among equals, lowest arc.
        best = np.minimum.reduceat(through * batch.num_arcs + arcs, segment)
        nearer = best // batch.num_arcs
        better = nearer < distance[target]
        if not better.any():
            return
        distance, arc = distance.copy(), arc.copy()
        distance[target[better]] = nearer[better]
        arc[target[better]] = best[better] % batch.num_arcs
        yield distance, arc


def bellman_ford_search(
    batch: Batch, residual: WideArray, weights: WeightArray, /, *, bits: int = 8
) -> Tree[None]:
    """Search as the paper does: the path of least weight. Only the last step is kept."""
    [(_, arc)] = deque(bellman_ford(batch, residual, weights, bits), maxlen=1)
    return Tree(arc)


def breadth_first_search(batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree[None]:
    """Search in order of the number of arcs; a node takes the arc of least weight that reaches it.

    The search of a graph stops at the level of its sink, so all paths of the tree to the sink are
    shortest ones, and the rounds are those of Edmonds and Karp.
    """
    order, start = batch.by_sender
    arc = np.full(batch.num_nodes, -1, np.int32)
    seen = np.zeros(batch.num_nodes, np.bool_)
    seen[batch.source] = True
    best = np.full(batch.num_nodes, np.iinfo(np.int64).max)
    frontier = batch.source
    while len(frontier):
        arcs = order[ranges(start[frontier], start[frontier + 1])]
        arcs = arcs[(residual[arcs] > 0) & ~seen[batch.receiver[arcs]]]
        receiver = batch.receiver[arcs]
        key = weights[arcs].astype(np.int64) * batch.num_arcs + arcs
        np.minimum.at(best, receiver, key)
        chosen = best[receiver] == key
        frontier = receiver[chosen].astype(np.int64)
        arc[frontier] = arcs[chosen]
        seen[frontier] = True
        if seen[batch.sink].any():
            frontier = frontier[~seen[batch.sink[batch.node_graph[frontier]]]]
    return Tree(arc)


def ranges(start: WideArray, end: WideArray) -> WideArray:
    """Return all numbers of the ranges start[k] : end[k], one range after another."""
    lengths = end - start
    offsets = np.repeat(start - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return np.arange(len(offsets)) + offsets


def reachable(batch: Batch, residual: WideArray) -> BoolArray:
    """Run synchronous breadth-first search; returns the reached bit of each (step, node)."""
    arcs = np.flatnonzero(residual > 0)
    sender, receiver = batch.sender[arcs], batch.receiver[arcs]
    reached = np.zeros(batch.num_nodes, np.bool_)
    reached[batch.source] = True
    steps = [reached]
    while True:
        reached = reached.copy()
        reached[receiver[steps[-1][sender]]] = True
        if np.array_equal(reached, steps[-1]):
            return np.stack(steps)
        steps.append(reached)


def smallest_residual(
    batch: Batch, residual: WideArray, paths: Paths, tree: Tree[object], /
) -> WideArray:
    """The bottleneck, computed."""
    return paths.smallest(residual)


def subtract(
    batch: Batch, residual: WideArray, paths: Paths, bottleneck: WideArray, tree: Tree[object], /
) -> WideArray:
    """The capacities after augmentation, computed."""
    return residual[paths.arcs] - paths.spread(bottleneck)


def sink_unreached(
    batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree[object], /
) -> BoolArray:
    """An exact search is done when it did not reach the sink."""
    return tree.arc[batch.sink] < 0


BELLMAN_FORD: Subroutines[None] = Subroutines(
    bellman_ford_search, smallest_residual, subtract, sink_unreached
)
"""The classical executor of the paper: shortest paths over random weights."""

BREADTH_FIRST: Subroutines[None] = Subroutines(
    breadth_first_search, smallest_residual, subtract, sink_unreached
)
"""The classical executor of Edmonds and Karp; the quicker one."""
