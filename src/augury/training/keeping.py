"""After each epoch networks are scored and kept, and a run can be resumed from what was kept.

A network that has not improved for `patience` epochs is finished, and what the others still do no
longer affects it. An interrupted run goes on from its last epoch and ends with the same weights and
logs as one that was never interrupted.
"""

from __future__ import annotations

import csv
import io
import json
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor

from augury.config import Config
from augury.models import checkpoint
from augury.paper.losses import WEIGHTS, Tally
from augury.provenance import provenance
from augury.training.ensemble import Ensemble, Progress
from augury.training.executions import Execution, Executions
from augury.training.logs import Logs

METRICS = (
    "last_predecessor", "predecessor", "bottleneck_true_negative", "bottleneck", "augmentation",
    "reachability", "termination", "reach_termination",
)  # fmt: skip
"""Accuracies on the validation rounds; the first is the paper's stopping criterion."""


@dataclass(frozen=True)
class Look:
    """Hooks for observing a training."""

    say: Callable[[str], None]
    pause: Callable[[], bool]
    timeline: list[dict[str, float]]


@dataclass(frozen=True, eq=False)
class UnderWay:
    """An epoch whose updates are done, but whose executions may not be."""

    number: int
    rows: list[dict[str, float]]
    """Losses and accuracies of each network."""
    state: dict[str, Tensor]
    """What the resume file will hold."""
    members: list[dict[str, Tensor]]
    """The weights of each network."""
    executions: dict[int, Execution]
    """By the network's place; a finished or hopeless one has none."""
    spent: dict[str, float]
    """Seconds spent, by activity."""

    @property
    def is_back(self) -> bool:
        """Whether there is nothing to wait for."""
        return all(execution.is_back for execution in self.executions.values())


class KeepEverything(pl.Callback):
    """After each epoch: score and keep every network, write the history and the resume file.

    Epochs are kept in order, each once its executions are back; meanwhile the updates of up to
    `ahead` more may run. What is written does not depend on `ahead`: updates beyond the last epoch
    are discarded.
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
        """Save everything about the epoch, and have its networks executed."""
        updated = time.perf_counter()
        tallies = {"train": module.taken_tally(), "validation": module.validated()}
        rows = _rows(tallies, len(module.progress))
        state = {
            name: tensor.detach().to("cpu", copy=True)
            for name, tensor in _resumable(trainer, module).items()
        }
        members = module.members(_weights(state))
        executions = {
            place: self.executions.submit(members[place])
            for place, row in enumerate(rows)
            if not module.progress[place].is_finished
            and module.config.training.select != "paper"
            and not any(row[name] < least for name, least in HOPELESS.items())
        }
        spent = {"updates": updated - self.started, "figures": time.perf_counter() - updated}
        return UnderWay(trainer.current_epoch, rows, state, members, executions, spent)

    def _finish(self, trainer: pl.Trainer, module: Ensemble, ahead: int) -> None:
        """Keep the epochs that are back, waiting until at most `ahead` are left."""
        while (
            self.under_way
            and not self.is_over
            and (len(self.under_way) > ahead or self.under_way[0].is_back)
        ):
            epoch = self.under_way.popleft()
            started = time.perf_counter()
            rows = self._scored(epoch, module)  # Ctrl-C may interrupt this
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
            executed = self.executions.validation.nothing
            if place in epoch.executions:
                executed = self.executions.result(epoch.executions[place])
            # Among equal executions the lower loss decides, but never outweighs a graph.
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
        if is_over(module.config, module.progress):
            self.logs.flush()  # a finished run's logs are never rewritten
        progress = json.dumps([vars(progress) for progress in module.progress])
        metadata = {"progress": progress, "epochs": str(epoch.number + 1)}
        # Weights, moments and progress are one file, so they always match.
        checkpoint.write_tensors(self.folder / "resume.safetensors", epoch.state, metadata)

    def _keep(
        self, config: Config, progress: Progress, state: dict[str, Tensor], row: dict[str, float]
    ) -> None:
        epoch = len(progress.history)
        is_best = progress.add(row, config.training.patience)
        folder = self.folder / f"seed-{progress.seed}"
        # Without seconds, so that equal networks are equal files.
        scores = {name: value for name, value in row.items() if name != "seconds"}
        told = {"seed": progress.seed, "epoch": epoch, "scores": scores} | self.provenance
        path = folder / f"epoch-{epoch:03d}.safetensors"
        checkpoint.save(path, state, config, told)
        if is_best:
            checkpoint.write_bytes(folder / "best.safetensors", path.read_bytes())
        checkpoint.write_bytes(folder / "history.csv", _csv(progress.history).encode())
        self.look.say(_line(progress, row, is_best))


def _resumable(trainer: pl.Trainer, module: Ensemble) -> dict[str, Tensor]:
    """Return the weights and Adam's moments by their names in the resume file."""
    tensors = {f"network.{key}": value for key, value in module.network.state_dict().items()}
    for number, state in trainer.optimizers[0].state_dict()["state"].items():
        tensors |= {f"adam.{number}.{key}": value for key, value in state.items()}
    return tensors


def _weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Pick the weights out of what `_resumable` returned."""
    own = (key for key in state if key.startswith("network."))
    return {key.removeprefix("network."): state[key] for key in own}


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Delay Ctrl-C until an epoch is kept: inside a logger's queue it would block its thread."""
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
"""Below these accuracies no execution ever succeeds, and failing ones take longest."""


def _rows(tallies: dict[str, Tally], num_networks: int) -> list[dict[str, float]]:
    """Return losses and accuracies of each network."""
    figures: dict[str, Tensor] = {}
    for part, tally in tallies.items():
        means, accuracies = tally.means(), tally.accuracies()
        figures |= {f"{part}_{name}_loss": means[name] for name in WEIGHTS if name in means}
        figures[f"{part}_loss"] = tally.total()
        figures |= {f"{part}_{name}": accuracies[name] for name in METRICS if name in accuracies}
    # Wait for the device once, not for each figure.
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
"""The accuracies in an epoch's line, where the kind of network has them."""


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
    """Restore weights, optimiser and epoch of an interrupted run."""

    def __init__(self, path: Path) -> None:
        self.tensors, self.metadata = checkpoint.read_tensors(path)
        self.progress = [Progress(**row) for row in json.loads(self.metadata["progress"])]

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: D102
        assert isinstance(pl_module, Ensemble)
        device = pl_module.device
        pl_module.network.load_state_dict(_weights(self.tensors))
        pl_module.progress = self.progress
        epochs = int(self.metadata["epochs"])
        current: Any = trainer.fit_loop.epoch_progress.current  # Lightning annotates its base class
        current.processed = current.completed = epochs
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in self.tensors.items():
            if key.startswith("adam."):
                _, number, name = key.split(".")
                state.setdefault(int(number), {})[name] = value.to(device)
        optimizer = trainer.optimizers[0]
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def is_over(config: Config, progress: Sequence[Progress]) -> bool:
    """Return whether training is over for every network."""
    is_finished = all(one.is_finished for one in progress)
    return is_finished or max(len(one.history) for one in progress) >= config.training.max_epochs
