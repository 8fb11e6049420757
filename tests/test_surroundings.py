"""Solving works on a read-only system, with little memory, and with warnings as errors.

Each case is a process of its own. For a read-only system the package is copied, with files in place
of its cache folders, so that not even root can write there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import augury
from augury.errors import NO_MEMORY

PACKAGE = Path(augury.__file__).parent
JOBS = Path(__file__).parents[1] / "examples" / "jobs.csv"
NOWHERE = "/dev/null"
"""No folder can be made here."""


def run(*arguments: str, limit: str = "", **environment: str) -> tuple[int, str, str]:
    """Run the command with nothing in its environment but this, after a `ulimit`."""
    command = [sys.executable, "-m", "augury.apps.cli", *arguments]
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE.parent), "HOME": NOWHERE}
    shell = ["bash", "-c", f'{limit or ":"}; exec "$@"', "bash", *command]
    done = subprocess.run(
        shell, capture_output=True, text=True, timeout=300, env=given | environment
    )
    return done.returncode, done.stdout, done.stderr


def read_only_copy(folder: Path) -> str:
    """Copy the package to where no compiled code can be kept."""
    copy = folder / "augury"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for source in [copy, *copy.rglob("*/")]:
        if any(source.glob("*.py")):
            (source / "__pycache__").touch()
    return str(folder)


def test_every_warning_may_be_an_error(tmp_path: Path) -> None:
    page, trace = tmp_path / "run.html", tmp_path / "run.json"
    told = "--html", str(page), "--story", str(trace)
    code, out, err = run("solve", str(JOBS), *told, PYTHONWARNINGS="error")
    assert (code, err) == (0, "")
    assert "certified maximum" in out and page.exists() and trace.exists()


def test_memory_too_short_to_load_the_network_is_one_sentence() -> None:
    evaluated = ("solve", str(JOBS), "--engine", "plain")
    code, out, err = run(*evaluated, limit="ulimit -v 400000")  # kilobytes
    assert (code, out, err) == (2, "", f"augury: {NO_MEMORY}\n")


@pytest.mark.slow
def test_a_graph_beyond_the_memory_is_one_sentence(tmp_path: Path) -> None:
    graph = tmp_path / "large.mtx"
    head = "%%MatrixMarket matrix coordinate pattern general\n"
    graph.write_text(
        f"{head}400000 400000 400000\n" + "".join(f"{k} {k}\n" for k in range(1, 400001))
    )
    # Not 600,000: there SciPy's OpenBLAS, which numba loads, waits for memory without end.
    code, out, err = run("solve", str(graph), limit="ulimit -v 450000")
    assert (code, out, err) == (2, "", f"augury: {NO_MEMORY}\n")


@pytest.mark.slow  # compiled anew each time: nothing can be kept
@pytest.mark.parametrize(
    "options",
    [(), ("--engine", "table"), ("--model", "paper-mpnn")],
    ids=["fast", "table", "paper"],
)
def test_a_read_only_installation_without_a_home_solves(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    place = read_only_copy(tmp_path)
    code, out, err = run("solve", str(JOBS), *options, PYTHONPATH=place)
    assert (code, err) == (0, "")
    assert "certified maximum" in out


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="ulimit is a shell's")
def test_a_disk_without_room_for_compiled_code_does_not_stop_a_solve(tmp_path: Path) -> None:
    place = str(tmp_path / "cache")
    code, out, err = run(
        "solve", str(JOBS), "--engine", "table", limit="ulimit -f 0", NUMBA_CACHE_DIR=place
    )
    assert (code, err) == (0, "")
    assert "certified maximum" in out
    assert not [path for path in Path(place).rglob("*") if path.is_file()]
