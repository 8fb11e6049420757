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
    story_nodes: int = 512
    """Of a graph to tell, of which every step is kept."""
    story_edges: int = 5_000
    runs: int = 2
    """Processes that compute, each on one core."""
    waiting: int = 16
    """Requests that may wait for one of them."""
    seconds: float = 20.0
    """That a run may take before it is stopped."""
    stop_seconds: float = 1.0
    """That a run which is stopped may take to end by itself; then its process is killed."""
    start_seconds: float = 600.0
    """That a process may take to start: at first it compiles what the networks need."""
    memory_bytes: int = 4 * 2**30
    """That a process may need beyond what it has once it is ready."""
    connections: int = 256
    """Open at once; of more, the one that has kept the server waiting longest is closed."""
    head_seconds: float = 10.0
    """That the head of a request may take to arrive."""
    body_seconds: float = 20.0
    """That its body may take to arrive."""
    arriving_bytes: int = 32 * 2**20
    """Of all bodies that are arriving; beyond it the oldest of them is given up."""
    answer_seconds: float = 60.0
    """That a client may take to fetch its answer."""
    log_messages: int = 20
    """Messages of the server in its log, a minute."""
