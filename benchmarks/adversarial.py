"""Graphs that are hard or odd, and networks that are wrong: every answer is checked from outside.

    python benchmarks/adversarial.py --count 1000000 --workers 16 --out adversarial.json

An answer must be legal whoever executed. `is_maximum` must be true only with a cover or cut as
large as the answer, and exactly when SciPy finds nothing larger; with `exact` it must be true. The
checks below share nothing with the package: they see edges and answers alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import maximum_bipartite_matching, maximum_flow

from augury.classical import generate
from augury.classical.graph import BipartiteGraph, InputError
from augury.classical.network import FlowNetwork
from augury.solver import Solution, solve, solve_batch

Graph = BipartiteGraph | FlowNetwork

CHUNK = 500
"""Graphs that are solved side by side and checked together."""


class Wrong(Exception):
    """An answer that is not what it says."""


# ------------------------------------------------------------------ the checks


def scipy_sizes(graphs: Sequence[BipartiteGraph]) -> list[int]:
    """Return the maximum of each graph as SciPy finds it, all of them in one call."""
    starts = np.cumsum([0, *(graph.num_left for graph in graphs)])
    if not starts[-1]:
        return [0 for _ in graphs]
    union = scipy.sparse.block_diag([_matrix(graph) for graph in graphs], format="csr")
    is_matched = maximum_bipartite_matching(union, perm_type="column") >= 0
    sums = np.concatenate([[0], np.cumsum(is_matched)])
    return [int(sums[end] - sums[start]) for start, end in pairwise(starts)]


def _matrix(graph: BipartiteGraph) -> Any:
    ones = np.ones(graph.num_edges, np.int8)
    shape = (graph.num_left, graph.num_right)
    return scipy.sparse.coo_array((ones, (graph.left, graph.right)), shape=shape)


def check_matching(graph: BipartiteGraph, solution: Solution, maximum: int) -> None:
    """Raise Wrong unless the answer is a matching and tells the truth about itself."""
    edges = set(zip(graph.left.tolist(), graph.right.tolist(), strict=True))
    pairs = solution.matching or []
    if not set(pairs) <= edges:
        raise Wrong("a pair is no edge")
    if len({u for u, _ in pairs}) < len(pairs) or len({v for _, v in pairs}) < len(pairs):
        raise Wrong("a node is matched twice")
    if solution.size != len(pairs):
        raise Wrong("the size is not the number of pairs")
    if solution.is_maximum != (len(pairs) == maximum):
        raise Wrong(f"is_maximum is {solution.is_maximum} at {len(pairs)} of {maximum}")
    proof: Any = solution.certificate.proof
    left, right = set(proof.left), set(proof.right)
    if any(u not in left and v not in right for u, v in edges):
        raise Wrong("the cover misses an edge")
    if len(proof.left) + len(proof.right) != maximum:
        raise Wrong("the cover is not as large as the maximum")


def check_flow(network: FlowNetwork, solution: Solution) -> None:
    """Raise Wrong unless the answer is a flow and its cut proves what it says."""
    sender, receiver = network.sender.tolist(), network.receiver.tolist()
    capacity = dict(zip(zip(sender, receiver, strict=True), network.capacity.tolist(), strict=True))
    excess: Counter[Any] = Counter()
    for tail, head, amount in solution.flow or []:
        if not 0 < amount <= capacity.get((tail, head), 0):
            raise Wrong(f"an arc carries {amount} of {capacity.get((tail, head), 0)}")
        excess[tail] -= amount
        excess[head] += amount
    if excess.pop(network.source, 0) != -solution.size:
        raise Wrong("the size is not what leaves the source")
    if excess.pop(network.sink, 0) != solution.size or any(excess.values()):
        raise Wrong("flow is not preserved")
    proof: Any = solution.certificate.proof
    side = set(proof.source_side)
    if network.source not in side or network.sink in side:
        raise Wrong("the cut does not separate source and sink")
    leaving = sum(c for (u, v), c in capacity.items() if u in side and v not in side)
    # No flow exceeds a cut, so this equality is all the proof that there needs to be.
    if solution.is_maximum != (leaving == solution.size) or leaving < solution.size:
        raise Wrong(f"is_maximum is {solution.is_maximum}, size {solution.size}, cut {leaving}")
    if max(capacity.values(), default=0) < 2**31 and leaving < 2**31:
        matrix = network.to_scipy().astype(np.int32)
        if maximum_flow(matrix, network.source, network.sink).flow_value != leaving:
            raise Wrong("the cut is not what SciPy finds")


def check_all(graphs: Sequence[Graph], solutions: Sequence[Solution], exact: bool) -> None:
    """Check every answer of a batch."""
    bipartite = [graph for graph in graphs if isinstance(graph, BipartiteGraph)]
    maxima = iter(scipy_sizes(bipartite))
    for graph, solution in zip(graphs, solutions, strict=True):
        if isinstance(graph, BipartiteGraph):
            check_matching(graph, solution, next(maxima))
        else:
            check_flow(graph, solution)
        if exact and not solution.is_maximum:
            raise Wrong("an exact answer is not maximum")


# ------------------------------------------------------------------ tiny graphs, very many


def tiny_graphs(rng: np.random.Generator, count: int, largest: int) -> list[Graph]:
    """Return graphs of up to 6 + 6 nodes, some sides empty; one in ten is a flow network."""
    return [
        tiny_network(rng, largest) if rng.random() < 0.1 else tiny_graph(rng) for _ in range(count)
    ]


def tiny_graph(rng: np.random.Generator) -> BipartiteGraph:
    """Return a bipartite graph of any density, isolated nodes and empty sides included."""
    num_left, num_right = (int(n) for n in rng.integers(0, 7, 2))
    left, right = np.nonzero(rng.random((num_left, num_right)) < rng.random())
    return BipartiteGraph(num_left, num_right, left, right)


def tiny_network(rng: np.random.Generator, largest: int) -> FlowNetwork:
    """Return a network with parallel, opposite and empty arcs, connected or not."""
    num_nodes, num_arcs = int(rng.integers(2, 7)), int(rng.integers(0, 13))
    tail, head = rng.integers(0, num_nodes, (2, num_arcs))
    high = int(rng.choice([1, 10, largest]))
    capacity = rng.integers(0, high, num_arcs, endpoint=True)
    source, sink = (int(n) for n in rng.choice(num_nodes, 2, replace=False))
    return FlowNetwork.from_arcs(num_nodes, tail, head, capacity, source=source, sink=sink)


# ------------------------------------------------------------------ networks that are wrong


def _scaled(by: float) -> Callable[[Any, np.random.Generator], Any]:
    return lambda weight, rng: weight * by


def _mutated(weight: Any, rng: np.random.Generator) -> Any:
    """Replace a tenth of the entries, or at least one."""
    import torch

    flat = weight.reshape(-1).clone()
    places = rng.choice(len(flat), max(len(flat) // 10, 1), replace=False)
    flat[torch.from_numpy(places)] = torch.from_numpy(rng.normal(size=len(places))).to(flat.dtype)
    return flat.reshape(weight.shape)


def _shuffled(weight: Any, rng: np.random.Generator) -> Any:
    import torch

    order = torch.from_numpy(rng.permutation(weight.numel()))
    return weight.reshape(-1)[order].reshape(weight.shape)


CHANGES: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "as shipped": lambda weight, rng: weight,
    "mutated": _mutated,
    "negated": _scaled(-1.0),
    "zero": _scaled(0.0),
    "a thousandfold": _scaled(1e3),
    "huge": _scaled(1e30),
    "not a number": _scaled(float("nan")),
    "shuffled": _shuffled,
}
"""What is done to the weights of a shipped network."""

PROCESSORS = ("mpnn", "pna", "pna-nostd", "gatv2")

EXECUTORS: list[tuple[str, str]] = [
    *(("discrete", change) for change in CHANGES),
    *(("paper-mpnn", change) for change in CHANGES),
    ("discrete", "random"),
    *((processor, "random") for processor in PROCESSORS),
    ("classical", "as shipped"),
    ("bellman-ford", "as shipped"),
]


def executor_for(name: str, change: str, rng: np.random.Generator) -> Any:
    """Return a model for the solver: a name, or an executor with changed or random weights."""
    import torch

    from augury.config import NetworkConfig
    from augury.neural.checkpoint import find, load
    from augury.neural.kinds import executor_of, make_network

    if change == "as shipped":
        return name
    if change == "random":
        torch.manual_seed(int(rng.integers(2**31)))
        kind = {"kind": "discrete", "bits": 63} if name == "discrete" else {"processor": name}
        return executor_of(make_network(NetworkConfig(hidden=16, **kind)).eval())  # type: ignore[arg-type]
    network = load(find(name)).network
    state = {key: CHANGES[change](value, rng) for key, value in network.state_dict().items()}
    network.load_state_dict(state)
    return executor_of(network)


def solve_chunk(work: tuple[int, int, int]) -> tuple[str, int, int, list[dict[str, Any]]]:
    """Solve one chunk and check it: (seed, chunk, graphs) to (executor, graphs, maxima, faults)."""
    seed, number, count = work
    rng = np.random.default_rng([seed, number])
    name, change = EXECUTORS[number % len(EXECUTORS)]
    exact = bool(rng.random() < 0.3)
    is_wide = name in ("discrete", "classical", "bellman-ford")
    graphs = tiny_graphs(rng, count, 2**62 // 12 if is_wide else 20)
    told = f"{name}, {change}"
    try:
        model = executor_for(name, change, rng)
        solutions = solve_batch(graphs, model=model, exact=exact, seed=number)
        check_all(graphs, solutions, exact)
    except Exception as error:
        fault = {
            "chunk": number,
            "executor": told,
            "what": f"{type(error).__name__}: {error}"[:300],
        }
        return told, count, 0, [fault]
    return told, count, sum(solution.is_maximum for solution in solutions), []


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def many(count: int, seed: int, workers: int) -> dict[str, Any]:
    """Solve and check `count` tiny graphs, spread evenly over the executors."""
    work = [
        (seed, number, min(CHUNK, count - first))
        for number, first in enumerate(range(0, count, CHUNK))
    ]
    solved, maxima, faults = Counter[str](), Counter[str](), list[dict[str, Any]]()
    with multiprocessing.get_context("spawn").Pool(workers, _one_thread) as pool:
        for name, graphs, proven, wrong in pool.imap_unordered(solve_chunk, work):
            solved[name] += graphs
            maxima[name] += proven
            faults += wrong
    by_executor = {
        name: {"graphs": solved[name], "maximum": maxima[name]} for name in sorted(solved)
    }
    return {"graphs": solved.total(), "by_executor": by_executor, "faults": faults}


# ------------------------------------------------------------------ single hard graphs


def ends(edges: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
    """Return the left and the right ends of edges."""
    left, right = np.array(edges, np.int64).reshape(-1, 2).T
    return left, right


def trap(depth: int) -> BipartiteGraph:
    """Return a graph on which SciPy's matching takes time 2^depth.

    Two left nodes of each layer see both right nodes of the next. Greedy choices match each layer
    with itself; the free left node before the first layer then leads to 2^depth shortest ways, all
    into a dead end, which are searched one by one while a far augmenting path waits elsewhere.
    """
    layers = [(2 * i + j, 2 * i + j) for i in range(depth) for j in range(2)]
    layers += [
        (2 * i + j, 2 * (i + 1) + k) for i in range(depth - 1) for j in (0, 1) for k in (0, 1)
    ]
    first = 2 * depth  # from here on a path, whose free ends are depth pairs apart
    path = [(first + i, first + i + k) for i in range(depth) for k in (0, 1)]
    dead, far = first + depth, first + depth + 1
    edges = [*layers, *path, (dead, 0), (dead, 1), (far, first)]
    return BipartiteGraph(far + 1, first + depth + 1, *ends(edges))


def disconnected(rng: np.random.Generator, parts: int) -> BipartiteGraph:
    """Return many small parts in one graph."""
    left, right = [], []
    for part in range(parts):
        own = generate.uniform(rng, 5, p=0.4)
        left.append(own.left + 5 * part)
        right.append(own.right + 5 * part)
    return BipartiteGraph(5 * parts, 5 * parts, np.concatenate(left), np.concatenate(right))


def wide_flow(rng: np.random.Generator) -> FlowNetwork:
    """Return a network whose capacities fill 63 bits, and whose flow is beyond 64."""
    arcs = [(0, node, 2**63 - 1) for node in range(1, 9)]
    arcs += [(node, other, 2**62) for node in range(1, 9) for other in range(9, 12)]
    arcs += [(node, 12, 2**63 - 1) for node in range(9, 12)]
    tail, head, capacity = zip(*arcs, strict=True)
    return FlowNetwork.from_arcs(13, tail, head, capacity, source=0, sink=12)


SHAPES: dict[str, tuple[str, Callable[[np.random.Generator], Graph]]] = {
    "no nodes": ("discrete", lambda rng: BipartiteGraph(0, 0, *ends([]))),
    "an empty side": ("discrete", lambda rng: BipartiteGraph(1000, 0, *ends([]))),
    "isolated nodes, 10^4 + 10^4": (
        "discrete",
        lambda rng: BipartiteGraph(10**4, 10**4, *ends([(7, 9)])),
    ),
    "star, 10^4 leaves": ("discrete", lambda rng: generate.complete(rng, 1, 10**4)),
    "complete, 200 + 200": ("discrete", lambda rng: generate.complete(rng, 200)),
    "ladder, 500 + 500": ("discrete", lambda rng: generate.ladder(rng, 500)),
    "path, 500 + 500": ("discrete", lambda rng: generate.path(rng, 500)),
    "1,000 parts": ("discrete", lambda rng: disconnected(rng, 1000)),
    "capacities of 63 bits": ("discrete", wide_flow),
    "trap, 200 layers": ("discrete", lambda rng: trap(200)),
    "trap, 5,000 layers": ("classical", lambda rng: trap(5000)),
    "isolated nodes, 10^6 + 10^6": (
        "classical",
        lambda rng: BipartiteGraph(10**6, 10**6, *ends([(7, 9)])),
    ),
    "star, 10^6 leaves": ("classical", lambda rng: generate.complete(rng, 1, 10**6)),
    "complete, 1,000 + 1,000": ("classical", lambda rng: generate.complete(rng, 1000)),
    "sparse, 10^6 edges": ("classical", lambda rng: generate.sparse(rng, 333_333, 3.0)),
    "power law, 10^5 + 10^5": ("classical", lambda rng: generate.power_law(rng, 100_000)),
    "20,000 parts": ("classical", lambda rng: disconnected(rng, 20_000)),
}
"""Who solves, and what; the network is slow on a million edges, and the checks are the same."""


def solve_shape(work: tuple[str, int]) -> dict[str, Any]:
    """Solve one hard graph and check it."""
    name, seed = work
    model, make = SHAPES[name]
    graph = make(np.random.default_rng(seed))
    begun = time.process_time()
    solution = solve(graph, model=model)
    seconds = round(time.process_time() - begun, 2)
    told = {
        "graph": repr(graph),
        "executor": model,
        "size": solution.size,
        "rounds": solution.rounds,
        "seconds": seconds,
    }
    try:
        if name.startswith("trap"):  # not even SciPy can say; the cover does, in check_matching
            check_matching(graph, solution, solution.size)  # type: ignore[arg-type]
        else:
            check_all([graph], [solution], exact=True)
    except Wrong as error:
        return told | {"fault": str(error)}
    return told | {"fault": ""}


def scipy_times(deepest: int) -> list[dict[str, float]]:
    """Return how long SciPy and we take on ever deeper traps."""
    solve(trap(2))
    rows = []
    for depth in range(12, deepest + 1, 2):
        graph = trap(depth)
        matrix = graph.to_scipy()
        times: dict[str, float] = {"layers": depth, "nodes": graph.num_left + graph.num_right}
        for name, work in (
            ("scipy_seconds", lambda matrix=matrix: maximum_bipartite_matching(matrix)),
            ("discrete_seconds", lambda graph=graph: solve(graph)),
            ("classical_seconds", lambda graph=graph: solve(graph, model="classical")),
        ):
            begun = time.process_time()
            work()
            times[name] = round(time.process_time() - begun, 5)
        rows.append(times)
    return rows


def large_batch(count: int, seed: int) -> dict[str, Any]:
    """Solve so many tiny graphs in one call, and measure it."""
    graphs = tiny_graphs(np.random.default_rng(seed), count, 2**40)
    solve_batch(graphs[:10])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    solutions = solve_batch(graphs)
    seconds = time.process_time() - begun
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    check_all(graphs, solutions, exact=True)
    told = {"graphs": count, "seconds": round(seconds, 1), "megabytes": round(grown / 1024)}
    return told | {"microseconds_a_graph": round(1e6 * seconds / max(count, 1))}


def refused_weights() -> list[str]:
    """Return the kinds of weights that a checkpoint can be written with and read again; none."""
    import torch

    from augury.neural.checkpoint import find, load, save

    taken = []
    shipped = load(find("discrete"))
    with tempfile.TemporaryDirectory() as folder:
        for name, value in (("nan", float("nan")), ("inf", float("inf")), ("-inf", -float("inf"))):
            state = {key: tensor.clone() for key, tensor in shipped.network.state_dict().items()}
            next(iter(state.values())).view(-1)[0] = torch.tensor(value)
            path = Path(folder) / f"{name}.safetensors"
            save(path, state, shipped.config, shipped.provenance)
            try:
                load(path)
            except InputError:
                continue
            taken.append(name)
    return taken


def main() -> None:
    """Run everything, print it, and exit with 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=10_000, help="tiny graphs over all executors")
    parser.add_argument("--batch", type=int, help="tiny graphs in one call; 3/10 of --count")
    parser.add_argument(
        "--deepest", type=int, default=26, help="layers of the deepest trap for SciPy"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _one_thread()
    begun = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(options.workers, _one_thread) as pool:
        work = [(name, options.seed) for name in SHAPES]
        shapes = dict(zip(SHAPES, pool.map(solve_shape, work, chunksize=1), strict=True))
    for name, told in shapes.items():
        figures = f"{told['size']:>22,}{told['rounds']:6} rounds{told['seconds']:9.2f} s"
        print(f"{name:30}{told['executor']:10}{figures}  {told['fault']}", flush=True)
    told = {"shapes": shapes, "traps": scipy_times(options.deepest), "refused": refused_weights()}
    for row in told["traps"]:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    print("weights that are not finite and yet were read:", told["refused"] or "none")
    told["many"] = many(options.count, options.seed, options.workers)
    for name, row in told["many"]["by_executor"].items():
        print(f"{name:28}{row['graphs']:10,} graphs{row['maximum']:10,} maximum")
    for fault in told["many"]["faults"][:20]:
        print(f"    {fault}")
    told["batch"] = large_batch(options.batch or options.count * 3 // 10, options.seed)
    print(f"one call: {told['batch']}")
    print(f"{time.perf_counter() - begun:.0f} s with {options.workers} workers")
    if options.out:
        options.out.write_text(json.dumps(told, indent=1) + "\n")
    faults = [row["fault"] for row in shapes.values() if row["fault"]]
    sys.exit(bool(faults or told["refused"] or told["many"]["faults"]))


if __name__ == "__main__":
    main()
