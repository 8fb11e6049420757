"""The kernels for a GPU decide as the loops for a CPU do: on a simulated warp, and on a GPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from augury.neural.engines import as_bytes, cuda, match_dense

HERE = Path(__file__).parent
COMPILER = shutil.which("g++")


def random_graphs(seed: int, shape: tuple[int, int], count: int) -> npt.NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    return rng.random((count, *shape)) < np.linspace(0, 1, count)[:, None, None] ** 2


def simulated(folder: Path, source: str, lanes: int, size: int) -> ctypes.CDLL:
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    library = folder / f"{source}-{lanes}-{size}.so"
    word = cuda.WORDS[size]
    command = [
        *(COMPILER, "-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-o", str(library)),
        *(f"-DLANES={lanes}", f"-DSIZE={size}", f"-DWORD={word}"),
        f'-DSOURCE="{cuda.FOLDER / source}"',
        str(HERE / "warps.cpp"),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


def pointer(array: npt.NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize(("lanes", "size"), [(1, 8), (8, 8), (8, 16), (16, 16), (32, 32), (32, 64)])
def test_simulated_warps_match_as_the_cpu_does(tmp_path: Path, lanes: int, size: int) -> None:
    library = simulated(tmp_path, "table.cu", lanes, size)
    shapes = [(size, size), (size - 3, size), (size, size - 4), (1, 1), (2, size), (size, 1)]
    for shape in shapes:
        adjacency = as_bytes(random_graphs(sum(shape), shape, 37))
        count, left, right = adjacency.shape
        expected = match_dense(adjacency)
        columns = np.zeros((count, right), np.uint64 if size > 32 else np.uint32)
        sizes = ctypes.c_longlong(count), left, right
        for four in (0, 1) if right % 4 == 0 else (0,):
            columns[:] = 0
            library.run_pack(pointer(adjacency), pointer(columns), *sizes, four)
            bits = (columns[:, None] >> np.arange(left, dtype=columns.dtype)[:, None]) & 1
            np.testing.assert_array_equal(bits, adjacency)
        mates, rounds = np.full((count, left), 7, np.int32), np.zeros(count, np.int32)
        library.run_match(pointer(columns), pointer(mates), pointer(rounds), *sizes, 64)
        np.testing.assert_array_equal(mates, expected.mates)
        np.testing.assert_array_equal(rounds, expected.rounds)


@pytest.mark.parametrize("side", [1, 7, 8, 9, 16, 17, 32, 33, 64])
def test_every_size_has_a_variant_that_holds_it(side: int) -> None:
    assert all(size >= side for _, size in cuda.variants(side, side))
    assert cuda.best_variant(side, 1) in cuda.variants(side, 1)
    assert cuda.best_variant(1, side) in cuda.variants(1, side)
