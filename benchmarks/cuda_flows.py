"""Time flows of unequal networks on a GPU beside SciPy in a loop and the CPU's table engine.

    python benchmarks/cuda_flows.py [--count 65536] [--lanes 8,16,32] [--out FILE]

Each lot is solved by the kernels for networks that are on the card (by events, proof included), by
`solve_batch` from networks on the host (wall clock, proven), and by SciPy's `maximum_flow` for the
first 1,000 (wall clock). All values must agree, and all must be proven.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import maximum_flow

from augury.classical.batch import Batch
from augury.classical.generate import flow
from augury.engines import cuda_flows
from augury.experiments.bench import machine, seconds_of
from augury.provenance import provenance
from augury.solver import solve_batch
from cuda_assign import milliseconds

SIZES = {"5 to 15 nodes": (5, 16), "20 to 60 nodes": (20, 61), "100 to 300 nodes": (100, 301)}
PEER = 1000


def main() -> None:
    """Measure and print networks a second."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--count", type=int, default=65536)
    options.add_argument("--lanes", default="8,16,32")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    print(machine(), torch.cuda.get_device_name())
    largest = cuda_flows.cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    rows: list[dict[str, Any]] = []

    def tell(name: str, what: str, rate: float) -> None:
        rows.append({"networks": name, "what": what, "per_second": rate})
        print(f"{name:18} {what:24} {rate:14,.0f} /s")

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
            tell(name, f"on the card, {lanes} lanes", 1000 * len(nodes) / taken)
        matrices: Any = [own.to_scipy().astype(np.int32) for own in networks[:PEER]]

        def peer(matrices: Any = matrices) -> list[int]:
            return [int(maximum_flow(one, 0, one.shape[0] - 1).flow_value) for one in matrices]

        assert values == peer()
        for engine in ("cuda-table", "table"):
            wall = seconds_of(lambda e=engine, n=networks: solve_batch(n, engine=e), wall=True)
            tell(name, f"solve_batch, {engine}", len(nodes) / wall)
        tell(name, "SciPy in a loop", len(matrices) / seconds_of(peer, wall=True))
    if given.out:
        about = {"rows": rows, "card": torch.cuda.get_device_name(), **provenance("cuda")}
        about["config"] = {"count": given.count, "seed": 0}
        given.out.write_text(json.dumps(about, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
