"""`augury train`: run folders, one sentence for every mistake, and going on after an interrupt."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any, TextIO

import pytest
import typer
from safetensors.torch import load_file

from augury.apps import cli
from augury.apps.commands.train import LARGEST_SEED, MOST_SEEDS, chosen_seeds
from augury.config import settings_of
from command import Augury, runner

TINY = [
    *("--set", "data.train_graphs=4", "--set", "data.validation_graphs=3"),
    *("--set", "training.execution_graphs=2", "--set", "training.execution_scales=(1,)"),
    *("--set", "network.hidden=8", "--device", "cpu"),
]
TWO_EPOCHS = ["--set", "training.max_epochs=2"]


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    """Run main() as the shell would, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    return runner(monkeypatch, capfd)


def test_the_help_documents_every_setting_and_has_examples(augury: Augury) -> None:
    out = " ".join(augury("train", "--help").out.split())
    for setting in settings_of():
        assert f"{setting.key} = {setting.default}: " in out
    assert "augury train paper-mpnn --resume" in out
    assert "[data], [network], [training]" in out


def test_a_run_prints_a_line_per_epoch_and_fills_its_folder(augury: Augury) -> None:
    code, out, err = augury("train", "paper-mpnn", "--seeds", "3,5", *TINY, *TWO_EPOCHS)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[:4] for line in lines[:-1]] == [
        ["seed", seed, "epoch", epoch] for epoch in "01" for seed in "35"
    ]
    assert lines[-1].startswith("runs/paper-mpnn: ")
    told = json.loads(Path("runs/paper-mpnn/config.json").read_text())
    assert told["seeds"] == [3, 5]
    assert told["config"]["network"]["hidden"] == 8
    for seed in told["seeds"]:
        assert Path(f"runs/paper-mpnn/seed-{seed}/best.safetensors").exists()


def test_a_finished_run_is_not_overwritten_and_needs_no_resuming(augury: Augury) -> None:
    run = ["train", "paper-mpnn", "--out", "run", *TINY, *TWO_EPOCHS]
    assert augury(*run).code == 0
    before = Path("run/seed-0/best.safetensors").read_bytes()
    done = augury(*run)
    assert (done.code, done.out) == (2, "")
    assert done.err == "augury: run: there is a run in this folder; --resume continues it\n"
    assert augury(*run, "--resume").code == 0
    other = augury(*run, "--resume", "--seed", "1")
    assert other.code == 2
    assert "other settings: the seeds are 0, not 1" in other.err
    assert Path("run/seed-0/best.safetensors").read_bytes() == before


def test_settings_come_from_a_file_then_set_then_select(augury: Augury) -> None:
    Path("my.toml").write_text('[network]\nhidden = 16\n[training]\nselect = "execution"\n')
    run = ["train", "paper-mpnn", *TINY, "--set", "training.max_epochs=1", "--select", "paper"]
    assert augury(*run, "--config", "my.toml", "--out", "run").code == 0
    config = json.loads(Path("run/config.json").read_text())["config"]
    assert (config["network"]["hidden"], config["training"]["select"]) == (8, "paper")


BAD: list[tuple[list[str], str]] = [
    (["paper-mpn"], "'paper-mpn' is none of the presets paper-mpnn, "),
    (["paper-mpnn", "--set", "network.width=3"], "there is no setting 'network.width'"),
    (["paper-mpnn", "--set", "network.hidden"], "is not of the form part.name=value"),
    (["paper-mpnn", "--set", "network.hidden=wide"], "network.hidden is 'wide', but must be int"),
    (["paper-mpnn", "--set", "network.hidden=-1"], "must be positive"),
    (["paper-mpnn", "--set", "network.processor=none"], "none of mpnn"),
    (["paper-mpnn", "--set", "network.heads=3"], "multiple of network.heads"),
    (["paper-mpnn", "--config", "nowhere.toml"], "nowhere.toml: "),
    (["paper-mpnn", "--config", "broken.toml"], "broken.toml: "),
    (["paper-mpnn", "--device", "cuda:99"], "there is no device cuda:99 on this machine"),
    (["paper-mpnn", "--device", "tpu"], "must be cpu, cuda or auto"),
    (["paper-mpnn", "--device", "cpu", "--out", "broken.toml/run"], "broken.toml/run"),
    (["paper-mpnn", "--device", "cpu", "--out", "broken.toml"], "this is a file, not a folder"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(bad[0]) for bad in BAD])
def test_bad_input_is_one_sentence_and_exit_code_2(
    augury: Augury, arguments: list[str], message: str
) -> None:
    Path("broken.toml").write_text("[network\n")
    code, out, err = augury("train", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("augury: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--seed", "0", "--seeds", "1-2"],
        ["--seeds", "a-b"],
        ["--seeds", "3-1"],
        ["--seeds", ""],
        ["--seeds", "0-99999999"],
        ["--seed", str(2**64)],
        ["--seed", "-1"],
        ["--select", "luck"],
    ],
)
def test_wrong_usage_is_explained_with_exit_code_2(augury: Augury, arguments: list[str]) -> None:
    code, out, err = augury("train", "paper-mpnn", *arguments)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert arguments[-2] in err


def test_seeds_are_ranges_and_lists() -> None:
    assert chosen_seeds("0-9") == list(range(10))
    assert chosen_seeds("0,2,5") == [0, 2, 5]
    assert chosen_seeds("4, 0-1,1") == [4, 0, 1]
    assert len(chosen_seeds(f"1-{MOST_SEEDS}")) == MOST_SEEDS
    assert chosen_seeds(str(LARGEST_SEED)) == [LARGEST_SEED]
    for text in (f"0-{MOST_SEEDS}", f"1-{MOST_SEEDS},0", str(LARGEST_SEED + 1)):
        with pytest.raises(typer.BadParameter, match="seed"):
            chosen_seeds(text)


class Interrupting:
    """A stream; Ctrl-C comes when the first line has been written."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        written = self.stream.write(text)
        if text.endswith("\n"):
            signal.raise_signal(signal.SIGINT)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def test_an_interrupted_run_says_how_to_go_on_and_ends_the_same(
    augury: Augury, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ["train", "paper-mpnn", *TINY, "--set", "training.max_epochs=3", "--out"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Interrupting(sys.stdout))
        done = augury(*run, "a")
    signal.signal(signal.SIGINT, before)
    assert done.code == cli.INTERRUPTED
    assert done.err == "augury: interrupted; the same command with --resume goes on with a\n"
    assert not Path("a/seed-0/epoch-002.safetensors").exists()
    assert augury(*run, "a", "--resume").code == 0
    assert augury(*run, "b").code == 0
    one, other = (load_file(f"{name}/seed-0/epoch-002.safetensors") for name in "ab")
    assert all(bool((one[key] == other[key]).all()) for key in other)
