"""A search of the paper's network becomes one compiled loop on the CPU: the engine `fast`.

It evaluates the same network at each step; what differs is the order of the arithmetic. A graph is
run to its end before the next one starts, so that its latents stay in the cache, and within a step
the nodes pass in blocks: two products before the messages, two after them, and everything between
in one pass. The message is split as in `processors`, links are rows of a table, and PNA's two
linear layers, between which nothing stands, are multiplied out. Numbers differ from the plain form
in their last digits; tests hold the decisions equal.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from augury.neural.networks import PaperNetwork, State
from augury.neural.processors import MPNN, PNA, PNAWithoutStd, Processor
from augury.neural.wiring import Wiring

FloatArray = npt.NDArray[np.float32]

BLOCK = 64
"""Nodes that pass together: enough for a product to be quick, few enough to stay in the cache, and
a product this small never wakes BLAS's threads."""


class Recipe(NamedTuple):
    """The weights of one kind of search, in the order in which a step uses them, transposed."""

    inputs: FloatArray
    """(value, K): what each integer adds to a node's encoding."""
    of_latent: FloatArray
    """(K, 4 K): the latent's parts of the GRU's three gates and of the encoding."""
    of_encoded: FloatArray
    """(K, 3 K): receiver's and sender's part of a message, and the node's part of its update."""
    of_heard: FloatArray
    """(statistics * K, scalers * K): the update from what a node hears, a part for each scaler."""
    of_updated: FloatArray
    """(K, 3 K): the update's parts of the GRU's gates."""
    outputs: FloatArray
    """(2 K, bit): logits from encoding and latent."""
    goes_on: FloatArray
    """(K,): the logit of going on from the mean latent."""
    mean_log_degree: np.float32
    """δ of PNA."""


class Ended(NamedTuple):
    """What a search leaves, for all graphs of the batch."""

    values: Tensor
    state: State
    steps: int


STATISTICS: dict[type[Processor], int] = {MPNN: 1, PNAWithoutStd: 3, PNA: 4}
"""The processors that have a compiled form, and how many statistics each takes of its messages."""


def is_available(network: PaperNetwork, device: torch.device | str) -> bool:
    """Tell whether this network has a fast form on this device."""
    processor = network.processor
    is_known = type(processor) in STATISTICS and processor.gru is not None
    is_single = network.bit_encoder.weight.ndim == 2
    is_float = network.bit_encoder.weight.dtype == torch.float32
    on_cpu = torch.device(device).type == "cpu"
    return is_known and is_single and is_float and on_cpu and _kernel() is not None


def search_recipe(network: PaperNetwork) -> Recipe:
    """Take the weights of a Bellman-Ford search out of a network."""
    codes = network.encode_integers(torch.arange(2**network.bits))
    inputs, of_latent = network.search_nodes.weight.split(network.hidden, dim=1)
    return _recipe(
        network, codes @ inputs.mT, of_latent, network.distance.weight, network.search_goes_on
    )


def reach_recipe(network: PaperNetwork) -> Recipe:
    """Take the weights of a breadth-first search out of a network."""
    weight = network.reach_nodes.weight  # the first column meets the bit
    inputs = torch.stack([torch.zeros_like(weight[:, 0]), weight[:, 0]])
    return _recipe(network, inputs, weight[:, 1:], network.reached.weight, network.reach_goes_on)


def _recipe(
    network: PaperNetwork, inputs: Tensor, of_latent: Tensor, outputs: Tensor, goes_on: Any
) -> Recipe:
    processor: Any = network.processor
    own, sent, _ = processor.message.weight.split(network.hidden, dim=1)
    join, delta = processor.join.weight, 1.0
    if isinstance(processor, PNA):
        join, delta = processor.mix.weight @ join, float(processor.mean_log_degree)
    heard = join[:, network.hidden :].unflatten(1, (-1, STATISTICS[type(processor)], own.shape[1]))
    return Recipe(
        *(
            np.ascontiguousarray(weight.detach().numpy())
            for weight in (
                inputs,
                torch.cat([processor.gru.of_state, of_latent]).mT,
                torch.cat([own, sent, join[:, : network.hidden]]).mT,
                heard.permute(2, 3, 1, 0).flatten(2).flatten(0, 1),
                processor.gru.of_input.mT,
                outputs.mT,
                goes_on.weight[0],
            )
        ),
        np.float32(delta),
    )


def run(
    recipe: Recipe, values: Tensor, prepared: Tensor, row: Tensor, wiring: Wiring
) -> Ended:
    """Step every graph of the batch until the network stops it or |V| − 1 steps are done.

    Args:
        recipe: the weights.
        values: (node,), the integers that the search starts from.
        prepared: (row, K), the links' part of the messages, a row for each kind of link.
        row: (link,), the kind of each link.
        wiring: who hears whom.
    """
    last_values = values.clone()
    latent = torch.zeros(wiring.num_nodes, recipe.of_latent.shape[0])
    encoded = torch.zeros_like(latent)
    steps = _kernel()(
        *recipe,
        prepared.numpy(),
        row.numpy(),
        wiring.sender.numpy(),
        wiring.start.numpy(),
        wiring.node_start.numpy(),
        last_values.numpy(),
        latent.numpy(),
        encoded.numpy(),
    )
    return Ended(last_values, State(encoded, latent), steps)


@cache
def _kernel() -> Any:  # noqa: C901 – loops that numba can only see whole
    """Compile the loop, or return None where numba is not installed."""
    try:
        import numba
        from llvmlite import ir
        from numba.extending import intrinsic
    except ImportError:
        return None
    real, one, half = numba.float32, np.float32(1), np.float32(0.5)
    zero, slope, tiny = np.float32(0), np.float32(0.01), np.float32(1e-5)
    log2_e, ln2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
    low, high = np.float32(-87), np.float32(88)
    taylor = tuple(np.float32(1 / n) for n in (5040, 720, 120, 24, 6, 2))
    compiled = numba.njit(fastmath={"contract", "nsz"}, error_model="numpy")

    @intrinsic
    def as_float(typing: Any, bits: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], ir.FloatType())

        return numba.float32(numba.int32), generate

    @compiled
    def exp(x):
        # 2^n e^r with |r| <= ln 2 / 2: a short series and the exponent's bits, so that it vectorises.
        x = min(max(x, low), high)
        n = np.floor(x * log2_e + half)
        r = x - n * ln2
        c7, c6, c5, c4, c3, c2 = taylor
        series = ((((((c7 * r + c6) * r + c5) * r + c4) * r + c3) * r + c2) * r + one) * r + one
        return series * as_float(numba.int32((numba.int32(n) + numba.int32(127)) << numba.int32(23)))

    @compiled
    def leaky(x):
        return x if x > zero else x * slope

    @compiled
    def gate(given, kept, latent):
        """Make `latent` (node, K) that of the next step; a row holds reset, update and new."""
        hidden = latent.shape[1]
        for i in range(len(latent)):
            for k in range(hidden):
                reset = one / (one + exp(-(given[i, k] + kept[i, k])))
                keep = one / (one + exp(-(given[i, hidden + k] + kept[i, hidden + k])))
                new = given[i, 2 * hidden + k] + reset * kept[i, 2 * hidden + k]
                proposal = one - (one + one) / (exp(new + new) + one)
                latent[i, k] = proposal + keep * (latent[i, k] - proposal)

    @compiled
    def largest(node, base, start, sender, row, sent, prepared, heard):
        """Take the maximum over the links into a node; two links at a time."""
        hidden = sent.shape[1]
        first, end = start[node], start[node + 1]
        for k in range(hidden):
            heard[k] = sent[sender[first] - base, k] + prepared[row[first], k]
        link = first + 1
        while link + 1 < end:
            j, kind = sender[link] - base, row[link]
            other, other_kind = sender[link + 1] - base, row[link + 1]
            for k in range(hidden):
                one_value = sent[j, k] + prepared[kind, k]
                two_value = sent[other, k] + prepared[other_kind, k]
                value = one_value if one_value > two_value else two_value
                heard[k] = value if value > heard[k] else heard[k]
            link += 2
        if link < end:
            for k in range(hidden):
                value = sent[sender[link] - base, k] + prepared[row[link], k]
                heard[k] = value if value > heard[k] else heard[k]

    @compiled
    def statistics(node, base, start, sender, row, sent, prepared, own, heard):
        """Take mean, min, max and, if there is room for it, deviation of a node's messages."""
        hidden = sent.shape[1]
        first, end = start[node], start[node + 1]
        has_deviation = len(heard) > 3 * hidden
        for k in range(hidden):
            value = sent[sender[first] - base, k] + prepared[row[first], k]
            heard[k] = value
            heard[hidden + k] = value
            heard[2 * hidden + k] = value
            if has_deviation:
                heard[3 * hidden + k] = value * value
        for link in range(first + 1, end):
            j, kind = sender[link] - base, row[link]
            for k in range(hidden):
                value = sent[j, k] + prepared[kind, k]
                heard[k] += value
                heard[hidden + k] = min(value, heard[hidden + k])
                heard[2 * hidden + k] = max(value, heard[2 * hidden + k])
                if has_deviation:
                    heard[3 * hidden + k] += value * value
        share = one / real(end - first)
        for k in range(hidden):
            mean = heard[k] * share
            heard[k] = mean + own[k]
            heard[hidden + k] += own[k]
            heard[2 * hidden + k] += own[k]
            if has_deviation:
                spread = heard[3 * hidden + k] * share - mean * mean
                heard[3 * hidden + k] = np.sqrt(max(spread, zero) + tiny)

    @compiled
    def send(rows, inputs, of_latent, of_encoded, values, latent, encoded, kept, parts, sent):  # noqa: PLR0913 – numba takes arrays, not objects
        """Before the messages: encode the nodes of a block and apply all that meets the encoding."""
        a, b = rows
        hidden = latent.shape[1]
        np.dot(latent[a:b], of_latent, kept[a:b])
        for i in range(a, b):
            for k in range(hidden):
                encoded[i, k] = leaky(kept[i, 3 * hidden + k] + inputs[values[i], k])
        np.dot(encoded[a:b], of_encoded, parts[a:b])
        for i in range(a, b):
            for k in range(hidden):
                sent[i, k] = parts[i, hidden + k]

    @compiled
    def update(heard, parts, degree, delta, of_heard, through, updated):
        """After the messages: join what the nodes of a block heard with what they are."""
        hidden = updated.shape[1]
        np.dot(heard, of_heard, through)
        for i in range(len(heard)):
            scale = np.log(real(degree[i] + 1)) / delta
            for k in range(hidden):
                value = through[i, k]
                if through.shape[1] > hidden:
                    value += through[i, hidden + k] * scale
                    value += through[i, 2 * hidden + k] / scale
                updated[i, k] = leaky(value + parts[i, 2 * hidden + k])

    @compiled
    def decode(outputs, encoded, latent, both, logits, values):
        """Round the outputs of a block's nodes to the integers that the next step starts from."""
        hidden = latent.shape[1]
        for i in range(len(latent)):
            for k in range(hidden):
                both[i, k] = encoded[i, k]
                both[i, hidden + k] = latent[i, k]
        np.dot(both, outputs, logits)
        for i in range(len(latent)):
            value = 0
            for bit in range(outputs.shape[1]):
                value = 2 * value + (1 if logits[i, bit] > zero else 0)
            values[i] = value

    @compiled
    def search(  # noqa: PLR0913 – numba takes arrays, not objects
        inputs, of_latent, of_encoded, of_heard, of_updated, outputs, goes_on, delta,
        prepared, row, sender, start, node_start, all_values, all_latent, all_encoded,
    ):  # fmt: skip
        hidden = prepared.shape[1]
        most = np.diff(node_start).max()
        kept, parts = np.empty((most, 4 * hidden), real), np.empty((most, 3 * hidden), real)
        sent, degree = np.empty((most, hidden), real), np.diff(start)
        heard = np.empty((BLOCK, of_heard.shape[0]), real)
        through = np.empty((BLOCK, of_heard.shape[1]), real)
        updated, given = np.empty((BLOCK, hidden), real), np.empty((BLOCK, 3 * hidden), real)
        both, logits = np.empty((BLOCK, 2 * hidden), real), np.empty((BLOCK, outputs.shape[1]), real)
        longest = 0
        for graph in range(len(node_start) - 1):
            base, end = node_start[graph], node_start[graph + 1]
            values, latent = all_values[base:end], all_latent[base:end]
            encoded, num_nodes = all_encoded[base:end], end - base
            steps = 0
            while True:
                for a in range(0, num_nodes, BLOCK):
                    rows = (a, min(a + BLOCK, num_nodes))
                    send(rows, inputs, of_latent, of_encoded, values, latent, encoded, kept, parts, sent)
                for a in range(0, num_nodes, BLOCK):
                    b = min(a + BLOCK, num_nodes)
                    size = b - a
                    for i in range(size):
                        node, own = base + a + i, parts[a + i]
                        if of_heard.shape[0] == hidden:
                            largest(node, base, start, sender, row, sent, prepared, heard[i])
                            for k in range(hidden):
                                heard[i, k] = leaky(heard[i, k] + own[k])
                        else:
                            statistics(node, base, start, sender, row, sent, prepared, own, heard[i])
                    update(heard[:size], parts[a:b], degree[base + a : base + b], delta, of_heard,
                           through[:size], updated[:size])  # fmt: skip
                    np.dot(updated[:size], of_updated, given[:size])
                    gate(given[:size], kept[a:b], latent[a:b])
                    decode(outputs, encoded[a:b], latent[a:b], both[:size], logits[:size], values[a:b])
                steps += 1
                logit = zero
                for k in range(hidden):
                    total = zero
                    for i in range(num_nodes):
                        total += latent[i, k]
                    logit += goes_on[k] * (total / real(num_nodes))
                if not (logit > zero and steps < num_nodes - 1):
                    break
            longest = max(longest, steps)
        return longest

    return search
