"""Every case is learnt as often as it occurs, with the rule as its only target."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from augury.algorithms.cells import FLOOD, NEAREST, SUBTRACT
from augury.cells.cell import Cell, mask_of
from augury.cells.learning import Seen, learn
from augury.cells.network import CellNetwork
from augury.cells.proof import is_proven
from augury.neural.layers import draw, stack
from augury.paper.losses import Tally
from proven import untrained

NAMES = {
    "flood": {"reached": "reached", "changed": "changed"},
    "nearest": {"": "nearest"},
    "subtract": {"digit": "digit", "borrow": "borrow"},
    "parity": {"odd": "odd"},
}


def tallied(network: CellNetwork, *seen: Seen) -> Tally:
    tally = Tally()
    for learnt in learn(network, seen, NAMES):
        tally.add(*learnt)
    return tally


def some_nodes(seed: int) -> Seen:
    """Nodes with up to six links each, the last of them their own self loop."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 2, 40)
    kind = rng.integers(0, 4, (40, 6))
    kind[np.arange(6) >= rng.integers(1, 7, 40)[:, None]] = -1
    return Seen(FLOOD, torch.from_numpy(own), torch.from_numpy(np.column_stack([kind, 2 * own])))


def test_cases_count_as_often_as_they_are_seen() -> None:
    network = untrained()
    seen = [some_nodes(seed) for seed in range(3)]
    found = tallied(network, *seen)
    losses = {"reached": 0.0, "changed": 0.0}
    owns = torch.cat([some.own for some in seen])
    rows = torch.cat([some.kind for some in seen if some.kind is not None])
    for own, kind in zip(owns, rows, strict=True):
        kinds = tuple(sorted({k for k in kind.tolist() if k >= 0}))
        logits = network["flood"](own[None], torch.tensor([mask_of(kinds)]))[0]
        hears = 3 in kinds
        targets = {"reached": bool(own) or hears, "changed": not own and hears}
        for place, (name, target) in enumerate(targets.items()):
            wanted = torch.tensor(float(target))
            losses[name] += F.binary_cross_entropy_with_logits(logits[place], wanted).item()
    for name, loss in losses.items():
        assert found.loss[name].item() == pytest.approx(loss, rel=1e-4)
        assert float(found.count[name]) == 120


def test_any_message_of_the_best_rank_is_a_right_choice() -> None:
    network = untrained()
    light, heavy, other = 0b11 << 4 | 2, 0b11 << 4 | 9, 0b01 << 4 | 1
    rows = torch.tensor([[light, heavy, other, light], [other, heavy, -1, -1]])
    found = tallied(network, Seen(NEAREST, torch.zeros(2), rows))
    scores = network["nearest"]()
    share = F.softmax(scores[rows[0]], -1)
    first = -torch.log(share[0] + share[3])
    second = -F.log_softmax(scores[rows[1, :2]], -1)[1]
    torch.testing.assert_close(found.loss["nearest"], first + second)
    right = int(scores[rows[0]].argmax()) in (0, 3), int(scores[rows[1, :2]].argmax()) == 1
    assert float(found.right["nearest"]) == sum(right)


def test_an_ensemble_learns_as_each_network_alone() -> None:
    networks, ensemble = [untrained(seed) for seed in range(2)], untrained()
    stack(networks, ensemble)
    seen = some_nodes(0), Seen(SUBTRACT, torch.tensor([0, 3, 3, 7]))
    together = tallied(ensemble, *seen)
    alone = [tallied(network, *seen) for network in networks]
    for name in ("reached", "changed", "digit", "borrow"):
        expected = torch.stack([one.loss[name] for one in alone])
        torch.testing.assert_close(together.loss[name], expected)


def test_a_cell_of_ones_own_is_learnt_and_proven() -> None:
    parity = Cell(name="parity", own="a b", output="odd", rule=lambda own: (own.a != own.b,))
    network = CellNetwork((parity,), 8, 1)
    draw(network, torch.Generator().manual_seed(0))
    adam = torch.optim.Adam(network.parameters(), lr=0.05)
    assert not is_proven(network)
    for _ in range(200):
        adam.zero_grad()
        tallied(network, Seen(parity, torch.arange(4))).means()["odd"].backward()
        adam.step()
    assert is_proven(network)
