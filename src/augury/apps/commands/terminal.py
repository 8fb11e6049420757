"""What the commands share: printed text and tables, and the choice of a device."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def say(*parts: str | tuple[str, str]) -> None:
    """Print pieces of text, some with a style: in colour on a terminal, plain into a pipe.

    Control characters, as in a label or a file name, are shown rather than obeyed.
    """
    from augury.errors import visible

    styled = [(part, "") if isinstance(part, str) else part for part in parts]
    styled = [(visible(text), style) for text, style in styled]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        Console(highlight=False, soft_wrap=True).print(Text.assemble(*styled))
    else:
        print("".join(text for text, _ in styled))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns: a Rich table on a terminal, plain text into a pipe."""
    from augury.errors import visible

    rows = [[visible(cell) for cell in row] for row in rows]
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

    Args:
        read: the files that the command reads; `-` is standard input.
        written: the files of each option that names some.

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

    if text == "cpu":
        from augury.processes import use_one_thread

        use_one_thread()  # the work comes in pieces too small for threads
        return text
    if not re.fullmatch(r"auto|cuda(:\d+)?", text):
        raise InputError(f"the device is {text!r}, but must be cpu, cuda or auto")
    import torch

    if text == "auto":
        return "cuda" if torch.cuda.is_available() else chosen_device("cpu")
    if int(text.partition(":")[2] or 0) >= torch.cuda.device_count():
        raise InputError(
            f"there is no device {text} on this machine; --device cpu works everywhere"
        )
    return text
