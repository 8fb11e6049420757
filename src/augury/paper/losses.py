"""A network's steps on a batch become named losses and counts, per network of an ensemble.

The network's own rounded output is its next input. A graph drops out of the loss once its true
execution has converged. Distances and predecessors count where a node is reached, all bits equally;
bottleneck and augmentation have a tenth of the weight (paper, section 3, and the authors' code).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from augury.neural.batch import ReachBatch, SearchBatch
from augury.neural.layers import to_bits
from augury.paper.networks import LinkTerms, PaperNetwork, State
from augury.paper.recipes import all_codes
from augury.paper.unroll import (
    Sums,
    is_compiled,
    reach_sums,
    search_sums,
    unroll_reach,
    unroll_search,
    walk_sums,
)

WEIGHTS = {
    "distance": 1.0,
    "predecessor": 1.0,
    "termination": 1.0,
    "bottleneck": 0.1,
    "augmentation": 0.1,
    "reachability": 1.0,
    "reach_termination": 1.0,
}
"""The terms of the loss and their weights."""


@dataclass
class Tally:
    """Sums of losses and of right decisions, and how many there were; each (…,) over networks."""

    loss: dict[str, Tensor] = field(default_factory=dict)
    right: dict[str, Tensor] = field(default_factory=dict)
    count: dict[str, Tensor] = field(default_factory=dict)

    def add(self, name: str, losses: Tensor, right: Tensor, counts: Tensor | None = None) -> None:
        """Add losses (…, entry) and verdicts (…, entry) of the decisions that count (entry,)."""
        if counts is None:
            loss, correct = losses.sum(-1), right.sum(-1, dtype=losses.dtype)
            count = torch.full_like(loss, losses.shape[-1], requires_grad=False)
        else:
            # Multiply instead of selecting, which would need a sync with the GPU.
            counted = counts.to(losses.dtype)
            loss, correct = losses @ counted, right.to(losses.dtype) @ counted
            count = counted.sum().expand_as(loss)
        self.add_sums(name, loss, correct, count)

    def add_sums(self, name: str, loss: Tensor, right: Tensor, count: Tensor) -> None:
        """Add what was summed elsewhere."""
        for sums, value in ((self.loss, loss), (self.right, right), (self.count, count)):
            sums[name] = sums[name] + value if name in sums else value

    def merge(self, other: Tally) -> None:
        """Add another tally's sums, for metrics; gradients are dropped."""
        for name in other.count:
            self.add_sums(name, other.loss[name].detach(), other.right[name], other.count[name])

    def means(self) -> dict[str, Tensor]:
        """Return the mean loss of each term."""
        return {name: self.loss[name] / self.count[name].clamp(min=1) for name in self.loss}

    def accuracies(self) -> dict[str, Tensor]:
        """Return the share of right decisions of each term."""
        return {name: self.right[name] / self.count[name].clamp(min=1) for name in self.right}

    def total(self) -> Tensor:
        """Return the weighted sum of the terms."""
        means = self.means()
        return sum(
            (WEIGHTS[name] * means[name] for name in WEIGHTS if name in means),
            torch.zeros((), dtype=torch.float32, device="cpu"),
        )


def search_losses(network: PaperNetwork, batch: SearchBatch, tally: Tally) -> None:
    """Run the search of every round for as long as the true one runs, then the walks."""
    if is_compiled(network, batch):
        codes = all_codes(network)
        sums = search_sums(network, batch, codes)
        terms = "distance", "termination", "predecessor", "last_predecessor"
        _add_all(tally, terms, sums)
        terms = "bottleneck", "bottleneck_true_negative", "augmentation"
        _add_all(tally, terms, walk_sums(network, batch, codes, sums.latent))
    else:
        state, along = unroll_search(network, batch)
        _step_losses(network, batch, state, along, tally)
        latent = state.latent.index_select(-2, batch.rows.last)
        _walk_losses(network, batch, latent, tally)


def _add_all(tally: Tally, names: Sequence[str], sums: Sums) -> None:
    parts = sums.loss.unbind(), sums.right.unbind(), sums.counted.unbind()
    for name, *part in zip(names, *parts, strict=True):
        tally.add_sums(name, *part)


def _step_losses(
    network: PaperNetwork, batch: SearchBatch, state: State, along: Tensor, tally: Tally
) -> None:
    rows, logits = batch.rows, network.distance_logits(state)
    column = batch.column.flatten()[rows.place]
    is_reached = column >= 0 if rows.counts is None else (column >= 0) & rows.counts
    bits = to_bits(batch.distance.flatten()[rows.place], network.bits).expand_as(logits)
    losses = F.binary_cross_entropy_with_logits(logits, bits, reduction="none")
    right = (logits > 0) == (bits > 0)
    tally.add("distance", losses.mean(-1), right.float().mean(-1), is_reached)
    scores = network.predecessor_scores(state, LinkTerms(along, rows.of_links(along)), rows.wiring)
    losses, chosen = _class_losses(scores, column.clamp(min=0))
    right = chosen == column
    tally.add("predecessor", losses, right, is_reached)
    right = right.index_select(-1, rows.last)
    tally.add("last_predecessor", torch.zeros_like(right.float()), right, is_reached[rows.last])
    goes_on = network.search_continues(state, rows.wiring)
    _add_ends(tally, "termination", goes_on, batch)


def _walk_losses(network: PaperNetwork, batch: SearchBatch, latent: Tensor, tally: Tally) -> None:
    walks = batch.walks
    messages = network.walk_messages(latent, walks)
    logits = network.bottleneck_logits(messages, walks)
    smallest = walks.capacities.amin(-1)
    is_smallest = walks.capacities == smallest[:, None]
    # Several arcs may tie: any of them is right.
    log_share = logits.log_softmax(-1).masked_fill(~is_smallest, -torch.inf).logsumexp(-1)
    chosen = is_smallest.expand_as(logits).gather(-1, logits.argmax(-1, keepdim=True)).squeeze(-1)
    counts = batch.walk_counts
    tally.add("bottleneck", -log_share, chosen, counts)
    has_zero = smallest == 0 if counts is None else (smallest == 0) & counts
    tally.add("bottleneck_true_negative", torch.zeros_like(log_share), chosen, has_zero)
    kept = (walks.capacities - smallest[:, None]).reshape(-1)
    logits = network.augmentation_logits(messages, smallest, walks)
    if counts is not None:
        counts = counts.repeat_interleave(walks.capacities.shape[1])
    losses, chosen = _class_losses(logits, kept)
    tally.add("augmentation", losses, chosen == kept, counts)


def _class_losses(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """(…, row, class), (row,) → (…, row): the losses of choosing the targets, and the choices."""
    chosen = target.unsqueeze(-1).expand(*scores.shape[:-1], 1)
    return -scores.log_softmax(-1).gather(-1, chosen).squeeze(-1), scores.argmax(-1)


def reach_losses(network: PaperNetwork, batch: ReachBatch, tally: Tally) -> None:
    """Run breadth-first search of every round for as long as the true one runs."""
    if is_compiled(network, batch):
        return _add_all(tally, ("reachability", "reach_termination"), reach_sums(network, batch))
    state, rows = unroll_reach(network, batch), batch.rows
    logits, reached = network.reached_logits(state), batch.reached.flatten()[rows.place]
    tally.add("reachability", _bit_losses(logits, reached), (logits > 0) == reached, rows.counts)
    _add_ends(tally, "reach_termination", network.reach_continues(state, rows.wiring), batch)
    return None


def _add_ends(tally: Tally, name: str, logits: Tensor, batch: SearchBatch | ReachBatch) -> None:
    """Judge whether each graph goes on after each step."""
    goes_on, counts = batch.rows.goes_on, batch.rows.graph_counts
    losses = _bit_losses(logits, goes_on) * torch.where(goes_on, 1.0, batch.end.stop_weight)
    tally.add(name, losses, (logits > 0) == goes_on, counts)


def _bit_losses(logits: Tensor, target: Tensor) -> Tensor:
    expected = target.to(logits.dtype).expand_as(logits)
    return F.binary_cross_entropy_with_logits(logits, expected, reduction="none")
