"""Kill workers and drivers of `augury solve --ray` at random moments; the answers must not change.

    python benchmarks/kills.py FOLDER [--graphs N] [--workers N] [--drivers N] [--bad N] [--seed N]

A first run is left alone. Then the same command runs again and again on the same graphs: at random
moments a process that works on a piece is killed (SIGKILL), and now and then the command itself;
after that, and after anything but success, the same command is run again until it finishes. When an
output is finished and kills are left, it is deleted and everything starts again. Each finished
output, its rows sorted, must be byte for byte that of the first run, and so must the files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from augury.experiments.bench import machine
from many_graphs import check, descendants, write_graphs

COMMAND = [sys.executable, "-m", "augury.apps.cli", "solve"]


def digest(output: Path) -> str:
    """Return the digest of all answers, sorted by file and row."""
    table = pq.read_table(output).sort_by([("file", "ascending"), ("row", "ascending")])
    text = "\n".join(map(repr, table.to_pylist()))
    return hashlib.sha256(text.encode()).hexdigest()


def files(output: Path) -> dict[str, str]:
    """Return the digest of each file of answers."""
    paths = sorted(output.glob("*.parquet"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def at_work(pid: int) -> list[int]:
    """Return the processes of a run that are working on a piece, as Ray's names for them show."""
    found = []
    for one in descendants(pid):
        try:
            name = Path(f"/proc/{one}/cmdline").read_bytes()
        except OSError:
            continue
        if name.startswith(b"ray::") and b"IDLE" not in name and b"MapBatches" in name:
            found.append(one)
    return found


class Campaign:
    """Runs of one command, and what was killed in them."""

    def __init__(self, source: Path, output: Path, given: argparse.Namespace) -> None:
        self.source, self.output, self.given = source, output, given
        self.rng = random.Random(given.seed)
        self.workers = self.drivers = self.starts = self.finished = 0

    def start(self) -> subprocess.Popen[Any]:
        """Start the command."""
        self.starts += 1
        how = ["--ray", "local", "--workers", "2", "--output", str(self.output)]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([*COMMAND, str(self.source), *how], **quiet)

    def run(self) -> None:
        """Finish an output, killing on the way; leave it finished."""
        while True:
            child = self.start()
            kills_driver = self.drivers < self.given.drivers and self.rng.random() < 0.5
            while child.poll() is None:
                time.sleep(self.rng.uniform(0, 2 * self.given.pause))
                working = at_work(child.pid)
                if not working:
                    continue
                if kills_driver and self.rng.random() < 0.3:
                    child.kill()
                    self.drivers += 1
                elif self.workers < self.given.workers:
                    os.kill(self.rng.choice(working), signal.SIGKILL)
                    self.workers += 1
            # Some pieces may have ended too many processes: then the same command is run again.
            if child.wait() in (0, 3) and len(files(self.output)) == self.given.files:
                self.finished += 1
                return

    @property
    def is_over(self) -> bool:
        """Whether all kills are done."""
        return self.workers >= self.given.workers and self.drivers >= self.given.drivers


def main() -> None:
    """Run the campaign and write a record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graphs", type=int, default=600_000)
    parser.add_argument("--files", type=int, default=30, help="a piece each")
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--drivers", type=int, default=10)
    parser.add_argument("--bad", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds between kills")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    source = given.folder / f"kills-{given.graphs}-{given.files}-{given.seed}-{given.bad}"
    source.mkdir(exist_ok=True)
    for number in range(given.files):
        path, rows = source / f"{number:03}.parquet", given.graphs // given.files
        write_graphs(path, rows, given.seed + number, given.bad)
    clean, output = given.folder / "alone", given.folder / "killed"
    for folder in (clean, output):
        shutil.rmtree(folder, ignore_errors=True)
    nobody = argparse.Namespace(**vars(given) | {"workers": 0, "drivers": 0})
    Campaign(source, clean, nobody).run()
    expected = digest(clean), files(clean)
    campaign, equal = Campaign(source, output, given), 0
    started = time.monotonic()
    while not campaign.is_over and time.monotonic() - started < given.seconds:
        shutil.rmtree(output, ignore_errors=True)
        campaign.run()
        equal += (digest(output), files(output)) == expected
        print(campaign.workers, campaign.drivers, campaign.finished, equal, flush=True)
    left = sorted(path.name for path in output.iterdir())
    record = {
        "what": "workers and drivers of solve --ray killed at random moments",
        "config": {"graphs": given.graphs, "bad": given.bad, "seed": given.seed,
                   "pieces": len(expected[1])},
        "machine": machine(),
        "workers_killed": campaign.workers,
        "drivers_killed": campaign.drivers,
        "starts": campaign.starts,
        "outputs_finished": campaign.finished,
        "outputs_equal": equal,
        "check_of_the_last": check(output, given.graphs, given.bad),
        "left_behind": [name for name in left if name not in expected[1]],
    }  # fmt: skip
    print(json.dumps(record))
    if given.out is not None:
        given.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    sys.exit(campaign.finished != equal)


if __name__ == "__main__":
    main()
