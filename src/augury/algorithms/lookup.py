"""A table and a batch become a search, in a compiled loop that reads the table.

It decides as `CellExecutor.flood` does, whatever the table says: a bit may fall as well as
rise, and a node may say "changed" forever. A table decides by the case alone, so a node is asked
again only when its case has changed; until then its answers stand. To notice, each node counts the
links that bring it each kind of message. Graphs are independent, so each is run to its end before
the next starts. Importing this module needs numba.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.algorithms.cells import FLOOD, NEAREST, WEIGHT_BITS
from augury.cells.table import Table
from augury.classical.arrays import BoolArray, IntArray
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import MAX_WEIGHT, WeightArray
from augury.neural.compiled import compiled as on_disk

compiled: Any = on_disk(nogil=True, error_model="numpy")


class Given(NamedTuple):
    """What a search reads."""

    node_start: Any
    source: Any
    order: Any
    """(arc,): the arcs sorted by sender, so that their reverses are sorted by receiver."""
    start: Any
    """(node + 1,): where each node's arcs start in `order`."""
    receiver: Any
    """(arc,)"""
    is_usable: Any
    """(arc,)"""
    weights: Any
    """(arc,)"""
    decisions: Any
    """(own, set, output): the cell FLOOD."""
    ranks: Any
    """(kind,): the cell NEAREST."""


class Links(NamedTuple):
    """The arcs in the order in which nodes hear them; self loops are left out."""

    sender: Any
    bits: Any
    """The weight, then whether the reverse is usable, then whether the arc is."""


class Nodes(NamedTuple):
    """What a search knows of each node."""

    is_reached: Any
    arc: Any
    """The arc by which it was last reached, −1 for none."""
    counts: Any
    """(node, kind): the links that bring it each kind of message."""
    says_changed: Any
    waiting: Any
    """The nodes to be asked in the next step come first."""
    is_waiting: Any
    flipped: Any
    """The nodes whose bit flips in this step come first."""


def flood(
    batch: Batch, is_usable: BoolArray, weights: WeightArray, table: Table
) -> tuple[IntArray, BoolArray, int]:
    """Return the arc by which each node was reached, −1 for none; which were; and the steps."""
    order, start = batch.by_sender
    given = (batch.node_start, batch.source, order, start, batch.receiver, is_usable, weights)
    cells = table.entries[FLOOD.name], table.scores(NEAREST)
    count = batch.num_nodes
    nodes = Nodes(
        is_reached=np.zeros(count, np.bool_),
        arc=np.full(count, -1, np.int32),
        counts=np.zeros((count, len(FLOOD.kinds)), np.int32),
        says_changed=np.zeros(count, np.bool_),
        waiting=np.empty(count, np.int32),
        is_waiting=np.zeros(count, np.bool_),
        flipped=np.empty(count, np.int32),
    )
    links = Links(np.empty(batch.num_arcs, np.int32), np.empty(batch.num_arcs, np.uint8))
    steps = _flood(Given(*map(_read_only, (*given, *cells))), links, nodes)
    nodes.arc[batch.source] = -1
    return nodes.arc, nodes.is_reached, steps


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view: a loop is compiled once, not again for arrays that may be written."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@compiled
def _flood(given: Given, links: Links, nodes: Nodes) -> int:
    """Search every graph; return the steps of the longest search."""
    longest = 0
    _sort(given, links)
    for graph in range(len(given.source)):
        first, end = given.node_start[graph], given.node_start[graph + 1]
        _listen(given, links, nodes, first, end)
        nodes.flipped[0] = given.source[graph]
        _flip(given, links, nodes, 1)  # before the first step, which asks every node
        for k in range(end - first):
            nodes.waiting[k] = first + k
            nodes.is_waiting[first + k] = True
        num_waiting, num_changed, steps = end - first, 0, 0
        while True:
            num_flipped, num_changed = _decide(given, nodes, num_waiting, num_changed)
            _latch(given, links, nodes, num_flipped)
            num_waiting = _flip(given, links, nodes, num_flipped)
            steps += 1
            if num_changed == 0 or steps >= end - first - 1:
                break
        longest = max(longest, steps)
    return longest


@compiled
def _sort(given: Given, links: Links) -> None:
    """Gather once, for memory is read fastest in order."""
    for link in range(len(given.order)):
        out = given.order[link]
        links.sender[link] = given.receiver[out]
        usable = given.is_usable[out ^ 1] | given.is_usable[out] << 1
        links.bits[link] = given.weights[out ^ 1] << 2 | usable


@compiled
def _listen(given: Given, links: Links, nodes: Nodes, first: int, end: int) -> None:
    """Count what each node hears while nobody is reached."""
    for node in range(first, end):
        usable = 0
        for link in range(given.start[node], given.start[node + 1]):
            usable += links.bits[link] & 1
        nodes.counts[node, 0] = given.start[node + 1] - given.start[node] - usable + 1  # itself
        nodes.counts[node, 1] = usable


@compiled
def _decide(given: Given, nodes: Nodes, num_waiting: int, num_changed: int) -> Any:
    """Ask the waiting nodes; return how many flip, and how many of all say that they changed."""
    num_flipped = 0
    for k in range(num_waiting):
        node = nodes.waiting[k]
        nodes.is_waiting[node] = False
        heard = 0
        for kind in range(nodes.counts.shape[1]):
            heard |= (nodes.counts[node, kind] > 0) << kind
        own = int(nodes.is_reached[node])
        is_reached = given.decisions[own, heard, 0] > 0
        changed = given.decisions[own, heard, 1] > 0
        num_changed += int(changed) - int(nodes.says_changed[node])
        nodes.says_changed[node] = changed
        if is_reached != nodes.is_reached[node]:
            nodes.flipped[num_flipped] = node
            num_flipped += 1
    return num_flipped, num_changed


@compiled
def _latch(given: Given, links: Links, nodes: Nodes, num_flipped: int) -> None:
    """Give each newly reached node its arc: the link of highest rank, the first among equals."""
    highest = given.ranks.max()
    for k in range(num_flipped):
        node = nodes.flipped[k]
        if nodes.is_reached[node]:
            continue
        best, rank = -1, -1
        for link in range(given.start[node], given.start[node + 1]):
            kind = 2 * int(nodes.is_reached[links.sender[link]]) + (links.bits[link] & 1)
            other = given.ranks[kind << WEIGHT_BITS | links.bits[link] >> 2 & MAX_WEIGHT]
            if best < 0 or other > rank:
                best, rank = link, other
                if rank == highest:
                    break
        # The self loop is the last link: kind 0, weight 0.
        nodes.arc[node] = -1 if best < 0 or given.ranks[0] > rank else given.order[best] ^ 1


@compiled
def _flip(given: Given, links: Links, nodes: Nodes, num_flipped: int) -> int:
    """Flip bits and tell all hearers; return how many nodes have another case now."""
    num_waiting = 0
    for k in range(num_flipped):
        node = nodes.flipped[k]
        before = 2 * int(nodes.is_reached[node])
        after = 2 - before
        nodes.is_reached[node] = not nodes.is_reached[node]
        nodes.counts[node, before] -= 1  # by its self loop, which is not usable
        nodes.counts[node, after] += 1
        if not nodes.is_waiting[node]:
            nodes.is_waiting[node] = True
            nodes.waiting[num_waiting] = node
            num_waiting += 1
        for link in range(given.start[node], given.start[node + 1]):
            # It sends by the reverses of the links that it hears by.
            hearer, usable = links.sender[link], int(links.bits[link] >> 1 & 1)
            nodes.counts[hearer, before + usable] -= 1
            nodes.counts[hearer, after + usable] += 1
            gone = nodes.counts[hearer, before + usable] == 0
            is_new = nodes.counts[hearer, after + usable] == 1
            if (gone or is_new) and not nodes.is_waiting[hearer]:
                nodes.is_waiting[hearer] = True
                nodes.waiting[num_waiting] = hearer
                num_waiting += 1
    return num_waiting
