"""A matching or flow on arrays becomes the cut that proves it to be maximum, or one beyond it.

The cut is what the source reaches over arcs that can carry more; for a matching, the left
nodes not reached and the right nodes reached are a vertex cover (König). Each is found by one of
SciPy's compiled searches and then checked on its own: a cover touches every edge, a cut has the
capacity that it should. An answer that is not maximum is completed by a plain Dinic, shared with no
solver.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from augury.classical.arrays import BoolArray, IntArray, Numbers, WideArray
from augury.classical.batch import Batch, starts
from augury.classical.graph import Arcs, BipartiteGraph

NO_COVER = "the cover misses an edge, or is not as large as the maximum"
"""Only a bug could cause this."""


def minimum_cover(graph: BipartiteGraph, mates: Numbers) -> tuple[BoolArray, BoolArray]:
    """Return which left and right nodes are in a minimum cover, given a legal matching."""
    is_matched = mates >= 0
    if is_matched.all():
        return is_matched, np.zeros(graph.num_right, np.bool_)
    left = np.flatnonzero(is_matched)
    maximum, right = len(left), mates[left]
    in_left, in_right = _tight_cover(graph, left, right, is_matched)
    if in_left is None or in_right is None:
        network = graph.as_arcs()
        flow = np.zeros(len(network.sender), np.int64)
        edges = graph.num_left + graph.edge_index(left, right)
        for pair in (left, edges, graph.num_left + len(graph.left) + right):
            flow[2 * pair], flow[2 * pair + 1] = 1, -1
        in_cut, maximum = minimum_cut(network, network.capacity - flow, maximum)
        in_left, in_right = ~in_cut[1 : 1 + graph.num_left], in_cut[1 + graph.num_left : -1]
    covers_all = bool((in_left.take(graph.left) | in_right.take(graph.right)).all())
    if not covers_all or int(in_left.sum()) + int(in_right.sum()) != maximum:
        raise AssertionError(NO_COVER)
    return in_left, in_right


def _tight_cover(
    graph: BipartiteGraph, left: Numbers, right: Numbers, is_matched: BoolArray
) -> tuple[BoolArray, BoolArray] | tuple[None, None]:
    """Return a cover as large as the matching, or None if there is none.

    From a right node the search goes on to its mate alone, so it runs over left nodes: an edge
    leads to the mate of its right node or, if there is none, to an end that is never reached.
    """
    end = graph.num_left
    start = np.flatnonzero(~is_matched).astype(np.int32)
    mate_of = np.full(graph.num_right, end, np.int32)
    mate_of[right] = left
    next_ = np.concatenate([mate_of.take(graph.right, mode="clip"), start])
    last = len(graph.left), len(next_)  # the end leads nowhere, its successor to the start
    is_reached = reached(np.append(graph.starts, last), next_, end + 1)
    if is_reached[end]:
        return None, None
    return ~is_reached[:end], is_reached.take(mate_of)


def reached(starts: WideArray, next_: IntArray, source: int) -> BoolArray:
    """Tell which nodes a source reaches; node u leads to `next_[starts[u] : starts[u + 1]]`."""
    import scipy.sparse

    shape = len(starts) - 1, len(starts) - 1
    ones = np.broadcast_to(np.float64(1), len(next_))
    matrix = scipy.sparse.csr_array((ones, next_, starts.astype(np.int32)), shape=shape)
    return _searched(matrix, source)


def source_sides(batch: Batch, residual: WideArray) -> BoolArray:
    """Tell which nodes the source of their network reaches over arcs that can carry more."""
    order, _ = batch.by_sender
    open_ = order[residual[order] > 0]
    num_open = np.bincount(batch.sender[open_], minlength=batch.num_nodes)
    heads = np.concatenate([batch.receiver[open_], batch.source])
    degree = np.append(num_open, batch.num_graphs)
    return reached(starts(degree), heads.astype(np.int32), batch.num_nodes)[:-1]


def _searched(matrix: Any, source: int) -> BoolArray:
    from scipy.sparse.csgraph import breadth_first_order

    is_reached = np.zeros(matrix.shape[0], np.bool_)
    is_reached[cast("Any", breadth_first_order)(matrix, source, return_predecessors=False)] = True
    return is_reached


def minimum_cut(network: Arcs, residual: WideArray, value: int) -> tuple[BoolArray, int]:
    """Return the source's side of a minimum cut, and the maximum flow; overwrites `residual`."""
    while (in_cut := _searched(_residual_matrix(network, residual), network.source))[network.sink]:
        value += _send_blocking_flow(network, residual)
    return in_cut, value


def _residual_matrix(network: Arcs, residual: WideArray) -> Any:
    """Return the arcs that can carry more as a CSR matrix of ones."""
    import scipy.sparse

    arcs = np.flatnonzero(residual > 0)
    ends = network.sender.take(arcs), network.receiver.take(arcs)
    shape = network.num_nodes, network.num_nodes
    ones = np.broadcast_to(np.float64(1), len(arcs))
    matrix = scipy.sparse.coo_array((ones, ends), shape=shape)
    matrix.has_canonical_format = True  # neither order nor parallel arcs matter
    return matrix.tocsr()


def _send_blocking_flow(network: Arcs, residual: WideArray) -> int:
    """Saturate all shortest paths by a depth-first search that tries no dead arc twice."""
    from scipy.sparse.csgraph import dijkstra

    matrix, source = _residual_matrix(network, residual), np.array(network.source)
    hops: Any = cast("Any", dijkstra)(matrix, indices=source, unweighted=True)
    forward = np.flatnonzero((residual > 0) & (hops[network.receiver] == hops[network.sender] + 1))
    forward = forward[np.argsort(network.sender[forward], kind="stable")]
    start = np.searchsorted(network.sender[forward], np.arange(network.num_nodes + 1))
    arcs, left = forward.tolist(), residual[forward].tolist()
    heads = network.receiver[forward].tolist()
    current, end = start[:-1].tolist(), start[1:].tolist()
    sent, path, nodes = 0, list[int](), [network.source]
    while nodes:
        node = nodes[-1]
        if node == network.sink:
            amount = min(left[at] for at in path)
            sent += amount
            for at in path:
                left[at] -= amount
            full = next(k for k, at in enumerate(path) if left[at] == 0)
            del path[full:], nodes[full + 1 :]
        elif current[node] == end[node]:  # a dead end: the arc that led here is dead too
            nodes.pop()
            if path:
                path.pop()
                current[nodes[-1]] += 1
        elif left[current[node]] == 0:
            current[node] += 1
        else:
            path.append(current[node])
            nodes.append(heads[current[node]])
    change = residual[forward] - np.array(left, np.int64)
    residual[forward] -= change
    residual[np.array(arcs, np.int64) ^ 1] += change
    return sent
