"""A stack of cost matrices and their matchings become proofs by prices, all graphs at once.

What `prices` does for one graph, this does for many small ones with whole arrays: the pairs are
edges and share no node, every node of the smaller side is matched, no edge has a negative reduced
cost and no matched one a positive one, and the prices of source and sink fit the matched and the
free nodes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, WideArray
from augury.classical.certificate import Certificate
from augury.classical.costs import Costs, no_edge
from augury.classical.graph import BipartiteGraph, pairs_of
from augury.classical.prices import certify_cost

NO_EDGE = np.iinfo(np.int64).max
"""What a missing edge costs in a stack."""

BLOCK_CELLS = 2**18
"""Cells of the graphs that are checked together, so that they stay in the cache."""


class Stack(NamedTuple):
    """Cost matrices of one shape, to be minimised."""

    amount: WideArray
    """(graph, left, right): whole units, or NO_EDGE."""
    unit: Fraction
    error: Fraction
    maximise: bool
    is_complete: bool
    """Whether no edge is missing."""

    @classmethod
    def of(cls, matrices: npt.NDArray[Any], maximise: bool) -> Stack:
        """Read costs; all graphs share one unit.

        Raises:
            InputError: they are not valid costs.
        """
        missing = no_edge(matrices, maximise)
        num_nodes = sum(matrices.shape[1:]) + 2
        flat = matrices.reshape(-1) if missing is None else matrices[~missing]
        costs = Costs.of(flat, num_nodes, maximise)
        amount = costs.to_minimise
        if missing is None:
            amount = amount.reshape(matrices.shape)
        else:
            amount, given = np.full(matrices.shape, NO_EDGE), amount
            amount[~missing] = given
        return cls(amount, costs.unit, costs.error, maximise, missing is None)

    def graph(self, number: int) -> BipartiteGraph:
        """Return one of the graphs."""
        matrix = self.amount[number]
        is_edge = matrix != NO_EDGE
        amount = matrix[is_edge] * (-1 if self.maximise else 1)
        costs = Costs(amount, self.unit, self.error, self.maximise)
        return BipartiteGraph(*matrix.shape, *np.nonzero(is_edge), costs=costs)


class Priced(NamedTuple):
    """What is known about each graph's matching."""

    stack: Stack
    mates: WideArray
    """(graph, left): the column of each row, −1 for none."""
    price: WideArray
    """(graph, node): source, left, right, sink."""
    sizes: WideArray
    """(graph,): edges of the matching."""
    is_proven: BoolArray
    """(graph,): whether the matching is legal, as large as possible, and of least cost."""
    totals: WideArray
    """(graph,): its cost to be minimised, in units; meaningless where nothing is proven."""

    noun = BipartiteGraph.noun

    def labelled(self, number: int) -> tuple[str, list[Any]]:
        """See `proofs.Proofs`."""
        return self.noun, list(pairs_of(self.mates[number]))

    def graph(self, number: int) -> BipartiteGraph:
        """Return one of the graphs."""
        return self.stack.graph(number)

    def certificate(self, number: int) -> Certificate:
        """Prove one of them in full."""
        return certify_cost(self.graph(number), self.mates[number], self.price[number])


def priced(
    stack: Stack, mates: WideArray, price: WideArray, is_largest: BoolArray | None = None
) -> Priced:
    """Check the matching of each graph by its prices.

    One that leaves nodes of both sides free is proven only where `is_largest`, (graph,), says that
    none is larger.
    """
    amount = stack.amount
    sizes, totals = np.empty(len(amount), np.int64), np.empty(len(amount), np.int64)
    is_proven = np.empty(len(amount), np.bool_)
    many = max(1, BLOCK_CELLS // max(amount[0].size if len(amount) else 1, 1))
    for first in range(0, len(amount), many):
        some = slice(first, first + many)
        sizes[some], is_proven[some], totals[some] = _checked(
            amount[some], stack.is_complete, mates[some], price[some]
        )
    is_full = sizes == min(amount.shape[1:])
    is_proven &= is_full if is_largest is None else is_full | is_largest
    return Priced(stack, mates, price, sizes, is_proven, totals)


def _checked(
    amount: WideArray, is_complete: bool, mates: WideArray, price: WideArray
) -> tuple[WideArray, BoolArray, WideArray]:
    """Return how many are matched, whether none of that size costs less, and what it costs."""
    num_graphs, num_left, num_right = amount.shape
    left, right = price[:, 1 : 1 + num_left], price[:, 1 + num_left : -1]
    is_matched = mates >= 0
    sizes = is_matched.sum(axis=1)
    graph, row = np.nonzero(is_matched)
    column = mates[graph, row]
    is_within = column < num_right
    column = np.minimum(column, max(num_right - 1, 0))
    is_taken = np.zeros((num_graphs, num_right), np.bool_)
    is_taken[graph, column] = True
    is_proven = is_taken.sum(axis=1) == sizes
    paid = amount[graph, row, column]
    exact = paid + left[graph, row] == right[graph, column]
    is_proven[graph[~is_within | (paid == NO_EDGE) | ~exact]] = False
    # A missing edge is dear enough whatever the prices, which do not exceed 2^60.
    reduced = amount if is_complete else np.minimum(amount, 2**62)
    reduced = reduced + left[:, :, None]
    reduced -= right[:, None, :]
    is_proven &= reduced.reshape(num_graphs, -1).min(axis=1, initial=0) >= 0
    source, sink = price[:, :1], price[:, -1:]
    is_proven &= np.where(is_matched, left >= source, left <= source).all(axis=1)
    is_proven &= np.where(is_taken, right <= sink, right >= sink).all(axis=1)
    is_proven &= (np.abs(price) < 2**60).all(axis=1)
    totals = np.zeros(num_graphs, np.int64)
    np.add.at(totals, graph, np.where(paid == NO_EDGE, 0, paid))
    return sizes, is_proven, totals
