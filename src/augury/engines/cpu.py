"""A verified network's table becomes machine words: its decisions, 64 nodes at a time.

A network that verifies says "reached" where `own or any(usable arc from a reached node)`, and
points to the valid link of least weight, the lowest arc among equals. On the network of a matching
that is: column v is reached from the reached rows R if `columns[v] & R` is not 0, and a matched row
is reached by its column alone. So a step is one AND for each column, and a search is a list of row
sets, one for each level. Where a column's predecessor is needed, it is read off its level. What no
path of this round can need is not computed: decisions are pure functions, so leaving one out
changes no other.

Weights are those of `ties`: a column's choice is the lowest row from its `offset` on, or else the
lowest. A round takes every shortest path that the tree offers, as `ford_fulkerson` does with
`many_paths`: for each free row (child of the source) the lowest free column of its subtree at the
sink's level. Shortest paths never get shorter, so the first rounds take paths of three arcs only.

`match_words` holds a graph of at most 64 a side in words, `match_lists` any graph as lists,
`push_flows` any flow network. All are compiled by numba, release the interpreter's lock, and run on
the thread that calls them. Arrays come in as arguments, and results go out through them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from augury.engines import ties
from augury.neural.compiled import compiled as on_disk

WORD = 64
"""Bits of a machine word, and the most nodes a side that `match_words` takes."""

ZERO, ONE, ALL = np.uint64(0), np.uint64(1), np.uint64(2**64 - 1)
MULTIPLIER, TWENTY, HALF = ties.MULTIPLIER, np.uint64(20), np.uint64(32)
MAX_WEIGHT = np.uint64(ties.MAX_WEIGHT)

compiled: Any = on_disk(nogil=True, error_model="numpy")
turn = compiled(ties.turn)


@intrinsic
def _lowest(typing: Any, word: Any) -> Any:
    """The place of the lowest set bit of a word that is not 0."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), code


lowest: Any = _lowest  # its arguments are one fewer than those of the function that makes it


@compiled
def offset_of(column: int, shift: int, num_left: int) -> int:
    """The row that a column likes best; `column` is taken modulo the rows, `shift` is below."""
    offset = column + shift
    return offset - num_left if offset >= num_left else offset


@compiled
def chosen_bit(rows: np.uint64, offset: int) -> np.uint64:
    """The lowest of these rows from `offset` on, or else the lowest of all; there is one."""
    later = rows & (ALL << np.uint64(offset))
    return lowest(later if later else rows)


@compiled
def pack_columns(rows: Any, columns: Any, octet: Any) -> None:
    """(left, right) bytes of 0 and 1 → (right,) words, row u at bit u; `octet` is scratch."""
    num_left, num_right = rows.shape
    for v in range(num_right):
        columns[v] = ZERO
    for first in range(0, num_left, 8):
        # Eight rows become one byte of each column: every line is a loop over bytes in a row.
        for v in range(num_right):
            octet[v] = 0
        for u in range(min(first + 8, num_left) - 1, first - 1, -1):
            for v in range(num_right):
                octet[v] = np.uint8(octet[v] + octet[v] + rows[u, v])
        for v in range(num_right):
            columns[v] |= np.uint64(octet[v]) << np.uint64(first)


class Words(NamedTuple):
    """One graph as words, and what is known of its nodes."""

    columns: Any
    """(right,): the rows of each column."""
    likes: Any
    """(right,): the number of each column modulo the rows."""
    mate_bit: Any
    """(right,): the row of each matched column; 0 for a free one."""
    levels: Any
    """(left + 2,): the rows first reached at each level of the present search."""
    free: Any
    """(2,): the free rows, the free columns."""
    octet: Any
    """(right,): scratch for packing."""

    @classmethod
    def of(cls, num_left: int, num_right: int) -> Words:
        """Allocate; what is allocated in compiled code takes long to compile."""
        likes = np.arange(num_right) % max(num_left, 1)
        columns, mate_bit = np.zeros((2, num_right), np.uint64)
        levels, free = np.zeros(num_left + 2, np.uint64), np.zeros(2, np.uint64)
        return cls(columns, likes, mate_bit, levels, free, np.zeros(num_right, np.uint8))


@compiled
def match_words(adjacency: Any, words: Words, mates: Any, rounds: Any) -> None:
    """Match graphs with at most 64 nodes a side.

    Args:
        adjacency: (graph, left, right) bytes, 0 or 1.
        words: for graphs of this size; changed.
        mates: (graph, left), gets the column of each row or −1.
        rounds: (graph,), gets the number of rounds that applied a path.
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
def _match_adjacent(columns: Any, likes: Any, free: Any, mate: Any, mate_bit: Any) -> int:
    """All rounds of paths of three arcs: every free column chooses a free row, first come."""
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
            if rows:  # or else never again, for free rows only get fewer
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
    """Keep the first of each free row's columns, and take both from the free ones."""
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


@compiled
def count_edges(adjacency: Any, degree: Any) -> None:
    """(row, right) bytes of 0 and 1 → the sum of each row."""
    for row in range(len(adjacency)):
        total = np.int64(0)
        for v in range(adjacency.shape[1]):
            total += adjacency[row, v]
        degree[row] = total


@compiled
def list_edges(words: Any, num_left: int, num_right: int, indices: Any) -> None:
    """(row, word) of eight bytes each, 0 or 1 → the columns of each row, in order.

    Rows of graph g count columns from `g * num_right` on: graphs side by side.
    """
    place = 0
    for row in range(len(words)):
        first = row // num_left * num_right
        for k in range(words.shape[1]):
            word = words[row, k]
            while word:
                indices[place] = first + 8 * k + np.int64(lowest(word) >> np.uint64(3))
                place += 1
                word &= word - ONE


class Lists(NamedTuple):
    """Graphs side by side as lists, and what is known of their nodes."""

    indptr: Any
    """(row + 1,): where the columns of each row start."""
    indices: Any
    """(edge,): the columns."""
    start: Any
    """(column + 1,): where the rows of each column start."""
    rows: Any
    """(edge,): the rows, in order."""
    mates: Any
    """(row,): its column or −1."""
    mate_of: Any
    """(column,): its row or −1."""
    level_of: Any
    """(row,): its level in the present search, plus a base that no other search shares."""
    seen: Any
    """(column,): the base of the last search that reached it."""
    best: Any
    """(row,): the lowest column of a free row's subtree; −1 between rounds."""
    free_rows: Any
    free_columns: Any
    queue: Any
    """Rows in the order of their levels, then free rows whose subtrees hold a path."""
    hits: Any
    """Free columns at the sink's level."""

    @classmethod
    def of(cls, indptr: Any, indices: Any, num_right: int) -> Lists:
        """Allocate for these graphs; `start` and `rows` are filled by `transpose`."""
        num_left = len(indptr) - 1
        return cls(
            indptr,
            indices,
            np.zeros(num_right + 2, np.int64),
            np.empty(len(indices), np.int32),
            np.full(num_left, -1, np.int32),
            np.full(num_right, -1, np.int32),
            np.zeros(num_left, np.int64),
            np.zeros(num_right, np.int64),
            np.full(num_left, -1, np.int32),
            np.empty(num_left, np.int32),
            np.empty(num_right, np.int32),
            np.empty(num_left, np.int32),
            np.empty(num_right, np.int32),
        )


@compiled
def transpose(indptr: Any, indices: Any, start: Any, rows: Any) -> None:
    """List the rows of each column; `start` holds 0 and has one more entry than it needs."""
    for k in range(len(indices)):
        start[indices[k] + 2] += 1
    for v in range(2, len(start)):
        start[v] += start[v - 1]
    # Now start[v + 1] is where column v starts, and is moved to its end while that is filled.
    for u in range(len(indptr) - 1):
        for k in range(indptr[u], indptr[u + 1]):
            place = start[indices[k] + 1]
            rows[place] = u
            start[indices[k] + 1] = place + 1


@compiled
def match_lists(lists: Lists, left_start: Any, right_start: Any, rounds: Any) -> None:
    """Match graphs of any size that lie side by side; each is run as if it were alone.

    Args:
        lists: the graphs, the columns of a row in any order; `mates` gets the answer.
        left_start: (graph + 1,), where the rows of each graph start.
        right_start: (graph + 1,), where its columns start.
        rounds: (graph,), gets the number of rounds that applied a path.
    """
    transpose(lists.indptr, lists.indices, lists.start, lists.rows)
    for graph in range(len(left_start) - 1):
        low, high = left_start[graph], left_start[graph + 1]
        first, last = right_start[graph], right_start[graph + 1]
        number, num_columns = _match_neighbours(lists, low, high, first, last)
        num_rows = 0
        for u in range(low, high):
            if lists.mates[u] < 0 and lists.indptr[u] < lists.indptr[u + 1]:
                lists.free_rows[num_rows] = u
                num_rows += 1
        base, least = number + 2, 1
        while num_rows and num_columns:
            level, num_hits = _search_lists(lists, num_rows, num_columns, base, least)
            if not num_hits:
                break
            shift = turn(number, high - low)
            _augment_lists(lists, num_hits, base, level, (low, high - low, first, shift))
            num_rows = _still_free(lists.free_rows, num_rows, lists.mates)
            num_columns = _still_free(lists.free_columns, num_columns, lists.mate_of)
            base, least = base + level + 2, level  # above all that this search has set
            number += 1
        rounds[graph] = number


@compiled
def _match_neighbours(lists: Lists, low: int, high: int, first: int, last: int) -> Any:
    """All rounds of paths of three arcs; returns their number and that of the free columns left.

    Meanwhile the level of a row is 0 if it is free, or 1 + the round in which it was matched.
    """
    num_pending, num_columns, number = 0, 0, 0
    for v in range(first, last):
        if lists.start[v] < lists.start[v + 1]:
            lists.free_columns[num_pending] = v
            num_pending += 1
    while num_pending:
        num_kept, is_new = 0, False
        shift = turn(number, high - low)
        for k in range(num_pending):
            v = lists.free_columns[k]
            offset = low + offset_of((v - first) % (high - low), shift, high - low)
            u = _free_neighbour(lists, v, offset, number)
            if u < 0:  # and never again, for free rows only get fewer
                lists.hits[num_columns] = v
                num_columns += 1
            elif lists.level_of[u] == 0:
                lists.level_of[u] = number + 1
                lists.mates[u] = v
                lists.mate_of[v] = u
                is_new = True
            else:
                lists.free_columns[num_kept] = v
                num_kept += 1
        num_pending = num_kept
        number += is_new
    for k in range(num_columns):
        lists.free_columns[k] = lists.hits[k]
    return number, num_columns


@compiled
def _free_neighbour(lists: Lists, v: int, offset: int, number: int) -> int:
    """The row that column v prefers among those that were free when the round began, or −1."""
    chosen = -1
    for j in range(lists.start[v], lists.start[v + 1]):
        u = lists.rows[j]
        if lists.level_of[u] == 0 or lists.level_of[u] == number + 1:
            if u >= offset:
                return u
            if chosen < 0:
                chosen = u
    return chosen


@compiled
def _adjacent_columns(lists: Lists, num_columns: int, level: int) -> int:
    """Put the free columns with a neighbour at this level among the hits; return their number."""
    num_hits = 0
    for k in range(num_columns):
        v = lists.free_columns[k]
        for j in range(lists.start[v], lists.start[v + 1]):
            if lists.level_of[lists.rows[j]] == level:
                lists.hits[num_hits] = v
                num_hits += 1
                break
    return num_hits


@compiled
def _search_lists(lists: Lists, num_rows: int, num_columns: int, base: int, least: int) -> Any:
    """Set the levels of rows; return the last and how many free columns are adjacent to it."""
    for k in range(num_rows):
        lists.queue[k] = lists.free_rows[k]
        lists.level_of[lists.free_rows[k]] = base
    head, tail, level, num_hits = 0, num_rows, 0, 0
    while head < tail:
        if level >= least and num_columns < tail - head:
            # Few columns are free: to ask them first may save the widest level.
            num_hits = _adjacent_columns(lists, num_columns, base + level)
            if num_hits:
                return level, num_hits
        end = tail
        for k in range(head, end):
            u = lists.queue[k]
            for j in range(lists.indptr[u], lists.indptr[u + 1]):
                v = lists.indices[j]
                if lists.seen[v] != base:
                    lists.seen[v] = base
                    row = lists.mate_of[v]
                    if row >= 0:
                        lists.level_of[row] = base + level + 1
                        lists.queue[tail] = row
                        tail += 1
                    else:
                        lists.hits[num_hits] = v
                        num_hits += 1
        if num_hits:
            return level, num_hits
        head = end
        level += 1
    return level, 0


@compiled
def _predecessor(lists: Lists, v: int, level: int, place: Any) -> int:
    """The row of this level that column v prefers; `place` is (first row, rows, …, turn)."""
    low, num_left, first, shift = place
    offset = low + offset_of((v - first) % num_left, shift, num_left)
    chosen = -1
    for j in range(lists.start[v], lists.start[v + 1]):
        u = lists.rows[j]
        if lists.level_of[u] == level:
            if u >= offset:
                return u
            if chosen < 0:
                chosen = u
    return chosen


@compiled
def _augment_lists(lists: Lists, num_hits: int, base: int, level: int, place: Any) -> None:
    """Apply the path to the lowest column of each subtree; subtrees are disjoint."""
    num_roots = 0
    for k in range(num_hits):
        v, u = np.int64(lists.hits[k]), np.int64(-1)
        for step in range(level, -1, -1):
            u = np.int64(_predecessor(lists, v, base + step, place))
            v = np.int64(lists.mates[u])
        if lists.best[u] < 0:
            lists.queue[num_roots] = u
            num_roots += 1
            lists.best[u] = lists.hits[k]
        elif lists.hits[k] < lists.best[u]:
            lists.best[u] = lists.hits[k]
    for k in range(num_roots):
        v = np.int64(lists.best[lists.queue[k]])
        lists.best[lists.queue[k]] = -1
        for step in range(level, -1, -1):
            u = _predecessor(lists, v, base + step, place)
            before = np.int64(lists.mates[u])
            lists.mates[u] = v
            lists.mate_of[v] = u
            v = before


@compiled
def _still_free(nodes: Any, count: int, mates: Any) -> int:
    kept = 0
    for k in range(count):
        if mates[nodes[k]] < 0:
            nodes[kept] = nodes[k]
            kept += 1
    return kept


class Arcs(NamedTuple):
    """Flow networks side by side; see `classical.batch`."""

    sender: Any
    receiver: Any
    residual: Any
    order: Any
    """(arc,): the arcs, sorted by sender."""
    start: Any
    """(node + 1,): where the arcs of each node start among these."""
    level_of: Any
    """(node,): its level in the present search, plus a base that no other search shares."""
    queue: Any
    entry: Any
    """(node,): the arc into the sink that the subtree of a child of the source was given, or −1."""


@compiled
def weight_of(number: int, arc: int) -> np.int64:
    """As `ties.mixed`."""
    word = ((np.uint64(arc) << TWENTY) + np.uint64(number)) * MULTIPLIER
    word = (word ^ (word >> HALF)) * MULTIPLIER
    return np.int64((word >> HALF) % MAX_WEIGHT) + 1


@compiled
def push_flows(arcs: Arcs, arc_start: Any, source: Any, sink: Any, rounds: Any) -> None:
    """Turn the residual of each network into that of a maximum flow.

    Args:
        arcs: `residual` is changed, `entry` holds −1, `level_of` holds 0.
        arc_start: (graph + 1,), where the arcs of each graph start.
        source: (graph,).
        sink: (graph,).
        rounds: (graph,), gets the number of rounds that applied a path.
    """
    for graph in range(len(source)):
        number, base = 0, 1
        ends = (source[graph], sink[graph], arc_start[graph])
        while True:
            level = _search_arcs(arcs, ends, base)
            if level < 0:
                break
            _augment_arcs(arcs, ends, base, level, number)
            base += level + 2
            number += 1
        rounds[graph] = number


@compiled
def _search_arcs(arcs: Arcs, ends: Any, base: int) -> int:
    """Set the levels of nodes; return that of the nodes before the sink, −1 if it is not reached.

    Levels of one network stay below those of its next search, and networks share no node.
    """
    arcs.queue[0] = ends[0]
    arcs.level_of[ends[0]] = base
    head, tail, level = 0, 1, 0
    while head < tail:
        end = tail
        for k in range(head, end):
            node = arcs.queue[k]
            for j in range(arcs.start[node], arcs.start[node + 1]):
                arc = arcs.order[j]
                other = arcs.receiver[arc]
                if arcs.residual[arc] > 0 and arcs.level_of[other] < base:
                    if other == ends[1]:
                        return level
                    arcs.level_of[other] = base + level + 1
                    arcs.queue[tail] = other
                    tail += 1
        head = end
        level += 1
    return -1


@compiled
def _best_arc(arcs: Arcs, node: int, level: int, first: int, number: int) -> int:
    """The usable arc into the node from this level: least weight, the lowest among equals."""
    chosen, least = -1, MAX_WEIGHT + ONE
    for j in range(arcs.start[node], arcs.start[node + 1]):
        arc = arcs.order[j] ^ 1
        if arcs.residual[arc] > 0 and arcs.level_of[arcs.sender[arc]] == level:
            weight = np.uint64(weight_of(number, arc - first))
            if weight < least:
                chosen, least = arc, weight
    return chosen


@compiled
def _augment_arcs(arcs: Arcs, ends: Any, base: int, level: int, number: int) -> None:
    """Send what each path can carry; the sink's own choice comes first, then the lowest arcs."""
    _, sink, first = ends
    own = _best_arc(arcs, sink, base + level, first, number)
    num_roots = 0
    for j in range(arcs.start[sink] - 1, arcs.start[sink + 1]):
        entry = own if j < arcs.start[sink] else arcs.order[j] ^ 1
        if arcs.residual[entry] > 0 and arcs.level_of[arcs.sender[entry]] == base + level:
            root = np.int64(arcs.sender[entry])
            for step in range(level - 1, 0, -1):
                root = np.int64(arcs.sender[_best_arc(arcs, root, base + step, first, number)])
            if arcs.entry[root] < 0:
                arcs.entry[root] = entry
                arcs.queue[num_roots] = root
                num_roots += 1
    for k in range(num_roots):
        entry = np.int64(arcs.entry[arcs.queue[k]])
        arcs.entry[arcs.queue[k]] = -1
        amount, arc = arcs.residual[entry], entry
        for step in range(level - 1, -1, -1):
            arc = np.int64(_best_arc(arcs, arcs.sender[arc], base + step, first, number))
            amount = min(amount, arcs.residual[arc])
        arc = entry
        for step in range(level - 1, -2, -1):
            # Look up the arc before this one while the residuals are still those of the search.
            before = np.int64(-1)
            if step >= 0:
                before = np.int64(_best_arc(arcs, arcs.sender[arc], base + step, first, number))
            arcs.residual[arc] -= amount
            arcs.residual[arc ^ 1] += amount
            arc = before
