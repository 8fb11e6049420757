"""A checkpoint survives a round trip, or is refused in one line that names the file."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from augury.config import NetworkConfig, preset
from augury.errors import InputError
from augury.models import checkpoint
from augury.models.checkpoint import make_network
from augury.paper.networks import PaperNetwork
from augury.paper.processors import PROCESSORS
from tiny import tiny_config

CONFIG = tiny_config("paper-pna", "network.hidden=4", "network.bits=4", "network.heads=2")
TOLD = {"seed": 3, "scores": {"score": 0.5}}


def network() -> PaperNetwork:
    return make_network(CONFIG.network, 1.25, torch.Generator().manual_seed(0))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "one.safetensors"
    checkpoint.save(path, network().state_dict(), CONFIG, TOLD)
    return path


def refused(path: Path, match: str = ".") -> str:
    with pytest.raises(InputError, match=match) as caught:
        checkpoint.load(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ") and "\n" not in text
    return text


def rewritten(
    path: Path,
    change: Callable[[dict[str, Any], dict[str, str]], None],
    digest: bool = True,
) -> Path:
    """Write the file again with other contents and, unless told otherwise, the right digest."""
    tensors, metadata = checkpoint.read_tensors(path)
    change(tensors, metadata)
    if digest:
        checkpoint.write_tensors(path, tensors, metadata)
    else:
        path.write_bytes(safetensors.torch.save(tensors, metadata))
    return path


@pytest.mark.parametrize("name", PROCESSORS)
def test_a_network_comes_back_with_its_configuration_and_provenance(
    name: str, tmp_path: Path
) -> None:
    config = tiny_config("paper-mpnn", f"network.processor={name}")
    before = make_network(config.network, 1.25, torch.Generator().manual_seed(0))
    path = tmp_path / "a.safetensors"
    checkpoint.save(path, before.state_dict(), config, TOLD)
    found = checkpoint.load(str(path))
    assert (found.config, found.provenance) == (config, TOLD)
    assert not found.network.training
    for key, value in before.state_dict().items():
        assert torch.equal(found.network.state_dict()[key], value), key
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.safetensors"]


def test_a_file_cut_short_anywhere_is_refused(file: Path) -> None:
    data = file.read_bytes()
    for part in range(50):
        file.write_bytes(data[: len(data) * part // 50])
        refused(file)
    file.write_bytes(data + b"more")
    refused(file)


@given(where=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255), is_early=st.booleans())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_changed_byte_is_noticed(file: Path, where: float, change: int, is_early: bool) -> None:
    data = bytearray(file.read_bytes())
    path = file.with_name("changed.safetensors")
    header = 8 + int.from_bytes(data[:8], "little")
    place = int(where * (header if is_early else len(data)))
    data[place] ^= change
    path.write_bytes(data)
    try:
        found = checkpoint.load(path)
    except InputError as error:
        assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
        return
    # White space that fills the header up means nothing, whichever kind it is.
    assert data[place : place + 1].isspace() and place < header
    before = checkpoint.load(file)
    assert (found.config, found.provenance) == (before.config, before.provenance)
    one, other = found.network.state_dict(), before.network.state_dict()
    assert all(torch.equal(one[key], other[key]) for key in other)


def test_one_weights_last_bit_is_noticed(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-4] ^= 1
    file.write_bytes(data)
    refused(file, "this file is damaged")


def test_a_file_without_a_digest_is_still_read(file: Path) -> None:
    rewritten(file, lambda tensors, metadata: None, digest=False)
    assert checkpoint.load(file).provenance == TOLD


def without(name: str) -> Callable[[dict[str, Any], dict[str, str]], None]:
    return lambda tensors, metadata: (tensors if name in tensors else metadata).__delitem__(name)


def with_text(name: str, text: str) -> Callable[[dict[str, Any], dict[str, str]], None]:
    return lambda tensors, metadata: metadata.__setitem__(name, text)


def with_weight(name: str, value: torch.Tensor) -> Callable[[dict[str, Any], dict[str, str]], None]:
    return lambda tensors, metadata: tensors.__setitem__(name, value)


def config_text(**network: object) -> str:
    settings = {"hidden": 4, "bits": 4, "heads": 2, "processor": "pna"} | network
    return json.dumps({"preset": "paper-pna", "network": settings})


WEIGHT = "bit_encoder.weight"
DAMAGES: dict[str, tuple[Callable[[dict[str, Any], dict[str, str]], None], str]] = {
    "another format": (with_text("format", "other"), "not an Augury checkpoint"),
    "no format": (without("format"), "not an Augury checkpoint"),
    "a newer format": (with_text("format_version", "2"), "checkpoint format '2', but"),
    "no version": (without("format_version"), "checkpoint format '', but"),
    "a version in odd digits": (with_text("format_version", "²"), "checkpoint format '²', but"),
    "a version of many digits": (with_text("format_version", "9" * 5000), "checkpoint format"),
    "no configuration": (without("config"), "see 'config'"),
    "no provenance": (without("provenance"), "see 'provenance'"),
    "a field too many": (with_text("more", ""), "see 'more'"),
    "no JSON": (with_text("config", "{"), "configuration in this checkpoint is damaged"),
    "a list": (with_text("config", "[]"), "configuration in this checkpoint is damaged"),
    "a number": (with_text("config", '{"data": 3}'), "configuration in this checkpoint is damaged"),
    "deep JSON": (with_text("config", "[" * 10**5), "configuration in this checkpoint is damaged"),
    "provenance of no kind": (with_text("provenance", "3"), "is damaged"),
    "an unknown setting": (with_text("config", config_text(depth=3)), "no setting 'network.depth'"),
    "an unknown processor": (with_text("config", config_text(processor="x")), "'x', none of"),
    "98 bits": (with_text("config", config_text(bits=98)), "network.bits is 98"),
    "3 heads": (with_text("config", config_text(heads=3)), "multiple of network.heads"),
    "a giant": (with_text("config", config_text(hidden=2**40)), "is damaged"),
    "another width": (with_text("config", config_text(hidden=8)), "has shape|is float32 of shape"),
    "another processor": (with_text("config", config_text(processor="mpnn")), "do not fit"),
    "a weight too few": (without(WEIGHT), f"see '{WEIGHT}'"),
    "a weight too many": (with_weight("more", torch.zeros(1)), "see 'more'"),
    "a wrong shape": (with_weight(WEIGHT, torch.zeros(4, 5)), "of shape \\(4, 5\\), not"),
    "a wrong kind": (with_weight(WEIGHT, torch.zeros(4, 4).half()), "float16 of shape"),
    "not a number": (with_weight(WEIGHT, torch.full((4, 4), torch.nan)), "not finite"),
    "infinity": (with_weight(WEIGHT, torch.full((4, 4), -torch.inf)), "not finite"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("digest", [True, False])
def test_contents_that_do_not_fit_are_refused(damage: str, digest: bool, file: Path) -> None:
    change, match = DAMAGES[damage]
    refused(rewritten(file, change, digest), match)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    refused(tmp_path / "absent", "no such file")
    refused(tmp_path, "is a directory")
    for name, data in {
        "empty": b"",
        "text": b"1,2\n3,4\n" * 10,
        "zeros": bytes(1000),
        "length only": b"\xff" * 8,
        "no metadata": safetensors.torch.save({"a": torch.zeros(1)}),
        "null": _with_header('{"__metadata__":null}'),
        "numbers": _with_header('{"__metadata__":{"format":3}}'),
        "deep": _with_header("[" * 10**5),
    }.items():
        path = tmp_path / name
        path.write_bytes(data)
        refused(path)


def _with_header(text: str) -> bytes:
    return len(text).to_bytes(8, "little") + text.encode()


class Trap:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("write", [pickle.dump, torch.save])
def test_a_pickle_is_refused_and_never_run(write: Callable[..., None], tmp_path: Path) -> None:
    sprung, path = tmp_path / "sprung", tmp_path / "model.pt"
    with path.open("wb") as stream:
        write(Trap(sprung), stream)
    refused(path, "not a whole safetensors file")
    assert not sprung.exists()


def test_a_file_too_large_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "MAX_BYTES", 100)
    refused(file, re.escape("bytes are too many"))


def test_a_file_that_cannot_be_written_leaves_the_old_one(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()

    def full(path: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        checkpoint.save(file, network().state_dict(), CONFIG, TOLD)
    assert file.read_bytes() == before
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_the_papers_network_takes_the_paper_number_of_bytes(tmp_path: Path) -> None:
    path = tmp_path / "paper.safetensors"
    config = preset("paper-mpnn")
    checkpoint.save(path, PaperNetwork(NetworkConfig(), 1.0).state_dict(), config, {})
    assert 4 * 40_641 < path.stat().st_size < 4 * 40_641 + 8000


def test_a_header_that_is_none_or_too_long_is_refused_before_tensors_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(data: bytes) -> dict[str, Any]:
        raise AssertionError("the library was asked")

    for text in (b"3", b"null", b"[]"):  # a header that is no object
        path = tmp_path / "odd.safetensors"
        path.write_bytes(len(text).to_bytes(8, "little") + text)
        with pytest.raises(InputError, match="this is not a whole safetensors file"):
            checkpoint.load(path)
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps({f"t{n}": entry for n in range(20_000)}).encode()
    path = tmp_path / "many.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    monkeypatch.setattr(safetensors.torch, "load", load)
    with pytest.raises(InputError, match="this is not a whole safetensors file"):
        checkpoint.load(path)
