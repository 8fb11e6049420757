"""Eight numbers become one value of compiled loops, and two matrices their product, by tiles.

A loop over features that the compiler may or may not vectorise is written here in vectors: loaded,
combined by + − * / and the functions below, and stored. Matrices as small as those of the paper's
networks are multiplied in tiles that stay in registers, twice as fast as by a library. Every sum
runs over its terms in order, whatever the number of rows, so equal rows have equal products, bit
for bit. A product and a sum may be fused. Importing this module needs numba.
"""

from __future__ import annotations

import operator
from itertools import chain
from typing import Any

import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable

from augury.compiled import compiled
from augury.neural.layers import LANES

TILE = 6
"""Rows of a tile: with two vectors each, its sums and factors fill the sixteen registers."""

VECTOR, WORDS = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(32), LANES)
FUSED = ("contract", "nsz")

compiled_loop = compiled(fastmath=set(FUSED), error_model="numpy")
"""A product and a sum may be fused; nothing else is reordered."""


intrinsic: Any = numba.extending.intrinsic  # it adds the first argument, which pyright cannot know


class _VectorType(numba.types.Type):
    def __init__(self) -> None:
        super().__init__("eight float32")


vector = _VectorType()


@register_model(_VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


def _operator(function: Any, instruction: str) -> None:
    """Let an operator take two vectors."""

    def typer(context: Any) -> Any:
        return lambda a, b: vector if a is vector and b is vector else None

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args, flags=FUSED)

    type_callable(function)(typer)
    lower_builtin(function, vector, vector)(lower)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


def _chooser(comparison: str) -> Any:
    @intrinsic
    def choose(typing, a, b):
        def generate(context, builder, signature, args):
            return builder.select(builder.fcmp_ordered(comparison, *args), *args)

        return vector(vector, vector), generate

    return choose


largest, smallest = _chooser(">"), _chooser("<")
"""Lane by lane; the second where either is not a number."""


def _where(comparison: str) -> Any:
    @intrinsic
    def where(typing, a, b, chosen, other):
        def generate(context, builder, signature, args):
            return builder.select(builder.fcmp_ordered(comparison, *args[:2]), *args[2:])

        return vector(vector, vector, vector, vector), generate

    return where


where_larger, where_equal = _where(">"), _where("==")
"""(a, b, chosen, other): where a is larger than b, or equal, what was chosen, else the other."""


def _function(name: str) -> Any:
    @intrinsic
    def apply(typing, a):
        def generate(context, builder, signature, args):
            kind = ir.FunctionType(VECTOR, [VECTOR])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

        return vector(vector), generate

    return apply


root, _floor = _function(f"llvm.sqrt.v{LANES}f32"), _function(f"llvm.floor.v{LANES}f32")


def _place(context: Any, builder: Any, kind: Any, array: Any, row: Any, column: Any) -> Any:
    """Return the address of an element of a matrix."""
    matrix = context.make_array(kind)(context, builder, array)
    steps = cgutils.unpack_tuple(builder, matrix.strides)
    offset = builder.add(builder.mul(row, steps[0]), builder.mul(column, steps[1]))
    return cgutils.pointer_add(builder, matrix.data, offset)


def _vector_place(*args: Any) -> Any:
    return args[1].bitcast(_place(*args), VECTOR.as_pointer())


@intrinsic
def load(typing, array, i, k):
    """Return the numbers of row i from column k on."""

    def generate(context, builder, signature, args):
        return builder.load(_vector_place(context, builder, array, *args), align=4)

    return vector(array, numba.intp, numba.intp), generate


@intrinsic
def store(typing, array, i, k, value):
    """Write a vector to row i, from column k on."""

    def generate(context, builder, signature, args):
        builder.store(args[3], _vector_place(context, builder, array, *args[:3]), align=4)
        return context.get_dummy_value()

    return numba.void(array, numba.intp, numba.intp, vector), generate


def _spread(builder: Any, value: Any) -> Any:
    unset = ir.Constant(VECTOR, ir.Undefined)
    value = builder.insert_element(unset, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(value, unset, ir.Constant(WORDS, [0] * LANES))


@intrinsic
def spread(typing, value):
    """Return the vector that holds one number eight times."""

    def generate(context, builder, signature, args):
        return _spread(builder, args[0])

    return vector(numba.float32), generate


@intrinsic
def _power_of_two(typing, exponent):
    def generate(context, builder, signature, args):
        bits = builder.add(builder.fptosi(args[0], WORDS), ir.Constant(WORDS, [127] * LANES))
        return builder.bitcast(builder.shl(bits, ir.Constant(WORDS, [23] * LANES)), VECTOR)

    return vector(vector), generate


LOG2_E, LN2 = np.float32(np.log2(np.e)), np.float32(np.log(2))
LOW, HIGH = np.float32(-87), np.float32(88)
"""Between these, e^x is a normal number."""
TAYLOR = tuple(np.float32(1 / n) for n in (5040, 720, 120, 24, 6, 2))
"""The coefficients of r^7 to r^2 in e^r."""
ONE, HALF = np.float32(1), np.float32(0.5)


@compiled_loop
def exp(x):
    """Return e^x to two parts in a million, with x clamped to LOW … HIGH."""
    # 2^n e^r with |r| <= ln 2 / 2: a short series and the exponent's bits.
    x = smallest(largest(x, spread(LOW)), spread(HIGH))
    n = _floor(x * spread(LOG2_E) + spread(HALF))
    r = x - n * spread(LN2)
    c7, c6, c5, c4, c3, c2 = TAYLOR
    series = spread(c7) * r + spread(c6)
    for c in (c5, c4, c3, c2, ONE, ONE):
        series = series * r + spread(c)
    return series * _power_of_two(n)


def _tile(rows: int, vectors: int) -> Any:
    """Return a function that fills rows i … and columns j … of `out` with those of a @ b."""

    @intrinsic
    def tile(typing, a, b, out, i, j):
        def generate(context, builder, signature, args):
            def number(value):
                return context.get_constant(numba.intp, value)

            own = [builder.add(args[3], number(row)) for row in range(rows)]
            columns = [builder.add(args[4], number(LANES * place)) for place in range(vectors)]
            sums = [[cgutils.alloca_once(builder, VECTOR) for _ in columns] for _ in own]
            for place in chain(*sums):
                builder.store(ir.Constant(VECTOR, [0.0] * LANES), place)
            depth = context.make_array(b)(context, builder, args[1]).shape
            with cgutils.for_range(builder, cgutils.unpack_tuple(builder, depth)[0]) as loop:
                factor = context, builder, b, args[1], loop.index
                others = [builder.load(_vector_place(*factor, j), align=4) for j in columns]
                for row, places in zip(own, sums, strict=True):
                    value = builder.load(_place(context, builder, a, args[0], row, loop.index))
                    value = _spread(builder, value)
                    for place, other in zip(places, others, strict=True):
                        term = builder.fmul(value, other, flags=FUSED)
                        total = builder.fadd(builder.load(place), term, flags=FUSED)
                        builder.store(total, place)
            for row, places in zip(own, sums, strict=True):
                for place, column in zip(places, columns, strict=True):
                    target = _vector_place(context, builder, out, args[2], row, column)
                    builder.store(builder.load(place), target, align=4)
            return context.get_dummy_value()

        return numba.void(a, b, out, numba.intp, numba.intp), generate

    return tile


_wide_tile, _narrow_tile, _row_tile = _tile(TILE, 2), _tile(TILE, 1), _tile(1, 1)


@compiled_loop
def product(a, b, out, first):
    """Fill the columns of `out` from `first` on with those of a @ b."""
    rows, columns = len(a), b.shape[1]
    j = first
    while j < columns:
        # What is left over is done with columns or rows before it, which stay what they are.
        is_wide = columns - j >= 2 * LANES
        place = j if is_wide else min(j, columns - LANES)
        width = 2 * LANES if is_wide else LANES
        if rows < TILE:
            for i in range(rows):
                for other in range(place, place + width, LANES):
                    _row_tile(a, b, out, i, other)
        else:
            for i in range(0, rows, TILE):
                if is_wide:
                    _wide_tile(a, b, out, min(i, rows - TILE), place)
                else:
                    _narrow_tile(a, b, out, min(i, rows - TILE), place)
        j += width
