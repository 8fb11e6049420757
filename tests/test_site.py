"""The site: a reference with an example of every public name, tutorials that run, links that lead.

`make docs` builds all of it; here is what can be checked without building.
"""

from __future__ import annotations

import doctest
import inspect
import json
import re
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import augury
import augury.torch
from augury.paper.processors import PROCESSORS
from check_site import main
from documents import ROOT

REFERENCE = [
    name
    for path in sorted((ROOT / "docs" / "api").glob("*.md"))
    for name in re.findall(r"^::: (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if name != "augury.torch"  # its introduction
]
"""What the pages of the reference describe."""


def example_of(name: str) -> doctest.DocTest | None:
    """Return the example in the docstring of what a dotted name stands for."""
    module, _, own = name.rpartition(".")
    thing: Any = getattr(import_module(module), own)
    finder = doctest.DocTestFinder(recurse=False, exclude_empty=True)
    found = finder.find(thing, name, inspect.getmodule(thing))
    return next((test for test in found if test.examples), None)


def test_every_public_name_is_in_the_reference() -> None:
    public = {f"augury.{name}" for name in augury.__all__ if name != "__version__"}
    tensors = {f"augury.torch.{name}" for name in augury.torch.__all__}
    assert public | tensors <= set(REFERENCE)
    assert len(REFERENCE) == len(set(REFERENCE))


@pytest.mark.parametrize("name", REFERENCE)
def test_every_name_of_the_reference_has_an_example_that_runs(name: str) -> None:
    example = example_of(name)
    assert example is not None, "the docstring has no example"
    told: list[str] = []
    doctest.DocTestRunner().run(example, out=told.append)
    assert not told, "".join(told)


def test_every_page_is_in_the_menu() -> None:
    pages = {path for kind in ("md", "ipynb") for path in (ROOT / "docs").rglob(f"*.{kind}")}
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"^ +- (?:[^#\n]+: )?([\w/-]+\.(?:md|ipynb))$", menu, re.MULTILINE)
    from_outside = {"contributing.md", "changelog.md"}
    assert {path.relative_to(ROOT / "docs").as_posix() for path in pages} | from_outside == {
        *listed
    }
    assert len(listed) == len({*listed})


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
TRAIN = {"own_processor", "train_and_verify"}
"""Tutorials that train: half a minute each, and their last digits depend on the machine."""


def code_of(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook that hold code."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def printed(cell: dict[str, Any]) -> str:
    """Return what a cell has printed, as the notebook keeps it."""
    return "".join("".join(own["text"]) for own in cell["outputs"] if "text" in own)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_is_kept_as_it_was_executed(path: Path) -> None:
    cells = code_of(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [own for cell in cells for own in cell["outputs"]]
    assert len(outputs) >= 3
    assert {own["output_type"] for own in outputs} <= {"stream", "execute_result"}
    assert {own.get("name", "stdout") for own in outputs} == {"stdout"}, "a warning"
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(?:home|root|tmp|usr)/|site-packages|[A-Z]:\\\\Users", text)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in TRAIN))
        for path in TUTORIALS
    ],
)
def test_a_tutorial_runs_and_prints_what_it_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PROCESSORS, "mean", PROCESSORS["mpnn"])  # gone at the end, as is theirs
    space: dict[str, Any] = {"__name__": "tutorial"}
    for number, cell in enumerate(code_of(path), 1):
        with redirect_stdout(StringIO()) as out:
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), space)
        if path.stem not in TRAIN and "ran on: " not in printed(cell):
            assert out.getvalue() == printed(cell)


def page(body: str, head: str = "") -> str:
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


def test_a_site_whose_links_lead_somewhere_passes(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    links = '<a href="more/b.html#there">b</a><a href="#here">h</a><a href="https://x.org">x</a>'
    (tmp_path / "a.html").write_text(page(f'<h1 id="here">A</h1>{links}<img src="data:,">'))
    (tmp_path / "more" / "b.html").write_text(page('<h2 id="there">B</h2><a href="..">up</a>'))
    (tmp_path / "index.html").write_text(page("", '<link rel="canonical" href="https://x.org">'))
    assert main([str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html">b</a>', "b.html leads nowhere"),
        ('<a href="#there">b</a>', "#there names no place"),
        ('<a href="index.html#there">b</a>', "#there names no place"),
        ('<img src="no.png">', "no.png leads nowhere"),
        ('<script src="https://x.org/a.js"></script>', "loads https://x.org/a.js"),
        ('<link rel="stylesheet" href="//x.org/a.css">', "loads //x.org/a.css"),
        ('<iframe src="http://x.org"></iframe>', "loads http://x.org"),
    ],
)
def test_a_broken_site_is_refused(
    body: str, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index.html").write_text(page(body))
    assert main([str(tmp_path)]) == 1
    assert fault in capsys.readouterr().out
