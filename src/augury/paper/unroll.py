"""A batch and the network's weights become the states of all steps, one row for each step and node.

The network's own rounded output is its next input, so the steps are sequential; but decoders and
losses only read states, and see the rows of all steps at once. There are two forms, tested equal:
step by step, with PyTorch's gradients, for any processor, device and ensemble; and on the CPU, for
the paper's processors, one compiled loop forwards and one backwards (`recurrence`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from augury.neural.batch import ReachBatch, Rows, SearchBatch
from augury.neural.layers import from_bits
from augury.neural.wiring import Wiring
from augury.paper import fast, recurrence
from augury.paper.fast import LinkArrays, Ranks, Recipe, as_array, as_factor
from augury.paper.networks import LinkTerms, PaperNetwork, State


def unroll_search(network: PaperNetwork, batch: SearchBatch) -> tuple[State, Tensor | Links]:
    """Run Bellman-Ford; return the states (…, row, K) and the links' part of the scores.

    The latter is (…, link, 1), or with the compiled form a part for each kind of link.
    """
    wiring = batch.wiring
    distance = torch.full((wiring.num_nodes,), 2**network.bits - 1, device=wiring.sender.device)
    distance = distance.index_fill(0, wiring.source, 0)
    if fast.is_available(network, wiring.sender.device):
        pairs = batch.weights.numpy(), batch.capacities.numpy()
        table, row = fast.distinct_terms(network, *pairs, "cpu")
        links = Links(table.prepared, row, wiring, batch.running)
        degrees, ranks = Ranks.of(network, wiring)
        state = _compiled(fast.search_recipe(network, degrees), distance, links, ranks)
        return state, links._replace(prepared=table.score)
    terms = network.search_terms(batch.weights, batch.capacities)

    def step(distance: Tensor, latent: Tensor, wiring: Wiring) -> State:
        return network.search_step(distance, latent, terms.first(wiring.num_links), wiring)

    def read(state: State) -> Tensor:
        return from_bits(network.distance_logits(state) > 0)

    latent = _nothing(network, terms.prepared, wiring)
    return _stepwise(step, read, distance, latent, wiring, batch.running), terms.score


def unroll_reach(network: PaperNetwork, batch: ReachBatch) -> State:
    """Run breadth-first search likewise; return the states."""
    wiring = batch.wiring
    is_reached = torch.zeros(wiring.num_nodes, dtype=torch.bool, device=wiring.sender.device)
    is_reached = is_reached.index_fill(0, wiring.source, True)
    if fast.is_available(network, wiring.sender.device):
        table = network.reach_terms(torch.tensor([False, True], device="cpu"))
        links = Links(table, batch.is_usable.long(), wiring, batch.running)
        degrees, ranks = Ranks.of(network, wiring)
        return _compiled(fast.reach_recipe(network, degrees), is_reached.long(), links, ranks)
    prepared = network.reach_terms(batch.is_usable)

    def step(is_reached: Tensor, latent: Tensor, wiring: Wiring) -> State:
        links = prepared[..., : wiring.num_links, :]
        return network.reach_step(is_reached, latent, links, wiring)

    def read(state: State) -> Tensor:
        return network.reached_logits(state) > 0

    latent = _nothing(network, prepared, wiring)
    return _stepwise(step, read, is_reached, latent, wiring, batch.running)


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


class Links(NamedTuple):
    """What a compiled run needs of its links."""

    prepared: Tensor
    """(kind, K): a kind of link's part of the messages."""
    kind: Tensor
    """(link,)"""
    wiring: Wiring
    running: Sequence[int]
    """How many graphs take part in each step."""


def _compiled(recipe: Recipe, values: Tensor, links: Links, ranks: Tensor) -> State:
    sizes = links.wiring.offsets[np.array(links.running), 0]
    steps = recurrence.Steps.of(sizes, ranks.numpy(), len(recipe.of_heard))
    return State.of(_Recurrence.apply(*recipe, links.prepared, values, links, steps))


class SearchOutputs(NamedTuple):
    """What is decoded from the states of a search."""

    distance: Tensor
    """(…, row, bit): logits."""
    goes_on: Tensor
    """(…, graph of the rows' wiring): logits."""
    predecessor: Callable[[Tensor], tuple[Tensor, Tensor]]
    """Takes targets (row,); returns (…, row): the losses of choosing them, and the choices."""


def search_outputs(
    network: PaperNetwork, state: State, along: Tensor | Links, rows: Rows
) -> SearchOutputs:
    """Decode; after a compiled run by one product."""
    if isinstance(along, Links):
        distance, ends = network.distance.weight, network.predecessor_weights
        decoders = distance, ends, F.pad(network.search_goes_on.weight, (network.hidden, 0))
        logits, own, sent, goes_on = _decoded(state, decoders, [network.bits, 1, 1, 1])
        parts = own[:, 0], sent[:, 0], along.prepared[:, 0], along
        goes_on = rows.wiring.mean_of_graphs(goes_on).squeeze(-1)
        return SearchOutputs(logits, goes_on, lambda target: _Choice.apply(*parts, target))
    terms = LinkTerms(along, rows.of_links(along))
    return SearchOutputs(
        network.distance_logits(state),
        network.search_continues(state, rows.wiring),
        lambda target: class_losses(network.predecessor_scores(state, terms, rows.wiring), target),
    )


def reach_outputs(network: PaperNetwork, state: State, rows: Rows) -> tuple[Tensor, Tensor]:
    """Decode likewise: (…, row) and (…, graph of the rows' wiring), logits."""
    if fast.is_available(network, state.latent.device):
        decoders = network.reached.weight, F.pad(network.reach_goes_on.weight, (network.hidden, 0))
        reached, goes_on = _decoded(state, decoders, [1, 1])
        return reached.squeeze(-1), rows.wiring.mean_of_graphs(goes_on).squeeze(-1)
    return network.reached_logits(state), network.reach_continues(state, rows.wiring)


def _decoded(state: State, decoders: Sequence[Tensor], widths: list[int]) -> Sequence[Tensor]:
    """Apply decoders of [z, h] together; a mean of latents may as well be taken afterwards."""
    return (state.both @ torch.cat(list(decoders)).mT).split(widths, dim=-1)


def class_losses(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """(…, row, class), (row,) → (…, row): the losses of choosing the targets, and the choices."""
    chosen = target.unsqueeze(-1).expand(*scores.shape[:-1], 1)
    return -scores.log_softmax(-1).gather(-1, chosen).squeeze(-1), scores.argmax(-1)


class _Choice(torch.autograd.Function):
    """The scores of predecessors, their softmax and its loss, in compiled loops."""

    @staticmethod
    def forward(
        ctx: Any, own: Tensor, sent: Tensor, along: Tensor, links: Links, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        wiring, counts = links.wiring, np.array(links.running)
        sizes, num_links = wiring.offsets[counts, 0], int(wiring.offsets[counts, 1].sum())
        parts = [part.detach().contiguous().numpy() for part in (own, sent, along)]
        losses, best = own.new_empty(len(own)), own.new_empty(len(own), dtype=torch.int64)
        ctx.share, ctx.num_kinds = np.empty(num_links, np.float32), len(along)
        ctx.wiring = links.kind.numpy(), wiring.sender.numpy(), wiring.start.numpy(), sizes
        outputs = losses.numpy(), best.numpy(), ctx.share
        recurrence.choose(*parts, *ctx.wiring, target.numpy(), *outputs)
        ctx.mark_non_differentiable(best)
        return losses, best

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        grad = grads[0].contiguous().numpy()
        found = [grads[0].new_zeros(size) for size in (len(grad), len(grad), ctx.num_kinds)]
        recurrence.unchoose(grad, ctx.share, *ctx.wiring, *(part.numpy() for part in found))
        return *found, None, None


class _Recurrence(torch.autograd.Function):
    """All steps of a run, in compiled loops."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        recipe, (prepared, values, links, steps) = Recipe(*args[:-4]), args[-4:]
        weights = recipe.arrays()
        wiring = links.wiring
        parts = (part.numpy() for part in (links.kind, wiring.sender, wiring.start))
        arrays = LinkArrays(as_array(prepared), *parts)
        kept = recurrence.room(int(steps.sizes.sum()), weights)
        recurrence.forward(weights, arrays, steps, values.numpy(), kept)
        ctx.recipe, ctx.links, ctx.steps, ctx.kept = recipe, arrays, steps, kept
        return torch.from_numpy(np.concatenate([kept.encoded, kept.latent], axis=1))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        recipe, kept, steps, rows = ctx.recipe, ctx.kept, ctx.steps, len(ctx.kept.latent)
        factors = recipe.of_latent, recipe.of_encoded, recipe.of_heard, recipe.of_updated
        d_of_latent, d_parts, d_through, d_given = (
            recipe.inputs.new_empty(rows, factor.shape[-1]) for factor in factors
        )
        d_parts.zero_()
        d_inputs = torch.zeros_like(recipe.inputs)
        d_prepared = recipe.inputs.new_zeros(ctx.links.prepared.shape)
        found = d_of_latent, d_parts, d_through, d_given, d_inputs, d_prepared
        recurrence.backward(
            *(as_factor(factor.mT) for factor in factors),
            ctx.links,
            steps,
            kept,
            *np.split(as_array(grads[0]), 2, axis=1),
            *(part.numpy() for part in found),
        )
        sizes = steps.num_nodes.sum(0).tolist()
        heard = zip(torch.from_numpy(kept.heard).split(sizes), d_through.split(sizes), strict=True)
        weights = (
            d_inputs,
            torch.from_numpy(kept.before).mT @ d_of_latent,
            torch.from_numpy(kept.encoded).mT @ d_parts,
            torch.stack([own.mT @ grad for own, grad in heard]),
            torch.from_numpy(kept.updated).mT @ d_given,
        )
        return *weights, None, None, d_prepared, None, None, None
