"""All steps of a training run, and their gradients, in compiled loops: `fast` for training.

The forward loop keeps what the backward loop needs, one row per step and node. The gradients of the
weights are not computed here: they are products of what is kept and what is returned, one for all
steps together. Sums have a fixed order, so runs are reproducible bit for bit. Importing this module
needs numba, whose loops take arrays and no objects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from augury.paper.loops import (
    BLOCK,
    ONE,
    REAL,
    SLOPE,
    TINY,
    ZERO,
    compiled_loop,
    decode,
    exp,
    leaky,
    send,
    update,
)  # fmt: skip

FloatArray = npt.NDArray[np.float32]


class Kept(NamedTuple):
    """What the steps leave, each (row, …), with one row per step and node."""

    value: npt.NDArray[np.int64]
    """The integer that a node starts the step from."""
    before: FloatArray
    """Its latent before the step."""
    encoded: FloatArray
    of_latent: FloatArray
    """What its latent contributes: to the three gates and the encoding."""
    parts: FloatArray
    """Receiver's, sender's and node's own part of message and update."""
    heard: FloatArray
    highest: npt.NDArray[np.int32]
    """The links of the maxima."""
    lowest: npt.NDArray[np.int32]
    """The links of the minima, if there are any."""
    updated: FloatArray
    gates: FloatArray
    """Reset, keep and proposal of the GRU."""
    latent: FloatArray


def room(num_rows: int, hidden: int, statistics: int) -> Kept:
    """Allocate."""
    value, highest = np.empty(num_rows, np.int64), np.empty((num_rows, hidden), np.int32)
    lowest = np.empty((num_rows if statistics > 1 else 0, hidden), np.int32)
    before, encoded, of_latent, parts, heard, updated, gates, latent = (
        np.empty((num_rows, width * hidden), np.float32)
        for width in (1, 1, 4, 3, statistics, 1, 3, 1)
    )
    nodes = value, before, encoded, of_latent, parts
    return Kept(*nodes, heard, highest, lowest, updated, gates, latent)


@compiled_loop
def _hear(i, node, first_row, kept, sender, start, kind, prepared, said):  # noqa: PLR0913, C901 – numba takes arrays, not objects
    """Compute the statistics of the messages to a node; `said` is scratch."""
    hidden = prepared.shape[1]
    heard, parts, highest, lowest = kept.heard, kept.parts, kept.highest, kept.lowest
    count = heard.shape[1] // hidden
    first, degree = start[node], start[node + 1] - start[node]
    # Copied side by side first, so that the passes over them vectorise over k.
    for link in range(first, first + degree):
        j, row = first_row + sender[link], kind[link]
        for k in range(hidden):
            said[link - first, k] = parts[j, hidden + k] + prepared[row, k]
    if count == 1:
        for k in range(hidden):
            high, place = said[0, k], 0
            for n in range(1, degree):
                if said[n, k] > high:
                    high, place = said[n, k], n
            heard[i, k] = leaky(high + parts[i, k])
            highest[i, k] = first + place
        return
    for k in range(hidden):
        low, high, low_place, high_place = said[0, k], said[0, k], 0, 0
        total, squares = ZERO, ZERO
        for n in range(degree):
            value = said[n, k]
            total += value
            squares += value * value
            if value > high:
                high, high_place = value, n
            if value < low:
                low, low_place = value, n
        heard[i, k], heard[i, hidden + k], heard[i, 2 * hidden + k] = total, low, high
        lowest[i, k], highest[i, k] = first + low_place, first + high_place
        if count > 3:
            heard[i, 3 * hidden + k] = squares
    share = ONE / REAL(degree)
    if count > 3:
        for k in range(hidden):
            mean = heard[i, k] * share
            spread = heard[i, 3 * hidden + k] * share - mean * mean
            heard[i, 3 * hidden + k] = np.sqrt(max(spread, ZERO) + TINY)
    for k in range(hidden):
        heard[i, k] = heard[i, k] * share + parts[i, k]
        heard[i, hidden + k] += parts[i, k]
        heard[i, 2 * hidden + k] += parts[i, k]


@compiled_loop
def forward(  # noqa: PLR0913 – numba takes arrays, not objects
    inputs, of_latent, of_encoded, of_heard, of_updated, outputs, delta,
    prepared, kind, sender, start, sizes, values, kept,
):  # fmt: skip
    """Run all steps; step t has the first sizes[t] nodes. Fills `kept` and changes `values`."""
    hidden = prepared.shape[1]
    degree = np.diff(start)
    said = np.empty((degree.max(), hidden), REAL)
    through = np.empty((BLOCK, of_heard.shape[1]), REAL)
    given = np.empty((BLOCK, 3 * hidden), REAL)
    both, logits = np.empty((BLOCK, 2 * hidden), REAL), np.empty((BLOCK, outputs.shape[1]), REAL)
    first_row, last_row = 0, 0
    for step in range(len(sizes)):
        size = sizes[step]
        for i in range(size):
            kept.value[first_row + i] = values[i]
            for k in range(hidden):
                before = kept.latent[last_row + i, k] if step else ZERO
                kept.before[first_row + i, k] = before
        for a in range(first_row, first_row + size, BLOCK):
            b = min(a + BLOCK, first_row + size)
            send(a, b, inputs, of_latent, of_encoded, kept.value, kept.before,
                 kept.encoded, kept.of_latent, kept.parts)  # fmt: skip
        for a in range(first_row, first_row + size, BLOCK):
            b = min(a + BLOCK, first_row + size)
            for i in range(a, b):
                _hear(i, i - first_row, first_row, kept, sender, start, kind, prepared, said)
            own = slice(a - first_row, b - first_row)
            update(kept.heard[a:b], kept.parts[a:b], degree[own], delta, of_heard,
                   through[: b - a], kept.updated[a:b])  # fmt: skip
            np.dot(kept.updated[a:b], of_updated, given[: b - a])
            for i in range(a, b):
                for k in range(hidden):
                    reset = given[i - a, k] + kept.of_latent[i, k]
                    keep = given[i - a, hidden + k] + kept.of_latent[i, hidden + k]
                    reset, keep = ONE / (ONE + exp(-reset)), ONE / (ONE + exp(-keep))
                    new = given[i - a, 2 * hidden + k] + reset * kept.of_latent[i, 2 * hidden + k]
                    proposal = ONE - (ONE + ONE) / (exp(new + new) + ONE)
                    kept.gates[i, k] = reset
                    kept.gates[i, hidden + k] = keep
                    kept.gates[i, 2 * hidden + k] = proposal
                    kept.latent[i, k] = proposal + keep * (kept.before[i, k] - proposal)
            decode(outputs, kept.encoded[a:b], kept.latent[a:b], both[: b - a], logits[: b - a],
                   values[own])  # fmt: skip
        last_row = first_row
        first_row += size


@compiled_loop
def _ungate(i, kept, d_latent, d_given, d_of_latent, carry, node):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate a latent's gradient back through the GRU; `carry` gets that of the one before."""
    hidden = d_latent.shape[1]
    for k in range(hidden):
        reset, keep = kept.gates[i, k], kept.gates[i, hidden + k]
        proposal, before = kept.gates[i, 2 * hidden + k], kept.before[i, k]
        grad = d_latent[i, k] + carry[node, k]
        d_new = grad * (ONE - keep) * (ONE - proposal * proposal)
        d_keep = grad * (before - proposal) * keep * (ONE - keep)
        d_reset = d_new * kept.of_latent[i, 2 * hidden + k] * reset * (ONE - reset)
        d_given[i, k] = d_reset
        d_given[i, hidden + k] = d_keep
        d_given[i, 2 * hidden + k] = d_new
        d_of_latent[i, k] = d_reset
        d_of_latent[i, hidden + k] = d_keep
        d_of_latent[i, 2 * hidden + k] = d_new * reset
        carry[node, k] = grad * keep


@compiled_loop
def _unhear(i, node, first_row, kept, sender, start, kind, prepared, d_heard, d_parts, d_prepared):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate the gradient of what a node heard back to links, senders and the node itself."""
    hidden = prepared.shape[1]
    count = kept.heard.shape[1] // hidden
    if count == 1:
        for k in range(hidden):
            grad = d_heard[k] if kept.heard[i, k] > ZERO else d_heard[k] * SLOPE
            link = kept.highest[i, k]
            d_parts[i, k] = grad
            d_prepared[kind[link], k] += grad
            d_parts[first_row + sender[link], hidden + k] += grad
        return
    share = ONE / REAL(start[node + 1] - start[node])
    for k in range(hidden):
        d_mean, d_low, d_high = d_heard[k], d_heard[hidden + k], d_heard[2 * hidden + k]
        d_parts[i, k] = d_mean + d_low + d_high
        low, high = kept.lowest[i, k], kept.highest[i, k]
        d_prepared[kind[low], k] += d_low
        d_parts[first_row + sender[low], hidden + k] += d_low
        d_prepared[kind[high], k] += d_high
        d_parts[first_row + sender[high], hidden + k] += d_high
    for link in range(start[node], start[node + 1]):
        j = first_row + sender[link]
        for k in range(hidden):
            grad = d_heard[k] * share
            if count > 3:
                deviation = kept.heard[i, 3 * hidden + k]
                is_flat = deviation * deviation <= TINY  # no gradient: the variance was clamped
                slope = ZERO if is_flat else d_heard[3 * hidden + k] / deviation * share
                mean = kept.heard[i, k] - kept.parts[i, k]
                grad += slope * (kept.parts[j, hidden + k] + prepared[kind[link], k] - mean)
            d_prepared[kind[link], k] += grad
            d_parts[j, hidden + k] += grad


@compiled_loop
def backward(  # noqa: PLR0913, C901 – numba takes arrays, not objects
    to_latent, to_encoded, to_heard, to_updated, delta,
    prepared, kind, sender, start, sizes, kept, d_encoded, d_latent,
    d_of_latent, d_parts, d_through, d_given, d_inputs, d_prepared,
):  # fmt: skip
    """Propagate gradients of encodings and latents; matrices are those of `forward`, transposed.

    Fills d_of_latent, d_parts, d_through and d_given, from which the gradients of the weights are
    made, and adds to d_inputs and d_prepared. These two and d_parts must start at zero.
    """
    hidden = prepared.shape[1]
    degree, carry = np.diff(start), np.zeros((sizes[0], hidden), REAL)
    back, d_heard = np.empty((BLOCK, hidden), REAL), np.empty((BLOCK, to_heard.shape[1]), REAL)
    first_row = sizes.sum()
    for step in range(len(sizes) - 1, -1, -1):
        size = sizes[step]
        first_row -= size
        for a in range(first_row, first_row + size, BLOCK):
            b = min(a + BLOCK, first_row + size)
            for i in range(a, b):
                _ungate(i, kept, d_latent, d_given, d_of_latent, carry, i - first_row)
            np.dot(d_given[a:b], to_updated, back[: b - a])
            for i in range(a, b):
                scale = np.log(REAL(degree[i - first_row] + 1)) / delta
                for k in range(hidden):
                    grad = back[i - a, k]
                    grad = grad if kept.updated[i, k] > ZERO else grad * SLOPE
                    d_parts[i, 2 * hidden + k] = grad
                    d_through[i, k] = grad
                    if d_through.shape[1] > hidden:
                        d_through[i, hidden + k] = grad * scale
                        d_through[i, 2 * hidden + k] = grad / scale
            np.dot(d_through[a:b], to_heard, d_heard[: b - a])
            for i in range(a, b):
                _unhear(i, i - first_row, first_row, kept, sender, start, kind, prepared,
                        d_heard[i - a], d_parts, d_prepared)  # fmt: skip
        for a in range(first_row, first_row + size, BLOCK):
            b = min(a + BLOCK, first_row + size)
            np.dot(d_parts[a:b], to_encoded, back[: b - a])
            for i in range(a, b):
                value = kept.value[i]
                for k in range(hidden):
                    grad = d_encoded[i, k] + back[i - a, k]
                    grad = grad if kept.encoded[i, k] > ZERO else grad * SLOPE
                    d_of_latent[i, 3 * hidden + k] = grad
                    d_inputs[value, k] += grad
            np.dot(d_of_latent[a:b], to_latent, back[: b - a])
            for i in range(a, b):
                for k in range(hidden):
                    carry[i - first_row, k] += back[i - a, k]


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
                score = leaky(score)
                share[place + link - first] = score
                if score > highest:
                    highest = score
                    best[row] = link - first
            total = ZERO
            for link in range(place, place + end - first):
                total += exp(share[link] - highest)
            wanted = place + target[row]
            losses[row] = highest + np.log(total) - share[wanted]
            for link in range(place, place + end - first):
                is_positive = share[link] > ZERO
                grad = exp(share[link] - highest) / total - (ONE if link == wanted else ZERO)
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
