"""Rows of two labels become a `BipartiteGraph`, with a capacity a `FlowNetwork`.

Nodes are numbered as they first appear, unless the labels of a side all look like integers: then
they become integers in ascending order. Below a header, columns named as costs, capacities or
lower bounds hold these; for columns without a name, the options say. A flow network is read if a
column is called capacity, or if the options say so, and with costs it is a `CostNetwork`. A header
is recognised by its words, or by standing above nothing but integers, which takes a look at the
other rows. A long file is read many lines at a time: see `blocks`.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import IO

import numpy as np

from augury.classical.cost_network import CostNetwork
from augury.classical.costs import of_edges
from augury.classical.formats import text
from augury.classical.formats.blocks import Blocks, Edges, Rows, as_row
from augury.classical.formats.costs import (
    check_sense,
    cost_network,
    cost_of,
    ignored_costs,
    is_cost,
    is_remark,
    refuse_infinite,
    two_readings,
)
from augury.classical.formats.labelled_matrix import look_at, read_labelled_matrix
from augury.classical.formats.text import INTEGER, Lines, ReadOptions
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.files import LineError

SHORT = 2**11
"""Up to this many bytes a file is read row by row: faster than a few dozen calls on arrays."""


def read_edge_list(file: IO[bytes], options: ReadOptions, separators: str = ",\t;") -> Graph:
    """Read an edge list or a labelled matrix; see the module's docstring."""
    is_short = file.seek(0, os.SEEK_END) <= SHORT
    table = text.rows(Lines(file, "#%"), separators)
    begun = list(islice(table, 2))
    if begun and is_matrix(begun[0], chain(begun[1:], table), options):
        return read_labelled_matrix(file, options, separators)
    lines = Lines(file, "#%")
    table = text.rows(lines, separators)
    first = next(table, None)
    if first is None:
        raise InputError("there is neither an edge nor a header line")
    first_line = lines.number
    columns = columns_of(first, options, first_line)
    read = partial(_read, lines=lines, columns=columns, maximise=options.maximise)
    edge = [] if columns.has_header else [first]
    if is_short:
        edges = _numbered(read(chain(edge, table)), columns)
    else:
        blocks = Blocks(lines, columns, read)
        blocks.add(edge)
        for block in lines.blocks():
            blocks.read(block)
        edges = blocks.edges()
    if edges.has_header:
        _refuse_unknown(begun, columns, options, first_line)
    elif columns.has_header is None:
        refuse_width(columns.width, columns.is_flow, options, first_line)
    if columns.is_flow:
        return _network(edges, options)
    is_declared = edges.has_header and [w.casefold() for w in first[:2]] == ["left", "right"]
    return _graph(edges, is_declared, options)


def _read(
    table: Iterable[list[str]], lines: Lines, columns: Columns, maximise: bool | None
) -> Rows:
    """Read rows one by one, or say what is wrong with one."""
    width, (tail, head), amounts = columns.width, columns.ends, columns.amounts
    rows = Rows([], {name: [] for name in amounts}, [])
    for row in table:
        if len(row) != width:
            raise LineError(lines.number, f"{len(row)} columns where the first row has {width}")
        if not row[tail] or not row[head]:
            raise LineError(lines.number, "a label is empty")
        rows.ends.append((row[tail], row[head]))
        rows.lines.append(lines.number)
        for name, column in amounts.items():
            amount = _amount(name, row[column], lines.number, columns, maximise)
            rows.amounts[name].append(amount)
    return rows


def _amount(
    name: str, cell: str, line: int, columns: Columns, maximise: bool | None
) -> int | float:
    if name != "cost":
        return text.amount_of(cell, line, name)
    amount = cost_of(cell, line, columns.cost_name)
    refuse_infinite(amount, line, maximise)
    if columns.is_flow and math.isinf(amount):
        raise LineError(line, "the cost is infinite: leave the arc out")
    return amount


def _numbered(rows: Rows, columns: Columns) -> Edges:
    """Number the labels of a few rows as they first appear."""
    ends, has_header = rows.ends, columns.has_header
    if has_header is None:
        top = ends[0]
        tails, heads = {u for u, _ in ends[1:]}, {v for _, v in ends[1:]}
        if columns.is_flow:
            tails = heads = tails | heads
        has_header = columns.names(top, top[0] in tails or top[1] in heads, tails | heads)
        ends = ends[has_header:]
    left: dict[str, int] = {}
    right = left if columns.is_flow else dict[str, int]()
    numbers = [(left.setdefault(u, len(left)), right.setdefault(v, len(right))) for u, v in ends]
    tail, head = np.array(numbers, np.int32).reshape(-1, 2).T
    amounts = {name: as_row(own) for name, own in rows.amounts.items()}
    return Edges(tail, head, list(left), list(right), amounts, rows.lines, has_header)


def _graph(edges: Edges, is_declared: bool, options: ReadOptions) -> BipartiteGraph:
    left, right = edges.tail, edges.head
    left_labels, right_labels = text.as_integers(edges.left), text.as_integers(edges.right)
    if not is_declared:
        remedy = "a header line left,right declares the columns separate sides"
        text.refuse_shared((left_labels, right_labels), zip(left, right, strict=True), remedy)
    left_labels, (left,) = text.ascending(left_labels, left)
    right_labels, (right,) = text.ascending(right_labels, right)
    if "cost" not in edges.amounts:
        return BipartiteGraph.of_known(left, right, left_labels, right_labels)
    sizes = len(left_labels), len(right_labels)
    given = edges.amounts["cost"]
    exists, costs = of_edges(given, sum(sizes) + 2, bool(options.maximise))
    if exists is not None:
        left, right = left[exists], right[exists]
    try:
        return BipartiteGraph(*sizes, left, right, left_labels, right_labels, costs=costs)
    except InputError:
        _refuse_two_costs(edges)  # which knows the line
        raise


def _refuse_two_costs(edges: Edges) -> None:
    """Raise LineError where an edge is given again with another cost."""
    seen: dict[tuple[int, int], int | float] = {}
    columns = edges.tail, edges.head, edges.amounts["cost"], edges.lines
    for u, v, cost, line in zip(*columns, strict=True):
        if seen.setdefault((u, v), cost) != cost:
            # A whole number among fractions has become a float.
            before, here = (str(x).removesuffix(".0") for x in (seen[u, v], cost))
            told = f"{before} before and {here} here"
            raise LineError(line, f"this edge has two costs, {told}")


def _network(edges: Edges, options: ReadOptions) -> FlowNetwork | CostNetwork:
    labels, (tail, head) = text.ascending(text.as_integers(edges.left), edges.tail, edges.head)
    capacity = np.asarray(edges.amounts.get("capacity", np.ones(len(tail), np.int64)))
    costs, lower = edges.amounts.get("cost"), edges.amounts.get("lower bound")
    if costs is not None or lower is not None or options.supply is not None:
        return cost_network(labels, (tail, head, capacity), costs, options, lower=lower)
    ends = text.ends_by_label(labels, options)
    return FlowNetwork.from_arcs(len(labels), tail, head, capacity, **ends, labels=labels)


CAPACITY_WORDS = frozenset({"capacity", "capacities", "cap"})
LOWER_WORDS = frozenset({"lower", "lower bound", "lower_bound"})
_HEADERS = """
    left right source sources target targets from to tail head u v x y row rows col column columns
    i j src dst dest destination origin sender receiver start end parent child node node1 node2 id
    worker workers job jobs person people task tasks applicant applicants position positions
    student students project projects school schools user users item items agent agents resource
    resources name names employee machine skill shift teacher course class room candidate seat
    patient donor hospital driver rider buyer seller flow weight
"""
HEADER_WORDS = CAPACITY_WORDS | LOWER_WORDS | frozenset(_HEADERS.split())


def is_matrix(first: list[str], table: Iterator[list[str]], options: ReadOptions) -> bool:
    """Tell a labelled matrix from a list of edges, by its first row and the others.

    Raises:
        InputError: it could be either, with different answers.
    """
    if len(first) > 1 and not first[0]:
        return options.header is not False
    words = [word.casefold() for word in first]
    speaks_of_edges = any(len(w) > 1 and (w in HEADER_WORDS or is_cost(w)) for w in words[1:])
    if len(first) < 3 or options.header is not None or speaks_of_edges:
        return False
    if any(map(_is_number, words)):
        return False
    look = look_at(table, len(first))
    if look.is_matrix and look.is_edges and (look.has_numbers or words[0] in HEADER_WORDS):
        raise InputError(
            "this may be a matrix with labels or edges below a header: leave the first cell empty "
            "for a matrix, or use --header for edges"
        )
    return look.is_matrix


@dataclass(frozen=True)
class Columns:
    """What each column of an edge list holds."""

    width: int
    ends: tuple[int, int]
    capacity: int | None
    cost: int | None
    lower: int | None
    """Lower bounds of the flow."""
    is_flow: bool
    has_header: bool | None
    """None: only the other rows can tell."""
    has_word: bool
    """Whether the first row holds a word that is usual in a header."""
    cost_name: str = ""

    def names(self, top: Sequence[str], recurs: bool, rest: Iterable[str]) -> bool:
        """Tell whether the first row is a header; see `ReadOptions.header`.

        `top` are its labels, `rest` those of the other rows; `recurs`: one of `top` is there too.
        """
        # A header's words do not reappear as labels …
        if recurs or self.has_word:
            return not recurs
        # … and stand above integers without being any.
        if any(map(INTEGER.fullmatch, top)):
            return False
        below = [INTEGER.fullmatch(label) is not None for label in rest]
        return bool(below) and all(below)

    @property
    def amounts(self) -> dict[str, int]:
        """The columns of numbers, by what they hold."""
        found = {"capacity": self.capacity, "cost": self.cost, "lower bound": self.lower}
        return {name: column for name, column in found.items() if column is not None}


def columns_of(first: list[str], options: ReadOptions, line: int) -> Columns:
    """Work out from the first row, which may be a header, what the columns of an edge list hold.

    Raises:
        LineError: there are too few columns, too many, or unwanted costs.
    """
    words = [cell.casefold() for cell in first]
    costs = [len(words) > 2 and is_cost(word) for word in words]
    known = [word in HEADER_WORDS or cost for word, cost in zip(words, costs, strict=True)]
    # A single letter may well be a node; a pair such as u, v is a header.
    has_word = all(known[:2]) or any(k and len(w) > 1 for k, w in zip(known, words, strict=True))
    has_header = _has_header(words, has_word, options)
    if not has_header:
        costs = [False] * len(words)
    capacity = _named(words, CAPACITY_WORDS) if has_header else None
    if options.flow and capacity is None and len(words) > 2:
        capacity = _said_capacity(costs, options, line)
    is_flow = options.flow or capacity is not None
    lower = _named(words, LOWER_WORDS) if has_header and is_flow else None
    others = [i for i in range(len(words)) if i not in (capacity, lower)]
    others.sort(key=costs.__getitem__)  # an end is no cost, whichever column comes first
    if len(others) < 2:
        raise LineError(line, "an edge needs two columns" + (" and a capacity" if is_flow else ""))
    cost = _cost_column(first, [i for i in others[2:] if costs[i]], options, line)
    if options.costs and cost is None and not options.ignore_costs:
        if len(others) < 3:
            raise LineError(line, "there is no column of costs")
        cost = others[2]
    if has_header is False:
        refuse_width(len(words), is_flow, options, line)
    ends = others[0], others[1]
    name = first[cost] if has_header and cost is not None else ""
    kinds = capacity, cost, lower, is_flow, has_header, has_word
    return Columns(len(words), ends, *kinds, name)


def _said_capacity(costs: list[bool], options: ReadOptions, line: int) -> int:
    """Return the column that holds capacities, since the options say that one does."""
    if not options.costs:
        return costs.index(True) if True in costs else 2
    free = [i for i in range(2, len(costs)) if not costs[i]]
    if not free or len(costs) < 4:
        raise LineError(line, "an arc of a flow of least cost needs a capacity and a cost")
    return free[0]


def _named(words: list[str], names: frozenset[str]) -> int | None:
    return next((i for i, word in enumerate(words) if word in names), None)


def _cost_column(names: list[str], costs: list[int], options: ReadOptions, line: int) -> int | None:
    """Return the one column named as a cost, if any."""
    if not costs or options.ignore_costs:
        return None
    name = reprlib.repr(names[costs[0]])
    if options.costs is False:
        raise ignored_costs(f"the column {name}", line)
    if len(costs) > 1:
        told = f"the columns {name} and {reprlib.repr(names[costs[1]])} may both be costs"
        raise LineError(line, f"{told}: leave one out, or give it another name")
    try:
        check_sense(names[costs[0]], options.maximise)
    except InputError as error:
        raise LineError(line, str(error)) from None
    return costs[0]


def _has_header(words: list[str], has_word: bool, options: ReadOptions) -> bool | None:
    if options.header is not None:
        return options.header
    if any(_is_number(word) for word in words):
        return False
    if words[:2] == ["left", "right"] or CAPACITY_WORDS & set(words):
        return True
    if len(words) > 2 and (has_word or options.flow):
        return has_word
    if len(words) > 2 and options.costs:
        return True  # or one of its cells would be a cost
    return None


def refuse_width(width: int, is_flow: bool, options: ReadOptions, line: int) -> None:
    """Raise LineError for unexplained columns, unless `ignore_costs` drops them."""
    if width <= 2 + is_flow + bool(options.costs) or options.ignore_costs:
        return
    told = f"there are {width} columns without a header"
    if options.costs:
        most = "tail, head, capacity and cost are four" if is_flow else "left, right and cost three"
        raise LineError(line, f"{told}; {most}")
    if is_flow:
        fourth = f"tail, head and capacity are three; {told}"
        raise two_readings(fourth, line) if width == 4 else LineError(line, fourth)
    if width == 3:
        told += ", and the third may hold costs or capacities"
    raise two_readings(told, line, capacities=True)


def _refuse_unknown(
    begun: list[list[str]], columns: Columns, options: ReadOptions, line: int
) -> None:
    """Raise LineError for a column of numbers whose name says nothing: costs, or a remark?"""
    if options.costs is not None or options.ignore_costs or columns.cost is not None:
        return
    known = {*columns.ends, *columns.amounts.values()}
    for column, (name, *below) in enumerate(zip(*begun, strict=False)):
        is_open = column not in known and not is_remark(name)
        if is_open and any(map(_is_number, below)):
            told = f"the column {reprlib.repr(name)} holds numbers, which may be costs or not"
            raise two_readings(told, line)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
