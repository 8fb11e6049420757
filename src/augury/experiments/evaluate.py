"""Networks and test graphs become records (paper, section 4); `records` makes tables of them.

A record is one run on one graph. Test graphs come from their own stream of random numbers, which no
training ever uses; all networks meet the same graphs, and run k of every network draws the same
weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from augury.classical.batch import MAX_ARCS
from augury.classical.ford_fulkerson import BELLMAN_FORD, Settings, Subroutines
from augury.classical.generate import sparse, uniform
from augury.classical.network import FlowNetwork
from augury.classical.simulate import maximum_values, simulate
from augury.errors import InputError
from augury.experiments.records import Extent, Record, append, part_of, start_file
from augury.files import locked

TEST_STREAM = 0x7E57
"""Seeds of test graphs and of their weights start with this; those of training do not."""

MAX_FAILURES = 10
"""t_b: invalid paths in a row that end a run whose end is up to the network."""


@dataclass(frozen=True)
class Condition:
    """One entry of a table: which graphs, and which decisions are the network's."""

    scale: int = 1
    """Nodes on a side over 8."""
    p: str = "1/4"
    """Probability of an edge, as a fraction in lowest terms; "3/n" is the sparse track."""
    termination: str = "bfs"
    """"bfs", or the number t of invalid paths in a row that end a run."""
    neural_bottleneck: bool = True
    neural_augmentation: bool = True

    def __post_init__(self) -> None:
        if self.scale < 1:
            raise InputError(f"the scale is {self.scale}, but must be at least 1")
        is_number = self.termination.isascii() and self.termination.isdigit()
        if self.termination != "bfs" and not (is_number and int(self.termination)):
            raise InputError(
                f"the termination is {self.termination!r}, not 'bfs' or a number such as 5"
            )
        value, is_sparse = self._probability()
        object.__setattr__(self, "p", f"{value}/n" if is_sparse else str(value))
        if self.termination != "bfs":
            # With a threshold only the search is the network's: all its paths have capacity 1.
            object.__setattr__(self, "termination", str(int(self.termination)))
            object.__setattr__(self, "neural_bottleneck", False)
            object.__setattr__(self, "neural_augmentation", False)

    def _probability(self) -> tuple[Fraction, bool]:
        """Return p, or the mean degree c of p = c/n, and whether it is the latter."""
        try:
            value = Fraction(self.p.removesuffix("/n"))
        except (ValueError, ZeroDivisionError):
            raise InputError(f"p is {self.p!r}, not a probability such as 1/4 or 3/n") from None
        is_sparse = self.p.endswith("/n")
        if not 0 <= value <= (self.side if is_sparse else 1):
            raise InputError(f"p is {self.p!r}, but a probability is between 0 and 1")
        return value, is_sparse

    @property
    def side(self) -> int:
        """Nodes on each side."""
        return 8 * self.scale

    @property
    def cost(self) -> float:
        """Roughly how long a run takes: arcs times rounds."""
        value, is_sparse = self._probability()
        edges = self.side * float(value) * (1 if is_sparse else self.side)
        return (edges + 2 * self.side) * self.side

    def graphs(self, count: int, seed: int) -> list[FlowNetwork]:
        """Make the test graphs of this condition."""
        value, is_sparse = self._probability()
        key = [TEST_STREAM, seed, self.scale, value.numerator, value.denominator, int(is_sparse)]
        rng = np.random.default_rng(key)
        made = (
            sparse(rng, self.side, float(value)) if is_sparse
            else uniform(rng, self.side, p=float(value))
            for _ in range(count)
        )  # fmt: skip
        return [FlowNetwork.from_bipartite(graph) for graph in made]

    def of_network(self, counts: dict[str, int]) -> dict[str, int]:
        """Leave out of the counts of decisions what classical code decided."""
        is_bfs = self.termination == "bfs"
        owns = {
            "search": True,
            "reach": is_bfs,
            "bottleneck": is_bfs and self.neural_bottleneck,
            "empty_path": is_bfs and self.neural_bottleneck,
            "augmentation": is_bfs and self.neural_augmentation,
        }
        return {decision: count if owns[decision] else 0 for decision, count in counts.items()}

    @property
    def settings(self) -> Settings:
        """When failures end a run."""
        return Settings(MAX_FAILURES if self.termination == "bfs" else int(self.termination))


@dataclass(frozen=True)
class Model:
    """A network, or the classical executor, under the name it has in tables."""

    name: str
    seed: int
    executor: Any
    """An executor of `augury.models.kinds`, or `Subroutines`."""
    weights: str = ""
    """Which weights: the start of their digest; nothing for the classical executor."""
    path: Path = Path()

    def subroutines(self, condition: Condition) -> Subroutines:
        """Return the subroutines as this condition wants them."""
        if isinstance(self.executor, Subroutines):
            return self.executor
        return replace(
            self.executor,
            asks_reachability=condition.termination == "bfs",
            neural_bottleneck=condition.neural_bottleneck,
            neural_augmentation=condition.neural_augmentation,
        ).subroutines()


def load_models(names: Sequence[str], device: str) -> list[Model]:
    """Load checkpoints: files, run folders (the best of every seed), shipped names, or "classical".

    A network is called by its preset and by what was changed in it; if that gives two of them the
    same name and seed, all of that name are called by their files too.
    """
    models = {
        path: Model("classical", 0, BELLMAN_FORD) if path is None else _model(path, device)
        for name in names
        for path in (_paths(name) if name != "classical" else [None])
    }
    called = [(model.name, model.seed) for model in models.values()]
    unclear = {name for name, seed in called if called.count((name, seed)) > 1}
    return [
        replace(model, name=f"{model.name}, {_file_name(model.path)}")
        if model.name in unclear
        else model
        for model in models.values()
    ]


def _paths(name: str) -> list[Path]:
    """Return the checkpoints that a name on the command line stands for."""
    from augury.models.checkpoint import find, shipped

    path = Path(name)
    if path.is_dir() and name not in shipped():
        found = sorted(path.glob("seed-*/best.safetensors"), key=_seed_of)
        found = found or list(path.glob("best.safetensors"))
        if not found:
            raise InputError(f"{name}: there is no seed-*/best.safetensors in this folder")
        return found
    return [find(name)]


def _seed_of(path: Path) -> tuple[int, str]:
    number = path.parent.name.removeprefix("seed-")
    return (int(number) if number.isdigit() else 0, str(path))


def _file_name(path: Path) -> str:
    folder = path.parent
    if folder.name.startswith("seed-"):
        folder = folder.parent
    return str(folder / path.stem)


def _model(path: Path, device: str) -> Model:
    from augury.models.checkpoint import load
    from augury.models.kinds import executor_of

    loaded = load(path)
    seed = int(loaded.provenance.get("seed", 0))
    executor = executor_of(loaded.network.to(device), device)
    return Model(loaded.config.name, seed, executor, loaded.digest, path)


def evaluate(model: Model, condition: Condition, extent: Extent) -> Iterator[Record]:
    """Yield a record for each graph and run, runs in order."""
    graphs = condition.graphs(extent.graphs, extent.seed)
    maxima = maximum_values(graphs)
    subroutines = model.subroutines(condition)
    size = max(1, MAX_ARCS // max(graph.num_arcs for graph in graphs))
    work = [(run, graph) for run in range(extent.runs) for graph in range(extent.graphs)]
    part = {"model": model.name, "model_seed": model.seed, "weights": model.weights} | asdict(
        condition
    )
    for first in range(0, len(work), size):
        chunk = work[first : first + size]
        key = [TEST_STREAM, extent.seed, condition.scale]
        rngs = [np.random.default_rng([*key, *place]) for place in chunk]
        networks = [graphs[graph] for _, graph in chunk]
        known = [maxima[graph] for _, graph in chunk]
        results = simulate(networks, subroutines, rngs, condition.settings, known)
        for (run, graph), result in zip(chunk, results, strict=True):
            yield part | {
                "run": run,
                "graph": graph,
                "value": result.value,
                "maximum": result.maximum,
                "ending": result.ending.name.lower(),
                "rounds": result.rounds,
                "asked": condition.of_network(result.asked),
                "wrong": condition.of_network(result.wrong),
            }


def evaluate_all(
    models: Sequence[Model],
    conditions: Sequence[Condition],
    extent: Extent,
    out: Path | None = None,
    progress: Callable[[float, str], None] = lambda share, doing: None,
) -> list[Record]:
    """Run every model in every condition; with a file, only what is not yet in it.

    Args:
        models: networks of different names or seeds.
        conditions: run in order for each model.
        extent: graphs and runs of each.
        out: the file that takes the records of each part when it is done.
        progress: is told the share of the work that is done, and what is next.

    Returns:
        The records of these models and conditions, and of nothing else that the file holds.

    Raises:
        InputError: the file is of another extent, knows other weights by the same name, or another
            process is writing it.
    """
    if out is None:
        return _evaluate_all(models, conditions, extent, None, progress)
    with locked(out.parent / f".{out.name}.lock", out):
        return _evaluate_all(models, conditions, extent, out, progress)


def _evaluate_all(
    models: Sequence[Model],
    conditions: Sequence[Condition],
    extent: Extent,
    out: Path | None,
    progress: Callable[[float, str], None],
) -> list[Record]:
    known = start_file(out, extent) if out else []
    for model in models:
        _refuse_other_weights(model, known, out)
    by_part: dict[tuple[Any, ...], list[Record]] = {}
    for record in known:
        by_part.setdefault(part_of(record), []).append(record)
    work = {
        _part(model, condition): (model, condition) for model in models for condition in conditions
    }
    missing = {part: pair for part, pair in work.items() if part not in by_part}
    total, done = sum(condition.cost for _, condition in missing.values()), 0.0
    for part, (model, condition) in missing.items():
        progress(done / total, f"{model.name}, seed {model.seed}, {condition.scale}x")
        by_part[part] = list(evaluate(model, condition, extent))
        if out:
            append(out, by_part[part])
        done += condition.cost
    progress(1.0, "")
    return [record for part in work for record in by_part[part]]


def _part(model: Model, condition: Condition) -> tuple[Any, ...]:
    return (model.name, model.seed, model.weights, *asdict(condition).values())


def _refuse_other_weights(model: Model, known: Sequence[Record], out: Path | None) -> None:
    for record in known:
        same = (record["model"], record["model_seed"]) == (model.name, model.seed)
        if same and record["weights"] != model.weights:
            raise InputError(
                f"{out}: this file holds records of other weights that are also called "
                f"{model.name}, seed {model.seed}; name another file"
            )
