"""The command, run in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import JOBS, PIPES, Augury, runner


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    """Run main() as the shell would, in a folder that holds only jobs.csv and pipes.max."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("jobs.csv").write_text(JOBS)
    Path("pipes.max").write_text(PIPES)
    return runner(monkeypatch, capfd)
