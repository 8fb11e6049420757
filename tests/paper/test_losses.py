"""Losses measure uncertainty, and masked entries contribute nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from augury.neural.batch import ReachBatch, SearchBatch
from augury.neural.layers import stack, to_bits
from augury.neural.wiring import Walks, Wiring
from augury.paper.losses import WEIGHTS, Tally, reach_losses, search_losses
from augury.paper.networks import LinkTerms, PaperNetwork, State
from tiny import neural, samples


def search_batch() -> SearchBatch:
    return samples().search_batch(range(len(samples())), np.random.default_rng(0))


def reach_batch() -> ReachBatch:
    return samples().reach_batch(range(len(samples())))


def test_the_total_counts_walks_a_tenth() -> None:
    tally = Tally()
    for name in WEIGHTS:
        tally.add(name, torch.tensor([1.0, 3.0]), torch.tensor([True, False]))
    assert tally.total().item() == pytest.approx(5 * 2.0 + 2 * 0.2)
    assert {name for name, weight in WEIGHTS.items() if weight != 1} == {
        "bottleneck",
        "augmentation",
    }


class Oracle:
    """A stand-in for a network that reads the targets and is as sure of them as it is told."""

    bits, hidden, processor = 8, 1, None

    def __init__(self, batch: Any, confidence: float) -> None:
        self.batch, self.confidence, self.step = batch, confidence, -1

    def search_terms(self, weights: Tensor, capacities: Tensor) -> LinkTerms:
        return LinkTerms(torch.zeros(len(weights), 1), torch.zeros(len(weights), 1))

    def reach_terms(self, is_usable: Tensor) -> Tensor:
        return torch.zeros(len(is_usable), 1)

    def search_step(self, distance: Tensor, latent: Tensor, terms: object, wiring: Wiring) -> State:
        self.step += 1
        assert len(distance) == len(latent) == wiring.num_nodes
        if self.step:  # what was said before is what is read now, unreached nodes left out
            known = self.batch.column[self.step - 1, : wiring.num_nodes] >= 0
            truth = self.batch.distance[self.step - 1, : wiring.num_nodes]
            assert torch.equal(distance[known], truth[known])
        return State(latent, latent)

    reach_step = search_step

    def of_rows(self, targets: Tensor, state: State) -> Tensor:
        """Return the targets of the last step, or those of all steps if it is asked about all."""
        if len(state.latent) == len(self.batch.rows.place) and self.step + 1 == len(targets):
            sizes = self.batch.wiring.offsets[list(self.batch.running), 0]
            return torch.cat([row[:size] for row, size in zip(targets, sizes, strict=True)])
        return targets[self.step, : len(state.latent)]

    def distance_logits(self, state: State) -> Tensor:
        target = self.of_rows(self.batch.distance, state)
        return self.confidence * (2 * to_bits(target, 8) - 1)

    def predecessor_scores(self, state: State, terms: object, wiring: Wiring) -> Tensor:
        scores = torch.zeros(wiring.tables.incoming.shape)
        scores[wiring.tables.incoming == wiring.num_links] = -torch.inf
        column = self.of_rows(self.batch.column, state).clamp(min=0)
        return scores.scatter_add(1, column[:, None], torch.full((len(column), 1), self.confidence))

    def search_continues(self, state: State, wiring: Wiring) -> Tensor:
        ends = [*self.batch.running[1:], 0]
        runs = [
            torch.arange(own) < after for own, after in zip(self.batch.running, ends, strict=True)
        ]
        assert wiring.num_graphs == sum(self.batch.running)
        return self.confidence * (2.0 * torch.cat(runs) - 1)

    reach_continues = search_continues

    def reached_logits(self, state: State) -> Tensor:
        return self.confidence * (2.0 * self.of_rows(self.batch.reached, state) - 1)

    def walk_messages(self, latent: Tensor, walks: Walks) -> Tensor:
        assert len(latent) == self.batch.wiring.num_nodes
        return torch.zeros(walks.sender.numel(), 1)

    def bottleneck_logits(self, messages: Tensor, walks: Walks) -> Tensor:
        return (
            self.confidence * (walks.capacities == walks.capacities.amin(-1, keepdim=True)).float()
        )

    def augmentation_logits(self, messages: Tensor, bottleneck: Tensor, walks: Walks) -> Tensor:
        kept = (walks.capacities - bottleneck[:, None]).reshape(-1)
        return self.confidence * F.one_hot(kept, 256).float()


class ReachOracle(Oracle):
    def search_step(self, distance: Tensor, latent: Tensor, terms: object, wiring: Wiring) -> State:
        self.step += 1
        before = self.batch.reached[max(self.step - 1, 0), : wiring.num_nodes]
        assert torch.equal(distance, before) or not self.step
        return State(latent, latent)

    reach_step = search_step


@pytest.mark.parametrize("confidence", [0.5, 8.0])
def test_a_network_that_is_right_pays_for_its_doubt_alone(confidence: float) -> None:
    tally, batch = Tally(), search_batch()
    search_losses(cast(PaperNetwork, Oracle(batch, confidence)), batch, tally)
    reach = reach_batch()
    reach_losses(cast(PaperNetwork, ReachOracle(reach, confidence)), reach, tally)
    means = {name: float(value) for name, value in tally.means().items()}
    doubt = math.log1p(math.exp(-confidence))
    for name in ("distance", "termination", "reachability", "reach_termination"):
        assert means[name] == pytest.approx(doubt, rel=1e-3), name
    others = math.log1p(255 * math.exp(-confidence))
    assert means["augmentation"] == pytest.approx(others, rel=1e-3)
    smallest = batch.walks.capacities.amin(-1, keepdim=True)
    ties = (batch.walks.capacities == smallest).sum(-1).double()
    right = ties * math.exp(confidence)
    expected = -(right / (right + 5 - ties)).log().mean()
    assert means["bottleneck"] == pytest.approx(float(expected), rel=1e-3)
    degree = batch.wiring.degree.expand(batch.column.shape)[batch.column >= 0]
    expected = ((degree - 1) * math.exp(-confidence)).log1p().mean()
    assert means["predecessor"] == pytest.approx(float(expected), rel=1e-3)
    for name, accuracy in tally.accuracies().items():
        assert accuracy == 1, name
    total = sum(WEIGHTS[name] * means[name] for name in WEIGHTS)
    assert float(tally.total()) == pytest.approx(total, rel=1e-5)


def test_counts_are_those_of_reached_nodes_steps_and_walks() -> None:
    tally, batch = Tally(), search_batch()
    search_losses(neural(), batch, tally)
    reached = sum(
        int((batch.column[step, : int(batch.wiring.offsets[count, 0])] >= 0).sum())
        for step, count in enumerate(batch.running)
    )
    assert tally.count["distance"] == tally.count["predecessor"] == reached
    assert tally.count["termination"] == sum(batch.running)
    assert tally.count["bottleneck"] == batch.wiring.num_graphs
    assert tally.count["augmentation"] == 5 * batch.wiring.num_graphs
    zeros = int((batch.walks.capacities.amin(-1) == 0).sum())
    assert 0 < zeros == tally.count["bottleneck_true_negative"]
    # The last step of every graph counts once.
    last = [batch.running.index(k) if k in batch.running else -1 for k in batch.running]
    assert last and 0 < tally.count["last_predecessor"] < reached


def losses_of(batch: SearchBatch) -> tuple[list[float], list[Tensor]]:
    network, tally = neural(), Tally()
    search_losses(network, batch, tally)
    tally.total().backward()
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    return [float(loss.detach()) for loss in tally.loss.values()], gradients


def test_the_target_of_an_unreached_node_changes_nothing() -> None:
    batch = search_batch()
    unreached = batch.column < 0
    assert 0 < unreached.sum() < unreached.numel()
    poisoned = replace(batch, distance=torch.where(unreached, 77, batch.distance))
    (losses, gradients), (others, other_gradients) = losses_of(batch), losses_of(poisoned)
    assert losses == others
    assert all(map(torch.equal, gradients, other_gradients))
    moved = replace(batch, distance=torch.where(unreached, batch.distance, 77))
    assert losses_of(moved)[0] != losses


def test_a_graph_leaves_the_loss_when_its_execution_has_converged() -> None:
    batch = search_batch()
    ended = torch.zeros_like(batch.column, dtype=torch.bool)
    for step, count in enumerate(batch.running):
        ended[step, int(batch.wiring.offsets[count, 0]) :] = True
    assert ended.any()
    poisoned = replace(
        batch,
        distance=torch.where(ended, 77, batch.distance),
        column=torch.where(ended, 0, batch.column),
    )
    assert losses_of(poisoned)[0] == losses_of(batch)[0]


def test_an_ensembles_losses_are_those_of_its_networks() -> None:
    networks, together = [neural(seed=seed) for seed in range(3)], neural()
    stack(networks, together)
    found = Tally()
    search_losses(together, search_batch(), found)
    reach_losses(together, reach_batch(), found)
    for place, network in enumerate(networks):
        alone = Tally()
        search_losses(network, search_batch(), alone)
        reach_losses(network, reach_batch(), alone)
        for name in WEIGHTS:
            torch.testing.assert_close(found.means()[name][place], alone.means()[name])


def test_tallies_are_merged_without_gradients() -> None:
    one, other = Tally(), Tally()
    losses = torch.tensor([1.0, 3.0], requires_grad=True)
    one.add("distance", losses, losses > 2)
    other.add("distance", losses, losses > 2, torch.tensor([False, True]))
    one.merge(other)
    other.merge(one)
    assert one.count["distance"] == 3 and one.right["distance"] == 2
    assert float(one.loss["distance"].detach()) == 7
    assert not Tally().total()


def test_a_network_can_learn_one_trace_by_heart(
    overfitted: tuple[PaperNetwork, list[Tally]],
) -> None:
    _, (before, after) = overfitted
    assert float(after.total()) < 0.25 * float(before.total())
    assert before.accuracies()["predecessor"] < 0.9
    for name in ("predecessor", "last_predecessor", "reachability"):
        assert after.accuracies()[name] == 1, name
