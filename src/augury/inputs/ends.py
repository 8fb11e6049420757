"""What every reader of graphs shares: the two ends of a flow, and whose object it is."""

from __future__ import annotations

from typing import Any, NamedTuple

from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork

Graph = BipartiteGraph | FlowNetwork


class Ends(NamedTuple):
    """Source and sink of a flow, both or neither."""

    source: Any
    sink: Any


def is_of(graph: Any, *libraries: str) -> bool:
    """Tell by the modules of its class whose object it is; no library is imported to be asked."""
    return any(kind.__module__.partition(".")[0] in libraries for kind in type(graph).__mro__)
