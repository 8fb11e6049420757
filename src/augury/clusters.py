"""A Ray cluster is joined or started, in one place."""

from __future__ import annotations

import logging
import socket
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from augury.errors import InputError
from augury.extras import needs


@contextmanager
def joined_ray(address: str, **started: Any) -> Generator[Any]:
    """Join a cluster for this block (see `join_ray`); one already joined is kept."""
    with needs("--ray"):
        import ray
    if ray.is_initialized():
        yield ray
        return
    try:
        yield join_ray(address, **started)
    finally:
        ray.shutdown()


def join_ray(address: str, **started: Any) -> Any:
    """Join a Ray cluster, or start one: "auto" (that of this machine), HOST:PORT, or "local".

    `started` holds settings for a cluster started here. Returns the Ray module.

    Raises:
        InputError: Ray is not installed or did not start, or there is no such cluster.
    """
    with needs("--ray"):
        import ray
    where: dict[str, Any] = {"address": address}
    if address == "local":
        where |= {"include_dashboard": False, **started}
    host, colon, port = address.rpartition(":")
    try:
        if colon and "/" not in host:  # Ray itself would keep trying for minutes
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray announces changes in later versions
            ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # on a busy machine Ray raises a bare Exception
        reason = " ".join(str(error).split()).split(". ")[0].rstrip(".")
        what = "Ray did not start" if address == "local" else "there is no such Ray cluster"
        raise InputError(f"--ray {address}: {what}: {reason}") from None
    return ray
