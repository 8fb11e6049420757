"""Bytes of a `.npy` file, alone or in an `.npz` archive, become an array of numbers or text.

NumPy's own reader would do, but for two things: it allocates what a header claims before looking at
what follows, and it warns of old files, which a library can silence only by changing the filters of
the whole process. So the header is parsed here. Pickled objects are never loaded.
"""

from __future__ import annotations

import math
import re
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augury.errors import InputError

if TYPE_CHECKING:
    import zipfile

MAGIC = b"\x93NUMPY"

MOST_DENSE = 2**32
"""Bytes of one array; a larger matrix is nearly empty, and should be saved as a sparse one."""

MOST_HEADER = 2**10
"""NumPy writes 118 bytes; many more only for named columns, which are no matrix."""

HEADER = re.compile(
    r"\s*\{\s*'descr'\s*:\s*'([^']*)'\s*,\s*'fortran_order'\s*:\s*(True|False)\s*,"
    r"\s*'shape'\s*:\s*\(\s*((?:\d+L?(?:\s*,\s*\d+L?)*)?)\s*,?\s*\)\s*,?\s*\}\s*"
)
"""What every writer puts there; an L after a number comes from Python 2."""

KINDS = re.compile(r"[<>|=]?(?:[biufc][0-9]{1,2}|[SU][0-9]{1,9})|[|]?[?]|[|]b1")
"""Numeric, Boolean and text types."""


def read_array(file: IO[bytes], num_bytes: int) -> npt.NDArray[Any]:
    """Read the array of a file of `num_bytes` bytes.

    Raises:
        InputError: the header is damaged or claims more than follows, or the array holds objects.
    """
    descr, is_fortran, shape, num_read = _header(file)
    if "O" in descr:
        raise InputError("the array holds pickled objects, which are never loaded")
    if not KINDS.fullmatch(descr):
        raise InputError(f"the array holds values of type {descr[:20]!r}, not numbers or text")
    dtype = np.dtype(descr)
    claimed = math.prod(shape) * dtype.itemsize
    if claimed > num_bytes - num_read:
        raise InputError(f"the array claims {claimed} bytes, but {num_bytes - num_read} follow")
    if claimed > MOST_DENSE:
        raise InputError(
            f"the array has {claimed:,} bytes, and at most {MOST_DENSE:,} are read: "
            "save a sparse matrix with scipy.sparse.save_npz"
        )
    if claimed == 0:
        return np.zeros(shape if dtype.itemsize else 0, dtype)
    data = file.read(claimed)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if is_fortran else "C")


def _header(file: IO[bytes]) -> tuple[str, bool, tuple[int, ...], int]:
    """Return type, order, shape, and how many bytes were read."""
    start = file.read(len(MAGIC) + 2)
    if not start.startswith(MAGIC) or len(start) < 8:
        raise InputError("the array does not start as a .npy file does")
    size = 2 if start[6] == 1 else 4
    length = int.from_bytes(file.read(size), "little")
    text = file.read(min(length, MOST_HEADER)).decode("latin-1")
    found = HEADER.fullmatch(text)
    if found is None:
        raise InputError("the array has no header that is understood: an array of numbers is read")
    shape = tuple(int(number) for number in re.findall(r"\d+", found[3]))
    return found[1], found[2] == "True", shape, len(start) + size + length


class Archive:
    """The arrays of an `.npz` file, each read on access."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        self.files = [name.removesuffix(".npy") for name in names]

    def __getitem__(self, key: str) -> npt.NDArray[Any]:
        if key not in self.files:
            raise InputError(f"the .npz file lacks the array {key!r}")
        name = f"{key}.npy"
        with self._archive.open(name) as member:
            return read_array(member, self._archive.getinfo(name).file_size)
