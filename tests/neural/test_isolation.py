"""One thread only where requested and only for the caller; always in float32, or refused."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import augury
from augury.cells.network import compiled
from augury.classical.generate import sparse
from augury.errors import InputError
from augury.experiments.evaluate import Condition, evaluate, load_models
from augury.experiments.records import Extent
from augury.models.checkpoint import load
from augury.neural.isolation import inference, one_thread, own_precision
from augury.training.trainer import train
from augury.verify import verify
from proven import proven
from tiny import tiny_config

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


def test_flushing_subnormal_numbers_is_kept_out_and_comes_back() -> None:
    def is_flushed() -> bool:
        return float(torch.tensor(1e-40, dtype=torch.float32) * 1) == 0

    torch.set_flush_denormal(True)
    try:
        with own_precision():
            assert not is_flushed()
        assert is_flushed()
        with pytest.raises(KeyError), own_precision():
            raise KeyError
        assert is_flushed()
    finally:
        torch.set_flush_denormal(False)
    with own_precision():
        pass
    assert not is_flushed()


@contextmanager
def precision(change: Callable[[], object]) -> Iterator[None]:
    change()
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


ROUNDED: dict[str, Callable[[], object]] = {
    "tf32": lambda: torch.set_float32_matmul_precision("high"),
    "bf16": lambda: torch.set_float32_matmul_precision("medium"),
}
GRAPH = sparse(np.random.default_rng(0), 6)


@pytest.mark.parametrize("name", ROUNDED)
def test_rounded_products_are_refused_by_whatever_computes_with_weights(
    name: str, tmp_path: Path
) -> None:
    [paper, discrete] = load_models(["paper-mpnn", "discrete"], "cpu")
    extent = Extent(graphs=2, runs=1)

    def trained() -> object:
        config = tiny_config("discrete", "training.max_epochs=1")
        return train(config, [0], tmp_path / "run", say=lambda line: None)

    refusing: list[Callable[[], object]] = [
        lambda: augury.solve(GRAPH, engine="plain"),
        lambda: augury.solve(GRAPH, model="paper-mpnn"),
        lambda: evaluate(paper, Condition(p="3/n"), extent),
        lambda: evaluate(discrete, Condition(p="3/n"), extent),
        trained,
    ]
    for function in refusing:
        told = rf"may round the inputs of float32 products to {name} here.*\('highest'\) first$"
        with precision(ROUNDED[name]), pytest.raises(InputError, match=told):
            function()
    assert not (tmp_path / "run" / "config.json").exists()


@pytest.mark.parametrize("name", ROUNDED)
def test_rounded_products_change_nothing_where_no_weight_is_read(name: str) -> None:
    expected = verify(proven()).to_dict()
    with precision(ROUNDED[name]):
        told = verify(proven()).to_dict()
        for answer in (augury.solve(GRAPH), augury.solve(GRAPH, engine="lookup")):
            assert answer.is_maximum
    for proof in (expected, told):
        for part in proof["parts"].values():
            del part["seconds"]
    assert told == expected


def test_settings_of_one_backend_alone_are_seen() -> None:
    mkldnn: Any = torch.backends.mkldnn
    mkldnn.matmul.fp32_precision = "bf16"
    try:
        with pytest.raises(InputError, match="to bf16 here"), own_precision():
            pass
    finally:
        mkldnn.matmul.fp32_precision = "none"
    with own_precision():
        pass


def test_what_is_set_for_a_gpu_matters_on_a_gpu_alone() -> None:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        with own_precision():
            pass
        with pytest.raises(InputError, match="to tf32 here"), own_precision("cuda:0"):
            pass
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_tf32_is_refused_by_a_network_on_a_gpu() -> None:
    network = proven().to("cuda")
    expected = compiled(network).to_dict()
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        with pytest.raises(InputError, match="to tf32 here"):
            compiled(network)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    assert compiled(network).to_dict() == expected


@pytest.mark.parametrize("host", ["float64", "autocast", "flushed"])
def test_training_gives_the_same_weights_whatever_the_host_has_set(
    host: str, tmp_path: Path
) -> None:
    def trained(folder: str) -> str:
        config = tiny_config("discrete", "training.max_epochs=1")
        train(config, [0], tmp_path / folder, say=lambda line: None)
        return load(tmp_path / folder / "seed-0" / "best.safetensors").digest

    expected = trained("usual")
    if host == "autocast":
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = trained("other")
    else:
        try:
            if host == "float64":
                torch.set_default_dtype(torch.float64)
            else:
                torch.set_flush_denormal(True)
            found = trained("other")
        finally:
            torch.set_default_dtype(torch.float32)
            torch.set_flush_denormal(False)
    assert found == expected
