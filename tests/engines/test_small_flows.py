"""The small form takes the compiled loop's paths, and each is one that the network takes too."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.algorithms.executor import CellExecutor
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import MAX_WEIGHT, Settings, ford_fulkerson
from augury.classical.generate import flow, path_state
from augury.classical.network import FlowNetwork
from augury.classical.simulate import maximum_values
from augury.engines.small_flows import SMALL, push_flow
from augury.engines.table import push_flows
from augury.models import shipped_table
from graphs import NETWORKS, WIDE, networks

Path = tuple[list[int], int]

any_networks = st.one_of(networks(), networks(max_nodes=12, high=2), networks(high=WIDE))


def paths_of(network: FlowNetwork) -> list[Path]:
    taken = list[Path]()
    push_flow(network, lambda path, amount: taken.append((path, amount)))
    return taken


def replayed(network: FlowNetwork, paths: list[Path]) -> list[Path]:
    """The paths that the network takes, a round for each, if the arcs of this one weigh least."""
    table = CellExecutor(shipped_table(), engine="lookup").subroutines()

    def weights(batch: Batch, number: int) -> np.ndarray:
        chosen = np.full(batch.num_arcs, MAX_WEIGHT, np.uint8)
        chosen[paths[number][0] if number < len(paths) else []] = 1
        return chosen

    rounds = list(ford_fulkerson(Batch.of([network]), table, (), Settings(weights=weights)))
    residual, _ = push_flow(network)
    np.testing.assert_array_equal(rounds[-1].after, residual)
    return [(r.paths.arcs.tolist(), *r.bottleneck.tolist()) for r in rounds[:-1]]


def some_networks() -> list[FlowNetwork]:
    rng = np.random.default_rng(4)
    drawn = [flow(rng, k, 3 * k, low=0, high=high) for k in (5, 9, 20) for high in (1, 9, 2**60)]
    return [*NETWORKS.values(), *drawn, path_state(rng, 9)]


@pytest.mark.parametrize("network", some_networks(), ids=repr)
def test_every_path_is_one_that_the_network_takes(network: FlowNetwork) -> None:
    paths = paths_of(network)
    assert replayed(network, paths) == paths


@settings(max_examples=60)
@given(any_networks)
def test_so_it_is_on_any_network(network: FlowNetwork) -> None:
    paths = paths_of(network)
    assert replayed(network, paths) == paths


def test_longer_paths_come_in_later_rounds() -> None:
    for network in some_networks():
        lengths = [len(path) for path, _ in paths_of(network)]
        assert lengths == sorted(lengths)
        assert len(set(lengths)) == push_flow(network)[1]


@given(st.lists(any_networks, max_size=4))
def test_the_compiled_loop_decides_alike(some: list[FlowNetwork]) -> None:
    batch = Batch.of(some)
    residual, rounds = push_flows(batch)
    for k, network in enumerate(some):
        own, counted = push_flow(network)
        np.testing.assert_array_equal(own, residual[batch.arc_start[k] : batch.arc_start[k + 1]])
        assert counted == rounds[k]


def test_so_it_does_up_to_the_largest_small_network() -> None:
    rng = np.random.default_rng(5)
    for nodes, high in ((34, 9), (60, 1), (120, 1000), (200, 3)):
        drawn = flow(rng, nodes, SMALL, low=0, high=high)
        some = slice(SMALL)
        arcs = drawn.sender[some], drawn.receiver[some], drawn.capacity[some]
        network = FlowNetwork(nodes, *arcs, drawn.source, drawn.sink)
        assert SMALL - 50 <= network.num_arcs <= SMALL
        (own, counted), (residual, rounds) = push_flow(network), push_flows(Batch.of([network]))
        np.testing.assert_array_equal(own, residual)
        assert [counted] == rounds.tolist()


@given(any_networks)
def test_the_flow_is_maximum(network: FlowNetwork) -> None:
    residual, _ = push_flow(network)
    assert (residual >= 0).all()
    assert [network.value(residual)] == maximum_values([network])


def test_it_needs_no_numba() -> None:
    code = "import sys, augury.engines.small_flows; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
