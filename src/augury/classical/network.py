"""Arcs with capacities become a `FlowNetwork`; a `BipartiteGraph` becomes the network of its matchings.

Arcs are stored in pairs: `arc ^ 1` is the reverse of `arc`, so

    sender[arc ^ 1] == receiver[arc]    and    residual[arc] + residual[arc ^ 1] never changes.

Two nodes share at most one pair: parallel arcs are merged (their capacities add), and arcs u → v and
v → u become the two halves of one pair. A node's predecessor therefore names its arc. Self loops
carry no flow from source to sink and are dropped. Capacities are int64, and so is each pair's sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.classical.graph import (
    MAX_NODES,
    BipartiteGraph,
    InputError,
    IntArray,
    Label,
    LabelIndex,
    WideArray,
    checked_labels,
    frozen,
    node_numbers,
    without_zeros,
)

if TYPE_CHECKING:
    import networkx as nx
    import scipy.sparse

MAX_CAPACITY = 2**63 - 1
"""The largest capacity, and the largest sum of a pair, that int64 holds."""


@dataclass(frozen=True, eq=False, repr=False)
class FlowNetwork:
    """A directed network with integer capacities, a source and a sink; not only bipartite ones.

    `capacity` doubles as the residual of the empty flow. Use `from_arcs` for arcs in any order;
    the constructor takes arcs already in pairs and checks them.

    >>> FlowNetwork.from_arcs(3, [0, 1], [1, 2], [5, 4], source=0, sink=2)
    FlowNetwork(3 nodes, 2 arc pairs, 0 → 2)
    """

    num_nodes: int
    sender: IntArray
    receiver: IntArray
    capacity: WideArray
    source: int
    sink: int
    labels: Sequence[Label] | None = None

    def __post_init__(self) -> None:
        if not 2 <= self.num_nodes <= MAX_NODES + 2:
            raise InputError(f"a flow network has at least 2 nodes, not {self.num_nodes}")
        for end, node in (("source", self.source), ("sink", self.sink)):
            if not 0 <= node < self.num_nodes:
                raise InputError(f"the {end} is node {node}, but there are {self.num_nodes} nodes")
        if self.source == self.sink:
            raise InputError(f"source and sink are the same node, {self.source}")
        sender = node_numbers(self.sender, self.num_nodes, "sending")
        receiver = node_numbers(self.receiver, self.num_nodes, "receiving")
        capacity = as_capacities(self.capacity)
        if not len(sender) == len(receiver) == len(capacity) or len(sender) % 2:
            raise InputError("arcs must come in pairs, each with a sender, receiver and capacity")
        if (sender[::2] != receiver[1::2]).any() or (sender[1::2] != receiver[::2]).any():
            raise InputError("arc ^ 1 must be the reverse of arc")
        if (sender == receiver).any():
            raise InputError("a pair of arcs must join two different nodes")
        if (capacity[::2] > MAX_CAPACITY - capacity[1::2]).any():
            raise InputError(f"the capacities of a pair must add up to at most {MAX_CAPACITY}")
        object.__setattr__(self, "sender", frozen(sender))
        object.__setattr__(self, "receiver", frozen(receiver))
        object.__setattr__(self, "capacity", frozen(capacity))
        object.__setattr__(self, "labels", checked_labels(self.labels, self.num_nodes, "labels"))

    @classmethod
    def from_arcs(
        cls,
        num_nodes: int,
        tail: npt.ArrayLike,
        head: npt.ArrayLike,
        capacity: npt.ArrayLike,
        *,
        source: int,
        sink: int,
        labels: Sequence[Label] | None = None,
    ) -> FlowNetwork:
        """Merge arcs given in any order into pairs, sorted by their smaller and larger node.

        The even arc of a pair is the one with capacity; where both have some, it goes from the
        smaller node number to the larger.
        """
        tail = node_numbers(tail, num_nodes, "sending")
        head = node_numbers(head, num_nodes, "receiving")
        amount = as_capacities(capacity)
        if not len(tail) == len(head) == len(amount):
            raise InputError("every arc needs a tail, a head and a capacity")
        low, high = np.minimum(tail, head), np.maximum(tail, head)
        key = (low.astype(np.int64) * num_nodes + high) * 2 + (tail > head)
        del low, high
        key, amount = _merged(key[tail != head], amount[tail != head])
        pair, position = np.unique(key >> 1, return_inverse=True)
        both = np.zeros((len(pair), 2), np.int64)
        both[position, key & 1] = amount
        ends = np.stack([pair // num_nodes, pair % num_nodes], axis=1).astype(np.int32)
        backward = both[:, 0] == 0
        both[backward] = both[backward, ::-1]
        ends[backward] = ends[backward, ::-1]
        return cls(
            num_nodes,
            ends.reshape(-1),
            ends[:, ::-1].reshape(-1),
            both.reshape(-1),
            source,
            sink,
            labels,
        )

    @classmethod
    def from_bipartite(cls, graph: BipartiteGraph) -> FlowNetwork:
        """Build the unit network whose integer flows are the matchings of `graph` (paper, section 1).

        Node 0 is the source; left node i is 1 + i; right node j is 1 + num_left + j; the sink is
        last. Pairs: source to each left node, then the edges in order, then each right node to the
        sink; even arcs have capacity 1, odd ones 0.
        """
        num_left, num_right = graph.num_left, graph.num_right
        sink = 1 + num_left + num_right
        ends = np.empty((num_left + graph.num_edges + num_right, 2), np.int32)
        first, edges, last = np.split(ends, [num_left, num_left + graph.num_edges])
        first[:, 0], first[:, 1] = 0, 1 + np.arange(num_left)
        edges[:, 0], edges[:, 1] = 1 + graph.left, 1 + num_left + graph.right
        last[:, 0], last[:, 1] = 1 + num_left + np.arange(num_right), sink
        capacity = np.zeros(2 * len(ends), np.int64)
        capacity[::2] = 1
        return cls(sink + 1, ends.reshape(-1), ends[:, ::-1].reshape(-1), capacity, 0, sink)

    @classmethod
    def from_labelled_arcs(
        cls,
        arcs: Iterable[tuple[Label, Label, int]],
        source: Label,
        sink: Label,
        labels: Sequence[Label] | None = None,
    ) -> FlowNetwork:
        """Build a network from (tail, head, capacity) with any labels; see `BipartiteGraph.from_edges`.

        >>> FlowNetwork.from_labelled_arcs([("s", "a", 3), ("a", "t", 2)], "s", "t").labels
        ('s', 'a', 't')
        """
        index = LabelIndex(labels, "")
        tails, heads, capacities = [], [], []
        for position, arc in enumerate(arcs):
            try:
                tail, head, capacity = arc
                tails.append(index.number(tail))
                heads.append(index.number(head))
            except (TypeError, ValueError) as error:
                reason = (
                    error if isinstance(error, InputError) else "expected (tail, head, capacity)"
                )
                raise InputError(f"arc {position} is {arc!r}: {reason}") from None
            capacities.append(capacity)
        ends = index.number(source), index.number(sink)
        names = index.labels()
        capacity = as_capacities(capacities)
        return cls.from_arcs(
            len(names), tails, heads, capacity, source=ends[0], sink=ends[1], labels=names
        )

    @classmethod
    def from_dense(cls, matrix: npt.ArrayLike, source: int, sink: int) -> FlowNetwork:
        """Read a square matrix whose entry (u, v) is the capacity of the arc u → v."""
        import scipy.sparse

        array = np.asarray(matrix)
        if array.ndim != 2:
            raise InputError(f"a capacity matrix has two dimensions, not {array.ndim}")
        return cls.from_scipy(scipy.sparse.coo_array(array), source, sink)

    def to_dense(self) -> WideArray:
        """Return the capacity matrix; only for networks of few nodes."""
        return self.to_scipy().toarray()

    @classmethod
    def from_scipy(
        cls, matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, source: int, sink: int
    ) -> FlowNetwork:
        """Read a square sparse capacity matrix; duplicate entries are summed, zeros are not arcs."""
        coo = without_zeros(matrix)
        if coo.shape[0] != coo.shape[1]:
            raise InputError(f"a capacity matrix is square, not {coo.shape[0]} x {coo.shape[1]}")
        return cls.from_arcs(coo.shape[0], coo.row, coo.col, coo.data, source=source, sink=sink)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return the capacity matrix as a CSR array of int64."""
        import scipy.sparse

        arcs = np.flatnonzero(self.capacity)
        entries = self.capacity[arcs], (self.sender[arcs], self.receiver[arcs])
        return scipy.sparse.csr_array(entries, shape=(self.num_nodes, self.num_nodes))

    @classmethod
    def from_networkx(
        cls, graph: nx.Graph[Any], source: Label, sink: Label, capacity: str = "capacity"
    ) -> FlowNetwork:
        """Read a NetworkX graph as NetworkX's own flow functions do.

        An undirected edge carries flow either way. A missing or infinite capacity has no limit; it is
        stored as one more than all finite capacities together, which no flow can fill.

        Raises:
            InputError: source or sink is not a node, a capacity is not a whole number of at least 0,
                or a path of unlimited arcs makes the flow unbounded.
        """
        for end, node in (("source", source), ("sink", sink)):
            if node not in graph:
                raise InputError(f"the {end} {node!r} is not in the graph")
        ends, amounts = [], []
        for u, v, amount in graph.edges(data=capacity):
            both = ((u, v), (v, u)) if not graph.is_directed() else ((u, v),)
            ends += both
            amounts += [None if amount is None or amount == float("inf") else amount] * len(both)
        finite = as_capacities([amount for amount in amounts if amount is not None])
        enough = 1 + sum(finite.tolist())
        _refuse_unbounded(
            [arc for arc, amount in zip(ends, amounts, strict=True) if amount is None], source, sink
        )
        arcs = (
            (u, v, enough if amount is None else amount)
            for (u, v), amount in zip(ends, amounts, strict=True)
        )
        return cls.from_labelled_arcs(arcs, source, sink, list(graph))

    def to_networkx(self) -> nx.DiGraph[Any]:
        """Return a NetworkX digraph with the attribute `capacity` and the labels as node names."""
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph()
        graph.add_nodes_from(self.label(node) for node in range(self.num_nodes))
        for tail, head, capacity in self.arcs():
            graph.add_edge(tail, head, capacity=capacity)
        return graph

    @property
    def num_arcs(self) -> int:
        """The number of arcs, reverse ones included: always even."""
        return len(self.sender)

    def label(self, node: int) -> Label:
        """The user's name of a node."""
        return node if self.labels is None else self.labels[node]

    def arcs(self) -> Iterator[tuple[Label, Label, int]]:
        """Yield (tail, head, capacity) with the user's labels for each arc that has capacity."""
        return self._labelled(np.flatnonzero(self.capacity), self.capacity)

    def flow_arcs(self, flow: WideArray) -> Iterator[tuple[Label, Label, int]]:
        """Yield (tail, head, amount) with the user's labels for each arc that carries flow."""
        return self._labelled(np.flatnonzero(flow > 0), flow)

    def _labelled(self, arcs: WideArray, amount: WideArray) -> Iterator[tuple[Label, Label, int]]:
        ends = zip(self.sender[arcs].tolist(), self.receiver[arcs].tolist(), strict=True)
        for (tail, head), value in zip(ends, amount[arcs].tolist(), strict=True):
            yield self.label(tail), self.label(head), value

    def flow(self, residual: WideArray) -> WideArray:
        """Return the net flow of each arc; `flow[arc] == -flow[arc ^ 1]`."""
        return self.capacity - residual

    def flow_from(self, arcs: Iterable[tuple[Label, Label, int]]) -> WideArray:
        """Return the net flow of each arc from (tail, head, amount) with the user's labels.

        Amounts on the same arc add up; what goes back from head to tail is taken off.

        Raises:
            InputError: a label or an arc that the network does not have.
        """
        index = LabelIndex(self.labels or range(self.num_nodes), "")
        lookup = {
            (tail, head): arc
            for arc, (tail, head) in enumerate(
                zip(self.sender.tolist(), self.receiver.tolist(), strict=True)
            )
        }
        total: dict[int, int] = {}
        for tail, head, amount in arcs:
            arc = lookup.get((index.number(tail), index.number(head)))
            if arc is None:
                raise InputError(f"there is no arc from {tail!r} to {head!r}")
            fault = capacity_fault(amount)
            if fault:
                raise InputError(f"the flow from {tail!r} to {head!r} {fault}")
            sign = 1 if arc % 2 == 0 else -1
            total[arc // 2] = total.get(arc // 2, 0) + sign * int(amount)
        flow = np.zeros(self.num_arcs, np.int64)
        for pair, amount in total.items():
            if abs(amount) > MAX_CAPACITY:
                raise InputError(f"a flow of {abs(amount)} is beyond 64 bits")
            flow[2 * pair], flow[2 * pair + 1] = amount, -amount
        return flow

    def value(self, residual: WideArray) -> int:
        """Return how much flow leaves the source, as a Python int: a sum may pass int64."""
        out = self.sender == self.source
        return sum(self.capacity[out].tolist()) - sum(residual[out].tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FlowNetwork):
            return NotImplemented
        ends = (self.num_nodes, self.source, self.sink, self.labels)
        return (
            ends == (other.num_nodes, other.source, other.sink, other.labels)
            and np.array_equal(self.sender, other.sender)
            and np.array_equal(self.receiver, other.receiver)
            and np.array_equal(self.capacity, other.capacity)
        )

    __hash__ = None  # type: ignore[assignment]  # compared by value, like the arrays it holds

    def __repr__(self) -> str:
        ends = f"{self.label(self.source)} → {self.label(self.sink)}"
        return f"FlowNetwork({self.num_nodes:,} nodes, {self.num_arcs // 2:,} arc pairs, {ends})"


def as_capacities(values: npt.ArrayLike | Sequence[Any]) -> WideArray:
    """Return capacities as int64; whole floats are taken, anything else is refused by position."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and not isinstance(values, np.ndarray):
        array = np.array(values, object)  # a float among Python ints must not round the others
    if array.ndim != 1:
        raise InputError(f"capacities must be one row of numbers, not {array.ndim}-dimensional")
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind in "biu":
        wrong = (array < 0) | (array > MAX_CAPACITY)
    elif array.dtype.kind == "f":
        # 2.0 ** 63 is the smallest float beyond int64; NaN fails every comparison.
        wrong = ~((array >= 0) & (array < 2.0**63) & (array == np.floor(array)))
    else:
        # A list with a Python int beyond 64 bits becomes an array of objects.
        wrong = np.array([capacity_fault(x) != "" for x in array.tolist()])
    if wrong.any():
        position = int(wrong.argmax())
        raise InputError(f"capacity {position} {capacity_fault(array[position])}")
    return array.astype(np.int64)


def capacity_fault(value: object) -> str:
    """Say what is wrong with a capacity, in words that follow "the capacity"; "" if nothing is."""
    if not isinstance(value, int | float | np.number):
        return f"is {value!r}, not a whole number"
    if isinstance(value, float | np.floating) and not float(value).is_integer():
        return f"is {value}, not a whole number"
    if value < 0:
        return f"is {value}, which is negative"
    if value > MAX_CAPACITY:
        return f"is {value}, beyond 64 bits (the largest is {MAX_CAPACITY})"
    return ""


def _merged(key: WideArray, amount: WideArray) -> tuple[WideArray, WideArray]:
    """Sum the amounts of equal keys; returns the different keys, sorted, and their sums."""
    order = np.argsort(key, kind="stable")
    key, amount = key[order], amount[order]
    if not len(key):
        return key, amount
    starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    # Sums of 2³¹ halves of 32 bits fit in 64, so the carry tells an overflow without overflowing.
    low = np.add.reduceat(amount & 0xFFFFFFFF, starts)
    high = np.add.reduceat(amount >> 32, starts) + (low >> 32)
    if (high >= 2**31).any():
        raise InputError(f"the capacities of parallel arcs add up to more than {MAX_CAPACITY}")
    return key[starts], (high << 32) | (low & 0xFFFFFFFF)


def _refuse_unbounded(unlimited: list[tuple[Label, Label]], source: Label, sink: Label) -> None:
    heads: dict[Label, list[Label]] = {}
    for u, v in unlimited:
        heads.setdefault(u, []).append(v)
    reached, queue = {source}, [source]
    for node in queue:
        new = [v for v in heads.get(node, []) if v not in reached]
        reached.update(new)
        queue += new
    if sink in reached:
        raise InputError(f"the flow from {source!r} to {sink!r} is unbounded: no arc limits it")
