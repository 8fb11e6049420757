"""Eight integers become one value in compiled loops: vectorising them is not left to luck.

Loaded from arrays of int32 or int64 whose length is a multiple of eight, combined lane by lane, and
reduced to one number or to a mask of eight bits. Importing this module needs numba.
"""

from __future__ import annotations

import operator
from typing import Any

import numba.extending
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable

LANES = 8
"""Two registers of 256 bits for int64, one for int32; a mask is a byte."""

intrinsic: Any = numba.extending.intrinsic  # it adds the first argument, which pyright cannot know


class _LanesType(types.Type):
    def __init__(self, element: Any) -> None:
        super().__init__(f"eight {element}")
        self.element = element


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.IntType(kind.element.bitwidth), LANES))


def _operator(function: Any, instruction: str) -> None:
    """Let an operator take two vectors."""

    def typer(context: Any) -> Any:
        return lambda a, b: a if isinstance(a, _LanesType) and a == b else None

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)

    type_callable(function)(typer)
    lower_builtin(function, _LanesType, _LanesType)(lower)


_operator(operator.add, "add")
_operator(operator.sub, "sub")
_operator(operator.and_, "and_")
_operator(operator.or_, "or_")


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Return the address of the eight numbers at a place of an array."""
    data = context.make_array(kind)(context, builder, array).data
    vector = context.get_value_type(_LanesType(kind.dtype))
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


@intrinsic
def load(typing, array, at):
    """Return the eight numbers of a contiguous array that start at this place."""

    def generate(context, builder, signature, args):
        place = _place(context, builder, array, *args)
        return builder.load(place, align=array.dtype.bitwidth // 8)

    return _LanesType(array.dtype)(array, types.intp), generate


@intrinsic
def store(typing, array, at, value):
    """Write eight numbers to a contiguous array, from this place on."""

    def generate(context, builder, signature, args):
        place = _place(context, builder, array, *args[:2])
        builder.store(args[2], place, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def spread(typing, value, array):
    """Return a number eight times, in the type of an array."""
    kind = _LanesType(array.dtype)

    def generate(context, builder, signature, args):
        one = context.cast(builder, args[0], value, array.dtype)
        vector = context.get_value_type(kind)
        unset = ir.Constant(vector, ir.Undefined)
        word = ir.IntType(32)
        filled = builder.insert_element(unset, one, ir.Constant(word, 0))
        zeros = ir.Constant(ir.VectorType(word, LANES), [0] * LANES)
        return builder.shuffle_vector(filled, unset, zeros)

    return kind(value, array), generate


def _chooser(comparison: str) -> Any:
    @intrinsic
    def choose(typing, a, b):
        def generate(context, builder, signature, args):
            return builder.select(builder.icmp_signed(comparison, *args), *args)

        return a(a, a), generate

    return choose


smaller, larger = _chooser("<"), _chooser(">")
"""Lane by lane."""


@intrinsic
def where_less(typing, a, b, chosen, other):
    """Return, lane by lane, `chosen` where a is less than b, else `other`."""

    def generate(context, builder, signature, args):
        return builder.select(builder.icmp_signed("<", *args[:2]), *args[2:])

    return a(a, a, a, a), generate


def _mask(comparison: str) -> Any:
    @intrinsic
    def mask(typing, a, b):
        def generate(context, builder, signature, args):
            bits = builder.icmp_signed(comparison, *args)
            return builder.bitcast(bits, ir.IntType(LANES))

        return types.uint8(a, a), generate

    return mask


mask_equal, mask_less = _mask("=="), _mask("<")
"""A byte: bit k says whether the comparison holds in lane k."""


@intrinsic
def where(typing, mask, chosen, other):
    """Return, lane by lane, `chosen` where the bit of the mask is set, else `other`."""

    def generate(context, builder, signature, args):
        bits = builder.bitcast(args[0], ir.VectorType(ir.IntType(1), LANES))
        return builder.select(bits, *args[1:])

    return chosen(types.uint8, chosen, chosen), generate


def _reducer(operation: str) -> Any:
    @intrinsic
    def reduce(typing, a):
        def generate(context, builder, signature, args):
            width = a.element.bitwidth
            kind = ir.FunctionType(ir.IntType(width), [args[0].type])
            name = f"llvm.vector.reduce.{operation}.v{LANES}i{width}"
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

        return a.element(a), generate

    return reduce


least_of, union_of = _reducer("smin"), _reducer("or")
"""The least of the eight; the bits that any of them has."""
