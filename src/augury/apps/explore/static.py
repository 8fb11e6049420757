"""The page becomes a folder that needs no server: recorded runs, and the network as a table.

What the discrete network says in each of the few cases of its cells is written down, and a script
of the page runs it on any graph that is drawn. Runs of the paper's networks are recorded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from augury.algorithms.cells import CELLS
from augury.apps.explore.limits import Limits
from augury.apps.explore.worker import graph_of
from augury.models import DEFAULT_MODEL
from augury.page import SHEETS, asset, demo_page, shown

PAPER = "paper-mpnn"
"""The network whose runs are recorded on every example that it can handle."""


def write_static(folder: Path, start: dict[str, Any] | None = None) -> None:
    """Write the page and its lesson sheets into a folder; `start` is an example to show first."""
    folder.mkdir(parents=True, exist_ok=True)
    examples = json.loads(asset("examples.json"))
    examples = [start, *examples] if start else examples
    data = {
        "examples": examples,
        "models": [{"name": name} for name in (DEFAULT_MODEL, PAPER)],
        "recorded": [run for example in examples for run in _recorded(example)],
        "said": said_in_every_case(),
    }
    (folder / "index.html").write_text(demo_page(data), encoding="utf-8")
    for name in SHEETS:
        (folder / name).write_text(asset(name), encoding="utf-8")


def said_in_every_case() -> dict[str, Any]:
    """Return what the discrete network says in every case of each cell; see `cells.table.Said`.

    By own bits and the set of kinds heard, a number for each output; or the score of each kind.
    """
    from augury.models.checkpoint import executor_of, find, load

    executor: Any = executor_of(load(find(DEFAULT_MODEL)).network)
    told: dict[str, Any] = {}
    for cell in CELLS:
        if cell.joins == "choice":
            told[cell.name] = executor.decider.scores(cell).tolist()
            continue
        owns, sets, outputs = cell.shape
        own, heard = np.divmod(np.arange(owns * sets), sets)
        if cell.joins == "none":
            said = executor.decider.points(cell, own)
        else:
            said = executor.decider.sets(cell, own, np.maximum(heard, 1))  # no set is empty
        told[cell.name] = said.reshape(owns, sets, outputs).tolist()
    return told


def _recorded(example: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the paper's network on an example, alone and beside the discrete one."""
    from augury.watch import watch

    given, settings = example["graph"], example.get("settings", {})
    if "costs" in given:
        return []  # which it has not learnt
    graph = graph_of(given, Limits())
    ran = {key: settings[key] for key in ("seed", "termination", "exact") if key in settings}
    stories = {model: watch(graph, model=model, **ran) for model in (DEFAULT_MODEL, PAPER)}
    return [
        {"graph": given, "model": model, "other": other, "seed": ran.get("seed", 0)}
        | {"shown": shown([stories[name] for name in (model, other) if name])}
        for model, other in ((PAPER, ""), (DEFAULT_MODEL, PAPER))
    ]
