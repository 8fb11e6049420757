"""Files are written whole or not at all, and whatever goes wrong becomes one sentence."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from augury.errors import InputError, visible


class LineError(InputError):
    """An InputError with a line number; `named` turns it into a plain one."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


@contextmanager
def named(path: str | Path) -> Generator[None]:
    """Prefix every error with the file's name and, if known, the line."""
    name = "standard input" if str(path) == "-" else str(path)
    try:
        yield
    except InputError as error:
        where = f"{name}, line {error.line}" if isinstance(error, LineError) else name
        raise InputError(f"{where}: {error}") from None
    except BrokenPipeError:  # the reader of our output went away
        raise
    except OSError as error:
        raise InputError(f"{name}: {os_fault(error)}") from None
    except MemoryError:
        raise InputError(f"{name}: this does not fit in memory") from None


def os_fault(error: OSError) -> str:
    """Say in plain words what the system reported."""
    words: dict[type[OSError], str] = {
        FileNotFoundError: "there is no such file or folder",
        IsADirectoryError: "this is a folder, not a file",
        FileExistsError: "this is a file, not a folder",  # where a folder should be made
        PermissionError: "permission denied",
    }
    return words.get(type(error)) or (error.strerror or str(error)).lower()


@contextmanager
def atomic_file(path: str | Path) -> Generator[IO[bytes]]:
    """Open a file for writing; it gets its name only once it is complete."""
    target = Path(os.path.realpath(path))
    number = _descriptor(path)
    if number is not None:
        sys.stdout.flush()  # keep what was printed earlier in front
        with os.fdopen(os.dup(number), "wb") as file:
            yield file
        return
    if target.is_dir():
        raise IsADirectoryError
    if os.path.exists(path) and not os.path.isfile(path):
        # A pipe or a device cannot be replaced.
        with Path(path).open("wb") as file:
            yield file
        return
    # Not tempfile, whose files only their owner may read.
    temporary = target.with_name(f".augury-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _descriptor(path: str | Path) -> int | None:
    """Return the descriptor of this process that the path names, as /dev/stdout and >(…) do.

    Such a file is written in place: it may be a pipe, or already hold what the shell or this
    process has written, which replacing it would lose.
    """
    name = os.path.abspath(path)
    for _ in range(40):  # as many links as the system follows
        folder, last = os.path.realpath(os.path.dirname(name)), os.path.basename(name)
        if folder == f"/proc/{os.getpid()}/fd" and last.isdecimal():
            return int(last)
        if not os.path.islink(name):
            return None
        name = os.path.join(folder, os.readlink(name))
    return None


@contextmanager
def locked(path: Path, what: Path) -> Generator[None]:
    """Hold the lock file `path` while this process changes `what`.

    The system releases the lock when the process ends, however it ends, so no lock is ever stale,
    though a killed process leaves the empty file. Where there are no such locks (Windows), nothing
    is locked.

    Raises:
        InputError: another process holds the lock, or the file cannot be made.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with named(what):
        file = path.open("ab")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # If the last holder has deleted the file since, this lock is worthless.
            is_ours = os.path.samestat(os.fstat(file.fileno()), path.stat())
        except (BlockingIOError, FileNotFoundError):
            is_ours = False
        if not is_ours:
            raise InputError(f"{what}: another process is at work here")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write text to a file, all of it or nothing; `-` is standard output.

    What goes to a terminal is made `visible`; everything else is written unchanged.
    """
    if str(path) == "-":
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
        return
    with named(path), atomic_file(path) as file:
        text = visible(text) if file.isatty() else text
        # Half a character, such as JSON's \ud800, has no UTF-8: it is escaped.
        file.write(text.encode(errors="backslashreplace"))
