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
READING = {32: 2**10, 256: 2**12, 512: 2**14, 1024: MOST_SIDE**2}
"""How many lanes read the costs of a problem, by the most cells that it has."""
ASSIGNING = {1: 8, 16: 16, 32: 128, 128: 640, 256: MOST_SIDE}
"""How many assign one, by the most nodes that it has on a side."""
SPARE = 2**13
"""Bytes that may be read beyond the last table."""
SETTLING = {1: 16, 32: MOST_SIDE}
"""The same, to find the first of equally good assignments."""
SHARED = "problem.cuh"
"""What every file begins with."""
MOST_SCRATCH = 2**30
"""Bytes of costs, as units, that a call holds; larger batches are solved in parts."""

PROBLEM_BYTES = 40
"""The size of `Problem` in problem.cuh."""


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
    """Mirrors `Batch` in problem.cuh: addresses, and sizes."""

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


class Form(NamedTuple):
    """One of the kernels, in the form that suits problems of a certain shape."""

    source: str
    name: str
    given: tuple[tuple[str, Any], ...]
    """What is defined to compile it: macros, and the type `number`."""
    memory: int = 0
    """Bytes of shared memory that a block takes."""
    shared: str = SHARED
    """What the file begins with."""

    @property
    def code(self) -> str:
        """The whole text."""
        lines = [
            f"typedef {value} {word};" if word == "number" else f"#define {word} {value}"
            for word, value in self.given
        ]
        files = [(FOLDER / file).read_text(encoding="utf-8") for file in (self.shared, self.source)]
        return "\n".join([*lines, *files])

    def grid(self, count: int) -> tuple[int, int]:
        """Return the blocks, and the threads of each, for this many problems."""
        given = dict(self.given)
        return -(-count * given["LANES"] // given["THREADS"]), given["THREADS"]


def forms(num_left: int, num_right: int, dtype: torch.dtype) -> list[Form]:
    """Return the four kernels in the order in which they run."""
    cells, side = num_left * num_right, max(num_left, num_right)
    number, is_float = NUMBERS[dtype]

    readers = next(lanes for lanes, most in READING.items() if cells <= most)
    lanes = next(lanes for lanes, most in ASSIGNING.items() if side <= most)
    read = {"number": number, "READS_COSTS": 1, "IS_FLOAT": is_float}
    read |= {"LANES": readers, "THREADS": max(readers, 128), "NARROW": int(lanes > 1)}

    threads = max(lanes, 32 if lanes == 32 else 64)
    assign = {"LANES": lanes, "THREADS": threads, "EACH": -(-side // lanes)}
    lists = 16 * (threads // lanes) * side
    if lanes == 1:  # which holds the tables as well
        assign["CELLS"] = cells
        lists += 8 * cells * (threads | 1)

    lanes = next(lanes for lanes, most in SETTLING.items() if side <= most)
    settle = {"LANES": lanes, "THREADS": 32, "IS_FLOAT": is_float, "WORDS": 1}
    own = 8 * side + 4 * -(-num_right // 32) + (4 * num_words(cells) if lanes > 1 else 0)
    return [
        Form("units.cu", "prepare", tuple(read.items())),
        Form("assign.cu", "assign", tuple(assign.items()), lists),
        Form("units.cu", "weigh", tuple(read.items())),
        Form("settle.cu", "settle", tuple(settle.items()), 32 // lanes * own),
    ]


def num_words(cells: int) -> int:
    """Return how many words hold a bit for each cell, with some to spare."""
    return cells // 64 * 2 + 4


def scratch(num_left: int, num_right: int) -> tuple[int, ...]:
    """Return the bytes of a problem's table, exact and barred bits, mates, and `Problem`."""
    words = 4 * num_words(num_left * num_right)
    mates = -(-2 * max(num_left, num_right) // 8) * 8
    return 8 * num_left * num_right, words, words, mates, PROBLEM_BYTES


@cache
def kernel(form: Form, device: int) -> Any:
    """Compile a kernel."""
    module = cupy()
    with module.cuda.Device(device):
        options = ("--std=c++17",)
        found = module.RawModule(code=form.code, options=options).get_function(form.name)
        if form.memory > MOST_MEMORY:
            found.max_dynamic_shared_size_bytes = form.memory
        return found.kernel


class Launch(NamedTuple):
    """A kernel, and how it is to run."""

    kernel: Any
    blocks: int
    threads: int
    memory: int


@cache
def launches(
    count: int, num_left: int, num_right: int, dtype: torch.dtype, device: int
) -> list[Launch]:
    """Return what to run for this many problems."""
    all_ = forms(num_left, num_right, dtype)
    return [Launch(kernel(form, device), *form.grid(count), form.memory) for form in all_]


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
    sizes_of = scratch(num_left, num_right)
    many = max(1, MOST_SCRATCH // sizes_of[0])
    for start in range(0, count, many):
        some = min(many, count - start)
        memory = torch.empty(some * sum(sizes_of) + SPARE, dtype=torch.uint8, device=device)
        parts = accumulate((some * size for size in sizes_of[:-1]), initial=memory.data_ptr())
        tables, exact, barred, mates, problems = parts
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
            num_words(cells),
            maximize,
        )
        launch(launches(some, num_left, num_right, cost.dtype, device.index), batch, device)
    return found


def launch(those: Iterable[Launch], batch: Structure, device: torch.device) -> None:
    """Run kernels one after the other on PyTorch's current stream, each with this argument."""
    driver = cupy_driver()
    # Making a `Stream` takes as long as a launch.
    stream = torch._C._cuda_getCurrentRawStream(device.index)
    arguments = (c_void_p * 1)(addressof(batch))
    is_current = torch.cuda.current_device() == device.index
    with nullcontext() if is_current else torch.cuda.device(device):
        for run, blocks, threads, memory in those:
            shape = blocks, 1, 1, threads, 1, 1, memory
            driver.launchKernel(run.ptr, *shape, stream, addressof(arguments), 0)


@cache
def cupy_driver() -> Any:
    """Return CuPy's bindings of the CUDA driver."""
    return cupy().cuda.driver
