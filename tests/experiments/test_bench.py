"""Every contestant gives the right sizes, wrong ones are caught, and records become a figure."""

from __future__ import annotations

import mmap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import maximum_bipartite_matching

from augury.engines import match_dense
from augury.errors import InputError
from augury.experiments import bench, growth
from augury.experiments.bench import (
    CONTESTANTS,
    REFERENCE,
    Contestant,
    check_matching,
    measure_batches,
    measure_ceilings,
    measure_threads,
    scipy_blocks,
    seconds_of,
)
from augury.experiments.growth import measure_growth
from augury.experiments.plots import plot_bench as plot


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


def test_growth_is_measured_in_fresh_processes_and_drawn(tmp_path: Path) -> None:
    grown = list(measure_growth([200], ["table", "SciPy"]))
    assert [(r["n"], r["name"]) for r in grown] == [(20, "table"), (20, "SciPy")]
    assert all(r["peak_bytes"] > r["bytes"] >= 0 and r["seconds"] > 0 for r in grown)
    assert [r["ratio"] for r in grown if r["name"] == "SciPy"] == [1]
    batches = list(measure_batches([2], 2, ["table", REFERENCE], seconds=0.01))
    plot(batches, grown, tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text()
    assert "<svg" in text and "graphs a second" not in tmp_path.name


@pytest.mark.parametrize("name", growth.CONTESTANTS)
def test_every_engine_finds_the_size_on_a_sparse_graph(name: str) -> None:
    found = growth.measure((name, 400))
    matrix = growth._matrix(400)
    theirs = maximum_bipartite_matching(matrix, perm_type="column")
    assert (found["size"], found["edges"]) == ((theirs >= 0).sum(), matrix.nnz)


def test_memory_that_is_taken_shows() -> None:
    before = growth._restart_peak()
    with mmap.mmap(-1, 2**26) as block:  # not what this process had and freed before
        for place in range(0, len(block), mmap.PAGESIZE):
            block[place] = 1
        assert growth._peak() - before > 0.9 * len(block)


def test_an_engine_that_is_wrong_on_a_sparse_graph_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def claimed(task: tuple[str, int]) -> growth.Record:
        name, edges = task
        return {"size": len(name), "seconds": 1, "edges": edges}

    monkeypatch.setattr(growth, "_in_fresh_process", claimed)
    told = list(measure_growth([5, 50], ["table"]))  # as long a name as SciPy's
    assert [record["edges"] for record in told] == [5, 50]
    with pytest.raises(InputError, match="another size than SciPy's"):
        list(measure_growth([5], ["lookup"]))


def test_threads_are_measured_beside_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench._shared, "__defaults__", (0.0, 1))  # how long and how often at least
    records = list(measure_threads([4], 2**11, threads=3))
    assert [(r["density"], r["batch"], r["threads"]) for r in records] == [
        ("1/4", 128, 3),
        ("3/n", 128, 3),
    ]
    ceilings = list(measure_ceilings(threads=3))
    assert [(r["name"], r["threads"]) for r in ceilings] == [("arithmetic", 3), ("reading", 3)]
    for record in (*records, *ceilings):
        assert record["speedup"] == record["wall_one"] / record["wall_many"] > 0
        assert record["cpu_many"] > 0 < record["cpu_one"]


def test_what_a_call_costs_anyway_does_not_keep_a_contestant_from_larger_batches() -> None:
    asked = list[int]()

    def slow_to_start(adjacency: bench.Adjacency) -> bench.Sizes:
        asked.append(len(adjacency))
        start = time.process_time()
        while time.process_time() < start + 0.02:
            pass
        return np.zeros(len(adjacency), np.int64)

    adjacency = np.zeros((64, 1, 1), np.bool_)
    contestant = Contestant(slow_to_start, "peer")
    measured = bench._measured(contestant, adjacency, np.zeros(64, np.int64), 0.05)
    assert measured["graphs"] == 64 and asked[:5] == [1, 1, 4, 16, 64]


def test_work_is_repeated() -> None:
    calls = []
    assert seconds_of(lambda: calls.append(1), least=0) >= 0
    assert len(calls) == 3
