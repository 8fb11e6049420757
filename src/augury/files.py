"""Files are read as untrusted, written whole or not at all, and faults become one sentence.

A path, a pipe or gzip data becomes a file to read: unpacked, seekable, and finite. Endless
devices and pipes, decompression bombs, and gzip files of nearly empty members are refused.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from augury.errors import InputError, visible

SPOOL_BYTES = 2**24
"""An unpacked or piped file is kept in memory up to this size, and on disk beyond it."""

MOST_PIPED = 2**32
"""Most bytes read from a pipe, which may never end; anything larger must come from a file."""

FREE_TEXT = 2**24
"""A few packed bytes can unpack to any number. This many bytes of text are allowed …"""
FREE_ARRAYS = 2**28
"""… or of arrays, since a nearly empty dense matrix compresses a thousandfold …"""
BYTES_PER_BYTE = 100
"""… and this many more for each packed byte."""

FREE_MEMBERS = 1000
"""A gzip file may consist of many members: this many are allowed …"""
BYTES_PER_MEMBER = 200
"""… and one more for every this many packed bytes; an empty member takes 20."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GZIP_START = b"\x1f\x8b"
GZIP_WINDOW = 31
"""Tells zlib to expect a gzip header and to verify each member's checksum."""


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
def open_input(path: str | Path) -> Generator[IO[bytes]]:
    """Open a file or standard input for reading; the result is always unpacked and seekable.

    Raises:
        InputError: it is a device, or it unpacks to an implausible size.
    """
    with _opened(path) as file, _spool() as piped, _spool() as unpacked:
        _refuse_device(file)
        if file is sys.stdin.buffer or not file.seekable():
            _keep(file, piped)
            file = piped
        file.seek(0)
        is_packed = file.read(2) == GZIP_START
        file.seek(0)
        if is_packed:
            _unpack(file, unpacked)
            file = unpacked
        yield file


@contextmanager
def _opened(path: str | Path) -> Generator[IO[bytes]]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115  # closed below
    except ValueError:
        raise InputError("no path holds a zero byte") from None
    with file:
        yield file


def _refuse_device(file: IO[bytes]) -> None:
    """Raise InputError for /dev/zero and the like; a terminal ends, and /dev/null is empty."""
    try:
        found = os.fstat(file.fileno())
    except (OSError, AttributeError):  # bytes in memory
        return
    is_device = stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)
    if is_device and not file.isatty() and not os.path.samestat(found, os.stat(os.devnull)):
        raise InputError("this is a device, and need not end; a graph comes from a file or a pipe")


def _spool() -> IO[bytes]:
    return cast("IO[bytes]", tempfile.SpooledTemporaryFile(SPOOL_BYTES))


def _keep(file: IO[bytes], target: IO[bytes]) -> None:
    """Copy a pipe, up to a limit; no format starts with a zero byte."""
    while piece := file.read(2**20):
        if target.tell() == 0 and piece.startswith(b"\0"):
            raise InputError("this is not a graph: it starts with a zero byte")
        if target.tell() + len(piece) > MOST_PIPED:
            most = f"{MOST_PIPED / 2**30:g} GiB"
            raise InputError(f"more than {most} came through the pipe; write them to a file first")
        target.write(piece)


def _unpack(file: IO[bytes], target: IO[bytes]) -> None:
    num_packed = file.seek(0, os.SEEK_END)
    file.seek(0)
    free = None
    try:
        for piece in _unpacked(file, FREE_MEMBERS + num_packed // BYTES_PER_MEMBER):
            if free is None:
                free = FREE_ARRAYS if piece.startswith((b"PK", b"\x93NUMPY")) else FREE_TEXT
            target.write(piece)
            refuse_bomb(target.tell(), num_packed, free)
    except (EOFError, zlib.error):
        raise InputError("the gzip data is damaged or cut short") from None
    target.seek(0)


def _unpacked(file: IO[bytes], most_members: int) -> Iterator[bytes]:
    """Yield the contents of all members; zeros between and after them are padding."""
    member, num_members, rest = None, 0, b""
    while packed := rest or file.read(2**16):
        if member is None:
            rest = b""
            if num_members and not (packed := packed.lstrip(b"\0")):
                continue
            num_members += 1
            if num_members > most_members:
                raise InputError(f"the gzip data has over {most_members} members: this is no graph")
            member = zlib.decompressobj(GZIP_WINDOW)
        if piece := member.decompress(packed, 2**20):
            yield piece
        rest = member.unconsumed_tail
        if member.eof:
            member, rest = None, member.unused_data
    if member is not None:
        raise EOFError


def refuse_bomb(num_bytes: int, num_packed: int, free: int) -> None:
    """Raise InputError if packed bytes unpack to so many that it can only be an attack."""
    most = free + BYTES_PER_BYTE * num_packed
    if num_bytes > most:
        raise InputError(f"{num_packed} packed bytes unpack to more than {most}: this is no graph")


@contextmanager
def atomic_file(path: str | Path) -> Generator[IO[bytes]]:
    """Open a file for writing; it gets its name only once it is complete."""
    target = Path(os.path.realpath(path))
    number = _descriptor(path)
    if number is not None:
        sys.stdout.flush()  # so that earlier output comes first
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
    # Not tempfile: only their owner may read its files.
    temporary = target.with_name(f".augury-{os.urandom(8).hex()}.tmp")
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

    Such a file is written in place: it may be a pipe, or already hold output of the shell or
    this process, which replacing it would lose.
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
    though a killed process leaves the empty file behind. Where there are no such locks (Windows),
    nothing is locked.

    Raises:
        InputError: another process holds the lock, or the file cannot be created.
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

    Text for a terminal is made `visible`; everything else is written unchanged.
    """
    if str(path) == "-":
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
        return
    with named(path), atomic_file(path) as file:
        text = visible(text) if file.isatty() else text
        # A lone surrogate, such as JSON's \ud800, has no UTF-8 encoding: it is escaped.
        file.write(text.encode(errors="backslashreplace"))
