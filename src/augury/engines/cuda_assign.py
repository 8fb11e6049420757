"""Tensors of costs on a GPU become proven assignments there: the kernels of `problem.cuh`.

Nothing waits for the device, and everything runs on PyTorch's current stream. CuPy compiles a
kernel when it is first used for costs of this kind and about this size.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from ctypes import Structure, addressof, c_int, c_longlong, c_void_p
from functools import cache
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
TEAMS = {
    8: (4, 128, 8),
    16: (4, 128, 1),
    32: (32, 32, 32),
    64: (32, 32, 1),
    128: (128, 128, 1),
    768: (256, 256, 2),
    MOST_SIDE: (256, 256, 1),
}
"""By the most nodes that a problem has on a side: the lanes that share it, the threads of a block,
and how many blocks a multiprocessor should have room for, if that is worth fewer registers."""
MOST_CHUNK = 8
"""Costs of a row that a lane reads before it uses the first."""
MOST_TABLE = 100 * 1024
"""Bytes of a table that is kept in shared memory, so that there is room for two."""
LANES_FILE = "lanes.cuh"
STAGES = ("problem", "units", "soften", "search", "repair", "settle", "proof")
SHARED = (LANES_FILE, *(f"{stage}.cuh" for stage in STAGES))
"""What the kernel begins with."""
MOST_SCRATCH = 2**30
"""Bytes of costs, as units, that a call holds; larger batches are solved in parts."""


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
        ("barred", c_void_p),
        ("indices", c_void_p),
        ("status", c_void_p),
        ("left_potential", c_void_p),
        ("right_potential", c_void_p),
        ("num_problems", c_longlong),
        ("num_left", c_int),
        ("num_right", c_int),
        ("negates", c_int),
        ("stride", c_int),
        ("table_bytes", c_int),
        ("bytes", c_int),
    )


class Form(NamedTuple):
    """A kernel in the form that suits problems of a certain shape."""

    source: str
    name: str
    given: tuple[tuple[str, Any], ...]
    """What is defined to compile it: macros, and the type `number`."""
    memory: int = 0
    """Bytes of shared memory that a block takes."""
    shared: tuple[str, ...] = ()
    """Files that stand before it."""

    @property
    def code(self) -> str:
        """The whole text."""
        lines = [
            f"typedef {value} {word};" if word == "number" else f"#define {word} {value}"
            for word, value in self.given
        ]
        for file in (*self.shared, self.source):  # the name is what a compiler's message tells
            lines += [f'#line 1 "{file}"', (FOLDER / file).read_text(encoding="utf-8")]
        return "\n".join(lines)

    def grid(self, count: int) -> tuple[int, int]:
        """Return the blocks, and the threads of each, for this many problems."""
        given = dict(self.given)
        return -(-count * given["LANES"] // given["THREADS"]), given["THREADS"]


class Shape(NamedTuple):
    """What the kernel for problems of a certain shape is compiled with; `Sizes` it is told.

    Shapes that differ little share a kernel.
    """

    lanes: int
    threads: int
    """Of a block; where it holds several problems, each has its own lanes."""
    blocks: int
    """That a multiprocessor should have room for, by their registers."""
    span: int
    """The columns of a row of the table that a lane reads; its rows are the smaller side."""
    chunk: int
    """The columns of a row of costs that it reads before it uses the first."""
    words: int
    """Of 32 bits in a row of a plane: an odd number, so that lanes read different banks."""
    fits: int
    """Whether the table is in shared memory."""


class Sizes(NamedTuple):
    """Mirrors the end of `Batch`."""

    stride: int
    """From one row of the table to the next: odd where rows and columns are exchanged."""
    table_bytes: int
    """Of a table in shared memory."""
    shared_bytes: int
    """Of shared memory for a problem."""


@cache
def shape_of(num_left: int, num_right: int) -> tuple[Shape, Sizes]:
    """Return in what form problems of this shape are solved."""
    few, many = sorted((num_left, num_right))
    lanes, threads, blocks = next(team for most, team in TEAMS.items() if many <= most)
    crew = min(lanes, 32)
    crews = lanes // crew
    span, width = -(-many // crew), -(-num_right // crew)
    stride = span * crew + (num_left > num_right)
    table = -(-4 * few * stride // 8) * 8
    table = table if table <= MOST_TABLE else 0
    words = -(-num_right // 32) | 1
    planes = 4 * (num_left + 1) * words
    offers = (1 + crews) * span * crew if crews > 1 else 0
    rest = max(table + 4 * offers, 8 * offers, planes, 8 * many)
    # An odd number of eight bytes, so that problems of a warp read different banks.
    memory = 8 * (few + 2 * many + -(-rest // 8) | 1)
    chunk = -(-width // -(-width // MOST_CHUNK))
    shape = Shape(lanes, threads, blocks, span, chunk, words, int(table > 0))
    return shape, Sizes(stride, table, memory)


def form_of(
    num_left: int,
    num_right: int,
    dtype: torch.dtype,
    has_mask: bool = False,
    is_again: bool = False,
) -> Form:
    """Return the kernel for problems of this shape, or the one that is left the rare ones."""
    number, is_float = NUMBERS[dtype]
    shape, sizes = shape_of(num_left, num_right)
    given: dict[str, Any] = {"number": number, "IS_FLOAT": is_float, "IS_AGAIN": int(is_again)}
    given["BARS"] = int(has_mask or is_again)
    given |= {name.upper(): value for name, value in shape._asdict().items()}
    memory = shape.threads // shape.lanes * sizes.shared_bytes
    return Form("assign.cu", "assign", tuple(given.items()), memory, SHARED)


@cache
def scratch(num_left: int, num_right: int) -> tuple[int, int]:
    """Return the bytes of memory for a problem's table and its barred bits."""
    shape, sizes = shape_of(num_left, num_right)
    table = 0 if shape.fits else 4 * min(num_left, num_right) * sizes.stride
    return -(-table // 8) * 8, 4 * num_left * shape.words


@cache
def kernel(form: Form, device: int) -> Any:
    """Compile a kernel."""
    module = cupy()
    with module.cuda.Device(device):
        options = ("--std=c++17",)
        found = module.RawModule(code=form.code, options=options).get_function(form.name)
        allow(found, form.memory)
        return found.kernel


def allow(function: Any, memory: int) -> None:
    """Let a kernel have this much shared memory, or more: forms of the same text are one kernel."""
    if memory > MOST_MEMORY // 2:  # there is some that is not counted here
        most = max(memory, function.max_dynamic_shared_size_bytes)
        function.max_dynamic_shared_size_bytes = most


class Launch(NamedTuple):
    """A kernel, and how it is to run."""

    kernel: Any
    blocks: int
    threads: int
    memory: int


def assign(
    cost: Tensor, mask: Tensor | None, sizes: Tensor | None, maximize: bool, details: bool = True
) -> Found:
    """(problem, left, right) costs → assignments of least cost; see `augury.torch`.

    All are contiguous and on one device; `mask` is Boolean, `sizes` (problem, 2) int32. Without
    `details` there are no potentials, though they are made and checked.
    """
    count, num_left, num_right = cost.shape
    if max(num_left, num_right) > MOST_SIDE:
        side = max(num_left, num_right)
        raise InputError(f"on a GPU a problem has at most {MOST_SIDE} nodes a side, not {side}")
    found = _room_for(cost, details)
    if not cost.numel():
        return Found(found.indices.fill_(-1), *(own.zero_() for own in found[1:]))
    device, size = cost.device, cost.element_size()
    table, barred = scratch(num_left, num_right)
    many = max(1, MOST_SCRATCH // table) if table else count
    memory = torch.empty(min(many, count) * (table + barred), dtype=torch.uint8, device=device)
    ends = (num_left, num_right) if details else (0, 0)
    for start in range(0, count, many):
        some = min(many, count - start)
        batch = Batch(
            cost.data_ptr() + start * num_left * num_right * size,
            None if mask is None else mask.data_ptr() + start * num_left * num_right,
            None if sizes is None else sizes.data_ptr() + start * 8,
            memory.data_ptr(),
            memory.data_ptr() + some * table,
            found.indices.data_ptr() + start * num_left * 8,
            found.status.data_ptr() + start * 4,
            *(
                potentials.data_ptr() + start * end * 8 if details else None
                for potentials, end in zip(found[2:], ends, strict=True)
            ),
            some,
            num_left,
            num_right,
            maximize,
            *shape_of(num_left, num_right)[1],
        )
        has_mask = mask is not None
        those = _launches(num_left, num_right, cost.dtype, has_mask, some, device.index)
        launch(those, batch, device)
    return found


@cache
def _launches(
    num_left: int, num_right: int, dtype: torch.dtype, has_mask: bool, count: int, device: int
) -> tuple[Launch, ...]:
    """Return how this many problems are solved, and then those that are left."""
    kinds = (has_mask, False), (True, True)
    forms = (form_of(num_left, num_right, dtype, *kind) for kind in kinds)
    return tuple(Launch(kernel(form, device), *form.grid(count), form.memory) for form in forms)


def _room_for(cost: Tensor, details: bool) -> Found:
    count, num_left, num_right = cost.shape
    wide = torch.float64 if cost.is_floating_point() else torch.int64
    rows, columns = (num_left, num_right) if details else (0, 0)
    return Found(
        torch.empty((count, num_left), dtype=torch.int64, device=cost.device),
        torch.empty(count, dtype=torch.int32, device=cost.device),
        torch.empty((count, rows), dtype=wide, device=cost.device),
        torch.empty((count, columns), dtype=wide, device=cost.device),
    )


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
