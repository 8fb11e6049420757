"""Code blocks of the documents, and how to run them."""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import typer.main

from augury.apps import cli

ROOT = Path(__file__).parents[1]


def blocks(path: Path, language: str) -> list[tuple[int, str]]:
    """Return the code blocks of a language, each with its first line number."""
    pattern = re.compile(rf"^```{language}$\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    text = path.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, found.start(1)), found.group(1)) for found in pattern.finditer(text)
    ]


def run_python(path: Path, **replaced: str) -> dict[str, Any]:
    """Execute the Python blocks of a document in order, in one namespace.

    Args:
        path: the document.
        replaced: arguments of its calls, each with another value: `num_graphs="9"`.
    """
    space: dict[str, Any] = {"__name__": "document"}
    for first, code in blocks(path, "python"):
        for name, value in replaced.items():
            code = re.sub(rf"\b{name}=\d+", f"{name}={value}", code)
        # The empty lines make a traceback name the line of the document.
        exec(compile("\n" * first + code, str(path), "exec"), space)
    return space


def run_and_tell(path: Path) -> list[tuple[str, str]]:
    """Execute the Python blocks; return what each prints, beside the text block right after it."""
    pattern = re.compile(
        r"^```python$\n(.*?)^```$(?:\n\n^```text$\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
    )
    text = path.read_text(encoding="utf-8")
    space: dict[str, Any] = {"__name__": "document"}
    told: list[tuple[str, str]] = []
    for found in pattern.finditer(text):
        code = "\n" * text.count("\n", 0, found.start(1)) + found.group(1)
        with redirect_stdout(StringIO()) as out:
            exec(compile(code, str(path), "exec"), space)
        told.append((out.getvalue(), found.group(2) or ""))
    return told


def commands(path: Path) -> list[tuple[str, ...]]:
    """Return the shell commands of a document, each as its words."""
    lines = [line for _, block in blocks(path, "bash") for line in block.splitlines()]
    return [tuple(shlex.split(line, comments=True)) for line in lines]


@cache
def command() -> Any:
    """Return our command with all its subcommands."""
    return typer.main.get_command(cli.app)


def parse(words: tuple[str, ...]) -> None:
    """Parse every option and value of a command of ours; run nothing."""
    group = command()
    context = group.make_context("augury", list(words[1:]))
    name, subcommand, rest = group.resolve_command(context, list(words[1:]))
    subcommand.make_context(name, rest, parent=context)
