"""Files and options become calls of the package; answers become text, and errors one sentence.

Exit codes: 0 done, 1 proven that there is no answer, 2 bad input or usage, 3 some of several files
failed, 130 interrupted. Everything heavy is imported inside the commands, and only the command
that is called is built, so that `augury --help` answers at once.
"""

from __future__ import annotations

import atexit
import inspect
import io
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, partial
from types import ModuleType
from typing import Annotated, Any, get_type_hints

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from augury import __version__
from augury.apps.commands import (
    bench,
    certify,
    evaluate,
    exam,
    explore,
    generate,
    reproduce,
    solve,
    train,
    verify,
)
from augury.apps.commands.terminal import Interrupted, compiling_told, interrupts_heeded

STDOUT = 1
"""The file descriptor of standard output."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells: 128 + SIGINT."""


COMMANDS: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        solve, certify, generate, train, evaluate, reproduce, verify, bench, exam, explore,
    )
}  # fmt: skip
"""Each command is a function in a module of the same name."""


WITH_NETWORKS = frozenset({"solve", "train", "evaluate", "reproduce", "verify", "explore"})
"""The commands that may load a user's own network."""


def _without_pydantic(params: Any) -> Any:
    """Let parameters take text, and missing values, as they are.

    Typer would have Pydantic check that too, and importing Pydantic takes 0.1 seconds.
    """
    for parameter in params:
        parameter.process_value = partial(_processed, parameter)
    return params


def _processed(parameter: Any, ctx: Any, value: Any) -> Any:
    """Return the value of a parameter, checked by Typer if need be."""
    is_absent = value in (None, parameter.default) and not parameter.required
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if value and not parameter.callback and kind in (str, list[str]):
        return kind(value)
    if not is_absent:
        return type(parameter).process_value(parameter, ctx, value)
    return parameter.callback(ctx, parameter, value) if parameter.callback else value


class Command(TyperCommand):
    """One command."""

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters, --help too."""
        return _without_pydantic(super().get_params(ctx))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, each on a line of its own."""
        text = (self.epilog or "").replace("Examples:  ", "\b\nExamples:  ")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text.replace("  ·  ", f"\n{' ' * 11}"))


class Commands(TyperGroup):
    """The commands; their usage errors hold nothing that a terminal would obey."""

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters, --help too."""
        return _without_pydantic(super().get_params(ctx))

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        # A listing needs no options, and making those takes longer than all the rest.
        for name, module in COMMANDS.items():
            summary = getattr(module, name).__doc__.partition("\n\n")[0]
            self.add_command(TyperCommand(name, short_help=summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called, and build it."""
        if args[0] not in COMMANDS and os.path.exists(args[0]):
            ctx.fail(f"{args[0]!r} is a file, not a command; try: augury solve {args[0]}")
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and command(str(name)), rest

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Read the options that come before the command."""
        with _usage_visible():
            return super().make_context(*given, **named)

    def invoke(self, ctx: Any) -> Any:
        """Read the command and its options, and run it."""
        with _usage_visible():
            return super().invoke(ctx)


@contextmanager
def _usage_visible() -> Generator[None]:
    from augury.errors import visible

    try:
        yield
    except Exception as error:
        # Only usage errors have a message: Click's, of which Typer may have its own copy.
        message: Any = getattr(error, "message", None)
        if isinstance(message, str):
            error.message = visible(message)  # type: ignore[attr-defined]
        raise


SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,  # Rich takes as long to import as everything else here
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(name="augury", cls=Commands, no_args_is_help=True, **SETTINGS)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"augury {__version__}")
        raise typer.Exit


@app.callback()
def _augury(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Assignments, maximum bipartite matchings and integer flows, each with a certificate.

    \b
    Try:  augury solve hours.csv  where its lines are: person,job,hours
          augury generate uniform --n 8 --output graph.csv
          augury solve graph.csv
    """  # noqa: D301  # \b keeps the lines below it as they are


IMPORT = typer.Option(
    "--import", metavar="FILE", help="A Python file with processors of your own; repeatable."
)


def _importing(run: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option --import."""

    def with_import(*, imported: list[str] | None, **given: Any) -> None:
        from augury.plugins import VARIABLE

        for path in imported or ():
            if not os.path.isfile(path):
                from augury.errors import InputError

                raise InputError(f"--import {path}: there is no such Python file")
        if imported:  # child processes look there too
            known = filter(None, [os.environ.get(VARIABLE)])
            os.environ[VARIABLE] = os.pathsep.join([*known, *map(os.path.abspath, imported)])
        run(**given)

    hints = get_type_hints(run, include_extras=True) | {
        "imported": Annotated[list[str] | None, IMPORT]
    }
    own = [
        part.replace(annotation=hints[name])
        for name, part in inspect.signature(run).parameters.items()
    ]
    own.append(
        inspect.Parameter(
            "imported", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hints["imported"]
        )
    )
    with_import.__doc__, with_import.__annotations__ = run.__doc__, hints
    with_import.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return with_import


@cache
def command(name: str) -> Any:
    """Build a command, with all its options."""
    module = COMMANDS[name]
    epilog = getattr(module, "EXAMPLES", None) or module.epilog()
    alone = typer.Typer(**SETTINGS)
    run = getattr(module, name)
    run = _importing(run) if name in WITH_NETWORKS else run
    alone.command(name, cls=Command, epilog=epilog)(run)
    return typer.main.get_command(alone)


def script() -> None:
    """Run the command in a process of its own.

    Ctrl-C in a terminal hits Ray's processes too, and then Ray's destructors in C++ sometimes end
    this one with a segmentation fault. So what Python cleans up at exit is done, and they are not
    run.
    """
    try:
        main()
    except SystemExit as end:
        if end.code != INTERRUPTED or "ray" not in sys.modules:
            raise
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)


def main() -> None:
    """Run the command; bad input becomes one sentence on standard error and exit code 2."""
    from augury.errors import ConfigError, InputError, visible

    if isinstance(sys.stdout, io.TextIOWrapper):
        # A label that the terminal's encoding lacks is shown as its number, not as a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with interrupts_heeded():
            try:
                with compiling_told():
                    app()
            finally:
                sys.stdout.flush()
    except (InputError, ConfigError) as error:
        print(f"augury: {visible(str(error))}", file=sys.stderr)
        sys.exit(2)
    except (Interrupted, KeyboardInterrupt) as stop:  # or where Typer does not handle it
        print(f"augury: {visible(str(stop)) or 'interrupted'}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _close_quietly()
    except (MemoryError, RuntimeError, ImportError, OSError) as error:
        sentence = _refusal(error)
        if sentence is None:
            raise
        print(f"augury: {visible(sentence)}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as end:
        # Typer turns both of these into an exit code, and says nothing.
        if isinstance(end.__context__, BrokenPipeError):
            _close_quietly()
        if end.code == INTERRUPTED:
            print("augury: interrupted", file=sys.stderr)
        raise


def _refusal(error: Exception) -> str | None:
    """Say what is missing: memory, a package, a folder, disk space; None for anything else."""
    from augury.errors import NO_MEMORY, is_out_of_memory
    from augury.extras import missing
    from augury.files import os_fault

    if is_out_of_memory(error):
        return NO_MEMORY
    if isinstance(error, ModuleNotFoundError):
        fault = missing("this command", error.name or "")
        return fault and str(fault)
    if not isinstance(error, OSError):
        return None
    return f"{error.filename}: {os_fault(error)}" if error.filename else os_fault(error)


def _close_quietly() -> None:
    """Exit: the reader went away, and unread output must not become an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
    sys.exit(0)


if __name__ == "__main__":
    script()
