"""A network of cells becomes an executor: evaluated at every step, or looked up in its table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from augury.algorithms.cells import CELLS
from augury.algorithms.subroutines import OnCells
from augury.cells.network import CellNetwork, Evaluated, compiled
from augury.cells.table import Decider
from augury.config import NetworkConfig
from augury.neural.execute import Executor


def make_network(config: NetworkConfig) -> CellNetwork:
    """Return an untrained discrete network."""
    return CellNetwork(CELLS, config.hidden, config.bits)


@dataclass(frozen=True)
class CellExecutor(OnCells, Executor):
    """The discrete network as the subroutines of Ford-Fulkerson.

    `engine` is "plain", the network evaluated at every node in every step, or "lookup", its table
    read there; both decide alike. An observer sees what is evaluated.
    """

    network: CellNetwork
    engine: str = "plain"

    def quickest(self) -> CellExecutor:
        """See `Executor`; the table is made once."""
        return self._looked_up

    @cached_property
    def _looked_up(self) -> CellExecutor:
        return replace(self, engine="lookup")

    @property
    def form(self) -> str:
        """See `Executor`."""
        return "lookup" if self.engine == "lookup" and self.observer is None else "plain"

    @property
    def bits(self) -> int:
        """See `OnCells`."""
        return self.network.bits

    @cached_property
    def decider(self) -> Decider:
        """See `OnCells`."""
        return compiled(self.network) if self.form == "lookup" else Evaluated(self.network)
