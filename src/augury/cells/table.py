"""The decisions in every case of some cells become a `Table`, which decides by looking them up.

A network fills it (`network.compiled`). It holds every decision that the network can make, and
needs neither the network nor PyTorch. A network answers the same three questions, one for each way
in which messages join (`network.Evaluated`), so whatever runs on cells runs on either.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from augury.cells.cell import Cell, Entries
from augury.classical.arrays import Numbers
from augury.errors import InputError

Said = npt.NDArray[Any]
"""Numbers of which only the sign matters (positive is 1), or the order."""


class Decider(Protocol):
    """Decides cases of cells, many at once."""

    @property
    def table(self) -> Table:
        """All that it can decide."""
        ...

    def points(self, cell: Cell, own: Numbers, /) -> Said:
        """(point,) own bits → (point, output)."""
        ...

    def sets(self, cell: Cell, own: Numbers, heard: Numbers, /) -> Said:
        """(hearer,) own bits and sets of kinds → (hearer, output)."""
        ...

    def scores(self, cell: Cell, /) -> Said:
        """Return how good each kind of message is: (kind,)."""
        ...


@dataclass(frozen=True, eq=False)
class Table:
    """The decisions on every case of some cells, by the cell's name; see `Cell.shape`.

    For a choice: the rank of each kind, of which the highest is chosen; equal scores share a rank.
    """

    cells: tuple[Cell, ...]
    entries: Mapping[str, Entries]
    bits: int = 63
    """The width of the integers that its network is made for."""
    proven: str = ""
    """The digest of a proven network's weights, where this is known to be its table."""

    @property
    def table(self) -> Table:
        """See `Decider`."""
        return self

    @property
    def num_cases(self) -> int:
        """The number of decisions."""
        return sum(len(case.expected) for cell in self.cells for case in cell.cases)

    def differences(self) -> list[str]:
        """Name the cells that differ from their rule in any case."""
        return [cell.name for cell in self.cells if not _agrees(cell, self.entries[cell.name])]

    def points(self, cell: Cell, own: Numbers, /) -> Said:
        """See `Decider`."""
        return self.entries[cell.name][own, 0]

    def sets(self, cell: Cell, own: Numbers, heard: Numbers, /) -> Said:
        """See `Decider`."""
        return self.entries[cell.name][own, heard]

    def scores(self, cell: Cell, /) -> Said:
        """See `Decider`."""
        return self.entries[cell.name]

    def to_dict(self) -> dict[str, Any]:
        """Return the table for JSON."""
        entries = {cell.name: self.entries[cell.name].tolist() for cell in self.cells}
        return {"proven": self.proven, "bits": self.bits, "table": entries}

    @classmethod
    @lru_cache(maxsize=8)
    def read(cls, path: Path, digest: str, cells: tuple[Cell, ...]) -> Table:
        """Read the table of some cells, once, from a file; refuse one with another SHA-256."""
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != digest:
            raise InputError(f"{path}: this is not the table that came with Augury")
        told = json.loads(data)
        entries = {cell.name: np.array(told["table"][cell.name], np.int8) for cell in cells}
        return cls(cells, entries, told["bits"], told["proven"])


def sets_of(kind: Numbers, start: Numbers) -> Numbers:
    """Return the set of kinds in each segment `kind[start[s] : start[s + 1]]`, none empty."""
    # A set is the OR of its kinds.
    return np.bitwise_or.reduceat(1 << kind, start[:-1])


def _agrees(cell: Cell, entries: Entries) -> bool:
    if cell.joins == "choice":
        return all(entries[case.kinds[0]] > entries[case.kinds[1]] for case in cell.cases)
    occurs = cell.truth >= 0
    return bool((entries[occurs] == cell.truth[occurs]).all())
