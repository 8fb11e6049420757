"""A stack of matchings is proven exactly where each of them is legal and maximum."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.classical import covers
from augury.classical.certificate import certify_pairs
from augury.classical.covers import covers_of
from augury.classical.graph import BipartiteGraph
from augury.experiments.bench import scipy_blocks

Stack = npt.NDArray[np.uint8]


def stack(seed: int, shape: tuple[int, int, int]) -> Stack:
    rng = np.random.default_rng(seed)
    shares = rng.random((shape[0], 1, 1)) ** 2
    return (rng.random(shape) < shares).astype(np.uint8)


def maximum(adjacency: Stack) -> npt.NDArray[np.int32]:
    return scipy_blocks(adjacency).astype(np.int32)


def alone(adjacency: Stack, mates: npt.NDArray[np.int32], number: int) -> bool:
    row = np.flatnonzero(mates[number] >= 0)
    pairs = np.stack([row, mates[number, row]], axis=1)
    return certify_pairs(BipartiteGraph.from_dense(adjacency[number]), pairs).is_maximum


def assert_covered(adjacency: Stack, mates: npt.NDArray[np.int32]) -> None:
    covers = covers_of(adjacency, mates)
    assert covers.is_proven.all()
    missed = adjacency.astype(bool) & ~covers.in_left[:, :, None] & ~covers.in_right[:, None]
    assert not missed.any()
    sizes = covers.in_left.sum(-1) + covers.in_right.sum(-1)
    assert sizes.tolist() == covers.sizes.tolist() == (mates >= 0).sum(-1).tolist()
    for number, edges in enumerate(adjacency):
        assert covers.graph(number) == BipartiteGraph.from_dense(edges)


@given(
    seed=st.integers(0, 9**6),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 12), st.integers(1, 12)),
)
def test_maximum_matchings_have_their_covers(seed: int, shape: tuple[int, int, int]) -> None:
    adjacency = stack(seed, shape)
    assert_covered(adjacency, maximum(adjacency))


@pytest.mark.parametrize(
    "shape", [(9, 64, 64), (5, 70, 63), (5, 63, 65), (4, 9, 130), (4, 130, 9), (3, 64, 128)]
)
def test_a_row_may_take_several_words(shape: tuple[int, int, int]) -> None:
    adjacency = (np.random.default_rng(1).random(shape) < 3 / shape[2]).astype(np.uint8)
    assert_covered(adjacency, maximum(adjacency))


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 3), (2, 3, 0), (2, 0, 0)])
def test_empty_stacks_and_sides_are_proven(shape: tuple[int, int, int]) -> None:
    covers = covers_of(np.zeros(shape, np.uint8), np.full(shape[:2], -1, np.int32))
    assert covers.is_proven.tolist() == [True] * shape[0]
    assert covers.in_left.shape == shape[:2] and covers.in_right.shape == (shape[0], shape[2])


@given(seed=st.integers(0, 9**6))
def test_any_other_answer_is_not_proven(seed: int) -> None:
    """Pairs that are none, a column twice, a pair too few: as `certify_pairs` judges each."""
    rng = np.random.default_rng(seed)
    adjacency = stack(seed, (8, 5, 4))
    mates = maximum(adjacency)
    for number in range(8):
        mates[number, rng.integers(5)] = rng.integers(-1, 6)
    expected = [alone(adjacency, mates, number) for number in range(8)]
    assert covers_of(adjacency, mates).is_proven.tolist() == expected


def test_blocks_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = stack(3, (11, 6, 7))
    mates = maximum(adjacency)
    mates[4] = -1
    whole = covers_of(adjacency, mates)
    monkeypatch.setattr(covers, "BLOCK_BYTES", 100)
    for one, other in zip(whole, covers_of(adjacency, mates), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (~whole.is_proven).tolist() == [
        number == 4 and bool(adjacency[4].any()) for number in range(11)
    ]
