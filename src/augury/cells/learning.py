"""What cells see in traces becomes losses.

A network's answer depends on the case alone, so each case is evaluated once and weighted by how
often it was seen. The targets come from the cells' rules; a trace only tells which cases occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from augury.cells.cell import Cell, mask_of
from augury.cells.network import CellNetwork, case_logits, expectations


class Seen(NamedTuple):
    """Cases of one cell, one per row."""

    cell: Cell
    own: Tensor
    """(row,) own bits; for a choice only the number of rows matters."""
    kind: Tensor | None = None
    """(row, place) messages; −1 is padding."""


def learn(
    network: CellNetwork, seen: Iterable[Seen], terms: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, Tensor, Tensor, Tensor | None]]:
    """Yield losses and verdicts of a network, each (…, entry), on everything that its cells saw.

    First comes the term of the loss that they belong to, `terms[cell][output]`, where the output of
    a choice is ""; last (entry,), how often each entry counts, None for once.
    """
    counts: dict[Cell, Tensor] = {}
    scores: dict[Cell, Tensor] = {}
    for some in seen:
        cell = some.cell
        if cell.joins != "choice":
            counts[cell] = counts.get(cell, 0) + _counts(some)
            continue
        scores[cell] = scores[cell] if cell in scores else network[cell.name]()
        assert some.kind is not None
        yield terms[cell.name][""], *_chosen(scores[cell], cell, some.kind), None
    for cell, often in counts.items():
        logits = case_logits(network, cell)
        expected = expectations(cell, logits.device)
        wanted = expected.to(logits.dtype).expand_as(logits)
        losses = F.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
        right = (logits > 0) == expected
        for place, output in enumerate(cell.outputs):
            yield terms[cell.name][output], losses[..., place], right[..., place], often


def _counts(seen: Seen) -> Tensor:
    """(case,): how often each case was seen."""
    cell, heard = seen.cell, torch.zeros_like(seen.own)
    if seen.kind is not None:
        kinds = torch.arange(len(cell.kinds), device=seen.kind.device)
        is_heard = (seen.kind.unsqueeze(-1) == kinds).any(-2)  # (row, kind)
        heard = (is_heard.long() << kinds).sum(-1)
    case = _case_numbers(cell).to(seen.own.device)[seen.own, heard]
    return torch.bincount(case, minlength=len(cell.cases))


@lru_cache(maxsize=64)
def _case_numbers(cell: Cell) -> Tensor:
    """(own, set): the number of each case; −1 for those that never occur."""
    numbers = torch.full(cell.shape[:2], -1, dtype=torch.int64, device="cpu")
    for number, case in enumerate(cell.cases):
        numbers[case.own, mask_of(case.kinds)] = number
    return numbers


def _chosen(scores: Tensor, cell: Cell, kind: Tensor) -> tuple[Tensor, Tensor]:
    """Let each row choose a message: (…, row) losses and verdicts; any of best rank is right."""
    is_padding = kind < 0
    kind = kind.clamp(min=0)
    rank = torch.from_numpy(cell.truth).to(kind.device)[kind].masked_fill(is_padding, -1)
    is_best = rank == rank.amax(-1, keepdim=True)
    rows = scores[..., kind].masked_fill(is_padding, -torch.inf)  # (…, row, place)
    losses = -rows.log_softmax(-1).masked_fill(~is_best, -torch.inf).logsumexp(-1)
    right = is_best.expand_as(rows).gather(-1, rows.argmax(-1, keepdim=True)).squeeze(-1)
    return losses, right
