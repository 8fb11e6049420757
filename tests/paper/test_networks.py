"""The paper's network has the paper's size, and its decoders do what their docstrings say."""

from __future__ import annotations

import pytest
import torch

from augury.classical.batch import Batch
from augury.config import NetworkConfig, preset
from augury.errors import ConfigError
from augury.neural.wiring import Walks, Wiring
from augury.paper.networks import LinkTerms, PaperNetwork, State
from augury.paper.processors import PROCESSORS
from tiny import HIDDEN, UNEQUAL, bipartite, neural, random_arcs

WIRING = Wiring.of(Batch.of([*UNEQUAL, bipartite(5)]))


def size(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_papers_network_has_the_papers_number_of_parameters() -> None:
    network = PaperNetwork(preset("paper-mpnn").network, 1.0)
    assert size(network) == 40_641
    assert size(network.processor) == 11_264


def test_a_processor_that_does_not_exist_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^network.processor is 'mppn', none of mpnn, .*$"):
        PaperNetwork(NetworkConfig(processor="mppn"), 1.0)


def state_and_terms(network: PaperNetwork) -> tuple[State, LinkTerms]:
    weights, capacities = random_arcs(Batch.of([*UNEQUAL, bipartite(5)]))
    terms = network.search_terms(WIRING.on_links(weights), WIRING.on_links(capacities))
    generator = torch.Generator().manual_seed(0)
    parts = torch.randn(2, WIRING.num_nodes, HIDDEN, generator=generator)
    return State(parts[0], parts[1]), terms


@pytest.mark.parametrize("name", PROCESSORS)
@torch.no_grad()
def test_best_predecessors_are_those_of_the_highest_scores(name: str) -> None:
    network = neural(name)
    state, terms = state_and_terms(network)
    column = network.predecessor_scores(state, terms, WIRING).argmax(-1)
    expected = WIRING.start[:-1] + column
    assert torch.equal(network.best_predecessors(state, terms, WIRING), expected)


@torch.no_grad()
def test_predecessor_scores_are_the_papers_formula() -> None:
    network = neural()
    weights, capacities = random_arcs(Batch.of([*UNEQUAL, bipartite(5)]))
    links = network.encode_search_links(WIRING.on_links(weights), WIRING.on_links(capacities))
    state, terms = state_and_terms(network)
    both = state.both
    inputs = torch.cat([both[WIRING.receiver], both[WIRING.sender], links], dim=-1)
    expected = torch.nn.functional.leaky_relu(network.predecessor(inputs))[:, 0]
    scores = network.predecessor_scores(state, terms, WIRING)
    torch.testing.assert_close(scores.reshape(-1)[WIRING.tables.slot], expected)
    torch.testing.assert_close(network.link_scores(state, terms, WIRING), expected)
    assert (scores[WIRING.tables.incoming == WIRING.num_links] == -torch.inf).all()


@torch.no_grad()
def test_terms_of_the_first_links_are_a_prefix() -> None:
    _, terms = state_and_terms(neural())
    assert torch.equal(terms.first(5).prepared, terms.prepared[:5])
    assert torch.equal(terms.first(5).score, terms.score[:5])


def walks_of(capacities: list[list[int]], lengths: list[int]) -> Walks:
    shape = len(capacities), len(capacities[0])
    generator = torch.Generator().manual_seed(0)
    is_padding = torch.arange(shape[1]) >= torch.tensor(lengths)[:, None]
    drawn = [torch.randint(3, shape, generator=generator) for _ in range(3)]
    return Walks(drawn[0], drawn[1], drawn[2], torch.tensor(capacities), is_padding)


@torch.no_grad()
def test_a_walk_alone_is_the_walk_among_longer_ones() -> None:
    network = neural()
    latent = torch.randn(3, HIDDEN, generator=torch.Generator().manual_seed(0))
    walks = walks_of([[3, 0, 9, 9], [1, 2, 3, 4]], [2, 4])
    alone = Walks(*(part[:1, :2] for part in walks))
    messages, own = network.walk_messages(latent, walks), network.walk_messages(latent, alone)
    logits = network.bottleneck_logits(messages, walks)
    torch.testing.assert_close(logits[:1, :2], network.bottleneck_logits(own, alone))
    assert (logits[0, 2:] == -torch.inf).all()
    kept = network.augmentation_logits(messages, torch.tensor([2, 1]), walks)
    torch.testing.assert_close(kept[:2], network.augmentation_logits(own, torch.tensor([2]), alone))


@torch.no_grad()
def test_augmentation_never_chooses_more_than_the_capacity() -> None:
    network = neural()
    latent = torch.randn(3, HIDDEN, generator=torch.Generator().manual_seed(0))
    walks = walks_of([[3, 0, 255]], [3])
    messages = network.walk_messages(latent, walks)
    logits = network.augmentation_logits(messages, torch.tensor([0]), walks)
    assert torch.isfinite(logits).sum(-1).tolist() == [4, 1, 256]
