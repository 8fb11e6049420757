"""The compiled loops decide as the plain form does, whatever the table says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.algorithms import loops
from augury.algorithms.cells import CELLS, FLOOD, LEAST, NEAREST, SUBTRACT
from augury.algorithms.executor import CellExecutor
from augury.cells.table import Table
from augury.classical.batch import Batch
from augury.classical.ford_fulkerson import PHASES, Searches, Settings
from augury.classical.generate import flow, uniform
from augury.classical.hard import HARD_FLOWS
from augury.classical.network import FlowNetwork
from augury.classical.phases import phases, run_to_end, searched
from augury.models.checkpoint import shipped_network
from proven import of_rules

seeds = given(st.integers(0, 2**32 - 1))


class Plain(CellExecutor):
    """Without compiled loops."""

    def _loops(self, batch: Batch, number: int = 0) -> Any:
        return None


def random_table(rng: np.random.Generator) -> Table:
    """Return the truth, with a random share of its entries replaced by random ones."""
    entries = dict(of_rules().entries)
    top = int(rng.integers(2, 20))
    for cell, high in ((FLOOD, 2), (NEAREST, top), (LEAST, 2), (SUBTRACT, 2)):
        own = entries[cell.name].copy()
        wrong = rng.random(own.shape) < rng.choice([0.0, 0.0, 0.1, 1.0])
        own[wrong] = rng.integers(0, high, int(wrong.sum()))
        entries[cell.name] = own
    return Table(CELLS, entries)


def random_batch(rng: np.random.Generator) -> Batch:
    """Return graphs of several sizes, the smallest of two nodes; some arcs run in parallel."""
    networks = [FlowNetwork.from_arcs(2, [0], [1], [1], source=0, sink=1)]
    for nodes in rng.integers(3, 12, 3).tolist():
        networks.append(flow(rng, nodes, 2 * nodes, low=0, high=int(rng.integers(2, 40))))
        networks.append(FlowNetwork.from_bipartite(uniform(rng, nodes)))
    path = np.arange(30)
    networks.append(FlowNetwork.from_arcs(31, path, path + 1, path * 0 + 1, source=0, sink=30))
    return Batch.of([networks[k] for k in rng.permutation(len(networks))])


@settings(max_examples=40, deadline=None)
@seeds
def test_any_table_floods_any_graph_as_in_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch, table = random_batch(rng), random_table(rng)
    is_usable = rng.random(batch.num_arcs) < rng.choice([0.2, 0.5, 0.9])
    weights = rng.integers(1, rng.integers(3, 17), batch.num_arcs, np.uint8)
    arc, reached = Plain(table).flood(batch, is_usable, weights)
    found, is_reached, steps = loops.flood(batch, is_usable, weights, loops.cells_of(table))
    assert found.tolist() == arc.tolist()
    assert is_reached.tolist() == reached.is_reached.tolist()
    assert steps == reached.steps


def told(batch: Batch, found: Searches, residual: Any) -> list[Any]:
    """What a phase did with each graph; what is kept only counts where something is carried."""
    graphs: list[list[Any]] = [[] for _ in range(batch.num_graphs)]
    for k, graph in enumerate(found.paths.graph.tolist()):
        own = slice(*found.paths.start[k : k + 2].tolist())
        amount, kept = int(found.proposed[k]), found.kept[own].tolist()
        graphs[graph].append(
            (int(found.number[k]), found.paths.arcs[own].tolist(), amount, amount and kept)
        )
    return [found.is_done.tolist(), found.tree.arc.tolist(), [sorted(one) for one in graphs]]


@settings(max_examples=60, deadline=None)
@seeds
def test_any_table_makes_a_phase_as_in_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch, table = random_batch(rng), random_table(rng)
    if rng.random() < 0.5:
        table = replace(table, entries=of_rules().entries)  # then searches are resumed
    weights = rng.integers(1, rng.integers(3, 17), (1, batch.num_arcs), np.uint8)
    residual = rng.integers(0, batch.capacity + 1)  # of no flow in particular
    plain = searched(Plain(table).subroutines(), batch, residual, weights)
    found = loops.searches(batch, residual, weights, loops.cells_of(table))
    expected, own = told(batch, plain, residual), told(batch, found, residual)
    if table.differences():  # what follows a wrong answer is nobody's concern
        expected[2], own[2] = (
            [[path[:3] for path in graph if path[0] == 0] for graph in side[2]]
            for side in (expected, own)
        )
    assert own == expected


@settings(max_examples=40, deadline=None)
@seeds
def test_rounds_proposed_together_are_those_made_one_by_one(seed: int) -> None:
    """Whatever the table says: residuals, rounds, endings, and the weights that were drawn."""
    rng = np.random.default_rng(seed)
    batch, table = random_batch(rng), random_table(rng)
    if rng.random() < 0.5:
        table = replace(table, entries=of_rules().entries)
    ended: list[Any] = []
    for executor, how in (
        (Plain(table), Settings(max_failures=3, many_paths=True)),
        (CellExecutor(table), replace(PHASES, max_failures=3)),
    ):
        rngs = np.random.default_rng(seed).spawn(batch.num_graphs)
        residual, rounds, endings = run_to_end(batch, executor.subroutines(), rngs, how)
        states = [own.bit_generator.state for own in rngs]
        ended.append((residual.tolist(), rounds.tolist(), endings, states))
    assert ended[0] == ended[1]


def test_a_long_run_asks_for_many_rounds_at_once() -> None:
    network = HARD_FLOWS["dinic-bad"](np.random.default_rng(0), 197)
    executor, rngs = CellExecutor(of_rules()).subroutines(), [np.random.default_rng(0)]
    made = [round_.led[0] for round_ in phases(Batch.of([network]), executor, rngs)]
    assert made == [4, 16, 64, 13]


def test_a_part_that_was_replaced_is_asked() -> None:
    own, asked = CellExecutor(of_rules()).subroutines(), list[int]()

    def bottleneck(batch: Batch, residual: Any, paths: Any, tree: Any, /) -> Any:
        asked.append(len(paths.graph))
        return paths.smallest(residual)

    batch = Batch.of([FlowNetwork.from_arcs(2, [0], [1], [1], source=0, sink=1)])
    assert own.prepared(batch, 0) is not None
    other = own._replace(bottleneck=bottleneck)
    assert other.prepared(batch, 0) is None
    assert run_to_end(batch, other, [np.random.default_rng(0)])[2] == ["done"]
    assert asked == [1, 0]


@settings(max_examples=10, deadline=None)
@seeds
def test_the_network_evaluated_in_the_loops_decides_as_its_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch, executor = random_batch(rng), CellExecutor(shipped_network())
    weights = rng.integers(1, 16, (1, batch.num_arcs), np.uint8)
    cells = loops.cells_of(executor.decider)
    assert cells.flood.is_evaluated and not cells.flood.decided.any()
    evaluated = loops.searches(batch, batch.capacity, weights, cells)
    table = loops.cells_of(executor.decider.table)
    looked_up = loops.searches(batch, batch.capacity, weights, table)
    sides = (told(batch, one, batch.capacity) for one in (evaluated, looked_up))
    assert next(sides) == next(sides)


@pytest.mark.parametrize("lawful", [True, False])
def test_only_lawful_cells_resume_a_search(lawful: bool) -> None:
    entries = dict(of_rules().entries)
    if not lawful:
        own = entries[LEAST.name].copy()
        own[tuple(np.argwhere(LEAST.truth >= 0)[0])] ^= 1
        entries[LEAST.name] = own
    assert loops.cells_of(Table(CELLS, entries)).is_lawful == lawful
