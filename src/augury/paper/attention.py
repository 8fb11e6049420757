"""Transformer layers, forward and backward, compiled, for few rows: linear, norm and attention.

`unapply` and the like propagate a gradient back through `apply` and the like, and add to the
weights' gradients. Importing this module needs numba.
"""

from __future__ import annotations

import numpy as np

from augury.paper.loops import REAL, SLOPE, ZERO
from augury.paper.vectors import ONE, add_product, compiled_loop, product

EPSILON = np.float32(1e-5)
"""The epsilon of PyTorch's layer normalisation."""


@compiled_loop
def apply(x, weight, bias, out):
    """Fill `out` with x Wᵀ + b; an empty bias means none."""
    product(x, np.ascontiguousarray(weight.T), out, 0)
    if bias.size:
        for i in range(len(x)):
            for k in range(out.shape[1]):
                out[i, k] += bias[0, k]


@compiled_loop
def unapply(grad, x, weight, d_weight, d_bias, d_x):
    """Propagate a gradient back through x Wᵀ + b."""
    add_product(grad, x, d_weight)
    if d_bias.size:
        for i in range(len(x)):
            for k in range(grad.shape[1]):
                d_bias[0, k] += grad[i, k]
    product(grad, weight, d_x, 0)


@compiled_loop
def bend(x):
    """Apply the leaky ReLU in place."""
    for i in range(len(x)):
        for k in range(x.shape[1]):
            x[i, k] = max(x[i, k], x[i, k] * SLOPE)


@compiled_loop
def unbend(grad, after):
    """Propagate a gradient back through the leaky ReLU, in place, given its result."""
    for i in range(len(grad)):
        for k in range(grad.shape[1]):
            grad[i, k] *= ONE if after[i, k] > ZERO else SLOPE


@compiled_loop
def normalise(x, scale, shift, normal, spread, out):
    """Normalise the rows of x to mean 0 and variance 1, then scale and shift them."""
    width = REAL(x.shape[1])
    for i in range(len(x)):
        mean = variance = ZERO
        for k in range(x.shape[1]):
            mean += x[i, k] / width
        for k in range(x.shape[1]):
            variance += (x[i, k] - mean) * (x[i, k] - mean) / width
        spread[i] = np.sqrt(variance + EPSILON)
        for k in range(x.shape[1]):
            normal[i, k] = (x[i, k] - mean) / spread[i]
            out[i, k] = normal[i, k] * scale[0, k] + shift[0, k]


@compiled_loop
def unnormalise(grad, scale, normal, spread, d_scale, d_shift):
    """Propagate a gradient back through a norm, in place."""
    width = REAL(grad.shape[1])
    for i in range(len(grad)):
        mean = slope = ZERO
        for k in range(grad.shape[1]):
            d_scale[0, k] += grad[i, k] * normal[i, k]
            d_shift[0, k] += grad[i, k]
            grad[i, k] *= scale[0, k]
            mean += grad[i, k] / width
            slope += grad[i, k] * normal[i, k] / width
        for k in range(grad.shape[1]):
            grad[i, k] = (grad[i, k] - mean - normal[i, k] * slope) / spread[i]


@compiled_loop
def attend(first, places, head, width, parts, share, mixed):  # noqa: PLR0913 – numba takes arrays, not objects
    """Let every place of a walk attend to all places, with one head."""
    hidden, start, size = mixed.shape[1], head * width, ONE / np.sqrt(REAL(width))
    for i in range(first, first + places):
        own = share[i, head * places : (head + 1) * places]
        for j in range(places):
            own[j] = ZERO
            for k in range(start, start + width):
                own[j] += parts[i, k] * parts[first + j, hidden + k] * size
        highest, total = own.max(), ZERO
        for j in range(places):
            own[j] = np.exp(own[j] - highest)
            total += own[j]
        mixed[i, start : start + width] = ZERO
        for j in range(places):
            own[j] /= total
            for k in range(start, start + width):
                mixed[i, k] += own[j] * parts[first + j, 2 * hidden + k]


@compiled_loop
def unattend(first, places, head, width, parts, share, d_mixed, d_parts):  # noqa: PLR0913 – numba takes arrays, not objects
    """Propagate a gradient back through the attention of one head; adds to d_parts."""
    hidden, start, size = d_mixed.shape[1], head * width, ONE / np.sqrt(REAL(width))
    d_own = np.empty(places, REAL)
    for i in range(first, first + places):
        own, mean = share[i, head * places : (head + 1) * places], ZERO
        for j in range(places):
            d_own[j] = ZERO
            for k in range(start, start + width):
                d_own[j] += d_mixed[i, k] * parts[first + j, 2 * hidden + k]
                d_parts[first + j, 2 * hidden + k] += own[j] * d_mixed[i, k]
            mean += own[j] * d_own[j]
        for j in range(places):
            grad = own[j] * (d_own[j] - mean) * size
            for k in range(start, start + width):
                d_parts[i, k] += grad * parts[first + j, hidden + k]
                d_parts[first + j, hidden + k] += grad * parts[i, k]
