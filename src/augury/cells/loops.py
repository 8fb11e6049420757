"""A cell is decided inside compiled loops: by its table, or by its network on the spot.

A network is evaluated as `network.Point` and `network.Gathering` write it, in float32 and in
another order of summation, which a proof allows for; the few values that own bits and kinds of
message can have are encoded once. Importing this module needs numba.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.cells.cell import Cell
from augury.cells.table import Table
from augury.compiled import compiled as on_disk

OPTIONS: Any = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
compiled: Any = on_disk(**OPTIONS)
inner: Any = on_disk(**OPTIONS, no_cpython_wrapper=True, _nrt=False)
"""For functions that only compiled ones call, and that make no arrays: they compile in less time,
and do not count references to what their caller holds, which takes longer than deciding a case."""
inlined: Any = on_disk(**OPTIONS, inline="always")
"""For functions too short to be worth passing a whole cell to."""

SLOPE = np.float32(0.01)
"""Of the leaky ReLU below 0."""


class Weights(NamedTuple):
    """A network's weights for a cell; without messages all but the first and last two are empty."""

    own: Any
    """(own, hidden): the own bits, encoded."""
    sent: Any
    """(kind, hidden): what a message of each kind adds."""
    message: Any
    """(own, hidden): what the own part adds to that."""
    join: Any
    """(2 · hidden, hidden)"""
    head: Any
    """(output, hidden or 2 · hidden)"""
    bias: Any
    """(output,)"""


class Ready(NamedTuple):
    """A cell, ready to be decided; the last two are written."""

    is_evaluated: bool
    decided: Any
    """(own, set): what the table says, an output in each bit, the first in the lowest."""
    weights: Weights
    received: Any
    """(hidden,)"""
    joined: Any
    """(hidden,)"""


def ready(cell: Cell, decider: Any) -> Ready:
    """Prepare a cell for the loops; `decider` is a `Table`, or an `Evaluated` network.

    A cell that is not one of the decider's must not be asked.
    """
    is_evaluated = not isinstance(decider, Table)
    is_own = cell in (decider.network if is_evaluated else decider).cells
    decided = np.zeros((1, 1), np.int8)
    none = np.zeros((0, 0), np.float32)
    weights = Weights(none, none, none, none, none, np.zeros(0, np.float32))
    if is_evaluated and is_own:
        weights = Weights(*decider.weights(cell))
    elif is_own:
        outputs = np.arange(len(cell.outputs), dtype=np.int8)
        decided = ((decider.entries[cell.name] > 0) << outputs).sum(-1, dtype=np.int8)
    hidden = weights.own.shape[1]
    return Ready(is_evaluated, decided, weights, *(np.zeros(hidden, np.float32) for _ in range(2)))


@inlined
def decide(cell: Ready, own: int, heard: int) -> Any:
    """Decide one case, given own bits and a set of kinds; the first output is in the lowest bit.

    A cell without messages hears the empty set.
    """
    return evaluate(cell, own, heard) if cell.is_evaluated else np.int64(cell.decided[own, heard])


@inner
def evaluate(cell: Ready, own: int, heard: int) -> int:
    """Evaluate the network of a cell."""
    weights, hidden = cell.weights, cell.weights.own.shape[1]
    if heard:
        _join(cell, own, heard)
    bits = 0
    for output in range(len(weights.bias)):
        total = weights.bias[output]
        for i in range(hidden):
            total += weights.own[own, i] * weights.head[output, i]
        for i in range(hidden if heard else 0):
            total += cell.joined[i] * weights.head[output, hidden + i]
        bits |= int(total > 0) << output
    return bits


@inner
def _join(cell: Ready, own: int, heard: int) -> None:
    """Join what is heard with what the cell itself knows."""
    weights, hidden = cell.weights, cell.weights.own.shape[1]
    for i in range(hidden):
        loudest = np.float32(-np.inf)
        for kind in range(len(weights.sent)):
            if heard >> kind & 1:
                loudest = max(loudest, weights.sent[kind, i])
        loudest += weights.message[own, i]
        cell.received[i] = max(loudest, SLOPE * loudest)
        cell.joined[i] = np.float32(0)
    for j in range(hidden):
        for i in range(hidden):
            cell.joined[i] += weights.own[own, j] * weights.join[j, i]
            cell.joined[i] += cell.received[j] * weights.join[hidden + j, i]
    for i in range(hidden):
        cell.joined[i] = max(cell.joined[i], SLOPE * cell.joined[i])
