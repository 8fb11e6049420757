"""One graph beyond memory: made, matched in shards under a cap, killed, resumed, and compared.

    python benchmarks/sharded.py --nodes 10_000_000 --edges 100_000_000 --out sharded.json

A random graph with that many nodes a side is written as Parquet, a chunk at a time, with a seed.
`augury solve --engine sharded --ray local` then matches it. Every process may take at most `CAP`
bytes of writable memory: RLIMIT_DATA, which the system enforces. And the sum over all of them,
Ray's own included, each shared page counted once (PSS), is watched: past `CAP` the run is ended.
In the middle the driver is killed (-9), later a shard's process. Then the engine `table` matches
the same graph in one process without a cap, and `certify_mates`, which knows neither, checks what
the shards found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet

from augury.provenance import provenance

CAP = 4 * 10**9
"""Bytes: of each process, and of all together."""
CHUNK = 2**20
PAUSE = 0.5
"""Seconds between checks of the memory."""
MOST_RUNS = 8
"""The most runs of the command; on a busy machine Ray may not start in time."""
SCHEMA = pa.schema([("left", pa.int32()), ("right", pa.int32())])


def generate(path: Path, nodes: int, edges: int, seed: int) -> None:
    """Write `edges` random pairs, a few of them twice."""
    rng = np.random.default_rng(seed)
    with parquet.ParquetWriter(path, SCHEMA, compression="none", use_dictionary=False) as file:
        for first in range(0, edges, CHUNK):
            size = min(CHUNK, edges - first)
            sides = [rng.integers(0, nodes, size, np.int32) for _ in SCHEMA.names]
            file.write_table(pa.table(dict(zip(SCHEMA.names, sides, strict=True)), SCHEMA))


def family(process: psutil.Process) -> list[psutil.Process]:
    """Return a process and all that it started."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def memory(members: list[psutil.Process]) -> tuple[int, int]:
    """Return what all take together, shared pages once, and the largest resident set of one."""
    total = largest = 0
    for member in members:
        try:
            lines = Path(f"/proc/{member.pid}/smaps_rollup").read_text().splitlines()
        except OSError:  # gone
            continue
        found = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines[1:]}
        total += found["Pss"]
        largest = max(largest, found["Rss"])
    return total, largest


def _rounds(folder: Path) -> int:
    try:
        return int(json.loads((folder / "state.json").read_text())["rounds"])
    except (OSError, ValueError):
        return 0


def watched(
    source: Path, folder: Path, ray: str | None, kill_at: int, victim: str
) -> dict[str, Any]:
    """Run the command under the cap; kill the driver or a shard once `kill_at` rounds are saved."""
    command = [sys.executable, "-m", "augury.apps.cli", "solve", str(source), "--engine", "sharded"]
    command += ["--output", str(folder), "--json"] + (["--ray", ray] if ray else [])
    before, began = _rounds(folder), time.time()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (CAP, CAP)),
    )
    driver, killed = psutil.Process(process.pid), None
    most_total = most_one = 0
    seen: set[int] = set()
    while process.poll() is None:
        members = family(driver)
        seen |= {member.pid for member in members}
        total, largest = memory(members)
        most_total, most_one = max(most_total, total), max(most_one, largest)
        if total > CAP:
            process.kill()
            raise SystemExit(f"the processes took {total:,} bytes")
        if killed is None and victim and _rounds(folder) >= kill_at:
            targets = [driver] if victim == "driver" else _shards(members)
            if targets:
                os.kill(targets[0].pid, signal.SIGKILL)
                killed = _rounds(folder)
        time.sleep(PAUSE)
    told = [line for line in process.communicate()[0].splitlines() if line.startswith("{")]
    time.sleep(10)
    return {
        "rounds_before": before,
        "killed": victim if killed is not None else "",
        "rounds_when_killed": killed,
        "rounds_after": _rounds(folder),
        "exit_code": process.returncode,
        "wall_seconds": round(time.time() - began, 1),
        "peak_bytes_of_all": most_total,
        "peak_bytes_of_one": most_one,
        "left_over": sum(map(psutil.pid_exists, seen)),
        "answer": json.loads(told[-1]) if told else None,
    }


def _shards(members: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for member in members:
        try:
            if "_Member" in " ".join(member.cmdline()):
                found.append(member)
        except psutil.NoSuchProcess:
            continue
    return found


def by_table(source: Path, work: Path, nodes: int) -> dict[str, Any]:
    """Match the same graph by `table`; its edges, sorted, are left in the folder."""
    from augury.engines.table import match_lists

    columns = parquet.read_table(source)
    key = columns["left"].to_numpy().astype(np.int64) * nodes + columns["right"].to_numpy()
    del columns
    key.sort()
    key = key[np.diff(key, prepend=-1) != 0]
    left, right = (key // nodes).astype(np.int32), (key % nodes).astype(np.int32)
    del key
    np.save(work / "left.npy", left)
    np.save(work / "right.npy", right)
    indptr = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(left, minlength=nodes), out=indptr[1:])
    sides, some = np.array([0, nodes]), np.arange(101)
    match_lists(some, some[:100], some[[0, 100]], some[[0, 100]])  # is compiled
    began = time.process_time()
    found = match_lists(indptr, right, sides, sides)
    return {
        "edges": len(left),
        "size": int(np.count_nonzero(found.mates >= 0)),
        "phases": int(found.rounds[0]),
        "cpu_seconds": round(time.process_time() - began, 1),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
    }


def certified(work: Path, folder: Path, nodes: int) -> dict[str, Any]:
    """Check the shards' mates by the classical certificate."""
    from augury.classical.certificate import certify_mates
    from augury.classical.graph import BipartiteGraph

    mates = np.full(nodes, -1, np.int32)
    own = np.load(folder / "mates.npy")
    mates[: len(own)] = own
    graph = BipartiteGraph(nodes, nodes, np.load(work / "left.npy"), np.load(work / "right.npy"))
    certificate = certify_mates(graph, mates)
    return {"size": certificate.size, "is_maximum": certificate.is_maximum}


def _known(path: Path, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what a file says; if there is none yet, compute it and write it there."""
    if not path.exists():
        path.write_text(json.dumps(compute()))
    return json.loads(path.read_text())


def main() -> None:
    """Read the options, run, and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=10**5)
    parser.add_argument("--edges", type=int, default=10**6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="for the graph and the shards")
    parser.add_argument("--here", action="store_true", help="in one process, without Ray")
    parser.add_argument("--kill-driver", type=int, default=6, help="once so many rounds are saved")
    parser.add_argument("--kill-shard", type=int, default=12)
    parser.add_argument("--table", action="store_true", help="the other engine alone, beforehand")
    parser.add_argument("--keep", action="store_true", help="go on with what is in the folder")
    parser.add_argument("--out", type=Path, default=Path("sharded.json"))
    options = parser.parse_args()
    work = options.folder or Path(tempfile.mkdtemp())
    source, folder = work / "edges.parquet", work / "shards"
    work.mkdir(parents=True, exist_ok=True)
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
        (work / "runs.json").unlink(missing_ok=True)
    if not source.exists():
        generate(source, options.nodes, options.edges, options.seed)
    if options.table:
        _known(work / "table.json", lambda: by_table(source, work, options.nodes))
        return
    ray, journal = None if options.here else "local", work / "runs.json"
    runs: list[dict[str, Any]] = json.loads(journal.read_text()) if journal.exists() else []
    victims = {
        "driver": options.kill_driver,
        **({} if options.here else {"shard": options.kill_shard}),
    }
    while not (runs and runs[-1]["answer"]) and len(runs) < MOST_RUNS:
        left = [name for name in victims if name not in {run["killed"] for run in runs}]
        victim = left[0] if left else ""
        runs.append(watched(source, folder, ray, victims.get(victim, 0), victim))
        journal.write_text(json.dumps(runs))
        print(json.dumps(runs[-1]), flush=True)
    answer = [run.pop("answer") for run in runs][-1]
    record = {
        "options": {key: value for key, value in vars(options).items() if type(value) is int},
        **provenance("cpu"),
        "cores": os.cpu_count(),
        "nodes_a_side": options.nodes,
        "edges_drawn": options.edges,
        "bytes_of_file": source.stat().st_size,
        "cap_bytes": CAP,
        "runs": runs,
        "answer": answer and {key: value for key, value in answer.items() if key != "source"},
        "mates_sha256": hashlib.sha256((folder / "mates.npy").read_bytes()).hexdigest(),
    }
    options.out.write_text(json.dumps(record, indent=1) + "\n")
    record["table"] = _known(work / "table.json", lambda: by_table(source, work, options.nodes))
    record["classical_certificate"] = certified(work, folder, options.nodes)
    options.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps([record["table"], record["classical_certificate"]]))
    if options.folder is None:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
