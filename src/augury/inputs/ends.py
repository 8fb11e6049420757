"""What all readers share: the two ends of a flow, and which library an object comes from."""

from __future__ import annotations

from typing import Any, NamedTuple


class Ends(NamedTuple):
    """Source and sink of a flow."""

    source: Any
    sink: Any


def is_of(graph: Any, *libraries: str) -> bool:
    """Tell by the modules of its class whether an object comes from one of the libraries."""
    return any(kind.__module__.partition(".")[0] in libraries for kind in type(graph).__mro__)
