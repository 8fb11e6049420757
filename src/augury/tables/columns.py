"""The columns of a table: which hold graphs, which answers, and how they become arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from augury.classical.arrays import BoolArray, WideArray
from augury.classical.batch import sums
from augury.errors import InputError
from augury.inputs.packed import Lists

if TYPE_CHECKING:
    import pyarrow as pa


class Form(NamedTuple):
    """Which columns hold a graph, and which its answer."""

    lists: tuple[str, ...]
    ends: tuple[str, ...]
    counts: tuple[str, ...]
    """Numbers of nodes, which may be left out."""
    found: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All that may describe a graph."""
        return (*self.lists, "cost", *self.ends, *self.counts)


MATCHING = Form(("left", "right"), (), ("num_left", "num_right"), ("left", "right"))
FLOW = Form(
    ("tail", "head", "capacity"), ("source", "sink"), ("num_nodes",), ("tail", "head", "flow")
)
FORMS = (MATCHING, FLOW)


def form_of(schema: pa.Schema) -> Form:
    """Return how graphs lie in the columns of a table.

    Raises:
        InputError: there are none, or a column holds something other than numbers.
    """
    for form in FORMS:
        if {*form.lists, *form.ends} <= set(schema.names):
            break
    else:
        ways = " nor ".join(", ".join((*form.lists, *form.ends)) for form in FORMS)
        raise InputError(f"there are neither columns {ways}, but {', '.join(schema.names)}")
    for name in schema.names:
        _check_column(form, name, schema.field(name).type)
    return form


def _check_column(form: Form, name: str, kind: Any) -> None:
    import pyarrow.types as types

    if name not in form.columns:
        if name in ANSWERS or name in form.found:
            raise InputError(f"the column {name!r} is one of the answers: rename it")
        return
    is_list = name in (*form.lists, "cost")
    are_lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    number = kind.value_type if is_list and are_lists else None if is_list else kind
    is_cost = name == "cost" and number is not None and types.is_floating(number)
    if number is None or not (types.is_integer(number) or types.is_null(number) or is_cost):
        numbers = "numbers" if name == "cost" else "whole numbers"
        raise InputError(f"the column {name!r} holds {kind}, not {'lists of ' * is_list}{numbers}")


ANSWERS = ("size", "verdict", "engine", "error")
"""Columns that every answer has."""


def answer_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of the answers to a table: those that are kept, then those found."""
    form = form_of(schema)
    import pyarrow as pa

    return pa.schema([*(field for field in schema if field.name not in form.columns),
                      *found_schema(form, schema)])  # fmt: skip


def found_schema(form: Form, schema: pa.Schema) -> pa.Schema:
    """Return the columns that are found."""
    import pyarrow as pa

    fields: list[Any] = [("size", pa.int64())]
    if "cost" in schema.names:
        kind = schema.field("cost").type.value_type
        fields.append(("cost", pa.float64() if pa.types.is_floating(kind) else pa.int64()))
    kinds = (pa.int64() if name == "flow" else pa.int32() for name in form.found)
    fields += zip(form.found, map(pa.list_, kinds), strict=True)
    words = pa.dictionary(pa.int32(), pa.string())  # the same in nearly every row
    return pa.schema([*fields, ("verdict", words), ("engine", words), ("error", pa.string())])


def repeated(text: str, count: int) -> pa.Array:
    """Return a column with the same text in every row."""
    import pyarrow as pa

    place = pa.array(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(place, pa.array([text]))


def lists_of(table: pa.Table, name: str) -> tuple[Lists, BoolArray]:
    """Return the lists of a column, and which of them have something missing."""
    import pyarrow as pa

    column = table[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    if not isinstance(column, pa.ListArray | pa.LargeListArray):
        column = column.cast(pa.list_(column.type.value_type))
    start = column.offsets.to_numpy().astype(np.int64)
    values = column.values.slice(start[0], start[-1] - start[0])
    start -= start[0]
    is_unclear = _is_null(column)
    if values.null_count:
        is_unclear |= sums(_is_null(values), start) > 0
        values = values.fill_null(0)
    if is_unclear.any() or pa.types.is_null(values.type):
        lists = Lists(start, np.asarray(values.to_numpy(zero_copy_only=False)))
        return lists.without(is_unclear), is_unclear
    return Lists(start, values.to_numpy()), is_unclear


def _is_null(column: Any) -> BoolArray:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), np.bool_)


def numbers_of(table: pa.Table, name: str) -> WideArray:
    """Return the numbers of a column, −1 where one is missing."""
    if name not in table.column_names:
        return np.full(len(table), -1)
    import pyarrow as pa

    column = table[name].combine_chunks()
    values = column.cast(pa.int64(), safe=False) if column.type != pa.int64() else column
    return np.asarray(values.fill_null(-1).to_numpy(), np.int64)
