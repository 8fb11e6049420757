"""Many rows of an edge list become numbers, a block of lines at a time; see `cells`.

A block that is not plain is read row by row, as a short file is: that is left to `edge_list`, which
knows every error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import IntArray, WideArray
from augury.classical.formats import text
from augury.classical.formats.cells import Cells, Words, integers, joined, numbered, plain, texts

if TYPE_CHECKING:
    from augury.classical.formats.edge_list import Columns

Part = list[Any] | npt.NDArray[Any]


class Rows(NamedTuple):
    """Rows of an edge list, as they are read."""

    ends: list[tuple[str, str]]
    amounts: dict[str, list[int | float]]
    """The columns of numbers, by what they hold."""
    lines: list[int]


class Edges(NamedTuple):
    """The rows of an edge list as numbers; nodes are numbered as they first appear."""

    tail: IntArray
    head: IntArray
    left: list[str] | WideArray
    """The label of each node; integers, if it was quick to see that all are."""
    right: list[str] | WideArray
    """The same as `left` in a flow network."""
    amounts: dict[str, Part]
    lines: Part
    """The line of each edge with a cost."""
    has_header: bool


class Blocks:
    """The rows of a long edge list, in the parts in which they are read."""

    def __init__(
        self,
        lines: text.Lines,
        columns: Columns,
        read: Callable[[Iterable[list[str]]], Rows],
    ) -> None:
        self.lines, self.columns, self._read = lines, columns, read
        self._words: list[Words] = []
        """Of the two labels; see `cells`."""
        self._long: dict[bytes, int] = {}
        self._amounts: dict[str, list[Part]] = {name: [] for name in columns.amounts}
        self._at: list[Part] = []

    def read(self, block: bytes) -> None:
        """Read a block of whole lines, all at once if it is plain."""
        columns, lines = self.columns, self.lines
        used = *columns.ends, *columns.amounts.values()
        cells = plain(block, lines.delimiter, columns.width, used)
        values = {} if cells is None else self._values(cells)
        if cells is None or values is None:
            self.add(text.split_rows(lines.within(block)))
            return
        at = lines.number + 1 + np.arange(len(cells.start))
        self._add(cells.words(columns.ends, self._long), values, at)
        lines.number += len(at)

    def add(self, table: Iterable[list[str]]) -> None:
        """Read rows one by one."""
        ends, values, at = self._read(table)
        self._add(Cells.of(ends, 2).words((0, 1), self._long), values, at)

    def _values(self, cells: Cells) -> dict[str, Part] | None:
        """Return the amounts of all rows, None if one is written in an unusual way."""
        found: dict[str, Part] = {}
        for name, column in self.columns.amounts.items():
            values = cells.values(column)
            if values is None:
                return None
            if name != "cost" and (values.dtype != np.int64 or values.min(initial=0) < 0):
                return None
            found[name] = values
        return found

    def _add(self, words: Words, values: dict[str, Any], at: Part) -> None:
        if not len(words):
            return
        self._words.append(words)
        for name, part in values.items():
            self._amounts[name].append(as_row(part))
        if "cost" in self._amounts:
            self._at.append(np.asarray(at))

    def edges(self) -> Edges:
        """Number the labels of all rows."""
        columns, words = self.columns, joined(self._words)
        if columns.is_flow:
            left, numbers = numbered(words.reshape(-1, words.shape[-1]))
            right, (tail, head) = left, numbers.reshape(-1, 2).T
        else:
            left, tail = numbered(words[:, 0])
            right, head = numbered(words[:, 1])
        has_header = columns.has_header
        if has_header is None:
            # The labels that the first row adds to each numbering; in another row they are its own.
            tops = len({tail[0], head[0]}) if columns.is_flow else 1
            recurs = (tail[1:] < tops).any() or (head[1:] < tops).any()
            sides = (left,) if columns.is_flow else (left, right)
            top = [label for side in sides for label in texts(side[:tops], self._long)]
            rest = (label for side in sides for label in self._texts(side[tops:]))
            has_header = columns.names(top, bool(recurs), rest)
            if has_header:
                left, right = left[tops:], right[tops:]
                tail, head = tail[1:] - np.int32(tops), head[1:] - np.int32(tops)
        names = self._labels(left)
        others = names if right is left else self._labels(right)
        amounts = {name: _joined(parts) for name, parts in self._amounts.items()}
        return Edges(tail, head, names, others, amounts, _joined(self._at), has_header)

    def _texts(self, words: Words) -> Iterator[str]:
        """Make the texts of labels lazily."""
        yield from texts(words, self._long)

    def _labels(self, words: Words) -> list[str] | WideArray:
        values = integers(words)
        return texts(words, self._long) if values is None else values


def as_row(part: Part) -> Part:
    """Return a row of numbers as an array, unless some are beyond 64 bits."""
    row = np.asarray(part) if len(part) else np.zeros(0, np.int64)
    return row if row.dtype.kind in "if" else part


def _joined(parts: list[Part]) -> Part:
    """Return all parts as one row."""
    if any(isinstance(part, list) for part in parts):
        return [x for part in parts for x in (part if isinstance(part, list) else part.tolist())]
    return np.concatenate([np.zeros(0, np.int64), *parts])
