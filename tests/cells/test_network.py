"""Modules compute their formulas, in any dtype, alone and in an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from augury.algorithms.cells import CELLS, FLOOD, LEAST, NEAREST, SUBTRACT
from augury.cells.cell import Cell, mask_of
from augury.cells.network import CellNetwork, Evaluated, case_logits, compiled
from augury.neural.layers import stack
from proven import proven, untrained

MAJORITY = Cell(name="majority", own="a b c", output="most", rule=lambda own: (sum(own) > 1,))


def test_a_gathering_module_is_message_passing_with_the_maximum() -> None:
    """One message a link, as a graph network is usually written; the module sends one a kind."""
    network, rng = untrained(3), np.random.default_rng(0)
    module: Any = network["least"]
    for _ in range(20):
        kinds = torch.from_numpy(rng.integers(0, 4, int(rng.integers(1, 30))))
        own = kinds[0]
        bits = torch.stack([kinds >> 1, kinds & 1], -1).float()
        x = F.leaky_relu(module.own(bits[:1]))
        messages = [
            F.leaky_relu(module.message(torch.cat([x, F.leaky_relu(module.kind(bit[None]))], -1)))
            for bit in bits
        ]
        heard = torch.cat(messages).amax(0, keepdim=True)
        joined = F.leaky_relu(module.join(torch.cat([x, heard], -1)))
        expected = module.head(torch.cat([x, joined], -1))
        mask = mask_of(tuple(set(kinds.tolist())))
        found = module(own[None], torch.tensor([mask]))
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_the_answers_do_not_depend_on_pytorchs_default_type() -> None:
    network = proven()
    before = [case_logits(network, cell) for cell in CELLS]
    torch.set_default_dtype(torch.float64)
    try:
        after = [case_logits(network, cell) for cell in CELLS]
    finally:
        torch.set_default_dtype(torch.float32)
    for one, other in zip(before, after, strict=True):
        assert other.dtype == torch.float32 and torch.equal(one, other)


def test_a_stack_of_networks_answers_as_each_alone() -> None:
    networks = [untrained(seed) for seed in range(3)]
    ensemble = untrained()
    stack(networks, ensemble)
    for cell in CELLS:
        together = case_logits(ensemble, cell)
        alone = torch.stack([case_logits(network, cell) for network in networks])
        torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)


def test_evaluating_and_looking_up_give_the_same_answers() -> None:
    rng = np.random.default_rng(1)
    for seed in range(4):
        network = untrained(seed) if seed else proven()
        evaluated, table = Evaluated(network), compiled(network)
        for cell in (FLOOD, LEAST):
            cases = rng.integers(0, len(cell.cases), 500)
            own = np.array([cell.cases[case].own for case in cases])
            heard = np.array([mask_of(cell.cases[case].kinds) for case in cases])
            np.testing.assert_array_equal(
                evaluated.sets(cell, own, heard) > 0, table.sets(cell, own, heard) > 0
            )
        own = rng.integers(0, 8, 500)
        np.testing.assert_array_equal(
            evaluated.points(SUBTRACT, own) > 0, table.points(SUBTRACT, own) > 0
        )
        order = np.argsort(evaluated.scores(NEAREST), kind="stable")
        assert (np.diff(table.scores(NEAREST)[order].astype(int)) >= 0).all()


def test_any_cell_has_a_network() -> None:
    network = CellNetwork((MAJORITY,), 4, 8)
    assert case_logits(network, MAJORITY).shape == (8, 1)
    assert compiled(network).entries["majority"].shape == (8, 1, 1)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_gradients_reach_every_weight_of_a_cell(cell: Cell) -> None:
    network = untrained()
    case_logits(network, cell).square().sum().backward()
    for name, weight in network[cell.name].named_parameters():
        is_cancelled = (cell.name, name) == ("nearest", "score.bias")  # up to rounding
        assert weight.grad is not None and bool(weight.grad.abs().sum() > 1e-4) != is_cancelled, (
            name
        )


def test_the_weights_can_be_written_down_exactly() -> None:
    network = proven()
    told = network.weights_to_dict()
    for name, weight in network.state_dict().items():
        assert torch.equal(torch.tensor(told[name], dtype=torch.float64).float(), weight)
