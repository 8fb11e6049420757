"""Small graphs become matchings: a proven network's decisions, 64 nodes to a word.

A network that verifies says "reached" where `own or any(usable arc from a reached node)`, and
points to the valid link of least weight, the lowest arc among equals. On the network of a matching
that is: column v is reached from the reached rows R if `columns[v] & R` is not 0, and a matched row
is reached by its column alone. So a step is one AND per column, and a search is a list of row sets,
one per level. A column's predecessor is read off its level where it is needed. Decisions are pure
functions, so those that no path of this round can need are skipped without changing any other.

Weights are those of `small`: a column prefers the lowest row from its `offset` on, or else the
lowest. A round takes every shortest path that the tree offers, as `ford_fulkerson` does with
`many_paths`: for each free row (child of the source) the lowest free column of its subtree at the
sink's level. Shortest paths never get shorter, so the first rounds take paths of three arcs only.

`small` does the same in plain Python, pair for pair; larger graphs are for `lists`. Loops compiled
by numba all release the interpreter's lock and run on the calling thread. Arguments are arrays, and
results are written into them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from augury.compiled import compiled as on_disk
from augury.engines import small
from augury.engines.small import WORD

ZERO, ONE, ALL = np.uint64(0), np.uint64(1), np.uint64(2**64 - 1)

ROOM = 2**14
"""Bytes of dense graphs that are matched together, so that they stay in the cache."""

compiled: Any = on_disk(nogil=True, error_model="numpy")
turn = compiled(small.turn)


@intrinsic
def _lowest(typing: Any, word: Any) -> Any:
    """Return the place of the lowest set bit of a word that is not 0."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), code


@intrinsic
def _highest(typing: Any, word: Any) -> Any:
    """Return the place of the highest set bit of a word that is not 0."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        above = builder.ctlz(args[0], context.get_constant(types.boolean, True))
        return builder.sub(context.get_constant(types.uint64, 63), above)

    return types.uint64(types.uint64), code


@intrinsic
def _count(typing: Any, word: Any) -> Any:
    """Return how many bits of a word are set."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), code


lowest: Any = _lowest  # numba adds the first argument
count: Any = _count
highest: Any = _highest


@compiled
def offset_of(column: int, shift: int, num_left: int) -> int:
    """Return the row that a column prefers; both arguments are less than the number of rows."""
    offset = column + shift
    return offset - num_left if offset >= num_left else offset


@compiled
def chosen_bit(rows: np.uint64, offset: int) -> np.uint64:
    """Return the lowest of these rows from `offset` on, or else the lowest; they are not empty."""
    later = rows & (ALL << np.uint64(offset))
    return lowest(later if later else rows)


@compiled
def pack_columns(rows: Any, columns: Any, octet: Any) -> None:
    """(left, right) bytes of 0 and 1 → (right,) words, row u at bit u; `octet` is scratch."""
    num_left, num_right = rows.shape
    for v in range(num_right):
        columns[v] = ZERO
    for first in range(0, num_left, 8):
        # Eight rows become one byte of each column; the inner loops run over contiguous bytes.
        for v in range(num_right):
            octet[v] = 0
        for u in range(min(first + 8, num_left) - 1, first - 1, -1):
            for v in range(num_right):
                octet[v] = np.uint8(octet[v] + octet[v] + rows[u, v])
        for v in range(num_right):
            columns[v] |= np.uint64(octet[v]) << np.uint64(first)


class Words(NamedTuple):
    """One graph as words, and the state of its nodes."""

    columns: Any
    """(right,): the rows of each column."""
    likes: Any
    """(right,): the number of each column modulo the number of rows."""
    mate_bit: Any
    """(right,): the row of each matched column; 0 for a free one."""
    levels: Any
    """(left + 2,): the rows first reached at each level of the current search."""
    free: Any
    """(2,): the free rows, the free columns."""
    octet: Any
    """(right,): scratch for packing."""

    @classmethod
    def of(cls, num_left: int, num_right: int) -> Words:
        """Allocate: here, because allocations in compiled code take long to compile."""
        likes = np.arange(num_right) % max(num_left, 1)
        columns, mate_bit = np.zeros((2, num_right), np.uint64)
        levels, free = np.zeros(num_left + 2, np.uint64), np.zeros(2, np.uint64)
        return cls(columns, likes, mate_bit, levels, free, np.zeros(num_right, np.uint8))


@compiled
def match_words(adjacency: Any, words: Words, mates: Any, rounds: Any) -> None:
    """Match graphs with at most 64 nodes a side, (graph, left, right) bytes of 0 and 1.

    `words` is for graphs of this size. `mates`, (graph, left), gets the column of each row or −1,
    and `rounds`, (graph,), the number of rounds that applied a path.
    """
    num_graphs, num_left, num_right = adjacency.shape
    columns, likes, mate_bit, levels, free, octet = words
    for graph in range(num_graphs):
        pack_columns(adjacency[graph], columns, octet)
        mate = mates[graph]
        for u in range(num_left):
            mate[u] = -1
        for v in range(num_right):
            mate_bit[v] = ZERO
        free[0] = ALL >> np.uint64(WORD - num_left) if num_left else ZERO
        free[1] = ALL >> np.uint64(WORD - num_right) if num_right else ZERO
        number = _match_adjacent(columns, likes, free, mate, mate_bit)
        least = 1
        while free[0] and free[1]:
            level, hits = _search_words(columns, mate_bit, free, least, levels)
            if not hits:
                break
            shift = turn(number, num_left)
            winners = _winners(words, mate, level, shift, hits)
            while winners:
                v = np.int64(lowest(winners))
                winners &= winners - ONE
                for k in range(level, -1, -1):
                    offset = offset_of(likes[v], shift, num_left)
                    u = np.int64(chosen_bit(columns[v] & levels[k], offset))
                    before = np.int64(mate[u])
                    mate[u] = v
                    mate_bit[v] = ONE << np.uint64(u)
                    v = before
            least = level
            number += 1
        rounds[graph] = number


@compiled
def _narrowed(words: Words, num_left: int, num_right: int) -> Words:
    """Return the part of the largest words that graphs of a shape need."""
    for v in range(num_right):
        words.likes[v] = v if v < num_left else words.likes[v - num_left]
    return Words(
        words.columns[:num_right],
        words.likes[:num_right],
        words.mate_bit[:num_right],
        words.levels,
        words.free,
        words.octet,
    )


@compiled
def match_edges(edges: Any, sides: Any, words: Words, mates: Any, rounds: Any) -> None:
    """Match the graphs with at most 64 nodes a side; see `table.match_lists`.

    `edges` is (indptr, indices), `sides` (left, right), and `words` for graphs of 64 nodes a side.
    """
    indptr, indices = edges
    left, right = sides
    room = np.empty(ROOM, np.uint8)
    graph = 0
    while graph < len(left) - 1:
        low, first = left[graph], right[graph]
        num_left, num_right = left[graph + 1] - low, right[graph + 1] - first
        end = graph + 1
        if num_left > WORD or num_right > WORD:
            graph = end
            continue
        # Consecutive graphs of one shape are matched in one call.
        most = graph + ROOM // max(num_left * num_right, 1)
        while (
            end < min(most, len(left) - 1)
            and left[end + 1] - left[end] == num_left
            and right[end + 1] - right[end] == num_right
        ):
            end += 1
        count = end - graph
        cells = room[: count * num_left * num_right]
        cells[:] = 0
        for own in range(count):
            for u in range(own * num_left, (own + 1) * num_left):
                row = u * num_right - first - own * num_right
                for k in range(indptr[low + u], indptr[low + u + 1]):
                    cells[row + indices[k]] = 1
        match_words(
            cells.reshape((count, num_left, num_right)),
            _narrowed(words, num_left, num_right),
            mates[low : low + count * num_left].reshape((count, num_left)),
            rounds[graph:end],
        )
        graph = end


@compiled
def by_shape(counts: Any, place: Any, order: Any) -> None:
    """Fill `order` with the graphs, those of one shape together; `place` is scratch, all 0."""
    num_left, num_right = counts
    for graph in range(len(order)):
        place[num_left[graph] * (WORD + 1) + num_right[graph] + 1] += 1
    for shape in range(1, len(place)):
        place[shape] += place[shape - 1]
    for graph in range(len(order)):
        shape = num_left[graph] * (WORD + 1) + num_right[graph]
        order[place[shape]] = graph
        place[shape] += 1


@compiled
def match_packed(edges: Any, counts: Any, order: Any, words: Words, found: Any) -> None:
    """Match graphs of at most 64 nodes a side whose edges lie in lists; see `table.match_packed`.

    `edges` is (start, left, right), and `counts` (num_left, num_right); for `order` see `by_shape`.
    `found` gets mates and rounds, the mates of graph g from `low[g]` on. `words` is for graphs of
    64 nodes a side.
    """
    start, left, right = edges
    num_left, num_right = counts
    mates, rounds, low = found
    room = np.empty(ROOM, np.uint8)
    own_mates, own_rounds = np.empty(ROOM, np.int32), np.empty(ROOM, np.int32)
    at = 0
    while at < len(order):
        rows, columns = num_left[order[at]], num_right[order[at]]
        most, end = at + ROOM // max(rows * columns, rows, 1), at + 1
        while end < min(most, len(order)) and (
            num_left[order[end]] == rows and num_right[order[end]] == columns
        ):
            end += 1
        count, size = end - at, rows * columns
        cells = room[: count * size]
        cells[:] = 0
        for own in range(count if size else 0):  # without nodes, its edges are not to be read
            graph = order[at + own]
            for k in range(start[graph], start[graph + 1]):
                cells[own * size + left[k] * columns + right[k]] = 1
        match_words(
            cells.reshape((count, rows, columns)),
            _narrowed(words, rows, columns),
            own_mates[: count * rows].reshape((count, rows)),
            own_rounds[:count],
        )
        for own in range(count):
            graph = order[at + own]
            rounds[graph] = own_rounds[own]
            for u in range(rows):
                mates[low[graph] + u] = own_mates[own * rows + u]
        at = end


@compiled
def _match_adjacent(columns: Any, likes: Any, free: Any, mate: Any, mate_bit: Any) -> int:
    """Run all rounds of paths of three arcs: free columns choose free rows, in order."""
    num_left = len(mate)
    number = 0
    free_rows, free_columns = free[0], free[1]
    pending = free_columns
    while pending:
        taken, kept = ZERO, ZERO
        shift = turn(number, num_left)
        while pending:
            v = lowest(pending)
            end = pending & (ZERO - pending)
            pending ^= end
            rows = columns[v] & free_rows  # those that were free when the round began
            if rows:  # otherwise never again: free rows only get fewer
                u = chosen_bit(rows, offset_of(likes[v], shift, num_left))
                bit = ONE << u
                if taken & bit:
                    kept |= end
                else:
                    taken |= bit
                    mate[u] = v
                    mate_bit[v] = bit
                    free_columns ^= end
        number += taken != ZERO
        free_rows ^= taken
        pending = kept
    free[0], free[1] = free_rows, free_columns
    return number


@compiled
def _search_words(columns: Any, mate_bit: Any, free: Any, least: int, levels: Any) -> Any:
    """Fill the levels of rows; return the last and the free columns adjacent to it (0: none)."""
    reached = free[0]
    levels[0] = reached
    level = 0
    while True:
        if level >= least:
            hits, left = ZERO, free[1]
            while left:
                if columns[lowest(left)] & reached:
                    hits |= left & (ZERO - left)
                left &= left - ONE
            if hits:
                return level, hits
        after = reached
        for v in range(len(columns)):
            after |= mate_bit[v] if columns[v] & reached else ZERO
        if after == reached:
            return level, ZERO
        level += 1
        levels[level] = after & ~reached
        reached = after


@compiled
def _winners(words: Words, mate: Any, level: int, shift: int, hits: np.uint64) -> np.uint64:
    """Keep the first column of each free row's subtree; neither is free any more."""
    winners, roots = ZERO, ZERO
    while hits:
        end = hits & (ZERO - hits)
        hits ^= end
        v, u = np.int64(lowest(end)), np.int64(0)
        for k in range(level, -1, -1):
            offset = offset_of(words.likes[v], shift, len(mate))
            u = np.int64(chosen_bit(words.columns[v] & words.levels[k], offset))
            v = np.int64(mate[u])
        bit = ONE << np.uint64(u)
        if not roots & bit:
            roots |= bit
            winners |= end
    words.free[0] ^= roots
    words.free[1] ^= winners
    return winners
