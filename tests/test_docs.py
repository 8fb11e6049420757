"""The Python in the documents runs as written, and their links resolve."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from augury.config import PRESETS, NetworkConfig
from augury.models.checkpoint import make_network
from augury.paper.processors import PROCESSORS
from documents import ROOT, blocks, commands, parse, run_and_tell, run_python

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)\s]+)\)")
ALONE = ("own_model.md", "libraries.md", "explore.md", "formats.md")
"""Documents with Python that a test of their own runs."""


@pytest.mark.parametrize(
    ("graphs", "least"), [("30", 8), pytest.param("100", 15, marks=pytest.mark.slow)]
)
def test_a_model_of_your_own_learns_and_executes(
    graphs: str,
    least: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    space = run_python(ROOT / "docs" / "own_model.md", num_graphs=graphs)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["8 + 8", "16 + 16", "32 + 32"]
    assert all(re.fullmatch(r".*: \d+ of 20 maximum, \d+ of \d+ searches failed", x) for x in lines)
    # Random predecessors find next to nothing; that the model learnt is part of the promise.
    assert int(lines[0].split()[3]) >= least
    assert len(space["runs"]) == 20
    assert all(run.value <= run.maximum for run in space["runs"])


TOLD = {
    "index.md": 3,
    "tutorial.md": 9,
    "how-to/solve_a_file.md": 1,
    "how-to/say_what_you_want.md": 4,
    "how-to/certify.md": 2,
    "how-to/batches.md": 5,
}
"""Documents whose blocks of Python are followed by what they print, and how many at least."""


@pytest.mark.parametrize("name", TOLD)
def test_a_document_prints_what_it_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    told = run_and_tell(ROOT / "docs" / name)
    assert len(told) >= TOLD[name]
    for printed, written in told:
        assert printed == written


def test_the_examples_for_other_libraries_run() -> None:
    run_python(ROOT / "docs" / "libraries.md")


def test_the_examples_of_the_page_run() -> None:
    space = run_python(ROOT / "docs" / "explore.md")
    assert "paper-mpnn" in space["text"] and "</html>" in space["text"]


def test_the_examples_of_the_formats_run_on_the_files_that_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ROOT / "docs" / "formats.md"
    shown = re.findall(
        r'^```\w+ title="([\w.]+)"\n(.*?)^```$', path.read_text("utf-8"), re.M | re.S
    )
    for name, text in shown:
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    space = run_python(path)
    assert (space["graph"].num_edges, space["network"].num_nodes) == (3, 3)
    assert (tmp_path / "people.json.gz").exists()


def test_the_processor_in_the_documentation_can_be_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PROCESSORS, "louder", None)
    run_python(ROOT / "docs" / "training.md")
    quiet, louder = (make_network(NetworkConfig(processor=name)) for name in ("mpnn", "louder"))
    assert quiet.state_dict().keys() == louder.state_dict().keys()
    assert type(louder.processor).__name__ == "Louder"


def test_every_document_with_python_is_run_by_a_test() -> None:
    """README.md, networkx.md and cluster.md are run by their own tests, the others above."""
    others = {"README.md", *(f"docs/{name}.md" for name in ("cluster", "networkx", "training"))}
    run = {f"docs/{name}" for name in (*TOLD, *ALONE)} | others
    assert {str(path.relative_to(ROOT)) for path in DOCUMENTS if blocks(path, "python")} == run


def test_every_picture_is_shown_somewhere() -> None:
    shown = {target for path in DOCUMENTS for target in LINK.findall(path.read_text("utf-8"))}
    names = {target.rpartition("/")[2] for target in shown}
    assert {path.name for path in (ROOT / "docs" / "images").glob("*.png")} <= names


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://", "#")):
            file = (path.parent / target.partition("#")[0]).resolve()
            assert file.exists(), target
            assert file.is_relative_to(ROOT), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_documents_name_exist(path: Path) -> None:
    """Backquoted names that look like files of the project exist."""
    pattern = re.compile(r"`((?:src|tests|docs|examples|benchmarks|classical|neural)/[\w/.]+)`")
    for name in pattern.findall(path.read_text(encoding="utf-8")):
        assert (ROOT / name).exists() or (ROOT / "src" / "augury" / name).exists(), name


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_documents_parse(path: Path) -> None:
    for words in commands(path):
        match words:
            case ("augury", *_):
                parse(words)
            case ("pip", "install", "-c", constraints, what):
                assert (ROOT / constraints).exists(), words
                extra = what.removeprefix(".").strip("[]")
                assert not extra or f"\n{extra} = [" in PROJECT, words
            case ("make", target):
                assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), words
            case ("python", script, *_):
                assert (ROOT / script).exists(), words
            case ("curl", *_):
                pass  # tests/apps/explore/test_server.py makes these calls
            case _:
                assert words == () or (ROOT / words[0]).is_relative_to(ROOT / ".venv"), words


def test_the_presets_of_the_documents_are_the_presets() -> None:
    text = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    table = text.partition("## Presets")[2].partition("##")[0]
    assert set(re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE)) == set(PRESETS)


def test_the_layout_names_every_module_of_the_core() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    layout = text.partition("```text")[2].partition("```")[0]
    for part in ("classical", "neural", "experiments"):
        for path in (ROOT / "src" / "augury" / part).glob("[!_]*.py"):
            assert f"    {path.name} " in layout, path


def test_the_walk_through_the_code_is_as_short_as_it_says() -> None:
    """If this fails, `python benchmarks/walk.py` says what docs/architecture.md should."""
    walk = [sys.executable, ROOT / "benchmarks" / "walk.py"]
    told = subprocess.run(walk, capture_output=True, text=True, check=True).stdout.splitlines()
    files = [line.partition(".py: ")[0] for line in told if ".py: " in line]
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text[text.index("### The walk") : text.index("## Cells")]
    assert re.findall(r"^\| `(\S+)\.py`", table, re.MULTILINE) == list(dict.fromkeys(files))
    functions, number, returns = re.findall(r"\d+", told[-1])
    sentence = f"{functions} functions in these {number} files, with {returns} returns"
    assert sentence in " ".join(table.split())
