"""All steps at once, compiled or step by step: the same losses and the same gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from augury.classical.trace import record
from augury.config import DataConfig
from augury.neural.batch import ReachBatch, Rows, Samples, SearchBatch
from augury.neural.layers import from_bits
from augury.neural.wiring import Wiring
from augury.paper import fast, unroll
from augury.paper.losses import Tally, reach_losses, search_losses
from augury.paper.networks import PaperNetwork
from augury.paper.processors import PROCESSORS
from augury.paper.recipes import all_codes
from tiny import UNEQUAL, bipartite, neural, samples

COMPILED = [name for name in PROCESSORS if name != "gatv2"]


def batches(stop_early: int = 0, *stop_weights: float) -> tuple[SearchBatch, ReachBatch]:
    # More than one block of nodes, and graphs that leave after different numbers of steps.
    networks = [*UNEQUAL, *(bipartite(side, seed=side) for side in (4, 6, 9))]
    weights = dict(zip(("search_stop_weight", "reach_stop_weight"), stop_weights, strict=False))
    config = DataConfig(stop_early=stop_early, **weights)
    found = Samples(record(networks, np.random.default_rng(0)), config)
    chosen = range(len(found))
    return found.search_batch(chosen, np.random.default_rng(0)), found.reach_batch(chosen)


def learnt(
    network: PaperNetwork, stop_early: int = 0, *stop_weights: float
) -> tuple[Tally, dict[str, Tensor]]:
    search, reach = batches(stop_early, *stop_weights)
    tally = Tally()
    network.zero_grad()
    search_losses(network, search, tally)
    reach_losses(network, reach, tally)
    tally.total().backward()
    gradients = {
        name: parameter.grad.clone()
        for name, parameter in network.named_parameters()
        if parameter.grad is not None
    }
    return tally, gradients


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("seed", range(3))
def test_compiled_steps_have_the_losses_and_gradients_of_plain_ones(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = neural(name, seed, hidden=16)
    assert fast.is_available(network, "cpu")
    compiled, gradients = learnt(network, seed % 2, 1 / (1 + seed), 1 / (2 + seed))
    monkeypatch.setattr(fast, "is_available", lambda network, device: False)
    plain, expected = learnt(network, seed % 2, 1 / (1 + seed), 1 / (2 + seed))
    for kind in ("loss", "right", "count"):
        for part, value in getattr(plain, kind).items():
            torch.testing.assert_close(
                getattr(compiled, kind)[part], value, rtol=1e-4, atol=1e-4, msg=f"{kind} {part}"
            )
    assert gradients.keys() == expected.keys() == dict(network.named_parameters()).keys()
    largest = max(float(gradient.abs().max()) for gradient in expected.values())
    for part, gradient in expected.items():
        # Some gradients are nothing but rounding: that of a bias which the softmax cancels.
        scale = max(float(gradient.abs().max()), 1e-3 * largest)
        torch.testing.assert_close(gradients[part], gradient, rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_training_repeats_bit_for_bit(name: str) -> None:
    one, other = (learnt(neural(name)) for _ in range(2))
    assert all(torch.equal(one[1][part], other[1][part]) for part in one[1])


@torch.no_grad()
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_steps_leave_the_latents_of_plain_ones(name: str) -> None:
    network, (search, reach) = neural(name, hidden=16), batches()
    expected = unroll.unroll_search(network, search)[0], unroll.unroll_reach(network, reach)
    found = (
        unroll.search_sums(network, search, all_codes(network)),
        unroll.reach_sums(network, reach),
    )
    for sums, state, batch in zip(found, expected, (search, reach), strict=True):
        last = state.latent[batch.rows.last]
        torch.testing.assert_close(sums.latent, last, rtol=1e-4, atol=1e-4)


def test_sums_keep_nothing_of_the_run_alive() -> None:
    """They are added up over an epoch, whose runs would otherwise all stay in memory."""
    network = neural()
    sums = unroll.search_sums(network, batches()[0], all_codes(network))
    assert sums.loss.requires_grad
    assert not sums.right.requires_grad and not sums.counted.requires_grad


@torch.no_grad()
def test_every_row_is_the_networks_own_step() -> None:
    network, (batch, _) = neural(hidden=16), batches()
    state, _ = unroll.unroll_search(network, batch)
    wiring = batch.wiring
    terms = network.search_terms(batch.weights, batch.capacities)
    distance = torch.full((wiring.num_nodes,), 255)
    distance[wiring.source] = 0
    latent, first = torch.zeros(wiring.num_nodes, 16), 0
    for count in batch.running:
        wiring = wiring.first(count)
        nodes = wiring.num_nodes
        step = network.search_step(
            distance[:nodes], latent[:nodes], terms.first(wiring.num_links), wiring
        )
        distance, latent = from_bits(network.distance_logits(step) > 0), step.latent
        torch.testing.assert_close(state.latent[first : first + nodes], step.latent)
        torch.testing.assert_close(state.encoded[first : first + nodes], step.encoded)
        first += nodes
    assert first == len(state.latent)


def test_rows_are_the_steps_laid_side_by_side() -> None:
    batch = samples().search_batch(range(len(samples())), np.random.default_rng(0))
    rows, wiring, first = batch.rows, batch.wiring, 0
    links = 0
    for step, count in enumerate(batch.running):
        own = wiring.first(count)
        nodes, end = own.num_nodes, first + own.num_nodes
        assert torch.equal(rows.place[first:end], step * wiring.num_nodes + torch.arange(nodes))
        part = slice(links, links + own.num_links)
        assert torch.equal(rows.wiring.sender[part], own.sender + first)
        assert torch.equal(rows.wiring.receiver[part], own.receiver + first)
        first, links = end, links + own.num_links
    assert first == rows.wiring.num_nodes and links == rows.wiring.num_links
    assert rows.wiring.num_graphs == sum(batch.running) == len(rows.goes_on)
    assert int(rows.goes_on.sum()) == sum(batch.running[1:])
    assert torch.equal(rows.place[rows.last] % wiring.num_nodes, torch.arange(wiring.num_nodes))
    steps = (np.array(batch.running)[:, None] > wiring.node_graph.numpy()).sum(0)
    assert (rows.place[rows.last] // wiring.num_nodes == torch.from_numpy(steps) - 1).all()


def test_repeated_wirings_have_the_tables_of_any_wiring() -> None:
    wiring = batches()[0].wiring
    rows = Rows.of(wiring, [3, 3, 1]).wiring
    expected = Wiring(*rows.tensors(), offsets=rows.offsets)
    assert rows.num_graphs == 7
    assert torch.equal(rows.tables.incoming, expected.tables.incoming)
    assert torch.equal(rows.sender[rows.start[:-1]], expected.sender[expected.start[:-1]])


def test_an_early_stop_is_that_of_the_last_step_with_a_change() -> None:
    (_, usual), (_, early) = batches(), batches(stop_early=1)
    assert early.rows.graph_counts is None
    first = 0
    for step, count in enumerate(usual.running):
        own, other = (b.rows.goes_on[first : first + count] for b in (usual, early))
        after = [*usual.running, 0, 0][step + 1 : step + 3]
        assert own.tolist() == [graph < after[0] for graph in range(count)]
        assert other.tolist() == [graph < after[1] for graph in range(count)]
        first += count
    assert int(early.rows.goes_on.sum()) < int(usual.rows.goes_on.sum())


def test_steps_after_which_a_search_stops_have_a_weight() -> None:
    network = neural("mpnn", 0, hidden=16)
    weights = (1.0, 1.0), (0.5, 0.75), (1e-9, 0.5)
    whole, half, none = (learnt(network, 0, *some)[0] for some in weights)
    lost = {name: loss - none.loss[name] for name, loss in whole.loss.items()}
    for name, loss in whole.loss.items():
        torch.testing.assert_close(loss - half.loss[name], lost[name] / 2)
        assert (lost[name] > 0) == (name in ("termination", "reach_termination"))
        assert whole.right[name] == none.right[name] and whole.count[name] == none.count[name]
