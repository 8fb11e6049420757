"""Sources become pieces, and a piece the answers to its graphs, a few rows at a time.

A piece is some row groups of a Parquet file, some bytes of a file of JSON lines, or some files with
one graph each. It depends on nothing but its source.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from augury.classical.formats import WRITERS, ReadOptions, ending_of
from augury.errors import InputError
from augury.extras import needs
from augury.files import named
from augury.tables import Settings, answers
from augury.tables.columns import FORMS, repeated
from augury.tables.rows import answers_of_files, files_schema

if TYPE_CHECKING:
    import pyarrow as pa

PIECE_ROWS = 2**20
PIECE_BYTES = 2**26
PIECE_FILES = 2**8
"""A piece has at most this many rows and bytes, or files; but at least one row group."""
LARGE = 2**40
"""From this many bytes of sources on, pieces grow with them: one process hands out all pieces."""


ROWS_AT_ONCE, BYTES_AT_ONCE = 2**16, 2**24
"""Rows of a table, and bytes of JSON lines, that are read together."""


class Piece(NamedTuple):
    """What a task solves: some files, or some row groups or bytes of one."""

    name: str
    """The name of the file with the answers, without its ending."""
    read: str
    """A name in `READERS`."""
    files: Sequence[str]
    first: int = 0
    last: int = 0
    row: int = 0
    """The number of its first row."""


def pieces_of(sources: Sequence[str], settings: Settings) -> list[Piece]:
    """Cut sources into pieces: Parquet files, JSON lines, files with a graph, folders of these.

    Raises:
        InputError: a source cannot be read, holds no graphs, or a folder is empty.
    """
    files = [file for source in sources for file in _files_in(source)]
    growth = 1 + sum(map(os.path.getsize, files)) // LARGE
    pieces: list[Piece] = []
    graphs: list[str] = []
    for number, file in enumerate(files):
        ending = os.path.splitext(file)[1].lower()
        if ending not in CUTTERS:
            graphs.append(file)
            continue
        with named(file), _arrow_told():
            own = list(CUTTERS[ending](file, settings, growth))
        stem = f"{number:05}-{os.path.splitext(os.path.basename(file))[0]}"
        pieces += [one._replace(name=f"{stem}-{k:05}") for k, one in enumerate(own)]
    many = PIECE_FILES * growth
    for number, first in enumerate(range(0, len(graphs), many)):
        some = tuple(graphs[first : first + many])
        pieces.append(Piece(f"graphs-{number:05}", "files", some))
    return pieces


def _files_in(source: str) -> list[str]:
    """Return a source, or the files in a folder that hold graphs, by name."""
    if not os.path.isdir(source):
        if not os.path.exists(source):
            raise InputError(f"{source}: there is no such file or folder")
        return [os.path.abspath(source)]
    found = [path for path in Path(source).iterdir() if path.is_file()]
    found = [path for path in found if path.suffix.lower() in CUTTERS or ending_of(path) in WRITERS]
    if not found:
        ends = ", ".join([*CUTTERS, *WRITERS])
        raise InputError(f"{source}: no file in this folder ends in {ends}")
    return sorted(os.path.abspath(path) for path in found)


@contextmanager
def _arrow_told() -> Generator[None]:
    """Raise what Arrow finds wrong as an InputError."""
    with needs("a table of graphs"):
        import pyarrow as pa
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(" ".join(str(error).split())) from None


def _row_groups(file: str, settings: Settings, growth: int) -> Iterator[Piece]:
    """Cut a Parquet file into pieces of consecutive row groups."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as table:
        answers(table.schema_arrow.empty_table(), settings)  # raises what is wrong with all rows
        groups = map(table.metadata.row_group, range(table.num_row_groups))
        sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    first = row = 0
    while first < len(sizes):
        rows, size = sizes[first]
        last = first + 1
        while last < len(sizes):
            more = rows + sizes[last][0], size + sizes[last][1]
            if more[0] > PIECE_ROWS * growth or more[1] > PIECE_BYTES * growth:
                break
            (rows, size), last = more, last + 1
        yield Piece("", "parquet", (file,), first, last, row)
        first, row = last, row + rows


def _byte_ranges(file: str, settings: Settings, growth: int) -> Iterator[Piece]:
    """Cut JSON lines into ranges of bytes; a line belongs to the range where it starts."""
    answers(_line_schema(file).empty_table(), settings)  # raises what is wrong with all rows
    size = os.path.getsize(file)
    for first in range(0, size, PIECE_BYTES * growth):
        yield Piece("", "lines", (file,), first, min(first + PIECE_BYTES * growth, size))


CUTTERS: dict[str, Callable[[str, Settings, int], Iterator[Piece]]] = {
    ".parquet": _row_groups,
    ".pq": _row_groups,
    ".jsonl": _byte_ranges,
    ".ndjson": _byte_ranges,
}
"""How a file is cut into pieces, by its ending; any other holds one graph."""


Read = Callable[[Piece, "Settings", ReadOptions], "Iterator[pa.Table]"]
"""Reads a piece a few rows at a time, and solves them."""


def _read_parquet(piece: Piece, settings: Settings, _: ReadOptions) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    [file], row = piece.files, piece.row
    with pq.ParquetFile(file) as table:
        groups = list(range(piece.first, piece.last))
        yield _placed_in(file, "row", np.zeros(0, np.int64),
                         answers(table.schema_arrow.empty_table(), settings))  # fmt: skip
        for batch in table.iter_batches(ROWS_AT_ONCE, groups, use_threads=False):
            numbers = np.arange(row, row + len(batch))
            row += len(batch)
            found = answers(pa.Table.from_batches([batch]), settings)
            yield _placed_in(file, "row", numbers, found)


def _placed_in(file: str, unit: str, numbers: Any, found: pa.Table) -> pa.Table:
    """Add to answers where the graphs are: the file, and the row or byte."""
    import pyarrow as pa

    name = repeated(file, len(numbers))
    return found.add_column(0, unit, pa.array(numbers)).add_column(0, "file", name)


def _read_lines(piece: Piece, settings: Settings, _: ReadOptions) -> Iterator[pa.Table]:
    import pyarrow as pa

    [file] = piece.files
    schema = _line_schema(file)
    yield _placed_in(file, "byte", np.zeros(0, np.int64), answers(schema.empty_table(), settings))
    with open(file, "rb") as lines:
        if piece.first:
            lines.seek(piece.first - 1)
            lines.readline()
        while (at := lines.tell()) < piece.last:
            text = lines.read(min(BYTES_AT_ONCE, piece.last - at))
            text += b"" if text.endswith(b"\n") else lines.readline()
            rows = BytesIO(text).readlines()
            start = at + np.concatenate([[0], np.cumsum([len(row) for row in rows])[:-1]])
            is_row = np.array([not row.isspace() for row in rows])
            table, faults = _parsed([row for row in rows if not row.isspace()], schema)
            found = answers(table, settings)
            if faults:
                errors = found["error"].to_pylist()
                errors = [faults.get(k, error) for k, error in enumerate(errors)]
                place = found.schema.get_field_index("error")
                found = found.set_column(place, "error", pa.array(errors, pa.string()))
            yield _placed_in(file, "byte", start[is_row], found)


def _line_schema(file: str) -> pa.Schema:
    """Return the columns of a file of JSON lines, by its first line; other fields are left out."""
    import pyarrow as pa

    with open(file, "rb") as lines:
        first = next((line for line in lines if not line.isspace()), b"{}")
    told = _object(first)
    if isinstance(told, str):
        raise InputError(f"the first line: {told}")
    cost = pa.list_(pa.float64())
    kinds = {name: cost if name == "cost" else pa.list_(pa.int64()) if isinstance(told[name], list)
             else pa.int64() for name in NAMES if name in told}  # fmt: skip
    return pa.schema(list(kinds.items()))


NAMES = tuple(dict.fromkeys(name for form in FORMS for name in form.columns))


def _object(line: bytes) -> dict[str, Any] | str:
    """Return the object in a line, or why there is none."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"this is no JSON: {error}"
    return told if isinstance(told, dict) else "this is no JSON object"


def _parsed(lines: list[bytes], schema: pa.Schema) -> tuple[pa.Table, dict[int, str]]:
    """Read lines as a table; return also what is wrong with some of them, by number."""
    import pyarrow as pa
    import pyarrow.json

    text = b"".join(lines)
    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
    parsing = pyarrow.json.ParseOptions(schema, unexpected_field_behavior="ignore")
    try:
        table = pyarrow.json.read_json(pa.BufferReader(text), reading, parsing)
        if len(table) == len(lines):
            return table, {}
    except pa.ArrowException:  # it does not say in which line
        pass
    rows, faults = [], dict[int, str]()
    for number, line in enumerate(lines):
        told = _object(line)
        try:
            if isinstance(told, str):
                raise ValueError(told)
            rows += pa.Table.from_pylist([told], schema).to_pylist()
        except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
            faults[number] = str(InputError(str(error)))
            rows.append({})
    return pa.Table.from_pylist(rows, schema), faults


def _read_files(piece: Piece, settings: Settings, options: ReadOptions) -> Iterator[pa.Table]:
    import pyarrow as pa

    rows = answers_of_files(piece.files, options, settings)
    yield pa.Table.from_pylist(rows, files_schema())


READERS: dict[str, Read] = {
    "parquet": _read_parquet,
    "lines": _read_lines,
    "files": _read_files,
}


def solved_parts(piece: Piece, settings: Settings, options: ReadOptions) -> Iterator[pa.Table]:
    """Read and solve a piece; errors name its first file."""
    with named(piece.files[0]), _arrow_told():
        yield from READERS[piece.read](piece, settings, options)
