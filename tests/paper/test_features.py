"""Integers survive the round trip to bits."""

from __future__ import annotations

import pytest
import torch

from augury.paper.features import from_bits, to_bits


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_every_integer_comes_back(bits: int) -> None:
    values = torch.arange(2**bits)
    assert torch.equal(from_bits(to_bits(values, bits) > 0), values)


def test_the_first_bit_is_the_most_significant_and_infinity_is_all_ones() -> None:
    assert to_bits(torch.tensor([[8, 15]]), 4).tolist() == [[[1, 0, 0, 0], [1, 1, 1, 1]]]
