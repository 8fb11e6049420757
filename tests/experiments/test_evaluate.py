"""`augury evaluate`: records that can be continued, and the arithmetic of tables made from them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
import pytest
import torch

from augury.apps import cli
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import (
    BELLMAN_FORD,
    Tree,
    WeightArray,
    bellman_ford_search,
)
from augury.classical.generate import uniform
from augury.classical.graph import WideArray
from augury.classical.network import FlowNetwork
from augury.classical.simulate import DECISIONS
from augury.config import Config, DataConfig, NetworkConfig
from augury.errors import InputError
from augury.experiments import evaluate as module
from augury.experiments.evaluate import Condition, Model, evaluate, evaluate_all, load_models
from augury.experiments.records import Extent, read_records, summarise, table_rows
from augury.models.checkpoint import save
from augury.models.kinds import make_network
from augury.neural.batch import training_data
from command import Augury, runner

SMALL = ["--scales", "1,2", "--graphs", "3", "--runs", "2"]
EXTENT = Extent(graphs=3, runs=2)
NAME = "paper-mpnn (hidden=8)"
"""What the networks here are called."""


def write_network(path: Path, seed: int, initial: int | None = None) -> None:
    """Write an untrained network: its runs are short, and mostly wrong."""
    config = Config(preset="paper-mpnn", network=NetworkConfig(hidden=8))
    generator = torch.Generator().manual_seed(seed if initial is None else initial)
    network = make_network(config.network, generator=generator)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, network.state_dict(), config, {"seed": seed})


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    """Run main() as the shell would, in a folder that holds a run of two seeds."""
    monkeypatch.chdir(tmp_path)
    for seed in range(2):
        write_network(Path(f"run/seed-{seed}/best.safetensors"), seed)

    return runner(monkeypatch, capfd, "evaluate")


def test_the_classical_executor_is_always_right(augury: Augury) -> None:
    code, out, err = augury(
        "classical", *SMALL, "--p", "1/4,3/n", "--termination", "bfs,3", "--json"
    )
    assert (code, err) == (0, "")
    told = [json.loads(line) for line in out.splitlines()]
    assert [
        (condition["scale"], condition["p"], condition["termination"]) for condition in told
    ] == [(scale, p, end) for p in ("1/4", "3/n") for end in ("bfs", "3") for scale in (1, 2)]
    for condition in told:
        assert (condition["accuracy"], condition["std"], condition["flow_error"]) == (1.0, 0.0, 0.0)
        assert (condition["graphs"], condition["runs"], condition["seeds"]) == (3, 2, 1)
        assert condition["search_asked"] > 0 == condition["search_wrong"]
        assert condition["endings"] == {"done": 6}


def test_a_table_made_from_records_is_that_of_the_run(augury: Augury) -> None:
    done = augury("run", "classical", *SMALL, "--out", "records.jsonl")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) == 1 + 2 * 2
    assert lines[0].split()[:3] == ["model", "scale", "p"]
    assert len({line.index("1/4") for line in lines[1:]}) == 1
    assert "\x1b" not in done.out
    assert augury("--from", "records.jsonl") == done
    as_json = augury("run", "classical", *SMALL, "--json", "--out", "records.jsonl")
    assert augury("--from", "records.jsonl", "--json") == as_json


def test_a_file_holds_a_header_and_every_record_once(augury: Augury) -> None:
    augury("run", *SMALL, "--seed", "4", "--out", "records.jsonl")
    head, *rows = map(json.loads, Path("records.jsonl").read_text().splitlines())
    assert (head["kind"], head["graphs"], head["runs"], head["seed"]) == ("augury-records", 3, 2, 4)
    assert {"version", "commit"} <= set(head)
    places = {(r["model_seed"], r["scale"], r["run"], r["graph"]) for r in rows}
    assert len(places) == len(rows) == 2 * 2 * 2 * 3
    assert all(row["value"] <= row["maximum"] for row in rows)


@pytest.mark.parametrize("cut", ["in a line", "after a line", "in the first part"])
def test_a_stopped_evaluation_does_only_what_is_missing(
    augury: Augury, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    whole = augury("run", *SMALL, "--out", "records.jsonl")
    text = Path("records.jsonl").read_text()
    lines = text.splitlines(keepends=True)
    kept, missing = {
        "in a line": ("".join(lines[:20])[:-9], 1),  # 6 records a part: three whole parts
        "after a line": ("".join(lines[:14]), 2),
        "in the first part": ("".join(lines[:3]), 4),
    }[cut]
    Path("records.jsonl").write_text(kept)
    done: list[Any] = []

    def counted(*arguments: Any) -> Any:
        done.append(arguments)
        return evaluate(*arguments)

    monkeypatch.setattr(module, "evaluate", counted)
    assert augury("run", *SMALL, "--out", "records.jsonl") == whole
    assert len(done) == missing
    assert Path("records.jsonl").read_text() == text
    augury("run", *SMALL, "--out", "records.jsonl")
    assert len(done) == missing
    augury("run", "--scales", "1,2,3", *SMALL[2:], "--out", "records.jsonl")
    assert len(done) == missing + 2


def test_unfinished_parts_are_left_out_of_a_table_and_said(augury: Augury) -> None:
    augury("run", *SMALL, "--out", "records.jsonl")
    lines = Path("records.jsonl").read_text().splitlines(keepends=True)
    Path("records.jsonl").write_text("".join(lines[:10]) + lines[10][:5])
    code, out, err = augury("--from", "records.jsonl")
    assert (code, len(out.splitlines())) == (0, 2)
    assert err == "augury: records.jsonl: 3 records of unfinished parts are left out\n"


def test_an_interrupt_keeps_the_finished_parts(
    augury: Augury, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(model: Any, condition: Condition, extent: Extent) -> Any:
        if condition.scale == 2:
            raise KeyboardInterrupt
        return evaluate(model, condition, extent)

    monkeypatch.setattr(module, "evaluate", interrupted)
    code, out, err = augury("run", *SMALL, "--out", "records.jsonl")
    sentence = "augury: interrupted; the same command goes on with records.jsonl\n"
    assert (code, out, err) == (cli.INTERRUPTED, "", sentence)
    assert len(read_records(Path("records.jsonl")).records) == 6


BAD: list[tuple[list[str], str]] = [
    (["nowhere"], "nowhere: there is no such checkpoint or run folder, nor is it one of discrete"),
    (["."], "there is no seed-*/best.safetensors in this folder"),
    (["text.txt"], "text.txt: this is not a whole safetensors file"),
    (["classical", "--scales", "1,two"], "--scales is '1,two'"),
    (["classical", "--scales", "0"], "the scale is 0"),
    (["classical", "--scales", ","], "at least one entry"),
    (["classical", "--p", "5/4"], "p is '5/4', but a probability is between 0 and 1"),
    (["classical", "--p", "9/n", "--scales", "1"], "between 0 and 1"),
    (["classical", "--p", "-1/n"], "between 0 and 1"),
    (["classical", "--p", "half"], "p is 'half'"),
    (["classical", "--p", "1/0"], "p is '1/0'"),
    (["classical", "--termination", "dfs"], "the termination is 'dfs'"),
    (["classical", "--termination", "0"], "the termination is '0'"),
    (["classical", "--classical", "search"], "not 'search'"),
    (["classical", "--device", "cuda:99"], "there is no device cuda:99"),
    (["classical", "--out", "text.txt"], "text.txt: "),
    (["classical", "--out", "missing/records.jsonl"], "missing/records.jsonl: there is no such"),
    (["classical", "--out", "."], "this is a folder"),
    (["classical", *SMALL, "--out", "old.jsonl", "--graphs", "4"], "with --graphs 3, not 4"),
    (["classical", *SMALL, "--out", "old.jsonl", "--runs", "1"], "with --runs 2, not 1"),
    (["classical", *SMALL, "--out", "old.jsonl", "--seed", "1"], "with --seed 0, not 1"),
    (["other.safetensors", *SMALL, "--out", "old.jsonl"], "other weights that are also called"),
    (["--from", "nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
    (["--from", "text.txt"], "text.txt: "),
    (["--from", "empty.jsonl"], "this is not a file of Augury's records"),
    (["--from", "head.jsonl"], "no part of this evaluation is finished yet"),
    (["--from", "wrong.jsonl"], "wrong.jsonl: line 2 is not one of Augury's records"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(bad[0]) for bad in BAD])
def test_bad_input_is_one_sentence_and_exit_code_2(
    augury: Augury, arguments: list[str], message: str
) -> None:
    Path("text.txt").write_text("hello\n")
    Path("empty.jsonl").write_text("")
    evaluate_all(load_models(["run"], "cpu"), [Condition()], EXTENT, Path("old.jsonl"))
    head = Path("old.jsonl").read_text().splitlines(keepends=True)[0]
    Path("head.jsonl").write_text(head)
    Path("wrong.jsonl").write_text(head + "{}\n")
    write_network(Path("other.safetensors"), seed=1, initial=7)
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    code, out, err = augury(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("augury: ")
    assert message in err
    assert err.count("\n") == 1
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("arguments", [[], ["classical", "--from", "records.jsonl"]])
def test_models_and_records_exclude_each_other(augury: Augury, arguments: list[str]) -> None:
    code, out, err = augury(*arguments)
    assert (code, out) == (2, "")
    assert "not both" in err


def test_networks_of_one_name_and_seed_are_called_by_their_files(augury: Augury) -> None:
    write_network(Path("run/seed-0/paper.safetensors"), 0)
    names = ["run", "run/seed-0/paper.safetensors", "run/seed-0/best.safetensors", "classical"]
    models = load_models(names, "cpu")
    assert [(model.name, model.seed) for model in models] == [
        (f"{NAME}, run/best", 0), (f"{NAME}, run/best", 1), (f"{NAME}, run/paper", 0),
        ("classical", 0),
    ]  # fmt: skip
    assert [model.name for model in load_models(["run"], "cpu")] == [NAME, NAME]


def test_a_variant_is_not_called_by_the_papers_name_nor_stands_beside_its_figures(
    augury: Augury,
) -> None:
    done = augury("run", *SMALL, "--p", "1/4,1/5", "--out", "records.jsonl")
    rows = done.out.splitlines()[1:]
    assert len(rows) == 4 and all(row.startswith(f"{NAME}  ") for row in rows)
    assert all(re.split(" {2,}", row)[5] == "–" for row in rows), rows
    assert augury("--from", "records.jsonl") == done
    found = read_records(Path("records.jsonl")).records
    assert {record["model"] for record in found} == {NAME}
    # Nor where it has to be called by its file, whatever that is called.
    for name in ("paper-mpnn.safetensors", "other.safetensors"):
        write_network(Path(name), 0)
    names = ["./paper-mpnn.safetensors", "other.safetensors"]
    assert [model.name for model in load_models(names, "cpu")] == [
        f"{NAME}, paper-mpnn", f"{NAME}, other"
    ]  # fmt: skip


def test_a_shipped_network_stands_beside_the_papers_figures(augury: Augury) -> None:
    done = augury("paper-mpnn", "--scales", "1", "--graphs", "1", "--runs", "1")
    assert "99.8 ± 0.6" in done.out and "paper-mpnn  1x" in done.out


def test_a_threshold_leaves_only_the_search_to_the_network(augury: Augury) -> None:
    (model, _) = load_models(["run"], "cpu")

    def neural(condition: Condition) -> list[str]:
        named = model.subroutines(condition)._asdict().items()
        return [name for name, part in named if isinstance(part, MethodType)]

    assert neural(Condition()) == ["search", "bottleneck", "augment", "is_done"]
    assert neural(Condition(neural_bottleneck=False)) == ["search", "augment", "is_done"]
    assert neural(Condition(neural_augmentation=False)) == ["search", "bottleneck", "is_done"]
    assert neural(Condition(termination="3")) == ["search"]
    assert Condition(termination="3").settings.max_failures == 3
    assert Condition().settings.max_failures == 10


def test_the_same_seed_gives_the_same_records(augury: Augury) -> None:
    (model, _) = load_models(["run"], "cpu")
    one, again, other = (
        list(evaluate(model, Condition(), Extent(3, 2, seed))) for seed in (0, 0, 1)
    )  # fmt: skip
    assert one == again
    assert one != other
    few = list(evaluate(model, Condition(), Extent(3, 1, 0)))
    assert few == one[:3]  # further runs change nothing before them


def test_chunks_change_nothing(augury: Augury, monkeypatch: pytest.MonkeyPatch) -> None:
    (model, _) = load_models(["run"], "cpu")
    together = list(evaluate(model, Condition(), EXTENT))
    monkeypatch.setattr(module, "MAX_ARCS", 1)
    assert list(evaluate(model, Condition(), EXTENT)) == together


def arcs(graphs: list[FlowNetwork]) -> list[list[tuple[int, int]]]:
    return [
        list(zip(graph.sender.tolist(), graph.receiver.tolist(), strict=True)) for graph in graphs
    ]


def test_the_sparse_track_has_three_edges_a_node() -> None:
    condition = Condition(8, "3/n")
    graphs = condition.graphs(40, 0)
    edges = np.mean([graph.num_arcs / 2 - 2 * condition.side for graph in graphs])
    assert all(graph.num_nodes == 2 * 64 + 2 for graph in graphs)
    assert edges == pytest.approx(3 * 64, rel=0.05)
    assert arcs(graphs[:2]) != arcs(Condition(8, "3/64").graphs(2, 0))


def test_equal_probabilities_are_one_cell() -> None:
    assert Condition(p="0.25") == Condition(p="2/8") == Condition()
    assert Condition(p="6/2/n") == Condition(p="3/n")
    with pytest.raises(InputError):
        Condition(p="n")


def test_test_graphs_are_none_of_the_training_graphs() -> None:
    for seed in (0, module.TEST_STREAM):
        data = training_data(DataConfig(seed=seed, train_graphs=20), (1, 2), 20)
        known = arcs(data.execution[1] + data.execution[2])
        rng = np.random.default_rng(seed).spawn(4)[0]
        known += arcs([FlowNetwork.from_bipartite(uniform(rng, 8, p=0.25)) for _ in range(20)])
        for scale in (1, 2):
            assert not any(graph in known for graph in arcs(Condition(scale).graphs(20, seed)))


def record(run: int, graph: int, value: int, **changes: Any) -> dict[str, Any]:
    decisions = dict.fromkeys(DECISIONS, 0)
    base = {"model": "m", "model_seed": 0, "weights": "", **asdict(Condition()), "run": run}
    base |= {"graph": graph, "value": value, "maximum": 4, "ending": "done", "rounds": 5}
    return base | {"asked": decisions | {"search": 5}, "wrong": decisions | {"search": 1}} | changes


def test_accuracy_and_deviation_over_runs() -> None:
    # Right of two graphs: both, one, none. Runs: 1, 0.5, 0; deviation sqrt((0.25 + 0.25) / 3).
    rows = [record(run, graph, 4 - (run > graph)) for run in range(3) for graph in range(2)]
    rows[-1]["value"] = 1
    (told,) = summarise(rows)
    assert told["accuracy"] == pytest.approx(0.5)
    assert told["std"] == pytest.approx(math.sqrt(0.5 / 3))
    assert told["flow_error"] == pytest.approx((1 + 1 + 3) / 6)
    assert (told["graphs"], told["runs"], told["seeds"]) == (2, 3, 1)
    assert (told["search_asked"], told["search_wrong"]) == (30, 6)
    assert "seed_interval" not in told
    (row,) = table_rows([told])
    assert row[:6] == ["m", "1x", "1/4", "bfs", "50.00 ± 40.82", "–"]
    assert row[8:] == ["6/30", "0/0", "0/0", "–", "0/0"]


def test_the_interval_over_seeds_is_students() -> None:
    # Accuracies 1, 0.5, 0.75: mean 0.75, deviation 0.25, t(2, 97.5 %) = 4.3027.
    right = {0: 4, 1: 2, 2: 3}
    rows = [
        record(0, graph, 4 if graph < count else 3, model_seed=seed)
        for seed, count in right.items()
        for graph in range(4)
    ]
    (told,) = summarise(rows)
    assert told["by_seed"] == {0: 1.0, 1: 0.5, 2: 0.75}
    assert (told["seed_mean"], told["seed_std"]) == (pytest.approx(0.75), pytest.approx(0.25))
    low, high = told["seed_interval"]
    assert low == pytest.approx(0.75 - 4.30265 * 0.25 / math.sqrt(3), abs=1e-5)
    assert high == 1.0  # an accuracy is never above 1
    assert table_rows([told])[0][6] == "75.00 [12.90, 100.00] of 3"


def test_cells_are_sorted_whatever_the_order_of_the_records() -> None:
    rows = [record(0, 0, 4, scale=scale, termination=end) for end in ("bfs", "10", "3") for scale in (8, 1)]  # fmt: skip  # noqa: E501
    rows.append(record(0, 0, 4, model="a"))
    order = [(told["model"], told["termination"], told["scale"]) for told in summarise(rows)]
    ends = [("m", end, scale) for end in ("bfs", "3", "10") for scale in (1, 8)]
    assert order == [*ends, ("a", "bfs", 1)]


def test_a_subroutine_that_is_not_the_networks_is_a_dash() -> None:
    empty = {"asked": dict.fromkeys(DECISIONS, 8), "wrong": dict.fromkeys(DECISIONS, 2)}
    ends = [Condition(), Condition(neural_bottleneck=False), Condition(termination="5")]
    rows = [record(0, 0, 4, **asdict(condition), **empty) for condition in ends]
    shown = [row[3:4] + row[8:] for row in table_rows(summarise(rows))]
    assert shown == [
        ["bfs", "2/8", "2/8", "2/8", "75.0% of 8", "2/8"],
        ["bfs -bottleneck", "2/8", "2/8", "–", "–", "2/8"],
        ["t = 5", "2/8", "–", "–", "–", "–"],
    ]


def test_every_run_on_every_graph_draws_weights_of_its_own() -> None:
    def drawn(seed: int, condition: Condition) -> list[bytes]:
        seen: list[bytes] = []

        def search(batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree:
            if not seen:
                parts = np.split(weights, batch.arc_start[1:-1])
                seen.extend(part[:32].tobytes() for part in parts)
            return bellman_ford_search(batch, residual, weights)

        executor = BELLMAN_FORD._replace(search=search)
        list(evaluate(Model("spy", 0, executor), condition, Extent(3, 2, seed)))
        return seen

    first = drawn(0, Condition())
    assert len(set(first)) == len(first) == 6
    assert drawn(0, Condition()) == first
    assert not set(first) & set(drawn(1, Condition()))
    assert not set(first) & set(drawn(0, Condition(2)))
