"""A network as executor sees no answers, breaks no rules, and ignores its neighbours in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from augury.classical.arrays import WideArray
from augury.classical.batch import Batch
from augury.classical.certificate import certify_flow
from augury.classical.ford_fulkerson import (
    BELLMAN_FORD,
    Settings,
    Subroutines,
    Tree,
    Verdict,
    draw_weights,
    ford_fulkerson,
)
from augury.classical.network import FlowNetwork
from augury.classical.simulate import DECISIONS, simulate
from augury.errors import InputError
from augury.neural.layers import from_bits
from augury.neural.wiring import Wiring
from augury.paper.executor import NeuralExecutor, _Run
from augury.paper.losses import Tally
from augury.paper.networks import PaperNetwork
from augury.paper.processors import PROCESSORS
from graphs import NO_ARCS
from tiny import UNEQUAL, bipartite, neural

GRAPHS = [*UNEQUAL, NO_ARCS, *(bipartite(side, seed=side) for side in (4, 7))]

Overfitted = tuple[PaperNetwork, list[Tally]]


def generators(count: int) -> list[np.random.Generator]:
    return np.random.default_rng(0).spawn(count)


def final_flows(
    networks: Sequence[FlowNetwork], subroutines: Subroutines, settings: Settings
) -> tuple[list[WideArray], list[Verdict]]:
    """Return each network's net flow at the end of its run, and how that ended."""
    residuals = [network.capacity for network in networks]
    endings = [Verdict.GOES_ON for _ in networks]
    for round_ in ford_fulkerson(
        Batch.of(networks), subroutines, generators(len(networks)), settings
    ):
        for place, graph in enumerate(round_.batch.graphs.tolist()):
            arcs = slice(*round_.batch.arc_start[place : place + 2])
            residuals[graph] = round_.after[arcs]
            endings[graph] = Verdict(round_.verdict[place])
    flows = [n.capacity - after for n, after in zip(networks, residuals, strict=True)]
    return flows, endings


def test_the_classical_subroutines_score_100_percent_and_make_no_mistake() -> None:
    for run in simulate(GRAPHS, BELLMAN_FORD, generators(len(GRAPHS))):
        assert run.is_right and run.ending == Verdict.DONE
        assert run.wrong == dict.fromkeys(DECISIONS, 0)


def test_scrambled_answers_leave_every_run_as_it_was(overfitted: Overfitted) -> None:
    for network in (overfitted[0], neural()):
        subroutines = NeuralExecutor(network).subroutines()
        honest = simulate(GRAPHS, subroutines, generators(len(GRAPHS)))
        poison = [1000 + run.maximum for run in honest[::-1]]
        told = simulate(GRAPHS, subroutines, generators(len(GRAPHS)), maxima=poison)
        assert [replace(run, maximum=0) for run in told] == [
            replace(run, maximum=0) for run in honest
        ]
        assert [run.maximum for run in told] == poison


@pytest.mark.parametrize("is_wholly_neural", [True, False])
@pytest.mark.parametrize("many_paths", [False, True])
def test_random_weights_never_yield_an_illegal_flow_and_every_run_ends(
    is_wholly_neural: bool, many_paths: bool
) -> None:
    values = 0
    for seed, name in enumerate(PROCESSORS):
        executor = NeuralExecutor(
            neural(name, seed),
            asks_reachability=is_wholly_neural,
            neural_bottleneck=is_wholly_neural,
            neural_augmentation=is_wholly_neural,
        )
        flows, endings = final_flows(
            GRAPHS, executor.subroutines(), Settings(max_failures=6, many_paths=many_paths)
        )
        assert Verdict.GOES_ON not in endings
        for network, flow in zip(GRAPHS, flows, strict=True):
            certificate = certify_flow(network, flow)
            assert certificate.is_legal
            values += certificate.size
    if not is_wholly_neural:
        assert values > 0  # even a random search stumbles on a path now and then


def test_a_batch_is_run_as_each_graph_alone(overfitted: Overfitted) -> None:
    for network in (overfitted[0], neural("pna"), neural("gatv2")):
        subroutines = NeuralExecutor(network, neural_augmentation=False).subroutines()
        together = simulate(GRAPHS, subroutines, generators(len(GRAPHS)))
        rngs = generators(len(GRAPHS))
        alone = [
            simulate([graph], subroutines, [rng])[0]
            for graph, rng in zip(GRAPHS, rngs, strict=True)
        ]
        assert together == alone


def test_the_learnt_graph_is_executed_to_its_maximum(overfitted: Overfitted) -> None:
    subroutines = NeuralExecutor(overfitted[0], neural_augmentation=False).subroutines()
    [run] = simulate(
        [bipartite(4)], subroutines._replace(is_done=BELLMAN_FORD.is_done), generators(1)
    )
    assert run.value > 0
    assert run.asked["search"] > 0 and run.asked["bottleneck"] > 0


def decisions(network: PaperNetwork, device: str = "cpu") -> list[np.ndarray]:
    """Return what the plain form decides on all graphs: predecessors, steps, done, latents."""
    executor = NeuralExecutor(network.to(device), device, engine="plain")
    batch = Batch.of(GRAPHS)
    weights = draw_weights(batch, generators(len(GRAPHS)))
    tree = executor.search(batch, batch.capacity, weights)
    done = executor.is_done(batch, batch.capacity, weights, tree)
    network.to("cpu")
    return [tree.arc, np.array([tree.memory.steps]), done, tree.memory.latent.cpu().numpy()]


def check_same(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    assert all(map(np.array_equal, one[:-1], other[:-1]))
    np.testing.assert_allclose(one[-1], other[-1], atol=1e-4)  # latents, which round differently


@pytest.mark.parametrize("seed", range(4))
def test_dropping_finished_graphs_changes_no_decision(
    seed: int, overfitted: Overfitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = neural(seed=seed) if seed else overfitted[0]
    found: list[list[np.ndarray]] = []
    dropped: list[int] = []
    drop = _Run._drop
    monkeypatch.setattr(_Run, "_drop", lambda run: (dropped.append(1), drop(run))[1])
    for share in (0.0, 1.0, 0.7):
        monkeypatch.setattr(_Run, "DROP_BELOW", share)
        found.append(decisions(network))
        assert share or not dropped
    for other in found[1:]:
        check_same(found[0], other)
    if seed == 0:
        assert dropped  # graphs of several sizes do end at different steps


@torch.no_grad()
def test_a_search_is_the_networks_own_steps_one_after_another(overfitted: Overfitted) -> None:
    network = overfitted[0]
    for graph in GRAPHS:
        batch = Batch.of([graph])
        weights = draw_weights(batch, generators(1))
        wiring = Wiring.of(batch)
        terms = network.search_terms(
            wiring.on_links(torch.as_tensor(weights.astype(np.int64))),
            wiring.on_links(torch.as_tensor(batch.capacity.copy())),
        )
        distance = torch.full((batch.num_nodes,), 255)
        distance[graph.source] = 0
        latent, count = torch.zeros(batch.num_nodes, network.hidden), 0
        while True:
            state = network.search_step(distance, latent, terms, wiring)
            distance, latent = from_bits(network.distance_logits(state) > 0), state.latent
            count += 1
            if network.search_continues(state, wiring) <= 0 or count >= graph.num_nodes - 1:
                break
        expected = wiring.arc[network.best_predecessors(state, terms, wiring)]
        expected[graph.source] = -1
        tree = NeuralExecutor(network).search(batch, batch.capacity, weights)
        assert tree.arc.tolist() == expected.tolist()
        assert tree.memory.steps == count
        torch.testing.assert_close(tree.memory.latent, latent)  # what bottlenecks are read from


def test_the_end_is_reached_within_as_many_steps_as_there_are_other_nodes() -> None:
    network = neural()
    network.search_goes_on.weight.data.zero_()
    network.search_continues = lambda state, wiring: torch.ones(wiring.num_graphs)  # pyright: ignore
    batch = Batch.of([bipartite(4)])
    executor = NeuralExecutor(network, engine="plain")
    tree = executor.search(batch, batch.capacity, draw_weights(batch, generators(1)))
    assert tree.memory.steps == 2 * 4 + 2 - 1


@pytest.mark.parametrize("most", [1, 3, 5])
def test_so_many_failures_in_a_row_end_a_run(most: int) -> None:
    executor = NeuralExecutor(
        neural(), asks_reachability=False, neural_bottleneck=False, neural_augmentation=False
    )
    [run] = simulate([NO_ARCS], executor.subroutines(), generators(1), Settings(most))
    assert (run.rounds, run.ending) == (most, Verdict.GAVE_UP)


def test_each_flag_makes_one_subroutine_classical() -> None:
    executor = NeuralExecutor(neural())
    flags = ("asks_reachability", "neural_bottleneck", "neural_augmentation")
    for flag, part in zip(flags, ("is_done", "bottleneck", "augment"), strict=True):
        given = replace(executor, **{flag: False}).subroutines()._asdict()
        others = {name for name, own in given.items() if hasattr(own, "__self__")}
        assert others == {"search", "bottleneck", "augment", "is_done"} - {part}


def test_bottleneck_and_augmentation_answer_from_the_path(overfitted: Overfitted) -> None:
    executor, batch = NeuralExecutor(overfitted[0]), Batch.of(GRAPHS)
    subroutines = BELLMAN_FORD
    weights = draw_weights(batch, generators(len(GRAPHS)))
    own = executor.search(batch, batch.capacity, weights)
    [first, *_] = ford_fulkerson(batch, subroutines, generators(len(GRAPHS)))
    tree = Tree(first.tree.arc, own.memory)
    amounts = executor.bottleneck(batch, batch.capacity, first.tried, tree)
    assert len(amounts) == len(first.tried.graph)
    for k, amount in enumerate(amounts):
        arcs = first.tried.arcs[first.tried.start[k] : first.tried.start[k + 1]]
        assert amount in batch.capacity[arcs]
    kept = executor.augment(batch, batch.capacity, first.paths, first.bottleneck, tree)
    assert kept.shape == first.paths.arcs.shape
    assert ((kept >= 0) & (kept <= batch.capacity[first.paths.arcs])).all()


def test_a_capacity_beyond_the_range_is_refused() -> None:
    for capacity, is_refused in ((255, False), (256, True)):
        network = FlowNetwork.from_arcs(2, [0], [1], [capacity], source=0, sink=1)
        subroutines = NeuralExecutor(neural()).subroutines()
        if is_refused:
            with pytest.raises(InputError, match=r"256 is beyond this network's range of 0..255"):
                simulate([network], subroutines, generators(1))
        else:
            simulate([network], subroutines, generators(1))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_gpu_decides_as_the_cpu_does(overfitted: Overfitted) -> None:
    check_same(decisions(overfitted[0]), decisions(overfitted[0], "cuda"))
