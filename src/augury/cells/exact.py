"""A layer's numbers are computed exactly, with a bound on what floating point can make of them.

Numbers are dyadic rationals: Python integers times a power of two. Beside each stands a bound on
the error of any evaluation in floating point, by these rules, where `u` is the unit roundoff and
`tiny` the smallest normal float32, 2⁻¹²⁶. A sum of n terms (products, and a bias) is any binary
tree over them, and accumulators that start at 0:

- every operation returns its exact result, off by a factor within 1 ± u and by at most `tiny`:
  nearest rounding, gradual underflow, flushing to zero, multiplying and adding at once;
- what an operation reads may be taken for 0 if it is smaller than `tiny`;
- so at most n + 2 roundings lie above a term, and fewer than 8 n times `tiny` is added, each of
  which the roundings above at most double;
- a format may round the inputs of products first, each off by a factor within 1 ± r;
- no partial sum passes the sum of the terms' sizes and of all errors. Below `LIMIT`, nothing
  overflows.

Bounds are doubles, and only ever sums and products of numbers that are not negative. No rounding of
such a sum of less than 2¹² terms reaches 2⁻⁴⁰ of it, so `_up`, which adds 2⁻³⁹, makes it a bound;
whatever underflows in doubles is far below that share of `tiny`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.errors import InputError

Floats = npt.NDArray[np.float64]


class Arithmetic(NamedTuple):
    """How a device computes a sum of products."""

    name: str
    unit: float
    """How much an operation may be off, in proportion."""
    input: float
    """The same for rounding the inputs of products."""


ARITHMETICS = (
    Arithmetic("float32", 2.0**-24, 0.0),
    # Tensor cores truncate, both the inputs and the aligned terms of a sum.
    Arithmetic("tf32", 2.0**-22, 2.0**-10),
    Arithmetic("bfloat16", 2.0**-22, 2.0**-8),
)
"""float64 is covered by the first. What proves a network is the first; the others are reported."""

TINY = 2.0**-126
LIMIT = 2.0**127
"""Half of what overflows: an executor may start a maximum from −3e38."""

MANY = 2**12
"""With this many terms in a sum `_up` would not be enough."""

_UNITS, _INPUTS = (
    np.array([getattr(own, name) for own in ARITHMETICS])[:, None, None]
    for name in ("unit", "input")
)
_READ = (1 + _INPUTS) ** 2
"""How much larger a product may be once its inputs are rounded; exact in doubles."""


class Exact(NamedTuple):
    """Dyadic rationals: `whole` · 2^`power`."""

    whole: npt.NDArray[Any]
    """Python integers."""
    power: int

    def at(self, power: int) -> npt.NDArray[Any]:
        """Return the integers for a lower power."""
        return self.whole << (self.power - power)

    def sizes(self) -> Floats:
        """Return the absolute values, rounded up; what underflows is 0."""
        return _up(np.abs(_rounded(self)))


class Weight(NamedTuple):
    """A matrix of float32."""

    exact: Exact
    sizes: Floats
    """The absolute values."""

    @classmethod
    def of(cls, values: npt.NDArray[np.float32]) -> Weight:
        """Take finite floats as they are; by their bits, as a thread may flush small ones to 0."""
        bits = np.ascontiguousarray(values).view(np.int32).astype(np.int64)
        exponent, fraction = bits >> 23 & 0xFF, bits & 0x7FFFFF
        whole = np.where(exponent > 0, fraction | 0x800000, fraction)
        power = np.maximum(exponent, 1) - 150
        lowest = int(power[whole != 0].min(initial=104))
        shift = np.where(whole != 0, power - lowest, 0).astype(object)
        exact = np.where(bits < 0, -whole, whole).astype(object) << shift
        return cls(Exact(exact, lowest), np.ldexp(whole.astype(np.float64), power))


SLOPE, SLOPE_POWER = 10737418, -30
"""Of the leaky ReLU below 0: 0.01 in float32; in float64 it is within a rounding of that."""


class Known(NamedTuple):
    """What is computed in some rows, such as cases: (row, unit)."""

    exact: Exact
    error: Floats
    """(arithmetic, row, unit): no computed number is farther from the exact one."""
    largest: Floats
    """(arithmetic, row, unit): no partial sum on the way was larger."""

    @classmethod
    def bits(cls, numbers: Sequence[int], width: int) -> Known:
        """Return the bits of numbers, the most significant first: given, so without error."""
        whole = [[number >> place & 1 for place in range(width - 1, -1, -1)] for number in numbers]
        none = np.zeros((len(ARITHMETICS), len(numbers), width))
        return cls(Exact(np.array(whole, object), 0), none, none)

    def rows(self, chosen: Any) -> Known:
        """Return some rows, in this order."""
        exact = Exact(self.exact.whole[chosen], self.exact.power)
        return Known(exact, self.error[:, chosen], self.largest[:, chosen])

    def beside(self, other: Known) -> Known:
        """Concatenate the units of each row with those of another."""
        power = min(self.exact.power, other.exact.power)
        whole = np.concatenate([self.exact.at(power), other.exact.at(power)], -1)
        errors, largest = (
            np.concatenate(pair, -1) for pair in zip(self[1:], other[1:], strict=True)
        )
        return Known(Exact(whole, power), errors, largest)

    def maxima(self, groups: Sequence[Sequence[int]]) -> Known:
        """Join each group of rows by their maximum, which is no farther off than the worst."""
        whole = np.array([self.exact.whole[list(rows)].max(0) for rows in groups])
        errors, largest = (
            np.stack([part[:, list(rows)].max(1) for rows in groups], 1) for part in self[1:]
        )
        return Known(Exact(whole, self.exact.power), errors, largest)

    def leaky(self) -> Known:
        """Apply the leaky ReLU: one more product below 0, with either slope."""
        whole, power = self.exact
        bent = np.where(whole > 0, whole << -SLOPE_POWER, whole * SLOPE)
        rounding = 2 * _UNITS * 0.01 * (self.exact.sizes() + self.error)
        error = _up(self.error + rounding + 4 * TINY)
        return Known(Exact(bent, power + SLOPE_POWER), error, self.largest)

    def layer(self, weight: Weight, bias: Weight | None = None) -> Known:
        """Apply a linear layer: (out, in) and (1, out)."""
        power = self.exact.power + weight.exact.power
        whole, size = self.exact.whole @ weight.exact.whole.T, weight.sizes
        terms = size.shape[1] + (bias is not None)
        if terms + 2 >= MANY:
            raise InputError(f"sums of {terms} terms are too long for a proof: at most {MANY - 3}")
        own = self.exact.sizes() + self.error
        # A term as it is read: both inputs rounded, a weight below `TINY` perhaps taken for 0.
        sums = _READ * (own @ size.T)
        lost = np.where(size < TINY, size, 0)
        error = self.error @ size.T + (_READ - 1) * (own @ size.T) + own @ lost.T
        if bias is not None:
            power, before = min(power, bias.exact.power), power
            whole = (whole << (before - power)) + bias.exact.at(power)
            sums = sums + bias.sizes
            error = error + np.where(bias.sizes < TINY, bias.sizes, 0)
        rounding = _growth(terms + 2) * sums + 16 * terms * TINY
        error, largest = _up(error + rounding), _up(sums + rounding)
        before = self.largest.max(-1, keepdims=True)
        return Known(Exact(whole, power), error, np.maximum(largest, before))


def _rounded(exact: Exact) -> Floats:
    """Return doubles next to the exact numbers."""
    whole, power = exact
    if max(map(abs, whole.flat), default=0).bit_length() < MOST_BITS and power > -MOST_BITS:
        return np.ldexp(whole.astype(np.float64), power)
    near = [nearest(own, power) for own in whole.flat]
    return np.array(near).reshape(whole.shape)


MOST_BITS = 1000
"""Integers that fit in a double, and powers whose products with them do."""


def nearest(whole: int, power: int) -> float:
    """Return a double next to `whole` · 2^`power`; infinity if it is too large."""
    spare = max(0, abs(whole).bit_length() - 64)
    try:
        return math.ldexp(whole >> spare, power + spare)
    except OverflowError:
        return math.copysign(math.inf, whole)


def _growth(roundings: int) -> Floats:
    """Bound (1 + u)^n − 1, and n u / (1 − n u), where n u is at most 1/2."""
    return roundings * _UNITS + 2 * (roundings * _UNITS) ** 2


def _up(bound: Floats) -> Floats:
    return bound * (1 + 2.0**-39)
