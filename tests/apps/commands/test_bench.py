"""`augury bench` prints ratios, writes records and a figure, and refuses what is no number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from augury.experiments import bench, growth
from command import Augury, runner


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    monkeypatch.chdir(tmp_path)
    return runner(monkeypatch, capfd)


TINY = ("bench", "--sizes", "3", "--batch", "2", "--edges", "40", "--cells", "99")
TINY += ("--seconds", "0.01")


def test_a_table_a_file_and_a_figure(augury: Augury, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_in_fresh_process", growth.measure)  # its own tests start some
    monkeypatch.setattr(bench._shared, "__defaults__", (0.0, 1))  # how long and how often at least
    code, out, err = augury(*TINY, "--out", "bench.json", "--plot", "bench.svg")
    assert (code, err) == (0, "")
    assert "times SciPy" in out and "\n3  1/4  table " in out
    told = json.loads(Path("bench.json").read_text())
    assert {record["name"] for record in told["batches"]} >= {"table", "plain"}
    assert [record["batch"] for record in told["threads"]] == [11, 11]
    assert told["growth"][0]["n"] == 4 and "cpu" in told["machine"]
    assert "<svg" in Path("bench.svg").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "no/bench.json"], "no: there is no such folder"),
        (["--plot", "no/bench.svg"], "no: there is no such folder"),
        (["--plot", "bench.doc"], "bench.doc: the ending must be one of .svg, .png, .pdf"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(
    augury: Augury, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.setattr("augury.experiments.bench.measure_batches", pytest.fail)
    assert augury(*TINY, *words) == (2, "", f"augury: {message}\n")


@pytest.mark.parametrize("option", ["--sizes", "--edges"])
@pytest.mark.parametrize("text", ["eight", "8,,9", "0", "-3"])
def test_what_is_no_number_is_refused(augury: Augury, option: str, text: str) -> None:
    code, out, err = augury("bench", f"{option}={text}")
    assert (code, out) == (2, "")
    assert err == f"augury: {option} is {text!r}, but must be whole numbers above 0, with commas\n"
