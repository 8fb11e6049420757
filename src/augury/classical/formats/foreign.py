"""Unsupported formats by their first bytes, as `file` knows them, and a way round each.

Parsers of other libraries are called inside `foreign_parser`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from augury.errors import InputError

AS_CSV = "export the edges as CSV"
AS_SPARSE = "save the matrix with scipy.sparse.save_npz or numpy.save"
UNPACK = "unpack it first, only gzip is unpacked here"
NO_GRAPH = "there is no graph to read in it"
NO_PICKLE = "loading it could run any code; save the graph as JSON or its matrix as .npz"
NETWORKX = "read it with networkx.{} and solve that graph in Python"

BINARY: list[tuple[bytes, str, str]] = [
    (rb"\x80[\x02-\x05]|ccopy_reg\n|[]}]q\0\(", "a pickle", NO_PICKLE),
    (rb"\x89HDF\r\n", "HDF5", AS_SPARSE),
    (rb"CDF[\x01\x02\x05]", "NetCDF", AS_SPARSE),
    (rb"MATLAB 5\.0", "a MATLAB file", AS_SPARSE),
    (rb"RD[AX][23]\n|[XA]\n\0", "a file of R", "export it with write.csv"),
    (rb"PAR1", "Parquet", AS_CSV),
    (rb"ARROW1|FEA1", "Arrow or Feather", AS_CSV),
    (rb"\xd0\xcf\x11\xe0", "an old Office document", f"in a spreadsheet, {AS_CSV}"),
    (rb"SQLite format 3", "an SQLite database", AS_CSV),
    (rb"BZh[1-9]1AY&SY", "bzip2", UNPACK),
    (rb"\xfd7zXZ", "xz", UNPACK),
    (rb"\x28\xb5\x2f\xfd", "Zstandard", UNPACK),
    (rb"7z\xbc\xaf|Rar!\x1a", "an archive", UNPACK),
    (rb".{257}ustar", "a tar archive", UNPACK),
    (rb"\x89PNG|\xff\xd8\xff|GIF8[79]a|BM....\0\0\0\0|II\*\0|MM\0\*", "an image", NO_GRAPH),
    (rb"RIFF....WEBP", "an image", NO_GRAPH),
    (rb"%PDF-", "a PDF", NO_GRAPH),
    (rb"\x7fELF|MZ.{58}", "a program", NO_GRAPH),
    (rb"\xff\xfe|\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (rb".{7}\0\s*\{", "a safetensors file", "a network goes to --model"),
]
"""(how it starts, what it is, what to do), for files that are not text."""

TEXT: list[tuple[bytes, str, str]] = [
    (rb"<(\?xml|!).*?<graphml\b|<graphml\b", "GraphML", NETWORKX.format("read_graphml")),
    (rb"<(\?xml|!).*?<gexf\b|<gexf\b", "GEXF", NETWORKX.format("read_gexf")),
    (rb"<(\?xml|!).*?<html\b|<html\b|<!doctype html", "a web page", NO_GRAPH),
    (rb"<\?xml|<!doctype|<svg\b", "XML", AS_CSV),
    (rb"((#|creator|version|comment)[^\n]*\n\s*)*graph\s*\[", "GML", NETWORKX.format("read_gml")),
    (rb"(strict\s+)?(di)?graph\b[^\n,;{]*\{", "Graphviz DOT", NETWORKX.format("nx_pydot.read_dot")),
    (rb"\*(vertices|network)\b", "Pajek", NETWORKX.format("read_pajek")),
    (rb">>(graph|sparse|digraph)6<<", "graph6", NETWORKX.format("read_graph6 or read_sparse6")),
    (rb"LEDA\.GRAPH", "LEDA", NETWORKX.format("read_leda")),
    (rb"\([dl]p\d+\n|ccopy_reg\n|c(networkx|numpy)\S*\n", "a pickle", NO_PICKLE),
]
"""The same for text; no pattern may be slow on any input."""

IN_ARCHIVES: list[tuple[str, str, str]] = [
    ("xl/", "an Excel workbook", AS_CSV),
    ("word/", "a Word document", NO_GRAPH),
    ("content.xml", "an OpenDocument file", f"in a spreadsheet, {AS_CSV}"),
    ("data.pkl", "a file of torch.save", NO_PICKLE),
]
"""(how a member's name starts or ends, what the zip archive is, what to do)."""


def refuse_archive(names: list[str]) -> None:
    """Raise InputError for a zip archive that holds no array."""
    if any(name.endswith(".npy") for name in names):
        return
    for part, what, remedy in IN_ARCHIVES:
        if any(name.startswith(part) or name.endswith(part) for name in names):
            raise InputError(f"this is {what}, which is not read: {remedy}")
    raise InputError("this is a zip archive without arrays, which is not read: unpack it first")


@contextmanager
def foreign_parser(what: str) -> Generator[None]:
    """Turn whatever another library's parser raises on damaged bytes into one sentence."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"this is not {what}: {str(error) or type(error).__name__}") from None
