"""The forms in which a network runs; a new one takes one file and one line.

What all of them share, and which tests compare it, is in docs/architecture.md, "Engines".
Everything here takes numbers and returns numbers, and knows neither labels nor files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.algorithms.executor import CellExecutor
from augury.classical.arrays import refuse_text, unmasked
from augury.engines.engine import Engine, Mates
from augury.engines.gpu import CUDA, CUDA_TABLE
from augury.engines.sharded import SHARDED
from augury.engines.stepwise import FAST, LOOKUP, PLAIN
from augury.engines.table import TABLE, match_sparse
from augury.errors import Choices, InputError
from augury.models import shipped_table

if TYPE_CHECKING:
    from augury.cells.network import CellNetwork
    from augury.cells.table import Table

__all__ = ["ENGINES", "as_bytes", "match_dense", "match_sparse"]

AUTO = "auto"
"""The quickest form of a network: hand-written loops if it is proven; see `solver.runner_of`."""

_ALL: tuple[Engine, ...] = (PLAIN, LOOKUP, FAST, TABLE, CUDA, CUDA_TABLE, SHARDED)
ENGINES = Choices({str(engine.name): engine for engine in _ALL})
ENGINES.noun = "engines"


def match_dense(
    adjacency: npt.ArrayLike,
    *,
    engine: str = "table",
    network: CellNetwork | Table | None = None,
    threads: int = 1,
) -> Mates:
    """Match every graph of a batch of dense adjacency arrays.

    Args:
        adjacency: (graph, left, right), or (left, right) for one graph; non-zero entries are edges.
        engine: a name in `ENGINES`.
        network: the discrete network, by default the shipped one.
        threads: the most that share the graphs of `table`; a small batch uses fewer.

    >>> match_dense([[1, 1], [1, 0]]).mates
    array([1, 0], dtype=int32)
    """
    given = unmasked(adjacency, "adjacency")
    refuse_text(given, "the adjacency")
    if given.ndim not in (2, 3):
        axes = "(graph, left, right) or (left, right)"
        raise InputError(f"the adjacency has {given.ndim} axes, not {axes}")
    if threads < 1:
        raise InputError(f"the graphs are shared by at least one thread, not {threads}")
    chosen = ENGINES[engine]
    if network is None and chosen.reads_weights:
        from augury.models.checkpoint import shipped_network

        network = shipped_network()
    network = shipped_table() if network is None else network
    stacked = as_bytes(given if given.ndim == 3 else given[None])
    found = chosen.match(stacked, CellExecutor(network).in_form(engine), threads)
    return found if given.ndim == 3 else Mates(found.mates[0], found.rounds)


def as_bytes(adjacency: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return bytes of 0 and 1, without a copy if they are that already.

    A Boolean array may hold other bytes: `np.array([2], np.uint8).view(bool)` is True.
    """
    is_bytes = adjacency.dtype in (np.bool_, np.uint8)
    octets = np.ascontiguousarray(adjacency if is_bytes else adjacency != 0).view(np.uint8)
    return octets if octets.max(initial=0) <= 1 else (octets != 0).view(np.uint8)
