"""Solve many small graphs in every form that `solve_batch` takes; print graphs a second.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/batches.py [--graphs N] [--side N]
        [--out FILE]

Ours is `solve_batch` with the engine "table", from the form as given to answers that are all
certified; "read" is the same with every `Solution` made and its pairs or flow looked at. Beside it
a peer is called in a loop, on the same graphs: SciPy's `maximum_bipartite_matching`, OR-Tools'
`SimpleMaxFlow`. All of it in one process, in turns, in seconds of CPU time, the least of several.
The sizes must agree. `--out` writes what docs/performance.md is made from: see tables.py; one file
for each run.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import maximum_bipartite_matching
from torch_geometric.data import Batch, Data, HeteroData

from augury import BipartiteGraph, FlowNetwork, solve_batch
from augury.experiments.bench import machine, seconds_of
from augury.solution import Solutions

DENSITY = 0.3


class Form(NamedTuple):
    """Graphs in one form, and how a peer solves one of them."""

    graphs: Any
    each: Sequence[Any]
    """The same, one by one, as the peer takes them."""
    size_of: Callable[[Any], int]
    peer: str = "SciPy"


def matched(matrix: Any) -> int:
    """Return the size of a maximum matching of a CSR matrix."""
    return int((maximum_bipartite_matching(matrix) >= 0).sum())


def matched_array(array: Any) -> int:
    """Return the same of a dense array."""
    return matched(scipy.sparse.csr_array(array))


def matched_ends(ends: Any) -> int:
    """Return the same of the two ends of edges and the shape."""
    (row, column), shape = ends
    entries = np.ones(len(row), np.int8), (row, column)
    return matched(scipy.sparse.csr_array(entries, shape=shape))


def matched_networkx(graph: Any) -> int:
    """Return the same of a NetworkX graph, by NetworkX."""
    top = [node for node, side in graph.nodes(data="bipartite") if side == 0]
    return len(nx.bipartite.hopcroft_karp_matching(graph, top)) // 2


def pushed(network: FlowNetwork) -> int:
    """Return the value of a maximum flow."""
    from ortools.graph.python import max_flow

    solver = max_flow.SimpleMaxFlow()
    columns: Any = network.sender, network.receiver, network.capacity
    solver.add_arcs_with_capacity(*columns)
    solver.solve(network.source, network.sink)
    return solver.optimal_flow()


def forms(count: int, side: int, seed: int) -> dict[str, Form]:
    """Make random graphs in every form."""
    rng = np.random.default_rng(seed)
    stack = rng.random((count, side, side)) < DENSITY
    arrays = list(stack)
    unequal = [rng.random(rng.integers(side // 2, 3 * side // 2, 2)) < DENSITY for _ in arrays]
    csr = [scipy.sparse.csr_array(array.astype(np.int8)) for array in arrays]
    ends = [(np.stack(np.nonzero(array)), array.shape) for array in arrays]
    some = arrays[: count // 10]
    networkx = [BipartiteGraph.from_dense(array).to_networkx() for array in some]
    networks = [network(rng) for _ in arrays]
    made = {
        "(graph, left, right) array": Form(stack, arrays, matched_array),
        "list of arrays": Form(arrays, arrays, matched_array),
        "list of float arrays": Form([x.astype(float) for x in arrays], arrays, matched_array),
        "list of arrays, unequal": Form(unequal, unequal, matched_array),
        "list of CSR matrices": Form(csr, csr, matched),
        "list of BipartiteGraphs": Form(list(map(BipartiteGraph.from_dense, arrays)), csr, matched),
        "PyG batch of two node types": Form(batch(two_types, ends), ends, matched_ends),
        "PyG batch, attribute bipartite": Form(batch(told_sides, ends), ends, matched_ends),
        "NetworkX graphs": Form(networkx, networkx, matched_networkx, "NetworkX"),
    }
    if find_spec("ortools") is not None:
        made["flow networks, 10 nodes"] = Form(networks, networks, pushed, "OR-Tools")
    return made


def network(rng: np.random.Generator, nodes: int = 10, arcs: int = 20) -> FlowNetwork:
    """Make a small random flow network."""
    tail, head = rng.integers(0, nodes, (2, arcs))
    return FlowNetwork.from_arcs(
        nodes, tail, head, rng.integers(1, 20, arcs), source=0, sink=nodes - 1
    )


def batch(make: Callable[[Any, Any], Any], ends: Sequence[Any]) -> Any:
    """Make a batch of PyTorch Geometric."""
    return Batch.from_data_list([make(*one) for one in ends])


def two_types(ends: Any, shape: Any) -> HeteroData:
    """Make a graph of PyTorch Geometric, with a node type for each side."""
    data = HeteroData()
    data["left"].x, data["right"].x = torch.zeros(shape[0], 1), torch.zeros(shape[1], 1)
    data["left", "to", "right"].edge_index = torch.tensor(ends)
    return data


def told_sides(ends: Any, shape: Any) -> Data:
    """Make one with a single numbering."""
    index = torch.tensor(ends) + torch.tensor([[0], [shape[0]]])
    side = torch.tensor([0] * shape[0] + [1] * shape[1])
    return Data(edge_index=index, num_nodes=len(side), bipartite=side)


def measured(form: Form) -> tuple[float, float, float]:
    """Return graphs a second: solved and proven, also read, and by the peer."""

    def ours() -> Any:
        found = solve_batch(form.graphs, engine="table")
        assert isinstance(found, Solutions) and found.is_maximum
        return found

    def read() -> int:
        return sum(len(one.matching if one.flow is None else one.flow) for one in ours())  # type: ignore[reportArgumentType]

    def peer() -> list[int]:
        return list(map(form.size_of, form.each))

    assert ours().sizes.tolist() == peer()
    turns = [[seconds_of(work, least=0) for work in (ours, read, peer)] for _ in range(3)]
    ours_at, read_at, peer_at = (len(form.each) / min(own) for own in zip(*turns, strict=True))
    return ours_at, read_at, peer_at


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", type=int, default=10_000)
    parser.add_argument("--side", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="write the record here, as JSON")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{args.graphs} graphs of {args.side} + {args.side} nodes, graphs a second; {machine()}")
    print(f"{'form':32} {'solve_batch':>12} {'read':>10} {'peer':>10}")
    rows = []
    for name, form in forms(args.graphs, args.side, args.seed).items():
        solved, read, peer = measured(form)
        rows.append({"form": name, "solved": solved, "read": read, "peer": peer, "by": form.peer})
        ratio = f"{solved / peer:.1f} × {form.peer}"
        print(f"{name:32} {solved:12,.0f} {read:10,.0f} {peer:10,.0f}   {ratio}", flush=True)
    if args.out is not None:
        config = {"graphs": args.graphs, "side": args.side, "seed": args.seed}
        told = {"machine": machine(), "config": config, "rows": rows}
        args.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
