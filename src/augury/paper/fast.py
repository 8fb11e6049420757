"""A search of the paper's network becomes one compiled loop on the CPU: the engine `fast`.

It evaluates the same network at each step; only the order of the arithmetic differs. Each graph is
run to its end before the next one starts, so that its latents stay in the cache. Within a step,
nodes are processed in blocks: two products before the messages, two after them, and everything in
between in one pass. The message is split as in `processors`, links are rows of a table, and PNA's
two consecutive linear layers are multiplied out. Numbers differ from the plain form in their last
digits; tests compare the decisions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from augury.classical.arrays import WideArray
from augury.classical.ford_fulkerson import MAX_WEIGHT
from augury.neural.wiring import Wiring
from augury.paper.networks import LinkTerms, PaperNetwork, State
from augury.paper.processors import MPNN, PNA, PNAWithoutStd, Processor


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
    """(statistics * K, scalers * K): the update from what a node hears, one part per scaler."""
    of_updated: Tensor
    """(K, 3 K): the update's part of the GRU's gates."""
    outputs: Tensor
    """(2 K, bit): logits from encoding and latent."""
    goes_on: Tensor
    """(K,): from the mean latent to the logit of going on."""
    mean_log_degree: float
    """δ of PNA."""


class Ended(NamedTuple):
    """What a search leaves, for all graphs of the batch."""

    values: Tensor
    state: State
    steps: int


STATISTICS: dict[type[Processor], int] = {MPNN: 1, PNAWithoutStd: 3, PNA: 4}
"""The processors with a compiled form, and how many statistics of its messages each takes."""


def is_available(network: PaperNetwork, device: torch.device | str) -> bool:
    """Tell whether this network has a fast form on this device."""
    if type(network.processor) not in STATISTICS or torch.device(device).type != "cpu":
        return False
    weight = network.bit_encoder.weight
    return weight.ndim == 2 and weight.dtype == torch.float32


def search_recipe(network: PaperNetwork) -> Recipe:
    """Return the weights of a network's Bellman-Ford search."""
    codes = network.encode_integers(torch.arange(2**network.bits, device="cpu"))
    inputs, of_latent = network.search_nodes.weight.split(network.hidden, dim=1)
    return _recipe(
        network, codes @ inputs.mT, of_latent, network.distance.weight, network.search_goes_on
    )


def reach_recipe(network: PaperNetwork) -> Recipe:
    """Return the weights of a network's breadth-first search."""
    weight = network.reach_nodes.weight  # the first column is for the bit
    inputs = torch.stack([torch.zeros_like(weight[:, 0]), weight[:, 0]])
    return _recipe(network, inputs, weight[:, 1:], network.reached.weight, network.reach_goes_on)


def _recipe(
    network: PaperNetwork, inputs: Tensor, of_latent: Tensor, outputs: Tensor, goes_on: Any
) -> Recipe:
    processor: Any = network.processor
    own, sent, _ = processor.message.weight.split(network.hidden, dim=1)
    join, delta = processor.join.weight, 1.0
    if isinstance(processor, PNA):
        join, delta = processor.mix.weight @ join, float(processor.mean_log_degree)
    heard = join[:, network.hidden :].unflatten(1, (-1, STATISTICS[type(processor)], own.shape[1]))
    gru = processor.gru
    weights = (
        inputs,
        torch.cat([gru.of_state, of_latent]).mT,
        torch.cat([own, sent, join[:, : network.hidden]]).mT,
        heard.permute(2, 3, 1, 0).flatten(2).flatten(0, 1),
        gru.of_input.mT,
        outputs.mT,
        goes_on.weight[0],
    )
    return Recipe(*weights, mean_log_degree=delta)


def run(recipe: Recipe, values: Tensor, prepared: Tensor, row: Tensor, wiring: Wiring) -> Ended:
    """Step every graph of the batch until the network stops it or |V| − 1 steps are done.

    Args:
        recipe: the weights.
        values: (node,), the integers that the search starts from.
        prepared: (row, K), the links' part of the messages, one row per kind of link.
        row: (link,), the kind of each link.
        wiring: who hears whom.
    """
    from augury.paper.loops import search  # numba takes a while to import

    last_values = values.clone()
    latent = recipe.of_latent.new_zeros(wiring.num_nodes, recipe.of_latent.shape[0])
    encoded = torch.zeros_like(latent)
    *weights, delta = recipe
    links = prepared, row, wiring.sender, wiring.start, wiring.node_start
    steps = search(
        *(weight.contiguous().numpy() for weight in weights),
        np.float32(delta),
        *(tensor.numpy() for tensor in (*links, last_values, latent, encoded)),
    )
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
) -> tuple[LinkTerms, Tensor]:
    """Encode each distinct pair of weight and capacity once; return the row of each pair given."""
    pair, row = distinct(capacities * (MAX_WEIGHT + 1) + weights)
    capacity, weight = (torch.from_numpy(part) for part in np.divmod(pair, MAX_WEIGHT + 1))
    table = network.search_terms(weight.to(device), capacity.to(device))
    return table, torch.from_numpy(row).to(device)


def distinct(values: WideArray) -> tuple[WideArray, WideArray]:
    """Return the distinct values, and the place of each value among them."""
    if int(values.max()) >= 2**20:
        return np.unique(values, return_inverse=True)
    is_there = np.zeros(int(values.max()) + 1, np.bool_)  # marking is faster than sorting
    is_there[values] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[values]
