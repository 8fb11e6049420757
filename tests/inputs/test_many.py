"""Many graphs at once are read and solved as each is alone, or refused by its position."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

from augury import BipartiteGraph, InputError, solve, solve_batch, solver
from augury.classical.answer import Progress
from augury.classical.bipartite_batch import BipartiteBatch
from augury.inputs import as_graph, as_parts
from augury.solution import Solutions
from graphs import BRIDGE, JOBS, NOTHING, STAR, bipartite_graphs, networks

TABLE: dict[str, Any] = {"engine": "table"}


def scrambled(graph: BipartiteGraph, kind: Any = scipy.sparse.csr_array) -> Any:
    """A CSR matrix in no order, with duplicates and explicit zeros."""
    rng = np.random.default_rng(graph.num_edges)
    rows: list[list[tuple[int, int]]] = [[] for _ in range(graph.num_left)]
    for u, v in graph.pairs():
        rows[u] += [(v, 3)] * rng.integers(1, 3)
    for row in rows if graph.num_right else []:
        row += [(int(rng.integers(graph.num_right)), 0)]
    entries = [tuple(rng.permutation(row)) for row in rows]
    flat = np.array([entry for row in entries for entry in row], np.int64).reshape(-1, 2)
    indptr = np.cumsum([0, *map(len, entries)])
    return kind((flat[:, 1], flat[:, 0], indptr), shape=(graph.num_left, graph.num_right))


FORMS: dict[str, Callable[[BipartiteGraph], Any]] = {
    "own": lambda graph: graph,
    "Booleans": lambda graph: graph.to_dense(),
    "other bytes": lambda graph: (graph.to_dense() * np.uint8(2)).view(np.bool_),
    "floats": lambda graph: graph.to_dense() * np.float32(-2.5),
    "0 and 1": lambda graph: graph.to_dense().astype(np.int64),
    "Fortran": lambda graph: np.asfortranarray(graph.to_dense()).astype(np.uint8, order="F"),
    "strided": lambda graph: np.repeat(graph.to_dense(), 2, axis=1)[:, ::2],
    "tensor": lambda graph: torch.tensor(graph.to_dense()),
    "csr_array": lambda graph: graph.to_scipy(),
    "large numbers": lambda graph: graph.to_scipy().astype(np.int64) * 2**40,
    "csr_matrix": lambda graph: scipy.sparse.csr_matrix(graph.to_scipy()).astype(np.float64),
    "in no order": scrambled,
    "matrix in no order": lambda graph: scrambled(graph, scipy.sparse.csr_matrix),
    "Boolean csr": lambda graph: graph.to_scipy().astype(bool),
    "coo": lambda graph: graph.to_scipy().tocoo(),
}


@pytest.mark.parametrize("make", FORMS.values(), ids=FORMS)
@given(graphs=st.lists(bipartite_graphs(), min_size=1, max_size=6))
def test_graphs_of_one_form_are_read_and_solved_as_if_alone(
    make: Callable[[BipartiteGraph], Any], graphs: list[BipartiteGraph]
) -> None:
    forms = list(map(make, graphs))
    for parts in as_parts(forms, None, 10**6):
        for position, read in parts:
            assert isinstance(read, BipartiteBatch)
            assert list(read) == [as_graph(forms[k]) for k in position]
            assert list(read) == [graphs[k] for k in position]
    solutions = solve_batch(forms, **TABLE)
    assert isinstance(solutions, Solutions) and solutions.is_maximum
    assert solutions == [solve(form, **TABLE) for form in forms]
    assert solutions.sizes.tolist() == [solution.size for solution in solutions]


every_graph = st.one_of(bipartite_graphs(), networks())


@given(graphs=st.lists(every_graph, min_size=1, max_size=8), seed=st.integers(0, 99))
def test_graphs_of_all_forms_are_solved_in_their_order(graphs: list[Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    makes = list(FORMS.values())
    forms = [
        rng.choice(np.array(makes, object))(graph) if isinstance(graph, BipartiteGraph) else graph
        for graph in graphs
    ]
    expected = [solve(form, **TABLE) for form in forms]
    for graphs_now in (forms, tuple(forms), iter(forms), (form for form in forms)):
        assert solve_batch(graphs_now, **TABLE) == expected


def test_labels_stay_with_their_graph() -> None:
    named = nx.Graph([("ann", "cook"), ("bob", "cook"), ("bob", "sing")])
    graphs = [np.eye(3, dtype=bool), JOBS, [("x", "y")], named, {"a": ["b"]}, NOTHING, STAR, BRIDGE]
    solutions = solve_batch(graphs, **TABLE)
    assert solutions == [solve(graph, **TABLE) for graph in graphs]
    assert solutions[3].matching == [("ann", "cook"), ("bob", "sing")]
    assert repr(solutions).startswith("Solutions(8 solutions, 8 proven maximum")
    assert repr(solve_batch([BRIDGE] * 2, **TABLE)).startswith("Solutions(2 flows, 2 proven max")


def damaged(index: int) -> Any:
    matrix = scipy.sparse.csr_array(np.eye(3))
    matrix.indices[1] = index
    return matrix


def sparse(data: list[Any], dtype: Any) -> Any:
    """All entries in the first place of a row."""
    arrays = np.array(data, dtype), np.zeros(len(data), int), np.array([0, len(data), len(data)])
    return scipy.sparse.csr_array(arrays, shape=(2, 3))


BAD: dict[str, Any] = {
    "NaN": np.array([[1.0, np.nan, 0]] * 3),
    "only NaN": np.full((3, 3), np.nan),
    "costs": np.array([[1, 2, 0]] * 3),
    "signs": np.array([[1, -1, 0]] * 3, np.int8),
    "rounded to one float": np.full((3, 3), 2**53) + np.eye(3, dtype=np.int64),
    "ends of edges": np.array([[5, 5, 5], [5, 5, 5]]),
    "one row": np.ones(3, bool),
    "three axes": np.ones((2, 2, 2), bool),
    "text": np.array([["a", "b", "c"]] * 3),
    "masked": np.ma.masked_equal(np.eye(3), 0),
    "too tall": np.zeros((2**40, 0), bool),
    "sparse costs": scipy.sparse.csr_array(np.array([[1.5, 2, 0]] * 3)),
    "sparse NaN": scipy.sparse.csr_array(np.array([[np.nan, 0, 0]] * 3)),
    "index beyond the shape": damaged(7),
    "negative index": damaged(-1),
    "sums beyond 64 bits": sparse([2**62] * 3, np.int64),
    "float sums beyond 64 bits": sparse([2.0**62] * 3, float),
    "a pair of other things": [("a",)],
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_graph_is_named_by_its_position(bad: Any) -> None:
    number = getattr(bad, "dtype", np.dtype(bool))
    like = np.eye(3, dtype=number if number.kind in "biuf" else bool)  # in the same group
    good = [like, scipy.sparse.csr_array(like), JOBS]
    with pytest.raises(InputError) as alone:
        as_graph(bad)
    for before in (good, good * 4, [good[0]] * 3):
        with pytest.raises(InputError) as error:
            solve_batch([*before, bad, *good], **TABLE)
        assert str(error.value) == f"graph {len(before)}: {alone.value}"


def test_numbers_of_one_type_are_not_rounded_to_another() -> None:
    wide = np.full((3, 3), 2**53) + np.eye(3, dtype=np.int64)
    for kind in (np.asarray, scipy.sparse.csr_array):
        with pytest.raises(InputError, match="graph 1: the entries of the matrix differ"):
            solve_batch([kind(np.eye(3)), kind(wide)], **TABLE)


def test_costs_in_a_later_graph_are_refused() -> None:
    priced = BipartiteGraph.from_costs([[4, 1], [2, 3]])
    with pytest.raises(InputError, match="ford-fulkerson would ignore the costs"):
        solve_batch([JOBS, priced], **TABLE)


def test_a_stream_is_solved_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.random((rng.integers(1, 6), 5)) < 0.5 for _ in range(30)]
    makes = [*FORMS.values()] * 2
    graphs = [makes[k](BipartiteGraph.from_dense(array)) for k, array in enumerate(arrays)]
    whole, taken, told = solve_batch(graphs, **TABLE), list[int](), list[Progress]()

    def stream() -> Iterator[Any]:
        for number, graph in enumerate(graphs):
            taken.append(number)
            yield graph

    monkeypatch.setattr(solver, "MAX_ARCS", 250)
    ahead: list[int] = []
    parts = solve_batch(
        stream(), progress=lambda now: told.append(now) or ahead.append(len(taken)), **TABLE
    )
    assert parts == whole
    assert len(told) > 5 and told[-1].finished == 30
    assert told[-1].size == sum(whole.sizes)  # type: ignore[reportAttributeAccessIssue]
    # One graph is taken before it is known that it does not fit.
    assert all(now.finished + 1 >= far for now, far in zip(told[:-1], ahead, strict=False))
    batch = BipartiteBatch.of([BipartiteGraph.from_dense(array) for array in arrays])
    assert solve_batch(batch, **TABLE) == solve_batch(arrays, **TABLE)


def test_solutions_of_a_list_are_a_sequence_that_can_be_kept() -> None:
    graphs = [np.eye(2, dtype=bool), JOBS, BRIDGE]
    solutions = solve_batch(graphs, **TABLE)
    assert isinstance(solutions, Solutions) and len(solutions) == 3
    assert solutions[-1] == solutions[2] and solutions[:2] == [solutions[0], solutions[1]]
    assert solutions != solutions[:2] and solutions != "abc"
    with pytest.raises(InputError, match="only a stack of dense graphs has its matchings in one"):
        _ = solutions.mates
    story = solve(JOBS, **TABLE).story()
    assert solutions[1].story() == story
    kept = pickle.loads(pickle.dumps(solutions[1]))
    assert kept == solutions[1] and kept.story() == story
    assert pickle.loads(pickle.dumps(solutions)) == solutions
