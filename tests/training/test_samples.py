"""What the cells see in a batch is what an execution would show them, each thing once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch

from augury.algorithms.cells import CELLS, FLOOD, LEAST, NEAREST, SUBTRACT
from augury.cells.cell import Cell, mask_of
from augury.cells.learning import Seen
from augury.cells.network import CellNetwork
from augury.neural.batch import ReachBatch, SearchBatch
from augury.paper.losses import WEIGHTS, Tally
from augury.training.samples import TERMS, learn, seen_in
from proven import untrained
from tiny import samples


def reach_batch() -> ReachBatch:
    return samples().reach_batch(range(len(samples())))


def search_batch() -> SearchBatch:
    return samples().search_batch(range(len(samples())), np.random.default_rng(0))


def seen_by(cell: Cell) -> list[Seen]:
    return [seen for seen in seen_in(search_batch(), [reach_batch()]) if seen.cell is cell]


def test_every_node_counts_in_every_step_of_its_graph() -> None:
    batch = reach_batch()
    expected = sum(int(batch.wiring.offsets[count, 0]) for count in batch.running)
    assert sum(len(seen.own) for seen in seen_by(FLOOD)) == expected


def test_following_the_rule_leads_through_the_states_of_the_trace() -> None:
    batch = reach_batch()
    for step, seen in enumerate(seen_by(FLOOD)):
        assert seen.kind is not None
        kinds = [set(row.tolist()) - {-1} for row in seen.kind]
        masks = torch.tensor([mask_of(tuple(heard)) for heard in kinds])
        after = torch.from_numpy(FLOOD.truth)[seen.own, masks, 0]
        assert torch.equal(after.bool(), batch.reached[step, : len(after)])


def test_only_nodes_that_are_new_choose_a_predecessor() -> None:
    batch = reach_batch()
    last = int(batch.reached.any(0).sum())
    assert sum(len(seen.own) for seen in seen_by(NEAREST)) == last - batch.wiring.num_graphs
    for seen in seen_by(NEAREST):
        assert seen.kind is not None
        best = torch.from_numpy(NEAREST.truth)[seen.kind.clamp(min=0)].amax(-1)
        assert (best > 0).all()  # each was reached by a valid link


def test_digits_put_together_again_are_the_numbers() -> None:
    walks = search_batch().walks
    value = walks.capacities.flatten()
    smallest = walks.capacities.amin(-1, keepdim=True).expand_as(walks.capacities).flatten()
    kept = torch.zeros_like(value)
    for place, seen in enumerate(seen_by(SUBTRACT)):
        kept += torch.from_numpy(SUBTRACT.truth)[seen.own, 0, 0].long() << place
    assert torch.equal(kept, value - smallest)
    last = seen_by(LEAST)[-1]
    assert last.kind is not None
    heard = torch.tensor([mask_of(tuple(set(row.tolist()))) for row in last.kind])
    is_least = torch.from_numpy(LEAST.truth)[last.own, heard, 0].bool()
    assert torch.equal(is_least, value == smallest)


def test_all_that_is_seen_is_a_case() -> None:
    for seen in seen_in(search_batch(), [reach_batch()]):
        if seen.cell.joins == "choice":
            assert seen.kind is not None
            assert (torch.from_numpy(NEAREST.truth)[seen.kind[seen.kind >= 0]] >= 0).all()
            continue
        rows = seen.kind.tolist() if seen.kind is not None else [[-1]] * len(seen.own)
        cases = {(case.own, mask_of(case.kinds)) for case in seen.cell.cases}
        found = Counter(
            (own, mask_of(tuple(set(row) - {-1})))
            for own, row in zip(seen.own.tolist(), rows, strict=True)
        )
        assert set(found) <= cases


def test_gradients_reach_every_parameter() -> None:
    network, tally = untrained(), Tally()
    learn(network, search_batch(), [reach_batch()], tally)
    tally.total().backward()
    for name, parameter in network.named_parameters():
        if name != "nearest.score.bias":  # the same for all messages, so nothing depends on it
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_a_wrong_decision_costs_in_its_own_term_alone() -> None:
    names = {name for names in TERMS.values() for name in names.values()}
    assert names <= set(WEIGHTS) and set(TERMS) == {cell.name for cell in CELLS}

    def means(network: CellNetwork) -> dict[str, float]:
        tally = Tally()
        learn(network, search_batch(), [reach_batch()], tally)
        return {name: float(value.detach()) for name, value in tally.means().items()}

    before = means(untrained())
    for cell in CELLS:
        network = untrained()
        with torch.no_grad():
            next(network[cell.name].parameters()).add_(0.5)
        after = means(network)
        changed = {name for name in names if after[name] != before[name]}
        assert changed == set(TERMS[cell.name].values())
