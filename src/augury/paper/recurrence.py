"""All steps of a training run in a compiled loop: `fast` for training.

It keeps what the backward pass needs (`gradients`), one row per step and node; `judges` finds the
losses of its outputs. Sums have a fixed order, so runs are reproducible bit for bit. Importing this
module needs numba, whose loops take arrays, not objects.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.classical.arrays import WideArray
from augury.neural.layers import LANES
from augury.paper.loops import BLOCK, LARGEST, REAL, TINY, ZERO, gates, leaky, send
from augury.paper.recipes import FloatArray, Weights
from augury.paper.vectors import (
    ONE,
    compiled_loop,
    inlined,
    largest,
    load,
    product,
    root,
    spread,
    store,
    where_larger,
)


class Steps(NamedTuple):
    """Which nodes take part in which steps, and in which order: those of one degree side by side.

    What a node hears has a place of its own, because there are weights for each degree.
    """

    sizes: WideArray
    """(step,): how many nodes take part; they are the first ones."""
    node: WideArray
    """(node,): the nodes, sorted by rank."""
    of_rank: WideArray
    """(rank + 1,): where those of a rank start in `node`."""
    num_nodes: WideArray
    """(step, rank): how many nodes of a rank take part."""
    place: WideArray
    """(step, rank): the place of the first of them; ordered by rank, then by step."""
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
    """What the steps leave, one row per step and node; the last five are indexed by place."""

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
