"""Where a result comes from: what every result file carries besides its figures."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path
from typing import Any

import augury


def commit() -> str:
    """Return the commit of the source tree, or "unknown" outside of one."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def provenance(device: str) -> dict[str, Any]:
    """Return version, commit, and the machine that ran; PyTorch is imported for a GPU alone."""
    name = platform.machine()
    if device.startswith("cuda"):
        import torch

        name = torch.cuda.get_device_name()
    return {
        "version": augury.__version__,
        "commit": commit(),
        "torch": importlib.metadata.version("torch"),
        "device": name,
    }
