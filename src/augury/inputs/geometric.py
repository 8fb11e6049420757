"""PyTorch Geometric's data become graphs: `HeteroData` of two node types, and `Data`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, WideArray, whole_number
from augury.classical.batch import starts, sums
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import of_edges
from augury.classical.formats.networkx_graph import COST_ATTRIBUTES, values_differ
from augury.classical.graph import MAX_NODES, BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.classical.sides import sides_of_connected
from augury.errors import InputError
from augury.inputs.arrays import as_array, is_array, is_of
from augury.inputs.costs import Ends, Said, each_differ

FEATURES = ("edge_weight", "edge_attr")
"""Edge attributes of PyTorch Geometric that may hold costs, or something else."""
BELIEVED = 1_000_000
"""Most nodes without edges that a node number may imply."""


def is_hetero(graph: Any) -> bool:
    """Recognise a `HeteroData`."""
    return is_of(graph, "torch_geometric") and hasattr(graph, "edge_types")


def from_hetero(data: Any, said: Said) -> Graph:
    """Two node types are the two sides; relations in either direction are edges."""
    if said.ends is not None:
        raise InputError("HeteroData holds a bipartite graph here: it takes no source and sink")
    kinds = {frozenset((sender, receiver)) for sender, _, receiver in data.edge_types}
    if [len(kind) for kind in kinds] != [2]:
        told = ", ".join(" → ".join(kind) for kind in data.edge_types) or "none at all"
        wanted = "edges between two node types and no others"
        raise InputError(f"HeteroData must have {wanted}, not {told}")
    left, _, right = data.edge_types[0]
    ends_of: list[Any] = []
    costs_of: list[Any] = []
    for kind in data.edge_types:
        index = _edge_index(data[kind], f"the edges {' → '.join(kind)}")
        ends_of.append(index if kind[0] == left else index[::-1])
        costs_of.append(_costs(data[kind], index, said))
    if len({costs is None for costs in costs_of}) > 1:
        raise InputError("some relations between the two node types have costs, and others none")
    costs = None if costs_of[0] is None else np.concatenate(costs_of)
    edges, costs = _existing(np.concatenate(ends_of, axis=1), costs, said)
    num_left = _count(data[left].num_nodes, edges[0])
    num_right = _count(data[right].num_nodes, edges[1])
    return BipartiteGraph(num_left, num_right, edges[0], edges[1], costs=costs)


def is_data(graph: Any) -> bool:
    """Recognise a `Data`."""
    return is_of(graph, "torch_geometric") and hasattr(graph, "edge_index")


def from_data(data: Any, said: Said) -> Graph:
    """A flow network if it has ends; else bipartite, with one numbering or (`x_s`, `x_t`) two."""
    index = _edge_index(data, "edge_index")
    ends = said.ends
    if ends is None and "source" in data and "sink" in data:
        ends = Ends(*(whole_number(data[end], f"the {end}") for end in ("source", "sink")))
    if ends is not None:
        if "capacity" not in data:
            raise InputError("the data has no attribute 'capacity' with one number for each edge")
        capacity = _values(data, "capacity").reshape(-1)
        num_nodes = _count(data.num_nodes, index)
        costs = _costs(data, index, said._replace(ends=ends))
        arcs = num_nodes, index[0], index[1], capacity
        if costs is None:
            return FlowNetwork.from_arcs(*arcs, **ends._asdict())
        _, priced = of_edges(costs, num_nodes + 2, said.maximise)
        return CostNetwork(*arcs, priced, **ends._asdict())
    index, costs = _existing(index, _costs(data, index, said), said)
    if "x_s" in data and "x_t" in data:
        sides = len(_values(data, "x_s")), len(_values(data, "x_t"))
        return BipartiteGraph(*sides, index[0], index[1], costs=costs)
    return _from_one_numbering(data, index, costs)


def _costs(store: Any, index: npt.NDArray[Any], said: Said) -> npt.NDArray[Any] | None:
    """Return the costs of the edges, if an attribute holds any.

    Raises:
        InputError: two attributes may hold costs, a mere feature may, or costs are not wanted.
    """
    found = {
        name: values
        for name in (*COST_ATTRIBUTES, *FEATURES)
        if name in store and (values := _row(store, name, index, said)) is not None
    }
    names = [name for name in COST_ATTRIBUTES if name in found] or list(found)
    if not names:
        if said.costs:
            told = " or ".join(map(repr, (*COST_ATTRIBUTES, *FEATURES)))
            raise InputError(f"the edges have no attribute {told} with one number for each")
        return None
    way = f"leave it out, as `del data[{names[0]!r}]` does"
    if len(names) > 1:
        both = " and ".join(map(repr, names))
        raise InputError(f"the attributes {both} may both be costs: leave one out")
    if said.costs is False or (names[0] in FEATURES and not said.costs):
        raise said.refusal(f"the edges differ in the attribute {names[0]!r}", way)
    return found[names[0]]


def _row(store: Any, name: str, index: npt.NDArray[Any], said: Said) -> npt.NDArray[Any] | None:
    """Return an attribute that may be costs: one number for each edge, and not all of them alike.

    Columns of features are none, unless they are called costs.
    """
    values = _values(store, name)
    if values.size != index.shape[1]:
        if name == "edge_attr":
            return None
        raise InputError(f"{name!r} must be one number for each of the {index.shape[1]} edges")
    values = values.reshape(-1)
    return values if said.costs or values_differ(values.tolist()) else None


def _existing(index: npt.NDArray[Any], costs: Any, said: Said) -> tuple[npt.NDArray[Any], Any]:
    """Drop the edges whose cost is infinitely bad."""
    if costs is None:
        return index, None
    num_nodes = 2 * (int(index.max(initial=0)) + 2)
    exists, costs = of_edges(costs, num_nodes, said.maximise)
    return index if exists is None else index[:, exists], costs


def _from_one_numbering(data: Any, index: npt.NDArray[Any], costs: Any) -> BipartiteGraph:
    """Left is where `bipartite` is 0; without it, the first node's side of a connected graph.

    Nodes keep their numbers as labels, since both sides share them.
    """
    num_nodes = _count(data.num_nodes, index)
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
    counts = len(sides[0]), len(sides[1])
    return BipartiteGraph(*counts, place[left], place[right], *labels, costs=costs)


def _edge_index(store: Any, what: str) -> npt.NDArray[np.int64]:
    """Return the ends of the edges in a `Data` or a relation."""
    if getattr(store, "edge_index", None) is None:
        raise InputError(f"{what} must be two rows of node numbers, and there are none")
    array = _values(store, "edge_index")
    if array.ndim != 2 or len(array) != 2 or array.dtype.kind not in "iu":
        raise InputError(f"{what} must be two rows of node numbers, not {array.shape}")
    if array.size and not 0 <= array.min() <= array.max() <= MAX_NODES:
        wrong = array.min() if array.min() < 0 else array.max()
        raise InputError(f"{what} must be numbers from 0 to {MAX_NODES}, not {wrong}")
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


def is_batch(graphs: Any) -> bool:
    """Recognise a `Batch`."""
    return is_of(graphs, "torch_geometric") and hasattr(graphs, "get_example")


def from_batch(batch: Any) -> BipartiteBatch | None:
    """Read a `Batch` of bipartite graphs without costs, all at once.

    None if it is no such batch, or if anything in it is unclear: reading its graphs one by
    one then says what.
    """
    try:
        read = _from_hetero_batch if is_hetero(batch) else _from_data_batch
        return read(batch, batch._slice_dict, batch._inc_dict)
    except (InputError, AttributeError, KeyError, IndexError, ValueError):
        return None


class _Edges(NamedTuple):
    """The edges of a batch, in the node numbers of each graph."""

    graph: WideArray
    start: WideArray
    ends: npt.NDArray[np.int64]
    """(2, edge)"""

    @classmethod
    def of(cls, store: Any, slices: Any, shifts: Any) -> _Edges:
        """Undo what batching did to the node numbers; `slices` and `shifts` are this store's."""
        ends = _edge_index(store, "edge_index")
        start, shift = (as_array(own["edge_index"]) for own in (slices, shifts))
        if start[-1] != ends.shape[1] or _may_have_costs(store, slices, start):
            raise InputError("there may be costs")
        graph = np.repeat(np.arange(len(start) - 1), np.diff(start))
        rows = shift.reshape(len(start) - 1, -1).T  # one for both rows of ends, or one for each
        return cls(graph, start, ends - rows[:, graph])

    def within(self, *counts: WideArray) -> _Edges:
        """Refuse ends beyond the nodes of their graph, given the counts of both sides."""
        for side, count in zip(self.ends, counts, strict=True):
            if count.max(initial=0) > BELIEVED or ((side < 0) | (side >= count[self.graph])).any():
                raise InputError("an edge names an unknown node")
        return self


def _may_have_costs(store: Any, slices: Any, start: WideArray) -> bool:
    """Tell whether an attribute may hold costs of some graph; see `_row`."""
    for name in (*COST_ATTRIBUTES, *FEATURES):
        if name not in store:
            continue
        values, own = _values(store, name), as_array(slices[name])
        if not np.array_equal(own, start) or len(values) != start[-1]:
            return True
        if values.size == len(values):
            if each_differ(values.reshape(-1), start).any():
                return True
        elif name != "edge_attr":
            return True
    return False


def _node_starts(store: Any) -> WideArray:
    """Return where the nodes of each graph start."""
    return starts(store._num_nodes) if hasattr(store, "_num_nodes") else as_array(store.ptr)


def _from_hetero_batch(batch: Any, slices: Any, shifts: Any) -> BipartiteBatch | None:
    """See `from_hetero`."""
    left, _, right = batch.edge_types[0]
    kinds = {frozenset((kind[0], kind[2])) for kind in batch.edge_types}
    if len(kinds) != 1 or left == right or not {left, right} <= set(batch.node_types):
        return None
    sides = {kind: _node_starts(batch[kind]) for kind in (left, right)}
    rows: list[Any] = []
    columns: list[Any] = []
    for kind in batch.edge_types:
        edges = _Edges.of(batch[kind], slices[kind], shifts[kind])
        edges.within(*(np.diff(sides[end]) for end in (kind[0], kind[2])))
        ends = edges.ends if kind[0] == left else edges.ends[::-1]
        rows.append(ends[0] + sides[left][edges.graph])
        columns.append(ends[1])
    sorted_by = np.concatenate(rows), np.concatenate(columns)
    return BipartiteBatch.of_edges(sides[left], sides[right], *sorted_by)


def _from_data_batch(batch: Any, slices: Any, shifts: Any) -> BipartiteBatch | None:
    """See `from_data`, which is left to deal with possible flow networks."""
    if "source" in batch and "sink" in batch:
        return None
    edges = _Edges.of(batch._store, slices, shifts)
    if "x_s" in batch and "x_t" in batch:
        left, right = (as_array(slices[name]) for name in ("x_s", "x_t"))
        edges.within(np.diff(left), np.diff(right))
        row, column = edges.ends
        return BipartiteBatch.of_edges(left, right, row + left[edges.graph], column)
    first = _node_starts(batch._store)
    edges.within(np.diff(first), np.diff(first))
    ends = edges.ends + first[edges.graph]
    if "bipartite" in batch:
        side = _values(batch, "bipartite").reshape(-1)
        is_told = np.array_equal(as_array(slices["bipartite"]), first) and len(side) == first[-1]
        is_left = side == 0
        is_clear = is_told and bool((is_left | (side == 1)).all())
    else:
        is_left, is_clear = _coloured(ends, first)
    is_left_end = is_left[ends]
    if not is_clear or (is_left_end[0] == is_left_end[1]).any():
        return None
    left, right = starts(sums(is_left, first)), starts(sums(~is_left, first))
    number = np.arange(len(is_left)) - np.repeat(first[:-1], np.diff(first))
    place = np.where(is_left, np.cumsum(is_left), np.cumsum(~is_left)) - 1
    row, column = place[np.where(is_left_end[0], ends, ends[::-1])]
    names = number[is_left], number[~is_left]
    return BipartiteBatch.of_edges(left, right, row, column - right[edges.graph], names)


def _coloured(ends: npt.NDArray[np.int64], first: WideArray) -> tuple[BoolArray, bool]:
    """Tell which nodes are on the side of their graph's first one, and whether all are connected.

    The nodes are doubled, and each edge joins a node of one copy to one of the other. A connected
    graph then falls into two pieces, one with all even walks from its first node; with an odd cycle
    it stays in one piece, so that all nodes seem to be on one side.
    """
    import scipy.sparse
    from scipy.sparse.csgraph import connected_components

    num_nodes = int(first[-1])
    other = np.array([[0], [num_nodes]])
    pairs = np.concatenate([ends + other, ends + other[::-1]], axis=1)
    shape = (2 * num_nodes, 2 * num_nodes)
    twice: Any = scipy.sparse.coo_array((np.ones(pairs.shape[1], np.int8), tuple(pairs)), shape)
    _, piece = connected_components(twice, directed=False)
    root = np.repeat(first[:-1], np.diff(first))
    even, odd = piece[root], piece[root + num_nodes]
    own = piece[:num_nodes]
    return own == even, bool(((own == even) | (own == odd)).all())
