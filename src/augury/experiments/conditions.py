"""A condition and an extent become test graphs (paper, section 4).

Test graphs have their own stream of random numbers, which no training ever uses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from augury.algorithms import ALGORITHMS, FORD_FULKERSON
from augury.classical.cost_network import CostNetwork
from augury.classical.ford_fulkerson import Settings
from augury.classical.generate import sparse, uniform
from augury.classical.network import FlowNetwork
from augury.errors import InputError

TEST_STREAM = 0x7E57
"""Seeds of test graphs and of their weights start with this; those of training do not."""

MAX_FAILURES = 10
"""t_b: invalid paths in a row that end a run even if the network goes on."""


@dataclass(frozen=True)
class Condition:
    """One entry of a table: which graphs, and which decisions are the network's."""

    scale: int = 1
    """Nodes on a side over 8."""
    p: str = "1/4"
    """Probability of an edge, as a fraction in lowest terms; "3/n" is the sparse track."""
    termination: str = "bfs"
    """"bfs", or the number t of invalid paths in a row that end a run."""
    neural_bottleneck: bool = True
    neural_augmentation: bool = True
    algorithm: str = FORD_FULKERSON.name
    """What is executed."""
    costs: int = 0
    """Costs are drawn from 1 to this; 0 where there are none."""

    def __post_init__(self) -> None:
        minds_costs = ALGORITHMS[self.algorithm].minds_costs  # or it is refused
        if minds_costs != (self.costs > 0):
            needed = "at least 1" if minds_costs else "0, for there are none"
            raise InputError(f"the costs of {self.algorithm} are {needed}, not {self.costs}")
        if self.scale < 1:
            raise InputError(f"the scale is {self.scale}, but must be at least 1")
        is_number = self.termination.isascii() and self.termination.isdigit()
        if self.termination != "bfs" and not (is_number and int(self.termination)):
            raise InputError(
                f"the termination is {self.termination!r}, not 'bfs' or a number such as 5"
            )
        value, is_sparse = self._probability()
        object.__setattr__(self, "p", f"{value}/n" if is_sparse else str(value))
        if self.termination != "bfs":
            # With a threshold only the search is the network's: all its paths have capacity 1.
            object.__setattr__(self, "termination", str(int(self.termination)))
            object.__setattr__(self, "neural_bottleneck", False)
            object.__setattr__(self, "neural_augmentation", False)

    def _probability(self) -> tuple[Fraction, bool]:
        """Return p, or the mean degree c of p = c/n, and whether it is the latter."""
        try:
            value = Fraction(self.p.removesuffix("/n"))
        except (ValueError, ZeroDivisionError):
            raise InputError(f"p is {self.p!r}, not a probability such as 1/4 or 3/n") from None
        is_sparse = self.p.endswith("/n")
        if not 0 <= value <= (self.side if is_sparse else 1):
            raise InputError(f"p is {self.p!r}, but a probability is between 0 and 1")
        return value, is_sparse

    @property
    def side(self) -> int:
        """Nodes on each side."""
        return 8 * self.scale

    @property
    def cost(self) -> float:
        """Roughly how long a run takes: arcs times rounds."""
        value, is_sparse = self._probability()
        edges = self.side * float(value) * (1 if is_sparse else self.side)
        return (edges + 2 * self.side) * self.side

    def graphs(self, count: int, seed: int) -> list[Any]:
        """Make the test graphs of this condition, of the class that the algorithm takes."""
        value, is_sparse = self._probability()
        key = [TEST_STREAM, seed, self.scale, value.numerator, value.denominator, int(is_sparse)]
        rng = np.random.default_rng(key)
        made = (
            sparse(rng, self.side, float(value)) if is_sparse
            else uniform(rng, self.side, p=float(value))
            for _ in range(count)
        )  # fmt: skip
        if not self.costs:
            return [FlowNetwork.from_bipartite(graph) for graph in made]
        priced = (
            replace(graph, costs=rng.integers(1, self.costs + 1, graph.num_edges)) for graph in made
        )
        takes = ALGORITHMS[self.algorithm].takes
        return [g if isinstance(g, takes) else CostNetwork.from_bipartite(g) for g in priced]

    def of_network(self, counts: dict[str, int]) -> dict[str, int]:
        """Set the counts of decisions that classical code made to 0."""
        is_bfs = self.termination == "bfs"
        owns = {
            "search": True,
            "reach": is_bfs,
            "bottleneck": is_bfs and self.neural_bottleneck,
            "empty_path": is_bfs and self.neural_bottleneck,
            "augmentation": is_bfs and self.neural_augmentation,
        }
        return {decision: count if owns[decision] else 0 for decision, count in counts.items()}

    @property
    def settings(self) -> Settings:
        """When failures end a run."""
        return Settings(MAX_FAILURES if self.termination == "bfs" else int(self.termination))


@dataclass(frozen=True)
class Extent:
    """How much is run for each part."""

    graphs: int = 50
    """Test graphs of each condition."""
    runs: int = 10
    """Runs on each graph, each with weights of its own."""
    seed: int = 0
    """Seed of test graphs and weights."""
