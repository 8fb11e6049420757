"""A graph becomes rows of text, below a header that lets them be read back: see `edge_list`."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import IO

from augury.classical.arrays import IntArray, Label, WideArray
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import Costs
from augury.classical.formats.costs import arc_lines, edge_costs
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError


def write_edge_list(graph: Graph, file: IO[bytes], delimiter: str) -> None:
    """Write a row for each edge or arc, below a header that lets the file be read back."""
    if isinstance(graph, BipartiteGraph):
        header, table = _edge_rows(graph, delimiter)
    else:
        header, table = _arc_rows(graph, delimiter)
    file.writelines((delimiter.join(row) + "\n").encode() for row in chain([header], table))


Table = tuple[list[str], Iterable[Iterable[str]]]
"""A header and its rows."""


def _edge_rows(graph: BipartiteGraph, delimiter: str) -> Table:
    left = _cells(graph.left_labels or range(graph.num_left), delimiter)
    right = _cells(graph.right_labels or range(graph.num_right), delimiter)
    pairs = ((left[u], right[v]) for u, v in graph.pairs())
    if graph.costs is None:
        return ["left", "right"], pairs
    costs = edge_costs(graph.costs)
    header = ["left", "right", _cost_name(graph.costs)]
    return header, ((*pair, str(cost)) for pair, cost in zip(pairs, costs, strict=True))


def _arc_rows(network: FlowNetwork | CostNetwork, delimiter: str) -> Table:
    cells = _cells(network.labels or range(network.num_nodes), delimiter)
    if isinstance(network, FlowNetwork):
        table = ((cells[u], cells[v], str(c)) for u, v, c in written_arcs(network))
        return ["tail", "head", "capacity"], table
    if network.supply is not None:
        raise InputError("an edge list cannot hold supplies: use .min, .json or .npz")
    name = _cost_name(network.costs)
    table = ((cells[u], cells[v], str(c), str(cost)) for u, v, _, c, cost in arc_lines(network))
    return ["tail", "head", "capacity", name], table


def _cost_name(costs: Costs) -> str:
    return "profit" if costs.maximise else "cost"


def written_arcs(network: FlowNetwork) -> Iterator[tuple[int, int, int]]:
    """Yield (tail, head, capacity) in node numbers; see `arcs_of`."""
    tail, head, capacity = arcs_of(network)
    return zip(tail.tolist(), head.tolist(), capacity.tolist(), strict=True)


def arcs_of(network: FlowNetwork) -> tuple[IntArray, IntArray, WideArray]:
    """Return tails, heads and capacities, including one arc of each pair without any capacity."""
    is_written = network.capacity > 0
    is_written[::2] |= ~is_written[1::2]
    return network.sender[is_written], network.receiver[is_written], network.capacity[is_written]


def _cells(labels: Sequence[Label], delimiter: str) -> list[str]:
    texts = [str(label) for label in labels]
    if len(set(texts)) < len(texts):
        raise InputError("two labels have the same text, an edge list cannot tell them apart")
    lost = next((x for x in texts if x != x.strip() or not x or set(x) & set("\0\n\r")), None)
    if lost is not None:
        raise InputError(f"an edge list cannot hold the label {reprlib.repr(lost)}")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise InputError("a label cannot be written in UTF-8") from None
    return [csv_cell(x, delimiter) for x in texts]


def csv_cell(label: str, delimiter: str = ",") -> str:
    r"""Return a label as a CSV cell that reads back unchanged.

    >>> csv_cell("ann"), csv_cell("ann, bob"), csv_cell("#1")
    ('ann', '"ann, bob"', '"#1"')
    """
    if delimiter in label or '"' in label or label[:1] in "#%" or set(label) & set("\r\n"):
        return '"' + label.replace('"', '""') + '"'
    return label
