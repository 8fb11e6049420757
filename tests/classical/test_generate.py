"""Every family is reproducible, valid, distributed as documented, and rejects wrong parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse.csgraph import maximum_bipartite_matching

from augury.classical.cost_network import CostNetwork
from augury.classical.generate import (
    FAMILIES,
    HARD,
    Parameter,
    communities,
    complete,
    flow,
    generate,
    ladder,
    ladder_state,
    partly_matched,
    path,
    path_state,
    power_law,
    regular,
    residual_after,
    sparse,
    uniform,
    with_costs,
)
from augury.classical.graph import BipartiteGraph
from augury.classical.hard import HARD_FLOWS
from augury.classical.network import FlowNetwork
from augury.errors import InputError

EXAMPLES: dict[str, dict[str, Any]] = {
    "uniform": {"n": 40, "m": 30},
    "sparse": {"n": 60},
    "regular": {"n": 20, "degree": 9},
    "power-law": {"n": 60},
    "complete": {"n": 9},
    "communities": {"n": 41, "p_within": 0.4, "p_between": 0.1},
    "path": {"n": 30},
    "ladder": {"n": 30},
    "path-state": {"n": 30},
    "ladder-state": {"n": 30},
    "partly-matched": {"n": 30},
    "flow": {"nodes": 20, "arcs": 90},
}


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def as_bytes(instance: Any) -> tuple[bytes, ...]:
    if isinstance(instance, BipartiteGraph):
        return instance.left.tobytes(), instance.right.tobytes()
    return tuple(a.tobytes() for a in (instance.sender, instance.receiver, instance.capacity))


def degrees(graph: BipartiteGraph) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.bincount(graph.left, minlength=graph.num_left),
        np.bincount(graph.right, minlength=graph.num_right),
    )


def numbered_arcs(network: FlowNetwork) -> list[tuple[int, int, int]]:
    arcs = np.flatnonzero(network.capacity)
    columns = (network.sender, network.receiver, network.capacity)
    return list(zip(*(column[arcs].tolist() for column in columns), strict=True))


def residual_arcs(network: FlowNetwork) -> dict[int, set[int]]:
    heads: dict[int, set[int]] = {node: set() for node in range(network.num_nodes)}
    for tail, head, _ in numbered_arcs(network):
        heads[tail].add(head)
    return heads


def matched_pairs(network: FlowNetwork, n: int) -> list[tuple[int, int]]:
    """The pairs of n and n nodes whose arc is turned round: capacity from right to left."""
    return [
        (head - 1, tail - 1 - n)
        for tail, heads in residual_arcs(network).items()
        for head in heads
        if n < tail <= 2 * n and 1 <= head <= n
    ]


def simple_paths(heads: dict[int, set[int]], line: list[int], sink: int) -> Iterator[list[int]]:
    """Every path that continues `line` to the sink and visits no node twice."""
    if line[-1] == sink:
        yield line
        return
    for head in heads[line[-1]] - set(line):
        yield from simple_paths(heads, [*line, head], sink)


def shortest_path(heads: dict[int, set[int]], source: int, sink: int) -> list[int] | None:
    parent = {source: source}
    queue = [source]
    for node in queue:
        for head in heads[node] - parent.keys():
            parent[head] = node
            queue.append(head)
    if sink not in parent:
        return None
    line = [sink]
    while line[-1] != source:
        line.append(parent[line[-1]])
    return line[::-1]


def augment(heads: dict[int, set[int]], line: list[int]) -> None:
    for tail, head in pairwise(line):
        heads[tail].remove(head)
        heads[head].add(tail)


def assert_legal_residual(network: FlowNetwork, n: int) -> None:
    """Check that the unit capacities are what a flow leaves, and that the flow is a matching."""
    forward, backward = network.capacity[::2], network.capacity[1::2]
    assert (forward + backward == 1).all()
    used = np.zeros(network.num_nodes, int)
    np.add.at(used, network.sender[::2], -backward)
    np.add.at(used, network.receiver[::2], backward)
    assert not used[1:-1].any()
    pairs = matched_pairs(network, n)
    assert len({left for left, _ in pairs}) == len({right for _, right in pairs}) == len(pairs)
    assert used[network.sink] == -used[network.source] == len(pairs)
    assert network.labels is None


def has_perfect_matching(graph: BipartiteGraph) -> bool:
    return bool((maximum_bipartite_matching(graph.to_scipy(), perm_type="column") >= 0).all())


def test_every_family_has_an_example_here() -> None:
    assert EXAMPLES.keys() == FAMILIES.keys()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_gives_the_same_bytes(family: str) -> None:
    first, second, other = (generate(family, seeded(s), **EXAMPLES[family]) for s in (3, 3, 4))
    assert first == second
    assert as_bytes(first) == as_bytes(second)
    assert (as_bytes(first) == as_bytes(other)) == (family == "complete")


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"flow", "path-state", "ladder-state"}))
@pytest.mark.parametrize("n", [0, 1, 2])
def test_tiny_sides_are_valid(family: str, n: int) -> None:
    given = {**EXAMPLES[family], "n": n}
    if family == "regular":
        given["degree"] = n
    given.pop("m", None)
    made = generate(family, seeded(), **given)
    if isinstance(made, BipartiteGraph):
        assert (made.num_left, made.num_right) == (n, n)
    else:
        assert made.num_nodes == 2 * n + 2


@pytest.mark.parametrize("n", [np.int32(70_000), np.int64(70_000)])
def test_numpy_numbers_count_like_python_ones(n: Any) -> None:
    p: Any = Fraction(1, 10**6)
    graph = uniform(seeded(), n, p=p)
    assert graph == uniform(seeded(), 70_000, p=1e-6)
    assert type(graph.num_left) is int
    assert flow(seeded(), n, n) == flow(seeded(), 70_000, 70_000)


def test_uniform_draws_every_pair_with_probability_p() -> None:
    rng = seeded()
    n, m, p, num_graphs = 20, 30, 0.25, 600
    graphs = [uniform(rng, n, m, p) for _ in range(num_graphs)]
    counts = np.array([graph.num_edges for graph in graphs])
    assert counts.mean() == pytest.approx(p * n * m, rel=0.02)
    assert counts.var() == pytest.approx(p * (1 - p) * n * m, rel=0.25)
    frequency = np.mean([graph.to_dense() for graph in graphs], axis=0)
    # Five standard deviations of a frequency: about one in 3,000 seeds has a pair outside.
    assert abs(frequency - p).max() < 5 * (p * (1 - p) / num_graphs) ** 0.5


def test_uniform_takes_both_extremes_and_one_empty_side() -> None:
    assert uniform(seeded(), 5, 7, p=0).num_edges == 0
    assert uniform(seeded(), 5, 7, p=1) == complete(seeded(), 5, 7)
    assert complete(seeded(), 5, 7).to_dense().all()
    assert uniform(seeded(), 5, 0).num_edges == complete(seeded(), 0, 5).num_edges == 0


def test_a_sparse_graph_of_a_million_nodes_has_the_mean_degree_asked_for() -> None:
    graph = sparse(seeded(), 10**6, c=0.5)
    assert graph.num_edges == pytest.approx(0.5e6, rel=0.01)
    assert sparse(seeded(), 2, c=3).num_edges == 4  # probability 1, not 3/2


SIZES = [(n, d) for n in (1, 2, 3, 4, 5, 8, 13) for d in range(n + 1)]


@pytest.mark.parametrize(
    ("n", "degree"), [*SIZES, (64, 32), (400, 200), (101, 50), (101, 100), (2000, 3)]
)
def test_regular_degrees_are_exact_on_both_sides(n: int, degree: int) -> None:
    for seed in range(2):
        for side in degrees(regular(seeded(seed), n, degree)):
            assert side.tolist() == [degree] * n


def test_all_regular_graphs_of_a_size_occur() -> None:
    rng = seeded()
    # 90 = the 4 x 4 matrices of zeros and ones whose rows and columns all sum to 2.
    assert len({as_bytes(regular(rng, 4, 2)) for _ in range(3000)}) == 90


def test_power_law_degrees_are_skewed_on_both_sides() -> None:
    graph = power_law(seeded(), 20_000)
    assert 2.7 < graph.num_edges / 20_000 <= 3.1
    for side in degrees(graph):
        assert side.max() > 50 * side.mean()
        assert (side == 0).mean() > 0.1
        assert abs(np.corrcoef(side, np.arange(20_000))[0, 1]) < 0.05


def test_a_smaller_exponent_means_larger_hubs() -> None:
    top = [max(side.max() for side in degrees(power_law(seeded(), 5000, 3, e))) for e in (2.1, 4)]
    assert top[0] > 3 * top[1]


def test_power_law_degrees_fall_off_with_the_exponent() -> None:
    # The share of nodes above d falls like d^(1 - exponent): from 10 to 40 by 4^1.5 = 8.
    counts = degrees(power_law(seeded(), 200_000, mean_degree=3, exponent=2.5))[0]
    assert (counts > 10).sum() / (counts > 40).sum() == pytest.approx(8, rel=0.25)


def test_communities_are_the_halves_of_both_sides() -> None:
    matrix = communities(seeded(), 401, p_within=0.3, p_between=0.1).to_dense()
    first, second = slice(0, 200), slice(200, 401)
    for rows, columns, p in (
        (first, first, 0.3),
        (second, second, 0.3),
        (first, second, 0.1),
        (second, first, 0.1),
    ):
        assert matrix[rows, columns].mean() == pytest.approx(p, abs=0.01)


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_a_path_is_one_path_and_a_ladder_has_two_rows(n: int) -> None:
    assert nx.is_isomorphic(path(seeded(), n).to_networkx(), nx.path_graph(2 * n))
    assert nx.is_isomorphic(ladder(seeded(), n).to_networkx(), nx.ladder_graph(n))


@pytest.mark.parametrize("n", [1, 2, 501])
def test_a_path_and_a_ladder_have_perfect_matchings(n: int) -> None:
    assert has_perfect_matching(path(seeded(), n))
    assert has_perfect_matching(ladder(seeded(), n))


def test_path_and_ladder_are_relabelled() -> None:
    for graph in (path(seeded(), 50), ladder(seeded(), 50)):
        assert max(abs(left - right) for left, right in graph.pairs()) > 9


@pytest.mark.parametrize(
    ("make", "make_state"), [(path, path_state), (ladder, ladder_state)], ids=["path", "ladder"]
)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 200])
def test_a_state_is_one_augmentation_away_from_perfect(make: Any, make_state: Any, n: int) -> None:
    network = make_state(seeded(n), n)
    assert_legal_residual(network, n)
    assert len(matched_pairs(network, n)) == n - 1
    plain = FlowNetwork.from_bipartite(make(seeded(n), n))
    assert np.array_equal(plain.sender, network.sender)
    assert np.array_equal(plain.receiver, network.receiver)
    heads = residual_arcs(network)
    line = shortest_path(heads, network.source, network.sink)
    assert line is not None
    augment(heads, line)
    assert shortest_path(heads, network.source, network.sink) is None
    assert not heads[network.source]  # all n left nodes are matched


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 100])
def test_the_only_augmenting_path_of_a_path_visits_every_node(n: int) -> None:
    network = path_state(seeded(n), n)
    (line,) = simple_paths(residual_arcs(network), [network.source], network.sink)
    assert sorted(line) == list(range(2 * n + 2))


@pytest.mark.parametrize("n", range(1, 11))
def test_every_augmenting_path_of_a_ladder_visits_at_least_n_nodes(n: int) -> None:
    network = ladder_state(seeded(n), n)
    lines = simple_paths(residual_arcs(network), [network.source], network.sink)
    lengths = [len(line) - 2 for line in lines]
    assert min(lengths) == n + n % 2
    assert max(lengths) == 2 * n


def test_a_long_ladder_forces_a_long_path() -> None:
    network = ladder_state(seeded(), 2000)
    line = shortest_path(residual_arcs(network), network.source, network.sink)
    assert line is not None
    assert len(line) - 2 == 2000


def test_the_residual_of_a_matching_turns_three_arcs_per_pair() -> None:
    # a0 – b0, a0 – b1, a1 – b1, with a0 – b1 matched; nodes: source 0, a 1 2, b 3 4, sink 5.
    graph = BipartiteGraph(2, 2, np.array([0, 0, 1]), np.array([0, 1, 1]))
    network = residual_after(graph, np.array([[0, 1]]))
    assert set(network.arcs()) == {
        (1, 0, 1),
        (0, 2, 1),
        (1, 3, 1),
        (4, 1, 1),
        (2, 4, 1),
        (3, 5, 1),
        (5, 4, 1),
    }
    assert residual_after(graph, []) == FlowNetwork.from_bipartite(graph)
    assert residual_after(graph, np.zeros((0, 2), int)) == FlowNetwork.from_bipartite(graph)


@pytest.mark.parametrize(
    ("matching", "fragment"),
    [
        ([(0, 0), (1, 0)], r"matched pair 1, \(1, 0\), is no edge"),
        ([(0, 9)], "is no edge"),
        ([(0, 0), (0, 1)], "left node 0 is matched more than once"),
        ([(0, 1), (1, 1)], "right node 1 is matched more than once"),
        ([(0.5, 1)], "pairs of a left and a right node number"),
        ([(0, 1, 1)], "pairs of a left and a right node number"),
        ([0, 1], "pairs of a left and a right node number"),
    ],
)
def test_a_wrong_matching_is_refused(matching: Any, fragment: str) -> None:
    graph = BipartiteGraph(2, 2, np.array([0, 0, 1]), np.array([0, 1, 1]))
    with pytest.raises(InputError, match=fragment):
        residual_after(graph, matching)


def test_partly_matched_is_a_legal_residual_with_up_to_the_share_matched() -> None:
    rng = seeded()
    n, sizes = 25, []
    for _ in range(300):
        network = partly_matched(rng, n)
        assert_legal_residual(network, n)
        sizes.append(len(matched_pairs(network, n)))
    assert min(sizes) == 0
    assert max(sizes) in (9, 10)
    # int() of a uniform number in 0..10 is 4.5 on average.
    assert np.mean(sizes) == pytest.approx(4.5, abs=0.6)


def test_partly_matched_follows_the_share_and_stops_where_greed_does() -> None:
    sizes = [len(matched_pairs(partly_matched(seeded(s), 50, share=1), 50)) for s in range(30)]
    assert max(sizes) > 40
    assert matched_pairs(partly_matched(seeded(), 50, share=0), 50) == []
    assert matched_pairs(partly_matched(seeded(), 50, p=0), 50) == []


@pytest.mark.parametrize(("low", "high"), [(1, 10), (0, 0), (5, 5), (2**40, 2**62 - 1)])
def test_flow_capacities_are_within_range(low: int, high: int) -> None:
    nodes, arcs = 40, 700
    network = flow(seeded(), nodes, arcs, low, high)
    triples = list(network.arcs())
    assert all(low <= capacity <= high for *_, capacity in triples)
    assert all(tail != head for tail, head, _ in triples)
    # Arcs without capacity exist but are not listed.
    assert len({(tail, head) for tail, head, _ in triples}) == (arcs if high else 0)
    assert (network.source, network.sink) == (0, nodes - 1)


def test_flow_draws_both_ends_of_the_range_and_pairs_all_alike() -> None:
    rng = seeded()
    frequency = np.zeros((6, 6))
    seen: set[int] = set()
    for _ in range(2000):
        for tail, head, capacity in numbered_arcs(flow(rng, 6, 10, 3, 7)):
            frequency[tail, head] += 1 / 2000
            seen.add(capacity)
    assert seen == {3, 4, 5, 6, 7}
    assert not frequency.diagonal().any()
    assert frequency[~np.eye(6, dtype=bool)] == pytest.approx(10 / 30, abs=0.06)


def test_flow_may_ask_for_every_ordered_pair() -> None:
    assert len(list(flow(seeded(), 7, 42, 2**62 - 1, 2**62 - 1).arcs())) == 42
    assert flow(seeded(), 2, 0).num_arcs == 0


def test_a_family_tells_its_parameters_and_what_it_makes() -> None:
    assert FAMILIES["uniform"].parameters == (
        Parameter("n", int, None, is_required=True),
        Parameter("m", int, None, is_required=False),
        Parameter("p", float, 0.25, is_required=False),
    )
    assert [p.name for p in FAMILIES["flow"].parameters] == ["nodes", "arcs", "low", "high"]
    assert all(family.summary.endswith(".") for family in FAMILIES.values())


def test_hard_families_are_made_as_well() -> None:
    assert generate("ak", seeded(), arcs=100) == HARD_FLOWS["ak"](seeded(), 100)
    zipf = generate("zipf", seeded(), (1, 9), edges=90)
    assert isinstance(zipf, BipartiteGraph) and zipf.costs is not None
    assert not FAMILIES.keys() & HARD.keys()
    with pytest.raises(InputError, match="arcs is 0, not a whole number in 1"):
        generate("mesh", seeded(), arcs=0)
    with pytest.raises(InputError, match="the family grid takes edges, but not arcs"):
        generate("grid", seeded(), arcs=9)
    with pytest.raises(InputError, match="did you mean 'segmentation'"):
        generate("segmentaton", seeded(), arcs=9)


def test_an_unknown_family_is_refused_with_the_known_ones_and_the_closest() -> None:
    with pytest.raises(InputError) as caught:
        generate("powerlaw", seeded(), n=3)
    assert all(name in str(caught.value) for name in FAMILIES)
    assert "did you mean 'power-law'?" in str(caught.value)
    with pytest.raises(InputError, match=r"'zzz' is none of the families .*flow$"):
        generate("zzz", seeded())


@pytest.mark.parametrize(
    ("family", "given", "fragment"),
    [
        ("uniform", {}, "uniform needs n"),
        ("regular", {"n": 3}, "regular needs degree"),
        ("communities", {"n": 3, "p_within": 0.5}, "needs p_between"),
        ("path", {"n": 3, "p": 0.5}, "path takes n, but not p"),
        ("uniform", {"n": 3, "q": 0.5}, "uniform takes n, m, p, but not q"),
        ("uniform", {"n": -1}, "n is -1, not a whole number in 0"),
        ("uniform", {"n": 3, "m": -2}, "m is -2"),
        ("uniform", {"n": 2.5}, "n is 2.5, not a whole number"),
        ("uniform", {"n": 2**31}, "n is 2147483648"),
        ("uniform", {"n": 3, "p": 1.5}, r"p is 1.5, not a number in 0\.\.1"),
        ("uniform", {"n": 3, "p": -0.1}, "p is -0.1"),
        ("uniform", {"n": 3, "p": float("nan")}, "p is nan"),
        ("uniform", {"n": 3, "p": "half"}, "p is half"),
        ("sparse", {"n": 3, "c": -1}, "c is -1, not a number of at least 0"),
        ("regular", {"n": 3, "degree": 4}, r"degree is 4, not a whole number in 0\.\.3"),
        ("regular", {"n": 3, "degree": -1}, "degree is -1"),
        ("power-law", {"n": 3, "mean_degree": -1}, "mean_degree is -1"),
        ("power-law", {"n": 3, "exponent": 1.9}, "exponent is 1.9, not a number of at least 2"),
        ("complete", {"n": 3, "m": 0.5}, "m is 0.5"),
        ("communities", {"n": 3, "p_within": 2, "p_between": 0}, "p_within is 2"),
        ("communities", {"n": 3, "p_within": 0, "p_between": 2}, "p_between is 2"),
        ("path", {"n": -1}, "n is -1"),
        ("ladder", {"n": -1}, "n is -1"),
        ("path-state", {"n": 0}, "n is 0, not a whole number in 1"),
        ("ladder-state", {"n": 0}, "n is 0"),
        ("partly-matched", {"n": 3, "share": 1.1}, "share is 1.1"),
        ("partly-matched", {"n": 3, "p": 7}, "p is 7"),
        ("flow", {"nodes": 1, "arcs": 0}, "nodes is 1, not a whole number in 2"),
        ("flow", {"nodes": 3, "arcs": 7}, r"arcs is 7, not a whole number in 0\.\.6"),
        ("flow", {"nodes": 3, "arcs": 1, "low": 5, "high": 4}, r"low is 5, .* in 0\.\.4"),
        ("flow", {"nodes": 3, "arcs": 1, "low": -1}, "low is -1"),
        ("flow", {"nodes": 3, "arcs": 1, "high": 2**62}, "high is 4611686018427387904"),
        ("path", {"n": 3, "costs": (3, 2)}, r"the greatest cost is 2, not a whole number in 3\.\."),
        ("path", {"n": 3, "costs": (0.5, 2)}, "the least cost is 0.5, not a whole number"),
        ("path", {"n": 3, "costs": (0, 2**40)}, "the greatest cost is 1099511627776"),
    ],
)
def test_wrong_parameters_are_refused(family: str, given: dict[str, Any], fragment: str) -> None:
    with pytest.raises(InputError, match=fragment) as caught:
        generate(family, seeded(), **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("family", ["uniform", "path", "flow"])
def test_costs_change_nothing_else(family: str) -> None:
    given: dict[str, Any] = {"nodes": 6, "arcs": 12} if family == "flow" else {"n": 6}
    plain = generate(family, seeded(), **given)
    priced = generate(family, seeded(), costs=(-3, 4), **given)
    costs = priced.costs.amount  # type: ignore[union-attr]
    assert -3 <= costs.min() <= costs.max() <= 4
    assert priced == generate(family, seeded(), costs=(-3, 4), **given)
    if isinstance(priced, CostNetwork):
        assert [arc[:3] for arc in priced.arcs()] == list(plain.arcs())  # type: ignore[union-attr]
    else:
        assert replace(priced, costs=None) == plain  # type: ignore[type-var]
    with pytest.raises(InputError, match="there are costs already"):
        with_costs(CostNetwork.from_labelled_arcs([(0, 1, 1, 1)], source=0, sink=1), seeded(), 1, 2)
