"""Weights and links become latents: the compiled loops of `fast` and `reduce`.

numba takes arrays and no objects, hence the long lists of arguments. Importing this module needs
numba.
"""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from augury.neural.compiled import compiled

BLOCK = 64
"""Nodes that are processed together: enough for a fast product, few enough to stay in the cache."""

REAL = np.float32
ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)
SLOPE = np.float32(0.01)
"""Of the leaky ReLU; PyTorch's default."""
TINY = np.float32(1e-5)
"""Keeps PNA's deviation away from zero."""
LOG2_E, LN2 = np.float32(np.log2(np.e)), np.float32(np.log(2))
LOW, HIGH = np.float32(-87), np.float32(88)
"""Between these, e^x is a normal number."""
LARGEST = np.float32(3e38)
TAYLOR = tuple(np.float32(1 / n) for n in (5040, 720, 120, 24, 6, 2))
"""The coefficients of r^7 to r^2 in e^r."""

compiled_loop = compiled(fastmath={"contract", "nsz"}, error_model="numpy")
"""A product and a sum may be fused; nothing else is reordered."""


@intrinsic
def _as_float(typing, bits):
    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return numba.float32(numba.int32), generate


@compiled_loop
def exp(x):
    """Return e^x to two parts in a million, with x clamped to LOW … HIGH."""
    # 2^n e^r with |r| <= ln 2 / 2: a short series and the exponent's bits, which vectorises.
    x = min(max(x, LOW), HIGH)
    n = np.floor(x * LOG2_E + HALF)
    r = x - n * LN2
    c7, c6, c5, c4, c3, c2 = TAYLOR
    series = ((((((c7 * r + c6) * r + c5) * r + c4) * r + c3) * r + c2) * r + ONE) * r + ONE
    bits = numba.int32((numba.int32(n) + numba.int32(127)) << numba.int32(23))
    return series * _as_float(bits)  # pyright: ignore[reportCallIssue] – numba adds the context


@compiled_loop
def leaky(x):
    """Return the leaky ReLU of x."""
    return x if x > ZERO else x * SLOPE


@compiled_loop
def _gate(given, kept, latent):
    """Update `latent` (node, K); rows of the others hold reset, update and new."""
    hidden = latent.shape[1]
    for i in range(len(latent)):
        for k in range(hidden):
            reset = ONE / (ONE + exp(-(given[i, k] + kept[i, k])))
            keep = ONE / (ONE + exp(-(given[i, hidden + k] + kept[i, hidden + k])))
            new = given[i, 2 * hidden + k] + reset * kept[i, 2 * hidden + k]
            proposal = ONE - (ONE + ONE) / (exp(new + new) + ONE)
            latent[i, k] = proposal + keep * (latent[i, k] - proposal)


@compiled_loop
def _largest(i, node, base, start, sender, row, parts, prepared, heard):  # noqa: PLR0913 – numba takes arrays, not objects
    """Take the maximum over the links into a node; two links at a time."""
    hidden = prepared.shape[1]
    first, end, own = start[node], start[node + 1], node - base
    j, kind = sender[first] - base, row[first]
    for k in range(hidden):
        heard[i, k] = parts[j, hidden + k] + prepared[kind, k]
    link = first + 1
    while link + 1 < end:
        j, kind = sender[link] - base, row[link]
        other, other_kind = sender[link + 1] - base, row[link + 1]
        for k in range(hidden):
            value = parts[j, hidden + k] + prepared[kind, k]
            next_value = parts[other, hidden + k] + prepared[other_kind, k]
            value = value if value > next_value else next_value
            heard[i, k] = value if value > heard[i, k] else heard[i, k]
        link += 2
    if link < end:
        j, kind = sender[link] - base, row[link]
        for k in range(hidden):
            value = parts[j, hidden + k] + prepared[kind, k]
            heard[i, k] = value if value > heard[i, k] else heard[i, k]
    for k in range(hidden):
        heard[i, k] = leaky(heard[i, k] + parts[own, k])


@compiled_loop
def _statistics(i, node, base, start, sender, row, parts, prepared, heard):  # noqa: PLR0913 – numba takes arrays, not objects
    """Take mean, min, max and, if there is room for it, deviation of a node's messages."""
    hidden = prepared.shape[1]
    first, end, own = start[node], start[node + 1], node - base
    has_deviation = heard.shape[1] > 3 * hidden
    j, kind = sender[first] - base, row[first]
    for k in range(hidden):
        value = parts[j, hidden + k] + prepared[kind, k]
        heard[i, k] = value
        heard[i, hidden + k] = value
        heard[i, 2 * hidden + k] = value
    if has_deviation:
        for k in range(hidden):
            heard[i, 3 * hidden + k] = heard[i, k] * heard[i, k]
    for link in range(first + 1, end):
        j, kind = sender[link] - base, row[link]
        for k in range(hidden):
            value = parts[j, hidden + k] + prepared[kind, k]
            heard[i, k] += value
            least, most = heard[i, hidden + k], heard[i, 2 * hidden + k]
            heard[i, hidden + k] = value if value < least else least
            heard[i, 2 * hidden + k] = value if value > most else most
        if has_deviation:
            for k in range(hidden):
                value = parts[j, hidden + k] + prepared[kind, k]
                heard[i, 3 * hidden + k] += value * value
    share = ONE / REAL(end - first)
    for k in range(hidden):
        mean, shift = heard[i, k] * share, parts[own, k]
        if has_deviation:
            spread = heard[i, 3 * hidden + k] * share - mean * mean
            heard[i, 3 * hidden + k] = np.sqrt(max(spread, ZERO) + TINY)
        heard[i, k] = mean + shift
        heard[i, hidden + k] += shift
        heard[i, 2 * hidden + k] += shift


@compiled_loop
def send(a, b, inputs, of_latent, of_encoded, values, latent, encoded, kept, parts):  # noqa: PLR0913 – numba takes arrays, not objects
    """Before the messages: encode the nodes of a block and apply every weight of the encoding."""
    hidden = latent.shape[1]
    np.dot(latent[a:b], of_latent, kept[a:b])
    for i in range(a, b):
        value = values[i]
        for k in range(hidden):
            encoded[i, k] = leaky(kept[i, 3 * hidden + k] + inputs[value, k])
    np.dot(encoded[a:b], of_encoded, parts[a:b])


@compiled_loop
def update(heard, parts, degree, delta, of_heard, through, updated):  # noqa: PLR0913 – numba takes arrays, not objects
    """After the messages: join what the nodes of a block heard with their own part."""
    hidden = updated.shape[1]
    np.dot(heard, of_heard, through)
    for i in range(len(heard)):
        scale = np.log(REAL(degree[i] + 1)) / delta
        for k in range(hidden):
            value = through[i, k]
            if through.shape[1] > hidden:
                value += through[i, hidden + k] * scale
                value += through[i, 2 * hidden + k] / scale
            updated[i, k] = leaky(value + parts[i, 2 * hidden + k])


@compiled_loop
def decode(outputs, encoded, latent, both, logits, values):
    """Round the outputs of a block's nodes to the integers that the next step starts from."""
    hidden = latent.shape[1]
    for i in range(len(latent)):
        for k in range(hidden):
            both[i, k] = encoded[i, k]
            both[i, hidden + k] = latent[i, k]
    np.dot(both, outputs, logits)
    for i in range(len(latent)):
        value = 0
        for bit in range(outputs.shape[1]):
            value = 2 * value + (1 if logits[i, bit] > ZERO else 0)
        values[i] = value


@compiled_loop
def _mean_logit(latent, weight, total):
    """Apply a weight to the mean of the nodes' latents."""
    total[:] = ZERO
    for i in range(len(latent)):
        for k in range(len(total)):
            total[k] += latent[i, k]
    logit = ZERO
    for k in range(len(total)):
        logit += weight[k] * (total[k] / REAL(len(latent)))
    return logit


@compiled_loop
def search(  # noqa: PLR0913 – numba takes arrays, not objects
    inputs, of_latent, of_encoded, of_heard, of_updated, outputs, goes_on, delta,
    prepared, row, sender, start, node_start, all_values, all_latent, all_encoded,
):  # fmt: skip
    """Run every graph to its end; fill values, latents and encodings; return the most steps."""
    hidden = prepared.shape[1]
    most = np.diff(node_start).max()
    kept, parts = np.empty((most, 4 * hidden), REAL), np.empty((most, 3 * hidden), REAL)
    degree = np.diff(start)
    heard = np.empty((BLOCK, of_heard.shape[0]), REAL)
    through = np.empty((BLOCK, of_heard.shape[1]), REAL)
    updated, given = np.empty((BLOCK, hidden), REAL), np.empty((BLOCK, 3 * hidden), REAL)
    both, logits = np.empty((BLOCK, 2 * hidden), REAL), np.empty((BLOCK, outputs.shape[1]), REAL)
    total, longest = np.empty(hidden, REAL), 0
    for graph in range(len(node_start) - 1):
        base, end = node_start[graph], node_start[graph + 1]
        values, latent = all_values[base:end], all_latent[base:end]
        encoded, num_nodes = all_encoded[base:end], end - base
        steps = 0
        while True:
            for a in range(0, num_nodes, BLOCK):
                b = min(a + BLOCK, num_nodes)
                send(a, b, inputs, of_latent, of_encoded, values, latent, encoded, kept, parts)
            for a in range(0, num_nodes, BLOCK):
                b = min(a + BLOCK, num_nodes)
                size = b - a
                for i in range(size):
                    node = base + a + i
                    if of_heard.shape[0] == hidden:
                        _largest(i, node, base, start, sender, row, parts, prepared, heard)
                    else:
                        _statistics(i, node, base, start, sender, row, parts, prepared, heard)
                update(heard[:size], parts[a:b], degree[base + a : base + b], delta, of_heard,
                       through[:size], updated[:size])  # fmt: skip
                np.dot(updated[:size], of_updated, given[:size])
                _gate(given[:size], kept[a:b], latent[a:b])
                decode(outputs, encoded[a:b], latent[a:b], both[:size], logits[:size], values[a:b])
            steps += 1
            logit = _mean_logit(latent, goes_on, total)
            if not (logit > ZERO and steps < num_nodes - 1):
                break
        longest = max(longest, steps)
    return longest


@compiled_loop
def choose_best(sent, along, row, sender, start, chosen):
    """Choose for each node the link of the highest score, the first among equals; NaN is −∞."""
    for node in range(len(start) - 1):
        highest, chosen[node] = -np.inf, start[node]
        for link in range(start[node], start[node + 1]):
            score = sent[sender[link]] + along[row[link]]
            if score > highest:
                highest, chosen[node] = score, link


@compiled(fastmath=False)
def reduce(sent, along, sender, start, high, low, total, square):  # noqa: PLR0913, C901 – numba takes arrays, not objects
    """Fill those of maximum, minimum, sum and sum of squares that are not empty."""
    features = range(sent.shape[1])
    high[:], low[:], total[:], square[:] = -LARGEST, LARGEST, ZERO, ZERO
    for node in range(len(start) - 1):
        for link in range(start[node], start[node + 1]):
            # A pass for each, as only short loops vectorise.
            source = sender[link]
            if len(high):
                for k in features:
                    value = sent[source, k] + along[link, k]
                    high[node, k] = value if value > high[node, k] else high[node, k]
            if len(low):
                for k in features:
                    value = sent[source, k] + along[link, k]
                    low[node, k] = value if value < low[node, k] else low[node, k]
            if len(total):
                for k in features:
                    total[node, k] += sent[source, k] + along[link, k]
            if len(square):
                for k in features:
                    value = sent[source, k] + along[link, k]
                    square[node, k] += value * value
