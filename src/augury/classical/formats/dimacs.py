"""A DIMACS file becomes a flow network or a `BipartiteGraph`; nodes are called 1, 2, 3, ….

    c any comment

    p max NODES ARCS            p min NODES ARCS                    p asn NODES ARCS
    n ID s                      n ID SUPPLY                         n ID
    n ID t
    a TAIL HEAD CAPACITY        a TAIL HEAD LOWER CAPACITY COST     a LEFT RIGHT COST

A maximum flow becomes a `FlowNetwork`, a flow of least cost a `CostNetwork`, and an assignment a
`BipartiteGraph` with costs, its left nodes in `n` lines. DIMACS has no word for a *maximum* flow of
least cost: a `p min` whose `n` lines name `s` and `t`, as in `p max`, is one here.
"""

from __future__ import annotations

import math
import re
import reprlib
from array import array
from collections.abc import Callable
from typing import IO, Any, cast

import numpy as np

from augury.classical.cost_network import CostNetwork
from augury.classical.costs import Costs
from augury.classical.formats import text
from augury.classical.formats.costs import (
    NO_COSTS_TO_IGNORE,
    arc_lines,
    cost_network,
    cost_of,
    edge_costs,
    ignored_costs,
)
from augury.classical.formats.edge_writer import arcs_of, written_arcs
from augury.classical.formats.text import Lines, ReadOptions
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork, Graph
from augury.errors import InputError
from augury.files import LineError

LACKING = {
    "source": "the line 'n ID s' that names the source is missing",
    "sink": "the line 'n ID t' that names the sink is missing",
}


def read_dimacs(file: IO[bytes], options: ReadOptions) -> Graph:
    """Read a file; `options` may override the source and sink of a flow network."""
    dimacs, lines = _Dimacs(options), Lines(file, "")
    for line in lines:
        dimacs.read(lines.number, line.split())
    return dimacs.result()


def write_dimacs(graph: Graph, file: IO[bytes]) -> None:
    """Write a flow network, or a bipartite graph with costs; the labels are lost."""
    costs = getattr(graph, "costs", None)
    if costs is not None and costs.maximise:
        raise InputError("a DIMACS file asks for the least cost, not the greatest: use .json")
    if isinstance(graph, CostNetwork):
        return _write_min(graph, file)
    if isinstance(graph, BipartiteGraph):
        return _write_assignment(graph, file)
    num_arcs = len(arcs_of(graph)[0])
    start = f"p max {graph.num_nodes} {num_arcs}\nn {graph.source + 1} s\nn {graph.sink + 1} t\n"
    file.write(start.encode())
    file.writelines(f"a {u + 1} {v + 1} {c}\n".encode() for u, v, c in written_arcs(graph))


def _write_min(network: CostNetwork, file: IO[bytes]) -> None:
    file.write(f"p min {network.num_nodes} {len(network.tail)}\n".encode())
    if network.supply is None:
        nodes = [(network.source, "s"), (network.sink, "t")]
    else:
        nodes = [(node, due) for node, due in enumerate(network.supply.tolist()) if due]
    file.writelines(f"n {node + 1} {due}\n".encode() for node, due in cast("Any", nodes))
    for u, v, low, capacity, cost in arc_lines(network):
        file.write(f"a {u + 1} {v + 1} {low} {capacity} {cost}\n".encode())


def _write_assignment(graph: BipartiteGraph, file: IO[bytes]) -> None:
    if graph.costs is None:
        raise InputError("a DIMACS file holds no bipartite graph without costs: use .mtx")
    num_left = graph.num_left
    file.write(f"p asn {num_left + graph.num_right} {graph.num_edges}\n".encode())
    file.writelines(f"n {node + 1}\n".encode() for node in range(num_left))
    for (u, v), cost in zip(graph.pairs(), edge_costs(graph.costs), strict=True):
        file.write(f"a {u + 1} {num_left + v + 1} {cost}\n".encode())


class _Dimacs:
    """A DIMACS file read line by line."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.kinds = KINDS["max"]
        self.size: tuple[int, int] | None = None
        self.left: set[int] = set()
        self.ends: dict[str, int] = {}
        self.supply: dict[int, int] = {}
        self.tail, self.head, self.capacity = array("i"), array("i"), array("q")
        self.lower = array("q")
        self.cost: list[int | float] = []

    def read(self, line: int, words: list[str]) -> None:
        """Take in one line."""
        if words[0] == "c":
            return
        action, num_words, form = self.kinds.get(words[0], (None, 0, ""))
        if action is None:
            raise LineError(line, f"a line starts with c, p, n or a, not {reprlib.repr(words[0])}")
        if len(words) != num_words:
            raise LineError(line, f"expected '{form}', not {len(words)} words")
        action(self, line, words)

    def problem(self, line: int, words: list[str]) -> None:
        """Take in the `p` line."""
        if self.size is not None:
            raise LineError(line, "this is a second p line")
        self._take_kind(line, words[1])
        if not all(re.fullmatch("[0-9]{1,18}", word) for word in words[2:]):
            raise LineError(line, "the numbers of nodes and arcs must be whole numbers")
        self.size = int(words[2]), int(words[3])
        if self.size[0] > 2**31 - 1:
            raise LineError(line, f"{self.size[0]} nodes are more than fit in 32 bits")

    def _take_kind(self, line: int, kind: str) -> None:
        if kind not in KINDS:
            known = "'max', 'min' and 'asn' are read"
            raise LineError(line, f"the problem is {reprlib.repr(kind)}, only {known}")
        if kind == "min" and self.options.ignore_costs:
            raise LineError(line, NO_COSTS_TO_IGNORE)
        if kind != "max" and self.options.costs is False and not self.options.ignore_costs:
            raise ignored_costs(f"the costs of this problem (p {kind})", line)
        if kind == "max" and self.options.costs and not self.options.ignore_costs:
            raise LineError(line, "a maximum flow (p max) has no costs: write it as p min")
        self.kinds = KINDS[kind]

    def node(self, line: int, words: list[str]) -> None:
        """Take in an `n` line."""
        if words[2] not in ("s", "t"):
            raise LineError(line, f"a node is s or t, not {reprlib.repr(words[2])}")
        end = "source" if words[2] == "s" else "sink"
        if end in self.ends:
            raise LineError(line, f"this is a second {end}")
        self.ends[end] = self._number(line, words[1])

    def arc(self, line: int, words: list[str]) -> None:
        """Take in an `a` line."""
        self.tail.append(self._number(line, words[1]))
        self.head.append(self._number(line, words[2]))
        self.capacity.append(text.amount_of(words[3], line))

    def supply_node(self, line: int, words: list[str]) -> None:
        """Take in an `n` line of a flow of least cost."""
        if words[2] in ("s", "t"):
            self.node(line, words)
        else:
            number = self._number(line, words[1])
            if number in self.supply:
                raise LineError(line, f"node {words[1]} has two supplies")
            self.supply[number] = text.amount_of(words[2], line, "supply", is_signed=True)
        if self.ends and self.supply:
            raise LineError(line, "there are supplies, or a source and a sink, not both")

    def cost_arc(self, line: int, words: list[str]) -> None:
        """Take in an `a` line of a flow of least cost."""
        self.arc(line, [*words[:3], words[4]])
        self.lower.append(text.amount_of(words[3], line, "lower bound"))
        self._cost(line, words[5])

    def _cost(self, line: int, word: str) -> None:
        cost = cost_of(word, line)
        if not math.isfinite(cost):
            raise LineError(line, f"the cost is {word}: leave the arc out")
        self.cost.append(cost)

    def left_node(self, line: int, words: list[str]) -> None:
        """Take in an `n` line of an assignment problem."""
        self.left.add(self._number(line, words[1]))

    def edge(self, line: int, words: list[str]) -> None:
        """Take in an `a` line of an assignment problem."""
        ends = self._number(line, words[1]), self._number(line, words[2])
        if [end in self.left for end in ends] != [True, False]:
            raise LineError(line, "an arc leads from a node of an n line to one of no n line")
        self.tail.append(ends[0])
        self.head.append(ends[1])
        if not self.options.ignore_costs:
            self._cost(line, words[3])

    def _number(self, line: int, word: str) -> int:
        if self.size is None:
            raise LineError(line, "the line 'p max NODES ARCS' must come first")
        if word.isdecimal() and word.isascii() and len(word) <= 18:
            node = int(word)
            if 1 <= node <= self.size[0]:
                return node - 1
        told = reprlib.repr(word)[1:-1]
        raise LineError(line, f"{told} is not a node, they are 1 to {self.size[0]}")

    def result(self) -> Graph:
        """Return the flow network or graph once all lines are read."""
        if self.size is None:
            raise InputError("the line 'p max NODES ARCS' is missing")
        num_nodes, num_arcs = self.size
        if num_arcs != len(self.tail):
            raise InputError(f"the p line announces {num_arcs} arcs, but {len(self.tail)} follow")
        text.refuse_claim(num_nodes, num_arcs, "nodes")
        if self.kinds is KINDS["min"]:
            return self._cost_network(num_nodes)
        is_graph = self.kinds is KINDS["asn"]
        return self._graph(num_nodes) if is_graph else self._network(num_nodes)

    def _cost_network(self, num_nodes: int) -> CostNetwork:
        labels, options = range(1, num_nodes + 1), self.options
        arcs = np.asarray(self.tail), np.asarray(self.head), np.asarray(self.capacity)
        lower = np.asarray(self.lower) if any(self.lower) else None
        has_ends = bool(self.ends) or (not self.supply and options.source is not None)
        ends = text.ends_of(labels, self.ends, options, LACKING) if has_ends else None
        supply = None if has_ends else self.supply
        return cost_network(labels, arcs, self.cost, options, lower=lower, supply=supply, ends=ends)

    def _network(self, num_nodes: int) -> FlowNetwork:
        labels = range(1, num_nodes + 1)
        ends = text.ends_of(labels, self.ends, self.options, LACKING)
        arcs = (np.asarray(column) for column in (self.tail, self.head, self.capacity))
        return FlowNetwork.from_arcs(num_nodes, *arcs, **ends, labels=labels)

    def _graph(self, num_nodes: int) -> BipartiteGraph:
        is_left = np.zeros(num_nodes, np.bool_)
        is_left[list(self.left)] = True
        sides = np.flatnonzero(is_left), np.flatnonzero(~is_left)
        ends = np.searchsorted(sides[0], self.tail), np.searchsorted(sides[1], self.head)
        labels = [(side + 1).tolist() for side in sides]
        maximise = bool(self.options.maximise)
        costs = None
        if not self.options.ignore_costs:
            costs = Costs.of(self.cost, num_nodes + 2, maximise)
        return BipartiteGraph(len(labels[0]), len(labels[1]), *ends, *labels, costs=costs)


Kinds = dict[str, tuple[Callable[[_Dimacs, int, list[str]], None], int, str]]
KINDS: dict[str, Kinds] = {
    "max": {
        "p": (_Dimacs.problem, 4, "p max NODES ARCS"),
        "n": (_Dimacs.node, 3, "n ID s|t"),
        "a": (_Dimacs.arc, 4, "a TAIL HEAD CAPACITY"),
    },
    "min": {
        "p": (_Dimacs.problem, 4, "p min NODES ARCS"),
        "n": (_Dimacs.supply_node, 3, "n ID SUPPLY"),
        "a": (_Dimacs.cost_arc, 6, "a TAIL HEAD LOWER CAPACITY COST"),
    },
    "asn": {
        "p": (_Dimacs.problem, 4, "p asn NODES ARCS"),
        "n": (_Dimacs.left_node, 2, "n ID"),
        "a": (_Dimacs.edge, 4, "a LEFT RIGHT COST"),
    },
}
"""By kind of problem and of line: what reads it, how many words it has, and which."""
