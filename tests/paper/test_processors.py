"""What every processor must keep to; one that is added to the table is tested without a new line.

Nothing here names a processor but the tests of one.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.nn import aggr

from augury.classical.batch import Batch
from augury.classical.network import FlowNetwork
from augury.neural.layers import stack
from augury.neural.wiring import Wiring
from augury.paper.losses import Tally, reach_losses, search_losses
from augury.paper.networks import PaperNetwork
from augury.paper.processors import PNA, PROCESSORS
from tiny import HIDDEN, UNEQUAL, bipartite, neural, random_arcs, samples

EVERY = pytest.mark.parametrize("name", PROCESSORS)

GRAPHS = [*UNEQUAL, bipartite(4)]


def steps(network: PaperNetwork, wiring: Wiring, weights: Tensor, capacities: Tensor) -> Tensor:
    """Search three steps and return all that the network says of each node, (step, node, k)."""
    terms = network.search_terms(wiring.on_links(weights), wiring.on_links(capacities))
    leading = terms.prepared.shape[:-2]
    distance = torch.full((*leading, wiring.num_nodes), 255)
    distance[..., wiring.source] = 0
    latent = torch.zeros(*leading, wiring.num_nodes, network.hidden)
    reach = network.reach_terms(wiring.on_links(capacities > 0))
    said: list[Tensor] = []
    for _ in range(3):
        state = network.search_step(distance, latent, terms, wiring)
        latent = state.latent
        best = network.predecessor_scores(state, terms, wiring).amax(-1, keepdim=True)
        other = network.reach_step(distance == 0, latent, reach, wiring)
        said.append(torch.cat([state.both, best, other.both], dim=-1))
    return torch.stack(said)


def permuted(
    network: FlowNetwork, rng: np.random.Generator
) -> tuple[FlowNetwork, np.ndarray, np.ndarray]:
    """Number nodes and arcs anew; also returns each node's new number, each arc's old one."""
    number = rng.permutation(network.num_nodes)
    pairs = rng.permutation(network.num_arcs // 2)
    arcs = np.stack([2 * pairs, 2 * pairs + 1], axis=1)
    turned = rng.random(len(pairs)) < 0.5
    arcs[turned] = arcs[turned, ::-1]
    arcs = arcs.reshape(-1)
    again = FlowNetwork(
        network.num_nodes,
        number[network.sender[arcs]].astype(np.int32),
        number[network.receiver[arcs]].astype(np.int32),
        network.capacity[arcs],
        int(number[network.source]),
        int(number[network.sink]),
    )
    return again, number, arcs


@EVERY
def test_gradients_reach_every_parameter(name: str) -> None:
    network = neural(name)
    tally = Tally()
    chosen = range(len(samples()))
    search_losses(network, samples().search_batch(chosen, np.random.default_rng(0)), tally)
    reach_losses(network, samples().reach_batch(chosen), tally)
    tally.total().backward()
    for key, parameter in network.named_parameters():
        assert parameter.grad is not None, key
        assert torch.isfinite(parameter.grad).all(), key
        # The softmax over a walk does not see a shift; the authors' layer has this bias anyway.
        assert parameter.grad.abs().sum() > 0 or key == "bottleneck_logit.bias", key


@EVERY
@pytest.mark.parametrize("seed", range(3))
def test_relabelling_the_nodes_relabels_the_output(name: str, seed: int) -> None:
    network = neural(name)
    graph = bipartite(4, seed)
    again, number, arcs = permuted(graph, np.random.default_rng(seed))
    weights, capacities = random_arcs(Batch.of([graph]))
    with torch.no_grad():
        one = steps(network, Wiring.of(Batch.of([graph])), weights, capacities)
        other = steps(network, Wiring.of(Batch.of([again])), weights[arcs], capacities[arcs])
    torch.testing.assert_close(other[:, number], one)
    assert one.std(1).min() > 0  # nodes do differ


@EVERY
def test_a_graph_alone_is_the_graph_in_a_batch_of_unequal_ones(name: str) -> None:
    network = neural(name)
    batch = Batch.of(GRAPHS)
    weights, capacities = random_arcs(batch)
    with torch.no_grad():
        together = steps(network, Wiring.of(batch), weights, capacities)
        for place, graph in enumerate(GRAPHS):
            arcs = slice(*batch.arc_start[place : place + 2])
            nodes = slice(*batch.node_start[place : place + 2])
            wiring = Wiring.of(Batch.of([graph]))
            alone = steps(network, wiring, weights[arcs], capacities[arcs])
            torch.testing.assert_close(alone, together[:, nodes])


@EVERY
@pytest.mark.parametrize("is_stacked", [False, True])
def test_the_fast_form_is_the_plain_one(name: str, is_stacked: bool) -> None:
    processor = neural(name).processor
    if is_stacked:
        stack([neural(name, seed).processor for seed in range(2)], processor)
    processor.double()  # so that only a wrong formula makes a difference
    wiring = Wiring.of(Batch.of(GRAPHS))
    leading = (2,) if is_stacked else ()
    results: list[list[Tensor]] = []
    for is_fast in (True, False):
        generator = torch.Generator().manual_seed(0)
        nodes = torch.randn(*leading, wiring.num_nodes, HIDDEN, generator=generator).double()
        links = torch.randn(*leading, wiring.num_links, HIDDEN, generator=generator).double()
        nodes.requires_grad_()
        links.requires_grad_()
        processor.zero_grad()
        if is_fast:
            found = processor.update(nodes, processor.prepare(links), wiring)
        else:
            found = processor.update_plain(nodes, links, wiring)
        (found * torch.linspace(-1, 1, HIDDEN)).sum().backward()
        gradients = [parameter.grad for _, parameter in sorted(processor.named_parameters())]
        known = [gradient.clone() for gradient in gradients if gradient is not None]
        assert nodes.grad is not None and links.grad is not None
        results.append([found.detach(), nodes.grad, links.grad, *known])
    for fast, plain in zip(*results, strict=True):
        torch.testing.assert_close(fast, plain)


@EVERY
def test_a_stack_of_networks_is_each_network(name: str) -> None:
    networks = [neural(name, seed) for seed in range(3)]
    together = neural(name, 9)
    stack(networks, together)
    batch = Batch.of(GRAPHS)
    wiring, arcs = Wiring.of(batch), random_arcs(batch)
    with torch.no_grad():
        found = steps(together, wiring, *arcs)
        for place, network in enumerate(networks):
            alone = steps(network, wiring, *arcs)
            torch.testing.assert_close(found[:, place], alone, rtol=1e-4, atol=1e-5)


@EVERY
def test_the_weight_of_a_link_is_heard_by_its_receiver(name: str) -> None:
    processor = neural(name).processor
    wiring = Wiring.of(Batch.of([bipartite(4)]))
    generator = torch.Generator().manual_seed(0)
    nodes = torch.randn(wiring.num_nodes, HIDDEN, generator=generator)
    links = torch.randn(wiring.num_links, HIDDEN, generator=generator)
    changed = links.clone()
    changed[3] += 5
    with torch.no_grad():
        before = processor.update(nodes, processor.prepare(links), wiring)
        after = processor.update(nodes, processor.prepare(changed), wiring)
    heard = torch.nonzero((before != after).any(-1))[:, 0]
    ends = (
        wiring.receiver[3:4]
        if name != "pna-two-ends"
        else torch.tensor([int(wiring.receiver[3]), int(wiring.sender[3])])
    )
    assert heard.tolist() == sorted(ends.tolist())


def test_pna_aggregates_and_scales_as_pyg_does() -> None:
    processor = neural("pna").processor
    assert isinstance(processor, PNA)
    wiring = Wiring.of(Batch.of(GRAPHS))
    generator = torch.Generator().manual_seed(0)
    nodes = torch.randn(wiring.num_nodes, HIDDEN, generator=generator)
    links = torch.randn(wiring.num_links, HIDDEN, generator=generator)
    messages = processor.messages(nodes[wiring.receiver], nodes[wiring.sender], links)
    kinds = [aggr.MeanAggregation(), aggr.MinAggregation(), aggr.MaxAggregation()]
    found = [
        kind(messages, wiring.receiver, dim_size=wiring.num_nodes)
        for kind in (*kinds, aggr.StdAggregation())
    ]
    received = torch.cat(found, dim=-1)
    scale = (torch.bincount(wiring.receiver) + 1).float().log()[:, None] / 1.2
    scaled = torch.cat([nodes, received, received * scale, received / scale], dim=-1)
    expected = torch.nn.functional.leaky_relu(processor.mix(processor.join(scaled)))
    # A deviation has a small number added under the root, so that it is not quite PyG's.
    found = processor.update(nodes, processor.prepare(links), wiring)
    torch.testing.assert_close(found, expected, rtol=1e-2, atol=5e-3)
