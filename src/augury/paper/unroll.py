"""A batch and the network's weights become the states of all steps, one row for each step and node.

The network's own rounded output is its next input, so the steps are sequential; but decoders and
losses only read states, and see the rows of all steps at once. There are two forms, tested equal:
step by step, with PyTorch's gradients, for any processor, device and ensemble; and on the CPU, for
the paper's processors, compiled loops that go on to the losses (`recurrence`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from augury.classical.arrays import WideArray
from augury.neural.batch import ReachBatch, SearchBatch
from augury.neural.layers import from_bits
from augury.neural.wiring import Wiring
from augury.paper import fast, gradients, judges, recipes, recurrence, walked
from augury.paper.fast import LinkArrays, Ranks
from augury.paper.networks import PaperNetwork, State
from augury.paper.processors import MPNN
from augury.paper.recipes import Parameters, as_array
from augury.paper.walked import Walked


def unroll_search(network: PaperNetwork, batch: SearchBatch) -> tuple[State, Tensor]:
    """Run Bellman-Ford; return the states (…, row, K) and the links' part of the scores."""
    wiring, distance = batch.wiring, _distances(network, batch)
    terms = network.search_terms(batch.weights, batch.capacities)

    def step(distance: Tensor, latent: Tensor, wiring: Wiring) -> State:
        return network.search_step(distance, latent, terms.first(wiring.num_links), wiring)

    def read(state: State) -> Tensor:
        return from_bits(network.distance_logits(state) > 0)

    latent = _nothing(network, terms.prepared, wiring)
    return _stepwise(step, read, distance, latent, wiring, batch.running), terms.score


def unroll_reach(network: PaperNetwork, batch: ReachBatch) -> State:
    """Run breadth-first search likewise; return the states."""
    wiring, is_reached = batch.wiring, _reached(batch)
    prepared = network.reach_terms(batch.is_usable)

    def step(is_reached: Tensor, latent: Tensor, wiring: Wiring) -> State:
        links = prepared[..., : wiring.num_links, :]
        return network.reach_step(is_reached, latent, links, wiring)

    def read(state: State) -> Tensor:
        return network.reached_logits(state) > 0

    latent = _nothing(network, prepared, wiring)
    return _stepwise(step, read, is_reached, latent, wiring, batch.running)


def _distances(network: PaperNetwork, batch: SearchBatch) -> Tensor:
    """(node,): the distances before the first step."""
    source, num_nodes = batch.wiring.source, batch.wiring.num_nodes
    distance = torch.full((num_nodes,), 2**network.bits - 1, device=source.device)
    return distance.index_fill(0, source, 0)


def _reached(batch: ReachBatch) -> Tensor:
    """(node,): which nodes are reached before the first step."""
    source, num_nodes = batch.wiring.source, batch.wiring.num_nodes
    is_reached = torch.zeros(num_nodes, dtype=torch.bool, device=source.device)
    return is_reached.index_fill(0, source, True)


def _nothing(network: PaperNetwork, prepared: Tensor, wiring: Wiring) -> Tensor:
    shape = *prepared.shape[:-2], wiring.num_nodes, network.hidden
    return prepared.new_zeros(shape)


def _stepwise(
    step: Callable[[Tensor, Tensor, Wiring], State],
    read: Callable[[State], Tensor],
    values: Tensor,
    latent: Tensor,
    wiring: Wiring,
    running: Sequence[int],
) -> State:
    states: list[State] = []
    for num_running in running:
        wiring = wiring.first(num_running)
        values, latent = values[..., : wiring.num_nodes], latent[..., : wiring.num_nodes, :]
        state = step(values, latent, wiring)
        with torch.no_grad():
            values = read(state)
        latent = state.latent
        states.append(state)
    encoded = torch.cat([state.encoded for state in states], dim=-2)
    return State(encoded, torch.cat([state.latent for state in states], dim=-2))


class Sums(NamedTuple):
    """Losses, right decisions and counts, a number for each term; and the run's last latents."""

    loss: Tensor
    right: Tensor
    counted: Tensor
    latent: Tensor
    """(node, K): after each node's last step."""


def is_compiled(network: PaperNetwork, batch: SearchBatch | ReachBatch) -> bool:
    """Tell whether there is a compiled form; padded batches, for other devices, have none."""
    return batch.laid is None and fast.is_available(network, batch.wiring.sender.device)


def search_sums(network: PaperNetwork, batch: SearchBatch, codes: Tensor) -> Sums:
    """Run Bellman-Ford, compiled; terms: distance, termination, predecessor, last predecessor."""
    kinds, kind = fast.distinct_kinds(batch.weights.numpy(), batch.capacities.numpy())
    lesson = _Lesson(network, batch, kinds, kind, _distances(network, batch).numpy())
    targets = batch.distance.numpy(), batch.column.numpy()
    return Sums(*_Run.apply(*Parameters.of_search(network, codes), lesson, *targets))


def reach_sums(network: PaperNetwork, batch: ReachBatch) -> Sums:
    """Run breadth-first search, compiled; terms: reachability, termination."""
    kind, start = batch.is_usable.long().numpy(), _reached(batch).long().numpy()
    lesson = _Lesson(network, batch, np.arange(2)[:, None], kind, start)
    reached = batch.reached.long().numpy()
    return Sums(*_Run.apply(*Parameters.of_reach(network), lesson, reached, np.zeros_like(reached)))


def walk_sums(network: PaperNetwork, batch: SearchBatch, codes: Tensor, latent: Tensor) -> Sums:
    """Judge the walks, compiled; terms: bottleneck, its true negatives, augmentation."""
    processor: Any = network.processor
    parts = network.bottleneck_layer, network.bottleneck_logit, network.augmentation
    weights = network.search_links.weight, processor.message.weight
    layers = codes, *weights, *(parameter for part in parts for parameter in part.parameters())
    where = (part.numpy() for part in batch.walks[:4])
    form = network.bottleneck_layer.heads, isinstance(processor, MPNN)
    return Sums._make([*_Walk.apply(latent, *layers, Walked._make([*where, *form])), latent])


class _Walk(torch.autograd.Function):
    """The layers of bottleneck and augmentation and their losses, in compiled loops."""

    @staticmethod
    def forward(ctx: Any, latent: Tensor, *args: Any) -> tuple[Tensor, ...]:
        layers, walks = walked.Layers(*map(as_array, args[:-1])), args[-1]
        kept, smallest = walked.room(walks, layers), walks.capacities.min(1)
        sums = walked.forward(layers, walks, smallest, as_array(latent), kept)
        ctx.run, ctx.num_nodes = (layers, walks, smallest, kept), len(latent)
        return _totals(ctx, sums)

    @staticmethod
    def backward(ctx: Any, *terms: Any) -> tuple[Any, ...]:
        layers = ctx.run[0]
        grads = walked.Layers(*map(np.zeros_like, layers))
        d_latent = np.zeros((ctx.num_nodes, layers.codes.shape[1]), np.float32)
        walked.backward(*ctx.run, terms[0].numpy(), grads, d_latent)
        return *map(torch.from_numpy, (d_latent, *grads)), None


def _totals(ctx: Any, sums: Sequence[tuple[float, int, int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Return losses, right decisions and counts of some terms; only losses have gradients."""
    loss, right, count = torch.tensor(sums, dtype=torch.float32, device="cpu").T.contiguous()
    ctx.mark_non_differentiable(right, count)
    return loss, right, count


class _Lesson(NamedTuple):
    """What a compiled run needs besides parameters and targets."""

    network: PaperNetwork
    batch: SearchBatch | ReachBatch
    kinds: WideArray
    """(kind, integer): the kinds of link."""
    kind: WideArray
    """(link,)"""
    start: WideArray
    """(node,): the integers that the run starts from."""


class _Run(torch.autograd.Function):
    """All steps of a run and the losses of its outputs, in compiled loops."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, ...]:
        own, (lesson, values, column) = Parameters(*args[:-3]).values(), args[-3:]
        wiring, running = lesson.batch.wiring, np.array(lesson.batch.running)
        by_degree, ranks = Ranks.of(lesson.network, wiring)
        weights = recipes.weights_of(own, by_degree, recipes.all_outputs(own))
        encoded = recipes.links_of(own, lesson.kinds)
        links = LinkArrays.of(lesson.network, encoded.prepared, lesson.kind, wiring)
        steps = recurrence.Steps.of(wiring.offsets[running, 0], ranks, len(by_degree))
        kept = recurrence.room(int(steps.sizes.sum()), weights)
        recurrence.forward(weights, links, steps, lesson.start, kept)

        logits = judges.decode(weights, kept)
        grads, d_score, bits = np.zeros_like(logits), np.zeros_like(encoded.score), len(own.outputs)
        graphs = running, *lesson.batch.end, wiring.node_start.numpy()
        sums = [
            judges.value_losses(logits, bits, steps.sizes, values, column, grads),
            judges.end_losses(logits, bits, *graphs, grads),
        ]
        if own.predecessor is not None:
            judged = steps.sizes, column, grads, d_score
            sums += judges.choice_losses(logits, bits + 1, links, encoded.score, *judged)
        ctx.made = own, by_degree, lesson.kinds, encoded
        ctx.run = weights, links, steps, kept
        ctx.judged = grads, d_score
        return *_totals(ctx, sums), torch.from_numpy(kept.latent[steps.last])

    @staticmethod
    def backward(ctx: Any, *terms: Any) -> tuple[Any, ...]:
        (weights, links, *_), (d_logits, d_score) = ctx.run, ctx.judged
        bits, by_term = len(ctx.made[0].outputs), terms[0].numpy()
        scale = np.zeros(d_logits.shape[1], np.float32)
        scale[:bits], scale[bits] = by_term[:2]
        if len(by_term) > 2:
            scale[bits + 1 : bits + 3] = by_term[2]
            d_score = d_score * by_term[2]
        grads = gradients.Grads.of(weights, links.prepared)
        gradients.backward(*ctx.run, d_logits, scale, as_array(terms[3]), grads)
        found = recipes.gradients(grads, d_score, *ctx.made)
        return *(None if part is None else torch.from_numpy(part) for part in found), *(None,) * 3
