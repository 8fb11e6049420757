"""A graph and anybody's answer to it become a verdict with a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from augury import __version__
from augury.apps.commands import terminal
from augury.apps.commands.terminal import (
    Cost,
    Flow,
    Header,
    IgnoreCosts,
    Json,
    Maximise,
    Sink,
    Source,
    Supply,
    say,
)

if TYPE_CHECKING:
    from augury.classical.certificate import Certificate
    from augury.classical.network import Graph

EXAMPLES = (
    "Examples:  augury solve graph.csv --output answer.json; augury certify graph.csv answer.json"
    "  ·  augury certify hours.csv pairs.csv --prices duals.json"
)

PRICES = (
    'What proves the least cost: JSON with "left" and "right", or "u" and "v", of a matching, '
    '"nodes" of a flow, or an answer of solve.'
)
ANSWER = "A matching or flow: JSON as solve writes it, or CSV (left,right or tail,head,flow)."


def certify(  # noqa: PLR0913  # one parameter for each option
    file: Annotated[str, typer.Argument(help="The graph, as for solve.", show_default=False)],
    answer: Annotated[str, typer.Argument(help=ANSWER, show_default=False)],
    prices: Annotated[str | None, typer.Option(metavar="FILE", help=PRICES)] = None,
    json: Json = False,
    flow: Flow = False,
    header: Header = None,
    source: Source = None,
    sink: Sink = None,
    cost: Cost = False,
    maximise: Maximise = None,
    supply: Supply = None,
    ignore_costs: IgnoreCosts = False,
) -> None:
    """Check anybody's matching or flow: is it legal, maximum, of least cost, and if not, why not.

    Exit code 0 if the answer is legal, the best or not; 2 if it is not.
    """
    from augury.classical.formats import answer_text
    from augury.errors import InputError
    from augury.files import write_text

    if [file, answer, prices, supply].count("-") > 1:
        raise InputError("only one of the files can come from standard input")
    said = flow, header, source, sink, ignore_costs, cost, maximise, supply
    graph = terminal.read(file, terminal.read_options(*said))
    certificate = _checked(graph, answer, prices)
    if json:
        told = certificate.to_dict() | {"file": file, "answer": answer, "version": __version__}
        write_text("-", answer_text(told, "json"))
    elif certificate.is_legal:
        costs = "" if certificate.cost is None else f", cost {certificate.cost}"
        say(("legal", "bold"), f", size {certificate.size:,}{costs}")
        terminal.say_proof(certificate)
    if not certificate.is_legal:
        raise InputError(f"{answer}: this is not a {graph.noun} of {file}: {certificate.fault}")


def _checked(graph: Graph, answer: str, prices: str | None) -> Certificate:
    """Check the answer in a file, and the prices in another, with code that knows no solver."""
    from augury.classical.certificate import certify_amounts, certify_pairs
    from augury.classical.formats import read_answer, read_prices
    from augury.classical.graph import BipartiteGraph
    from augury.classical.network import FlowNetwork
    from augury.classical.prices import certify_priced
    from augury.errors import InputError
    from augury.files import named

    claimed = read_answer(answer, graph)
    if isinstance(graph, FlowNetwork) or graph.costs is None:
        if prices is not None:
            raise InputError(f"{prices}: prices prove something only where there are costs")
        is_graph = isinstance(graph, BipartiteGraph)
        return certify_pairs(graph, claimed) if is_graph else certify_amounts(graph, claimed)
    given = None if prices is None else read_prices(prices)
    if isinstance(graph, BipartiteGraph):
        rows = [(graph.left_label(u), graph.right_label(v)) for u, v in claimed.tolist()]
    else:
        rows = [(graph.label(u), graph.label(v), amount) for u, v, amount in claimed.tolist()]
    with named(answer if prices is None else prices):
        return certify_priced(graph, rows, given)
