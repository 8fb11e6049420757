"""The edges of many graphs in long lists become a batch, without an object for each graph.

Graph g has the edges `start[g] : start[g + 1]` of each list, in any order. A graph whose numbers
are unclear stays in the batch without edges, and is reported: it has to be read by itself, so that
an error is that of the single graph.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import MAX_CAPACITY, BoolArray, WideArray, read_only
from augury.classical.batch import Batch, in_order, starts, sums
from augury.classical.bipartite_batch import BipartiteBatch

FREE_NODES = 2**8
"""Nodes that a graph may have here, besides 16 for each edge: large numbers take no memory."""


class Lists(NamedTuple):
    """A list of numbers for each graph."""

    start: WideArray
    """(graph + 1,)"""
    values: npt.NDArray[Any]

    @property
    def counts(self) -> WideArray:
        """(graph,): the length of each list."""
        return np.diff(self.start)

    def without(self, is_unclear: BoolArray) -> Lists:
        """Leave the lists of some graphs empty."""
        if not is_unclear.any():
            return self
        counts = self.counts
        return Lists(
            starts(np.where(is_unclear, 0, counts)), self.values[np.repeat(~is_unclear, counts)]
        )


def as_matchings(
    left: Lists, right: Lists, num_left: WideArray, num_right: WideArray
) -> tuple[BipartiteBatch, BoolArray]:
    """Lay bipartite graphs side by side; also tell which are unclear.

    `num_left` and `num_right` count the nodes; −1, if not given, stands for the largest number + 1.

    >>> start, nobody = np.array([0, 3, 4]), np.array([-1, -1])
    >>> ends = (Lists(start, np.array(own)) for own in ([1, 0, 1, 0], [1, 0, 1, -7]))
    >>> batch, is_unclear = as_matchings(*ends, nobody, nobody)
    >>> [list(graph.pairs()) for graph in batch], is_unclear.tolist()
    ([[(0, 0), (1, 1)], []], [False, True])
    """
    from augury.classical.loops import lay_edges

    start, ends, counts, state, is_bad = surveyed(left, right, num_left, num_right)
    sides = starts(counts[0]), starts(counts[1])
    nodes = max(int(count.max(initial=0)) for count in counts) + 1
    most = int(np.diff(start)[state != 0].max(initial=0))  # a sorted graph needs no room
    room = np.empty(nodes, np.int64), np.empty(2 * most, np.int64), np.empty(2 * most, np.int64)
    rows = np.empty(int(sides[0][-1]) + 1, np.int64), np.empty(len(ends[0]), np.int32)
    end = lay_edges(start, ends, sides, state, room, rows)
    return BipartiteBatch(*sides, rows[0], rows[1][:end]), is_bad


class Edges(NamedTuple):
    """The edges of bipartite graphs, as compiled loops take them."""

    start: WideArray
    ends: tuple[npt.NDArray[Any], npt.NDArray[Any]]
    counts: tuple[WideArray, WideArray]
    """(graph,) each: the left and right nodes; none where a graph is bad."""
    state: npt.NDArray[np.uint8]
    is_bad: BoolArray
    """(graph,): whether its lists differ in length, or its numbers are unclear."""


def surveyed(left: Lists, right: Lists, num_left: WideArray, num_right: WideArray) -> Edges:
    """Count the nodes of graphs of any size, and tell which are bad; see `as_matchings`."""
    from augury.classical.loops import BAD, survey_edges

    differ = left.counts != right.counts
    left, right = left.without(differ), right.without(differ)
    ends, start = _ends(left, right), read_only(left.start, np.int64)
    counts = num_left.astype(np.int64), num_right.astype(np.int64)
    state = np.empty(len(start) - 1, np.uint8)
    survey_edges(start, ends, counts, FREE_NODES, state)
    state[differ] = BAD
    is_bad = state == BAD
    for count in counts:
        count[is_bad] = 0
    return Edges(start, ends, counts, state, is_bad)


class Small(NamedTuple):
    """Graphs of at most 64 nodes a side; others are included without nodes."""

    start: WideArray
    ends: tuple[npt.NDArray[Any], npt.NDArray[Any]]
    counts: tuple[WideArray, WideArray]
    is_small: BoolArray


def as_small(left: Lists, right: Lists, num_left: WideArray, num_right: WideArray) -> Small:
    """Find the small graphs; all others are left to `as_matchings`."""
    from augury.classical.loops import survey_small

    is_unclear = left.counts != right.counts
    left, right = left.without(is_unclear), right.without(is_unclear)
    ends, start = _ends(left, right), read_only(left.start, np.int64)
    counts = num_left.astype(np.int64), num_right.astype(np.int64)
    is_small = np.empty(len(start) - 1, np.bool_)
    survey_small(start, ends, counts, is_small)
    for count in counts:
        count[is_unclear] = 0
    return Small(start, ends, counts, is_small & ~is_unclear)


def _ends(left: Lists, right: Lists) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the values as compiled loops take them."""
    kinds = {left.values.dtype, right.values.dtype}
    kind = np.int32 if kinds == {np.dtype(np.int32)} else np.int64
    return read_only(left.values, kind), read_only(right.values, kind)


class Arcs(NamedTuple):
    """The columns of many flow networks."""

    tail: Lists
    head: Lists
    capacity: Lists
    source: WideArray
    sink: WideArray
    num_nodes: WideArray
    """(graph,): −1, if not given, stands for the largest number + 1."""


def as_flows(arcs: Arcs) -> tuple[Batch, BoolArray]:
    """Lay flow networks side by side, arcs merged as `FlowNetwork.from_arcs` does.

    Also tell which are unclear: those become networks of two nodes without arcs.
    """
    lists, ends = arcs[:3], (arcs.source, arcs.sink)
    counts = lists[0].counts
    is_unclear = (counts != lists[1].counts) | (counts != lists[2].counts)
    lists = [own.without(is_unclear) for own in lists]
    graph = np.repeat(np.arange(len(is_unclear)), lists[0].counts)
    tail, head, capacity = (own.values.astype(np.int64) for own in lists)
    largest = np.maximum(arcs.source, arcs.sink)
    for own in (tail, head):
        np.maximum.at(largest, graph, own)
    num_nodes = np.where(arcs.num_nodes < 0, largest + 1, arcs.num_nodes)
    is_unclear |= (largest >= num_nodes) | (arcs.source == arcs.sink)
    is_unclear |= (np.minimum(*ends) < 0) | (num_nodes > FREE_NODES + 16 * counts)
    is_unclear |= sums((tail < 0) | (head < 0) | (capacity < 0), lists[0].start) > 0
    # The capacities of merged arcs must fit together; bounded from above.
    total = np.zeros(len(is_unclear))
    np.add.at(total, graph, capacity.astype(np.float64))
    is_unclear |= total >= float(MAX_CAPACITY)
    kept = (tail != head) & ~is_unclear[graph]
    graph, tail, head, capacity = (own[kept] for own in (graph, tail, head, capacity))
    return _paired(
        is_unclear, np.where(is_unclear, 2, num_nodes), graph, (tail, head, capacity), ends
    )


def _paired(
    is_unclear: BoolArray, num_nodes: WideArray, graph: WideArray, arcs: Any, ends: Any
) -> tuple[Batch, BoolArray]:
    """Merge arcs into pairs: see `network.FlowNetwork`."""
    tail, head, capacity = arcs
    node_start = starts(num_nodes)
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    order = np.lexsort((high, low, graph))
    graph, low, high = graph[order], low[order], high[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (np.diff(graph) != 0) | (np.diff(low) != 0) | (np.diff(high) != 0)
    pair = np.cumsum(is_new) - 1
    amount = np.zeros((int(is_new.sum()), 2), np.int64)  # from the smaller node, from the larger
    np.add.at(amount, (pair, (tail > head)[order].astype(np.int64)), capacity[order])
    graph, low, high = graph[is_new], low[is_new], high[is_new]
    is_turned = amount[:, 0] == 0
    shift = node_start[graph]
    nodes = np.stack([low + shift, high + shift], axis=1).astype(np.int32)
    nodes[is_turned], amount[is_turned] = nodes[is_turned, ::-1], amount[is_turned, ::-1]
    sender, receiver = nodes.reshape(-1), nodes[:, ::-1].reshape(-1)
    arc_start = starts(2 * np.bincount(graph, minlength=len(is_unclear)))
    source, sink = (np.where(is_unclear, k, own) + node_start[:-1] for k, own in enumerate(ends))
    parts = np.arange(len(is_unclear)), node_start, arc_start
    columns = sender, receiver, amount.reshape(-1)
    ordered = in_order(sender, int(node_start[-1]))
    return Batch(*parts, *columns, source, sink, *ordered), is_unclear
