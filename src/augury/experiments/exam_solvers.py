"""Graphs become answers: our engines and their peers, as an exam asks them.

An answer is its size, its cost where there is one, and whether it came with a proof that nothing
is better; or why there is none. Nothing here decides who is right. The verified network runs with
`exact=False`: no classical search finishes what it leaves undone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from augury.classical.hard import HARD_FLOWS, HARD_MATCHINGS
from augury.classical.network import Graph
from augury.errors import Choices
from augury.experiments import peers
from augury.experiments.peers import Arcs, Edges
from augury.solver import solve_batch

Value = tuple[int, Any] | None
"""Size and cost of an answer (None without costs), or None where there is no answer."""


class Answer(NamedTuple):
    """What a solver says to one question."""

    value: Value = None
    is_certified: bool = False
    """Whether a certificate proves that nothing is larger or cheaper, or that no answer exists."""
    refusal: str = ""
    """Why there is no answer."""


Ask = Callable[[Sequence[Graph]], list[Answer]]


@dataclass(frozen=True)
class Solver:
    """A solver to examine."""

    what: str
    asks: dict[str, Ask]
    """By kind of question; kinds that it cannot take are missing."""
    needs: str = ""
    """The optional package that it needs."""
    most: float = 100_000
    """The most questions of an exhaustive judge that it gets; of more, it gets a selection."""
    is_proven: bool = False
    """Whether every answer has to be right, or the exam fails."""
    needs_device: bool = False
    engine: str = ""
    """The engine of the verified network that it is, for the peers' test suites."""

    def absence(self) -> str:
        """Say why it cannot run here; "" if it can."""
        if self.needs and not find_spec(self.needs):
            return f"{self.needs} is not installed"
        if self.needs_device and not _has_device():
            return "there is no CUDA device here"
        return ""

    @property
    def version(self) -> str:
        """The version of a peer."""
        return version(self.needs) if self.needs and not self.engine else ""


def _has_device() -> bool:
    if not (find_spec("torch") and find_spec("cupy")):
        return False
    import torch

    return torch.cuda.is_available()


def _ours(model: str | None, engine: str, graphs: Sequence[Graph]) -> list[Answer]:
    """Solve graphs side by side; if one is refused, one by one."""
    try:
        found = solve_batch(list(graphs), model=model, engine=engine, exact=False)
        return [_answer(solution) for solution in found]
    except Exception as error:
        if len(graphs) == 1:
            return [Answer(refusal=_reason(error))]
        return [_ours(model, engine, [graph])[0] for graph in graphs]


def _answer(solution: Any) -> Answer:
    if solution.is_infeasible:
        return Answer(None, True)
    return Answer((solution.size, solution.cost), solution.is_optimal)


def _engine(engine: str, what: str, kinds: str = "matching flow cost", **more: Any) -> Solver:
    ask = partial(_ours, None, engine)
    return Solver(what, dict.fromkeys(kinds.split(), ask), is_proven=True, engine=engine, **more)


def _one_by_one(solve: Callable[[Any], Value]) -> Ask:
    def ask(graphs: Sequence[Graph]) -> list[Answer]:
        found: list[Answer] = []
        for graph in graphs:
            try:
                found.append(Answer(solve(graph)))
            except Exception as error:
                found.append(Answer(refusal=_reason(error)))
        return found

    return ask


def _reason(error: Exception) -> str:
    """Return the first line of an error's message, after its kind unless that is InputError."""
    told = str(error).partition("\n")[0][:200]
    kind = type(error).__name__
    return told if kind == "InputError" and told else f"{kind}: {told}" if told else kind


def _sized(hand: Callable[[Any], peers.Problem], of: Callable[[Any], Any]) -> Ask:
    return _one_by_one(lambda graph: (hand(of(graph)).solved(), None))


def _peer(what: str, needs: str, *, cost: Any = None, most: float = 100_000) -> Solver:
    """Return a peer by its functions in `peers`; OR-Tools matches by flows."""
    flow = getattr(peers, f"{needs}_flow")
    matching = getattr(peers, f"{needs}_matching", None)
    asks = {
        "matching": _sized(matching, Edges.of)
        if matching
        else _sized(flow, lambda graph: Edges.of(graph).as_arcs()),
        "flow": _sized(flow, Arcs.of),
    }
    if cost is not None:
        asks["cost"] = _one_by_one(cost)
    return Solver(what, asks, needs, most)


SOLVERS: Choices[Solver] = Choices(
    {
        "table": _engine("table", "the verified network as compiled loops", most=np.inf),
        "lookup": _engine("lookup", "its table, looked up at each step", most=np.inf),
        "plain": _engine("plain", "the network itself, evaluated", needs="torch"),
        "cuda-table": _engine(
            "cuda-table", "those loops on a GPU", "matching", needs_device=True, most=np.inf
        ),
        "cuda": _engine("cuda", "the network, evaluated on a GPU", "matching", needs_device=True),
        "paper-mpnn": Solver(
            "the paper's network, which nothing proves",
            {"matching": partial(_ours, "paper-mpnn", "fast")},
            "torch", 5000, engine="fast",
        ),
        "SciPy": _peer("csgraph and linear_sum_assignment", "scipy", cost=peers.scipy_costs),
        "OR-Tools": _peer(
            "SimpleMaxFlow and SimpleMinCostFlow", "ortools",
            cost=peers.ortools_costs, most=np.inf,
        ),
        "igraph": _peer("maxflow and maximum_bipartite_matching", "igraph"),
        "NetworkX": _peer(
            "maximum_flow, hopcroft_karp_matching, network_simplex", "networkx",
            cost=peers.networkx_costs,
        ),
    }
)  # fmt: skip
SOLVERS.noun = "solvers"
REFERENCE = "table"
"""The solver whose certified values judge the peers."""


def warm_up(solver: Solver, kind: str) -> None:
    """Import and compile everything before anything is timed."""
    from augury.experiments.exam_questions import JUDGES

    is_compiled = solver.engine == REFERENCE  # in several forms, by size and kind of numbers
    rng = np.random.default_rng(0)
    if kind == "cost":
        numbers = {"costs-all": 1, "costs": 15, "assignments": 1, "cost-flows": 1}
        found = [JUDGES[name].make(k) for name, count in numbers.items() for k in range(count)]
    else:
        make = HARD_MATCHINGS["random-edges"] if kind == "matching" else HARD_FLOWS["random-flow"]
        found = [make(rng, size) for size in (64, 1000, 20_000)]
    for graph in found if is_compiled else found[:1]:
        solver.asks[kind]([graph])
