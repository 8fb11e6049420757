"""Solving returns a legal answer in the user's labels, and says how sure it is of it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augury
from augury import BipartiteGraph, FlowNetwork, InputError, certify, certify_flow, solve
from augury.classical import generate
from augury.solver import EXECUTORS
from graphs import (
    BRIDGE,
    JOBS,
    NETWORKS,
    NO_ARCS,
    NOTHING,
    STRAIGHT,
    WIDE,
    bipartite_graphs,
    networks,
)

every_executor = pytest.mark.parametrize("executor", EXECUTORS)


@every_executor
@given(graph=bipartite_graphs(), seed=st.integers(0, 99))
def test_the_matching_is_maximum_and_certified(
    graph: BipartiteGraph, seed: int, executor: str
) -> None:
    solution = solve(graph, executor=executor, seed=seed)
    assert solution.matching is not None
    assert solution.flow is None
    checked = certify(graph, solution.matching)
    assert checked.is_maximum
    assert checked == solution.certificate
    assert solution.size == len(solution.matching)
    assert (solution.is_maximum, solution.ending, solution.executor) == (True, "done", executor)


@every_executor
@given(network=networks(high=WIDE))
def test_the_flow_is_maximum_and_certified(network: FlowNetwork, executor: str) -> None:
    solution = solve(network, executor=executor)
    assert solution.flow is not None
    assert solution.matching is None
    assert all(amount > 0 for _, _, amount in solution.flow)
    assert certify_flow(network, solution.flow) == solution.certificate
    assert solution.is_maximum
    assert solution.ending == "done"


@every_executor
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_the_named_networks_are_solved(network: FlowNetwork, executor: str) -> None:
    assert solve(network, executor=executor).is_maximum


def test_graphs_without_nodes_or_arcs_are_solved_in_no_round() -> None:
    for empty in (NOTHING, NO_ARCS):
        solution = solve(empty)
        assert (solution.size, solution.rounds, solution.is_maximum) == (0, 0, True)


def test_an_arc_straight_to_the_sink_is_used() -> None:
    assert solve(STRAIGHT).size == 8


def test_the_answer_is_the_same_for_the_same_seed() -> None:
    graph = augury.generate("uniform", np.random.default_rng(0), n=12)
    assert isinstance(graph, BipartiteGraph)
    assert solve(graph, seed=3).matching == solve(graph, seed=3).matching
    several = {tuple(solve(graph, seed=seed).matching or ()) for seed in range(9)}
    assert len(several) > 1


def test_progress_is_told_after_each_round() -> None:
    told: list[tuple[int, int]] = []
    solution = solve(JOBS, progress=lambda rounds, size: told.append((rounds, size)))
    assert told[-1] == (solution.rounds, solution.size)
    assert told == sorted(told)


def test_a_solution_becomes_json() -> None:
    answer = json.loads(json.dumps(solve(JOBS).to_dict()))
    assert answer["matching"] == [["ann", "cook"], ["bob", "sing"]]
    keys = ["size", "is_maximum", "matching", "rounds", "executor", "ending", "certificate"]
    assert list(answer) == keys
    assert list(solve(BRIDGE).to_dict()) == [key.replace("matching", "flow") for key in keys]
    assert repr(solve(BRIDGE)).startswith("Solution(flow of 5, maximum, ")


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="'oracle' is none of the executors discrete, classical"):
        solve(JOBS, executor="oracle")
    with pytest.raises(TypeError, match="expected a BipartiteGraph or a FlowNetwork, got str"):
        solve("graph.csv")  # type: ignore[arg-type]


def test_every_public_name_can_be_used_and_no_other() -> None:
    for name in augury.__all__:
        assert getattr(augury, name) is not None
    assert dir(augury) == sorted(augury.__all__)
    with pytest.raises(AttributeError, match="no attribute 'unknown'"):
        _ = augury.unknown


def test_importing_augury_imports_not_even_numpy() -> None:
    code = "import sys, augury; print([m for m in ('numpy', 'scipy', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("executor", EXECUTORS)
def test_every_executor_finds_the_same_size_and_certifies_it(executor: str) -> None:
    rng = np.random.default_rng(7)
    graph = generate.sparse(rng, 40)
    network = generate.flow(rng, 12, 40, 1, 2**40)
    sizes = [solve(graph).size, solve(network).size]
    for problem, size in zip((graph, network), sizes, strict=True):
        solution = solve(problem, executor=executor, seed=3)
        assert (solution.size, solution.is_maximum, solution.ending) == (size, True, "done")
