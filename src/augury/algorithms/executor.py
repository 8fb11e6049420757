"""A network of cells becomes an executor: evaluated at every step, or looked up in its table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from augury.algorithms import ALGORITHMS, FORD_FULKERSON
from augury.algorithms.subroutines import Observer, OnCells
from augury.cells.network import CellNetwork, Evaluated, compiled
from augury.cells.table import Decider
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    Paths,
    Subroutines,
    Tree,
    WeightArray,
    smallest_residual,
    subtract,
)
from augury.classical.graph import BoolArray, WideArray
from augury.config import NetworkConfig


@dataclass(frozen=True)
class Executor(ABC):
    """A network, and which decisions of a run are its own."""

    network: Any
    device: torch.device | str = "cpu"
    asks_reachability: bool = True
    """Whether the network says when it is done; otherwise only failures end a run."""
    neural_bottleneck: bool = True
    neural_augmentation: bool = True
    engine: str = "fast"
    """How the steps are computed: "plain" as PyTorch writes them, or a quicker form that decides
    alike, where there is one for the network and the device."""
    observer: Observer | None = None
    """Sees every step; only the plain form has any to show."""
    digest: str = ""
    """Of the weights, where they come from a checkpoint and never change."""

    def subroutines(self) -> Subroutines:
        """Return the four parts."""
        return Subroutines(
            search=self.search,
            bottleneck=self.bottleneck if self.neural_bottleneck else smallest_residual,
            augment=self.augment if self.neural_augmentation else subtract,
            is_done=self.is_done if self.asks_reachability else _never_done,
        )

    @property
    def executes(self) -> tuple[str, ...]:
        """The algorithms that its network has learnt."""
        return (FORD_FULKERSON.name,)

    @property
    @abstractmethod
    def form(self) -> str:
        """The engine that runs."""

    def in_form(self, engine: str) -> Executor:
        """Return the same with another engine; `form` tells whether it has that one."""
        return replace(self, engine=engine)

    def quickest(self) -> Executor:
        """Return the same with the quickest engine that runs any network of this kind."""
        return self.in_form("fast")

    @abstractmethod
    def search(self, batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree:
        """Find predecessors; see `classical.ford_fulkerson.Search`, and so on."""

    @abstractmethod
    def is_done(
        self, batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree, /
    ) -> BoolArray:
        """Say where no augmenting path is left."""

    @abstractmethod
    def bottleneck(
        self, batch: Batch, residual: WideArray, paths: Paths, tree: Tree, /
    ) -> WideArray:
        """Say how much each path can carry."""

    @abstractmethod
    def augment(
        self, batch: Batch, residual: WideArray, paths: Paths, bottleneck: WideArray, tree: Tree, /
    ) -> WideArray:
        """Say what each arc of the paths keeps."""


def _never_done(
    batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree, /
) -> BoolArray:
    """Leave the end to `max_failures`: the threshold heuristic of the paper."""
    return np.zeros(batch.num_graphs, np.bool_)


def make_network(config: NetworkConfig) -> CellNetwork:
    """Return an untrained discrete network, with the cells of its algorithm."""
    return CellNetwork(ALGORITHMS[config.algorithm].cells, config.hidden, config.bits)


@dataclass(frozen=True)
class CellExecutor(OnCells, Executor):
    """The discrete network as the subroutines of Ford-Fulkerson.

    `engine` is "plain", the network evaluated at every node in every step, or "lookup", its table
    read there; both decide alike. An observer sees what is evaluated.
    """

    network: CellNetwork
    engine: str = "plain"

    def in_form(self, engine: str) -> Executor:
        """See `Executor`; the table is made once."""
        return self._looked_up if engine == "lookup" else super().in_form(engine)

    def quickest(self) -> Executor:
        """See `Executor`."""
        return self._looked_up

    @cached_property
    def _looked_up(self) -> CellExecutor:
        return replace(self, engine="lookup")

    @property
    def form(self) -> str:
        """See `Executor`."""
        return "lookup" if self.engine == "lookup" and self.observer is None else "plain"

    @property
    def executes(self) -> tuple[str, ...]:
        """See `Executor`: all whose cells it has."""
        own = set(self.network.cells)
        return tuple(name for name, row in ALGORITHMS.items() if own >= set(row.cells))

    @property
    def bits(self) -> int:
        """See `OnCells`."""
        return self.network.bits

    @cached_property
    def decider(self) -> Decider:
        """See `OnCells`."""
        return compiled(self.network) if self.form == "lookup" else Evaluated(self.network)
