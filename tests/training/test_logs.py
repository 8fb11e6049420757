"""The logs hold every epoch of every seed once, whatever the process before left of them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.plugins.hparams.plugin_data_pb2 import (
    HParamsPluginData,  # type: ignore[attr-defined]
)

from augury.extras import MissingExtra
from augury.training.logs import EVENTS, METRICS, Logs

HISTORIES = {4: [{"loss": 0.5, "acc": 1.0}, {"loss": 0.25, "acc": 0.5}], 7: [{"loss": 2.0}]}
SETTINGS = {"network.hidden": 8, "training.execution_scales": (1, 2), "data.p": 0.25}
WHOLE = """\
seed_4/acc,seed_4/loss,seed_7/loss,step
1.0,0.5,,0
,,2.0,0
0.5,0.25,,1
"""


def events(folder: Path) -> list[tuple[str, int, float]]:
    [path] = (folder / EVENTS).iterdir()  # one file, however often the run went on
    return [
        (value.tag, event.step, value.tensor.float_val[0])
        for event in EventFileLoader(str(path)).Load()
        for value in event.summary.value
        if not value.tag.startswith("_hparams_")
    ]


def test_epochs_are_added_one_by_one_or_written_anew_to_the_same_logs(tmp_path: Path) -> None:
    with Logs(tmp_path, {}, SETTINGS) as logs:
        assert (tmp_path / METRICS).read_text() == ""
        logs.add(0, {4: HISTORIES[4][0], 7: HISTORIES[7][0]})
        logs.flush()
        first = events(tmp_path)
        assert first == [("seed_4/loss", 0, 0.5), ("seed_4/acc", 0, 1.0), ("seed_7/loss", 0, 2.0)]
        logs.add(1, {4: HISTORIES[4][1]})
    assert (tmp_path / METRICS).read_text() == WHOLE
    added = events(tmp_path)
    assert added == [*first, ("seed_4/loss", 1, 0.25), ("seed_4/acc", 1, 0.5)]
    with Logs(tmp_path, HISTORIES, SETTINGS):
        pass
    assert (tmp_path / METRICS).read_text() == WHOLE and events(tmp_path) == added


def test_what_a_killed_process_left_beyond_the_history_is_forgotten(tmp_path: Path) -> None:
    with Logs(tmp_path, HISTORIES, SETTINGS) as logs:
        logs.add(2, {4: HISTORIES[4][0]})  # its epoch was not kept
    with (tmp_path / METRICS).open("a") as file:
        file.write("0.5,0.")  # cut off in the middle of a line
    kept = {seed: rows[:1] for seed, rows in HISTORIES.items()}
    with Logs(tmp_path, kept, SETTINGS) as logs:
        logs.add(1, {4: HISTORIES[4][1]})
    assert (tmp_path / METRICS).read_text() == WHOLE
    assert [step for _, step, _ in events(tmp_path)] == [0, 0, 0, 1, 1]


def test_tensorboard_compares_runs_by_their_settings(tmp_path: Path) -> None:
    with Logs(tmp_path, {}, SETTINGS):
        pass
    [path] = (tmp_path / EVENTS).iterdir()
    told: dict[str, Any] = {}
    for event in EventFileLoader(str(path)).Load():
        for value in event.summary.value:
            content = value.metadata.plugin_data.content
            if value.tag == "_hparams_/session_start_info":
                told = dict(HParamsPluginData.FromString(content).session_start_info.hparams)
    assert told["network.hidden"].number_value == 8
    assert told["data.p"].number_value == 0.25
    assert told["training.execution_scales"].string_value == "(1, 2)"


class Project:
    """What stands in for Weights & Biases: it remembers what it was told."""

    def __init__(self) -> None:
        self.started: list[dict[str, Any]] = []
        self.logged: list[tuple[int, dict[str, float]]] = []
        self.finished = 0

    def init(self, **told: Any) -> Project:
        self.started.append(told)
        return self

    def log(self, figures: dict[str, float], step: int) -> None:
        self.logged.append((step, figures))

    def finish(self) -> None:
        self.finished += 1


def test_weights_and_biases_gets_every_epoch_and_the_same_run_when_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, stub = Project(), ModuleType("wandb")
    monkeypatch.setattr(stub, "init", project.init, raising=False)
    monkeypatch.setitem(sys.modules, "wandb", stub)
    with Logs(tmp_path, {}, SETTINGS, "mine") as logs:
        logs.add(0, {4: HISTORIES[4][0], 7: HISTORIES[7][0]})
    assert project.logged == [(0, {"seed_4/loss": 0.5, "seed_4/acc": 1.0, "seed_7/loss": 2.0})]
    with Logs(tmp_path, HISTORIES, SETTINGS, "mine"):
        pass
    first, again = project.started
    assert first["project"] == "mine" and first["config"] == SETTINGS
    assert first["id"] == again["id"] and again["resume"] == "allow"
    assert project.finished == 2


def test_weights_and_biases_is_imported_only_if_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    with Logs(tmp_path, HISTORIES, SETTINGS):
        assert "wandb" not in sys.modules
    monkeypatch.setitem(sys.modules, "wandb", None)  # as if it were not installed
    monkeypatch.setattr("augury.extras.is_installed", lambda module: False)
    with pytest.raises(MissingExtra, match=r"--wandb needs Weights & Biases: .*augury\[wandb\]"):
        Logs(tmp_path, {}, SETTINGS, "mine")
