"""A matching of least cost becomes the first of all that are as large and cost as little.

Left node 0 gets the least right node that it can have, then left node 1, and so on; having none
counts as the last. The result depends neither on how a matching was found nor on its prices, as
long as they prove it: the best matchings are those along tight edges that leave out no node whose
price forbids it. The way from one to the first is in `ways`.
"""

from __future__ import annotations

import numpy as np

from augury.classical.arrays import Numbers, WideArray
from augury.classical.graph import BipartiteGraph
from augury.classical.ways import Ways, settle

MANY_EDGES = 2**11
"""From this many tight edges on, a graph repays the import of numba."""


def first_in_order(graph: BipartiteGraph, mates: Numbers, price: WideArray) -> WideArray:
    """Return the first of all matchings as good as this one, which the prices prove to be best."""
    assert graph.costs is not None
    num_left, num_right = graph.num_left, graph.num_right
    of_left, of_right = price[1 : 1 + num_left], price[1 + num_left : -1]
    reduced = graph.costs.to_minimise + of_left[graph.left] - of_right[graph.right]
    tight, found = np.flatnonzero(reduced == 0), np.array(mates, np.int64)
    size = int((found >= 0).sum())
    # A node priced like the source or the sink can be left out, if any has to be.
    rows = np.flatnonzero(of_left == price[0]) if size < num_left else tight[:0]
    columns = np.flatnonzero(of_right == price[-1]) if size < num_right else tight[:0]
    parts = graph.left[tight], graph.right[tight], rows, columns
    num_edges = len(tight) + len(rows) + len(columns)
    if num_edges < MANY_EDGES:
        own = found.tolist()
        ways = Ways.of(num_left, num_right, num_edges, lambda size: [0] * size)
        settle(ways, own, *(part.tolist() for part in parts))
        return np.array(own, np.int64)
    from augury.classical.loops import settle_first

    dtype = np.int32 if num_edges < 2**31 else np.int64
    ways = Ways.of(num_left, num_right, num_edges, lambda size: np.zeros(size, dtype))
    settle_first(ways, found, *(part.astype(np.int64) for part in parts))
    return found
