"""Files of parts: whole lines only, each part once, and in the end always in the same order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augury.classical.simulate import DECISIONS
from augury.errors import InputError
from augury.experiments.evaluate import Condition
from augury.experiments.parts import Outcome, Part, PartsFile, outcome_of, pooled
from augury.experiments.records import Extent


def a_part(seed: int = 0, **more: Any) -> Part:
    return replace(Part("paper-mpnn", seed, 3, Condition(), Extent(3, 2)), **more)


def an_outcome(lost: int = 1) -> Outcome:
    """Return two runs on three graphs, of which so many fell short."""
    maximum = np.array([[4, 5, 6], [4, 5, 6]])
    value = maximum - (np.arange(6).reshape(2, 3) < lost)
    counts = {str(name): 7 for name in DECISIONS}
    endings = ("done",) * 5 + ("gave_up",)
    return Outcome(
        "paper-mpnn", "abc", value, maximum, maximum + 1, endings, counts, counts | {"search": 2}
    )


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = PartsFile(tmp_path / "records.jsonl")
    file.add(a_part(), an_outcome())
    again = PartsFile(tmp_path / "records.jsonl").parts
    assert list(again) == [a_part()]
    there, written = again[a_part()], an_outcome()
    for name in ("value", "maximum", "rounds"):
        assert np.array_equal(getattr(there, name), getattr(written, name))
    assert (there.ending, there.asked, there.wrong) == (
        written.ending,
        written.asked,
        written.wrong,
    )
    assert there.accuracy == pytest.approx(5 / 6)
    assert there.by_run.tolist() == pytest.approx([2 / 3, 1])
    assert there.flow_error == pytest.approx(1 / 6)


def test_a_torn_last_line_is_no_part_and_makes_room_for_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    file = PartsFile(path)
    file.add(a_part(0), an_outcome())
    whole = path.read_bytes()
    file.add(a_part(1), an_outcome())
    both = path.read_bytes()
    for cut in (len(whole) + 1, len(both) - 1):
        path.write_bytes(both[:cut])
        again = PartsFile(path)
        assert list(again.parts) == [a_part(0)]
        assert path.read_bytes() == whole
        again.add(a_part(1), an_outcome())
        assert path.read_bytes() == both


def test_a_part_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    file = PartsFile(path)
    file.add(a_part(), an_outcome(0))
    file.add(a_part(), an_outcome(6))
    assert path.read_text().count("\n") == 2
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    again = PartsFile(path)
    again.put_in_order()
    assert path.read_text().count("\n") == 2
    assert again.parts[a_part()].accuracy == 1


def test_the_order_of_work_leaves_no_trace(tmp_path: Path) -> None:
    parts = [
        a_part(2),
        a_part(0),
        a_part(10),
        a_part(0, epoch=1),
        a_part(0, condition=Condition(2)),
        a_part(0, extent=Extent(3, 2, seed=1)),
    ]
    texts = set()
    for order in (parts, parts[::-1]):
        path = tmp_path / f"{len(texts)}.jsonl"
        file = PartsFile(path)
        for part in order:
            file.add(part, an_outcome())
        assert list(PartsFile(path).parts) == order
        file.put_in_order()
        texts.add(path.read_text())
    assert len(texts) == 1


@pytest.mark.parametrize("text", ["", "{}\n", "graph\n", '{"kind": "augury-records"}\n'])
def test_another_kind_of_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "records.jsonl").write_text(text)
    with pytest.raises(InputError, match=r"records\.jsonl: this is not a file of Augury's parts"):
        PartsFile(tmp_path / "records.jsonl")


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    PartsFile(path).add(a_part(), an_outcome())
    path.write_text(path.read_text().replace('"value"', '"valve"'))
    with pytest.raises(InputError, match=r"records\.jsonl: line 2 is not one of Augury's parts"):
        PartsFile(path)


def test_records_are_put_side_by_side_and_decisions_added() -> None:
    records = [
        {
            "model": "paper-mpnn (hidden=8)",
            "weights": "w",
            "value": 10 * run + graph,
            "maximum": 20,
            "rounds": 1,
            "ending": "done",
            "asked": dict.fromkeys(DECISIONS, 2),
            "wrong": dict.fromkeys(DECISIONS, 1),
        }
        for run in range(2)
        for graph in range(3)
    ]
    outcome = outcome_of(records, Extent(3, 2))
    assert outcome.value.tolist() == [[0, 1, 2], [10, 11, 12]]
    assert outcome.name == "paper-mpnn (hidden=8)"
    assert pooled([outcome, outcome], "search") == (24, 12)


def test_parts_of_before_they_had_names_are_read(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    PartsFile(path).add(a_part(), an_outcome())
    path.write_text(path.read_text().replace('"name":"paper-mpnn",', ""))
    [outcome] = PartsFile(path).parts.values()
    assert (outcome.name, outcome.weights) == ("", "abc")
