"""Assignments are checked by their own prices, by SciPy, and where they are small by all others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from augury.classical.arrays import read_only
from augury.classical.first import first_in_order
from augury.engines import assignment_tables, assignments, least_cost
from augury.engines.assignment_loops import largest as largest_of
from augury.engines.assignments import INFEASIBLE, INVALID, OPTIMAL, Assignments, assign_dense
from augury.errors import InputError
from costs import as_graph

DTYPES = (np.int32, np.int64, np.float32, np.float64)
SHAPES = [(1, 1), (4, 4), (5, 8), (8, 5), (20, 21), (33, 7), (9, 70), (66, 66)]


def exact(values: Any) -> Any:
    return np.frompyfunc(lambda one: Fraction(one) if np.isfinite(one) else Fraction(0), 1, 1)(
        values.astype(object)
    )


def check(cost: Any, answer: Assignments, allowed: Any = None) -> None:
    """Check every optimal assignment of a stack by its prices, in exact arithmetic."""
    allowed = np.isfinite(cost) if allowed is None else allowed & np.isfinite(cost)
    for values, open_, columns, u, v, status in zip(cost, allowed, *answer, strict=True):
        if status != OPTIMAL:
            assert (columns == -1).all() and not u.any() and not v.any()
            continue
        rows = np.flatnonzero(columns >= 0)
        columns = columns[rows]
        assert len(rows) == len(set(columns.tolist())) == min(values.shape)
        reduced = exact(values) - exact(u)[:, None] - exact(v)
        assert open_[rows, columns].all()
        assert (reduced[open_] >= 0).all()
        assert not reduced[rows, columns].any()
        longer, taken = (v, columns) if values.shape[0] <= values.shape[1] else (u, rows)
        if values.shape[0] != values.shape[1]:
            assert (longer <= 0).all() and not np.delete(longer, taken).any()


def first(values: Any) -> list[int] | None:
    """Return the first of all best assignments, by trying all; None if there is none."""
    num_rows, num_columns = values.shape
    amounts, best = exact(values), None
    for order in permutations(range(max(values.shape)), num_rows):
        pairs = [(row, column) for row, column in enumerate(order) if column < num_columns]
        if len(pairs) == min(values.shape) and all(np.isfinite(values[pair]) for pair in pairs):
            key = sum(amounts[pair] for pair in pairs), [min(c, num_columns) for c in order]
            best = key if best is None else min(best, key)
    return None if best is None else [c if c < num_columns else -1 for c in best[1]]


def stack_of(seed: int, shape: tuple[int, ...], kind: str) -> Any:
    rng = np.random.default_rng(seed)
    if kind == "rank one":
        outer = rng.integers(1, 50, (*shape[:2], 1)) * rng.integers(1, 50, (1, shape[2]))
        return outer + rng.integers(0, 3, shape)
    if kind == "magnitudes":
        return (10 ** (6 * rng.random(shape))).astype(np.int64)
    low, high = {"ties": (0, 3), "wide": (-(10**6), 10**6), "equal": (7, 8)}[kind]
    return rng.integers(low, high, shape)


@pytest.mark.parametrize("kind", ["ties", "wide", "equal", "rank one", "magnitudes"])
def test_assignments_cost_what_scipys_do_and_are_its_own_where_unique(kind: str) -> None:
    for dtype, shape in zip(DTYPES * 2, SHAPES, strict=True):
        cost = stack_of(len(kind), (max(2, 600 // shape[0] ** 2), *shape), kind).astype(dtype)
        answer = assign_dense(cost)
        assert (answer.status == OPTIMAL).all()
        check(cost, answer)
        for values, columns in zip(cost, answer.columns, strict=True):
            rows, others = linear_sum_assignment(values)
            own = np.flatnonzero(columns >= 0)
            assert values[own, columns[own]].sum() == values[rows, others].sum()
            if kind == "wide" and shape[0] == shape[1] and np.array_equal(own, rows):
                assert np.array_equal(columns, others)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from([(3, 3), (4, 4), (2, 5), (5, 2), (4, 5), (5, 4)]))
def test_of_equals_it_is_the_first(seed: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    cost = rng.integers(0, 1 + seed % 4, (6, *shape)).astype(DTYPES[seed % 4])
    if cost.dtype.kind == "f":
        cost[rng.random(cost.shape) < 0.15] = np.inf
        cost[:2] *= 10.0 ** rng.integers(-18, 18, (2, *shape))
    answer = assign_dense(cost)
    for values, columns, status in zip(cost, answer.columns, answer.status, strict=True):
        expected = first(values)
        assert status == (INFEASIBLE if expected is None else OPTIMAL)
        if expected is not None:
            assert columns.tolist() == expected


def first_by_steps(values: Any, best: int) -> list[int]:
    """The same for larger matrices of integers: each row tries its columns in turn."""
    values, chosen = values.astype(np.int64), []
    for row in range(len(values)):
        for column in range(values.shape[1]):
            if column in chosen:
                continue
            forced = values.copy()
            forced[row] = 10**6
            forced[row, column] = values[row, column]
            if forced[linear_sum_assignment(forced)].sum() == best:
                values = forced
                chosen.append(column)
                break
    return chosen


@pytest.mark.parametrize(("shape", "high"), [((40, 40), 2), ((30, 66), 3), ((70, 70), 40)])
def test_so_it_is_among_very_many(shape: tuple[int, int], high: int) -> None:
    cost = np.random.default_rng(high).integers(0, high, (2, *shape))
    cost[1] = np.sort(cost[1], axis=None).reshape(shape)  # long ways between few ties
    for values, columns in zip(cost, assign_dense(cost).columns, strict=True):
        best = values[linear_sum_assignment(values)].sum()
        assert columns.tolist() == first_by_steps(values, best)


@pytest.mark.parametrize(
    ("shape", "high"),
    [
        ((100, 8, 8), 2), ((100, 8, 8), 4), ((60, 13, 13), 3), ((60, 17, 17), 3), ((30, 32, 32), 4),
        ((30, 48, 48), 10), ((30, 64, 64), 4), ((30, 64, 64), 30), ((8, 70, 70), 4),
        ((5, 130, 130), 40), ((5, 130, 130), 3), ((3, 200, 200), 10),
        ((60, 5, 9), 3), ((60, 9, 5), 3), ((20, 40, 70), 5), ((20, 70, 40), 5),
        ((400, 6, 8), 3), ((200, 12, 14), 5), ((40, 62, 66), 12),
    ],
)  # fmt: skip
def test_the_pass_over_lists_finds_none_before_it(shape: tuple[int, int, int], high: int) -> None:
    cost = np.random.default_rng(high).integers(0, high, shape)
    mates, price = least_cost.assigned(cost)
    for own, values, known in zip(mates, cost, price, strict=True):
        assert first_in_order(as_graph(values.astype(float)), own, known).tolist() == own.tolist()


@pytest.mark.parametrize("size", [40, 70, 130])
def test_rows_may_have_too_few_columns_that_cost_them_the_least(size: int) -> None:
    rng = np.random.default_rng(size)
    cost = rng.integers(5, 9, (4, size, size))
    many, few = size * 3 // 4, size // 3
    shapes = (many, few), (many, few + 1), (few, few), (many, many)
    for own, (rows, columns) in zip(cost, shapes, strict=True):
        own[:rows, :columns] = rng.random((rows, columns)) < 0.3
        own[rows:, columns:] = rng.random((size - rows, size - columns)) < 0.3
    mates, price = least_cost.assigned(cost)
    for own, values, known in zip(mates, cost, price, strict=True):
        assert values[np.arange(size), own].sum() == values[linear_sum_assignment(values)].sum()
        assert first_in_order(as_graph(values.astype(float)), own, known).tolist() == own.tolist()


def test_long_ways_may_lead_through_columns_that_are_free() -> None:
    rng = np.random.default_rng(15)
    cost = np.where(rng.random((60, 8, 10)) < 0.3, rng.integers(0, 2, (60, 8, 10)), 9)
    for values, columns in zip(cost, assign_dense(cost).columns, strict=True):
        best = values[linear_sum_assignment(values)].sum()
        assert columns.tolist() == first_by_steps(values, best)


def test_neither_the_prices_nor_the_order_of_work_decide_among_equals() -> None:
    """Adding to rows and columns changes every price and no comparison of assignments."""
    rng = np.random.default_rng(7)
    for shape in [(12, 12), (70, 70), (150, 150)]:
        cost = rng.integers(0, 6, (6, *shape))
        moved = (
            cost + rng.integers(0, 1000, (6, shape[0], 1)) + rng.integers(0, 1000, (6, 1, shape[1]))
        )
        np.testing.assert_array_equal(assign_dense(cost).columns, assign_dense(moved).columns)
    for shape in [(9, 13), (13, 9), (30, 80), (80, 30)]:
        cost = rng.integers(0, 3, (20, *shape))
        rows = 0 if shape[0] > shape[1] else rng.integers(0, 1000, (20, shape[0], 1))
        columns = 0 if shape[0] < shape[1] else rng.integers(0, 1000, (20, 1, shape[1]))
        found = assign_dense(cost + rows + columns).columns
        np.testing.assert_array_equal(assign_dense(cost).columns, found)


@pytest.mark.parametrize("shape", [(400, 3, 3), (200, 4, 6), (200, 6, 4), (40, 12, 12)])
def test_forbidden_pairs_are_not_assigned(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    cost = stack_of(3, shape, "ties").astype(np.float32)
    allowed = rng.random(shape) >= rng.random((shape[0], 1, 1))
    masked = assign_dense(np.where(allowed, cost, 1e30), allowed=allowed)
    infinite = assign_dense(np.where(allowed, cost, np.inf))
    np.testing.assert_array_equal(masked.columns, infinite.columns)
    np.testing.assert_array_equal(masked.status, infinite.status)
    check(cost, masked, allowed)
    whole = assign_dense(cost.astype(np.int64), allowed=allowed)
    np.testing.assert_array_equal(masked.columns, whole.columns)
    for open_, status in zip(allowed, masked.status, strict=True):
        pairs = maximum_bipartite_matching(csr_array(open_), perm_type="column")
        assert (status == OPTIMAL) == ((pairs >= 0).sum() == min(shape[1:]))
    assert len(set(masked.status.tolist())) == 2


def test_padded_matrices_are_assigned_as_if_alone() -> None:
    rng = np.random.default_rng(4)
    cost = rng.integers(0, 5, (40, 9, 12)).astype(np.float32)
    sizes = rng.integers(0, (10, 13), (40, 2))
    padded = np.where(
        (np.arange(9)[:, None] < sizes[:, :1, None]) & (np.arange(12) < sizes[:, 1:, None]),
        cost, np.nan,
    )  # fmt: skip
    found = assign_dense(padded, sizes=sizes)
    for number, (num_rows, num_columns) in enumerate(sizes.tolist()):
        alone = assign_dense(cost[number : number + 1, :num_rows, :num_columns])
        np.testing.assert_array_equal(found.columns[number, :num_rows], alone.columns[0])
        assert (found.columns[number, num_rows:] == -1).all()
        assert not found.row_price[number, num_rows:].any()
        assert not found.column_price[number, num_columns:].any()
    assert (found.status == OPTIMAL).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_greatest_sum_is_the_least_of_the_negated(dtype: Any) -> None:
    cost = np.random.default_rng(5).integers(-3, 4, (30, 6, 8)).astype(dtype)
    most, least = assign_dense(cost, maximise=True), assign_dense(-cost)
    for one, other in zip(most, least, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_matrix_with_a_bad_number_spoils_no_other() -> None:
    cost = np.random.default_rng(6).random((6, 5, 5)).astype(np.float32)
    expected = assign_dense(cost)
    cost[1, 2, 3], cost[2, 0, 0], cost[3, 1] = np.nan, -np.inf, np.inf
    found = assign_dense(cost)
    assert found.status.tolist() == [OPTIMAL, INVALID, INVALID, INFEASIBLE, OPTIMAL, OPTIMAL]
    np.testing.assert_array_equal(found.columns[[0, 4, 5]], expected.columns[[0, 4, 5]])
    check(cost, found)
    assert assign_dense(cost, maximise=True).status.tolist()[1:4] == [INVALID, OPTIMAL, INVALID]


def test_any_range_of_costs_is_exact() -> None:
    """int32 does not hold them, then int64 does not, then rounding hides what decides."""
    rng = np.random.default_rng(8)
    shape = (20, 6, 6)
    for cost in (
        rng.integers(-(2**40), 2**40, shape),
        rng.integers(-(2**60), 2**60, shape),
        rng.choice([-(2**60), 2**60 - 1, 0, 1], shape),
        rng.random(shape),
        rng.integers(0, 4, shape) * 10.0 ** rng.integers(-40, 40, shape),
        rng.integers(0, 3, shape) * 5e-324,
        np.exp(-((rng.random(shape) * 60) ** 2)).astype(np.float32),
    ):
        answer = assign_dense(cost)
        for values, columns, status in zip(cost[:6], answer.columns, answer.status, strict=False):
            assert status == OPTIMAL and columns.tolist() == first(values)
        if cost.dtype.kind == "i":
            check(cost, answer)


def test_tiny_float32_costs_are_neither_lost_nor_scaled_beyond_their_type() -> None:
    tiny = 2.0**-149
    cost = np.array([[[2**30, 2**30], [0, tiny]], [[0, 0], [0, 0]], [[0, tiny], [tiny, 0]]])
    answer = assign_dense(cost.astype(np.float32))
    check(cost, answer)
    assert answer.columns.tolist() == [[1, 0], [0, 1], [0, 1]]


def test_a_match_of_rounded_costs_is_not_taken_for_the_best() -> None:
    cost = np.full((4, 4), 1.5)  # in quarters of the unit, of which those below two are dropped
    cost[range(4), range(4)] = 1 + 2.0**-51
    cost[range(4), [1, 2, 3, 0]] = [1 + 3 * 2.0**-51, 1, 1, 1]
    answer = assign_dense(cost[None])
    check(cost[None], answer)
    assert answer.columns[0].tolist() == [1, 2, 3, 0]


def test_costs_that_fit_have_exact_prices_as_floats() -> None:
    rng = np.random.default_rng(9)
    for cost in (rng.random((9, 7, 7), np.float32), rng.standard_normal((9, 6, 9), np.float32)):
        check(cost, assign_dense(cost))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_prices_that_outgrow_their_integers_are_computed_in_wider_ones(dtype: Any) -> None:
    """The largest costs of a type, forbidden pairs between them, and ways that add them up."""
    rng = np.random.default_rng(10)
    largest = largest_of(dtype)
    cost = rng.choice([-largest, 0, largest], (60, 24, 24)).astype(dtype)
    chain = np.zeros((24, 24), np.bool_)
    chain[np.arange(24), np.arange(24)] = chain[np.arange(23), np.arange(1, 24)] = True
    allowed = np.where(rng.random((60, 1, 1)) < 0.5, chain, rng.random(cost.shape) < 0.3)
    answer = assign_dense(cost, allowed=allowed)
    check(cost, answer, allowed)
    small = assign_dense(cost // largest, allowed=allowed)
    np.testing.assert_array_equal(answer.columns, small.columns)
    np.testing.assert_array_equal(answer.status, small.status)


def test_a_stack_may_be_empty_in_every_direction() -> None:
    for shape in [(0, 3, 3), (2, 0, 0), (2, 0, 3), (2, 3, 0)]:
        for dtype in DTYPES:
            columns, u, v, status = assign_dense(np.zeros(shape, dtype))
            assert columns.shape == u.shape == shape[:2]
            assert v.shape == (shape[0], shape[2])
            assert (status == OPTIMAL).all() and (columns == -1).all()


def test_threads_share_a_large_stack_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = list[int]()

    class Counted(ThreadPoolExecutor):
        def __init__(self, threads: int) -> None:
            counts.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(assignments, "ThreadPoolExecutor", Counted)
    cost = np.random.default_rng(11).integers(0, 9, (101, 6, 7))
    once = assign_dense(cost, threads=3)
    assert counts == []  # too little work
    monkeypatch.setattr(assignments, "CELLS_A_THREAD", 1)
    for threads in (2, 3, 200):
        for one, other in zip(once, assign_dense(cost, threads=threads), strict=True):
            np.testing.assert_array_equal(one, other)
    assert counts == [2, 3, 101]


def test_many_matrices_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = np.random.default_rng(12).random((50, 5, 6))
    whole = assign_dense(cost)
    monkeypatch.setattr(assignments, "CHUNK_CELLS", 100)
    for one, other in zip(whole, assign_dense(cost), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.uint64, np.float16])
def test_other_numbers_are_taken_and_nothing_is_changed(dtype: Any) -> None:
    cost = np.random.default_rng(13).integers(0, 2, (9, 8, 8)).astype(dtype)
    given_ = np.asfortranarray(cost)
    given_.flags.writeable = False
    before = given_.copy()
    found = assign_dense(given_)
    np.testing.assert_array_equal(found.columns, assign_dense(cost.astype(np.int64)).columns)
    np.testing.assert_array_equal(given_, before)


def misaligned(cost: np.ndarray) -> np.ndarray:
    octets = np.empty(cost.nbytes + 1, np.uint8)[1:]
    octets[:] = cost.reshape(-1).view(np.uint8)
    return octets.view(cost.dtype).reshape(cost.shape)


@pytest.mark.parametrize(
    "lay",
    [
        read_only,
        misaligned,
        np.asfortranarray,
        lambda cost: np.repeat(cost, 2, axis=2)[:, :, ::2],
        lambda cost: cost.astype(">f8"),
    ],
)
def test_loops_are_compiled_once_however_the_costs_lie_in_memory(lay: Any) -> None:
    cost = np.random.default_rng(14).random((5, 6, 7))
    expected = assign_dense(cost, allowed=cost > 0.1, sizes=np.full((5, 2), 6))
    compiled = len(assignment_tables.read_floats.signatures)
    given_ = lay(cost)
    assert given_.flags.aligned is (lay is not misaligned)
    found = assign_dense(given_, allowed=lay(cost) > 0.1, sizes=np.full((5, 2), 6))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(assignment_tables.read_floats.signatures) == compiled


def test_prices_beyond_63_bits_make_a_matrix_invalid_and_no_other() -> None:
    cost = np.random.default_rng(8).choice([-(2**63), 2**63 - 1, 0, 1], (20, 6, 6))
    cost[1], cost[3, 2] = np.arange(36).reshape(6, 6), 0
    found = assign_dense(cost)
    assert set(found.status.tolist()) == {OPTIMAL, INVALID} and found.status[1] == OPTIMAL
    check(cost, found)
    # As many as possible, at a cost for none that is beyond them as well.
    cost[:3] = 2**62
    cost[0, 0, 0], allowed = 5, np.zeros(cost.shape, np.bool_)
    allowed[:, :3, :2] = True
    partial = assign_dense(cost[:3], allowed=allowed[:3], partial=True)
    assert partial.status.tolist() == [INVALID] * 3 and (partial.columns == -1).all()


def first_partial(values: Any, open_: Any) -> list[int]:
    """Return the first of the cheapest of the largest assignments, by trying all."""
    num_rows, num_columns = values.shape
    none, best = num_columns, None
    for order in permutations([*range(num_columns), *[none] * num_rows], num_rows):
        pairs = [(row, column) for row, column in enumerate(order) if column < none]
        if all(open_[pair] for pair in pairs):
            key = -len(pairs), sum(int(values[pair]) for pair in pairs), order
            best = key if best is None else min(best, key)
    assert best is not None
    return [column if column < none else -1 for column in best[2]]


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("maximise", [False, True])
def test_where_not_all_can_be_assigned_it_is_the_first_of_the_largest(
    shape: tuple[int, int], maximise: bool
) -> None:
    rng = np.random.default_rng(14)
    cost = rng.integers(-2, 3, (30, *shape))
    allowed = rng.random(cost.shape) < 0.45
    found = assign_dense(cost, allowed=allowed, partial=True, maximise=maximise)
    floats = assign_dense(
        np.where(allowed, cost, -np.inf if maximise else np.inf), partial=True, maximise=maximise
    )
    signed = -cost if maximise else cost
    for one, other in zip(found, floats, strict=True):
        np.testing.assert_array_equal(one, other)
    assert set(found.status.tolist()) == {OPTIMAL, INFEASIBLE}
    for values, open_, columns, u, v in zip(signed, allowed, *found[:3], strict=True):
        assert columns.tolist() == first_partial(values, open_)
        reduced = values - u[:, None] - v
        assert (reduced[open_] >= 0).all()
        rows = np.flatnonzero(columns >= 0)
        assert not reduced[rows, columns[rows]].any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: assign_dense(np.zeros((2, 2))), "2 axes"),
        (lambda: assign_dense(np.zeros((1, 2, 2), complex)), "not complex128"),
        (lambda: assign_dense(np.full((1, 1, 1), 2**64 - 1)), "beyond int64"),
        (lambda: assign_dense(np.zeros((1, 2, 2)), allowed=np.ones((2, 2), bool)), "allowed is"),
        (lambda: assign_dense(np.zeros((1, 2, 2)), allowed=np.ones((1, 2, 2))), "is Boolean"),
        (lambda: assign_dense([[[1, 2], [3]]]), "rows of unequal length in the costs"),
        (lambda: assign_dense(np.zeros((1, 2, 2)), sizes=np.array([2, 2])), "sizes is"),
        (lambda: assign_dense(np.zeros((1, 2, 2)), sizes=[[1.5, 2]]), "sizes are integers"),
        (lambda: assign_dense(np.zeros((1, 2, 2)), sizes=np.array([[2, 3]])), "sizes are from 0"),
        (lambda: assign_dense(np.zeros((1, 2, 2)), sizes=np.array([[-1, 2]])), "sizes are from 0"),
        (lambda: assign_dense(np.zeros((1, 2, 2)), threads=0), "at least one thread, not 0"),
        (lambda: assign_dense(np.ma.masked_equal(np.eye(2)[None], 1)), "masked entries in the cos"),
        (lambda: assign_dense([[["a"]]]), "not <U1"),
    ],
)
def test_what_cannot_be_read_is_refused(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
