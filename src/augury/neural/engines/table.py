"""A discrete network becomes its own transition table: every decision it can make, looked up.

What a node does next depends on its bit and on which kinds of message reach it; a link's rank on
two bits and a weight; a comparison and a subtraction on a few bits. `compile_table` runs the
network on each of these cases once and keeps what it decided. `TableExecutor` then executes any
discrete network by looking up, verified or not. For a network that verifies the table is that of
Edmonds-Karp (`Table.require_exact`, entry by entry), and only then the bit-parallel loops of
`cpu` and `cuda`, which are that function written out, may stand in for it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    MAX_WEIGHT,
    Paths,
    Subroutines,
    Tree,
    WeightArray,
)
from augury.classical.graph import BoolArray, InputError, WideArray
from augury.classical.network import FlowNetwork
from augury.neural.discrete import DiscreteNetwork, refuse_beyond_range
from augury.neural.execute import padded_paths
from augury.neural.isolation import inference
from augury.neural.wiring import Wiring

BITS = (0, 1)
KINDS = tuple(product(BITS, BITS))
"""Kinds of message: (sender's bit, link's bit), or (candidate, digit) on a path."""

SETS = tuple(
    tuple(kind for place, kind in enumerate(KINDS) if mask >> place & 1)
    for mask in range(2 ** len(KINDS))
)
"""The sets of kinds; set number `mask` holds the kinds whose bits are in `mask`."""

VALID = KINDS.index((1, 1))
SMALLER = KINDS.index((1, 0))

Decisions = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Table:
    """All decisions of one network. Entries are 0 or 1; −1 would be a case that was never run."""

    reached: Decisions
    """(own bit, set of kinds) → is the node reached now?"""
    changed: Decisions
    """(own bit, set of kinds) → does it say that it changed?"""
    rank: Decisions
    """(sender's bit, link's bit, weight) → place in the order of scores; equal scores share one."""
    candidate: Decisions
    """(candidate, digit, set of kinds on the path) → may the arc still be the smallest?"""
    difference: Decisions
    """(digit, digit of the amount, borrow) → (digit of the difference, next borrow)."""
    bits: int
    """The width of the integers that the network was made for."""

    @property
    def num_cases(self) -> int:
        """How many entries there are."""
        return sum(entries.size for entries in self._parts().values())

    @property
    def is_complete(self) -> bool:
        """Whether every case has been run."""
        return all(bool((entries >= 0).all()) for entries in self._parts().values())

    def differences(self) -> list[str]:
        """Name the parts that differ from Edmonds-Karp in any entry; see docs/verification.md."""
        exact = _exact_decisions()
        parts = self._parts()
        wrong = [name for name in exact if not np.array_equal(parts[name], exact[name])]
        valid, others = self.rank[1, 1, 1:], self.rank[[0, 0, 1], [0, 1, 0]]
        if (np.diff(valid) >= 0).any() or others.max() >= valid[-1]:
            wrong.append("rank")
        return wrong

    def require_exact(self) -> None:
        """Raise an InputError unless the table is that of Edmonds-Karp."""
        wrong = self.differences()
        if wrong:
            raise InputError(
                f"the table of this network is not that of Edmonds-Karp (see {', '.join(wrong)}), "
                "so it has no bit-parallel form; `augury verify` shows the cases"
            )

    def _parts(self) -> dict[str, Decisions]:
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.name != "bits"
        }


def _exact_decisions() -> dict[str, Decisions]:
    """The decisions of Edmonds-Karp, in the shape of a table; the ranks have no single form."""
    masks = np.arange(len(SETS))
    hears, smaller = masks >> VALID & 1, masks >> SMALLER & 1
    candidate = np.zeros((2, 2, len(SETS)), np.int8)
    candidate[1, 0], candidate[1, 1] = 1, 1 - smaller
    # An arc's own kind is on its path, whatever else is.
    difference = [
        [(left % 2, left < 0) for left in (digit - amount, digit - amount - 1)]
        for digit, amount in KINDS
    ]
    return {
        "reached": np.stack([hears, np.ones_like(hears)]).astype(np.int8),
        "changed": np.stack([hears, np.zeros_like(hears)]).astype(np.int8),
        "candidate": candidate,
        "difference": np.array(difference, np.int8).reshape(2, 2, 2, 2),
    }


@inference()
def compile_table(network: DiscreteNetwork) -> Table:
    """Fill the table by running the network on every local case."""
    device = network.score.weight.device
    reached, changed = _reach_decisions(network, device)
    grid = torch.cartesian_prod(*(torch.arange(k, device=device) for k in (2, 2, MAX_WEIGHT + 1)))
    scores = network.scores(grid[:, 0], grid[:, 1], grid[:, 2])
    rank = torch.unique(scores, return_inverse=True)[1].reshape(2, 2, -1)
    digits = torch.tensor(list(product(BITS, repeat=3)), device=device)
    difference = (network.difference_logits(*digits.T) > 0).reshape(2, 2, 2, 2)
    return Table(
        reached,
        changed,
        _entries(rank),
        _candidate_decisions(network, device),
        _entries(difference),
        network.bits,
    )


def _entries(decisions: Tensor) -> Decisions:
    return decisions.cpu().numpy().astype(np.int8)


def stars() -> tuple[Batch, WideArray]:
    """Build a star for each own bit and each set of kinds; node 0 of each is the one that hears.

    Returns the batch and every node's bit; a link's bit is its capacity. The self loop of the
    centre, which always is there, adds the kind (own bit, 0).
    """
    networks, bits = [], []
    for own, kinds in product(BITS, SETS):
        # A link with the bit 0 is the reverse of an arc that has capacity.
        ends = [
            (leaf, 0) if usable else (0, leaf) for leaf, (_, usable) in enumerate(kinds, start=1)
        ]
        tails, heads = [tail for tail, _ in ends], [head for _, head in ends]
        networks.append(FlowNetwork.from_arcs(6, tails, heads, [1] * len(ends), source=0, sink=5))
        bits += [own, *(bit for bit, _ in kinds), *[0] * (5 - len(kinds))]
    return Batch.of(networks), np.array(bits)


def _reach_decisions(network: DiscreteNetwork, device: torch.device) -> tuple[Decisions, Decisions]:
    batch, bits = stars()
    wiring = Wiring.of(batch, device)
    is_usable = wiring.on_links(torch.from_numpy(batch.capacity > 0).to(device))
    prepared = network.processor.prepare(network.encode_links(is_usable))
    logits = network.reach_logits(torch.from_numpy(bits).to(device), prepared, wiring)
    reached, changed = ((part[wiring.source] > 0).reshape(2, -1) for part in logits)
    return _entries(reached), _entries(changed)


def _candidate_decisions(network: DiscreteNetwork, device: torch.device) -> Decisions:
    """Put the arc itself first on its path, then one arc for each kind that is there."""
    rows = [[own, *kinds] for own, kinds in product(KINDS, SETS)]
    width = 1 + len(KINDS)
    filled = torch.tensor([row + [(0, 0)] * (width - len(row)) for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    is_padding = torch.arange(width, device=device) >= lengths[:, None]
    logits = network.candidate_logits(filled[..., 0], filled[..., 1], is_padding)
    return _entries(logits[:, 0] > 0).reshape(2, 2, -1)


@dataclass(frozen=True)
class TableExecutor:
    """The subroutines of Ford-Fulkerson, each decision looked up: what the network would do."""

    table: Table

    def subroutines(self) -> Subroutines:
        """Return the four parts."""
        return Subroutines(self.search, self.bottleneck, self.augment, self.is_done)

    def search(self, batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree:
        """Step while any node of a graph says that it changed; latch first predecessors."""
        refuse_beyond_range(residual, self.table.bits)
        order, start = batch.by_sender
        arcs = order ^ 1  # sorted by receiver, as links are
        heard = np.flatnonzero(np.diff(start))
        first = start[heard]
        sender, receiver = batch.sender[arcs], batch.receiver[arcs]
        usable = (residual[arcs] > 0).astype(np.int64)
        weight = weights[arcs]
        is_reached = np.zeros(batch.num_nodes, np.int64)
        is_reached[batch.source] = 1
        pointer = np.full(batch.num_nodes, -1, np.int32)
        runs = np.ones(batch.num_graphs, np.bool_)
        limit, steps = np.diff(batch.node_start) - 1, 0
        while runs.any():
            kind = 1 << (2 * is_reached[sender] + usable)
            kinds = np.zeros(batch.num_nodes, np.int64)
            # A set is an OR of its kinds, as the maximum does not count.
            kinds[heard] = np.bitwise_or.reduceat(kind, first) if len(heard) else 0
            ranks = self.table.rank[is_reached[sender], usable, weight].astype(np.int64)
            best = self.table.rank[is_reached, 0, 0].astype(np.int64)  # the self loop
            highest = np.maximum.reduceat(ranks, first) if len(heard) else ranks
            arc = np.full(batch.num_nodes, -1, np.int32)
            is_best = ranks == np.repeat(highest, np.diff(start)[heard])
            where = np.flatnonzero(is_best)[::-1]  # the first among equals is written last
            arc[receiver[where]] = arcs[where]
            arc[heard[highest < best[heard]]] = -1
            live = runs[batch.node_graph]
            now = (self.table.reached[is_reached, kinds] > 0) & live
            says_changed = self.table.changed[is_reached, kinds] > 0
            is_new = now & (is_reached == 0)
            pointer[is_new] = arc[is_new]
            steps += 1
            changed = np.zeros(batch.num_graphs, np.bool_)
            changed[batch.node_graph[says_changed]] = True
            is_reached = np.where(live, now, is_reached).astype(np.int64)
            runs = runs & changed & (steps < limit)
        pointer[batch.source] = -1
        return Tree(pointer, is_reached)

    def is_done(
        self, batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree, /
    ) -> BoolArray:
        """Done where the search left the sink unreached."""
        return tree.memory[batch.sink] == 0

    def bottleneck(
        self, batch: Batch, residual: WideArray, paths: Paths, tree: Tree, /
    ) -> WideArray:
        """Compare the arcs of each path from the top bit down; whoever is left has the smallest."""
        if not len(paths.graph):
            return np.zeros(0, np.int64)
        arcs, is_padding = padded_paths(paths)
        capacity = residual[arcs]
        is_candidate = (~is_padding).astype(np.int64)
        largest = np.where(is_padding, 0, capacity).max(axis=1, keepdims=True)
        for place in range(int(largest.max()).bit_length() - 1, -1, -1):
            digit = capacity >> place & 1
            kind = np.where(is_padding, 0, 1 << (2 * is_candidate + digit))
            kinds = np.bitwise_or.reduce(kind, axis=1, keepdims=True)
            now = self.table.candidate[is_candidate, digit, kinds].astype(np.int64)
            now[is_padding] = 0
            is_candidate = np.where(largest >> place > 0, now, is_candidate)
        chosen = is_candidate.argmax(-1)
        return capacity[np.arange(len(chosen)), chosen]

    def augment(
        self, batch: Batch, residual: WideArray, paths: Paths, bottleneck: WideArray, tree: Tree, /
    ) -> WideArray:
        """Subtract the bottleneck from each arc's residual, bit by bit from the bottom up."""
        capacity, amount = residual[paths.arcs], paths.spread(bottleneck)
        kept, borrow = np.zeros_like(capacity), np.zeros_like(capacity)
        larger = np.maximum(capacity, amount)
        for place in range(int(larger.max(initial=0)).bit_length()):
            ones = self.table.difference[capacity >> place & 1, amount >> place & 1, borrow]
            kept |= np.where(larger >> place > 0, ones[:, 0].astype(np.int64), 0) << place
            borrow = ones[:, 1].astype(np.int64)
        return kept
