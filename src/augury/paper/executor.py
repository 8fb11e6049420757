"""A network becomes the subroutines of Ford-Fulkerson, batched over unequal graphs.

The rounds, the judge and the weights belong to `classical.ford_fulkerson`; here the network
decides. An executor sees the batch, the residual and the weights, but never the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from augury.algorithms.executor import Executor, FloatArray, beliefs
from augury.classical.arrays import BoolArray, WideArray
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import Paths, Tree, WeightArray
from augury.errors import InputError
from augury.neural.isolation import inference
from augury.neural.layers import from_bits
from augury.neural.wiring import Walks, Wiring
from augury.paper import fast
from augury.paper.fast import Ended, LinkArrays, Ranks
from augury.paper.networks import LinkTerms, PaperNetwork, State
from augury.paper.recipes import Parameters


class SearchMemory(NamedTuple):
    """What bottleneck and augmentation need of the search before them."""

    latent: Tensor
    weights: WeightArray
    steps: int
    """Steps of the longest search in the batch."""


@dataclass(frozen=True)
class NeuralExecutor(Executor):
    """The paper's network as the subroutines of Ford-Fulkerson."""

    network: PaperNetwork

    @inference()
    def search(
        self, batch: Batch, residual: WideArray, weights: WeightArray, /
    ) -> Tree[SearchMemory]:
        """Step until the network stops or |V| − 1 steps are done; follow the best predecessors."""
        network, wiring = self.network, wiring_of(batch, self.device)
        self._refuse_beyond_range(residual)
        terms = self._search_terms(weights, residual, wiring)
        infinity = 2**network.bits - 1
        distance = torch.full((wiring.num_nodes,), infinity, device=self.device)
        distance[wiring.source] = 0
        if self.is_fast:
            parts = terms.table.prepared.numpy(), terms.row.numpy(), wiring
            own = Parameters.of_search(network), distance, LinkArrays.of(network, *parts)
            ended = fast.run(*own, wiring, Ranks.of(network, wiring))
            sent = network.predecessor.part(ended.state.both, 1)
            link = fast.compiled_best_links(sent, terms.table.score, terms.row, wiring)
        else:
            ended = self._search_plain(distance, terms, wiring)
            link = network.best_predecessors(ended.state, terms.taken(None), wiring)
        arc = wiring.arc[link].cpu().numpy().astype(np.int32)  # −1 where a node chose itself
        arc[batch.source] = -1
        return Tree(arc, SearchMemory(ended.state.latent, weights, ended.steps))

    def _search_plain(self, distance: Tensor, terms: _Terms, wiring: Wiring) -> Ended:
        network, run = self.network, _Run(self.network, wiring, distance)
        while run.is_running:
            state = network.search_step(run.values, run.latent, terms.taken(run.links), run.wiring)
            distance = from_bits(network.distance_logits(state) > 0)
            goes_on = network.search_continues(state, run.wiring)
            if self.observer is not None:
                choices = self._choices(state, terms.taken(None), wiring)
                self.observer.searched(distance.cpu().numpy(), *choices, float(goes_on.sigmoid()))
            run.advance(state, distance, goes_on)
        return run.ended

    @inference()
    def is_done(
        self, batch: Batch, residual: WideArray, weights: WeightArray, tree: Tree, /
    ) -> BoolArray:
        """Search breadth-first from the source; done where the sink is not reached."""
        network, wiring = self.network, wiring_of(batch, self.device)
        is_usable = wiring.on_links(residual > 0, False)
        table = network.reach_terms(torch.tensor([False, True], device=self.device))
        is_reached = torch.zeros(wiring.num_nodes, dtype=torch.bool, device=self.device)
        is_reached[wiring.source] = True
        if self.is_fast:
            parts = table.numpy(), is_usable.long().numpy(), wiring
            own = Parameters.of_reach(network), is_reached.long(), LinkArrays.of(network, *parts)
            ended = fast.run(*own, wiring, Ranks.of(network, wiring))
        else:
            ended = self._reach_plain(is_reached, table.index_select(0, is_usable.long()), wiring)
        return ended.values.cpu().numpy()[batch.sink] == 0

    def _reach_plain(self, is_reached: Tensor, prepared: Tensor, wiring: Wiring) -> Ended:
        network, run = self.network, _Run(self.network, wiring, is_reached)
        while run.is_running:
            links = prepared if run.links is None else prepared[run.links]
            state = network.reach_step(run.values, run.latent, links, run.wiring)
            is_reached = network.reached_logits(state) > 0
            goes_on = network.reach_continues(state, run.wiring)
            if self.observer is not None:
                self.observer.reached(is_reached.cpu().numpy(), float(goes_on.sigmoid()))
            run.advance(state, is_reached, goes_on)
        return run.ended

    @property
    def is_fast(self) -> bool:
        """Whether the compiled form is wanted and available."""
        is_wanted = self.engine == "fast" and self.observer is None
        return is_wanted and fast.is_available(self.network, self.device)

    @property
    def form(self) -> str:
        """See `Executor`."""
        return "fast" if self.is_fast else "plain"

    @inference()
    def bottleneck(
        self, batch: Batch, residual: WideArray, paths: Paths, tree: Tree[SearchMemory], /
    ) -> WideArray:
        """Point at the arc that limits each path; its residual is the bottleneck."""
        if not len(paths.graph):
            return np.zeros(0, np.int64)
        walks, messages = self._messages(batch, residual, paths, tree)
        logits = self.network.bottleneck_logits(messages, walks)
        if self.observer is not None:
            self.observer.compared(logits.softmax(-1).cpu().numpy())
        place = logits.argmax(-1)
        return walks.capacities.gather(1, place[:, None])[:, 0].cpu().numpy()

    @inference()
    def augment(
        self,
        batch: Batch,
        residual: WideArray,
        paths: Paths,
        bottleneck: WideArray,
        tree: Tree[SearchMemory],
        /,
    ) -> WideArray:
        """Choose the residual that each arc of the paths keeps."""
        if not len(paths.graph):
            return np.zeros(0, np.int64)
        walks, messages = self._messages(batch, residual, paths, tree)
        amount = torch.tensor(bottleneck, device=self.device)
        kept = self.network.augmentation_logits(messages, amount, walks).argmax(-1)
        return kept[~walks.is_padding.reshape(-1)].cpu().numpy()

    def _messages(
        self, batch: Batch, residual: WideArray, paths: Paths, tree: Tree[SearchMemory]
    ) -> tuple[Walks, Tensor]:
        memory = tree.memory
        arcs, is_padding = padded_paths(paths)
        ends = batch.sender[arcs].astype(np.int64), batch.receiver[arcs].astype(np.int64)
        values = memory.weights[arcs].astype(np.int64), residual[arcs], is_padding
        walks = Walks(*(torch.from_numpy(array).to(self.device) for array in (*ends, *values)))
        return walks, self.network.walk_messages(memory.latent, walks)

    def _choices(
        self, state: State, terms: LinkTerms, wiring: Wiring
    ) -> tuple[WideArray, FloatArray]:
        """Return the arc that each node would choose after this step, and its probabilities."""
        arc = wiring.arc[self.network.best_predecessors(state, terms, wiring)]
        arc[wiring.source] = -1
        scores = self.network.link_scores(state, terms, wiring)
        told = (part.cpu().numpy() for part in (scores, wiring.start, wiring.arc))
        return arc.cpu().numpy(), beliefs(*told)

    def _search_terms(self, weights: WeightArray, residual: WideArray, wiring: Wiring) -> _Terms:
        pairs = np.append(weights, 0), np.append(residual, 0)  # a self loop has neither
        table, row = fast.distinct_terms(self.network, *pairs, self.device)
        return _Terms(table, wiring.on_links(row[:-1], row[-1]))

    def _refuse_beyond_range(self, residual: WideArray) -> None:
        most = 2**self.network.bits - 1
        if len(residual) and int(residual.max()) > most:
            raise InputError(
                f"a capacity of {int(residual.max())} is beyond this network's range of 0..{most}"
            )


class _Terms(NamedTuple):
    """Terms of the distinct kinds of link, and the kind of each link."""

    table: LinkTerms
    row: Tensor

    def taken(self, links: Tensor | None) -> LinkTerms:
        """Return the terms of these links, or of all."""
        row = self.row if links is None else self.row[links]
        return LinkTerms(
            self.table.prepared.index_select(-2, row), self.table.score.index_select(-2, row)
        )


class _Run:
    """The state of a search: the graphs that still run, and what the others ended with.

    `links` are the links that still take part, None for all. Stopped graphs are frozen, and dropped
    once less than `DROP_BELOW` of the graphs still run.
    """

    DROP_BELOW = 0.7

    def __init__(self, network: PaperNetwork, wiring: Wiring, values: Tensor) -> None:
        self.wiring, self.values = wiring, values
        self.latent = network.bit_encoder.weight.new_zeros(wiring.num_nodes, network.hidden)
        self.links: Tensor | None = None
        self.nodes: Tensor | None = None
        self.limit = wiring.node_start.diff() - 1
        self.runs = torch.ones(wiring.num_graphs, dtype=torch.bool, device=values.device)
        self.steps = 0
        self.last_values = values.clone()
        self.last_latent = self.latent.clone()
        self.last_encoded = self.latent.clone()

    @property
    def is_running(self) -> bool:
        return bool(self.runs.any())

    @property
    def ended(self) -> Ended:
        """What the search left, once all graphs have stopped."""
        return Ended(self.last_values, State(self.last_encoded, self.last_latent), self.steps)

    def advance(self, state: State, values: Tensor, goes_on: Tensor) -> None:
        """Apply a step to the graphs that still run, then see which ones go on."""
        self.steps += 1
        runs = self.runs[self.wiring.node_graph]
        if bool(self.runs.all()):
            self.values, self.latent = values, state.latent
        else:
            self.values = torch.where(runs, values, self.values)
            self.latent = torch.where(runs[:, None], state.latent, self.latent)
        stopped = self.runs & ~((goes_on > 0) & (self.steps < self.limit))
        if bool(stopped.any()):
            self._keep(stopped[self.wiring.node_graph], state)
            self.runs = self.runs & ~stopped
            if 0 < float(self.runs.float().mean()) < self.DROP_BELOW:
                self._drop()

    def _keep(self, ended: Tensor, state: State) -> None:
        nodes = torch.arange(len(self.last_values), device=ended.device)
        nodes = (nodes if self.nodes is None else self.nodes)[ended]
        self.last_values[nodes] = self.values[ended]
        self.last_latent[nodes] = state.latent[ended]
        self.last_encoded[nodes] = state.encoded[ended]

    def _drop(self) -> None:
        wiring, links, nodes = self.wiring.select(self.runs)
        self.links = links if self.links is None else self.links[links]
        self.nodes = nodes if self.nodes is None else self.nodes[nodes]
        self.values, self.latent = self.values[nodes], self.latent[nodes]
        self.limit, self.wiring = self.limit[self.runs], wiring
        self.runs = self.runs[self.runs]


@lru_cache(maxsize=2)
def wiring_of(batch: Batch, device: torch.device | str) -> Wiring:
    """Return the wiring of a batch, cached: a run asks for it many times."""
    return Wiring.of(batch, device)


def padded_paths(paths: Paths) -> tuple[WideArray, BoolArray]:
    """(path, place): the arcs of each path as a row, and which places are padding."""
    is_padding = np.arange(paths.lengths.max()) >= paths.lengths[:, None]
    arcs = np.zeros(is_padding.shape, np.int64)
    arcs[~is_padding] = paths.arcs
    return arcs, is_padding
