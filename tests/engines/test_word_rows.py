"""Every path is a shortest augmenting path at its moment, and none is left at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from augury.engines import match_dense, table
from augury.engines.word_rows import Rows, count_cells, pack_rows, take_neighbours, take_shortest


def graphs() -> list[Any]:
    rng = np.random.default_rng(0)
    made = [rng.random((70, 90)) < p for p in (0.02, 0.05, 0.3)] + [rng.random((90, 66)) < 0.04]
    chain = np.eye(80, dtype=bool) | np.eye(80, k=-1, dtype=bool)
    nested = np.tri(130, dtype=bool) & (np.arange(130) < 100)  # ends in rows that stay free
    return [*made, chain[::-1], nested[::-1], np.zeros((65, 65), bool), np.ones((66, 128), bool)]


def octets_of(edges: Any) -> Any:
    return np.pad(edges, ((0, 0), (0, -edges.shape[1] % 8))).astype(np.uint8).view(np.uint64)


def shortest(edges: Any, mates: Any) -> int:
    """Return the fewest rows of an augmenting path, 0 if there is none, by plain sets."""
    mate_of = {int(v): u for u, v in enumerate(mates) if v >= 0}
    level, seen, length = {u for u, v in enumerate(mates) if v < 0}, set[int](), 1
    while level:
        columns = {int(v) for u in level for v in np.flatnonzero(edges[u])} - seen
        if columns - mate_of.keys():
            return length
        seen |= columns
        level, length = {mate_of[v] for v in columns}, length + 1
    return 0


def legal(edges: Any, mates: Any) -> bool:
    rows = np.flatnonzero(mates >= 0)
    return edges[rows, mates[rows]].all() and len(set(mates[rows].tolist())) == len(rows)


@pytest.mark.parametrize("number", range(len(graphs())))
def test_every_path_is_a_shortest_one(number: int) -> None:
    edges = graphs()[number]
    rows, mates = Rows.of(*edges.shape), np.empty(len(edges), np.int32)
    pack_rows(octets_of(edges), rows)
    expected, taken = [-1] * len(edges), set[int]()
    for u in range(len(edges)):
        own = [int(v) for v in np.flatnonzero(edges[u]) if v not in taken]
        if own:
            expected[u] = own[0]
            taken.add(own[0])
    assert take_neighbours(rows, mates) == bool(taken)
    assert mates.tolist() == expected
    lengths = list[int]()
    while True:
        length, size = shortest(edges, mates), (mates >= 0).sum()
        assert take_shortest(rows, mates) == length
        if not length:
            break
        assert legal(edges, mates) and (mates >= 0).sum() == size + 1
        lengths.append(length)
    assert lengths == sorted(lengths)
    truth = maximum_bipartite_matching(csr_array(edges), perm_type="column")
    assert (mates >= 0).sum() == (truth >= 0).sum()
    if (edges.mean() * table.SPARSE) >= 1:
        found = match_dense(edges)
        np.testing.assert_array_equal(found.mates, mates)
        assert found.rounds[0] == len({1, *lengths} if taken else ())


def test_cells_are_counted_and_decide_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for shape, p in [((70, 72), 0.5), ((3, 800), 1.0), ((90, 80), 0.0)]:
        edges = rng.random(shape) < p
        assert count_cells(octets_of(edges)) == edges.sum()
    calls = list[int]()
    listed = table._match_listed
    monkeypatch.setattr(table, "_match_listed", lambda *args: calls.append(1) or listed(*args))
    for p, count in ((1 / 64, 1), (1 / 8, 0)):
        calls.clear()
        edges = rng.random((3, 100, 101)) < p
        for own, mates in zip(edges, match_dense(edges).mates, strict=True):
            assert legal(own, mates)
        assert len(calls) == count
