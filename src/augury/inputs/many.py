"""Many graphs in any form become batches: those of one kind are gathered all at once.

Arrays and CSR matrices are read by the rules of `arrays`, but a whole list at a time, in a few
passes. A matrix that a pass finds unclear is read by itself, like every other form, so an error is
that of the single graph, with its position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, WideArray
from augury.classical.batch import starts, sums
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.graph import MAX_NODES, BipartiteGraph
from augury.classical.network import Graph, Graphs
from augury.inputs.costs import each_differ

Read = Callable[[int, Any], Graph]
"""Reads one graph, given its position."""


class Part(NamedTuple):
    """Graphs of one kind."""

    position: Sequence[int]
    """Where each stands among all graphs."""
    graphs: BipartiteBatch | Graphs
    """Bipartite graphs without costs, or a list of others of one class."""


class Matrices(NamedTuple):
    """How matrices of one class are read together."""

    is_plain: Callable[[Any], bool]
    """Whether a matrix can be read this way at all."""
    num_entries: Callable[[Any], int]
    gather: Callable[[Sequence[Any]], BipartiteBatch | BoolArray]
    """Reads matrices of one number type, or tells which of them are unclear."""


def gathered(graphs: Iterable[Any], read: Read, max_arcs: int) -> Iterator[list[Part]]:
    """Yield chunks of at most `max_arcs` arcs, or of one graph, each in parts of one kind."""
    chunk = _Chunk(read)
    for position, graph in enumerate(graphs):
        form = _form(type(graph))
        if form is not None and form.is_plain(graph):
            rows, columns = graph.shape
            arcs = 2 * (rows + columns + form.num_entries(graph))
            key, given = (form.gather, graph.dtype), graph
        else:
            given = read(position, graph)
            arcs = given.num_arcs
            key = given.kind
        if chunk.num_arcs + arcs > max_arcs and chunk.groups:
            yield list(chunk.parts())
            chunk = _Chunk(read)
        chunk.groups.setdefault(key, []).append((position, given))
        chunk.num_arcs += arcs
    if chunk.groups:
        yield list(chunk.parts())


def in_pieces(batch: BipartiteBatch, max_arcs: int) -> Iterator[Part]:
    """Cut a batch into pieces of at most `max_arcs` arcs, or of one graph."""
    total, first = starts(batch.num_arcs), 0
    while first < len(batch):
        end = int(np.searchsorted(total, total[first] + max_arcs, "right")) - 1
        end = max(end, first + 1)
        yield Part(range(first, end), batch.part(first, end))
        first = end


class _Chunk:
    """Matrices and graphs on their way to parts."""

    def __init__(self, read: Read) -> None:
        self.read = read
        self.groups: dict[tuple[Any, Any], list[tuple[int, Any]]] = {}
        """(position, matrix or graph) by (how it is gathered, number type) or kind."""
        self.num_arcs = 0

    def parts(self) -> Iterator[Part]:
        """Gather every group; matrices first, as unclear ones join the graphs."""
        for key in [key for key in self.groups if not isinstance(key[0], type)]:
            yield from self._matrices(key[0], self.groups.pop(key))
        for (kind, has_costs), own in self.groups.items():
            position, graphs = zip(*own, strict=True)
            is_batch = kind is BipartiteGraph and not has_costs
            yield Part(position, BipartiteBatch.of(graphs) if is_batch else graphs)

    def _matrices(self, gather: Any, given: list[tuple[int, Any]]) -> Iterator[Part]:
        while given:
            position, matrices = zip(*given, strict=True)
            batch = gather(matrices)
            if isinstance(batch, BipartiteBatch):
                yield Part(position, batch)
                return
            for (at, matrix), is_unclear in zip(given, batch.tolist(), strict=True):
                if is_unclear:
                    graph = self.read(at, matrix)
                    self.groups.setdefault(graph.kind, []).append((at, graph))
            given = [one for one, is_unclear in zip(given, batch, strict=True) if not is_unclear]


def _from_arrays(arrays: Sequence[npt.NDArray[Any]]) -> BipartiteBatch | BoolArray:
    """Read dense matrices; see `arrays.from_array`."""
    shapes = np.array([array.shape for array in arrays])
    flat = np.concatenate(arrays, axis=None)
    cells = starts(shapes[:, 0] * shapes[:, 1])
    octets = flat.view(np.uint8) if flat.dtype == np.bool_ else flat
    place = np.flatnonzero(octets != 0)  # any byte of a Boolean array but 0 is an edge
    edges = np.searchsorted(place, cells)
    unclear = _are_wide(shapes)
    if flat.dtype != np.bool_:
        values = flat[place]
        unclear |= each_differ(values, edges)
        if flat.dtype.kind != "f" and not (values == 1).all():  # they may be the ends of edges
            unclear |= (shapes == 2).any(axis=1) & (sums(values != 1, edges) > 0)
    if unclear.any():
        return unclear
    graph = np.repeat(np.arange(len(arrays)), np.diff(edges))
    row, column = np.divmod(place - cells[graph], shapes[graph, 1])
    left, right = starts(shapes[:, 0]), starts(shapes[:, 1])
    return BipartiteBatch.of_edges(left, right, row + left[graph], column)


def _from_csr(matrices: Sequence[Any]) -> BipartiteBatch | BoolArray:
    """Read SciPy's CSR matrices; see `arrays.from_sparse`."""
    shapes = np.array([matrix.shape for matrix in matrices])
    indptrs = [matrix.indptr for matrix in matrices]
    indices = [matrix.indices for matrix in matrices]
    data = [matrix.data for matrix in matrices]
    lengths = np.array([list(map(len, arrays)) for arrays in (indptrs, indices, data)])
    unclear = (lengths[0] != shapes[:, 0] + 1) | (lengths[1] != lengths[2]) | _are_wide(shapes)
    if unclear.any():
        return unclear
    indptr, column, values = map(np.concatenate, (indptrs, indices, data))
    left, right, edges = starts(shapes[:, 0]), starts(shapes[:, 1]), starts(lengths[1])
    first = left[:-1] + np.arange(len(matrices))  # of each graph in `indptr`
    unclear = (indptr[first] != 0) | (indptr[first + shapes[:, 0]] != lengths[1])
    degree = np.delete(np.diff(indptr), first[1:] - 1)
    width = np.repeat(shapes[:, 1], lengths[1])
    unclear |= sums(degree < 0, left) + sums((column < 0) | (column >= width), edges) > 0
    if unclear.any():
        return unclear
    row = np.repeat(np.arange(len(degree)), degree)
    if not values.all():
        is_edge = values != 0
        row, column, values = row[is_edge], column[is_edge], values[is_edge]
        edges = starts(is_edge)[edges]
    if values.dtype != np.bool_:
        unclear = each_differ(values, edges)
        # Duplicates are summed, and large ones might not fit.
        unclear |= sums((values >= 2**31) | (values <= -(2**31)), edges) > 0
    if unclear.any():
        return unclear
    return BipartiteBatch.of_edges(left, right, row, column)


def _are_wide(shapes: WideArray) -> BoolArray:
    return shapes.max(axis=1) > MAX_NODES


NUMBERS = "biuf"
"""Kinds of numbers that are compared together: Booleans, whole numbers and floats."""

ARRAYS = Matrices(
    lambda array: array.ndim == 2 and array.dtype.kind in NUMBERS,
    lambda array: array.size,
    _from_arrays,
)
CSR = Matrices(
    lambda matrix: matrix.ndim == 2 and matrix.data.dtype.kind in NUMBERS,
    lambda matrix: len(matrix.indices),
    _from_csr,
)


@lru_cache(maxsize=64)
def _form(kind: type) -> Matrices | None:
    """Return how matrices of a class are read together, if they are; a subclass may differ."""
    if kind is np.ndarray:
        return ARRAYS
    is_scipy = kind.__module__.partition(".")[0] == "scipy"
    return CSR if is_scipy and kind.__name__ in ("csr_array", "csr_matrix") else None
