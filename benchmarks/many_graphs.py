"""Solve millions of small graphs from Parquet on Ray, beside `solve_batch` in one process.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/many_graphs.py FOLDER
        [--graphs N] [--workers N] [--bad N] [--seed N] [--out FILE]

Makes FOLDER/graphs.parquet (random 8 + 8 graphs, kept for later runs), solves it to FOLDER/answers
and writes a record. Ours is everything from the file to the written answers, certificates included;
`solve_batch` has its graphs in memory as one array, which is its fastest form, and writes nothing.
Both are counted in seconds of CPU time, which other users of the machine hardly affect:

- `piece` / `solve_batch`: a piece of the file and an array of as many graphs in turns, in one
  process, the least of several;
- `workers`: the CPU time that workers spent on pieces in the run itself;
- `everything`: that of all processes of the run, Ray's own and its start included.

`wall_graphs_a_second` counts from the end of the first piece to that of the last, so without Ray's
start. A worker's first piece includes loading compiled code.

Memory is that of all processes of the run, shared pages counted once (PSS), every half second.
With --bad N one row in N is broken in one of five ways; these must be reported, and no others.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from augury import solve_batch
from augury.classical.batch import starts
from augury.classical.formats import ReadOptions
from augury.experiments.bench import machine
from augury.provenance import commit
from augury.ray import Plan, solve_sources
from augury.ray.pieces import pieces_of
from augury.ray.writing import solve_piece
from augury.tables import Settings

SIDE, DENSITY, GROUP = 8, 0.3, 200_000
BREAKS: list[Callable[[dict[str, Any]], dict[str, Any]]] = [
    lambda row: row | {"left": None},
    lambda row: row | {"right": [*row["right"], 0]},
    lambda row: row | {"left": [-1, *row["left"][1:]], "right": row["right"] or [0]},
    lambda row: row | {"right": [None, *row["right"][1:]], "left": row["left"] or [0]},
    lambda row: row | {"left": [2**31 - 1, *row["left"][1:]], "right": row["right"] or [0]},
]
"""Ways to break a row."""


def stack_of(seed: int, group: int, count: int) -> Any:
    """Make one row group of graphs as an array."""
    return np.random.default_rng([seed, group]).random((count, SIDE, SIDE)) < DENSITY


def table_of(stack: Any, bad: int, first: int) -> pa.Table:
    """Make a table of an array; every row whose number is a multiple of `bad` is broken."""
    graph, left, right = np.nonzero(stack)
    start = pa.array(starts(np.bincount(graph, minlength=len(stack))).astype(np.int32))
    ends = (pa.ListArray.from_arrays(start, own.astype(np.int32)) for own in (left, right))
    table = pa.table(dict(zip(("left", "right"), ends, strict=True)))
    if not bad:
        return table
    rows = table.to_pylist()
    for number in range(-first % bad, len(rows), bad):
        rows[number] = BREAKS[(first + number) // bad % len(BREAKS)](rows[number])
    return pa.Table.from_pylist(rows, table.schema)


def write_graphs(path: Path, count: int, seed: int, bad: int = 0, group: int = GROUP) -> None:
    """Write random graphs to a Parquet file, unless it is there."""
    if path.exists() and pq.ParquetFile(path).metadata.num_rows == count:
        return
    with pq.ParquetWriter(path, table_of(stack_of(seed, 0, 1), 0, 0).schema) as writer:
        for number, first in enumerate(range(0, count, group)):
            stack = stack_of(seed, number, min(group, count - first))
            writer.write_table(table_of(stack, bad, first))


def in_turns(path: Path, times: int) -> dict[str, float]:
    """Return graphs a second of CPU time: a piece of the file, and an array of as many."""
    stack, least = stack_of(0, 0, GROUP), {"piece": float("inf"), "solve_batch": float("inf")}
    piece = pieces_of([str(path)], Settings())[0]._replace(last=1)
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan([piece], folder, ".parquet", ReadOptions())
        ways = {"piece": lambda: solve_piece(piece, plan, Settings()),
                "solve_batch": lambda: solve_batch(stack)}  # fmt: skip
        for way in ways.values():
            way()
        for _ in range(times):
            for name, way in ways.items():
                started = time.process_time()
                way()
                least[name] = min(least[name], time.process_time() - started)
    return {name: GROUP / seconds for name, seconds in least.items()}


class Watch(threading.Thread):
    """Memory and CPU time of this process and all that it started, over time."""

    def __init__(self, seconds: float = 0.5) -> None:
        super().__init__(daemon=True)
        self.seconds, self.over = seconds, threading.Event()
        self.started = time.monotonic()
        self.memory: list[tuple[float, float, float]] = []
        """(seconds, MB of all processes, MB of the object store)."""
        self.ticks: dict[int, int] = {}

    def run(self) -> None:
        """Look until told to stop."""
        while not self.over.wait(self.seconds):
            pages = sum(self._look(pid) for pid in descendants(os.getpid()))
            shared = shutil.disk_usage("/dev/shm").used
            now = time.monotonic() - self.started
            self.memory.append((round(now, 1), round(pages / 1024), round(shared / 2**20)))

    def _look(self, pid: int) -> int:
        """Return the kB of a process, and keep its CPU time."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            self.ticks[pid] = int(fields[11]) + int(fields[12])
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (OSError, IndexError, StopIteration, ValueError):
            return 0

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all processes seen so far, including those that ended."""
        return sum(self.ticks.values()) / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """Return a process and all that it and they have started."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def run(path: Path, output: Path, workers: int) -> dict[str, Any]:
    """Solve a file on a local cluster; return what it took."""
    shutil.rmtree(output, ignore_errors=True)
    before = time.process_time()
    watch = Watch()
    watch.start()
    done, at, own = [], [], []
    for one in solve_sources([str(path)], output, Settings(), slots=workers):
        if not isinstance(one, Plan):
            done.append(one)
            at.append(time.monotonic() - watch.started)
            own.append(time.process_time())
    watch.over.set()
    watch.join()
    rows, seconds = sum(one.rows for one in done), sum(one.seconds for one in done)
    steady = [told for told in watch.memory if told[0] >= at[0]]
    written = sum(file.stat().st_size for file in output.glob("*.parquet"))
    return {
        "workers": workers,
        "rows": rows,
        "failed": sum(one.failed for one in done),
        "faults": [one.fault for one in done if one.fault],
        "pieces": len(done),
        "cpu_seconds_of_pieces": [round(one.seconds, 3) for one in done],
        "wall_seconds": round(at[-1], 2),
        "wall_seconds_to_first_piece": round(at[0], 2),
        "graphs_a_second_of_workers": round(rows / seconds),
        "graphs_a_second_of_everything": round(rows / (watch.cpu_seconds - before)),
        "wall_graphs_a_second": round((rows - done[0].rows) / max(at[-1] - at[0], 1e-9)),
        "driver_seconds_a_piece": (own[-1] - own[0]) / max(len(own) - 1, 1),
        "bytes_a_graph": (path.stat().st_size + written) / rows,
        "peak_mb": max(told[1] for told in watch.memory),
        "mb_when_first_piece_was_done": steady[0][1] if steady else None,
        "mb_in_the_end": steady[-1][1] if steady else None,
        "memory": watch.memory,
    }


def check(output: Path, count: int, bad: int) -> dict[str, Any]:
    """Check that broken rows have errors, and no others, and that no row is lost or there twice."""
    rows, at, wrong, kinds = 0, 0, 0, dict[str, int]()
    for path in sorted(output.glob("*.parquet")):
        table = pq.read_table(path, columns=["row", "size", "verdict", "error"])
        numbers = table["row"].to_numpy()
        at = 0 if numbers[0] == 0 else at  # another file
        if not np.array_equal(numbers, np.arange(at, at + len(numbers))):
            raise SystemExit(f"{path}: rows are lost or there twice")
        rows, at = rows + len(numbers), at + len(numbers)
        is_bad = numbers % bad == 0 if bad else np.zeros(len(numbers), bool)
        told = ~table["error"].is_null().to_numpy()
        proven = table["verdict"].to_numpy(zero_copy_only=False) == "certified maximum"
        wrong += int((told != is_bad).sum() + (proven == is_bad).sum())
        for text in table["error"].drop_null().to_pylist():
            words = " ".join(word for word in text.split() if not word.strip("-,:").isdigit())
            kinds[words] = kinds.get(words, 0) + 1
    return {"rows": rows, "is_complete": rows == count, "wrong": wrong, "errors": kinds}


def main() -> None:
    """Make, solve, check, record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graphs", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--bad", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    path = given.folder / f"graphs-{given.graphs}-{given.seed}-{given.bad}.parquet"
    write_graphs(path, given.graphs, given.seed, given.bad)
    turns = in_turns(path, given.times)
    print(json.dumps(turns))
    told: dict[str, Any] = {"ratio": turns["piece"] / turns["solve_batch"]}
    told |= {"graphs_a_second_of_cpu": {name: round(rate) for name, rate in turns.items()}}
    runs = []
    for workers in given.workers:
        runs.append(run(path, given.folder / "answers", workers))
        runs[-1]["ratio_of_workers"] = runs[-1]["graphs_a_second_of_workers"] / turns["solve_batch"]
        runs[-1]["check"] = check(given.folder / "answers", given.graphs, given.bad)
        print(json.dumps({key: value for key, value in runs[-1].items() if key != "memory"}))
    choices = {"graphs": given.graphs, "side": SIDE, "density": DENSITY, "bad": given.bad}
    choices |= {"seed": given.seed, "file_mb": round(path.stat().st_size / 2**20, 1)}
    record = {"what": "many graphs from Parquet on Ray", "config": choices, "machine": machine()}
    record |= {"commit": commit(), "load": os.getloadavg()} | told | {"runs": runs}
    if given.out is not None:
        given.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
