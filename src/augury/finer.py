"""Costs of any size and precision become an exact answer, in finer and finer units.

Where whole units of 64 bits hold all costs exactly (`Costs`), one run is enough. Otherwise costs
are rounded to a coarse unit first. The reduced costs of that answer are then a problem of their
own: an arc whose reduced cost exceeds all that could still be gained keeps its flow for good, and
the reduced costs of the others are small enough for a finer unit. This repeats until nothing is
rounded, or nothing can be gained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import Numbers, WideArray, frozen
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import MAX_TOTAL, Costs
from augury.classical.graph import BipartiteGraph
from augury.errors import InputError
from augury.solver import COMPILED, least_cost

Whole = npt.NDArray[Any]
"""Python integers of any size."""


def whole_costs(costs: Sequence[Any], num_nodes: int) -> Whole:
    """Convert numbers of any exact kind to whole numbers of a common unit.

    Floats are read as `Costs` reads them where one unit holds them all: 0.1 is a tenth.

    Raises:
        InputError: one of them is not a finite number.
    """
    known = _exact(costs, num_nodes, False)
    if known is not None:
        return known.amount.astype(object)
    exact = list(map(_ratio, costs))
    unit = lcm(*(one.denominator for one in exact))
    return np.array([int(one * unit) for one in exact], object)


def _is_wide(number: Any) -> bool:
    return isinstance(number, Integral) and abs(int(number)) > 2**53


def _ratio(number: Any) -> Fraction:
    try:
        if not isinstance(number, str):
            own = getattr(number, "as_integer_ratio", None)
            return Fraction(number) if own is None else Fraction(*own())
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"a cost is {number!r}, not a finite number")


def least_cost_matching(
    shape: tuple[int, int],
    ends: tuple[Numbers, Numbers],
    costs: npt.NDArray[Any],
    maximise: bool,
    engine: str = COMPILED,
) -> WideArray:
    """Return the (left, right) pairs of a maximum matching of least cost, sorted.

    The edges are sorted and distinct, their costs integers of any size or finite floats.
    """
    num_nodes = sum(shape) + 2
    known = _exact(costs, num_nodes, maximise)
    if known is not None:
        mates = least_cost(BipartiteGraph(*shape, *ends, costs=known), engine).found
        rows = np.flatnonzero(mates >= 0)
        return np.stack([rows, mates[rows]], axis=1).astype(np.int64)
    if costs.dtype.kind != "f":
        costs = np.array(costs.tolist(), object)  # of any size, so that all can be negated
    rounded = _rounded(-costs if maximise else costs, num_nodes)
    graph = BipartiteGraph(*shape, *ends, costs=Costs(frozen(rounded.amount)))
    answer = least_cost(graph, engine)
    arcs, flow = graph.as_arcs(), np.zeros(graph.num_arcs // 2, np.int64)
    edges = slice(graph.num_left, graph.num_left + graph.num_edges)
    taken = np.flatnonzero(answer.found.take(graph.left) == graph.right)
    flow[graph.left[taken]] = flow[edges.start + taken] = 1
    flow[edges.stop + graph.right[taken]] = 1
    amount = np.zeros_like(flow)
    amount[edges] = rounded.amount

    def whole(which: WideArray) -> Whole:
        found = np.zeros(len(which), object)
        is_edge = (which >= edges.start) & (which < edges.stop)
        found[is_edge] = rounded.whole(which[is_edge] - edges.start)
        return found

    room = Room(arcs.num_nodes, arcs.sender[::2], arcs.receiver[::2], 1 - flow, flow)
    assert answer.price is not None
    of_arcs = rounded._replace(amount=amount, whole=whole)
    change = _improved(room, of_arcs, answer.price, engine)
    taken = np.flatnonzero((flow + change)[edges])
    return np.stack([graph.left[taken], graph.right[taken]], axis=1).astype(np.int64)


def least_cost_flow(
    ends: tuple[Numbers, Numbers],
    capacity: WideArray,
    costs: Whole,
    supply: WideArray,
    engine: str = COMPILED,
) -> WideArray:
    """Return what each arc carries in a flow of least cost; if not all can be sent, what can be."""
    num_nodes = len(supply)
    rounded = _rounded(costs, num_nodes + 2)
    coarse = Costs(frozen(rounded.amount))
    network = CostNetwork(num_nodes, *ends, capacity, coarse, supply=supply)
    answer = least_cost(network, engine)
    flow = answer.found.astype(np.int64)
    if answer.price is None:  # not all can be sent, so nothing is left to improve
        return flow
    room = Room(num_nodes, *ends, capacity - flow, flow)
    return flow + _improved(room, rounded, answer.price[:num_nodes], engine)


class Rounded(NamedTuple):
    """Costs rounded to a coarse unit, and the exact ones."""

    amount: WideArray
    shift: int
    """An amount is the whole number shifted right by this many bits, rounded."""
    whole: Callable[[WideArray], Whole]
    """Returns the exact costs of some arcs, in a unit that divides all of them."""
    most: int
    """The largest amount allowed."""


class Room(NamedTuple):
    """How a flow can change."""

    num_nodes: int
    tail: Numbers
    head: Numbers
    more: WideArray
    """(arc,): how much more it can carry."""
    less: WideArray
    """(arc,): how much less it can carry."""

    def after(self, change: WideArray) -> Room:
        """Return the room that is left once arcs carry this much more."""
        return self._replace(more=self.more - change, less=self.less + change)

    def select(self, arcs: WideArray) -> Room:
        """Return the room of some arcs."""
        ends = self.tail[arcs], self.head[arcs]
        return Room(self.num_nodes, *ends, self.more[arcs], self.less[arcs])


def _exact(costs: Any, num_nodes: int, maximise: bool) -> Costs | None:
    """Return costs in a unit that holds them exactly; None if there is none."""
    if not isinstance(costs, np.ndarray) and any(_is_wide(one) for one in costs):
        return None  # NumPy would round integers mixed with floats
    try:
        known = Costs.of(costs, num_nodes, maximise)
    except InputError:  # too large, or fractions that NumPy does not know
        return None
    return None if known.error else known


def _rounded(costs: npt.NDArray[Any], num_nodes: int) -> Rounded:
    """Round to the finest unit, a power of two, in which sums stay below 63 bits."""
    most = MAX_TOTAL // (num_nodes + 4)
    bits = _bits_of(most)
    if costs.dtype.kind != "f":
        shift = max(0, _bits(costs) - bits)
        return Rounded(_halved(costs, shift), shift, lambda which: costs[which], most)
    part, power = np.frexp(costs.astype(np.float64))
    is_zero = part == 0
    power = np.where(is_zero, power[~is_zero].min(initial=1024), power).astype(np.int64) - 53
    lowest = int(power.min(initial=1024))
    shift = max(0, int(power.max(initial=lowest)) + 53 - lowest - bits)
    amount = np.rint(np.ldexp(np.ldexp(part, 53), power - lowest - shift)).astype(np.int64)

    def whole(which: WideArray) -> Whole:
        mantissa = np.ldexp(part[which], 53).astype(np.int64).astype(object)
        return mantissa << (power[which] - lowest).astype(object)

    return Rounded(amount, shift, whole, most)


def _bits(exact: Whole) -> int:
    """Return how many bits the largest of some whole numbers has."""
    return max(map(abs, exact.tolist()), default=0).bit_length()


def _bits_of(most: int) -> int:
    """Return how many bits an amount may have: rounding up may carry into one more."""
    return most.bit_length() - 2


def _halved(exact: Whole, times: int) -> WideArray:
    """Halve whole numbers this many times, and round."""
    half = (1 << times) >> 1
    return np.array([(one + half) >> times for one in exact.tolist()], np.int64)


def _improved(room: Room, rounded: Rounded, price: WideArray, engine: str) -> WideArray:
    """Return how much more each arc carries in a flow of least cost, given one for rounded costs.

    `price` holds the price of each node, in rounded units.
    """
    tail, head = room.tail, room.head
    if not rounded.shift:
        return np.zeros(len(tail), np.int64)
    reduced = rounded.amount + price[tail] - price[head]
    # Rounding hides at most half a unit: so only tight arcs can gain, each at most half a unit.
    tight = reduced == 0
    gain = sum(room.more[tight].tolist()) + sum(room.less[tight].tolist())
    free = np.flatnonzero(np.abs(reduced) <= min(gain // 2 + 1, 2**62))
    change, shift = np.zeros(len(tail), np.int64), rounded.shift
    cost, prices = rounded.whole(free), price.astype(object) << shift
    while shift:
        now = room.after(change).select(free)
        exact: Whole = cost + prices[now.tail] - prices[now.head]
        gain = sum(np.where(exact < 0, -exact * now.more, exact * now.less).tolist())
        if not gain:
            break
        kept = np.flatnonzero(abs(exact) <= gain)
        free, cost, exact, now = free[kept], cost[kept], exact[kept], now.select(kept)
        next_shift = max(0, _bits(exact) - _bits_of(rounded.most))
        if next_shift >= shift:
            raise InputError("the costs differ too much in size, and capacities are too large")
        shift = next_shift
        step, price = _circulation(now, _halved(exact, shift), engine)
        change[free] += step
        prices = prices + (price.astype(object) << shift)
    return change


def _circulation(room: Room, amount: WideArray, engine: str) -> tuple[WideArray, WideArray]:
    """Return the best change to a flow that keeps each node's balance, and prices that prove it."""
    up, down = np.flatnonzero(room.more), np.flatnonzero(room.less)
    tail = np.concatenate([room.tail[up], room.head[down]])
    head = np.concatenate([room.head[up], room.tail[down]])
    capacity = np.concatenate([room.more[up], room.less[down]])
    costs = Costs(frozen(np.concatenate([amount[up], -amount[down]])))
    nobody = np.zeros(room.num_nodes, np.int64)
    network = CostNetwork(room.num_nodes, tail, head, capacity, costs, supply=nobody)
    answer = least_cost(network, engine)
    change = np.zeros(len(amount), np.int64)
    change[up] += answer.found[: len(up)]
    change[down] -= answer.found[len(up) :]
    assert answer.price is not None
    return change, answer.price[: room.num_nodes]
