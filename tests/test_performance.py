"""The tables of docs/performance.md are what the records say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tables
from augury.engines import flows
from flow_operations import ARC_BYTES, COUNTED, NODE_BYTES
from tables import MARKED, PAGE, RESULTS, TABLES, digits, made, ratios, spread


def test_every_table_of_the_page_is_made_from_its_records() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [found[1] for found in MARKED.findall(text)] == list(TABLES)
    assert made(text) == text


NAMED = {record for table in TABLES.values() for record in table.records}
MISSING = {record for record in NAMED if not (RESULTS / f"{record}.json").exists()}


def test_every_record_is_there() -> None:
    assert not MISSING


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
    once, thrice = tmp_path / "once", tmp_path / "thrice"
    for folder, numbers in ((once, [""]), (thrice, ["", "-2", "-3"])):
        folder.mkdir()
        for name in NAMED - MISSING:
            text = (RESULTS / f"{name}.json").read_text()
            for number in numbers:
                (folder / f"{name}{number}.json").write_text(text)
    page = made(PAGE.read_text(encoding="utf-8"), thrice)
    known = [table for table in TABLES.values() if not MISSING & set(table.records)]
    assert page.count("Three runs: ") == len(known) > 9
    alone = made(PAGE.read_text(encoding="utf-8"), once)
    assert page.replace("Three runs: ", "One run: ") == alone


@pytest.mark.parametrize(
    ("values", "text"), [([3.44], "3.4"), ([0.0312, 0.031], "0.031"), ([8.0, 24.9], "8.0–25")]
)
def test_ratios_have_two_digits(values: list[float], text: str) -> None:
    assert ratios(values) == text


def test_what_is_not_known_is_a_dash() -> None:
    assert (ratios([None]), spread([None]), digits(1204.4)) == ("–", "–", "1,204")
    assert tables.runs_of("nothing of the kind") == []


def test_ratios_of_whole_calls_are_to_what_ran_beside_them(tmp_path: Path) -> None:
    """Three more tables, each of two runs."""
    records = {
        "evaluated": {
            "rows": [
                {"network": "gl1", "pairs": 2940, "SciPy": 5, "table": 1, "lookup": 50, "plain": 9}
            ]
        },
        "overhead": {
            "small": [{"input": "ten pairs", "solve": 0.06, "SciPy": 0.02}],
            "large": [{"input": "grid", "arcs": 1000, "solve": 6.0, "kernel": 1.5}],
            "commands": [{"command": "augury --help", "seconds": 0.1}],
            "files": [{"file": "integers", "seconds": 0.5}],
        },
        "batches": {
            "rows": [{"form": "list", "solved": 80.0, "read": 20.0, "peer": 40.0, "by": "us"}]
        },
    }
    for name, told in records.items():
        for number in ("", "-2"):
            own = json.dumps({"machine": {"cpu": "an abacus"}} | told)
            (tmp_path / f"{name}{number}.json").write_text(own)
            own = own.replace('"table": 1', '"table": 2').replace('"solve": 6', '"solve": 9')
            told = json.loads(own)
    marks = (
        f"<!-- table: {name} -->\n<!-- end -->\n" for name in ("evaluated", "overhead", "forms")
    )
    page = made("".join(marks), tmp_path)
    assert (
        "| gl1 (2,940 pairs of arcs) | 5.0 ms | 0.20–0.40 (1.0 ms) | 10 (50 ms) | 1.8 (9.0 ms) |"
        in page
    )
    assert "| ten pairs | 3.0 (0.060 ms) | SciPy |" in page
    assert "| grid, 1,000 | 4.0–6.0 (6.0 ms) | its kernel |" in page
    assert "| list | 2.0 | 0.50 | 80 | us 40 |" in page
    assert "| `augury --help` | 0.10 |" in page and "| reading integers | 0.50 |" in page
    assert page.count("Two runs: an abacus.") == 3


def test_the_lines_that_are_counted_are_there() -> None:
    """If this fails, the loops of large flows have changed, and COUNTED has to follow."""
    text = Path(flows.__file__).read_text(encoding="utf-8")
    assert [text.count(line) for line, _ in COUNTED.values()] == [1] * len(COUNTED)
    network = flows.Network.of(1000, 1000)
    nodes = sum(field.dtype.itemsize for field in network if len(field) in (1000, 1001)) - 16
    assert (nodes, ARC_BYTES) == (NODE_BYTES, network.head.strides[0])
