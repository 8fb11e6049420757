"""A batch and the network's weights become the states of all steps, one row for each step and node.

The network's own rounded output is its next input, so the steps follow one another; but nothing
that only reads states needs to: decoders and losses see the rows of all steps at once. Two forms,
tested equal: step by step, with PyTorch's gradients, for any processor, device and ensemble; and on
the CPU, for the paper's processors, one compiled loop forwards and one back (`engines.recurrence`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from augury.neural.engines import fast
from augury.neural.engines.fast import Recipe
from augury.neural.features import from_bits
from augury.neural.networks import LinkTerms, PaperNetwork, State
from augury.neural.wiring import Wiring


def unroll_search(
    network: PaperNetwork, terms: LinkTerms, wiring: Wiring, running: Sequence[int]
) -> State:
    """Run Bellman-Ford; in step t the first running[t] graphs take part. Returns (…, row, K)."""
    distance = torch.full((wiring.num_nodes,), 2**network.bits - 1, device=wiring.sender.device)
    distance = distance.index_fill(0, wiring.source, 0)
    if _is_compiled(network, terms.prepared):
        return _compiled(fast.search_recipe(network), distance, terms.prepared, wiring, running)

    def step(distance: Tensor, latent: Tensor, wiring: Wiring) -> State:
        return network.search_step(distance, latent, terms.first(wiring.num_links), wiring)

    def read(state: State) -> Tensor:
        return from_bits(network.distance_logits(state) > 0)

    latent = _nothing(network, terms.prepared, wiring)
    return _stepwise(step, read, distance, latent, wiring, running)


def unroll_reach(
    network: PaperNetwork, prepared: Tensor, wiring: Wiring, running: Sequence[int]
) -> State:
    """Run breadth-first search in the same way."""
    is_reached = torch.zeros(wiring.num_nodes, dtype=torch.bool, device=wiring.sender.device)
    is_reached = is_reached.index_fill(0, wiring.source, True)
    if _is_compiled(network, prepared):
        return _compiled(fast.reach_recipe(network), is_reached.long(), prepared, wiring, running)

    def step(is_reached: Tensor, latent: Tensor, wiring: Wiring) -> State:
        links = prepared[..., : wiring.num_links, :]
        return network.reach_step(is_reached, latent, links, wiring)

    def read(state: State) -> Tensor:
        return network.reached_logits(state) > 0

    latent = _nothing(network, prepared, wiring)
    return _stepwise(step, read, is_reached, latent, wiring, running)


def _nothing(network: PaperNetwork, prepared: Tensor, wiring: Wiring) -> Tensor:
    shape = *prepared.shape[:-2], wiring.num_nodes, network.hidden
    return torch.zeros(shape, device=prepared.device)


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


def _is_compiled(network: PaperNetwork, prepared: Tensor) -> bool:
    return (
        prepared.ndim == 2
        and isinstance(network, PaperNetwork)
        and fast.is_available(network, prepared.device)
        and _recurrence() is not None
    )


def _compiled(
    recipe: Recipe, values: Tensor, prepared: Tensor, wiring: Wiring, running: Sequence[int]
) -> State:
    sizes = wiring.offsets[np.array(running), 0]
    return State(*_Recurrence.apply(*recipe, prepared, values, wiring, sizes))


class _Recurrence(torch.autograd.Function):
    """All steps of a run by compiled loops."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[Tensor, Tensor]:
        *weights, outputs, _, delta, prepared, values, wiring, sizes = args
        hidden = prepared.shape[1]
        arrays = [weight.detach().contiguous() for weight in weights]
        kept = _recurrence().room(int(sizes.sum()), hidden, weights[3].shape[0] // hidden)
        prepared = prepared.detach().contiguous()
        _recurrence().forward(
            *(array.numpy() for array in arrays),
            outputs.detach().contiguous().numpy(),
            delta,
            prepared.numpy(),
            wiring.sender.numpy(),
            wiring.start.numpy(),
            sizes,
            values.clone().numpy(),
            kept,
        )
        ctx.kept, ctx.arrays, ctx.prepared = kept, arrays, prepared
        ctx.delta, ctx.wiring, ctx.sizes = delta, wiring, sizes
        # Copies: what is returned may be written to, what is kept may not.
        return torch.from_numpy(kept.encoded.copy()), torch.from_numpy(kept.latent.copy())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        kept, prepared, wiring = ctx.kept, ctx.prepared, ctx.wiring
        inputs, of_latent, of_encoded, of_heard, of_updated = ctx.arrays
        rows = len(kept.latent)
        d_of_latent = torch.empty(rows, of_latent.shape[1])
        d_parts = torch.zeros(rows, of_encoded.shape[1])
        d_through = torch.empty(rows, of_heard.shape[1])
        d_given = torch.empty(rows, of_updated.shape[1])
        d_inputs, d_prepared = torch.zeros_like(inputs), torch.zeros_like(prepared)
        _recurrence().backward(
            *(
                part.mT.contiguous().numpy()
                for part in (of_latent, of_encoded, of_heard, of_updated)
            ),
            ctx.delta,
            prepared.numpy(),
            wiring.sender.numpy(),
            wiring.start.numpy(),
            ctx.sizes,
            kept,
            *(grad.contiguous().numpy() for grad in grads),
            *(part.numpy() for part in (d_of_latent, d_parts, d_through, d_given)),
            d_inputs.numpy(),
            d_prepared.numpy(),
        )
        weights = (
            d_inputs,
            torch.from_numpy(kept.before).mT @ d_of_latent,
            torch.from_numpy(kept.encoded).mT @ d_parts,
            torch.from_numpy(kept.heard).mT @ d_through,
            torch.from_numpy(kept.updated).mT @ d_given,
        )
        return *weights, None, None, None, d_prepared, None, None, None


@cache
def _recurrence() -> Any:
    """Return the compiled loops, or None where numba is not installed."""
    try:
        from augury.neural.engines import recurrence
    except ImportError:
        return None
    return recurrence
