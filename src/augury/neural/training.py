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
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
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
from augury.neural.provenance import provenance

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


class Epoch(Dataset[tuple[SearchBatch, ReachBatch, ReachBatch | None]]):
    """The batches of one epoch; which rounds and which walks follows from seed, epoch and place."""

    def __init__(self, data: TrainingData, config: Config, number: int) -> None:
        self.data, self.key = data, (config.data.seed, number)
        self.size = config.training.batch_size
        rng = np.random.default_rng(self.key)
        self.order = rng.permutation(len(data.train))
        self.extra = rng.permutation(len(data.extra)) if data.extra else np.zeros(0, np.int64)

    def __len__(self) -> int:
        return -(-len(self.order) // self.size)

    def __getitem__(self, place: int) -> tuple[SearchBatch, ReachBatch, ReachBatch | None]:
        chosen = self.order[place * self.size : (place + 1) * self.size].tolist()
        rng = np.random.default_rng([*self.key, place])
        share = np.array_split(self.extra, len(self))[place].tolist()
        extra = self.data.extra.reach_batch(share) if self.data.extra and share else None
        train = self.data.train
        return train.search_batch(chosen, rng), train.reach_batch(chosen), extra


class Ensemble(pl.LightningModule):
    """One network, or several with stacked weights, learning from the same batches."""

    def __init__(self, config: Config, seeds: Sequence[int], data: TrainingData) -> None:
        super().__init__()
        self.config, self.data = config, data
        self.progress = [Progress(seed) for seed in seeds]
        networks = [initial_network(config, data, seed) for seed in seeds]
        self.network = networks[0]
        if len(seeds) > 1:
            self.network = initial_network(config, data, seeds[0])
            stack(networks, self.network)
        self.tally = Tally()
        self.maxima = {scale: maximum_values(graphs) for scale, graphs in data.execution.items()}

    def train_dataloader(self) -> DataLoader[Any]:
        """Return the batches of the coming epoch."""
        epoch = Epoch(self.data, self.config, self.current_epoch)
        return DataLoader(epoch, batch_size=None, shuffle=False)

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """Move a batch."""
        return tuple(part if part is None else moved(part, device) for part in batch)

    def training_step(self, batch: Any, place: int) -> Tensor:
        """Return the sum of all networks' losses."""
        search, reach, extra = batch
        tally = Tally()
        learn(self.network, search, [reach] if extra is None else [reach, extra], tally)
        self.tally.merge(tally)
        return tally.total().sum()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam, as in the paper."""
        rate = self.config.training.learning_rate
        return torch.optim.Adam(self.network.parameters(), lr=rate, foreach=True)

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
        tally, samples = Tally(), self.data.validation
        for first in range(0, len(samples), 128):
            chosen = range(first, min(first + 128, len(samples)))
            rng = np.random.default_rng([self.config.data.seed, first])
            search = moved(samples.search_batch(chosen, rng), self.device)
            reach = moved(samples.reach_batch(chosen), self.device)
            learn(self.network, search, [reach], tally)
        return tally

    def executed(self, state: dict[str, Tensor] | None) -> dict[str, float]:
        """Execute the validation graphs of each scale with one network, all subroutines neural."""
        if state is None:
            return {f"execution_{scale}x": 0.0 for scale in self.data.execution}
        network = initial_network(self.config, self.data, 0).to(self.device)
        network.load_state_dict(state)
        subroutines = executor_of(network, self.device).subroutines()
        found: dict[str, float] = {}
        for scale, graphs in self.data.execution.items():
            rngs = np.random.default_rng([self.config.data.seed, scale]).spawn(len(graphs))
            runs = simulate(graphs, subroutines, rngs, maxima=self.maxima[scale])
            # A run that merely gave up in the right place does not count: BFS must know the end.
            right = sum(run.is_right and run.ending == Verdict.DONE for run in runs)
            found[f"execution_{scale}x"] = right / max(len(runs), 1)
        return found


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
        train, pl_module.tally = pl_module.tally, Tally()
        tallies = {"train": train, "validation": pl_module.validated()}
        for place, state in enumerate(pl_module.members()):
            progress = pl_module.progress[place]
            if progress.is_finished:
                continue
            row = _row(pl_module, tallies, place, state)
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


def _row(
    module: Ensemble, tallies: dict[str, Tally], place: int, state: dict[str, Tensor]
) -> dict[str, float]:
    """Collect an epoch's figures of one network and score it."""

    def of(value: Tensor) -> float:
        return round(float(value if value.ndim == 0 else value[place]), 6)

    row: dict[str, float] = {}
    for part, tally in tallies.items():
        means = tally.means()
        row |= {f"{part}_{name}_loss": of(means[name]) for name in WEIGHTS if name in means}
        row[f"{part}_loss"] = of(tally.total())
        accuracies = tally.accuracies()
        row |= {f"{part}_{name}": of(accuracies[name]) for name in METRICS if name in accuracies}
    if module.config.training.select == "paper":
        return row | {"score": row["validation_last_predecessor"]}
    hopeless = row["validation_last_predecessor"] < 0.8 or row["validation_reachability"] < 0.9
    # Steps this wrong never add up to an execution, and failing takes the longest.
    executed = module.executed(None if hopeless else state)
    # Among equal executions the lower loss decides; bounded so as never to outweigh one graph.
    tie_break = 1e-4 / (1 + row["validation_loss"])
    score = sum(executed.values()) / max(len(executed), 1) + tie_break
    return row | executed | {"score": score}


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
    training = config.training
    # Only the paper's network has distances; their width is that of its integers.
    bits = config.network.bits if config.network.kind == "paper" else 8
    data = training_data(config.data, training.execution_scales, training.execution_graphs, bits)
    module = Ensemble(config, seeds, data)
    callbacks: list[pl.Callback] = [KeepEverything(folder, *told)]
    state = folder / "resume.safetensors"
    if resume and state.exists():
        resumed = Resume(state)
        if all(progress.is_finished for progress in resumed.progress):
            return resumed.progress
        callbacks.append(resumed)
    _fit(_trainer(config, folder, device, callbacks), module)
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
