"""Cells execute Edmonds-Karp without a mistake, evaluated and looked up, and decide alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import maximum_flow

from augury.algorithms.cells import CELLS, LEAST
from augury.algorithms.executor import CellExecutor, Reached, beliefs, probability
from augury.cells.network import CellNetwork, compiled
from augury.cells.table import Table
from augury.classical.batch import Batch, Links
from augury.classical.ford_fulkerson import (
    BREADTH_FIRST,
    Round,
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
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.simulate import DECISIONS, maximum_values, simulate
from augury.errors import InputError
from graphs import BOTH_WAYS, NETWORKS
from proven import of_rules, proven, untrained
from tiny import UNEQUAL

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
    return CellExecutor(proven()).subroutines()


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
        assert np.array_equal(memory.is_reached, steps[-1])

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
    memory = CellExecutor(proven()).search(batch, batch.capacity, weights).memory
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
    return CellExecutor(network).subroutines()


def pipe(there: int, back: int = 0) -> FlowNetwork:
    return FlowNetwork.from_arcs(3, [0, 1, 1], [1, 2, 0], [there, there, back], source=0, sink=2)


def damaged(seed: int) -> CellNetwork:
    network, rng = proven(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in network.parameters():
            weight += 0.5 * torch.randn(weight.shape, generator=rng)
    return network


def keeps_the_largest() -> Subroutines:
    """Return an executor that is wrong about candidates, and has none once all bits are 0."""
    wrong = LEAST.truth.copy()
    for case in LEAST.cases:
        wrong[case.own] = case.own == 0b11
    rules = of_rules()
    return CellExecutor(Table(CELLS, {**rules.entries, "least": wrong})).subroutines()


def test_whatever_the_network_larger_capacities_beside_it_change_nothing() -> None:
    chain = FlowNetwork.from_arcs(4, [0, 1, 2], [1, 2, 3], [3, 7, 5], source=0, sink=3)
    matching = FlowNetwork.from_bipartite(uniform(np.random.default_rng(0), 5))
    others = [CellExecutor(damaged(seed)).subroutines() for seed in range(12)]
    for own in (keeps_the_largest(), *others):
        parts = own._replace(search=BREADTH_FIRST.search, is_done=BREADTH_FIRST.is_done)
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
    parts = CellExecutor(
        network, asks_reachability=False, neural_bottleneck=False, neural_augmentation=False
    ).subroutines()
    run = simulate([BOTH_WAYS], parts._replace(search=BREADTH_FIRST.search), generators(1))[0]
    assert run.is_right and run.ending == Verdict.GAVE_UP


def test_an_untrained_network_breaks_no_rule() -> None:
    for seed in range(5):
        parts = CellExecutor(untrained(seed)).subroutines()
        runs = simulate(MIXED[:6], parts, generators(6))
        for run, maximum in zip(runs, maximum_values(MIXED[:6]), strict=True):
            assert 0 <= run.value <= maximum


# Evaluated and looked up: the same decisions, whatever the network.


def all_rounds(
    networks: Sequence[FlowNetwork], parts: Subroutines, settings: Settings
) -> list[Round]:
    rngs = np.random.default_rng(5).spawn(len(networks))
    return list(ford_fulkerson(Batch.of(networks), parts, rngs, settings))


def one_weight_off(seed: int) -> CellNetwork:
    """Return a proven network with one random weight changed a lot: it decides, often wrongly."""
    network, rng = proven(), np.random.default_rng(seed)
    parameters = list(network.parameters())
    with torch.no_grad():
        chosen = parameters[int(rng.integers(len(parameters)))].view(-1)
        chosen[int(rng.integers(len(chosen)))] += float(rng.choice([-30, 30]))
    return network


@pytest.mark.parametrize("seed", range(6))
def test_looking_up_is_evaluating_any_network(seed: int) -> None:
    network = {0: proven(), 1: untrained(0), 2: untrained(1)}.get(seed, one_weight_off(seed))
    chosen = Settings(max_failures=2, many_paths=bool(seed % 2))
    evaluated, looked_up = (
        all_rounds(MIXED, CellExecutor(network, engine=engine).subroutines(), chosen)
        for engine in ("plain", "lookup")
    )
    assert len(evaluated) == len(looked_up)
    for one, other in zip(evaluated, looked_up, strict=True):
        np.testing.assert_array_equal(one.tree.arc, other.tree.arc)
        np.testing.assert_array_equal(one.tried.arcs, other.tried.arcs)
        np.testing.assert_array_equal(one.proposed, other.proposed)
        np.testing.assert_array_equal(one.verdict, other.verdict)
        np.testing.assert_array_equal(one.after, other.after)


def test_some_of_these_networks_do_decide_otherwise() -> None:
    assert any(compiled(one_weight_off(seed)).differences() for seed in range(3, 6))


def test_a_search_ends_after_one_step_less_than_there_are_nodes() -> None:
    """Here every node flips its bit in each step and says so: the last bits count the steps."""
    rules = of_rules()
    flips = np.ones_like(rules.entries["flood"])
    flips[1, :, 0] = 0
    flipping = CellExecutor(Table(CELLS, {**rules.entries, "flood": flips}))
    for nodes in (2, 3, 4, 5):
        path = range(nodes - 1)
        network = FlowNetwork.from_arcs(
            nodes, path, [k + 1 for k in path], [1] * (nodes - 1), source=0, sink=nodes - 1
        )
        batch = Batch.of([network])
        tree = flipping.search(batch, batch.capacity, np.ones(batch.num_arcs, np.uint8))
        steps = nodes - 1
        expected = [1 - steps % 2] + [steps % 2] * (nodes - 1)
        assert isinstance(tree.memory, Reached)
        assert tree.memory.is_reached.astype(int).tolist() == expected


def test_subtrees_are_left_by_their_nearest_way_to_the_sink() -> None:
    """Column 0 lies two steps deeper than column 2 in the same subtree: the near one is taken."""
    edges = np.zeros((3, 4), np.bool_)
    edges[0, [1, 2]] = True  # row 0: column 1 (to be matched with row 1) and column 2
    edges[1, [1, 0]] = True  # row 1 leads on to column 0
    batch = Batch.of([FlowNetwork.from_bipartite(BipartiteGraph.from_dense(edges))])
    capacity = batch.capacity.copy()
    path = [2, 2 * (3 + 2), 2 * (3 + 4 + 1)]  # source → row 1 → column 1 → sink
    for arc in path:
        capacity[arc], capacity[arc ^ 1] = 0, 1
    ones = Settings(many_paths=True, weights=lambda batch, _: np.ones(batch.num_arcs, np.uint8))
    started = replace(batch, capacity=capacity)
    first = next(ford_fulkerson(started, CellExecutor(of_rules()).subroutines(), (), ones))
    assert len(first.paths.arcs) == 3
    assert batch.receiver[first.paths.arcs[1]] == 1 + 3 + 2


def test_the_first_of_equally_good_links_is_the_best() -> None:
    score, start = np.array([1, 5, 5, 2, 2, 7, 0]), np.array([0, 4, 5, 7])
    assert Links(score, score, start, score).best(score, np.array([0, 1, 2])).tolist() == [1, 4, 5]
    assert Links(score, score, start, score).best(score, np.array([2])).tolist() == [5]
    assert len(Links(score, score, start, score).best(score, np.zeros(0, np.int64))) == 0


def test_beliefs_are_shares_of_each_nodes_links() -> None:
    batch = Batch.of(MIXED)
    links = batch.links
    score = np.random.default_rng(0).normal(size=len(links.arc)).astype(np.float32)
    found = beliefs(score, links.start, links.arc)
    for node in range(0, batch.num_nodes, 7):
        own = slice(links.start[node], links.start[node + 1])
        power = np.exp(score[own].astype(float))
        expected = (power / power.sum())[:-1]  # the last is the self loop
        np.testing.assert_allclose(found[links.arc[own][:-1]], expected, rtol=1e-6)
    assert probability(np.array([-800.0, 0.0, 800.0])).tolist() == [0.0, 0.5, 1.0]
