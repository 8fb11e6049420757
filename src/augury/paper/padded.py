"""Rounds become batches of one shape, for a device that runs a recorded sequence of kernels.

Padding changes nothing: a missing round is a copy of another that does not count, missing nodes and
links form extra graphs of nodes that hear only themselves, and every graph runs as many steps as
the longest, but those beyond its own do not count. So losses and gradients are those of the
original batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from augury.classical.arrays import WideArray
from augury.neural.batch import (
    NetworkLinks,
    ReachBatch,
    Rows,
    Sample,
    Samples,
    SearchBatch,
    TrainingData,
    joined_wiring,
    random_walks,
    reach_batch,
    search_batch,
)
from augury.neural.wiring import Tables, Wiring, with_tensors


@dataclass(frozen=True)
class Shape:
    """The shape of all batches of some samples."""

    rounds: int
    """Rounds of a batch."""
    nodes: int
    links: int
    width: int
    """The largest degree."""
    fillers: int
    """Graphs that are padding."""

    @classmethod
    def of(cls, samples: Samples, rounds: int) -> Shape:
        """Find a shape that any choice of that many rounds can be padded to."""
        nodes = [sample.links.num_nodes for sample in samples.samples]
        links = [len(sample.links.sender) for sample in samples.samples]
        width = max(2, max(int(np.diff(s.links.start).max()) for s in samples.samples))
        # Padding nodes have 1 to `width` links, and must take up what the smallest rounds leave.
        missing = rounds * (max(links) - min(links) + max(nodes) - min(nodes))
        filling = max(1, -(-missing // (width - 1)))
        num_nodes = rounds * max(nodes) + filling
        num_links = rounds * max(links) + num_nodes - rounds * min(nodes)
        return cls(rounds, num_nodes, num_links, width, -(-filling // max(nodes)))


def padded(samples: Sequence[Sample], shape: Shape) -> list[Sample]:
    """Add copies of the first round, then fillers; none of their steps count."""
    copy = replace(samples[0], search_steps=0, reach_steps=0)
    rounds = [*samples, *[copy] * (shape.rounds - len(samples))]
    nodes = shape.nodes - sum(sample.links.num_nodes for sample in rounds)
    links = shape.links - sum(len(sample.links.sender) for sample in rounds)
    degrees = np.full(nodes, links // nodes)
    degrees[: links % nodes] += 1
    return [*rounds, *map(_filler, np.array_split(degrees, shape.fillers))]


def _filler(degrees: WideArray) -> Sample:
    """Return a round without targets on nodes that hear only themselves."""
    nodes = np.arange(len(degrees))
    own = np.repeat(nodes, degrees)
    start = np.concatenate([[0], np.cumsum(degrees)])
    links = NetworkLinks(own, own, start, np.full(len(own), -1), len(nodes), 0, 0)
    on_links, targets = np.zeros(len(own), np.int64), np.zeros((1, len(nodes)), np.bool_)
    column = np.zeros(targets.shape, np.int64)
    return Sample(links, on_links, on_links, targets.view(np.uint8), column, targets, 0, 0)


def padded_search(
    samples: Samples, chosen: Sequence[int], rng: np.random.Generator, shape: Shape, num_steps: int
) -> tuple[SearchBatch, torch.Tensor]:
    """Combine rounds as `Samples.search_batch` does, in this shape; also return each one's steps.

    The batch has no rows yet: `with_rows` adds them, on the device if need be.
    """
    own = samples.longest_first(chosen, "search_steps")
    rounds = padded(own, shape)
    wiring = joined_wiring(rounds, shape.width)
    # The walks of the real rounds come first, so they are the same as without padding.
    walks = random_walks(own, wiring, samples.config, rng)
    missing = shape.rounds - len(own)
    walks = type(walks)(*(torch.cat([part, part[:1].expand(missing, -1)]) for part in walks))
    batch = search_batch(rounds, [num_steps] * len(rounds), wiring, walks)
    counts = torch.arange(shape.rounds, device="cpu") < len(own)
    steps = torch.tensor([sample.search_steps for sample in rounds], device="cpu")
    return replace(batch, walk_counts=counts, end=samples.search_end), steps


def padded_reach(
    samples: Samples, chosen: Sequence[int], shape: Shape, num_steps: int
) -> tuple[ReachBatch, torch.Tensor]:
    """Combine rounds as `Samples.reach_batch` does, in this shape; also return each one's steps."""
    rounds = padded(samples.longest_first(chosen, "reach_steps"), shape)
    wiring = joined_wiring(rounds, shape.width)
    steps = torch.tensor([sample.reach_steps for sample in rounds], device="cpu")
    batch = reach_batch(rounds, [num_steps] * len(rounds), wiring)
    return replace(batch, end=samples.reach_end), steps


Part = TypeVar("Part", SearchBatch, ReachBatch)


def with_rows(batch: Part, steps: torch.Tensor) -> Part:
    """Add the rows; all shapes are known, so no sync with the device is needed."""
    wiring, num_steps = batch.wiring, len(batch.running)
    nodes, graphs = wiring.num_nodes, wiring.num_graphs
    step = torch.arange(num_steps, device=steps.device).unsqueeze(-1)
    runs = step < steps
    node = torch.arange(nodes, device=steps.device)
    last = (steps[wiring.node_graph] - 1).clamp(min=0) * nodes + node
    rows = Rows(
        _repeated(wiring, num_steps, step),
        torch.arange(num_steps * nodes, device=steps.device),
        last,
        (step + 1 + batch.end.stop_early < steps).flatten(),
        (wiring.num_links,) * num_steps,
        runs[:, wiring.node_graph].flatten(),
        runs.flatten(),
    )
    assert len(rows.goes_on) == num_steps * graphs
    return replace(batch, laid=rows)


def _repeated(wiring: Wiring, num_steps: int, step: torch.Tensor) -> Wiring:
    """Return `wiring.repeated((num_graphs,) * num_steps)`, made on the wiring's device."""
    nodes, links, graphs = wiring.num_nodes, wiring.num_links, wiring.num_graphs

    def shifted(values: torch.Tensor, by: int) -> torch.Tensor:
        return (values + by * step).flatten()

    def table(values: torch.Tensor) -> torch.Tensor:
        moved = torch.where(values < links, values + links * step.unsqueeze(-1), num_steps * links)
        return moved.flatten(0, 1)

    def starts(values: torch.Tensor, by: int) -> torch.Tensor:
        return torch.cat([shifted(values[:-1], by), values[-1:] + by * (num_steps - 1)])

    return Wiring(
        shifted(wiring.sender, nodes),
        shifted(wiring.receiver, nodes),
        starts(wiring.start, links),
        shifted(wiring.arc, 0),
        shifted(wiring.node_graph, graphs),
        starts(wiring.node_start, nodes),
        shifted(wiring.source, nodes),
        np.zeros((1, 2), np.int64),  # unused: rows have no prefixes
        Tables(
            table(wiring.tables.incoming),
            table(wiring.tables.outgoing),
            shifted(wiring.tables.slot, nodes * wiring.tables.incoming.shape[1]),
            shifted(wiring.degree, 0),
        ),
    )


class PaddedBatch(NamedTuple):
    """A training batch in one shape, and how many steps of each graph count."""

    num_steps: int
    search: tuple[SearchBatch, torch.Tensor]
    reach: tuple[ReachBatch, torch.Tensor]
    extra: tuple[ReachBatch, torch.Tensor] | None

    def packed(self) -> torch.Tensor:
        """Return all tensors as one array of bytes, so that one copy moves them."""
        found: list[torch.Tensor] = []

        def take(tensor: torch.Tensor) -> torch.Tensor:
            found.append(_bytes(tensor))
            return tensor

        with_tensors(self, take)
        return torch.cat(found)

    def unpacked(self, buffer: torch.Tensor) -> PaddedBatch:
        """Return the batch with views into an array of bytes in place of its tensors."""
        first = 0

        def view(tensor: torch.Tensor) -> torch.Tensor:
            nonlocal first
            own = buffer[first : first + tensor.numel() * tensor.element_size()]
            first += len(_bytes(tensor))
            return own.view(tensor.dtype).view(tensor.shape)

        return with_tensors(self, view)

    def with_rows(self) -> tuple[SearchBatch, list[ReachBatch]]:
        """Return what a network learns from."""
        reach = [self.reach] if self.extra is None else [self.reach, self.extra]
        return with_rows(*self.search), [with_rows(*part) for part in reach]


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor's bytes, padded to a multiple of 8."""
    flat = tensor.contiguous().view(-1).view(torch.uint8)
    return torch.nn.functional.pad(flat, (0, -len(flat) % 8))


STEPS = 4
"""Numbers of steps are rounded up to multiples of this, so that few recordings serve all."""


class Padding:
    """Makes batches of one shape from the rounds of a training set."""

    def __init__(self, data: TrainingData, rounds: int, num_batches: int) -> None:
        self.data, self.shape = data, Shape.of(data.train, rounds)
        share = -(-len(data.extra) // num_batches) if data.extra else 0
        self.extra_shape = Shape.of(data.extra, share) if data.extra else None

    def batch(
        self, chosen: Sequence[int], extra: Sequence[int], rng: np.random.Generator
    ) -> PaddedBatch:
        """Combine rounds; `extra` are those for reachability alone."""
        train, more = self.data.train, self.data.extra
        steps = [max(train.samples[i].search_steps, train.samples[i].reach_steps) for i in chosen]
        if more is not None:
            steps += [more.samples[i].reach_steps for i in extra]
        num_steps = -(-max(steps) // STEPS) * STEPS
        further = None
        if more is not None and self.extra_shape is not None and len(extra):
            further = padded_reach(more, extra, self.extra_shape, num_steps)
        return PaddedBatch(
            num_steps,
            padded_search(train, chosen, rng, self.shape, num_steps),
            padded_reach(train, chosen, self.shape, num_steps),
            further,
        )
