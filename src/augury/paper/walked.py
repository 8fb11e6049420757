"""Bottleneck and augmentation along the walks of a batch, their losses and gradients: compiled.

The formulas are those of `networks` and of `TransformerLayer`, whose many small layers would cost
PyTorch far more time than their arithmetic takes. Walks have no padding here. Importing this module
needs numba, whose loops take arrays, not objects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from augury.classical.arrays import WideArray
from augury.neural.layers import LANES
from augury.paper.attention import (
    apply,
    attend,
    bend,
    normalise,
    unapply,
    unattend,
    unbend,
    unnormalise,
)
from augury.paper.loops import REAL, ZERO
from augury.paper.recipes import FloatArray
from augury.paper.vectors import ONE, compiled_loop


class Layers(NamedTuple):
    """What is applied to walks; after the first, the network's parameters in order."""

    codes: FloatArray
    """(value, K): the encoded integers."""
    links: FloatArray
    message: FloatArray
    project: FloatArray
    project_bias: FloatArray
    out: FloatArray
    out_bias: FloatArray
    widen: FloatArray
    widen_bias: FloatArray
    narrow: FloatArray
    narrow_bias: FloatArray
    scale: FloatArray
    shift: FloatArray
    last_scale: FloatArray
    last_shift: FloatArray
    logit: FloatArray
    logit_bias: FloatArray
    classes: FloatArray
    classes_bias: FloatArray


class Walked(NamedTuple):
    """Where the walks lead, all (walk, place), and how their layers are applied."""

    sender: WideArray
    receiver: WideArray
    weights: WideArray
    capacities: WideArray
    heads: int
    is_bent: bool
    """Whether messages pass through a leaky ReLU."""


class Kept(NamedTuple):
    """What the layers leave, one row per arc of a walk."""

    pair: FloatArray
    """The codes of weight and capacity."""
    ends: FloatArray
    """The latents of receiver and sender, and the encoded link."""
    message: FloatArray
    parts: FloatArray
    """Query, key and value."""
    share: FloatArray
    """(row, head * place): the attention."""
    mixed: FloatArray
    normal: FloatArray
    """After the first norm, before scale and shift, like `last_normal` after the second."""
    spread: FloatArray
    """(row, 2): what the norms divided by."""
    middle: FloatArray
    wide: FloatArray
    last_normal: FloatArray
    last: FloatArray
    d_logit: FloatArray
    """(row, 1): the gradient of the bottleneck's loss."""
    joined: FloatArray
    """The code of the bottleneck, and the message."""
    d_classes: FloatArray
    """(row, class): the gradient of the augmentation's loss."""


def room(walked: Walked, layers: Layers) -> Kept:
    """Allocate; only classes up to the largest capacity can be chosen."""
    rows, places = walked.capacities.size, walked.capacities.shape[1]
    hidden, classes = layers.codes.shape[1], int(walked.capacities.max()) + 1
    widths = {
        "pair": 2 * hidden,
        "ends": 3 * hidden,
        "parts": 3 * hidden,
        "share": walked.heads * places,
        "spread": 2,
        "wide": len(layers.widen),
        "d_logit": 1,
        "joined": 2 * hidden,
        "d_classes": classes + -classes % LANES,
    }
    empty = {name: np.empty((rows, widths.get(name, hidden)), np.float32) for name in Kept._fields}
    return Kept(**empty)


@compiled_loop
def _send(layers, walked, latent, none, kept):
    """Make the messages along the walks."""
    hidden, places = latent.shape[1], walked.capacities.shape[1]
    link = np.empty((len(kept.ends), hidden), REAL)
    for i in range(len(kept.ends)):
        place = i // places, i % places
        kept.pair[i, :hidden] = layers.codes[walked.weights[place]]
        kept.pair[i, hidden:] = layers.codes[walked.capacities[place]]
        kept.ends[i, :hidden] = latent[walked.receiver[place]]
        kept.ends[i, hidden : 2 * hidden] = latent[walked.sender[place]]
    apply(kept.pair, layers.links, none, link)
    bend(link)
    kept.ends[:, 2 * hidden :] = link
    apply(kept.ends, layers.message, none, kept.message)
    if walked.is_bent:
        bend(kept.message)


@compiled_loop
def _unsend(layers, walked, none, kept, d_message, grads, d_latent):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate the messages' gradient back to latents, codes and weights."""
    hidden, places = d_message.shape[1], walked.capacities.shape[1]
    d_ends, d_pair = np.empty_like(kept.ends), np.empty_like(kept.pair)
    if walked.is_bent:
        unbend(d_message, kept.message)
    unapply(d_message, kept.ends, layers.message, grads.message, none, d_ends)
    d_link = np.ascontiguousarray(d_ends[:, 2 * hidden :])
    unbend(d_link, kept.ends[:, 2 * hidden :])
    unapply(d_link, kept.pair, layers.links, grads.links, none, d_pair)
    for i in range(len(d_ends)):
        place = i // places, i % places
        for k in range(hidden):
            d_latent[walked.receiver[place], k] += d_ends[i, k]
            d_latent[walked.sender[place], k] += d_ends[i, hidden + k]
            grads.codes[walked.weights[place], k] += d_pair[i, k]
            grads.codes[walked.capacities[place], k] += d_pair[i, hidden + k]


@compiled_loop
def _compare(layers, walked, kept):
    """Apply the transformer layer to the messages; fills `kept.last`."""
    rows, hidden = kept.message.shape
    places, width = walked.capacities.shape[1], hidden // walked.heads
    x = np.empty((rows, hidden), REAL)
    apply(kept.message, layers.project, layers.project_bias, kept.parts)
    for first in range(0, rows, places):
        for head in range(walked.heads):
            attend(first, places, head, width, kept.parts, kept.share, kept.mixed)
    apply(kept.mixed, layers.out, layers.out_bias, x)
    x += kept.message
    spread, last_spread = kept.spread[:, 0], kept.spread[:, 1]
    normalise(x, layers.scale, layers.shift, kept.normal, spread, kept.middle)
    apply(kept.middle, layers.widen, layers.widen_bias, kept.wide)
    np.maximum(kept.wide, ZERO, kept.wide)
    apply(kept.wide, layers.narrow, layers.narrow_bias, x)
    x += kept.middle
    last = layers.last_scale, layers.last_shift, kept.last_normal, last_spread, kept.last
    normalise(x, *last)


@compiled_loop
def _uncompare(layers, walked, kept, grad, grads, d_message):
    """Propagate the gradient of `kept.last` back, overwriting it; adds to d_message."""
    rows, hidden = grad.shape
    places, width = walked.capacities.shape[1], hidden // walked.heads
    x, d_wide = np.empty((rows, hidden), REAL), np.empty_like(kept.wide)
    spread, last_spread = kept.spread[:, 0], kept.spread[:, 1]
    last = grads.last_scale, grads.last_shift
    unnormalise(grad, layers.last_scale, kept.last_normal, last_spread, *last)
    own = kept.wide, layers.narrow, grads.narrow, grads.narrow_bias
    unapply(grad, *own, d_wide)
    for i in range(rows):
        for k in range(d_wide.shape[1]):
            d_wide[i, k] *= ONE if kept.wide[i, k] > ZERO else ZERO
    own = kept.middle, layers.widen, grads.widen, grads.widen_bias
    unapply(d_wide, *own, x)
    grad += x
    unnormalise(grad, layers.scale, kept.normal, spread, grads.scale, grads.shift)
    d_message += grad
    unapply(grad, kept.mixed, layers.out, grads.out, grads.out_bias, x)
    d_parts = np.zeros_like(kept.parts)
    for first in range(0, rows, places):
        for head in range(walked.heads):
            unattend(first, places, head, width, kept.parts, kept.share, x, d_parts)
    own = kept.message, layers.project, grads.project, grads.project_bias
    unapply(d_parts, *own, x)
    d_message += x


@compiled_loop
def _bottleneck_losses(layers, walked, smallest, kept):
    """Judge the arc that each walk points at; walks with nothing left also separately."""
    places, hidden = walked.capacities.shape[1], kept.last.shape[1]
    loss, right, zero_right, zeros = 0.0, 0, 0, 0
    logit = np.empty(places, REAL)
    for walk in range(len(smallest)):
        for place in range(places):
            logit[place] = layers.logit_bias[0, 0]
            for k in range(hidden):
                logit[place] += layers.logit[0, k] * kept.last[walk * places + place, k]
        best = np.argmax(logit)
        total = least = ZERO
        for place in range(places):
            share = np.exp(logit[place] - logit[best])
            total += share
            least += share if walked.capacities[walk, place] == smallest[walk] else ZERO
        # Several arcs may tie: any of them is right.
        loss += np.log(total) - np.log(least)
        for place in range(places):
            share = np.exp(logit[place] - logit[best])
            grad = share / total
            if walked.capacities[walk, place] == smallest[walk]:
                grad -= share / least
            kept.d_logit[walk * places + place, 0] = grad
        is_right, is_zero = walked.capacities[walk, best] == smallest[walk], smallest[walk] == 0
        right, zeros = right + is_right, zeros + is_zero
        zero_right += is_right and is_zero
    return (loss, right, len(smallest)), (0.0, zero_right, zeros)


@compiled_loop
def _class_weights(layers, count):
    """Return the weights of the first classes, padded with zeros."""
    weights, known = np.zeros((count, layers.classes.shape[1]), REAL), len(layers.classes)
    weights[: min(count, known)] = layers.classes[:count]
    return weights


@compiled_loop
def _augmentation_losses(layers, walked, smallest, kept):
    """Judge the residual that each arc is to keep, among 0 … its capacity."""
    hidden, places = kept.message.shape[1], walked.capacities.shape[1]
    logits, loss, right = kept.d_classes, 0.0, 0
    for i in range(len(kept.joined)):
        kept.joined[i, :hidden] = layers.codes[smallest[i // places]]
        kept.joined[i, hidden:] = kept.message[i]
    none = np.empty((0, 0), REAL)
    apply(kept.joined, _class_weights(layers, logits.shape[1]), none, logits)
    for i in range(len(logits)):
        capacity = walked.capacities[i // places, i % places]
        own, wanted = logits[i, : capacity + 1], capacity - smallest[i // places]
        own += layers.classes_bias[0, : capacity + 1]
        best = np.argmax(own)
        right += best == wanted
        highest, score, total = own[best], own[wanted], ZERO
        for k in range(len(own)):
            own[k] = np.exp(own[k] - highest)
            total += own[k]
        loss += np.log(total) + highest - score
        for k in range(len(own)):
            own[k] /= total
        own[wanted] -= ONE
        logits[i, capacity + 1 :] = ZERO
    return loss, right, len(logits)


@compiled_loop
def forward(layers, walked, smallest, latent, kept):
    """Judge bottleneck and augmentation: losses, right decisions, counts; fills `kept`."""
    none = np.empty((0, 0), REAL)
    _send(layers, walked, latent, none, kept)
    _compare(layers, walked, kept)
    pointed, zeros = _bottleneck_losses(layers, walked, smallest, kept)
    return pointed, zeros, _augmentation_losses(layers, walked, smallest, kept)


@compiled_loop
def backward(layers, walked, smallest, kept, by_term, grads, d_latent):  # noqa: PLR0913 – numba takes arrays, not objects
    """Add the gradients of all layers and latents, given those of the losses' sums."""
    rows, hidden, none = len(kept.last), kept.last.shape[1], np.empty((0, 0), REAL)
    places, d_classes = walked.capacities.shape[1], kept.d_classes * by_term[2]
    weights, d_joined = _class_weights(layers, d_classes.shape[1]), np.empty_like(kept.joined)
    d_weights, d_bias = np.zeros_like(weights), np.zeros((1, len(weights)), REAL)
    unapply(d_classes, kept.joined, weights, d_weights, d_bias, d_joined)
    count = min(len(weights), len(grads.classes))
    grads.classes[:count] += d_weights[:count]
    grads.classes_bias[0, :count] += d_bias[0, :count]
    d_message, d_last = np.empty((rows, hidden), REAL), np.empty((rows, hidden), REAL)
    for i in range(rows):
        grad = kept.d_logit[i, 0] * by_term[0]
        grads.logit_bias[0, 0] += grad
        for k in range(hidden):
            grads.codes[smallest[i // places], k] += d_joined[i, k]
            d_message[i, k] = d_joined[i, hidden + k]
            grads.logit[0, k] += grad * kept.last[i, k]
            d_last[i, k] = grad * layers.logit[0, k]
    _uncompare(layers, walked, kept, d_last, grads, d_message)
    _unsend(layers, walked, none, kept, d_message, grads, d_latent)
