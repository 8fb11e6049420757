"""A network is mutated many times: none may be called proven and then decide wrongly.

    python benchmarks/mutants.py --count 100000 --out mutants.jsonl

A mutant changes the weights of one cell of a network that is proven, the shipped one or one with 8
units that is trained first: single weights, whole layers and units, large weights that cancel,
copies that stay within an inch of their bound. `cells.proof` gives its verdict. Every mutant that
it calls proven is then evaluated in float32 in three of nine ways (`WAYS`), drawn anew each time,
in one of them in the reduced formats that it is proven for, by PyTorch, and by the engine `plain`
on small graphs; those that it calls thin are evaluated too, to see how many of them do go wrong. A
chunk of mutants follows from (seed, chunk) alone. What was done is in the file, and a second call
does the rest.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from augury.algorithms.cells import CELLS
from augury.algorithms.executor import CellExecutor
from augury.cells.cell import Cell
from augury.cells.exact import ARITHMETICS
from augury.cells.network import CellNetwork, case_logits, expectations
from augury.cells.proof import Checked, Weights, checked, decided, prove, weights_of
from augury.classical.answer import DONE, How
from augury.classical.generate import flow, uniform
from augury.classical.network import FlowNetwork
from augury.classical.phases import run
from augury.models.checkpoint import find, load
from augury.neural.layers import draw
from augury.provenance import provenance

CHUNK = 100
"""Mutants that are made and counted together."""

Array = npt.NDArray[Any]


# ------------------------------------------------------------------ evaluations


def in_order(terms: Array) -> Array:
    """Add terms up one after the other: (…, term) → (…,)."""
    return np.add.accumulate(terms, -1)[..., -1]


SUMS: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "first to last": lambda terms, rng: in_order(terms),
    "last to first": lambda terms, rng: in_order(terms[..., ::-1]),
    "shuffled": lambda terms, rng: in_order(terms[..., rng.permutation(terms.shape[-1])]),
    "rising": lambda terms, rng: in_order(np.sort(terms, -1)),
    "falling": lambda terms, rng: in_order(np.sort(terms, -1)[..., ::-1]),
    "pairs": lambda terms, rng: terms.sum(-1),
}
"""Orders of summation; the two that sort pass through the largest partial sums."""


def fused(x: Array, weight: Array, bias: Array) -> Array:
    """Multiply and add at once, the bias first."""
    total = np.broadcast_to(bias, (len(x), len(weight))).astype(np.float32)
    for place in range(x.shape[1]):
        product = x[:, None, place].astype(np.float64) * weight[None, :, place]
        total = (total + product).astype(np.float32)
    return total


def layered(x: Array, weight: Array, bias: Array, how: str, rng: np.random.Generator) -> Array:
    """Apply a linear layer in float32."""
    if how == "fused":
        return fused(x, weight, bias)
    if how == "BLAS":
        return x @ weight.T + bias
    terms = x[:, None, :] * weight[None]
    biases = np.broadcast_to(bias[..., None], (*terms.shape[:2], 1))
    return SUMS[how](np.concatenate([terms, biases], -1), rng)


def evaluated(
    cell: Cell,
    weights: Weights,
    how: str,
    rng: np.random.Generator,
    read: Callable[[Array], Array] = lambda x: x,
) -> Array:
    """Evaluate a cell: (case, output), or (kind, 1) of a choice; `read` rounds inputs."""

    def layer(name: str, x: Array) -> Array:
        weight = weights[f"{name}.weight"]
        bias = weights.get(f"{name}.bias", np.zeros((1, len(weight)), np.float32))
        return layered(read(x), read(weight), bias, how, rng)

    def encoded(name: str, count: int) -> Array:
        width = weights[f"{name}.weight"].shape[1]
        bits = np.arange(count)[:, None] >> np.arange(width)[::-1] & 1
        return leaky(layer(name, bits.astype(np.float32)))

    if cell.joins == "choice":
        return layer("score", leaky(layer("hidden", encoded("kind", len(cell.kinds)))))
    own = encoded("own", len(cell.owns))
    knows = own[[case.own for case in cell.cases]]
    if cell.joins == "none":
        return layer("head", knows)
    kind = encoded("kind", len(cell.kinds))
    every = [np.repeat(own, len(kind), 0), np.tile(kind, (len(own), 1))]
    sent = layer("message", np.column_stack(every)).reshape(len(own), len(kind), -1)
    heard = np.stack([sent[case.own, list(case.kinds)].max(0) for case in cell.cases])
    joined = leaky(layer("join", np.column_stack([knows, leaky(heard)])))
    return layer("head", np.column_stack([knows, joined]))


def leaky(x: Array) -> Array:
    """As `cells.loops` writes it."""
    return np.maximum(x, np.float32(0.01) * x)


def is_right(cell: Cell, said: Array) -> npt.NDArray[np.bool_]:
    """(output,): whether every case is decided by the rule."""
    if cell.joins == "choice":
        better, worse = np.array([case.kinds for case in cell.cases]).T
        return np.array([(said[better, 0] > said[worse, 0]).all()])
    return ((said > 0) == np.array([case.expected for case in cell.cases])).all(0)


def truncated(x: Array) -> Array:
    """Round to TF32 by cutting bits off, as tensor cores do."""
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def to_bfloat16(x: Array) -> Array:
    """Round to the nearest bfloat16."""
    return torch.from_numpy(np.ascontiguousarray(x)).bfloat16().float().numpy()


READS = {"float32": lambda x: x, "tf32": truncated, "bfloat16": to_bfloat16}
WAYS = [*SUMS, "fused", "BLAS", "flushed"]
"""The last one flushes numbers below the smallest normal one to 0, both read and written."""


@contextmanager
def flushing() -> Iterator[None]:
    """Let this thread treat subnormal numbers as 0."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def wrong_ways(
    cell: Cell, weights: Weights, rng: np.random.Generator, names: list[str]
) -> dict[str, list[str]]:
    """Return the ways in which each output of a cell goes wrong, in some of ARITHMETICS."""
    outputs = cell.outputs or ("",)
    found: dict[str, list[str]] = {output: [] for output in outputs}
    with np.errstate(all="ignore"):
        for name in names:
            for way in rng.choice(WAYS, 3 if name == "float32" else 1, replace=False):
                if way == "flushed":
                    with flushing():
                        said = evaluated(cell, weights, "first to last", rng, READS[name])
                        right = is_right(cell, said)
                else:
                    right = is_right(cell, evaluated(cell, weights, way, rng, READS[name]))
                for output, good in zip(outputs, right, strict=True):
                    if not good:
                        found[output].append(f"{name} {way}")
    return found


# ------------------------------------------------------------------ mutations


def chosen(rng: np.random.Generator, weights: Weights, ends: str = "") -> str:
    """Choose a tensor, half of the time one of the last layer."""
    names = [name for name in weights if name.endswith(ends)]
    last = [name for name in names if name.startswith(("head", "score"))]
    return str(rng.choice(last if rng.random() < 0.5 else names))


def one_weight(rng: np.random.Generator, weights: Weights) -> None:
    """Change one weight: its sign, to 0, to a special number, or by noise of any size."""
    values = weights[chosen(rng, weights)].reshape(-1)
    place = int(rng.integers(len(values)))
    noise = rng.normal() * np.abs(values).max() * 2 ** rng.uniform(-8, 12)
    special = [-values[place], 0.0, values[place] + noise, values[place] + noise]
    odd = [1e38, -1e38, 3.4e38, 1e-41, 1e-45, np.inf, np.nan]
    values[place] = rng.choice(odd if rng.random() < 0.1 else special)


def some_weights(rng: np.random.Generator, weights: Weights) -> None:
    """Add noise to a whole layer."""
    values = weights[chosen(rng, weights)]
    scale = np.abs(values).mean() * 2 ** rng.uniform(-6, 1)
    values += rng.normal(size=values.shape).astype(np.float32) * np.float32(scale)


def head_scaled(rng: np.random.Generator, weights: Weights) -> None:
    """Scale the last layer: exact decisions stay, down to where all numbers are subnormal."""
    power = int(rng.integers(-150, 126))
    for name in weights:
        if name.startswith(("head", "score")):
            weights[name] = np.ldexp(weights[name], power).astype(np.float32)


def units_scaled(rng: np.random.Generator, weights: Weights) -> None:
    """Scale units up and what reads them down: exact decisions stay, partial sums do not."""
    made, reader, first = UNITS[_joins(weights)][int(rng.integers(len(UNITS[_joins(weights)])))]
    count = len(weights[f"{made}.weight"])
    place, power = int(rng.integers(count)), int(rng.integers(-140, 128))
    column = _start(weights, first) + place
    changed = [weights[f"{made}.weight"][place], weights[f"{reader}.weight"][:, column]]
    if f"{made}.bias" in weights:
        changed.append(weights[f"{made}.bias"][:, place])
    for values, sign in zip(changed, (1, -1, 1), strict=False):
        np.ldexp(values, sign * power, out=values)


def units_cancel(rng: np.random.Generator, weights: Weights) -> None:
    """Copy a unit over the least useful one, and let large weights of both cancel exactly."""
    made, reader, first = UNITS[_joins(weights)][int(rng.integers(len(UNITS[_joins(weights)])))]
    start, columns = _start(weights, first), weights[f"{reader}.weight"]
    count = len(weights[f"{made}.weight"])
    if count < 2:
        return
    useful = np.abs(columns[:, start : start + count]).sum(0)
    copy = int(useful.argmin())
    place = int(rng.choice([k for k in range(count) if k != copy]))
    weights[f"{made}.weight"][copy] = weights[f"{made}.weight"][place]
    if f"{made}.bias" in weights:
        weights[f"{made}.bias"][0, copy] = weights[f"{made}.bias"][0, place]
    columns[:, start + copy] = 0
    large = np.float32(2 ** rng.uniform(0, 127.9))
    row = int(rng.integers(len(columns)))
    columns[row, start + place] += large
    columns[row, start + copy] = -large


def units_permuted(rng: np.random.Generator, weights: Weights) -> None:
    """Renumber the units of a layer: the same function, in another order of summation."""
    made, reader, first = UNITS[_joins(weights)][-1]
    order = rng.permutation(len(weights[f"{made}.weight"]))
    start = _start(weights, first)
    weights[f"{made}.weight"] = weights[f"{made}.weight"][order]
    if f"{made}.bias" in weights:
        weights[f"{made}.bias"] = weights[f"{made}.bias"][:, order]
    part = weights[f"{reader}.weight"]
    part[:, start : start + len(order)] = part[:, start + order]
    one_weight(rng, weights)


UNITS = {
    "none": [("own", "head", "")],
    "set": [("kind", "message", "own"), ("message", "join", "own"), ("join", "head", "own")],
    "choice": [("kind", "hidden", ""), ("hidden", "score", "")],
}
"""Which layer makes the units, which reads them, and what precedes them there."""


def _joins(weights: Weights) -> str:
    return "choice" if "score.bias" in weights else "set" if "join.weight" in weights else "none"


def _start(weights: Weights, first: str) -> int:
    return len(weights[f"{first}.weight"]) if first else 0


MUTATIONS = [
    one_weight,
    one_weight,
    some_weights,
    head_scaled,
    units_scaled,
    units_cancel,
    units_permuted,
]


def mutants(
    rng: np.random.Generator, cell: Cell, count: int, base: Callable[[], CellNetwork]
) -> Iterator[tuple[str, Weights, list[Checked]]]:
    """Yield mutants of a cell, with what was done to it and the verdict.

    Half of them lie on the way from the good weights to a mutant that is not proven, ever closer
    to the place where the proof breaks.
    """
    made = 0
    while made < count:
        good = {name: own.copy() for name, own in weights_of(base(), cell).items()}
        weights = {name: own.copy() for name, own in good.items()}
        what = ""
        for _ in range(1 + int(rng.integers(2))):
            mutation = MUTATIONS[int(rng.integers(len(MUTATIONS)))]
            what = mutation.__name__
            with np.errstate(all="ignore"):
                mutation(rng, weights)
        parts = list(map(checked, decided(cell, weights)))
        yield what, weights, parts
        made += 1
        is_proven = all(part.is_proven for part in parts)
        if is_proven or not all(np.isfinite(own).all() for own in weights.values()):
            continue
        low, high = 0.0, 1.0
        for _ in range(min(count - made, int(rng.integers(1, 12)))):
            share = low + (high - low) * rng.uniform(0.3, 0.7)
            between = {
                name: (good[name] * (1 - share) + weights[name] * share).astype(np.float32)
                for name in weights
            }
            parts = list(map(checked, decided(cell, between)))
            yield "between", between, parts
            made += 1
            is_proven = all(part.is_proven for part in parts)
            low, high = (share, high) if is_proven else (low, share)


@cache
def shipped() -> CellNetwork:
    """Return the shipped network."""
    return load(find("discrete")).network


@cache
def small() -> CellNetwork:
    """Train a network of 8 units on every case until it is proven."""
    network = CellNetwork(CELLS, 8, 63)
    draw(network, torch.Generator().manual_seed(0))
    adam = torch.optim.Adam(network.parameters(), lr=1e-2)
    for update in range(1, 4001):
        losses = []
        for cell in CELLS:
            said = case_logits(network, cell)
            wanted = expectations(cell, said.device).float()
            losses.append(torch.nn.functional.binary_cross_entropy_with_logits(said, wanted))
        adam.zero_grad()
        torch.stack(losses).sum().backward()
        adam.step()
        if update % 250 == 0 and all(part.is_proven for part in prove(network)):
            return network
    raise AssertionError("not proven after 4,000 updates")


# ------------------------------------------------------------------ graphs


@cache
def graphs() -> list[FlowNetwork]:
    """Return small graphs."""
    rng = np.random.default_rng(5)
    bipartite = FlowNetwork.from_bipartite(uniform(rng, 6, p=0.4))
    return [bipartite, *(flow(rng, 6, 12, high=2**power - 1) for power in (3, 30, 62))]


def goes_wrong(network: CellNetwork, seed: int) -> bool:
    """Run a network on the graphs, every decision evaluated by compiled loops.

    It goes wrong if a judge stops it, or if a classical search finds anything left to do.
    """
    answers = run(graphs(), CellExecutor(network).subroutines(), How(seed=seed))
    return any(own.ending != DONE or own.classical_rounds for own in answers)


def with_weights(base: Callable[[], CellNetwork], cell: Cell, weights: Weights) -> CellNetwork:
    """Return a network with other weights of one cell, until this is called again."""
    network = _copy_of(base)
    network.load_state_dict(base().state_dict())
    changed = {name: torch.from_numpy(np.ascontiguousarray(own)) for name, own in weights.items()}
    network[cell.name].load_state_dict(changed)
    return network


@cache
def _copy_of(base: Callable[[], CellNetwork]) -> CellNetwork:
    return copy.deepcopy(base())


# ------------------------------------------------------------------ the campaign

BASES = [shipped, *[small] * 8]
"""What is mutated in each chunk, in turn; small networks take a tenth of the time."""


def run_chunk(seed: int, number: int, count: int = CHUNK) -> dict[str, Any]:
    """Make mutants of one cell; returns counts, and the faults of those proven and wrong."""
    rng = np.random.default_rng([seed, number])
    cell, base = CELLS[number % len(CELLS)], BASES[number % len(BASES)]
    counts, faults = Counter[str](), list[str]()
    for what, weights, parts in mutants(rng, cell, count, base):
        verdicts = dict(zip(cell.outputs or ("",), parts, strict=True))
        words = [verdict.verdict for verdict in verdicts.values()]
        verdict = "wrong" if "wrong" in words else "thin" if "thin" in words else "proven"
        counts[verdict] += 1
        if verdict == "wrong" or not all(np.isfinite(own).all() for own in weights.values()):
            continue
        names = [
            own.name
            for own in ARITHMETICS
            if all(own.name == "float32" or holds(v, own.name) for v in verdicts.values())
        ]
        ways = wrong_ways(cell, weights, rng, names)
        for name in names[1:]:
            counts[f"proven in {name}"] += verdict == "proven"
        if verdict == "thin":
            counts["thin and wrong"] += any(ways.values())
        for output, own in verdicts.items():
            if own.is_proven and ways[output]:
                faults.append(f"{cell.name} {output}, {what}: {', '.join(ways[output])}")
        if verdict == "proven":
            network = with_weights(base, cell, weights)
            if not is_right(cell, logits(network, cell)).all():
                faults.append(f"{cell.name}, {what}: PyTorch")
            if goes_wrong(network, number):
                faults.append(f"{cell.name}, {what}: on a graph")
    told = {"chunk": number, "cell": cell.name, "units": base().hidden}
    return told | {"counts": dict(counts), "faults": faults}


def holds(verdict: Any, name: str) -> bool:
    """Tell whether every case of a part is proven in an arithmetic."""
    return verdict.arithmetics[name]["proven"] == verdict.cases


@torch.no_grad()
def logits(network: CellNetwork, cell: Cell) -> Array:
    """Return what PyTorch computes; see `is_right`."""
    if cell.joins == "choice":
        return network[cell.name]()[:, None].numpy()
    return case_logits(network, cell).numpy()


def main() -> None:
    """Do what is missing in the file, and print the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--summary", type=Path, help="write the sums here as JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done = {}
    if options.out.exists():
        rows = map(json.loads, options.out.read_text().splitlines())
        done = {row["chunk"]: row for row in rows if row["seed"] == options.seed}
    chunks = -(-options.count // CHUNK)
    with options.out.open("a") as file:
        for number in range(chunks):
            if number in done:
                continue
            started = time.process_time()
            row = {"seed": options.seed, **run_chunk(options.seed, number)}
            row["seconds"] = round(time.process_time() - started, 2)
            done[number] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
            if row["faults"]:
                print(row["faults"], flush=True)
    rows = [done[number] for number in range(chunks)]
    total = sum((Counter(row["counts"]) for row in rows), Counter[str]())
    faults = [fault for row in rows for fault in row["faults"]]
    told = {
        **provenance("cpu"),
        "seed": options.seed,
        "mutants": sum(total[verdict] for verdict in ("proven", "thin", "wrong")),
        "of the shipped network": CHUNK * sum(row["units"] == shipped().hidden for row in rows),
        **total,
        "proven and wrong": len(faults),
        "seconds": round(sum(row["seconds"] for row in rows)),
    }
    print(json.dumps(told, indent=1))
    if options.summary:
        options.summary.write_text(json.dumps(told, indent=1) + "\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
