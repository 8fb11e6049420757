"""A graph becomes a `Solution`: its maximum matching or flow, and the certificate that proves it.

The executor proposes, `ford_fulkerson` applies only what is legal, and `certificate`, which knows
no executor, says whether the result is maximum. With `exact` a run that ended early is finished by
the classical search, and the solution says how many rounds were whose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from augury.classical.batch import MAX_ARCS, Batch
from augury.classical.certificate import (
    Certificate,
    certify_all,
    certify_flow,
    certify_pairs,
)
from augury.classical.ford_fulkerson import (
    BELLMAN_FORD,
    BREADTH_FIRST,
    Settings,
    Subroutines,
    Verdict,
    ford_fulkerson,
)
from augury.classical.graph import BipartiteGraph, InputError, Label, WideArray
from augury.classical.network import FlowNetwork
from augury.inputs import Graph, as_graph, as_graphs

if TYPE_CHECKING:
    from augury.neural.execute import Executor

    Model = str | Path | Executor | Subroutines | None
    """A shipped name, a checkpoint, a classical executor's name, or anything that executes."""

CLASSICAL: dict[str, Subroutines] = {"classical": BREADTH_FIRST, "bellman-ford": BELLMAN_FORD}
"""Executors without a network: breadth-first search, and the paper's search by random weights."""

DEFAULT_MODEL = "discrete"
"""The shipped network that `augury verify` proves exact."""


class Progress(NamedTuple):
    """How far a run is."""

    finished: int
    """Graphs that are done."""
    rounds: int
    """Rounds so far, of the graphs that are running now."""
    size: int
    """Edges or units of flow found so far, in all graphs."""


class Outcome(NamedTuple):
    """How the run on one network ended."""

    residual: WideArray
    """What each arc can still carry: always that of a legal flow."""
    neural_rounds: int
    """Searches of the executor that led to at least one augmenting path."""
    classical_rounds: int
    """The same of the classical search that finished the run; 0 unless it had ended early."""
    ending: str
    """How the executor's own part ended: "done", or why it stopped early."""


@dataclass(frozen=True, repr=False)
class Solution:
    """A legal matching or flow with the user's labels, and what is known about it."""

    executor: str
    """Who ran the subroutines: the network's name, or that of a classical executor."""
    neural_rounds: int
    """Searches by this executor that led to at least one augmenting path."""
    classical_rounds: int
    """The same of the classical search that finished the run; 0 unless it had ended early."""
    ending: str
    """How the executor's own part ended: "done", or why it stopped early."""
    certificate: Certificate
    matching: list[tuple[Label, Label]] | None = None
    """Matched (left, right) pairs; None for a flow."""
    flow: list[tuple[Label, Label, int]] | None = None
    """(tail, head, amount) for each arc that carries flow; None for a matching."""
    retell: Callable[[], dict[str, Any]] | None = field(default=None, compare=False)
    """Run again, with every step told; None where the executor shows none."""

    @property
    def size(self) -> int:
        """Edges of the matching, or value of the flow."""
        return self.certificate.size

    @property
    def is_maximum(self) -> bool:
        """Whether the certificate proves that nothing larger exists."""
        return self.certificate.is_maximum

    @property
    def rounds(self) -> int:
        """Searches that led to at least one augmenting path, whoever made them."""
        return self.neural_rounds + self.classical_rounds

    def to_dict(self) -> dict[str, Any]:
        """Return everything as one object that JSON can hold."""
        what = "flow" if self.matching is None else "matching"
        return {
            "size": self.size,
            "is_maximum": self.is_maximum,
            what: [list(entry) for entry in getattr(self, what)],
            "executor": self.executor,
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
        """Show the run in a notebook, or nothing but the text where it cannot be told."""
        from augury.page import frame_of

        try:
            return frame_of(self.story())
        except InputError:
            return None

    def __repr__(self) -> str:
        what = "flow" if self.matching is None else "matching"
        short = self.certificate.shortfall
        proven = "maximum" if self.is_maximum else f"{short} short of the maximum"
        rounds = f"{self.rounds} round{'s' * (self.rounds != 1)}"
        if self.classical_rounds and self.executor not in CLASSICAL:
            rounds += f", {self.classical_rounds} of them classical"
        return f"Solution({what} of {self.size}, {proven}, {rounds}, {self.executor})"


def solve(  # noqa: PLR0913  # a graph, its ends, and how it is solved
    graph: Any,
    *,
    model: Model = None,
    exact: bool = True,
    device: Any = None,
    seed: int = 0,
    source: Label = None,
    sink: Label = None,
    progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """Find a maximum matching of a bipartite graph, or a maximum flow of a network, and certify it.

    Args:
        graph: a `BipartiteGraph`, `FlowNetwork`, path, array, SciPy sparse matrix, NetworkX graph
            or PyTorch Geometric data: see `augury.inputs`.
        model: who executes: the shipped, verified network by default; another shipped name such as
            "paper-mpnn", a checkpoint's path, "classical", "bellman-ford", or an executor.
        exact: finish by the classical search what the executor ended early.
        device: where the network runs, as PyTorch names it; the CPU by default.
        seed: of the random weights; another seed may give another answer of the same size.
        source: together with `sink` makes arrays, matrices and NetworkX graphs flow networks.
        sink: see `source`.
        progress: called after each round.

    Raises:
        InputError: the graph, the model or a capacity is not what it should be.
        TypeError: `graph` holds no graph that we know.

    >>> graph = BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("bob", "sing")])
    >>> solve(graph).matching
    [('ann', 'cook'), ('bob', 'sing')]
    """
    name, subroutines = subroutines_of(model, device)
    read = as_graph(graph, source, sink)
    [solution] = _solved([read], name, subroutines, (exact, seed, progress))
    return replace(solution, retell=_teller(read, model, exact, device, seed))


def solve_batch(
    graphs: Any,
    *,
    model: Model = None,
    exact: bool = True,
    device: Any = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> list[Solution]:
    """Solve many graphs, of unequal sizes if need be, side by side.

    Every graph is solved as if alone: the k-th solution is that of `solve(graphs[k], seed=seed)`.
    Memory is bounded: graphs are run in chunks of at most `MAX_ARCS` arcs.

    Args:
        graphs: a list or iterator of whatever `solve` takes, a PyTorch Geometric `Batch`, or a
            dense (graph, left, right) array or tensor.
        model: see `solve`, also for the rest.
        exact: see `solve`.
        device: see `solve`.
        seed: see `solve`.
        progress: called after each round of a chunk.

    >>> [solution.size for solution in solve_batch(np.array([[[1, 1], [0, 1]], [[1, 1], [0, 0]]]))]
    [2, 1]
    """
    name, subroutines = subroutines_of(model, device)
    solutions: list[Solution] = []
    for chunk in _chunks(as_graphs(graphs)):
        before, size = len(solutions), sum(solution.size for solution in solutions)
        report = progress and _shifted(progress, before, size)
        solved = _solved(chunk, name, subroutines, (exact, seed, report))
        solutions += [
            replace(solution, retell=_teller(graph, model, exact, device, seed))
            for graph, solution in zip(chunk, solved, strict=True)
        ]
    return solutions


def _teller(
    graph: Graph, model: Any, exact: bool, device: Any, seed: int
) -> Callable[[], dict[str, Any]] | None:
    """Return what tells a run of `solve` step by step, for models that are known by name."""
    if not isinstance(model, str | Path | None):
        return None

    def tell() -> dict[str, Any]:
        from augury.watch import watch

        how = {"model": model, "exact": exact, "seed": seed, "device": str(device or "cpu")}
        return watch(graph, **how, many_paths=True)

    return tell


def run(
    networks: Sequence[FlowNetwork],
    model: Model = None,
    *,
    exact: bool = True,
    device: Any = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> list[Outcome]:
    """Run flow networks side by side; for arguments see `solve`. Nothing is certified here."""
    return _run(networks, subroutines_of(model, device)[1], exact, seed, progress)


def maximum_residual(network: FlowNetwork) -> WideArray:
    """Return the residual of each arc after a maximum flow, found by the shipped network."""
    return run([network])[0].residual


def maximum_matching(graph: BipartiteGraph) -> WideArray:
    """Return the (left, right) pairs of a maximum matching, sorted by their left node."""
    return _matched_pairs(graph, maximum_residual(FlowNetwork.from_bipartite(graph)))


def subroutines_of(model: Model = None, device: Any = None) -> tuple[str, Subroutines]:
    """Return the name and the subroutines of a model as `solve` takes it.

    Raises:
        InputError: there is no such model, or no such device.
    """
    if isinstance(model, Subroutines):
        return "own", model
    if hasattr(model, "subroutines"):  # an executor, of a network that need not be ours
        return type(model).__name__, model.subroutines()  # type: ignore[union-attr]
    name = DEFAULT_MODEL if model is None else str(model)
    if name in CLASSICAL:
        return name, CLASSICAL[name]
    from augury.neural.checkpoint import find

    path = find(name)
    return path.stem, _loaded(path, path.stat().st_mtime_ns, str(device or "cpu"))


@lru_cache(maxsize=4)
def _loaded(path: Path, changed: int, device: str) -> Subroutines:
    """Load a checkpoint once, and again when the file has changed."""
    import torch

    from augury.neural.checkpoint import load
    from augury.neural.kinds import executor_of

    try:
        network = load(path).network.to(torch.device(device))
    except (RuntimeError, AssertionError) as error:  # PyTorch's words for "no such device"
        reason = str(error).partition("\n")[0]
        raise InputError(f"the device {device!r} cannot be used: {reason}") from None
    return executor_of(network, device).subroutines()


def _chunks(graphs: Iterable[Graph]) -> Iterator[list[Graph]]:
    """Group graphs in order so that each group has at most `MAX_ARCS` arcs, or is one graph."""
    chunk: list[Graph] = []
    total = 0
    for graph in graphs:
        arcs = num_arcs(graph)
        if chunk and total + arcs > MAX_ARCS:
            yield chunk
            chunk, total = [], 0
        chunk.append(graph)
        total += arcs
    if chunk:
        yield chunk


def num_arcs(graph: Graph) -> int:
    """Return the arcs that a graph has as a flow network."""
    if isinstance(graph, FlowNetwork):
        return graph.num_arcs
    return 2 * (graph.num_left + graph.num_edges + graph.num_right)


def _shifted(
    progress: Callable[[Progress], None], finished: int, size: int
) -> Callable[[Progress], None]:
    """Report a chunk's progress as that of the whole batch."""
    return lambda now: progress(Progress(now.finished + finished, now.rounds, now.size + size))


def _solved(
    graphs: Sequence[Graph],
    name: str,
    subroutines: Subroutines,
    how: tuple[bool, int, Callable[[Progress], None] | None],
) -> list[Solution]:
    networks = [
        graph if isinstance(graph, FlowNetwork) else FlowNetwork.from_bipartite(graph)
        for graph in graphs
    ]
    outcomes = _run(networks, subroutines, *how)
    bipartite = [k for k, graph in enumerate(graphs) if isinstance(graph, BipartiteGraph)]
    certificates = certify_all(
        [graph for graph in graphs if isinstance(graph, BipartiteGraph)],
        [_matched_pairs(graphs[k], outcomes[k].residual) for k in bipartite],
    )
    proven = dict(zip(bipartite, certificates, strict=True))
    return [
        solution_of(name, graph, outcome, proven.get(k))
        for k, (graph, outcome) in enumerate(zip(graphs, outcomes, strict=True))
    ]


def solution_of(
    executor: str, graph: Graph, outcome: Outcome, certificate: Certificate | None = None
) -> Solution:
    """Read the answer off the last residual, and certify it unless that is done already."""
    told = executor, outcome.neural_rounds, outcome.classical_rounds, outcome.ending
    if isinstance(graph, FlowNetwork):
        flow = graph.flow(outcome.residual)
        carried = list(graph.flow_arcs(flow))
        return Solution(*told, certificate or certify_flow(graph, flow), flow=carried)
    pairs = _matched_pairs(graph, outcome.residual)
    matching = [(graph.left_label(u), graph.right_label(v)) for u, v in pairs.tolist()]
    return Solution(*told, certificate or certify_pairs(graph, pairs), matching=matching)


def _run(
    networks: Sequence[FlowNetwork],
    subroutines: Subroutines,
    exact: bool,
    seed: int,
    progress: Callable[[Progress], None] | None,
) -> list[Outcome]:
    """Run the executor to its end, then with `exact` the classical search from there on."""
    batch = Batch.of(networks)
    # The same seed for each: a graph's answer must not depend on what else is in the batch.
    rngs = [np.random.default_rng(seed) for _ in networks]
    residual, rounds, endings = _rounds(batch, subroutines, rngs, progress)
    completed = np.zeros_like(rounds)
    if exact and subroutines is not BREADTH_FIRST:
        rest = replace(batch, capacity=residual)
        residual, completed, _ = _rounds(rest, BREADTH_FIRST, rngs)
    if subroutines in CLASSICAL.values():
        rounds, completed = completed, rounds + completed
    return [
        Outcome(residual[start:end], int(neural), int(classical), ending.words)
        for start, end, neural, classical, ending in zip(
            batch.arc_start[:-1], batch.arc_start[1:], rounds, completed, endings, strict=True
        )
    ]


def _rounds(
    batch: Batch,
    subroutines: Subroutines,
    rngs: Sequence[np.random.Generator],
    progress: Callable[[Progress], None] | None = None,
) -> tuple[WideArray, WideArray, list[Verdict]]:
    """Return the last residual of each arc, and the rounds and the ending of each graph."""
    residual, arc_start = batch.capacity.copy(), batch.arc_start
    rounds = np.zeros(batch.num_graphs, np.int64)
    endings = [Verdict.DONE] * batch.num_graphs
    size = finished = 0
    for round_ in ford_fulkerson(batch, subroutines, rngs, Settings(many_paths=True)):
        own = round_.batch.graphs
        rounds[own[np.unique(round_.paths.graph)]] += 1
        for graph in np.flatnonzero(round_.verdict != Verdict.GOES_ON).tolist():
            start, end = round_.batch.arc_start[graph : graph + 2]
            first = arc_start[own[graph]]
            residual[first : first + end - start] = round_.after[start:end]
            endings[own[graph]] = Verdict(round_.verdict[graph])
            finished += 1
        size += sum(round_.bottleneck.tolist())
        if progress is not None:
            progress(Progress(finished, round_.number + 1, size))
    return residual, rounds, endings


def _matched_pairs(graph: Any, residual: WideArray) -> WideArray:
    """Return (left, right) of the edges whose forward arc is full; see `from_bipartite`."""
    on_edges = residual[2 * graph.num_left : 2 * (graph.num_left + graph.num_edges) : 2]
    matched = np.flatnonzero(on_edges == 0)
    return np.stack([graph.left[matched], graph.right[matched]], axis=1).astype(np.int64)
