"""What the commands share: options, reading a graph, printed text and tables, and Ctrl-C.

Ctrl-C becomes `KeyboardInterrupt`, and one that gets lost is raised again. Python runs a signal's
handler before its next instruction, wherever that is. After a long computation that is often a
destructor or the callback of a weak reference, called when the arrays of the computation are freed;
an exception raised there is only printed, and the command would go on. A library may swallow an
interrupt as well. So each one is remembered until it has taken effect: Python reports those that it
ignored, and commands check for lost ones after each part of their work.
"""

from __future__ import annotations

import _thread
import os
import re
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

    from augury.classical.certificate import Certificate
    from augury.classical.formats import ReadOptions
    from augury.classical.network import Graph
    from augury.experiments.reproduce import Status

Flow = Annotated[
    bool,
    typer.Option(
        "--flow",
        "--capacity",
        help="Read a flow network where the file could be either; numbers without a name are "
        "capacities.",
    ),
]
Cost = Annotated[
    bool,
    typer.Option(
        "--cost",
        help="Numbers without a name are costs: a third column, or the entries of a matrix.",
    ),
]
Maximise = Annotated[
    bool | None,
    typer.Option(
        "--maximise/--minimise",
        "--maximize/--minimize",
        help="Look for the greatest or the least sum of costs.",
        show_default="the least",
    ),
]
Supply = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="What each node has to get rid of, as CSV: node,amount, negative for a demand.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row of an edge list names the columns.",
        show_default="decided by looking",
    ),
]
LABEL = "Label of the {}, where the file does not say it."
Source = Annotated[str | None, typer.Option(help=LABEL.format("source"))]
Sink = Annotated[str | None, typer.Option(help=LABEL.format("sink"))]
IgnoreCosts = Annotated[
    bool,
    typer.Option(
        "--ignore-costs",
        help="Read the edges and leave out costs or weights.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]

LINE_SECONDS = 5.0
"""Seconds between lines of progress where there is no terminal."""

COMPILING = "augury: compiling loops once; later runs reuse them"

SOON = 0.01
"""Seconds until a lost interrupt is raised again, by then somewhere else."""

_pressed: list[int] = []
"""The interrupts that have not taken effect, as far as is known."""


def read_options(  # noqa: PLR0913  # one parameter for each option
    flow: bool,
    header: bool | None,
    source: str | None,
    sink: str | None,
    ignore_costs: bool,
    cost: bool,
    maximise: bool | None,
    supply: str | None,
    algorithm: str | None = None,
) -> ReadOptions:
    """Return what a command's options, and its algorithm if named, say about its files."""
    from augury.classical.formats import ReadOptions, read_supplies
    from augury.errors import InputError

    if ignore_costs and (cost or maximise is not None):
        other = "--cost" if cost else "--maximise" if maximise else "--minimise"
        raise InputError(f"--ignore-costs and {other} ask for two things; give one")
    options = ReadOptions(
        flow or supply is not None,
        header,
        source,
        sink,
        ignore_costs,
        costs=cost or None,
        maximise=maximise,
        supply=None if supply is None else read_supplies(supply),
    )
    return options if algorithm is None else _options_for(algorithm, options)


def _options_for(algorithm: str, options: ReadOptions) -> ReadOptions:
    """Adapt the options to what an algorithm takes."""
    from augury.algorithms import ALGORITHMS
    from augury.classical.graph import BipartiteGraph
    from augury.errors import InputError

    row = ALGORITHMS[algorithm]
    if options.costs and not row.minds_costs:
        raise InputError(f"--cost and --algorithm {row.name}, which would ignore costs: give one")
    return replace(
        options,
        flow=options.flow or BipartiteGraph not in row.takes,
        needs_sink="sink" in row.ends,
        costs=row.minds_costs,
    )


def read(file: str, options: ReadOptions) -> Graph:
    """Read a graph; refuse options that do not fit it."""
    from augury.classical.cost_network import CostNetwork
    from augury.classical.formats import read_graph
    from augury.classical.graph import BipartiteGraph
    from augury.errors import InputError

    with _reading_told(file):
        graph = read_graph(file, options)
    if options.supply is not None and not isinstance(graph, CostNetwork):
        raise InputError(f"{file}: --supply is for a list of arcs, and this is none")
    if options.maximise is not None and getattr(graph, "costs", None) is None:
        sense = "maximise" if options.maximise else "minimise"
        raise InputError(f"{file}: there are no costs to {sense}")
    for option, label in {"--source": options.source, "--sink": options.sink}.items():
        if label is not None and isinstance(graph, BipartiteGraph):
            raise InputError(
                f"{file}: a bipartite graph has no {option[2:]}, but {option} is {label}; "
                "--flow reads a flow network"
            )
    return graph


LARGE_FILE = 10_000_000
"""From this many bytes on, a terminal shows that a file is being read."""


@contextmanager
def _reading_told(file: str) -> Generator[None]:
    """Show on a terminal that a large file is being read."""
    is_large = os.path.isfile(file) and os.path.getsize(file) >= LARGE_FILE
    if not (is_large and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(f"reading {escape(file)}"):
        yield


def say_proof(certificate: Certificate) -> None:
    """Say that an answer is certified and why, or how far it falls short."""
    told, proof = certificate.verdict, certificate.proof
    if certificate.is_infeasible:
        say((told, "yellow"), f": {certificate.fault}")
    elif certificate.is_maximum and proof is not None:
        say((told, "green" if certificate.is_optimal else "yellow"), f": {proof.words}")
    else:
        say((f"legal, but {told}", "yellow"))
    if certificate.remark:
        say(certificate.remark)


def counted(number: int, noun: str) -> str:
    """Return "1 round" or "2 rounds"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def say(*parts: str | tuple[str, str]) -> None:
    """Print pieces of text, some with a style: in colour on a terminal, plain into a pipe.

    Control characters, as in a label or a file name, are shown rather than obeyed.
    """
    styled = [(part, "") if isinstance(part, str) else part for part in parts]
    styled = [(_shown(text), style) for text, style in styled]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        Console(highlight=False, soft_wrap=True).print(Text.assemble(*styled))
    else:
        print("".join(text for text, _ in styled))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns: a Rich table on a terminal, plain text into a pipe."""
    rows = [[_shown(" ".join(cell.splitlines())) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(*head, box=None, header_style="bold", pad_edge=False)
        for row in rows:
            table.add_row(*row)
        Console(highlight=False, markup=False).print(table)
        return
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        print("  ".join(map(str.ljust, row, widths)).rstrip())


def _shown(text: str) -> str:
    """Make visible what a terminal would obey; most text holds nothing of the kind."""
    if text.isprintable():
        return text
    from augury.errors import visible

    return visible(text)


def refuse_missing_folders(paths: Iterable[Path | None]) -> None:
    """Check before the work, not after it, that the output can be written.

    Raises:
        InputError: the folder of a file does not exist.
    """
    from augury.errors import InputError

    for path in paths:
        if path is not None and not os.path.isdir(path.parent):  # unlike Path's, never raises
            raise InputError(f"{path.parent}: there is no such folder")


def refuse_overwriting(read: Iterable[str], written: Mapping[str, Iterable[Path | None]]) -> None:
    """Check before the work that no output overwrites an input or another output.

    The command reads the files `read`, and `written` has the files of each option that names some.

    Raises:
        InputError: two names, or links, lead to the same file.
    """
    from augury.errors import InputError

    taken: dict[object, str] = {}
    for name in read:
        taken[_identity(name, 0)] = f"which is read: {name} would be overwritten"
    for option, paths in written.items():
        for path in paths:
            identity = None if path is None else _identity(path, 1)
            if identity in taken and identity is not None:
                raise InputError(f"{option} names {path}, {taken[identity]}")
            taken[identity] = f"and so does {option}: one would overwrite the other"


def _identity(path: str | Path, stream: int) -> object:
    """Return what two names of one file share; None for pipes and devices, which store nothing."""
    try:
        found = os.fstat(stream) if str(path) == "-" else os.stat(path)
    except (OSError, ValueError):  # no such file yet, or an impossible name
        return os.path.realpath(path) if "\0" not in str(path) else None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def chosen_device(text: str) -> str:
    """Return the device that --device names; `auto` is a GPU where there is one.

    Raises:
        InputError: there is no such device here.
    """
    from augury.errors import InputError
    from augury.extras import is_installed, needs

    if text == "cpu":
        from augury.processes import use_one_thread

        use_one_thread()  # the work comes in pieces too small for threads
        return text
    if not re.fullmatch(r"auto|cuda(:\d+)?", text):
        raise InputError(f"the device is {text!r}, but must be cpu, cuda or auto")
    if text == "auto" and not is_installed("torch"):
        return chosen_device("cpu")
    with needs(f"the device {text}"):
        import torch

    if text == "auto":
        return "cuda" if torch.cuda.is_available() else chosen_device("cpu")
    if int(text.partition(":")[2] or 0) >= torch.cuda.device_count():
        told = f"there is no device {text} on this machine"
        raise InputError(f"{told}; --device cpu works everywhere")
    return text


@contextmanager
def compiling_told() -> Generator[None]:
    """Say so, once, if something has to be compiled in this block: it takes seconds."""
    import logging

    class Once(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            print(COMPILING, file=sys.stderr, flush=True)
            logger.removeHandler(self)

    logger, handler = logging.getLogger("augury.compiled"), Once()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class Interrupted(Exception):
    """Ctrl-C, with one sentence on how to continue; the exit code is 130."""


@contextmanager
def interrupts_heeded() -> Generator[None]:
    """Lose no Ctrl-C in this block: any is raised, at the latest on exit.

    A handler already installed is kept, as is that of a background job, which ignores Ctrl-C.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    report = sys.unraisablehook
    _pressed.clear()
    sys.unraisablehook = lambda lost: _again(lost, report)
    signal.signal(signal.SIGINT, _press)
    try:
        yield
        raise_lost()
    except SystemExit as end:  # Typer ends every command with one
        if not end.code:
            raise_lost()
        raise
    finally:
        _pressed.clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = report


def raise_lost() -> None:
    """Raise `KeyboardInterrupt` if one was lost."""
    if _pressed:
        _pressed.clear()
        raise KeyboardInterrupt


def forget() -> None:
    """Declare that Ctrl-C has taken effect, though the command ends with success."""
    _pressed.clear()


def _press(number: int, frame: FrameType | None) -> None:
    _pressed.append(number)
    raise KeyboardInterrupt


def _again(lost: UnraisableHookArgs, report: Callable[[UnraisableHookArgs], object]) -> None:
    """Raise again an interrupt that Python had to ignore; report anything else."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        # Not with `threading`, whose locks may be held here.
        _thread.start_new_thread(_press_soon, ())
    else:
        report(lost)


def _press_soon() -> None:
    time.sleep(SOON)
    if _pressed:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def progress_shown() -> Generator[Callable[[Status], None]]:
    """Yield a function that shows progress: a bar on a terminal, lines into a pipe."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("starting", total=None, left="")
        yield lambda status: shown.update(
            task,
            description=status.text,
            completed=status.done,
            total=status.done + status.left,
            left=f"{status.done} done, {_left(status)}",
        )


def _lines() -> Callable[[Status], None]:
    last = -LINE_SECONDS

    def show(status: Status) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LINE_SECONDS or not status.left:
            last = now
            print(f"{status.done} done, {_left(status)}: {status.text}", flush=True)

    return show


def _left(status: Status) -> str:
    """Say how much is left, and about how long it will take."""
    seconds = status.seconds_left
    unit, size = ("h", 3600) if seconds >= 5400 else ("min", 60) if seconds >= 90 else ("s", 1)
    return f"{status.left} left, about {seconds / size:.0f} {unit}"
