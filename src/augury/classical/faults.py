"""What is wrong with a matching or a flow of a graph, in one sentence; "" if nothing is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import Label, Numbers, WideArray, read_only
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork

MANY = 2**16
"""From this many edges on, a compiled pass over them pays, if numba is loaded."""


def is_matching(graph: BipartiteGraph, mates: Numbers, size: int) -> bool:
    """Tell in one pass over the edges; no edge occurs twice."""
    if mates.min(initial=-1) < -1 or mates.max(initial=-1) >= graph.num_right:
        return False
    mates = mates.astype(np.int32, copy=False)
    if graph.num_edges >= MANY and "numba" in sys.modules:  # which takes a while to load
        from augury.classical.loops import are_matching

        ends = map(read_only, (graph.left, graph.right, mates))
        return are_matching(*ends, np.zeros(graph.num_right, np.bool_))
    times = np.bincount(mates + 1, minlength=1)[1:]  # how often each right node is a mate
    # A mate along no edge is not found.
    found = np.count_nonzero(np.repeat(mates, np.diff(graph.starts)) == graph.right)
    return found == size and times.max(initial=0) <= 1


def matching_fault(graph: BipartiteGraph, mates: Numbers) -> str:
    """Say what keeps mates, known not to be a matching, from being one."""
    left = np.flatnonzero(mates != -1)
    right = mates[left]
    missing = graph.edge_index(left, right) < 0
    if missing.any():
        at = int(missing.argmax())
        u, v, count = graph.left_label(int(left[at])), int(right[at]), graph.num_right
        if not 0 <= v < count:
            return f"the mate of {u!r} is right node {v}, but there are {count}"
        return f"there is no edge between {u!r} and {graph.right_label(v)!r}"
    return twice("right", right, graph.right_label)


def twice(side: str, nodes: Numbers, label: Callable[[int], Label]) -> str:
    """Name a node that occurs twice."""
    ordered = np.sort(nodes)
    double = np.flatnonzero(ordered[1:] == ordered[:-1])
    return f"the {side} node {label(int(ordered[double[0]]))!r} is matched twice"


def _arc(network: FlowNetwork, at: int) -> str:
    ends = network.label(int(network.sender[at])), network.label(int(network.receiver[at]))
    return f"the arc from {ends[0]!r} to {ends[1]!r}"


def over_capacity(network: FlowNetwork, flow: npt.NDArray[Any]) -> str:
    """Name an arc that carries more than it can."""
    over = flow > network.capacity  # before the conversion to int64, which could wrap
    if not over.any():
        return ""
    at = int(over.argmax())
    return f"{_arc(network, at)} carries {flow[at]}, but its capacity is {network.capacity[at]}"


def flow_fault(network: FlowNetwork, flow: npt.NDArray[Any]) -> str:
    """Say what keeps a net flow within the capacities from being a flow; "" if nothing does."""
    # A view has NumPy's own type; with that of unpickled arrays `np.add.at` takes 16 times as long.
    flow = flow.astype(np.int64, copy=False).view(np.int64)
    # The smallest int64 is its own negative.
    uneven = (flow[::2] != -flow[1::2]) | (flow[::2] == np.iinfo(np.int64).min)
    if uneven.any():
        return f"{_arc(network, 2 * int(uneven.argmax()))} and its reverse disagree on the flow"
    unbalanced = _sent(network, flow) != 0
    unbalanced[[network.source, network.sink]] = False
    if unbalanced.any():
        return f"flow is not preserved at {network.label(int(unbalanced.argmax()))!r}"
    return ""


def _sent(network: FlowNetwork, flow: WideArray) -> WideArray:
    """(node,): 0 exactly if nothing is sent on balance, even if sums exceed 64 bits."""
    if int(flow.max(initial=0)) * len(flow) < 2**63:
        sent = np.zeros(network.num_nodes, np.int64)
        np.add.at(sent, network.sender, flow)
        return sent
    # Sums of 32-bit halves fit in 64 bits at any degree.
    low, high = np.zeros((2, network.num_nodes), np.int64)
    np.add.at(low, network.sender, flow & 0xFFFFFFFF)
    np.add.at(high, network.sender, flow >> 32)
    return (low & 0xFFFFFFFF) | (high + (low >> 32))
