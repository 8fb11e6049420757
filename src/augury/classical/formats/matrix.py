"""A Matrix Market or `.npz` file becomes a `BipartiteGraph` or a `FlowNetwork`, and back.

A matrix is biadjacent: rows are left nodes, columns right ones, non-zeros edges. Where the options
ask for a flow network it is square instead and holds the capacity of u → v at (u, v). A matrix has
no labels and no ends: nodes are numbered from 0 and the options name source and sink. An `.npz`
file holds such a matrix, dense or as `scipy.sparse.save_npz` writes it, or the arrays of a graph
with everything that belongs to it.
"""

from __future__ import annotations

import io
import os
import reprlib
from array import array
from collections.abc import Sequence
from types import SimpleNamespace
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from augury.classical.formats.edge_list import arcs_of
from augury.classical.formats.files import (
    FREE_ARRAYS,
    LineError,
    Lines,
    foreign,
    refuse_bomb,
    refuse_claim,
)
from augury.classical.formats.labels import ReadOptions, ends_of
from augury.classical.graph import BipartiteGraph, InputError, Label
from augury.classical.network import FlowNetwork

Graph = BipartiteGraph | FlowNetwork


def read_matrix_market(file: IO[bytes], options: ReadOptions) -> Graph:
    """Read a matrix in coordinate layout, or in array layout if integer or real, and general."""
    import scipy.io

    num_bytes = file.seek(0, os.SEEK_END)
    _refuse_all_but_numbers(file)
    with foreign("a Matrix Market file"):
        size = scipy.io.mminfo(_guarded(file))
        num_rows, num_columns, num_entries, layout, field, symmetry = size
        # SciPy makes room for what the header claims before it reads on.
        if num_entries > num_bytes:
            raise InputError(f"{num_entries} entries do not fit into {num_bytes} bytes")
        refuse_claim(max(num_rows, num_columns), num_entries, "rows or columns")
        if layout == "array":
            matrix = _dense_matrix_market(file, (num_rows, num_columns), f"{field} {symmetry}")
        else:
            matrix = scipy.io.mmread(_guarded(file))
    return _graph_of_matrix(matrix, options)


def _refuse_all_but_numbers(file: IO[bytes]) -> None:
    """Raise LineError for a line that SciPy's compiled reader (1.17) might crash on, not refuse."""
    file.seek(0)
    for number, line in enumerate(file, 1):
        if line.translate(None, b"0123456789+-.eE \t\r\n") and not line.startswith(b"%"):
            raise LineError(number, f"{reprlib.repr(line.strip())[1:]} is not a row of numbers")


def _guarded(file: IO[bytes]) -> Any:
    """Return the file as a stream on which SciPy's compiled reader does not crash.

    That reader (1.17) kills the process when it cannot seek back, so this stream has no seek, and
    reads beyond the end of a last line that does not end, so this stream ends it.
    """
    file.seek(0)
    last = iter([b"\n"])
    return SimpleNamespace(read=lambda size=-1: file.read(size) or next(last, b""))


def _dense_matrix_market(
    file: IO[bytes], shape: tuple[int, int], kind: str
) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Read the layout `array`, on which SciPy's compiled reader corrupts memory."""
    if kind not in ("integer general", "real general"):
        raise InputError(f"a dense matrix must be integer or real, and general, not {kind}")
    values, parse = (array("d"), float) if kind.startswith("real") else (array("q"), int)
    lines = Lines(file, "%")
    next(lines)
    for line in lines:
        try:
            values.append(cast("Any", parse(line)))
        except (ValueError, OverflowError):
            raise LineError(lines.number, f"{reprlib.repr(line)} is not a number") from None
    if len(values) != shape[0] * shape[1]:
        raise InputError(f"{shape[0] * shape[1]} entries are announced, but {len(values)} follow")
    return np.asarray(values).reshape(shape, order="F")


def _graph_of_matrix(matrix: Any, options: ReadOptions) -> Graph:
    """Read a biadjacency matrix, or with `options.flow` a capacity matrix; dense or sparse."""
    is_dense = isinstance(matrix, np.ndarray)
    if matrix.ndim != 2:
        raise InputError(f"a matrix has two dimensions, not {matrix.ndim}")
    if matrix.dtype.kind not in "biufc":
        raise InputError(f"a matrix holds numbers, not {matrix.dtype}")
    if not options.flow:
        make = BipartiteGraph.from_dense if is_dense else BipartiteGraph.from_scipy
        return make(matrix)
    lacking = {
        end: f"a matrix does not say which node is the {end}: use --{end}"
        for end in ("source", "sink")
    }
    ends = ends_of(range(matrix.shape[0]), {}, options, lacking)
    make = FlowNetwork.from_dense if is_dense else FlowNetwork.from_scipy
    return make(matrix, **ends)


def write_matrix_market(graph: Graph, file: IO[bytes]) -> None:
    """Write a sparse matrix: a pattern for a bipartite graph, integers for a network."""
    import scipy.io

    field = "integer" if isinstance(graph, FlowNetwork) else "pattern"
    scipy.io.mmwrite(file, graph.to_scipy().tocoo(), field=field, symmetry="general")


def read_npz(file: IO[bytes], options: ReadOptions) -> Graph:
    """Read the arrays of a graph or a network, or one matrix, sparse or dense."""
    with foreign("an .npz file"):
        arrays = np.load(file, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise InputError("this is not an .npz file: there is no archive in it")
        _refuse_bomb(arrays, file)
        keys = set(arrays.files)
        if "num_left" in keys:
            return _graph_of_arrays(arrays)
        if "num_nodes" in keys:
            return _network_of_arrays(arrays, options)
        if {"format", "shape"} <= keys:
            return _graph_of_matrix(_sparse_of_archive(file), options)
        if len(keys) == 1:
            return _graph_of_matrix(arrays[keys.pop()], options)
    held = ", ".join(sorted(keys))[:80] or "nothing"
    raise InputError(f"the .npz file holds neither one matrix nor a graph, but {held}")


def _refuse_bomb(arrays: Any, file: IO[bytes]) -> None:
    num_bytes = sum(member.file_size for member in arrays.zip.infolist())
    refuse_bomb(num_bytes, file.seek(0, os.SEEK_END), FREE_ARRAYS)


def _sparse_of_archive(file: IO[bytes]) -> Any:
    import scipy.sparse

    file.seek(0)
    matrix: Any = scipy.sparse.load_npz(file)
    refuse_claim(max(matrix.shape, default=0), matrix.nnz, "rows or columns")
    if matrix.format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)  # compiled code would follow wrong indices anywhere
    return matrix


def _graph_of_arrays(arrays: Any) -> BipartiteGraph:
    left, right = _array(arrays, "left"), _array(arrays, "right")
    counts = _count(arrays, "num_left"), _count(arrays, "num_right")
    refuse_claim(max(counts), len(left), "nodes")
    labels = (_label_array(arrays, "left_labels"), _label_array(arrays, "right_labels"))
    return BipartiteGraph(*counts, left, right, *labels)


def _network_of_arrays(arrays: Any, options: ReadOptions) -> FlowNetwork:
    columns = [_array(arrays, key) for key in ("sender", "receiver", "capacity")]
    num_nodes, labels = _count(arrays, "num_nodes"), _label_array(arrays, "labels")
    refuse_claim(num_nodes, len(columns[0]), "nodes")
    own = {end: _count(arrays, end) for end in ("source", "sink")}
    ends = ends_of(labels or range(num_nodes), own, options, {})
    return FlowNetwork.from_arcs(num_nodes, *columns, **ends, labels=labels)


def _array(arrays: Any, key: str) -> npt.NDArray[Any]:
    if key not in arrays.files:
        raise InputError(f"the .npz file lacks the array {key!r}")
    values: npt.NDArray[Any] = arrays[key]
    if values.ndim > 1:
        raise InputError(f"the array {key!r} must be one row, not {values.ndim}-dimensional")
    return np.atleast_1d(values)


def _count(arrays: Any, key: str) -> int:
    values = _array(arrays, key)
    if values.size != 1 or values.dtype.kind not in "iu" or values[0] < 0:
        raise InputError(f"{key!r} must be one whole number of at least 0")
    return int(values[0])


def _label_array(arrays: Any, key: str) -> list[Label] | None:
    if key not in arrays.files:
        return None
    values = _array(arrays, key)
    if values.size and values.dtype.kind not in "iuU":
        raise InputError(f"the labels in {key!r} must be text or whole numbers, not {values.dtype}")
    return values.tolist()


def write_npz(graph: Graph, file: IO[bytes]) -> None:
    """Write the arrays of a graph, with labels if they are all text or all integers."""
    arrays: dict[str, Any]
    if isinstance(graph, FlowNetwork):
        arrays = {"num_nodes": graph.num_nodes, "source": graph.source, "sink": graph.sink}
        arrays |= zip(("sender", "receiver", "capacity"), arcs_of(graph), strict=True)
        labels = {"labels": graph.labels}
    else:
        arrays = {"num_left": graph.num_left, "num_right": graph.num_right}
        arrays |= {"left": graph.left, "right": graph.right}
        labels = {"left_labels": graph.left_labels, "right_labels": graph.right_labels}
    arrays |= {key: _array_of_labels(names) for key, names in labels.items() if names is not None}
    # The archive is written out of order, which a gzip stream cannot take.
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    file.write(buffer.getbuffer())


def _array_of_labels(labels: Sequence[Label]) -> npt.NDArray[Any]:
    kinds = {type(label) for label in labels}
    if kinds == {str} or (
        kinds == {int} and all(-(2**63) <= cast("int", x) < 2**63 for x in labels)
    ):
        values = np.array(labels)
        if values.tolist() == list(labels):  # NumPy drops zero characters at the end of a text
            return values
    raise InputError("an .npz file holds labels that are all text or all 64-bit integers")
