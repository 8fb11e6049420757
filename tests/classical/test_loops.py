"""Compiled checks tell what those on arrays tell, and run only where they pay."""

from __future__ import annotations

from typing import Any

import numba  # noqa: F401  # loaded, so that the compiled checks run
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.classical import certificate, faults, loops
from augury.classical.certificate import certify_mates
from augury.classical.generate import sparse
from augury.classical.graph import BipartiteGraph
from graphs import JOBS, NOTHING, bipartite_graphs


def by_either(graph: BipartiteGraph, mates: np.ndarray[Any, Any]) -> list[Any]:
    told: list[Any] = []
    for many in (0, 2**40):  # compiled, and on arrays
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(certificate, "SMALL", -1)
            patch.setattr(faults, "MANY", many)
            told.append(certify_mates(graph, mates))
    return told


@given(bipartite_graphs(), st.integers(0, 99))
def test_mates_are_a_matching_to_both_or_to_none(graph: BipartiteGraph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mates = rng.integers(-1, max(graph.num_right, 1), graph.num_left)
    is_kept = rng.random(graph.num_left) < rng.random()
    for own in (mates, np.where(is_kept, mates, -1), np.where(is_kept, mates, 0)):
        compiled, plain = by_either(graph, own)
        assert compiled == plain


@pytest.mark.parametrize(
    ("mates", "is_legal"),
    [([0, 1], True), ([-1, 0], True), ([0, 0], False), ([1, -1], False), ([0, 2], False)],
)
def test_what_is_wrong_is_told_by_both(mates: list[int], is_legal: bool) -> None:
    assert [one.is_legal for one in by_either(JOBS, np.array(mates))] == [is_legal] * 2
    assert all(one.is_maximum for one in by_either(NOTHING, np.zeros(0, np.int32)))


def test_only_large_graphs_are_checked_by_compiled_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> bool:
        raise AssertionError("called")

    monkeypatch.setattr(loops, "are_matching", never)
    graph = sparse(np.random.default_rng(0), 5000)
    mates = np.full(graph.num_left, -1, np.int32)
    assert certify_mates(graph, mates).is_legal
    monkeypatch.setattr(faults, "MANY", graph.num_edges)
    with pytest.raises(AssertionError, match="called"):
        certify_mates(graph, mates)
