"""Bits of nodes and links become decisions: encode, process, decode (paper, sections 2 and 3).

`PaperNetwork` holds one processor, shared by all subroutines, and an encoder and decoders for each:
search (Bellman-Ford), reachability (breadth-first search), bottleneck and augmentation. It is only
formulas: each method takes the state it needs and returns what it computes; `executor` and `unroll`
run the steps. Only the layers of bottleneck and augmentation have biases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augury.config import NetworkConfig
from augury.errors import ConfigError
from augury.neural.layers import Linear, TransformerLayer, to_bits
from augury.neural.wiring import Walks, Wiring
from augury.paper.processors import PROCESSORS, is_known
from augury.paper.reduce import best_links, gather_nodes, gather_senders, pad_incoming


@dataclass(frozen=True)
class State:
    """What a step leaves: the encoded input z and the latent h of each node, (…, node, K)."""

    encoded: Tensor
    latent: Tensor

    @cached_property
    def both(self) -> Tensor:
        """[z, h], the input of every decoder of nodes."""
        return torch.cat([self.encoded, self.latent], dim=-1)


class LinkTerms(NamedTuple):
    """What a search needs of its links, the same in every step."""

    prepared: Tensor
    """(…, link, K): the links' part of the messages."""
    score: Tensor
    """(…, link, 1): the links' part of the predecessor scores."""

    def first(self, num_links: int) -> LinkTerms:
        """Return the terms of the first links."""
        return LinkTerms(self.prepared[..., :num_links, :], self.score[..., :num_links, :])


class UnknownProcessor(ConfigError):
    """A processor that is not in `PROCESSORS`, even with all plugins loaded."""


class PaperNetwork(nn.Module):
    """All subroutines of Ford-Fulkerson around one processor."""

    def __init__(self, config: NetworkConfig, mean_log_degree: float) -> None:
        super().__init__()
        if not is_known(config.processor):
            known = ", ".join(PROCESSORS)
            raise UnknownProcessor(
                f"network.processor is {config.processor!r}, none of {known}; --import FILE adds "
                f"those that a Python file defines"
            )
        hidden, self.bits = config.hidden, config.bits
        self.bit_encoder = Linear(self.bits, hidden, bias=False)
        self.processor = PROCESSORS[config.processor](hidden, mean_log_degree)

        self.search_nodes = Linear(2 * hidden, hidden, bias=False)
        self.search_links = Linear(2 * hidden, hidden, bias=False)
        self.distance = Linear(2 * hidden, self.bits, bias=False)
        self.predecessor = Linear(5 * hidden, 1, bias=False)
        self.search_goes_on = Linear(hidden, 1, bias=False)

        self.reach_nodes = Linear(1 + hidden, hidden, bias=False)
        self.reach_links = Linear(1, hidden, bias=False)
        self.reached = Linear(2 * hidden, 1, bias=False)
        self.reach_goes_on = Linear(hidden, 1, bias=False)

        self.bottleneck_layer = TransformerLayer(hidden, config.heads)
        self.bottleneck_logit = Linear(hidden, 1, bias=True)
        self.augmentation = Linear(2 * hidden, 2**self.bits, bias=True)

    @property
    def hidden(self) -> int:
        """Width K of the latents."""
        return self.processor.hidden

    def encode_integers(self, values: Tensor) -> Tensor:
        """(…,) integers → (…, K): the sum of the learnt vectors of the bits that are one."""
        return F.leaky_relu(
            self.bit_encoder(to_bits(values, self.bits, self.bit_encoder.weight.dtype))
        )

    def encode_search_links(self, weights: Tensor, capacities: Tensor) -> Tensor:
        """(link,), (link,) → (…, link, K)."""
        codes = self.encode_integers(torch.stack([weights, capacities], dim=-1).flatten())
        return F.leaky_relu(self.search_links(codes.unflatten(-2, (-1, 2)).flatten(-2)))

    def search_terms(self, weights: Tensor, capacities: Tensor) -> LinkTerms:
        """Encode the links of a search and apply what every step would apply to them."""
        links = self.encode_search_links(weights, capacities)
        return LinkTerms(self.processor.prepare(links), self.predecessor.part(links, 4))

    def search_step(
        self, distance: Tensor, latent: Tensor, terms: LinkTerms, wiring: Wiring
    ) -> State:
        """One step of Bellman-Ford from integer distances (…, node) and the last latents."""
        inputs = torch.cat([self.encode_integers(distance), latent], dim=-1)
        encoded = F.leaky_relu(self.search_nodes(inputs))
        return State(encoded, self.processor(encoded, latent, terms.prepared, wiring))

    def distance_logits(self, state: State) -> Tensor:
        """(…, node, bit): the new distances."""
        return self.distance(state.both)

    def predecessor_scores(self, state: State, terms: LinkTerms, wiring: Wiring) -> Tensor:
        """(…, node, width): a score for each link into each node, −∞ on padding.

        The score is LeakyReLU(w · [z_i, h_i, z_j, h_j, e_ij]) for the link from j to i.
        """
        own, sent = self.predecessor_parts(state)
        along = gather_senders(sent, wiring) + terms.score
        return F.leaky_relu(own + pad_incoming(along, wiring, -torch.inf).squeeze(-1))

    def predecessor_parts(self, state: State) -> tuple[Tensor, Tensor]:
        """(…, node, 1), (…, node, 1): what a node adds to a score as receiver and as sender."""
        own, sent = (state.both @ self.predecessor_weights.mT).split(1, dim=-1)
        return own, sent

    @property
    def predecessor_weights(self) -> Tensor:
        """(…, 2, 2 K): the weights of [z, h] of the receiver, and of the sender."""
        width = 2 * self.hidden
        return self.predecessor.weight[..., 0, : 2 * width].unflatten(-1, (2, width))

    def link_scores(self, state: State, terms: LinkTerms, wiring: Wiring) -> Tensor:
        """(link,): the scores of `predecessor_scores` without a table, for an observer."""
        own, sent = (self.predecessor.part(state.both, end).squeeze(-1) for end in (0, 1))
        along = sent[wiring.sender] + terms.score.squeeze(-1)
        return F.leaky_relu(own[wiring.receiver] + along)

    def best_predecessors(self, state: State, terms: LinkTerms, wiring: Wiring) -> Tensor:
        """(node,): the link with the highest score into each node, without a table.

        The node's own part and the leaky ReLU do not change the order of its links.
        """
        sent = self.predecessor.part(state.both, 1).squeeze(-1)
        return best_links(sent[wiring.sender] + terms.score.squeeze(-1), wiring)

    def search_continues(self, state: State, wiring: Wiring) -> Tensor:
        """(…, graph): above 0 if the search goes on after this step."""
        return self.search_goes_on(wiring.mean_of_graphs(state.latent)).squeeze(-1)

    def reach_terms(self, is_usable: Tensor) -> Tensor:
        """(link,) bits → (…, link, K): the links' part of the messages of a reachability search."""
        bit = is_usable.to(self.reach_links.weight.dtype).unsqueeze(-1)
        return self.processor.prepare(F.leaky_relu(self.reach_links(bit)))

    def reach_step(
        self, is_reached: Tensor, latent: Tensor, prepared: Tensor, wiring: Wiring
    ) -> State:
        """One step of breadth-first search from reached bits (…, node) and the last latents."""
        bit = is_reached.to(latent.dtype).unsqueeze(-1)
        weight = self.reach_nodes.weight  # the first column is for the bit
        encoded = F.leaky_relu(bit * weight[..., :1].mT + latent @ weight[..., 1:].mT)
        return State(encoded, self.processor(encoded, latent, prepared, wiring))

    def reached_logits(self, state: State) -> Tensor:
        """(…, node): above 0 if the node is reached."""
        return self.reached(state.both).squeeze(-1)

    def reach_continues(self, state: State, wiring: Wiring) -> Tensor:
        """(…, graph): above 0 if the search goes on after this step."""
        return self.reach_goes_on(wiring.mean_of_graphs(state.latent)).squeeze(-1)

    def walk_messages(self, latent: Tensor, walks: Walks) -> Tensor:
        """(…, walk * place, K): the messages along walks, from the last latents of a search."""
        links = self.encode_search_links(walks.weights.reshape(-1), walks.capacities.reshape(-1))
        receiver = gather_nodes(latent, walks.receiver.reshape(-1))
        sender = gather_nodes(latent, walks.sender.reshape(-1))
        return self.processor.messages(receiver, sender, links)

    def bottleneck_logits(self, messages: Tensor, walks: Walks) -> Tensor:
        """(…, walk, place): how likely each arc is its walk's bottleneck; −∞ on padding."""
        logits = self.bottleneck_logit(self.bottleneck_layer(messages, walks.is_padding))
        logits = logits.squeeze(-1).unflatten(-1, walks.is_padding.shape)
        return logits.masked_fill(walks.is_padding, -torch.inf)

    def augmentation_logits(self, messages: Tensor, bottleneck: Tensor, walks: Walks) -> Tensor:
        """(…, walk * place, 2^bits): the residual that each arc keeps, masked to 0 … capacity."""
        places = walks.is_padding.shape[1]
        amount = self.encode_integers(bottleneck).repeat_interleave(places, dim=-2)
        logits = self.augmentation(torch.cat([amount, messages], dim=-1))
        classes = torch.arange(logits.shape[-1], device=logits.device)
        return logits.masked_fill(classes > walks.capacities.reshape(-1, 1), -torch.inf)
