"""Runs become lines of a file, and lines become a summary of each condition of a table.

A file of records is JSON lines: a header that says what was run and by which version, then one
record for each run on each graph. A *part* is what one network (model, seed, weights) did under one
condition: graphs × runs records. The file grows part by part, and a part that a killed process left
half written is dropped when the file is read, so every file can be continued and none is ever
wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.classical.formats.opened import open_input
from augury.classical.simulate import DECISIONS
from augury.errors import InputError
from augury.experiments.paper import papers_figure
from augury.files import named, write_text

KIND = "augury-records"
CELL_FIELDS = ("scale", "p", "termination", "neural_bottleneck", "neural_augmentation")
PART_FIELDS = ("model", "model_seed", "weights", *CELL_FIELDS)
RECORD_FIELDS: dict[str, type] = {
    "model": str,
    "model_seed": int,
    "weights": str,
    "scale": int,
    "p": str,
    "termination": str,
    "neural_bottleneck": bool,
    "neural_augmentation": bool,
    "run": int,
    "graph": int,
    "value": int,
    "maximum": int,
    "ending": str,
    "asked": dict,
    "wrong": dict,
}
"""What a record holds, and of which type."""
LARGEST = 2**53
"""Beyond this no count of ours lies, and floats round."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Extent:
    """How much is run for each part; every part of a file has the same extent."""

    graphs: int = 50
    """Test graphs of each condition."""
    runs: int = 10
    """Runs on each graph, each with weights of its own."""
    seed: int = 0
    """Seed of test graphs and weights."""


@dataclass(frozen=True)
class Records:
    """What a file holds: its header and the records of whole parts."""

    header: dict[str, Any]
    records: list[Record]
    num_dropped: int
    """Records of parts that were not finished."""
    is_whole: bool
    """Whether every line of the file is in use, the last one with its newline."""


def part_of(record: Record) -> tuple[Any, ...]:
    """Return the part that a record belongs to."""
    return tuple(record[name] for name in PART_FIELDS)


def header(extent: Extent) -> dict[str, Any]:
    """Return the first line of a records file: what was run, by which version."""
    import augury
    from augury.provenance import commit

    told = {"kind": KIND, "version": augury.__version__, "commit": commit()}
    return told | asdict(extent)


def read_records(path: Path) -> Records:
    """Read the whole parts of a file that `evaluate_all` wrote.

    Raises:
        InputError: there is no such file, or it is not one of records.
    """
    with named(path), open_input(path) as file:
        text = file.read().decode(errors="replace")
        lines = text.split("\n")
        # Only the last line can be half written; it is the one that has no newline after it.
        rows = [_row(line, number) for number, line in enumerate(lines[:-1], 1)]
        if not rows or rows[0].get("kind") != KIND:
            raise InputError("this is not a file of Augury's records")
        if not all(_is_count(rows[0].get(name)) for name in ("graphs", "runs")):
            raise InputError("this is not a file of Augury's records")
        for number, row in enumerate(rows[1:], 2):
            if not _is_record(row):
                raise InputError(f"line {number} is not one of Augury's records")
    size = rows[0]["graphs"] * rows[0]["runs"]
    counts: dict[tuple[Any, ...], int] = {}
    for row in rows[1:]:
        counts[part_of(row)] = counts.get(part_of(row), 0) + 1
    whole = [row for row in rows[1:] if counts[part_of(row)] == size]
    dropped = len(rows) - 1 - len(whole)
    return Records(rows[0], whole, dropped, not dropped and not lines[-1])


def _is_record(row: dict[str, Any]) -> bool:
    return (
        all(type(row.get(name)) is kind for name, kind in RECORD_FIELDS.items())
        and all(_is_count(value) for value in row.values() if type(value) is int)
        and all(_is_count(row[part].get(name)) for part in ("asked", "wrong") for name in DECISIONS)
    )


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _row(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"line {number} is not one of Augury's records") from None
    return row if isinstance(row, dict) else {}


def start_file(path: Path, extent: Extent) -> list[Record]:
    """Make the file, or make an old one ready to be continued; returns the records it holds.

    Raises:
        InputError: it is another kind of file, or its records are of another extent.
    """
    if not path.exists():
        write_text(path, json.dumps(header(extent)) + "\n")
        return []
    found = read_records(path)
    for name, value in asdict(extent).items():
        if found.header.get(name) != value:
            raise InputError(
                f"{path}: the records in this file were made with --{name} "
                f"{found.header.get(name)}, not {value}; name another file"
            )
    if not found.is_whole:
        write_text(path, _lines([found.header, *found.records]))
    return found.records


def append(path: Path, records: Sequence[Record]) -> None:
    """Add the records of a part to a file."""
    with named(path), path.open("a", encoding="utf-8") as file:
        file.write(_lines(records))


def _lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def summarise(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return one object per model name and condition: accuracy over runs, and over seeds.

    `std` is over runs, of the accuracy of all networks together, as the paper has it for its one
    network (the numbers' own deviation, divided by their count). `seed_mean`, `seed_std` and
    `seed_interval` are over seeds, with Student's t at 95 %.
    """
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        key = (record["model"], *(record[name] for name in CELL_FIELDS))
        groups.setdefault(key, []).append(record)
    models = list(dict.fromkeys(model for model, *_ in groups))

    def place(key: tuple[Any, ...]) -> tuple[Any, ...]:
        model, scale, p, termination, *classical = key
        failures = int(termination) if termination.isdigit() else 0
        return (models.index(model), p, failures, [not part for part in classical], scale)

    return [_summary(key, groups[key]) for key in sorted(groups, key=place)]


def _summary(key: tuple[Any, ...], group: list[Record]) -> dict[str, Any]:
    right = np.array([record["value"] == record["maximum"] for record in group], float)
    runs = np.array([record["run"] for record in group])
    seeds = np.array([record["model_seed"] for record in group])
    by_run = np.array([right[runs == run].mean() for run in np.unique(runs)])
    by_seed = np.array([right[seeds == seed].mean() for seed in np.unique(seeds)])
    told = dict(zip(("model", *CELL_FIELDS), key, strict=True))
    told |= {
        "accuracy": float(right.mean()),
        "std": float(by_run.std()),
        "flow_error": float(np.mean([record["maximum"] - record["value"] for record in group])),
        "graphs": len({record["graph"] for record in group}),
        "runs": len(by_run),
        "seeds": len(by_seed),
        "by_seed": {int(s): float(a) for s, a in zip(np.unique(seeds), by_seed, strict=True)},
    }
    if len(by_seed) > 1:
        told |= over_seeds(by_seed)
    for decision in DECISIONS:
        told[f"{decision}_asked"] = sum(record["asked"][decision] for record in group)
        told[f"{decision}_wrong"] = sum(record["wrong"][decision] for record in group)
    endings = [record["ending"] for record in group]
    return told | {"endings": {ending: endings.count(ending) for ending in sorted(set(endings))}}


def over_seeds(by_seed: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return mean, deviation and Student's interval at 95 % of the accuracies of several seeds."""
    from scipy.stats import t

    mean, std, count = by_seed.mean(), by_seed.std(ddof=1), len(by_seed)
    half = float(t.ppf(0.975, count - 1) * std / np.sqrt(count))
    interval = [max(0.0, float(mean) - half), min(1.0, float(mean) + half)]
    return {"seed_mean": float(mean), "seed_std": float(std), "seed_interval": interval}


HEAD = (
    "model", "scale", "p", "end", "accuracy %", "paper", "over seeds, 95 %",
    "flow error",
    "search", "reach", "bottleneck", "empty paths seen", "augmentation",
)  # fmt: skip


def table_rows(summaries: Iterable[dict[str, Any]]) -> list[list[str]]:
    """Return the rows of a table under `HEAD`.

    Of a subroutine they say how often it was wrong of how often it was asked; one that was not the
    network's is a dash.
    """
    return [_table_row(told) for told in summaries]


def _table_row(told: dict[str, Any]) -> list[str]:
    is_bfs, classical = told["termination"] == "bfs", told["model"] == "classical"
    end = "bfs" if is_bfs else f"t = {told['termination']}"
    if is_bfs and not classical:
        end += "" if told["neural_bottleneck"] else " -bottleneck"
        end += "" if told["neural_augmentation"] else " -augmentation"
    is_neural = {
        "search": True,
        "reach": is_bfs,
        "bottleneck": told["neural_bottleneck"],
        "augmentation": told["neural_augmentation"],
    }
    shown = {
        name: f"{told[f'{name}_wrong']:,}/{told[f'{name}_asked']:,}" if neural else "–"
        for name, neural in is_neural.items()
    }
    empty = told["empty_path_asked"] if told["neural_bottleneck"] else 0
    seen = f"{1 - told['empty_path_wrong'] / empty:.1%} of {empty:,}" if empty else "–"
    seeds = "–"
    if told["seeds"] > 1:
        low, high = told["seed_interval"]
        seeds = f"{told['seed_mean']:.2%} [{low:.2%}, {high:.2%}] of {told['seeds']}"
    accuracy = f"{100 * told['accuracy']:.2f} ± {100 * told['std']:.2f}"
    figure = papers_figure(told["model"], *(told[name] for name in CELL_FIELDS))
    return [
        told["model"], f"{told['scale']}x", told["p"], end, accuracy,
        figure, seeds.replace("%", ""), f"{told['flow_error']:.4f}",
        shown["search"], shown["reach"], shown["bottleneck"], seen, shown["augmentation"],
    ]  # fmt: skip
