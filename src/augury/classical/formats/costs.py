"""Which numbers in a file are costs, and what becomes of them; files of supplies.

A column or an attribute named as a cost holds costs. Numbers without a name may be costs or
something else: the options say which, or they are refused with both readings named. Nothing is
ignored unless the options say so.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from augury.classical.arrays import Label, Labels, Numbers, WideArray
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import Costs
from augury.classical.formats.text import (
    LabelFinder,
    Lines,
    ReadOptions,
    amount_of,
    ends_by_label,
    rows,
)
from augury.errors import InputError
from augury.files import LineError, named, open_input

_LESS = """
    cost costs weight weights price prices distance distances dist penalty penalties fee fees wage
    wages salary expense expenses expenditure time times hour hours minute minutes duration
    durations length lengths mileage effort efforts delay delays seconds km miles
"""
_MORE = """
    value values score scores rank ranks rating ratings preference preferences profit profits
    utility utilities reward rewards benefit benefits similarity affinity gain gains
"""
LESS_WORDS = frozenset(_LESS.split())
"""Words in the names of columns that hold costs: less is better, unless stated otherwise."""
MORE_WORDS = frozenset(_MORE.split())
"""The same, but less need not be better: the caller has to say."""

_REMARKS = "id ids index number no nr row key code year month week day date"
REMARK_WORDS = frozenset(_REMARKS.split())
"""Words in the names of columns whose numbers are not costs."""


def is_cost(name: str) -> bool:
    """Tell whether a column's name suggests costs.

    >>> is_cost("Unit cost"), is_cost("day")
    (True, False)
    """
    return not (LESS_WORDS | MORE_WORDS).isdisjoint(_words(name))


def is_remark(name: str) -> bool:
    """Tell whether a column's name says that its numbers are not costs.

    >>> is_remark("employee_id"), is_remark("zeal")
    (True, False)
    """
    return not REMARK_WORDS.isdisjoint(_words(name))


def check_sense(name: str, maximise: bool | None) -> None:
    """Raise InputError if a column's name leaves open whether less or more is better.

    >>> check_sense("cost", None)
    >>> check_sense("profit", True)
    """
    if maximise is None and not MORE_WORDS.isdisjoint(_words(name)):
        raise InputError(
            f"the column {reprlib.repr(name)} leaves open what is better: --maximise, in Python "
            "maximise=True, looks for the greatest sum; --minimise, or the name 'cost', for the "
            "least"
        )


def _words(name: str) -> list[str]:
    return re.split(r"[\W_]+", name.casefold())


def ignored_costs(what: str, line: int | None = None) -> InputError:
    """Return the error that refuses costs; `what` says which, and `line` where."""
    return _error(
        f"{what} would be ignored by this algorithm; --ignore-costs, in Python "
        "ReadOptions(ignore_costs=True), reads the edges alone",
        line,
    )


def two_readings(what: str, line: int | None = None, capacities: bool = False) -> InputError:
    """Return the error for numbers that nothing declares to be costs, or capacities."""
    ways = "--cost, in Python algorithm='assignment' or ReadOptions(costs=True), reads them as "
    ways += "costs, " + "--capacity (flow=True) as capacities, " * capacities
    return _error(f"{what}: {ways}--ignore-costs (ignore_costs=True) leaves them out", line)


def _error(told: str, line: int | None) -> InputError:
    return InputError(told) if line is None else LineError(line, told)


NO_COSTS_TO_IGNORE = (
    "the costs of a flow of least cost cannot be left out: write it as a maximum flow"
)


def cost_of(text: str, line: int, name: str = "") -> int | float:
    """Parse a cost, whole numbers exactly; infinity means that there is no such edge."""
    if text.isdecimal() and text.isascii() and len(text) <= 18:
        return int(text)
    if re.fullmatch(r"[+-]?[0-9]{1,40}", text, re.ASCII):
        return int(text)
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        value = math.nan
    # float() takes 1e999 for infinity.
    if math.isnan(value) or (math.isinf(value) and any(map(str.isdecimal, text))):
        column = f" in the column {reprlib.repr(name)}" if name else ""
        raise LineError(line, f"the cost{column} is {reprlib.repr(text)}, not a number")
    return value


def refuse_infinite(cost: int | float, line: int, maximise: bool | None) -> None:
    """Raise LineError for an edge that is infinitely good; one infinitely bad is no edge."""
    if isinstance(cost, float) and cost == (math.inf if maximise else -math.inf):
        raise LineError(line, f"the cost is {cost}, which is infinitely good")


def read_supplies(path: str | Path) -> dict[str, int]:
    """Read the supply of each node: rows of a node and an amount, negative for a demand.

    Under a header with the word demand, positive amounts are demands.

    Raises:
        InputError: the file cannot be read; one sentence says where and why.
    """
    supply: dict[str, int] = {}
    sign = 1
    with named(path), open_input(path) as file:
        lines = Lines(file, "#%")
        for position, row in enumerate(rows(lines)):
            if len(row) != 2:
                raise LineError(lines.number, f"expected node, amount, not {len(row)} columns")
            node, amount = row
            if position == 0 and re.search(r"supply|supplies|demand|amount", amount.casefold()):
                sign = -1 if "demand" in amount.casefold() else 1
                continue
            if node in supply:
                raise LineError(lines.number, f"{reprlib.repr(node)} has two supplies")
            supply[node] = sign * amount_of(amount, lines.number, "supply", is_signed=True)
    return supply


def cost_network(  # noqa: PLR0913  # arcs have many columns
    labels: Labels,
    arcs: tuple[Numbers, Numbers, WideArray],
    costs: Any,
    options: ReadOptions,
    *,
    lower: Sequence[int] | WideArray | None = None,
    supply: Mapping[int, int] | None = None,
    ends: Mapping[str, int] | None = None,
) -> CostNetwork:
    """Build a network; its supplies or ends come from the options or, without any, as given."""
    own: dict[str, Any] = {}
    if options.supply is not None:
        supply = _supply_by_number(labels, options.supply)
    if supply is not None:
        _refuse_ends(options)
        row = [0] * len(labels)
        for node, amount in supply.items():
            row[node] = amount
        own["supply"] = row
    else:
        own = dict(ends_by_label(labels, options) if ends is None else ends)
    given = [0] * len(arcs[0]) if costs is None else costs
    priced = Costs.of(given, len(labels) + 2, bool(options.maximise))
    least = None if lower is None else np.asarray(lower, np.int64)
    return CostNetwork(len(labels), *arcs, priced, lower=least, labels=labels, **own)


def _refuse_ends(options: ReadOptions) -> None:
    for end in ("source", "sink"):
        if getattr(options, end) is not None:
            raise InputError(f"there are supplies, so nothing is asked of a {end}: leave it out")


def _supply_by_number(labels: Labels, supply: Mapping[str, int]) -> dict[int, int]:
    finder, found = LabelFinder(labels), dict[int, int]()
    for label, amount in supply.items():
        number = finder.number(label)
        if number is None:
            raise InputError(f"{reprlib.repr(label)} has a supply, but is not a node")
        found[number] = amount
    return found


def arc_lines(network: CostNetwork) -> list[tuple[int, int, int, int, Any]]:
    """Return (tail, head, lower, capacity, cost) of every arc, in node numbers."""
    columns = (network.tail, network.head, network.least, network.capacity)
    costs = edge_costs(network.costs)
    return list(zip(*(column.tolist() for column in columns), costs, strict=True))


def edge_costs(costs: Costs) -> list[Any]:
    """Return costs in the user's own numbers.

    Raises:
        InputError: they were rounded, so those are no longer known.
    """
    if costs.error:
        raise InputError("costs that did not fit into 64 bits were rounded, and are not written")
    return list(map(costs.worth, costs.amount.tolist()))


def supplied(network: CostNetwork) -> list[tuple[Label, int]] | None:
    """Return (label, supply) of the nodes that have one, None if there is a source and a sink."""
    if network.supply is None:
        return None
    supply = enumerate(network.supply.tolist())
    return [(network.label(node), amount) for node, amount in supply if amount]
