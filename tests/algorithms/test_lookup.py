"""The compiled search decides as the NumPy form does, whatever the table says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.algorithms import executor
from augury.algorithms.cells import CELLS, FLOOD, NEAREST
from augury.algorithms.executor import CellExecutor
from augury.algorithms.lookup import flood
from augury.cells.table import Table
from augury.classical.batch import Batch
from augury.classical.generate import flow, uniform
from augury.classical.network import FlowNetwork
from proven import of_rules


def random_table(rng: np.random.Generator) -> Table:
    """Return the truth, with a random share of its entries replaced by random ones."""
    entries = dict(of_rules().entries)
    for cell, low, high in ((FLOOD, 0, 2), (NEAREST, 0, int(rng.integers(2, 20)))):
        own = entries[cell.name].copy()
        wrong = rng.random(own.shape) < rng.choice([0.0, 0.1, 1.0])
        own[wrong] = rng.integers(low, high, int(wrong.sum()))
        entries[cell.name] = own
    return Table(CELLS, entries)


def random_batch(rng: np.random.Generator) -> Batch:
    """Return graphs of several sizes, the smallest of two nodes; some arcs run in parallel."""
    networks = [FlowNetwork.from_arcs(2, [0], [1], [1], source=0, sink=1)]
    for nodes in rng.integers(3, 12, 3).tolist():
        networks.append(flow(rng, nodes, 2 * nodes, low=0, high=2))
        networks.append(FlowNetwork.from_bipartite(uniform(rng, nodes)))
    path = np.arange(30)
    networks.append(FlowNetwork.from_arcs(31, path, path + 1, path * 0 + 1, source=0, sink=30))
    return Batch.of([networks[k] for k in rng.permutation(len(networks))])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_table_floods_any_graph_as_in_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch, table = random_batch(rng), random_table(rng)
    is_usable = rng.random(batch.num_arcs) < rng.choice([0.2, 0.5, 0.9])
    weights = rng.integers(1, rng.integers(3, 17), batch.num_arcs, np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "compiled_flood", lambda batch: None)
        arc, reached = CellExecutor(table).flood(batch, is_usable, weights)
    found, is_reached, steps = flood(batch, is_usable, weights, table)
    assert found.tolist() == arc.tolist()
    assert is_reached.tolist() == reached.is_reached.tolist()
    assert steps == reached.steps
