"""Errors are one printable line, including those about memory."""

from __future__ import annotations

import sys
import unicodedata

import numpy as np
import pytest
import torch

from augury import solve
from augury.algorithms.executor import CellExecutor
from augury.classical.ford_fulkerson import BREADTH_FIRST
from augury.errors import (
    LONGEST_MESSAGE,
    NO_MEMORY,
    InputError,
    is_out_of_memory,
    memory_told,
    visible,
)
from augury.neural.isolation import inference
from graphs import JOBS
from proven import proven


def test_what_a_terminal_obeys_is_shown() -> None:
    assert visible("\x1b[2J\x9b31m\x07\r\x7f\0") == r"\x1b[2J\x9b31m\x07\r\x7f\x00"
    assert visible("a\u202eb\u2066c\u200fd") == r"a\u202eb\u2066c\u200fd"


def test_text_stays_as_it_is() -> None:
    for text in ("", "Jürgen 李 \U0001f600", "two\tcolumns\n", "family \U0001f468\u200d\U0001f469"):
        assert visible(text) == text


def test_no_control_character_of_unicode_is_left() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    left = {letter for letter in visible(every) if unicodedata.category(letter) == "Cc"}
    turned = {
        letter
        for letter in visible(every)
        if unicodedata.bidirectional(letter) in ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI")
    }
    assert left == set("\t\n") and turned == set()


def test_an_error_holds_nothing_that_a_terminal_obeys() -> None:
    assert str(InputError("no \x1b[31mfile")) == r"no \x1b[31mfile"


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
    for link in ("__cause__", "__context__"):
        outer = RuntimeError("could not be loaded")
        setattr(outer, link, error)
        assert is_out_of_memory(outer) == is_short


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="something else"), memory_told():
        raise RuntimeError("something else")


def test_a_network_that_runs_short_raises_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*_: object) -> None:
        torch.empty(HUGE, dtype=torch.uint8)

    network = proven()
    monkeypatch.setattr(network["flood"], "forward", greedy)
    with pytest.raises(MemoryError, match=f"^{NO_MEMORY}$"):
        solve(JOBS, model=CellExecutor(network), engine="plain")


def test_an_executor_of_somebody_else_says_what_it_wants() -> None:
    @inference()
    def search(batch: object, residual: object, weights: object, /) -> None:
        np.empty(HUGE, np.uint8)

    with pytest.raises(MemoryError, match="Unable to allocate"):
        solve(JOBS, model=BREADTH_FIRST._replace(search=search))  # type: ignore[arg-type]


def test_a_message_is_one_short_line_whatever_it_quotes() -> None:
    message = str(InputError("first\nsecond\u2028third" + "x" * 5000 + " the end"))
    assert len(message) <= LONGEST_MESSAGE and len(message.splitlines()) == 1
    assert message.startswith("first second third") and message.endswith("the end")
    assert str(InputError("two  spaces stay")) == "two  spaces stay"
