"""The algorithms; one row each. All that is asked of an algorithm elsewhere is in its row."""

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.ford_fulkerson import FORD_FULKERSON
from augury.algorithms.reachability import REACHABILITY
from augury.errors import Choices

__all__ = ["ALGORITHMS", "FORD_FULKERSON", "Algorithm"]

ALGORITHMS = Choices({row.name: row for row in (FORD_FULKERSON, REACHABILITY)})
ALGORITHMS.noun = "algorithms"
