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
        return name in ("train", "reproduce", "bench", "exam", "explore")


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
    told = capsys.readouterr().out.splitlines()
    assigned, prices, matching, proof, flow, last, columns = told
    assert columns == "tensor([[1, 0]])"
    assert assigned == "[('Ann', 'cook'), ('Dana', 'paint')] 7"
    assert prices.startswith("True {'left': ")
    assert matching == "[('ann', 'cook'), ('bob', 'sing')]"
    assert proof.startswith("True Cover(")
    assert flow.startswith("[(1, 2, 12), (1, 3, 11), ")
    assert "maximum" in last
    assert space["solution"].is_maximum
    (_, code), *_ = blocks(README, "python")
    statements = [line for line in code.splitlines() if line and "import" not in line]
    assert len(statements) <= 10


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
            case ("pip", "install", "-c", constraints, "." | ".[neural]"):
                assert (ROOT / constraints).exists(), command
            case _:
                pytest.fail(f"nothing checks the command {command}")


def test_the_place_of_the_results_is_marked() -> None:
    """Figures are filled in below this line by hand, from records."""
    assert README.read_text(encoding="utf-8").count("<!-- results -->\n") == 1
