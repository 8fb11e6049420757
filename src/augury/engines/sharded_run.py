"""Shards that work in step become a maximum matching and its proof: see `sharded`.

A file of edges becomes a folder of shards (`sharded_files`), and these a maximum matching with its
proof. A round is that of `words`, at any size: a search from all free left nodes, step by step, and
from each tree that reaches a free right node one path, all of them shortest. Column v prefers row
`(v + turn) mod rows` and those after it, as `small` says, so the mates do not depend on the number
of shards or on where these run, and a proven network that is given these weights finds the same.

In a step every shard looks at the arcs of the nodes that were just reached, and tells the others
which nodes these lead to: frontiers travel, arcs never do. After each round the matching is saved;
a run that was killed goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from augury.classical.answer import Progress
from augury.classical.graph import BipartiteGraph
from augury.engines import small
from augury.engines.sharded_check import Checker, Verdict
from augury.engines.sharded_files import (
    RAW,
    Layout,
    Pairs,
    deal_pairs,
    read_array,
    read_pairs,
    shard_folder,
    source_of,
    write_json,
)
from augury.engines.sharded_part import Builder, Shard
from augury.engines.sharded_team import Hire, InTurn, Lost, Team, hiring
from augury.errors import InputError
from augury.files import atomic_file, locked, named
from augury.processes import MAX_RETRIES

BYTES_A_SHARD = 2**30
"""A file gets one shard per this many bytes, and at least one for each core."""
GATHERED = 2**18
"""Nodes of a shard that are written at a time."""


class State(NamedTuple):
    """How far a run has got: `state.json`."""

    rounds: int = 0
    """Searches that led to a path; also numbers what the shards have saved."""
    phases: int = 0
    """How many different lengths the paths had."""
    length: int = -1
    """How many left nodes each of the last paths has."""
    size: int = 0
    steps: int = 0
    is_done: bool = False
    """Whether the last search found nothing, and its cover is saved."""
    arcs: int = 0
    """Arcs looked at."""
    bytes: int = 0
    """Bytes that shards sent to each other."""
    cpu: float = 0.0
    """Seconds that shards computed."""


class Found(NamedTuple):
    """What a run in shards found; the mates themselves are in a file."""

    layout: Layout
    state: State
    verdict: Verdict
    mates: Path

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        cover = {"left": self.verdict.cover_left, "right": self.verdict.cover_right}
        return {
            **asdict(self.layout),
            "engine": "sharded",
            "size": self.verdict.size,
            "is_maximum": self.verdict.is_maximum,
            "cover": cover,
            "checked": self.verdict._asdict(),
            **{key: value for key, value in self.state._asdict().items() if key != "size"},
        }


def solve_file(
    source: Path,
    folder: Path,
    *,
    address: str | None = None,
    shards: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Found:
    """Match the graph in a file of edges, in `folder`, where the same call resumes after a crash.

    `mates.npy` there gets the right node of each left one, −1 for none; `cover_left.npy` and
    `cover_right.npy` say which nodes are in the cover that proves it maximum.

    Args:
        source: .csv, .tsv, .parquet or .npz: two columns of node numbers, each from 0 on.
        folder: made if need be; on a cluster, one that all machines see.
        address: of a Ray cluster, "auto" for that of this machine, "local" to start one; None:
            the shards take turns in this process.
        shards: how many; by default by the size of the file, and at least one for each core.
        progress: called after each search.

    Raises:
        InputError: the file or the cluster is not what it should be, or the folder is in use or
            was made from another file.
    """
    with named(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", folder), hiring(address) as (hire, cores):
        layout = Layout.read(folder)
        origin = source_of(source)
        if layout is None:
            count = shards or max(cores, -(-source.stat().st_size // BYTES_A_SHARD))
            layout = make_shards(read_pairs(source), folder, count, origin, hire)
        elif layout.source != origin or shards not in (None, layout.count):
            raise InputError(f"{folder}: made from another file, or for other shards")
        return solve_folder(folder, layout, hire, progress)


def make_shards(
    chunks: Iterable[Pairs],
    folder: Path,
    count: int,
    source: str = "",
    hire: Hire = InTurn,
    sizes: tuple[int, int] = (0, 0),
) -> Layout:
    """Deal edges to shards, and let each put its own in rows; `graph.json` is written last.

    A side has nodes up to the last that has an edge, and at least as many as `sizes` says.
    """
    num_left, num_right = map(max, deal_pairs(chunks, folder, count), sizes)
    layout = Layout(num_left, num_right, 0, count, source)
    for lost in range(1, MAX_RETRIES + 2):
        try:
            with closing(hire(Builder, folder, count)) as team:
                layout = replace(layout, num_edges=sum(team.tell("build", layout)))
            break
        except Lost as error:
            if lost > MAX_RETRIES:
                raise InputError(f"shards were lost {lost} times, being made: {error}") from None
    for number in range(count):
        (shard_folder(folder, number) / RAW).unlink()
    write_json(folder / "graph.json", asdict(layout))
    return layout


def solve_folder(
    folder: Path,
    layout: Layout,
    hire: Hire = InTurn,
    progress: Callable[[Progress], None] | None = None,
) -> Found:
    """Match a folder of shards, from where the last run got to, and prove the matching maximum.

    Raises:
        InputError: shards were lost too often.
    """
    lost, before = 0, -1
    while True:
        state = _read_state(folder)
        lost = lost if state.rounds == before else 0
        before = state.rounds
        try:
            if not state.is_done:
                with closing(hire(Shard, folder, layout.count)) as team:
                    state = _match(team, folder, layout, state, progress)
            with closing(hire(Checker, folder, layout.count)) as team:
                post = team.send("claim", state.rounds)
                verdict = sum(team.tell("confirm", state.rounds, post=post), Verdict())
            break
        except Lost as error:
            lost += 1
            if lost > MAX_RETRIES:
                raise InputError(f"shards were lost {lost} times in a round: {error}") from None
    if not verdict.is_maximum:
        told = "what is saved there does not fit together; delete it, or give another folder"
        raise InputError(f"{folder}: {told}")
    if progress is not None:
        progress(Progress(1, state.rounds, verdict.size, "certifying"))
    found = Found(layout, state, verdict, folder / "mates.npy")
    gather(folder, layout, f"mates-{state.rounds}", "mates", layout.num_left)
    gather(folder, layout, "cover_left", "cover_left", layout.num_left)
    gather(folder, layout, "cover_right", "cover_right", layout.num_right)
    write_json(folder / "answer.json", found.to_dict())
    return found


def _read_state(folder: Path) -> State:
    try:
        return State(**json.loads((folder / "state.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return State()


def _match(
    team: Team,
    folder: Path,
    layout: Layout,
    state: State,
    progress: Callable[[Progress], None] | None,
) -> State:
    """Run rounds until a search finds no path; each is saved before the next begins."""
    team.tell("load", state.rounds)
    spent = {name: getattr(state, name) for name in ("arcs", "bytes", "cpu")}
    for found in rounds(team, layout, state):
        if found.is_done:
            team.tell("save_cover")
            if not found.rounds:
                team.tell("save", 0)
        else:
            team.tell("save", found.rounds)
        tallies = team.tell("told")
        now = {name: spent[name] + sum(tally[name] for tally in tallies) for name in spent}
        state = found._replace(**now)
        write_json(folder / "state.json", state._asdict())
        if progress is not None:
            progress(Progress(0, state.rounds, state.size))
    return state


def rounds(team: Team, layout: Layout, state: State) -> Iterator[State]:
    """Yield how far the run is after each round, the last of which finds no path."""
    while not state.is_done:
        team.tell("begin", small.turn(state.rounds, layout.num_left))
        steps, is_found = search(team)
        state = state._replace(steps=state.steps + steps, is_done=not is_found)
        if is_found:
            augment(team, steps)
            state = state._replace(
                rounds=state.rounds + 1, phases=state.phases + (steps != state.length), length=steps
            )
        yield (state := state._replace(size=sum(team.tell("size"))))


def search(team: Team) -> tuple[int, bool]:
    """Search from all free left nodes; return the steps, and whether there is a path.

    A path then has as many left nodes as there were steps.
    """
    post, steps = team.send("start"), 0
    while True:
        found = team.tell("hear", post=post)
        steps += 1
        if any(free for _, free in found):
            return steps, True
        if not any(fresh for fresh, _ in found):
            return steps, False
        post = team.send("ask", post=team.send("go_on"))


def augment(team: Team, length: int) -> None:
    """Take a path from each tree that has one, all of this length."""
    post = team.send("choose", post=team.send("offer"))
    for _ in range(length):
        post = team.send("exchange", post=team.send("go_back", post=post))


def gather(folder: Path, layout: Layout, part: str, name: str, total: int) -> None:
    """Put what the shards know of their nodes in order, in one file."""
    parts = [
        read_array(shard_folder(folder, number) / f"{part}.npy") for number in range(layout.count)
    ]
    path = folder / f"{name}.npy"
    with named(path), atomic_file(path) as file:
        np.lib.format.write_array_header_1_0(
            file,
            {"descr": parts[0].dtype.str, "fortran_order": False, "shape": (total,)},
        )
        for first in range(0, total, GATHERED * layout.count):
            some = np.empty(min(GATHERED * layout.count, total - first), parts[0].dtype)
            for number, own in enumerate(parts):
                places = slice(first // layout.count, first // layout.count + GATHERED)
                some[number :: layout.count] = own[places]
            file.write(some.data)


def solve_graph(
    graph: BipartiteGraph,
    folder: Path,
    count: int,
    progress: Callable[[Progress], None] | None = None,
    hire: Hire = InTurn,
) -> Found:
    """Match a graph that is in memory."""
    pairs = np.stack([graph.left, graph.right], axis=1).astype(np.int64)
    sizes = graph.num_left, graph.num_right
    layout = make_shards([pairs], folder, count, "", hire, sizes)
    return solve_folder(folder, layout, hire, progress)
