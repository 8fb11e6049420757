"""Networks with costs: what they hold, what they refuse, and the flow that a run starts from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from augury import CostNetwork, InputError

ARCS = [("s", "a", 3, 1), ("a", "t", 2, -4), ("s", "t", 1, 5), ("a", "s", 2, -1), ("a", "a", 9, -1)]
NETWORK = CostNetwork.from_labelled_arcs(ARCS, source="s", sink="t")


def test_arcs_stay_as_they_are_given() -> None:
    assert list(NETWORK.arcs()) == ARCS
    assert repr(NETWORK) == "CostNetwork(3 nodes, 5 arcs, s → t)"
    assert NETWORK.words == "a network of 3 nodes and 5 arcs with costs"
    twice = CostNetwork.from_arcs(2, [0, 0], [1, 1], [1, 2], [3, 4], source=0, sink=1)
    assert list(twice.arcs()) == [(0, 1, 1, 3), (0, 1, 2, 4)]
    assert twice == twice and twice != NETWORK


def test_a_run_starts_with_every_arc_full_that_saves_something() -> None:
    assert NETWORK.start.tolist() == [0, 2, 0, 2, 9]
    assert NETWORK.excess.tolist() == [2, -4, 2]
    arcs = NETWORK.as_arcs()
    assert arcs.num_nodes == 5 and (arcs.source, arcs.sink) == (3, 4)
    # Four arcs that are no loops, then one for each node: excess comes in, a shortage goes out.
    both = arcs.capacity.reshape(-1, 2).tolist()
    pairs = zip(arcs.sender[::2].tolist(), arcs.receiver[::2].tolist(), both, strict=True)
    assert list(pairs)[4:] == [
        (3, 0, [2, 0]), (1, 4, [4, 0]), (3, 2, [2, 0]),
    ]  # fmt: skip
    assert arcs.capacity[:8].tolist() == [3, 0, 0, 2, 1, 0, 0, 2]
    assert NETWORK.arc_costs()[:8].tolist() == [1, -1, -4, 4, 5, -5, -1, 1]
    assert NETWORK.found(arcs.capacity).tolist() == NETWORK.start.tolist()


def test_lower_bounds_are_carried_from_the_start() -> None:
    network = CostNetwork.from_arcs(
        2, [0, 1], [1, 0], [5, 5], [1, -1], supply=[2, -2], lower=[3, 1]
    )
    assert network.start.tolist() == [3, 5] and network.excess.tolist() == [4, -4]
    assert network.as_arcs().capacity[:4].tolist() == [2, 0, 0, 4]
    assert network.found(network.as_arcs().capacity).tolist() == [3, 5]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"num_nodes": 0}, "1 to"),
        ({"tail": [0, 5]}, "names sending node 5"),
        ({"capacity": [1, -1]}, "capacity 1 is -1, which is negative"),
        ({"capacity": [1]}, "every arc needs a tail, a head, a capacity and a cost"),
        ({"costs": [1, float("nan")]}, "cost 1 is nan"),
        ({"source": None}, "neither supplies nor a source"),
        ({"sink": 9}, "the sink is node 9, but there are 3 nodes"),
        ({"sink": 0}, "source and sink are the same node, 0"),
        ({"lower": [0, 1]}, "lower bounds need supplies"),
        ({"lower": [0, 9]}, "the lower bound of the arc from 1 to 2 is 9, above its capacity of 2"),
        ({"supply": [1, 0, -1]}, "a source and a sink, or supplies, not both"),
        ({"supply": [1, 0, 1], "source": None, "sink": None}, "add up to 2, not to 0"),
        ({"supply": [1], "source": None, "sink": None}, "one number for each of the 3 nodes"),
    ],
)
def test_what_is_no_network_is_refused(changed: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"num_nodes": 3, "tail": [0, 1], "head": [1, 2], "capacity": [1, 2]}
    given |= {"costs": [1, 1], "source": 0, "sink": 2}
    with pytest.raises(InputError, match=words):
        CostNetwork(**given | changed)


def test_sums_beyond_64_bits_are_refused_by_name() -> None:
    big = 2**62
    arcs = [("a", "b", big, -1), ("a", "b", big, -1), ("a", "b", big, -1)]
    network = CostNetwork.from_labelled_arcs(arcs, supply={"a": 0})
    with pytest.raises(InputError, match="the capacities at 'a' add up to more than 62 bits"):
        _ = network.excess


def test_flow_by_label_is_shared_out_among_parallel_arcs() -> None:
    arcs = [("s", "t", 2, 5), ("s", "t", 2, 1)]
    network = CostNetwork.from_labelled_arcs(arcs, source="s", sink="t")
    assert network.amounts_from([("s", "t", 3)]).tolist() == [1, 2]
    for flow, words in (
        ([("s", "t", 5)], "carries 1 more than they can carry"),
        ([("t", "s", 1)], "there is no arc from 't' to 's'"),
        ([("s", "t", -1)], "which is negative"),
        ([("s", "x", 1)], "'x' is not a node"),
        ([("s", "t")], "expected"),
    ):
        with pytest.raises(InputError, match=words):
            network.amounts_from(flow)  # type: ignore[arg-type]
    least = CostNetwork.from_labelled_arcs(arcs, supply={"s": 2, "t": -2}, lower=[1, 0])
    assert least.amounts_from([("s", "t", 2)]).tolist() == [1, 1]
    with pytest.raises(InputError, match="carries 1 less than they must carry"):
        least.amounts_from([])


def test_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        NETWORK.capacity[0] = 9
    assert not np.shares_memory(NETWORK.as_arcs().capacity, NETWORK.capacity)
