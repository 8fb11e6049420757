"""The tables of docs/performance.md are what the records say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tables
from tables import MARKED, PAGE, RESULTS, TABLES, digits, made, ratios, runs_of, spread


def test_every_table_of_the_page_is_made_from_its_records() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [found[1] for found in MARKED.findall(text)] == list(TABLES)
    assert made(text) == text


def test_every_record_is_there() -> None:
    named = {record for table in TABLES.values() for record in table.records}
    assert not {record for record in named if not (RESULTS / f"{record}.json").exists()}


def test_a_figure_is_the_range_over_runs_and_the_page_says_how_many(tmp_path: Path) -> None:
    for number, (fast, plain) in enumerate([(2.0, 34.0), (2.5, 40.0), (2.0, 38.0)], 1):
        row = {"network": "paper-mpnn", "what": "8x", "fast": fast, "plain": plain, "remark": ""}
        run = {"machine": {"cpu": "an abacus", "commit": "0123456789"}, "rows": [row]}
        name = "paper.json" if number == 1 else f"paper-{number}.json"
        (tmp_path / name).write_text(json.dumps(run))
    text = "before\n<!-- table: paper -->\nold\n<!-- end -->\nafter\n"
    then = made(text, tmp_path)
    assert "| `paper-mpnn` | a pass at 8x | 2.0–2.5 | 34–40 | 16–19 |" in then and "old" not in then
    assert "Three runs: an abacus, commit `0123456`." in then
    assert then.startswith("before\n") and then.endswith("<!-- end -->\nafter\n")
    assert made(then, tmp_path) == then


def test_without_records_a_table_stays(tmp_path: Path) -> None:
    text = "<!-- table: paper -->\nold\n<!-- end -->\n"
    assert made(text, tmp_path) == text


def test_runs_that_differ_widen_every_table(tmp_path: Path) -> None:
    """Every table can be made of three runs: each ratio of the second and third is another."""
    names = {record for table in TABLES.values() for record in table.records}
    for name in names:
        if len(runs_of(name)) > 1:
            continue  # its table stays
        text = (RESULTS / f"{name}.json").read_text()
        for number in ("", "-2", "-3"):
            (tmp_path / f"{name}{number}.json").write_text(text)
    page = made(PAGE.read_text(encoding="utf-8"), tmp_path)
    assert page.count("Three runs: ") == len(TABLES)
    now = PAGE.read_text(encoding="utf-8")
    assert page == now.replace("One run: ", "Three runs: ")


@pytest.mark.parametrize(
    ("values", "text"), [([3.44], "3.4"), ([0.0312, 0.031], "0.031"), ([8.0, 24.9], "8.0–25")]
)
def test_ratios_have_two_digits(values: list[float], text: str) -> None:
    assert ratios(values) == text


def test_what_is_not_known_is_a_dash() -> None:
    assert (ratios([None]), spread([None]), digits(1204.4)) == ("–", "–", "1,204")
    assert tables.runs_of("nothing of the kind") == []
