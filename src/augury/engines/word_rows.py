"""Dense graphs beyond 64 nodes a side become matchings: rows of several words.

As in `phases`, every path is a shortest augmenting path at its moment, so there are weights with
which a proven network takes it. Each row in turn takes its first free column, if it has one: a path
of one edge. Then a search from all free rows at once, level by level, finds a path through the
fewest rows, until there is none. Where hardly an edge in four leads to a column seen before, a
level is a few words for each row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.engines.small import WORD
from augury.engines.words import ONE, ZERO, compiled, lowest

OCTETS = np.uint64(0x0102040810204080)
"""Times this, eight bytes of 0 and 1 have their bits in the highest byte, in order."""


class Rows(NamedTuple):
    """One graph as rows of words, and the state of its nodes."""

    words: Any
    """(row, word): the columns of each row."""
    free: Any
    """(word,): the free columns."""
    unseen: Any
    """(word,): the columns that the current search has not reached."""
    mate_of: Any
    """(column,): its row or −1."""
    parent: Any
    """(column,): the row from which it was reached."""
    queue: Any
    """(row,): rows to be visited, level by level."""

    @classmethod
    def of(cls, num_left: int, num_right: int) -> Rows:
        """Allocate."""
        num_words = -(-num_right // WORD)
        free, unseen = np.zeros((2, num_words), np.uint64)
        mate_of, parent = np.zeros((2, num_words * WORD), np.int32)
        words = np.zeros((num_left, num_words), np.uint64)
        return cls(words, free, unseen, mate_of, parent, np.zeros(num_left, np.int32))


@compiled
def count_cells(octets: Any) -> Any:
    """Count the ones among bytes of 0 and 1, eight to a word."""
    total = np.int64(0)
    for row in range(octets.shape[0]):
        for k in range(octets.shape[1]):
            # Multiplied by eight ones, a word has the sum of its bytes in the highest one.
            total += np.int64((octets[row, k] * np.uint64(0x0101010101010101)) >> np.uint64(56))
    return total


@compiled
def match_rows(octets: Any, rows: Rows, mates: Any, rounds: Any) -> None:
    """Match graphs, (graph, left, word) of eight bytes of 0 and 1 each.

    `rows` is for graphs of this size. `mates`, (graph, left), gets the column of each row or −1,
    and `rounds`, (graph,), the number of different lengths of paths.
    """
    for graph in range(len(octets)):
        pack_rows(octets[graph], rows)
        mate = mates[graph]
        rounds[graph] = take_neighbours(rows, mate)
        last = 1
        while True:
            length = take_shortest(rows, mate)
            if length == 0:
                break
            rounds[graph] += length != last
            last = length


@compiled
def pack_rows(octets: Any, rows: Rows) -> None:
    """(left, word) of eight bytes each → rows of words."""
    num_words = rows.words.shape[1]
    for u in range(octets.shape[0]):
        for word in range(num_words):
            packed, first = ZERO, 8 * word
            for k in range(min(8, octets.shape[1] - first)):
                octet = (octets[u, first + k] * OCTETS) >> np.uint64(56)
                packed |= octet << np.uint64(8 * k)
            rows.words[u, word] = packed


@compiled
def take_neighbours(rows: Rows, mate: Any) -> int:
    """Give each row its first free column; return whether there was one."""
    for v in range(len(rows.mate_of)):
        rows.mate_of[v] = -1
    for word in range(len(rows.free)):
        rows.free[word] = ~ZERO
    is_any = 0
    for u in range(len(mate)):
        mate[u] = -1
        for word in range(len(rows.free)):
            own = rows.words[u, word] & rows.free[word]
            if own:
                v = word * WORD + np.int64(lowest(own))
                rows.free[word] ^= own & (ZERO - own)
                rows.mate_of[v], mate[u], is_any = u, v, 1
                break
    return is_any


@compiled
def take_shortest(rows: Rows, mate: Any) -> int:
    """Take a shortest augmenting path; return how many rows are on it, 0 if there is none."""
    end, level_end, place, length = 0, 0, 0, 1
    for word in range(len(rows.unseen)):
        rows.unseen[word] = ~ZERO
    for u in range(len(mate)):
        if mate[u] < 0:
            rows.queue[end] = u
            end += 1
    level_end = end
    while place < end:
        if place == level_end:
            level_end, length = end, length + 1
        u = rows.queue[place]
        place += 1
        for word in range(len(rows.unseen)):
            fresh = rows.words[u, word] & rows.unseen[word]
            if fresh & rows.free[word]:
                v = word * WORD + np.int64(lowest(fresh & rows.free[word]))
                rows.free[word] ^= ONE << np.uint64(v & 63)
                while v >= 0:
                    rows.mate_of[v] = u
                    v, mate[u] = np.int64(mate[u]), v
                    u = rows.parent[v] if v >= 0 else u
                return length
            rows.unseen[word] ^= fresh
            while fresh:
                v = word * WORD + np.int64(lowest(fresh))
                fresh &= fresh - ONE
                rows.parent[v] = u
                rows.queue[end] = rows.mate_of[v]
                end += 1
    return 0
