"""Networks and test graphs become records; `summary` makes tables of them.

All networks get the same test graphs, and run k of every network draws the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.algorithms import ALGORITHMS, FORD_FULKERSON
from augury.classical.batch import MAX_ARCS
from augury.classical.ford_fulkerson import BELLMAN_FORD, Subroutines
from augury.classical.simulate import DECISIONS, maximum_values
from augury.errors import InputError
from augury.experiments.conditions import TEST_STREAM, Condition, Extent
from augury.experiments.records import NO_EPOCH, Part, RecordsFile, Runs
from augury.files import locked
from augury.plugins import own_model

CLASSICAL = "classical"
"""The name of exact subroutines."""


@dataclass(frozen=True)
class Model:
    """A network, or the classical executor, under its name in tables."""

    name: str
    seed: int
    executor: Any
    """An executor of `augury.models.checkpoint`, or `Subroutines`."""
    digest: str = ""
    """The start of the digest of its weights; empty for the classical executor."""
    epoch: int = NO_EPOCH
    path: Path = Path()

    def subroutines(self, condition: Condition) -> Subroutines:
        """Return the subroutines as this condition requires them."""
        algorithm = ALGORITHMS[condition.algorithm]
        if self.name == CLASSICAL and algorithm is not FORD_FULKERSON:
            return algorithm.classical[CLASSICAL]
        if isinstance(self.executor, Subroutines):
            if algorithm is not FORD_FULKERSON:
                raise InputError(f"{self.name}: subroutines of one's own are of Ford-Fulkerson")
            return self.executor
        if algorithm.name not in self.executor.executes:
            raise algorithm.unable(self.name, self.executor)
        return replace(
            self.executor,
            asks_reachability=condition.termination == "bfs",
            neural_bottleneck=condition.neural_bottleneck,
            neural_augmentation=condition.neural_augmentation,
        ).subroutines()


def load_models(names: Sequence[str], device: str) -> list[Model]:
    """Load checkpoints: files, run folders (the best of every seed), shipped names, or "classical".

    A custom executor is given by file and name, such as "my.py:executor".

    A network is named after its preset and what was changed in it; if that gives two of them the
    same name and seed, all networks of that name are named after their files too.
    """
    models: dict[Any, Model] = {}
    for name in names:
        executor = BELLMAN_FORD if name == CLASSICAL else own_model(name)
        if executor is not None:
            models[name] = Model(name, 0, executor)
        else:
            from augury.models.checkpoint import find_all  # which imports PyTorch

            models |= {path: _model(path, device) for path in find_all(name)}
    called = [(model.name, model.seed) for model in models.values()]
    unclear = {name for name, seed in called if called.count((name, seed)) > 1}
    return [
        replace(model, name=f"{model.name}, {_file_name(model.path)}")
        if model.name in unclear
        else model
        for model in models.values()
    ]


def _file_name(path: Path) -> str:
    folder = path.parent
    if folder.name.startswith("seed-"):
        folder = folder.parent
    return str(folder / path.stem)


def _model(path: Path, device: str) -> Model:
    from augury.models.checkpoint import executor_of, load

    loaded = load(path)
    seed = int(loaded.provenance.get("seed", 0))
    epoch = int(loaded.provenance.get("epoch", NO_EPOCH))
    executor = executor_of(loaded.network.to(device), device)
    return Model(loaded.config.name, seed, executor, loaded.digest, epoch, path)


def evaluate(model: Model, condition: Condition, extent: Extent) -> Runs:
    """Run a model on the test graphs of a condition."""
    graphs = condition.graphs(extent.graphs, extent.seed)
    maxima = None if condition.costs else maximum_values(graphs)
    judge, subroutines = ALGORITHMS[condition.algorithm].judge, model.subroutines(condition)
    size = max(1, MAX_ARCS // max(graph.num_arcs for graph in graphs))
    work = [(run, graph) for run in range(extent.runs) for graph in range(extent.graphs)]
    results = []
    for first in range(0, len(work), size):
        chunk = work[first : first + size]
        key = [TEST_STREAM, extent.seed, condition.scale]
        rngs = [np.random.default_rng([*key, *place]) for place in chunk]
        networks = [graphs[graph] for _, graph in chunk]
        known = maxima and [maxima[graph] for _, graph in chunk]
        results += judge(networks, subroutines, rngs, condition.settings, known)

    def column(name: str) -> npt.NDArray[np.int64]:
        values = [getattr(result, name) for result in results]
        return np.array(values, np.int64).reshape(extent.runs, extent.graphs)

    def total(name: str) -> dict[str, int]:
        counts = [getattr(result, name) for result in results]
        sums = {decision: sum(count[decision] for count in counts) for decision in DECISIONS}
        return condition.of_network(sums)

    return Runs(
        model.name,
        model.digest,
        column("value"),
        column("maximum"),
        column("rounds"),
        tuple(result.ending.name.lower() for result in results),
        total("asked"),
        total("wrong"),
    )


def evaluate_all(
    models: Sequence[Model],
    conditions: Sequence[Condition],
    extent: Extent,
    out: Path | None = None,
    progress: Callable[[float, str], None] = lambda share, doing: None,
    run: Callable[[Mapping[Part, Model]], Iterator[tuple[Part, Runs]]] | None = None,
) -> dict[Part, Runs]:
    """Run every model in every condition; with a file, only what is not yet in it.

    Each part is appended to the file when it is done; what else the file holds is not returned.
    `progress` receives the share of the work that is done, and what is next. `run` does the work
    and yields each part once it is done; if None, this process does them one after the other.

    Raises:
        InputError: the file is of another extent, has other weights by the same name, or is being
            written by another process.
    """
    with nullcontext() if out is None else locked(out.parent / f".{out.name}.lock", out):
        file = None if out is None else RecordsFile(out)
        known = file.parts if file else {}
        _refuse_others(out, known, models, extent)
        done = dict(known)
        work = {
            Part(model.name, model.seed, model.epoch, condition, extent): model
            for model in models
            for condition in conditions
        }
        missing = {part: model for part, model in work.items() if part not in done}
        total, spent = sum(part.cost for part in missing), 0.0

        def in_order(parts: Mapping[Part, Model]) -> Iterator[tuple[Part, Runs]]:
            for part, model in parts.items():
                progress(spent / total, f"{model.name}, seed {model.seed}, {part.condition.scale}x")
                yield part, evaluate(model, part.condition, extent)

        for part, runs in (run or in_order)(missing):
            done[part] = runs
            if file is not None:
                file.add(part, runs)
            spent += part.cost
            progress(spent / total, f"{part.network}, seed {part.seed}, {part.condition.scale}x")
        progress(1.0, "")
        return {part: done[part] for part in work}


def _refuse_others(
    path: Path | None, known: Mapping[Part, Runs], models: Sequence[Model], extent: Extent
) -> None:
    """Refuse a file with records of another extent, or of other weights by the same name."""
    digests = {(model.name, model.seed): model.digest for model in models}
    for part, runs in known.items():
        there = asdict(part.extent)
        for name, value in asdict(extent).items():
            if there[name] != value:
                raise InputError(
                    f"{path}: the records in this file were made with --{name} "
                    f"{there[name]}, not {value}; name another file"
                )
        if digests.get((part.network, part.seed), runs.digest) != runs.digest:
            raise InputError(
                f"{path}: this file holds records of other weights that are also called "
                f"{part.network}, seed {part.seed}; name another file"
            )
