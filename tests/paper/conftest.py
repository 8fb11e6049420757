"""A network that has learnt one trace, for tests that need meaningful decisions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from augury.classical.trace import record
from augury.config import DataConfig
from augury.neural.batch import Samples
from augury.paper.losses import Tally, reach_losses, search_losses
from augury.paper.networks import PaperNetwork
from tiny import bipartite, neural

UPDATES = 150


def tallied(network: PaperNetwork, samples: Samples) -> Tally:
    tally, chosen = Tally(), range(len(samples))
    search_losses(network, samples.search_batch(chosen, np.random.default_rng(0)), tally)
    reach_losses(network, samples.reach_batch(chosen), tally)
    return tally


@pytest.fixture(scope="session")
def overfitted() -> tuple[PaperNetwork, list[Tally]]:
    """Return a network after updates on the rounds of one graph, and its tally before and after."""
    samples = Samples(record([bipartite(4)], np.random.default_rng(0)), DataConfig())
    network = neural(hidden=16)
    adam = torch.optim.Adam(network.parameters(), lr=5e-3)
    with torch.no_grad():
        before = tallied(network, samples)
    for _ in range(UPDATES):
        adam.zero_grad()
        tallied(network, samples).total().backward()
        adam.step()
    with torch.no_grad():
        return network.eval(), [before, tallied(network, samples)]
