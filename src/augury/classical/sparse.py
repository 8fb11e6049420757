"""A SciPy sparse matrix becomes its entries: duplicates summed exactly, nothing rounded."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from augury.classical.arrays import refuse_nan, summed
from augury.errors import InputError


def without_zeros(matrix: Any) -> Any:
    """Return a SciPy sparse matrix as COO with duplicates summed exactly and zeros dropped."""
    csr = _canonical(matrix)
    if csr is None:
        csr = _summed_entries(matrix)
        csr.eliminate_zeros()
    return csr.tocoo(copy=False)


def _canonical(matrix: Any) -> Any:
    """Return a canonical CSR matrix without zeros, its memory shared; None for any other matrix."""
    if getattr(matrix, "format", "") != "csr" or matrix.ndim != 2 or not matrix.data.all():
        return None
    csr = undamaged(matrix)
    if not csr.has_canonical_format:
        return None
    refuse_nan(csr.data, "the sparse matrix")
    return csr


def undamaged(matrix: Any) -> Any:
    """Return a SciPy matrix, its memory shared, once its indices are known to lie within it.

    SciPy's loops follow those of compressed formats wherever they lead; others it checks itself.
    """
    if not hasattr(matrix, "indptr"):
        return matrix
    try:
        parts = matrix.data, matrix.indices, matrix.indptr
        own = type(matrix)(parts, shape=matrix.shape)  # because the check tidies up
        own.check_format(full_check=True)
    except ValueError as error:
        raise _damaged(error) from None
    return own


def _damaged(error: ValueError) -> InputError:
    return InputError(f"the sparse matrix is damaged: {error}")


def stored_entries(matrix: Any) -> Any:
    """Return a SciPy sparse matrix as COO with duplicates summed exactly and zeros kept."""
    return _summed_entries(matrix).tocoo(copy=False)


def _summed_entries(matrix: Any) -> Any:
    """Return a SciPy sparse matrix as CSR, a copy, with duplicates summed exactly."""
    import scipy.sparse

    if not cast("bool", scipy.sparse.issparse(matrix)):
        raise InputError(f"expected a SciPy sparse matrix, got {type(matrix).__name__}")
    if matrix.ndim != 2:
        raise InputError(f"a sparse matrix must have two dimensions, not {matrix.ndim}")
    matrix = undamaged(matrix)
    # The COO form shares the user's memory; only the CSR copy, with duplicates summed, is changed.
    try:
        coo: Any = scipy.sparse.coo_array(matrix)
        csr: Any = coo.tocsr()
    except ValueError as error:  # an index beyond the shape
        raise _damaged(error) from None
    if csr.nnz < coo.nnz:  # SciPy has summed in the matrix's own type, which may overflow
        csr = _summed_exactly(coo)
    refuse_nan(csr.data, "the sparse matrix")
    return csr


def _summed_exactly(coo: Any) -> Any:
    """Return a COO matrix as CSR with duplicates summed: whole numbers as int64, or refused."""
    import scipy.sparse

    data = coo.data
    if data.dtype.kind == "f" and ((np.floor(data) == data) & (np.abs(data) < 2.0**63)).all():
        data = data.astype(np.int64)
    if data.dtype.kind not in "biu":
        return coo.astype(np.promote_types(data.dtype, np.float64)).tocsr()
    key = coo.row.astype(np.int64) * coo.shape[1] + coo.col
    data = data if data.dtype == np.uint64 else data.astype(np.int64)
    key, data, overflows = summed(key, data, coo.shape[0] * coo.shape[1])
    row, column = np.divmod(key, coo.shape[1])
    if overflows.any():
        at = int(overflows.argmax())
        place = f"row {row[at]}, column {column[at]}"
        raise InputError(f"the entries at {place} add up to more than 64 bits hold")
    return scipy.sparse.csr_array((data, (row, column)), shape=coo.shape)
