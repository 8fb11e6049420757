"""Many graphs of unequal sizes and their answers become proofs, all in one search.

What `certificate` does for one graph, this does for many that lie side by side: together they are
one graph, and each node is reached from its own graph's source. An answer counts as proven only
after checks that do not depend on how the cover, or the cut, was found: it is legal, and as large
as that. Any other answer is certified on its own, on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, Numbers, WideArray, read_only
from augury.classical.batch import Batch, starts, sums
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.certificate import (
    Certificate,
    Cut,
    certify_flow,
    certify_found,
    certify_mates,
    covered,
)
from augury.classical.cuts import reached, source_sides
from augury.classical.graph import BipartiteGraph, pairs_of
from augury.classical.network import FlowNetwork, Graph

MANY = 2**16
"""From this many edges on, of all graphs, compiled loops are worth loading."""


class Proofs(Protocol):
    """What is known about the answers to many graphs."""

    @property
    def sizes(self) -> npt.NDArray[Any]:
        """(graph,): edges of the matching or value of the flow."""
        ...

    @property
    def is_proven(self) -> BoolArray:
        """(graph,): whether the answer is legal, and proven to be the best."""
        ...

    @property
    def noun(self) -> str:
        """What was found: a "matching", a "flow", or a "solution" where there are both."""
        ...

    def graph(self, number: int) -> Graph:
        """Return one of the graphs."""
        ...

    def certificate(self, number: int) -> Certificate:
        """Prove the answer to one of them."""
        ...

    def labelled(self, number: int) -> tuple[str, list[Any]]:
        """Return that answer with the user's labels: its noun and its rows."""
        ...


class Matchings(NamedTuple):
    """What is known about the matching of each graph."""

    graphs: BipartiteBatch
    mates: Numbers
    """(row,): the column of each row in its own graph, −1 for none."""
    sizes: WideArray
    """(graph,): edges of the matching."""
    is_proven: BoolArray
    """(graph,): whether the matching is legal and the cover is valid and of the same size."""
    in_left: BoolArray
    """(row,): whether it is in the cover; meaningless where nothing is proven."""
    in_right: BoolArray
    """(column,)"""

    noun = BipartiteGraph.noun

    def graph(self, number: int) -> BipartiteGraph:
        """See `Proofs`."""
        return self.graphs[number]

    def certificate(self, number: int) -> Certificate:
        """See `Proofs`."""
        if not self.is_proven[number]:
            return certify_mates(self.graph(number), self._mates(number))
        sides = (self.graphs.left, self.in_left), (self.graphs.right, self.in_right)
        own = (is_in[start[number] : start[number + 1]] for start, is_in in sides)
        return covered(self.graphs.labels(number), int(self.sizes[number]), *own)

    def labelled(self, number: int) -> tuple[str, list[Any]]:
        """See `Proofs`."""
        left, right = self.graphs.labels(number)
        return self.noun, [(left[u], right[v]) for u, v in pairs_of(self._mates(number))]

    def _mates(self, number: int) -> Numbers:
        return self.mates[self.graphs.left[number] : self.graphs.left[number + 1]]


def matchings_of(graphs: BipartiteBatch, mates: Numbers) -> Matchings:
    """Find and check a cover for the matching of each graph.

    `mates`, (row,), is the column of each row within its own graph, −1 for none.

    >>> two = BipartiteBatch.of([BipartiteGraph.from_dense(x) for x in ([[1, 1], [0, 1]], [[1]])])
    >>> proofs = matchings_of(two, np.array([0, 1, -1], np.int32))
    >>> proofs.is_proven.tolist(), proofs.certificate(1).shortfall
    ([True, False], 1)
    """
    if len(graphs.indices) > MANY:
        return _proven(graphs, mates)
    num_left, num_right = int(graphs.left[-1]), int(graphs.right[-1])
    row, column = graphs.row, graphs.columns
    edges = graphs.indptr[graphs.left]
    is_matched = mates >= 0
    sizes = sums(is_matched, graphs.left)
    # The edges that are in the matching; no edge occurs twice.
    pairs = np.flatnonzero(graphs.indices == mates[row])
    mate = np.full(num_right, -1)
    mate[column[pairs]] = row[pairs]
    is_legal = sums(mate >= 0, graphs.right) == sizes  # less, if one is no edge or two share a node
    # To a column over any edge, back over the matched one, and from the source to free rows.
    back, free = np.flatnonzero(mate >= 0), np.flatnonzero(~is_matched)
    heads = np.concatenate([column + num_left, mate[back], free])
    degree = np.concatenate([np.diff(graphs.indptr), mate >= 0, [len(free)]])
    is_reached = reached(starts(degree), heads.astype(np.int32), len(degree) - 1)
    beyond_left, in_right = is_reached[:num_left], is_reached[num_left:-1]
    num_cover = sums(~beyond_left, graphs.left) + sums(in_right, graphs.right)
    missed = sums(beyond_left[row] & ~in_right[column], edges)
    is_proven = is_legal & (missed == 0) & (num_cover == sizes)
    return Matchings(graphs, mates, sizes, is_proven, ~beyond_left, in_right)


def _proven(graphs: BipartiteBatch, mates: Numbers) -> Matchings:
    """Do the same in one compiled loop."""
    from augury.classical.loops import prove_matchings

    num_left, num_right = len(mates), int(graphs.right[-1])
    sizes, is_proven = np.empty(len(graphs), np.int64), np.empty(len(graphs), np.bool_)
    in_left, in_right = np.empty(num_left, np.bool_), np.empty(num_right, np.bool_)
    edges = read_only(graphs.indptr, np.int64), read_only(graphs.indices, np.int32)
    sides = read_only(graphs.left, np.int64), read_only(graphs.right, np.int64)
    room = np.empty(num_left, np.int64), np.empty(num_right, np.int64)
    found = sizes, is_proven, in_left, in_right
    prove_matchings(edges, sides, read_only(mates, np.int32), room, found)
    return Matchings(graphs, mates, *found)


def certify_all(graphs: Sequence[Graph], found: Sequence[Numbers]) -> list[Certificate]:
    """Check what was found on each graph, as `certify_found` does for one."""
    answers = list(zip(graphs, found, strict=True))
    matched = [(graph, own) for graph, own in answers if isinstance(graph, BipartiteGraph)]
    if len(matched) < 2:
        return [certify_found(*one) for one in answers]
    batch = BipartiteBatch.of([graph for graph, _ in matched])
    proofs = matchings_of(batch, np.concatenate([own for _, own in matched]))
    matchings = map(proofs.certificate, range(len(matched)))
    return [
        certify_flow(graph, own) if isinstance(graph, FlowNetwork) else next(matchings)
        for graph, own in answers
    ]


class Flows(NamedTuple):
    """What is known about the flow of each network."""

    networks: Sequence[FlowNetwork]
    node_start: WideArray
    arc_start: WideArray
    flow: WideArray
    """(arc,): the net flow; `flow[arc] == -flow[arc ^ 1]`."""
    sizes: npt.NDArray[Any]
    """(graph,): the value of the flow; Python integers where some are beyond 64 bits."""
    is_proven: BoolArray
    """(graph,): whether the flow is legal and the cut has the same capacity."""
    in_cut: BoolArray
    """(node,): whether it is on the source's side; meaningless where nothing is proven."""

    noun = FlowNetwork.noun

    def graph(self, number: int) -> FlowNetwork:
        """See `Proofs`."""
        return self.networks[number]

    def certificate(self, number: int) -> Certificate:
        """See `Proofs`."""
        network = self.networks[number]
        if not self.is_proven[number]:
            return certify_flow(network, self.flow_of(number))
        first, last = self.node_start[number : number + 2].tolist()
        side = np.flatnonzero(self.in_cut[first:last]).tolist()
        value = int(self.sizes[number])
        return Certificate(value, "", value, Cut(tuple(map(network.label, side)), value))

    def labelled(self, number: int) -> tuple[str, list[Any]]:
        """See `Proofs`."""
        return self.noun, self.networks[number].labelled(self.flow_of(number))

    def flow_of(self, number: int) -> WideArray:
        """Return the net flow on each arc of a network."""
        return self.flow[self.arc_start[number] : self.arc_start[number + 1]]


class Cuts(NamedTuple):
    """The value and the cut of each flow, and whether they prove it: see `Flows`."""

    sizes: npt.NDArray[Any]
    is_proven: BoolArray
    in_cut: BoolArray


def flows_of(
    networks: Sequence[FlowNetwork], batch: Batch, residual: WideArray, cuts: Cuts | None = None
) -> Flows:
    """Return what is known about the flow of each network; `batch` holds the networks.

    `cuts` is given if they were found and checked elsewhere.
    """
    flow = batch.capacity - residual
    known = cuts or cuts_of(batch, residual)
    return Flows(networks, batch.node_start, batch.arc_start, flow, *known)


def cuts_of(batch: Batch, residual: WideArray) -> Cuts:
    """Find and check a cut for the flow of each network."""
    flow = batch.capacity - residual
    order, order_start = batch.by_sender
    is_legal = sums((residual < 0) | (flow != -flow.reshape(-1, 2)[:, ::-1].reshape(-1)),
                     batch.arc_start) == 0  # fmt: skip
    low, high = _exact_sums(flow[order], order_start)  # what leaves each node
    value = low[batch.source], high[batch.source]
    is_lost = (low != 0) | (high != 0)
    is_lost[batch.source] = is_lost[batch.sink] = False
    is_legal &= sums(is_lost, batch.node_start) == 0
    in_cut = source_sides(batch, residual)
    leaves = in_cut[batch.sender] & ~in_cut[batch.receiver]
    cut = _exact_sums(np.where(leaves, batch.capacity, 0), batch.arc_start)
    is_cut = in_cut[batch.source] & ~in_cut[batch.sink]
    is_proven = is_legal & is_cut & (cut[0] == value[0]) & (cut[1] == value[1])
    return Cuts(whole_sums(*value), is_proven, in_cut)


class Several(NamedTuple):
    """What is known about the answers to several batches, in another order."""

    parts: Sequence[Proofs]
    place: WideArray
    """(graph, 2): the part, and the number within it."""

    @property
    def sizes(self) -> npt.NDArray[Any]:
        """See `Proofs`."""
        return self.joined([part.sizes for part in self.parts])

    @property
    def is_proven(self) -> BoolArray:
        """See `Proofs`."""
        return self.joined([part.is_proven for part in self.parts])

    def joined(self, values: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return what each part has for each of its graphs, in the order of the graphs."""
        first = starts(list(map(len, values)))
        return np.concatenate(values)[first[self.place[:, 0]] + self.place[:, 1]]

    @property
    def noun(self) -> str:
        """See `Proofs`."""
        nouns = {part.noun for part in self.parts}
        return nouns.pop() if len(nouns) == 1 else "solution"

    def graph(self, number: int) -> Graph:
        """See `Proofs`."""
        part, own = self._at(number)
        return part.graph(own)

    def certificate(self, number: int) -> Certificate:
        """See `Proofs`."""
        part, own = self._at(number)
        return part.certificate(own)

    def labelled(self, number: int) -> tuple[str, list[Any]]:
        """See `Proofs`."""
        part, own = self._at(number)
        return part.labelled(own)

    def _at(self, number: int) -> tuple[Proofs, int]:
        part: int
        own: int
        part, own = self.place[number].tolist()
        return self.parts[part], own


def _exact_sums(values: WideArray, start: WideArray) -> tuple[WideArray, WideArray]:
    """Add up consecutive ranges exactly, at any length: the low 32 bits, and the rest."""
    low, high = sums(values & 0xFFFFFFFF, start), sums(values >> 32, start)
    return low & 0xFFFFFFFF, high + (low >> 32)


def whole_sums(low: WideArray, high: WideArray) -> npt.NDArray[Any]:
    """Return sums, given their low 32 bits and the rest: as int64, or all as Python integers.

    >>> whole_sums(np.array([5]), np.array([2**31])).tolist() == [5 + 2**63]
    True
    """
    if (np.abs(high) >= 2**31).any():
        return low.astype(object) + high.astype(object) * 2**32
    return low + (high << 32)
