"""Eight numbers become one value of compiled loops, and two matrices their product, by tiles.

Loops over features, which the compiler may or may not vectorise, are written in vectors instead:
loaded, combined with each other or with a number by + − * / and the functions below, and stored.
Longer vectors, of 16 or 32 numbers, are several registers side by side, which do not wait for each
other. Matrices as small as those of the paper's networks are multiplied in tiles that stay in
registers, twice as fast as by a library. Every sum runs over its terms in order, whatever the
number of rows, so equal rows have equal products, bit for bit. A product and a sum may be fused.
Importing this module needs numba.
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

VECTOR = ir.VectorType(ir.FloatType(), LANES)
FUSED = ("contract", "nsz")

_OPTIONS: Any = {"fastmath": set(FUSED), "error_model": "numpy"}
"""A product and a sum may be fused; nothing else is reordered."""
compiled_loop, inlined = compiled(**_OPTIONS), compiled(forceinline=True, **_OPTIONS)
"""Inlined calls cost nothing: arrays, seven words each, are not passed."""


intrinsic: Any = numba.extending.intrinsic  # it adds the first argument, which pyright cannot know
prefers_literals = intrinsic(prefer_literal=True)


class _VectorType(numba.types.Type):
    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(f"{lanes} float32")


@register_model(_VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _VectorType) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.FloatType(), kind.lanes))


vector = _VectorType(LANES)


def _joint(a: Any, b: Any) -> Any:
    """Return the type that two vectors of one length, or a vector and a number, combine to."""
    kinds = {kind for kind in (a, b) if isinstance(kind, _VectorType)}
    is_fit = all(isinstance(kind, _VectorType) or kind == numba.float32 for kind in (a, b))
    return kinds.pop() if is_fit and len(kinds) == 1 else None


def _spread_all(builder: Any, kinds: Any, values: Any) -> list[Any]:
    """Of two values, spread a number to the length of the other."""
    lanes = _joint(*kinds).lanes
    return [
        value if isinstance(kind, _VectorType) else _spread(builder, value, lanes)
        for kind, value in zip(kinds, values, strict=True)
    ]


def _operator(function: Any, instruction: str) -> None:
    """Let an operator take vectors."""

    def typer(context: Any) -> Any:
        return _joint

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = _spread_all(builder, signature.args, args)
        return getattr(builder, instruction)(*values, flags=FUSED)

    type_callable(function)(typer)
    for kinds in ((_VectorType, _VectorType), (_VectorType, numba.float32),
                  (numba.float32, _VectorType)):  # fmt: skip
        lower_builtin(function, *kinds)(lower)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


def _chooser(comparison: str) -> Any:
    @intrinsic
    def choose(typing, a, b):
        def generate(context, builder, signature, args):
            values = _spread_all(builder, signature.args, args)
            return builder.select(builder.fcmp_ordered(comparison, *values), *values)

        return _joint(a, b)(a, b), generate

    return choose


largest, smallest = _chooser(">"), _chooser("<")
"""Lane by lane; the second where either is not a number."""


def _where(comparison: str) -> Any:
    @intrinsic
    def where(typing, a, b, chosen, other):
        def generate(context, builder, signature, args):
            kinds = signature.args
            compared = _spread_all(builder, kinds[:2], args[:2])
            values = _spread_all(builder, kinds[2:], args[2:])
            return builder.select(builder.fcmp_ordered(comparison, *compared), *values)

        return _joint(chosen, other)(a, b, chosen, other), generate

    return where


where_larger, where_equal = _where(">"), _where("==")
"""(a, b, chosen, other): `chosen` where a is larger than b, or equal to it; else `other`."""


def _function(name: str) -> Any:
    @intrinsic
    def apply(typing, a):
        def generate(context, builder, signature, args):
            kind = ir.FunctionType(args[0].type, [args[0].type])
            full = f"llvm.{name}.v{a.lanes}f32"
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, full), args)

        return a(a), generate

    return apply


root, _floor = _function("sqrt"), _function("floor")


def _place(context: Any, builder: Any, kind: Any, array: Any, row: Any, column: Any) -> Any:
    """Return the address of an element of a matrix."""
    matrix = context.make_array(kind)(context, builder, array)
    steps = cgutils.unpack_tuple(builder, matrix.strides)
    if kind.layout in "CF":
        steps["FC".index(kind.layout)] = context.get_constant(numba.intp, 4)
    offset = builder.add(builder.mul(row, steps[0]), builder.mul(column, steps[1]))
    return cgutils.pointer_add(builder, matrix.data, offset)


def _vector_place(*args: Any, lanes: int = LANES) -> Any:
    return args[1].bitcast(_place(*args), ir.VectorType(ir.FloatType(), lanes).as_pointer())


@prefers_literals
def load_many(typing, array, i, k, lanes):
    """Return `lanes` numbers of row i, from column k on; `lanes` must be a constant."""
    kind = _VectorType(lanes.literal_value)

    def generate(context, builder, signature, args):
        place = _vector_place(context, builder, array, *args[:3], lanes=kind.lanes)
        return builder.load(place, align=4)

    return kind(array, numba.intp, numba.intp, lanes), generate


@inlined
def load(array, i, k):
    """Return the numbers of row i from column k on."""
    return load_many(array, i, k, LANES)


@intrinsic
def store(typing, array, i, k, value):
    """Write a vector to row i, from column k on."""

    def generate(context, builder, signature, args):
        place = _vector_place(context, builder, array, *args[:3], lanes=value.lanes)
        builder.store(args[3], place, align=4)
        return context.get_dummy_value()

    return numba.void(array, numba.intp, numba.intp, value), generate


@inlined
def add(array, i, k, value):
    """Add a vector to row i, from column k on."""
    store(array, i, k, load(array, i, k) + value)


def _spread(builder: Any, value: Any, lanes: int = LANES) -> Any:
    unset = ir.Constant(ir.VectorType(ir.FloatType(), lanes), ir.Undefined)
    value = builder.insert_element(unset, value, ir.Constant(ir.IntType(32), 0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(value, unset, order)


@intrinsic
def spread(typing, value):
    """Return the vector that holds one number eight times."""

    def generate(context, builder, signature, args):
        return _spread(builder, args[0])

    return vector(numba.float32), generate


@intrinsic
def _power_of_two(typing, exponent):
    def generate(context, builder, signature, args):
        lanes = exponent.lanes
        words = ir.VectorType(ir.IntType(32), lanes)
        bits = builder.add(builder.fptosi(args[0], words), ir.Constant(words, [127] * lanes))
        return builder.bitcast(builder.shl(bits, ir.Constant(words, [23] * lanes)), args[0].type)

    return exponent(exponent), generate


LOG2_E, LN2 = np.float32(np.log2(np.e)), np.float32(np.log(2))
LOW, HIGH = np.float32(-87), np.float32(88)
"""Between these, e^x is a normal number."""
TAYLOR = tuple(np.float32(1 / n) for n in (5040, 720, 120, 24, 6, 2))
"""The coefficients of r^7 to r^2 in e^r."""
ONE, HALF = np.float32(1), np.float32(0.5)


@inlined
def exp(x):
    """Return e^x to two parts in a million, with x clamped to LOW … HIGH."""
    # 2^n e^r with |r| <= ln 2 / 2: a short series and the exponent's bits.
    x = smallest(largest(x, LOW), HIGH)
    n = _floor(x * LOG2_E + HALF)
    r = x - n * LN2
    c7, c6, c5, c4, c3, c2 = TAYLOR
    series = c7 * r + c6
    for c in (c5, c4, c3, c2, ONE, ONE):
        series = series * r + c
    return series * _power_of_two(n)


def _tile(rows: int, vectors: int, adds: bool = False) -> Any:
    """Return a function that fills rows i … and columns j … of `out` with those of a @ b.

    With `adds`, it adds them to `out` instead.
    """

    @intrinsic
    def tile(typing, a, b, out, i, j):
        def generate(context, builder, signature, args):
            def number(value):
                return context.get_constant(numba.intp, value)

            own = [builder.add(args[3], number(row)) for row in range(rows)]
            columns = [builder.add(args[4], number(LANES * place)) for place in range(vectors)]
            sums = [[cgutils.alloca_once(builder, VECTOR) for _ in columns] for _ in own]
            targets = [
                [_vector_place(context, builder, out, args[2], row, column) for column in columns]
                for row in own
            ]
            for place, target in zip(chain(*sums), chain(*targets), strict=True):
                zero = ir.Constant(VECTOR, [0.0] * LANES)
                builder.store(builder.load(target, align=4) if adds else zero, place)
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
            for place, target in zip(chain(*sums), chain(*targets), strict=True):
                builder.store(builder.load(place), target, align=4)
            return context.get_dummy_value()

        return numba.void(a, b, out, numba.intp, numba.intp), generate

    return tile


_wide_tile, _narrow_tile, _pair_tile, _row_tile, _short_tile = (
    _tile(*shape) for shape in ((TILE, 2), (TILE, 1), (2, 4), (1, 4), (1, 1))
)


_adding_tile, _narrow_adding_tile = _tile(4, 2, adds=True), _tile(4, 1, adds=True)


@compiled_loop
def product(a, b, out, first):
    """Fill the columns of `out` from `first` on with those of a @ b."""
    # The remainder is done together with columns or rows before it, whose values do not change.
    rows, columns, j = len(a), b.shape[1], first
    tiled = rows - rows % TILE
    while tiled and j < columns:
        is_wide = columns - j >= 2 * LANES
        place = j if is_wide else min(j, columns - LANES)
        for i in range(0, tiled, TILE):
            if is_wide:
                _wide_tile(a, b, out, i, place)
            else:
                _narrow_tile(a, b, out, i, place)
        j += 2 * LANES if is_wide else LANES
    # Few rows are multiplied by more columns at a time, so that sums wait for each other less.
    width = 4 * LANES if columns - first >= 4 * LANES else LANES
    for i in range(tiled, rows, 2):
        for j in range(first, columns, width):
            place = min(j, columns - width)
            if width == LANES:
                _short_tile(a, b, out, i, place)
                _short_tile(a, b, out, min(i + 1, rows - 1), place)
            elif rows == 1:
                _row_tile(a, b, out, i, place)
            else:
                _pair_tile(a, b, out, min(i, rows - 2), place)


@compiled_loop
def add_product(a, b, out):
    """Add aᵀ @ b to `out`, whose rows and columns are multiples of `LANES`."""
    across, columns = a.T, b.shape[1]
    for j in range(0, columns, 2 * LANES):
        for i in range(0, a.shape[1], 4):
            if columns - j >= 2 * LANES:
                _adding_tile(across, b, out, i, j)
            else:
                _narrow_adding_tile(across, b, out, i, j)
