"""The race with costs: small ones, of which every answer is compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from augury.experiments import bench_costs
from augury.experiments.bench_costs import measure_flows, measure_sparse
from command import runner


def test_every_family_is_measured_beside_its_peers() -> None:
    sparse = list(measure_sparse(120))
    assert {record["peer"] for record in sparse} >= {"SciPy", "OR-Tools"}
    flows = list(measure_flows(800))
    assert {record["peer"] for record in flows} == {"OR-Tools"} and len(flows) == 6
    for record in (*sparse, *flows):
        assert record["ms"] > 0 and (record["peer"] == "–" or record["ratio"] > 0)


def test_the_command_writes_what_it_prints(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    augury = runner(monkeypatch, capfd, "bench")
    told = {"family": "f", "ms": 1.0, "ratio": 2.0, "peer": "p"}
    for name in ("measure_sparse", "measure_flows"):
        record = told | {"what": name}
        monkeypatch.setattr(bench_costs, name, lambda _, own=record: iter([own]))
    done = augury("costs", "--quick", "--out", str(tmp_path / "bench.json"))
    assert done.code == 0 and "measure_flows" in done.out
    written = json.loads((tmp_path / "bench.json").read_text())
    assert written["sparse"][0]["ratio"] == 2 and "cpu" in written["machine"]
    done = augury("cost")
    assert done.code == 2 and "'cost' is not one of matchings, assignments, costs" in done.err
