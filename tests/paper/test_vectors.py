"""Vectors of compiled loops have the values of NumPy, and products do not depend on other rows."""

from __future__ import annotations

import numpy as np
import pytest

from augury.paper import vectors
from augury.paper.vectors import add_product, compiled_loop, load, product, store


def matrix(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


@pytest.mark.parametrize("rows", [1, 2, 5, 6, 9, 13])
@pytest.mark.parametrize("columns", [8, 16, 40, 56])
def test_a_product_is_right_from_any_column_on_and_touches_nothing_before(
    rows: int, columns: int
) -> None:
    a, b = matrix(rows, 5), matrix(5, columns, 1)
    for first in range(0, columns, 4):
        out = np.full((rows, columns), np.nan, np.float32)
        product(a, b, out, first)
        tail = min(first, columns - 8)
        np.testing.assert_allclose(out[:, first:], (a @ b)[:, first:], rtol=1e-5, atol=1e-5)
        assert np.isnan(out[:, :tail]).all()


@pytest.mark.parametrize("rows", [1, 7, 66])
@pytest.mark.parametrize("columns", [8, 16, 40])
def test_a_product_is_added_to_what_is_there_once(rows: int, columns: int) -> None:
    a, b, before = matrix(rows, 24), matrix(rows, columns, 1), matrix(24, columns, 2)
    out = np.full((24, columns + 8), np.nan, np.float32)
    out[:, :columns] = before
    add_product(a, b, out[:, :columns])
    np.testing.assert_allclose(out[:, :columns], before + a.T @ b, rtol=1e-5, atol=1e-5)
    assert np.isnan(out[:, columns:]).all()


def test_equal_rows_have_equal_products_wherever_they_are() -> None:
    a, b = matrix(20, 32), matrix(32, 24, 1)
    together, alone = np.empty((20, 24), np.float32), np.empty((1, 24), np.float32)
    product(a, b, together, 0)
    for row in range(20):
        product(a[row : row + 1], b, alone, 0)
        np.testing.assert_array_equal(alone[0], together[row])


@compiled_loop
def _exponentials(x, out):
    for k in range(0, x.shape[1], 8):
        store(out, 0, k, vectors.exp(load(x, 0, k)))


def test_the_exponential_is_right_to_the_last_digits() -> None:
    x = np.linspace(-86, 87, 20008, dtype=np.float32)[None]
    x[0, -8:] = -1e30, 1e30, -100, 100, 0, 1, -1, 0.5
    found = np.empty_like(x)
    _exponentials(x, found)
    clamped = x.astype(np.float64).clip(-87, 88)
    np.testing.assert_allclose(found, np.exp(clamped), rtol=2e-6)
