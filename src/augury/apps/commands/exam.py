"""Judges and solvers become one page: who is right, wrong, too slow, or refuses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augury.apps.commands.terminal import (
    Interrupted,
    Seed,
    print_table,
    progress_shown,
    raise_lost,
    say,
)

if TYPE_CHECKING:
    from augury.experiments.exam import Result
    from augury.experiments.reproduce import Status

EXAMPLES = (
    "Examples:  augury exam --quick  ·  augury exam --out runs/exam --workers 4  ·  "
    "augury exam --judge flows-all --solver table --solver OR-Tools  ·  "
    "augury exam --question hard-flows/3 --out graph.max"
)

FOLDER = Path("runs/exam")
WRONG_ANSWER = 3
"""Exit code if an engine of the verified network got something wrong."""
QUICK_SECONDS, SECONDS = 2.0, 5.0


def exam(  # noqa: PLR0913  # one parameter for each option
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer and smaller questions; a minute on one core.")
    ] = False,
    judge: Annotated[
        list[str] | None, typer.Option(help="Ask these alone; repeatable.", show_default="all")
    ] = None,
    solver: Annotated[
        list[str] | None, typer.Option(help="Examine these alone; repeatable.", show_default="all")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="CPU seconds for a question, or for a block of small ones.",
            show_default=f"{SECONDS:g}, with --quick {QUICK_SECONDS:g}",
        ),
    ] = None,
    seed: Seed = 0,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that ask, side by side.", show_default="2"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output",
            help="The folder; with --question a file.",
            show_default="runs/exam",
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(metavar="JUDGE/NUMBER", help="Ask nobody; make this question again."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--from", help="Ask nobody; write the page of this record again."),
    ] = None,
) -> None:
    """Examine every engine, and SciPy, OR-Tools, igraph and NetworkX, and write one page.

    All bipartite graphs to 4 + 4 nodes, all flow networks to 4 nodes with capacities to 2, drawn
    and hard graphs, and the peers' own test suites. Every answer is proven, or compared with a
    proven one. It can be stopped at any time; the same command then asks only what is missing.
    """
    if question is not None:
        _make(question, out)
        return
    if record is not None:
        _write_page(record, out or FOLDER)
        return
    from augury.experiments.exam import SUITES, Exam
    from augury.experiments.exam_driver import default_workers, examine, failures
    from augury.experiments.exam_questions import JUDGES
    from augury.experiments.exam_solvers import SOLVERS

    folder = out or FOLDER
    limit = seconds if seconds is not None else QUICK_SECONDS if quick else SECONDS
    whole = Exam(
        quick,
        seed,
        limit,
        tuple(judge or (*JUDGES, *SUITES)),
        tuple(solver or SOLVERS),
    )
    try:
        with progress_shown() as show:

            def progress(status: Status) -> None:
                show(status)
                raise_lost()

            results = examine(whole, folder, workers or default_workers(), progress)
            raise_lost()
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; the same command goes on with {folder}") from None
    _print(results, whole.present)
    say(f"{folder}: exam.md, exam.jsonl")
    lost = failures(results)
    for name, who, loss in lost:
        say((f"{name}/{loss.number}, {who}: {loss.verdict}", "red"), f": {loss.why}")
    if lost:
        raise typer.Exit(WRONG_ANSWER)


def _make(question: str, out: Path | None) -> None:
    from augury.classical.formats import write_graph
    from augury.errors import InputError
    from augury.experiments.exam_questions import fingerprint
    from augury.experiments.exam_questions import question as make

    judge, slash, number = question.rpartition("/")
    if not slash or not number.isdecimal():
        raise InputError(f"--question is {question!r}, not JUDGE/NUMBER such as flows-all/17")
    graph = make(judge, int(number))
    say(f"{question}: {graph.words}, input {fingerprint([graph])}")
    if out is not None:
        write_graph(graph, out)


def _write_page(record: Path, folder: Path) -> None:
    from augury.experiments.exam import KIND, read_results
    from augury.experiments.exam_page import page
    from augury.experiments.records import read_rows, write_whole

    header, *rows = read_rows(record, KIND)
    write_whole(folder / "exam.md", page(header, read_results(rows)))
    say(f"{folder}: exam.md")


def _print(results: dict[tuple[Any, ...], Result], present: list[str]) -> None:
    """Print the sums of each solver."""
    from collections import Counter

    from augury.experiments.exam import VERDICTS

    rows = []
    for name in present:
        counts = sum((r.counts for key, r in results.items() if key[1] == name), Counter[str]())
        if counts:
            rows.append([name, *(f"{counts[verdict]:,}" for verdict in VERDICTS)])
    print_table(("solver", *VERDICTS), rows)
