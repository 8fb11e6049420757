"""A JSON object becomes a `BipartiteGraph` or a `FlowNetwork`, and back.

    {"left": ["ann", "bob"], "right": 2, "edges": [["ann", 0], ["bob", 1]]}
    {"source": "s", "sink": "t", "nodes": ["s", "a", "t"], "arcs": [["s", "a", 3], ["a", "t", 2]]}

Nodes are listed or counted; by default they are those of the edges, integers in ascending order. A
bare list holds the edges, or with `options.flow` the arcs. NetworkX's node-link data is read too.
Labels are text and numbers.
"""

from __future__ import annotations

import json
import math
import reprlib
from array import array
from collections.abc import Iterable
from itertools import chain
from typing import IO, Any, cast

import numpy as np

from augury.classical.arrays import MAX_CAPACITY, IntArray, capacity_fault
from augury.classical.formats import text
from augury.classical.formats.edge_list import written_arcs
from augury.classical.formats.foreign import foreign_parser
from augury.classical.formats.text import Numbering, ReadOptions
from augury.classical.graph import BipartiteGraph, Label
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError

LACKING = {end: f'the JSON object lacks "{end}"' for end in ("source", "sink")}


def read_json(file: IO[bytes], options: ReadOptions) -> Graph:
    """Read any of the forms above."""
    data = text.parse_json(file)
    if isinstance(data, list):
        data = {"arcs" if options.flow else "edges": cast("list[Any]", data)}
    if not isinstance(data, dict):
        raise InputError("a graph in JSON is an object, not a single value")
    found = cast("dict[str, Any]", data)
    nodes = found.get("nodes")
    is_node_link = isinstance(nodes, list) and any(isinstance(x, dict) for x in cast("Any", nodes))
    if is_node_link or "links" in found:
        return _graph_of_node_link(found, options)
    if "arcs" in found:
        return _network(found, options)
    if "edges" not in found and not found.keys().isdisjoint(("matching", "flow")):
        raise InputError('this is an answer, not a graph: a graph has "edges" or "arcs"')
    if "edges" not in found or options.flow:
        needed = '"arcs"' if options.flow else '"edges" or "arcs"'
        raise InputError(f"the JSON object lacks {needed}")
    return _graph(found, options)


def _graph(data: dict[str, Any], options: ReadOptions) -> BipartiteGraph:
    edges = _tuples(data, "edges", ("left", "right"), options)
    sides = [_nodes(data.get(key), f"{key} nodes", len(edges)) for key in ("left", "right")]
    ends = array("i"), array("i")
    for position, edge in enumerate(edges):
        for label, side, column in zip(edge, sides, ends, strict=True):
            column.append(_number(label, side, f"edge {position}"))
    if "left" not in data and "right" not in data:
        remedy = 'lists "left" and "right" declare the sides separate'
        text.refuse_shared((list(sides[0]), list(sides[1])), zip(*ends, strict=True), remedy)
    left_labels, (left,) = _ordered(sides[0], np.asarray(ends[0]))
    right_labels, (right,) = _ordered(sides[1], np.asarray(ends[1]))
    sizes = len(left_labels), len(right_labels)
    return BipartiteGraph(*sizes, left, right, left_labels, right_labels)


def _network(data: dict[str, Any], options: ReadOptions) -> FlowNetwork:
    arcs = _tuples(data, "arcs", ("tail", "head", "capacity"), options)
    index = _nodes(data.get("nodes"), "nodes", len(arcs))
    tail, head, capacity = array("i"), array("i"), array("q")
    for position, (u, v, amount) in enumerate(arcs):
        tail.append(_number(u, index, f"arc {position}"))
        head.append(_number(v, index, f"arc {position}"))
        if type(amount) is not int or not 0 <= amount <= MAX_CAPACITY:
            fault = capacity_fault(amount)
            if fault:
                raise InputError(f"arc {position}: the capacity {fault}")
        capacity.append(int(amount))
    # An option must name an existing node; the file itself may declare one without arcs.
    unasked = [end for end in LACKING if getattr(options, end) is None and end in data]
    own = {end: _number(data[end], index, end) for end in unasked}
    rows = (np.asarray(tail), np.asarray(head), np.array(list(own.values()), np.int32))
    labels, (tails, heads, own_numbers) = _ordered(index, *rows)
    own = dict(zip(own, own_numbers.tolist(), strict=True))
    ends = text.ends_of(labels, own, options, LACKING)
    amounts = np.asarray(capacity)
    return FlowNetwork.from_arcs(len(labels), tails, heads, amounts, **ends, labels=labels)


def _ordered(index: Numbering, *numbers: IntArray) -> tuple[list[Label], list[IntArray]]:
    """Sort integer labels as in edge lists, unless the file itself gives an order."""
    labels = list(index)
    return (labels, list(numbers)) if index.place else text.ascending(labels, *numbers)


def _tuples(
    data: dict[str, Any], key: str, parts: tuple[str, ...], options: ReadOptions
) -> list[list[Any]]:
    entries = data[key]
    if not isinstance(entries, list):
        raise InputError(f'"{key}" must be a list')
    num_parts = len(parts)
    for position, entry in enumerate(cast("list[list[Any]]", entries)):
        if type(entry) is list and len(entry) == num_parts:
            continue
        told = f'"{key}" entry {position} is {reprlib.repr(entry)}, not [{", ".join(parts)}]'
        if type(entry) is not list or len(entry) != num_parts + 1:
            raise InputError(told)
        if not options.ignore_costs:
            raise text.ignored_costs(f"{told}: a cost")
        entries[position] = entry[:num_parts]
    return cast("list[list[Any]]", entries)


def _nodes(value: Any, place: str, num_edges: int) -> Numbering:
    """Number the nodes that the file lists or counts; if it does neither, leave it open."""
    index = Numbering()
    if value is None:
        return index
    if type(value) is int:
        if value < 0:
            raise InputError(f"the number of {place} is {value}, which is negative")
        text.refuse_claim(value, num_edges, place)
        value = range(value)
    elif not isinstance(value, list):
        raise InputError(f"the {place} must be a list of labels or their number")
    for position, label in enumerate(cast("Iterable[Any]", value)):
        if _number(label, index, f"the {place}") != position:
            raise InputError(f"the label {reprlib.repr(label)} appears twice among the {place}")
    index.place = place
    return index


def _number(label: Any, index: Numbering, where: str) -> int:
    if type(label) not in (int, str) and not (type(label) is float and math.isfinite(label)):
        raise InputError(f"{where}: {reprlib.repr(label)} is no label, only text and numbers are")
    try:
        return index[label]
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _graph_of_node_link(data: dict[str, Any], options: ReadOptions) -> Graph:
    import networkx as nx

    with foreign_parser("NetworkX node-link data"):
        key = "links" if "links" in data else "edges"
        graph = cast("Any", nx).node_link_graph(data, edges=key)
        num_listed = len({text.without_lists(node["id"]) for node in data["nodes"]})
        if num_listed < len(data["nodes"]):
            raise InputError('a node appears twice in "nodes"')
        if num_listed < len(graph):
            raise InputError(f'"{key}" names a node that "nodes" does not list')
        if not options.ignore_costs:
            _refuse_attributes(graph)
        if not options.flow:
            return BipartiteGraph.from_networkx(graph)
        labels: list[Label] = list(graph)
        ends = text.ends_by_label(labels, options)
        return FlowNetwork.from_networkx(graph, labels[ends["source"]], labels[ends["sink"]])


def _refuse_attributes(graph: Any) -> None:
    """Raise InputError if weights or costs of the edges differ; by default they are 1."""
    for name in ("weight", "cost"):
        amounts = [amount for _, _, amount in graph.edges(data=name, default=1)]
        if any(amount != amounts[0] for amount in amounts):
            raise text.ignored_costs(f"the attribute {name!r} of the edges")


def write_json(graph: Graph, file: IO[bytes]) -> None:
    """Write a graph with all its data, if its labels are text and numbers."""
    data: dict[str, Any]
    if isinstance(graph, FlowNetwork):
        data = {"source": graph.label(graph.source), "sink": graph.label(graph.sink)}
        data["nodes"] = graph.labels or graph.num_nodes
        arcs = written_arcs(graph)
        data["arcs"] = [[graph.label(u), graph.label(v), c] for u, v, c in arcs]
        labels = graph.labels or ()
    else:
        data = {"left": graph.left_labels or graph.num_left}
        data |= {"right": graph.right_labels or graph.num_right, "edges": list(graph.edges())}
        labels = chain(graph.left_labels or (), graph.right_labels or ())
    for label in labels:
        _number(label, Numbering(), "JSON")
    file.write(json.dumps(data).encode())
