"""What a server takes on before it refuses: one place for all numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Everything that a request could have too much of."""

    body_bytes: int = 4 * 2**20
    """Of a request."""
    unpacked_bytes: int = 32 * 2**20
    """Of an uploaded file, once unpacked."""
    nodes: int = 20_000
    """Of a graph to solve, both sides together."""
    edges: int = 200_000
    """Of a graph to solve; of a flow network, its arcs."""
    trace_nodes: int = 512
    """Of a graph to trace, of which every step is kept."""
    trace_edges: int = 5_000
    runs: int = 2
    """Processes that compute, each on one core."""
    waiting: int = 16
    """Requests that may wait for one of them."""
    seconds: float = 20.0
    """That a run may take before it is stopped."""
    body_seconds: float = 20.0
    """That a request may take to arrive."""
    start_seconds: float = 120.0
    """That a process may take to start: the first import of PyTorch can be slow."""
    memory_bytes: int = 4 * 2**30
    """That a process may need beyond what it has once it is ready."""
