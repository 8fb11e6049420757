"""Batches of traces become the cases that the cells of Ford-Fulkerson see in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from augury.algorithms.cells import CELLS, FLOOD, LEAST, NEAREST, SUBTRACT, WEIGHT_BITS
from augury.cells import learning
from augury.cells.cell import Cell
from augury.cells.learning import Seen
from augury.cells.network import CellNetwork
from augury.neural.batch import ReachBatch, SearchBatch
from augury.neural.wiring import Walks
from augury.paper.losses import Tally, reach_losses, search_losses
from augury.paper.networks import PaperNetwork

TERMS = {
    "flood": {"reached": "reachability", "changed": "termination"},
    "nearest": {"": "predecessor"},
    "least": {"candidate": "bottleneck"},
    "subtract": {"digit": "augmentation", "borrow": "augmentation"},
}
"""The term of the loss to which each output of each cell contributes."""


def seen_in(
    search: SearchBatch, reach: Sequence[ReachBatch], cells: Sequence[Cell] = CELLS
) -> Iterator[Seen]:
    """Yield every case that these cells see in a batch."""
    for batch in reach:
        yield from _floods(batch)
    if LEAST in cells:
        yield from _comparisons(search.walks)
    if SUBTRACT in cells:
        yield from _subtractions(search.walks)


def _floods(batch: ReachBatch) -> Iterator[Seen]:
    """Yield every node in every step, and the links into each node that is reached in it."""
    is_reached = torch.zeros_like(batch.reached[0])
    is_reached[batch.wiring.source] = True
    for step, num_running in enumerate(batch.running):
        wiring = batch.wiring.first(num_running)
        before, after = is_reached[: wiring.num_nodes], batch.reached[step, : wiring.num_nodes]
        kind = 2 * before[wiring.sender] + batch.is_usable[: wiring.num_links].long()
        padding = kind.new_full((1,), -1)
        yield Seen(FLOOD, before.long(), torch.cat([kind, padding])[wiring.tables.incoming])
        new = wiring.tables.incoming[after & ~before]
        weighted = kind << WEIGHT_BITS | batch.weights[: wiring.num_links]
        yield Seen(NEAREST, new[:, 0], torch.cat([weighted, padding])[new])
        is_reached = after


def _comparisons(walks: Walks) -> Iterator[Seen]:
    """Yield every arc of a walk at every digit, from the top down."""
    value, is_there = walks.capacities, ~walks.is_padding
    smallest = value.amin(-1, keepdim=True)
    is_candidate = is_there
    for place in range(_width(value) - 1, -1, -1):
        own = 2 * is_candidate + (value >> place & 1)
        heard = own.masked_fill(walks.is_padding, -1).unsqueeze(1).expand(-1, own.shape[1], -1)
        yield Seen(LEAST, own[is_there], heard[is_there])
        is_candidate = is_candidate & (value >> place == smallest >> place)


def _subtractions(walks: Walks) -> Iterator[Seen]:
    """Yield every arc of a walk less the smallest, at every digit from the bottom up."""
    value, is_there = walks.capacities, ~walks.is_padding
    smallest = value.amin(-1, keepdim=True)
    for place in range(_width(value)):
        below = (1 << place) - 1
        borrow = (value & below) < (smallest & below)
        own = (value >> place & 1) << 2 | (smallest >> place & 1) << 1 | borrow.long()
        yield Seen(SUBTRACT, own[is_there])


def _width(value: Tensor) -> int:
    return int(value.max()).bit_length()


def learn(
    network: PaperNetwork | CellNetwork,
    search: SearchBatch,
    reach: Sequence[ReachBatch],
    tally: Tally,
) -> None:
    """Add up all losses of a network, of either kind, on a batch."""
    if isinstance(network, CellNetwork):
        for learnt in learning.learn(network, seen_in(search, reach, network.cells), TERMS):
            tally.add(*learnt)
        # Steps have no history here, so the last one is like any other.
        for sums in (tally.loss, tally.right, tally.count):
            sums["last_predecessor"] = sums["predecessor"].detach()
    else:
        search_losses(network, search, tally)
        for part in reach:
            reach_losses(network, part, tally)
