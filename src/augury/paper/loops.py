"""Weights and links become latents: the compiled loops of `fast` and `reduce`.

numba takes arrays, not objects, hence the long argument lists. Importing this module needs
numba.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.classical.arrays import WideArray
from augury.compiled import compiled
from augury.neural import layers
from augury.neural.layers import LANES
from augury.paper.vectors import (
    ONE,
    TILE,
    compiled_loop,
    exp,
    inlined,
    largest,
    load,
    load_many,
    product,
    root,
    smallest,
    store,
)

BLOCK = 11 * TILE
"""Rows that are processed together: few enough to stay in the cache."""

REAL = np.float32
ZERO, TWO, SLOPE = np.float32(0), np.float32(2), np.float32(layers.SLOPE)
TINY = np.float32(1e-5)
"""Keeps PNA's deviation away from zero."""
LARGEST = np.float32(3e38)


class Rows(NamedTuple):
    """Which nodes share a row after a step."""

    node: WideArray
    """(row,): one of them."""
    before: WideArray
    """(row,): the row that they had before the step."""
    who: WideArray
    """(node,): the row of each."""


@inlined
def leaky(x):
    """Return the leaky ReLU of a vector."""
    return largest(x, x * SLOPE)


@inlined
def gates(i, j, k, hidden, given, kept):
    """Return reset, keep and proposal of the GRU, from row i of `given` and row j of `kept`."""
    reset = ONE / (ONE + exp(ZERO - (load(given, i, k) + load(kept, j, k))))
    k += hidden
    keep = ONE / (ONE + exp(ZERO - (load(given, i, k) + load(kept, j, k))))
    k += hidden
    new = load(given, i, k) + reset * load(kept, j, k)
    return reset, keep, ONE - TWO / (exp(new + new) + ONE)


@compiled_loop
def send(weights, latent, last_parts, values, kept, encoded, parts):  # noqa: PLR0913 – numba takes arrays, not objects
    """Before the messages: round the last outputs, encode, and apply every weight of the encoding.

    `last_parts` has no rows before the first step, which starts from `values` and zero latents.
    """
    hidden, inputs = latent.shape[1], weights.inputs
    for a in range(0, len(latent), BLOCK):
        b = min(a + BLOCK, len(latent))
        if len(last_parts):
            product(latent[a:b], weights.of_latent, kept[a:b], 0)
        else:
            kept[a:b] = ZERO
        for i in range(a, b):
            if len(last_parts):
                values[i] = _rounded(i, len(inputs), hidden, kept, last_parts)
            for k in range(0, hidden, LANES):
                code = load(kept, i, 3 * hidden + k) + load(inputs, values[i], k)
                store(encoded, i, k, leaky(code))
        product(encoded[a:b], weights.of_encoded, parts[a:b], 0)


@inlined
def _rounded(i, num_values, hidden, kept, parts):
    """Return the integer below `num_values` whose bits are the signs of a row's outputs."""
    value, bit = 0, 0
    while num_values > 1:
        is_one = kept[i, 4 * hidden + bit] + parts[i, 3 * hidden + bit] > ZERO
        value, bit, num_values = 2 * value + is_one, bit + 1, num_values // 2
    return value


def _largest_of(lanes: int) -> Any:
    @inlined
    def take(k, i, own, span, links, who, parts, heard):  # noqa: PLR0913 – numba takes arrays, not objects
        """Take the maximum over the links into a node, in some of the features."""
        prepared, kind, sender = links.prepared, links.kind, links.sender
        first, end, base = span
        send = prepared.shape[1] + k
        j, row = who[sender[first] - base], kind[first]
        most = load_many(parts, j, send, lanes) + load_many(prepared, row, k, lanes)
        for link in range(first + 1, end):
            j, row = who[sender[link] - base], kind[link]
            value = load_many(parts, j, send, lanes) + load_many(prepared, row, k, lanes)
            most = largest(most, value)
        store(heard, i, k, leaky(most + load_many(parts, own, k, lanes)))

    return take


def _statistics_of(lanes: int, has_two_ends: bool) -> Any:
    @inlined
    def take(k, i, own, span, links, who, parts, heard):  # noqa: PLR0913 – numba takes arrays, not objects
        """Take mean, min, max and, if there is room for it, deviation of a node's messages.

        With two ends, min and max are those of the messages that it sends.
        """
        prepared, kind, sender = links.prepared, links.kind, links.sender
        first, end, base = span
        hidden, share = prepared.shape[1], ONE / REAL(end - first)
        j, row = who[sender[first] - base], kind[first]
        total = load_many(parts, j, hidden + k, lanes) + load_many(prepared, row, k, lanes)
        least, squares = total, total * total
        if has_two_ends:
            row = links.back[first]
            least = load_many(parts, j, k, lanes) + load_many(prepared, row, k, lanes)
        most = least
        for link in range(first + 1, end):
            j, row = who[sender[link] - base], kind[link]
            value = load_many(parts, j, hidden + k, lanes) + load_many(prepared, row, k, lanes)
            total, squares = total + value, squares + value * value
            if has_two_ends:
                row = links.back[link]
                value = load_many(parts, j, k, lanes) + load_many(prepared, row, k, lanes)
            least, most = smallest(value, least), largest(value, most)
        mean, shift = total * share, load_many(parts, own, k, lanes)
        store(heard, i, k, mean + shift)
        if has_two_ends:
            shift = load_many(parts, own, hidden + k, lanes)
        store(heard, i, hidden + k, least + shift)
        store(heard, i, 2 * hidden + k, most + shift)
        if heard.shape[1] > 3 * hidden:
            variance = largest(squares * share - mean * mean, ZERO)
            store(heard, i, 3 * hidden + k, root(variance + TINY))

    return take


_largest, _largest_wide = _largest_of(LANES), _largest_of(4 * LANES)
_statistics, _statistics_wide = _statistics_of(LANES, False), _statistics_of(2 * LANES, False)
_two_ends = _statistics_of(LANES, True)


@inlined
def _hear(i, own, span, links, who, parts, heard):  # noqa: PLR0913 – numba takes arrays, not objects
    """Reduce a node's messages, in as many features at a time as fit into registers."""
    hidden, k = links.prepared.shape[1], 0
    if heard.shape[1] == hidden:
        while k + 4 * LANES <= hidden:
            _largest_wide(k, i, own, span, links, who, parts, heard)
            k += 4 * LANES
        while k < hidden:
            _largest(k, i, own, span, links, who, parts, heard)
            k += LANES
    elif len(links.back):
        while k < hidden:
            _two_ends(k, i, own, span, links, who, parts, heard)
            k += LANES
    else:
        while k + 2 * LANES <= hidden:
            _statistics_wide(k, i, own, span, links, who, parts, heard)
            k += 2 * LANES
        while k < hidden:
            _statistics(k, i, own, span, links, who, parts, heard)
            k += LANES


@compiled_loop
def _share(base, links, who, masks, rows):
    """Find the nodes that will have equal latents; return how many rows they need, 0 if too many.

    A maximum depends on what is heard, not on how often: nodes are equal if their rows are equal
    and so are their sets of (sender's row, kind of link) pairs, which are the bits of a word.
    """
    num_kinds, found = len(links.prepared), 0
    for node in range(len(who)):
        mask = np.uint64(0)
        for link in range(links.start[base + node], links.start[base + node + 1]):
            pair = who[links.sender[link] - base] * num_kinds + links.kind[link]
            mask |= np.uint64(1) << np.uint64(pair)
        row = 0
        while row < found and not (masks[row] == mask and rows.before[row] == who[node]):
            row += 1
        if row == found:
            if found == len(masks):
                return 0
            masks[row], rows.node[row], rows.before[row] = mask, node, who[node]
            found += 1
        rows.who[node] = row
    return found


@compiled_loop
def _part(ranks, num_ranks, who, rows):
    """Give every node a row of its own, those of one degree side by side."""
    place = np.zeros(num_ranks + 1, np.int64)
    for rank in ranks:
        place[rank + 1] += 1
    for rank in range(num_ranks):
        place[rank + 1] += place[rank]
    for node in range(len(who)):
        row = place[ranks[node]]
        place[ranks[node]] += 1
        rows.node[row], rows.before[row], rows.who[node] = node, who[node], row


@compiled_loop
def _step(base, count, weights, links, who, ranks, rows, kept, parts, latent, after):  # noqa: PLR0913 – numba takes arrays, not objects
    """Pass messages and update: latents of the old rows become latents of the new ones."""
    hidden, of_heard = latent.shape[1], weights.of_heard
    heard = np.empty((BLOCK, of_heard.shape[1]), REAL)
    through = np.empty((BLOCK, of_heard.shape[2]), REAL)
    given = np.empty((BLOCK, weights.of_updated.shape[1]), REAL)
    for a in range(0, count, BLOCK):
        size = min(BLOCK, count - a)
        for i in range(size):
            node, own = base + rows.node[a + i], rows.before[a + i]
            span = links.start[node], links.start[node + 1], base
            _hear(i, own, span, links, who, parts, heard)
        first = 0
        while first < size:
            rank, end = ranks[rows.node[a + first]], first + 1
            while end < size and ranks[rows.node[a + end]] == rank:
                end += 1
            product(heard[first:end], of_heard[rank], through[first:end], 0)
            first = end
        for i in range(size):
            own = rows.before[a + i]
            for k in range(0, hidden, LANES):
                store(through, i, k, leaky(load(through, i, k) + load(parts, own, 2 * hidden + k)))
        product(through[:size], weights.of_updated, given, 0)
        for i in range(size):
            own = rows.before[a + i]
            for k in range(0, hidden, LANES):
                _, keep, proposal = gates(i, own, k, hidden, given, kept)
                store(after, a + i, k, proposal + keep * (load(latent, own, k) - proposal))


@compiled_loop
def _mean_logit(latent, who, weight, total):
    """Apply a weight to the mean of the nodes' latents."""
    total[:] = ZERO
    for row in who:
        for k in range(len(total)):
            total[k] += latent[row, k]
    logit = ZERO
    for k in range(len(total)):
        logit += weight[k] * (total[k] / REAL(len(who)))
    return logit


@compiled_loop
def _start(given, who, values):
    """Let nodes that start from the same integer share a row; return how many rows there are."""
    count = 0
    for node in range(len(given)):
        row = 0
        while row < count and values[row] != given[node]:
            row += 1
        values[row], who[node] = given[node], row
        count = max(count, row + 1)
    return count


@compiled_loop
def search(weights, links, node_start, most, all_ranks, all_values, all_latent, all_encoded):  # noqa: PLR0913, C901 – numba takes arrays, not objects
    """Run every graph, of at most `most` nodes, to its end; return the steps of the longest.

    Fills values, latents and encodings. Nodes share a row as long as their latents must be
    equal: at the start, and with maxima alone over few kinds of link, often until the end.
    """
    hidden, longest = links.prepared.shape[1], 0
    kept = np.empty((most, weights.of_latent.shape[1]), REAL)
    parts = np.empty((most, weights.of_encoded.shape[1]), REAL)
    last_parts, total = np.empty_like(parts), np.empty(hidden, REAL)
    latent, after = np.empty((most, hidden), REAL), np.empty((most, hidden), REAL)
    encoded, values = np.empty((most, hidden), REAL), np.empty(most, np.int64)
    all_who = np.empty(most, np.int64)
    rows = Rows(np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64))
    shares = 64 // len(links.prepared) if weights.of_heard.shape[1] == hidden else 0
    masks = np.empty(shares, np.uint64)
    for graph in range(len(node_start) - 1):
        base, end = node_start[graph], node_start[graph + 1]
        ranks, who = all_ranks[base:end], all_who[: end - base]
        count = _start(all_values[base:end], who, values)
        latent[:count] = ZERO
        is_parted, steps = False, 0
        while True:
            told = last_parts[: count if steps else 0]
            send(weights, latent[:count], told, values, kept, encoded, parts)
            if not is_parted:
                count = _share(base, links, who, masks, rows) if count <= shares else 0
                if count == 0:
                    _part(ranks, len(weights.of_heard), who, rows)
                    count, is_parted = end - base, True
            _step(base, count, weights, links, who, ranks, rows, kept, parts, latent, after)
            for row in range(count):
                for k in range(3 * hidden, parts.shape[1]):
                    last_parts[row, k] = parts[rows.before[row], k]
            steps += 1
            latent, after = after, latent
            logit = _mean_logit(latent, rows.who[: end - base], weights.goes_on, total)
            if not (logit > ZERO and steps < end - base - 1):
                break
            for node in range(end - base):
                who[node] = rows.who[node]
                if is_parted:
                    rows.before[node] = node
        longest = max(longest, steps)
        product(latent[:count], weights.of_latent, kept, 4 * hidden)
        for node in range(end - base):
            row = rows.who[node]
            all_values[base + node] = _rounded(row, len(weights.inputs), hidden, kept, last_parts)
            for k in range(hidden):
                all_latent[base + node, k] = latent[row, k]
                all_encoded[base + node, k] = encoded[rows.before[row], k]
    return longest


@compiled_loop
def choose_best(sent, along, row, sender, start, chosen):
    """Choose for each node the link with the highest score, the first among equals; NaN is −∞."""
    for node in range(len(start) - 1):
        highest, chosen[node] = -np.inf, start[node]
        for link in range(start[node], start[node + 1]):
            score = sent[sender[link]] + along[row[link]]
            if score > highest:
                highest, chosen[node] = score, link


@compiled(fastmath=False)
def reduce(sent, along, sender, start, high, low, total, square):  # noqa: PLR0913, C901 – numba takes arrays, not objects
    """Fill whichever of maximum, minimum, sum and sum of squares are not empty."""
    features = range(sent.shape[1])
    high[:], low[:], total[:], square[:] = -LARGEST, LARGEST, ZERO, ZERO
    for node in range(len(start) - 1):
        for link in range(start[node], start[node + 1]):
            # A loop for each, as only short loops vectorise.
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
