"""Rows become graphs: lists of pairs and triples, dicts of lists, pandas and Polars DataFrames.

A pair is an edge (left, right); a triple, with source and sink, an arc (tail, head, capacity).
What could also be a matrix is refused with both readings named; so are costs, which would be
ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from reprlib import repr as short
from typing import Any

import numpy as np

from augury.classical.formats.edge_list import CAPACITY_WORDS, HEADER_WORDS, is_cost
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.inputs.arrays import Ends
from augury.inputs.costs import ignored

SHAPES = {2: "pairs (left, right)", 3: "triples (tail, head, capacity)"}
"""What a row is, by its number of entries."""


def is_rows(graph: Any) -> bool:
    """Tell a list or a tuple."""
    return isinstance(graph, list | tuple)


def from_rows(rows: Sequence[Any], ends: Ends | None) -> Graph:
    """Read a list of pairs or, with source and sink, of triples."""
    for position, row in enumerate(rows):
        if not isinstance(row, list | tuple):
            raise InputError(
                f"entry {position} of the list is {short(row)}: a graph is a list of "
                f"{SHAPES[2 if ends is None else 3]}, and solve_batch takes a list of graphs"
            )
    if rows and all(isinstance(row, list) and all(map(_is_number, row)) for row in rows):
        raise InputError(
            "a list of lists of numbers can be read in two ways: give `np.array(rows) != 0` if it "
            "is a matrix, or [tuple(row) for row in rows] if its rows are edges or arcs"
        )
    return _edges(rows) if ends is None else _arcs(rows, ends)


def from_adjacency(adjacency: dict[Any, Any], ends: Ends | None) -> Graph:
    """Read the right nodes of each left node, which may have none."""
    if ends is not None:
        raise InputError(f"a dict of lists has no capacities: give {SHAPES[3]} in a list")
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


def is_frame(graph: Any) -> bool:
    """Tell a DataFrame of pandas or Polars."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] in ("pandas", "polars")
        for kind in type(graph).__mro__
    )


def from_frame(frame: Any, ends: Ends | None) -> Graph:
    """Read the columns left and right, or the first two; for a flow tail, head and capacity.

    Other columns are ignored, but those named after costs are refused.
    """
    words = [str(name).strip().casefold() for name in frame.columns]
    for name, word in zip(frame.columns, words, strict=True):
        if is_cost(word):
            way = "leave the column out, as frame[[left, right]] does"
            raise ignored(f"there is a column {name!r}", way, ends is not None)
    capacity = next((k for k, word in enumerate(words) if word in CAPACITY_WORDS), None)
    if ends is None and capacity is not None:
        raise InputError(
            f"the column {frame.columns[capacity]!r} makes this a flow network: give source and "
            "sink, or leave the column out"
        )
    chosen = _chosen(words, capacity, ends)
    if capacity is None and words[chosen[0]] not in ("left", "tail"):
        _refuse_matrix(frame, chosen, is_flow=ends is not None)
    rows = list(zip(*(_column(frame, k) for k in chosen), strict=True))
    return _edges(rows) if ends is None else _arcs(rows, ends)


def _edges(rows: Sequence[Sequence[Any]]) -> BipartiteGraph:
    for position, row in enumerate(rows):
        if len(row) == 3:
            way = "give pairs, or source and sink if the third entries are capacities"
            raise ignored(f"entry {position} is the triple {short(row)}", way)
    return BipartiteGraph.from_edges(rows)  # type: ignore[arg-type]  # which checks them


def _arcs(rows: Sequence[Sequence[Any]], ends: Ends) -> FlowNetwork:
    for position, row in enumerate(rows):
        if len(row) != 3:
            raise InputError(f"entry {position} is {short(row)}: a flow is found in {SHAPES[3]}")
    try:
        labels = list(dict.fromkeys(label for row in rows for label in row[:2]))
    except TypeError:
        labels = None  # from_labelled_arcs refuses the arc, with its position
    return FlowNetwork.from_labelled_arcs(rows, *ends, labels)  # type: ignore[arg-type]


def _are_columns(adjacency: dict[Any, Any]) -> bool:
    """Tell a dict that could be a table by columns: all keys are usual in a header."""
    is_header = all(isinstance(key, str) and key.casefold() in HEADER_WORDS for key in adjacency)
    return len(adjacency) in (2, 3) and is_header and len(set(map(len, adjacency.values()))) == 1


def _chosen(words: list[str], capacity: int | None, ends: Ends | None) -> list[int]:
    """Return the numbers of the columns that hold an edge, or an arc and its capacity."""
    names = ["left", "right"] if ends is None else ["tail", "head"]
    others = [k for k in range(len(words)) if k != capacity]
    has_names = all(words.count(name) == 1 for name in names)
    chosen = [words.index(name) for name in names] if has_names else others[:2]
    if ends is not None:
        rest = [k for k in others if k not in chosen]
        chosen += rest[:1] if capacity is None else [capacity]
    if len(chosen) < (2 if ends is None else 3):
        shape = SHAPES[2 if ends is None else 3]
        raise InputError(f"a DataFrame of {shape} has more than {len(words)} columns")
    return chosen


def _refuse_matrix(frame: Any, chosen: list[int], is_flow: bool) -> None:
    """Raise InputError for a DataFrame that could be a matrix: numbers, or named rows."""
    second = _column(frame, chosen[1])
    if not second:
        return
    names = frame.columns[chosen[0]], frame.columns[chosen[1]]
    is_named = all(isinstance(name, str) for name in names) and not _has_named_rows(frame)
    is_label = not all(map(_is_number, second)) or (
        len(frame.columns) == (3 if is_flow else 2)
        and all(type(value) is int for value in second)
        and not set(second) <= {0, 1}
    )
    if not (is_named and is_label):
        columns = "tail, head and capacity" if is_flow else "left and right"
        matrix = "frame.to_numpy()" + " != 0" * (not is_flow)
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
    """Return the values of a column as Python objects."""
    if hasattr(frame, "iloc"):
        values: list[Any] = frame.iloc[:, number].tolist()
    else:
        values = frame.to_series(number).to_list()
    for position, value in enumerate(values):
        is_nan = isinstance(value, float) and value != value
        if value is None or is_nan or type(value).__name__ in ("NAType", "NaTType"):
            raise InputError(f"row {position} of the column {frame.columns[number]!r} is empty")
    return values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)
