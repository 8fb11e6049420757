"""One shard of a graph: it holds arcs and nodes, and exchanges frontiers with the others.

Shard k of `count` holds the left nodes u and the right nodes v with u % count = v % count = k, and
the arcs of the former. A method takes the messages that the others have for it, an array from each,
and returns an array for each; none waits. A message is a row of node numbers, and goes to the shard
that holds the first of them. A step of a search is

- `ask`: a left node that was just reached asks all its right nodes, each once in a search;
- `hear`: a right node not reached yet is now reached, by the asker that it likes best;
- `go_on`: it tells its mate, which is reached with it.

If some right node is free, the search ends there: `offer` reports it to the free left node in whose
tree it is, which takes one (`choose`); `go_back` and `exchange` walk back from there, and match
each right node on the way to the node that reached it. Trees share no node, so neither do these
paths.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.engines import sharded_loops as loops
from augury.engines.sharded_files import (
    Layout,
    build_shard,
    loops_own,
    read_array,
    shard_folder,
    write_array,
)

Messages = npt.NDArray[Any]
"""(message, node)"""


class Shard:
    """The state of a shard's nodes during a search, and its part of each step."""

    def __init__(self, folder: str, number: int) -> None:
        layout = Layout.read(Path(folder))
        assert layout is not None
        self.layout, self.number, self.count = layout, number, layout.count
        self.folder = shard_folder(Path(folder), number)
        self.arcs = tuple(read_array(self.folder / f"{name}.npy") for name in FILES)
        rows, columns = (
            layout.share(number, total) for total in (layout.num_left, layout.num_right)
        )
        self.mates = np.full(rows, -1, layout.kind)
        self.mate_of = np.full(columns, -1, layout.kind)
        self.root = np.empty_like(self.mates)
        """(left,): the free node from which it is reached, −1 for none."""
        self.parent, self.root_of = (np.empty_like(self.mate_of) for _ in range(2))
        """(right,): the left node that reached it, and the free node at the root."""
        self.level = np.empty(columns, np.int32)
        """(right,): the step that reached it; −1 for none."""
        known = len(self.arcs[2])
        self.asker = np.empty(known, layout.kind)
        """(known right node,): the left node asking for it in this step, `UNASKED` or `ASKED`."""
        self.touched = np.empty(known, self.arcs[1].dtype)
        self.fresh = np.empty(0, np.int64)
        """Right nodes reached in this step, by place."""
        self.ties = 0, max(layout.num_left, 1)
        self.step = 0
        self.tally = {"arcs": 0, "bytes": 0, "cpu": 0.0}

    def load(self, saved: int) -> None:
        """Resume from what `save` wrote; 0: start from nothing."""
        if saved:
            self.mates[:] = np.load(self.folder / f"mates-{saved}.npy", allow_pickle=False)
            self.mate_of[:] = np.load(self.folder / f"mate_of-{saved}.npy", allow_pickle=False)

    def save(self, saved: int) -> None:
        """Write the matching; delete all but this and the previous one."""
        write_array(self.folder / f"mates-{saved}.npy", self.mates)
        write_array(self.folder / f"mate_of-{saved}.npy", self.mate_of)
        for path in self.folder.glob("mate*-*.npy"):
            if not path.stem.endswith((f"-{saved}", f"-{saved - 1}")):
                path.unlink()

    def save_cover(self) -> None:
        """Write which nodes cover every edge, if the last search found no path (König)."""
        write_array(self.folder / "cover_left.npy", self.root < 0)
        write_array(self.folder / "cover_right.npy", self.level >= 0)

    def size(self) -> int:
        """Return how many left nodes have a mate."""
        return int(np.count_nonzero(self.mates >= 0))

    def begin(self, turn: int) -> None:
        """Forget the last search."""
        self.root.fill(-1)
        self.level.fill(-1)
        self.asker.fill(loops.UNASKED)
        self.ties, self.step = (turn, self.ties[1]), 0

    def start(self) -> list[Messages]:
        """Reach the free left nodes, and `ask`."""
        rows = np.flatnonzero(self.mates < 0)
        self.root[rows] = rows * self.count + self.number
        return self._ask(rows)

    def ask(self, *inbox: Messages) -> list[Messages]:
        """Take (left node, root) of those that are reached with their mates, and ask."""
        reached = _joined(inbox)
        rows = reached[:, 0] // self.count
        self.root[rows] = reached[:, 1]
        rows.sort()
        return self._ask(rows)

    def _ask(self, rows: npt.NDArray[Any]) -> list[Messages]:
        began = time.process_time()
        starts = self.arcs[0]
        self.tally["arcs"] += int((starts[rows + 1] - starts[rows]).sum())
        state, place = (self.asker, self.touched), (self.number, self.count)
        size = loops.ask(self.arcs, rows.astype(np.int64), place, self.ties, state)
        start, asked = np.zeros(self.count + 1, np.int64), np.empty((size, 3), self.layout.kind)
        touched, known = self.touched[:size], (self.asker, self.root)
        loops.write_asked(touched, self.count, self.arcs[2], known, start, asked)
        return self._sent(asked, start, began)

    def hear(self, *inbox: Messages) -> tuple[int, int]:
        """Take (right node, asker, its root); return how many are reached, and how many free."""
        began = time.process_time()
        most = min(sum(map(len, inbox)), len(self.level))
        fresh, size = np.empty(most, np.int64), 0
        state, ties = (self.parent, self.root_of, self.level), (*self.ties, self.step)
        for asked in inbox:
            size = loops.hear(asked, self.count, ties, state, fresh, size)
        self.fresh = fresh[:size]
        self.step += 1
        free = int(np.count_nonzero(self.mate_of[self.fresh] < 0))
        self.tally["cpu"] += time.process_time() - began
        return size, free

    def go_on(self) -> list[Messages]:
        """Tell the mates of the right nodes that are reached."""
        return self._told(self.mate_of[self.fresh], self.root_of[self.fresh])

    def offer(self) -> list[Messages]:
        """Tell the roots which free right nodes are in their trees."""
        free = self.fresh[self.mate_of[self.fresh] < 0]
        return self._told(self.root_of[free], free * self.count + self.number)

    def choose(self, *inbox: Messages) -> list[Messages]:
        """Take (root, free right node); tell one for each root."""
        chosen = np.full(len(self.mates), -1, self.layout.kind)
        for offers in inbox:
            loops.choose(offers, self.count, chosen)
        return self._told(chosen[chosen >= 0])

    def go_back(self, *inbox: Messages) -> list[Messages]:
        """Take right nodes on paths; match each to the node that reached it, and tell that node."""
        nodes = _joined(inbox)[:, 0]
        places = nodes // self.count
        self.mate_of[places] = self.parent[places]
        return self._told(self.parent[places], nodes)

    def exchange(self, *inbox: Messages) -> list[Messages]:
        """Take (left node, its new mate); tell their former mates, if any."""
        told = _joined(inbox)
        rows = told[:, 0] // self.count
        before = self.mates[rows]
        self.mates[rows] = told[:, 1]
        return self._told(before[before >= 0])

    def told(self) -> dict[str, float]:
        """Return how many arcs were looked at, bytes sent to others, and seconds of CPU."""
        return dict(self.tally)

    def _told(self, *columns: npt.NDArray[Any]) -> list[Messages]:
        began = time.process_time()
        messages = np.stack(columns, axis=1).astype(self.layout.kind, copy=False)
        start, dealt = np.zeros(self.count + 1, np.int64), np.empty_like(messages)
        loops.deal(messages, self.count, start, dealt)
        return self._sent(dealt, start, began)

    def _sent(self, dealt: Messages, start: npt.NDArray[Any], began: float) -> list[Messages]:
        parts = [loops_own(dealt[a:b]) for a, b in pairwise(start.tolist())]
        self.tally["bytes"] += dealt.nbytes - parts[self.number].nbytes
        self.tally["cpu"] += time.process_time() - began
        return parts


class Builder:
    """Turns a shard's pairs into rows."""

    def __init__(self, folder: str, number: int) -> None:
        self.folder, self.number = folder, number

    def build(self, layout: Layout) -> int:
        """See `build_shard`."""
        return build_shard(Path(self.folder), self.number, layout)


FILES = "start", "ends", "names"


def _joined(inbox: Sequence[Messages]) -> Messages:
    return np.concatenate(inbox)
