"""The answers to a piece become a file, which gets its name only when it is whole."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from glob import escape, glob
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from augury.classical.formats import ReadOptions
from augury.errors import InputError
from augury.files import os_fault
from augury.processes import MAX_RETRIES, use_one_thread
from augury.ray.pieces import Piece, solved_parts
from augury.tables import Settings

if TYPE_CHECKING:
    import pyarrow as pa

UNFINISHED = ".augury-unfinished-"
"""What the name of an unfinished file starts with."""


class Plan(NamedTuple):
    """What is to be done, and where the answers go."""

    pieces: list[Piece]
    output: str
    ending: str
    """How the files with the answers end: a key of `WRITING`."""
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
    """CPU time."""
    is_new: bool = True


@contextmanager
def _parquet(path: str, schema: pa.Schema) -> Generator[Callable[[pa.Table], None]]:
    import pyarrow.parquet as pq
    import pyarrow.types as types

    # Numbers as differences: faster and smaller than Arrow's own choice.
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

    with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        yield write


WRITING = {".parquet": _parquet, ".jsonl": _json_lines}
"""How answers are written, by the ending of their files."""


def solve_pieces(batch: pa.Table, plan: Plan, settings: Settings) -> pa.Table:
    """Solve the pieces in the rows of a table, and tell what became of each."""
    import pyarrow as pa

    use_one_thread()
    pieces = (Piece(**row) for row in batch.to_pylist())
    done = [solve_piece(piece, plan, settings) for piece in pieces]
    return pa.Table.from_pylist([one._asdict() for one in done])


def solve_piece(piece: Piece, plan: Plan, settings: Settings) -> Done:
    """Read, solve and write a piece; its answers get their name once all of them are there."""
    started = time.process_time()
    rows = failed = 0
    path = plan.path(piece)
    begun = os.path.join(plan.output, f"{UNFINISHED}{piece.name}-")
    # Ray retries for ever: a piece that ended its process has left a file for each attempt.
    lost = len(glob(f"{escape(begun)}*"))
    if lost > MAX_RETRIES:
        told = f"its piece {piece.name} ended its process {lost} times"
        return Done(piece.name, 0, 0, f"{piece.files[0]}: {told}")
    temporary = f"{begun}{secrets.token_hex(8)}"
    try:
        open(temporary, "x").close()
        parts = solved_parts(piece, settings, plan.options)
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


def counted(path: str, name: str) -> Done:
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
