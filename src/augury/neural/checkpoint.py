"""A network becomes one safetensors file and back: weights, configuration, version, provenance.

Such a file holds numbers and text, never code. A foreign, damaged or newer file is refused with one
sentence; nothing of it is used before all of it has been checked.
"""

from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

import augury
from augury.classical.graph import InputError
from augury.config import Config, ConfigError, from_dict, to_dict
from augury.neural.networks import PaperNetwork

FORMAT = "augury-checkpoint"
FORMAT_VERSION = 1
MAX_BYTES = 256 * 2**20
"""No network of ours comes near this; a larger file is not one."""


@dataclass(frozen=True)
class Checkpoint:
    """A network and where it comes from."""

    network: PaperNetwork
    config: Config
    provenance: dict[str, Any]
    """How it was trained: seed, epoch, version, commit, device, scores."""


def save(path: Path, state: dict[str, Tensor], config: Config, provenance: dict[str, Any]) -> None:
    """Write the file, all of it or nothing."""
    metadata = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "version": augury.__version__,
        "config": json.dumps(to_dict(config)),
        "provenance": json.dumps(provenance),
    }
    write_tensors(path, state, metadata)


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write a safetensors file atomically."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_bytes(path, safetensors.torch.save(tensors, metadata))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file that takes its name only once all of it is written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read a safetensors file and its metadata.

    Raises:
        InputError: there is no such file, or it is not a whole safetensors file.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: {path.stat().st_size:,} bytes are too many for a checkpoint")
        data = path.read_bytes()
        tensors = safetensors.torch.load(data)
        (length,) = struct.unpack("<Q", data[:8])
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (
        safetensors.SafetensorError,
        struct.error,
        ValueError,
        KeyError,
        RecursionError,
    ) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: this is not a whole safetensors file") from None
    return tensors, {str(key): str(value) for key, value in metadata.items()}


def load(path: str | Path) -> Checkpoint:
    """Read and check a checkpoint.

    Raises:
        InputError: the file is foreign, damaged, or made by a newer version.
    """
    path = Path(path)
    tensors, metadata = read_tensors(path)
    if metadata.get("format") != FORMAT:
        raise InputError(f"{path}: this safetensors file is not an Augury checkpoint")
    version = metadata.get("format_version", "")
    if not version.isdigit() or int(version) > FORMAT_VERSION:
        raise InputError(
            f"{path}: checkpoint format {version!r} is newer than this version of Augury reads "
            f"({FORMAT_VERSION})"
        )
    try:
        config = from_dict(json.loads(metadata["config"]))
        provenance = json.loads(metadata["provenance"])
        network = PaperNetwork(config.network, mean_log_degree=1.0)
    except (KeyError, ValueError, TypeError, AttributeError, ConfigError, RecursionError) as error:
        raise InputError(
            f"{path}: the configuration in this checkpoint is damaged: {error}"
        ) from None
    _load_weights(path, network, tensors)
    return Checkpoint(network.eval(), config, provenance)


def _load_weights(path: Path, network: PaperNetwork, tensors: dict[str, Tensor]) -> None:
    expected = network.state_dict()
    if set(tensors) != set(expected):
        name = min(set(tensors) ^ set(expected))
        raise InputError(f"{path}: the weights do not fit the configuration, see {name!r}")
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape or tensor.dtype != expected[name].dtype:
            raise InputError(f"{path}: the weight {name!r} has shape {tuple(tensor.shape)}, "
                             f"not {tuple(expected[name].shape)}")  # fmt: skip
        if not torch.isfinite(tensor).all():
            raise InputError(f"{path}: the weight {name!r} has an entry that is not finite")
    network.load_state_dict(tensors)
