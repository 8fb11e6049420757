"""What the commands share: text and tables for people, and the choice of a device."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path


def say(*parts: str | tuple[str, str]) -> None:
    """Print pieces of text, some with a style: in colour on a terminal, plainly into a pipe."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        Console(highlight=False, soft_wrap=True).print(Text.assemble(*parts))
    else:
        print("".join(part if isinstance(part, str) else part[0] for part in parts))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns: a Rich table on a terminal, plain text into a pipe."""
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
    """Check before the work, not after it, that there is a place for what will be written.

    Raises:
        InputError: the folder that a file is to lie in does not exist.
    """
    from augury.classical.graph import InputError

    for path in paths:
        if path is not None and not os.path.isdir(path.parent):  # unlike Path's, never raises
            raise InputError(f"{path.parent}: there is no such folder")


def chosen_device(text: str) -> str:
    """Return the device that --device names; `auto` is a GPU where there is one.

    Raises:
        InputError: there is no such device here.
    """
    from augury.classical.graph import InputError

    if text == "cpu":
        from augury.experiments.workers import use_one_thread

        use_one_thread()  # the work comes in small pieces, and threads would wait
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
