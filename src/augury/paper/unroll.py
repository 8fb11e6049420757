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
import torch.nn.functional as F
from torch import Tensor

from augury.classical.arrays import WideArray
from augury.neural.batch import ReachBatch, SearchBatch
from augury.neural.layers import from_bits
from augury.neural.wiring import Wiring
from augury.paper import fast, recurrence, walked
from augury.paper.fast import LinkArrays, Ranks, Recipe, as_array, as_factor
from augury.paper.networks import PaperNetwork, State
from augury.paper.processors import MPNN


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
    """(node,): who is reached before the first step."""
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
    """Losses, right decisions and counts, a number for each term; and what is left of the run."""

    loss: Tensor
    right: Tensor
    counted: Tensor
    latent: Tensor
    """(node, K): after each node's last step."""


def is_compiled(network: PaperNetwork, batch: SearchBatch | ReachBatch) -> bool:
    """Tell whether there is a compiled form; padded batches, for other devices, have none."""
    return batch.laid is None and fast.is_available(network, batch.wiring.sender.device)


def search_sums(network: PaperNetwork, batch: SearchBatch) -> Sums:
    """Run Bellman-Ford, compiled; the terms: distance, termination, predecessor, and its last."""
    pairs = batch.weights.numpy(), batch.capacities.numpy()
    table, kind = fast.distinct_terms(network, *pairs, "cpu")
    degrees, ranks = Ranks.of(network, batch.wiring)
    recipe = fast.search_recipe(network, degrees)
    ends = F.pad(network.search_goes_on.weight, (network.hidden, 0)), network.predecessor_weights
    recipe = recipe._replace(outputs=torch.cat([recipe.outputs, torch.cat(ends).mT], dim=1))
    links = LinkArrays.of(network, table.prepared, kind, batch.wiring)
    lesson = _Lesson.of(batch, links, ranks, len(recipe.of_heard), _distances(network, batch))
    targets = batch.distance.numpy(), batch.column.numpy()
    return Sums(*_Run.apply(*recipe, table.prepared, table.score[:, 0], lesson, *targets))


def reach_sums(network: PaperNetwork, batch: ReachBatch) -> Sums:
    """Run breadth-first search, compiled; the terms: reachability, termination."""
    table = network.reach_terms(torch.tensor([False, True], device="cpu"))
    degrees, ranks = Ranks.of(network, batch.wiring)
    recipe = fast.reach_recipe(network, degrees)
    end = F.pad(network.reach_goes_on.weight, (network.hidden, 0)).mT
    recipe = recipe._replace(outputs=torch.cat([recipe.outputs, end], dim=1))
    kind, start = batch.is_usable.long().numpy(), _reached(batch).long()
    links = LinkArrays.of(network, table, kind, batch.wiring)
    lesson = _Lesson.of(batch, links, ranks, len(recipe.of_heard), start)
    reached = batch.reached.long().numpy()
    return Sums(*_Run.apply(*recipe, table, None, lesson, reached, np.zeros_like(reached)))


def walk_sums(network: PaperNetwork, batch: SearchBatch, latent: Tensor) -> Sums:
    """Judge the walks, compiled; the terms: bottleneck, that of nothing, and augmentation."""
    codes = network.encode_integers(torch.arange(2**network.bits, device="cpu"))
    processor: Any = network.processor
    parts = network.bottleneck_layer, network.bottleneck_logit, network.augmentation
    weights = network.search_links.weight, processor.message.weight
    layers = codes, *weights, *(parameter for part in parts for parameter in part.parameters())
    where = (part.numpy() for part in batch.walks[:4])
    form = network.bottleneck_layer.heads, isinstance(processor, MPNN)
    return Sums(*_Walk.apply(latent, *layers, walked.Walked(*where, *form)), latent)


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
    """What a compiled run needs beside weights and targets."""

    links: LinkArrays
    wiring: Wiring
    running: WideArray
    """(step,): how many graphs take part."""
    stop_early: int
    steps: recurrence.Steps
    start: WideArray
    """(node,): the integers that the run starts from."""

    @classmethod
    def of(
        cls,
        batch: SearchBatch | ReachBatch,
        links: LinkArrays,
        ranks: Tensor,
        num_ranks: int,
        start: Tensor,
    ) -> _Lesson:
        running = np.array(batch.running)
        sizes = batch.wiring.offsets[running, 0]
        steps = recurrence.Steps.of(sizes, ranks.numpy(), num_ranks)
        return cls(links, batch.wiring, running, batch.stop_early, steps, start.numpy())


class _Run(torch.autograd.Function):
    """All steps of a run and the losses of its outputs, in compiled loops."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, ...]:
        recipe, (_, score, lesson, values, column) = Recipe(*args[:-5]), args[-5:]
        weights, steps, wiring, links = recipe.arrays(), lesson.steps, lesson.wiring, lesson.links
        kept = recurrence.room(int(steps.sizes.sum()), weights)
        recurrence.forward(weights, links, steps, lesson.start, kept)

        of_latent = as_factor(recipe.outputs[len(recipe.of_latent) :])
        logits = np.empty((len(kept.latent), of_latent.shape[1]), np.float32)
        recurrence.decode(of_latent, kept, logits)
        grads, bits = np.zeros_like(logits), (len(recipe.inputs) - 1).bit_length()
        graphs = lesson.running, lesson.stop_early, wiring.node_start.numpy()
        sums = [
            recurrence.value_losses(logits, bits, steps.sizes, values, column, grads),
            recurrence.end_losses(logits, bits, *graphs, grads),
        ]
        d_score = None
        if score is not None:
            d_score = np.zeros(len(score), np.float32)
            judged = steps.sizes, column, grads, d_score
            sums += recurrence.choice_losses(logits, bits + 1, links, as_array(score), *judged)
        ctx.run = weights, links, steps, kept
        ctx.outputs = bits, recipe.outputs.shape[1], grads, d_score
        return *_totals(ctx, sums), torch.from_numpy(kept.latent[steps.last])

    @staticmethod
    def backward(ctx: Any, *terms: Any) -> tuple[Any, ...]:
        weights, links, steps, kept = ctx.run
        bits, num_outputs, d_logits, d_score = ctx.outputs
        hidden, by_term = len(weights.of_latent), terms[0].numpy()
        scale = np.zeros(d_logits.shape[1], np.float32)
        scale[:bits], scale[bits] = by_term[:2]
        if d_score is not None:
            scale[bits + 1 : num_outputs] = by_term[2]
            d_score = torch.from_numpy(d_score * by_term[2])
        found = recurrence.Grads.of(weights, links.prepared)
        d_last = terms[3].contiguous().numpy()
        recurrence.backward(weights, links, steps, kept, d_logits, scale, d_last, found)
        grads = recurrence.Grads(*map(torch.from_numpy, found))
        told = grads.of_encoded[:, 3 * hidden :], grads.of_latent[:, 4 * hidden :]
        of_weights = (
            grads.inputs,
            grads.of_latent[:, : 4 * hidden],
            grads.of_encoded[:, : 3 * hidden],
            grads.of_heard,
            grads.of_updated,
            torch.cat(told)[:, :num_outputs],
        )
        # There is none of `goes_on`, which is among the outputs here.
        return *of_weights, None, grads.prepared, d_score, None, None, None
