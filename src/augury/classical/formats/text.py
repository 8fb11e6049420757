"""An open file becomes lines, rows, numbers or JSON, and its labels become node numbers.

Errors name the line where there is one. What the user knows about a file is in `ReadOptions`.
Labels become numbers in two ways, besides `graph.LabelIndex`, which is for labels given in Python
and goes by value alone: `Numbering` numbers a file's nodes as they appear, until they are fixed;
`LabelFinder` finds a node of a finished graph, by text too, since text is all that a CSV file or a
command line has.
"""

from __future__ import annotations

import csv
import io
import json
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import IO, Any, cast, overload

import numpy as np

from augury.classical.arrays import IntArray, Label, Labels, WideArray, capacity_fault
from augury.classical.sides import two_colouring
from augury.errors import InputError
from augury.files import BYTE_ORDER_MARK, LineError

FREE_NODES = 1_000_000
"""A header can claim any number of nodes in a few bytes. This many are accepted without edges …"""
NODES_PER_EDGE = 16
"""… and this many more for each edge that the file actually holds."""

LONGEST_LINE = 2**24
"""Most bytes of a line: without a limit, a file of zeros would be one line."""

BLOCK = 2**20
"""Bytes that are read at a time when reading many lines."""


def lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """Return the remaining lines, after checking that each of them ends.

    Raises:
        InputError: a line has more than about `LONGEST_LINE` bytes.
    """
    start = file.tell()
    while len(piece := file.read(LONGEST_LINE)) == LONGEST_LINE:
        if b"\n" not in piece:
            raise InputError(f"a line is longer than {LONGEST_LINE:,} bytes: this is no graph")
    file.seek(start)
    return iter(file)


class Lines(Iterator[str]):
    """The lines of a file as text, without blank lines and comments; `number` counts them all."""

    def __init__(self, file: IO[bytes], comments: str) -> None:
        file.seek(0)
        file.seek(len(BYTE_ORDER_MARK) if file.read(3) == BYTE_ORDER_MARK else 0)
        self._file = file
        self._lines = lines_of(file)
        self._comments = comments
        self.number = 0
        self.delimiter = ""
        """Between cells; `rows` finds it in the first line."""
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

    def blocks(self) -> Iterator[bytes]:
        """Yield what is left, many whole lines at a time; see `within`."""
        while block := self._file.read(BLOCK):
            yield block if block.endswith(b"\n") else block + self._file.readline()

    def within(self, block: bytes) -> Lines:
        """Go on with the lines of a block."""
        self._lines = io.BytesIO(block)
        return self


def rows(lines: Lines, separators: str = ",\t;") -> Iterator[list[str]]:
    """Yield the cells of each line; the separator is the first one found in the first line."""
    first = next(lines, None)
    if first is None:
        return
    bare = re.sub('"[^"]*"', "", first)
    lines.delimiter = next((mark for mark in separators if mark in bare), " ")
    if lines.delimiter == " ":
        lines.ends, first = " \t\r\n", first.strip()
    yield from split_rows(lines, [first])


def split_rows(lines: Lines, read: Iterable[str] = ()) -> Iterator[list[str]]:
    """Yield the cells of each line, starting with those already `read`; the delimiter is known."""
    done = given = 0

    def feed() -> Iterator[str]:
        nonlocal given
        last = lines.number
        for line in chain(read, lines, [None]):
            # A stray quote must not swallow the following lines.
            if done < given:
                raise LineError(last, "a quoted field is not closed")
            if line is not None:
                given, last = given + 1, lines.number
                yield line

    reader = csv.reader(feed(), delimiter=lines.delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            done += 1
            yield [cell.strip() for cell in row]
    except csv.Error as error:
        raise LineError(lines.number, str(error)) from None


def amount_of(text: str, line: int, what: str = "capacity", is_signed: bool = False) -> int:
    """Parse a capacity exactly; 2.0 and 1e3 are whole numbers too."""
    if is_signed and text.startswith("-"):
        return -amount_of(text[1:], line, what)
    if text.isdecimal() and text.isascii() and len(text) <= 18:
        return int(text)
    value: object = reprlib.repr(text)[1:-1]
    if re.fullmatch(r"[+-]?[0-9]{1,40}", text, re.ASCII):
        value = int(text)
    elif "_" not in text:
        with suppress(ValueError):
            value = float(text)
    fault = capacity_fault(value)
    if not fault:
        # A float is already rounded: 0.1e-400 looks like 0, and 2**53 + 0.5 like a whole number.
        with suppress(InvalidOperation):  # an exponent of twenty digits, which float() accepts
            exact = Decimal(text)
            if exact == exact.to_integral_value():
                return int(exact)
        fault = f"is {reprlib.repr(text)[1:-1]}, not a whole number"
    raise LineError(line, f"the {what} {fault}")


def parse_json(file: IO[bytes]) -> Any:
    """Parse a JSON file; a broken one is an InputError with its line."""
    data = bytearray()
    file.seek(0)
    while piece := file.read(2**24):
        if b"\0" in piece:  # sparse files, of any size, read as zeros
            raise InputError("this is not JSON: it holds a zero byte")
        data += piece
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError("this is not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise LineError(error.lineno, f"this is not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError("this JSON is nested too deeply") from None
    except ValueError:
        raise InputError("this JSON holds a number of thousands of digits") from None


def refuse_claim(count: int, num_edges: int, what: str) -> None:
    """Raise InputError if so many nodes with so few edges can only be a mistake or an attack."""
    most = FREE_NODES + NODES_PER_EDGE * num_edges
    if count > most:
        raise InputError(
            f"{count} {what} are claimed, but only {num_edges} edges follow; "
            f"at most {most} nodes are accepted"
        )


INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")
"""An integer as Python writes it, so that text and value name the same node."""

USUAL_ENDS = (("s", "t"), ("source", "sink"))
"""Labels that mark source and sink by themselves."""


@dataclass(frozen=True)
class ReadOptions:
    """What the reader cannot see in the file itself.

    >>> from augury import read_graph
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "hours.json")
    ...     size = path.write_text('[["ann", "cook", 4], ["bob", "cook", 2]]')
    ...     read_graph(path, ReadOptions(costs=True))
    BipartiteGraph(2 + 1 nodes, 2 edges with costs)
    """

    flow: bool = False
    """Read a flow network where the format could also be a bipartite graph."""
    header: bool | None = None
    """Whether the first row of an edge list names the columns; None means to detect it."""
    source: str | None = None
    """The label of the source, as text; in matrices the node number from 0."""
    sink: str | None = None
    """The label of the sink, as text; in matrices the node number from 0."""
    ignore_costs: bool = False
    """Read the edges of a file that has costs or weights, instead of refusing it."""
    needs_sink: bool = True
    """Whether to refuse a flow network without a sink; if not, any other node serves as one."""
    costs: bool | None = None
    """Whether unnamed numbers are costs. None refuses those that might be, and reads named ones;
    False refuses these as well.
    """
    maximise: bool | None = None
    """Whether to look for the greatest sum of costs; None: as the file says, or the least."""
    supply: Mapping[str, int] | None = None
    """The supply of each node, by the text of its label, in place of a source and a sink."""


class Numbering(dict[Label, int]):
    """Numbers labels as they first appear; once `place` is set, the labels are fixed."""

    place = ""

    def __missing__(self, label: Label) -> int:
        if self.place:
            raise InputError(f"{reprlib.repr(label)} is not among the {self.place}")
        self[label] = number = len(self)
        return number


class LabelFinder:
    """Finds a node by its label, or by the text of its label where only one node has that text."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        self._by_value: dict[Label, int] | None = None
        self._by_text: dict[str, int] | None = None
        self._types: set[type] | None = None

    def number(self, label: object) -> int | None:
        """Return the node's number, None if there is no such node or more than one."""
        if isinstance(self._labels, range):  # a million nodes without labels need no dict
            return _position(label, self._labels)
        if self._by_value is None:
            self._by_value = {label: number for number, label in enumerate(self._labels)}
        label = without_lists(label)
        # True == 1, but JSON's true names no node.
        if not isinstance(label, bool):
            with suppress(KeyError, TypeError):  # TypeError: it cannot be hashed
                return self._by_value[cast("Label", label)]
        return self._by_its_text(str(label))

    def _by_its_text(self, text: str) -> int | None:
        assert self._by_value is not None
        if self._types is None:
            self._types = set(map(type, self._labels))
        if self._types <= {str}:
            return self._by_value.get(text)
        if self._types <= {int}:
            with suppress(ValueError):  # it is no number, or one of thousands of digits
                return self._by_value.get(int(text)) if str(int(text)) == text else None
            return None
        if self._by_text is None:
            self._by_text = {}
            for known, number in self._by_value.items():
                self._by_text[str(known)] = -1 if str(known) in self._by_text else number
        number = self._by_text.get(text, -1)
        return None if number < 0 else number


def _position(label: object, numbers: range) -> int | None:
    if type(label) is not int:
        text = f"{label:.0f}" if isinstance(label, float) and label.is_integer() else str(label)
        if not INTEGER.fullmatch(text):
            return None
        label = int(text)
    return numbers.index(label) if label in numbers else None


def without_lists(label: object) -> object:
    """Turn JSON lists back into the tuples that the labels were."""
    if not isinstance(label, list):
        return label
    return tuple(without_lists(part) for part in cast("list[object]", label))


def ends_of(
    labels: Labels,
    own: Mapping[str, int],
    options: ReadOptions,
    lacking: Mapping[str, str],
    finder: LabelFinder | None = None,
) -> dict[str, int]:
    """Return the numbers of source and sink: from the options, or else from the file.

    If neither names them, `lacking` is the error message.
    """
    finder, ends = finder or LabelFinder(labels), dict(own)
    for end, asked in (("source", options.source), ("sink", options.sink)):
        number = None if asked is None else finder.number(asked)
        if number is not None:
            ends[end] = number
        elif asked is not None:
            is_counted = isinstance(labels, range) and len(labels) > 0
            hint = f", they are {labels[0]} to {labels[-1]}" if is_counted else ""
            raise InputError(f"the {end} {reprlib.repr(asked)} is not a node of the network{hint}")
    if "source" in ends and "sink" not in ends and not options.needs_sink and len(labels) > 1:
        ends["sink"] = int(ends["source"] == 0)
    for end in ("source", "sink"):
        if end not in ends:
            raise InputError(lacking[end])
    if ends["source"] == ends["sink"] < len(labels):  # else FlowNetwork raises
        same = reprlib.repr(labels[ends["source"]])
        raise InputError(f"source and sink are the same node, {same}")
    return ends


def ends_by_label(labels: Labels, options: ReadOptions) -> dict[str, int]:
    """Return the numbers of source and sink: from the options, or else by usual labels."""
    finder = LabelFinder(labels)
    asked = {"source": options.source, "sink": options.sink}
    own: dict[str, int] = {}
    for pair in USUAL_ENDS:
        found = {end: finder.number(label) for end, label in zip(asked, pair, strict=True)}
        needed = asked if options.needs_sink else ("source",)
        if all(asked[end] is not None or found[end] is not None for end in needed):
            own = {end: number for end, number in found.items() if number is not None}
            break
    nothing = "nothing says which nodes are source and sink: name them with --source, --sink"
    if not options.needs_sink:
        nothing = "nothing says which node is the source: name it with --source"
    return ends_of(labels, own, options, dict.fromkeys(asked, nothing), finder)


@overload
def as_integers(labels: Labels) -> list[Label]: ...
@overload
def as_integers(labels: Labels | WideArray) -> list[Label] | WideArray: ...
def as_integers(labels: Labels | WideArray) -> list[Label] | WideArray:
    """Return the labels of a file, as integers if all of them are written as integers."""
    if isinstance(labels, np.ndarray):
        return labels
    texts = list(map(str, labels))
    return [int(x) for x in texts] if all(map(INTEGER.fullmatch, texts)) else list(labels)


def ascending(
    labels: list[Label] | WideArray, *numbers: IntArray
) -> tuple[list[Label], list[IntArray]]:
    """Renumber nodes so that integer labels ascend; others stay in order of appearance."""
    if not isinstance(labels, np.ndarray):
        if not set(map(type, labels)) <= {int}:
            return labels, list(numbers)
        labels = np.array(labels, object)  # they may have more than 64 bits
    order = np.argsort(labels)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return labels[order].tolist(), [rank[row] for row in numbers]


def refuse_shared(
    sides: tuple[Labels | WideArray, Labels | WideArray],
    edges: Iterable[tuple[int, int]],
    remedy: str,
) -> None:
    """Raise InputError if a text label is on both sides: is that one node or two?"""
    if any(isinstance(side, np.ndarray) for side in sides):
        return
    texts = {label for label in sides[0] if isinstance(label, str)}
    if texts.isdisjoint(sides[1]):
        return
    neighbours: dict[Label, list[Label]] = {label: [] for label in chain(*sides)}
    for u, v in edges:
        neighbours[sides[0][u]].append(sides[1][v])
        neighbours[sides[1][v]].append(sides[0][u])
    two_colouring(neighbours)
    texts.intersection_update(sides[1])
    shared = next(label for label in sides[0] if label in texts)
    raise InputError(f"the label {reprlib.repr(shared)} is on both sides: {remedy}")
