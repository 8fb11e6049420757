"""The first row of a table becomes what each column holds: ends, capacity, costs, or a matrix.

A header is recognised by its words, or by standing above integers only, which takes a look at the
other rows. A column of costs is refused unless the options say to ignore costs.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass

from augury.classical.formats.labelled_matrix import look_at
from augury.classical.formats.labels import ReadOptions, ignored_costs
from augury.errors import InputError
from augury.files import LineError

CAPACITY_WORDS = frozenset({"capacity", "capacities", "cap"})
COST_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        cost costs weight weights price prices value values score scores rank ranks
        rating ratings preference preferences distance distances dist profit profits
        utility utilities penalty penalties fee fees wage wages salary expense expenses
        reward rewards benefit benefits similarity affinity
        """,
    )
)
"""Words in column names whose values a matching of greatest cardinality would ignore."""
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


def is_cost(name: str) -> bool:
    """Tell whether a column's name suggests costs.

    >>> is_cost("Unit cost"), is_cost("day")
    (True, False)
    """
    return not COST_WORDS.isdisjoint(re.split(r"[\W_]+", name.casefold()))


def is_matrix(table: Iterator[list[str]], options: ReadOptions) -> bool:
    """Tell a labelled matrix from a list of edges.

    Raises:
        InputError: it could be either, with different answers.
    """
    first = next(table, list[str]())
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
        raise LineError(line, str(ignored_costs(f"the column {reprlib.repr(cost)}")))
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
