"""Checks of arrays and labels that users give; what all arrays here have in common."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields
from functools import cache
from operator import index
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from augury.errors import InputError

Label = Hashable
Labels = Sequence[Label]
IntArray = npt.NDArray[np.int32]
WideArray = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]
Made = TypeVar("Made")

MAX_CAPACITY = 2**63 - 1
"""The largest capacity, and the largest sum of a pair, that int64 holds."""


def exact_sum(values: npt.NDArray[Any]) -> int:
    """Return the exact sum of whole numbers, which may exceed 64 bits."""
    if values.dtype.itemsize < 8:
        values = values.astype(np.int64)
    # Sums of 2³¹ 32-bit halves fit in 64 bits.
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def equal(one: Any, other: Any) -> bool:
    """Tell whether two objects of one dataclass hold the same, arrays included."""
    pairs = ((getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return all(np.array_equal(a, b) if hasattr(a, "dtype") else a == b for a, b in pairs)


def whole_number(value: object, what: str) -> int:
    """Return a count or node number as a Python int; NumPy integers are fine, 2.0 is not."""
    try:
        return index(value)  # type: ignore[arg-type]  # index() checks it
    except TypeError:
        raise InputError(f"{what} is {value!r}, not a whole number") from None


def as_seed(seed: object) -> int:
    """Return a seed as a Python int of at least 0."""
    whole = whole_number(seed, "the seed")
    if whole < 0:
        raise InputError(f"the seed is {whole}, which is negative")
    return whole


def starts_run(key: Numbers) -> BoolArray:
    """Tell for each sorted key whether it differs from the one before it."""
    is_new = np.ones(len(key), np.bool_)
    np.not_equal(key[1:], key[:-1], out=is_new[1:])
    return is_new


def read_only(array: Any, dtype: Any = None) -> npt.NDArray[Any]:
    """Return a read-only view for compiled loops, or a copy if they could not read the array.

    Thus a loop is compiled once, not again for writeable arrays.
    """
    view = np.ascontiguousarray(array, dtype).view()
    if not view.flags.aligned:
        view = view.copy()
    view.flags.writeable = False
    return view


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make the array read-only and return it: a shared graph must not change."""
    if not array.flags.owndata:
        array = array.copy()
    array.flags.writeable = False
    return array


def unmasked(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """Return an array; refuse masked entries, whose mask NumPy would silently drop."""
    if type(values) is np.ndarray:
        return cast("npt.NDArray[Any]", values)
    is_masked: Any = getattr(cast("Any", values), "mask", False)
    if isinstance(values, np.ndarray) and np.any(is_masked):
        raise InputError(f"there are masked entries in the {what}: fill them, as .filled(0) does")
    return np.asarray(values)


def matrix_of_numbers(matrix: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """Return a two-dimensional array of numbers; text and objects are refused."""
    array = unmasked(matrix, what)
    if array.ndim != 2:
        raise InputError(f"a {what} has two dimensions, not {array.ndim}")
    refuse_text(array, f"the {what}")
    return array


def refuse_text(array: npt.NDArray[Any], what: str) -> None:
    """Raise InputError unless the array has a numeric type; an object could be anything."""
    kind = array.dtype.kind
    if kind in "biufc":
        return
    held = {"U": "text", "T": "text", "S": "bytes", "O": "objects"}.get(kind, str(array.dtype))
    if kind == "O" and array.size:
        entries: list[Any] = array.reshape(-1).tolist()
        held += f" such as {next((x for x in entries if not _is_wide(x)), entries[0])!r}"
        raise InputError(f"{what} holds {held}, not numbers of 64 bits")
    raise InputError(f"{what} holds {held}, not numbers")


def _is_wide(value: object) -> bool:
    """Tell whether it is a number that fits in 64 bits; NaN is not."""
    return isinstance(value, int | float) and -(2**63) <= value < 2**64


def refuse_nan(array: npt.NDArray[Any], what: str) -> None:
    """Raise InputError if an entry is NaN, which leaves open whether it is an edge."""
    if array.dtype.kind in "fc" and np.isnan(array).any():
        position = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
        raise InputError(f"{what} has an entry that is not a number (NaN) at {position}")


def ordered(key: WideArray, end: int) -> tuple[WideArray, WideArray]:
    """Return an order that sorts keys of at least 0 and below `end`, and the sorted keys.

    >>> ordered(np.array([7, 5, 6]), 8)
    (array([1, 2, 0]), array([5, 6, 7]))
    """
    bits = len(key).bit_length()
    if bits + int(end).bit_length() > 63:
        order = np.argsort(key)
        return order, key[order]
    # Sorting numbers takes a third of the time of finding their order.
    both = key << bits
    both |= np.arange(len(key))
    both.sort()
    order = both & ((1 << bits) - 1)
    both >>= bits
    return order, both


def summed(
    key: WideArray, amount: npt.NDArray[Any], end: int
) -> tuple[WideArray, WideArray, BoolArray]:
    """Sum the amounts of equal keys, which are at least 0 and below `end`.

    Returns:
        The distinct keys, sorted; their sums; and which sums overflow int64.
    """
    order, key = ordered(key, end)
    amount = amount[order]
    del order  # memory matters for large graphs
    is_new = starts_run(key)
    if is_new.all() and amount.dtype == np.int64:
        return key, amount, ~is_new
    starts = np.flatnonzero(is_new)
    # Sums of 2³¹ 32-bit halves fit in 64 bits, so the carry reveals an overflow.
    low = np.add.reduceat((amount & 0xFFFFFFFF).astype(np.int64, copy=False), starts)
    high = np.add.reduceat((amount >> 32).astype(np.int64, copy=False), starts) + (low >> 32)
    overflows = (high < -(2**31)) | (high >= 2**31)
    return key[starts], (high << 32) | (low & 0xFFFFFFFF), overflows


def as_capacities(values: npt.ArrayLike | Sequence[Any]) -> WideArray:
    """Return capacities as int64; whole floats are accepted, anything else is refused."""
    array = unmasked(values, "capacities")
    if array.dtype.kind == "f" and not isinstance(values, np.ndarray):
        array = np.array(values, object)  # a float among Python ints must not round them
    if array.ndim != 1:
        raise InputError(f"capacities must be one row of numbers, not {array.ndim}-dimensional")
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind in "biu":
        if array.min() >= 0 and array.max() <= MAX_CAPACITY:
            return array.astype(np.int64)
        wrong = (array < 0) | (array > MAX_CAPACITY)
    elif array.dtype.kind == "f":
        array = array.astype(np.promote_types(array.dtype, np.float64), copy=False)
        # 2.0 ** 63 is the smallest float beyond int64; NaN fails every comparison.
        wrong = ~((array >= 0) & (array < 2.0**63) & (array == np.floor(array)))
    else:
        # A list with a Python int beyond 64 bits becomes an array of objects.
        wrong = np.array([capacity_fault(x) != "" for x in array.tolist()])
    if wrong.any():
        position = int(wrong.argmax())
        raise InputError(f"capacity {position} {capacity_fault(array[position])}")
    return array.astype(np.int64)


def capacity_fault(value: Any) -> str:
    """Say what is wrong with a capacity, to follow "the capacity"; "" if nothing is."""
    # NumPy would round MAX_CAPACITY to compare it with a float.
    if isinstance(value, np.floating):
        value = float(cast("Any", value))
    elif isinstance(value, np.generic):
        value = cast("Any", value).item()
    if not isinstance(value, int | float):
        return f"is {value!r}, not a whole number"
    if isinstance(value, float) and not value.is_integer():
        return f"is {value}, not a whole number"
    if value < 0:
        return f"is {value}, which is negative"
    if value > MAX_CAPACITY:
        return f"is {value}, beyond 64 bits (the largest is {MAX_CAPACITY})"
    return ""


def node_numbers(values: npt.ArrayLike, num_nodes: int, side: str) -> IntArray:
    """Return `values` as int32 after checking that each is a node number below `num_nodes`."""
    ends = f"{side} ends"
    array = unmasked(values, ends)
    if array.ndim != 1:
        told = f"not {array.ndim}-dimensional"
        raise InputError(f"the {ends} must be one row of node numbers, {told}")
    if array.size == 0:
        return np.zeros(0, np.int32)
    if array.dtype.kind not in "iu":
        raise InputError(f"the {ends} must be whole numbers, not {array.dtype}")
    # Viewed as unsigned, negative numbers are large.
    if array.view(f"u{array.itemsize}").max() >= num_nodes:
        at = int(((array < 0) | (array >= num_nodes)).argmax())
        raise InputError(f"edge {at} names {side} node {array[at]}, but there are {num_nodes}")
    return array.astype(np.int32)


def unchecked(kind: type[Made], *values: Any) -> Made:
    """Return an instance of a dataclass; the values, one per field, are known to be right."""
    made = object.__new__(kind)
    vars(made).update(zip(_names(kind), values, strict=True))
    return made


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
