"""The model cards, and the README's table of models, say what checkpoints and records say."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from augury.models.checkpoint import DIGESTS
from documents import ROOT, commands, parse

CARDS = ROOT / "docs" / "models"


def script() -> Any:
    """Load docs/models/make.py, which is in no package."""
    spec = spec_from_file_location("make_cards", CARDS / "make.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = script()


@pytest.mark.parametrize("path", MAKE.documents(), ids=lambda path: path.name)
def test_every_figure_is_that_of_the_checkpoint_and_its_records(path: Path) -> None:
    """If this fails after a new training or evaluation: `python docs/models/make.py`."""
    text = path.read_text(encoding="utf-8")
    assert MAKE.filled(path) == text
    places = re.findall(r"<!-- made: (\w+) -->", text)
    expected = ["facts", "proof", "score"] if path.stem in DIGESTS else ["table"]
    assert places == expected == MAKE.PLACE.findall(text)


def test_every_shipped_network_has_a_card_and_a_row() -> None:
    assert {path.stem for path in CARDS.glob("*.md")} == {*DIGESTS, "index"}
    assert MAKE.NETWORKS.keys() == DIGESTS.keys()


def test_a_changed_figure_is_noticed(tmp_path: Path) -> None:
    text = (CARDS / "paper-mpnn.md").read_text(encoding="utf-8")
    other = tmp_path / "paper-mpnn.md"
    other.write_text(text.replace("60.8 ± 5.0", "80.8 ± 5.0"), encoding="utf-8")
    assert other.read_text(encoding="utf-8") != text == MAKE.filled(other)


@pytest.mark.parametrize("path", sorted(CARDS.glob("*.md")), ids=lambda path: path.name)
def test_commands_parse_and_links_lead_somewhere(path: Path) -> None:
    for words in commands(path):
        if words[0] == "augury":
            parse(words)
        else:
            assert words == ("make", "proof")
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert (path.parent / target.partition("#")[0]).exists(), target
