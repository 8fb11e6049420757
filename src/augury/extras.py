"""A package that is not installed becomes one sentence that says how to install it.

`pip install augury` installs what solving needs. Everything else belongs to an extra, and is
imported only where it is used: inside `with needs(...)`. A package that is installed but broken
keeps its own error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from augury.errors import InputError

EXTRAS = {
    "cupy": ("CuPy", "augury[cuda]"),
    "fastapi": ("FastAPI", "augury[web]"),
    "lightning": ("Lightning", "augury[neural]"),
    "matplotlib": ("Matplotlib", "augury[neural]"),
    "networkx": ("NetworkX", "networkx"),  # anyone with such graphs has it
    "pyarrow": ("PyArrow", "augury[cluster]"),
    "ray": ("Ray", "augury[cluster]"),
    "safetensors": ("safetensors", "augury[neural]"),
    "tensorboard": ("TensorBoard", "augury[neural]"),
    "torch": ("PyTorch", "augury[neural]"),
    "torch_geometric": ("PyTorch Geometric", "augury[neural]"),
    "uvicorn": ("Uvicorn", "augury[web]"),
    "wandb": ("Weights & Biases", "augury[wandb]"),
}
"""Each module that may be missing: its name in prose, and what pip installs."""


class MissingExtra(InputError, ImportError):
    """A package that this needs is not installed; the message says how to install it."""


def is_installed(module: str) -> bool:
    """Whether a module is installed, broken or not; nothing is imported."""
    return find_spec(module) is not None


def missing(what: str, module: str) -> MissingExtra | None:
    """Return the error to raise if a module of `EXTRAS` is not installed; else None."""
    module = module.partition(".")[0]
    if module not in EXTRAS or is_installed(module):
        return None
    name, wanted = EXTRAS[module]
    return MissingExtra(f"{what} needs {name}: pip install '{wanted}'")


def require(what: str, *modules: str) -> None:
    """Raise a `MissingExtra` if one of these modules is not installed."""
    for module in modules:
        if fault := missing(what, module):
            raise fault


@contextmanager
def needs(what: str) -> Iterator[None]:
    """Turn an import in this block that fails for want of an extra into a `MissingExtra`."""
    try:
        yield
    except ModuleNotFoundError as error:
        if fault := missing(what, error.name or ""):
            raise fault from None
        raise
