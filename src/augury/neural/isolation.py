"""Networks compute alike whatever the host has set in PyTorch, and leave all of it as it was.

A host may have another default dtype or device, or run us inside autocast: so every tensor here is
made with its own dtype and device (a test looks for those that are not), and `inference` keeps
autocast out. Nothing here sets anything for the whole process, for other threads would see it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from typing import Any

import torch

from augury.errors import memory_told


@contextmanager
def inference() -> Iterator[None]:
    """Compute without gradients, in the precision of the weights; also a decorator.

    Raises:
        MemoryError: it does not fit; PyTorch would raise something else, a page long.
    """
    with memory_told(), torch.inference_mode(), own_precision():
        yield


@contextmanager
def own_precision() -> Iterator[None]:
    """Keep autocast out, which would compute in half the bits; also a decorator."""
    with ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield


def threads_for(form: str | None) -> AbstractContextManager[None]:
    """Keep PyTorch to one thread while the fast form runs.

    Its part of that form comes in pieces so small that threads would only wait for each other.
    """
    return one_thread(form == "fast")


@contextmanager
def one_thread(is_wanted: bool) -> Iterator[None]:
    """Keep PyTorch to one thread in the thread that calls, if that is wanted and can be done.

    `torch.set_num_threads` would not do: it also sets what threads start with that are new, and
    where two of us run at once one of them would "restore" what the other had set.
    """
    before = torch.get_num_threads()  # first: a thread is given its number when it first asks
    openmp = _openmp() if is_wanted and before > 1 else None
    if openmp is None:
        yield
        return
    openmp.omp_set_num_threads(1)
    try:
        yield
    finally:
        openmp.omp_set_num_threads(before)


@cache
def _openmp() -> Any:
    """Return the library by which PyTorch starts threads; None where it cannot be reached.

    Its `omp_set_num_threads` is for the calling thread alone.
    """
    before = torch.get_num_threads()
    try:
        library = ctypes.CDLL(None)
        library.omp_set_num_threads(1)
    except (AttributeError, TypeError, OSError):
        return None
    is_its = torch.get_num_threads() == 1
    library.omp_set_num_threads(before)
    return library if is_its else None
