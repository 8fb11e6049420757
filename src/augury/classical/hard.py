"""A random generator and a number of arcs become a graph that is hard, or usual in practice.

These are the families on which solvers of flows and matchings are compared: those of the
literature, each docstring naming the authors, and some of everyday use. The same seed gives the
same graph. The number of arcs or edges is approximate: most families grow in steps, and duplicates
count once. Capacities and flows fit in int32 up to ten million arcs, as SciPy requires.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.classical.arrays import WideArray
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork

Rng = np.random.Generator
Picture = npt.NDArray[np.float64]
Columns = tuple[Any, Any, Any]
"""Tails, heads and capacities of arcs; a single number stands for its whole column."""

LARGEST = 10_000
"""Capacities are drawn from 1 to this, unless a family says otherwise."""


def mesh(rng: Rng, arcs: int) -> FlowNetwork:
    """Make many levels of 64 nodes, three arcs from each to the nearest nodes of the next level.

    Washington generator, mesh: R. Anderson et al., DIMACS 1990.
    """
    return _levels(rng, *_oblong(arcs), lambda row: row[:, None] + np.arange(-1, 2))


def rlg_long(rng: Rng, arcs: int) -> FlowNetwork:
    """Make many levels of 64 nodes, three arcs from each to random nodes of the next level.

    Washington generator, random level graph, long: R. Anderson et al., DIMACS 1990.
    """
    width, depth = _oblong(arcs)
    return _levels(rng, width, depth, lambda row: rng.integers(0, width, (len(row), 3)))


def rlg_wide(rng: Rng, arcs: int) -> FlowNetwork:
    """Make 64 wide levels, three arcs from each node to random nodes of the next level.

    Washington generator, random level graph, wide: R. Anderson et al., DIMACS 1990.
    """
    depth, width = _oblong(arcs)
    return _levels(rng, width, depth, lambda row: rng.integers(0, width, (len(row), 3)))


def line(rng: Rng, arcs: int) -> FlowNetwork:
    """Put nodes on a line, from each arcs to random nodes not far ahead; 4 nodes at either end.

    Washington generator, basic line, moderate: R. Anderson et al., DIMACS 1990. The degree is a
    quarter of the square root of the number of nodes.
    """
    nodes = max(16, int((4 * arcs) ** (2 / 3)))
    degree, width = max(2, isqrt(nodes) // 4), 4
    node = np.repeat(1 + np.arange(nodes), degree)
    ahead = node + rng.integers(1, width * degree + 1, len(node))
    is_arc = ahead <= nodes
    largest = 1_000_000
    capacity = rng.integers(1, largest + 1, len(node))
    inner = node[is_arc], ahead[is_arc], capacity[is_arc]
    first = 1 + np.arange(width)
    ends = (0, first, 20 * largest), (nodes + 1 - first, nodes + 1, 20 * largest)
    return _network(nodes + 2, [inner, *ends], nodes + 1)


def dinic_bad(rng: Rng, arcs: int) -> FlowNetwork:
    """Put nodes on a line, each with an arc of capacity 1 to the sink; nothing is random.

    Every path that is found is longer than the last. Washington generator, bad case for Dinic:
    R. Anderson et al., DIMACS 1990.
    """
    nodes = max(3, arcs // 2)
    node = np.arange(nodes - 1)
    return _network(nodes, [(node, node + 1, nodes), (node[:-1], nodes - 1, 1)], nodes - 1)


def rmf_long(rng: Rng, arcs: int) -> FlowNetwork:
    """Make many square frames, each joined to the next by a random permutation of its nodes.

    GENRMF, long: Goldfarb & Grigoriadis 1988. There are as many frames as nodes in a frame.
    """
    side = max(2, round((arcs / 5) ** (1 / 4)))
    return _frames(rng, side, side * side)


def rmf_wide(rng: Rng, arcs: int) -> FlowNetwork:
    """Make few square frames, each joined to the next by a random permutation of its nodes.

    GENRMF, wide: Goldfarb & Grigoriadis 1988. The number of frames is the square root of the side.
    """
    frames = max(2, round((arcs / 5) ** (1 / 5)))
    return _frames(rng, max(2, round((arcs / 5 / frames) ** 0.5)), frames)


def ak(rng: Rng, arcs: int) -> FlowNetwork:
    """Join two lines on which every path is longer than the last; nothing is random.

    AK generator: Cherkassky & Goldberg 1997, hard for Dinic's method and for push-relabel.
    """
    n = max(2, arcs // 6)
    place = np.arange(n)
    one = 2 + place  # a line with an arc from each node to the start of another one
    other = n + 3 + place
    parts = [
        (one, one + 1, n + 1 - place), (one, n + 3, 1), (other, other + 1, n + 1),
        (n + 2, [n + 3, 2 * n + 3], 1),
    ]  # fmt: skip
    first = 2 * n + 4  # a line with shortcuts of all lengths
    along = first + np.arange(2 * n + 1)
    last = first + 2 * n + 1
    parts += [(along, along + 1, n), (first + place, last - place, 1)]
    parts += [(0, [2, first], 2 * n), ([2 * n + 3, last], 1, 2 * n)]
    return _network(last + 1, parts, 1)


def acyclic(rng: Rng, arcs: int) -> FlowNetwork:
    """Join each node to every later one.

    Acyclic dense: Setubal's generator AC, DIMACS 1991.
    """
    nodes = max(3, isqrt(2 * arcs))
    tail, head = np.triu_indices(nodes, 1)
    return _network(nodes, [(tail, head, rng.integers(1, 100_001, len(tail)))], nodes - 1)


def transport(rng: Rng, arcs: int) -> FlowNetwork:
    """Join every supplier to every customer; supplies, demands and what is carried are limited."""
    side = max(2, isqrt(arcs))
    supplier, customer = np.divmod(np.arange(side * side), side)
    supply, demand = rng.integers(1, 1001, (2, side))
    parts = [
        (0, 1 + np.arange(side), supply),
        (1 + supplier, 1 + side + customer, rng.integers(0, 21, side * side)),
        (1 + side + np.arange(side), 2 * side + 1, demand),
    ]
    return _network(2 * side + 2, parts, 2 * side + 1)


def budget(rng: Rng, arcs: int) -> FlowNetwork:
    """Let eight rich buyers bid for many items, four for each: few arcs from the source."""
    buyers, items = 8, max(2, arcs // 5)
    buyer = np.argsort(rng.random((items, buyers)), axis=1)[:, :4].ravel()
    item = np.repeat(np.arange(items), 4)
    price = rng.integers(1, 101, items)
    bid = rng.integers(1, 51, len(item))
    purse = rng.integers(items, 10 * items, buyers)  # some buyers are short of money, some are not
    parts = [
        (0, 1 + np.arange(buyers), purse),
        (1 + buyer, 1 + buyers + item, bid),
        (1 + buyers + np.arange(items), items + buyers + 1, price),
    ]
    return _network(items + buyers + 2, parts, items + buyers + 1)


def segmentation(rng: Rng, arcs: int) -> FlowNetwork:
    """Tell discs from their background in a noisy picture: every pixel has an opinion.

    Arcs to the four neighbours cost least to cut where brightness changes (Boykov & Jolly 2001).
    """
    side = max(4, isqrt(arcs // 5))
    bright, pixel = _picture(rng, side), 1 + np.arange(side * side)
    opinion = np.rint(200 * (bright.ravel() - 0.5)).astype(np.int64)
    is_object = opinion > 0
    parts = [
        *_neighbours(bright),
        (0, pixel[is_object], opinion[is_object]),
        (pixel[~is_object], side * side + 1, -opinion[~is_object]),
    ]
    return _network(side * side + 2, parts, side * side + 1)


def scribbles(rng: Rng, arcs: int) -> FlowNetwork:
    """Tell one half of a noisy picture with discs from the other, given a line in each.

    Few pixels are joined to the source or the sink, and paths are long (Boykov & Jolly 2001).
    """
    side = max(4, isqrt(arcs // 4))
    across = 1 + np.arange(side)
    above, below = across + side * (side // 8), across + side * (side - 1 - side // 8)
    parts = [*_neighbours(_picture(rng, side)), (0, above, 1000), (below, side * side + 1, 1000)]
    return _network(side * side + 2, parts, side * side + 1)


def roads(rng: Rng, arcs: int) -> FlowNetwork:
    """Leave the middle of a town for its edge: streets both ways, some missing, avenues wider."""
    side = max(4, isqrt(arcs // 4))
    crossing = np.arange(side * side).reshape(side, side)
    parts: list[Columns] = []
    for grid in (crossing, crossing.T):
        lanes = rng.integers(1, 3, (side, side - 1))
        lanes[::16] += 4
        lanes[rng.random(lanes.shape) < 0.15] = 0
        one, other = 1 + grid[:, :-1], 1 + grid[:, 1:]
        parts += [(one, other, lanes), (other, one, lanes)]
    quarter = slice(3 * side // 8, 5 * side // 8 + 1)
    middle = 1 + crossing[quarter, quarter].ravel()
    border = 1 + np.concatenate([*crossing[[0, -1]], *crossing[1:-1, [0, -1]].T])
    cars = rng.integers(0, 3, len(middle))
    parts += [(0, middle, cars), (border, side * side + 1, 100)]
    return _network(side * side + 2, parts, side * side + 1)


def unit_flow(rng: Rng, arcs: int) -> FlowNetwork:
    """Draw arcs of capacity 1 between random nodes, four to a node; a sixteenth are at each end."""
    nodes = max(16, arcs // 4)
    tail, head = rng.integers(1, nodes + 1, (2, arcs))
    starts, stops = rng.permutation(nodes)[: 2 * (nodes // 16)].reshape(2, -1) + 1
    key = np.unique(tail * (nodes + 2) + head)
    inner = *np.divmod(key, nodes + 2), 1
    return _network(nodes + 2, [inner, (0, starts, 4), (stops, nodes + 1, 4)], nodes + 1)


def random_flow(rng: Rng, arcs: int) -> FlowNetwork:
    """Draw arcs between random nodes, five to a node; a hundredth of the nodes are at each end."""
    nodes = max(16, arcs // 5)
    tail, head = rng.integers(1, nodes + 1, (2, arcs))
    starts, stops = rng.permutation(nodes)[: 2 * (1 + nodes // 100)].reshape(2, -1) + 1
    inner = tail, head, rng.integers(1, 1001, arcs)
    return _network(nodes + 2, [inner, (0, starts, 5000), (stops, nodes + 1, 5000)], nodes + 1)


def chains(rng: Rng, edges: int) -> BipartiteGraph:
    """Make paths of 1, 2, 3, … pairs, numbered so that whoever takes the first node errs.

    Then each path can be augmented once, over its whole length: as many phases as paths.
    """
    return _strips(rng, isqrt(edges), (0, 1))


def ladders(rng: Rng, edges: int) -> BipartiteGraph:
    """Make ladders of 1, 2, 3, … rungs, numbered as the paths of `chains`."""
    return _strips(rng, isqrt(2 * edges // 3), (-1, 0, 1))


def hilo(rng: Rng, edges: int) -> BipartiteGraph:
    """Join 32 groups so that just one matching is perfect; nodes are in random order.

    Hi-lo: Cherkassky, Goldberg, Martin, Setubal, Stolfi 1998, degrees of up to 22.
    """
    reach = 10
    groups = max(2, min(32, edges // (4 * reach * (reach + 1))))
    size = max(1, edges // (2 * groups * (reach + 1)))
    group, place = (index.ravel() for index in np.indices((groups, size)))
    back, onwards = (index.reshape(-1, 1) for index in np.indices((reach + 1, 2)))
    is_edge = (group + onwards < groups) & (place >= back)  # (way to go, node)
    node = np.broadcast_to(group * size + place, is_edge.shape)
    left, right = node[is_edge], (node + onwards * size - back)[is_edge]
    n = groups * size
    return BipartiteGraph(n, n, rng.permutation(n)[left], rng.permutation(n)[right])


def few_groups(rng: Rng, edges: int) -> BipartiteGraph:
    """Join nodes to random ones of the same and the two adjacent groups of 32.

    Fewg: Cherkassky, Goldberg, Martin, Setubal, Stolfi 1998, mean degree 5.
    """
    return _groups(rng, edges, 32)


def many_groups(rng: Rng, edges: int) -> BipartiteGraph:
    """Join nodes to random ones of the same and the two adjacent groups of 256.

    Manyg: Cherkassky, Goldberg, Martin, Setubal, Stolfi 1998, mean degree 5.
    """
    return _groups(rng, edges, 256)


def zipf(rng: Rng, edges: int) -> BipartiteGraph:
    """Let each left node want four right nodes, drawn by Zipf's law: a few are wanted by most."""
    n = max(4, edges // 4)
    share = np.cumsum(1 / np.arange(1, n + 1))
    wanted = np.searchsorted(share, rng.random(4 * n) * share[-1:], side="right")
    return BipartiteGraph(n, n, np.repeat(np.arange(n), 4), rng.permutation(n)[wanted])


def grid(rng: Rng, edges: int) -> BipartiteGraph:
    """Join the black and the white squares of a board that share a side; nothing is random."""
    side = max(2, isqrt(edges // 2))
    row, column = np.indices((side, side))
    is_white = (row + column) % 2 == 1
    number = np.where(is_white.ravel(), np.cumsum(is_white), np.cumsum(~is_white)) - 1
    number = number.reshape(side, side)
    one = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    other = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    swap = np.concatenate([is_white[:, :-1].ravel(), is_white[:-1].ravel()])
    left, right = np.where(swap, other, one), np.where(swap, one, other)
    return BipartiteGraph((side * side + 1) // 2, side * side // 2, left, right)


def random_edges(rng: Rng, edges: int) -> BipartiteGraph:
    """Draw edges between random nodes, three to a left node."""
    n = max(1, edges // 3)
    return BipartiteGraph(n, n, *rng.integers(0, n, (2, edges)))


FLOWS: tuple[Callable[[Rng, int], FlowNetwork], ...] = (
    mesh, rlg_long, rlg_wide, line, dinic_bad, rmf_long, rmf_wide, ak, acyclic, transport, budget,
    segmentation, scribbles, roads, unit_flow, random_flow,
)  # fmt: skip
MATCHINGS: tuple[Callable[[Rng, int], BipartiteGraph], ...] = (
    chains, ladders, hilo, few_groups, many_groups, zipf, grid, random_edges,
)  # fmt: skip

HARD_FLOWS = {make.__name__.replace("_", "-"): make for make in FLOWS}
HARD_MATCHINGS = {make.__name__.replace("_", "-"): make for make in MATCHINGS}
"""The families by name."""


def _network(nodes: int, parts: list[Columns], sink: int) -> FlowNetwork:
    """Join columns of arcs; node 0 is the source."""
    columns = [[part.ravel() for part in np.broadcast_arrays(*columns)] for columns in parts]
    arcs = (np.concatenate(column) for column in zip(*columns, strict=True))
    return FlowNetwork.from_arcs(nodes, *arcs, source=0, sink=sink)


def _oblong(arcs: int) -> tuple[int, int]:
    """Return 64 and what is left for the other side, with three arcs to a node; small: a square."""
    short = max(2, min(64, isqrt(arcs // 3)))
    return short, max(2, arcs // (3 * short))


def _levels(rng: Rng, width: int, depth: int, heads: Callable[[WideArray], Any]) -> FlowNetwork:
    """Join each node to three of the next level; `heads` tells which rows, for rows in order."""
    level, row = (index.ravel() for index in np.indices((depth - 1, width)))
    head = 1 + (level[:, None] + 1) * width + heads(row) % width
    tail = 1 + level[:, None] * width + row[:, None]
    sink = width * depth + 1
    rows = np.arange(width)
    parts: list[Columns] = [
        (0, 1 + rows, 3 * LARGEST),
        (tail, head, rng.integers(1, LARGEST + 1, head.shape)),
        (sink - 1 - rows, sink, 3 * LARGEST),
    ]
    return _network(sink + 1, parts, sink)


def _frames(rng: Rng, side: int, frames: int) -> FlowNetwork:
    """Make frames of side × side nodes: all can pass within a frame, little to the next one."""
    area = side * side
    node = np.arange(frames * area).reshape(frames, side, side)
    enough = LARGEST * area
    parts: list[Columns] = []
    for one, other in ((node[:, :-1], node[:, 1:]), (node[:, :, :-1], node[:, :, 1:])):
        parts += [(one, other, enough), (other, one, enough)]
    order = rng.permuted(np.tile(np.arange(area), (frames - 1, 1)), axis=1)
    ahead = node[1:].reshape(frames - 1, area)[np.arange(frames - 1)[:, None], order]
    capacity = rng.integers(1, LARGEST + 1, ahead.shape)
    parts.append((node[:-1].reshape(frames - 1, area), ahead, capacity))
    return _network(frames * area, parts, frames * area - 1)


def _picture(rng: Rng, side: int) -> Picture:
    """Draw discs on a background, brightness 0 to 1, and noise."""
    row, column = np.ogrid[:side, :side]
    bright = np.zeros((side, side))
    for y, x, radius in rng.random((12, 3)) * side:
        bright[(row - y) ** 2 + (column - x) ** 2 < (side / 16 + radius / 8) ** 2] = 1
    return bright + rng.normal(0, 0.3, bright.shape)


def _neighbours(bright: Picture) -> list[Columns]:
    """Return arcs both ways between neighbouring pixels, which are nodes from 1 on."""
    node = 1 + np.arange(bright.size).reshape(bright.shape)
    parts: list[Columns] = []
    for pixel, shade in ((node, bright), (node.T, bright.T)):
        change = shade[1:] - shade[:-1]
        alike = np.rint(1 + 99 * np.exp(-8 * change**2)).astype(np.int64)
        parts += [(pixel[1:], pixel[:-1], alike), (pixel[:-1], pixel[1:], alike)]
    return parts


def _strips(rng: Rng, count: int, offsets: tuple[int, ...]) -> BipartiteGraph:
    """Make strips of 1, 2, … count pairs, in random order; see `generate` for a single one.

    Left i of a strip is joined to right i + offset, and the rights of a strip are numbered
    backwards: taken in order, left i takes right i + 1, and the last of the lefts finds none.
    """
    length = 1 + rng.permutation(max(1, count))
    first = np.repeat(np.cumsum(length) - length, length)
    length = np.repeat(length, length)
    node = np.arange(len(first))
    place = node - first + np.array(offsets)[:, None]  # (offset, node)
    exists = (place >= 0) & (place < length)
    left, right = np.broadcast_to(node, place.shape), first + length - 1 - place
    return BipartiteGraph(len(node), len(node), left[exists], right[exists])


def _groups(rng: Rng, edges: int, groups: int) -> BipartiteGraph:
    groups = max(1, min(groups, edges // 20))
    size = max(1, edges // (5 * groups))
    n = groups * size
    left = rng.integers(0, n, 5 * n)
    group = (left // size + rng.integers(-1, 2, len(left))) % groups
    return BipartiteGraph(n, n, left, group * size + rng.integers(0, size, len(left)))
