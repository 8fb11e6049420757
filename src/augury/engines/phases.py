"""A sparse graph becomes a maximum matching: shortest augmenting paths, guided by distances.

The phases of Hopcroft and Karp (1973) with the distances of Alt, Blum, Mehlhorn and Paul (1991),
which are kept from path to path and rarely computed afresh. Every path that is taken is a shortest
augmenting path at its moment:

- An edge between two free nodes is one. The start takes only these, while there are any.
- Then `dist[v]` is a lower bound on how many further rows a path needs from column v to a free
  column: 0 for a free one, or else at most 1 + the least bound of a column beside its row. A free
  row whose least bound is `level` is searched only when no free row has a lower one. A search goes
  from a column of bound t to one of bound t − 1, so a path has `level` + 1 rows, and no augmenting
  path has fewer.

So there are weights with which a proven network takes the same paths, one in a round: 1 on the
path, more elsewhere. The tests replay them.

These are plain functions of plain loops. `lists` compiles them for arrays; called with lists of
numbers, as `small` does, they decide the same and need neither numba nor NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

FAR = 2**31 - 1
"""The bound of a column from which no free column can be reached."""
FEW = 64
"""A start that leaves at most one row in 64 is kept, if short paths match half of those."""
SHARE = 4
"""Bounds are computed afresh once searches have taken a quarter of the steps that this takes."""
HALF = 32
"""Bits of either half of `Lists.key`."""


class Lists(NamedTuple):
    """A graph as lists, and the state of its nodes."""

    indptr: Any
    """(row + 1,): where the columns of each row start."""
    indices: Any
    """(edge,): the columns."""
    mates: Any
    """(row,): its column or −1."""
    mate_of: Any
    """(column,): its row or −1."""
    start: Any
    """(column + 2,): where the rows of each column start; see `transpose`."""
    rows: Any
    """(edge,): the rows, in order."""
    key: Any
    """(column,): the number of its free rows in the upper half, their XOR in the lower one."""
    dist: Any
    """(column,): see above; FAR if no free column is in reach."""
    is_seen: Any
    """(row,): whether its bound is known."""
    cursor: Any
    """(row,): the first edge that may lead on; those before it do not."""
    queue: Any
    """(column,): columns to be visited."""
    head: Any
    """(row + 1,): the first free row of each bound, or −1."""
    after: Any
    """(row,): the next free row of the same bound, or −1."""
    path: Any
    """(row,): the rows of the path being searched."""

    @classmethod
    def of(cls, edges: Any, sizes: tuple[int, int, int], empty: Callable[..., Any]) -> Lists:
        """Allocate by `empty(size, type)` for (rows, columns, edges); nothing need be filled."""
        num_left, num_right, num_edges = sizes
        return cls(
            *edges,
            mates=empty(num_left, "int32"),
            mate_of=empty(num_right, "int32"),
            start=empty(num_right + 2, "int64"),
            rows=empty(num_edges, "int32"),
            key=empty(num_right, "int64"),
            dist=empty(num_right, "int32"),
            is_seen=empty(num_left, "bool"),
            cursor=empty(num_left, "int64"),
            queue=empty(num_right, "int32"),
            head=empty(num_left + 1, "int32"),
            after=empty(num_left, "int32"),
            path=empty(num_left, "int32"),
        )


def match_phases(graph: Lists, first: int) -> int:
    """Match one graph, whose columns are numbered from `first` on in `indices`, else from 0 on.

    Return the number of phases: how many different lengths the paths had.
    """
    num_left, num_right = len(graph.mates), len(graph.mate_of)
    num_rows, num_columns = _match_neighbours(graph, first)
    fewest, lengths = min(num_rows, num_columns), (min(num_right - num_columns, 1), 0)
    is_close = fewest * FEW <= num_left
    if is_close and fewest > 0:
        before = num_rows
        num_rows, lengths = _take_paths(graph, first, _guess(graph), lengths)
        is_close = before - num_rows >= fewest // 2
    if not is_close:
        num_rows, num_columns = _match_last_chances(graph, first)
        lengths = min(num_right - num_columns, 1), 0
    if min(num_rows, num_columns) == 0:
        return lengths[0]
    transpose(graph, first)
    while num_rows > 0:
        num_rows, lengths = _take_paths(graph, first, _measure(graph), lengths)
    return lengths[0]


def _match_neighbours(graph: Lists, first: int) -> Any:
    """Give each row its first free column; return how many rows with edges and columns are left."""
    num_rows, num_columns = 0, len(graph.mate_of)
    for v in range(num_columns):
        graph.mate_of[v] = -1
    for u in range(len(graph.mates)):
        graph.mates[u] = -1
        begin, end = graph.indptr[u], graph.indptr[u + 1]
        num_rows += end > begin
        for k in range(begin, end):
            v = graph.indices[k] - first
            if graph.mate_of[v] < 0:
                graph.mates[u] = v
                graph.mate_of[v] = u
                num_rows -= 1
                num_columns -= 1
                break
    return num_rows, num_columns


def _match_last_chances(graph: Lists, first: int) -> Any:
    """Start again: a column with one free row left gets it at once (Karp and Sipser, 1981).

    While there is none, the next row gets the free column with the fewest free rows.
    """
    num_rows, num_columns = 0, len(graph.mate_of)
    waiting = _count_rows(graph, first)
    u, following = 0, 0
    while waiting > 0 or following < len(graph.mates):
        if waiting > 0:
            waiting -= 1
            v = graph.queue[waiting]
            if graph.key[v] >> HALF != 1:
                continue
            u = graph.key[v] & (1 << HALF) - 1
        else:
            u, v = following, _rarest(graph, first, following)
            following += 1
            if v < 0:
                num_rows += graph.mates[u] < 0 and graph.indptr[u] < graph.indptr[u + 1]
                continue
        graph.mates[u] = v
        graph.mate_of[v] = u
        graph.key[v] = 0
        num_columns -= 1
        for k in range(graph.indptr[u], graph.indptr[u + 1]):
            v = graph.indices[k] - first
            if graph.key[v] > 0:
                graph.key[v] = (graph.key[v] ^ u) - (1 << HALF)
                if graph.key[v] >> HALF == 1:
                    graph.queue[waiting] = v
                    waiting += 1
    return num_rows, num_columns


def _rarest(graph: Lists, first: int, u: int) -> int:
    """Return the free column with the fewest free rows of a free row; −1 if there is none."""
    found, fewest = -1, 1 << 62
    if graph.mates[u] < 0:
        for k in range(graph.indptr[u], graph.indptr[u + 1]):
            v = graph.indices[k] - first
            if 0 < graph.key[v] < fewest:
                found, fewest = v, graph.key[v]
    return found


def _count_rows(graph: Lists, first: int) -> int:
    """Free everything and fill the keys; return how many columns with one row are in the queue."""
    for v in range(len(graph.mate_of)):
        graph.mate_of[v] = -1
        graph.key[v] = 0
    for u in range(len(graph.mates)):
        graph.mates[u] = -1
        for k in range(graph.indptr[u], graph.indptr[u + 1]):
            v = graph.indices[k] - first
            graph.key[v] = (graph.key[v] ^ u) + (1 << HALF)
    waiting = 0
    for v in range(len(graph.mate_of)):
        if graph.key[v] >> HALF == 1:
            graph.queue[waiting] = v
            waiting += 1
    return waiting


def transpose(graph: Lists, first: int) -> None:
    """List the rows of each column."""
    for v in range(len(graph.start)):
        graph.start[v] = 0
    for k in range(graph.indptr[0], graph.indptr[len(graph.mates)]):
        graph.start[graph.indices[k] - first + 2] += 1
    for v in range(2, len(graph.start)):
        graph.start[v] += graph.start[v - 1]
    # Now start[v + 1] is where column v starts; filling the column moves it to its end.
    for u in range(len(graph.mates)):
        for k in range(graph.indptr[u], graph.indptr[u + 1]):
            after = graph.indices[k] - first + 1
            graph.rows[graph.start[after]] = u
            graph.start[after] += 1


def _guess(graph: Lists) -> int:
    """Set the lowest bounds; return how many free rows have edges."""
    for bound in range(len(graph.head)):
        graph.head[bound] = -1
    for v in range(len(graph.mate_of)):
        graph.dist[v] = graph.mate_of[v] >= 0
    num_rows = 0
    for u in range(len(graph.mates)):
        graph.cursor[u] = graph.indptr[u]
        if graph.mates[u] < 0 and graph.indptr[u] < graph.indptr[u + 1]:
            graph.after[u] = graph.head[1]
            graph.head[1] = u
            num_rows += 1
    return num_rows


def _measure(graph: Lists) -> int:
    """Set exact bounds, by a search from the free columns; return how many free rows it reaches."""
    for u in range(len(graph.mates)):
        graph.is_seen[u] = False
        graph.cursor[u] = graph.indptr[u]
    for bound in range(len(graph.head)):
        graph.head[bound] = -1
    place, end, num_rows = 0, 0, 0
    for v in range(len(graph.mate_of)):
        graph.dist[v] = FAR
        if graph.mate_of[v] < 0:
            graph.dist[v] = 0
            graph.queue[end] = v
            end += 1
    while place < end:
        v = graph.queue[place]
        place += 1
        bound = graph.dist[v]
        for k in range(graph.start[v], graph.start[v + 1]):
            u = graph.rows[k]
            if not graph.is_seen[u]:
                graph.is_seen[u] = True
                mate = graph.mates[u]
                if mate >= 0:
                    graph.dist[mate] = bound + 1
                    graph.queue[end] = mate
                    end += 1
                else:
                    graph.after[u] = graph.head[bound]
                    graph.head[bound] = u
                    num_rows += 1
    return num_rows


def _take_paths(graph: Lists, first: int, num_rows: int, lengths: Any) -> Any:
    """Search from free rows, lowest bound first, until none is left or new bounds would pay off.

    Return how many are left, and `lengths`: how many path lengths there were, and the last.
    """
    num_edges = graph.indptr[len(graph.mates)] - graph.indptr[0]
    level, work = 0, (num_edges + len(graph.mates)) // SHARE
    count, last = lengths
    while num_rows > 0 and work >= 0:
        root = graph.head[level]
        if root < 0:
            level += 1
            continue
        graph.head[level] = graph.after[root]
        bound, steps = _search(graph, first, root, level)
        work -= steps
        if level < bound < FAR:
            graph.after[root] = graph.head[bound]
            graph.head[bound] = root
            continue
        num_rows -= 1
        if bound == level != last:
            count, last = count + 1, level
    return num_rows, (count, last)


def _search(graph: Lists, first: int, root: int, level: int) -> Any:
    """Search for a path of `level` + 1 rows from a free row, and take it.

    Return the row's bound, which is `level` if there was a path, and the number of steps.
    """
    steps, depth = 0, 0
    graph.path[0] = root
    while True:
        u, bound = graph.path[depth], level - depth
        begin, end = graph.cursor[u], graph.indptr[u + 1]
        k = begin
        while k < end and graph.dist[graph.indices[k] - first] != bound:
            k += 1
        graph.cursor[u] = k
        steps += k - begin + 1
        if k < end and bound > 0:
            depth += 1
            graph.path[depth] = graph.mate_of[graph.indices[k] - first]
        elif k < end:
            for place in range(depth + 1):
                u = graph.path[place]
                v = graph.indices[graph.cursor[u]] - first
                graph.mates[u] = v
                graph.mate_of[v] = u
                graph.dist[v] += 1  # the bound of its row, plus 1
            return level, steps
        else:
            bound, own = FAR, graph.mates[u]
            begin = graph.indptr[u]
            for k in range(begin, end):
                v = graph.indices[k] - first
                if graph.dist[v] < bound and v != own:
                    bound, graph.cursor[u] = graph.dist[v], k
            steps += end - begin
            if bound >= len(graph.mates):  # no path has that many rows
                bound = FAR
            if depth == 0:
                return bound, steps
            graph.dist[own] = min(bound + 1, FAR)
            depth -= 1
            graph.cursor[graph.path[depth]] += 1


PARTS = (
    _match_neighbours, _match_last_chances, _rarest, _count_rows, _guess, transpose, _measure,
    _take_paths, _search,
)  # fmt: skip
"""The functions that `match_phases` calls, needed to compile it."""
