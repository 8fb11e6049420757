"""A run on one graph becomes a story: every round and every step of it, as one object for JSON."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from augury import __version__
from augury.algorithms import ALGORITHMS, SUITED, Algorithm
from augury.algorithms.story import Actor, Telling, plain, told_graph
from augury.classical.arrays import as_seed
from augury.engines import ENGINES
from augury.inputs import Graph
from augury.models import DEFAULT_MODEL
from augury.plugins import own_model
from augury.solution import solutions_of

FORMAT = "augury-story"
FORMAT_VERSION = 1

MAX_STEPS = 10_000
"""Steps of one story; 64 + 64 nodes take about a tenth of it."""

SETTINGS = (
    "engine", "seed", "many_paths", "termination", "neural_bottleneck", "neural_augmentation",
)  # fmt: skip
"""What a story says of how it was run, unless the algorithm says otherwise."""

Story = dict[str, Any]


def watch(  # noqa: PLR0913  # one argument for each choice that a person can make
    graph: Graph,
    *,
    algorithm: str | None = None,
    model: str | Path | None = None,
    engine: str | None = None,
    exact: bool = True,
    seed: int = 0,
    device: str = "cpu",
    many_paths: bool = False,
    termination: str = "bfs",
    neural_bottleneck: bool = True,
    neural_augmentation: bool = True,
    max_steps: int = MAX_STEPS,
) -> Story:
    """Run an executor on a graph and tell everything that happened.

    For `algorithm`, `model` (a name or a path), `exact`, `seed` and `device` see `solve`; the
    others choose

    - `engine`: whose run is told: its name appears in the story, and its rule breaks the ties. The
      steps are always those of the plain form, which decides as all others do; but `table` has no
      such rule for flows, and may send the same amount along different arcs from the story.
    - `many_paths`: take all shortest disjoint paths of a search, as `solve` does, not only the
      sink's own, as the paper does. With it the story is that of `solve`: the same rounds and the
      same answer for the same graph, seed, model and engine.
    - `termination`: "bfs", or the number t of invalid paths in a row that end a run; then only the
      search is the network's, as in the paper.
    - `neural_bottleneck`, `neural_augmentation`: whether the network finds these itself.
    - `max_steps`: a run of more steps is refused.

    Raises:
        InputError: there is no such model, the graph is beyond its range, or the story is too long.

    >>> from augury import BipartiteGraph
    >>> graph = BipartiteGraph.from_edges([("ann", "cook"), ("bob", "cook"), ("bob", "sing")])
    >>> story = watch(graph)
    >>> [len(told["steps"]) for told in story["rounds"]], story["solution"]["size"]
    ([5, 6, 2], 2)
    """
    row = ALGORITHMS[algorithm or SUITED[graph.kind][0]]
    if row.name not in SUITED[graph.kind]:
        raise row.other(graph)
    actor = _actor(row, model, device)
    if engine is None and actor.kind != "classical":
        engine = "plain"
    telling = Telling(
        engine=engine,
        weights=None if engine is None else ENGINES[engine].ties(graph),
        exact=exact,
        seed=as_seed(seed),
        many_paths=many_paths,
        termination=termination,
        neural_bottleneck=neural_bottleneck,
        neural_augmentation=neural_augmentation,
        max_steps=max_steps,
    )
    told = row.story(graph, actor, telling)
    [solution] = solutions_of(row, (actor.name, engine), [graph], [told.answer])
    ran = {key: getattr(telling, key) for key in SETTINGS} | told.model
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "augury": __version__,
        "algorithm": row.name,
        "graph": told_graph(graph, row.ends),
        "model": {"name": actor.name, "kind": actor.kind} | ran,
        "rounds": told.rounds,
        "solution": plain(solution.to_dict()),
    }


def _actor(row: Algorithm, model: str | Path | None, device: str) -> Actor:
    """Find the executor, so that it can be observed."""
    name = DEFAULT_MODEL if model is None else str(model)
    if name in row.classical:
        return Actor(name, "classical", None, lambda listener, owns: row.classical[name])
    if (own := own_model(name)) is not None:
        # What happens inside is its own affair: rounds are told as those of classical code.
        return Actor(name, "classical", None, lambda listener, owns: own)
    from augury.models.checkpoint import executor_of, find, load

    checkpoint = load(find(name))
    executor = executor_of(checkpoint.network.to(device), device)
    if row.name not in executor.executes:
        raise row.unable(checkpoint.config.name, executor)

    def observed(listener: Any, owns: dict[str, bool]) -> Any:
        return replace(executor, observer=listener, **owns).subroutines()

    kind = checkpoint.config.network.kind
    infinity = 2**checkpoint.network.bits - 1 if kind == "paper" else None
    return Actor(checkpoint.config.name, kind, infinity, observed)
