"""A batch of flow networks becomes a `Wiring`: which node hears which.

A link is an arc of the residual network or a node's self loop. Links are sorted by receiver, so
that the links into node v are `start[v] : start[v + 1]` and a reduction over them reads memory
once. The graphs of a batch lie one after another, so the first k of them are a prefix of
everything: a search drops its finished graphs by slicing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from augury.classical.arrays import WideArray
from augury.classical.batch import Batch


class Tables(NamedTuple):
    """The links of each node in a row; as wide as the largest degree, so for small graphs only."""

    incoming: Tensor
    """(node, width): the links into each node, padded with `num_links`."""
    outgoing: Tensor
    """(node, width): the links out of each node, padded likewise."""
    slot: Tensor
    """(link,): the place of each link in the flattened table `incoming`."""
    degree: Tensor
    """(node,): the links into each node."""


@dataclass(frozen=True, eq=False)
class Wiring:
    """The links of a batch, sorted by receiver."""

    sender: Tensor
    """(link,)"""
    receiver: Tensor
    """(link,)"""
    start: Tensor
    """(node + 1,): where the links into each node start."""
    arc: Tensor
    """(link,): the arc of the flow network; −1 for a self loop."""
    node_graph: Tensor
    """(node,)"""
    node_start: Tensor
    """(graph + 1,)"""
    source: Tensor
    """(graph,)"""
    offsets: npt.NDArray[np.int64]
    """(graph + 1, 2): where each graph's nodes and links start; on the host, to avoid a sync."""
    made: Tables | None = None
    """The tables, if they exist already; otherwise they are made on first use."""

    @classmethod
    def of(cls, batch: Batch, device: torch.device | str = "cpu") -> Wiring:
        """Take the links of a batch."""
        graphs = batch.node_graph, batch.node_start, batch.source
        return cls.from_arrays(*batch.links, *graphs).to(device)

    @classmethod
    def from_arrays(cls, *arrays: npt.NDArray[np.int64]) -> Wiring:
        """Take the fields, in order, as arrays."""
        start, node_start = arrays[2], arrays[5]
        offsets = np.stack([node_start, start[node_start]], axis=1)
        writable = [np.require(array, requirements=["C", "W"]) for array in arrays]
        tensors = [torch.from_numpy(array) for array in writable]
        return cls(*tensors, offsets=offsets)

    def to(self, device: torch.device | str) -> Wiring:
        """Return the same on another device."""
        if torch.device(device) == self.sender.device:
            return self
        return with_tensors(self, lambda tensor: tensor.to(device))

    def with_tables(self, width: int | None = None) -> Wiring:
        """Return the same with its tables, made here and now, without waiting for a GPU.

        They can be wider than the largest degree.
        """
        return replace(self, made=self.tables if width is None else self._tables(width))

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the fields that are tensors, in order."""
        links = self.sender, self.receiver, self.start, self.arc
        return *links, self.node_graph, self.node_start, self.source

    def first(self, num_graphs: int) -> Wiring:
        """Return the wiring of the first graphs alone; nothing is copied."""
        if num_graphs == self.num_graphs:
            return self
        nodes, links = (int(end) for end in self.offsets[num_graphs])
        ends = (links, links, nodes + 1, links, nodes, num_graphs + 1, num_graphs)
        parts = (tensor[:end] for tensor, end in zip(self.tensors(), ends, strict=True))
        # The padding is the number of links, which is smaller now.
        incoming, outgoing = (table[:nodes].clamp(max=links) for table in self.tables[:2])
        made = Tables(incoming, outgoing, self.tables.slot[:links], self.degree[:nodes])
        return Wiring(*parts, offsets=self.offsets[: num_graphs + 1], made=made)

    def repeated(self, counts: Sequence[int]) -> Wiring:
        """Lay side by side copies of the first counts[0] graphs, the first counts[1], and so on.

        The wiring must be on the host.
        """
        nodes, links = (self.offsets[np.array(counts), kind] for kind in (0, 1))
        first_node, first_link = (np.append(0, np.cumsum(sizes)) for sizes in (nodes, links))
        first_graph = np.append(0, np.cumsum(counts))

        def copies(values: Tensor, sizes: Sequence[int], shifts: WideArray) -> WideArray:
            array = values.numpy()
            pairs = zip(sizes, shifts, strict=False)
            return np.concatenate([array[:size] + shift for size, shift in pairs])

        return Wiring.from_arrays(
            copies(self.sender, links, first_node),
            copies(self.receiver, links, first_node),
            np.append(copies(self.start[:-1], nodes, first_link), first_link[-1]),
            copies(self.arc, links, np.zeros_like(links)),
            copies(self.node_graph, nodes, first_graph),
            np.append(copies(self.node_start[:-1], counts, first_node), first_node[-1]),
            copies(self.source, counts, first_node),
        )

    def select(self, keep: Tensor) -> tuple[Wiring, Tensor, Tensor]:
        """Keep some graphs; also return which links and nodes are kept."""
        nodes = torch.nonzero(keep[self.node_graph])[:, 0]
        links = torch.nonzero(keep[self.node_graph[self.receiver]])[:, 0]
        sizes = self.node_start.diff()[keep]
        node_start = F.pad(sizes.cumsum(0), (1, 0))
        moved = (node_start[:-1] - self.node_start[:-1][keep]).repeat_interleave(sizes)
        shift = torch.zeros_like(self.node_graph)
        shift[nodes] = moved
        sender, receiver = self.sender[links], self.receiver[links]
        start = F.pad(self.degree[nodes].cumsum(0), (1, 0))
        wiring = Wiring(
            sender + shift[sender],
            receiver + shift[receiver],
            start,
            self.arc[links],
            torch.arange(len(sizes), device=keep.device).repeat_interleave(sizes),
            node_start,
            self.source[keep] + shift[self.source[keep]],
            torch.stack([node_start, start[node_start]], dim=1).cpu().numpy(),
        )
        return wiring, links, nodes

    @property
    def num_graphs(self) -> int:
        """How many graphs lie side by side."""
        return len(self.source)

    @property
    def num_nodes(self) -> int:
        """The nodes of all graphs."""
        return len(self.node_graph)

    @property
    def num_links(self) -> int:
        """The arcs and self loops of all graphs."""
        return len(self.sender)

    @cached_property
    def tables(self) -> Tables:
        """The links of each node in a row."""
        return self.made or self._tables(int(self._degree.max()) if self.num_nodes else 0)

    def _tables(self, width: int) -> Tables:
        links = torch.arange(self.num_links, device=self.sender.device)
        slot = self.receiver * width + links - self.start[self.receiver]
        # Every arc has its reverse, so a node sends as many links as it receives.
        outgoing = self._rows(torch.argsort(self.sender, stable=True), width)
        return Tables(self._rows(links, width), outgoing, slot, self._degree)

    def _rows(self, links: Tensor, width: int) -> Tensor:
        column = torch.arange(width, device=links.device)
        place = (self.start[:-1, None] + column).clamp(max=max(len(links) - 1, 0))
        padding = torch.full_like(place, len(links))
        inside = links[place] if len(links) else padding
        return torch.where(column < self._degree[:, None], inside, padding)

    @cached_property
    def back(self) -> Tensor:
        """(link,): the link that leads back; a self loop is its own."""
        # Parallel arcs pair up in order, as an arc and its reverse follow each other.
        there = torch.argsort(self.receiver * self.num_nodes + self.sender, stable=True)
        back = torch.argsort(self.sender * self.num_nodes + self.receiver, stable=True)
        return torch.empty_like(there).index_copy_(0, there, back)

    @property
    def degree(self) -> Tensor:
        """(node,): the links into each node, its self loop among them."""
        # `made` may be a view that the next batch is copied into, so its degree is not cached.
        return self._degree if self.made is None else self.made.degree

    @cached_property
    def _degree(self) -> Tensor:
        return self.start.diff()

    def on_links(self, values: npt.ArrayLike, fill: npt.ArrayLike = 0) -> Tensor:
        """Lay values of arcs, from the host, on the links; self loops get `fill`."""
        padded = np.append(values, fill)  # where −1 is the last one
        if self.arc.device.type == "cpu":  # NumPy's gather is faster
            return torch.from_numpy(padded[self.arc.numpy()])
        return torch.from_numpy(padded).to(self.arc.device)[self.arc]

    def mean_of_graphs(self, nodes: Tensor) -> Tensor:
        """(…, node, k) → (…, graph, k): the mean over each graph's nodes."""
        if nodes.is_cuda:  # `index_add` there adds in any order, so sums would vary
            rows = nodes.movedim(-2, 0).contiguous()
            total = torch.segment_reduce(rows, "sum", offsets=self.node_start, axis=0)
            return total.movedim(0, -2) / self.node_start.diff().unsqueeze(-1)
        total = nodes.new_zeros(*nodes.shape[:-2], self.num_graphs, nodes.shape[-1])
        total = total.index_add(-2, self.node_graph, nodes)
        return total / self.node_start.diff().unsqueeze(-1)


def with_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a tensor, tuple or dataclass with its tensors changed, always in the same order."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple):
        parts = [with_tensors(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
        return type(value)(*(with_tensors(getattr(value, name), change) for name in names))
    return value


class Walks(NamedTuple):
    """Walks along arcs, all (walk, place); shorter ones are padded and marked."""

    sender: Tensor
    receiver: Tensor
    weights: Tensor
    capacities: Tensor
    is_padding: Tensor
