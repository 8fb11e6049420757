"""The README's Python and commands run, and its files exist."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from augury.apps import cli
from documents import ROOT, blocks, parse, run_python

README = ROOT / "README.md"


class Command(NamedTuple):
    words: tuple[str, ...]
    output: str | None
    """What the README shows below it, if it does."""

    def __str__(self) -> str:
        return " ".join(self.words)

    @property
    def takes_long(self) -> bool:
        """Trainings, evaluations of what they leave, measurements, and a server that stays."""
        name = self.words[1] if self.words[0] == "augury" else ""
        if name == "evaluate":
            return self.words[2] != "classical"
        of_a_training = any(word.startswith("runs/") for word in self.words)
        return of_a_training or name in ("train", "reproduce", "bench", "exam", "explore")


def commands() -> list[Command]:
    """Return the shell commands of the README in order."""
    text = README.read_text(encoding="utf-8")
    found: list[Command] = []
    for block, shown in re.findall(r"```bash\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.DOTALL):
        lines = block.splitlines()
        outputs = [None] * (len(lines) - 1) + [shown or None]
        found += [
            Command(tuple(shlex.split(line, comments=True)), output)
            for line, output in zip(lines, outputs, strict=True)
        ]
    return found


def ours() -> list[Command]:
    return [command for command in commands() if command.words[0] == "augury"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the examples, as in a checkout."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_runs_and_prints_what_it_says(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = run_python(README)
    assigned, prices, flow, cut, columns = capsys.readouterr().out.splitlines()
    code = "".join(code for _, code in blocks(README, "python"))
    assert f"# {assigned}\n" in code and f"# {flow}\n" in code
    assert f"# {columns}: " in code
    assert prices.startswith("True {'left': ") and cut.startswith("True Cut(")
    assert space["rows"].tolist() == [0, 1, 2] and space["columns"].tolist() == [1, 0, 2]
    assert len(space["matching"]) == 28
    for _, code in blocks(README, "python"):
        assert len([line for line in code.splitlines() if line and "import" not in line]) <= 5


def test_the_commands_run_in_order(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    count = 0
    for command in ours():
        if command.takes_long:
            continue
        monkeypatch.setattr("sys.argv", list(command.words))
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capfd.readouterr()
        assert not end.value.code, f"{command}: {err}"
        assert command.output in (None, out), command
        count += 1
    assert count >= 5


@pytest.mark.parametrize("command", ours(), ids=str)
def test_every_command_of_ours_parses(command: Command) -> None:
    parse(command.words)


def test_all_other_commands_are_known() -> None:
    """What is not run here must at least exist: targets of the Makefile, files given to pip."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands():
        match command.words:
            case ("augury", *_):
                continue
            case ("make", target):
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), command
            case ("pip", "install", "-c", constraints, "." | ".[web]" | ".[neural]"):
                assert (ROOT / constraints).exists(), command
            case _:
                pytest.fail(f"nothing checks the command {command}")


def tables(text: str) -> dict[str, list[str]]:
    """Return the rows of Markdown tables by their first cell; of several, the first."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("| "):
            first, *cells = (cell.strip(" *") for cell in line.strip("|").split("|"))
            found.setdefault(first.strip(), cells)
    return found


REPRODUCTION = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")


def reproduced(heading: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the best-validated networks' figures of a table, and those over seeds."""
    section = REPRODUCTION.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    best, _, seeds = section.partition("Over seeds")
    return tables(best), tables(seeds)


RESULTS = README.read_text(encoding="utf-8").partition("<!-- results -->")[2].partition("\n## ")[0]
DENSE, SPARSE = RESULTS.split("| p = 3/n |")


@pytest.mark.parametrize("network", ["MPNN (t = 1)", "MPNN (BFS)", "PNA−STD (BFS)", "PNA (BFS)"])
def test_the_results_are_those_of_the_reproduction(network: str) -> None:
    table = "Table 2" if network == "PNA (BFS)" else "Table 1"
    best, seeds = reproduced(table)
    expected: list[str] = []
    for paper, ours, all_seeds in zip(
        best[network][::2], best[network][1::2], seeds[network], strict=True
    ):
        expected += [paper, f"{float(ours.split()[0]):.1f} ({float(all_seeds.split()[0]):.1f})"]
    assert tables(DENSE)[network] == expected


@pytest.mark.parametrize("network", ["MPNN (BFS)", "PNA−STD (BFS)", "discrete (BFS)"])
def test_the_sparse_results_are_those_of_the_reproduction(network: str) -> None:
    best, seeds = reproduced("Beyond the paper: sparse graphs")
    ours = [f"{float(cell.split()[0]):.1f}" for cell in best[network]]
    means = [f" ({float(cell.split()[0]):.1f})" for cell in seeds[network]]
    means += [""] * (len(ours) - len(means))
    assert tables(SPARSE)[network] == [a + b for a, b in zip(ours, means, strict=True)]


def test_the_results_say_on_how_many_graphs_they_rest() -> None:
    section = REPRODUCTION.partition("\n## Beyond the paper: sparse graphs")[2]
    told = " ".join(section.split())
    assert "16x, 32x, 64x: 50 graphs, 1 run each; 128x: 20 graphs, 1 run each" in told
    text = " ".join(RESULTS.split())
    assert "one run of the network that ships: 50 graphs at 16x, 32x and 64x, 20 at 128x" in text
