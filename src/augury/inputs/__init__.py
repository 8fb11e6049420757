"""Whatever holds a graph becomes a `BipartiteGraph` or a `FlowNetwork`.

    BipartiteGraph, FlowNetwork     as they are
    path                            a file in any format of `classical.formats`
    array, tensor (n, m)            biadjacency matrix; with source and sink, capacities (n, n)
    SciPy sparse matrix or array    the same, also sparse tensors
    PyTorch Geometric HeteroData    two node types and the edges between them
    PyTorch Geometric Data          bipartite, or a flow network if it has source and sink
    pandas or Polars DataFrame      columns left, right; with source and sink tail, head, capacity
    list of pairs                   edges (left, right)
    list of triples                 with source and sink, arcs (tail, head, capacity)
    dict of lists                   the right nodes of each left node
    NetworkX graph                  bipartite; with source and sink, a flow network

A graph is recognised by its class's name and module, so no library is imported just to find that
the graph is not one of its own. Ambiguous input is refused with both readings named; so are costs,
which would be ignored (`costs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from augury.classical.formats import ReadOptions, read_graph
from augury.classical.formats.text import LabelFinder
from augury.classical.graph import BipartiteGraph, Label
from augury.classical.network import FlowNetwork, Graph, Graphs
from augury.errors import InputError
from augury.inputs.arrays import (
    Ends,
    as_array,
    as_stack,
    from_array,
    from_sparse,
    is_array,
    is_of,
    is_sparse,
)
from augury.inputs.costs import ignored, values_differ
from augury.inputs.geometric import from_data, from_hetero, is_data, is_hetero
from augury.inputs.rows import from_adjacency, from_frame, from_rows, is_frame, is_rows

__all__ = ["Graph", "Graphs", "as_graph", "as_graphs", "as_stack"]


def as_graph(
    graph: Any,
    source: Label = None,
    sink: Label = None,
    *,
    needs_sink: bool = True,
    costs: bool | None = None,
) -> Graph:
    """Read a graph from any of the forms above; `costs` says whether numbers may be costs.

    `source` and `sink`, each a node's label, or its number if there are no labels, make it a flow
    network. If a source needs no sink, any other node serves as one.

    Raises:
        InputError: the graph is not valid, or only one of source and sink is given.
        TypeError: it is none of the forms above.
    """
    if not needs_sink and source is not None and sink is None:
        return with_source(graph, source)
    if (source is None) != (sink is None):
        given, missing = ("source", "sink") if sink is None else ("sink", "source")
        raise InputError(f"a flow needs both ends: the {given} is given, the {missing} is not")
    ends = None if source is None else Ends(source, sink)
    if costs and is_array(graph) and ends is None:
        return BipartiteGraph.from_costs(as_array(graph, "matrix"))
    for is_form, read in FORMS:
        if is_form(graph):
            return read(graph, ends)
    raise TypeError(
        f"{type(graph).__name__} is no graph: expected a BipartiteGraph, a FlowNetwork, a path, a "
        "two-dimensional array, a SciPy sparse matrix, a NetworkX graph, PyTorch Geometric data, a "
        "DataFrame, a list of pairs or a dict of lists"
    )


def with_source(graph: Any, source: Label) -> Graph:
    """Read a flow network whose sink does not matter: any other node serves as one."""
    if isinstance(graph, FlowNetwork):
        number = LabelFinder(graph.labels or range(graph.num_nodes)).number(source)
        if number is None:
            raise InputError(f"the source {source!r} is not a node of the network")
        sink = int(not number) if graph.sink == number else graph.sink
        return replace(graph, source=number, sink=sink)
    if isinstance(graph, str | Path):
        return read_graph(graph, ReadOptions(flow=True, source=str(source), needs_sink=False))
    if _is_networkx(graph):
        arcs = [(u, v, 1) for u, v in graph.edges()]
        arcs += [] if graph.is_directed() else [(v, u, 1) for u, v, _ in arcs]
        return FlowNetwork.from_labelled_arcs(arcs, source, _other(graph, source), list(graph))
    if is_rows(graph):
        graph = [(*row, 1) if len(row) == 2 else row for row in graph]
        nodes = (node for row in graph for node in row[:2])
    elif is_frame(graph):
        nodes = (node for column in list(graph.columns)[:2] for node in graph[column])
    else:  # nodes are numbers
        nodes = iter((0, 1))
    return as_graph(graph, source, _other(nodes, source))


def _other(nodes: Iterable[Label], source: Label) -> Label:
    for node in nodes:
        if node != source:
            return node
    raise InputError("a graph of one node leads nowhere")


def as_graphs(graphs: Any, costs: bool | None = None) -> Iterator[Graph]:
    """Read many graphs: an iterable of them, a PyG batch, or a dense (graph, left, right) array."""
    if _are_own(graphs):
        yield from graphs
        return
    if is_of(graphs, "torch_geometric") and hasattr(graphs, "to_data_list"):
        graphs = graphs.to_data_list()
    elif is_array(graphs):
        graphs = as_array(graphs, "stack of graphs")
        if graphs.ndim != 3:
            axes = "graph, left and right"
            raise InputError(f"a batch of dense graphs has the axes {axes}, not {graphs.ndim}")
    elif not isinstance(graphs, Iterable) or _is_one(graphs):
        raise TypeError(f"expected several graphs, got one {type(graphs).__name__}")
    for position, graph in enumerate(graphs):
        try:
            yield as_graph(graph, costs=costs)
        except InputError as error:
            raise InputError(f"graph {position}: {error}") from None
        except TypeError as error:
            raise TypeError(f"graph {position}: {error}") from None


def _are_own(graphs: Any) -> bool:
    return isinstance(graphs, list) and all(isinstance(graph, Graph) for graph in graphs)


def _is_one(graphs: Any) -> bool:
    """Tell one graph from many; a list, which could be either, counts as many."""
    return not is_rows(graphs) and any(is_form(graphs) for is_form, _ in FORMS)


def _own(graph: Graph, ends: Ends | None) -> Graph:
    if ends is not None:
        kind = type(graph).__name__
        raise InputError(f"source and sink are given, but a {kind} already says what it is")
    return graph


def _from_path(path: str | Path, ends: Ends | None) -> Graph:
    if ends is None:
        return read_graph(path)
    return read_graph(path, ReadOptions(flow=True, source=str(ends.source), sink=str(ends.sink)))


def _is_networkx(graph: Any) -> bool:
    return hasattr(graph, "is_directed") and hasattr(graph, "edges") and hasattr(graph, "nodes")


def _from_networkx(graph: Any, ends: Ends | None) -> Graph:
    """Read the structure, and for a flow the capacities; refuse weights, which would be ignored."""
    noun = "BipartiteGraph" if ends is None else "FlowNetwork"
    attributes = [given for _, _, given in graph.edges(data=True) if given]
    for name in ("weight", "cost"):
        some = [given[name] for given in attributes if name in given]
        if values_differ([*some, None] if 0 < len(some) < graph.number_of_edges() else some):
            way = f"give augury.{noun}.from_networkx(…), which reads the structure alone"
            raise ignored(f"the edges differ in the attribute {name!r}", way, ends is not None)
    if ends is None:
        return BipartiteGraph.from_networkx(graph)
    return FlowNetwork.from_networkx(graph, *ends)


FORMS: list[tuple[Callable[[Any], bool], Callable[[Any, Ends | None], Graph]]] = [
    (lambda graph: isinstance(graph, Graph), _own),
    (lambda graph: isinstance(graph, str | Path), _from_path),
    (is_sparse, from_sparse),
    (is_array, from_array),
    (is_hetero, from_hetero),
    (is_data, from_data),
    (is_frame, from_frame),
    (is_rows, from_rows),
    (lambda graph: isinstance(graph, dict), from_adjacency),
    (_is_networkx, _from_networkx),
]
"""(how a form is recognised, how it is read), the first match."""
