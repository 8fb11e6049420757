"""Matrices are read; labels, edge indices and what may be costs are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from augury import BipartiteGraph, FlowNetwork, InputError, solve, solve_batch
from augury.inputs import as_graph, as_stack

PEOPLE = [["ann", "cook"], ["bob", "cook"], ["eve", "cook"]]
LABELS: dict[str, Any] = {
    "text": np.array(PEOPLE),
    "bytes": np.array(PEOPLE, "S"),
    "objects": np.array(PEOPLE, object),
    "df.values": pd.DataFrame(PEOPLE).values,
    "strings": np.array(PEOPLE, np.dtypes.StringDType()),
}


@pytest.mark.parametrize("array", LABELS.values(), ids=LABELS)
def test_labels_are_no_matrix(array: Any) -> None:
    with pytest.raises(InputError, match=r"not numbers.*a list, array.tolist\(\)"):
        solve(array)
    with pytest.raises(InputError, match=r"graph 0: .*not numbers"):
        solve_batch([array])
    with pytest.raises(InputError, match=r"graph 0: .*not numbers"):
        solve_batch(array[None], engine="table")
    if array.dtype.kind != "S":
        assert solve(array.tolist()).size == 1  # the way that the sentence names


@pytest.mark.parametrize("entry", [float("nan"), None, "1", 2**70, np.array([1])])
def test_an_array_of_objects_is_refused_with_the_one_that_is_no_number(entry: Any) -> None:
    array = np.ones((3, 3), object)
    array[1, 1] = entry
    with pytest.raises(InputError, match=r"the matrix holds objects such as .*, not numbers of 64"):
        solve(array)
    with pytest.raises(InputError, match=r"the capacity matrix holds objects such as .*, not numb"):
        solve(array, source=0, sink=1)


ENDS = [[5, 1, 2], [7, 9, 3]]


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_ends_of_edges_and_a_matrix_are_told_apart_by_the_user(make: Any) -> None:
    ends = make(ENDS)
    with pytest.raises(InputError, match=r"2 x 3 .* two ways: give `array != 0` if .*\.T\.tolist"):
        solve(ends)
    with pytest.raises(InputError, match=r"3 x 2 .* or BipartiteGraph.from_edges\(array.tolist\("):
        solve(ends.T)
    with pytest.raises(InputError, match="2 x 2 whole numbers can be read in two ways"):
        solve(make([[0, -1], [-1, 0]]))
    with pytest.raises(InputError, match="graph 0: an array of 2 x 3 whole numbers can be read in"):
        solve_batch(ends[None], engine="table")
    with pytest.raises(InputError, match="graph 0: an array of 2 x 3 whole numbers can be read in"):
        solve_batch((ends != 0)[None] * 7, engine="table")
    assert solve(ends != 0).size == 2
    assert solve(BipartiteGraph.from_edges(ends.T.tolist())).size == 3


def test_two_rows_of_0_and_1_are_a_matrix() -> None:
    assert solve(np.array([[0, 1, 1], [0, 1, 0]])).size == 2
    assert solve(np.array([[0, 3], [4, 0]]), source=0, sink=1).size == 3  # capacities


COSTS = np.array([[4.5, 1, 3], [2, 0, 5], [3, 2, 2]])
COSTLY: dict[str, Any] = {
    "array": COSTS,
    "integers": (2 * COSTS).astype(int),
    "signs": np.array([[1, -1, 0]] * 3),
    "infinity": np.where(COSTS > 3, np.inf, 1),
    "complex": COSTS.astype(complex),
    "tensor": torch.tensor(COSTS),
    "bfloat16": torch.tensor(COSTS).bfloat16(),
    "sparse": scipy.sparse.csr_array(COSTS),
    "lil": scipy.sparse.lil_array(COSTS),
    "sparse tensor": torch.tensor(COSTS).to_sparse(),
}


@pytest.mark.parametrize("matrix", COSTLY.values(), ids=COSTLY)
def test_entries_that_differ_may_be_costs_and_are_refused(matrix: Any) -> None:
    sentence = "entries of the matrix differ and may be costs: they are with algorithm='assignment'"
    with pytest.raises(InputError, match=f"{sentence}; give `matrix != 0`"):
        solve(matrix)
    with pytest.raises(InputError, match="differ, but a matching of greatest cardinality would"):
        solve(matrix, algorithm="ford-fulkerson")
    with pytest.raises(InputError, match=f"graph 1: the {sentence}"):
        solve_batch([np.eye(2), matrix])


def test_costs_in_a_stack_are_refused_with_the_number_of_the_graph() -> None:
    stack = np.ones((4, 3, 3), np.float32)
    stack[1] *= 7  # marks of its own, but all alike
    stack[2, 0] = 0
    for engine in ("table", "lookup"):
        assert [s.size for s in solve_batch(stack, engine=engine)] == [3, 3, 2, 3]
        wrong = stack.copy()
        wrong[3, 1, 1] = -1
        with pytest.raises(InputError, match=r"graph 3: .* may be costs"):
            solve_batch(wrong, engine=engine)
    assert as_stack(stack) is stack
    assert as_stack(stack != 0) is not None


def test_the_ways_round_a_refusal_read_the_structure_alone() -> None:
    assert solve(COSTS != 0).size == 3
    assert solve(BipartiteGraph.from_dense(COSTS)).size == 3
    assert solve(scipy.sparse.csr_array(COSTS) != 0).size == 3
    assert solve(BipartiteGraph.from_scipy(scipy.sparse.csr_array(COSTS))).size == 3


def test_repeated_entries_of_a_sparse_matrix_are_no_costs() -> None:
    places = np.array([0, 0, 1, 2]), np.array([1, 1, 0, 2])
    matrix = scipy.sparse.coo_array((np.ones(4, np.int8), places), shape=(3, 3))
    assert solve(matrix).size == 3


def test_repeated_entries_of_a_sparse_tensor_are_summed_exactly() -> None:
    places, amounts = torch.tensor([[0] * 4, [1] * 4]), torch.full((4,), 2**30, dtype=torch.int32)
    tensor = torch.sparse_coo_tensor(places, amounts, (2, 2), check_invariants=True)
    assert solve(tensor, source=0, sink=1).size == 2**32
    with pytest.raises(InputError, match="add up to more than 64 bits hold"):
        solve(tensor.long() * 2**32, source=0, sink=1)
    for dtype in (torch.float16, torch.bfloat16):
        assert solve(torch.eye(3).to(dtype).to_sparse()).size == 3
    half = torch.full((2,), -128, dtype=torch.int8)
    cube = torch.tensor([[0, 0], [0, 0], [1, 1]]), half, (1, 3, 3)
    stack = torch.sparse_coo_tensor(*cube, check_invariants=True)
    assert solve_batch(stack)[0].size == 1


@pytest.mark.filterwarnings("ignore:Sparse .* support is in beta state")
def test_compressed_tensors_are_read() -> None:
    eye = torch.eye(4, dtype=torch.int32)
    costs = eye + 2 * eye.flip(0)
    for convert in ("to_sparse_csr", "to_sparse_csc"):
        assert as_graph(getattr(eye, convert)()) == as_graph(np.eye(4))
        with pytest.raises(InputError, match="may be costs"):
            as_graph(getattr(costs, convert)())
    assert as_graph(eye.to_sparse_bsr((2, 2))) == as_graph(np.eye(4))


def test_masked_entries_are_refused_wherever_they_stand() -> None:
    masked = np.ma.masked_array(np.ones((3, 3)), mask=np.eye(3, dtype=bool))
    for graph in (masked, masked.astype(bool), masked.astype(np.int8)):
        with pytest.raises(InputError, match=r"masked entries in the matrix: fill them, as .fill"):
            solve(graph)
        with pytest.raises(InputError, match="masked entries"):
            solve(graph, source=0, sink=1)
        with pytest.raises(InputError, match="masked entries"):
            solve_batch(graph[None], engine="table")
    assert solve(masked.filled(0)).size == 3
    assert solve(np.ma.masked_array(np.eye(3))).size == 3


NOT_NUMPY: dict[str, Any] = {
    "bfloat16": torch.eye(3).bfloat16(),
    "float8": torch.eye(3).to(torch.float8_e4m3fn),
    "conjugate": torch.eye(3, dtype=torch.complex64).conj(),
    "gradient": torch.eye(3, requires_grad=True),
}


@pytest.mark.parametrize("tensor", NOT_NUMPY.values(), ids=NOT_NUMPY)
def test_a_tensor_of_a_type_that_numpy_lacks_is_read(tensor: Any) -> None:
    assert as_graph(tensor) == as_graph(np.eye(3))


def test_capacities_of_a_narrow_float_are_read_exactly() -> None:
    network = as_graph(torch.tensor([[0, 96], [0, 0]]).bfloat16(), 0, 1)
    assert isinstance(network, FlowNetwork)
    assert list(network.arcs()) == [(0, 1, 96)]


@pytest.mark.parametrize("form", ["array", "integers", "tensor", "bfloat16", "sparse tensor"])
def test_entries_are_costs_if_the_caller_says_so(form: str) -> None:
    twice = 1 + (form == "integers")
    assert solve(COSTLY[form], algorithm="assignment").cost == 5 * twice
    assert solve(COSTLY[form], algorithm="assignment", maximise=True).cost == 11.5 * twice


def test_zeros_of_a_sparse_matrix_are_edges_where_they_are_stored() -> None:
    places = [0, 0, 1, 1, 1], [0, 1, 0, 1, 1]
    matrix = scipy.sparse.coo_array(([5, 0, 0, 2**40, 2**40], places), shape=(2, 3))
    graph = as_graph(matrix, costs=True)
    expected = BipartiteGraph(2, 3, [0, 0, 1, 1], [0, 1, 0, 1], costs=[5, 0, 0, 2**41])  # type: ignore[arg-type]
    assert graph == expected
    assert matrix.nnz == 5


def test_infinite_costs_are_no_edges() -> None:
    matrix = np.array([[1, np.inf], [np.inf, 2]])
    assert as_graph(matrix, costs=True) == as_graph([(0, 0, 1), (1, 1, 2)], costs=True)
    sparse = scipy.sparse.csr_array(matrix)
    assert as_graph(sparse, costs=True) == as_graph(matrix, costs=True)
    assert as_graph(-matrix, costs=True, maximise=True).num_arcs == 2 * (2 + 2 + 2)
    for wrong in (-matrix, scipy.sparse.csr_array(-matrix)):
        with pytest.raises(InputError, match=r"the cost at .* is -inf"):
            as_graph(wrong, costs=True)
    with pytest.raises(InputError, match=r"\(NaN\)"):
        as_graph(np.array([[1, np.nan]]), costs=True)
    with pytest.raises(InputError, match="capacities or costs, not both"):
        as_graph(matrix, 0, 1, costs=True)


def test_a_stack_of_costs_has_a_least_sum_for_each() -> None:
    stack = np.arange(12).reshape(3, 2, 2)
    costs = [solution.cost for solution in solve_batch(stack, algorithm="assignment")]
    assert costs == [3, 11, 19]
    with pytest.raises(InputError, match="graph 0: there are no costs to maximise"):
        solve_batch(stack > 2, engine="table", maximise=True)
