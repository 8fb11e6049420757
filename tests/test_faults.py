"""Kills and concurrent runs: the core of the campaign in `benchmarks/faults.py`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from augury.errors import InputError
from augury.experiments.evaluate import Condition, evaluate_all, load_models
from augury.experiments.records import Extent
from augury.files import locked
from augury.training.trainer import train
from tiny import tiny_config

ROOT = Path(__file__).parents[1]


def test_a_second_training_in_the_same_folder_refuses(tmp_path: Path) -> None:
    said: list[str] = []
    with locked(tmp_path / "lock", tmp_path):  # flock is per opened file, so this is as another's
        with pytest.raises(InputError, match="another process is at work here"):
            train(tiny_config(), [0], tmp_path, say=said.append)
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    with pytest.raises(InputError, match="no run in this folder to resume"):
        train(tiny_config(), [0], tmp_path / "new", resume=True, say=said.append)
    assert not (tmp_path / "new").exists()


def test_a_second_evaluation_into_the_same_file_refuses(tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    conditions, models = [Condition(1, "1/4", "bfs")], load_models(["classical"], "cpu")
    with (
        locked(tmp_path / ".records.jsonl.lock", out),
        pytest.raises(InputError, match=r"records\.jsonl: another process is at work here"),
    ):
        evaluate_all(models, conditions, Extent(1, 1), out)
    assert not out.exists()
    assert len(evaluate_all(models, conditions, Extent(1, 1), out)) == 1


def run(*arguments: str) -> subprocess.Popen[str]:
    code = "from augury.apps.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def test_killed_while_solving_a_folder_no_answer_is_half_written(tmp_path: Path) -> None:
    graphs, answers = tmp_path / "graphs", tmp_path / "answers"
    graphs.mkdir()
    for number in range(200):
        (graphs / f"{number}.csv").write_text(f"a,b\nc,d\ne{number},b\n")
    solve = ["solve", str(graphs), "--model", "classical", "--output", str(answers)]

    def written() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in answers.glob("*.json")}

    process = run(*solve)
    while process.poll() is None and not written():
        time.sleep(0.001)
    process.kill()
    process.communicate()
    assert process.returncode in (0, -signal.SIGKILL)
    before = written()
    _, told = run(*solve).communicate(timeout=120)
    assert not told
    after = written()
    assert before.items() <= after.items() and len(after) == 200


@pytest.mark.slow
def test_a_small_campaign_keeps_every_promise() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "faults.py"), "--count", "3"]
    done = subprocess.run(
        [*command, "--workers", "2"], capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout + done.stderr
