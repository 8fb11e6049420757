"""The command line, run in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest
import typer.main

from augury.apps import cli
from augury.apps.commands.terminal import COMPILING

JOBS = "person,job\nann,cook\nbob,cook\nbob,sing\n"
PIPES = "p max 4 5\nn 1 s\nn 4 t\na 1 2 3\na 1 3 2\na 2 3 1\na 2 4 2\na 3 4 3\n"
"""A bipartite graph and a flow network, as files."""


class Done(NamedTuple):
    code: int
    out: str
    err: str


Augury = Callable[..., Done]

_built = cache(typer.main.get_command)
"""The command is put together once, not for every call."""


def runner(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *first: str
) -> Augury:
    """Return a function that runs main() with these and its own arguments.

    It does not tell that loops were compiled: that depends on what ran before.
    """

    monkeypatch.setattr(typer.main, "get_command", _built)

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["augury", *first, *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capfd.readouterr()
        code = end.value.code
        return Done(code if isinstance(code, int) else 0, out, err.replace(f"{COMPILING}\n", ""))

    return run
