"""Time flows of unequal networks on a GPU beside SciPy in a loop and the CPU's table engine.

    python benchmarks/cuda_flows.py [--count 65536] [--lanes 8,16,32]

Each lot is solved by the kernels for networks that are on the card (by events, proof included), by
`solve_batch` from networks on the host (on the wall, proven), and by SciPy's `maximum_flow` for the
first 1,000 (on the wall). All values must agree, and all must be proven.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import maximum_flow

from augury.classical.batch import Batch
from augury.classical.generate import flow
from augury.engines import cuda_flows
from augury.experiments.bench import machine, seconds_of
from augury.solver import solve_batch
from cuda_assign import milliseconds

SIZES = {"5 to 15 nodes": (5, 16), "20 to 60 nodes": (20, 61), "100 to 300 nodes": (100, 301)}
PEER = 1000


def main() -> None:
    """Measure and print networks a second."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--count", type=int, default=65536)
    options.add_argument("--lanes", default="8,16,32")
    given = options.parse_args()
    print(machine(), torch.cuda.get_device_name())
    largest = cuda_flows.cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    for place, (name, (low, high)) in enumerate(SIZES.items()):
        rng = np.random.default_rng(0)
        nodes = rng.integers(low, high, given.count >> 3 * place).tolist()
        networks = [flow(rng, n, 3 * n, low=1, high=20) for n in nodes]
        batch = Batch.of(networks)
        values: list[int] = []
        for lanes in map(int, given.lanes.split(",")):
            held = cuda_flows.hold(batch, torch.device("cuda", 0), largest, lanes)
            taken = milliseconds(lambda held=held: cuda_flows.run(held))
            cuts = cuda_flows.fetched(held).cuts
            assert cuts.is_proven.all()
            values = cuts.sizes[:PEER].tolist()
            print(f"{name:18} on the card, {lanes:2} lanes {1000 * len(nodes) / taken:14,.0f} /s")
        matrices: Any = [own.to_scipy().astype(np.int32) for own in networks[:PEER]]

        def peer(matrices: Any = matrices) -> list[int]:
            return [int(maximum_flow(one, 0, one.shape[0] - 1).flow_value) for one in matrices]

        assert values == peer()
        for engine in ("cuda-table", "table"):
            wall = seconds_of(lambda e=engine, n=networks: solve_batch(n, engine=e), wall=True)
            print(f"{name:18} solve_batch, {engine:10} {len(nodes) / wall:14,.0f} /s")
        print(f"{name:18} SciPy in a loop {len(matrices) / seconds_of(peer, wall=True):18,.0f} /s")


if __name__ == "__main__":
    main()
