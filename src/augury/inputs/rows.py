"""Rows become graphs: lists of pairs and triples, dicts of lists, pandas and Polars DataFrames.

A pair is an edge (left, right); a triple, with source and sink, an arc (tail, head, capacity). If
the caller says that there are costs, each row ends with one more entry, the cost; a dict of dicts
and a column named as a cost need no such word. Anything that could also be a matrix is refused with
both readings named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from reprlib import repr as short
from typing import Any

import numpy as np

from augury.classical.cost_network import CostNetwork
from augury.classical.formats.costs import check_sense, is_cost, is_remark
from augury.classical.formats.edge_list import CAPACITY_WORDS, HEADER_WORDS
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.inputs.costs import Said


def _shape(said: Said, has_cost: bool | None = None) -> list[str]:
    """Return what the entries of a row are."""
    parts = ["left", "right"] if said.ends is None else ["tail", "head", "capacity"]
    return parts + ["cost"] * bool(said.costs if has_cost is None else has_cost)


def _rows_of(parts: list[str]) -> str:
    noun = {2: "pairs", 3: "triples", 4: "quadruples"}[len(parts)]
    return f"{noun} ({', '.join(parts)})"


def is_rows(graph: Any) -> bool:
    """Recognise a list or a tuple."""
    return isinstance(graph, list | tuple)


def from_rows(rows: Sequence[Any], said: Said) -> Graph:
    """Read a list of pairs or, with source and sink, of triples; costs are one more entry."""
    kinds = set(map(type, rows))  # for short lists, quicker than a look at each row
    if not kinds <= {list, tuple}:
        for position, row in enumerate(rows):
            if not isinstance(row, list | tuple):
                raise InputError(
                    f"entry {position} of the list is {short(row)}: a graph is a list of "
                    f"{_rows_of(_shape(said))}, and solve_batch takes a list of graphs"
                )
    is_listed = rows and tuple not in kinds and all(isinstance(row, list) for row in rows)
    if is_listed and all(all(map(_is_number, row)) for row in rows):
        matrix = "np.array(rows)" + " != 0" * (not said.costs)
        raise InputError(
            f"a list of lists of numbers can be read in two ways: give `{matrix}` if it "
            "is a matrix, or [tuple(row) for row in rows] if its rows are edges or arcs"
        )
    return _read(rows, said)


def from_adjacency(adjacency: dict[Any, Any], said: Said) -> Graph:
    """Read the right nodes of each left node, which may have none; with costs, their costs."""
    if said.ends is not None:
        raise InputError(f"a dict has no capacities: give {_rows_of(_shape(said))} in a list")
    if adjacency and all(isinstance(right, Mapping) for right in adjacency.values()):
        return _from_costs_by_label(adjacency, said)
    if said.costs:
        raise InputError("a dict has costs in the form {left: {right: cost}}")
    for left, right in adjacency.items():
        if not isinstance(right, list | tuple):
            kind = type(right).__name__
            raise InputError(f"the right nodes of {short(left)} must be a list, not {kind}")
    if _are_columns(adjacency):
        raise InputError(
            f"the keys {', '.join(map(repr, adjacency))} can be left nodes or names of columns: "
            "give [(left, right) for left in graph for right in graph[left]] for nodes, "
            "list(zip(*graph.values())) for columns"
        )
    edges = ((left, right) for left, all_right in adjacency.items() for right in all_right)
    return BipartiteGraph.from_edges(edges, left_labels=list(adjacency))


def _from_costs_by_label(costs: Mapping[Any, Mapping[Any, Any]], said: Said) -> BipartiteGraph:
    """Read {left: {right: cost}}."""
    if said.costs is False:
        raise said.refusal("a dict of dicts holds costs", "give a dict of lists")
    edges = [(left, right) for left, row in costs.items() for right in row]
    row = [cost for own in costs.values() for cost in own.values()]
    _refuse_no_numbers(row, edges)
    lefts = list(costs)
    return BipartiteGraph.from_edges(edges, lefts, costs=row, maximise=said.maximise)


def _refuse_no_numbers(costs: Sequence[Any], edges: Sequence[Any]) -> None:
    for cost, edge in zip(costs, edges, strict=True):
        if not _is_number(cost) or cost != cost:
            ends = f"{short(edge[0])}, {short(edge[1])}"
            raise InputError(f"the cost of {ends} is {short(cost)}, not a number")


def is_frame(graph: Any) -> bool:
    """Recognise a DataFrame of pandas or Polars."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] in ("pandas", "polars")
        for kind in type(graph).__mro__
    )


def from_frame(frame: Any, said: Said) -> Graph:
    """Read the columns left and right, or the first two; for a flow tail, head and capacity.

    A column named as a cost holds the costs; others are ignored, or refused if they might.
    """
    words = [str(name).strip().casefold() for name in frame.columns]
    cost = _cost_column(frame, words, said)
    capacity = next((k for k, word in enumerate(words) if word in CAPACITY_WORDS), None)
    if said.ends is None and capacity is not None:
        raise InputError(
            f"the column {frame.columns[capacity]!r} makes this a flow network: give source and "
            "sink, or leave the column out"
        )
    chosen = _chosen(words, {"capacity": capacity, "cost": cost}, said)
    if capacity is None and cost is None and words[chosen[0]] not in ("left", "tail"):
        _refuse_matrix(frame, chosen, said)
    if cost is None and said.costs is None:
        _refuse_unknown(frame, words, chosen, said)
    rows = list(zip(*(_column(frame, k) for k in chosen), strict=True))
    return _read(rows, said if cost is None else said._replace(costs=True))


def _refuse_unknown(frame: Any, words: list[str], chosen: list[int], said: Said) -> None:
    """Raise InputError for a column of numbers whose name says nothing: costs, or a remark?"""
    for k, word in enumerate(words):
        if k in chosen or is_remark(word):
            continue
        values = _values(frame, k)
        if values and _is_number(values[0]):
            way = "leave the column out, as frame[[left, right]] does"
            raise said.refusal(f"the column {frame.columns[k]!r} holds numbers", way)


def _cost_column(frame: Any, words: list[str], said: Said) -> int | None:
    """Return the number of the one column named as a cost, if any."""
    found = [k for k, word in enumerate(words) if is_cost(word)]
    if not found:
        return None
    names = [frame.columns[k] for k in found]
    if said.costs is False:
        way = "leave the column out, as frame[[left, right]] does"
        raise said.refusal(f"there is a column {names[0]!r}", way)
    if len(found) > 1:
        told = f"the columns {names[0]!r} and {names[1]!r} may both be costs"
        raise InputError(f"{told}: leave one out, or give it another name")
    check_sense(str(names[0]), said.maximise or None)
    return found[0]


def _read(rows: Sequence[Sequence[Any]], said: Said) -> Graph:
    """Read rows of one length."""
    parts = _shape(said)
    if set(map(len, rows)) - {len(parts)}:
        raise _misfit(rows, parts, said)
    if said.costs:
        return _priced(rows, said)
    return _edges(rows) if said.ends is None else _arcs(rows, said)


def _misfit(rows: Sequence[Sequence[Any]], parts: list[str], said: Said) -> InputError:
    """Name the first row that is too long or too short."""
    position, row = next((k, row) for k, row in enumerate(rows) if len(row) != len(parts))
    told = f"entry {position} is {short(row)}"
    if len(row) == len(parts) + 1 and not said.costs:
        way = f"give {_rows_of(parts)}"
        way += ", or source and sink if they are capacities" * (said.ends is None)
        return said.refusal(f"{told}: the last parts have no name", way)
    noun = "a flow" if said.ends else "a matching"
    return InputError(f"{told}: {noun} is found in {_rows_of(parts)}")


def _priced(rows: Sequence[Sequence[Any]], said: Said) -> Graph:
    """Read rows that end with a cost."""
    _refuse_no_numbers([row[-1] for row in rows], rows)
    if said.ends is not None:
        ends = said.ends._asdict()
        return CostNetwork.from_labelled_arcs(rows, **ends, maximise=said.maximise)  # type: ignore[arg-type]
    pairs = [(row[0], row[1]) for row in rows]
    costs = [row[2] for row in rows]
    return BipartiteGraph.from_edges(pairs, costs=costs, maximise=said.maximise)


def _edges(rows: Sequence[Sequence[Any]]) -> BipartiteGraph:
    return BipartiteGraph.from_edges(rows)  # type: ignore[arg-type]  # which checks them


def _arcs(rows: Sequence[Sequence[Any]], said: Said) -> FlowNetwork:
    assert said.ends is not None
    try:
        labels = list(dict.fromkeys(chain.from_iterable(row[:2] for row in rows)))
    except TypeError:
        labels = None  # from_labelled_arcs refuses the arc, with its position
    return FlowNetwork.from_labelled_arcs(rows, *said.ends, labels)  # type: ignore[arg-type]


def _are_columns(adjacency: dict[Any, Any]) -> bool:
    """Recognise a dict that could be a table by columns: all keys are usual in a header."""
    is_header = all(isinstance(key, str) and key.casefold() in HEADER_WORDS for key in adjacency)
    return len(adjacency) in (2, 3) and is_header and len(set(map(len, adjacency.values()))) == 1


def _chosen(words: list[str], named: dict[str, int | None], said: Said) -> list[int]:
    """Return the numbers of the columns that hold an edge or an arc, its capacity and its cost."""
    parts = _shape(said, bool(said.costs) or named["cost"] is not None)
    names = parts[:2]
    others = [k for k in range(len(words)) if k not in named.values()]
    has_names = all(words.count(name) == 1 for name in names)
    chosen = [words.index(name) for name in names] if has_names else others[:2]
    rest = [k for k in others if k not in chosen]
    for part in parts[2:]:
        own = named[part]
        chosen += [own] if own is not None else [rest.pop(0)] if rest else []
    if len(chosen) < len(parts):
        told = f"has more than {len(words)} columns"
        raise InputError(f"a DataFrame of {_rows_of(parts)} {told}")
    return chosen


def _refuse_matrix(frame: Any, chosen: list[int], said: Said) -> None:
    """Raise InputError for a DataFrame that could be a matrix: numbers, or named rows."""
    second = _column(frame, chosen[1])
    if not second:
        return
    names = frame.columns[chosen[0]], frame.columns[chosen[1]]
    is_named = all(isinstance(name, str) for name in names) and not _has_named_rows(frame)
    is_label = not all(map(_is_number, second)) or (
        len(frame.columns) == len(chosen)
        and all(type(value) is int for value in second)
        and not set(second) <= {0, 1}
    )
    if not (is_named and is_label):
        columns = "tail, head and capacity" if said.ends else "left and right"
        matrix = "frame.to_numpy()" + " != 0" * (not said.ends and not said.costs)
        raise InputError(
            f"the DataFrame can be a matrix or a list of rows: give `{matrix}` if it is a matrix, "
            f"or call the columns {columns} (after reset_index, if the rows have names)"
        )


def _has_named_rows(frame: Any) -> bool:
    """Tell whether a pandas DataFrame has a meaningful index; Polars has none."""
    index = getattr(frame, "index", None)
    names, dtype = getattr(index, "names", ()), getattr(index, "dtype", None)
    return any(name is not None for name in names) or getattr(dtype, "kind", "i") not in "iu"


def _column(frame: Any, number: int) -> list[Any]:
    """Return the values of a column as Python objects; refuse gaps."""
    values = _values(frame, number)
    for position, value in enumerate(values):
        is_nan = isinstance(value, float) and value != value
        if value is None or is_nan or type(value).__name__ in ("NAType", "NaTType"):
            raise InputError(f"row {position} of the column {frame.columns[number]!r} is empty")
    return values


def _values(frame: Any, number: int) -> list[Any]:
    if hasattr(frame, "iloc"):
        return frame.iloc[:, number].tolist()
    return frame.to_series(number).to_list()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)
