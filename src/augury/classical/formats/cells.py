"""A block of plain lines becomes its cells, all at once; labels become numbers, and figures values.

A block is plain if nothing in it needs `text.rows`: every line has as many columns as the
first, and there is no quote, comment, blank line or blank at either end of a cell that counts. For
any other block `plain` returns None, and it goes to `text.rows`, which also knows every error. A
cell is a row of words of eight bytes, padded with zeros: no cell holds a zero byte, so two cells
are equal exactly if their words are.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, IntArray, WideArray, ordered, starts_run

Words = npt.NDArray[np.uint64]
"""(cell, word), or (row, end, word)."""

MOST_WORDS = 4
"""Most words of a cell: a longer label becomes a number, or one would make all cells large."""
MOST_DIGITS = 18
"""Most digits that are certain to fit into 64 bits."""
EXACT_DIGITS = 15
"""Most digits of a fraction: then its parts are exact floats, and only the division rounds."""

_BLANK = 32
"""The last byte of ASCII that `str.strip` may strip; those below it are not in plain text."""
_FIRST_BYTES = np.array([(1 << 8 * length) - 1 for length in range(9)], np.uint64)
_BITS = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without pattern: products with it spread over all 64 bits."""


@dataclass(frozen=True)
class Cells:
    """Where the cells of some rows are."""

    data: npt.NDArray[np.uint8]
    """The text in UTF-8, followed by zeros, so that every cell can be read in whole words."""
    start: WideArray
    """(row, column)."""
    length: WideArray
    """(row, column), in bytes."""

    @classmethod
    def between(cls, text: bytes, marks: WideArray, width: int) -> Cells:
        """Return the cells that end at these marks."""
        start = np.zeros(len(marks), np.int64)
        start[1:] = marks[:-1] + 1
        data = np.frombuffer(text + bytes(8 * MOST_WORDS + 8), np.uint8)
        return cls(data, start.reshape(-1, width), (marks - start).reshape(-1, width))

    @classmethod
    def of(cls, rows: Sequence[Sequence[str]], width: int) -> Cells:
        """Return the cells of rows that `text.rows` has made: none holds a line's end."""
        text = "".join(f"{cell}\n" for cell in chain.from_iterable(rows)).encode()
        return cls.between(text, _where(text, b"\n"), width)

    def values(self, column: int) -> npt.NDArray[Any] | None:
        """Return a column of numbers: int64, or float64 if one has a point; None if unusual.

        The fractions are those that `float` returns: both round the same quotient once.
        """
        start, length = self.start[:, column], self.length[:, column]
        longest = int(length.max(initial=0))
        if longest > MOST_DIGITS:
            return None
        is_negative = self.data[start] == ord("-")
        value, places = np.zeros(len(start), np.int64), np.zeros(len(start), np.int64)
        num_digits, num_points = np.zeros(len(start), np.int8), np.zeros(len(start), np.int8)
        for place in range(longest):
            byte = self.data[start + place]
            is_inside = length > place
            is_digit = is_inside & (byte - np.uint8(ord("0")) < 10)
            value = np.where(is_digit, 10 * value + (byte - np.int64(ord("0"))), value)
            num_digits += is_digit
            places += is_digit & (num_points > 0)
            num_points += is_inside & (byte == ord("."))
        if (num_digits + num_points + is_negative != length).any() or (num_digits == 0).any():
            return None
        if not num_points.any():
            return np.where(is_negative, -value, value)
        if num_points.max() > 1 or num_digits.max() > EXACT_DIGITS:
            return None
        fraction = value / 10.0**places
        return np.where(is_negative, -fraction, fraction)

    def words(self, columns: tuple[int, int], long: dict[bytes, int]) -> Words:
        """Return the words of two columns; `long` numbers the labels that have too many."""
        start, length = self.start[:, columns], self.length[:, columns]
        is_long = length > 8 * MOST_WORDS
        num_words = min(MOST_WORDS, 1 + int(length.max(initial=1) - 1) // 8)
        words = np.empty((*start.shape, num_words), np.uint64)
        at_each_byte = np.ndarray(len(self.data) - 7, "<u8", self.data, strides=(1,))
        for word in range(num_words):
            left = np.clip(length - 8 * word, 0, 8)
            words[..., word] = at_each_byte[start + 8 * word] & _FIRST_BYTES[left]
        for at in zip(*np.nonzero(is_long), strict=True):
            label = self.data[start[at] : start[at] + length[at]].tobytes()
            # A first byte of zero, which no other cell has.
            words[at] = 0
            words[at][0] = (1 + long.setdefault(label, len(long))) << 8
        return words


def plain(block: bytes, delimiter: str, width: int, used: Iterable[int]) -> Cells | None:
    """Return the cells of a block of whole lines, None if it is not plain.

    `used` are the columns that count: blanks around the others do not matter.
    """
    if not block.endswith(b"\n"):
        block += b"\n"
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    if any(mark in block for mark in (b'"', b"\0", b"\r")) or not _has_plain_blanks(block):
        return None
    marks = _where(block, delimiter.encode(), b"\n")
    if len(marks) % width:
        return None
    cells = Cells.between(block, marks, width)
    found = cells.data[marks].reshape(-1, width)
    if (found[:, :-1] != ord(delimiter)).any() or (found[:, -1] != ord("\n")).any():
        return None
    if cells.length.max(initial=0) > csv.field_size_limit():
        return None
    first = cells.data[cells.start[:, 0]]
    ends = [first, cells.data[marks[width - 1 :: width] - 1]]
    # Several spaces count as one, so there are no empty cells between them.
    for column in range(width) if delimiter == " " else used:
        start, length = cells.start[:, column], cells.length[:, column]
        if not length.all():
            return None
        ends += [cells.data[start], cells.data[start + length - 1]]
    is_comment = (first == ord("#")) | (first == ord("%"))
    return None if is_comment.any() or any((end <= _BLANK).any() for end in ends) else cells


def _has_plain_blanks(block: bytes) -> bool:
    """Tell whether it is text in UTF-8 whose blanks are all ASCII."""
    if block.isascii():
        return True
    try:
        return re.search(r"[^\S\x00-\x7f]", block.decode()) is None
    except UnicodeDecodeError:
        return False


def _where(text: bytes, *marks: bytes) -> WideArray:
    data = np.frombuffer(text, np.uint8)
    is_mark = data == ord(marks[0])
    for mark in marks[1:]:
        is_mark |= data == ord(mark)
    return np.flatnonzero(is_mark)


def joined(parts: list[Words]) -> Words:
    """Return the words of all parts, as wide as the widest; the list is emptied."""
    num_words = max((part.shape[-1] for part in parts), default=1)
    words = np.zeros((sum(map(len, parts)), 2, num_words), np.uint64)
    end = len(words)
    while parts:
        part = parts.pop()
        words[end - len(part) : end, :, : part.shape[-1]] = part
        end -= len(part)
    return words


def numbered(words: Words) -> tuple[Words, IntArray]:
    """Return the distinct rows of (cell, word) in order of appearance, and each cell's number."""
    order, is_new = _in_groups(words)
    starts = np.flatnonzero(is_new)
    if not len(starts):
        return words, np.zeros(0, np.int32)
    first = np.minimum.reduceat(order, starts)
    by_first = np.argsort(first)
    rank = np.empty(len(first), np.int32)
    rank[by_first] = np.arange(len(first), dtype=np.int32)
    numbers = np.empty(len(words), np.int32)
    numbers[order] = np.repeat(rank, np.diff(starts, append=len(words)))
    return words[first[by_first]], numbers


def _in_groups(words: Words) -> tuple[WideArray, BoolArray]:
    """Return an order in which equal cells are neighbours, and where each group of them starts."""
    key = words[:, 0] * _BITS
    for word in range(1, words.shape[1]):
        key = ((key ^ key >> np.uint64(32)) + words[:, word]) * _BITS
    bits = 62 - len(words).bit_length()
    order, key = ordered((key >> np.uint64(64 - bits)).view(np.int64), 1 << bits)
    is_new = starts_run(key)
    if (_differ(words, order) & ~is_new).any():  # two labels with one key
        order = np.lexsort(words.T)
        is_new = _differ(words, order)
    return order, is_new


def _differ(words: Words, order: WideArray) -> BoolArray:
    """Tell for each cell, in this order, whether it differs from the one before it."""
    is_new = np.zeros(len(words), np.bool_)
    is_new[:1] = True
    for word in range(words.shape[1]):
        column = words[:, word][order]
        is_new[1:] |= column[1:] != column[:-1]
    return is_new


def texts(words: Words, long: dict[bytes, int]) -> list[str]:
    """Return (cell, word) as text; `long` has the labels that were too long."""
    labels: list[bytes] = _bytes(words).view(f"S{8 * words.shape[1]}")[:, 0].tolist()
    longest = list(long)
    for at in np.flatnonzero(words[:, 0] & np.uint64(0xFF) == 0).tolist():
        labels[at] = longest[(int(words[at, 0]) >> 8) - 1]
    return b"\n".join(labels).decode().split("\n") if labels else []


def integers(words: Words) -> WideArray | None:
    """Return (cell, word) as integers, None if one of them is not written as Python writes it."""
    data = _bytes(words)
    num_bytes = 8 * words.shape[1]
    start, length = np.arange(len(words))[:, None] * num_bytes, (data != 0).sum(1)[:, None]
    values = Cells(np.append(data, np.zeros(MOST_DIGITS, np.uint8)), start, length).values(0)
    if values is None or values.dtype != np.int64:
        return None
    is_negative = data[:, 0] == ord("-")
    is_zero = np.where(is_negative, data[:, 1], data[:, 0]) == ord("0")
    return None if (is_zero & (length[:, 0] > 1)).any() else values


def _bytes(words: Words) -> npt.NDArray[np.uint8]:
    """Return (cell, byte)."""
    return np.ascontiguousarray(words, "<u8").view(np.uint8)
