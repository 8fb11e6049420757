"""Networks compute the same whatever the caller has set in PyTorch, and change none of it.

A caller may have another default dtype or device, or call us inside autocast. So every tensor is
made with an explicit dtype and device (a test looks for those that are not), and `inference` keeps
autocast out. Nothing here sets anything for the whole process, since other threads would see it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import torch

from augury.errors import memory_told


@contextmanager
def inference() -> Iterator[None]:
    """Compute without gradients, in the precision of the weights; also a decorator.

    Where memory runs out, PyTorch's RuntimeError of a page becomes a `MemoryError`.
    """
    with memory_told(), torch.inference_mode(), own_precision():
        yield


@contextmanager
def own_precision() -> Iterator[None]:
    """Switch autocast off, which would compute in half precision; also a decorator."""
    with ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield


@contextmanager
def one_thread(is_wanted: bool) -> Iterator[None]:
    """Keep PyTorch to one thread in the calling thread, if wanted and possible.

    `torch.set_num_threads` will not do: it also sets the default of new threads, and of two calls
    at once, one would "restore" what the other had set.
    """
    before = torch.get_num_threads()  # first: a thread gets its number when it first asks
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
    """Return the library that PyTorch starts threads with; None where it cannot be reached.

    Its `omp_set_num_threads` affects the calling thread alone.
    """
    before = torch.get_num_threads()
    try:
        library = ctypes.CDLL(None)
        library.omp_set_num_threads(1)
    except (AttributeError, TypeError, OSError):
        return None
    is_pytorchs = torch.get_num_threads() == 1
    library.omp_set_num_threads(before)
    return library if is_pytorchs else None
