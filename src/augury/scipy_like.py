"""SciPy's matrices become matchings, assignments and flows, with the interfaces of SciPy.

Signatures, types of arguments and results, and errors are those of `scipy.sparse.csgraph`, and of
`scipy.optimize.linear_sum_assignment`, with one extra argument, `engine`; the answer comes from
the shipped neural network. Where several are equally good, it may differ from SciPy's. Where
SciPy gives a wrong answer instead of an error, this raises an `InputError`, which is a
`ValueError`: for negative capacities, for those beyond int32, to which SciPy truncates them, for
NaN among the weights of a sparse matrix, and for masked costs. Costs are never rounded: 64-bit
integers and all floats are taken exactly.
"""

from __future__ import annotations

import warnings
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import Numbers, WideArray, unmasked
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.sparse import undamaged
from augury.errors import InputError
from augury.finer import least_cost_matching
from augury.solver import COMPILED, maximum_matching, maximum_residual

if TYPE_CHECKING:
    from scipy.sparse.csgraph._flow import MaximumFlowResult

LARGEST = int(np.iinfo(np.int32).max)
"""The largest capacity: the flow on an edge is an int32, as in SciPy."""

METHODS = ("edmonds_karp", "dinic")
"""The methods of `scipy.sparse.csgraph.maximum_flow`; here all mean the same neural network."""


def maximum_bipartite_matching(
    graph: Any, perm_type: str = "row", *, engine: str = COMPILED
) -> npt.NDArray[np.int32]:
    """Find a maximum matching of the rows and columns of a sparse matrix.

    See `scipy.sparse.csgraph.maximum_bipartite_matching`. Every stored entry is an edge, even an
    explicit zero.

    Args:
        graph: a sparse matrix or array in CSR, CSC or COO format.
        perm_type: "column" for the column of each row; anything else for the row of each column.
        engine: how the network is computed, as in `augury.solve`; compiled by default.

    Returns:
        One int32 for each row or column, −1 if it is unmatched.

    Raises:
        TypeError: `graph` is not sparse, or in another format.
        ValueError: unlike in SciPy, its indices lead out of it.

    >>> from scipy.sparse import csr_array
    >>> maximum_bipartite_matching(csr_array([[1, 0, 0], [1, 0, 1]]), perm_type="column")
    array([0, 2], dtype=int32)
    """
    if not _is_sparse(graph):
        raise TypeError("graph must be sparse")
    if graph.format not in ("csr", "csc", "coo"):
        raise TypeError("graph must be in CSC, CSR, or COO format.")
    num_rows, num_columns = graph.shape
    entries = undamaged(graph).tocoo(copy=False)  # drops nothing: a stored zero stays an entry
    matrix = BipartiteGraph(num_rows, num_columns, entries.row, entries.col)
    columns = maximum_matching(matrix, engine).astype(np.int32, copy=False)
    if perm_type == "column":
        return columns
    rows = np.full(num_columns, -1, np.int32)
    matched = np.flatnonzero(columns >= 0)
    rows[columns[matched]] = matched
    return rows


def min_weight_full_bipartite_matching(
    biadjacency: Any, maximize: bool = False, *, engine: str = COMPILED
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Match every row or every column of a sparse matrix, whichever are fewer, at the least weight.

    See `scipy.sparse.csgraph.min_weight_full_bipartite_matching`. Every stored entry is an edge,
    except zeros, which SciPy warns about, and infinity (with `maximize`, minus infinity).

    Args:
        biadjacency: a sparse matrix or array in CSR, CSC or COO format.
        maximize: find the greatest weight.
        engine: how the network is computed, as in `augury.solve`; compiled by default.

    Returns:
        The matched rows, sorted, and the column of each.

    Raises:
        TypeError: `biadjacency` is not sparse, or in another format.
        ValueError: there is no full matching; or, unlike in SciPy, a weight is NaN, or infinitely
            good, or indices lead out of the matrix.

    >>> from scipy.sparse import csr_array
    >>> rows, columns = min_weight_full_bipartite_matching(csr_array([[4, 1, 0], [2, 6, 0]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
    num_rows, num_columns = shape = _checked_shape(biadjacency)
    rows, columns, weights = _sorted_entries(biadjacency)
    if not weights.all():
        warnings.warn("explicit zero weights are removed before matching", stacklevel=2)
    kept = weights != 0
    if weights.dtype.kind == "f":
        bad = -np.inf if maximize else np.inf
        if np.isnan(weights).any() or (weights == -bad).any():
            raise InputError("matrix contains invalid numeric entries")
        kept &= weights != bad
    ends = rows[kept], columns[kept]
    pairs = least_cost_matching(shape, ends, weights[kept], bool(maximize), engine)
    if len(pairs) < min(shape):
        raise ValueError("no full matching exists")
    types = (np.int32, np.int64) if num_columns < num_rows else (np.int64, np.int32)
    return pairs[:, 0].astype(types[0]), pairs[:, 1].astype(types[1])


def linear_sum_assignment(
    cost_matrix: Any, maximize: bool = False, *, engine: str = COMPILED
) -> tuple[WideArray, WideArray]:
    """Assign every row or every column, whichever are fewer, at the least sum of costs.

    See `scipy.optimize.linear_sum_assignment`. Infinity (with `maximize`, minus infinity) forbids
    a pair.

    Args:
        cost_matrix: a matrix of booleans, integers or floats.
        maximize: find the greatest sum.
        engine: how the network is computed, as in `augury.solve`; compiled by default.

    Returns:
        The assigned rows, sorted, and the column of each.

    Raises:
        TypeError: the matrix does not hold numbers.
        ValueError: it is not two-dimensional, holds NaN or an infinitely good cost, or has no
            assignment without a forbidden pair; or, unlike in SciPy, masked entries.

    >>> linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    (array([0, 1, 2]), array([1, 0, 2]))
    """
    costs = _cost_matrix(cost_matrix)
    if costs.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {costs.ndim} array")
    rows, columns = np.nonzero(np.ones(costs.shape, np.bool_))
    entries = costs.reshape(-1)
    if costs.dtype.kind == "f" and not (is_finite := np.isfinite(entries)).all():
        bad = -np.inf if maximize else np.inf
        if (~is_finite & (entries != bad)).any():
            raise ValueError("matrix contains invalid numeric entries")
        rows, columns, entries = rows[is_finite], columns[is_finite], entries[is_finite]
    size = costs.shape[0], costs.shape[1]
    pairs = least_cost_matching(size, (rows, columns), entries, bool(maximize), engine)
    if len(pairs) < min(costs.shape):
        raise ValueError("cost matrix is infeasible")
    return pairs[:, 0], pairs[:, 1]


def maximum_flow(
    csgraph: Any, source: int, sink: int, *, method: str = "dinic", engine: str = COMPILED
) -> MaximumFlowResult:
    """Find a maximum flow between two nodes of a sparse matrix of capacities.

    See `scipy.sparse.csgraph.maximum_flow`.

    Args:
        csgraph: a square CSR matrix or array of integers, each the capacity of an edge.
        source: the row that the flow leaves.
        sink: the row that the flow reaches.
        method: one of SciPy's `METHODS`; checked and otherwise ignored.
        engine: how the network is computed, as in `augury.solve`; compiled by default.

    Returns:
        SciPy's own `MaximumFlowResult`: `flow_value`, and `flow` as CSR of int32, an array or a
        matrix like the input. `flow[i, j] == -flow[j, i]`, and both are stored for every stored
        entry of the input.

    Raises:
        TypeError: `csgraph` is not in CSR format.
        ValueError: it is not square or does not hold integers, source and sink are equal or out of
            range, or a capacity is not in 0..`LARGEST`.

    >>> from scipy.sparse import csr_array
    >>> result = maximum_flow(csr_array([[0, 5, 0], [0, 0, 3], [0, 0, 0]]), 0, 2)
    >>> int(result.flow_value), result.flow.toarray().tolist()
    (3, [[0, 3, 0], [-3, 0, 3], [0, -3, 0]])
    """
    from scipy.sparse.csgraph._flow import MaximumFlowResult

    capacities = _checked(csgraph, source, sink, method)
    source, sink = index(source), index(sink)
    pattern = _with_reverse(capacities)
    entries, edges = pattern.tocoo(), capacities.tocoo()
    size, columns = len(pattern.indptr) - 1, (edges.row, edges.col, edges.data)
    network = FlowNetwork.from_arcs(size, *columns, source=source, sink=sink)
    flow = np.append(network.found(maximum_residual(network, engine)), 0)
    # A self loop is not an arc: its index, −1, picks the 0 at the end.
    arcs = network.arc_index(entries.row.astype(np.int64), entries.col.astype(np.int64))
    pattern.data = flow[arcs].astype(np.int32)
    value = pattern.data[pattern.indptr[source] : pattern.indptr[source + 1]].sum(dtype=np.int64)
    return MaximumFlowResult(value, pattern)


def _checked(csgraph: Any, source: Any, sink: Any, method: Any) -> Any:
    """Raise SciPy's errors in SciPy's order, then ours; return a copy in canonical int64 CSR."""
    if not (_is_sparse(csgraph) and csgraph.format == "csr"):
        raise TypeError("graph must be in CSR format")
    if not issubclass(csgraph.dtype.type, np.integer):
        raise ValueError("graph capacities must be integers")
    if source == sink:
        raise ValueError("source and sink vertices must differ")
    if csgraph.ndim != 2 or csgraph.shape[0] != csgraph.shape[1]:
        raise ValueError("graph must be specified as a square matrix.")
    last = csgraph.shape[0] - 1
    for end, node in (("source", source), ("sink", sink)):
        if node < 0 or node > last:
            raise ValueError(f"{end} value ({node}) must be between 0 and {last}")
    if method not in METHODS:
        raise ValueError(f"{method} method is not supported yet.")
    _refuse_out_of_range(csgraph.data)  # before any conversion can truncate a number
    capacities = undamaged(csgraph).astype(np.int64, copy=True)
    capacities.sum_duplicates()
    _refuse_out_of_range(capacities.data)
    return capacities


def _checked_shape(biadjacency: Any) -> tuple[int, int]:
    """Raise SciPy's errors; return the numbers of rows and columns."""
    if not _is_sparse(biadjacency):
        raise TypeError("graph must be sparse")
    if biadjacency.format not in ("csr", "csc", "coo"):
        raise TypeError("graph must be in CSC, CSR, or COO format.")
    if biadjacency.ndim != 2:
        raise ValueError("need more than 1 value to unpack")
    return biadjacency.shape


def _sorted_entries(matrix: Any) -> tuple[Numbers, Numbers, npt.NDArray[Any]]:
    """Return the row, column and weight of each entry, sorted; duplicate entries are added up."""
    entries = undamaged(matrix).tocoo(copy=False)
    weights = entries.data if matrix.dtype.kind in "biu" else entries.data.astype(np.float64)
    order = np.lexsort((entries.col, entries.row))
    rows, columns, weights = entries.row[order], entries.col[order], weights[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    if is_new.all():
        return rows, columns, weights
    if weights.dtype.kind != "f":
        weights = weights.astype(np.int64 if weights.dtype.kind == "b" else object)  # no overflow
    first = np.flatnonzero(is_new)
    return rows[first], columns[first], np.add.reduceat(weights, first)


def _cost_matrix(given: Any) -> npt.NDArray[Any]:
    """Return an array of integers or float64, converted as SciPy does."""
    array = unmasked(given, "matrix of costs")
    if array.dtype.kind in "biu":
        return array
    if isinstance(given, np.ndarray):
        return array.astype(np.float64, casting="safe")
    return np.asarray(given, np.float64)


def _is_sparse(graph: Any) -> bool:
    import scipy.sparse

    return scipy.sparse.issparse(graph)


def _refuse_out_of_range(data: npt.NDArray[Any]) -> None:
    for capacity in (int(data.min()), int(data.max())) if len(data) else ():
        if not 0 <= capacity <= LARGEST:
            raise InputError(f"graph capacities must be from 0 to {LARGEST}, not {capacity}")


def _with_reverse(capacities: Any) -> Any:
    """Return the entries of the matrix and of its transpose, sorted, explicit zeros included."""
    ones = capacities.copy()
    ones.data = np.ones_like(ones.data)
    both = (ones + ones.T).tocsr()  # no sum is zero, so none is dropped
    both.sort_indices()
    both.indices, both.indptr = both.indices.astype(np.int32), both.indptr.astype(np.int32)
    return both
