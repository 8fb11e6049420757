"""A best matching becomes the first of those along tight edges: see `first`.

Left nodes are rows here, and right nodes columns. One more row, the last, holds all free columns,
and one more column is the place of all free rows. So every node has a partner, and every other best
matching is a circle of rows, each taking the place of the next. A row gets a lesser column if a way
leads from there to its own place. Ways are searched for from both ends, one edge at a time in turn;
nodes on no circle are fixed without a search.

These are plain functions of plain loops. With lists they need neither numba nor NumPy;
`loops.settle_first` is the same, compiled for arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

NOWHERE, GOES_ON = -1, -2
"""A search has ended; it has not met the other one yet."""
HEAD, TAIL, EDGE, ENTRY = range(4)
"""Of `Half.state`: the ends of the queue, the next edge, and what led to the last node here."""
FIXED_ROW, FIXED_COLUMN = -1, -2
"""Nodes that keep their places are in no part."""
MANY = -1
"""In a queue: the last node there, which is the place of many."""


class Half(NamedTuple):
    """A search, forward from a column or backward from a place, and the edges that it follows.

    Forward, nodes here are rows and those there are columns; backward it is the other way round.
    """

    start: Any
    """(here + 1,): where the nodes that each is tight with start."""
    there: Any
    """(edge,): these nodes, in order."""
    holder: Any
    """(there,): the holder of each node there, except the last."""
    degree: Any
    """(here,): how many nodes, not fixed, each is tight with."""
    part: Any
    """(here,): no circle leads from one part to another; nodes that keep their places have none."""
    seen_here: Any
    """(here,): the last search that reached it."""
    seen_there: Any
    """(there,): the same."""
    link: Any
    """(there,): the node here from which it did."""
    queue: Any
    """(here + 1,): nodes to go on from."""
    state: Any
    """(4,): see HEAD."""


class Ways(NamedTuple):
    """The tight edges, and room for searches."""

    forward: Half
    backward: Half
    todo: Any
    """(2 (row + column),): nodes to be fixed; columns are numbered after rows."""
    rows: Any
    """(row,): those that move."""
    columns: Any
    """(row,): the columns that they take."""
    state: Any
    """(1,): the number of the last part."""

    @classmethod
    def of(cls, num_left: int, num_right: int, num_edges: int, zeros: Callable[[int], Any]) -> Ways:
        """Allocate by `zeros(size)`; edges are all those that `settle` is given."""
        rows, columns = num_left + 1, num_right + 1
        seen_rows, seen_columns = (zeros(rows), zeros(rows)), (zeros(columns), zeros(columns))
        forward = Half(
            zeros(rows + 1), zeros(num_edges), zeros(columns), zeros(rows), zeros(rows),
            seen_rows[0], seen_columns[0], zeros(columns), zeros(rows + 1), zeros(4),
        )  # fmt: skip
        backward = Half(
            zeros(columns + 1), zeros(num_edges), zeros(rows), zeros(columns), zeros(columns),
            seen_columns[1], seen_rows[1], zeros(rows), zeros(columns + 1), zeros(4),
        )  # fmt: skip
        todo, moves = zeros(2 * (rows + columns)), (zeros(rows + 1), zeros(rows + 1))
        return cls(forward, backward, todo, *moves, zeros(1))


def settle(ways: Ways, mates: Any, left: Any, right: Any, rows: Any, columns: Any) -> None:
    """Make a best matching the first one.

    Args:
        ways: room, filled with 0.
        mates: (left node,): its right node, −1 for none.
        left: of each tight edge, in order.
        right: of each tight edge.
        rows: the left nodes that a best matching can leave out.
        columns: the right nodes that it can leave out.
    """
    _fill(ways, (left, right), rows, columns)
    _hand_out(ways, mates)
    place, none = ways.backward.holder, len(ways.forward.holder) - 1
    for row in range(len(mates)):
        if ways.forward.part[row] >= 0:
            _settle_row(ways, row)
            _fix(ways, row)
    for row in range(len(mates)):
        mates[row] = place[row] if place[row] < none else -1


def _fill(ways: Ways, edges: Any, rows: Any, columns: Any) -> None:
    """List the edges of all nodes."""
    (left, right), forward, backward = edges, ways.forward, ways.backward
    last_row, last_column = len(forward.degree) - 1, len(backward.degree) - 1
    for k in range(len(left)):
        forward.degree[left[k]] += 1
        backward.degree[right[k]] += 1
    for row in rows:
        forward.degree[row] += 1
    for column in columns:
        backward.degree[column] += 1
    forward.degree[last_row], backward.degree[last_column] = len(columns), len(rows)
    _lay(forward)
    _lay(backward)
    for k in range(len(left)):
        _join(ways, left[k], right[k])
    for row in rows:
        _join(ways, row, last_column)
    for column in columns:
        _join(ways, last_row, column)


def _hand_out(ways: Ways, mates: Any) -> None:
    """Set who holds what, and fix the nodes that have no choice."""
    forward, backward = ways.forward, ways.backward
    place, holder = backward.holder, forward.holder
    last_row, last_column = len(place) - 1, len(holder) - 1
    for column in range(last_column):
        holder[column] = last_row
    for row in range(last_row):
        place[row] = last_column
        if mates[row] >= 0:
            place[row], holder[mates[row]] = mates[row], row
    for row in range(last_row):
        if forward.degree[row] <= 1 or not _is_movable(forward, row, place[row]):
            _fix(ways, row)
    for column in range(last_column):
        if backward.degree[column] <= 1 or not _is_movable(backward, column, holder[column]):
            _fix(ways, last_row + 1 + column)


def _is_movable(half: Half, node: int, partner: int) -> bool:
    """Whether a node is matched or, its last edge being to the node of many, need not be free."""
    last = len(half.holder) - 1
    return partner < last or half.there[half.start[node + 1] - 1] == last


def _lay(half: Half) -> None:
    """Set where the edges of each node start, and in `queue` where its next one goes."""
    total = 0
    for node in range(len(half.degree)):
        half.start[node] = half.queue[node] = total
        total += half.degree[node]
    half.start[len(half.degree)] = total


def _join(ways: Ways, row: int, column: int) -> None:
    """Add an edge to both lists."""
    forward, backward = ways.forward, ways.backward
    forward.there[forward.queue[row]] = column
    forward.queue[row] += 1
    backward.there[backward.queue[column]] = row
    backward.queue[column] += 1


def _fix(ways: Ways, node: int) -> None:
    """Fix a node and its place, and then all nodes with no choice left; columns follow rows."""
    forward, backward, todo = ways.forward, ways.backward, ways.todo
    num_rows, size = len(forward.degree), 1
    todo[0] = node
    while size > 0:
        size -= 1
        if todo[size] < num_rows:
            size = _fix_one(forward, backward, todo[size], (todo, size, num_rows))
        else:
            size = _fix_one(backward, forward, todo[size] - num_rows, (todo, size, 0))


def _fix_one(own: Half, other: Half, node: int, room: Any) -> int:
    """Fix a node here; add those that follow to `todo`, and return its size."""
    todo, size, base = room
    if own.part[node] < 0:
        return size
    own.part[node] = FIXED_ROW if base else FIXED_COLUMN
    last = len(other.degree) - 1
    partner = other.holder[node]
    if partner < last and other.part[partner] >= 0:
        todo[size] = base + partner
        size += 1
    for k in range(own.start[node], own.start[node + 1]):
        neighbour = own.there[k]
        other.degree[neighbour] -= 1
        if other.degree[neighbour] == 1 and neighbour < last:
            todo[size] = base + neighbour
            size += 1
    return size


def _settle_row(ways: Ways, row: int) -> None:
    """Give a row the least column that it can have."""
    forward, backward = ways.forward, ways.backward
    own, search = backward.holder[row], row + 2
    backward.state[HEAD], backward.state[TAIL] = 0, 0
    for k in range(forward.start[row], forward.start[row + 1]):
        column = forward.there[k]
        if column >= own:
            return
        # What was reached from a lesser column leads nowhere.
        if backward.part[column] != forward.part[row] or forward.seen_there[column] == search:
            continue
        if backward.seen_here[own] != search:
            backward.seen_here[own] = search
            _push(backward, forward, own)
        meeting = _search(forward, backward, column, search)
        if meeting != NOWHERE:
            _rotate(ways, row, column, meeting)
            return
        ways.state[0] += 1
        if forward.state[HEAD] == forward.state[TAIL]:
            _part(forward, backward, search, ways.state[0])
        else:
            _part(backward, forward, search, ways.state[0])


def _part(own: Half, other: Half, search: int, number: int) -> None:
    """Make a part of all that a search reached before it came to an end."""
    last_here, last_there = len(other.holder) - 1, len(own.holder) - 1
    for k in range(own.state[TAIL]):
        node = own.queue[k]
        if node == MANY:
            other.part[last_there] = number
            continue
        own.part[node] = number
        if node < last_here:
            if other.holder[node] < last_there:
                other.part[other.holder[node]] = number
            continue
        for edge in range(own.start[node], own.start[node + 1]):
            there = own.there[edge]
            if own.holder[there] == node and own.seen_there[there] == search:
                other.part[there] = number


def _search(forward: Half, backward: Half, column: int, search: int) -> int:
    """Return a column between this one and the place searched for, or NOWHERE."""
    if backward.seen_here[column] == search:
        return column
    forward.state[HEAD], forward.state[TAIL] = 0, 0
    meeting = _come(forward, backward, column, search)
    while meeting == GOES_ON:
        meeting = _step(forward, backward, search)
        if meeting == GOES_ON:
            row = _step(backward, forward, search)
            if row < 0:
                meeting = row
            else:
                is_last = row == len(forward.degree) - 1
                meeting = forward.state[ENTRY] if is_last else backward.holder[row]
    return meeting


def _push(own: Half, other: Half, node: int) -> None:
    """Put a node here, or MANY, at the end of the queue."""
    own.queue[own.state[TAIL]] = node
    own.state[TAIL] += 1
    if own.state[TAIL] == own.state[HEAD] + 1:
        own.state[EDGE] = _first_edge(own, other, node)


def _first_edge(own: Half, other: Half, node: int) -> int:
    """Return where the edges from a node here, or from MANY, start."""
    return other.start[len(own.holder) - 1] if node == MANY else own.start[node]


def _step(own: Half, other: Half, search: int) -> int:
    """Follow one edge; return the node there at which the searches meet, GOES_ON or NOWHERE."""
    state = own.state
    if state[HEAD] == state[TAIL]:
        return NOWHERE
    node, edge, last = own.queue[state[HEAD]], state[EDGE], len(own.holder) - 1
    if edge == (other.start[last + 1] if node == MANY else own.start[node + 1]):
        state[HEAD] += 1
        if state[HEAD] < state[TAIL]:
            state[EDGE] = _first_edge(own, other, own.queue[state[HEAD]])
        return GOES_ON
    state[EDGE] += 1
    if node == MANY:
        here = other.there[edge]
        is_new = own.seen_here[here] != search and own.part[here] == other.part[last]
        if is_new and other.holder[here] == last and _arrive(own, other, here, last, search):
            return last
        return GOES_ON
    there = own.there[edge]
    if own.seen_there[there] == search or other.part[there] != own.part[node]:
        return GOES_ON
    own.link[there] = node
    return _come(own, other, there, search)


def _come(own: Half, other: Half, there: int, search: int) -> int:
    """Reach a node there, and its holder; return as `_step` does."""
    own.seen_there[there] = search
    is_met = other.seen_here[there] == search
    if there == len(own.holder) - 1:
        _push(own, other, MANY)
    elif own.seen_here[own.holder[there]] != search:
        is_met |= _arrive(own, other, own.holder[there], there, search)
    return there if is_met else GOES_ON


def _arrive(own: Half, other: Half, here: int, there: int, search: int) -> bool:
    """Reach a node here from its place; return whether the other search has reached it."""
    own.seen_here[here] = search
    if here == len(other.holder) - 1:
        own.state[ENTRY] = there
    _push(own, other, here)
    return other.seen_there[here] == search


def _rotate(ways: Ways, row: int, column: int, meeting: int) -> None:
    """Give a row a column, its holder the next one on the way, and so on to the row's place."""
    forward, backward, rows, columns = ways.forward, ways.backward, ways.rows, ways.columns
    place, holder = backward.holder, forward.holder
    own, last_row, last_column = place[row], len(place) - 1, len(holder) - 1
    rows[0], columns[0] = row, column
    size, at = 1, meeting
    while at != column:
        rows[size], columns[size] = forward.link[at], at
        at = forward.state[ENTRY] if rows[size] == last_row else place[rows[size]]
        size += 1
    at = meeting
    while at != own:
        rows[size] = backward.state[ENTRY] if at == last_column else holder[at]
        columns[size] = at = backward.link[rows[size]]
        size += 1
    for k in range(size):
        if rows[k] != last_row:
            place[rows[k]] = columns[k]
        if columns[k] != last_column:
            holder[columns[k]] = rows[k]


PARTS = (
    _fill, _lay, _join, _hand_out, _is_movable, _fix, _fix_one, _settle_row, _part, _search, _push,
    _first_edge, _step, _come, _arrive, _rotate,
)  # fmt: skip
"""The functions that `settle` calls, to be compiled with it."""
