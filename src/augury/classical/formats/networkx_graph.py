"""A NetworkX graph, also as node-link data, becomes a graph with what its attributes say.

The edges' `weight` or `cost` are costs if they differ or the caller says so: equal on all edges, as
NetworkX sets them by itself, they only mark edges. A flow uses the edges' `capacity`; the nodes'
`demand` takes the place of source and sink, and is negative for a supply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

from augury.classical.arrays import Label, capacity_fault
from augury.classical.cost_network import CostNetwork
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError

COST_ATTRIBUTES = ("weight", "cost")

Ends = tuple[Label, Label]


def cost_attribute(graph: Any, costs: bool | None = None) -> str | None:
    """Return the attribute of the edges that holds costs, if any does.

    With `costs` one must, even if it is equal on all edges.

    Raises:
        InputError: two do, some edges lack it, or it is not a number.
    """
    given = [row[-1] for row in graph.edges(data=True)]
    found = list[str]()
    if any(given):  # most graphs have no attributes at all
        found = [name for name in COST_ATTRIBUTES if _has_costs(given, name, costs)]
    if len(found) > 1:
        told = " and ".join(map(repr, found))
        raise InputError(f"the attributes {told} of the edges may both be costs: leave one out")
    if not found:
        if costs:
            told = " or ".join(map(repr, COST_ATTRIBUTES))
            raise InputError(f"the edges have no attribute {told}")
        return None
    for u, v, value in graph.edges(data=found[0]):
        if not _is_number(value):
            told = "has none" if value is None else f"has {value!r}, which is not a number"
            raise InputError(f"the edges have a {found[0]}, but the edge {u!r}, {v!r} {told}")
    return found[0]


def _has_costs(given: Iterable[dict[str, Any]], name: str, costs: bool | None) -> bool:
    values = [attributes.get(name) for attributes in given]
    is_there = any(value is not None for value in values)
    return is_there and (bool(costs) or values_differ(values))


def values_differ(values: Iterable[Any]) -> bool:
    """Tell whether the edges' values differ; None, for an edge without one, counts as 1."""
    first: Any = None
    for given in values:
        value = 1 if given is None else given
        first = value if first is None else first
        try:
            if value is not first and bool(value != first):
                return True
        except (TypeError, ValueError):  # an array, say
            return True
    return False


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, str) and not math.isnan(value)
    except (TypeError, ValueError, OverflowError):
        return isinstance(value, int)


def from_networkx(
    graph: Any, ends: Ends | None, attribute: str | None, maximise: bool = False
) -> Graph:
    """Read a NetworkX graph; `attribute` comes from `cost_attribute`, None to ignore costs."""
    has_demands = graph.is_directed() and any(
        demand is not None for _, demand in graph.nodes(data="demand")
    )
    if ends is not None and attribute is None:
        return FlowNetwork.from_networkx(graph, *ends)
    if ends is None and not has_demands:
        return BipartiteGraph.from_networkx(graph, cost=attribute, maximise=maximise)
    if ends is not None and has_demands:
        raise InputError("the nodes have the attribute 'demand': then there is no source, no sink")
    return _cost_network(graph, ends, attribute, maximise)


def _cost_network(graph: Any, ends: Ends | None, attribute: str | None, maximise: bool) -> Graph:
    if not graph.is_directed():
        raise InputError("a flow of least cost is one of a directed graph")
    own: dict[str, Any] = {}
    if ends is None:
        demands = graph.nodes(data="demand", default=0)
        own["supply"] = {node: -_whole(demand, node) for node, demand in demands}
    else:
        for end, node in zip(("source", "sink"), ends, strict=True):
            if node not in graph:
                raise InputError(f"the {end} {node!r} is not in the graph")
            own[end] = node
        FlowNetwork.from_networkx(graph, *ends)  # refuses invalid capacities and unbounded flows
    arcs: list[tuple[Label, Label, Any, Any]] = []
    for u, v, given in graph.edges(data=True):
        cost = given[attribute] if attribute is not None else 0
        limit = given.get("capacity")
        limit = None if limit is None or limit == math.inf else limit
        fault = "" if limit is None else capacity_fault(limit)
        if fault:
            raise InputError(f"the capacity of the edge {u!r}, {v!r} {fault}")
        if limit is None and (cost > 0 if maximise else cost < 0):
            told = "would be used without limit: give it a capacity"
            raise InputError(f"the edge {u!r}, {v!r} {told}")
        arcs.append((u, v, limit, cost))
    # No best flow carries more than what is sent and what circles through arcs with a limit.
    enough = sum(int(limit) for _, _, limit, _ in arcs if limit is not None)
    enough += sum(max(due, 0) for due in own.get("supply", {}).values())
    limited = ((u, v, enough if limit is None else limit, cost) for u, v, limit, cost in arcs)
    return CostNetwork.from_labelled_arcs(limited, **own, labels=list(graph), maximise=maximise)


def _whole(demand: Any, node: Label) -> int:
    try:
        whole = int(demand)
        if whole == demand:
            return whole
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"the demand of {node!r} is {cast('object', demand)!r}, not a whole number")
