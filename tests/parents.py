"""Processes that start others, and whether these end with them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 30.0


@contextmanager
def parent_of(script: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Run a script that prints the process numbers of its children; yield it, and these."""
    path = folder / "script.py"
    path.write_text(script)
    with subprocess.Popen(
        [sys.executable, path],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, [int(pid) for pid in process.stdout.readline().split()]
        finally:
            process.kill()


def assert_gone(pids: list[int]) -> None:
    """Wait until none of these processes runs any more."""
    deadline = time.monotonic() + PATIENCE
    while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_alive(pid) for pid in pids)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
