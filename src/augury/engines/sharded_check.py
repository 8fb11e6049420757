"""A matching and a cover in shards become a proof, or counts of what is wrong with them.

Only files are read: the arcs, the matching, and the cover. Nothing here is shared with the search.
Three things are checked of every shard, each by one look at its arcs and nodes: each mate is a
neighbour, and each right node agrees about its mate; every arc has an end in the cover; the cover
has as many nodes as the matching has edges. Then no matching is larger (König).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.compiled import compiled
from augury.engines.sharded_files import Layout, loops_own, read_array, shard_folder


class Verdict(NamedTuple):
    """What the checks found, in one shard or in all."""

    size: int = 0
    """Left nodes that have a mate."""
    cover_left: int = 0
    cover_right: int = 0
    strangers: int = 0
    """Mates that are not neighbours."""
    disagreeing: int = 0
    """Nodes whose mate has another mate, or none."""
    bare: int = 0
    """Right nodes outside the cover that have an arc from outside it."""
    arcs: int = 0
    """Arcs that were looked at."""

    def __add__(self, other: object) -> Verdict:
        assert isinstance(other, Verdict)
        return Verdict(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def is_legal(self) -> bool:
        """Whether it is a matching of the graph."""
        return self.strangers == self.disagreeing == 0

    @property
    def is_maximum(self) -> bool:
        """Whether it is one, and the cover proves that none is larger."""
        cover = self.cover_left + self.cover_right
        return self.is_legal and self.bare == 0 and cover == self.size


class Checker:
    """Checks one shard; see `sharded_part` for how messages travel."""

    def __init__(self, folder: str, number: int) -> None:
        layout = Layout.read(Path(folder))
        assert layout is not None
        self.count, self.number, self.kind = layout.count, number, layout.kind
        self.num_right = layout.num_right
        self.folder = shard_folder(Path(folder), number)
        self.found = Verdict()

    def claim(self, saved: int) -> list[npt.NDArray[Any]]:
        """Send (right node, its mate) of all pairs, and (right node, −1) of those to be covered."""
        start, ends, names = (
            read_array(self.folder / f"{name}.npy") for name in ("start", "ends", "names")
        )
        mates = read_array(self.folder / f"mates-{saved}.npy")
        in_cover = read_array(self.folder / "cover_left.npy")
        is_touched = np.zeros(len(names), np.bool_)
        strangers = _look(start, ends, names, mates, in_cover, is_touched)
        rows = np.flatnonzero(mates >= 0)
        self.found = Verdict(
            size=len(rows), cover_left=int(in_cover.sum()), strangers=strangers, arcs=len(ends)
        )
        pairs = np.stack([mates[rows], rows * self.count + self.number], axis=1)
        bare = names[is_touched]
        claims = np.concatenate([pairs, np.stack([bare, np.full_like(bare, -1)], axis=1)])
        claims = claims.astype(self.kind)
        owner = claims[:, 0] % self.count
        return [loops_own(claims[owner == number]) for number in range(self.count)]

    def confirm(self, saved: int, *inbox: npt.NDArray[Any]) -> Verdict:
        """Compare what the others claim with what this shard knows of its right nodes."""
        mate_of = read_array(self.folder / f"mate_of-{saved}.npy")
        in_cover = read_array(self.folder / "cover_right.npy")
        claims = np.concatenate(inbox)
        is_known = (claims[:, 0] >= 0) & (claims[:, 0] < self.num_right)
        lost = int(np.count_nonzero(~is_known))
        claims = claims[is_known]
        places, is_pair = claims[:, 0] // self.count, claims[:, 1] >= 0
        # Two nodes with one mate cannot both be the mate that it names.
        agreeing = int(np.count_nonzero(mate_of[places[is_pair]] == claims[is_pair, 1]))
        pairs, matched = int(np.count_nonzero(is_pair)), int(np.count_nonzero(mate_of >= 0))
        return self.found._replace(
            cover_right=int(in_cover.sum()),
            disagreeing=lost + pairs - agreeing + abs(matched - agreeing),
            bare=int(np.count_nonzero(~in_cover[places[~is_pair]])),
        )


@compiled(nogil=True, error_model="numpy")
def _look(start: Any, ends: Any, names: Any, mates: Any, in_cover: Any, is_touched: Any) -> int:
    """Return how many mates are not neighbours; mark the right ends of uncovered rows."""
    strangers = 0
    for row in range(len(mates)):
        is_edge = mates[row] < 0
        for k in range(start[row], start[row + 1]):
            if names[ends[k]] == mates[row]:
                is_edge = True
            if not in_cover[row]:
                is_touched[ends[k]] = True
        if not is_edge:
            strangers += 1
    return strangers
