"""Many seeds, or many parts, become tasks of `tasks`, done by the workers of a reproduction.

What `augury train` and `augury evaluate` do in one process, this does on a cluster: a training in
slices, its files written here; an evaluation part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from augury.config import Config
from augury.errors import InputError
from augury.experiments.evaluate import Model, evaluate
from augury.experiments.records import Part, Runs
from augury.experiments.reproduce import Driver, Options, Status
from augury.experiments.run_folder import Results, RunFolder, Seed, read_seed
from augury.experiments.tasks import Evaluation, Result, Workers
from augury.files import locked
from augury.processes import WorkerError


class TrainFolder(RunFolder):
    """The run folder of `augury train`, as the driver of a reproduction sees it."""

    def __init__(self, path: Path, config: Config, seeds: Sequence[int]) -> None:
        folders = ((seed, path / f"seed-{seed}") for seed in seeds)
        found = [read_seed(Seed(config.name, seed, config, own)) for seed, own in folders]
        self.path, self.times = path, []
        self.results = Results({config.name: found}, {})

    def note(self, **told: Any) -> None:
        """Keep how long something took, for the estimates of this run."""
        self.times.append(told)


def train_seeds(
    config: Config,
    seeds: Sequence[int],
    folder: Path,
    options: tuple[str, bool],
    workers: Callable[[], Workers],
    progress: Callable[[Status], None],
) -> None:
    """Train a network for each seed, each a task of its own; see `training.trainer.train`.

    `options` are the device, and whether a run in the folder is resumed.

    Raises:
        InputError: the folder holds another run, a task failed, or Ray is missing.
    """
    from augury.training.trainer import prepare_folder

    device, resume = options
    if config.training.select != "execution":
        raise InputError("tasks end a training by whole executions: --select execution")
    if resume and not (folder / "config.json").exists():
        raise InputError(f"{folder}: there is no run in this folder to resume")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock", folder):
        prepare_folder(folder, config, seeds, device, resume)
        own = TrainFolder(folder, config, seeds)
        if not own.results.unfinished():
            return
        with closing(workers()) as pool:
            Driver(own, pool, Options(device, train_only=True), progress).run()


def evaluated_by(
    workers: Callable[[], Workers], device: str
) -> Callable[[Mapping[Part, Model]], Iterator[tuple[Part, Runs]]]:
    """Return a function that evaluates parts on workers, in any order; see `evaluate_all`."""

    def run(work: Mapping[Part, Model]) -> Iterator[tuple[Part, Runs]]:
        known = {part: model for part, model in work.items() if model.digest}
        for part in work.keys() - known.keys():  # classical ones, for which there are no tasks
            yield part, evaluate(work[part], part.condition, part.extent)
        if not known:
            return
        with closing(workers()) as pool:
            longest = sorted(known, key=lambda part: -part.cost)
            futures: dict[Future[Result], Part] = {
                pool.submit(Evaluation(part, known[part].path.read_bytes(), device)): part
                for part in longest
            }
            while futures:
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    part = futures.pop(future)
                    try:
                        runs: Any = future.result().made
                    except WorkerError as error:
                        raise InputError(f"a task failed: {error}") from None
                    yield part, replace(runs, name=part.network)

    return run
