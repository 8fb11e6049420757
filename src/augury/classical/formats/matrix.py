"""A Matrix Market, `.npz` or `.npy` file becomes a `BipartiteGraph` or a `FlowNetwork`, and back.

In a biadjacency matrix rows are left nodes, columns right nodes, non-zeros edges. If the options
ask for a flow network, the matrix is square and holds the capacity of u → v at (u, v). A matrix has
no labels and no ends: nodes are numbered from 0, and the options name source and sink. An `.npz`
file holds such a matrix, dense or as `scipy.sparse.save_npz` writes it, or the arrays of a graph
with all its data. If the options say that the entries are costs, each is an edge: in a dense matrix
all but the infinite ones, in a sparse one all that are stored.
"""

from __future__ import annotations

import os
import reprlib
from array import array
from types import SimpleNamespace
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from augury.classical.cost_network import CostNetwork
from augury.classical.formats import text
from augury.classical.formats.costs import edge_costs, two_readings
from augury.classical.formats.foreign import foreign_parser, refuse_archive
from augury.classical.formats.npy import Archive, read_array
from augury.classical.formats.own_arrays import (
    cost_network_of_arrays,
    graph_of_arrays,
    integers,
    network_of_arrays,
)
from augury.classical.formats.text import Lines, ReadOptions
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.files import FREE_ARRAYS, LineError, refuse_bomb


def read_matrix_market(file: IO[bytes], options: ReadOptions) -> Graph:
    """Read a matrix in coordinate layout, or in array layout if its entries are real numbers."""
    import scipy.io

    num_bytes = file.seek(0, os.SEEK_END)
    _refuse_all_but_numbers(file)
    with foreign_parser("a Matrix Market file"):
        size = scipy.io.mminfo(_guarded(file))
        num_rows, num_columns, num_entries, layout, field, symmetry = size
        if layout == "array":
            num_entries = _num_dense(num_rows, num_columns, symmetry)
        # SciPy allocates what the header claims before it reads on.
        if num_entries > num_bytes:
            raise InputError(f"{num_entries} entries do not fit into {num_bytes} bytes")
        text.refuse_claim(max(num_rows, num_columns), num_entries, "rows or columns")
        if layout == "array":
            matrix = _dense_matrix_market(file, (num_rows, num_columns), field, symmetry)
        else:
            matrix = scipy.io.mmread(_guarded(file))
    if field == "pattern" and options.costs and not options.ignore_costs:
        raise InputError("a pattern holds no numbers, and so no costs")
    return _graph_of_matrix(matrix, options)


def _refuse_all_but_numbers(file: IO[bytes]) -> None:
    """Raise LineError for a line that might crash SciPy's compiled reader (1.17)."""
    file.seek(0)
    for number, line in enumerate(text.lines_of(file), 1):
        if line.translate(None, b"0123456789+-.eE \t\r\n") and not line.startswith(b"%"):
            told = reprlib.repr(line[:80].strip())[1:]
            raise LineError(number, f"{told} is not a row of numbers")


def _guarded(file: IO[bytes]) -> Any:
    """Return the file as a stream that does not crash SciPy's compiled reader.

    That reader (1.17) kills the process if seeking back fails, so this stream has no seek, and it
    reads past a last line without a line break, so this stream adds one.
    """
    file.seek(0)
    last = iter([b"\n"])
    return SimpleNamespace(read=lambda size=-1: file.read(size) or next(last, b""))


NUMBERS = {"integer": ("q", int), "unsigned-integer": ("q", int), "real": ("d", float)}
"""How the entries of the layout `array` are stored and parsed."""

FIRST_BELOW = {"general": None, "symmetric": 0, "skew-symmetric": 1}
"""Where the entries of a column start: at the top, on the diagonal, or below it."""


def _num_dense(num_rows: int, num_columns: int, symmetry: str) -> int:
    """Return how many entries the layout `array` has."""
    first = FIRST_BELOW.get(symmetry)
    if first is None:
        return num_rows * num_columns
    return num_rows * (num_rows + 1 - 2 * first) // 2


def _dense_matrix_market(
    file: IO[bytes], shape: tuple[int, int], field: str, symmetry: str
) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Read the layout `array`, on which SciPy's compiled reader corrupts memory."""
    if field not in NUMBERS or symmetry not in FIRST_BELOW:
        raise InputError(
            f"a dense matrix must be integer or real, and {', '.join(FIRST_BELOW)}, "
            f"not {field} {symmetry}"
        )
    code, parse = NUMBERS[field]
    values = cast("Any", array)(code)
    lines = Lines(file, "%")
    next(lines)
    for line in lines:
        try:
            values.append(parse(line))
        except (ValueError, OverflowError):
            raise LineError(lines.number, f"{reprlib.repr(line)} is not a number") from None
    announced = _num_dense(*shape, symmetry)
    if len(values) != announced:
        raise InputError(f"{announced} entries are announced, but {len(values)} follow")
    first = FIRST_BELOW[symmetry]
    if first is None:
        return np.asarray(values).reshape(shape, order="F")
    return _from_triangle(np.asarray(values), shape, first)


def _from_triangle(values: Any, shape: tuple[int, int], first: int) -> npt.NDArray[Any]:
    """Return the full matrix, given its lower triangle column by column."""
    if shape[0] != shape[1]:
        raise InputError(f"a symmetric matrix is square, not {shape[0]} x {shape[1]}")
    matrix = np.zeros(shape, values.dtype)
    column, row = np.triu_indices(shape[0], first)
    matrix[column, row] = -values if first else values
    matrix[row, column] = values
    return matrix


def _graph_of_matrix(matrix: Any, options: ReadOptions) -> Graph:
    """Read a biadjacency matrix, or with `options.flow` a capacity matrix; dense or sparse."""
    is_dense = not hasattr(matrix, "tocoo")
    if matrix.ndim != 2:
        raise InputError(f"a matrix has two dimensions, not {matrix.ndim}")
    if matrix.dtype.kind not in "biufc":
        raise InputError(f"a matrix holds numbers, not {matrix.dtype}")
    if is_dense and not matrix.size:  # its bytes and edges do not bound its size
        text.refuse_claim(max(matrix.shape), 0, "rows or columns")
    if options.costs and not options.ignore_costs:
        if options.flow:
            raise InputError("a matrix holds capacities or costs, not both")
        return BipartiteGraph.from_costs(matrix, bool(options.maximise))
    if not options.flow:
        make = BipartiteGraph.from_dense if is_dense else BipartiteGraph.from_scipy
        graph = make(matrix)
        if not options.ignore_costs:
            _refuse_costs(matrix)
        return graph
    told = "a matrix does not say which node is the"
    lacking = {end: f"{told} {end}: use --{end}" for end in ("source", "sink")}
    ends = text.ends_of(range(matrix.shape[0]), {}, options, lacking)
    make = FlowNetwork.from_dense if is_dense else FlowNetwork.from_scipy
    return make(matrix, **ends)


def _refuse_costs(matrix: Any) -> None:
    """Raise InputError if the non-zero entries differ: then they may be costs."""
    # Before SciPy sums duplicates, which are one edge.
    entries: Any = matrix.tocoo().data if hasattr(matrix, "tocoo") else matrix
    values = entries[entries != 0]
    if values.size and (values != values[0]).any():
        other = values[values != values[0]][0]
        told = f"the entries of the matrix differ ({values[0]} and {other})"
        raise two_readings(f"{told} and may be costs")


def write_matrix_market(graph: Graph, file: IO[bytes]) -> None:
    """Write a sparse matrix: a pattern, or the costs or capacities of the edges."""
    import scipy.io

    if isinstance(graph, CostNetwork):
        raise InputError("a matrix holds capacities or costs, not both: use .min, .json or .npz")
    matrix: Any = graph.to_scipy().tocoo()
    field = "integer" if isinstance(graph, FlowNetwork) else "pattern"
    if isinstance(graph, BipartiteGraph) and graph.costs is not None:
        matrix.data = np.array(edge_costs(graph.costs), graph.costs.dtype)
        field = "integer" if matrix.data.dtype.kind == "i" else "real"
    scipy.io.mmwrite(file, matrix, field=field, symmetry="general")


def read_npz(file: IO[bytes], options: ReadOptions) -> Graph:
    """Read the arrays of a graph or flow network, or one matrix, sparse or dense."""
    import zipfile  # which only this format needs

    with foreign_parser("an .npz file"), zipfile.ZipFile(file) as archive:
        refuse_archive(archive.namelist())
        num_bytes = sum(member.file_size for member in archive.infolist())
        refuse_bomb(num_bytes, file.seek(0, os.SEEK_END), FREE_ARRAYS)
        arrays = Archive(archive)
        keys = set(arrays.files)
        if "num_left" in keys:
            return graph_of_arrays(arrays, options)
        if "tail" in keys:
            return cost_network_of_arrays(arrays, options)
        if "num_nodes" in keys:
            return network_of_arrays(arrays, options)
        if {"format", "shape"} <= keys:
            return _graph_of_matrix(_sparse_of_arrays(arrays), options)
        if len(keys) == 1:
            return _graph_of_matrix(arrays[keys.pop()], options)
    held = ", ".join(sorted(keys))[:80] or "nothing"
    raise InputError(f"the .npz file holds neither one matrix nor a graph, but {held}")


def read_npy(file: IO[bytes], options: ReadOptions) -> Graph:
    """Read one dense matrix."""
    num_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    with foreign_parser("a .npy file"):
        return _graph_of_matrix(read_array(file, num_bytes), options)


def _sparse_of_arrays(arrays: Archive) -> Any:
    """Return the matrix that `scipy.sparse.save_npz` wrote."""
    import scipy.sparse

    name = arrays["format"].item()
    name = name.decode("ascii") if isinstance(name, bytes) else str(name)
    if name not in PARTS:
        raise InputError(f"a sparse matrix of the format {name[:20]!r} is not read")
    if name == "coo" and "coords" in arrays.files:
        parts: Any = tuple(integers(arrays, "coords"))
    else:
        parts = tuple(integers(arrays, key) for key in PARTS[name])
    places = (parts,) if name == "coo" else parts
    shape = tuple(integers(arrays, "shape").tolist())
    text.refuse_claim(max(shape, default=0), arrays["data"].size, "rows or columns")
    matrix = getattr(scipy.sparse, f"{name}_array")((arrays["data"], *places), shape=shape)
    if name in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)  # compiled code would follow bad indices anywhere
    return matrix


PARTS = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}
"""The arrays that hold the positions of the entries, by SciPy's format."""
