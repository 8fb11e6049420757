"""The discrete network executes Edmonds-Karp without a mistake, and learns it bit by bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor

from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    BREADTH_FIRST,
    Settings,
    Subroutines,
    Verdict,
    ford_fulkerson,
    reachable,
)
from augury.classical.generate import (
    communities,
    flow,
    ladder_state,
    path_state,
    power_law,
    regular,
    sparse,
    uniform,
)
from augury.classical.graph import InputError
from augury.classical.network import FlowNetwork
from augury.classical.simulate import DECISIONS, maximum_values, simulate
from augury.neural.batch import ReachBatch, SearchBatch
from augury.neural.discrete import DiscreteExecutor, DiscreteNetwork, Reached
from augury.neural.losses import WEIGHTS, Tally, bit_losses, discrete_losses, learn
from augury.neural.networks import Walks
from augury.neural.wiring import Wiring
from graphs import BOTH_WAYS, NETWORKS
from proven import proven, untrained
from tiny import UNEQUAL, samples

INT32 = 2**31 - 1


def generators(count: int) -> list[np.random.Generator]:
    return np.random.default_rng(0).spawn(count)


def families() -> dict[str, list[FlowNetwork]]:
    rng = np.random.default_rng(1)
    bipartite = {
        "1x": [uniform(rng, 8) for _ in range(4)],
        "2x": [uniform(rng, 16) for _ in range(2)],
        "sparse": [sparse(rng, 30, c=2.0)],
        "regular": [regular(rng, 12, 3)],
        "power law": [power_law(rng, 20)],
        "communities": [communities(rng, 14, 0.4, 0.05)],
    }
    made = {
        name: [FlowNetwork.from_bipartite(graph) for graph in graphs]
        for name, graphs in bipartite.items()
    }
    made["path"] = [path_state(rng, n) for n in (1, 2, 9, 40)]
    made["ladder"] = [ladder_state(rng, n) for n in (2, 9, 40)]
    made["named"] = list(NETWORKS.values())
    for power in (8, 30, 62):
        made[f"capacities below 2^{power}"] = [
            flow(rng, nodes, 3 * nodes, low=0, high=2**power - 1) for nodes in (4, 6, 9, 14)
        ]
    return made


FAMILIES = families()
MIXED = [networks[-1] for networks in FAMILIES.values()]
"""One network of each family, unequal in every respect."""


def executor() -> Subroutines:
    return DiscreteExecutor(proven()).subroutines()


def scipys_maximum(network: FlowNetwork) -> int:
    capacity = network.to_scipy().astype(np.int32)
    return int(maximum_flow(capacity, network.source, network.sink).flow_value)


@pytest.mark.parametrize("many_paths", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_no_decision_is_wrong_and_the_flow_is_maximum(family: str, many_paths: bool) -> None:
    networks = FAMILIES[family]
    settings = Settings(many_paths=many_paths)
    runs = simulate(networks, executor(), generators(len(networks)), settings)
    for network, run in zip(networks, runs, strict=True):
        assert run.wrong == dict.fromkeys(DECISIONS, 0)
        assert run.ending == Verdict.DONE
        assert run.value == run.maximum
        # A flow is at most all capacity together; SciPy computes in 32 bits.
        if sum(network.capacity.tolist()) <= INT32:
            assert run.value == scipys_maximum(network)
    assert sum(run.asked["augmentation"] for run in runs) > 0


def test_the_paths_are_those_of_the_classical_breadth_first_search_in_length() -> None:
    # Which of several shortest paths is taken depends on ties, so from round 2 on states differ.
    neural, classical = (
        next(iter(ford_fulkerson(Batch.of(MIXED), parts, generators(len(MIXED)))))
        for parts in (executor(), BREADTH_FIRST)
    )
    assert np.array_equal(neural.paths.start, classical.paths.start)
    assert np.array_equal(neural.paths.graph, classical.paths.graph)


def test_the_tree_is_breadth_first_and_a_predecessor_has_the_least_weight_of_the_valid() -> None:
    checked = 0
    for round_ in ford_fulkerson(Batch.of(MIXED), executor(), generators(len(MIXED))):
        batch, residual, weights = round_.batch, round_.residual, round_.weights.astype(int)
        steps = reachable(batch, residual)
        never = len(steps)
        depth = np.where(steps[-1], steps.argmax(0), never)
        memory = round_.tree.memory
        assert isinstance(memory, Reached)
        assert np.array_equal(memory.is_reached.numpy(), steps[-1])

        arc = round_.tree.arc
        has_arc = steps[-1].copy()
        has_arc[batch.source] = False
        assert np.array_equal(arc >= 0, has_arc)
        nodes = np.flatnonzero(has_arc)
        assert np.array_equal(batch.receiver[arc[nodes]], nodes)
        assert np.array_equal(depth[batch.sender[arc[nodes]]] + 1, depth[nodes])
        is_valid = (residual > 0) & (depth[batch.sender] + 1 == depth[batch.receiver])
        assert is_valid[arc[nodes]].all()
        least = np.full(batch.num_nodes, 99)
        np.minimum.at(least, batch.receiver[is_valid], weights[is_valid])
        assert np.array_equal(weights[arc[nodes]], least[nodes])
        checked += len(nodes)
    assert checked > 1000


@pytest.mark.parametrize("network", [*UNEQUAL, *FAMILIES["path"]])
def test_a_search_ends_with_the_first_step_that_changes_nothing(network: FlowNetwork) -> None:
    batch = Batch.of([network])
    weights = np.ones(batch.num_arcs, np.uint8)
    memory = DiscreteExecutor(proven()).search(batch, batch.capacity, weights).memory
    changes = len(reachable(batch, batch.capacity)) - 1
    assert memory.steps == min(changes + 1, network.num_nodes - 1)


def rounds_of(networks: Sequence[FlowNetwork], settings: Settings) -> list[list[object]]:
    """Return for each network what its searches found and its paths carried, round by round."""
    told: list[list[object]] = [[] for _ in networks]
    rngs = np.random.default_rng(0).spawn(len(MIXED))
    own = [MIXED.index(network) for network in networks]
    chosen = [rngs[place] for place in own]
    for round_ in ford_fulkerson(Batch.of(networks), executor(), chosen, settings):
        batch, paths = round_.batch, round_.paths
        for place, graph in enumerate(batch.graphs.tolist()):
            tree = round_.tree.arc[slice(*batch.node_start[place : place + 2])]
            tree = np.where(tree >= 0, tree - batch.arc_start[place], -1)
            mine = paths.select(paths.graph == place)
            carried = round_.bottleneck[paths.graph == place].tolist()
            arcs = (mine.arcs - batch.arc_start[place]).tolist()
            told[graph].append((tree.tolist(), arcs, carried, int(round_.verdict[place])))
    return told


@pytest.mark.parametrize("many_paths", [False, True])
def test_a_network_in_a_batch_of_unequal_ones_runs_as_if_alone(many_paths: bool) -> None:
    settings = Settings(many_paths=many_paths)
    together = rounds_of(MIXED, settings)
    assert together == [rounds_of([network], settings)[0] for network in MIXED]
    assert max(map(len, together)) > 3


def narrow(bits: int) -> Subroutines:
    network = proven()
    network.bits = bits
    return DiscreteExecutor(network).subroutines()


def pipe(there: int, back: int = 0) -> FlowNetwork:
    return FlowNetwork.from_arcs(3, [0, 1, 1], [1, 2, 0], [there, there, back], source=0, sink=2)


def damaged(seed: int) -> DiscreteNetwork:
    network, rng = proven(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in network.parameters():
            weight += 0.5 * torch.randn(weight.shape, generator=rng)
    return network


def keeps_the_largest() -> DiscreteNetwork:
    """Return a network that is wrong about candidates, and without any once all bits are 0."""

    def logits(is_candidate: Tensor, bit: Tensor, is_padding: Tensor) -> Tensor:
        return torch.where(is_candidate & (bit == 1), 1.0, -1.0)

    network = proven()
    network.candidate_logits = logits
    return network


def test_whatever_the_network_larger_capacities_beside_it_change_nothing() -> None:
    chain = FlowNetwork.from_arcs(4, [0, 1, 2], [1, 2, 3], [3, 7, 5], source=0, sink=3)
    matching = FlowNetwork.from_bipartite(uniform(np.random.default_rng(0), 5))
    for network in (keeps_the_largest(), *map(damaged, range(12))):
        executor = DiscreteExecutor(network, asks_reachability=False)
        parts = executor.subroutines()._replace(search=BREADTH_FIRST.search)
        for small in (chain, matching):
            alone, together = (
                simulate(graphs, parts, generators(len(graphs)))[0]
                for graphs in ([small], [small, pipe(2**40)])
            )
            assert alone == together
            assert alone.asked["bottleneck"]


def test_capacities_up_to_the_edge_of_the_range_are_executed() -> None:
    for network, bits, value in [
        (pipe(255), 8, 255),
        (pipe(55, 200), 8, 55),
        (pipe(1), 1, 1),
        (pipe(2**63 - 1), 63, 2**63 - 1),
    ]:
        (run,) = simulate([network], narrow(bits), generators(1))
        assert (run.value, run.maximum) == (value, value)
        assert run.wrong == dict.fromkeys(DECISIONS, 0)


@pytest.mark.parametrize(("network", "amount"), [(pipe(256), 256), (pipe(200, 56), 256)])
def test_capacities_beyond_the_range_are_refused_before_the_first_round(
    network: FlowNetwork, amount: int
) -> None:
    rounds = ford_fulkerson(Batch.of([pipe(1), network]), narrow(8), generators(2))
    with pytest.raises(InputError, match=rf"capacity of {amount} .* 8 bits, 0\.\.255"):
        next(rounds)
    assert simulate([network], narrow(9), generators(1))[0].is_right


def test_parts_that_are_not_neural_are_classical() -> None:
    network = untrained()
    parts = DiscreteExecutor(
        network, asks_reachability=False, neural_bottleneck=False, neural_augmentation=False
    ).subroutines()
    run = simulate([BOTH_WAYS], parts._replace(search=BREADTH_FIRST.search), generators(1))[0]
    assert run.is_right and run.ending == Verdict.GAVE_UP


def test_an_untrained_network_breaks_no_rule() -> None:
    for seed in range(5):
        parts = DiscreteExecutor(untrained(seed)).subroutines()
        runs = simulate(MIXED[:6], parts, generators(6))
        for run, maximum in zip(runs, maximum_values(MIXED[:6]), strict=True):
            assert 0 <= run.value <= maximum


def reach_batch() -> ReachBatch:
    return samples().reach_batch(range(len(samples())))


def search_batch() -> SearchBatch:
    return samples().search_batch(range(len(samples())), np.random.default_rng(0))


def test_gradients_reach_every_parameter() -> None:
    network, tally = untrained(), Tally()
    learn(network, search_batch(), [reach_batch()], tally)
    tally.total().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


class Rules:
    """A stand-in for a network that computes the rules, and is as sure of them as it is told.

    In the decision that is named `wrong` it says the opposite.
    """

    def __init__(self, confidence: float, wrong: str = "", favourite: float = 0.0) -> None:
        self.confidence, self.wrong, self.favourite = confidence, wrong, favourite
        self.processor = self
        self.digits: list[Tensor] = []
        """Of the differences that were asked for, lowest first."""

    def encode_links(self, is_usable: Tensor) -> Tensor:
        return is_usable.unsqueeze(-1)

    def prepare(self, links: Tensor) -> Tensor:
        return links

    def said(self, name: str, truth: Tensor) -> Tensor:
        return self.confidence * (2.0 * truth - 1) * (-1 if name == self.wrong else 1)

    def reach_logits(
        self, is_reached: Tensor, prepared: Tensor, wiring: Wiring
    ) -> tuple[Tensor, Tensor]:
        after = is_reached.clone()
        after[wiring.receiver[is_reached[wiring.sender] & prepared[:, 0]]] = True
        changed = after & ~is_reached
        return self.said("reachability", after), self.said("termination", changed)

    def scores(self, sender: Tensor, is_usable: Tensor, weights: Tensor) -> Tensor:
        good = torch.where(sender & is_usable, 20.0 - weights, 0.0) * self.confidence
        return (-good if self.wrong == "predecessor" else good) + self.favourite * torch.arange(
            len(weights)
        )

    def candidate_logits(self, is_candidate: Tensor, bit: Tensor, is_padding: Tensor) -> Tensor:
        has_zero = (is_candidate & (bit == 0) & ~is_padding).any(-1, keepdim=True)
        return self.said("bottleneck", is_candidate & ~(has_zero & (bit == 1)))

    def difference_logits(self, capacity: Tensor, amount: Tensor, borrow: Tensor) -> Tensor:
        left = capacity - amount - borrow.long()
        self.digits.append(left % 2)
        return self.said("augmentation", torch.stack([left % 2 == 1, left < 0], dim=-1))


def tallied(rules: Rules, reach: ReachBatch, walks: Walks) -> Tally:
    tally = Tally()
    discrete_losses(cast(DiscreteNetwork, rules), reach, tally)
    bit_losses(cast(DiscreteNetwork, rules), walks, tally)
    return tally


BITS = ("reachability", "termination", "bottleneck", "augmentation")


@pytest.mark.parametrize("confidence", [0.5, 8.0])
def test_the_loss_of_right_bits_is_their_doubt_alone(confidence: float) -> None:
    tally = tallied(Rules(confidence), reach_batch(), search_batch().walks)
    for name in BITS:
        assert float(tally.means()[name]) == pytest.approx(
            math.log1p(math.exp(-confidence)), rel=1e-3
        ), name
    assert all(accuracy == 1 for accuracy in tally.accuracies().values())


def test_the_borrow_that_is_learnt_from_is_the_true_one() -> None:
    rules, walks = Rules(1.0), search_batch().walks
    bit_losses(cast(DiscreteNetwork, rules), walks, Tally())
    kept = sum(digit << place for place, digit in enumerate(rules.digits))
    smallest = walks.capacities.amin(-1, keepdim=True)
    assert torch.equal(torch.as_tensor(kept), (walks.capacities - smallest).flatten())


@pytest.mark.parametrize("wrong", [*BITS, "predecessor"])
def test_a_wrong_decision_costs_in_its_own_term_alone(wrong: str) -> None:
    right, other = (
        tallied(Rules(4.0, name), reach_batch(), search_batch().walks) for name in ("", wrong)
    )
    for name in (*BITS, "predecessor"):
        if name == wrong:
            assert other.means()[name] > right.means()[name] + 1
            assert other.accuracies()[name] < 0.5
        else:
            assert other.means()[name] == right.means()[name]
    assert other.total() > right.total() + 0.1


def test_any_of_several_links_of_least_weight_is_right() -> None:
    batch = reach_batch()
    equal = replace(batch, weights=torch.full_like(batch.weights, 7))
    walks = search_batch().walks
    for favourite in (1e-3, -1e-3):  # the last of equal links, or the first
        tally = tallied(Rules(1.0, favourite=favourite), equal, walks)
        assert tally.accuracies()["predecessor"] == 1
        assert float(tally.means()["predecessor"]) < 1e-3
    # With the true weights the same preference, made strong, is wrong somewhere.
    assert tallied(Rules(0.1, favourite=9.0), batch, walks).accuracies()["predecessor"] < 1


def test_only_nodes_that_are_new_count_for_the_predecessor() -> None:
    batch, tally = reach_batch(), Tally()
    discrete_losses(untrained(), batch, tally)
    first = batch.wiring.num_graphs
    last = sum(int(batch.reached[:, node].any()) for node in range(batch.wiring.num_nodes))
    assert tally.count["predecessor"] == last - first
    total: Any = sum(int(batch.wiring.offsets[count, 0]) for count in batch.running)
    assert tally.count["reachability"] == tally.count["termination"] == total
    assert set(tally.means()) - set(WEIGHTS) == {"last_predecessor"}
