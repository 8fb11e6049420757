"""Arrays on a GPU become matchings there: the compiled network, thousands of graphs at a time.

`pack` turns dense bytes into words, one for each column; `match_packed` runs the kernel of
`table.cu`. Nothing waits for the device, and nothing leaves it. The decisions are those of
`cpu.match_words`, bit for bit. CuPy compiles the kernel when a variant is first used; it is the
optional extra `cuda`.

A variant is (lanes, size): how many lanes of a warp share a graph, and how many nodes a side it
may have. All give the same answers, and `benchmarks/cuda_table.py` measures which is quickest.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from augury.classical.graph import InputError

FOLDER = Path(__file__).parent
WORDS = {
    8: "unsigned int",
    16: "unsigned int",
    32: "unsigned int",
    64: "unsigned long long",
}
"""The sizes that kernels are compiled for, and the word that holds the rows of a column."""

LANES = (1, 8, 16, 32)
THREADS = 128
"""Threads of a block; graphs are independent, so it only has to fill the device."""

MOST_MEMORY = 48 * 1024
"""Bytes of shared memory that a block may take without asking for more."""


class Packed(NamedTuple):
    """Graphs on the device, a word for each column."""

    columns: Any
    """(graph, right) unsigned integers; row u is bit u."""
    num_left: int


def cupy() -> Any:
    """Import CuPy, and say what to do where it or the GPU is missing."""
    try:
        import cupy as module  # type: ignore[reportMissingImports]
    except ImportError:
        raise InputError(
            "this engine needs CuPy: pip install 'augury[cuda]', on a machine with a GPU"
        ) from None
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError:
        count = 0
    if not count:
        raise InputError("this engine needs a CUDA device, and there is none")
    return module


def size_for(num_left: int, num_right: int) -> int:
    """Return the smallest compiled size that holds such graphs."""
    side = max(num_left, num_right)
    for size in WORDS:
        if side <= size:
            return size
    raise InputError(f"on a GPU a graph has at most {max(WORDS)} nodes a side, not {side}")


def variants(num_left: int, num_right: int) -> list[tuple[int, int]]:
    """Return every (lanes, size) that can match such graphs."""
    size = size_for(num_left, num_right)
    return [
        (lanes, size)
        for lanes in LANES
        if lanes <= size and graph_bytes(size) * (THREADS // lanes) <= MOST_MEMORY
    ]


def best_variant(num_left: int, num_right: int) -> tuple[int, int]:
    """Return the variant to use unless another is asked for."""
    size = size_for(num_left, num_right)
    return min(size, 32), size


def graph_bytes(size: int) -> int:
    """Return the shared memory of one graph: `Graph` in table.cu."""
    word = 8 if size > 32 else 4
    content = word * (2 * size + 1) + 3 * size
    return -(-content // word) * word


@cache
def kernel(name: str, lanes: int, size: int) -> Any:
    """Compile a kernel of table.cu for one variant."""
    head = f"typedef {WORDS[size]} word;\n#define LANES {lanes}\n#define SIZE {size}\n"
    code = head + (FOLDER / "table.cu").read_text(encoding="utf-8")
    return cupy().RawModule(code=code, options=("--std=c++17",)).get_function(name)


def on_device(adjacency: Any) -> Any:
    """Return (graph, left, right) bytes on the device; what is there already is not copied."""
    module = cupy()
    if hasattr(adjacency, "__cuda_array_interface__") or isinstance(adjacency, np.ndarray):
        array = module.asarray(adjacency)
    else:
        array = module.from_dlpack(adjacency)
    if array.ndim != 3:
        raise InputError(f"the adjacency has {array.ndim} axes, not (graph, left, right)")
    if array.dtype == module.bool_:
        return module.ascontiguousarray(array).view(module.uint8)
    return module.ascontiguousarray(array != 0).view(module.uint8)


def pack(adjacency: Any) -> Packed:
    """(graph, left, right) bytes of 0 and 1 on the device → one word for each column."""
    module = cupy()
    count, num_left, num_right = adjacency.shape
    size = size_for(num_left, num_right)
    dtype = module.uint64 if size > 32 else module.uint32
    columns = module.zeros((count, num_right), dtype)
    if columns.size and num_left:
        by_four = num_right % 4 == 0
        threads = count * (num_right // 4 if by_four else num_right)
        run = kernel("pack_four" if by_four else "pack", 1, size)
        arguments = adjacency, columns, np.int64(count), np.int32(num_left), np.int32(num_right)
        run((-(-threads // THREADS),), (THREADS,), arguments)
    return Packed(columns, num_left)


def match_packed(packed: Packed, variant: tuple[int, int] | None = None) -> tuple[Any, Any]:
    """Return (graph, left) mates or −1 and (graph,) rounds, on the device.

    Args:
        packed: the graphs.
        variant: (lanes, size); by default the best one.
    """
    module = cupy()
    columns, num_left = packed
    count, num_right = columns.shape
    mates = module.full((count, num_left), -1, module.int32)
    rounds = module.zeros(count, module.int32)
    if columns.size and num_left:
        lanes, size = variant or best_variant(num_left, num_right)
        graphs = THREADS // lanes
        run = kernel("match", lanes, size)
        sizes = np.int64(count), np.int32(num_left), np.int32(num_right)
        blocks, memory = -(-count // graphs), graph_bytes(size) * graphs
        run((blocks,), (THREADS,), (columns, mates, rounds, *sizes), shared_mem=memory)
    return mates, rounds
