"""Write Shipped.v: the table and the weights of the shipped network, as the proof reads them."""

from pathlib import Path

from augury.cells.coq import rendered
from augury.models.checkpoint import find, load


def shipped() -> str:
    """Return the file for the network `discrete`."""
    checkpoint = load(find("discrete"))
    name = f"the weights {checkpoint.digest} of the network `discrete`"
    return rendered(checkpoint.network, name)


if __name__ == "__main__":
    Path(__file__).with_name("Shipped.v").write_text(shipped())
