"""Encoded nodes and links become latents: the message-passing layers and the table `PROCESSORS`.

A processor takes node inputs (…, node, K), the previous latents, and what `prepare` made of the
encoded links, which do not change during a search; it returns the new latents. To add one, write a
subclass with `messages` and `combine`, and a line in `PROCESSORS`; a processor knows no algorithm.
The leading axes `…` are for ensembles: weights stacked over seeds (see `layers`).

`MPNN` and `PNA` also have a fast form, which adds up what a link and its sender contribute to a
message before the receiver's part (see `reduce`). `update_plain` is the form in the paper, kept
beside it and tested equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augury.neural.layers import GRU, Linear
from augury.neural.wiring import Wiring
from augury.paper.reduce import gather_senders, pad_incoming, reduce_links
from augury.plugins import import_all


class Processor(nn.Module, ABC):
    """h' = GRU(update(x, e), h): the recurrence is shared, `update` differs.

    A subclass has `messages` and `combine`, and a line in `PROCESSORS`.

    >>> sorted(PROCESSORS)[:2], isinstance(PROCESSORS["mpnn"](32, 1.0), Processor)
    (['gatv2', 'mpnn'], True)
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.gru = GRU(hidden)

    def forward(self, nodes: Tensor, latent: Tensor, prepared: Tensor, wiring: Wiring) -> Tensor:
        """Return the latents after one step, (…, node, K)."""
        return self.gru(self.update(nodes, prepared, wiring), latent)

    def prepare(self, links: Tensor) -> Tensor:
        """Apply once what every step of a search would apply to the encoded links (…, link, K)."""
        return links

    def update(self, nodes: Tensor, prepared: Tensor, wiring: Wiring) -> Tensor:
        """Pass messages and combine them with the nodes; by default in the plain form."""
        return self.update_plain(nodes, prepared, wiring)

    def update_plain(self, nodes: Tensor, links: Tensor, wiring: Wiring) -> Tensor:
        """Do the same from the encoded links, with one message per link."""
        receiver = nodes.index_select(-2, wiring.receiver)
        sender = gather_senders(nodes, wiring)
        return self.combine(nodes, self.messages(receiver, sender, links), wiring)

    @abstractmethod
    def messages(self, receiver: Tensor, sender: Tensor, links: Tensor) -> Tensor:
        """Return the message of each link, (…, link, K); other heads read it too."""

    @abstractmethod
    def combine(self, nodes: Tensor, messages: Tensor, wiring: Wiring) -> Tensor:
        """Aggregate the messages of each node and join them with its input."""


class MPNN(Processor):
    """u_i = σ(U [x_i, max_j m_ij]), m_ij = σ(M [x_i, x_j, e_ij]), σ the leaky ReLU."""

    def __init__(self, hidden: int) -> None:
        super().__init__(hidden)
        self.message = Linear(3 * hidden, hidden, bias=False)
        self.join = Linear(2 * hidden, hidden, bias=False)

    def messages(self, receiver: Tensor, sender: Tensor, links: Tensor) -> Tensor:  # noqa: D102
        return F.leaky_relu(self.message(torch.cat([receiver, sender, links], dim=-1)))

    def combine(self, nodes: Tensor, messages: Tensor, wiring: Wiring) -> Tensor:  # noqa: D102
        largest = pad_incoming(messages, wiring, -torch.inf).amax(-2)
        return F.leaky_relu(self.join(torch.cat([nodes, largest], dim=-1)))

    def prepare(self, links: Tensor) -> Tensor:  # noqa: D102
        return self.message.part(links, 2)

    def update(self, nodes: Tensor, prepared: Tensor, wiring: Wiring) -> Tensor:  # noqa: D102
        # The leaky ReLU is monotone: max_j σ(a_i + b_j + c_ij) = σ(a_i + max_j (b_j + c_ij)).
        (largest,) = reduce_links(self.message.part(nodes, 1), prepared, wiring)
        received = F.leaky_relu(self.message.part(nodes, 0) + largest)
        return F.leaky_relu(self.join.part(nodes, 0) + self.join.part(received, 1))


class PNA(Processor):
    """Linear messages; several aggregators times identity, amplification and attenuation.

    u_i = σ(W₂ (W₁ [x_i, scalers ⊗ aggregators of m_ij])), m_ij = M [x_i, x_j, e_ij]. Scalers are 1,
    log(d + 1) / δ and δ / log(d + 1) with the degree d and its mean δ over the training graphs.
    """

    aggregators: tuple[str, ...] = ("mean", "min", "max", "std")
    mean_log_degree: Tensor

    def __init__(self, hidden: int, mean_log_degree: float) -> None:
        super().__init__(hidden)
        self.message = Linear(3 * hidden, hidden, bias=False)
        self.join = Linear((3 * len(self.aggregators) + 1) * hidden, hidden, bias=False)
        self.mix = Linear(hidden, hidden, bias=False)
        self.register_buffer(
            "mean_log_degree", torch.tensor(float(mean_log_degree), dtype=torch.float32)
        )

    def messages(self, receiver: Tensor, sender: Tensor, links: Tensor) -> Tensor:  # noqa: D102
        return self.message(torch.cat([receiver, sender, links], dim=-1))

    def combine(self, nodes: Tensor, messages: Tensor, wiring: Wiring) -> Tensor:  # noqa: D102
        degree = wiring.degree.unsqueeze(-1).to(messages.dtype)
        mean = pad_incoming(messages, wiring, 0.0).sum(-2) / degree
        ordered = self.ordered(messages, wiring)
        found = {
            "mean": mean,
            "min": pad_incoming(ordered, wiring, torch.inf).amin(-2),
            "max": pad_incoming(ordered, wiring, -torch.inf).amax(-2),
            "std": _deviation(pad_incoming(messages, wiring, 0.0).square().sum(-2) / degree, mean),
        }
        return self._joined(nodes, [found[name] for name in self.aggregators], wiring)

    def ordered(self, messages: Tensor, wiring: Wiring) -> Tensor:
        """Return the messages whose minimum and maximum a node takes, on the links into it."""
        return messages

    def prepare(self, links: Tensor) -> Tensor:  # noqa: D102
        return self.message.part(links, 2)

    def update(self, nodes: Tensor, prepared: Tensor, wiring: Wiring) -> Tensor:  # noqa: D102
        # With m_ij = a_i + v_ij all statistics shift by a_i, except the deviation.
        kinds = ["sum", "min", "max"] + (["square"] if "std" in self.aggregators else [])
        reduced = reduce_links(self.message.part(nodes, 1), prepared, wiring, kinds)
        own = self.message.part(nodes, 0)
        degree = wiring.degree.unsqueeze(-1).to(own.dtype)
        mean = reduced[0] / degree
        parts = [own + mean, own + reduced[1], own + reduced[2]]
        if len(reduced) > 3:
            parts.append(_deviation(reduced[3] / degree, mean))
        return self._joined(nodes, parts, wiring)

    def _joined(self, nodes: Tensor, parts: list[Tensor], wiring: Wiring) -> Tensor:
        received = torch.cat(parts, dim=-1)
        log_degree = (wiring.degree + 1).to(received.dtype).log().unsqueeze(-1)
        scale = log_degree / self.mean_log_degree
        scaled = torch.cat([nodes, received, received * scale, received / scale], dim=-1)
        return F.leaky_relu(self.mix(self.join(scaled)))


class PNAWithoutStd(PNA):
    """PNA minus the standard deviation, the paper's best network (PNA-STD there)."""

    aggregators = ("mean", "min", "max")


class PNATwoEnds(PNA):
    """PNA as in the authors' code: minimum and maximum are taken where a link starts.

    A node takes mean and deviation of the messages that come in, and minimum and maximum of those
    that go out.
    """

    def ordered(self, messages: Tensor, wiring: Wiring) -> Tensor:  # noqa: D102
        return messages.index_select(-2, wiring.back)

    def update(self, nodes: Tensor, prepared: Tensor, wiring: Wiring) -> Tensor:  # noqa: D102
        own = self.message.part(nodes, 0).index_select(-2, wiring.receiver)
        sent = gather_senders(self.message.part(nodes, 1), wiring)
        return self.combine(nodes, own + sent + prepared, wiring)


class GATv2(Processor):
    """u_i = σ(Σ_j α_ij m_ij), α_ij = softmax_j a · σ(m_ij); not in the paper."""

    def __init__(self, hidden: int) -> None:
        super().__init__(hidden)
        self.message = Linear(3 * hidden, hidden, bias=False)
        self.attention = Linear(hidden, 1, bias=False)

    def messages(self, receiver: Tensor, sender: Tensor, links: Tensor) -> Tensor:  # noqa: D102
        return self.message(torch.cat([receiver, sender, links], dim=-1))

    def combine(self, nodes: Tensor, messages: Tensor, wiring: Wiring) -> Tensor:  # noqa: D102
        score = self.attention(F.leaky_relu(messages))
        share = pad_incoming(score, wiring, -torch.inf).softmax(-2)
        return F.leaky_relu((share * pad_incoming(messages, wiring, 0.0)).sum(-2))


def _deviation(mean_square: Tensor, mean: Tensor) -> Tensor:
    # The constant keeps the gradient finite where all messages are equal.
    return (F.relu(mean_square - mean.square()) + 1e-5).sqrt()


PROCESSORS: dict[str, Callable[[int, float], Processor]] = {
    "mpnn": lambda hidden, _: MPNN(hidden),
    "pna": PNA,
    "pna-nostd": PNAWithoutStd,
    "pna-two-ends": PNATwoEnds,
    "gatv2": lambda hidden, _: GATv2(hidden),
}
"""Each makes a processor from its width and the mean log-degree of the training graphs."""


def is_known(name: str) -> bool:
    """Tell whether there is such a processor, loading plugins if need be."""
    if name not in PROCESSORS:
        import_all()
    return name in PROCESSORS
