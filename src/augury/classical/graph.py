"""Edges between two sets of nodes become a `BipartiteGraph`, where everything else starts.

Invariants: `left` and `right` are read-only int32 arrays of equal length, sorted by (left, right)
and free of duplicates, so graphs with the same edges hold the same bytes. Memory grows with the
edges, never with the product of the sides. Labels belong to the user; inside, nodes are numbers.
"""

from __future__ import annotations

from array import array as compact_list
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import (
    BoolArray,
    IntArray,
    Label,
    Labels,
    Numbers,
    WideArray,
    equal,
    frozen,
    matrix_of_numbers,
    node_numbers,
    ordered,
    refuse_nan,
    starts_run,
    whole_number,
)
from augury.classical.costs import Costs, no_edge, of_edges
from augury.classical.sides import networkx_sides
from augury.classical.sparse import stored_entries, without_zeros
from augury.errors import InputError
from augury.extras import needs

if TYPE_CHECKING:
    import networkx as nx
    import scipy.sparse


MAX_NODES = 2**31 - 3
"""Nodes are int32, and the flow network of a bipartite graph adds a source and a sink."""


FEW = 2**6
"""Up to this many edges are sorted in plain Python."""

NO_EDGES = np.zeros((0, 2), np.int32)


class Arcs(NamedTuple):
    """A flow network as bare arrays, its arcs in pairs; see `network.FlowNetwork`."""

    num_nodes: int
    sender: IntArray
    receiver: IntArray
    capacity: WideArray
    source: int
    sink: int


@dataclass(frozen=True, eq=False, repr=False)
class BipartiteGraph:
    """An undirected graph in which every edge joins a left node to a right node.

    The constructor takes node numbers in any order and merges duplicate edges. `left_labels[i]` is
    the user's name for left node i; None means that the nodes are called 0, 1, 2, …. The sides are
    separate: left 0 and right 0 are two nodes.

    >>> BipartiteGraph(2, 3, np.array([1, 0, 1]), np.array([2, 0, 2]))
    BipartiteGraph(2 + 3 nodes, 2 edges)
    """

    num_left: int
    num_right: int
    left: Numbers
    right: Numbers
    left_labels: Labels | None = None
    right_labels: Labels | None = None
    costs: Costs | None = field(default=None, kw_only=True)
    """What each edge costs; the constructor takes a row of numbers as well."""

    noun: ClassVar[str] = "matching"
    """What is found in it."""

    def __post_init__(self) -> None:
        for side, count in (("left", self.num_left), ("right", self.num_right)):
            whole = whole_number(count, f"the number of {side} nodes")
            _refuse_count(whole, side)
            object.__setattr__(self, f"num_{side}", whole)
        left = node_numbers(self.left, self.num_left, "left")
        right = node_numbers(self.right, self.num_right, "right")
        if len(left) != len(right):
            raise InputError(f"{len(left)} left ends do not pair with {len(right)} right ends")
        if self.costs is None:
            left, right = distinct(left, right, self.num_right)
        else:
            left, right = self._sort_costs(left, right)
        object.__setattr__(self, "left", frozen(left))
        object.__setattr__(self, "right", frozen(right))
        for side, count in (("left_labels", self.num_left), ("right_labels", self.num_right)):
            object.__setattr__(self, side, checked_labels(getattr(self, side), count, side))

    @classmethod
    def of_known(
        cls, left: IntArray, right: IntArray, left_labels: Labels, right_labels: Labels
    ) -> BipartiteGraph:
        """Return a graph without costs, from node numbers and labels known to be right."""
        if len(left) <= FEW:  # faster than arrays
            few = sorted(set(zip(left.tolist(), right.tolist(), strict=True)))
            left, right = np.array(few, np.int32).reshape(-1, 2).T
        else:
            left, right = distinct(left, right, len(right_labels))
        sizes = len(left_labels), len(right_labels)
        return cls._sorted(*sizes, left, right, tuple(left_labels), tuple(right_labels))

    @classmethod
    def _sorted(  # the fields of a graph
        cls,
        num_left: int,
        num_right: int,
        left: Numbers,
        right: Numbers,
        left_labels: tuple[Label, ...] = (),
        right_labels: tuple[Label, ...] = (),
    ) -> BipartiteGraph:
        """Return a graph without costs, from sorted edges and labels known to be right."""
        _refuse_count(num_left, "left")
        _refuse_count(num_right, "right")
        # Copies: they may be the user's own.
        left, right = np.array(left, np.int32), np.array(right, np.int32)
        left.flags.writeable = right.flags.writeable = False
        made = object.__new__(cls)
        vars(made).update(num_left=num_left, num_right=num_right, left=left, right=right)
        names = unless_numbers(left_labels), unless_numbers(right_labels)
        vars(made).update(left_labels=names[0], right_labels=names[1], costs=None)
        return made

    def _sort_costs(self, left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
        """Sort edges and their costs; an edge that is given twice must cost the same."""
        costs = Costs.of(self.costs, self.num_left + self.num_right + 2)
        if len(costs.amount) != len(left):
            raise InputError(f"{len(costs.amount)} costs do not pair with {len(left)} edges")
        key = left.astype(np.int64) * self.num_right + right
        if not (key[1:] > key[:-1]).all():
            order, key = ordered(key, self.num_left * self.num_right)
            amount = costs.amount[order]
            is_new = starts_run(key)
            again = np.flatnonzero(~is_new)
            differ = again[amount[again] != amount[again - 1]]
            if len(differ):
                both = np.sort(order[differ[0] - 1 : differ[0] + 1])
                told = ", ".join(f"{costs.worth(int(x))}" for x in costs.amount[both])
                ends = int(left[both[0]]), int(right[both[0]])
                names = self.left_labels or range(self.num_left), self.right_labels
                other = (names[1] or range(self.num_right))[ends[1]]
                raise InputError(f"the edge {names[0][ends[0]]!r}, {other!r} has two costs, {told}")
            kept = order[is_new]
            left, right, costs = left[kept], right[kept], costs.select(kept)
        object.__setattr__(self, "costs", costs)
        return left, right

    @classmethod
    def from_costs(cls, matrix: Any, maximise: bool = False) -> BipartiteGraph:
        """Read a matrix of costs: every entry is an edge, even 0, but for those infinitely bad.

        In a SciPy sparse matrix every stored entry is one; duplicates are summed, as SciPy does.

        >>> BipartiteGraph.from_costs([[4, 1], [2, float("inf")]])
        BipartiteGraph(2 + 2 nodes, 3 edges with costs)
        """
        if hasattr(matrix, "tocoo"):
            coo = stored_entries(matrix)
            exists, costs = of_edges(coo.data, sum(coo.shape) + 2, maximise)
            ends = [side if exists is None else side[exists] for side in (coo.row, coo.col)]
            return cls(coo.shape[0], coo.shape[1], ends[0], ends[1], costs=costs)
        array = matrix_of_numbers(matrix, "matrix of costs")
        missing = no_edge(array, maximise)
        is_edge = np.ones(array.shape, np.bool_) if missing is None else ~missing
        left, right = np.nonzero(is_edge)
        costs = Costs.of(array[is_edge], sum(array.shape) + 2, maximise)
        return cls(array.shape[0], array.shape[1], left, right, costs=costs)

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[Label, Label]],
        left_labels: Labels | None = None,
        right_labels: Labels | None = None,
        *,
        costs: Any = None,
        maximise: bool = False,
    ) -> BipartiteGraph:
        """Build a graph from pairs of labels; nodes are numbered as they first appear.

        Labels given for a side fix its nodes and their order, which allows isolated nodes; an edge
        to any other label is refused. `costs` has a number for each edge; one that is infinitely
        bad is no edge.

        >>> graph = BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("ann", "sing")])
        >>> graph.left_labels, graph.right_labels
        (('ann', 'bob'), ('cook', 'sing'))
        """
        sides = LabelIndex(left_labels, "left"), LabelIndex(right_labels, "right")
        numbers, expected = compact_list("i"), "a pair of hashable labels"
        append, (left_number, right_number) = numbers.append, sides
        for position, edge in enumerate(edges):
            try:
                left, right = edge
                append(left_number[left])
                append(right_number[right])
            except (TypeError, ValueError) as error:
                raise unpaired(f"edge {position}", edge, error, expected) from None
        labels = [tuple(side) for side in sides]
        ends = np.frombuffer(numbers, np.int32).reshape(-1, 2) if numbers else NO_EDGES
        if costs is None:
            return cls.of_known(ends[:, 0], ends[:, 1], *labels)
        counts = len(labels[0]), len(labels[1])
        exists, costs = of_edges(costs, sum(counts) + 2, maximise)
        ends = ends if exists is None else ends[exists]
        return cls(*counts, ends[:, 0], ends[:, 1], *labels, costs=costs)

    @classmethod
    def from_dense(cls, matrix: npt.ArrayLike) -> BipartiteGraph:
        """Read a biadjacency matrix: rows are left nodes, columns right nodes, non-zeros edges.

        Only the structure counts: the values of the entries make no difference.
        """
        array = matrix_of_numbers(matrix, "biadjacency matrix")
        refuse_nan(array, "the biadjacency matrix")
        left, right = np.nonzero(array)
        return cls._sorted(array.shape[0], array.shape[1], left, right)

    def to_dense(self) -> BoolArray:
        """Return the biadjacency matrix, which must fit in memory."""
        matrix = np.zeros((self.num_left, self.num_right), np.bool_)
        matrix[self.left, self.right] = True
        return matrix

    @classmethod
    def from_scipy(cls, matrix: scipy.sparse.sparray | scipy.sparse.spmatrix) -> BipartiteGraph:
        """Read the structure of a sparse biadjacency matrix, whatever numbers it holds.

        Duplicate entries are summed, as SciPy does on every conversion, but exactly; an entry whose
        sum is zero, like an explicit zero, is not an edge.
        """
        coo = without_zeros(matrix)
        num_left, num_right = coo.shape
        return cls._sorted(num_left, num_right, coo.row, coo.col)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return the biadjacency matrix as a CSR array of ones."""
        import scipy.sparse

        entries = np.ones(self.num_edges, np.int8), (self.left, self.right)
        return scipy.sparse.csr_array(entries, shape=(self.num_left, self.num_right))

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph[Any],
        top_nodes: Iterable[Label] | None = None,
        *,
        cost: str | None = None,
        maximise: bool = False,
    ) -> BipartiteGraph:
        """Read a NetworkX graph; its nodes become labels.

        Only the structure counts, and the edge attribute `cost` if one is named: directions and all
        other attributes are ignored. The left side is `top_nodes`; by default the nodes whose
        attribute `bipartite` is 0, or else the side of the first node, provided that the graph is
        connected.

        Raises:
            InputError: an edge joins two nodes of one side, the graph has an odd cycle, or it is
                disconnected and nothing says which side each part's nodes belong to.
        """
        is_left = networkx_sides(graph, top_nodes)
        left_labels = [node for node in graph if is_left[node]]
        right_labels = [node for node in graph if not is_left[node]]
        edges = ((u, v) if is_left[u] else (v, u) for u, v in graph.edges())
        weighted = cast("Any", graph).edges(data=cost)
        costs = None if cost is None else [weight for _, _, weight in weighted]
        return cls.from_edges(edges, left_labels, right_labels, costs=costs, maximise=maximise)

    def to_networkx(self) -> nx.Graph[Any]:
        """Return a NetworkX graph with the `bipartite` attribute and the labels as node names.

        Unlabelled right nodes are numbered after the left ones, as NetworkX itself does; labels
        that occur on both sides become ("left", label) and ("right", label).
        """
        with needs("to_networkx"):
            import networkx as nx

        left = list(self.left_labels or range(self.num_left))
        right = list(self.right_labels or range(self.num_right))
        if self.left_labels is None and self.right_labels is None:
            right = list(range(self.num_left, self.num_left + self.num_right))
        elif not set(left).isdisjoint(right):
            left, right = [("left", x) for x in left], [("right", x) for x in right]
        graph: nx.Graph[Any] = nx.Graph()
        graph.add_nodes_from(left, bipartite=0)
        graph.add_nodes_from(right, bipartite=1)
        graph.add_edges_from((left[u], right[v]) for u, v in self.pairs())
        return graph

    @property
    def num_edges(self) -> int:
        """The number of distinct edges."""
        return len(self.left)

    @property
    def kind(self) -> tuple[type, bool]:
        """The class, and whether there are costs: an algorithm treats graphs of one kind alike."""
        return BipartiteGraph, self.costs is not None

    @property
    def words(self) -> str:
        """What it is, and its size."""
        sides = f"{self.num_left:,} + {self.num_right:,} nodes"
        costs = " with costs" * (self.costs is not None)
        return f"a bipartite graph of {sides} and {self.num_edges:,} edges{costs}"

    @property
    def num_arcs(self) -> int:
        """The number of its arcs as a flow network; see `as_arcs`."""
        return 2 * (self.num_left + len(self.left) + self.num_right)

    @cached_property
    def starts(self) -> WideArray:
        """(left + 1,): where the edges of each left node start, and the end of all."""
        first = np.flatnonzero(starts_run(self.left))
        # Nodes without edges start where the next one with some does, or else at the end.
        gaps = np.diff(self.left[first], prepend=-1, append=self.num_left)
        return frozen(np.repeat(np.append(first, len(self.left)), gaps))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield every edge as a pair of node numbers."""
        return zip(self.left.tolist(), self.right.tolist(), strict=True)

    def edges(self) -> Iterator[tuple[Label, Label]]:
        """Yield every edge as a pair of the user's labels."""
        return ((self.left_label(u), self.right_label(v)) for u, v in self.pairs())

    def left_label(self, node: int) -> Label:
        """The user's name for a left node."""
        return node if self.left_labels is None else self.left_labels[node]

    def right_label(self, node: int) -> Label:
        """The user's name for a right node."""
        return node if self.right_labels is None else self.right_labels[node]

    def label_index(self) -> tuple[LabelIndex, LabelIndex]:
        """Return the indexes that find left and right nodes by label."""
        sides = self.left_labels or range(self.num_left), self.right_labels or range(self.num_right)
        return LabelIndex(sides[0], "left"), LabelIndex(sides[1], "right")

    def as_arcs(self) -> Arcs:
        """Return the unit-capacity network whose integer flows are the matchings.

        Node 0 is the source; left node i is 1 + i; right node j is 1 + num_left + j; the sink is
        last. Pairs: source to each left node, then the edges in order, then each right node to the
        sink; even arcs have capacity 1, odd ones 0 (paper, section 1).
        """
        num_left, num_right = self.num_left, self.num_right
        sink = 1 + num_left + num_right
        ends = np.empty((num_left + len(self.left) + num_right, 2), np.int32)
        first, edges, last = np.split(ends, [num_left, num_left + len(self.left)])
        first[:, 0], first[:, 1] = 0, 1 + np.arange(num_left)
        edges[:, 0], edges[:, 1] = 1 + self.left, 1 + num_left + self.right
        last[:, 0], last[:, 1] = 1 + num_left + np.arange(num_right), sink
        capacity = np.zeros(2 * len(ends), np.int64)
        capacity[::2] = 1
        return Arcs(sink + 1, ends.reshape(-1), ends[:, ::-1].reshape(-1), capacity, 0, sink)

    def arc_costs(self) -> WideArray:
        """Return the cost of each arc of `as_arcs`, to be minimised; source and sink cost 0."""
        cost = np.zeros((self.num_arcs // 2, 2), np.int64)
        if self.costs is not None:
            edges = cost[self.num_left : self.num_left + len(self.left)]
            edges[:, 0], edges[:, 1] = self.costs.to_minimise, -self.costs.to_minimise
        return cost.reshape(-1)

    def found(self, residual: WideArray) -> IntArray:
        """Return the mate of each left node, −1 for none, by the edges that are full."""
        on_edges = residual[2 * self.num_left : 2 * (self.num_left + len(self.left)) : 2]
        matched = np.flatnonzero(on_edges == 0)  # see `as_arcs`
        mates = np.full(self.num_left, -1, np.int32)
        mates[self.left[matched]] = self.right[matched]
        return mates

    def labelled(self, mates: Numbers) -> list[tuple[Label, Label]]:
        """Return the pairs of a matching with the user's labels."""
        left, right = self.left_labels, self.right_labels
        if left is None and right is None:
            return list(pairs_of(mates))
        left, right = left or range(self.num_left), right or range(self.num_right)
        return [(left[u], right[v]) for u, v in pairs_of(mates)]

    def edge_index(self, left: Numbers, right: Numbers) -> WideArray:
        """Return the position of each (left, right) pair among the edges, −1 for non-edges."""
        known = (left >= 0) & (left < self.num_left) & (right >= 0) & (right < self.num_right)
        # The edges are sorted by these keys, and int64 holds any product of sides.
        keys = self.left.astype(np.int64) * self.num_right + self.right
        wanted = left.astype(np.int64) * self.num_right + right.astype(np.int64)
        position = np.searchsorted(keys, wanted)
        found = known & (position < len(keys))
        found[found] = keys[position[found]] == wanted[found]
        return np.where(found, position, -1)

    def __eq__(self, other: object) -> bool:
        return equal(self, other) if isinstance(other, BipartiteGraph) else NotImplemented

    def __repr__(self) -> str:
        sides = f"{self.num_left:,} + {self.num_right:,} nodes"
        costs = " with costs" * (self.costs is not None)
        return f"BipartiteGraph({sides}, {self.num_edges:,} edges{costs})"


def pairs_of(mates: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the (left, right) pairs of a matching: (left,) mates, −1 for none."""
    return ((u, v) for u, v in enumerate(mates.tolist()) if v >= 0)


def _refuse_count(count: int, side: str) -> None:
    if not 0 <= count <= MAX_NODES:
        raise InputError(f"the number of {side} nodes is {count}, not in 0..{MAX_NODES}")


class LabelIndex(dict[Label, int]):
    """The number of each label: given labels in their order, or labels as they first appear."""

    def __init__(self, labels: Labels | None, side: str) -> None:
        self._is_fixed = labels is not None
        self._side = side
        names = () if labels is None else as_labels(labels, f"{side} labels")
        super().__init__(zip(names, range(len(names)), strict=True))

    def __missing__(self, label: Label) -> int:
        """Number a new label, unless the labels are fixed."""
        if self._is_fixed:
            raise InputError(f"{label!r} is not a {self._side} node".replace("  ", " "))
        self[label] = number = len(self)
        return number


def unpaired(name: str, entry: object, error: Exception, expected: str) -> InputError:
    """Return the error for an entry that could not be unpacked or looked up."""
    reason = error if isinstance(error, InputError) else f"expected {expected}"
    return InputError(f"{name} is {entry!r}: {reason}")


def distinct(left: IntArray, right: IntArray, num_right: int) -> tuple[IntArray, IntArray]:
    """Sort edges and drop duplicates."""
    key = left.astype(np.int64)
    key *= num_right
    key += right
    if (key[1:] > key[:-1]).all():
        return left, right
    key.sort()  # in place, for large graphs: np.unique would hold two more copies
    is_new = starts_run(key)
    if not is_new.all():
        key = key[is_new]
    left = (key // num_right).astype(np.int32)
    key %= num_right
    return left, key.astype(np.int32)


def checked_labels(labels: Labels | None, count: int, what: str) -> tuple[Label, ...] | None:
    """Return the labels as a tuple after checking that each node has one, all different."""
    if labels is None:
        return None
    names = as_labels(labels, what.replace("_", " "))
    if len(names) != count:
        raise InputError(f"{len(names)} {what.replace('_', ' ')} for {count} nodes")
    return unless_numbers(names)


def unless_numbers(names: tuple[Label, ...]) -> tuple[Label, ...] | None:
    """Return the labels, or None for 0, 1, 2, …, which say no more than the numbers."""
    return None if all(type(x) is int and x == i for i, x in enumerate(names)) else names


def as_labels(labels: Labels, what: str) -> tuple[Label, ...]:
    """Return the labels as a tuple after checking that all are hashable and different."""
    names = tuple(labels.tolist() if isinstance(labels, np.ndarray) else labels)
    try:
        num_different = len(set(names))
    except TypeError:
        raise InputError(f"the {what.strip()} must be hashable, such as text or numbers") from None
    if num_different < len(names):
        seen: set[Label] = set()
        double = next(x for x in names if x in seen or seen.add(x))
        raise InputError(f"the label {double!r} appears twice among the {what.strip()}")
    return names
