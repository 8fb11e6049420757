"""A matching or flow becomes a `Certificate`: is it legal, is it maximum, and what proves it.

The proof is a cut, which for a matching is a vertex cover (König): no flow exceeds the capacity of
a cut, so a flow that equals one is maximum. Finding the cut takes one search, O(edges); checking it
only means adding up its capacities. Nothing here is shared with a solver. A small graph is searched
in plain Python, without SciPy or the cost of calling it. A large one is left to `cuts`, as is an
answer that is not maximum; one that is not legal is left to `faults`. The labels of a proof are
made on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import (
    BoolArray,
    IntArray,
    Label,
    Labels,
    Numbers,
    WideArray,
    exact_sum,
)
from augury.classical.costs import Amount
from augury.classical.cuts import NO_COVER, minimum_cover, minimum_cut
from augury.classical.faults import (
    flow_fault,
    is_matching,
    matching_fault,
    over_capacity,
    twice,
)
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError

Kind = TypeVar("Kind", bound=type)


class Later:
    """A field whose value may be given as a function, which is called on first access.

    >>> from dataclasses import dataclass
    >>> @later("square")
    ... @dataclass(frozen=True)
    ... class Number:
    ...     square: int
    >>> Number(lambda: 3 * 3) == Number(9)
    True
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        value = instance.__dict__[self.name]
        if callable(value):
            value = instance.__dict__[self.name] = value()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = value


def later(*names: str) -> Callable[[Kind], Kind]:
    """Return a decorator for a dataclass: these fields may be given as functions; see `Later`."""

    def decorate(kind: Kind) -> Kind:
        for name in names:
            setattr(kind, name, Later(name))
        return kind

    return decorate


@later("left", "right")
@dataclass(frozen=True)
class Cover:
    """Nodes that touch every edge, as many as a maximum matching has edges.

    >>> graph = BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("cem", "cook")])
    >>> certify(graph, [("bob", "cook")]).proof
    Cover(left=(), right=('cook',))
    """

    left: tuple[Label, ...]
    right: tuple[Label, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {"cover": {"left": list(self.left), "right": list(self.right)}}

    @property
    def words(self) -> str:
        """What it proves, in words."""
        nodes = [*self.left, *self.right]
        verb = "node covers" if len(nodes) == 1 else "nodes cover"
        return f"{len(nodes):,} {verb} every edge{listed(nodes)}"


@later("source_side")
@dataclass(frozen=True)
class Cut:
    """The source's side of a minimum cut, and the capacity that leaves it.

    >>> pipes = FlowNetwork.from_labelled_arcs([("s", "a", 3), ("a", "t", 2)], "s", "t")
    >>> certify_flow(pipes, [("s", "a", 2), ("a", "t", 2)]).proof
    Cut(source_side=('s', 'a'), capacity=2)
    """

    source_side: tuple[Label, ...]
    capacity: int

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {"cut": {"source_side": list(self.source_side), "capacity": self.capacity}}

    @property
    def words(self) -> str:
        """What it proves, in words."""
        return f"a cut of capacity {self.capacity:,}, source side{listed(self.source_side)}"


SMALL = 2**11
"""Up to this many arcs, plain Python is faster than a few dozen calls on arrays."""

MAX_LISTED = 20
"""A sentence names this many nodes; JSON names all of them."""


def listed(labels: Sequence[Label]) -> str:
    """Name nodes at the end of a sentence, unless there are too many."""
    return f": {', '.join(map(str, labels))}" if 0 < len(labels) <= MAX_LISTED else ""


class Proof(Protocol):
    """Proof that no larger answer exists."""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        ...

    @property
    def words(self) -> str:
        """What it proves, in words."""
        ...


MAXIMUM = "certified maximum"
"""The verdict on most answers without costs."""


@dataclass(frozen=True)
class Certificate:
    """What was checked and what proves it.

    >>> graph = BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("bob", "sing")])
    >>> certify(graph, [("bob", "cook")])
    Certificate(legal, 1 short of the maximum 2)
    >>> certify(graph, [("ann", "cook"), ("bob", "sing")]).is_maximum
    True
    """

    size: int
    """Edges of the matching or value of the flow; as claimed, if it is not legal."""
    fault: str = ""
    """Why the answer is not legal, in one sentence; empty if it is."""
    maximum: int | None = None
    """The size of a maximum answer; None if this one is not legal."""
    proof: Proof | None = None
    """A cover, a cut or a closed set of that size, with prices where there are costs; if the answer
    is not legal, proof that none is, or None.
    """
    cost: Amount | None = None
    """What the answer costs, where there are costs."""
    gap: Amount | None = None
    """How much less, at most, an answer of this size could cost: 0 if this one is proven to be of
    least cost, more if costs were rounded; None if it is not of least cost or there are no costs.
    """
    remark: str = ""
    """What else was noticed, in one sentence."""

    @property
    def is_legal(self) -> bool:
        """Whether the answer is a matching, or a flow, of the graph at all."""
        return not self.fault

    @property
    def is_maximum(self) -> bool:
        """Whether the answer is legal and none is larger."""
        return self.is_legal and self.shortfall == 0

    @property
    def is_optimal(self) -> bool:
        """Whether no answer is larger and, where there are costs, none as large is better."""
        return self.is_maximum and (self.cost is None or self.gap == 0)

    @property
    def is_infeasible(self) -> bool:
        """Whether it is proven that there is no legal answer at all."""
        return bool(self.fault) and self.proof is not None

    @property
    def shortfall(self) -> int | None:
        """How far the answer falls short of the maximum; None if it is not legal."""
        return None if self.maximum is None else self.maximum - self.size

    @property
    def verdict(self) -> str:
        """What is proven, in a few words."""
        if self.is_infeasible:
            return "there is no answer"
        if not self.is_maximum:
            return f"{self.shortfall:,} short of the maximum"
        if self.cost is None:
            return MAXIMUM
        if self.gap is None:
            return "maximum, but not of the best cost"
        # A flow that meets its supplies has no other size.
        size = MAXIMUM if getattr(self.proof, "largest", None) else "certified"
        sense = getattr(self.proof, "sense", "least")
        if self.gap:
            return f"{size}, at most {self.gap} from the {sense} cost"
        return f"{size} of {sense} cost"

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        answer: dict[str, Any] = {"legal": self.is_legal, "maximum": self.is_maximum}
        answer |= {"size": self.size, "shortfall": self.shortfall}
        if self.cost is not None:
            answer |= {"cost": self.cost, "optimal": self.is_optimal, "gap": self.gap}
        for key in ("fault", "remark"):
            if getattr(self, key):
                answer[key] = getattr(self, key)
        if self.proof is not None:
            answer |= self.proof.to_dict()
        return answer

    @property
    def _cost_words(self) -> str:
        if self.cost is None:
            return ""
        best = "not the best" if self.gap is None else f"at most {self.gap} from the best"
        return f", cost {self.cost}, {'the best' if self.is_optimal else best}"

    def __repr__(self) -> str:
        if not self.is_legal:
            return f"Certificate(not legal: {self.fault})"
        if self.is_maximum:
            return f"Certificate(legal and maximum, {self.size}{self._cost_words})"
        return f"Certificate(legal, {self.shortfall} short of the maximum {self.maximum})"


def certify(graph: BipartiteGraph, matching: Iterable[tuple[Label, Label]]) -> Certificate:
    """Check pairs of labels (numbers, where the graph has no labels) as a matching of `graph`."""
    numbers = numbered(graph, matching)
    return numbers if isinstance(numbers, Certificate) else certify_mates(graph, numbers)


def numbered(
    graph: BipartiteGraph, matching: Iterable[tuple[Label, Label]]
) -> IntArray | Certificate:
    """Return pairs of labels as the mate of each left node, or say what is wrong with them."""
    index = graph.label_index()
    pairs = list(matching)
    rows: list[tuple[int, int]] = []
    for position, pair in enumerate(pairs):
        try:
            left, right = pair
            rows.append((index[0][left], index[1][right]))
        except InputError as error:
            return Certificate(len(pairs), f"{error}")
        except (TypeError, ValueError):
            return Certificate(len(pairs), f"entry {position}, {pair!r}, is not (left, right)")
    return mates_of(graph, np.array(rows, np.int64).reshape(-1, 2))


def certify_pairs(graph: BipartiteGraph, pairs: Numbers) -> Certificate:
    """Check rows of (left node, right node) numbers as a matching of `graph`."""
    mates = mates_of(graph, pairs)
    return mates if isinstance(mates, Certificate) else certify_mates(graph, mates)


def mates_of(graph: BipartiteGraph, pairs: Numbers) -> IntArray | Certificate:
    """Return the mate of each left node, −1 for none, or say what is wrong with the pairs."""
    if pairs.shape[1:] != (2,) or pairs.dtype.kind not in "iu":
        return Certificate(len(pairs), "a matching is rows of a left and a right node number")
    for side, nodes, count in zip(
        ("left", "right"), pairs.T, (graph.num_left, graph.num_right), strict=True
    ):
        wrong = (nodes < 0) | (nodes >= count)
        if wrong.any():
            at = int(wrong.argmax())
            told = f"pair {at} names {side} node {nodes[at]}, but there are {count}"
            return Certificate(len(pairs), told)
    mates = np.full(graph.num_left, -1, np.int32)
    mates[pairs[:, 0]] = pairs[:, 1]
    if np.count_nonzero(mates >= 0) < len(pairs):
        return Certificate(len(pairs), twice("left", pairs[:, 0], graph.left_label))
    return mates


def certify_mates(graph: BipartiteGraph, mates: Numbers) -> Certificate:
    """Check the mate of each left node, −1 for none, as a matching of `graph`."""
    if mates.shape != (graph.num_left,) or mates.dtype.kind != "i":
        return Certificate(0, "a matching is the number of each left node's mate, −1 for none")
    size = len(mates) - int(np.count_nonzero(mates == -1))
    if graph.num_arcs <= SMALL and (cover := small_cover(graph, mates.tolist())) is not None:
        left, right = cover
        named = Cover(_named(graph.left_labels, left), _named(graph.right_labels, right))
        return Certificate(size, "", size, named)
    if not is_matching(graph, mates, size):
        return Certificate(size, matching_fault(graph, mates))
    sides = minimum_cover(graph, mates)
    return covered((graph.left_labels, graph.right_labels), size, *sides)


def small_cover(graph: BipartiteGraph, mates: list[int]) -> tuple[list[int], list[int]] | None:
    """Return a minimum cover, or None unless the mates are a maximum matching."""
    mate_of = {v: u for u, v in enumerate(mates) if v != -1}
    size = len(mates) - mates.count(-1)
    columns: list[list[int]] = [[] for _ in mates]
    found = 0
    left_ends: list[int] = graph.left.tolist()
    right_ends: list[int] = graph.right.tolist()
    edges = list(zip(left_ends, right_ends, strict=True))
    for u, v in edges:
        columns[u].append(v)
        found += mates[u] == v  # a mate along no edge is not found
    if not found == size == len(mate_of):
        return None
    queue = [u for u, v in enumerate(mates) if v == -1]
    right = set[int]()
    for u in queue:
        for v in columns[u]:
            if v not in right:
                if v not in mate_of:
                    return None
                right.add(v)
                queue.append(mate_of[v])
    left = set(range(graph.num_left)).difference(queue)
    if len(left) + len(right) != size or not all(u in left or v in right for u, v in edges):
        raise AssertionError(NO_COVER)
    return sorted(left), sorted(right)


def covered(
    labels: tuple[Labels | None, Labels | None], size: int, left: BoolArray, right: BoolArray
) -> Certificate:
    """Certify a matching of this size by the nodes of a minimum cover."""
    sides = zip(labels, (left, right), strict=True)
    cover = Cover(*(cast("Any", partial(_named_in, *side)) for side in sides))
    return Certificate(size, "", int(left.sum()) + int(right.sum()), cover)


def _named_in(labels: Labels | None, is_in: BoolArray) -> tuple[Label, ...]:
    return _named(labels, np.flatnonzero(is_in).tolist())


def _named(labels: Labels | None, nodes: Sequence[int]) -> tuple[Label, ...]:
    return tuple(nodes) if labels is None else tuple([labels[node] for node in nodes])


def certify_found(graph: Graph, found: Numbers) -> Certificate:
    """Check what was found: the mates of a bipartite graph, or the net flow of a network."""
    if isinstance(graph, FlowNetwork):
        return certify_flow(graph, cast("WideArray", found))
    return certify_mates(cast("BipartiteGraph", graph), found)


def certify_flow(
    network: FlowNetwork, flow: WideArray | Iterable[tuple[Label, Label, int]]
) -> Certificate:
    """Check a flow: the net flow of each arc as an array, or (tail, head, amount) by label.

    Amounts by label are checked arc by arc: flow back along the reverse arc does not make up for an
    excess.
    """
    if not isinstance(flow, np.ndarray):
        try:
            return certify_amounts(network, network.amounts_from(flow))
        except InputError as error:
            return Certificate(0, f"{error}")
    claimed = cast("npt.NDArray[Any]", flow)
    if claimed.shape != (network.num_arcs,) or claimed.dtype.kind not in "iu":
        return Certificate(0, f"a flow is a whole number for each of the {network.num_arcs} arcs")
    if len(claimed) <= SMALL and (cut := small_cut(network, claimed)) is not None:
        side, value = cut
        return Certificate(value, "", value, Cut(_named(network.labels, side), value))
    fault = over_capacity(network, claimed) or flow_fault(network, claimed)
    return _certificate_of(network, claimed, fault)


def small_cut(network: FlowNetwork, flow: npt.NDArray[Any]) -> tuple[list[int], int] | None:
    """Return the source's side of a minimum cut and its capacity, or None unless it proves `flow`.

    It does if the net flow is legal and maximum.
    """
    sender: list[int] = network.sender.tolist()
    receiver: list[int] = network.receiver.tolist()
    capacity: list[int] = network.capacity.tolist()
    net: list[int] = flow.tolist()
    leads_to: list[list[int]] = [[] for _ in range(network.num_nodes)]
    over = [0] * network.num_nodes
    # The reverse of an arc comes after it, so each pair is seen twice, once from either end.
    for arc, (tail, head, room, amount) in enumerate(
        zip(sender, receiver, capacity, net, strict=True)
    ):
        if amount > room or amount != -net[arc ^ 1]:
            return None
        over[tail] += amount
        if amount < room:
            leads_to[tail].append(head)
    source, sink = network.source, network.sink
    value, over[source], over[sink] = over[source], 0, 0
    if any(over):
        return None
    side, queue = {source}, [source]
    for node in queue:
        for head in leads_to[node]:
            if head not in side:
                side.add(head)
                queue.append(head)
    if sink in side:
        return None
    arcs = zip(sender, receiver, capacity, strict=True)
    leaving = sum(room for tail, head, room in arcs if tail in side and head not in side)
    if leaving != value:
        raise AssertionError("the cut is not as large as the maximum")
    return sorted(side), value


def certify_amounts(network: FlowNetwork, amounts: WideArray) -> Certificate:
    """Check what each arc is said to carry; both arcs of a pair may carry something."""
    is_whole = amounts.shape == (network.num_arcs,) and amounts.dtype == np.int64
    if not is_whole or amounts.min(initial=0) < 0:
        arcs = f"each of the {network.num_arcs} arcs"
        return Certificate(0, f"an arc carries a whole number of at least 0, given for {arcs}")
    net = amounts - amounts.reshape(-1, 2)[:, ::-1].reshape(-1)
    fault = over_capacity(network, amounts)
    return _certificate_of(network, net, fault) if fault else certify_flow(network, net)


def _certificate_of(network: FlowNetwork, net: npt.NDArray[Any], fault: str) -> Certificate:
    """Certify a net flow, or report the fault found in it."""
    value = exact_sum(net[network.sender == network.source])
    if fault:
        return Certificate(value, fault)
    residual = network.capacity - net.astype(np.int64, copy=False)
    in_cut, maximum = minimum_cut(network.as_arcs(), residual, value)
    leaving = in_cut.take(network.sender) > in_cut.take(network.receiver)
    capacity = exact_sum(network.capacity[leaving])
    if capacity != maximum:
        raise AssertionError("the cut is not as large as the maximum")
    side = cast("Any", partial(_named_in, network.labels, in_cut))
    return Certificate(value, "", maximum, Cut(side, capacity))
