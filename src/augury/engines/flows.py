"""Flow networks become maximum flows, by loops that numba compiles.

Which loop runs depends on the network alone, so that an answer depends on nothing else:

- Up to SMALL arcs, or if no capacity is above 1, *phases* (Dinic 1970): a search from the sink
  gives every node its distance, and paths that lead one step nearer with each arc are filled,
  lowest arcs first, until none is left. Every path is a shortest augmenting path at its moment,
  so the network takes it too, given weights that prefer its arcs. `small_flows` takes the same
  paths in plain Python.
- Beyond that, *waves* (Goldberg and Tarjan 1988): the source fills its arcs; a search from the sink
  gives every node its distance; nodes with an excess pass it on, the farthest first, to nodes one
  step nearer, and move away where there are none. A node that moves away by more than one step
  twice waits for the next search, as in OR-Tools: nodes cut off from the sink would otherwise pass
  their excess around for a long time. The more searches there have been, the more often a node may
  move, and the longer the next search is put off.
  After EARLY of them the network is copied in the order of a search: the next ones read memory in
  sequence, and a node's arcs are no longer tried in one direction first, as in a numbered grid.
  When no excess can reach the sink, the same loop takes what is left back to the source. Here the
  network's own run takes other steps; only what is unique is the same: the value, and the nodes
  that the source still reaches, which are the same in every maximum flow.

Arcs are copied into the order of their senders, each node's ascending: the loops then read memory
in sequence. All release the interpreter's lock and run on the calling thread.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.compiled import compiled as on_disk
from augury.engines.small_flows import SMALL

compiled: Any = on_disk(nogil=True, error_model="numpy")
# Functions that Python never calls need no wrapper, and those called once are best inlined:
# together that takes 2.7 instead of 4.1 seconds.
part: Any = on_disk(error_model="numpy", no_cpython_wrapper=True)
inlined: Any = on_disk(error_model="numpy", inline="always")

ALL = -1
"""As many searches as it takes."""
MOST = np.int64(2**63 - 1)
"""The most that the source sends out at a time, so that no excess overflows int64."""
PATIENCE, PATIENCE_BACK = (2, 2, 4, 6), (32, 32, 32, 32)
"""How often a node moves away by more than one step before it waits for the next search.

After the first search, the second, and so on. At first nodes that are cut off would move for a long
time; later few nodes have an excess, and a search for them covers the whole network. On the way
back all excess arrives, so moving pays off. Equally long, so that one compiled loop serves both.
"""
SHARE = 8
"""After search k waiting nodes are woken until k / SHARE of a search's steps, or all, are taken.

A step is an arc looked at, or a level passed: otherwise a few nodes that wake far away, again and
again, would pass as many levels as there are nodes each time, uncounted. At first it is mostly
nodes cut off that wait; later there would be more searches than moves.
"""
EARLY = 3
"""Searches before the network is sorted, which takes as long as a few; most need no more."""


class Union(NamedTuple):
    """Flow networks side by side, read only; see `classical.batch`."""

    sender: Any
    receiver: Any
    capacity: Any
    node_start: Any
    arc_start: Any
    source: Any
    sink: Any


class Network(NamedTuple):
    """One of them, its nodes numbered from 0; arrays may be longer than it needs.

    The arcs that leave node v are at the places `start[v] : start[v + 1]`.
    """

    start: Any
    head: Any
    """(arc,): the receiver."""
    back: Any
    """(arc,): the place of the reverse arc."""
    residual: Any
    level: Any
    """(node,): its distance to where flow is sent."""
    current: Any
    """(node,): no arc before this place leads nearer."""
    queue: Any
    """Nodes by level during a search; then, in a phase, the path, as places of arcs."""
    excess: Any
    active: Any
    """(level,): the last node there that has an excess to pass on, −1 for none."""
    before: Any
    """(node,): the next one at the same level."""
    moves: Any
    """(node,): how often it moved away by more than one step since the last search."""

    @classmethod
    def of(cls, num_nodes: int, num_arcs: int) -> Network:
        """Allocate; what belongs to an arc lies together, as most of it is needed at once."""
        arc = [("head", "i4"), ("back", "i4"), ("residual", "i8")]
        every = np.empty(max(num_arcs, 2), arc)  # one by itself would be another type to numba
        arcs = every["head"], every["back"], every["residual"]
        wide = (np.int32, np.int32, np.int32, np.int64, np.int32, np.int32, np.int8)
        nodes = (np.empty(num_nodes, dtype) for dtype in wide)
        return cls(np.empty(num_nodes + 1, np.int32), *arcs, *nodes)


@compiled
def push_flows(union: Union, own: Network, ordered: Network, residual: Any, rounds: Any) -> None:
    """Write the residual of a maximum flow of each network, and its rounds.

    A round is a search that led to a path or, in waves, after which more reached the sink.
    """
    for graph in range(len(union.source)):
        first = union.node_start[graph]
        num_nodes = union.node_start[graph + 1] - first
        source, sink = union.source[graph] - first, union.sink[graph] - first
        largest = fill(union, own, graph, num_nodes)
        if largest <= 1 or union.arc_start[graph + 1] - union.arc_start[graph] <= SMALL:
            rounds[graph] = phases(own, num_nodes, source, sink)
        else:
            rounds[graph] = _waves(own, ordered, num_nodes, source, sink)
        for node in range(num_nodes):
            own.current[node] = own.start[node]
        for arc in range(union.arc_start[graph], union.arc_start[graph + 1]):
            node = union.sender[arc] - first
            residual[arc] = own.residual[own.current[node]]
            own.current[node] += 1


@inlined
def fill(union: Union, own: Network, graph: int, num_nodes: int) -> Any:
    """Copy the arcs of a network, sorted by sender; return the largest capacity."""
    first, largest = union.node_start[graph], np.int64(0)
    arcs = union.arc_start[graph], union.arc_start[graph + 1]
    for node in range(num_nodes + 1):
        own.start[node] = 0
    for arc in range(*arcs):
        own.start[union.sender[arc] - first + 1] += 1
    for node in range(num_nodes):
        own.start[node + 1] += own.start[node]
        own.current[node] = own.start[node]
    for arc in range(arcs[0], arcs[1], 2):
        u, v = union.sender[arc] - first, union.receiver[arc] - first
        there, back = own.current[u], own.current[v]
        own.current[u], own.current[v] = there + 1, back + 1
        own.head[there], own.head[back] = v, u
        own.back[there], own.back[back] = back, there
        own.residual[there], own.residual[back] = union.capacity[arc], union.capacity[arc + 1]
        largest = max(largest, union.capacity[arc], union.capacity[arc + 1])
    return largest


@inlined
def phases(own: Network, num_nodes: int, source: int, sink: int) -> int:
    """Fill a network; return the searches that led to a path."""
    rounds = 0
    while _search(own, num_nodes, source, sink):
        _take_paths(own, source, sink)
        rounds += 1
    return rounds


@part
def _search(own: Network, num_nodes: int, source: int, sink: int) -> bool:
    """Set the levels of nodes nearer to the sink than the source; say whether that is reached."""
    for node in range(num_nodes):
        own.level[node] = -1
    own.level[sink] = 0
    own.queue[0] = sink
    done, found = 0, 1
    while done < found:
        node = np.int64(own.queue[done])
        done += 1
        for place in range(own.start[node], own.start[node + 1]):
            other = np.int64(own.head[place])
            if own.level[other] < 0 and own.residual[own.back[place]] > 0:
                own.level[other] = own.level[node] + 1
                own.current[other] = own.start[other]
                if other == source:
                    return True
                own.queue[found] = other
                found += 1
    return False


@part
def _take_paths(own: Network, source: int, sink: int) -> None:
    """Fill paths along the levels until none is left; see `small_flows`."""
    path, length, node = own.queue, 0, source
    while True:
        place, end = np.int64(own.current[node]), own.start[node + 1]
        nearer = own.level[node] - 1
        while place < end and not (
            own.residual[place] > 0 and own.level[own.head[place]] == nearer
        ):
            place += 1
        own.current[node] = place
        if place < end:
            path[length] = place
            length += 1
            node = np.int64(own.head[place])
            if node == sink:
                amount = own.residual[place]
                for k in range(length):
                    amount = min(amount, own.residual[path[k]])
                for k in range(length - 1, -1, -1):
                    place = np.int64(path[k])
                    own.residual[place] -= amount
                    own.residual[own.back[place]] += amount
                    if own.residual[place] == 0:
                        length = k
                node = np.int64(own.head[own.back[path[length]]])
        elif length > 0:
            length -= 1
            node = np.int64(own.head[own.back[path[length]]])
            own.current[node] += 1
        else:
            return


@inlined
def _waves(own: Network, ordered: Network, num_nodes: int, source: Any, sink: Any) -> int:
    net, rounds, searches = own, 0, EARLY
    for node in range(num_nodes):
        own.excess[node] = 0
    given = arrived = MOST
    while given == MOST == arrived:  # nearly always once
        given = np.int64(0)
        for place in range(net.start[source], net.start[source + 1]):
            amount = min(net.residual[place], MOST - given)
            given += amount
            net.residual[place] -= amount
            net.residual[net.back[place]] += amount
            net.excess[net.head[place]] += amount
        more, is_done = _pass_on(net, num_nodes, sink, PATIENCE, searches)
        rounds += more
        if not is_done:
            _measure(own, num_nodes, sink)
            _sort(own, ordered, num_nodes)
            source, sink = np.int64(own.level[source]), np.int64(own.level[sink])
            net, searches = ordered, ALL
            rounds += _pass_on(net, num_nodes, sink, PATIENCE, searches)[0]
        arrived = net.excess[sink]
        net.excess[sink] = net.excess[source] = 0
        _pass_on(net, num_nodes, source, PATIENCE_BACK, ALL)
        net.excess[source] = 0
    if searches == ALL:
        for place in range(own.start[num_nodes]):
            own.residual[place] = ordered.residual[own.head[place]]
    return rounds


@part
def _sort(own: Network, ordered: Network, num_nodes: int) -> None:
    """Copy a network, its nodes in the order of the last search, the arcs of each by their heads.

    In the old one `level` then holds the number of each node, and `head` the place of each arc.
    """
    number, end = own.level, num_nodes
    for node in range(num_nodes):
        if number[node] == num_nodes:  # not found
            end -= 1
            own.queue[end] = node
    ordered.start[0] = 0
    for k in range(num_nodes):
        node = np.int64(own.queue[k])
        number[node] = k
        ordered.excess[k] = own.excess[node]
        ordered.current[k] = ordered.start[k]
        ordered.start[k + 1] = ordered.start[k] + own.start[node + 1] - own.start[node]
    for k in range(num_nodes):
        node = np.int64(own.queue[k])
        for place in range(own.start[node], own.start[node + 1]):
            back, other = np.int64(own.back[place]), number[own.head[place]]
            there = np.int64(ordered.current[other])
            ordered.current[other] += 1
            ordered.head[there], ordered.residual[there] = k, own.residual[back]
            ordered.back[there] = back  # where it was, for now
    for place in range(own.start[num_nodes]):
        own.head[ordered.back[place]] = place
    for place in range(own.start[num_nodes]):
        ordered.back[place] = own.head[own.back[ordered.back[place]]]


@part
def _pass_on(own: Network, num_nodes: int, goal: int, patience: Any, searches: int) -> Any:
    """Pass on the excess that can reach a node; return how often some arrived, and if all did.

    Stop after this many searches, done or not.
    """
    rounds, count, waiting, arcs = 0, 0, 0, np.int64(own.start[num_nodes])
    while waiting >= 0 and count != searches:
        arrived = own.excess[goal]
        highest = _measure(own, num_nodes, goal)
        steps, waiting = min(count, SHARE) * arcs // SHARE, -1
        most = patience[min(count, len(patience) - 1)]
        count += 1
        while highest > 0:
            node = np.int64(own.active[highest])
            if node < 0:
                highest -= 1
                steps -= 1
                if highest == 0 and steps > 0:
                    highest, waiting = _wake(own, waiting), -1
                continue
            own.active[highest] = own.before[node]
            if own.moves[node] < most:
                highest = _empty(own, num_nodes, goal, node, highest)
                steps -= own.start[node + 1] - own.start[node]
            else:
                own.before[node], waiting = waiting, node
        rounds += own.excess[goal] > arrived
    return rounds, waiting < 0


@part
def _wake(own: Network, waiting: Any) -> Any:
    """Let waiting nodes move on; return the highest of their levels, 0 for none."""
    highest = np.int64(0)
    while waiting >= 0:
        node, waiting = waiting, np.int64(own.before[waiting])
        level = np.int64(own.level[node])
        own.moves[node] = 0
        own.before[node], own.active[level] = own.active[level], node
        highest = max(highest, level)
    return highest


@part
def _measure(own: Network, num_nodes: int, goal: int) -> Any:
    """Set all levels, num_nodes where the goal is out of reach; return the highest active one.

    An excess next to a node just reached is passed on at once: near the goal much ends here.
    """
    for node in range(num_nodes):
        own.level[node], own.active[node], own.moves[node] = num_nodes, -1, 0
    own.level[goal] = 0
    own.queue[0] = goal
    done, found = 0, 1
    while done < found:
        node = np.int64(own.queue[done])
        done += 1
        for place in range(own.start[node], own.start[node + 1]):
            other = np.int64(own.head[place])
            if own.level[other] == num_nodes:
                back = np.int64(own.back[place])
                limit = own.residual[back]
                amount = min(limit, own.excess[other])
                if amount > 0:
                    own.residual[back] -= amount
                    own.residual[place] += amount
                    own.excess[other] -= amount
                    own.excess[node] += amount
                if amount < limit:
                    own.level[other] = own.level[node] + 1
                    own.current[other] = own.start[other]
                    own.queue[found] = other
                    found += 1
    highest = 0
    for k in range(found - 1, 0, -1):
        node = np.int64(own.queue[k])
        if own.excess[node] > 0:
            level = np.int64(own.level[node])
            own.before[node], own.active[level] = own.active[level], node
            highest = max(highest, level)
    return highest


@part
def _empty(  # noqa: C901  # an inner function that takes `own` halves the speed
    own: Network, num_nodes: int, goal: int, node: int, highest: Any
) -> Any:
    """Pass on a node's excess, moving away from the goal as needed; return the highest level."""
    level = at_first = np.int64(own.level[node])
    excess = own.excess[node]
    place, end = np.int64(own.current[node]), own.start[node + 1]
    while True:
        while place < end:
            limit = own.residual[place]
            if limit > 0:
                other = np.int64(own.head[place])
                if own.level[other] == level - 1:
                    amount = min(limit, excess)
                    own.residual[place] = limit - amount
                    own.residual[own.back[place]] += amount
                    if own.excess[other] == 0 and other != goal:
                        own.before[other], own.active[level - 1] = own.active[level - 1], other
                        highest = max(highest, level - 1)
                    own.excess[other] += amount
                    excess -= amount
                    if excess == 0:
                        break
            place += 1
        if excess == 0:
            break
        nearest = np.int64(num_nodes)
        for k in range(own.start[node], end):
            if own.residual[k] > 0 and own.level[own.head[k]] < nearest:
                nearest, place = np.int64(own.level[own.head[k]]), k
                if nearest == level:
                    break
        level = min(nearest + 1, num_nodes)
        if level == num_nodes:
            break
    own.level[node], own.current[node], own.excess[node] = level, place, excess
    own.moves[node] += level > at_first + 1
    return highest
