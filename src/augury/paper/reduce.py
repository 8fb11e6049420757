"""Values of senders and links become statistics per receiver: the inner loop of every network.

`reduce_links(sent, along, wiring, kinds)` computes, for value[link] = sent[sender[link]] +
along[link], the maximum, minimum, sum or sum of squares over the links into each node, with
gradients. That suffices, because a linear message splits into parts of the sender, the link and the
receiver, and the last can be added after the reduction.

There are three forms, tested equal. For gradients and ensembles, the links of the small graphs are
laid out in a table (node, width), where the gradient of a gather is a gather, so that runs are
reproducible bit for bit. For execution, in memory linear in the links, a compiled loop on the CPU
reads each value once; on a GPU, PyTorch reduces the sorted links segment by segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from augury.neural.wiring import Wiring

KINDS = ("max", "min", "sum", "square")


def reduce_links(
    sent: Tensor, along: Tensor, wiring: Wiring, kinds: Sequence[str] = ("max",)
) -> list[Tensor]:
    """Reduce sent[sender] + along over the links into each node.

    Args:
        sent: (…, node, k), what each node sends.
        along: (…, link, k), what each link adds.
        wiring: who hears whom.
        kinds: which of `KINDS` to return, in this order, each (…, node, k).
    """
    is_learning = torch.is_grad_enabled() and (sent.requires_grad or along.requires_grad)
    if is_learning or sent.ndim > 2 or along.ndim > 2:
        values = gather_senders(sent, wiring) + along
        return [_IN_TABLES[kind](values, wiring) for kind in kinds]
    if sent.device.type == "cpu":
        return _in_loops(sent, along, wiring, kinds)
    return _in_segments(sent, along, wiring, kinds)


def best_links(scores: Tensor, wiring: Wiring) -> Tensor:
    """(link,) → (node,): the link with the highest score into each node, the first among equals.

    Finite weights can be so large that a score is NaN, which counts as the lowest.
    """
    scores = torch.where(scores.isnan(), -torch.inf, scores)
    highest = torch.segment_reduce(scores, "max", offsets=wiring.start, axis=0)
    link = torch.arange(wiring.num_links, device=scores.device)
    link = torch.where(scores == highest[wiring.receiver], link, wiring.num_links)
    best = torch.full((wiring.num_nodes,), wiring.num_links, device=scores.device)
    return best.scatter_reduce(0, wiring.receiver, link, "amin")


def gather_senders(nodes: Tensor, wiring: Wiring) -> Tensor:
    """(…, node, k) → (…, link, k): what the sender of each link holds."""
    return _GatherSenders.apply(nodes, wiring)


def gather_nodes(nodes: Tensor, index: Tensor) -> Tensor:
    """(…, node, k) → (…, entry, k): what some nodes hold; a node may occur more than once."""
    return _GatherNodes.apply(nodes, index) if nodes.is_cuda else nodes.index_select(-2, index)


def pad_incoming(links: Tensor, wiring: Wiring, fill: float) -> Tensor:
    """(…, link, k) → (…, node, width, k): the links into each node, rows padded with `fill`."""
    return _PadIncoming.apply(links, wiring, fill)


_IN_TABLES = {
    "max": lambda values, wiring: pad_incoming(values, wiring, -torch.inf).amax(-2),
    "min": lambda values, wiring: pad_incoming(values, wiring, torch.inf).amin(-2),
    "sum": lambda values, wiring: pad_incoming(values, wiring, 0.0).sum(-2),
    "square": lambda values, wiring: pad_incoming(values, wiring, 0.0).square().sum(-2),
}


def _in_loops(sent: Tensor, along: Tensor, wiring: Wiring, kinds: Sequence[str]) -> list[Tensor]:
    from augury.paper.loops import reduce  # numba takes a while to import

    shape = wiring.num_nodes, sent.shape[1]
    found = {kind: sent.new_empty(shape if kind in kinds else (0, 0)) for kind in KINDS}
    tensors = sent.contiguous(), along.contiguous(), wiring.sender, wiring.start, *found.values()
    reduce(*(tensor.detach().numpy() for tensor in tensors))
    return [found[kind] for kind in kinds]


def _in_segments(sent: Tensor, along: Tensor, wiring: Wiring, kinds: Sequence[str]) -> list[Tensor]:
    values = sent[wiring.sender] + along
    return [
        torch.segment_reduce(values.square(), "sum", offsets=wiring.start, axis=0)
        if kind == "square"
        else torch.segment_reduce(values, kind, offsets=wiring.start, axis=0)
        for kind in kinds
    ]


class _GatherSenders(torch.autograd.Function):
    """A gather whose gradient sums over outgoing links in a fixed order, without atomics."""

    @staticmethod
    def forward(ctx: Any, nodes: Tensor, wiring: Wiring) -> Tensor:
        ctx.wiring = wiring
        return nodes.index_select(-2, wiring.sender)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return _rows(grads[0], ctx.wiring.tables.outgoing, 0.0).sum(-2), None


class _GatherNodes(torch.autograd.Function):
    """A gather whose gradient is a product with zeros and ones: reproducible bit for bit."""

    @staticmethod
    def forward(ctx: Any, nodes: Tensor, index: Tensor) -> Tensor:
        ctx.index, ctx.num_nodes = index, nodes.shape[-2]
        return nodes.index_select(-2, index)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        nodes = torch.arange(ctx.num_nodes, device=ctx.index.device)
        return (nodes[:, None] == ctx.index).to(grads[0].dtype) @ grads[0], None


class _PadIncoming(torch.autograd.Function):
    """Every link is in the table once, so the gradient is a gather as well."""

    @staticmethod
    def forward(ctx: Any, links: Tensor, wiring: Wiring, fill: float) -> Tensor:
        ctx.wiring = wiring
        return _rows(links, wiring.tables.incoming, fill)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return grads[0].flatten(-3, -2).index_select(-2, ctx.wiring.tables.slot), None, None


def _rows(links: Tensor, table: Tensor, fill: float) -> Tensor:
    padding = links.new_full((*links.shape[:-2], 1, links.shape[-1]), fill)
    rows = torch.cat([links, padding], dim=-2).index_select(-2, table.reshape(-1))
    return rows.unflatten(-2, (table.shape[0], table.shape[1]))
