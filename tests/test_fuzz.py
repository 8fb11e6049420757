"""Regressions found by fuzzing, and a small campaign of `benchmarks/fuzz.py`.

The full campaign is in docs/reliability.md.
"""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from augury.apps import cli
from augury.classical.formats import read_graph
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import LONGEST_MESSAGE, InputError
from augury.models.checkpoint import MODELS, find, load

ROOT = Path(__file__).parents[1]


READERS = (
    *("edge list", "labelled matrix", "matrix market", "dimacs", "json", "npz", "npy", "foreign"),
    *("config", "answers", "labels", "records"),
)


@pytest.mark.parametrize(
    "targets", [READERS, pytest.param(("checkpoint", "command"), marks=pytest.mark.slow)]
)
def test_a_small_campaign_finds_no_fault(tmp_path: Path, targets: tuple[str, ...]) -> None:
    out = tmp_path / "fuzz.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "fuzz.py"), "--quick", "--count", "40"]
    command += [part for target in targets for part in ("--only", target)]
    done = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(out.read_text())["targets"]
    assert told.keys() == set(targets)
    assert all(target["inputs"] == 40 and target["fault"] == 0 for target in told.values())
    for outcome in ("read", "refused"):  # neither all valid nor all nonsense
        assert sum(target[outcome] for target in told.values()) > 0


PREPARED = """
import os
import fuzz
made = []
def attempt(case, folder):
    return "read" if made == [os.getppid()] else "refused"
fuzz.TARGETS["json"] = fuzz.Target(
    lambda rng: fuzz.Case({}), attempt, (), prepare=lambda folder: made.append(os.getpid())
)
shares = [fuzz.Share("json", 0, range(first, first + 2)) for first in (0, 2)]
print(fuzz.campaign(shares, 2)["json"]["read"])
"""


def test_what_takes_long_once_is_done_once_before_any_clock_runs() -> None:
    command = [sys.executable, "-c", PREPARED]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "benchmarks")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout == "4\n", done.stderr


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "long.mtx",
            b"%%MatrixMarket matrix coordinate " + b"x" * 9000 + b" general\n1 1 1\n1 1\n",
        ),
        ("long.json", b'{"source": 0, "sink": 1, "arcs": [[0, 1, ' + b"9" * 4000 + b"]]}"),
    ],
)
def test_a_refusal_quotes_no_whole_file(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert len(refused(path)) <= LONGEST_MESSAGE


def test_a_compression_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(bytes(10**7), mtime=0) * 30)
    assert "packed bytes unpack to more than" in refused(path)


def test_a_dense_matrix_that_unpacks_to_too_much_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("augury.classical.formats.matrix.FREE_ARRAYS", 2**20)
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, np.zeros((4000, 4000), bool))
    assert "packed bytes unpack to more than" in refused(path)


def test_what_packs_well_but_is_small_is_read(tmp_path: Path) -> None:
    path = tmp_path / "empty.npz"
    np.savez_compressed(path, np.eye(3000, dtype=bool))
    assert isinstance(graph := read_graph(path), BipartiteGraph) and graph.num_edges == 3000


def with_config(**network: Any) -> bytes:
    """Return the shipped checkpoint with another configuration, and without a digest."""
    data = (MODELS / "discrete.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    config = json.loads(header["__metadata__"]["config"])
    config["network"] |= network
    header["__metadata__"]["config"] = json.dumps(config)
    del header["__metadata__"]["digest"]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


def test_a_checkpoint_that_claims_to_be_wide_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "wide.safetensors"
    path.write_bytes(with_config(hidden=2**20))  # 2^40 weights: made for real, this would not end
    with pytest.raises(InputError, match=r"the weight .* is .*, not float32 of shape"):
        load(path)


def test_a_device_is_no_checkpoint() -> None:
    with pytest.raises(InputError, match="/dev/zero: this is not a file"):
        load("/dev/zero")


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    for name in ("x" * 5000, "zero\0byte"):
        with pytest.raises(InputError, match="there is no such checkpoint"):
            find(name)
        with pytest.raises(InputError):
            read_graph(name)


@pytest.mark.parametrize(
    ("words", "error"),
    [(["solve", "x" * 5000], "file name too long"), (["verify", "x" * 5000], "no such checkpoint")],
)
def test_the_command_refuses_such_a_name(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    error: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["augury", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    told = capsys.readouterr().err
    assert end.value.code == 2 and error in told and len(told.splitlines()) == 1


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (MemoryError(), "augury: this does not fit in memory\n"),
        (OSError(28, "No space left on device"), "augury: no space left on device\n"),
        (OSError(13, "Permission denied", "there"), "augury: there: permission denied\n"),
    ],
)
def test_what_the_system_refuses_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: Exception, told: str
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise fault

    monkeypatch.setattr("augury.classical.generate.generate", fail)
    monkeypatch.setattr(
        sys, "argv", ["augury", "generate", "path", "--n", "3", "--output", "x.csv"]
    )
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2 and capsys.readouterr().err == told


def test_ends_that_cannot_be_labels_are_refused() -> None:
    with pytest.raises(InputError, match="source and sink must be hashable"):
        FlowNetwork.from_labelled_arcs([("s", "t", 1)], [], "t")  # type: ignore[arg-type]


def test_a_sparse_matrix_with_wrong_indices_is_refused() -> None:
    matrix = scipy.sparse.csr_array(np.ones((2, 2)))
    matrix.indices[0] = 2**30
    with pytest.raises(InputError, match="the sparse matrix is damaged"):
        BipartiteGraph.from_scipy(matrix)
