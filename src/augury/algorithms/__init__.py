"""Programmes over cells; one line for a further one."""

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.ford_fulkerson import FORD_FULKERSON
from augury.algorithms.reachability import REACHABILITY
from augury.errors import InputError

__all__ = ["ALGORITHMS", "FORD_FULKERSON", "Algorithm", "algorithm_named"]

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm for algorithm in (FORD_FULKERSON, REACHABILITY)
}
"""The algorithms by name."""


def algorithm_named(name: str) -> Algorithm:
    """Return an algorithm.

    Raises:
        InputError: there is none of this name.
    """
    if name not in ALGORITHMS:
        raise InputError(f"{name!r} is none of the algorithms {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]
