"""Stacks of cost matrices become assignments and seconds: our compiled loop and its peers.

All get the same array, integers or float32, on one thread; seconds are CPU seconds of the process,
taken in turn, the least of several calls. The time a peer needs to read the array counts, except
for OR-Tools, which takes only whole numbers and is handed each matrix beforehand. Each of our
answers is certified by its prices, exactly, and costs what every peer's does. Ratios above 1 are in
our favour; only our loop proves its answers and gives prices.

torch-linear-assignment calls SciPy on a CPU; `benchmarks/cuda_assign.py` races it on a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.engines.assignments import OPTIMAL, Assignments, assign_dense
from augury.errors import InputError
from augury.experiments.bench import Record
from augury.processes import use_one_thread
from augury.solver import solve_batch

Costs = npt.NDArray[Any]

SIZES, QUICK_SIZES = (8, 16, 32, 64, 128, 256, 512), (8, 64)
LEAST, MOST = 8, 2000
"""Matrices of one stack: with few, the overhead of a call would be measured, not its loops."""
SEED = 0
RIVAL = "lapjvr_batch"


def uniform(shape: tuple[int, ...], rng: np.random.Generator) -> Costs:
    """Numbers from 0 to 1."""
    return rng.random(shape)


def rank_one(shape: tuple[int, ...], rng: np.random.Generator) -> Costs:
    """Products of a number for each row and one for each column, and a little noise."""
    count, num_rows, num_columns = shape
    product = rng.random((count, num_rows, 1)) * rng.random((count, 1, num_columns))
    return product + 0.01 * rng.random(shape)


def detection(shape: tuple[int, ...], rng: np.random.Generator) -> Costs:
    """Distances of boxes and scores of classes, as in a detector's training step."""
    count, num_rows, num_columns = shape
    boxes, found = rng.random((count, num_rows, 1, 4)), rng.random((count, 1, num_columns, 4))
    distance = np.zeros(shape)
    for side in range(4):
        distance += np.abs(boxes[..., side] - found[..., side])
    return 5 * distance - 2 * rng.random(shape)


def ties(shape: tuple[int, ...], rng: np.random.Generator, high: int = 4) -> Costs:
    """A few distinct whole numbers."""
    return rng.integers(0, high, shape).astype(np.float64)


def skewed(shape: tuple[int, ...], rng: np.random.Generator) -> Costs:
    """Numbers of very different sizes."""
    return 10 ** (6 * rng.random(shape))


FAMILIES: dict[str, tuple[Callable[..., Costs], float]] = {
    "uniform": (uniform, 1e6),
    "rank one and noise": (rank_one, 1e6),
    "detection": (detection, 1e5),
    "ties, 0 to 3": (ties, 1),
    "ties, 0 to 9": (partial(ties, high=10), 1),
    "skewed": (skewed, 1),
}
"""Costs, and the factor by which they become whole numbers, truncated."""


def stacks(n: int) -> Iterator[tuple[str, str, Costs]]:
    """Yield families, types and square matrices: fewer of the larger ones."""
    shape = min(MOST, max(LEAST, int(4e6 / n**2.5))), n, n
    for family, (draw, scale) in FAMILIES.items():
        costs = draw(shape, np.random.default_rng((SEED, n)))
        yield family, "int64", (scale * costs).astype(np.int64)
        yield family, "float32", costs.astype(np.float32)


def _scipy(costs: Costs) -> Callable[[], Any]:
    from scipy.optimize import linear_sum_assignment

    return lambda: [linear_sum_assignment(matrix)[1] for matrix in costs]


def _lapx(name: str, costs: Costs) -> Callable[[], Any]:
    import lap  # type: ignore[import-not-found]

    return lambda: getattr(lap, name)(costs, n_threads=1)[2]


def _ortools(costs: Costs) -> Callable[[], Any] | None:
    from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment

    if costs.dtype.kind == "f":
        return None
    num_rows, num_columns = costs.shape[1:]
    left, right = np.divmod(np.arange(num_rows * num_columns), num_columns)
    solvers: list[Any] = [SimpleLinearSumAssignment() for _ in costs]
    for solver, matrix in zip(solvers, costs, strict=True):
        solver.add_arcs_with_cost(left, right, matrix.ravel())

    def work() -> list[list[int]]:
        for solver in solvers:
            solver.solve()
        return [[solver.right_mate(row) for row in range(num_rows)] for solver in solvers]

    return work


PEERS: dict[str, tuple[str, Callable[[Costs], Callable[[], Any] | None]]] = {
    RIVAL: ("lapx", partial(_lapx, RIVAL)),
    "lapjvh_batch": ("lapx", partial(_lapx, "lapjvh_batch")),
    "SciPy": ("scipy", _scipy),
    "OR-Tools": ("ortools", _ortools),
}
"""The package of each, and a function from costs to a call that returns the columns of all rows.

lapjvh_batch is the fastest of lapx's other solvers."""
MODULES = {"lapx": "lap"}


def versions() -> dict[str, str]:
    """Return the versions of the peers' packages that are installed."""
    packages = {package for package, _ in PEERS.values()}
    return {name: version(name) for name in sorted(packages) if _is_here(name)}


def _is_here(package: str) -> bool:
    return find_spec(MODULES.get(package, package)) is not None


def measure_assignments(sizes: Sequence[int] = SIZES, seconds: float = 0.2) -> Iterator[Record]:
    """Yield a record for each size, family and type; each race lasts at least `seconds`."""
    use_one_thread()
    for n in sizes:
        for family, kind, costs in stacks(n):
            works: dict[str, Callable[[], Any]] = {"assign_dense": partial(assign_dense, costs)}
            batch = partial(solve_batch, costs, algorithm="assignment", engine="table")
            works["solve_batch"] = batch
            for name, (package, peer) in PEERS.items():
                if _is_here(package) and (work := peer(costs)) is not None:
                    works[name] = work
            answers = {name: work() for name, work in works.items()}  # the first call compiles
            if not answers.pop("solve_batch").proofs.is_proven.all():
                raise InputError("solve_batch could not prove an assignment")
            found = answers.pop("assign_dense")
            certify(costs, found)
            for name, columns in answers.items():
                compare(costs, found.columns, np.asarray(columns), name)
            taken = by_turns(works, seconds)
            ours = taken["assign_dense"]
            yield {
                "n": n, "family": family, "type": kind, "batch": len(costs),
                "us": {name: 1e6 * one / len(costs) for name, one in taken.items()},
                "ratio": {name: taken[name] / ours for name in answers},
            }  # fmt: skip


def by_turns(works: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Return the least CPU seconds of each call, all of them repeated in turn."""
    least = dict.fromkeys(works, float("inf"))
    spent, turns = 0.0, 0
    while turns < 3 or spent < seconds:
        for name, work in works.items():
            start = time.process_time()
            work()
            taken = time.process_time() - start
            least[name], spent = min(least[name], taken), spent + taken
        turns += 1
    return least


def certify(costs: Costs, found: Assignments) -> None:
    """Raise an InputError unless every assignment of square matrices is proven by its prices.

    The differences are exact: costs and prices are small whole multiples of one unit.
    """
    columns = found.columns[:, :, None]
    is_full = (np.sort(found.columns) == np.arange(costs.shape[1])).all()
    wide = costs.astype(found.row_price.dtype)
    reduced = wide - found.row_price[:, :, None] - found.column_price[:, None]
    is_tight = (np.take_along_axis(reduced, columns, 2) == 0).all()
    if not ((found.status == OPTIMAL).all() and is_full and is_tight and (reduced >= 0).all()):
        raise InputError("an assignment is not proven by its prices")


def compare(costs: Costs, columns: Costs, others: Costs, name: str) -> None:
    """Raise an InputError unless assignments cost the same; float32 is summed as float64."""
    wide = costs.astype(np.float64) if costs.dtype.kind == "f" else costs
    ours, theirs = (
        np.take_along_axis(wide, own[:, :, None], 2).sum(axis=(1, 2)) for own in (columns, others)
    )
    if not np.allclose(ours, theirs, rtol=1e-12 if costs.dtype.kind == "f" else 0, atol=0):
        raise InputError(f"an assignment costs something else than that of {name}")


HEAD = ("assignments", "costs", "type", "µs each", *(f"× {name}" for name in PEERS), "solve_batch")


def rows(records: Iterable[Record]) -> Iterator[list[str]]:
    """Return the rows of a table: our time, and how many times as long others take."""
    for record in records:
        ratios = [f"{one:.2f}" if one else "–" for one in map(record["ratio"].get, PEERS)]
        own = [f"{record['n']} x {record['n']}", record["family"], record["type"]]
        us = record["us"]
        yield [*own, f"{us['assign_dense']:.2f}", *ratios, f"{us['solve_batch']:.2f}"]


def markdown(records: Sequence[Record]) -> str:
    """Return the table of docs/performance.md: ratios to the first peer, by size and family."""
    names = list(dict.fromkeys((record["family"], record["type"]) for record in records))
    head = ["n", *(f"{family}, {kind}" for family, kind in names)]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for n, own in groupby(records, key=lambda record: record["n"]):
        cells = {(r["family"], r["type"]): f"{r['ratio'][RIVAL]:.1f}" for r in own}
        lines.append(f"| {n} | {' | '.join(cells.get(name, '–') for name in names)} |")
    return "\n".join(lines)
