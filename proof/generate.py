"""Write Shipped.v: the table and the weights of the shipped network, as the proof reads them."""

from pathlib import Path

from augury.cells.coq import rendered
from augury.models.checkpoint import find, load

if __name__ == "__main__":
    checkpoint = load(find("discrete"))
    name = f"the weights {checkpoint.digest} of the network `discrete`"
    Path(__file__).with_name("Shipped.v").write_text(rendered(checkpoint.network, name))
