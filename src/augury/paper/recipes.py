"""Parameters become the weights that the compiled loops take, and gradients find their way back.

Search and reachability are the same recurrence with other encoders and outputs, so one recipe
serves both. Its products are small: NumPy makes them, and their gradients, in a fraction of the
time that PyTorch takes to record and replay them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from augury.classical.arrays import WideArray
from augury.neural.layers import LANES, SLOPE
from augury.paper.networks import PaperNetwork
from augury.paper.processors import PNA

FloatArray = npt.NDArray[np.float32]


class Parameters(NamedTuple):
    """What a search is made from: tensors of a network, or their values, or their gradients."""

    codes: Any
    """(value, C): the encoded integers."""
    nodes: Any
    """(K, C + K): of a node's encoding, from integer and latent."""
    links: Any
    """(K, C) or (K, 2 C): of a link's encoding, from its integers."""
    outputs: Any
    """(bit, 2 K): logits of the next integer, from encoding and latent."""
    goes_on: Any
    """(1, K)"""
    predecessor: Any
    """(1, 5 K), or None"""
    message: Any
    join: Any
    mix: Any
    """(K, K), or None"""
    of_input: Any
    of_state: Any

    @classmethod
    def of_search(cls, network: PaperNetwork, codes: Tensor | None = None) -> Parameters:
        """Take those of Bellman-Ford; `codes` are encoded here unless given."""
        own = network.search_nodes, network.search_links, network.distance, network.search_goes_on
        weights = [layer.weight for layer in (*own, network.predecessor)]
        codes = all_codes(network) if codes is None else codes
        return cls._make([codes, *weights, *_shared(network)])

    @classmethod
    def of_reach(cls, network: PaperNetwork) -> Parameters:
        """Take those of breadth-first search, whose integers are bits."""
        own = network.reach_nodes, network.reach_links, network.reached, network.reach_goes_on
        weights = [layer.weight for layer in own]
        bits = torch.tensor([[0.0], [1.0]], dtype=torch.float32, device="cpu")
        return cls._make([bits, *weights, None, *_shared(network)])

    def values(self) -> Parameters:
        """Return the values of all tensors."""
        return Parameters(*(None if part is None else as_array(part) for part in self))


def all_codes(network: PaperNetwork) -> Tensor:
    """(value, K): every integer, encoded."""
    return network.encode_integers(torch.arange(2**network.bits, device="cpu"))


def _shared(network: PaperNetwork) -> tuple[Tensor | None, ...]:
    processor: Any = network.processor
    mix = processor.mix.weight if isinstance(processor, PNA) else None
    gru = processor.gru.of_input, processor.gru.of_state
    return processor.message.weight, processor.join.weight, mix, *gru


def as_array(tensor: Tensor) -> FloatArray:
    """Return a tensor's values, row by row."""
    return tensor.detach().contiguous().numpy()


class Weights(NamedTuple):
    """The weights as the loops take them: in the order in which a step uses them, transposed.

    Those of latent and encoding include the outputs' part, padded with zeros.
    """

    inputs: FloatArray
    """(value, K): what each integer adds to a node's encoding."""
    of_latent: FloatArray
    """(K, 4 K + outputs): the latent's part of the GRU's three gates, encoding and outputs."""
    of_encoded: FloatArray
    """(K, 3 K + outputs): receiver's and sender's part of a message, the node's of its update."""
    of_heard: FloatArray
    """(rank, statistics * K, K): the update from what a node hears, for each distinct degree."""
    of_updated: FloatArray
    """(K, 3 K): the update's part of the GRU's gates."""
    goes_on: FloatArray
    """(K,): from the mean latent to the logit of going on."""


class Links(NamedTuple):
    """The links' part of messages and of predecessors' scores, for each kind of link."""

    codes: FloatArray
    encoded: FloatArray
    prepared: FloatArray
    score: FloatArray


def scalers(network: PaperNetwork, degrees: WideArray) -> FloatArray:
    """(rank, scaler): the factors by which PNA scales what a node of each degree hears."""
    processor: Any = network.processor
    if not isinstance(processor, PNA):
        return np.ones((1, 1), np.float32)
    scale = np.log((degrees + 1).astype(np.float32)) / processor.mean_log_degree.numpy()
    return np.stack([np.ones_like(scale), scale, 1 / scale], axis=1).astype(np.float32)


@np.errstate(over="ignore", invalid="ignore")  # as PyTorch, whatever the weights
def weights_of(own: Parameters, by_degree: FloatArray, outputs: FloatArray) -> Weights:
    """Arrange parameter values for the loops; `outputs` are the weights of the logits to find."""
    hidden, width = len(own.message), own.codes.shape[1]
    join = own.join if own.mix is None else own.mix @ own.join
    receiver, sender = own.message[:, :hidden], own.message[:, hidden : 2 * hidden]
    heard = np.ascontiguousarray(join[:, hidden:].T).reshape(by_degree.shape[1], -1)
    return Weights(
        own.codes @ own.nodes[:, :width].T,
        _factor(own.of_state, own.nodes[:, width:], outputs[:, hidden:]),
        _factor(receiver, sender, join[:, :hidden], outputs[:, :hidden]),
        (by_degree @ heard).reshape(len(by_degree), -1, hidden),
        _factor(own.of_input),
        own.goes_on[0],
    )


def _factor(*parts: FloatArray) -> FloatArray:
    """Join matrices and transpose them, padding the columns with zeros; see `product`."""
    columns = sum(map(len, parts))
    factor = np.zeros((parts[0].shape[1], columns + -columns % LANES), np.float32)
    np.concatenate(parts, out=factor.T[:columns])
    return factor


def all_outputs(own: Parameters) -> FloatArray:
    """(output, 2 K): of bits, of going on, of a predecessor's two ends; training judges them."""
    hidden = own.goes_on.shape[1]
    goes_on = np.concatenate([np.zeros_like(own.goes_on), own.goes_on], axis=1)
    ends = own.goes_on[:0] if own.predecessor is None else own.predecessor[:, : 4 * hidden]
    return np.concatenate([own.outputs, goes_on, ends.reshape(-1, 2 * hidden)])


@np.errstate(over="ignore", invalid="ignore")  # as PyTorch, whatever the weights
def links_of(own: Parameters, kinds: WideArray) -> Links:
    """Encode each kind of link, (kind, integer), and apply what every step would apply to it."""
    hidden = len(own.message)
    codes = own.codes[kinds].reshape(len(kinds), -1)
    encoded = codes @ own.links.T
    encoded = np.maximum(encoded, encoded * np.float32(SLOPE))
    score = encoded[:, 0] if own.predecessor is None else encoded @ own.predecessor[0, 4 * hidden :]
    return Links(codes, encoded, encoded @ own.message[:, 2 * hidden :].T, score)


@np.errstate(over="ignore", invalid="ignore")  # as PyTorch, whatever the weights
def gradients(  # gradients, and what they are of
    grads: Any,
    d_score: FloatArray,
    own: Parameters,
    by_degree: FloatArray,
    kinds: WideArray,
    links: Links,
) -> Parameters:
    """Return the gradients of the parameters, from those of weights and links."""
    hidden, width = len(own.message), own.codes.shape[1]
    num_bits, count = len(own.outputs), len(own.outputs) + (1 if own.predecessor is None else 3)
    parts = grads.of_encoded[:, 3 * hidden :], grads.of_latent[:, 4 * hidden :]
    d_outputs = np.concatenate([part.T[:count] for part in parts], axis=1)
    d_heard = by_degree.T @ grads.of_heard.reshape(len(by_degree), -1)
    d_join = _across(grads.of_encoded[:, 2 * hidden : 3 * hidden], d_heard.reshape(-1, hidden))
    d_mix = None
    if own.mix is not None:
        d_mix, d_join = d_join @ own.join.T, own.mix.T @ d_join
    d_links = grads.prepared @ own.message[:, 2 * hidden :]
    d_predecessor = None
    if own.predecessor is not None:
        d_links += d_score[:, None] * own.predecessor[:, 4 * hidden :]
        d_ends = d_outputs[num_bits + 1 :].reshape(1, -1)
        d_predecessor = np.concatenate([d_ends, d_score[None] @ links.encoded], axis=1)
    d_links[links.encoded <= 0] *= np.float32(SLOPE)
    d_codes = grads.inputs @ own.nodes[:, :width]
    np.add.at(d_codes, kinds, (d_links @ own.links).reshape(*kinds.shape, width))
    ends = grads.of_encoded[:, :hidden], grads.of_encoded[:, hidden : 2 * hidden]
    return Parameters(
        d_codes,
        _across(own.codes.T @ grads.inputs, grads.of_latent[:, 3 * hidden : 4 * hidden]),
        d_links.T @ links.codes,
        d_outputs[:num_bits],
        d_outputs[num_bits : num_bits + 1, hidden:],
        d_predecessor,
        _across(*ends, links.encoded.T @ grads.prepared),
        d_join,
        d_mix,
        grads.of_updated.T,
        grads.of_latent[:, : 3 * hidden].T,
    )


def _across(*parts: FloatArray) -> FloatArray:
    """Lay transposed matrices side by side."""
    return np.concatenate([part.T for part in parts], axis=1)
