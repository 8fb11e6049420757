"""Train what may cause the paper's collapse, and what may do better at t = 1; ten seeds each.

    python benchmarks/suspects.py --out DIR --jobs 16 --minutes 9

Sections of `augury reproduce`, `std` and `first` unless others are named, without plots and report:
for a machine that has PyTorch, Lightning and numba alone. With --shipped the networks that ship are
run, and none is trained. It can be cut off at any time; the same command goes on with DIR, or with
a copy of another folder given by --resume.
"""

from __future__ import annotations

import argparse
import os
import shutil
from functools import partial
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

from augury.experiments import tasks
from augury.experiments.plan import Plan, Section, Size, quick, sections
from augury.experiments.reproduce import Driver, Options, Status
from augury.experiments.run_folder import opened
from augury.models.checkpoint import shipped
from augury.processes import Pool


def chosen(size: Size, names: list[str]) -> tuple[Section, ...]:
    """Return sections, each by its name."""
    return tuple(sections(size)[name] for name in names)


def main() -> None:
    """Do what the folder lacks, or as much as time allows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="a folder to start from a copy of")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--graphs", type=int, default=50)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--max-scale", type=int, default=128)
    parser.add_argument("--shipped", action="store_true")
    parser.add_argument("--set", action="append", default=[], help="a setting of every network")
    parser.add_argument("sections", nargs="*", default=["std", "first"])
    given = parser.parse_args()
    if given.resume and given.resume.is_dir():
        shutil.copytree(given.resume, given.out, dirs_exist_ok=True)
    size = Size(given.graphs, given.runs, given.max_scale)
    plan = Plan(chosen(size, given.sections), tuple(range(given.seeds)), tuple(given.set))
    if given.shipped:
        plan = quick(plan, shipped())
    options = Options(tidy=not given.shipped, stop_after=60 * given.minutes)

    def show(status: Status) -> None:
        left = f"{status.left} left, about {status.seconds_left / 60:.1f} min"
        print(f"{status.done} done, {left}: {status.text}", flush=True)

    with opened(given.out, plan) as folder:
        perform = partial(tasks.perform, scratch=folder.scratch)
        driver = Driver(folder, Pool(perform, given.jobs), options, show)
        try:
            print("all done" if driver.run() else "stopped; the same command goes on")
        finally:
            driver.workers.close()


if __name__ == "__main__":
    main()
