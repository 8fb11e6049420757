"""Filling a batch up to one shape changes no loss and no gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from augury.classical.trace import record
from augury.config import DataConfig
from augury.neural.batch import Samples
from augury.neural.layers import stack
from augury.neural.wiring import with_tensors
from augury.paper import fast
from augury.paper.losses import Tally
from augury.paper.networks import PaperNetwork
from augury.paper.padded import PaddedBatch, Padding, Shape, padded_reach, padded_search, with_rows
from augury.training.samples import learn
from tiny import UNEQUAL, bipartite, neural

NETWORKS = [*UNEQUAL, *(bipartite(side, seed=side) for side in (4, 5, 6))]
SAMPLES = Samples(
    record(NETWORKS, np.random.default_rng(0)),
    DataConfig(stop_early=1, search_stop_weight=0.3, reach_stop_weight=0.6),
)
SHAPE = Shape.of(SAMPLES, 9)


Learnt = tuple[Tally, list[Tensor]]


def learnt(network: PaperNetwork, chosen: list[int], extra_steps: int | None) -> Learnt:
    """Return the tally and the gradients, with a batch as it is or filled up."""
    rng, tally = np.random.default_rng(1), Tally()
    network.zero_grad()
    if extra_steps is None:
        batches = SAMPLES.search_batch(chosen, rng), SAMPLES.reach_batch(chosen)
    else:
        own = [SAMPLES.samples[i] for i in chosen]
        steps = extra_steps + max(max(s.search_steps, s.reach_steps) for s in own)
        batches = (
            with_rows(*padded_search(SAMPLES, chosen, rng, SHAPE, steps)),
            with_rows(*padded_reach(SAMPLES, chosen, SHAPE, steps)),
        )
    learn(network, batches[0], [batches[1]], tally)
    tally.total().sum().backward()
    gradients = [p.grad.clone() for p in network.parameters() if p.grad is not None]
    return tally, gradients


def check_same(one: Learnt, other: Learnt) -> None:
    for kind in ("loss", "right", "count"):
        for name, value in getattr(one[0], kind).items():
            torch.testing.assert_close(
                getattr(other[0], kind)[name].float(), value.float(), rtol=1e-4, atol=1e-4
            )
    largest = max(float(gradient.abs().max()) for gradient in one[1])
    for expected, found in zip(one[1], other[1], strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5 * largest)


@pytest.mark.parametrize("name", ["mpnn", "pna", "gatv2"])
@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_filled_batch_has_the_losses_and_gradients_of_the_batch(
    name: str, is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = neural(name, hidden=16)
    if not is_compiled:
        monkeypatch.setattr(fast, "is_available", lambda network, device: False)
    for first, count, extra in ((3, 9, 3), (6, 1, 1)):
        chosen = list(range(first, first + count))
        check_same(learnt(network, chosen, None), learnt(network, chosen, extra))


def test_so_does_an_ensembles() -> None:
    together = neural()
    stack([neural(seed=seed) for seed in range(3)], together)
    chosen = list(range(2, 8))
    check_same(learnt(together, chosen, None), learnt(together, chosen, 2))


def test_every_choice_of_rounds_has_the_same_shape() -> None:
    rng = np.random.default_rng(0)
    shapes = set[tuple[object, ...]]()
    for count in (1, 5, 9, 9, 9):
        chosen = rng.choice(len(SAMPLES), count).tolist()
        batch, steps = padded_search(SAMPLES, chosen, rng, SHAPE, 20)
        rows = with_rows(batch, steps).rows
        tables = (
            batch.wiring.tables.incoming.shape,
            batch.wiring.tables.outgoing.shape,
            rows.wiring.tables.slot.shape,
        )
        shapes.add((batch.weights.shape, batch.distance.shape, steps.shape, *tables))
    assert len(shapes) == 1
    small = np.argsort([len(sample.links.sender) for sample in SAMPLES.samples])
    for extreme in ([int(small[0])] * 9, [int(small[-1])] * 9):
        batch, _ = padded_search(SAMPLES, extreme, rng, SHAPE, 20)
        assert batch.wiring.tables.incoming.shape == (SHAPE.nodes, SHAPE.width)
        assert int(batch.wiring.degree.max()) <= SHAPE.width
        assert int(batch.wiring.degree.min()) >= 1


def test_rows_made_on_a_device_are_those_of_repeated_wirings() -> None:
    batch, steps = padded_search(SAMPLES, [0, 1, 2], np.random.default_rng(0), SHAPE, 7)
    made = with_rows(batch, steps).rows.wiring
    expected = batch.wiring.repeated((batch.wiring.num_graphs,) * 7).with_tables(SHAPE.width)
    for name in ("sender", "receiver", "start", "node_graph", "node_start", "source", "degree"):
        assert torch.equal(getattr(made, name), getattr(expected, name)), name
    assert torch.equal(made.tables.incoming, expected.tables.incoming)
    assert torch.equal(made.tables.slot, expected.tables.slot)
    # The links out of a node may stand in another order; they are summed.
    assert torch.equal(made.tables.outgoing.sort().values, expected.tables.outgoing.sort().values)


def test_a_batch_is_the_same_after_a_journey_through_one_array() -> None:
    from augury.neural.batch import training_data

    config = DataConfig(train_graphs=6, validation_graphs=1, extra_graphs=4, side=5)
    padding = Padding(training_data(config), 8, 4)
    batch = padding.batch([0, 3, 5, 1], [0, 1], np.random.default_rng(0))
    again = batch.unpacked(batch.packed())
    assert again.extra is not None
    for one, other in zip(tensors_in(batch), tensors_in(again), strict=True):
        assert one.dtype == other.dtype and torch.equal(one, other)


def tensors_in(batch: PaddedBatch) -> list[Tensor]:
    found: list[Tensor] = []
    with_tensors(batch, lambda tensor: found.append(tensor) or tensor)
    assert len(found) > 50
    return found
