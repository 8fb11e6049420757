"""The command as the shell starts it, without a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from augury.apps import cli


class Done(NamedTuple):
    code: int
    out: str
    err: str


Augury = Callable[..., Done]


def runner(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *first: str
) -> Augury:
    """Return a function that runs main() with these and its own arguments."""

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["augury", *first, *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capfd.readouterr()
        code = end.value.code
        return Done(code if isinstance(code, int) else 0, out, err)

    return run
