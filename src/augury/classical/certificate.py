"""A matching or flow becomes a `Certificate`: is it legal, is it maximum, and what proves it.

The proof is a cut, which for a matching is a vertex cover (König): no flow exceeds the capacity of
a cut, so a flow that equals one is maximum. Finding the cut takes one search, O(edges); checking it
takes only adding up its capacities. Nothing here is shared with a solver; see `cuts`, which also
tells by how much an answer falls short. The labels of a proof are made when they are asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

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
    later,
    read_only,
)
from augury.classical.costs import Amount
from augury.classical.cuts import SMALL, minimum_cover, minimum_cut, small_cover, small_cut
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError


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


MANY = 2**16
"""Edges from which on a compiled pass over them saves something, where numba is loaded."""

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
    is not legal, why none is, or None.
    """
    cost: Amount | None = None
    """What the answer costs, where there are costs."""
    gap: Amount | None = None
    """How much less an answer of this size could cost at most: 0 if it is proven to be of least
    cost, more if costs were rounded; None if it is not of least cost, or nothing has a cost.
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
        """Whether none is larger and, where there are costs, none as large is better."""
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
        return Certificate(len(pairs), _twice("left", pairs[:, 0], graph.left_label))
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
    if not _is_matching(graph, mates, size):
        return Certificate(size, _matching_fault(graph, mates))
    sides = minimum_cover(graph, mates)
    return covered((graph.left_labels, graph.right_labels), size, *sides)


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


def _is_matching(graph: BipartiteGraph, mates: Numbers, size: int) -> bool:
    """Tell in one pass over the edges; no edge is there twice."""
    if mates.min(initial=-1) < -1 or mates.max(initial=-1) >= graph.num_right:
        return False
    mates = mates.astype(np.int32, copy=False)
    if graph.num_edges >= MANY and "numba" in sys.modules:  # which takes a while to load
        from augury.classical.loops import are_matching

        ends = map(read_only, (graph.left, graph.right, mates))
        return are_matching(*ends, np.zeros(graph.num_right, np.bool_))
    times = np.bincount(mates + 1, minlength=1)[1:]  # that each right node is somebody's mate
    # A mate along no edge is not found.
    found = np.count_nonzero(np.repeat(mates, np.diff(graph.starts)) == graph.right)
    return found == size and times.max(initial=0) <= 1


def _matching_fault(graph: BipartiteGraph, mates: Numbers) -> str:
    """Say what keeps mates from being a matching, which they are not."""
    left = np.flatnonzero(mates != -1)
    right = mates[left]
    missing = graph.edge_index(left, right) < 0
    if missing.any():
        at = int(missing.argmax())
        u, v, count = graph.left_label(int(left[at])), int(right[at]), graph.num_right
        if not 0 <= v < count:
            return f"the mate of {u!r} is right node {v}, but there are {count}"
        return f"there is no edge between {u!r} and {graph.right_label(v)!r}"
    return _twice("right", right, graph.right_label)


def _twice(side: str, nodes: Numbers, label: Callable[[int], Label]) -> str:
    """Name a node that is there twice."""
    ordered = np.sort(nodes)
    double = np.flatnonzero(ordered[1:] == ordered[:-1])
    return f"the {side} node {label(int(ordered[double[0]]))!r} is matched twice"


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
    fault = _capacity_fault(network, claimed) or _flow_fault(network, claimed)
    return _certificate_of(network, claimed, fault)


def certify_amounts(network: FlowNetwork, amounts: WideArray) -> Certificate:
    """Check what each arc is said to carry; both arcs of a pair may carry something."""
    is_whole = amounts.shape == (network.num_arcs,) and amounts.dtype == np.int64
    if not is_whole or amounts.min(initial=0) < 0:
        arcs = f"each of the {network.num_arcs} arcs"
        return Certificate(0, f"an arc carries a whole number of at least 0, given for {arcs}")
    net = amounts - amounts.reshape(-1, 2)[:, ::-1].reshape(-1)
    fault = _capacity_fault(network, amounts)
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


def _arc(network: FlowNetwork, at: int) -> str:
    ends = network.label(int(network.sender[at])), network.label(int(network.receiver[at]))
    return f"the arc from {ends[0]!r} to {ends[1]!r}"


def _capacity_fault(network: FlowNetwork, flow: npt.NDArray[Any]) -> str:
    over = flow > network.capacity  # before the conversion to int64, which could wrap
    if not over.any():
        return ""
    at = int(over.argmax())
    return f"{_arc(network, at)} carries {flow[at]}, but its capacity is {network.capacity[at]}"


def _flow_fault(network: FlowNetwork, flow: npt.NDArray[Any]) -> str:
    """Say what keeps a net flow within the capacities from being a flow; "" if nothing does."""
    flow = flow.astype(np.int64, copy=False)
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
    """(node,): 0 exactly if nothing is sent on balance, whatever 64 bits hold."""
    if int(flow.max(initial=0)) * len(flow) < 2**63:
        sent = np.zeros(network.num_nodes, np.int64)
        np.add.at(sent, network.sender, flow)
        return sent
    # Sums of 32-bit halves fit in 64 bits at any degree.
    low, high = np.zeros((2, network.num_nodes), np.int64)
    np.add.at(low, network.sender, flow & 0xFFFFFFFF)
    np.add.at(high, network.sender, flow >> 32)
    return (low & 0xFFFFFFFF) | (high + (low >> 32))
