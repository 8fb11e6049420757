"""A batch becomes a search, or a whole phase of searches, in compiled loops that ask the cells.

They decide as `CellExecutor` does under the rounds of `classical.ford_fulkerson`, whatever decides
the cases and whatever it says: a bit may fall as well as rise, and a node may say "changed"
forever. What is decided depends on the case alone, so a node is asked again only when its case has
changed; until then its answers stand. To notice, each node counts the links that bring it each kind
of message. Graphs are independent, so each is run to its end before the next starts. Importing this
module needs numba.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from augury.algorithms.cells import FLOOD, LEAST, NEAREST, SUBTRACT, WEIGHT_BITS
from augury.cells.loops import Ready, compiled, decide, inner, ready
from augury.cells.table import Decider
from augury.classical.arrays import BoolArray, IntArray, WideArray, read_only
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import MAX_WEIGHT, Paths, Searches, Tree, WeightArray

FEW = 64
"""Paths, and arcs on them, that there is room for at first."""


class Given(NamedTuple):
    """What a search reads."""

    node_start: Any
    source: Any
    sink: Any
    order: Any
    """(arc,): the arcs sorted by sender, so that their reverses are sorted by receiver."""
    start: Any
    """(node + 1,): where each node's arcs start in `order`."""
    sender: Any
    """(arc,)"""
    receiver: Any
    """(arc,)"""
    weights: Any
    """(arc,): those of the present round."""
    scores: Any
    """(kind,): of the cell NEAREST, the highest is chosen."""


class Cells(NamedTuple):
    """The cells that are asked case by case."""

    flood: Ready
    least: Ready
    subtract: Ready
    scores: Any
    """(kind,): of the cell NEAREST."""
    is_lawful: bool
    """Whether all are known to decide by their rules."""


class Links(NamedTuple):
    """The arcs in the order in which nodes hear them; self loops are left out."""

    is_usable: Any
    """(arc,): by the arc's own number; so is `leads_on`."""
    leads_on: Any
    """(arc,): whether it is in the level graph of the phase."""
    sender: Any
    bits: Any
    """The weight, then whether the reverse is usable, then whether the arc is."""


class Nodes(NamedTuple):
    """What a search knows of each node."""

    is_reached: Any
    arc: Any
    """The arc by which it was last reached, −1 for none."""
    counts: Any
    """(node, kind): the links that bring it each kind of message."""
    says_changed: Any
    waiting: Any
    """The nodes to be asked in the next step come first."""
    is_waiting: Any
    flipped: Any
    """The nodes whose bit flips in this step come first."""


class Trees(NamedTuple):
    """What a phase knows of each node."""

    arc: Any
    """The arc by which the first search reached it."""
    level: Any
    """Its steps from the source in that tree, −1 for none."""
    by_level: Any
    """The nodes of each graph, in the order of their levels."""
    root: Any
    """The child of the source above it in the present tree, −1 for none, or the source itself."""
    depth: Any
    """How far above it that is."""
    entry: Any
    """The arc into the sink by which the path through this child of the source arrives, or −1."""
    chosen: Any
    """The entries that are taken come first."""
    way: Any
    """Nodes from one upwards."""


class Run(NamedTuple):
    """All that a phase reads and writes."""

    given: Given
    level_graph: Given
    """The same with fewer arcs, written after each graph's first search."""
    cells: Cells
    links: Links
    nodes: Nodes
    trees: Trees
    residual: Any


class Log(NamedTuple):
    """The paths of a phase so far; all arrays are longer than that."""

    graph: Any
    number: Any
    proposed: Any
    start: Any
    arcs: Any
    value: Any
    """What each of the arcs could carry."""
    own: Any
    """The last bits of each in the comparison."""
    kept: Any


@compiled
def _log(num_paths: int, num_arcs: int) -> Log:
    return Log(
        np.empty(num_paths, np.int64),
        np.empty(num_paths, np.int64),
        np.empty(num_paths, np.int64),
        np.zeros(num_paths + 1, np.int64),
        np.empty(num_arcs, np.int64),
        np.empty(num_arcs, np.int64),
        np.empty(num_arcs, np.int64),
        np.empty(num_arcs, np.int64),
    )


def cells_of(decider: Decider) -> Cells:
    """Prepare the cells, once for a run."""
    scores = np.asarray(decider.scores(NEAREST), np.float32)
    is_lawful = not decider.table.differences()
    flood, least, subtract = (ready(cell, decider) for cell in (FLOOD, LEAST, SUBTRACT))
    return Cells(flood, least, subtract, scores, is_lawful)


def flood(
    batch: Batch, is_usable: BoolArray, weights: WeightArray, cells: Cells
) -> tuple[IntArray, BoolArray, int]:
    """Return the arc by which each node was reached, −1 for none; which were; and the steps."""
    given, links, nodes = _laid_out(batch, weights.copy(), cells.scores)
    links.is_usable[:] = is_usable
    steps = _flood(given, cells.flood, links, nodes)
    return nodes.arc, nodes.is_reached, steps


def searches(
    batch: Batch, residual: WideArray, weights: WeightArray, cells: Cells, phases_from: int = 0
) -> Searches:
    """Run a phase of each graph with at least `phases_from` arcs, and rounds of all others.

    There is a row of weights for each round; a graph's rounds end early with one that led to
    nothing, or to something wrong.
    """
    trees = Trees(*np.full((len(Trees._fields), batch.num_nodes), -1, np.int32))
    is_done, rounds = np.zeros(batch.num_graphs, np.bool_), np.zeros(batch.num_graphs, np.int64)
    given, links, nodes = _laid_out(batch, np.empty(batch.num_arcs, np.uint8), cells.scores)
    level_graph = given._replace(order=given.order.copy(), start=given.start.copy())
    run = Run(given, level_graph, cells, links, nodes, trees, residual.copy())
    run.links.is_usable[:] = residual > 0
    told = is_done, rounds, _log.py_func(FEW, FEW)
    num_paths, log = _searches(run, read_only(weights), *told, phases_from)
    # Arrays that compiled code makes have dtypes of their own, with which `ufunc.at` is slow.
    log = Log(*(column.astype(np.int64) for column in log))
    start = log.start[: num_paths + 1]
    paths = Paths(log.graph[:num_paths], start, log.arcs[: start[-1]].astype(np.int32))
    found = log.number[:num_paths], log.proposed[:num_paths], log.kept[: start[-1]]
    return Searches(Tree(trees.arc), is_done, rounds, paths, *found)


def _laid_out(batch: Batch, weights: WeightArray, scores: Any) -> tuple[Given, Links, Nodes]:
    order, start = batch.by_sender
    node_start, source, sink = map(read_only, (batch.node_start, batch.source, batch.sink))
    ends = read_only(batch.sender), read_only(batch.receiver)
    lists = order.copy(), start.copy()
    given = Given(node_start, source, sink, *lists, *ends, weights, read_only(scores))
    count = batch.num_nodes
    nodes = Nodes(
        is_reached=np.zeros(count, np.bool_),
        arc=np.full(count, -1, np.int32),
        counts=np.zeros((count, len(FLOOD.kinds)), np.int32),
        says_changed=np.zeros(count, np.bool_),
        waiting=np.empty(count, np.int32),
        is_waiting=np.zeros(count, np.bool_),
        flipped=np.empty(count, np.int32),
    )
    kinds = np.bool_, np.bool_, np.int32, np.uint8
    links = Links(*(np.empty(batch.num_arcs, kind) for kind in kinds))
    return given, links, nodes


@compiled
def _flood(given: Given, cell: Ready, links: Links, nodes: Nodes) -> int:
    """Search every graph; return the steps of the longest search."""
    longest = 0
    for graph in range(len(given.source)):
        longest = max(longest, _search(given, cell, links, nodes, graph))
    return longest


@inner
def _search(given: Given, cell: Ready, links: Links, nodes: Nodes, graph: int) -> int:
    """Search one graph; return the steps."""
    first, end = given.node_start[graph], given.node_start[graph + 1]
    _sort(given, links, given.start[first], given.start[end])
    _listen(given, links, nodes, first, end)
    nodes.flipped[0] = given.source[graph]
    _flip(given, links, nodes, 1)  # before the first step, which asks every node
    for k in range(end - first):
        nodes.waiting[k] = first + k
        nodes.is_waiting[first + k] = True
    return _go_on(given, cell, links, nodes, graph, end - first)


@inner
def _resume(run: Run, graph: int) -> None:
    """Search again on the level graph: level by level, only nodes that have lost their arc.

    All others would decide as before, if the cells decide by their rules: a node that is not
    reached depends only on arcs from reached nodes, and in a phase these only get fewer.
    """
    given, nodes, trees = run.level_graph, run.nodes, run.trees
    for k in range(given.node_start[graph], given.node_start[graph + 1]):
        node = trees.by_level[k]
        arc = nodes.arc[node]
        if arc < 0 or (run.links.is_usable[arc] and nodes.is_reached[given.sender[arc]]):
            continue
        nodes.is_reached[node], nodes.arc[node] = False, -1
        heard, best, score = 1, -1, np.float32(-np.inf)  # it hears itself
        for link in range(given.start[node], given.start[node + 1]):
            out = given.order[link]
            sender = given.receiver[out]
            is_before = trees.level[sender] < trees.level[node]  # the others come later
            kind = 2 * int(is_before and nodes.is_reached[sender])
            kind += int(run.links.is_usable[out ^ 1])
            heard |= 1 << kind
            other = given.scores[kind << WEIGHT_BITS | given.weights[out ^ 1]]
            if best < 0 or other > score:
                best, score = link, other
        if decide(run.cells.flood, 0, heard) & 1:
            nodes.is_reached[node] = True
            is_itself = best < 0 or given.scores[0] > score
            nodes.arc[node] = -1 if is_itself else given.order[best] ^ 1


@inner
def _go_on(
    given: Given, cell: Ready, links: Links, nodes: Nodes, graph: int, num_waiting: int
) -> int:
    """Go on with a search, given how many nodes are to be asked; return the steps."""
    num_changed, steps, highest = 0, 0, given.scores[0]
    for kind in range(len(given.scores)):
        highest = max(highest, given.scores[kind])
    most = given.node_start[graph + 1] - given.node_start[graph] - 1
    while True:
        num_flipped, num_changed = _decide(cell, nodes, num_waiting, num_changed)
        _latch(given, links, nodes, num_flipped, highest)
        num_waiting = _flip(given, links, nodes, num_flipped)
        steps += 1
        if num_changed == 0 or steps >= most:
            break
    nodes.arc[given.source[graph]] = -1
    for k in range(num_waiting):
        nodes.is_waiting[nodes.waiting[k]] = False
    return steps


@inner
def _sort(given: Given, links: Links, low: int, high: int) -> None:
    """Gather once, as memory is read fastest in order."""
    for link in range(low, high):
        out = given.order[link]
        links.sender[link] = given.receiver[out]
        usable = links.is_usable[out ^ 1] | links.is_usable[out] << 1
        links.bits[link] = given.weights[out ^ 1] << 2 | usable


@inner
def _listen(given: Given, links: Links, nodes: Nodes, first: int, end: int) -> None:
    """Count what each node hears while none is reached."""
    for node in range(first, end):
        usable = 0
        for link in range(given.start[node], given.start[node + 1]):
            usable += links.bits[link] & 1
        nodes.is_reached[node], nodes.says_changed[node], nodes.arc[node] = False, False, -1
        nodes.counts[node, 0] = given.start[node + 1] - given.start[node] - usable + 1  # itself
        nodes.counts[node, 1], nodes.counts[node, 2], nodes.counts[node, 3] = usable, 0, 0


@inner
def _decide(cell: Ready, nodes: Nodes, num_waiting: int, num_changed: int) -> Any:
    """Ask the waiting nodes; return how many flip, and how many of all say that they changed."""
    num_flipped = 0
    for k in range(num_waiting):
        node = nodes.waiting[k]
        nodes.is_waiting[node] = False
        heard = 0
        for kind in range(nodes.counts.shape[1]):
            heard |= (nodes.counts[node, kind] > 0) << kind
        said = decide(cell, int(nodes.is_reached[node]), heard)
        is_reached, changed = bool(said & 1), bool(said & 2)
        num_changed += int(changed) - int(nodes.says_changed[node])
        nodes.says_changed[node] = changed
        if is_reached != nodes.is_reached[node]:
            nodes.flipped[num_flipped] = node
            num_flipped += 1
    return num_flipped, num_changed


@inner
def _latch(given: Given, links: Links, nodes: Nodes, num_flipped: int, highest: Any) -> None:
    """Give each newly reached node its arc: the link of highest score, the first among equals."""
    for k in range(num_flipped):
        node = nodes.flipped[k]
        if nodes.is_reached[node]:
            continue
        best, score = -1, np.float32(-np.inf)
        for link in range(given.start[node], given.start[node + 1]):
            kind = 2 * int(nodes.is_reached[links.sender[link]]) + (links.bits[link] & 1)
            other = given.scores[kind << WEIGHT_BITS | links.bits[link] >> 2 & MAX_WEIGHT]
            if best < 0 or other > score:
                best, score = link, other
                if score == highest:
                    break
        # The self loop is the last link: kind 0, weight 0.
        nodes.arc[node] = -1 if best < 0 or given.scores[0] > score else given.order[best] ^ 1


@inner
def _flip(given: Given, links: Links, nodes: Nodes, num_flipped: int) -> int:
    """Flip bits and tell all hearers; return how many nodes now have another case."""
    num_waiting = 0
    for k in range(num_flipped):
        node = nodes.flipped[k]
        before = 2 * int(nodes.is_reached[node])
        after = 2 - before
        nodes.is_reached[node] = not nodes.is_reached[node]
        nodes.counts[node, before] -= 1  # by its self loop, which is not usable
        nodes.counts[node, after] += 1
        if not nodes.is_waiting[node]:
            nodes.is_waiting[node] = True
            nodes.waiting[num_waiting] = node
            num_waiting += 1
        for link in range(given.start[node], given.start[node + 1]):
            # It sends by the reverses of the links that it hears by.
            hearer, usable = links.sender[link], int(links.bits[link] >> 1 & 1)
            nodes.counts[hearer, before + usable] -= 1
            nodes.counts[hearer, after + usable] += 1
            gone = nodes.counts[hearer, before + usable] == 0
            is_new = nodes.counts[hearer, after + usable] == 1
            if (gone or is_new) and not nodes.is_waiting[hearer]:
                nodes.is_waiting[hearer] = True
                nodes.waiting[num_waiting] = hearer
                num_waiting += 1
    return num_waiting


@compiled
def _searches(  # the loop of `phases.searched`, in one
    run: Run, weights: Any, is_done: Any, rounds: Any, log: Log, phases_from: int
) -> Any:
    """Run a phase or rounds of every graph; return how many paths there are, and those."""
    nodes, trees, num_paths = run.nodes, run.trees, 0
    for graph in range(len(run.given.source)):
        given, search, goes_on = run.given, 0, True
        source, sink = given.source[graph], given.sink[graph]
        first, end = given.node_start[graph], given.node_start[graph + 1]
        low, high = given.start[first], given.start[end]
        is_large = high - low >= phases_from
        while goes_on:
            is_round = search == 0 or not is_large
            if is_round:  # a graph's arcs lie together, in either order
                given.weights[low:high] = weights[rounds[graph], low:high]
                rounds[graph] += 1
            if is_round or not run.cells.is_lawful:
                _search(given, run.cells.flood, run.links, nodes, graph)
            else:
                _resume(run, graph)
            if is_round:
                is_done[graph] = not nodes.is_reached[sink]
                trees.arc[first:end] = nodes.arc[first:end]
            if not nodes.is_reached[sink]:
                break
            _climb(given, nodes.arc, trees, graph)
            carried, is_right = 0, True
            for k in range(_choose(given, run.links.is_usable, nodes.arc[sink], trees, graph)):
                entry = trees.chosen[k]
                length = _length(given.sender, trees.depth, entry, source)
                log = _with_room(log, num_paths, length)
                log.graph[num_paths], log.number[num_paths] = graph, search
                log.start[num_paths + 1] = log.start[num_paths] + length
                _follow(given.sender, nodes.arc, log, num_paths, entry)
                is_right &= _carry(run, log, num_paths, not is_large)
                carried += log.proposed[num_paths]
                num_paths += 1
            # Anything wrong ends it, as the judge will end the run.
            goes_on = is_right and carried > 0 and (is_large or rounds[graph] < len(weights))
            if search == 0 and goes_on and is_large:
                _set_levels(given, nodes.arc, trees, graph)
                given = run.level_graph
                _narrow(run.given, given, run.links, trees.level, graph)
            search += 1
    return num_paths, log


@inner
def _narrow(given: Given, narrow: Given, links: Links, level: Any, graph: int) -> None:
    """Leave only the arcs that lead on towards the sink, and their reverses."""
    first, end, last = given.node_start[graph], given.node_start[graph + 1], given.sink[graph]
    for link in range(given.start[first], given.start[end]):
        arc = given.order[link]
        sender, receiver = given.sender[arc], given.receiver[arc]
        is_next = level[sender] >= 0 and level[receiver] == level[sender] + 1
        links.leads_on[arc] = is_next and (receiver == last or level[receiver] < level[last])
        links.is_usable[arc] &= links.leads_on[arc]
    place = given.start[first]
    for node in range(first, end):
        narrow.start[node] = place
        for link in range(given.start[node], given.start[node + 1]):
            arc = given.order[link]
            if links.leads_on[arc] or links.leads_on[arc ^ 1]:
                narrow.order[place] = arc
                place += 1
    narrow.start[end] = place


@inner
def _climb(given: Given, arc: Any, trees: Trees, graph: int) -> None:
    """Find the root above each node and its depth below it; see `ford_fulkerson`."""
    source = given.source[graph]
    first, end = given.node_start[graph], given.node_start[graph + 1]
    unknown, passed = -2, -3
    for node in range(first, end):
        trees.root[node], trees.depth[node] = unknown, 0
    trees.root[source], trees.root[given.sink[graph]] = source, -1
    for node in range(first, end):
        at, num_passed = node, 0
        while trees.root[at] == unknown:
            if arc[at] < 0:
                trees.root[at] = -1
            elif given.sender[arc[at]] == source:
                trees.root[at] = at
            else:
                trees.root[at] = passed
                trees.way[num_passed] = at
                num_passed += 1
                at = np.int64(given.sender[arc[at]])
        root = np.int64(-1) if trees.root[at] == passed else np.int64(trees.root[at])  # a circle
        for k in range(num_passed - 1, -1, -1):
            trees.root[trees.way[k]] = root
            trees.depth[trees.way[k]] = trees.depth[given.sender[arc[trees.way[k]]]] + 1


@inner
def _set_levels(given: Given, arc: Any, trees: Trees, graph: int) -> None:
    for node in range(given.node_start[graph], given.node_start[graph + 1]):
        trees.level[node] = trees.depth[node] + 1 if trees.root[node] >= 0 else -1
    sink = given.sink[graph]
    trees.level[given.source[graph]] = 0
    trees.level[sink] = trees.level[given.sender[arc[sink]]] + 1 if arc[sink] >= 0 else -1
    first, end = given.node_start[graph], given.node_start[graph + 1]
    for k in range(first, end):
        trees.way[k] = 0
    for node in range(first, end):
        trees.way[first + max(trees.level[node], 0)] += 1
    place = first
    for k in range(first, end):
        trees.way[k], place = place, place + trees.way[k]
    for node in range(first, end):
        k = first + max(trees.level[node], 0)
        trees.by_level[trees.way[k]] = node
        trees.way[k] += 1


@inner
def _choose(given: Given, is_usable: Any, own: int, trees: Trees, graph: int) -> int:
    """Choose the arcs into the sink by which paths arrive; see `ford_fulkerson`.

    For each subtree the sink's own choice, or else the nearest to the source; and of these only
    those with the shortest paths.
    """
    source, sink = given.source[graph], given.sink[graph]
    low, high = given.start[sink], given.start[sink + 1]
    for j in range(low - 1, high):
        entry = np.int64(own) if j < low else np.int64(given.order[j] ^ 1)
        if entry >= 0 and is_usable[entry] and trees.root[given.sender[entry]] >= 0:
            root = trees.root[given.sender[entry]]
            best, length = trees.entry[root], _length(given.sender, trees.depth, entry, source)
            is_nearer = best < 0 or length < _length(given.sender, trees.depth, best, source)
            if best < 0 or (is_nearer and best != own):
                trees.entry[root] = entry
    least, count = len(trees.root) + 1, 0
    for j in range(low - 1, high):
        entry = np.int64(own) if j < low else np.int64(given.order[j] ^ 1)
        root = trees.root[given.sender[entry]] if entry >= 0 else np.int32(-1)
        if root >= 0 and trees.entry[root] == entry:
            trees.entry[root] = -1
            length = _length(given.sender, trees.depth, entry, source)
            if length < least:
                least, count = length, 0
            if length == least:
                trees.chosen[count] = entry
                count += 1
    return count


@inner
def _length(sender: Any, depth: Any, entry: int, source: int) -> Any:
    """Return the length of the path by this arc into the sink."""
    return np.int64(1) if sender[entry] == source else np.int64(depth[sender[entry]] + 2)


@compiled
def _with_room(log: Log, num_paths: int, length: int) -> Log:
    """Return a log with room for a path; one that grows doubles."""
    end = log.start[num_paths]
    if num_paths < len(log.graph) and end + length <= len(log.arcs):
        return log
    new = _log(2 * len(log.graph), 2 * len(log.arcs) + length)
    for k in range(num_paths):
        new.graph[k], new.number[k] = log.graph[k], log.number[k]
        new.proposed[k], new.start[k + 1] = log.proposed[k], log.start[k + 1]
    for k in range(end):
        new.arcs[k], new.kept[k] = log.arcs[k], log.kept[k]
    return new


@inner
def _follow(sender: Any, pointers: Any, log: Log, path: int, entry: int) -> None:
    """Follow the predecessors back from the sink."""
    arc = np.int64(entry)
    for place in range(log.start[path + 1] - 1, log.start[path] - 1, -1):
        log.arcs[place] = arc
        arc = np.int64(pointers[sender[arc]])


@inner
def _carry(run: Run, log: Log, path: int, flows_back: bool) -> bool:
    """Ask for a path's bottleneck and for what its arcs keep; say whether the sums are right.

    In a phase nothing flows back: that would be a longer path.
    """
    cells, residual, is_usable = run.cells, run.residual, run.links.is_usable
    first, end = log.start[path], log.start[path + 1]
    for k in range(first, end):
        log.value[k] = residual[log.arcs[k]] if is_usable[log.arcs[k]] else 0
    amount = _least(cells.least, log, first, end)
    log.proposed[path] = amount
    is_right = True
    for k in range(first, end):
        log.kept[k] = _difference(cells.subtract, log.value[k], amount)
        is_right &= log.value[k] >= amount and log.kept[k] == log.value[k] - amount
    if is_right:
        for k in range(first, end):
            arc = log.arcs[k]
            residual[arc] -= amount
            is_usable[arc] = residual[arc] > 0
            if flows_back:
                residual[arc ^ 1] += amount
                is_usable[arc ^ 1] = residual[arc ^ 1] > 0
    return is_right


@inner
def _least(cell: Ready, log: Log, first: int, end: int) -> int:
    """Compare the values of a path from the top bit down; return the first that is left."""
    together, place = np.int64(0), 0
    for k in range(first, end):
        together |= log.value[k]
        log.own[k] = 2
    while together >> place:
        place += 1
    while place > 0:
        place -= 1
        heard = 0
        for k in range(first, end):
            log.own[k] = (log.own[k] & 2) | (log.value[k] >> place & 1)
            heard |= 1 << log.own[k]
        for k in range(first, end):
            log.own[k] = 2 * (decide(cell, log.own[k], heard) & 1)
    for k in range(first, end):
        if log.own[k]:
            return log.value[k]
    return log.value[first]


@inner
def _difference(cell: Ready, value: int, amount: int) -> Any:
    """Subtract bit by bit, from the bottom up, to the top bit of the larger number."""
    kept, borrow, place = np.int64(0), np.int64(0), 0
    while (value | amount) >> place:
        digits = (value >> place & 1) << 2 | (amount >> place & 1) << 1 | borrow
        said = decide(cell, digits, 0)
        kept |= (said & 1) << place
        borrow = said >> 1
        place += 1
    return kept
