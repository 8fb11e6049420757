"""A step of the discrete network is computed only where something changed: `fast` for bits.

With one bit a node and the maximum as aggregation, a node's update depends on its own bit and on
which of four kinds of message arrive: the sender's bit and the link's. So a node keeps how many
links bring it each kind. A step asks the network about all cases of own bit and kinds, with its
own update; a node whose inputs are those of the step before would get the same answer again, so
only the others look theirs up. The decisions are the plain form's, whatever the network answers:
a bit may fall as well as rise.

Importing this module needs numba; its loops take arrays, not objects, hence their many arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.graph import BoolArray, WideArray
from augury.neural.compiled import compiled
from augury.neural.wiring import Wiring

FloatArray = npt.NDArray[np.float32]
Row = npt.NDArray[np.uint8]

Decide = Callable[[], tuple[BoolArray, BoolArray]]
"""Ask the network, for each case (own bit * 16 + kinds), "reached now" and "changed"; kind
2 * sender's bit + link's bit is bit 2^kind of the kinds."""

_compiled = compiled()


class Ended(NamedTuple):
    """What a search leaves."""

    is_reached: BoolArray
    link: WideArray
    """(node,): the link by which each node was reached, −1 for none."""
    steps: int


def search(
    decide: Decide, scores: FloatArray, usable: npt.NDArray[np.uint8], row: Row, wiring: Wiring
) -> Ended:
    """Step every graph while the network says so, for at most |V| − 1 steps.

    Args:
        decide: asks the network once.
        scores: (2, row), a link's score by its sender's bit.
        usable: (arc + 1,), the links' bits; the last is that of self loops.
        row: (link,), which score.
        wiring: who hears whom.
    """
    sender, start, arc = (part.numpy() for part in (wiring.sender, wiring.start, wiring.arc))
    node_graph, source = wiring.node_graph.numpy(), wiring.source.numpy()
    bit = np.zeros(wiring.num_nodes, np.bool_)
    bit[source] = True
    counts = np.zeros((wiring.num_nodes, 4), np.int32)
    _count(sender, start, arc, usable, bit, counts)
    says_changed = np.zeros(wiring.num_nodes, np.bool_)
    link = np.full(wiring.num_nodes, -1)
    changing = np.zeros(wiring.num_graphs, np.int64)
    runs, limit = np.ones(wiring.num_graphs, np.bool_), np.diff(wiring.node_start.numpy()) - 1
    waiting, is_waiting = np.arange(wiring.num_nodes), np.ones(wiring.num_nodes, np.bool_)
    num_waiting, steps = wiring.num_nodes, 0
    flipped = np.empty(wiring.num_nodes, np.int64)
    while runs.any():
        reached, changed = decide()
        num_flipped = _look_up(
            waiting[:num_waiting], is_waiting, reached, changed, counts, bit, says_changed,
            changing, runs, node_graph, flipped,
        )  # fmt: skip
        steps += 1
        now = flipped[:num_flipped]
        _latch(now, bit, link, scores, row, sender, start)
        num_waiting = _spread(now, bit, sender, start, arc, usable, counts, waiting, is_waiting)
        runs &= (changing > 0) & (steps < limit)
    return Ended(bit, link, steps)


@_compiled
def _count(sender, start, arc, usable, bit, counts):
    """Count for each node the links that bring it each kind of message."""
    for node in range(len(start) - 1):
        for link in range(start[node], start[node + 1]):
            counts[node, 2 * bit[sender[link]] + usable[arc[link]]] += 1


@_compiled
def _look_up(  # noqa: PLR0913 – numba takes arrays, not objects
    waiting, is_waiting, reached, changed, counts, bit, says_changed, changing, runs, node_graph,
    flipped,
):  # fmt: skip
    """Give each waiting node of a running graph its answers; return how many bits are to flip."""
    found = 0
    for node in waiting:
        is_waiting[node] = False
        graph = node_graph[node]
        if not runs[graph]:
            continue
        case = 16 * bit[node]
        for kind in range(4):
            if counts[node, kind] > 0:
                case += 1 << kind
        if changed[case] != says_changed[node]:
            says_changed[node] = changed[case]
            changing[graph] += 1 if changed[case] else -1
        if reached[case] != bit[node]:
            flipped[found] = node
            found += 1
    return found


@_compiled
def _latch(flipped, bit, link, scores, row, sender, start):  # noqa: PLR0913 – numba takes arrays, not objects
    """Give each node that is reached now its best link, the first among equals."""
    for node in flipped:
        if bit[node]:
            continue
        best = start[node]
        highest = scores[1 if bit[sender[best]] else 0, row[best]]
        for other in range(best + 1, start[node + 1]):
            score = scores[1 if bit[sender[other]] else 0, row[other]]
            if score > highest:
                highest, best = score, other
        link[node] = best


@_compiled
def _spread(flipped, bit, sender, start, arc, usable, counts, waiting, is_waiting):  # noqa: PLR0913 – numba takes arrays, not objects
    """Flip the bits and tell all who hear of it; return how many nodes wait for the next step."""
    found = 0
    for node in flipped:
        before = 2 * bit[node]
        bit[node] = not bit[node]
        after = 2 * bit[node]
        for link in range(start[node], start[node + 1]):
            # What a node hears comes by an arc, and what it sends goes by the reverse of that arc.
            hearer = sender[link]
            kind = usable[arc[link] ^ 1] if arc[link] >= 0 else usable[-1]
            counts[hearer, before + kind] -= 1
            counts[hearer, after + kind] += 1
            # Another case only if a kind is gone or new, or if the node's own bit has flipped.
            is_other = counts[hearer, before + kind] == 0 or counts[hearer, after + kind] == 1
            if (is_other or hearer == node) and not is_waiting[hearer]:
                is_waiting[hearer] = True
                waiting[found] = hearer
                found += 1
    return found
