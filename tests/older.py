"""Files of records as older versions wrote them: a line for each run on each graph."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from augury.experiments.records import Part, Runs


def old_lines(*parts: tuple[Part, Runs]) -> list[str]:
    """Return the lines of such a file, with their newlines."""
    head = {"kind": "augury-records", "version": "0.0", "commit": "c", **asdict(parts[0][0].extent)}
    rows: list[dict[str, Any]] = [head]
    for part, runs in parts:
        which = {"model": runs.name, "model_seed": part.seed, "weights": runs.digest}
        which |= asdict(part.condition)
        for place, ending in enumerate(runs.ending):
            run, graph = divmod(place, part.extent.graphs)
            numbers = {"value": runs.value, "maximum": runs.maximum, "rounds": runs.rounds}
            counts = {
                name: {key: count if place == 0 else 0 for key, count in found.items()}
                for name, found in (("asked", runs.asked), ("wrong", runs.wrong))
            }
            found = {name: int(array[run, graph]) for name, array in numbers.items()}
            rows.append(which | {"run": run, "graph": graph, "ending": ending} | found | counts)
    return [json.dumps(row) + "\n" for row in rows]


def told(runs: Runs) -> dict[str, Any]:
    """Return runs as something that can be compared."""
    arrays = {name: getattr(runs, name).tolist() for name in ("value", "maximum", "rounds")}
    return vars(runs) | arrays
