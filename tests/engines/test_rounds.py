"""Beyond a word the rounds are those of plain Python, in every form, alone or in company."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from augury.classical.arrays import read_only
from augury.engines import match_dense, match_sparse, rounds, small
from augury.engines.lists import transpose
from augury.engines.round_forms import Listed, Packed, State
from augury.engines.rounds import match_bits, match_listed, match_packed, match_rounds
from augury.engines.small import MOST_SIDE, SPARSE, has_rounds, is_dense

Matched = tuple[list[int], int]


def graphs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    chain = np.eye(130, dtype=bool) | np.eye(130, k=-1, dtype=bool)
    nested = np.tri(130, dtype=bool) & (np.arange(130) < 100)  # ends in rows that stay free
    return {
        **{f"one in {q}": rng.random((70, 90)) < 1 / q for q in (3, 20, 50)},
        "narrow": rng.random((190, 66)) < 0.04,
        "a chain": chain[::-1],
        "nested": nested[::-1],
        "no edge": np.zeros((65, 65), bool),
        "every edge": np.ones((66, 128), bool),
        "a row": rng.random((1, 100)) < 0.5,
        "a column": rng.random((100, 1)) < 0.5,
        "full words": rng.random((128, 64)) < 0.05,
    }


def in_plain_python(edges: Any) -> Matched:
    columns = [sum(1 << u for u in np.flatnonzero(own).tolist()) for own in edges.T]
    return small._match_rounds(len(edges), columns)


def as_words(edges: Any) -> Matched:
    mates, number = np.empty((1, len(edges)), np.int32), np.empty(1, np.int32)
    forms = Packed.of(*edges.shape), State.of(edges.shape[1])
    match_packed(edges[None].view(np.uint8), *forms, mates, number)
    return mates[0].tolist(), int(number[0])


def lists_of(edges: Any) -> tuple[Any, Any]:
    matrix = csr_array(edges)
    return read_only(matrix.indptr, np.int64), read_only(matrix.indices, np.int32)


def room_for(rows: int, columns: int, count: int) -> tuple[Any, State]:
    """Room that is filled with what must not matter."""
    lists, state = rounds.room_for(rows, columns, count)
    for array in (*lists, *state):
        array.fill(7)
    return lists, state


def as_lists(edges: Any) -> Matched:
    mates, number = np.empty(len(edges), np.int32), np.empty(1, np.int32)
    sides = tuple(np.array([0, size]) for size in edges.shape)
    room = room_for(len(edges), edges.shape[1], int(edges.sum()))
    match_listed(lists_of(edges), sides, np.zeros(1, np.int64), room, (mates, number))
    return mates.tolist(), int(number[0])


def as_words_of_lists(edges: Any) -> Matched:
    mates = np.empty(len(edges), np.int32)
    forms = Packed.of(*edges.shape), State.of(edges.shape[1])
    number = match_bits(lists_of(edges), *forms, mates, 0)
    return mates.tolist(), number


def noted(calls: list[str], name: str, call: Any, *given: Any) -> Any:
    calls.append(name)
    return call(*given)


FORMS = [as_words, as_lists, as_words_of_lists]


@pytest.mark.parametrize("name", graphs())
def test_all_forms_decide_as_plain_python(name: str) -> None:
    edges = graphs()[name]
    expected = in_plain_python(edges)
    for form in FORMS:
        assert form(edges) == expected, form.__name__
    assert match_dense(edges).mates.tolist() == expected[0]
    assert match_sparse(csr_array(edges)).mates.tolist() == expected[0]
    most = maximum_bipartite_matching(csr_array(edges), perm_type="column")
    assert sum(mate >= 0 for mate in expected[0]) == (most >= 0).sum()


@given(
    seed=st.integers(0, 9**6),
    shape=st.tuples(st.integers(1, 140), st.integers(1, 140)),
    density=st.floats(0, 1),
)
def test_so_do_they_on_any_graph(seed: int, shape: tuple[int, int], density: float) -> None:
    edges = np.random.default_rng(seed).random(shape) < density**3
    expected = in_plain_python(edges)
    assert [form(edges) for form in FORMS] == [expected] * 3


def test_a_graph_is_matched_in_company_as_alone() -> None:
    """Dense and sparse, below and above the most nodes: in one stack, and shared by threads."""
    rng = np.random.default_rng(1)
    for sides in ((100, 101), (MOST_SIDE + 6, 40)):
        share = rng.choice([1 / 200, 1 / 5], 40)[:, None, None]
        edges = rng.random((40, *sides)) < share
        together = match_dense(edges)
        alone = [match_dense(own) for own in edges]
        np.testing.assert_array_equal(together.mates, [own.mates for own in alone])
        np.testing.assert_array_equal(together.rounds, [own.rounds[0] for own in alone])
        np.testing.assert_array_equal(match_dense(edges, threads=2).mates, together.mates)
        for own, found in zip(edges, alone, strict=True):
            np.testing.assert_array_equal(match_sparse(csr_array(own)).mates, found.mates)


def test_rounds_are_for_graphs_of_at_most_so_many_nodes_or_with_many_edges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert has_rounds(MOST_SIDE, MOST_SIDE, 0)
    assert not has_rounds(MOST_SIDE + 1, 2, 0)
    cells = (MOST_SIDE + 1) * SPARSE
    assert has_rounds(MOST_SIDE + 1, SPARSE, cells // SPARSE)
    assert not has_rounds(MOST_SIDE + 1, SPARSE, cells // SPARSE - 1)
    calls = list[str]()
    for name in ("match_phases", "match_listed", "match_bits"):
        called = partial(noted, calls, name, getattr(rounds, name))
        monkeypatch.setattr(rounds, name, called)
    rng = np.random.default_rng(2)
    shapes = [((100, 90), 0.2), ((100, 90), 0.01), ((1100, 90), 0.2), ((1100, 90), 0.01)]
    for sides, share in shapes:
        edges = rng.random(sides) < share
        assert is_dense(*sides, int(edges.sum())) == (share > 0.1)
        match_sparse(csr_array(edges))
    assert calls == ["match_bits", "match_listed", "match_bits", "match_phases"]


def test_the_loops_are_also_plain_python() -> None:
    edges = np.random.default_rng(3).random((70, 66)) < 0.05
    mates = np.empty(70, np.int32)
    (start, rows, _, is_seen, queue), state = room_for(70, 66, int(edges.sum()))
    level = np.zeros(70, np.int32)
    lists = Listed(*lists_of(edges), mates, start, rows, level, is_seen, queue, 0)
    transpose(lists, 0)
    assert match_rounds.py_func(lists, mates, state) == as_words(edges)[1]
    assert mates.tolist() == as_words(edges)[0]
