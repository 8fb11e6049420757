"""How much a server takes on before it refuses: all numbers in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Everything that a request could have too much of."""

    body_bytes: int = 4 * 2**20
    """Size of a request's body."""
    unpacked_bytes: int = 32 * 2**20
    """Size of an uploaded file, once unpacked."""
    nodes: int = 20_000
    """Nodes of a graph to solve, both sides together."""
    edges: int = 200_000
    """Edges of a graph to solve; of a flow network, its arcs."""
    story_nodes: int = 512
    """Nodes of a graph whose story is told, since every step is kept."""
    story_edges: int = 5_000
    runs: int = 2
    """Processes that compute, each on one core."""
    waiting: int = 16
    """Requests that may wait for one of them."""
    seconds: float = 20.0
    """Time that a run may take before it is stopped."""
    stop_seconds: float = 1.0
    """Time that a stopped run may take to end by itself; then its process is killed."""
    start_seconds: float = 600.0
    """Time that a process may take to start: at first it compiles what the networks need."""
    memory_bytes: int = 4 * 2**30
    """Memory that a process may need beyond what it has once it is ready."""
    connections: int = 256
    """Open at once; beyond it, the one that has kept the server waiting longest is closed."""
    head_seconds: float = 10.0
    """Time that the head of a request may take to arrive."""
    body_seconds: float = 20.0
    """Time that its body may take to arrive."""
    arriving_bytes: int = 32 * 2**20
    """Size of all arriving bodies together; beyond it the oldest is given up."""
    answer_seconds: float = 60.0
    """Time that a client may take to fetch its answer."""
    log_messages: int = 20
    """Messages a minute in the server's log."""
