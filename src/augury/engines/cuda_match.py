"""Dense graphs on a GPU become proven matchings there, thousands at a time: see `matching.cuh`.

`pack` turns bytes into bits. `match` finds a matching and a cover of each graph and checks both: by
the compiled network (`table.cu`; beyond 64 nodes a side `matching.cu`), or by the network itself,
evaluated for every node in every step (`network.cu`). Nothing waits for the device, nothing leaves
it, and everything runs on PyTorch's current stream. The decisions are those of `words.match_words`,
bit for bit, and beyond 64 nodes a side those of the same rounds with more words.

A variant is (lanes, size): how many threads share a graph, and how many nodes a side it may have.
All give the same answers, and `benchmarks/cuda_table.py` measures which is quickest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from ctypes import Structure, c_int, c_longlong, c_void_p
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.covers import PackedCovers
from augury.engines.cuda import MOST_MEMORY, cupy
from augury.engines.cuda_assign import LANES_FILE, Form, Launch, kernel, launch
from augury.engines.small import MOST_SIDE
from augury.errors import InputError
from augury.extras import needs

with needs("this engine"):
    import torch
    from torch import Tensor

SMALL = (8, 16, 32, 64)
"""The sizes that table.cu is compiled for."""
LANES = (1, 8, 16, 32)
"""Lanes that share a graph of such a size."""
BLOCKS = {64: 128, 128: 256, 256: MOST_SIDE}
"""Threads that share a larger one, by the most nodes that it has on a side."""
THREADS = 128
"""Threads of a block for small graphs, which only have to fill the device."""
CHUNK = 2**25
"""Cells copied to the device at once: while these are matched, the next are packed."""
PIECE = 2**20
"""Cells packed at a time, so that they stay in the cache."""
HEADER = "matching.cuh"
NODES_BYTES = 64 * (2 * 8 + 4)
"""Shared memory of one graph in network.cu: `Nodes`."""


class Batch(Structure):
    """Mirrors `Batch` in matching.cuh: addresses, and sizes."""

    _fields_ = (
        ("adjacency", c_void_p),
        ("rows", c_void_p),
        ("columns", c_void_p),
        ("mates", c_void_p),
        ("row_cover", c_void_p),
        ("column_cover", c_void_p),
        ("rounds", c_void_p),
        ("sizes", c_void_p),
        ("is_proven", c_void_p),
        ("parameters", c_void_p),
        ("num_graphs", c_longlong),
        ("num_left", c_int),
        ("num_right", c_int),
    )


class Packed(NamedTuple):
    """Graphs on the device."""

    rows: Tensor
    """(graph, left, octet): the columns of each row, column v at bit v % 8 of octet v // 8."""
    num_right: int


class Found(NamedTuple):
    """What the kernels say of each graph."""

    mates: Tensor
    """(graph, left): the column of each row, −1 for none; int8 or int16."""
    rounds: Tensor
    """(graph,): searches that led to at least one path."""
    row_cover: Tensor
    """(graph, octet): bits of the rows in the cover; `column_cover` those of the columns."""
    column_cover: Tensor
    sizes: Tensor
    """(graph,): edges of each matching."""
    is_proven: Tensor
    """(graph,): whether the matching is legal and the cover is valid and of the same size."""


def size_for(num_left: int, num_right: int, evaluates: bool = False) -> int:
    """Return the smallest compiled size that holds such graphs; a network is evaluated up to 64."""
    side = max(num_left, num_right)
    sizes = SMALL[-1:] if evaluates else (*SMALL, MOST_SIDE)
    for size in sizes:
        if side <= size:
            return size
    raise InputError(f"on a GPU a graph has at most {sizes[-1]} nodes a side, not {side}")


def variants(num_left: int, num_right: int) -> list[tuple[int, int]]:
    """Return every (lanes, size) that can match such graphs."""
    size = size_for(num_left, num_right)
    if size > SMALL[-1]:
        return [(lanes, size) for lanes in BLOCKS]
    return [
        (lanes, size)
        for lanes in LANES
        if lanes <= size and graph_bytes(size) * (THREADS // lanes) <= MOST_MEMORY
    ]


def best_variant(num_left: int, num_right: int) -> tuple[int, int]:
    """Return the variant to use unless another is asked for."""
    size, side = size_for(num_left, num_right), max(num_left, num_right)
    if size <= SMALL[-1]:
        return min(size, 32), size
    return next(lanes for lanes, most in BLOCKS.items() if side <= most), size


def word_bytes(size: int) -> int:
    """Return the bytes of a word that holds rows of graphs of this size."""
    return 8 if size > 32 else 4


def graph_bytes(size: int) -> int:
    """Return the shared memory of one small graph: `Graph` in table.cu."""
    word = word_bytes(size)
    content = word * (2 * size + 1) + 3 * size
    return -(-content // word) * word


def form_of(source: str, name: str, size: int, lanes: int = 1) -> Form:
    """Return a kernel of `matching.cuh` for graphs of a compiled size."""
    given = {
        "word": "unsigned long long" if word_bytes(size) == 8 else "unsigned int",
        "narrow": "signed char" if size <= SMALL[-1] else "short",
        "LANES": lanes,
        "THREADS": max(lanes, THREADS) if source != "matching.cu" else lanes,
    }
    more = {"table.cu": {"SIZE": size}, "cover.cu": {"MOST_SIDE": size if size > 64 else 64}}
    shared = LANES_FILE, HEADER
    return Form(source, name, tuple((given | more.get(source, {})).items()), shared=shared)


class Step(NamedTuple):
    """A kernel, and what each graph needs of it."""

    form: Form
    threads: int
    """For each graph."""
    memory: int = 0
    """Shared memory for each graph."""


def packing(num_left: int, num_right: int) -> list[Step]:
    """Return the kernel that packs bytes into bits."""
    form = form_of("bits.cu", "pack", size_for(num_left, num_right))
    return [Step(form, num_left * -(-num_right // 8))]


def matching(
    num_left: int, num_right: int, variant: tuple[int, int] | None = None, evaluates: bool = False
) -> list[Step]:
    """Return the kernels that match such graphs, in order."""
    lanes, size = variant or best_variant(num_left, num_right)
    if evaluates:
        lanes, size = 32, SMALL[-1]
    words = -(-num_left // (8 * word_bytes(size)))
    checking = 128 if size > SMALL[-1] else min(size, 32)
    tally = 12 + max(size, 64) // 8
    if evaluates:
        found = Step(form_of("network.cu", "run_network", size, lanes), lanes, NODES_BYTES)
    elif size > SMALL[-1]:
        memory = 24 * words + 4 * num_left + 2 * (num_left + 3 * num_right)
        found = Step(form_of("matching.cu", "match", size, lanes), lanes, memory)
    else:
        found = Step(form_of("table.cu", "match", size, lanes), lanes, graph_bytes(size))
    return [
        Step(form_of("bits.cu", "turn", size), words * num_right),
        found,
        Step(form_of("cover.cu", "check", size, checking), checking, tally),
    ]


@cache
def launched(step: Step, count: int, device: int) -> Launch:
    """Return how to run a kernel for this many graphs."""
    given = dict(step.form.given)
    threads = given["THREADS"]
    blocks = -(-count * step.threads // threads)
    return Launch(
        kernel(step.form, device), blocks, threads, step.memory * (threads // given["LANES"])
    )


def run(steps: Iterable[Step], batch: Batch, device: torch.device) -> None:
    """Run kernels one after the other."""
    index = device.index
    launch([launched(step, batch.num_graphs, index) for step in steps], batch, device)


def pack(adjacency: Tensor) -> Packed:
    """(graph, left, right) bytes on the device, 0 for no edge → bits."""
    count, num_left, num_right = adjacency.shape
    steps = packing(num_left, num_right)
    rows = adjacency.new_empty((count, num_left, -(-num_right // 8)), dtype=torch.uint8)
    given = adjacency.contiguous()
    if given.data_ptr() % 8:  # eight are read at once
        given = given.clone()
    if rows.numel():
        batch = Batch(
            adjacency=given.data_ptr(),
            rows=rows.data_ptr(),
            num_graphs=count,
            num_left=num_left,
            num_right=num_right,
        )
        run(steps, batch, rows.device)
    return Packed(rows, num_right)


def match(
    packed: Packed, variant: tuple[int, int] | None = None, parameters: Tensor | None = None
) -> Found:
    """Match graphs on the device, and prove it there.

    `variant` is (lanes, size), by default the best one. `parameters` are those of a network that is
    then evaluated at each step.
    """
    rows, num_right = packed
    count, num_left, _ = rows.shape
    evaluates = parameters is not None
    size = size_for(num_left, num_right, evaluates)
    word, device = word_bytes(size), rows.device
    left, right = (-(-side // (8 * word)) for side in (num_left, num_right))
    found = Found(
        rows.new_empty((count, num_left), dtype=torch.int16 if size > 64 else torch.int8),
        rows.new_empty(count, dtype=torch.int32),
        rows.new_empty((count, left * word)),
        rows.new_empty((count, right * word)),
        rows.new_empty(count, dtype=torch.int32),
        rows.new_empty(count, dtype=torch.bool),
    )
    if not (count and num_left and num_right):
        for own in found:
            own.zero_()
        found.mates.fill_(-1)
        found.is_proven.fill_(True)
        return found
    columns = rows.new_empty(count * left * num_right * word)
    mates, rounds, *covers, sizes, is_proven = (own.data_ptr() for own in found)
    batch = Batch(
        rows=rows.data_ptr(),
        columns=columns.data_ptr(),
        mates=mates,
        row_cover=covers[0],
        column_cover=covers[1],
        rounds=rounds,
        sizes=sizes,
        is_proven=is_proven,
        parameters=None if parameters is None else parameters.data_ptr(),
        num_graphs=count,
        num_left=num_left,
        num_right=num_right,
    )
    run(matching(num_left, num_right, variant, evaluates), batch, device)
    return found


def is_on_device(graphs: Any) -> bool:
    """Whether this is an array or a tensor on a CUDA device."""
    return hasattr(graphs, "__cuda_array_interface__") or bool(getattr(graphs, "is_cuda", False))


def as_tensor(graphs: Any) -> Tensor:
    """Return an array on the device, such as CuPy's, as a tensor that shares its memory."""
    return graphs.detach() if isinstance(graphs, Tensor) else torch.from_dlpack(graphs)


def edges_of(graphs: Tensor) -> Tensor:
    """Numbers on the device → bytes, 0 for no edge; numbers that may be costs are refused."""
    if graphs.ndim != 3:
        raise InputError(f"the adjacency has {graphs.ndim} axes, not (graph, left, right)")
    if graphs.is_complex():
        raise InputError(f"the adjacency holds real numbers, not {graphs.dtype}")
    if graphs.dtype == torch.bool:
        return graphs.view(torch.uint8) if graphs.is_contiguous() else graphs.byte()
    is_edge = graphs != 0
    if graphs.numel():
        high, low = graphs.amax(dim=(1, 2), keepdim=True), graphs.amin(dim=(1, 2), keepdim=True)
        if bool((is_edge & (graphs != torch.where(high != 0, high, low))).any()):
            told = "the entries of a graph differ and may be costs"
            raise InputError(f"{told}: give `array != 0` for its edges alone")
    return is_edge.view(torch.uint8)


def as_octets(adjacency: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """(graph, left, right) bytes on the host, 0 for no edge → bits, as `Packed` has them."""
    count, num_left, num_right = adjacency.shape
    if num_right % 8:
        return np.packbits(adjacency, axis=-1, bitorder="little")
    flat = adjacency.reshape(-1)
    octets = np.empty(flat.size // 8, np.uint8)
    for first in range(0, flat.size, PIECE):
        some = slice(first // 8, (first + PIECE) // 8)
        octets[some] = np.packbits(flat[first : first + PIECE], bitorder="little")
    return octets.reshape(count, num_left, num_right // 8)


CROSSINGS: dict[str, Callable[[npt.NDArray[Any]], Tensor]] = {
    "bits": lambda adjacency: torch.from_numpy(as_octets(adjacency)),
    "bytes": torch.from_numpy,
    "pinned": lambda adjacency: torch.from_numpy(adjacency).pin_memory(),
}
"""What crosses from the host to the device: bits that were packed here, or bytes."""


def crossed(
    adjacency: npt.NDArray[Any], crossing: str = "bits", threads: int = 1
) -> Iterator[tuple[Packed, Tensor]]:
    """Bytes on the host → graphs on the device, some at a time; `threads` share the packing.

    Each comes with the bits of its rows, on the host if they were packed there.
    """
    cupy()  # says what is missing
    device = torch.device("cuda", torch.cuda.current_device())
    count, num_left, num_right = adjacency.shape
    many = max(1, CHUNK // max(num_left * num_right, 1))
    chunks = [adjacency[first : first + many] for first in range(0, max(count, 1), many)]
    with ExitStack() as stack:
        mapped = map
        if threads > 1:
            mapped = stack.enter_context(ThreadPoolExecutor(threads)).map
        for given in mapped(CROSSINGS[crossing], chunks):
            there = given.to(device, non_blocking=True)
            packed = Packed(there, num_right) if crossing == "bits" else pack(there)
            yield packed, given if crossing == "bits" else packed.rows


def joined(parts: list[Found]) -> Found:
    """Join what was found for several stacks into one."""
    return parts[0] if len(parts) == 1 else Found(*map(torch.cat, zip(*parts, strict=True)))


def proofs_of(rows: list[Tensor], num_right: int, found: Found) -> PackedCovers:
    """Return what proves each graph; what is on the device is fetched on demand.

    `rows` are bits, in parts of equal length except for the last.
    """
    return PackedCovers(
        rows,
        num_right,
        (found.mates, found.sizes, found.is_proven),
        (found.row_cover, found.column_cover),
        fetched,
    )


def fetched(tensor: Any) -> npt.NDArray[Any]:
    """Return a tensor of any device as an array."""
    return tensor.cpu().numpy() if isinstance(tensor, Tensor) else tensor
