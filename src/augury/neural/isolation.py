"""Networks compute the same whatever the caller has set in PyTorch, and change none of it.

A caller may have another default dtype or device, or call us inside autocast. So every tensor is
made with an explicit dtype and device (a test looks for those that are not), and `own_precision`
keeps autocast out. Nothing here sets anything for the whole process, since other threads would see
it; settings that could only be undone for the whole process are refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch

from augury.errors import InputError, memory_told


@contextmanager
def inference() -> Iterator[None]:
    """Compute without gradients, in the precision of the weights; also a decorator.

    If memory runs out, PyTorch's page-long RuntimeError becomes a `MemoryError`.
    """
    with memory_told(), torch.inference_mode(), own_precision():
        yield


@contextmanager
def own_precision(device: str = "cpu") -> Iterator[None]:
    """Compute in the precision of the weights, on this device or any in use; also a decorator.

    Autocast would compute in half precision, and is switched off here, as is flushing subnormal
    numbers to 0; both belong to the calling thread. TF32 and the like belong to the process: they
    are refused, since networks are trained, proven and measured without.
    """
    _refuse_rounded_products(device)
    with ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        if np.float32(1e-40) * np.float32(1) == 0:
            torch.set_flush_denormal(False)
            stack.callback(torch.set_flush_denormal, True)
        yield


def _refuse_rounded_products(device: str) -> None:
    """Raise an InputError if PyTorch may round the inputs of float32 products."""
    is_on_gpu = device.startswith("cuda") or torch.cuda.is_initialized()
    backends: list[Any] = [torch.backends.mkldnn, *[torch.backends.cuda] * is_on_gpu]
    for backend in backends:
        precision = backend.matmul.fp32_precision
        if precision not in ("none", "ieee"):
            raise InputError(
                f"PyTorch may round the inputs of float32 products to {precision} here, and no "
                "network was proven or measured so: call torch.set_float32_matmul_precision"
                "('highest') first"
            )


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
