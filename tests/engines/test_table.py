"""Every engine solves what it can, as it does by itself, and refuses the rest in a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from augury import BipartiteGraph, FlowNetwork, InputError, certify, solve, solve_batch, solver
from augury.algorithms import FORD_FULKERSON
from augury.algorithms.executor import CellExecutor
from augury.apps.commands import solve as solve_command
from augury.classical.answer import Progress
from augury.classical.arrays import WideArray
from augury.classical.certificate import certify_flow, certify_pairs
from augury.classical.generate import flow, sparse, uniform
from augury.engines import ENGINES, match_dense, match_sparse
from augury.engines.gpu import OnGpu
from augury.experiments.bench import scipy_blocks
from augury.solution import Solutions
from forms import GRAPH, SAME_GRAPHS
from graphs import BRIDGE, JOBS, NOTHING, WIDE, bipartite_graphs, networks
from proven import proven, untrained

ON_CPU = ["plain", "lookup", "table"]
on_cpu = pytest.mark.parametrize("engine", ON_CPU)


def mates_of(matching: Any, num_left: int) -> WideArray:
    mates = np.full(num_left, -1)
    for u, v in matching:
        mates[u] = v
    return mates


def stack(seed: int, shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(seed)
    return rng.random(shape) < rng.random((shape[0], 1, 1)) ** 2


def test_the_command_names_every_engine() -> None:
    told = Path(solve_command.__file__).read_text()
    assert all(name in told.partition("In which form")[2][:200] for name in ("auto", *ENGINES))


@on_cpu
@given(graph=bipartite_graphs())
def test_a_matching_is_certified_and_as_large_as_scipys(engine: str, graph: BipartiteGraph) -> None:
    solution = solve(graph, engine=engine)
    assert solution.matching is not None
    assert solution.certificate == certify(graph, solution.matching)
    assert solution.is_maximum
    size = int((scipy_blocks(graph.to_dense()[None]) >= 0).sum()) if graph.num_edges else 0
    assert (solution.size, solution.engine, solution.executor) == (size, engine, "discrete")
    assert solution.to_dict()["engine"] == engine
    assert repr(solution).endswith(f"discrete ({engine}))")


@on_cpu
@given(network=networks(high=WIDE))
def test_a_flow_is_certified(engine: str, network: FlowNetwork) -> None:
    solution = solve(network, engine=engine)
    assert solution.flow is not None
    assert solution.certificate == certify_flow(network, solution.flow)
    assert solution.is_maximum and solution.engine == engine
    assert solution.size == solve(network, model="classical").size


@given(seed=st.integers(0, 9**6), left=st.integers(0, 9), right=st.integers(0, 9))
def test_a_stack_is_matched_as_the_engine_matches_it(seed: int, left: int, right: int) -> None:
    adjacency = stack(seed, (5, left, right))
    solutions = solve_batch(adjacency, engine="table")
    assert isinstance(solutions, Solutions)
    expected = match_dense(adjacency)
    np.testing.assert_array_equal(solutions.mates, expected.mates)
    assert solutions.sizes.tolist() == [solution.size for solution in solutions]
    assert solutions.is_maximum
    for edges, solution, rounds in zip(adjacency, solutions, expected.rounds, strict=True):
        alone = solve(edges, engine="table")
        assert (alone.matching, alone.rounds) == (solution.matching, solution.rounds)
        assert (solution.rounds, solution.ending) == (rounds, "done")
        # Its cover is found by another search, so it may be another one.
        assert alone.certificate.maximum == solution.certificate.maximum == solution.size
        assert certify(BipartiteGraph.from_dense(edges), solution.matching or []).is_maximum
        assert solution.is_maximum


def test_a_large_graph_is_matched_as_the_engine_matches_it() -> None:
    graph = sparse(np.random.default_rng(2), 300)
    solution = solve(graph, engine="table")
    expected = match_sparse(graph.to_scipy())
    np.testing.assert_array_equal(mates_of(solution.matching, 300), expected.mates)
    assert solution.rounds == expected.rounds[0]


@pytest.mark.parametrize("graph", SAME_GRAPHS.values(), ids=SAME_GRAPHS)
def test_every_form_of_a_graph_is_taken(graph: Any) -> None:
    assert solve(graph, engine="table") == solve(GRAPH, engine="table")


def test_files_labels_and_batches_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("left,right\nann,cook\nbob,cook\nbob,sing\n")
    named = nx.Graph([("ann", "cook"), ("bob", "cook"), ("bob", "sing")])
    for graph in (path, str(path), named, JOBS):
        solution = solve(graph, engine="table")
        assert solution.matching == [("ann", "cook"), ("bob", "sing")]
    data = Data(edge_index=torch.tensor([[0, 0, 2], [1, 3, 3]]), num_nodes=4)
    solutions = solve_batch(Batch.from_data_list([data] * 3), engine="table")
    assert [solution.size for solution in solutions] == [2, 2, 2]
    stacked = torch.tensor(np.stack([GRAPH.to_dense()] * 2)).float()
    assert [solution.size for solution in solve_batch(stacked, engine="table")] == [2, 2]


def mixed() -> list[Any]:
    rng = np.random.default_rng(8)
    made = [uniform(rng, 5, 8), flow(rng, 9, 20, 1, 50), JOBS, NOTHING, BRIDGE, sparse(rng, 70)]
    return [*made, np.eye(3), uniform(rng, 6, 2)]


@on_cpu
def test_unequal_graphs_and_flows_in_one_batch_are_solved_as_if_alone(engine: str) -> None:
    solutions = solve_batch(mixed(), engine=engine)
    for graph, solution in zip(mixed(), solutions, strict=True):
        alone = solve(graph, engine=engine)
        assert (alone.matching, alone.flow) == (solution.matching, solution.flow)
        assert (alone.rounds, solution.is_maximum) == (solution.rounds, True)
    assert solve_batch([], engine=engine) == []


def test_chunks_of_a_stack_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = stack(4, (7, 6, 5)).astype(float)
    whole, told = solve_batch(adjacency, engine="table"), list[Progress]()
    monkeypatch.setattr(solver, "MAX_CELLS", 70)
    parts = solve_batch(adjacency, engine="table", progress=told.append)
    assert list(parts) == list(whole)
    assert [now.finished for now in told] == [2, 4, 6, 7]
    assert told[-1].size == sum(solution.size for solution in whole)
    with pytest.raises(InputError, match=r"graph 3: .*NaN"):
        adjacency[3, 1, 1] = np.nan
        solve_batch(adjacency, engine="table")


def test_progress_of_an_engine_is_told_once_for_a_chunk() -> None:
    told = list[Progress]()
    solutions = solve_batch(mixed(), engine="table", progress=told.append)
    rounds = max(solution.rounds for solution in solutions)
    size = sum(solution.size for solution in solutions)
    assert told == [(len(solutions), rounds, size, "searching")]


def test_solutions_are_a_sequence() -> None:
    solutions = solve_batch(stack(5, (4, 3, 3)), engine="table")
    assert len(solutions) == 4
    assert solutions[-1] == solutions[3] and solutions[1:3] == [solutions[1], solutions[2]]
    for number in (4, -5):
        with pytest.raises(IndexError, match=f"solution {number} of 4"):
            _ = solutions[number]
    assert repr(solutions) == "Solutions(4 matchings, 4 proven maximum, discrete (table))"
    assert len(solve_batch(np.zeros((0, 2, 2)), engine="table")) == 0


def test_an_answer_of_a_stack_that_is_not_maximum_is_said_to_be_none() -> None:
    adjacency = np.ones((2, 3, 3), np.uint8)
    good = solve_batch(adjacency, engine="table")
    assert isinstance(good, Solutions)
    mates = good.mates.astype(np.int32)
    mates[1, 0] = -1
    bad = replace(good, proofs=solver.covers_of(adjacency, mates))
    assert (bad[0].is_maximum, bad[1].is_maximum, bad.is_maximum) == (True, False, False)
    pairs = np.array(bad[1].matching)
    assert bad[1].certificate == certify_pairs(BipartiteGraph.from_dense(adjacency[1]), pairs)


@pytest.mark.parametrize("engine", [None, *ON_CPU])
@pytest.mark.parametrize(
    "graph", [JOBS, BRIDGE, *(sparse(np.random.default_rng(3), n) for n in (12, 70))]
)
def test_a_story_is_that_of_the_engine(graph: Any, engine: str | None) -> None:
    solution = solve(graph) if engine is None else solve(graph, engine=engine)
    story = solution.story()
    name = engine or "table"
    assert (story["model"]["engine"], story["solution"]["engine"]) == (name, name)
    told = solution.to_dict()
    what = "matching" if solution.matching is not None else "flow"
    assert story["solution"]["size"] == solution.size
    if what == "matching" or engine != "table":  # flows there are not found by weights
        assert sorted(story["solution"][what]) == sorted(map(list, told[what]))
        assert story["solution"]["rounds"] == solution.rounds
    assert solve(JOBS, model="classical").story()["model"]["engine"] is None


def test_a_story_out_of_a_stack_is_that_of_its_graph() -> None:
    adjacency = stack(6, (3, 6, 6))
    solutions = solve_batch(adjacency, engine="table")
    story = solutions[1].story()
    assert story["solution"]["matching"] == [list(pair) for pair in solutions[1].matching or ()]
    own = CellExecutor(proven())
    assert solve_batch(adjacency, engine="table", model=own)[0].retell is None


def test_an_executors_own_network_is_run() -> None:
    solution = solve(JOBS, model=CellExecutor(proven()), engine="table")
    assert (solution.executor, solution.engine, solution.size) == ("CellExecutor", "table", 2)
    for engine in ("plain", "lookup"):
        assert solve(JOBS, model=CellExecutor(proven()), engine=engine).engine == engine
    assert solve(JOBS, model="discrete", engine="table").matching == solve(JOBS).matching
    assert solve(JOBS, model="paper-mpnn", engine="plain").engine == "plain"


class Wrapped:
    """An executor of somebody else's network."""

    def subroutines(self) -> Any:
        return CellExecutor(proven()).subroutines()


def test_what_an_engine_cannot_run_is_refused_in_a_sentence() -> None:
    classical: Any = FORD_FULKERSON.classical["classical"]
    foreign: Any = Wrapped()
    assert solve(JOBS, model=foreign).engine is None
    refused: list[tuple[dict[str, Any], str]] = [
        ({"engine": "warp"}, "'warp' is not one of the engines plain, lookup, fast, table"),
        ({"engine": "table", "model": "paper-mpnn"}, "'paper-mpnn' is none"),
        ({"engine": "table", "model": foreign}, "'Wrapped' is none"),
        ({"engine": "fast", "model": foreign}, "'fast' has no form of Wrapped"),
        ({"engine": "table", "model": "classical"}, "is a form of a network, and classical is"),
        ({"engine": "fast", "model": classical}, "and a tuple of subroutines is none"),
        ({"engine": "table", "model": "oracle"}, "oracle: there is no such checkpoint"),
        ({"engine": "table", "device": "cuda"}, "'table' runs on 'cpu', not on 'cuda'"),
        ({"engine": "cuda", "device": "cpu"}, "'cuda' runs on 'cuda', not on 'cpu'"),
        ({"engine": "table", "model": CellExecutor(untrained())}, "not proven"),
    ]
    for how, message in refused:
        with pytest.raises(InputError, match=message):
            solve(JOBS, **how)
        with pytest.raises(InputError, match=message):
            solve_batch(np.ones((1, 2, 2)), **how)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the CPU stand in for the GPU, so that the way there and back is tested anywhere."""

    def match(engine: Any, adjacency: Any, network: Any) -> Any:
        return ENGINES["table"].match(adjacency, CellExecutor(network))

    monkeypatch.setattr(OnGpu, "_match", match)


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize("engine", ["cuda", "cuda-table"])
def test_graphs_of_many_shapes_go_to_a_gpu_and_come_back_in_order(engine: str) -> None:
    graphs = [graph for graph in mixed() if not isinstance(graph, FlowNetwork)]
    small = [np.eye(3)[::-1], *graphs[:3], *graphs[4:]]  # the shape of the first comes again
    found, expected = (solve_batch(small, engine=name) for name in (engine, "table"))
    assert [one.matching for one in found] == [one.matching for one in expected]
    assert {one.engine for one in found} == {engine}
    assert solve(JOBS, engine=engine, device="cuda:0").is_maximum
    most = {"cuda": 64, "cuda-table": 1024}[engine]
    with pytest.raises(InputError, match=f"at most {most} nodes a side, not {most + 1}"):
        solve_batch([*graphs[:3], np.ones((1, most + 1))], engine=engine)
    if engine == "cuda":
        with pytest.raises(InputError, match=r"'cuda' matches .* graph 1 is a flow network"):
            solve_batch(mixed(), engine=engine)


def test_without_a_gpu_its_engines_say_so() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    for engine in ("cuda", "cuda-table"):
        with pytest.raises(InputError, match=r"CuPy|CUDA device"):
            solve(JOBS, engine=engine)
        with pytest.raises(InputError, match=r"CuPy|CUDA device"):
            solve_batch(np.ones((1, 2, 2)), engine=engine)


@pytest.mark.parametrize("engine", ["table", "auto"])
def test_any_byte_of_a_boolean_array_but_0_is_an_edge(engine: str) -> None:
    rng = np.random.default_rng(7)
    adjacency = rng.random((5, 9, 8)) < 0.3
    octets = (adjacency * rng.integers(1, 256, adjacency.shape, np.uint8)).view(np.bool_)
    expected = solve_batch(adjacency, engine=engine)
    solutions = solve_batch(octets, engine=engine)
    assert [one.matching for one in solutions] == [one.matching for one in expected]
    assert all(one.is_maximum for one in solutions)
    assert solve(octets[0], engine=engine).matching == expected[0].matching
    wide = np.zeros((17, 17), np.bool_)
    wide[:9, 9:] = octets[0]
    assert FlowNetwork.from_dense(wide, 0, 16) == FlowNetwork.from_dense(wide != 0, 0, 16)
