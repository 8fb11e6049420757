"""A network's steps on a batch become named losses and counts, one for each network of an ensemble.

The network's own rounded output is its next input. A graph leaves the loss when its true execution
has converged. Distances and predecessors count where a node is reached, all bits alike; bottleneck
and augmentation weigh a tenth (paper, section 3, and the authors' code).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from augury.neural.batch import ReachBatch, SearchBatch
from augury.neural.discrete import DiscreteNetwork
from augury.neural.features import from_bits, to_bits
from augury.neural.networks import PaperNetwork, Walks
from augury.neural.reduce import pad_incoming
from augury.neural.wiring import Wiring

WEIGHTS = {
    "distance": 1.0,
    "predecessor": 1.0,
    "termination": 1.0,
    "bottleneck": 0.1,
    "augmentation": 0.1,
    "reachability": 1.0,
    "reach_termination": 1.0,
}
"""The terms of the loss and how they add up."""


@dataclass
class Tally:
    """Sums of losses and of right decisions, and how many there were; each (…,) over networks."""

    loss: dict[str, Tensor] = field(default_factory=dict)
    right: dict[str, Tensor] = field(default_factory=dict)
    count: dict[str, Tensor] = field(default_factory=dict)

    def add(self, name: str, losses: Tensor, right: Tensor, counts: Tensor | None = None) -> None:
        """Add losses (…, entry) and verdicts (…, entry) of the decisions that count (entry,)."""
        if counts is None:
            loss, correct = losses.sum(-1), right.sum(-1)
            count = torch.full_like(loss, losses.shape[-1], requires_grad=False)
        else:
            # Multiplying, not selecting: a GPU need not wait to learn how many there are.
            counted = counts.to(losses.dtype)
            loss, correct = losses @ counted, right.to(losses.dtype) @ counted
            count = counted.sum().expand_as(loss)
        self.loss[name] = self.loss.get(name, 0) + loss
        self.right[name] = self.right.get(name, 0) + correct
        self.count[name] = self.count.get(name, 0) + count

    def merge(self, other: Tally) -> None:
        """Add another tally's sums; used for metrics, never for gradients."""
        for name in other.count:
            self.loss[name] = self.loss.get(name, 0) + other.loss[name].detach()
            self.right[name] = self.right.get(name, 0) + other.right[name]
            self.count[name] = self.count.get(name, 0) + other.count[name]

    def means(self) -> dict[str, Tensor]:
        """Return the mean loss of each term."""
        return {name: self.loss[name] / self.count[name].clamp(min=1) for name in self.loss}

    def accuracies(self) -> dict[str, Tensor]:
        """Return the share of right decisions of each kind."""
        return {name: self.right[name] / self.count[name].clamp(min=1) for name in self.right}

    def total(self) -> Tensor:
        """Return the weighted sum of the terms."""
        means = self.means()
        return sum(
            (WEIGHTS[name] * means[name] for name in WEIGHTS if name in means), torch.zeros(())
        )


def search_losses(network: PaperNetwork, batch: SearchBatch, tally: Tally) -> None:
    """Run the search of every round for as long as the true one runs, then the walks."""
    wiring, device = batch.wiring, batch.weights.device
    terms = network.search_terms(batch.weights, batch.capacities)
    distance = torch.full((wiring.num_nodes,), 2**network.bits - 1, device=device)
    distance[wiring.source] = 0
    leading = terms.prepared.shape[:-2]
    latent = torch.zeros(*leading, wiring.num_nodes, network.hidden, device=device)
    last_latent: list[Tensor] = []
    ends = [*batch.running[1:], 0]
    for step, (num_running, num_next) in enumerate(zip(batch.running, ends, strict=True)):
        wiring = wiring.first(num_running)
        terms = terms.first(wiring.num_links)
        distance, latent = distance[..., : wiring.num_nodes], latent[..., : wiring.num_nodes, :]
        state = network.search_step(distance, latent, terms, wiring)
        logits = network.distance_logits(state)
        column = batch.column[step, : wiring.num_nodes]
        bits = to_bits(batch.distance[step, : wiring.num_nodes], network.bits).expand_as(logits)
        losses = F.binary_cross_entropy_with_logits(logits, bits, reduction="none")
        right = (logits > 0) == (bits > 0)
        is_reached = column >= 0
        tally.add("distance", losses.mean(-1), right.float().mean(-1), is_reached)
        scores = network.predecessor_scores(state, terms, wiring)
        _add_classes(tally, "predecessor", scores, column.clamp(min=0), is_reached)
        _add_termination(tally, "termination", network.search_continues(state, wiring), num_next)
        distance, latent = from_bits(logits > 0), state.latent
        if num_next < num_running:
            first = int(wiring.offsets[num_next, 0])
            right = scores[..., first:, :].argmax(-1) == column[first:]
            tally.add(
                "last_predecessor", torch.zeros_like(right.float()), right, is_reached[first:]
            )
            last_latent.append(latent[..., first:, :])
    _walk_losses(network, batch, torch.cat(last_latent[::-1], dim=-2), tally)


def _add_classes(
    tally: Tally, name: str, scores: Tensor, target: Tensor, counts: Tensor | None = None
) -> None:
    chosen = target.unsqueeze(-1).expand(*scores.shape[:-1], 1)
    losses = -scores.log_softmax(-1).gather(-1, chosen).squeeze(-1)
    tally.add(name, losses, scores.argmax(-1) == target, counts)


def _add_termination(tally: Tally, name: str, goes_on: Tensor, num_next: int) -> None:
    """The graphs that take part in the next step are the first ones, and they go on."""
    target = torch.arange(goes_on.shape[-1], device=goes_on.device) < num_next
    expected = target.to(goes_on.dtype).expand_as(goes_on)
    losses = F.binary_cross_entropy_with_logits(goes_on, expected, reduction="none")
    tally.add(name, losses, (goes_on > 0) == target)


def _walk_losses(network: PaperNetwork, batch: SearchBatch, latent: Tensor, tally: Tally) -> None:
    walks = batch.walks
    messages = network.walk_messages(latent, walks)
    logits = network.bottleneck_logits(messages, walks)
    smallest = walks.capacities.amin(-1)
    is_smallest = walks.capacities == smallest[:, None]
    # Several arcs may tie: probability on any of them is right.
    log_share = logits.log_softmax(-1).masked_fill(~is_smallest, -torch.inf).logsumexp(-1)
    chosen = is_smallest.expand_as(logits).gather(-1, logits.argmax(-1, keepdim=True)).squeeze(-1)
    tally.add("bottleneck", -log_share, chosen)
    has_zero = smallest == 0
    tally.add(
        "bottleneck_true_negative",
        torch.zeros_like(log_share[..., has_zero]),
        chosen[..., has_zero],
    )
    kept = (walks.capacities - smallest[:, None]).reshape(-1)
    _add_classes(
        tally, "augmentation", network.augmentation_logits(messages, smallest, walks), kept
    )


def reach_losses(network: PaperNetwork, batch: ReachBatch, tally: Tally) -> None:
    """Run breadth-first search of every round for as long as the true one runs."""
    wiring, device = batch.wiring, batch.is_usable.device
    prepared = network.reach_terms(batch.is_usable)
    is_reached = torch.zeros(wiring.num_nodes, dtype=torch.bool, device=device)
    is_reached[wiring.source] = True
    latent = torch.zeros(*prepared.shape[:-2], wiring.num_nodes, network.hidden, device=device)
    ends = [*batch.running[1:], 0]
    for step, (num_running, num_next) in enumerate(zip(batch.running, ends, strict=True)):
        wiring = wiring.first(num_running)
        prepared = prepared[..., : wiring.num_links, :]
        is_reached, latent = is_reached[..., : wiring.num_nodes], latent[..., : wiring.num_nodes, :]
        state = network.reach_step(is_reached, latent, prepared, wiring)
        logits = network.reached_logits(state)
        target = batch.reached[step, : wiring.num_nodes].to(logits.dtype).expand_as(logits)
        losses = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        tally.add("reachability", losses, (logits > 0) == (target > 0))
        _add_termination(
            tally, "reach_termination", network.reach_continues(state, wiring), num_next
        )
        is_reached, latent = logits > 0, state.latent


def discrete_losses(network: DiscreteNetwork, batch: ReachBatch, tally: Tally) -> None:
    """Learn every local decision of the discrete network; the true bits are the input of each step.

    Nothing continuous is carried along, so a step needs no history and errors cannot add up.
    """
    wiring, is_reached = batch.wiring, torch.zeros_like(batch.reached[0])
    is_reached[wiring.source] = True
    prepared = network.processor.prepare(network.encode_links(batch.is_usable))
    for step, num_running in enumerate(batch.running):
        wiring = wiring.first(num_running)
        nodes, links = wiring.num_nodes, wiring.num_links
        before, after = is_reached[:nodes], batch.reached[step, :nodes]
        outputs = network.reach_logits(before, prepared[..., :links, :], wiring)
        for name, logits, target in zip(
            ("reachability", "termination"), outputs, (after, after & ~before), strict=True
        ):
            _add_bits(tally, name, logits, target)
        sender = before.index_select(0, wiring.sender)
        is_usable, weights = batch.is_usable[:links], batch.weights[:links]
        scores = network.scores(sender, is_usable, weights)
        _add_predecessors(tally, scores, weights, sender & is_usable, after & ~before, wiring)
        is_reached = after


def _add_bits(tally: Tally, name: str, logits: Tensor, target: Tensor) -> None:
    expected = target.to(logits.dtype).expand_as(logits)
    losses = F.binary_cross_entropy_with_logits(logits, expected, reduction="none")
    tally.add(name, losses, (logits > 0) == target)


def _add_predecessors(
    tally: Tally, scores: Tensor, weights: Tensor, is_valid: Tensor, is_new: Tensor, wiring: Wiring
) -> None:
    """A node that is reached now takes the valid link of least weight; several may tie."""
    cost = torch.where(is_valid, weights, 2**31).unsqueeze(-1)
    cost = pad_incoming(cost, wiring, 2**31).squeeze(-1)
    is_best = (cost == cost.amin(-1, keepdim=True)) & (cost < 2**31)
    rows = pad_incoming(scores.unsqueeze(-1), wiring, -torch.inf).squeeze(-1)
    # Nodes that are not new have no best link; any finite value does, since they do not count.
    is_best = is_best | ~is_new.unsqueeze(-1)
    losses = -rows.log_softmax(-1).masked_fill(~is_best, -torch.inf).logsumexp(-1)
    right = is_best.expand_as(rows).gather(-1, rows.argmax(-1, keepdim=True)).squeeze(-1)
    tally.add("predecessor", losses, right, is_new)
    tally.add("last_predecessor", torch.zeros_like(losses), right, is_new)


def bit_losses(network: DiscreteNetwork, walks: Walks, tally: Tally) -> None:
    """Compare and subtract the capacities of walks, bit by bit."""
    capacity = walks.capacities
    smallest = capacity.amin(-1, keepdim=True)
    is_candidate = ~walks.is_padding
    borrow = torch.zeros_like(capacity, dtype=torch.bool)
    width = int(capacity.max()).bit_length()
    for place in range(width - 1, -1, -1):
        bit = (capacity >> place) & 1
        logits = network.candidate_logits(is_candidate, bit, walks.is_padding)
        is_candidate = is_candidate & (capacity >> place == smallest >> place)
        _add_bits(tally, "bottleneck", logits.flatten(-2), is_candidate.flatten())
    for place in range(width):
        digits = (capacity >> place) & 1, ((smallest >> place) & 1).expand_as(capacity)
        logits = network.difference_logits(*(digit.flatten() for digit in (*digits, borrow)))
        left = digits[0] - digits[1] - borrow.long()
        borrow = left < 0
        target = torch.stack([left % 2 == 1, borrow], dim=-1)
        _add_bits(tally, "augmentation", logits.flatten(-2), target.flatten())


def learn(
    network: PaperNetwork | DiscreteNetwork,
    search: SearchBatch,
    reach: Sequence[ReachBatch],
    tally: Tally,
) -> None:
    """Add up everything that a network learns from a batch, whatever its kind."""
    if isinstance(network, DiscreteNetwork):
        for part in reach:
            discrete_losses(network, part, tally)
        bit_losses(network, search.walks, tally)
    else:
        search_losses(network, search, tally)
        for part in reach:
            reach_losses(network, part, tally)
