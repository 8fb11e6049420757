"""Integers become bits and back; nothing else knows which column is which bit.

The first column is the most significant bit. Infinity is all ones (paper, section 4).
"""

from __future__ import annotations

import torch
from torch import Tensor


def to_bits(values: Tensor, bits: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """(…,) integers → (…, bit) zeros and ones.

    >>> to_bits(torch.tensor([5, 255]), 8).tolist()[0]
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    """
    shift = torch.arange(bits - 1, -1, -1, device=values.device)
    return ((values.unsqueeze(-1) >> shift) & 1).to(dtype)


def from_bits(is_one: Tensor) -> Tensor:
    """(…, bit) booleans → (…,) integers.

    >>> from_bits(to_bits(torch.tensor([5, 255]), 8) > 0).tolist()
    [5, 255]
    """
    bits = is_one.shape[-1]
    place = 1 << torch.arange(bits - 1, -1, -1, device=is_one.device)
    return (is_one * place).sum(-1)
