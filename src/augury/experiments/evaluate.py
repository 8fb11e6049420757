"""Networks and test graphs become records, and records become tables (paper, section 4).

A record is one run on one graph. Tables are made from records alone, so that no figure needs anything
to be run again. Test graphs come from their own stream of random numbers, which no training ever uses;
all networks meet the same graphs, and run k of every network draws the same weights.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from augury.classical.ford_fulkerson import BELLMAN_FORD, Settings, Subroutines
from augury.classical.generate import sparse, uniform
from augury.classical.graph import InputError
from augury.classical.network import FlowNetwork
from augury.classical.simulate import DECISIONS, maximum_values, simulate

TEST_STREAM = 0x7E57
"""Seeds of test graphs start with this; those of training data have one number only."""

MAX_ARCS = 1_500_000
"""Arcs that are simulated side by side; bounds memory."""

MAX_FAILURES = 10
"""t_b: invalid paths in a row that end a run whose end is up to the network."""


@dataclass(frozen=True)
class Cell:
    """One entry of a table: which graphs, and which decisions are the network's."""

    scale: int = 1
    """Nodes on a side over 8."""
    p: str = "1/4"
    """Probability of an edge, as a fraction; "3/n" is the sparse track."""
    termination: str = "bfs"
    """"bfs", or the number t of invalid paths in a row that end a run."""
    neural_bottleneck: bool = True
    neural_augmentation: bool = True

    def __post_init__(self) -> None:
        if self.scale < 1:
            raise InputError(f"the scale is {self.scale}, but must be at least 1")
        if self.termination != "bfs" and not (self.termination.isdigit() and int(self.termination)):
            raise InputError(
                f"the termination is {self.termination!r}, not 'bfs' or a number such as 5"
            )
        self.graphs(0, 0)

    def graphs(self, count: int, seed: int) -> list[FlowNetwork]:
        """Make the test graphs of this cell."""
        side = 8 * self.scale
        numerator, _, denominator = self.p.partition("/")
        try:
            value = Fraction(numerator) if denominator == "n" else Fraction(self.p)
        except (ValueError, ZeroDivisionError):
            raise InputError(f"p is {self.p!r}, not a probability such as 1/4 or 3/n") from None
        key = [TEST_STREAM, seed, self.scale, value.numerator % 2**32, value.denominator]
        rng = np.random.default_rng([*key, int(denominator == "n")])
        if denominator == "n":
            made = (sparse(rng, side, float(value)) for _ in range(count))
        elif 0 <= value <= 1:
            made = (uniform(rng, side, p=float(value)) for _ in range(count))
        else:
            raise InputError(f"p is {self.p!r}, but a probability is between 0 and 1")
        return [FlowNetwork.from_bipartite(graph) for graph in made]

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
    """A `NeuralExecutor`, or `Subroutines`."""

    def subroutines(self, cell: Cell) -> Subroutines:
        """Return the subroutines as this cell wants them."""
        if isinstance(self.executor, Subroutines):
            return self.executor
        from dataclasses import replace

        # With a threshold only the search is the network's: all its paths have capacity 1.
        is_bfs = cell.termination == "bfs"
        return replace(
            self.executor,
            asks_reachability=is_bfs,
            neural_bottleneck=is_bfs and cell.neural_bottleneck,
            neural_augmentation=is_bfs and cell.neural_augmentation,
        ).subroutines()


def load_models(names: Sequence[str], device: str) -> list[Model]:
    """Load checkpoints: files, run folders (the best of every seed), shipped names, or "classical"."""
    models: list[Model] = []
    for name in names:
        if name == "classical":
            models.append(Model("classical", 0, BELLMAN_FORD))
            continue
        path = Path(name)
        shipped = Path(__file__).parents[1] / "models" / f"{name}.safetensors"
        if path.is_dir():
            found = sorted(path.glob("seed-*/best.safetensors"), key=_seed_of) or sorted(
                path.glob("best.safetensors")
            )
            if not found:
                raise InputError(f"{name}: there is no seed-*/best.safetensors in this folder")
            models += [_model(entry, device) for entry in found]
        elif not path.exists() and shipped.exists():
            models.append(_model(shipped, device))
        else:
            models.append(_model(path, device))
    return models


def _seed_of(path: Path) -> tuple[int, str]:
    number = path.parent.name.removeprefix("seed-")
    return (int(number) if number.isdigit() else 0, str(path))


def _model(path: Path, device: str) -> Model:
    from augury.neural.checkpoint import load
    from augury.neural.execute import NeuralExecutor

    loaded = load(path)
    seed = int(loaded.provenance.get("seed", 0))
    return Model(loaded.config.preset, seed, NeuralExecutor(loaded.network.to(device), device))


def evaluate(
    model: Model, cell: Cell, num_graphs: int, num_runs: int, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield a record for each graph and run, runs in order."""
    graphs = cell.graphs(num_graphs, seed)
    maxima = maximum_values(graphs)
    subroutines = model.subroutines(cell)
    size = max(1, MAX_ARCS // max((graph.num_arcs for graph in graphs), default=1))
    work = [(run, graph) for run in range(num_runs) for graph in range(num_graphs)]
    for first in range(0, len(work), size):
        chunk = work[first : first + size]
        rngs = [np.random.default_rng([TEST_STREAM, seed, cell.scale, *place]) for place in chunk]
        networks = [graphs[graph] for _, graph in chunk]
        known = [maxima[graph] for _, graph in chunk]
        results = simulate(networks, subroutines, rngs, cell.settings, known)
        for (run, graph), result in zip(chunk, results, strict=True):
            yield {
                "model": model.name,
                "model_seed": model.seed,
                **asdict(cell),
                "run": run,
                "graph": graph,
                "value": result.value,
                "maximum": result.maximum,
                "ending": result.ending.name.lower(),
                "rounds": result.rounds,
                "asked": result.asked,
                "wrong": result.wrong,
            }


CELL_FIELDS = ("scale", "p", "termination", "neural_bottleneck", "neural_augmentation")


def summarise(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one object per model name and cell: accuracy over runs, and over seeds if there are more.

    `std` is over the runs of all networks' mean accuracy, as the paper has it for its one network;
    `seed_mean`, `seed_std` and `seed_interval` are over seeds, with Student's t at 95 %.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        key = (record["model"], *(record[name] for name in CELL_FIELDS))
        groups.setdefault(key, []).append(record)
    return [_summary(key, group) for key, group in groups.items()]


def _summary(key: tuple[Any, ...], group: list[dict[str, Any]]) -> dict[str, Any]:
    right = np.array([record["value"] == record["maximum"] for record in group], float)
    runs = np.array([record["run"] for record in group])
    seeds = np.array([record["model_seed"] for record in group])
    by_run = np.array([right[runs == run].mean() for run in np.unique(runs)])
    by_seed = np.array([right[seeds == seed].mean() for seed in np.unique(seeds)])
    told = dict(zip(("model", *CELL_FIELDS), key, strict=True))
    told |= {
        "accuracy": float(right.mean()),
        "std": float(by_run.std()),
        "flow_error": float(np.mean([record["maximum"] - record["value"] for record in group])),
        "graphs": len({record["graph"] for record in group}),
        "runs": len(by_run),
        "seeds": len(by_seed),
        "by_seed": {int(s): float(a) for s, a in zip(np.unique(seeds), by_seed, strict=True)},
    }
    if len(by_seed) > 1:
        told |= _over_seeds(by_seed)
    for decision in DECISIONS:
        told[f"{decision}_asked"] = sum(record["asked"][decision] for record in group)
        told[f"{decision}_wrong"] = sum(record["wrong"][decision] for record in group)
    endings = [record["ending"] for record in group]
    return told | {"endings": {ending: endings.count(ending) for ending in sorted(set(endings))}}


def _over_seeds(by_seed: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    from scipy.stats import t

    mean, std, count = by_seed.mean(), by_seed.std(ddof=1), len(by_seed)
    half = float(t.ppf(0.975, count - 1) * std / np.sqrt(count))
    interval = [max(0.0, float(mean) - half), min(1.0, float(mean) + half)]
    return {"seed_mean": float(mean), "seed_std": float(std), "seed_interval": interval}


def header(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the first line of a records file: what was run, by which version."""
    import augury
    from augury.neural.provenance import commit

    return {"kind": "augury-records", "version": augury.__version__, "commit": commit(), **settings}


def read_records(path: Path) -> list[dict[str, Any]]:
    """Read the records of a file that `evaluate` wrote, without its header."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line]
        records = [row for row in rows if row.get("kind") != "augury-records"]
        if not rows or len(records) == len(rows):
            raise ValueError
        if any(not {"model", "value", "run", *CELL_FIELDS} <= set(row) for row in records):
            raise ValueError
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, AttributeError):
        raise InputError(f"{path}: this is not a whole file of Augury's records") from None
    return records
