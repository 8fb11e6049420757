"""What the commands that read graphs share: options, reading, and a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from augury.apps.commands.terminal import say

if TYPE_CHECKING:
    from augury.classical.certificate import Certificate
    from augury.classical.formats import ReadOptions
    from augury.classical.graph import BipartiteGraph
    from augury.classical.network import FlowNetwork

Flow = Annotated[
    bool, typer.Option("--flow", help="Read a flow network where the file could be either.")
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row of an edge list names the columns.",
        show_default="decided by looking",
    ),
]
Source = Annotated[
    str | None, typer.Option(help="Label of the source, where the file does not say it.")
]
Sink = Annotated[
    str | None, typer.Option(help="Label of the sink, where the file does not say it.")
]
IgnoreCosts = Annotated[
    bool,
    typer.Option(
        "--ignore-costs",
        help="Read edges and ignore costs or weights: the matching is of greatest cardinality.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]


def read(file: str, options: ReadOptions) -> BipartiteGraph | FlowNetwork:
    """Read a graph; refuse options that do not fit it."""
    from augury.classical.formats import read_graph
    from augury.classical.graph import BipartiteGraph
    from augury.errors import InputError

    graph = read_graph(file, options)
    for option, label in {"--source": options.source, "--sink": options.sink}.items():
        if label is not None and isinstance(graph, BipartiteGraph):
            raise InputError(
                f"{file}: a bipartite graph has no {option[2:]}, but {option} is {label}; "
                "--flow reads a flow network"
            )
    return graph


def noun(graph: BipartiteGraph | FlowNetwork) -> str:
    """Return what is found in such a graph."""
    return "matching" if hasattr(graph, "num_left") else "flow"


def described(graph: BipartiteGraph | FlowNetwork) -> str:
    """Say what a graph is, and its size."""
    from augury.classical.graph import BipartiteGraph

    if isinstance(graph, BipartiteGraph):
        return (
            f"a bipartite graph of {graph.num_left:,} + {graph.num_right:,} nodes "
            f"and {graph.num_edges:,} edges"
        )
    return f"a network of {graph.num_nodes:,} nodes and {graph.num_arcs // 2:,} arc pairs"


def say_proof(certificate: Certificate) -> None:
    """Say that an answer is certified and why, or how far it falls short."""
    if certificate.is_maximum and certificate.proof is not None:
        say(("certified maximum", "green"), f": {certificate.proof.words}")
    else:
        say((f"legal, but {certificate.shortfall:,} short of the maximum", "yellow"))


def counted(number: int, noun: str) -> str:
    """Return "1 round" or "2 rounds"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
