"""Seeds trained and parts evaluated as tasks are those of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augury.config import with_settings
from augury.errors import InputError
from augury.experiments import reproduce
from augury.experiments.conditions import Condition, Extent
from augury.experiments.evaluate import evaluate_all, load_models
from augury.experiments.sweep import evaluated_by, train_seeds
from augury.experiments.tasks import InOrder, perform
from augury.training.trainer import lightning_quiet, train
from tiny import tiny_config

CONFIG = tiny_config("paper-mpnn")
CPU = ("cpu", False)


def in_order() -> InOrder:
    return InOrder(perform)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep") / "run"
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "SLICE_SECONDS", 0.0)  # an epoch each
        train_seeds(CONFIG, [0, 1], folder, CPU, in_order, lambda told: said.append(told.text))
    assert said[-1] == f"trained {CONFIG.name}, seed 1, 3 epochs"
    assert len(said) == 6
    return folder


def test_seeds_trained_as_tasks_are_those_that_train_trains(trained: Path, tmp_path: Path) -> None:
    with lightning_quiet():
        train(CONFIG, [0], tmp_path / "alone", say=lambda line: None)
    files = {path.name for path in (tmp_path / "alone" / "seed-0").iterdir()}
    assert {path.name for path in (trained / "seed-0").iterdir()} == files
    folders = trained / "seed-0", tmp_path / "alone" / "seed-0"
    told = ((folder / "history.csv").read_text() for folder in folders)
    one, other = ([line.rpartition(",")[0] for line in text.splitlines()] for text in told)
    assert one == other  # but for the last column, the seconds
    assert (trained / "config.json").exists()
    assert not (trained / "lock").exists()


def test_a_finished_run_is_left_alone_and_another_is_refused(trained: Path) -> None:
    def nobody() -> Any:
        raise AssertionError("there is nothing to do")

    train_seeds(CONFIG, [0, 1], trained, ("cpu", True), nobody, lambda told: None)
    with pytest.raises(InputError, match="--resume continues it"):
        train_seeds(CONFIG, [0, 1], trained, CPU, nobody, lambda told: None)
    with pytest.raises(InputError, match="no run in this folder to resume"):
        train_seeds(CONFIG, [0], trained / "x", ("cpu", True), nobody, lambda told: None)
    paper = with_settings(CONFIG, ["training.select=paper"])
    with pytest.raises(InputError, match="--select execution"):
        train_seeds(paper, [0], trained / "x", CPU, nobody, lambda told: None)


def test_parts_evaluated_as_tasks_are_those_of_one_process(trained: Path, tmp_path: Path) -> None:
    models = load_models([str(trained), "classical"], "cpu")
    work = models, [Condition(scale=1), Condition(scale=2)], Extent(2, 1, 0)
    expected = evaluate_all(*work)
    out = tmp_path / "records.jsonl"
    found = evaluate_all(*work, out, run=evaluated_by(in_order, "cpu"))
    assert list(found) == list(expected)
    for part, runs in expected.items():
        assert np.array_equal(found[part].value, runs.value)
        assert (found[part].name, found[part].digest) == (runs.name, runs.digest)
    assert len(out.read_text().splitlines()) == 1 + len(expected)
