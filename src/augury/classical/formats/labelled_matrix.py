"""A table with row and column labels becomes a `BipartiteGraph`, or with `flow` a `FlowNetwork`.

            cook,drive,sing
    ann,    1,   ,     1            blank and 0: no edge; the nodes keep the order of the table
    bob,    0,   1,    0

This is how spreadsheets and ecologists write bipartite graphs. The first cell is empty, or names
the rows if nothing suggests an edge list; an ambiguous table is refused with both readings named.
If the options say that the entries are costs, each is an edge, even 0, but not inf or a blank.
"""

from __future__ import annotations

import math
import reprlib
from array import array
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np

from augury.classical.costs import of_edges
from augury.classical.formats import text
from augury.classical.formats.costs import refuse_infinite, two_readings
from augury.classical.formats.text import INTEGER, Lines, Numbering, ReadOptions
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.files import LineError


class Look(NamedTuple):
    """What the rows below the first say about a table."""

    is_matrix: bool
    """Each is a new label, then numbers or blank cells."""
    is_edges: bool
    """Each starts with two labels."""
    has_numbers: bool
    """The labels of the rows are integers."""


def look_at(table: Iterator[list[str]], width: int) -> Look:
    """Look at the rows of a table, up to the first that cannot belong to a matrix."""
    seen: set[str] = set()
    is_edges = has_numbers = True
    for row in table:
        if len(row) != width or row[0] in seen or not all(map(_is_entry, row[1:])):
            return Look(False, True, False)
        seen.add(row[0])
        is_edges = is_edges and row[1] != ""
        has_numbers = has_numbers and INTEGER.fullmatch(row[0]) is not None
    return Look(bool(seen), is_edges, has_numbers)


def _is_entry(cell: str) -> bool:
    value = 0 if not cell else _value(cell)
    return value is not None and math.isfinite(value)


def _value(cell: str) -> int | float | None:
    """Return the number in a cell, integers exactly; None if it holds no number."""
    if cell.isdecimal() and cell.isascii() and len(cell) <= 18:
        return int(cell)
    try:
        value = float(cell)
    except ValueError:
        return None
    is_number = math.isfinite(value) or cell.strip("+-").casefold() in ("inf", "infinity")
    return value if is_number and "_" not in cell else None


def read_labelled_matrix(file: IO[bytes], options: ReadOptions, separators: str) -> Graph:
    """Read a table whose first row holds the column labels, after one cell."""
    if options.flow and options.costs:
        raise InputError("a matrix holds capacities or costs, not both")
    lines = Lines(file, "#%")
    table = text.rows(lines, separators)
    entries = _Entries(next(table)[1:], options, lines.number)
    for row in table:
        entries.read(row, lines.number)
    return entries.network() if options.flow else entries.graph()


class _Entries:
    """The non-zero entries of a table, as row and column numbers."""

    def __init__(self, columns: list[str], options: ReadOptions, line: int) -> None:
        self.options = options
        self.rows, self.columns = Numbering(), Numbering()
        self.row, self.column, self.capacity = array("i"), array("i"), array("q")
        self.has_costs = bool(options.costs and not options.ignore_costs)
        self.cost: list[int | float] = []
        self.first: int | float = 0
        for label in columns:
            _add(label, self.columns, line, "columns")

    def read(self, row: list[str], line: int) -> None:
        """Read one row."""
        if len(row) != len(self.columns) + 1:
            width = len(self.columns) + 1
            raise LineError(line, f"{len(row)} columns where the first row has {width}")
        number = _add(row[0], self.rows, line, "rows")
        for position, cell in enumerate(row[1:]):
            if not cell or (cell == "0" and not self.has_costs):
                continue
            value = _value(cell)
            if value is None or (math.isinf(value) and not self.has_costs):
                told = reprlib.repr(cell)
                raise LineError(line, f"column {position + 2} holds {told}, which is not a number")
            if value or self.has_costs:
                self.row.append(number)
                self.column.append(position)
                self._keep(value, cell, line)

    def _keep(self, value: int | float, cell: str, line: int) -> None:
        """Keep a cost or a capacity; without either, check that all entries are equal."""
        if self.has_costs:
            refuse_infinite(value, line, self.options.maximise)
            self.cost.append(value)
        elif self.options.flow:
            self.capacity.append(text.amount_of(cell, line))
        elif not self.options.ignore_costs:
            self.first = self.first or value
            if value != self.first:
                told = f"the entries of the matrix differ ({self.first} and {value})"
                raise two_readings(f"{told} and may be costs", line)

    def graph(self) -> BipartiteGraph:
        """Return a graph with the rows as left nodes and the columns as right nodes."""
        labels = [text.as_integers(list(side)) for side in (self.rows, self.columns)]
        left, right, costs = np.asarray(self.row), np.asarray(self.column), None
        sizes = len(labels[0]), len(labels[1])
        if self.has_costs:
            exists, costs = of_edges(self.cost, sum(sizes) + 2, bool(self.options.maximise))
            left, right = (left, right) if exists is None else (left[exists], right[exists])
        return BipartiteGraph(*sizes, left, right, *labels, costs=costs)

    def network(self) -> FlowNetwork:
        """Return a flow network in which a row and a column of the same label are one node."""
        nodes = Numbering(self.rows)
        of_column = np.array([nodes[label] for label in self.columns], np.int32)
        labels = text.as_integers(list(nodes))
        ends = text.ends_by_label(labels, self.options)
        arcs = np.asarray(self.row), of_column[np.asarray(self.column)], np.asarray(self.capacity)
        return FlowNetwork.from_arcs(len(labels), *arcs, **ends, labels=labels)


def _add(label: str, index: Numbering, line: int, what: str) -> int:
    """Return the number of the next row or column."""
    number = len(index)
    if not label:
        raise LineError(line, f"the label of one of the {what} is empty")
    if index[label] != number:
        raise LineError(line, f"two {what} have the label {reprlib.repr(label)}")
    return number
