"""Walks, compiled: losses and gradients of every layer are those of PyTorch in double precision."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from augury.paper.losses import Tally, _walk_losses
from augury.paper.networks import PaperNetwork
from augury.paper.recipes import all_codes
from augury.paper.unroll import walk_sums
from tiny import neural, samples

TERMS = "bottleneck", "bottleneck_true_negative", "augmentation"


def sharp(processor: str) -> PaperNetwork:
    """Return a network whose attention prefers some places: its softmax must have gradients."""
    network = neural(processor, hidden=16)
    with torch.no_grad():
        for parameter in network.bottleneck_layer.parameters():
            parameter.mul_(4)
    return network


@pytest.mark.parametrize("processor", ["mpnn", "pna"])
def test_every_layer_has_the_gradient_of_the_plain_form(processor: str) -> None:
    network = sharp(processor)
    exact = copy.deepcopy(network).double()
    batch = samples().search_batch(range(len(samples())), np.random.default_rng(0))
    shape = batch.wiring.num_nodes, network.hidden
    latent = torch.randn(shape, generator=torch.Generator().manual_seed(0), requires_grad=True)
    wide = latent.detach().double().requires_grad_()
    sums, tally = walk_sums(network, batch, all_codes(network), latent), Tally()
    _walk_losses(exact, batch, wide, tally)
    (sums.loss @ torch.tensor([0.7, 0.0, 1.3])).backward()
    (0.7 * tally.loss["bottleneck"] + 1.3 * tally.loss["augmentation"]).backward()
    for place, term in enumerate(TERMS):
        assert float(sums.loss[place].detach()) == pytest.approx(
            float(tally.loss[term].detach()), rel=1e-4
        )
        assert float(sums.right[place]) == float(tally.right[term])
        assert float(sums.counted[place]) == float(tally.count[term])
    pairs = [("latent", latent, wide)]
    for (name, own), other in zip(network.named_parameters(), exact.parameters(), strict=True):
        pairs += [(name, own, other)] if other.grad is not None else []
    assert len(pairs) == 1 + 3 + 12 + 4  # latents, what makes messages, and the layers after them
    for name, own, other in pairs:
        assert own.grad is not None and other.grad is not None
        # Query, key and value by themselves, as the first two are far smaller.
        count = 3 if "project" in name else 1
        axis = -1 if "bias" in name else 0
        parts = zip(own.grad.chunk(count, axis), other.grad.chunk(count, axis), strict=True)
        for found, expected in parts:
            # A softmax cancels some: nothing but rounding is left of them.
            atol = max(1e-3 * float(expected.abs().max()), 1e-5)
            torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=atol, msg=name)
