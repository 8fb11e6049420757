"""Solving returns a legal answer in the user's labels, and says how sure it is of it."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import augury
from augury import BipartiteGraph, FlowNetwork, InputError, certify, certify_flow, solve, solver
from augury.algorithms import FORD_FULKERSON
from augury.algorithms.executor import CellExecutor
from augury.classical import generate
from augury.classical import phases as algorithm
from augury.classical.answer import Progress
from augury.classical.arrays import WideArray
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import BREADTH_FIRST, Paths, Subroutines, Tree, WeightArray
from augury.classical.phases import phases
from augury.config import preset, with_settings
from augury.inputs import Graph
from augury.models.checkpoint import find, load, make_network, save
from augury.paper.executor import NeuralExecutor
from augury.solver import solve_batch
from augury.watch import watch
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

EXECUTORS = ["discrete", *FORD_FULKERSON.classical]
every_executor = pytest.mark.parametrize("executor", EXECUTORS)


@every_executor
@given(graph=bipartite_graphs(), seed=st.integers(0, 99))
def test_the_matching_is_maximum_and_certified(
    graph: BipartiteGraph, seed: int, executor: str
) -> None:
    solution = solve(graph, model=executor, seed=seed)
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
    solution = solve(network, model=executor)
    assert solution.flow is not None
    assert solution.matching is None
    assert all(amount > 0 for _, _, amount in solution.flow)
    assert certify_flow(network, solution.flow) == solution.certificate
    assert solution.is_maximum
    assert solution.ending == "done"


@every_executor
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_the_named_networks_are_solved(network: FlowNetwork, executor: str) -> None:
    assert solve(network, model=executor).is_maximum


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
    for engine, many in (("lookup", True), ("auto", False)):  # a compiled form has a rule for ties
        found = (solve(graph, seed=seed, engine=engine).matching for seed in range(9))
        assert (len(set(map(tuple, filter(None, found)))) > 1) == many


def test_progress_is_told_after_each_round() -> None:
    told: list[Progress] = []
    solution = solve(JOBS, progress=told.append, engine="lookup")
    # The last round is the one that finds no path.
    assert told[-1] == (1, solution.rounds + 1, solution.size, "searching")
    assert told == sorted(told)
    told.clear()
    solution = solve(JOBS, progress=told.append)
    assert told == [(1, solution.rounds, solution.size, "certifying")]
    for graph in (BRIDGE, BRIDGE.with_costs(range(len(list(BRIDGE.arcs()))))):
        told.clear()
        solution = solve(graph, progress=told.append, engine="table")
        assert told[-1][2:] == (solution.size, "certifying")


def test_a_solution_becomes_json() -> None:
    answer = json.loads(json.dumps(solve(JOBS).to_dict()))
    assert answer["matching"] == [["ann", "cook"], ["bob", "sing"]]
    keys = ["size", "is_maximum", "matching", "executor", "engine", "rounds"]
    keys += ["neural_rounds", "classical_rounds", "ending", "certificate"]
    assert list(answer) == keys
    assert list(solve(BRIDGE).to_dict()) == [key.replace("matching", "flow") for key in keys]
    assert repr(solve(BRIDGE)).startswith("Solution(flow of 5, maximum, ")
    assert repr(solve(JOBS)) == "Solution(matching of 2, maximum, 1 round, discrete (table))"


@pytest.mark.parametrize("graph", [JOBS, BRIDGE])
def test_labels_are_made_when_they_are_asked_for(graph: Graph) -> None:
    first, second = solve(graph), solve(graph)
    assert callable(vars(first)[graph.noun])
    assert first.noun == graph.noun
    copied = pickle.loads(pickle.dumps(first))
    assert repr(first) == repr(second) == repr(copied)
    rows = getattr(first, graph.noun)
    assert isinstance(rows, list) and getattr(first, graph.noun) is rows
    assert getattr(copied, graph.noun) == rows
    assert first == second == copied
    assert pickle.loads(pickle.dumps(first)) == first  # made by now
    changed = replace(second, ending="another")
    assert changed != second and getattr(changed, graph.noun) == rows
    assert copied.story() == first.story()


def test_the_default_is_compiled_where_the_network_is_proven(tmp_path: Path) -> None:
    proven, wrong = tmp_path / "proven.safetensors", tmp_path / "wrong.safetensors"
    proven.write_bytes(find("discrete").read_bytes())
    config = preset("discrete")
    network = make_network(config.network, generator=torch.Generator().manual_seed(0))
    save(wrong, network.state_dict(), config, {})
    costs = BipartiteGraph.from_costs([[4, 1], [2, 3]])
    expected: list[tuple[str, dict[str, Any], Graph]] = [
        ("table", {}, JOBS),
        ("table", {}, BRIDGE),
        ("table", {"model": "discrete", "device": "cpu"}, JOBS),
        ("table", {"model": proven}, JOBS),
        ("lookup", {"model": wrong}, JOBS),
        ("lookup", {"algorithm": "reachability"}, BRIDGE),
        ("table", {}, costs),
        ("table", {"model": proven}, costs),
        ("lookup", {"model": wrong}, costs),
        ("fast", {"model": "paper-mpnn"}, JOBS),
        ("lookup", {"model": CellExecutor(load(find("discrete")).network)}, JOBS),
    ]
    for engine, options, graph in expected:
        assert solve(graph, **options).engine == engine
    assert solve(JOBS, model="classical").engine is None


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="oracle: there is no such checkpoint or run folder"):
        solve(JOBS, model="oracle")
    with pytest.raises(InputError, match="the device 'moon' cannot be used"):
        solve(JOBS, device="moon")
    with pytest.raises(InputError, match=r"0\.\.255"):
        solve(FlowNetwork.from_arcs(2, [0], [1], [256], source=0, sink=1), model="paper-mpnn")
    with pytest.raises(TypeError, match="expected several graphs, got one BipartiteGraph"):
        solve_batch(JOBS)


def found_nothing(batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree:
    return Tree(np.full(batch.num_nodes, -1, np.int32))


LAZY = BREADTH_FIRST._replace(search=found_nothing, is_done=lambda batch, *_: batch.sink < 0)
"""An executor whose search never finds a path, and which never says that it is done."""
HASTY = BREADTH_FIRST._replace(is_done=lambda batch, *_: batch.sink >= 0)
"""One that always says that it is done."""


def wrong_after_one_round() -> Subroutines:
    """An executor that is right once, and then proposes bottlenecks of 7."""
    asked = 0

    def bottleneck(batch: Batch, residual: WideArray, paths: Paths, tree: Tree, /) -> WideArray:
        nonlocal asked
        asked += 1
        right = paths.smallest(residual)
        return right if asked == 1 else np.full_like(right, 7)

    return BREADTH_FIRST._replace(bottleneck=bottleneck)


def test_what_ended_early_is_finished_by_the_classical_search_and_the_solution_says_so() -> None:
    graph = generate.sparse(np.random.default_rng(5), 40)
    for executor, ending in ((LAZY, "gave up"), (HASTY, "done")):
        exact = solve(graph, model=executor)
        assert exact.is_maximum
        assert (exact.neural_rounds, exact.ending, exact.executor) == (0, ending, "own")
        assert exact.rounds == exact.classical_rounds > 1
        own = solve(graph, model=executor, exact=False)
        assert (own.size, own.rounds, own.is_maximum) == (0, 0, False)
        assert own.certificate.shortfall == exact.size
    part = solve(graph, model=wrong_after_one_round(), exact=False)
    whole = solve(graph, model=wrong_after_one_round())
    assert (part.rounds, part.ending, part.is_maximum) == (1, "wrong bottleneck", False)
    assert 0 < part.size < whole.size
    assert (whole.neural_rounds, whole.is_maximum) == (1, True)
    assert repr(whole).endswith(f"{whole.classical_rounds} of them classical, own)")


def test_a_verified_network_leaves_nothing_to_the_classical_search() -> None:
    solution = solve(generate.sparse(np.random.default_rng(5), 100), engine="lookup")
    assert solution.classical_rounds == 0
    assert solution.neural_rounds > 3
    assert solve(JOBS, model="bellman-ford").neural_rounds == 0


@given(st.lists(st.one_of(bipartite_graphs(), networks(high=WIDE)), max_size=8))
def test_in_a_batch_every_graph_is_solved_as_if_alone(graphs: list[Graph]) -> None:
    assert solve_batch(graphs, seed=3) == [solve(graph, seed=3) for graph in graphs]


def test_a_batch_is_run_in_chunks_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [generate.sparse(np.random.default_rng(seed), 9) for seed in range(20)]
    whole = solve_batch(graphs, engine="lookup")
    arcs: list[int] = []
    monkeypatch.setattr(
        algorithm, "phases", lambda batch, *a: arcs.append(batch.num_arcs) or phases(batch, *a)
    )
    monkeypatch.setattr(solver, "MAX_ARCS", 200)
    told: list[Progress] = []
    assert solve_batch(iter(graphs), progress=told.append, engine="lookup") == whole
    assert len(arcs) > 8
    assert max(arcs) <= 200
    assert told[-1].finished == 20
    assert told[-1].size == sum(solution.size for solution in whole)
    assert [now.size for now in told] == sorted(now.size for now in told)


@pytest.mark.parametrize("model", [None, "paper-mpnn", "classical"])
def test_a_solution_tells_its_own_run_and_shows_it_in_a_notebook(model: str | None) -> None:
    for graph in (generate.sparse(np.random.default_rng(3), 12), JOBS, BRIDGE):
        solution = solve(graph, model=model, seed=5)
        story = solution.story()
        told = json.loads(json.dumps(solution.to_dict()))
        assert story["solution"] == told
        assert solve_batch([graph], model=model, seed=5)[0].story() == story
        page = solution._repr_html_()
        assert page is not None
        assert page.startswith("<iframe")
    assert "Content-Security-Policy" in page


def test_a_run_that_cannot_be_told_is_shown_as_text() -> None:
    own = solve(JOBS, model=BREADTH_FIRST)
    with pytest.raises(InputError, match="the executor 'own' shows no steps"):
        own.story()
    assert own._repr_html_() is None
    large = solve(generate.sparse(np.random.default_rng(0), 8_000), model="classical")
    assert large._repr_html_() is None


def test_a_checkpoint_is_loaded_anew_when_its_file_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "mine.safetensors"
    path.write_bytes(find("discrete").read_bytes())
    assert solve(JOBS, model=path).executor == "discrete"
    path.write_bytes(b"no checkpoint")
    with pytest.raises(InputError, match="not a whole safetensors file"):
        solve(JOBS, model=path)


def test_a_checkpoint_is_known_by_its_content_not_by_name_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, name in (("one", "discrete"), ("other", "paper-mpnn")):
        path = tmp_path / folder / "mine.safetensors"
        path.parent.mkdir()
        path.write_bytes(find(name).read_bytes())
        os.utime(path, ns=(1, 1))
    kinds: list[type] = []
    for folder in ("one", "other", "one"):
        monkeypatch.chdir(tmp_path / folder)
        kinds.append(type(solver.runner_of("mine.safetensors").executor))
    assert kinds == [CellExecutor, NeuralExecutor, CellExecutor]
    solve(JOBS, model="mine.safetensors", engine="table")
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(InputError, match="'paper-mpnn' is none"):
        solve(JOBS, model="mine.safetensors", engine="table")
    [again, once] = (solver.runner_of("mine.safetensors").executor for _ in range(2))
    assert again == once  # the same network, loaded once


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@pytest.mark.parametrize("exact", [False, True])
def test_an_executor_that_writes_into_its_arguments_is_given_no_wrong_maximum(exact: bool) -> None:
    """Once, doubling the residual doubled the capacities that the certificate was made from."""
    network = FlowNetwork.from_arcs(3, [0, 1], [1, 2], [4, 9], source=0, sink=2)

    def vandal(name: str) -> Any:
        def subroutine(batch: Batch, residual: Any, *rest: Any) -> Any:
            answer = getattr(BREADTH_FIRST, name)(batch, residual, *rest)
            torch.as_tensor(residual).mul_(2)
            torch.as_tensor(batch.capacity).mul_(2)
            return answer

        return subroutine

    for name in BREADTH_FIRST._fields[:4]:
        own = BREADTH_FIRST._replace(**{name: vandal(name)})
        for graph, size in ((network, 4), (JOBS, solve(JOBS).size)):
            solved = solve(graph, model=own, exact=exact)
            assert solved.certificate.is_legal and solved.size <= size
            assert solved.is_maximum == (solved.size == size)
            assert solved.is_maximum or not exact
    assert network.capacity.tolist() == [4, 0, 9, 0]


def test_an_executor_may_not_write_into_its_arguments() -> None:
    def search(batch: Batch, residual: Any, weights: Any, /) -> Any:
        residual *= 2

    with pytest.raises(ValueError, match="read-only"):
        solve(JOBS, model=BREADTH_FIRST._replace(search=search))


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
        solution = solve(problem, model=executor, seed=3)
        assert (solution.size, solution.is_maximum, solution.ending) == (size, True, "done")


@pytest.mark.parametrize("seed", [1.5, "1", None, -1, [1], np.random.default_rng(0)])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    for solved in (solve, lambda graph, seed: solver.solve_batch([graph], seed=seed)):
        with pytest.raises(InputError, match=r"^the seed is .*(not a whole|negative)"):
            solved(JOBS, seed=seed)
    assert solve(JOBS, seed=np.uint8(3)).size == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("model", [5, 2.5, [1], b"discrete", object()])
def test_what_is_no_model_is_refused(model: Any) -> None:
    for engine in ("auto", "table"):
        with pytest.raises(InputError, match=r"^the model is .*, not a name, a path or an exec"):
            solve(JOBS, model=model, engine=engine)


def test_a_variant_is_called_by_what_was_changed_wherever_its_file_lies(tmp_path: Path) -> None:
    config = with_settings(preset("paper-mpnn"), ["network.hidden=8"])
    network = make_network(config.network, generator=torch.Generator().manual_seed(0))
    path = tmp_path / "paper-mpnn.safetensors"
    save(path, network.state_dict(), config, {})
    solution = solve(JOBS, model=path)
    assert solution.executor == "paper-mpnn (hidden=8)"
    assert solution.story()["model"]["name"] == watch(JOBS, model=path)["model"]["name"]
    assert solution.story()["model"]["name"] == "paper-mpnn (hidden=8)"
    copied = tmp_path / "best.safetensors"
    copied.write_bytes(find("discrete").read_bytes())
    for engine in ("lookup", "table"):
        assert solve(JOBS, model=copied, engine=engine).executor == "discrete"
