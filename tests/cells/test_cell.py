"""A declaration has exactly the cases that occur, each once, with the rule's own answer."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from augury.algorithms.cells import CELLS, FLOOD, LEAST, NEAREST, SUBTRACT
from augury.cells.cell import Case, Cell, kinds_of, mask_of

COUNTS = {"flood": 16, "nearest": 60, "least": 32, "subtract": 8}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_no_case_counts_twice(cell: Cell) -> None:
    assert len(cell.cases) == COUNTS[cell.name]
    assert len({(case.own, case.kinds) for case in cell.cases}) == len(cell.cases)


def test_a_node_always_hears_itself() -> None:
    for cell, alone in ((FLOOD, [(0, 0), (1, 0)]), (LEAST, list(product((0, 1), repeat=2)))):
        for case in cell.cases:
            assert alone[case.own] in [cell.kinds[kind] for kind in case.kinds]


def test_the_rules_are_those_of_the_theorem() -> None:
    """Written here a second time, as docs/verification.md states them."""
    for own, kinds, expected in FLOOD.cases:
        hears = 0b11 in kinds
        assert expected == (bool(own) or hears, not own and hears)
    for own, kinds, expected in LEAST.cases:
        candidate, digit = divmod(own, 2)
        assert expected == (bool(candidate and not (digit and 0b10 in kinds)),)
    for own, kinds, expected in SUBTRACT.cases:
        digit, amount, borrow = own >> 2, own >> 1 & 1, own & 1
        left = digit - amount - borrow
        assert kinds == () and expected == (left % 2 == 1, left < 0)


def test_a_choice_compares_neighbours_in_the_order_that_must_hold() -> None:
    pairs = {case.kinds for case in NEAREST.cases}
    valid = [0b11 << 4 | weight for weight in range(1, 16)]
    assert set(pairwise(valid)) <= pairs
    others = {worse for better, worse in pairs if better == valid[-1]}
    assert len(pairs) == 14 + len(others) and others.isdisjoint(valid)
    # Only the self loop of a node that is not reached weighs 0.
    assert {kind for kind in others if not kind & 15} == {0}
    assert len(others) == 1 + 3 * 15


def test_sets_and_their_numbers_are_one_to_one() -> None:
    assert [mask_of(kinds_of(mask)) for mask in range(64)] == list(range(64))
    assert kinds_of(0b1010) == (1, 3)


def test_the_truth_as_a_table_has_a_place_for_every_case_and_no_other() -> None:
    for cell in (FLOOD, LEAST, SUBTRACT):
        assert cell.truth.shape == cell.shape
        filled = (cell.truth >= 0).all(-1)
        assert int(filled.sum()) == len(cell.cases)
        for case in cell.cases:
            assert tuple(cell.truth[case.own, mask_of(case.kinds)].astype(bool)) == case.expected
    ranks = NEAREST.truth
    assert ranks.max() == 15 == ranks[0b11 << 4 | 1] and ranks[0b11 << 4] == -1
    assert all(ranks[better] == ranks[worse] + 1 for _, (better, worse), _ in NEAREST.cases)
    assert np.array_equal(np.flatnonzero(ranks > 0), (0b11 << 4) + np.arange(1, 16))


def test_fields_may_have_several_bits_and_numbers_put_the_first_highest() -> None:
    cell = Cell(name="sum", own="small:2 flag", output="odd", rule=lambda own: (sum(own) % 2,))
    assert cell.owns[0b101] == (2, 1) and cell.owns[0b101].flag == 1
    assert cell.cases[0b101] == Case(0b101, (), (True,))
    assert cell.shape == (8, 1, 1)


def test_a_case_is_described_by_its_fields() -> None:
    assert FLOOD.words(Case(1, (2, 3), (True, False))) == (
        "reached=1, hearing reached=1 usable=0 and reached=1 usable=1"
    )
    assert NEAREST.words(NEAREST.cases[0]).count("weight=") == 2
    assert SUBTRACT.words(SUBTRACT.cases[5]) == "digit=1 amount=0 borrow=1"
