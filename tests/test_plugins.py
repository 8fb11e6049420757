"""Processors and models of one's own: every command knows them once their file is given."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

import pytest
import torch

from augury import plugins, solve
from augury.config import Config, NetworkConfig
from augury.errors import InputError
from augury.experiments.evaluate import load_models
from augury.models import checkpoint
from augury.models.checkpoint import find, find_all, load, make_network, save
from augury.paper import processors
from command import Augury, runner

OWN = """
from augury.classical.ford_fulkerson import BELLMAN_FORD, BREADTH_FIRST
from augury.paper.processors import MPNN, PROCESSORS

class Louder(MPNN):
    def update(self, nodes, prepared, wiring):
        return 2 * super().update(nodes, prepared, wiring)

PROCESSORS["louder"] = lambda hidden, _: Louder(hidden)
executor = BREADTH_FIRST
lazy = BELLMAN_FORD._replace(is_done=lambda batch, *_: batch.source >= 0)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file with a processor and two executors; afterwards nobody knows them."""
    monkeypatch.setattr(processors, "PROCESSORS", processors.PROCESSORS)
    monkeypatch.setitem(processors.PROCESSORS, "louder", None)
    del processors.PROCESSORS["louder"]
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my.py"
    path.write_text(OWN)
    return path


def write_network(path: Path) -> None:
    """Write an untrained network with the processor of the file."""
    config = Config(preset="paper-mpnn", network=NetworkConfig(processor="louder", hidden=8))
    drawn = torch.Generator().manual_seed(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, make_network(config.network, generator=drawn).state_dict(), config, {"seed": 0})


def test_a_checkpoint_of_ones_own_is_known_once_its_file_is_given(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(plugins.VARIABLE, str(own))
    write_network(Path("run/seed-3/best.safetensors"))
    processors.PROCESSORS.pop("louder")
    monkeypatch.delenv(plugins.VARIABLE)
    with pytest.raises(InputError, match=r"'louder', none of mpnn.*--import FILE") as caught:
        load(find("run"))
    assert "damaged" not in str(caught.value)
    plugins.imported.cache_clear()
    monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join([str(own), ""]))
    assert type(load(find("run")).network.processor).__name__ == "Louder"


def test_a_command_takes_the_file(
    own: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(plugins.VARIABLE, str(own))
    write_network(Path("run/best.safetensors"))
    processors.PROCESSORS.pop("louder")
    plugins.imported.cache_clear()
    monkeypatch.setenv(plugins.VARIABLE, "")
    augury: Augury = runner(monkeypatch, capfd, "evaluate")
    small = ["--graphs", "1", "--runs", "1", "--scales", "1"]
    done = augury("run", *small, "--import", "my.py")
    assert done.code == 0 and "paper-mpnn (processor=louder, hidden=8)" in done.out
    assert os.environ[plugins.VARIABLE] == str(own)  # for child processes


def test_an_executor_of_ones_own_is_evaluated_solved_with_and_watched(
    own: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert solve([(0, 0), (0, 1), (1, 0)], model="my.py:executor").size == 2
    assert solve([(0, 0)], model="my.py:lazy", exact=False).size == 0  # who gives up at once
    [model] = load_models(["my.py:lazy"], "cpu")
    assert (model.name, model.seed) == ("my.py:lazy", 0)
    Path("graph.csv").write_text("left,right\na,x\na,y\nb,x\n")
    augury: Augury = runner(monkeypatch, capfd, "solve")
    done = augury("graph.csv", "--model", "my.py:executor", "--story", "story.json")
    assert done.code == 0 and '"my.py:executor"' in Path("story.json").read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("none.py:executor", "there is no such Python file"),
        ("my.py:nothing", "there is no nothing in this file"),
        ("bad.py:executor", "bad.py: ZeroDivisionError: division by zero"),
    ],
)
def test_what_cannot_be_imported_is_one_sentence(own: Path, text: str, words: str) -> None:
    Path("bad.py").write_text("1 / 0")
    with pytest.raises(InputError, match=words):
        plugins.own_model(text)
    assert plugins.own_model("runs/paper-mpnn") is None
    assert plugins.own_model("C:/runs/best.safetensors") is None


def test_packages_offer_processors_as_entry_points(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Offered:
        def load(self) -> None:
            processors.PROCESSORS["louder"] = lambda hidden, _: processors.MPNN(hidden)

    def offered(group: str) -> list[Offered]:
        return [Offered()] if group == plugins.GROUP else []

    monkeypatch.setattr(importlib.metadata, "entry_points", offered)
    plugins._load_entry_points.cache_clear()
    assert not processors.is_known("quieter") and processors.is_known("louder")
    plugins._load_entry_points.cache_clear()


def test_of_a_run_folder_with_several_networks_one_must_be_named(tmp_path: Path) -> None:
    for seed in (0, 2, 10):
        path = tmp_path / f"seed-{seed}" / "best.safetensors"
        path.parent.mkdir()
        path.write_bytes(checkpoint.shipped()["discrete"].read_bytes())
    assert [path.parent.name for path in find_all(str(tmp_path))] == ["seed-0", "seed-2", "seed-10"]
    with pytest.raises(InputError, match=r"holds 3 networks, and one is wanted, such as .*seed-0"):
        find(str(tmp_path))
    assert find(str(tmp_path / "seed-2")).parent.name == "seed-2"


def test_a_file_to_import_that_is_not_there_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    augury: Augury = runner(monkeypatch, capfd, "train")
    done = augury("paper-mpnn", "--import", "nosuch.py", "--out", str(tmp_path / "run"))
    assert done.code == 2 and not (tmp_path / "run").exists()
    assert done.err == "augury: --import nosuch.py: there is no such Python file\n"
