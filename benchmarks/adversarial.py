"""Graphs that are hard or odd, and networks that are wrong: every answer is checked from outside.

    python benchmarks/adversarial.py --count 1000000 --workers 2 --out adversarial.json
    python benchmarks/adversarial.py --count 500000 --first 500000 --out second-half.json

An answer must be legal, whatever the executor. `is_maximum` must be true only with a cover or cut
as large as the answer, and exactly when SciPy finds nothing larger; with `exact` it must be true.
The checks are in `answer_checks.py`. A chunk of graphs is made from (seed, chunk) alone, so a
campaign can be split (`--first`), and a fault reproduced.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import maximum_bipartite_matching

from answer_checks import Graph, Wrong, check_all, check_matchings
from augury.classical import generate
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError
from augury.provenance import provenance
from augury.solver import solve, solve_batch

CHUNK = 250
"""Graphs that one network solves side by side, and that are checked together."""


# ------------------------------------------------------------------ small graphs, very many


def small_graphs(rng: np.random.Generator, count: int, largest: int) -> list[Graph]:
    """Return `count` graphs, all tiny except the last; one in ten is a flow network."""
    networks = [tiny_network(rng, largest) for _ in range(count // 10)]
    graphs = [*networks, *tiny_graphs(rng, count - len(networks) - 1), larger_graph(rng)]
    return [graphs[k] for k in rng.permutation(count)]


def tiny_graphs(rng: np.random.Generator, count: int) -> list[BipartiteGraph]:
    """Return graphs of up to 6 + 6 nodes, of any density, some with an empty side or no edge."""
    num_left, num_right = rng.integers(0, 7, (2, count))
    is_edge = rng.random((count, 6, 6)) < rng.random((count, 1, 1))
    is_edge &= np.arange(6)[:, None] < num_left[:, None, None]
    is_edge &= np.arange(6) < num_right[:, None, None]
    owner, left, right = np.nonzero(is_edge)
    ends = np.searchsorted(owner, np.arange(1, count))
    sizes = num_left.tolist(), num_right.tolist()
    edges = np.split(left, ends), np.split(right, ends)
    return list(map(BipartiteGraph, *sizes, *edges))


def tiny_network(rng: np.random.Generator, largest: int) -> FlowNetwork:
    """Return a network with parallel, opposite and empty arcs, connected or not."""
    num_nodes, num_arcs = int(rng.integers(2, 7)), int(rng.integers(0, 13))
    tail, head = rng.integers(0, num_nodes, (2, num_arcs))
    high = int(rng.choice([1, 10, largest]))
    capacity = rng.integers(0, high, num_arcs, endpoint=True)
    source, sink = (int(n) for n in rng.choice(num_nodes, 2, replace=False))
    return FlowNetwork.from_arcs(num_nodes, tail, head, capacity, source=source, sink=sink)


LARGER: list[Callable[[np.random.Generator, int], Graph]] = [
    lambda rng, n: generate.uniform(rng, n, n // 2 + 1, p=4 / n),
    lambda rng, n: generate.power_law(rng, n),
    lambda rng, n: generate.regular(rng, n, 3),
    generate.path,
    generate.ladder,
    lambda rng, n: generate.flow(rng, n, 3 * n),
]


def larger_graph(rng: np.random.Generator) -> Graph:
    """Return a graph of ten to sixty nodes a side."""
    return LARGER[int(rng.integers(len(LARGER)))](rng, int(rng.integers(10, 60)))


# ------------------------------------------------------------------ networks that are wrong


def _scaled(by: float) -> Callable[[Any, np.random.Generator], Any]:
    return lambda weight, rng: weight * by


def _mutated(weight: Any, rng: np.random.Generator) -> Any:
    """Replace some entries, from one to all of them, by normally distributed ones of any scale."""
    import torch

    flat = weight.reshape(-1).clone()
    share = 10 ** rng.uniform(-3, 0)
    places = rng.choice(len(flat), max(int(len(flat) * share), 1), replace=False)
    values = rng.normal(size=len(places)) * 10 ** rng.uniform(-2, 2)
    flat[torch.from_numpy(places)] = torch.from_numpy(values).to(flat.dtype)
    return flat.reshape(weight.shape)


def _shuffled(weight: Any, rng: np.random.Generator) -> Any:
    import torch

    order = torch.from_numpy(rng.permutation(weight.numel()))
    return weight.reshape(-1)[order].reshape(weight.shape)


CHANGES: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "mutated": _mutated,
    "shuffled": _shuffled,
    "negated": _scaled(-1.0),
    "zero": _scaled(0.0),
    "a thousandfold": _scaled(1e3),
    "huge": _scaled(1e30),
    "not a number": _scaled(float("nan")),
}
"""What is done to the weights of a shipped network."""

SHIPPED = ("discrete", "paper-mpnn")
PROCESSORS = ("mpnn", "pna", "pna-nostd", "gatv2")

EXECUTORS: list[tuple[str, str]] = [
    *((name, change) for name in SHIPPED for change in CHANGES),
    *((name, "random") for name in ("discrete", *PROCESSORS)),
    *((name, "as shipped") for name in (*SHIPPED, "classical", "bellman-ford")),
]
"""Each solves some of the chunks in turn; those with new weights each time come again below."""
ROTA = EXECUTORS + 4 * [(name, "mutated") for name in SHIPPED] + [
    (name, change)
    for name, change in EXECUTORS
    if change in ("random", "shuffled")
]  # fmt: skip


def executor_for(name: str, change: str, rng: np.random.Generator) -> tuple[Any, str]:
    """Return a model for the solver, and a digest of its weights.

    The model is a name, or an executor with changed or random weights.
    """
    import torch

    from augury.config import NetworkConfig
    from augury.models.checkpoint import executor_of, find, load, make_network

    if change == "as shipped":
        return name, name
    if change == "random":
        torch.manual_seed(int(rng.integers(2**31)))
        kind = {"kind": "discrete", "bits": 63} if name == "discrete" else {"processor": name}
        network = make_network(NetworkConfig(hidden=16, **kind)).eval()  # type: ignore[arg-type]
    else:
        network = load(find(name)).network
        state = {key: CHANGES[change](value, rng) for key, value in network.state_dict().items()}
        network.load_state_dict(state)
    weights = b"".join(tensor.numpy().tobytes() for tensor in network.state_dict().values())
    return executor_of(network), hashlib.sha256(weights).hexdigest()


class Solved(NamedTuple):
    """The outcome of one chunk."""

    executor: str
    weights: str
    """Equal only for equal weights."""
    graphs: int = 0
    alone: int = 0
    """Graphs that were solved a second time, by themselves."""
    exact: int = 0
    """Graphs that were to be finished by the classical search."""
    maximum: int = 0
    fault: str = ""


def solve_chunk(work: tuple[int, int, int]) -> Solved:
    """Solve and check some graphs of a chunk: (seed, chunk, number of graphs)."""
    seed, number, count = work
    rng = np.random.default_rng([seed, number])
    name, change = ROTA[number % len(ROTA)]
    told = Solved(f"{name}, {change}", "")
    exact = bool(rng.random() < 0.3)
    is_wide = name in ("discrete", "classical", "bellman-ford")
    graphs = small_graphs(rng, count, 2**62 // 12 if is_wide else 20)
    try:
        model, weights = executor_for(name, change, rng)
        solutions = solve_batch(graphs, model=model, exact=exact, seed=number)
        check_all(graphs, solutions, exact)
        largest = max(range(count), key=lambda k: solutions[k].size)
        for k in {0, largest}:
            alone = solve(graphs[k], model=model, exact=exact, seed=number)
            check_all([graphs[k]], [alone], exact)
            if alone.to_dict() != solutions[k].to_dict():
                raise Wrong("alone another answer than in the batch")
    except Exception as error:
        return told._replace(graphs=count, fault=f"{type(error).__name__}: {error}"[:300])
    return Solved(
        told.executor, weights, count, 2, count * exact, sum(s.is_maximum for s in solutions)
    )


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def many(first: int, count: int, seed: int, workers: int) -> dict[str, Any]:
    """Solve and check `count` small graphs from the first on, spread over the executors."""
    work = [
        (seed, start // CHUNK, min(CHUNK, first + count - start))
        for start in range(first, first + count, CHUNK)
    ]
    totals = {field: Counter[str]() for field in ("graphs", "alone", "exact", "maximum")}
    weights: set[str] = set()
    faults: list[dict[str, Any]] = []
    with multiprocessing.get_context("spawn").Pool(workers, _one_thread) as pool:
        for (_, number, _), told in zip(work, pool.imap(solve_chunk, work), strict=True):
            weights.add(told.weights)
            for field, total in totals.items():
                total[told.executor] += getattr(told, field)
            if told.fault:
                faults.append({"chunk": number, "executor": told.executor, "what": told.fault})
    by_executor = {
        name: {field: total[name] for field, total in totals.items()}
        for name in sorted(totals["graphs"])
    }
    return {
        **{field: total.total() for field, total in totals.items()},
        "networks": len(weights),
        "by_executor": by_executor,
        "faults": faults,
    }


# ------------------------------------------------------------------ single hard graphs


def ends(edges: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
    """Return the left and the right ends of edges."""
    left, right = np.array(edges, np.int64).reshape(-1, 2).T
    return left, right


def trap(depth: int) -> BipartiteGraph:
    """Return a graph on which SciPy's matching takes time 2^depth.

    Two left nodes of each layer see both right nodes of the next. Greedy choices match each layer
    with itself; the free left node before the first layer then leads to 2^depth shortest paths, all
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
"""Which model solves what; the network is slow on a million edges, and the checks are the same."""


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
        if name.startswith("trap"):  # not even SciPy can say; the cover does
            check_matchings([(graph, solution)], [solution.size])  # type: ignore[list-item]
        else:
            check_all([graph], [solution], exact=True)
    except Wrong as error:
        return told | {"fault": str(error)}
    return told | {"fault": ""}


def scipy_times(deepest: int) -> list[dict[str, float]]:
    """Return how long SciPy and Augury take on deeper and deeper traps."""
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
    """Solve many small graphs in one call, and time it."""
    graphs = small_graphs(np.random.default_rng(seed), count, 2**40)
    solve_batch(graphs[:10])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    solutions = solve_batch(graphs)
    seconds = time.process_time() - begun
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    fault = ""
    try:
        check_all(graphs, solutions, exact=True)
    except Wrong as error:
        fault = str(error)
    told = {"graphs": count, "seconds": round(seconds, 1), "megabytes": round(grown / 1024)}
    return told | {"microseconds_a_graph": round(1e6 * seconds / count), "fault": fault}


def accepted_weights() -> list[str]:
    """Return which non-finite weights a checkpoint can be written with and read again; none."""
    import torch

    from augury.models.checkpoint import find, load, save

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


def hard(seed: int, workers: int, deepest: int, batch: int) -> dict[str, Any]:
    """Solve the single graphs, the traps and one large batch, and print the outcomes."""
    with multiprocessing.get_context("spawn").Pool(workers, _one_thread) as pool:
        work = [(name, seed) for name in SHAPES]
        shapes = dict(zip(SHAPES, pool.map(solve_shape, work, chunksize=1), strict=True))
    for name, told in shapes.items():
        figures = f"{told['size']:>22,}{told['rounds']:6} rounds{told['seconds']:9.2f} s"
        print(f"{name:30}{told['executor']:10}{figures}  {told['fault']}", flush=True)
    told = {"shapes": shapes, "traps": scipy_times(deepest), "accepted": accepted_weights()}
    for row in told["traps"]:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    print("weights that are not finite and yet were read:", told["accepted"] or "none")
    told["one_call"] = large_batch(batch, seed)
    print(f"one call: {told['one_call']}", flush=True)
    return told


def main() -> None:
    """Run everything, print it, and exit with 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=10_000, help="small graphs over all executors")
    parser.add_argument(
        "--first", type=int, default=0, help=f"start there, a multiple of {CHUNK}; no hard graphs"
    )
    parser.add_argument("--batch", type=int, default=100_000, help="small graphs in one call")
    parser.add_argument(
        "--deepest", type=int, default=26, help="layers of the deepest trap for SciPy"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    options = parser.parse_args()
    if options.first % CHUNK:
        parser.error(f"--first must be a multiple of {CHUNK}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _one_thread()
    begun = time.perf_counter()
    told = provenance("cpu") | {key: value for key, value in vars(options).items() if key != "out"}
    if not options.first:
        told |= hard(options.seed, options.workers, options.deepest, options.batch)
    told["many"] = many(options.first, options.count, options.seed, options.workers)
    for name, row in told["many"]["by_executor"].items():
        print(f"{name:28}{row['graphs']:10,} graphs{row['maximum']:10,} maximum")
    for fault in told["many"]["faults"]:
        print(f"    {fault}")
    print(f"{told['many']['graphs']:,} graphs, {told['many']['networks']:,} different networks")
    own, theirs = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    told["seconds"] = round(time.perf_counter() - begun)
    told["cpu_seconds"] = round(own.ru_utime + own.ru_stime + theirs.ru_utime + theirs.ru_stime)
    print(f"{told['seconds']} s with {options.workers} workers, {told['cpu_seconds']} of the CPU")
    if options.out:
        options.out.write_text(json.dumps(told, indent=1) + "\n")
    rows = [*told.get("shapes", {}).values(), told.get("one_call", {})]
    faults = [row["fault"] for row in rows if row.get("fault")]
    sys.exit(bool(faults or told.get("accepted") or told["many"]["faults"]))


if __name__ == "__main__":
    main()
