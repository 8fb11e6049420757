"""An answer becomes a `Solution`: the user's labels, and the certificate that proves it.

The certificate is made at once, labels only on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import eq
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from augury.algorithms import ALGORITHMS
from augury.algorithms.algorithm import Algorithm
from augury.classical.answer import Answer
from augury.classical.arrays import Label, Numbers
from augury.classical.certificate import Certificate, later
from augury.classical.costs import Amount
from augury.classical.covers import Covers, PackedCovers
from augury.classical.priced import Priced
from augury.classical.proofs import Proofs
from augury.errors import InputError
from augury.inputs import Graph, Graphs

NOUNS = ("matching", "flow", "reached")


@later(*NOUNS)
@dataclass(frozen=True, repr=False)
class Solution:
    """A legal answer with the user's labels, and what is known about it.

    >>> import augury
    >>> solution = augury.solve({"ann": {"cook": 4, "sing": 1}, "bob": {"cook": 2, "sing": 1}})
    >>> solution.matching, solution.cost, solution.is_optimal
    ([('ann', 'sing'), ('bob', 'cook')], 3, True)
    >>> solution.prices
    {'left': [0, 0], 'right': [2, 1], 'source': 0, 'sink': 2}
    """

    executor: str
    """What ran the subroutines: the name of the network, or of a classical executor."""
    neural_rounds: int
    """Searches by this executor that led to at least one augmenting path."""
    classical_rounds: int
    """The same for the classical search that finished the run; 0 unless it had ended early."""
    ending: str
    """How the executor's own part ended: "done", or why it stopped early."""
    certificate: Certificate
    engine: str | None = None
    """The form in which the network ran, a name in `augury.engines.ENGINES`: "plain" and "cuda"
    evaluate it, "lookup" reads its table; "table" and "cuda-table" are hand-written loops that were
    checked equal to that table; with costs, beyond 512 arcs, "table" uses other loops that find the
    same cost. None where no network of ours ran.
    """
    matching: list[tuple[Label, Label]] | None = None
    """Matched (left, right) pairs; none where a perfect matching was asked for and none exists."""
    flow: list[tuple[Label, Label, int]] | None = None
    """(tail, head, amount) for each arc that carries flow."""
    reached: list[tuple[Label, int, Label]] | None = None
    """(node, steps, predecessor) for each node that is reached; the source has no predecessor."""
    retell: Callable[[], dict[str, Any]] | None = field(default=None, compare=False)
    """Runs again and tells every step; None where the executor shows none."""

    @property
    def size(self) -> int:
        """Edges in the matching, value of the flow, or nodes that are reached."""
        return self.certificate.size

    @property
    def is_maximum(self) -> bool:
        """Whether the certificate proves that nothing larger exists."""
        return self.certificate.is_maximum

    @property
    def is_optimal(self) -> bool:
        """Whether it proves that nothing is larger and, where there are costs, nothing better."""
        return self.certificate.is_optimal

    @property
    def is_infeasible(self) -> bool:
        """Whether it proves that the request cannot be met: no flow meets the supplies, say."""
        return self.certificate.is_infeasible

    @property
    def cost(self) -> Amount | None:
        """What it costs, in the units of the input; None where nothing has a cost."""
        return self.certificate.cost

    @property
    def gap(self) -> Amount | None:
        """How far the cost can be from the best: 0 if it is the best; see `Certificate.gap`."""
        return self.certificate.gap

    @property
    def prices(self) -> dict[str, Any] | None:
        """The prices of the nodes that prove the cost to be the best; see docs/verification.md."""
        return getattr(self.certificate.proof, "prices", None)

    @property
    def rounds(self) -> int:
        """Searches that led to at least one augmenting path, neural or classical."""
        return self.neural_rounds + self.classical_rounds

    @property
    def noun(self) -> str:
        """What was found: "matching", "flow" or "reached"."""
        return next(noun for noun in NOUNS if vars(self)[noun] is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as one object that JSON can hold."""
        costs = {"cost": self.cost, "is_optimal": self.is_optimal, "gap": self.gap}
        return {
            "size": self.size,
            "is_maximum": self.is_maximum,
            **({} if self.cost is None else costs),
            self.noun: [list(entry) for entry in getattr(self, self.noun)],
            "executor": self.executor,
            "engine": self.engine,
            "rounds": self.rounds,
            "neural_rounds": self.neural_rounds,
            "classical_rounds": self.classical_rounds,
            "ending": self.ending,
            "certificate": self.certificate.to_dict(),
        }

    def story(self) -> dict[str, Any]:
        """Run again and return every round and step; see `augury.watch`.

        Raises:
            InputError: the executor shows no steps, or the run is too long to be told.
        """
        if self.retell is None:
            raise InputError(f"the executor {self.executor!r} shows no steps")
        return self.retell()

    def _repr_html_(self) -> str | None:
        """Show the run in a notebook, or just the text where it cannot be told."""
        from augury.page import frame_of

        try:
            return frame_of(self.story())
        except InputError:
            return None

    def __repr__(self) -> str:
        short = self.certificate.shortfall
        proven = "maximum" if self.is_maximum else f"{short} short of the maximum"
        if self.cost is not None:
            best = (
                "not proven the best" if self.gap is None else f"at most {self.gap} from the best"
            )
            proven += f", cost {self.cost}, {'the best' if self.is_optimal else best}"
        if self.is_infeasible:
            proven = self.certificate.fault
        rounds = f"{self.rounds} round{'s' * (self.rounds != 1)}"
        if self.classical_rounds and not is_classical(self.executor):
            rounds += f", {self.classical_rounds} of them classical"
        who = f"{self.executor} ({self.engine})" if self.engine else self.executor
        is_set = self.noun == "reached"
        found = f"{self.size} reached" if is_set else f"{self.noun} of {self.size}"
        return f"Solution({found}, {proven}, {rounds}, {who})"


def is_classical(executor: str) -> bool:
    """Whether this is the name of an executor without a network."""
    return any(executor in algorithm.classical for algorithm in ALGORITHMS.values())


def solutions_of(
    algorithm: Algorithm,
    who: tuple[str, str | None],
    graphs: Graphs,
    answers: Sequence[Answer],
    tell: Callable[[Graph], dict[str, Any]] | None = None,
) -> list[Solution]:
    """Add labels and certificates to answers.

    `who` holds the names of executor and engine; `tell` tells the run on a graph.
    """
    name, engine = who
    if len(graphs) > 1 and algorithm.certify_all is not None:
        certificates = algorithm.certify_all(graphs, answers)
    else:
        certificates = map(algorithm.certify, graphs, answers)
    solutions: list[Solution] = []
    for graph, answer, certificate in zip(graphs, answers, certificates, strict=True):
        found, rounds, finished, ending, _ = answer
        own = algorithm.labelled
        label = graph.labelled if own is None else partial(own, graph)
        rows: Any = [] if certificate.fault else partial(label, found)
        told: dict[str, Any] = {algorithm.noun or graph.noun: rows}
        told["retell"] = tell and partial(tell, graph)
        run = name, rounds, finished, ending
        solutions.append(Solution(*run, certificate, engine, **told))
    return solutions


@dataclass(frozen=True, eq=False, repr=False)
class Solutions(Sequence[Solution]):
    """The solutions of many graphs, all found and proven; each is made on demand.

    `sizes` has the sizes as an array, and `mates` the matchings of a stack of dense graphs. It is
    equal to any sequence of the same solutions.

    >>> import augury
    >>> solutions = augury.solve_batch(np.array([[[1, 1], [0, 1]], [[1, 1], [0, 0]]]))
    >>> solutions
    Solutions(2 matchings, 2 proven maximum, discrete (table))
    >>> solutions.mates.tolist(), solutions.sizes.tolist()
    ([[0, 1], [0, -1]], [2, 1])
    >>> solutions[1].matching
    [(0, 0)]
    """

    executor: str
    engine: str
    rounds: npt.NDArray[np.int32]
    """(graph,): searches that led to at least one augmenting path."""
    proofs: Proofs
    """What was found, and the proof of each."""
    tell: Callable[[Graph], dict[str, Any]] | None
    """Tells the run on a graph; see `Solution.retell`."""

    @property
    def mates(self) -> Numbers:
        """(graph, left): the column of each row, −1 for none, in a stack of dense graphs."""
        if not isinstance(self.proofs, Covers | PackedCovers | Priced):
            raise InputError("only a stack of dense graphs has its matchings in one array")
        return self.proofs.mates

    @property
    def sizes(self) -> npt.NDArray[Any]:
        """(graph,): edges of each matching, value of each flow."""
        return self.proofs.sizes

    @property
    def is_maximum(self) -> bool:
        """Whether all are proven."""
        return bool(self.proofs.is_proven.all()) or all(one.is_maximum for one in self)

    def __len__(self) -> int:
        return len(self.rounds)

    @overload
    def __getitem__(self, number: int) -> Solution: ...
    @overload
    def __getitem__(self, number: slice) -> list[Solution]: ...
    def __getitem__(self, number: int | slice) -> Solution | list[Solution]:
        if isinstance(number, slice):
            return [self._solution(k) for k in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(f"solution {number} of {len(self)}")
        return self._solution(number % len(self))

    def _solution(self, number: int) -> Solution:
        proofs = self.proofs
        certificate = proofs.certificate(number)
        run = self.executor, int(self.rounds[number]), 0, "done"
        found: dict[str, Any] = dict([proofs.labelled(number)])
        told = self.tell and _Retold(self.tell, proofs, number)
        return Solution(*run, certificate, self.engine, retell=told, **found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    def __repr__(self) -> str:
        proven = int(self.proofs.is_proven.sum())
        who = f"{self.executor} ({self.engine})"
        best = "of least cost" if isinstance(self.proofs, Priced) else "maximum"
        return f"Solutions({len(self):,} {self.proofs.noun}s, {proven:,} proven {best}, {who})"


class _Retold(NamedTuple):
    """Tells the run on one of many graphs, made only then; pickling it stores that graph alone."""

    tell: Callable[[Graph], dict[str, Any]]
    proofs: Proofs
    number: int

    def __call__(self) -> dict[str, Any]:
        return self.tell(self.proofs.graph(self.number))

    def __reduce__(self) -> Any:
        return partial, (self.tell, self.proofs.graph(self.number))
