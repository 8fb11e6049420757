"""Training can be interrupted, resumed and stacked, and ends with the same weights."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from torch import Tensor

from augury.config import Config, from_dict
from augury.errors import ConfigError, InputError
from augury.models import checkpoint
from augury.neural.batch import training_data
from augury.paper.losses import WEIGHTS
from augury.training import keeping
from augury.training import trainer as training
from augury.training.ensemble import Ensemble, Epoch, Progress, initial_network
from augury.training.executions import Execution, Executions, Validation
from augury.training.keeping import METRICS
from augury.training.trainer import train
from tiny import tiny_config

CONFIG = tiny_config()


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Make Ctrl-C what it is in a terminal: a process in the background starts out ignoring it."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


def silent(_: str) -> None:
    pass


def interrupted_at(count: int) -> Callable[[str], None]:
    """Return a `say` that is interrupted when the line of this number is about to appear."""
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if len(said) == count:
            raise KeyboardInterrupt

    return say


def weights(folder: Path, seed: int = 0, name: str = "epoch-002") -> dict[str, Tensor]:
    return checkpoint.read_tensors(folder / f"seed-{seed}" / f"{name}.safetensors")[0]


def is_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def history(folder: Path, seed: int = 0) -> list[dict[str, str]]:
    with (folder / f"seed-{seed}" / "history.csv").open() as stream:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(stream)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that was never interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    [progress] = train(CONFIG, [0], folder, say=silent)
    assert len(progress.history) == 3
    return folder


@pytest.mark.parametrize("line", [1, 3])
def test_an_interrupted_run_goes_on_to_the_same_weights(
    line: int, whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(CONFIG, [0], folder, say=interrupted_at(line))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # the next works too
    assert len(history(folder)) == line
    [progress] = train(CONFIG, [0], folder, resume=True, say=silent)
    assert len(progress.history) == 3
    for name in ("epoch-000", "epoch-001", "epoch-002", "best"):
        assert is_same(weights(folder, name=name), weights(whole, name=name)), name
    assert history(folder) == history(whole)
    resumed, expected = (
        checkpoint.read_tensors(path / "resume.safetensors")[0] for path in (folder, whole)
    )
    assert is_same(resumed, expected)


def test_a_signal_interrupts_in_the_middle_of_an_epoch(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    get = Epoch.__getitem__

    def get_then_signal(epoch: Epoch, place: int) -> object:
        if epoch.key[1] == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return get(epoch, place)

    monkeypatch.setattr(Epoch, "__getitem__", get_then_signal)
    with pytest.raises(KeyboardInterrupt):
        train(CONFIG, [0], tmp_path / "run", say=silent)
    monkeypatch.undo()
    train(CONFIG, [0], tmp_path / "run", resume=True, say=silent)
    assert is_same(weights(tmp_path / "run"), weights(whole))


def test_logs_are_whole_though_killed_before_the_state_to_resume_from_was_written(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []
    write = checkpoint.write_tensors

    def write_or_die(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
        written.append(path)
        if [one.name for one in written].count("resume.safetensors") == 2:
            raise SystemError("killed")
        write(path, tensors, metadata)

    monkeypatch.setattr(checkpoint, "write_tensors", write_or_die)
    with pytest.raises(SystemError, match="killed"):
        train(CONFIG, [0], tmp_path / "run", say=silent)
    metrics = tmp_path / "run" / "logs" / "csv" / "metrics.csv"
    assert len(metrics.read_text().splitlines()) == 1 + 2  # of which the second will be done again
    monkeypatch.undo()
    (tmp_path / "run" / "seed-0" / ".augury-0123.tmp").write_bytes(b"half")
    train(CONFIG, [0], tmp_path / "run", resume=True, say=silent)
    assert contents(tmp_path / "run") == contents(whole)


def test_an_interrupted_ensemble_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    train(CONFIG, [0, 1], tmp_path / "whole", say=silent)
    with pytest.raises(KeyboardInterrupt):  # the first network's epoch 1 is written, not the other
        train(CONFIG, [0, 1], tmp_path / "run", say=interrupted_at(3))
    train(CONFIG, [0, 1], tmp_path / "run", resume=True, say=silent)
    for seed in (0, 1):
        assert is_same(weights(tmp_path / "run", seed), weights(tmp_path / "whole", seed))
        assert history(tmp_path / "run", seed) == history(tmp_path / "whole", seed)


@pytest.mark.parametrize("name", ["paper-mpnn", "paper-pna-nostd"])
def test_an_ensemble_trains_each_network_as_if_alone(name: str, tmp_path: Path) -> None:
    config = tiny_config(name, "data.extra_graphs=4")
    train(config, [4, 7], tmp_path / "both", say=silent)
    for seed in (4, 7):
        train(config, [seed], tmp_path / f"{seed}", say=silent)
        alone, together = weights(tmp_path / f"{seed}", seed), weights(tmp_path / "both", seed)
        for key, value in alone.items():
            torch.testing.assert_close(together[key], value, rtol=0, atol=1e-3)
        one, other = history(tmp_path / f"{seed}", seed), history(tmp_path / "both", seed)
        for row, told in zip(one, other, strict=True):
            assert float(row["train_loss"]) == pytest.approx(float(told["train_loss"]), abs=1e-2)
    assert not is_same(weights(tmp_path / "both", 4), weights(tmp_path / "both", 7))


def test_a_run_is_the_same_twice_and_changes_the_weights(whole: Path, tmp_path: Path) -> None:
    train(CONFIG, [0], tmp_path / "again", say=silent)
    assert is_same(weights(whole), weights(tmp_path / "again"))
    data = training_data(CONFIG.data, CONFIG.network.bits)
    before = initial_network(CONFIG, data, 0).state_dict()
    assert all(not torch.equal(before[key], value) for key, value in weights(whole).items())


def test_the_run_folder_holds_all_of_it(whole: Path) -> None:
    assert sorted(entry.name for entry in whole.iterdir()) == [
        "config.json",
        "logs",
        "resume.safetensors",
        "seed-0",
    ]
    assert sorted(entry.name for entry in (whole / "seed-0").iterdir()) == [
        "best.safetensors",
        "epoch-000.safetensors",
        "epoch-001.safetensors",
        "epoch-002.safetensors",
        "history.csv",
    ]
    assert (whole / "logs" / "csv" / "metrics.csv").exists()
    assert list((whole / "logs" / "tensorboard").glob("events.*"))
    told = json.loads((whole / "config.json").read_text())
    assert from_dict(told["config"]) == CONFIG and told["seeds"] == [0]
    assert {"version", "commit", "torch", "device"} <= told.keys()


def test_the_history_has_every_loss_accuracy_and_execution(whole: Path) -> None:
    with (whole / "seed-0" / "history.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    expected = {"epoch", "score", "seconds", "execution_1x"}
    for part in ("train", "validation"):
        expected |= {f"{part}_{name}_loss" for name in WEIGHTS} | {f"{part}_loss"}
        expected |= {f"{part}_{name}" for name in METRICS}
    assert set(rows[0]) == expected
    assert [row["epoch"] for row in rows] == ["0", "1", "2"]
    for row in rows:
        total = sum(WEIGHTS[name] * float(row[f"train_{name}_loss"]) for name in WEIGHTS)
        assert float(row["train_loss"]) == pytest.approx(total, abs=1e-4)
        assert 0 <= float(row["score"]) <= 1.0001


def test_the_best_epoch_is_the_one_with_the_highest_score(whole: Path) -> None:
    scores = [float(row["score"]) for row in history(whole)]
    best = checkpoint.load(whole / "seed-0" / "best.safetensors")
    assert best.provenance["epoch"] == scores.index(max(scores))
    assert best.provenance["seed"] == 0
    assert best.config == CONFIG
    name = f"epoch-{best.provenance['epoch']:03d}"
    assert is_same(weights(whole, name="best"), weights(whole, name=name))


def refused(match: str, config: Config, seeds: list[int], folder: Path, resume: bool) -> None:
    before = sorted(folder.rglob("*")) if folder.exists() else None
    with pytest.raises((InputError, ConfigError), match=match) as caught:
        train(config, seeds, folder, resume=resume, say=silent)
    assert "\n" not in str(caught.value)
    assert (sorted(folder.rglob("*")) if folder.exists() else None) == before


def test_a_folder_with_another_run_is_refused(whole: Path) -> None:
    refused("there is a run in this folder", CONFIG, [0], whole, resume=False)
    other = tiny_config("paper-mpnn", "data.p=0.5")
    refused("other settings: data.p is 0.25, not 0.5$", other, [0], whole, resume=True)
    refused("other settings: the seeds are 0, not 1, 2$", CONFIG, [1, 2], whole, resume=True)


def test_a_run_that_has_ended_goes_on_if_it_is_to_last_longer(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(tiny_config("paper-mpnn", "training.max_epochs=2"), [0], folder, say=silent)
    [progress] = train(CONFIG, [0], folder, resume=True, say=silent)
    assert len(progress.history) == 3
    assert is_same(weights(folder), weights(whole))
    told = json.loads((folder / "config.json").read_text())
    assert from_dict(told["config"]) == CONFIG and told["name"] == CONFIG.name
    assert {"version", "commit", "torch", "device"} <= told.keys()


def test_a_schedule_is_not_prolonged(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    settings = ("training.decay=cosine", "training.max_epochs=1", "data.train_graphs=2")
    train(tiny_config("paper-mpnn", *settings), [0], folder, say=silent)
    longer = tiny_config("paper-mpnn", *settings, "training.max_epochs=2")
    refused("training.max_epochs is 1, not 2", longer, [0], folder, resume=True)


def test_settings_that_are_newer_than_a_run_do_not_keep_it_from_going_on(
    whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    told = json.loads((folder / "config.json").read_text())
    del told["config"]["data"]["reach_stop_weight"]
    (folder / "config.json").write_text(json.dumps(told))
    [progress] = train(CONFIG, [0], folder, resume=True, say=silent)
    assert len(progress.history) == 3


def test_the_learning_rate_falls_along_a_cosine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []
    started = Ensemble.on_train_epoch_start

    def noted(module: Ensemble) -> None:
        started(module)
        rates.append(module.trainer.optimizers[0].param_groups[0]["lr"])

    monkeypatch.setattr(Ensemble, "on_train_epoch_start", noted)
    settings = ("training.decay=cosine", "training.max_epochs=3", "data.train_graphs=2")
    config = tiny_config("paper-mpnn", *settings, "training.select=paper")
    train(config, [0], tmp_path / "run", say=silent)
    assert rates == pytest.approx([5e-4, 3.75e-4, 1.25e-4])  # (1 + cos(π k / 3)) / 2


def test_both_ends_are_counted(tmp_path: Path) -> None:
    config = tiny_config("paper-mpnn", "training.select=both", "training.max_epochs=1")
    train(config, [0], tmp_path / "run", say=silent)
    [row] = history(tmp_path / "run")
    assert float(row["execution_1x"]) == float(row["execution_t1_1x"]) == 0.0


def test_a_run_that_cannot_start_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    refused("no run in this folder to resume", CONFIG, [0], folder, resume=True)
    refused("at least one seed", CONFIG, [], folder, resume=False)
    refused("at least one seed", CONFIG, [3, 3], folder, resume=False)
    unknown = tiny_config("paper-mpnn", "network.processor=x")
    refused("network.processor is 'x'", unknown, [0], folder, resume=False)


def test_a_damaged_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    refused("not the configuration of a run", CONFIG, [0], tmp_path, resume=True)


def test_a_run_that_has_ended_is_not_run_again(whole: Path) -> None:
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    [progress] = train(CONFIG, [0], whole, resume=True, say=interrupted_at(1))
    assert len(progress.history) == 3
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before


def test_training_stops_once_nothing_has_improved_for_a_while(tmp_path: Path) -> None:
    # At this rate no loss moves in its first six digits, so that epoch 0 remains the best.
    settings = ("training.learning_rate=1e-12", "training.patience=2", "training.max_epochs=9")
    config = tiny_config("paper-mpnn", *settings)
    [progress] = train(config, [0], tmp_path / "run", say=silent)
    assert (progress.best_epoch, len(progress.history), progress.is_finished) == (0, 3, True)
    again = train(config, [0], tmp_path / "run", resume=True, say=interrupted_at(1))
    assert again == [progress]
    assert checkpoint.load(tmp_path / "run/seed-0/best.safetensors").provenance["epoch"] == 0


def test_patience_is_counted_from_the_last_improvement() -> None:
    progress = Progress(0)
    told = [progress.add({"score": score}, patience=2) for score in (0.1, 0.1, 0.3, 0.2)]
    assert told == [True, False, True, False]
    assert (progress.best_epoch, progress.is_finished) == (2, False)
    assert not progress.add({"score": 0.3}, patience=2)
    assert progress.is_finished


def test_the_papers_rule_looks_at_the_last_predecessors_alone(tmp_path: Path) -> None:
    config = tiny_config("paper-mpnn", "training.select=paper", "training.max_epochs=1")
    train(config, [0], tmp_path / "run", say=silent)
    [row] = history(tmp_path / "run")
    assert row["score"] == row["validation_last_predecessor"]
    assert "execution_1x" not in row


def test_an_epoch_has_every_round_once_and_its_own_order() -> None:
    config = tiny_config("paper-pna-nostd", "training.batch_size=7", "data.extra_graphs=5")
    data = training_data(config.data, config.network.bits)
    assert data.extra is not None
    epochs = [Epoch(data, config, number) for number in (0, 1)]
    for epoch in epochs:
        assert sorted(epoch.order.tolist()) == list(range(len(data.train)))
        batches = [epoch[place] for place in range(len(epoch))]
        assert sum(search.wiring.num_graphs for search, _, _ in batches) == len(data.train)
        assert sum(reach.wiring.num_graphs for _, reach, _ in batches) == len(data.train)
        extra = [more.wiring.num_graphs for _, _, more in batches if more is not None]
        assert sum(extra) == len(data.extra)
        assert all(search.wiring.num_graphs <= 7 for search, _, _ in batches)
    assert not np.array_equal(epochs[0].order, epochs[1].order)
    one, again, other = epochs[0][0], Epoch(data, config, 0)[0], epochs[0][1]
    assert torch.equal(one[0].walks.capacities, again[0].walks.capacities)
    assert not torch.equal(one[0].walks.capacities, other[0].walks.capacities)


SCATTER = 35
"""Small enough that rounding does not matter to scores by chance."""


def contents(folder: Path) -> dict[str, Any]:
    """Return all that a training wrote, but seconds and the lock."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".csv":
            with path.open() as stream:
                rows = list(csv.DictReader(stream))
            found[name] = [
                {k: v for k, v in row.items() if not k.endswith("seconds")} for row in rows
            ]
        elif path.name == "resume.safetensors":
            tensors, told = checkpoint.read_tensors(path)
            progress = json.loads(told.pop("progress"))
            for row in (row for seed in progress for row in seed["history"]):
                del row["seconds"]
            numbers = {key: value.numpy().tobytes() for key, value in tensors.items()}
            found[name] = numbers, told, progress
        elif path.is_file() and "events.out.tfevents" in path.name:
            found.setdefault("events", []).extend(events(path))  # two files would be too much
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def events(path: Path) -> list[tuple[str, int, float]]:
    """Return what a file of TensorBoard's says, but seconds."""
    told = [event for event in EventFileLoader(str(path)).Load() if event.summary.value]
    return [
        (value.tag, event.step, value.tensor.float_val[0])
        for event in told
        for value in event.summary.value
        if not value.tag.startswith("_hparams_")
        if not value.tag.endswith("seconds")
    ]


class Ahead:
    """Trains with epochs ahead of the executions, which are made to be late or early."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patch = monkeypatch
        monkeypatch.setattr(keeping, "HOPELESS", {})
        # A score that differs from epoch to epoch, however little the network has learnt.
        monkeypatch.setattr(Validation, "executed", scored_by_chance)
        monkeypatch.setattr(training, "processes_for", lambda _: 0)

    def set(self, ahead: int, is_back: bool = False) -> None:
        self.patch.setattr(training, "EPOCHS_AHEAD", {"cpu": ahead})
        self.patch.setattr(Execution, "is_back", is_back)


def scored_by_chance(_: Validation, state: dict[str, NDArray[np.float32]]) -> dict[str, float]:
    total = sum(float(np.abs(value).sum(dtype=np.float64)) for value in state.values())
    return {"execution_1x": total * SCATTER % 1}


@pytest.fixture
def epochs_ahead(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    return Ahead(monkeypatch)


STOPPING = tiny_config("paper-mpnn", "training.max_epochs=12", "training.patience=2")
"""With scores by chance the seeds 0 and 1 stop early, at different epochs."""


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a training whose executions are never under way."""
    folder = tmp_path_factory.mktemp("runs") / "in_turn"
    with pytest.MonkeyPatch.context() as patch:
        Ahead(patch).set(0)
        one, other = train(STOPPING, [0, 1], folder, say=silent)
    assert one.is_finished and other.is_finished
    assert len(one.history) != len(other.history) and max(one.best_epoch, other.best_epoch) > 0
    assert max(len(one.history), len(other.history)) < 9
    return folder


@pytest.mark.parametrize(("ahead", "is_back"), [(3, True), (20, False)])
def test_epochs_ahead_leave_the_same_files(
    ahead: int, is_back: bool, in_turn: Path, tmp_path: Path, epochs_ahead: Ahead
) -> None:
    epochs_ahead.set(ahead, is_back)
    timeline: list[dict[str, float]] = []
    told = train(STOPPING, [0, 1], tmp_path / "run", say=silent, timeline=timeline)
    assert contents(tmp_path / "run") == contents(in_turn)
    assert len(timeline) == max(len(progress.history) for progress in told)
    assert all(row.keys() == {"updates", "figures", "waiting", "keeping"} for row in timeline)


@pytest.mark.parametrize(("line", "ahead"), [(2, 0), (5, 3)])
def test_what_was_interrupted_with_epochs_ahead_goes_on_to_the_same_files(
    line: int, ahead: int, in_turn: Path, tmp_path: Path, epochs_ahead: Ahead
) -> None:
    epochs_ahead.set(3)
    with pytest.raises(KeyboardInterrupt):
        train(STOPPING, [0, 1], tmp_path / "run", say=interrupted_at(line))
    epochs_ahead.set(ahead)
    train(STOPPING, [0, 1], tmp_path / "run", resume=True, say=silent)
    assert contents(tmp_path / "run") == contents(in_turn)


@pytest.mark.parametrize("ahead", [0, 3])
def test_a_pause_leaves_what_was_asked_about_and_nothing_ahead(
    ahead: int, in_turn: Path, tmp_path: Path, epochs_ahead: Ahead
) -> None:
    epochs_ahead.set(ahead)
    folder, asked, lengths = tmp_path / "run", 0, list[int]()

    def pause() -> bool:
        nonlocal asked
        asked += 1
        lengths.append(len(history(folder)))
        return asked in (2, 3)

    for count in (2, 3):
        train(STOPPING, [0, 1], folder, resume=count > 2, say=silent, pause=pause)
        assert lengths == list(range(1, count + 1))
        state = checkpoint.read_tensors(folder / "resume.safetensors")[0]
        for seed in (0, 1):
            own = weights(folder, seed, f"epoch-{count - 1:03d}")
            assert all(torch.equal(state[f"network.{key}"][seed], own[key]) for key in own)
        assert not (folder / "seed-0" / f"epoch-{count:03d}.safetensors").exists()
    train(STOPPING, [0, 1], folder, resume=True, say=silent)
    assert contents(folder) == contents(in_turn)


def test_the_last_epochs_are_waited_for(tmp_path: Path, epochs_ahead: Ahead) -> None:
    config = tiny_config("paper-mpnn", "training.max_epochs=3")
    for ahead in (0, 5):
        epochs_ahead.set(ahead)
        [progress] = train(config, [0], tmp_path / f"{ahead}", say=silent)
        assert len(progress.history) == 3 and not progress.is_finished
    assert contents(tmp_path / "0") == contents(tmp_path / "5")


def test_the_papers_rule_needs_no_executions_and_is_never_ahead(
    tmp_path: Path, epochs_ahead: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config("paper-mpnn", "training.select=paper")
    monkeypatch.setattr(Executions, "submit", None)
    monkeypatch.setattr(training, "processes_for", None)
    for ahead in (0, 5):
        epochs_ahead.set(ahead)
        train(config, [0, 1], tmp_path / f"{ahead}", say=silent)
    assert contents(tmp_path / "0") == contents(tmp_path / "5")


def test_processes_of_their_own_find_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "HOPELESS", {})
    settings = "data.train_graphs=16", "training.max_epochs=4", "training.execution_graphs=4"
    config = tiny_config("paper-mpnn", *settings)
    train(config, [0, 1], tmp_path / "in_turn", say=silent)
    monkeypatch.setattr(training, "EPOCHS_AHEAD", {"cpu": 2})
    lines: list[str] = []
    before = set(multiprocessing.active_children())
    started: set[BaseProcess] = set()

    def say(line: str) -> None:
        started.update(set(multiprocessing.active_children()) - before)
        lines.append(line)

    train(config, [0, 1], tmp_path / "run", say=say)
    assert contents(tmp_path / "run") == contents(tmp_path / "in_turn")
    assert started and not any(process.is_alive() for process in started)
    assert len(lines) == 8
    assert all(line.startswith("seed") for line in lines)  # and none says that they died


@pytest.mark.parametrize("can_keep", [False, True])
def test_memory_is_kept_where_the_system_can_and_given_back(
    can_keep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, ...]] = []
    told = {name: lambda *given: calls.append(given) for name in ("mallopt", "malloc_trim")}
    library = SimpleNamespace(**(told if can_keep else {}))
    monkeypatch.setattr(training.ctypes, "CDLL", lambda _: library)
    asked = [(-3, 2**30), (-1, 2**31 - 1)] if can_keep else []
    with pytest.raises(KeyboardInterrupt), training.memory_kept():
        assert calls == asked
        raise KeyboardInterrupt
    assert calls == [*asked, (0,)] * can_keep


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_beside_a_gpu_the_host_has_one_thread(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen(*_: object) -> None:
        assert torch.get_num_threads() == (1 if device == "cuda" else 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "Ensemble", seen)
    monkeypatch.setattr(training, "EPOCHS_AHEAD", {})  # no processes
    monkeypatch.setattr(training, "provenance", lambda _: {})  # there may be no GPU to name
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with pytest.raises(KeyboardInterrupt):
            train(CONFIG, [0], tmp_path / "run", device=device, say=silent)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_gpu_trains_to_nearly_the_same_weights(whole: Path, tmp_path: Path) -> None:
    train(CONFIG, [0], tmp_path / "gpu", device="cuda", say=silent)
    for key, value in weights(whole).items():
        torch.testing.assert_close(weights(tmp_path / "gpu")[key], value, rtol=0, atol=1e-2)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_gpu_ahead_of_its_executions_leaves_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "HOPELESS", {})
    config = tiny_config("paper-mpnn", "training.max_epochs=5", "training.execution_graphs=4")
    for ahead in (0, 3):
        monkeypatch.setattr(training, "EPOCHS_AHEAD", {"cuda": ahead})
        train(config, [0, 1], tmp_path / f"{ahead}", device="cuda", say=silent)
    assert contents(tmp_path / "0") == contents(tmp_path / "3")
