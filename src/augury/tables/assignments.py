"""Bipartite graphs with costs in lists become assignments: those of one shape as one stack.

An answer is that of `engines.least_cost`, and is proven here: its prices prove that none of its
size costs less, and its size, or a cover, that none is larger. What is too large or too sparse for
a matrix, or names an edge twice, is left for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, WideArray, read_only
from augury.classical.batch import starts, sums
from augury.classical.certificate import MAXIMUM
from augury.classical.costs import MAX_TOTAL
from augury.classical.priced import NO_EDGE, Stack, priced
from augury.engines.least_cost import FEW_CELLS, MAX_CELLS, assigned
from augury.engines.small import WORD
from augury.inputs.packed import Edges, Lists, surveyed
from augury.solver import Runner
from augury.tables.columns import MATCHING, lists_of, numbers_of, repeated
from augury.tables.packed import Packed, by_shape, entries, pairs

if TYPE_CHECKING:
    import pyarrow as pa

EXACT = 2**53
"""Up to here a float holds every whole number."""
DIGITS = 16
"""Decimal places that costs may have; see `Costs.of`."""
MOST_PLACES = 1000
"""The same in base two."""


def priced_matchings(maximise: bool, table: pa.Table, runner: Runner) -> Packed:
    """Assign what fits into matrices, at the least cost, or the greatest."""
    names = (*MATCHING.lists, "cost")
    (left, right, cost), missing = zip(*(lists_of(table, name) for name in names), strict=True)
    is_odd = (left.counts != right.counts) | (left.counts != cost.counts) | np.any(missing, axis=0)
    left, right, cost = (own.without(is_odd) for own in (left, right, cost))
    edges = surveyed(left, right, *(numbers_of(table, name) for name in MATCHING.counts))
    num_nodes = edges.counts[0] + edges.counts[1] + 2
    most = MAX_TOTAL // (num_nodes + 4)  # as in `Costs.of`
    costs = _whole(cost, most)
    cells = edges.counts[0] * edges.counts[1]
    is_fit = ~(is_odd | edges.is_bad) & costs.is_known & (cells > 0)
    is_fit &= cells <= np.maximum(FEW_CELLS, 4 * left.counts)
    sign = -1 if maximise else 1
    found = _assigned(edges, sign * costs.amount, np.flatnonzero(is_fit))
    columns = pairs(found.mates, starts(edges.counts[0]), found.sizes, runner)
    columns["verdict"] = _verdicts(costs, found.sizes, "greatest" if maximise else "least")
    totals = sign * found.totals
    if cost.values.dtype.kind != "f":
        return columns | {"cost": totals}, ~found.is_proven
    # A float holds the sum, or else the units are a power of two: the cost is rounded once.
    is_rounded_twice = costs.is_decimal & (np.abs(totals) > EXACT)
    return columns | {"cost": totals / costs.units}, ~found.is_proven | is_rounded_twice


class _Whole(NamedTuple):
    """Costs as whole numbers, as `Costs.of` makes them for each graph; (graph,) except `amount`."""

    amount: WideArray
    """(edge,)"""
    units: npt.NDArray[np.float64]
    """How many of them make 1."""
    is_known: BoolArray
    """Whether there are such numbers."""
    is_decimal: BoolArray
    """Whether the units are a power of ten; otherwise, of two."""
    is_exact: BoolArray
    """Whether no cost had to be rounded."""


def _whole(cost: Lists, most: WideArray) -> _Whole:
    """Return the costs of each graph in units of its own; an amount is at most `most`, (graph,)."""
    if cost.values.dtype.kind != "f":
        values, within = cost.values, np.repeat(most, cost.counts)
        is_known = sums((values > within) | (values < -within), cost.start) == 0
        always = np.ones(len(most), np.bool_)
        return _Whole(values.astype(np.int64), np.ones(len(most)), is_known, always, always)
    values, largest = cost.values.astype(np.float64), np.zeros(len(most))
    size = np.where(np.isnan(values), np.inf, np.abs(values))
    np.maximum.at(largest, np.repeat(np.arange(len(most)), cost.counts), size)
    is_known = largest <= most
    values[np.repeat(~is_known, cost.counts)] = largest[~is_known] = 0
    cost = Lists(cost.start, values)
    tens = _tens(cost, largest, most)
    places = np.log2(most).astype(np.int64) - np.frexp(largest)[1]
    twos = np.ldexp(1.0, np.minimum(places, MOST_PLACES))
    units, is_decimal = np.where(tens > 0, tens, twos), tens > 0
    scaled = values * np.repeat(units, cost.counts)
    amount = np.rint(scaled).astype(np.int64)
    is_exact = is_decimal | (sums(amount != scaled, cost.start) == 0)
    return _Whole(amount, units, is_known, is_decimal, is_exact)


def _tens(cost: Lists, largest: npt.NDArray[Any], most: WideArray) -> npt.NDArray[np.float64]:
    """Return the least power of ten that makes all costs of a graph whole; 0 where none does."""
    found = np.zeros(len(most))
    for scale in 10.0 ** np.arange(DIGITS):
        is_open = (found == 0) & (largest * scale <= np.minimum(most, EXACT))
        if not is_open.any():
            break
        own, differs = np.repeat(is_open, cost.counts), np.zeros(len(cost.values), np.bool_)
        differs[own] = np.rint(cost.values[own] * scale) / scale != cost.values[own]
        found[is_open & (sums(differs, cost.start) == 0)] = scale
    return found


def _verdicts(costs: _Whole, sizes: WideArray, sense: str) -> pa.Array:
    """Return what is proven of each graph: where costs were rounded, how far that may mislead."""
    gaps = np.where(costs.is_exact, 0, sizes / costs.units)
    if not gaps.any():
        return repeated(f"{MAXIMUM} of {sense} cost", len(gaps))
    import pyarrow as pa

    gap, place = np.unique(gaps, return_inverse=True)
    words = (f", at most {one} from the" if one else " of" for one in gap.tolist())
    texts = pa.array([f"{MAXIMUM}{some} {sense} cost" for some in words])
    return pa.DictionaryArray.from_arrays(pa.array(place.astype(np.int32)), texts)


class _Found(NamedTuple):
    mates: npt.NDArray[np.int32]
    """(row,): of all graphs, −1 for none."""
    sizes: WideArray
    totals: WideArray
    is_proven: BoolArray


def _assigned(edges: Edges, amount: WideArray, some: WideArray) -> _Found:
    """Assign some of the graphs, those of one shape together."""
    (num_left, num_right), counts = edges.counts, np.diff(edges.start)
    first, numbers = starts(num_left), np.zeros((2, len(counts)), np.int64)
    mates, is_proven = np.full(int(first[-1]), -1, np.int32), np.zeros(len(counts), np.bool_)
    found = _Found(mates, numbers[0], numbers[1], is_proven)
    for places, shape in by_shape(num_left[some], num_right[some], MAX_CELLS):
        own = some[places]
        edge = entries(edges.start[own], counts[own])
        graph, ends = np.repeat(np.arange(len(own)), counts[own]), [x[edge] for x in edges.ends]
        cost = np.full((len(own), *shape), NO_EDGE)
        cost[graph, ends[0], ends[1]] = amount[edge]
        is_edge = cost != NO_EDGE
        told, price = assigned(cost)
        stack = Stack(cost, Fraction(1), Fraction(0), False, bool(is_edge.all()))
        proof = priced(stack, told, price, _is_largest(starts(counts[own]), ends, shape, told))
        is_clear = is_edge.sum(axis=(1, 2)) == counts[own]  # no edge occurs twice
        mates[first[own][:, None] + np.arange(shape[0])] = told
        found.sizes[own], found.totals[own] = proof.sizes, proof.totals
        is_proven[own] = proof.is_proven & is_clear
    return found


def _is_largest(
    start: WideArray, ends: Sequence[npt.NDArray[Any]], shape: tuple[int, int], mates: WideArray
) -> BoolArray:
    """Tell where a cover proves that no matching is larger; nowhere beyond 64 nodes a side."""
    from augury.classical.loops import prove_small

    count, is_proven = len(mates), np.zeros(len(mates), np.bool_)
    if max(shape) <= WORD and (mates >= 0).sum() < count * min(shape):
        lists = read_only(start, np.int64), tuple(read_only(own, own.dtype.type) for own in ends)
        counts = tuple(np.full(count, side) for side in shape)
        own = mates.reshape(-1).astype(np.int32)
        prove_small(*lists, counts, own, (np.empty(count, np.int64), is_proven))
    return is_proven
