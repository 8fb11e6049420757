"""Ford-Fulkerson finds maximum flows, and no executor can make it hold an illegal one."""

from __future__ import annotations

import copy
import ctypes
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import igraph
import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import maximum_bipartite_matching, maximum_flow

from augury.classical.arrays import WideArray
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    BELLMAN_FORD,
    BREADTH_FIRST,
    MAX_WEIGHT,
    Paths,
    Round,
    Settings,
    Subroutines,
    Tree,
    Verdict,
    bellman_ford,
    breadth_first_search,
    draw_weights,
    ford_fulkerson,
    reachable,
)
from augury.classical.generate import ladder_state, path_state
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.errors import InputError
from graphs import BRIDGE, NETWORKS, STRAIGHT, WIDE, bipartite_graphs, networks

EXECUTORS = {"breadth-first": BREADTH_FIRST, "bellman-ford": BELLMAN_FORD}
every_executor = pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
one_or_many = pytest.mark.parametrize("many", [False, True], ids=["one path", "many paths"])
any_executor = st.sampled_from(list(EXECUTORS))


def run(
    network: FlowNetwork, executor: Subroutines, *, many: bool = False, max_failures: int = 10
) -> list[Round]:
    how = Settings(max_failures, many)
    return list(ford_fulkerson(Batch.of([network]), executor, [np.random.default_rng(0)], how))


def path_arcs(paths: Paths) -> list[list[int]]:
    bounds = zip(paths.start[:-1], paths.start[1:], strict=True)
    return [paths.arcs[start:end].tolist() for start, end in bounds]


def check_round(round_: Round) -> None:
    """The judge's promises, checked arc by arc: legal paths, disjoint, and nothing else changed."""
    batch, expected = round_.batch, round_.residual.copy()
    visited: set[int] = set()
    listed = zip(round_.paths.graph, path_arcs(round_.paths), round_.bottleneck, strict=True)
    for graph, arcs, bottleneck in listed:
        assert batch.sender[arcs[0]] == batch.source[graph]
        assert batch.receiver[arcs[-1]] == batch.sink[graph]
        assert (batch.receiver[arcs[:-1]] == batch.sender[arcs[1:]]).all()
        assert 0 < bottleneck == round_.residual[arcs].min()
        inner = batch.receiver[arcs[:-1]].tolist()
        assert len(set(inner)) == len(inner)
        assert visited.isdisjoint(inner)
        visited.update(inner)
        for arc in arcs:
            expected[arc] -= bottleneck
            expected[arc ^ 1] += bottleneck
    assert np.array_equal(expected, round_.after)
    assert (round_.after >= 0).all()
    assert np.array_equal(round_.after[::2] + round_.after[1::2],
                          batch.capacity[::2] + batch.capacity[1::2])  # fmt: skip


def networkx_value(network: FlowNetwork) -> int:
    return int(nx.maximum_flow_value(network.to_networkx(), network.source, network.sink))


@given(network=networks(), executor=any_executor, many=st.booleans())
@settings(max_examples=60)
def test_the_value_is_that_of_scipy_and_networkx(
    network: FlowNetwork, executor: str, many: bool
) -> None:
    rounds = run(network, EXECUTORS[executor], many=many)
    for round_ in rounds:
        check_round(round_)
    value = network.value(rounds[-1].after)
    assert Verdict(rounds[-1].verdict[0]) is Verdict.DONE
    matrix: Any = network.to_scipy().astype(np.int32)
    assert value == maximum_flow(matrix, network.source, network.sink).flow_value
    assert value == networkx_value(network)
    assert value == sum(int(b) for round_ in rounds for b in round_.bottleneck)


@given(network=networks(high=WIDE), executor=any_executor, many=st.booleans())
def test_capacities_up_to_2_to_the_62_are_exact(
    network: FlowNetwork, executor: str, many: bool
) -> None:
    rounds = run(network, EXECUTORS[executor], many=many)
    for round_ in rounds:
        check_round(round_)
    assert network.value(rounds[-1].after) == networkx_value(network)


@given(graph=bipartite_graphs(), executor=any_executor, many=st.booleans())
def test_the_matching_is_as_large_as_those_of_scipy_and_igraph(
    graph: BipartiteGraph, executor: str, many: bool
) -> None:
    network = FlowNetwork.from_bipartite(graph)
    value = network.value(run(network, EXECUTORS[executor], many=many)[-1].after)
    assert value == (maximum_bipartite_matching(graph.to_scipy(), perm_type="column") >= 0).sum()
    sides = [0] * graph.num_left + [1] * graph.num_right
    edges = [(left, graph.num_left + right) for left, right in graph.pairs()]
    assert value == len(igraph.Graph.Bipartite(sides, edges).maximum_bipartite_matching())


@every_executor
@one_or_many
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_the_named_networks_are_solved(
    network: FlowNetwork, executor: Subroutines, many: bool
) -> None:
    nodes = network.to_networkx()
    ends = network.label(network.source), network.label(network.sink)
    last = run(network, executor, many=many)[-1]
    assert network.value(last.after) == nx.maximum_flow_value(nodes, *ends)
    assert Verdict(last.verdict[0]) is Verdict.DONE


def test_many_paths_take_the_arc_straight_to_the_sink_too() -> None:
    rounds = run(STRAIGHT, BREADTH_FIRST, many=True)
    assert STRAIGHT.value(rounds[-1].after) == 8


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_many_paths_of_a_round_are_all_shortest(network: FlowNetwork) -> None:
    for round_ in run(network, BREADTH_FIRST, many=True):
        lengths = np.diff(round_.paths.start)
        assert len(set(lengths.tolist())) <= 1
        usable = np.flatnonzero(round_.residual > 0)
        ends = zip(network.sender[usable].tolist(), network.receiver[usable].tolist(), strict=True)
        if len(lengths):
            hops = nx.shortest_path_length(nx.DiGraph(list(ends)), network.source, network.sink)
            assert lengths[0] == hops


def test_many_paths_need_fewer_rounds() -> None:
    network = FlowNetwork.from_bipartite(BipartiteGraph.from_dense(np.eye(20)))
    assert len(run(network, BREADTH_FIRST, many=True)) == 2
    assert len(run(network, BREADTH_FIRST, many=False)) == 21


@every_executor
@pytest.mark.parametrize("make", [path_state, ladder_state])
def test_an_augmenting_path_through_hundreds_of_nodes_is_found(
    make: Any, executor: Subroutines
) -> None:
    network = make(np.random.default_rng(3), 200)
    rounds = run(network, executor)
    check_round(rounds[0])
    assert len(rounds) == 2
    assert len(rounds[0].paths.arcs) >= 200
    assert network.value(rounds[-1].after) == 1


def test_memory_does_not_grow_with_the_steps_of_a_search() -> None:
    network = path_state(np.random.default_rng(3), 1000)
    tracemalloc.start()
    run(network, BELLMAN_FORD)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000  # 2,000 nodes times 2,000 steps would be 48 MB


def of_graph(round_: Round, position: int) -> dict[str, Any] | None:
    """What a round says of the graph that had this position, in the graph's own numbers."""
    batch = round_.batch
    if position not in batch.graphs:
        return None
    graph = batch.graphs.tolist().index(position)
    own = slice(batch.arc_start[graph], batch.arc_start[graph + 1])
    mine = zip(round_.paths.graph, path_arcs(round_.paths), round_.bottleneck, strict=True)
    return {
        "weights": round_.weights[own].tolist(),
        "residual": round_.residual[own].tolist(),
        "after": round_.after[own].tolist(),
        "paths": [([a - own.start for a in arcs], b) for g, arcs, b in mine if g == graph],
        "verdict": round_.verdict[graph],
    }


@given(
    alone=st.lists(networks(), min_size=1, max_size=4),
    seed=st.integers(0, 99),
    executor=any_executor,
    many=st.booleans(),
)
def test_a_graph_runs_in_a_batch_as_it_does_alone(
    alone: Sequence[FlowNetwork], seed: int, executor: str, many: bool
) -> None:
    def rngs() -> list[np.random.Generator]:
        return np.random.default_rng(seed).spawn(len(alone))

    how, own = Settings(many_paths=many), EXECUTORS[executor]
    together = list(ford_fulkerson(Batch.of(alone), own, rngs(), how))
    for position, network in enumerate(alone):
        rng = rngs()[position]
        single = list(ford_fulkerson(Batch.of([network]), own, [rng], how))
        seen = [told for round_ in together if (told := of_graph(round_, position)) is not None]
        assert seen == [of_graph(round_, 0) for round_ in single]


def test_weights_are_1_to_15_and_new_in_every_round() -> None:
    network = FlowNetwork.from_bipartite(BipartiteGraph.from_dense(np.ones((30, 30))))
    batch = Batch.of([network])
    rng = np.random.default_rng(0)
    first, second = draw_weights(batch, [rng]), draw_weights(batch, [rng])
    assert set(first.tolist()) == set(range(1, MAX_WEIGHT + 1))
    assert not np.array_equal(first, second)


def last_step(
    network: FlowNetwork, weights: npt.NDArray[np.uint8], bits: int = 8
) -> tuple[list[int], list[int]]:
    distance, arc = list(bellman_ford(Batch.of([network]), network.capacity, weights, bits))[-1]
    return distance.tolist(), arc.tolist()


@given(networks(max_nodes=12), st.integers(0, 99))
def test_bellman_ford_finds_the_shortest_distances(network: FlowNetwork, seed: int) -> None:
    weights = draw_weights(Batch.of([network]), [np.random.default_rng(seed)])
    distance, arc = last_step(network, weights, bits=16)
    used = np.flatnonzero(network.capacity)
    ends = network.sender[used], network.receiver[used]
    shape = (network.num_nodes, network.num_nodes)
    matrix = scipy.sparse.csr_array((weights[used].astype(float), ends), shape=shape)
    expected = scipy.sparse.csgraph.dijkstra(matrix, indices=np.array(network.source))
    assert distance == np.where(np.isinf(expected), 2**16 - 1, expected).tolist()
    for node, by in enumerate(arc):
        assert (by >= 0) == (np.isfinite(expected[node]) and node != network.source)
        if by >= 0:
            assert network.receiver[by] == node
            assert network.capacity[by] > 0
            assert distance[network.sender[by]] + weights[by] == distance[node]


def line(num_nodes: int) -> FlowNetwork:
    """0 → 1 → 2 → …, and one more node that nothing reaches."""
    nodes = np.arange(num_nodes)
    ones = np.ones(num_nodes - 1, np.int64)
    return FlowNetwork.from_arcs(
        num_nodes + 1, nodes[:-1], nodes[1:], ones, source=0, sink=num_nodes - 1
    )


def test_distances_saturate_at_254_and_infinity_is_255() -> None:
    network = line(40)
    heavy = np.full(network.num_arcs, 15, np.uint8)
    distance, arc = last_step(network, heavy)
    assert distance == [min(15 * node, 254) for node in range(40)] + [255]
    assert [network.sender[by] for by in arc[1:40]] == list(range(39))
    assert arc[40] == -1
    assert last_step(network, heavy, bits=10)[0] == [15 * node for node in range(40)] + [1023]


@given(networks(max_nodes=12), st.integers(0, 99), st.integers(1, 4))
def test_predecessors_lead_to_the_source_even_under_saturation(
    network: FlowNetwork, seed: int, bits: int
) -> None:
    weights = draw_weights(Batch.of([network]), [np.random.default_rng(seed)])
    distance, arc = last_step(network, weights, bits)
    for start in range(network.num_nodes):
        if distance[start] == 2**bits - 1:
            continue
        node, length = start, 0
        while node != network.source:
            node, length = int(network.sender[arc[node]]), length + 1
            assert length < network.num_nodes


def test_a_later_way_of_equal_length_does_not_replace_a_predecessor() -> None:
    # 2 → 0 costs 2 in one step, 2 → 1 → 0 costs 1 + 1 in two, over an arc of a lower number.
    network = FlowNetwork.from_arcs(3, [2, 2, 1], [0, 1, 0], [1, 1, 1], source=2, sink=0)
    straight = (network.sender == 2) & (network.receiver == 0)
    distance, arc = last_step(network, np.where(straight, 2, 1).astype(np.uint8))
    assert (distance, network.sender[arc[0]]) == ([2, 1, 0], 2)


@pytest.mark.parametrize("bits", [0, 32])
def test_impossible_widths_of_a_distance_are_refused(bits: int) -> None:
    with pytest.raises(InputError, match="a distance has 1 to 31 bits"):
        last_step(line(3), np.ones(4, np.uint8), bits)


@given(networks(max_nodes=12), st.integers(0, 99))
def test_the_breadth_first_tree_is_shortest_and_takes_the_lightest_arc(
    network: FlowNetwork, seed: int
) -> None:
    batch = Batch.of([network])
    weights = draw_weights(batch, [np.random.default_rng(seed)])
    arc = breadth_first_search(batch, network.capacity, weights).arc
    hops = nx.single_source_shortest_path_length(network.to_networkx(), network.source)
    limit = hops.get(network.sink, network.num_nodes)
    steps = reachable(batch, network.capacity)
    for node in range(network.num_nodes):
        is_found = 0 < hops.get(node, network.num_nodes) <= limit and node in hops
        assert (arc[node] >= 0) == is_found
        assert steps[:, node].sum() == max(0, len(steps) - hops.get(node, len(steps)))
        if not is_found:
            continue
        assert hops[int(network.sender[arc[node]])] == hops[node] - 1
        rivals = [
            int(weights[by])
            for by in np.flatnonzero((network.receiver == node) & (network.capacity > 0))
            if hops.get(int(network.sender[by])) == hops[node] - 1
        ]
        assert weights[arc[node]] == min(rivals)


def scripted(outcomes: str) -> Subroutines:
    """Search well where the script says S, and find nothing where it says F."""
    left = list(outcomes)

    def search(batch: Batch, residual: WideArray, weights: npt.NDArray[np.uint8], /) -> Tree:
        if left.pop(0) == "S":
            return breadth_first_search(batch, residual, weights)
        return Tree(np.full(batch.num_nodes, -1, np.int32))

    def never(batch: Batch, *_: Any) -> npt.NDArray[np.bool_]:
        return np.zeros(batch.num_graphs, np.bool_)

    return BREADTH_FIRST._replace(search=search, is_done=never)


@pytest.mark.parametrize(
    ("max_failures", "outcomes"), [(1, "F"), (1, "SF"), (3, "FFF"), (3, "FFSFSFFSFFF")]
)
def test_a_run_ends_after_exactly_so_many_failures_in_a_row(
    max_failures: int, outcomes: str
) -> None:
    # BRIDGE has at least three paths, one for each S.
    rounds = run(BRIDGE, scripted(outcomes), max_failures=max_failures)
    assert "".join("S" if len(round_.bottleneck) else "F" for round_ in rounds) == outcomes
    verdicts = [Verdict(round_.verdict[0]) for round_ in rounds]
    assert verdicts == [Verdict.GOES_ON] * (len(outcomes) - 1) + [Verdict.GAVE_UP]


def garbage(rng: np.random.Generator, lies: str) -> Subroutines:
    """An executor with arbitrary predecessors that lies about whatever `lies` names."""

    def search(batch: Batch, residual: WideArray, weights: npt.NDArray[np.uint8], /) -> Tree:
        good = breadth_first_search(batch, residual, weights).arc
        if lies == "any arc":  # also arcs that end elsewhere, of other graphs, or do not exist
            arc = rng.integers(-3, batch.num_arcs + 3, batch.num_nodes)
            return Tree(np.where(rng.random(batch.num_nodes) < 0.5, arc, good).astype(np.int32))
        order, start = batch.by_sender
        arc = np.full(batch.num_nodes, -1, np.int32)
        for node in range(batch.num_nodes):  # arcs that do end here: cycles, saturated arcs
            own = order[start[node] : start[node + 1]] ^ 1
            if len(own) and rng.random() < 0.9:
                arc[node] = rng.choice(own)
        return Tree(np.where(rng.random(batch.num_nodes) < 0.5, arc, good).astype(np.int32))

    def bottleneck(batch: Batch, residual: WideArray, paths: Paths, tree: Tree, /) -> Any:
        truth = paths.smallest(residual)
        if lies == "bottleneck":
            return np.where(rng.random(len(truth)) < 0.3, rng.integers(-2, 9, len(truth)), truth)
        return truth.astype(float) if lies == "floats" else truth

    def augment(
        batch: Batch, residual: WideArray, paths: Paths, amount: WideArray, tree: Tree, /
    ) -> WideArray:
        truth = residual[paths.arcs] - paths.spread(amount)
        if lies == "augment":
            return np.where(rng.random(len(truth)) < 0.1, rng.integers(-2, 9, len(truth)), truth)
        return truth

    def is_done(batch: Batch, *_: Any) -> npt.NDArray[np.bool_]:
        return rng.random(batch.num_graphs) < (0.3 if lies == "done" else 0.0)

    return Subroutines(search, bottleneck, augment, is_done)


ENDS = {
    "any arc": {Verdict.GAVE_UP},
    "own arc": {Verdict.GAVE_UP},
    "floats": {Verdict.GAVE_UP},
    "done": {Verdict.GAVE_UP, Verdict.DONE},
    "bottleneck": {Verdict.GAVE_UP, Verdict.WRONG_BOTTLENECK},
    "augment": {Verdict.GAVE_UP, Verdict.WRONG_AUGMENTATION},
}


@pytest.mark.parametrize("lies", ENDS)
@given(
    alone=st.lists(networks(high=4), min_size=1, max_size=3),
    seed=st.integers(0, 999),
    many=st.booleans(),
)
def test_no_executor_makes_the_residual_illegal(
    alone: list[FlowNetwork], seed: int, lies: str, many: bool
) -> None:
    rng = np.random.default_rng(seed)
    ended: dict[int, Verdict] = {}
    rngs = rng.spawn(len(alone))
    for round_ in ford_fulkerson(Batch.of(alone), garbage(rng, lies), rngs, Settings(3, many)):
        check_round(round_)
        for position, verdict in zip(round_.batch.graphs, round_.verdict, strict=True):
            ended[int(position)] = Verdict(verdict)
            graph = round_.batch.graphs.tolist().index(position)
            if verdict >= Verdict.WRONG_BOTTLENECK:
                assert graph not in round_.paths.graph
    assert set(ended) == set(range(len(alone)))
    assert set(ended.values()) <= ENDS[lies]


def answering(**changes: Any) -> Subroutines:
    return BREADTH_FIRST._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"bottleneck": lambda b, r, p, t: p.smallest(r) + 1}, Verdict.WRONG_BOTTLENECK),
        ({"bottleneck": lambda b, r, p, t: p.smallest(r) * 0}, Verdict.WRONG_BOTTLENECK),
        ({"bottleneck": lambda b, r, p, t: -p.smallest(r)}, Verdict.WRONG_BOTTLENECK),
        ({"bottleneck": lambda b, r, p, t: p.smallest(r) * np.nan}, Verdict.WRONG_BOTTLENECK),
        ({"augment": lambda b, r, p, a, t: r[p.arcs]}, Verdict.WRONG_AUGMENTATION),
        ({"augment": lambda b, r, p, a, t: r[p.arcs] * 0 - 1}, Verdict.WRONG_AUGMENTATION),
        ({"is_done": lambda b, r, w, t: np.ones(b.num_graphs, np.bool_)}, Verdict.DONE),
    ],
)
@one_or_many
def test_the_first_lie_ends_the_run_with_its_verdict(
    changes: dict[str, Any], verdict: Verdict, many: bool
) -> None:
    rounds = run(BRIDGE, answering(**changes), many=many)
    assert [Verdict(round_.verdict[0]) for round_ in rounds] == [verdict]
    assert np.array_equal(rounds[0].after, BRIDGE.capacity)


def test_a_saturated_path_honestly_called_0_is_a_failure_and_no_lie() -> None:
    empty = FlowNetwork.from_arcs(2, [0], [1], [0], source=0, sink=1)
    into_sink = int(np.flatnonzero(empty.receiver == empty.sink)[0])
    pointing = answering(
        search=lambda b, r, w: Tree(np.array([-1, into_sink], np.int32)),
        is_done=lambda b, r, w, t: np.zeros(1, np.bool_),
    )
    rounds = run(empty, pointing, max_failures=2)
    assert [Verdict(r.verdict[0]) for r in rounds] == [Verdict.GOES_ON, Verdict.GAVE_UP]


def test_a_lie_about_one_graph_leaves_the_others_alone() -> None:
    def bottleneck(batch: Batch, residual: WideArray, paths: Paths, tree: Tree, /) -> WideArray:
        return paths.smallest(residual) + (batch.graphs[paths.graph] == 1)

    rngs = np.random.default_rng(0).spawn(3)
    batch = Batch.of([BRIDGE] * 3)
    ended: dict[int, Verdict] = {}
    for round_ in ford_fulkerson(batch, answering(bottleneck=bottleneck), rngs):
        for position, verdict in zip(round_.batch.graphs.tolist(), round_.verdict, strict=True):
            ended[position] = Verdict(verdict)
    assert ended == {0: Verdict.DONE, 1: Verdict.WRONG_BOTTLENECK, 2: Verdict.DONE}


def scribbled_over(array: npt.NDArray[Any]) -> None:
    """Write into a read-only array, as PyTorch does after a warning."""
    ctypes.memset(array.ctypes.data, 1, array.nbytes)


def arrays_of(thing: Any) -> list[npt.NDArray[Any]]:
    """The arrays of an argument, also those that a batch keeps sorted."""
    if isinstance(thing, np.ndarray):
        return [thing]
    parts = vars(thing).values() if isinstance(thing, Batch | Paths) else ()
    return [array for part in parts for array in (part if isinstance(part, tuple) else (part,))]


def vandal() -> Subroutines:
    """Answer correctly from copies, and overwrite every argument."""
    seen: dict[Batch, tuple[Batch, list[Any]]] = {}  # by identity

    def after(own: Any) -> Any:
        def subroutine(batch: Batch, residual: WideArray, *rest: Any) -> Any:
            if batch not in seen:
                seen[batch] = copy.deepcopy(batch), []
            copied, residuals = seen[batch]
            if own is BREADTH_FIRST.search:
                residuals.append(residual.copy())
            answer = own(copied, residuals[-1], *copy.deepcopy(rest))
            for thing in (batch, residual, *rest):
                for array in arrays_of(thing):
                    scribbled_over(array)
            return answer

        return subroutine

    return Subroutines(*map(after, BREADTH_FIRST))


@given(alone=st.lists(networks(high=4), min_size=1, max_size=3), many=st.booleans())
def test_an_executor_that_writes_into_its_arguments_changes_nothing_of_the_judges(
    alone: list[FlowNetwork], many: bool
) -> None:
    before = [network.capacity.copy() for network in alone]
    rngs = np.random.default_rng(0).spawn(len(alone))
    for round_ in ford_fulkerson(Batch.of(alone), vandal(), rngs, Settings(3, many)):
        check_round(round_)
        for position, (start, end) in zip(
            round_.batch.graphs.tolist(), pairwise(round_.batch.arc_start.tolist()), strict=True
        ):
            network = alone[position]
            assert network.value(round_.after[start:end]) >= 0
            np.testing.assert_array_equal(round_.batch.capacity[start:end], before[position])
    for network, capacity in zip(alone, before, strict=True):
        np.testing.assert_array_equal(network.capacity, capacity)


@pytest.mark.parametrize("place", range(4), ids=Subroutines._fields[:4])
def test_what_an_executor_is_given_is_read_only(place: int) -> None:
    seen: list[Any] = []
    part: Any = BREADTH_FIRST[place]

    def watched(*given: Any) -> Any:
        seen.extend(given)
        return part(*given)

    run(BRIDGE, BREADTH_FIRST._replace(**{Subroutines._fields[place]: watched}), many=True)
    batches = [thing for thing in seen if isinstance(thing, Batch)]
    # Arrays derived lazily from a copy belong to that copy alone.
    derived = [vars(batch).get(name) for batch in batches for name in ("node_graph",)]
    arrays = [array for thing in seen for array in arrays_of(thing)]
    writable = [array for array in arrays if array.flags.writeable]
    assert arrays and all(any(array is made for made in derived) for array in writable)
