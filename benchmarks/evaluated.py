"""How long the network itself takes on two hard flows, evaluated and looked up, beside SciPy.

    python benchmarks/evaluated.py [--out FILE]

The flows are NetworkX's own example gl1 and Waissi's network, which is bad for Dinic's algorithm.
CPU time on one thread, the least of three calls, and as a multiple of SciPy's Dinic; every answer
is certified, and all values agree. `--out` writes what docs/performance.md is made from: see
tables.py; one file for each run.
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import pickle
from importlib.resources import files
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from scipy.sparse.csgraph import maximum_flow

from augury.classical.hard import HARD_FLOWS
from augury.classical.network import FlowNetwork
from augury.experiments.bench import machine, seconds_of
from augury.solver import solve


def gl1() -> FlowNetwork:
    """Read the example that NetworkX tests its flow functions on."""
    packed = files("networkx.algorithms.flow.tests").joinpath("gl1.gpickle.bz2").read_bytes()
    graph = pickle.loads(bz2.decompress(packed))
    return FlowNetwork.from_networkx(graph, 1, len(graph))


ENGINES = ("table", "lookup", "plain")


def main() -> None:
    """Print a line for each network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the record here, as JSON")
    out = parser.parse_args().out
    bad = HARD_FLOWS["dinic-bad"](np.random.default_rng(0), 197)
    rows = []
    for name, network in (("gl1", gl1()), ("bad for Dinic", bad)):
        matrix, ends = network.to_scipy().astype(np.int32), (network.source, network.sink)
        value = maximum_flow(matrix, *ends).flow_value
        peer = 1e3 * seconds_of(lambda m=matrix, e=ends: maximum_flow(m, *e))
        row = {"network": name, "pairs": network.num_arcs // 2, "SciPy": peer}
        for engine in ENGINES:
            solution = solve(network, engine=engine)  # the first call compiles
            assert solution.is_maximum and solution.size == value
            row[engine] = 1e3 * seconds_of(lambda n=network, e=engine: solve(n, engine=e))
        rows.append(row)
        told = (
            f"{engine} {row[engine]:.2f} ms ({row[engine] / peer:.1f} times)" for engine in ENGINES
        )
        print(f"{name}, {row['pairs']:,} arc pairs: SciPy {peer:.2f} ms, {', '.join(told)}")
    if out is not None:
        told = {"machine": machine(), "config": {"seed": 0}, "rows": rows}
        out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
