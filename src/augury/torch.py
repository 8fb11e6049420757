"""Assignments and matchings of tensors: whole batches, proven, on the device where they are.

    from augury.torch import linear_assignment
    columns = linear_assignment(cost)  # (problem, row) → its column, or −1

On a GPU nothing waits for the device: the calls can stand between the kernels of a training step,
in a CUDA graph, and under `torch.compile`. Indices have no gradient; take that of the costs that
they choose: `cost.gather(2, columns.clamp(min=0)[:, :, None])`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from augury.errors import InputError
from augury.extras import needs

with needs("augury.torch"):
    import torch
    from torch import Tensor

__all__ = ["Assignment", "Matching", "Status", "linear_assignment", "matching"]


class Status(IntEnum):
    """What is known of a problem.

    >>> cost = torch.tensor([[1.0, torch.inf], [2.0, torch.inf]])
    >>> Status(int(linear_assignment(cost, details=True).status)).name
    'PARTIAL'
    """

    OPTIMAL = 0
    """All of the smaller side are assigned, and no other assignment costs less: proven."""
    PARTIAL = 1
    """As many as possible are assigned, but not all, and these at the least cost: proven."""
    INVALID = 2
    """A cost is NaN or infinitely good, or a size is out of range; nothing is assigned.

    On a CPU, also if integers are so large that potentials do not fit into int64.
    """
    ROUNDED = 3
    """As OPTIMAL or PARTIAL, for costs rounded to 57 bits below the largest; only on a GPU."""
    UNPROVEN = 4
    """The proof failed, which is an error in Augury; nothing is assigned."""


OPTIMAL, PARTIAL, INVALID, ROUNDED, UNPROVEN = map(int, Status)
"""As plain integers, which a compiler takes."""


class Assignment(NamedTuple):
    """The assignments of a batch, and what proves them; all are tensors on one device.

    >>> found = linear_assignment(torch.tensor([[[4, 1, 3], [2, 0, 5]]]), details=True)
    >>> found.indices, found.costs, found.is_certified
    (tensor([[1, 0]]), tensor([3]), tensor([True]))
    >>> found.row_potentials, found.column_potentials
    (tensor([[3, 2]]), tensor([[ 0, -2,  0]]))
    """

    indices: Tensor
    """(problem, row): the column of each row, −1 for none."""
    status: Tensor
    """(problem,): a `Status`."""
    sizes: Tensor
    """(problem,): how many rows are assigned."""
    costs: Tensor
    """(problem,): the sum of their costs, as float64 or int64."""
    row_potentials: Tensor
    """(problem, row): with `column_potentials` no more than any cost, and equal where assigned.

    float64 (rounded where 53 bits are too few) or int64. Those of the larger side are at most 0,
    and 0 where nothing is assigned. When maximising, they are those of the negated costs.
    """
    column_potentials: Tensor
    is_certified: Tensor
    """(problem,): whether the status is OPTIMAL or PARTIAL."""


@overload
def linear_assignment(
    cost: Tensor,
    mask: Tensor | None = None,
    sizes: Tensor | None = None,
    maximize: bool = False,
    *,
    details: Literal[False] = False,
) -> Tensor: ...
@overload
def linear_assignment(
    cost: Tensor,
    mask: Tensor | None = None,
    sizes: Tensor | None = None,
    maximize: bool = False,
    *,
    details: Literal[True],
) -> Assignment: ...
def linear_assignment(
    cost: Tensor,
    mask: Tensor | None = None,
    sizes: Tensor | None = None,
    maximize: bool = False,
    *,
    details: bool = False,
) -> Tensor | Assignment:
    """Assign the rows of each matrix to columns so that the sum of costs is the least.

    Every answer is proven by potentials, on the device; `Status` says what was proven. Of several
    that cost the same it is the first: row 0 has the lowest column that it can have, then row 1,
    and so on; no column counts as the last. Where only one is best, it is SciPy's.

    Args:
        cost: (problem, row, column) or (row, column): float32, float64, int32 or int64; narrower
            types are widened. An infinitely bad cost forbids a pair.
        mask: of the same shape, False where a pair is forbidden.
        sizes: (problem, 2) integers: how many rows and columns of each problem count.
        maximize: find the greatest sum instead.
        details: return an `Assignment` in place of the indices alone.

    Raises:
        InputError: the shape, type or device of an argument is not one of these. What the tensors
            hold never raises: see `Status`.

    >>> linear_assignment(torch.tensor([[[4.0, 1.0, 3.0], [2.0, 0.0, 5.0]]]))
    tensor([[1, 0]])
    """
    given, mask, sizes, maximize = _checked(cost, mask, sizes, maximize)
    call = _operator if torch.compiler.is_compiling() or given.is_meta else _assigned
    indices, status, rows, columns = call(given, mask, sizes, maximize)
    if not details:
        return indices if cost.ndim == 3 else indices[0]
    is_assigned = indices >= 0
    wide = given.double() if given.is_floating_point() else given.long()
    if given.shape[2]:
        taken = wide.gather(2, indices.clamp(min=0)[:, :, None])[:, :, 0]
    else:
        taken = wide.new_zeros(indices.shape)
    found = Assignment(
        indices,
        status,
        is_assigned.sum(dim=1),
        torch.where(is_assigned, taken, 0).sum(dim=1),
        rows,
        columns,
        status <= PARTIAL,
    )
    return found if cost.ndim == 3 else Assignment(*(own[0] for own in found))


TYPES = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float32,
    torch.float64: torch.float64,
    torch.bool: torch.int32,
    torch.uint8: torch.int32,
    torch.int8: torch.int32,
    torch.int16: torch.int32,
    torch.int32: torch.int32,
    torch.int64: torch.int64,
}
"""What costs of each type are read as, without loss."""


def _checked(
    cost: Tensor, mask: Tensor | None, sizes: Tensor | None, maximize: bool
) -> tuple[Tensor, Tensor | None, Tensor | None, bool]:
    """Return the arguments as kernels take them."""
    _require_tensor(cost, "costs are")
    if cost.ndim not in (2, 3):
        axes = "(problem, row, column) or (row, column)"
        raise InputError(f"the costs have {cost.ndim} axes, not {axes}")
    if cost.dtype not in TYPES:
        raise InputError(f"costs are real numbers, and these are {cost.dtype}")
    shape = cost.shape if cost.ndim == 3 else (1, *cost.shape)
    if mask is not None:
        mask = _beside(cost, mask, "mask is", shape)
        if mask.dtype != torch.bool:
            raise InputError(f"the mask is Boolean, not {mask.dtype}")
    if sizes is not None:
        # What int32 does not hold is out of range, and must not wrap into it.
        sizes = _sizes(cost, sizes).clamp(-1, 2**31 - 1).to(torch.int32)
    given = cost.detach().reshape(shape).to(TYPES[cost.dtype]).contiguous()
    return given, mask, sizes, bool(maximize)


def _require_tensor(given: Any, what: str) -> None:
    if not isinstance(given, Tensor):
        raise InputError(f"the {what} of type {type(given).__name__}, not a tensor")
    if given.layout != torch.strided:
        raise InputError(f"the {what} sparse, and .to_dense() makes a tensor dense")


def _sizes(cost: Tensor, sizes: Tensor) -> Tensor:
    """Return (problem, 2) integers that come with costs or with graphs."""
    count = cost.shape[0] if cost.ndim == 3 else 1
    own = _beside(cost, sizes, "sizes are", (count, 2))
    if own.is_floating_point() or own.is_complex() or own.dtype == torch.bool:
        raise InputError(f"sizes are integers, not {own.dtype}")
    return own


def _beside(cost: Tensor, given: Tensor, what: str, shape: Sequence[int]) -> Tensor:
    """Return what comes with the costs in this shape; its axis of problems may be missing."""
    _require_tensor(given, what)
    if given.device != cost.device:
        raise InputError(f"the {what} on {given.device}, not on {cost.device}")
    wanted = tuple(shape) if cost.ndim == 3 else tuple(shape[1:])
    if tuple(given.shape) != wanted:
        name = what.split()[0]
        raise InputError(f"the shape of the {name} is {tuple(given.shape)}, not {wanted}")
    return given.reshape(tuple(shape)).contiguous()


Found = tuple[Tensor, Tensor, Tensor, Tensor]
"""Indices, status, and the potentials of rows and columns."""


def _assigned(cost: Tensor, mask: Tensor | None, sizes: Tensor | None, maximize: bool) -> Found:
    if not cost.is_cuda:
        return _on_cpu(cost, mask, sizes, maximize)
    from augury.engines.cuda_assign import assign

    indices, status, rows, columns = assign(cost, mask, sizes, maximize)
    return indices, status, rows, columns


_operator = torch.library.custom_op("augury::linear_assignment", _assigned, mutates_args=())


@_operator.register_fake
def _(cost: Tensor, mask: Tensor | None, sizes: Tensor | None, maximize: bool) -> Found:
    count, num_rows, num_columns = cost.shape
    wide = torch.float64 if cost.is_floating_point() else torch.int64
    return (
        cost.new_empty((count, num_rows), dtype=torch.int64),
        cost.new_empty((count,), dtype=torch.int32),
        cost.new_empty((count, num_rows), dtype=wide),
        cost.new_empty((count, num_columns), dtype=wide),
    )


def _on_cpu(cost: Tensor, mask: Tensor | None, sizes: Tensor | None, maximize: bool) -> Found:
    """Assign by the compiled loops of the CPU."""
    from augury.engines import assignments

    costs, allowed = cost.numpy(), None if mask is None else mask.numpy()
    own = np.full((len(costs), 2), costs.shape[1:]) if sizes is None else sizes.numpy()
    fits: Any = ((own >= 0) & (own <= costs.shape[1:])).all(axis=1)
    own = np.where(fits[:, None], own, 0)
    found = assignments.assign_dense(
        costs, maximise=maximize, allowed=allowed, sizes=own, partial=True
    )
    status = found.status.astype(np.int32)  # INFEASIBLE is PARTIAL now
    status[~fits] = Status.INVALID
    return (
        torch.from_numpy(found.columns),
        torch.from_numpy(status),
        torch.from_numpy(found.row_price),
        torch.from_numpy(found.column_price),
    )


class Matching(NamedTuple):
    """The matchings of a batch, and what proves them; all are tensors on one device.

    >>> found = matching(torch.tensor([[[1, 1, 0], [1, 0, 0], [1, 0, 0]]]), details=True)
    >>> found.indices, found.sizes, found.is_certified
    (tensor([[ 1, -1,  0]]), tensor([2]), tensor([True]))
    >>> found.row_cover, found.column_cover
    (tensor([[ True, False, False]]), tensor([[ True, False, False]]))
    """

    indices: Tensor
    """(graph, row): the column of each row, −1 for none."""
    status: Tensor
    """(graph,): a `Status`: OPTIMAL (none is larger), INVALID or UNPROVEN."""
    sizes: Tensor
    """(graph,): how many rows have a column."""
    row_cover: Tensor
    """(graph, row): with `column_cover` as many nodes as matched edges; they touch every edge."""
    column_cover: Tensor
    is_certified: Tensor
    """(graph,): whether the status is OPTIMAL."""


@overload
def matching(
    adjacency: Tensor, sizes: Tensor | None = None, *, details: Literal[False] = False
) -> Tensor: ...
@overload
def matching(
    adjacency: Tensor, sizes: Tensor | None = None, *, details: Literal[True]
) -> Matching: ...
def matching(
    adjacency: Tensor, sizes: Tensor | None = None, *, details: bool = False
) -> Tensor | Matching:
    """Match as many rows of each graph to columns as possible: −1 where a row has none.

    Every answer is proven by a cover, on the device. Of several it is the one that `match_dense`
    finds, on a CPU and a GPU.

    Args:
        adjacency: (graph, row, column) or (row, column) of any real numbers; all but 0 are edges.
        sizes: (graph, 2) integers: how many rows and columns of each graph count.
        details: return a `Matching` in place of the indices alone.

    Raises:
        InputError: the shape, type or device of an argument is not one of these. What the tensors
            hold never raises: a graph with NaN, or of a size out of range, is INVALID.

    >>> matching(torch.tensor([[[1, 1, 0], [1, 0, 0], [0, 0, 1]]]))
    tensor([[1, 0, 2]])
    """
    _require_tensor(adjacency, "adjacency is")
    if adjacency.ndim not in (2, 3):
        axes = "(graph, row, column) or (row, column)"
        raise InputError(f"the adjacency has {adjacency.ndim} axes, not {axes}")
    if adjacency.is_complex():
        raise InputError(f"the adjacency holds real numbers, not {adjacency.dtype}")
    given = adjacency.detach()
    given = given if given.ndim == 3 else given[None]
    count, num_rows, num_columns = given.shape
    edges = given if given.dtype == torch.bool else given != 0
    is_valid = torch.ones(count, dtype=torch.bool, device=given.device)
    if given.is_floating_point():
        is_valid = ~given.isnan().any(dim=2).any(dim=1)
        edges = edges & is_valid[:, None, None]
    if sizes is not None:
        own = _sizes(adjacency, sizes)
        rows, columns = own.long().unbind(dim=1)
        fits = (rows >= 0) & (rows <= num_rows) & (columns >= 0) & (columns <= num_columns)
        is_valid = is_valid & fits
        # In a graph that does not fit, no row counts.
        rows = torch.where(is_valid, rows, 0)
        row_counts = torch.arange(num_rows, device=own.device) < rows[:, None]
        column_counts = torch.arange(num_columns, device=own.device) < columns[:, None]
        edges = edges & row_counts[:, :, None] & column_counts[:, None, :]
    call = _matching_operator if torch.compiler.is_compiling() or given.is_meta else _matched
    indices, is_proven, row_cover, column_cover = call(edges.contiguous())
    status = torch.where(is_proven, OPTIMAL, UNPROVEN)
    status = torch.where(is_valid, status, INVALID).to(torch.int32)
    indices = torch.where((status == OPTIMAL)[:, None], indices, -1)
    if not details:
        return indices if adjacency.ndim == 3 else indices[0]
    found = Matching(
        indices,
        status,
        (indices >= 0).sum(dim=1),
        row_cover,
        column_cover,
        status == OPTIMAL,
    )
    return found if adjacency.ndim == 3 else Matching(*(own[0] for own in found))


def _matched(edges: Tensor) -> Found:
    """Return indices, which are proven, and the covers of rows and columns."""
    if edges.is_cuda:
        return _matched_on_gpu(edges)
    from augury.classical.covers import covers_of
    from augury.engines import as_bytes, match_dense

    graphs = as_bytes(edges.numpy())
    found = covers_of(graphs, match_dense(graphs).mates)
    own = found.mates.astype(np.int64), found.is_proven, found.in_left, found.in_right
    indices, is_proven, row_cover, column_cover = map(torch.from_numpy, own)
    return indices, is_proven, row_cover, column_cover


def _matched_on_gpu(edges: Tensor) -> Found:
    from augury.engines import cuda_match

    found = cuda_match.match(cuda_match.pack(edges.view(torch.uint8)))
    places = torch.arange(8, dtype=torch.uint8, device=edges.device)

    def bits(octets: Tensor, count: int) -> Tensor:
        return (octets[:, :, None] >> places & 1).bool().flatten(1)[:, :count].contiguous()

    covers = map(bits, (found.row_cover, found.column_cover), edges.shape[1:])
    row_cover, column_cover = covers
    return found.mates.long(), found.is_proven, row_cover, column_cover


_matching_operator = torch.library.custom_op("augury::matching", _matched, mutates_args=())


@_matching_operator.register_fake
def _(edges: Tensor) -> Found:
    count, num_rows, num_columns = edges.shape
    return (
        edges.new_empty((count, num_rows), dtype=torch.int64),
        edges.new_empty((count,)),
        edges.new_empty((count, num_rows)),
        edges.new_empty((count, num_columns)),
    )
