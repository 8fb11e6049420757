"""Several files become answers: a bad one stops no other, and what is done is not done again.

A file is read, solved and, where there is a folder for the answers, written before much more is
read: small graphs are solved a few at a time. Each answer is written whole or not at all, and then
a line in the file `DONE` says what it answers: digests of the graph's file and of the answer, and
every option that affects it. While these stay the same, it stands. So a run that was stopped, or
in which files failed, is finished by the same command.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from augury.apps.commands import terminal
from augury.apps.commands.terminal import say

if TYPE_CHECKING:
    from augury.classical.formats import ReadOptions
    from augury.classical.network import Graph
    from augury.ray import Done, Plan
    from augury.solution import Solution
    from augury.tables import Settings

FAILED = 3
"""Exit code if some of several files failed."""

DONE = ".augury.jsonl"
"""The file in a folder of answers that says what each of them answers."""

MANY_ARCS = 2**16
MANY_FILES = 256
"""Once the graphs read have this many arcs, or files, they are solved side by side."""


COLUMNS = ("answer", "size", "cost", "rounds", "proof", "is_optimal", "has_answer")
"""What is kept of an answer: what the table shows, and what the exit code depends on."""


class Outcome(NamedTuple):
    """What became of one file."""

    file: str
    fault: str = ""
    """Why there is no answer."""
    row: Mapping[str, Any] = {}
    """The `COLUMNS` of an answer."""
    answer: Mapping[str, Any] | None = None
    """The whole answer; None if it was there already."""


class Work(NamedTuple):
    """What is done with each file."""

    read: Callable[[str], Graph]
    solve: Callable[[list[Graph]], list[Solution]]
    answer: Callable[[str, Solution], dict[str, Any]]
    """Turns a file and its solution into all that is written."""
    text: Callable[[Path, dict[str, Any]], str]
    """Formats an answer for the path that it goes to."""


class Answers:
    """A folder of answers, and what is known of each."""

    def __init__(self, folder: Path, paths: Mapping[str, Path], settings: str) -> None:
        """Make the folder if need be; `paths` maps each file to its answer."""
        from augury.files import named

        self.folder, self.paths, self.settings = folder, paths, settings
        with named(folder):
            folder.mkdir(exist_ok=True)
        self.done = folder / DONE
        self._lines = self._read()
        self._keys: dict[str, str] = {}

    def _read(self) -> dict[str, dict[str, Any]]:
        """Return the last line for each answer, ignoring lines that were cut short."""
        if not os.path.isfile(self.done):
            return {}
        found: dict[str, dict[str, Any]] = {}
        for line in self.done.read_bytes().splitlines():
            try:
                read = json.loads(line)
                row = {column: read["row"][column] for column in COLUMNS}
                found[read["answer"]] = {"key": read["key"], "digest": read["digest"], "row": row}
            except (ValueError, LookupError, TypeError, RecursionError):
                continue
        return found

    def find(self, file: str) -> Outcome | None:
        """Return what was found before, if file, options and answer are unchanged."""
        if not os.path.isfile(file):  # a pipe can be read only once
            return None
        path, key = self.paths[file], self._key(file)
        line = self._lines.get(path.name)
        if line is None or line["key"] != key or digest_of(path) != line["digest"]:
            return None
        return Outcome(file, row=line["row"])

    def _key(self, file: str) -> str:
        """Return a digest of everything that decides an answer."""
        told = json.dumps([file, self.settings, digest_of(file)])
        self._keys[file] = hashlib.sha256(told.encode()).hexdigest()
        return self._keys[file]

    def write(self, outcome: Outcome, text: str) -> None:
        """Write an answer, then the line that says what it answers."""
        from augury.files import named, write_text

        path = self.paths[outcome.file]
        write_text(path, text)
        if outcome.file not in self._keys:
            return
        line = {"answer": path.name, "key": self._keys[outcome.file], "digest": digest_of(path)}
        with named(self.done), self.done.open("a+b") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
            is_cut = file.read(1) not in (b"", b"\n")  # when its process was killed
            file.write(b"\n" * is_cut + json.dumps(line | {"row": outcome.row}).encode() + b"\n")


def digest_of(path: str | Path) -> str:
    """Return the digest of a file; "" if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""


def solve_each(
    names: Sequence[str], work: Work, answers: Answers | None, keeps: bool
) -> list[Outcome]:
    """Solve every file; say at once which failed; keep whole answers only if asked to."""
    from augury.errors import visible

    outcomes: list[Outcome] = []
    with _progress(len(names)) as show:
        for outcome in _outcomes(names, work, None if keeps else answers):
            terminal.raise_lost()  # before anything is written
            if outcome.fault:
                print(f"augury: {visible(outcome.fault)}", file=sys.stderr, flush=True)
            elif answers is not None and outcome.answer is not None:
                text = work.text(answers.paths[outcome.file], dict(outcome.answer))
                answers.write(outcome, text)
            outcomes.append(outcome if keeps else outcome._replace(answer=outcome.answer and {}))
            show(len(outcomes))
    return outcomes


def _outcomes(names: Sequence[str], work: Work, before: Answers | None) -> Iterator[Outcome]:
    """Yield what becomes of each file, in order, a few of them at a time."""
    from augury.errors import InputError

    some: list[tuple[str, Graph | Outcome]] = []
    arcs = 0
    for name in names:
        found = before and before.find(name)
        if found is None:
            try:
                found = work.read(name)
                arcs += found.num_arcs
            except InputError as error:
                found = Outcome(name, str(error))
        some.append((name, found))
        if arcs >= MANY_ARCS or len(some) >= MANY_FILES:
            yield from _solved(some, work)
            some, arcs = [], 0
    yield from _solved(some, work)


def _solved(some: list[tuple[str, Graph | Outcome]], work: Work) -> Iterator[Outcome]:
    """Solve the graphs that were read, side by side; if that fails, one by one."""
    from augury.errors import NO_MEMORY, InputError

    read = [(name, graph) for name, graph in some if not isinstance(graph, Outcome)]
    found: list[Solution | str] = []
    try:
        found += work.solve([graph for _, graph in read]) if read else []
    except (InputError, MemoryError):
        for name, graph in read:
            try:
                found += work.solve([graph])
            except (InputError, MemoryError) as error:
                why = NO_MEMORY if isinstance(error, MemoryError) else str(error)
                found.append(f"{name}: {why}")
    solutions = iter(found)
    for name, graph in some:
        if isinstance(graph, Outcome):
            yield graph
            continue
        solution = next(solutions)
        if isinstance(solution, str):
            yield Outcome(name, solution)
        else:
            yield Outcome(name, "", _row(solution), work.answer(name, solution))


@contextmanager
def _progress(total: int) -> Generator[Callable[[int], None]]:
    """Yield a function that shows on a terminal how many files are done."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"0 of {total:,} files") as status:
        yield lambda done: status.update(f"{done:,} of {total:,} files")


def _row(solution: Solution) -> dict[str, Any]:
    cost = None if solution.cost is None else str(solution.cost)
    shown = solution.noun, f"{solution.size:,}", cost, f"{solution.rounds:,}"
    proof = solution.certificate.verdict
    known = bool(solution.is_optimal), not solution.certificate.fault
    return dict(zip(COLUMNS, (*shown, proof, *known), strict=True))


def print_outcomes(outcomes: Sequence[Outcome], output: Path | None) -> None:
    """Print a line for each answer, and how many there are."""
    solved = [outcome for outcome in outcomes if not outcome.fault]
    has_costs = any(outcome.row["cost"] is not None for outcome in solved)
    head = ["file", "answer", "size", *["cost"] * has_costs, "rounds", "proof"]
    rows = [[x.file, *(x.row[column] or "" for column in head[1:])] for x in solved]
    if rows:
        terminal.print_table(head, rows)
        proven = sum(outcome.row["is_optimal"] for outcome in solved)
        best = "certified the best" if has_costs else "certified maximum"
        say((f"{proven:,} of {terminal.counted(len(solved), 'answer')} {best}", "bold"))
    if len(solved) < len(outcomes):
        say((f"{terminal.counted(len(outcomes) - len(solved), 'file')} failed", "yellow"))
    before = sum(outcome.answer is None for outcome in solved)
    if before:
        say(f"{terminal.counted(before, 'answer')} there already, and unchanged")
    if output is not None and rows:
        say(f"written to {output}")


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """Return 3 if a file failed, 1 if one is proven to have no answer, else 0."""
    if any(outcome.fault for outcome in outcomes):
        return FAILED
    return int(not all(outcome.row["has_answer"] for outcome in outcomes))


LINE_SECONDS = 10.0
"""Seconds between lines of progress where there is no terminal."""

OF_FILES = {"--flow": "flow", "--header": "header", "--source": "source", "--sink": "sink"}
"""Options about files with one graph; a table says the same in its columns."""


def solve_on_ray(
    sources: Sequence[str],
    place: tuple[Path | None, str, str, int | None],
    options: ReadOptions,
    settings: Settings,
) -> None:
    """Solve the graphs of files, folders and tables on a Ray cluster, and say what became of them.

    `place` is the folder of the answers, the ending of its files, the cluster, and its cores.
    """
    from augury.errors import InputError
    from augury.ray import solve_sources

    output, ending, address, slots = place
    if output is None:
        raise InputError("--ray writes a table of answers: give --output FOLDER")
    if slots is not None and address != "local":
        raise InputError("--workers is for --ray local; a cluster has its own")
    terminal.refuse_missing_folders([output])
    how: dict[str, Any] = {"options": options, "ending": ending, "slots": slots}
    try:
        with closing(solve_sources(sources, output, settings, address, **how)) as done:
            pieces = _watched(done, options)
    except KeyboardInterrupt:
        told = f"interrupted; the same command goes on with {output}"
        raise terminal.Interrupted(told) from None
    _print_pieces(pieces, output)
    if any(one.failed or one.fault for one in pieces):
        raise typer.Exit(FAILED)


def _watched(done: Iterator[Done | Plan], options: ReadOptions) -> list[Done]:
    """Return what became of each piece, showing progress on the way."""
    from augury.errors import visible
    from augury.ray import Plan

    found: list[Done] = []
    total = rows = 0
    with _ray_progress() as show:
        for one in done:
            terminal.raise_lost()
            if isinstance(one, Plan):
                total = len(one.pieces)
                _refuse_for_tables(options, {piece.read for piece in one.pieces})
                continue
            found.append(one)
            rows += one.rows
            if one.fault:
                print(f"augury: {visible(one.fault)}", file=sys.stderr, flush=True)
            show(len(found), total, rows)
    return found


def _print_pieces(pieces: Sequence[Done], output: Path) -> None:
    failed = sum(one.failed for one in pieces)
    rows = sum(one.rows for one in pieces)
    say((f"{terminal.counted(rows - failed, 'graph')} solved", "bold"))
    if failed:
        say((f"{terminal.counted(failed, 'row')} failed: see the column error", "yellow"))
    if faults := sum(bool(one.fault) for one in pieces):
        say((f"{terminal.counted(faults, 'piece')} failed", "yellow"))
    if before := sum(one.rows for one in pieces if not one.is_new):
        say(f"{terminal.counted(before, 'answer')} there already, and unchanged")
    say(f"written to {output}")


def _refuse_for_tables(options: ReadOptions, kinds: set[str]) -> None:
    """Raise an InputError if an option would change nothing, since all graphs are in tables."""
    from augury.errors import InputError

    for option, field in OF_FILES.items():
        if getattr(options, field) not in (None, False) and "files" not in kinds:
            raise InputError(
                f"{option} is for files with one graph; a table says it in its columns"
            )


@contextmanager
def _ray_progress() -> Generator[Callable[[int, int, int], None]]:
    """Yield a function that shows how many pieces and rows are done."""
    if not sys.stderr.isatty():
        last = time.monotonic()

        def line(pieces: int, total: int, rows: int) -> None:
            nonlocal last
            if time.monotonic() - last >= LINE_SECONDS:
                last = time.monotonic()
                told = f"{pieces:,} of {total:,} pieces, {rows:,} graphs"
                print(f"augury: {told}", file=sys.stderr, flush=True)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("starting Ray", total=None)
        yield lambda pieces, total, rows: shown.update(
            task, description=f"{rows:,} graphs", completed=pieces, total=total
        )
