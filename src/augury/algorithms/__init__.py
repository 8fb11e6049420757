"""Programmes over cells; one line for a further one."""

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.ford_fulkerson import FORD_FULKERSON
from augury.algorithms.reachability import REACHABILITY

__all__ = ["ALGORITHMS", "FORD_FULKERSON", "Algorithm"]

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm for algorithm in (FORD_FULKERSON, REACHABILITY)
}
"""The algorithms by name."""
