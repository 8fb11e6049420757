"""A graph in any form and an answer from anywhere become a `Certificate`.

Graphs are read as in `solve` (`inputs`); answers are checked by `classical.certificate` and
`classical.prices` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from augury.classical import certificate
from augury.classical.arrays import Label, WideArray
from augury.classical.certificate import Certificate
from augury.classical.cost_network import CostNetwork
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.prices import certify_cost, certify_priced
from augury.errors import InputError
from augury.inputs import as_graph


def certify(
    graph: Any,
    matching: Iterable[tuple[Label, Label]],
    *,
    costs: bool | None = None,
    maximise: bool = False,
    prices: dict[str, Any] | None = None,
) -> Certificate:
    """Check pairs (left, right) of labels (numbers, where the graph has none) as a matching.

    `graph` is whatever `solve` takes for a bipartite graph. If it has costs, the certificate also
    says whether their sum is least, or with `maximise` greatest.

    Args:
        graph: see above.
        matching: pairs of labels.
        costs: whether numbers without a name, such as the entries of a matrix, are costs.
        maximise: whether the greatest sum is claimed.
        prices: a proof that the costs are best: "left" and "right", a number for each node, or "u"
            and "v" as in the Hungarian method. If not given, they are searched for.

    Raises:
        InputError: the graph or the prices cannot be read, or it is a flow network.
        TypeError: `graph` is not in a form that `solve` takes.

    >>> certify([("ann", "cook"), ("bob", "cook"), ("bob", "sing")], [("bob", "cook")])
    Certificate(legal, 1 short of the maximum 2)
    >>> hours = {"ann": {"cook": 4, "sing": 1}, "bob": {"cook": 2, "sing": 1}}
    >>> certify(hours, [("ann", "cook"), ("bob", "sing")])
    Certificate(legal and maximum, 2, cost 5, not the best)
    """
    read = as_graph(graph, costs=costs, maximise=maximise)
    if not isinstance(read, BipartiteGraph):
        raise InputError("this is a flow network: certify_flow checks its flows")
    if read.costs is not None:
        return certify_priced(read, matching, prices)
    _refuse_prices(prices)
    return certificate.certify(read, matching)


def certify_flow(  # noqa: PLR0913  # a network, a flow, and what is claimed of it
    network: Any,
    flow: WideArray | Iterable[tuple[Label, Label, int]],
    *,
    source: Label = None,
    sink: Label = None,
    costs: bool | None = None,
    maximise: bool = False,
    prices: dict[str, Any] | None = None,
) -> Certificate:
    """Check a flow: (tail, head, amount) by label, or the net flow of each arc as an array.

    `network`, `source` and `sink` are what `solve` takes for a flow network. Each arc must keep to
    its own capacity, whatever its reverse carries. The rest is as in `certify`; prices are a list
    of [node, price] under "nodes".

    Raises:
        InputError: the network cannot be read, or is a bipartite graph.
        TypeError: `network` is not in a form that `solve` takes.

    >>> arcs = [("s", "a", 3), ("a", "t", 2)]
    >>> certify_flow(arcs, [("s", "a", 2), ("a", "t", 2)], source="s", sink="t")
    Certificate(legal and maximum, 2)
    """
    read = as_graph(network, source, sink, costs=costs, maximise=maximise)
    if isinstance(read, CostNetwork):
        if isinstance(flow, np.ndarray):
            if prices is not None:
                raise InputError("prices go with a flow as (tail, head, amount), not as an array")
            return certify_cost(read, flow)
        return certify_priced(read, flow, prices)
    if not isinstance(read, FlowNetwork):
        raise InputError("this is a bipartite graph: give source and sink, or use certify")
    _refuse_prices(prices)
    return certificate.certify_flow(read, flow)


def _refuse_prices(prices: object) -> None:
    if prices is not None:
        raise InputError("prices prove something only where there are costs")
