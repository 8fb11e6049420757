"""Check that every answer is what it says, or raise `Wrong`.

The checks share nothing with the package: they see edges, capacities and answers alone, all graphs
of a batch at once, side by side in one numbering. An answer must be legal. `is_maximum` must be
true exactly if SciPy finds nothing larger, and the certificate must hold a cover or cut as large as
that maximum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import maximum_bipartite_matching, maximum_flow

from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.solution import Solution

Graph = BipartiteGraph | FlowNetwork


class Wrong(Exception):
    """An answer that is not what it says."""


def check_all(graphs: Sequence[Graph], solutions: Sequence[Solution], exact: bool) -> None:
    """Raise Wrong unless every answer of a batch is right, and with `exact` maximum."""
    answers = list(zip(graphs, solutions, strict=True))
    check_matchings([(g, s) for g, s in answers if isinstance(g, BipartiteGraph)])
    check_flows([(g, s) for g, s in answers if isinstance(g, FlowNetwork)])
    if exact and not all(solution.is_maximum for solution in solutions):
        raise Wrong("an exact answer is not maximum")


# ------------------------------------------------------------------ matchings


class Union:
    """Bipartite graphs side by side: node n of graph k is node `start[k] + n` of its side."""

    def __init__(self, graphs: Sequence[BipartiteGraph]) -> None:
        self.count = len(graphs)
        self.num_left = np.array([graph.num_left for graph in graphs], np.int64)
        self.num_right = np.array([graph.num_right for graph in graphs], np.int64)
        self.left_start = np.cumsum(self.num_left) - self.num_left
        self.right_start = np.cumsum(self.num_right) - self.num_right
        owner = np.repeat(np.arange(self.count), [graph.num_edges for graph in graphs])
        self.left = _joined(graph.left for graph in graphs) + self.left_start[owner]
        self.right = _joined(graph.right for graph in graphs) + self.right_start[owner]
        self.shape = int(self.num_left.sum()), int(self.num_right.sum())

    def maxima(self) -> Any:
        """Return the maximum of each graph as SciPy finds it, all of them in one call."""
        if not all(self.shape):
            return np.zeros(self.count, np.int64)
        ones = np.ones(len(self.left), np.int8)
        matrix = scipy.sparse.csr_array((ones, (self.left, self.right)), shape=self.shape)
        is_matched = maximum_bipartite_matching(matrix, perm_type="column") >= 0
        before = np.concatenate([[0], np.cumsum(is_matched)])
        return before[self.left_start + self.num_left] - before[self.left_start]

    def keys(self, left: Any, right: Any) -> Any:
        """Return one number for each pair of nodes."""
        return left * max(self.shape[1], 1) + right


def _joined(arrays: Iterable[Any]) -> Any:
    return np.concatenate([np.zeros(0, np.int64), *arrays])


def _numbers(rows: Sequence[Sequence[Any]], most: Any, what: str) -> tuple[Any, Any]:
    """Return the graph of each number and the numbers, which must be nodes of that graph."""
    owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    flat = list(chain.from_iterable(rows))
    if not all(type(number) is int for number in flat):
        raise Wrong(f"{what}: a node is not an integer")
    numbers = np.array(flat, np.int64)
    _none((numbers < 0) | (numbers >= most[owner]), owner, f"{what}: there is no such node")
    return owner, numbers


def _none(is_wrong: Any, owner: Any, what: str) -> None:
    if is_wrong.any():
        raise Wrong(f"graph {int(owner[is_wrong.argmax()])}: {what}")


def check_matchings(answers: Sequence[tuple[BipartiteGraph, Solution]], maxima: Any = None) -> None:
    """Raise Wrong unless every answer is a matching and says rightly whether it is maximum.

    The maxima are SciPy's unless they are given; with a cover of that size nothing is taken on
    trust, for no matching has more edges than a cover has nodes.
    """
    union = Union([graph for graph, _ in answers])
    graphs = np.arange(union.count)
    pairs = [solution.matching or [] for _, solution in answers]
    owner, left = _numbers([[u for u, _ in own] for own in pairs], union.num_left, "left")
    _, right = _numbers([[v for _, v in own] for own in pairs], union.num_right, "right")
    left, right = left + union.left_start[owner], right + union.right_start[owner]
    is_edge = np.isin(union.keys(left, right), union.keys(union.left, union.right))
    _none(~is_edge, owner, "a pair is no edge")
    for nodes in (left, right):
        _none(np.bincount(nodes)[nodes] > 1 if len(nodes) else ~is_edge, owner, "matched twice")
    sizes = np.bincount(owner, minlength=union.count)
    claimed = np.array([solution.size for _, solution in answers], np.int64)
    _none(claimed != sizes, graphs, "the size is not the number of pairs")
    maxima = union.maxima() if maxima is None else np.asarray(maxima)
    is_maximum = np.array([solution.is_maximum for _, solution in answers], bool)
    wrong = is_maximum != (sizes == maxima)
    _none(wrong & is_maximum, graphs, "is_maximum is True, and it is not")
    _none(wrong, graphs, "is_maximum is False, and it is")
    proofs: list[Any] = [solution.certificate.proof for _, solution in answers]
    is_covered = np.zeros(len(union.left), bool)
    num_cover = np.zeros(union.count, np.int64)
    for rows, most, start, ends, side in (
        ([p.left for p in proofs], union.num_left, union.left_start, union.left, 0),
        ([p.right for p in proofs], union.num_right, union.right_start, union.right, 1),
    ):
        owner, nodes = _numbers(rows, most, "the cover")
        is_in = np.zeros(union.shape[side], bool)
        is_in[nodes + start[owner]] = True
        is_covered |= is_in[ends]
        num_cover += np.bincount(owner, minlength=union.count)
    edge_owner = np.searchsorted(union.left_start + union.num_left, union.left, side="right")
    _none(~is_covered, edge_owner, "the cover misses an edge")
    _none(num_cover != maxima, graphs, "the cover is not as large as the maximum")


# ------------------------------------------------------------------ flows

MOST = 2**30
"""SciPy's residuals have 32 bits: this is the most that may leave the sources of one call."""


def check_flows(answers: Sequence[tuple[FlowNetwork, Solution]]) -> None:
    """Raise Wrong unless every answer is a flow and its cut proves what it says.

    No cut is smaller than the maximum, so the cuts of many networks are all minimum if their sum
    is the maximum of the networks side by side, which SciPy finds in one call.
    """
    together: list[tuple[FlowNetwork, int]] = []
    room = MOST
    for network, solution in answers:
        cut = check_flow(network, solution)
        leaving = sum(network.capacity[network.sender == network.source].tolist())
        if leaving <= room and max(network.capacity.tolist(), default=0) <= MOST:
            room -= leaving
            together.append((network, cut))
    if sum(cut for _, cut in together) != scipy_flow([network for network, _ in together]):
        raise Wrong("a cut is not what SciPy finds")


def scipy_flow(networks: Sequence[FlowNetwork]) -> int:
    """Return the sum of the maxima, from one super source to one super sink."""
    sizes = [network.num_nodes for network in networks]
    starts = [int(start) for start in np.cumsum([0, *sizes])]
    first, last = starts[-1], starts[-1] + 1
    rows, columns, amounts = [], [], []
    for network, start in zip(networks, starts, strict=False):
        leaving = network.capacity[network.sender == network.source].sum()
        rows += [network.sender + start, [first, start + network.sink]]
        columns += [network.receiver + start, [start + network.source, last]]
        amounts += [network.capacity, [leaving, leaving]]
    ends = _joined(rows).astype(np.int64), _joined(columns).astype(np.int64)
    shape = (last + 1, last + 1)
    matrix = scipy.sparse.csr_array((_joined(amounts).astype(np.int32), ends), shape=shape)
    return int(maximum_flow(matrix, first, last).flow_value)


def check_flow(network: FlowNetwork, solution: Solution) -> int:
    """Return the capacity of the cut; raise Wrong unless the answer is a flow that it bounds."""
    sender, receiver = network.sender.tolist(), network.receiver.tolist()
    capacity = dict(zip(zip(sender, receiver, strict=True), network.capacity.tolist(), strict=True))
    excess: Counter[Any] = Counter()
    for tail, head, amount in solution.flow or []:
        if not 0 < amount <= capacity.get((tail, head), 0):
            raise Wrong(f"an arc carries {amount} of {capacity.get((tail, head), 0)}")
        excess[tail] -= amount
        excess[head] += amount
    if excess.pop(network.source, 0) != -solution.size:
        raise Wrong("the size is not what leaves the source")
    if excess.pop(network.sink, 0) != solution.size or any(excess.values()):
        raise Wrong("flow is not preserved")
    proof: Any = solution.certificate.proof
    side = set(proof.source_side)
    if network.source not in side or network.sink in side:
        raise Wrong("the cut does not separate source and sink")
    leaving = sum(c for (u, v), c in capacity.items() if u in side and v not in side)
    # No flow exceeds a cut, so this equality is the whole proof.
    if solution.is_maximum != (leaving == solution.size):
        raise Wrong(f"is_maximum is {solution.is_maximum}, size {solution.size}, cut {leaving}")
    return leaving
