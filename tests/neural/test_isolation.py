"""One thread only where requested and only for the caller; autocast is always off."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from augury.neural.isolation import inference, one_thread, own_precision

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads are not reached")


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@only_linux
def test_one_thread_gives_the_others_back() -> None:
    for is_wanted, expected in ((True, 1), (False, 3)):
        with one_thread(is_wanted):
            assert torch.get_num_threads() == expected
        assert torch.get_num_threads() == 3
    with pytest.raises(KeyError), one_thread(True):
        raise KeyError
    assert torch.get_num_threads() == 3


@only_linux
def test_within_one_thread_another_is_one_too() -> None:
    with one_thread(True), one_thread(True):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


@only_linux
def test_other_threads_keep_theirs_whatever_the_order_in_which_we_end() -> None:
    """A begins, B begins, A ends, B ends: once, B then "restored" the one thread of A."""
    inside, ended = threading.Barrier(2), threading.Event()
    seen: dict[str, list[int]] = {"a": [], "b": []}

    def run(name: str) -> None:
        with one_thread(True):
            inside.wait(10)
            if name == "b":
                ended.wait(10)
            seen[name].append(torch.get_num_threads())
        seen[name].append(torch.get_num_threads())
        ended.set()

    with one_thread(True), ThreadPoolExecutor(3) as pool:
        new = pool.submit(torch.get_num_threads).result()
        list(pool.map(run, ("a", "b")))
    assert (new, seen) == (3, {"a": [1, 3], "b": [1, 3]})
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == 3


def test_autocast_is_kept_out_and_comes_back() -> None:
    left, right = torch.ones(4, 4), torch.ones(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with own_precision():
            assert (left @ right).dtype == torch.float32
        assert (left @ right).dtype == torch.bfloat16
        with inference():
            assert (left @ right).dtype == torch.float32
            assert torch.is_inference_mode_enabled()
    assert not torch.is_inference_mode_enabled()
