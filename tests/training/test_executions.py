"""Executions in processes of their own give what they give here, and leave no process behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from augury import processes
from augury.config import preset, with_settings
from augury.models import checkpoint
from augury.training.executions import Executions, Validation, processes_for
from tiny import tiny_config

CONFIG = with_settings(
    replace(preset("paper-mpnn"), data=tiny_config().data),
    ["training.execution_scales=1,2", "training.execution_graphs=3"],
)


def silent(_: str) -> None:
    pass


def validation() -> Validation:
    return Validation(CONFIG, 1.0)


def networks() -> list[dict[str, Tensor]]:
    """Return the weights of a trained network, of a damaged one, and of one that knows nothing."""
    trained = checkpoint.load(checkpoint.find("paper-mpnn")).network.state_dict()
    rng = np.random.default_rng(0)
    damaged = {
        key: value + 0.05 * torch.from_numpy(rng.standard_normal(value.shape)).float()
        for key, value in trained.items()
    }
    return [trained, damaged, {key: torch.zeros_like(value) for key, value in trained.items()}]


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def two(said: list[str]) -> Iterator[Executions]:
    before = set(multiprocessing.active_children())
    with closing(Executions(validation(), 2, said.append)) as made:
        yield made
    assert not set(multiprocessing.active_children()) - before


def test_processes_find_what_this_one_finds(two: Executions) -> None:
    with closing(Executions(validation(), 0)) as here:
        expected = [here.result(here.submit(weights)) for weights in networks()]
    under_way = [two.submit(weights) for weights in networks()]
    assert all(execution.future is not None for execution in under_way)
    assert [two.result(execution) for execution in under_way] == expected
    assert expected[0] == {"execution_1x": 1.0, "execution_2x": 1.0}
    assert expected[2] == validation().nothing and expected[1] != expected[0]


def test_all_processes_start_without_waiting_for_one_another() -> None:
    before = set(multiprocessing.active_children())
    whole = Validation(preset("paper-mpnn"), 1.0)
    assert whole.graphs  # which are more than a pipe holds
    with closing(Executions(whole, 2, silent)):
        assert len(set(multiprocessing.active_children()) - before) == 2


def test_randomness_of_the_caller_is_left_alone() -> None:
    weights, before = networks()[0], torch.get_rng_state()
    with closing(Executions(validation(), 0)) as here:
        here.result(here.submit(weights))
    assert torch.equal(torch.get_rng_state(), before)


def test_an_interrupt_is_left_to_this_process(two: Executions) -> None:
    """No library has taken Ctrl-C back; how the processes end is tested in test_processes.py."""
    assert two.pool is not None
    expected, *under_way = [two.submit(networks()[0]) for _ in range(6)]
    children = [child.process for child in two.pool.children]
    for process in children:
        assert process is not None and process.pid is not None
        os.kill(process.pid, signal.SIGINT)  # as a terminal does
    found = two.result(expected)
    assert all(two.result(execution) == found for execution in under_way)
    assert [child.process for child in two.pool.children] == children


def test_an_error_of_an_execution_is_an_error_here(two: Executions) -> None:
    with pytest.raises(RuntimeError, match="Missing key"):
        two.result(two.submit({}))
    assert two.pool is not None  # the others go on


def test_a_process_that_dies_is_replaced(two: Executions, said: list[str]) -> None:
    assert two.pool is not None
    under_way = [two.submit(weights) for weights in networks()[:2] * 4]
    process = two.pool.children[0].process
    assert process is not None
    process.kill()
    found = [two.result(execution) for execution in under_way]
    assert found == found[:2] * 4 and not said
    assert two.pool is not None and two.pool.children[0].process is not process


def test_what_processes_left_that_keep_dying_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(self: processes.Child, task: object) -> None:
        raise processes.Died

    said: list[str] = []
    before = set(multiprocessing.active_children())
    monkeypatch.setattr(processes.Child, "ask", die)
    monkeypatch.setattr(processes, "MAX_RETRIES", 1)
    with closing(Executions(validation(), 1, said.append)) as made:
        under_way = [made.submit(weights) for weights in networks()[:2] * 2]
        found = [made.result(execution) for execution in under_way]
        after = made.submit(networks()[0])
        assert after.is_back and after.future is None
        assert made.result(after) == found[0]
    assert found == found[:2] * 2 and found[0]["execution_1x"] == 1
    assert len(said) == 1 and "keep dying" in said[0]
    assert not set(multiprocessing.active_children()) - before


def test_where_no_process_can_be_started_this_one_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise BlockingIOError

    said: list[str] = []
    monkeypatch.setattr(processes.Child, "start", fail)
    with closing(Executions(validation(), 2, said.append)) as made:
        assert made.result(made.submit(networks()[0]))["execution_1x"] == 1
    assert len(said) == 1


def test_a_process_that_may_start_none_starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(multiprocessing.current_process()), "daemon", True)
    with closing(Executions(validation(), 2, silent)) as made:
        assert made.pool is None


def test_two_cores_are_left_free(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, networks_, expected in ((16, 10, 14), (16, 1, 4), (2, 10, 1), (1, 1, 1)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=cores: set(range(n)))
        assert processes_for(networks_) == expected


def test_with_t_1_the_first_invalid_path_ends_a_run_and_reachability_is_not_asked() -> None:
    config = with_settings(CONFIG, ["training.select=both", "training.execution_graphs=12"])
    trained, _, nothing = networks()
    shares = Validation(config, 1.0).executed({k: v.numpy() for k, v in trained.items()})
    assert list(shares) == [f"execution_{end}{n}x" for end in ("", "t1_") for n in (1, 2)]
    assert shares["execution_1x"] == 1.0 and shares["execution_t1_1x"] > 0.5
    # Without reachability BFS never knows the end, which does not matter to t = 1.
    blind = {k: torch.zeros_like(v) if k.startswith("reach") else v for k, v in trained.items()}
    found = Validation(config, 1.0).executed({k: v.numpy() for k, v in blind.items()})
    assert found["execution_1x"] == 0.0
    assert {k: v for k, v in found.items() if "t1" in k} == {
        k: v for k, v in shares.items() if "t1" in k
    }
    lost = Validation(config, 1.0).executed({k: v.numpy() for k, v in nothing.items()})
    assert max(lost.values()) < 0.2  # some graphs have no edge
