"""The kernels for matchings decide as the CPU does and prove it: on a simulated block, on a GPU."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from augury.cells.network import CellNetwork
from augury.classical.covers import covers_of
from augury.engines import as_bytes, cuda_match, match_dense
from augury.engines.cuda import network_parameters
from augury.engines.cuda_assign import Form
from augury.errors import InputError
from augury.experiments.bench import check_matching
from augury.solution import Solutions
from augury.solver import solve_batch
from kernels import simulated
from proven import proven, untrained

TAIL = """
static const Batch* given;
extern "C" int graph_bytes() { return (int)sizeof(%s); }
extern "C" void run(const Batch* batch, long long blocks) {
    given = batch;
    launch([] { %s(*given); }, blocks, THREADS);
}
"""
HELD = {"match": "Graph", "run_network": "Nodes", "check": "Tally"}


def compiled(folder: Path, form: Form) -> ctypes.CDLL:
    held = HELD.get(form.name, "int") if form.source != "matching.cu" else "int"
    return simulated(folder, form.code + TAIL % (held, form.name))


class Held:
    """The arrays of a `Batch`, and the kernels over them."""

    def __init__(
        self,
        folder: Path,
        adjacency: npt.NDArray[Any],
        variant: tuple[int, int] | None = None,
        network: CellNetwork | None = None,
    ) -> None:
        self.folder, self.shape, self.variant = folder, adjacency.shape, variant
        count, left, right = adjacency.shape
        size = 64 if network else (variant or cuda_match.best_variant(left, right))[1]
        word = cuda_match.word_bytes(size)
        words = [-(-side // (8 * word)) for side in (left, right)]
        narrow = np.int16 if size > 64 else np.int8
        self.adjacency = np.ascontiguousarray(adjacency)
        self.rows = np.full((count, left, -(-right // 8)), 77, np.uint8)
        self.columns = np.full(count * words[0] * right * word, 77, np.uint8)
        self.mates = np.full((count, left), 7, narrow)
        self.covers = [np.full((count, some * word), 77, np.uint8) for some in words]
        self.rounds, self.sizes = np.full((2, count), 77, np.int32)
        self.is_proven = np.full(count, 77, np.uint8)
        self.parameters = network_parameters(network) if network else np.zeros(1, np.float32)
        arrays = self.adjacency, self.rows, self.columns, self.mates, *self.covers
        arrays += self.rounds, self.sizes, self.is_proven, self.parameters
        self.batch = cuda_match.Batch(*(own.ctypes.data for own in arrays), count, left, right)
        self.steps = cuda_match.packing(left, right)
        self.steps += cuda_match.matching(left, right, variant, network is not None)

    def run(self, step: cuda_match.Step) -> None:
        threads = dict(step.form.given)["THREADS"]
        blocks = ctypes.c_longlong(-(-self.shape[0] * step.threads // threads))
        compiled(self.folder, step.form).run(ctypes.byref(self.batch), blocks)

    def solve(self) -> Held:
        for step in self.steps:
            self.run(step)
        return self

    def is_right(self) -> None:
        """Compare all but the decisions with the host's own."""
        own = as_bytes(self.adjacency)
        np.testing.assert_array_equal(self.rows, np.packbits(own, axis=-1, bitorder="little"))
        np.testing.assert_array_equal(self.rows, cuda_match.as_octets(self.adjacency))
        covers = covers_of(own, self.mates.astype(np.int32))
        assert covers.is_proven.all() and (self.is_proven == 1).all()
        np.testing.assert_array_equal(self.sizes, covers.sizes)
        for bits, side in zip(self.covers, (covers.in_left, covers.in_right), strict=True):
            told = np.unpackbits(bits, axis=-1, bitorder="little")
            np.testing.assert_array_equal(told[:, : side.shape[1]], side)
            assert not told[:, side.shape[1] :].any()


def random_graphs(seed: int, shape: tuple[int, int], count: int) -> npt.NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    return rng.random((count, *shape)) < np.linspace(0, 1, count)[:, None, None] ** 2


@pytest.mark.parametrize(
    ("lanes", "size"), [(1, 8), (8, 8), (16, 16), (32, 32), (32, 64), (64, 1024)]
)
def test_simulated_blocks_match_as_the_cpu_does(folder: Path, lanes: int, size: int) -> None:
    side = min(size, 64)
    for shape in ((side, side), (side - 3, side), (side, side - 4), (1, 1), (2, side), (side, 1)):
        edges = random_graphs(sum(shape), shape, 9 if size > 64 else 25)
        numbers = np.random.default_rng(size).integers(1, 256, shape, np.uint8)
        found = Held(folder, edges * numbers, (lanes, size)).solve()
        found.is_right()
        expected = match_dense(edges)
        np.testing.assert_array_equal(found.mates, expected.mates)
        np.testing.assert_array_equal(found.rounds, expected.rounds)


def test_beyond_64_nodes_the_rounds_are_the_same(folder: Path) -> None:
    for shape in ((70, 90), (130, 66), (65, 65)):
        adjacency = np.random.default_rng(7).random((4, *shape)) < np.array(
            [[[0.2]], *[[[0.02]]] * 3]
        )
        found = Held(folder, adjacency, (64, 1024)).solve()
        found.is_right()
        expected = match_dense(adjacency)
        np.testing.assert_array_equal(found.mates, expected.mates)
        np.testing.assert_array_equal(found.rounds, expected.rounds)


def flip(*covers: npt.NDArray[np.uint8]) -> None:
    for own in covers:
        own[0, 0] ^= 1


SPOILERS: dict[str, Callable[[Held], Any]] = {
    "an edge lost": lambda held: held.mates[0].put(0, -1),
    "a column twice": lambda held: held.mates[0].put(1, held.mates[0, 0]),
    "no edge": lambda held: held.rows[0, 0].fill(0),
    "a column beyond": lambda held: held.mates[0].put(0, held.shape[2]),
    "a column below": lambda held: held.mates[0].put(0, -2),
    "a row uncovered": lambda held: flip(held.covers[0]),
    "another cover": lambda held: flip(*held.covers),
    "a node too many": lambda held: flip(held.covers[1]),
}


@pytest.mark.parametrize(("shape", "variant"), [((8, 8), (8, 8)), ((70, 80), (64, 1024))])
def test_a_proof_that_is_none_is_refused(folder: Path, shape: Any, variant: Any) -> None:
    for name, spoil in SPOILERS.items():
        held = Held(folder, np.ones((2, *shape), np.uint8), variant).solve()
        assert held.is_proven.tolist() == [1, 1]
        spoil(held)
        held.run(held.steps[-1])
        assert held.is_proven.tolist() == [0, 1], name


def test_simulated_warps_evaluate_the_network_as_it_decides(folder: Path) -> None:
    for shape, count in (((1, 1), 3), ((2, 5), 5), ((8, 8), 6), ((7, 4), 4), ((34, 36), 1)):
        adjacency = as_bytes(random_graphs(sum(shape), shape, count))
        found = Held(folder, adjacency, network=proven()).solve()
        found.is_right()
        expected = match_dense(adjacency)
        np.testing.assert_array_equal(found.mates, expected.mates)
        np.testing.assert_array_equal(found.rounds, expected.rounds)


def test_a_network_that_decides_otherwise_gets_other_answers(folder: Path) -> None:
    """The kernel computes what it is given; and whatever that is, the result is a matching."""
    adjacency = as_bytes(random_graphs(3, (4, 5), 5))
    expected = match_dense(adjacency).mates
    for seed in range(3):
        mates = Held(folder, adjacency, network=untrained(seed)).solve().mates
        check_matching(adjacency, mates, mates)
        assert not np.array_equal(mates, expected)


def test_the_memory_of_a_graph_is_that_of_the_kernel(folder: Path) -> None:
    for shape, variant in (((8, 8), (8, 8)), ((64, 64), (32, 64)), ((64, 64), None)):
        steps = cuda_match.matching(*shape, variant, variant is None)
        for step in steps[1:]:
            assert compiled(folder, step.form).graph_bytes() == step.memory


@pytest.mark.parametrize("side", [1, 7, 8, 9, 16, 17, 32, 33, 64, 65, 128, 300, 1024])
def test_every_size_has_a_variant_that_holds_it(side: int) -> None:
    assert all(size >= side for _, size in cuda_match.variants(side, side))
    assert cuda_match.best_variant(side, 1) in cuda_match.variants(side, 1)
    assert cuda_match.best_variant(1, side) in cuda_match.variants(1, side)


def test_a_graph_beyond_1024_nodes_is_refused() -> None:
    with pytest.raises(InputError, match="at most 1024 nodes a side, not 1025"):
        cuda_match.best_variant(3, 1025)


def test_covers_in_bits_are_those_of_the_host(folder: Path) -> None:
    for shape in ((5, 9), (8, 8)):
        adjacency = as_bytes(random_graphs(2, shape, 7))
        held = Held(folder, adjacency).solve()
        held.is_proven[3] = 0  # then it is searched once more
        arrays = held.mates, held.rounds, *held.covers, held.sizes, held.is_proven.astype(bool)
        found = cuda_match.Found(*map(torch.from_numpy, arrays))
        rows = list(torch.from_numpy(held.rows).split(3))
        proofs = cuda_match.proofs_of(rows, shape[1], found)
        expected = covers_of(adjacency, held.mates.astype(np.int32))
        for own in (proofs, pickle.loads(pickle.dumps(proofs))):
            for number in range(7):
                assert own.certificate(number) == expected.certificate(number)
                assert own.labelled(number) == expected.labelled(number)
                assert (own.graph(number).to_dense() == adjacency[number]).all()


@pytest.mark.gpu
@pytest.mark.parametrize(
    "shape",
    [(1, 1), (5, 8), (16, 13), (31, 32), (64, 64), (64, 33), (70, 90), (256, 256), (1024, 999)],
)
def test_every_variant_on_a_gpu_matches_as_the_cpu_does(shape: tuple[int, int]) -> None:
    is_small = max(shape) <= 64
    adjacency = random_graphs(1, shape, 3001 if is_small else 41)
    expected = match_dense(adjacency)
    any_bytes = adjacency * np.random.default_rng(2).integers(1, 256, shape, np.uint8)
    packed = cuda_match.pack(torch.from_numpy(any_bytes).cuda())
    np.testing.assert_array_equal(packed.rows.cpu().numpy(), cuda_match.as_octets(adjacency))
    first = None
    for variant in cuda_match.variants(*shape):
        found = cuda_match.match(packed, variant)
        first = first or found
        assert found.is_proven.all()
        assert found.sizes.tolist() == (expected.mates >= 0).sum(-1).tolist()
        assert torch.equal(found.mates, first.mates) and torch.equal(found.rounds, first.rounds)
        np.testing.assert_array_equal(found.mates.cpu().numpy(), expected.mates)
        np.testing.assert_array_equal(found.rounds.cpu().numpy(), expected.rounds)
    if is_small:
        parameters = torch.from_numpy(network_parameters(proven())).cuda()
        found = cuda_match.match(packed, parameters=parameters)
        np.testing.assert_array_equal(found.mates.cpu().numpy(), expected.mates)
        assert found.is_proven.all()


@pytest.mark.gpu
def test_a_batch_of_the_host_or_the_gpu_is_solved_and_proven_there() -> None:
    for shape in ((12, 9), (64, 64), (80, 72)):
        adjacency = random_graphs(1, shape, 50)
        expected = covers_of(as_bytes(adjacency), match_dense(adjacency).mates)
        for given in (adjacency, torch.from_numpy(adjacency).cuda()):
            found = solve_batch(given, engine="cuda-table")
            assert isinstance(found, Solutions) and found.is_maximum
            np.testing.assert_array_equal(found.sizes, expected.sizes)
            assert found[7].certificate.is_maximum and found[7].size == expected.sizes[7]
            np.testing.assert_array_equal(found.mates, expected.mates)
        for crossing in cuda_match.CROSSINGS:
            parts = cuda_match.crossed(adjacency, crossing, threads=2)
            sizes = cuda_match.joined([cuda_match.match(own) for own, _ in parts]).sizes
            assert sizes.tolist() == expected.sizes.tolist()
    with pytest.raises(InputError, match="may be costs"):
        solve_batch(torch.arange(8.0).reshape(1, 2, 4).cuda(), engine="cuda-table")


@pytest.mark.gpu
def test_empty_sides_and_batches_are_taken_by_a_gpu() -> None:
    for shape in ((0, 3, 3), (2, 0, 3), (2, 3, 0)):
        for engine in ("cuda", "cuda-table"):
            found = match_dense(np.zeros(shape), engine=engine)
            assert found.mates.shape == shape[:2] and (found.mates == -1).all()
