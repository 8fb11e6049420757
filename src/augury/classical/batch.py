"""Flow networks side by side become one `Batch`: a disjoint union, each with its own two ends.

Executors work on batches, and a single flow network is a batch of one. Nodes and arcs of graph g
are `node_start[g] : node_start[g + 1]` and `arc_start[g] : arc_start[g + 1]`; every graph has an
even number of arcs, so `arc ^ 1` is still the reverse of `arc`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, IntArray, WideArray, frozen
from augury.classical.graph import Arcs
from augury.classical.network import FlowNetwork

Integer = TypeVar("Integer", np.int32, np.int64)
Scalar = TypeVar("Scalar", bound=np.generic)


class Links(NamedTuple):
    """The arcs of a batch and a self loop for each node, sorted by receiver.

    The links into node v are `start[v] : start[v + 1]`: its arcs in ascending order, then the self
    loop.
    """

    sender: WideArray
    receiver: WideArray
    start: WideArray
    arc: WideArray
    """(link,): −1 for a self loop."""

    def best(self, score: npt.NDArray[Any], nodes: WideArray) -> WideArray:
        """Return the link with the highest score into each of these nodes; ties go to the first."""
        links = ranges(self.start[nodes], self.start[nodes + 1])
        if not len(links):
            return links
        lengths = self.start[nodes + 1] - self.start[nodes]
        first = np.cumsum(lengths) - lengths
        own = score[links]
        best = np.flatnonzero(own == np.repeat(np.maximum.reduceat(own, first), lengths))
        return links[best[np.searchsorted(best, first)]]

    def arcs(self, link: WideArray, source: WideArray) -> IntArray:
        """(node,) links, −1 for none → arcs, −1 also for a self loop and for the sources."""
        arc = np.where(link >= 0, self.arc[link], -1).astype(np.int32)
        arc[source] = -1
        return arc


MAX_ARCS = 1_500_000
"""Arcs best run side by side; split anything larger into several batches, to bound memory."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The disjoint union of flow networks.

    `graphs[g]` is the position of graph g in the list that the batch was first made from; it stays
    the same when finished graphs are dropped.
    """

    graphs: WideArray
    node_start: WideArray
    arc_start: WideArray
    sender: IntArray
    receiver: IntArray
    capacity: WideArray
    source: WideArray
    sink: WideArray
    order: IntArray
    """(arc,): the arcs sorted by sender."""
    order_start: WideArray
    """(node + 1,): where each node's arcs start in `order`."""

    @classmethod
    def of(cls, networks: Sequence[FlowNetwork | Arcs]) -> Batch:
        """Lay flow networks side by side."""
        node_start = starts([network.num_nodes for network in networks])
        arc_start = starts([len(network.sender) for network in networks])
        if len(networks) == 1:  # one large graph is not copied
            only = networks[0]
            sender, receiver, capacity = only.sender, only.receiver, only.capacity
        else:
            shift = np.repeat(node_start[:-1], np.diff(arc_start)).astype(np.int32)
            sender = _joined([network.sender for network in networks], np.int32) + shift
            receiver = _joined([network.receiver for network in networks], np.int32) + shift
            capacity = _joined([network.capacity for network in networks], np.int64)
        source = np.array([network.source for network in networks], np.int64) + node_start[:-1]
        sink = np.array([network.sink for network in networks], np.int64) + node_start[:-1]
        arcs = sender, receiver, capacity
        parts = np.arange(len(networks)), node_start, arc_start
        return cls(*parts, *arcs, source, sink, *in_order(sender, int(node_start[-1])))

    def parts(self) -> Iterator[Arcs]:
        """Yield the networks, each with its own numbers."""
        ends = zip(
            pairwise(self.node_start.tolist()), pairwise(self.arc_start.tolist()), strict=True
        )
        for graph, ((first, last), (start, end)) in enumerate(ends):
            sender, receiver = self.sender[start:end] - first, self.receiver[start:end] - first
            tips = int(self.source[graph]) - first, int(self.sink[graph]) - first
            yield Arcs(last - first, sender, receiver, self.capacity[start:end], *tips)

    def select(self, keep: BoolArray) -> tuple[Batch, BoolArray]:
        """Keep some graphs; also return which arcs stay."""
        arcs = np.repeat(keep, np.diff(self.arc_start))
        return self.select_arcs(keep, arcs), arcs

    def select_arcs(self, keep: BoolArray, arcs: BoolArray) -> Batch:
        """Keep some graphs, and of these some pairs of arcs."""
        num_nodes = np.diff(self.node_start)[keep]
        before = starts(arcs.astype(np.int64))[self.arc_start]
        num_arcs = np.diff(before)[keep]
        node_start, arc_start = starts(num_nodes), starts(num_arcs)
        moved = node_start[:-1] - self.node_start[:-1][keep]
        shift = np.repeat(moved, num_arcs).astype(np.int32)
        sender = self.sender[arcs] + shift
        number = np.cumsum(arcs, dtype=np.int32) - 1  # what was sorted stays so
        order = number[self.order[arcs[self.order]]]
        order_start = starts(np.bincount(sender, minlength=int(node_start[-1])))
        kept = sender, self.receiver[arcs] + shift, self.capacity[arcs]
        ends = self.source[keep] + moved, self.sink[keep] + moved
        parts = self.graphs[keep], node_start, arc_start
        return Batch(*parts, *kept, *ends, order, order_start)

    def handed_out(self) -> Batch:
        """Return a read-only copy for an executor.

        A copy, because PyTorch writes into read-only arrays: `torch.from_numpy` only warns.
        """
        return Batch(*(handed_out(getattr(self, field.name)) for field in fields(self)))

    @property
    def num_graphs(self) -> int:
        """The number of graphs."""
        return len(self.graphs)

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all graphs together."""
        return int(self.node_start[-1])

    @property
    def num_arcs(self) -> int:
        """The number of arcs of all graphs together, reverse arcs included."""
        return len(self.sender)

    @cached_property
    def node_graph(self) -> WideArray:
        """The graph of each node."""
        return np.repeat(np.arange(self.num_graphs), np.diff(self.node_start))

    @property
    def by_sender(self) -> tuple[IntArray, WideArray]:
        """`order` and `order_start`; the reverses, `order ^ 1`, are sorted by receiver likewise."""
        return self.order, self.order_start

    @cached_property
    def links(self) -> Links:
        """The arcs and self loops, sorted by receiver."""
        nodes = np.arange(self.num_nodes)
        order, first = self.by_sender
        start = first + np.arange(self.num_nodes + 1)
        receiver = np.repeat(nodes, np.diff(start))
        arc = np.full(len(receiver), -1)
        # The reverses of arcs sorted by sender are sorted by receiver, and no arc leads from a node
        # to itself, so the arcs into a node stay in ascending order.
        arc[np.arange(self.num_arcs) + np.repeat(nodes, np.diff(first))] = order ^ 1
        sender = np.where(arc >= 0, self.sender[arc] if self.num_arcs else 0, receiver)
        return Links(sender, receiver, start, arc)


def handed_out(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return a read-only copy of an array."""
    return frozen(array.copy())


MANY = 2**13
"""From this many numbers on, SciPy's counting sort is faster than NumPy's sort."""


def in_order(keys: IntArray, end: int) -> tuple[IntArray, WideArray]:
    """Return the stable order that sorts keys below `end`, and where each key starts.

    >>> in_order(np.array([2, 0, 2, 0], np.int32), 3)
    (array([1, 3, 0, 2], dtype=int32), array([0, 2, 2, 4]))
    """
    if len(keys) < MANY:
        order = np.argsort(keys, kind="stable").astype(np.int32)
        return order, starts(np.bincount(keys, minlength=end))
    import scipy.sparse

    # A matrix with an entry in row keys[k], column k: by rows, its columns are the order.
    places = keys, np.arange(len(keys), dtype=np.int32)
    entries = scipy.sparse.coo_array((np.ones(len(keys), np.bool_), places), (end, len(keys)))
    entries.has_canonical_format = True  # no place occurs twice
    rows: Any = entries.tocsr()
    return rows.indices, rows.indptr.astype(np.int64)


def starts(counts: Sequence[int] | WideArray) -> WideArray:
    """Return where each of consecutive ranges starts, given their lengths, and the end of all."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


def sums(values: npt.NDArray[Any], start: WideArray) -> WideArray:
    """Add up consecutive ranges, given where each starts and the last ends; no sum may overflow.

    >>> sums(np.array([True, True, False, True]), np.array([0, 1, 1, 4]))
    array([1, 0, 2])
    """
    return np.diff(starts(values)[start])


def _joined(arrays: Sequence[npt.NDArray[Integer]], dtype: type[Integer]) -> npt.NDArray[Integer]:
    return np.concatenate([np.zeros(0, dtype), *arrays])


def ranges(start: WideArray, end: WideArray) -> WideArray:
    """Return the numbers of the ranges start[k] : end[k], concatenated."""
    lengths = end - start
    offsets = np.repeat(start - (np.cumsum(lengths) - lengths), lengths)
    return np.arange(len(offsets)) + offsets
