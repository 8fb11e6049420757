"""The kernels for assignments: on a simulated block against every assignment, and on a GPU."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from augury.engines import cuda_assign
from augury.engines.assignments import assign_dense
from augury.engines.cuda_assign import Batch
from augury.errors import InputError
from augury.torch import Status
from kernels import FINDS_RACES, simulated

TAIL = """
static const Batch* given;
extern "C" void run(const Batch* batch, long long blocks) {
    given = batch;
    launch([] { assign(*given); }, blocks, THREADS);
}
"""
AGAIN = 99
"""The status of a problem that is to be solved again, in problem.cuh."""


class Solved(NamedTuple):
    indices: npt.NDArray[np.int64]
    status: npt.NDArray[np.int32]
    rows: npt.NDArray[Any]
    columns: npt.NDArray[Any]
    num_again: int = 0
    """How many problems were solved twice."""


def solve(
    folder: Path,
    cost: npt.NDArray[Any],
    mask: npt.NDArray[np.bool_] | None = None,
    sizes: npt.NDArray[np.int32] | None = None,
    maximize: bool = False,
    spoil: tuple[str, str] = ("", ""),
) -> Solved:
    """Run the kernel; `spoil` is a line of it, and what is done before that."""
    count, left, right = cost.shape
    wide = np.float64 if cost.dtype.kind == "f" else np.int64
    table, barred = (np.zeros(count * size, np.uint8) for size in cuda_assign.scratch(left, right))
    found = Solved(
        np.full((count, left), 77, np.int64),
        np.full(count, 77, np.int32),
        np.full((count, left), 77, wide),
        np.full((count, right), 77, wide),
    )
    arrays = (cost, mask, sizes, table, barred, *found[:4])
    batch = Batch(
        *(None if one is None else one.ctypes.data for one in arrays),
        *(count, left, right, maximize),
        *cuda_assign.shape_of(left, right)[1],
    )
    line, what = spoil
    num_again = 0
    for is_again in (False, True):
        dtype = torch.from_numpy(cost[:0]).dtype
        form = cuda_assign.form_of(left, right, dtype, mask is not None, is_again)
        code = form.code
        if line and not is_again:
            assert code.count(line) == 1
            code = code.replace(line, what + line)
        library = simulated(folder, code + TAIL)
        library.run(ctypes.byref(batch), ctypes.c_longlong(form.grid(count)[0]))
        if not is_again:
            num_again = int((found.status == AGAIN).sum())
    return found._replace(num_again=num_again)


def assignments(allowed: npt.NDArray[np.bool_]) -> Iterator[list[int]]:
    """All of them, partial ones too."""
    num_rows, num_columns = allowed.shape

    def extended(start: list[int]) -> Iterator[list[int]]:
        if len(start) == num_rows:
            yield start
            return
        for column in range(num_columns):
            if allowed[len(start), column] and column not in start:
                yield from extended([*start, column])
        yield from extended([*start, -1])

    return extended([])


def first_of_the_best(cost: npt.NDArray[Any], allowed: npt.NDArray[np.bool_]) -> list[int]:
    """By the rule itself: most pairs, then least cost, then the lowest columns, none the last."""

    def rank(columns: list[int]) -> tuple[Any, ...]:
        paid = [cost[row, column] for row, column in enumerate(columns) if column >= 0]
        return -len(paid), sum(map(int, paid)), [c % (cost.shape[1] + 1) for c in columns]

    return min(assignments(allowed), key=rank)


def drawn(seed: int, most: int) -> Iterator[tuple[Any, Any, Any, bool]]:
    """Stacks of integers with many ties: some masked, some padded, some maximised."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        shape = (8, most, most)
        high = rng.choice([1, 3, 1000])
        cost = rng.integers(-high, high + 1, shape).astype(np.int32)
        mask = rng.random(shape) < rng.random() if rng.random() < 0.6 else None
        sizes = rng.integers(0, most + 1, (8, 2)).astype(np.int32) if rng.random() < 0.8 else None
        yield cost, mask, sizes, bool(rng.random() < 0.3)


def assert_first_of_the_best(
    found: Solved, cost: Any, mask: Any, sizes: Any, maximize: bool
) -> None:
    for number, own in enumerate(cost):
        allowed = np.ones(own.shape, bool) if mask is None else mask[number].copy()
        ends = own.shape if sizes is None else sizes[number]
        allowed[ends[0] :], allowed[:, ends[1] :] = False, False
        signed = -own.astype(np.int64) if maximize else own.astype(np.int64)
        expected = first_of_the_best(signed, allowed)
        assert found.indices[number].tolist() == expected
        is_full = sum(column >= 0 for column in expected) == min(ends)
        assert found.status[number] == (Status.OPTIMAL if is_full else Status.PARTIAL)
        reduced = signed - found.rows[number][:, None] - found.columns[number]
        assert (reduced[allowed] >= 0).all()
        assert not any(reduced[row, c] for row, c in enumerate(expected) if c >= 0)


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, int], None]]:
    """Return a function that fixes how many lanes share a problem, and the largest table kept."""

    def force(lanes: int, most_table: int) -> None:
        monkeypatch.setattr(cuda_assign, "TEAMS", {1024: (lanes, max(lanes, 64), 1)})
        monkeypatch.setattr(cuda_assign, "MOST_TABLE", most_table)
        forget()

    def forget() -> None:
        cuda_assign.shape_of.cache_clear()
        cuda_assign.scratch.cache_clear()
        cuda_assign._launches.cache_clear()

    yield force
    forget()


@pytest.mark.parametrize("most_table", [0, 10**6])
@pytest.mark.parametrize("lanes", [8, 16, 32, 64, 128])
def test_it_is_the_first_of_the_best(
    folder: Path, forced: Callable[[int, int], None], lanes: int, most_table: int
) -> None:
    forced(lanes, most_table)
    for given in drawn(lanes + most_table, 4):
        assert_first_of_the_best(solve(folder, *given), *given)


@pytest.mark.parametrize(
    ("shape", "dtype"), [((16, 11), np.float32), ((21, 32), np.float64), ((45, 24), np.float32)]
)
def test_floats_have_scipys_indices(folder: Path, shape: tuple[int, int], dtype: Any) -> None:
    rng = np.random.default_rng(sum(shape))
    cost = (rng.standard_normal((3, *shape)) * 10.0 ** rng.integers(-3, 4)).astype(dtype)
    if dtype is np.float64:  # of which 57 bits hold only some
        cost = np.round(cost, 3).astype(np.float32).astype(dtype)
    found = solve(folder, cost)
    assert (found.status == Status.OPTIMAL).all()
    for own, indices in zip(cost, found.indices, strict=True):
        rows, columns = linear_sum_assignment(own.astype(np.float64))
        expected = np.full(shape[0], -1)
        expected[rows] = columns
        np.testing.assert_array_equal(indices, expected)


Draw = Callable[[np.random.Generator, tuple[int, int, int]], Any]
COSTS: dict[str, Draw] = {
    "uniform": lambda rng, size: rng.random(size, np.float32),
    "double": lambda rng, size: rng.standard_normal(size),
    "eighths": lambda rng, size: np.float32(rng.integers(-8, 9, size) / 8),
    "skewed": lambda rng, size: np.float32(10 ** (6 * rng.random(size))),
    "product": lambda rng, size: np.float32(
        rng.random((*size[:2], 1)) * rng.random((size[0], 1, size[2]))
    ),
    "ties": lambda rng, size: rng.integers(0, rng.integers(1, 8), size, np.int32),
    "whole": lambda rng, size: rng.integers(-(2**31), 2**31, size, np.int32),
    "wide": lambda rng, size: rng.integers(-(2**44), 2**44, size),
    "both": lambda rng, size: rng.integers(0, 3, size) * 2**40 + rng.integers(0, 3, size),
}

no_race = pytest.mark.skipif(FINDS_RACES, reason="takes a minute there, and is no race")

KINDS = ["uniform", "ties", "both"] if FINDS_RACES else list(COSTS)
"""Floats, ties, and costs that need a second run: finding races takes ten times as long."""

LIMITS = ("", "sized", "maximised", "many barred", "few allowed", "some infinite")


def limited(limit: str, rng: np.random.Generator, cost: Any) -> tuple[Any, Any, Any, bool]:
    """Return a problem with these costs; where few pairs are allowed, not all can be assigned."""
    count, *shape = cost.shape
    # In every other problem, without a mask.
    if limit == "some infinite" and cost.dtype.kind == "f":
        cost[::2][rng.random(cost[::2].shape) < 0.3] = np.inf
    shares = {"many barred": 0.3, "few allowed": 2 / max(shape)}
    mask = rng.random(cost.shape) < shares[limit] if limit in shares else None
    sizes = rng.integers(0, np.add(shape, 1), (count, 2), np.int32) if limit == "sized" else None
    return cost, mask, sizes, limit in ("maximised", "few allowed")


def assert_as_on_the_cpu(found: Solved, cost: Any, mask: Any, sizes: Any, maximize: bool) -> None:
    told = {"allowed": mask, "sizes": sizes, "maximise": maximize, "partial": True}
    expected = assign_dense(cost, **told)
    is_exact = found.status != Status.ROUNDED
    np.testing.assert_array_equal(found.status[is_exact], expected.status[is_exact])
    np.testing.assert_array_equal(found.indices[is_exact], expected.columns[is_exact])
    assert is_exact.all() or cost.dtype.itemsize == 8


@pytest.mark.parametrize(
    "shape", [(16, 9), (33, 64), (48, 48), (64, 40), (70, 90), (96, 96), (130, 100), (300, 20)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_indices_are_those_of_the_cpu(folder: Path, shape: tuple[int, int], kind: str) -> None:
    rng = np.random.default_rng(sum(shape))
    count = 2 if max(shape) <= 64 else 1
    for limit in LIMITS:
        problem = limited(limit, rng, COSTS[kind](rng, (count, *shape)))
        assert_as_on_the_cpu(solve(folder, *problem), *problem)


@no_race
def test_columns_that_are_not_there_are_never_nearer(folder: Path) -> None:
    """Found once, on a GPU: lanes without a column took its price from beyond the last one."""
    cost = COSTS["skewed"](np.random.default_rng(5), (1, 300, 297))
    found = solve(folder, cost)
    assert found.num_again == 1
    assert_as_on_the_cpu(found, cost, None, None, False)


@no_race
def test_ways_to_a_column_that_stays_open_are_kept(folder: Path) -> None:
    """Found once, on a GPU: they were forgotten where the row of the column must not have it."""
    rng = np.random.default_rng(1)
    problem = limited("few allowed", rng, rng.integers(0, 2, (400, 32, 29), np.int32))
    assert_as_on_the_cpu(solve(folder, *problem), *problem)


@pytest.mark.slow
@pytest.mark.parametrize("side", [2, 8, 16, 32, 64, 65, 128, 160, 300])
def test_random_problems_are_solved_as_on_the_cpu(folder: Path, side: int) -> None:
    """Found once: problems of which a part is assigned that were not proven."""
    for seed in range(1000 if side < 300 else 100):
        rng = np.random.default_rng((side, seed))
        kind, limit = rng.choice(list(COSTS)), rng.choice(LIMITS)
        shape = [(side, side), (side, side * 2 // 3), (side // 2, side)][seed % 3]
        problem = limited(limit, rng, COSTS[kind](rng, (max(1, 4000 // side**2), *shape)))
        assert_as_on_the_cpu(solve(folder, *problem), *problem)


@pytest.mark.parametrize("shape", [(33, 64), (130, 100)])
@pytest.mark.parametrize("limit", ["", "many barred", "few allowed"])
def test_one_run_is_enough_for_random_costs(
    folder: Path, shape: tuple[int, int], limit: str
) -> None:
    rng = np.random.default_rng(1)
    found = solve(folder, *limited(limit, rng, rng.random((3, *shape), np.float32)))
    assert (found.status == (Status.PARTIAL if limit == "few allowed" else Status.OPTIMAL)).all()
    assert found.num_again == 0


@pytest.mark.parametrize("bits", [23, 24, 26, 27, 28, 31])
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_costs_about_the_border_of_32_bit_arithmetic(folder: Path, bits: int, share: float) -> None:
    """A forbidden pair costs more than all others together, and must fit as well."""
    rng = np.random.default_rng(bits)
    cost = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (3, 30, 33)).astype(np.int32)
    mask = rng.random(cost.shape) < share
    found = solve(folder, cost, mask)
    assert (found.status == Status.OPTIMAL).all()
    for own, allowed, indices in zip(cost.astype(np.float64), mask, found.indices, strict=True):
        rows, columns = linear_sum_assignment(np.where(allowed, own, 2.0**40))
        np.testing.assert_array_equal(indices[rows], columns)


def test_what_is_no_cost_is_a_status(folder: Path) -> None:
    cost = np.arange(54, dtype=np.float32).reshape(6, 3, 3) ** 2 % 7
    cost[1, 0, 2], cost[2, 1, 1] = np.nan, -np.inf
    cost[3, 1, :] = np.inf
    cost[4, :, 0] = np.inf
    sizes = np.array([[3, 3]] * 5 + [[3, 4]], np.int32)
    found = solve(folder, cost, sizes=sizes)
    kinds = [Status.OPTIMAL, Status.INVALID, Status.INVALID, Status.PARTIAL, Status.PARTIAL]
    assert found.status.tolist() == [*kinds, Status.INVALID]
    assert (found.indices[[1, 2, 5]] == -1).all()
    assert (found.indices[3] >= 0).tolist() == [True, False, True]
    assert (found.indices[4] >= 0).sum() == 2
    assert (found.indices[4] != 0).all()
    best = solve(folder, -cost, sizes=sizes, maximize=True)
    np.testing.assert_array_equal(best.indices, found.indices)
    np.testing.assert_array_equal(best.status, found.status)


@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (5, 7), (17, 9)])
def test_no_cost_is_overlooked(folder: Path, shape: tuple[int, int]) -> None:
    """Each problem has NaN, or its only cost, in another place."""
    count = shape[0] * shape[1]
    is_it = np.eye(count, dtype=bool).reshape(count, *shape)
    cost = np.where(is_it, np.nan, 1).astype(np.float32)
    assert (solve(folder, cost).status == Status.INVALID).all()
    found = solve(folder, np.where(is_it, -(2**30), 1).astype(np.int32))
    assert (found.status == Status.OPTIMAL).all()
    rows, columns = np.divmod(np.arange(count), shape[1])
    np.testing.assert_array_equal(found.indices[np.arange(count), rows], columns)


def test_costs_that_need_more_than_57_bits_are_rounded_and_said_to_be(folder: Path) -> None:
    cost = np.array([[[1.0, 1 / 3 * 2.0**-40], [2.0**-52 / 3, 1.0]]])
    assert solve(folder, cost).status.tolist() == [Status.ROUNDED]
    assert solve(folder, cost.astype(np.float32)).status.tolist() == [Status.ROUNDED]
    # A rounded cost that no best assignment could use does not matter.
    far = np.array([[[0.0, 1.0 + 2.0**-52], [1.0, 0.0]]]) * 2
    assert solve(folder, far).status.tolist() == [Status.OPTIMAL]


@pytest.mark.parametrize("before", ["const int found = is_known ? weighed(", "settled(own,"])
def test_wrong_prices_prove_nothing(folder: Path, before: str) -> None:
    rng = np.random.default_rng(3)
    cost = rng.integers(0, 100, (4, 6, 8)).astype(np.int32)
    what = """
        if (threadIdx.x % LANES == 0) {
            if (number_of == 0) shared.few_price[3] += 1;
            for (int k = 0; k < 8; ++k) shared.many_price[k] += number_of == 1;
            for (int k = 0; k < 8; ++k) shared.many_price[k] -= number_of == 2 ? 200 : 0;
        }
        meet();
    """
    found = solve(folder, cost, spoil=(before, what))
    if "weighed" in before:
        assert found.status.tolist() == [Status.UNPROVEN] * 3 + [Status.OPTIMAL]
        assert (found.indices[:3] == -1).all()
    else:  # where a free column's price is looked at once more
        assert found.status[1:3].tolist() == [Status.UNPROVEN] * 2


@pytest.mark.parametrize("share", [1.0, 0.9])
def test_prices_whose_sums_overflow_prove_nothing(folder: Path, share: float) -> None:
    """Half of all integers are added on both sides: sums of two prices are what they were."""
    rng = np.random.default_rng(5)
    cost = rng.integers(0, 100, (2, 6, 6)).astype(np.int32)
    mask = rng.random(cost.shape) < share
    what = """
        if (number_of == 0 && threadIdx.x % LANES == 0)
            for (wide* prices : {shared.few_price, shared.many_price})
                for (int k = 0; k < 6; ++k) prices[k] ^= 1ull << 63;
        meet();
    """
    found = solve(folder, cost, mask, spoil=("const int found = is_known ? weighed(", what))
    assert found.status.tolist() == [Status.UNPROVEN, Status.OPTIMAL]


@pytest.mark.parametrize(("barred", "status"), [(19, Status.OPTIMAL), (10, Status.UNPROVEN)])
def test_where_a_pair_more_is_worth_too_little_nothing_is_proven(
    folder: Path, barred: int, status: Status
) -> None:
    cost = np.array([[[0, 9], [9, 0]]], np.int32)
    mask = np.array([[[True, False], [True, True]]])
    what = f"own.barred = own.table_barred = {barred};"
    found = solve(folder, cost, mask, spoil=("const int found = is_known ? weighed(", what))
    assert found.status.tolist() == [status]


@pytest.mark.parametrize(
    ("cost", "mates", "rows", "columns"),
    [
        ([[0, 1], [1, 0]], [1, 0], [1, 1], [0, 0]),  # others are too cheap at these prices
        ([[0, 0, 0], [0, 0, 0]], [0, 0], [0, 0], [0, 0, 0]),  # a column is assigned twice
        ([[0, 5]], [1], [0], [0, 5]),  # a price above 0, where columns are free
    ],
)
def test_a_wrong_assignment_is_not_proven_by_prices_that_fit_it(
    folder: Path, cost: Any, mates: list[int], rows: list[int], columns: list[int]
) -> None:
    what = "".join(
        f"shared.{name}[{place}] = {value};"
        for name, values in {"mate": mates, "few_price": rows, "many_price": columns}.items()
        for place, value in enumerate(values)
    )
    what += "for (int k = 0; k < many; ++k) shared.row_of[k] = NONE;"
    what += "".join(f"shared.row_of[{column}] = {row};" for row, column in enumerate(mates))
    spoil = (
        "const int found = is_known ? weighed(",
        f"meet(); if (threadIdx.x % LANES == 0) {{ {what} }} meet();",
    )
    found = solve(folder, np.array([cost], np.int32), spoil=spoil)
    assert found.status.tolist() == [Status.UNPROVEN]
    assert (found.indices == -1).all()


def load_benchmark(name: str) -> Any:
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Counted = Callable[..., tuple[dict[str, int], dict[str, int], Solved]]


@pytest.fixture
def counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Return a function that solves with the counters of `benchmarks/cuda_stages.py`."""
    stages, plain = load_benchmark("cuda_stages"), simulated
    held: list[ctypes.CDLL] = []

    def counters_of(library: ctypes.CDLL) -> Any:
        size = stages.COPIES * stages.MOST
        flat = (ctypes.c_longlong * size).in_dll(library, "counters")
        return np.frombuffer(flat, np.int64).reshape(stages.COPIES, stages.MOST)

    def counting(folder: Path, code: str) -> ctypes.CDLL:
        if "#define IS_AGAIN 0" not in code:
            return plain(folder, code)
        clock = """
            static long long ticks;
            static long long clock64() {
                return __atomic_add_fetch(&ticks, 1000, __ATOMIC_RELAXED);
            }
        """
        held.append(plain(folder, clock + stages.instrumented(code)))
        counters_of(held[-1])[:] = 0  # a library is loaded once
        return held[-1]

    monkeypatch.setattr(f"{__name__}.simulated", counting)

    def run(cost: Any, sizes: Any = None) -> tuple[dict[str, int], dict[str, int], Solved]:
        found = solve(folder, cost, sizes=sizes)
        counters = counters_of(held[-1]).sum(axis=0).tolist()
        cycles = dict(zip(stages.STAGES, counters, strict=False))
        return cycles, dict(zip(stages.COUNTS, counters[len(cycles) :], strict=False)), found

    return run


@pytest.mark.parametrize("kind", ["uniform", "both"])
def test_the_stages_that_a_benchmark_counts_are_those_of_the_kernel(
    counted: Counted, kind: str
) -> None:
    cycles, counts, found = counted(COSTS[kind](np.random.default_rng(0), (3, 48, 48)))
    assert counts["solved again"] == found.num_again == {"uniform": 0, "both": 3}[kind]
    is_passed = [took > 0 for took in cycles.values()]
    assert is_passed == [kind == "uniform" or name not in ("settled", "proven") for name in cycles]
    assert sum(cycles.values()) < 10**9
    assert counts["steps"] >= counts["paths"] > 0 < counts["bids"]


@no_race
@pytest.mark.parametrize(("shape", "most"), [((300, 300), 80), ((300, 100), 25), ((100, 300), 25)])
def test_most_rows_of_large_problems_need_no_search(
    counted: Counted, shape: tuple[int, int], most: int
) -> None:
    """For nearly as many rows there is one otherwise: 237, 90 and 92."""
    cost = np.random.default_rng(300).integers(0, 10, (1, *shape), np.int32)
    _, counts, found = counted(cost)
    assert found.status.tolist() == [Status.OPTIMAL]
    assert 0 < counts["searches"] <= most


def alike(rng: np.random.Generator, shape: tuple[int, int, int]) -> Any:
    """Products of a number for each row and one for each column: all want the same columns."""
    count, left, right = shape
    product = rng.random((count, left, 1)) * rng.random((count, 1, right))
    return np.float32(product + 0.01 * rng.random(shape))


@no_race
@pytest.mark.parametrize(
    ("kind", "size", "paths", "steps"),
    [
        (alike, 64, 12, 160),
        (alike, 128, 10, 200),
        (alike, 170, 20, 350),
        (COSTS["skewed"], 64, 8, 110),
        (COSTS["uniform"], 128, 6, 50),
    ],
)
def test_prices_of_rows_save_paths(
    counted: Counted, kind: Draw, size: int, paths: int, steps: int
) -> None:
    """Paths and steps without them: 51, 1,705; 101, 2,895; 136, 4,386; 11, 148; 3, 56."""
    count = 8
    cost = kind(np.random.default_rng(size), (count, size, size))
    _, counts, found = counted(cost)
    assert (found.status == Status.OPTIMAL).all()
    assert counts["softened"] == count
    assert counts["paths"] <= count * paths
    assert 0 < counts["steps"] <= count * steps


@no_race
@pytest.mark.parametrize(("kind", "size"), [("ties", 64), ("alike", 16)])
def test_where_prices_of_rows_do_not_help_there_are_none(
    counted: Counted, kind: str, size: int
) -> None:
    draw = alike if kind == "alike" else COSTS[kind]
    _, counts, _ = counted(draw(np.random.default_rng(0), (4, size, size)))
    assert counts["softened"] == 0


@pytest.mark.parametrize("shape", [(40, 64), (90, 70), (170, 200), (200, 170)])
def test_squares_in_padded_problems_have_prices_of_rows_too(
    counted: Counted, shape: tuple[int, int]
) -> None:
    cost = alike(np.random.default_rng(0), (2, *shape))
    sizes = np.array([[34, 34], [min(shape)] * 2], np.int32)
    _, counts, found = counted(cost, sizes)
    assert counts["softened"] == 2
    assert_as_on_the_cpu(found, cost, None, sizes, False)


@no_race
@pytest.mark.parametrize("size", [40, 70])
def test_whatever_rows_pay_at_first_the_answer_is_the_same(folder: Path, size: int) -> None:
    prices = ["1e38f", "-1e38f", "0.0f / 0", "row % 2 ? 1e9f : -3e5f", "row % 3 ? row : 0.0f / 0"]
    cost = alike(np.random.default_rng(size), (4 * len(prices), size, size))
    what = "for (int row = thread; row < size; row += LANES) {" + "".join(
        f"if (blockIdx.x / 4 == {number}) prices[row] = {price};"
        for number, price in enumerate(prices)
    )
    found = solve(folder, cost, spoil=("    int* rounded = (int*)prices;", what + "} meet();"))
    assert_as_on_the_cpu(found, cost, None, None, False)


def test_a_kernel_keeps_the_memory_of_the_largest_problem_that_it_was_given() -> None:
    """Found once, on a GPU: of two shapes with one kernel, the larger one could not run again."""
    function = SimpleNamespace(max_dynamic_shared_size_bytes=48 * 1024)
    for memory, expected in [(1000, 48), (70 * 1024, 70), (60 * 1024, 70), (1000, 70)]:
        cuda_assign.allow(function, memory)
        assert function.max_dynamic_shared_size_bytes == expected * 1024


@pytest.mark.parametrize(("kind", "is_again"), [("both", 1), ("double", 0)])
def test_pairs_near_their_prices_are_not_looked_for_for_ever(
    counted: Counted, kind: str, is_again: int
) -> None:
    """Found once, on a GPU: with 1,024 a side one problem took two thirds of a second."""
    _, counts, found = counted(COSTS[kind](np.random.default_rng(0), (1, 170, 170)))
    assert found.status.tolist() == [Status.OPTIMAL]
    assert found.num_again == is_again
    assert 0 < counts["sweeps"] <= 65


def test_a_side_has_at_most_1024_nodes() -> None:
    with pytest.raises(InputError, match="at most 1024 nodes a side, not 1025"):
        cuda_assign.assign(torch.zeros(1, 1025, 2), None, None, False)


@pytest.mark.gpu
@pytest.mark.parametrize("most_table", [0, 10**6])
@pytest.mark.parametrize("lanes", [8, 16, 32, 64, 128, 256])
def test_on_a_gpu_it_is_the_first_of_the_best(
    forced: Callable[[int, int], None], lanes: int, most_table: int
) -> None:
    forced(lanes, most_table)
    for seed in range(3):
        for given in drawn(seed, 4):
            assert_first_of_the_best(on_gpu(*given), *given)


def on_gpu(cost: Any, mask: Any = None, sizes: Any = None, maximize: bool = False) -> Solved:
    def moved(array: Any) -> Any:
        return None if array is None else torch.from_numpy(array).cuda()

    found = cuda_assign.assign(moved(cost), moved(mask), moved(sizes), maximize)
    return Solved._make((*(own.cpu().numpy() for own in found), 0))


@pytest.mark.gpu
@pytest.mark.parametrize("side", [8, 32, 64, 128, 300, 1024])
@pytest.mark.parametrize("kind", COSTS)
def test_on_a_gpu_indices_are_those_of_the_cpu(side: int, kind: str) -> None:
    rng = np.random.default_rng(side)
    for limit in LIMITS:
        for shape in [(side, side), (side, side - 3), (side // 2, side)]:
            cost = COSTS[kind](rng, (max(1, min(200, 2**18 // side**2)), *shape))
            problem = limited(limit, rng, cost)
            assert_as_on_the_cpu(on_gpu(*problem), *problem)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "shape",
    [
        (40, 8, 8),
        (30, 16, 16),
        (9, 33, 70),
        (9, 70, 33),
        (6, 300, 20),
        (3, 300, 520),
        (2, 1024, 1000),
    ],
)
@pytest.mark.parametrize("kind", ["float32", "ties", "barred"])
def test_on_a_gpu_costs_are_scipys(shape: tuple[int, int, int], kind: str) -> None:
    rng = np.random.default_rng(sum(shape))
    cost: Any = rng.standard_normal(shape).astype(np.float32)
    if kind != "float32":
        cost = rng.integers(0, 5, shape).astype(np.int32)
    mask = rng.random(shape) < 0.9 if kind == "barred" else None
    found = on_gpu(cost, mask)
    again = on_gpu(cost, mask)
    np.testing.assert_array_equal(found.indices, again.indices)
    assert (found.status <= Status.PARTIAL).all()
    for number, (own, indices) in enumerate(zip(cost, found.indices, strict=True)):
        full = own.astype(np.float64)
        if mask is not None:
            full[~mask[number]] = 1e6
        rows, columns = linear_sum_assignment(full)
        taken = full[np.flatnonzero(indices >= 0), indices[indices >= 0]]
        least = full[rows, columns]
        assert len(taken) == (least < 1e5).sum()
        assert taken.sum() == pytest.approx(least[least < 1e5].sum(), abs=1e-9)
