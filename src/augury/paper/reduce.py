"""Values of senders and links become statistics per receiver: the inner loop of every network.

`reduce_links(sent, along, wiring, kinds)` computes, for value[link] = sent[sender[link]] +
along[link], the maximum, minimum, sum or sum of squares over the links into each node, with
gradients. That suffices, because a linear message splits into parts of the sender, the link and the
receiver, and the last can be added after the reduction.

There are three forms, tested equal. On the CPU a loop compiled by numba reads each value once and
keeps nothing of the size of the links. Without numba, or on a GPU: for training, the links of the
small graphs are laid out in a table (node, width), where the gradient of a gather is a gather, so
that runs are reproducible bit for bit; for execution, PyTorch reduces the sorted links segment by
segment, in memory linear in the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
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
    if sent.device.type == "cpu" and sent.ndim == 2 and along.ndim == 2 and _kernels() is not None:
        return list(_Compiled.apply(sent, along, wiring, tuple(kinds)))
    values = gather_senders(sent, wiring) + along
    if values.requires_grad or values.ndim > 2:
        return [_IN_TABLES[kind](values, wiring) for kind in kinds]
    return [_IN_SEGMENTS[kind](values, wiring) for kind in kinds]


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


def _segments(values: Tensor, wiring: Wiring, kind: str) -> Tensor:
    return torch.segment_reduce(values, kind, offsets=wiring.start, axis=0)


_IN_SEGMENTS = {
    "max": lambda values, wiring: _segments(values, wiring, "max"),
    "min": lambda values, wiring: _segments(values, wiring, "min"),
    "sum": lambda values, wiring: _segments(values, wiring, "sum"),
    "square": lambda values, wiring: _segments(values.square(), wiring, "sum"),
}


class _GatherSenders(torch.autograd.Function):
    """A gather whose gradient sums over outgoing links in a fixed order, without atomics."""

    @staticmethod
    def forward(ctx: Any, nodes: Tensor, wiring: Wiring) -> Tensor:
        ctx.wiring = wiring
        return nodes.index_select(-2, wiring.sender)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return _rows(grads[0], ctx.wiring.outgoing, 0.0).sum(-2), None


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
        return _rows(links, wiring.incoming, fill)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return grads[0].flatten(-3, -2).index_select(-2, ctx.wiring.slot), None, None


def _rows(links: Tensor, table: Tensor, fill: float) -> Tensor:
    padding = links.new_full((*links.shape[:-2], 1, links.shape[-1]), fill)
    rows = torch.cat([links, padding], dim=-2).index_select(-2, table.reshape(-1))
    return rows.unflatten(-2, (table.shape[0], table.shape[1]))


class _Compiled(torch.autograd.Function):
    """The same, in compiled loops over nodes and links."""

    @staticmethod
    def forward(
        ctx: Any, sent: Tensor, along: Tensor, wiring: Wiring, kinds: tuple[str, ...]
    ) -> tuple[Tensor, ...]:
        forward, _ = _kernels()
        sent, along = sent.contiguous(), along.contiguous()
        shape = (wiring.num_nodes, sent.shape[1])
        out = {kind: sent.new_empty(shape if kind in kinds else (0, 0)) for kind in KINDS}
        chosen = [
            sent.new_empty(shape if kind in kinds else (0, 0), dtype=torch.int32)
            for kind in ("max", "min")
        ]
        forward(
            *(tensor.detach().numpy() for tensor in (sent, along)),
            wiring.sender.numpy(),
            wiring.start.numpy(),
            *(out[kind].numpy() for kind in KINDS),
            *(tensor.numpy() for tensor in chosen),
        )
        ctx.save_for_backward(sent, along, *chosen)
        ctx.wiring, ctx.kinds = wiring, kinds
        return tuple(out[kind] for kind in kinds)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        _, backward = _kernels()
        sent, along, *chosen = ctx.saved_tensors
        given: dict[str, Tensor] = dict(zip(ctx.kinds, grads, strict=True))
        nothing = sent.new_empty((0, 0)).numpy()
        grad_sent, grad_along = torch.zeros_like(sent), torch.empty_like(along)
        backward(
            *(tensor.detach().numpy() for tensor in (sent, along)),
            ctx.wiring.sender.numpy(),
            ctx.wiring.start.numpy(),
            *(given[kind].contiguous().numpy() if kind in given else nothing for kind in KINDS),
            *(tensor.numpy() for tensor in chosen),
            grad_sent.numpy(),
            grad_along.numpy(),
        )
        return grad_sent, grad_along, None, None


@cache
def _kernels() -> Any:  # noqa: C901 – two loops that numba can only see whole
    """Compile the loops, or return None where numba is not installed."""
    try:
        import numba

        from augury.neural.compiled import compiled
    except ImportError:
        return None

    @compiled(fastmath=False)
    def forward(sent, along, sender, start, high, low, total, square, high_link, low_link):  # noqa: PLR0913, C901 – numba takes arrays, not objects
        num_features = sent.shape[1]
        for node in range(len(start) - 1):
            first = start[node]
            for k in range(num_features):
                if len(high):
                    high[node, k] = -numba.float32(3e38)
                if len(low):
                    low[node, k] = numba.float32(3e38)
                if len(total):
                    total[node, k] = 0
                if len(square):
                    square[node, k] = 0
            for link in range(first, start[node + 1]):
                source = sender[link]
                if len(high):
                    for k in range(num_features):
                        value = sent[source, k] + along[link, k]
                        if value > high[node, k]:
                            high[node, k] = value
                            high_link[node, k] = link
                if len(low):
                    for k in range(num_features):
                        value = sent[source, k] + along[link, k]
                        if value < low[node, k]:
                            low[node, k] = value
                            low_link[node, k] = link
                if len(total):
                    for k in range(num_features):
                        total[node, k] += sent[source, k] + along[link, k]
                if len(square):
                    for k in range(num_features):
                        value = sent[source, k] + along[link, k]
                        square[node, k] += value * value

    @compiled(fastmath=False)
    def backward(  # noqa: PLR0913 – numba takes arrays, not objects
        sent, along, sender, start, high, low, total, square, high_link, low_link, to_sent, to_along
    ):
        num_features = sent.shape[1]
        for node in range(len(start) - 1):
            for link in range(start[node], start[node + 1]):
                source = sender[link]
                for k in range(num_features):
                    grad = numba.float32(0)
                    if len(high) and high_link[node, k] == link:
                        grad += high[node, k]
                    if len(low) and low_link[node, k] == link:
                        grad += low[node, k]
                    if len(total):
                        grad += total[node, k]
                    if len(square):
                        grad += 2 * (sent[source, k] + along[link, k]) * square[node, k]
                    to_along[link, k] = grad
                    to_sent[source, k] += grad

    return forward, backward
