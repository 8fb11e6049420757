"""A folder that needs no server: what is in it, and what it says of the network."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augury.algorithms.cells import CELLS
from augury.apps.explore import static
from augury.apps.explore.static import said_in_every_case, write_static
from augury.models import MODELS
from augury.page import DEMO, SHEETS, asset


def test_what_the_network_says_decides_as_its_shipped_table() -> None:
    said, told = said_in_every_case(), json.loads((MODELS / "discrete.json").read_text())["table"]
    assert set(said) == set(told) == {cell.name for cell in CELLS}
    for cell in CELLS:
        own, table = np.array(said[cell.name]), np.array(told[cell.name])
        assert own.shape == table.shape == cell.shape
        if cell.joins == "choice":
            assert (np.argsort(own) == np.argsort(table)).all()
        else:
            occurs = table >= 0
            assert ((own > 0)[occurs] == table[occurs]).all()


def test_the_folder_holds_page_and_sheets_and_loads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start: dict[str, Any] = {"name": "<b>mine</b>", "about": "", "graph": {"edges": [["a", "b"]]}}
    few = [one for one in json.loads(asset("examples.json")) if "4 + 4" in one["name"]]
    monkeypatch.setattr(static, "asset", lambda name: json.dumps(few) if "exa" in name else name)
    write_static(tmp_path / "a" / "b", start)
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == {"index.html", *SHEETS}
    text = (tmp_path / "a" / "b" / "index.html").read_text()
    found = re.search(r'id="demo">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    assert not set("<>&") & set(found.group(1))
    data = json.loads(found.group(1))
    assert [example["name"] for example in data["examples"]] == ["<b>mine</b>", few[0]["name"]]
    assert text.count("<script>") == len(DEMO)
    assert "src=" not in text
    assert "connect-src" not in text
    runs = [(run["model"], run["other"], run["seed"]) for run in data["recorded"]]
    assert runs == 2 * [("paper-mpnn", "", 0), ("discrete", "paper-mpnn", 0)]
    sizes = [story["solution"]["size"] for story in data["recorded"][-1]["shown"]["stories"]]
    assert sizes == [4, 3]
