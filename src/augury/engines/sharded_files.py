"""A list of edges in a file becomes a folder of shards, whatever its size, in one pass.

A folder holds `graph.json` and, for each shard k of `count`, a folder `shard-k`: left nodes u with
u % count = k and their arcs, in rows (`start.npy`, `ends.npy`). An end is a place in `names.npy`,
the right nodes that occur there. So nothing that a shard holds is larger than its own arcs, or than
its share of the nodes. Nodes are numbers from 0 on.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from augury.engines import sharded_loops as loops
from augury.errors import InputError
from augury.extras import needs
from augury.files import atomic_file, named

Pairs = npt.NDArray[np.int64]
"""(edge, 2): left and right nodes."""

CHUNK = 2**20
"""Edges that are read at a time."""
MOST = 2**40
"""Node numbers are below this: a larger one is a mistake, not a graph."""
RAW = "arcs.raw"


@dataclass(frozen=True)
class Layout:
    """What `graph.json` says of a folder."""

    num_left: int
    num_right: int
    num_edges: int
    count: int
    """Shards."""
    source: str
    """What the edges came from: the path, size and time of a file."""

    @classmethod
    def read(cls, folder: Path) -> Layout | None:
        """Read it; None if the folder is not complete."""
        try:
            return cls(**json.loads((folder / "graph.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    @property
    def kind(self) -> type[np.signedinteger[Any]]:
        """The integer type that holds a node."""
        return np.int32 if max(self.num_left, self.num_right) < 2**31 else np.int64

    def share(self, number: int, total: int) -> int:
        """Return how many of `total` nodes a shard holds."""
        return len(range(number, total, self.count))


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write it whole or not at all."""
    with named(path), atomic_file(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())


def write_array(path: Path, array: npt.NDArray[Any]) -> None:
    """Write it whole or not at all."""
    with named(path), atomic_file(path) as file:
        np.save(file, array, allow_pickle=False)


def read_array(path: Path) -> npt.NDArray[Any]:
    """Map a file into memory, read-only: parts that are not read take none."""
    if path.stat().st_size <= 128:  # an empty array cannot be mapped
        return loops_own(np.load(path, allow_pickle=False))
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def loops_own(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return it read-only, as messages from elsewhere are, so that loops are compiled once."""
    array.setflags(write=False)
    return array


def shard_folder(folder: Path, number: int) -> Path:
    """Return where a shard's own files are."""
    return folder / f"shard-{number}"


def deal_pairs(chunks: Iterable[Pairs], folder: Path, count: int) -> tuple[int, int]:
    """Write edges to the shards of their left nodes; return how many nodes each side has."""
    left = right = 0
    paths = [shard_folder(folder, number) for number in range(count)]
    for path in paths:
        path.mkdir(parents=True, exist_ok=True)
    files: list[IO[bytes]] = [(path / RAW).open("wb") for path in paths]
    try:
        for pairs in chunks:
            if not len(pairs):
                continue
            if pairs.min() < 0 or pairs.max() >= MOST:
                wrong = int(pairs.min() if pairs.min() < 0 else pairs.max())
                raise InputError(f"nodes are numbers from 0 to {MOST - 1}, not {wrong}")
            left, right = np.maximum((left, right), pairs.max(0) + 1).tolist()
            start, dealt = np.zeros(count + 1, np.int64), np.empty_like(pairs)
            loops.deal(pairs, count, start, dealt)
            for number, file in enumerate(files):
                file.write(dealt[start[number] : start[number + 1]].data)
    finally:
        for file in files:
            file.close()
    return left, right


def raw_pairs(path: Path) -> Iterator[Pairs]:
    """Read what `deal_pairs` wrote, a chunk at a time."""
    with path.open("rb") as file:
        while len(values := np.fromfile(file, np.int64, 2 * CHUNK)):
            yield values.reshape(-1, 2)


def build_shard(folder: Path, number: int, layout: Layout) -> int:
    """Turn a shard's pairs into rows; return how many edges it has, each counted once."""
    own, count = shard_folder(folder, number), layout.count
    degree = np.zeros(layout.share(number, layout.num_left) + 1, np.int64)
    is_known = np.zeros((layout.num_right >> 6) + 1, np.uint64)
    for pairs in raw_pairs(own / RAW):
        loops.count_arcs(pairs, count, degree[1:], is_known)
    before = np.empty(len(is_known), np.int64)
    names = np.empty(loops.number_known(is_known, before), layout.kind)
    loops.name_known(is_known, names)
    write_array(own / "names.npy", names)
    start = np.cumsum(degree, out=degree)
    ends = np.empty(int(start[-1]), np.int32 if len(names) < 2**31 else np.int64)
    del names
    cursor = start[:-1].copy()
    for pairs in raw_pairs(own / RAW):
        loops.place_arcs(pairs, count, (is_known, before), cursor, ends)
    loops.tidy_rows(start, ends)
    write_array(own / "ends.npy", ends[: start[-1]])
    write_array(own / "start.npy", start)
    return int(start[-1])


def source_of(path: Path) -> str:
    """Return what changes whenever a file does."""
    with named(path):
        found = path.stat()
    return f"{path.resolve()} {found.st_size} {found.st_mtime_ns}"


def read_pairs(path: Path) -> Iterator[Pairs]:
    """Read the edges of a file, a chunk at a time.

    Raises:
        InputError: the file is of another kind, or does not hold two columns of numbers.
    """
    ending = path.suffix.lower()
    if ending not in READERS:
        told = f"a list of edges for shards ends in {', '.join(READERS)}"
        raise InputError(f"{path}: {told}")
    with named(path):
        yield from READERS[ending](path)


def _csv(path: Path) -> Iterator[Pairs]:
    with needs("a list of edges as CSV, in shards,"):
        import pyarrow as pa
        from pyarrow import csv
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    sign = next((sign for sign in "\t,; " if sign in first.strip()), ",")
    cells = [cell.strip() for cell in first.strip().split(sign)]
    _refuse_columns(cells)
    has_header = not all(cell.lstrip("-").isdecimal() for cell in cells)
    read = csv.ReadOptions(column_names=["left", "right"], skip_rows=int(has_header))
    types = csv.ConvertOptions(column_types={"left": pa.int64(), "right": pa.int64()})
    try:
        batches = csv.open_csv(path, read, csv.ParseOptions(delimiter=sign), types)
        yield from map(_of_batch, batches)
    except pa.ArrowInvalid as error:
        raise InputError(f"{_words(error)}; shards take two columns of node numbers") from None


def _parquet(path: Path) -> Iterator[Pairs]:
    with needs("a list of edges as Parquet"):
        import pyarrow as pa
        from pyarrow import parquet
    try:
        # By default it would read the whole file ahead.
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            _refuse_columns(file.schema_arrow.names)
            for name, kind in zip(file.schema_arrow.names, file.schema_arrow.types, strict=True):
                if not pa.types.is_integer(kind):
                    raise InputError(f"the column {name!r} holds {kind}, not node numbers")
            yield from map(_of_batch, file.iter_batches(CHUNK))
    except pa.ArrowInvalid as error:
        raise InputError(_words(error)) from None


def _npz(path: Path) -> Iterator[Pairs]:
    """Read the arrays `left` and `right`, side by side; NumPy would read them whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_columns([name for name in archive.namelist() if "num_" not in name])
            with archive.open("left.npy") as left, archive.open("right.npy") as right:
                yield from _columns(left, right)
    except InputError:
        raise
    except (KeyError, zipfile.BadZipFile, ValueError):
        raise InputError("shards take an archive with the arrays 'left' and 'right'") from None


def _columns(*files: IO[bytes]) -> Iterator[Pairs]:
    kinds, sizes = [], set[int]()
    for file in files:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0}
        shape, _, kind = read.get(version, np.lib.format.read_array_header_2_0)(file)
        if kind.kind not in "iu" or len(shape) != 1:
            raise InputError(f"node numbers are an array of integers, not {shape} of {kind}")
        kinds.append(kind)
        sizes.add(shape[0])
    if len(sizes) > 1:
        raise InputError("the arrays 'left' and 'right' differ in length")
    [size] = sizes
    for first in range(0, size, CHUNK):
        some = min(CHUNK, size - first)
        yield np.stack(
            [
                np.frombuffer(file.read(some * kind.itemsize), kind, some).astype(np.int64)
                for file, kind in zip(files, kinds, strict=True)
            ],
            axis=1,
        )


def _of_batch(batch: Any) -> Pairs:
    columns = [batch.column(k) for k in range(2)]
    if any(column.null_count for column in columns):
        raise InputError("a node number is missing")
    return np.stack([column.to_numpy().astype(np.int64) for column in columns], axis=1)


def _refuse_columns(names: list[str]) -> None:
    if len(names) != 2:
        told = f"shards take two columns of node numbers, left and right, not {len(names)}"
        raise InputError(told)


def _words(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


READERS: dict[str, Callable[[Path], Iterator[Pairs]]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    ".npz": _npz,
}
