"""A configuration becomes a network; a network becomes one safetensors file and back.

Such a file holds numbers and text, never code. A foreign, damaged or newer file is refused in one
sentence; nothing in it is used before all of it has been checked.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import augury
from augury.algorithms import ALGORITHMS
from augury.algorithms.executor import CellExecutor, Executor
from augury.config import Config, NetworkConfig, from_dict, to_dict
from augury.errors import InputError
from augury.extras import needs
from augury.files import atomic_file
from augury.models import DEFAULT_MODEL, MODELS

with needs("evaluating networks"):
    import torch
    from torch import Tensor, nn

    from augury.cells.network import CellNetwork
    from augury.neural.layers import draw
    from augury.paper.executor import NeuralExecutor
    from augury.paper.networks import PaperNetwork, UnknownProcessor

with needs("reading networks"):
    import safetensors
    import safetensors.torch

FORMAT = "augury-checkpoint"
FORMAT_VERSION = 1
FIELDS = frozenset({"format", "format_version", "version", "config", "provenance"})
MAX_BYTES = 256 * 2**20
"""Far more than any network of ours takes."""
MAX_TENSORS = 10_000
"""Our networks have about thirty; the library spends time on each."""


def _cells(config: NetworkConfig, _: float) -> CellNetwork:
    return CellNetwork(ALGORITHMS[config.algorithm].cells, config.hidden, config.bits)


NETWORKS: dict[str, Callable[[NetworkConfig, float], nn.Module]] = {
    "paper": PaperNetwork,
    "discrete": _cells,
}
"""Each kind, from its configuration and the mean log-degree of the training graphs."""


def make_network(
    config: NetworkConfig,
    mean_log_degree: float = 1.0,
    generator: torch.Generator | None = None,
    device: str = "cpu",
) -> Any:
    """Return an untrained network, with the initial weights that the generator draws.

    Without one they are zero, ready for loading, and no random numbers are drawn. On the device
    "meta" they have only shapes.
    """
    with torch.device(device):  # whatever the host's default is
        network = NETWORKS[config.kind](config, mean_log_degree)
    if generator is not None:
        draw(network, generator)
    return network


def executor_of(network: nn.Module, device: torch.device | str = "cpu") -> Executor:
    """Return the executor of a network.

    >>> executor_of(load(find("paper-mpnn")).network).executes
    ('ford-fulkerson',)
    """
    kind: Any = CellExecutor if isinstance(network, CellNetwork) else NeuralExecutor
    return kind(network, device)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A network and where it comes from."""

    network: Any
    config: Config
    provenance: dict[str, Any]
    """How it was trained: seed, epoch, version, commit, device, scores."""
    digest: str = ""
    """The start of a digest of the weights alone, whatever else the file says."""


def save(path: Path, state: dict[str, Tensor], config: Config, provenance: dict[str, Any]) -> None:
    """Write a checkpoint atomically."""
    metadata = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "version": augury.__version__,
        "config": json.dumps(to_dict(config)),
        "provenance": json.dumps(provenance),
    }
    write_tensors(path, state, metadata)


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write a safetensors file atomically, with a digest of its contents."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = metadata | {"digest": _digest(tensors, metadata)}
    write_bytes(path, _ordered(safetensors.torch.save(tensors, metadata)))


def _ordered(data: bytes) -> bytes:
    """Sort the header of a safetensors file: the library writes metadata in random order."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.dumps(json.loads(data[8 : 8 + length]), sort_keys=True).encode()
    header += b" " * (-len(header) % 8)  # tensors start at a multiple of 8 bytes
    return struct.pack("<Q", len(header)) + header + data[8 + length :]


def _digest(tensors: dict[str, Tensor], metadata: dict[str, str]) -> str:
    """Return a digest of every weight and text, to detect damage."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    with atomic_file(path) as file:
        file.write(data)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read a whole safetensors file, and its metadata without the digest; refuse any other."""
    return _parse_tensors(path, _read_bytes(path))


def _read_bytes(path: Path, most: int | None = None) -> bytes:
    try:
        if path.is_char_device() or path.is_fifo():  # reading these may never end
            raise InputError(f"{path}: this is not a file")
        if most is not None and path.stat().st_size > most:
            raise InputError(f"{path}: {path.stat().st_size:,} bytes are too many for a checkpoint")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from None


def _parse_tensors(path: Path, data: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Parse a safetensors file and check its digest; errors name the path."""
    try:
        header = _header(data)
        tensors = safetensors.torch.load(data)
        metadata = header.get("__metadata__") or {}
    except _UNREADABLE:
        raise InputError(f"{path}: this is not a whole safetensors file") from None
    texts = {str(key): str(value) for key, value in metadata.items()}
    digest = texts.pop("digest", None)  # old files have none
    if digest is not None and digest != _digest(tensors, texts):
        raise InputError(f"{path}: this file is damaged; its digest is not that of its contents")
    return tensors, texts


_UNREADABLE = safetensors.SafetensorError, struct.error, ValueError, KeyError, RecursionError
"""What parsing a file that is not a whole safetensors file can raise."""


def _header(data: bytes) -> dict[str, Any]:
    """Return the header of a safetensors file; refuse one with too many tensors."""
    (length,) = struct.unpack("<Q", data[:8])
    text = data[8 : 8 + length]
    header = json.loads(text) if text.count(b"data_offsets") <= MAX_TENSORS else None
    if not isinstance(header, dict):
        raise ValueError
    return header


DIGESTS = {
    "discrete": "5ae019d18f02dfdbe098ee0c4dc75d7c45e520caab5da2072c1d0a832a2aef3b",
    "paper-mpnn": "e3da8d10b7ae5b14954b178b5c665bcd67db0d71c1eb05f2169d79bfdee02f8f",
    "paper-pna": "ee75d7df5949b74423c7bad3a4d2755ad5672886f6c119c5e91e461133d62a5b",
    "paper-pna-nostd": "bf7db675718ac3b169a4110f7de3e50b89a4eea67377ebe2e0c903d78ce092be",
}
"""The SHA-256 of each shipped file: a swapped one is detected."""


def find(name: str) -> Path:
    """Return the file of a checkpoint, by the name of a shipped one, by path or by run folder.

    Shipped names take precedence over local files: ./discrete is a path, discrete never is. For a
    run folder it is the best network of its only seed.
    """
    found = find_all(name)
    if len(found) > 1:
        raise InputError(
            f"{name}: this run folder holds {len(found)} networks, and one is wanted, such as "
            f"{found[0]}"
        )
    return found[0]


def find_all(name: str) -> list[Path]:
    """Return the files that `find` looks for; in a run folder, the best network of every seed."""
    named = shipped()
    if name in named:
        return [named[name]]
    if os.path.isdir(name):
        found = sorted(Path(name).glob("seed-*/best.safetensors"), key=_seed_of)
        found = found or list(Path(name).glob("best.safetensors"))
        if not found:
            raise InputError(f"{name}: there is no seed-*/best.safetensors in this folder")
        return found
    if os.path.exists(name):  # unlike Path.exists, False for what cannot be a path
        return [Path(name)]
    told = "there is no such checkpoint or run folder"
    raise InputError(f"{name}: {told}, nor is it one of {', '.join(named)}")


def _seed_of(path: Path) -> tuple[int, str]:
    number = path.parent.name.removeprefix("seed-")
    return (int(number) if number.isdigit() else 0, str(path))


def shipped() -> dict[str, Path]:
    """Return the files of the shipped checkpoints, by name."""
    return {path.stem: path for path in sorted(MODELS.glob("*.safetensors"))}


@cache
def shipped_network() -> Any:
    """Load the discrete network that comes with the package."""
    return load(find(DEFAULT_MODEL)).network


def load(path: str | Path) -> Checkpoint:
    """Read a checkpoint; refuse one that is foreign, damaged, or made by a newer version.

    >>> load(find("paper-mpnn")).config.name
    'paper-mpnn'
    """
    path = Path(path)
    return _parse(path, _read_bytes(path, MAX_BYTES))


def load_once(path: Path) -> Checkpoint:
    """Return what `load` does, without parsing an unchanged file again; do not modify it."""
    return _parsed_once(path, _read_bytes(path, MAX_BYTES))


def _parse(path: Path, data: bytes) -> Checkpoint:
    tensors, metadata = _parse_tensors(path, data)
    digest = DIGESTS.get(path.stem) if path.parent == MODELS else None
    if digest is not None and hashlib.sha256(data).hexdigest() != digest:
        raise InputError(f"{path}: this is not the checkpoint that came with Augury")
    if metadata.get("format") != FORMAT:
        raise InputError(f"{path}: this safetensors file is not an Augury checkpoint")
    version = metadata.get("format_version", "")
    if version != str(FORMAT_VERSION):
        raise InputError(
            f"{path}: this is checkpoint format {version!r}, but this version of Augury reads "
            f"{FORMAT_VERSION}"
        )
    if metadata.keys() != FIELDS:
        name = min(metadata.keys() ^ FIELDS)
        raise InputError(f"{path}: the description in this checkpoint is damaged, see {name!r}")
    try:
        config = from_dict(json.loads(metadata["config"]))
        provenance = dict(json.loads(metadata["provenance"]))
        # Shapes only: a file may claim any width, and weights of that size may not fit in memory.
        claimed = make_network(config.network, device="meta").state_dict()
    except UnknownProcessor as error:
        raise InputError(f"{path}: {error}") from None
    except (ValueError, TypeError, AttributeError, RecursionError, RuntimeError) as error:
        told = f"{path}: the configuration in this checkpoint is damaged"
        raise InputError(f"{told}: {error}") from None
    _check_weights(path, claimed, tensors)
    network = make_network(config.network)
    network.load_state_dict(tensors)
    return Checkpoint(network.eval(), config, provenance, _digest(tensors, {})[:12])


_parsed_once = lru_cache(maxsize=8)(_parse)
"""Keyed by path and content: a path may be relative, and a file may change."""


def _check_weights(path: Path, expected: dict[str, Tensor], tensors: dict[str, Tensor]) -> None:
    if set(tensors) != set(expected):
        name = min(set(tensors) ^ set(expected))
        raise InputError(f"{path}: the weights do not fit the configuration, see {name!r}")
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape or tensor.dtype != expected[name].dtype:
            told = f"{_kind(tensor)}, not {_kind(expected[name])}"
            raise InputError(f"{path}: the weight {name!r} is {told}")
        if not torch.isfinite(tensor).all():
            raise InputError(f"{path}: the weight {name!r} has an entry that is not finite")


def _kind(tensor: Tensor) -> str:
    return f"{tensor.dtype} of shape {tuple(tensor.shape)}".removeprefix("torch.")
