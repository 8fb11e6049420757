"""A graph becomes a `Solution`: what an algorithm finds on it, and the certificate that proves it.

The algorithm says what to do, the engine in which form the network decides. The executor proposes,
only what is legal is applied, and the certificate, which knows no executor, says whether the result
is maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from augury.algorithms import ALGORITHMS, FORD_FULKERSON, SUITED, Algorithm
from augury.algorithms.executor import CellExecutor
from augury.classical.answer import Answer, How, Progress
from augury.classical.arrays import Label, Numbers, WideArray, as_seed
from augury.classical.batch import MAX_ARCS
from augury.classical.bipartite_batch import BipartiteBatch
from augury.classical.cost_network import CostNetwork
from augury.classical.covers import Covers, covers_of
from augury.classical.ford_fulkerson import Subroutines
from augury.classical.graph import BipartiteGraph
from augury.classical.network import FlowNetwork
from augury.classical.priced import Stack, priced
from augury.classical.prices import perfect as demand_perfect
from augury.classical.proofs import Proofs, Several, matchings_of
from augury.engines import AUTO, ENGINES, as_bytes
from augury.engines.engine import Engine, Mates
from augury.engines.stepwise import Stepwise
from augury.engines.table import TABLE, require_proof
from augury.errors import InputError
from augury.inputs import Graph, Graphs, as_batch, as_graph, as_graphs, as_parts, as_stack
from augury.inputs.arrays import as_array, is_array
from augury.inputs.many import Part
from augury.models import DEFAULT_MODEL, shipped_table
from augury.plugins import own_model
from augury.solution import Solution, Solutions, solutions_of

if TYPE_CHECKING:
    from augury.algorithms.executor import Executor
    from augury.models.checkpoint import Checkpoint

    Model = str | Path | Executor | Subroutines[Any] | None
    """A shipped name, a checkpoint, a classical executor's name, or anything that executes."""

DEFAULT_ALGORITHM = FORD_FULKERSON.name

COMPILED = "table"
"""The engine behind the interfaces of SciPy and NetworkX, unless another is named."""

MAX_CELLS = 2**26
"""The most cells of dense graphs that an engine is given at once."""


def solve(  # noqa: PLR0913  # a graph, its ends, and how it is solved
    graph: Any,
    *,
    algorithm: str | None = None,
    maximise: bool = False,
    perfect: bool = False,
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

    Where the graph has costs, it is one of least cost. Other algorithms find other things:
    "reachability" finds the nodes that a source reaches.

    Args:
        graph: a `BipartiteGraph`, `FlowNetwork`, path, array, SciPy sparse matrix, NetworkX graph,
            PyTorch Geometric data, DataFrame, list of pairs, dict of lists: see `augury.inputs`.
            What may or may not be a cost, such as differing entries of a matrix, is refused unless
            the algorithm decides it.
        algorithm: a name in `augury.algorithms.ALGORITHMS`; by default what suits the graph. With
            "assignment" the entries of a matrix are costs, and all but infinite ones are edges.
        maximise: look for the greatest sum of costs, not the least, among the largest answers.
        perfect: all of the smaller side must be matched; if that is impossible, the solution is
            infeasible, and its certificate proves it.
        model: what executes: the shipped, verified network by default; another shipped name such as
            "paper-mpnn", a checkpoint's path, "classical", "bellman-ford", or an executor.
        engine: how the network is computed, a name in `augury.engines.ENGINES`. "table" runs
            hand-written loops that do what a proven network does or, with costs, other loops that
            find the same cost. It is the default on a CPU for a network that is proven, as the
            shipped one is. "lookup" reads the network's table at each step, the default for other
            discrete networks; "plain" evaluates any network at each step, the default for all
            others, as "fast" where they have that form. "cuda" and "cuda-table" match graphs on a
            GPU, of at most 64 and 1,024 nodes a side; "cuda-table" also takes flow networks of a
            few thousand arcs.
        exact: finish with the classical search what the executor ended early; "table" and the two
            on a GPU never end early.
        device: where the network runs, as PyTorch names it; the CPU by default.
        seed: for the random weights that break ties; another seed may give another answer of the
            same size. "table" and the two on a GPU break ties by a rule, whatever the seed.
        source: together with `sink` makes matrices, NetworkX graphs and rows flow networks;
            reachability needs no sink.
        sink: see `source`.
        progress: called after each round; by "table" once, before it certifies.

    Raises:
        InputError: the graph, the model or a capacity is not what it should be, or the engine
            cannot run it.
        TypeError: `graph` is not a graph in any form that we know.

    >>> graph = BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("bob", "sing")])
    >>> solve(graph).matching
    [('ann', 'cook'), ('bob', 'sing')]
    """
    row = None if algorithm is None else ALGORITHMS[algorithm]
    needs_sink = row is None or "sink" in row.ends
    said = {"costs": costs_of(row), "maximise": maximise}
    read = as_graph(graph, source, sink, needs_sink=needs_sink, **said)
    runner = runner_for([read], model, device, engine, algorithm)
    [solution] = runner.solutions([read], How(exact, as_seed(seed), progress))
    return in_full(read, solution) if perfect else solution


def solve_batch(  # noqa: PLR0913  # graphs, and how they are solved
    graphs: Any,
    *,
    algorithm: str | None = None,
    maximise: bool = False,
    model: Model = None,
    engine: str = AUTO,
    exact: bool = True,
    device: Any = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Sequence[Solution]:
    """Solve many graphs, of unequal sizes if need be, side by side.

    `graphs` is a list or iterator of whatever `solve` takes, a PyTorch Geometric `Batch`, or a
    dense (graph, left, right) array or tensor, which GPU engines also take on the GPU; for the
    rest see `solve`.

    Every graph is solved as if alone: the k-th solution is that of `solve(graphs[k], seed=seed)`,
    unless the network's scores are so close that rounding decides; see docs/reliability.md. Only
    the prices of a stack of cost matrices may differ. Memory is bounded: graphs are run in chunks
    of at most `MAX_ARCS` arcs. The result is a list or, from "table" and the GPU engines,
    `Solutions`, which makes each on demand.

    >>> [solution.size for solution in solve_batch(np.array([[[1, 1], [0, 1]], [[1, 1], [0, 0]]]))]
    [2, 1]
    """
    how = How(exact, as_seed(seed), progress)
    row = None if algorithm is None else ALGORITHMS[algorithm]
    entries = "edges" if row is None else row.entries
    if entries == "edges" and not maximise:
        runner = runner_of(model, device, engine)
        proven = runner.engine.prove_stack(graphs, runner.executor)
        if proven is not None:
            return _proven_stack(*proven, runner, how)
        stack = as_stack(graphs) if runner.engine.takes_stacks else None
        if stack is not None:
            return _solved_stack(stack, runner, how)
        graphs = as_batch(graphs)
    elif row is not None and entries == "costs" and is_array(graphs) and graphs.ndim == 3:
        runner = runner_of(model, device, engine, row.name)
        if runner.engine.takes_stacks:
            return _solved_costs(as_array(graphs, "stack of graphs"), maximise, runner, how)
    head = graphs
    if isinstance(graphs, Iterator):
        head = list(islice(graphs, 1))
        graphs = chain(head, graphs)
    first = next(as_graphs(head, costs_of(row), maximise), None)
    if first is None:
        return []
    runner = runner_for([first], model, device, engine, algorithm)
    if runner.engine.takes_batches and runner.algorithm.entries == "edges":
        return _solved_parts(as_parts(graphs, costs_of(row), MAX_ARCS), runner, how)
    return runner.solutions(as_graphs(graphs, costs_of(row), maximise), how)


def runner_for(
    graphs: Graphs,
    model: Model = None,
    device: Any = None,
    engine: str = AUTO,
    algorithm: str | None = None,
) -> Runner:
    """Return the runner for such graphs: by default of the algorithm that suits the first."""
    return runner_of(model, device, engine, algorithm or SUITED[graphs[0].kind][0])


def costs_of(row: Algorithm | None) -> bool | None:
    """Whether numbers that may be costs are costs; None if unspecified."""
    return None if row is None else row.minds_costs


def in_full(graph: Graph, solution: Solution) -> Solution:
    """Demand that all of a matching's smaller side is matched, or prove that it cannot be."""
    if not isinstance(graph, BipartiteGraph):
        raise InputError("a perfect matching is one of a bipartite graph")
    certificate = demand_perfect(graph, solution.certificate)
    if not certificate.is_infeasible:
        return solution
    return replace(solution, certificate=certificate, matching=[])


class Runner(NamedTuple):
    """What solves graphs: an algorithm, an executor, and the engine that runs it."""

    algorithm: Algorithm
    name: str
    """The executor's name."""
    executor: Any
    """An `Executor`, `Subroutines`, or a user's own object with a method `subroutines`."""
    engine: Engine
    told_by: Callable[[How, Graph], dict[str, Any]] | None = None
    """Runs again and tells every step; None for a user's own executor, which shows none."""

    def solutions(self, graphs: Iterable[Graph], how: How) -> list[Solution]:
        """Solve graphs side by side, and prove each."""
        who = self.name, self.engine.name
        tell = self.told_by and partial(self.told_by, how)
        solutions: list[Solution] = []
        for chunk in _chunks(graphs):
            answers = self.answers(chunk, _shifted(how, solutions))
            solutions += solutions_of(self.algorithm, who, chunk, answers, tell)
        return solutions

    def answers(self, graphs: Sequence[Graph], how: How) -> list[Answer]:
        """Solve graphs side by side; nothing is certified here."""
        for graph in graphs:
            if self.algorithm.name not in SUITED[graph.kind]:
                raise self.algorithm.other(graph)
        return self.engine.run(self.algorithm, graphs, self.executor, how)


WITHOUT_NETWORK = Stepwise(None, "classical code, or somebody's own")


def runner_of(
    model: Model = None, device: Any = None, engine: str = AUTO, algorithm: str = DEFAULT_ALGORITHM
) -> Runner:
    """Return the runner of a model by an engine, all as `solve` takes them.

    Raises:
        InputError: there is no such model, device, engine or algorithm, or the engine cannot run
            the model.
    """
    if model is None:
        return _shipped_runner(None if device is None else str(device), engine, algorithm)
    return _runner(model, device, engine, algorithm)


@lru_cache(maxsize=32)
def _shipped_runner(device: str | None, engine: str, algorithm: str) -> Runner:
    """Make the runner of the shipped network, once: its files never change."""
    return _runner(None, device, engine, algorithm)


def _runner(model: Model, device: Any, engine: str, algorithm: str) -> Runner:
    row = ALGORITHMS[algorithm]
    chosen = None if engine == AUTO else ENGINES[engine]
    if not (isinstance(model, str | Path | Subroutines | None) or hasattr(model, "subroutines")):
        raise InputError(f"the model is {model!r}, not a name, a path or an executor")
    name, executor = _executor_of(row, model, device, chosen)
    is_named = isinstance(model, str | Path | None)
    if chosen is None:
        chosen = TABLE if is_named and TABLE.replaces(row, executor) else _own_form(executor)
    elif isinstance(executor, Subroutines):
        who = "a tuple of subroutines" if name == OWN else name
        raise InputError(f"the engine {engine!r} is a form of a network, and {who} is none")
    else:
        _refuse_engine(row, name, executor, chosen, device)
        if chosen.needs_proof:
            require_proof(executor)
    choices = {"algorithm": row.name, "model": model, "engine": chosen.name}
    choices["device"] = str(device or "cpu")
    return Runner(row, name, executor, chosen, partial(_told, choices) if is_named else None)


def _own_form(executor: Any) -> Engine:
    form = getattr(executor, "form", None)
    return WITHOUT_NETWORK if form is None else ENGINES[form]


def _refuse_engine(row: Algorithm, name: str, executor: Any, engine: Engine, device: Any) -> None:
    """Raise an InputError if this engine cannot run this executor there."""
    where = str(device or engine.device or "").partition(":")[0]
    refusal = engine.refusal(row, name, executor)
    if engine.device not in (None, where):
        refusal = f"the engine {engine.name!r} runs on {engine.device!r}, not on {str(device)!r}"
    if refusal:
        raise InputError(refusal)


def _told(choices: dict[str, Any], how: How, graph: Graph) -> dict[str, Any]:
    from augury.watch import watch

    return watch(graph, **choices, exact=how.exact, seed=how.seed, many_paths=True)


OWN = "own"
"""The name of a user's own subroutines."""


def _executor_of(row: Algorithm, model: Any, device: Any, engine: Engine | None) -> tuple[str, Any]:
    """Return the name of an executor, and the executor in the form that the engine asks for."""
    if isinstance(model, Subroutines):
        return OWN, model
    name = DEFAULT_MODEL if model is None else str(model)
    if isinstance(model, str) and name in row.classical:
        return name, row.classical[name]
    # An engine with a device of its own takes the weights from the host.
    here = "cpu" if engine and engine.device else str(device or "cpu")
    if name == DEFAULT_MODEL and here == "cpu" and not (engine and engine.reads_weights):
        # Its table is enough: neither weights nor PyTorch are needed. And it executes every row.
        return name, CellExecutor(shipped_table(), engine="lookup")
    name, executor = _other_executor(model, name, here, engine)
    if row.name not in getattr(executor, "executes", (row.name,)):
        raise row.unable(name, executor)
    return name, executor


def _other_executor(model: Any, name: str, here: str, engine: Engine | None) -> tuple[str, Any]:
    """Return the same for a checkpoint, a user's own file, or an executor."""
    if isinstance(model, str) and (own := own_model(model)) is not None:
        return model, own
    executor: Any = model
    if isinstance(model, str | Path | None):
        from augury.models.checkpoint import find, load_once

        checkpoint = load_once(find(name))
        name, executor = checkpoint.config.name, _executor(checkpoint, here)
    else:  # an executor, of a network that need not be ours
        name = type(model).__name__
    if hasattr(executor, "in_form"):
        executor = executor.in_form(engine.name) if engine else executor.quickest()
    return name, executor


def maximum_residual(network: FlowNetwork, engine: str = COMPILED) -> WideArray:
    """Return the residual of each arc after a maximum flow, found by the shipped network."""
    [answer] = runner_of(engine=engine).answers([network], How())
    return network.capacity - answer.found


def maximum_matching(graph: BipartiteGraph, engine: str = COMPILED) -> Numbers:
    """Return the mate of each left node in a maximum matching, −1 for none."""
    [answer] = runner_of(engine=engine).answers([graph], How())
    return answer.found


def least_cost(graph: BipartiteGraph | CostNetwork, engine: str = COMPILED) -> Answer:
    """Return the largest answer of least cost to a graph with costs, and prices that prove it."""
    [answer] = runner_for([graph], engine=engine).answers([graph], How())
    return answer


@lru_cache(maxsize=8)
def _executor(checkpoint: Checkpoint, device: str) -> Executor:
    """Make the executor of a checkpoint, once for each content and device."""
    import torch

    from augury.models.checkpoint import executor_of

    try:
        network = deepcopy(checkpoint.network).to(torch.device(device))
    except (RuntimeError, AssertionError) as error:  # PyTorch's words for "no such device"
        reason = str(error).partition("\n")[0]
        raise InputError(f"the device {device!r} cannot be used: {reason}") from None
    return replace(executor_of(network, device), digest=checkpoint.digest)


def _chunks(graphs: Iterable[Graph]) -> Iterator[list[Graph]]:
    """Group graphs in order so that each group has at most `MAX_ARCS` arcs, or is one graph."""
    chunk: list[Graph] = []
    total = 0
    for graph in graphs:
        arcs = graph.num_arcs
        if chunk and total + arcs > MAX_ARCS:
            yield chunk
            chunk, total = [], 0
        chunk.append(graph)
        total += arcs
    if chunk:
        yield chunk


def _shifted(how: How, before: Sequence[Solution]) -> How:
    """Report a chunk's progress as that of the whole batch."""
    report = how.progress
    if report is None or not before:
        return how
    size = sum(solution.size for solution in before)

    def shifted(now: Progress) -> None:
        finished = now.finished + len(before)
        report(Progress(finished, now.rounds, now.size + size, now.doing))

    return how._replace(progress=shifted)


def _solved_stack(stack: npt.NDArray[Any], runner: Runner, how: How) -> Solutions:
    """Solve and prove a dense (graph, left, right) array, as many graphs at a time as fit."""
    many = max(1, MAX_CELLS // max(stack.shape[1] * stack.shape[2], 1))
    found: list[Mates] = []
    covers: list[Covers] = []
    size = 0
    for first in range(0, max(len(stack), 1), many):
        adjacency = as_bytes(stack[first : first + many])
        found.append(runner.engine.match(adjacency, runner.executor))
        covers.append(covers_of(adjacency, found[-1].mates))
        size += int(covers[-1].sizes.sum())
        if how.progress is not None:
            most = int(found[-1].rounds.max(initial=0))
            how.progress(Progress(min(first + many, len(stack)), most, size))
    rounds = np.concatenate([one.rounds for one in found])
    return _solutions(runner, how, rounds, Covers.joined(covers))


def _proven_stack(
    rounds: npt.NDArray[np.int32], proofs: Proofs, runner: Runner, how: How
) -> Solutions:
    """Return what an engine has solved and proven by itself."""
    if how.progress is not None:
        size = int(proofs.sizes.sum())
        how.progress(Progress(len(rounds), int(rounds.max(initial=0)), size))
    return _solutions(runner, how, rounds, proofs)


def _solved_parts(chunks: Iterable[list[Part]], runner: Runner, how: How) -> Solutions:
    """Solve and prove graphs of any sizes, chunk by chunk."""
    proofs: list[Proofs] = []
    rounds: list[npt.NDArray[Any]] = []
    places: list[npt.NDArray[Any]] = []
    size = finished = 0
    for chunk in chunks:
        most = 0
        for position, graphs in chunk:
            found, proof = _solved_part(graphs, runner)
            place = np.full((len(position), 3), len(proofs))
            place[:, 0], place[:, 2] = position, np.arange(len(position))
            places.append(place)
            proofs.append(proof)
            rounds.append(found)
            most = max(most, int(found.max(initial=0)))
            finished, size = finished + len(position), size + sum(proof.sizes.tolist())
        if how.progress is not None:
            how.progress(Progress(finished, most, size))
    if len(proofs) == 1:
        return _solutions(runner, how, rounds[0], proofs[0])
    place = np.concatenate(places)
    several = Several(proofs, place[np.argsort(place[:, 0])][:, 1:])
    return _solutions(runner, how, several.joined(rounds), several)


def _solved_part(graphs: Graphs, runner: Runner) -> tuple[npt.NDArray[np.int32], Proofs]:
    """Solve and prove graphs of one kind."""
    if isinstance(graphs, BipartiteBatch):
        mates, rounds = runner.engine.match_batch(graphs, runner.executor)
        return rounds, matchings_of(graphs, mates)
    networks: list[FlowNetwork] = []
    for graph in graphs:
        if not isinstance(graph, FlowNetwork):
            raise runner.algorithm.other(graph)  # one with costs
        networks.append(graph)
    return runner.engine.prove_batch(networks, runner.executor)


def _solved_costs(stack: npt.NDArray[Any], maximise: bool, runner: Runner, how: How) -> Solutions:
    """Solve and prove a dense (graph, left, right) array of costs."""
    costs = Stack.of(stack, maximise)
    proofs = priced(costs, *runner.engine.assign(costs, runner.executor))
    if how.progress is not None:
        how.progress(Progress(len(stack), 0, int(proofs.sizes.sum())))
    return _solutions(runner, how, np.zeros(len(stack), np.int32), proofs)


def _solutions(
    runner: Runner, how: How, rounds: npt.NDArray[np.int32], proofs: Proofs
) -> Solutions:
    tell = runner.told_by and partial(runner.told_by, how)
    return Solutions(runner.name, str(runner.engine.name), rounds, proofs, tell)
