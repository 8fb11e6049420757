"""Time certified matchings on a GPU beside SciPy on one core of the same machine.

    python benchmarks/cuda_table.py [--json FILE] [--sizes 8,64,1024] [--threads 4] [--network]

For each size and density: is every answer legal, proven, as large as SciPy's and, up to 64 nodes a
side, equal to that of the CPU's table engine? Then graphs per second:

    card     matching, cover and check of bits on the GPU, by events there; every variant
    dense    the same from bytes on the GPU
    tensor   `solve_batch` on a tensor of the GPU, by wall clock, until all are known to be proven
    host     `solve_batch` on an array of the host, until mates and sizes are there
    bits, bytes, pinned   from the host, by what crosses: packed there by --threads, or on the GPU

SciPy is one block-diagonal call on some of the graphs, from the same bytes, in CPU time. With
--network the engine `cuda`, which evaluates the network at each step, is timed as well.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from augury.engines import cuda_match, match_dense
from augury.engines.cuda import network_parameters
from augury.experiments.bench import DENSITIES, check_matching, machine, scipy_blocks, seconds_of
from augury.models.checkpoint import shipped_network
from augury.solution import Solutions
from augury.solver import solve_batch

SIZES = (8, 16, 32, 64, 256, 1024)
GRAPHS = 65536
PEER_CELLS = 2**24
"""Cells of the graphs that SciPy is given."""
MEMORY = 8e9
"""Bytes that the dense graphs may take, on the card and on the host."""


def device_seconds(work: Callable[[], Any], repeats: int = 10) -> float:
    """Return the least time of a call between two events on the device."""
    work()
    best = float("inf")
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end) / 1e3)
    return best


def random_on_device(seed: int, count: int, n: int, p: float) -> torch.Tensor:
    """Draw dense graphs on the GPU, in parts that fit in memory."""
    generator = torch.Generator("cuda").manual_seed(seed)
    adjacency = torch.empty((count, n, n), dtype=torch.bool, device="cuda")
    part = max(1, 2**28 // (n * n))
    for first in range(0, count, part):
        some = adjacency[first : first + part]
        some[...] = torch.rand(some.shape, generator=generator, device="cuda") < p
    return adjacency


def check(adjacency: torch.Tensor) -> None:
    """Compare all variants with the CPU's table engine, and that with SciPy."""
    dense = adjacency.cpu().numpy()
    n = dense.shape[1]
    expected = match_dense(dense)
    peer = scipy_blocks(dense)
    check_matching(dense, expected.mates, peer)
    packed = cuda_match.pack(adjacency.view(torch.uint8))
    for variant in cuda_match.variants(n, n):
        found = cuda_match.match(packed, variant)
        mates = found.mates.cpu().numpy()
        assert found.is_proven.all(), f"{variant} is not proven"
        check_matching(dense, mates.astype(np.int64), peer)
        if n <= 64:
            assert np.array_equal(mates, expected.mates), f"{variant} differs from the CPU"
            rounds = found.rounds.cpu().numpy()
            assert np.array_equal(rounds, expected.rounds), f"{variant} takes other rounds"


def solved(given: Any, wants_mates: bool, engine: str = "cuda-table") -> None:
    """Solve a batch, and demand that every answer is proven."""
    solutions = solve_batch(given, engine=engine)
    assert isinstance(solutions, Solutions) and solutions.is_maximum
    if wants_mates:
        assert len(solutions.mates) == len(solutions.sizes)


def crossed(dense: Any, crossing: str, threads: int) -> None:
    """Match what is on the host, whatever crosses."""
    parts = [cuda_match.match(own) for own, _ in cuda_match.crossed(dense, crossing, threads)]
    found = cuda_match.joined(parts)
    assert bool(found.is_proven.all())
    found.mates.cpu()


def measure(n: int, density: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return one record, all rates in graphs per second."""
    p = DENSITIES[density](n)
    sample = random_on_device(1, max(2, min(4096, PEER_CELLS // n**2)), n, p)
    check(sample)
    few = sample.cpu().numpy()
    rates = {"scipy": len(few) / seconds_of(lambda: scipy_blocks(few))}
    count = min(GRAPHS, int(MEMORY // n**2))
    graphs = random_on_device(2, count, n, p)
    packed = cuda_match.pack(graphs.view(torch.uint8))
    for variant in cuda_match.variants(n, n):
        seconds = device_seconds(lambda v=variant: cuda_match.match(packed, v))
        rates[f"card, {variant[0]} lanes"] = count / seconds
    work: dict[str, Callable[[], None]] = {"tensor": lambda: solved(graphs, False)}
    whole = device_seconds(lambda: cuda_match.match(cuda_match.pack(graphs.view(torch.uint8))))
    rates["dense"] = count / whole
    dense = graphs.cpu().numpy()
    work["host"] = lambda: solved(dense, True)
    for crossing in cuda_match.CROSSINGS:
        work[crossing] = lambda c=crossing: crossed(dense, c, options.threads)
    for name, call in work.items():
        call()
        rates[name] = count / seconds_of(call, wall=True)
    if options.network and n <= 64:
        parameters = torch.from_numpy(network_parameters(shipped_network())).cuda()
        seconds = device_seconds(lambda: cuda_match.match(packed, parameters=parameters), 3)
        rates["network"] = count / seconds
    return {"n": n, "density": density, "batch": count, "threads": options.threads, "rates": rates}


def main() -> None:
    """Measure everything, print each row, and write all of them."""
    parser = argparse.ArgumentParser(description="Certified matchings on a GPU beside SciPy.")
    parser.add_argument("--json", type=Path, help="where to write all records")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--threads", type=int, default=1, help="that pack on the host")
    parser.add_argument("--network", action="store_true", help="time the engine `cuda` as well")
    options = parser.parse_args()
    about = machine() | {"device": torch.cuda.get_device_name()}
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    records: list[dict[str, Any]] = []
    for n in map(int, options.sizes.split(",")):
        for density in DENSITIES:
            records.append(measure(n, density, options))
            rates = records[-1]["rates"]
            told = "  ".join(
                f"{name} {rate:,.0f} ({rate / rates['scipy']:,.0f}×)"
                for name, rate in rates.items()
            )
            print(f"n {n}, p {density}, {records[-1]['batch']:,} graphs: {told}", flush=True)
            if options.json:
                options.json.write_text(
                    json.dumps({"machine": about, "records": records}, indent=1) + "\n"
                )


if __name__ == "__main__":
    main()
