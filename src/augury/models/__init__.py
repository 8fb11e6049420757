"""The kinds of network, and the checkpoints that come with Augury."""

from functools import partial
from pathlib import Path

from augury.algorithms.cells import CELLS
from augury.cells.table import Table

DEFAULT_MODEL = "discrete"
"""The shipped network that `augury verify` proves exact."""

MODELS = Path(__file__).parent
"""The folder of the shipped checkpoints."""

TABLE_DIGEST = "83fb5eee3bb8e8e9cdbe15fcff2da0085c8819fe4f33eb3e1cc9f10baa6884bb"

shipped_table = partial(Table.read, MODELS / "discrete.json", TABLE_DIGEST, CELLS)
"""Returns every decision of the shipped network: neither its weights nor PyTorch are needed."""
