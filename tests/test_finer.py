"""Costs that no unit of 64 bits holds: every answer is exact, whatever their sizes."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from augury import InputError, finer
from augury.finer import least_cost_flow, least_cost_matching, whole_costs

MATRICES = {
    "all bits of a float": lambda rng, shape: rng.random(shape),
    "all sizes": lambda rng, shape: rng.random(shape) * 10.0 ** rng.integers(-300, 300, shape),
    "some forbidden": lambda rng, shape: np.where(
        rng.random(shape) < 0.5, 1e300, rng.random(shape)
    ),
    "ties but for the last bit": lambda rng, shape: (
        (rng.integers(0, 3, shape) * 2.0**-52 + 1) * 2.0 ** rng.integers(-1, 2, shape)
    ),
    "three scales": lambda rng, shape: (
        rng.integers(0, 3, shape) * 1e-300 + rng.integers(0, 2, shape) * 1e-10
    ),
    "the ends of float64": lambda rng, shape: rng.choice([5e-324, 1.7e308, -1.7e308, 0, 1], shape),
    "int64": lambda rng, shape: rng.integers(-(2**63), 2**63 - 1, shape),
    "uint64": lambda rng, shape: rng.integers(0, 2**64 - 1, shape, dtype=np.uint64),
}


def sums(matrix: Any) -> list[Fraction]:
    """Return what every full assignment of the rows costs, exactly."""
    exact = [[Fraction(cost) for cost in row] for row in matrix.tolist()]
    columns = permutations(range(matrix.shape[1]), matrix.shape[0])
    return [sum((exact[i][j] for i, j in enumerate(own)), Fraction(0)) for own in columns]


@pytest.mark.parametrize("name", MATRICES)
def test_an_assignment_is_exactly_optimal(name: str) -> None:
    rng = np.random.default_rng(1)
    for k in range(10):
        rows = int(rng.integers(1, 5))
        shape, maximise = (rows, rows + int(rng.integers(0, 3))), k % 2 == 0
        matrix = MATRICES[name](rng, shape)
        ends: Any = tuple(np.indices(shape).reshape(2, -1))
        pairs: Any = least_cost_matching(shape, ends, matrix.reshape(-1), maximise)
        assert pairs[:, 0].tolist() == list(range(rows))
        cost = sum((Fraction(matrix[i, j].item()) for i, j in pairs), Fraction(0))
        assert cost == (max if maximise else min)(sums(matrix))


def test_what_rounding_hides_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    circulation = finer._circulation  # pyright: ignore[reportPrivateUsage]

    def heard(room: Any, amount: Any, engine: str) -> Any:
        asked.append(len(amount))
        return circulation(room, amount, engine)

    monkeypatch.setattr(finer, "_circulation", heard)
    matrix = np.array([1e300, 1e300, 1.0, 1.0, 1e-300, 0.0])  # 3 × 2: the tiny ones decide
    ends = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])
    assert least_cost_matching((3, 2), ends, matrix, False).tolist() == [[1, 0], [2, 1]]
    assert asked and max(asked) < 11, "arcs that cannot change are left out"


def spent(costs: Any, flow: Any) -> int:
    return sum(cost * amount for cost, amount in zip(costs, flow.tolist(), strict=True))


def test_a_flow_is_exactly_optimal_though_many_units_flow() -> None:
    rng = np.random.default_rng(2)
    for k in range(12):
        ends: Any = tuple(rng.integers(0, 5, (2, 10)))
        capacity = rng.integers(0, 10 ** (1 + k % 6), 10)
        start = rng.integers(0, capacity + 1)
        supply = np.zeros(5, np.int64)  # what this flow sends, so that there is one
        np.add.at(supply, ends[0], start)
        np.subtract.at(supply, ends[1], start)
        coarse = rng.integers(-100, 100, 10).astype(object)
        best = least_cost_flow(ends, capacity, coarse, supply)
        # Far below the last bit of these costs others decide among the flows that are cheapest.
        mixed = (coarse << 300) + rng.integers(-9, 10, 10).astype(object)
        found = least_cost_flow(ends, capacity, mixed, supply)
        assert spent(coarse, found) == spent(coarse, best)
        assert spent(mixed, found) <= spent(mixed, best)
        fitting = (coarse << 40) + (mixed - (coarse << 300))  # the same order of flows
        assert spent(mixed, found) == spent(mixed, least_cost_flow(ends, capacity, fitting, supply))


def test_numbers_of_any_kind_get_a_common_unit() -> None:
    costs = [1, Fraction(1, 3), Decimal("0.5"), np.float32(2), np.int64(3)]
    assert whole_costs(costs, 4).tolist() == [6, 2, 3, 12, 18]
    assert whole_costs([0.1, 0.2, -0.3], 4).tolist() == [1, 2, -3]
    assert whole_costs([2**80, 0.5], 4).tolist() == [2**81, 1]
    assert whole_costs([2**53 + 1, 0.5], 4).tolist() == [2**54 + 2, 1]
    assert whole_costs([], 4).tolist() == []
    for wrong in ("2", None, float("nan"), float("inf"), Decimal("nan"), 1j):
        with pytest.raises(InputError, match=r"a cost is .*, not a finite number"):
            whole_costs([1, wrong], 4)


def test_costs_and_capacities_that_leave_no_room_are_refused() -> None:
    tail, head = np.array([0, 1, 0]), np.array([1, 0, 1])
    costs = np.array([2**200, -(2**200) - 2**146, 2**201], object)
    found = least_cost_flow((tail, head), np.full(3, 9), costs, np.zeros(2, np.int64))
    assert found.tolist() == [9, 9, 0]
    with pytest.raises(InputError, match="differ too much in size, and capacities are too large"):
        least_cost_flow((tail, head), np.full(3, 2**60), costs, np.zeros(2, np.int64))
