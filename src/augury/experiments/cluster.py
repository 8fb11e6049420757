"""Tasks run on the cores of a Ray cluster, or of this machine; see `tasks.Workers`.

A Ray task is one task of `tasks`, on one core. Ray runs it again if its process or its machine
dies; its result comes back to the driver, which alone writes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from augury.clusters import join_ray
from augury.processes import MAX_RETRIES, WorkerError, use_one_thread

GPU_SHARE = 0.125
"""The share of a GPU that a task asks for with --device cuda: one task leaves most of it idle."""


class RayWorkers:
    """Tasks on a Ray cluster."""

    def __init__(
        self,
        perform: Callable[[Any], Any],
        address: str,
        slots: int | None = None,
        uses_gpu: bool = False,
    ) -> None:
        """Join a cluster or start one.

        Args:
            perform: does a task; importable by name on every machine of the cluster.
            address: "auto" (the cluster of this machine), HOST:PORT, or "local" (start one here).
            slots: with "local", the number of cores; else the most tasks at a time.
            uses_gpu: whether tasks need a share of a GPU.

        Raises:
            InputError: Ray is not installed or did not start, or there is no such cluster.
        """
        ray = self.ray = join_ray(address, num_cpus=slots)
        cores = int(ray.cluster_resources().get("CPU", 1))
        self.slots = cores if slots is None else min(slots, cores)
        share = GPU_SHARE if uses_gpu else 0
        self.perform = perform
        self.remote: Any = ray.remote(num_cpus=1, num_gpus=share, max_retries=MAX_RETRIES)(_perform)
        self._threads = ThreadPoolExecutor(self.slots)
        self._under_way: set[Any] = set()

    def submit(self, task: Any) -> Future[Any]:
        """See `tasks.Workers`; a thread here waits for each task that runs."""
        return self._threads.submit(self._result, task)

    def _result(self, task: Any) -> Any:
        place = self.remote.remote(self.perform, task)
        self._under_way.add(place)
        try:
            return self.ray.get(place)
        except self.ray.exceptions.RayTaskError as error:
            cause = error.cause
            raise WorkerError(f"{type(cause).__name__}: {cause}") from None
        except self.ray.exceptions.RayError as error:
            is_killed = isinstance(error, self.ray.exceptions.WorkerCrashedError)
            how = f"a task ended its process {MAX_RETRIES + 1} times" if is_killed else "Ray failed"
            raise WorkerError(f"{how}: {' '.join(str(error).split())}") from None
        finally:
            self._under_way.discard(place)

    def close(self) -> None:
        """See `tasks.Workers`."""
        for place in list(self._under_way):
            self.ray.cancel(place, force=True)
        self._threads.shutdown(cancel_futures=True)
        self.ray.shutdown()


def _perform(perform: Callable[[Any], Any], task: Any) -> Any:
    use_one_thread()
    return perform(task)


def task_workers(address: str, device: str) -> Callable[[], RayWorkers]:
    """Return a function that joins a cluster for the tasks of `tasks`, for when there is work."""
    from augury.experiments.tasks import perform

    return lambda: RayWorkers(perform, address, uses_gpu=device.startswith("cuda"))
