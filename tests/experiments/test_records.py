"""Files of records: whole lines only, each part once."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augury.classical.simulate import DECISIONS
from augury.errors import InputError
from augury.experiments.conditions import Condition, Extent
from augury.experiments.records import Part, RecordsFile, Runs, line_of, read_records


def a_part(seed: int = 0, **more: Any) -> Part:
    return replace(Part("paper-mpnn", seed, 3, Condition(), Extent(3, 2)), **more)


def the_runs(lost: int = 1) -> Runs:
    """Return two runs on three graphs, of which so many fell short."""
    maximum = np.array([[4, 5, 6], [4, 5, 6]])
    value = maximum - (np.arange(6).reshape(2, 3) < lost)
    counts = {str(name): 7 for name in DECISIONS}
    endings = ("done",) * 5 + ("gave_up",)
    return Runs(
        "paper-mpnn", "abc", value, maximum, maximum + 1, endings, counts, counts | {"search": 2}
    )


def test_a_part_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = RecordsFile(tmp_path / "records.jsonl")
    file.add(a_part(), the_runs())
    again = RecordsFile(tmp_path / "records.jsonl").parts
    assert list(again) == [a_part()]
    there, written = again[a_part()], the_runs()
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
    file = RecordsFile(path)
    file.add(a_part(0), the_runs())
    whole = len(path.read_bytes())
    file.add(a_part(1), the_runs())
    both = path.read_bytes()
    for cut in (whole + 1, len(both) - 1):
        path.write_bytes(both[:cut])
        again = RecordsFile(path)
        assert list(again.parts) == [a_part(0)]
        assert path.read_bytes() == both[:cut]  # as long as nothing is added
        again.add(a_part(1), the_runs())
        assert path.read_bytes() == both


def test_a_part_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    file = RecordsFile(path)
    file.add(a_part(), the_runs(0))
    file.add(a_part(), the_runs(6))
    assert path.read_text().count("\n") == 2
    other = line_of(a_part(), the_runs(6))
    path.write_text(path.read_text() + other)
    again = RecordsFile(path)
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
        file = RecordsFile(path)
        for part in order:
            file.add(part, the_runs())
        assert list(RecordsFile(path).parts) == order
        file.put_in_order()
        texts.add(path.read_text())
    assert len(texts) == 1


@pytest.mark.parametrize(
    "text",
    ["", "{}\n", "[]\n", '{"kind": "augury-parts"}\n', '{"kind": "augury-parts", "format": 2}\n'],
)
def test_another_kind_of_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "records.jsonl").write_text(text)
    with pytest.raises(InputError, match=r"records\.jsonl: this is not a file of Augury's records"):
        RecordsFile(tmp_path / "records.jsonl")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"seed":0,"epoch"', '"seed":"0","epoch"'),
        ('"epoch":3', '"epoch":null'),
        ('"scale":1', '"scale":1.5'),
        ('"neural_bottleneck":true', '"neural_bottleneck":"yes"'),
        ('"runs":2,"seed":0', '"runs":2,"seed":"0"'),
        ('"p":"1/4"', '"p":4'),
        ('"p":"1/4"', '"p":"4"'),
        ('"graphs":3', '"graphs":4'),
        ('"runs":2', '"runs":0'),
        ('"value":[[3', '"value":[[3.5'),
        ('"value":[[3', '"value":[["3"'),
        ('"value":[[3', '"value":[[-3'),
        ('"value":[[3', '"value":[[9007199254740993'),
        ('"value":[[3', '"value":[[99999999999999999999'),
        ('"value":[[3,', '"value":[['),
        ('"maximum":[4,', '"maximum":[4,4,'),
        ('"gave_up"', "7"),
        ('"asked":{"search":7', '"asked":{"search":true'),
        ('"wrong":', '"wrung":'),
        ('"weights":"abc"', '"weights":7'),
        ("{", "[{"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "records.jsonl"
    RecordsFile(path).add(a_part(), the_runs())
    head, line = path.read_text().splitlines(keepends=True)
    assert old in line
    path.write_text(head + line.replace(old, new, 1))
    with pytest.raises(InputError, match=r"records\.jsonl: line 2 is not one of Augury's records"):
        read_records(path)


def test_a_part_without_a_name_is_called_by_its_network(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    RecordsFile(path).add(a_part(), the_runs())
    path.write_text(path.read_text().replace('"name":"paper-mpnn",', ""))
    [runs] = RecordsFile(path).parts.values()
    assert (runs.name, runs.digest) == ("paper-mpnn", "abc")


def test_a_compressed_file_is_read_but_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    RecordsFile(path).add(a_part(), the_runs())
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert list(read_records(path).parts) == [a_part()]
    with pytest.raises(InputError, match=r"records\.jsonl: a compressed file cannot be continued"):
        RecordsFile(path)
