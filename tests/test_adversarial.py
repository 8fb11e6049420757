"""Wrong networks and hard graphs: the full campaign is `benchmarks/adversarial.py`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from augury.classical.batch import Batch
from augury.neural.reduce import best_links
from augury.neural.wiring import Wiring
from augury.solver import solve, solve_batch
from graphs import NETWORKS


def script(name: str) -> ModuleType:
    path = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


adversarial = script("adversarial")


@pytest.mark.parametrize("number", range(len(adversarial.EXECUTORS)), ids=str)
def test_no_network_however_wrong_gives_an_illegal_answer(number: int) -> None:
    torch.set_num_threads(1)
    told, graphs, maxima, faults = adversarial.solve_chunk((1, number, 40))
    assert (graphs, faults) == (40, [])
    assert maxima > 0
    if told in ("discrete, as shipped", "classical, as shipped"):
        assert maxima == 40


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
    assert solution.size == 3 * 12 + 1 == adversarial.scipy_sizes([graph])[0]


def test_the_checks_see_a_wrong_answer() -> None:
    graph = adversarial.trap(3)
    right = solve(graph, model="classical")
    short = solve_batch([graph], model=adversarial.executor_for(
        "discrete", "zero", np.random.default_rng(0)), exact=False)[0]  # fmt: skip
    adversarial.check_matching(graph, right, right.size)
    with pytest.raises(adversarial.Wrong, match="is_maximum is True"):
        adversarial.check_matching(graph, right, right.size + 1)
    adversarial.check_matching(graph, short, right.size)
    assert not short.is_maximum
    with pytest.raises(adversarial.Wrong, match="is_maximum is False"):
        adversarial.check_matching(graph, short, short.size)
    object.__setattr__(right, "matching", [*right.matching[:-1], right.matching[0]])  # type: ignore[index]
    with pytest.raises(adversarial.Wrong, match="matched twice"):
        adversarial.check_matching(graph, right, right.size)


def test_weights_that_are_not_finite_are_refused() -> None:
    assert adversarial.refused_weights() == []
