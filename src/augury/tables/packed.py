"""Graphs in lists become answers as arrays, with no Python object for a row.

Each function solves what it can of a table, and tells which rows it leaves to others: those that
are unclear, and those whose answer it does not prove.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import BoolArray, WideArray
from augury.classical.batch import starts, sums
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.certificate import MAXIMUM
from augury.classical.proofs import flows_of, matchings_of
from augury.engines.gpu import CUDA_TABLE
from augury.engines.table import match_packed, push_flows
from augury.inputs.packed import Arcs, as_flows, as_matchings, as_small
from augury.solver import MAX_CELLS, Runner
from augury.tables.columns import FLOW, MATCHING, lists_of, numbers_of, repeated

if TYPE_CHECKING:
    import pyarrow as pa

Packed = tuple[dict[str, Any], BoolArray]
"""The columns of the answers, and which rows are unclear."""


def matchings(table: pa.Table, runner: Runner) -> Packed:
    """Match graphs of any size; on a GPU of up to 1,024 nodes a side."""
    (left, no_left), (right, no_right) = (lists_of(table, name) for name in MATCHING.lists)
    counts = (numbers_of(table, name) for name in MATCHING.counts)
    batch, is_unclear = as_matchings(left, right, *counts)
    if runner.engine.device == CUDA_TABLE.device:
        mates, is_proven = _on_gpu(batch, runner)
        sizes = sums(mates >= 0, batch.left)
    else:
        mates, _ = runner.engine.match_batch(batch, runner.executor)
        proofs = matchings_of(batch, mates)
        sizes, is_proven = proofs.sizes, proofs.is_proven
    is_unclear |= no_left | no_right | ~is_proven
    return pairs(mates, batch.left, sizes, runner), is_unclear


def small_matchings(table: pa.Table, runner: Runner) -> Packed:
    """Match graphs of at most 64 nodes a side; others are left for `matchings`."""
    from augury.classical.loops import prove_small

    (left, no_left), (right, no_right) = (lists_of(table, name) for name in MATCHING.lists)
    numbers = (numbers_of(table, name) for name in MATCHING.counts)
    start, ends, counts, is_small = as_small(left, right, *numbers)
    mates, _ = match_packed(start, ends, counts)
    sizes, is_proven = np.empty(len(is_small), np.int64), np.empty(len(is_small), np.bool_)
    prove_small(start, ends, counts, mates, (sizes, is_proven))
    is_left = no_left | no_right | ~is_small | ~is_proven
    return pairs(mates, starts(counts[0]), sizes, runner), is_left


def pairs(
    mates: npt.NDArray[Any], first: WideArray, sizes: WideArray, runner: Runner
) -> dict[str, Any]:
    """Return matchings as columns; `first` has the first row of each graph."""
    from augury.classical.loops import list_pairs

    start = starts(sizes)
    left, right = np.empty((2, int(start[-1]) + 1), np.int32)
    list_pairs(mates, first, left, right)
    columns = {"size": sizes, "left": left[:-1], "right": right[:-1]}
    return _columns(columns, start, runner)


def _on_gpu(batch: BipartiteBatch, runner: Runner) -> tuple[npt.NDArray[Any], BoolArray]:
    """Match and prove the graphs of each shape as stacks, except any that are too large."""
    from augury.engines.cuda_match import MOST_SIDE

    mates, is_proven = np.full(int(batch.left[-1]), -1, np.int32), np.zeros(len(batch), np.bool_)
    sides = np.diff(batch.left), np.diff(batch.right)
    for own, shape in by_shape(*sides, MAX_CELLS):
        if max(shape) > MOST_SIDE:
            continue
        rows = (batch.left[own][:, None] + np.arange(shape[0])).reshape(-1)
        proven = runner.engine.prove_stack(_stack(batch, rows, shape), runner.executor)
        if proven is not None:
            proofs: Any = proven[1]
            mates[rows] = proofs.mates.reshape(-1)
            is_proven[own] = proofs.is_proven
    return mates, is_proven


def by_shape(
    num_left: WideArray, num_right: WideArray, most: int
) -> Iterator[tuple[WideArray, tuple[int, int]]]:
    """Yield the numbers of graphs of one shape, and it: at most `most` cells, or one graph."""
    order = np.lexsort((num_right, num_left))
    is_new = (np.diff(num_left[order]) != 0) | (np.diff(num_right[order]) != 0)
    for own in np.split(order, np.flatnonzero(is_new) + 1):
        if len(own):
            shape = int(num_left[own[0]]), int(num_right[own[0]])
            many = max(1, most // max(1, shape[0] * shape[1]))
            yield from ((own[k : k + many], shape) for k in range(0, len(own), many))


def _stack(batch: BipartiteBatch, rows: WideArray, shape: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Return these rows of a batch as matrices of one shape."""
    degree = batch.indptr[rows + 1] - batch.indptr[rows]
    stack = np.zeros((len(rows), shape[1]), np.uint8)
    edges = entries(batch.indptr[rows], degree)
    stack[np.repeat(np.arange(len(rows)), degree), batch.indices[edges]] = 1
    return stack.reshape(-1, *shape)


def entries(first: WideArray, counts: WideArray) -> WideArray:
    """Return the places of `counts` entries from each `first` on."""
    return np.repeat(first - starts(counts)[:-1], counts) + np.arange(int(counts.sum()))


def flows(table: pa.Table, runner: Runner) -> Packed:
    """Find maximum flows."""
    lists, missing = zip(*(lists_of(table, name) for name in FLOW.lists), strict=True)
    arcs = Arcs(*lists, *(numbers_of(table, name) for name in (*FLOW.ends, *FLOW.counts)))
    batch, is_unclear = as_flows(arcs)
    residual, _ = push_flows(batch, runner.executor.network.bits)
    proofs = flows_of((), batch, residual)
    arc = np.flatnonzero(proofs.flow > 0)
    start = starts(sums(proofs.flow > 0, batch.arc_start))
    shift = np.repeat(batch.node_start[:-1], np.diff(start)).astype(np.int32)
    told = batch.sender[arc] - shift, batch.receiver[arc] - shift, proofs.flow[arc]
    columns = {"size": proofs.sizes.astype(np.int64)} | dict(zip(FLOW.found, told, strict=True))
    is_unclear |= np.any(missing, axis=0) | ~proofs.is_proven
    return _columns(columns, start, runner), is_unclear


Pack = Callable[["pa.Table", Runner], Packed]


def _columns(
    columns: dict[str, npt.NDArray[Any]], start: WideArray, runner: Runner
) -> dict[str, Any]:
    """Return what was found and proven as columns: all but the size are lists with these starts."""
    import pyarrow as pa

    offsets, count = pa.array(start.astype(np.int32)), len(start) - 1
    told = {"verdict": MAXIMUM, "engine": str(runner.engine.name)}
    return {name: repeated(text, count) for name, text in told.items()} | {
        name: pa.array(values) if name == "size" else pa.ListArray.from_arrays(offsets, values)
        for name, values in columns.items()
    }
