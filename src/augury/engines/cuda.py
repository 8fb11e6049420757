"""Arrays on a GPU become matchings there, thousands of graphs at a time.

`pack` turns dense bytes into words, one for each column. `match_packed` runs the compiled network,
the kernel of `table.cu`; `evaluate_packed` the one of `network.cu`, which evaluates the network for
every node in every step. Nothing waits for the device, and nothing leaves it. The decisions are
those of `words.match_words`, bit for bit. CuPy compiles a kernel when it is first used; it is the
optional extra `cuda`.

A variant is (lanes, size): how many lanes of a warp share a graph, and how many nodes a side it
may have. All give the same answers, and `benchmarks/cuda_table.py` measures which is quickest.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.errors import InputError
from augury.extras import needs

with needs("this engine"):
    import torch

    from augury.cells.network import CellNetwork
    from augury.neural.isolation import inference

FOLDER = Path(__file__).parent
WORDS = {8: "unsigned int", 16: "unsigned int", 32: "unsigned int", 64: "unsigned long long"}
"""The sizes that kernels are compiled for, and the word that holds the rows of a column."""

LANES = (1, 8, 16, 32)
THREADS = 128
"""Threads of a block; graphs are independent, so it only has to fill the device."""

MOST_MEMORY = 48 * 1024
"""Bytes of shared memory that a block may take without asking for more."""

UNITS = 32
"""The width of a network that `network.cu` evaluates: the lanes of a warp."""

NODES_BYTES = 64 * (2 * 8 + 4)
"""Shared memory of one graph there: `Nodes` in network.cu."""


class Packed(NamedTuple):
    """Graphs on the device, a word for each column."""

    columns: Any
    """(graph, right) unsigned integers; row u is bit u."""
    num_left: int


def cupy() -> Any:
    """Import CuPy, and say what to do where it or the GPU is missing."""
    with needs("this engine"):
        import cupy as module  # type: ignore[reportMissingImports]
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
def kernel(name: str, lanes: int, size: int, source: str = "table.cu") -> Any:
    """Compile a kernel for one variant."""
    head = f"typedef {WORDS[size]} word;\n#define LANES {lanes}\n#define SIZE {size}\n"
    code = head + (FOLDER / source).read_text(encoding="utf-8")
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
    is_bytes = array.dtype in (module.bool_, module.uint8)
    return module.ascontiguousarray(array if is_bytes else array != 0).view(module.uint8)


def pack(adjacency: Any, size: int | None = None) -> Packed:
    """(graph, left, right) bytes on the device, 0 for no edge → one word for each column.

    `size` is a key of `WORDS`, by default the smallest that holds them; the network's is 64.
    """
    module = cupy()
    count, num_left, num_right = adjacency.shape
    size = size or size_for(num_left, num_right)
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

    `variant` is (lanes, size), by default the best one.
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


@inference()
def network_parameters(network: CellNetwork) -> npt.NDArray[np.float32]:
    """Return what `network.cu` wants of a network, by the network's own layers, flat.

    In order: the message of each kind (4, K), what a node's own bit adds to it (2, K) and to the
    join (2, K), the join's weights by input (K, K), the weights of "reached" and "changed" (2, K),
    what the own bit adds to these (2, 2), and the scores of links (2, 2, 16).
    """
    hidden = network.hidden
    if hidden != UNITS:
        raise InputError(f"on a GPU a network has {UNITS} units, a lane each, not {hidden}")
    flood: Any = network["flood"]
    bits = torch.arange(2, device=network.device)
    nodes = flood.encoded(bits)
    # Nothing is heard yet, so this is what the own bit and the bias add up to.
    constants = flood.head(torch.cat([nodes, torch.zeros_like(nodes)], dim=-1))
    parts = [
        flood.sent(),
        flood.message.columns(nodes, 0),
        flood.join.columns(nodes, 0),
        flood.join.weight[:, hidden:].T,
        flood.head.weight[:, hidden:],
        constants.T,
        network["nearest"](),
    ]
    return torch.cat([part.reshape(-1) for part in parts]).cpu().numpy().astype(np.float32)


def evaluate_packed(packed: Packed, network: CellNetwork) -> tuple[Any, Any]:
    """As `match_packed`, with the network evaluated at each step; `packed` has words of 64 bits."""
    module = cupy()
    columns, num_left = packed
    if columns.dtype != module.uint64:
        raise InputError("the network takes graphs that were packed with size=64")
    count, num_right = columns.shape
    mates = module.full((count, num_left), -1, module.int32)
    rounds = module.zeros(count, module.int32)
    if columns.size and num_left:
        parameters = module.asarray(network_parameters(network))
        graphs = THREADS // 32
        run = kernel("run_network", 32, 64, "network.cu")
        sizes = np.int64(count), np.int32(num_left), np.int32(num_right)
        arguments = columns, parameters, mates, rounds, *sizes
        run((-(-count // graphs),), (THREADS,), arguments, shared_mem=NODES_BYTES * graphs)
    return mates, rounds
