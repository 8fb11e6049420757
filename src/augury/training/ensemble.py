"""Batches train a network, or several with stacked weights, as a module for Lightning.

Seeds of an ensemble differ in their initial weights; data and the order of samples are the same for
all. Their weights are stacked, their losses added, and Adam treats every number by itself, so each
network is trained as if it were alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from torch import Tensor

from augury.config import Config
from augury.models.checkpoint import make_network
from augury.neural.batch import ReachBatch, SearchBatch, TrainingData, moved, training_data
from augury.neural.layers import stack
from augury.paper.losses import Tally
from augury.paper.padded import PaddedBatch, Padding
from augury.paper.recorded import Recorder
from augury.training.samples import learn


@dataclass
class Progress:
    """How one seed's training has gone so far."""

    seed: int
    history: list[dict[str, float]] = field(default_factory=list)
    """A row for each epoch: losses, accuracies, executions, score."""
    best_epoch: int = -1
    is_finished: bool = False

    def add(self, row: dict[str, float], patience: int) -> bool:
        """Add an epoch's row; returns whether it is the best so far."""
        self.history.append(row)
        epoch = len(self.history) - 1
        is_best = self.best_epoch < 0 or row["score"] > self.history[self.best_epoch]["score"]
        if is_best:
            self.best_epoch = epoch
        self.is_finished = epoch - self.best_epoch >= patience
        return is_best


class Epoch:
    """The batches of one epoch; seed, epoch and place determine their rounds and walks.

    A `DataLoader` around it would add nothing, and draw from PyTorch's global random numbers.
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
    """The same batches padded to one shape, for `recorded`."""

    @cached_property
    def padding(self) -> Padding:
        """What they are padded to; the same in every epoch."""
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
        """Move a batch; a padded one stays, as the recorder packs it on the host first."""
        if isinstance(batch, PaddedBatch):
            return batch
        return tuple(part if part is None else moved(part, device) for part in batch)

    def training_step(self, batch: Any, place: int) -> Any:
        """Return the sum of all networks' losses, or None for an update that is already done."""
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

    def on_train_epoch_start(self) -> None:
        """Set the learning rate of the epoch."""
        training = self.config.training
        if training.decay == "none":
            return
        share = (1 + math.cos(math.pi * self.current_epoch / training.max_epochs)) / 2
        for group in self.trainer.optimizers[0].param_groups:
            if isinstance(group["lr"], Tensor):  # a recorded update reads it in place
                group["lr"].fill_(share * training.learning_rate)
            else:
                group["lr"] = share * training.learning_rate

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam, as in the paper; on a CPU all weights in one call."""
        rate, on_cpu = self.config.training.learning_rate, self.device.type == "cpu"
        form: Any = {"fused": True} if on_cpu else {"foreach": True, "capturable": self.is_recorded}
        if self.is_recorded and self.config.training.decay != "none":
            form["lr"] = torch.tensor(rate, device=self.device)
        return torch.optim.Adam(self.network.parameters(), **{"lr": rate} | form)

    def taken_tally(self) -> Tally:
        """Return the tally of the epoch's updates, and start a new one."""
        if self.recorder is not None:
            return self.recorder.taken()
        tally, self.tally = self.tally, Tally()
        return tally

    def members(self, weights: dict[str, Tensor]) -> list[dict[str, Tensor]]:
        """Split the stacked weights into those of each network."""
        if len(self.progress) == 1:
            return [weights]
        stacked = {key for key, _ in self.network.named_parameters()}
        return [
            {key: value[place] if key in stacked else value for key, value in weights.items()}
            for place in range(len(self.progress))
        ]

    @torch.no_grad()
    def validated(self) -> Tally:
        """Run the validation rounds, always with the same walks."""
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
    # Only the paper's network has distances; their width is that of its integers.
    bits = config.network.bits if config.network.kind == "paper" else 8
    return training_data(config.data, bits)


def initial_network(config: Config, data: TrainingData, seed: int) -> Any:
    """Return the untrained network of a seed."""
    generator = torch.Generator("cpu").manual_seed(seed)
    return make_network(config.network, data.train.mean_log_degree, generator)
