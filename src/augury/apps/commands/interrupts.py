"""Ctrl-C becomes `KeyboardInterrupt`, and one that is lost on its way is raised again.

Python runs the handler of a signal before its next instruction, wherever that is. After a long
computation it often is the callback of a weak reference or a destructor, for these are called when
the arrays of the computation are freed; what is raised there is only printed, and a command would
go on as if nothing had happened. A library may swallow an interrupt as well. So each one is
remembered until it has done its work: Python tells which of them it ignored, and commands ask after
each part of their work whether there is one that went unseen.
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
"""Seconds after which an interrupt that was lost is raised again: by then, somewhere else."""

_pressed: list[int] = []
"""The interrupts that have not done their work, as far as is known."""


class Interrupted(Exception):
    """Ctrl-C, with one sentence that says how to go on; the exit code is 130."""


@contextmanager
def interrupts_heeded() -> Generator[None]:
    """Lose no Ctrl-C in this block: at the latest it ends with one, though it would with success.

    Whoever has a handler of its own keeps it, as does a job in the background, which ignores them.
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
    except SystemExit as end:  # with which Typer ends every command
        if not end.code:
            raise_lost()
        raise
    finally:
        _pressed.clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = report


def raise_lost() -> None:
    """Raise `KeyboardInterrupt` if there was one, and whoever asks has not seen it."""
    if _pressed:
        _pressed.clear()
        raise KeyboardInterrupt


def forget() -> None:
    """Say that Ctrl-C did its work, though the command ends with success."""
    _pressed.clear()


def _press(number: int, frame: FrameType | None) -> None:
    _pressed.append(number)
    raise KeyboardInterrupt


def _again(lost: UnraisableHookArgs, report: Callable[[UnraisableHookArgs], object]) -> None:
    """Have an interrupt raised again that Python had to ignore; report anything else."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        # Not `threading`: its locks may be held where this is called.
        _thread.start_new_thread(_press_soon, ())
    else:
        report(lost)


def _press_soon() -> None:
    time.sleep(SOON)
    if _pressed:
        signal.raise_signal(signal.SIGINT)
