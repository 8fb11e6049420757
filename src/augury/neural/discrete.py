"""Bits become decisions with nothing continuous in between: the network that can be proven.

The state of a node is one reached bit, of an arc on a path one candidate bit, of a subtraction one
borrow bit. Every step computes real numbers from bits, rounds them to bits and forgets the rest,
and aggregation is the maximum. So what a node does next depends on its own bit and on which kinds
of message arrive, not on how many: finitely many local cases decide every run on every graph, and
`augury.verify` enumerates them.

All parts are learnt. What is not: the bits of integers, the latch that keeps a node's first
predecessor, following the pointers, and that the reverse arc gets the rest of the pair's sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    MAX_WEIGHT,
    Paths,
    Tree,
    WeightArray,
)
from augury.classical.graph import BoolArray, InputError, WideArray
from augury.config import NetworkConfig
from augury.neural.execute import Executor, beliefs, padded_paths, wiring_of
from augury.neural.features import to_bits
from augury.neural.isolation import inference
from augury.neural.layers import Linear
from augury.neural.processors import MPNN
from augury.neural.reduce import best_links
from augury.neural.wiring import Wiring

WEIGHT_BITS = MAX_WEIGHT.bit_length()


class DiscreteNetwork(nn.Module):
    """Search, termination, predecessors, bottleneck and augmentation, each a function of bits."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        hidden, self.bits = config.hidden, config.bits
        self.hidden = hidden
        self.node_bit = Linear(1, hidden, bias=True)
        self.link_bit = Linear(1, hidden, bias=True)
        self.processor = MPNN(hidden, is_recurrent=False)
        self.reached = Linear(2 * hidden, 1, bias=True)
        self.changed = Linear(2 * hidden, 1, bias=True)

        self.link_weight = Linear(WEIGHT_BITS, hidden, bias=True)
        self.score_hidden = Linear(3 * hidden, hidden, bias=False)
        self.score = Linear(hidden, 1, bias=True)

        self.candidate_bits = Linear(2, hidden, bias=True)
        self.candidate_message = Linear(hidden, hidden, bias=False)
        self.candidate_join = Linear(2 * hidden, hidden, bias=False)
        self.candidate = Linear(hidden, 1, bias=True)

        self.digits = Linear(3, hidden, bias=True)
        self.difference = Linear(hidden, 2, bias=True)

    def encode_nodes(self, is_reached: Tensor) -> Tensor:
        """(…, node) bits → (…, node, K)."""
        return F.leaky_relu(self.node_bit(_column(is_reached, self.node_bit)))

    def encode_links(self, is_usable: Tensor) -> Tensor:
        """(link,) bits → (…, link, K)."""
        return F.leaky_relu(self.link_bit(_column(is_usable, self.link_bit)))

    def reach_logits(
        self, is_reached: Tensor, prepared: Tensor, wiring: Wiring
    ) -> tuple[Tensor, Tensor]:
        """Return (…, node) logits of "reached now" and of "changed in this step"."""
        encoded = self.encode_nodes(is_reached)
        both = torch.cat([encoded, self.processor.update(encoded, prepared, wiring)], dim=-1)
        return self.reached(both).squeeze(-1), self.changed(both).squeeze(-1)

    def scores(self, sender: Tensor, is_usable: Tensor, weights: Tensor) -> Tensor:
        """(…, link): how good a predecessor is, by the sender's bit, the link's and its weight."""
        bits = to_bits(weights, WEIGHT_BITS, self.link_weight.weight.dtype)
        weight = F.leaky_relu(self.link_weight(bits))
        nodes, links = self.encode_nodes(sender), self.encode_links(is_usable)
        hidden = self.score_hidden.part(nodes, 0) + self.score_hidden.part(links, 1)
        hidden = F.leaky_relu(hidden + self.score_hidden.part(weight, 2))
        return self.score(hidden).squeeze(-1)

    def candidate_logits(self, is_candidate: Tensor, bit: Tensor, is_padding: Tensor) -> Tensor:
        """One bit of the comparison: (…, walk, place) logits of "may still be the smallest"."""
        shape = is_candidate.shape
        inputs = torch.stack([is_candidate, bit], dim=-1).to(self.candidate_bits.weight.dtype)
        encoded = F.leaky_relu(self.candidate_bits(inputs.flatten(-3, -2)))
        message = F.leaky_relu(self.candidate_message(encoded)).unflatten(-2, shape[-2:])
        heard = message.masked_fill(is_padding.unsqueeze(-1), -torch.inf).amax(-2, keepdim=True)
        heard = heard.expand_as(message).flatten(-3, -2)
        joined = F.leaky_relu(
            self.candidate_join.part(encoded, 0) + self.candidate_join.part(heard, 1)
        )
        return self.candidate(joined).squeeze(-1).unflatten(-1, shape[-2:])

    def difference_logits(self, capacity: Tensor, amount: Tensor, borrow: Tensor) -> Tensor:
        """One bit of the subtraction: (…, entry, 2) logits of the digit and the next borrow."""
        inputs = torch.stack([capacity, amount, borrow], dim=-1).to(self.digits.weight.dtype)
        return self.difference(F.leaky_relu(self.digits(inputs)))


def _column(bits: Tensor, layer: Linear) -> Tensor:
    return bits.to(layer.weight.dtype).unsqueeze(-1)


class Reached(NamedTuple):
    """What the search leaves for the other subroutines."""

    is_reached: Tensor
    steps: int


@dataclass(frozen=True)
class DiscreteExecutor(Executor):
    """The discrete network as the subroutines of Ford-Fulkerson."""

    network: DiscreteNetwork

    @inference()
    def search(self, batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree:
        """Step while any node of a graph says that it changed; latch first predecessors."""
        refuse_beyond_range(residual, self.network.bits)
        wiring = wiring_of(batch, self.device)
        by = self._search_fast if self.is_fast else self._search_plain
        link, reached = by(residual, weights, wiring)
        arc = torch.where(link >= 0, wiring.arc[link], -1).cpu().numpy().astype(np.int32)
        arc[batch.source] = -1
        return Tree(arc, reached)

    @property
    def is_fast(self) -> bool:
        """See `Executor`."""
        on_cpu = torch.device(self.device).type == "cpu"
        is_wanted = self.engine == "fast" and self.observer is None
        return is_wanted and on_cpu and _frontier() is not None

    def _search_fast(
        self, residual: WideArray, weights: WeightArray, wiring: Wiring
    ) -> tuple[Tensor, Reached]:
        usable = np.append(residual > 0, False).view(np.uint8)
        row = (usable * np.uint8(MAX_WEIGHT + 1) + np.append(weights, np.uint8(0))).astype(np.uint8)
        scores = self._score_table().numpy()
        row = row[wiring.arc.numpy()]
        ended = _frontier().search(self._decider(), scores, usable, row, wiring)
        found = Reached(torch.from_numpy(ended.is_reached), ended.steps)
        return torch.from_numpy(ended.link), found

    def _decider(self) -> Callable[[], tuple[BoolArray, BoolArray]]:
        """Return what evaluates the network's step on every neighbourhood that a node can have."""
        wiring, is_reached, is_usable = _neighbourhoods()
        # As in the plain form, what belongs to the links stays the same for a whole search.
        prepared = self.network.processor.prepare(self.network.encode_links(is_usable))

        def decide() -> tuple[BoolArray, BoolArray]:
            logits = self.network.reach_logits(is_reached, prepared, wiring)
            reached, changed = ((values[2:] > 0).numpy() for values in logits)
            return reached, changed

        return decide

    def _search_plain(
        self, residual: WideArray, weights: WeightArray, wiring: Wiring
    ) -> tuple[Tensor, Reached]:
        network = self.network
        is_usable = wiring.on_links(torch.from_numpy(residual > 0).to(self.device)).long()
        bits = torch.tensor([0, 1], device=self.device)
        prepared = network.processor.prepare(network.encode_links(bits)).index_select(0, is_usable)
        table = self._score_table()
        weight = wiring.on_links(torch.from_numpy(weights.astype(np.int64)).to(self.device))
        row = is_usable * (MAX_WEIGHT + 1) + weight
        is_reached = torch.zeros(wiring.num_nodes, dtype=torch.bool, device=self.device)
        is_reached[wiring.source] = True
        link = torch.full((wiring.num_nodes,), -1, device=self.device)
        runs = torch.ones(wiring.num_graphs, dtype=torch.bool, device=self.device)
        limit = wiring.node_start.diff() - 1
        steps = 0
        while bool(runs.any()):
            reached, changed = network.reach_logits(is_reached, prepared, wiring)
            scores = table[is_reached[wiring.sender].long(), row]
            now = (reached > 0) & runs[wiring.node_graph]
            is_new = now & ~is_reached
            link = torch.where(is_new, best_links(scores, wiring), link)
            steps += 1
            goes_on = _any_of_graphs(changed > 0, wiring) & (steps < limit)
            is_reached = torch.where(runs[wiring.node_graph], now, is_reached)
            runs = runs & goes_on
            if self.observer is not None:
                latched = torch.where(link >= 0, wiring.arc[link], -1)
                likely = beliefs(scores, wiring)
                self.observer.searched(is_reached, latched, likely, changed.max())
        return link, Reached(is_reached, steps)

    def is_done(
        self, batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree, /
    ) -> BoolArray:
        """The search itself knows: done where its last step left the sink unreached."""
        memory = tree.memory
        assert isinstance(memory, Reached)
        return ~memory.is_reached.cpu().numpy()[batch.sink]

    @inference()
    def bottleneck(
        self, batch: Batch, residual: WideArray, paths: Paths, tree: Tree, /
    ) -> WideArray:
        """Compare the arcs of each path from the top bit down; whoever is left has the smallest."""
        if not len(paths.graph):
            return np.zeros(0, np.int64)
        arcs, is_padding = padded_paths(paths)
        capacity = torch.from_numpy(residual[arcs]).to(self.device)
        padding = torch.from_numpy(is_padding).to(self.device)
        is_candidate, likely = ~padding, (~padding).float()
        # Each path starts at its own top bit, so that no answer depends on who else is there.
        largest = capacity.masked_fill(padding, 0).amax(-1, keepdim=True)
        for place in range(int(largest.max()).bit_length() - 1, -1, -1):
            bit = (capacity >> place) & 1
            logits = self.network.candidate_logits(is_candidate, bit, padding)
            has_begun = largest >> place > 0
            is_candidate = torch.where(has_begun, (logits > 0) & ~padding, is_candidate)
            if self.observer is not None:
                likely = torch.where(has_begun, likely * logits.sigmoid(), likely)
        if self.observer is not None:
            self.observer.compared(likely)
        chosen = is_candidate.long().argmax(-1, keepdim=True)
        return capacity.gather(1, chosen)[:, 0].cpu().numpy()

    @inference()
    def augment(
        self, batch: Batch, residual: WideArray, paths: Paths, bottleneck: WideArray, tree: Tree, /
    ) -> WideArray:
        """Subtract the bottleneck from each arc's residual, bit by bit from the bottom up."""
        if not len(paths.graph):
            return np.zeros(0, np.int64)
        capacity = torch.from_numpy(residual[paths.arcs]).to(self.device)
        amount = torch.from_numpy(paths.spread(bottleneck)).to(self.device)
        kept, borrow = torch.zeros_like(capacity), torch.zeros_like(capacity, dtype=torch.bool)
        larger = torch.maximum(capacity, amount)
        for place in range(int(larger.max()).bit_length()):
            digits = (capacity >> place) & 1, (amount >> place) & 1
            ones = self.network.difference_logits(*digits, borrow) > 0
            # As above: beyond an arc's own top bit there is nothing to subtract.
            one = ones[..., 0] & (larger >> place > 0)
            kept = kept | (one.long() << place)
            borrow = ones[..., 1]
        return kept.cpu().numpy()

    def _score_table(self) -> Tensor:
        """(sender's bit, link's bit * 16 + weight): the scores, computed once for each case."""
        bits = torch.arange(2, device=self.device)
        weights = torch.arange(MAX_WEIGHT + 1, device=self.device)
        grid = torch.cartesian_prod(bits, bits, weights)
        return self.network.scores(grid[:, 0], grid[:, 1], grid[:, 2]).reshape(2, -1)


def refuse_beyond_range(residual: WideArray, bits: int) -> None:
    """Raise an InputError if some arc may come to hold more than a network's integers can."""
    # A residual can grow to its pair's sum, which never changes: so a run is refused at once.
    most = int((residual[::2] + residual[1::2]).max(initial=0))
    if most.bit_length() > bits:
        raise InputError(
            f"a capacity of {most} is beyond this network's range of {bits} bits, 0..{2**bits - 1}"
        )


@cache
def _frontier() -> Any:
    """Return the compiled form of a search, or None where numba is not installed."""
    try:
        from augury.neural.engines import frontier
    except ImportError:
        return None
    return frontier


@cache
def _neighbourhoods() -> tuple[Wiring, Tensor, Tensor]:
    """Return a wiring in which node 2 + 16 b + m has bit b and hears the kinds of message in m.

    Node 0 is an unreached sender and node 1 a reached one. Kind 2 s + u comes from node s by a link
    whose bit is u. Every node hears something, if only itself: m = 0 stands for no node.
    """
    heard = [(s, 0) for s in range(2)]
    degree = [1, 1]
    for mask in [*range(16), *range(16)]:
        kinds = [kind for kind in range(4) if mask >> kind & 1] or [0]
        heard += [divmod(kind, 2) for kind in kinds]
        degree.append(len(kinds))
    sender, usable = np.array(heard).T
    nodes, start = np.arange(len(degree)), np.concatenate([[0], np.cumsum(degree)])
    graph = np.zeros_like(nodes), np.array([0, len(nodes)]), np.zeros(1, np.int64)
    receiver = np.repeat(nodes, degree)
    wiring = Wiring.from_arrays(sender, receiver, start, np.full(len(sender), -1), *graph)
    is_reached = torch.from_numpy(np.isin(nodes, [1, *range(18, 34)]))
    return wiring, is_reached, torch.from_numpy(usable > 0)


def _any_of_graphs(nodes: Tensor, wiring: Wiring) -> Tensor:
    """(node,) → (graph,): whether any node says so: the maximum of its logits is above 0."""
    found = torch.zeros(wiring.num_graphs, dtype=torch.bool, device=nodes.device)
    found[wiring.node_graph[nodes]] = True
    return found
