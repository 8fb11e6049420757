"""The same seed gives the same bytes in any process, with any threads and hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from augury.models.checkpoint import write_tensors

EVERYTHING = """
import hashlib, sys, warnings
from pathlib import Path
import numpy as np
warnings.simplefilter("ignore")
sys.path.insert(0, "tests")
from augury import generate, solve_batch, record
from augury.classical.formats import write_graph
from augury.experiments.evaluate import Condition, evaluate, load_models
from augury.experiments.records import Extent
from augury.training.trainer import train
from tiny import tiny_config

place, told = Path(sys.argv[1]), hashlib.sha256()
rng = np.random.default_rng(5)
graphs = [generate(family, rng, n=6) for family in ("uniform", "sparse", "ladder", "power-law")]
for ending in ("json", "npz", "csv", "mtx.gz"):
    write_graph(graphs[0], place / f"graph.{ending}")
print("data", hashlib.sha256(b"".join(p.read_bytes() for p in sorted(place.iterdir()))).hexdigest())
for model in ("discrete", "paper-mpnn", "classical", "bellman-ford"):
    print("solve", model, [s.to_dict() for s in solve_batch(graphs, model=model, seed=3)])
for model in load_models(["paper-mpnn", "discrete"], "cpu"):
    print("evaluate", vars(evaluate(model, Condition(1, "1/4", "bfs"), Extent(3, 1))))
config = tiny_config(sys.argv[2], "training.max_epochs=2")
train(config, [0, 1], place / "run", say=lambda line: None)
for path in sorted((place / "run").rglob("seed-*/*.safetensors")):
    print("train", path.name, hashlib.sha256(path.read_bytes()).hexdigest())
"""


def everything(place: Path, preset: str, threads: str, hashes: str) -> str:
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", EVERYTHING, str(place), preset],
        env=os.environ | {"OMP_NUM_THREADS": threads, "PYTHONHASHSEED": hashes},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("train ") == 6
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["discrete", "paper-mpnn"])
def test_processes_threads_and_hashes_change_no_byte(tmp_path: Path, preset: str) -> None:
    first = everything(tmp_path / "a", preset, "1", "0")
    assert everything(tmp_path / "b", preset, "2", "12345") == first


SAVE = """
import sys
from pathlib import Path
import torch
from augury.models.checkpoint import write_tensors
texts = {name: name * 3 for name in ("format", "version", "config", "provenance", "z", "a")}
write_tensors(Path(sys.argv[1]), {"b": torch.ones(3), "a": torch.zeros(2, 2)}, texts)
"""


def test_a_checkpoint_has_the_same_bytes_from_every_process(tmp_path: Path) -> None:
    """The library writes metadata in an order that differs between processes."""
    import torch

    texts = {name: name * 3 for name in ("a", "z", "provenance", "config", "version", "format")}
    write_tensors(tmp_path / "here", {"a": torch.zeros(2, 2), "b": torch.ones(3)}, texts)
    subprocess.run([sys.executable, "-c", SAVE, str(tmp_path / "there")], check=True)
    data = (tmp_path / "there").read_bytes()
    assert data == (tmp_path / "here").read_bytes()
    assert int.from_bytes(data[:8], "little") % 8 == 0
