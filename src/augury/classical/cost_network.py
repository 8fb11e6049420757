"""Arcs with capacities and costs become a `CostNetwork`, in which a flow of least cost is sought.

It either goes from a source to a sink, as much as possible and at the least cost, or every node
sends out its supply, a negative supply being a demand. Arcs stay as given, be they parallel,
antiparallel or from a node to itself; each has a flow of its own, between a lower bound and its
capacity.
"""

from __future__ import annotations

from array import array as compact_list
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import (
    Label,
    Numbers,
    WideArray,
    as_capacities,
    capacity_fault,
    equal,
    frozen,
    node_numbers,
    whole_number,
)
from augury.classical.costs import Costs
from augury.classical.graph import (
    MAX_NODES,
    Arcs,
    BipartiteGraph,
    LabelIndex,
    checked_labels,
    unpaired,
)
from augury.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class CostNetwork:
    """A directed graph with integer capacities, costs, and either two ends or supplies.

    >>> CostNetwork.from_arcs(3, [0, 1, 0], [1, 2, 2], [5, 4, 1], [1, 1, 3], source=0, sink=2)
    CostNetwork(3 nodes, 3 arcs, 0 → 2)
    """

    num_nodes: int
    tail: Numbers
    head: Numbers
    capacity: WideArray
    costs: Costs
    """What a unit of flow costs on each arc."""
    source: int | None = None
    sink: int | None = None
    supply: WideArray | None = None
    """(node,): what each node sends out; negative where it is a demand."""
    lower: WideArray | None = None
    """(arc,): the least that each must carry; 0 if None."""
    labels: Sequence[Label] | None = None

    noun: ClassVar[str] = "flow"
    """What is found in it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_nodes", whole_number(self.num_nodes, "the number of nodes"))
        if not 1 <= self.num_nodes <= MAX_NODES:
            raise InputError(f"a network has 1 to {MAX_NODES} nodes, not {self.num_nodes}")
        tail = node_numbers(self.tail, self.num_nodes, "sending")
        head = node_numbers(self.head, self.num_nodes, "receiving")
        columns = {"tail": tail, "head": head, "capacity": as_capacities(self.capacity)}
        if self.lower is not None:
            columns["lower"] = as_capacities(self.lower)
        costs = Costs.of(self.costs, self.num_nodes + 2)
        if {len(column) for column in columns.values()} != {len(costs.amount)}:
            raise InputError("every arc needs a tail, a head, a capacity and a cost")
        for name, column in columns.items():
            object.__setattr__(self, name, frozen(column))
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "labels", checked_labels(self.labels, self.num_nodes, "labels"))
        self._check_bounds()
        self._check_ends()

    def _check_bounds(self) -> None:
        if self.lower is None or not (over := self.lower > self.capacity).any():
            return
        at = int(over.argmax())
        bounds = f"{self.lower[at]}, above its capacity of {self.capacity[at]}"
        raise InputError(f"the lower bound of {self.arc_words(at)} is {bounds}")

    def _check_ends(self) -> None:
        """Check that there are either two ends or supplies that add up to 0."""
        if self.supply is None:
            for end in ("source", "sink"):
                node = getattr(self, end)
                if node is None:
                    raise InputError(f"neither supplies nor a {end} are given")
                whole = whole_number(node, f"the {end}")
                if not 0 <= whole < self.num_nodes:
                    told = f"but there are {self.num_nodes} nodes"
                    raise InputError(f"the {end} is node {whole}, {told}")
                object.__setattr__(self, end, whole)
            if self.source == self.sink:
                raise InputError(f"source and sink are the same node, {self.source}")
            if self.lower is not None and self.lower.any():
                raise InputError("lower bounds need supplies, not a source and a sink")
            return
        if self.source is not None or self.sink is not None:
            raise InputError("a network has a source and a sink, or supplies, not both")
        given = np.asarray(self.supply)
        if given.shape != (self.num_nodes,):
            raise InputError(f"supplies are one number for each of the {self.num_nodes} nodes")
        supply = np.where(given < 0, -1, 1) * as_capacities(np.abs(given))
        total = sum(supply.tolist())
        if total:
            raise InputError(f"the supplies add up to {total}, not to 0")
        object.__setattr__(self, "supply", frozen(supply))

    @classmethod
    def from_arcs(  # arcs are four columns
        cls,
        num_nodes: int,
        tail: npt.ArrayLike,
        head: npt.ArrayLike,
        capacity: npt.ArrayLike,
        cost: npt.ArrayLike | Costs,
        *,
        maximise: bool = False,
        **rest: Any,
    ) -> CostNetwork:
        """Build a network from columns of any kind; `rest` holds the other fields."""
        costs = Costs.of(cost, num_nodes + 2, maximise)
        columns = {"tail": tail, "head": head, "capacity": capacity}
        return cls(num_nodes, costs=costs, **cast("Any", columns), **rest)

    @classmethod
    def from_labelled_arcs(  # noqa: PLR0913  # arcs, and what they are to carry
        cls,
        arcs: Iterable[tuple[Label, Label, int, Any]],
        *,
        source: Label = None,
        sink: Label = None,
        supply: Mapping[Label, int] | None = None,
        lower: Sequence[int] | None = None,
        labels: Sequence[Label] | None = None,
        maximise: bool = False,
    ) -> CostNetwork:
        """Build a network from (tail, head, capacity, cost); labels as in `BipartiteGraph`.

        `supply` has an entry for each node that has one.

        >>> arcs = [("s", "a", 3, 1), ("a", "t", 2, 0), ("s", "t", 1, 5)]
        >>> CostNetwork.from_labelled_arcs(arcs, source="s", sink="t")
        CostNetwork(3 nodes, 3 arcs, s → t)
        """
        index = LabelIndex(labels, "")
        ends, capacities, costs = compact_list("i"), list[Any](), list[Any]()
        for position, arc in enumerate(arcs):
            try:
                tail, head, capacity, cost = arc
                ends.extend((index[tail], index[head]))
            except (TypeError, ValueError) as error:
                expected = "(tail, head, capacity, cost)"
                raise unpaired(f"arc {position}", arc, error, expected) from None
            capacities.append(capacity)
            costs.append(cost)
        try:
            numbers = [None if end is None else index[end] for end in (source, sink)]
            own = {index[node]: amount for node, amount in (supply or {}).items()}
        except TypeError:
            raise InputError("nodes must be hashable, such as text or numbers") from None
        names = tuple(index)
        tails, heads = np.asarray(ends).reshape(-1, 2).T
        supplies = None if supply is None else [own.get(k, 0) for k in range(len(names))]
        priced = Costs.of(costs, len(names) + 2, maximise)
        least = None if lower is None else as_capacities(lower)
        return cls(
            len(names),
            *(tails, heads, as_capacities(capacities), priced),
            source=numbers[0],
            sink=numbers[1],
            supply=cast("Any", supplies),
            lower=least,
            labels=names,
        )

    @classmethod
    def from_bipartite(cls, graph: BipartiteGraph) -> CostNetwork:
        """Build the unit-capacity network whose flows are the matchings of a graph with costs."""
        arcs, costs = graph.as_arcs(), graph.costs
        if costs is None:
            raise InputError("this graph has no costs")
        amount = graph.arc_costs()[::2] * (-1 if costs.maximise else 1)
        ends = arcs.sender[::2], arcs.receiver[::2], arcs.capacity[::2]
        priced = replace(costs, amount=frozen(amount))
        return cls(arcs.num_nodes, *ends, priced, source=arcs.source, sink=arcs.sink)

    @property
    def kind(self) -> tuple[type, bool]:
        """The class, and whether there are costs: an algorithm treats graphs of one kind alike."""
        return CostNetwork, True

    @property
    def words(self) -> str:
        """What it is, and its size."""
        return f"a network of {self.num_nodes:,} nodes and {len(self.tail):,} arcs with costs"

    @property
    def num_arcs(self) -> int:
        """The number of its arcs as a flow network; see `as_arcs`."""
        return 2 * len(self._pairs) + 2 * self.num_nodes

    @cached_property
    def least(self) -> WideArray:
        """(arc,): the least that each must carry."""
        return np.zeros(len(self.tail), np.int64) if self.lower is None else self.lower

    @cached_property
    def _pairs(self) -> WideArray:
        """The arcs that lead from one node to another."""
        return np.flatnonzero(self.tail != self.head)

    @cached_property
    def start(self) -> WideArray:
        """(arc,): the flow to start from, in which arcs of negative cost are full.

        Then no arc saves anything by carrying more or less, and all prices may be 0.
        """
        return np.where(self.costs.to_minimise < 0, self.capacity, self.least)

    @cached_property
    def excess(self) -> WideArray:
        """(node,): what each node still has to send out, given the flow `start`."""
        flow = self.start
        # Halves add up without overflow; see `arrays.summed`.
        halves = [np.zeros(self.num_nodes, np.int64) for _ in range(2)]
        for half, part in zip(halves, (flow & 0xFFFFFFFF, flow >> 32), strict=True):
            np.add.at(half, self.head, part)
            np.subtract.at(half, self.tail, part)
        low, high = halves
        supply = np.zeros(self.num_nodes, np.int64) if self.supply is None else self.supply
        low = low + (supply & 0xFFFFFFFF)
        high = high + (supply >> 32) + (low >> 32)
        wrong = (high < -(2**30)) | (high >= 2**30)
        if wrong.any():
            label = self.label(int(wrong.argmax()))
            raise InputError(f"the capacities at {label!r} add up to more than 62 bits hold")
        return (high << 32) | (low & 0xFFFFFFFF)

    def as_arcs(self) -> Arcs:
        """Return the network in which the flow `start` is made legal: arcs in pairs.

        Pair k is the k-th arc that is not a loop: how much more it can carry, and how much less.
        Then comes, for each node, a pair that holds its excess: from an extra node, the source, if
        it is positive, and to the last node, the sink, if it is negative.
        """
        tail, head, pairs, excess = self.tail, self.head, self._pairs, self.excess
        nodes, more = np.arange(self.num_nodes, dtype=np.int32), self.num_nodes
        is_extra = excess > 0
        from_node = np.where(is_extra, np.int32(more), nodes)
        to_node = np.where(is_extra, nodes, np.int32(more + 1))
        ends = np.empty((len(pairs) + self.num_nodes, 2), np.int32)
        ends[:, 0] = np.concatenate([tail[pairs], from_node])
        ends[:, 1] = np.concatenate([head[pairs], to_node])
        capacity = np.zeros((len(ends), 2), np.int64)
        capacity[: len(pairs), 0] = (self.capacity - self.start)[pairs]
        capacity[: len(pairs), 1] = (self.start - self.least)[pairs]
        capacity[len(pairs) :, 0] = np.abs(excess)
        reverse = ends[:, ::-1].reshape(-1)
        return Arcs(more + 2, ends.reshape(-1), reverse, capacity.reshape(-1), more, more + 1)

    def between_ends(self, residual: WideArray) -> Arcs | None:
        """Return the second stage, given what the first one left: the same arcs, other ends.

        None where there are supplies, and so no second stage.
        """
        if self.source is None or self.sink is None:
            return None
        left = residual.copy()
        left[2 * len(self._pairs) :] = 0  # closed: the excess has gone where it belongs
        return self.as_arcs()._replace(capacity=left, source=self.source, sink=self.sink)

    def arc_costs(self) -> WideArray:
        """Return the cost of each arc of `as_arcs`, to be minimised."""
        costs = np.zeros((len(self._pairs) + self.num_nodes, 2), np.int64)
        costs[: len(self._pairs), 0] = self.costs.to_minimise[self._pairs]
        costs[: len(self._pairs), 1] = -costs[: len(self._pairs), 0]
        return costs.reshape(-1)

    def arc_bounds(self) -> WideArray:
        """Return the lower bound of each arc of `as_arcs`; 0 for reverse and additional arcs."""
        bounds = np.zeros(self.num_arcs, np.int64)
        bounds[: 2 * len(self._pairs) : 2] = self.least[self._pairs]
        return bounds

    def found(self, residual: WideArray) -> WideArray:
        """Return the flow of each arc, given the residual of the pairs of `as_arcs`."""
        flow, pairs = self.start.copy(), self._pairs
        flow[pairs] = self.least[pairs] + residual[1 : 2 * len(pairs) : 2]
        return flow

    def label(self, node: int) -> Label:
        """The user's name for a node."""
        return node if self.labels is None else self.labels[node]

    def arc_words(self, arc: int) -> str:
        """Name an arc by its ends."""
        ends = self.label(int(self.tail[arc])), self.label(int(self.head[arc]))
        return f"the arc from {ends[0]!r} to {ends[1]!r}"

    def arcs(self) -> Iterator[tuple[Label, Label, int, Any]]:
        """Yield (tail, head, capacity, cost) with the user's labels."""
        columns = (own.tolist() for own in (self.tail, self.head, self.capacity))
        worth = map(self.costs.worth, self.costs.amount.tolist())
        for tail, head, capacity, cost in zip(*columns, worth, strict=True):
            yield self.label(tail), self.label(head), capacity, cost

    def labelled(self, found: WideArray) -> list[tuple[Label, Label, int]]:
        """Return (tail, head, amount) with the user's labels for each arc that carries flow."""
        arcs = np.flatnonzero(found)
        columns = (own[arcs].tolist() for own in (self.tail, self.head, found))
        return [
            (self.label(u), self.label(v), amount) for u, v, amount in zip(*columns, strict=True)
        ]

    def amounts_from(self, flow: Iterable[tuple[Label, Label, int]]) -> WideArray:
        """Return what each arc carries, given (tail, head, amount) with the user's labels.

        The amount for parallel arcs is shared out among them, the best first.

        Raises:
            InputError: an unknown label or arc, or more than the arcs can carry.
        """
        index = LabelIndex(self.labels or range(self.num_nodes), "")
        amounts: dict[tuple[int, int], int] = {}
        for position, entry in enumerate(flow):
            try:
                tail, head, amount = entry
                ends = index[tail], index[head]
            except (TypeError, ValueError) as error:
                raise unpaired(f"entry {position}", entry, error, "(tail, head, amount)") from None
            fault = capacity_fault(amount)
            if fault:
                raise InputError(f"the flow from {tail!r} to {head!r} {fault}")
            amounts[ends] = amounts.get(ends, 0) + int(amount)
        return self._shared_out(amounts)

    def _shared_out(self, amounts: dict[tuple[int, int], int]) -> WideArray:
        parallel: dict[tuple[int, int], list[int]] = {}
        best = np.argsort(self.costs.to_minimise, kind="stable").tolist()
        for arc in best:
            parallel.setdefault((int(self.tail[arc]), int(self.head[arc])), []).append(arc)
        carried = self.least.copy()
        for arcs in parallel.values():
            ends = int(self.tail[arcs[0]]), int(self.head[arcs[0]])
            left = amounts.pop(ends, 0) - sum(int(carried[arc]) for arc in arcs)
            for arc in arcs:
                more = max(0, min(left, int(self.capacity[arc] - carried[arc])))
                carried[arc] += more
                left -= more
            if left:
                side = "more than they can carry" if left > 0 else "less than they must carry"
                raise InputError(f"{self.arc_words(arcs[0])} carries {abs(left)} {side}")
        if amounts:
            tail, head = map(self.label, next(iter(amounts)))
            raise InputError(f"there is no arc from {tail!r} to {head!r}")
        return carried

    def __eq__(self, other: object) -> bool:
        return equal(self, other) if isinstance(other, CostNetwork) else NotImplemented

    def __repr__(self) -> str:
        size = f"{self.num_nodes:,} nodes, {len(self.tail):,} arcs"
        if self.source is None or self.sink is None:
            return f"CostNetwork({size}, supplies)"
        return f"CostNetwork({size}, {self.label(self.source)} → {self.label(self.sink)})"
