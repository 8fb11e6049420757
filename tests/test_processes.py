"""Child processes keep to one thread, never see Ctrl-C, and end with their parent.

What becomes of tasks whose process dies is tested in experiments/test_workers.py.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import closing
from pathlib import Path

import pytest

from augury import processes
from augury.processes import ONE_THREAD, Died, Pool, WorkerError
from doing import evaluate
from parents import assert_gone, parent_of


@pytest.fixture(scope="module")
def two() -> Iterator[Pool]:
    with closing(Pool(evaluate, 2)) as pool:
        yield pool


def test_tasks_run_side_by_side_and_in_other_processes(two: Pool) -> None:
    tasks = [two.submit("__import__('time').sleep(0.2) or os.getpid()") for _ in range(4)]
    found = {task.result() for task in tasks}
    assert len(found) == 2 and os.getpid() not in found


def test_a_child_has_one_thread_from_its_first_import_on(
    two: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [two.submit(f"os.environ[{name!r}]") for name in ONE_THREAD]
    assert [future.result() for future in asked] == ["1"] * 3
    assert two.submit("__import__('torch').get_num_threads()").result() == 1
    first, second, _ = ONE_THREAD
    monkeypatch.setenv(first, "3")
    monkeypatch.delenv(second, raising=False)
    with processes._bequeathed():
        assert os.environ[first] == os.environ[second] == "1"
    assert os.environ[first] == "3" and second not in os.environ


def test_an_error_is_told_and_the_child_goes_on(two: Pool) -> None:
    before = [child.process for child in two.children]
    with pytest.raises(WorkerError, match="ZeroDivisionError: division by zero") as found:
        two.submit("1 / 0").result()
    assert not isinstance(found.value, Died)
    with pytest.raises(Exception, match="pickle"):  # raised here: it cannot even be sent
        two.submit(threading.Lock()).result()
    assert two.submit("2").result() == 2
    assert [child.process for child in two.children] == before


def test_a_child_that_died_for_good_does_not_end_the_pool(two: Pool) -> None:
    with pytest.raises(Died, match=r"ended its process 4 times \(exit code 7\)"):
        two.submit("os._exit(7)").result()
    assert [two.submit(str(n)).result() for n in range(4)] == [0, 1, 2, 3]


def test_closing_kills_what_runs_and_cancels_what_waits() -> None:
    pool = Pool(evaluate, 1)
    [child] = pool.children
    assert child.process is not None
    running, waiting = (pool.submit("__import__('time').sleep(600)") for _ in range(2))
    while not running.running():
        time.sleep(0.01)
    pid = child.process.pid
    pool.close()
    assert pid not in [process.pid for process in multiprocessing.active_children()]
    with pytest.raises(Died, match="closed"):
        running.result(0)
    with pytest.raises(CancelledError):
        waiting.result(0)


def test_where_a_process_cannot_be_started_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[processes.Child] = []
    start = processes.Child.start

    def fail(child: processes.Child) -> None:
        if started:
            raise BlockingIOError
        start(child)
        started.append(child)

    before = set(multiprocessing.active_children())
    monkeypatch.setattr(processes.Child, "start", fail)
    with pytest.raises(BlockingIOError):
        Pool(evaluate, 2)
    assert set(multiprocessing.active_children()) == before


RECEIVES = """
import signal, sys
from augury.processes import received
messages = received(lambda: bytes([sys.stdin.buffer.raw.read(1)[0]]))
print("ready", flush=True)
for message in messages:
    print(message.decode(), flush=True)
    while message == b"!":
        pass
"""


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_child_ignores_an_interrupt_and_ends_with_the_pipe(is_busy: bool) -> None:
    command = [sys.executable, "-c", RECEIVES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None and child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        os.kill(child.pid, signal.SIGINT)
        child.stdin.write(b"!" if is_busy else b".")
        child.stdin.flush()
        assert child.stdout.readline() in (b"!\n", b".\n")
        assert child.poll() is None
        child.stdin.close()
        assert child.wait(60) == 1


PARENT = """
import multiprocessing, signal, time
from contextlib import closing
from augury.processes import Pool
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    with closing(Pool(int, 2)) as pool:
        if {is_ready}:
            assert [pool.submit(text).result() for text in "12"] == [1, 2]
        print(*[child.pid for child in multiprocessing.active_children()], flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("is_ready", [False, True])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_children_end_with_the_one_that_started_them(
    is_ready: bool, number: signal.Signals, tmp_path: Path
) -> None:
    with parent_of(PARENT.format(is_ready=is_ready), tmp_path) as (process, pids):
        assert len(pids) == 2
        if number == signal.SIGKILL:
            process.kill()
        else:
            os.killpg(process.pid, number)  # as a terminal does
        errors = process.communicate()[1]
        assert errors.count("Traceback") == (number == signal.SIGINT), errors
        assert_gone(pids)


LIMITED = """
import sys
from augury.processes import use_one_thread
use_one_thread()
assert "torch" not in sys.modules
import torch
print(torch.get_num_threads())
torch.set_num_threads(2)
use_one_thread()
print(torch.get_num_threads())
"""


def test_one_thread_is_kept_to_before_and_after_pytorch_is_imported() -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    command = [sys.executable, "-c", LIMITED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "1\n1\n"


def test_a_task_that_is_not_to_be_tried_again_says_how_its_process_ended(tmp_path: Path) -> None:
    with closing(Pool(evaluate, 1, retries=0)) as pool:
        mark = tmp_path / "tries"
        code = f"open({str(mark)!r}, 'a').write('x') and os._exit(7)"
        with pytest.raises(Died, match="1 times") as raised:
            pool.submit(code).result()
        assert (raised.value.code, mark.read_text()) == (7, "x")
        assert pool.submit("6 * 7").result() == 42


def test_a_renewed_process_does_one_task() -> None:
    with closing(Pool(evaluate, 1, renewed=True)) as pool:
        asked = [pool.submit("os.environ.setdefault('seen', '1') and os.getpid()") for _ in "ab"]
        first, second = (future.result() for future in asked)
        assert first != second
