"""A table records decisions, reports where they differ from the rules, and repeats them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from augury.algorithms.cells import CELLS, FLOOD, NEAREST, SUBTRACT
from augury.cells.cell import mask_of
from augury.cells.network import compiled
from augury.cells.table import Table, sets_of
from proven import of_rules, proven, untrained


def changed(table: Table, name: str, place: int) -> Table:
    entries = table.entries[name].copy()
    entries.reshape(-1)[place] = 100 if name == "nearest" else 1 - entries.reshape(-1)[place]
    return Table(table.cells, {**table.entries, name: entries})


def test_the_rules_agree_with_themselves_and_so_does_a_proven_network() -> None:
    for table in (of_rules(), compiled(proven())):
        assert table.differences() == []
        assert table.num_cases == 2 * 16 + 60 + 32 + 2 * 8
    assert compiled(untrained()).differences() == [cell.name for cell in CELLS]


@pytest.mark.parametrize("name", ["flood", "least", "subtract"])
def test_one_wrong_entry_is_found_wherever_a_case_occurs(name: str) -> None:
    table = compiled(proven())
    cell = next(cell for cell in CELLS if cell.name == name)
    for place, truth in enumerate(cell.truth.reshape(-1)):
        expected = [name] if truth >= 0 else []
        assert changed(table, name, place).differences() == expected, place


def test_a_kind_that_ranks_too_high_is_found() -> None:
    table = compiled(proven())
    best = 0b11 << 4 | 1
    for kind in range(64):
        # No such message: a usable link of weight 0, or a reached node's self loop.
        is_impossible = kind & 15 == 0 and kind > 0
        expected = [] if is_impossible or kind == best else ["nearest"]
        assert changed(table, "nearest", kind).differences() == expected, kind


def test_looking_up_answers_the_cases_as_the_rules_do() -> None:
    table = of_rules()
    own = np.array([case.own for case in FLOOD.cases])
    heard = np.array([mask_of(case.kinds) for case in FLOOD.cases])
    expected = np.array([case.expected for case in FLOOD.cases])
    np.testing.assert_array_equal(table.sets(FLOOD, own, heard) > 0, expected)
    expected = np.array([case.expected for case in SUBTRACT.cases])
    np.testing.assert_array_equal(table.points(SUBTRACT, np.arange(8)) > 0, expected)
    assert table.scores(NEAREST).argmax() == 0b11 << 4 | 1


def test_a_set_does_not_count() -> None:
    kind, start = np.array([3, 0, 3, 3, 1, 0, 0]), np.array([0, 4, 5, 7])
    assert sets_of(kind, start).tolist() == [0b1001, 0b10, 0b1]


def test_the_export_is_json_and_complete() -> None:
    told = json.loads(json.dumps(compiled(proven()).to_dict()))
    assert {name: np.array(entries).shape for name, entries in told["table"].items()} == {
        cell.name: cell.shape for cell in CELLS
    }
