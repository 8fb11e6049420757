"""Whatever holds a graph becomes a `BipartiteGraph` or a `FlowNetwork`.

    BipartiteGraph, FlowNetwork     as they are
    path                            a file in any format of `classical.formats`
    array, tensor (n, m)            biadjacency matrix; with source and sink, capacities (n, n)
    SciPy sparse matrix or array    the same
    NetworkX graph                  bipartite; with source and sink, a flow network
    PyTorch Geometric HeteroData    two node types and the edges between them
    PyTorch Geometric Data          bipartite, or a flow network if it has source and sink

A graph is known by its class's name and module, so that no library is imported only to be told
that the graph is not one of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.formats import ReadOptions, read_graph
from augury.classical.graph import BipartiteGraph, InputError, Label, sides_of_connected
from augury.classical.network import FlowNetwork

Graph = BipartiteGraph | FlowNetwork


class Ends(NamedTuple):
    """Source and sink of a flow, both or neither."""

    source: Any
    sink: Any


def as_graph(graph: Any, source: Label = None, sink: Label = None) -> Graph:
    """Read a graph from any of the forms above.

    Args:
        graph: what holds it.
        source: makes it a flow network, together with `sink`: a node's label, or its number where
            there are no labels.
        sink: see `source`.

    Raises:
        InputError: the graph is not what it should be, or only one of source and sink is given.
        TypeError: it is none of the forms above.
    """
    if (source is None) != (sink is None):
        given, missing = ("source", "sink") if sink is None else ("sink", "source")
        raise InputError(f"a flow needs both ends: the {given} is given, the {missing} is not")
    ends = None if source is None else Ends(source, sink)
    for is_form, read in FORMS:
        if is_form(graph):
            return read(graph, ends)
    raise TypeError(
        f"{type(graph).__name__} is no graph: expected a BipartiteGraph, a FlowNetwork, a path, a "
        "two-dimensional array, a SciPy sparse matrix, a NetworkX graph or PyTorch Geometric data"
    )


def as_graphs(graphs: Any) -> Iterator[Graph]:
    """Read many graphs: an iterable of them, a PyG batch, or a dense (graph, left, right) array."""
    if _is_of(graphs, "torch_geometric") and hasattr(graphs, "to_data_list"):
        graphs = graphs.to_data_list()
    elif _is_array(graphs):
        graphs = _as_array(graphs)
        if graphs.ndim != 3:
            raise InputError(
                f"a batch of dense graphs has the axes graph, left and right, not {graphs.ndim}"
            )
    elif isinstance(graphs, str | Path | Graph) or not isinstance(graphs, Iterable):
        raise TypeError(f"expected several graphs, got one {type(graphs).__name__}")
    for position, graph in enumerate(graphs):
        try:
            yield as_graph(graph)
        except InputError as error:
            raise InputError(f"graph {position}: {error}") from None
        except TypeError as error:
            raise TypeError(f"graph {position}: {error}") from None


def as_stack(graphs: Any) -> npt.NDArray[Any] | None:
    """Return many graphs as one (graph, left, right) array of numbers, if that is their form."""
    if not _is_array(graphs):
        return None
    array = _as_array(graphs)
    if array.ndim != 3 or array.dtype.kind not in "biuf":
        return None
    if array.dtype.kind == "f" and np.isnan(array).any():
        return None  # to be refused with the graph's number
    return array


def _own(graph: Graph, ends: Ends | None) -> Graph:
    if ends is not None:
        kind = type(graph).__name__
        raise InputError(f"source and sink are given, but a {kind} already says what it is")
    return graph


def _from_path(path: str | Path, ends: Ends | None) -> Graph:
    if ends is None:
        return read_graph(path)
    return read_graph(path, ReadOptions(flow=True, source=str(ends.source), sink=str(ends.sink)))


def _is_of(graph: Any, *libraries: str) -> bool:
    return any(kind.__module__.partition(".")[0] in libraries for kind in type(graph).__mro__)


def _is_array(graph: Any) -> bool:
    return isinstance(graph, np.ndarray) or (_is_of(graph, "torch") and hasattr(graph, "numpy"))


def _as_array(graph: Any) -> npt.NDArray[Any]:
    if isinstance(graph, np.ndarray):
        return graph
    dense = graph.to_dense() if graph.layout.__repr__() != "torch.strided" else graph
    return dense.detach().cpu().numpy()


def _from_array(graph: Any, ends: Ends | None) -> Graph:
    array = _as_array(graph)
    if ends is None:
        return BipartiteGraph.from_dense(array)
    return FlowNetwork.from_dense(array, *ends)


def _is_sparse(graph: Any) -> bool:
    return _is_of(graph, "scipy") and hasattr(graph, "tocoo")


def _from_sparse(graph: Any, ends: Ends | None) -> Graph:
    if ends is None:
        return BipartiteGraph.from_scipy(graph)
    return FlowNetwork.from_scipy(graph, *ends)


def _is_networkx(graph: Any) -> bool:
    return hasattr(graph, "is_directed") and hasattr(graph, "edges") and hasattr(graph, "nodes")


def _from_networkx(graph: Any, ends: Ends | None) -> Graph:
    if ends is None:
        return BipartiteGraph.from_networkx(graph)
    return FlowNetwork.from_networkx(graph, *ends)


def _is_hetero(graph: Any) -> bool:
    return _is_of(graph, "torch_geometric") and hasattr(graph, "edge_types")


def _from_hetero(data: Any, ends: Ends | None) -> Graph:
    """Two node types are the two sides; relations in either direction are edges."""
    if ends is not None:
        raise InputError("HeteroData holds a bipartite graph here: it takes no source and sink")
    kinds = {frozenset((sender, receiver)) for sender, _, receiver in data.edge_types}
    if [len(kind) for kind in kinds] != [2]:
        raise InputError(
            "HeteroData must have edges between two node types and no others, not "
            + (", ".join(" → ".join(kind) for kind in data.edge_types) or "none at all")
        )
    left, _, right = data.edge_types[0]
    ends_of = []
    for kind in data.edge_types:
        index = _edge_index(data[kind].edge_index, f"the edges {' → '.join(kind)}")
        ends_of.append(index if kind[0] == left else index[::-1])
    edges = np.concatenate(ends_of, axis=1)
    num_left = _count(data[left].num_nodes, edges[0])
    num_right = _count(data[right].num_nodes, edges[1])
    return BipartiteGraph(num_left, num_right, edges[0], edges[1])


def _is_data(graph: Any) -> bool:
    return _is_of(graph, "torch_geometric") and hasattr(graph, "edge_index")


def _from_data(data: Any, ends: Ends | None) -> Graph:
    """A flow network if it has ends; else bipartite, with one numbering or (`x_s`, `x_t`) two."""
    index = _edge_index(data.edge_index, "edge_index")
    if ends is None and "source" in data and "sink" in data:
        ends = Ends(int(data.source), int(data.sink))
    if ends is not None:
        if "capacity" not in data:
            raise InputError("the data has no attribute 'capacity' with one number for each edge")
        capacity = _as_array(data.capacity).reshape(-1)
        num_nodes = _count(data.num_nodes, index)
        return FlowNetwork.from_arcs(
            num_nodes, index[0], index[1], capacity, source=ends.source, sink=ends.sink
        )
    if "x_s" in data and "x_t" in data:
        return BipartiteGraph(len(data.x_s), len(data.x_t), index[0], index[1])
    return _from_one_numbering(data, index, _count(data.num_nodes, index))


def _from_one_numbering(data: Any, index: npt.NDArray[Any], num_nodes: int) -> BipartiteGraph:
    """Left is where `bipartite` is 0; without it, the first node's side of a connected graph.

    Nodes keep their numbers as labels, since both sides share them.
    """
    if "bipartite" in data:
        side = _as_array(data.bipartite).reshape(-1)
        if len(side) != num_nodes or not np.isin(side, (0, 1)).all():
            raise InputError(f"'bipartite' must be 0 or 1 for each of the {num_nodes} nodes")
        is_left = side == 0
    else:
        remedy = "give the node attribute 'bipartite', or x_s and x_t for two numberings"
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


def _edge_index(index: Any, what: str) -> npt.NDArray[Any]:
    array = _as_array(index)
    if array.ndim != 2 or len(array) != 2 or array.dtype.kind not in "iu":
        raise InputError(f"{what} must be two rows of node numbers, not {array.shape}")
    return array


def _count(num_nodes: Any, index: npt.NDArray[Any]) -> int:
    """Return the number of nodes; PyG may know none, and then the edges tell."""
    if num_nodes is not None:
        count = int(num_nodes)
        if index.size and not 0 <= index.min() <= index.max() < count:
            raise InputError(f"an edge names node {index.max()}, but there are {count} nodes")
        return count
    return int(index.max()) + 1 if index.size else 0


FORMS: list[tuple[Callable[[Any], bool], Callable[[Any, Ends | None], Graph]]] = [
    (lambda graph: isinstance(graph, BipartiteGraph | FlowNetwork), _own),
    (lambda graph: isinstance(graph, str | Path), _from_path),
    (_is_array, _from_array),
    (_is_sparse, _from_sparse),
    (_is_hetero, _from_hetero),
    (_is_data, _from_data),
    (_is_networkx, _from_networkx),
]
"""(what it is known by, how it is read), the first that fits."""
