"""The kinds of network, and the checkpoints that come with Augury."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from augury.algorithms.cells import CELLS
from augury.cells.table import Table
from augury.errors import InputError

DEFAULT_MODEL = "discrete"
"""The shipped network that `augury verify` proves exact."""

MODELS = Path(__file__).parent
"""Of the shipped checkpoints."""

TABLE_DIGEST = "83fb5eee3bb8e8e9cdbe15fcff2da0085c8819fe4f33eb3e1cc9f10baa6884bb"
"""The SHA-256 of the shipped network's table."""


@cache
def shipped_table() -> Table:
    """Return every decision of the shipped network, which needs no PyTorch.

    Raises:
        InputError: the file is not the one that was shipped.
    """
    path = MODELS / f"{DEFAULT_MODEL}.json"
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != TABLE_DIGEST:
        raise InputError(f"{path}: this is not the table that came with Augury")
    return Table.from_dict(CELLS, json.loads(data))
