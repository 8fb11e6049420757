"""Costs become errors, since they would be ignored.

A matching here is one of greatest cardinality and a flow one of greatest value, whatever the cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.errors import InputError

BLOCK = 2**15
"""Numbers compared while they are in the cache, so that memory is read only once."""


def ignored(what: str, remedy: str, is_flow: bool = False) -> InputError:
    """Return the error that refuses costs, with a way round."""
    answer = "a flow of greatest value" if is_flow else "a matching of greatest cardinality"
    return InputError(f"{what}, but {answer} would ignore costs and weights: {remedy}")


def numbers_differ(values: npt.NDArray[Any]) -> bool:
    """Tell whether the non-zero numbers differ; if not, they only mark edges.

    NaN differs from everything, itself included.
    """
    if values.dtype.kind == "b":
        return False
    flat, mark = values.reshape(-1), 0
    # Seen as unsigned, negative numbers are large.
    if values.dtype.kind in "iu" and flat.view(f"u{flat.itemsize}").max(initial=0) <= 1:
        return False
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        if mark == 0:
            mark = block.max() or block.min()
        if not ((block == 0) | (block == mark)).all():
            return True
    return False


def values_differ(values: Iterable[Any]) -> bool:
    """Tell whether the edges' values differ; None, for an edge without one, counts as 1."""
    first: Any = None
    for given in values:
        value = 1 if given is None else given
        first = value if first is None else first
        try:
            if value is not first and bool(value != first):
                return True
        except (TypeError, ValueError):  # an array, say
            return True
    return False


def graphs_differ(stack: npt.NDArray[Any]) -> bool:
    """Tell whether the numbers of any graph in a (graph, left, right) array differ."""
    if not numbers_differ(stack):  # of all graphs at once
        return False
    flat = stack.reshape(len(stack), -1)
    low, high = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    return bool(((flat != 0) & (flat != np.where(high != 0, high, low))).any())
