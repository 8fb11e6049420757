"""Training steps become recorded sequences of kernels: one launch per update instead of thousands.

The networks are small, so an update on a GPU spends most of its time launching kernels. Batches of
one shape (`padded`) make the sequence of kernels the same for every update, so it is recorded once
per number of steps as a CUDA graph: forward, backward and the optimiser. On the CPU the same update
runs without recording, which is how it is tested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from augury.paper.losses import Tally
from augury.paper.padded import PaddedBatch

WARM_UP = 2
"""Updates before a recording, in which libraries initialise; they are undone."""


class Recorder:
    """Updates a network with batches of one shape, and sums their metrics."""

    def __init__(
        self, network: Any, optimizer: torch.optim.Optimizer, learn: Callable[..., None]
    ) -> None:
        self.network, self.optimizer, self.learn = network, optimizer, learn
        self.device = next(network.parameters()).device
        self.total = Tally()
        self.recordings: dict[Any, tuple[Tensor, Callable[[], None]]] = {}

    def update(self, batch: PaddedBatch) -> None:
        """Make one update."""
        packed = batch.packed()
        key = batch.num_steps, batch.extra is None, len(packed)
        if key not in self.recordings:
            buffer = packed.to(self.device, copy=True)
            self.recordings[key] = buffer, self._recording(batch.unpacked(buffer))
        buffer, run = self.recordings[key]
        if self.device.type == "cuda":
            packed = packed.pin_memory()
        buffer.copy_(packed, non_blocking=True)
        run()

    def taken(self) -> Tally:
        """Return the sums since the last call, and reset them."""
        parts = self.total.loss, self.total.right, self.total.count
        found = Tally(*({name: sums[name].clone() for name in sums} for sums in parts))
        for sums in parts:
            for value in sums.values():
                value.zero_()
        return found

    def _update(self, batch: PaddedBatch) -> None:
        search, reach = batch.with_rows()
        tally = Tally()
        self.learn(self.network, search, reach, tally)
        self.optimizer.zero_grad(set_to_none=True)
        tally.total().sum().backward()
        self.optimizer.step()
        for name in tally.count:
            for kind in ("loss", "right", "count"):
                sums, value = getattr(self.total, kind), getattr(tally, kind)[name].detach()
                if name not in sums:
                    sums[name] = torch.zeros_like(value, dtype=torch.float32)
                sums[name].add_(value)

    def _recording(self, batch: PaddedBatch) -> Callable[[], None]:
        if self.device.type != "cuda":
            return lambda: self._update(batch)
        before = [(tensor, tensor.clone()) for tensor in self._state()]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # Adam warns here that it is not being recorded
            for _ in range(WARM_UP):
                self._update(batch)
        torch.cuda.current_stream().wait_stream(stream)
        self._put_back(before)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            self._update(batch)
        return graph.replay

    def _state(self) -> list[Tensor]:
        """Return every tensor that an update changes."""
        moments = [
            value
            for state in self.optimizer.state.values()
            for value in state.values()
            if isinstance(value, Tensor)
        ]
        sums = (self.total.loss, self.total.right, self.total.count)
        return [
            *(parameter.data for parameter in self.network.parameters()),
            *moments,
            *(value for kind in sums for value in kind.values()),
        ]

    def _put_back(self, before: list[tuple[Tensor, Tensor]]) -> None:
        """Undo the warm-up; moments and sums that it created started at zero."""
        known = {tensor.data_ptr(): value for tensor, value in before}
        for tensor in self._state():
            if tensor.data_ptr() in known:
                tensor.copy_(known[tensor.data_ptr()])
            else:
                tensor.zero_()
