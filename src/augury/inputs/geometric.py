"""PyTorch Geometric's data become graphs: `HeteroData` of two node types, and `Data`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import whole_number
from augury.classical.graph import MAX_NODES, BipartiteGraph, sides_of_connected
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.inputs.arrays import Ends, as_array, is_array, is_of
from augury.inputs.costs import ignored, values_differ

WEIGHTS = ("edge_weight", "weight", "cost")
"""Edge attributes that hold costs."""
BELIEVED = 1_000_000
"""Most nodes without edges that a node number may imply."""


def is_hetero(graph: Any) -> bool:
    """Tell a `HeteroData`."""
    return is_of(graph, "torch_geometric") and hasattr(graph, "edge_types")


def from_hetero(data: Any, ends: Ends | None) -> Graph:
    """Two node types are the two sides; relations in either direction are edges."""
    if ends is not None:
        raise InputError("HeteroData holds a bipartite graph here: it takes no source and sink")
    kinds = {frozenset((sender, receiver)) for sender, _, receiver in data.edge_types}
    if [len(kind) for kind in kinds] != [2]:
        told = ", ".join(" → ".join(kind) for kind in data.edge_types) or "none at all"
        wanted = "edges between two node types and no others"
        raise InputError(f"HeteroData must have {wanted}, not {told}")
    left, _, right = data.edge_types[0]
    ends_of = []
    for kind in data.edge_types:
        index = _edge_index(data[kind], f"the edges {' → '.join(kind)}")
        ends_of.append(index if kind[0] == left else index[::-1])
    edges = np.concatenate(ends_of, axis=1)
    num_left = _count(data[left].num_nodes, edges[0])
    num_right = _count(data[right].num_nodes, edges[1])
    return BipartiteGraph(num_left, num_right, edges[0], edges[1])


def is_data(graph: Any) -> bool:
    """Tell a `Data`."""
    return is_of(graph, "torch_geometric") and hasattr(graph, "edge_index")


def from_data(data: Any, ends: Ends | None) -> Graph:
    """A flow network if it has ends; else bipartite, with one numbering or (`x_s`, `x_t`) two."""
    index = _edge_index(data, "edge_index")
    if ends is None and "source" in data and "sink" in data:
        ends = Ends(*(whole_number(data[end], f"the {end}") for end in ("source", "sink")))
    if ends is not None:
        if "capacity" not in data:
            raise InputError("the data has no attribute 'capacity' with one number for each edge")
        capacity = _values(data, "capacity").reshape(-1)
        num_nodes = _count(data.num_nodes, index)
        return FlowNetwork.from_arcs(num_nodes, index[0], index[1], capacity, **ends._asdict())
    if "x_s" in data and "x_t" in data:
        sides = len(_values(data, "x_s")), len(_values(data, "x_t"))
        return BipartiteGraph(*sides, index[0], index[1])
    return _from_one_numbering(data, index, _count(data.num_nodes, index))


def _from_one_numbering(data: Any, index: npt.NDArray[Any], num_nodes: int) -> BipartiteGraph:
    """Left is where `bipartite` is 0; without it, the first node's side of a connected graph.

    Nodes keep their numbers as labels, since both sides share them.
    """
    if "bipartite" in data:
        side = _values(data, "bipartite").reshape(-1)
        if len(side) != num_nodes or not np.isin(side, (0, 1)).all():
            raise InputError(f"'bipartite' must be 0 or 1 for each of the {num_nodes} nodes")
        is_left = side == 0
    else:
        remedy = "give the node attribute 'bipartite', or x_s and x_t for two numberings"
        if num_nodes > BELIEVED + index.shape[1]:  # too few edges to be connected
            raise InputError(f"{num_nodes} nodes have only {index.shape[1]} edges: {remedy}")
        colours = sides_of_connected(range(num_nodes), index.T.tolist(), remedy)
        is_left = np.array([colours[node] for node in range(num_nodes)], np.bool_)
    inside = is_left[index[0]] == is_left[index[1]]
    if inside.any():
        u, v = index[:, int(inside.argmax())]
        raise InputError(f"the edge {u}, {v} has both ends on one side by 'bipartite'")
    left = np.where(is_left[index[0]], index[0], index[1])
    right = np.where(is_left[index[0]], index[1], index[0])
    place = np.empty(num_nodes, np.int64)
    sides = np.flatnonzero(is_left), np.flatnonzero(~is_left)
    for nodes in sides:
        place[nodes] = np.arange(len(nodes))
    labels = [nodes.tolist() for nodes in sides]
    return BipartiteGraph(len(sides[0]), len(sides[1]), place[left], place[right], *labels)


def _edge_index(store: Any, what: str) -> npt.NDArray[np.int64]:
    """Return the ends of the edges in a `Data` or a relation; refuse costs."""
    if getattr(store, "edge_index", None) is None:
        raise InputError(f"{what} must be two rows of node numbers, and there are none")
    array = _values(store, "edge_index")
    if array.ndim != 2 or len(array) != 2 or array.dtype.kind not in "iu":
        raise InputError(f"{what} must be two rows of node numbers, not {array.shape}")
    if array.size and not 0 <= array.min() <= array.max() <= MAX_NODES:
        wrong = array.min() if array.min() < 0 else array.max()
        raise InputError(f"{what} must be numbers from 0 to {MAX_NODES}, not {wrong}")
    for name in WEIGHTS:
        if name in store and values_differ(_values(store, name).reshape(-1).tolist()):
            way = f"leave it out, as `del data[{name!r}]` does"
            raise ignored(f"the edges differ in the attribute {name!r}", way, "capacity" in store)
    return array.astype(np.int64)


def _values(store: Any, name: str) -> npt.NDArray[Any]:
    """Return an attribute as an array of at least one dimension."""
    if not is_array(store[name]):
        raise InputError(f"{name!r} must be a tensor, not {type(store[name]).__name__}")
    return np.atleast_1d(as_array(store[name], name))


def _count(num_nodes: Any, index: npt.NDArray[Any]) -> int:
    """Return the number of nodes, from the edges if PyG does not know it."""
    if num_nodes is not None:
        count = whole_number(num_nodes, "the number of nodes")
        if index.size and index.max() >= count:
            raise InputError(f"an edge names node {index.max()}, but there are {count} nodes")
        return count
    return int(index.max()) + 1 if index.size else 0
