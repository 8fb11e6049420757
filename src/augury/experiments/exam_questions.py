"""A judge and a number become a graph: the questions of an exam.

Every judge numbers its questions from 0, and the same number is always the same graph. The first
three judges ask everything that there is up to some size. The others draw: each question has a
stream of random numbers of its own, which no training uses. `fingerprint` tells graphs apart.

Exhaustive judges ask too much of slow solvers. These get one graph of each class, where graphs that
differ only in names, or in arcs that can carry nothing from source to sink, are one class; and a
sample of all graphs, drawn with the exam's seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np

from augury.classical import generate
from augury.classical.arrays import WideArray, frozen, unchecked
from augury.classical.cost_network import CostNetwork
from augury.classical.graph import BipartiteGraph
from augury.classical.hard import HARD_FLOWS, HARD_MATCHINGS
from augury.classical.network import FlowNetwork, Graph
from augury.errors import Choices, InputError
from augury.experiments.bench_assignments import FAMILIES as DENSE
from augury.experiments.bench_costs import flow_families, sparse_families

Rng = np.random.Generator

STREAM = 0xE8A3
"""Seeds of drawn questions start with this; those of training do not."""
BLOCK = 2048
"""Questions of an exhaustive judge that are asked at once."""
SAMPLE = 2000
"""Questions of an exhaustive judge, drawn from all, for solvers that do not get them all."""


@dataclass(frozen=True)
class Judge:
    """A list of questions."""

    what: str
    kind: str
    """matching, flow or cost."""
    count: int
    make: Callable[[int], Graph]
    """The question with a given number."""
    block: int = 1
    """Questions that are asked at once."""
    classes: Callable[[], WideArray] | None = None
    """Of an exhaustive judge: the number of one question of each class."""
    is_quick: Callable[[int], bool] = lambda number: True
    """Which questions a quick exam asks."""

    @property
    def is_exhaustive(self) -> bool:
        """Whether all graphs up to some size are asked."""
        return self.block > 1

    def numbers(self, seed: int, *, quick: bool = False, most: float = np.inf) -> WideArray:
        """Return the numbers to ask, in order; fewer in a quick exam, or if over `most`."""
        if not self.is_exhaustive:
            return np.array([n for n in range(self.count) if not quick or self.is_quick(n)])
        if not quick and self.count <= most:
            return np.arange(self.count)
        found = np.arange(0) if self.classes is None else self.classes()
        if not quick or self.classes is None:
            size = min(self.count, SAMPLE // 4 if quick else SAMPLE)
            drawn = np.random.default_rng([STREAM, seed]).choice(self.count, size, replace=False)
            found = np.union1d(found, drawn)
        return found

    def blocks(self, numbers: WideArray) -> list[tuple[int, ...]]:
        """Return the numbers in blocks."""
        return [
            tuple(numbers[first : first + self.block].tolist())
            for first in range(0, len(numbers), self.block)
        ]


def digits(number: int, base: int, count: int) -> list[int]:
    """Return the digits of a number, the last first.

    >>> digits(5, 3, 4)
    [2, 1, 0, 0]
    """
    return [number // base**place % base for place in range(count)]


# All bipartite graphs: a number below 2^(n·m) is a matrix, the first entry its last digit.


def _shapes(largest: int, base: int) -> list[tuple[int, int, int]]:
    """Return (nodes left, nodes right, number of the first graph) of each shape."""
    found, first = [], 0
    for n, m in product(range(1, largest + 1), repeat=2):
        found.append((n, m, first))
        first += base ** (n * m)
    return found


SIDE, PRICED_SIDE = 4, 3
_SHAPES, _PRICED_SHAPES = _shapes(SIDE, 2), _shapes(PRICED_SIDE, 3)
BIPARTITE = sum(2 ** (n * m) for n, m, _ in _SHAPES)
PRICED = sum(3 ** (n * m) for n, m, _ in _PRICED_SHAPES)


def bipartite(number: int) -> BipartiteGraph:
    """Return a graph of 1 to 4 nodes a side.

    >>> bipartite(BIPARTITE - 1)
    BipartiteGraph(4 + 4 nodes, 16 edges)
    """
    n, m, first = next(shape for shape in reversed(_SHAPES) if shape[2] <= number)
    matrix = np.reshape(digits(number - first, 2, n * m), (n, m))
    left, right = np.nonzero(matrix)
    return BipartiteGraph(n, m, left, right)


def priced(number: int) -> BipartiteGraph:
    """Return a graph of 1 to 3 nodes a side whose edges cost 0 or 1; digit 2 is no edge."""
    n, m, first = next(shape for shape in reversed(_PRICED_SHAPES) if shape[2] <= number)
    matrix = np.reshape(digits(number - first, 3, n * m), (n, m))
    left, right = np.nonzero(matrix < 2)
    costs: Any = matrix[left, right]
    return BipartiteGraph(n, m, left, right, costs=costs)


@cache
def bipartite_classes() -> WideArray:
    """Return the least number of each class: graphs that differ only in node order are one."""
    found: list[WideArray] = []
    for n, m, first in _SHAPES:
        codes = np.arange(2 ** (n * m))
        rows = codes[:, None] >> m * np.arange(n) & 2**m - 1  # (graph, row): its bits
        least = codes
        for order in permutations(range(m)):
            moved = sum((rows >> k & 1) << place for k, place in enumerate(order))
            moved = np.sort(moved, axis=1)[:, ::-1]  # of all orders of rows, the least number
            least = np.minimum(least, (moved << m * np.arange(n)).sum(axis=1))
        found.append(first + np.flatnonzero(least == codes))
    return np.concatenate(found)


# All flow networks of 2 to 4 nodes, from node 0 to the last: a digit for each ordered pair.

NODES, CAPACITIES = 4, 3
_ARCS = {
    nodes: [(i, j) for i, j in product(range(nodes), repeat=2) if i != j]
    for nodes in range(2, NODES + 1)
}
_FIRSTS = {2: 0, 3: CAPACITIES**2, 4: CAPACITIES**2 + CAPACITIES**6}
FLOWS = sum(CAPACITIES ** len(arcs) for arcs in _ARCS.values())


def flow(number: int) -> FlowNetwork:
    """Return a network of 2 to 4 nodes and capacities of 0 to 2.

    >>> flow(FLOWS - 1)
    FlowNetwork(4 nodes, 6 arc pairs, 0 → 3)
    """
    nodes = max(nodes for nodes, first in _FIRSTS.items() if first <= number)
    amounts = digits(number - _FIRSTS[nodes], CAPACITIES, len(_ARCS[nodes]))
    sender, receiver, places, ends = _pairs(nodes, tuple(amount > 0 for amount in amounts))
    capacity = frozen(np.array([0, *amounts])[places])
    return unchecked(FlowNetwork, nodes, sender, receiver, capacity, *ends, None)


@cache
def _pairs(nodes: int, present: tuple[bool, ...]) -> tuple[Any, ...]:
    """Return the pairs of arcs of networks with the same arcs, and each arc's place, from 1.

    Making a network of arcs takes ten times as long as changing its capacities.
    """
    rows = [(*arc, place) for place, arc in enumerate(_ARCS[nodes], 1) if present[place - 1]]
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    made = FlowNetwork.from_arcs(nodes, *columns, source=0, sink=nodes - 1)
    return made.sender, made.receiver, made.capacity, (made.source, made.sink)


@cache
def flow_classes() -> WideArray:
    """Return the least number of each class.

    Arcs into the source or out of the sink change neither a maximum nor a minimum cut, so networks
    without them stand for all; and networks that differ only in the order of inner nodes are one.
    """
    found: list[WideArray] = []
    for nodes, first in _FIRSTS.items():
        arcs = _ARCS[nodes]
        power = {arc: CAPACITIES**place for place, arc in enumerate(arcs)}
        useful = [arc for arc in arcs if arc[1] != 0 and arc[0] != nodes - 1]
        amounts = np.indices([CAPACITIES] * len(useful)).reshape(len(useful), -1)
        codes: Any = sum(amounts[k] * power[arc] for k, arc in enumerate(useful))
        least = codes
        for order in permutations(range(1, nodes - 1)):
            moved = dict(zip(range(nodes), (0, *order, nodes - 1), strict=True))
            renamed = [power[moved[i], moved[j]] for i, j in useful]
            least = np.minimum(least, sum(a * p for a, p in zip(amounts, renamed, strict=True)))
        found.append(first + np.sort(codes[least == codes]))
    return np.concatenate(found)


# Drawn questions: a row says how each is made.

Maker = tuple[str, Callable[[Rng], Graph], bool]
"""What it is, how to draw it, and whether a quick exam asks it."""


def _family(name: str, quick: bool = True, **given: Any) -> Maker:
    told = ", ".join(f"{key} = {value}" for key, value in given.items())
    return f"{name}, {told}", lambda rng: generate.generate(name, rng, **given), quick


def _hard(families: dict[str, Any], sizes: Sequence[int]) -> list[Maker]:
    def made(name: str, size: int) -> Maker:
        words = f"{name}, about {size:,}"
        return words, lambda rng: families[name](rng, size), size == sizes[0]

    return [made(name, size) for size in sizes for name in families]


def _dense(size: int) -> list[Maker]:
    def make(rng: Rng, family: str) -> BipartiteGraph:
        draw, scale = DENSE[family]
        return BipartiteGraph.from_costs((scale * draw((1, size, size), rng)[0]).astype(np.int64))

    return [
        (f"{size} a side, {name}", lambda rng, name=name: make(rng, name), size < 64)
        for name in DENSE
    ]


def _one_of(
    families: Callable[[int, Rng], Any], size: int, quick: Sequence[str] = ()
) -> list[Maker]:
    """Return a row for each family; a quick exam asks those that even `plain` answers quickly."""
    names = [name for name, _ in families(400, np.random.default_rng(0))]
    return [
        (
            f"{name}, {size:,}",
            lambda rng, name=name: next(g for n, g in families(size, rng) if n == name),
            name in quick,
        )
        for name in names
    ]


def _matchings() -> list[Maker]:
    found = [
        _family("uniform", n < 32, n=n, p=p) for n in (8, 16, 32, 64) for p in (0.05, 0.25, 0.75)
    ]
    found += [_family("sparse", n < 32, n=n) for n in (8, 16, 32, 64, 256)]
    found += [_family("regular", n < 32, n=n, degree=3) for n in (8, 64, 256)]
    found += [_family("power-law", n < 32, n=n) for n in (16, 256)]
    found += [_family(name, n < 32, n=n) for name in ("path", "ladder") for n in (8, 64, 128)]
    found += [_family("communities", n < 32, n=n, p_within=0.3, p_between=0.02) for n in (16, 64)]
    return found * 4


def _flows() -> list[Maker]:
    shapes = ((6, 12), (10, 30), (20, 100), (50, 200), (200, 1000))
    found = [
        _family("flow", nodes < 50, nodes=nodes, arcs=arcs, high=high)
        for nodes, arcs in shapes
        for high in (1, 10, 10**6, 2**60)
    ]
    found += [
        _family(name, n < 32, n=n) for name in ("path-state", "ladder-state") for n in (8, 64)
    ]
    found += [_family("partly-matched", n < 32, n=n) for n in (8, 32)]
    return found * 4


def _costs() -> list[Maker]:
    found = [
        _family("uniform", n < 16, n=n, costs=costs)
        for n in (4, 8, 16)
        for costs in ((0, 1), (-5, 5), (1, 10**6))
    ]
    found += [
        _family("flow", nodes < 10, nodes=nodes, arcs=arcs, costs=costs)
        for nodes, arcs in ((5, 10), (10, 30), (30, 100))
        for costs in ((0, 1), (1, 10**6))
    ]
    return found * 4


def _drawn(what: str, kind: str, makers: Callable[[], list[Maker]]) -> Judge:
    rows = makers()
    return Judge(
        what,
        kind,
        len(rows),
        lambda number: rows[number][1](np.random.default_rng([STREAM, number])),
        is_quick=lambda number: rows[number][2],
    )


JUDGES: Choices[Judge] = Choices(
    {
        "bipartite-all": Judge(
            f"all {BIPARTITE:,} bipartite graphs of 1 to {SIDE} nodes a side",
            "matching", BIPARTITE, bipartite, BLOCK, bipartite_classes,
        ),
        "flows-all": Judge(
            f"all {FLOWS:,} flow networks of 2 to {NODES} nodes with capacities of 0 to 2",
            "flow", FLOWS, flow, BLOCK, flow_classes,
        ),
        "costs-all": Judge(
            f"all {PRICED:,} bipartite graphs of 1 to {PRICED_SIDE} nodes a side, costs 0 or 1",
            "cost", PRICED, priced, BLOCK,
        ),
        "matchings": _drawn("matchings of `augury generate`", "matching", _matchings),
        "flows": _drawn("flows of `augury generate`, capacities to 2^60", "flow", _flows),
        "costs": _drawn("assignments and flows of `augury generate` with costs", "cost", _costs),
        "hard-matchings": _drawn(
            "the hard matchings of `augury bench flows`",
            "matching", lambda: _hard(HARD_MATCHINGS, (256, 2048, 16384)),
        ),
        "hard-flows": _drawn(
            "the hard flows of `augury bench flows`",
            "flow", lambda: _hard(HARD_FLOWS, (256, 2048, 16384)),
        ),
        "assignments": _drawn(
            "the assignments of `augury bench costs`, dense and sparse",
            "cost",
            lambda: [
                *(row for size in (8, 64, 200) for row in _dense(size)),
                *(row for size in (100, 1000) for row in _one_of(sparse_families, size)),
            ],
        ),
        "cost-flows": _drawn(
            "the flows of least cost of `augury bench costs`",
            "cost",
            lambda: [
                *_one_of(flow_families, 400, ("random, degree 100", "transport")),
                *_one_of(flow_families, 4000),
            ],
        ),
    }
)  # fmt: skip
JUDGES.noun = "judges"


def question(judge: str, number: int) -> Graph:
    """Return the graph of a number.

    >>> question("flows-all", 4)
    FlowNetwork(2 nodes, 1 arc pairs, 0 → 1)
    """
    chosen = JUDGES[judge]
    if not 0 <= number < chosen.count:
        raise InputError(f"{judge} has the questions 0 to {chosen.count - 1}, and not {number}")
    return chosen.make(number)


def fingerprint(graphs: Sequence[Graph]) -> str:
    """Return the start of a SHA-256 digest of the numbers that graphs consist of."""
    digest = hashlib.sha256()
    for graph in graphs:
        for part in _parts(graph):
            digest.update(b"-" if part is None else np.asarray(part, "<i8").tobytes())
            digest.update(b";")
    return digest.hexdigest()[:16]


def _parts(graph: Graph) -> list[Any]:
    """Return the numbers of a graph, always in the same order."""
    if isinstance(graph, FlowNetwork):
        arcs = graph.sender, graph.receiver, graph.capacity
        return [0, graph.num_nodes, *arcs, graph.source, graph.sink]
    if isinstance(graph, CostNetwork):
        arcs = graph.tail, graph.head, graph.capacity, graph.least, graph.costs.to_minimise
        return [1, graph.num_nodes, *arcs, graph.supply, graph.source, graph.sink]
    costs = None if graph.costs is None else graph.costs.to_minimise
    return [2, graph.num_left, graph.num_right, graph.left, graph.right, costs]
