"""A graph in any form and an answer from anywhere become a `Certificate`.

Graphs are read as in `solve` (`inputs`); answers are checked by `classical.certificate` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from augury.classical import certificate
from augury.classical.arrays import WideArray
from augury.classical.certificate import Certificate
from augury.classical.graph import BipartiteGraph, Label
from augury.classical.network import FlowNetwork
from augury.errors import InputError
from augury.inputs import as_graph


def certify(graph: Any, matching: Iterable[tuple[Label, Label]]) -> Certificate:
    """Check pairs (left, right) of labels (numbers, where the graph has none) as a matching.

    `graph` is whatever `solve` takes for a bipartite graph.

    Raises:
        InputError: the graph cannot be read, or is a flow network.
        TypeError: `graph` is in no form that `solve` takes.

    >>> certify([("ann", "cook"), ("bob", "cook"), ("bob", "sing")], [("bob", "cook")])
    Certificate(legal, 1 short of the maximum 2)
    """
    read = as_graph(graph)
    if not isinstance(read, BipartiteGraph):
        raise InputError("this is a flow network: certify_flow checks its flows")
    return certificate.certify(read, matching)


def certify_flow(
    network: Any,
    flow: WideArray | Iterable[tuple[Label, Label, int]],
    *,
    source: Label = None,
    sink: Label = None,
) -> Certificate:
    """Check a flow: (tail, head, amount) by label, or the net flow of each arc as an array.

    `network`, `source` and `sink` are what `solve` takes for a flow network. Each arc must keep to
    its own capacity, whatever its reverse carries.

    Raises:
        InputError: the network cannot be read, or is a bipartite graph.
        TypeError: `network` is in no form that `solve` takes.

    >>> arcs = [("s", "a", 3), ("a", "t", 2)]
    >>> certify_flow(arcs, [("s", "a", 2), ("a", "t", 2)], source="s", sink="t")
    Certificate(legal and maximum, 2)
    """
    read = as_graph(network, source, sink)
    if not isinstance(read, FlowNetwork):
        raise InputError("this is a bipartite graph: give source and sink, or use certify")
    return certificate.certify_flow(read, flow)
