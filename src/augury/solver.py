"""A graph becomes a `Solution`: its maximum matching or flow, and the certificate that proves it.

The executor proposes, `ford_fulkerson` applies only what is legal, and `certificate`, which knows
no executor, says whether the result is maximum. With `exact` a run that ended early is finished by
the classical search, and the solution says how many rounds were whose. An engine that takes arrays
goes another way (`direct`), to the same certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from augury.classical.batch import MAX_ARCS, Batch
from augury.classical.certificate import (
    Certificate,
    Cover,
    certify_all,
    certify_pairs,
)
from augury.classical.covers import Covers, covers_of
from augury.classical.ford_fulkerson import (
    BREADTH_FIRST,
    Settings,
    Subroutines,
    Verdict,
    ford_fulkerson,
)
from augury.classical.graph import BipartiteGraph, Label, WideArray
from augury.classical.network import FlowNetwork
from augury.direct import AUTO, DIRECT, Direct, Found, pairs_of
from augury.engines import ENGINES, as_bytes
from augury.errors import InputError
from augury.inputs import Graph, as_graph, as_graphs, as_stack
from augury.solution import (
    CLASSICAL,
    Outcome,
    Solution,
    as_seed,
    found_of,
    matched_pairs,
    solution_of,
)

if TYPE_CHECKING:
    from augury.algorithms.executor import Executor
    from augury.models.checkpoint import Checkpoint

    Model = str | Path | Executor | Subroutines | None
    """A shipped name, a checkpoint, a classical executor's name, or anything that executes."""

DEFAULT_MODEL = "discrete"
"""The shipped network that `augury verify` proves exact."""

MAX_CELLS = 2**26
"""Cells of dense graphs that an engine is given at once."""


class Progress(NamedTuple):
    """How far a run is."""

    finished: int
    """Graphs that are done."""
    rounds: int
    """Rounds so far, of the graphs that are running now."""
    size: int
    """Edges or units of flow found so far, in all graphs."""


@dataclass(frozen=True, eq=False, repr=False)
class Solutions(Sequence[Solution]):
    """The solutions of a stack of dense graphs, all found and proven; each is made when asked for.

    `sizes` and `mates` have them as arrays.
    """

    way: Direct
    mates: npt.NDArray[np.int32]
    """(graph, left): the column of each row, −1 for none."""
    rounds: npt.NDArray[np.int32]
    """(graph,): searches that led to at least one augmenting path."""
    covers: Covers
    """The proof of each."""
    tell: Callable[[Graph], dict[str, Any]] | None
    """Tells the run on a graph; see `Solution.retell`."""

    @property
    def sizes(self) -> WideArray:
        """(graph,): edges of each matching."""
        return self.covers.sizes

    @property
    def is_maximum(self) -> bool:
        """Whether all are proven."""
        return bool(self.covers.is_proven.all()) or all(one.is_maximum for one in self)

    def __len__(self) -> int:
        return len(self.mates)

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
        pairs, covers, tell = pairs_of(self.mates[number]), self.covers, self.tell
        if covers.is_proven[number]:
            sides = covers.in_left[number], covers.in_right[number]
            cover = Cover(*(tuple(np.flatnonzero(side).tolist()) for side in sides))
            certificate = Certificate(len(pairs), "", len(pairs), cover)
        else:
            certificate = certify_pairs(covers.graph(number), pairs)
        return Solution(
            executor=self.way.name,
            neural_rounds=int(self.rounds[number]),
            classical_rounds=0,
            ending="done",
            certificate=certificate,
            engine=self.way.engine,
            matching=list(map(tuple, pairs.tolist())),
            retell=tell and (lambda: tell(covers.graph(number))),
        )

    def __repr__(self) -> str:
        proven = int(self.covers.is_proven.sum())
        who = f"{self.way.name} ({self.way.engine})"
        return f"Solutions({len(self):,} matchings, {proven:,} proven maximum, {who})"


def solve(  # noqa: PLR0913  # a graph, its ends, and how it is solved
    graph: Any,
    *,
    model: Model = None,
    engine: str = AUTO,
    exact: bool = True,
    device: Any = None,
    seed: int = 0,
    source: Label = None,
    sink: Label = None,
    progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """Find a maximum matching of a bipartite graph, or a maximum flow of a network, and certify it.

    Args:
        graph: a `BipartiteGraph`, `FlowNetwork`, path, array, SciPy sparse matrix, NetworkX graph,
            PyTorch Geometric data, DataFrame, list of pairs, dict of lists: see `augury.inputs`.
            Costs, such as entries of a matrix that differ, are refused: they would be ignored.
        model: who executes: the shipped, verified network by default; another shipped name such as
            "paper-mpnn", a checkpoint's path, "classical", "bellman-ford", or an executor.
        engine: how the network is computed, a name in `augury.engines.ENGINES`. By default
            the discrete network is looked up in its table, and another evaluated at each step, as
            "fast" where it has that form. "plain" evaluates any. "table" runs the compiled form of
            a proven network; "cuda" and "cuda-table" match graphs of at most 64 nodes a side on a
            GPU. These three break ties by a rule, whatever the seed.
        exact: finish by the classical search what the executor ended early.
        device: where the network runs, as PyTorch names it; the CPU by default.
        seed: of the random weights; another seed may give another answer of the same size.
        source: together with `sink` makes matrices, NetworkX graphs and rows flow networks.
        sink: see `source`.
        progress: called after each round.

    Raises:
        InputError: the graph, the model or a capacity is not what it should be, or the engine
            cannot run it.
        TypeError: `graph` holds no graph that we know.

    >>> graph = BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("bob", "sing")])
    >>> solve(graph).matching
    [('ann', 'cook'), ('bob', 'sing')]
    """
    seed = as_seed(seed)
    runner = runner_of(model, device, engine)
    read = as_graph(graph, source, sink)
    [solution] = _solved([read], runner, (exact, seed, progress))
    tell = _teller(model, runner, exact, device, seed)
    return replace(solution, retell=tell and partial(tell, read))


def solve_batch(  # noqa: PLR0913  # graphs, and how they are solved
    graphs: Any,
    *,
    model: Model = None,
    engine: str = AUTO,
    exact: bool = True,
    device: Any = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Sequence[Solution]:
    """Solve many graphs, of unequal sizes if need be, side by side.

    Every graph is solved as if alone: the k-th solution is that of `solve(graphs[k], seed=seed)`,
    unless the network's scores are so close that rounding decides; see docs/reliability.md.
    Memory is bounded: graphs are run in chunks of at most `MAX_ARCS` arcs. It is a list; for a
    dense array and an engine that takes arrays it is `Solutions`, which makes each when asked for.

    Args:
        graphs: a list or iterator of whatever `solve` takes, a PyTorch Geometric `Batch`, or a
            dense (graph, left, right) array or tensor.
        model: see `solve`, also for the rest.
        engine: see `solve`.
        exact: see `solve`.
        device: see `solve`.
        seed: see `solve`.
        progress: called after each round of a chunk.

    >>> [solution.size for solution in solve_batch(np.array([[[1, 1], [0, 1]], [[1, 1], [0, 0]]]))]
    [2, 1]
    """
    seed = as_seed(seed)
    runner = runner_of(model, device, engine)
    tell = _teller(model, runner, exact, device, seed)
    stack = as_stack(graphs) if runner.direct else None
    if runner.direct and stack is not None:
        return _solved_stack(stack, runner.direct, tell, progress)
    solutions: list[Solution] = []
    for chunk in _chunks(as_graphs(graphs)):
        before, size = len(solutions), sum(solution.size for solution in solutions)
        report = progress and _shifted(progress, before, size)
        solved = _solved(chunk, runner, (exact, seed, report))
        solutions += [
            replace(solution, retell=tell and partial(tell, graph))
            for graph, solution in zip(chunk, solved, strict=True)
        ]
    return solutions


def _teller(
    model: Any, runner: Runner, exact: bool, device: Any, seed: int
) -> Callable[[Graph], dict[str, Any]] | None:
    """Return what tells a run of `solve` step by step, for models that are known by name."""
    if not isinstance(model, str | Path | None):
        return None

    def tell(graph: Graph) -> dict[str, Any]:
        from augury.watch import watch

        how = {"model": model, "exact": exact, "seed": seed, "device": str(device or "cpu")}
        return watch(graph, **how, engine=runner.engine, many_paths=True)

    return tell


class Runner(NamedTuple):
    """Who solves graphs, and in which form."""

    name: str
    """Of the executor."""
    engine: str | None
    """See `Solution.engine`."""
    subroutines: Subroutines | None
    """What `ford_fulkerson` runs; None where the engine takes arrays."""
    direct: Direct | None = None
    """The engine that does."""


def runner_of(model: Model = None, device: Any = None, engine: str = AUTO) -> Runner:
    """Return who runs a model by an engine, both as `solve` takes them.

    Raises:
        InputError: there is no such model, device or engine, or the engine cannot run the model.
    """
    if engine not in (AUTO, *ENGINES):
        raise InputError(f"{engine!r} is none of the engines {', '.join((AUTO, *ENGINES))}")
    if not (isinstance(model, str | Path | Subroutines | None) or hasattr(model, "subroutines")):
        raise InputError(f"the model is {model!r}, not a name, a path or an executor")
    name = DEFAULT_MODEL if model is None else model
    is_network = not isinstance(model, Subroutines) and name not in CLASSICAL
    if engine != AUTO and not is_network:
        who = name if isinstance(name, str) else "a tuple of subroutines"
        raise InputError(f"the engine {engine!r} is a form of a network, and {who} is none")
    if engine in DIRECT:
        where = ENGINES[engine].device
        if str(device or where).partition(":")[0] != where:
            raise InputError(f"the engine {engine!r} runs on {where!r}, not on {str(device)!r}")
        direct = Direct.of(engine, model)
        return Runner(direct.name, engine, None, direct)
    if isinstance(model, Subroutines):
        return Runner("own", None, model)
    if isinstance(name, str) and name in CLASSICAL:
        return Runner(name, None, CLASSICAL[name])
    if isinstance(model, str | Path | None):
        from augury.models.checkpoint import find, load_once

        checkpoint = load_once(find(str(name)))
        name, executor = checkpoint.config.name, _executor(checkpoint, str(device or "cpu"))
    else:  # an executor, of a network that need not be ours
        name, executor = type(model).__name__, model
    executor = _in_form(name, executor, engine)
    return Runner(name, getattr(executor, "form", None), executor.subroutines())


def _in_form(name: str, executor: Any, engine: str) -> Any:
    """Return the executor with this engine, if it has that form, or with its quickest."""
    if engine == AUTO:
        return executor.quickest() if hasattr(executor, "quickest") else executor
    if hasattr(executor, "form"):
        executor = replace(executor, engine=engine)
        if executor.form == engine:
            return executor
    raise InputError(f"the engine {engine!r} has no form of {name}: leave the choice to {AUTO!r}")


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
    runner = runner_of(model, device)
    assert runner.subroutines is not None  # the engine is "auto"
    with _threads_for(runner.engine):
        return _run(networks, runner.subroutines, exact, seed, progress)


def maximum_residual(network: FlowNetwork) -> WideArray:
    """Return the residual of each arc after a maximum flow, found by the shipped network."""
    return run([network])[0].residual


def maximum_matching(graph: BipartiteGraph) -> WideArray:
    """Return the (left, right) pairs of a maximum matching, sorted by their left node."""
    return matched_pairs(graph, maximum_residual(FlowNetwork.from_bipartite(graph)))


@lru_cache(maxsize=8)
def _executor(checkpoint: Checkpoint, device: str) -> Executor:
    """Make the executor of a checkpoint, once for each content and device."""
    import torch

    from augury.models.kinds import executor_of

    try:
        network = deepcopy(checkpoint.network).to(torch.device(device))
    except (RuntimeError, AssertionError) as error:  # PyTorch's words for "no such device"
        reason = str(error).partition("\n")[0]
        raise InputError(f"the device {device!r} cannot be used: {reason}") from None
    return executor_of(network, device)


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
    runner: Runner,
    how: tuple[bool, int, Callable[[Progress], None] | None],
) -> list[Solution]:
    found = _found(graphs, runner, how)
    bipartite = [k for k, graph in enumerate(graphs) if isinstance(graph, BipartiteGraph)]
    certificates = certify_all(
        [graph for graph in graphs if isinstance(graph, BipartiteGraph)],
        [found[k].answer for k in bipartite],
    )
    proven = dict(zip(bipartite, certificates, strict=True))
    return [
        solution_of((runner.name, runner.engine), graph, one, proven.get(k))
        for k, (graph, one) in enumerate(zip(graphs, found, strict=True))
    ]


def _found(
    graphs: Sequence[Graph],
    runner: Runner,
    how: tuple[bool, int, Callable[[Progress], None] | None],
) -> list[Found]:
    if runner.subroutines is None:
        assert runner.direct is not None
        found = runner.direct.solve(graphs)
        if how[2] is not None:
            sizes = [_size(graph, one) for graph, one in zip(graphs, found, strict=True)]
            rounds = max((one.neural_rounds for one in found), default=0)
            how[2](Progress(len(found), rounds, sum(sizes)))
        return found
    networks = [
        graph if isinstance(graph, FlowNetwork) else FlowNetwork.from_bipartite(graph)
        for graph in graphs
    ]
    with _threads_for(runner.engine):
        outcomes = _run(networks, runner.subroutines, *how)
    return [found_of(graph, outcome) for graph, outcome in zip(graphs, outcomes, strict=True)]


def _threads_for(engine: str | None) -> AbstractContextManager[None]:
    if engine is None:
        return nullcontext()  # PyTorch need not be there
    from augury.neural.isolation import one_thread

    return one_thread(engine == "fast")  # its tensors are so small that threads would only wait


def _size(graph: Graph, found: Found) -> int:
    if isinstance(graph, BipartiteGraph):
        return len(found.answer)
    return int(found.answer[graph.sender == graph.source].sum())


def _solved_stack(
    stack: npt.NDArray[Any],
    way: Direct,
    tell: Callable[[Graph], dict[str, Any]] | None,
    progress: Callable[[Progress], None] | None,
) -> Solutions:
    """Solve and prove a dense (graph, left, right) array, so many graphs at once as fit."""
    many = max(1, MAX_CELLS // max(stack.shape[1] * stack.shape[2], 1))
    parts: list[Solutions] = []
    size = 0
    for first in range(0, max(len(stack), 1), many):
        adjacency = as_bytes(stack[first : first + many])
        matched = way.match(adjacency)
        covers = covers_of(adjacency, matched.mates)
        parts.append(Solutions(way, *matched, covers, tell))
        size += int(covers.sizes.sum())
        if progress is not None:
            rounds = int(matched.rounds.max(initial=0))
            progress(Progress(min(first + many, len(stack)), rounds, size))
    mates, rounds = (np.concatenate([getattr(p, f) for p in parts]) for f in ("mates", "rounds"))
    return Solutions(way, mates, rounds, Covers.joined([part.covers for part in parts]), tell)


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
