"""Checkpoints become records, and records a table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from augury.apps.commands.terminal import Interrupted, chosen_device, print_table, raise_lost

if TYPE_CHECKING:
    from collections.abc import Generator

    from augury.experiments.conditions import Condition, Extent
    from augury.experiments.records import Part, Runs

EXAMPLES = (
    "Examples:  augury evaluate runs/paper-mpnn --out mpnn.jsonl  ·  "
    "augury evaluate paper-mpnn classical --scales 2 --p 3/n  ·  "
    "augury evaluate paper-mpnn --termination bfs,1,3,5 --classical bottleneck  ·  "
    "augury evaluate --from mpnn.jsonl --plot mpnn.pdf --latex"
)

SUBROUTINES = ("bottleneck", "augmentation")


def evaluate(  # noqa: PLR0913  # one parameter for each option
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help="Checkpoints, run folders (all their seeds), shipped names, or classical.",
            show_default=False,
        ),
    ] = None,
    scales: Annotated[str, typer.Option(help="Sizes: 1 is 8 + 8 nodes.")] = "1,2,4,8",
    p: Annotated[str, typer.Option(help="Probabilities of an edge; 3/n is sparse.")] = "1/4",
    graphs: Annotated[int, typer.Option(min=1, help="Test graphs of each size.")] = 50,
    runs: Annotated[int, typer.Option(min=1, help="Runs on each graph, with new weights.")] = 10,
    termination: Annotated[
        str, typer.Option(help="What ends a run: bfs, or so many invalid paths in a row; a list.")
    ] = "bfs",
    classical: Annotated[
        str,
        typer.Option(
            help="Leave bottleneck, augmentation or both to classical code.", show_default="none"
        ),
    ] = "",
    algorithm: Annotated[
        str,
        typer.Option(
            help="What is executed: ford-fulkerson, assignment, min-cost-flow or reachability."
        ),
    ] = "ford-fulkerson",
    costs: Annotated[
        str,
        typer.Option(help="The largest costs of assignment and min-cost-flow; a list."),
    ] = "10,1000000",
    seed: Annotated[int, typer.Option(min=0, help="Seed of test graphs and weights.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto: cuda if there is one.")] = "cpu",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "--output", help="Write the records here; an existing file is continued."
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each condition.")
    ] = False,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|ADDRESS|local",
            help="Parts on a Ray cluster: that of this machine, HOST:PORT, or one started here.",
        ),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="Print the table of these records; run nothing.")
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print the table for LaTeX.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw accuracy over size here, with intervals: .pdf, .svg or .png."),
    ] = None,
) -> None:
    """Run whole executions on test graphs and report how often the maximum was found.

    For each subroutine the table says how often it was wrong of how often it was asked, and how
    many of the paths that can carry nothing were recognised.
    """
    if json and latex:
        raise typer.BadParameter("--json and --latex ask for two things", param_hint="--latex")
    if bool(models) == bool(source):
        raise typer.BadParameter("name models to run, or --from a file of records, not both")
    if source is not None:
        _show(_read(source), json, latex, plot)
        return
    from augury.experiments.conditions import Extent

    conditions = [
        replace(condition, algorithm=algorithm, costs=largest)
        for largest in _largest_costs(algorithm, costs)
        for condition in chosen_conditions(scales, p, termination, classical)
    ]
    extent = Extent(graphs, runs, seed)
    where = chosen_device(device), ray
    parts = _run(models or [], conditions, extent, out, where)
    _show(parts, json, latex, plot)


def _run(
    models: list[str],
    conditions: list[Condition],
    extent: Extent,
    out: Path | None,
    where: tuple[str, str | None],
) -> dict[Part, Runs]:
    from augury.experiments.evaluate import evaluate_all, load_models

    device, ray = where
    run = None
    if ray is not None:
        from augury.experiments.cluster import task_workers
        from augury.experiments.sweep import evaluated_by

        run = evaluated_by(task_workers(ray, device), device)
    loaded = load_models(models, device)
    with _progress() as progress:

        def next_part(share: float, doing: str) -> None:
            raise_lost()
            progress(share, doing)

        try:
            return evaluate_all(loaded, conditions, extent, out, next_part, run)
        except KeyboardInterrupt:
            how = f"goes on with {out}" if out else "and --out FILE can be continued"
            raise Interrupted(f"interrupted; the same command {how}") from None


def chosen_conditions(scales: str, p: str, termination: str, classical: str) -> list[Condition]:
    """Return every combination of the lists on the command line."""
    from augury.errors import InputError
    from augury.experiments.conditions import Condition

    ours = _entries(classical)
    for name in ours:
        if name not in SUBROUTINES:
            raise InputError(f"--classical knows {' and '.join(SUBROUTINES)}, not {name!r}")
    sizes = _entries(scales)
    for size in sizes:
        if not (size.isascii() and size.isdigit()):
            raise InputError(f"--scales is {scales!r}, not a list of numbers such as 1,2,4,8")
    conditions = [
        Condition(int(size), share, end, SUBROUTINES[0] not in ours, SUBROUTINES[1] not in ours)
        for end in _entries(termination)
        for share in _entries(p)
        for size in sizes
    ]
    if not conditions:
        raise InputError("--scales, --p and --termination each need at least one entry")
    return list(dict.fromkeys(conditions))


def _largest_costs(algorithm: str, costs: str) -> list[int]:
    from augury.algorithms import ALGORITHMS
    from augury.errors import InputError

    if not ALGORITHMS[algorithm].minds_costs:
        return [0]
    entries = _entries(costs)
    if not entries or not all(entry.isascii() and entry.isdigit() for entry in entries):
        raise InputError(f"--costs is {costs!r}, not a list of numbers such as 10,1000000")
    return [int(entry) for entry in entries]


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _read(path: Path) -> dict[Part, Runs]:
    from augury.errors import InputError
    from augury.experiments.records import read_records

    parts = read_records(path).parts
    if not parts:
        raise InputError(f"{path}: no part of this evaluation is finished yet")
    return parts


def _show(parts: dict[Part, Runs], as_json: bool, as_latex: bool, plot: Path | None) -> None:
    from json import dumps

    from augury.experiments.summary import HEAD, latex_table, lines_of, summarise, table_rows

    summaries = summarise(parts)
    if plot is not None:
        from augury.experiments.plots import plot_scales

        plot_scales(lines_of(summaries), [plot])
    if as_latex:
        print(latex_table(summaries))
    elif as_json:
        for told in summaries:
            print(dumps(told))
    else:
        print_table(HEAD, table_rows(summaries))


@contextmanager
def _progress() -> Generator[Callable[[float, str], None]]:
    """Yield a function that shows progress and the time left on a terminal."""
    if not sys.stderr.isatty():
        yield lambda share, doing: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from augury.errors import visible

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=1.0)
        yield lambda share, doing: shown.update(task, completed=share, description=visible(doing))
