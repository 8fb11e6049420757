"""Rows of two labels become a `BipartiteGraph`, with a capacity a `FlowNetwork`, and back.

Nodes are numbered as they first appear, unless the labels of a side all look like integers: then
they become integers in ascending order. A flow network is read if a column is called capacity, or
if the options say so. A header is recognised by its words, or by standing above integers only,
which takes a look at the other rows. Costs are refused unless the options say to ignore them.
"""

from __future__ import annotations

import re
import reprlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import IO, cast

import numpy as np

from augury.classical.arrays import IntArray, WideArray
from augury.classical.formats import text
from augury.classical.formats.labelled_matrix import look_at, read_labelled_matrix
from augury.classical.formats.text import INTEGER, Lines, ReadOptions
from augury.classical.graph import BipartiteGraph, Label
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.files import LineError

CAPACITY_WORDS = frozenset({"capacity", "capacities", "cap"})
_COSTS = """
    cost costs weight weights price prices value values score scores rank ranks rating ratings
    preference preferences distance distances dist profit profits utility utilities penalty
    penalties fee fees wage wages salary expense expenses reward rewards benefit benefits
    similarity affinity
"""
COST_WORDS = frozenset(_COSTS.split())
"""Words in column names whose values a matching of greatest cardinality would ignore."""
_HEADERS = """
    left right source sources target targets from to tail head u v x y row rows col column columns
    i j src dst dest destination origin sender receiver start end parent child node node1 node2 id
    worker workers job jobs person people task tasks applicant applicants position positions
    student students project projects school schools user users item items agent agents resource
    resources name names employee machine skill shift teacher course class room candidate seat
    patient donor hospital driver rider buyer seller flow weight
"""
HEADER_WORDS = CAPACITY_WORDS | frozenset(_HEADERS.split())


def read_edge_list(file: IO[bytes], options: ReadOptions, separators: str = ",\t;") -> Graph:
    """Read an edge list or a labelled matrix; see the module's docstring."""
    table = text.rows(Lines(file, "#%"), separators)
    if is_matrix(next(table, list[str]()), table, options):
        return read_labelled_matrix(file, options, separators)
    lines = Lines(file, "#%")
    table = text.rows(lines, separators)
    first = next(table, None)
    if first is None:
        raise InputError("there is neither an edge nor a header line")
    first_line = lines.number
    columns = columns_of(first, options, first_line)
    edges = _Edges(columns)
    edges.read(table if columns.has_header else chain([first], table), lines)
    has_header = columns.has_header
    if has_header is None:
        has_header = edges.starts_with_header()
        if has_header:
            edges.skip_first()
        else:
            refuse_width(columns.width, columns.is_flow, options, first_line)
    if columns.is_flow:
        return _network(edges, options)
    return _graph(edges, has_header and [w.casefold() for w in first[:2]] == ["left", "right"])


def is_cost(name: str) -> bool:
    """Tell whether a column's name suggests costs.

    >>> is_cost("Unit cost"), is_cost("day")
    (True, False)
    """
    return not COST_WORDS.isdisjoint(re.split(r"[\W_]+", name.casefold()))


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
    is_flow: bool
    has_header: bool | None
    """None: only the other rows can tell."""
    has_word: bool
    """Whether the first row holds a word that is usual in a header."""


def columns_of(first: list[str], options: ReadOptions, line: int) -> Columns:
    """Work out from the first row, which may be a header, what the columns of an edge list hold.

    Raises:
        LineError: there are too few columns, too many, or a column of costs.
    """
    words = [cell.casefold() for cell in first]
    costs = [len(words) > 2 and is_cost(word) for word in words]
    known = [word in HEADER_WORDS or cost for word, cost in zip(words, costs, strict=True)]
    # A single letter may well be a node; a pair such as u, v is a header.
    has_word = all(known[:2]) or any(k and len(w) > 1 for k, w in zip(known, words, strict=True))
    has_header = _has_header(words, has_word, options)
    capacity = next((i for i, word in enumerate(words) if word in CAPACITY_WORDS), None)
    capacity = capacity if has_header else None
    if options.flow and capacity is None and len(words) > 2:
        capacity = costs.index(True) if has_header and True in costs else 2
    is_flow = options.flow or capacity is not None
    others = [i for i in range(len(words)) if i != capacity]
    if has_header:
        others.sort(key=costs.__getitem__)  # an end is no cost, whichever column comes first
    if len(others) < 2:
        raise LineError(line, "an edge needs two columns" + (" and a capacity" if is_flow else ""))
    cost = next((first[i] for i in others[2:] if costs[i] and has_header), None)
    if cost is not None and not options.ignore_costs:
        raise text.ignored_costs(f"the column {reprlib.repr(cost)}", line)
    if has_header is False:
        refuse_width(len(words), is_flow, options, line)
    return Columns(len(words), (others[0], others[1]), capacity, is_flow, has_header, has_word)


def _has_header(words: list[str], has_word: bool, options: ReadOptions) -> bool | None:
    if options.header is not None:
        return options.header
    if any(_is_number(word) for word in words):
        return False
    if words[:2] == ["left", "right"] or CAPACITY_WORDS & set(words):
        return True
    if len(words) > 2 and (has_word or options.flow):
        return has_word
    return None


def refuse_width(width: int, is_flow: bool, options: ReadOptions, line: int) -> None:
    """Raise LineError for unexplained columns, unless `ignore_costs` drops them."""
    if width <= (3 if is_flow else 2) or options.ignore_costs:
        return
    remedy = "tail, head and capacity are three"
    if not is_flow:
        remedy = (
            "use --flow to read the third as capacity, or --ignore-costs to leave it out, "
            "for a matching of greatest cardinality has no costs"
        )
    raise LineError(line, f"there are {width} columns without a header; {remedy}")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


class _Edges:
    """The rows of an edge list as numbers."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.tail, self.head, self.capacity = array("i"), array("i"), array("q")
        # Nodes are numbered as they first appear.
        self.left = defaultdict[Label, int](count().__next__)
        self.right = self.left if columns.is_flow else defaultdict[Label, int](count().__next__)
        self._rows_skipped = self._labels_skipped = 0

    def read(self, table: Iterable[list[str]], lines: Lines) -> None:
        """Read all rows; the loop that a million edges go through."""
        width, capacity = self.columns.width, self.columns.capacity
        tail, head = self.columns.ends
        for row in table:
            if len(row) != width:
                raise LineError(lines.number, f"{len(row)} columns where the first row has {width}")
            if not row[tail] or not row[head]:
                raise LineError(lines.number, "a label is empty")
            self.tail.append(self.left[row[tail]])
            self.head.append(self.right[row[head]])
            if capacity is not None:
                self.capacity.append(text.amount_of(row[capacity], lines.number))

    def starts_with_header(self) -> bool:
        """Tell whether the first row, read as an edge, was a header; see `ReadOptions.header`."""
        # A header's words do not reappear as labels …
        if self._num_cells(self.tail[0], self.head[0]) > 2:
            return False
        if self.columns.has_word:
            return True
        # … and stand above integers without being any.
        tops = self._num_top_labels()
        sides = [list(map(_is_integer, self.left)), list(map(_is_integer, self.right))]
        others = [is_integer for side in sides for is_integer in side[tops:]]
        return bool(others) and all(others) and not any(x for side in sides for x in side[:tops])

    def _num_cells(self, tail: int, head: int) -> int:
        """Count the cells with a label of the first row: in its column or, for flows, in both."""
        if self.columns.is_flow:
            return sum(column.count(x) for column in (self.tail, self.head) for x in {tail, head})
        return self.tail.count(tail) + self.head.count(head)

    def _num_top_labels(self) -> int:
        """Count the labels that the first row adds to each numbering."""
        return len({self.tail[0], self.head[0]}) if self.columns.is_flow else 1

    def skip_first(self) -> None:
        """Drop the first row, whose labels appear in no other row."""
        self._rows_skipped, self._labels_skipped = 1, self._num_top_labels()

    def labels(self, index: dict[Label, int]) -> list[Label]:
        """Return the labels of a side; see `text.as_integers`."""
        labels = list(index)[self._labels_skipped :]
        index.clear()  # do not keep the texts beside the integers
        return text.as_integers(labels)

    def ends(self) -> list[IntArray]:
        """Return the node numbers of tails and heads."""
        columns = np.asarray(self.tail), np.asarray(self.head)
        return [column[self._rows_skipped :] - np.int32(self._labels_skipped) for column in columns]


def _is_integer(label: Label) -> bool:
    return INTEGER.fullmatch(cast("str", label)) is not None


def _graph(edges: _Edges, is_declared: bool) -> BipartiteGraph:
    left, right = edges.ends()
    left_labels, right_labels = edges.labels(edges.left), edges.labels(edges.right)
    if not is_declared:
        remedy = "a header line left,right declares the columns separate sides"
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        text.refuse_shared((left_labels, right_labels), pairs, remedy)
    left_labels, (left,) = text.ascending(left_labels, left)
    right_labels, (right,) = text.ascending(right_labels, right)
    sizes = len(left_labels), len(right_labels)
    return BipartiteGraph(*sizes, left, right, left_labels, right_labels)


def _network(edges: _Edges, options: ReadOptions) -> FlowNetwork:
    labels, (tail, head) = text.ascending(edges.labels(edges.left), *edges.ends())
    has_capacity = edges.columns.capacity is not None
    capacity = np.asarray(edges.capacity) if has_capacity else np.ones(len(tail), np.int64)
    ends = text.ends_by_label(labels, options)
    return FlowNetwork.from_arcs(len(labels), tail, head, capacity, **ends, labels=labels)


def write_edge_list(graph: Graph, file: IO[bytes], delimiter: str) -> None:
    """Write a row for each edge or arc, below a header that lets the file be read back."""
    if isinstance(graph, FlowNetwork):
        cells = _cells(graph.labels or range(graph.num_nodes), delimiter)
        header = ("tail", "head", "capacity")
        table = ((cells[u], cells[v], str(c)) for u, v, c in written_arcs(graph))
    else:
        left = _cells(graph.left_labels or range(graph.num_left), delimiter)
        right = _cells(graph.right_labels or range(graph.num_right), delimiter)
        header, table = ("left", "right"), ((left[u], right[v]) for u, v in graph.pairs())
    file.writelines((delimiter.join(row) + "\n").encode() for row in chain([header], table))


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
