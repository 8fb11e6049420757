"""The outputs of a training run become losses, right decisions and gradients, in compiled loops.

See `recurrence`. Importing this module needs numba.
"""

from __future__ import annotations

import numpy as np

from augury.neural.layers import LANES
from augury.paper.loops import BLOCK, REAL, SLOPE, ZERO
from augury.paper.vectors import ONE, add, compiled_loop, inlined, load, product


@compiled_loop
def decode(weights, kept):
    """Return the outputs of every row: the latent's part plus the encoding's, already made."""
    hidden, rows = kept.latent.shape[1], len(kept.latent)
    of_latent = np.ascontiguousarray(weights.of_latent[:, 4 * hidden :])
    logits = np.empty((rows, of_latent.shape[1]), REAL)
    for a in range(0, rows, BLOCK):
        product(kept.latent[a : a + BLOCK], of_latent, logits[a : a + BLOCK], 0)
    for i in range(rows):
        for k in range(0, logits.shape[1], LANES):
            add(logits, i, k, load(kept.parts, i, 3 * hidden + k))
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
    """Judge the bits of the rows that count; return loss, right decisions and number of rows.

    `grads` receives the gradients, as in the functions below, and must be zero beforehand.
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
def end_losses(logits, place, running, stop_early, stop_weight, node_start, grads):  # noqa: PLR0913 – numba takes arrays, not objects
    """Judge whether each graph goes on after each step: the mean over its nodes of one output."""
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
            weight = ONE if graph < following else REAL(stop_weight)
            loss += weight * own
            right += (logit > ZERO) == (graph < following)
            count += 1
            for row in rows:
                grads[row, place] = weight * grad / REAL(len(rows))
        first += node_start[running[step]]
    return loss, right, count


@compiled_loop
def choice_losses(logits, place, links, along, sizes, column, grads, d_along):  # noqa: PLR0913 – numba takes arrays, not objects
    """Judge the choice among the links into each node that counts; last steps also apart.

    A link's score is the leaky ReLU of what receiver, sender and link contribute; the loss is that
    of a softmax over a node's links. Outputs of receiver and sender are at `place`, `place + 1`.
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
