"""A function becomes machine code, by numba, and is kept on disk where that can be done.

numba refuses to compile where there is no place to keep the result (a read-only installation and no
home), and stops where that place is full or damaged. Here the result is then simply not kept: the
next process compiles again. Importing this module needs numba.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: `numba.njit` with these options, kept on disk."""

    def compile_(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(**options)(function)
        with suppress(RuntimeError, OSError):  # numba's words for "no place"
            dispatcher._cache = _Cache(function)  # as its `enable_caching` does
        return dispatcher

    return compile_


class _Cache(FunctionCache):
    """numba's own, of which no fault is worth more than compiling again."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a file cut short can raise anything when it is unpacked
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)
