"""SciPy's contract: the same arguments, types and errors, and equally large legal answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

import augury
from augury import BipartiteGraph, FlowNetwork, InputError
from augury.scipy_like import LARGEST
from graphs import bipartite_graphs, networks

EDGE = sp.csr_array([[0, 5], [0, 0]])
OBLONG = sp.csr_array([[0, 1, 2], [2, 1, 0]])


def matrix_of(graph: BipartiteGraph, kind: Callable[..., Any] = sp.csr_array) -> Any:
    """Return the graph with whatever as entries, zeros among them: only the pattern counts."""
    entries = np.arange(graph.num_edges, dtype=np.float64) % 3
    return kind((entries, (graph.left, graph.right)), shape=(graph.num_left, graph.num_right))


@given(bipartite_graphs(), st.sampled_from(["row", "column"]))
def test_a_matching_is_legal_and_as_large_as_scipys(graph: BipartiteGraph, perm_type: str) -> None:
    matrix = matrix_of(graph)
    ours = augury.maximum_bipartite_matching(matrix, perm_type)
    theirs = csgraph.maximum_bipartite_matching(matrix, perm_type)  # type: ignore[arg-type]
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert (ours >= 0).sum() == (theirs >= 0).sum()
    matched = np.flatnonzero(ours >= 0)
    assert len(np.unique(ours[matched])) == len(matched)
    pairs = (matched, ours[matched]) if perm_type == "column" else (ours[matched], matched)
    assert (graph.edge_index(*pairs) >= 0).all()


def test_explicit_zeros_and_nan_are_edges() -> None:
    matrix = sp.csr_array((np.array([0, np.nan]), [1, 0], [0, 1, 2]), shape=(2, 2))
    assert augury.maximum_bipartite_matching(matrix).tolist() == [1, 0]


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_every_format_that_scipy_takes_is_taken_and_left_alone(kind: Callable[..., Any]) -> None:
    matrix = kind(np.array([[1, 1, 0], [1, 0, 0]]))
    before = matrix.copy()
    assert augury.maximum_bipartite_matching(matrix, "column").tolist() == [1, 0]
    assert augury.maximum_bipartite_matching(matrix, "neither").tolist() == [1, 0, -1]
    assert (matrix != before).nnz == 0
    assert matrix.nnz == before.nnz


@given(networks())
def test_a_flow_is_legal_and_as_large_as_scipys(network: FlowNetwork) -> None:
    matrix = network.to_scipy()
    ours = augury.maximum_flow(matrix, network.source, network.sink)
    theirs = csgraph.maximum_flow(matrix, network.source, network.sink)
    assert ours.flow_value == theirs.flow_value
    flow = ours.flow.toarray()
    assert (flow == -flow.T).all()
    assert (flow <= matrix.toarray()).all()
    inner = np.setdiff1d(np.arange(network.num_nodes), [network.source, network.sink])
    assert not flow.sum(axis=1)[inner].any()
    assert flow.sum(axis=1)[network.source] == ours.flow_value


@given(networks(high=4), st.booleans(), st.sampled_from([np.int8, np.int32, np.uint64]))
def test_types_and_pattern_of_a_flow_are_scipys(
    network: FlowNetwork, is_matrix: bool, dtype: type
) -> None:
    dense = network.to_scipy().toarray().astype(dtype)
    dense[0, 0] = 2  # a self loop
    matrix: Any = (sp.csr_matrix if is_matrix else sp.csr_array)(dense)
    matrix.data[::3] = 0  # and explicit zeros
    before = matrix.copy()
    ours: Any = augury.maximum_flow(matrix, network.source, network.sink)
    theirs: Any = csgraph.maximum_flow(matrix, network.source, network.sink)
    assert type(ours) is type(theirs)
    assert type(ours.flow_value) is type(theirs.flow_value)
    assert type(ours.flow) is type(theirs.flow)
    assert repr(ours) == repr(theirs)
    for name in ("indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours.flow, name), getattr(theirs.flow, name))
        assert getattr(ours.flow, name).dtype == getattr(theirs.flow, name).dtype
    assert ours.flow.dtype == theirs.flow.dtype
    assert (matrix.dtype, matrix.data.tolist()) == (before.dtype, before.data.tolist())


def test_the_largest_capacities_do_not_overflow() -> None:
    dense = np.zeros((4, 4), np.int64)
    dense[0, 1] = dense[0, 2] = dense[1, 3] = dense[2, 3] = dense[3, 1] = LARGEST
    result = augury.maximum_flow(sp.csr_array(dense), 0, 3)
    assert (
        result.flow_value
        == 2 * LARGEST
        == csgraph.maximum_flow(sp.csr_array(dense), 0, 3).flow_value
    )


def test_unsorted_and_double_entries_are_one_edge() -> None:
    matrix = sp.csr_array((np.array([3, 4, 1]), [2, 1, 2], [0, 3, 3, 3]), shape=(3, 3))
    result = augury.maximum_flow(matrix, 0, 2)
    assert result.flow_value == 4
    assert matrix.data.tolist() == [3, 4, 1]


@pytest.mark.parametrize("name", ["maximum_flow", "maximum_bipartite_matching"])
def test_signatures_are_scipys(name: str) -> None:
    ours = inspect.signature(getattr(augury, name)).parameters.values()
    theirs = inspect.signature(getattr(csgraph, name)).parameters.values()
    plain = [[(p.name, p.kind, p.default) for p in each] for each in (ours, theirs)]
    assert plain[0] == plain[1]


WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("maximum_flow", (EDGE.toarray(), 0, 1), {}),
    ("maximum_flow", (EDGE.tocsc(), 0, 1), {}),
    ("maximum_flow", (EDGE.tocoo(), 0, 1), {}),
    ("maximum_flow", (None, 0, 1), {}),
    ("maximum_flow", (EDGE.astype(float), 0, 1), {}),
    ("maximum_flow", (EDGE.astype(bool), 0, 1), {}),
    ("maximum_flow", (EDGE.astype(complex), 5, 5), {}),
    ("maximum_flow", (EDGE, 0, 0), {}),
    ("maximum_flow", (EDGE, 7, 7), {}),
    ("maximum_flow", (OBLONG, 0, 0), {}),
    ("maximum_flow", (OBLONG, 0, 1), {}),
    ("maximum_flow", (OBLONG, -1, 7), {}),
    ("maximum_flow", (EDGE, -1, 7), {}),
    ("maximum_flow", (EDGE, 2, 1), {}),
    ("maximum_flow", (EDGE, 0, 2**40), {}),
    ("maximum_flow", (EDGE, "0", 1), {}),
    ("maximum_flow", (EDGE, 0, None), {}),
    ("maximum_flow", (EDGE, 0, 1), {"method": "simplex"}),
    ("maximum_flow", (EDGE, 0, 9), {"method": None}),
    ("maximum_flow", (sp.csr_array((0, 0), dtype=int), 0, 1), {}),
    ("maximum_flow", (sp.csr_array((1, 1), dtype=int), 0, 1), {}),
    ("maximum_bipartite_matching", (EDGE.toarray(),), {}),
    ("maximum_bipartite_matching", ([[0, 1]],), {}),
    ("maximum_bipartite_matching", (None,), {"perm_type": "column"}),
    *(
        ("maximum_bipartite_matching", (EDGE.asformat(name),), {})
        for name in ("lil", "dok", "dia", "bsr")
    ),
]


@pytest.mark.parametrize(("name", "args", "options"), WRONG)
def test_errors_are_scipys(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as theirs:
        getattr(csgraph, name)(*args, **options)
    with pytest.raises((TypeError, ValueError)) as ours:
        getattr(augury, name)(*args, **options)
    assert (ours.type, str(ours.value)) == (theirs.type, str(theirs.value))


@pytest.mark.parametrize("capacity", [-4, 2**31, 2**40 + 7, 2**63 - 1, 2**64 - 1])
def test_capacities_that_scipy_would_get_wrong_are_refused(capacity: int) -> None:
    message = f"graph capacities must be from 0 to 2147483647, not {capacity}"
    with pytest.raises(InputError, match=message):
        dtype = np.int64 if capacity < 2**63 else np.uint64
        augury.maximum_flow(sp.csr_array(np.array([[0, capacity], [0, 0]], dtype)), 0, 1)


def test_double_entries_beyond_int32_together_and_half_nodes_are_refused() -> None:
    double = sp.csr_array((np.array([LARGEST, 1]), [1, 1], [0, 2, 2]), shape=(2, 2))
    with pytest.raises(InputError, match="not 2147483648"):
        augury.maximum_flow(double, 0, 1)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        augury.maximum_flow(EDGE, 0, 0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="square"):  # SciPy crashes here
        augury.maximum_flow(sp.coo_array(np.array([0, 1])).tocsr(), 0, 1)
