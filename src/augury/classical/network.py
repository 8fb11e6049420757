"""Arcs with capacities, or a `BipartiteGraph`, become a `FlowNetwork`.

Arcs are stored in pairs: `arc ^ 1` is the reverse of `arc`, so

    sender[arc ^ 1] == receiver[arc]    and    residual[arc] + residual[arc ^ 1] never changes.

Two nodes share at most one pair: parallel arcs are merged (their capacities add), and arcs u → v
and v → u become the two halves of one pair. A node's predecessor therefore names its arc. Self
loops carry no flow from source to sink and are dropped. Capacities are int64, and so is each pair's
sum.
"""

from __future__ import annotations

from array import array as compact_list
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import (
    MAX_CAPACITY,
    IntArray,
    Label,
    WideArray,
    as_capacities,
    capacity_fault,
    equal,
    frozen,
    matrix_of_numbers,
    node_numbers,
    starts_run,
    summed,
    unchecked,
    whole_number,
)
from augury.classical.cost_network import CostNetwork
from augury.classical.graph import (
    MAX_NODES,
    Arcs,
    BipartiteGraph,
    LabelIndex,
    checked_labels,
    unless_numbers,
    unpaired,
)
from augury.classical.sparse import without_zeros
from augury.errors import InputError
from augury.extras import needs

if TYPE_CHECKING:
    import networkx as nx
    import scipy.sparse


@dataclass(frozen=True, eq=False, repr=False)
class FlowNetwork:
    """A directed graph with integer capacities, a source and a sink; it need not be bipartite.

    `capacity` doubles as the residual of the empty flow. Use `from_arcs` for arcs in any order;
    the constructor takes arcs already in pairs and checks them. `with_costs` adds costs.

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

    noun: ClassVar[str] = "flow"
    """What is found in it."""

    def __post_init__(self) -> None:
        self._check_ends()
        sender = node_numbers(self.sender, self.num_nodes, "sending")
        receiver = node_numbers(self.receiver, self.num_nodes, "receiving")
        capacity = as_capacities(self.capacity)
        if not len(sender) == len(receiver) == len(capacity) or len(sender) % 2:
            raise InputError("arcs must come in pairs, each with a sender, receiver and capacity")
        if (sender[::2] != receiver[1::2]).any() or (sender[1::2] != receiver[::2]).any():
            raise InputError("arc ^ 1 must be the reverse of arc")
        if (sender == receiver).any():
            raise InputError("a pair of arcs must join two different nodes")
        _refuse_double_pairs(sender[::2], receiver[::2], self.num_nodes)
        self._keep(sender, receiver, capacity)

    def _check_ends(self) -> None:
        for field in ("num_nodes", "source", "sink"):
            what = "the number of nodes" if field == "num_nodes" else f"the {field}"
            object.__setattr__(self, field, whole_number(getattr(self, field), what))
        if not 2 <= self.num_nodes <= MAX_NODES + 2:
            raise InputError(f"a flow network has at least 2 nodes, not {self.num_nodes}")
        for end, node in (("source", self.source), ("sink", self.sink)):
            if not 0 <= node < self.num_nodes:
                raise InputError(f"the {end} is node {node}, but there are {self.num_nodes} nodes")
        if self.source == self.sink:
            raise InputError(f"source and sink are the same node, {self.source}")

    def _keep(self, sender: IntArray, receiver: IntArray, capacity: WideArray) -> None:
        """Keep arcs that are in pairs, and the labels."""
        if (capacity[::2] > MAX_CAPACITY - capacity[1::2]).any():
            raise InputError(f"the capacities of a pair must add up to at most {MAX_CAPACITY}")
        for name, values in (("sender", sender), ("receiver", receiver), ("capacity", capacity)):
            object.__setattr__(self, name, frozen(values))
        object.__setattr__(self, "labels", checked_labels(self.labels, self.num_nodes, "labels"))

    @classmethod
    def from_arcs(  # noqa: PLR0913  # arcs are three columns, and a network has two ends
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
        key = _pair_keys(tail, head, num_nodes)
        key *= 2
        key += tail > head
        is_arc = tail != head
        if not is_arc.all():
            key, amount = key[is_arc], amount[is_arc]
        del tail, head, is_arc  # a large network is built in little more than its own memory
        key, amount, overflows = summed(key, amount, 2 * int(num_nodes) ** 2)
        if overflows.any():
            raise InputError(f"the capacities of parallel arcs add up to more than {MAX_CAPACITY}")
        columns = _in_pairs(key, amount, num_nodes)
        del key, amount
        made = unchecked(cls, num_nodes, *columns, source, sink, labels)
        made._check_ends()
        made._keep(*columns)
        return made

    @classmethod
    def from_bipartite(cls, graph: BipartiteGraph) -> FlowNetwork:
        """Build the unit-capacity network whose integer flows are the matchings of `graph`."""
        return cls(*graph.as_arcs())

    def with_costs(self, cost: npt.ArrayLike, maximise: bool = False) -> CostNetwork:
        """Return the same network with costs: one for each arc that has capacity, as in `arcs`.

        >>> network = FlowNetwork.from_arcs(3, [0, 1], [1, 2], [5, 4], source=0, sink=2)
        >>> list(network.with_costs([3, -1]).arcs())
        [(0, 1, 5, 3), (1, 2, 4, -1)]
        """
        arcs = np.flatnonzero(self.capacity)
        columns = self.sender[arcs], self.receiver[arcs], self.capacity[arcs], cost
        ends = {"source": self.source, "sink": self.sink, "labels": self.labels}
        return CostNetwork.from_arcs(self.num_nodes, *columns, maximise=maximise, **ends)

    def as_arcs(self) -> Arcs:
        """Return the bare arrays."""
        ends = self.sender, self.receiver
        return Arcs(self.num_nodes, *ends, self.capacity, self.source, self.sink)

    @classmethod
    def from_labelled_arcs(
        cls,
        arcs: Iterable[tuple[Label, Label, int]],
        source: Label,
        sink: Label,
        labels: Sequence[Label] | None = None,
    ) -> FlowNetwork:
        """Build a network from (tail, head, capacity); labels as in `BipartiteGraph.from_edges`.

        >>> FlowNetwork.from_labelled_arcs([("s", "a", 3), ("a", "t", 2)], "s", "t").labels
        ('s', 'a', 't')
        """
        index = LabelIndex(labels, "")
        tails, heads, capacities = compact_list("i"), compact_list("i"), list[Any]()
        for position, arc in enumerate(arcs):
            try:
                tail, head, capacity = arc
                tails.append(index[tail])
                heads.append(index[head])
            except (TypeError, ValueError) as error:
                raise unpaired(f"arc {position}", arc, error, "(tail, head, capacity)") from None
            capacities.append(capacity)
        try:
            ends = index[source], index[sink]
        except TypeError:
            raise InputError("source and sink must be hashable, such as text or numbers") from None
        names = tuple(index)
        few = _few_in_pairs(tails, heads, capacities) if len(capacities) <= FEW else None
        if few is not None:
            made = unchecked(cls, len(names), *map(frozen, few), *ends, unless_numbers(names))
            made._check_ends()
            return made
        columns = np.asarray(tails), np.asarray(heads), capacities
        return cls.from_arcs(len(names), *columns, source=ends[0], sink=ends[1], labels=names)

    @classmethod
    def from_dense(cls, matrix: npt.ArrayLike, source: int, sink: int) -> FlowNetwork:
        """Read a square matrix whose entry (u, v) is the capacity of the arc u → v."""
        array = matrix_of_numbers(matrix, "capacity matrix")
        _refuse_oblong(array.shape)
        tail, head = np.nonzero(array)
        amount = array[tail, head]
        return cls.from_arcs(len(array), tail, head, amount, source=source, sink=sink)

    def to_dense(self) -> WideArray:
        """Return the capacity matrix, which must fit in memory."""
        return self.to_scipy().toarray()

    @classmethod
    def from_scipy(
        cls, matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, source: int, sink: int
    ) -> FlowNetwork:
        """Read a square sparse capacity matrix; duplicates add up exactly, zeros are no arcs."""
        coo = without_zeros(matrix)
        _refuse_oblong(coo.shape)
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

        An undirected edge carries flow either way. A missing or infinite capacity means no limit:
        it is stored as one more than the sum of all finite capacities, which no flow can fill.

        Raises:
            InputError: source or sink is not a node, a capacity is not a whole number of at least
                0, or a path of unlimited arcs makes the flow unbounded.
        """
        import networkx as nx

        for end, node in (("source", source), ("sink", sink)):
            if node not in graph:
                raise InputError(f"the {end} {node!r} is not in the graph")
        if source == sink:
            raise InputError(f"source and sink are the same node, {source!r}")
        arcs: list[tuple[Label, Label, int | None]] = []
        for u, v, amount in cast("Any", graph).edges(data=capacity):
            limit = None if amount is None or amount == float("inf") else amount
            fault = "" if limit is None else capacity_fault(limit)
            if fault:
                raise InputError(f"the capacity of the edge {u!r}, {v!r} {fault}")
            arcs.append((u, v, limit))
            if not graph.is_directed():
                arcs.append((v, u, limit))
        unlimited: nx.DiGraph[Any] = nx.DiGraph((u, v) for u, v, limit in arcs if limit is None)
        unlimited.add_nodes_from([source, sink])
        if cast("Any", nx).has_path(unlimited, source, sink):
            raise InputError(f"the flow from {source!r} to {sink!r} is unbounded: no arc limits it")
        enough = 1 + sum(int(limit) for _, _, limit in arcs if limit is not None)
        limited = ((u, v, enough if limit is None else limit) for u, v, limit in arcs)
        return cls.from_labelled_arcs(limited, source, sink, list(graph))

    def to_networkx(self) -> nx.DiGraph[Any]:
        """Return a NetworkX digraph with the attribute `capacity` and the labels as node names."""
        with needs("to_networkx"):
            import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph()
        graph.add_nodes_from(self.label(node) for node in range(self.num_nodes))
        for tail, head, capacity in self.arcs():
            graph.add_edge(tail, head, capacity=capacity)
        return graph

    @property
    def kind(self) -> tuple[type, bool]:
        """The class, and whether there are costs: an algorithm treats graphs of one kind alike."""
        return FlowNetwork, False

    @property
    def words(self) -> str:
        """What it is, and its size."""
        return f"a network of {self.num_nodes:,} nodes and {self.num_arcs // 2:,} arc pairs"

    @property
    def num_arcs(self) -> int:
        """The number of arcs, reverse arcs included: always even."""
        return len(self.sender)

    def label(self, node: int) -> Label:
        """The user's name for a node."""
        return node if self.labels is None else self.labels[node]

    def arcs(self) -> Iterator[tuple[Label, Label, int]]:
        """Yield (tail, head, capacity) with the user's labels for each arc that has capacity."""
        return self._told(np.flatnonzero(self.capacity), self.capacity)

    def labelled(self, found: WideArray) -> list[tuple[Label, Label, int]]:
        """Return (tail, head, amount) with the user's labels for each arc that carries flow."""
        return list(self._told(np.flatnonzero(found > 0), found))

    def _told(self, arcs: WideArray, amount: WideArray) -> Iterator[tuple[Label, Label, int]]:
        columns = (values[arcs].tolist() for values in (self.sender, self.receiver, amount))
        for tail, head, value in zip(*columns, strict=True):
            yield self.label(tail), self.label(head), value

    def found(self, residual: WideArray) -> WideArray:
        """Return the net flow of each arc; `flow[arc] == -flow[arc ^ 1]`."""
        return self.capacity - residual

    def amounts_from(self, arcs: Iterable[tuple[Label, Label, int]]) -> WideArray:
        """Return what each arc carries, given (tail, head, amount) with the user's labels.

        Amounts on the same arc add up. What flows back from head to tail is on another arc, which
        has its own capacity, and is not subtracted.

        Raises:
            InputError: an unknown label or arc.
        """
        index = LabelIndex(self.labels or range(self.num_nodes), "")
        ends, amounts = compact_list("q"), compact_list("q")
        for position, entry in enumerate(arcs):
            try:
                tail, head, amount = entry
                ends.extend((index[tail], index[head]))
            except (TypeError, ValueError) as error:
                raise unpaired(f"entry {position}", entry, error, "(tail, head, amount)") from None
            fault = capacity_fault(amount)
            if fault:
                raise InputError(f"the flow from {tail!r} to {head!r} {fault}")
            amounts.append(int(amount))
        tails, heads = np.asarray(ends).reshape(-1, 2).T
        numbers = self.arc_index(tails, heads)
        if (numbers < 0).any():
            first = int((numbers < 0).argmax())
            tail, head = self.label(int(tails[first])), self.label(int(heads[first]))
            raise InputError(f"there is no arc from {tail!r} to {head!r}")
        return self.amounts_on(numbers, amounts)

    def arc_index(self, tail: WideArray, head: WideArray) -> WideArray:
        """Return the arc of each pair of nodes, −1 where there is none."""
        key = self.sender.astype(np.int64) * self.num_nodes + self.receiver
        order = np.argsort(key)
        wanted = tail * self.num_nodes + head
        position = np.searchsorted(key, wanted, sorter=order)
        arc = np.append(order, -1)[position]
        return np.where(np.append(key, -1)[arc] == wanted, arc, -1)

    def amounts_on(self, arcs: WideArray, amounts: Sequence[int]) -> WideArray:
        """Return what each arc carries, given amounts on some arcs; those on the same arc add up.

        Raises:
            InputError: a sum is beyond 64 bits.
        """
        arcs, total, overflows = summed(arcs, np.asarray(amounts, np.int64), self.num_arcs)
        if overflows.any():
            told = "the flow on one arc adds up to"
            raise InputError(f"{told} more than {MAX_CAPACITY}, beyond 64 bits")
        carried = np.zeros(self.num_arcs, np.int64)
        carried[arcs] = total
        return carried

    def value(self, residual: WideArray) -> int:
        """Return the net flow out of the source, as a Python int: the sum may exceed int64."""
        out = self.sender == self.source
        return sum(self.capacity[out].tolist()) - sum(residual[out].tolist())

    def __eq__(self, other: object) -> bool:
        return equal(self, other) if isinstance(other, FlowNetwork) else NotImplemented

    def __repr__(self) -> str:
        ends = f"{self.label(self.source)} → {self.label(self.sink)}"
        return f"FlowNetwork({self.num_nodes:,} nodes, {self.num_arcs // 2:,} arc pairs, {ends})"


Graph = BipartiteGraph | FlowNetwork | CostNetwork
Graphs = Sequence[Graph]


def _pair_keys(u: IntArray, v: IntArray, num_nodes: int) -> WideArray:
    """Return a number for each unordered pair of nodes."""
    key = np.minimum(u, v).astype(np.int64)
    key *= num_nodes
    key += np.maximum(u, v)
    return key


def _in_pairs(
    key: WideArray, amount: WideArray, num_nodes: int
) -> tuple[IntArray, IntArray, WideArray]:
    """Return sender, receiver and capacity of the pairs whose arcs have these sorted keys."""
    is_odd = (key & 1).astype(np.bool_)
    key = key >> 1
    is_new = starts_run(key)
    place = np.cumsum(is_new)  # the pair of each arc, from 1
    place -= 1
    place *= 2
    place += is_odd
    key = key[is_new]
    both = np.zeros((len(key), 2), np.int64)
    both.reshape(-1)[place] = amount
    del place
    ends = np.empty((len(key), 2), np.int32)
    ends[:, 0], ends[:, 1] = np.divmod(key, num_nodes)
    backward = both[:, 0] == 0
    both[backward] = both[backward, ::-1]
    ends[backward] = ends[backward, ::-1]
    return ends.reshape(-1), ends[:, ::-1].reshape(-1), both.reshape(-1)


FEW = 2**7
"""Up to this many arcs, plain Python pairs them faster than arrays do."""


def _few_in_pairs(
    tails: Sequence[int], heads: Sequence[int], capacities: Sequence[Any]
) -> tuple[IntArray, IntArray, WideArray] | None:
    """Do as `from_arcs` does, or return None if a capacity may have to be refused."""
    if set(map(type, capacities)) - {int} or min(capacities, default=0) < 0:
        return None
    if max(capacities, default=0) >= 2**50:
        return None
    up: dict[tuple[int, int], int] = {}
    down: dict[tuple[int, int], int] = {}
    for tail, head, amount in zip(tails, heads, capacities, strict=True):
        if tail < head:
            up[tail, head] = up.get((tail, head), 0) + amount
        elif tail > head:
            down[head, tail] = down.get((head, tail), 0) + amount
    sender, receiver, capacity = list[int](), list[int](), list[int]()
    for ends in sorted({**up, **down}):
        there, back = up.get(ends, 0), down.get(ends, 0)
        low, high = ends
        if not there:
            low, high, there, back = high, low, back, 0
        sender += (low, high)
        receiver += (high, low)
        capacity += (there, back)
    return np.array(sender, np.int32), np.array(receiver, np.int32), np.array(capacity, np.int64)


def _refuse_oblong(shape: tuple[int, ...]) -> None:
    if shape[0] != shape[1]:
        raise InputError(f"a capacity matrix is square, not {shape[0]} x {shape[1]}")


def _refuse_double_pairs(low: IntArray, high: IntArray, num_nodes: int) -> None:
    key = _pair_keys(low, high, num_nodes)
    if (key[1:] > key[:-1]).all():  # as the class methods make them
        return
    key.sort()
    double = np.flatnonzero(key[1:] == key[:-1])
    if len(double):
        u, v = divmod(int(key[double[0]]), num_nodes)
        raise InputError(f"the nodes {u} and {v} share more than one pair of arcs")
