"""Tensors in, tensors out: on the CPU, and on a GPU without a wait."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from augury.classical.covers import covers_of
from augury.engines import as_bytes, match_dense
from augury.errors import InputError
from augury.torch import Assignment, Matching, Status, linear_assignment, matching

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.int64, torch.uint8]


def drawn(seed: int, shape: tuple[int, ...], device: str) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 1000, shape, generator=generator).to(device)


def details(*given: Any, **more: Any) -> Assignment:
    found = linear_assignment(*given, **more, details=True)
    assert isinstance(found, Assignment)
    return found


def columns(*given: Any, **more: Any) -> Tensor:
    found = linear_assignment(*given, **more)
    assert isinstance(found, Tensor)
    return found


def best(cost: Any, maximize: bool = False) -> list[int]:
    rows, taken = linear_sum_assignment(cost, maximize)
    found = np.full(len(cost), -1)
    found[rows] = taken
    return found.tolist()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type_has_scipys_costs(device: str, dtype: torch.dtype) -> None:
    for shape, maximize in product([(3, 6, 6), (2, 4, 9), (2, 9, 4)], (False, True)):
        cost = (drawn(sum(shape), shape, device) % 256).to(dtype)
        found = details(cost, maximize=maximize)
        assert found.indices.device == cost.device
        assert found.indices.dtype == torch.int64
        assert found.is_certified.all()
        wide = torch.float64 if dtype.is_floating_point else torch.int64
        assert found.costs.dtype == found.row_potentials.dtype == wide
        for own, total, size in zip(cost, found.costs, found.sizes, strict=True):
            numbers = own.double().cpu().numpy()
            rows, taken = linear_sum_assignment(numbers, maximize)
            assert total.item() == numbers[rows, taken].sum()
            assert size == min(shape[1:])


@pytest.mark.parametrize("device", DEVICES)
def test_potentials_prove_the_cost(device: str) -> None:
    for shape in [(3, 5, 5), (3, 4, 7), (3, 7, 4)]:
        cost = drawn(7, shape, device)
        found = details(cost)
        reduced = cost - found.row_potentials[:, :, None] - found.column_potentials[:, None]
        assert (reduced >= 0).all()
        assert (found.row_potentials.sum(1) + found.column_potentials.sum(1) == found.costs).all()


@pytest.mark.parametrize("device", DEVICES)
def test_padding_and_masks_leave_out(device: str) -> None:
    cost = drawn(3, (4, 5, 6), device).float()
    sizes = torch.tensor([[5, 6], [2, 3], [4, 1], [0, 6]], device=device)
    found = columns(cost, sizes=sizes)
    for own, (left, right), indices in zip(cost, sizes.tolist(), found.tolist(), strict=True):
        assert indices[:left] == best(own[:left, :right].cpu().numpy())
        assert indices[left:] == [-1] * (5 - left)
    mask = torch.ones_like(cost, dtype=torch.bool)
    mask[1, :, 2:] = False
    mask[2, 3] = False
    barred = details(cost, mask)
    assert barred.status.tolist() == [0, Status.PARTIAL, Status.PARTIAL, 0]
    assert barred.sizes.tolist() == [5, 2, 4, 5]
    assert (barred.indices[1] < 2).all()
    assert barred.indices[2, 3] == -1
    rest = [0, 1, 2, 4]
    assert barred.indices[2, rest].tolist() == best(cost[2, rest].cpu().numpy())
    infinite = cost.masked_fill(~mask, torch.inf)
    assert torch.equal(columns(infinite), barred.indices)


@pytest.mark.parametrize("device", DEVICES)
def test_what_cannot_be_is_a_status(device: str) -> None:
    cost = drawn(5, (4, 3, 3), device).double()
    cost[1, 1, 1], cost[2, 0, 0] = torch.nan, -torch.inf
    sizes = torch.tensor([[3, 3], [3, 3], [3, 3], [3, 4]], device=device)
    found = details(cost, sizes=sizes)
    assert found.status.tolist() == [Status.OPTIMAL] + [Status.INVALID] * 3
    assert (found.indices[1:] == -1).all()
    assert found.sizes.tolist() == [3, 0, 0, 0]
    beyond = torch.tensor([[3, 2**32 + 3], [-1, 3], [3, 3], [3, 3]], device=device)
    assert details(drawn(5, (4, 3, 3), device), sizes=beyond).status.tolist() == [2, 2, 0, 0]


def test_integers_whose_potentials_do_not_fit_spoil_no_other() -> None:
    cost = drawn(6, (3, 2, 2), "cpu")
    expected = details(cost)
    cost[1] = torch.tensor([-(2**63), 2**63 - 1])  # the columns' potentials are 2^64 - 1 apart
    found = details(cost)
    assert found.status.tolist() == [Status.OPTIMAL, Status.INVALID, Status.OPTIMAL]
    assert found.indices[1].tolist() == [-1] * 2 and not found.row_potentials[1].any()
    assert torch.equal(found.indices[::2], expected.indices[::2])


@pytest.mark.parametrize("device", DEVICES)
def test_of_equals_it_is_the_first(device: str) -> None:
    nothing = torch.zeros((2, 4, 6), dtype=torch.int32, device=device)
    assert columns(nothing).tolist() == [[0, 1, 2, 3]] * 2
    turned = columns(nothing.transpose(1, 2))
    assert turned.tolist() == [[0, 1, 2, 3, -1, -1]] * 2
    mask = torch.tensor([[0, 1, 1], [1, 1, 0], [0, 1, 0]], dtype=torch.bool, device=device)
    assert columns(nothing[0, :3, :3], mask).tolist() == [2, 0, 1]


@pytest.mark.parametrize("device", DEVICES)
def test_one_matrix_needs_no_axis_and_empty_ones_are_taken(device: str) -> None:
    cost = drawn(1, (4, 5), device)
    assert columns(cost).tolist() == best(cost.cpu().numpy())
    found = details(cost, sizes=torch.tensor([2, 2], device=device))
    assert found.indices[2:].tolist() == [-1, -1]
    assert found.costs.ndim == 0
    for shape in [(0, 3, 3), (2, 0, 3), (2, 3, 0)]:
        empty = details(torch.zeros(shape, device=device))
        assert empty.indices.shape == shape[:2]
        assert (empty.indices == -1).all()
        assert (empty.costs == 0).all()


def wrong_calls() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    cost = torch.zeros(2, 3, 4)
    yield "of type list, not a tensor", ([[1]],), {}
    yield "4 axes, not", (torch.zeros(1, 1, 1, 1),), {}
    yield "real numbers, and these are torch.complex64", (cost.to(torch.complex64),), {}
    yield "the shape of the mask is (3, 4), not (2, 3, 4)", (cost, torch.ones(3, 4).bool()), {}
    yield "the mask is Boolean, not torch.float32", (cost, cost), {}
    yield "the shape of the sizes is (2,), not (2, 2)", (cost,), {"sizes": torch.ones(2).long()}
    yield "sizes are integers, not torch.float32", (cost,), {"sizes": torch.ones(2, 2)}
    far = torch.ones(2, 3, 4, device="meta").bool()
    yield "the mask is on meta, not on cpu", (cost, far), {}
    yield "the mask is of type ndarray, not a tensor", (cost, np.ones((2, 3, 4), bool)), {}
    yield "the sizes are of type list, not a tensor", (cost,), {"sizes": [[3, 4]] * 2}
    yield "the costs are sparse, and .to_dense() makes a tensor dense", (cost.to_sparse(),), {}


@pytest.mark.parametrize(("told", "given", "more"), list(wrong_calls()))
def test_wrong_calls_are_told(told: str, given: Any, more: Any) -> None:
    with pytest.raises(InputError) as caught:
        linear_assignment(*given, **more)
    assert told in str(caught.value)


def test_tensors_without_numbers_have_answers_without_numbers() -> None:
    cost = torch.empty(2, 3, 4, device="meta")
    assert columns(cost).shape == (2, 3)
    assert details(cost).column_potentials.dtype == torch.float64
    assert matching(cost, details=True).row_cover.shape == (2, 3)


def test_no_gradient_goes_through_indices_and_one_through_costs() -> None:
    cost = drawn(2, (2, 3, 3), "cpu").float().requires_grad_()
    found = columns(cost)
    assert not found.requires_grad
    cost.gather(2, found[:, :, None]).sum().backward()
    assert cost.grad is not None
    assert cost.grad.sum(dim=2).tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("device", DEVICES)
def test_it_is_an_operator_for_a_compiler(device: str) -> None:
    def step(cost: Tensor) -> Tensor:
        found = linear_assignment(cost * 2, details=True)
        assert isinstance(found, Assignment)
        return found.indices + found.costs[:, None].long() * 0

    cost = drawn(9, (3, 5, 5), device).float()
    whole = torch.compile(step, fullgraph=True, backend="aot_eager")
    assert torch.equal(whole(cost), columns(cost))
    given = cost, None, None, False
    torch.library.opcheck(torch.ops.augury.linear_assignment.default, given)


@pytest.mark.gpu
def test_on_a_gpu_nothing_waits() -> None:
    cost = drawn(4, (64, 20, 30), "cuda").float()
    mask = drawn(5, (64, 20, 30), "cuda") < 900
    sizes = torch.full((64, 2), 18, device="cuda")
    details(cost, mask, sizes)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        details(cost, mask, sizes)
        columns(cost.bfloat16(), maximize=True)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.gpu
def test_on_a_gpu_it_runs_in_its_stream_and_in_a_graph() -> None:
    cost = drawn(6, (512, 40, 40), "cuda").float()
    expected = columns(cost)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        late = torch.zeros_like(cost)
        torch.cuda._sleep(20_000_000)
        late += cost  # not there yet on another stream
        found = columns(late)
    stream.synchronize()
    assert torch.equal(found, expected)
    held = torch.zeros_like(cost)
    columns(held)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = columns(held)
    held.copy_(cost)
    graph.replay()
    assert torch.equal(found, expected)


def graphs_of(shape: tuple[int, ...], device: str) -> Tensor:
    return (drawn(sum(shape), shape, device) < 1000 * 2.5 / shape[2]).to(device)


def matched(*given: Any, **more: Any) -> Matching:
    found = matching(*given, **more, details=True)
    assert isinstance(found, Matching)
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_matchings_are_those_of_match_dense_and_proven(device: str) -> None:
    for shape in ((9, 6, 6), (5, 4, 9), (5, 64, 33), (3, 70, 90), (0, 3, 3), (2, 0, 3), (2, 3, 0)):
        adjacency = graphs_of((*shape[:2], max(shape[2], 1)), device)[:, :, : shape[2]]
        found, host = matched(adjacency), as_bytes(adjacency.cpu().numpy())
        expected = match_dense(host).mates
        assert found.is_certified.all() and not found.status.any()
        assert found.sizes.tolist() == (expected >= 0).sum(-1).tolist()
        assert found.indices.tolist() == expected.tolist()
        covers = covers_of(host, found.indices.cpu().numpy())
        assert covers.is_proven.all()
        assert found.row_cover.tolist() == covers.in_left.tolist()
        assert found.column_cover.tolist() == covers.in_right.tolist()
        assert all(own.device == adjacency.device for own in found)


@pytest.mark.parametrize("device", DEVICES)
def test_matchings_take_any_numbers_one_graph_and_sizes(device: str) -> None:
    adjacency = graphs_of((6, 7, 8), device)
    plain = matched(adjacency)
    numbers = adjacency.float() * torch.arange(1, 9, device=device)
    assert torch.equal(matched(numbers).indices, plain.indices)
    one = matching(adjacency[2])
    assert isinstance(one, Tensor) and torch.equal(one, plain.indices[2])
    sizes = torch.tensor([[7, 8], [3, 8], [7, 2], [0, 0], [8, 8], [7, -1]], device=device)
    found = matched(adjacency, sizes)
    assert found.status.tolist() == [0, 0, 0, 0, Status.INVALID, Status.INVALID]
    for graph, (rows, cut) in enumerate(sizes.tolist()[:4]):
        alone = matched(adjacency[graph, :rows, :cut])
        assert found.sizes[graph] == alone.sizes and found.indices[graph].max() < max(cut, 1)
        assert (found.indices[graph, rows:] == -1).all()
    assert (found.indices[4:] == -1).all()
    wide = torch.tensor([[7, 9], *[[7, 8]] * 5], device=device)
    assert matched(adjacency, wide).status.tolist() == [Status.INVALID, 0, 0, 0, 0, 0]
    numbers[1, 2, 3] = torch.nan
    assert matched(numbers).status.tolist() == [0, Status.INVALID, 0, 0, 0, 0]


def test_what_is_no_adjacency_is_refused() -> None:
    for wrong, told in (
        ([[1]], "of type list, not a tensor"),
        (torch.ones(3), "1 axes"),
        (torch.ones((2, 2), dtype=torch.complex64), "real numbers"),
    ):
        with pytest.raises(InputError, match=told):
            matching(wrong)  # type: ignore[reportArgumentType]
    with pytest.raises(InputError, match="sizes are integers"):
        matching(torch.ones((2, 2, 2)), torch.ones((2, 2)))


def test_the_operator_of_matchings_says_what_it_returns() -> None:
    torch.library.opcheck(torch.ops.augury.matching.default, (graphs_of((2, 3, 4), "cpu"),))


@pytest.mark.gpu
def test_matchings_on_a_gpu_never_wait() -> None:
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    given = [graphs_of(shape, "cuda") for shape in ((99, 64, 64), (9, 130, 200))]
    sizes = [torch.full((len(own), 2), 60, device="cuda") for own in given]
    pairs = list(zip(given, sizes, strict=True))
    expected = [matched(*pair) for pair in pairs]
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        found = [matched(*pair) for pair in pairs]
    finally:
        torch.cuda.set_sync_debug_mode(before)
    assert all(map(torch.equal, (one.indices for one in found), (one.indices for one in expected)))
    assert all(one.is_certified.all() for one in found)


@pytest.mark.parametrize("device", DEVICES)
def test_a_compiler_takes_matchings(device: str) -> None:
    edges = drawn(3, (4, 6, 5), device) < 300
    whole = torch.compile(lambda given: matching(given), fullgraph=True, backend="aot_eager")
    assert torch.equal(whole(edges), matching(edges))
