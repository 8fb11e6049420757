"""SciPy's contract: the same arguments, types and errors, and equally large legal answers."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

import augury
from augury import BipartiteGraph, FlowNetwork, InputError
from augury.engines import match_sparse
from augury.scipy_like import LARGEST
from graphs import bipartite_graphs, networks

optimize: Any = scipy.optimize
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


@pytest.mark.parametrize(
    "name", ["maximum_flow", "maximum_bipartite_matching", "min_weight_full_bipartite_matching"]
)
def test_signatures_are_scipys(name: str) -> None:
    ours = inspect.signature(getattr(augury, name)).parameters.values()
    theirs = inspect.signature(getattr(csgraph, name)).parameters.values()
    plain = [[(p.name, p.kind, p.default) for p in each] for each in (ours, theirs)]
    assert [p for p in plain[0] if p[0] != "engine"] == plain[1]


SCIPY_CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("maximum_bipartite_matching", (OBLONG,)),
    ("maximum_flow", (EDGE, 0, 1)),
    ("min_weight_full_bipartite_matching", (OBLONG,)),
    ("linear_sum_assignment", (OBLONG.toarray(),)),
]


@pytest.mark.parametrize(("name", "args"), SCIPY_CALLS)
def test_the_engine_can_be_named_and_is_the_compiled_one_by_default(
    name: str, args: tuple[Any, ...], engines_run: list[str]
) -> None:
    for engine in ("table", "lookup"):
        getattr(augury, name)(*args, engine=engine)
    getattr(augury, name)(*args)
    assert engines_run == ["table", "lookup", "table"]
    with pytest.raises(InputError, match="'fastest' is not one of the engines"):
        getattr(augury, name)(*args, engine="fastest")


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
    ("min_weight_full_bipartite_matching", ([[1, 2]],), {}),
    ("min_weight_full_bipartite_matching", (None, True), {}),
    ("min_weight_full_bipartite_matching", (sp.csr_array((2, 3)),), {}),
    ("min_weight_full_bipartite_matching", (sp.coo_array(np.array([1, 2])),), {}),
    *(
        (function, (EDGE.asformat(name),), {})
        for function in ("maximum_bipartite_matching", "min_weight_full_bipartite_matching")
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


INFINITY = float("inf")


@st.composite
def cost_matrices(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """Draw matrices of every kind of number: few ties or many, tiny or huge, forbidden or not."""
    shape = draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
    entry: st.SearchStrategy[Any] = draw(
        st.sampled_from(
            [
                st.booleans(),
                st.integers(-3, 3),
                st.integers(-(10**9), 10**9),
                st.floats(-1, 1),
                st.sampled_from([0.1, 0.25, 1e-300, 1.0, 1e300, INFINITY]),
                st.sampled_from([1.0, 2.0, 3.0, INFINITY]),
            ]
        )
    )
    size = shape[0] * shape[1]
    return np.array(draw(st.lists(entry, min_size=size, max_size=size))).reshape(shape)


def exact_sum(matrix: Any, rows: Any, columns: Any) -> Fraction:
    return sum(
        (Fraction(matrix[i, j].item()) for i, j in zip(rows, columns, strict=True)), Fraction(0)
    )


@given(cost_matrices(), st.booleans())
def test_an_assignment_costs_no_more_than_scipys(matrix: Any, maximize: bool) -> None:
    given_matrix = -matrix if maximize and matrix.dtype.kind != "b" else matrix
    before = given_matrix.copy()
    try:
        theirs = optimize.linear_sum_assignment(given_matrix, maximize)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)):
            augury.linear_sum_assignment(given_matrix, maximize)
        return
    ours = augury.linear_sum_assignment(given_matrix, maximize)
    assert [ends.dtype for ends in ours] == [ends.dtype for ends in theirs]
    assert len(ours[0]) == len(theirs[0]) == min(matrix.shape)
    assert (np.diff(ours[0]) > 0).all() and len(np.unique(ours[1])) == len(ours[1])
    np.testing.assert_array_equal(given_matrix, before)
    sign = -1 if maximize else 1
    gain = sign * (exact_sum(given_matrix, *theirs) - exact_sum(given_matrix, *ours))
    # SciPy adds in floats, so that of huge and tiny costs it may miss the tiny ones.
    assert gain == 0 or (gain > 0 and matrix.dtype.kind == "f")


def test_random_assignments_of_every_shape_cost_what_scipys_do() -> None:
    rng = np.random.default_rng(0)
    for k in range(60):
        shape, high, maximize = rng.integers(1, 10, 2), (5, 1_000, 2**31)[k % 3], k % 2 == 0
        matrix = rng.integers(-high, high, shape)
        best = matrix[optimize.linear_sum_assignment(matrix, maximize=maximize)].sum()
        assert matrix[augury.linear_sum_assignment(matrix, maximize=maximize)].sum() == best


def test_costs_that_floats_round_away_decide() -> None:
    large = 2**62
    matrix = np.array([[large, large - 1], [1, 1]])
    assert augury.linear_sum_assignment(matrix)[1].tolist() == [1, 0]
    assert augury.linear_sum_assignment(matrix, maximize=True)[1].tolist() == [0, 1]
    assert augury.linear_sum_assignment(matrix.astype(np.uint64) * 3, True)[1].tolist() == [0, 1]
    tiny = np.array([[1e300, 1.0], [1.0, 5e-324]])
    assert augury.linear_sum_assignment(tiny)[1].tolist() == [1, 0]
    assert augury.linear_sum_assignment(tiny + np.diag([0, 1.0]))[1].tolist() == [1, 0]


ASSIGNMENTS: list[Any] = [
    [1, 2],
    5,
    None,
    {},
    "ab",
    [[]],
    [[], []],
    np.zeros((0, 3)),
    np.zeros((2, 2, 2)),
    [["a", "b"]],
    np.array([["1", "2"]]),
    [[1 + 2j]],
    [[None, 1]],
    [[None]],
    np.array([[1, 2]], object),
    [[1, 2], [3]],
    np.array([[1, 2]], "m8[s]"),
    np.array([[1, 2]], np.longdouble),
    np.array([[1, 2]], np.float16),
    sp.csr_array([[1, 2]]),
    pd.DataFrame({"a": [1, 4], "b": [2.5, 2]}),
    pd.DataFrame({"a": [1, 4], "b": ["2", 2]}),
    [[True, False]],
    [[2**70, 1]],
    [[INFINITY, -INFINITY]],
    [[INFINITY, 1], [INFINITY, 2]],
    [[float("nan"), 1]],
    [[-INFINITY, 1]],
]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("matrix", ASSIGNMENTS, ids=lambda x: repr(x)[:30])
def test_what_scipy_takes_for_a_matrix_is_taken_and_else_its_errors_raised(
    matrix: Any, maximize: bool
) -> None:
    def outcome(function: Callable[..., Any]) -> Any:
        try:
            return [ends.tolist() for ends in function(matrix, maximize=maximize)]
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    assert outcome(augury.linear_sum_assignment) == outcome(optimize.linear_sum_assignment)


def test_a_masked_cost_is_refused() -> None:
    masked = np.ma.array([[1, 2]], mask=[[True, False]])
    with pytest.raises(InputError, match="masked entries in the matrix of costs"):
        augury.linear_sum_assignment(masked)
    assert augury.linear_sum_assignment(np.ma.array([[2, 1]]))[1].tolist() == [1]


@given(cost_matrices(), st.booleans(), st.sampled_from([sp.csr_array, sp.csc_array, sp.coo_matrix]))
def test_a_full_matching_weighs_no_more_than_scipys(
    matrix: Any, maximize: bool, kind: Callable[..., Any]
) -> None:
    stored: Any = kind(-matrix if maximize and matrix.dtype.kind != "b" else matrix)
    before = stored.data.copy()
    try:
        theirs: Any = csgraph.min_weight_full_bipartite_matching(stored, maximize)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)):
            augury.min_weight_full_bipartite_matching(stored, maximize)
        return
    ours = augury.min_weight_full_bipartite_matching(stored, maximize)
    assert [ends.dtype for ends in ours] == [ends.dtype for ends in theirs]
    assert (np.diff(ours[0]) > 0).all() and len(np.unique(ours[1])) == len(ours[1])
    np.testing.assert_array_equal(stored.data, before)
    dense = stored.toarray()
    assert all(dense[ours])
    sign = -1 if maximize else 1
    gain = sign * (exact_sum(dense, *theirs) - exact_sum(dense, *ours))
    assert gain == 0 or (gain > 0 and matrix.dtype.kind == "f")


def test_of_explicit_zeros_scipys_warning_is_given() -> None:
    zero = sp.csr_array(((2, 0, 3), (0, 1, 1), (0, 2, 3)))
    for matrix in (zero, zero.tocoo()):
        with pytest.warns(UserWarning, match="explicit zero weights are removed") as heard:
            rows, columns = augury.min_weight_full_bipartite_matching(matrix)
        assert heard[0].filename == __file__
        assert (rows.tolist(), columns.tolist()) == ([0, 1], [0, 1])


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.uint64, np.float64])
def test_double_entries_are_added_up(dtype: Any) -> None:
    large = {np.bool_: 1, np.int8: 100, np.float64: 5.5}.get(dtype, 2**62)
    entries = np.array([large, large, large, large, 1, 1], dtype)
    places = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 1]])
    for matrix in (
        sp.coo_array((entries, places), shape=(2, 2)),
        sp.csr_array((entries, places[1], [0, 4, 6]), shape=(2, 2)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ours = augury.min_weight_full_bipartite_matching(matrix)
            assert ours[1].tolist() == [1, 0]
            ours = augury.min_weight_full_bipartite_matching(matrix, maximize=True)
            assert ours[1].tolist() == [0, 1]
        if dtype is np.int8:  # SciPy's sums of the others are rounded, or are none
            theirs: Any = csgraph.min_weight_full_bipartite_matching(matrix)
            assert theirs[1].tolist() == [1, 0]


@pytest.mark.parametrize("weight", [float("nan"), -INFINITY])
def test_weights_that_scipy_would_get_wrong_are_refused(weight: float) -> None:
    matrix = sp.csr_array(np.array([[weight, 1], [1, 1]]))
    with pytest.raises(InputError, match="matrix contains invalid numeric entries"):
        augury.min_weight_full_bipartite_matching(matrix)
    if weight == -INFINITY:
        assert augury.min_weight_full_bipartite_matching(matrix, True)[1].tolist() == [1, 0]


TAKE_SPARSE: dict[str, Callable[[Any], Any]] = {
    "matching": augury.maximum_bipartite_matching,
    "least weight": augury.min_weight_full_bipartite_matching,
    "flow": lambda matrix: augury.maximum_flow(matrix, 0, 1),
    "match_sparse": match_sparse,
    "solve": augury.solve,
}


@pytest.mark.parametrize("take", TAKE_SPARSE.values(), ids=TAKE_SPARSE)
@pytest.mark.parametrize("name", ["indices", "indptr"])
@pytest.mark.parametrize("number", [10**7, -7])
def test_a_matrix_whose_indices_lead_out_of_it_is_refused(
    take: Callable[[Any], Any], name: str, number: int
) -> None:
    """SciPy's own loops would read there, and may end the process."""
    rng = np.random.default_rng(3)
    for kind in (sp.csr_array, sp.csc_array):
        matrix = kind(rng.integers(1, 9, (30, 30)))
        getattr(matrix, name)[5] = number
        if take is TAKE_SPARSE["flow"] and kind is sp.csc_array:
            continue  # refused as in SciPy
        with pytest.raises(InputError, match="the sparse matrix is damaged"):
            take(matrix)
        assert getattr(matrix, name)[5] == number
