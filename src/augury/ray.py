"""Many graphs are solved on a Ray cluster, by Ray Data: tables in, tables out.

`solve` adds the answers to a dataset of the caller's. `solve_sources` reads files and writes a
folder. It cuts its sources into *pieces*: some row groups of a Parquet file, some bytes of a file
of JSON lines, or some files with one graph each. A piece's answers are one file, whose name and
bytes depend on nothing but the piece and the settings, and which gets its name only when it is
whole. So whatever is killed, a worker or this process, no answer is lost or counted twice: Ray runs
a task again whose process died, and the same command leaves out the pieces that are there.
A task reads, solves and writes a piece a few rows at a time, so memory does not grow with the data.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import augury
from augury.classical.formats import WRITERS, ReadOptions, ending_of
from augury.errors import InputError
from augury.extras import needs
from augury.files import locked, named, os_fault, write_text
from augury.processes import join_ray, use_one_thread
from augury.tables import ROWS, Settings, answers
from augury.tables.columns import FORMS, repeated
from augury.tables.rows import answers_of_files, files_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

PIECE_ROWS = 2**20
PIECE_BYTES = 2**26
PIECE_FILES = 2**8
"""A piece has at most so many rows and bytes, or files; but at least one row group."""

ROWS_AT_ONCE, BYTES_AT_ONCE = 2**16, 2**24
"""Rows of a table, and bytes of JSON lines, that are read together."""

MADE = ".augury.json"
"""In a folder of answers: what they are the answers to."""


def solve(dataset: Dataset, **settings: Any) -> Dataset:
    """Solve the graph in each row of a Ray dataset; see `augury.tables` for the columns.

    The result is lazy, as datasets are. Where the cluster has a GPU for every 16 cores, matchings
    without costs run there from 65 nodes a side on.

    Args:
        dataset: rows with a graph each.
        settings: as of `augury.solve`: algorithm, maximise, perfect, model, engine, exact, device,
            seed.

    Raises:
        InputError: there is no such setting, model or engine, or the columns hold no graphs.
    """
    with needs("augury.ray"):
        import pyarrow as pa
        import ray
    unknown = sorted(settings.keys() - CHOICES)
    if unknown:
        raise InputError(f"{unknown[0]!r} is none of the settings {', '.join(sorted(CHOICES))}")
    chosen = Settings(**settings)
    schema = dataset.schema()
    if schema is not None:  # an empty dataset has none
        fields = zip(schema.names, schema.types, strict=True)
        answers(pa.schema(list(fields)).empty_table(), chosen)  # raises what is wrong with all
    return _mapped(ray, dataset, partial(answers, settings=_placed(ray, chosen)), ROWS)


CHOICES = {*Settings._fields} - {"on_gpu", "ignore_costs"}


PROCESSES_A_GPU = 16
"""Processes that share a GPU, at most: each takes up to half a GB of it."""


def _placed(ray: Any, settings: Settings) -> Settings:
    """Let GPUs match what they can, where nobody says otherwise and every core gets a share."""
    cores, gpus = (ray.cluster_resources().get(name, 0) for name in ("CPU", "GPU"))
    is_shared = 0 < cores <= PROCESSES_A_GPU * gpus
    return settings._replace(on_gpu=settings.is_free and is_shared)


def _mapped(
    ray: Any, dataset: Dataset, perform: Any, batch_size: int, tasks: int | None = None
) -> Dataset:
    """Have a function of `Settings` performed on batches, each on one core; on a GPU by a share."""
    how: dict[str, Any] = {"batch_format": "pyarrow", "zero_copy_batch": True}
    how |= {"batch_size": batch_size, "num_cpus": 1}
    settings = perform.keywords["settings"]
    if not (settings.on_gpu or settings.needs_gpu):
        return dataset.map_batches(perform, **how)
    cores, gpus = (int(ray.cluster_resources().get(name, 0)) for name in ("CPU", "GPU"))
    if not gpus:
        raise InputError("the cluster has no GPU, or none that Ray knows of")
    share = max(1, min(cores // gpus, PROCESSES_A_GPU))
    most = gpus * share
    how |= {"num_gpus": 1 / share, "concurrency": (1, most) if tasks is None else min(tasks, most)}
    return dataset.map_batches(_Held, fn_constructor_args=(perform,), **how)


class _Held:
    """A function in a process that stays, as one on a GPU has to."""

    def __init__(self, perform: Callable[[Any], Any]) -> None:
        self.perform = perform

    def __call__(self, batch: Any) -> Any:
        return self.perform(batch)


class Piece(NamedTuple):
    """What a task solves: some files, or of one file some row groups or bytes."""

    name: str
    """Of the file with the answers, without its ending."""
    read: str
    """A name in `READERS`."""
    files: tuple[str, ...]
    first: int = 0
    last: int = 0
    row: int = 0
    """The number of its first row."""


class Plan(NamedTuple):
    """What is to be done, and where the answers go."""

    pieces: list[Piece]
    output: str
    ending: str
    """Of the files with the answers: a key of `WRITERS_OF`."""
    options: ReadOptions

    def path(self, piece: Piece) -> str:
        """Return where the answers of a piece go."""
        return os.path.join(self.output, f"{piece.name}{self.ending}")


class Done(NamedTuple):
    """What became of a piece."""

    name: str
    rows: int
    failed: int
    """Rows without an answer."""
    fault: str = ""
    """Why the piece could not be read or written."""
    seconds: float = 0.0
    """Of processor time."""
    is_new: bool = True


def pieces_of(sources: Sequence[str], settings: Settings) -> list[Piece]:
    """Cut sources into pieces: Parquet files, JSON lines, files with a graph, folders of these.

    Raises:
        InputError: a source cannot be read, holds no graphs, or a folder is empty.
    """
    files = [file for source in sources for file in _files_in(source)]
    pieces: list[Piece] = []
    graphs: list[str] = []
    for number, file in enumerate(files):
        ending = os.path.splitext(file)[1].lower()
        if ending not in CUTTERS:
            graphs.append(file)
            continue
        with named(file), _arrow_told():
            own = list(CUTTERS[ending](file, settings))
        stem = f"{number:05}-{os.path.splitext(os.path.basename(file))[0]}"
        pieces += [one._replace(name=f"{stem}-{k:05}") for k, one in enumerate(own)]
    for number, first in enumerate(range(0, len(graphs), PIECE_FILES)):
        some = tuple(graphs[first : first + PIECE_FILES])
        pieces.append(Piece(f"graphs-{number:05}", "files", some))
    return pieces


def _files_in(source: str) -> list[str]:
    """Return a source, or the files in a folder that hold graphs, by name."""
    if not os.path.isdir(source):
        if not os.path.exists(source):
            raise InputError(f"{source}: there is no such file or folder")
        return [os.path.abspath(source)]
    found = [path for path in Path(source).iterdir() if path.is_file()]
    found = [path for path in found if path.suffix.lower() in CUTTERS or ending_of(path) in WRITERS]
    if not found:
        ends = ", ".join([*CUTTERS, *WRITERS])
        raise InputError(f"{source}: no file in this folder ends in {ends}")
    return sorted(os.path.abspath(path) for path in found)


@contextmanager
def _arrow_told() -> Generator[None]:
    """Tell what Arrow finds wrong as an InputError."""
    with needs("a table of graphs"):
        import pyarrow as pa
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(" ".join(str(error).split())) from None


def _row_groups(file: str, settings: Settings) -> Iterator[Piece]:
    """Cut a Parquet file into groups of rows that follow each other."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as table:
        answers(table.schema_arrow.empty_table(), settings)  # raises what is wrong with all rows
        groups = map(table.metadata.row_group, range(table.num_row_groups))
        sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    first = row = 0
    while first < len(sizes):
        rows, size = sizes[first]
        last = first + 1
        while last < len(sizes):
            more = rows + sizes[last][0], size + sizes[last][1]
            if more[0] > PIECE_ROWS or more[1] > PIECE_BYTES:
                break
            (rows, size), last = more, last + 1
        yield Piece("", "parquet", (file,), first, last, row)
        first, row = last, row + rows


def _byte_ranges(file: str, settings: Settings) -> Iterator[Piece]:
    """Cut JSON lines into ranges of bytes; a line belongs to the range where it starts."""
    answers(_line_schema(file).empty_table(), settings)  # raises what is wrong with all rows
    size = os.path.getsize(file)
    for first in range(0, size, PIECE_BYTES):
        yield Piece("", "lines", (file,), first, min(first + PIECE_BYTES, size))


CUTTERS: dict[str, Callable[[str, Settings], Iterator[Piece]]] = {
    ".parquet": _row_groups,
    ".pq": _row_groups,
    ".jsonl": _byte_ranges,
    ".ndjson": _byte_ranges,
}
"""How a file is cut into pieces, by its ending; any other holds one graph."""


Read = Callable[[Piece, "Settings", ReadOptions], "Iterator[pa.Table]"]
"""Reads a piece a few rows at a time, and solves them."""


def _read_parquet(piece: Piece, settings: Settings, _: ReadOptions) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    [file], row = piece.files, piece.row
    with pq.ParquetFile(file) as table:
        groups = list(range(piece.first, piece.last))
        yield _placed_in(file, "row", np.zeros(0, np.int64),
                         answers(table.schema_arrow.empty_table(), settings))  # fmt: skip
        for batch in table.iter_batches(ROWS_AT_ONCE, groups, use_threads=False):
            numbers = np.arange(row, row + len(batch))
            row += len(batch)
            found = answers(pa.Table.from_batches([batch]), settings)
            yield _placed_in(file, "row", numbers, found)


def _placed_in(file: str, unit: str, numbers: Any, found: pa.Table) -> pa.Table:
    """Add to answers where the graphs stand: the file, and the row or byte."""
    import pyarrow as pa

    name = repeated(file, len(numbers))
    return found.add_column(0, unit, pa.array(numbers)).add_column(0, "file", name)


def _read_lines(piece: Piece, settings: Settings, _: ReadOptions) -> Iterator[pa.Table]:
    import pyarrow as pa

    [file] = piece.files
    schema = _line_schema(file)
    yield _placed_in(file, "byte", np.zeros(0, np.int64), answers(schema.empty_table(), settings))
    with open(file, "rb") as lines:
        if piece.first:
            lines.seek(piece.first - 1)
            lines.readline()
        while (at := lines.tell()) < piece.last:
            text = lines.read(min(BYTES_AT_ONCE, piece.last - at))
            text += b"" if text.endswith(b"\n") else lines.readline()
            rows = BytesIO(text).readlines()
            start = at + np.concatenate([[0], np.cumsum([len(row) for row in rows])[:-1]])
            is_row = np.array([not row.isspace() for row in rows])
            table, faults = _parsed([row for row in rows if not row.isspace()], schema)
            found = answers(table, settings)
            if faults:
                errors = found["error"].to_pylist()
                errors = [faults.get(k, error) for k, error in enumerate(errors)]
                place = found.schema.get_field_index("error")
                found = found.set_column(place, "error", pa.array(errors, pa.string()))
            yield _placed_in(file, "byte", start[is_row], found)


def _line_schema(file: str) -> pa.Schema:
    """Return the columns of a file of JSON lines, by its first line; other fields are left out."""
    import pyarrow as pa

    with open(file, "rb") as lines:
        first = next((line for line in lines if not line.isspace()), b"{}")
    told = _object(first)
    if isinstance(told, str):
        raise InputError(f"the first line: {told}")
    cost = pa.list_(pa.float64())
    kinds = {name: cost if name == "cost" else pa.list_(pa.int64()) if isinstance(told[name], list)
             else pa.int64() for name in NAMES if name in told}  # fmt: skip
    return pa.schema(list(kinds.items()))


NAMES = tuple(dict.fromkeys(name for form in FORMS for name in form.columns))


def _object(line: bytes) -> dict[str, Any] | str:
    """Return the object in a line, or why there is none."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"this is no JSON: {error}"
    return told if isinstance(told, dict) else "this is no JSON object"


def _parsed(lines: list[bytes], schema: pa.Schema) -> tuple[pa.Table, dict[int, str]]:
    """Read lines as a table; what is wrong with some of them, by number."""
    import pyarrow as pa
    import pyarrow.json

    text = b"".join(lines)
    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
    parsing = pyarrow.json.ParseOptions(schema, unexpected_field_behavior="ignore")
    try:
        table = pyarrow.json.read_json(pa.BufferReader(text), reading, parsing)
        if len(table) == len(lines):
            return table, {}
    except pa.ArrowException:  # it does not say in which line
        pass
    rows, faults = [], dict[int, str]()
    for number, line in enumerate(lines):
        told = _object(line)
        try:
            if isinstance(told, str):
                raise ValueError(told)
            rows += pa.Table.from_pylist([told], schema).to_pylist()
        except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
            faults[number] = str(InputError(str(error)))
            rows.append({})
    return pa.Table.from_pylist(rows, schema), faults


def _read_files(piece: Piece, settings: Settings, options: ReadOptions) -> Iterator[pa.Table]:
    import pyarrow as pa

    rows = answers_of_files(piece.files, options, settings)
    yield pa.Table.from_pylist(rows, files_schema())


READERS: dict[str, Read] = {
    "parquet": _read_parquet,
    "lines": _read_lines,
    "files": _read_files,
}


@contextmanager
def _parquet(path: str, schema: pa.Schema) -> Generator[Callable[[pa.Table], None]]:
    import pyarrow.parquet as pq
    import pyarrow.types as types

    # Numbers as differences: quicker than Arrow's own choice, and smaller.
    fields = {field.name: field.type for field in schema}
    kinds = {f"{name}.list.element" if types.is_list(kind) else name:
             kind.value_type if types.is_list(kind) else kind
             for name, kind in fields.items()}  # fmt: skip
    deltas = [name for name, kind in kinds.items() if types.is_integer(kind) and name != "size"]
    how: dict[str, Any] = {"use_dictionary": [name for name in kinds if name not in deltas]}
    how |= {"column_encoding": dict.fromkeys(deltas, "DELTA_BINARY_PACKED")} if deltas else {}
    how["write_statistics"] = ["error"]
    how["store_schema"] = False  # text stays text
    with pq.ParquetWriter(path, schema, **how) as writer:
        yield writer.write_table


@contextmanager
def _json_lines(path: str, schema: pa.Schema) -> Generator[Callable[[pa.Table], None]]:
    def write(table: pa.Table) -> None:
        for row in table.to_pylist():
            told = {name: value for name, value in row.items() if value is not None}
            file.write(json.dumps(told, ensure_ascii=False) + "\n")

    with open(path, "x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        yield write


WRITING = {".parquet": _parquet, ".jsonl": _json_lines}
"""How answers are written, by the ending of their files."""


def _solve_pieces(batch: pa.Table, plan: Plan, settings: Settings) -> pa.Table:
    """Solve pieces, given their numbers, and tell what became of each."""
    import pyarrow as pa

    use_one_thread()
    done = [_solve_piece(plan.pieces[number], plan, settings) for number in batch["id"].to_pylist()]
    return pa.Table.from_pylist([one._asdict() for one in done])


def _solve_piece(piece: Piece, plan: Plan, settings: Settings) -> Done:
    """Read, solve and write a piece; its answers get their name once all of them are there."""
    started = time.process_time()
    rows = failed = 0
    path = plan.path(piece)
    temporary = os.path.join(plan.output, f"{UNFINISHED}{secrets.token_hex(8)}")
    try:
        parts = _reading(piece, settings, plan.options)
        first = next(parts)
        with WRITING[plan.ending](temporary, first.schema) as write:
            for part in chain([first], parts):
                if len(part):
                    write(part)
                rows += len(part)
                failed += len(part) - part["error"].null_count
        os.replace(temporary, path)
    except OSError as error:
        return Done(piece.name, 0, 0, f"{path}: {os_fault(error)}")
    except InputError as error:
        return Done(piece.name, 0, 0, str(error))
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return Done(piece.name, rows, failed, "", time.process_time() - started)


def _reading(piece: Piece, settings: Settings, options: ReadOptions) -> Iterator[pa.Table]:
    """Read and solve a piece; what goes wrong is told of its file."""
    with named(piece.files[0]), _arrow_told():
        yield from READERS[piece.read](piece, settings, options)


UNFINISHED = ".augury-unfinished-"


def solve_sources(  # noqa: PLR0913  # sources, where the answers go, and how
    sources: Sequence[str],
    output: Path,
    settings: Settings,
    address: str = "local",
    *,
    options: ReadOptions | None = None,
    ending: str = ".parquet",
    slots: int | None = None,
) -> Generator[Done | Plan]:
    """Solve all graphs of these sources: yields the plan, and then each piece that is done.

    Those that are there already come first.

    Raises:
        InputError: a source cannot be read; the folder holds other answers, or is in use; there is
            no such model or engine; or Ray is missing or does not start.
    """
    with needs("--ray"):
        import pyarrow  # noqa: F401
        import ray  # noqa: F401
    pieces = pieces_of(sources, settings)
    plan = Plan(pieces, os.path.abspath(output), ending, options or ReadOptions())
    with named(output):
        output.mkdir(exist_ok=True)
    with locked(output / ".lock", output):
        _claim(output, plan, settings)
        yield plan
        there = [piece for piece in plan.pieces if os.path.exists(plan.path(piece))]
        for piece in there:
            yield _counted(plan.path(piece), piece.name)
        missing = [k for k, piece in enumerate(plan.pieces) if piece not in set(there)]
        if missing:
            yield from _on_cluster(plan, missing, settings, address, slots)
            _tidy(output)


def _claim(output: Path, plan: Plan, settings: Settings) -> None:
    """Say in the folder what its answers answer, or refuse one that says something else."""
    files = sorted({file for piece in plan.pieces for file in piece.files})
    told = [(file, os.stat(file).st_size, os.stat(file).st_mtime_ns) for file in files]
    text = json.dumps({"version": augury.__version__, "settings": settings._asdict(),
                       "options": repr(plan.options), "ending": plan.ending,
                       "sources": told}, indent=1) + "\n"  # fmt: skip
    claim = output / MADE
    if claim.exists() and claim.read_text(encoding="utf-8") != text:
        raise InputError(
            f"{output}: the answers in this folder are to other sources, or by other options; "
            "name another folder, or delete it"
        )
    _tidy(output)
    write_text(claim, text)


def _tidy(output: Path) -> None:
    """Delete what processes that were killed have left."""
    for path in output.glob(f"{UNFINISHED}*"):
        path.unlink(missing_ok=True)


def _counted(path: str, name: str) -> Done:
    """Return what is in a file of answers."""
    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as table:
            told = table.metadata
            at = [told.schema.column(k).path for k in range(told.num_columns)].index("error")
            groups = [told.row_group(k) for k in range(told.num_row_groups)]
            empty = sum(group.column(at).statistics.null_count for group in groups)
            return Done(name, told.num_rows, told.num_rows - empty, is_new=False)
    rows = failed = 0
    with open(path, "rb") as lines:
        for line in lines:
            rows += 1
            failed += b'"error":' in line and "error" in json.loads(line)
    return Done(name, rows, failed, is_new=False)


def _on_cluster(
    plan: Plan, numbers: list[int], settings: Settings, address: str, slots: int | None
) -> Iterator[Done]:
    """Solve pieces on a Ray cluster, as they come; what always ends its process is told last."""
    ray = join_ray(address, num_cpus=slots)
    left = {plan.pieces[number].name for number in numbers}
    try:
        with _quiet():
            rows, count = [{"id": number} for number in numbers], len(numbers)
            dataset = ray.data.from_items(rows, override_num_blocks=count)
            perform = partial(_solve_pieces, plan=plan, settings=_placed(ray, settings))
            for row in _mapped(ray, dataset, perform, 1, count).iter_rows():
                left.discard(row["name"])
                yield Done(**row)
    except ray.exceptions.RayError as error:
        raise InputError(f"Ray failed: {' '.join(str(error).split())}") from None
    finally:
        ray.shutdown()
    for name in sorted(left):
        yield Done(name, 0, 0, f"{name}: this piece ended its process on every attempt")


@contextmanager
def _quiet() -> Generator[None]:
    """Let Ray Data print nothing in this block, and give up no other piece for one that fails."""
    import ray.data

    context, logger = ray.data.DataContext.get_current(), logging.getLogger("ray.data")
    choices = {"enable_progress_bars": False, "print_on_execution_start": False}
    choices |= {"max_errored_blocks": -1}
    before = {name: getattr(context, name) for name in choices}
    level = logger.level
    try:
        for name, value in choices.items():
            setattr(context, name, value)
        logger.setLevel(logging.ERROR)
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
        logger.setLevel(level)
