"""Looking only at what changed leaves every decision of the discrete network as it was."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    BREADTH_FIRST,
    Settings,
    Tree,
    draw_weights,
    ford_fulkerson,
)
from augury.classical.generate import flow, ladder_state, sparse
from augury.classical.network import FlowNetwork
from augury.config import NetworkConfig
from augury.neural import discrete
from augury.neural.discrete import DiscreteExecutor, DiscreteNetwork
from augury.neural.kinds import make_network
from graphs import NO_ARCS
from proven import proven
from tiny import UNEQUAL, bipartite

RNG = np.random.default_rng(5)
GRAPHS = [
    *UNEQUAL,
    NO_ARCS,
    bipartite(20, p=0.15),
    FlowNetwork.from_bipartite(sparse(RNG, 30, 3.0)),
    ladder_state(RNG, 12),
    *(flow(RNG, nodes, 3 * nodes, 0, 40) for nodes in (5, 14)),
]


def untrained(seed: int) -> DiscreteNetwork:
    config = NetworkConfig(kind="discrete", hidden=8, bits=20)
    network = make_network(config, generator=torch.Generator().manual_seed(seed))
    for parameter in network.parameters():
        parameter.data *= 3
    return network


def searches(network: DiscreteNetwork, batch: Batch, residual: np.ndarray) -> list[Tree]:
    weights = draw_weights(batch, [np.random.default_rng(9)] * len(GRAPHS))
    return [
        DiscreteExecutor(network, engine=engine).search(batch, residual, weights)
        for engine in ("plain", "fast")
    ]


def check_same(plain: Tree, fast: Tree) -> None:
    np.testing.assert_array_equal(plain.arc, fast.arc)
    assert torch.equal(plain.memory.is_reached, fast.memory.is_reached)
    assert plain.memory.steps == fast.memory.steps


def test_every_round_of_the_proven_network_searches_alike() -> None:
    network, rounds = proven(), 0
    parts = DiscreteExecutor(network, engine="plain").subroutines()
    rngs = np.random.default_rng(0).spawn(len(GRAPHS))
    for round_ in ford_fulkerson(Batch.of(GRAPHS), parts, rngs, Settings(many_paths=True)):
        check_same(*searches(network, round_.batch, round_.residual))
        rounds += 1
    assert rounds > 4


def test_an_untrained_network_searches_alike_too() -> None:
    """Its bits fall as well as rise, and it stops when it likes."""
    batch, shares, steps = Batch.of(GRAPHS), set[int](), set[int]()
    for seed in range(40):
        plain, fast = searches(untrained(seed), batch, batch.capacity)
        check_same(plain, fast)
        shares.add(int(plain.memory.is_reached.sum()))
        steps.add(plain.memory.steps)
    assert len(shares) > 3 and len(steps) > 2


def test_without_numba_the_plain_form_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = Batch.of(GRAPHS)
    expected, _ = searches(proven(), batch, batch.capacity)
    monkeypatch.setattr(discrete, "_frontier", lambda: None)
    check_same(expected, searches(proven(), batch, batch.capacity)[1])


def test_searching_on_behind_the_sink_costs_no_rounds() -> None:
    """A subtree's longer paths must not hide its shortest ones, which alone are applied."""
    graphs = [
        FlowNetwork.from_bipartite(sparse(np.random.default_rng(n), 120, 3.0)) for n in (0, 1)
    ]
    rounds = []
    for parts in (BREADTH_FIRST, DiscreteExecutor(proven()).subroutines()):
        rngs = np.random.default_rng(0).spawn(len(graphs))
        run = ford_fulkerson(Batch.of(graphs), parts, rngs, Settings(many_paths=True))
        rounds.append([sorted(round_.paths.arcs.tolist()) for round_ in run])
    assert rounds[0] == rounds[1]
