"""What a run is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from augury.classical.arrays import Numbers, WideArray

DONE = "done"
"""The ending of a run whose executor says that nothing is left to do."""


class Progress(NamedTuple):
    """How far a run has come."""

    finished: int
    """Graphs that are done."""
    rounds: int
    """Rounds so far, of the graphs that are running now."""
    size: int
    """What was found so far, in all graphs: edges, units of flow, nodes."""
    doing: str = "searching"
    """Or "certifying", once everything in these graphs has been found."""


class Answer(NamedTuple):
    """What was found on one graph, in numbers."""

    found: Numbers
    """See the algorithm: the mates of a matching, the net flow of each arc, and so on."""
    neural_rounds: int
    """Searches by the executor that led somewhere."""
    classical_rounds: int = 0
    """The same for the classical search that finished the run; 0 unless the run ended early."""
    ending: str = DONE
    """How the executor's own part ended: "done", or why it stopped early."""
    price: WideArray | None = None
    """(node,): the prices that prove the answer to be of least cost, where there are costs."""


class How(NamedTuple):
    """How a run is made, by any engine."""

    exact: bool = True
    """Finish by classical search any run that the executor ended early."""
    seed: int = 0
    progress: Callable[[Progress], None] | None = None
    """Called after each round."""
