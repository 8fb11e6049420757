"""Tasks for workers: small, quick, and some of them deadly."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from augury.experiments.tasks import Workers


def do(task: tuple[str, str]) -> str:
    """Do as a task says; the name of a task is the name of a file that it leaves a mark in."""
    kind, path = task
    with Path(path).open("a") as file:
        file.write(f"{os.getpid()}\n")
    tries = Path(path).read_text().count("\n")
    if kind == "die" or (kind == "die once" and tries == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "wait once" and tries == 1:
        time.sleep(600)
    if kind == "run short" or (kind == "run short once" and tries == 1):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate much")
    if kind == "raise":
        raise ValueError("no such luck")
    return f"{kind} {Path(path).name}"


def evaluate(task: str) -> object:
    """Evaluate an expression."""
    return eval(task)


def all_results(workers: Workers, tasks: list[Any]) -> list[Any]:
    """Hand out tasks as there is room, as the driver does; return their results in their order."""
    futures: list[Future[Any]] = []
    for task in tasks:
        while sum(not future.done() for future in futures) >= workers.slots:
            wait(futures, 60, FIRST_COMPLETED)
            time.sleep(0.01)
        futures.append(workers.submit(task))
    return [future.result(60) for future in futures]
