"""A round and an arc become a weight: the tie-breaks of the compiled engines.

A network takes any weights from 1 to 15, and `ford_fulkerson` draws them at random. Drawing would
cost more than a compiled search, so the compiled engines use a fixed function of arc and round.
Given the same weights (`Settings.weights`), `ford_fulkerson` makes the network take the same
decisions, which is how the engines are tested.

Matchings up to 64 nodes a side: column v prefers row `offset = (v + turn) mod rows` and those after
it (weight 1) to those before it (weight 2); all other arcs weigh 1. Ties fall to the lowest arc, by
the network's own rule. So different columns prefer different rows, and a search finds many disjoint
paths where equal weights would send all columns to row 0. Larger graphs are matched path by path:
see `phases`.

Flows have no such rule: see `flows`.
"""

from __future__ import annotations

import numpy as np

from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import WeightArray


def turn(number: int, num_left: int) -> int:
    """Return by how many rows all preferences are rotated in this round."""
    # About the golden ratio, so that consecutive rounds start far apart.
    return (number * (num_left * 5 // 8 + 1)) % num_left if num_left else 0


def turning_weights(batch: Batch, number: int) -> WeightArray:
    """Return the weights of a round for networks made by `FlowNetwork.from_bipartite`."""
    _, start = batch.by_sender
    num_left = start[batch.source + 1] - start[batch.source]
    rows = np.maximum(num_left, 1)
    shift = np.array([turn(number, count) for count in rows.tolist()], np.int64)
    # Preferences are computed per node, not per arc.
    graph = batch.node_graph
    place = np.arange(batch.num_nodes) - batch.node_start[graph] - 1
    column = place - num_left[graph]
    # Only columns and the sink have an offset, and only rows lie below it.
    offset = np.where(column >= 0, (column % rows[graph] + shift[graph]) % rows[graph], -1)
    place, offset = place.astype(np.int32), offset.astype(np.int32)
    return (place[batch.sender] < offset[batch.receiver]).view(np.uint8) + np.uint8(1)
