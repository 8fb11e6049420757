"""Compiled functions are cached on disk where possible, and run anyway where not."""

from __future__ import annotations

import errno
import fcntl
import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib import util
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from numba.core import caching

from augury.compiled import _source_of, compiled

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


def test_what_is_compiled_is_logged_and_what_is_kept_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    double_in(tmp_path)(4)
    assert caplog.messages == []  # nobody has asked
    kept_in(tmp_path)[0].unlink()
    with caplog.at_level("INFO", "augury.compiled"):
        double_in(tmp_path)(4)
        assert caplog.messages == ["compiling doubling.double"]
        double_in(tmp_path)(4)
        assert len(caplog.messages) == 1
    assert capfd.readouterr() == ("", "")


AT_ONCE = """
import sys
sys.path.insert(0, ".")
from slow import outer
print("ready", flush=True)
sys.stdin.readline()
print(outer(4), sum(outer.stats.cache_misses.values()))
"""
SLOW = """
from augury.compiled import compiled

@compiled()
def inner(x):
    return {terms}

@compiled()
def outer(x):
    return inner(x) + 1
"""


def test_processes_that_need_a_function_at_the_same_time_compile_it_once(tmp_path: Path) -> None:
    terms = " + ".join(f"(x + {n}) % 7" for n in range(30))
    (tmp_path / "slow.py").write_text(SLOW.format(terms=terms))
    with ExitStack() as stack:
        pipes: dict[str, Any] = {"stdin": PIPE, "stdout": PIPE, "text": True, "cwd": tmp_path}
        both = [
            stack.enter_context(Popen([sys.executable, "-c", AT_ONCE], **pipes)) for _ in range(2)
        ]
        for process in both:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for process in both:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        told = [process.communicate()[0].split() for process in both]
    assert told[0][0] == told[1][0]
    assert sorted(misses for _, misses in told) == ["0", "1"]


def test_who_waits_too_long_compiles_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("augury.compiled.WAIT_SECONDS", 0.1)
    function = double_in(tmp_path)
    with (tmp_path / "doubling.py").open("rb") as other:  # locks belong to open files
        fcntl.flock(other, fcntl.LOCK_EX)
        assert function(4) == 8
        assert function(4.0) == 8.0


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
