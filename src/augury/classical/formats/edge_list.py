"""Rows of two labels become a `BipartiteGraph`, with a capacity a `FlowNetwork`, and back.

Nodes are numbered as they first appear, unless the labels of a side all look like integers: then
they become integers in ascending order. A flow network is read if a column is called capacity, or
if the options say so. A header is recognised by its words, or by standing above integers only,
which takes a look at the other rows. A column that is called a cost is one, and makes a flow
network a `CostNetwork`.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import IntArray, Label, WideArray
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import Costs, of_edges
from augury.classical.formats import text
from augury.classical.formats.cells import Cells, Words, integers, joined, numbered, plain, texts
from augury.classical.formats.columns import Columns, columns_of, is_matrix, refuse_width
from augury.classical.formats.costs import (
    arc_lines,
    cost_network,
    cost_of,
    edge_costs,
    refuse_infinite,
)
from augury.classical.formats.labelled_matrix import read_labelled_matrix
from augury.classical.formats.text import INTEGER, Lines, ReadOptions
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.files import LineError


def read_edge_list(file: IO[bytes], options: ReadOptions, separators: str = ",\t;") -> Graph:
    """Read an edge list or a labelled matrix; see the module's docstring."""
    table = text.rows(Lines(file, "#%"), separators)
    if is_matrix(next(table, list[str]()), table, options):
        return read_labelled_matrix(file, options, separators)
    lines = Lines(file, "#%")
    first = next(text.rows(lines, separators), None)
    if first is None:
        raise InputError("there is neither an edge nor a header line")
    first_line = lines.number
    columns = columns_of(first, options, first_line)
    rows = _Rows(columns, options.maximise)
    if not columns.has_header:
        rows.read_one_by_one([first], lines)
    for block in lines.blocks():
        rows.read(block, lines)
    edges = _Edges(rows)
    has_header = columns.has_header
    if has_header is None:
        has_header = edges.starts_with_header()
        if has_header:
            edges.skip_first()
        else:
            refuse_width(columns.width, columns.is_flow, options, first_line)
    if columns.is_flow:
        return _network(edges, options)
    is_declared = has_header and [w.casefold() for w in first[:2]] == ["left", "right"]
    return _graph(edges, is_declared, options)


Part = list[Any] | npt.NDArray[Any]


class _Rows:
    """The rows of an edge list as they are read, in parts."""

    def __init__(self, columns: Columns, maximise: bool | None) -> None:
        self.columns = columns
        self.maximise = maximise
        self.words: list[Words] = []
        """Of the two labels; see `cells`."""
        self.long: dict[bytes, int] = {}
        self.parts: dict[str, list[Part]] = {name: [] for name in columns.amounts}
        self.lines: list[Part] = []
        """Where each edge with a cost stands."""

    def read(self, block: bytes, lines: Lines) -> None:
        """Read a block of whole lines, all at once if it is plain."""
        columns = self.columns
        used = *columns.ends, *columns.amounts.values()
        cells = plain(block, lines.delimiter, columns.width, used)
        values = {} if cells is None else self._values(cells)
        if cells is None or values is None:
            self.read_one_by_one(text.split_rows(lines.within(block)), lines)
            return
        numbers = lines.number + 1 + np.arange(len(cells.start))
        self._add(cells.words(columns.ends, self.long), values, numbers)
        lines.number += len(numbers)

    def _values(self, cells: Cells) -> dict[str, Part] | None:
        """Return the amounts of all rows, None if one is not written as most are."""
        found: dict[str, Part] = {}
        for name, column in self.columns.amounts.items():
            values = cells.values(column)
            if values is None:
                return None
            if name != "cost" and (values.dtype != np.int64 or values.min(initial=0) < 0):
                return None
            found[name] = values
        return found

    def read_one_by_one(self, table: Iterable[list[str]], lines: Lines) -> None:
        """Read any rows, or say what is wrong with one."""
        width = self.columns.width
        tail, head = self.columns.ends
        ends, numbers = list[tuple[str, str]](), list[int]()
        values: dict[str, list[int | float]] = {name: [] for name in self.columns.amounts}
        for row in table:
            if len(row) != width:
                raise LineError(lines.number, f"{len(row)} columns where the first row has {width}")
            if not row[tail] or not row[head]:
                raise LineError(lines.number, "a label is empty")
            ends.append((row[tail], row[head]))
            numbers.append(lines.number)
            for name, column in self.columns.amounts.items():
                values[name].append(self._amount(name, row[column], lines.number))
        self._add(Cells.of(ends, 2).words((0, 1), self.long), values, numbers)

    def _amount(self, name: str, cell: str, line: int) -> int | float:
        if name != "cost":
            return text.amount_of(cell, line, name)
        amount = cost_of(cell, line, self.columns.cost_name)
        refuse_infinite(amount, line, self.maximise)
        if self.columns.is_flow and math.isinf(amount):
            raise LineError(line, "the cost is infinite: leave the arc out")
        return amount

    def _add(self, words: Words, values: Mapping[str, Part], lines: Part) -> None:
        if not len(words):
            return
        self.words.append(words)
        for name, part in values.items():
            row = np.asarray(part)
            # Other types are of numbers beyond 64 bits, and these stay as they are.
            self.parts[name].append(row if row.dtype.kind in "if" else part)
        if "cost" in self.parts:
            self.lines.append(np.asarray(lines))


class _Edges:
    """The rows of an edge list as numbers."""

    def __init__(self, rows: _Rows) -> None:
        self.columns = rows.columns
        self.amounts = {name: _row_of(parts) for name, parts in rows.parts.items()}
        self.lines = rows.lines
        self._long = rows.long
        words = joined(rows.words)
        # Nodes are numbered as they first appear.
        if self.columns.is_flow:
            self.left, numbers = numbered(words.reshape(-1, words.shape[-1]))
            self.right, (self.tail, self.head) = self.left, numbers.reshape(-1, 2).T
        else:
            self.left, self.tail = numbered(words[:, 0])
            self.right, self.head = numbered(words[:, 1])
        self._rows_skipped = self._labels_skipped = 0

    def starts_with_header(self) -> bool:
        """Tell whether the first row, read as an edge, was a header; see `ReadOptions.header`."""
        # A header's words do not reappear as labels …
        if self._num_cells(self.tail[0], self.head[0]) > 2:
            return False
        if self.columns.has_word:
            return True
        # … and stand above integers without being any.
        tops, sides = self._num_top_labels(), (self.left, self.right)
        if any(integers(label[None]) is not None for side in sides for label in side[:tops]):
            return False
        return len(self.left) > tops and all(self._are_integers(side[tops:]) for side in sides)

    def _are_integers(self, words: Words) -> bool:
        return all(map(INTEGER.fullmatch, texts(words, self._long)))

    def _num_cells(self, tail: int, head: int) -> int:
        """Count the cells with a label of the first row: in its column or, for flows, in both."""
        ends = self.tail, self.head
        if self.columns.is_flow:
            return sum(int((column == x).sum()) for column in ends for x in {tail, head})
        return int((self.tail == tail).sum() + (self.head == head).sum())

    def _num_top_labels(self) -> int:
        """Count the labels that the first row adds to each numbering."""
        return len({self.tail[0], self.head[0]}) if self.columns.is_flow else 1

    def skip_first(self) -> None:
        """Drop the first row, whose labels appear in no other row."""
        self._rows_skipped, self._labels_skipped = 1, self._num_top_labels()

    def labels(self, side: Words) -> list[Label] | WideArray:
        """Return the labels of a side; see `text.as_integers`."""
        words = side[self._labels_skipped :]
        values = integers(words)
        return text.as_integers(texts(words, self._long)) if values is None else values

    def ends(self) -> list[IntArray]:
        """Return the node numbers of tails and heads."""
        columns = self.tail, self.head
        return [column[self._rows_skipped :] - np.int32(self._labels_skipped) for column in columns]


def _row_of(parts: list[Part]) -> Part:
    """Return all parts as one row."""
    if any(isinstance(part, list) for part in parts):
        return [x for part in parts for x in (part if isinstance(part, list) else part.tolist())]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _graph(edges: _Edges, is_declared: bool, options: ReadOptions) -> BipartiteGraph:
    left, right = edges.ends()
    left_labels, right_labels = edges.labels(edges.left), edges.labels(edges.right)
    if not is_declared:
        remedy = "a header line left,right declares the columns separate sides"
        text.refuse_shared((left_labels, right_labels), zip(left, right, strict=True), remedy)
    left_labels, (left,) = text.ascending(left_labels, left)
    right_labels, (right,) = text.ascending(right_labels, right)
    sizes = len(left_labels), len(right_labels)
    if "cost" not in edges.amounts:
        return BipartiteGraph(*sizes, left, right, left_labels, right_labels)
    given = edges.amounts["cost"]
    exists, costs = of_edges(given, sum(sizes) + 2, bool(options.maximise))
    if exists is not None:
        left, right = left[exists], right[exists]
    try:
        return BipartiteGraph(*sizes, left, right, left_labels, right_labels, costs=costs)
    except InputError:
        _refuse_two_costs(edges)  # which knows the line
        raise


def _refuse_two_costs(edges: _Edges) -> None:
    """Raise LineError where an edge is given again with another cost."""
    seen: dict[tuple[int, int], int | float] = {}
    costs, lines = edges.amounts["cost"], chain.from_iterable(edges.lines)
    for u, v, cost, line in zip(edges.tail, edges.head, costs, lines, strict=True):
        if seen.setdefault((u, v), cost) != cost:
            # A whole number among fractions has become one of them.
            before, here = (str(x).removesuffix(".0") for x in (seen[u, v], cost))
            told = f"{before} before and {here} here"
            raise LineError(line, f"this edge has two costs, {told}")


def _network(edges: _Edges, options: ReadOptions) -> FlowNetwork | CostNetwork:
    labels, (tail, head) = text.ascending(edges.labels(edges.left), *edges.ends())
    capacity = np.asarray(edges.amounts.get("capacity", np.ones(len(tail), np.int64)))
    costs, lower = edges.amounts.get("cost"), edges.amounts.get("lower bound")
    if costs is not None or lower is not None or options.supply is not None:
        return cost_network(labels, (tail, head, capacity), costs, options, lower=lower)
    ends = text.ends_by_label(labels, options)
    return FlowNetwork.from_arcs(len(labels), tail, head, capacity, **ends, labels=labels)


def write_edge_list(graph: Graph, file: IO[bytes], delimiter: str) -> None:
    """Write a row for each edge or arc, below a header that lets the file be read back."""
    if isinstance(graph, BipartiteGraph):
        header, table = _edge_rows(graph, delimiter)
    else:
        header, table = _arc_rows(graph, delimiter)
    file.writelines((delimiter.join(row) + "\n").encode() for row in chain([header], table))


Table = tuple[list[str], Iterable[Iterable[str]]]
"""A header and its rows."""


def _edge_rows(graph: BipartiteGraph, delimiter: str) -> Table:
    left = _cells(graph.left_labels or range(graph.num_left), delimiter)
    right = _cells(graph.right_labels or range(graph.num_right), delimiter)
    pairs = ((left[u], right[v]) for u, v in graph.pairs())
    if graph.costs is None:
        return ["left", "right"], pairs
    costs = edge_costs(graph.costs)
    header = ["left", "right", _cost_name(graph.costs)]
    return header, ((*pair, str(cost)) for pair, cost in zip(pairs, costs, strict=True))


def _arc_rows(network: FlowNetwork | CostNetwork, delimiter: str) -> Table:
    cells = _cells(network.labels or range(network.num_nodes), delimiter)
    if isinstance(network, FlowNetwork):
        table = ((cells[u], cells[v], str(c)) for u, v, c in written_arcs(network))
        return ["tail", "head", "capacity"], table
    if network.supply is not None:
        raise InputError("an edge list cannot hold supplies: use .min, .json or .npz")
    name = _cost_name(network.costs)
    table = ((cells[u], cells[v], str(c), str(cost)) for u, v, _, c, cost in arc_lines(network))
    return ["tail", "head", "capacity", name], table


def _cost_name(costs: Costs) -> str:
    return "profit" if costs.maximise else "cost"


def written_arcs(network: FlowNetwork) -> Iterator[tuple[int, int, int]]:
    """Yield (tail, head, capacity) in node numbers; see `arcs_of`."""
    tail, head, capacity = arcs_of(network)
    return zip(tail.tolist(), head.tolist(), capacity.tolist(), strict=True)


def arcs_of(network: FlowNetwork) -> tuple[IntArray, IntArray, WideArray]:
    """Return tails, heads and capacities, including one arc of each pair without any capacity."""
    is_written = network.capacity > 0
    is_written[::2] |= ~is_written[1::2]
    return network.sender[is_written], network.receiver[is_written], network.capacity[is_written]


def _cells(labels: Sequence[Label], delimiter: str) -> list[str]:
    texts = [str(label) for label in labels]
    if len(set(texts)) < len(texts):
        raise InputError("two labels have the same text, an edge list cannot tell them apart")
    lost = next((x for x in texts if x != x.strip() or not x or set(x) & set("\0\n\r")), None)
    if lost is not None:
        raise InputError(f"an edge list cannot hold the label {reprlib.repr(lost)}")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise InputError("a label cannot be written in UTF-8") from None
    return [csv_cell(x, delimiter) for x in texts]


def csv_cell(label: str, delimiter: str = ",") -> str:
    r"""Return a label as a CSV cell that reads back unchanged.

    >>> csv_cell("ann"), csv_cell("ann, bob"), csv_cell("#1")
    ('ann', '"ann, bob"', '"#1"')
    """
    if delimiter in label or '"' in label or label[:1] in "#%" or set(label) & set("\r\n"):
        return '"' + label.replace('"', '""') + '"'
    return label
