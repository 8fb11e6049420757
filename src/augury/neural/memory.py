"""Want of memory, in whichever library's words, becomes a `MemoryError` of one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

SENTENCE = "this does not fit in memory"

WORDS = (
    "can't allocate memory",  # PyTorch on a CPU, with a page of C++ behind it
    "cannot allocate memory",
    "out of memory",  # PyTorch on a GPU
    "bad_alloc",
    "failed to map segment",  # a library that found no room to be loaded
)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Tell whether an error, or what led to it, is that memory was short."""
    if error is None or isinstance(error, MemoryError):
        return error is not None
    told = isinstance(error, RuntimeError | OSError | ImportError)
    if told and any(words in str(error).lower() for words in WORDS):
        return True
    return is_out_of_memory(error.__cause__ or error.__context__)


@contextmanager
def memory_told() -> Iterator[None]:
    """Let what runs short of memory here raise a `MemoryError`, whoever says so."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise MemoryError(SENTENCE) from None
