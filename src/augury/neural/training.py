"""Data and a configuration become trained networks: Lightning runs the epochs, one seed or many.

Seeds of an ensemble differ in their initial weights; data and the order of samples are the same for
all. Their weights are stacked, their losses added, and Adam treats every number by itself, so each
network is trained as if it were alone. After each epoch every network is scored and kept; one that
has not improved for `patience` epochs is finished, and what the others still do no longer concerns
it.

A run folder holds config.json, the lock of the process at work, a folder per seed with every
epoch's checkpoint, the best one and history.csv, the loggers' files, and resume.safetensors: an
interrupted run goes on from its last epoch and ends with the same weights as one that was never
interrupted.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import numpy.typing as npt
import torch
from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from augury.classical.ford_fulkerson import Verdict
from augury.classical.formats.files import locked
from augury.classical.graph import InputError
from augury.classical.simulate import maximum_values, simulate
from augury.config import Config, to_dict
from augury.neural import checkpoint
from augury.neural.batch import ReachBatch, SearchBatch, TrainingData, moved, training_data
from augury.neural.kinds import executor_of, make_network
from augury.neural.layers import stack, unstack
from augury.neural.losses import WEIGHTS, Tally, learn
from augury.neural.padded import PaddedBatch, Padding
from augury.neural.provenance import provenance
from augury.neural.recorded import Recorder

METRICS = (
    "last_predecessor",
    "predecessor",
    "bottleneck_true_negative",
    "bottleneck",
    "augmentation",
    "reachability",
    "termination",
    "reach_termination",
)
"""Accuracies on the validation rounds; the first is what the paper stops by."""


@dataclass
class Progress:
    """What is known of one seed's training so far."""

    seed: int
    history: list[dict[str, float]] = field(default_factory=list)
    """A row for each epoch: losses, accuracies, executions, score."""
    best_epoch: int = -1
    is_finished: bool = False

    def add(self, row: dict[str, float], patience: int) -> bool:
        """Take an epoch's row; tells whether it is the best so far."""
        self.history.append(row)
        epoch = len(self.history) - 1
        is_best = self.best_epoch < 0 or row["score"] > self.history[self.best_epoch]["score"]
        if is_best:
            self.best_epoch = epoch
        self.is_finished = epoch - self.best_epoch >= patience
        return is_best


class Epoch(Dataset[Any]):
    """The batches of one epoch; which rounds and which walks follows from seed, epoch and place."""

    def __init__(self, data: TrainingData, config: Config, number: int) -> None:
        self.data, self.key = data, (config.data.seed, number)
        self.size = config.training.batch_size
        rng = np.random.default_rng(self.key)
        self.order = rng.permutation(len(data.train))
        self.extra = rng.permutation(len(data.extra)) if data.extra else np.zeros(0, np.int64)

    def __len__(self) -> int:
        return -(-len(self.order) // self.size)

    def __getitem__(self, place: int) -> Any:
        chosen = self.order[place * self.size : (place + 1) * self.size].tolist()
        rng = np.random.default_rng([*self.key, place])
        share = np.array_split(self.extra, len(self))[place].tolist()
        return self.batch(chosen, share, rng)

    def batch(self, chosen: list[int], share: list[int], rng: np.random.Generator) -> Any:
        """Put the rounds of a batch together."""
        extra = self.data.extra.reach_batch(share) if self.data.extra and share else None
        train = self.data.train
        return train.search_batch(chosen, rng), train.reach_batch(chosen), extra


class PaddedEpoch(Epoch):
    """The same batches in one shape, for `recorded`."""

    @cached_property
    def padding(self) -> Padding:
        """What they are filled up to; the same in every epoch."""
        return Padding(self.data, self.size, len(self))

    def batch(self, chosen: list[int], share: list[int], rng: np.random.Generator) -> Any:  # noqa: D102
        return self.padding.batch(chosen, share, rng)


class Ensemble(pl.LightningModule):
    """One network, or several with stacked weights, learning from the same batches."""

    def __init__(
        self, config: Config, seeds: Sequence[int], data: TrainingData, is_recorded: bool = False
    ) -> None:
        super().__init__()
        self.config, self.data = config, data
        self.is_recorded = is_recorded
        self.automatic_optimization = not is_recorded
        self.recorder: Recorder | None = None
        self.progress = [Progress(seed) for seed in seeds]
        networks = [initial_network(config, data, seed) for seed in seeds]
        self.network = networks[0]
        if len(seeds) > 1:
            self.network = initial_network(config, data, seeds[0])
            stack(networks, self.network)
        self.tally = Tally()
        self.validation: list[tuple[SearchBatch, ReachBatch]] = []
        self.workers: ProcessPoolExecutor | None = None

    def train_dataloader(self) -> DataLoader[Any]:
        """Return the batches of the coming epoch."""
        kind = PaddedEpoch if self.is_recorded else Epoch
        epoch = kind(self.data, self.config, self.current_epoch)
        return DataLoader(epoch, batch_size=None, shuffle=False)

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """Move a batch; one of the recorded shape is packed on the host first."""
        if isinstance(batch, PaddedBatch):
            return batch
        return tuple(part if part is None else moved(part, device) for part in batch)

    def training_step(self, batch: Any, place: int) -> Any:
        """Return the sum of all networks' losses; a recorded update needs nothing further."""
        if isinstance(batch, PaddedBatch):
            if self.recorder is None:
                optimizer = self.optimizers(use_pl_optimizer=False)
                assert isinstance(optimizer, torch.optim.Optimizer)
                self.recorder = Recorder(self.network, optimizer)
            self.recorder.update(batch)
            return None
        search, reach, extra = batch
        tally = Tally()
        learn(self.network, search, [reach] if extra is None else [reach, extra], tally)
        self.tally.merge(tally)
        return tally.total().sum()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam, as in the paper."""
        rate = self.config.training.learning_rate
        on_gpu = self.is_recorded and self.device.type == "cuda"
        return torch.optim.Adam(self.network.parameters(), lr=rate, foreach=True, capturable=on_gpu)

    def taken_tally(self) -> Tally:
        """Return what the epoch's updates told, and start a new one."""
        if self.recorder is not None:
            return self.recorder.taken()
        tally, self.tally = self.tally, Tally()
        return tally

    def members(self) -> list[dict[str, Tensor]]:
        """Return the state of each network by itself."""
        if len(self.progress) == 1:
            return [
                {key: value.detach().clone() for key, value in self.network.state_dict().items()}
            ]
        return [unstack(self.network, place) for place in range(len(self.progress))]

    @torch.no_grad()
    def validated(self) -> Tally:
        """Run the validation rounds; their walks are always the same."""
        if not self.validation:  # the batches are the same after every epoch
            samples = self.data.validation
            for first in range(0, len(samples), 128):
                chosen = range(first, min(first + 128, len(samples)))
                rng = np.random.default_rng([self.config.data.seed, first])
                search = moved(samples.search_batch(chosen, rng), self.device)
                self.validation.append((search, moved(samples.reach_batch(chosen), self.device)))
        tally = Tally()
        for search, reach in self.validation:
            learn(self.network, search, [reach], tally)
        return tally

    def executed(self, states: Sequence[dict[str, Tensor] | None]) -> list[dict[str, float]]:
        """Execute the validation graphs with each of these networks; nothing is right for None.

        On the CPU, where a search is one compiled loop: a GPU would wait for every step. The
        networks of a GPU's ensemble are executed side by side by processes of their own.
        """
        nothing = {f"execution_{scale}x": 0.0 for scale in self.data.execution}
        given = [
            {key: value.cpu().numpy() for key, value in state.items()}
            for state in states
            if state is not None
        ]
        if self.device.type == "cuda" and len(given) > 1:
            self.workers = self.workers or _workers(len(self.progress))
            found = self.workers.map(_executed, [self.config] * len(given), given)
        else:
            found = map(partial(_executed, self.config, data=self.data), given)
        remaining = iter(found)
        return [nothing if state is None else next(remaining) for state in states]


def _executed(
    config: Config, state: dict[str, npt.NDArray[Any]], data: TrainingData | None = None
) -> dict[str, float]:
    """Execute the validation graphs of each scale with one network, all subroutines neural."""
    data = data or training_data_of(config)
    network = initial_network(config, data, 0)
    network.load_state_dict({key: torch.from_numpy(value) for key, value in state.items()})
    subroutines = executor_of(network).subroutines()
    found: dict[str, float] = {}
    for scale, graphs in data.execution.items():
        rngs = np.random.default_rng([config.data.seed, scale]).spawn(len(graphs))
        runs = simulate(graphs, subroutines, rngs, maxima=_maxima(config, scale, data))
        # A run that merely gave up in the right place does not count: BFS must know the end.
        right = sum(run.is_right and run.ending == Verdict.DONE for run in runs)
        found[f"execution_{scale}x"] = right / max(len(runs), 1)
    return found


_MAXIMA: dict[tuple[Config, int], list[int]] = {}


def _maxima(config: Config, scale: int, data: TrainingData) -> list[int]:
    """Return the maximum flows of the validation graphs; found once."""
    if (config, scale) not in _MAXIMA:
        _MAXIMA[config, scale] = maximum_values(data.execution[scale])
    return _MAXIMA[config, scale]


def _workers(count: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")  # a GPU's context does not survive a fork
    count = min(count, os.cpu_count() or 1)
    return ProcessPoolExecutor(count, context, torch.set_num_threads, (1,))


def training_data_of(config: Config) -> TrainingData:
    """Make the data of a configuration."""
    training = config.training
    # Only the paper's network has distances; their width is that of its integers.
    bits = config.network.bits if config.network.kind == "paper" else 8
    return training_data(config.data, training.execution_scales, training.execution_graphs, bits)


def initial_network(config: Config, data: TrainingData, seed: int) -> Any:
    """Return the untrained network of a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make_network(config.network, data.train.mean_log_degree)


class KeepEverything(pl.Callback):
    """After each epoch: score every network, keep it, write the history and the state to resume."""

    def __init__(
        self, folder: Path, say: Callable[[str], None], pause: Callable[[], bool] = lambda: False
    ) -> None:
        self.folder, self.say, self.pause = folder, say, pause
        self.started = time.perf_counter()

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        self.started = time.perf_counter()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        assert isinstance(pl_module, Ensemble)
        with _interrupts_held():
            self._finish_epoch(trainer, pl_module)

    def _finish_epoch(self, trainer: pl.Trainer, pl_module: Ensemble) -> None:
        seconds = time.perf_counter() - self.started
        tallies = {"train": pl_module.taken_tally(), "validation": pl_module.validated()}
        places = [n for n, seed in enumerate(pl_module.progress) if not seed.is_finished]
        members = pl_module.members()
        for place, row in zip(places, _scored(pl_module, tallies, places, members), strict=True):
            progress, state = pl_module.progress[place], members[place]
            row["seconds"] = round(seconds, 3)
            self._keep(pl_module, progress, state, row)
            for logger in trainer.loggers:
                numbered = {f"seed_{progress.seed}/{name}": value for name, value in row.items()}
                logger.log_metrics(numbered, step=trainer.current_epoch)
        _write_resume(self.folder, trainer, pl_module)
        if all(progress.is_finished for progress in pl_module.progress) or self.pause():
            trainer.should_stop = True

    def _keep(
        self, module: Ensemble, progress: Progress, state: dict[str, Tensor], row: dict[str, float]
    ) -> None:
        epoch = len(progress.history)
        is_best = progress.add(row, module.config.training.patience)
        folder = self.folder / f"seed-{progress.seed}"
        # Seconds are not of the network: with them, equal networks would be different files.
        scores = {name: value for name, value in row.items() if name != "seconds"}
        told = {"seed": progress.seed, "epoch": epoch, "scores": scores}
        told |= provenance(str(module.device))
        checkpoint.save(folder / f"epoch-{epoch:03d}.safetensors", state, module.config, told)
        if is_best:
            checkpoint.save(folder / "best.safetensors", state, module.config, told)
        checkpoint.write_bytes(folder / "history.csv", _csv(progress.history).encode())
        self.say(_line(progress, row, is_best))


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until an epoch is kept: inside a logger's queue it would block its thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _scored(
    module: Ensemble,
    tallies: dict[str, Tally],
    places: Sequence[int],
    members: Sequence[dict[str, Tensor]],
) -> list[dict[str, float]]:
    """Collect an epoch's figures of the networks at these places, and score them."""
    rows = _rows(tallies, places)
    if module.config.training.select == "paper":
        return [row | {"score": row["validation_last_predecessor"]} for row in rows]
    # Steps this wrong never add up to an execution, and failing takes the longest.
    hopeless = [
        row["validation_last_predecessor"] < 0.8 or row["validation_reachability"] < 0.9
        for row in rows
    ]
    states = [
        None if none else members[place] for place, none in zip(places, hopeless, strict=True)
    ]
    scored: list[dict[str, float]] = []
    for row, executed in zip(rows, module.executed(states), strict=True):
        # Among equal executions the lower loss decides; bounded so as never to outweigh one graph.
        tie_break = 1e-4 / (1 + row["validation_loss"])
        score = sum(executed.values()) / max(len(executed), 1) + tie_break
        scored.append(row | executed | {"score": score})
    return scored


def _rows(tallies: dict[str, Tally], places: Sequence[int]) -> list[dict[str, float]]:
    """Return losses and accuracies of the networks at these places."""
    figures: dict[str, list[float]] = {}
    for part, tally in tallies.items():
        means, accuracies = tally.means(), tally.accuracies()
        found = {f"{part}_{name}_loss": means[name] for name in WEIGHTS if name in means}
        found[f"{part}_loss"] = tally.total()
        found |= {f"{part}_{name}": accuracies[name] for name in METRICS if name in accuracies}
        # One wait for the device, not one for each figure.
        joined = torch.stack([value.detach().reshape(-1) for value in found.values()]).tolist()
        figures |= dict(zip(found, joined, strict=True))
    return [{name: round(values[place], 6) for name, values in figures.items()} for place in places]


SHOWN = {
    "last step": "validation_last_predecessor",
    "mean step": "validation_predecessor",
    "bottleneck TNR": "validation_bottleneck_true_negative",
    "bottleneck": "validation_bottleneck",
    "augment": "validation_augmentation",
    "reach": "validation_reachability",
    "termination": "validation_termination",
}
"""The accuracies of an epoch's line, as far as the kind of network has them."""


def _line(progress: Progress, row: dict[str, float], is_best: bool) -> str:
    shown = {"loss": row["train_loss"]}
    shown |= {name: row[key] for name, key in SHOWN.items() if key in row}
    executed = [f"{key[10:]} {value:.0%}" for key, value in row.items() if key[:10] == "execution_"]
    figures = "  ".join(f"{name} {value:.4f}" for name, value in shown.items())
    star = "  *" if is_best else ""
    return (
        f"seed {progress.seed}  epoch {len(progress.history) - 1:3d}  {row['seconds']:.1f} s  "
        f"{figures}  executed {' '.join(executed)}{star}"
    )


def _csv(history: Sequence[dict[str, float]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["epoch", *history[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows({"epoch": epoch, **row} for epoch, row in enumerate(history))
    return text.getvalue()


def _write_resume(folder: Path, trainer: pl.Trainer, module: Ensemble) -> None:
    """Write weights, Adam's moments and the progress as one file: they always fit together."""
    tensors = {f"network.{key}": value for key, value in module.network.state_dict().items()}
    states = trainer.optimizers[0].state_dict()["state"]
    for number, state in states.items():
        tensors |= {f"adam.{number}.{key}": torch.as_tensor(value) for key, value in state.items()}
    progress = json.dumps([asdict(progress) for progress in module.progress])
    metadata = {"progress": progress, "epochs": str(trainer.current_epoch + 1)}
    checkpoint.write_tensors(folder / "resume.safetensors", tensors, metadata)


class Resume(pl.Callback):
    """Put weights, optimiser and epoch back to where an interrupted run left them."""

    def __init__(self, path: Path) -> None:
        self.tensors, self.metadata = checkpoint.read_tensors(path)
        self.progress = [Progress(**row) for row in json.loads(self.metadata["progress"])]

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        assert isinstance(pl_module, Ensemble)
        device = pl_module.device
        network = {key[8:]: value for key, value in self.tensors.items() if key[:8] == "network."}
        pl_module.network.load_state_dict(network)
        pl_module.progress = self.progress
        epochs = int(self.metadata["epochs"])
        current: Any = trainer.fit_loop.epoch_progress.current  # Lightning hints at its base class
        current.processed = current.completed = epochs
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in self.tensors.items():
            if key.startswith("adam."):
                _, number, name = key.split(".")
                state.setdefault(int(number), {})[name] = value.to(device)
        optimizer = trainer.optimizers[0]
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def train(  # noqa: PLR0913  # what, where, and three ways to look on
    config: Config,
    seeds: Sequence[int],
    folder: Path,
    device: str = "cpu",
    resume: bool = False,
    say: Callable[[str], None] = print,
    pause: Callable[[], bool] = lambda: False,
) -> list[Progress]:
    """Train a network for each seed in one run folder; returns how each went.

    `pause` is asked after each epoch; where it says so the call ends, and `resume` goes on.
    On a GPU the updates of the paper's networks are recorded as CUDA graphs (see `recorded`).

    Raises:
        InputError: the folder holds another run, there is nothing to resume, or another process
            is at work in it.
    """
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError("training needs at least one seed, and all of them different")
    make_network(config.network)  # a wrong setting is refused before a folder is made
    if resume and not (folder / "config.json").exists():
        raise InputError(f"{folder}: there is no run in this folder to resume")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock", folder):
        _prepare_folder(folder, config, seeds, device, resume)
        return _train(config, seeds, folder, device, resume, (say, pause))


def _train(
    config: Config,
    seeds: Sequence[int],
    folder: Path,
    device: str,
    resume: bool,
    told: tuple[Callable[[str], None], Callable[[], bool]],
) -> list[Progress]:
    is_recorded = device.startswith("cuda") and config.network.kind == "paper"
    module = Ensemble(config, seeds, training_data_of(config), is_recorded)
    callbacks: list[pl.Callback] = [KeepEverything(folder, *told)]
    state = folder / "resume.safetensors"
    if resume and state.exists():
        resumed = Resume(state)
        if all(progress.is_finished for progress in resumed.progress):
            return resumed.progress
        callbacks.append(resumed)
    try:
        _fit(_trainer(config, folder, device, callbacks), module)
    finally:
        if module.workers is not None:
            module.workers.shutdown(cancel_futures=True)
    return module.progress


def _fit(trainer: pl.Trainer, module: Ensemble) -> None:
    """Fit; Ctrl-C stays what it is, though Lightning turns it into an exit of the process."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Lightning advises on workers and logging intervals
            trainer.fit(module)
    except SystemExit as error:
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        raise KeyboardInterrupt from None


def _trainer(config: Config, folder: Path, device: str, callbacks: list[pl.Callback]) -> pl.Trainer:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    loggers: list[Logger] = [
        CSVLogger(folder, name="logs", version="csv"),
        TensorBoardLogger(folder, name="logs", version="tensorboard"),
    ]
    kind, _, number = device.partition(":")
    with warnings.catch_warnings():
        # Lightning advises against the CPU wherever there is a GPU; it is a choice here.
        warnings.filterwarnings("ignore", "GPU available but not used")
        return pl.Trainer(
            accelerator="gpu" if kind == "cuda" else kind,
            devices=[int(number)] if number else 1,
            max_epochs=config.training.max_epochs,
            reload_dataloaders_every_n_epochs=1,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            logger=loggers,
            callbacks=callbacks,
            num_sanity_val_steps=0,
        )


def _prepare_folder(
    folder: Path, config: Config, seeds: Sequence[int], device: str, resume: bool
) -> None:
    """Make the run folder, or check that what it holds is this run."""
    told = {"config": to_dict(config), "seeds": list(seeds)}
    path = folder / "config.json"
    if path.exists():
        try:
            there = dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            raise InputError(f"{path}: this is not the configuration of a run") from None
        if not resume:
            raise InputError(f"{folder}: there is a run in this folder; --resume continues it")
        if {key: there.get(key) for key in told} != json.loads(json.dumps(told)):
            raise InputError(f"{folder}: the run in this folder has other settings or seeds")
        return
    for seed in seeds:
        (folder / f"seed-{seed}").mkdir(parents=True, exist_ok=True)
    told |= provenance(device)
    checkpoint.write_bytes(path, (json.dumps(told, indent=2) + "\n").encode())
