"""The second algorithm: the same cells, another programme, from a file to a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given

from augury import FlowNetwork, InputError, solve, solve_batch
from augury.algorithms import ALGORITHMS
from augury.algorithms.executor import CellExecutor
from augury.algorithms.reachability import REACHABILITY, judge
from augury.apps import cli
from augury.classical.ford_fulkerson import Subroutines, Tree
from augury.config import preset, with_settings
from augury.experiments.conditions import Condition, Extent
from augury.experiments.evaluate import evaluate, load_models
from augury.experiments.records import Part, RecordsFile, read_records
from augury.experiments.summary import summarise, table_rows
from augury.models.checkpoint import load
from augury.training.trainer import train
from augury.verify import verify
from augury.watch import watch
from graphs import JOBS, NETWORKS, networks
from proven import proven, untrained

REACH: dict[str, Any] = {"algorithm": "reachability"}
ARCS = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("c", "e")]


def told(network: FlowNetwork, **how: Any) -> dict[Any, tuple[int, Any]]:
    solution = solve(network, **REACH, **how)
    assert solution.is_maximum and solution.reached is not None
    return {node: (steps, came) for node, steps, came in solution.reached}


@given(networks())
def test_steps_are_those_of_networkx_and_every_predecessor_is_one_nearer(
    network: FlowNetwork,
) -> None:
    graph, source = network.to_networkx(), network.label(network.source)
    expected = nx.single_source_shortest_path_length(graph, source)
    for how in ({}, {"engine": "plain"}, {"model": "classical"}):
        found = told(network, **how)
        assert {node: steps for node, (steps, _) in found.items()} == expected
        for node, (steps, came) in found.items():
            assert (came is None) == (node == source)
            assert came is None or (graph.has_edge(came, node) and found[came][0] == steps - 1)


def test_graphs_side_by_side_are_solved_as_if_alone() -> None:
    graphs = list(NETWORKS.values())
    solutions = solve_batch(graphs, **REACH)
    assert [one.reached for one in solutions] == [solve(g, **REACH).reached for g in graphs]
    assert all(one.is_maximum and one.noun == "reached" for one in solutions)
    assert repr(solutions[0]).startswith(f"Solution({solutions[0].size} reached, maximum, 1 round")


@pytest.mark.parametrize(
    "graph",
    [
        ARCS,
        [(*arc, 3) for arc in ARCS],
        nx.DiGraph(ARCS),
        FlowNetwork.from_labelled_arcs([(*arc, 1) for arc in ARCS], "d", "e"),
    ],
    ids=["pairs", "triples", "networkx", "network"],
)
def test_a_source_is_enough(graph: Any) -> None:
    solution = solve(graph, **REACH, source="a")
    assert solution.reached == [("a", 0, None), ("b", 1, "a"), ("c", 2, "b"), ("e", 3, "c")]
    assert solution.to_dict()["reached"][1] == ["b", 1, "a"]


def test_an_undirected_graph_is_walked_both_ways_and_arrays_have_numbers() -> None:
    assert solve(nx.path_graph(3), **REACH, source=2).size == 3
    matrix = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    assert solve(matrix, **REACH, source=0).reached == [(0, 0, None), (1, 1, 0)]


def test_what_it_cannot_do_is_refused_in_a_sentence() -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"model": "paper-mpnn", "source": "a"}, "executes ford-fulkerson, not reachability"),
        ({"model": "bellman-ford", "source": "a"}, "no such checkpoint"),
        ({"engine": "table", "source": "a"}, "'table' has no form of reachability"),
        ({"source": "z"}, "'z'"),
    ]
    for how, message in refused:
        with pytest.raises(InputError, match=message):
            solve(ARCS, **REACH, **how)
    with pytest.raises(InputError, match="takes a FlowNetwork, not a BipartiteGraph"):
        solve(np.eye(3), **REACH)
    with pytest.raises(InputError, match="'flood' is not one of the algorithms ford-fulk"):
        solve(ARCS, algorithm="flood")


def test_a_story_of_what_cannot_run_is_refused_as_a_run_is() -> None:
    network = next(iter(NETWORKS.values()))
    with pytest.raises(InputError, match="executes ford-fulkerson, not reachability"):
        watch(network, **REACH, model="paper-mpnn")
    with pytest.raises(InputError, match="takes a FlowNetwork, not a BipartiteGraph"):
        watch(JOBS, **REACH)
    with pytest.raises(InputError, match="'flood' is not one of the algorithms"):
        watch(network, algorithm="flood")


def lying(arc: int) -> Subroutines:
    """An executor that points every node at this arc."""
    search = lambda batch, *_: Tree(np.full(batch.num_nodes, arc, np.int32))  # noqa: E731
    return REACHABILITY.classical["classical"]._replace(search=search)


@pytest.mark.parametrize("arc", [-1, 0, 3, 999])
def test_no_lie_is_called_proven_and_exact_finishes_the_run(arc: int) -> None:
    network = FlowNetwork.from_labelled_arcs([(*pair, 1) for pair in ARCS], "a", "e")
    alone = solve(network, **REACH, model=lying(arc), exact=False)
    assert (alone.is_maximum, alone.ending, alone.rounds) == (False, "wrong search", 0)
    assert alone.certificate.is_legal and alone.size < 4
    finished = solve(network, **REACH, model=lying(arc))
    assert (finished.is_maximum, finished.classical_rounds) == (True, 1)
    [run] = judge([network], lying(arc), [np.random.default_rng(0)])
    assert run.wrong["search"] > 0 and run.wrong["reach"] > 0 and not run.is_right


def test_the_proof_needs_two_cells_and_finds_a_wrong_one() -> None:
    proof = verify(proven(), algorithm=REACHABILITY)
    assert proof.is_proven
    assert [part.name for part in proof.parts] == ["flood reached", "flood changed", "nearest"]
    assert "every directed graph" in proof.conclusion
    wrong = proven()
    with torch.no_grad():
        wrong["flood"].get_parameter("head.bias").add_(1000)
    failed = verify(wrong, algorithm=REACHABILITY)
    assert not failed.is_proven and "wrong" in failed.counterexample
    with torch.no_grad():  # what it does not need may be wrong
        harmless = proven()
        harmless["subtract"].get_parameter("head.bias").add_(1000)
    assert verify(harmless, algorithm=REACHABILITY).is_proven
    assert not verify(harmless).is_proven


@pytest.mark.parametrize("model", ["discrete", "classical"])
def test_a_story_tells_every_step(model: str) -> None:
    network = FlowNetwork.from_labelled_arcs([(*pair, 1) for pair in ARCS], "a", "d")
    story = watch(network, **REACH, model=model)
    [round_] = story["rounds"]
    reached = [sum(step["state"]) for step in round_["steps"]]
    assert reached[:4] == [1, 2, 3, 4] and set(reached[4:]) <= {4}
    assert story["algorithm"] == "reachability"
    roles = {node["label"]: node["role"] for node in story["graph"]["nodes"]}
    assert roles == {"a": "source", "b": "node", "c": "node", "d": "node", "e": "node"}
    assert story["solution"]["reached"] == [
        list(row) for row in solve(network, **REACH).reached or []
    ]
    assert solve(network, **REACH, model=model).story()["rounds"][0]["steps"] == round_["steps"]


def test_an_untrained_network_never_claims_what_is_not_so() -> None:
    for network in NETWORKS.values():
        solution = solve(network, **REACH, model=CellExecutor(untrained()), exact=False)
        right = solve(network, **REACH, model="classical")
        assert solution.is_maximum == (solution.size == right.size)


@pytest.mark.parametrize("command", ["solve", "evaluate", "verify"])
def test_help_names_every_algorithm(command: str) -> None:
    shown: list[Any] = [one for one in cli.command(command).params if one.name == "algorithm"]
    assert [name for name in ALGORITHMS if name not in shown[0].help] == []


def test_an_unknown_algorithm_is_no_configuration(tmp_path: Path) -> None:
    config = with_settings(preset("discrete"), ["network.algorithm=sorting"])
    with pytest.raises(InputError, match="'sorting' is not one of the algorithms ford-fulkerson"):
        train(config, [0], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_every_algorithm_says_what_it_is() -> None:
    for name, row in ALGORITHMS.items():
        assert name == row.name and row.cells and row.classical and row.problem
        assert "learnt are" in row.theorem.format(bits=8)


def test_it_is_trained_and_evaluated_by_its_cells_alone(tmp_path: Path) -> None:
    few = ["train_graphs=40", "validation_graphs=10"]
    settings = ["network.algorithm=reachability", "training.max_epochs=8", "training.patience=7"]
    config = with_settings(preset("discrete"), [*settings, *(f"data.{one}" for one in few)])
    train(config, [0], tmp_path / "run", say=lambda _: None)
    loaded = load(tmp_path / "run" / "seed-0" / "best.safetensors")
    assert set(loaded.network) == {"flood", "nearest"}
    [reached, changed, _] = verify(loaded.network, False, REACHABILITY).parts
    assert reached.is_proven and changed.is_proven  # the third needs more than these few graphs
    with pytest.raises(InputError, match="no cell 'least', which ford-fulkerson needs"):
        verify(loaded.network)
    [model] = load_models([str(tmp_path / "run")], "cpu")
    condition = Condition(2, algorithm="reachability")
    runs = evaluate(model, condition, Extent(5, 2))
    assert runs.asked["search"] > 0 and runs.wrong["reach"] == 0
    with pytest.raises(InputError, match="executes reachability, not ford-fulkerson"):
        evaluate(model, Condition(2), Extent(5, 2))
    for other in load_models(["classical", "discrete"], "cpu"):
        assert evaluate(other, condition, Extent(3, 1)).accuracy == 1
    part = Part("mine", 0, 3, condition, Extent(5, 2))
    path = tmp_path / "records.jsonl"
    RecordsFile(path).add(part, runs)
    assert list(read_records(path).parts) == [part]
    assert "reachability" in table_rows(summarise(read_records(path).parts))[0]
