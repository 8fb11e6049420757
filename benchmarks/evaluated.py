"""How long the network itself takes on two hard flows, evaluated and looked up, beside SciPy.

    python benchmarks/evaluated.py

The flows are NetworkX's own example gl1 and Waissi's network, which is bad for Dinic's algorithm.
CPU time on one thread, the least of three calls, and as a multiple of SciPy's Dinic; every answer
is certified, and all values agree.
"""

from __future__ import annotations

import bz2
import os
import pickle
from importlib.resources import files

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from scipy.sparse.csgraph import maximum_flow

from augury.classical.hard import HARD_FLOWS
from augury.classical.network import FlowNetwork
from augury.experiments.bench import seconds_of
from augury.solver import solve


def gl1() -> FlowNetwork:
    """Read the example that NetworkX tests its flow functions on."""
    packed = files("networkx.algorithms.flow.tests").joinpath("gl1.gpickle.bz2").read_bytes()
    graph = pickle.loads(bz2.decompress(packed))
    return FlowNetwork.from_networkx(graph, 1, len(graph))


def main() -> None:
    """Print a line for each network."""
    bad = HARD_FLOWS["dinic-bad"](np.random.default_rng(0), 197)
    for name, network in (("gl1", gl1()), ("bad for Dinic", bad)):
        matrix, ends = network.to_scipy().astype(np.int32), (network.source, network.sink)
        value = maximum_flow(matrix, *ends).flow_value
        peer = seconds_of(lambda m=matrix, e=ends: maximum_flow(m, *e))
        print(f"{name}, {network.num_arcs // 2:,} arc pairs: SciPy {1e3 * peer:.2f} ms", end="")
        for engine in ("table", "lookup", "plain"):
            solution = solve(network, engine=engine)  # the first call compiles
            assert solution.is_maximum and solution.size == value
            taken = seconds_of(lambda n=network, e=engine: solve(n, engine=e))
            print(f", {engine} {1e3 * taken:.1f} ms ({taken / peer:.1f} times)", end="")
        print()


if __name__ == "__main__":
    main()
