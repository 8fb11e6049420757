"""Cells become a network: one small module each, shaped by how its messages join.

Bits go in, real numbers are computed from them, and only their signs, or the place of the largest,
come out; nothing continuous is kept. Messages are joined by the maximum, so a module's decision
depends on which kinds of message arrive, not on how many: `Cell.cases` are all there are.

Leading axes `…` are for ensembles, whose weights are stacked (see `neural.layers`). Modules compute
in the type of their own weights, whatever PyTorch's default is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.cells.cell import Cell, Entries, Field, mask_of
from augury.cells.table import Numbers, Said, Table
from augury.extras import needs

with needs("evaluating networks"):
    import torch
    import torch.nn.functional as F
    from torch import Tensor, nn

    from augury.neural.isolation import inference
    from augury.neural.layers import Linear, to_bits


class Point(nn.Module):
    """none: head(σ(E own)), σ the leaky ReLU."""

    def __init__(self, cell: Cell, hidden: int) -> None:
        super().__init__()
        self.own = Linear(_width(cell.own_fields), hidden, bias=True)
        self.head = Linear(hidden, len(cell.outputs), bias=True)

    def forward(self, own: Tensor) -> Tensor:
        """(point,) own bits → (…, point, output) logits."""
        return self.head(_encoded(self.own, own))


class Gathering(nn.Module):
    """set: head([x, σ(J [x, m])]), where x = σ(E own) and m = max σ(M [x, σ(K kind)]).

    The maximum is over the kinds that are heard: messages of one kind are equal and are computed
    once. σ is the leaky ReLU.
    """

    def __init__(self, cell: Cell, hidden: int) -> None:
        super().__init__()
        width = hidden * len(cell.message_fields)
        self.own = Linear(_width(cell.own_fields), hidden, bias=True)
        self.kind = Linear(_width(cell.message_fields), width, bias=True)
        self.message = Linear(hidden + width, hidden, bias=False)
        self.join = Linear(2 * hidden, hidden, bias=False)
        self.head = Linear(2 * hidden, len(cell.outputs), bias=True)

    def forward(self, own: Tensor, heard: Tensor) -> Tensor:
        """(hearer,) own bits and sets of kinds → (…, hearer, output) logits."""
        encoded, sent = self.encoded(own), self.sent()
        kinds = torch.arange(sent.shape[-2], device=heard.device)
        is_missing = (heard.unsqueeze(-1) >> kinds & 1).eq(0).unsqueeze(-1)  # (hearer, kind, 1)
        loudest = sent.unsqueeze(-3).masked_fill(is_missing, -torch.inf).amax(-2)
        # The leaky ReLU is monotone, so it may follow the maximum.
        received = F.leaky_relu(self.message.columns(encoded, 0) + loudest)
        joined = F.leaky_relu(self.join(torch.cat([encoded, received], dim=-1)))
        return self.head(torch.cat([encoded, joined], dim=-1))

    def encoded(self, own: Tensor) -> Tensor:
        """(hearer,) own bits → (…, hearer, hidden)."""
        return _encoded(self.own, own)

    def sent(self) -> Tensor:
        """(…, kind, hidden): what a message of each kind adds to its hearer's own part."""
        width = self.own.weight.shape[-2]
        return self.message.columns(_encoded_kinds(self.kind), width)


class Choosing(nn.Module):
    """choice: score(σ(H σ(K kind))), σ the leaky ReLU; the highest score is chosen."""

    def __init__(self, cell: Cell, hidden: int) -> None:
        super().__init__()
        width = hidden * len(cell.message_fields)
        self.kind = Linear(_width(cell.message_fields), width, bias=True)
        self.hidden = Linear(width, hidden, bias=False)
        self.score = Linear(hidden, 1, bias=True)

    def forward(self) -> Tensor:
        """(…, kind): the score of each kind of message."""
        return self.score(F.leaky_relu(self.hidden(_encoded_kinds(self.kind)))).squeeze(-1)


MODULES: dict[str, type[nn.Module]] = {"none": Point, "set": Gathering, "choice": Choosing}
"""By how a cell's messages join."""


class CellNetwork(nn.ModuleDict):
    """A module for each cell, by name; `bits` is the width of the integers that it is made for."""

    def __init__(self, cells: Sequence[Cell], hidden: int, bits: int) -> None:
        super().__init__({cell.name: MODULES[cell.joins](cell, hidden) for cell in cells})
        self.cells, self.hidden, self.bits = tuple(cells), hidden, bits

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    def weights_to_dict(self) -> dict[str, Any]:
        """Return the weights for JSON: a float32 is written exactly."""
        return {name: weight.tolist() for name, weight in self.state_dict().items()}


def case_logits(network: CellNetwork, cell: Cell) -> Tensor:
    """Return what the network says in each of a cell's cases: positive for a 1 or "better".

    (…, case, output), or (…, case, 1) for a choice: the first score less the second.
    """
    module, inputs = network[cell.name], _case_inputs(cell, network.device)
    if cell.joins == "choice":
        better, worse = inputs
        scores = module()
        return (scores[..., better] - scores[..., worse]).unsqueeze(-1)
    return module(*inputs)


@lru_cache(maxsize=64)
def _case_inputs(cell: Cell, device: torch.device) -> tuple[Tensor, ...]:
    """Return the inputs of a module that make up all cases; see the `forward` of each."""
    if cell.joins == "choice":
        return tuple(torch.tensor([case.kinds for case in cell.cases], device=device).T)
    own = torch.tensor([case.own for case in cell.cases], device=device)
    if cell.joins == "none":
        return (own,)
    return own, torch.tensor([mask_of(case.kinds) for case in cell.cases], device=device)


@lru_cache(maxsize=64)
def expectations(cell: Cell, device: torch.device) -> Tensor:
    """(case, output): what the rule says."""
    return torch.tensor([case.expected for case in cell.cases], device=device)


@inference()
def compiled(network: CellNetwork) -> Table:
    """Return the table of a network's decisions in every case of its cells."""
    entries: dict[str, Entries] = {}
    for cell in network.cells:
        if cell.joins == "choice":
            ranks = torch.unique(network[cell.name](), return_inverse=True)[1]
            entries[cell.name] = ranks.cpu().numpy().astype(np.int8)
            continue
        decided = (case_logits(network, cell) > 0).cpu().numpy()
        entries[cell.name] = np.full(cell.shape, -1, np.int8)
        for case, bits in zip(cell.cases, decided, strict=True):
            entries[cell.name][case.own, mask_of(case.kinds)] = bits
    return Table(network.cells, entries, network.bits)


@dataclass(frozen=True)
class Evaluated:
    """A network as the `Decider` of its cells, evaluated anew for every question."""

    network: CellNetwork

    @property
    def table(self) -> Table:
        """See `table.Decider`."""
        return compiled(self.network)

    @inference()
    def said(self, cell: Cell, *inputs: Numbers) -> Said:
        """See `table.Decider`: a cell's module takes what its cases are made of."""
        device = self.network.device
        tensors = (torch.from_numpy(np.asarray(part, np.int64)).to(device) for part in inputs)
        return self.network[cell.name](*tensors).cpu().numpy()

    points = sets = scores = said

    @inference()
    def weights(self, cell: Cell) -> tuple[npt.NDArray[np.float32], ...]:
        """Return what `loops.Weights` is made of."""
        module: Any = self.network[cell.name]
        own = torch.arange(len(cell.owns), device=self.network.device)
        encoded, head, hidden = _encoded(module.own, own), module.head, self.network.hidden
        none = encoded.new_zeros(0, hidden)
        parts = [encoded, none, none, none, head.weight, head.bias[0]]
        if cell.joins == "set":
            parts[1:4] = module.sent(), module.message.columns(encoded, 0), module.join.weight.T
        return tuple(np.array(part.cpu().numpy(), np.float32, order="C") for part in parts)


def _width(fields: Sequence[Field]) -> int:
    return sum(field.bits for field in fields)


def _encoded(encoder: Linear, numbers: Tensor) -> Tensor:
    """(entry,) → (…, entry, width): the bits of numbers, encoded."""
    return F.leaky_relu(encoder(to_bits(numbers, encoder.weight.shape[-1], encoder.weight.dtype)))


def _encoded_kinds(encoder: Linear) -> Tensor:
    """(…, kind, width): every kind of message, encoded."""
    return _encoded(
        encoder, torch.arange(2 ** encoder.weight.shape[-1], device=encoder.weight.device)
    )
