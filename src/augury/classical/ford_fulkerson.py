"""A batch of flow networks becomes rounds of Ford-Fulkerson, with any executor.

Algorithm 1 of the paper and, with its judge, Algorithm 2. Each round an executor searches, says
whether it is done, and proposes the bottleneck and the new residuals of the path that its
predecessors describe. The judge compares every proposal with the truth, which no executor sees: a
path with a saturated arc is never applied, and a wrong bottleneck or residual ends that graph's
run. So, whatever an executor says,

    0 <= residual    and    residual[arc] + residual[arc ^ 1] == capacity[arc] + capacity[arc ^ 1],

and the residual is always that of a legal flow. Executors get read-only copies of everything. Every
graph of a batch is run as if it were alone: its weights come from its own generator.

Rounds and judge are written here once, for every executor. The loop itself is also written out by
hand elsewhere, and tests tie those copies to this one:

- For speed, in the engines that run a proven network: on the CPU in `words.py`, `phases.py` and
  `flows.py`, on a GPU in `table.cu` and `network.cu`. What is equal, and which tests compare it,
  is in docs/architecture.md, "Engines".
- For independence, as the Dinic in `classical.certificate`, which must share nothing with what it
  checks. `tests/classical/test_certificate.py` compares its maxima with
  SciPy's and NetworkX's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, IntArray, WideArray
from augury.classical.batch import Batch, handed_out, ranges, starts
from augury.errors import InputError

MAX_WEIGHT = 15
"""Weights are drawn from 1..15, as in the authors' published code."""

WeightArray = npt.NDArray[np.uint8]

Memory = TypeVar("Memory")
Memory_co = TypeVar("Memory_co", covariant=True)


class Tree(NamedTuple, Generic[Memory_co]):
    """What a search leaves behind: the arc by which each node was reached, −1 for none."""

    arc: IntArray
    memory: Memory_co = cast("Any", None)
    """What the executor keeps from the search for its other subroutines, if anything."""


@dataclass(frozen=True)
class Paths:
    """Walks from source to sink, at most one through each inner node.

    Path k, in graph `graph[k]`, is `arcs[start[k] : start[k + 1]]`, starting at the source.
    """

    graph: WideArray
    start: WideArray
    arcs: IntArray

    @property
    def lengths(self) -> WideArray:
        """The number of arcs of each path."""
        return self.start[1:] - self.start[:-1]

    def select(self, keep: BoolArray) -> Paths:
        """Return the paths to keep."""
        arcs = self.arcs[self.spread(keep)]
        return Paths(self.graph[keep], starts(self.lengths[keep]), arcs)

    def handed_out(self) -> Paths:
        """Return a read-only copy for an executor."""
        return Paths(handed_out(self.graph), handed_out(self.start), handed_out(self.arcs))

    def smallest(self, residual: WideArray) -> WideArray:
        """Return the bottleneck of each path: the smallest residual on it."""
        if not len(self.graph):
            return np.zeros(0, np.int64)
        return np.minimum.reduceat(residual[self.arcs], self.start[:-1])

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Repeat each path's value once for each of its arcs."""
        return values.repeat(self.lengths)


# Each takes the batch and its residuals; what an executor keeps between them is in the tree.

Search = Callable[[Batch, WideArray, WeightArray], Tree[Memory]]
"""(batch, residual, weights) → predecessors that lead from each graph's sink back to its source."""

IsDone = Callable[[Batch, WideArray, WeightArray, Tree[Memory]], BoolArray]
"""(batch, residual, weights, tree) → for each graph, whether it has no augmenting path left."""

Bottleneck = Callable[[Batch, WideArray, Paths, Tree[Memory]], WideArray]
"""(batch, residual, paths, tree) → how much each path can carry."""

Augment = Callable[[Batch, WideArray, Paths, WideArray, Tree[Memory]], WideArray]
"""(batch, residual, paths, bottleneck, tree) → the residual that each of `paths.arcs` keeps."""


class Searches(NamedTuple):
    """What an executor did: a phase of a large graph, one or more rounds of a small one.

    A phase is a search on all arcs, and further ones on the level graph of its tree; a round is a
    search on all arcs alone.
    """

    tree: Tree[Any]
    """Of each graph's last search on all arcs."""
    is_done: BoolArray
    """(graph,): whether that search found no augmenting path."""
    rounds: WideArray
    """(graph,): how many searches on all arcs there were."""
    paths: Paths
    """All paths; those of one graph in the order in which they were taken."""
    number: WideArray
    """(path,): of the search that found it, from 0 in each graph."""
    proposed: WideArray
    """(path,): its bottleneck."""
    kept: WideArray
    """(arc of the paths,): what it keeps."""


Searching = Callable[[Batch, WideArray, WeightArray, int], Searches]
"""(batch, residual, weights, phases_from) → a phase, or rounds of a graph with fewer arcs.

There is a row of weights for each round that may be made.
"""


class Whole(NamedTuple):
    """All parts in one, which decides as `phases.searched` does with them, only faster."""

    parts: tuple[Any, ...]
    """The four parts whose work it does."""
    prepare: Callable[[Batch, int], Searching | None]
    """Takes the batch and the rounds so far; returns it, or None where that does not pay."""


class Subroutines(NamedTuple, Generic[Memory]):
    """The four parts of Ford-Fulkerson that an executor supplies."""

    search: Search[Memory]
    bottleneck: Bottleneck[Memory]
    augment: Augment[Memory]
    is_done: IsDone[Memory]
    whole: Whole | None = None

    def prepared(self, batch: Batch, number: int) -> Searching | None:
        """Return all parts in one, if that pays and none of them has been replaced since."""
        is_own = self.whole is not None and self.whole.parts == self[:4]
        return self.whole.prepare(batch, number) if self.whole and is_own else None


class Verdict(IntEnum):
    """The state of a graph's run after a round."""

    GOES_ON = 0
    DONE = 1
    """The executor said that no augmenting path is left."""
    GAVE_UP = 2
    """Too many rounds in a row without a legal path."""
    WRONG_BOTTLENECK = 3
    WRONG_AUGMENTATION = 4
    WRONG_SEARCH = 5
    """A node was missed where the prices depend on it."""

    @property
    def words(self) -> str:
        """The verdict in words, such as "gave up"."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Settings:
    """What Algorithm 2 leaves open."""

    max_failures: int = 10
    """Consecutive rounds without a legal path that end a run: t or t_b in the paper."""
    many_paths: bool = False
    """Apply all shortest disjoint paths of the tree, not only the sink's own; not in the paper."""
    weights: Callable[[Batch, int], WeightArray] | None = None
    """Returns a round's weights, given its batch and number; random ones if None."""
    phases_from: int | None = None
    """From this many arcs on, a graph is run in phases, which are not in the paper either; see
    `classical.phases`. None: always round by round.
    """


MANY_ARCS = 2**12
"""From this many arcs on, further searches pay. Smaller runs are often told step by step, in
rounds, and the story has to be that of the run.
"""

PHASES = Settings(many_paths=True, phases_from=MANY_ARCS)
"""How we find an answer, as opposed to how the paper does."""


@dataclass(frozen=True)
class Round(Generic[Memory]):
    """One search and the augmentation that follows, for all graphs still running."""

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
    """All paths that the predecessors described, including illegal ones."""
    proposed: WideArray
    """The bottleneck that the executor proposed for each of them."""
    search: WideArray | None = None
    """(path,): which of several searches found each applied path; None for a single one."""

    @property
    def led(self) -> WideArray:
        """(graph,): how many searches led to a path."""
        graph = self.paths.graph
        if self.search is not None:
            most = int(self.search.max(initial=0)) + 1
            return np.bincount(
                np.unique(graph * most + self.search) // most, minlength=self.batch.num_graphs
            )
        return np.bincount(np.unique(graph), minlength=self.batch.num_graphs)


def ford_fulkerson(
    batch: Batch,
    subroutines: Subroutines[Memory],
    rngs: Sequence[np.random.Generator],
    settings: Settings | None = None,
) -> Iterator[Round[Memory]]:
    """Run every graph of a batch to its end; yield all rounds, including a last one without a path.

    The run starts from the batch's capacities; graph g draws weights from `rngs[batch.graphs[g]]`.
    The executor is given only read-only copies.
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
        pointers = pointers_of(batch, tree)
        tried = paths_of(batch, residual, pointers, ~is_done, settings.many_paths)
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
        searched = number, batch, residual, weights, tree
        yield Round(*searched, paths, bottleneck, after, verdict, tried, proposed)

        number += 1
        running = verdict == Verdict.GOES_ON
        residual = after
        if not running.any():
            return
        if not running.all():
            batch, arcs = batch.select(running)
            residual, failures = residual[arcs], failures[running]
            own = batch.handed_out()


def draw_weights(batch: Batch, rngs: Sequence[np.random.Generator]) -> WeightArray:
    """Draw a weight for every arc, each graph from its own generator."""
    sizes: list[int] = np.diff(batch.arc_start).tolist()
    graphs: list[int] = batch.graphs.tolist()
    pairs = zip(graphs, sizes, strict=True)
    return np.concatenate([draw(rngs[graph], size) for graph, size in pairs])


def draw(rng: np.random.Generator, size: int) -> WeightArray:
    """Draw the weights of a graph."""
    return rng.integers(1, MAX_WEIGHT + 1, size, np.uint8)


def paths_of(
    batch: Batch, residual: WideArray, pointers: IntArray, wanted: BoolArray, many_paths: bool
) -> Paths:
    """Return the paths that the predecessors describe in the wanted graphs."""
    entries = _entries(batch, residual, pointers, many_paths)
    entries = entries[wanted[batch.node_graph[batch.sender[entries]]]]
    paths = follow(batch, pointers, entries)
    return _shortest(batch, paths) if many_paths else paths


def _shortest(batch: Batch, paths: Paths) -> Paths:
    """Keep each graph's shortest paths: Edmonds and Karp's bound on the rounds needs them."""
    least = np.full(batch.num_graphs, np.iinfo(np.int64).max)
    np.minimum.at(least, paths.graph, paths.lengths)
    return paths.select(paths.lengths == least[paths.graph])


def _applied(residual: WideArray, paths: Paths, bottleneck: WideArray) -> WideArray:
    amount = paths.spread(bottleneck)
    after = residual.copy()
    after[paths.arcs] -= amount  # paths of one graph share no arc, so no index repeats
    after[paths.arcs ^ 1] += amount
    return after


def pointers_of(batch: Batch, tree: Tree[object]) -> IntArray:
    """Return the tree's arcs, with −1 for any that does not lead to its own node."""
    arcs = np.flatnonzero((tree.arc >= 0) & (tree.arc < batch.num_arcs))
    arcs = arcs[batch.receiver[tree.arc[arcs]] == arcs]
    pointers = np.full(batch.num_nodes, -1, np.int32)
    pointers[arcs] = tree.arc[arcs]
    return pointers


def _entries(batch: Batch, residual: WideArray, pointers: IntArray, many_paths: bool) -> IntArray:
    """Return the arcs into the sinks by which this round's paths arrive.

    With `many_paths`: for each child of the source one arc from its subtree to the sink, and the
    source's own. Subtrees are disjoint, so these paths share no node but source and sink. From each
    subtree it is the executor's own choice, if that lies there, or else the arc nearest to the
    source, with ties going to the lowest.
    """
    entries = pointers[batch.sink]
    entries = entries[entries >= 0]
    if not many_paths:
        return entries
    order, start = batch.by_sender
    # A sink's incoming arcs are the reverses of its outgoing ones.
    incoming = [order[start[sink] : start[sink + 1]] ^ 1 for sink in batch.sink]
    root, depth = roots_of(batch, pointers)
    others = np.concatenate(incoming)
    # An executor may search beyond the sink's level: a subtree then has longer paths as well.
    others = others[np.argsort(depth[batch.sender[others]], kind="stable")]
    arcs = np.concatenate([entries, others])
    arcs = arcs[residual[arcs] > 0]
    arcs = arcs[root[batch.sender[arcs]] >= 0]
    _, first = np.unique(root[batch.sender[arcs]], return_index=True)
    return arcs[np.sort(first)]


def roots_of(batch: Batch, pointers: IntArray) -> tuple[WideArray, WideArray]:
    """Return for each node the child of the source above it, and how far above it that is.

    Where the pointers lead nowhere the child is −1 and the distance is meaningless.

    A source is its own root, for an arc straight to the sink; a node behind the sink has none,
    since its path would pass through the sink. Pointer jumping: after k rounds every node points
    2^k steps up, so a cycle never resolves.
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
    """Follow the predecessors back from each entry; drop walks that never meet the source."""
    graph = batch.node_graph[batch.sender[entries]]
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
    """Yield each node's distance and arc at the start, and after each step that changes any.

    The steps are those of synchronous Bellman-Ford over the arcs with residual. Distances have
    `bits` bits: infinity is all ones, and a longer distance saturates one below it, so that a
    reached node never looks unreached. Only a strictly smaller distance replaces another; within a
    step, ties go to the lower arc.
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
        # A segment's smallest key holds its smallest distance and, among ties, the lowest arc.
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
    """Search for the path of least weight, as the paper does; only the last step is kept."""
    [(_, arc)] = deque(bellman_ford(batch, residual, weights, bits), maxlen=1)
    return Tree(arc)


def breadth_first_search(
    batch: Batch, residual: WideArray, weights: WeightArray, /, *, stops_at_sink: bool = True
) -> Tree[None]:
    """Search breadth-first; a node takes the arc of least weight that reaches it.

    A graph's search stops at the level of its sink, so all paths of the tree to the sink are
    shortest, and the rounds are those of Edmonds and Karp.
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
        if stops_at_sink and seen[batch.sink].any():
            frontier = frontier[~seen[batch.sink[batch.node_graph[frontier]]]]
    return Tree(arc)


def reachable(batch: Batch, residual: WideArray) -> BoolArray:
    """Run synchronous breadth-first search; return the reached bit of each (step, node)."""
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
    """Compute the bottleneck."""
    return paths.smallest(residual)


def subtract(
    batch: Batch, residual: WideArray, paths: Paths, bottleneck: WideArray, tree: Tree[object], /
) -> WideArray:
    """Compute the residuals after augmentation."""
    return residual[paths.arcs] - paths.spread(bottleneck)


def sink_unreached(
    batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree[object], /
) -> BoolArray:
    """Be done when the search, which is exact, did not reach the sink."""
    return tree.arc[batch.sink] < 0


BELLMAN_FORD = Subroutines(bellman_ford_search, smallest_residual, subtract, sink_unreached)
"""The classical executor of the paper: shortest paths over random weights."""

BREADTH_FIRST = Subroutines(breadth_first_search, smallest_residual, subtract, sink_unreached)
"""The classical executor of Edmonds and Karp; faster."""


CLASSICAL = {"classical": BREADTH_FIRST, "bellman-ford": BELLMAN_FORD}
"""Executors without a network: breadth-first search, and the paper's search by random weights."""
