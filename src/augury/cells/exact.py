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

Floats = npt.NDArray[np.float64]


class Arithmetic(NamedTuple):
    """How a device computes a sum of products."""

    name: str
    unit: float
    """Of an operation: what it may be off by, in proportion."""
    input: float
    """The same, of rounding the inputs of products."""


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
"""Terms of a sum from which on `_up` would not do."""

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

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Exact:
        """Take finite floats as they are."""
        fraction, power = np.frexp(values.astype(np.float64))
        whole = np.ldexp(fraction, 53).astype(np.int64).astype(object)
        lowest = int(power[fraction != 0].min(initial=0))
        shift = np.where(fraction != 0, power - lowest, 0).astype(object)
        shortened = whole << shift
        spare = min((_zeros(own) for own in shortened.flat if own), default=0)
        return cls(shortened >> spare, lowest - 53 + spare)

    def at(self, power: int) -> npt.NDArray[Any]:
        """Return the integers for a lower power."""
        return self.whole << (self.power - power)

    def sizes(self) -> Floats:
        """Return the absolute values, rounded up; what underflows is 0."""
        return _up(np.abs(rounded(self)))


SLOPE, SLOPE_POWER = 10737418, -30
"""Of the leaky ReLU below 0: 0.01 in float32. That in float64 is within a rounding of it."""


class Known(NamedTuple):
    """What is computed in some rows, such as cases: (row, unit)."""

    exact: Exact
    error: Floats
    """(arithmetic, row, unit): no computed number is farther from the exact one."""
    largest: Floats
    """(arithmetic, row, unit): no partial sum on the way was larger."""

    @classmethod
    def bits(cls, numbers: Sequence[int], width: int) -> Known:
        """Return the bits of numbers, the most significant first: they are computed by nobody."""
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

    def layer(self, weight: Exact, bias: Exact | None = None) -> Known:
        """Apply a linear layer: (out, in) and (1, out)."""
        power = self.exact.power + weight.power
        whole, size = self.exact.whole @ weight.whole.T, weight.sizes()
        terms = size.shape[1] + (bias is not None)
        if terms + 2 >= MANY:
            raise ValueError(f"a sum of {terms} terms is beyond what bounds are computed for")
        own = self.exact.sizes() + self.error
        # A term as it is read: both inputs rounded, a weight below `TINY` perhaps taken for 0.
        sums = _READ * (own @ size.T)
        lost = np.where(size < TINY, size, 0)
        error = self.error @ size.T + (_READ - 1) * (own @ size.T) + own @ lost.T
        if bias is not None:
            power, before = min(power, bias.power), power
            whole = (whole << (before - power)) + bias.at(power)
            bias_size = bias.sizes()
            sums = sums + bias_size
            error = error + np.where(bias_size < TINY, bias_size, 0)
        rounding = _growth(terms + 2) * sums + 16 * terms * TINY
        error, largest = _up(error + rounding), _up(sums + rounding)
        before = self.largest.max(-1, keepdims=True)
        return Known(Exact(whole, power), error, np.maximum(largest, before))


def rounded(exact: Exact) -> Floats:
    """Return doubles that are as near as doubles can be."""
    near = [nearest(own, exact.power) for own in exact.whole.flat]
    return np.array(near).reshape(exact.whole.shape)


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


def _zeros(whole: int) -> int:
    return (whole & -whole).bit_length() - 1
