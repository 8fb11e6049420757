"""A file becomes a `BipartiteGraph` or a `FlowNetwork`, and either becomes a file again.

The format is found by content, then by name: Matrix Market, DIMACS maximum flow, edge lists (comma,
tab, semicolon or spaces), `.npz` and JSON, each also packed by gzip, also from standard input.
Whatever is wrong with a file is one `InputError` of one sentence that starts with the file and,
where there are lines, the line. Memory grows with what a file holds, not with what it claims.

What a format cannot hold: Matrix Market has no labels and no source and sink; DIMACS numbers the
nodes from 1; an edge list has no isolated nodes and no source and sink, numbers text labels as they
first appear, and turns labels that all look like integers into integers. Arc pairs come back as
`FlowNetwork.from_arcs` orders them.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import reprlib
import secrets
import shutil
import sys
import tempfile
import warnings
import zlib
from array import array
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from augury.classical.graph import BipartiteGraph, InputError, IntArray, Label, two_colouring
from augury.classical.network import MAX_CAPACITY, FlowNetwork, capacity_fault

Graph = BipartiteGraph | FlowNetwork

FREE_NODES = 1_000_000
"""A header can claim any number of nodes in a few bytes. This many are believed without edges …"""
NODES_PER_ENTRY = 16
"""… and this many more for each edge that the file really holds."""

SPOOL_BYTES = 2**24
"""Up to here an unpacked or piped file is kept in memory, beyond it on disk."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")
CAPACITY_WORDS = frozenset({"capacity", "capacities", "cap"})
HEADER_WORDS = CAPACITY_WORDS | frozenset(
    re.findall(
        r"\w+",
        """
        left right source sources target targets from to tail head u v x y row rows
        col column columns i j src dst dest destination origin sender receiver start
        end parent child node node1 node2 id worker workers job jobs person people
        task tasks applicant applicants position positions student students project
        projects school schools user users item items agent agents resource
        resources name names employee machine skill shift teacher course class room
        candidate seat patient donor hospital driver rider buyer seller flow weight
        """,
    )
)
ENDS = (("s", "t"), ("source", "sink"))
"""Labels that name source and sink by themselves."""


@dataclass(frozen=True)
class ReadOptions:
    """What the reader cannot see in the file itself."""

    flow: bool = False
    """Read a flow network where the format could also be a bipartite graph."""
    header: bool | None = None
    """Whether the first row of an edge list names the columns; None decides by looking."""
    source: str | None = None
    """The label of the source, as text; in matrices the node number from 0."""
    sink: str | None = None
    """The label of the sink, as text; in matrices the node number from 0."""


AS_FOUND = ReadOptions()


class LineError(InputError):
    """An InputError that knows its line; `named` turns it into a plain one."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def read_graph(path: str | Path, options: ReadOptions = AS_FOUND) -> Graph:
    """Read a graph in any of the formats above; `-` is standard input.

    Raises:
        InputError: the file cannot be opened or understood; one sentence says where and why.
    """
    with named(path), open_input(path) as file:
        return _reader(file, _ending(path))(file, options)


def write_graph(graph: Graph, path: str | Path) -> None:
    """Write a graph in the format of the file's ending, all of it or nothing.

    Raises:
        InputError: the format cannot hold such a graph, or the file cannot be written.
    """
    kind, ending = ("flow" if isinstance(graph, FlowNetwork) else "bipartite"), _ending(path)
    with named(path):
        if ending not in {known for _, known in WRITERS}:
            known = ", ".join(sorted({known for _, known in WRITERS}))
            raise InputError(f"the ending must be one of {known}, each also with .gz")
        writer = WRITERS.get((kind, ending))
        if writer is None:
            raise InputError(f"a {kind} graph cannot be written as {ending}, only a flow network")
        with atomic_file(path) as file:
            if str(path).endswith(".gz"):
                # Without a time stamp, equal graphs become equal files.
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    writer(graph, cast("IO[bytes]", packed))
            else:
                writer(graph, file)


@contextmanager
def named(path: str | Path) -> Generator[None]:
    """Put the file's name, and the line where one is known, in front of every complaint."""
    name = "standard input" if str(path) == "-" else str(path)
    try:
        yield
    except LineError as error:
        raise InputError(f"{name}, line {error.line}: {error}") from None
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except OSError as error:
        raise InputError(f"{name}: {_os_fault(error)}") from None
    except MemoryError:
        raise InputError(f"{name}: this does not fit in memory") from None


def _os_fault(error: OSError) -> str:
    words: dict[type[OSError], str] = {
        FileNotFoundError: "there is no such file or folder",
        IsADirectoryError: "this is a folder, not a file",
        PermissionError: "permission denied",
    }
    return words.get(type(error)) or (error.strerror or str(error)).lower()


@contextmanager
def open_input(path: str | Path) -> Generator[IO[bytes]]:
    """Open a file or standard input for reading, unpacked and seekable whatever it was."""
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
        if str(path) == "-":
            shutil.copyfileobj(sys.stdin.buffer, spool)
            file = cast("IO[bytes]", spool)
        else:
            file = Path(path).open("rb")  # noqa: SIM115  # closed below, by the same with as stdin's
        with file:
            if not file.seekable():
                shutil.copyfileobj(file, spool)
                file = cast("IO[bytes]", spool)
            file.seek(0)
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if not is_packed:
                yield file
                return
            with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as unpacked:
                _unpack(file, cast("IO[bytes]", unpacked))
                yield cast("IO[bytes]", unpacked)


def _unpack(file: IO[bytes], target: IO[bytes]) -> None:
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            shutil.copyfileobj(packed, target)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError("the gzip data is damaged or cut short") from None
    target.seek(0)


@contextmanager
def atomic_file(path: str | Path) -> Generator[IO[bytes]]:
    """Open a file for writing that takes its name only once all of it is written."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError
    if target.exists() and not target.is_file():
        # A pipe or a device has no name to take over.
        with target.open("wb") as file:
            yield file
        return
    # Not from tempfile, whose files only their owner may read.
    temporary = target.with_name(f".augury-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _ending(path: str | Path) -> str:
    return Path(str(path).lower().removesuffix(".gz")).suffix


Reader = Callable[[IO[bytes], ReadOptions], Graph]


def _reader(file: IO[bytes], ending: str) -> Reader:
    """Find the reader by what the file starts with, then by its ending."""
    start = file.read(4096).removeprefix(BYTE_ORDER_MARK).lstrip()
    if not start:
        raise InputError("the file is empty")
    found = next((reader for magic, reader in MAGIC if start.lower().startswith(magic)), None)
    if found is None and _is_dimacs(file):
        found = _read_dimacs
    file.seek(0)
    return found or READERS.get(ending, _edge_list_reader(ending))


def _is_dimacs(file: IO[bytes]) -> bool:
    """Tell whether comments lead to a problem line: `c` and `p` may also be labels of edges."""
    file.seek(0)
    for line in file:
        if line.strip() and line.split()[0] != b"c":
            return re.match(rb"\s*p\s+[a-z]+\s+\d+\s+\d+\s*$", line) is not None
    return False


class Lines(Iterator[str]):
    """The lines of a file as text, without blank lines and comments; `number` is the last one's."""

    def __init__(self, file: IO[bytes], comments: str) -> None:
        file.seek(0)
        file.seek(len(BYTE_ORDER_MARK) if file.read(3) == BYTE_ORDER_MARK else 0)
        self._lines = iter(file)
        self._comments = comments
        self.number = 0
        self.ends = "\r\n"

    def __next__(self) -> str:
        for raw in self._lines:
            self.number += 1
            try:
                line = raw.decode()
            except UnicodeDecodeError:
                raise LineError(self.number, "this is not text in UTF-8") from None
            if "\0" in line:
                raise LineError(self.number, "this is not text: it holds a zero byte")
            if line.strip() and line.lstrip()[0] not in self._comments:
                return line.strip(self.ends)
        raise StopIteration


def rows(lines: Lines, ending: str = "") -> Iterator[list[str]]:
    """Yield the cells of each line; the first line tells what separates them."""
    first = next(lines, None)
    if first is None:
        return
    bare = re.sub('"[^"]*"', "", first)
    separators = "\t,;" if ending == ".tsv" else ",\t;"
    delimiter = next((mark for mark in separators if mark in bare), " ")
    if delimiter == " ":
        lines.ends, first = " \t\r\n", first.strip()
    reader = csv.reader(
        chain([first], lines), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    try:
        for count, row in enumerate(reader, 1):
            # One quote too many must not swallow the lines after it.
            if reader.line_num != count:
                raise csv.Error("a quoted field is not closed on the line before")
            yield [cell.strip() for cell in row]
    except csv.Error as error:
        raise LineError(lines.number, str(error)) from None


def amount_of(text: str, line: int, what: str = "capacity") -> int:
    """Return a capacity written in text; whole numbers like 2.0 and 1e3 count, exactly."""
    if text.isdecimal() and text.isascii() and len(text) <= 18:
        return int(text)
    value: object = reprlib.repr(text)[1:-1]
    if re.fullmatch(r"[+-]?[0-9]{1,40}", text, re.ASCII):
        value = int(text)
    elif "_" not in text:
        with suppress(ValueError):
            value = float(text)
    fault = capacity_fault(value)
    # A float has rounded already: 0.1e-400 looks like 0 and 2**53 + 0.5 like a whole number.
    if not fault and Decimal(text) != Decimal(text).to_integral_value():
        fault = f"is {reprlib.repr(text)[1:-1]}, not a whole number"
    if fault:
        raise LineError(line, f"the {what} {fault}")
    return int(Decimal(text))


def refuse_claim(count: int, num_entries: int, what: str) -> None:
    """Raise InputError if so many nodes for so few edges can only be a mistake or an attack."""
    most = FREE_NODES + NODES_PER_ENTRY * num_entries
    if count > most:
        raise InputError(
            f"{count} {what} are claimed, but only {num_entries} edges follow; "
            f"at most {most} nodes are believed"
        )


class Numbering(dict[Label, int]):
    """The number of each label as it first appears; with a `place`, the labels are fixed."""

    place = ""

    def __missing__(self, label: Label) -> int:
        if self.place:
            raise InputError(f"{reprlib.repr(label)} is not among the {self.place}")
        self[label] = number = len(self)
        return number


class LabelFinder:
    """Finds a node by its label, or by the text of its label where only one node has that text."""

    def __init__(self, labels: Iterable[Label]) -> None:
        self._by_value = {label: number for number, label in enumerate(labels)}
        self._by_text: dict[str, int] | None = None

    def number(self, label: object) -> int | None:
        """Return the node's number, None where there is no such node or more than one."""
        label = _without_lists(label)
        # True == 1, but whoever writes true means no node.
        if isinstance(label, Hashable) and label is not True and label is not False:
            with suppress(KeyError, TypeError):  # a tuple may still hold what cannot be hashed
                return self._by_value[label]
        if self._by_text is None:
            self._by_text = {}
            for known, number in self._by_value.items():
                self._by_text[str(known)] = -1 if str(known) in self._by_text else number
        number = self._by_text.get(str(label), -1)
        return None if number < 0 else number


def _without_lists(label: object) -> object:
    """Return JSON's lists as tuples, which is what they were when a label was written."""
    if not isinstance(label, list):
        return label
    return tuple(_without_lists(part) for part in cast("list[object]", label))


def _ends_by_label(labels: Sequence[Label], options: ReadOptions) -> tuple[int, int]:
    """Return the numbers of source and sink: those asked for, else those with telling labels."""
    finder = LabelFinder(labels)
    asked = {"source": options.source, "sink": options.sink}
    for end, label in asked.items():
        if label is not None and finder.number(label) is None:
            raise InputError(f"the {end} {reprlib.repr(label)} is not a node of the network")
    for usual in ENDS:
        pair = [mine or other for mine, other in zip(asked.values(), usual, strict=True)]
        source, sink = (finder.number(label) for label in pair)
        if source is None or sink is None:
            continue
        if source == sink:
            raise InputError(f"source and sink are the same node, {reprlib.repr(pair[0])}")
        return source, sink
    raise InputError(
        "nothing says which nodes are source and sink: name them with --source, --sink"
    )


def _ascending(labels: list[Label], numbers: IntArray) -> tuple[list[Label], IntArray]:
    """Renumber nodes so that integer labels ascend; others keep the order of first appearance."""
    if not all(type(label) is int for label in labels):
        return labels, numbers
    order = sorted(range(len(labels)), key=cast("list[int]", labels).__getitem__)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return [labels[i] for i in order], rank[numbers]


def _refuse_shared(
    sides: tuple[Sequence[Label], Sequence[Label]], edges: Iterable[tuple[int, int]], remedy: str
) -> None:
    """Raise InputError if a text label stands on both sides: is that one node or two?"""
    if not all(any(isinstance(label, str) for label in side) for side in sides):
        return
    on_right = set(sides[1])
    shared = next((x for x in sides[0] if isinstance(x, str) and x in on_right), None)
    if shared is None:
        return
    neighbours: dict[Label, list[Label]] = {label: [] for label in chain(*sides)}
    for u, v in edges:
        neighbours[sides[0][u]].append(sides[1][v])
        neighbours[sides[1][v]].append(sides[0][u])
    two_colouring(cast("dict[Label, Iterable[Label]]", neighbours))
    raise InputError(f"the label {reprlib.repr(shared)} stands on both sides: {remedy}")


@dataclass
class _Columns:
    """Where an edge list keeps what."""

    width: int
    ends: tuple[int, int]
    capacity: int | None
    is_flow: bool
    has_header: bool | None
    """None: only the other rows can tell."""
    has_word: bool
    """Whether the first row holds a word that is usual in a header."""


def _columns(first: list[str], options: ReadOptions) -> _Columns:
    words = [cell.casefold() for cell in first]
    known = [word in HEADER_WORDS for word in words]
    # One letter alone may well be a node; a pair such as u, v is a header.
    has_word = all(known[:2]) or any(k and len(w) > 1 for k, w in zip(known, words, strict=True))
    has_header = options.header
    if has_header is None and any(_is_number(word) for word in words):
        has_header = False
    elif has_header is None and (words[:2] == ["left", "right"] or CAPACITY_WORDS & set(words)):
        has_header = True
    elif has_header is None and len(words) > 2 and (has_word or options.flow):
        has_header = has_word
    capacity = next((i for i, word in enumerate(words) if word in CAPACITY_WORDS), None)
    capacity = capacity if has_header else None
    if options.flow and capacity is None and len(words) > 2:
        capacity = 2
    is_flow = options.flow or capacity is not None
    others = [i for i in range(len(words)) if i != capacity]
    if len(others) < 2:
        raise LineError(0, "an edge needs two columns" + (" and a capacity" if is_flow else ""))
    if has_header is False and len(words) > (3 if is_flow else 2):
        raise LineError(0, _too_wide(len(words), is_flow))
    return _Columns(len(words), (others[0], others[1]), capacity, is_flow, has_header, has_word)


def _too_wide(width: int, is_flow: bool) -> str:
    if is_flow:
        return f"there are {width} columns without a header; tail, head and capacity are three"
    return f"there are {width} columns without a header; use --flow to read the third as capacity"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _EdgeList:
    """The rows read so far, as numbers."""

    def __init__(self, columns: _Columns) -> None:
        self.columns = columns
        self.tail, self.head, self.capacity = array("i"), array("i"), array("q")
        self.left = Numbering()
        self.right = self.left if columns.is_flow else Numbering()

    def read(self, table: Iterable[list[str]], lines: Lines) -> None:
        """Take in all rows; the loop that a million edges go through."""
        width, (tail, head), capacity = (
            self.columns.width,
            self.columns.ends,
            self.columns.capacity,
        )
        for row in table:
            if len(row) != width:
                raise LineError(lines.number, f"{len(row)} columns where line 1 has {width}")
            if not row[tail] or not row[head]:
                raise LineError(lines.number, "a label is empty")
            self.tail.append(self.left[row[tail]])
            self.head.append(self.right[row[head]])
            if capacity is not None:
                self.capacity.append(amount_of(row[capacity], lines.number))

    def starts_with_header(self) -> bool:
        """Tell whether the first row, read as an edge, was none; see `ReadOptions.header`."""
        top = {self.tail[0]}, {self.head[0]}
        if self.columns.is_flow:
            top = (top[0] | top[1],) * 2
        others = [
            label
            for index, skip in zip((self.left, self.right), top, strict=True)
            for label, number in index.items()
            if number not in skip
        ]
        first = next(iter(self.left)), list(self.right)[self.head[0]]
        if others and not any(map(_is_integer, first)) and all(map(_is_integer, others)):
            return True
        # A header's words do not come back as labels.
        times = sum(
            column.count(number)
            for column, skip in zip((self.tail, self.head), top, strict=True)
            for number in skip
        )
        return self.columns.has_word and times == 2

    def drop_first(self) -> None:
        """Forget the first row, whose labels no other row has."""
        shift = len({self.tail[0], self.head[0]}) if self.columns.is_flow else 1
        for index in (self.left,) if self.columns.is_flow else (self.left, self.right):
            labels = list(index)[shift:]
            index.clear()
            index.update((label, number) for number, label in enumerate(labels))
        self.tail = array("i", (np.array(self.tail[1:], np.int32) - shift).tobytes())
        self.head = array("i", (np.array(self.head[1:], np.int32) - shift).tobytes())


def _is_integer(label: Label) -> bool:
    return isinstance(label, str) and INTEGER.fullmatch(label) is not None


def _integers(index: Numbering) -> list[Label]:
    """Return the labels, as integers if every one is written as an integer is."""
    labels = list(index)
    if all(map(_is_integer, labels)):
        return [int(cast("str", label)) for label in labels]
    return labels


def _edge_list_reader(ending: str) -> Reader:
    def read(file: IO[bytes], options: ReadOptions) -> Graph:
        lines = Lines(file, "#%")
        table = rows(lines, ending)
        first = next(table, None)
        if first is None:
            raise InputError("there is neither an edge nor a header line")
        try:
            columns = _columns(first, options)
        except LineError as error:
            raise LineError(lines.number, str(error)) from None
        edges, first_line = _EdgeList(columns), lines.number
        edges.read(table if columns.has_header else chain([first], table), lines)
        if columns.has_header is None:
            columns.has_header = edges.starts_with_header()
            if columns.has_header:
                edges.drop_first()
            elif columns.width > 2:
                raise LineError(first_line, _too_wide(columns.width, columns.is_flow))
        if columns.is_flow:
            return _flow_of(edges, options)
        is_declared = columns.has_header and [w.casefold() for w in first[:2]] == ["left", "right"]
        return _bipartite_of(edges, is_declared)

    return read


def _bipartite_of(edges: _EdgeList, is_declared: bool) -> BipartiteGraph:
    sides = _integers(edges.left), _integers(edges.right)
    if not is_declared:
        remedy = "a header line left,right declares the columns separate sides"
        _refuse_shared(sides, zip(edges.tail, edges.head, strict=True), remedy)
    left_labels, left = _ascending(sides[0], np.array(edges.tail, np.int32))
    right_labels, right = _ascending(sides[1], np.array(edges.head, np.int32))
    return BipartiteGraph(
        len(left_labels), len(right_labels), left, right, left_labels, right_labels
    )


def _flow_of(edges: _EdgeList, options: ReadOptions) -> FlowNetwork:
    ends = np.array([edges.tail, edges.head], np.int32)
    labels, ends = _ascending(_integers(edges.left), ends)
    source, sink = _ends_by_label(labels, options)
    has_capacity = edges.columns.capacity is not None
    capacity = (
        np.array(edges.capacity, np.int64) if has_capacity else np.ones(ends.shape[1], np.int64)
    )
    return FlowNetwork.from_arcs(
        len(labels), ends[0], ends[1], capacity, source=source, sink=sink, labels=labels
    )


class _Dimacs:
    """A DIMACS file read line by line."""

    def __init__(self) -> None:
        self.size: tuple[int, int] | None = None
        self.ends: dict[str, int] = {}
        self.tail, self.head, self.capacity = array("i"), array("i"), array("q")

    def read(self, line: int, words: list[str]) -> None:
        """Take in one line."""
        action, num_words, form = DIMACS.get(words[0], (None, 0, ""))
        if action is None:
            raise LineError(line, f"a line starts with c, p, n or a, not {reprlib.repr(words[0])}")
        if num_words and len(words) != num_words:
            raise LineError(line, f"expected '{form}', not {len(words)} words")
        action(self, line, words)

    def comment(self, line: int, words: list[str]) -> None:
        """Pass over a `c` line."""

    def problem(self, line: int, words: list[str]) -> None:
        """Take in the `p` line."""
        if self.size is not None:
            raise LineError(line, "this is a second p line")
        if words[1] != "max":
            raise LineError(line, f"the problem is {reprlib.repr(words[1])}, only 'max' is read")
        if not all(re.fullmatch("[0-9]{1,18}", word) for word in words[2:]):
            raise LineError(line, "the numbers of nodes and arcs must be whole numbers")
        self.size = int(words[2]), int(words[3])
        if self.size[0] > 2**31 - 1:
            raise LineError(line, f"{self.size[0]} nodes are more than fit in 32 bits")

    def node(self, line: int, words: list[str]) -> None:
        """Take in an `n` line."""
        if words[2] not in ("s", "t"):
            raise LineError(line, f"a node is s or t, not {reprlib.repr(words[2])}")
        end = "source" if words[2] == "s" else "sink"
        if end in self.ends:
            raise LineError(line, f"this is a second {end}")
        self.ends[end] = self._number(line, words[1])

    def arc(self, line: int, words: list[str]) -> None:
        """Take in an `a` line."""
        self.tail.append(self._number(line, words[1]))
        self.head.append(self._number(line, words[2]))
        self.capacity.append(amount_of(words[3], line))

    def _number(self, line: int, word: str) -> int:
        if self.size is None:
            raise LineError(line, "the line 'p max NODES ARCS' must come first")
        if word.isdecimal() and word.isascii() and len(word) <= 18:
            node = int(word)
            if 1 <= node <= self.size[0]:
                return node - 1
        raise LineError(
            line, f"{reprlib.repr(word)[1:-1]} is not a node, they are 1 to {self.size[0]}"
        )

    def network(self, options: ReadOptions) -> FlowNetwork:
        """Return the network once all lines are read."""
        if self.size is None:
            raise InputError("the line 'p max NODES ARCS' is missing")
        num_nodes, num_arcs = self.size
        if num_arcs != len(self.tail):
            raise InputError(f"the p line announces {num_arcs} arcs, but {len(self.tail)} follow")
        refuse_claim(num_nodes, num_arcs, "nodes")
        for end, letter, asked in (("source", "s", options.source), ("sink", "t", options.sink)):
            if asked is not None:
                self.ends[end] = self._number_of_option(end, asked, num_nodes)
            if end not in self.ends:
                raise InputError(f"the line 'n ID {letter}' that names the {end} is missing")
        if self.ends["source"] == self.ends["sink"]:
            raise InputError(f"source and sink are the same node, {self.ends['sink'] + 1}")
        arcs = (np.array(column) for column in (self.tail, self.head, self.capacity))
        labels = range(1, num_nodes + 1)
        return FlowNetwork.from_arcs(num_nodes, *arcs, **self.ends, labels=labels)

    @staticmethod
    def _number_of_option(end: str, text: str, num_nodes: int) -> int:
        if INTEGER.fullmatch(text) and 1 <= int(text) <= num_nodes:
            return int(text) - 1
        raise InputError(f"the {end} {reprlib.repr(text)} is not a node of the network")


DIMACS: dict[str, tuple[Callable[[_Dimacs, int, list[str]], None], int, str]] = {
    "c": (_Dimacs.comment, 0, "c TEXT"),
    "p": (_Dimacs.problem, 4, "p max NODES ARCS"),
    "n": (_Dimacs.node, 3, "n ID s|t"),
    "a": (_Dimacs.arc, 4, "a TAIL HEAD CAPACITY"),
}


def _read_dimacs(file: IO[bytes], options: ReadOptions) -> FlowNetwork:
    dimacs, lines = _Dimacs(), Lines(file, "")
    for line in lines:
        dimacs.read(lines.number, line.split())
    return dimacs.network(options)


@contextmanager
def _foreign(what: str) -> Generator[None]:
    """Turn whatever a parser of other people's throws at damaged bytes into one sentence."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"this is not {what}: {reason}") from None


def _read_matrix_market(file: IO[bytes], options: ReadOptions) -> Graph:
    import scipy.io

    num_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    # SciPy's stream seeks back when it is destroyed, and kills the process where that fails.
    stream: Any = SimpleNamespace(read=file.read)
    with _foreign("a Matrix Market file"):
        num_rows, num_columns, num_entries, *_ = scipy.io.mminfo(stream)
        # SciPy makes room for what the header claims before it reads on. An entry takes two bytes
        # or more, and symmetry spares at most half of a full matrix and its diagonal.
        if num_entries > num_bytes + max(num_rows, num_columns):
            raise InputError(f"{num_entries} entries do not fit into {num_bytes} bytes")
        refuse_claim(max(num_rows, num_columns), num_entries, "rows or columns")
        file.seek(0)
        matrix = scipy.io.mmread(stream)
    return _graph_of_matrix(matrix, options)


def _graph_of_matrix(matrix: Any, options: ReadOptions) -> Graph:
    """Read a biadjacency matrix, or with `options.flow` a capacity matrix; dense or sparse."""
    is_dense = isinstance(matrix, np.ndarray)
    if matrix.ndim != 2:
        raise InputError(f"a matrix has two dimensions, not {matrix.ndim}")
    if matrix.dtype.kind not in "biufc":
        raise InputError(f"a matrix holds numbers, not {matrix.dtype}")
    if not options.flow:
        make = BipartiteGraph.from_dense if is_dense else BipartiteGraph.from_scipy
        return make(matrix)
    ends: list[int] = []
    for end, text in (("source", options.source), ("sink", options.sink)):
        if text is None:
            raise InputError(f"a matrix does not say which node is the {end}: use --{end}")
        if not INTEGER.fullmatch(text) or not 0 <= int(text) < matrix.shape[0]:
            raise InputError(
                f"the {end} {reprlib.repr(text)} is not a node of the matrix, "
                f"they are 0 to {matrix.shape[0] - 1}"
            )
        ends.append(int(text))
    make = FlowNetwork.from_dense if is_dense else FlowNetwork.from_scipy
    return make(matrix, *ends)


def _read_npz(file: IO[bytes], options: ReadOptions) -> Graph:
    with _foreign("an .npz file"):
        arrays = np.load(file, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise InputError("this is not an .npz file: there is no archive in it")
        keys = set(arrays.files)
        if "num_left" in keys:
            return _bipartite_of_arrays(arrays)
        if "num_nodes" in keys:
            return _flow_of_arrays(arrays, options)
        if {"format", "shape"} <= keys:
            return _graph_of_matrix(_sparse_of_archive(file), options)
        if len(keys) == 1:
            return _graph_of_matrix(arrays[keys.pop()], options)
    held = ", ".join(sorted(keys))[:80] or "nothing"
    raise InputError(f"the .npz file holds neither one matrix nor a graph, but {held}")


def _sparse_of_archive(file: IO[bytes]) -> Any:
    import scipy.sparse

    file.seek(0)
    matrix: Any = scipy.sparse.load_npz(file)
    refuse_claim(max(matrix.shape, default=0), matrix.nnz, "rows or columns")
    if matrix.format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)  # compiled code would follow wrong indices anywhere
    return matrix


def _bipartite_of_arrays(arrays: Any) -> BipartiteGraph:
    left, right = _array(arrays, "left"), _array(arrays, "right")
    counts = _count(arrays, "num_left"), _count(arrays, "num_right")
    refuse_claim(max(counts), len(left), "nodes")
    labels = (_label_array(arrays, "left_labels"), _label_array(arrays, "right_labels"))
    return BipartiteGraph(*counts, left, right, *labels)


def _flow_of_arrays(arrays: Any, options: ReadOptions) -> FlowNetwork:
    columns = [_array(arrays, key) for key in ("sender", "receiver", "capacity")]
    num_nodes, labels = _count(arrays, "num_nodes"), _label_array(arrays, "labels")
    refuse_claim(num_nodes, len(columns[0]), "nodes")
    ends = {end: _count(arrays, end) for end in ("source", "sink")}
    if options.source is not None or options.sink is not None:
        finder = LabelFinder(labels or range(num_nodes))
        ends = _chosen_ends(finder, ends, options)
    return FlowNetwork.from_arcs(num_nodes, *columns, **ends, labels=labels)


def _chosen_ends(finder: LabelFinder, ends: dict[str, int], options: ReadOptions) -> dict[str, int]:
    """Return the file's own source and sink, or the ones that were asked for instead."""
    for end, label in (("source", options.source), ("sink", options.sink)):
        number = ends[end] if label is None else finder.number(label)
        if number is None:
            raise InputError(f"the {end} {reprlib.repr(label)} is not a node of the network")
        ends = {**ends, end: number}
    if ends["source"] == ends["sink"]:
        raise InputError(f"source and sink are the same node, {options.source or options.sink}")
    return ends


def _array(arrays: Any, key: str) -> npt.NDArray[Any]:
    if key not in arrays.files:
        raise InputError(f"the .npz file lacks the array {key!r}")
    values: npt.NDArray[Any] = arrays[key]
    if values.ndim > 1:
        raise InputError(f"the array {key!r} must be one row, not {values.ndim}-dimensional")
    return np.atleast_1d(values)


def _count(arrays: Any, key: str) -> int:
    values = _array(arrays, key)
    if values.size != 1 or values.dtype.kind not in "iu" or values[0] < 0:
        raise InputError(f"{key!r} must be one whole number of at least 0")
    return int(values[0])


def _label_array(arrays: Any, key: str) -> list[Label] | None:
    if key not in arrays.files:
        return None
    values = _array(arrays, key)
    if values.size and values.dtype.kind not in "iuU":
        raise InputError(f"the labels in {key!r} must be text or whole numbers, not {values.dtype}")
    return values.tolist()


def parse_json(file: IO[bytes]) -> Any:
    """Return what a JSON file says; a broken one is an InputError with its line."""
    file.seek(0)
    try:
        return json.loads(file.read().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError("this is not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise LineError(error.lineno, f"this is not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError("this JSON is nested too deeply") from None
    except ValueError:
        raise InputError("this JSON holds a number of thousands of digits") from None


def _read_json(file: IO[bytes], options: ReadOptions) -> Graph:
    data = parse_json(file)
    if isinstance(data, list):
        data = {"arcs" if options.flow else "edges": cast("list[Any]", data)}
    if not isinstance(data, dict):
        raise InputError("a graph in JSON is an object, not a single value")
    found = cast("dict[str, Any]", data)
    nodes = found.get("nodes")
    is_node_link = isinstance(nodes, list) and any(isinstance(x, dict) for x in cast("Any", nodes))
    if is_node_link or "links" in found:
        return _graph_of_node_link(found, options)
    if "arcs" in found:
        return _flow_of_json(found, options)
    if "edges" not in found or options.flow:
        needed = '"arcs"' if options.flow else '"edges" or "arcs"'
        raise InputError(f"the JSON object lacks {needed}")
    return _bipartite_of_json(found)


def _bipartite_of_json(data: dict[str, Any]) -> BipartiteGraph:
    edges = _tuples(data, "edges", ("left", "right"))
    sides = [_json_labels(data.get(key), f"{key} nodes", len(edges)) for key in ("left", "right")]
    ends = array("i"), array("i")
    for position, edge in enumerate(edges):
        for label, side, column in zip(edge, sides, ends, strict=True):
            column.append(_json_number(label, side, f"edge {position}"))
    if "left" not in data and "right" not in data:
        remedy = 'lists "left" and "right" declare the sides separate'
        _refuse_shared((list(sides[0]), list(sides[1])), zip(*ends, strict=True), remedy)
    left_labels, left = _ordered(sides[0], np.array(ends[0], np.int32))
    right_labels, right = _ordered(sides[1], np.array(ends[1], np.int32))
    return BipartiteGraph(
        len(left_labels), len(right_labels), left, right, left_labels, right_labels
    )


def _flow_of_json(data: dict[str, Any], options: ReadOptions) -> FlowNetwork:
    arcs = _tuples(data, "arcs", ("tail", "head", "capacity"))
    index = _json_labels(data.get("nodes"), "nodes", len(arcs))
    tail, head, capacity = array("i"), array("i"), array("q")
    for position, (u, v, amount) in enumerate(arcs):
        tail.append(_json_number(u, index, f"arc {position}"))
        head.append(_json_number(v, index, f"arc {position}"))
        fault = (
            "" if type(amount) is int and 0 <= amount <= MAX_CAPACITY else capacity_fault(amount)
        )
        if fault:
            raise InputError(f"arc {position}: the capacity {fault}")
        capacity.append(int(amount))
    ends: dict[str, int] = {}
    for end, asked in (("source", options.source), ("sink", options.sink)):
        if asked is None and end not in data:
            raise InputError(f'the JSON object lacks "{end}"')
        # An option names a node that must be there; the file itself may declare one without arcs.
        ends[end] = _json_number(data[end], index, end) if asked is None else -1
    if -1 in ends.values():
        ends = _chosen_ends(LabelFinder(index), ends, options)
    if ends["source"] == ends["sink"]:
        raise InputError(f"source and sink are the same node, {reprlib.repr(data['sink'])}")
    labels, numbers = _ordered(index, np.array([tail, head], np.int32))
    place = {label: number for number, label in enumerate(labels)}
    ends = {end: place[list(index)[number]] for end, number in ends.items()}
    return FlowNetwork.from_arcs(
        len(labels), numbers[0], numbers[1], np.array(capacity), **ends, labels=labels
    )


def _ordered(index: Numbering, numbers: IntArray) -> tuple[list[Label], IntArray]:
    """Sort integer labels as in edge lists, but leave an order that the file itself gives."""
    labels = list(index)
    return (labels, numbers) if index.place else _ascending(labels, numbers)


def _tuples(data: dict[str, Any], key: str, parts: tuple[str, ...]) -> list[list[Any]]:
    entries = data[key]
    if not isinstance(entries, list):
        raise InputError(f'"{key}" must be a list')
    for position, entry in enumerate(cast("list[list[Any]]", entries)):
        if type(entry) is not list or len(entry) != len(parts):
            form = ", ".join(parts)
            raise InputError(f'"{key}" entry {position} is {reprlib.repr(entry)}, not [{form}]')
    return cast("list[list[Any]]", entries)


def _json_labels(value: Any, place: str, num_entries: int) -> Numbering:
    """Return the nodes that the file lists or counts; where it does neither, an open numbering."""
    index = Numbering()
    if value is None:
        return index
    if type(value) is int:
        if value < 0:
            raise InputError(f"the number of {place} is {value}, which is negative")
        refuse_claim(value, num_entries, place)
        value = range(value)
    elif not isinstance(value, list):
        raise InputError(f"the {place} must be a list of labels or their number")
    for position, label in enumerate(cast("Iterable[Any]", value)):
        if _json_number(label, index, f"the {place}") != position:
            raise InputError(f"the label {reprlib.repr(label)} stands twice among the {place}")
    index.place = place
    return index


def _json_number(label: Any, index: Numbering, where: str) -> int:
    if type(label) not in (int, str) and not (type(label) is float and math.isfinite(label)):
        raise InputError(f"{where}: {reprlib.repr(label)} is no label, only text and numbers are")
    try:
        return index[label]
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _graph_of_node_link(data: dict[str, Any], options: ReadOptions) -> Graph:
    import networkx as nx

    with _foreign("NetworkX node-link data"):
        key = "links" if "links" in data else "edges"
        graph = cast("Any", nx).node_link_graph(data, edges=key)
        num_listed = len({_without_lists(node["id"]) for node in data["nodes"]})
        if num_listed < len(data["nodes"]):
            raise InputError('a node stands twice in "nodes"')
        if num_listed < len(graph):
            raise InputError(f'"{key}" names a node that "nodes" does not list')
        if not options.flow:
            return BipartiteGraph.from_networkx(graph)
        labels: list[Label] = list(graph)
        source, sink = _ends_by_label(labels, options)
        return FlowNetwork.from_networkx(graph, labels[source], labels[sink])


def _arcs_to_write(network: FlowNetwork) -> tuple[list[int], list[int], list[int]]:
    """Return tails, heads and capacities, with one arc of each pair that has no capacity at all."""
    capacity = network.capacity
    is_empty = (capacity.reshape(-1, 2) == 0).all(axis=1)
    wanted = capacity > 0
    wanted[::2] |= is_empty
    columns = network.sender, network.receiver, capacity
    tail, head, amount = (column[wanted].tolist() for column in columns)
    return tail, head, amount


def _write_matrix_market(graph: Graph, file: IO[bytes]) -> None:
    import scipy.io

    field = "integer" if isinstance(graph, FlowNetwork) else "pattern"
    scipy.io.mmwrite(file, graph.to_scipy().tocoo(), field=field, symmetry="general")


def _write_dimacs(graph: FlowNetwork, file: IO[bytes]) -> None:
    tail, head, amount = _arcs_to_write(graph)
    start = f"p max {graph.num_nodes} {len(tail)}\nn {graph.source + 1} s\nn {graph.sink + 1} t\n"
    file.write(start.encode())
    arcs = zip(tail, head, amount, strict=True)
    file.writelines(f"a {u + 1} {v + 1} {c}\n".encode() for u, v, c in arcs)


def _edge_list_writer(delimiter: str) -> Callable[[Any, IO[bytes]], None]:
    def write(graph: Graph, file: IO[bytes]) -> None:
        if isinstance(graph, FlowNetwork):
            header, columns = ("tail", "head", "capacity"), _arcs_to_write(graph)
            left = right = _cells(graph.labels or range(graph.num_nodes), delimiter)
        else:
            header, columns = ("left", "right"), (graph.left.tolist(), graph.right.tolist())
            left = _cells(graph.left_labels or range(graph.num_left), delimiter)
            right = _cells(graph.right_labels or range(graph.num_right), delimiter)
        file.write((delimiter.join(header) + "\n").encode())
        amounts: Iterable[list[str]] = ([str(c)] for c in columns[2]) if columns[2:] else repeat([])
        for u, v, amount in zip(columns[0], columns[1], amounts):  # noqa: B905  # repeat has no end
            file.write((delimiter.join([left[u], right[v], *amount]) + "\n").encode())

    return write


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
    return [csv_cell(text, delimiter) for text in texts]


def csv_cell(text: str, delimiter: str = ",") -> str:
    r"""Return the text as a cell that reads back as itself.

    >>> csv_cell("ann"), csv_cell("ann, bob"), csv_cell("#1")
    ('ann', '"ann, bob"', '"#1"')
    """
    if delimiter in text or '"' in text or text[:1] in "#%" or set(text) & set("\r\n"):
        return '"' + text.replace('"', '""') + '"'
    return text


def _write_npz(graph: Graph, file: IO[bytes]) -> None:
    arrays: dict[str, Any]
    if isinstance(graph, FlowNetwork):
        tail, head, amount = _arcs_to_write(graph)
        arrays = {"num_nodes": graph.num_nodes, "source": graph.source, "sink": graph.sink}
        arrays |= {"sender": np.array(tail, np.int32), "receiver": np.array(head, np.int32)}
        arrays["capacity"] = np.array(amount, np.int64)
        labels = {"labels": graph.labels}
    else:
        arrays = {"num_left": graph.num_left, "num_right": graph.num_right}
        arrays |= {"left": graph.left, "right": graph.right}
        labels = {"left_labels": graph.left_labels, "right_labels": graph.right_labels}
    for key, names in labels.items():
        if names is not None:
            arrays[key] = _array_of_labels(names)
    # The archive is written out of order, which a gzip stream cannot take.
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    file.write(buffer.getbuffer())


def _array_of_labels(labels: Sequence[Label]) -> npt.NDArray[Any]:
    kinds = {type(label) for label in labels}
    if kinds == {str} or (
        kinds == {int} and all(-(2**63) <= cast("int", x) < 2**63 for x in labels)
    ):
        values = np.array(labels)
        if values.tolist() == list(labels):  # NumPy drops zero characters at the end of a text
            return values
    raise InputError("an .npz file holds labels that are all text or all 64-bit integers")


def _write_json(graph: Graph, file: IO[bytes]) -> None:
    data: dict[str, Any]
    if isinstance(graph, FlowNetwork):
        data = {"source": graph.label(graph.source), "sink": graph.label(graph.sink)}
        data["nodes"] = graph.labels or graph.num_nodes
        arcs = zip(*_arcs_to_write(graph), strict=True)
        data["arcs"] = [[graph.label(u), graph.label(v), c] for u, v, c in arcs]
        names = graph.labels or ()
    else:
        data = {"left": graph.left_labels or graph.num_left}
        data |= {"right": graph.right_labels or graph.num_right, "edges": list(graph.edges())}
        names = chain(graph.left_labels or (), graph.right_labels or ())
    for label in names:
        _json_number(label, Numbering(), "JSON")
    file.write(json.dumps(data).encode())


MAGIC: tuple[tuple[bytes, Reader], ...] = (
    (b"pk\x03\x04", _read_npz),
    (b"pk\x05\x06", _read_npz),
    (b"%%matrixmarket", _read_matrix_market),
    (b"{", _read_json),
    (b"[", _read_json),
)
READERS: dict[str, Reader] = {
    ".npz": _read_npz,
    ".mtx": _read_matrix_market,
    ".json": _read_json,
    ".max": _read_dimacs,
    ".dimacs": _read_dimacs,
}
WRITERS: dict[tuple[str, str], Callable[[Any, IO[bytes]], None]] = {
    ("flow", ".max"): _write_dimacs,
    ("flow", ".dimacs"): _write_dimacs,
} | {
    (kind, ending): writer
    for kind in ("bipartite", "flow")
    for ending, writer in (
        (".mtx", _write_matrix_market),
        (".csv", _edge_list_writer(",")),
        (".tsv", _edge_list_writer("\t")),
        (".npz", _write_npz),
        (".json", _write_json),
    )
}
