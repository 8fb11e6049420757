"""From constants measured on one machine to 10, 100 and 1,000: a model, and a simulation of it.

    python benchmarks/scale.py [--many FILE] [--sharded FILE] [--seed N] [--out FILE] [--plot FILE]

`--many` is a record of many_graphs.py and `--sharded` one of sharded.py: the constants that are not
in `ASSUMED` come from there. docs/scale.md explains the model. Nothing here was run on more than
one machine: these are estimates.

Many graphs: a core solves pieces one after the other; a piece takes its mean time a core, times a
slowness (log-normal; now and then a machine is `slow_factor` times as slow all along). Machines
are lost at random and come back later; the piece that a core was working on is solved again
elsewhere. The driver hands out pieces one by one; the more data, the larger the pieces. One graph:
steps in which all cores wait for the slowest, for the frontiers to travel, and for the driver; a
lost machine takes everything back to the last round.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from augury.experiments.bench import machine
from augury.ray.pieces import LARGE, PIECE_ROWS

ROOT = Path(__file__).parents[1]
MACHINES = (1, 10, 100, 1000)
EDGES = (10**9, 10**10, 10**11)

ASSUMED = {
    "cores": 32,  # of a machine
    "network_bytes_a_second": 1.25e9,  # 10 Gbit/s each way, for each machine
    "sigma": 0.2,  # of the logarithm of a task's or step's slowness
    "slow_share": 0.01,  # of machines that are slow all along
    "slow_factor": 3.0,
    "hours_between_losses": 200.0,  # of one machine; spot instances
    "seconds_to_come_back": 180.0,
    "call_seconds": 0.001,  # of one call of a shard, and three of them a step
    "driver_call_seconds": 0.0001,  # for each shard that the driver calls
    "hours": 1.0,  # of work for all cores, if nothing went wrong
    "driver_seconds_a_piece": 0.01,  # unless it was measured
    "bytes_a_graph": 24.0,  # read and written; unless it was measured
    "bytes_read_a_graph": 17.0,  # unless it was measured
}


def slowness(rng: np.random.Generator, count: int, sigma: float) -> Any:
    """Return factors with the mean 1."""
    return rng.lognormal(-(sigma**2) / 2, sigma, count)


def many_graphs(count: int, known: dict[str, float], rng: np.random.Generator) -> dict[str, Any]:
    """Simulate pieces on machines; graphs a second, and what was lost."""
    cores = count * int(known["cores"])
    ideal = cores * known["graphs_a_second_a_core"]
    wanted = known["hours"] * 3600 * ideal
    rows = PIECE_ROWS * (1 + wanted * known["bytes_read_a_graph"] // LARGE)
    pieces = math.ceil(wanted / rows)
    mean = rows / known["graphs_a_second_a_core"]
    factor = np.where(rng.random(count) < known["slow_share"], known["slow_factor"], 1.0)
    gaps = rng.exponential(known["hours_between_losses"] * 3600, (count, 16))
    losses = np.cumsum(gaps + known["seconds_to_come_back"], axis=1)  # of each machine
    noise = slowness(rng, pieces, known["sigma"])
    free = [(0.0, core) for core in range(cores)]  # a heap
    left, handed, end, lost, drawn = pieces, 0.0, 0.0, 0, 0
    while left:
        now, core = heapq.heappop(free)
        here = core % count
        handed = max(handed, now) + known["driver_seconds_a_piece"]  # one piece after the other
        done = handed + mean * factor[here] * noise[drawn % pieces]
        drawn += 1
        loss = losses[here, np.searchsorted(losses[here], handed)]
        if done > loss:  # the piece is solved again, and the core is gone for a while
            lost += 1
            heapq.heappush(free, (loss + known["seconds_to_come_back"], core))
            continue
        left, end = left - 1, max(end, done)
        heapq.heappush(free, (done, core))
    graphs = pieces * rows
    wire = count * known["network_bytes_a_second"] / known["bytes_a_graph"]
    driver = rows / known["driver_seconds_a_piece"]
    return {
        "machines": count,
        "ideal": ideal,
        "limit_of_the_network": wire,
        "limit_of_the_driver": driver,
        "simulated": min(graphs / end, wire),
        "share_of_ideal": min(graphs / end, wire) / ideal,
        "pieces_solved_twice": lost,
        "pieces": pieces,
        "rows_a_piece": rows,
        "hours": end / 3600,
    }


def one_graph(
    count: int, edges: float, known: dict[str, float], rng: np.random.Generator
) -> dict[str, Any]:
    """Simulate the steps of one graph; seconds, and where they go."""
    cores = count * int(known["cores"])
    steps = round(known["steps"] * math.log(edges) / math.log(known["measured_edges"]))
    rounds = max(1, round(known["rounds"] * steps / known["steps"]))
    work = edges * known["cpu_seconds_an_edge"] / cores / steps
    travel = edges * known["bytes_an_edge"] / count / known["network_bytes_a_second"] / steps
    calls = 3 * (known["call_seconds"] + cores * known["driver_call_seconds"])
    is_slow = rng.random(count) < known["slow_share"]
    worst = known["slow_factor"] if is_slow.any() else 1.0
    slowest = np.array([slowness(rng, cores, known["sigma"]).max() for _ in range(steps)])
    waits = work * np.maximum(slowest, worst)
    seconds = float(waits.sum() + steps * (travel + calls))
    losses = rng.poisson(seconds * count / (known["hours_between_losses"] * 3600))
    again = losses * (seconds / rounds / 2 + known["seconds_to_come_back"])
    return {
        "machines": count,
        "edges": edges,
        "steps": steps,
        "bytes_a_step_a_machine": edges * known["bytes_an_edge"] / count / steps,
        "arcs_gb_a_machine": edges * known["arc_bytes"] / count / 1e9,
        "seconds": seconds + again,
        "seconds_of_work": work * steps,
        "seconds_of_waiting": float(waits.sum()) - work * steps,
        "seconds_of_travel": travel * steps,
        "seconds_of_calls": calls * steps,
        "losses": int(losses),
        "seconds_lost": again,
    }


def on_average(
    count: int, edges: float, known: dict[str, float], rng: np.random.Generator
) -> dict[str, Any]:
    """Return the mean of several simulations, and the longest."""
    drawn = [one_graph(count, edges, known, rng) for _ in range(TIMES)]
    mean = {name: float(np.mean([own[name] for own in drawn])) for name in drawn[0]}
    return mean | {"machines": count, "most_seconds": max(own["seconds"] for own in drawn)}


TIMES = 20


def constants(many: Path, sharded: Path | None) -> dict[str, float]:
    """Return what was measured, and what is assumed."""
    told = json.loads(many.read_text(encoding="utf-8"))
    run = max(told["runs"], key=lambda own: own["workers"])
    known = ASSUMED | {"graphs_a_second_a_core": float(run["graphs_a_second_of_workers"])}
    for name in ("driver_seconds_a_piece", "bytes_a_graph"):
        if name in run:
            known[name] = run[name]
    file = told["config"]
    known["bytes_read_a_graph"] = file["file_mb"] * 2**20 / file["graphs"]
    shards = SHARDED if sharded is None else json.loads(sharded.read_text(encoding="utf-8"))
    answer = shards["answer"]
    known["steps"], known["rounds"] = answer["steps"], answer["rounds"]
    known["measured_edges"] = answer["num_edges"]
    known["cpu_seconds_an_edge"] = answer["cpu"] / answer["num_edges"]
    known["bytes_an_edge"] = answer["bytes"] / answer["num_edges"]
    known["arc_bytes"] = 8.0
    return known


SHARDED: dict[str, Any] = {
    "answer": {"num_edges": 999_942, "steps": 77, "rounds": 21, "bytes": 22_256_652, "cpu": 3.67}
}
"""Of `benchmarks/sharded.py --nodes 100_000 --edges 1_000_000`, on two cores."""


def plot(path: Path, many: list[dict[str, Any]], one: list[dict[str, Any]]) -> None:
    """Draw both models."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    machines = [own["machines"] for own in many]
    left.loglog(machines, [own["ideal"] for own in many], "--", color="0.6", label="cores × rate")
    left.loglog(machines, [own["simulated"] for own in many], "o-", label="simulated")
    limit = [own["limit_of_the_driver"] for own in many]
    left.loglog(machines, limit, ":", color="0.3", label="limit of the driver")
    left.set(xlabel="machines of 32 cores", ylabel="graphs a second", title="Many 8 + 8 graphs")
    left.legend(frameon=False)
    for count in sorted({own["machines"] for own in one}):
        some = [own for own in one if own["machines"] == count]
        edges, seconds = [own["edges"] for own in some], [own["seconds"] for own in some]
        right.loglog(edges, seconds, "o-", label=f"{count:,} machines")
    right.set(xlabel="edges", ylabel="seconds", title="One graph in shards")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Simulate, print, record, draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--many", type=Path, default=ROOT / "docs/results/many-graphs.json")
    parser.add_argument("--sharded", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    known = constants(given.many, given.sharded)
    rng = np.random.default_rng(given.seed)
    many = [many_graphs(count, known, rng) for count in MACHINES]
    one = [on_average(count, edges, known, rng) for count in MACHINES[1:] for edges in EDGES]
    for row in [*many, *one]:
        told = {key: float(f"{value:.3g}") for key, value in row.items()}
        print(json.dumps(told))
    record = {"what": "model of many machines", "config": {"seed": given.seed}, "constants": known}
    record |= {"machine": machine(), "many_graphs": many, "one_graph": one}
    if given.out is not None:
        given.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if given.plot is not None:
        plot(given.plot, many, one)


if __name__ == "__main__":
    main()
