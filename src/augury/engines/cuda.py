"""A GPU by way of CuPy, and a network as the parameters of a kernel.

CuPy compiles kernels when they are first used; it is the optional extra `cuda`. Those for matchings
are in `cuda_match`, those for assignments in `cuda_assign`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.errors import InputError
from augury.extras import needs

with needs("this engine"):
    import torch

    from augury.cells.network import CellNetwork
    from augury.neural.isolation import inference

FOLDER = Path(__file__).parent
MOST_MEMORY = 48 * 1024
"""Bytes of shared memory that a block may take without asking for more."""

UNITS = 32
"""The width of a network that `network.cu` evaluates: the lanes of a warp."""


def cupy() -> Any:
    """Import CuPy, and say what to do if it or the GPU is missing."""
    with needs("this engine"):
        import cupy as module  # type: ignore[reportMissingImports]
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError:
        count = 0
    if not count:
        raise InputError("this engine needs a CUDA device, and there is none")
    return module


@inference()
def network_parameters(network: CellNetwork) -> npt.NDArray[np.float32]:
    """Return the parameters that `network.cu` reads, by the network's own layers, flat.

    In order: the message of each kind (4, K), what a node's own bit adds to it (2, K) and to the
    join (2, K), the join's weights by input (K, K), the weights of "reached" and "changed" (2, K),
    what the own bit adds to these (2, 2), and the scores of links (2, 2, 16).
    """
    hidden = network.hidden
    if hidden != UNITS:
        raise InputError(f"on a GPU a network has {UNITS} units, a lane each, not {hidden}")
    flood: Any = network["flood"]
    bits = torch.arange(2, device=network.device)
    nodes = flood.encoded(bits)
    # Nothing is heard yet, so this is what the own bit and the bias add up to.
    constants = flood.head(torch.cat([nodes, torch.zeros_like(nodes)], dim=-1))
    parts = [
        flood.sent(),
        flood.message.columns(nodes, 0),
        flood.join.columns(nodes, 0),
        flood.join.weight[:, hidden:].T,
        flood.head.weight[:, hidden:],
        constants.T,
        network["nearest"](),
    ]
    return torch.cat([part.reshape(-1) for part in parts]).cpu().numpy().astype(np.float32)
