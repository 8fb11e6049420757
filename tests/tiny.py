"""Small unequal networks, their rounds, and neural networks with random weights."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch import Tensor

from augury.classical.batch import Batch
from augury.classical.generate import uniform
from augury.classical.network import FlowNetwork
from augury.classical.trace import record
from augury.config import Config, DataConfig, NetworkConfig, preset, with_settings
from augury.models.checkpoint import make_network
from augury.neural.batch import Samples
from augury.paper.networks import PaperNetwork
from graphs import BRIDGE, NETWORKS, STRAIGHT

HIDDEN = 8

UNEQUAL = [BRIDGE, NETWORKS["jobs"], STRAIGHT, NETWORKS["isolated"], NETWORKS["star"]]
"""3 to 8 nodes, capacities up to 7."""


def bipartite(side: int, seed: int = 0, p: float = 0.4) -> FlowNetwork:
    return FlowNetwork.from_bipartite(uniform(np.random.default_rng(seed), side, p=p))


def neural(processor: str = "mpnn", seed: int = 0, hidden: int = HIDDEN) -> PaperNetwork:
    """Return a network with random weights, large enough that every part of it matters."""
    config = NetworkConfig(processor=processor, hidden=hidden, heads=2)
    return make_network(config, 1.2, torch.Generator().manual_seed(seed))


@cache
def samples() -> Samples:
    """Return the rounds of the unequal networks."""
    return Samples(record(UNEQUAL, np.random.default_rng(0)), DataConfig())


def random_arcs(batch: Batch, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return weights and capacities of all arcs."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 16, batch.num_arcs)
    return torch.from_numpy(weights), torch.from_numpy(rng.integers(0, 3, batch.num_arcs))


def tiny_config(name: str = "paper-mpnn", *more: str) -> Config:
    """Return settings with which training takes a second."""
    settings = (
        "data.train_graphs=8",
        "data.validation_graphs=3",
        "data.side=4",
        "network.hidden=8",
        "training.max_epochs=3",
        "training.execution_graphs=2",
        "training.execution_scales=(1,)",
    )
    return with_settings(preset(name), [*settings, *more])
