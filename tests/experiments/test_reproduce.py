"""`augury reproduce`: killed, interrupted, stopped or not, the report is the same."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load

from augury.apps import cli
from augury.experiments import plots, reproduce, run_folder, tasks
from augury.experiments.conditions import Condition, Extent
from augury.experiments.plan import Plan
from augury.experiments.records import Part, read_records
from augury.experiments.reproduce import Clock
from augury.experiments.run_folder import chosen_epoch
from command import Augury, Done, runner
from tiny import tiny_config

TINY = [
    *("--set", "data.train_graphs=4", "--set", "data.validation_graphs=2"),
    *("--set", "data.side=3", "--set", "data.extra_graphs=0", "--set", "network.hidden=4"),
    *("--set", "training.execution_graphs=1", "--set", "training.execution_scales=(1,)"),
    *("--seeds", "2", "--graphs", "2", "--runs", "2", "--max-scale", "1", "--max-epochs", "2"),
]
ASKED = ["--table", "3", "--figure", "2", "--beyond", "rule"]
COMMAND = [sys.executable, "-m", "augury.apps.cli", "reproduce", *ASKED, *TINY]
REPORT = (
    *("report.md", "records.jsonl", "reproduction/figure-2.png", "reproduction/figure-2.svg"),
)


@pytest.fixture(scope="module", autouse=True)
def _without_pdf() -> Iterator[None]:
    """Draw what is compared here; a PDF takes longest, and test_report.py has it."""
    every_form = plots.every_form

    def without_pdf(folder: Path, name: str) -> list[Path]:
        return [file for file in every_form(folder, name) if file.suffix != ".pdf"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "every_form", without_pdf)
        yield


@pytest.fixture
def augury(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Augury:
    """Run the command as the shell would, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return runner(monkeypatch, capfd, "reproduce")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run once without any interruption, in order, in this process."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["augury", *COMMAND[3:], "--out", str(folder)])
        with pytest.raises(SystemExit) as end:
            cli.main()
    assert not end.value.code
    yield folder


def assert_same(folder: Path, whole: Path) -> None:
    for name in REPORT:
        assert (folder / name).read_bytes() == (whole / name).read_bytes(), name


def state(folder: Path) -> tuple[int, int]:
    """Return how much of a run there is: files of trainings, bytes of records."""
    records = folder / "records.jsonl"
    trained = len(list(folder.glob("train/*/*/history.csv")))
    return trained, records.stat().st_size if records.exists() else 0


def test_the_run_folder_holds_trainings_records_report_and_plots(whole: Path) -> None:
    text = (whole / "report.md").read_text()
    assert "## Table 3: other probabilities of an edge" in text
    assert "| paper-mpnn (train_graphs=4, " in text and "98 ± 1.55" not in text
    lines = (whole / "records.jsonl").read_text().splitlines()[1:]
    assert all("hidden=4, " in json.loads(line)["name"] for line in lines)
    assert "paper-mpnn (train_graphs=4, " in (whole / "reproduction" / "times.md").read_text()
    assert "augury reproduce --table 3 --seeds 2 --graphs 2" in text
    for network in ("paper-mpnn", "paper-pna", "paper-pna-nostd", "discrete"):
        for seed in range(2):
            folder = whole / "train" / network / f"seed-{seed}"
            names = {path.name for path in folder.iterdir()}
            assert {"best.safetensors", "history.csv", "epoch-001.safetensors"} <= names
            assert "resume.safetensors" not in names
    for image in ("figure-2.png", "figure-2.svg", "times.md"):
        assert (whole / "reproduction" / image).exists()
    assert not list(whole.rglob("*.tmp"))
    times = (whole / "times.jsonl").read_text().splitlines()
    assert {json.loads(line)["what"] for line in times} == {"training", "part", "sitting"}


def interrupted_in_evaluations(augury: Augury, folder: Path) -> Done:
    """Run the command in this process, with Ctrl-C as soon as there are new records."""
    _, before = state(folder)

    def press() -> None:
        while state(folder)[1] <= before + 200:
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    presser = threading.Thread(target=press)
    presser.start()
    done = augury(*ASKED, *TINY, "--out", str(folder))
    presser.join()
    signal.signal(signal.SIGINT, handler)
    return done


# Ctrl-C may come between opening a file and the block that closes it.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_killed_and_interrupted_it_says_how_to_go_on_and_ends_the_same(
    whole: Path, augury: Augury, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill it in its evaluations, interrupt it after a training, then let it finish."""
    folder, temporary = tmp_path / "run", tmp_path / "tmp"
    shutil.copytree(whole / "train", folder / "train")
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)  # it is looked up again
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*COMMAND, "--out", str(folder)], **pipes) as process:
        while state(folder)[1] < 1000:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        assert process.communicate(timeout=120)[1] == ""
    for is_killed in (True, False):
        if not is_killed:
            shutil.rmtree(folder / "train" / "discrete" / "seed-1")
            done = interrupted_in_evaluations(augury, folder)
            goes_on = f"augury: interrupted; the same command goes on with {folder}\n"
            assert (done.code, done.err) == (cli.INTERRUPTED, goes_on)
        assert not (folder / "report.md").exists()
        assert not list(temporary.iterdir())
        assert (folder / "scratch").exists() == is_killed
        # What a process that dies in the middle of a line leaves.
        with (folder / "records.jsonl").open("a") as file:
            file.write('{"network": "pap')
    assert augury(*ASKED, *TINY, "--out", str(folder)).code == 0
    assert not (folder / "scratch").exists()
    assert_same(folder, whole)
    parts = (folder / "records.jsonl").read_text().splitlines()
    assert len(parts) == len(set(parts))
    times = map(json.loads, (folder / "times.jsonl").read_text().splitlines())
    sittings = [told["ended"] for told in times if told["what"] == "sitting"]
    assert sittings[-2] == "interrupted"
    again = augury(*ASKED, *TINY, "--out", str(folder))
    assert again.out == f"{folder}: report.md, records.jsonl, plots in reproduction/\n"
    assert_same(folder, whole)


def test_evaluate_reads_the_records_of_a_reproduction(
    whole: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    evaluate = runner(monkeypatch, capfd, "evaluate")
    done = evaluate("--from", str(whole / "records.jsonl"), "--json")
    assert (done.code, done.err) == (0, "")
    found = [json.loads(line) for line in done.out.splitlines()]
    parts = read_records(whole / "records.jsonl").parts
    assert sum(told["seeds"] for told in found) == len(parts)
    right = [told["accuracy"] * told["seeds"] * told["graphs"] * told["runs"] for told in found]
    assert sum(right) == pytest.approx(sum(runs.is_right.sum() for runs in parts.values()))
    table = evaluate("--from", str(whole / "records.jsonl"))
    assert table.code == 0 and len(table.out.splitlines()) == 1 + len(found)
    name = str(whole / "records.jsonl")
    refused = evaluate("classical", "--graphs", "9", "--out", name)
    assert refused.code == 2 and "were made with --graphs 2, not 9" in refused.err


def test_evaluate_reads_the_published_records(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = Path(__file__).parents[2] / "docs" / "reproduction" / "records.jsonl.gz"
    done = runner(monkeypatch, capfd, "evaluate")("--from", str(path))
    assert (done.code, done.err) == (0, "")
    assert re.search(r"^discrete, test seed 0 +8x +1/4 +bfs +100\.00 ± 0\.00 ", done.out, re.M)


def test_processes_side_by_side_give_the_same_report(whole: Path, augury: Augury) -> None:
    """All is trained: what trainings are given and return can be sent, as is tested below.

    What becomes of tasks whose process dies is tested in test_workers.py.
    """
    shutil.copytree(whole / "train", "run/train")
    done = augury(*ASKED, *TINY, "--out", "run", "--workers", "2")
    assert (done.code, done.err) == (0, "")
    assert_same(Path("run"), whole)


@pytest.mark.slow
def test_a_ray_cluster_gives_the_same_report(whole: Path, augury: Augury, joined: Any) -> None:
    done = augury(*ASKED, *TINY, "--out", "run", "--ray", "local", "--workers", "2")
    assert done.code == 0, done.err
    assert_same(Path("run"), whole)


def test_a_second_process_in_the_same_folder_is_refused(
    whole: Path, augury: Augury, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    (folder / "lock").touch()  # as a killed process leaves it: nobody holds it
    plan = Plan(())
    with run_folder.opened(folder, plan):
        done = augury(*ASKED, *TINY, "--out", str(folder))
        assert done.code == 2
        assert done.err == f"augury: {folder}: another process is at work here\n"
    assert augury(*ASKED, *TINY, "--out", str(folder)).code == 0


def test_stopped_for_time_and_tidied_up_it_ends_with_the_same_report(
    whole: Path, augury: Augury, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One epoch a slice, and a clock that strikes after every second look."""
    monkeypatch.setattr(reproduce, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(reproduce, "SAFETY", 0.0)
    run = [*ASKED, *TINY, "--out", "run", "--tidy"]
    for network in ("paper-pna", "paper-pna-nostd", "paper-mpnn"):
        shutil.copytree(whole / "train" / network, f"run/train/{network}")
    shutil.rmtree("run/train/paper-mpnn/seed-1")
    trained = augury(*run, "--train-only")
    assert (trained.code, state(Path("run"))[0]) == (0, 10)
    assert "every network is trained" in trained.out
    assert not Path("run/report.md").exists()
    stops = 0
    while not Path("run/report.md").exists():
        done = augury(*run, "--stop-after", "0.2")
        assert done.code == 0, done.err
        if "stopped after 0.2 s; the same command goes on" in done.out:
            stops += 1
        assert stops < 100
    assert stops
    assert_same(Path("run"), whole)
    left = {path.name for path in Path("run/train").rglob("*") if path.is_file()}
    assert left == {"best.safetensors", "history.csv"}


def test_trainings_of_augury_train_are_used(whole: Path, augury: Augury) -> None:
    """The folders of a run of `augury train`, under the network's name, count as trained."""
    for network in ("paper-mpnn", "paper-pna-nostd", "discrete"):
        shutil.copytree(whole / "train" / network, Path("run/train") / network)
        Path(f"run/train/{network}/resume.safetensors").write_bytes(b"of an ensemble")
    done = augury("--table", "3", *TINY, "--out", "run")
    assert (done.code, done.err) == (0, "")
    times = Path("run/times.jsonl").read_text().splitlines()
    assert "training" not in {json.loads(line)["what"] for line in times}
    # One that is not finished is the other command's to finish.
    history = Path("run/train/paper-mpnn/seed-0/history.csv")
    history.write_text("".join(history.read_text().splitlines(keepends=True)[:2]))
    done = augury("--table", "3", *TINY, "--out", "run")
    assert done.code == 2
    assert "run/train/paper-mpnn: this training is not finished; augury train" in done.err


def test_trainings_with_other_settings_and_other_weights_are_refused(
    whole: Path, augury: Augury
) -> None:
    shutil.copytree(whole, "run")
    done = augury(*ASKED, *TINY, "--out", "run", "--set", "training.patience=3")
    assert done.code == 2
    assert "trained with other settings: training.patience is 10, not 3" in done.err
    shutil.copy("run/train/discrete/seed-1/best.safetensors", "run/train/discrete/seed-0/")
    Path("run/train/discrete/seed-0/epoch-001.safetensors").unlink()
    done = augury(*ASKED, *TINY, "--out", "run")
    assert done.code == 2
    assert "made with other weights than those of run/train/discrete/seed-0/" in done.err


BAD = [
    ([], "say what: --all"),
    (["--table", "4"], "--table"),
    (["--figure", "1"], "--figure"),
    (["--beyond", "belief"], "none of rule, std, first, large, sparse"),
    (["--all", "--seeds", "0"], "--seeds"),
    (["--all", "--set", "network.width=3"], "there is no setting 'network.width'"),
    (["--quick", "--figure", "2"], "--quick has no epochs"),
    (["--quick", "--set", "network.hidden=64"], "trains nothing, so no setting would count"),
    (["--quick", "--max-epochs", "3"], "trains nothing, so no setting would count"),
    (["--beyond", "large", "--max-scale", "8"], "--max-scale 8 leaves nothing"),
    (["--all", "--ray", "nowhere:1", "--workers", "3"], "--workers"),
    (["--all", "--device", "tpu"], "must be cpu, cuda or auto"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(bad[0]) for bad in BAD])
def test_bad_input_is_explained_and_nothing_is_written(
    augury: Augury, arguments: list[str], message: str
) -> None:
    code, out, err = augury(*arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err
    assert not list(Path().iterdir())


def test_the_epoch_that_a_rule_chooses() -> None:
    assert chosen_epoch([], 2) == (-1, False)
    assert chosen_epoch([0.1, 0.3, 0.3, 0.2], 2) == (1, True)
    assert chosen_epoch([0.1, 0.3, 0.2, 0.4, 0.3], 2) == (3, False)
    assert chosen_epoch([0.1, 0.3, 0.2, 0.2, 0.4], 2) == (1, True)


def test_the_clock_goes_by_what_similar_tasks_took() -> None:
    part = Part("paper-mpnn", 0, 0, Condition(2), Extent(1, 1))
    told = {"what": "part", "network": "paper-mpnn", "scale": 2, "seconds": 6.0, "cost": part.cost}
    clock = Clock([told, told | {"seconds": 2.0}])
    assert clock.part(part) == pytest.approx(4)
    assert clock.part(Part("paper-mpnn", 0, 0, Condition(2), Extent(5, 2))) == pytest.approx(40)
    other = Part("discrete", 0, 0, Condition(1), Extent(1, 1))
    assert clock.part(other) == pytest.approx(4 * other.cost / part.cost)
    training = {"what": "training", "network": "discrete", "seconds": 6.0, "epochs": 2}
    clock.add(training)
    assert clock.epoch("discrete") == clock.epoch("paper-pna") == 3


def sent(message: Any) -> Any:
    """Return what another process would get."""
    return pickle.loads(pickle.dumps(message))


def test_a_training_in_slices_ends_as_one_in_one_piece() -> None:
    """Slices of one epoch each; every slice knows nothing but the file that the last one left."""
    config = tiny_config("paper-mpnn")
    once = tasks.perform(tasks.Training(1, config, "cpu", 1e9), Path("nowhere"))
    assert isinstance(once.made, dict)
    assert sum(name.startswith("epoch-") for name in once.made) == 3
    state = None
    for epoch in range(3):
        piece = sent(tasks.perform(sent(tasks.Training(1, config, "cpu", 0.0, state))))
        assert isinstance(piece.made, dict)
        assert sum(name.startswith("epoch-") for name in piece.made) == 1
        name = f"epoch-{epoch:03d}.safetensors"
        one, other = (load(files[name]) for files in (piece.made, once.made))
        assert all(bool((one[key] == other[key]).all()) for key in other)
        state = piece.made["resume.safetensors"]
