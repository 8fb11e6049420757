"""Every contestant gives the right sizes, wrong ones are caught, and records become a figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from augury.classical.graph import InputError
from augury.experiments import bench
from augury.experiments.bench import (
    CONTESTANTS,
    REFERENCE,
    check_matching,
    measure_batches,
    measure_growth,
    scipy_blocks,
    seconds_of,
)
from augury.experiments.plot_bench import plot
from augury.neural.engines import match_dense


@pytest.mark.parametrize("name", CONTESTANTS)
def test_every_contestant_finds_the_sizes(name: str) -> None:
    contestant = CONTESTANTS[name]
    if not contestant.is_here:
        pytest.skip(f"{contestant.needs} is not installed")
    adjacency = np.random.default_rng(0).random((12, 5, 7)) < 0.3
    adjacency[0] = False
    expected = (match_dense(adjacency).mates >= 0).sum(-1)
    assert np.array_equal(contestant.sizes(adjacency), expected)


def test_a_package_that_is_missing_is_left_out() -> None:
    assert not replace(CONTESTANTS["igraph"], needs="no_such_package").is_here


def test_a_record_for_each_size_density_and_contestant() -> None:
    names = ("table", "plain", REFERENCE)
    records = list(measure_batches([2, 70], 3, names, seconds=0.01))
    assert [(r["n"], r["density"], r["name"]) for r in records] == [
        (n, density, name) for n in (2, 70) for density in ("1/4", "3/n") for name in names
    ]
    assert all(
        r["per_second"] > 0 and r["ratio"] > 0 and r["graphs"] <= r["batch"] for r in records
    )
    assert {r["kind"] for r in records} == {"table", "network", "peer"}


def test_a_contestant_that_is_wrong_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    liar = replace(CONTESTANTS["table"], sizes=lambda adjacency: np.full(len(adjacency), 99))
    monkeypatch.setitem(bench.CONTESTANTS, "table", liar)
    with pytest.raises(InputError, match="another size"):
        list(measure_batches([3], 2, ["table"]))


def test_matchings_that_are_none_are_caught() -> None:
    adjacency = np.ones((1, 2, 2), np.bool_)
    right = np.array([[0, 1]])
    check_matching(adjacency, right, right[:, ::-1])
    with pytest.raises(InputError, match="that is none"):
        check_matching(adjacency, np.array([[0, 0]]), right)
    with pytest.raises(InputError, match="another size"):
        check_matching(adjacency, np.array([[0, -1]]), right)
    adjacency[0, 0, 0] = False
    with pytest.raises(InputError, match="that is none"):
        check_matching(adjacency, right, right)


def test_blocks_are_counted_in_their_own_graph() -> None:
    adjacency = np.zeros((2, 2, 3), np.bool_)
    adjacency[0, 1, 2] = adjacency[1, 0, 1] = True
    assert scipy_blocks(adjacency).tolist() == [[-1, 2], [1, -1]]


def test_growth_is_measured_and_drawn(tmp_path: Path) -> None:
    growth = list(measure_growth([20, 200]))
    assert [record["n"] for record in growth] == [2, 20]
    assert all(record["bytes"] > 0 and record["seconds"] > 0 for record in growth)
    batches = list(measure_batches([2], 2, ["table", REFERENCE], seconds=0.01))
    plot(batches, growth, tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text()
    assert "<svg" in text and "graphs a second" not in tmp_path.name


def test_work_is_repeated() -> None:
    calls = []
    assert seconds_of(lambda: calls.append(1), least=0) >= 0
    assert len(calls) == 3
