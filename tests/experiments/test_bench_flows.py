"""The race on hard graphs: tiny ones, of which every answer is compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from augury.errors import InputError
from augury.experiments import bench_flows
from augury.experiments.bench_flows import (
    CONTESTANTS,
    FAMILIES,
    HEAD,
    growth,
    markdown,
    measure_flows,
    rows,
    verdict,
)
from augury.experiments.peers import Problem
from command import Augury, runner


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_flows, "SHORT", 0.0)
    monkeypatch.setattr(bench_flows, "WARM", (64,))
    monkeypatch.setattr(bench_flows, "PILOTS", ())


def told(name: str, arcs: int, ms: float | None, ratio: float | None = None) -> dict[str, Any]:
    own = {"family": "f", "noun": "flow", "asked": arcs, "arcs": arcs, "size": 3}
    return own | {"name": name, "ms": ms, "ratio": ratio}


def liar(size: int) -> bench_flows.Contestant:
    """Return a contestant that claims something, at once."""
    problem = Problem(lambda: size, int)
    return bench_flows.Contestant(lambda _: problem, lambda _: problem)


def test_a_record_for_each_family_size_and_contestant() -> None:
    families = ("transport", "chains")
    measured = list(measure_flows([256, 64], families))
    here = {name for name in CONTESTANTS if name in bench_flows.versions()}
    here |= CONTESTANTS.keys() - set(bench_flows.PEERS)
    for family, own in zip(families, measured, strict=True):
        assert [r["asked"] for r in own] == [64] * len(here) + [256] * len(here)
        assert {(r["family"], r["why"]) for r in own} == {(family, "")}
        assert len({r["size"] for r in own if r["asked"] == 64}) == 1
        assert all(r["ms"] > 0 and r["ratio"] > 0 for r in own)
        for asked in (64, 256):
            rivals = [r["ratio"] for r in own if r["name"] in bench_flows.RIVALS]
            assert max(rivals[-2:] if asked == 256 else rivals[:2]) == 1
        shown = list(rows(own))
        assert all(len(row) == len(HEAD) for row in shown) and shown[-1][1] == "growth"
    assert [own[0]["size"] for own in measured][1] == 36  # chains of 1 to 8 pairs


def test_every_family_can_be_measured() -> None:
    for [record] in measure_flows([100], names=["table"]):
        assert record["ms"] > 0 and record["size"] > 0


def test_a_contestant_that_is_wrong_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bench_flows.CONTESTANTS, "igraph", liar(99))
    with pytest.raises(InputError, match=r"grid of \d+ arcs: igraph finds 99, and others 12"):
        list(measure_flows([64], ["grid"], ["table", "igraph"]))


def test_an_answer_of_ours_that_is_not_proven_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def lazy(batch: Any) -> Any:
        return batch.capacity.copy(), None

    monkeypatch.setattr(bench_flows, "push_flows", lazy)
    with pytest.raises(InputError, match=r"not proven: .*short of the maximum"):
        list(measure_flows([64], ["ak"], ["table"]))


@pytest.mark.parametrize(
    ("seconds", "count"),
    [
        ([0.1, 0.2, 0.7, 1.0], 3),  # eight times the last would be too long
        ([0.01, 0.3, 0.3, 0.3], 2),  # or as much longer as it got between the last two
        ([6.0, 0.1, 0.1, 0.1], 1),
    ],
)
def test_a_slow_contestant_gets_no_larger_graphs(
    monkeypatch: pytest.MonkeyPatch, seconds: list[float], count: int
) -> None:
    clock = iter(seconds)

    def taken(work: Any) -> float:
        work()
        return next(clock)

    monkeypatch.setattr(bench_flows, "once", taken)
    [records] = measure_flows([16, 64, 256, 1024], ["grid"], ["table"], seconds=5)
    assert [r["ms"] for r in records[:count]] == [1e3 * s for s in seconds[:count]]
    assert [r["ms"] for r in records[count:]] == [None] * (4 - count)
    assert [r["why"] for r in records] == [""] * count + ["over 5 s"] * (4 - count)


def test_smaller_graphs_tell_who_is_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_flows, "PILOTS", (16, 64, 256))
    clock = iter([0.1, 0.9])

    def taken(work: Any) -> float:
        work()
        return next(clock)

    monkeypatch.setattr(bench_flows, "once", taken)
    [[record]] = measure_flows([256], ["grid"], ["table"], seconds=5)
    assert (record["asked"], record["ms"], record["why"]) == (256, None, "over 5 s")


def test_too_deep_a_recursion_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(graph: Any) -> int:
        if graph.num_edges > 100:
            raise RecursionError
        return 21

    deep = bench_flows.Contestant(
        lambda _: Problem(lambda: 1, int), lambda graph: Problem(lambda: solve(graph), int)
    )
    monkeypatch.setitem(bench_flows.CONTESTANTS, "NetworkX", deep)
    [records] = measure_flows([256, 1024], ["grid"], ["table", "NetworkX"])
    assert [r["why"] for r in records] == ["", "RecursionError"] * 2


def test_growth_is_the_slope_at_the_largest_sizes() -> None:
    quadratic = [told("table", 4**k, 16.0**k if k > 2 else 99.0) for k in range(1, 7)]
    assert growth(quadratic, "table") == pytest.approx(2)
    linear = [told("SciPy", 4**k, 4.0**k) for k in range(1, 4)] + [told("SciPy", 4**4, None)]
    assert growth(quadratic + linear, "SciPy") == pytest.approx(1)
    assert growth(quadratic + linear, "table", "SciPy") != pytest.approx(2)
    assert growth(linear[:1], "SciPy") is None


def test_the_verdict_counts_families() -> None:
    near = [told("table", 4**k, 2.0**k, 0.6) for k in (1, 2)]
    near += [told("SciPy", 4**k, 2.0**k, 1.0) for k in (1, 2)]
    ahead = [r | {"family": "g", "ratio": 3.0} for r in near]
    far = [told("table", 4**k, 16.0**k, 0.1) | {"family": "h"} for k in (1, 2)]
    far += [r | {"family": "h"} for r in near[2:]]
    text = verdict([*near, *ahead, *far])
    assert "table on 3 families" in text
    assert "SciPy and OR-Tools on 1, within twice its time on 2; grows faster on 1: h (2.00" in text


def test_records_become_markdown() -> None:
    records = [told("table", 4**k, 4.0**k, 0.03125) for k in (4, 5)]
    records += [told("SciPy", 4**k, 8.0**k, 1.0) for k in (4, 5)]
    records.append(told("table", 4**6, 4.0**6))  # SciPy took too long
    text = markdown(records)
    head, line, row = text.splitlines()
    assert head.startswith("| flow | arcs | `table` | certified | SciPy |")
    assert row == "| f | 1,024 | 1,024 (1.0) | – | 32,768 (1.5) | – | – | – | 0.03 | – |"
    assert len({text.count("|") for text in (head, line, row)}) == 1


def test_the_command_prints_writes_and_reads_back(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    augury: Augury = runner(monkeypatch, capfd, "bench")
    file = str(tmp_path / "flows.json")
    options = ("--arcs", "16,64", "--families", "grid,acyclic", "--seconds", "20")
    done = augury("flows", *options, "--out", file)
    assert done.code == 0 and "table ×" in done.out and "table on 2 families" in done.out
    written = json.loads(Path(file).read_text())
    assert {r["family"] for r in written["records"]} == {"grid", "acyclic"}
    assert written["seed"] == 0 and {"cpu", "version", "commit"} <= written["machine"].keys()
    assert "SciPy" in written["peers"]
    done = augury("flows", "--markdown", file)
    assert done.code == 0 and "| grid | " in done.out and "| acyclic | " in done.out
    more = ("--arcs", "64", "--families", "ak,grid", "--seconds", "20", "--out", file, "--add")
    assert augury("flows", *more).code == 0
    added = json.loads(Path(file).read_text())["records"]
    sizes = {r["family"]: {s["asked"] for s in added if s["family"] == r["family"]} for r in added}
    assert list(sizes.items()) == [("ak", {64}), ("acyclic", {16, 64}), ("grid", {64})]
    done = augury("flows", *more, "--seconds", "19")
    assert done.code == 2 and "flows.json: these records have another seconds" in done.err
    Path(file).write_text("[]")
    done = augury("flows", "--markdown", file)
    assert done.code == 2 and "flows.json: not the records of" in done.err
    done = augury("flows", "--families", "grit")
    assert done.code == 2 and f"'grit' is not one of the families {', '.join(FAMILIES)}" in done.err
