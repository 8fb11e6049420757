"""A plan and a run folder become trainings, records and a report; only what is missing is done.

One loop serves all forms of `Workers`: it looks at what the folder lacks, hands out tasks, and
writes what comes back. Trainings run in slices, so that little is lost when a process is killed,
and come first, as evaluations wait for them. The order in which results arrive decides nothing: the
report is made from the folder alone, and an interrupted run ends with the same report as any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augury.errors import InputError
from augury.experiments.records import Part, Runs
from augury.experiments.run_folder import RunFolder, Seed
from augury.experiments.tasks import Evaluation, Result, Task, Training, Workers, machine
from augury.processes import WorkerError

SLICE_SECONDS = 30.0
"""How long a training runs before its state is saved."""

GUESSED_EPOCHS = 45
"""Epochs of a training, until one of its kind is finished."""

GUESSED_RATE = 1e-5
"""Seconds per unit of `Part.cost`, until one is measured: about that of 1x."""

SAFETY = 1.5
"""A task is started only if this many times its expected time is left."""


@dataclass(frozen=True)
class Options:
    """How a plan is run."""

    device: str = "cpu"
    train_only: bool = False
    tidy: bool = False
    """Delete the checkpoints of epochs that are no longer needed."""
    stop_after: float | None = None
    """Seconds after which the run stops, to be continued."""


@dataclass(frozen=True)
class Status:
    """The progress of a run."""

    text: str
    """What was done last."""
    done: int
    """Tasks that this run has done."""
    left: int
    """Parts and trainings known to be missing."""
    seconds_left: float


class Clock:
    """Estimates how long tasks take from similar ones in this folder."""

    def __init__(self, times: Sequence[dict[str, Any]]) -> None:
        self.sums: dict[tuple[Any, ...], list[float]] = {}
        for told in times:
            self.add(told)

    def add(self, told: dict[str, Any]) -> None:
        """Add a line of times.jsonl."""
        if told["what"] == "sitting":
            return
        amount = "epochs" if told["what"] == "training" else "cost"
        kind = told["what"], told["network"], told.get("scale")
        for length in (1, 2, 3):
            sums = self.sums.setdefault(kind[:length], [0.0, 0.0])
            sums[0] += told["seconds"]
            sums[1] += told[amount]

    def _rate(self, *key: Any) -> float | None:
        seconds, amount = self.sums.get(key, (0.0, 0.0))
        return seconds / amount if amount else None

    def part(self, part: Part) -> float:
        """Return about how many seconds a part takes."""
        kind = ("part", part.network, part.condition.scale)
        rate = self._rate(*kind) or self._rate(*kind[:2]) or self._rate(*kind[:1]) or GUESSED_RATE
        return rate * part.cost

    def epoch(self, network: str) -> float:
        """Return about how many seconds an epoch takes."""
        return self._rate("training", network) or self._rate("training") or 5.0

    def training(self, seed: Seed, alike: Sequence[Seed]) -> float:
        """Return about how many more seconds a training takes."""
        ended = [len(other.history) for other in alike if other.is_finished]
        epochs = sum(ended) / len(ended) if ended else GUESSED_EPOCHS
        epochs = min(epochs, seed.config.training.max_epochs)
        return max(1.0, epochs - len(seed.history)) * self.epoch(seed.network)


class Driver:
    """Hands out tasks and writes results to the folder."""

    def __init__(
        self,
        folder: RunFolder,
        workers: Workers,
        options: Options,
        progress: Callable[[Status], None],
    ) -> None:
        self.folder, self.workers, self.options = folder, workers, options
        self.progress = progress
        self.clock = Clock(folder.times)
        self.seeds = {
            (seed.network, seed.seed): seed
            for seeds in folder.results.seeds.values()
            for seed in seeds
        }
        self.wants = [] if options.train_only else folder.plan.wants()
        self.under_way: dict[Any, Future[Result]] = {}
        """By the name and number of seeds that are in training, and by parts."""
        self.started = time.monotonic()
        self.num_done = 0
        self._look()

    def _look(self) -> None:
        """See what the folder lacks: trainings first, then the longest parts."""
        self.trainings = self.folder.results.unfinished()
        missing = self.folder.results.missing(self.wants)
        self.missing = dict.fromkeys(sorted(missing, key=lambda part: -part.cost))

    @property
    def seconds_left(self) -> float:
        """Seconds until the run has to end."""
        if self.options.stop_after is None:
            return float("inf")
        return self.options.stop_after - (time.monotonic() - self.started)

    def run(self) -> bool:
        """Do what is missing, or as much as time allows; returns whether all of it is done."""
        while self._submit():
            seconds = None if self.options.stop_after is None else max(0.0, self.seconds_left)
            done = wait(self.under_way.values(), seconds, FIRST_COMPLETED).done
            if not done:
                break  # time is up
            for key in [key for key, future in self.under_way.items() if future in done]:
                try:
                    self._keep(key, self.under_way.pop(key).result())
                except WorkerError as error:
                    raise InputError(f"a task failed: {error}") from None
        return not self.trainings and not self.missing

    def _submit(self) -> bool:
        """Hand out tasks while there is room; returns whether any is under way."""
        waiting = self._waiting()
        while len(self.under_way) < self.workers.slots and waiting:
            key = waiting.pop(0)
            self.under_way[key] = self.workers.submit(self._task(key))
        return bool(self.under_way)

    def _waiting(self) -> list[Any]:
        """Return what can start now and is likely to end in time."""
        seeds = [
            (seed.network, seed.seed)
            for seed in self.trainings
            if SAFETY * self.clock.epoch(seed.network) < self.seconds_left
        ]
        found: list[Any] = [key for key in seeds if key not in self.under_way]
        room = self.workers.slots - len(self.under_way) - len(found)
        for part in self.missing:
            if room <= 0:
                break
            if part not in self.under_way and SAFETY * self.clock.part(part) < self.seconds_left:
                found.append(part)
                room -= 1
        return found

    def _task(self, key: Any) -> Task:
        device = self.options.device
        if isinstance(key, Part):
            path = self.seeds[key.network, key.seed].checkpoint(key.epoch)
            if not path.exists():
                raise InputError(f"{path}: this checkpoint is missing; a plot needs its epoch")
            return Evaluation(key, path.read_bytes(), device)
        seed = self.seeds[key]
        resume = seed.folder / "resume.safetensors"
        state = resume.read_bytes() if resume.exists() else None
        seconds = min(SLICE_SECONDS, self.seconds_left)
        return Training(seed.seed, seed.config, device, seconds, state)

    def _keep(self, key: Any, result: Result) -> None:
        """Write a result into the folder."""
        self.num_done += 1
        if isinstance(result.made, Runs):
            told = self._keep_part(key, result.made)
            text = f"{key}: {100 * result.made.accuracy:.1f} %"
        else:
            told = self._keep_training(self.seeds[key], result.made)
            seed = self.seeds[key]
            ended = "trained" if seed.is_finished else "training"
            text = f"{ended} {seed.network}, seed {seed.seed}, {len(seed.history)} epochs"
        told |= {"seconds": round(result.seconds, 3), "machine": result.machine}
        self.folder.note(**told)
        self.clock.add(told)
        if self.options.tidy:
            self.folder.tidy(self.seeds[told["network"], told["seed"]])
        left = sum(self.clock.part(part) for part in self.missing)
        for seed in self.trainings:
            left += self.clock.training(seed, self.folder.results.seeds[seed.network])
        num_left = len(self.missing) + len(self.trainings)
        self.progress(Status(text, self.num_done, num_left, left / self.workers.slots))

    def _keep_training(self, seed: Seed, files: dict[str, bytes]) -> dict[str, Any]:
        self.folder.keep_training(seed, files)
        self._look()
        epochs = sum(name.startswith("epoch-") for name in files)
        return {"what": "training", "network": seed.network, "seed": seed.seed, "epochs": epochs}

    def _keep_part(self, part: Part, runs: Runs) -> dict[str, Any]:
        self.folder.records.add(part, runs)
        self.missing.pop(part, None)
        which = {"network": part.network, "seed": part.seed, "epoch": part.epoch}
        graphs = {"scale": part.condition.scale, "p": part.condition.p}
        return {"what": "part"} | which | graphs | {"cost": part.cost}


def run_plan(
    folder: RunFolder,
    workers: Callable[[Path], Workers],
    options: Options,
    progress: Callable[[Status], None],
) -> bool:
    """Do what a folder lacks of its plan, then write the report; returns whether all is done.

    `workers` makes the workers, given the folder for their temporary files.

    Raises:
        InputError: a task cannot be done, or the folder does not fit the plan.
    """
    from augury.experiments.report import write_report

    folder.refuse_other_weights()
    wants = [] if options.train_only else folder.plan.wants()
    if folder.results.unfinished() or folder.results.missing(wants):
        driver = Driver(folder, workers(folder.scratch), options, progress)
        started, how = time.perf_counter(), "interrupted"
        try:
            how = "done" if driver.run() else "stopped"
        finally:
            driver.workers.close()
            told: dict[str, Any] = {"slots": driver.workers.slots, "tasks": driver.num_done}
            told |= {"seconds": round(time.perf_counter() - started, 3)}
            folder.note(what="sitting", ended=how, **told, machine=machine(options.device))
        if how == "stopped":
            return False
    if not options.train_only:
        folder.records.put_in_order()
        write_report(folder.path, folder.plan, folder.results, folder.times)
    return True
