"""A search of the paper's network becomes one compiled loop on the CPU: the engine `fast`.

It evaluates the same network at each step; only the order of the arithmetic differs. Each graph is
run to its end before the next one starts, so that its latents stay in the cache. Within a step,
rows are processed in blocks: two products before the messages, two after them, and everything in
between in one pass. Nodes whose latents must be equal share a row. The message is split as in
`processors`, links are rows of a table, PNA's two consecutive linear layers are multiplied out, and
so are its scalers, which depend on the degree alone: there is one matrix for each degree. Numbers
differ from the plain form in their last digits; tests compare the decisions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from augury.classical.arrays import WideArray
from augury.classical.ford_fulkerson import MAX_WEIGHT
from augury.neural.layers import LANES
from augury.neural.wiring import Wiring
from augury.paper.networks import LinkTerms, PaperNetwork, State
from augury.paper.processors import MPNN, PNA, PNATwoEnds, PNAWithoutStd, Processor
from augury.paper.recipes import FloatArray, Parameters, scalers, weights_of


class LinkArrays(NamedTuple):
    """What the loops need of the links."""

    prepared: FloatArray
    """(kind, K): a kind of link's part of the messages."""
    kind: WideArray
    """(link,)"""
    sender: WideArray
    """(link,)"""
    start: WideArray
    """(node + 1,)"""
    back: WideArray
    """(link,): the kind of the link that leads back; empty without two ends."""

    @classmethod
    def of(
        cls, network: PaperNetwork, prepared: FloatArray, kind: WideArray, wiring: Wiring
    ) -> LinkArrays:
        """Take the links of a wiring."""
        back = kind[wiring.back.numpy()] if has_two_ends(network) else kind[:0]
        return cls(prepared, kind, wiring.sender.numpy(), wiring.start.numpy(), back)


def has_two_ends(network: PaperNetwork) -> bool:
    """Tell whether a node takes the minimum and maximum of the messages it sends."""
    return isinstance(network.processor, PNATwoEnds)


class Ended(NamedTuple):
    """What a search leaves, for all graphs of the batch."""

    values: Tensor
    state: State
    steps: int


COMPILED: tuple[type[Processor], ...] = (MPNN, PNAWithoutStd, PNA, PNATwoEnds)
"""The processors with a compiled form."""


def is_available(network: PaperNetwork, device: torch.device | str) -> bool:
    """Tell whether this network has a fast form on this device."""
    if type(network.processor) not in COMPILED or torch.device(device).type != "cpu":
        return False
    weight = network.bit_encoder.weight
    is_alone = weight.ndim == 2 and weight.dtype == torch.float32
    return is_alone and network.hidden % LANES == 0


class Ranks(NamedTuple):
    """The degrees of the nodes, where they matter to the network."""

    by_degree: FloatArray
    """(rank, scaler): the scalers of each distinct degree, see `recipes.scalers`."""
    of_nodes: WideArray
    """(node,): the place of each node's degree among them."""

    @classmethod
    def of(cls, network: PaperNetwork, wiring: Wiring) -> Ranks:
        """Take those of a wiring; without scalers, all nodes are alike."""
        degree = wiring.degree.numpy()
        degrees, of_nodes = degree[:1], np.zeros_like(degree)
        if isinstance(network.processor, PNA):
            degrees, of_nodes = distinct(degree)
        return cls(scalers(network, degrees), of_nodes)


def run(
    parameters: Parameters, values: Tensor, links: LinkArrays, wiring: Wiring, ranks: Ranks
) -> Ended:
    """Step every graph of the batch until the network stops it or |V| − 1 steps are done.

    Args:
        parameters: those of this kind of search.
        values: (node,), the integers that the search starts from.
        links: their kinds and their part of the messages.
        wiring: who hears whom.
        ranks: which weights a node applies to what it hears.
    """
    from augury.paper.loops import search  # numba takes a while to import

    own = parameters.values()
    weights = weights_of(own, ranks.by_degree, own.outputs)
    last_values = values.clone()
    shape = wiring.num_nodes, len(weights.of_latent)
    latent = torch.zeros(shape, dtype=torch.float32, device="cpu")
    encoded = torch.zeros_like(latent)
    most = int(np.diff(wiring.offsets[:, 0]).max())
    nodes = (part.numpy() for part in (last_values, latent, encoded))
    steps = search(weights, links, wiring.node_start.numpy(), most, ranks.of_nodes, *nodes)
    return Ended(last_values, State(encoded, latent), steps)


def compiled_best_links(sent: Tensor, along: Tensor, row: Tensor, wiring: Wiring) -> Tensor:
    """(node, 1), (row, 1) → (node,): `reduce.best_links` for the scores sent[sender] + along[row].

    Nothing as large as the links is allocated.
    """
    from augury.paper.loops import choose_best

    best = torch.empty(wiring.num_nodes, dtype=torch.int64, device="cpu")
    arrays = sent.numpy()[:, 0], along.numpy()[:, 0], row.numpy()
    choose_best(*arrays, wiring.sender.numpy(), wiring.start.numpy(), best.numpy())
    return best


def distinct_terms(
    network: PaperNetwork, weights: WideArray, capacities: WideArray, device: torch.device | str
) -> tuple[LinkTerms, WideArray]:
    """Encode each distinct pair of weight and capacity once; return the row of each pair given."""
    kinds, row = distinct_kinds(weights, capacities)
    weight, capacity = (torch.from_numpy(part).to(device) for part in kinds.T)
    return network.search_terms(weight, capacity), row


def distinct_kinds(weights: WideArray, capacities: WideArray) -> tuple[WideArray, WideArray]:
    """Return the distinct pairs of weight and capacity, (kind, 2), and the kind of each pair."""
    pair, row = distinct(capacities * (MAX_WEIGHT + 1) + weights)
    capacity, weight = np.divmod(pair, MAX_WEIGHT + 1)
    return np.stack([weight, capacity], axis=1), row


def distinct(values: WideArray) -> tuple[WideArray, WideArray]:
    """Return the distinct values, and the place of each value among them."""
    if int(values.max()) >= 2**20:
        return np.unique(values, return_inverse=True)
    is_there = np.zeros(int(values.max()) + 1, np.bool_)  # marking is faster than sorting
    is_there[values] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[values]
