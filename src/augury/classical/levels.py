"""Claimed steps and predecessors become a `Certificate` of what is reachable, and how fast.

Three checks prove it, looking at each arc once: the source is 0 steps away, every other reached
node has an arc from a node one step nearer, and no arc leads from a reached node to one that is
unreached or more than one step farther. So no path is shorter, and none leads out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from augury.classical.arrays import Label, Numbers, WideArray
from augury.classical.certificate import Certificate
from augury.classical.network import FlowNetwork


@dataclass(frozen=True)
class Closed:
    """A set of nodes that contains the source and that no arc leaves."""

    source: Label
    num_nodes: int
    farthest: int
    """Steps to the farthest node."""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        told = {"source": self.source, "nodes": self.num_nodes, "farthest": self.farthest}
        return {"closed": told}

    @property
    def words(self) -> str:
        """What it proves, in words."""
        noun = "node" if self.num_nodes == 1 else "nodes"
        return f"no arc leaves the {self.num_nodes:,} {noun} reached, and no path is shorter"


def certify_levels(network: Any, found: Numbers) -> Certificate:
    """Check (node, 2): the steps to each node, −1 if it is unreached, and its predecessor or −1.

    An answer is legal if its paths exist and are shortest among the nodes that it reaches, and
    maximum if no arc leaves those.
    """
    if found.shape != (network.num_nodes, 2) or found.dtype.kind not in "iu":
        return Certificate(0, "an answer is the steps to every node and its predecessor")
    steps, predecessor = found.T
    size = int((steps >= 0).sum())
    fault = _fault(network, steps, predecessor)
    if fault:
        return Certificate(size, fault)
    is_open = network.capacity > 0
    tail, head = network.sender[is_open], network.receiver[is_open]
    if not ((steps[tail] >= 0) & (steps[head] < 0)).any():
        closed = Closed(network.label(network.source), size, int(steps.max()))
        return Certificate(size, "", size, closed)
    # It falls short; find the rest, to say by how much.
    is_reached = steps >= 0
    while (leaving := is_reached[tail] & ~is_reached[head]).any():
        is_reached[head[leaving]] = True
    rest = Closed(network.label(network.source), int(is_reached.sum()), -1)
    return Certificate(size, "", rest.num_nodes, rest)


def _fault(network: FlowNetwork, steps: WideArray, predecessor: WideArray) -> str:
    if steps[network.source] != 0 or predecessor[network.source] != -1:
        return f"the source {network.label(network.source)!r} is 0 steps away, from nowhere"
    others = np.flatnonzero(steps >= 0)
    others = others[others != network.source]
    came = predecessor[others]
    is_node = (came >= 0) & (came < network.num_nodes)
    arcs = network.arc_index(np.where(is_node, came, 0), others)
    is_right = is_node & (arcs >= 0) & (np.append(network.capacity, 0)[arcs] > 0)
    is_right &= steps[np.where(is_node, came, 0)] == steps[others] - 1
    if not is_right.all():
        node = int(others[is_right.argmin()])
        return f"no arc leads to {network.label(node)!r} from a node that is one step nearer"
    tail, head = (ends[network.capacity > 0] for ends in (network.sender, network.receiver))
    is_late = (steps[tail] >= 0) & (steps[head] > steps[tail] + 1)
    if is_late.any():
        at = int(head[is_late.argmax()])
        return f"{network.label(at)!r} is {steps[at]} steps away, but there is a shorter path"
    return ""
