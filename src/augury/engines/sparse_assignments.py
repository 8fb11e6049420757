"""Edges with costs become the largest matching of least cost, with the prices that prove it.

As in `assignments`, rows bid and are then assigned along shortest augmenting paths, here with a
heap. Where there are hardly more columns than rows, prices come from auctions (Bertsekas, 1988).

Everything is int64 and exact. Costs are those of `Costs`: times the number of nodes they are below
2^55, and so is a sum of them along a path. A bid lowers a price by less than three costs below
another; so auctions, which end at LOWEST, leave prices above −2^57 − 2^54, and what follows, two
bids a row and then paths, above −2^59. So no distance is as much as 2^59, half of FAR, and even
with the parts of a graph priced apart no price is beyond 2^61.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.classical.arrays import read_only
from augury.engines.lists import match_phases, transpose
from augury.engines.phases import Lists
from augury.engines.words import compiled

FAR = np.int64(2**60)
"""At least this: out of reach. All that is computed here is less than half of it."""


class Sparse(NamedTuple):
    """The edges of one graph by row, and the state of a search."""

    indptr: Any
    """(row + 1,): where the edges of each row start."""
    right: Any
    cost: Any
    edge_of: Any
    """(row,): the edge by which it is assigned, or NOT_YET."""
    row_of: Any
    """(column,): its row or −1."""
    price: Any
    """(column,)."""
    distance: Any
    """(column,): the length of the shortest path there; FAR between searches."""
    parent: Any
    """(column,): the edge by which it is reached."""
    place: Any
    """(column,): its place in `heap`, if it is there."""
    heap: Any
    """(column,): columns that were reached, each nearer than those at 4 k + 1, …, 4 k + 4."""
    passed: Any
    """(column,): columns whose shortest path is known, in order."""

    @classmethod
    def of(cls, num_left: int, num_right: int, left: Any, right: Any, cost: Any) -> Sparse:
        """Allocate, with nothing assigned at prices of 0."""
        return cls(
            _starts(left, num_left),
            np.require(right, np.int32, ["C", "W"]),
            np.require(cost, np.int64, ["C", "W"]),
            np.full(num_left, NOT_YET),
            np.full(num_right, -1, np.int32),
            np.zeros(num_right, np.int64),
            np.full(num_right, FAR),
            np.empty(num_right, np.int64),
            np.empty(num_right, np.int32),
            np.empty(num_right, np.int32),
            np.empty(num_right, np.int32),
        )


NOT_YET = np.int64(-1)
SHRINK = 7
"""How much finer each auction is than the one before."""
AUCTION_BIDS = 50
"""Bids for each row, at most, in an auction; about five are enough."""
LOWEST = np.int64(-(2**57))
"""A price below this ends the auctions."""


def assign_sparse(num_left: int, num_right: int, left: Any, right: Any, cost: Any) -> Any:
    """Edges, sorted by left, then right → the largest matching, and of these one of least cost.

    Return the right partner of each left node or −1, and the prices of left nodes, right nodes,
    source and sink. They are those of a flow from source to sink: an arc of the residual network
    costs `cost + price[sender] - price[receiver] >= 0`.

    A graph falls into three parts (Dulmage and Mendelsohn, 1958), and its largest matchings are
    those of the parts: of one with columns to spare, in which all rows are matched; of one in which
    everything is; and of one with rows to spare. No edge leads from a part to the columns of one
    before it. So with prices far enough apart, those of the parts suit the whole.
    """
    left, right = np.asarray(left, np.int64), np.asarray(right, np.int64)
    cost = np.asarray(cost, np.int64)
    partner = np.full(num_left, -1, np.int64)
    u, v = np.zeros(num_left, np.int64), np.zeros(num_right, np.int64)
    part_of_left, part_of_right = _parts(num_left, num_right, left, right)
    for part in (SPARE_COLUMNS, PERFECT, SPARE_ROWS):
        is_inside = (part_of_left[left] == part) & (part_of_right[right] == part)
        rows, columns = np.flatnonzero(part_of_left == part), np.flatnonzero(part_of_right == part)
        edges = left[is_inside], right[is_inside], cost[is_inside]
        if part != SPARE_ROWS:
            chosen, u[rows], v[columns] = _assign_part(rows, columns, edges)
            partner[rows] = columns[chosen]
        else:
            order = np.argsort(edges[1], kind="stable")
            turned = edges[1][order], edges[0][order], edges[2][order]
            chosen, v[columns], u[rows] = _assign_part(columns, rows, turned)
            partner[rows[chosen]] = columns
    apart = sum(int(np.abs(values).max(initial=0)) for values in (cost, u, v))
    u += apart * part_of_left
    v -= apart * part_of_right
    return partner, (-u, v, -apart * SPARE_ROWS, 0)


SPARE_COLUMNS, PERFECT, SPARE_ROWS = 0, 1, 2


def _parts(num_left: int, num_right: int, left: Any, right: Any) -> Any:
    """Return the part of each row and of each column.

    In any largest matching, the part with rows to spare is all that alternating paths reach from
    free rows, and the part with columns to spare all that they reach from free columns.
    """
    indptr = _starts(left, num_left)
    columns_of = right.astype(np.int32)
    edges = read_only(indptr, np.int64), read_only(columns_of, np.int32)
    lists = Lists.of(edges, (num_left, num_right, len(right)), np.empty)
    match_phases(lists, 0)
    transpose(lists, 0)
    queue = np.empty(max(num_left, num_right), np.int32)
    rows, columns = np.full(num_left, PERFECT), np.full(num_right, PERFECT)
    mates = lists.mates, lists.mate_of
    _reach(indptr, columns_of, mates, (rows, columns), SPARE_ROWS, queue)
    _reach(lists.start, lists.rows, mates[::-1], (columns, rows), SPARE_COLUMNS, queue)
    return rows, columns


def _starts(node: Any, num_nodes: int) -> Any:
    """Return where the edges of each node start."""
    indptr = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(np.bincount(node, minlength=num_nodes), out=indptr[1:])
    return indptr


@compiled
def _reach(indptr: Any, indices: Any, mates: Any, parts: Any, part: int, queue: Any) -> None:
    """Write `part` wherever alternating paths from free nodes of one side lead, on both sides."""
    mates_here, mates_there = mates
    part_here, part_there = parts
    head, tail = 0, 0
    for node in range(len(mates_here)):
        if mates_here[node] < 0:
            part_here[node] = part
            queue[tail] = node
            tail += 1
    while head < tail:
        node = queue[head]
        head += 1
        for k in range(indptr[node], indptr[node + 1]):
            other = indices[k]
            if part_there[other] != part:
                part_there[other] = part
                mate = mates_there[other]  # it has one, or the matching would not be the largest
                part_here[mate] = part
                queue[tail] = mate
                tail += 1


def _assign_part(rows: Any, columns: Any, edges: Any) -> Any:
    """Assign all of these rows; return their columns, counted in this part, and the prices.

    Shortest augmenting paths do it. With few columns to spare they get long, unless prices are
    good. Auctions find good ones, but they also price columns that end up free. So for each spare
    column a row is added that takes any column for nothing: these all pay the same, made 0 later.
    """
    left, right = np.searchsorted(rows, edges[0]), np.searchsorted(columns, edges[1])
    cost, num_rows, num_columns = edges[2], len(rows), len(columns)
    num_spare = num_columns - num_rows
    is_tight = num_spare * num_columns <= len(cost)
    if is_tight and num_spare:
        left = np.concatenate([left, np.repeat(np.arange(num_rows, num_columns), num_columns)])
        right = np.concatenate([right, np.tile(np.arange(num_columns), num_spare)])
        cost = np.concatenate([cost, np.zeros(num_spare * num_columns, np.int64)])
        num_rows = num_columns
    graph = Sparse.of(num_rows, num_columns, left, right, cost)
    if is_tight:
        _auction(graph, np.int64(np.abs(cost).max(initial=0) // SHRINK))
    row_price = np.empty(num_rows, np.int64)
    _assign_rows(graph, row_price)
    highest = graph.price.max(initial=LOWEST) if is_tight and num_columns else 0
    chosen = graph.right[graph.edge_of[: len(rows)]]
    return chosen, row_price[: len(rows)] + highest, graph.price - highest


@compiled
def _auction(graph: Sparse, step: int) -> None:
    """Find prices by auctions with ever smaller steps.

    In each, rows bid at least a step more than they need to, so that prices soon tell them apart;
    prices are kept from one to the next. Any prices will do, so each may be cut short.
    """
    lowest = np.int64(0)
    while lowest > LOWEST:
        step = max(step, 1)
        num_bids = AUCTION_BIDS * len(graph.edge_of)
        for first in range(len(graph.edge_of)):
            row = np.int64(first)
            while row >= 0 and num_bids > 0 and lowest > LOWEST:
                num_bids -= 1
                bidder, row = row, _bid_once(graph, row, step)
                column = graph.right[graph.edge_of[bidder]]
                lowest = min(lowest, graph.price[column])
        graph.edge_of[:] = NOT_YET
        graph.row_of[:] = -1
        if step == 1:
            return
        step //= SHRINK


@compiled
def _assign_rows(graph: Sparse, row_price: Any) -> None:
    """Assign and price all rows, which must be possible."""
    num_rows = len(row_price)
    _bid_rows(graph)
    for row in range(num_rows):
        if graph.edge_of[row] == NOT_YET:
            _augment_row(graph, row)
    for row in range(num_rows):
        edge = graph.edge_of[row]
        row_price[row] = graph.cost[edge] - graph.price[graph.right[edge]]


@compiled
def _bid_rows(graph: Sparse) -> None:
    """Let each row bid for its best column, as `_bid` does."""
    num_rows = len(graph.edge_of)
    num_bids = 2 * num_rows
    for first in range(num_rows):
        row = np.int64(first)
        while row >= 0 and num_bids > 0:
            num_bids -= 1
            row = _bid_once(graph, row, 0)


@compiled
def _bid_once(graph: Sparse, row: Any, step: int) -> np.int64:
    """Let a row take its best column, if that is free or gets cheaper; return the loser or −1."""
    least, second = FAR, FAR
    best = NOT_YET
    for edge in range(graph.indptr[row], graph.indptr[row + 1]):
        column = graph.right[edge]
        value = graph.cost[edge] - graph.price[column]
        if value < least or (value == least and graph.row_of[column] < 0):
            least, second, best = value, least, edge
        elif value < second:
            second = value
    if best < 0:
        return NOT_YET
    column = graph.right[best]
    change = step + (second - least if second < FAR else 0)
    loser = np.int64(graph.row_of[column])
    if loser >= 0:
        if change == 0:
            return NOT_YET
        graph.edge_of[loser] = NOT_YET
    graph.price[column] -= change
    graph.edge_of[row], graph.row_of[column] = best, row
    return loser


@compiled
def _augment_row(graph: Sparse, free_row: int) -> None:
    """Assign a row along the shortest path to a free column."""
    size, num_passed = 0, 0
    end, last = FAR, np.int64(-1)
    row, offset = free_row, np.int64(0)
    while True:
        for edge in range(graph.indptr[row], graph.indptr[row + 1]):
            column = np.int64(graph.right[edge])
            length = graph.cost[edge] - graph.price[column] + offset
            if length < end and length < graph.distance[column]:
                graph.parent[column] = edge
                if graph.row_of[column] < 0:
                    end, last = length, column
                else:
                    size = _rise(graph, column, length, size)
        if size == 0 or graph.distance[graph.heap[0]] >= end:
            break
        column = np.int64(graph.heap[0])
        size = _sink(graph, size)
        graph.passed[num_passed] = column
        num_passed += 1
        row = np.int64(graph.row_of[column])
        offset = graph.distance[column] - graph.cost[graph.edge_of[row]] + graph.price[column]
    for k in range(num_passed):
        column = np.int64(graph.passed[k])
        graph.price[column] += graph.distance[column] - end
        graph.distance[column] = FAR
    for k in range(size):
        graph.distance[graph.heap[k]] = FAR
    _flip_edges(graph, last)


@compiled
def _flip_edges(graph: Sparse, column: Any) -> None:
    """Follow the path back from a column, giving each row the column after it."""
    while column >= 0:
        edge = graph.parent[column]
        row = _row_of_edge(graph, edge)
        graph.row_of[column] = row
        before, graph.edge_of[row] = graph.edge_of[row], edge
        column = np.int64(graph.right[before]) if before >= 0 else np.int64(-1)


@compiled
def _row_of_edge(graph: Sparse, edge: int) -> np.int64:
    """Return the row whose edges this one is among."""
    return np.searchsorted(graph.indptr, edge, side="right") - 1


@compiled
def _rise(graph: Sparse, column: int, length: int, size: int) -> int:
    """Put a column into the heap, or up in it, at a shorter distance; return the heap's size."""
    place = np.int64(graph.place[column])
    if graph.distance[column] == FAR:
        place = size
        size += 1
    graph.distance[column] = length
    while place > 0:
        above = (place - 1) >> 2
        other = graph.heap[above]
        if graph.distance[other] <= length:
            break
        graph.heap[place], graph.place[other] = other, place
        place = above
    graph.heap[place], graph.place[column] = column, place
    return size


@compiled
def _sink(graph: Sparse, size: int) -> int:
    """Take the nearest column out of the heap; return the heap's size."""
    size -= 1
    column = graph.heap[size]
    length = graph.distance[column]
    place = 0
    while True:
        below, nearest, least = -1, 4 * place + 1, length
        for k in range(nearest, min(nearest + 4, size)):
            distance = graph.distance[graph.heap[k]]
            if distance < least:
                below, least = k, distance
        if below < 0:
            break
        other = graph.heap[below]
        graph.heap[place], graph.place[other] = other, place
        place = below
    graph.heap[place], graph.place[column] = column, place
    return size
