"""Our layers are PyTorch's own, and a stack of networks is each of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from augury.neural.layers import (
    GRU,
    Linear,
    Norm,
    TransformerLayer,
    draw,
    from_bits,
    stack,
    to_bits,
)
from tiny import HIDDEN, neural


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def drawn(layer: nn.Module, seed: int = 0) -> Any:
    draw(layer, torch.Generator().manual_seed(seed))
    return layer


def test_the_gru_is_that_of_pytorch() -> None:
    ours, theirs = drawn(GRU(6)), nn.GRUCell(6, 6, bias=False)
    with torch.no_grad():
        theirs.weight_ih.copy_(ours.of_input)
        theirs.weight_hh.copy_(ours.of_state)
    x, state = random(5, 6), random(5, 6, seed=1)
    torch.testing.assert_close(ours(x, state), theirs(x, state))


def test_the_transformer_layer_is_that_of_pytorch() -> None:
    ours = TransformerLayer(8, heads=2, feed_forward=12)
    theirs = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
    pairs = {
        "self_attn.in_proj_weight": ours.project.weight,
        "self_attn.in_proj_bias": ours.project.bias,
        "self_attn.out_proj.weight": ours.out.weight,
        "self_attn.out_proj.bias": ours.out.bias,
        "linear1.weight": ours.widen.weight,
        "linear1.bias": ours.widen.bias,
        "linear2.weight": ours.narrow.weight,
        "linear2.bias": ours.narrow.bias,
        "norm1.weight": ours.norm_attention.scale,
        "norm1.bias": ours.norm_attention.shift,
        "norm2.weight": ours.norm_out.scale,
        "norm2.bias": ours.norm_out.shift,
    }
    state = theirs.state_dict()
    theirs.load_state_dict(
        {
            key: random(*value.shape, seed=place)
            for place, (key, value) in enumerate(sorted(state.items()))
        }
    )
    for key, parameter in pairs.items():
        assert parameter is not None
        parameter.data.copy_(theirs.state_dict()[key].reshape(parameter.shape))
    is_padding = torch.tensor([[False, False, False], [False, True, True], [False, False, True]])
    x = random(3, 3, 8)
    expected = theirs(x, src_key_padding_mask=is_padding)
    found = ours(x.reshape(9, 8), is_padding).reshape(3, 3, 8)
    torch.testing.assert_close(found[~is_padding], expected[~is_padding], rtol=1e-4, atol=1e-5)


def test_a_part_of_a_linear_layer_sees_its_own_columns() -> None:
    linear = drawn(Linear(12, 5, bias=False))
    parts = random(7, 4), random(7, 4, seed=1), random(7, 4, seed=2)
    added = sum((linear.part(part, place) for place, part in enumerate(parts)), torch.zeros(()))
    torch.testing.assert_close(added, linear(torch.cat(parts, dim=-1)))


@pytest.mark.parametrize("bias", [False, True])
def test_initial_values_are_in_the_range_of_pytorch(bias: bool) -> None:
    linear = drawn(Linear(16, 400, bias))
    for parameter in linear.parameters():
        assert 0.24 < float(parameter.detach().abs().max()) <= 0.25


@pytest.mark.parametrize(
    "layer",
    [lambda: Linear(8, 3, bias=True), lambda: Linear(8, 3, bias=False), lambda: Norm(8)],
)
def test_a_stack_of_layers_is_each_layer(layer: type[nn.Module]) -> None:
    layers = [drawn(layer(), seed) for seed in range(3)]
    for number, one in enumerate(layers):
        for parameter in one.parameters():
            parameter.data.add_(number)
    into = layer()
    stack(layers, into)
    x = random(5, 8)
    for place, one in enumerate(layers):
        torch.testing.assert_close(into(x)[place], one(x))


def test_each_place_of_a_stack_holds_the_weights_of_its_network() -> None:
    networks = [neural("pna", seed) for seed in range(3)]
    into = neural("pna", 9)
    stack(networks, into)
    assert next(into.parameters()).shape == (3, HIDDEN, 8)
    for place, network in enumerate(networks):
        stacked = dict(into.named_parameters())
        assert stacked.keys() == dict(network.named_parameters()).keys()
        for key, value in network.named_parameters():
            assert torch.equal(stacked[key][place], value), key


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_every_integer_comes_back(bits: int) -> None:
    values = torch.arange(2**bits)
    assert torch.equal(from_bits(to_bits(values, bits) > 0), values)


def test_the_first_bit_is_the_most_significant_and_infinity_is_all_ones() -> None:
    assert to_bits(torch.tensor([[8, 15]]), 4).tolist() == [[[1, 0, 0, 0], [1, 1, 1, 1]]]
