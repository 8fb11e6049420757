"""The layers of the networks, for one network or a stack of networks.

A weight is (out, in), or (seed, out, in) in an ensemble; inputs are (…, in), or (seed, …, in).
Nothing else differs: the same code runs one network on a CPU and ten side by side on a GPU, which
the small kernels of one would leave idle. A new layer is all zeros; `draw` gives it the initial
values of PyTorch's own layers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LANES = 8
"""Numbers in a vector of compiled loops, which need layer widths that are multiples of it."""

SLOPE = 0.01
"""The slope of the leaky ReLU; PyTorch's default."""


class Linear(nn.Module):
    """x Wᵀ (+ b)."""

    def __init__(self, num_inputs: int, num_outputs: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(_zeros(num_outputs, num_inputs))
        self.bias = nn.Parameter(_zeros(1, num_outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) → (…, out)."""
        product = x @ self.weight.mT
        return product if self.bias is None else product + self.bias

    def part(self, x: Tensor, position: int) -> Tensor:
        """Apply only the columns for the input at this position of a concatenation."""
        return self.columns(x, position * x.shape[-1])

    def columns(self, x: Tensor, first: int) -> Tensor:
        """Apply only the columns from `first` on, as many as the input is wide."""
        return x @ self.weight[..., first : first + x.shape[-1]].mT


class GRU(nn.Module):
    """A gated recurrent cell without biases whose input is as wide as its state."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.of_input = nn.Parameter(_zeros(3 * hidden, hidden))
        self.of_state = nn.Parameter(_zeros(3 * hidden, hidden))

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        """(…, K), (…, K) → (…, K)."""
        reset, update, new = (x @ self.of_input.mT).chunk(3, dim=-1)
        reset_state, update_state, new_state = (state @ self.of_state.mT).chunk(3, dim=-1)
        keep = torch.sigmoid(update + update_state)
        proposal = torch.tanh(new + torch.sigmoid(reset + reset_state) * new_state)
        return torch.lerp(proposal, state, keep)


class Norm(nn.Module):
    """Layer normalisation over the last axis."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(_zeros(1, hidden) + 1)
        self.shift = nn.Parameter(_zeros(1, hidden))

    def forward(self, x: Tensor) -> Tensor:
        """(…, K) → (…, K)."""
        return F.layer_norm(x, x.shape[-1:]) * self.scale + self.shift


class TransformerLayer(nn.Module):
    """One encoder layer over short sequences: attention, then a feed-forward part, with norms.

    Sequences are rows of (…, walk, place, K), flattened to (…, walk * place, K) for the linear
    parts so that stacked weights apply. No dropout: the task has no noise.
    """

    def __init__(self, hidden: int, heads: int, feed_forward: int = 32) -> None:
        super().__init__()
        self.heads = heads
        self.project = Linear(hidden, 3 * hidden, bias=True)
        self.out = Linear(hidden, hidden, bias=True)
        self.widen = Linear(hidden, feed_forward, bias=True)
        self.narrow = Linear(feed_forward, hidden, bias=True)
        self.norm_attention, self.norm_out = Norm(hidden), Norm(hidden)

    def draw(self, generator: torch.Generator) -> None:
        """Replace what its layers drew with the initial values of PyTorch's attention."""
        bound = math.sqrt(6 / (4 * self.project.weight.shape[-1]))  # Xavier
        nn.init.uniform_(self.project.weight, -bound, bound, generator)
        for linear in (self.project, self.out):
            assert linear.bias is not None
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, is_padding: Tensor) -> Tensor:
        """(…, walk * place, K) and (walk, place) → (…, walk * place, K)."""
        walks, places = is_padding.shape

        def split(part: Tensor) -> Tensor:  # → (…, walk, head, place, K / head)
            rows = part.unflatten(-2, (walks, places)).unflatten(-1, (self.heads, -1))
            return rows.transpose(-3, -2)

        query, key, value = (split(part) for part in self.project(x).chunk(3, dim=-1))
        score = query @ key.mT / math.sqrt(query.shape[-1])
        score = score.masked_fill(is_padding[:, None, None, :], -torch.inf)
        mixed = (score.softmax(-1) @ value).transpose(-3, -2).flatten(-2).flatten(-3, -2)
        x = self.norm_attention(x + self.out(mixed))
        return self.norm_out(x + self.narrow(F.relu(self.widen(x))))


def draw(network: nn.Module, generator: torch.Generator) -> None:
    """Draw the initial weights of all layers, in order of definition."""

    def drawn(module: nn.Module) -> None:
        if isinstance(module, TransformerLayer):
            module.draw(generator)
        elif isinstance(module, Linear | GRU):
            weights = list(module.parameters())
            bound = 1 / math.sqrt(weights[0].shape[-1])
            for weight in weights:
                nn.init.uniform_(weight, -bound, bound, generator)

    network.apply(drawn)  # children before their parents


def _zeros(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.float32)


def stack(networks: Sequence[nn.Module], into: nn.Module) -> None:
    """Set the weights of `into` to those of these networks, stacked along a new first axis."""
    states = [network.state_dict() for network in networks]
    for key, _ in list(into.named_parameters()):
        owner, _, name = key.rpartition(".")
        weights = torch.stack([state[key] for state in states])
        setattr(into.get_submodule(owner), name, nn.Parameter(weights))


def to_bits(values: Tensor, bits: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """(…,) integers → (…, bit) zeros and ones, the most significant first.

    >>> to_bits(torch.tensor([5, 255]), 8).tolist()[0]
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    """
    shift = torch.arange(bits - 1, -1, -1, device=values.device)
    return ((values.unsqueeze(-1) >> shift) & 1).to(dtype)


def from_bits(is_one: Tensor) -> Tensor:
    """(…, bit) booleans → (…,) integers.

    >>> from_bits(to_bits(torch.tensor([5, 255]), 8) > 0).tolist()
    [5, 255]
    """
    bits = is_one.shape[-1]
    place = 1 << torch.arange(bits - 1, -1, -1, device=is_one.device)
    return (is_one * place).sum(-1)
