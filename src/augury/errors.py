"""Errors become one sentence that people can read and terminals do not interpret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

Value = TypeVar("Value")

LONGEST_MESSAGE = 380
"""Longer messages, which quote long input, are shortened in the middle."""

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters except tab and newline, and marks that change direction or break lines.

With these a label or file name could move the cursor or hide text.
"""


def visible(text: str) -> str:
    r"""Escape every character that a terminal would interpret.

    >>> print(visible("\x1b[31mann\r"), visible("李 Jürgen"))
    \x1b[31mann\r 李 Jürgen
    """
    return OBEYED.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


class InputError(ValueError):
    """Invalid input; the message is one sentence that says what is wrong and where.

    It is always one line of at most `LONGEST_MESSAGE` characters, whatever it quotes, and holds
    nothing that a terminal would interpret.

    >>> import augury
    >>> augury.solve([("ann", "cook"), ("bob",)])
    Traceback (most recent call last):
    augury.errors.InputError: entry 1 is ('bob',): a matching is found in pairs (left, right)
    """

    def __init__(self, text: str) -> None:
        line = visible(" ".join(text.split()) if len(text.splitlines()) > 1 else text)
        half = LONGEST_MESSAGE // 2 - 2
        short = len(line) <= LONGEST_MESSAGE
        super().__init__(line if short else f"{line[:half]} … {line[-half:]}")


class Choices(dict[str, Value]):
    """Things by name; looking up an unknown one raises an InputError that lists them all."""

    noun = "things"

    def __missing__(self, name: str) -> Value:
        raise InputError(f"{name!r} is not one of the {self.noun} {', '.join(self)}")


class ConfigError(ValueError):
    """An unknown setting or an invalid value; one sentence says which."""


NO_MEMORY = "this does not fit in memory"

NO_MEMORY_WORDS = (
    "can't allocate memory",  # PyTorch on a CPU, before a page of C++
    "cannot allocate memory",
    "out of memory",  # PyTorch on a GPU
    "bad_alloc",
    "failed to map segment",  # a library that could not be loaded
)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Tell whether an error, or its cause, is a lack of memory."""
    if error is None or isinstance(error, MemoryError):
        return error is not None
    told = isinstance(error, RuntimeError | OSError | ImportError)
    if told and any(words in str(error).lower() for words in NO_MEMORY_WORDS):
        return True
    return is_out_of_memory(error.__cause__ or error.__context__)


@contextmanager
def memory_told() -> Iterator[None]:
    """Turn any lack of memory in this block into a `MemoryError`."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise MemoryError(NO_MEMORY) from None
