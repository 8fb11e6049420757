"""A proof covers every case under any rounding, and names a case that is wrong."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from augury.algorithms.cells import CELLS, FLOOD, LEAST, NEAREST, SUBTRACT
from augury.cells.cell import Cell
from augury.cells.exact import nearest
from augury.cells.network import CellNetwork, case_logits, compiled, expectations
from augury.cells.proof import (
    Checked,
    Part,
    decided,
    exact_table,
    exceeds,
    is_proven,
    prove,
    weights_of,
)
from augury.errors import InputError
from augury.neural.layers import Linear
from proven import proven, untrained

PARTS: dict[str, tuple[Cell, int]] = {
    "flood reached": (FLOOD, 0),
    "flood changed": (FLOOD, 1),
    "nearest": (NEAREST, 0),
    "least candidate": (LEAST, 0),
    "subtract digit": (SUBTRACT, 0),
    "subtract borrow": (SUBTRACT, 1),
}


def head(network: CellNetwork, name: str) -> Linear:
    """The last layer of a part."""
    found = network[name.split()[0]].get_submodule("score" if name == "nearest" else "head")
    assert isinstance(found, Linear) and found.bias is not None
    return found


def of_head(network: CellNetwork, name: str) -> Iterator[Tensor]:
    """Yield the weights and the bias with which one output is computed."""
    layer, place = head(network, name), PARTS[name][1]
    assert layer.bias is not None
    yield layer.weight[place]
    yield layer.bias[:, place]


def part_of(network: CellNetwork, name: str) -> Checked:
    return next(part for part in prove(network) if part.name == name)


def signed(network: CellNetwork, name: str) -> Tensor:
    """(case,): positive where the network is right."""
    cell, place = PARTS[name]
    said = case_logits(network, cell)[:, place].detach()
    return torch.where(expectations(cell, said.device)[:, place], said, -said)


def test_a_good_network_is_proven_in_every_case() -> None:
    parts = prove(proven())
    assert [part.name for part in parts] == list(PARTS)
    for part in parts:
        assert part.cases == len(PARTS[part.name][0].cases)
        assert part.right == part.proven == part.cases and part.verdict == "proven"
        assert part.wrong == part.thin == ""
        assert part.margin > part.bound > 0 and 1 < part.largest < 1000
        assert list(part.arithmetics) == ["float32", "tf32", "bfloat16"]
        assert part.arithmetics["float32"]["bound"] == part.bound
        bounds = [own["bound"] for own in part.arithmetics.values()]
        assert bounds == sorted(bounds) and bounds[0] < bounds[1] / 100
    assert is_proven(proven()) and not is_proven(untrained())


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_says_the_opposite_is_the_one_that_is_named(name: str) -> None:
    network = proven()
    with torch.no_grad():
        for weights in of_head(network, name):
            weights.neg_()
    wrong = [part for part in prove(network) if not part.is_proven]
    assert [part.name for part in wrong] == [name]
    cell = PARTS[name][0]
    assert wrong[0].right == 0 and wrong[0].wrong == cell.words(cell.cases[0])
    assert wrong[0].verdict == "wrong" and wrong[0].thin == ""


def exact_part(network: CellNetwork, name: str) -> Part:
    cell, place = PARTS[name]
    return decided(cell, weights_of(network, cell))[place]


def with_margin(name: str, factor: float) -> CellNetwork:
    """Shift a proven network's last bias until the smallest margin is a multiple of its bound."""
    network = proven()
    *_, bias = of_head(network, name)
    for _ in range(3):  # the bound moves a little with the bias
        part, place = exact_part(network, name), PARTS[name][1]
        positive = [own for own in part.decisions if own.case.expected[place]]
        margin, bound = min((nearest(*own.margin), own.bounds[0]) for own in positive)
        with torch.no_grad():
            bias.sub_(margin - factor * bound)  # these come nearer to 0, all by the same amount
    return network


@pytest.mark.parametrize("name", [name for name in PARTS if name != "nearest"])
def test_a_right_decision_within_reach_of_rounding_is_no_proof(name: str) -> None:
    for factor, expected in ((0.3, False), (0.9, False), (1.1, True), (3.0, True)):
        network = with_margin(name, factor)
        assert (signed(network, name) > 0).all()
        part = part_of(network, name)
        assert part.margin > 0 and part.right == part.cases and part.wrong == ""
        assert part.is_proven == is_proven(network) == expected
        assert part.verdict == ("proven" if expected else "thin")
        assert (part.thin == "") == expected


def test_a_margin_counts_in_full_precision() -> None:
    for power in (-2000, -20, 0, 20, 900):
        for bound in (1.0, 1.5, 2.0**-30, 3e-200):
            above, below = bound.as_integer_ratio()
            whole = (above << 3000) // below
            for added, expected in ((-1, False), (0, False), (1, True)):
                # (whole + added) · 2^(−3000), at another power
                margin = (whole + added) << (3000 - power), power - 6000
                assert exceeds(margin, bound) == expected
    assert not exceeds((1, 5000), float("inf")) and not exceeds((1, 0), float("nan"))


def test_nothing_between_the_signs_is_right_or_proven() -> None:
    """A logit of exactly 0 decides for 0, and two equal scores for neither."""
    network = proven()
    with torch.no_grad():
        for cell in CELLS:
            for weights in head(network, cell.name).parameters():
                weights.zero_()
    for part in prove(network):
        cell, place = PARTS[part.name]
        zeros = sum(not case.expected[place] for case in cell.cases)
        assert (part.right, part.proven, part.margin) == (zeros, 0, 0)
    assert exact_table(network).to_dict() == compiled(network).to_dict()


def test_the_exact_table_is_that_of_the_network() -> None:
    for network in (proven(), untrained(), untrained(1)):
        assert exact_table(network).to_dict() == compiled(network).to_dict()


def test_where_nothing_underflows_only_the_margin_relative_to_the_weights_counts() -> None:
    network = proven()
    before = prove(network)
    with torch.no_grad():
        for cell in CELLS:
            for weights in head(network, cell.name).parameters():
                weights.mul_(2.0**-23)
    for one, other in zip(before, prove(network), strict=True):
        assert other.is_proven
        assert other.margin == pytest.approx(one.margin * 2.0**-23)
        assert other.bound == pytest.approx(one.bound * 2.0**-23, rel=1e-4)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_numbers_that_are_none_prove_nothing(value: float) -> None:
    for cell in CELLS:
        network = proven()
        with torch.no_grad():
            head(network, cell.name).weight[0, 0] = value
        assert not is_proven(network)
        parts = {part.name: part for part in prove(network, (cell,))}
        assert all(part.proven == 0 and not part.is_proven for part in parts.values())
        json.dumps([part.to_dict() for part in parts.values()], allow_nan=False)
        exact_table(network)


@pytest.mark.parametrize("make", [proven, untrained])
def test_the_type_of_the_weights_and_pytorchs_default_make_no_difference(
    make: Callable[[], CellNetwork],
) -> None:
    network = make()
    single, double = prove(network), prove(copy.deepcopy(network).double())
    torch.set_default_dtype(torch.float64)
    try:
        third = prove(network)
    finally:
        torch.set_default_dtype(torch.float32)
    for one, other, last in zip(single, double, third, strict=True):
        assert (one.right, one.wrong) == (other.right, other.wrong) == (last.right, last.wrong)
        assert (one.margin, one.bound) == (other.margin, other.bound) == (last.margin, last.bound)


def test_weights_that_are_no_float32_are_refused() -> None:
    network = proven().double()
    with torch.no_grad():
        head(network, "least").weight[0, 0] += 1e-12
    for refused in (network, proven().bfloat16()):
        with pytest.raises(
            InputError, match=r"weight \w+\.[\w.]+ has numbers that are not float32"
        ):
            prove(refused)


def test_a_verdict_is_not_remembered_for_other_weights() -> None:
    network = proven()
    assert is_proven(network)
    with torch.no_grad():
        for weights in of_head(network, "least candidate"):
            weights.neg_()
    assert not is_proven(network)


def reordered(network: CellNetwork, seed: int) -> CellNetwork:
    """Return the same function with all hidden units renumbered, so that sums run differently."""
    network = copy.deepcopy(network)
    rng = torch.Generator().manual_seed(seed)

    def turn(made: Linear, *readers: tuple[Linear, int]) -> None:
        order = torch.randperm(made.weight.shape[0], generator=rng)
        made.weight.copy_(made.weight[order])
        if made.bias is not None:
            made.bias.copy_(made.bias[:, order])
        for reader, first in readers:
            columns = reader.weight[:, first : first + len(order)]
            columns.copy_(columns[:, order].clone())

    with torch.no_grad():
        for cell in CELLS:
            module: Any = network[cell.name]
            if cell.joins == "none":
                turn(module.own, (module.head, 0))
            elif cell.joins == "choice":
                turn(module.kind, (module.hidden, 0))
                turn(module.hidden, (module.score, 0))
            else:
                own, kind, message, join, last = (
                    module.get_submodule(name)
                    for name in ("own", "kind", "message", "join", "head")
                )
                turn(own, (message, 0), (join, 0), (last, 0))
                turn(kind, (message, network.hidden))
                turn(message, (join, network.hidden))
                turn(join, (last, network.hidden))
    return network


def test_no_order_of_summation_moves_a_decision_beyond_the_bound() -> None:
    moved = dict.fromkeys(PARTS, 0.0)
    for seed in range(4):
        network = untrained(seed) if seed else proven()
        bounds = {part.name: part.bound for part in prove(network)}
        exact = copy.deepcopy(network).double()
        for order in range(5):
            other = reordered(network, order)
            again = copy.deepcopy(other).double()
            for name, bound in bounds.items():
                truth = signed(exact, name)
                torch.testing.assert_close(signed(again, name), truth, rtol=1e-9, atol=1e-12)
                difference = float((signed(other, name).double() - truth).abs().max())
                assert difference < bound
                moved[name] = max(moved[name], difference)
    assert min(moved.values()) > 0
