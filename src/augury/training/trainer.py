"""Data and a configuration become trained networks: Lightning runs the epochs, one seed or many.

Seeds of an ensemble differ in their initial weights; data and the order of samples are the same for
all. Their weights are stacked, their losses added, and Adam treats every number by itself, so each
network is trained as if it were alone. After each epoch every network is scored and kept; one that
has not improved for `patience` epochs is finished, and what the others still do no longer concerns
it.

A run folder holds config.json, the lock of the process at work, a folder per seed with every
epoch's checkpoint, the best one and history.csv, logs of all seeds, and resume.safetensors: an
interrupted run goes on from its last epoch and ends with the same weights and logs as one that was
never interrupted.
"""

from __future__ import annotations

import csv
import ctypes
import io
import json
import logging
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from torch import Tensor

from augury.config import Config, to_dict
from augury.errors import InputError
from augury.files import locked
from augury.models import checkpoint
from augury.models.kinds import make_network
from augury.neural.batch import ReachBatch, SearchBatch, TrainingData, moved, training_data
from augury.neural.isolation import one_thread
from augury.neural.layers import stack
from augury.paper.losses import WEIGHTS, Tally
from augury.paper.padded import PaddedBatch, Padding
from augury.paper.recorded import Recorder
from augury.provenance import provenance
from augury.training.executions import Exam, Execution, Executions, processes_for
from augury.training.logs import Logs
from augury.training.samples import learn

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


class Epoch:
    """The batches of one epoch; which rounds and which walks follows from seed, epoch and place.

    A `DataLoader` around it would add nothing, and draw from PyTorch's own random numbers.
    """

    def __init__(self, data: TrainingData, config: Config, number: int) -> None:
        self.data, self.key = data, (config.data.seed, number)
        self.size = config.training.batch_size
        rng = np.random.default_rng(self.key)
        self.order = rng.permutation(len(data.train))
        self.extra = rng.permutation(len(data.extra)) if data.extra else np.zeros(0, np.int64)

    def __len__(self) -> int:
        return -(-len(self.order) // self.size)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

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

    def train_dataloader(self) -> Epoch:
        """Return the batches of the coming epoch."""
        kind = PaddedEpoch if self.is_recorded else Epoch
        return kind(self.data, self.config, self.current_epoch)

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
                self.recorder = Recorder(self.network, optimizer, learn)
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

    def members(self, weights: dict[str, Tensor]) -> list[dict[str, Tensor]]:
        """Return the weights of each network by itself, of those of all."""
        if len(self.progress) == 1:
            return [weights]
        stacked = {key for key, _ in self.network.named_parameters()}
        return [
            {key: value[place] if key in stacked else value for key, value in weights.items()}
            for place in range(len(self.progress))
        ]

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


def training_data_of(config: Config) -> TrainingData:
    """Make the data of a configuration."""
    training = config.training
    # Only the paper's network has distances; their width is that of its integers.
    bits = config.network.bits if config.network.kind == "paper" else 8
    return training_data(config.data, training.execution_scales, training.execution_graphs, bits)


def initial_network(config: Config, data: TrainingData, seed: int) -> Any:
    """Return the untrained network of a seed."""
    generator = torch.Generator("cpu").manual_seed(seed)
    return make_network(config.network, data.train.mean_log_degree, generator)


EPOCHS_AHEAD = {"cuda": 6}
"""How many epochs the updates on a device may be ahead of the executions, which take longer."""


@dataclass(frozen=True, eq=False)
class UnderWay:
    """An epoch whose updates are done; it is finished once its executions are back."""

    number: int
    rows: list[dict[str, float]]
    """Losses and accuracies of each network."""
    state: dict[str, Tensor]
    """What the resume file will hold, as it was then."""
    members: list[dict[str, Tensor]]
    """The weights of each network."""
    executions: dict[int, Execution]
    """By the network's place; one that is finished or hopeless has none."""
    spent: dict[str, float]
    """Seconds by what they were spent on."""

    @property
    def is_back(self) -> bool:
        """Whether there is nothing to wait for."""
        return all(execution.is_back for execution in self.executions.values())


class KeepEverything(pl.Callback):
    """After each epoch: score every network, keep it, write the history and the state to resume.

    Epochs are kept in order, each once its executions are back; meanwhile the updates of up to
    `ahead` more may be done. What is written is the same whatever `ahead` is: updates that ran
    beyond the last epoch are forgotten.
    """

    def __init__(
        self, logs: Logs, executions: Executions, ahead: int, device: str, look: Look
    ) -> None:
        self.folder, self.logs, self.executions = logs.folder, logs, executions
        self.ahead, self.look = ahead, look
        self.provenance = provenance(device)
        self.started = time.perf_counter()
        self.under_way: deque[UnderWay] = deque()
        self.is_over = False

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        self.started = time.perf_counter()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        assert isinstance(pl_module, Ensemble)
        self.under_way.append(self._begun(trainer, pl_module))
        self._finish(trainer, pl_module, self.ahead)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        assert isinstance(pl_module, Ensemble)
        self._finish(trainer, pl_module, 0)

    def _begun(self, trainer: pl.Trainer, module: Ensemble) -> UnderWay:
        """Take down all of the epoch, and have its networks executed."""
        updated = time.perf_counter()
        tallies = {"train": module.taken_tally(), "validation": module.validated()}
        rows = _rows(tallies, len(module.progress))
        state = _on_host(_resumable(trainer, module))
        members = module.members(_weights(state))
        executions = {
            place: self.executions.submit(members[place])
            for place, row in enumerate(rows)
            if not module.progress[place].is_finished
            and module.config.training.select == "execution"
            and not _is_hopeless(row)
        }
        spent = {"updates": updated - self.started, "figures": time.perf_counter() - updated}
        return UnderWay(trainer.current_epoch, rows, state, members, executions, spent)

    def _finish(self, trainer: pl.Trainer, module: Ensemble, ahead: int) -> None:
        """Keep the epochs that are back, and wait until no more than so many are left."""
        while (
            self.under_way
            and not self.is_over
            and (len(self.under_way) > ahead or self.under_way[0].is_back)
        ):
            epoch = self.under_way.popleft()
            started = time.perf_counter()
            rows = self._scored(epoch, module)  # Ctrl-C may cut this short
            epoch.spent["waiting"] = time.perf_counter() - started
            with _interrupts_held():
                self._keep_all(epoch, rows, module)
                epoch.spent["keeping"] = time.perf_counter() - started - epoch.spent["waiting"]
                self.look.timeline.append(epoch.spent)
                is_finished = all(progress.is_finished for progress in module.progress)
                self.is_over = is_finished or self.look.pause()
            trainer.should_stop = trainer.should_stop or self.is_over

    def _scored(self, epoch: UnderWay, module: Ensemble) -> dict[int, dict[str, float]]:
        """Score the networks that are not finished."""
        places = [n for n, progress in enumerate(module.progress) if not progress.is_finished]
        rows = {place: epoch.rows[place] for place in places}
        if module.config.training.select == "paper":
            return {
                n: row | {"score": row["validation_last_predecessor"]} for n, row in rows.items()
            }
        scored: dict[int, dict[str, float]] = {}
        for place, row in rows.items():
            executed = self.executions.exam.nothing
            if place in epoch.executions:
                executed = self.executions.result(epoch.executions[place])
            # Among equal executions the lower loss decides; never so much as to outweigh one graph.
            tie_break = 1e-4 / (1 + row["validation_loss"])
            score = sum(executed.values()) / max(len(executed), 1) + tie_break
            scored[place] = row | executed | {"score": score}
        return scored

    def _keep_all(
        self, epoch: UnderWay, rows: dict[int, dict[str, float]], module: Ensemble
    ) -> None:
        for place, row in rows.items():
            progress = module.progress[place]
            row["seconds"] = round(epoch.spent["updates"], 3)
            self._keep(module.config, progress, epoch.members[place], row)
            if progress.is_finished:
                for later in self.under_way:
                    if place in later.executions:
                        later.executions[place].cancel()
        self.logs.add(epoch.number, {module.progress[place].seed: rows[place] for place in rows})
        if _is_over(module.config, module.progress):
            self.logs.flush()  # nobody writes them anew once the next file is there
        progress = json.dumps([vars(progress) for progress in module.progress])
        metadata = {"progress": progress, "epochs": str(epoch.number + 1)}
        # Weights, moments and progress are one file, so that they always fit together.
        checkpoint.write_tensors(self.folder / "resume.safetensors", epoch.state, metadata)

    def _keep(
        self, config: Config, progress: Progress, state: dict[str, Tensor], row: dict[str, float]
    ) -> None:
        epoch = len(progress.history)
        is_best = progress.add(row, config.training.patience)
        folder = self.folder / f"seed-{progress.seed}"
        # Seconds are not of the network: with them, equal networks would be different files.
        scores = {name: value for name, value in row.items() if name != "seconds"}
        told = {"seed": progress.seed, "epoch": epoch, "scores": scores} | self.provenance
        path = folder / f"epoch-{epoch:03d}.safetensors"
        checkpoint.save(path, state, config, told)
        if is_best:
            checkpoint.write_bytes(folder / "best.safetensors", path.read_bytes())
        checkpoint.write_bytes(folder / "history.csv", _csv(progress.history).encode())
        self.look.say(_line(progress, row, is_best))


def _resumable(trainer: pl.Trainer, module: Ensemble) -> dict[str, Tensor]:
    """Return the weights and Adam's moments by the names that they have in the resume file."""
    tensors = {f"network.{key}": value for key, value in module.network.state_dict().items()}
    for number, state in trainer.optimizers[0].state_dict()["state"].items():
        tensors |= {f"adam.{number}.{key}": value for key, value in state.items()}
    return tensors


def _weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of what `_resumable` returned."""
    return {key[8:]: value for key, value in state.items() if key[:8] == "network."}


def _on_host(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy tensors to the host; those of a kind in one transfer, since each one waits."""
    kinds: dict[tuple[torch.device, torch.dtype], list[str]] = {}
    for name, tensor in tensors.items():
        kinds.setdefault((tensor.device, tensor.dtype), []).append(name)
    copied: dict[str, Tensor] = {}
    for names in kinds.values():
        joined = torch.cat([tensors[name].detach().reshape(-1) for name in names]).cpu()
        parts = joined.split([tensors[name].numel() for name in names])
        for name, part in zip(names, parts, strict=True):
            copied[name] = part.view(tensors[name].shape)
    return copied


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


HOPELESS = {"validation_last_predecessor": 0.8, "validation_reachability": 0.9}
"""Steps less right than this never add up to an execution, and failing takes the longest."""


def _is_hopeless(row: dict[str, float]) -> bool:
    return any(row[name] < least for name, least in HOPELESS.items())


def _rows(tallies: dict[str, Tally], num_networks: int) -> list[dict[str, float]]:
    """Return losses and accuracies of each network."""
    figures: dict[str, Tensor] = {}
    for part, tally in tallies.items():
        means, accuracies = tally.means(), tally.accuracies()
        figures |= {f"{part}_{name}_loss": means[name] for name in WEIGHTS if name in means}
        figures[f"{part}_loss"] = tally.total()
        figures |= {f"{part}_{name}": accuracies[name] for name in METRICS if name in accuracies}
    # One wait for the device, not one for each figure.
    joined = torch.stack([value.detach().reshape(-1) for value in figures.values()]).tolist()
    return [
        {name: round(values[place], 6) for name, values in zip(figures, joined, strict=True)}
        for place in range(num_networks)
    ]


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


class Resume(pl.Callback):
    """Put weights, optimiser and epoch back to where an interrupted run left them."""

    def __init__(self, path: Path) -> None:
        self.tensors, self.metadata = checkpoint.read_tensors(path)
        self.progress = [Progress(**row) for row in json.loads(self.metadata["progress"])]

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        assert isinstance(pl_module, Ensemble)
        device = pl_module.device
        pl_module.network.load_state_dict(_weights(self.tensors))
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


@dataclass(frozen=True)
class Look:
    """Three ways to look on at a training."""

    say: Callable[[str], None]
    pause: Callable[[], bool]
    timeline: list[dict[str, float]]


def train(  # noqa: PLR0913  # what, where, and three ways to look on
    config: Config,
    seeds: Sequence[int],
    folder: Path,
    device: str = "cpu",
    resume: bool = False,
    say: Callable[[str], None] = print,
    pause: Callable[[], bool] = lambda: False,
    timeline: list[dict[str, float]] | None = None,
) -> list[Progress]:
    """Train a network for each seed in one run folder; returns how each went.

    `pause` is asked after each epoch; where it says so the call ends, and `resume` goes on.
    `timeline` gets for each epoch the seconds that its updates, its figures, the waiting for its
    executions and its keeping took. Lightning writes its advice to standard error and to the
    warnings, unless the call is inside `lightning_quiet`.
    On a GPU the updates of the paper's networks are recorded as CUDA graphs (see `recorded`), and
    the next epochs' updates go on while the validation graphs of the last ones are executed.

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
    look = Look(say, pause, [] if timeline is None else timeline)
    with locked(folder / "lock", folder):
        _prepare_folder(folder, config, seeds, device, resume)
        return _train(config, seeds, folder, device, resume, look)


def _train(
    config: Config, seeds: Sequence[int], folder: Path, device: str, resume: bool, look: Look
) -> list[Progress]:
    state = folder / "resume.safetensors"
    resumed = [Resume(state)] if resume and state.exists() else []
    for callback in resumed:
        if _is_over(config, callback.progress):
            return callback.progress
    histories = {progress.seed: progress.history for c in resumed for progress in c.progress}
    data = training_data_of(config)
    exam = Exam(config, data.train.mean_log_degree)
    kind = device.partition(":")[0]
    ahead = EPOCHS_AHEAD.get(kind, 0) if config.training.select == "execution" else 0
    with (
        # Beside a GPU the host only puts batches together. Its threads would wait for each other
        # wherever one shares its core with an execution: an epoch would take twice as long.
        one_thread(kind == "cuda"),
        memory_kept(),
        Executions(exam, processes_for(len(seeds)) if ahead else 0, look.say) as executions,
        Logs(folder, histories) as logs,
    ):
        module = Ensemble(config, seeds, data, kind == "cuda" and config.network.kind == "paper")
        keep = KeepEverything(logs, executions, ahead, device, look)
        _fit(_trainer(config, device, [keep, *resumed]), module)
    return module.progress


def _is_over(config: Config, progress: Sequence[Progress]) -> bool:
    """Tell whether no network has an epoch to come."""
    is_finished = all(one.is_finished for one in progress)
    return is_finished or max(len(one.history) for one in progress) >= config.training.max_epochs


@contextmanager
def memory_kept() -> Iterator[None]:
    """Let freed memory stay with the process until the training ends.

    Every update asks for the same arrays again. Given back in between, they come as fresh pages
    that the system has to clear first: a tenth of the time of an update on the CPU.
    """
    try:
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, 2**30)
        library.mallopt(TRIM_THRESHOLD, 2**31 - 1)
    except (AttributeError, TypeError, OSError):  # only the C library of most Linux systems can
        yield
        return
    try:
        yield
    finally:
        library.malloc_trim(0)


MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""The numbers of `mallopt`: arrays up to this size are kept, and so much free memory."""


def _fit(trainer: pl.Trainer, module: Ensemble) -> None:
    """Fit; Ctrl-C stays what it is, though Lightning turns it into an exit of the process."""
    try:
        trainer.fit(module)
    except SystemExit as error:
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        raise KeyboardInterrupt from None


@contextmanager
def lightning_quiet() -> Iterator[None]:
    """Keep Lightning's advice off the terminal; for commands, whose process is their own."""
    logger = logging.getLogger("lightning.pytorch")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logger.setLevel(before)


def _trainer(config: Config, device: str, callbacks: list[pl.Callback]) -> pl.Trainer:
    kind, _, number = device.partition(":")
    return pl.Trainer(
        accelerator="gpu" if kind == "cuda" else kind,
        devices=[int(number)] if number else 1,
        max_epochs=config.training.max_epochs,
        reload_dataloaders_every_n_epochs=1,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        log_every_n_steps=1,  # or Lightning advises to; we log epochs
        logger=False,
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
        for left in folder.rglob(".augury-*.tmp"):
            left.unlink()  # files that a killed process had not finished
        return
    for seed in seeds:
        (folder / f"seed-{seed}").mkdir(parents=True, exist_ok=True)
    told |= {"name": config.name} | provenance(device)
    checkpoint.write_bytes(path, (json.dumps(told, indent=2) + "\n").encode())
