"""The kernels for a GPU decide as the loops for a CPU do: on a simulated warp, and on a GPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
import torch.nn.functional as F

from augury.cells.network import CellNetwork, compiled
from augury.engines import as_bytes, cuda, match_dense
from augury.errors import InputError
from augury.experiments.bench import check_matching
from augury.models.checkpoint import make_network
from proven import DISCRETE, proven, untrained

HERE = Path(__file__).parent
COMPILER = shutil.which("g++")


def random_graphs(seed: int, shape: tuple[int, int], count: int) -> npt.NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    return rng.random((count, *shape)) < np.linspace(0, 1, count)[:, None, None] ** 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the simulations are compiled, each once."""
    return tmp_path_factory.mktemp("simulated")


@cache
def simulated(folder: Path, source: str, lanes: int, size: int) -> ctypes.CDLL:
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    library = folder / f"{source}-{lanes}-{size}.so"
    word = cuda.WORDS[size]
    command = [
        *(
            COMPILER,
            "-std=c++17",
            "-O1",
            "-U_FORTIFY_SOURCE",
            "-shared",
            "-fPIC",
            "-w",
            "-o",
            str(library),
        ),
        *(f"-DLANES={lanes}", f"-DSIZE={size}", f"-DWORD={word}"),
        *(("-DNETWORK",) if source == "network.cu" else ()),
        f'-DSOURCE="{cuda.FOLDER / source}"',
        str(HERE / "warps.cpp"),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


def pointer(array: npt.NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize(("lanes", "size"), [(1, 8), (8, 8), (8, 16), (16, 16), (32, 32), (32, 64)])
def test_simulated_warps_match_as_the_cpu_does(folder: Path, lanes: int, size: int) -> None:
    library = simulated(folder, "table.cu", lanes, size)
    shapes = [(size, size), (size - 3, size), (size, size - 4), (1, 1), (2, size), (size, 1)]
    for shape in shapes:
        adjacency = as_bytes(random_graphs(sum(shape), shape, 37))
        count, left, right = adjacency.shape
        expected = match_dense(adjacency)
        columns = np.zeros((count, right), np.uint64 if size > 32 else np.uint32)
        sizes = ctypes.c_longlong(count), left, right
        any_bytes = adjacency * np.random.default_rng(size).integers(1, 256, right, np.uint8)
        for four, octets in product((0, 1) if right % 4 == 0 else (0,), (adjacency, any_bytes)):
            columns[:] = 0
            library.run_pack(pointer(octets), pointer(columns), *sizes, four)
            bits = (columns[:, None] >> np.arange(left, dtype=columns.dtype)[:, None]) & 1
            np.testing.assert_array_equal(bits, adjacency)
        mates, rounds = np.full((count, left), 7, np.int32), np.zeros(count, np.int32)
        library.run_match(pointer(columns), pointer(mates), pointer(rounds), *sizes, 64)
        np.testing.assert_array_equal(mates, expected.mates)
        np.testing.assert_array_equal(rounds, expected.rounds)


def evaluated(
    library: ctypes.CDLL, adjacency: npt.NDArray[np.uint8], network: CellNetwork
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    count, left, right = adjacency.shape
    places = np.arange(left, dtype=np.uint64)[:, None]
    columns = np.bitwise_or.reduce(adjacency.astype(np.uint64) << places, axis=1)
    parameters = cuda.network_parameters(network)
    mates, rounds = np.full((count, left), 7, np.int32), np.zeros(count, np.int32)
    arrays = [pointer(array) for array in (columns, parameters, mates, rounds)]
    library.run(*arrays, ctypes.c_longlong(count), left, right, 64)
    return mates, rounds


def test_simulated_warps_evaluate_the_network_as_it_decides(folder: Path) -> None:
    library = simulated(folder, "network.cu", 32, 64)
    assert library.graph_bytes() == cuda.NODES_BYTES
    for shape, count in (((1, 1), 3), ((2, 5), 5), ((8, 8), 6), ((7, 4), 4), ((34, 36), 1)):
        adjacency = as_bytes(random_graphs(sum(shape), shape, count))
        assert_decides_as_compiled(library, adjacency)
    # Sparse ones, in which paths of several lengths are open in the same round.
    sparse = np.random.default_rng(4).random((12, 6, 6)) < 0.3
    assert_decides_as_compiled(library, as_bytes(sparse))


def assert_decides_as_compiled(library: ctypes.CDLL, adjacency: npt.NDArray[np.uint8]) -> None:
    mates, rounds = evaluated(library, adjacency, proven())
    expected = match_dense(adjacency)
    np.testing.assert_array_equal(mates, expected.mates)
    np.testing.assert_array_equal(rounds, expected.rounds)


def test_a_network_that_decides_otherwise_gets_other_answers(folder: Path) -> None:
    """The kernel computes what it is given; and whatever that is, the result is a matching."""
    library = simulated(folder, "network.cu", 32, 64)
    adjacency = as_bytes(random_graphs(3, (4, 5), 5))
    expected, differs = match_dense(adjacency).mates, 0
    for seed in range(3):
        mates, _ = evaluated(library, adjacency, untrained(seed))
        check_matching(adjacency, mates, mates)
        differs += not np.array_equal(mates, expected)
    assert differs == 3


def test_the_parameters_are_those_of_the_network() -> None:
    """One node that hears two kinds, by the parameters and by the network."""
    network = proven()
    parameters = torch.from_numpy(cuda.network_parameters(network))
    parts = parameters.split([128, 64, 64, 1024, 32, 32, 2, 2, 64])
    kinds, message, own_join = (part.reshape(-1, 32) for part in parts[:3])
    joined = parts[3].reshape(32, 32)
    decided = compiled(network).entries["flood"]
    for own, mask in product((0, 1), range(16)):
        mask |= 1 << 2 * own
        present = [k for k in range(4) if mask >> k & 1]
        heard = F.leaky_relu(message[own] + kinds[present].amax(0))
        updated = F.leaky_relu(own_join[own] + heard @ joined)
        assert (updated @ parts[4] + parts[6][own] > 0) == decided[own, mask, 0]
        assert (updated @ parts[5] + parts[7][own] > 0) == decided[own, mask, 1]


def test_a_network_of_another_width_is_refused() -> None:
    other = make_network(replace(DISCRETE.network, hidden=16))
    with pytest.raises(InputError, match="32 units, a lane each, not 16"):
        cuda.network_parameters(other)


@pytest.mark.parametrize("side", [1, 7, 8, 9, 16, 17, 32, 33, 64])
def test_every_size_has_a_variant_that_holds_it(side: int) -> None:
    assert all(size >= side for _, size in cuda.variants(side, side))
    assert cuda.best_variant(side, 1) in cuda.variants(side, 1)
    assert cuda.best_variant(1, side) in cuda.variants(1, side)


def test_a_graph_beyond_a_word_is_refused() -> None:
    with pytest.raises(InputError, match="at most 64 nodes a side, not 65"):
        cuda.best_variant(3, 65)


def test_the_memory_of_a_graph_is_that_of_the_kernel(folder: Path) -> None:
    for lanes, size in ((8, 8), (32, 64)):
        assert simulated(folder, "table.cu", lanes, size).graph_bytes() == cuda.graph_bytes(size)


def test_without_a_gpu_one_sentence_says_so() -> None:
    if has_gpu():
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match=r"CuPy|CUDA device"):
        match_dense([[1]], engine="cuda-table")


def has_gpu() -> bool:
    try:
        cuda.cupy()
    except InputError:
        return False
    return True


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1, 1), (5, 8), (8, 8), (16, 13), (31, 32), (64, 64), (64, 33)])
def test_every_variant_on_a_gpu_matches_as_the_cpu_does(shape: tuple[int, int]) -> None:
    if not has_gpu():
        pytest.skip("there is no GPU")
    adjacency = random_graphs(1, shape, 3001)
    expected = match_dense(adjacency)
    any_bytes = (adjacency * np.random.default_rng(2).integers(1, 256, shape, np.uint8)).view(bool)
    packed = cuda.pack(cuda.on_device(any_bytes))
    for variant in cuda.variants(*shape):
        mates, rounds = cuda.match_packed(packed, variant)
        np.testing.assert_array_equal(mates.get(), expected.mates)
        np.testing.assert_array_equal(rounds.get(), expected.rounds)
    mates, rounds = cuda.evaluate_packed(cuda.pack(cuda.on_device(adjacency), 64), proven())
    np.testing.assert_array_equal(mates.get(), expected.mates)
    np.testing.assert_array_equal(rounds.get(), expected.rounds)


@pytest.mark.gpu
def test_empty_sides_and_batches_are_taken_by_a_gpu() -> None:
    if not has_gpu():
        pytest.skip("there is no GPU")
    for shape in ((0, 3, 3), (2, 0, 3), (2, 3, 0)):
        for engine in ("cuda", "cuda-table"):
            found = match_dense(np.zeros(shape), engine=engine)
            assert found.mates.shape == shape[:2] and (found.mates == -1).all()
