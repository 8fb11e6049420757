"""The site: every public name is in the reference, with an example that runs."""

from __future__ import annotations

import doctest
import inspect
import re
from importlib import import_module
from typing import Any

import pytest

import augury
import augury.torch
from documents import ROOT

REFERENCE = [
    name
    for path in sorted((ROOT / "docs" / "api").glob("*.md"))
    for name in re.findall(r"^::: (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if name != "augury.torch"  # its introduction
]
"""What the pages of the reference describe."""


def example_of(name: str) -> doctest.DocTest | None:
    """Return the example in the docstring of what a dotted name stands for."""
    module, _, own = name.rpartition(".")
    thing: Any = getattr(import_module(module), own)
    finder = doctest.DocTestFinder(recurse=False, exclude_empty=True)
    found = finder.find(thing, name, inspect.getmodule(thing))
    return next((test for test in found if test.examples), None)


def test_every_public_name_is_in_the_reference() -> None:
    public = {f"augury.{name}" for name in augury.__all__ if name != "__version__"}
    tensors = {f"augury.torch.{name}" for name in augury.torch.__all__}
    assert public | tensors <= set(REFERENCE)
    assert len(REFERENCE) == len(set(REFERENCE))


@pytest.mark.parametrize("name", REFERENCE)
def test_every_name_of_the_reference_has_an_example_that_runs(name: str) -> None:
    example = example_of(name)
    assert example is not None, "the docstring has no example"
    told: list[str] = []
    doctest.DocTestRunner().run(example, out=told.append)
    assert not told, "".join(told)
