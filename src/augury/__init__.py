"""Augury executes Ford-Fulkerson with a graph neural network and certifies every answer.

Names are imported when they are first used, so that `import augury` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from augury.check import certify, certify_flow
    from augury.classical.certificate import Certificate
    from augury.classical.cost_network import CostNetwork
    from augury.classical.formats import read_graph, write_graph
    from augury.classical.generate import generate
    from augury.classical.graph import BipartiteGraph
    from augury.classical.network import FlowNetwork
    from augury.classical.trace import Trace, record
    from augury.errors import InputError
    from augury.networkx_like import neural_ford_fulkerson
    from augury.scipy_like import (
        linear_sum_assignment,
        maximum_bipartite_matching,
        maximum_flow,
        min_weight_full_bipartite_matching,
    )
    from augury.solution import Solution
    from augury.solver import solve, solve_batch

__version__ = "0.1.0"

_HOME = {
    "BipartiteGraph": "classical.graph",
    "Certificate": "classical.certificate",
    "CostNetwork": "classical.cost_network",
    "FlowNetwork": "classical.network",
    "InputError": "errors",
    "Solution": "solution",
    "Trace": "classical.trace",
    "certify": "check",
    "certify_flow": "check",
    "generate": "classical.generate",
    "linear_sum_assignment": "scipy_like",
    "maximum_bipartite_matching": "scipy_like",
    "maximum_flow": "scipy_like",
    "min_weight_full_bipartite_matching": "scipy_like",
    "neural_ford_fulkerson": "networkx_like",
    "read_graph": "classical.formats",
    "record": "classical.trace",
    "solve": "solver",
    "solve_batch": "solver",
    "write_graph": "classical.formats",
}

__all__ = [
    "BipartiteGraph",
    "Certificate",
    "CostNetwork",
    "FlowNetwork",
    "InputError",
    "Solution",
    "Trace",
    "__version__",
    "certify",
    "certify_flow",
    "generate",
    "linear_sum_assignment",
    "maximum_bipartite_matching",
    "maximum_flow",
    "min_weight_full_bipartite_matching",
    "neural_ford_fulkerson",
    "read_graph",
    "record",
    "solve",
    "solve_batch",
    "write_graph",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'augury' has no attribute {name!r}")
    return getattr(import_module(f"augury.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
