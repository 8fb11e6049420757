"""The two kinds of work: a slice of a training, and a part of an evaluation; bytes in, bytes out.

A task knows nothing of run folders. What it needs comes with it and what it makes goes back, so it
can run in this process, in another, or on another machine; and since it has no effect but its
result, a task whose process died is simply run again. Its temporary files go into a folder that the
driver empties, as a killed process cleans up nothing.

Where tasks run is decided by `Workers`: `InOrder` in this process, `processes.Pool` in others, and
`cluster` on other machines.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from augury.config import Config, to_dict
from augury.experiments.evaluate import evaluate, load_models
from augury.experiments.records import Part, Runs


@dataclass(frozen=True)
class Training:
    """Some epochs of one seed: from where an earlier slice ended, for about `seconds`."""

    seed: int
    config: Config
    device: str
    seconds: float
    resume: bytes | None = None
    """The resume file of the slice before; none for the first."""


@dataclass(frozen=True)
class Evaluation:
    """A checkpoint and the part to evaluate it on."""

    part: Part
    checkpoint: bytes
    device: str


Task = Training | Evaluation


@dataclass(frozen=True)
class Result:
    """What a task made, how long it took, and where."""

    made: dict[str, bytes] | Runs
    """How the runs went; or for a training, files by name: each epoch's checkpoint,
    best.safetensors if it is new, resume.safetensors, history.csv."""
    seconds: float
    machine: dict[str, str]


def perform(task: Task, scratch: Path | None = None) -> Result:
    """Do a task, with temporary files in `scratch`, or in the system's folder if there is none.

    A machine of a cluster need not see the driver's folder.
    """
    started = time.perf_counter()
    place = scratch if scratch is not None and scratch.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="augury-", dir=place) as name:
        folder = Path(name)
        is_training = isinstance(task, Training)
        made = _train(task, folder, started) if is_training else _evaluate(task, folder)
    return Result(made, time.perf_counter() - started, machine(task.device))


def _train(task: Training, folder: Path, started: float) -> dict[str, bytes]:
    from augury.training.trainer import lightning_quiet, train

    if task.resume is not None:
        _put_back(task, folder)
    with lightning_quiet():
        train(
            task.config,
            [task.seed],
            folder,
            task.device,
            resume=task.resume is not None,
            say=lambda line: None,
            pause=lambda: time.perf_counter() - started >= task.seconds,
        )
    made = [*(folder / f"seed-{task.seed}").iterdir(), folder / "resume.safetensors"]
    return {path.name: path.read_bytes() for path in sorted(made)}


def _put_back(task: Training, folder: Path) -> None:
    """Recreate the run folder as the slice before left it."""
    assert task.resume is not None
    told = {"config": to_dict(task.config), "seeds": [task.seed]}
    (folder / f"seed-{task.seed}").mkdir()
    (folder / "config.json").write_text(json.dumps(told), encoding="utf-8")
    (folder / "resume.safetensors").write_bytes(task.resume)


def _evaluate(task: Evaluation, folder: Path) -> Runs:
    path = folder / "network.safetensors"
    path.write_bytes(task.checkpoint)
    (model,) = load_models([str(path)], task.device)
    model = replace(model, seed=task.part.seed)
    return evaluate(model, task.part.condition, task.part.extent)


class Workers(Protocol):
    """Where tasks run."""

    slots: int
    """Tasks that run at a time."""

    def submit(self, task: Any) -> Future[Any]:
        """Take a task; one that cannot be done raises a `WorkerError`."""
        ...

    def close(self) -> None:
        """Stop everything that is under way; results not yet fetched are lost."""


class InOrder:
    """One task after the other in this process."""

    slots = 1

    def __init__(self, perform: Callable[[Any], Any]) -> None:
        self.perform = perform

    def submit(self, task: Any) -> Future[Any]:
        """Do a task here and now."""
        done: Future[Any] = Future()
        done.set_result(self.perform(task))
        return done

    def close(self) -> None:
        """See `Workers`: nothing is ever under way."""


@cache
def machine(device: str) -> dict[str, str]:
    """Describe the machine that runs a task."""
    from augury.provenance import provenance

    told = provenance(device)
    described = {"processor": processor(), "cores": str(os.cpu_count())}
    if device.startswith("cuda"):
        described["GPU"] = str(told["device"])
    described |= {"Python": platform.python_version(), "PyTorch": str(told["torch"])}
    return described | {name: str(told[name]) for name in ("version", "commit")}


def processor() -> str:
    """Return the processor's name; only Linux has the full one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
