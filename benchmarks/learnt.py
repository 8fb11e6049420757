"""What do cells learn? Rows are held out of training, and the network has to fill them in.

    python benchmarks/learnt.py --seeds 20 --out learnt.json

A network's answer depends on its case alone, so a training set is a number for each case: how often
it occurs. These counts are taken from the traces of the preset `discrete`, and every network is
trained on them by Adam as that preset is. Then, for each cell,

- one row at a time is held out, and random halves of the rows: how many of the decisions on them
  are right, beside those of a plain MLP on the same bits, trained alike, and of a table that says
  what most of its rows say. For `nearest`, a row is a kind of message, which no list then holds;
  its decisions are the comparisons with that kind, about which a table knows no more than a coin;
- the training set is made smaller, in graphs and in nodes, until the network no longer verifies;
- `subtract` is trained without hints: the digits of whole differences are the only target, and what
  to carry from digit to digit is left to it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augury.algorithms.cells import CELLS, FLOOD, LEAST, NEAREST, SUBTRACT
from augury.cells.cell import Cell, mask_of
from augury.cells.learning import _counts
from augury.cells.network import CellNetwork, case_logits, expectations
from augury.cells.proof import prove
from augury.config import DataConfig, preset, to_dict
from augury.neural.batch import training_data
from augury.neural.layers import Linear, draw, stack, to_bits
from augury.provenance import provenance
from augury.training.samples import seen_in

CONFIG = preset("discrete")
UPDATES = 900
"""Twelve epochs of 75 batches, as in the preset."""
LISTS = 128
"""Lists of messages in an update of `nearest`."""
HALVES = 5
"""Random halves for each seed."""
SETS = [
    *((graphs, 8) for graphs in (300, 100, 30, 10, 3, 2, 1)),
    *((graphs, 4) for graphs in (300, 100, 10, 3, 1)),
    *((30, 3), (300, 2)),
]
"""Training sets: graphs, and nodes on each side."""


class Seen(NamedTuple):
    """What cells see in a training set."""

    counts: dict[str, Tensor]
    """(case,) for each cell: how often each occurs; for a choice, each kind."""
    lists: Tensor
    """(list, place) of `nearest`: the messages to choose from; −1 is padding."""


@cache
def seen_of(data: DataConfig) -> Seen:
    """Collect what cells see in twelve epochs of a training set."""
    samples = training_data(data).train
    rng, size = np.random.default_rng(data.seed), CONFIG.training.batch_size
    counts = {cell.name: torch.zeros(len(cell.cases), dtype=torch.int64) for cell in CELLS}
    lists: list[Tensor] = []
    for epoch in range(CONFIG.training.max_epochs):
        for first in range(0, len(samples), size):
            chosen = range(first, min(first + size, len(samples)))
            reach = [samples.reach_batch(chosen)] if epoch == 0 else []
            for seen in seen_in(samples.search_batch(chosen, rng), reach):
                if seen.cell is NEAREST:
                    assert seen.kind is not None
                    lists.append(seen.kind)
                elif epoch == 0 or not reach:
                    counts[seen.cell.name] += _counts(seen)
    width = max((own.shape[1] for own in lists), default=1)
    padded = [F.pad(own, (0, width - own.shape[1]), value=-1) for own in lists]
    rows = torch.cat(padded) if padded else torch.zeros((0, 1), dtype=torch.int64)
    is_choice = (rows >= 0).sum(1) > 1
    kinds = torch.bincount(rows[rows >= 0], minlength=len(NEAREST.kinds))
    return Seen(counts | {NEAREST.name: kinds}, rows[is_choice])


# ------------------------------------------------------------------ learners


class MLP(nn.Module):
    """Two hidden layers on the bits of a case, or of a kind."""

    def __init__(self, cell: Cell, hidden: int) -> None:
        super().__init__()
        self.inputs = bits_of(cell)
        self.layers = nn.ModuleList(
            Linear(width, out, bias=True)
            for width, out in (
                (self.inputs.shape[1], hidden),
                (hidden, hidden),
                (hidden, len(cell.outputs) or 1),
            )
        )

    def forward(self) -> Tensor:
        """(…, row, output)."""
        first, second, last = self.layers
        return last(F.leaky_relu(second(F.leaky_relu(first(self.inputs)))))


def bits_of(cell: Cell) -> Tensor:
    """(row, bit): the own bits, and a bit for each kind that is heard; or a kind's bits."""
    if cell.joins == "choice":
        width = sum(field.bits for field in cell.message_fields)
        return to_bits(torch.arange(len(cell.kinds)), width)
    width = sum(field.bits for field in cell.own_fields)
    own = to_bits(torch.tensor([case.own for case in cell.cases]), width)
    if cell.joins == "none":
        return own
    heard = torch.tensor([mask_of(case.kinds) for case in cell.cases])
    return torch.cat([own, to_bits(heard, len(cell.kinds))], -1)


def cell_network(cell: Cell) -> nn.Module:
    """Return a network with one cell."""
    return CellNetwork((cell,), CONFIG.network.hidden, CONFIG.network.bits)


def said_by(network: nn.Module, cell: Cell) -> Tensor:
    """(…, case, output), or (…, kind) of a choice."""
    if isinstance(network, MLP):
        return network().squeeze(-1) if cell.joins == "choice" else network()
    return network[cell.name]() if cell.joins == "choice" else case_logits(network, cell)  # type: ignore[index,arg-type]


LEARNERS: dict[str, Callable[[Cell], nn.Module]] = {
    "network": cell_network,
    "mlp": lambda cell: MLP(cell, CONFIG.network.hidden),
}


def ensemble(make: Callable[[], nn.Module], seeds: Sequence[int]) -> nn.Module:
    """Return networks of several seeds with stacked weights."""
    networks = [make() for _ in seeds]
    for network, seed in zip(networks, seeds, strict=True):
        draw(network, torch.Generator().manual_seed(seed))
    together = make()
    stack(networks, together)
    return together


def trained(cell: Cell, learner: str, seeds: Sequence[int], known: Tensor, seen: Seen) -> nn.Module:
    """Train a network for each seed; `known` (network, row) says which rows it may see."""
    together = ensemble(lambda: LEARNERS[learner](cell), seeds)
    adam = torch.optim.Adam(together.parameters(), lr=CONFIG.training.learning_rate, foreach=True)
    rng = np.random.default_rng(0)
    for _ in range(UPDATES):
        adam.zero_grad()
        said = said_by(together, cell)
        if cell.joins == "choice":
            if not len(seen.lists):
                break
            rows = seen.lists[rng.integers(0, len(seen.lists), LISTS)]
            loss = _list_loss(said, cell, rows, known)
        else:
            often = seen.counts[cell.name] / seen.counts[cell.name].sum().clamp(min=1)
            wanted = expectations(cell, said.device).float().expand_as(said)
            losses = F.binary_cross_entropy_with_logits(said, wanted, reduction="none").sum(-1)
            loss = (losses * often * known).sum()
        loss.backward()
        adam.step()
    return together


def _list_loss(scores: Tensor, cell: Cell, rows: Tensor, known: Tensor) -> Tensor:
    """As in `cells.learning`, without the kinds that a network may not see."""
    kind = rows.clamp(min=0)
    missing = (rows < 0) | ~known[:, kind]  # (network, row, place)
    rank = torch.from_numpy(cell.truth).long()[kind].expand_as(missing).masked_fill(missing, -1)
    is_best = (rank == rank.amax(-1, keepdim=True)) & ~missing
    said = scores[:, kind].masked_fill(missing, -1e9)
    losses = -said.log_softmax(-1).masked_fill(~is_best, -1e9).logsumexp(-1)
    return (losses * (~missing).any(-1)).mean(1).sum()


# ------------------------------------------------------------------ rows held out


def decisions(cell: Cell, said: Tensor) -> Tensor:
    """(network, case, output): which decisions are right."""
    if cell.joins == "choice":
        better, worse = torch.tensor([case.kinds for case in cell.cases]).T
        return (said[:, better] > said[:, worse]).unsqueeze(-1)
    return (said > 0) == expectations(cell, said.device)


def asked_of(cell: Cell, known: Tensor) -> Tensor:
    """(network, case): whether a decision is about a row that was held out."""
    if cell.joins == "choice":
        better, worse = torch.tensor([case.kinds for case in cell.cases]).T
        return ~(known[:, better] & known[:, worse])
    return ~known


def by_table(cell: Cell, known: Tensor) -> Tensor:
    """(network, case, output): the chance that a table is right where it has no entry.

    It answers what most of its rows say, the first value in a tie; between two kinds of which one
    is unknown it tosses a coin.
    """
    if cell.joins == "choice":
        return torch.full((len(known), len(cell.cases), 1), 0.5)
    expected = expectations(cell, torch.device("cpu")).float()
    share = (known.float() @ expected) / known.sum(1, keepdim=True).clamp(min=1)
    return ((share > 0.5).float().unsqueeze(1) == expected).float()


def held_out(cell: Cell, known: Tensor, seeds: Sequence[int], seen: Seen) -> dict[str, Any]:
    """Train with rows held out: the share of decisions on them that is right, by learner."""
    asked = asked_of(cell, known)
    told: dict[str, Any] = {}
    rights = {"table": by_table(cell, known)}
    for learner in LEARNERS:
        together = trained(cell, learner, seeds, known, seen)
        with torch.no_grad():
            said = said_by(together, cell)
        rights[learner] = decisions(cell, said).float()
        told[f"{learner} known right"] = _share(rights[learner], ~asked)
    for learner, right in rights.items():
        told[learner] = _share(right, asked)
        all_right = ((right > 0.5) | ~asked.unsqueeze(-1)).all(-1).all(-1)
        if learner != "table":
            told[f"{learner} all right"] = round(float(all_right.float().mean()), 4)
    told |= {"networks": len(known), "decisions": int(asked.sum()) * rights["table"].shape[-1]}
    return told


def _share(right: Tensor, asked: Tensor) -> float:
    weights = asked.unsqueeze(-1).expand_as(right).float()
    return round(float((right * weights).sum() / weights.sum().clamp(min=1)), 4)


def rows_of(cell: Cell) -> list[int]:
    """Return the rows of a cell: its cases, or the kinds that occur."""
    if cell.joins != "choice":
        return list(range(len(cell.cases)))
    return [k for k, kind in enumerate(cell.kinds) if cell.occurs(kind)]


def generalisation(cell: Cell, num_seeds: int) -> dict[str, Any]:
    """Hold out one row at a time, and random halves."""
    seen, rows, rng = seen_of(CONFIG.data), rows_of(cell), np.random.default_rng(1)
    size = len(cell.kinds) if cell.joins == "choice" else len(cell.cases)
    one = torch.ones((len(rows) * num_seeds, size), dtype=torch.bool)
    for number, row in enumerate(rows):
        one[number * num_seeds : (number + 1) * num_seeds, row] = False
    half = torch.ones((HALVES * num_seeds, size), dtype=torch.bool)
    for own in half:
        own[torch.from_numpy(rng.permutation(rows)[: len(rows) // 2])] = False
    seeds = list(range(num_seeds))
    counts = seen.counts[cell.name]
    return {
        "rows": len(rows),
        "rows seen in training": int((counts[rows] > 0).sum()),
        "one row": held_out(cell, one, seeds * len(rows), seen),
        "half": held_out(cell, half, seeds * HALVES, seen),
    }


# ------------------------------------------------------------------ small training sets


def which_verify(cell: Cell, together: nn.Module, count: int) -> list[bool]:
    """Prove every network of an ensemble."""
    found: list[bool] = []
    for member in range(count):
        network = CellNetwork((cell,), CONFIG.network.hidden, CONFIG.network.bits)
        state = together.state_dict()
        network.load_state_dict({name: own[member] for name, own in state.items()})
        found.append(all(part.is_proven for part in prove(network)))
    return found


def verified(graphs: int, side: int, num_seeds: int) -> dict[str, Any]:
    """Train all cells on a smaller set: how many seeds verify, and which cells do not."""
    seen = seen_of(replace(CONFIG.data, train_graphs=graphs, side=side))
    proven: dict[str, list[bool]] = {}
    for cell in CELLS:
        size = len(cell.kinds) if cell.joins == "choice" else len(cell.cases)
        known = torch.ones((num_seeds, size), dtype=torch.bool)
        together = trained(cell, "network", range(num_seeds), known, seen)
        proven[cell.name] = which_verify(cell, together, num_seeds)
    every = [all(own) for own in zip(*proven.values(), strict=True)]
    return {
        "graphs": graphs,
        "nodes a side": side,
        "cases seen": {
            cell.name: int((seen.counts[cell.name][rows_of(cell)] > 0).sum()) for cell in CELLS
        },
        "verified": sum(every),
        **{f"{name} verified": sum(own) for name, own in proven.items()},
    }


# ------------------------------------------------------------------ no hints


def without_hints(num_seeds: int, bits: int = 8, updates: int = 3000) -> dict[str, Any]:
    """Train `subtract` on whole differences: it is never told what a borrow is.

    The bit that it carries is rounded on the way forward, and passes gradients as if it were not.
    """
    together: Any = ensemble(lambda: cell_network(SUBTRACT), range(num_seeds))
    adam = torch.optim.Adam(together.parameters(), lr=CONFIG.training.learning_rate, foreach=True)
    rng, module = np.random.default_rng(0), together[SUBTRACT.name]
    for _ in range(updates):
        pair = torch.from_numpy(np.sort(rng.integers(0, 2**bits, (64, 2)), 1))
        amount, value = pair.T
        left = value - amount
        borrow, loss = torch.zeros(num_seeds, 64), torch.zeros(())
        for place in range(bits):
            known = torch.stack([value >> place & 1, amount >> place & 1], -1).float()
            own = torch.cat([known.expand(num_seeds, -1, -1), borrow.unsqueeze(-1)], -1)
            said = module.head(F.leaky_relu(module.own(own)))
            wanted = (left >> place & 1).float().expand(num_seeds, -1)
            loss = (
                loss
                + F.binary_cross_entropy_with_logits(said[..., 0], wanted, reduction="none")
                .mean(1)
                .sum()
            )
            soft = torch.sigmoid(said[..., 1])
            borrow = (said[..., 1] > 0).float() + soft - soft.detach()
        adam.zero_grad()
        loss.backward()
        adam.step()
    with torch.no_grad():
        right = decisions(SUBTRACT, case_logits(together, SUBTRACT))
    return {
        "cell": SUBTRACT.name,
        "updates": updates,
        "networks": num_seeds,
        "verified": sum(which_verify(SUBTRACT, together, num_seeds)),
        "decisions right": [int(own) for own in right.sum((1, 2))],
    }


def main() -> None:
    """Do what is missing in the file, part by part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("learnt.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    parts: dict[str, Callable[[], Any]] = {
        "without hints": lambda: without_hints(options.seeds),
        **{
            f"held out, {cell.name}": partial(generalisation, cell, options.seeds)
            for cell in (SUBTRACT, FLOOD, LEAST, NEAREST)
        },
        **{f"{k} graphs of {n} + {n}": partial(verified, k, n, options.seeds) for k, n in SETS},
    }
    told: dict[str, Any] = {}
    if options.out.exists():
        told = json.loads(options.out.read_text())
    told |= {"config": to_dict(CONFIG), "updates": UPDATES, "seeds": options.seeds}
    told |= provenance("cpu")
    for name, part in parts.items():
        if name in told:
            continue  # done by an earlier call
        started = time.process_time()
        told[name] = part() | {"seconds": round(time.process_time() - started)}
        options.out.write_text(json.dumps(told, indent=1) + "\n")
        print(name, json.dumps(told[name]), flush=True)


if __name__ == "__main__":
    main()
