"""A function becomes machine code, by numba, and is cached on disk where possible.

numba refuses to compile where it cannot cache the result (a read-only installation and no home),
and fails if the cache is full or damaged. Here the result is simply not cached, and the next
process compiles again. Processes that need the same function at the same time compile it once: the
others wait. Each compilation is logged, since it takes seconds; by default the log is not shown.
Importing this module needs numba.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from inspect import getfile
from pathlib import Path
from typing import Any, BinaryIO

import numba
from numba.core.caching import FunctionCache

LOGGER = logging.getLogger(__name__)


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: `numba.njit` with these options, cached on disk."""

    def compile_(function: Callable[..., Any]) -> Any:
        # They are never called from C: without that entry they compile a little faster.
        jit: Any = numba.njit
        dispatcher = jit(no_cfunc_wrapper=True, **options)(function)
        with suppress(RuntimeError, OSError):  # there is nowhere to cache it
            dispatcher._cache = _Cache(function)  # as its `enable_caching` does
        return dispatcher

    return compile_


@cache
def _source_of(folder: Path) -> bytes:
    """Return a digest of the Python files in a folder."""
    files = sorted(folder.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).digest()


WAIT_SECONDS = 60.0
"""Time for another process to compile a function; after that, this one compiles it too."""


class _Turn:
    """Lets one process at a time compile the functions of a file.

    The file itself is locked, so nothing is left behind, and the lock ends with its process. Where
    there are no such locks, processes compile side by side.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self.depth = 0
        """Compiling a function compiles those that it calls."""
        self.file: BinaryIO | None = None

    def take(self) -> None:
        self.depth += 1
        if self.depth > 1:
            return
        with suppress(ImportError, OSError):
            import fcntl

            self.file = self.source.open("rb")
            end = time.monotonic() + WAIT_SECONDS
            while time.monotonic() < end:
                with suppress(BlockingIOError):
                    return fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                time.sleep(0.05)

    def give(self) -> None:
        self.depth -= 1
        if self.depth == 0 and self.file is not None:
            self.file.close()
            self.file = None


_turn_of = cache(_Turn)


class _Cache(FunctionCache):
    """numba's own cache, but a fault only means compiling again, and processes take turns."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.function = f"{function.__module__}.{function.__qualname__}"
        self.turn = _turn_of(Path(getfile(function)))
        # numba checks only the function's own file, but that may call functions in other files.
        index: Any = self._cache_file
        index._source_stamp = index._source_stamp, _source_of(Path(getfile(function)).parent)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._loaded(sig, target_context)
        if found is None:
            self.turn.take()
            found = self._loaded(sig, target_context)  # compiled in the meantime
            if found is not None:
                self.turn.give()
            else:
                LOGGER.info("compiling %s", self.function)
        return found  # if None, it is compiled and then saved

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling a truncated file can raise anything
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)
        self.turn.give()
