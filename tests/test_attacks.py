"""Networks built to fool the proof: none is called proven and then goes wrong.

The full campaign is `benchmarks/mutants.py`. Each attack is seen to work: some evaluation of it in
float32 does go wrong, or would with a bound that is a little smaller.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from augury.algorithms.cells import CELLS, FLOOD, LEAST, NEAREST, SUBTRACT
from augury.cells.cell import Cell
from augury.cells.exact import LIMIT
from augury.cells.network import CellNetwork
from augury.cells.proof import Checked, Weights, checked, decided, prove, weights_of
from augury.neural.layers import draw
from augury.verify import verify
from mutants import (
    BASES,
    UNITS,
    WAYS,
    evaluated,
    flushing,
    goes_wrong,
    is_right,
    run_chunk,
    shipped,
    small,
    with_weights,
)
from proven import proven

GATHERING = [FLOOD, LEAST]


def weights_for(cell: Cell, network: CellNetwork | None = None) -> Weights:
    return {name: own.copy() for name, own in weights_of(network or shipped(), cell).items()}


def verdicts(cell: Cell, weights: Weights) -> list[Checked]:
    return [checked(part) for part in decided(cell, weights)]


def ways_that_fail(cell: Cell, weights: Weights) -> set[str]:
    """The evaluations in float32 in which some decision is wrong."""
    rng, found = np.random.default_rng(0), set[str]()
    with np.errstate(all="ignore"):
        for way in WAYS:
            if way == "flushed":
                with flushing():
                    said = evaluated(cell, weights, "first to last", rng)
            else:
                said = evaluated(cell, weights, way, rng)
            if not is_right(cell, said).all():
                found.add(way)
    return found


def cancelling(cell: Cell, weights: Weights, large: float) -> None:
    """Let the two units of least use be the same, and their large weights cancel exactly."""
    made, reader, before = UNITS[cell.joins][-1]
    start = len(weights[f"{before}.weight"]) if before else 0
    columns = weights[f"{reader}.weight"]
    units = columns[:, start : start + len(weights[f"{made}.weight"])]
    copy, place = np.abs(units).sum(0).argsort()[[0, 1]]
    for name in (f"{made}.weight", f"{made}.bias"):
        if name in weights:
            own = weights[name] if name.endswith("weight") else weights[name].T
            own[place] *= 1024
            own[copy] = own[place]
    units[:, place], units[:, copy] = large, -large


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_partial_sums_that_overflow_and_cancel_are_not_proven(cell: Cell) -> None:
    weights = weights_for(cell)
    cancelling(cell, weights, 3e38)
    found = verdicts(cell, weights)
    assert all(part.right == part.cases for part in found)  # in exact numbers
    assert [part.verdict for part in found] == ["thin"] * len(found)
    assert all(part.largest > LIMIT for part in found)
    assert ways_that_fail(cell, weights) >= {"rising", "falling"}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_large_weights_that_cancel_use_the_margin_up_long_before_they_overflow(cell: Cell) -> None:
    seen = set[str]()
    for power in (0, 4, 8, 16, 24, 32, 64, 110):
        weights = weights_for(cell, shipped() if cell is SUBTRACT else small())
        cancelling(cell, weights, 2.0**power)
        is_proven = all(part.is_proven for part in verdicts(cell, weights))
        fails = ways_that_fail(cell, weights)
        assert not (is_proven and fails)
        seen.add("proven" if is_proven else "fails" if fails else "thin")
    assert seen >= {"proven", "fails"}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_heads_scaled_to_subnormal_numbers_are_not_proven(cell: Cell) -> None:
    last, seen = ("score" if cell is NEAREST else "head"), set[bool]()
    for power in (-100, -110, -125, -136):  # 2^−136 is 1e−41
        weights = weights_for(cell, small())
        for name in (f"{last}.weight", f"{last}.bias"):
            weights[name] = np.ldexp(weights[name], power)
        found = verdicts(cell, weights)
        is_proven = all(part.is_proven for part in found)
        seen.add(is_proven)
        assert not (is_proven and ways_that_fail(cell, weights))
    assert seen == {True, False}
    assert {part.verdict for part in found} == {"thin"}
    assert "flushed" in ways_that_fail(cell, weights)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_heads_scaled_until_partial_sums_overflow_are_not_proven(cell: Cell) -> None:
    """No weight is out of place, and no bound is in proportion: only the sums are too large."""
    last, seen = ("score" if cell is NEAREST else "head"), set[tuple[bool, bool]]()
    for power in range(118, 127):
        weights = weights_for(cell, small())
        for name in (f"{last}.weight", f"{last}.bias"):
            weights[name] = np.ldexp(weights[name], power)
        if all(np.isfinite(own).all() for own in weights.values()):
            is_proven = all(part.is_proven for part in verdicts(cell, weights))
            seen.add((is_proven, bool(ways_that_fail(cell, weights))))
    assert (True, True) not in seen
    assert {(True, False), (False, True)} <= seen


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
@pytest.mark.parametrize("value", [1e38, -1e38, 3.4028235e38])
def test_weights_near_the_largest_float_are_not_proven_and_wrong(cell: Cell, value: float) -> None:
    rng = np.random.default_rng(1)
    for name in weights_for(cell):
        weights = weights_for(cell, small())
        weights[name].reshape(-1)[rng.integers(weights[name].size)] = value
        for part in verdicts(cell, weights):
            assert not (part.is_proven and part.largest > LIMIT)
        if all(part.is_proven for part in verdicts(cell, weights)):
            assert not ways_that_fail(cell, weights)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_cell_with_a_weight_that_is_no_number_is_proven(value: float) -> None:
    for cell in CELLS:
        for name in weights_for(cell):
            weights = weights_for(cell, small())
            weights[name].reshape(-1)[0] = value
            assert not any(part.is_proven for part in verdicts(cell, weights))


def renumbered(cell: Cell, weights: Weights, seed: int) -> None:
    """Renumber all units: the same function."""
    rng = np.random.default_rng(seed)
    readers = {"own": [("message", 0), ("join", 0), ("head", 0)]}
    for made, reader, before in UNITS[cell.joins]:
        start = len(weights[f"{before}.weight"]) if before else 0
        readers[made] = [(reader, start)]
    for made, all_readers in readers.items():
        if f"{made}.weight" not in weights:
            continue
        order = rng.permutation(len(weights[f"{made}.weight"]))
        weights[f"{made}.weight"] = weights[f"{made}.weight"][order]
        if f"{made}.bias" in weights:
            weights[f"{made}.bias"] = weights[f"{made}.bias"][:, order]
        for reader, start in all_readers:
            if f"{reader}.weight" in weights:
                columns = weights[f"{reader}.weight"][:, start : start + len(order)]
                columns[:] = columns[:, order]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_renumbered_units_change_no_margin_and_no_verdict(cell: Cell) -> None:
    before = decided(cell, weights_for(cell))
    weights = weights_for(cell)
    renumbered(cell, weights, 1)
    assert not np.array_equal(
        weights["kind.weight" if "kind.weight" in weights else "own.weight"],
        weights_for(cell)["kind.weight" if "kind.weight" in weights else "own.weight"],
    )
    for one, other in zip(before, decided(cell, weights), strict=True):
        assert [own.margin for own in one.decisions] == [own.margin for own in other.decisions]
        bounds = [np.array([own.bounds for own in part.decisions]) for part in (one, other)]
        np.testing.assert_allclose(*bounds, rtol=1e-9)
        assert checked(other).is_proven


def test_networks_of_one_unit_are_proven_only_where_they_are_right() -> None:
    """Of what one unit can say of two bits, "and" is proven and "or" is; nothing else is."""
    both = Cell(name="both", own="a b", output="and or", rule=lambda own: (all(own), any(own)))
    proven_parts = set[str]()
    for seed in range(200):
        network = CellNetwork((both,), 1, 1)
        draw(network, torch.Generator().manual_seed(seed))
        if seed % 2:
            with torch.no_grad():
                network["both"].get_submodule("own").bias.add_(-1.5 + seed % 3)  # type: ignore[operator]
        weights = weights_of(network, both)
        rng = np.random.default_rng(seed)
        right = np.array([is_right(both, evaluated(both, weights, way, rng)) for way in WAYS[:8]])
        for place, part in enumerate(prove(network)):
            assert not part.is_proven or right[:, place].all()
            proven_parts |= {part.name} if part.is_proven else set()
    assert proven_parts == {"both and", "both or"}
    for seed in range(5):
        network = CellNetwork(CELLS, 1, 63)
        draw(network, torch.Generator().manual_seed(seed))
        assert not verify(network, find_counterexample=False).is_proven


@pytest.mark.parametrize("cell", [*GATHERING, SUBTRACT], ids=lambda cell: cell.name)
def test_a_margin_just_above_the_bound_is_proven_and_one_just_below_is_thin(cell: Cell) -> None:
    """The bias is moved in the last bit that it has, across the bound."""
    weights = weights_for(cell, small())
    place = [case.expected[0] for case in cell.cases]

    def is_proven_with(bias: np.float32) -> bool:
        weights["head.bias"][0, 0] = bias
        part = verdicts(cell, weights)[0]
        assert part.right == part.cases or part.margin < 0
        return part.is_proven

    low = weights["head.bias"][0, 0]  # proven
    said = evaluated(cell, weights, "first to last", np.random.default_rng(0))[:, 0]
    high = np.float32(low - said[place].min())  # the smallest is 0 now: not proven
    while np.nextafter(low, high) != high:
        middle = np.float32((np.float64(low) + np.float64(high)) / 2)
        low, high = (middle, high) if is_proven_with(middle) else (low, middle)
    assert not is_proven_with(high) and verdicts(cell, weights)[0].verdict == "thin"
    assert is_proven_with(low)
    assert not ways_that_fail(cell, weights)
    assert not goes_wrong(with_weights(small, cell, weights), 0)


@pytest.mark.parametrize("number", range(5, 9), ids=lambda number: CELLS[number % 4].name)
def test_no_mutant_is_proven_and_wrong(number: int) -> None:
    told = run_chunk(1, number, 60)
    assert told["faults"] == []
    assert told["units"] == 8 and told["cell"] == CELLS[number % 4].name
    assert min(told["counts"]["proven"], told["counts"]["wrong"]) > 5
    assert sum(told["counts"][verdict] for verdict in ("proven", "thin", "wrong")) == 60


def test_a_prover_without_bounds_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The campaign can fail: it does, if every right decision is called proven."""
    from augury.cells.proof import Decision

    holds: Callable[[Decision, int], bool] = lambda self, place: self.is_right  # noqa: E731
    monkeypatch.setattr(Decision, "holds", holds)
    faults = [fault for number in (4, 5) for fault in run_chunk(1, number, 60)["faults"]]
    assert faults


def test_the_campaign_mutates_the_shipped_network_too() -> None:
    told = run_chunk(1, len(BASES), 12)
    assert told["units"] == shipped().hidden == proven().hidden and told["faults"] == []
