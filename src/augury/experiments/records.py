"""What networks did becomes lines of a file, and lines become arrays again.

A *part* is what one epoch of one network did under one condition: graphs × runs records. A file of
records is JSON lines: a header, then a line for each part, written in one go. A line that a killed
process left half written has no newline and is ignored; the next writer cuts it off. So no
incomplete part is ever counted, and one that occurs twice counts once.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import numpy.typing as npt

from augury import __version__
from augury.algorithms import FORD_FULKERSON
from augury.classical.simulate import DECISIONS
from augury.errors import InputError
from augury.experiments.conditions import Condition, Extent
from augury.files import GZIP_START, named, open_input, write_text
from augury.provenance import commit

KIND, FORMAT = "augury-parts", 1

NO_EPOCH = -1
"""The epoch of a part where none was recorded."""
LARGEST = 2**53
"""No count of ours exceeds this, and floats round beyond it."""

CONDITION_FIELDS: dict[str, type] = {
    name: kind
    for name, kind in get_type_hints(Condition).items()
    if name not in ("algorithm", "costs")
}
"""The fields of a condition that every line has, and their types."""


@dataclass(frozen=True)
class Part:
    """Which runs: the name of a part."""

    network: str
    seed: int
    """Of the network's initial weights."""
    epoch: int
    condition: Condition
    extent: Extent

    @property
    def cost(self) -> float:
        """Roughly how long it takes, in the unit of `Condition.cost`."""
        return self.condition.cost * self.extent.graphs * self.extent.runs

    @property
    def place(self) -> tuple[Any, ...]:
        """Its place in a sorted file."""
        condition, extent = asdict(self.condition).values(), asdict(self.extent).values()
        return (self.network, self.seed, self.epoch, *condition, *extent)

    def __str__(self) -> str:
        end = "bfs" if self.condition.termination == "bfs" else f"t = {self.condition.termination}"
        return (
            f"{self.network}, seed {self.seed}, epoch {self.epoch}, {self.condition.scale}x, "
            f"p = {self.condition.p}, {end}"
        )


@dataclass(frozen=True)
class Runs:
    """How the runs of a part went; arrays have a row for each run and a column for each graph."""

    name: str
    """What the network is called: its preset, and what was changed in it."""
    digest: str
    """The start of the digest of its weights."""
    value: npt.NDArray[np.int64]
    """The flow that was found; with costs see `algorithms.least_cost.objective`."""
    maximum: npt.NDArray[np.int64]
    rounds: npt.NDArray[np.int64]
    ending: tuple[str, ...]
    """Of each run and graph, in the order of the arrays."""
    asked: dict[str, int]
    """How often each decision was asked for, all runs together."""
    wrong: dict[str, int]

    @property
    def is_right(self) -> npt.NDArray[np.bool_]:
        """Which runs found the maximum."""
        return self.value == self.maximum

    @property
    def by_run(self) -> npt.NDArray[np.float64]:
        """The accuracy of each run."""
        return self.is_right.mean(axis=1)

    @property
    def accuracy(self) -> float:
        """The share of runs that found the maximum."""
        return float(self.is_right.mean())

    @property
    def flow_error(self) -> float:
        """How far the value is from the best on average: a shortfall, or a cost too high."""
        return float(np.abs(self.maximum - self.value).mean())


class Records(NamedTuple):
    """What a file of records holds."""

    header: dict[str, Any]
    parts: dict[Part, Runs]


def read_records(path: Path) -> Records:
    """Read the complete parts of a file, compressed or not; refuse any other kind of file."""
    with named(path):
        head, *rows = read_rows(path, KIND)
        return Records(head, _parts_of(rows))


def read_rows(path: Path, kind: str) -> list[dict[str, Any]]:
    """Read the header and the complete lines of a file of this kind, compressed or not."""
    with named(path), open_input(path) as file:
        text = file.read().decode(errors="replace")
        *lines, _ = text.split("\n")
        rows = [_row(line, number) for number, line in enumerate(lines, 1)]
        head = rows[0] if rows else {}
        if (head.get("kind"), head.get("format")) != (kind, FORMAT):
            raise InputError("this is not a file of Augury's records")
    return rows


def _parts_of(rows: list[dict[str, Any]]) -> dict[Part, Runs]:
    parts: dict[Part, Runs] = {}
    for number, row in enumerate(rows, 2):
        try:
            parts.setdefault(*_read_part(row))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _no_record(number) from None
    return parts


def _no_record(number: int) -> InputError:
    return InputError(f"line {number} is not one of Augury's records")


def _row(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise _no_record(number) from None
    return row if isinstance(row, dict) else {}


def _read_part(told: dict[str, Any]) -> tuple[Part, Runs]:
    """Read the line of a part; raises some error if it is not one."""
    extent = Extent(**told["extent"])
    runs, graphs = _count(extent.runs, least=1), _count(extent.graphs, least=1)
    if not all(type(told["cell"][name]) is kind for name, kind in CONDITION_FIELDS.items()):
        raise TypeError
    condition = Condition(**told["cell"])
    # Older versions wrote no name.
    names = [told["network"], told.get("name") or told["network"], told["weights"]]
    if not all(type(text) is str for text in [*names, *told["ending"]]):
        raise TypeError
    if len(told["ending"]) != runs * graphs:
        raise ValueError
    if not type(told["seed"]) is type(told["epoch"]) is type(extent.seed) is int:
        raise TypeError
    part = Part(names[0], told["seed"], told["epoch"], condition, extent)
    maximum = _counts(told["maximum"], (graphs,))
    return part, Runs(
        names[1],
        names[2],
        _counts(told["value"], (runs, graphs)),
        np.broadcast_to(maximum, (runs, graphs)),
        _counts(told["rounds"], (runs, graphs)),
        tuple(told["ending"]),
        {name: _count(told["asked"][name]) for name in DECISIONS},
        {name: _count(told["wrong"][name]) for name in DECISIONS},
    )


def _count(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= LARGEST:
        raise ValueError
    return value


def _counts(values: Any, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    array = np.asarray(values)
    is_valid = array.dtype == np.int64 and array.shape == shape
    if not is_valid or array.min() < 0 or array.max() > LARGEST:
        raise ValueError
    return array


def line_of(part: Part, runs: Runs) -> str:
    """Return the line of a part."""
    condition = asdict(part.condition)
    if part.condition.algorithm == FORD_FULKERSON.name:  # which older files never name
        del condition["algorithm"]
    if not part.condition.costs:
        del condition["costs"]
    told = {
        "network": part.network,
        "seed": part.seed,
        "epoch": part.epoch,
        "name": runs.name,
        "weights": runs.digest,
        "cell": condition,
        "extent": asdict(part.extent),
        "value": runs.value.tolist(),
        "maximum": runs.maximum[0].tolist(),
        "rounds": runs.rounds.tolist(),
        "ending": list(runs.ending),
        "asked": runs.asked,
        "wrong": runs.wrong,
    }
    return json.dumps(told, separators=(",", ":")) + "\n"


class Lines:
    """A header and lines of JSON: read once, then appended to by one process."""

    def __init__(self, path: Path, kind: str, **told: Any) -> None:
        """Open a file, or make one with `told` in its header; refuse other kinds or compressed."""
        self.path = path
        if not path.exists():
            head = {"kind": kind, "format": FORMAT, "version": __version__, "commit": commit()}
            write_text(path, json.dumps(head | told) + "\n")
        self.header, *self.rows = read_rows(path, kind)
        with named(path):
            data = path.read_bytes()
            if data.startswith(GZIP_START):
                raise InputError("a compressed file cannot be continued; decompress it first")
        self._end = data.rfind(b"\n") + 1

    def append(self, line: str) -> None:
        """Write one more line, over any half line that a killed process left."""
        with named(self.path), self.path.open("r+b") as file:
            file.truncate(self._end)
            file.seek(self._end)
            self._end += file.write(line.encode())


class RecordsFile(Lines):
    """A file of records."""

    def __init__(self, path: Path) -> None:
        """Open a file, or make one; refuse other kinds and compressed files."""
        super().__init__(path, KIND)
        with named(path):
            self.parts = _parts_of(self.rows)

    def add(self, part: Part, runs: Runs) -> None:
        """Append a part, unless it is there already."""
        if part in self.parts:
            return
        self.append(line_of(part, runs))
        self.parts[part] = runs

    def put_in_order(self) -> None:
        """Sort the parts, so that the same parts always make the same file."""
        ordered = sorted(self.parts.items(), key=lambda item: item[0].place)
        self.parts.clear()
        self.parts.update(ordered)
        lines = (line_of(part, runs) for part, runs in ordered)
        write_whole(self.path, "".join([json.dumps(self.header) + "\n", *lines]))
        self._end = self.path.stat().st_size


def write_whole(path: Path, text: str) -> None:
    """Write a text file, unless it already has that content."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
