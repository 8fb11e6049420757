"""A DIMACS maximum-flow file becomes a `FlowNetwork`, and back; nodes are called 1, 2, 3, ….

    c any comment
    p max NODES ARCS
    n ID s
    n ID t
    a TAIL HEAD CAPACITY

An assignment problem (`p asn`) becomes a `BipartiteGraph` if the options say to ignore costs:
`n ID` names a left node, `a LEFT RIGHT COST` is an edge. Minimum-cost flows are refused.
"""

from __future__ import annotations

import re
import reprlib
from array import array
from collections.abc import Callable
from typing import IO

import numpy as np

from augury.classical.formats import text
from augury.classical.formats.edge_list import arcs_of, written_arcs
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
    """Read a flow network; `options` may override its source and sink."""
    dimacs, lines = _Dimacs(options), Lines(file, "")
    for line in lines:
        dimacs.read(lines.number, line.split())
    return dimacs.result()


def write_dimacs(graph: Graph, file: IO[bytes]) -> None:
    """Write a flow network; its labels are lost."""
    if isinstance(graph, BipartiteGraph):
        raise InputError("a bipartite graph cannot be written as .max or .dimacs, use .mtx")
    num_arcs = len(arcs_of(graph)[0])
    start = f"p max {graph.num_nodes} {num_arcs}\nn {graph.source + 1} s\nn {graph.sink + 1} t\n"
    file.write(start.encode())
    file.writelines(f"a {u + 1} {v + 1} {c}\n".encode() for u, v, c in written_arcs(graph))


class _Dimacs:
    """A DIMACS file read line by line."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.kinds = KINDS["max"]
        self.size: tuple[int, int] | None = None
        self.left: set[int] = set()
        self.ends: dict[str, int] = {}
        self.tail, self.head, self.capacity = array("i"), array("i"), array("q")

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
        if kind == "min":
            raise LineError(
                line,
                "the costs of a minimum-cost flow (p min) would be ignored, for flows are of "
                "greatest value here, and matchings of greatest cardinality; write it as p max",
            )
        if kind not in KINDS:
            raise LineError(line, f"the problem is {reprlib.repr(kind)}, only 'max' is read")
        if kind == "asn" and not self.options.ignore_costs:
            raise text.ignored_costs("the costs of an assignment problem (p asn)", line)
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

    def left_node(self, line: int, words: list[str]) -> None:
        """Take in an `n` line of an assignment problem."""
        self.left.add(self._number(line, words[1]))

    def edge(self, line: int, words: list[str]) -> None:
        """Take in an `a` line of an assignment problem; the cost is ignored."""
        ends = self._number(line, words[1]), self._number(line, words[2])
        if [end in self.left for end in ends] != [True, False]:
            raise LineError(line, "an arc leads from a node of an n line to one of no n line")
        self.tail.append(ends[0])
        self.head.append(ends[1])

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
        is_graph = self.kinds is KINDS["asn"]
        return self._graph(num_nodes) if is_graph else self._network(num_nodes)

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
        return BipartiteGraph(len(labels[0]), len(labels[1]), *ends, *labels)


Kinds = dict[str, tuple[Callable[[_Dimacs, int, list[str]], None], int, str]]
KINDS: dict[str, Kinds] = {
    "max": {
        "p": (_Dimacs.problem, 4, "p max NODES ARCS"),
        "n": (_Dimacs.node, 3, "n ID s|t"),
        "a": (_Dimacs.arc, 4, "a TAIL HEAD CAPACITY"),
    },
    "asn": {
        "p": (_Dimacs.problem, 4, "p asn NODES ARCS"),
        "n": (_Dimacs.left_node, 2, "n ID"),
        "a": (_Dimacs.edge, 4, "a LEFT RIGHT COST"),
    },
}
"""By kind of problem and of line: what reads it, how many words it has, and which."""
