"""A story tells what happens anyway: same decisions, every number in its place, fit for JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augury import BipartiteGraph, FlowNetwork, InputError, __version__, read_graph, solve
from augury.algorithms import executor
from augury.algorithms.executor import CellExecutor
from augury.cells.network import Evaluated
from augury.classical import generate
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    BELLMAN_FORD,
    BREADTH_FIRST,
    Round,
    Settings,
    Subroutines,
    Verdict,
    ford_fulkerson,
)
from augury.models.checkpoint import MODELS, executor_of, find, load, save
from augury.paper import executor as execute
from augury.watch import Story, watch
from documents import ROOT
from graphs import BOTH_WAYS, BRIDGE, JOBS, NO_ARCS, NOTHING, STAR, STRAIGHT
from proven import DISCRETE, untrained
from tiny import neural, tiny_config

RNG = np.random.default_rng(5)
GRAPHS: dict[str, Any] = {
    "jobs": JOBS,
    "star": STAR,
    "nothing": NOTHING,
    "bridge": BRIDGE,
    "straight": STRAIGHT,
    "both ways": BOTH_WAYS,
    "no arcs": NO_ARCS,
    "sparse": generate.sparse(RNG, 12),
    "dense": generate.uniform(RNG, 7, 9, p=0.5),
    "flow": generate.flow(RNG, 10, 30, 1, 120),
    "paper fails": read_graph(ROOT / "examples" / "paper_fails.csv"),
}
SHIPPED = sorted(path.stem for path in MODELS.glob("*.safetensors"))
CLASSICAL = {"classical": BREADTH_FIRST, "bellman-ford": BELLMAN_FORD}
MODELS_AND_CODE = [*SHIPPED, *CLASSICAL]

every_model = pytest.mark.parametrize("model", MODELS_AND_CODE)
HOW = [(name, bool(place % 2)) for place, name in enumerate(GRAPHS)]
"""Every graph, with one path a round or many in turn."""
FEW = [HOW[1], *HOW[3:5], *HOW[8:10]]
"""What the paper's networks are watched on, which take longest: matchings and flows."""


@cache
def told(name: str, model: str | None, many_paths: bool = False, exact: bool = True) -> Story:
    return watch(GRAPHS[name], model=model, many_paths=many_paths, exact=exact)


def network_of(graph: BipartiteGraph | FlowNetwork) -> FlowNetwork:
    return graph if isinstance(graph, FlowNetwork) else FlowNetwork.from_bipartite(graph)


def unobserved(model: str, **choices: bool) -> Subroutines:
    if model in CLASSICAL:
        return CLASSICAL[model]
    return replace(executor_of(load(find(model)).network), **choices).subroutines()


def assert_same(story: Story, rounds: list[Round]) -> None:
    """Compare every decision of the model's own rounds."""
    own = story["rounds"][: len(rounds)]
    assert len(own) == len(rounds)
    for seen, real in zip(own, rounds, strict=True):
        assert seen["weights"] == real.weights.tolist()
        assert seen["residual"] == real.residual.tolist()
        assert seen["steps"][-1]["parent"] == real.tree.arc.tolist()
        assert [arc for path in seen["paths"] for arc in path["arcs"]] == real.tried.arcs.tolist()
        assert [path["proposed"] for path in seen["paths"]] == real.proposed.tolist()
        applied = [path for path in seen["paths"] if path["verdict"] == "applied"]
        assert [arc for path in applied for arc in path["arcs"]] == real.paths.arcs.tolist()
        assert [path["bottleneck"] for path in applied] == real.bottleneck.tolist()
        assert seen["after"] == real.after.tolist()
        verdict = Verdict(real.verdict[0])
        assert seen["verdict"] == verdict.name.lower().replace("_", " ")
        assert seen["says_done"] == (verdict == Verdict.DONE)


@every_model
def test_who_is_watched_decides_as_if_alone(model: str) -> None:
    for name, many_paths in FEW if model.startswith("paper") else HOW:
        batch = Batch.of([network_of(GRAPHS[name])])
        settings, rng = Settings(many_paths=many_paths), np.random.default_rng(0)
        rounds = list(ford_fulkerson(batch, unobserved(model), [rng], settings))
        assert_same(told(name, model, many_paths), rounds)  # and what follows is another's


@pytest.mark.parametrize("model", ["discrete", "paper-mpnn"])
@pytest.mark.parametrize(("bottleneck", "augmentation"), [(False, True), (True, False)])
def test_each_choice_reaches_the_run(model: str, bottleneck: bool, augmentation: bool) -> None:
    choices: dict[str, Any] = {
        "neural_bottleneck": bottleneck,
        "neural_augmentation": augmentation,
    }
    story = watch(GRAPHS["sparse"], model=model, exact=False, seed=4, **choices)
    batch, rng = Batch.of([network_of(GRAPHS["sparse"])]), np.random.default_rng(4)
    assert_same(story, list(ford_fulkerson(batch, unobserved(model, **choices), [rng])))
    assert story["model"].items() >= ({"seed": 4} | choices).items()
    paths = [path for round_ in story["rounds"] for path in round_["paths"]]
    assert {path["belief"] is not None for path in paths} == {bottleneck}


@pytest.mark.parametrize("model", ["discrete", "paper-mpnn"])
def test_a_threshold_leaves_only_the_search_to_the_network(model: str) -> None:
    story = watch(GRAPHS["sparse"], model=model, exact=False, termination="3")
    batch, rng = Batch.of([network_of(GRAPHS["sparse"])]), np.random.default_rng(0)
    choices = dict.fromkeys(
        ("asks_reachability", "neural_bottleneck", "neural_augmentation"), False
    )
    rounds = list(ford_fulkerson(batch, unobserved(model, **choices), [rng], Settings(3)))
    assert_same(story, rounds)
    assert story["model"]["termination"] == "3"
    assert story["model"]["neural_bottleneck"] is False
    assert story["rounds"][-1]["verdict"] == "gave up"
    assert all(round_["reach"] is None for round_ in story["rounds"])


def is_number(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int | float) and low <= value <= high


def maybe(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_right(value)


def all_are(values: list[Any], count: int, is_right: Callable[[Any], bool]) -> bool:
    return isinstance(values, list) and len(values) == count and all(map(is_right, values))


@every_model
def test_every_field_is_there_and_in_range(model: str) -> None:
    for name, many_paths in HOW:
        check_story(told(name, model, many_paths), name, model, many_paths)


def check_story(story: Story, name: str, model: str, many_paths: bool) -> None:
    assert json.loads(json.dumps(story, allow_nan=False)) == story
    keys = {"format", "version", "augury", "algorithm", "graph", "model", "rounds", "solution"}
    assert set(story) == keys
    head = "augury-story", 1, __version__, "ford-fulkerson"
    assert tuple(story[key] for key in ("format", "version", "augury", "algorithm")) == head
    check_graph(story["graph"], GRAPHS[name])
    is_paper = story["model"]["kind"] == "paper"
    assert story["model"] == {
        "name": model,
        "kind": "paper" if is_paper else "classical" if model in CLASSICAL else "discrete",
        "state": "distance" if is_paper or model == "bellman-ford" else "reached",
        "termination": "bfs",
        "neural_bottleneck": model in SHIPPED,
        "neural_augmentation": model in SHIPPED,
        "infinity": 255 if is_paper or model == "bellman-ford" else None,
        "engine": "plain" if model in SHIPPED else None,
        "many_paths": many_paths,
        "seed": 0,
    }
    assert is_paper == model.startswith("paper")
    for number, round_ in enumerate(story["rounds"]):
        assert round_["number"] == number
        check_round(round_, story)
    for before, after in pairwise(story["rounds"]):
        assert before["after"] == after["residual"]
    assert story["rounds"][0]["residual"] == [arc[2] for arc in story["graph"]["arcs"]]
    assert story["solution"]["size"] == story["rounds"][-1]["value"]
    assert story["solution"]["is_maximum"]


def check_graph(told: dict[str, Any], graph: BipartiteGraph | FlowNetwork) -> None:
    network = network_of(graph)
    assert set(told) == {"kind", "nodes", "arcs"}
    assert told["arcs"] == [
        list(arc)
        for arc in zip(
            *(x.tolist() for x in (network.sender, network.receiver, network.capacity)),
            strict=True,
        )
    ]
    named = [(node["label"], node["role"]) for node in told["nodes"]]
    assert named[network.source][1] == "source"
    assert named[network.sink][1] == "sink"
    if isinstance(graph, BipartiteGraph):
        left = [(graph.left_label(node), "left") for node in range(graph.num_left)]
        right = [(graph.right_label(node), "right") for node in range(graph.num_right)]
        assert told["kind"] == "matching"
        assert named[1:-1] == left + right
    else:
        assert told["kind"] == "flow"
        assert [label for label, _ in named] == list(map(graph.label, range(graph.num_nodes)))
        assert {role for _, role in named} <= {"source", "sink", "node"}


def check_round(round_: dict[str, Any], story: Story) -> None:
    arcs, nodes = story["graph"]["arcs"], story["graph"]["nodes"]
    keys = "number by state weights residual steps reach says_done truth paths after value verdict"
    assert set(round_) == set(keys.split())
    own = story["model"]["name"], story["model"]["state"]
    assert (round_["by"], round_["state"]) in (own, ("classical", "reached"))
    assert all_are(round_["weights"], len(arcs), is_number(1, 15))
    assert all_are(round_["residual"], len(arcs), is_number(0, 2**63))
    for number, step in enumerate(round_["steps"]):
        check_step(step, number, round_, story)
    assert (round_["reach"] is not None) == (round_["by"].startswith("paper"))
    for number, step in enumerate(round_["reach"] or []):
        assert set(step) == {"state", "goes_on"}
        assert all_are(step["state"], len(nodes), lambda bit: bit in (0, 1))
        assert is_number(0, 1)(step["goes_on"]) if number else step["goes_on"] is None
    if round_["reach"]:
        assert [role_of(story, v) for v, bit in enumerate(round_["reach"][0]["state"]) if bit] == [
            "source"
        ]
    assert list(round_["truth"]) == ["reachable"]
    check_paths(round_, story)
    assert isinstance(round_["says_done"], bool)
    ends = {"goes on", "done", "gave up", "wrong bottleneck", "wrong augmentation"}
    assert round_["verdict"] in ends


def role_of(story: Story, node: int) -> str:
    return story["graph"]["nodes"][node]["role"]


def check_step(step: dict[str, Any], number: int, round_: dict[str, Any], story: Story) -> None:
    arcs, nodes = story["graph"]["arcs"], story["graph"]["nodes"]
    assert set(step) == {"state", "parent", "belief", "goes_on"}
    high = 1 if round_["state"] == "reached" else 254
    is_state = is_number(0, high) if high == 1 else maybe(is_number(0, high))
    assert all_are(step["state"], len(nodes), is_state)
    assert all_are(step["parent"], len(nodes), is_number(-1, len(arcs) - 1))
    assert all_are(step["belief"], len(arcs), maybe(is_number(0, 1)))
    assert all(x is None or round(x, 4) == x for x in step["belief"])
    source = next(v for v in range(len(nodes)) if role_of(story, v) == "source")
    if number == 0:
        nothing = 0 if round_["state"] == "reached" else None
        at_source = 1 if round_["state"] == "reached" else 0
        assert step["state"] == [at_source if v == source else nothing for v in range(len(nodes))]
        assert set(step["parent"]) == {-1}
        assert set(step["belief"]) <= {None}
        assert step["goes_on"] is None
    else:
        assert is_number(0, 1)(step["goes_on"])
        assert (step["goes_on"] >= 0.5) == (number < len(round_["steps"]) - 1) or (
            number == len(nodes) - 1  # as many as there may be
        )
    total = [0.0] * len(nodes)
    for (_, receiver, _), belief in zip(arcs, step["belief"], strict=True):
        total[receiver] += belief or 0
    assert max(total) <= 1.01
    for node, arc in enumerate(step["parent"]):
        own = [step["belief"][a] for a in range(len(arcs)) if arcs[a][1] == node]
        if arc >= 0:  # a node takes the arc that it believes in most
            assert arcs[arc][1] == node != source
            assert step["belief"][arc] == max(own)
        elif node == source or round_["state"] == "reached":
            assert set(own) <= {None}


def check_paths(round_: dict[str, Any], story: Story) -> None:
    arcs = story["graph"]["arcs"]
    after = list(round_["residual"])
    if story["model"]["many_paths"] is False:
        assert len(round_["paths"]) <= 1
    for path in round_["paths"]:
        keys = {"arcs", "belief", "proposed", "bottleneck", "before", "kept", "verdict"}
        assert set(path) == keys
        ends = [arcs[arc][:2] for arc in path["arcs"]]
        assert role_of(story, ends[0][0]) == "source"
        assert role_of(story, ends[-1][1]) == "sink"
        assert all(one[1] == next_[0] for one, next_ in pairwise(ends))
        assert path["before"] == [round_["residual"][arc] for arc in path["arcs"]]
        assert path["bottleneck"] == min(path["before"])
        check_bottleneck(path, round_, story)
        assert path["kept"] is None or len(path["kept"]) == len(path["arcs"])
        if path["verdict"] == "applied":
            assert path["kept"] == [x - path["bottleneck"] for x in path["before"]]
            for arc in path["arcs"]:
                after[arc] -= path["bottleneck"]
                after[arc ^ 1] += path["bottleneck"]
    assert after == round_["after"]
    source = next(v for v in range(len(story["graph"]["nodes"])) if role_of(story, v) == "source")
    out = [arc for arc in range(len(arcs)) if arcs[arc][0] == source]
    assert round_["value"] == sum(arcs[arc][2] - after[arc] for arc in out)


def check_bottleneck(path: dict[str, Any], round_: dict[str, Any], story: Story) -> None:
    """What the executor believes is what it proposes."""
    if round_["by"] in CLASSICAL:
        assert path["belief"] is None
        return
    assert all_are(path["belief"], len(path["arcs"]), is_number(0, 1))
    if story["model"]["kind"] == "paper":
        assert sum(path["belief"]) == pytest.approx(1, abs=0.01)
        likely = max(path["belief"])
        chosen = [x for x, p in zip(path["before"], path["belief"], strict=True) if p == likely]
        assert path["proposed"] in chosen
    else:
        is_likely = [belief > 0.5 for belief in path["belief"]]
        assert is_likely == [x == path["proposed"] for x in path["before"]]


@pytest.mark.parametrize("model", CLASSICAL)
def test_classical_searches_are_told_as_they_go(model: str) -> None:
    for name in GRAPHS:
        for round_ in told(name, model)["rounds"]:
            arcs = told(name, model)["graph"]["arcs"]
            for before, step in pairwise(round_["steps"]):
                for node, arc in enumerate(step["parent"]):
                    if arc < 0 or step["parent"][node] == before["parent"][node]:
                        continue
                    sender = before["state"][arcs[arc][0]]
                    assert round_["residual"][arc] > 0
                    if model == "classical":
                        assert (sender, before["state"][node], step["state"][node]) == (1, 0, 1)
                    else:
                        assert step["state"][node] == min(sender + round_["weights"][arc], 254)
                assert set(step["belief"]) <= {None, 0, 1}


@pytest.mark.parametrize("model", [*SHIPPED, "classical"])
def test_truth_is_whether_a_path_exists(model: str) -> None:
    for name, many_paths in HOW:
        rounds = told(name, model, many_paths)["rounds"]
        sizes = [round_["value"] for round_ in rounds]
        # Every run is finished: a path existed exactly while the flow was not yet the maximum.
        before = [0, *sizes[:-1]]
        assert [r["truth"]["reachable"] for r in rounds] == [x < sizes[-1] for x in before]


@pytest.fixture
def made(tmp_path: Path) -> Callable[[Any, Any], str]:
    def write(network: Any, config: Any) -> str:
        save(tmp_path / "made.safetensors", network.state_dict(), config, {})
        return str(tmp_path / "made.safetensors")

    return write


def test_untrained_networks_are_told_with_all_their_mistakes(
    made: Callable[[Any, Any], str],
) -> None:
    seen: set[str] = set()
    verdicts: set[str] = set()
    config = tiny_config("paper-mpnn", "network.heads=2")
    for seed in range(4):
        for network, its_own in ((neural(seed=seed), config), (untrained(seed), DISCRETE)):
            path = made(network, its_own)
            for name in ("bridge", "dense", "straight"):
                for many_paths in (False, True):
                    story = watch(GRAPHS[name], model=path, many_paths=many_paths)
                    assert story["model"]["name"] == its_own.name
                    assert story["solution"]["is_maximum"]
                    assert story["rounds"][-1]["by"] in ("classical", its_own.name)
                    for before, after in pairwise(story["rounds"]):
                        assert before["after"] == after["residual"]
                    for round_ in story["rounds"]:
                        check_faults(round_)
                        seen |= {path["verdict"] for path in round_["paths"]}
                        verdicts.add(round_["verdict"])
    for round_ in told("paper fails", "paper-mpnn")["rounds"]:  # this one knows a full arc
        check_faults(round_)
        seen |= {path["verdict"] for path in round_["paths"]}
    assert seen >= {"applied", "has a full arc", "wrong bottleneck", "wrong augmentation"}
    assert verdicts >= {"goes on", "done", "gave up", "wrong bottleneck", "wrong augmentation"}


def check_faults(round_: dict[str, Any]) -> None:
    """Every verdict on a path follows from its numbers, and the round's from those on its paths."""
    verdicts = [path["verdict"] for path in round_["paths"]]
    for path in round_["paths"]:
        right = [x - path["bottleneck"] for x in path["before"]]
        is_right = {
            "applied": path["proposed"] == path["bottleneck"] > 0 and path["kept"] == right,
            "has a full arc": path["proposed"] == path["bottleneck"] == 0 and path["kept"] is None,
            "wrong bottleneck": path["proposed"] != path["bottleneck"] and path["kept"] is None,
            "wrong augmentation": path["kept"] not in (None, right),
            "not applied": any(verdict.startswith("wrong") for verdict in verdicts),
        }
        assert is_right[path["verdict"]]
    for wrong in ("wrong bottleneck", "wrong augmentation"):
        assert (round_["verdict"] == wrong) == (wrong in verdicts)


def test_a_discrete_bottleneck_is_as_likely_as_all_its_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def four_to_one(self: Any, cell: Any, own: Any, heard: Any) -> Any:
        said = sets(self, cell, own, heard)
        return said if cell.name == "flood" else np.full_like(said, math.log(4))

    sets = Evaluated.sets
    monkeypatch.setattr(Evaluated, "sets", four_to_one)
    [path] = watch(BRIDGE)["rounds"][0]["paths"]  # capacities up to 3: two bits
    assert set(path["belief"]) == {0.64}


def test_one_wrong_path_keeps_the_others_from_being_applied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = CellExecutor.augment

    def augment(self: Any, *rest: Any) -> Any:
        kept = right(self, *rest)
        kept[:1] += 1
        return kept

    monkeypatch.setattr(CellExecutor, "augment", augment)
    story = watch(GRAPHS["dense"], many_paths=True)
    first = story["rounds"][0]
    verdicts = [path["verdict"] for path in first["paths"]]
    assert verdicts == ["wrong augmentation", *["not applied"] * (len(verdicts) - 1)]
    assert len(verdicts) > 1
    assert (first["verdict"], first["after"]) == ("wrong augmentation", first["residual"])
    assert [round_["by"] for round_ in story["rounds"][1:]] == ["classical"] * (
        len(story["rounds"]) - 1
    )
    assert story["solution"]["is_maximum"]
    assert story["solution"]["ending"] == "wrong augmentation"


@pytest.mark.parametrize("engine", ["auto", "plain", "table"])
@pytest.mark.parametrize("model", ["discrete", "paper-mpnn", "classical"])
def test_one_graph_one_seed_one_story(model: str, engine: str) -> None:
    """What `solve` says of a run is what its story, page and file tell of it."""
    if engine != "auto" and model != "discrete":
        pytest.skip("a form of the discrete network")
    for name, seed in (("dense", 0), ("dense", 5), ("paper fails", 1)):
        solved = solve(GRAPHS[name], model=model, engine=engine, seed=seed)
        story = solved.story()
        own, said = story["solution"], json.loads(json.dumps(solved.to_dict()))
        assert own == said
        fruitful = [
            round_
            for round_ in story["rounds"]
            if any(path["verdict"] == "applied" for path in round_["paths"])
        ]
        assert len(fruitful) == solved.rounds
        assert story["model"]["many_paths"] and story["model"]["seed"] == seed


def test_the_solution_is_the_solvers() -> None:
    for name, graph in GRAPHS.items():
        own = told(name, None, many_paths=True)["solution"]
        solved = solve(graph, engine="plain").to_dict()
        what = "flow" if isinstance(graph, FlowNetwork) else "matching"
        keys = ("size", "is_maximum", what, "ending", "certificate")
        assert {key: own[key] for key in keys} == {
            key: json.loads(json.dumps(solved[key])) for key in keys
        }


def test_the_papers_network_fails_on_the_shipped_example_and_the_discrete_one_does_not() -> None:
    failed = told("paper fails", "paper-mpnn", exact=False)
    right = told("paper fails", "discrete", exact=False)
    assert right["solution"]["is_maximum"]
    assert right["rounds"][-1]["verdict"] == "done"
    assert failed["solution"]["certificate"]["shortfall"] == 1
    # A path is left, the network knows it, and ten searches in a row do not find it.
    assert failed["solution"]["ending"] == "gave up"
    last = failed["rounds"][-10:]
    assert all(round_["truth"]["reachable"] and not round_["says_done"] for round_ in last)
    assert not any(path["verdict"] == "applied" for round_ in last for path in round_["paths"])


def test_an_early_end_is_finished_by_classical_search_and_only_with_exact() -> None:
    failed = told("paper fails", "paper-mpnn", exact=False)
    finished = told("paper fails", "paper-mpnn")
    count = len(failed["rounds"])
    assert finished["rounds"][:count] == failed["rounds"]
    more = finished["rounds"][count:]
    assert [(round_["by"], round_["state"]) for round_ in more] == [("classical", "reached")] * 2
    assert [round_["verdict"] for round_ in more] == ["goes on", "done"]
    assert finished["solution"]["is_maximum"]
    assert finished["solution"]["ending"] == "gave up"
    whole = told("paper fails", "discrete")
    assert {round_["by"] for round_ in whole["rounds"]} == {"discrete"}


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="oracle: there is no such checkpoint"):
        watch(JOBS, model="oracle")
    for termination in ("dfs", "0", "-1", ""):
        with pytest.raises(InputError, match="not 'bfs' or a number such as 5"):
            watch(JOBS, termination=termination)
    with pytest.raises(InputError, match="beyond this network's range"):
        watch(generate.flow(np.random.default_rng(0), 5, 9, 300, 400), model="paper-mpnn")


def test_a_story_too_long_to_tell_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in MODELS_AND_CODE:
        rounds = told("jobs", model)["rounds"]
        own = sum(len(round_["steps"]) - 1 for round_ in rounds)
        own += sum(len(round_["reach"] or [0]) - 1 for round_ in rounds)
        watch(JOBS, model=model, max_steps=own)
        with pytest.raises(InputError, match=f"more than {own - 1} steps, too many to tell"):
            watch(JOBS, model=model, max_steps=own - 1)
    monkeypatch.setattr("augury.algorithms.story.MAX_NUMBERS", 100)
    with pytest.raises(InputError, match="too long to tell: over 5 steps on 6 nodes and 14 arcs"):
        watch(JOBS)


def test_labels_that_json_does_not_know_become_text() -> None:
    graph = BipartiteGraph.from_edges([((1, 2), None), ("b", 3.5)])
    story = watch(graph)
    assert [node["label"] for node in story["graph"]["nodes"][1:-1]] == ["(1, 2)", "b", None, 3.5]
    assert story["solution"]["matching"] == [["(1, 2)", None], ["b", 3.5]]
    json.dumps(story)


def test_nothing_is_computed_for_an_observer_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("nobody watches")

    for module in (execute, executor):
        monkeypatch.setattr(module, "beliefs", refuse)
    for model in SHIPPED:
        rng = np.random.default_rng(0)
        assert list(ford_fulkerson(Batch.of([BRIDGE]), unobserved(model), [rng]))
        with pytest.raises(AssertionError, match="nobody watches"):
            watch(BRIDGE, model=model)


def test_the_document_names_every_field() -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    block = text.partition("## Stories")[2].partition("```text")[2].partition("```")[0]
    story = told("jobs", "paper-mpnn")
    round_ = story["rounds"][0]
    parts = [story, story["graph"], story["graph"]["nodes"][0], story["model"], round_]
    parts += [round_["steps"][0], round_["reach"][0], round_["truth"], round_["paths"][0]]
    names = {name for part in parts for name in part}
    assert {name for name in names if f'"{name}"' not in block} == set()


@pytest.mark.parametrize("seed", [1.5, -1, None, "one"])
def test_a_seed_that_is_none_is_refused(seed: Any) -> None:
    with pytest.raises(InputError, match="the seed is"):
        watch(BRIDGE, seed=seed)
