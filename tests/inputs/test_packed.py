"""Graphs in long lists are those that each would be alone, and what is unclear is told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.classical.batch import Batch, starts
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.inputs import packed
from augury.inputs.packed import Arcs, Lists, as_flows, as_matchings, as_small

ends = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12)
arcs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)), max_size=12)


def lists(rows: list[Any], column: int, kind: type = np.int64) -> Lists:
    values = [entry[column] for row in rows for entry in row]
    return Lists(starts([len(row) for row in rows]), np.array(values, kind))


def nobody(count: int) -> Any:
    return np.full(count, -1)


@given(st.lists(ends, min_size=1, max_size=5), st.sampled_from([np.int32, np.int64]))
def test_edges_in_any_order_are_sorted_and_merged(rows: Any, kind: type) -> None:
    edges = lists(rows, 0, kind), lists(rows, 1, kind)
    batch, is_unclear = as_matchings(*edges, nobody(len(rows)), nobody(len(rows)))
    assert not is_unclear.any()
    for row, graph in zip(rows, batch, strict=True):
        left, right = zip(*row, strict=True) if row else ((), ())
        sides = max(left, default=-1) + 1, max(right, default=-1) + 1
        alone = BipartiteGraph(*sides, np.array(left, int), np.array(right, int))
        assert graph == alone
    small = as_small(*edges, nobody(len(rows)), nobody(len(rows)))
    assert small.is_small.all()
    assert np.array_equal(small.counts, [np.diff(batch.left), np.diff(batch.right)])


BAD = [
    ([[(0, -1)]], [-1], [-1]),
    ([[(3, 0)]], [3], [-1]),
    ([[(0, 3)]], [-1], [3]),
    ([[(packed.FREE_NODES + 16, 0)]], [-1], [-1]),
    ([[(0, 2**40)]], [-1], [-1]),
]


@pytest.mark.parametrize(("rows", "num_left", "num_right"), BAD)
def test_impossible_numbers_are_told_and_spoil_no_other(
    rows: Any, num_left: Any, num_right: Any
) -> None:
    rows = [[(0, 0)], *rows, [(1, 1), (0, 1)]]
    counts = (np.array([-1, *own, -1]) for own in (num_left, num_right))
    given = lists(rows, 0), lists(rows, 1), *counts
    batch, is_unclear = as_matchings(*given)
    assert is_unclear.tolist() == [False, True, False]
    assert [list(graph.pairs()) for graph in batch] == [[(0, 0)], [], [(0, 1), (1, 1)]]
    small = as_small(*given)
    assert small.is_small.tolist() == [True, False, True]
    assert [count.tolist() for count in small.counts] == [[1, 0, 2], [1, 0, 2]]


def test_lists_of_different_lengths_are_told() -> None:
    left = Lists(np.array([0, 1, 3]), np.array([0, 0, 1]))
    right = Lists(np.array([0, 2, 4]), np.array([0, 1, 0, 1]))
    batch, is_unclear = as_matchings(left, right, nobody(2), nobody(2))
    assert is_unclear.tolist() == [True, False]
    assert list(batch[1].pairs()) == [(0, 0), (1, 1)]
    assert as_small(left, right, nobody(2), nobody(2)).is_small.tolist() == [False, True]


@given(st.lists(arcs, min_size=1, max_size=5))
def test_arcs_are_paired_as_those_of_each_network_alone(rows: Any) -> None:
    count = len(rows)
    sizes = np.full(count, 6)
    numbers = lists(rows, 0), lists(rows, 1), lists(rows, 2)
    given = Arcs(*numbers, np.zeros(count, int), sizes - 1, sizes)
    batch, is_unclear = as_flows(given)
    assert not is_unclear.any()
    alone = []
    for row in rows:
        tail, head, capacity = zip(*row, strict=True) if row else ((), (), ())
        columns = (np.array(own, int) for own in (tail, head, capacity))
        alone.append(FlowNetwork.from_arcs(6, *columns, source=0, sink=5))
    expected = Batch.of(alone)
    for name in ("node_start", "arc_start", "sender", "receiver", "capacity", "source", "sink"):
        assert np.array_equal(getattr(batch, name), getattr(expected, name)), name


@pytest.mark.parametrize(
    ("row", "source", "sink", "nodes"),
    [
        ([(0, 1, -1)], 0, 1, -1),
        ([(0, 7, 1)], 0, 1, 3),
        ([(-1, 1, 1)], 0, 1, -1),
        ([(0, 1, 1)], 1, 1, -1),
        ([(0, 1, 1)], 0, -2, -1),
        ([(0, 1, 1)], 0, 9, 3),
        ([(0, 1, 2**62), (0, 1, 2**62)], 0, 1, -1),
        ([(0, packed.FREE_NODES + 32, 1)], 0, 1, -1),
    ],
)
def test_impossible_networks_are_told_and_spoil_no_other(
    row: Any, source: int, sink: int, nodes: int
) -> None:
    rows = [row, [(0, 1, 5)]]
    numbers: Any = (np.array(own) for own in ([source, 0], [sink, 1], [nodes, -1]))
    given: Any = (*(lists(rows, k) for k in range(3)), *numbers)
    batch, is_unclear = as_flows(Arcs(*given))
    assert is_unclear.tolist() == [True, False]
    assert np.diff(batch.arc_start).tolist() == [0, 2]
    assert batch.capacity.tolist() == [5, 0]
