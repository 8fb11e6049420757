"""Workers without Ray: each task is done once, whatever happens to the process that does it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from augury.experiments.tasks import InOrder
from augury.processes import MAX_RETRIES, Pool, WorkerError
from doing import all_results, do


@pytest.fixture
def two() -> Iterator[Pool]:
    workers = Pool(do, 2)
    yield workers
    workers.close()


def pids(workers: Pool) -> set[int | None]:
    return {child.process.pid for child in workers.children if child.process}


def test_in_order_is_in_order(tmp_path: Path) -> None:
    tasks = [("fine", str(tmp_path / name)) for name in "abc"]
    found = all_results(InOrder(do), tasks)
    assert found == ["fine a", "fine b", "fine c"]


def test_a_task_whose_process_dies_is_done_again_and_counted_once(
    two: Pool, tmp_path: Path
) -> None:
    kinds = ["fine", "die once", "fine", "die once", "fine"]
    tasks = [(kind, str(tmp_path / str(k))) for k, kind in enumerate(kinds)]
    found = all_results(two, tasks)
    assert found == [f"{kind} {k}" for k, kind in enumerate(kinds)]
    tries = [(tmp_path / str(k)).read_text().count("\n") for k in range(5)]
    assert tries == [1, 2, 1, 2, 1]


def test_a_process_killed_from_outside_is_replaced(two: Pool, tmp_path: Path) -> None:
    path = tmp_path / "mark"
    future = two.submit(("wait once", str(path)))
    while not (path.exists() and path.read_text().endswith("\n")):
        time.sleep(0.01)
    os.kill(int(path.read_text()), signal.SIGKILL)
    assert future.result(60) == "wait once mark"
    assert len(set(path.read_text().split())) == 2


def test_a_task_that_always_kills_its_process_is_given_up(two: Pool, tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=f"ended its process {MAX_RETRIES + 1} times"):
        all_results(two, [("die", str(tmp_path / "mark"))])
    assert (tmp_path / "mark").read_text().count("\n") == MAX_RETRIES + 1


def test_a_process_that_ran_out_of_memory_is_retired_and_its_task_done_by_another(
    two: Pool, tmp_path: Path
) -> None:
    before = pids(two)
    found = all_results(two, [("run short once", str(tmp_path / "mark"))])
    assert found == ["run short once mark"]
    first, second = map(int, (tmp_path / "mark").read_text().split())
    assert first in before and first not in pids(two) and second in pids(two)


def test_a_task_that_never_fits_in_memory_is_given_up(two: Pool, tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=f"ran out of memory {MAX_RETRIES + 1} times"):
        all_results(two, [("run short", str(tmp_path / "mark"))])
    assert (tmp_path / "mark").read_text().count("\n") == MAX_RETRIES + 1


def test_the_error_of_a_task_is_told(two: Pool, tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="ValueError: no such luck"):
        all_results(two, [("raise", str(tmp_path / "mark"))])


EVALUATES = """
import sys
from augury.experiments import tasks
from augury.experiments.conditions import Condition, Extent
from augury.experiments.records import Part
from augury.models.checkpoint import find
part = Part("discrete", 0, 0, Condition(1), Extent(1, 1))
tasks.perform(tasks.Evaluation(part, find("discrete").read_bytes(), "cpu"))
heavy = ("lightning", "tensorboard", "torch_geometric", "torch._dynamo", "matplotlib", "networkx")
print([name for name in heavy if name in sys.modules])
"""


def test_a_process_that_evaluates_imports_nothing_that_trains() -> None:
    command = [sys.executable, "-c", EVALUATES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from doing import do\n"
        "from augury.processes import Pool\n"
        "if __name__ == '__main__':\n"
        "    workers = Pool(do, 1)\n"
        f"    workers.submit(('wait once', {str(mark)!r})).result()\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    with subprocess.Popen([sys.executable, str(script)]) as process:
        while not (mark.exists() and mark.read_text().endswith("\n")):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    worker = int(mark.read_text())
    for _ in range(3000):
        if not is_alive(worker):
            break
        time.sleep(0.02)
    assert not is_alive(worker)


STARTS = """
import os, signal, sys
sys.path.insert(0, {here!r})
from doing import all_results, do
from augury.processes import Pool
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    workers = Pool(do, 2)
    pids = [child.process.pid for child in workers.children]
    for pid in pids:  # long before they have imported anything
        os.kill(pid, signal.SIGINT)
    tasks = [("fine", {folder!r} + f"/{{number}}") for number in range(2)]
    print([future.result() for future in [workers.submit(task) for task in tasks]])
    print([child.process.pid for child in workers.children] == pids)
    workers.close()
    os.kill(os.getpid(), signal.SIGINT)  # which reaches this one as ever
"""


def test_an_interrupt_reaches_the_first_process_alone(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(STARTS.format(here=str(Path(__file__).parents[1]), folder=str(tmp_path)))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.stdout == "['fine 0', 'fine 1']\nTrue\n"
    assert done.returncode == -signal.SIGINT
    assert done.stderr.count("Traceback") == 1, done.stderr


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
