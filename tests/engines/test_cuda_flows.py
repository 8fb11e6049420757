"""The kernels for flows push and prove as the CPU does: on a simulated block, on a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import maximum_flow

from augury.classical.arrays import WideArray
from augury.classical.batch import Batch
from augury.classical.generate import flow
from augury.classical.network import FlowNetwork
from augury.classical.proofs import cuts_of
from augury.engines import cuda_flows
from augury.engines.cuda_assign import Form, Launch
from augury.engines.small_flows import SMALL, push_flow
from augury.errors import InputError
from augury.solver import solve, solve_batch
from graphs import BRIDGE, NETWORKS
from kernels import simulated

LARGEST = 227 * 1024
"""Bytes of shared memory that a block of an H200 may have."""

TAIL = """
static Networks given;
extern "C" void run_push(Networks all, long long blocks) {
    given = all;
    launch([] { push(given); }, blocks, THREADS);
}
extern "C" void run_prove(Networks all, long long blocks) {
    given = all;
    launch([] { prove(given); }, blocks, THREADS);
}
extern "C" long long network_bytes(int num_nodes, int num_arcs) {
    const Network own(memory, num_nodes, num_arcs, 0);
    return (char*)(own.queue + num_nodes) - (char*)memory;
}
"""
LIBRARIES: dict[tuple[tuple[str, Any], ...], ctypes.CDLL] = {}
Run = Callable[[Batch], cuda_flows.Pushed]


def compiled(folder: Path, form: Form) -> ctypes.CDLL:
    LIBRARIES[form.given] = simulated(folder, form.code + TAIL)
    return LIBRARIES[form.given]


def pushed(batch: Batch, lanes: int, largest: int = LARGEST) -> cuda_flows.Pushed:
    held = cuda_flows.hold(batch, torch.device("cpu"), largest, lanes)
    cuda_flows.run(held)
    return cuda_flows.fetched(held)


@pytest.fixture(params=[1, 8, 32])
def run(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """All of `cuda_flows`, with kernels that run here."""
    lanes: int = request.param

    def launch(launches: Iterable[Launch], networks: Any, _: Any) -> None:
        for own in launches:
            own.kernel(networks, ctypes.c_longlong(own.blocks))

    def kernel(form: Form, _: Any) -> Any:
        return getattr(compiled(folder, form), f"run_{form.name}")

    monkeypatch.setattr(cuda_flows, "launch", launch)
    monkeypatch.setattr(cuda_flows, "kernel", kernel)
    return partial(pushed, lanes=lanes)


def wide_network() -> FlowNetwork:
    """Hubs: nodes with more arcs than a warp has lanes."""
    inner = np.arange(1, 71)
    tail = np.concatenate([np.zeros(70, int), inner, inner[:-1]])
    head = np.concatenate([inner, np.full(70, 71), inner[1:]])
    capacity = np.random.default_rng(3).integers(0, 9, len(tail))
    return FlowNetwork.from_arcs(72, tail, head, capacity, source=0, sink=71)


def enormous() -> FlowNetwork:
    """A value beyond 64 bits."""
    arcs = [0, 0, 0, 1, 2, 3], [1, 2, 3, 4, 4, 4], [2**62, 2**62 - 1, 2**62, 2**62, 2**62, 2**61]
    return FlowNetwork.from_arcs(5, *arcs, source=0, sink=4)


def unequal(seed: int, count: int = 40) -> list[FlowNetwork]:
    """Networks of at most 512 arcs, which the CPU solves in phases too."""
    rng = np.random.default_rng(seed)
    drawn: list[FlowNetwork] = []
    for _ in range(count):
        nodes = int(rng.integers(2, 40))
        arcs = int(rng.integers(0, min(nodes * (nodes - 1), 4 * nodes) + 1))
        high = int(rng.choice([1, 3, 100, 2**61]))
        drawn.append(flow(rng, nodes, arcs, low=0, high=high))
    apart = FlowNetwork.from_arcs(50, [0, 2], [1, 3], [4, 5], source=0, sink=3)
    return [*drawn, apart, wide_network(), enormous(), *NETWORKS.values()]


def alone(network: FlowNetwork, residual: WideArray) -> int:
    """Compare with the same phases in plain Python; return the rounds."""
    expected, rounds = push_flow(network)
    np.testing.assert_array_equal(residual, expected)
    return rounds


def assert_same_cuts(found: cuda_flows.Pushed, batch: Batch) -> None:
    """Values, cuts and verdicts are those of the certificate, which knows no kernel."""
    sizes, is_proven, in_cut = cuts_of(batch, found.residual)
    assert is_proven.all() and found.cuts.is_proven.all()
    assert found.cuts.sizes.tolist() == sizes.tolist()
    np.testing.assert_array_equal(found.cuts.in_cut, in_cut)


def test_every_path_is_that_of_the_cpu(run: Run) -> None:
    for seed in (0, 1):
        networks = unequal(seed)
        batch = Batch.of(networks)
        found = run(batch)
        parts = np.split(found.residual, batch.arc_start[1:-1])
        assert found.rounds.tolist() == list(map(alone, networks, parts))
        assert_same_cuts(found, batch)
        for network, value in zip(networks, found.cuts.sizes.tolist(), strict=True):
            if network.capacity.max(initial=0) < 2**20:
                arcs = network.to_scipy().astype(np.int32)
                assert maximum_flow(arcs, network.source, network.sink).flow_value == value


def test_a_network_that_fills_a_block_has_scipys_value(run: Run) -> None:
    rng = np.random.default_rng(5)
    networks = [flow(rng, nodes, arcs, low=0, high=9) for nodes, arcs in ((300, 2000), (60, 1500))]
    batch = Batch.of([*networks, BRIDGE])
    assert (cuda_flows.rooms_of(batch)[:2] > 12 * 2 * SMALL).all()
    found = run(batch)
    for network, value in zip(networks, found.cuts.sizes.tolist()[:2], strict=True):
        arcs = network.to_scipy().astype(np.int32)
        assert maximum_flow(arcs, network.source, network.sink).flow_value == value
    assert_same_cuts(found, batch)


@pytest.mark.parametrize("run", [8, 32], indirect=True)
def test_no_answer_depends_on_the_order_of_lanes(run: Run) -> None:
    """One that does reads what another lane may not have written yet, or already has."""
    batch = Batch.of(unequal(2, 20))
    forwards = run(batch)
    for library in LIBRARIES.values():
        library.turn_round(True)
    try:
        backwards = run(batch)
    finally:
        for library in LIBRARIES.values():
            library.turn_round(False)
    np.testing.assert_array_equal(forwards.residual, backwards.residual)
    np.testing.assert_array_equal(forwards.rounds, backwards.rounds)
    assert_same_cuts(backwards, batch)


@pytest.mark.parametrize("run", [1, 32], indirect=True)
def test_a_flow_or_cut_that_was_tampered_with_is_not_proven(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`prove` finds each fault by itself, in its own network alone."""
    rng = np.random.default_rng(7)
    networks = [flow(rng, 12, 50, low=1, high=9) for _ in range(6)]
    batch = Batch.of(networks)
    residual, _, cuts = run(batch)
    assert cuts.is_proven.all() and (cuts.sizes > 1).all()
    launched = cuda_flows.launch
    start, first = batch.arc_start, batch.node_start

    def lost(k: int) -> None:  # an arc carries less than it gets
        arc = start[k] + int(np.flatnonzero((batch.capacity - residual)[start[k] :] > 0)[0])
        residual[arc] += 1
        residual[arc ^ 1] -= 1

    def negative(k: int) -> None:  # more than it can carry, and no less back
        residual[start[k] : start[k] + 2] += [-1000, 1000]

    def uneven(k: int) -> None:  # an arc and its reverse disagree, where no sum tells
        residual[np.flatnonzero(batch.sender == batch.sink[k])[0]] += 1

    def less(k: int) -> None:  # legal, but not maximum
        residual[start[k] : start[k + 1]] = batch.capacity[start[k] : start[k + 1]]

    def no_cut(k: int) -> None:  # the sink on the source's side
        cuts.in_cut[first[k] : first[k + 1]] = True

    damage = [lost, negative, uneven, less, no_cut]
    for k, damaged in enumerate(damage):
        damaged(k)

    def launch(launches: Any, networks: Any, device: Any) -> None:
        if networks.room == 0:  # it is the turn of `prove`
            for address, array in ((networks.residual, residual), (networks.in_cut, cuts.in_cut)):
                ctypes.memmove(address, array.ctypes.data, array.nbytes)
        launched(launches, networks, device)

    monkeypatch.setattr(cuda_flows, "launch", launch)
    found = run(batch)
    assert found.cuts.is_proven.tolist() == [False] * len(damage) + [True]
    np.testing.assert_array_equal(cuts_of(batch, found.residual).is_proven[:4], False)


def test_the_memory_of_a_network_is_that_of_the_kernel(folder: Path) -> None:
    library = compiled(folder, cuda_flows.form_of("push", 1, 32))
    networks = [*unequal(4, 20), flow(np.random.default_rng(1), 300, 2000)]
    taken = [library.network_bytes(own.num_nodes, own.num_arcs) for own in networks]
    rooms = cuda_flows.rooms_of(Batch.of(networks))
    assert all(0 <= room - bytes_ < 8 for room, bytes_ in zip(rooms, taken, strict=True))


@pytest.mark.parametrize("run", [1], indirect=True)
def test_what_a_block_cannot_hold_is_refused(run: Run) -> None:
    batch = Batch.of([BRIDGE, wide_network()])
    small, large = cuda_flows.rooms_of(batch).tolist()
    assert small < large
    assert run(batch, largest=large).cuts.is_proven.all()  # type: ignore[reportCallIssue]
    with pytest.raises(InputError, match="network 1 has 72 nodes and 209 arc pairs, more than a"):
        run(batch, largest=large - 1)  # type: ignore[reportCallIssue]


def test_a_batch_may_be_empty_and_a_network_without_arcs(run: Run) -> None:
    assert [len(part) for part in run(Batch.of([]))[:2]] == [0, 0]
    bare = FlowNetwork.from_arcs(3, [], [], [], source=2, sink=0)
    found = run(Batch.of([bare, bare]))
    assert found.cuts.sizes.tolist() == [0, 0] and found.cuts.is_proven.all()
    assert found.cuts.in_cut.tolist() == [False, False, True] * 2


@pytest.mark.parametrize("run", [1], indirect=True)
def test_solutions_are_those_of_the_table(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_flows, "push", run)
    assert_solved_alike(unequal(6))


def assert_solved_alike(networks: list[FlowNetwork]) -> None:
    found, expected = (solve_batch(networks, engine=name) for name in ("cuda-table", "table"))
    for one, other in zip(found, expected, strict=True):
        assert (one.flow, one.rounds, one.certificate) == (
            other.flow,
            other.rounds,
            other.certificate,
        )
        assert one.is_maximum and one.engine == "cuda-table"
    assert found.sizes.tolist() == expected.sizes.tolist()  # type: ignore[reportAttributeAccessIssue]
    assert solve(networks[-1], engine="cuda-table").flow == expected[-1].flow


@pytest.mark.gpu
def test_a_gpu_solves_and_proves_as_the_table_does() -> None:
    assert_solved_alike(unequal(8, 2000))
    rng = np.random.default_rng(9)
    large = [flow(rng, nodes, 4 * nodes, low=0, high=99) for nodes in (100, 400, 1600) * 5]
    found = solve_batch([*large, BRIDGE], engine="cuda-table")
    expected = solve_batch([*large, BRIDGE], engine="table")
    for one, other in zip(found, expected, strict=True):  # other paths, the same value and cut
        assert one.is_maximum and one.certificate == other.certificate
    huge = flow(rng, 20_000, 60_000)
    with pytest.raises(InputError, match=r"network 1 has 20,000 nodes and .* 'table' takes any"):
        solve_batch([BRIDGE, huge], engine="cuda-table")


@pytest.mark.gpu
@pytest.mark.parametrize("lanes", [8, 16, 32])
def test_any_number_of_lanes_on_a_gpu_gives_the_same_answers(lanes: int) -> None:
    networks = unequal(10, 3000)
    batch = Batch.of(networks)
    held = cuda_flows.hold(batch, torch.device("cuda", 0), LARGEST, lanes)
    cuda_flows.run(held)
    found = cuda_flows.fetched(held)
    parts = np.split(found.residual, batch.arc_start[1:-1])
    assert found.rounds.tolist() == list(map(alone, networks, parts))
    assert_same_cuts(found, batch)
