"""A JSON object becomes a graph or a network, and back.

    {"left": ["ann", "bob"], "right": 2, "edges": [["ann", 0], ["bob", 1]]}
    {"source": "s", "sink": "t", "nodes": ["s", "a", "t"], "arcs": [["s", "a", 3], ["a", "t", 2]]}

Either may have "costs", a number for each edge or arc, and their "sense", "least" or "greatest"; a
network with costs may have "lower" bounds likewise, and in place of source and sink a "supply",
[node, amount] for each node that has one.

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
from dataclasses import replace
from itertools import chain
from typing import IO, Any, cast

import numpy as np

from augury.classical.arrays import MAX_CAPACITY, IntArray, Label, as_capacities, capacity_fault
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import of_edges
from augury.classical.formats import text
from augury.classical.formats.costs import (
    NO_COSTS_TO_IGNORE,
    cost_network,
    edge_costs,
    ignored_costs,
    supplied,
    two_readings,
)
from augury.classical.formats.edge_writer import written_arcs
from augury.classical.formats.foreign import foreign_parser
from augury.classical.formats.networkx_graph import cost_attribute, from_networkx
from augury.classical.formats.text import Numbering, ReadOptions
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.extras import needs

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
    edges, costs = _tuples(data, "edges", ("left", "right"), options)
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
    if costs is not None:
        exists, costs = of_edges(costs, sum(sizes) + 2, bool(_sense(data, options)))
        left, right = (left, right) if exists is None else (left[exists], right[exists])
    return BipartiteGraph(*sizes, left, right, left_labels, right_labels, costs=costs)


def _sense(data: dict[str, Any], options: ReadOptions) -> bool | None:
    """Tell whether the greatest sum is sought: by the options, or else by the file."""
    sense = data.get("sense")
    if sense not in (None, "least", "greatest"):
        raise InputError(f'"sense" is {reprlib.repr(sense)}, not "least" or "greatest"')
    return options.maximise if options.maximise is not None or not sense else sense == "greatest"


def _network(data: dict[str, Any], options: ReadOptions) -> FlowNetwork | CostNetwork:
    arcs, costs = _tuples(data, "arcs", ("tail", "head", "capacity"), options)
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
    supplies = _supply(data, index)
    own = {end: _number(data[end], index, end) for end in unasked}
    rows = (np.asarray(tail), np.asarray(head), np.array(list(own.values()), np.int32))
    supplied = np.array(list(supplies or ()), np.int32)
    labels, (tails, heads, own_numbers, due) = _ordered(index, *rows, supplied)
    own = dict(zip(own, own_numbers.tolist(), strict=True))
    amounts = np.asarray(capacity)
    has_supplies = supplies is not None or options.supply is not None
    ends = None if has_supplies else text.ends_of(labels, own, options, LACKING)
    lower = _row(data, "lower", len(arcs))
    if costs is not None or ends is None or lower is not None:
        if options.ignore_costs:
            raise InputError(NO_COSTS_TO_IGNORE)
        if supplies is not None:
            supplies = dict(zip(due.tolist(), supplies.values(), strict=True))
        told = replace(options, maximise=_sense(data, options))
        own_arcs = tails, heads, amounts
        return cost_network(labels, own_arcs, costs, told, lower=lower, supply=supplies, ends=ends)
    assert ends is not None
    return FlowNetwork.from_arcs(len(labels), tails, heads, amounts, **ends, labels=labels)


def _supply(data: dict[str, Any], index: Numbering) -> dict[int, int] | None:
    """Return the supply of each node, by its number, if the file has any."""
    if "supply" not in data:
        return None
    if "source" in data or "sink" in data:
        raise InputError('the JSON object has "supply", and so neither "source" nor "sink"')
    supply: dict[int, int] = {}
    if not isinstance(data["supply"], list):
        raise InputError('"supply" must be a list')
    for position, entry in enumerate(cast("list[list[Any]]", data["supply"])):
        if not (type(entry) is list and len(entry) == 2 and type(entry[1]) is int):
            told = reprlib.repr(entry)
            raise InputError(f'"supply" entry {position} is {told}, not [node, whole number]')
        node = _number(entry[0], index, f"supply {position}")
        if node in supply:
            raise InputError(f"the node {reprlib.repr(entry[0])} has two supplies")
        supply[node] = entry[1]
    return supply


def _row(data: dict[str, Any], key: str, count: int) -> Any:
    """Return a list of whole numbers, one for each arc, if the file has it."""
    if key not in data:
        return None
    row = data[key]
    if not isinstance(row, list) or len(cast("list[Any]", row)) != count:
        raise InputError(f'"{key}" must be a list of {count} numbers')
    return as_capacities(cast("list[Any]", row))


def _ordered(index: Numbering, *numbers: IntArray) -> tuple[list[Label], list[IntArray]]:
    """Sort integer labels as in edge lists, unless the file itself gives an order."""
    labels = list(index)
    return (labels, list(numbers)) if index.place else text.ascending(labels, *numbers)


def _tuples(
    data: dict[str, Any], key: str, parts: tuple[str, ...], options: ReadOptions
) -> tuple[list[list[Any]], list[Any] | None]:
    """Return the ends of the edges or arcs, with capacities, and their costs, if any."""
    given = data[key]
    if not isinstance(given, list):
        raise InputError(f'"{key}" must be a list')
    entries = cast("list[list[Any]]", given)
    costs = _named_costs(data, key, len(entries), options)
    is_last = bool(options.costs) and costs is None and not options.ignore_costs
    num_parts = len(parts)
    wanted = f"[{', '.join(parts)}{', cost' * is_last}]"
    for position, entry in enumerate(entries):
        if type(entry) is list and len(entry) == num_parts + is_last:
            continue
        told = f'"{key}" entry {position} is {reprlib.repr(entry)}, not {wanted}'
        if is_last or type(entry) is not list or len(entry) != num_parts + 1:
            raise InputError(told)
        if not options.ignore_costs:
            raise two_readings(f"{told}, and may hold a cost")
        entries[position] = entry[:num_parts]
    if is_last:
        costs = _checked_costs([entry[-1] for entry in entries])
        entries = [entry[:-1] for entry in entries]
    return entries, costs


def _named_costs(
    data: dict[str, Any], key: str, count: int, options: ReadOptions
) -> list[Any] | None:
    costs = data.get("costs")
    if costs is None or options.ignore_costs:
        return None
    if not isinstance(costs, list) or len(cast("list[Any]", costs)) != count:
        raise InputError(f'"costs" must be a list of {count} numbers, one for each of the {key}')
    if options.costs is False:
        raise ignored_costs('"costs"')
    return _checked_costs(cast("list[Any]", costs))


def _checked_costs(costs: list[Any]) -> list[Any]:
    for position, cost in enumerate(costs):
        if type(cost) not in (int, float) or cost != cost:
            raise InputError(f"cost {position} is {reprlib.repr(cost)}, not a number")
    return costs


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
    with needs("NetworkX node-link data"):
        import networkx as nx

    with foreign_parser("NetworkX node-link data"):
        key = "links" if "links" in data else "edges"
        graph = cast("Any", nx).node_link_graph(data, edges=key)
        num_listed = len({text.without_lists(node["id"]) for node in data["nodes"]})
        if num_listed < len(data["nodes"]):
            raise InputError('a node appears twice in "nodes"')
        if num_listed < len(graph):
            raise InputError(f'"{key}" names a node that "nodes" does not list')
        attribute = None if options.ignore_costs else cost_attribute(graph, options.costs)
        if attribute is not None and options.costs is False:
            raise ignored_costs(f"the attribute {attribute!r} of the edges")
        both = None
        has_demands = any(x is not None for _, x in graph.nodes(data="demand"))
        if options.flow and not (has_demands and options.source is None):
            labels: list[Label] = list(graph)
            ends = text.ends_by_label(labels, options)
            both = labels[ends["source"]], labels[ends["sink"]]
        return from_networkx(graph, both, attribute, bool(options.maximise))


def write_json(graph: Graph, file: IO[bytes]) -> None:
    """Write a graph with all its data, if its labels are text and numbers."""
    data: dict[str, Any]
    costs = getattr(graph, "costs", None)
    if isinstance(graph, CostNetwork):
        data, labels = _network_data(graph), graph.labels or ()
    elif isinstance(graph, FlowNetwork):
        data = {"source": graph.label(graph.source), "sink": graph.label(graph.sink)}
        data["nodes"] = graph.labels or graph.num_nodes
        arcs = written_arcs(graph)
        data["arcs"] = [[graph.label(u), graph.label(v), c] for u, v, c in arcs]
        labels = graph.labels or ()
    else:
        data = {"left": graph.left_labels or graph.num_left}
        data |= {"right": graph.right_labels or graph.num_right, "edges": list(graph.edges())}
        labels = chain(graph.left_labels or (), graph.right_labels or ())
    if costs is not None:
        data |= {"costs": edge_costs(costs), "sense": costs.sense}
    for label in labels:
        _number(label, Numbering(), "JSON")
    file.write(json.dumps(data).encode())


def _network_data(network: CostNetwork) -> dict[str, Any]:
    data: dict[str, Any] = {"nodes": network.labels or network.num_nodes}
    supply = supplied(network)
    if supply is not None:
        data["supply"] = supply
    else:
        for end in LACKING:
            data[end] = network.label(getattr(network, end))
    if network.lower is not None:
        data["lower"] = network.lower.tolist()
    data["arcs"] = [[tail, head, capacity] for tail, head, capacity, _ in network.arcs()]
    return data
