"""A family of graphs becomes files."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from augury.apps.commands.terminal import Seed, say

EXAMPLES = (
    "Examples:  augury generate uniform --n 8 --p 1/4 --output graph.csv  ·  "
    "augury generate flow --nodes 20 --arcs 60 --high 255 --output net.max.gz  ·  "
    "augury generate sparse --n 64 --count 50 --output graphs/{}.mtx  ·  "
    "augury generate complete --n 8 --costs 1:20 --output hours.csv"
)


def generate(  # noqa: PLR0913  # one parameter for each option
    family: Annotated[
        str,
        typer.Argument(
            help="uniform, sparse, regular, power-law, complete, communities, path, ladder, "
            "path-state, ladder-state, partly-matched or flow. Hard flows: mesh, rlg-long, "
            "rlg-wide, line, dinic-bad, rmf-long, rmf-wide, ak, acyclic, transport, budget, "
            "segmentation, scribbles, roads, unit-flow or random-flow. Hard matchings: chains, "
            "ladders, hilo, few-groups, many-groups, zipf, grid or random-edges.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "--out",
            help="File to write; its ending is the format. With --count, {} stands for the number.",
        ),
    ],
    seed: Seed = 0,
    count: Annotated[int, typer.Option(min=1, help="How many graphs to write.")] = 1,
    n: Annotated[int | None, typer.Option(help="Nodes on a side (left, where m is given).")] = None,
    m: Annotated[int | None, typer.Option(help="Nodes on the right.")] = None,
    p: Annotated[str | None, typer.Option(help="Probability of an edge: 0.25 or 1/4.")] = None,
    c: Annotated[float | None, typer.Option(help="Mean degree of sparse.")] = None,
    degree: Annotated[int | None, typer.Option(help="Degree of regular.")] = None,
    mean_degree: Annotated[float | None, typer.Option(help="Mean degree of power-law.")] = None,
    exponent: Annotated[float | None, typer.Option(help="Exponent of power-law.")] = None,
    p_within: Annotated[str | None, typer.Option(help="Edges within a community.")] = None,
    p_between: Annotated[str | None, typer.Option(help="Edges between communities.")] = None,
    share: Annotated[float | None, typer.Option(help="Largest share of matched pairs.")] = None,
    nodes: Annotated[int | None, typer.Option(help="Nodes of a flow network.")] = None,
    arcs: Annotated[
        int | None, typer.Option(help="Arcs of a flow network; about, of a hard one.")
    ] = None,
    edges: Annotated[int | None, typer.Option(help="About how many, of a hard matching.")] = None,
    low: Annotated[int | None, typer.Option(help="Smallest capacity.")] = None,
    high: Annotated[int | None, typer.Option(help="Largest capacity.")] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH", help="Draw a cost for each edge or arc, as in 1:20 or =-5:5."
        ),
    ] = None,
) -> None:
    """Write graphs of a family to files."""
    import numpy as np

    from augury.classical.formats import write_graph
    from augury.classical.generate import generate as make
    from augury.errors import InputError

    given: dict[str, Any] = {
        "n": n, "m": m, "c": c, "degree": degree, "mean_degree": mean_degree, "exponent": exponent,
        "share": share, "nodes": nodes, "arcs": arcs, "edges": edges, "low": low, "high": high,
        "p": _fraction("p", p), "p_within": _fraction("p-within", p_within),
        "p_between": _fraction("p-between", p_between),
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    if count > 1 and "{}" not in output:
        raise InputError(
            f"--output {output} must hold {{}} for the number of each of {count} files"
        )
    rng = np.random.default_rng(seed)
    for number in range(count):
        name = output.replace("{}", str(number))
        graph = make(family, rng, _range(costs), **given)
        with _folder_of(name):
            write_graph(graph, name)
        say(f"{name}: {graph.words}")


@contextmanager
def _folder_of(name: str) -> Generator[None]:
    """Make the folders for a file; remove them if it cannot be written."""
    from augury.files import named

    folder = Path(name).parent
    with named(folder):
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # another file is in it by now
            for path in made:
                path.rmdir()
        raise


def _fraction(name: str, text: str | None) -> float | None:
    from fractions import Fraction

    if text is None:
        return None
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(
            f"{text!r} is not a number such as 0.25 or 1/4", param_hint=f"--{name}"
        ) from None


def _range(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        return int(low), int(high)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not LOW:HIGH, such as 1:20", param_hint="--costs"
        ) from None
