"""The questions of an exam: everything up to a size is asked, and nothing twice."""

from __future__ import annotations

from itertools import permutations, product
from math import factorial, gcd
from typing import Any

import numpy as np
import pytest

from augury.classical.network import FlowNetwork
from augury.errors import InputError
from augury.experiments import exam_questions as questions
from augury.experiments.exam_questions import JUDGES, fingerprint, question
from augury.experiments.peers import Arcs, ortools_flow


def test_all_small_bipartite_graphs_are_asked_and_none_twice() -> None:
    assert JUDGES["bipartite-all"].count == 74_954
    assert JUDGES["costs-all"].count == sum(3 ** (n * m) for n, m in product((1, 2, 3), repeat=2))
    first = 2 + 4 + 8 + 16 + 4  # of 1 + 1 to 1 + 4 nodes, and of 2 + 1
    asked = [questions.bipartite(number) for number in range(first, first + 16)]
    assert {(graph.num_left, graph.num_right) for graph in asked} == {(2, 2)}
    assert len({tuple(graph.edges()) for graph in asked}) == 16
    ends = [questions.bipartite(number) for number in (0, questions.BIPARTITE - 1)]
    assert [(graph.num_left, graph.num_edges) for graph in ends] == [(1, 0), (4, 16)]


def test_all_small_flow_networks_are_asked_and_none_twice() -> None:
    assert JUDGES["flows-all"].count == 3**2 + 3**6 + 3**12
    three = [questions.flow(number) for number in range(9, 9 + 729)]
    assert {network.num_nodes for network in three} == {3}
    asked = {tuple(sorted(network.arcs())) for network in three}
    amounts = product(range(3), repeat=6)
    pairs = [(i, j) for i, j in product(range(3), repeat=2) if i != j]
    assert asked == {
        tuple(sorted((*arc, amount) for arc, amount in zip(pairs, row, strict=True) if amount))
        for row in amounts
    }


@pytest.mark.parametrize("number", [0, 8, 9, 500, 738, 4711, 300_000, questions.FLOWS - 1])
def test_a_network_made_quickly_is_that_of_its_arcs(number: int) -> None:
    made = questions.flow(number)
    columns = np.array(list(made.arcs()), np.int64).reshape(-1, 3).T
    assert made == FlowNetwork.from_arcs(made.num_nodes, *columns, source=0, sink=made.sink)
    assert not made.capacity.flags.writeable and made.capacity.dtype == np.int64


def cycles(order: tuple[int, ...]) -> list[int]:
    """Return the lengths of the cycles of a permutation."""
    left, found = set(range(len(order))), []
    while left:
        node, length = left.pop(), 1
        while (node := order[node]) in left:
            left.remove(node)
            length += 1
        found.append(length)
    return found


def test_classes_of_bipartite_graphs_are_as_many_as_burnside_counts() -> None:
    expected = 0
    for n, m in product(range(1, 5), repeat=2):
        fixed = sum(
            2 ** sum(gcd(a, b) for a in cycles(rows) for b in cycles(columns))
            for rows in permutations(range(n))
            for columns in permutations(range(m))
        )
        expected += fixed // (factorial(n) * factorial(m))
    assert len(questions.bipartite_classes()) == expected == 630


def test_classes_of_flow_networks_are_as_many_as_burnside_counts() -> None:
    # Of 7 useful arcs, swapping the inner nodes leaves 4 to choose; with 3 nodes there are 3 arcs.
    assert len(questions.flow_classes()) == (3**7 + 3**4) // 2 + 3**3 + 3


def test_every_network_has_the_maximum_of_its_class() -> None:
    classes = set(questions.flow_classes().tolist())
    by_arcs = {tuple(questions.flow(n).arcs()): n for n in classes if n >= 9 + 729}
    rng = np.random.default_rng(5)
    for number in rng.integers(9 + 729, questions.FLOWS, 300).tolist():
        network = questions.flow(number)
        useful = [arc for arc in network.arcs() if arc[1] != 0 and arc[0] != 3]
        swapped: dict[Any, int] = {0: 0, 1: 2, 2: 1, 3: 3}
        forms = [useful, [(swapped[tail], swapped[head], room) for tail, head, room in useful]]
        known = {tuple(_network(form).arcs()) for form in forms}
        [member] = [by_arcs[arcs] for arcs in known if arcs in by_arcs]
        values = [ortools_flow(Arcs.of(one)).solved() for one in (network, questions.flow(member))]
        assert values[0] == values[1]


def _network(arcs: list[tuple[int, int, int]]) -> FlowNetwork:
    columns = np.array(arcs, np.int64).reshape(-1, 3).T
    return FlowNetwork.from_arcs(4, *columns, source=0, sink=3)


def test_who_does_not_get_all_gets_the_classes_and_a_sample_of_the_seed() -> None:
    judge = JUDGES["flows-all"]
    classes = set(questions.flow_classes().tolist())
    assert len(judge.numbers(0)) == judge.count
    assert set(judge.numbers(0, quick=True).tolist()) == classes
    some, same, other = (set(judge.numbers(s, most=100).tolist()) for s in (0, 0, 1))
    assert some == same != other and classes < some and len(some - classes) > 1900


def test_a_question_is_always_the_same_and_has_a_fingerprint_of_its_own() -> None:
    drawn = [name for name, judge in JUDGES.items() if not judge.is_exhaustive]
    found = {fingerprint([question(name, 0)]) for name in drawn}
    assert len(found) == len(drawn)
    assert found == {fingerprint([question(name, 0)]) for name in drawn}
    assert fingerprint([question("flows", 0)]) == "f5a9629a94ad9f98"


def test_an_unknown_question_is_refused() -> None:
    with pytest.raises(InputError, match="bipartite-all has the questions 0 to 74953, and not -1"):
        question("bipartite-all", -1)
    with pytest.raises(InputError, match="'oral' is not one of the judges bipartite-all, flows"):
        question("oral", 0)
