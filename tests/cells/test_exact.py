"""Exact numbers are exact, and no evaluation in floating point is farther off than its bound."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from augury.cells.exact import ARITHMETICS, LIMIT, SLOPE, SLOPE_POWER, TINY, Exact, Known, Weight
from augury.errors import InputError
from mutants import READS, SUMS, flushing, fused, leaky

Array = npt.NDArray[Any]


def fractions(exact: Exact) -> list[Fraction]:
    return [own * Fraction(2) ** exact.power for own in exact.whole.flat]


def any_floats(rng: np.random.Generator, *shape: int) -> npt.NDArray[np.float32]:
    """Finite floats of every size, zeros and subnormal ones among them."""
    values = rng.integers(0, 2**32, shape, dtype=np.uint32).view(np.float32)
    values = np.where(np.isfinite(values), values, np.float32(0))
    subnormal = rng.integers(0, 2**23, shape, dtype=np.uint32).view(np.float32)
    return np.where(rng.random(shape) < 0.1, subnormal, values).astype(np.float32)


def test_a_float32_is_taken_as_it_is_even_where_small_numbers_are_flushed() -> None:
    values = any_floats(np.random.default_rng(0), 40, 50)
    values[0, :4] = 0.0, -0.0, 1e-45, -3.4028235e38
    expected = [Fraction(float(value)) for value in values.flat]
    for weight in (Weight.of(values), flushed(values)):
        assert fractions(weight.exact) == expected
        assert [Fraction(size) for size in weight.sizes.flat] == [abs(own) for own in expected]
    assert fractions(Weight.of(np.zeros((2, 3), np.float32)).exact) == [0] * 6
    assert Fraction(SLOPE) * Fraction(2) ** SLOPE_POWER == Fraction(float(np.float32(0.01)))


def flushed(values: npt.NDArray[np.float32]) -> Weight:
    with flushing():
        assert np.float32(1e-40) * np.float32(1) == 0
        return Weight.of(values)


def test_layers_maxima_and_leaky_units_are_exact() -> None:
    rng = np.random.default_rng(1)
    weight, bias = any_floats(rng, 3, 4), any_floats(rng, 1, 3)
    known = Known.bits(range(16), 4)
    found = known.layer(Weight.of(weight), Weight.of(bias)).leaky().maxima([[0, 3], [5, 9, 12]])
    slope = Fraction(float(np.float32(0.01)))
    rows: list[list[Fraction]] = []
    for number in range(16):
        bits = [number >> place & 1 for place in (3, 2, 1, 0)]
        sums = [
            sum(bit * Fraction(float(w)) for bit, w in zip(bits, own, strict=True))
            + Fraction(float(b))
            for own, b in zip(weight, bias[0], strict=True)
        ]
        rows.append([own if own > 0 else slope * own for own in sums])
    expected = [
        max(rows[k][unit] for k in group) for group in ([0, 3], [5, 9, 12]) for unit in range(3)
    ]
    assert fractions(found.exact) == expected


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e-37, 1e-41, 1e20])
@pytest.mark.parametrize("name", [own.name for own in ARITHMETICS])
def test_no_evaluation_leaves_its_bound(name: str, scale: float) -> None:
    """Two layers, in every order, fused, and with small numbers flushed to 0."""
    place, read = [own.name for own in ARITHMETICS].index(name), READS[name]
    rng = np.random.default_rng(2)
    first = rng.normal(size=(12, 6)).astype(np.float32)
    second = (rng.normal(size=(5, 12)) * scale).astype(np.float32)
    bias = (rng.normal(size=(1, 5)) * scale).astype(np.float32)
    hidden = Known.bits(range(64), 6).layer(Weight.of(first)).leaky()
    known = hidden.layer(Weight.of(second), Weight.of(bias))
    exact = np.array([float(own) for own in fractions(known.exact)]).reshape(64, 5)
    bits = (np.arange(64)[:, None] >> np.arange(6)[::-1] & 1).astype(np.float32)

    def evaluated(how: str) -> tuple[Array, Array]:
        x = leaky(terms_of(read(bits), read(first), None, how)[0])
        return terms_of(read(x), read(second), bias, how)

    def terms_of(x: Array, weight: Array, bias: Array | None, how: str) -> tuple[Array, Array]:
        none = np.zeros((1, len(weight)), np.float32)
        if how == "fused":
            total = fused(x, weight, none if bias is None else bias)
            return total, total
        terms = x[:, None, :] * weight[None]
        if bias is not None:
            terms = np.concatenate([terms, np.tile(bias[..., None], (len(x), 1, 1))], -1)
        return SUMS[how](terms, rng), np.abs(np.add.accumulate(np.sort(terms, -1), -1)).max(-1)

    worst = 0.0
    for how in (*SUMS, "fused"):
        for is_flushed in (False, True):
            if is_flushed:
                with flushing():
                    found, largest = evaluated(how)
            else:
                found, largest = evaluated(how)
            share = np.abs(found.astype(np.float64) - exact) / known.error[place]
            assert share.max() <= 1
            assert (largest <= known.largest[place]).all()
            worst = max(worst, float(share.max()))
    assert worst > 1e-5  # the bound is not just large


def test_a_weight_that_may_be_flushed_counts_in_full() -> None:
    tiny = np.full((1, 4), TINY / 2, np.float32)
    known = Known.bits([15], 4).layer(Weight.of(tiny))
    assert known.error[0, 0, 0] > 4 * TINY / 2
    normal = Known.bits([15], 4).layer(Weight.of(np.float32(2) ** 60 * tiny))
    assert normal.error[0, 0, 0] < 2.0**60 * TINY / 1000


def test_what_can_overflow_is_seen_even_where_it_cancels() -> None:
    weight = np.array([[3e38, -3e38, 1, 1]], np.float32)
    known = Known.bits([15, 3], 4).layer(Weight.of(weight))
    assert fractions(known.exact) == [2, 2]
    assert known.largest[0, 0, 0] >= LIMIT > 1000 > known.largest[0, 1, 0]
    after = known.layer(Weight.of(np.zeros((1, 1), np.float32)))
    assert (after.largest[:, 0] >= LIMIT).all()  # it stays known


def test_integers_of_more_than_a_thousand_bits_are_bounded_too() -> None:
    rng, known = np.random.default_rng(3), Known.bits(range(2), 1)
    for width in (1, 3, 3, 3):
        weight = np.resize(np.array([3e38, 1e-45, -2.5e38], np.float32), (3, width))
        known = known.layer(Weight.of(rng.permutation(weight.T).T)).leaky()
    assert max(own.bit_length() for own in known.exact.whole.flat) > 1000
    exact = [abs(own) for own in fractions(known.exact)]
    assert all(
        own <= Fraction(size) for own, size in zip(exact, known.exact.sizes().flat, strict=True)
    )
    assert max(exact) < max(map(Fraction, known.exact.sizes().flat)) < 2 * max(exact)


def test_sums_of_thousands_of_terms_are_refused() -> None:
    with pytest.raises(InputError, match="sums of 5000 terms are too long for a proof"):
        Known.bits([1], 5000).layer(Weight.of(np.ones((1, 5000), np.float32)))
