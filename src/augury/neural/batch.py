"""Traces become tensors to learn from; the answer enters here and nowhere else.

Every round of a trace is a sample, including the last one, without a path. A search ends with a
step in which nothing changes, which the network has to notice: so a sample has one step more than
its trace has changes, but at most |V| − 1. Samples of a batch are sorted, longest first, so that
the graphs that still run are a prefix of the batch (see `Wiring.first`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from operator import attrgetter
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from augury.classical.arrays import WideArray
from augury.classical.batch import Batch
from augury.classical.generate import partly_matched, uniform
from augury.classical.network import FlowNetwork
from augury.classical.trace import Trace, TracedRound, record
from augury.config import DataConfig
from augury.neural.wiring import Walks, Wiring, with_tensors


class End(NamedTuple):
    """How the end of a search is taught; see `DataConfig`."""

    stop_early: int = 0
    stop_weight: float = 1.0


USUAL = End()


@dataclass(frozen=True, eq=False)
class Rows:
    """All steps of a batch at once: one row per step and node that takes part in it."""

    wiring: Wiring
    """The graphs of step 1, then those of step 2, and so on."""
    place: Tensor
    """(row,): the place of the row's targets in flattened (step, node) tensors."""
    last: Tensor
    """(node,): the row of each node's last step."""
    goes_on: Tensor
    """(graph of `wiring`,): whether the search is to go on after this step."""
    links: tuple[int, ...]
    """How many links each step has; they are the first ones."""
    counts: Tensor | None = None
    """(row,): which rows count; None for all."""
    graph_counts: Tensor | None = None
    """(graph of `wiring`,): which of these count; None for all."""

    @classmethod
    def of(cls, wiring: Wiring, running: Sequence[int], stop_early: int = 0) -> Rows:
        """Lay out the steps; running[t] graphs take part in step t."""
        counts = np.array(running)
        nodes = wiring.offsets[counts, 0]
        first = np.append(0, np.cumsum(nodes))
        place = [np.arange(size) + step * wiring.num_nodes for step, size in enumerate(nodes)]
        last = np.zeros(wiring.num_nodes, np.int64)
        for start, size in zip(first, nodes, strict=False):
            last[:size] = np.arange(start, start + size)
        following = np.append(counts, [0, 0])[1 + stop_early :]
        goes_on = [np.arange(own) < after for own, after in zip(counts, following, strict=False)]
        return cls(
            wiring.repeated(running),
            torch.from_numpy(np.concatenate(place)),
            torch.from_numpy(last),
            torch.from_numpy(np.concatenate(goes_on)),
            tuple(wiring.offsets[counts, 1].tolist()),
        )

    def of_links(self, values: Tensor) -> Tensor:
        """(…, link, k) → (…, link of `wiring`, k)."""
        if len(set(self.links)) == 1:  # its gradient is a sum over steps in a fixed order
            copies = values.unsqueeze(-3).expand(*values.shape[:-2], len(self.links), -1, -1)
            return copies.flatten(-3, -2)
        return torch.cat([values[..., :count, :] for count in self.links], dim=-2)


@dataclass(frozen=True, eq=False)
class SearchBatch:
    """Rounds for search, bottleneck and augmentation; step t is row t − 1 of the targets."""

    wiring: Wiring
    weights: Tensor
    """(link,)"""
    capacities: Tensor
    """(link,)"""
    distance: Tensor
    """(step, node): the true distance after each step."""
    column: Tensor
    """(step, node): the place of the link by which a node was reached; −1 if it was not."""
    running: tuple[int, ...]
    """How many graphs take part in each step."""
    walks: Walks
    end: End = USUAL
    walk_counts: Tensor | None = None
    """(walk,): which walks count; None for all."""
    laid: Rows | None = None
    """The rows, if they exist already; otherwise they are laid out on first use."""

    @cached_property
    def rows(self) -> Rows:
        """All steps at once."""
        return self.laid or Rows.of(self.wiring, self.running, self.end.stop_early)


@dataclass(frozen=True, eq=False)
class ReachBatch:
    """Rounds for reachability."""

    wiring: Wiring
    is_usable: Tensor
    """(link,): whether the arc has residual."""
    weights: Tensor
    """(link,)"""
    reached: Tensor
    """(step, node): whether a node is reached after each step."""
    running: tuple[int, ...]
    """How many graphs take part in each step."""
    end: End = USUAL
    laid: Rows | None = None
    """The rows, as above."""

    @cached_property
    def rows(self) -> Rows:
        """All steps at once."""
        return self.laid or Rows.of(self.wiring, self.running, self.end.stop_early)


@dataclass(frozen=True)
class Sample:
    """A round on links instead of arcs."""

    links: NetworkLinks
    weights: WideArray
    capacities: WideArray
    distance: npt.NDArray[np.unsignedinteger]
    column: WideArray
    reached: npt.NDArray[np.bool_]
    search_steps: int
    reach_steps: int


@dataclass(frozen=True)
class NetworkLinks:
    """The wiring of one network as arrays."""

    sender: WideArray
    receiver: WideArray
    start: WideArray
    arc: WideArray
    num_nodes: int
    source: int
    sink: int

    @classmethod
    def of(cls, network: FlowNetwork) -> NetworkLinks:
        """Take the links of a network."""
        links = Batch.of([network]).links
        return cls(*links, network.num_nodes, network.source, network.sink)


class Samples:
    """All rounds of some traces, to be combined into batches."""

    def __init__(self, traces: Sequence[Trace], config: DataConfig) -> None:
        self.config = config
        self.search_end = End(config.stop_early, config.search_stop_weight)
        self.reach_end = End(config.stop_early, config.reach_stop_weight)
        self.samples = [
            _sample(links, traced)
            for trace in traces
            for links in [NetworkLinks.of(trace.network)]
            for traced in trace.rounds
        ]

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def mean_log_degree(self) -> float:
        """The mean over nodes of log(degree + 1), self loops counted: δ of PNA."""
        logs = [np.log(np.diff(sample.links.start) + 1.0) for sample in self.samples]
        return float(np.concatenate(logs).mean())

    def longest_first(self, chosen: Sequence[int], steps: str) -> list[Sample]:
        """Return the chosen rounds, sorted by `steps`, the longest first."""
        return sorted((self.samples[i] for i in chosen), key=attrgetter(steps), reverse=True)

    def search_batch(self, chosen: Sequence[int], rng: np.random.Generator) -> SearchBatch:
        """Combine the chosen rounds, and draw a random walk for each."""
        samples = self.longest_first(chosen, "search_steps")
        wiring = joined_wiring(samples)
        walks = random_walks(samples, wiring, self.config, rng)
        steps = [sample.search_steps for sample in samples]
        return replace(search_batch(samples, steps, wiring, walks), end=self.search_end)

    def reach_batch(self, chosen: Sequence[int]) -> ReachBatch:
        """Combine the chosen rounds."""
        samples = self.longest_first(chosen, "reach_steps")
        steps = [sample.reach_steps for sample in samples]
        batch = reach_batch(samples, steps, joined_wiring(samples))
        return replace(batch, end=self.reach_end)


def search_batch(
    samples: Sequence[Sample], steps: Sequence[int], wiring: Wiring, walks: Walks
) -> SearchBatch:
    """Lay rounds side by side, each with this many steps, the longest first."""
    running = _running(steps)
    return SearchBatch(
        wiring,
        torch.from_numpy(np.concatenate([sample.weights for sample in samples])),
        torch.from_numpy(np.concatenate([sample.capacities for sample in samples])),
        step_rows([sample.distance for sample in samples], steps),
        step_rows([sample.column for sample in samples], steps),
        running,
        walks,
    )


def reach_batch(samples: Sequence[Sample], steps: Sequence[int], wiring: Wiring) -> ReachBatch:
    """Do the same for reachability."""
    running = _running(steps)
    return ReachBatch(
        wiring,
        torch.from_numpy(np.concatenate([sample.capacities for sample in samples]) > 0),
        torch.from_numpy(np.concatenate([sample.weights for sample in samples])),
        step_rows([sample.reached for sample in samples], steps),
        running,
    )


@dataclass(frozen=True)
class TrainingData:
    """What a network is trained on, and validated on step by step."""

    train: Samples
    extra: Samples | None
    """Partly matched states, for reachability alone."""
    validation: Samples


@cache
def training_data(config: DataConfig, bits: int = 8) -> TrainingData:
    """Make all data from the seed; training, validation and execution have separate graphs."""
    rngs = _streams(config)

    def traced(rng: np.random.Generator, networks: list[FlowNetwork]) -> Samples:
        return Samples(record(networks, rng, bits), config)

    states = [partly_matched(rngs[1], config.side, config.p) for _ in range(config.extra_graphs)]
    train = _graphs(config, rngs[0], config.train_graphs)
    validation = _graphs(config, rngs[2], config.validation_graphs)
    return TrainingData(
        train=traced(rngs[0], train),
        extra=traced(rngs[1], states) if states else None,
        validation=traced(rngs[2], validation),
    )


def execution_data(
    config: DataConfig, scales: tuple[int, ...], count: int
) -> dict[int, list[FlowNetwork]]:
    """Make the validation graphs for whole executions, by scale; they decide the best epoch."""
    rng = _streams(config)[3]
    return {scale: _graphs(config, rng, count, scale) for scale in scales}


def _streams(config: DataConfig) -> list[np.random.Generator]:
    """Return the generators of training, extra graphs, validation and execution."""
    return np.random.default_rng(config.seed).spawn(4)


def _graphs(
    config: DataConfig, rng: np.random.Generator, count: int, scale: int = 1
) -> list[FlowNetwork]:
    side = config.side * scale
    return [FlowNetwork.from_bipartite(uniform(rng, side, p=config.p)) for _ in range(count)]


AnyBatch = TypeVar("AnyBatch", SearchBatch, ReachBatch)


def moved(batch: AnyBatch, device: torch.device | str) -> AnyBatch:
    """Return the batch on another device; tables are made first, without waiting for a GPU."""
    if torch.device(device) == batch.wiring.sender.device:
        return batch
    laid = replace(batch.rows, wiring=batch.rows.wiring.with_tables())
    batch = replace(batch, wiring=batch.wiring.with_tables(), laid=laid)
    return with_tensors(batch, lambda tensor: tensor.to(device))


def _sample(links: NetworkLinks, traced: TracedRound) -> Sample:
    limit = links.num_nodes - 1
    weights = np.append(traced.weights, 0).astype(np.int64)[links.arc]
    return Sample(
        links,
        weights,
        np.append(traced.residual, 0)[links.arc],
        traced.distance,
        _columns(links, traced.predecessor),
        traced.reached,
        min(len(traced.distance), limit),
        min(len(traced.reached), limit),
    )


def _columns(links: NetworkLinks, predecessor: npt.NDArray[np.int32]) -> WideArray:
    """Find for (step, node) the place of the predecessor's link among the node's own."""
    key = links.receiver * links.num_nodes + links.sender
    order = np.argsort(key)
    wanted = np.arange(links.num_nodes) * links.num_nodes + predecessor
    place = np.searchsorted(key[order], wanted).clip(max=len(key) - 1)
    column = order[place] - links.start[:-1]
    return np.where(predecessor >= 0, column, -1)


def joined_wiring(samples: Sequence[Sample], width: int | None = None) -> Wiring:
    """Lay the wirings side by side; the tables may be wider than the largest degree."""
    parts = [sample.links for sample in samples]
    sizes = np.array([part.num_nodes for part in parts])
    node_start = np.concatenate([[0], np.cumsum(sizes)])
    num_links = np.array([len(part.sender) for part in parts])
    shift = np.repeat(node_start[:-1], num_links)
    link_shift = np.concatenate([[0], np.cumsum(num_links)])
    start = [part.start[:-1] + first for part, first in zip(parts, link_shift, strict=False)]
    arrays = (
        np.concatenate([part.sender for part in parts]) + shift,
        np.concatenate([part.receiver for part in parts]) + shift,
        np.concatenate([*start, link_shift[-1:]]),
        np.concatenate([part.arc for part in parts]),
        np.repeat(np.arange(len(parts)), sizes),
        node_start,
        np.array([part.source for part in parts]) + node_start[:-1],
    )
    wiring = Wiring.from_arrays(*arrays)
    return wiring if width is None else wiring.with_tables(width)


def step_rows(parts: Sequence[npt.NDArray[np.generic]], steps: Sequence[int]) -> Tensor:
    """Lay (row, node) arrays side by side for steps 1, 2, …; the last change is repeated."""
    kind = np.bool_ if parts[0].dtype == np.bool_ else np.int64
    joined = np.zeros((max(steps), sum(part.shape[1] for part in parts)), kind)
    first = 0
    for part, num_steps in zip(parts, steps, strict=True):
        changes, end = min(num_steps, len(part) - 1), first + part.shape[1]
        joined[:changes, first:end] = part[1 : changes + 1]
        joined[changes:num_steps, first:end] = part[-1]
        first = end
    return torch.from_numpy(joined)


def _running(steps: Sequence[int]) -> tuple[int, ...]:
    return tuple((np.array(steps)[:, None] > np.arange(max(steps))).sum(0).tolist())


def random_walks(
    samples: Sequence[Sample], wiring: Wiring, config: DataConfig, rng: np.random.Generator
) -> Walks:
    """Walk backwards from each sink along random arcs, with random capacities on them."""
    sender, start = wiring.sender.numpy(), wiring.start.numpy()
    sinks = np.array([sample.links.sink for sample in samples])
    node = wiring.node_start.numpy()[: len(samples)] + sinks
    taken: list[WideArray] = []
    for _ in range(config.walk_length):
        degree = start[node + 1] - start[node] - 1  # a node's last link is its self loop
        link = start[node] + (rng.random(len(node)) * degree).astype(np.int64)
        taken.append(link)
        node = sender[link]
    links = np.stack(taken, axis=1)
    weights = np.concatenate([sample.weights for sample in samples])
    capacities = rng.integers(0, config.max_capacity + 1, links.shape)
    return Walks(
        sender=torch.from_numpy(sender[links]),
        receiver=torch.from_numpy(wiring.receiver.numpy()[links]),
        weights=torch.from_numpy(weights[links]),
        capacities=torch.from_numpy(capacities),
        is_padding=torch.zeros(links.shape, dtype=torch.bool, device="cpu"),
    )
