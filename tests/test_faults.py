"""Killed, starved and disturbed: the full campaign is `benchmarks/faults.py`, this is its core."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from augury.errors import InputError
from augury.experiments.evaluate import Condition, evaluate_all, load_models
from augury.experiments.records import Extent
from augury.files import atomic_file, locked, write_text
from augury.training.trainer import train
from tiny import tiny_config

ROOT = Path(__file__).parents[1]


def python(code: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline().strip() == word


HOLD = """
    import time
    from pathlib import Path
    from augury.files import locked
    with locked(Path({lock!r}), Path("the folder")):
        print("held", flush=True)
        time.sleep(60)
"""


def test_a_lock_is_held_by_one_process_and_dies_with_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    holder = python(HOLD.format(lock=str(lock)))
    wait_for(holder, "held")
    with pytest.raises(InputError, match="run: another process is at work here"):  # noqa: SIM117
        with locked(lock, Path("run")):
            pass
    holder.kill()
    holder.communicate()
    assert lock.exists()
    with locked(lock, Path("run")):  # no stale lock: the file is there, but nobody holds it
        assert lock.exists()
    assert not lock.exists()


def test_a_lock_whose_file_was_taken_away_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking, the process before may end and take the file with it."""
    import fcntl

    lock = tmp_path / "lock"
    monkeypatch.setattr(fcntl, "flock", lambda *_: lock.unlink())
    with pytest.raises(InputError, match="another process"), locked(lock, Path("run")):
        pass
    monkeypatch.setattr(fcntl, "flock", lambda *_: (lock.unlink(), lock.touch()))
    with pytest.raises(InputError, match="another process"), locked(lock, Path("run")):
        pass


def test_a_lock_without_a_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run: there is no such file or folder"):  # noqa: SIM117
        with locked(tmp_path / "gone" / "lock", Path("run")):
            pass


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


WRITE = """
    from augury.files import atomic_file
    with atomic_file({path!r}) as file:
        file.write(b"new" * 10**6)
        file.flush()
        print("written", flush=True)
        import time; time.sleep(60)
"""


def test_a_kill_in_the_middle_of_a_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text("old")
    writer = python(WRITE.format(path=str(path)))
    wait_for(writer, "written")
    writer.kill()
    writer.communicate()
    assert path.read_text() == "old"
    assert [x.suffix for x in tmp_path.iterdir() if x != path] == [".tmp"]  # nobody reads these


@pytest.mark.parametrize("error", [OSError(28, "No space left"), OSError(30, "Read-only")])
def test_a_disk_that_refuses_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    path = tmp_path / "answer.json"
    path.write_text("old")

    def refuse(*_: Any, **__: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        with pytest.raises(InputError, match=f"answer.json: {str(error.strerror).lower()}"):
            write_text(path, "new")
    with pytest.raises(OSError), atomic_file(path) as file:
        file.write(b"ne")
        raise error
    assert [x.name for x in tmp_path.iterdir()] == ["answer.json"] and path.read_text() == "old"


def run(*arguments: str) -> subprocess.Popen[str]:
    code = "from augury.apps.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def test_killed_while_solving_a_folder_no_answer_is_half_written(tmp_path: Path) -> None:
    graphs, answers = tmp_path / "graphs", tmp_path / "answers"
    graphs.mkdir()
    for number in range(300):
        (graphs / f"{number}.csv").write_text(f"a,b\nc,d\ne{number},b\n")
    for folder in (answers, tmp_path / "undisturbed"):
        folder.mkdir()
    solve = ["solve", str(graphs), "--executor", "classical", "--output"]
    _, told = run(*solve, str(tmp_path / "undisturbed")).communicate(timeout=120)
    assert not told
    expected = {path.name: path.read_bytes() for path in (tmp_path / "undisturbed").iterdir()}
    assert len(expected) == 300
    process = run(*solve, str(answers))
    while process.poll() is None and not list(answers.glob("*.json")):
        time.sleep(0.001)
    process.kill()
    process.communicate()
    assert process.returncode in (0, -signal.SIGKILL)
    for path in answers.glob("*.json"):
        assert path.read_bytes() == expected[path.name]
    run(*solve, str(answers)).communicate(timeout=120)
    assert {path.name: path.read_bytes() for path in answers.glob("*.json")} == expected


@pytest.mark.slow
def test_a_small_campaign_keeps_every_promise() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "faults.py"), "--count", "3"]
    done = subprocess.run(
        [*command, "--workers", "2"], capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout + done.stderr
