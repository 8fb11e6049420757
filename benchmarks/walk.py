"""Print the walk through the code from `augury solve` to the printed certificate.

    python benchmarks/walk.py [ARGUMENT ...]

Every function of the package in the order of its first call, a line for each change of file; then
how many functions and files there are, and how often the walk returns to a file already seen.
Lambdas, comprehensions, and the bodies of modules and classes are left out. Given arguments, it
walks through that command instead of `augury solve examples/jobs.csv`.
"""

from __future__ import annotations

import inspect
import sys
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType

import augury
from augury.apps.cli import main

PACKAGE = Path(augury.__file__).parent
EXAMPLE = Path(__file__).parents[1] / "examples" / "jobs.csv"


def walked(arguments: list[str]) -> list[CodeType]:
    """Run a command; return the functions of the package in the order of their first calls."""
    seen: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.setdefault(frame.f_code)

    sys.argv = ["augury", *arguments]
    sys.setprofile(note)
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
    return [code for code in seen if is_ours(code)]


def is_ours(code: CodeType) -> bool:
    """Tell whether this is a function of the package that has a name."""
    is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)  # which no class or module body is
    is_named = not code.co_name.startswith("<")
    return is_function and is_named and code.co_filename.startswith(f"{PACKAGE}/")


def print_walk(codes: list[CodeType]) -> None:
    """Print a line for each change of file, and the counts."""
    seen, returns = set[str](), 0
    for file, group in groupby(codes, key=lambda code: code.co_filename):
        print(f"{Path(file).relative_to(PACKAGE)}: {', '.join(code.co_qualname for code in group)}")
        returns += file in seen
        seen.add(file)
    print(f"\n{len(codes)} functions, {len(seen)} files, {returns} returns to a file already seen")


if __name__ == "__main__":
    print_walk(walked(sys.argv[1:] or ["solve", str(EXAMPLE)]))
