"""The race of dense assignments: small ones, and answers that it must not let pass."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from augury.engines.assignments import assign_dense
from augury.errors import InputError
from augury.experiments import bench_assignments
from augury.experiments.bench_assignments import (
    FAMILIES,
    PEERS,
    certify,
    compare,
    measure_assignments,
)
from command import runner


@pytest.fixture(autouse=True)
def few_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_assignments, "MOST", 4)


def test_every_family_is_measured_beside_its_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_assignments, "MODULES", {"lapx": "lap", "scipy": "no_such_package"})
    records = list(measure_assignments([3], seconds=0.0))
    cases = {(record["family"], record["type"]) for record in records}
    assert cases == {(family, kind) for family in FAMILIES for kind in ("int64", "float32")}
    for record in records:
        expected = set(PEERS) - {"SciPy"} - ({"OR-Tools"} if record["type"] == "float32" else set())
        assert set(record["ratio"]) == expected
        assert all(one > 0 for one in record["ratio"].values())


def test_an_answer_that_is_not_proven_or_costs_more_is_refused() -> None:
    costs = np.random.default_rng(0).integers(0, 9, (4, 5, 5))
    found = assign_dense(costs)
    certify(costs, found)
    compare(costs, found.columns, found.columns, "itself")
    worse = found.columns.copy()
    worse[2] = np.roll(worse[2], 1)
    for wrong in (
        found._replace(columns=worse),
        found._replace(row_price=found.row_price + 1),
        found._replace(column_price=found.column_price - 1),
        found._replace(status=found.status + 1),
        found._replace(columns=found.columns * 0),
    ):
        with pytest.raises(InputError, match="not proven"):
            certify(costs, wrong)
    with pytest.raises(InputError, match="that of a peer"):
        compare(costs, found.columns, worse, "a peer")


def test_the_command_writes_what_it_prints(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    augury = runner(monkeypatch, capfd, "bench")
    monkeypatch.setattr(bench_assignments, "QUICK_SIZES", (2, 3))
    out = tmp_path / "bench.json"
    done = augury("assignments", "--quick", "--seconds", "0", "--out", str(out))
    assert done.code == 0 and "rank one and noise" in done.out and "× SciPy" in done.out
    written = json.loads(out.read_text())
    assert written["seed"] == 0 and "commit" in written["machine"] and "lapx" in written["peers"]
    lines = augury("assignments", "--markdown", str(out)).out.splitlines()
    assert lines[0].startswith("| n | uniform, int64 |") and lines[2].startswith("| 2 | ")
    assert len(lines) == 4
    done = augury("flows", "--markdown", str(out))
    assert done.code == 2 and "not the records of `augury bench flows --out`" in done.err
