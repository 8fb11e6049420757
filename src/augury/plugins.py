"""The user's own Python files become processors and models that every command knows.

A file given by `--import`, or listed in the variable AUGURY_IMPORT, is executed once, when an
unknown name is requested; so are the entry points that installed packages offer in the group
`augury.plugins`. It may add to the tables of this package, such as `PROCESSORS`. Child processes
inherit the variable. A checkpoint never names a file: the files that it needs must be given.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from augury.errors import InputError

VARIABLE = "AUGURY_IMPORT"
"""The environment variable that lists files, separated as in PATH."""

GROUP = "augury.plugins"
"""The entry points of installed packages."""


@cache
def imported(path: Path) -> ModuleType:
    """Execute a Python file, once for each process."""
    name = f"augury_own_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{path}: there is no such Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path}: {type(error).__name__}: {error}") from error
    return module


def import_all() -> None:
    """Execute the files that were given, and load what installed packages offer."""
    for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        imported(Path(name).resolve())
    _load_entry_points()


@cache
def _load_entry_points() -> None:
    from importlib.metadata import entry_points  # which imports all of `email`

    for entry in entry_points(group=GROUP):
        entry.load()


def own_model(text: str) -> Any:
    """Return the object named by a text such as "my.py:executor"; None for any other text.

    Raises:
        InputError: there is no such file, it fails, or it has no such name.
    """
    file, colon, name = text.rpartition(":")
    if not colon or not file.endswith(".py") or not name.isidentifier():
        return None
    found = getattr(imported(Path(file).resolve()), name, None)
    if found is None:
        raise InputError(f"{file}: there is no {name} in this file")
    return found
