"""A graph and anybody's answer to it become a verdict with a proof."""

from __future__ import annotations

from typing import Annotated

import typer

from augury import __version__
from augury.apps.commands import terminal
from augury.apps.commands.terminal import Flow, Header, IgnoreCosts, Json, Sink, Source, say

EXAMPLES = (
    "Example:  augury solve graph.csv --output answer.json; augury certify graph.csv answer.json"
)

ANSWER = "A matching or flow: JSON as solve writes it, or CSV (left,right or tail,head,flow)."


def certify(  # noqa: PLR0913  # one parameter for each option
    file: Annotated[str, typer.Argument(help="The graph, as for solve.", show_default=False)],
    answer: Annotated[str, typer.Argument(help=ANSWER, show_default=False)],
    json: Json = False,
    flow: Flow = False,
    header: Header = None,
    source: Source = None,
    sink: Sink = None,
    ignore_costs: IgnoreCosts = False,
) -> None:
    """Check anybody's matching or flow: is it legal, is it maximum, and if not, by how much.

    Exit code 0 if the answer is legal, maximum or not; 2 if it is not.
    """
    from augury.classical.certificate import certify_amounts, certify_pairs
    from augury.classical.formats import ReadOptions, answer_text, read_answer
    from augury.classical.graph import BipartiteGraph
    from augury.errors import InputError
    from augury.files import write_text

    if file == answer == "-":
        raise InputError("graph and answer cannot both come from standard input")
    graph = terminal.read(file, ReadOptions(flow, header, source, sink, ignore_costs))
    claimed = read_answer(answer, graph)
    is_graph = isinstance(graph, BipartiteGraph)
    certificate = certify_pairs(graph, claimed) if is_graph else certify_amounts(graph, claimed)
    if json:
        told = certificate.to_dict() | {"file": file, "answer": answer, "version": __version__}
        write_text("-", answer_text(told, "json"))
    elif certificate.is_legal:
        say(("legal", "bold"), f", size {certificate.size:,}")
        terminal.say_proof(certificate)
    if not certificate.is_legal:
        raise InputError(f"{answer}: this is not a {graph.noun} of {file}: {certificate.fault}")
