"""How the graphs of a table are solved."""

from __future__ import annotations

from typing import NamedTuple

from augury.engines import AUTO, ENGINES
from augury.engines.gpu import CUDA_TABLE
from augury.solver import COMPILED, Runner, runner_of


class Settings(NamedTuple):
    """How graphs are solved; see `solver.solve`."""

    algorithm: str | None = None
    maximise: bool = False
    perfect: bool = False
    model: str | None = None
    engine: str = AUTO
    exact: bool = True
    device: str | None = None
    seed: int = 0
    ignore_costs: bool = False
    on_gpu: bool = False
    """Whether matchings beyond 64 nodes a side may run on a GPU, if nothing else is chosen."""

    @property
    def is_free(self) -> bool:
        """Whether engine, model and device are all left open."""
        return self.engine == AUTO and self.model is None and self.device is None

    @property
    def needs_gpu(self) -> bool:
        """Whether a GPU is asked for, by the engine or by the device."""
        is_named = self.engine != AUTO and ENGINES[self.engine].device == CUDA_TABLE.device
        return is_named or str(self.device).startswith("cuda")

    def runner(self, algorithm: str) -> Runner:
        """Return the runner of an algorithm: compiled loops, unless something else is chosen."""
        return runner_of(
            self.model, self.device, COMPILED if self.is_free else self.engine, algorithm
        )
