"""What an `Engine` is: a form in which a network runs, on graphs of any size or on arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.algorithms.algorithm import Algorithm
from augury.algorithms.answer import Answer, How
from augury.classical.graph import IntArray
from augury.errors import InputError
from augury.inputs import Graph

if TYPE_CHECKING:
    from augury.cells.network import CellNetwork


class Mates(NamedTuple):
    """The matchings of a stack of dense graphs."""

    mates: IntArray
    """(graph, left) or (left,): the column of each row, −1 for none."""
    rounds: IntArray
    """(graph,): searches that led to at least one path."""


class Engine(ABC):
    """One form of a network."""

    name: str | None
    """None where no network of ours runs."""
    what: str
    """What truly runs, in a few words."""
    device: str | None = None
    """Where it runs; None: wherever the network is."""
    algorithms: tuple[str, ...] | None = None
    """What it has a form of; None: whatever is written over cells."""
    needs_proof: bool = False
    """Whether it runs without the judge, and so only networks that are proven."""
    takes_stacks: bool = False
    """Whether it takes dense graphs of one shape as they are; see `match`."""

    def refusal(self, algorithm: Algorithm, name: str, executor: Any) -> str:
        """Say why it cannot run this executor, called `name`; "" if it can."""
        if self.algorithms is not None and algorithm.name not in self.algorithms:
            return f"the engine {self.name!r} has no form of {algorithm.name}: 'lookup' has"
        if self.needs_proof and not is_discrete(executor):
            return (
                f"the engine {self.name!r} runs a discrete network that verifies, and {name!r} is "
                "none"
            )
        return ""

    @abstractmethod
    def run(
        self, algorithm: Algorithm, graphs: Sequence[Graph], executor: Any, how: How
    ) -> list[Answer]:
        """Solve graphs of any sizes, each as if it were alone."""

    def match(
        self,
        adjacency: npt.NDArray[np.uint8],
        network: CellNetwork | None,
        threads: int = 1,
        digest: str = "",
    ) -> Mates:
        """Match a stack of dense graphs, bytes of 0 and 1; see `require_proof` for the network."""
        raise InputError(f"the engine {self.name!r} has no form of a discrete network")

    def ties(self, graph: Graph) -> Callable[..., Any] | None:
        """Return the tie-breaks with which the network decides as this engine; None: random."""
        return None


def is_discrete(executor: Any) -> bool:
    """Whether an executor's network is one of cells."""
    from augury.cells.network import CellNetwork

    return isinstance(getattr(executor, "network", None), CellNetwork)


def require_proof(network: CellNetwork | None, digest: str = "") -> CellNetwork:
    """Return the network, by default the shipped one, if it is proven with margins.

    Args:
        network: what is to run without a judge.
        digest: of its weights, where they are known; proofs are kept by it.

    Raises:
        InputError: it is not proven.
    """
    from augury.cells.proof import is_proven
    from augury.models.checkpoint import shipped_network

    own, known = shipped_network() if network is None else (network, digest)
    if not is_proven(own, known):
        raise InputError(
            "this network is not proven, so it has no compiled form; `augury verify` shows why"
        )
    return own
