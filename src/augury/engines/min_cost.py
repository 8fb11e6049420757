"""Supplies, capacities and costs become a flow of least cost, with the prices that prove it.

The network simplex method. A spanning tree of arcs carries any amount within its capacities, every
other arc carries nothing or all it can. Prices make the tree's arcs cost nothing; an arc outside
that would lower the cost enters, flow is sent round the cycle that it closes, and an arc that
blocks it leaves. At the start an artificial root is joined to every node, at a price that no real
path can have.

Trees are kept *strongly feasible*: from every node a little more could be sent up to the root. The
leaving arc is chosen to keep them so, and then the method cannot cycle (Cunningham, 1976).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.engines.words import compiled

EMPTY, IN_TREE, FULL = np.int8(1), np.int8(0), np.int8(-1)
"""The state of an arc; times its reduced cost, less than 0 if the arc should enter."""
NONE = np.int32(-1)
UNLIMITED = np.int64(2**62)
MIN_BLOCK = 16
"""The fewest arcs to choose from in a pivot."""


def largest_cost(num_nodes: int) -> int:
    """Return the largest absolute cost that `min_cost_flow` takes.

    The artificial price is `num_nodes + 1` times this, prices are at most twice that, and a reduced
    cost is the sum of two of them and a cost.
    """
    return 2**59 // (num_nodes + 1)


LARGEST_AMOUNT = 2**61
"""For each capacity, and for the sum of all positive supplies."""


class Tree(NamedTuple):
    """A spanning tree with its root, the last node; each node's arc leads to its parent."""

    parent: Any
    arc: Any
    """(node,): the arc between node and parent."""
    is_up: Any
    """(node,): whether that arc leads from the node to its parent."""
    depth: Any
    child: Any
    """(node,): its first child or −1."""
    after: Any
    """(node,): the next child of the same parent or −1."""
    before: Any
    """(node,): the child before it or −1."""
    price: Any

    @classmethod
    def of(cls, num_nodes: int) -> Tree:
        """Allocate."""
        parent, arc, depth, child, after, before = np.empty((6, num_nodes), np.int32)
        is_up, price = np.empty(num_nodes, np.bool_), np.empty(num_nodes, np.int64)
        return cls(parent, arc, is_up, depth, child, after, before, price)


class Arcs(NamedTuple):
    """The arcs, and after them one artificial arc for each node."""

    sender: Any
    receiver: Any
    capacity: Any
    cost: Any
    flow: Any
    state: Any

    @classmethod
    def of(cls, sender: Any, receiver: Any, capacity: Any, cost: Any, num_nodes: int) -> Arcs:
        """Copy, and make room for the artificial arcs."""
        num_arcs = len(sender) + num_nodes
        arcs = cls(
            np.empty(num_arcs, np.int32),
            np.empty(num_arcs, np.int32),
            np.full(num_arcs, UNLIMITED),
            np.zeros(num_arcs, np.int64),
            np.zeros(num_arcs, np.int64),
            np.full(num_arcs, EMPTY),
        )
        for to, values in zip(arcs[:4], (sender, receiver, capacity, cost), strict=True):
            to[: len(sender)] = values
        return arcs


def min_cost_flow(
    num_nodes: int, sender: Any, receiver: Any, capacity: Any, cost: Any, supply: Any
) -> Any:
    """Return (flow of each arc, price of each node, True), or (flow, cut, False) if there is none.

    Supplies add up to 0. With `reduced = cost + price[sender] - price[receiver]`, an arc with
    reduced > 0 is empty and one with reduced < 0 full: so no flow costs less. If the supplies
    cannot be sent, `cut` (node,) marks nodes whose supplies exceed all that leaves them.

    Costs are at most `largest_cost`, capacities and the sum of positive supplies LARGEST_AMOUNT.
    """
    sender, receiver = np.asarray(sender), np.asarray(receiver)
    capacity, cost = np.asarray(capacity, np.int64), np.asarray(cost, np.int64)
    supply = np.require(supply, np.int64, ["C", "W"])  # numba compiles anew if it is read-only
    # A loop changes no balance: it is full or empty by its cost alone.
    flow = np.where((sender == receiver) & (cost < 0), capacity, 0)
    used = _mixed(np.flatnonzero((sender != receiver) & (capacity > 0)))
    large = np.int64((int(np.abs(cost).max(initial=0)) + 1) * (num_nodes + 1))
    arcs = Arcs.of(sender[used], receiver[used], capacity[used], cost[used], num_nodes)
    tree = Tree.of(num_nodes + 1)
    if num_nodes:
        _solve(arcs, tree, supply, large)
    flow[used] = arcs.flow[: len(used)]
    price = tree.price[:num_nodes].copy()
    # Whatever is not sent goes through the root.
    if np.any(arcs.flow[len(used) :]):
        return flow, _cut(np.clip(price, 0, large)), False
    return flow, price, True


def _mixed(arcs: Any) -> Any:
    """Reorder arcs so that neighbours come from far apart: a block is then a fair sample."""
    stride = max(int(len(arcs) ** 0.5), 1)
    return np.concatenate([arcs[k::stride] for k in range(stride)])


def _cut(price: Any) -> Any:
    """Mark the nodes below the widest gap between prices.

    A node that could not send is priced 0, one that did not receive at the artificial price, and
    the widest gap between is wider than any cost. No arc with residual can lead across it.
    """
    order = np.argsort(price)
    gaps = np.diff(price[order])
    cut = np.zeros(len(price), np.bool_)
    cut[order[: int(np.argmax(gaps)) + 1]] = True
    return cut


@compiled
def _solve(arcs: Arcs, tree: Tree, supply: Any, large: int) -> None:
    """Pivot until no arc would lower the cost."""
    _plant(arcs, tree, supply, large)
    num_arcs = len(arcs.sender) - len(supply)
    block = max(int(num_arcs**0.5), MIN_BLOCK)
    place = 0
    while True:
        arc, place = _entering(arcs, tree.price, num_arcs, block, place)
        if arc < 0:
            return
        _pivot(arcs, tree, arc)


@compiled
def _plant(arcs: Arcs, tree: Tree, supply: Any, large: int) -> None:
    """Join all nodes to the root: supplies go up, demands come down."""
    root, first = len(supply), len(arcs.sender) - len(supply)
    tree.parent[root], tree.arc[root], tree.depth[root] = NONE, NONE, 0
    tree.after[root], tree.before[root], tree.child[root] = NONE, NONE, 0
    tree.price[root] = 0
    for node in range(root):
        arc = first + node
        is_up = supply[node] >= 0
        arcs.sender[arc] = node if is_up else root
        arcs.receiver[arc] = root if is_up else node
        arcs.cost[arc] = 0 if is_up else large
        arcs.flow[arc] = abs(supply[node])
        arcs.state[arc] = IN_TREE
        tree.price[node] = 0 if is_up else large
        tree.parent[node], tree.arc[node], tree.is_up[node] = root, arc, is_up
        tree.depth[node], tree.child[node] = 1, NONE
        tree.after[node] = node + 1 if node + 1 < root else NONE
        tree.before[node] = node - 1


@compiled
def _entering(arcs: Arcs, price: Any, num_arcs: int, block: int, place: int) -> Any:
    """Return the best arc of the first block that has one, or −1; and where to look next."""
    best, least = -1, np.int64(0)
    left = block
    for _ in range(num_arcs):
        reduced = arcs.cost[place] + price[arcs.sender[place]] - price[arcs.receiver[place]]
        reduced *= arcs.state[place]
        if reduced < least:
            best, least = place, reduced
        place += 1
        if place == num_arcs:
            place = 0
        left -= 1
        if left == 0:
            if best >= 0:
                break
            left = block
    return best, place


@compiled
def _pivot(arcs: Arcs, tree: Tree, arc: int) -> None:
    """Send what can be sent round the cycle of an arc; the last arc to block it leaves the tree.

    The cycle starts at the join, the node at which the two paths to the root meet, goes down to
    `low`, through the arc, and up from `high`.
    """
    is_empty = arcs.state[arc] == EMPTY
    low, high = arcs.sender[arc], arcs.receiver[arc]
    if not is_empty:
        low, high = high, low
    join = _join(tree, low, high)
    amount, blocked, is_below = arcs.capacity[arc], NONE, True
    node = low
    while node != join:
        room = _room(arcs, tree, node, False)
        if room < amount:
            amount, blocked = room, node
        node = tree.parent[node]
    node = high
    while node != join:
        room = _room(arcs, tree, node, True)
        if room <= amount:
            amount, blocked, is_below = room, node, False
        node = tree.parent[node]
    if amount > 0:
        _send(arcs, tree, low, join, -amount)
        _send(arcs, tree, high, join, amount)
        arcs.flow[arc] += amount if is_empty else -amount
    if blocked == NONE:
        arcs.state[arc] = -arcs.state[arc]
        return
    leaving = tree.arc[blocked]
    arcs.state[leaving] = EMPTY if arcs.flow[leaving] == 0 else FULL
    arcs.state[arc] = IN_TREE
    if not is_below:
        low, high = high, low
    _hang(tree, arc, low, high, blocked, arcs.sender[arc] == low)
    _reprice(arcs.cost[arc], tree, low)


@compiled
def _join(tree: Tree, one: int, other: int) -> int:
    """Return the lowest common ancestor."""
    while one != other:
        if tree.depth[one] >= tree.depth[other]:
            one = tree.parent[one]
        else:
            other = tree.parent[other]
    return one


@compiled
def _room(arcs: Arcs, tree: Tree, node: int, upwards: bool) -> int:
    """Return how much more can be sent from a node to its parent, or back."""
    arc = tree.arc[node]
    if tree.is_up[node] == upwards:
        return arcs.capacity[arc] - arcs.flow[arc]
    return arcs.flow[arc]


@compiled
def _send(arcs: Arcs, tree: Tree, node: int, join: int, amount: int) -> None:
    """Send an amount from a node up to the join; a negative one comes down."""
    while node != join:
        arcs.flow[tree.arc[node]] += amount if tree.is_up[node] else -amount
        node = tree.parent[node]


@compiled
def _hang(tree: Tree, arc: int, top: int, parent: int, last: int, is_up: bool) -> None:
    """Cut the tree above `last` and hang the piece from `parent` by its node `top`.

    Every node from `top` to `last` becomes the parent of the one that was above it.
    """
    node, arc_above, is_up_above = top, arc, is_up
    while True:
        above = tree.parent[node]
        _unlink(tree, node, above)
        _link(tree, node, parent)
        tree.arc[node], arc_above = arc_above, tree.arc[node]
        tree.is_up[node], is_up_above = is_up_above, not tree.is_up[node]
        if node == last:
            return
        parent, node = node, above


@compiled
def _unlink(tree: Tree, node: int, parent: int) -> None:
    before, after = tree.before[node], tree.after[node]
    if before >= 0:
        tree.after[before] = after
    else:
        tree.child[parent] = after
    if after >= 0:
        tree.before[after] = before


@compiled
def _link(tree: Tree, node: int, parent: int) -> None:
    after = tree.child[parent]
    tree.parent[node], tree.before[node], tree.after[node] = parent, NONE, after
    if after >= 0:
        tree.before[after] = node
    tree.child[parent] = node


@compiled
def _reprice(cost: int, tree: Tree, top: int) -> None:
    """Set the prices and depths of a piece that was hung from another place, with an arc's cost."""
    parent = tree.parent[top]
    change = tree.price[parent] + (-cost if tree.is_up[top] else cost) - tree.price[top]
    depth = tree.depth[parent] + 1
    node = top
    while True:
        tree.price[node] += change
        tree.depth[node] = depth
        if tree.child[node] >= 0:
            node = tree.child[node]
            depth += 1
            continue
        while node != top and tree.after[node] < 0:
            node = tree.parent[node]
            depth -= 1
        if node == top:
            return
        node = tree.after[node]
