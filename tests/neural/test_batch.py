"""Batches hold every round and step of a trace, with the right link as target."""

from __future__ import annotations

import itertools
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from augury.classical.batch import Batch
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.trace import Trace, record
from augury.config import DataConfig
from augury.neural.batch import Samples, SearchBatch, execution_data, moved, training_data
from augury.neural.wiring import Wiring
from tiny import UNEQUAL, samples

S, A, B, X, Y, T = range(6)
# The graph of the golden trace (tests/classical/golden_trace.txt): its steps are checked by hand.
TAKEN_BACK = FlowNetwork.from_bipartite(
    BipartiteGraph(2, 2, np.array([0, 0, 1]), np.array([0, 1, 0]))
)
FAR = 255


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def golden() -> tuple[Trace, Samples]:
    [trace] = record([TAKEN_BACK], np.random.default_rng(1))
    return trace, Samples([trace], DataConfig())


def senders(batch: SearchBatch) -> list[list[int]]:
    """Return whom each node's column points at, numbered within its graph; −1 for none."""
    wiring = batch.wiring
    graph_start = wiring.node_start[wiring.node_graph]
    link = wiring.start[:-1] + batch.column.clamp(min=0)
    return torch.where(batch.column >= 0, wiring.sender[link] - graph_start, -1).tolist()


def test_the_targets_of_the_golden_trace() -> None:
    _, prepared = golden()
    batch = prepared.search_batch([0], np.random.default_rng(0))
    # Three steps change something; in the fourth the network is to notice that none does.
    assert batch.running == (1, 1, 1, 1)
    assert batch.distance.tolist() == [
        [0, 4, 15, FAR, FAR, FAR],
        [0, 4, 15, 13, 19, FAR],
        [0, 4, 15, 13, 19, 15],
        [0, 4, 15, 13, 19, 15],
    ]
    assert senders(batch) == [
        [S, S, S, -1, -1, -1],
        [S, S, S, A, A, -1],
        [S, S, S, A, A, X],
        [S, S, S, A, A, X],
    ]
    reach = prepared.reach_batch([0])
    assert reach.reached.int().tolist() == [
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 1, 1],
    ]


def test_the_source_points_at_its_self_loop() -> None:
    _, prepared = golden()
    batch = prepared.search_batch([0], np.random.default_rng(0))
    assert (batch.wiring.arc[batch.wiring.start[S] + batch.column[:, S]] == -1).all()


def test_every_round_is_a_sample_and_the_last_has_one_step_in_which_nothing_changes() -> None:
    trace, prepared = golden()
    assert len(prepared) == len(trace.rounds) == 3
    batch = prepared.search_batch([2], np.random.default_rng(0))
    assert batch.running == (1,)
    assert batch.distance.tolist() == [[0, FAR, FAR, FAR, FAR, FAR]]
    assert senders(batch) == [[S, -1, -1, -1, -1, -1]]
    assert len(samples()) == sum(
        len(trace.rounds) for trace in record(UNEQUAL, np.random.default_rng(0))
    )


def test_no_search_takes_more_steps_than_there_are_other_nodes() -> None:
    # Round 1 changes something in all of its 5 steps, so there is no sixth to notice it.
    _, prepared = golden()
    batch = prepared.search_batch([1], np.random.default_rng(0))
    assert batch.running == (1,) * 5
    assert batch.distance[-1].tolist() == [0, 30, 11, 22, 33, 43]


def test_the_longest_search_comes_first_and_those_that_run_are_a_prefix() -> None:
    _, prepared = golden()
    batch = prepared.search_batch([0, 1, 2], np.random.default_rng(0))
    assert batch.running == (3, 2, 2, 2, 1)
    own = [batch.distance[0, first : first + 6].tolist() for first in (0, 6, 12)]
    assert own == [[0, FAR, 11, FAR, FAR, FAR], [0, 4, 15, FAR, FAR, FAR], [0] + [FAR] * 5]


def test_weights_and_residuals_stand_on_their_links_and_loops_have_none() -> None:
    trace, prepared = golden()
    batch, told = prepared.search_batch([1], np.random.default_rng(0)), trace.rounds[1]
    arc = batch.wiring.arc
    for values, expected in ((batch.weights, told.weights), (batch.capacities, told.residual)):
        assert torch.equal(values[arc >= 0], torch.from_numpy(expected.astype(int))[arc[arc >= 0]])
        assert (values[arc < 0] == 0).all()
    reach = prepared.reach_batch([1])
    assert torch.equal(reach.is_usable, batch.capacities > 0)


def test_graphs_that_are_joined_are_wired_as_in_a_batch() -> None:
    one_round = [replace(trace, rounds=trace.rounds[:1]) for trace in record(UNEQUAL, rng())]
    prepared = Samples(one_round, DataConfig())
    wiring = prepared.reach_batch(range(len(UNEQUAL))).wiring
    steps = [sample.reach_steps for sample in prepared.samples]
    longest_first = sorted(range(len(UNEQUAL)), key=lambda place: -steps[place])
    expected = Wiring.of(Batch.of([UNEQUAL[place] for place in longest_first]))
    for name in ("sender", "receiver", "start", "node_graph", "node_start", "source"):
        assert torch.equal(getattr(wiring, name), getattr(expected, name)), name
    assert all(map(torch.equal, wiring.tables, expected.tables))
    assert np.array_equal(wiring.offsets, expected.offsets)


@pytest.mark.parametrize("seed", range(3))
def test_walks_run_backwards_from_the_sink_along_arcs(seed: int) -> None:
    prepared = Samples(record(UNEQUAL, np.random.default_rng(seed)), DataConfig())
    batch = prepared.search_batch(range(len(prepared)), np.random.default_rng(seed))
    walks, wiring = batch.walks, batch.wiring
    assert walks.sender.shape == (wiring.num_graphs, 5)
    assert torch.equal(walks.sender[:, :-1], walks.receiver[:, 1:])
    links = {
        (u, v): weight
        for u, v, weight in zip(
            wiring.sender.tolist(), wiring.receiver.tolist(), batch.weights.tolist(), strict=True
        )
        if u != v
    }
    taken = zip(*(part.reshape(-1).tolist() for part in walks[:3]), strict=True)
    assert all(links[sender, receiver] == weight for sender, receiver, weight in taken)
    assert not walks.is_padding.any()


def test_walks_start_at_their_own_graphs_sink() -> None:
    _, prepared = golden()
    batch = prepared.search_batch([0, 1, 2], np.random.default_rng(0))
    assert batch.walks.receiver[:, 0].tolist() == [T, 6 + T, 12 + T]


@pytest.mark.parametrize("highest", [1, 10])
def test_capacities_of_walks_are_from_zero_to_the_highest(highest: int) -> None:
    _, prepared = golden()
    prepared = Samples([golden()[0]] * 40, DataConfig(max_capacity=highest, walk_length=3))
    walks = prepared.search_batch(range(120), np.random.default_rng(0)).walks
    assert walks.capacities.shape == (120, 3)
    assert sorted(set(walks.capacities.reshape(-1).tolist())) == list(range(highest + 1))


SMALL = DataConfig(train_graphs=6, validation_graphs=6, extra_graphs=6, side=6)


def residuals(found: Samples) -> list[bytes]:
    return [
        sample.links.sender.tobytes() + sample.capacities.tobytes() + sample.weights.tobytes()
        for sample in found.samples
    ]


def test_training_validation_and_execution_have_graphs_of_their_own() -> None:
    data = training_data(SMALL)
    assert data.extra is not None
    graphs = [
        {sample.links.sender.tobytes() for sample in found.samples}
        for found in (data.train, data.extra, data.validation)
    ]
    executed = Samples(record(execution_data(SMALL, (1,), 6)[1], np.random.default_rng(0)), SMALL)
    graphs.append({sample.links.sender.tobytes() for sample in executed.samples})
    for one, other in itertools.combinations(graphs, 2):
        assert len(one) == len(other) == 6
        assert not one & other


def test_more_training_graphs_leave_validation_and_execution_as_they_were() -> None:
    configs = SMALL, replace(SMALL, train_graphs=9)
    one, other = map(training_data, configs)
    assert residuals(one.validation) == residuals(other.validation)
    assert residuals(one.train) != residuals(other.train)
    executed = [execution_data(config, (1,), 3)[1] for config in configs]
    for before, after in zip(*executed, strict=True):
        assert np.array_equal(before.sender, after.sender)


def test_the_same_seed_makes_the_same_data_and_another_seed_others() -> None:
    one = training_data(SMALL)
    training_data.cache_clear()
    same, other = training_data(SMALL), training_data(replace(SMALL, seed=1))
    assert residuals(one.train) == residuals(same.train) != residuals(other.train)
    assert [graph.num_nodes for graph in execution_data(SMALL, (1, 2), 2)[2]] == [26, 26]
    batches = [data.train.search_batch([3, 1], np.random.default_rng(5)) for data in (one, same)]
    assert all(map(torch.equal, batches[0].walks, batches[1].walks))


def test_distances_are_as_wide_as_the_network_reads() -> None:
    wide, narrow = (training_data(SMALL, bits) for bits in (10, 6))
    for data, infinity in ((wide, 1023), (narrow, 63)):
        assert data.train.samples[-1].distance.max() == infinity


def test_pna_knows_the_mean_log_degree_with_self_loops() -> None:
    # s and t have 2 neighbours, a and x have 3, b and y have 2; one more for the self loop.
    _, prepared = golden()
    assert prepared.mean_log_degree == pytest.approx((4 * np.log(4) + 2 * np.log(5)) / 6)


def test_moving_a_batch_keeps_all_of_it() -> None:
    _, prepared = golden()
    batch = prepared.search_batch([0, 1], np.random.default_rng(0))
    again = moved(batch, "cpu")
    for field in fields(batch):
        one, other = getattr(batch, field.name), getattr(again, field.name)
        assert one is other or all(a is b for a, b in zip(one, other, strict=True))
