"""A network as the parameters of a kernel, and one sentence where there is no GPU."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import torch
import torch.nn.functional as F

from augury.cells.network import compiled
from augury.engines import cuda, match_dense
from augury.errors import InputError
from augury.models.checkpoint import make_network
from proven import DISCRETE, proven


def test_the_parameters_are_those_of_the_network() -> None:
    """One node that hears two kinds, by the parameters and by the network."""
    network = proven()
    parameters = torch.from_numpy(cuda.network_parameters(network))
    parts = parameters.split([128, 64, 64, 1024, 32, 32, 2, 2, 64])
    kinds, message, own_join = (part.reshape(-1, 32) for part in parts[:3])
    joined = parts[3].reshape(32, 32)
    decided = compiled(network).entries["flood"]
    for own, mask in product((0, 1), range(16)):
        mask |= 1 << 2 * own
        present = [k for k in range(4) if mask >> k & 1]
        heard = F.leaky_relu(message[own] + kinds[present].amax(0))
        updated = F.leaky_relu(own_join[own] + heard @ joined)
        assert (updated @ parts[4] + parts[6][own] > 0) == decided[own, mask, 0]
        assert (updated @ parts[5] + parts[7][own] > 0) == decided[own, mask, 1]


def test_a_network_of_another_width_is_refused() -> None:
    other = make_network(replace(DISCRETE.network, hidden=16))
    with pytest.raises(InputError, match="32 units, a lane each, not 16"):
        cuda.network_parameters(other)


def test_without_a_gpu_one_sentence_says_so() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match=r"CuPy|CUDA device"):
        match_dense([[1]], engine="cuda-table")
