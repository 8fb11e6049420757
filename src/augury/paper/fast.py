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

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from augury.classical.arrays import WideArray
from augury.classical.ford_fulkerson import MAX_WEIGHT
from augury.neural.layers import LANES
from augury.neural.wiring import Wiring
from augury.paper.networks import LinkTerms, PaperNetwork, State
from augury.paper.processors import MPNN, PNA, PNATwoEnds, PNAWithoutStd, Processor

FloatArray = npt.NDArray[np.float32]


class Recipe(NamedTuple):
    """The weights of one kind of search, in the order in which a step uses them, transposed.

    PyTorch makes them from the network's parameters, so gradients lead back to these.
    """

    inputs: Tensor
    """(value, K): what each integer adds to a node's encoding."""
    of_latent: Tensor
    """(K, 4 K): the latent's part of the GRU's three gates and of the encoding."""
    of_encoded: Tensor
    """(K, 3 K): receiver's and sender's part of a message, and the node's part of its update."""
    of_heard: Tensor
    """(rank, statistics * K, K): the update from what a node hears, for each degree there is."""
    of_updated: Tensor
    """(K, 3 K): the update's part of the GRU's gates."""
    outputs: Tensor
    """(2 K, bit): logits from encoding and latent."""
    goes_on: Tensor
    """(K,): from the mean latent to the logit of going on."""

    def arrays(self) -> Weights:
        """Return what the loops take."""
        told, kept = self.outputs.split(len(self.of_latent))
        of_latent = torch.cat([self.of_latent, kept], dim=1)
        of_encoded = torch.cat([self.of_encoded, told], dim=1)
        return Weights(
            as_array(self.inputs),
            as_factor(of_latent),
            as_factor(of_encoded),
            as_factor(self.of_heard),
            as_factor(self.of_updated),
            as_array(self.goes_on),
        )


class Weights(NamedTuple):
    """A recipe for the loops: what is applied to latent and encoding also has the outputs' part."""

    inputs: FloatArray
    of_latent: FloatArray
    of_encoded: FloatArray
    of_heard: FloatArray
    of_updated: FloatArray
    goes_on: FloatArray


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
    """(link,): the kind of the link that leads back; empty if there are not two ends."""

    @classmethod
    def of(
        cls, network: PaperNetwork, prepared: Tensor, kind: WideArray, wiring: Wiring
    ) -> LinkArrays:
        """Take the links of a wiring."""
        back = kind[wiring.back.numpy()] if has_two_ends(network) else kind[:0]
        return cls(as_array(prepared), kind, wiring.sender.numpy(), wiring.start.numpy(), back)


def has_two_ends(network: PaperNetwork) -> bool:
    """Tell whether a node takes minimum and maximum of the messages that it sends."""
    return isinstance(network.processor, PNATwoEnds)


def as_array(tensor: Tensor) -> FloatArray:
    """Return a tensor's values, row by row."""
    return tensor.detach().contiguous().numpy()


def as_factor(matrix: Tensor) -> FloatArray:
    """Return what `product` takes as a right factor: zeros fill up the columns."""
    return as_array(F.pad(matrix, (0, -matrix.shape[-1] % LANES)))


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

    degrees: Tensor
    """(rank,): the distinct ones."""
    of_nodes: Tensor
    """(node,): the place of each node's degree among them."""

    @classmethod
    def of(cls, network: PaperNetwork, wiring: Wiring) -> Ranks:
        """Take those of a wiring; without scalers, all nodes are alike."""
        if isinstance(network.processor, PNA):
            return cls(*torch.unique(wiring.degree, return_inverse=True))
        return cls(
            torch.ones(1, dtype=torch.float32, device="cpu"), torch.zeros_like(wiring.degree)
        )


def search_recipe(network: PaperNetwork, degrees: Tensor) -> Recipe:
    """Return the weights of a network's Bellman-Ford search."""
    codes = network.encode_integers(torch.arange(2**network.bits, device="cpu"))
    inputs, of_latent = network.search_nodes.weight.split(network.hidden, dim=1)
    encoder, outputs = (codes @ inputs.mT, of_latent), network.distance.weight
    return _recipe(network, degrees, *encoder, outputs, network.search_goes_on.weight)


def reach_recipe(network: PaperNetwork, degrees: Tensor) -> Recipe:
    """Return the weights of a network's breadth-first search."""
    weight = network.reach_nodes.weight  # the first column is for the bit
    inputs = torch.stack([torch.zeros_like(weight[:, 0]), weight[:, 0]])
    encoder, outputs = (inputs, weight[:, 1:]), network.reached.weight
    return _recipe(network, degrees, *encoder, outputs, network.reach_goes_on.weight)


def _recipe(network: PaperNetwork, degrees: Tensor, *own: Tensor) -> Recipe:
    inputs, of_latent, outputs, goes_on = own
    processor: Any = network.processor
    receiver, sent, _ = processor.message.weight.split(network.hidden, dim=1)
    join = processor.join.weight
    if isinstance(processor, PNA):
        join = processor.mix.weight @ join
    of_encoded, of_heard = join.mT.split([network.hidden, join.shape[1] - network.hidden])
    if isinstance(processor, PNA):
        scale = (degrees + 1).to(of_heard.dtype).log() / processor.mean_log_degree
        scalers = torch.stack([torch.ones_like(scale), scale, 1 / scale], dim=1)
        of_heard = (scalers @ of_heard.reshape(3, -1)).unflatten(1, (-1, network.hidden))
    return Recipe(
        inputs,
        torch.cat([processor.gru.of_state, of_latent]).mT,
        torch.cat([receiver.mT, sent.mT, of_encoded], dim=1),
        of_heard if of_heard.ndim == 3 else of_heard.unsqueeze(0),
        processor.gru.of_input.mT,
        outputs.mT,
        goes_on[0],
    )


def run(recipe: Recipe, values: Tensor, links: LinkArrays, wiring: Wiring, ranks: Tensor) -> Ended:
    """Step every graph of the batch until the network stops it or |V| − 1 steps are done.

    Args:
        recipe: the weights.
        values: (node,), the integers that the search starts from.
        links: their kinds and their part of the messages.
        wiring: who hears whom.
        ranks: (node,), which weights a node applies to what it hears.
    """
    from augury.paper.loops import search  # numba takes a while to import

    last_values = values.clone()
    latent = recipe.of_latent.new_zeros(wiring.num_nodes, recipe.of_latent.shape[0])
    encoded = torch.zeros_like(latent)
    most = int(np.diff(wiring.offsets[:, 0]).max())
    nodes = (part.numpy() for part in (ranks, last_values, latent, encoded))
    arrays = recipe.arrays(), links, wiring.node_start.numpy()
    steps = search(*arrays, most, *nodes)
    return Ended(last_values, State(encoded, latent), steps)


def compiled_best_links(sent: Tensor, along: Tensor, row: Tensor, wiring: Wiring) -> Tensor:
    """(node, 1), (row, 1) → (node,): `reduce.best_links` for the scores sent[sender] + along[row].

    Nothing of the size of the links is made.
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
    pair, row = distinct(capacities * (MAX_WEIGHT + 1) + weights)
    capacity, weight = (torch.from_numpy(part) for part in np.divmod(pair, MAX_WEIGHT + 1))
    table = network.search_terms(weight.to(device), capacity.to(device))
    return table, row


def distinct(values: WideArray) -> tuple[WideArray, WideArray]:
    """Return the distinct values, and the place of each value among them."""
    if int(values.max()) >= 2**20:
        return np.unique(values, return_inverse=True)
    is_there = np.zeros(int(values.max()) + 1, np.bool_)  # marking is faster than sorting
    is_there[values] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[values]
