"""Tensors of costs on a GPU become proven assignments there: the kernels of `problem.cuh`.

Nothing waits for the device, and everything runs on PyTorch's current stream. CuPy compiles a
kernel when it is first used for costs of this kind and about this size.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from ctypes import Structure, addressof, c_int, c_longlong, c_void_p
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

from augury.engines.cuda import FOLDER, MOST_MEMORY, cupy
from augury.errors import InputError
from augury.extras import needs

with needs("this engine"):
    import torch
    from torch import Tensor

NUMBERS = {
    torch.float32: ("float", 1),
    torch.float64: ("double", 1),
    torch.int32: ("int", 0),
    torch.int64: ("long long", 0),
}
"""The costs that a kernel reads: their type there, and whether they are floats."""

MOST_SIDE = 1024
READING = {32: 2**10, 512: 2**17, 1024: MOST_SIDE**2}
"""How many lanes read the costs of a problem, by the most cells that it has."""
ASSIGNING = {1: 8, 16: 16, 32: 128, 128: 512, 256: MOST_SIDE}
"""How many assign one, by the most nodes that it has on a side."""
SPARE = 2**13
"""Bytes that may be read beyond the last table."""
KEPT: list[Any] = []
"""Kernels whose addresses are in use."""
MOST_SCRATCH = 2**30
"""Bytes of costs as units that a call holds; larger batches are solved in several parts."""

PROBLEM_BYTES = 32
"""`Problem` in problem.cuh."""


class Found(NamedTuple):
    """What the kernels say of each problem."""

    indices: Tensor
    """(problem, left): the column of each row, −1 for none."""
    status: Tensor
    """(problem,): a `Status`."""
    row_potentials: Tensor
    """(problem, left), and `column_potentials` (problem, right): float64 or int64."""
    column_potentials: Tensor


class Batch(Structure):
    """The same in problem.cuh: addresses, and sizes."""

    _fields_ = (
        ("costs", c_void_p),
        ("allowed", c_void_p),
        ("sizes", c_void_p),
        ("tables", c_void_p),
        ("problems", c_void_p),
        ("mates", c_void_p),
        ("left_price", c_void_p),
        ("right_price", c_void_p),
        ("exact", c_void_p),
        ("barred", c_void_p),
        ("indices", c_void_p),
        ("status", c_void_p),
        ("num_problems", c_longlong),
        ("num_left", c_int),
        ("num_right", c_int),
        ("num_words", c_int),
        ("negates", c_int),
    )


@cache
def kernel(source: str, name: str, device: int, memory: int = 0, **given: Any) -> int:
    """Compile a kernel of a file with these definitions, for so much shared memory."""
    lines = [f"typedef {given.pop('number')} number;"] if "number" in given else []
    lines += [f"#define {word} {value}" for word, value in given.items()]
    files = [(FOLDER / file).read_text(encoding="utf-8") for file in ("problem.cuh", source)]
    code = "\n".join([*lines, *files])
    module = cupy()
    with module.cuda.Device(device):
        found = module.RawModule(code=code, options=("--std=c++17",)).get_function(name)
        KEPT.append(found)
        if memory > MOST_MEMORY:
            found.max_dynamic_shared_size_bytes = memory
        return found.kernel.ptr  # which stays as long as the module


class Launch(NamedTuple):
    """A kernel, and how it is to run."""

    kernel: int
    """Its address."""
    blocks: int
    threads: int
    memory: int = 0


class Plan(NamedTuple):
    """What to allocate and to launch for problems of one shape."""

    sizes: tuple[int, ...]
    """Bytes that each takes of tables, exact and barred bits, mates, and what is known of it."""
    num_words: int
    launches: tuple[Launch, ...]


@cache
def planned(count: int, num_left: int, num_right: int, dtype: torch.dtype, device: int) -> Plan:
    """Plan for so many problems."""
    cells, side = num_left * num_right, max(num_left, num_right)
    number, is_float = NUMBERS[dtype]
    num_words = cells // 64 * 2 + 4

    def blocks(lanes: int, threads: int) -> tuple[int, int]:
        return -(-count * lanes // threads), threads

    reading = next(lanes for lanes, most in READING.items() if cells <= most)
    block = max(reading, 128)
    read = {"number": number, "READS_COSTS": 1, "IS_FLOAT": is_float, "LANES": reading}
    read["THREADS"] = block

    lanes = next(lanes for lanes, most in ASSIGNING.items() if side <= most)
    threads = max(lanes, 32 if lanes == 32 else 64)
    memory = 16 * (threads // lanes) * side
    form = {"LANES": lanes, "EACH": -(-side // lanes), "THREADS": threads}
    if lanes == 1:  # which holds the tables as well
        memory += 8 * cells * (threads | 1)
        form["CELLS"] = cells
    assign = kernel("assign.cu", "assign", device, memory, **form)

    settling = 1 if side <= 16 else 32
    own = 8 * side + 4 * -(-num_right // 32) + (4 * num_words if settling > 1 else 0)
    settled = 32 // settling * own
    form = {"IS_FLOAT": is_float, "LANES": settling, "WORDS": 1, "THREADS": 32}
    settle = kernel("settle.cu", "settle", device, settled, **form)
    return Plan(
        (8 * cells, 4 * num_words, 4 * num_words, -(-2 * side // 8) * 8, PROBLEM_BYTES),
        num_words,
        (
            Launch(kernel("units.cu", "prepare", device, **read), *blocks(reading, block)),
            Launch(assign, *blocks(lanes, threads), memory),
            Launch(kernel("units.cu", "weigh", device, **read), *blocks(reading, block)),
            Launch(settle, *blocks(settling, 32), settled),
        ),
    )


def assign(cost: Tensor, mask: Tensor | None, sizes: Tensor | None, maximize: bool) -> Found:
    """(problem, left, right) costs → assignments of least cost; see `augury.torch`.

    All are contiguous and on one device; `mask` is Boolean, `sizes` (problem, 2) int32.
    """
    count, num_left, num_right = cost.shape
    side, cells = max(num_left, num_right), num_left * num_right
    if side > MOST_SIDE:
        raise InputError(f"on a GPU a problem has at most {MOST_SIDE} nodes a side, not {side}")
    device = cost.device
    indices = torch.empty((count, num_left), dtype=torch.int64, device=device)
    status = torch.empty(count, dtype=torch.int32, device=device)
    wide = torch.float64 if cost.is_floating_point() else torch.int64
    rows = torch.empty((count, num_left), dtype=wide, device=device)
    columns = torch.empty((count, num_right), dtype=wide, device=device)
    found = Found(indices, status, rows, columns)
    if not cost.numel():
        return Found(indices.fill_(-1), *(own.zero_() for own in found[1:]))
    many = max(1, MOST_SCRATCH // (8 * cells))
    for start in range(0, count, many):
        some = min(many, count - start)
        plan = planned(some, num_left, num_right, cost.dtype, device.index)
        scratch = torch.empty(some * sum(plan.sizes) + SPARE, dtype=torch.uint8, device=device)
        tables, *rest = accumulate((some * size for size in plan.sizes), initial=scratch.data_ptr())
        exact, barred, mates, problems, _ = rest
        batch = Batch(
            cost.data_ptr() + start * cells * cost.element_size(),
            None if mask is None else mask.data_ptr() + start * cells,
            None if sizes is None else sizes.data_ptr() + start * 8,
            tables,
            problems,
            mates,
            rows.data_ptr() + start * num_left * 8,
            columns.data_ptr() + start * num_right * 8,
            exact,
            barred,
            indices.data_ptr() + start * num_left * 8,
            status.data_ptr() + start * 4,
            some,
            num_left,
            num_right,
            plan.num_words,
            maximize,
        )
        launch(plan.launches, batch, device)
    return found


def launch(launches: Iterable[Launch], batch: Batch, device: torch.device) -> None:
    """Run kernels one after the other on PyTorch's current stream."""
    driver = cupy_driver()
    stream = torch.cuda.current_stream(device).cuda_stream
    arguments = (c_void_p * 1)(addressof(batch))
    is_current = torch.cuda.current_device() == device.index
    with nullcontext() if is_current else torch.cuda.device(device):
        for run, blocks, threads, memory in launches:
            shape = blocks, 1, 1, threads, 1, 1, memory
            driver.launchKernel(run, *shape, stream, addressof(arguments), 0)


@cache
def cupy_driver() -> Any:
    """Return CuPy's form of the driver's functions."""
    return cupy().cuda.driver
