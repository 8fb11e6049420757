"""A file becomes a `BipartiteGraph`, `FlowNetwork` or `CostNetwork`, which become files again.

The format is detected from the content, then from the name, even if gzip-compressed or piped in:

    Matrix Market  .mtx            no labels, no source and sink: nodes are numbered from 0
    DIMACS         .max .min .asn  flow networks, and graphs with costs; nodes are called 1, 2, 3, …
    edge list      .csv .tsv …     no isolated nodes, no source and sink; text labels are numbered
                                   as they appear, labels that all look like integers ascend
    matrix         .csv .tsv …     with the labels of rows and columns; only read
    NumPy          .npz .npy       a matrix, or everything if labels are all text or all integers
    JSON           .json           everything, if the labels are text and numbers

Arc pairs come back as `FlowNetwork.from_arcs` orders them. Any fault of a file, including an
unsupported format, is one `InputError`: a sentence that starts with the file and, where there are
lines, the line. Numbers named as costs are costs; numbers that may or may not be are refused.
Memory grows with what a file holds, not with what it claims. See also docs/formats.md.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, cast

from augury.classical.formats import matrix
from augury.classical.formats.answers import answer_text, read_answer, read_prices
from augury.classical.formats.costs import read_supplies
from augury.classical.formats.dimacs import read_dimacs, write_dimacs
from augury.classical.formats.edge_list import read_edge_list
from augury.classical.formats.edge_writer import write_edge_list
from augury.classical.formats.foreign import BINARY, TEXT
from augury.classical.formats.json_graph import read_json, write_json
from augury.classical.formats.own_arrays import write_npz
from augury.classical.formats.text import LONGEST_LINE, ReadOptions
from augury.classical.network import Graph
from augury.errors import InputError
from augury.files import BYTE_ORDER_MARK, atomic_file, named, open_input

__all__ = [
    "WRITERS",
    "ReadOptions",
    "answer_text",
    "ending_of",
    "parse_graph",
    "read_answer",
    "read_graph",
    "read_prices",
    "read_supplies",
    "write_graph",
]

Reader = Callable[[IO[bytes], ReadOptions], Graph]
Writer = Callable[[Graph, IO[bytes]], None]

READERS_BY_START: dict[bytes, Reader] = {
    b"pk\x03\x04": matrix.read_npz,
    b"pk\x05\x06": matrix.read_npz,
    b"\x93numpy": matrix.read_npy,
    b"%%matrixmarket": matrix.read_matrix_market,
    b"{": read_json,
    b"[": read_json,
}
READERS_BY_ENDING: dict[str, Reader] = {
    ".npy": matrix.read_npy,
    ".npz": matrix.read_npz,
    ".mtx": matrix.read_matrix_market,
    ".json": read_json,
    ".max": read_dimacs,
    ".min": read_dimacs,
    ".asn": read_dimacs,
    ".dimacs": read_dimacs,
    ".tsv": partial(read_edge_list, separators="\t,;"),
}
WRITERS: dict[str, Writer] = {
    ".asn": write_dimacs,
    ".csv": partial(write_edge_list, delimiter=","),
    ".dimacs": write_dimacs,
    ".json": write_json,
    ".max": write_dimacs,
    ".min": write_dimacs,
    ".mtx": matrix.write_matrix_market,
    ".npz": write_npz,
    ".tsv": partial(write_edge_list, delimiter="\t"),
}
AS_FOUND = ReadOptions()

LOOKED_AT = 4096
"""Bytes read to detect the format."""


def read_graph(path: str | Path, options: ReadOptions = AS_FOUND) -> Graph:
    """Read a graph in any of the formats above; `-` is standard input.

    Raises:
        InputError: the file cannot be opened or parsed; one sentence says where and why.


    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.json")
    ...     size = path.write_text('[["ann", "cook"], ["bob", "cook"]]')
    ...     read_graph(path)
    BipartiteGraph(2 + 1 nodes, 2 edges)
    """
    with named(path), open_input(path) as file:
        return _parsed(file, path, options)


def parse_graph(file: IO[bytes], name: str, options: ReadOptions = AS_FOUND) -> Graph:
    """Read a graph from bytes already in memory; error messages call them `name`.

    Unlike `read_graph` this touches no file and does not unpack gzip: a caller that accepts packed
    bytes from strangers must limit how far they may grow.

    Raises:
        InputError: the bytes cannot be parsed; one sentence says where and why.
    """
    with named(name):
        return _parsed(file, name, options)


def _parsed(file: IO[bytes], name: str | Path, options: ReadOptions) -> Graph:
    reader = _reader(file, ending_of(name))
    file.seek(0)
    return reader(file, options)


def write_graph(graph: Graph, path: str | Path) -> None:
    """Write a graph in the format of the file's extension, all of it or nothing.

    Raises:
        InputError: the format cannot hold such a graph, or the file cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> from augury import BipartiteGraph
    >>> graph = BipartiteGraph.from_edges([("ann", "cook"), ("bob", "sing")])
    >>> with TemporaryDirectory() as folder:
    ...     write_graph(graph, f"{folder}/people.json.gz")
    ...     read_graph(f"{folder}/people.json.gz") == graph
    True
    """
    with named(path):
        writer = WRITERS.get(ending_of(path))
        if writer is None:
            raise InputError(f"the ending must be one of {', '.join(WRITERS)}, each also with .gz")
        with atomic_file(path) as file:
            if str(path).lower().endswith(".gz"):
                # No time stamp, so equal graphs become equal files.
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    writer(graph, cast("IO[bytes]", packed))
            else:
                writer(graph, file)


def _reader(file: IO[bytes], ending: str) -> Reader:
    file.seek(0)
    begun = file.read(LOOKED_AT)
    start = begun.removeprefix(BYTE_ORDER_MARK).lstrip().lower()
    if not start:
        raise InputError("the file is empty")
    for magic, reader in READERS_BY_START.items():
        if start.startswith(magic):
            return reader
    _refuse_foreign(begun)
    return read_dimacs if _is_dimacs(file) else READERS_BY_ENDING.get(ending, read_edge_list)


def _refuse_foreign(start: bytes) -> None:
    """Raise InputError if the first bytes of a file belong to an unsupported format."""
    if _is_text(start):
        table, start, flags = TEXT, start.lstrip(), re.IGNORECASE | re.DOTALL
    else:
        table, flags = BINARY, re.DOTALL
    for pattern, name, remedy in table:
        if re.match(pattern, start, flags):
            raise InputError(f"this is {name}, which is not read: {remedy}")


def _is_text(start: bytes) -> bool:
    if re.search(rb"[\x00-\x08\x0e-\x1f]", start):
        return False
    try:
        start.decode()
    except UnicodeDecodeError as error:
        return error.start > len(start) - 4  # a character cut off at the end
    return True


def _is_dimacs(file: IO[bytes]) -> bool:
    """Tell whether a problem line follows the comments: `c` and `p` may also be edge labels."""
    file.seek(0)
    while line := file.readline(LONGEST_LINE):
        if line.strip() and line.split()[0] != b"c":
            return re.match(rb"\s*p\s+[a-z]+\s+\d+\s+\d+\s*$", line) is not None
    return False


def ending_of(path: str | Path) -> str:
    """Return the extension that gives a file's format, ignoring .gz."""
    return Path(str(path).lower().removesuffix(".gz")).suffix
