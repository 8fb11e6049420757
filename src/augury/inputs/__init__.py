"""Anything that holds a graph becomes a `BipartiteGraph`, a `FlowNetwork` or a `CostNetwork`.

    BipartiteGraph, FlowNetwork, …  as they are
    path                            a file in any format of `classical.formats`
    array, tensor (n, m)            biadjacency matrix; with source and sink, capacities (n, n)
    SciPy sparse matrix or array    the same, also sparse tensors
    PyTorch Geometric HeteroData    two node types and the edges between them
    PyTorch Geometric Data          bipartite, or a flow network if it has source and sink
    pandas or Polars DataFrame      columns left, right; with source and sink tail, head, capacity
    list of pairs                   edges (left, right)
    list of triples                 with source and sink, arcs (tail, head, capacity)
    dict of lists                   the right nodes of each left node
    NetworkX graph                  bipartite; with source and sink, or demands, a flow network

Columns and attributes with names such as cost or weight hold costs, and so do the numbers of a dict
{left: {right: cost}}. If the caller says that there are costs, the entries of a matrix and the last
entries of triples (left, right, cost) and quadruples (tail, head, capacity, cost) are costs too.

A graph is recognised by its class's name and module, so no library is imported just to find that
the graph is not one of its own. Ambiguous input is refused with both readings named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from augury.classical.arrays import Label
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.formats import ReadOptions, read_graph
from augury.classical.formats.networkx_graph import cost_attribute, from_networkx
from augury.classical.formats.text import LabelFinder
from augury.classical.network import FlowNetwork, Graph, Graphs
from augury.errors import InputError
from augury.inputs.arrays import (
    as_array,
    as_stack,
    from_array,
    from_sparse,
    is_array,
    is_sparse,
)
from augury.inputs.costs import Ends, Said
from augury.inputs.geometric import (
    from_batch,
    from_data,
    from_hetero,
    is_batch,
    is_data,
    is_hetero,
)
from augury.inputs.many import Part, gathered, in_pieces
from augury.inputs.rows import from_adjacency, from_frame, from_rows, is_frame, is_rows

__all__ = ["Graph", "Graphs", "as_batch", "as_graph", "as_graphs", "as_parts", "as_stack"]


def as_graph(
    graph: Any,
    source: Label = None,
    sink: Label = None,
    *,
    needs_sink: bool = True,
    costs: bool | None = None,
    maximise: bool = False,
) -> Graph:
    """Read a graph from any of the forms above.

    `source` and `sink`, each a node's label, or its number if there are no labels, make it a flow
    network. If a source needs no sink, any other node serves as one. `costs` says whether unnamed
    numbers are costs: None refuses those that might be, False refuses named ones too.

    Raises:
        InputError: the graph is not valid, only one of source and sink is given, or there are no
            costs to maximise.
        TypeError: it is none of the forms above.
    """
    if not needs_sink and source is not None and sink is None:
        return with_source(graph, source)
    if (source is None) != (sink is None):
        given, missing = ("source", "sink") if sink is None else ("sink", "source")
        raise InputError(f"a flow needs both ends: the {given} is given, the {missing} is not")
    said = Said(None if source is None else Ends(source, sink), costs, maximise)
    for is_form, read in FORMS:
        if is_form(graph):
            return _maximised(read(graph, said)) if maximise else read(graph, said)
    raise TypeError(
        f"{type(graph).__name__} is no graph: expected a BipartiteGraph, a FlowNetwork, a path, a "
        "two-dimensional array, a SciPy sparse matrix, a NetworkX graph, PyTorch Geometric data, a "
        "DataFrame, a list of pairs or a dict of lists"
    )


def _maximised(graph: Graph) -> Graph:
    """Return the graph with its costs to be maximised."""
    if isinstance(graph, FlowNetwork) or graph.costs is None:
        raise InputError("there are no costs to maximise")
    return replace(graph, costs=replace(graph.costs, maximise=True))


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


def as_graphs(graphs: Any, costs: bool | None = None, maximise: bool = False) -> Iterator[Graph]:
    """Read many graphs, one by one."""
    read = _reader(costs, maximise)
    return (read(position, graph) for position, graph in enumerate(_several(graphs)))


def as_batch(graphs: Any) -> Any:
    """Return a PyG batch of bipartite graphs without costs as a `BipartiteBatch`."""
    batch = from_batch(graphs) if is_batch(graphs) else None
    return graphs if batch is None else batch


def as_parts(graphs: Any, costs: bool | None, max_arcs: int) -> Iterator[list[Part]]:
    """Read many graphs in chunks of at most `max_arcs` arcs, those of one kind together."""
    if isinstance(graphs, BipartiteBatch):
        return ([part] for part in in_pieces(graphs, max_arcs))
    return gathered(_several(graphs), _reader(costs), max_arcs)


def _several(graphs: Any) -> Iterable[Any]:
    """Take apart an iterable of graphs, a PyG batch, or a dense (graph, left, right) array."""
    if is_batch(graphs):
        return map(graphs.get_example, range(graphs.num_graphs))
    if is_array(graphs):
        graphs = as_array(graphs, "stack of graphs")
        if graphs.ndim != 3:
            axes = "graph, left and right"
            raise InputError(f"a batch of dense graphs has the axes {axes}, not {graphs.ndim}")
    elif not isinstance(graphs, Iterable) or _is_one(graphs):
        raise TypeError(f"expected several graphs, got one {type(graphs).__name__}")
    return graphs


def _reader(costs: bool | None, maximise: bool = False) -> Callable[[int, Any], Graph]:
    """Return a function that reads a graph, given its position, which errors name."""

    def read(position: int, graph: Any) -> Graph:
        try:
            return as_graph(graph, costs=costs, maximise=maximise)
        except InputError as error:
            raise InputError(f"graph {position}: {error}") from None
        except TypeError as error:
            raise TypeError(f"graph {position}: {error}") from None

    return read


def _is_one(graphs: Any) -> bool:
    """Tell one graph from many; a list, which could be either, counts as many."""
    return not is_rows(graphs) and any(is_form(graphs) for is_form, _ in FORMS)


def _own(graph: Graph, said: Said) -> Graph:
    if said.ends is not None:
        kind = type(graph).__name__
        raise InputError(f"source and sink are given, but a {kind} already says what it is")
    return graph


def _from_path(path: str | Path, said: Said) -> Graph:
    options = ReadOptions(costs=said.costs, maximise=said.maximise or None)
    if said.ends is not None:
        source, sink = map(str, said.ends)
        options = replace(options, flow=True, source=source, sink=sink)
    return read_graph(path, options)


def _is_networkx(graph: Any) -> bool:
    return hasattr(graph, "is_directed") and hasattr(graph, "edges") and hasattr(graph, "nodes")


def _from_networkx(graph: Any, said: Said) -> Graph:
    """Read the structure, for a flow the capacities, and costs if the edges have any."""
    attribute = cost_attribute(graph, said.costs)
    if attribute is not None and said.costs is False:
        noun = "BipartiteGraph" if said.ends is None else "FlowNetwork"
        way = f"give augury.{noun}.from_networkx(…), which reads the structure alone"
        raise said.refusal(f"the edges differ in the attribute {attribute!r}", way)
    return from_networkx(graph, said.ends, attribute, said.maximise)


FORMS: list[tuple[Callable[[Any], bool], Callable[[Any, Said], Graph]]] = [
    (lambda graph: isinstance(graph, Graph), _own),
    (lambda graph: isinstance(graph, str | Path), _from_path),
    (is_rows, from_rows),
    (lambda graph: isinstance(graph, dict), from_adjacency),
    (is_sparse, from_sparse),
    (is_array, from_array),
    (is_hetero, from_hetero),
    (is_data, from_data),
    (is_frame, from_frame),
    (_is_networkx, _from_networkx),
]
"""(how to recognise a form, how to read it); the first match counts."""
