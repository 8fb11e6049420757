"""What an `Algorithm` is: a programme over cells, and everything that other code asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from augury.algorithms.story import Actor, Telling, Told
from augury.cells.cell import Cell
from augury.classical.answer import Answer, How
from augury.classical.arrays import Numbers
from augury.classical.certificate import Certificate
from augury.classical.ford_fulkerson import Settings, Subroutines
from augury.classical.network import FlowNetwork
from augury.classical.simulate import Run
from augury.errors import InputError
from augury.inputs import Graph, Graphs


class Judge(Protocol):
    """Runs networks once and judges every decision; see `classical.simulate.simulate`."""

    def __call__(
        self,
        networks: Sequence[FlowNetwork],
        subroutines: Subroutines,
        rngs: Sequence[np.random.Generator],
        settings: Settings | None = None,
        maxima: Sequence[int] | None = None,
        /,
    ) -> list[Run]:
        """Return a run for each network; the last two are for flows."""
        ...


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A programme over cells: the cells are learnt, everything else is programmed."""

    name: str
    problem: str
    """What it solves, as in "finds …"."""
    takes: tuple[type, ...]
    """The classes of its graphs."""
    ends: tuple[str, ...]
    """The nodes that a flow network names for it: "source", "sink"."""
    cells: tuple[Cell, ...]
    """What a network has to have learnt."""
    classical: Mapping[str, Subroutines]
    """The truth: executors without a network, by name."""
    run: Callable[[Graphs, Subroutines, How], list[Answer]]
    """The rounds, from graphs to answers, whatever supplies the subroutines."""
    judge: Judge
    """The same, with every decision compared with the truth."""
    certify: Callable[[Any, Answer], Certificate]
    """The proof of what was found on a graph, by code that knows no executor."""
    certify_all: Callable[[Graphs, Sequence[Answer]], list[Certificate]] | None = None
    """The same for many graphs, where that is quicker than one by one."""
    noun: str | None = None
    """What is found; None: what the graph calls it."""
    labelled: Callable[[Any, Numbers], list[tuple[Any, ...]]] | None = None
    """What was found, with the user's labels; None: as the graph labels it."""
    story: Callable[[Graph, Actor, Telling], Told]
    """A run on one graph, told step by step."""
    theorem: str
    """What a network with proven cells does; {bits} is the width of its integers."""
    minds_costs: bool = False
    """Whether its graphs have costs; if it would ignore them, they are refused."""
    entries: Literal["edges", "costs"] | None = None
    """What the entries of a (graph, left, right) array mean to it; None: it takes no such array."""

    def other(self, graph: Graph) -> InputError:
        """Return the error for a graph that does not suit it."""
        if isinstance(graph, self.takes):
            told = "would ignore the costs" if not self.minds_costs else "needs costs"
            remedy = "leave the choice of algorithm to the graph, or give it without costs"
            return InputError(f"{self.name} {told}" + f": {remedy}" * (not self.minds_costs))
        kinds = " or ".join(kind.__name__ for kind in self.takes)
        return InputError(f"{self.name} takes a {kinds}, not a {type(graph).__name__}")

    def unable(self, name: str, executor: Any) -> InputError:
        """Return the error for an executor, called `name`, that has not learnt it."""
        return InputError(f"{name} executes {' and '.join(executor.executes)}, not {self.name}")
