"""A matching or flow with costs becomes a `Certificate`: is it legal, largest, and of least cost.

The proof is a price for each node. The reduced cost of an arc is its cost plus its sender's price
less its receiver's; around a circle prices cancel out. If no arc that could carry more, or whose
flow could be less, has a negative reduced cost, then no circle of changes saves anything, and two
flows of one size differ by circles alone. Checking this takes one look at each arc, in whole
numbers. Nothing here is shared with a solver: where no prices are given, or those given prove
nothing, a plain Bellman-Ford of its own finds some, or else a circle that saves something.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, inf, nextafter
from typing import Any, NamedTuple, cast

import numpy as np

from augury.classical import certificate as plain
from augury.classical.arrays import BoolArray, Label, Numbers, WideArray
from augury.classical.certificate import Certificate, Proof
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import Amount, Costs
from augury.classical.cuts import minimum_cut
from augury.classical.graph import Arcs, BipartiteGraph, LabelIndex
from augury.errors import InputError

MAX_PRICE = 2**61
"""With this, no reduced cost exceeds 63 bits."""


@dataclass(frozen=True)
class Prices:
    """Prices that prove the least cost, and what proves that no answer is larger."""

    largest: Proof | None
    """None where the size is not in question: supplies are met, or they are not."""
    prices: dict[str, Any]
    """As JSON holds them: left, right, source and sink of a matching; [node, price] of a flow."""
    sense: str = "least"

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return (self.largest.to_dict() if self.largest else {}) | {"prices": self.prices}

    @property
    def words(self) -> str:
        """What it proves, in words."""
        own = f"the prices of the nodes prove the {self.sense} cost"
        return f"{self.largest.words}; {own}" if self.largest else own


@dataclass(frozen=True)
class Saving:
    """A circle of changes that leaves the size as it is and the cost better."""

    largest: Proof | None
    nodes: tuple[Label, ...]
    saves: Amount
    """Per unit of flow around it; what it gains, where the greatest sum is sought."""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        own = {"saving": {"around": list(self.nodes), "saves": self.saves}}
        return (self.largest.to_dict() if self.largest else {}) | own

    @property
    def words(self) -> str:
        """What it proves, in words."""
        around = " – ".join(map(str, self.nodes[: plain.MAX_LISTED]))
        return f"a change around {around} makes it better by {self.saves}"


@dataclass(frozen=True)
class Shortage:
    """Nodes that need more than there is for them: proof that no answer does what is asked."""

    nodes: tuple[Label, ...]
    need: int
    limit: int
    what: str
    """Both numbers, in words."""
    neighbours: tuple[Label, ...] = ()
    """For a matching: all neighbours of these nodes."""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        own = {"nodes": list(self.nodes), "need": self.need, "limit": self.limit}
        return {"shortage": own | {"neighbours": list(self.neighbours)}}

    @property
    def words(self) -> str:
        """What it proves, in words."""
        return f"{self.what}{plain.listed(self.nodes)}"


class Residual(NamedTuple):
    """Every change of one unit that an answer allows, as an arc."""

    num_nodes: int
    sender: Numbers
    receiver: Numbers
    cost: WideArray

    def are_proof(self, price: WideArray) -> bool:
        """Tell whether these prices leave no arc with a negative reduced cost."""
        reduced = self.cost + price[self.sender] - price[self.receiver]
        return not (reduced < 0).any()


def certify_cost(
    graph: BipartiteGraph | CostNetwork, found: Numbers, price: Any = None
) -> Certificate:
    """Check an answer in numbers: the mates of a matching, or what each arc of a flow carries.

    `price` has a whole number of units for each node: for a matching source, left nodes, right
    nodes and sink. If prices are missing or wrong, others are searched for here.
    """
    if graph.costs is None:
        raise InputError("there are no costs to certify")
    if isinstance(graph, CostNetwork):
        largest, residual, cost = _checked_flow(graph, found)
        gap = _gap(graph.costs, sum((graph.capacity - graph.least).tolist()))
    else:
        largest, residual, cost = _checked_matching(graph, found)
        gap = _gap(graph.costs, 2 * largest.size)
    if residual is None:
        return largest
    worth = graph.costs.worth(cost)
    own = _as_prices(price, residual)
    if own is None:
        remark = "" if price is None else "the prices given prove nothing; others do"
        largest = replace(largest, remark=remark)
        own, circle = _search(residual)
        if circle is not None:
            nodes = tuple(_node(graph, int(node)) for node in residual.receiver[circle])
            saves = graph.costs.worth(-sum(residual.cost[circle].tolist()))
            saving = Saving(largest.proof, nodes, saves)
            return replace(largest, cost=worth, proof=saving, remark="")
    proof = Prices(largest.proof, _told(graph, own), graph.costs.sense)
    return replace(largest, cost=worth, gap=gap, proof=proof)


def certify_priced(
    graph: BipartiteGraph | CostNetwork, answer: Iterable[Any], prices: Any = None
) -> Certificate:
    """Check an answer by label, as pairs or (tail, head, amount), and prices as JSON holds them."""
    if isinstance(graph, CostNetwork):
        try:
            found = graph.amounts_from(answer)
        except InputError as error:
            return Certificate(0, f"{error}")
    else:
        numbers = plain.numbered(graph, answer)
        if isinstance(numbers, Certificate):
            return numbers
        found = numbers
    if prices is None:
        return certify_cost(graph, found)
    given = _read(graph, prices, found)
    # Costs are whole, so prices that prove something still do when rounded down; floating-point
    # ones may be slightly off a whole number.
    for whole in ([round(one) for one in given], [floor(one) for one in given]):
        checked = certify_cost(graph, found, whole)
        if checked.remark == "":
            break
    return checked


def perfect(graph: BipartiteGraph, certificate: Certificate) -> Certificate:
    """Demand that every node of the smaller side is matched; if impossible, prove it (Hall)."""
    wanted = min(graph.num_left, graph.num_right)
    if not certificate.is_maximum or certificate.size == wanted:
        return certificate
    proof = certificate.proof
    cover = getattr(proof, "largest", proof)
    assert isinstance(cover, plain.Cover)
    is_left = graph.num_left <= graph.num_right
    side, number = ("left", graph.num_left) if is_left else ("right", graph.num_right)
    label = graph.left_label if is_left else graph.right_label
    own, others = (cover.left, cover.right) if is_left else (cover.right, cover.left)
    covered = set(own)
    nodes = tuple(node for node in map(label, range(number)) if node not in covered)
    told = f"{len(nodes)} {side} nodes have only {len(others)} neighbours"
    shortage = Shortage(nodes, len(nodes), len(others), told, others)
    fault = f"no matching is perfect: {shortage.words}"
    return Certificate(certificate.size, fault, proof=shortage)


def _checked_matching(
    graph: BipartiteGraph, mates: Numbers
) -> tuple[Certificate, Residual | None, int]:
    """Return whether a matching is maximum, which changes it allows, and its cost in units."""
    largest = plain.certify_mates(graph, mates)
    if not largest.is_legal:
        return largest, None, 0
    assert graph.costs is not None
    own, cost = graph.as_arcs(), graph.arc_costs()[::2]
    edges = np.flatnonzero(mates.take(graph.left) == graph.right)
    flow = np.zeros_like(cost)
    num_left, num_edges = graph.num_left, graph.num_edges
    left, right = graph.left[edges], graph.right[edges]
    for full in (left, num_left + edges, num_left + num_edges + right):
        flow[full] = 1
    more = flow < 1
    more[num_left : num_left + num_edges] = True  # nodes are the limit, not edges
    ends = own.num_nodes, own.sender[::2], own.receiver[::2]
    total = sum(graph.costs.amount[edges].tolist())
    return largest, _residual(*ends, more, flow > 0, cost), total


def _checked_flow(network: CostNetwork, flow: Numbers) -> tuple[Certificate, Residual | None, int]:
    """Return whether a flow is legal and as large as it has to be, and the rest likewise."""
    if flow.shape != network.tail.shape or flow.dtype.kind not in "iu":
        count = len(network.tail)
        told = f"a flow is a whole number for each of the {count} arcs"
        return Certificate(0, told), None, 0
    wrong = (flow > network.capacity) | (flow < network.least)
    if wrong.any():
        at = int(wrong.argmax())
        bounds = f"{network.least[at]} to {network.capacity[at]}"
        told = f"{network.arc_words(at)} carries {flow[at]}, which is not in {bounds}"
        return Certificate(0, told), None, 0
    flow = flow.astype(np.int64)
    room = network.capacity - flow, flow - network.least
    largest = _served(network, flow, *room)
    if not largest.is_legal:
        return largest, None, 0
    cost = network.costs.to_minimise
    ends = network.num_nodes, network.tail, network.head
    both = zip(flow.tolist(), network.costs.amount.tolist(), strict=True)
    total = sum(carried * amount for carried, amount in both)
    return largest, _residual(*ends, room[0] > 0, room[1] > 0, cost), total


def _residual(  # arcs, and which way they can change
    num_nodes: int,
    tail: Numbers,
    head: Numbers,
    more: BoolArray,
    less: BoolArray,
    cost: WideArray,
) -> Residual:
    sender = np.concatenate([tail[more], head[less]])
    receiver = np.concatenate([head[more], tail[less]])
    return Residual(num_nodes, sender, receiver, np.concatenate([cost[more], -cost[less]]))


def _served(network: CostNetwork, flow: WideArray, more: WideArray, less: WideArray) -> Certificate:
    """Tell whether every node gets rid of its supply, or of nothing; and whether all is sent."""
    sent = [0] * network.num_nodes
    for node, amount in zip(network.tail.tolist(), flow.tolist(), strict=True):
        sent[node] += amount
    for node, amount in zip(network.head.tolist(), flow.tolist(), strict=True):
        sent[node] -= amount
    supply = [0] * network.num_nodes if network.supply is None else network.supply.tolist()
    over = [due - out for due, out in zip(supply, sent, strict=True)]
    ends = network.source, network.sink
    unmet = [node for node, due in enumerate(over) if due and node not in ends]
    if unmet:
        short = None if network.supply is None else _shortage(network, over, more, less)
        if short is not None:
            return Certificate(0, f"no flow meets the supplies: {short.words}", proof=short)
        return Certificate(0, f"flow is not preserved at {network.label(unmet[0])!r}")
    if network.supply is not None:
        met = sum(due for due in supply if due > 0)
        return Certificate(met, "", met)
    return _largest(network, sent[cast("int", network.source)], more, less)


def _largest(network: CostNetwork, value: int, more: WideArray, less: WideArray) -> Certificate:
    """Prove that no flow from source to sink is larger, or tell by how much this one is short."""
    pairs = np.flatnonzero(network.tail != network.head)
    ends = np.stack([network.tail[pairs], network.head[pairs]], axis=1).astype(np.int32)
    residual = np.stack([more[pairs], less[pairs]], axis=1).reshape(-1)
    assert network.source is not None and network.sink is not None
    both = ends.reshape(-1), ends[:, ::-1].reshape(-1)
    arcs = Arcs(network.num_nodes, *both, residual, network.source, network.sink)
    in_cut, maximum = minimum_cut(arcs, residual.copy(), value)
    leaving = in_cut[network.tail] & ~in_cut[network.head]
    entering = in_cut[network.head] & ~in_cut[network.tail]
    capacity = sum(network.capacity[leaving].tolist()) - sum(network.least[entering].tolist())
    if capacity != maximum:
        raise AssertionError("the cut is not as large as the maximum")
    side = tuple(network.label(int(node)) for node in np.flatnonzero(in_cut))
    return Certificate(value, "", maximum, plain.Cut(side, capacity))


def _shortage(
    network: CostNetwork, over: Sequence[int], more: WideArray, less: WideArray
) -> Shortage | None:
    """Return nodes whose supply is more than can leave them, if the excess can go nowhere."""
    residual = _residual(
        network.num_nodes, network.tail, network.head, more > 0, less > 0, network.costs.amount
    )
    inside = np.array([due > 0 for due in over], np.bool_)
    while True:
        reached = inside.copy()
        reached[residual.receiver[inside[residual.sender]]] = True
        if np.array_equal(reached, inside):
            break
        inside = reached
    assert network.supply is not None
    leaving, entering = inside[network.tail], inside[network.head]
    out = sum(network.capacity[leaving & ~entering].tolist())
    least_in = sum(network.least[entering & ~leaving].tolist())
    need = sum(network.supply[inside].tolist()) + least_in
    if need <= out:
        return None
    nodes = tuple(network.label(int(node)) for node in np.flatnonzero(inside))
    told = f"{len(nodes)} nodes have to get rid of {need}, and {out} can leave them"
    return Shortage(nodes, need, out, told)


def _gap(costs: Costs, units: int) -> Amount:
    """Return by how much rounded costs can mislead, given how many units of flow can differ."""
    exact = units * costs.error
    if not exact:
        return 0
    rounded = float(exact)
    return rounded if Fraction(rounded) >= exact else nextafter(rounded, inf)


def _as_prices(price: Any, residual: Residual) -> WideArray | None:
    """Return prices as int64 if they are whole numbers and prove something."""
    if price is None:
        return None
    array = np.array(price)  # a copy: a solver that still holds its own changes nothing here
    if array.ndim != 1 or len(array) < residual.num_nodes or array.dtype.kind not in "iu":
        return None
    array = array[: residual.num_nodes]
    if array.max(initial=0) > MAX_PRICE or array.min(initial=0) < -MAX_PRICE:
        return None
    own = array.astype(np.int64)
    return own if residual.are_proof(own) else None


def _search(residual: Residual) -> tuple[WideArray, WideArray | None]:
    """Return prices that prove an answer, or else the arcs of a circle that saves something."""
    order = np.argsort(residual.receiver, kind="stable")
    sender, cost = residual.sender[order], residual.cost[order]
    target, first = np.unique(residual.receiver[order], return_index=True)
    price = np.zeros(residual.num_nodes, np.int64)
    by = np.full(residual.num_nodes, -1, np.int64)
    lengths = np.diff(np.append(first, len(order)))
    passes = 0
    while len(target):
        through = price[sender] + cost
        best = np.minimum.reduceat(through, first)
        better = best < price[target]
        if not better.any():
            break
        is_best = np.flatnonzero(through == np.repeat(best, lengths))
        place = is_best[np.searchsorted(is_best, first)]
        price[target[better]] = best[better]
        by[target[better]] = order[place[better]]
        passes += 1
        if passes & (passes - 1) == 0 or passes % 64 == 0:  # a circle soon shows
            circle = _circle(residual, by)
            if circle is not None:
                return price, circle
    return price, None


def _circle(residual: Residual, by: WideArray) -> WideArray | None:
    """Return the arcs of a circle among the arcs by which each node became cheaper, if any."""
    nodes = np.arange(residual.num_nodes)
    above = np.where(by >= 0, residual.sender[by] if len(residual.sender) else nodes, nodes)
    is_root = by < 0
    for _ in range(residual.num_nodes.bit_length()):
        above = above[above]
    lost = np.flatnonzero(~is_root[above])
    if not len(lost):
        return None
    start = node = int(above[lost[0]])  # far enough up to be on the circle
    arcs: list[int] = []
    while True:
        arcs.append(int(by[node]))
        node = int(residual.sender[by[node]])
        if node == start:
            return np.array(arcs[::-1], np.int64)


def _node(graph: BipartiteGraph | CostNetwork, node: int) -> Label:
    """Name a node of the flow network that is certified."""
    if isinstance(graph, CostNetwork):
        return graph.label(node)
    if node == 0:
        return "source"
    if node > graph.num_left + graph.num_right:
        return "sink"
    is_left = node <= graph.num_left
    return graph.left_label(node - 1) if is_left else graph.right_label(node - 1 - graph.num_left)


def _told(graph: BipartiteGraph | CostNetwork, price: WideArray) -> dict[str, Any]:
    """Return prices as JSON holds them, in the numbers of the costs; see `_read`."""
    assert graph.costs is not None
    sign = -1 if graph.costs.maximise else 1
    worth = [graph.costs.worth(sign * one) for one in price[: _num_priced(graph)].tolist()]
    if isinstance(graph, CostNetwork):
        return {"nodes": [[graph.label(node), one] for node, one in enumerate(worth)]}
    left, right = worth[1 : 1 + graph.num_left], worth[1 + graph.num_left : -1]
    return {"left": left, "right": right, "source": worth[0], "sink": worth[-1]}


def _num_priced(graph: BipartiteGraph | CostNetwork) -> int:
    """Return how many nodes have a price; any further ones are a solver's own affair."""
    if isinstance(graph, CostNetwork):
        return graph.num_nodes
    return graph.num_left + graph.num_right + 2


def _read(graph: BipartiteGraph | CostNetwork, prices: Any, found: Numbers) -> list[Fraction]:
    """Return the price of each node, in units of costs to be minimised.

    A matching's prices are those of "left" and "right", with or without "source" and "sink"; or "u"
    and "v", as the Hungarian method has them: u + v is at most an edge's cost, and equals it in the
    matching. A flow's are [node, price] under "nodes".

    Raises:
        InputError: they are something else.
    """
    assert graph.costs is not None
    if not isinstance(prices, dict):
        raise InputError('prices are an object with "left" and "right", "u" and "v", or "nodes"')
    given = cast("dict[str, Any]", prices)
    unit = -graph.costs.unit if graph.costs.maximise else graph.costs.unit

    def row(name: str, count: int, sign: int = 1) -> list[Fraction]:
        try:
            values = [sign * Fraction(value) / unit for value in given[name]]
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InputError(f"the prices have no row of numbers {name!r}") from None
        if len(values) != count:
            raise InputError(f"the row {name!r} has {len(values)} prices for {count} nodes")
        return values

    if isinstance(graph, CostNetwork):
        return _by_label(graph, given.get("nodes"), unit)
    has_duals = "u" in given and "left" not in given
    left = row("u", graph.num_left, -1) if has_duals else row("left", graph.num_left)
    right = row("v" if has_duals else "right", graph.num_right)
    if "source" in given and "sink" in given:
        given |= {"ends": [given["source"], given["sink"]]}
        first, last = row("ends", 2)
        return [first, *left, *right, last]
    # A free left node is no dearer than the source and a matched one no cheaper; the right ones and
    # the sink likewise. If any prices will do for these two, these will.
    mates = found.tolist()
    taken = set(mates)
    free = [one for one, mate in zip(left, mates, strict=True) if mate < 0]
    spare = [one for node, one in enumerate(right) if node not in taken]
    first = max(free) if free else min(left, default=Fraction(0))
    last = min(spare) if spare else max(right, default=Fraction(0))
    return [first, *left, *right, last]


def _by_label(network: CostNetwork, rows: Any, unit: Fraction) -> list[Fraction]:
    index = LabelIndex(network.labels or range(network.num_nodes), "")
    own: dict[int, Fraction] = {}
    try:
        for node, price in rows:
            own[index[node]] = Fraction(price) / unit
    except (TypeError, ValueError, OverflowError) as error:
        reason = f": {error}" if isinstance(error, InputError) else ""
        raise InputError(f'"nodes" must be a list of [node, price]{reason}') from None
    if len(own) < network.num_nodes:
        missing = next(node for node in range(network.num_nodes) if node not in own)
        raise InputError(f"the node {network.label(missing)!r} has no price")
    return [own[node] for node in range(network.num_nodes)]
