"""The algorithms; one row each. All that is asked of an algorithm elsewhere is in its row."""

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.ford_fulkerson import FORD_FULKERSON
from augury.algorithms.least_cost import ASSIGNMENT, MIN_COST_FLOW
from augury.algorithms.reachability import REACHABILITY
from augury.errors import Choices
from augury.inputs import Graph

__all__ = ["ALGORITHMS", "ASSIGNMENT", "FORD_FULKERSON", "Algorithm", "suited", "suits"]

_ALL = FORD_FULKERSON, ASSIGNMENT, MIN_COST_FLOW, REACHABILITY
ALGORITHMS = Choices({row.name: row for row in _ALL})
ALGORITHMS.noun = "algorithms"


def suited(graph: Graph) -> str:
    """Return the name of the algorithm for a graph, given whether it has costs."""
    return next(name for name, row in ALGORITHMS.items() if suits(row, graph))


def suits(row: Algorithm, graph: Graph) -> bool:
    """Whether an algorithm takes such a graph, and minds its costs if there are any."""
    has_costs = getattr(graph, "costs", None) is not None
    return isinstance(graph, row.takes) and has_costs == row.minds_costs
