"""Matrices become graphs: arrays, tensors and SciPy's sparse matrices.

Rows are left nodes, columns right nodes, and non-zeros edges; with source and sink an entry is the
capacity of an arc. If the caller says that entries are costs, each is an edge. Otherwise entries
that differ may be costs, and two rows or columns of whole numbers may be the ends of edges: both
are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import refuse_text, unmasked
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.inputs.costs import Said, graphs_differ, numbers_differ


def is_of(graph: Any, *libraries: str) -> bool:
    """Tell by the modules of its class whether an object comes from one of the libraries."""
    return any(kind.__module__.partition(".")[0] in libraries for kind in type(graph).__mro__)


def is_array(graph: Any) -> bool:
    """Recognise a NumPy array or a PyTorch tensor."""
    return isinstance(graph, np.ndarray) or (is_of(graph, "torch") and hasattr(graph, "numpy"))


def is_sparse(graph: Any) -> bool:
    """Recognise a SciPy sparse matrix or array, or a two-dimensional sparse PyTorch tensor."""
    return (is_of(graph, "scipy") and hasattr(graph, "tocoo")) or (
        _is_sparse_tensor(graph) and graph.ndim == 2 and graph.dense_dim() == 0
    )


def as_array(graph: Any, what: str = "tensor") -> npt.NDArray[Any]:
    """Return an array, or a tensor on any device, of any layout and type, as an array."""
    if isinstance(graph, np.ndarray):
        return unmasked(graph, what)
    try:
        return _as_numpy(_widened(graph).to_dense() if _is_sparse_tensor(graph) else graph)
    except (RuntimeError, TypeError) as error:  # a tensor without data, or of an unknown type
        reason = str(error).partition("\n")[0]
        raise InputError(f"the {what} cannot be read as an array: {reason}") from None


def from_array(graph: Any, said: Said) -> Graph:
    """Read a dense matrix."""
    array = as_array(graph, "matrix")
    if said.costs:
        return _from_costs(array, said)
    if said.ends is not None:
        return FlowNetwork.from_dense(array, *said.ends)
    if array.ndim == 2:
        _refuse_labels(array)
    read = BipartiteGraph.from_dense(array)
    _refuse_two_readings(array)
    _refuse_costs(array, said)
    return read


def from_sparse(graph: Any, said: Said) -> Graph:
    """Read a sparse matrix; entries are compared, as costs, before duplicates are summed."""
    matrix = _tensor_as_scipy(graph) if _is_sparse_tensor(graph) else graph
    if said.costs:
        return _from_costs(matrix, said)
    if said.ends is not None:
        return FlowNetwork.from_scipy(matrix, *said.ends)
    read = BipartiteGraph.from_scipy(matrix)
    has_entries = matrix.format in ("csr", "csc", "coo")
    _refuse_costs(matrix.data if has_entries else matrix.tocoo(copy=False).data, said)
    return read


def _from_costs(matrix: Any, said: Said) -> BipartiteGraph:
    if said.ends is not None:
        way = "give a list of arcs (tail, head, capacity, cost)"
        raise InputError(f"a matrix holds capacities or costs, not both: {way}")
    return BipartiteGraph.from_costs(matrix, said.maximise)


def as_stack(graphs: Any) -> npt.NDArray[Any] | None:
    """Return many graphs as one (graph, left, right) array of numbers, if they are one."""
    if not is_array(graphs):
        return None
    array = as_array(graphs, "stack of graphs")
    if array.ndim != 3 or array.dtype.kind not in "biuf":
        return None
    if _has_two_readings(array) or graphs_differ(array):  # NaN differs too
        return None  # as_graphs refuses it with the graph's number
    return array


def _refuse_labels(array: npt.NDArray[Any]) -> None:
    """Raise InputError for text and objects, with a hint if they could be pairs."""
    try:
        refuse_text(array, "the matrix")
    except InputError as error:
        if array.shape[1] != 2:
            raise
        raise InputError(f"{error}; pairs of nodes are a list, array.tolist()") from None


def _refuse_costs(entries: npt.NDArray[Any], said: Said) -> None:
    if numbers_differ(entries):
        way = "give `matrix != 0` for its edges alone"
        raise said.refusal("the entries of the matrix differ", way)


def _refuse_two_readings(array: npt.NDArray[Any]) -> None:
    """Raise InputError for what could be a matrix or, as in PyG, the two ends of edges."""
    if not _has_two_readings(array):
        return
    rows, columns = array.shape
    way = "array.T.tolist()" if rows == 2 else "array.tolist()"
    raise InputError(
        f"an array of {rows} x {columns} whole numbers can be read in two ways: give `array != 0` "
        f"if it is a matrix, or BipartiteGraph.from_edges({way}) if it holds the ends of edges"
    )


def _has_two_readings(array: npt.NDArray[Any]) -> bool:
    """Recognise two rows or columns of whole numbers that are not all 0 and 1."""
    if 2 not in array.shape[-2:] or array.dtype.kind not in "iu" or not array.size:
        return False
    return bool(array.min() < 0 or array.max() > 1)


def _is_sparse_tensor(graph: Any) -> bool:
    return is_of(graph, "torch") and str(getattr(graph, "layout", "")).startswith("torch.sparse")


def _tensor_as_scipy(tensor: Any) -> Any:
    """Return a sparse tensor as SciPy's COO, duplicates kept: PyTorch would sum them."""
    import scipy.sparse

    coo = tensor if str(tensor.layout) == "torch.sparse_coo" else tensor.to_sparse_coo()
    places, values = coo._indices(), coo._values()
    values = values.double() if values.is_floating_point() else values  # SciPy lacks narrow floats
    entries = as_array(values), tuple(as_array(places))
    return scipy.sparse.coo_array(entries, shape=tuple(tensor.shape))


def _widened(tensor: Any) -> Any:
    """Return a sparse tensor in 64 bits, so that duplicates can be summed."""
    if tensor.is_complex():
        return tensor
    return tensor.double() if tensor.is_floating_point() else tensor.long()


def _as_numpy(tensor: Any) -> npt.NDArray[Any]:
    tensor = tensor.detach().cpu()
    try:
        return tensor.resolve_conj().resolve_neg().numpy()
    except TypeError:  # NumPy lacks bfloat16 and smaller types; all fit in float64
        return tensor.double().numpy()
