"""The compiled search of the paper's network decides as the plain one does, step for step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import Tree, draw_weights
from augury.classical.generate import flow
from augury.classical.network import FlowNetwork
from augury.classical.simulate import simulate
from augury.neural.wiring import Wiring
from augury.paper import fast
from augury.paper.executor import NeuralExecutor
from augury.paper.networks import PaperNetwork
from augury.paper.processors import PROCESSORS
from augury.paper.recipes import Parameters
from augury.paper.reduce import best_links
from graphs import NO_ARCS
from tiny import UNEQUAL, bipartite, neural

COMPILED = [name for name in PROCESSORS if name != "gatv2"]

# 82 nodes are more than one block, and not a whole number of them.
GRAPHS = [
    *UNEQUAL,
    NO_ARCS,
    bipartite(40, p=0.1),
    bipartite(7),
    flow(np.random.default_rng(0), 12, 40, 1, 255),
]


def bold(name: str, seed: int, hidden: int = 8) -> PaperNetwork:
    """Return a network with larger random weights, so that values and stops differ by graph."""
    network = neural(name, seed, hidden)
    for parameter in network.parameters():
        parameter.data *= 2.5
    return network


def both(network: PaperNetwork, batch: Batch, seed: int) -> list[tuple[Tree, np.ndarray]]:
    weights = draw_weights(batch, np.random.default_rng(seed).spawn(len(batch.graphs)))
    found: list[tuple[Tree, np.ndarray]] = []
    for engine in ("plain", "fast"):
        executor = NeuralExecutor(network, engine=engine)
        tree = executor.search(batch, batch.capacity, weights)
        found.append((tree, executor.is_done(batch, batch.capacity, weights, tree)))
    return found


@pytest.mark.parametrize("name", COMPILED)
def test_every_search_has_the_plain_forms_steps_latents_and_predecessors(name: str) -> None:
    batch, steps, done = Batch.of(GRAPHS), set[int](), set[bool]()
    for seed in range(6):
        network = bold(name, seed)
        assert fast.is_available(network, "cpu")
        (plain, plain_done), (compiled, compiled_done) = both(network, batch, seed)
        assert plain.memory.steps == compiled.memory.steps
        torch.testing.assert_close(
            compiled.memory.latent, plain.memory.latent, atol=1e-4, rtol=1e-4
        )
        np.testing.assert_array_equal(plain.arc, compiled.arc)
        np.testing.assert_array_equal(plain_done, compiled_done)
        steps.add(plain.memory.steps)
        done.update(plain_done.tolist())
    assert min(steps) < 5 and max(steps) == 81  # one search ran into the limit of |V| − 1 steps
    assert done == {True, False}


def test_a_graph_alone_decides_as_in_a_batch() -> None:
    network = bold("mpnn", 1)
    rngs = np.random.default_rng(1).spawn(len(GRAPHS))
    batch = Batch.of(GRAPHS)
    weights = draw_weights(batch, rngs)
    together = NeuralExecutor(network).search(batch, batch.capacity, weights)
    for place, graph in enumerate(GRAPHS):
        nodes = slice(*batch.node_start[place : place + 2])
        own = weights[slice(*batch.arc_start[place : place + 2])]
        alone = NeuralExecutor(network).search(Batch.of([graph]), graph.capacity, own)
        assert torch.equal(alone.memory.latent, together.memory.latent[nodes])


@pytest.mark.parametrize("name", PROCESSORS)
def test_whole_runs_are_equal(name: str) -> None:
    executor = NeuralExecutor(neural(name, 3), neural_bottleneck=False, neural_augmentation=False)
    small = [graph for graph in GRAPHS if graph.num_nodes < 40]
    runs = [
        simulate(small, form.subroutines(), np.random.default_rng(0).spawn(len(small)))
        for form in (executor, replace(executor, engine="plain"))
    ]
    assert runs[0] == runs[1]


def test_a_processor_without_a_compiled_form_runs_in_the_plain_one() -> None:
    assert not fast.is_available(neural("gatv2"), "cpu")
    assert not fast.is_available(neural().double(), "cpu")
    assert not fast.is_available(neural(hidden=12), "cpu")


@pytest.mark.parametrize("name", COMPILED)
def test_nodes_that_share_a_row_have_what_each_would_have_alone(name: str) -> None:
    batch = Batch.of([bipartite(40, p=0.1), bipartite(7)])
    wiring, usable = Wiring.of(batch), torch.from_numpy(np.append(batch.capacity > 0, False))
    kind = usable[wiring.arc].long()
    for seed in range(4):
        network = bold(name, seed)
        executor, table = NeuralExecutor(network), network.reach_terms(torch.tensor([False, True]))
        start = torch.zeros(wiring.num_nodes, dtype=torch.bool).index_fill(0, wiring.source, True)
        links = fast.LinkArrays.of(network, table.detach().numpy(), kind.numpy(), wiring)
        own = Parameters.of_reach(network), start.long(), links
        found = fast.run(*own, wiring, fast.Ranks.of(network, wiring))
        with torch.no_grad():
            expected = executor._reach_plain(start, table[kind], wiring)
        assert found.steps == expected.steps
        assert torch.equal(found.values, expected.values.long())
        for part in ("encoded", "latent"):
            one, other = getattr(found.state, part), getattr(expected.state, part)
            torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_capacities_far_apart_share_rows() -> None:
    """Pairs of weight and capacity are found by marking when few, by sorting when many."""
    network = FlowNetwork.from_arcs(
        4, [0, 1, 2, 0], [1, 2, 3, 2], [200_000, 3, 9, 70_000], source=0, sink=3
    )
    wide = neural()
    wide.bits = 18
    wide.bit_encoder.weight.data = torch.randn(8, 18, generator=torch.Generator().manual_seed(0))
    wide.distance.weight.data = torch.randn(18, 16, generator=torch.Generator().manual_seed(1))
    (plain, _), (compiled, _) = both(wide, Batch.of([network]), 0)
    torch.testing.assert_close(compiled.memory.latent, plain.memory.latent, atol=1e-4, rtol=1e-4)


def test_the_first_of_equal_links_is_the_best() -> None:
    wiring = Wiring.of(Batch.of([bipartite(5)]))
    row = torch.arange(wiring.num_links) % 2
    for scores in ([0.0, 0.0], [0.0, 1.0], [torch.nan, 0.0], [-torch.inf, torch.nan]):
        along = torch.tensor(scores)[:, None]
        found = fast.compiled_best_links(torch.zeros(wiring.num_nodes, 1), along, row, wiring)
        assert torch.equal(found, best_links(along[row, 0], wiring))
