"""All steps of a training run, and their gradients, in compiled loops: `fast` for training.

The forward loop keeps what the backward loop needs, one row per step and node. The gradients of the
weights are not computed here: they are products of what is kept and what is returned, one for all
steps together. Sums have a fixed order, so runs are reproducible bit for bit. Importing this module
needs numba, whose loops take arrays and no objects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from augury.classical.arrays import WideArray
from augury.neural.layers import LANES
from augury.paper.fast import FloatArray, Weights
from augury.paper.loops import BLOCK, LARGEST, REAL, SLOPE, TINY, ZERO, gates, leaky, send
from augury.paper.vectors import (
    ONE,
    compiled_loop,
    largest,
    load,
    product,
    root,
    spread,
    store,
    where_equal,
    where_larger,
)


class Steps(NamedTuple):
    """Which nodes take part in which steps, and in which order: those of one degree side by side.

    What a node hears has a place of its own, because there are weights for each degree.
    """

    sizes: WideArray
    """(step,): a step has the first so many nodes."""
    node: WideArray
    """(node,): the nodes, sorted by rank."""
    of_rank: WideArray
    """(rank + 1,): where those of a rank start in `node`."""
    num_nodes: WideArray
    """(step, rank): how many nodes of a rank take part."""
    place: WideArray
    """(step, rank): the place of the first of them; ranks come first, then steps."""

    @classmethod
    def of(cls, sizes: WideArray, ranks: WideArray, num_ranks: int) -> Steps:
        """Take the sizes of the steps and the rank of each node."""
        count = np.stack([np.bincount(ranks[:size], minlength=num_ranks) for size in sizes])
        ends = np.cumsum(count.T).reshape(count.T.shape).T
        of_rank = np.append(0, np.cumsum(np.bincount(ranks, minlength=num_ranks)))
        order = np.argsort(ranks, kind="stable")
        return cls(sizes, order, of_rank, count, np.ascontiguousarray(ends - count))


class Kept(NamedTuple):
    """What the steps leave, one row per step and node; the last five have one place for each."""

    value: WideArray
    """The integer that a node starts the step from."""
    before: FloatArray
    """Its latent before the step."""
    encoded: FloatArray
    of_latent: FloatArray
    """What its latent contributes: to the three gates, the encoding and the outputs."""
    parts: FloatArray
    """Receiver's, sender's and node's own part of message and update, and of the outputs."""
    latent: FloatArray
    heard: FloatArray
    highest: FloatArray
    """The links of the maxima, counted from the node's first."""
    lowest: FloatArray
    """The links of the minima, if there are any."""
    updated: FloatArray
    gates: FloatArray
    """Reset, keep and proposal of the GRU."""


def room(num_rows: int, weights: Weights) -> Kept:
    """Allocate."""
    hidden, heard = len(weights.of_latent), weights.of_heard.shape[1]
    wide = weights.of_latent.shape[1], weights.of_encoded.shape[1]
    lowest = hidden if heard > hidden else 0
    widths = hidden, hidden, *wide, hidden, heard, hidden, lowest, hidden, 3 * hidden
    empty = (np.empty((num_rows, width), np.float32) for width in widths)
    return Kept(np.empty(num_rows, np.int64), *empty)


@compiled_loop
def _hear(place, row, node, first_row, kept, links):
    """Compute the statistics of the messages to a node."""
    prepared, parts, first = links.prepared, kept.parts, links.start[node]
    hidden, degree = prepared.shape[1], links.start[node + 1] - first
    count, share = kept.heard.shape[1] // hidden, spread(ONE / REAL(degree))
    for k in range(0, hidden, LANES):
        least, most = spread(LARGEST), spread(-LARGEST)
        total = squares = low = high = spread(ZERO)
        for n in range(degree):
            j, kind, own = (
                first_row + links.sender[first + n],
                links.kind[first + n],
                spread(REAL(n)),
            )
            value = load(parts, j, hidden + k) + load(prepared, kind, k)
            high = where_larger(value, most, own, high)
            most = largest(value, most)
            if count > 1:
                low = where_larger(least, value, own, low)
                least = where_larger(least, value, value, least)
                total, squares = total + value, squares + value * value
        store(kept.highest, place, k, high)
        shift = load(parts, row, k)
        if count == 1:
            store(kept.heard, place, k, leaky(most + shift))
            continue
        mean = total * share
        store(kept.lowest, place, k, low)
        store(kept.heard, place, k, mean + shift)
        store(kept.heard, place, hidden + k, least + shift)
        store(kept.heard, place, 2 * hidden + k, most + shift)
        if count > 3:
            variance = largest(squares * share - mean * mean, spread(ZERO))
            store(kept.heard, place, 3 * hidden + k, root(variance + spread(TINY)))


@compiled_loop
def _update(first, p, count, rank, first_row, weights, links, steps, kept, through, given):  # noqa: PLR0913 – numba takes arrays, not objects
    """Let some nodes of one rank hear, from place p on, and update their latents."""
    hidden = links.prepared.shape[1]
    for i in range(count):
        node = steps.node[first + i]
        _hear(p + i, first_row + node, node, first_row, kept, links)
    product(kept.heard[p : p + count], weights.of_heard[rank], through, 0)
    for i in range(count):
        row = first_row + steps.node[first + i]
        for k in range(0, hidden, LANES):
            value = load(through, i, k) + load(kept.parts, row, 2 * hidden + k)
            store(kept.updated, p + i, k, leaky(value))
    product(kept.updated[p : p + count], weights.of_updated, given, 0)
    for i in range(count):
        row = first_row + steps.node[first + i]
        for k in range(0, hidden, LANES):
            reset, keep, proposal = gates(i, row, k, hidden, given, kept.of_latent)
            store(kept.gates, p + i, k, reset)
            store(kept.gates, p + i, hidden + k, keep)
            store(kept.gates, p + i, 2 * hidden + k, proposal)
            latent = proposal + keep * (load(kept.before, row, k) - proposal)
            store(kept.latent, row, k, latent)


@compiled_loop
def forward(weights, links, steps, values, kept):
    """Run all steps from these values; fills `kept`."""
    hidden, first_row, last_row = links.prepared.shape[1], 0, 0
    through = np.empty((BLOCK, weights.of_heard.shape[2]), REAL)
    given = np.empty((BLOCK, weights.of_updated.shape[1]), REAL)
    for step in range(len(steps.sizes)):
        size = steps.sizes[step]
        end = first_row + size
        for i in range(size):
            kept.value[first_row + i] = values[i]
            for k in range(0, hidden, LANES):
                before = load(kept.latent, last_row + i, k) if step else spread(ZERO)
                store(kept.before, first_row + i, k, before)
        last_parts = kept.parts[last_row : last_row + (size if step else 0)]
        send(weights, kept.before[first_row:end], last_parts, kept.value[first_row:end],
             kept.of_latent[first_row:end], kept.encoded[first_row:end],
             kept.parts[first_row:end])  # fmt: skip
        for rank in range(len(weights.of_heard)):
            for a in range(0, steps.num_nodes[step, rank], BLOCK):
                first, p = steps.of_rank[rank] + a, steps.place[step, rank] + a
                count = min(BLOCK, steps.num_nodes[step, rank] - a)
                _update(first, p, count, rank, first_row, weights, links, steps, kept,
                        through, given)  # fmt: skip
        last_row, first_row = first_row, end


@compiled_loop
def _ungate(place, row, node, kept, d_latent, d_given, d_of_latent, carry):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate a latent's gradient back through the GRU; `carry` gets that of the one before."""
    hidden, one = d_latent.shape[1], spread(ONE)
    for k in range(0, hidden, LANES):
        reset, keep = load(kept.gates, place, k), load(kept.gates, place, hidden + k)
        proposal = load(kept.gates, place, 2 * hidden + k)
        grad = load(d_latent, row, k) + load(carry, node, k)
        d_new = grad * (one - keep) * (one - proposal * proposal)
        d_keep = grad * (load(kept.before, row, k) - proposal) * keep * (one - keep)
        d_reset = d_new * load(kept.of_latent, row, 2 * hidden + k) * reset * (one - reset)
        store(d_given, place, k, d_reset)
        store(d_given, place, hidden + k, d_keep)
        store(d_given, place, 2 * hidden + k, d_new)
        store(d_of_latent, row, k, d_reset)
        store(d_of_latent, row, hidden + k, d_keep)
        store(d_of_latent, row, 2 * hidden + k, d_new * reset)
        store(carry, node, k, grad * keep)


@compiled_loop
def _unleaky(after, grad):
    """Propagate a gradient back through the leaky ReLU, given its result."""
    return where_larger(after, spread(ZERO), grad, grad * spread(SLOPE))


@compiled_loop
def _add(array, i, k, value):
    """Add a vector to row i, from column k on."""
    store(array, i, k, load(array, i, k) + value)


@compiled_loop
def _unhear(i, place, row, node, first_row, kept, links, d_heard, d_parts, d_prepared):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate the gradient of what a node heard back to links, senders and the node itself."""
    prepared, first = links.prepared, links.start[node]
    hidden, degree = prepared.shape[1], links.start[node + 1] - first
    count, share, zero = kept.heard.shape[1] // hidden, spread(ONE / REAL(degree)), spread(ZERO)
    for k in range(0, hidden, LANES):
        high, grad = load(kept.highest, place, k), load(d_heard, i, k)
        d_low = low = slope = mean = every = zero
        if count == 1:
            d_high = _unleaky(load(kept.heard, place, k), grad)
            store(d_parts, row, k, d_high)
        else:
            low, d_low = load(kept.lowest, place, k), load(d_heard, i, hidden + k)
            d_high, every = load(d_heard, i, 2 * hidden + k), grad * share
            store(d_parts, row, k, grad + d_low + d_high)
        if count > 3:
            deviation = load(kept.heard, place, 3 * hidden + k)
            slope = load(d_heard, i, 3 * hidden + k) / deviation * share
            # No gradient where the variance was clamped.
            slope = where_larger(deviation * deviation, spread(TINY), slope, zero)
            mean = load(kept.heard, place, k) - load(kept.parts, row, k)
        for n in range(degree):
            j, kind, own = (
                first_row + links.sender[first + n],
                links.kind[first + n],
                spread(REAL(n)),
            )
            grad = where_equal(high, own, d_high, zero)
            if count > 1:
                grad = grad + every + where_equal(low, own, d_low, zero)
            if count > 3:
                value = load(kept.parts, j, hidden + k) + load(prepared, kind, k)
                grad = grad + slope * (value - mean)
            _add(d_prepared, kind, k, grad)
            _add(d_parts, j, hidden + k, grad)


@compiled_loop
def backward(  # noqa: PLR0913, C901 – numba takes arrays, not objects
    to_latent, to_encoded, to_heard, to_updated, links, steps, kept, d_encoded, d_latent,
    d_of_latent, d_parts, d_through, d_given, d_inputs, d_prepared,
):  # fmt: skip
    """Propagate gradients of encodings and latents; matrices are those of `forward`, transposed.

    Fills d_of_latent, d_parts, d_through and d_given, from which the gradients of the weights are
    made, and adds to d_inputs and d_prepared. These two and d_parts must start at zero.
    """
    hidden, first_row = links.prepared.shape[1], len(kept.latent)
    carry = np.zeros((steps.sizes[0], hidden), REAL)
    back, d_heard = np.empty((BLOCK, hidden), REAL), np.empty((BLOCK, to_heard.shape[2]), REAL)
    for step in range(len(steps.sizes) - 1, -1, -1):
        size = steps.sizes[step]
        first_row -= size
        for rank in range(len(to_heard)):
            for a in range(0, steps.num_nodes[step, rank], BLOCK):
                first, p = steps.of_rank[rank] + a, steps.place[step, rank] + a
                count = min(BLOCK, steps.num_nodes[step, rank] - a)
                for i in range(count):
                    node = steps.node[first + i]
                    _ungate(
                        p + i, first_row + node, node, kept, d_latent, d_given, d_of_latent, carry
                    )
                product(d_given[p : p + count], to_updated, back, 0)
                for i in range(count):
                    row = first_row + steps.node[first + i]
                    for k in range(0, hidden, LANES):
                        grad = _unleaky(load(kept.updated, p + i, k), load(back, i, k))
                        store(d_parts, row, 2 * hidden + k, grad)
                        store(d_through, p + i, k, grad)
                product(d_through[p : p + count], to_heard[rank], d_heard, 0)
                for i in range(count):
                    node = steps.node[first + i]
                    _unhear(i, p + i, first_row + node, node, first_row, kept, links,
                            d_heard, d_parts, d_prepared)  # fmt: skip
        for a in range(first_row, first_row + size, BLOCK):
            b = min(a + BLOCK, first_row + size)
            product(d_parts[a:b], to_encoded, back, 0)
            for i in range(a, b):
                for k in range(0, hidden, LANES):
                    grad = load(d_encoded, i, k) + load(back, i - a, k)
                    grad = _unleaky(load(kept.encoded, i, k), grad)
                    store(d_of_latent, i, 3 * hidden + k, grad)
                    _add(d_inputs, kept.value[i], k, grad)
            product(d_of_latent[a:b], to_latent, back, 0)
            for i in range(a, b):
                for k in range(0, hidden, LANES):
                    _add(carry, i - first_row, k, load(back, i - a, k))


@compiled_loop
def choose(own, sent, along, kind, sender, start, sizes, target, losses, best, share):  # noqa: PLR0913 – numba takes arrays, not objects
    """Score the links into each node of each row; fill the loss of the target, and the best link.

    A link's score is the leaky ReLU of what receiver, sender and link contribute; the loss is that
    of a softmax over a node's links. `share` gets the gradient of the loss by each score before the
    leaky ReLU, link by link and row by row.
    """
    first_row, place = 0, 0
    for step in range(len(sizes)):
        for node in range(sizes[step]):
            row, first, end = first_row + node, start[node], start[node + 1]
            highest = REAL(-np.inf)
            for link in range(first, end):
                score = own[row] + sent[first_row + sender[link]] + along[kind[link]]
                score = score if score > ZERO else score * SLOPE
                share[place + link - first] = score
                if score > highest:
                    highest = score
                    best[row] = link - first
            total = ZERO
            for link in range(place, place + end - first):
                total += np.exp(share[link] - highest)
            wanted = place + target[row]
            losses[row] = highest + np.log(total) - share[wanted]
            for link in range(place, place + end - first):
                is_positive = share[link] > ZERO
                grad = np.exp(share[link] - highest) / total - (ONE if link == wanted else ZERO)
                share[link] = grad if is_positive else grad * SLOPE
            place += end - first
        first_row += sizes[step]


@compiled_loop
def unchoose(grad, share, kind, sender, start, sizes, d_own, d_sent, d_along):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate the gradients of the losses back to receivers, senders and kinds of link."""
    first_row, place = 0, 0
    for step in range(len(sizes)):
        for node in range(sizes[step]):
            row = first_row + node
            for link in range(start[node], start[node + 1]):
                value = grad[row] * share[place]
                d_own[row] += value
                d_sent[first_row + sender[link]] += value
                d_along[kind[link]] += value
                place += 1
        first_row += sizes[step]
