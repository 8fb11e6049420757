"""The first row of a table of edges becomes what its columns hold; or it is a labelled matrix.

A column that is called a cost, a capacity or a lower bound is one, below a header. What has no name
is for the options to say.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass

from augury.classical.formats.costs import check_sense, ignored_costs, is_cost, two_readings
from augury.classical.formats.labelled_matrix import look_at
from augury.classical.formats.text import ReadOptions
from augury.errors import InputError
from augury.files import LineError

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

    @property
    def amounts(self) -> dict[str, int]:
        """The columns of numbers, by what they hold."""
        found = {"capacity": self.capacity, "cost": self.cost, "lower bound": self.lower}
        return {name: column for name, column in found.items() if column is not None}


def columns_of(first: list[str], options: ReadOptions, line: int) -> Columns:
    """Work out from the first row, which may be a header, what the columns of an edge list hold.

    Raises:
        LineError: there are too few columns, too many, or costs that nobody wants.
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
    """Return the one column that is called a cost, if there is any."""
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


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
