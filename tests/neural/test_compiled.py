"""Compiled functions are cached on disk where possible, and run anyway where not."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from numba.core import caching

from augury.neural.compiled import _source_of, compiled

SOURCE = "def double(x):\n    return 2 * x\n"


def double_in(folder: Path) -> Any:
    """Compile a function of a file in this folder, as a new process would."""
    path = folder / "doubling.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = util.spec_from_file_location("doubling", path)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules["doubling"] = module  # where what was kept looks for its function
    spec.loader.exec_module(module)
    _source_of.cache_clear()
    return compiled()(module.double)


def kept_in(folder: Path) -> list[Path]:
    return sorted((folder / "__pycache__").glob("*.nb*"))


def test_what_was_compiled_once_is_kept_and_not_compiled_again(tmp_path: Path) -> None:
    assert double_in(tmp_path)(4) == 8
    assert {path.suffix for path in kept_in(tmp_path)} == {".nbi", ".nbc"}
    again = double_in(tmp_path)
    assert again(5) == 10 and sum(again.stats.cache_hits.values()) == 1


def test_a_change_in_a_file_beside_it_compiles_anew(tmp_path: Path) -> None:
    double_in(tmp_path)(4)
    (tmp_path / "called.py").write_text("FACTOR = 2\n", encoding="utf-8")
    again = double_in(tmp_path)
    assert again(5) == 10 and not again.stats.cache_hits


def test_a_function_that_can_be_kept_nowhere_is_compiled(tmp_path: Path) -> None:
    assert compiled()(eval("lambda x: x + 1"))(4) == 5  # of no file
    (tmp_path / "__pycache__").write_text("in the way")
    assert compiled()(eval("lambda x: x + 2"))(4) == 6


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT])
def test_a_full_or_forbidden_cache_is_done_without(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(number, "no room")

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    assert double_in(tmp_path)(4) == 8
    assert kept_in(tmp_path) == []


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: b"\xff" * 99]
)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_cache_is_compiled_anew(
    suffix: str, damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    assert double_in(tmp_path)(4) == 8
    for path in kept_in(tmp_path):
        if path.suffix == suffix:
            path.write_bytes(damage(path.read_bytes()))
    assert double_in(tmp_path)(5) == 10
