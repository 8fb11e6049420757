"""Time the table engine on a GPU beside SciPy on one core of the same machine.

    python benchmarks/cuda_table.py [--json FILE] [--batches 4096,65536,1000000]

For each size and density: is every answer legal, as large as SciPy's, and equal to that of the
CPU's table engine? Then graphs per second, by events on the device: with the graphs packed on the
GPU, and with dense bytes on the GPU and packing included; all variants are measured, the best is
shown. The engine `cuda`, which evaluates the network at each step, is timed from dense bytes on the
GPU. SciPy is one block-diagonal call on at most 4,096 graphs, from the same bytes, in CPU time.
`solve_batch` is timed by wall clock from dense arrays on the host, with all answers proven.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from augury.engines import cuda, match_dense
from augury.experiments.bench import DENSITIES, check_matching, machine, scipy_blocks, seconds_of
from augury.models.checkpoint import shipped_network
from augury.solution import Solutions
from augury.solver import solve_batch

SIZES = (8, 16, 32, 64)
PEER_GRAPHS = 4096
SOLVED_GRAPHS = 65536
ENGINES = ("cuda", "cuda-table", "table")
MEMORY = 60e9
"""Bytes that the dense graphs may take on the card."""


def device_seconds(work: Any, repeats: int = 20) -> float:
    """Return the least time of a call between two events on the device."""
    cupy = cuda.cupy()
    work()
    best = float("inf")
    for _ in range(repeats):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return best


def random_on_device(seed: int, count: int, n: int, p: float) -> Any:
    """Draw dense graphs on the GPU, in parts that fit in memory."""
    cupy = cuda.cupy()
    rng = cupy.random.default_rng(seed)
    adjacency = cupy.empty((count, n, n), cupy.uint8)
    part = max(1, 2**28 // (n * n))
    for first in range(0, count, part):
        some = adjacency[first : first + part]
        some[...] = rng.random(some.shape, dtype=cupy.float32) < p
    return adjacency


def check(adjacency: Any) -> None:
    """Compare all variants with the CPU's table engine, and that with SciPy."""
    dense = adjacency.get()
    expected = match_dense(dense)
    check_matching(dense, expected.mates, scipy_blocks(dense))
    packed = cuda.pack(adjacency)
    for variant in cuda.variants(*dense.shape[1:]):
        mates, rounds = cuda.match_packed(packed, variant)
        assert np.array_equal(mates.get(), expected.mates), f"{variant} differs from the CPU"
        assert np.array_equal(rounds.get(), expected.rounds), f"{variant} takes other rounds"
    mates, rounds = cuda.evaluate_packed(cuda.pack(adjacency, 64), shipped_network())
    assert np.array_equal(mates.get(), expected.mates), "the network differs from its table"
    assert np.array_equal(rounds.get(), expected.rounds), "the network takes other rounds"


def certified_per_second(dense: Any, engine: str) -> float:
    """Solve arrays on the host and prove every answer; return graphs per second of wall time."""

    def work() -> None:
        solutions = solve_batch(dense, engine=engine)
        assert isinstance(solutions, Solutions) and solutions.is_maximum

    return len(dense) / seconds_of(work, wall=True)


def measure(n: int, density: str, batches: list[int]) -> list[dict[str, Any]]:
    """Return one record for each batch and variant."""
    p = DENSITIES[density](n)
    sample = random_on_device(1, PEER_GRAPHS, n, p)
    check(sample)
    dense = sample.get()
    peer = PEER_GRAPHS / seconds_of(lambda: scipy_blocks(dense))
    cpu = PEER_GRAPHS / seconds_of(lambda: match_dense(dense.view(np.bool_)))
    records = []
    for batch in batches:
        if batch * n * n > MEMORY:
            continue
        adjacency = random_on_device(2, batch, n, p)
        packed = cuda.pack(adjacency)
        evaluated = device_seconds(
            lambda a=adjacency: cuda.evaluate_packed(cuda.pack(a, 64), shipped_network()), 3
        )
        for variant in cuda.variants(n, n):
            on_card = device_seconds(lambda v=variant, g=packed: cuda.match_packed(g, v))
            whole = device_seconds(
                lambda v=variant, a=adjacency: cuda.match_packed(cuda.pack(a), v)
            )
            records.append(
                {
                    "n": n,
                    "density": density,
                    "batch": batch,
                    "lanes": variant[0],
                    "packed_per_second": batch / on_card,
                    "dense_per_second": batch / whole,
                    "scipy_per_second": peer,
                    "cpu_table_per_second": cpu,
                    "packed_ratio": batch / on_card / peer,
                    "dense_ratio": batch / whole / peer,
                    "network_per_second": batch / evaluated,
                    "network_ratio": batch / evaluated / peer,
                }
            )
    return records


def main() -> None:
    """Measure everything, print the best variant of each row, and write all of them."""
    parser = argparse.ArgumentParser(description="The table engine on a GPU beside SciPy.")
    parser.add_argument("--json", type=Path, help="where to write all records")
    parser.add_argument("--batches", default="4096,65536,1000000")
    options = parser.parse_args()
    batches = [int(batch) for batch in options.batches.split(",")]
    properties = cuda.cupy().cuda.runtime.getDeviceProperties(0)
    about = machine() | {"device": properties["name"].decode()}
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    print(
        "   n  p      batch  lanes  packed/s      ratio  dense/s       ratio  SciPy/s  table CPU/s"
    )
    records: list[dict[str, Any]] = []
    solved: list[dict[str, Any]] = []
    for n in SIZES:
        for density in DENSITIES:
            measured = measure(n, density, batches)
            records += measured
            for batch in sorted({row["batch"] for row in measured}):
                rows = [row for row in measured if row["batch"] == batch]
                best = max(rows, key=lambda row: row["packed_per_second"])
                others = ", ".join(
                    f"{r['lanes']}: {r['packed_per_second'] / 1e6:.0f}M" for r in rows
                )
                print(
                    f"{n:4}  {density:4} {batch:8}  {best['lanes']:4}  "
                    f"{best['packed_per_second']:13,.0f} {best['packed_ratio']:6.0f}  "
                    f"{best['dense_per_second']:13,.0f} {best['dense_ratio']:6.0f}  "
                    f"{best['network_per_second']:13,.0f} {best['network_ratio']:6.1f}  "
                    f"{best['scipy_per_second']:8,.0f} {best['cpu_table_per_second']:10,.0f}"
                    f"   ({others})",
                    flush=True,
                )
    print(f"\nsolve_batch, {SOLVED_GRAPHS} dense arrays of the host, certified, on the wall")
    for n in SIZES:
        for density, p in DENSITIES.items():
            dense = random_on_device(3, SOLVED_GRAPHS, n, p(n)).get().view(np.bool_)
            rates = {engine: certified_per_second(dense, engine) for engine in ENGINES}
            peer = PEER_GRAPHS / seconds_of(lambda d=dense: scipy_blocks(d[:PEER_GRAPHS]))
            solved.append({"n": n, "density": density, "scipy_per_second": peer} | rates)
            told = "  ".join(f"{e} {rate:,.0f} ({rate / peer:.1f})" for e, rate in rates.items())
            print(f"{n:4}  {density:4}  {told}  SciPy {peer:,.0f}", flush=True)
    if options.json:
        found = {"machine": about, "records": records, "solve_batch": solved}
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
