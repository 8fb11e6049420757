"""A file of edges that need not fit in memory becomes a folder with a proven matching."""

from __future__ import annotations

import json as to_json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augury.apps.commands import terminal
from augury.apps.commands.terminal import say

if TYPE_CHECKING:
    from augury.classical.answer import Progress


def solve_in_shards(
    files: list[str],
    output: Path | None,
    has_others: bool,
    runner: dict[str, Any],
    ray: str | None,
    json: bool,
) -> None:
    """Match one graph in a folder, where the same command resumes after a crash.

    `has_others` says whether options were given that it does not take; `runner` holds arguments
    of `solver.runner_of`.
    """
    from augury.engines.sharded_run import solve_file
    from augury.errors import InputError
    from augury.solver import DEFAULT_ALGORITHM, runner_of

    runner_of(**runner | {"algorithm": runner["algorithm"] or DEFAULT_ALGORITHM})
    if output is None or len(files) != 1 or has_others:
        told = "matches the graph in one file, a list of edges, in the folder --output"
        raise InputError(f"the engine {runner['engine']!r} {told}")
    found = solve_file(Path(files[0]), output, address=ray, progress=_progress)
    if json:
        print(to_json.dumps(found.to_dict()))
        return
    layout, state, verdict = found.layout, found.state, found.verdict
    nodes = f"{layout.num_left:,} + {layout.num_right:,} nodes, {layout.num_edges:,} edges"
    say((f"matching of {verdict.size:,}", "bold"), f" in {nodes}, in {layout.count} shards")
    say((f"{terminal.counted(state.rounds, 'round')}, {state.steps:,} steps", "dim"))
    cover = verdict.cover_left + verdict.cover_right
    say(("certified maximum", "green"), f": {cover:,} nodes cover every edge")
    say(f"written to {output}")


def _progress(now: Progress) -> None:
    if sys.stderr.isatty():
        print(f"{now.doing}: round {now.rounds}, size {now.size:,}", file=sys.stderr)
