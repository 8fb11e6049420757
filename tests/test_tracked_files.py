"""Tracked files are clean and name no path of a developer's machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from check_files import MAX_BYTES, TEXT, faults, main

ROOT = Path(__file__).parents[1]

# The brackets keep the pattern from finding itself.
MACHINE_PATH = re.compile(r"(?<![\w.~$/-])/(?:[w]ork|[r]oot|[h]ome)/\w")


def tracked() -> list[Path]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_tracked_files_are_clean() -> None:
    assert [fault for path in tracked() for fault in faults(path)] == []


def test_no_tracked_file_names_a_path_of_this_machine() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{path}: {match.group()}" for match in MACHINE_PATH.finditer(text)]
    assert found == []


@pytest.mark.parametrize("place", ["work", "root", "home"])
def test_paths_of_a_machine_are_recognised(place: str) -> None:
    assert MACHINE_PATH.search(f"see /{place}/me")
    assert MACHINE_PATH.search(f'"/{place}/me"')
    assert not MACHINE_PATH.search(f"my/{place}/me and https://example.org/{place}/me")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.py", "x = 1 \n", "a.py:1: trailing white space"),
        ("a.md", "text\r\n", "a.md:1: trailing white space"),
        ("a.md", "text", "no newline at the end"),
        ("a.toml", "x = [\n", "a.toml: "),
        ("a.bin", "x" * (MAX_BYTES + 1), "is more than"),
    ],
)
def test_unclean_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    assert main([str(path)]) == 1
    assert message in capsys.readouterr().out


def test_clean_files_pass(tmp_path: Path) -> None:
    for suffix in sorted(TEXT):
        path = tmp_path / f"a{suffix}"
        path.write_text("")
        assert main([str(path)]) == 0
