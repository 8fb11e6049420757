"""A discrete network that verifies: the shipped one, or one trained in seconds."""

from __future__ import annotations

import copy
from functools import cache

import numpy as np
import torch

from augury.algorithms.cells import CELLS
from augury.cells.network import CellNetwork
from augury.cells.table import Table
from augury.classical.generate import uniform
from augury.classical.network import FlowNetwork
from augury.classical.trace import record
from augury.config import preset
from augury.models.checkpoint import find, load, make_network
from augury.neural.batch import Samples
from augury.paper.losses import Tally
from augury.training.samples import learn
from augury.verify import verify

DISCRETE = preset("discrete")
BATCH = 16
MOST_UPDATES = 600
"""Five times what it took with any of the seeds that were tried."""


@cache
def _proven() -> CellNetwork:
    shipped = find("discrete")
    return load(shipped).network if shipped.exists() else _trained()


def _trained() -> CellNetwork:
    rng = np.random.default_rng(2)
    graphs = [FlowNetwork.from_bipartite(uniform(rng, DISCRETE.data.side)) for _ in range(40)]
    samples = Samples(record(graphs, rng), DISCRETE.data)
    network = untrained(seed=2)
    adam = torch.optim.Adam(network.parameters(), lr=1e-2)
    for update in range(MOST_UPDATES):
        if update % 25 == 0 and verify(network, find_counterexample=False).is_proven:
            return network.eval()
        chosen, tally = rng.choice(len(samples), BATCH, replace=False).tolist(), Tally()
        reach = samples.reach_batch(chosen)
        learn(network, samples.search_batch(chosen, rng), [reach], tally)
        adam.zero_grad()
        tally.total().backward()
        adam.step()
    raise AssertionError(f"not proven after {MOST_UPDATES} updates")


def proven() -> CellNetwork:
    """Return a copy of a network that verifies."""
    return copy.deepcopy(_proven())


def untrained(seed: int = 0) -> CellNetwork:
    """Return a network with random weights."""
    return make_network(DISCRETE.network, generator=torch.Generator().manual_seed(seed))


def of_rules() -> Table:
    """Return the table that the rules of all cells fill."""
    return Table(CELLS, {cell.name: cell.truth for cell in CELLS})
