"""The nodes of a graph become left and right ones, or an odd cycle shows that they cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from augury.classical.arrays import Label
from augury.errors import InputError

if TYPE_CHECKING:
    import networkx as nx


def networkx_sides(graph: nx.Graph[Any], top_nodes: Iterable[Label] | None) -> dict[Label, bool]:
    """Tell for each node whether it is on the left; see `BipartiteGraph.from_networkx`."""
    attributes = dict(graph.nodes(data="bipartite"))
    if top_nodes is not None:
        top = set(top_nodes)
        missing = next((node for node in top if node not in graph), None)
        if missing is not None:
            raise InputError(f"top_nodes names {missing!r}, which is not in the graph")
        is_left = {node: node in top for node in graph}
        told = "top_nodes"
    elif attributes and all(side in (0, 1) for side in attributes.values()):
        is_left = {node: side == 0 for node, side in attributes.items()}
        told = "the attribute 'bipartite'"
    else:
        remedy = "give top_nodes or the node attribute 'bipartite'"
        return sides_of_connected(graph, graph.edges(), remedy)
    for u, v in graph.edges():
        if is_left[u] == is_left[v]:
            side = "left" if is_left[u] else "right"
            raise InputError(f"the edge {u!r}, {v!r} has both ends on the {side} side by {told}")
    return is_left


def sides_of_connected(
    nodes: Iterable[Label], edges: Iterable[tuple[Label, Label]], remedy: str
) -> dict[Label, bool]:
    """Tell for each node of a connected graph whether it is on the left, where the first one is.

    Raises:
        InputError: the graph has an odd cycle, or separate parts; `remedy` says what to do then.
    """
    neighbours: dict[Label, set[Label]] = {node: set() for node in nodes}
    for u, v in edges:
        neighbours[u].add(v)
        neighbours[v].add(u)
    is_left, num_parts = two_colouring(neighbours)
    if num_parts > 1:
        told = f"the graph has {num_parts} separate parts and nothing says which nodes are left"
        raise InputError(f"{told}: {remedy}")
    return is_left


def two_colouring(neighbours: Mapping[Label, Iterable[Label]]) -> tuple[dict[Label, bool], int]:
    """Two-colour the nodes, the first of each part True; also count the parts.

    Raises:
        InputError: there is an odd cycle; the message names it.
    """
    colour: dict[Label, bool] = {}
    parent: dict[Label, Label | None] = {}
    num_parts = 0
    for root in neighbours:
        if root in colour:
            continue
        num_parts += 1
        colour[root], parent[root] = True, None
        queue = [root]
        for node in queue:
            for other in neighbours[node]:
                if other not in colour:
                    colour[other], parent[other] = not colour[node], node
                    queue.append(other)
                elif colour[other] == colour[node]:
                    cycle = " – ".join(repr(x) for x in _odd_cycle(parent, node, other))
                    raise InputError(f"the graph is not bipartite: it has the odd cycle {cycle}")
    return colour, num_parts


def _odd_cycle(parent: dict[Label, Label | None], u: Label, v: Label) -> list[Label]:
    """Join the tree paths from u and v, neighbours of one colour, where they meet."""

    def ancestors(node: Label | None) -> list[Label]:
        line: list[Label] = []
        while node is not None:
            line.append(node)
            node = parent[node]
        return line

    up, down = ancestors(u), ancestors(v)
    while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
        up.pop()
        down.pop()
    return [*up, *reversed(down[:-1]), u]
