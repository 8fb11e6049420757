"""Files are written whole or not at all, and whatever is wrong with one is one sentence."""

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
    """An InputError that knows its line; `named` turns it into a plain one."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


@contextmanager
def named(path: str | Path) -> Generator[None]:
    """Put the file's name, and the line where one is known, in front of every complaint."""
    name = "standard input" if str(path) == "-" else str(path)
    try:
        yield
    except InputError as error:
        where = f"{name}, line {error.line}" if isinstance(error, LineError) else name
        raise InputError(f"{where}: {error}") from None
    except BrokenPipeError:  # the reader of what is written went away, which is no fault of ours
        raise
    except OSError as error:
        raise InputError(f"{name}: {os_fault(error)}") from None
    except MemoryError:
        raise InputError(f"{name}: this does not fit in memory") from None


def os_fault(error: OSError) -> str:
    """Say in plain words what the system refused."""
    words: dict[type[OSError], str] = {
        FileNotFoundError: "there is no such file or folder",
        IsADirectoryError: "this is a folder, not a file",
        FileExistsError: "this is a file, not a folder",  # found where a folder is to be made
        PermissionError: "permission denied",
    }
    return words.get(type(error)) or (error.strerror or str(error)).lower()


@contextmanager
def atomic_file(path: str | Path) -> Generator[IO[bytes]]:
    """Open a file for writing that takes its name only once all of it is written."""
    target = Path(os.path.realpath(path))
    number = _descriptor(path)
    if number is not None:
        sys.stdout.flush()  # what was printed before comes before
        with os.fdopen(os.dup(number), "wb") as file:
            yield file
        return
    if target.is_dir():
        raise IsADirectoryError
    if os.path.exists(path) and not os.path.isfile(path):
        # A pipe or a device has no name to take over.
        with Path(path).open("wb") as file:
            yield file
        return
    # Not from tempfile, whose files only their owner may read.
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
    """Return which of this process's open files the path names, as /dev/stdout and >(…) do.

    Such a file is written where it stands: it may be a pipe, or already hold what the shell or
    this process has written, and to put another in its place would lose that.
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
    """Hold the lock file `path` while this process changes `what`, which no other may meanwhile.

    The system lets go of the lock when the process ends, however it ends, so none is ever stale,
    though a killed process leaves the empty file. Where the system has no such locks (Windows),
    nothing is locked.

    Raises:
        InputError: another process holds it, or there is no place for the file.
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
            # Whoever held it before takes the file away: then this lock is of no use.
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

    What goes to a terminal is made `visible`; everything else is written as it is.
    """
    if str(path) == "-":
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
        return
    with named(path), atomic_file(path) as file:
        text = visible(text) if file.isatty() else text
        # Half a character from JSON's \ud800 has no UTF-8; it is shown, not lost.
        file.write(text.encode(errors="backslashreplace"))
