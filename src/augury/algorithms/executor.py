"""Cells become an executor: the subroutines of Ford-Fulkerson, whatever decides their cases.

Learnt, and asked of a `Decider`: which node is reached and has changed (`FLOOD`), by which link
(`NEAREST`), which number is the least (`LEAST`), and the digits of a difference (`SUBTRACT`).
Programmed, and written here: that a search goes on while some node says that it changed, for at
most |V| − 1 steps; the latch, by which a node keeps the predecessor of the step in which it is
first reached; and the order of the digits, from the top down in a comparison and from the bottom up
in a subtraction. The rounds belong to `classical.ford_fulkerson`. A table needs no PyTorch.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from augury.algorithms import ALGORITHMS, FORD_FULKERSON, Algorithm
from augury.algorithms.cells import FLOOD, LEAST, NEAREST, SUBTRACT, WEIGHT_BITS
from augury.cells.table import Decider, Said, Table, sets_of
from augury.classical.answer import Answer, How
from augury.classical.arrays import BoolArray, Numbers, WideArray
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    BREADTH_FIRST,
    Paths,
    Searches,
    Searching,
    Subroutines,
    Tree,
    WeightArray,
    Whole,
)
from augury.classical.network import Graphs
from augury.errors import InputError

if TYPE_CHECKING:
    from augury.cells.network import CellNetwork

MANY_ARCS = 2**12
"""Arcs, times the rounds so far, from which a run repays the import of numba."""

FloatArray = npt.NDArray[np.floating[Any]]


class Observer(Protocol):
    """Sees what an executor computes on a batch of one graph, and changes nothing of it."""

    def searched(
        self, values: npt.NDArray[Any], arc: Numbers, belief: FloatArray, goes_on: float, /
    ) -> None:
        """See a step of the search.

        `values` are the distances or reached bits of the nodes; `arc` is the arc to each node's
        predecessor, −1 for none; `belief` the probability that each arc is that one; `goes_on` the
        probability of one more step.
        """
        ...

    def reached(self, values: npt.NDArray[Any], goes_on: float, /) -> None:
        """See a step of a separate reachability search: the bits of the nodes, and the same."""
        ...

    def compared(self, belief: FloatArray, /) -> None:
        """See how likely each arc of the paths is the bottleneck: (path, place)."""
        ...


class Reached(NamedTuple):
    """What a search leaves for the other subroutines."""

    is_reached: BoolArray
    steps: int
    """Of the longest search in the batch."""


@dataclass(frozen=True)
class Executor(ABC):
    """A network, and which decisions of a run are its own."""

    network: Any
    device: Any = "cpu"
    asks_reachability: bool = True
    """Whether the network says when it is done; otherwise only failures end a run."""
    neural_bottleneck: bool = True
    neural_augmentation: bool = True
    engine: str = "fast"
    """How the steps are computed: "plain" as PyTorch writes them, or a quicker form that decides
    alike, where there is one for the network and the device."""
    observer: Observer | None = None
    """Sees every step; only the plain form has any to show."""
    digest: str = ""
    """Of the weights, where they come from a checkpoint and never change."""
    fastest: ClassVar[str] = "fast"
    """The quickest engine that runs any network of this kind."""

    def subroutines(self) -> Subroutines:
        """Return the four parts."""
        return Subroutines(
            search=self.search,
            bottleneck=self.bottleneck if self.neural_bottleneck else BREADTH_FIRST.bottleneck,
            augment=self.augment if self.neural_augmentation else BREADTH_FIRST.augment,
            is_done=self.is_done if self.asks_reachability else _never_done,
        )

    @property
    def executes(self) -> tuple[str, ...]:
        """The algorithms that its network has learnt."""
        return (FORD_FULKERSON.name,)

    @property
    @abstractmethod
    def form(self) -> str:
        """The engine that runs."""

    def in_form(self, engine: str) -> Executor:
        """Return the same with another engine; `form` tells whether it has that one."""
        return replace(self, engine=engine)

    def quickest(self) -> Executor:
        """Return the same with the engine `fastest`."""
        return self.in_form(self.fastest)

    @abstractmethod
    def search(self, batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree:
        """Find predecessors; see `classical.ford_fulkerson.Search`, and so on."""

    @abstractmethod
    def is_done(
        self, batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree, /
    ) -> BoolArray:
        """Say where no augmenting path is left."""

    @abstractmethod
    def bottleneck(
        self, batch: Batch, residual: WideArray, paths: Paths, tree: Tree, /
    ) -> WideArray:
        """Say how much each path can carry."""

    @abstractmethod
    def augment(
        self, batch: Batch, residual: WideArray, paths: Paths, bottleneck: WideArray, tree: Tree, /
    ) -> WideArray:
        """Say what each arc of the paths keeps."""


def stepwise(algorithm: Algorithm, graphs: Graphs, executor: Any, how: How) -> list[Answer]:
    """Run an algorithm; every decision is asked of the executor, or of a tuple of subroutines."""
    parts = executor if isinstance(executor, Subroutines) else executor.subroutines()
    return algorithm.run(graphs, parts, how)


@dataclass(frozen=True)
class CellExecutor(Executor):
    """Cells as the subroutines of Ford-Fulkerson, decided by a network or by its table alone.

    `engine` is "plain", which evaluates the network, or "lookup", which reads its table; both
    decide alike. On a CPU compiled loops do so wherever a node's case has changed. Where there is
    an observer, and on other devices, PyTorch evaluates every node in every step.
    """

    network: CellNetwork | Table
    engine: str = "plain"
    fastest = "lookup"

    def in_form(self, engine: str) -> Executor:
        """See `Executor`; the table is made once."""
        return self._looked_up if engine == "lookup" else super().in_form(engine)

    @cached_property
    def _looked_up(self) -> CellExecutor:
        return replace(self, engine="lookup")

    @property
    def form(self) -> str:
        """See `Executor`."""
        is_looked_up = self.engine == "lookup" and self.observer is None
        return "lookup" if is_looked_up or isinstance(self.network, Table) else "plain"

    @property
    def executes(self) -> tuple[str, ...]:
        """See `Executor`: all algorithms whose cells it has."""
        own = set(self.network.cells)
        return tuple(name for name, row in ALGORITHMS.items() if own >= set(row.cells))

    @cached_property
    def decider(self) -> Decider:
        """What decides the cases."""
        if isinstance(self.network, Table):
            return self.network
        from augury.cells.network import Evaluated, compiled

        return compiled(self.network) if self.form == "lookup" else Evaluated(self.network)

    def search(self, batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree[Reached]:
        """Flood each graph from its source over the arcs with residual; latch predecessors."""
        refuse_beyond_range(residual, self.network.bits)
        return self.flood(batch, residual > 0, weights)

    def flood(self, batch: Batch, is_usable: BoolArray, weights: WeightArray) -> Tree[Reached]:
        """Return the arc by which each node was reached, −1 for none, and which ones were."""
        decider = self.decider
        loops = self._loops(batch)
        if loops:
            cells = loops.cells_of(decider)
            arc, is_reached, steps = loops.flood(batch, is_usable, weights, cells)
            return Tree(arc, Reached(is_reached, steps))
        links, graph = batch.links, batch.node_graph
        usable, weight = (np.append(own, 0)[links.arc] for own in (is_usable, weights))
        usable, weight = usable.astype(np.int64), weight.astype(np.int64)
        scores = decider.scores(NEAREST)
        is_reached = np.zeros(batch.num_nodes, np.bool_)
        is_reached[batch.source] = True
        link = np.full(batch.num_nodes, -1)
        runs, limit, steps = np.ones(batch.num_graphs, np.bool_), np.diff(batch.node_start) - 1, 0
        while runs.any():
            own = is_reached.astype(np.int64)
            kind = 2 * own[links.sender] + usable
            said = decider.sets(FLOOD, own, sets_of(kind, links.start))
            now, changed = (said > 0).T
            running = runs[graph]
            score = scores[kind << WEIGHT_BITS | weight]
            new = np.flatnonzero(now & ~is_reached & running)
            link[new] = links.best(score, new)
            is_reached = np.where(running, now, is_reached)
            steps += 1
            says_changed = np.zeros(batch.num_graphs, np.bool_)
            says_changed[graph[changed]] = True
            runs &= says_changed & (steps < limit)
            if self.observer is not None:
                arc, goes_on = links.arcs(link, batch.source), probability(said[:, 1].max())
                belief = beliefs(score, links.start, links.arc)
                self.observer.searched(is_reached, arc, belief, float(goes_on))
        return Tree(links.arcs(link, batch.source), Reached(is_reached, steps))

    def subroutines(self) -> Subroutines:
        """See `Executor`; where every decision is the network's, also all of them in one."""
        parts = super().subroutines()
        all_own = self.asks_reachability and self.neural_bottleneck and self.neural_augmentation
        return parts._replace(whole=Whole(parts[:4], self._prepared)) if all_own else parts

    def _prepared(self, batch: Batch, number: int) -> Searching | None:
        loops = self._loops(batch, number)
        if loops is None:
            return None
        cells = loops.cells_of(self.decider)

        def searching(
            batch: Batch, residual: WideArray, weights: WeightArray, phases_from: int
        ) -> Searches:
            refuse_beyond_range(residual, self.network.bits)
            return loops.searches(batch, residual, weights, cells, phases_from)

        return searching

    def _loops(self, batch: Batch, number: int = 0) -> Any:
        """Return the module of compiled loops, if there is no observer and they can run here.

        None, too, if numba is missing, or would take longer to load than it saves; `number` rounds
        were run without it.
        """
        is_loaded = "numba" in sys.modules or "torch" in sys.modules
        is_small = not is_loaded and batch.num_arcs * (number + 1) < MANY_ARCS
        if self.observer is not None or is_small or str(self.device) != "cpu":
            return None
        try:
            from augury.algorithms import loops
        except ImportError:
            return None
        return loops

    def is_done(
        self, batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree[Reached], /
    ) -> BoolArray:
        """The search itself knows: done where its last step left the sink unreached."""
        return ~tree.memory.is_reached[batch.sink]

    def bottleneck(
        self, batch: Batch, residual: WideArray, paths: Paths, tree: Tree, /
    ) -> WideArray:
        """Compare the arcs of each path from the top bit down; those left have the smallest."""
        if not len(paths.graph):
            return np.zeros(0, np.int64)
        value, first = residual[paths.arcs], paths.start[:-1]
        path = paths.spread(np.arange(len(paths.graph)))
        is_candidate, likely = np.ones(len(value), np.bool_), np.ones(len(value))
        # Each path starts at its own top bit, so that no answer depends on the others.
        largest = np.maximum.reduceat(value, first)
        for place in range(int(largest.max()).bit_length() - 1, -1, -1):
            own = 2 * is_candidate + (value >> place & 1)
            said = self.decider.sets(LEAST, own, sets_of(own, paths.start)[path])[:, 0]
            has_begun = (largest >> place > 0)[path]
            is_candidate = np.where(has_begun, said > 0, is_candidate)
            if self.observer is not None:
                likely = np.where(has_begun, likely * probability(said), likely)
        if self.observer is not None:
            self.observer.compared(in_rows(likely, paths))
        place = np.where(is_candidate, np.arange(len(value)), len(value))
        chosen = np.minimum.reduceat(place, first)
        return value[np.where(chosen < len(value), chosen, first)]

    def augment(
        self, batch: Batch, residual: WideArray, paths: Paths, bottleneck: WideArray, tree: Tree, /
    ) -> WideArray:
        """Subtract the bottleneck from each arc's residual, bit by bit from the bottom up."""
        value, amount = residual[paths.arcs], paths.spread(bottleneck)
        kept, borrow = np.zeros_like(value), np.zeros_like(value)
        larger = np.maximum(value, amount)
        refuse_beyond_bits(most := int(larger.max(initial=0)), self.network.bits)
        for place in range(most.bit_length()):
            own = (value >> place & 1) << 2 | (amount >> place & 1) << 1 | borrow
            digit, borrow = (self.decider.points(SUBTRACT, own) > 0).T.astype(np.int64)
            # As above: beyond an arc's own top bit there is nothing to subtract.
            kept |= np.where(larger >> place > 0, digit, 0) << place
        return kept


def _never_done(
    batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree, /
) -> BoolArray:
    """Leave the end to `max_failures`: the threshold heuristic of the paper."""
    return np.zeros(batch.num_graphs, np.bool_)


def refuse_beyond_range(residual: WideArray, bits: int) -> None:
    """Raise an InputError if some arc may come to hold more than a network's integers can."""
    # A residual can grow to its pair's sum, which never changes: so a run is refused at once.
    if bits < 63:  # a sum fits in int64
        refuse_beyond_bits(int((residual[::2] + residual[1::2]).max(initial=0)), bits)


def refuse_beyond_bits(most: int, bits: int) -> None:
    """Raise an InputError if a number is beyond a network's integers."""
    if most.bit_length() > bits:
        raise InputError(
            f"a capacity of {most} is beyond this network's range of {bits} bits, 0..{2**bits - 1}"
        )


def probability(logit: Any) -> Any:
    """The logistic function, for an observer: a decision takes the sign and needs none."""
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(logit, np.float64)))


def beliefs(score: Said, start: Numbers, arc: Numbers) -> FloatArray:
    """(link,) scores → (arc,): softmax over the links into each node; self loops take their share.

    For an observer: a decision takes the highest score and needs no probability.
    """
    first, degree = start[:-1], np.diff(start)
    power = np.exp(score - np.repeat(np.maximum.reduceat(score, first), degree), dtype=np.float64)
    share = power / np.repeat(np.add.reduceat(power, first), degree)
    of_arcs = np.empty(len(arc) - len(first))
    of_arcs[arc[arc >= 0]] = share[arc >= 0]
    return of_arcs


def in_rows(values: npt.NDArray[Any], paths: Paths) -> npt.NDArray[Any]:
    """(arc of the paths,) → (path, place), 0 where a path is shorter."""
    rows = np.zeros((len(paths.lengths), int(paths.lengths.max())), values.dtype)
    rows[np.arange(rows.shape[1]) < paths.lengths[:, None]] = values
    return rows
