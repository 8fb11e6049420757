"""Flow networks of unequal sizes become maximum flows on a GPU, proven there: see flows.cu.

`hold` copies a batch to the device in one transfer, `run` launches the kernels, and `fetched`
copies all results back in another. A warp has a network to itself and keeps it in shared memory, so
networks are launched with others of about their size, and what does not fit there is refused. The
paths are those of `flows` in phases, lowest arcs first, whatever the number of lanes.
"""

from __future__ import annotations

from ctypes import Structure, c_longlong, c_void_p
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import IntArray, WideArray
from augury.classical.batch import Batch
from augury.classical.proofs import Cuts, whole_sums
from augury.engines.cuda import MOST_MEMORY, cupy
from augury.engines.cuda_assign import LANES_FILE, Form, Launch, kernel, launch
from augury.errors import InputError
from augury.extras import needs

with needs("this engine"):
    import torch
    from torch import Tensor

LANES = 32
"""Lanes that share a network: part of a warp, or all of it."""
THREADS = 128
"""Threads of a block, if its memory holds networks for them all; else it has one network."""
LEAST_ROOM = 512
"""Bytes; smaller networks are launched together."""
ARC_BYTES, NODE_BYTES, OTHER_BYTES = 8 + 2 * 2, 4 + 3 * 2, 4 + 2
"""The sizes of `Network` in flows.cu."""


class Networks(Structure):
    """Mirrors `Networks` in flows.cu: addresses, and sizes."""

    _fields_ = (
        ("capacity", c_void_p),
        ("order_start", c_void_p),
        ("node_start", c_void_p),
        ("arc_start", c_void_p),
        ("source", c_void_p),
        ("sink", c_void_p),
        ("receiver", c_void_p),
        ("order", c_void_p),
        ("chosen", c_void_p),
        ("residual", c_void_p),
        ("value", c_void_p),
        ("rounds", c_void_p),
        ("in_cut", c_void_p),
        ("is_proven", c_void_p),
        ("num_networks", c_longlong),
        ("room", c_longlong),
    )


class Pushed(NamedTuple):
    """What the kernels found, on the host."""

    residual: WideArray
    """(arc,)"""
    rounds: IntArray
    """(graph,): phases that found a path."""
    cuts: Cuts


class Held(NamedTuple):
    """Networks on a device, and room for what is found."""

    given: Tensor
    """All that the kernels read, as bytes."""
    found: Tensor
    """All that they write."""
    places: tuple[tuple[int, Any, int], ...]
    """Of each array in `found`: where it starts, its type and its length."""
    tasks: tuple[tuple[Launch, Networks], ...]


def push(batch: Batch) -> Pushed:
    """Find a maximum flow of each network, and prove it, on the current device."""
    largest = cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    held = hold(batch, torch.device("cuda", torch.cuda.current_device()), largest)
    run(held)
    return fetched(held)


def hold(batch: Batch, device: torch.device, largest: int, lanes: int = LANES) -> Held:
    """Copy networks to a device; a block has at most `largest` bytes of shared memory.

    Raises:
        InputError: a network needs more.
    """
    rooms = rooms_of(batch)
    too_large = np.flatnonzero(rooms > largest)
    if len(too_large):
        graph = int(too_large[0])
        pairs, nodes = (np.diff(start)[graph] for start in (batch.arc_start // 2, batch.node_start))
        told = f"network {batch.graphs[graph]} has {nodes:,} nodes and {pairs:,} arc pairs"
        raise InputError(f"{told}, more than a block of this GPU holds: 'table' takes any")
    kind = np.ceil(np.log2(np.maximum(rooms, LEAST_ROOM))).astype(np.int64)
    chosen = np.argsort(-kind, kind="stable")  # the largest, which take longest, first
    wide = batch.capacity, batch.order_start, batch.node_start, batch.arc_start
    host, starts = _side_by_side(
        *(np.ascontiguousarray(array, np.int64) for array in (*wide, batch.source, batch.sink)),
        *(np.ascontiguousarray(array, np.int32) for array in (batch.receiver, batch.order, chosen)),
    )
    given = torch.from_numpy(host).to(device)
    count = batch.num_graphs
    kinds = np.int64, np.int64, np.int32, np.bool_, np.bool_
    lengths = batch.num_arcs, 2 * count, count, batch.num_nodes, count
    places = list(zip(kinds, lengths, strict=True))
    *results, end = _aligned([np.dtype(kind).itemsize * length for kind, length in places])
    found = torch.empty(end, dtype=torch.uint8, device=device)
    *inputs, chosen_at = (given.data_ptr() + start for start in starts)
    outputs = [found.data_ptr() + start for start in results]
    tasks: list[tuple[Launch, Networks]] = []
    first = 0
    for alike in np.split(chosen, np.flatnonzero(np.diff(kind[chosen])) + 1) if count else []:
        room = int(rooms[alike].max())
        some = Networks(*inputs, chosen_at + 4 * first, *outputs, len(alike), room)
        tasks.append((_pushing(len(alike), room, device, largest, lanes), some))
        first += len(alike)
    if count:
        proving = form_of("prove", lanes, THREADS)
        every = Networks(*inputs, chosen_at, *outputs, count, 0)
        tasks.append((Launch(kernel(proving, device.index), *proving.grid(count), 0), every))
    return Held(given, found, tuple(zip(results, kinds, lengths, strict=True)), tuple(tasks))


def form_of(name: str, lanes: int, threads: int, memory: int = 0) -> Form:
    """Return a kernel of flows.cu."""
    return Form("flows.cu", name, (("LANES", lanes), ("THREADS", threads)), memory, (LANES_FILE,))


def _pushing(count: int, room: int, device: torch.device, largest: int, lanes: int) -> Launch:
    """Return how `push` is launched for this many networks."""
    groups = THREADS // lanes if room * (THREADS // lanes) <= MOST_MEMORY else 1
    memory = groups * room
    own = form_of("push", lanes, groups * lanes, largest if memory > MOST_MEMORY else 0)
    return Launch(kernel(own, device.index), *own.grid(count), memory)


def run(held: Held) -> None:
    """Launch the kernels on PyTorch's current stream; nothing waits for the device."""
    for own, networks in held.tasks:
        launch([own], networks, held.given.device)


def fetched(held: Held) -> Pushed:
    """Wait, and copy what was found to the host."""
    host = held.found.cpu().numpy()
    found: Any = (
        host[place : place + length * np.dtype(kind).itemsize].view(kind)
        for place, kind, length in held.places
    )
    residual, value, rounds, in_cut, is_proven = found
    sizes = whole_sums(*value.reshape(-1, 2).T)
    return Pushed(residual, rounds, Cuts(sizes, is_proven, in_cut))


def rooms_of(batch: Batch) -> WideArray:
    """Return the bytes of shared memory that each network takes."""
    num_arcs, num_nodes = np.diff(batch.arc_start), np.diff(batch.node_start)
    return -(-(num_arcs * ARC_BYTES + num_nodes * NODE_BYTES + OTHER_BYTES) // 8) * 8


def _side_by_side(*arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint8], list[int]]:
    """Return the bytes of all arrays, and where each starts."""
    *starts, end = _aligned([array.nbytes for array in arrays])
    joined = np.empty(end, np.uint8)
    for start, array in zip(starts, arrays, strict=True):
        joined[start : start + array.nbytes] = array.view(np.uint8)
    return joined, starts


def _aligned(sizes: list[int]) -> list[int]:
    """Return where parts of these sizes start, each at a multiple of 8, and the end of all."""
    return list(accumulate((-(-size // 8) * 8 for size in sizes), initial=0))
