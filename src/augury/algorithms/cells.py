"""The cells that the algorithms run on: what the discrete network learns, and nothing else."""

from __future__ import annotations

from augury.cells.cell import Cell
from augury.classical.ford_fulkerson import MAX_WEIGHT

WEIGHT_BITS = MAX_WEIGHT.bit_length()
"""The width of an arc's weight."""

FLOOD = Cell(
    name="flood",
    own="reached",
    message="reached usable",
    joins="set",
    output="reached changed",
    itself=lambda own: (own.reached, 0),
    rule=lambda own, heard: (
        own.reached or (1, 1) in heard,
        not own.reached and (1, 1) in heard,
    ),
)
"""A node is reached once a reached node speaks to it by a usable link, not its self loop."""

NEAREST = Cell(
    name="nearest",
    message=f"reached usable weight:{WEIGHT_BITS}",
    joins="choice",
    rule=lambda link: -link.weight if link.reached and link.usable else None,
    occurs=lambda link: link.weight > 0 or not (link.reached or link.usable),
)
"""Its predecessor is the reached sender of least weight. Only a self loop weighs 0, and a node that
chooses is not reached yet."""

LEAST = Cell(
    name="least",
    own="candidate digit",
    message="candidate digit",
    joins="set",
    output="candidate",
    itself=lambda own: own,
    rule=lambda own, heard: (own.candidate and not (own.digit and (1, 0) in heard),),
)
"""A number with the digit 1 is not the least if a candidate beside it has the digit 0."""

SUBTRACT = Cell(
    name="subtract",
    own="digit amount borrow",
    output="digit borrow",
    rule=lambda own: (
        (own.digit - own.amount - own.borrow) % 2,
        own.digit - own.amount - own.borrow < 0,
    ),
)
"""One digit of a subtraction in base two."""

CELLS = (FLOOD, NEAREST, LEAST, SUBTRACT)
