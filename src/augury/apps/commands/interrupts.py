"""Ctrl-C becomes `KeyboardInterrupt`, and one that gets lost is raised again.

Python runs a signal's handler before its next instruction, wherever that is. After a long
computation that is often a destructor or the callback of a weak reference, called when the arrays
of the computation are freed; an exception raised there is only printed, and the command would go
on. A library may swallow an interrupt as well. So each one is remembered until it has taken effect:
Python reports those that it ignored, and commands check for lost ones after each part of their
work.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SOON = 0.01
"""Seconds until a lost interrupt is raised again, by then somewhere else."""

_pressed: list[int] = []
"""The interrupts that have not taken effect, as far as is known."""


class Interrupted(Exception):
    """Ctrl-C, with one sentence on how to continue; the exit code is 130."""


@contextmanager
def interrupts_heeded() -> Generator[None]:
    """Lose no Ctrl-C in this block: any is raised, at the latest on exit.

    An installed handler is kept, as is that of a background job, which ignores it.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    report = sys.unraisablehook
    _pressed.clear()
    sys.unraisablehook = lambda lost: _again(lost, report)
    signal.signal(signal.SIGINT, _press)
    try:
        yield
        raise_lost()
    except SystemExit as end:  # Typer ends every command with one
        if not end.code:
            raise_lost()
        raise
    finally:
        _pressed.clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = report


def raise_lost() -> None:
    """Raise `KeyboardInterrupt` if one was lost."""
    if _pressed:
        _pressed.clear()
        raise KeyboardInterrupt


def forget() -> None:
    """Declare that Ctrl-C has taken effect, though the command ends with success."""
    _pressed.clear()


def _press(number: int, frame: FrameType | None) -> None:
    _pressed.append(number)
    raise KeyboardInterrupt


def _again(lost: UnraisableHookArgs, report: Callable[[UnraisableHookArgs], object]) -> None:
    """Raise an interrupt again that Python had to ignore; report anything else."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        # Not by `threading`, whose locks may be held here.
        _thread.start_new_thread(_press_soon, ())
    else:
        report(lost)


def _press_soon() -> None:
    time.sleep(SOON)
    if _pressed:
        signal.raise_signal(signal.SIGINT)
