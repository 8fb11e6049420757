"""Random answers with their certificates, for the checkers that are extracted from `proof/`.

    python tests/checkers.py COUNT

A case is a line for `proof/checkers`, and what the Python code says: is the answer legal, and is it
accepted with this certificate? Answers are right, wrong, or not legal; so are the certificates.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from augury.algorithms.executor import CellExecutor
from augury.classical.batch import Batch
from augury.classical.certificate import Certificate, certify_flow, certify_pairs, mates_of
from augury.classical.cost_network import CostNetwork
from augury.classical.ford_fulkerson import ford_fulkerson
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.prices import (
    Prices,
    _as_prices,
    _checked_flow,
    _checked_matching,
    certify_cost,
)

PROGRAM = Path(__file__).parents[1] / "proof" / "checkers"

Rng = np.random.Generator


class Case(NamedTuple):
    line: str
    legal: bool
    accepted: bool

    @property
    def expected(self) -> str:
        return f"{self.legal:d}{self.accepted:d}"


def line(word: str, *parts: Any) -> str:
    """Join a word and nested lists of numbers."""
    return " ".join([word, *map(str, _flat(parts))])


def _flat(parts: Iterable[Any]) -> Iterator[int]:
    for part in parts:
        if isinstance(part, (list, tuple)):
            yield from _flat(part)
        else:
            yield int(part)


def counted(rows: list[Any]) -> list[Any]:
    return [len(rows), *rows]


def bipartite(rng: Rng, costs: bool = False) -> BipartiteGraph:
    shape = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    left, right = np.nonzero(rng.random(shape) < rng.choice([0.2, 0.5, 0.9]))
    graph = BipartiteGraph(*shape, left, right)
    if not costs:
        return graph
    high = int(rng.choice([1, 3, 1000]))
    matrix = np.full(shape, np.inf)
    matrix[left, right] = rng.integers(-high, high + 1, len(left))
    return BipartiteGraph.from_costs(matrix)


def pairs_of(graph: BipartiteGraph, rng: Rng) -> list[list[int]]:
    """Match greedily along the edges in random order, improve it sometimes, damage it sometimes."""
    edges = list(zip(graph.left.tolist(), graph.right.tolist(), strict=True))
    mate: dict[int, int] = {}
    for at in rng.permutation(len(edges)).tolist():
        u, v = edges[at]
        if u not in mate and v not in mate.values():
            mate[u] = v
    if rng.random() < 0.7:
        for u in range(graph.num_left):
            _augment(edges, mate, u, set())
    pairs = [[u, v] for u, v in mate.items()]
    harm = rng.random()
    if pairs and harm < 0.1:
        pairs.pop()
    elif edges and harm < 0.2:
        pairs.append(list(edges[int(rng.integers(len(edges)))]))
    elif harm < 0.3:
        pairs.append([int(rng.integers(-1, graph.num_left + 1)), int(rng.integers(0, 7))])
    return pairs


def _augment(edges: list[tuple[int, int]], mate: dict[int, int], u: int, seen: set[int]) -> bool:
    """Give a left node a mate by an alternating path, unless it has one."""
    if u in mate and not seen:
        return False
    for left, v in edges:
        if left == u and v not in seen:
            seen.add(v)
            other = next((x for x, y in mate.items() if y == v), None)
            if other is None or _augment(edges, mate, other, seen):
                mate[u] = v
                return True
    return False


def matching(rng: Rng) -> Iterator[Case]:
    graph = bipartite(rng)
    pairs = pairs_of(graph, rng)
    said = certify_pairs(graph, np.array(pairs, np.int64).reshape(-1, 2))
    proof: Any = said.proof
    left, right = (list(proof.left), list(proof.right)) if proof else ([], [])
    edges = np.stack([graph.left, graph.right], 1).tolist()
    text = line("matching", counted(edges), counted(pairs), counted(left), counted(right))
    yield Case(text, said.is_legal, said.is_maximum)


Arc = list[int]
"""Sender, receiver, capacity, flow and cost."""


def paired(rows: Iterable[tuple[int, int, int, int, int]]) -> list[Arc]:
    """Make pairs of arcs of (tail, head, least, most, cost), without flow."""
    return [
        arc
        for u, v, least, most, cost in rows
        for arc in ([u, v, most, 0, cost], [v, u, -least, 0, -cost])
    ]


def send(arcs: list[Arc], nodes: int, rng: Rng, cheaply: bool) -> None:
    """Push flow along a few paths from node 0 to the last one, cheapest first or at random."""
    for _ in range(int(rng.choice([0, 1, 2, 20]))):
        far: list[float] = [np.inf] * nodes
        by = [-1] * nodes
        far[0] = 0
        for _ in range(nodes):
            for at in rng.permutation(len(arcs)).tolist():
                u, v, most, flow, cost = arcs[at]
                step = far[u] + (cost if cheaply else 1)
                if flow < most and v != 0 and step < far[v]:
                    far[v], by[v] = step, at
        path, node = list[int](), nodes - 1
        while by[node] >= 0 and len(path) < nodes:
            path.append(by[node])
            node = arcs[by[node]][0]
        if node != 0 or not path:
            return
        amount = min(arcs[at][2] - arcs[at][3] for at in path)
        for at in path:
            arcs[at][3] += amount
            arcs[at ^ 1][3] -= amount


def damage(arcs: list[Arc], rng: Rng) -> None:
    """Change what a pair carries, or one of its arcs alone."""
    at, by = int(rng.integers(len(arcs))), int(rng.choice([-1, 1, 3]))
    arcs[at][3] += by
    if rng.random() < 0.8:
        arcs[at ^ 1][3] -= by


def flow(rng: Rng) -> Iterator[Case]:
    nodes, count = int(rng.integers(2, 7)), int(rng.integers(1, 12))
    tail, head = rng.integers(0, nodes, (2, count))
    capacity = rng.integers(0, int(rng.choice([2, 6])), count)
    network = FlowNetwork.from_arcs(nodes, tail, head, capacity, source=0, sink=nodes - 1)
    columns = network.sender, network.receiver, network.capacity
    arcs = [[*arc, 0, 0] for arc in zip(*(column.tolist() for column in columns), strict=True)]
    send(arcs, nodes, rng, cheaply=False)
    if arcs and rng.random() < 0.2:
        damage(arcs, rng)
    said = certify_flow(network, np.array([arc[3] for arc in arcs], np.int64))
    proof: Any = said.proof
    inside = set(proof.source_side) if proof else {0}
    side = [node in inside for node in range(nodes)]
    text = line("flow", nodes, len(arcs) // 2, 0, nodes - 1, arcs, side)
    yield Case(text, said.is_legal, said.is_maximum)


SEVERAL = 8
"""Prices for each answer with costs."""


def priced(graph: Any, found: Any, own: list[int], rng: Rng) -> Iterator[tuple[list[int], bool]]:
    """Yield prices, and whether they prove the least cost of a legal answer.

    The first ones go all the way through `certify_cost`, the others only through its check.
    """
    first = certify_cost(graph, found, own)
    yield own, isinstance(first.proof, Prices) and not first.remark
    checked: Any = _checked_flow if isinstance(graph, CostNetwork) else _checked_matching
    residual = checked(graph, found)[1]
    for _ in range(SEVERAL - 1):
        others = changed(own, rng)
        yield others, residual is not None and _as_prices(others, residual) is not None


def changed(prices: list[int], rng: Rng) -> list[int]:
    """Change a few prices, or all of them."""
    if rng.random() < 0.1:
        return rng.integers(-3, 4, len(prices)).tolist()
    by = rng.choice([-1, 1, 5], len(prices)) * (rng.random(len(prices)) < 0.2)
    return (np.array(prices) + by).tolist()


def prices(rng: Rng) -> Iterator[Case]:
    nodes, count = int(rng.integers(2, 7)), int(rng.integers(1, 12))
    tail, head = rng.integers(0, nodes, (2, count))
    least = int(rng.choice([0, -1, -5]))
    capacity, cost = rng.integers(0, 5, count), rng.integers(least, 6, count)
    network = CostNetwork.from_arcs(nodes, tail, head, capacity, cost, source=0, sink=nodes - 1)
    columns = (column.tolist() for column in (tail, head, 0 * capacity, capacity, cost))
    arcs = paired(zip(*columns, strict=True))
    send(arcs, nodes, rng, cheaply=least == 0 or rng.random() < 0.5)
    if rng.random() < 0.1:
        damage(arcs, rng)
    is_skew = all(arcs[at][3] == -arcs[at + 1][3] for at in range(0, len(arcs), 2))
    found = np.array([arc[3] for arc in arcs[::2]], np.int64)
    said = certify_cost(network, found)
    own = [0] * nodes
    if isinstance(said.proof, Prices):
        own = [price for _, price in said.proof.prices["nodes"]]
    is_legal = said.is_legal and is_skew
    start = line("prices", nodes, count, 0, nodes - 1, arcs)
    for price, proves in priced(network, found, own, rng):
        yield Case(line(start, price), is_legal, is_legal and proves)


def assignment(rng: Rng) -> Iterator[Case]:
    graph = bipartite(rng, costs=True)
    pairs = pairs_of(graph, rng)
    if rng.random() < 0.5:
        pairs = cheapest(graph)
    found = mates_of(graph, np.array(pairs, np.int64).reshape(-1, 2))
    if isinstance(found, Certificate):  # which says why these pairs are no matching
        said, found = found, np.full(graph.num_left, -1, np.int32)
    else:
        said = certify_cost(graph, found)
    own = [0] * (graph.num_left + graph.num_right + 2)
    if isinstance(said.proof, Prices):
        told = said.proof.prices
        own = [told["source"], *told["left"], *told["right"], told["sink"]]
    assert graph.costs is not None
    columns = graph.left, graph.right, graph.costs.amount
    edges = [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    start = line("assignment", counted(edges), counted(pairs))
    for price, proves in priced(graph, found, own, rng):
        left, right = price[1 : 1 + graph.num_left], price[1 + graph.num_left : -1]
        text = line(start, price[0], counted(left), counted(right), price[-1])
        yield Case(text, said.is_legal, said.is_legal and proves)


def cheapest(graph: BipartiteGraph) -> list[list[int]]:
    """Return a maximum matching of least cost, by SciPy."""
    from scipy.optimize import linear_sum_assignment

    assert graph.costs is not None
    matrix = np.full((graph.num_left, graph.num_right), 10.0**6)
    matrix[graph.left, graph.right] = graph.costs.amount
    rows, columns = linear_sum_assignment(matrix)
    taken = matrix[rows, columns] < 10.0**6
    return np.stack([rows[taken], columns[taken]], 1).tolist()


class Recorder:
    """Keeps what an executor's search leaves after each step."""

    def __init__(self) -> None:
        self.steps: list[list[int]] = []

    def searched(self, values: Any, arc: Any, belief: Any, goes_on: float, /) -> None:
        self.steps.append([*values.astype(int).tolist(), *arc.tolist()])

    def reached(self, values: Any, goes_on: float, /) -> None:
        raise AssertionError("the search itself knows what is reached")

    def compared(self, belief: Any, /) -> None:
        pass


def rounds(network: FlowNetwork, decider: Any, seed: int) -> Iterator[tuple[str, str]]:
    """Run a network to its end, one path a round; yield each round and what came of it."""
    recorder = Recorder()
    executor = CellExecutor(decider, observer=recorder)
    rngs = [np.random.default_rng(seed)]
    for round_ in ford_fulkerson(Batch.of([network]), executor.subroutines(), rngs):
        columns = (
            network.sender,
            network.receiver,
            network.capacity,
            round_.residual,
            round_.weights,
        )
        arcs = [list(arc) for arc in zip(*(column.tolist() for column in columns), strict=True)]
        ends = network.num_nodes, network.num_arcs // 2, network.source, network.sink
        text = line("round", decider.bits, *ends, arcs, counted(recorder.steps))
        recorder.steps = []
        came = "done"
        if len(round_.paths.graph):
            came = " ".join(
                map(str, [*round_.paths.arcs, ":", *round_.bottleneck, ":", *round_.after])
            )
        yield text, came


KINDS: tuple[Callable[[Rng], Iterator[Case]], ...] = (matching, flow, prices, assignment)


def cases(count: int, seed: int = 0) -> Iterator[Case]:
    """Yield that many cases, the kinds of answer in turn."""
    rng = np.random.default_rng(seed)
    endless = (case for kind in cycle(KINDS) for case in kind(rng))
    return islice(endless, count)


def answers(lines: Iterable[str]) -> list[str]:
    """Ask the extracted checkers."""
    text = "\n".join(chain(lines, [""]))
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def compared(count: int, seed: int = 0) -> dict[str, int]:
    """Compare so many cases; return how many were legal and accepted, as "00", "10" and "11"."""
    found = list(cases(count, seed))
    said = answers(case.line for case in found)
    wrong = [case for case, own in zip(found, said, strict=True) if case.expected != own]
    assert wrong == []
    return {kind: said.count(kind) for kind in sorted(set(said))}


if __name__ == "__main__":
    total, step = int(sys.argv[1]), 10_000
    counts: dict[str, int] = {}
    for start in range(0, total, step):
        for kind, number in compared(min(step, total - start), seed=start).items():
            counts[kind] = counts.get(kind, 0) + number
    print(f"{total:,} cases, all equal: {counts}")
