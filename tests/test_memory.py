"""Want of memory is one sentence, whoever runs short."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from augury import solve
from augury.algorithms.executor import CellExecutor
from augury.classical.ford_fulkerson import BREADTH_FIRST
from augury.errors import NO_MEMORY, is_out_of_memory, memory_told
from augury.neural.isolation import inference
from graphs import JOBS
from proven import proven

HUGE = 2**58


def test_pytorchs_own_words_become_one_sentence() -> None:
    with pytest.raises(RuntimeError) as before:
        torch.empty(HUGE, dtype=torch.uint8)
    assert is_out_of_memory(before.value)
    with pytest.raises(MemoryError) as told, memory_told():
        torch.empty(HUGE, dtype=torch.uint8)
    assert str(told.value) == NO_MEMORY


@pytest.mark.parametrize(
    ("error", "is_short"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"), True),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("expected scalar type Float"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_want_of_memory_is_told_from_other_errors(error: Exception, is_short: bool) -> None:
    assert is_out_of_memory(error) == is_short
    outer = RuntimeError("could not be loaded")
    outer.__cause__ = error
    assert is_out_of_memory(outer) == is_short


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="something else"), memory_told():
        raise RuntimeError("something else")


def test_a_network_that_runs_short_raises_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*_: object) -> None:
        torch.empty(HUGE, dtype=torch.uint8)

    executor = CellExecutor(proven())
    monkeypatch.setattr(executor.network["flood"], "forward", greedy)
    with pytest.raises(MemoryError, match=f"^{NO_MEMORY}$"):
        solve(JOBS, model=executor, engine="plain")


def test_an_executor_of_somebody_else_says_what_it_wants() -> None:
    @inference()
    def search(batch: object, residual: object, weights: object, /) -> None:
        np.empty(HUGE, np.uint8)

    with pytest.raises(MemoryError, match="Unable to allocate"):
        solve(JOBS, model=BREADTH_FIRST._replace(search=search))  # type: ignore[arg-type]
