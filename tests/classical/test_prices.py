"""Certificates of least cost: what proves one, what refutes one, and what other programs say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from augury import BipartiteGraph, CostNetwork, InputError
from augury.classical.answer import How
from augury.classical.least_cost import BREADTH_FIRST, run
from augury.classical.prices import certify_cost, certify_priced, perfect
from costs import as_graph, cost_matrices, cost_networks, least_flow, least_matching

SQUARE = BipartiteGraph.from_costs([[1, 2], [3, 9]])
BEST, WORSE = np.array([1, 0]), np.array([0, 1])


def test_prices_are_looked_for_where_none_are_given() -> None:
    certificate = certify_cost(SQUARE, BEST)
    assert certificate.is_optimal and certificate.cost == 5 and certificate.gap == 0
    assert certificate.proof is not None
    assert "prices of the nodes prove the least cost" in certificate.proof.words
    assert repr(certificate) == "Certificate(legal and maximum, 2, cost 5, the best)"


def test_a_worse_answer_is_refuted_by_a_circle() -> None:
    certificate = certify_cost(SQUARE, WORSE)
    assert certificate.is_maximum and not certificate.is_optimal and certificate.gap is None
    assert certificate.to_dict()["saving"]["saves"] == 5
    assert repr(certificate) == "Certificate(legal and maximum, 2, cost 10, not the best)"


def test_a_short_answer_is_not_optimal_however_cheap() -> None:
    certificate = certify_cost(SQUARE, np.array([0, -1]))
    assert (certificate.shortfall, certificate.gap) == (1, 0) and not certificate.is_optimal


@pytest.mark.parametrize("mates", [[0, 0], [5, -1], [[0, 1]]])
def test_what_is_no_matching_is_no_answer(mates: list[Any]) -> None:
    certificate = certify_cost(SQUARE, np.array(mates))
    assert certificate.fault and certificate.cost is None and not certificate.is_infeasible


@pytest.mark.parametrize(
    "price",
    [
        np.zeros(6, np.int64),
        np.zeros(3, np.int64),
        np.full(6, 2**62),
        np.array([0, 0, 1, 0, 1, 2], float),
        np.array([0, -1, 0, 3, 2, 3]),
        ["no", "prices"],
    ],
)
def test_wrong_prices_prove_nothing(price: Any) -> None:
    certificate = certify_cost(SQUARE, BEST, price)
    assert (
        certificate.is_optimal and certificate.remark == "the prices given prove nothing; others do"
    )
    assert not certify_cost(SQUARE, WORSE, price).is_optimal


def test_prices_whose_sums_could_overflow_prove_nothing() -> None:
    [answer] = run([SQUARE], BREADTH_FIRST, How())
    assert answer.price is not None and not certify_cost(SQUARE, BEST, answer.price).remark
    assert certify_cost(SQUARE, BEST, answer.price + 2**60).remark == ""
    assert certify_cost(SQUARE, BEST, answer.price + 2**62).remark


@given(matrix=cost_matrices())
@settings(max_examples=60)
def test_any_matching_is_optimal_exactly_if_scipy_finds_none_better(matrix: np.ndarray) -> None:
    graph = as_graph(matrix)
    free, mates = set(range(graph.num_right)), np.full(graph.num_left, -1)
    for left in range(graph.num_left):  # greedily, which is sometimes the best
        edges = [v for u, v in graph.pairs() if u == left and v in free]
        if edges:
            right = min(edges, key=lambda v: matrix[left, v])
            free.remove(right)
            mates[left] = right
    pairs = graph.labelled(mates)
    cost = sum(matrix[left, right] for left, right in enumerate(mates.tolist()) if right >= 0)
    is_best = (len(pairs), cost) == least_matching(matrix)
    assert certify_cost(graph, mates).is_optimal == is_best


@given(network=cost_networks())
@settings(max_examples=60)
def test_any_flow_is_optimal_exactly_if_networkx_finds_none_better(network: CostNetwork) -> None:
    [answer] = run([network], BREADTH_FIRST, How())
    expected = least_flow(network)
    for arc in range(len(network.tail)):
        other = answer.found.copy()
        other[arc] += 1
        certificate = certify_cost(network, other, answer.price)
        if certificate.is_optimal:  # a loop that costs nothing, say
            assert (certificate.size, certificate.cost) == expected


@given(matrix=cost_matrices())
@settings(max_examples=40)
def test_what_we_write_can_be_read_back_and_other_programs_duals_too(matrix: np.ndarray) -> None:
    graph = as_graph(matrix)
    [answer] = run([graph], BREADTH_FIRST, How())
    own = certify_cost(graph, answer.found, answer.price).to_dict()["prices"]
    ways: list[Any] = [own, {"left": own["left"], "right": own["right"]}]
    ways.append({"u": [-x for x in own["left"]], "v": own["right"]})
    ways.append({"u": [-x - 0.5 for x in own["left"]], "v": [x + 0.5 for x in own["right"]]})
    for prices in ways:
        certificate = certify_priced(graph, graph.labelled(answer.found), prices)
        assert certificate.is_optimal and not certificate.remark


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        ([1], "prices are an object"),
        ({"left": [1, 2]}, "no row of numbers 'right'"),
        ({"left": [1], "right": [1, 2]}, "the row 'left' has 1 prices for 2 nodes"),
        ({"left": [1, "x"], "right": [1, 2]}, "no row of numbers 'left'"),
    ],
)
def test_prices_in_no_known_form_are_refused(prices: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        certify_priced(SQUARE, [(0, 1), (1, 0)], prices)


def test_a_perfect_matching_or_halls_violator() -> None:
    inf = float("inf")
    graph = BipartiteGraph.from_costs([[1, inf, inf], [3, inf, inf], [1, 1, 1]])
    [answer] = run([graph], BREADTH_FIRST, How())
    certificate = certify_cost(graph, answer.found, answer.price)
    assert certificate.is_optimal
    refused = perfect(graph, certificate)
    assert refused.is_infeasible and not refused.is_legal
    assert "no matching is perfect: 2 left nodes have only 1 neighbour" in refused.fault
    shortage = refused.to_dict()["shortage"]
    assert (shortage["nodes"], shortage["neighbours"]) == ([0, 1], [0])
    wide = certify_cost(SQUARE, BEST)
    assert perfect(SQUARE, wide) is wide


def test_a_shortage_is_counted_and_a_wrong_flow_is_none() -> None:
    arcs = [("s", "a", 3, 1), ("a", "t", 2, 0)]
    network = CostNetwork.from_labelled_arcs(arcs, supply={"s": 4, "t": -4})
    certificate = certify_cost(network, np.array([2, 2]))
    assert certificate.is_infeasible
    assert certificate.to_dict()["shortage"] == {
        "nodes": ["s", "a"], "need": 4, "limit": 2, "neighbours": [],
    }  # fmt: skip
    possible = CostNetwork.from_labelled_arcs(arcs, supply={"s": 2, "t": -2})
    for flow, words in (([1, 2], "not preserved at 's'"), ([4, 2], "carries 4, which is not in")):
        wrong = certify_cost(possible, np.array(flow))
        assert not wrong.is_legal and not wrong.is_infeasible and words in wrong.fault
    assert certify_cost(possible, np.array([2, 2])).is_optimal
    assert certify_cost(possible, np.array([2.0, 2.0])).fault
    assert certify_priced(possible, [("s", "a", 2), ("a", "t", 2)]).cost == 2
    told = {"nodes": [["s", 0], ["a", 1], ["t", 1]]}
    assert not certify_priced(possible, [("s", "a", 2), ("a", "t", 2)], told).remark


def test_less_than_a_lower_bound_is_no_flow() -> None:
    arcs = [("s", "a", 3, 1), ("a", "t", 3, 0), ("s", "t", 3, 0)]
    network = CostNetwork.from_labelled_arcs(arcs, supply={"s": 2, "t": -2}, lower=[1, 0, 0])
    assert "carries 0, which is not in 1 to 3" in certify_cost(network, np.array([0, 0, 2])).fault
    assert certify_cost(network, np.array([1, 1, 1])).is_optimal


def test_rounded_costs_have_a_gap_that_holds() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.random((40, 40)) * 1e9 + rng.random((40, 40))
    graph = BipartiteGraph.from_costs(matrix)
    [answer] = run([graph], BREADTH_FIRST, How())
    certificate = certify_cost(graph, answer.found, answer.price)
    assert certificate.gap and 0 < certificate.gap < 1e-3 and not certificate.is_optimal
    assert certificate.is_maximum and "from the best" in repr(certificate)


def test_the_greatest_sum_is_the_least_of_what_is_negated() -> None:
    graph = BipartiteGraph.from_costs([[1, 2], [3, 9]], maximise=True)
    certificate = certify_cost(graph, WORSE)
    assert certificate.is_optimal and certificate.cost == 10
    prices = certificate.to_dict()["prices"]
    for left, right in graph.pairs():
        reduced = [[1, 2], [3, 9]][left][right] + prices["left"][left] - prices["right"][right]
        assert reduced == 0 if left == right else reduced <= 0
    assert not certify_priced(graph, [(0, 0), (1, 1)], prices).remark
