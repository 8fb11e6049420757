"""Tasks become results: in order in this process, or side by side in child processes.

Every form is used alike: submit tasks while there is room, then wait for results. A form never
writes to the run folder, and returns each task's result exactly once. The third form is in
`cluster`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from augury.processes import Pool


class Workers(ABC):
    """Where tasks run."""

    slots: int = 1
    """Tasks that run at a time."""

    def __init__(self, perform: Callable[[Any], Any]) -> None:
        self.perform = perform

    @abstractmethod
    def submit(self, task: Any) -> None:
        """Take a task; at most `slots` may be under way."""

    @abstractmethod
    def wait(self, seconds: float | None) -> list[tuple[Any, Any]]:
        """Return finished tasks, each with its result; none if nothing finishes in that time.

        Raises:
            WorkerError: a task cannot be done.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop everything that is under way; results not yet returned are lost."""


class InOrder(Workers):
    """One task after the other in this process."""

    def __init__(self, perform: Callable[[Any], Any]) -> None:
        super().__init__(perform)
        self.tasks: list[Any] = []

    def submit(self, task: Any) -> None:  # noqa: D102
        self.tasks.append(task)

    def wait(self, seconds: float | None) -> list[tuple[Any, Any]]:  # noqa: D102
        # Whatever the time: a task in this process cannot be left half done.
        tasks, self.tasks = self.tasks, []
        return [(task, self.perform(task)) for task in tasks]

    def close(self) -> None:  # noqa: D102
        self.tasks = []


class Processes(Workers):
    """Tasks side by side in processes of this machine."""

    def __init__(
        self, perform: Callable[[Any], Any], slots: int, devices: tuple[str, ...] = ()
    ) -> None:
        """Start the processes; see `Pool`."""
        super().__init__(perform)
        self.slots = slots
        self.pool = Pool(perform, slots, devices=devices)
        self.tasks: dict[Future[Any], Any] = {}

    def submit(self, task: Any) -> None:  # noqa: D102
        self.tasks[self.pool.submit(task)] = task

    def wait(self, seconds: float | None) -> list[tuple[Any, Any]]:  # noqa: D102
        done = wait(self.tasks, seconds, FIRST_COMPLETED).done
        return [(self.tasks.pop(future), future.result()) for future in done]

    def close(self) -> None:  # noqa: D102
        self.pool.close()
