"""A file with an answer becomes node numbers or net flows; an answer becomes JSON, CSV or a table.

An answer is somebody's claim: what is read here is only translated into numbers, with the file and
the line or position of whatever cannot be. Whether it is legal and maximum, a certificate tells.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal, cast

import numpy as np

from augury.classical.formats import (
    LabelFinder,
    LineError,
    Lines,
    amount_of,
    atomic_file,
    csv_cell,
    named,
    open_input,
    parse_json,
    rows,
)
from augury.classical.graph import BipartiteGraph, InputError, WideArray
from augury.classical.network import MAX_CAPACITY, FlowNetwork, capacity_fault

COLUMNS = {"matching": ("left", "right"), "flow": ("tail", "head", "flow")}
"""What an entry of each kind of answer consists of; also the headers of CSV and tables."""

Entry = tuple[Callable[[str], InputError], Sequence[Any]]
"""How to complain about an entry of an answer, and its parts."""


def read_answer(path: str | Path, graph: BipartiteGraph | FlowNetwork) -> WideArray:
    """Read a matching or a flow from JSON or CSV; `-` is standard input.

    Returns:
        For a bipartite graph the pairs of node numbers, (k, 2), also pairs that are no edges.
        For a network the net flow of each arc, `flow[arc] == -flow[arc ^ 1]`: amounts on u → v and
        v → u subtract, amounts on the same arc add.

    Raises:
        InputError: the file cannot be understood, or names a node or an arc that does not exist.
    """
    key = "flow" if isinstance(graph, FlowNetwork) else "matching"
    with named(path), open_input(path) as file:
        start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
        if not start:
            raise InputError("the file is empty")
        if start[:1] in (b"{", b"["):
            entries = _json_entries(parse_json(file), key)
        else:
            entries = _csv_entries(file, key)
        return _flow(entries, graph) if isinstance(graph, FlowNetwork) else _pairs(entries, graph)


def _json_entries(data: Any, key: str) -> Iterator[Entry]:
    if isinstance(data, dict):
        if key not in data:
            raise InputError(f'the JSON object lacks "{key}"')
        data = cast("dict[str, Any]", data)[key]
    if not isinstance(data, list):
        raise InputError(f'"{key}" must be a list')
    for position, entry in enumerate(cast("list[Any]", data)):

        def fault(text: str, position: int = position) -> InputError:
            return InputError(f"{key} entry {position}: {text}")

        if not isinstance(entry, list):
            raise fault(f"expected [{', '.join(COLUMNS[key])}]")
        yield fault, cast("list[Any]", entry)


def _csv_entries(file: IO[bytes], key: str) -> Iterator[Entry]:
    lines = Lines(file, "#%")
    for position, row in enumerate(rows(lines)):
        number = lines.number
        if position == 0 and tuple(cell.casefold() for cell in row) == COLUMNS[key]:
            continue
        parts: list[Any] = list(row)
        if key == "flow" and len(row) == 3:
            parts[2] = amount_of(row[2], number, "flow")

        def fault(text: str, number: int = number) -> LineError:
            return LineError(number, text)

        yield fault, parts


def _node(label: object, finder: LabelFinder, side: str, fault: Callable[[str], InputError]) -> int:
    number = finder.number(label)
    if number is None:
        raise fault(f"{str(label)[:40]!r} is not a {side}node of the graph")
    return number


def _pairs(entries: Iterable[Entry], graph: BipartiteGraph) -> WideArray:
    left = LabelFinder(graph.left_labels or range(graph.num_left))
    right = LabelFinder(graph.right_labels or range(graph.num_right))
    numbers: list[int] = []
    for fault, entry in entries:
        if len(entry) != 2:
            raise fault(f"expected left, right, not {len(entry)} parts")
        numbers.append(_node(entry[0], left, "left ", fault))
        numbers.append(_node(entry[1], right, "right ", fault))
    return np.array(numbers, np.int64).reshape(-1, 2)


def _flow(entries: Iterable[Entry], network: FlowNetwork) -> WideArray:
    finder = LabelFinder(network.labels or range(network.num_nodes))
    keys = network.sender.astype(np.int64) * network.num_nodes + network.receiver
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    flow: dict[int, int] = {}
    for fault, entry in entries:
        if len(entry) != 3:
            raise fault(f"expected tail, head, flow, not {len(entry)} parts")
        tail, head = (_node(label, finder, "", fault) for label in entry[:2])
        key = tail * network.num_nodes + head
        place = int(np.searchsorted(keys, key))
        if place == len(keys) or keys[place] != key:
            raise fault(f"there is no arc from {str(entry[0])[:40]!r} to {str(entry[1])[:40]!r}")
        wrong = capacity_fault(entry[2])
        if wrong:
            raise fault(f"the flow {wrong}")
        arc = int(order[place])
        flow[arc] = flow.get(arc, 0) + int(entry[2])
    return _net(flow, network.num_arcs)


def _net(flow: dict[int, int], num_arcs: int) -> WideArray:
    """Subtract what opposite arcs carry; sums are Python's, so that none can overflow unseen."""
    result = np.zeros(num_arcs, np.int64)
    for arc in flow:
        amount = flow[arc] - flow.get(arc ^ 1, 0)
        if abs(amount) > MAX_CAPACITY:
            raise InputError(f"the flow on one arc adds up to more than {MAX_CAPACITY}")
        result[arc], result[arc ^ 1] = amount, -amount
    return result


def answer_text(answer: dict[str, Any], kind: Literal["json", "csv", "table"]) -> str:
    """Return an answer as text: all of it as JSON, or its pairs or flows as CSV or aligned columns.

    >>> print(answer_text({"size": 1, "matching": [("ann", "cook")]}, "table"), end="")
    left  right
    ann   cook
    """
    return WRITERS[kind](answer)


def _as_json(answer: dict[str, Any]) -> str:
    lines = [f"  {json.dumps(key)}: {_json_value(value)}" for key, value in answer.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json_value(value: Any) -> str:
    """One line per entry of a list of lists, one line for anything else."""
    plain = _plain(value)
    if isinstance(plain, list) and plain and isinstance(plain[0], list):
        entries = ",\n".join("    " + json.dumps(entry) for entry in cast("list[Any]", plain))
        return f"[\n{entries}\n  ]"
    return json.dumps(plain)


def _plain(value: Any) -> Any:
    """Return the value as JSON can hold it; what it cannot hold becomes its text."""
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
    return [list(COLUMNS[key]), *([str(part) for part in entry] for entry in answer[key])]


def _as_csv(answer: dict[str, Any]) -> str:
    return "".join(",".join(map(csv_cell, row)) + "\n" for row in _table(answer))


def _as_table(answer: dict[str, Any]) -> str:
    # A line break inside a label would break the column.
    table = [[" ".join(cell.splitlines()) for cell in row] for row in _table(answer)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
    return "".join(line + "\n" for line in lines)


WRITERS = {"json": _as_json, "csv": _as_csv, "table": _as_table}


def write_text(path: str | Path, text: str) -> None:
    """Write text to a file, all of it or nothing; `-` is standard output."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    with named(path), atomic_file(path) as file:
        # Half a character from JSON's \ud800 has no UTF-8; it is shown, not lost.
        file.write(text.encode(errors="backslashreplace"))
