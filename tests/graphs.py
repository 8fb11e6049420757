"""Small named graphs, and Hypothesis strategies for all others."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork

# ann ── cook      Whoever gives bob the first job that he can do leaves ann without one.
#      ╱
# bob ── sing
JOBS = BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("bob", "sing")])

# 0 ── 0     The star has 3 edges, and a matching of 1.
#   ╲
#     ─ 1
#   ╲
#     ─ 2
STAR = BipartiteGraph(1, 3, np.array([0, 0, 0]), np.array([0, 1, 2]))

# 0 ── 0     Left 2 and right 1 are isolated.
# 1 ── 2
# 2    1
ISOLATED = BipartiteGraph(3, 3, np.array([0, 1]), np.array([0, 2]))

NOTHING = BipartiteGraph(0, 0, np.zeros(0, np.int64), np.zeros(0, np.int64))

#      3      2
#   ┌────▶ a ────┐     The arc a → b must first carry flow and then give it back,
#   │      │1    ▼     if the first path is s a b t. Maximum 5 = 2 + 3.
#   s      ▼     t
#   │      b     ▲
#   └────▶   ────┘
#      2      3
BRIDGE = FlowNetwork.from_labelled_arcs(
    [("s", "a", 3), ("s", "b", 2), ("a", "b", 1), ("a", "t", 2), ("b", "t", 3)], "s", "t"
)

#   s ──7──▶ t     The arc straight to the sink has no node between to be the root of a path.
#   └─1▶ a ─1─▲
STRAIGHT = FlowNetwork.from_labelled_arcs([("s", "t", 7), ("s", "a", 1), ("a", "t", 1)], "s", "t")

#   s ⇄ t      Both halves of the only pair have capacity: 4 there, 9 back.
BOTH_WAYS = FlowNetwork.from_labelled_arcs([("s", "t", 4), ("t", "s", 9)], "s", "t")

#   s    t     No arc at all.
NO_ARCS = FlowNetwork(2, np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64), 0, 1)

NETWORKS = {
    "bridge": BRIDGE,
    "straight": STRAIGHT,
    "both ways": BOTH_WAYS,
    "no arcs": NO_ARCS,
    "jobs": FlowNetwork.from_bipartite(JOBS),
    "star": FlowNetwork.from_bipartite(STAR),
    "isolated": FlowNetwork.from_bipartite(ISOLATED),
    "nothing": FlowNetwork.from_bipartite(NOTHING),
}


@st.composite
def bipartite_graphs(draw: st.DrawFn, max_side: int = 9) -> BipartiteGraph:
    """Draw any bipartite graph: unequal sides, isolated nodes, no nodes at all."""
    num_left, num_right = draw(st.integers(0, max_side)), draw(st.integers(0, max_side))
    cells = num_left * num_right
    size = draw(st.integers(0, min(cells, 3 * max_side)))
    chosen = draw(st.lists(st.integers(0, max(cells - 1, 0)), min_size=size, max_size=size))
    place = np.array(chosen, np.int64)
    return BipartiteGraph(
        num_left, num_right, place // max(num_right, 1), place % max(num_right, 1)
    )


SMALL = 9
WIDE = 2**62
"""Both halves of a pair may have it: 2 * (2**62 - 1) is below 2**63."""


@st.composite
def networks(draw: st.DrawFn, max_nodes: int = 8, high: int = SMALL) -> FlowNetwork:
    """Draw any network, also with zero capacities, antiparallel arcs, or an unreachable sink."""
    num_nodes = draw(st.integers(2, max_nodes))
    node = st.integers(0, num_nodes - 1)
    # Sizes are drawn first: left to itself, a list of this kind is nearly always short.
    size = draw(st.integers(0, min(num_nodes**2, 3 * num_nodes)))
    pairs = draw(st.lists(st.tuples(node, node), min_size=size, max_size=size, unique=True))
    amounts = [draw(st.integers(0, high - 1)) for _ in pairs]
    source = draw(node)
    sink = (source + draw(st.integers(1, num_nodes - 1))) % num_nodes
    tail, head = [u for u, _ in pairs], [v for _, v in pairs]
    return FlowNetwork.from_arcs(num_nodes, tail, head, amounts, source=source, sink=sink)
