"""The installation becomes the provenance stated in every result file.

The commit is baked into a build (see setup.py). In a source tree git is asked, but only about the
package's own repository, not one that merely contains it.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import augury

PACKAGE = Path(__file__).resolve().parent
BAKED = "commit.txt"
"""The file in the package that names the commit it was built from."""
UNKNOWN = "unknown"


def commit(package: Path = PACKAGE) -> str:
    """Return the commit that the package was built from or is checked out at, or "unknown"."""
    try:
        return (package / BAKED).read_text(encoding="utf-8").strip()
    except OSError:
        pass
    root = package.parents[1]
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        is_ours = package == root / "src" / "augury" and project["name"] == "augury"
        return _checked_out(root) if is_ours else UNKNOWN
    except (OSError, ValueError, LookupError, TypeError, subprocess.SubprocessError):
        return UNKNOWN


def _checked_out(root: Path) -> str:
    """Return the commit of the repository at `root`, provided that it tracks this very file.

    Naming the folder keeps git from searching upwards; the variables that git sets for programs it
    runs, such as hooks, are dropped.
    """
    file = "src/augury/provenance.py"
    command = ["git", "--git-dir", str(root / ".git"), "rev-parse", "HEAD", f"HEAD:{file}"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=10, check=True, env=env, cwd=root
    )
    return done.stdout.split()[0]


def provenance(device: str) -> dict[str, Any]:
    """Return versions, commit and device; PyTorch is imported only for a GPU."""
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
