"""A file with an answer becomes node numbers or amounts; an answer becomes JSON, CSV or a table.

An answer is a claim: here it is only translated into numbers, and errors name the file and the line
or position. Whether it is legal and maximum is for a certificate to say.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal, cast

import numpy as np

from augury.classical.arrays import WideArray, capacity_fault
from augury.classical.cost_network import CostNetwork
from augury.classical.formats.edge_writer import csv_cell
from augury.classical.formats.text import LabelFinder, Lines, amount_of, parse_json, rows
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError, visible
from augury.files import BYTE_ORDER_MARK, LineError, named, open_input

COLUMNS = {
    "matching": ("left", "right"),
    "flow": ("tail", "head", "flow"),
    "reached": ("node", "steps", "predecessor"),
}
"""The parts of an entry, by kind of answer; also the headers of CSV files and tables."""

Entries = Iterator[tuple[int, Sequence[Any]]]
"""The line or position of each entry, and its parts."""
Fault = Callable[[int, str], InputError]
"""Makes the error for the entry at a line or position."""


def read_answer(path: str | Path, graph: Graph) -> WideArray:
    """Read a matching or a flow from JSON or CSV; `-` is standard input.

    Returns:
        For a bipartite graph the pairs of node numbers, (k, 2), including pairs that are no edges.
        For a flow network what each arc carries, for `certify_amounts`: amounts on the same arc add
        up, and v → u is not the arc u → v. For one with costs, whose arcs may be parallel,
        rows of tail, head and amount.

    Raises:
        InputError: the file cannot be parsed, or names a node or an arc that does not exist.
    """
    key = "matching" if isinstance(graph, BipartiteGraph) else "flow"

    def entry_fault(position: int, text: str) -> InputError:
        return InputError(f"{key} entry {position}: {text}")

    with named(path), open_input(path) as file:
        start = file.read(4096).removeprefix(BYTE_ORDER_MARK).lstrip()
        if not start:
            raise InputError("the file is empty")
        if start.startswith((b"{", b"[")):
            entries, fault = _json_entries(parse_json(file), key, entry_fault), entry_fault
        else:
            entries, fault = _csv_entries(file, key), LineError
        read = _pairs if isinstance(graph, BipartiteGraph) else _flow
        return read(entries, cast("Any", graph), fault)


def _json_entries(data: Any, key: str, fault: Fault) -> Entries:
    if isinstance(data, dict):
        if key not in data:
            raise InputError(f'the JSON object lacks "{key}"')
        data = cast("dict[str, Any]", data)[key]
    if not isinstance(data, list):
        raise InputError(f'"{key}" must be a list')
    for position, entry in enumerate(cast("list[Any]", data)):
        if not isinstance(entry, list):
            raise fault(position, f"expected [{', '.join(COLUMNS[key])}]")
        yield position, cast("list[Any]", entry)


def _csv_entries(file: IO[bytes], key: str) -> Entries:
    lines = Lines(file, "#%")
    for position, row in enumerate(rows(lines)):
        if position == 0 and tuple(cell.casefold() for cell in row) == COLUMNS[key]:
            continue
        if key == "flow" and len(row) == 3:
            yield lines.number, (*row[:2], amount_of(row[2], lines.number, "flow"))
        else:
            yield lines.number, row


def _pairs(entries: Entries, graph: BipartiteGraph, fault: Fault) -> WideArray:
    left = LabelFinder(graph.left_labels or range(graph.num_left))
    right = LabelFinder(graph.right_labels or range(graph.num_right))
    numbers = array("q")
    for position, entry in entries:
        if len(entry) != 2:
            raise fault(position, f"expected left, right, not {len(entry)} parts")
        for label, finder, side in zip(entry, (left, right), ("left", "right"), strict=True):
            number = finder.number(label)
            if number is None:
                raise fault(position, f"{_shown(label)} is not a {side} node of the graph")
            numbers.append(number)
    return np.asarray(numbers).reshape(-1, 2)


def read_prices(path: str | Path) -> dict[str, Any]:
    """Read prices from JSON: an object that has them, or one of our answers with its certificate.

    Raises:
        InputError: there are none.
    """
    with named(path), open_input(path) as file:
        data: Any = parse_json(file)
        for key in ("certificate", "prices"):
            data = cast("dict[str, Any]", data).get(key, data) if isinstance(data, dict) else data
        if isinstance(data, dict):
            found = cast("dict[str, Any]", data)
            if not found.keys().isdisjoint(("left", "u", "nodes")):
                return found
        raise InputError('there are no prices: "left" and "right", "u" and "v", or "nodes"')


def _flow(entries: Entries, network: FlowNetwork | CostNetwork, fault: Fault) -> WideArray:
    finder = LabelFinder(network.labels or range(network.num_nodes))
    positions, ends, amounts = array("q"), array("q"), array("q")
    for position, entry in entries:
        if len(entry) != 3:
            raise fault(position, f"expected tail, head, flow, not {len(entry)} parts")
        for label in entry[:2]:
            number = finder.number(label)
            if number is None:
                raise fault(position, f"{_shown(label)} is not a node of the graph")
            ends.append(number)
        wrong = capacity_fault(entry[2])
        if wrong:
            raise fault(position, f"the flow {wrong}")
        amounts.append(int(entry[2]))
        positions.append(position)
    tail, head = np.asarray(ends).reshape(-1, 2).T
    if isinstance(network, CostNetwork):
        return np.stack([tail, head, np.asarray(amounts)], axis=1)
    arcs = network.arc_index(tail, head)
    if (arcs < 0).any():
        first = int((arcs < 0).argmax())
        shown = [_shown(network.label(int(node))) for node in (tail[first], head[first])]
        raise fault(positions[first], f"there is no arc from {shown[0]} to {shown[1]}")
    return network.amounts_on(arcs, amounts)


def _shown(label: object) -> str:
    return repr(str(label)[:40])


def answer_text(answer: dict[str, Any], kind: Literal["json", "csv", "table"]) -> str:
    """Format an answer: all of it as JSON, or its pairs or flows as CSV or aligned columns.

    >>> print(answer_text({"size": 1, "matching": [("ann", "cook")]}, "table"), end="")
    left  right
    ann   cook
    """
    return {"json": _as_json, "csv": _as_csv, "table": _as_table}[kind](answer)


def _as_json(answer: dict[str, Any]) -> str:
    lines = [f"  {json.dumps(key)}: {_json_value(value)}" for key, value in answer.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json_value(value: Any) -> str:
    """Return a list of lists with one entry per line, anything else on one line."""
    plain = _plain(value)
    if isinstance(plain, list) and plain and isinstance(plain[0], list):
        entries = ",\n".join("    " + json.dumps(entry) for entry in cast("list[Any]", plain))
        return f"[\n{entries}\n  ]"
    return json.dumps(plain)


def _plain(value: Any) -> Any:
    """Return the value as JSON can hold it; anything else becomes text."""
    if isinstance(value, np.generic | np.ndarray):
        return _plain(cast("Any", value).tolist())
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in cast("Sequence[Any]", value)]
    is_json = value is None or isinstance(value, str | int)
    return value if is_json or (isinstance(value, float) and math.isfinite(value)) else str(value)


def _table(answer: dict[str, Any]) -> list[list[str]]:
    key = next((key for key in COLUMNS if key in answer), None)
    if key is None:
        raise InputError("an answer holds a matching or a flow")
    rows = [["" if part is None else str(part) for part in entry] for entry in answer[key]]
    return [list(COLUMNS[key]), *rows]


def _as_csv(answer: dict[str, Any]) -> str:
    return "".join(",".join(map(csv_cell, row)) + "\n" for row in _table(answer))


def _as_table(answer: dict[str, Any]) -> str:
    # A line break inside a label would break the column.
    table = [[visible(" ".join(cell.splitlines())) for cell in row] for row in _table(answer)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
    return "".join(line + "\n" for line in lines)
