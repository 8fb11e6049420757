"""A cell decides in the loops as its network does, in every case."""

from __future__ import annotations

from functools import cache

import numba
import pytest
import torch

from augury.algorithms.cells import CELLS, FLOOD, LEAST, SUBTRACT
from augury.cells.cell import Cell
from augury.cells.loops import Ready, evaluate, ready
from augury.cells.network import CellNetwork, Evaluated, case_logits
from augury.models.checkpoint import shipped_network
from augury.neural.layers import draw


@numba.njit
def evaluated(cell: Ready, own: int, heard: int) -> int:
    return evaluate(cell, own, heard)


@cache
def random_network(seed: int) -> CellNetwork:
    network = CellNetwork(CELLS, 32, 63)
    draw(network, torch.Generator().manual_seed(seed))
    return network


@pytest.mark.parametrize("cell", [FLOOD, LEAST, SUBTRACT], ids=lambda cell: cell.name)
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_every_case_is_decided_as_by_pytorch(cell: Cell, seed: int | None) -> None:
    network = shipped_network() if seed is None else random_network(seed)
    prepared = ready(cell, Evaluated(network))
    assert prepared.is_evaluated
    with torch.no_grad():
        logits = case_logits(network, cell).numpy()
    for case, said in zip(cell.cases, logits, strict=True):
        heard = sum(1 << kind for kind in case.kinds)
        bits = evaluated(prepared, case.own, heard)
        for output, logit in enumerate(said.tolist()):
            if abs(logit) > 1e-4:
                assert bool(bits >> output & 1) == (logit > 0), cell.words(case)
