"""`augury evaluate`: records that can be continued, and tables made from any file of records."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
import pytest
import torch

from augury.apps import cli
from augury.classical.arrays import WideArray
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import BELLMAN_FORD, Tree, WeightArray, bellman_ford_search
from augury.config import Config, NetworkConfig
from augury.errors import InputError
from augury.experiments import evaluate as module
from augury.experiments.conditions import Condition, Extent
from augury.experiments.evaluate import Model, evaluate, evaluate_all, load_models
from augury.experiments.records import Runs, read_records
from augury.models.checkpoint import make_network, save
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
    save(path, network.state_dict(), config, {"seed": seed, "epoch": 4})


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    """Run main() as the shell would, in a folder that holds a run of two seeds."""
    monkeypatch.chdir(tmp_path)
    for seed in range(2):
        write_network(Path(f"run/seed-{seed}/best.safetensors"), seed)

    return runner(monkeypatch, capfd, "evaluate")


def test_assignments_have_costs_and_are_right_if_scipy_finds_the_same(augury: Augury) -> None:
    drawn = [
        graph.costs.amount
        for graph in Condition(2, "1", algorithm="assignment", costs=50).graphs(4, seed=0)
    ]
    assert {len(amount) for amount in drawn} == {256}
    assert np.concatenate(drawn).min() == 1 and np.concatenate(drawn).max() == 50
    flows = Condition(1, "1/2", algorithm="min-cost-flow", costs=3).graphs(2, seed=0)
    assert all(flow.source == 0 and flow.num_nodes == 18 for flow in flows)
    given = ["--algorithm", "assignment", "--costs", "5,900", "--scales", "1", "--p", "1"]
    done = augury("classical", *given, "--graphs", "3", "--runs", "1", "--out", "records.jsonl")
    assert done.code == 0 and done.out.count("100.00 ± 0.00") == 2
    assert "assignment, costs to 900" in done.out and "0/" in done.out.splitlines()[1]
    assert augury("--from", "records.jsonl") == done
    for wrong, words in (
        (["--costs", "ten"], "--costs is 'ten', not a list of numbers"),
        (["--costs", "0"], "the costs of assignment are at least 1, not 0"),
    ):
        done = augury("classical", "--algorithm", "assignment", *wrong)
        assert done.code == 2 and words in done.err
    done = augury("run", *given)
    assert done.code == 2 and "executes ford-fulkerson, not assignment" in done.err
    with pytest.raises(InputError, match="the costs of ford-fulkerson are 0"):
        Condition(costs=5)


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


def test_a_file_holds_a_header_and_every_part_once(augury: Augury) -> None:
    augury("run", *SMALL, "--seed", "4", "--out", "records.jsonl")
    head, *rows = map(json.loads, Path("records.jsonl").read_text().splitlines())
    assert head.keys() == {"kind", "format", "version", "commit"}
    parts = [(row["name"], row["seed"], row["cell"]["scale"]) for row in rows]
    assert parts == [(NAME, seed, scale) for seed in (0, 1) for scale in (1, 2)]
    for row in rows:
        assert row["extent"] == {"graphs": 3, "runs": 2, "seed": 4}
        assert (np.array(row["value"]) <= row["maximum"]).all()


@pytest.mark.parametrize("cut", ["in a line", "after a line", "in the first line"])
def test_a_stopped_evaluation_does_only_what_is_missing(
    augury: Augury, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    whole = augury("run", *SMALL, "--out", "records.jsonl")
    text = Path("records.jsonl").read_text()
    lines = text.splitlines(keepends=True)
    kept, missing = {
        "in a line": (text[:-9], 1),
        "after a line": ("".join(lines[:3]), 2),
        "in the first line": ("".join(lines[:2])[:-9], 4),
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
    assert len(read_records(Path("records.jsonl")).parts) == 1


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
    found = read_records(Path("records.jsonl")).parts
    assert {runs.name for runs in found.values()} == {NAME}
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


def told(runs: Runs) -> dict[str, Any]:
    """Return runs as something that can be compared."""
    arrays = {name: getattr(runs, name).tolist() for name in ("value", "maximum", "rounds")}
    return vars(runs) | arrays


def test_the_same_seed_gives_the_same_records(augury: Augury) -> None:
    (model, _) = load_models(["run"], "cpu")
    one, again, other = (
        evaluate(model, Condition(), Extent(3, 2, seed)) for seed in (0, 0, 1)
    )  # fmt: skip
    assert told(one) == told(again)
    assert told(one) != told(other)
    few = evaluate(model, Condition(), Extent(3, 1, 0))
    assert np.array_equal(few.rounds, one.rounds[:1])  # further runs change nothing before them
    assert (few.ending, few.maximum.tolist()) == (one.ending[:3], one.maximum[:1].tolist())


def test_chunks_change_nothing(augury: Augury, monkeypatch: pytest.MonkeyPatch) -> None:
    (model, _) = load_models(["run"], "cpu")
    together = told(evaluate(model, Condition(), EXTENT))
    monkeypatch.setattr(module, "MAX_ARCS", 1)
    assert told(evaluate(model, Condition(), EXTENT)) == together


def test_every_run_on_every_graph_draws_weights_of_its_own() -> None:
    def drawn(seed: int, condition: Condition) -> list[bytes]:
        seen: list[bytes] = []

        def search(batch: Batch, residual: WideArray, weights: WeightArray, /) -> Tree:
            if not seen:
                parts = np.split(weights, batch.arc_start[1:-1])
                seen.extend(part[:32].tobytes() for part in parts)
            return bellman_ford_search(batch, residual, weights)

        executor = BELLMAN_FORD._replace(search=search)
        evaluate(Model("spy", 0, executor), condition, Extent(3, 2, seed))
        return seen

    first = drawn(0, Condition())
    assert len(set(first)) == len(first) == 6
    assert drawn(0, Condition()) == first
    assert not set(first) & set(drawn(1, Condition()))
    assert not set(first) & set(drawn(0, Condition(2)))
