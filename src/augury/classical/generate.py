"""A random generator and a few numbers become a graph or flow network: families of instances.

All randomness comes from the `numpy.random.Generator` given first, so the same seed gives the same
bytes; memory and time grow with the edges. `uniform` is the paper's G(n, m, p), `partly_matched`
the extra data from its appendix on PNA; the other families are ours, for inputs that the paper
never tried. Any of them can have costs. A new family is one function and its name in `MAKERS`: its
parameters are read from its signature, its summary from its docstring. Families that are hard to
solve are in `hard`.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from numbers import Integral, Real
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np

from augury.classical.arrays import MAX_CAPACITY, BoolArray, Numbers, WideArray
from augury.classical.cost_network import CostNetwork
from augury.classical.costs import Costs
from augury.classical.graph import MAX_NODES, BipartiteGraph
from augury.classical.hard import HARD_FLOWS, HARD_MATCHINGS
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError

MAX_COST = 2**31
"""The largest cost drawn: with this, a graph can have as many nodes as fit into memory."""

Rng = np.random.Generator
Edges = tuple[WideArray, WideArray]

PATH = (0, 1)
LADDER = (-1, 0, 1)
"""Left i is joined to right i + offset for each of these offsets."""


def uniform(rng: Rng, n: int, m: int | None = None, p: float = 0.25) -> BipartiteGraph:
    """Join n left and m (by default n) right nodes, each pair independently with probability p.

    >>> uniform(np.random.default_rng(7), n=8, m=6, p=1)
    BipartiteGraph(8 + 6 nodes, 48 edges)
    """
    num_left = _count("n", n)
    num_right = num_left if m is None else _count("m", m)
    edges = _independent_edges(rng, num_left, num_right, _number("p", p, 0, 1))
    return BipartiteGraph(num_left, num_right, *edges)


def sparse(rng: Rng, n: int, c: float = 3.0) -> BipartiteGraph:
    """Join n and n nodes, each pair with probability c/n: the mean degree is c at any size."""
    n = _count("n", n)
    probability = min(1.0, _number("c", c, 0, math.inf) / max(1, n))
    return BipartiteGraph(n, n, *_independent_edges(rng, n, n, probability))


def regular(rng: Rng, n: int, degree: int) -> BipartiteGraph:
    """Join n and n nodes so that each has exactly `degree` different neighbours.

    Every such graph can occur, though not all with equal probability.

    >>> graph = regular(np.random.default_rng(7), n=5, degree=2)
    >>> np.bincount(graph.left).tolist(), np.bincount(graph.right).tolist()
    ([2, 2, 2, 2, 2], [2, 2, 2, 2, 2])
    """
    n = _count("n", n)
    degree = _count("degree", degree, high=n)
    if 2 * degree <= n:
        return BipartiteGraph(n, n, *_regular_edges(rng, n, degree))
    # Most pairs are edges, so a matrix costs no more than they do, and its gaps are easier to draw.
    matrix = np.ones((n, n), np.bool_)
    matrix[_regular_edges(rng, n, n - degree)] = False
    return BipartiteGraph.from_dense(matrix)


def power_law(rng: Rng, n: int, mean_degree: float = 3.0, exponent: float = 2.5) -> BipartiteGraph:
    """Join n and n nodes whose degrees fall off like degree^−exponent on both sides (Chung–Lu).

    Nodes have weights, and the number of times u and v are joined is Poisson with a mean
    proportional to the product of theirs. Repeated edges count once, so the mean degree is a little
    below `mean_degree`. The weights are assigned at random: a node's number says nothing about its
    degree.
    """
    n = _count("n", n)
    wanted = min(_number("mean_degree", mean_degree, 0, math.inf), n)
    # An exponent below 2 has no mean degree, however many nodes there are.
    decay = 1 / (_number("exponent", exponent, 2, math.inf) - 1)
    share = np.cumsum(np.arange(1, n + 1, dtype=np.float64) ** -decay)
    num_draws = rng.poisson(n * wanted)
    left, right = (
        rng.permutation(n)[np.searchsorted(share, rng.random(num_draws) * share[-1:], side="right")]
        for _ in range(2)
    )
    return BipartiteGraph(n, n, left, right)


def complete(rng: Rng, n: int, m: int | None = None) -> BipartiteGraph:
    """Join each of n left nodes to each of m (by default n) right nodes; nothing is random."""
    num_left = _count("n", n)
    num_right = num_left if m is None else _count("m", m)
    left = np.repeat(np.arange(num_left), num_right)
    right = np.tile(np.arange(num_right), num_left)
    return BipartiteGraph(num_left, num_right, left, right)


def communities(rng: Rng, n: int, p_within: float, p_between: float) -> BipartiteGraph:
    """Join n and n nodes, with one probability within and another between two communities.

    Nodes below n // 2 are one community, the rest the other, on the left as on the right.
    """
    within = _number("p_within", p_within, 0, 1)
    between = _number("p_between", p_between, 0, 1)
    n = _count("n", n)
    parts = (0, n // 2), (n // 2, n - n // 2)
    blocks: list[WideArray] = []
    for left_part, right_part in product(parts, parts):
        p = within if left_part == right_part else between
        (left_start, num_left), (right_start, num_right) = left_part, right_part
        left, right = _independent_edges(rng, num_left, num_right, p)
        blocks.append(np.stack([left_start + left, right_start + right]))
    return BipartiteGraph(n, n, *np.concatenate(blocks, axis=1))


def path(rng: Rng, n: int) -> BipartiteGraph:
    """Join n and n nodes, in random order, into one path; it has exactly one perfect matching."""
    return _strip(rng, n, PATH)[0]


def path_state(rng: Rng, n: int) -> FlowNetwork:
    """Match n − 1 pairs of `path` so that the only augmenting path visits all 2n nodes.

    The same seed gives the graph that `path` gives.
    """
    return residual_after(*_strip(rng, _count("n", n, low=1), PATH))


def ladder(rng: Rng, n: int) -> BipartiteGraph:
    """Join n and n nodes, in random order, into a ladder: two rows of n nodes and n rungs.

    Left i is in column i, in the upper row if i is even; right i is the other node of that column.
    """
    return _strip(rng, n, LADDER)[0]


def ladder_state(rng: Rng, n: int) -> FlowNetwork:
    """Match n − 1 pairs of `ladder` so that every augmenting path visits at least n nodes.

    The two free nodes are in the first and last columns, so every path crosses all n; the shortest
    has n nodes (n + 1 if n is odd), the longest 2n. Exhaustive search up to n = 8: for n >= 2 no
    matching leaves only one path, and none forces a longer one. The same seed gives the graph that
    `ladder` gives.
    """
    return residual_after(*_strip(rng, _count("n", n, low=1), LADDER))


def partly_matched(rng: Rng, n: int, p: float = 0.25, share: float = 0.4) -> FlowNetwork:
    """Match some nodes of G(n, n, p) greedily, a fraction of n drawn uniformly from 0 to `share`.

    The edges are tried in random order; there are fewer pairs where this runs into a dead end.
    """
    graph = uniform(rng, n, p=p)
    size = int(rng.uniform(0, _number("share", share, 0, 1)) * graph.num_left)
    order = rng.permutation(graph.num_edges)
    is_free_left, is_free_right = [True] * graph.num_left, [True] * graph.num_right
    matching: list[tuple[int, int]] = []
    for left, right in zip(graph.left[order].tolist(), graph.right[order].tolist(), strict=True):
        if len(matching) == size:
            break
        if is_free_left[left] and is_free_right[right]:
            is_free_left[left] = is_free_right[right] = False
            matching.append((left, right))
    return residual_after(graph, matching)


def flow(rng: Rng, nodes: int, arcs: int, low: int = 1, high: int = 10) -> FlowNetwork:
    """Draw distinct arcs with capacities from low to high; node 0 is the source, the last the sink.

    Arcs may run both ways between two nodes. They share a pair, whose sum must fit in int64: hence
    the limit on `high`.
    """
    nodes = _count("nodes", nodes, low=2)
    arcs = _count("arcs", arcs, high=nodes * (nodes - 1))
    high = _count("high", high, high=MAX_CAPACITY // 2)
    low = _count("low", low, high=high)
    chosen = rng.choice(nodes * (nodes - 1), arcs, replace=False, shuffle=False)
    tail, head = chosen // (nodes - 1), chosen % (nodes - 1)
    head += head >= tail  # the numbers of all nodes but the tail
    capacity = rng.integers(low, high, arcs, np.int64, endpoint=True)
    return FlowNetwork.from_arcs(nodes, tail, head, capacity, source=0, sink=nodes - 1)


def with_costs(graph: Graph, rng: Rng, low: int, high: int) -> BipartiteGraph | CostNetwork:
    """Draw a cost from low to high for every edge or arc; the rest stays as it is.

    >>> with_costs(path(np.random.default_rng(7), n=4), np.random.default_rng(7), 1, 9)
    BipartiteGraph(4 + 4 nodes, 7 edges with costs)
    """
    low = _count("the least cost", low, -MAX_COST, MAX_COST)
    high = _count("the greatest cost", high, low, MAX_COST)
    if isinstance(graph, BipartiteGraph):
        return replace(graph, costs=rng.integers(low, high, graph.num_edges, endpoint=True))
    if isinstance(graph, CostNetwork):
        raise InputError("there are costs already")
    arcs = np.flatnonzero(graph.capacity)
    costs = rng.integers(low, high, len(arcs), endpoint=True)
    columns = graph.sender[arcs], graph.receiver[arcs], graph.capacity[arcs]
    priced = Costs.of(costs, graph.num_nodes + 2)
    ends = graph.source, graph.sink
    return CostNetwork(graph.num_nodes, *columns, priced, *ends, labels=graph.labels)


def residual_after(
    graph: BipartiteGraph, matching: Sequence[tuple[int, int]] | Numbers
) -> FlowNetwork:
    """Build the flow network of `graph` with the capacities that `matching`, as a flow, leaves.

    Args:
        graph: the nodes and edges; the network is that of `FlowNetwork.from_bipartite`.
        matching: (left, right) node numbers of edges that share no node, shape (pairs, 2).

    Raises:
        InputError: a pair is not an edge, or two pairs share a node.

    >>> graph = BipartiteGraph(2, 1, np.array([0, 1]), np.array([0, 0]))
    >>> list(residual_after(graph, [(1, 0)]).arcs())
    [(0, 1, 1), (2, 0, 1), (1, 3, 1), (3, 2, 1), (4, 3, 1)]
    """
    pairs = np.asarray(matching) if len(matching) else np.zeros((0, 2), np.int64)
    if pairs.shape[1:] != (2,) or pairs.dtype.kind not in "iu":
        raise InputError("a matching must be pairs of a left and a right node number")
    left, right = pairs.astype(np.int64).T
    edge = graph.edge_index(left, right)
    if (edge < 0).any():
        position = int((edge < 0).argmax())
        raise InputError(f"matched pair {position}, {tuple(pairs[position].tolist())}, is no edge")
    for side, ends in (("left", left), ("right", right)):
        again = np.flatnonzero(~_is_first(ends))
        if len(again):
            raise InputError(f"{side} node {ends[again[0]]} is matched more than once")
    network = FlowNetwork.from_bipartite(graph)
    first_edge, first_right = graph.num_left, graph.num_left + graph.num_edges
    forward = 2 * np.concatenate([left, first_edge + edge, first_right + right])
    capacity = network.capacity.copy()
    capacity[forward], capacity[forward ^ 1] = 0, 1
    return replace(network, capacity=capacity)


class Parameter(NamedTuple):
    """A keyword of a family."""

    name: str
    kind: type[int] | type[float]
    default: float | None
    """None if it is required, or if the function works it out, as with m."""
    is_required: bool


@dataclass(frozen=True)
class Family:
    """A function that makes instances, described by its own docstring and signature."""

    make: Callable[..., Graph]

    @cached_property
    def summary(self) -> str:
        """What it makes, in one line."""
        return (self.make.__doc__ or "").partition("\n")[0]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its keywords in order, without the random generator, which always comes first."""
        hints = get_type_hints(self.make)
        found: list[Parameter] = []
        for name, told in list(inspect.signature(self.make).parameters.items())[1:]:
            kind = float if float in (hints[name], *get_args(hints[name])) else int
            is_required = told.default is inspect.Parameter.empty
            found.append(Parameter(name, kind, None if is_required else told.default, is_required))
        return tuple(found)


MAKERS: tuple[Callable[..., Graph], ...] = (
    uniform, sparse, regular, power_law, complete, communities,
    path, ladder, path_state, ladder_state, partly_matched, flow,
)  # fmt: skip

FAMILIES = {make.__name__.replace("_", "-"): Family(make) for make in MAKERS}
HARD = {name: Family(make) for name, make in (HARD_FLOWS | HARD_MATCHINGS).items()}
"""Not for the page: small ones are nothing to look at."""


def generate(
    family: str, rng: Rng, costs: tuple[int, int] | None = None, **parameters: Any
) -> Graph:
    """Make an instance of the family of that name; `costs` are the least and the greatest of them.

    The same seed gives the same edges with and without costs.

    Raises:
        InputError: an unknown family, an unknown or missing parameter, or a value out of range.

    >>> generate("path", np.random.default_rng(7), n=4)
    BipartiteGraph(4 + 4 nodes, 7 edges)
    """
    families = FAMILIES | HARD
    if family not in families:
        close = difflib.get_close_matches(family, families, n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(f"{family!r} is none of the families {', '.join(FAMILIES)}{hint}")
    known = {parameter.name: parameter for parameter in families[family].parameters}
    for name in parameters:
        if name not in known:
            raise InputError(f"the family {family} takes {', '.join(known)}, but not {name}")
    for name, parameter in known.items():
        if parameter.is_required and name not in parameters:
            raise InputError(f"the family {family} needs {name}")
    if family in HARD:
        parameters = {name: _count(name, value, low=1) for name, value in parameters.items()}
    made = families[family].make(rng, **parameters)
    return made if costs is None else with_costs(made, rng, *costs)


def _count(name: str, value: object, low: int = 0, high: int = MAX_NODES) -> int:
    if not isinstance(value, Integral) or not low <= int(value) <= high:
        raise InputError(f"{name} is {value}, not a whole number in {low}..{high}")
    return int(value)


def _number(name: str, value: object, low: float, high: float) -> float:
    if not isinstance(value, Real) or not low <= float(value) <= high:
        limits = f"in {low}..{high}" if high < math.inf else f"of at least {low}"
        raise InputError(f"{name} is {value}, not a number {limits}")
    return float(value)


def _independent_edges(rng: Rng, num_left: int, num_right: int, p: float) -> Edges:
    """Choose each pair with probability p: draw how many, then which."""
    cells = num_left * num_right
    chosen = rng.choice(cells, rng.binomial(cells, p), replace=False, shuffle=False)
    return chosen // num_right, chosen % num_right


def _regular_edges(rng: Rng, n: int, degree: int) -> Edges:
    """Superimpose `degree` random permutations, then swap ends until no edge is double.

    A swap turns the edges (u, v), (x, y) into (u, y), (x, v). It is made if neither exists yet, so
    it keeps all degrees and makes no new double. This terminates as long as 2 * degree <= n: a
    double edge (u, v) leaves u and v at most degree − 1 distinct neighbours each, so of all
    n * degree edges degree * (n − 2 * (degree − 1)) >= 2 * degree will do as (x, y).
    """
    permutations = rng.permuted(np.tile(np.arange(n), (degree, 1)), axis=1)
    edges = (np.arange(n) * n + permutations).reshape(-1)
    while True:
        edges.sort(kind="stable")  # nearly linear from the second round on: few edges move
        doubles = np.flatnonzero(edges[1:] == edges[:-1])
        if not len(doubles):
            return edges // n, edges % n
        places = np.stack([doubles, rng.integers(len(edges), size=len(doubles))], axis=1)
        left, right = edges[places] // n, edges[places] % n
        swapped = left * n + right[:, ::-1]
        is_absent = edges[np.searchsorted(edges, swapped) % len(edges)] != swapped
        # Swaps in one round must not overlap; earlier ones win, so the first is always made.
        is_made = (is_absent & _is_first(places) & _is_first(swapped)).all(axis=1)
        edges[places[is_made]] = swapped[is_made]


def _is_first(values: WideArray) -> BoolArray:
    """Tell for each entry, in C order, whether it is the first of its value."""
    mask = np.zeros(values.size, np.bool_)
    mask[np.unique(values, return_index=True)[1]] = True
    return mask.reshape(values.shape)


def _strip(rng: Rng, n: int, offsets: tuple[int, ...]) -> tuple[BipartiteGraph, WideArray]:
    """Join neighbours along a line, shuffle all nodes, and match every left i to right i + 1.

    That leaves right 0 and the last left node free, one at each end. An augmenting path goes from
    left i to right i (or i − 1 on a ladder), whose mate is left i − 1 (or i − 2): all the way.
    """
    n = _count("n", n)
    place = np.arange(n)
    left = np.tile(place, len(offsets))
    right = np.concatenate([place + offset for offset in offsets])
    exists = (right >= 0) & (right < n)
    left_name, right_name = rng.permutation(n), rng.permutation(n)
    graph = BipartiteGraph(n, n, left_name[left[exists]], right_name[right[exists]])
    return graph, np.stack([left_name[:-1], right_name[1:]], axis=1)
