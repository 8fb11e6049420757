"""All steps of a training run, its losses and gradients, in compiled loops: `fast` for training.

The forward loop keeps what the backward loop needs, one row per step and node; the losses of its
outputs are found together with their gradients. Gradients of the weights are added up step by step,
from the last one back, while what they are made of is still in the cache. Sums have a fixed order,
so runs are reproducible bit for bit. Importing this module needs numba, whose loops
take arrays and no objects.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.classical.arrays import WideArray
from augury.neural.layers import LANES
from augury.paper.loops import BLOCK, LARGEST, REAL, SLOPE, TINY, ZERO, gates, leaky, send
from augury.paper.recipes import FloatArray, Weights
from augury.paper.vectors import (
    ONE,
    add_product,
    compiled_loop,
    inlined,
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
    last: WideArray
    """(node,): the row of each node's last step."""

    @classmethod
    def of(cls, sizes: WideArray, ranks: WideArray, num_ranks: int) -> Steps:
        """Take the sizes of the steps and the rank of each node."""
        order = np.argsort(ranks, kind="stable") if num_ranks > 1 else np.arange(len(ranks))
        return cls(sizes, order, *_placed(sizes, ranks, num_ranks))


@compiled_loop
def _placed(sizes, ranks, num_ranks):
    """Return the fields of `Steps` from `of_rank` on."""
    num_nodes = np.zeros((len(sizes), num_ranks), np.int64)
    of_rank, place = np.zeros(num_ranks + 1, np.int64), np.empty_like(num_nodes)
    last, first_row, taken = np.empty(len(ranks), np.int64), 0, 0
    for rank in ranks:
        of_rank[rank + 1] += 1
    for rank in range(num_ranks):
        of_rank[rank + 1] += of_rank[rank]
    for step in range(len(sizes)):
        for node in range(sizes[step]):
            num_nodes[step, ranks[node]] += 1
            last[node] = first_row + node
        first_row += sizes[step]
    for rank in range(num_ranks):
        for step in range(len(sizes)):
            place[step, rank] = taken
            taken += num_nodes[step, rank]
    return of_rank, num_nodes, place, last


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


def _hear_of(has_two_ends: bool) -> Any:
    @inlined
    def hear(place, row, node, first_row, kept, links):
        """Compute the statistics of the messages to a node; with two ends see `loops`."""
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
                if count > 1:
                    total, squares = total + value, squares + value * value
                if has_two_ends:
                    value = load(parts, j, k) + load(prepared, links.back[first + n], k)
                high = where_larger(value, most, own, high)
                most = largest(value, most)
                if count > 1:
                    low = where_larger(least, value, own, low)
                    least = where_larger(least, value, value, least)
            store(kept.highest, place, k, high)
            shift = load(parts, row, k)
            if count == 1:
                store(kept.heard, place, k, leaky(most + shift))
                continue
            mean = total * share
            store(kept.lowest, place, k, low)
            store(kept.heard, place, k, mean + shift)
            if has_two_ends:
                shift = load(parts, row, hidden + k)
            store(kept.heard, place, hidden + k, least + shift)
            store(kept.heard, place, 2 * hidden + k, most + shift)
            if count > 3:
                variance = largest(squares * share - mean * mean, spread(ZERO))
                store(kept.heard, place, 3 * hidden + k, root(variance + spread(TINY)))

    return hear


_hear, _hear_at_two_ends = _hear_of(False), _hear_of(True)


@compiled_loop
def _update(first, p, count, rank, first_row, weights, links, steps, kept, through, given):  # noqa: PLR0913 – numba takes arrays, not objects
    """Let some nodes of one rank hear, from place p on, and update their latents."""
    hidden = links.prepared.shape[1]
    for i in range(count):
        node = steps.node[first + i]
        if len(links.back):
            _hear_at_two_ends(p + i, first_row + node, node, first_row, kept, links)
        else:
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


@inlined
def _ungate(place, row, i, node, kept, d_latent, d_given, d_of_latent, carry):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate a latent's gradient back through the GRU; `carry` gets that of the one before."""
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


@inlined
def _add(array, i, k, value):
    """Add a vector to row i, from column k on."""
    store(array, i, k, load(array, i, k) + value)


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
                    _add(d_parts, node, k, grad)
                    _add(d_parts, node, hidden + k, d_low + d_high)
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
                    _add(d_prepared, links.back[first + n], k, grad)
                    _add(d_parts, j, k, grad)
                    grad = every
                elif count > 1:
                    grad = grad + every + where_equal(low, own, d_low, zero)
                if count > 3:
                    value = load(kept.parts, first_row + j, hidden + k) + load(prepared, kind, k)
                    grad = grad + slope * (value - mean)
                _add(d_prepared, kind, k, grad)
                _add(d_parts, j, hidden + k, grad)

    return unhear


_unhear, _unhear_at_two_ends = _unhear_of(False), _unhear_of(True)


class Grads(NamedTuple):
    """The gradients of `Weights` and of the links' part of the messages, all added to."""

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
    """Gradients of one step, a row for each of its nodes, and from `d_given` on of one block."""

    d_latent: FloatArray
    d_of_latent: FloatArray
    d_parts: FloatArray
    carry: FloatArray
    """Those of the latents before the step, which it is handed."""
    d_given: FloatArray
    d_through: FloatArray
    d_heard: FloatArray


@compiled_loop
def _unupdate(first, p, count, rank, first_row, back_weights, links, steps, kept, rooms, grads):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate gradients from the latents of some nodes of one rank back to their messages."""
    d_parts, d_given, d_through, d_heard = (
        rooms.d_parts,
        rooms.d_given,
        rooms.d_through,
        rooms.d_heard,
    )
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
    d_of_latent, d_parts, carry, back = (
        rooms.d_of_latent,
        rooms.d_parts,
        rooms.carry,
        rooms.d_through,
    )
    hidden, rows = carry.shape[1], slice(first_row + a, first_row + b)
    product(d_parts[a:b], back_weights.to_encoded, back, 0)
    add_product(kept.encoded[rows], d_parts[a:b], grads.of_encoded)
    for i in range(a, b):
        for k in range(0, hidden, LANES):
            grad = _unleaky(load(kept.encoded, first_row + i, k), load(back, i - a, k))
            store(d_of_latent, i, 3 * hidden + k, grad)
            _add(grads.inputs, kept.value[first_row + i], k, grad)
    if first_row:  # else the latents were zero, and of no weights
        add_product(kept.before[rows], d_of_latent[a:b], grads.of_latent[:, : 4 * hidden])
        product(d_of_latent[a:b], back_weights.to_latent, back, 0)
        for i in range(a, b):
            for k in range(0, hidden, LANES):
                _add(carry, i, k, load(back, i - a, k))


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
            _add(d_latent, i, k, load(d_last, i, k))


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


@compiled_loop
def decode(weights, kept):
    """Return the outputs of every row: the latent's part, and the encoding's, which is there."""
    hidden, rows = kept.latent.shape[1], len(kept.latent)
    of_latent = np.ascontiguousarray(weights.of_latent[:, 4 * hidden :])
    logits = np.empty((rows, of_latent.shape[1]), REAL)
    for a in range(0, rows, BLOCK):
        product(kept.latent[a : a + BLOCK], of_latent, logits[a : a + BLOCK], 0)
    for i in range(rows):
        for k in range(0, logits.shape[1], LANES):
            _add(logits, i, k, load(kept.parts, i, 3 * hidden + k))
    return logits


@inlined
def _bit_loss(logit, is_one):
    """Return the loss of a bit's logit, and its gradient."""
    far = np.exp(-abs(logit))
    share = (ONE if logit > ZERO else far) / (ONE + far)
    loss = max(logit, ZERO) - (logit if is_one else ZERO) + np.log1p(far)
    return loss, share - (ONE if is_one else ZERO)


@compiled_loop
def value_losses(logits, num_bits, sizes, values, column, grads):
    """Judge the bits of the rows that count; return loss, right decisions and how many rows.

    `grads` gets the gradients, like those of the functions below, and must be zero before.
    """
    loss, right, count, row = 0.0, 0.0, 0, 0
    for step in range(len(sizes)):
        for node in range(sizes[step]):
            if column[step, node] >= 0:
                count += 1
                for bit in range(num_bits):
                    is_one = (values[step, node] >> (num_bits - 1 - bit)) & 1
                    own, grad = _bit_loss(logits[row, bit], is_one)
                    loss += own / num_bits
                    right += ((logits[row, bit] > ZERO) == is_one) / num_bits
                    grads[row, bit] = grad / REAL(num_bits)
            row += 1
    return loss, right, count


@compiled_loop
def end_losses(logits, place, running, stop_early, node_start, grads):
    """Judge for each graph and step whether it goes on: the mean over its nodes of one output."""
    loss, right, count, first = 0.0, 0.0, 0, 0
    for step in range(len(running)):
        after = step + 1 + stop_early
        following = running[after] if after < len(running) else 0
        for graph in range(running[step]):
            rows = range(first + node_start[graph], first + node_start[graph + 1])
            logit = ZERO
            for row in rows:
                logit += logits[row, place]
            logit /= REAL(len(rows))
            own, grad = _bit_loss(logit, graph < following)
            loss += own
            right += (logit > ZERO) == (graph < following)
            count += 1
            for row in rows:
                grads[row, place] = grad / REAL(len(rows))
        first += node_start[running[step]]
    return loss, right, count


@compiled_loop
def choice_losses(logits, place, links, along, sizes, column, grads, d_along):  # noqa: PLR0913 – numba takes arrays, not objects
    """Judge the choice among the links into each node that counts; the last steps' also apart.

    A link's score is the leaky ReLU of what receiver, sender and link contribute; the loss is that
    of a softmax over a node's links. The outputs of receiver and sender are at `place` and after.
    """
    loss, right, count, last_right, last_count, first_row = 0.0, 0, 0, 0, 0, 0
    score = np.empty(len(links.sender), REAL)
    for step in range(len(sizes)):
        following = sizes[step + 1] if step + 1 < len(sizes) else 0
        for node in range(sizes[step]):
            if column[step, node] < 0:
                continue
            row, first, end = first_row + node, links.start[node], links.start[node + 1]
            wanted, best = first + column[step, node], first
            for link in range(first, end):
                value = logits[first_row + links.sender[link], place + 1] + along[links.kind[link]]
                value += logits[row, place]
                score[link] = value if value > ZERO else value * SLOPE
                if score[link] > score[best]:
                    best = link
            highest, total = score[best], ZERO
            for link in range(first, end):
                total += np.exp(score[link] - highest)
            loss += highest + np.log(total) - score[wanted]
            for link in range(first, end):
                grad = np.exp(score[link] - highest) / total - (ONE if link == wanted else ZERO)
                grad = grad if score[link] > ZERO else grad * SLOPE
                grads[row, place] += grad
                grads[first_row + links.sender[link], place + 1] += grad
                d_along[links.kind[link]] += grad
            is_last = node >= following
            right, last_right = right + (best == wanted), last_right + (is_last and best == wanted)
            count, last_count = count + 1, last_count + is_last
        first_row += sizes[step]
    return (loss, right, count), (0.0, last_right, last_count)
