"""The kinds of network: how each is made, and who executes it. One line for a further kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from augury.algorithms import ALGORITHMS
from augury.algorithms.executor import CellExecutor, Executor
from augury.cells.network import CellNetwork
from augury.config import NetworkConfig
from augury.neural.layers import draw
from augury.paper.executor import NeuralExecutor
from augury.paper.networks import PaperNetwork


class Kind(NamedTuple):
    """How to build and run one kind of network."""

    make: Callable[[NetworkConfig, float], nn.Module]
    """From the configuration and the mean log-degree of the training graphs."""
    executor: Callable[[Any, torch.device | str], Executor]


NETWORKS: dict[str, Kind] = {
    "paper": Kind(PaperNetwork, NeuralExecutor),
    "discrete": Kind(
        lambda config, _: CellNetwork(
            ALGORITHMS[config.algorithm].cells, config.hidden, config.bits
        ),
        CellExecutor,
    ),
}


def make_network(
    config: NetworkConfig,
    mean_log_degree: float = 1.0,
    generator: torch.Generator | None = None,
    device: str = "cpu",
) -> Any:
    """Return an untrained network, with the initial weights that the generator draws.

    Without one they are zero, to be loaded: no random number is taken from anybody. On the device
    "meta" they have only their shapes.
    """
    with torch.device(device):  # whatever the host's default is
        network = NETWORKS[config.kind].make(config, mean_log_degree)
    if generator is not None:
        draw(network, generator)
    return network


def executor_of(network: nn.Module, device: torch.device | str = "cpu") -> Executor:
    """Return the executor of a network."""
    kind = "discrete" if isinstance(network, CellNetwork) else "paper"
    return NETWORKS[kind].executor(network, device)
