"""What one network did under one condition becomes a line of a file, and lines become arrays.

A part is graphs × runs runs of one epoch of one network under one condition. Its line is written
whole, in one go; a line that a killed process left half written has no newline, is no part, and is
cut off before the next one is written. So no part is ever counted that is not complete, and a part
that is there twice counts once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.classical.simulate import DECISIONS
from augury.errors import InputError
from augury.experiments.evaluate import Condition
from augury.experiments.records import Extent, Record
from augury.files import named, write_text

EXAM_SEED = 1
"""Of the graphs that choose among seeds: drawn like those of the tables, but others."""

HEADER = {"kind": "augury-parts", "format": 1}


@dataclass(frozen=True)
class Part:
    """Which runs: the name of a part."""

    network: str
    seed: int
    """Of the network's initial weights."""
    epoch: int
    condition: Condition
    extent: Extent

    @cached_property
    def cost(self) -> float:
        """Roughly how long it takes, in the unit of `Condition.cost`."""
        return self.condition.cost * self.extent.graphs * self.extent.runs

    @property
    def is_exam(self) -> bool:
        """Whether it is part of what chooses among seeds."""
        return self.extent.seed == EXAM_SEED

    @property
    def place(self) -> tuple[Any, ...]:
        """Where it stands in a file in order."""
        return (
            self.network,
            self.seed,
            self.epoch,
            *_numbers(self.condition),
            *_numbers(self.extent),
        )

    def __str__(self) -> str:
        end = "bfs" if self.condition.termination == "bfs" else f"t = {self.condition.termination}"
        return (
            f"{self.network}, seed {self.seed}, epoch {self.epoch}, {self.condition.scale}x, "
            f"p = {self.condition.p}, {end}"
        )


def _numbers(fields: Condition | Extent) -> tuple[Any, ...]:
    return tuple(asdict(fields).values())


@dataclass(frozen=True)
class Outcome:
    """How the runs of a part went; arrays have a row for each run and a column for each graph."""

    name: str
    """What the network was called that ran: its preset, and what was changed in it."""
    weights: str
    """Which weights: the start of their digest."""
    value: npt.NDArray[np.int64]
    maximum: npt.NDArray[np.int64]
    rounds: npt.NDArray[np.int64]
    ending: tuple[str, ...]
    """Of each run and graph, in the order of the arrays."""
    asked: dict[str, int]
    """How often each decision was asked for, all runs together."""
    wrong: dict[str, int]

    @property
    def by_run(self) -> npt.NDArray[np.float64]:
        """The accuracy of each run."""
        return (self.value == self.maximum).mean(axis=1)

    @property
    def accuracy(self) -> float:
        """The share of runs that found the maximum."""
        return float((self.value == self.maximum).mean())

    @property
    def flow_error(self) -> float:
        """The mean of what is missing of the maximum."""
        return float((self.maximum - self.value).mean())


def outcome_of(records: Sequence[Record], extent: Extent) -> Outcome:
    """Put the records of a part, runs in order, side by side."""

    def column(name: str) -> npt.NDArray[np.int64]:
        values = [record[name] for record in records]
        return np.array(values, np.int64).reshape(extent.runs, extent.graphs)

    return Outcome(
        records[0]["model"],
        records[0]["weights"],
        column("value"),
        column("maximum"),
        column("rounds"),
        tuple(record["ending"] for record in records),
        {name: sum(record["asked"][name] for record in records) for name in DECISIONS},
        {name: sum(record["wrong"][name] for record in records) for name in DECISIONS},
    )


def line_of(part: Part, outcome: Outcome) -> str:
    """Return the line of a part."""
    told = {
        "network": part.network,
        "seed": part.seed,
        "epoch": part.epoch,
        "name": outcome.name,
        "weights": outcome.weights,
        "cell": asdict(part.condition),
        "extent": asdict(part.extent),
        "value": outcome.value.tolist(),
        "maximum": outcome.maximum[0].tolist(),
        "rounds": outcome.rounds.tolist(),
        "ending": list(outcome.ending),
        "asked": outcome.asked,
        "wrong": outcome.wrong,
    }
    return json.dumps(told, separators=(",", ":")) + "\n"


def _read_line(line: str) -> tuple[Part, Outcome]:
    told = json.loads(line)
    extent = Extent(**told["extent"])
    part = Part(told["network"], told["seed"], told["epoch"], Condition(**told["cell"]), extent)
    shape = (extent.runs, extent.graphs)
    outcome = Outcome(
        told.get("name", ""),  # parts of older versions have none
        told["weights"],
        np.array(told["value"], np.int64).reshape(shape),
        np.broadcast_to(np.array(told["maximum"], np.int64), shape),
        np.array(told["rounds"], np.int64).reshape(shape),
        tuple(told["ending"]),
        {name: int(told["asked"][name]) for name in DECISIONS},
        {name: int(told["wrong"][name]) for name in DECISIONS},
    )
    return part, outcome


def whole_lines(path: Path) -> list[str]:
    """Return the lines of a file; what follows the last newline was half written and is cut off."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return whole.decode("utf-8", "replace").splitlines()


class PartsFile:
    """The file of parts: read once, then appended to by one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parts: dict[Part, Outcome] = {}
        if not path.exists():
            write_text(path, json.dumps(HEADER) + "\n")
            return
        with named(path):
            first, *lines = whole_lines(path) or [""]
            if first != json.dumps(HEADER):
                raise InputError("this is not a file of Augury's parts")
            for number, line in enumerate(lines, 2):
                try:
                    part, outcome = _read_line(line)
                except (ValueError, KeyError, TypeError):
                    raise InputError(f"line {number} is not one of Augury's parts") from None
                self.parts.setdefault(part, outcome)

    def add(self, part: Part, outcome: Outcome) -> None:
        """Append a part, unless it is there."""
        if part in self.parts:
            return
        with named(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(line_of(part, outcome))
        self.parts[part] = outcome

    def put_in_order(self) -> None:
        """Write the file anew, sorted: whatever was done first, the same parts are the same file.

        Parts come back from several processes at once, in any order.
        """
        lines = [
            line_of(part, self.parts[part])
            for part in sorted(self.parts, key=lambda part: part.place)
        ]
        text = "".join([json.dumps(HEADER) + "\n", *lines])
        if self.path.read_text(encoding="utf-8") != text:
            write_text(self.path, text)


def pooled(outcomes: Iterable[Outcome], decision: str) -> tuple[int, int]:
    """Return how often a decision was asked for and wrong in several parts."""
    found = list(outcomes)
    return (
        sum(outcome.asked[decision] for outcome in found),
        sum(outcome.wrong[decision] for outcome in found),
    )
