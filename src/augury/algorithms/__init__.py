"""The algorithms, one row each. All that other code asks of an algorithm is in its row."""

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.ford_fulkerson import FORD_FULKERSON
from augury.algorithms.least_cost import ASSIGNMENT, MIN_COST_FLOW
from augury.algorithms.reachability import REACHABILITY
from augury.errors import Choices

__all__ = ["ALGORITHMS", "ASSIGNMENT", "FORD_FULKERSON", "SUITED", "Algorithm"]

_ALL = FORD_FULKERSON, ASSIGNMENT, MIN_COST_FLOW, REACHABILITY
ALGORITHMS = Choices({row.name: row for row in _ALL})
ALGORITHMS.noun = "algorithms"

SUITED: dict[tuple[type, bool], list[str]] = {}
"""The names of the algorithms for each kind of graph, the default first; see `Graph.kind`."""
for _row in _ALL:
    for _class in _row.takes:
        SUITED.setdefault((_class, _row.minds_costs), []).append(_row.name)
