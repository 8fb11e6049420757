"""An open file becomes lines, rows, numbers or JSON; errors name the line where there is one."""

from __future__ import annotations

import csv
import json
import re
import reprlib
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import IO, Any

from augury.classical.formats.opened import BYTE_ORDER_MARK
from augury.classical.network import capacity_fault
from augury.errors import InputError
from augury.files import LineError

FREE_NODES = 1_000_000
"""A header can claim any number of nodes in a few bytes. This many are accepted without edges …"""
NODES_PER_EDGE = 16
"""… and this many more for each edge that the file actually holds."""

LONGEST_LINE = 2**24
"""Most bytes of a line: without a limit, a file of zeros would be one line."""


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
        self._lines = lines_of(file)
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


def rows(lines: Lines, separators: str = ",\t;") -> Iterator[list[str]]:
    """Yield the cells of each line; the separator is the first one found in the first line."""
    first = next(lines, None)
    if first is None:
        return
    bare = re.sub('"[^"]*"', "", first)
    delimiter = next((mark for mark in separators if mark in bare), " ")
    if delimiter == " ":
        lines.ends, first = " \t\r\n", first.strip()
    done = 0

    def feed() -> Iterator[str]:
        yield first
        last = lines.number
        for given, line in enumerate(lines, 1):
            # A stray quote must not swallow the following lines.
            if done < given:
                raise LineError(last, "a quoted field is not closed")
            last = lines.number
            yield line

    reader = csv.reader(feed(), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            done += 1
            yield [cell.strip() for cell in row]
    except csv.Error as error:
        raise LineError(lines.number, str(error)) from None


def amount_of(text: str, line: int, what: str = "capacity") -> int:
    """Parse a capacity exactly; 2.0 and 1e3 are whole numbers too."""
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
