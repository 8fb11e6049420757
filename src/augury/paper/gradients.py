"""The backward pass through all steps of a training run, in a compiled loop: see `recurrence`.

Gradients of the weights are summed step by step, from the last one back, while what they are made
from is still in the cache. Importing this module needs numba.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.neural.layers import LANES
from augury.paper.loops import BLOCK, REAL, SLOPE, TINY, ZERO
from augury.paper.recipes import FloatArray, Weights
from augury.paper.vectors import (
    ONE,
    add,
    add_product,
    compiled_loop,
    inlined,
    load,
    product,
    spread,
    store,
    where_equal,
    where_larger,
)


@inlined
def _ungate(place, row, i, node, kept, d_latent, d_given, d_of_latent, carry):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate a latent's gradient back through the GRU; `carry` gets that of the previous."""
    hidden, one = d_latent.shape[1], spread(ONE)
    for k in range(0, hidden, LANES):
        reset, keep = load(kept.gates, place, k), load(kept.gates, place, hidden + k)
        proposal = load(kept.gates, place, 2 * hidden + k)
        grad = load(d_latent, node, k) + load(carry, node, k)
        d_new = grad * (one - keep) * (one - proposal * proposal)
        d_keep = grad * (load(kept.before, row, k) - proposal) * keep * (one - keep)
        d_reset = d_new * load(kept.of_latent, row, 2 * hidden + k) * reset * (one - reset)
        store(d_given, i, k, d_reset)
        store(d_given, i, hidden + k, d_keep)
        store(d_given, i, 2 * hidden + k, d_new)
        store(d_of_latent, node, k, d_reset)
        store(d_of_latent, node, hidden + k, d_keep)
        store(d_of_latent, node, 2 * hidden + k, d_new * reset)
        store(carry, node, k, grad * keep)


@inlined
def _unleaky(after, grad):
    """Propagate a gradient back through the leaky ReLU, given its result."""
    return where_larger(after, spread(ZERO), grad, grad * spread(SLOPE))


def _unhear_of(has_two_ends: bool) -> Any:
    @inlined
    def unhear(i, place, row, node, first_row, kept, links, d_heard, d_parts, d_prepared):  # noqa: PLR0913 – numba takes arrays, not objects
        """Propagate the gradient of what a node heard back to links, senders and the node."""
        prepared, first = links.prepared, links.start[node]
        hidden, degree = prepared.shape[1], links.start[node + 1] - first
        count, share, zero = kept.heard.shape[1] // hidden, spread(ONE / REAL(degree)), spread(ZERO)
        for k in range(0, hidden, LANES):
            high, grad = load(kept.highest, place, k), load(d_heard, i, k)
            d_low = low = slope = mean = every = zero
            if count == 1:
                d_high = _unleaky(load(kept.heard, place, k), grad)
                store(d_parts, node, k, d_high)
            else:
                low, d_low = load(kept.lowest, place, k), load(d_heard, i, hidden + k)
                d_high, every = load(d_heard, i, 2 * hidden + k), grad * share
                if has_two_ends:
                    add(d_parts, node, k, grad)
                    add(d_parts, node, hidden + k, d_low + d_high)
                else:
                    store(d_parts, node, k, grad + d_low + d_high)
            if count > 3:
                deviation = load(kept.heard, place, 3 * hidden + k)
                slope = load(d_heard, i, 3 * hidden + k) / deviation * share
                # No gradient where the variance was clamped.
                slope = where_larger(deviation * deviation, spread(TINY), slope, zero)
                mean = load(kept.heard, place, k) - load(kept.parts, row, k)
            for n in range(degree):
                j, kind, own = links.sender[first + n], links.kind[first + n], spread(REAL(n))
                grad = where_equal(high, own, d_high, zero)
                if has_two_ends:
                    grad = grad + where_equal(low, own, d_low, zero)
                    add(d_prepared, links.back[first + n], k, grad)
                    add(d_parts, j, k, grad)
                    grad = every
                elif count > 1:
                    grad = grad + every + where_equal(low, own, d_low, zero)
                if count > 3:
                    value = load(kept.parts, first_row + j, hidden + k) + load(prepared, kind, k)
                    grad = grad + slope * (value - mean)
                add(d_prepared, kind, k, grad)
                add(d_parts, j, hidden + k, grad)

    return unhear


_unhear, _unhear_at_two_ends = _unhear_of(False), _unhear_of(True)


class Grads(NamedTuple):
    """The gradients of `Weights` and of the links' part of the messages, summed in place."""

    inputs: FloatArray
    of_latent: FloatArray
    of_encoded: FloatArray
    of_heard: FloatArray
    of_updated: FloatArray
    prepared: FloatArray

    @classmethod
    def of(cls, weights: Weights, prepared: FloatArray) -> Grads:
        """Start from zero."""
        return cls(*(np.zeros(own.shape, np.float32) for own in (*weights[:5], prepared)))


class Transposed(NamedTuple):
    """The weights, to propagate gradients back."""

    to_latent: FloatArray
    to_encoded: FloatArray
    to_heard: FloatArray
    to_updated: FloatArray


class Rooms(NamedTuple):
    """Gradients of one step, a row for each of its nodes; from `d_given` on, of one block."""

    d_latent: FloatArray
    d_of_latent: FloatArray
    d_parts: FloatArray
    carry: FloatArray
    """Those of the latents before the step, handed on to the step before it."""
    d_given: FloatArray
    d_through: FloatArray
    d_heard: FloatArray


@compiled_loop
def _unupdate(first, p, count, rank, first_row, back_weights, links, steps, kept, rooms, grads):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate gradients from the latents of some nodes of one rank back to their messages."""
    d_parts, d_heard = rooms.d_parts, rooms.d_heard
    d_given, d_through = rooms.d_given, rooms.d_through
    hidden, of_latents = d_through.shape[1], (d_given, rooms.d_of_latent, rooms.carry)
    for i in range(count):
        node = steps.node[first + i]
        _ungate(p + i, first_row + node, i, node, kept, rooms.d_latent, *of_latents)
    product(d_given[:count], back_weights.to_updated, d_through, 0)
    add_product(kept.updated[p : p + count], d_given[:count], grads.of_updated)
    for i in range(count):
        for k in range(0, hidden, LANES):
            grad = _unleaky(load(kept.updated, p + i, k), load(d_through, i, k))
            store(d_parts, steps.node[first + i], 2 * hidden + k, grad)
            store(d_through, i, k, grad)
    product(d_through[:count], back_weights.to_heard[rank], d_heard, 0)
    add_product(kept.heard[p : p + count], d_through[:count], grads.of_heard[rank])
    for i in range(count):
        node = steps.node[first + i]
        own = i, p + i, first_row + node, node, first_row
        if len(links.back):
            _unhear_at_two_ends(*own, kept, links, d_heard, d_parts, grads.prepared)
        else:
            _unhear(*own, kept, links, d_heard, d_parts, grads.prepared)


@compiled_loop
def _unsend(a, b, first_row, back_weights, kept, rooms, grads):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate gradients from what some nodes send back to their latents before the step."""
    d_of_latent, d_parts = rooms.d_of_latent, rooms.d_parts
    carry, back = rooms.carry, rooms.d_through
    hidden, rows = carry.shape[1], slice(first_row + a, first_row + b)
    product(d_parts[a:b], back_weights.to_encoded, back, 0)
    add_product(kept.encoded[rows], d_parts[a:b], grads.of_encoded)
    for i in range(a, b):
        for k in range(0, hidden, LANES):
            grad = _unleaky(load(kept.encoded, first_row + i, k), load(back, i - a, k))
            store(d_of_latent, i, 3 * hidden + k, grad)
            add(grads.inputs, kept.value[first_row + i], k, grad)
    if first_row:  # else the latents were zero
        add_product(kept.before[rows], d_of_latent[a:b], grads.of_latent[:, : 4 * hidden])
        product(d_of_latent[a:b], back_weights.to_latent, back, 0)
        for i in range(a, b):
            for k in range(0, hidden, LANES):
                add(carry, i, k, load(back, i - a, k))


@compiled_loop
def _undecode(  # noqa: PLR0913 – numba takes arrays, not objects
    first_row, size, following, latent, d_logits, scale, d_last, to_outputs, d_outputs, rooms
):
    """Start a step with the gradients of its outputs, and of its last latents where it ends."""
    d_latent, d_parts = rooms.d_latent, rooms.d_parts
    hidden = d_latent.shape[1]
    for i in range(size):
        d_parts[i, : 3 * hidden] = ZERO
        for k in range(len(scale)):
            d_parts[i, 3 * hidden + k] = d_logits[first_row + i, k] * scale[k]
    for a in range(0, size, BLOCK):
        b = min(a + BLOCK, size)
        own = d_parts[a:b, 3 * hidden :]
        product(own, to_outputs, d_latent[a:b], 0)
        add_product(latent[first_row + a : first_row + b], own, d_outputs)
    for i in range(following, size):  # which take part in no further step
        for k in range(0, hidden, LANES):
            add(d_latent, i, k, load(d_last, i, k))


@compiled_loop
def backward(weights, links, steps, kept, d_logits, scale, d_last, grads):  # noqa: PLR0913 – numba takes arrays, not objects
    """Add the gradients of all weights, given those of the outputs and of the last latents.

    The outputs' gradients are d_logits times scale, by column.
    """
    hidden, first_row, most = links.prepared.shape[1], len(kept.latent), steps.sizes[0]
    of_outputs = np.ascontiguousarray(weights.of_latent[:, 4 * hidden :])
    to_outputs, d_outputs = np.ascontiguousarray(of_outputs.T), np.zeros_like(of_outputs)
    to_heard = np.empty((len(weights.of_heard), hidden, weights.of_heard.shape[1]), REAL)
    for rank in range(len(to_heard)):
        to_heard[rank] = weights.of_heard[rank].T
    back_weights = Transposed(
        np.ascontiguousarray(weights.of_latent[:, : 4 * hidden].T),
        np.ascontiguousarray(weights.of_encoded.T),
        to_heard,
        np.ascontiguousarray(weights.of_updated.T),
    )
    rooms = Rooms(
        np.empty((most, hidden), REAL),
        np.empty((most, 4 * hidden), REAL),
        np.empty((most, weights.of_encoded.shape[1]), REAL),
        np.zeros((most, hidden), REAL),
        np.empty((BLOCK, 3 * hidden), REAL),
        np.empty((BLOCK, hidden), REAL),
        np.empty((BLOCK, to_heard.shape[2]), REAL),
    )
    for step in range(len(steps.sizes) - 1, -1, -1):
        size = steps.sizes[step]
        following = steps.sizes[step + 1] if step + 1 < len(steps.sizes) else 0
        first_row -= size
        own = first_row, size, following, kept.latent, d_logits, scale, d_last
        _undecode(*own, to_outputs, d_outputs, rooms)
        for rank in range(len(to_heard)):
            for a in range(0, steps.num_nodes[step, rank], BLOCK):
                count = min(BLOCK, steps.num_nodes[step, rank] - a)
                own = steps.of_rank[rank] + a, steps.place[step, rank] + a, count, rank, first_row
                _unupdate(*own, back_weights, links, steps, kept, rooms, grads)
        for a in range(0, size, BLOCK):
            b = min(a + BLOCK, size)
            _unsend(a, b, first_row, back_weights, kept, rooms, grads)
    grads.of_latent[:, 4 * hidden :] = d_outputs
