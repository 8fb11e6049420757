"""Hold the shards: in this process, or as actors of a Ray cluster. See `sharded_run`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from augury.clusters import joined_ray
from augury.processes import use_one_thread

STORE_BYTES = 2**29
"""Bytes of messages that Ray may keep in memory where we start it; the rest is on disk."""

Post = list[list[Any]]
"""For each shard the messages from every shard, or Ray's references to them."""


class Team(Protocol):
    """Holds the shards."""

    def send(self, method: str, *given: Any, post: Post | None = None) -> Post:
        """Call a method of each shard with its messages; return what they send."""
        ...

    def tell(self, method: str, *given: Any, post: Post | None = None) -> list[Any]:
        """Call a method of each shard; return their results."""
        ...

    def close(self) -> None:
        """Release the shards."""
        ...


Hire = Callable[[type, Path, int], Team]
"""Makes a team: the class of its members, the folder, how many."""


class InTurn:
    """All shards in this process, one after the other."""

    def __init__(self, kind: type, folder: Path, count: int) -> None:
        self.members = [kind(str(folder), number) for number in range(count)]

    def send(self, method: str, *given: Any, post: Post | None = None) -> Post:
        """See `Team`."""
        return _transposed(self.tell(method, *given, post=post))

    def tell(self, method: str, *given: Any, post: Post | None = None) -> list[Any]:
        """See `Team`."""
        inboxes: Post = post or [[] for _ in self.members]
        return [
            getattr(member, method)(*given, *inbox)
            for member, inbox in zip(self.members, inboxes, strict=True)
        ]

    def close(self) -> None:
        """See `Team`."""
        self.members = []


class OnRay:
    """Each shard an actor of a Ray cluster; messages travel through Ray's store."""

    def __init__(self, kind: type, folder: Path, count: int) -> None:
        import ray

        self.ray: Any = ray
        cores = ray.cluster_resources().get("CPU", 1)
        actor: Any = ray.remote(num_cpus=min(1.0, cores / count))(_Member)
        self.members = [actor.remote(kind, str(folder), number) for number in range(count)]

    def send(self, method: str, *given: Any, post: Post | None = None) -> Post:
        """See `Team`; does not wait."""
        count = len(self.members)
        sent = self._call(method, given, post, count)
        return _transposed([[one] for one in sent] if count == 1 else sent)

    def tell(self, method: str, *given: Any, post: Post | None = None) -> list[Any]:
        """See `Team`; raises `Lost` if a process or a machine is gone."""
        try:
            return self.ray.get(self._call(method, given, post, 1))
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, self.ray.exceptions.RayError):
                raise Lost(str(error.cause)) from None
            raise
        except self.ray.exceptions.RayError as error:
            raise Lost(str(error)) from None

    def _call(self, method: str, given: Any, post: Post | None, returns: int) -> list[Any]:
        inboxes: Post = post or [[] for _ in self.members]
        return [
            member.do.options(num_returns=returns).remote(method, returns, given, *inbox)
            for member, inbox in zip(self.members, inboxes, strict=True)
        ]

    def close(self) -> None:
        """See `Team`."""
        for member in self.members:
            self.ray.kill(member)


class Lost(RuntimeError):
    """A shard's process is gone."""


class _Member:
    """A shard in a process of its own."""

    def __init__(self, kind: type, folder: str, number: int) -> None:
        use_one_thread()
        self.shard = kind(folder, number)

    def do(self, method: str, returns: int, given: Sequence[Any], *inbox: Any) -> Any:
        found = getattr(self.shard, method)(*given, *inbox)
        return found[0] if returns == 1 and isinstance(found, list) else found


def _transposed(sent: Sequence[Sequence[Any]]) -> Post:
    return [list(post) for post in zip(*sent, strict=True)]


@contextmanager
def hiring(address: str | None) -> Iterator[tuple[Hire, int]]:
    """Yield a maker of teams and the number of cores: here, or on the Ray cluster at an address."""
    if address is None:
        yield InTurn, os.cpu_count() or 1
        return
    with joined_ray(address, object_store_memory=STORE_BYTES) as ray:
        yield OnRay, int(ray.cluster_resources().get("CPU", 1))
