"""Bipartite graphs side by side become one `BipartiteBatch`, each a graph again on request.

Rows are the left nodes of all graphs, one graph after the other. Row r has the columns
`indices[indptr[r] : indptr[r + 1]]`, numbered within their own graph, sorted and free of
duplicates: the edges that each `BipartiteGraph` has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from augury.classical.arrays import Labels, Numbers, WideArray, starts_run
from augury.classical.batch import starts
from augury.classical.graph import BipartiteGraph


@dataclass(frozen=True, eq=False)
class BipartiteBatch(Sequence[BipartiteGraph]):
    """The edges of many bipartite graphs."""

    left: WideArray
    """(graph + 1,): where the left nodes of each graph start, and the end of all."""
    right: WideArray
    """(graph + 1,): the same for right nodes."""
    indptr: WideArray
    """(row + 1,)"""
    indices: Numbers
    """(edge,)"""
    names: tuple[Numbers, Numbers] | None = None
    """(left,), (right,): what the nodes of each graph are called, if not 0, 1, 2, …"""
    given: Sequence[BipartiteGraph] | None = None
    """The graphs themselves, if they existed before the batch."""

    @classmethod
    def of(cls, graphs: Sequence[BipartiteGraph]) -> BipartiteBatch:
        """Lay graphs side by side."""
        left = starts([graph.num_left for graph in graphs])
        right = starts([graph.num_right for graph in graphs])
        if len(graphs) == 1:  # one large graph is not copied
            return cls(left, right, graphs[0].starts, graphs[0].right, given=graphs)
        none = np.zeros(0, np.int32)
        ends = [graph.left for graph in graphs]
        row = np.concatenate([none, *ends]) + np.repeat(left[:-1], list(map(len, ends)))
        column = np.concatenate([none, *(graph.right for graph in graphs)])
        indptr = starts(np.bincount(row, minlength=int(left[-1])))
        return cls(left, right, indptr, column.astype(np.int32, copy=False), given=graphs)

    @classmethod
    def of_edges(
        cls,
        left: WideArray,
        right: WideArray,
        row: WideArray,
        column: Numbers,
        names: tuple[Numbers, Numbers] | None = None,
    ) -> BipartiteBatch:
        """Sort the edges of all graphs and drop duplicates; `left` and `right` are starts.

        `row` is counted across all graphs, `column` within its own.
        """
        width = int(np.diff(right).max(initial=1))
        key = row * width + column
        if not (key[1:] > key[:-1]).all():
            key.sort()
            row, column = np.divmod(key[starts_run(key)], width)
        indptr = starts(np.bincount(row, minlength=int(left[-1])))
        return cls(left, right, indptr, column.astype(np.int32), names)

    @property
    def columns(self) -> Numbers:
        """(edge,): the column of each edge, counted across all graphs."""
        if len(self) == 1:
            return self.indices
        return self.indices + np.repeat(self.right[:-1], np.diff(self.indptr[self.left]))

    @property
    def row(self) -> WideArray:
        """(edge,): the row of each edge, counted across all graphs."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    @property
    def num_arcs(self) -> WideArray:
        """(graph,): the arcs of each as a flow network; see `BipartiteGraph.num_arcs`."""
        ends = self.left + self.indptr[self.left] + self.right
        return 2 * np.diff(ends)

    def labels(self, number: int) -> tuple[Labels, Labels]:
        """Return what the left and the right nodes of a graph are called."""
        if self.given is not None:
            graph = self.given[number]
            sides = range(graph.num_left), range(graph.num_right)
            return graph.left_labels or sides[0], graph.right_labels or sides[1]
        low, high = self.left[number : number + 2].tolist()
        first, last = self.right[number : number + 2].tolist()
        if self.names is None:
            return range(high - low), range(last - first)
        return self.names[0][low:high].tolist(), self.names[1][first:last].tolist()

    def part(self, first: int, end: int) -> BipartiteBatch:
        """Return some of the graphs."""
        left, right = self.left[first : end + 1], self.right[first : end + 1]
        indptr = self.indptr[left[0] : left[-1] + 1]
        names = self.names
        if names is not None:
            names = names[0][left[0] : left[-1]], names[1][right[0] : right[-1]]
        given = None if self.given is None else self.given[first:end]
        edges = indptr - indptr[0], self.indices[indptr[0] : indptr[-1]]
        return BipartiteBatch(left - left[0], right - right[0], *edges, names, given)

    def __len__(self) -> int:
        return len(self.left) - 1

    @overload
    def __getitem__(self, number: int) -> BipartiteGraph: ...
    @overload
    def __getitem__(self, number: slice) -> list[BipartiteGraph]: ...
    def __getitem__(self, number: int | slice) -> BipartiteGraph | list[BipartiteGraph]:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(len(self)))]
        if self.given is not None:
            return self.given[number]
        number = range(len(self))[number]
        low, high = int(self.left[number]), int(self.left[number + 1])
        indptr = self.indptr[low : high + 1]
        row = np.repeat(np.arange(high - low), np.diff(indptr))
        labels = self.labels(number)
        edges = row, self.indices[indptr[0] : indptr[-1]]
        own = () if self.names is None else labels
        return BipartiteGraph(high - low, len(labels[1]), *edges, *own)

    def __iter__(self) -> Iterator[BipartiteGraph]:
        return (self[k] for k in range(len(self)))
