"""Workers on a real Ray cluster of this machine, in which processes are killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from augury.errors import InputError
from augury.experiments.cluster import RayWorkers
from augury.processes import MAX_RETRIES, WorkerError
from doing import all_results, do


@pytest.fixture
def two(joined: Any) -> Iterator[RayWorkers]:
    with closing(RayWorkers(do, "local", 2)) as workers:
        yield workers


def test_a_task_whose_process_dies_is_done_again_and_counted_once(
    two: RayWorkers, tmp_path: Path
) -> None:
    assert two.slots == 2
    kinds = ["fine", "die once", "fine", "fine"]
    tasks = [(kind, str(tmp_path / str(k))) for k, kind in enumerate(kinds)]
    found = all_results(two, tasks)
    assert found == [f"{kind} {k}" for k, kind in enumerate(kinds)]
    tries = [(tmp_path / str(k)).read_text().count("\n") for k in range(4)]
    assert tries == [1, 2, 1, 1]


def test_a_process_killed_from_outside_is_replaced(two: RayWorkers, tmp_path: Path) -> None:
    path = tmp_path / "mark"
    future = two.submit(("wait once", str(path)))
    while not (path.exists() and path.read_text().endswith("\n")):
        time.sleep(0.01)
    os.kill(int(path.read_text()), signal.SIGKILL)
    assert future.result(60) == "wait once mark"
    assert not two._under_way
    assert len(set(path.read_text().split())) == 2


def test_a_task_that_fails_is_told(two: RayWorkers, tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="ValueError: no such luck"):
        all_results(two, [("raise", str(tmp_path / "mark"))])


@pytest.mark.slow
def test_a_task_that_always_kills_its_process_is_given_up(two: RayWorkers, tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=f"ended its process {MAX_RETRIES + 1} times"):
        all_results(two, [("die", str(tmp_path / "mark"))])
    assert (tmp_path / "mark").read_text().count("\n") == MAX_RETRIES + 1


@pytest.mark.parametrize(
    ("address", "what"), [("local", "Ray did not start"), ("auto", "there is no such Ray cluster")]
)
def test_a_cluster_that_cannot_be_had_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, address: str, what: str
) -> None:
    def fail(**_: Any) -> None:
        raise Exception("The current node timed out during startup. This could happen because")

    monkeypatch.setattr("ray.init", fail)
    with pytest.raises(InputError) as error:
        RayWorkers(do, address, 2)
    assert str(error.value) == f"--ray {address}: {what}: The current node timed out during startup"


def test_an_address_where_nobody_answers_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ray.init", lambda **_: pytest.fail("Ray would try for minutes"))
    with pytest.raises(InputError, match=r"^--ray 127\.0\.0\.1:1: there is no such Ray cluster: "):
        RayWorkers(do, "127.0.0.1:1", 2)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("WorkerCrashedError", f"a task ended its process {MAX_RETRIES + 1} times: The worker"),
        ("LocalRayletDiedError", "Ray failed: The task's local raylet died"),
    ],
)
def test_what_ray_gives_up_is_told_as_what_it_was(error: str, told: str) -> None:
    import ray.exceptions

    def fail(place: str) -> None:
        raise getattr(ray.exceptions, error)

    workers = object.__new__(RayWorkers)  # without a cluster
    workers.ray = SimpleNamespace(get=fail, exceptions=ray.exceptions)
    workers.perform, workers._under_way = do, set()
    workers.remote = SimpleNamespace(remote=lambda perform, task: "place")
    with pytest.raises(WorkerError) as raised:
        workers._result("task")
    assert str(raised.value).startswith(told)


def test_without_ray_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"--ray needs Ray: pip install 'augury\[cluster\]'"):
        RayWorkers(do, "local", 2)
