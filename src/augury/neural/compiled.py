"""A function becomes machine code, by numba, and is cached on disk where possible.

numba refuses to compile where it cannot cache the result (a read-only installation and no home),
and fails if the cache is full or damaged. Here the result is then simply not cached, and the next
process compiles again. Importing this module needs numba.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from inspect import getfile
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: `numba.njit` with these options, cached on disk."""

    def compile_(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(**options)(function)
        with suppress(RuntimeError, OSError):  # there is nowhere to cache it
            dispatcher._cache = _Cache(function)  # as its `enable_caching` does
        return dispatcher

    return compile_


@cache
def _source_of(folder: Path) -> bytes:
    """Return a digest of the Python files in a folder."""
    files = sorted(folder.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).digest()


class _Cache(FunctionCache):
    """numba's own, except that a fault only means compiling again."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # numba compares the function's own file alone, but it may call functions of files beside.
        index: Any = self._cache_file
        index._source_stamp = index._source_stamp, _source_of(Path(getfile(function)).parent)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling a truncated file can raise anything
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)
