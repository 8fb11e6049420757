"""A network's steps on a batch become named losses and counts, one for each network of an ensemble.

The network's own rounded output is its next input. A graph leaves the loss when its true execution has
converged. Distances and predecessors count where a node is reached, all bits alike; bottleneck and
augmentation weigh a tenth (paper, section 3, and the authors' code).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from augury.neural.batch import ReachBatch, SearchBatch
from augury.neural.features import from_bits, to_bits
from augury.neural.networks import PaperNetwork

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
        """Add the losses (…, entry) and verdicts (…, entry) of the decisions that count (entry,)."""
        if counts is None:
            counts = torch.ones_like(losses)
        counts = counts.to(losses.dtype).expand_as(losses)
        # Multiplying, not selecting: a GPU need not wait to learn how many there are.
        self.loss[name] = self.loss.get(name, 0) + (losses * counts).sum(-1)
        self.right[name] = self.right.get(name, 0) + (right * counts).sum(-1)
        self.count[name] = self.count.get(name, 0) + counts.sum(-1)

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
