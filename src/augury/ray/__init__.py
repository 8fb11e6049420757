"""Many graphs are solved on a Ray cluster, by Ray Data: tables in, tables out.

`solve` adds the answers to the caller's dataset. `solve_sources` reads files and writes a folder.
It cuts its sources into *pieces*: some row groups of a Parquet file, some bytes of a file of JSON
lines, or some files with one graph each. A piece's answers are one file, whose name and bytes
depend on nothing but the piece and the settings, and which gets its name only when it is whole. So
if a worker or this process is killed, no answer is lost or counted twice: Ray reruns a task whose
process died, and the same command skips the pieces that are there. A task reads, solves and writes
a piece a few rows at a time, so memory does not grow with the data.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import augury
from augury.classical.formats import ReadOptions
from augury.clusters import joined_ray
from augury.errors import InputError
from augury.extras import needs
from augury.files import locked, named, write_text
from augury.ray.pieces import Piece, pieces_of
from augury.ray.writing import UNFINISHED, Done, Plan, counted, solve_pieces
from augury.tables import ROWS, Settings, answers

if TYPE_CHECKING:
    from ray.data import Dataset

MADE = ".augury.json"
"""The file in a folder of answers that says what they answer."""


def solve(dataset: Dataset, **settings: Any) -> Dataset:
    """Solve the graph in each row of a Ray dataset; see `augury.tables` for the columns.

    The result is lazy, as datasets are. Where the cluster has a GPU for every 16 cores, matchings
    without costs run there from 65 nodes a side on.

    Args:
        dataset: rows with a graph each.
        settings: as in `augury.solve`: algorithm, maximise, perfect, model, engine, exact, device,
            seed.

    Raises:
        InputError: there is no such setting, model or engine, or the columns hold no graphs.
    """
    with needs("augury.ray"):
        import pyarrow as pa
        import ray
    unknown = sorted(settings.keys() - CHOICES)
    if unknown:
        raise InputError(f"{unknown[0]!r} is none of the settings {', '.join(sorted(CHOICES))}")
    chosen = Settings(**settings)
    schema = dataset.schema()
    if schema is not None:  # an empty dataset has none
        fields = zip(schema.names, schema.types, strict=True)
        answers(pa.schema(list(fields)).empty_table(), chosen)  # raises what is wrong with all rows
    return _mapped(ray, dataset, partial(answers, settings=_placed(ray, chosen)), ROWS)


CHOICES = {*Settings._fields} - {"on_gpu", "ignore_costs"}

PROCESSES_A_GPU = 16
"""The most processes that share a GPU: each takes up to half a GB of its memory."""


def _placed(ray: Any, settings: Settings) -> Settings:
    """Let GPUs match what they can, if nothing else is chosen and every core gets a share."""
    cores, gpus = (ray.cluster_resources().get(name, 0) for name in ("CPU", "GPU"))
    is_shared = 0 < cores <= PROCESSES_A_GPU * gpus
    return settings._replace(on_gpu=settings.is_free and is_shared)


def _mapped(
    ray: Any, dataset: Dataset, perform: Any, batch_size: int, tasks: int | None = None
) -> Dataset:
    """Apply a function of `Settings` to batches, each on a core and, if asked, a share of a GPU."""
    how: dict[str, Any] = {"batch_format": "pyarrow", "zero_copy_batch": True}
    how |= {"batch_size": batch_size, "num_cpus": 1}
    settings = perform.keywords["settings"]
    if not (settings.on_gpu or settings.needs_gpu):
        return dataset.map_batches(perform, **how)
    cores, gpus = (int(ray.cluster_resources().get(name, 0)) for name in ("CPU", "GPU"))
    if not gpus:
        raise InputError("the cluster has no GPU, or none that Ray knows of")
    share = max(1, min(cores // gpus, PROCESSES_A_GPU))
    most = gpus * share
    how |= {"num_gpus": 1 / share, "concurrency": (1, most) if tasks is None else min(tasks, most)}
    return dataset.map_batches(_Held, fn_constructor_args=(perform,), **how)


class _Held:
    """A function in a process that stays alive, as one on a GPU must."""

    def __init__(self, perform: Callable[[Any], Any]) -> None:
        self.perform = perform

    def __call__(self, batch: Any) -> Any:
        return self.perform(batch)


def solve_sources(  # noqa: PLR0913  # sources, where the answers go, and how
    sources: Sequence[str],
    output: Path,
    settings: Settings,
    address: str = "local",
    *,
    options: ReadOptions | None = None,
    ending: str = ".parquet",
    slots: int | None = None,
) -> Generator[Done | Plan]:
    """Solve all graphs of these sources; yield the plan, and then each piece that is done.

    Pieces that are there already come first.

    Raises:
        InputError: a source cannot be read; the folder holds other answers, or is in use; there is
            no such model or engine; or Ray is missing or does not start.
    """
    with needs("--ray"):
        import pyarrow  # noqa: F401
        import ray  # noqa: F401
    pieces = pieces_of(sources, settings)
    plan = Plan(pieces, os.path.abspath(output), ending, options or ReadOptions())
    with named(output):
        output.mkdir(exist_ok=True)
    with locked(output / ".lock", output):
        _claim(output, plan, settings)
        yield plan
        missing: list[Piece] = []
        for piece in plan.pieces:
            if os.path.exists(plan.path(piece)):
                yield counted(plan.path(piece), piece.name)
            else:
                missing.append(piece)
        if missing:
            yield from _on_cluster(plan, missing, settings, address, slots)
            _tidy(output)


def _claim(output: Path, plan: Plan, settings: Settings) -> None:
    """Record in the folder what its answers answer, or refuse it if it says otherwise."""
    files = sorted({file for piece in plan.pieces for file in piece.files})
    told = [(file, os.stat(file).st_size, os.stat(file).st_mtime_ns) for file in files]
    text = json.dumps({"version": augury.__version__, "settings": settings._asdict(),
                       "options": repr(plan.options), "ending": plan.ending,
                       "sources": told}, indent=1) + "\n"  # fmt: skip
    claim = output / MADE
    if claim.exists() and claim.read_text(encoding="utf-8") != text:
        raise InputError(
            f"{output}: the answers in this folder are to other sources, or by other options; "
            "name another folder, or delete it"
        )
    _tidy(output)
    write_text(claim, text)


def _tidy(output: Path) -> None:
    """Delete what killed processes have left behind."""
    for path in output.glob(f"{UNFINISHED}*"):
        path.unlink(missing_ok=True)


def _on_cluster(
    plan: Plan, pieces: list[Piece], settings: Settings, address: str, slots: int | None
) -> Iterator[Done]:
    """Solve pieces on a Ray cluster, as they come; any that always end their process come last."""
    left = {piece.name for piece in pieces}
    with joined_ray(address, num_cpus=slots) as ray, _quiet():
        rows = [piece._asdict() for piece in pieces]
        own = plan._replace(pieces=[])  # every task gets it
        perform = partial(solve_pieces, plan=own, settings=_placed(ray, settings))
        try:
            dataset = ray.data.from_items(rows, override_num_blocks=len(rows))
            for row in _mapped(ray, dataset, perform, 1, len(rows)).iter_rows():
                left.discard(row["name"])
                yield Done(**row)
        except ray.exceptions.RayError as error:
            raise InputError(f"Ray failed: {' '.join(str(error).split())}") from None
    for name in sorted(left):
        yield Done(name, 0, 0, f"{name}: this piece ended its process on every attempt")


@contextmanager
def _quiet() -> Generator[None]:
    """Keep Ray Data silent in this block, and let a piece that fails stop no other."""
    import ray.data

    context, logger = ray.data.DataContext.get_current(), logging.getLogger("ray.data")
    choices = {"enable_progress_bars": False, "print_on_execution_start": False}
    choices |= {"max_errored_blocks": -1}
    before = {name: getattr(context, name) for name in choices}
    level = logger.level
    try:
        for name, value in choices.items():
            setattr(context, name, value)
        logger.setLevel(logging.ERROR)
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
        logger.setLevel(level)
