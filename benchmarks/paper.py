"""Train and execute the paper's network in the fast form and in the plain one; print the ratios.

    OPENBLAS_NUM_THREADS=1 python benchmarks/paper.py [--only epochs] [--models PATHS] [--out FILE]

Fast is what the package runs; plain is the same network as it is usually written: one message per
link, no compiled loop. Both are measured in this run, in turns, on one thread, in seconds of CPU
time (the least of the turns), and must make the same decisions; BLAS reads its number of threads
when it is loaded, and waiting ones count. The last column was reported of the authors' published
code, ported to current libraries, on one thread of a similar machine; it was not measured here.
`--out` writes what docs/performance.md is made from, see tables.py: one file for each run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from augury.classical.simulate import Run, maximum_values, simulate
from augury.config import preset
from augury.experiments.bench import machine
from augury.experiments.evaluate import Condition, load_models
from augury.models.checkpoint import MODELS
from augury.neural.batch import training_data
from augury.paper import fast
from augury.paper.processors import Processor
from augury.training.ensemble import Ensemble, Epoch
from augury.training.trainer import memory_kept

AUTHORS = {"epoch": 34.0, "validation": 5.4, "2x": 13.0, "4x": 42.0, "8x": 430.0}
"""CPU seconds of the authors' published code, as reported; a pass over the test graphs by scale."""

NETWORKS = ("paper-mpnn", "paper-pna", "paper-pna-nostd")
GRAPHS, TURNS = 50, 2
ROWS: list[dict[str, Any]] = []
"""What was measured."""


@contextmanager
def plain() -> Generator[None]:
    """Switch every processor to its plain form, and turn the compiled loops off."""
    kinds = [Processor, *Processor.__subclasses__()]
    no_engine = patch.object(fast, "is_available", lambda network, device: False)
    with no_engine, _patched(kinds):
        yield


@contextmanager
def _patched(kinds: Sequence[type[Processor]]) -> Generator[None]:
    # `update` then gets the encoded links themselves, which is what `prepare` leaves of them.
    patches = [patch.object(kind, "prepare", Processor.prepare) for kind in kinds]
    patches += [patch.object(kind, "update", Processor.update) for kind in kinds]
    for entry in patches:
        entry.start()
    try:
        yield
    finally:
        for entry in reversed(patches):
            entry.stop()


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time that a call takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def row(network: str, what: str, fast: float, slow: float, remark: str) -> None:
    """Keep what was measured, and print one line of the table."""
    ROWS.append({"network": network, "what": what, "fast": fast, "plain": slow, "remark": remark})
    authors = AUTHORS.get(what) if network == "paper-mpnn" else None
    told = "" if authors is None else f"{authors:.1f}"
    words = f"{network}, {what} ({remark})"
    print(f"{words:64} {fast:9.2f} {slow:9.2f} {slow / fast:8.1f} {told:>10}", flush=True)


def measure_training(name: str, num_batches: int) -> None:
    """Train on some batches of an epoch and validate, both ways; scale up to a whole epoch."""
    config = preset(name)
    data = training_data(config.data)
    epoch = Epoch(data, config, 0)
    module = Ensemble(config, [0], data)
    optimizer = module.configure_optimizers()

    def train() -> None:
        for place in range(num_batches):
            optimizer.zero_grad()
            module.training_step(epoch[place], place).backward()
            optimizer.step()

    share = len(epoch) / num_batches
    fast, slow = [np.inf, np.inf], [np.inf, np.inf]
    for _ in range(TURNS):
        with memory_kept():
            train()  # compiles and allocates
            fast = np.minimum(fast, [cpu_seconds(train), cpu_seconds(module.validated)])
        with plain():
            slow = np.minimum(slow, [cpu_seconds(train), cpu_seconds(module.validated)])
    remark = f"{len(epoch)} batches, from {num_batches}"
    row(name, "epoch", float(fast[0] * share), float(slow[0] * share), remark)
    remark = f"{len(data.validation)} rounds"
    row(name, "validation", float(fast[1]), float(slow[1]), remark)


def measure_simulation(model: str, scale: int, plain_graphs: int) -> None:
    """Execute the test graphs once, all subroutines neural; the plain form may get fewer."""
    condition = Condition(scale)
    subroutines = load_models([model], "cpu")[0].subroutines(condition)
    graphs = condition.graphs(GRAPHS, 0)
    maxima = maximum_values(graphs)

    def run(count: int) -> list[Run]:
        rngs = [np.random.default_rng([scale, graph]) for graph in range(count)]
        return simulate(graphs[:count], subroutines, rngs, condition.settings, maxima[:count])

    run(1)  # compiles
    found: dict[str, list[Run]] = {}
    fast, slow = np.inf, np.inf
    for _ in range(TURNS):
        fast = min(fast, cpu_seconds(lambda: found.update(fast=run(GRAPHS))))
        with plain():
            slow = min(slow, cpu_seconds(lambda: found.update(plain=run(plain_graphs))))
    pairs = zip(found["fast"], found["plain"], strict=False)
    differing = sum(ours != theirs for ours, theirs in pairs)
    assert not differing, f"{differing} of {plain_graphs} runs at {scale}x differ between the forms"
    right = sum(run.is_right for run in found["fast"])
    remark = f"{GRAPHS} graphs, plain from {plain_graphs}, {right} right"
    row(Path(model).stem, f"{scale}x", fast, slow * GRAPHS / plain_graphs, remark)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    shipped = [str(MODELS / f"{name}.safetensors") for name in NETWORKS]
    parser.add_argument("--models", nargs="*", default=shipped, help="trained paper networks")
    parser.add_argument("--batches", type=int, default=15, help="training batches that are timed")
    parser.add_argument("--plain-graphs", type=int, default=4, help="graphs of the plain form, 8x")
    parser.add_argument("--scales", default="2,4,8", help="sizes of the test graphs")
    parser.add_argument("--only", choices=("epochs", "passes"), help="measure these alone")
    parser.add_argument("--out", type=Path, help="write the record here, as JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'CPU seconds, one thread':64} {'fast':>9} {'plain':>9} {'ratio':>8} {'authors':>10}")
    if options.only != "passes":
        for name in NETWORKS:
            measure_training(name, options.batches)
    for model in options.models if options.only != "epochs" else []:
        for scale in map(int, options.scales.split(",")):
            few = options.plain_graphs if scale == 8 else GRAPHS
            measure_simulation(model, scale, few)
    print("authors: their published code on one thread of a similar machine, as reported")
    if options.out is not None:
        told = {"machine": machine(), "batches": options.batches, "rows": ROWS}
        options.out.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
