"""Wrong networks and hard graphs: the full campaign is `benchmarks/adversarial.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import adversarial
from answer_checks import Union, Wrong, check_all, scipy_flow
from augury.classical.batch import Batch
from augury.classical.certificate import Cut
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.neural.wiring import Wiring
from augury.paper.reduce import best_links
from augury.solution import Solution
from augury.solver import solve, solve_batch
from graphs import NETWORKS


@pytest.mark.parametrize("number", range(len(adversarial.EXECUTORS)), ids=str)
def test_no_network_however_wrong_gives_an_illegal_answer(number: int) -> None:
    torch.set_num_threads(1)
    assert adversarial.ROTA[number] == adversarial.EXECUTORS[number]
    told = adversarial.solve_chunk((1, number, 40))
    assert (told.graphs, told.fault) == (40, "")
    assert told.maximum > 0
    if told.executor in ("discrete, as shipped", "classical, as shipped"):
        assert told.maximum == 40


def test_a_campaign_can_be_split_and_new_weights_are_other_networks() -> None:
    chunks = [adversarial.solve_chunk((0, number, 20)) for number in (0, len(adversarial.ROTA))]
    assert [told.executor for told in chunks] == ["discrete, mutated"] * 2
    assert chunks[0].weights != chunks[1].weights
    assert chunks[0] == adversarial.solve_chunk((0, 0, 20))


def test_scores_that_are_no_numbers_still_choose_a_link() -> None:
    wiring = Wiring.of(Batch.of([NETWORKS["jobs"]]))
    scores = torch.full((wiring.num_links,), torch.nan)
    best = best_links(scores, wiring)
    assert (best < wiring.num_links).all()
    assert torch.equal(wiring.receiver[best], torch.arange(wiring.num_nodes))
    scores[3] = -1e30  # whatever it is, a number is better than none
    assert best_links(scores, wiring)[wiring.receiver[3]] == 3


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in adversarial.SHAPES
        if "10^" not in name and "000 + 1,000" not in name and "0,000" not in name
    ],
)
def test_hard_graphs_are_solved_and_checked(name: str) -> None:
    told = adversarial.solve_shape((name, 0))
    assert told["fault"] == ""


def test_the_trap_is_what_it_says() -> None:
    graph = adversarial.trap(12)
    solution = solve(graph, model="classical")
    assert solution.size == 3 * 12 + 1 == Union([graph]).maxima()[0]


NARROW = FlowNetwork.from_arcs(4, [0, 1, 2], [1, 2, 3], [5, 3, 2], source=0, sink=3)


def batch() -> tuple[list[Any], list[Solution]]:
    """Return small graphs and right answers; the second graph is a trap, the third a network."""
    some = adversarial.small_graphs(np.random.default_rng(0), 30, 20)
    graphs = [some[0], adversarial.trap(3), NARROW, *some[1:]]
    return graphs, list(solve_batch(graphs, model="classical"))


def test_what_scipy_finds_in_one_call_is_what_it_finds_one_by_one() -> None:
    graphs, solutions = batch()
    bipartite = [graph for graph in graphs if isinstance(graph, BipartiteGraph)]
    networks = [graph for graph in graphs if not isinstance(graph, BipartiteGraph)]
    alone = [Union([graph]).maxima()[0] for graph in bipartite]
    assert Union(bipartite).maxima().tolist() == alone
    assert scipy_flow(networks) == sum(scipy_flow([network]) for network in networks) > 0
    check_all(graphs, solutions, exact=True)


def with_proof(solution: Solution, **changed: Any) -> Solution:
    proof: Any = replace(solution.certificate.proof, **changed)  # type: ignore[type-var]
    return replace(solution, certificate=replace(solution.certificate, proof=proof))


def falsely(solution: Solution, **changed: Any) -> Solution:
    return replace(solution, certificate=replace(solution.certificate, **changed))


WRONG: list[tuple[int, str, Any]] = [
    (1, "matched twice", lambda s: replace(s, matching=[(9, 0), (9, 1)])),
    (1, "matched twice", lambda s: replace(s, matching=[(0, 0), (9, 0)])),
    (1, "a pair is no edge", lambda s: replace(s, matching=[(0, 5), *s.matching[1:]])),
    (1, "there is no such node", lambda s: replace(s, matching=[(0, 10), *s.matching[1:]])),
    (1, "not an integer", lambda s: replace(s, matching=[(0.0, 0), *s.matching[1:]])),
    (1, "the size is not", lambda s: replace(s, matching=s.matching[1:])),
    (1, "the size is not", lambda s: falsely(s, size=s.size - 1, maximum=s.size - 1)),
    (1, "is_maximum is True", lambda s: falsely(
        replace(s, matching=s.matching[1:]), size=s.size - 1, maximum=s.size - 1
    )),
    (1, "is_maximum is False", lambda s: falsely(s, maximum=s.size + 1)),
    (1, "misses an edge", lambda s: with_proof(s, left=(), right=tuple(range(s.size - 1)))),
    (1, "the cover is not as large", lambda s: with_proof(s, left=tuple(range(11)), right=())),
    (1, "the cover: there is no such", lambda s: with_proof(s, left=(-1,))),
    (2, "an arc carries", lambda s: replace(s, flow=[(0, 1, 6), *s.flow[1:]])),
    (2, "an arc carries", lambda s: replace(s, flow=[(0, 2, 1), *s.flow])),
    (2, "what leaves the source", lambda s: falsely(s, size=s.size + 1)),
    (2, "not preserved", lambda s: replace(s, flow=[arc for arc in s.flow if arc[1] != 3])),
    (2, "not preserved", lambda s: replace(s, flow=[arc for arc in s.flow if arc[1] != 2])),
    (2, "does not separate", lambda s: with_proof(s, source_side=())),
    (2, "does not separate", lambda s: with_proof(s, source_side=(0, 1, 2, 3))),
    (2, "size 2, cut 5", lambda s: with_proof(s, source_side=(0,))),
    (2, "is_maximum is False", lambda s: falsely(s, maximum=s.size + 1)),
]  # fmt: skip


@pytest.mark.parametrize(("place", "words", "change"), WRONG)
def test_the_checks_see_a_wrong_answer(place: int, words: str, change: Any) -> None:
    graphs, solutions = batch()
    solutions[place] = change(solutions[place])
    with pytest.raises(Wrong, match=words):
        check_all(graphs, solutions, exact=False)


def test_the_checks_see_a_cut_that_is_too_large_for_an_answer_that_falls_short() -> None:
    """Only SciPy reveals that this answer is 2 short, not 5."""
    right = solve(NARROW, model="classical")
    told = falsely(replace(right, flow=[]), size=0, maximum=5, proof=Cut((0,), 5))
    with pytest.raises(Wrong, match="not what SciPy finds"):
        check_all([NARROW, NARROW], [right, told], exact=False)


def test_an_answer_that_falls_short_must_say_so() -> None:
    graph, rng = adversarial.trap(3), np.random.default_rng(0)
    zero, _ = adversarial.executor_for("discrete", "zero", rng)
    short = solve(graph, model=zero, exact=False)
    check_all([graph], [short], exact=False)
    assert not short.is_maximum
    with pytest.raises(Wrong, match="an exact answer is not maximum"):
        check_all([graph], [short], exact=True)


def test_weights_that_are_not_finite_are_refused() -> None:
    assert adversarial.accepted_weights() == []
